// SPDX-License-Identifier: Apache-2.0
// What all strategies share. Invariants: 1. a configuration goes fresh → asked → told and never back; 2. the
// random numbers of a search come from its seed alone; 3. the default is asked first; 4. when a strategy has
// nothing to ask and nothing is open, what is left is asked in random order, so each search ends.
#include "tuner/search_internal.h"

#include "tuner/base/hash.h"
#include "tuner/base/memory.h"

#include <string.h>

const uint16_t *st_search_values(const st_search *search, size_t index)
{
    return search->space->values + index * search->space->parameter_count;
}

static st_code next_random(st_search *search, size_t *out, st_error *error)
{
    (void)error;
    *out = st_search_fresh(search);
    return ST_OK;
}

const st_search_operations st_search_random_operations = {.next = next_random};

// --- finding a configuration by its values ---------------------------------------------------------------------

static size_t slot_of(const st_search *search, const uint16_t *values)
{
    uint64_t hash = 0xcbf29ce484222325U;
    for (size_t p = 0; p < search->space->parameter_count; p++)
        hash = (hash ^ values[p]) * 0x100000001b3U;
    return (size_t)(hash ^ hash >> 29) & (search->table_size - 1);
}

size_t st_search_find(const st_search *search, const uint16_t *values)
{
    size_t bytes = search->space->parameter_count * sizeof *values;
    for (size_t at = slot_of(search, values); search->table[at]; at = (at + 1) & (search->table_size - 1))
        if (memcmp(st_search_values(search, search->table[at] - 1), values, bytes) == 0)
            return search->table[at] - 1;
    return ST_SEARCH_NONE;
}

static st_code index_values(st_search *search, st_error *error)
{
    search->table_size = 16;
    while (search->table_size < 2 * search->space->count)
        search->table_size *= 2;
    search->table = st_calloc(search->table_size, sizeof *search->table);
    if (!search->table)
        return st_fail_memory(error, "searching");
    for (size_t i = 0; i < search->space->count; i++) {
        const uint16_t *values = st_search_values(search, i);
        if (st_search_find(search, values) != ST_SEARCH_NONE)
            return st_fail(error, ST_FAILED, "each configuration may be there once",
                           "configurations %zu and %zu of the space are the same", st_search_find(search, values), i);
        size_t at = slot_of(search, values);
        while (search->table[at])
            at = (at + 1) & (search->table_size - 1);
        search->table[at] = i + 1;
    }
    return ST_OK;
}

size_t st_search_neighbours_most(const st_search *search)
{
    size_t most = 0;
    for (size_t p = 0; p < search->space->parameter_count; p++)
        most += search->space->parameters[p].value_count;
    return most ? most : 1;
}

size_t st_search_neighbours(const st_search *search, size_t index, bool adjacent, size_t *out)
{
    uint16_t values[ST_SEARCH_PARAMETERS];
    size_t count = 0, parameters = search->space->parameter_count;
    memcpy(values, st_search_values(search, index), parameters * sizeof *values);
    for (size_t p = 0; p < parameters; p++) {
        const st_search_parameter *parameter = &search->space->parameters[p];
        uint16_t here = values[p];
        bool steps = adjacent && !parameter->is_word;
        // Downwards, then upwards: of numbers that step, the first allowed one on each side.
        for (size_t below = here; below-- > 0;) {
            values[p] = (uint16_t)below;
            size_t found = st_search_find(search, values);
            if (found != ST_SEARCH_NONE)
                out[count++] = found;
            if (found != ST_SEARCH_NONE && steps)
                break;
        }
        for (size_t above = here + 1U; above < parameter->value_count; above++) {
            values[p] = (uint16_t)above;
            size_t found = st_search_find(search, values);
            if (found != ST_SEARCH_NONE)
                out[count++] = found;
            if (found != ST_SEARCH_NONE && steps)
                break;
        }
        values[p] = here;
    }
    return count;
}

size_t st_search_fresh(st_search *search)
{
    while (search->order_at < search->space->count && search->mark[search->order[search->order_at]] != ST_FRESH)
        search->order_at++;
    return search->order_at < search->space->count ? search->order[search->order_at] : ST_SEARCH_NONE;
}

// --- opening and closing ---------------------------------------------------------------------------------------

static st_code make_room(st_search *search, st_error *error)
{
    size_t count = search->space->count;
    search->mark = st_calloc(count + 1, sizeof *search->mark);
    search->ns = st_malloc((count + 1) * sizeof *search->ns);
    search->facts = st_malloc((count + 1) * sizeof *search->facts);
    search->order = st_malloc((count + 1) * sizeof *search->order);
    if (!search->mark || !search->ns || !search->facts || !search->order)
        return st_fail_memory(error, "searching");
    for (size_t i = 0; i < count; i++) {
        search->ns[i] = NAN;
        search->facts[i] = (st_search_facts){NAN, NAN, NAN, NAN};
        search->order[i] = i;
    }
    st_random_shuffle(&search->random, search->order, count);
    for (size_t i = 0; i < count && search->space->standard != ST_SEARCH_NONE; i++)
        if (search->order[i] == search->space->standard) {
            search->order[i] = search->order[0];
            search->order[0] = search->space->standard;
            break;
        }
    return index_values(search, error);
}

