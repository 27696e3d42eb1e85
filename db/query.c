// SPDX-License-Identifier: Apache-2.0
// Asking. Invariants: 1. answers come from the views that docs/store.md describes (simtune_winners,
// simtune_results), so sqlite3 and the command line tell the same; 2. only the conditions that were given
// stand in the statement, so that SQLite can use an index for each (tests/unit/db/test_query.c looks at the
// plans); 3. a callback may use the store, begin and end included: statements of callbacks are not shared.
#include "db/query_internal.h"

#include "tuner/base/memory.h"

#include <ctype.h>
#include <string.h>

// The views lack it, and their columns are promises; a look-up by its key.
#define MEMORY " (SELECT memory_bytes FROM device o WHERE o.device_key = r.device_key)"

#define MEASURED_COLUMNS(phase, taken_ms, sample_count, default_ns, comparable_ns)                 \
    "SELECT candidate_id, session_id, family, problem, configuration, type, operation, n,"         \
    " device_name, device_uuid, backend, cc, sm_count, driver, compiler, template_hash, tool,"     \
    " driver_cuda, outcome, detail, cache, " phase ", median_ns, bytes, read_gbs, speedup,"        \
    " speedup_low, speedup_high, tied, ties, note, registers, local_bytes, static_smem,"           \
    " dynamic_smem, blocks_per_sm, deterministic, occupancy, " taken_ms ", " sample_count ","      \
    " is_winner, is_default, shipped," MEMORY ", " default_ns ", " comparable_ns " "
#define ANSWER_COLUMNS                                                                             \
    MEASURED_COLUMNS("phase", "taken_ms", "sample_count",                                          \
                     "CASE WHEN is_winner THEN (SELECT default_ns FROM winner v WHERE"             \
                     " v.session_key = r.session_key AND v.problem_key = r.problem_key AND"        \
                     " v.cache = r.cache) END", ST_COMPARABLE("r"))
#define WINNER_COLUMNS MEASURED_COLUMNS("phase", "taken_ms", "sample_count", "r.default_ns", "median_ns")
// Without what stands in measurements, which then are not read.
#define BRIEF_COLUMNS MEASURED_COLUMNS("NULL", "NULL", "0", "r.default_ns", "median_ns")

// Of a candidate without measurements: the same columns.
#define UNMEASURED_COLUMNS                                                                         \
    "SELECT candidate_id, session_id, family, problem, configuration, type, operation, n,"         \
    " device_name, device_uuid, backend, cc, sm_count, driver, compiler, template_hash, tool,"     \
    " driver_cuda, outcome, detail, NULL, NULL, NULL, NULL, read_gbs, NULL, NULL, NULL, 0, NULL,"  \
    " NULL, registers, local_bytes, static_smem, dynamic_smem, blocks_per_sm, deterministic,"      \
    " occupancy, NULL, 0, 0, 0, shipped," MEMORY ", NULL, NULL "

// Of candidates with what was measured of them (m) and concluded (w): the same columns.
#define OF_WINNER(column) "CASE WHEN w.winner_key = r.candidate_key THEN w." column " END,"
#define TRIED_COLUMNS                                                                              \
    "SELECT candidate_id, session_id, family, problem, configuration, type, operation, n,"         \
    " device_name, device_uuid, backend, cc, sm_count, driver, compiler, template_hash, tool,"     \
    " driver_cuda, outcome, detail, m.cache, m.phase, m.median_ns, w.bytes, read_gbs, "            \
    OF_WINNER("speedup") OF_WINNER("speedup_low") OF_WINNER("speedup_high") OF_WINNER("tied")      \
    OF_WINNER("ties") OF_WINNER("note")                                                            \
    " registers, local_bytes, static_smem, dynamic_smem, blocks_per_sm, deterministic, occupancy," \
    " m.taken_ms, length(m.samples) / 8, w.winner_key IS r.candidate_key,"                         \
    " w.default_key IS r.candidate_key, shipped," MEMORY ","                                      \
    " CASE WHEN w.winner_key = r.candidate_key THEN w.default_ns END, " ST_COMPARABLE("m") " "

enum { ANSWER_COLUMN_COUNT = 46 };

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
        .comparable_ns = st_column_real(row, 45),
    };
}

// Hands each row of an opened statement to the callback. Closes it.
static void add_values(st_question *question, const st_statement *row, st_answer *answer);

