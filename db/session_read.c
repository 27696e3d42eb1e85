// SPDX-License-Identifier: Apache-2.0
// Invariants: 1. NULL comes back as NaN, -1, "" or NULL as the headers say; 2. a callback's code other than ST_OK ends
// the reading and is returned; 3. no statement sorts what an index already orders.
#include "db/session_read.h"

#include "db/store_internal.h"
#include "tuner/base/memory.h"

#include <string.h>

// Reads the row that the statement stands on.
typedef st_code row_reader(const st_statement *statement, void *context, st_error *error);

static st_code each_row(st_store *store, const char *sql, const char *doing, int64_t session, row_reader *read,
                        void *context, st_error *error)
{
    st_statement statement;
    st_code code = st_statement_open_once(store, &statement, sql, doing, error);
    if (code != ST_OK)
        return code;
    st_bind_int(&statement, session);
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&statement, &row, error);
        if (code == ST_OK && row)
            code = read(&statement, context, error);
    }
    st_statement_close(&statement);
    return code;
}

// --- origin ------------------------------------------------------------------------------------------------
typedef struct origin_reading {
    st_session_origin *out;
    bool found;
} origin_reading;

static st_code read_origin(const st_statement *statement, void *context, st_error *error)
{
    origin_reading *at = context;
    st_session_origin *out = at->out;
    if (at->found)
        return ST_OK;
    at->found = true;
    out->device.cc = (int)st_column_int(statement, 4);
    out->device.sm_count = (int)st_column_int(statement, 5);
    out->device.memory_bytes = st_column_int(statement, 6);
    out->device.l2_bytes = st_column_int(statement, 7);
    out->device.read_gbs = st_column_real(statement, 9);
    out->device.copy_gbs = st_column_real(statement, 10);
    out->toolchain.driver_cuda = (int)st_column_int(statement, 12);
    out->shipped = st_column_int(statement, 17) > 0;
    st_column_copy(statement, 0, out->device.uuid, sizeof out->device.uuid);
    st_column_copy(statement, 1, out->device.name, sizeof out->device.name);
    st_column_copy(statement, 2, out->device.backend, sizeof out->device.backend);
    st_column_copy(statement, 3, out->device.pci, sizeof out->device.pci);
    st_column_copy(statement, 11, out->toolchain.driver, sizeof out->toolchain.driver);
    st_column_copy(statement, 13, out->toolchain.compiler, sizeof out->toolchain.compiler);
    st_column_copy(statement, 14, out->toolchain.tool, sizeof out->toolchain.tool);
    st_column_copy(statement, 15, out->template_hash, sizeof out->template_hash);
    if (!st_column_take(statement, 8, &out->device.facts_json) || !st_column_take(statement, 16, &out->template_json))
        return st_fail_memory(error, "reading where a session was measured");
    return ST_OK;
}

st_code st_store_session_origin(st_store *store, int64_t session, st_session_origin *out, st_error *error)
{
    *out = (st_session_origin){.device = {.cc = -1, .sm_count = -1}};
    origin_reading at = {.out = out};
    st_code code = each_row(store,
                            "SELECT d.uuid, d.name, d.backend, d.pci, d.cc, d.sm_count, d.memory_bytes, d.l2_bytes,"
                            " d.facts, d.read_gbs, d.copy_gbs, t.driver, t.driver_cuda, t.compiler, t.tool, e.hash,"
                            " e.texts, s.shipped FROM session s JOIN device d ON d.device_key = s.device_key"
                            " JOIN toolchain t ON t.toolchain_key = s.toolchain_key"
                            " JOIN template e ON e.template_key = s.template_key WHERE s.session_key = ?",
                            "reading where a session was measured", session, read_origin, &at, error);
    if (code == ST_OK && !at.found)
        code = st_fail(error, ST_NOTHING, "simtune db info lists sessions", "the store %s has no such session",
                       store->path);
    if (code != ST_OK)
        st_session_origin_release(out);
    return code;
}

