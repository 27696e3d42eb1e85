// SPDX-License-Identifier: Apache-2.0
// What is explained, put together. Invariants: 1. a change is told only where candidates with and without it were
// measured in the same session, problem and state of the cache; 2. changes of one parameter alone go before those
// where others changed as well, of which one stands where there is no other; 3. they are told whether they made it
// faster or slower; 4. two candidates are compared in the furthest phase that both came to (base/phases.h).
#include "reports/explain.h"

#include "reports/report_internal.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdlib.h>

enum { BROUGHT_MOST = 3, OTHERS_MOST = 1 }; // for each finding; of those where other parameters changed as well

// --- what a move brought ----------------------------------------------------------------------------------------------

typedef struct trying {
    const st_reported_session *session;
    const st_reported_problem *problem;
    int cache;
    const st_reported_candidate *base;
    size_t parameter;
    int direction;
} trying;

static bool is_beyond(const trying *at, uint16_t value)
{
    uint16_t from = at->base->values[at->parameter];
    if (value == ST_REPORT_NO_VALUE || from == ST_REPORT_NO_VALUE || value == from)
        return false;
    return !at->direction || (value > from) == (at->direction > 0);
}

static bool differs_alone(const trying *at, const st_reported_candidate *candidate)
{
    for (size_t p = 0; p < at->session->parameter_count; p++)
        if (p != at->parameter && candidate->values[p] != at->base->values[p])
            return false;
    return true;
}

// The fastest with a value in the direction; -1: none was measured.
static int fastest_beyond(const trying *at, bool alone)
{
    int best = -1;
    double least = INFINITY;
    for (size_t c = 0; c < at->problem->count; c++) {
        const st_reported_candidate *candidate = &at->problem->candidates[c];
        double ns = candidate->times[at->cache].comparable_ns;
        if (candidate->outcome != ST_REPORTED_CORRECT || !is_beyond(at, candidate->values[at->parameter]) ||
            (alone && !differs_alone(at, candidate)) || !(ns < least))
            continue;
        least = ns;
        best = (int)c;
    }
    return best;
}

static bool has_role(const st_reported_parameter *parameter, const st_move *move)
{
    return (parameter->roles & (unsigned)move->role) && (parameter->numeric || !move->direction);
}

static bool add_brought(st_explained_one *one, const trying *at, int finding, int move)
{
    bool alone = true;
    int found = fastest_beyond(at, true);
    if (found < 0) {
        found = fastest_beyond(at, false);
        alone = false;
    }
    if (found < 0)
        return true;
    const st_reported_candidate *candidate = &at->problem->candidates[found];
    const st_reported_time *before = &at->base->times[at->cache], *after = &candidate->times[at->cache];
    const st_reported_parameter *parameter = &at->session->parameters[at->parameter];
    double times = st_phase_ratio(&at->problem->results[at->cache].scale, &before->phases, &after->phases);
    if (!isfinite(times))
        return true;
    st_brought *made = REPORT_ADD(one->brought, one->brought_count, one->brought_capacity);
    if (!made)
        return false;
    st_view_init(&made->view);
    *made = (st_brought){.view = made->view,
                         .promised = NAN,
                         .finding = finding,
                         .move = move,
                         .parameter = (int)at->parameter,
                         .from = parameter->values[at->base->values[at->parameter]],
                         .to = parameter->values[candidate->values[at->parameter]],
                         .candidate = found,
                         .alone = alone,
                         .times = times};
    return true;
}

static int by_worth(const void *a, const void *b)
{
    const st_brought *x = a, *y = b;
    if (x->finding != y->finding)
        return x->finding - y->finding;
    if (x->alone != y->alone)
        return x->alone ? -1 : 1;
    if (x->times != y->times)
        return x->times > y->times ? -1 : 1;
    return x->parameter != y->parameter ? x->parameter - y->parameter : x->move - y->move;
}

// Sorted: the first few of each finding, each parameter once.
static void keep_best(st_explained_one *one)
{
    size_t kept = 0, of_finding = 0;
    for (size_t i = 0; i < one->brought_count; i++) {
        const st_brought made = one->brought[i];
        bool again = false;
        if (!kept || one->brought[kept - 1].finding != made.finding)
            of_finding = 0;
        for (size_t k = kept - of_finding; k < kept; k++)
            again = again || one->brought[k].parameter == made.parameter;
        if (again || of_finding == BROUGHT_MOST || (!made.alone && of_finding >= OTHERS_MOST))
            continue;
        one->brought[kept++] = made;
        of_finding++;
    }
    one->brought_count = kept;
}

