// SPDX-License-Identifier: Apache-2.0
// Invariant: the table is at most half full, so that a probe ends.
#include "tuner/config_index.h"

#include "tuner/base/memory.h"

void st_config_index_init(st_config_index *index, const st_template *tmpl)
{
    *index = (st_config_index){.tmpl = tmpl};
}

void st_config_index_release(st_config_index *index)
{
    st_free(index->configs);
    st_free(index->table);
    *index = (st_config_index){.tmpl = index->tmpl};
}

static uint64_t hash_of(const st_config_index *index, const st_config *config)
{
    uint64_t hash = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < index->tmpl->parameter_count; i++) {
        hash ^= (uint64_t)config->value[i];
        hash *= 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    return hash;
}

// The place of an equal configuration, or the empty one where it belongs.
static size_t probe(const st_config_index *index, const st_config *config)
{
    size_t at = (size_t)hash_of(index, config) & (index->table_size - 1);
    while (index->table[at] &&
           !st_config_equal(index->tmpl, &index->configs[index->table[at] - 1], config))
        at = (at + 1) & (index->table_size - 1);
    return at;
}

static bool enlarge(st_config_index *index)
{
    size_t size = index->table_size ? 2 * index->table_size : 256;
    size_t *table = st_calloc(size, sizeof *table);
    if (!table)
        return false;
    st_free(index->table);
    index->table = table;
    index->table_size = size;
    for (size_t i = 0; i < index->count; i++)
        table[probe(index, &index->configs[i])] = i + 1;
    return true;
}

size_t st_config_index_find(const st_config_index *index, const st_config *config)
{
    if (!index->table_size)
        return SIZE_MAX;
    size_t found = index->table[probe(index, config)];
    return found ? found - 1 : SIZE_MAX;
}

size_t st_config_index_add(st_config_index *index, const st_config *config, bool *added)
{
    if (added)
        *added = false;
    size_t found = st_config_index_find(index, config);
    if (found != SIZE_MAX)
        return found;
    if (2 * (index->count + 1) > index->table_size && !enlarge(index))
        return SIZE_MAX;
    st_config *configs = st_grow(index->configs, &index->capacity, index->count + 1, sizeof *configs);
    if (!configs)
        return SIZE_MAX;
    index->configs = configs;
    configs[index->count] = *config;
    index->table[probe(index, config)] = index->count + 1;
    if (added)
        *added = true;
    return index->count++;
}

st_config st_config_compiled(const st_template *tmpl, const st_config *config)
{
    st_config key = *config;
    for (size_t i = 0; i < tmpl->parameter_count; i++)
        if (tmpl->parameters[i].runtime)
            key.value[i] = tmpl->parameters[i].values[tmpl->parameters[i].default_index].number;
    return key;
}
