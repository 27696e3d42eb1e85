// SPDX-License-Identifier: Apache-2.0
// Reading rows back as they were stored. Invariants: 1. NULL comes back as NaN, -1 or "" as the header
// says; 2. rows come in a stated order; 3. a callback's code other than ST_OK ends the reading and is
// returned.
#include "db/store_internal.h"

#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// --- measurements ------------------------------------------------------------------------------------------
const char st_measurements_of_sql[] =
    "SELECT candidate_key, phase, round, cache, median_ns, sm_clock_mhz, memory_clock_mhz,"
    " temperature_c, power_mw, throttle_reasons, dropped, batch, tick_ns, taken_ms, samples, samples_taken"
    " FROM measurement WHERE candidate_key = ? ORDER BY taken_ms, phase DESC, cache, round";

static st_code measurement_row(const st_statement *statement, st_measurement_callback *callback,
                               void *context, st_error *error)
{
    st_measurement_row row = {
        .candidate_key = st_column_int(statement, 0),
        .round = (int)st_column_int(statement, 2),
        .median_ns = st_column_real(statement, 4),
        .sm_clock_mhz = (int)st_column_int(statement, 5),
        .memory_clock_mhz = (int)st_column_int(statement, 6),
        .temperature_c = (int)st_column_int(statement, 7),
        .power_mw = (int)st_column_int(statement, 8),
        .throttle_reasons = st_column_int(statement, 9),
        .dropped = (int)st_column_int(statement, 10),
        .batch = (int)st_column_int(statement, 11),
        .tick_ns = st_column_real(statement, 12),
        .taken_ms = st_column_int(statement, 13),
        .samples_taken = st_column_int(statement, 15) > 0 ? st_column_int(statement, 15) : 0,
    };
    st_column_copy(statement, 1, row.phase, sizeof row.phase);
    st_column_copy(statement, 3, row.cache, sizeof row.cache);
    const void *blob = sqlite3_column_blob(statement->statement, 14);
    int bytes = sqlite3_column_bytes(statement->statement, 14);
    double *samples =
        blob || !bytes ? st_samples_decode(blob, (size_t)bytes, &row.sample_count) : NULL;
    if (!samples)
        return st_fail_memory(error, "reading samples");
    row.samples_ns = samples;
    st_code code = callback(context, &row, error);
    st_free(samples);
    return code;
}

st_code st_store_measurements(st_store *store, int64_t candidate_key,
                              st_measurement_callback *callback, void *context, st_error *error)
{
    st_statement statement;
    st_code code = st_statement_open_once(store, &statement, st_measurements_of_sql,
                                          "reading measurements", error);
    if (code != ST_OK)
        return code;
    st_bind_int(&statement, candidate_key);
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&statement, &row, error);
        if (code == ST_OK && row)
            code = measurement_row(&statement, callback, context, error);
    }
    st_statement_close(&statement);
    return code;
}

// --- counters ----------------------------------------------------------------------------------------------
const char st_counters_of_sql[] =
    "SELECT f.kind, r.name, v.value FROM profile f JOIN metric r"
    " CROSS JOIN counter v ON v.metric_key = r.metric_key AND v.profile_key = f.profile_key"
    " WHERE f.candidate_key = ? ORDER BY f.kind, r.name";

st_code st_store_counters_of(st_store *store, int64_t candidate_key, st_counter_callback *callback,
                             void *context, st_error *error)
{
    st_statement statement;
    st_code code =
        st_statement_open_once(store, &statement, st_counters_of_sql, "reading counters", error);
    if (code != ST_OK)
        return code;
    st_bind_int(&statement, candidate_key);
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&statement, &row, error);
        if (code == ST_OK && row)
            code = callback(context, st_column_text(&statement, 0), st_column_text(&statement, 1),
                            st_column_real(&statement, 2), error);
    }
    st_statement_close(&statement);
    return code;
}

st_code st_store_profile_seconds(st_store *store, int64_t candidate_key, const char *kind, double *seconds,
                                 st_error *error)
{
    st_statement statement;
    bool row = false;
    *seconds = NAN;
    st_code code = st_statement_open_once(store, &statement, "SELECT seconds FROM profile WHERE candidate_key = ? AND kind = ?",
                                          "reading what a profile took", error);
    if (code != ST_OK)
        return code;
    st_bind_int(&statement, candidate_key);
    st_bind_text(&statement, kind);
    code = st_statement_step(&statement, &row, error);
    if (code == ST_OK && row)
        *seconds = st_column_real(&statement, 0);
    st_statement_close(&statement);
    return code;
}

// --- texts -------------------------------------------------------------------------------------------------
// The first column of the only row, as a copy; NULL when there is no row. Closes the statement.
static st_code take_text(st_statement *statement, char **out, st_error *error)
{
    bool row;
    *out = NULL;
    st_code code = st_statement_step(statement, &row, error);
    if (code == ST_OK && row && !st_column_take(statement, 0, out))
        code = st_fail_memory(error, statement->doing);
    st_statement_close(statement);
    return code;
}

