// SPDX-License-Identifier: Apache-2.0
// What a stall profile says: shares, the main stall, a sentence. Pure functions.
//
// Invariants: 1. a share is of all samples of the candidate, issuing included, so shares add up to
// 1;
// 2. no samples: shares are NaN and there is no main stall.
#include "cupti/counters.h"

#include "tuner/base/memory.h"

#include <math.h>
#include <string.h>

void st_stall_profile_release(st_stall_profile *profile) {
    st_free(profile->reasons);
    st_free(profile->lines);
    *profile = (st_stall_profile){0};
}

double st_stall_share(const st_stall_profile *profile, int stall) {
    if (profile->total_samples == 0)
        return NAN;
    uint64_t samples = 0;
    for (size_t i = 0; i < profile->reason_count; i++)
        if (profile->reasons[i].stall == stall)
            samples += profile->reasons[i].samples;
    return (double)samples / (double)profile->total_samples;
}

int st_stall_main(const st_stall_profile *profile) {
    int best = -1;
    for (size_t i = 0; i < profile->reason_count; i++) {
        const st_stall_sample *reason = &profile->reasons[i];
        if (reason->samples == 0 || strcmp(reason->pc_name, "selected") == 0)
            continue;
        if (best < 0 || reason->samples > profile->reasons[best].samples)
            best = (int)i;
    }
    return best;
}

void st_stall_describe(const st_stall_profile *profile, st_text *text) {
    int best = st_stall_main(profile);
    if (best < 0) {
        st_text_add(text, profile->total_samples ? "issues in every sample" : "no samples");
        return;
    }
    size_t count = 0;
    const st_stall *table = st_stalls(&count);
    const st_stall_sample *reason = &profile->reasons[best];
    double total = (double)profile->total_samples;
    if (reason->stall >= 0 && (size_t)reason->stall < count)
        st_text_addf(text, "waits for %s (%s)", table[reason->stall].waits_for,
                     table[reason->stall].name);
    else
        st_text_addf(text, "waits for %s", reason->pc_name);
    st_text_addf(text, ": %.0f %% of samples, %.0f %% with nothing issued",
                 100 * (double)reason->samples / total,
                 100 * (double)reason->samples_not_issued / total);
}