static st_code each_answer(st_statement *statement, st_question *question, st_answer_callback *callback,
                           void *context, size_t *count, st_error *error)
{
    st_code code = ST_OK;
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(statement, &row, error);
        if (code != ST_OK || !row)
            break;
        st_answer answer = answer_of_row(statement);
        if (question)
            add_values(question, statement, &answer);
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

void st_question_conditions_sql(const st_question *question, st_text *sql)
{
    const st_query *query = question->query;
    bool tried = question->source == ST_FROM_TRIED;
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
        {query->cache && !query->outcomes, tried ? " AND m.cache = :cache" : " AND r.cache = :cache"},
        {query->since_ms >= 0, query->outcomes ? " AND r.started_ms >= :since"
                               : tried         ? " AND coalesce(m.taken_ms, r.started_ms) >= :since"
                                               : " AND r.taken_ms >= :since"},
        {query->outcomes, " AND instr(',' || :outcomes || ',', ',' || r.outcome || ',') > 0"},
    };
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++)
        if (conditions[i].wanted)
            st_text_add(sql, conditions[i].clause);
    for (size_t i = 0; i < query->arch_count; i++)
        st_text_addf(sql, "%s%d", i ? "," : " AND r.cc IN (", query->archs[i]);
    st_text_add(sql, query->arch_count ? ")" : "");
    add_origin(query, "r", sql);
    if (question->source == ST_FROM_WINNERS)
        add_newest(query, sql);
}

const char *st_question_from(st_query_source source)
{
    switch (source) {
    case ST_FROM_WINNERS:
        return "simtune_winners r";
    case ST_FROM_RESULTS:
        return "simtune_results r";
    case ST_FROM_CANDIDATES:
        return "simtune_candidates r";
    case ST_FROM_TRIED:
        break;
    }
    return "simtune_candidates r LEFT JOIN measurement m ON m.candidate_key = r.candidate_key"
           " AND m.measurement_key = (SELECT y.measurement_key FROM measurement y"
           "  WHERE y.candidate_key = r.candidate_key AND y.cache = m.cache"
           "  ORDER BY CASE y.phase WHEN 'finals' THEN 0 WHEN 'halving' THEN 1 ELSE 2 END, y.round DESC LIMIT 1)"
           " LEFT JOIN winner w ON w.session_key = r.session_key AND w.problem_key = r.problem_key"
           "  AND w.cache = m.cache";
}

static const char *columns_of(const st_question *question)
{
    switch (question->source) {
    case ST_FROM_TRIED:
        return TRIED_COLUMNS;
    case ST_FROM_CANDIDATES:
        return UNMEASURED_COLUMNS;
    case ST_FROM_WINNERS:
        return question->query->brief ? BRIEF_COLUMNS : WINNER_COLUMNS;
    case ST_FROM_RESULTS:
        break;
    }
    return ANSWER_COLUMNS;
}

static void add_order(const st_question *question, st_text *sql)
{
    const st_query *query = question->query;
    st_text_add(sql, " ORDER BY ");
    if (query->per)
        st_text_addf(sql, "%s, ", st_text_equal(query->per, "driver")   ? "simtune_query_version(r.driver), r.driver"
                                  : st_text_equal(query->per, "device") ? "r.device_name, r.device_uuid"
                                                                        : st_question_group_sql(query));
    st_text_add(sql, "r.family");
    st_text_add(sql, query->per ? "" : ", r.device_name, r.device_uuid");
    st_text_add(sql, ", r.type, r.operation, r.n, r.problem, ");
    bool winners = question->source == ST_FROM_WINNERS && !query->per;
    st_text_add(sql, winners                                  ? "r.cache, r.finished_ms DESC, r.session_id DESC"
                     : question->source == ST_FROM_CANDIDATES ? "r.outcome, r.configuration, r.candidate_id"
                     : question->source == ST_FROM_TRIED
                         ? "m.cache, " ST_COMPARABLE("m") ", r.outcome, r.configuration, r.candidate_id"
                     : question->source == ST_FROM_RESULTS ? "r.cache, " ST_COMPARABLE("r") ", r.candidate_id"
                                                           : "r.cache, r.median_ns, r.candidate_id");
}

bool st_question_chooses(const st_question *question)
{
    return question->query->top || question->query->per || question->query->pareto;
}

st_code st_question_sql(const st_question *question, st_text *sql, st_error *error)
{
    const st_query *query = question->query;
    st_text_add(sql, columns_of(question));
    if (query->per)
        st_text_addf(sql, ", %s", st_text_equal(query->per, "device") ? "r.device_name" : st_question_group_sql(query));
    st_question_values_sql(question, sql);
    st_text_add(sql, " FROM ");
    if (question->chosen)
        st_text_add(sql, "(SELECT value >> 1 AS chosen_key, CASE value & 1 WHEN 1 THEN 'warm' ELSE 'cold' END AS"
                         " chosen_cache FROM json_each(:chosen)) k, ");
    st_text_addf(sql, "%s WHERE ", st_question_from(question->source));
    if (question->chosen) // the rest was asked when the rows were chosen
        st_text_add(sql, "r.candidate_key = k.chosen_key AND r.cache = k.chosen_cache");
    else {
        st_text_add(sql, "1");
        st_question_conditions_sql(question, sql);
        st_question_where_sql(question, sql);
    }
    add_order(question, sql);
    if (query->limit)
        st_text_add(sql, " LIMIT :limit");
    return sql->failed ? st_fail_memory(error, "asking the store") : ST_OK;
}

// --- stopping ------------------------------------------------------------------------------------------------
static int stops(void *context)
{
    return *(const volatile sig_atomic_t *)context != 0;
}