st_code st_store_stall_lines_of(st_store *store, int64_t candidate_key, char **lines_json,
                                st_error *error)
{
    *lines_json = NULL;
    st_statement statement;
    st_code code = st_statement_open(store, &statement,
                                     "SELECT lines FROM stall_lines WHERE candidate_key = ?",
                                     "reading stall samples", error);
    if (code != ST_OK)
        return code;
    st_bind_int(&statement, candidate_key);
    return take_text(&statement, lines_json, error);
}

st_code st_store_template_text(st_store *store, const char *hash, char **text_json, st_error *error)
{
    *text_json = NULL;
    st_statement statement;
    st_code code = st_statement_open(store, &statement, "SELECT texts FROM template WHERE hash = ?",
                                     "reading a template", error);
    if (code != ST_OK)
        return code;
    st_bind_text(&statement, hash);
    code = take_text(&statement, text_json, error);
    if (code == ST_OK && !*text_json)
        code = st_fail(error, ST_NOTHING, NULL, "the store %s has no template with the hash %s",
                       store->path, hash);
    return code;
}

// --- candidates of a session -------------------------------------------------------------------------------
const char st_candidates_of_session_sql[] =
    "SELECT c.candidate_key, c.candidate_id, c.session_key, c.problem_key, c.configuration_key,"
    " c.outcome, c.detail, c.registers, c.local_bytes, c.static_smem, c.dynamic_smem,"
    " c.blocks_per_sm, c.occupancy, c.deterministic, c.compile_seconds, p.text, g.text"
    " FROM candidate c JOIN problem p ON p.problem_key = c.problem_key"
    " JOIN configuration g ON g.configuration_key = c.configuration_key"
    " WHERE c.session_key = ? ORDER BY c.candidate_key";

static st_code candidate_row(const st_statement *statement, st_candidate_callback *callback,
                             void *context, st_error *error)
{
    st_candidate_row row = {
        .key = st_column_int(statement, 0),
        .session_key = st_column_int(statement, 2),
        .problem_key = st_column_int(statement, 3),
        .configuration_key = st_column_int(statement, 4),
        .registers = (int)st_column_int(statement, 7),
        .local_bytes = (int)st_column_int(statement, 8),
        .static_smem = (int)st_column_int(statement, 9),
        .dynamic_smem = (int)st_column_int(statement, 10),
        .blocks_per_sm = (int)st_column_int(statement, 11),
        .occupancy = st_column_real(statement, 12),
        .deterministic = (int)st_column_int(statement, 13),
        .compile_seconds = st_column_real(statement, 14),
    };
    st_column_copy(statement, 1, row.id, sizeof row.id);
    st_column_copy(statement, 5, row.outcome, sizeof row.outcome);
    if (!st_column_take(statement, 6, &row.detail))
        return st_fail_memory(error, "reading candidates");
    st_code code = callback(context, &row, st_column_text(statement, 15),
                            st_column_text(statement, 16), error);
    st_free(row.detail);
    return code;
}

st_code st_store_candidates(st_store *store, int64_t session, st_candidate_callback *callback,
                            void *context, st_error *error)
{
    st_statement statement;
    st_code code = st_statement_open_once(store, &statement, st_candidates_of_session_sql,
                                          "reading candidates", error);
    if (code != ST_OK)
        return code;
    st_bind_int(&statement, session);
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&statement, &row, error);
        if (code == ST_OK && row)
            code = candidate_row(&statement, callback, context, error);
    }
    st_statement_close(&statement);
    return code;
}

// --- devices -----------------------------------------------------------------------------------------------
static st_code device_row(const st_statement *statement, st_device_callback *callback,
                          void *context, st_error *error)
{
    st_device_row row = {
        .cc = (int)st_column_int(statement, 4),
        .sm_count = (int)st_column_int(statement, 5),
        .memory_bytes = st_column_int(statement, 6),
        .l2_bytes = st_column_int(statement, 7),
        .read_gbs = st_column_real(statement, 9),
        .copy_gbs = st_column_real(statement, 10),
    };
    st_column_copy(statement, 0, row.uuid, sizeof row.uuid);
    st_column_copy(statement, 1, row.name, sizeof row.name);
    st_column_copy(statement, 2, row.backend, sizeof row.backend);
    st_column_copy(statement, 3, row.pci, sizeof row.pci);
    if (!st_column_take(statement, 8, &row.facts_json))
        return st_fail_memory(error, "reading devices");
    st_code code = callback(context, &row, error);
    st_free(row.facts_json);
    return code;
}

st_code st_store_devices(st_store *store, st_device_callback *callback, void *context,
                         st_error *error)
{
    st_statement statement;
    st_code code = st_statement_open_once(
        store, &statement,
        "SELECT uuid, name, backend, pci, cc, sm_count, memory_bytes, l2_bytes, facts, read_gbs,"
        " copy_gbs FROM device ORDER BY name, uuid, backend",
        "reading devices", error);
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&statement, &row, error);
        if (code == ST_OK && row)
            code = device_row(&statement, callback, context, error);
    }
    st_statement_close(&statement);
    return code;
}
