// SPDX-License-Identifier: Apache-2.0
// What was measured of like problems, carried over to this one. Invariants: 1. times of different problems are never
// compared: each is taken relative to the best of its own problem; 2. what a record says of configurations that it
// does not have is said by a model fitted on it.
#include "tuner/replay.h"

#include "tuner/base/memory.h"
#include "tuner/search_model.h"

#include <stdlib.h>
#include <string.h>

enum { NEAREST = 3, LEARNT_MOST = 160, LEAST = 4 };

// --- how near two problems are -------------------------------------------------------------------------------------

static const char *value_in(const char *pairs, const char *name, size_t length, size_t *value_length)
{
    for (const char *at = pairs; *at; at += strspn(at, " ")) {
        size_t whole = strcspn(at, " ");
        if (whole > length && at[length] == '=' && strncmp(at, name, length) == 0) {
            *value_length = whole - length - 1;
            return at + length + 1;
        }
        at += whole;
    }
    return NULL;
}

// 0: the same. A size that differs by a factor of 16 counts as much as another word; another device more.
double st_problem_distance(const char *a, const char *b)
{
    double sum = 0;
    for (const char *at = a; *at; at += strspn(at, " ")) {
        size_t whole = strcspn(at, " "), name = strcspn(at, "="), other_length;
        const char *mine = at + name + 1, *other = name < whole ? value_in(b, at, name, &other_length) : NULL;
        size_t length = name < whole ? whole - name - 1 : 0;
        at += whole;
        if (!other) {
            sum += 1;
            continue;
        }
        if (length == other_length && strncmp(mine, other, length) == 0)
            continue;
        char *end, *other_end;
        double x = strtod(mine, &end), y = strtod(other, &other_end);
        bool sizes = end == mine + length && other_end == other + other_length && x > 0 && y > 0;
        sum += sizes ? fmin(fabs(log2(x / y)) / 4, 3) : 1;
    }
    return sum;
}

static double distance_to(const st_experience_of *of, const st_recorded *record)
{
    double device = strcmp(of->device, record->device) == 0                         ? 0
                    : of->cc == record->cc && of->sm_count == record->sm_count      ? 0.2
                    : of->cc == record->cc                                          ? 1
                                                                                    : 2;
    return device + st_problem_distance(of->problem, record->problem);
}

// --- the same configuration in another space -------------------------------------------------------------------------

// Index of a word of `record` among those of `of`, or UINT16_MAX.
static uint16_t word_in(const st_experience_of *of, size_t parameter, const char *word)
{
    for (size_t v = 0; v < of->space->parameters[parameter].value_count; v++)
        if (strcmp(of->words[parameter][v], word) == 0)
            return (uint16_t)v;
    return UINT16_MAX;
}

typedef struct mapping {
    uint16_t *to[ST_SEARCH_PARAMETERS]; // [own parameter][value of the record's]; NULL: the record has it not
    size_t from[ST_SEARCH_PARAMETERS];  // the record's parameter
} mapping;

static void release_mapping(mapping *map)
{
    for (size_t p = 0; p < ST_SEARCH_PARAMETERS; p++)
        st_free(map->to[p]);
}

static st_code make_mapping(const st_experience_of *of, const st_recorded *record, mapping *out, st_error *error)
{
    *out = (mapping){{0}, {0}};
    for (size_t p = 0; p < of->space->parameter_count; p++)
        for (size_t q = 0; q < record->space.parameter_count; q++) {
            const st_search_parameter *other = &record->space.parameters[q];
            if (strcmp(of->space->parameters[p].name, other->name) != 0)
                continue;
            out->from[p] = q;
            out->to[p] = st_malloc((other->value_count + 1) * sizeof *out->to[p]);
            if (!out->to[p])
                return st_fail_memory(error, "using history");
            for (size_t v = 0; v < other->value_count; v++)
                out->to[p][v] = word_in(of, p, record->words[q][v]);
        }
    return ST_OK;
}

// The record's configurations that this space has too: index here and in the record.
typedef struct shared {
    size_t here, there;
    double ns;
} shared;

static int by_ns(const void *a, const void *b)
{
    const shared *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    return (x->here > y->here) - (x->here < y->here);
}

static size_t find_shared(const st_experience_of *of, const st_search *lookup, const st_recorded *record,
                          const mapping *map, shared *out)
{
    size_t count = 0;
    for (size_t i = 0; i < record->space.count; i++) {
        uint16_t values[ST_SEARCH_PARAMETERS];
        bool whole = !isnan(record->ns[i]);
        for (size_t p = 0; p < of->space->parameter_count && whole; p++) {
            const uint16_t *theirs = record->space.values + i * record->space.parameter_count;
            values[p] = map->to[p] ? map->to[p][theirs[map->from[p]]] : 0;
            // A parameter that the record lacks: only where it has but one value here.
            whole = map->to[p] ? values[p] != UINT16_MAX : of->space->parameters[p].value_count == 1;
        }
        size_t here = whole ? st_search_find(lookup, values) : ST_SEARCH_NONE;
        if (here != ST_SEARCH_NONE)
            out[count++] = (shared){here, i, record->ns[i]};
    }
    qsort(out, count, sizeof *out, by_ns);
    return count;
}

