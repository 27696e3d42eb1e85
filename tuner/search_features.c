// SPDX-License-Identifier: Apache-2.0
// Configurations as numbers that can be compared: each parameter by itself, the products of those that move one
// thing together (a role; block_size_x and block_size_y), on whose product kernels often depend, and of numbers of
// threads the largest power of two in them, since 96 and 104 are near and not alike. A word on which it depends what
// other parameters can be (METHOD, ALGORITHM) weighs more than one that can be changed by itself (LOAD).
#include "tuner/base/memory.h"
#include "tuner/search_model.h"

#include <ctype.h>
#include <string.h>

// Numbers that span a factor of four or more matter by their ratio.
static double coordinate(const st_search_parameter *parameter, size_t index)
{
    double low = parameter->values[0], high = parameter->values[parameter->value_count - 1];
    double value = parameter->values[index];
    bool ratio = low >= 0 && high >= 4 * (low > 0 ? low : 1);
    return ratio ? log2(low > 0 ? value : value + 1) : value;
}

enum { GROUPS_MOST = 12 };

typedef struct group {
    unsigned char member[ST_SEARCH_PARAMETERS];
    size_t count;
} group;

static bool same_group(const group *a, const group *b)
{
    return memcmp(a->member, b->member, sizeof a->member) == 0;
}

// "block_size_x" and "block_size_y": all but the last letter is the same, which is one of x y z.
static bool same_but_direction(const char *a, const char *b)
{
    size_t length = strlen(a);
    return length > 1 && strlen(b) == length && strncmp(a, b, length - 1) == 0 &&
           strchr("xyz", tolower((unsigned char)a[length - 1])) && strchr("xyz", tolower((unsigned char)b[length - 1]));
}

static void add_group(group *groups, size_t *count, const group *one)
{
    if (one->count < 2 || *count == GROUPS_MOST)
        return;
    for (size_t g = 0; g < *count; g++)
        if (same_group(&groups[g], one))
            return;
    groups[(*count)++] = *one;
}

static size_t find_groups(const st_search_space *space, const bool *moves, group *groups)
{
    size_t count = 0;
    for (int role = 0; role < ST_SEARCH_ROLES; role++) {
        group one = {{0}, 0};
        for (size_t p = 0; p < space->parameter_count; p++)
            if (moves[p] && !space->parameters[p].is_word && space->parameters[p].roles & 1U << role)
                one.count += one.member[p] = 1;
        add_group(groups, &count, &one);
    }
    for (size_t a = 0; a < space->parameter_count; a++) {
        group one = {{0}, 0};
        for (size_t b = 0; b < space->parameter_count; b++)
            if (moves[b] && !space->parameters[b].is_word &&
                same_but_direction(space->parameters[a].name, space->parameters[b].name))
                one.count += one.member[b] = 1;
        add_group(groups, &count, &one);
    }
    return count;
}

// Does it take several values that are no powers of two, the least of which is no small number?
static bool is_aligned(const st_search_parameter *parameter)
{
    size_t odd = 0;
    for (size_t v = 0; v < parameter->value_count && !parameter->is_word; v++) {
        double value = parameter->values[v];
        if (!(value >= 16 && value <= 1e9) || value != floor(value))
            return false;
        odd += ((uint32_t)value & ((uint32_t)value - 1)) != 0;
    }
    return odd >= 2;
}

static float alignment(double value)
{
    uint32_t whole = (uint32_t)value;
    return (float)log2((double)(whole & (~whole + 1)));
}

// To 0 … 1 over the whole space.
static void scale(st_features *features, size_t feature)
{
    float low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < features->count; i++) {
        float x = features->x[i * features->width + feature];
        low = x < low ? x : low;
        high = x > high ? x : high;
    }
    for (size_t i = 0; i < features->count; i++) {
        float *x = &features->x[i * features->width + feature];
        *x = high > low ? (*x - low) / (high - low) : 0;
    }
}

static void fill_roles(const st_search_space *space, const bool *moves, const size_t *feature_of, st_features *out)
{
    for (int role = 0; role < ST_SEARCH_ROLES; role++) {
        size_t members[ST_SEARCH_PARAMETERS], count = 0;
        for (size_t p = 0; p < space->parameter_count; p++)
            if (moves[p] && !space->parameters[p].is_word && space->parameters[p].roles & 1U << role)
                members[count++] = feature_of[p];
        out->has_role[role] = count > 0;
        for (size_t i = 0; i < space->count; i++) {
            float sum = 0;
            for (size_t m = 0; m < count; m++)
                sum += out->x[i * out->width + members[m]];
            out->roles[i * ST_SEARCH_ROLES + (size_t)role] = count ? sum / (float)count : 0;
        }
    }
}

// Which feature is what: of parameter p the one at own[p], of its alignment the one at aligned[p] (0: none), of
// group g the one at first_group + g.
typedef struct layout {
    bool moves[ST_SEARCH_PARAMETERS];
    size_t own[ST_SEARCH_PARAMETERS], aligned[ST_SEARCH_PARAMETERS], first_group, group_count;
    group groups[GROUPS_MOST];
} layout;

