// SPDX-License-Identifier: Apache-2.0
// The counters that moved most between the two candidates of a pair. Invariants: 1. a counter stands here only when
// both have it, of the same kind; 2. stalls are shares: of samples where PC sampling saw both, else of the warps'
// latency; a stall that one side's samples never saw is 0 there; 3. largest first, by about the share of the time
// that a movement can explain.
#include "reports/compare_internal.h"

#include "cupti/counters.h"
#include "reports/format.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char stall_start[] = "stall.";

typedef struct counter {
    char kind[8], name[80];
    double values[2];
} counter;

typedef struct reading {
    counter *list;
    size_t count, capacity;
    int side;
    bool sampled[2];      // PC sampling saw this side
    double latency[2];    // the sum of its exact stall ratios
} reading;

static bool is_stall(const char *name)
{
    return strncmp(name, stall_start, sizeof stall_start - 1) == 0;
}

static st_code take_counter(void *context, const char *kind, const char *name, double value, st_error *error)
{
    reading *at = context;
    bool is_pc = strcmp(kind, "pc") == 0;
    if (isnan(value) || (is_pc && !is_stall(name))) // counts of samples, stalls with nothing issued
        return ST_OK;
    at->sampled[at->side] = at->sampled[at->side] || is_pc;
    if (!is_pc && is_stall(name))
        at->latency[at->side] += value;
    size_t i = 0;
    while (i < at->count && (strcmp(at->list[i].name, name) != 0 || strcmp(at->list[i].kind, kind) != 0))
        i++;
    if (i == at->count) {
        counter *list = st_grow(at->list, &at->capacity, at->count + 1, sizeof *list);
        if (!list)
            return st_fail_memory(error, "comparing counters");
        at->list = list;
        list[i] = (counter){.values = {NAN, NAN}};
        snprintf(list[i].kind, sizeof list[i].kind, "%s", kind);
        snprintf(list[i].name, sizeof list[i].name, "%s", name);
        at->count++;
    }
    at->list[i].values[at->side] = value;
    return ST_OK;
}

// Shares of both, where there are such.
static void as_shares(reading *at)
{
    bool both_sampled = at->sampled[0] && at->sampled[1];
    for (size_t i = 0; i < at->count; i++) {
        counter *one = &at->list[i];
        bool is_pc = strcmp(one->kind, "pc") == 0;
        if (!is_stall(one->name))
            continue;
        for (int side = 0; side < 2; side++) {
            if (is_pc && both_sampled && isnan(one->values[side]))
                one->values[side] = 0;
            if (!is_pc) // the samples say the same, of the very instructions
                one->values[side] = both_sampled ? NAN : one->values[side] / at->latency[side];
        }
    }
}

// About the share of the time that it can explain; 0: not worth a word.
static double weight_of(const counter *one)
{
    double a = one->values[0], b = one->values[1];
    const st_metric *metric = st_metric_find(one->name);
    if (isnan(a) || isnan(b) || (!is_stall(one->name) && !metric))
        return 0;
    if (is_stall(one->name))
        return fabs(b - a) >= 0.02 ? fabs(b - a) : 0;
    if (metric->unit == ST_UNIT_SHARE)
        return fabs(b - a) >= 0.02 ? 0.4 * fabs(b - a) : 0;
    double less = fmin(fabs(a), fabs(b)), more = fmax(fabs(a), fabs(b));
    bool counts_much = more > 0 && less / more <= 0.95;
    return counts_much ? 0.3 * (1 - less / more) : 0;
}

static int by_weight(const void *x, const void *y)
{
    const st_compare_moved *a = x, *b = y;
    if (a->weight != b->weight)
        return a->weight < b->weight ? 1 : -1;
    int order = strcmp(a->name, b->name);
    return order ? order : strcmp(a->kind, b->kind);
}

static void keep_heaviest(const reading *at, st_compare_pair *pair)
{
    st_compare_moved all[ST_COMPARE_MOVED + 1];
    size_t count = 0;
    for (size_t i = 0; i < at->count; i++) {
        const counter *one = &at->list[i];
        st_compare_moved moved = {.a = one->values[0], .b = one->values[1], .weight = weight_of(one)};
        if (moved.weight <= 0)
            continue;
        memcpy(moved.kind, one->kind, sizeof moved.kind);
        memcpy(moved.name, one->name, sizeof moved.name);
        all[count++] = moved;
        qsort(all, count, sizeof *all, by_weight);
        if (count > ST_COMPARE_MOVED)
            count = ST_COMPARE_MOVED;
    }
    memcpy(pair->moved, all, count * sizeof *all);
    pair->moved_count = count;
}

st_code compare_counters(st_store *store, st_compare_pair *pair, st_error *error)
{
    reading at = {0};
    const st_compare_record *both[] = {pair->a, pair->b};
    st_code code = ST_OK;
    for (at.side = 0; at.side < 2 && code == ST_OK; at.side++)
        code = st_store_counters_of(store, both[at.side]->row.candidate_key, take_counter, &at, error);
    if (code == ST_OK) {
        as_shares(&at);
        keep_heaviest(&at, pair);
    }
    st_free(at.list);
    return code;
}

// --- words ---------------------------------------------------------------------------------------------------------

const char *compare_moved_unit(const st_compare_moved *moved)
{
    const st_metric *metric = st_metric_find(moved->name);
    return is_stall(moved->name) ? "share" : metric ? st_metric_unit_name(metric->unit) : "unknown";
}

const char *compare_moved_of(const st_compare_moved *moved)
{
    if (!is_stall(moved->name))
        return NULL;
    return strcmp(moved->kind, "pc") == 0 ? "samples" : "warp_latency";
}

const char *compare_moved_meaning(const st_compare_moved *moved)
{
    if (is_stall(moved->name)) {
        const st_stall *stall = st_stall_find(moved->name + sizeof stall_start - 1);
        return stall ? stall->waits_for : "";
    }
    const st_metric *metric = st_metric_find(moved->name);
    return metric ? metric->meaning : "";
}

void st_compare_add_moved(const st_compare_moved *moved, st_text *out)
{
    if (is_stall(moved->name)) {
        st_text_addf(out, "%s ", moved->name + sizeof stall_start - 1);
        st_report_share(out, moved->a);
        st_text_add(out, " → ");
        st_report_share(out, moved->b);
        st_text_add(out, strcmp(moved->kind, "pc") == 0 ? " of samples" : " of warp latency");
        return;
    }
    const st_metric *metric = st_metric_find(moved->name);
    st_text_addf(out, "%s ", moved->name);
    if (!metric) {
        st_text_addf(out, "%g → %g", moved->a, moved->b);
        return;
    }
    st_metric_add_value(out, metric, moved->a);
    st_text_add(out, " → ");
    st_metric_add_value(out, metric, moved->b);
}
