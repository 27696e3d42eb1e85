// SPDX-License-Identifier: Apache-2.0
// Judging. Invariants: 1. one rule tells noise from change (st_change_of); 2. samples that were taken by turns are
// compared in pairs, all others by the exact bootstrap of each side; 3. a reason stands wherever it cannot be told;
// 4. an acknowledged change fails again only when what is new is worse than what was acknowledged, by the same rule.
#include "reports/compare_internal.h"

#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RESAMPLES = 1000, SEED = 1 };

const char *st_change_name(st_change change)
{
    static const char *const names[ST_CHANGES] = {"better", "same", "worse", "cannot tell"};
    return names[change];
}

st_change st_change_of(st_interval ratio, double threshold)
{
    if (isnan(ratio.low) || isnan(ratio.centre) || isnan(ratio.high) || ratio.centre <= 0)
        return ST_CHANGE_UNKNOWN;
    if (ratio.low > 1 && ratio.centre - 1 >= threshold)
        return ST_CHANGE_WORSE;
    if (ratio.high < 1 && 1 / ratio.centre - 1 >= threshold)
        return ST_CHANGE_BETTER;
    bool within = ratio.high <= 1 + threshold && ratio.low >= 1 / (1 + threshold);
    return within ? ST_CHANGE_SAME : ST_CHANGE_UNKNOWN;
}

// --- what differs --------------------------------------------------------------------------------------------------

const char *st_differs_name(unsigned bit)
{
    static const char *const names[ST_DIFFERS_KINDS] = {"device",   "driver", "compiler",     "tool",
                                                        "template", "clock",  "verification", "unfinished"};
    for (int i = 0; i < ST_DIFFERS_KINDS; i++)
        if (bit == 1u << i)
            return names[i];
    return "";
}

// How results had to be: run to run the same (1), or not (0); -1 unknown.
static int demanded(const char *options)
{
    json_t *parsed = NULL;
    if (!options[0] || st_json_parse(options, strlen(options), "the session's options", &parsed, NULL) != ST_OK)
        return -1;
    const json_t *value = json_object_get(parsed, "run_to_run");
    int result = json_is_boolean(value) ? json_is_true(value) : -1;
    json_decref(parsed);
    return result;
}

void st_differs_add_value(const st_compare_record *record, unsigned bit, st_text *out)
{
    const st_compare_row *row = &record->row;
    const char *text = bit == ST_DIFFERS_DRIVER       ? row->driver
                       : bit == ST_DIFFERS_COMPILER   ? row->compiler
                       : bit == ST_DIFFERS_TOOL       ? row->tool
                       : bit == ST_DIFFERS_UNFINISHED ? row->status
                                                      : NULL;
    if (bit == ST_DIFFERS_DEVICE)
        st_text_addf(out, "%s%s%s%s", row->device_name[0] ? row->device_name : "-", row->device_uuid[0] ? " (" : "",
                     row->device_uuid, row->device_uuid[0] ? ")" : "");
    else if (bit == ST_DIFFERS_TEMPLATE)
        st_text_addf(out, "%.12s", row->template_hash[0] ? row->template_hash : "-");
    else if (bit == ST_DIFFERS_CLOCK)
        st_text_addf(out, "SM %d MHz, memory %d MHz", record->sm_clock_mhz, record->memory_clock_mhz);
    else if (bit == ST_DIFFERS_VERIFICATION) {
        int demands = demanded(row->options_json);
        bool known = demands >= 0 || row->deterministic >= 0;
        st_text_addf(out, "%s%s%s", known ? "" : "unknown",
                     demands < 0 ? "" : demands ? "run to run demanded" : "any order allowed",
                     row->deterministic < 0    ? ""
                     : row->deterministic == 1 ? ", the same from run to run"
                                               : ", may differ from run to run");
    } else
        st_text_add(out, text && text[0] ? text : "-");
}

static bool clocks_differ(int a, int b)
{
    return a > 0 && b > 0 && fabs((double)a / b - 1) > 0.02;
}

// What is unknown on a side is no difference.
static bool texts_differ(const char *a, const char *b)
{
    return a[0] && b[0] && strcmp(a, b) != 0;
}

