// SPDX-License-Identifier: Apache-2.0
// An explanation as JSON, "simtune.explain/1". Invariants: 1. shares are 0…1, times nanoseconds, unknown is null; 2. an
// estimate stands under "estimated_gain" with its formula, what was measured under "measured"; 3. every value says
// how it is known.
#include "reports/explain_internal.h"

#include "tuner/base/json.h"

#include <math.h>
#include <string.h>

// Adds a new value to a list; false: no memory.
static bool append(json_t *list, json_t *value)
{
    return list && value && json_array_append_new(list, value) == 0;
}

static json_t *value_json(const st_profile_view *view, const char *name)
{
    st_validity how;
    double value = st_view_value(view, name, &how);
    return json_pack("{s:o, s:s}", "value", st_json_number(value), "validity", st_validity_name(how));
}

static json_t *values_json(const st_profile_view *view)
{
    static const char *const names[] = {"issue_active",
                                        "latency",
                                        "memory_throughput",
                                        "dram_throughput",
                                        "load_sectors_per_request",
                                        "store_sectors_per_request",
                                        "shared_load_conflicts",
                                        "shared_store_conflicts",
                                        "shared_wavefronts",
                                        "bank_conflicts",
                                        "threads_per_instruction",
                                        "threads_not_predicated",
                                        "special_instructions",
                                        "global_atomics",
                                        "global_reductions",
                                        "local_loads",
                                        "local_stores",
                                        "instructions",
                                        "sm_busy",
                                        "occupancy",
                                        "stall_samples",
                                        "share_of_limit"};
    json_t *all = json_object();
    bool whole = all != NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && whole; i++)
        whole = st_json_put(all, names[i], value_json(view, names[i]));
    if (whole)
        return all;
    json_decref(all);
    return NULL;
}

