// SPDX-License-Identifier: Apache-2.0
// Asking. Invariants: 1. answers come from the views that docs/store.md describes (simtune_winners,
// simtune_results), so sqlite3 and the command line tell the same; 2. only the conditions that were given
// stand in the statement, so that SQLite can use an index for each (tests/unit/db/test_query.c looks at the
// plans); 3. a callback may use the store, begin and end included: statements of callbacks are not shared.
#include "db/store_internal.h"

#include "tuner/base/memory.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

// The views lack it, and their columns are promises; a look-up by its key.
#define MEMORY " (SELECT memory_bytes FROM device o WHERE o.device_key = r.device_key)"

#define ANSWER_COLUMNS                                                                             \
    "SELECT candidate_id, session_id, family, problem, configuration, type, operation, n,"         \
    " device_name, device_uuid, backend, cc, sm_count, driver, compiler, template_hash, tool,"     \
    " driver_cuda, outcome, detail, cache, phase, median_ns, bytes, read_gbs, speedup, "           \
    "speedup_low,"                                                                                 \
    " speedup_high, tied, ties, note, registers, local_bytes, static_smem, dynamic_smem,"          \
    " blocks_per_sm, deterministic, occupancy, taken_ms, sample_count, is_winner, is_default, "    \
    "shipped," MEMORY ","                                                                          \
    " CASE WHEN is_winner THEN (SELECT default_ns FROM winner v WHERE v.session_key ="             \
    "  r.session_key AND v.problem_key = r.problem_key AND v.cache = r.cache) END "

// Of a candidate without measurements: the same columns.
#define UNMEASURED_COLUMNS                                                                         \
    "SELECT candidate_id, session_id, family, problem, configuration, type, operation, n,"         \
    " device_name, device_uuid, backend, cc, sm_count, driver, compiler, template_hash, tool,"     \
    " driver_cuda, outcome, detail, NULL, NULL, NULL, NULL, read_gbs, NULL, NULL, NULL, 0, NULL,"  \
    " NULL, registers, local_bytes, static_smem, dynamic_smem, blocks_per_sm, deterministic,"      \
    " occupancy, NULL, 0, 0, 0, shipped," MEMORY ", NULL "

static st_answer answer_of_row(const st_statement *row)
{
    return (st_answer){
        .candidate_id = st_column_text(row, 0),
        .session_id = st_column_text(row, 1),
        .family = st_column_text(row, 2),
        .problem = st_column_text(row, 3),
        .configuration = st_column_text(row, 4),
        .type = st_column_text(row, 5),
        .operation = st_column_text(row, 6),
        .n = st_column_int(row, 7),
        .device_name = st_column_text(row, 8),
        .device_uuid = st_column_text(row, 9),
        .backend = st_column_text(row, 10),
        .cc = (int)st_column_int(row, 11),
        .sm_count = (int)st_column_int(row, 12),
        .driver = st_column_text(row, 13),
        .compiler = st_column_text(row, 14),
        .template_hash = st_column_text(row, 15),
        .tool = st_column_text(row, 16),
        .driver_cuda = (int)st_column_int(row, 17),
        .outcome = st_column_text(row, 18),
        .detail = st_column_text_or_null(row, 19),
        .cache = st_column_text(row, 20),
        .phase = st_column_text(row, 21),
        .median_ns = st_column_real(row, 22),
        .bytes = st_column_real(row, 23),
        .read_gbs = st_column_real(row, 24),
        .speedup = st_column_real(row, 25),
        .speedup_low = st_column_real(row, 26),
        .speedup_high = st_column_real(row, 27),
        .tied = (int)st_column_int(row, 28),
        .ties_json = st_column_text_or_null(row, 29),
        .note = st_column_text_or_null(row, 30),
        .registers = (int)st_column_int(row, 31),
        .local_bytes = (int)st_column_int(row, 32),
        .static_smem = (int)st_column_int(row, 33),
        .dynamic_smem = (int)st_column_int(row, 34),
        .blocks_per_sm = (int)st_column_int(row, 35),
        .deterministic = (int)st_column_int(row, 36),
        .occupancy = st_column_real(row, 37),
        .taken_ms = st_column_int(row, 38),
        .sample_count = (size_t)st_column_int(row, 39),
        .is_winner = st_column_int(row, 40) == 1,
        .is_default = st_column_int(row, 41) == 1,
        .shipped = st_column_int(row, 42) == 1,
        .memory_bytes = st_column_int(row, 43),
        .default_ns = st_column_real(row, 44),
    };
}

// Hands each row of an opened statement to the callback. Closes it.
static st_code each_answer(st_statement *statement, st_answer_callback *callback, void *context,
                           size_t *count, st_error *error)
{
    st_code code = ST_OK;
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(statement, &row, error);
        if (code != ST_OK || !row)
            break;
        st_answer answer = answer_of_row(statement);
        code = callback(context, &answer, error);
        ++*count;
    }
    st_statement_close(statement);
    return code;
}