static void lay_out(const st_search_space *space, layout *plan, st_features *out)
{
    for (size_t i = 1; i < space->count; i++)
        for (size_t p = 0; p < space->parameter_count; p++)
            plan->moves[p] = plan->moves[p] || space->values[i * space->parameter_count + p] != space->values[p];
    for (size_t p = 0; p < space->parameter_count; p++)
        if (plan->moves[p]) {
            out->is_word[out->width] = space->parameters[p].is_word;
            plan->own[p] = out->width++;
        }
    for (size_t p = 0; p < space->parameter_count && out->width < ST_FEATURES_MOST - GROUPS_MOST; p++)
        if (plan->moves[p] && is_aligned(&space->parameters[p]) && out->width)
            plan->aligned[p] = out->width++;
    plan->first_group = out->width;
    plan->group_count = find_groups(space, plan->moves, plan->groups);
    out->width += plan->group_count;
    out->width += !out->width; // a single configuration
}

static void fill(const st_search_space *space, const layout *plan, size_t i, st_features *out)
{
    float *x = out->x + i * out->width;
    for (size_t p = 0; p < space->parameter_count; p++) {
        const st_search_parameter *parameter = &space->parameters[p];
        size_t value = space->values[i * space->parameter_count + p];
        if (!plan->moves[p])
            continue;
        x[plan->own[p]] = parameter->is_word ? (float)value : (float)coordinate(parameter, value);
        if (parameter->is_word)
            continue;
        if (plan->aligned[p])
            x[plan->aligned[p]] = alignment(parameter->values[value]);
        for (size_t g = 0; g < plan->group_count; g++)
            if (plan->groups[g].member[p])
                x[plan->first_group + g] += (float)log2(fabs(parameter->values[value]) + (parameter->values[0] <= 0));
    }
}

// --- what a word decides -----------------------------------------------------------------------------------------------

enum { DECIDING_MOST = 64 };      // values of a word that can be a choice of algorithms
static const double decision = 6; // weight of a word that decides all others

static double entropy(const size_t *counts, size_t count, size_t total)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        if (counts[i])
            sum -= (double)counts[i] / (double)total * log((double)counts[i] / (double)total);
    return sum;
}

// The share of parameter b's entropy that is gone once a is known, 0 … 1; `table` has room for all pairs of values and
// for the values of both.
static double decided(const st_search_space *space, size_t a, size_t b, size_t *table)
{
    size_t own = space->parameters[a].value_count, other = space->parameters[b].value_count;
    size_t *of_a = table + own * other, *of_b = of_a + own;
    memset(table, 0, (own * other + own + other) * sizeof *table);
    for (size_t i = 0; i < space->count; i++) {
        const uint16_t *values = space->values + i * space->parameter_count;
        table[values[a] * other + values[b]]++;
        of_a[values[a]]++;
        of_b[values[b]]++;
    }
    double alone = entropy(of_b, other, space->count), both = entropy(table, own * other, space->count);
    return alone > 0 ? (entropy(of_a, own, space->count) + alone - both) / alone : 0;
}

static st_code weigh(const st_search_space *space, const layout *plan, st_features *out, st_error *error)
{
    size_t most = 1, moving = 0;
    for (size_t p = 0; p < space->parameter_count; p++) {
        const st_search_parameter *parameter = &space->parameters[p];
        most = parameter->value_count > most ? parameter->value_count : most;
        moving += plan->moves[p];
        out->parameter_weight[p] = 1;
    }
    for (size_t f = 0; f < out->width; f++)
        out->weight[f] = 1;
    size_t *table = st_malloc((DECIDING_MOST * most + DECIDING_MOST + most) * sizeof *table);
    if (!table)
        return st_fail_memory(error, "preparing a model");
    for (size_t a = 0; a < space->parameter_count; a++) {
        if (!plan->moves[a] || !space->parameters[a].is_word || space->parameters[a].value_count > DECIDING_MOST)
            continue;
        for (size_t b = 0; b < space->parameter_count; b++)
            if (b != a && plan->moves[b])
                out->parameter_weight[a] += decision * decided(space, a, b, table) / (double)(moving - 1);
        out->weight[plan->own[a]] = out->parameter_weight[a];
    }
    st_free(table);
    return ST_OK;
}

st_code st_features_make(const st_search_space *space, st_features *out, st_error *error)
{
    *out = (st_features){.count = space->count};
    layout *plan = st_calloc(1, sizeof *plan);
    if (plan)
        lay_out(space, plan, out);
    out->x = plan ? st_calloc(space->count * out->width + 1, sizeof *out->x) : NULL;
    out->roles = plan ? st_calloc(space->count * ST_SEARCH_ROLES + 1, sizeof *out->roles) : NULL;
    if (!out->x || !out->roles) {
        st_features_release(out);
        st_free(plan);
        return st_fail_memory(error, "preparing a model");
    }
    for (size_t i = 0; i < space->count; i++)
        fill(space, plan, i, out);
    for (size_t f = 0; f < out->width; f++)
        if (!out->is_word[f])
            scale(out, f);
    fill_roles(space, plan->moves, plan->own, out);
    st_code code = weigh(space, plan, out, error);
    if (code != ST_OK)
        st_features_release(out);
    st_free(plan);
    return code;
}

void st_features_release(st_features *features)
{
    st_free(features->x);
    st_free(features->roles);
    *features = (st_features){0};
}
