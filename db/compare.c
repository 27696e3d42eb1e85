// SPDX-License-Identifier: Apache-2.0
// Rows and samples for comparisons. Invariants: 1. only winners are read, found through their sessions, so the cost
// follows the sessions and never the candidates (tests/unit/db/test_compare.c looks at the plans); 2. "newest" is
// decided on keys alone, before a row's texts are looked up; 3. nothing is judged here.
#include "db/compare_internal.h"

#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// --- statements ------------------------------------------------------------------------------------------------

// What a row of a side tells. w: its winner row, c: the candidate, s p g d t e: what it refers to.
#define ROW_COLUMNS(default_key, default_ns, median_ns, bytes, cache)                                                  \
    "SELECT s.session_key, c.problem_key, s.device_key, c.candidate_key, " default_key ", s.session_id,"              \
    " c.candidate_id, p.family, p.text, p.type, p.operation, " cache ", g.text, p.n, d.name, d.uuid, d.backend,"      \
    " d.cc, d.sm_count, t.driver, t.compiler, t.tool, e.hash, s.status, s.options, " median_ns ", " default_ns ", "   \
    bytes ", c.deterministic, c.registers, coalesce(s.finished_ms, s.started_ms), s.shipped, c.outcome,"                \
    " c.configuration_key, (SELECT x.configuration_key FROM candidate x WHERE x.candidate_key = " default_key ")"
#define ROW_JOINS                                                                                                      \
    " CROSS JOIN problem p ON p.problem_key = c.problem_key"                                                           \
    " CROSS JOIN configuration g ON g.configuration_key = c.configuration_key"                                         \
    " CROSS JOIN device d ON d.device_key = s.device_key CROSS JOIN toolchain t ON t.toolchain_key = s.toolchain_key" \
    " CROSS JOIN template e ON e.template_key = s.template_key"
#define WINNER_COLUMNS ROW_COLUMNS("w.default_key", "w.default_ns", "w.winner_ns", "w.bytes", "w.cache")
#define WINNER_JOINS " CROSS JOIN candidate c ON c.candidate_key = w.winner_key" ROW_JOINS

// What a side's word asks of its sessions. In the order of st_side_kind.
static const char *const conditions[ST_SIDE_KINDS] = {
    [ST_SIDE_SESSION] = " AND s.session_id = :value",
    [ST_SIDE_CANDIDATE] = " AND c.candidate_id = :value",
    [ST_SIDE_TEMPLATE] = " AND s.template_key = (SELECT template_key FROM template WHERE hash = :value)",
    [ST_SIDE_DEVICE] = " AND s.device_key IN (SELECT device_key FROM device WHERE name = :value OR uuid = :value)",
    [ST_SIDE_DRIVER] = " AND s.toolchain_key IN (SELECT toolchain_key FROM toolchain WHERE driver = :value)",
    [ST_SIDE_COMPILER] = " AND s.toolchain_key IN (SELECT toolchain_key FROM toolchain WHERE compiler = :value)",
    [ST_SIDE_TOOL] = " AND s.toolchain_key IN (SELECT toolchain_key FROM toolchain WHERE tool = :value)",
};

void st_compare_add_device(const st_compare_filter *filter, st_text *sql)
{
    if (!filter->device && !filter->arch_count)
        return;
    st_text_add(sql, " AND s.device_key IN (SELECT device_key FROM device WHERE 1");
    if (filter->device)
        st_text_add(sql, " AND (lower(uuid) = lower(:device) OR instr(lower(name), lower(:device)) > 0)");
    for (size_t i = 0; i < filter->arch_count; i++)
        st_text_addf(sql, "%s%d%s", i ? ", " : " AND cc IN (", filter->archs[i],
                     i + 1 == filter->arch_count ? ")" : "");
    st_text_add(sql, ")");
}

static void add_problem_filter(const st_compare_filter *filter, st_text *sql)
{
    st_text_add(sql, filter->type ? " AND p.type = :type" : "");
    st_text_add(sql, filter->operation ? " AND p.operation = :operation" : "");
    st_text_add(sql, filter->n >= 0 ? " AND p.n = :n" : "");
}