static bool demands_differ(const char *a, const char *b)
{
    if (strcmp(a, b) == 0) // nearly always
        return false;
    int x = demanded(a), y = demanded(b);
    return x >= 0 && y >= 0 && x != y;
}

unsigned compare_differences(const st_compare_record *a, const st_compare_record *b)
{
    const st_compare_row *x = &a->row, *y = &b->row;
    unsigned differs = 0;
    if (texts_differ(x->device_uuid, y->device_uuid) || texts_differ(x->device_name, y->device_name) ||
        texts_differ(x->backend, y->backend))
        differs |= ST_DIFFERS_DEVICE;
    differs |= texts_differ(x->driver, y->driver) ? ST_DIFFERS_DRIVER : 0;
    differs |= texts_differ(x->compiler, y->compiler) ? ST_DIFFERS_COMPILER : 0;
    differs |= texts_differ(x->tool, y->tool) ? ST_DIFFERS_TOOL : 0;
    differs |= texts_differ(x->template_hash, y->template_hash) ? ST_DIFFERS_TEMPLATE : 0;
    if (clocks_differ(a->sm_clock_mhz, b->sm_clock_mhz) || clocks_differ(a->memory_clock_mhz, b->memory_clock_mhz))
        differs |= ST_DIFFERS_CLOCK;
    if (demands_differ(x->options_json, y->options_json) ||
        (x->deterministic >= 0 && y->deterministic >= 0 && x->deterministic != y->deterministic))
        differs |= ST_DIFFERS_VERIFICATION;
    bool unfinished = (x->status[0] && strcmp(x->status, "finished") != 0) ||
                      (y->status[0] && strcmp(y->status, "finished") != 0);
    return differs | (unfinished ? ST_DIFFERS_UNFINISHED : 0);
}

// --- a pair --------------------------------------------------------------------------------------------------------

static void take_facts(st_compare_record *record, const st_standing *standing)
{
    record->samples = standing->sample_count;
    record->sm_clock_mhz = standing->sm_clock_mhz;
    record->memory_clock_mhz = standing->memory_clock_mhz;
    record->temperature_c = standing->temperature_c;
    record->dropped = standing->dropped;
}

static double threshold_of(const st_compare_rules *rules, bool within, const st_standing *a, const st_standing *b,
                           double shorter_ns)
{
    double tick_a = a->tick_ns / (a->batch > 0 ? a->batch : 1), tick_b = b->tick_ns / (b->batch > 0 ? b->batch : 1);
    double tick = fmax(tick_a, tick_b) / shorter_ns * rules->ticks; // fmax takes the known one
    if (within)
        return rules->within;
    return isfinite(tick) && tick > rules->between ? tick : rules->between;
}

static void judge_samples(const st_compare_rules *rules, bool within, const st_standing *a, const st_standing *b,
                          st_compare_pair *out)
{
    out->a_ns = st_median(a->samples_ns, a->sample_count);
    out->b_ns = st_median(b->samples_ns, b->sample_count);
    out->threshold = threshold_of(rules, within, a, b, fmin(out->a_ns, out->b_ns));
    if (out->paired)
        out->ratio = st_ratio_interval(b->samples_ns, a->samples_ns, a->sample_count, RESAMPLES, SEED);
    else
        out->ratio = st_ratio_interval_unpaired(b->samples_ns, b->sample_count, a->samples_ns, a->sample_count);
    out->change = st_change_of(out->ratio, out->threshold);
    if (out->change == ST_CHANGE_UNKNOWN)
        out->reason = isnan(out->ratio.low)  ? "a sample is not a time"
                      : out->ratio.low > 1 || out->ratio.high < 1
                          ? "the gap is too small for noise to be ruled out"
                          : "the samples scatter too much";
}

// Too few to judge: their medians stand all the same.
static void take_few(const st_standing *a, const st_standing *b, st_compare_pair *out)
{
    out->reason = "there are fewer than 6 samples on a side";
    if (!isfinite(a->median_ns) || !isfinite(b->median_ns))
        return;
    out->a_ns = a->median_ns;
    out->b_ns = b->median_ns;
    out->ratio.centre = out->b_ns / out->a_ns;
}

