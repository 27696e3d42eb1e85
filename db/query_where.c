// SPDX-License-Identifier: Apache-2.0
// Conditions. Invariants: 1. a condition that parses becomes SQL that prepares and runs (tests/fuzz/
// fuzz_where.c); 2. of its top-level `and` terms those that use the names of one row alone are evaluated once
// for each such row, before anything is joined; 3. an unknown name is told only after all rows that may bring
// one were looked at.
#include "db/query_internal.h"

#include "tuner/base/memory.h"

#include <stdio.h>
#include <string.h>

void st_question_release(st_question *question)
{
    st_expression_free(question->where);
    for (size_t i = 0; i < question->aim_count; i++)
        st_expression_free(question->aims[i].expression);
    st_query_names_release(&question->names);
    st_free(question->chosen);
    memset(question, 0, sizeof *question);
}

// --- what goes together ----------------------------------------------------------------------------------------
static const char *const groups[] = {"device", "driver", "size", "type"};

static st_code check(const st_query *query, st_error *error)
{
    bool known = !query->per;
    for (size_t i = 0; i < sizeof groups / sizeof *groups && !known; i++)
        known = strcmp(groups[i], query->per) == 0;
    if (!known)
        return st_fail(error, ST_USAGE, "it is device, driver, size or type", "there is no --per %s", query->per);
    if (query->best && (query->top || query->pareto))
        return st_fail(error, ST_USAGE, "leave --best away: winners are one of each problem",
                       "--best and --%s together", query->top ? "top" : "pareto");
    if (query->top && query->pareto)
        return st_fail(error, ST_USAGE, "ask for one or the other", "--top and --pareto together");
    if (query->outcomes && (query->best || query->top || query->per || query->pareto))
        return st_fail(error, ST_USAGE, "leave one of them away", "--%s chooses among times, and outcomes have none",
                       query->best  ? "best"
                       : query->top ? "top"
                       : query->per ? "per"
                                    : "pareto");
    return ST_OK;
}

// --- reading ---------------------------------------------------------------------------------------------------
static void list_names(const st_query *query, const st_query_names *names)
{
    static const char *const kinds[] = {"parameter", "axis", "fact", "counter"};
    for (size_t i = 0; i < names->count && query->unknown; i++)
        if (!names->items[i].hidden)
            query->unknown(query->unknown_context, kinds[names->items[i].origin], names->items[i].name);
}

static st_code parse_aim(st_question *question, const char *text, size_t length, bool *unknown, st_error *error)
{
    static const char spaces[] = " \t\n";
    size_t skipped = strspn(text, spaces);
    skipped = skipped < length ? skipped : length;
    text += skipped;
    length -= skipped;
    bool more = length > 4 && strncmp(text, "max:", 4) == 0, less = length > 4 && strncmp(text, "min:", 4) == 0;
    if (question->aim_count == ST_QUERY_AIMS)
        return st_fail(error, ST_USAGE, "weigh fewer things against each other", "--pareto has more than %d terms",
                       ST_QUERY_AIMS);
    char *term = st_strndup(text + (more || less ? 4 : 0), length - (more || less ? 4 : 0));
    if (!term)
        return st_fail_memory(error, "asking the store");
    st_query_aim *aim = &question->aims[question->aim_count];
    st_code code = !term[strspn(term, spaces)]
                       ? st_fail(error, ST_USAGE, "as in --pareto time,registers", "--pareto has an empty term")
                       : st_expression_parse_query(term, (st_place){"--pareto", 0}, &question->names.scope, unknown,
                                                   &aim->expression, error);
    st_free(term);
    aim->more = more;
    question->aim_count += code == ST_OK;
    return code;
}

// Terms stand between the commas that are in no parentheses and no quotes.
static st_code parse_aims(st_question *question, bool *unknown, st_error *error)
{
    st_code code = ST_OK;
    int nested = 0;
    char quote = 0;
    for (const char *start = question->query->pareto, *at = start; code == ST_OK; at++) {
        if (quote ? *at == quote : (*at == '"' || *at == '\''))
            quote = quote ? 0 : *at;
        else if (!quote)
            nested += (*at == '(') - (*at == ')');
        if (*at && (*at != ',' || nested > 0 || quote))
            continue;
        code = parse_aim(question, start, (size_t)(at - start), unknown, error);
        start = at + 1;
        if (!*at)
            break;
    }
    return code;
}

