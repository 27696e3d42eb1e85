// SPDX-License-Identifier: Apache-2.0
// The query. One table a parameter, joined in the order of the file (CROSS JOIN: SQLite may not
// reorder), each top-level `and` term of each `where` at the first join at which its names are
// bound, weakened forms of it (st_expression_print_sql_bound) at joins before. What is known of the
// problem and the device stands in it as numbers; lets are written out.
//
// An expression that can fail (its divisor can be 0) is not cut apart, because `d != 0 and n % d ==
// 0` must not divide when d is 0: it stands as a whole, its order spelled out, and its terms before
// the first that can fail stand by themselves as well.
#include "tuner/base/memory.h"
#include "tuner/space_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Largest number of nodes that an expression may have with its lets written out.
#define LARGEST_EXPANSION 20000
#define MOST_TERMS 512

typedef struct st_sql_writer {
    st_space *space;
    int64_t *values; // a slot's number, where `levels` is 0 and no definition stands
    st_range *ranges;
    const st_expression **definitions;
    size_t *weights;
    int *levels; // 0: known before the first join; k: bound by table k - 1
    bool *known; // scratch of add_bounds
    st_text conditions[ST_MAX_PARAMETERS + 1]; // by level, "\n  AND …" each
    st_sql_names names;
    st_error *error;
} st_sql_writer;

static void print_name(void *context, int slot, st_text *out) {
    const st_sql_writer *w = context;
    if (w->levels[slot] > 0)
        st_text_addf(out, "p%d.v", w->levels[slot] - 1);
    else
        st_text_addf(out, w->values[slot] < 0 ? "(%" PRId64 ")" : "%" PRId64, w->values[slot]);
}

static int level_of(const st_sql_writer *w, const st_expression *expression) {
    int level = 0;
    for (size_t slot = 0; slot < w->space->tmpl->scope.count; slot++)
        if (w->levels[slot] > level && st_expression_uses(expression, (int)slot))
            level = w->levels[slot];
    return level;
}

// --- what is known of each slot
// -------------------------------------------------------------------------------

static void bind_parameters(st_sql_writer *w) {
    const st_template *t = w->space->tmpl;
    for (size_t i = 0; i < t->parameter_count; i++) {
        const st_chosen *chosen = &w->space->chosen[i];
        int slot = t->parameters[i].slot;
        st_range range = {chosen->values[0], chosen->values[0], false};
        for (size_t k = 1; k < chosen->count; k++) {
            range.low = chosen->values[k] < range.low ? chosen->values[k] : range.low;
            range.high = chosen->values[k] > range.high ? chosen->values[k] : range.high;
        }
        w->values[slot] = chosen->values[0];
        w->ranges[slot] = range;
        w->levels[slot] = chosen->table + 1;
    }
}

static st_code bind_lets(st_sql_writer *w) {
    const st_template *t = w->space->tmpl;
    for (size_t i = 0; i < t->let_count; i++) {
        const st_let *let = &t->lets[i];
        if (let->late)
            continue;
        int slot = let->slot;
        int64_t value;
        w->levels[slot] = level_of(w, let->value);
        w->weights[slot] = st_expression_weight(let->value, w->weights);
        w->ranges[slot] = st_expression_range(let->value, &w->names);
        // One that fails is written out, to fail only where it is reached.
        if (w->levels[slot] == 0 && !w->ranges[slot].may_fail &&
            st_expression_evaluate(let->value, w->values, &value, NULL) == ST_OK) {
            w->values[slot] = value;
            w->ranges[slot] = (st_range){value, value, false};
            w->weights[slot] = 1;
        } else {
            w->definitions[slot] = let->value;
        }
        if (w->weights[slot] > LARGEST_EXPANSION) {
            st_place place = st_expression_place(let->value);
            return st_fail(w->error, ST_USAGE, "Use fewer lets of lets.",
                           "%s:%d: `%s` is too long once the lets in it are written out",
                           place.file ? place.file : "", place.line, let->name);
        }
    }
    return ST_OK;
}

