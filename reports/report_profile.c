// SPDX-License-Identifier: Apache-2.0
// What the counters of one candidate say, with the findings of the rules. Invariants: 1. a value that is not there stays
// NaN; 2. shares are of PC samples where the candidate was sampled, else of warp latency, and never mixed; 3. the
// instructions of one source line are one line here, which waits for what most of its samples wait for.
#include "reports/report_internal.h"

#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct profile_reading {
    st_reported_profile *out;
    double ratios; // of all waits together
} profile_reading;

// --- counters --------------------------------------------------------------------------------------------------------

static int stall_of(const char *name)
{
    size_t count;
    const st_stall *table = st_stalls(&count), *found = st_stall_find(name);
    return found ? (int)(found - table) : -1;
}

static st_reported_wait *wait_of(st_reported_profile *profile, const char *name)
{
    for (size_t i = 0; i < profile->wait_count; i++)
        if (strcmp(profile->waits[i].name, name) == 0)
            return &profile->waits[i];
    st_reported_wait *made = REPORT_ADD(profile->waits, profile->wait_count, profile->wait_capacity);
    if (!made)
        return NULL;
    made->samples = made->not_issued = made->latency = made->ratio = NAN;
    made->stall = stall_of(name);
    snprintf(made->name, sizeof made->name, "%s", name);
    return made;
}

static bool take_wait(profile_reading *at, const char *name, bool is_pc, bool is_not_issued, double value)
{
    st_reported_wait *wait = wait_of(at->out, name);
    if (!wait)
        return false;
    if (is_not_issued)
        wait->not_issued = value;
    else if (is_pc)
        wait->samples = value;
    else
        wait->ratio = value;
    at->out->is_sampled = at->out->is_sampled || (is_pc && !is_not_issued);
    at->ratios += is_pc || is_not_issued ? 0 : value;
    return true;
}

static st_code take_counter(void *context, const char *kind, const char *name, double value, st_error *error)
{
    static const char wait[] = "stall.", not_issued[] = "stall_not_issued.";
    profile_reading *at = context;
    bool is_pc = strcmp(kind, "pc") == 0, fine = true;
    st_view_counter(&at->out->view, kind, name, value);
    if (isnan(value))
        return ST_OK;
    at->out->any = true;
    if (strncmp(name, wait, sizeof wait - 1) == 0)
        fine = take_wait(at, name + sizeof wait - 1, is_pc, false, value);
    else if (strncmp(name, not_issued, sizeof not_issued - 1) == 0)
        fine = take_wait(at, name + sizeof not_issued - 1, is_pc, true, value);
    else if (strcmp(name, "stall_samples") == 0)
        at->out->total_samples = value;
    else if (!is_pc) { // of the rest of "pc", nothing is a counter of the kernel
        st_reported_counter *made = REPORT_ADD(at->out->counters, at->out->counter_count, at->out->counter_capacity);
        fine = made != NULL;
        if (made) {
            snprintf(made->name, sizeof made->name, "%s", name);
            made->value = value;
        }
    }
    return fine ? ST_OK : st_fail_memory(error, "reading counters");
}

double st_reported_counter_of(const st_reported_profile *profile, const char *name)
{
    for (size_t i = 0; profile && i < profile->counter_count; i++)
        if (strcmp(profile->counters[i].name, name) == 0)
            return profile->counters[i].value;
    return NAN;
}

double st_reported_wait_share(const st_reported_profile *profile, const st_reported_wait *wait)
{
    return profile->is_sampled ? wait->samples : wait->latency;
}

static double order_of(const st_reported_wait *wait)
{
    return isfinite(wait->samples) ? wait->samples : isfinite(wait->latency) ? wait->latency : -1;
}

static int by_share(const void *a, const void *b)
{
    double x = order_of(a), y = order_of(b);
    if (x != y)
        return x > y ? -1 : 1;
    return strcmp(((const st_reported_wait *)a)->name, ((const st_reported_wait *)b)->name);
}

static void finish_waits(st_reported_profile *profile, double ratios)
{
    for (size_t i = 0; i < profile->wait_count; i++)
        if (ratios > 0)
            profile->waits[i].latency = profile->waits[i].ratio / ratios;
    if (profile->wait_count)
        qsort(profile->waits, profile->wait_count, sizeof *profile->waits, by_share);
    for (size_t i = 0; i < profile->wait_count && profile->main_wait < 0; i++) {
        const char *name = profile->waits[i].name;
        double share = st_reported_wait_share(profile, &profile->waits[i]);
        if (share > 0 && strcmp(name, "selected") != 0 && strcmp(name, "not_selected") != 0)
            profile->main_wait = (int)i;
    }
}

// --- lines -----------------------------------------------------------------------------------------------------------