void st_session_origin_release(st_session_origin *origin)
{
    st_free(origin->device.facts_json);
    st_free(origin->template_json);
    origin->device.facts_json = origin->template_json = NULL;
}

// --- times -------------------------------------------------------------------------------------------------
typedef struct time_reading {
    st_session_time_callback *callback;
    void *context;
} time_reading;

static st_code read_time(const st_statement *statement, void *context, st_error *error)
{
    time_reading *at = context;
    st_session_time row = {
        .candidate_key = st_column_int(statement, 0),
        .round = (int)st_column_int(statement, 2),
        .median_ns = st_column_real(statement, 4),
        .sample_count = st_column_int(statement, 5),
        .sm_clock_mhz = (int)st_column_int(statement, 6),
        .memory_clock_mhz = (int)st_column_int(statement, 7),
        .temperature_c = (int)st_column_int(statement, 8),
        .power_mw = (int)st_column_int(statement, 9),
        .throttle_reasons = st_column_int(statement, 10),
        .dropped = (int)st_column_int(statement, 11),
        .batch = (int)st_column_int(statement, 12),
        .tick_ns = st_column_real(statement, 13),
        .taken_ms = st_column_int(statement, 14),
    };
    st_column_copy(statement, 1, row.phase, sizeof row.phase);
    st_column_copy(statement, 3, row.cache, sizeof row.cache);
    return at->callback(at->context, &row, error);
}

st_code st_store_session_times(st_store *store, int64_t session, st_session_time_callback *callback, void *context,
                               st_error *error)
{
    time_reading at = {callback, context};
    return each_row(store,
                    "SELECT m.candidate_key, m.phase, m.round, m.cache, m.median_ns, length(m.samples) / 8,"
                    " m.sm_clock_mhz, m.memory_clock_mhz, m.temperature_c, m.power_mw, m.throttle_reasons, m.dropped,"
                    " m.batch, m.tick_ns, m.taken_ms FROM candidate c CROSS JOIN measurement m"
                    " ON m.candidate_key = c.candidate_key WHERE c.session_key = ?"
                    " ORDER BY c.candidate_key, m.measurement_key",
                    "reading the times of a session", session, read_time, &at, error);
}

// --- profiled ----------------------------------------------------------------------------------------------
typedef struct profiled_reading {
    st_profiled_callback *callback;
    void *context;
} profiled_reading;

static st_code read_profiled(const st_statement *statement, void *context, st_error *error)
{
    profiled_reading *at = context;
    return at->callback(at->context, st_column_int(statement, 0), error);
}

st_code st_store_session_profiled(st_store *store, int64_t session, st_profiled_callback *callback, void *context,
                                  st_error *error)
{
    profiled_reading at = {callback, context};
    return each_row(store,
                    "SELECT candidate_key FROM candidate c WHERE session_key = ? AND EXISTS"
                    " (SELECT 1 FROM profile f WHERE f.candidate_key = c.candidate_key) ORDER BY candidate_key",
                    "reading what was profiled", session, read_profiled, &at, error);
}

// --- winners -----------------------------------------------------------------------------------------------
typedef struct winner_reading {
    st_winner_callback *callback;
    void *context;
} winner_reading;

static st_code read_winner(const st_statement *statement, void *context, st_error *error)
{
    winner_reading *at = context;
    st_winner_row row = {
        .session_key = st_column_int(statement, 0),
        .problem_key = st_column_int(statement, 1),
        .winner_key = st_column_int(statement, 3),
        .default_key = st_column_int(statement, 4),
        .winner_ns = st_column_real(statement, 5),
        .default_ns = st_column_real(statement, 6),
        .speedup = st_column_real(statement, 7),
        .speedup_low = st_column_real(statement, 8),
        .speedup_high = st_column_real(statement, 9),
        .tied = (int)st_column_int(statement, 10),
        .bytes = st_column_real(statement, 12),
    };
    st_column_copy(statement, 2, row.cache, sizeof row.cache);
    st_code code = ST_OK;
    if (!st_column_take(statement, 11, &row.ties_json) || !st_column_take(statement, 13, &row.note))
        code = st_fail_memory(error, "reading winners");
    if (code == ST_OK)
        code = at->callback(at->context, &row, st_column_text(statement, 14), error);
    st_free(row.ties_json);
    st_free(row.note);
    return code;
}