// --- st_store_query ----------------------------------------------------------------------------------------
static void add_origin(const st_query *query, const char *alias, st_text *sql)
{
    if (query->shipped != query->own)
        st_text_addf(sql, " AND %s.shipped = %d", alias, query->shipped ? 1 : 0);
    if (query->session)
        st_text_addf(sql, " AND %s.session_id >= :session AND %s.session_id < :session || 'g'",
                     alias, alias);
}

// The newest among what is asked for: a newer session that the query leaves out does not hide one. All of them are
// found in one pass, not by a search of each row's rivals, whose number grows with every run.
static void add_newest(const st_query *query, st_text *sql)
{
    st_text_add(sql, " AND (r.session_key, r.problem_key, r.cache) IN (SELECT session_key, problem_key, cache"
                     " FROM (SELECT x.session_key, x.problem_key, x.cache, row_number() OVER"
                     "  (PARTITION BY x.problem_key, x.cache, o.device_key, o.toolchain_key"
                     "   ORDER BY o.finished_ms DESC, o.session_id DESC) AS place"
                     "  FROM winner x JOIN session o ON o.session_key = x.session_key"
                     "  WHERE o.status <> 'running'");
    if (query->family)
        st_text_add(sql, " AND o.family = :family");
    if (query->cache)
        st_text_add(sql, " AND x.cache = :cache");
    add_origin(query, "o", sql);
    st_text_add(sql, ") WHERE place = 1)");
}

st_code st_query_sql(const st_query *query, st_text *sql, st_error *error)
{
    const struct {
        bool wanted;
        const char *clause;
    } conditions[] = {
        {query->family, " AND r.family = :family"},
        {query->device, " AND (lower(r.device_uuid) = lower(:device)"
                        " OR instr(lower(r.device_name), lower(:device)) > 0)"},
        {query->cc >= 0, " AND r.cc = :cc"},
        {query->sm_count >= 0, " AND r.sm_count = :sm_count"},
        {query->type, " AND r.type = :type"},
        {query->operation, " AND r.operation = :operation"},
        {query->n >= 0, " AND r.n = :n"},
        {query->cache && !query->outcomes, " AND r.cache = :cache"},
        {query->since_ms >= 0,
         query->outcomes ? " AND r.started_ms >= :since" : " AND r.taken_ms >= :since"},
        {query->outcomes, " AND instr(',' || :outcomes || ',', ',' || r.outcome || ',') > 0"},
    };
    st_text_add(sql, query->best       ? ANSWER_COLUMNS "FROM simtune_winners r WHERE 1"
                     : query->outcomes ? UNMEASURED_COLUMNS "FROM simtune_candidates r WHERE 1"
                                       : ANSWER_COLUMNS "FROM simtune_results r WHERE 1");
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++)
        if (conditions[i].wanted)
            st_text_add(sql, conditions[i].clause);
    add_origin(query, "r", sql);
    if (query->best)
        add_newest(query, sql);
    st_text_addf(sql,
                 " ORDER BY r.family, r.device_name, r.device_uuid, r.type, r.operation, r.n,"
                 " r.problem, %s",
                 query->best       ? "r.cache, r.finished_ms DESC, r.session_id DESC"
                 : query->outcomes ? "r.outcome, r.configuration, r.candidate_id"
                                   : "r.cache, r.median_ns, r.candidate_id");
    if (query->limit)
        st_text_add(sql, " LIMIT :limit");
    return sql->failed ? st_fail_memory(error, "asking the store") : ST_OK;
}

static void bind_named_text(st_statement *statement, const char *name, const char *value)
{
    int index = sqlite3_bind_parameter_index(statement->statement, name);
    if (!index)
        return;
    statement->bound = index - 1;
    st_bind_text(statement, value);
}

static void bind_named_int(st_statement *statement, const char *name, int64_t value)
{
    int index = sqlite3_bind_parameter_index(statement->statement, name);
    if (!index)
        return;
    statement->bound = index - 1;
    st_bind_int(statement, value);
}

static void lower_case(const char *text, char *out, size_t capacity)
{
    size_t i = 0;
    for (; text && text[i] && i + 1 < capacity; i++)
        out[i] = (char)tolower((unsigned char)text[i]);
    out[i] = '\0';
}

