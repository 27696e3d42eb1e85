// SPDX-License-Identifier: Apache-2.0
// Names in conditions. Invariants: 1. a name has one meaning in one question: a parameter of the families asked
// for, else an axis of their problems, else a fact, else a counter; "parameter.", "axis.", "fact." and
// "counter." before it say which is meant; 2. a name's SQL has a value, a word or NULL, and never fails.
#include "db/query_internal.h"

#include "tuner/base/memory.h"

#include <string.h>

// --- facts ---------------------------------------------------------------------------------------------------
#define OF_WINNER(column) "(CASE WHEN w.winner_key = r.candidate_key THEN w." column " END)"
#define INTEGER ST_NAME_INTEGER
#define REAL ST_NAME_REAL
#define WORD ST_NAME_WORD

// To add a fact: a row, and a line in docs/store.md. An alias stands after its fact.
static const st_query_fact facts[] = {
    {"time", REAL, ST_OF_MEASUREMENT, "r.median_ns", "m.median_ns", NULL, false},
    {"median_ns", REAL, ST_OF_MEASUREMENT, "r.median_ns", "m.median_ns", NULL, true},
    {"gbs", REAL, ST_OF_MEASUREMENT, "r.gbs", "(w.bytes / m.median_ns)", NULL, false},
    {"of_memory", REAL, ST_OF_MEASUREMENT, "(r.gbs / r.read_gbs)", "(w.bytes / m.median_ns / r.read_gbs)", NULL,
     false},
    {"bytes", REAL, ST_OF_MEASUREMENT, "r.bytes", "w.bytes", NULL, false},
    {"speedup", REAL, ST_OF_MEASUREMENT, "r.speedup", OF_WINNER("speedup"), NULL, false},
    {"speedup_low", REAL, ST_OF_MEASUREMENT, "r.speedup_low", OF_WINNER("speedup_low"), NULL, false},
    {"speedup_high", REAL, ST_OF_MEASUREMENT, "r.speedup_high", OF_WINNER("speedup_high"), NULL, false},
    {"tied", INTEGER, ST_OF_MEASUREMENT, "r.tied", OF_WINNER("tied"), NULL, false},
    {"winner", INTEGER, ST_OF_MEASUREMENT, "r.is_winner", "(w.winner_key IS r.candidate_key)", NULL, false},
    {"default", INTEGER, ST_OF_MEASUREMENT, "r.is_default", "(w.default_key IS r.candidate_key)", NULL, false},
    {"samples", INTEGER, ST_OF_MEASUREMENT, "r.sample_count", "(length(m.samples) / 8)", NULL, false},
    {"phase", WORD, ST_OF_MEASUREMENT, "r.phase", "m.phase", st_stored_phases, false},
    {"cache", WORD, ST_OF_MEASUREMENT, "r.cache", "m.cache", st_stored_caches, false},
    {"taken_ms", INTEGER, ST_OF_MEASUREMENT, "r.taken_ms", "m.taken_ms", NULL, false},
    {"outcome", WORD, ST_OF_CANDIDATE, "r.outcome", NULL, st_stored_outcomes, false},
    {"registers", INTEGER, ST_OF_CANDIDATE, "r.registers", NULL, NULL, false},
    {"local_bytes", INTEGER, ST_OF_CANDIDATE, "r.local_bytes", NULL, NULL, false},
    {"static_smem", INTEGER, ST_OF_CANDIDATE, "r.static_smem", NULL, NULL, false},
    {"dynamic_smem", INTEGER, ST_OF_CANDIDATE, "r.dynamic_smem", NULL, NULL, false},
    {"smem", INTEGER, ST_OF_CANDIDATE, "(r.static_smem + r.dynamic_smem)", NULL, NULL, false},
    {"blocks_per_sm", INTEGER, ST_OF_CANDIDATE, "r.blocks_per_sm", NULL, NULL, false},
    {"occupancy", REAL, ST_OF_CANDIDATE, "r.occupancy", NULL, NULL, false},
    {"deterministic", INTEGER, ST_OF_CANDIDATE, "r.deterministic", NULL, NULL, false},
    {"compile_seconds", REAL, ST_OF_CANDIDATE, "r.compile_seconds", NULL, NULL, false},
    {"candidate", WORD, ST_OF_CANDIDATE, "r.candidate_id", NULL, NULL, false},
    {"configuration", WORD, ST_OF_CONFIGURATION, "r.configuration", NULL, NULL, false},
    {"family", WORD, ST_OF_PROBLEM, "r.family", NULL, NULL, false},
    {"problem", WORD, ST_OF_PROBLEM, "r.problem", NULL, NULL, false},
    {"type", WORD, ST_OF_PROBLEM, "r.type", NULL, NULL, false},
    {"operation", WORD, ST_OF_PROBLEM, "r.operation", NULL, NULL, false},
    {"op", WORD, ST_OF_PROBLEM, "r.operation", NULL, NULL, true},
    {"n", INTEGER, ST_OF_PROBLEM, "r.n", NULL, NULL, false},
    {"size", INTEGER, ST_OF_PROBLEM, "r.n", NULL, NULL, true},
    {"device", WORD, ST_OF_SESSION, "r.device_name", NULL, NULL, false},
    {"device_name", WORD, ST_OF_SESSION, "r.device_name", NULL, NULL, true},
    {"device_uuid", WORD, ST_OF_SESSION, "r.device_uuid", NULL, NULL, false},
    {"backend", WORD, ST_OF_SESSION, "r.backend", NULL, NULL, false},
    {"cc", INTEGER, ST_OF_SESSION, "r.cc", NULL, NULL, false},
    {"sm_count", INTEGER, ST_OF_SESSION, "r.sm_count", NULL, NULL, false},
    {"read_gbs", REAL, ST_OF_SESSION, "r.read_gbs", NULL, NULL, false},
    {"driver", WORD, ST_OF_SESSION, "r.driver", NULL, NULL, false},
    {"driver_cuda", INTEGER, ST_OF_SESSION, "r.driver_cuda", NULL, NULL, false},
    {"compiler", WORD, ST_OF_SESSION, "r.compiler", NULL, NULL, false},
    {"tool", WORD, ST_OF_SESSION, "r.tool", NULL, NULL, false},
    {"template_hash", WORD, ST_OF_SESSION, "r.template_hash", NULL, NULL, false},
    {"session", WORD, ST_OF_SESSION, "r.session_id", NULL, NULL, false},
    {"status", WORD, ST_OF_SESSION, "r.status", NULL, st_stored_statuses, false},
    {"shipped", INTEGER, ST_OF_SESSION, "r.shipped", NULL, NULL, false},
    {"started_ms", INTEGER, ST_OF_SESSION, "r.started_ms", NULL, NULL, false},
    {"finished_ms", INTEGER, ST_OF_SESSION, "r.finished_ms", NULL, NULL, false},
};

