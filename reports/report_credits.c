// SPDX-License-Identifier: Apache-2.0
// What a gain is credited to: changes that the winner has. The way from the default to the winner (report_steps.c) passes
// values that are undone later; a gain on such a value stands together with the steps that leave it, and their gains
// multiply. Only numbers may pass others on their way (ITEMS 1 → 4, 24 in the end) before they are what the winner has: that is
// tuned further, and is marked.
//
// Invariants: 1. each step belongs to one credit, and the gains of all credits multiply to the whole; 2. what is told of
// a credit is what differs between before its first step and after its last: a parameter that ends as it began in it is
// left out; 3. each parameter in which default and winner differ stands in a credit; 4. what gained most comes first,
// and what there is no room for is the last one, all together.
#include "reports/report_internal.h"

#include "tuner/base/memory.h"

#include <stdlib.h>
#include <string.h>

static uint16_t value_of(const st_reported_problem *problem, int candidate, size_t parameter)
{
    return problem->candidates[candidate].values[parameter];
}

static bool differs(const st_reported_problem *problem, const st_reported_step *step, size_t parameter)
{
    return value_of(problem, step->before, parameter) != value_of(problem, step->after, parameter);
}

// Puts the group of step `b` into that of step `a`; the lower number stands for both.
static void join(st_reported_result *result, size_t a, size_t b)
{
    size_t x = result->steps[a].credit, y = result->steps[b].credit, low = x < y ? x : y;
    for (size_t i = 0; i < result->step_count; i++)
        if (result->steps[i].credit == x || result->steps[i].credit == y)
            result->steps[i].credit = low;
}

// Steps that set a parameter to what the winner lacks go with those that change it later.
static void join_undone(const st_reported_session *session, const st_reported_problem *problem, st_reported_result *result)
{
    for (size_t p = 0; p < session->parameter_count; p++) {
        uint16_t end = value_of(problem, result->winner, p);
        bool tuned_on = session->parameters[p].numeric && end != value_of(problem, result->standard, p);
        size_t last = SIZE_MAX; // the step before that left a value that does not stay
        for (size_t i = 0; i < result->step_count; i++) {
            const st_reported_step *step = &result->steps[i];
            if (!differs(problem, step, p))
                continue;
            if (last != SIZE_MAX)
                join(result, last, i);
            bool leaves = !tuned_on || last != SIZE_MAX || value_of(problem, step->before, p) == end;
            last = value_of(problem, step->after, p) != end && leaves ? i : SIZE_MAX;
        }
    }
}

typedef struct group {
    size_t first, steps;
    double gain;
} group;

static int by_gain(const void *a, const void *b)
{
    const group *x = a, *y = b;
    if (x->gain != y->gain)
        return x->gain > y->gain ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

bool st_report_credit_move(const st_reported_problem *problem, const st_reported_result *result, size_t credit,
                           size_t parameter, uint16_t *from, uint16_t *to)
{
    bool any = false;
    *from = *to = ST_REPORT_NO_VALUE;
    for (size_t i = 0; i < result->step_count; i++) {
        const st_reported_step *step = &result->steps[i];
        if (step->credit != credit || !differs(problem, step, parameter))
            continue;
        if (!any)
            *from = value_of(problem, step->before, parameter);
        *to = value_of(problem, step->after, parameter);
        any = true;
    }
    return *from != *to;
}

// Groups, those that gained most first, into the credits that there is room for.
static void fill_credits(const st_reported_session *session, const st_reported_problem *problem, st_reported_result *result,
                         const group *groups, size_t count, size_t *place)
{
    size_t told = 0;
    while (told < count && groups[told].gain >= ST_REPORT_GAIN_TELLS)
        told++;
    told = told == count && count <= ST_REPORT_CREDITS ? told : told < ST_REPORT_CREDITS ? told : ST_REPORT_CREDITS - 1;
    for (size_t i = 0; i < count; i++) {
        size_t at = i < told ? i : told;
        st_reported_credit *credit = &result->credits[at];
        if (result->credit_count <= at) {
            *credit = (st_reported_credit){.gain = 1};
            result->credit_count = at + 1;
        } else
            credit->is_rest = true;
        credit->gain *= groups[i].gain;
        credit->steps += groups[i].steps;
        place[groups[i].first] = at;
    }
    for (size_t i = 0; i < result->step_count; i++)
        result->steps[i].credit = place[result->steps[i].credit];
    for (size_t c = 0; c < result->credit_count; c++)
        for (size_t p = 0; p < session->parameter_count; p++) {
            uint16_t from, to;
            result->credits[c].differ += st_report_credit_move(problem, result, c, p, &from, &to);
        }
}

st_code report_credits(const st_reported_session *session, const st_reported_problem *problem, st_reported_result *result,
                       st_error *error)
{
    size_t count = 0;
    if (!result->step_count)
        return ST_OK;
    group *groups = st_calloc(result->step_count, sizeof *groups);
    size_t *place = st_calloc(result->step_count, sizeof *place);
    if (!groups || !place) {
        st_free(groups);
        st_free(place);
        return st_fail_memory(error, "crediting what made the winner faster");
    }
    for (size_t i = 0; i < result->step_count; i++)
        result->steps[i].credit = i;
    join_undone(session, problem, result);
    for (size_t i = 0; i < result->step_count; i++) {
        size_t first = result->steps[i].credit;
        if (first == i) {
            place[i] = count;
            groups[count++] = (group){i, 0, 1};
        }
        groups[place[first]].gain *= result->steps[i].gain;
        groups[place[first]].steps++;
    }
    qsort(groups, count, sizeof *groups, by_gain);
    fill_credits(session, problem, result, groups, count, place);
    st_free(groups);
    st_free(place);
    return ST_OK;
}

static const char *word_of(const st_reported_parameter *parameter, uint16_t value)
{
    return value == ST_REPORT_NO_VALUE ? "-" : parameter->values[value];
}

void st_report_credit(const st_reported_session *session, const st_reported_problem *problem, int cache, size_t credit,
                      st_text *out)
{
    const st_reported_result *result = &problem->results[cache];
    size_t told = 0;
    for (size_t p = 0; p < session->parameter_count; p++) {
        const st_reported_parameter *one = &session->parameters[p];
        uint16_t from, to, end = value_of(problem, result->winner, p);
        if (!st_report_credit_move(problem, result, credit, p, &from, &to))
            continue;
        st_text_addf(out, "%s%s %s → %s", told++ ? ", " : "", one->name, word_of(one, from), word_of(one, to));
        if (to != end)
            st_text_addf(out, " (%s in the end)", word_of(one, end));
    }
}

void st_report_credit_how(const st_reported_result *result, size_t credit, const char *before, const char *after, st_text *out)
{
    const st_reported_credit *one = &result->credits[credit];
    if (!one->is_rest && one->steps == 1 && one->differ == 1)
        return;
    st_text_add(out, before);
    if (one->is_rest)
        st_text_add(out, "all the rest");
    else if (one->steps > 1)
        st_text_addf(out, "%zu steps together", one->steps);
    else
        st_text_addf(out, "%zu at once", one->differ);
    st_text_add(out, after);
}
