// SPDX-License-Identifier: Apache-2.0
// The second reading: entries as rows. Invariants: 1. the session is finished, never resumed, and its device has the
// backend "imported", so nothing of it is emitted as tuned; 2. an entry of a configuration that was there before is
// a further round when it was measured again, and nothing when it repeats the same samples or came out otherwise; 3. what was reported
// stays beside what was recomputed; 4. a file that changed since the first reading is refused.
#include "db/exchange_internal.h"

#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct storing {
    st_store *store;
    const st_survey *survey;
    st_imported *out;
    st_hash *entries;
    st_trial trial;
    int64_t session_key, problem_key;
    double seconds[ST_TRIAL_SECONDS], compile_seconds; // sums
} storing;

// --- what stands before the entries ----------------------------------------------------------------------------------
static st_code add_device(storing *at, int64_t *key, st_error *error)
{
    const st_sheet *sheet = &at->survey->sheet;
    st_device_row row = {.cc = sheet->cc, .sm_count = sheet->sm_count, .memory_bytes = -1, .l2_bytes = -1,
                         .read_gbs = NAN, .copy_gbs = NAN};
    char hash[ST_HASH_TEXT];
    st_code code = st_content_id(hash, (const char *[]){"imported device", sheet->device}, 2, error);
    snprintf(row.uuid, sizeof row.uuid, "imported-%s", hash);
    snprintf(row.name, sizeof row.name, "%s", sheet->device);
    snprintf(row.backend, sizeof row.backend, ST_IMPORTED_BACKEND);
    return code == ST_OK ? st_device_find_or_make(at->store, &row, key, NULL, error) : code;
}

static st_code add_toolchain(storing *at, int64_t *key, st_error *error)
{
    const st_sheet *sheet = &at->survey->sheet;
    st_toolchain_row row = {.driver_cuda = sheet->driver_cuda};
    snprintf(row.driver, sizeof row.driver, "%s", sheet->driver);
    snprintf(row.compiler, sizeof row.compiler, "%s", sheet->compiler);
    snprintf(row.tool, sizeof row.tool, "%s", sheet->tool);
    return st_store_toolchain(at->store, &row, key, error);
}