// What can be said without looking at samples; true when that is all.
static bool judge_without(const st_compare_record *a, const st_compare_record *b, st_compare_pair *out)
{
    bool measured = a->in_store && b->in_store;
    if (measured && a->row.candidate_key == b->row.candidate_key) {
        out->change = ST_CHANGE_SAME;
        out->reason = "it is the same measurement";
        out->ratio = (st_interval){1, 1, 1};
        return true;
    }
    out->ratio.centre = b->row.median_ns / a->row.median_ns;
    if (!measured && isnan(out->ratio.centre))
        out->reason = isnan(a->row.median_ns) ? "A was never measured" : "B was never measured";
    else if (!measured)
        out->reason = a->in_store ? "B's samples are not in this store" : "A's samples are not in this store";
    else if (strcmp(a->row.backend, ST_PREDICTED_BACKEND) == 0)
        out->reason = "A was predicted, not measured";
    else if (strcmp(b->row.backend, ST_PREDICTED_BACKEND) == 0)
        out->reason = "B was predicted, not measured";
    else if (strcmp(a->row.outcome, "correct") != 0)
        out->reason = "A's candidate is not correct, so its time means nothing";
    else if (strcmp(b->row.outcome, "correct") != 0)
        out->reason = "B's candidate is not correct, so its time means nothing";
    return out->reason[0] != '\0';
}

// The samples to compare, of one phase; *alike false: there are none.
static st_code read_samples(st_store *store, const st_compare_record *a, const st_compare_record *b, bool within,
                            st_standing *of_a, st_standing *of_b, bool *paired, bool *alike, st_error *error)
{
    int64_t key_a = a->row.candidate_key, key_b = b->row.candidate_key;
    st_code code = ST_OK;
    *paired = false;
    *alike = true;
    if (within)
        code = st_store_standing_pair(store, key_a, key_b, a->row.cache, of_a, of_b, paired, error);
    if (code == ST_OK && !*paired)
        code = st_store_standing_shared(store, key_a, key_b, a->row.cache, of_a, of_b, alike, error);
    return code;
}

st_code compare_judge(st_store *store, const st_compare_rules *rules, st_compare_record *a, st_compare_record *b,
                      st_compare_pair *out, st_error *error)
{
    st_standing of_a = {0}, of_b = {0};
    bool within = a->in_store && b->in_store && strcmp(a->row.session_id, b->row.session_id) == 0;
    bool same_default = a->row.default_configuration_key >= 0 &&
                        a->row.default_configuration_key == b->row.default_configuration_key;
    if (same_default && !within)
        out->default_ratio = b->row.default_ns / a->row.default_ns;
    out->threshold = within ? rules->within : rules->between;
    bool done = judge_without(a, b, out);
    st_code code = ST_OK;
    unsigned long failed = st_allocations_failed();
    bool alike = true;
    if (!done)
        code = read_samples(store, a, b, within, &of_a, &of_b, &out->paired, &alike, error);
    if (!done && !alike) {
        out->ratio.centre = NAN;
        out->reason = "they were never timed in the same phase, and phases are not alike";
    } else if (!done && code == ST_OK) {
        take_facts(a, &of_a);
        take_facts(b, &of_b);
        if (of_a.sample_count < ST_COMPARE_SAMPLES_LEAST || of_b.sample_count < ST_COMPARE_SAMPLES_LEAST)
            take_few(&of_a, &of_b, out);
        else
            judge_samples(rules, within, &of_a, &of_b, out);
        if (st_allocations_failed() != failed) // NaN would mean that it cannot be told
            code = st_fail_memory(error, "comparing");
    }
    if (code == ST_OK)
        out->differs = compare_differences(a, b);
    st_standing_release(&of_a);
    st_standing_release(&of_b);
    return code;
}

// --- what was acknowledged -------------------------------------------------------------------------------------------

typedef struct looking {
    const char *family, *problem, *cache; // of the pair
    int64_t session_key;                  // that was acknowledged; -1 before one is found
    st_compare_note *note;
    st_compare_record *record; // the acknowledged session's row of the problem
} looking;