// The name under which the template's texts have a file: the compiler may have seen it by a path.
static const char *known_file(const st_reported_session *session, const char *file)
{
    const char *base = st_text_file_name(file), *name;
    json_t *text;
    json_object_foreach(session->sources, name, text)
    {
        if (strcmp(name, file) == 0 || strcmp(st_text_file_name(name), base) == 0)
            return name;
    }
    return base;
}

static int by_place(const void *a, const void *b, void *context)
{
    const st_line_sample *lines = context, *x = &lines[*(const size_t *)a], *y = &lines[*(const size_t *)b];
    int order = strcmp(x->file, y->file);
    order = order ? order : (x->line > y->line) - (x->line < y->line);
    order = order ? order : (x->main_stall > y->main_stall) - (x->main_stall < y->main_stall);
    return order ? order : (x->samples < y->samples) - (x->samples > y->samples);
}

// Instructions [first, last) of `order` are of one line.
static bool add_line(const st_reported_session *session, st_reported_profile *profile, const size_t *order,
                     size_t first, size_t last)
{
    st_reported_line *line = REPORT_ADD(profile->lines, profile->line_count, profile->line_capacity);
    const st_line_sample *all = profile->instructions;
    if (!line)
        return false;
    uint64_t most = 0, of_stall = 0;
    line->stall = -1;
    for (size_t i = first; i < last; i++) {
        const st_line_sample *one = &all[order[i]];
        of_stall =
            i > first && all[order[i - 1]].main_stall == one->main_stall ? of_stall + one->samples : one->samples;
        line->samples += one->samples;
        if (of_stall > most) {
            most = of_stall;
            line->stall = one->main_stall;
        }
    }
    size_t count;
    const st_stall *table = st_stalls(&count);
    bool known = line->stall >= 0 && (size_t)line->stall < count;
    snprintf(line->stall_name, sizeof line->stall_name, "%s", known ? table[line->stall].name : "");
    line->line = all[order[first]].line;
    line->file = st_strdup(known_file(session, all[order[first]].file));
    return line->file != NULL;
}

static int by_samples(const void *a, const void *b)
{
    const st_reported_line *x = a, *y = b;
    if (x->samples != y->samples)
        return x->samples > y->samples ? -1 : 1;
    int order = strcmp(x->file, y->file);
    return order ? order : x->line - y->line;
}

static bool make_lines(const st_reported_session *session, st_reported_profile *profile)
{
    size_t count = profile->instruction_count, *order = st_malloc((count ? count : 1) * sizeof *order);
    bool fine = order != NULL;
    double total = 0;
    for (size_t i = 0; i < count && fine; i++) {
        order[i] = i;
        total += (double)profile->instructions[i].samples;
    }
    if (fine && count)
        qsort_r(order, count, sizeof *order, by_place, profile->instructions);
    for (size_t first = 0; first < count && fine;) {
        size_t last = first;
        const st_line_sample *one = &profile->instructions[order[first]];
        while (last < count && profile->instructions[order[last]].line == one->line &&
               strcmp(profile->instructions[order[last]].file, one->file) == 0)
            last++;
        fine = add_line(session, profile, order, first, last);
        first = last;
    }
    st_free(order);
    if (!fine)
        return false;
    // What was sampled in instructions that the store did not keep is a part of the whole as well.
    total = profile->total_samples > total ? profile->total_samples : total;
    for (size_t i = 0; i < profile->line_count; i++)
        profile->lines[i].share = (double)profile->lines[i].samples / total;
    if (profile->line_count)
        qsort(profile->lines, profile->line_count, sizeof *profile->lines, by_samples);
    return true;
}

// --- the view of the rules -------------------------------------------------------------------------------------------

static double fact_of(const st_reported_session *session, const char *name)
{
    return session->device_facts ? st_json_number_or_nan(session->device_facts, name) : NAN;
}

static int64_t whole_fact(const st_reported_session *session, const char *name)
{
    double value = fact_of(session, name);
    return isfinite(value) && value >= 0 ? (int64_t)value : -1;
}

static double known(int value)
{
    return value < 0 ? NAN : value;
}

