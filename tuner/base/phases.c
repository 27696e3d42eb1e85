// SPDX-License-Identifier: Apache-2.0
// Times on one scale. Invariants: 1. a shift is a difference, not a factor: what turns cost is paid once a launch, so slow
// candidates pay no more than fast ones (finals foretold from the screen and from the other finalists of recorded H200
// sessions: of 237 candidates more than 1.3 times as slow as the fastest half are off by less than 0.96 % with the shift,
// 1.8 % with a ratio, 1.9 % as they are; of the 1461 others 1.1, 1.1 and 2.4 %); 2. no shift takes more than half of a
// time away: times stay positive whatever was measured.
#include "tuner/base/phases.h"

#include "tuner/base/memory.h"
#include "tuner/base/statistics.h"

#include <math.h>
#include <string.h>

const st_phase_times st_phase_no_times = {{NAN, NAN, NAN, NAN}};

int st_phase_of(const char *name, int round)
{
    return strcmp(name, "screen") == 0    ? ST_PHASE_SCREEN
           : strcmp(name, "halving") == 0 ? (round < 2 ? ST_PHASE_HALVING : ST_PHASE_HALVING_LATER)
           : strcmp(name, "finals") == 0  ? ST_PHASE_FINALS
                                          : -1;
}

int st_phase_last(const st_phase_times *times)
{
    int phase = ST_PHASES - 1;
    while (phase >= 0 && isnan(times->ns[phase]))
        phase--;
    return phase;
}

static const st_phase_times *at(const st_phase_times *times, size_t index, size_t stride)
{
    return (const st_phase_times *)(const void *)((const char *)times + index * stride);
}

bool st_phase_scale_make(const st_phase_times *times, size_t count, size_t stride, st_phase_scale *out)
{
    *out = (st_phase_scale){.to = -1};
    for (size_t i = 0; i < count; i++) {
        int last = st_phase_last(at(times, i, stride));
        out->to = last > out->to ? last : out->to;
    }
    if (out->to <= ST_PHASE_SCREEN)
        return true;
    double *longer = st_malloc(count * sizeof *longer);
    bool fine = longer != NULL;
    for (int phase = 0; phase < out->to && fine; phase++) {
        size_t both = 0;
        for (size_t i = 0; i < count; i++) {
            const double *ns = at(times, i, stride)->ns;
            if (isfinite(ns[out->to] - ns[phase]))
                longer[both++] = ns[out->to] - ns[phase];
        }
        out->longer_ns[phase] = both ? st_median(longer, both) : 0;
        fine = !isnan(out->longer_ns[phase]);
    }
    st_free(longer);
    return fine;
}

double st_phase_comparable(const st_phase_scale *scale, int phase, double ns)
{
    if (phase < 0 || phase >= scale->to || isnan(ns))
        return ns;
    return fmax(ns + scale->longer_ns[phase], ns / 2);
}

double st_phase_comparable_of(const st_phase_scale *scale, const st_phase_times *times)
{
    int phase = st_phase_last(times);
    return phase < 0 ? NAN : st_phase_comparable(scale, phase, times->ns[phase]);
}

double st_phase_ratio(const st_phase_scale *scale, const st_phase_times *a, const st_phase_times *b)
{
    for (int phase = ST_PHASES - 1; phase >= 0; phase--)
        if (!isnan(a->ns[phase]) && !isnan(b->ns[phase]))
            return a->ns[phase] / b->ns[phase];
    return st_phase_comparable_of(scale, a) / st_phase_comparable_of(scale, b);
}
