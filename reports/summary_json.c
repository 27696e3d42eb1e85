// SPDX-License-Identifier: Apache-2.0
// The summary for programs. Invariants: 1. times are nanoseconds, speeds bytes per second, shares 0…1;
// 2. unknown is null; 3. keys are sorted (json.h), so equal sessions give equal bytes; 4. a key keeps its
// meaning for ever, a new meaning is a new schema number.
#include "reports/summary_internal.h"

#include "cupti/counters.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <string.h>

static bool put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

static json_t *text_or_null(const char *text)
{
    return text && text[0] ? json_string(text) : json_null();
}

static json_t *known_or_null(int64_t value)
{
    return value >= 0 ? json_integer(value) : json_null();
}

// What the store holds as JSON text; null when it holds none.
static json_t *parsed_or_null(const char *text)
{
    json_t *value = NULL;
    if (!text || !text[0] || st_json_parse(text, strlen(text), "the store", &value, NULL) != ST_OK)
        return json_null();
    return value;
}

static json_t *counters_json(const summary_counters *counters)
{
    if (!counters->any)
        return json_null();
    const st_stall *stall = st_stall_find(counters->stall);
    json_t *object = json_object();
    bool whole = object && put(object, "main_stall", text_or_null(counters->stall)) &&
                 put(object, "main_stall_share", st_json_number(counters->stall_share)) &&
                 put(object, "main_stall_share_of",
                     counters->stall[0] ? json_string(counters->stall_of_samples ? "samples" : "warp_latency")
                                        : json_null()) &&
                 put(object, "waits_for", text_or_null(stall ? stall->waits_for : NULL)) &&
                 put(object, "dram_throughput_share", st_json_number(counters->dram_throughput));
    if (whole)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *candidate_json(const summary_candidate *candidate, double ns, const summary_counters *counters)
{
    if (!candidate)
        return json_null();
    json_t *object = json_object();
    bool whole = object && put(object, "candidate", json_string(candidate->id)) &&
                 put(object, "configuration", json_string(candidate->configuration)) &&
                 put(object, "outcome", json_string(candidate->outcome)) &&
                 put(object, "median_ns", st_json_number(ns)) &&
                 put(object, "registers", known_or_null(candidate->registers)) &&
                 put(object, "occupancy", st_json_number(candidate->occupancy)) &&
                 put(object, "counters", counters_json(counters));
    if (whole)
        return object;
    json_decref(object);
    return NULL;
}

static void append_words(void *context, const char *words)
{
    json_array_append_new(context, json_string(words)); // a loss shows in st_allocations_failed
}

// What summary_rivals tells, as a list of texts; NULL when memory is out.
static json_t *rivals_json(st_store *store, const summary_problem *problem, int cache)
{
    unsigned long failed = st_allocations_failed();
    json_t *list = json_array();
    if (list && summary_rivals(store, problem, cache, append_words, list, NULL) == ST_OK &&
        st_allocations_failed() == failed)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *result_json(st_store *store, const summary *all, const summary_problem *problem, int cache)
{
    const summary_result *result = &problem->results[cache];
    const summary_candidate *winner = summary_winner(problem, cache);
    if (!winner)
        return json_null();
    double speed = result->bytes / result->winner_ns * 1e9;
    json_t *object = json_object();
    bool whole =
        object && put(object, "winner", candidate_json(winner, result->winner_ns, &result->winner_counters)) &&
        put(object, "default",
            candidate_json(summary_standard(problem, cache), result->standard_ns, &result->standard_counters)) &&
        put(object, "speedup", st_json_number(result->speedup)) &&
        put(object, "speedup_low", st_json_number(result->speedup_low)) &&
        put(object, "speedup_high", st_json_number(result->speedup_high)) &&
        put(object, "bytes", st_json_number(result->bytes)) &&
        put(object, "bytes_per_second", st_json_number(speed)) &&
        put(object, "share_of_read_speed", st_json_number(speed / (all->read_gbs * 1e9))) &&
        put(object, "samples", json_integer((json_int_t)result->samples)) &&
        put(object, "tied", json_integer(result->tied)) &&
        put(object, "ties", parsed_or_null(result->ties_json)) &&
        put(object, "against", rivals_json(store, problem, cache)) &&
        put(object, "note", text_or_null(result->note));
    if (whole)
        return object;
    json_decref(object);
    return NULL;
}

// Counts by outcome, and the first candidate of each outcome that has a detail.
static bool put_outcomes(json_t *object, const summary_problem *problem)
{
    json_t *counts = json_object(), *examples = json_array();
    bool whole = counts && examples;
    for (size_t i = 0; i < problem->count && whole; i++) {
        const summary_candidate *candidate = &problem->candidates[i];
        json_int_t before = json_integer_value(json_object_get(counts, candidate->outcome));
        whole = put(counts, candidate->outcome, json_integer(before + 1));
        if (whole && candidate->detail && strcmp(candidate->outcome, "correct") != 0)
            whole = json_array_append_new(examples, json_pack("{s:s, s:s, s:s}", "candidate", candidate->id,
                                                              "outcome", candidate->outcome, "detail",
                                                              candidate->detail)) == 0;
    }
    if (!whole) {
        json_decref(counts);
        json_decref(examples);
        return false;
    }
    whole = put(object, "outcomes", counts);
    return put(object, "failed_examples", examples) && whole;
}

static json_t *problem_json(st_store *store, const summary *all, const summary_problem *problem)
{
    json_t *object = json_object();
    bool whole = object && put(object, "problem", json_string(problem->text)) &&
                 put(object, "type", text_or_null(problem->type)) &&
                 put(object, "operation", text_or_null(problem->operation)) &&
                 put(object, "n", known_or_null(problem->n)) && put_outcomes(object, problem);
    for (int cache = 0; cache < SUMMARY_CACHES && whole; cache++)
        whole = put(object, summary_caches[cache], result_json(store, all, problem, cache));
    if (whole)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *session_json(const summary *all)
{
    static const char *const words[] = {"running", "finished", "interrupted"};
    const st_session_row *session = &all->session;
    json_t *object = json_object();
    bool whole = object && put(object, "id", json_string(session->id)) &&
                 put(object, "family", json_string(session->family)) &&
                 put(object, "status", json_string(words[session->status])) &&
                 put(object, "command", text_or_null(session->command)) &&
                 put(object, "started_ms", known_or_null(session->started_ms)) &&
                 put(object, "finished_ms", known_or_null(session->finished_ms)) &&
                 put(object, "options", parsed_or_null(session->options_json)) &&
                 put(object, "run", parsed_or_null(session->summary_json));
    if (whole)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *device_json(const summary *all)
{
    json_t *object = json_object();
    bool whole = object && put(object, "name", text_or_null(all->device_name)) &&
                 put(object, "uuid", text_or_null(all->device_uuid)) &&
                 put(object, "backend", text_or_null(all->backend)) &&
                 put(object, "cc", known_or_null(all->cc)) &&
                 put(object, "sm_count", known_or_null(all->sm_count)) &&
                 put(object, "read_bytes_per_second", st_json_number(all->read_gbs * 1e9)) &&
                 put(object, "driver", text_or_null(all->driver)) &&
                 put(object, "driver_cuda", known_or_null(all->driver_cuda)) &&
                 put(object, "compiler", text_or_null(all->compiler)) &&
                 put(object, "tool", text_or_null(all->tool)) &&
                 put(object, "template_hash", text_or_null(all->template_hash));
    if (whole)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *trust_json(const summary_trust *trust)
{
    return json_pack("{s:o, s:o, s:o}", "sm_clock_mhz_low", known_or_null(trust->clock_low),
                     "sm_clock_mhz_high", known_or_null(trust->clock_high), "temperature_c_high",
                     known_or_null(trust->temperature_high));
}

st_code st_summary_json(st_store *store, const char *session_id, st_text *out, st_error *error)
{
    summary all;
    st_code code = summary_load(store, session_id, &all, error);
    if (code != ST_OK)
        return code;
    st_text next;
    st_text_init(&next);
    summary_add_next(&all, 0, &next);
    json_t *whole_thing = json_object(), *problems = json_array();
    bool whole = whole_thing && problems;
    for (size_t i = 0; i < all.count && whole; i++)
        whole = json_array_append_new(problems, problem_json(store, &all, &all.problems[i])) == 0;
    whole = whole && json_object_set(whole_thing, "problems", problems) == 0 &&
            put(whole_thing, "schema", json_string("simtune.summary/1")) &&
            put(whole_thing, "session", session_json(&all)) && put(whole_thing, "device", device_json(&all)) &&
            put(whole_thing, "trust", trust_json(&all.trust)) &&
            put(whole_thing, "next", json_string(st_text_string(&next)));
    if (whole)
        st_json_print(whole_thing, out);
    if (!whole || out->failed || next.failed)
        code = st_fail_memory(error, "writing a summary");
    json_decref(problems);
    json_decref(whole_thing);
    st_text_release(&next);
    summary_release(&all);
    return code;
}