// --- what a record says of all configurations --------------------------------------------------------------------------

static st_code learn(const st_features *features, const size_t *rows, const st_recorded *record, const shared *some,
                     size_t count, double *mean, double *deviation, st_error *error)
{
    double z[LEARNT_MOST];
    st_model *model = NULL;
    // The better half of those that have room, of the rest evenly.
    size_t used = count < LEARNT_MOST ? count : LEARNT_MOST, best = count < LEARNT_MOST ? count : LEARNT_MOST / 2;
    st_code code = st_model_open(features, rows, features->count, &model, error);
    for (size_t i = 0; i < used && code == ST_OK; i++) {
        const shared *one = &some[i < best ? i : best + (i - best) * (count - best) / (used - best)];
        code = st_model_add(model, one->here, error);
        z[i] = log(one->ns / record->ns[record->best]);
    }
    if (code == ST_OK)
        code = st_model_fit(model, z, error);
    if (code == ST_OK)
        code = st_model_predict(model, z, mean, deviation, error);
    st_model_close(model);
    for (size_t i = 0; i < count && code == ST_OK; i++) // what was measured says it itself
        mean[some[i].here] = log(some[i].ns / record->ns[record->best]);
    return code;
}

typedef struct candidate {
    const st_recorded *record;
    double distance;
} candidate;

static int by_distance(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->distance != y->distance)
        return x->distance < y->distance ? -1 : 1;
    int order = strcmp(y->record->session, x->record->session); // newer first
    return order ? order : strcmp(x->record->problem, y->record->problem);
}

static st_code blend(const st_experience_of *of, const candidate *near, size_t near_count, double *out, size_t *used,
                     st_error *error)
{
    size_t count = of->space->count;
    st_features features = {0};
    st_search *lookup = NULL;
    st_search_options plain = {.seed = 0};
    double *sum = st_calloc(count + 1, sizeof *sum), *mean = st_malloc((count + 1) * sizeof *mean);
    double *deviation = st_malloc((count + 1) * sizeof *deviation), weights = 0;
    size_t *rows = st_malloc((count + 1) * sizeof *rows);
    st_code code = sum && mean && deviation && rows ? ST_OK : st_fail_memory(error, "using history");
    if (code == ST_OK)
        code = st_features_make(of->space, &features, error);
    if (code == ST_OK)
        code = st_search_open("random", of->space, &plain, &lookup, error);
    for (size_t i = 0; i < count && code == ST_OK; i++)
        rows[i] = i;
    for (size_t n = 0; n < near_count && code == ST_OK && *used < NEAREST; n++) {
        mapping map = {{0}, {0}};
        shared *some = st_malloc((near[n].record->space.count + 1) * sizeof *some);
        code = some ? make_mapping(of, near[n].record, &map, error) : st_fail_memory(error, "using history");
        size_t found = code == ST_OK ? find_shared(of, lookup, near[n].record, &map, some) : 0;
        if (code == ST_OK && found >= LEAST) {
            code = learn(&features, rows, near[n].record, some, found, mean, deviation, error);
            double weight = exp(-near[n].distance);
            for (size_t i = 0; i < count && code == ST_OK; i++)
                sum[i] += weight * fmax(mean[i], 0);
            weights += weight;
            ++*used;
        }
        release_mapping(&map);
        st_free(some);
    }
    for (size_t i = 0; i < count && code == ST_OK && *used; i++)
        out[i] = sum[i] / weights;
    st_search_close(lookup);
    st_features_release(&features);
    st_free(rows);
    st_free(deviation);
    st_free(mean);
    st_free(sum);
    return code;
}

// A replay must not know its own answers, not from a copy of them or from another session of the problem either.
static bool tells_of_itself(const st_experience_of *of, const st_recorded *record)
{
    return of->self && (record == of->self || (strcmp(record->problem, of->problem) == 0 &&
                                               strcmp(record->device, of->self->device) == 0));
}

st_code st_experience(const st_experience_of *of, const st_records *records, double *out, size_t *used,
                      st_error *error)
{
    size_t count = 0;
    *used = 0;
    for (size_t i = 0; i < of->space->count; i++)
        out[i] = NAN;
    candidate *near = st_malloc((records->count + 1) * sizeof *near);
    if (!near)
        return st_fail_memory(error, "using history");
    for (size_t i = 0; i < records->count; i++)
        if (strcmp(records->items[i].family, of->family) == 0 && !tells_of_itself(of, &records->items[i]))
            near[count++] = (candidate){&records->items[i], distance_to(of, &records->items[i])};
    qsort(near, count, sizeof *near, by_distance);
    st_code code = blend(of, near, count, out, used, error);
    st_free(near);
    return code;
}
