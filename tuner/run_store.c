// SPDX-License-Identifier: Apache-2.0
// What a run writes, and reads back when it resumes. Invariants: 1. a candidate's rows are in one
// transaction, which is begun when all of it is measured: other processes write to the same store; 2. two runs
// are the same run (and the second resumes the first) exactly when everything that decides what would be
// measured is equal: device, template, toolchain, problems, space options, strategy, seed, budgets; 3. a session has one process: it holds the session's claim from before the session can be
// seen until its end, and only a session without one is resumed.
#include "db/locking.h"
#include "tuner/base/clock.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/base/statistics.h"
#include "tuner/base/version.h"
#include "tuner/run_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// What takes a while is asked before the store is held: the memory's speed is measured, files are read.
typedef struct run_prepared {
    st_device_row device;
    st_text template_texts; // {"reduce.cu": text, "simtune_device.cuh": text, …}
} run_prepared;

static st_code prepare_device(st_run *run, st_device_row *row, st_error *error)
{
    const st_device_facts *device = &run->device;
    *row = (st_device_row){.cc = (int)device->cc,
                           .sm_count = (int)device->sm_count,
                           .memory_bytes = device->memory_bytes,
                           .l2_bytes = device->l2_bytes,
                           .read_gbs = NAN,
                           .copy_gbs = NAN};
    snprintf(row->uuid, sizeof row->uuid, "%s", device->uuid);
    snprintf(row->name, sizeof row->name, "%s", device->name);
    snprintf(row->backend, sizeof row->backend, "%s", device->backend);
    snprintf(row->pci, sizeof row->pci, "%s", device->pci);
    st_code code = run_profiler_await(run, error);
    if (code != ST_OK)
        return code;
    st_trouble trouble;
    st_error why = {0};
    if (st_link_speed(run->timing, &row->read_gbs, &row->copy_gbs, &trouble, &why) != ST_OK ||
        trouble != ST_TROUBLE_NONE)
        run_note(run, "the memory's speed could not be measured: %s", why.what);
    if (run->options->budget_limit > 0 && !(row->read_gbs > 0))
        run_note(run, "so --budget limit ends nothing");
    run->read_gbs = row->read_gbs;
    run->copy_gbs = row->copy_gbs;
    json_t *facts = st_device_facts_encode(device);
    st_text text;
    st_text_init(&text);
    if (facts)
        st_json_print(facts, &text);
    json_decref(facts);
    row->facts_json = st_text_take(&text);
    return row->facts_json ? ST_OK : st_fail_memory(error, "storing the device");
}

static st_code prepare_template(st_run *run, st_text *text, st_error *error)
{
    st_includes includes = {0};
    st_code code = st_template_includes(run->tmpl, &includes, error);
    json_t *files = json_object();
    const char *slash = strrchr(run->tmpl->path, '/');
    if (code == ST_OK && files) {
        json_object_set_new(files, slash ? slash + 1 : run->tmpl->path, json_string(run->tmpl->text));
        for (size_t i = 0; i < includes.count; i++)
            json_object_set_new(files, includes.items[i].name, json_string(includes.items[i].text));
        st_json_print(files, text);
    }
    if (code == ST_OK && (!files || text->failed))
        code = st_fail_memory(error, "storing the template");
    json_decref(files);
    st_includes_release(&includes);
    return code;
}

static void hash_list(st_hash *hash, const char *const *items, size_t count)
{
    st_hash_number(hash, (int64_t)count);
    for (size_t i = 0; i < count; i++)
        st_hash_field(hash, items[i]);
}