// --- the list ------------------------------------------------------------------------------------------------
void st_query_names_release(st_query_names *names)
{
    st_scope_release(&names->scope);
    for (size_t i = 0; i < names->count; i++)
        st_free(names->items[i].name);
    st_free(names->items);
    st_free(names->stalls);
    st_free(names->metrics);
    memset(names, 0, sizeof *names);
}

static st_code no_memory(st_error *error)
{
    return st_fail_memory(error, "reading what there is to ask for");
}

// A new item, named prefix + name; without a prefix a name that is there already keeps its meaning.
static st_code add(st_query_names *names, const char *prefix, const char *name, st_asked_name item,
                   st_name_kind kind, const char *const *words, int64_t metric, st_error *error)
{
    if (!*prefix && st_scope_find(&names->scope, name) >= 0)
        return ST_OK;
    st_asked_name *items = st_grow(names->items, &names->capacity, names->count + 1, sizeof *items);
    if (items)
        names->items = items;
    int64_t *metrics = st_grow(names->metrics, &names->metric_capacity, names->count + 1, sizeof *metrics);
    if (metrics)
        names->metrics = metrics;
    item.name = st_format("%s%s", prefix, name);
    st_name row = {.name = item.name, .kind = kind, .words = words};
    if (!items || !metrics || !item.name || st_scope_add(&names->scope, row) < 0) {
        st_free(item.name);
        return no_memory(error);
    }
    item.bare = item.name + strlen(prefix);
    item.hidden = *prefix || (item.fact && item.fact->alias);
    metrics[names->count] = metric;
    items[names->count++] = item;
    return ST_OK;
}