static st_code parse(st_question *question, bool *unknown, st_error *error)
{
    const st_query *query = question->query;
    *unknown = false;
    st_code code = ST_OK;
    if (query->where)
        code = st_expression_parse_query(query->where, (st_place){"--where", 0}, &question->names.scope, unknown,
                                         &question->where, error);
    return code == ST_OK && query->pareto ? parse_aims(question, unknown, error) : code;
}

static bool uses(const st_question *question, int slot)
{
    if (question->where && st_expression_uses(question->where, slot))
        return true;
    for (size_t i = 0; i < question->aim_count; i++)
        if (st_expression_uses(question->aims[i].expression, slot))
            return true;
    return false;
}

static st_query_source source_of(const st_question *question)
{
    const st_query *query = question->query;
    bool chooses = query->top || query->pareto;
    if (query->outcomes)
        return ST_FROM_CANDIDATES;
    if (query->best || (query->per && !chooses))
        return ST_FROM_WINNERS;
    int outcome = question->where ? st_scope_find(&question->names.scope, "fact.outcome") : -1;
    for (size_t i = 0; outcome >= 0 && !chooses && i < question->names.count; i++)
        if (question->names.items[i].fact == question->names.items[outcome].fact && uses(question, (int)i))
            return ST_FROM_TRIED;
    return ST_FROM_RESULTS;
}

static st_code add_shown(st_question *question, st_error *error)
{
    for (size_t i = 0; i < question->names.count; i++) {
        const char *name = question->names.items[i].name;
        if (!uses(question, (int)i))
            continue;
        if (question->source == ST_FROM_CANDIDATES && st_query_name_is_measured(&question->names, (int)i))
            return st_fail(error, ST_USAGE, "write the outcome into --where instead: \"outcome == correct and …\"",
                           "--where: `%s` is of measurements, and --outcome and --failures list candidates without",
                           name);
        if (question->shown_count < sizeof question->shown / sizeof *question->shown) {
            question->values[question->value_count++].name = name;
            question->shown[question->shown_count++] = (int)i;
        }
    }
    for (size_t i = 0; i < question->aim_count; i++)
        if (st_expression_name(question->aims[i].expression) < 0)
            question->values[question->value_count++].name = st_expression_text(question->aims[i].expression);
    return ST_OK;
}

// Reads the names and parses; `whole` as st_query_names_read says.
static st_code read_with(st_store *store, st_question *question, bool whole, bool *unknown, st_error *error)
{
    const st_query *query = question->query;
    st_question_release(question);
    question->query = query;
    st_code code = st_query_names_read(store, query, whole, &question->names, error);
    *unknown = false;
    return code == ST_OK ? parse(question, unknown, error) : code;
}

// Counts no further than the limit.
static st_code measure(st_store *store, st_question *question, st_error *error)
{
    enum { WIDE = 50000 };
    const st_query *query = question->query;
    if (!question->where || query->session || question->source == ST_FROM_WINNERS)
        return ST_OK;
    st_statement statement;
    int64_t count = 0;
    st_code code = st_statement_open(store, &statement,
                                     "SELECT count(*) FROM (SELECT 1 FROM problem p CROSS JOIN candidate c"
                                     " ON c.problem_key = p.problem_key WHERE (?1 IS NULL OR p.family = ?1)"
                                     " AND (?2 IS NULL OR p.type = ?2) AND (?3 IS NULL OR p.operation = ?3)"
                                     " AND (?4 IS NULL OR p.n = ?4) LIMIT ?5)",
                                     "asking it", error);
    if (code == ST_OK) {
        st_bind_text(&statement, query->family);
        st_bind_text(&statement, query->type);
        st_bind_text(&statement, query->operation);
        st_bind_known_int(&statement, query->n >= 0 ? query->n : -1);
        st_bind_int(&statement, WIDE);
        code = st_statement_number(&statement, &count, NULL, error);
    }
    st_statement_close(&statement);
    question->wide = count == WIDE;
    return code;
}