void st_store_stop_when(st_store *store, const volatile sig_atomic_t *stop)
{
    enum { STEPS = 10000 }; // of SQLite's machine: some tenths of a millisecond
    sqlite3_progress_handler(store->db, stop ? STEPS : 0, stop ? stops : NULL, (void *)(uintptr_t)stop);
}

st_code st_query_sql(st_store *store, const st_query *query, st_text *sql, st_error *error)
{
    st_question question;
    st_code code = st_question_read(store, query, &question, error);
    if (code == ST_OK && st_question_chooses(&question))
        st_question_choice_sql(&question, sql);
    else if (code == ST_OK)
        code = st_question_sql(&question, sql, error);
    st_question_release(&question);
    return code;
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

void st_lower_case(const char *text, char *out, size_t capacity)
{
    size_t i = 0;
    for (; text && text[i] && i + 1 < capacity; i++)
        out[i] = (char)tolower((unsigned char)text[i]);
    out[i] = '\0';
}

void st_question_bind(st_statement *statement, const st_question *question)
{
    const st_query *query = question->query;
    bind_named_text(statement, ":family", query->family);
    bind_named_text(statement, ":device", query->device);
    bind_named_int(statement, ":cc", query->cc);
    bind_named_int(statement, ":sm_count", query->sm_count);
    bind_named_text(statement, ":type", query->type);
    bind_named_text(statement, ":operation", query->operation);
    bind_named_int(statement, ":n", query->n);
    bind_named_text(statement, ":cache", query->cache);
    bind_named_int(statement, ":since", query->since_ms);
    bind_named_text(statement, ":outcomes", query->outcomes);
    bind_named_text(statement, ":session", question->session);
    bind_named_text(statement, ":chosen", question->chosen);
    bind_named_int(statement, ":top", query->top > INT64_MAX ? INT64_MAX : (int64_t)query->top);
    bind_named_int(statement, ":limit", query->limit > INT64_MAX ? INT64_MAX : (int64_t)query->limit);
}

static st_answer_value value_of_column(const st_statement *row, int column, const char *name)
{
    st_answer_value value = {.name = name};
    switch (sqlite3_column_type(row->statement, column)) {
    case SQLITE_INTEGER:
        value.kind = ST_ANSWER_INTEGER;
        value.integer = st_column_int(row, column);
        break;
    case SQLITE_FLOAT:
        value.kind = ST_ANSWER_REAL;
        value.real = st_column_real(row, column);
        break;
    case SQLITE_TEXT:
        value.kind = ST_ANSWER_WORD;
        value.word = st_column_text(row, column);
        break;
    }
    return value;
}

static void add_values(st_question *question, const st_statement *row, st_answer *answer)
{
    int column = ANSWER_COLUMN_COUNT;
    if (question->query->per)
        answer->group = st_column_text_or_null(row, column++);
    for (size_t i = 0; i < question->value_count; i++)
        question->values[i] = value_of_column(row, column++, question->values[i].name);
    answer->values = question->values;
    answer->value_count = question->value_count;
}

static st_code answer_question(st_store *store, st_question *question, st_answer_callback *callback, void *context,
                               st_error *error)
{
    st_text sql;
    st_text_init(&sql);
    st_statement statement = {0};
    st_code code = st_question_sql(question, &sql, error);
    if (code == ST_OK)
        code = st_statement_open_once(store, &statement, st_text_string(&sql), "asking it", error);
    st_text_release(&sql);
    if (code != ST_OK)
        return code;
    st_question_bind(&statement, question);
    size_t count = 0;
    return each_answer(&statement, question, callback, context, &count, error);
}

st_code st_store_query(st_store *store, const st_query *query, st_answer_callback *callback,
                       void *context, st_error *error)
{
    st_question question;
    st_code code = st_question_read(store, query, &question, error);
    if (code == ST_OK && st_question_chooses(&question))
        code = st_question_choose(store, &question, error);
    if (code == ST_OK)
        code = answer_question(store, &question, callback, context, error);
    st_question_release(&question);
    st_query_scales_forget(store);
    return code;
}

st_code st_store_knows_family(st_store *store, const char *family, bool *known, st_error *error)
{
    st_statement statement;
    int64_t found = 0;
    st_code code = st_statement_open(store, &statement, "SELECT EXISTS (SELECT 1 FROM session WHERE family = ?)",
                                     "looking for a family", error);
    if (code == ST_OK) {
        st_bind_text(&statement, family);
        code = st_statement_number(&statement, &found, NULL, error);
    }
    st_statement_close(&statement);
    *known = found == 1;
    return code;
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
    st_code code = st_query_functions(store, error);
    if (code == ST_OK)
        code = st_statement_open_once(store, &statement, sql, "reading a candidate", error);
    if (code != ST_OK)
        return code;
    st_bind_int(&statement, candidate_key);
    code = each_answer(&statement, NULL, callback, context, count, error);
    st_query_scales_forget(store);
    return code;
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