st_code st_store_query(st_store *store, const st_query *query, st_answer_callback *callback,
                       void *context, st_error *error)
{
    st_text sql;
    st_text_init(&sql);
    st_statement statement = {0};
    char session[ST_HASH_TEXT + 1]; // one more than an id: too long a prefix must not match
    lower_case(query->session, session, sizeof session);
    st_code code = st_query_sql(query, &sql, error);
    if (code == ST_OK)
        code = st_statement_open_once(store, &statement, st_text_string(&sql), "asking it", error);
    st_text_release(&sql);
    if (code != ST_OK)
        return code;
    bind_named_text(&statement, ":family", query->family);
    bind_named_text(&statement, ":device", query->device);
    bind_named_int(&statement, ":cc", query->cc);
    bind_named_int(&statement, ":sm_count", query->sm_count);
    bind_named_text(&statement, ":type", query->type);
    bind_named_text(&statement, ":operation", query->operation);
    bind_named_int(&statement, ":n", query->n);
    bind_named_text(&statement, ":cache", query->cache);
    bind_named_int(&statement, ":since", query->since_ms);
    bind_named_text(&statement, ":outcomes", query->outcomes);
    bind_named_text(&statement, ":session", session);
    bind_named_int(&statement, ":limit",
                   query->limit > INT64_MAX ? INT64_MAX : (int64_t)query->limit);
    size_t count = 0;
    return each_answer(&statement, callback, context, &count, error);
}

// --- ids ---------------------------------------------------------------------------------------------------
void st_id_prefix(const char *text, char out[ST_HASH_TEXT], bool *valid)
{
    size_t length = strlen(text);
    *valid = length >= 4 && length < ST_HASH_TEXT;
    for (size_t i = 0; i < length && *valid; i++)
        *valid = isxdigit((unsigned char)text[i]) != 0;
    lower_case(*valid ? text : "", out, ST_HASH_TEXT);
}

st_code st_key_by_prefix(st_store *store, const char *sql, const char *what, const char *prefix,
                         int64_t *key, st_error *error)
{
    bool valid;
    char id[ST_HASH_TEXT], first[ST_HASH_TEXT] = "", second[ST_HASH_TEXT] = "";
    st_id_prefix(prefix, id, &valid);
    if (!valid)
        return st_fail(error, ST_USAGE,
                       "give 4 to 32 hexadecimal digits of an id, as tables print them",
                       "\"%s\" is not the id of a %s", prefix, what);
    st_statement statement;
    st_code code = st_statement_open_once(store, &statement, sql, "looking for an id", error);
    if (code != ST_OK)
        return code;
    st_bind_text(&statement, id);
    bool row;
    code = st_statement_step(&statement, &row, error);
    if (code == ST_OK && row) {
        *key = st_column_int(&statement, 0);
        st_column_copy(&statement, 1, first, sizeof first);
        code = st_statement_step(&statement, &row, error);
        if (code == ST_OK && row)
            st_column_copy(&statement, 1, second, sizeof second);
    }
    st_statement_close(&statement);
    if (code != ST_OK)
        return code;
    if (*second)
        return st_fail(error, ST_USAGE, "give more digits", "several %ss begin with %s: %s, %s …",
                       what, id, first, second);
    return *first ? ST_OK
                  : st_fail(error, ST_NOTHING, "list what there is with simtune query",
                            "the store %s has no %s that begins with %s", store->path, what, id);
}

st_code st_store_candidate_key(st_store *store, const char *id_prefix, int64_t *key,
                               st_error *error)
{
    return st_key_by_prefix(store,
                            "SELECT candidate_key, candidate_id FROM candidate"
                            " WHERE candidate_id >= ?1 AND candidate_id < ?1 || 'g'"
                            " ORDER BY candidate_id LIMIT 2",
                            "candidate", id_prefix, key, error);
}

// --- one candidate -----------------------------------------------------------------------------------------
// One answer a state of the cache; a candidate without measurements is one answer with cache "".
const char st_answer_of_sql[] =
    ANSWER_COLUMNS "FROM simtune_results r WHERE candidate_key = ? ORDER BY cache";
static const char unmeasured_sql[] =
    UNMEASURED_COLUMNS "FROM simtune_candidates r WHERE candidate_key = ?";

static st_code answers_of(st_store *store, const char *sql, int64_t candidate_key,
                          st_answer_callback *callback, void *context, size_t *count,
                          st_error *error)
{
    st_statement statement;
    st_code code = st_statement_open_once(store, &statement, sql, "reading a candidate", error);
    if (code != ST_OK)
        return code;
    st_bind_int(&statement, candidate_key);
    return each_answer(&statement, callback, context, count, error);
}

st_code st_store_answer_of(st_store *store, int64_t candidate_key, st_answer_callback *callback,
                           void *context, st_error *error)
{
    size_t count = 0;
    st_code code =
        answers_of(store, st_answer_of_sql, candidate_key, callback, context, &count, error);
    if (code == ST_OK && count == 0)
        code = answers_of(store, unmeasured_sql, candidate_key, callback, context, &count, error);
    if (code == ST_OK && count == 0)
        code = st_fail(error, ST_NOTHING, "simtune db check tells what is missing",
                       "the store %s has no candidate with the key %lld that is whole", store->path,
                       (long long)candidate_key);
    return code;
}