// Of sessions: all that is asked, on keys alone.
static void add_session_filter(const st_compare_filter *filter, st_text *sql)
{
    st_text_add(sql, filter->family ? " AND s.family = :family" : "");
    st_compare_add_device(filter, sql);
}

static void add_candidate_sql(const st_compare_filter *filter, st_text *sql)
{
    st_text_add(sql, ROW_COLUMNS("w.default_key", "w.default_ns",
                                 "CASE WHEN w.winner_key = c.candidate_key THEN w.winner_ns ELSE"
                                 " (SELECT y.median_ns FROM measurement y WHERE y.candidate_key = c.candidate_key"
                                 "  AND y.cache = k.cache ORDER BY CASE y.phase WHEN 'finals' THEN 0 WHEN 'halving'"
                                 "  THEN 1 ELSE 2 END, y.round DESC LIMIT 1) END", "w.bytes", "k.cache")
                     " FROM candidate c CROSS JOIN session s ON s.session_key = c.session_key"
                     " CROSS JOIN (SELECT 'cold' AS cache UNION ALL SELECT 'warm') k" ROW_JOINS
                     " LEFT JOIN winner w ON w.session_key = c.session_key AND w.problem_key = c.problem_key"
                     "  AND w.cache = k.cache"
                     " WHERE EXISTS (SELECT 1 FROM measurement m WHERE m.candidate_key = c.candidate_key"
                     "  AND m.cache = k.cache)");
    st_text_add(sql, filter->cache ? " AND k.cache = :cache" : "");
}

static void add_newest_sql(st_side_kind kind, const st_compare_filter *filter, st_text *sql)
{
    st_text_addf(sql, WINNER_COLUMNS " FROM (SELECT w.session_key, w.problem_key, w.cache, row_number() OVER"
                 " (PARTITION BY w.problem_key, w.cache%s ORDER BY s.finished_ms DESC, s.session_id DESC) AS place"
                 " FROM session s CROSS JOIN winner w ON w.session_key = s.session_key WHERE s.status <> 'running'%s",
                 kind == ST_SIDE_DEVICE ? "" : ", s.device_key", conditions[kind]);
    add_session_filter(filter, sql);
    st_text_add(sql, filter->cache ? " AND w.cache = :cache" : "");
    st_text_add(sql, ") r CROSS JOIN winner w ON w.session_key = r.session_key AND w.problem_key = r.problem_key"
                     " AND w.cache = r.cache CROSS JOIN session s ON s.session_key = w.session_key" WINNER_JOINS
                     " WHERE r.place = 1");
}

st_code st_compare_sql(int kind, const st_compare_filter *filter, st_text *sql, st_error *error)
{
    if (kind == ST_SIDE_CANDIDATE) {
        add_candidate_sql(filter, sql);
    } else if (kind == ST_SIDE_SESSION || kind < 0) {
        st_text_add(sql, WINNER_COLUMNS " FROM session s CROSS JOIN winner w ON w.session_key = s.session_key"
                         WINNER_JOINS " WHERE 1");
        st_text_add(sql, filter->cache ? " AND w.cache = :cache" : "");
        st_text_add(sql, kind < 0 ? " AND s.status <> 'running'" : "");
    } else {
        add_newest_sql((st_side_kind)kind, filter, sql);
    }
    if (kind == ST_SIDE_SESSION || kind == ST_SIDE_CANDIDATE)
        st_text_add(sql, conditions[kind]);
    if (kind < 0 || kind == ST_SIDE_SESSION || kind == ST_SIDE_CANDIDATE)
        add_session_filter(filter, sql);
    add_problem_filter(filter, sql);
    st_text_addf(sql, " ORDER BY p.family, d.name, d.uuid, p.type, p.operation, p.n, p.text, %s%s",
                 kind == ST_SIDE_CANDIDATE ? "k.cache" : "w.cache",
                 kind < 0 ? ", s.finished_ms, s.session_id" : "");
    return sql->failed ? st_fail_memory(error, "comparing") : ST_OK;
}

