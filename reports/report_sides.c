// SPDX-License-Identifier: Apache-2.0
// What the terminal and the markdown are both made of.
#include "reports/report_text.h"

#include "tuner/base/memory.h"

#include <math.h>
#include <string.h>

static const st_reported_result *result_of(const st_report *report, size_t session, size_t problem)
{
    const st_reported_result *result = &report->sessions[session].problems[problem].results[report->cache];
    return result->winner >= 0 && isfinite(result->winner_ns) ? result : NULL;
}

static size_t find_problem(const st_report *report, size_t session, const char *family, const char *text)
{
    const st_reported_session *one = &report->sessions[session];
    for (size_t p = 0; strcmp(one->session.family, family) == 0 && p < one->count; p++)
        if (strcmp(one->problems[p].text, text) == 0 && result_of(report, session, p))
            return p;
    return SIZE_MAX;
}

static bool is_known(const st_report_shared *shared, size_t count, const char *family, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(shared[i].family, family) == 0 && strcmp(shared[i].problem, text) == 0)
            return true;
    return false;
}

// The row of a problem, left out where only one session has it.
static st_code add_shared(const st_report *report, size_t session, size_t problem, st_report_shared *row, size_t *count,
                          st_error *error)
{
    const st_reported_session *one = &report->sessions[session];
    size_t found = 0;
    *row = (st_report_shared){one->session.family, one->problems[problem].text,
                              st_calloc(report->count, sizeof *row->place), NAN};
    if (!row->place)
        return st_fail_memory(error, "comparing sessions");
    for (size_t s = 0; s < report->count; s++) {
        row->place[s] = find_problem(report, s, row->family, row->problem);
        if (row->place[s] == SIZE_MAX)
            continue;
        found++;
        row->best_ns = fmin(row->best_ns, result_of(report, s, row->place[s])->winner_ns);
    }
    *count += found > 1;
    if (found < 2)
        st_free(row->place);
    return ST_OK;
}

st_code st_report_shared_find(const st_report *report, st_report_shared **out, size_t *count, st_error *error)
{
    size_t most = 0;
    *out = NULL;
    *count = 0;
    for (size_t s = 0; s < report->count; s++)
        most += report->sessions[s].count;
    st_report_shared *shared = st_calloc(most ? most : 1, sizeof *shared);
    if (!shared)
        return st_fail_memory(error, "comparing sessions");
    st_code code = ST_OK;
    for (size_t s = 0; s < report->count; s++) {
        const st_reported_session *one = &report->sessions[s];
        for (size_t p = 0; p < one->count && code == ST_OK; p++)
            if (result_of(report, s, p) && !is_known(shared, *count, one->session.family, one->problems[p].text))
                code = add_shared(report, s, p, &shared[*count], count, error);
    }
    if (code != ST_OK) {
        st_report_shared_free(shared, *count);
        *count = 0;
        return code;
    }
    *out = shared;
    return ST_OK;
}

void st_report_shared_free(st_report_shared *shared, size_t count)
{
    for (size_t i = 0; shared && i < count; i++)
        st_free(shared[i].place);
    st_free(shared);
}

// --- the spread of times -------------------------------------------------------------------------------------------

bool st_report_spread_of(const st_reported_problem *problem, int cache, size_t *bins, size_t count,
                         st_report_spread *out)
{
    enum { LEAST = 8 };
    static const double near = 1.05;
    double *times = st_malloc((problem->count ? problem->count : 1) * sizeof *times);
    *out = (st_report_spread){INFINITY, NAN, 0, 0, 0};
    memset(bins, 0, count * sizeof *bins);
    if (!times)
        return false;
    // The times of the first look, which all candidates have: those of survivors are better known, but later ones.
    for (size_t c = 0; c < problem->count; c++) {
        double ns = problem->candidates[c].times[cache].first_ns;
        if (problem->candidates[c].outcome != ST_REPORTED_CORRECT || !(ns > 0) || !isfinite(ns))
            continue;
        times[out->measured++] = ns;
        out->low_ns = fmin(out->low_ns, ns);
        out->high_ns = fmax(out->high_ns, ns);
    }
    bool enough = out->measured >= LEAST && out->high_ns > out->low_ns;
    for (size_t i = 0; enough && i < out->measured; i++) {
        double place = log(times[i] / out->low_ns) / log(out->high_ns / out->low_ns);
        size_t bin = (size_t)(place * (double)count);
        bins[bin < count ? bin : count - 1]++;
        out->within += times[i] <= near * out->low_ns;
    }
    if (enough)
        out->median_ns = st_median(times, out->measured);
    st_free(times);
    return enough;
}

size_t st_report_failures(const size_t *outcomes, st_text *out)
{
    size_t failed = 0;
    for (int i = 0; i < ST_REPORTED_OUTCOMES; i++) {
        if (!outcomes[i] || !st_reported_outcome_is_failure((st_reported_outcome)i))
            continue;
        st_text_addf(out, "%s%zu %s", failed ? ", " : "", outcomes[i], st_reported_outcome_name((st_reported_outcome)i));
        failed += outcomes[i];
    }
    return failed;
}