static void fill_view(const st_reported_session *session, const st_reported_problem *problem, int cache, int candidate,
                      st_profile_view *view)
{
    const st_reported_candidate *of = &problem->candidates[candidate];
    const st_reported_result *result = &problem->results[cache];
    view->registers = known(of->registers);
    view->local_bytes = known(of->local_bytes);
    view->static_smem = known(of->static_smem);
    view->dynamic_smem = known(of->dynamic_smem);
    view->blocks_per_sm = known(of->blocks_per_sm);
    view->occupancy = of->occupancy;
    view->ns = candidate == result->winner     ? result->winner_ns // of all rounds of the finals
               : candidate == result->standard ? result->standard_ns
                                               : of->times[cache].median_ns;
    view->best_ns = result->winner_ns;
    view->bytes = result->bytes;
    view->device = (st_device_limits){.read_gbs = session->read_gbs,
                                      .copy_gbs = session->copy_gbs,
                                      .written_share = NAN,
                                      .cc = session->cc,
                                      .sm_count = session->sm_count,
                                      .sm_clock_ghz = fact_of(session, "sm_clock_khz") / 1e6,
                                      .threads_per_sm = whole_fact(session, "threads_per_sm"),
                                      .registers_per_sm = whole_fact(session, "registers_per_sm"),
                                      .smem_per_sm = whole_fact(session, "smem_per_sm")};
}

static st_code load_instructions(st_store *store, int64_t key, st_reported_profile *profile, st_error *error)
{
    char *json = NULL;
    st_code code = st_store_stall_lines_of(store, key, &json, error);
    if (code == ST_OK && json)
        code = st_stall_lines_parse(json, &profile->instructions, &profile->instruction_count, error);
    st_free(json);
    return code;
}

// Samples are taken while warps run: where the SMs seldom have work, no wait can save more than that share of the time, and
// that they have none comes first.
static void weigh_by_work(st_reported_profile *profile)
{
    static const double seldom = 0.2;
    double busy = st_view_value(&profile->view, "sm_busy", NULL);
    for (size_t i = 0; i < profile->finding_count; i++) {
        st_finding *finding = &profile->findings[i];
        size_t used = strlen(finding->evidence);
        if (finding->stall >= 0 && finding->gain > busy) {
            finding->gain = busy;
            if (busy < seldom)
                snprintf(finding->evidence + used, sizeof finding->evidence - used,
                         "; no more can be saved than the %.2g %% of the time in which SMs have work", 100 * busy);
        }
        if (finding->stall >= 0 && busy < seldom && finding->severity == ST_GRAVITY_MAJOR)
            finding->severity = ST_GRAVITY_MINOR;
        if (busy < seldom && strcmp(finding->rule, "tail_effect") == 0) {
            st_finding first = *finding;
            memmove(&profile->findings[1], &profile->findings[0], i * sizeof first);
            profile->findings[0] = first;
        }
    }
}

// At the limit of the memory waits are what is left of it, and no advice.
static void weigh_by_limit(const st_reported_session *session, st_reported_profile *profile, int cache)
{
    static const double near = 0.95;
    const st_profile_view *view = &profile->view;
    bool in_cache = cache == ST_REPORT_WARM && !(view->bytes > 4.0 * (double)session->l2_bytes);
    if (in_cache || !(st_view_share_of_limit(view) >= near))
        return;
    for (size_t i = 0; i < profile->finding_count; i++) {
        st_finding *finding = &profile->findings[i];
        if (finding->severity == ST_GRAVITY_FINE)
            continue;
        finding->severity = ST_GRAVITY_FINE;
        finding->message = "The run is at the memory's limit: this is what shows while the memory is busy, not what holds it back.";
        finding->remedy = "Leave it: no more can be saved than the distance to the limit, unless fewer bytes are moved.";
        finding->move_count = 0;
    }
}

st_code report_profile_load(st_store *store, const st_reported_session *session, const st_reported_problem *problem,
                            int cache, int candidate, st_reported_profile **out, st_error *error)
{
    st_reported_profile *profile = st_calloc(1, sizeof *profile);
    profile_reading at = {.out = profile};
    *out = profile;
    if (!profile)
        return st_fail_memory(error, "reading counters");
    profile->main_wait = -1;
    profile->total_samples = NAN;
    st_view_init(&profile->view);
    fill_view(session, problem, cache, candidate, &profile->view);
    int64_t key = problem->candidates[candidate].key;
    st_code code = st_store_counters_of(store, key, take_counter, &at, error);
    if (code == ST_OK)
        code = load_instructions(store, key, profile, error);
    if (code != ST_OK)
        return code;
    finish_waits(profile, at.ratios);
    if (!make_lines(session, profile))
        return st_fail_memory(error, "reading the lines of a profile");
    profile->view.lines = profile->instructions;
    profile->view.line_count = profile->instruction_count;
    profile->finding_count = st_advise(&profile->view, profile->findings);
    st_findings_cap(&profile->view, profile->findings, profile->finding_count);
    weigh_by_work(profile);
    weigh_by_limit(session, profile, cache);
    return ST_OK;
}

void report_profile_free(st_reported_profile *profile)
{
    if (!profile)
        return;
    for (size_t i = 0; i < profile->line_count; i++)
        st_free(profile->lines[i].file);
    st_free(profile->lines);
    st_free(profile->waits);
    st_free(profile->counters);
    st_free(profile->instructions);
    st_free(profile);
}
