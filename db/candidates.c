// SPDX-License-Identifier: Apache-2.0
// Candidates, measurements, counters. Invariants: 1. a candidate is one row for its session, problem and
// configuration; storing it again replaces outcome and detail, and of its properties only what is known;
// 2. a measurement is never replaced: the same (candidate, cache, phase, round) again is refused; 3. a
// counter that has a value keeps it, one that was unknown may become known.
#include "db/store_internal.h"

#include "tuner/base/memory.h"

#include <stdio.h>
#include <string.h>

// --- candidates --------------------------------------------------------------------------------------------
static st_code candidate_id_of(st_store *store, st_candidate_row *row, st_error *error)
{
    st_statement statement;
    bool found = false;
    st_code code = st_statement_open(
        store, &statement,
        "SELECT session_id, problem_id, configuration_id FROM session, problem, configuration"
        " WHERE session_key = ? AND problem_key = ? AND configuration_key = ?",
        "storing a candidate", error);
    if (code == ST_OK) {
        st_bind_int(&statement, row->session_key);
        st_bind_int(&statement, row->problem_key);
        st_bind_int(&statement, row->configuration_key);
        code = st_statement_step(&statement, &found, error);
    }
    if (code == ST_OK && !found)
        code =
            st_fail(error, ST_FAILED, "this is a fault of the program",
                    "the store %s: a candidate of a session, problem or configuration that is not "
                    "there (%lld, %lld, %lld)",
                    store->path, (long long)row->session_key, (long long)row->problem_key,
                    (long long)row->configuration_key);
    if (code == ST_OK)
        code = st_candidate_id(st_column_text(&statement, 0), st_column_text(&statement, 1),
                               st_column_text(&statement, 2), row->id, error);
    st_statement_close(&statement);
    return code;
}

// In the order of the columns of both statements that insert one.
void st_bind_candidate(st_statement *statement, const st_candidate_row *row)
{
    st_bind_text(statement, row->id);
    st_bind_int(statement, row->session_key);
    st_bind_int(statement, row->problem_key);
    st_bind_int(statement, row->configuration_key);
    st_bind_text(statement, row->outcome);
    st_bind_known_text(statement, row->detail);
    st_bind_known_int(statement, row->registers);
    st_bind_known_int(statement, row->local_bytes);
    st_bind_known_int(statement, row->static_smem);
    st_bind_known_int(statement, row->dynamic_smem);
    st_bind_known_int(statement, row->blocks_per_sm);
    st_bind_real(statement, row->occupancy);
    st_bind_known_int(statement, row->deterministic);
    st_bind_real(statement, row->compile_seconds);
}

static st_code upsert_candidate(st_store *store, st_candidate_row *row, st_error *error)
{
    st_statement statement;
    st_code code = st_statement_open(
        store, &statement,
        "INSERT INTO candidate (candidate_id, session_key, problem_key, configuration_key, outcome,"
        " detail, registers, local_bytes, static_smem, dynamic_smem, blocks_per_sm, occupancy,"
        " deterministic, compile_seconds) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (session_key, problem_key, configuration_key) DO UPDATE SET"
        " outcome = excluded.outcome, detail = excluded.detail,"
        " registers = coalesce(excluded.registers, registers),"
        " local_bytes = coalesce(excluded.local_bytes, local_bytes),"
        " static_smem = coalesce(excluded.static_smem, static_smem),"
        " dynamic_smem = coalesce(excluded.dynamic_smem, dynamic_smem),"
        " blocks_per_sm = coalesce(excluded.blocks_per_sm, blocks_per_sm),"
        " occupancy = coalesce(excluded.occupancy, occupancy),"
        " deterministic = coalesce(excluded.deterministic, deterministic),"
        " compile_seconds = coalesce(excluded.compile_seconds, compile_seconds)"
        " RETURNING candidate_key",
        "storing a candidate", error);
    if (code == ST_OK) {
        st_bind_candidate(&statement, row);
        code = st_statement_number(&statement, &row->key, NULL, error);
    }
    st_statement_close(&statement);
    return code;
}

st_code st_store_candidate(st_store *store, st_candidate_row *row, st_error *error)
{
    st_code code = st_store_begin(store, error);
    if (code != ST_OK)
        return code;
    code = candidate_id_of(store, row, error);
    if (code == ST_OK)
        code = upsert_candidate(store, row, error);
    return st_store_finish(store, code, error);
}

// --- measurements ------------------------------------------------------------------------------------------
static st_code insert_measurement(st_store *store, const st_measurement_row *row,
                                  const unsigned char *samples, bool *added, st_error *error)
{
    int64_t key;
    st_statement statement;
    st_code code = st_statement_open(
        store, &statement,
        "INSERT INTO measurement (candidate_key, phase, round, cache, median_ns, sm_clock_mhz,"
        " memory_clock_mhz, temperature_c, power_mw, throttle_reasons, dropped, batch, tick_ns,"
        " taken_ms, samples) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (candidate_key, cache, phase, round) DO NOTHING",
        "storing a measurement", error);
    if (code == ST_OK) {
        st_bind_int(&statement, row->candidate_key);
        st_bind_text(&statement, row->phase);
        st_bind_int(&statement, row->round);
        st_bind_text(&statement, row->cache);
        st_bind_real(&statement, row->median_ns);
        st_bind_known_int(&statement, row->sm_clock_mhz);
        st_bind_known_int(&statement, row->memory_clock_mhz);
        st_bind_known_int(&statement, row->temperature_c);
        st_bind_known_int(&statement, row->power_mw);
        st_bind_known_int(&statement, row->throttle_reasons);
        st_bind_known_int(&statement, row->dropped);
        st_bind_known_int(&statement, row->batch > 0 ? row->batch : -1);
        st_bind_real(&statement, row->tick_ns);
        st_bind_int(&statement, row->taken_ms);
        st_bind_blob(&statement, samples, row->sample_count * 8);
        code = st_statement_insert(&statement, &key, added, error);
    }
    st_statement_close(&statement);
    return code;
}

