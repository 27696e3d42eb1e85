// SPDX-License-Identifier: Apache-2.0
// Invariants (tests/unit/tuner/test_space.c cites them):
//  S1  A configuration is in the space exactly when its values are chosen ones and every constraint
//  that
//      is not late holds for it; prunes are constraints unless values of parameters were named.
//  S2  Configurations stand in the order of the file: the first parameter moves slowest.
//  S3  Rows are packed indices into the chosen values; words compare as configurations do, so
//  finding
//      is a binary search.
//  S4  The same template, problem, device and options give the same query and the same rows.
// States: chosen (space_options.c) → constraints collected → query written (space_sql.c) → run
// (space_query.c) → rows kept. Only the last is visible outside.
#include "tuner/space.h"

#include "tuner/base/memory.h"
#include "tuner/space_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_LIMIT 50000000u

// --- constraints
// -----------------------------------------------------------------------------------------------

static st_code add_constraint(st_space *space, const st_expression *expression, bool prune,
                              st_error *error) {
    st_constraint *constraint = &space->constraints[space->constraint_count];
    st_place place = st_expression_place(expression);
    constraint->expression = expression;
    constraint->prune = prune;
    constraint->late = st_expression_is_late(expression, &space->tmpl->scope);
    constraint->label =
        place.line > 0
            ? st_format("%s:%d: %s %s", place.file, place.line, prune ? "prune" : "where",
                        st_expression_text(expression))
            : st_format("%s %s", place.file, st_expression_text(expression));
    if (!constraint->label)
        return st_fail_memory(error, "making the space");
    space->constraint_count++;
    return ST_OK;
}

static st_code collect_constraints(st_space *space, const st_space_options *options,
                                   st_error *error) {
    const st_template *t = space->tmpl;
    // Who names values of parameters wants these, whatever the usual search leaves out.
    size_t prunes = options->set_count || options->vary_count ? 0 : t->prune_count;
    size_t most = t->where_count + prunes + options->where_count;
    space->constraints = st_calloc(most + 1, sizeof *space->constraints);
    space->extra = st_calloc(options->where_count + 1, sizeof(st_expression *));
    if (!space->constraints || !space->extra)
        return st_fail_memory(error, "making the space");
    st_code code = ST_OK;
    for (size_t i = 0; !code && i < t->where_count; i++)
        code = add_constraint(space, t->wheres[i], false, error);
    for (size_t i = 0; !code && i < prunes; i++)
        code = add_constraint(space, t->prunes[i], true, error);
    for (size_t i = 0; !code && i < options->where_count; i++) {
        code = st_expression_parse(options->where[i], (st_place){"--where", 0}, &t->scope,
                                   &space->extra[i], error);
        if (code)
            break;
        space->extra_count++;
        code = add_constraint(space, space->extra[i], false, error);
    }
    return code;
}

// --- rows
// ------------------------------------------------------------------------------------------------------

