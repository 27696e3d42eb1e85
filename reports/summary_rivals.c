// SPDX-License-Identifier: Apache-2.0
// Why the winner beats each rival of its template (the best configuration of another algorithm), out of the
// counters of both. Invariants: 1. a reason stands here only when a counter of both shows it; 2. the reasons are
// those that differ most, largest first, at most two; 3. without counters the times alone are told.
#include "reports/summary_internal.h"

#include "cupti/counters.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WAITS = 32, REASONS = 8, REASONS_TOLD = 2 };

// What a candidate's counters say, for comparing two of them. Shares are 0…1; NaN: not counted.
typedef struct counted {
    struct {
        char name[48];
        double pc, range; // share of all samples; of warp latency
    } waits[WAITS];
    size_t wait_count;
    double range_sum;
    double dram_bytes, dram_throughput, instructions, conflicts, wavefronts, occupancy;
    bool any;
} counted;

static void add_up(double *to, double value)
{
    *to = isnan(*to) ? value : *to + value;
}

static void take_wait(counted *to, const char *reason, bool is_pc, double value)
{
    if (!is_pc)
        to->range_sum += value;
    if (strcmp(reason, "selected") == 0 || strcmp(reason, "not_selected") == 0)
        return; // these warps could issue
    size_t i = 0;
    while (i < to->wait_count && strcmp(to->waits[i].name, reason) != 0)
        i++;
    if (i == WAITS)
        return;
    if (i == to->wait_count) {
        snprintf(to->waits[i].name, sizeof to->waits[i].name, "%s", reason);
        to->waits[i].pc = to->waits[i].range = NAN;
        to->wait_count++;
    }
    *(is_pc ? &to->waits[i].pc : &to->waits[i].range) = value;
}

static st_code take_counter(void *context, const char *kind, const char *name, double value, st_error *error)
{
    (void)error;
    counted *to = context;
    static const char start[] = "stall.";
    if (isnan(value))
        return ST_OK;
    to->any = true;
    if (strncmp(name, start, sizeof start - 1) == 0)
        take_wait(to, name + sizeof start - 1, strcmp(kind, "pc") == 0, value);
    else if (strcmp(name, "dram_bytes_read") == 0 || strcmp(name, "dram_bytes_written") == 0)
        add_up(&to->dram_bytes, value);
    else if (strcmp(name, "dram_throughput") == 0)
        to->dram_throughput = value;
    else if (strcmp(name, "instructions") == 0)
        to->instructions = value;
    else if (strcmp(name, "shared_load_conflicts") == 0 || strcmp(name, "shared_store_conflicts") == 0)
        add_up(&to->conflicts, value);
    else if (strcmp(name, "shared_wavefronts") == 0)
        to->wavefronts = value;
    else if (strcmp(name, "occupancy") == 0)
        to->occupancy = value;
    return ST_OK;
}

static st_code read_counted(st_store *store, const summary_candidate *candidate, counted *out, st_error *error)
{
    *out = (counted){.dram_bytes = NAN, .dram_throughput = NAN, .instructions = NAN, .conflicts = NAN,
                     .wavefronts = NAN, .occupancy = NAN};
    return st_store_counters_of(store, candidate->key, take_counter, out, error);
}

// --- reasons -------------------------------------------------------------------------------------------------

typedef struct reason {
    double weight; // how telling: about the share of the time that it can explain
    char words[160];
} reason;

typedef struct reasons {
    reason items[REASONS + WAITS];
    size_t count;
} reasons;

static void add_reason(reasons *to, double weight, const char *words)
{
    if (to->count == sizeof to->items / sizeof to->items[0])
        return;
    to->items[to->count].weight = weight;
    snprintf(to->items[to->count++].words, sizeof to->items[0].words, "%s", words);
}

static int percent(double share)
{
    return (int)lround(share * 100);
}

// The share of one wait in the other's counters, of the same kind; NaN: that kind is not there.
static double share_of(const counted *in, const char *name, bool is_pc)
{
    bool has_kind = false;
    for (size_t i = 0; i < in->wait_count; i++) {
        double value = is_pc ? in->waits[i].pc : in->waits[i].range / in->range_sum;
        has_kind = has_kind || !isnan(value);
        if (strcmp(in->waits[i].name, name) == 0 && !isnan(value))
            return value;
    }
    return has_kind ? 0 : NAN; // sampled, and never seen to wait for this
}

static void compare_waits(const counted *rival, const counted *winner, reasons *out)
{
    char words[160];
    for (size_t i = 0; i < rival->wait_count; i++) {
        const char *name = rival->waits[i].name;
        bool is_pc = !isnan(rival->waits[i].pc);
        double here = is_pc ? rival->waits[i].pc : rival->waits[i].range / rival->range_sum;
        double there = share_of(winner, name, is_pc);
        if (isnan(there) || here - there < 0.05)
            continue;
        const st_stall *stall = st_stall_find(name);
        snprintf(words, sizeof words, "its warps wait for %s %d %% of the time (the winner's %d %%)",
                 stall ? stall->waits_for : name, percent(here), percent(there));
        add_reason(out, here - there, words);
    }
}

