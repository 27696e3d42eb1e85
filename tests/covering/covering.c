// SPDX-License-Identifier: Apache-2.0
// Invariants: 1. a row is one configuration of one space, as indices of values; 2. `possible` holds the
// pairs of all rows, `covered` those of the chosen; 3. choosing ends when the two are equal.
#include "tests/covering/covering.h"

#include "tuner/base/memory.h"
#include "tuner/base/statistics.h"

#include <stdlib.h>
#include <string.h>

// Rows compared for one pair; values of a parameter in a part of a space; rows of a space that is not parted.
enum { TRIED = 64, DRAWN = 3, LARGE = 4000, MANY_KINDS = 60 };

typedef struct covering_origin {
    uint32_t space, index;
} covering_origin;

static size_t value_index(const st_value *values, size_t count, int64_t number)
{
    for (size_t i = 0; i < count; i++)
        if (values[i].number == number)
            return i;
    return 0;
}

static void add_dimension(covering *to, int parameter, size_t count)
{
    to->parameters[to->dimensions] = parameter;
    to->counts[to->dimensions++] = count;
}

st_code covering_open(covering *made, const st_template *tmpl, unsigned flags, st_error *error)
{
    memset(made, 0, sizeof *made);
    made->tmpl = tmpl;
    made->kinds = 1;
    made->sampled = (flags & COVERING_SAMPLED) != 0;
    for (size_t a = 0; a < tmpl->axis_count; a++) {
        if (tmpl->axes[a].kind == ST_AXIS_SIZE || tmpl->axes[a].data)
            continue;
        made->kinds *= tmpl->axes[a].value_count;
        if (!(flags & COVERING_KINDS))
            add_dimension(made, -2 - (int)a, tmpl->axes[a].value_count);
    }
    if (flags & COVERING_KINDS)
        add_dimension(made, -1, made->kinds);
    for (size_t p = 0; p < tmpl->parameter_count; p++)
        if (!tmpl->parameters[p].runtime || (flags & COVERING_RUNTIME))
            add_dimension(made, (int)p, tmpl->parameters[p].value_count);
    made->pair_offsets = st_calloc(made->dimensions * made->dimensions, sizeof(size_t));
    if (!made->pair_offsets)
        return st_fail_memory(error, "covering a family");
    for (size_t i = 0; i < made->dimensions; i++)
        for (size_t j = i + 1; j < made->dimensions; j++) {
            made->pair_offsets[i * made->dimensions + j] = made->pair_count;
            made->pair_count += made->counts[i] * made->counts[j];
        }
    made->possible = st_calloc(made->pair_count + 1, 1);
    made->covered = st_calloc(made->pair_count + 1, 1);
    return made->possible && made->covered ? ST_OK : st_fail_memory(error, "covering a family");
}

void covering_close(covering *of)
{
    for (size_t s = 0; s < of->space_count; s++)
        st_space_close(of->spaces[s]);
    st_free(of->spaces);
    st_free(of->problems);
    st_free(of->problem_kinds);
    st_free(of->rows);
    st_free(of->origins);
    st_free(of->pair_offsets);
    st_free(of->possible);
    st_free(of->covered);
    memset(of, 0, sizeof *of);
}

static size_t pair_of(const covering *of, const unsigned char *row, size_t i, size_t j)
{
    return of->pair_offsets[i * of->dimensions + j] + row[i] * of->counts[j] + row[j];
}

// The problem of a kind: its digits are the values of the axes that are no sizes and no property of the data.
static st_problem problem_of(const covering *of, size_t kind, const int64_t *sizes)
{
    st_problem made = {{0}};
    for (size_t a = 0; a < of->tmpl->axis_count; a++) {
        const st_axis *axis = &of->tmpl->axes[a];
        if (axis->kind == ST_AXIS_SIZE || axis->data) {
            made.value[a] = axis->data ? axis->values[0].number : sizes[a];
            continue;
        }
        made.value[a] = axis->values[kind % axis->value_count].number;
        kind /= axis->value_count;
    }
    return made;
}