st_code st_measurement_add(st_store *store, const st_measurement_row *row, bool *added,
                           st_error *error)
{
    unsigned char *samples = st_samples_encode(row->samples_ns, row->sample_count);
    if (!samples)
        return st_fail_memory(error, "storing a measurement");
    st_code code = st_store_begin(store, error);
    if (code == ST_OK)
        code = st_store_finish(store, insert_measurement(store, row, samples, added, error), error);
    st_free(samples);
    return code;
}

st_code st_store_measurement(st_store *store, const st_measurement_row *row, st_error *error)
{
    bool added = false;
    st_code code = st_measurement_add(store, row, &added, error);
    if (code == ST_OK && !added)
        code =
            st_fail(error, ST_FAILED, "this is a fault of the program",
                    "the store %s already holds round %d of %s, %s, of candidate %lld; a "
                    "measurement is never replaced",
                    store->path, row->round, row->phase, row->cache, (long long)row->candidate_key);
    return code;
}

// --- counters ----------------------------------------------------------------------------------------------
static st_code find_or_make_profile(st_store *store, int64_t candidate_key, const char *kind,
                                    double seconds, int64_t *profile, st_error *error)
{
    st_statement statement;
    // The cost of a second collection is added to that of the first.
    st_code code = st_statement_open(
        store, &statement,
        "INSERT INTO profile (candidate_key, kind, seconds) VALUES (?, ?, ?)"
        " ON CONFLICT (candidate_key, kind) DO UPDATE SET"
        " seconds = coalesce(seconds + excluded.seconds, seconds, excluded.seconds)"
        " RETURNING profile_key",
        "storing counters", error);
    if (code == ST_OK) {
        st_bind_int(&statement, candidate_key);
        st_bind_text(&statement, kind);
        st_bind_real(&statement, seconds);
        code = st_statement_number(&statement, profile, NULL, error);
    }
    st_statement_close(&statement);
    return code;
}

// Nearly always it is there.
st_code st_store_metric(st_store *store, const char *name, int64_t *metric, st_error *error)
{
    static const char find[] = "SELECT metric_key FROM metric WHERE name = ?";
    static const char make[] = "INSERT INTO metric (name) VALUES (?) RETURNING metric_key";
    bool found = false;
    st_code code = ST_OK;
    for (int i = 0; i < 2 && code == ST_OK && !found; i++) {
        st_statement statement;
        code = st_statement_open(store, &statement, i ? make : find, "storing counters", error);
        if (code == ST_OK) {
            st_bind_text(&statement, name);
            code = st_statement_number(&statement, metric, &found, error);
        }
        st_statement_close(&statement);
    }
    return code;
}

static st_code add_counter(st_store *store, int64_t profile, const char *name, double value,
                           st_error *error)
{
    int64_t metric = -1;
    st_statement statement;
    st_code code = st_store_metric(store, name, &metric, error);
    if (code != ST_OK)
        return code;
    code = st_statement_open(
        store, &statement,
        "INSERT INTO counter (profile_key, metric_key, value) VALUES (?, ?, ?)"
        " ON CONFLICT (profile_key, metric_key) DO UPDATE SET value = excluded.value"
        " WHERE value IS NULL",
        "storing counters", error);
    if (code == ST_OK) {
        st_bind_int(&statement, profile);
        st_bind_int(&statement, metric);
        st_bind_real(&statement, value);
        code = st_statement_run(&statement, error);
    }
    st_statement_close(&statement);
    return code;
}

st_code st_store_counters(st_store *store, int64_t candidate_key, const char *kind,
                          const char *const *names, const double *values, size_t count,
                          double seconds, st_error *error)
{
    int64_t profile;
    st_code code = st_store_begin(store, error);
    if (code != ST_OK)
        return code;
    code = find_or_make_profile(store, candidate_key, kind, seconds, &profile, error);
    for (size_t i = 0; i < count && code == ST_OK; i++)
        code = add_counter(store, profile, names[i], values[i], error);
    return st_store_finish(store, code, error);
}

st_code st_store_stall_lines(st_store *store, int64_t candidate_key, const char *lines_json,
                             st_error *error)
{
    if (!lines_json)
        return ST_OK;
    st_statement statement;
    st_code code = st_store_begin(store, error);
    if (code != ST_OK)
        return code;
    code = st_statement_open(store, &statement,
                             "INSERT INTO stall_lines (candidate_key, lines) VALUES (?, ?)"
                             " ON CONFLICT (candidate_key) DO NOTHING",
                             "storing stall samples", error);
    if (code == ST_OK) {
        st_bind_int(&statement, candidate_key);
        st_bind_text(&statement, lines_json);
        code = st_statement_run(&statement, error);
    }
    st_statement_close(&statement);
    return st_store_finish(store, code, error);
}