void st_compare_bind_text(st_statement *statement, const char *name, const char *value)
{
    int index = sqlite3_bind_parameter_index(statement->statement, name);
    if (!index)
        return;
    statement->bound = index - 1;
    st_bind_text(statement, value);
}

void st_compare_bind_int(st_statement *statement, const char *name, int64_t value)
{
    int index = sqlite3_bind_parameter_index(statement->statement, name);
    if (!index)
        return;
    statement->bound = index - 1;
    st_bind_int(statement, value);
}

void st_compare_bind_filter(st_statement *statement, const st_compare_filter *filter)
{
    st_compare_bind_text(statement, ":family", filter->family);
    st_compare_bind_text(statement, ":type", filter->type);
    st_compare_bind_text(statement, ":operation", filter->operation);
    st_compare_bind_text(statement, ":cache", filter->cache);
    st_compare_bind_text(statement, ":device", filter->device);
    st_compare_bind_int(statement, ":n", filter->n);
}

// --- rows --------------------------------------------------------------------------------------------------------

static st_compare_row row_of(const st_statement *s)
{
    return (st_compare_row){
        .session_key = st_column_int(s, 0),
        .problem_key = st_column_int(s, 1),
        .device_key = st_column_int(s, 2),
        .candidate_key = st_column_int(s, 3),
        .default_key = st_column_int(s, 4),
        .session_id = st_column_text(s, 5),
        .candidate_id = st_column_text(s, 6),
        .family = st_column_text(s, 7),
        .problem = st_column_text(s, 8),
        .type = st_column_text(s, 9),
        .operation = st_column_text(s, 10),
        .cache = st_column_text(s, 11),
        .configuration = st_column_text(s, 12),
        .n = st_column_int(s, 13),
        .device_name = st_column_text(s, 14),
        .device_uuid = st_column_text(s, 15),
        .backend = st_column_text(s, 16),
        .cc = (int)st_column_int(s, 17),
        .sm_count = (int)st_column_int(s, 18),
        .driver = st_column_text(s, 19),
        .compiler = st_column_text(s, 20),
        .tool = st_column_text(s, 21),
        .template_hash = st_column_text(s, 22),
        .status = st_column_text(s, 23),
        .options_json = st_column_text(s, 24),
        .median_ns = st_column_real(s, 25),
        .default_ns = st_column_real(s, 26),
        .bytes = st_column_real(s, 27),
        .deterministic = (int)st_column_int(s, 28),
        .registers = (int)st_column_int(s, 29),
        .taken_ms = st_column_int(s, 30),
        .shipped = st_column_int(s, 31) == 1,
        .outcome = st_column_text(s, 32),
        .configuration_key = st_column_int(s, 33),
        .default_configuration_key = st_column_int(s, 34),
    };
}

static st_code ask(st_store *store, int kind, const char *value, const st_compare_filter *filter,
                   st_compare_callback *callback, void *context, st_error *error)
{
    st_text sql;
    st_text_init(&sql);
    st_statement statement = {0};
    st_code code = st_compare_sql(kind, filter, &sql, error);
    if (code == ST_OK)
        code = st_statement_open_once(store, &statement, st_text_string(&sql), "comparing", error);
    st_text_release(&sql);
    if (code != ST_OK)
        return code;
    st_compare_bind_text(&statement, ":value", value);
    st_compare_bind_filter(&statement, filter);
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&statement, &row, error);
        if (code != ST_OK || !row)
            break;
        st_compare_row one = row_of(&statement);
        code = callback(context, &one, error);
    }
    st_statement_close(&statement);
    return code;
}

st_code st_store_compare(st_store *store, st_side_kind kind, const char *value, const st_compare_filter *filter,
                         st_compare_callback *callback, void *context, st_error *error)
{
    return ask(store, (int)kind, value, filter, callback, context, error);
}

st_code st_store_compare_history(st_store *store, const st_compare_filter *filter, st_compare_callback *callback,
                                 void *context, st_error *error)
{
    return ask(store, -1, NULL, filter, callback, context, error);
}