// Everything but parameters and lets has the number that bindings give it.
static st_code bind_all(st_sql_writer *w) {
    const st_space *space = w->space;
    const st_template *t = space->tmpl;
    st_template without_lets = *t; // lets may fail for a configuration that is not allowed
    st_config config;
    st_bindings bindings;
    without_lets.let_count = 0;
    st_config_default(t, &config);
    st_code code = st_bindings_make(&without_lets, &space->problem, &config,
                                    space->has_device ? &space->device : NULL, &bindings, w->error);
    if (code)
        return code;
    for (size_t slot = 0; slot < t->scope.count; slot++) {
        w->values[slot] = bindings.values[slot];
        w->ranges[slot] = (st_range){w->values[slot], w->values[slot], false};
        w->weights[slot] = 1;
    }
    st_bindings_release(&bindings);
    bind_parameters(w);
    return bind_lets(w);
}

// --- conditions
// --------------------------------------------------------------------------------------------------

static void add_condition(st_sql_writer *w, int level, const char *condition) {
    st_text *conditions = &w->conditions[level];
    st_text line;
    st_text_init(&line);
    st_text_addf(&line, "  AND %s\n", condition);
    // The same bound often follows from several constraints.
    if (!strstr(st_text_string(conditions), st_text_string(&line)))
        st_text_add(conditions, st_text_string(&line));
    conditions->failed |= line.failed;
    st_text_release(&line);
}

static bool uses_level(const st_sql_writer *w, const st_expression *e, int level) {
    for (size_t slot = 0; slot < w->space->tmpl->scope.count; slot++) {
        if (w->levels[slot] < level || !st_expression_uses(e, (int)slot))
            continue;
        if (w->definitions[slot] ? uses_level(w, w->definitions[slot], level)
                                 : w->levels[slot] == level)
            return true;
    }
    return false;
}

static st_code check_size(st_sql_writer *w, const st_expression *e) {
    if (st_expression_weight(e, w->weights) <= LARGEST_EXPANSION)
        return ST_OK;
    st_place place = st_expression_place(e);
    return st_fail(w->error, ST_USAGE, "Use fewer lets of lets.",
                   "%s:%d: `%.200s` is too long once the lets in it are written out",
                   place.file ? place.file : "", abs(place.line), st_expression_text(e));
}

static void add_term(st_sql_writer *w, const st_expression *e, int level) {
    st_text text;
    st_text_init(&text);
    st_range range = st_expression_range(e, &w->names);
    bool always = !range.may_fail && (range.low > 0 || range.high < 0);
    if (!always) {
        st_expression_print_sql_with(e, &w->names, &text);
        add_condition(w, level, st_text_string(&text));
    }
    w->conditions[level].failed |= text.failed;
    st_text_release(&text);
}

// Weaker forms of a term that cannot fail, at each join before its own that it has a name of.
static void add_bounds(st_sql_writer *w, const st_expression *e, int level) {
    st_text text;
    st_text_init(&text);
    for (int k = 1; k < level; k++) {
        if (!uses_level(w, e, k))
            continue;
        for (size_t slot = 0; slot < w->space->tmpl->scope.count; slot++)
            w->known[slot] = w->levels[slot] <= k;
        st_text_clear(&text);
        if (st_expression_print_sql_bound(e, &w->names, w->known, &text))
            add_condition(w, k, st_text_string(&text));
        w->conditions[k].failed |= text.failed;
    }
    st_text_release(&text);
}

static st_code add_where(st_sql_writer *w, const st_expression *where) {
    const st_expression *terms[MOST_TERMS];
    st_code code = check_size(w, where);
    if (code)
        return code;
    size_t count = st_expression_conjuncts(where, terms, MOST_TERMS);
    bool whole = count > MOST_TERMS || st_expression_range(where, &w->names).may_fail;
    if (count > MOST_TERMS)
        count = MOST_TERMS;
    for (size_t i = 0; i < count; i++) {
        if (st_expression_range(terms[i], &w->names).may_fail)
            break;
        int level = level_of(w, terms[i]);
        add_term(w, terms[i], level);
        add_bounds(w, terms[i], level);
    }
    if (whole)
        add_term(w, where, level_of(w, where));
    return ST_OK;
}