static st_code resume_key(st_run *run, char out[ST_HASH_TEXT], st_error *error)
{
    const st_tune_options *options = run->options;
    st_hash *hash = st_hash_new();
    if (!hash)
        return st_fail_memory(error, "naming the run");
    st_hash_field(hash, run->device.uuid);
    st_hash_field(hash, run->device.driver);
    st_hash_field(hash, run->compiler);
    st_hash_field(hash, SIMTUNE_VERSION);
    st_hash_field(hash, run->tmpl->hash);
    for (size_t i = 0; i < options->problem_count; i++)
        st_hash_field(hash, run->problems[i].text);
    hash_list(hash, options->space.set, options->space.set_count);
    hash_list(hash, options->space.vary, options->space.vary_count);
    hash_list(hash, options->space.where, options->space.where_count);
    // 2: where the template's own default is another.
    bool by_default = options->space.unless_default_none && run->tmpl->default_none_count;
    st_hash_number(hash, options->space.need_run_to_run ? 1 + by_default : 0);
    st_hash_field(hash, options->strategy);
    st_hash_number(hash, (int64_t)options->seed);
    st_hash_number(hash, (int64_t)(options->budget_seconds * 1000));
    st_hash_number(hash, (int64_t)options->budget_candidates);
    if (options->budget_limit > 0)
        st_hash_number(hash, (int64_t)(options->budget_limit * 1e6));
    if (options->no_history)
        st_hash_field(hash, "no history");
    st_hash_text(hash, out);
    st_hash_free(hash);
    return ST_OK;
}

// Takes up the newest unfinished session of this key that no process runs any more.
static st_code resume_session(st_run *run, const char *key, st_error *error)
{
    st_session_row old = {0};
    st_error why = {0};
    size_t running = 0;
    st_code code = st_store_session_resume(run->store, key, &old, &running, &why);
    if (code == ST_OK) {
        run->session = old.key;
        run->session_began_ms = old.started_ms;
        run->result->resumed = true;
        snprintf(run->result->session_id, sizeof run->result->session_id, "%s", old.id);
        st_session_row_release(&old);
    } else if (code == ST_NOTHING) {
        if (running)
            run_note(run, "another process is tuning just this right now: this run is a session of its own");
        return ST_OK;
    } else {
        *error = why;
    }
    return code;
}

static st_code begin_session(st_run *run, const char *key, st_error *error)
{
    st_session_row session = {.started_ms = st_clock_unix_ms(),
                              .finished_ms = -1,
                              .device_key = run->device_key,
                              .toolchain_key = run->toolchain_key,
                              .template_key = run->template_key};
    bool mine = false;
    snprintf(session.resume_key, sizeof session.resume_key, "%s", key);
    snprintf(session.family, sizeof session.family, "%s", run->tmpl->family);
    session.command = (char *)(uintptr_t)(run->options->command ? run->options->command : "");
    session.options_json = st_format(
        "{\"seed\":%llu,\"strategy\":\"%s\",\"run_to_run\":%s}", (unsigned long long)run->options->seed,
        run->options->strategy, run->options->space.need_run_to_run ? "true" : "false");
    st_code code = session.options_json ? st_store_session_begin(run->store, &session, error)
                                        : st_fail_memory(error, "beginning a session");
    st_free(session.options_json);
    if (code == ST_OK)
        code = st_store_session_claim(run->store, session.id, &mine, error);
    run->session = session.key;
    run->session_began_ms = session.started_ms;
    snprintf(run->result->session_id, sizeof run->result->session_id, "%s", session.id);
    return code;
}

static st_code write_beginning(st_run *run, const run_prepared *prepared, const st_toolchain_row *toolchain,
                               st_error *error)
{
    char key[ST_HASH_TEXT];
    st_code code = st_store_device(run->store, &prepared->device, &run->device_key, error);
    if (code == ST_OK)
        code = st_store_toolchain(run->store, toolchain, &run->toolchain_key, error);
    if (code == ST_OK)
        code = st_store_template(run->store, run->tmpl->family, run->tmpl->hash,
                                 st_text_string(&prepared->template_texts), &run->template_key, error);
    if (code == ST_OK)
        code = resume_key(run, key, error);
    if (code == ST_OK && !run->options->fresh)
        code = resume_session(run, key, error);
    if (code == ST_OK && !run->result->resumed)
        code = begin_session(run, key, error);
    run->result->session_key = run->session;
    return code;
}

// Dates order sessions ("the newest winner"), so a clock that was set back is worth a word.
static st_code look_at_clock(st_run *run, st_error *error)
{
    enum { HOUR_MS = 60 * 60 * 1000 };
    int64_t newest = -1;
    char date[ST_DATE_TEXT];
    st_code code = st_store_newest_ms(run->store, &newest, error);
    if (code == ST_OK && newest - st_clock_unix_ms() > HOUR_MS) {
        st_clock_date(newest, date);
        run_note(run, "this machine's clock is behind the store, whose newest session is of %s: what is stored now "
                      "will look older", date);
    }
    return code;
}