static void compare_work(const counted *rival, const counted *winner, reasons *out)
{
    char words[160];
    double bytes = rival->dram_bytes / winner->dram_bytes, instructions = rival->instructions / winner->instructions;
    double conflicts = rival->conflicts / rival->wavefronts, fewer = winner->conflicts / winner->wavefronts;
    if (bytes >= 1.15) {
        snprintf(words, sizeof words, "it moves %.2f × the bytes to and from device memory", bytes);
        add_reason(out, 1 - 1 / bytes, words);
    }
    if (instructions >= 1.3) {
        snprintf(words, sizeof words, "it executes %.1f × the instructions", instructions);
        add_reason(out, 0.5 * (1 - 1 / instructions), words);
    }
    if (isnan(fewer))
        fewer = 0; // the winner does not use shared memory
    if (conflicts - fewer >= 0.1) {
        snprintf(words, sizeof words, "%d %% of its passes through shared memory are bank conflicts (the winner's %d %%)",
                 percent(conflicts), percent(fewer));
        add_reason(out, 0.5 * (conflicts - fewer), words);
    }
    if (winner->dram_throughput - rival->dram_throughput >= 0.1) {
        snprintf(words, sizeof words, "it keeps device memory at %d %% of its peak (the winner at %d %%)",
                 percent(rival->dram_throughput), percent(winner->dram_throughput));
        add_reason(out, 0.4 * (winner->dram_throughput - rival->dram_throughput), words);
    }
    if (winner->occupancy - rival->occupancy >= 0.15) {
        snprintf(words, sizeof words, "%d %% of the warps that fit are resident (the winner's %d %%)",
                 percent(rival->occupancy), percent(winner->occupancy));
        add_reason(out, 0.3 * (winner->occupancy - rival->occupancy), words);
    }
}

static void add_strongest(reasons *from, st_text *out)
{
    for (int told = 0; told < REASONS_TOLD; told++) {
        reason *best = NULL;
        for (size_t i = 0; i < from->count; i++)
            if (from->items[i].weight > 0 && (!best || from->items[i].weight > best->weight))
                best = &from->items[i];
        if (!best)
            return;
        st_text_addf(out, "%s%s", told ? "; " : ": ", best->words);
        best->weight = 0;
    }
}

// --- rivals --------------------------------------------------------------------------------------------------

// The candidate of a problem that has this configuration, or NULL.
static const summary_candidate *candidate_of(const summary_problem *problem, const char *configuration)
{
    for (size_t i = 0; i < problem->count; i++)
        if (strcmp(problem->candidates[i].configuration, configuration) == 0)
            return &problem->candidates[i];
    return NULL;
}

// "PASS=look_back" → "look_back"; a rival that is a number keeps its name.
static const char *label_of(const char *rival)
{
    const char *equals = strchr(rival, '=');
    return equals && (equals[1] < '0' || equals[1] > '9') ? equals + 1 : rival;
}

static st_code add_rival(st_store *store, const summary_candidate *winner, const summary_candidate *rival,
                         const char *label, double times, st_text *out, st_error *error)
{
    counted of_winner, of_rival;
    st_code code = read_counted(store, winner, &of_winner, error);
    if (code == ST_OK)
        code = read_counted(store, rival, &of_rival, error);
    if (code != ST_OK)
        return code;
    reasons why = {.count = 0};
    st_text_addf(out, "%s at its best takes %.2f × the time", label, times);
    if (of_winner.any && of_rival.any) {
        compare_waits(&of_rival, &of_winner, &why);
        compare_work(&of_rival, &of_winner, &why);
        add_strongest(&why, out);
    }
    return ST_OK;
}

static double median_of(const json_t *list, const char *configuration)
{
    size_t i;
    const json_t *entry;
    json_array_foreach(list, i, entry)
    {
        const char *own = json_string_value(json_object_get(entry, "configuration"));
        if (own && strcmp(own, configuration) == 0)
            return st_json_number_or_nan(entry, "median_ns");
    }
    return NAN;
}

// Rivals of one entrant of the finals. Those that the winner itself belongs to are not told.
static st_code tell_entrant(st_store *store, const summary_problem *problem, const summary_candidate *winner,
                            double winner_ns, const json_t *entry, void (*tell)(void *, const char *), void *context,
                            st_error *error)
{
    const char *configuration = json_string_value(json_object_get(entry, "configuration"));
    const json_t *names = json_object_get(entry, "rivals");
    const summary_candidate *rival = configuration ? candidate_of(problem, configuration) : NULL;
    double times = st_json_number_or_nan(entry, "median_ns") / winner_ns;
    st_code code = ST_OK;
    for (size_t i = 0; i < json_array_size(names) && rival && rival != winner && code == ST_OK; i++) {
        const char *name = json_string_value(json_array_get(names, i));
        size_t name_length = name ? strcspn(name, "=") : 0, length;
        const char *own = name ? st_report_value_of(winner->configuration, name, name_length, &length) : NULL;
        bool the_winners = own && strlen(name + name_length + 1) == length &&
                           strncmp(own, name + name_length + 1, length) == 0;
        if (!name || !name[name_length] || the_winners || isnan(times))
            continue;
        st_text words;
        st_text_init(&words);
        code = add_rival(store, winner, rival, label_of(name), times, &words, error);
        if (code == ST_OK && words.failed)
            code = st_fail_memory(error, "comparing with rivals");
        if (code == ST_OK)
            tell(context, st_text_string(&words));
        st_text_release(&words);
    }
    return code;
}

st_code summary_rivals(st_store *store, const summary_problem *problem, int cache,
                       void (*tell)(void *context, const char *words), void *context, st_error *error)
{
    const summary_candidate *winner = summary_winner(problem, cache);
    const char *ties = problem->results[cache].ties_json;
    json_t *list = NULL;
    if (!winner || !ties || !ties[0])
        return ST_OK;
    st_code code = st_json_parse(ties, strlen(ties), "the finals of a problem", &list, error);
    double winner_ns = code == ST_OK ? median_of(list, winner->configuration) : NAN;
    for (size_t i = 0; i < json_array_size(list) && code == ST_OK; i++)
        code = tell_entrant(store, problem, winner, winner_ns, json_array_get(list, i), tell, context, error);
    json_decref(list);
    return code;
}