// One of the determinism lines must grant it.
static st_code add_determinism(st_sql_writer *w) {
    const st_template *t = w->space->tmpl;
    int level = 0;
    st_text text;
    st_text_init(&text);
    st_text_add(&text, "(CASE");
    for (size_t i = 0; i < t->determinism_count; i++) {
        const st_expression *when = t->determinism[i].when;
        st_code code = when ? check_size(w, when) : ST_OK;
        if (code || !when) { // a line without `when` grants it always
            st_text_release(&text);
            return code;
        }
        st_text_add(&text, " WHEN ");
        st_expression_print_sql_with(when, &w->names, &text);
        st_text_add(&text, " THEN 1");
        level = level_of(w, when) > level ? level_of(w, when) : level;
    }
    st_text_add(&text, " ELSE 0 END)");
    add_condition(w, level, t->determinism_count ? st_text_string(&text) : "0");
    w->conditions[level].failed |= text.failed;
    st_text_release(&text);
    return ST_OK;
}

// --- the statement
// -----------------------------------------------------------------------------------------------

static void write_join(const st_sql_writer *w, const char *name, int table, st_text *sql) {
    const char *conditions = st_text_string(&w->conditions[table + 1]);
    st_text_addf(sql, "%s p%d /* %s */\n", table ? "CROSS JOIN" : "FROM", table, name);
    if (*conditions && table)
        st_text_addf(sql, "  ON %s", conditions + strlen("  AND "));
}

static st_code write_statement(st_sql_writer *w) {
    const st_space *space = w->space;
    const st_template *t = space->tmpl;
    st_text *sql = &w->space->sql;
    st_text_add(sql, "SELECT ");
    for (int i = 0; i < space->table_count; i++)
        st_text_addf(sql, "%sp%d.k", i ? ", " : "", i);
    st_text_add(sql, space->table_count ? "\n" : "1\n");
    for (size_t i = 0; i < t->parameter_count; i++)
        if (space->chosen[i].table >= 0)
            write_join(w, t->parameters[i].name, space->chosen[i].table, sql);
    // The first table has no join: its conditions, and those over no table at all, stand at the
    // end.
    st_text_add(sql, "WHERE 1\n");
    st_text_add(sql, st_text_string(&w->conditions[0]));
    if (space->table_count)
        st_text_add(sql, st_text_string(&w->conditions[1]));
    bool failed = sql->failed;
    for (int i = 0; i <= space->table_count; i++)
        failed |= w->conditions[i].failed;
    return failed ? st_fail_memory(w->error, "writing the space's query") : ST_OK;
}

static st_code write_all(st_sql_writer *w) {
    const st_space *space = w->space;
    st_code code = bind_all(w);
    for (size_t i = 0; !code && i < space->constraint_count; i++)
        if (!space->constraints[i].late)
            code = add_where(w, space->constraints[i].expression);
    if (!code && space->need_run_to_run)
        code = add_determinism(w);
    return code ? code : write_statement(w);
}

st_code st_space_write_sql(st_space *space, st_error *error) {
    size_t count = space->tmpl->scope.count + 1;
    st_sql_writer w = {.space = space, .error = error};
    w.values = st_calloc(count, sizeof *w.values);
    w.ranges = st_calloc(count, sizeof *w.ranges);
    w.definitions = st_calloc(count, sizeof *w.definitions);
    w.weights = st_calloc(count, sizeof *w.weights);
    w.levels = st_calloc(count, sizeof *w.levels);
    w.known = st_calloc(count, sizeof *w.known);
    w.names = (st_sql_names){print_name, &w, w.ranges, w.definitions};
    bool whole = w.values && w.ranges && w.definitions && w.weights && w.levels && w.known;
    st_code code = whole ? write_all(&w) : st_fail_memory(error, "writing the space's query");
    for (size_t i = 0; i < sizeof w.conditions / sizeof *w.conditions; i++)
        st_text_release(&w.conditions[i]);
    st_free(w.values);
    st_free(w.ranges);
    st_free((void *)w.definitions);
    st_free(w.weights);
    st_free(w.levels);
    st_free(w.known);
    return code;
}
