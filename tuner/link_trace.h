// SPDX-License-Identifier: Apache-2.0
// Private to link.c: what the timeline is told of a worker's requests.
#ifndef SIMTUNE_TUNER_LINK_TRACE_H
#define SIMTUNE_TUNER_LINK_TRACE_H

#include "tuner/base/channel.h"
#include "tuner/link.h"

// What is told of a request; read before it is sent, which ends it.
typedef struct link_told {
    const st_link_trace *to;       // NULL: nobody
    char type[16], cache[8];
    int64_t candidate, data, many; // -1: none
    double began;
} link_told;

link_told link_told_of(const st_link_trace *to, const json_t *request);
// `reply` is read on ST_TROUBLE_NONE, `why` (may be NULL) otherwise.
void link_tell(const link_told *about, int track, st_trouble trouble, const st_frame *reply, const st_error *why);

#endif