st_code run_store_begin(st_run *run, st_error *error)
{
    st_toolchain_row toolchain = {.driver_cuda = run->device.driver_cuda};
    run_prepared prepared = {0};
    snprintf(toolchain.driver, sizeof toolchain.driver, "%s", run->device.driver);
    snprintf(toolchain.compiler, sizeof toolchain.compiler, "%s", run->compiler);
    snprintf(toolchain.tool, sizeof toolchain.tool, "%s", SIMTUNE_VERSION);
    st_text_init(&prepared.template_texts);
    st_code code = look_at_clock(run, error);
    if (code == ST_OK)
        code = prepare_device(run, &prepared.device, error);
    if (code == ST_OK)
        code = prepare_template(run, &prepared.template_texts, error);
    if (code == ST_OK)
        code = st_store_begin(run->store, error);
    if (code == ST_OK) {
        // One transaction from looking for an unfinished session to claiming it.
        code = write_beginning(run, &prepared, &toolchain, error);
        if (code == ST_OK)
            code = st_store_commit(run->store, error);
        else
            st_store_rollback(run->store);
    }
    st_free(prepared.device.facts_json);
    st_text_release(&prepared.template_texts);
    return code;
}

st_code run_store_problem(st_run *run, run_problem *problem, st_error *error)
{
    const st_template *tmpl = run->tmpl;
    const st_type *type = st_problem_type(tmpl, &problem->problem);
    st_text words;
    st_text_init(&words);
    int64_t n = -1;
    for (size_t i = 0; i < tmpl->axis_count; i++) {
        const st_axis *axis = &tmpl->axes[i];
        int64_t value = problem->problem.value[i];
        if (axis->kind == ST_AXIS_SIZE && !axis->data && (n < 0 || strcmp(axis->name, "n") == 0))
            n = value;
        if (axis->kind != ST_AXIS_WORD || axis->data)
            continue;
        for (size_t v = 0; v < axis->value_count; v++)
            if (axis->values[v].number == value)
                st_text_addf(&words, "%s%s", words.length ? "_" : "", axis->values[v].word);
    }
    const char *operation = words.length ? st_text_string(&words) : NULL;
    st_code code = words.failed ? st_fail_memory(error, "storing a problem")
                                : st_store_problem(run->store, tmpl->family, problem->text, type ? type->name : NULL,
                                                   operation, n, &problem->key, error);
    st_text_release(&words);
    return code;
}

double run_occupancy(const st_run *run, const run_candidate *candidate)
{
    if (candidate->main.blocks_per_sm < 0 || !candidate->main_block || run->device.threads_per_sm <= 0)
        return NAN;
    uint32_t warps = (candidate->main_block + 31) / 32;
    return (double)warps * 32 * candidate->main.blocks_per_sm / (double)run->device.threads_per_sm;
}

st_code run_store_candidate(st_run *run, run_problem *problem, run_candidate *candidate,
                            const char *detail, st_error *error)
{
    st_text text;
    st_text_init(&text);
    st_config_text(run->tmpl, &candidate->config, &text);
    const run_class *class = &run->classes[candidate->class_index];
    const run_program *program = &run->programs[class->program];
    st_candidate_row row = {.session_key = run->session,
                            .problem_key = problem->key,
                            .registers = candidate->main.registers,
                            .local_bytes = candidate->main.local_bytes,
                            .static_smem = candidate->main.static_smem,
                            .dynamic_smem = candidate->kernels.count ? (int)candidate->main_smem : -1,
                            .blocks_per_sm = candidate->main.blocks_per_sm,
                            .occupancy = run_occupancy(run, candidate),
                            .deterministic = candidate->kernels.count ? candidate->deterministic : -1,
                            .compile_seconds = program->class_count
                                                   ? program->compiled.seconds / (double)program->class_count
                                                   : NAN};
    snprintf(row.outcome, sizeof row.outcome, "%s", st_outcome_name(candidate->outcome));
    st_code code = text.failed ? st_fail_memory(error, "storing a candidate") : ST_OK;
    if (code == ST_OK && detail && !(row.detail = st_strndup(detail, strnlen(detail, 4000))))
        code = st_fail_memory(error, "storing a candidate");
    if (code == ST_OK)
        code = st_store_configuration(run->store, run->tmpl->family, st_text_string(&text),
                                      &row.configuration_key, error);
    bool before = candidate->key != 0;
    if (code == ST_OK)
        code = st_store_candidate(run->store, &row, error);
    candidate->key = row.key;
    if (code == ST_OK)
        run_finished(run, problem, candidate, st_text_string(&text), before);
    st_free(row.detail);
    st_text_release(&text);
    return code;
}