st_code st_search_open(const char *strategy, const st_search_space *space, const st_search_options *options,
                       st_search **out, st_error *error)
{
    *out = NULL;
    const st_strategy_row *row = st_strategy_find(strategy);
    if (!row)
        return st_fail(error, ST_USAGE, st_strategy_names(), "there is no strategy %s", strategy);
    const st_search_operations *found = row->operations;
    if (space->parameter_count > ST_SEARCH_PARAMETERS)
        return st_fail(error, ST_FAILED, "leave parameters out that are not tuned", "a space of %zu parameters, at most %d",
                       space->parameter_count, ST_SEARCH_PARAMETERS);
    st_search *search = st_calloc(1, sizeof *search);
    if (!search)
        return st_fail_memory(error, "searching");
    *search = (st_search){.strategy = found, .space = space, .options = *options, .best = ST_SEARCH_NONE,
                          .told_last = ST_SEARCH_NONE};
    if (!(search->options.noise > 0))
        search->options.noise = 0.01;
    if (!(search->options.limit_ns > 0))
        search->options.limit_ns = NAN;
    st_random_seed(&search->random, options->seed);
    st_code code = make_room(search, error);
    if (code == ST_OK && found->open)
        code = found->open(search, error);
    if (code != ST_OK) {
        st_search_close(search);
        return code;
    }
    *out = search;
    return ST_OK;
}

void st_search_close(st_search *search)
{
    if (!search)
        return;
    if (search->strategy->close && search->state)
        search->strategy->close(search->state);
    st_free(search->mark);
    st_free(search->ns);
    st_free(search->facts);
    st_free(search->order);
    st_free(search->table);
    st_free(search);
}

// --- asking and telling ----------------------------------------------------------------------------------------

static st_code next_of(st_search *search, size_t *out, st_error *error)
{
    *out = search->space->standard;
    if (!search->asked_count && *out != ST_SEARCH_NONE)
        return ST_OK;
    st_code code = search->strategy->next(search, out, error);
    if (code == ST_OK && *out == ST_SEARCH_NONE && search->asked_count == search->told_count)
        *out = st_search_fresh(search);
    return code;
}

st_code st_search_ask(st_search *search, size_t most, size_t *out, size_t *count, st_error *error)
{
    *count = 0;
    while (*count < most && search->asked_count < search->space->count) {
        size_t index;
        st_code code = next_of(search, &index, error);
        if (code != ST_OK)
            return code;
        if (index == ST_SEARCH_NONE)
            break;
        search->mark[index] = ST_ASKED;
        search->asked_count++;
        out[(*count)++] = index;
    }
    return ST_OK;
}

st_code st_search_tell(st_search *search, size_t index, const st_search_answer *answer, st_error *error)
{
    if (index >= search->space->count || search->mark[index] != ST_ASKED)
        return st_fail(error, ST_FAILED, NULL, "configuration %zu was told, but not asked for", index);
    bool failed = !(answer->ns > 0) || isinf(answer->ns);
    search->mark[index] = ST_TOLD;
    search->ns[index] = failed ? NAN : answer->ns;
    search->facts[index] = answer->facts;
    search->told_count++;
    search->failed_count += failed;
    search->told_last = index;
    if (!failed && (search->best == ST_SEARCH_NONE || answer->ns < search->ns[search->best]))
        search->best = index;
    return search->strategy->told ? search->strategy->told(search, index, error) : ST_OK;
}

void st_search_tell_facts(st_search *search, size_t index, const st_search_facts *facts)
{
    if (index < search->space->count && search->mark[index] == ST_ASKED)
        search->facts[index] = *facts;
}

size_t st_search_wants_profile(const st_search *search)
{
    return search->strategy->wants_profile ? search->strategy->wants_profile(search) : ST_SEARCH_NONE;
}

void st_search_tell_profile(st_search *search, size_t index, const st_search_advice *advice)
{
    if (search->strategy->profiled && index < search->space->count && search->mark[index] == ST_TOLD)
        search->strategy->profiled(search, index, advice);
}

size_t st_search_told(const st_search *search)
{
    return search->told_count;
}

size_t st_search_best(const st_search *search)
{
    return search->best;
}

const char *st_search_stops(const st_search *search)
{
    if (search->told_count == search->space->count)
        return "every configuration was tried";
    bool small = search->space->count <= ST_SEARCH_SMALL;
    return search->strategy->stops && !small ? search->strategy->stops(search) : NULL;
}

const char *st_search_says(st_search *search)
{
    return search->strategy->says ? search->strategy->says(search) : "";
}