static const char *const prefixes[] = {"parameter.", "axis.", "fact.", "counter."};

// One row of what was found, before it is in the scope: its kind is known when all rows were seen.
typedef struct found_name {
    char *name;
    st_query_origin origin;
    bool number, word;
} found_name;

typedef struct found_names {
    found_name *items;
    size_t count, capacity;
} found_names;

static void found_release(found_names *found)
{
    for (size_t i = 0; i < found->count; i++)
        st_free(found->items[i].name);
    st_free(found->items);
}

static bool found_add(found_names *found, st_query_origin origin, const char *name, size_t length, bool number)
{
    found_name *row = NULL;
    for (size_t i = 0; i < found->count && !row; i++)
        if (found->items[i].origin == origin && strncmp(found->items[i].name, name, length) == 0 &&
            !found->items[i].name[length])
            row = &found->items[i];
    if (!row) {
        found_name *items = st_grow(found->items, &found->capacity, found->count + 1, sizeof *items);
        char *copy = items ? st_strndup(name, length) : NULL;
        if (items)
            found->items = items;
        if (!copy)
            return false;
        row = &items[found->count++];
        *row = (found_name){.name = copy, .origin = origin};
    }
    row->number = row->number || number;
    row->word = row->word || !number;
    return true;
}

// "A=1 B=two": a canonical text.
static bool found_pairs(found_names *found, st_query_origin origin, const char *text)
{
    int64_t number;
    while (*(text += strspn(text, " "))) {
        size_t length = strcspn(text, " "), name = strcspn(text, "= ");
        if (name < length && name) {
            bool is_number = st_query_whole_number(text + name + 1, length - name - 1, &number);
            if (!found_add(found, origin, text, name, is_number))
                return false;
        }
        text += length;
    }
    return true;
}

static st_code read_pairs(st_store *store, const char *sql, const char *family, st_query_origin origin,
                          found_names *found, st_error *error)
{
    st_statement statement;
    st_code code = st_statement_open_once(store, &statement, sql, "reading what there is to ask for", error);
    if (code == ST_OK && family)
        st_bind_text(&statement, family);
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&statement, &row, error);
        if (code == ST_OK && row && !found_pairs(found, origin, st_column_text(&statement, 0)))
            code = no_memory(error);
    }
    st_statement_close(&statement);
    return code;
}

// Names are those of the template, so some configurations from both ends of the alphabet have nearly all.
static st_code read_parameters(st_store *store, const char *family, bool whole, found_names *found, st_error *error)
{
    if (whole)
        return read_pairs(store,
                          family ? "SELECT text FROM configuration WHERE family = ?"
                                 : "SELECT text FROM configuration",
                          family, ST_NAME_PARAMETER, found, error);
    st_code code = read_pairs(store, "SELECT text FROM configuration WHERE family = ? ORDER BY text LIMIT 100",
                              family, ST_NAME_PARAMETER, found, error);
    return code != ST_OK ? code
                         : read_pairs(store,
                                      "SELECT text FROM configuration WHERE family = ?"
                                      " ORDER BY text DESC LIMIT 100",
                                      family, ST_NAME_PARAMETER, found, error);
}

static st_code read_families(st_store *store, bool whole, found_names *found, st_error *error)
{
    if (whole)
        return read_parameters(store, NULL, true, found, error);
    st_statement statement;
    st_code code = st_statement_open_once(store, &statement, "SELECT DISTINCT family FROM session",
                                          "reading what there is to ask for", error);
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&statement, &row, error);
        if (code == ST_OK && row)
            code = read_parameters(store, st_column_text(&statement, 0), false, found, error);
    }
    st_statement_close(&statement);
    return code;
}