st_code run_store_taken(st_run *run, const run_candidate *candidate, const char *phase, int round,
                        const run_taken *taken, st_error *error)
{
    const st_timing_state *state = &taken->state;
    st_measurement_row row = {.candidate_key = candidate->key,
                              .round = round,
                              .samples_ns = taken->samples,
                              .sample_count = taken->count,
                              .median_ns = st_median(taken->samples, taken->count),
                              .sm_clock_mhz = state->sm_clock_mhz,
                              .memory_clock_mhz = state->memory_clock_mhz,
                              .temperature_c = state->temperature_c,
                              .power_mw = state->power_mw,
                              .throttle_reasons = state->throttle_reasons,
                              .dropped = (int)state->dropped,
                              .batch = (int)state->batch,
                              .tick_ns = state->tick_ns,
                              .taken_ms = taken->taken_ms};
    if (state->other_processes > run->other_processes)
        run->other_processes = state->other_processes;
    snprintf(row.phase, sizeof row.phase, "%s", phase);
    snprintf(row.cache, sizeof row.cache, "%s", run_cache_names[taken->cache]);
    if (taken->count && isnan(row.median_ns))
        return st_fail_memory(error, "storing samples");
    return st_store_measurement(run->store, &row, error);
}

st_code run_store_end(st_run *run, bool finished, st_error *error)
{
    json_t *outcomes = json_object();
    for (int i = 0; i < ST_OUTCOME_COUNT; i++)
        json_object_set_new(outcomes, st_outcome_name((st_outcome)i),
                            json_integer((json_int_t)run->result->outcomes[i]));
    json_t *summary = json_pack(
        "{s:o, s:f, s:{s:f, s:f, s:f, s:f}, s:I, s:o, s:s, s:f, s:I, s:f, s:I}", "outcomes", outcomes, "seconds",
        st_clock_seconds() - run->started, "phases", "compile_cpu", run->compile_seconds, "screen",
        run->screen_seconds, "finals", run->finals_seconds, "profile", run->profile_seconds,
        "throttled_samples", (json_int_t)run->throttled_samples, "other_processes",
        run->other_processes < 0 ? json_null() : json_integer(run->other_processes), "counters",
        run->result->counters, "tick_ns", st_link_tick_ns(run->timing), "compile_processes", (json_int_t)st_pool_processes(run->pool),
        "longest_store_wait", st_store_longest_wait(run->store), "allowed", (json_int_t)run->allowed);
    st_text text;
    st_text_init(&text);
    if (summary)
        st_json_print(summary, &text);
    st_code code = st_store_session_end(run->store, run->session,
                                        finished ? ST_SESSION_FINISHED : ST_SESSION_INTERRUPTED,
                                        summary && !text.failed ? st_text_string(&text) : NULL, error);
    json_decref(summary);
    st_text_release(&text);
    st_store_session_release(run->store, run->result->session_id); // not ended: a next run takes it up
    return code;
}

// --- resuming ---------------------------------------------------------------------------------------------

typedef struct resuming {
    st_run *run;
    run_problem *problem;
    run_candidate *candidate;
} resuming;