st_code st_question_read(st_store *store, const st_query *query, st_question *question, st_error *error)
{
    memset(question, 0, sizeof *question);
    question->query = query;
    bool unknown = false;
    st_code code = check(query, error);
    if (code == ST_OK)
        code = st_query_functions(store, error);
    if (code == ST_OK && (query->where || query->pareto)) {
        code = read_with(store, question, false, &unknown, error);
        if (code == ST_USAGE) // a name or a word may be of a configuration that was not looked at
            code = read_with(store, question, true, &unknown, error);
    }
    if (code == ST_USAGE && unknown)
        list_names(query, &question->names);
    if (code == ST_OK) {
        st_lower_case(query->session, question->session, sizeof question->session);
        question->source = source_of(question);
        code = add_shown(question, error);
    }
    return code == ST_OK ? measure(store, question, error) : code;
}

// --- SQL -------------------------------------------------------------------------------------------------------
static void print_name(void *context, int slot, st_text *out)
{
    const st_question *question = context;
    st_query_name_sql(&question->names, question->source, slot, out);
}

static void print_ranked_name(void *context, int slot, st_text *out)
{
    const st_question *question = context;
    st_query_name_ranked_sql(&question->names, question->source, slot, out);
}

static void print_aim(const st_question *question, const st_query_aim *aim, st_text *sql)
{
    st_expression_print_query(aim->expression, print_ranked_name, (void *)(uintptr_t)question, sql);
}

static void print(const st_question *question, const st_expression *expression, st_text *sql)
{
    st_expression_print_query(expression, print_name, (void *)(uintptr_t)question, sql);
}

static void print_counter_value(void *context, int slot, st_text *out)
{
    (void)context, (void)slot;
    st_text_add(out, "v.value");
}

// The slot of the one counter that a comparison is about, or -1.
static int only_counter(const st_question *question, const st_expression *term)
{
    int found = -1;
    if (!st_expression_is_strict(term))
        return -1;
    for (size_t i = 0; i < question->names.count; i++)
        if (st_expression_uses(term, (int)i)) {
            if (found >= 0 || question->names.items[i].origin != ST_NAME_COUNTER)
                return -1;
            found = (int)i;
        }
    return found;
}

static void print_counter_share(void *context, int slot, st_text *out)
{
    (void)slot;
    st_query_share_sql(context, out);
}

// The rows of one counter lie side by side: where most candidates would be looked at, those are read instead. What is
// found is what the comparison holds for by candidate (query_names.c says which kind of profile counts): a comparison
// with what is unknown holds for nobody, so candidates without the counter need not be looked at.
static void add_by_counter(const st_question *question, const st_expression *term, int slot, st_text *sql)
{
    const st_query_names *names = &question->names;
    long long metric = (long long)names->metrics[slot];
    const char *kind = names->items[slot].kind;
    bool stall = st_query_name_is_stall(names, slot);
    st_text_addf(sql,
                 " AND r.candidate_key IN (SELECT f.candidate_key FROM counter v CROSS JOIN profile f"
                 " WHERE v.metric_key = %lld AND f.profile_key = v.profile_key AND %s",
                 metric, stall ? "CASE f.kind WHEN 'pc' THEN " : "");
    st_expression_print_query(term, print_counter_value, NULL, sql);
    if (stall) {
        st_text_add(sql, " ELSE NOT EXISTS (SELECT 1 FROM profile o WHERE o.candidate_key = f.candidate_key"
                         " AND o.kind = 'pc') AND ");
        st_expression_print_query(term, print_counter_share, (void *)(uintptr_t)names, sql);
        st_text_add(sql, " END)");
    } else if (kind) {
        st_text_addf(sql, " AND f.kind = '%s')", kind);
    } else {
        st_text_addf(sql, " AND (f.kind = 'range' OR NOT EXISTS (SELECT 1 FROM profile o JOIN counter q"
                          " ON q.profile_key = o.profile_key WHERE o.candidate_key = f.candidate_key"
                          " AND o.kind = 'range' AND q.metric_key = %lld AND q.value IS NOT NULL)))", metric);
    }
}