static st_code take_note(void *context, const st_acknowledgement *row, st_error *error)
{
    looking *at = context;
    if (at->note || strcmp(row->problem, at->problem) != 0)
        return ST_OK; // the newest comes first
    at->note = st_calloc(1, sizeof *at->note);
    if (!at->note)
        return st_fail_memory(error, "comparing");
    memcpy(at->note->id, row->id, sizeof at->note->id);
    strncpy(at->note->session_id, row->session_id, ST_HASH_TEXT - 1);
    at->note->acknowledged_ms = row->acknowledged_ms;
    at->note->ratio = (st_interval){NAN, NAN, NAN};
    at->note->reason = st_strdup(row->reason);
    at->note->author = row->author ? st_strdup(row->author) : NULL;
    at->session_key = row->session_key;
    return at->note->reason && (!row->author || at->note->author) ? ST_OK : st_fail_memory(error, "comparing");
}

static st_code take_acknowledged(void *context, const st_compare_row *row, st_error *error)
{
    looking *at = context;
    if (at->record || strcmp(row->problem, at->problem) != 0)
        return ST_OK;
    return compare_record_make(row, true, &at->record, error);
}

// Is what is new worse than what was acknowledged?
static st_code judge_note(st_comparison *made, st_store *store, const st_compare_pair *pair, looking *at,
                          st_error *error)
{
    const st_compare_row *a = &pair->a->row;
    st_compare_filter filter = {.family = a->family, .cache = a->cache, .n = a->n};
    if (pair->b && pair->b->row.session_key == at->session_key)
        return ST_OK;
    st_code code = st_store_compare(store, ST_SIDE_SESSION, at->note->session_id, &filter, take_acknowledged, at,
                                    error);
    if (code != ST_OK || !at->record) // nothing valid was left there either
        return code;
    if (!pair->b) {
        at->note->surpassed = true;
        return ST_OK;
    }
    st_compare_record *copy = NULL;
    st_compare_pair against = {.reason = "", .ratio = {NAN, NAN, NAN}};
    code = compare_record_make(&pair->b->row, true, &copy, error);
    if (code == ST_OK)
        code = compare_judge(store, &made->rules, at->record, copy, &against, error);
    at->note->ratio = against.ratio;
    at->note->surpassed = against.change == ST_CHANGE_WORSE;
    compare_record_free(copy);
    return code;
}

static st_code find_note(st_comparison *made, st_store *store, st_compare_pair *pair, st_error *error)
{
    const st_compare_row *a = &pair->a->row;
    looking at = {.family = a->family, .problem = a->problem, .cache = a->cache, .session_key = -1};
    st_compare_filter filter = {.family = a->family, .cache = a->cache, .n = a->n};
    st_code code = st_store_acknowledgements(store, a->session_key, &filter, take_note, &at, error);
    if (code == ST_OK && at.note)
        code = judge_note(made, store, pair, &at, error);
    compare_record_free(at.record);
    pair->note = at.note; // released with the pair, whatever happened
    return code;
}

st_code st_comparison_acknowledged(st_comparison *made, st_store *store, st_error *error)
{
    st_code code = ST_OK;
    for (size_t i = 0; i < made->count && code == ST_OK; i++) {
        st_compare_pair *pair = &made->pairs[i];
        if (pair->change == ST_CHANGE_WORSE || pair->change == ST_CHANGE_UNKNOWN)
            code = find_note(made, store, pair, error);
        made->acknowledged += pair->note && !pair->note->surpassed;
    }
    return code;
}

static bool is_excused(const st_compare_pair *pair)
{
    return pair->note && !pair->note->surpassed;
}

size_t st_comparison_regressions(const st_comparison *made)
{
    size_t count = 0;
    for (size_t i = 0; i < made->count; i++)
        count += made->pairs[i].change == ST_CHANGE_WORSE && !is_excused(&made->pairs[i]);
    return count;
}

size_t st_comparison_untold(const st_comparison *made)
{
    size_t count = made->only_count[0];
    for (size_t i = 0; i < made->count; i++)
        count += made->pairs[i].change == ST_CHANGE_UNKNOWN && !is_excused(&made->pairs[i]);
    return count;
}