static st_code add_found(st_query_names *names, const found_names *found, st_query_origin origin, st_error *error)
{
    st_code code = ST_OK;
    for (size_t i = 0; i < found->count && code == ST_OK; i++) {
        const found_name *row = &found->items[i];
        st_name_kind kind = row->number && row->word ? ST_NAME_MIXED : row->word ? WORD : INTEGER;
        if (row->origin == origin)
            code = add(names, "", row->name, (st_asked_name){.origin = origin}, kind, NULL, -1, error);
        if (row->origin == origin && code == ST_OK)
            code = add(names, prefixes[origin], row->name, (st_asked_name){.origin = origin}, kind, NULL, -1, error);
    }
    return code;
}

static st_code add_facts(st_query_names *names, st_error *error)
{
    st_code code = ST_OK;
    for (size_t i = 0; i < sizeof facts / sizeof *facts && code == ST_OK; i++) {
        st_asked_name item = {.origin = ST_NAME_FACT, .fact = &facts[i]};
        code = add(names, "", facts[i].name, item, facts[i].kind, facts[i].words, -1, error);
        if (code == ST_OK)
            code = add(names, "fact.", facts[i].name, item, facts[i].kind, facts[i].words, -1, error);
    }
    return code;
}

static st_code add_counter(st_query_names *names, const char *name, int64_t metric, st_error *error)
{
    static const char *const spelled[][2] = {{"", NULL}, {"counter.", NULL}, {"pc.", "pc"}, {"range.", "range"}};
    st_code code = ST_OK;
    for (size_t i = 0; i < 4 && code == ST_OK; i++)
        code = add(names, spelled[i][0], name, (st_asked_name){.origin = ST_NAME_COUNTER, .kind = spelled[i][1]},
                   REAL, NULL, metric, error);
    if (code == ST_OK && st_text_starts(name, "stall.")) {
        int64_t *stalls = st_grow(names->stalls, &names->stall_capacity, names->stall_count + 1, sizeof *stalls);
        if (!stalls)
            return no_memory(error);
        names->stalls = stalls;
        stalls[names->stall_count++] = metric;
    }
    return code;
}

static st_code read_counters(st_store *store, st_query_names *names, st_error *error)
{
    st_statement statement;
    st_code code = st_statement_open_once(store, &statement, "SELECT name, metric_key FROM metric ORDER BY name",
                                          "reading what there is to ask for", error);
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&statement, &row, error);
        if (code == ST_OK && row)
            code = add_counter(names, st_column_text(&statement, 0), st_column_int(&statement, 1), error);
    }
    st_statement_close(&statement);
    return code;
}

st_code st_query_names_read(st_store *store, const st_query *query, bool whole, st_query_names *names,
                            st_error *error)
{
    *names = (st_query_names){.whole = whole};
    found_names found = {0};
    st_code code = query->family ? read_parameters(store, query->family, whole, &found, error)
                                 : read_families(store, whole, &found, error);
    if (code == ST_OK)
        code = read_pairs(store,
                          query->family ? "SELECT text FROM problem WHERE family = ?" : "SELECT text FROM problem",
                          query->family, ST_NAME_AXIS, &found, error);
    if (code == ST_OK)
        code = add_found(names, &found, ST_NAME_PARAMETER, error);
    if (code == ST_OK)
        code = add_found(names, &found, ST_NAME_AXIS, error);
    if (code == ST_OK)
        code = add_facts(names, error);
    if (code == ST_OK)
        code = read_counters(store, names, error);
    found_release(&found);
    return code;
}

// --- a name in SQL ---------------------------------------------------------------------------------------------
static void counter_of_kind(const char *kind, int64_t metric, const char *value, st_text *out)
{
    st_text_addf(out,
                 "(SELECT %s FROM profile f JOIN counter v ON v.profile_key = f.profile_key"
                 " WHERE f.candidate_key = r.candidate_key AND f.kind = '%s' AND v.metric_key = %lld)",
                 value, kind, (long long)metric);
}

void st_query_share_sql(const st_query_names *names, st_text *out)
{
    st_text_add(out, "(v.value / (SELECT sum(z.value) FROM counter z WHERE z.profile_key = v.profile_key"
                     " AND z.metric_key IN (");
    for (size_t i = 0; i < names->stall_count; i++)
        st_text_addf(out, "%s%lld", i ? "," : "", (long long)names->stalls[i]);
    st_text_add(out, ")))");
}