st_code st_store_session_winners(st_store *store, int64_t session, st_winner_callback *callback, void *context,
                                 st_error *error)
{
    winner_reading at = {callback, context};
    return each_row(store,
                    "SELECT w.session_key, w.problem_key, w.cache, w.winner_key, w.default_key, w.winner_ns,"
                    " w.default_ns, w.speedup, w.speedup_low, w.speedup_high, w.tied, w.ties, w.bytes, w.note, p.text"
                    " FROM winner w JOIN problem p ON p.problem_key = w.problem_key WHERE w.session_key = ?"
                    " ORDER BY w.problem_key, w.cache",
                    "reading the winners of a session", session, read_winner, &at, error);
}

// --- problems ----------------------------------------------------------------------------------------------
typedef struct problem_reading {
    st_problem_callback *callback;
    void *context;
} problem_reading;

static st_code read_problem(const st_statement *statement, void *context, st_error *error)
{
    problem_reading *at = context;
    return at->callback(at->context, st_column_text(statement, 0), st_column_text(statement, 1),
                        st_column_text(statement, 2), st_column_int(statement, 3), error);
}

st_code st_store_session_problems(st_store *store, int64_t session, st_problem_callback *callback, void *context,
                                  st_error *error)
{
    problem_reading at = {callback, context};
    return each_row(store,
                    "SELECT text, type, operation, n FROM problem WHERE problem_key IN"
                    " (SELECT problem_key FROM candidate WHERE session_key = ?) ORDER BY problem_key",
                    "reading the problems of a session", session, read_problem, &at, error);
}

// --- past winners ------------------------------------------------------------------------------------------
typedef struct past_reading {
    st_past_winner_callback *callback;
    void *context;
} past_reading;

static st_code read_past(const st_statement *statement, void *context, st_error *error)
{
    past_reading *at = context;
    st_past_winner row = {
        .problem = st_column_text(statement, 0),
        .cache = st_column_text(statement, 1),
        .session_id = st_column_text(statement, 2),
        .driver = st_column_text(statement, 3),
        .compiler = st_column_text(statement, 4),
        .tool = st_column_text(statement, 5),
        .template_hash = st_column_text(statement, 6),
        .configuration = st_column_text(statement, 7),
        .winner_ns = st_column_real(statement, 8),
        .ended_ms = st_column_int(statement, 9),
    };
    return at->callback(at->context, &row, error);
}

st_code st_store_past_winners(st_store *store, int64_t session, st_past_winner_callback *callback, void *context,
                              st_error *error)
{
    past_reading at = {callback, context};
    return each_row(store,
                    "SELECT p.text, w.cache, s.session_id, t.driver, t.compiler, t.tool, e.hash, g.text, w.winner_ns,"
                    " coalesce(s.finished_ms, s.started_ms) AS ended FROM session o"
                    " JOIN winner mine ON mine.session_key = o.session_key"
                    " JOIN winner w ON w.problem_key = mine.problem_key AND w.cache = mine.cache"
                    " JOIN session s ON s.session_key = w.session_key AND s.device_key = o.device_key"
                    "  AND s.status <> 'running'"
                    " JOIN problem p ON p.problem_key = w.problem_key"
                    " JOIN candidate c ON c.candidate_key = w.winner_key"
                    " JOIN configuration g ON g.configuration_key = c.configuration_key"
                    " JOIN toolchain t ON t.toolchain_key = s.toolchain_key"
                    " JOIN template e ON e.template_key = s.template_key"
                    " WHERE o.session_key = ? ORDER BY w.problem_key, w.cache, ended, s.session_id",
                    "reading past winners", session, read_past, &at, error);
}