// There is no text; the name of the family stands for it.
static st_code add_template(storing *at, int64_t *key, st_error *error)
{
    char id[ST_HASH_TEXT], hash[ST_HASH_TEXT + 16];
    const char *family = at->survey->sheet.family;
    st_code code = st_content_id(id, (const char *[]){"imported template", family}, 2, error);
    snprintf(hash, sizeof hash, "imported-%s", id);
    return code == ST_OK ? st_store_template(at->store, family, hash, "{}", key, error) : code;
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// What a replay needs of the file, and what it said of itself.
static st_code options_text(const storing *at, const char *path, st_text *out, st_error *error)
{
    static const char *const kept[] = {"kernel_name", "problem_size", "objective", "tune_params_keys", "tune_params",
                                       "schema_version"};
    const st_survey *survey = at->survey;
    st_line line;
    st_line_start(&line, NULL);
    st_line_text(&line, "form", st_exchange_form_name(survey->walked.form));
    st_line_text(&line, "file", file_name(path));
    if (survey->walked.cut)
        st_line_value(&line, "cut", json_true());
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (json_object_get(survey->head, kept[i]))
            st_line_value(&line, kept[i], json_incref(json_object_get(survey->head, kept[i])));
    json_t *whole = line.failed ? NULL : json_pack("{s:O}", "imported", line.object);
    json_decref(line.object);
    if (whole)
        st_history_print(whole, out);
    json_decref(whole);
    return whole && !out->failed ? ST_OK : st_fail_memory(error, "importing");
}

static st_code insert_session(storing *at, const char *path, const int64_t keys[3], st_error *error)
{
    const st_survey *survey = at->survey;
    st_text options, command;
    st_statement statement = {0};
    st_text_init(&options);
    st_text_init(&command);
    st_text_addf(&command, "simtune db import %s", file_name(path));
    st_code code = options_text(at, path, &options, error);
    if (code == ST_OK && command.failed)
        code = st_fail_memory(error, "importing");
    if (code == ST_OK)
        code = st_statement_open(at->store, &statement,
                                 "INSERT INTO session (session_id, resume_key, family, status, command, started_ms,"
                                 " finished_ms, options, device_key, toolchain_key, template_key)"
                                 " VALUES (?1, 'imported', ?2, 'finished', ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
                                 " RETURNING session_key",
                                 "importing a session", error);
    if (code == ST_OK) {
        st_bind_text(&statement, survey->session_id);
        st_bind_text(&statement, survey->sheet.family);
        st_bind_text(&statement, st_text_string(&command));
        st_bind_int(&statement, survey->first_ms);
        st_bind_int(&statement, survey->last_ms);
        st_bind_text(&statement, st_text_string(&options));
        for (int i = 0; i < 3; i++)
            st_bind_int(&statement, keys[i]);
        code = st_statement_number(&statement, &at->session_key, NULL, error);
    }
    st_statement_close(&statement);
    st_text_release(&options);
    st_text_release(&command);
    return code;
}

static st_code begin_session(storing *at, const char *path, st_error *error)
{
    const st_sheet *sheet = &at->survey->sheet;
    int64_t keys[3];
    st_code code = add_device(at, &keys[0], error);
    if (code == ST_OK)
        code = add_toolchain(at, &keys[1], error);
    if (code == ST_OK)
        code = add_template(at, &keys[2], error);
    if (code == ST_OK)
        code = insert_session(at, path, keys, error);
    if (code == ST_OK)
        code = st_store_problem(at->store, sheet->family, sheet->problem, sheet->type, sheet->operation, sheet->n,
                                &at->problem_key, error);
    return code;
}

// --- entries -----------------------------------------------------------------------------------------------------------
// *rounds: -1 when it did not come out correct.
static st_code find_candidate(storing *at, int64_t configuration, int64_t *key, int *rounds, st_error *error)
{
    st_statement statement;
    bool row = false;
    *key = -1;
    *rounds = 0;
    st_code code = st_statement_open(at->store, &statement,
                                     "SELECT candidate_key, CASE outcome WHEN 'correct' THEN"
                                     " (SELECT count(*) FROM measurement m WHERE m.candidate_key = c.candidate_key)"
                                     " ELSE -1 END FROM candidate c"
                                     " WHERE session_key = ? AND problem_key = ? AND configuration_key = ?",
                                     "importing", error);
    if (code == ST_OK) {
        st_bind_int(&statement, at->session_key);
        st_bind_int(&statement, at->problem_key);
        st_bind_int(&statement, configuration);
        code = st_statement_step(&statement, &row, error);
    }
    if (code == ST_OK && row) {
        *key = st_column_int(&statement, 0);
        *rounds = (int)st_column_int(&statement, 1);
    }
    st_statement_close(&statement);
    return code;
}

// Whether these very samples stand there: a tool that remembers results writes them again.
static st_code has_samples(storing *at, int64_t candidate, bool *has, st_error *error)
{
    const st_trial *trial = &at->trial;
    st_statement statement;
    int64_t one;
    unsigned char *blob = st_samples_encode(trial->samples_ns, trial->sample_count);
    if (!blob)
        return st_fail_memory(error, "importing samples");
    st_code code = st_statement_open(at->store, &statement,
                                     "SELECT 1 FROM measurement WHERE candidate_key = ? AND samples = ? LIMIT 1",
                                     "importing samples", error);
    if (code == ST_OK) {
        st_bind_int(&statement, candidate);
        st_bind_blob(&statement, blob, trial->sample_count * 8);
        code = st_statement_number(&statement, &one, has, error);
    }
    st_statement_close(&statement);
    st_free(blob);
    return code;
}

static st_code add_measurement(storing *at, int64_t candidate, int round, st_error *error)
{
    const st_trial *trial = &at->trial;
    st_measurement_row row = {.candidate_key = candidate,
                              .round = round,
                              .samples_ns = trial->samples_ns,
                              .sample_count = trial->sample_count,
                              .sm_clock_mhz = -1, .memory_clock_mhz = -1, .temperature_c = -1, .power_mw = -1,
                              .throttle_reasons = -1, .dropped = trial->lost ? (int)trial->lost : -1, .batch = -1, .tick_ns = NAN,
                              .taken_ms = trial->taken_ms > 0 ? trial->taken_ms : at->survey->first_ms};
    snprintf(row.phase, sizeof row.phase, "screen");
    snprintf(row.cache, sizeof row.cache, "%s", at->survey->sheet.cache);
    st_code code = st_trial_median_ns(trial, &row.median_ns, error);
    if (code != ST_OK || isnan(row.median_ns)) // counters alone
        return code;
    return st_store_measurement(at->store, &row, error);
}

static st_code add_counters(storing *at, int64_t candidate, bool sampled, st_error *error)
{
    const st_trial *trial = &at->trial;
    size_t count = 0, most = trial->counter_count + 1;
    const char **names = st_malloc(most * sizeof *names);
    double *values = st_malloc(most * sizeof *values);
    st_code code = names && values ? ST_OK : st_fail_memory(error, "importing counters");
    for (size_t i = 0; i < trial->counter_count && code == ST_OK; i++)
        if (trial->counters[i].sampled == sampled) {
            names[count] = trial->counters[i].name;
            values[count++] = trial->counters[i].value;
        }
    if (code == ST_OK && !sampled && isfinite(trial->mean_ns)) {
        names[count] = ST_REPORTED_MEAN;
        values[count++] = trial->mean_ns;
    }
    if (code == ST_OK && count)
        code = st_store_counters(at->store, candidate, sampled ? "pc" : "range", names, values, count, NAN, error);
    st_free(names);
    st_free(values);
    return code;
}

static st_code add_candidate(storing *at, int64_t configuration, int64_t *key, st_error *error)
{
    const st_trial *trial = &at->trial;
    st_candidate_row row = {.session_key = at->session_key,
                            .problem_key = at->problem_key,
                            .configuration_key = configuration,
                            .detail = (char *)(uintptr_t)st_text_string(&trial->detail),
                            .registers = trial->registers,
                            .local_bytes = trial->local_bytes,
                            .static_smem = trial->static_smem,
                            .dynamic_smem = trial->dynamic_smem,
                            .blocks_per_sm = trial->blocks_per_sm,
                            .occupancy = trial->occupancy,
                            .deterministic = trial->deterministic,
                            .compile_seconds = trial->compile_seconds};
    snprintf(row.outcome, sizeof row.outcome, "%s", trial->outcome);
    st_code code = st_store_candidate(at->store, &row, error);
    *key = row.key;
    at->out->candidates++;
    at->out->failed += strcmp(trial->outcome, "correct") != 0;
    return code;
}

static st_code store_trial(storing *at, st_error *error)
{
    const char *family = at->survey->sheet.family;
    int64_t configuration, candidate;
    int rounds;
    bool same = false;
    st_code code = st_store_configuration(at->store, family, st_text_string(&at->trial.configuration), &configuration,
                                          error);
    if (code == ST_OK)
        code = find_candidate(at, configuration, &candidate, &rounds, error);
    if (code != ST_OK)
        return code;
    bool correct = strcmp(at->trial.outcome, "correct") == 0;
    if (candidate >= 0) {
        at->out->repeated++;
        if (correct && rounds >= 0)
            code = has_samples(at, candidate, &same, error);
        return code == ST_OK && correct && rounds >= 0 && !same ? add_measurement(at, candidate, rounds, error) : code;
    }
    code = add_candidate(at, configuration, &candidate, error);
    if (code == ST_OK && correct)
        code = add_measurement(at, candidate, 0, error);
    for (int sampled = 0; sampled < 2 && code == ST_OK; sampled++)
        code = add_counters(at, candidate, sampled, error);
    return code;
}

static st_code skip_member(void *context, const char *name, const json_t *value, st_error *error)
{
    (void)context, (void)name, (void)value, (void)error;
    return ST_OK;
}

static st_code take_entry(void *context, const char *key, const st_text *text, const json_t *value, st_error *error)
{
    storing *at = context;
    const st_sheet *sheet = &at->survey->sheet;
    st_hash_field(at->entries, key);
    st_hash_field(at->entries, st_text_string(text));
    st_trial_clear(&at->trial);
    st_code code = st_exchange_reader_of(at->survey->walked.form)->trial(sheet, key, value, &at->trial, error);
    for (int i = 0; i < ST_TRIAL_SECONDS; i++)
        at->seconds[i] += isfinite(at->trial.seconds[i]) ? at->trial.seconds[i] : 0;
    at->compile_seconds += isfinite(at->trial.compile_seconds) ? at->trial.compile_seconds : 0;
    return code == ST_OK ? store_trial(at, error) : code;
}

// --- conclusions ---------------------------------------------------------------------------------------------------------
static st_code conclude(storing *at, st_error *error)
{
    st_statement statement;
    bool row = false;
    st_winner_row winner = {.session_key = at->session_key, .problem_key = at->problem_key, .default_key = -1,
                            .default_ns = NAN, .speedup = NAN, .speedup_low = NAN, .speedup_high = NAN, .tied = 1,
                            .bytes = NAN, .note = (char *)(uintptr_t)"the fastest of an imported file; there were no finals"};
    snprintf(winner.cache, sizeof winner.cache, "%s", at->survey->sheet.cache);
    st_code code = st_statement_open(
        at->store, &statement,
        "SELECT c.candidate_key, m.median_ns FROM candidate c JOIN measurement m ON m.candidate_key = c.candidate_key"
        " WHERE c.session_key = ?1 AND c.outcome = 'correct' AND m.median_ns IS NOT NULL AND NOT EXISTS"
        "  (SELECT 1 FROM measurement y WHERE y.candidate_key = c.candidate_key AND y.round > m.round)"
        " ORDER BY m.median_ns, c.candidate_id LIMIT 1",
        "importing a winner", error);
    if (code == ST_OK) {
        st_bind_int(&statement, at->session_key);
        code = st_statement_step(&statement, &row, error);
    }
    if (code == ST_OK && row) {
        winner.winner_key = st_column_int(&statement, 0);
        winner.winner_ns = st_column_real(&statement, 1);
    }
    st_statement_close(&statement);
    return code == ST_OK && row ? st_store_winner(at->store, &winner, error) : code;
}

static st_code write_summary(storing *at, st_error *error)
{
    const st_imported *out = at->out;
    json_t *seconds = json_object();
    bool whole = seconds && json_object_set_new(seconds, "compile", st_json_number(at->compile_seconds)) == 0;
    for (int i = 0; i < ST_TRIAL_SECONDS && whole; i++)
        whole = json_object_set_new(seconds, st_trial_seconds_names[i], st_json_number(at->seconds[i])) == 0;
    json_t *summary = whole ? json_pack("{s:{s:s, s:I, s:I, s:I, s:O}}", "imported", "form",
                                        st_exchange_form_name(out->form), "candidates", (json_int_t)out->candidates,
                                        "failed", (json_int_t)out->failed, "repeated", (json_int_t)out->repeated,
                                        "seconds", seconds)
                            : NULL;
    st_text text;
    st_text_init(&text);
    if (summary)
        st_history_print(summary, &text);
    json_decref(seconds);
    json_decref(summary);
    st_statement statement = {0};
    st_code code = summary && !text.failed ? st_statement_open(at->store, &statement,
                                                               "UPDATE session SET summary = ? WHERE session_key = ?",
                                                               "importing a session", error)
                                           : st_fail_memory(error, "importing a session");
    if (code == ST_OK) {
        st_bind_text(&statement, st_text_string(&text));
        st_bind_int(&statement, at->session_key);
        code = st_statement_run(&statement, error);
    }
    st_statement_close(&statement);
    st_text_release(&text);
    return code;
}

static st_code store_all(storing *at, const char *path, st_error *error)
{
    st_walk_visitor visitor = {at, skip_member, take_entry};
    st_walked walked;
    char entries_id[ST_HASH_TEXT];
    st_code code = begin_session(at, path, error);
    if (code == ST_OK)
        code = st_exchange_walk(path, &visitor, &walked, error);
    if (code == ST_OK)
        st_hash_text(at->entries, entries_id);
    if (code == ST_OK && !st_text_equal(entries_id, at->survey->entries_id))
        code = st_fail(error, ST_FAILED, "wait until it is written, then import it; nothing was imported",
                       "%s changed while it was read", path);
    if (code == ST_OK)
        code = conclude(at, error);
    return code == ST_OK ? write_summary(at, error) : code;
}

st_code st_exchange_store(st_store *store, const char *path, const st_survey *survey, st_imported *out, st_error *error)
{
    storing at = {.store = store, .survey = survey, .out = out, .entries = st_hash_new()};
    st_trial_init(&at.trial);
    st_code code = at.entries ? store_all(&at, path, error) : st_fail_memory(error, "importing");
    st_trial_release(&at.trial);
    st_hash_free(at.entries);
    return code;
}