// Articles promise of n independent chains that they are n times as fast as one.
static st_code compare_with_promise(st_store *store, const st_explained *all, st_explained_one *one, st_error *error)
{
    st_code code = ST_OK;
    for (size_t i = 0; i < one->brought_count && code == ST_OK; i++) {
        st_brought *brought = &one->brought[i];
        const st_move *move = &one->profile->findings[brought->finding].moves[brought->move];
        double from = strtod(brought->from, NULL), to = strtod(brought->to, NULL);
        st_reported_profile *profile = NULL;
        if (move->role != ST_ROLE_ILP || move->direction < 1 || !brought->alone || !(from > 0) || !(to > from))
            continue;
        code =
            report_profile_load(store, all->session, all->problem, all->cache, brought->candidate, &profile, error);
        if (code == ST_OK) {
            brought->promised = to / from;
            brought->view = profile->view;
            brought->view.lines = NULL;
            brought->view.line_count = 0;
        }
        report_profile_free(profile);
    }
    return code;
}

static st_code find_brought(const st_explained *all, st_explained_one *one, st_error *error)
{
    const st_reported_profile *profile = one->profile;
    bool fine = true;
    for (size_t f = 0; f < profile->finding_count && fine; f++)
        for (size_t m = 0; m < profile->findings[f].move_count && fine; m++)
            for (size_t p = 0; p < all->session->parameter_count && fine; p++) {
                const st_move *move = &profile->findings[f].moves[m];
                const trying at = {
                    all->session,   all->problem, all->cache, &all->problem->candidates[one->candidate], p,
                    move->direction};
                if (has_role(&all->session->parameters[p], move))
                    fine = add_brought(one, &at, (int)f, (int)m);
            }
    if (!fine)
        return st_fail_memory(error, "explaining a candidate");
    if (one->brought_count)
        qsort(one->brought, one->brought_count, sizeof *one->brought, by_worth);
    keep_best(one);
    return ST_OK;
}

// --- one candidate ------------------------------------------------------------------------------------------------------

static st_code load_one(st_store *store, const st_explained *all, int candidate, st_explained_one *out,
                        st_error *error)
{
    *out = (st_explained_one){.candidate = candidate, .ns = NAN};
    if (candidate < 0)
        return ST_OK;
    st_code code =
        report_profile_load(store, all->session, all->problem, all->cache, candidate, &out->profile, error);
    if (code == ST_OK) {
        out->ns = out->profile->view.ns;
        code = find_brought(all, out, error);
        if (code == ST_OK)
            code = compare_with_promise(store, all, out, error);
    }
    return code;
}

// The default's candidate also where it is in no final; -1: it was not tried.
static int default_of(const st_explained *all)
{
    if (all->result->standard >= 0)
        return all->result->standard;
    for (size_t c = 0; c < all->problem->count; c++) {
        bool same = all->session->parameter_count > 0;
        for (size_t p = 0; p < all->session->parameter_count && same; p++)
            same = all->session->parameters[p].standard >= 0 &&
                   all->problem->candidates[c].values[p] == all->session->parameters[p].standard;
        if (same)
            return (int)c;
    }
    return -1;
}

st_code st_explain(st_store *store, const st_reported_session *session, int problem, int cache, int candidate,
                   st_explained *out, st_error *error)
{
    *out = (st_explained){.session = session, .problem = &session->problems[problem], .cache = cache};
    out->result = &out->problem->results[cache];
    int standard = default_of(out);
    st_code code = load_one(store, out, candidate, &out->one, error);
    if (code == ST_OK)
        code = load_one(store, out, standard == candidate ? -1 : standard, &out->other, error);
    else
        out->other.candidate = -1;
    if (code != ST_OK)
        st_explained_release(out);
    return code;
}

static void release_one(st_explained_one *one)
{
    report_profile_free(one->profile);
    st_free(one->brought);
    *one = (st_explained_one){.candidate = -1, .ns = NAN};
}

void st_explained_release(st_explained *explained)
{
    release_one(&explained->one);
    release_one(&explained->other);
}