static st_code take_measurement(void *context, const st_measurement_row *row, st_error *error)
{
    (void)error;
    resuming *at = context;
    for (int cache = 0; cache < CACHES; cache++) {
        if (strcmp(row->cache, run_cache_names[cache]) != 0)
            continue;
        if (strcmp(row->phase, "finals") == 0) {
            if (at->problem->finals_round[cache] <= row->round)
                at->problem->finals_round[cache] = row->round + 1;
            continue;
        }
        run_series *series = &at->candidate->series[cache];
        if (strcmp(row->phase, "screen") == 0 && cache == COLD)
            at->candidate->screen_ns = row->median_ns;
        if (row->round + 1 > series->rounds) {
            series->rounds = row->round + 1;
            series->median_ns = row->median_ns;
        }
        if (!(series->median_ns >= at->problem->best_ns[cache]))
            at->problem->best_ns[cache] = series->median_ns;
    }
    return ST_OK;
}

static st_code take_candidate(void *context, const st_candidate_row *row, const char *problem_text,
                              const char *configuration, st_error *error)
{
    st_run *run = context;
    st_config config;
    int outcome = st_outcome_find(row->outcome);
    if (outcome < 0 || st_config_parse(run->tmpl, configuration, &config, NULL) != ST_OK)
        return ST_OK;
    for (size_t p = 0; p < run->options->problem_count; p++) {
        run_problem *problem = &run->problems[p];
        if (strcmp(problem->text, problem_text) != 0)
            continue;
        size_t at = st_config_index_find(&problem->index, &config);
        if (at == SIZE_MAX || problem->candidates[at].resumed)
            continue;
        run_candidate *candidate = &problem->candidates[at];
        candidate->resumed = true;
        candidate->stage = STAGE_DONE;
        candidate->outcome = (st_outcome)outcome;
        candidate->key = row->key;
        candidate->deterministic = row->deterministic == 1;
        candidate->main = (st_loaded_kernel){row->registers, row->local_bytes, row->static_smem, -1,
                                              row->blocks_per_sm};
        if (row->occupancy > 0 && row->blocks_per_sm > 0)
            candidate->main_block = (uint32_t)lround(row->occupancy * (double)run->device.threads_per_sm / row->blocks_per_sm);
        candidate->main_smem = row->dynamic_smem > 0 ? (uint32_t)row->dynamic_smem : 0;
        run->result->outcomes[outcome]++;
        problem->outcomes[outcome]++;
        run->result->resumed_candidates++;
        problem->failed += outcome != ST_OUTCOME_CORRECT;
        resuming context_of = {run, problem, candidate};
        return st_store_measurements(run->store, row->key, take_measurement, &context_of, error);
    }
    return ST_OK;
}

static st_code take_counter(void *context, const char *kind, const char *name, double value,
                            st_error *error)
{
    (void)kind, (void)value, (void)error;
    run_candidate *candidate = context;
    candidate->profiled = candidate->profiled || strcmp(name, "stall_samples") == 0;
    return ST_OK;
}

static st_code take_winner(void *context, const st_answer *answer, st_error *error)
{
    (void)error;
    st_run *run = context;
    for (size_t p = 0; answer->is_winner && p < run->options->problem_count; p++)
        for (int cache = 0; cache < CACHES; cache++)
            if (strcmp(run->problems[p].text, answer->problem) == 0 && answer->cache &&
                strcmp(run_cache_names[cache], answer->cache) == 0)
                run->problems[p].won[cache] = true;
    return ST_OK;
}

st_code run_resume(st_run *run, st_error *error)
{
    if (!run->result->resumed)
        return ST_OK;
    st_query winners = {.family = run->tmpl->family,
                        .cc = -1,
                        .sm_count = -1,
                        .n = -1,
                        .since_ms = -1,
                        .session = run->result->session_id};
    st_code code = st_store_candidates(run->store, run->session, take_candidate, run, error);
    for (size_t p = 0; p < run->options->problem_count && code == ST_OK; p++)
        for (size_t i = 0; i < run->problems[p].candidate_count && code == ST_OK; i++)
            if (run->problems[p].candidates[i].resumed)
                code = st_store_counters_of(run->store, run->problems[p].candidates[i].key, take_counter,
                                            &run->problems[p].candidates[i], error);
    return code == ST_OK ? st_store_query(run->store, &winners, take_winner, run, error) : code;
}
