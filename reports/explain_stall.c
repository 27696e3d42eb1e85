// SPDX-License-Identifier: Apache-2.0
// One stall reason by any of its names. Invariants: 1. what articles say stands beside what is so; 2. the example is a
// measured candidate of the store, or it is said that there is none.
#include "reports/explain.h"

#include "reports/format.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { INDENT = 16 };

// --- the example --------------------------------------------------------------------------------------------------------

static st_code take(st_stall_example *to, const st_answer *answer, double share, st_error *error)
{
    st_stall_example_release(to);
    snprintf(to->id, sizeof to->id, "%s", answer->candidate_id);
    to->family = st_strdup(answer->family);
    to->problem = st_strdup(answer->problem);
    to->configuration = st_strdup(answer->configuration);
    to->device = st_strdup(answer->device_name);
    to->share = share;
    to->ns = answer->median_ns;
    return to->family && to->problem && to->configuration && to->device
               ? ST_OK
               : st_fail_memory(error, "looking for an example");
}

static st_code consider(void *context, const st_answer *answer, st_error *error)
{
    st_stall_example *best = context;
    for (size_t i = 0; i < answer->value_count; i++) {
        const st_answer_value *value = &answer->values[i];
        if (value->kind != ST_ANSWER_REAL || !st_text_starts(value->name, "pc.stall."))
            continue;
        bool first = !best->family, more = value->real > best->share;
        bool alike = value->real == best->share && strcmp(answer->candidate_id, best->id) < 0;
        if (st_backend_is_hardware(answer->backend) && (first || more || alike))
            return take(best, answer, value->real, error);
    }
    return ST_OK;
}

st_code st_stall_example_find(st_store *store, int stall, st_stall_example *out, st_error *error)
{
    size_t count;
    const st_stall *table = st_stalls(&count);
    char where[128];
    *out = (st_stall_example){.share = NAN, .ns = NAN};
    snprintf(where, sizeof where, "pc.stall.%s > 0.05", table[stall].name);
    st_query query = {.cc = -1, .sm_count = -1, .n = -1, .since_ms = -1, .where = where};
    st_error why = {0};
    st_code code = st_store_query(store, &query, consider, out, &why);
    if (code == ST_USAGE) // the store has never seen this counter
        return ST_OK;
    if (code != ST_OK) {
        st_stall_example_release(out);
        if (error)
            *error = why;
    }
    return code;
}

void st_stall_example_release(st_stall_example *example)
{
    st_free(example->family);
    st_free(example->problem);
    st_free(example->configuration);
    st_free(example->device);
    *example = (st_stall_example){.share = NAN, .ns = NAN};
}

// --- text -----------------------------------------------------------------------------------------------------------------

static void add_names(const st_stall *stall, const char *asked, int width, st_text *out)
{
    st_text words;
    st_text_init(&words);
    if (stall->range_name)
        st_text_addf(&words, "range profiler: smsp__average_warps_issue_stalled_%s_per_issue_active.ratio; ",
                     stall->range_name);
    st_text_addf(&words, "PC sampling: smsp__pcsamp_warps_issue_stalled_%s", stall->pc_name);
    st_report_row(out, "names", INDENT, st_text_string(&words), width);
    st_text_clear(&words);
    for (const char *at = stall->old_names; *at;) {
        size_t length = strcspn(at, " ");
        st_text_addf(&words, "%s%.*s", words.length ? ", " : "", (int)length, at);
        at += length + (at[length] == ' ');
    }
    if (strcmp(asked, stall->name) != 0)
        st_text_addf(&words, "; you asked for %s", asked);
    st_report_row(out, "also called", INDENT, st_text_string(&words), width);
    out->failed = out->failed || words.failed;
    st_text_release(&words);
}

static void add_moves(const st_rule *rule, int width, st_text *out)
{
    st_text words;
    st_text_init(&words);
    for (size_t i = 0; i < rule->move_count; i++)
        st_text_addf(&words, "%s%s (role %s)", i ? "; " : "", st_move_words(rule->moves[i]),
                     st_role_name(rule->moves[i].role));
    if (words.length)
        st_report_row(out, "moved by", INDENT, st_text_string(&words), width);
    out->failed = out->failed || words.failed;
    st_text_release(&words);
}