const char st_compare_lost_sql[] =
    "SELECT EXISTS (SELECT 1 FROM candidate c WHERE c.session_key = ?1 AND c.problem_key = ?2)"
    " AND NOT EXISTS (SELECT 1 FROM candidate c WHERE c.session_key = ?1 AND c.problem_key = ?2"
    "  AND c.outcome = 'correct')";

st_code st_store_lost(st_store *store, int64_t session_key, int64_t problem_key, bool *lost, st_error *error)
{
    int64_t answer = 0;
    st_statement statement;
    *lost = false;
    st_code code = st_statement_open(store, &statement, st_compare_lost_sql, "comparing", error);
    if (code != ST_OK)
        return code;
    st_bind_int(&statement, session_key);
    st_bind_int(&statement, problem_key);
    code = st_statement_number(&statement, &answer, NULL, error);
    st_statement_close(&statement);
    *lost = answer == 1;
    return code;
}

// --- samples -----------------------------------------------------------------------------------------------------

#define STANDING_COLUMNS                                                                                               \
    "SELECT m.samples, m.phase, m.round, m.median_ns, m.tick_ns, m.sm_clock_mhz, m.memory_clock_mhz,"                 \
    " m.temperature_c, m.dropped, m.batch, m.throttle_reasons FROM measurement m "
const char st_compare_standing_sql[] = STANDING_COLUMNS
    "WHERE m.candidate_key = ? AND m.cache = ? ORDER BY CASE m.phase WHEN 'finals' THEN 0 WHEN 'halving' THEN 1"
    " ELSE 2 END, m.round DESC LIMIT 1";
const char st_compare_round_sql[] = STANDING_COLUMNS
    "WHERE m.candidate_key = ? AND m.cache = ? AND m.phase = ? AND m.round = ?";
const char st_compare_shared_phase_sql[] =
    "SELECT m.phase, m.round, y.round FROM measurement m CROSS JOIN measurement y ON y.candidate_key = ?2"
    " AND y.cache = ?3 AND y.phase = m.phase WHERE m.candidate_key = ?1 AND m.cache = ?3"
    " ORDER BY CASE m.phase WHEN 'finals' THEN 0 WHEN 'halving' THEN 1 ELSE 2 END,"
    " m.phase = 'halving' AND m.round = y.round DESC, m.round DESC, y.round DESC LIMIT 1";
const char st_compare_common_round_sql[] =
    "SELECT m.round FROM candidate c CROSS JOIN candidate x ON x.candidate_key = ?2 AND x.session_key = c.session_key"
    " CROSS JOIN measurement m ON m.candidate_key = c.candidate_key AND m.cache = ?3 AND m.phase = 'finals'"
    " CROSS JOIN measurement y ON y.candidate_key = x.candidate_key AND y.cache = ?3 AND y.phase = 'finals'"
    "  AND y.round = m.round WHERE c.candidate_key = ?1 AND c.problem_key = x.problem_key"
    " AND length(m.samples) = length(y.samples) ORDER BY m.round DESC LIMIT 1";

void st_standing_release(st_standing *standing)
{
    st_free(standing->samples_ns);
    standing->samples_ns = NULL;
    standing->sample_count = 0;
}

static void blank(st_standing *out)
{
    *out = (st_standing){.round = -1, .median_ns = NAN, .tick_ns = NAN, .sm_clock_mhz = -1, .memory_clock_mhz = -1,
                         .temperature_c = -1, .dropped = -1, .batch = -1, .throttle_reasons = -1};
}