// The row that all names of a term belong to, or ST_OF_CANDIDATE for those that want the joined row.
static st_query_place place_of(const st_question *question, const st_expression *term)
{
    st_query_place place = ST_OF_CANDIDATE;
    bool any = false;
    for (size_t i = 0; i < question->names.count; i++) {
        if (!st_expression_uses(term, (int)i))
            continue;
        st_query_place one = st_query_name_place(&question->names, (int)i);
        if (any && one != place)
            return ST_OF_CANDIDATE;
        place = one;
        any = true;
    }
    return place;
}

enum { TERMS = 256 }; // more than the nodes of an expression allow

static void add_terms(const st_question *question, const st_expression *const *terms, size_t count,
                      st_query_place place, st_text *sql)
{
    // The same columns as the views have, by the same alias.
    static const struct {
        const char *key, *from, *family;
    } rows[] = {
        [ST_OF_CONFIGURATION] = {"configuration_key",
                                 "(SELECT configuration_key, family, text AS configuration, parameters"
                                 " FROM configuration) r",
                                 " AND r.family = :family"},
        [ST_OF_PROBLEM] = {"problem_key",
                           "(SELECT problem_key, family, text AS problem, type, operation, n FROM problem) r",
                           " AND r.family = :family"},
        [ST_OF_SESSION] = {"session_key", "simtune_sessions r", " AND r.family = :family"},
    };
    bool apart = place == ST_OF_CONFIGURATION || place == ST_OF_PROBLEM || place == ST_OF_SESSION;
    bool open = false;
    for (size_t i = 0; i < count; i++) {
        st_query_place own = place_of(question, terms[i]);
        bool own_apart = own == ST_OF_CONFIGURATION || own == ST_OF_PROBLEM || own == ST_OF_SESSION;
        if (apart ? own != place : own_apart)
            continue;
        if (apart && !open)
            st_text_addf(sql, " AND r.%s IN (SELECT r.%s FROM %s WHERE 1%s", rows[place].key, rows[place].key,
                         rows[place].from, question->query->family ? rows[place].family : "");
        open = apart;
        int counter = apart || !question->wide ? -1 : only_counter(question, terms[i]);
        if (counter >= 0) {
            add_by_counter(question, terms[i], counter, sql);
            continue;
        }
        st_text_add(sql, " AND ");
        print(question, terms[i], sql);
    }
    st_text_add(sql, open ? ")" : "");
}

void st_question_where_sql(const st_question *question, st_text *sql)
{
    const st_expression *terms[TERMS];
    if (!question->where)
        return;
    size_t count = st_expression_conjuncts(question->where, terms, TERMS);
    count = count < TERMS ? count : TERMS;
    add_terms(question, terms, count, ST_OF_SESSION, sql);
    add_terms(question, terms, count, ST_OF_PROBLEM, sql);
    add_terms(question, terms, count, ST_OF_CONFIGURATION, sql);
    add_terms(question, terms, count, ST_OF_CANDIDATE, sql);
}

void st_question_values_sql(const st_question *question, st_text *sql)
{
    for (size_t i = 0; i < question->shown_count; i++) {
        st_text_add(sql, ", ");
        st_query_name_sql(&question->names, question->source, question->shown[i], sql);
    }
    for (size_t i = 0; i < question->aim_count; i++)
        if (st_expression_name(question->aims[i].expression) < 0) {
            st_text_add(sql, ", ");
            print_aim(question, &question->aims[i], sql);
        }
}

void st_question_aims_sql(const st_question *question, st_text *sql)
{
    for (size_t i = 0; i < question->aim_count; i++) {
        st_text_add(sql, ", ");
        print_aim(question, &question->aims[i], sql);
        st_text_addf(sql, " AS aim%zu", i);
    }
}