static void add_example(const st_stall_example *example, int width, st_text *out)
{
    st_text words;
    st_text_init(&words);
    if (!example->family)
        st_text_add(&words, "none: no profile in the store has more than 5 % of it");
    else {
        st_report_share(&words, example->share);
        st_text_addf(&words, " of samples, %s ", example->family);
        st_report_problem(&words, example->problem);
        st_text_addf(&words, " on %s, %s; simtune explain %.12s", example->device, example->configuration,
                     example->id);
    }
    st_report_row(out, "example", INDENT, st_text_string(&words), width);
    out->failed = out->failed || words.failed;
    st_text_release(&words);
}

void st_stall_text(int stall, const char *asked, const st_stall_example *example, int width, st_text *out)
{
    size_t count;
    const st_stall *row = &st_stalls(&count)[stall];
    const st_stall_words *words = st_stall_words_of(stall);
    const st_rule *rule = st_rule_find(row->name);
    width = width ? width : 80;
    st_text_addf(out, "%s: waits for %s\n", row->name, row->waits_for);
    st_report_row(out, "", 2, row->meaning, width);
    add_names(row, asked, width, out);
    if (words && words->claim) {
        st_report_row(out, "they say", INDENT, words->claim, width);
        if (words->correction)
            st_report_row(out, "it is so", INDENT, words->correction, width);
    }
    if (rule) {
        st_report_row(out, "told when", INDENT, rule->when, width);
        st_report_row(out, "change", INDENT, rule->remedy, width);
        add_moves(rule, width, out);
    }
    add_example(example, width, out);
}

// --- JSON -------------------------------------------------------------------------------------------------------------------

static json_t *old_names_json(const st_stall *stall)
{
    json_t *list = json_array();
    bool whole = list != NULL;
    for (const char *at = stall->old_names; *at && whole;) {
        size_t length = strcspn(at, " ");
        whole = json_array_append_new(list, json_stringn(at, length)) == 0;
        at += length + (at[length] == ' ');
    }
    if (whole)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *moves_json(const st_rule *rule)
{
    json_t *list = json_array();
    bool whole = list != NULL;
    for (size_t i = 0; rule && i < rule->move_count && whole; i++)
        whole = json_array_append_new(list, json_pack("{s:s, s:i, s:s}", "role", st_role_name(rule->moves[i].role),
                                                      "direction", rule->moves[i].direction, "words",
                                                      st_move_words(rule->moves[i]))) == 0;
    if (whole)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *example_json(const st_stall_example *example)
{
    if (!example->family)
        return json_null();
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o}", "candidate", example->id, "family", example->family,
                     "problem", example->problem, "configuration", example->configuration, "device", example->device,
                     "share", st_json_number(example->share), "median_ns", st_json_number(example->ns));
}

json_t *st_stall_json(int stall, const st_stall_example *example)
{
    size_t count;
    const st_stall *row = &st_stalls(&count)[stall];
    const st_stall_words *words = st_stall_words_of(stall);
    const st_rule *rule = st_rule_find(row->name);
    json_t *made = json_object();
    bool whole = made && st_json_put(made, "name", json_string(row->name)) &&
                 st_json_put(made, "range_profiler", st_json_text_or_null(row->range_name)) &&
                 st_json_put(made, "pc_sampling", json_string(row->pc_name)) &&
                 st_json_put(made, "old_names", old_names_json(row)) &&
                 st_json_put(made, "waits_for", json_string(row->waits_for)) &&
                 st_json_put(made, "meaning", json_string(row->meaning)) &&
                 st_json_put(made, "claim", st_json_text_or_null(words ? words->claim : NULL)) &&
                 st_json_put(made, "correction", st_json_text_or_null(words ? words->correction : NULL)) &&
                 st_json_put(made, "when", st_json_text_or_null(rule ? rule->when : NULL)) &&
                 st_json_put(made, "change", st_json_text_or_null(rule ? rule->remedy : NULL)) &&
                 st_json_put(made, "moves", moves_json(rule)) && st_json_put(made, "example", example_json(example));
    if (whole)
        return made;
    json_decref(made);
    return NULL;
}