static st_code fill_standing(const st_statement *s, st_standing *out, st_error *error)
{
    const void *blob = sqlite3_column_blob(s->statement, 0);
    int bytes = sqlite3_column_bytes(s->statement, 0);
    if (bytes && !blob)
        return st_fail_memory(error, "reading samples");
    if (bytes) {
        out->samples_ns = st_samples_decode(blob, (size_t)bytes, &out->sample_count);
        if (!out->samples_ns)
            return st_fail_memory(error, "reading samples");
    }
    st_column_copy(s, 1, out->phase, sizeof out->phase);
    out->round = (int)st_column_int(s, 2);
    out->median_ns = st_column_real(s, 3);
    out->tick_ns = st_column_real(s, 4);
    out->sm_clock_mhz = (int)st_column_int(s, 5);
    out->memory_clock_mhz = (int)st_column_int(s, 6);
    out->temperature_c = (int)st_column_int(s, 7);
    out->dropped = (int)st_column_int(s, 8);
    out->batch = (int)st_column_int(s, 9);
    out->throttle_reasons = st_column_int(s, 10);
    return ST_OK;
}

// round -1: the standing one, of whatever phase.
static st_code read_standing(st_store *store, int64_t candidate_key, const char *cache, const char *phase, int round,
                             st_standing *out, st_error *error)
{
    bool row = false;
    st_statement statement;
    blank(out);
    st_code code = st_statement_open(store, &statement, round < 0 ? st_compare_standing_sql : st_compare_round_sql,
                                     "reading samples", error);
    if (code != ST_OK)
        return code;
    st_bind_int(&statement, candidate_key);
    st_bind_text(&statement, cache);
    if (round >= 0) {
        st_bind_text(&statement, phase);
        st_bind_int(&statement, round);
    }
    code = st_statement_step(&statement, &row, error);
    if (code == ST_OK && row)
        code = fill_standing(&statement, out, error);
    st_statement_close(&statement);
    return code;
}

st_code st_store_standing(st_store *store, int64_t candidate_key, const char *cache, st_standing *out,
                          st_error *error)
{
    return read_standing(store, candidate_key, cache, NULL, -1, out, error);
}

st_code st_store_standing_pair(st_store *store, int64_t a, int64_t b, const char *cache, st_standing *of_a,
                               st_standing *of_b, bool *paired, st_error *error)
{
    int64_t round = -1;
    st_statement statement;
    *paired = false;
    st_code code = st_statement_open(store, &statement, st_compare_common_round_sql, "comparing", error);
    if (code != ST_OK)
        return code;
    st_bind_int(&statement, a);
    st_bind_int(&statement, b);
    st_bind_text(&statement, cache);
    code = st_statement_number(&statement, &round, paired, error);
    st_statement_close(&statement);
    if (code != ST_OK || !*paired)
        return code;
    code = read_standing(store, a, cache, "finals", (int)round, of_a, error);
    if (code == ST_OK && (code = read_standing(store, b, cache, "finals", (int)round, of_b, error)) != ST_OK)
        st_standing_release(of_a);
    if (code == ST_OK && of_a->sample_count != of_b->sample_count) { // of another length than the BLOBs say
        st_standing_release(of_a);
        st_standing_release(of_b);
        *paired = false;
    }
    return code;
}

st_code st_store_standing_shared(st_store *store, int64_t a, int64_t b, const char *cache, st_standing *of_a,
                                 st_standing *of_b, bool *shared, st_error *error)
{
    char phase[16] = "";
    int round_a = -1, round_b = -1;
    st_statement statement;
    *shared = false;
    st_code code = st_statement_open(store, &statement, st_compare_shared_phase_sql, "comparing", error);
    if (code != ST_OK)
        return code;
    st_bind_int(&statement, a);
    st_bind_int(&statement, b);
    st_bind_text(&statement, cache);
    code = st_statement_step(&statement, shared, error);
    if (code == ST_OK && *shared) {
        st_column_copy(&statement, 0, phase, sizeof phase);
        round_a = (int)st_column_int(&statement, 1);
        round_b = (int)st_column_int(&statement, 2);
    }
    st_statement_close(&statement);
    if (code != ST_OK || !*shared)
        return code;
    code = read_standing(store, a, cache, phase, round_a, of_a, error);
    if (code == ST_OK && (code = read_standing(store, b, cache, phase, round_b, of_b, error)) != ST_OK)
        st_standing_release(of_a);
    return code;
}
