// SPDX-License-Identifier: Apache-2.0
// Candidates of a problem by time. Only those that are correct have a rank.
#include "tuner/run_internal.h"

#include <math.h>
#include <stdlib.h>

static int by_time(const void *a, const void *b)
{
    const run_ranked *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

void run_sort(run_ranked *some, size_t count)
{
    qsort(some, count, sizeof *some, by_time);
}

double run_time_of(const run_candidate *candidate, int cache)
{
    double ns = candidate->series[cache].median_ns;
    return isnan(ns) && cache == WARM ? candidate->series[COLD].median_ns : ns;
}

size_t run_rank(const run_problem *problem, int cache, int least_rounds, run_ranked *out)
{
    size_t count = 0;
    for (size_t i = 0; i < problem->candidate_count; i++) {
        const run_candidate *candidate = &problem->candidates[i];
        double ns = run_time_of(candidate, cache);
        bool fine = candidate->stage == STAGE_DONE && candidate->outcome == ST_OUTCOME_CORRECT;
        if (fine && !isnan(ns) && candidate->series[cache].rounds >= least_rounds)
            out[count++] = (run_ranked){ns, i};
    }
    run_sort(out, count);
    return count;
}

size_t run_standard(const st_run *run, const run_problem *problem)
{
    st_config standard;
    st_config_default(run->tmpl, &standard);
    for (size_t i = 0; i < problem->candidate_count; i++)
        if (problem->candidates[i].outcome == ST_OUTCOME_CORRECT &&
            st_config_equal(run->tmpl, &problem->candidates[i].config, &standard))
            return i;
    return RUN_NOBODY;
}

// Who came further beat those that did not, whatever the figures say: rounds by turns take longer than the first look
// (tuner/base/phases.h).
size_t run_best_rival(const st_run *run, const run_problem *problem, int cache, size_t rival)
{
    const st_rival *wanted = &run->tmpl->rivals[rival];
    size_t best = RUN_NOBODY;
    double least = INFINITY;
    int furthest = 0;
    for (size_t i = 0; i < problem->candidate_count; i++) {
        const run_candidate *candidate = &problem->candidates[i];
        double ns = run_time_of(candidate, cache);
        int rounds = candidate->series[cache].rounds;
        if (candidate->outcome != ST_OUTCOME_CORRECT || !candidate->key || isnan(ns) ||
            candidate->config.value[wanted->parameter] != wanted->value)
            continue;
        if (best == RUN_NOBODY || rounds > furthest || (rounds == furthest && ns < least)) {
            least = ns;
            furthest = rounds;
            best = i;
        }
    }
    return best;
}