static json_t *waits_json(const st_reported_profile *profile)
{
    json_t *list = json_array();
    bool whole = list != NULL;
    for (size_t i = 0; i < profile->wait_count && whole; i++) {
        const st_reported_wait *wait = &profile->waits[i];
        char latency[80] = "latency.";
        strncat(latency, wait->name, sizeof latency - sizeof "latency.");
        whole = append(list, json_pack("{s:s, s:o, s:o, s:o, s:o}", "name", wait->name, "share",
                                       st_json_number(st_reported_wait_share(profile, wait)), "not_issued",
                                       st_json_number(wait->not_issued), "ratio", st_json_number(wait->ratio),
                                       "cycles", st_json_number(st_view_value(&profile->view, latency, NULL))));
    }
    if (whole)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *moves_json(const st_finding *finding)
{
    json_t *list = json_array();
    bool whole = list != NULL;
    for (size_t i = 0; i < finding->move_count && whole; i++)
        whole = append(list, json_pack("{s:s, s:i, s:s}", "role", st_role_name(finding->moves[i].role), "direction",
                                       finding->moves[i].direction, "words", st_move_words(finding->moves[i])));
    if (whole)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *one_brought_json(const st_explained *all, const st_explained_one *one, const st_brought *brought)
{
    st_text why;
    st_text_init(&why);
    if (brought->times < 0.8 * brought->promised)
        explain_why_less(&one->profile->view, &brought->view, brought->from, brought->to, &why);
    const char *words = st_text_string(&why);
    json_t *made =
        why.failed ? NULL
                   : json_pack("{s:s, s:s, s:s, s:b, s:o, s:o, s:o, s:s}", "parameter",
                               all->session->parameters[brought->parameter].name, "from", brought->from, "to",
                               brought->to, "alone", (int)brought->alone, "speedup", st_json_number(brought->times),
                               "promised_speedup", st_json_number(brought->promised), "why_less",
                               st_json_text_or_null(words + (words[0] == ' ')), "candidate",
                               all->problem->candidates[brought->candidate].id);
    st_text_release(&why);
    return made;
}

static json_t *brought_json(const st_explained *all, const st_explained_one *one, size_t finding)
{
    json_t *list = json_array();
    bool whole = list != NULL;
    for (size_t i = 0; i < one->brought_count && whole; i++)
        if (one->brought[i].finding == (int)finding)
            whole = append(list, one_brought_json(all, one, &one->brought[i]));
    if (whole)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *focus_json(const st_explained *all, const st_line_sample *focus)
{
    if (!focus)
        return json_null();
    st_text source;
    st_text_init(&source);
    const char *file = st_text_file_name(focus->file);
    bool known = explain_source_line(all->session, file, focus->line, &source);
    json_t *made = source.failed ? NULL
                                 : json_pack("{s:o, s:o, s:s, s:I, s:I, s:o}", "file", st_json_text_or_null(file),
                                             "line", focus->line > 0 ? json_integer(focus->line) : json_null(),
                                             "function", focus->function, "address", (json_int_t)focus->pc_offset,
                                             "samples", (json_int_t)focus->samples, "source",
                                             known ? json_string(st_text_string(&source)) : json_null());
    st_text_release(&source);
    return made;
}

static json_t *finding_json(const st_explained *all, const st_explained_one *one, size_t index)
{
    const st_finding *finding = &one->profile->findings[index];
    size_t count;
    const st_stall *stalls = st_stalls(&count);
    json_t *made = json_object();
    bool whole =
        made && st_json_put(made, "rule", json_string(finding->rule)) &&
        st_json_put(made, "severity", json_string(st_gravity_name(finding->severity))) &&
        st_json_put(made, "stall", finding->stall >= 0 ? json_string(stalls[finding->stall].name) : json_null()) &&
        st_json_put(made, "title", json_string(finding->title)) &&
        st_json_put(made, "message", json_string(finding->message)) &&
        st_json_put(made, "evidence", json_string(finding->evidence)) &&
        st_json_put(made, "change", json_string(finding->remedy)) &&
        st_json_put(made, "estimated_gain", st_json_number(finding->gain)) &&
        st_json_put(made, "estimate_formula", st_json_text_or_null(finding->gain_source)) &&
        st_json_put(made, "moves", moves_json(finding)) &&
        st_json_put(made, "focus", focus_json(all, finding->focus)) &&
        st_json_put(made, "measured", brought_json(all, one, index));
    if (whole)
        return made;
    json_decref(made);
    return NULL;
}

static json_t *findings_json(const st_explained *all, const st_explained_one *one)
{
    json_t *list = json_array();
    bool whole = list != NULL;
    for (size_t i = 0; i < one->profile->finding_count && whole; i++)
        whole = append(list, finding_json(all, one, i));
    if (whole)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *lines_json(const st_explained *all, const st_reported_profile *profile)
{
    json_t *list = json_array();
    bool whole = list != NULL;
    for (size_t i = 0; i < profile->line_count && whole; i++) {
        const st_reported_line *line = &profile->lines[i];
        st_text source;
        st_text_init(&source);
        bool known = explain_source_line(all->session, line->file, line->line, &source);
        whole = !source.failed &&
                append(list, json_pack("{s:o, s:o, s:o, s:o, s:I, s:o}", "file", st_json_text_or_null(line->file),
                                       "line", line->line > 0 ? json_integer(line->line) : json_null(), "stall",
                                       st_json_text_or_null(line->stall_name), "share", st_json_number(line->share),
                                       "samples", (json_int_t)line->samples, "source",
                                       known ? json_string(st_text_string(&source)) : json_null()));
        st_text_release(&source);
    }
    if (whole)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *one_json(const st_explained *all, const st_explained_one *one)
{
    if (one->candidate < 0)
        return json_null();
    const st_reported_candidate *candidate = &all->problem->candidates[one->candidate];
    json_t *made = json_object();
    bool whole = made && st_json_put(made, "candidate", json_string(candidate->id)) &&
                 st_json_put(made, "configuration", json_string(candidate->configuration)) &&
                 st_json_put(made, "outcome", json_string(st_reported_outcome_name(candidate->outcome))) &&
                 st_json_put(made, "winner", json_boolean(one->candidate == all->result->winner)) &&
                 st_json_put(made, "default", json_boolean(one->candidate == all->result->standard)) &&
                 st_json_put(made, "median_ns", st_json_number(one->ns)) &&
                 st_json_put(made, "comparable_ns", st_json_number(candidate->times[all->cache].comparable_ns)) &&
                 st_json_put(made, "bytes", st_json_number(one->profile->view.bytes)) &&
                 st_json_put(made, "registers", st_json_known_or_null(candidate->registers)) &&
                 st_json_put(made, "occupancy_limit", st_json_number(candidate->occupancy)) &&
                 st_json_put(made, "sampled", json_boolean(one->profile->is_sampled)) &&
                 st_json_put(made, "waits", waits_json(one->profile)) &&
                 st_json_put(made, "values", values_json(&one->profile->view)) &&
                 st_json_put(made, "findings", findings_json(all, one)) &&
                 st_json_put(made, "lines", lines_json(all, one->profile));
    if (whole)
        return made;
    json_decref(made);
    return NULL;
}

static json_t *changes_json(const st_explained *all)
{
    const st_reported_result *result = all->result;
    bool told = all->one.candidate == result->winner && all->other.candidate >= 0;
    json_t *list = json_array();
    bool whole = list != NULL;
    for (size_t i = 0; told && i < result->change_count && whole; i++)
        whole = append(list, json_pack("{s:s, s:s, s:s, s:o}", "parameter",
                                       all->session->parameters[result->changes[i].parameter].name, "from",
                                       result->changes[i].from, "to", result->changes[i].to, "without_times",
                                       st_json_number(result->changes[i].without)));
    if (whole)
        return list;
    json_decref(list);
    return NULL;
}

st_code st_explain_json(const st_explained *explained, const st_explain_options *options, json_t **out,
                        st_error *error)
{
    const st_reported_session *session = explained->session;
    bool here = options->here && options->here[0] && strcmp(options->here, session->device_uuid) == 0;
    json_t *made = json_object();
    bool whole = made && st_json_put(made, "schema", json_string("simtune.explain/1")) &&
                 st_json_put(made, "family", json_string(session->session.family)) &&
                 st_json_put(made, "problem", json_string(explained->problem->text)) &&
                 st_json_put(made, "cache", json_string(st_report_cache_name(explained->cache))) &&
                 st_json_put(made, "session", json_string(session->session.id)) &&
                 st_json_put(made, "device", st_json_text_or_null(session->device_name)) &&
                 st_json_put(made, "device_uuid", st_json_text_or_null(session->device_uuid)) &&
                 st_json_put(made, "backend", st_json_text_or_null(session->backend)) &&
                 st_json_put(made, "cc", st_json_known_or_null(session->cc)) &&
                 st_json_put(made, "sm_count", st_json_known_or_null(session->sm_count)) &&
                 st_json_put(made, "driver", st_json_text_or_null(session->driver)) &&
                 st_json_put(made, "measured_here", json_boolean(here)) &&
                 st_json_put(made, "started_ms", st_json_known_or_null(session->session.started_ms)) &&
                 st_json_put(made, "explained", one_json(explained, &explained->one)) &&
                 st_json_put(made, "compared_with", one_json(explained, &explained->other)) &&
                 st_json_put(made, "changes", changes_json(explained));
    if (whole) {
        *out = made;
        return ST_OK;
    }
    json_decref(made);
    return st_fail_memory(error, "explaining a candidate");
}