static st_code add_row(covering *to, size_t kind, uint32_t space, uint32_t index, st_error *error)
{
    unsigned char *rows = st_grow(to->rows, &to->row_capacity, to->row_count + 1, to->dimensions);
    if (rows)
        to->rows = rows;
    covering_origin *origins =
        st_grow(to->origins, &to->origin_capacity, to->row_count + 1, sizeof *origins);
    if (origins)
        to->origins = origins;
    if (!rows || !origins)
        return st_fail_memory(error, "covering a family");
    st_config config;
    st_space_config(to->spaces[space], index, &config);
    unsigned char *row = rows + to->row_count * to->dimensions;
    for (size_t d = 0; d < to->dimensions; d++) {
        int at = to->parameters[d];
        const st_axis *axis = &to->tmpl->axes[at < -1 ? -2 - at : 0];
        const st_parameter *parameter = &to->tmpl->parameters[at < 0 ? 0 : at];
        row[d] = (unsigned char)(at == -1  ? kind
                                 : at < -1 ? value_index(axis->values, axis->value_count,
                                                         to->problems[space].value[-2 - at])
                                           : value_index(parameter->values, parameter->value_count,
                                                         config.value[at]));
    }
    for (size_t i = 0; i < to->dimensions; i++)
        for (size_t j = i + 1; j < to->dimensions; j++) {
            unsigned char *possible = &to->possible[pair_of(to, row, i, j)];
            to->pairs_possible += !*possible;
            *possible = 1;
        }
    origins[to->row_count++] = (covering_origin){space, index};
    return ST_OK;
}

// "BLOCK == 256 or BLOCK == 512 or …": the default, which others often need, and values that are drawn anew for
// each space. NULL: no memory.
static char *draw_values(const st_parameter *parameter, st_random *random)
{
    st_text text;
    st_text_init(&text);
    size_t first = (size_t)st_random_below(random, parameter->value_count);
    for (size_t d = 0; d < DRAWN; d++) {
        size_t at = d == 0 ? parameter->default_index : (first + d * d) % parameter->value_count;
        const st_value *value = &parameter->values[at];
        st_text_addf(&text, "%s%s == ", d ? " or " : "", parameter->name);
        if (value->word)
            st_text_add(&text, value->word);
        else
            st_text_addf(&text, "%lld", (long long)value->number);
    }
    char *made = text.failed ? NULL : st_strdup(st_text_string(&text));
    st_text_release(&text);
    return made;
}

static st_code open_part(covering *to, const st_device_facts *device, const st_problem *problem,
                         st_space **space, st_error *error)
{
    char *rules[ST_MAX_PARAMETERS];
    const st_template *tmpl = to->tmpl;
    st_space_options options = {.where = (const char *const *)rules};
    st_random random;
    st_code code = ST_OK;
    st_random_seed(&random, to->space_count * 31 + 7);
    for (size_t p = 0; p < tmpl->parameter_count && !code; p++) {
        if (tmpl->parameters[p].value_count <= DRAWN + 1)
            continue;
        rules[options.where_count] = draw_values(&tmpl->parameters[p], &random);
        if (rules[options.where_count])
            options.where_count++;
        else
            code = st_fail_memory(error, "covering a family");
    }
    if (!code)
        code = st_space_open(tmpl, problem, device, &options, space, error);
    for (size_t i = 0; i < options.where_count; i++)
        st_free(rules[i]);
    return code;
}

// The whole space; of a large one, where the covering is sampled, the part that a draw of values leaves.
static st_code open_space(covering *to, const st_device_facts *device, const st_problem *problem,
                          st_space **space, st_error *error)
{
    const st_space_options few = {.limit = LARGE};
    st_error too_many = {0};
    if (!to->sampled)
        return st_space_open(to->tmpl, problem, device, NULL, space, error);
    st_code code = st_space_open(to->tmpl, problem, device, &few, space, &too_many);
    return code == ST_OK || code == ST_NOTHING ? code
                                               : open_part(to, device, problem, space, error);
}

static st_code add_space(covering *to, const st_device_facts *device, size_t kind,
                         const int64_t *sizes, st_error *error)
{
    st_problem problem = problem_of(to, kind, sizes);
    size_t capacity = to->space_capacity;
    st_space **spaces = st_grow(to->spaces, &capacity, to->space_count + 1, sizeof(st_space *));
    if (spaces)
        to->spaces = spaces;
    size_t second = to->space_capacity;
    st_problem *problems = st_grow(to->problems, &second, to->space_count + 1, sizeof *problems);
    if (problems)
        to->problems = problems;
    size_t third = to->space_capacity;
    size_t *kinds = st_grow(to->problem_kinds, &third, to->space_count + 1, sizeof *kinds);
    if (kinds)
        to->problem_kinds = kinds;
    if (!spaces || !problems || !kinds)
        return st_fail_memory(error, "covering a family");
    to->space_capacity = capacity;
    st_space *space = NULL;
    st_code code = open_space(to, device, &problem, &space, error);
    if (code == ST_NOTHING)
        return ST_OK;
    if (code)
        return code;
    uint32_t at = (uint32_t)to->space_count++;
    spaces[at] = space;
    problems[at] = problem;
    kinds[at] = kind;
    for (size_t i = 0; i < st_space_count(space) && !code; i++)
        code = add_row(to, kind, at, (uint32_t)i, error);
    return code;
}