// A stall is the share of all samples or, where none were taken, of the warps' latency: the same thing in two ways
// of measuring. Of other counters the exact one is taken.
static void counter_sql(const st_query_names *names, int slot, st_text *out)
{
    const st_asked_name *item = &names->items[slot];
    int64_t metric = names->metrics[slot];
    if (item->kind) {
        counter_of_kind(item->kind, metric, "v.value", out);
        return;
    }
    if (!st_query_name_is_stall(names, slot)) {
        st_text_add(out, "coalesce(");
        counter_of_kind("range", metric, "v.value", out);
        st_text_add(out, ", ");
        counter_of_kind("pc", metric, "v.value", out);
        st_text_add(out, ")");
        return;
    }
    st_text share;
    st_text_init(&share);
    st_query_share_sql(names, &share);
    st_text_add(out, "coalesce(");
    counter_of_kind("pc", metric, "v.value", out);
    st_text_add(out, ", CASE WHEN NOT EXISTS (SELECT 1 FROM profile f WHERE f.candidate_key = r.candidate_key"
                     " AND f.kind = 'pc') THEN ");
    counter_of_kind("range", metric, st_text_string(&share), out);
    st_text_add(out, " END)");
    out->failed = out->failed || share.failed;
    st_text_release(&share);
}

bool st_query_name_is_stall(const st_query_names *names, int slot)
{
    const st_asked_name *item = &names->items[slot];
    return item->origin == ST_NAME_COUNTER && !item->kind && st_text_starts(item->bare, "stall.");
}

// Quoted for SQL; in a path of JSON also within double quotes, which no name holds.
static void quoted(const char *text, st_text *out)
{
    for (; *text; text++)
        st_text_addf(out, *text == '\'' ? "''" : "%c", *text);
}

void st_query_name_sql(const st_query_names *names, st_query_source source, int slot, st_text *out)
{
    const st_asked_name *item = &names->items[slot];
    switch (item->origin) {
    case ST_NAME_PARAMETER:
        st_text_add(out, "json_extract(r.parameters, '$.\"");
        quoted(item->bare, out);
        st_text_add(out, "\"')");
        break;
    case ST_NAME_AXIS:
        st_text_add(out, "simtune_query_axis(r.problem, '");
        quoted(item->bare, out);
        st_text_add(out, "')");
        break;
    case ST_NAME_FACT:
        st_text_add(out, source == ST_FROM_TRIED && item->fact->tried ? item->fact->tried : item->fact->sql);
        break;
    case ST_NAME_COUNTER:
        counter_sql(names, slot, out);
        break;
    }
}

// Winners stand at their finals; rows with all that was tried are not chosen among.
void st_query_name_ranked_sql(const st_query_names *names, st_query_source source, int slot, st_text *out)
{
    static const struct {
        const char *name, *sql;
    } ranked[] = {{"time", ST_COMPARABLE("r")},
                  {"median_ns", ST_COMPARABLE("r")},
                  {"gbs", "(r.bytes / " ST_COMPARABLE("r") ")"},
                  {"of_memory", "(r.bytes / " ST_COMPARABLE("r") " / r.read_gbs)"}};
    const st_asked_name *item = &names->items[slot];
    for (size_t i = 0; i < sizeof ranked / sizeof *ranked; i++)
        if (source == ST_FROM_RESULTS && item->origin == ST_NAME_FACT && strcmp(item->fact->name, ranked[i].name) == 0) {
            st_text_add(out, ranked[i].sql);
            return;
        }
    st_query_name_sql(names, source, slot, out);
}

st_query_place st_query_name_place(const st_query_names *names, int slot)
{
    switch (names->items[slot].origin) {
    case ST_NAME_PARAMETER:
        return ST_OF_CONFIGURATION;
    case ST_NAME_AXIS:
        return ST_OF_PROBLEM;
    case ST_NAME_FACT:
        return names->items[slot].fact->place;
    case ST_NAME_COUNTER:
        break;
    }
    return ST_OF_CANDIDATE;
}

bool st_query_name_is_measured(const st_query_names *names, int slot)
{
    return st_query_name_place(names, slot) == ST_OF_MEASUREMENT;
}
