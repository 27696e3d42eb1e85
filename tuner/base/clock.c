// SPDX-License-Identifier: Apache-2.0
#include "tuner/base/clock.h"

#include <stdio.h>
#include <time.h>

double st_clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int64_t st_clock_unix_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void st_clock_date(int64_t unix_ms, char out[ST_DATE_TEXT])
{
    time_t seconds = (time_t)(unix_ms / 1000);
    struct tm parts;
    if (!gmtime_r(&seconds, &parts) || !strftime(out, ST_DATE_TEXT, "%Y-%m-%dT%H:%M:%SZ", &parts))
        snprintf(out, ST_DATE_TEXT, "unknown date");
}