st_code covering_add_sizes(covering *to, const st_device_facts *device,
                           const int64_t sizes[ST_MAX_AXES], st_error *error)
{
    st_code code = ST_OK;
    // A space takes tenths of a second: where there are many kinds, each is asked at every third size.
    size_t step = to->sampled && to->kinds > MANY_KINDS ? 3 : 1;
    for (size_t kind = to->times++ % step; kind < to->kinds && !code; kind += step)
        code = add_space(to, device, kind, sizes, error);
    return code;
}

st_code covering_add(covering *to, const st_device_facts *device, int64_t n, st_error *error)
{
    int64_t sizes[ST_MAX_AXES];
    for (size_t a = 0; a < ST_MAX_AXES; a++)
        sizes[a] = n;
    return covering_add_sizes(to, device, sizes, error);
}

static size_t gain_of(const covering *of, const unsigned char *row)
{
    size_t gain = 0;
    for (size_t i = 0; i < of->dimensions; i++)
        for (size_t j = i + 1; j < of->dimensions; j++)
            gain += !of->covered[pair_of(of, row, i, j)];
    return gain;
}

// The row that holds this pair and covers most that is not covered yet, of some that are looked at.
static size_t best_row(const covering *of, size_t i, size_t j, size_t pair, st_random *random)
{
    size_t best = SIZE_MAX, best_gain = 0, tried = 0;
    size_t start = (size_t)st_random_below(random, of->row_count);
    size_t step = of->row_count % 7919 ? 7919 : 7907; // primes: every row, spread over the spaces
    for (size_t k = 0; k < of->row_count && tried < TRIED; k++) {
        size_t at = (start + k * step) % of->row_count;
        const unsigned char *row = of->rows + at * of->dimensions;
        if (pair_of(of, row, i, j) != pair)
            continue;
        size_t gain = gain_of(of, row);
        if (best == SIZE_MAX || gain > best_gain) {
            best = at;
            best_gain = gain;
        }
        tried++;
    }
    return best;
}

static void take_row(covering *of, size_t at, covering_choice *out)
{
    const unsigned char *row = of->rows + at * of->dimensions;
    for (size_t i = 0; i < of->dimensions; i++)
        for (size_t j = i + 1; j < of->dimensions; j++) {
            unsigned char *covered = &of->covered[pair_of(of, row, i, j)];
            of->pairs_covered += !*covered;
            *covered = 1;
        }
    const covering_origin *origin = &of->origins[at];
    out->problem = of->problems[origin->space];
    out->kind = of->problem_kinds[origin->space];
    out->row = at;
    st_space_config(of->spaces[origin->space], origin->index, &out->config);
}

size_t covering_pairs(const covering *of, const covering_choice *choices, size_t count)
{
    unsigned char *seen = st_calloc(of->pair_count + 1, 1);
    size_t pairs = 0;
    for (size_t c = 0; c < count && seen; c++)
        for (size_t i = 0; i < of->dimensions; i++)
            for (size_t j = i + 1; j < of->dimensions; j++) {
                const unsigned char *row = of->rows + choices[c].row * of->dimensions;
                unsigned char *pair = &seen[pair_of(of, row, i, j)];
                pairs += !*pair;
                *pair = 1;
            }
    st_free(seen);
    return seen ? pairs : SIZE_MAX;
}

static int by_kind(const void *a, const void *b)
{
    const covering_choice *x = a, *y = b;
    return x->kind < y->kind ? -1 : x->kind > y->kind;
}

st_code covering_choose(covering *of, covering_choice **out, size_t *count, st_error *error)
{
    size_t capacity = 0;
    st_random random;
    st_random_seed(&random, 1);
    *out = NULL;
    *count = 0;
    for (size_t i = 0; i < of->dimensions; i++)
        for (size_t j = i + 1; j < of->dimensions; j++)
            for (size_t v = 0; v < of->counts[i] * of->counts[j]; v++) {
                size_t pair = of->pair_offsets[i * of->dimensions + j] + v;
                if (!of->possible[pair] || of->covered[pair])
                    continue;
                size_t at = best_row(of, i, j, pair, &random);
                if (at == SIZE_MAX)
                    continue; // the count of pairs covered tells
                covering_choice *more = st_grow(*out, &capacity, *count + 1, sizeof *more);
                if (!more) {
                    st_free(*out);
                    return st_fail_memory(error, "covering a family");
                }
                *out = more;
                take_row(of, at, &more[(*count)++]);
            }
    if (*count)
        qsort(*out, *count, sizeof **out, by_kind);
    return ST_OK;
}