static int compare_words(const uint64_t *a, const uint64_t *b, size_t words) {
    for (size_t i = 0; i < words; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

// `indices` by table; a word that no parameter lies in stays 0.
static void pack(const st_space *space, const int *indices, uint64_t *row) {
    memset(row, 0, space->row_words * sizeof *row);
    for (size_t i = 0; i < space->tmpl->parameter_count; i++) {
        const st_chosen *chosen = &space->chosen[i];
        if (chosen->table >= 0)
            row[chosen->word] |= (uint64_t)indices[chosen->table] << chosen->shift;
    }
}

static st_code keep_row(void *context, const int *indices, st_error *error) {
    st_space *space = context;
    if (space->row_count >= space->limit)
        return st_fail(error, ST_FAILED, "Narrow it with --set, --vary or --where.",
                       "the space of %s has more than %" PRIu64 " configurations",
                       space->tmpl->family, space->limit);
    uint64_t *rows = st_grow(space->rows, &space->row_capacity,
                             (space->row_count + 1) * space->row_words, sizeof *rows);
    if (!rows)
        return st_fail_memory(error, "keeping the space");
    space->rows = rows;
    uint64_t *row = rows + space->row_count * space->row_words;
    pack(space, indices, row);
    // The loops of a nested-loop join run in this order; S2 and S3 stand on it.
    if (space->row_count && compare_words(row - space->row_words, row, space->row_words) >= 0)
        return st_fail(error, ST_FAILED, "Report this, with the version of SQLite.",
                       "SQLite %s returned configurations out of order", sqlite3_libversion());
    space->row_count++;
    return ST_OK;
}

// --- opening
// -----------------------------------------------------------------------------------------------------

// The default, with --set and --vary applied: what a message about an empty space speaks of.
static void default_of_space(const st_space *space, st_config *out) {
    st_config_default(space->tmpl, out);
    for (size_t i = 0; i < space->tmpl->parameter_count; i++) {
        const st_chosen *chosen = &space->chosen[i];
        bool has = false;
        for (size_t k = 0; k < chosen->count; k++)
            has |= chosen->values[k] == out->value[i];
        if (!has)
            out->value[i] = chosen->values[0];
    }
}

static st_code nothing_allowed(st_space *space, st_error *error) {
    const st_template *t = space->tmpl;
    st_text problem, config;
    st_config standard;
    char remedy[512];
    st_text_init(&problem);
    st_text_init(&config);
    st_problem_text(t, &space->problem, &problem);
    default_of_space(space, &standard);
    st_config_text(t, &standard, &config);
    const char *why = st_space_why_not(space, &standard);
    snprintf(remedy, sizeof remedy, "%.200s is forbidden by %.250s.", st_text_string(&config),
             why ? why : "no single constraint");
    st_code code =
        st_fail(error, ST_NOTHING, remedy,
                "no configuration of %s is allowed for %s on %s (CC %" PRId64 ")", t->family,
                t->axis_count ? st_text_string(&problem) : "its only problem",
                space->has_device && *space->device.name ? space->device.name : "an unknown device",
                space->has_device ? space->device.cc : (int64_t)-1);
    st_text_release(&problem);
    st_text_release(&config);
    return code;
}

st_code st_space_open(const st_template *tmpl, const st_problem *problem,
                      const st_device_facts *device, const st_space_options *options,
                      st_space **out, st_error *error) {
    static const st_space_options none = {0};
    *out = NULL;
    if (!options)
        options = &none;
    st_space *space = st_calloc(1, sizeof *space);
    if (!space)
        return st_fail_memory(error, "making the space");
    space->tmpl = tmpl;
    space->problem = *problem;
    space->has_device = device != NULL;
    if (device)
        space->device = *device;
    space->need_run_to_run =
        options->need_run_to_run &&
        !(options->unless_default_none && st_problem_default_none(tmpl, problem));
    space->limit = options->limit ? options->limit : DEFAULT_LIMIT;
    st_code code = st_space_choose(space, options, error);
    if (!code)
        code = collect_constraints(space, options, error);
    if (!code)
        code = st_space_write_sql(space, error);
    if (!code)
        code = st_space_run_sql(space, keep_row, space, error);
    if (!code && !space->row_count)
        code = nothing_allowed(space, error);
    if (code) {
        st_space_close(space);
        return code;
    }
    *out = space;
    return ST_OK;
}

void st_space_close(st_space *space) {
    if (!space)
        return;
    for (size_t i = 0; i < space->tmpl->parameter_count; i++)
        st_free(space->chosen[i].values);
    for (size_t i = 0; i < space->constraint_count; i++)
        st_free(space->constraints[i].label);
    for (size_t i = 0; i < space->extra_count; i++)
        st_expression_free(space->extra[i]);
    st_free(space->constraints);
    st_free(space->extra);
    st_free(space->rows);
    st_text_release(&space->sql);
    st_text_release(&space->why);
    st_free(space);
}

// --- asking
// ------------------------------------------------------------------------------------------------------

size_t st_space_count(const st_space *space) {
    return space->row_count;
}

double st_space_combinations(const st_space *space) {
    double product = 1;
    for (size_t i = 0; i < space->tmpl->parameter_count; i++)
        product *= (double)space->chosen[i].count;
    return product;
}

void st_space_config(const st_space *space, size_t index, st_config *out) {
    const uint64_t *row = space->rows + index * space->row_words;
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < space->tmpl->parameter_count; i++) {
        const st_chosen *chosen = &space->chosen[i];
        size_t k = 0;
        if (chosen->table >= 0)
            k = row[chosen->word] >> chosen->shift & (((uint64_t)1 << chosen->bits) - 1);
        out->value[i] = chosen->values[k];
    }
}

// False when a value is not a chosen one.
static bool indices_of(const st_space *space, const st_config *config, int *indices) {
    for (size_t i = 0; i < space->tmpl->parameter_count; i++) {
        const st_chosen *chosen = &space->chosen[i];
        size_t k = 0;
        while (k < chosen->count && chosen->values[k] != config->value[i])
            k++;
        if (k == chosen->count)
            return false;
        if (chosen->table >= 0)
            indices[chosen->table] = (int)k;
    }
    return true;
}

int64_t st_space_find(const st_space *space, const st_config *config) {
    int indices[ST_MAX_PARAMETERS] = {0};
    uint64_t row[ST_MAX_PARAMETERS];
    if (!indices_of(space, config, indices))
        return -1;
    pack(space, indices, row);
    size_t low = 0, high = space->row_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_words(space->rows + middle * space->row_words, row, space->row_words);
        if (order == 0)
            return (int64_t)middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

const char *st_space_sql(const st_space *space) {
    return st_text_string(&space->sql);
}

// The label of the first constraint (late or not) that does not hold, NULL when all do.
static st_code first_forbidding(const st_space *space, const st_bindings *bindings, bool late,
                                bool prunes, const char **label, st_error *error) {
    *label = NULL;
    for (size_t i = 0; i < space->constraint_count; i++) {
        const st_constraint *constraint = &space->constraints[i];
        int64_t holds;
        if (constraint->late != late || (constraint->prune && !prunes))
            continue;
        st_code code = st_bindings_evaluate(bindings, constraint->expression, 1, &holds, error);
        if (code)
            return code;
        if (!holds) {
            *label = constraint->label;
            return ST_OK;
        }
    }
    return ST_OK;
}

// The answer of why_not is remembered in the space, which the caller sees as unchanged.
static const char *remember(const st_space *space, const char *answer) {
    st_text *why = (st_text *)&space->why;
    st_text_clear(why);
    st_text_add(why, answer);
    return why->failed ? "a constraint" : st_text_string(why);
}

static const char *why_not(const st_space *space, const st_config *config, bool prunes) {
    int indices[ST_MAX_PARAMETERS];
    st_bindings bindings;
    st_error error;
    const char *label = NULL;
    if (!indices_of(space, config, indices))
        return "--set or --vary";
    if (st_bindings_make(space->tmpl, &space->problem, config,
                         space->has_device ? &space->device : NULL, &bindings, &error) != ST_OK)
        return remember(space, error.what);
    st_code code = first_forbidding(space, &bindings, false, prunes, &label, &error);
    bool deterministic = true;
    if (!code && !label && space->need_run_to_run)
        code = st_bindings_deterministic(&bindings, &deterministic, &error);
    st_bindings_release(&bindings);
    if (code)
        return remember(space, error.what);
    if (label)
        return label;
    return deterministic ? NULL : "--determinism run_to_run (no determinism line grants it)";
}

const char *st_space_why_not(const st_space *space, const st_config *config) {
    return why_not(space, config, true);
}

bool st_space_only_pruned(const st_space *space, const st_config *config) {
    return st_space_find(space, config) < 0 && why_not(space, config, false) == NULL;
}

bool st_space_has_late_where(const st_space *space) {
    for (size_t i = 0; i < space->constraint_count; i++)
        if (space->constraints[i].late)
            return true;
    return false;
}

st_code st_space_late_where(const st_space *space, const st_bindings *bindings,
                            const char **forbidden_by, st_error *error) {
    return first_forbidding(space, bindings, true, true, forbidden_by, error);
}
