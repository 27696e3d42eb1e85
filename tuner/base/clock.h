// SPDX-License-Identifier: Apache-2.0
// Time. Promise: durations come from the monotonic clock, dates from the real one, in UTC.
#ifndef SIMTUNE_BASE_CLOCK_H
#define SIMTUNE_BASE_CLOCK_H

#include "tuner/base/error.h"

#include <stddef.h>
#include <stdint.h>

double st_clock_seconds(void);      // monotonic, from an arbitrary start
int64_t st_clock_unix_ms(void);     // milliseconds since 1970-01-01 UTC
#define ST_DATE_TEXT 25             // "2026-11-30T09:20:43Z" and a NUL fit
// ISO 8601 in UTC. SOURCE_DATE_EPOCH does not apply here; emission reads dates from the store.
void st_clock_date(int64_t unix_ms, char out[ST_DATE_TEXT]);
// What people write after --since: a date or time (of this machine's zone unless it says another), today,
// yesterday, or an age (90min 12h 30d 6w 1y) before `now_ms`. ST_USAGE for anything else and for the future.
st_code st_clock_since(const char *text, int64_t now_ms, int64_t *unix_ms, st_error *error);

#endif
