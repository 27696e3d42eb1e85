// SPDX-License-Identifier: Apache-2.0
// A set of configurations with their positions: finds equal ones in constant time.
#ifndef SIMTUNE_TUNER_CONFIG_INDEX_H
#define SIMTUNE_TUNER_CONFIG_INDEX_H

#include "tuner/template.h"

typedef struct st_config_index {
    const st_template *tmpl;
    st_config *configs; // in the order of adding; owned
    size_t count, capacity;
    size_t *table;      // open addressing: position + 1, 0 empty; owned
    size_t table_size;  // a power of two
} st_config_index;

void st_config_index_init(st_config_index *index, const st_template *tmpl);
void st_config_index_release(st_config_index *index);
// Position of an equal configuration, adding it when there is none (*added, may be NULL). SIZE_MAX: no memory.
size_t st_config_index_add(st_config_index *index, const st_config *config, bool *added);
size_t st_config_index_find(const st_config_index *index, const st_config *config); // SIZE_MAX: none
// The configuration with every runtime parameter at its default: equal ones compile to the same code.
st_config st_config_compiled(const st_template *tmpl, const st_config *config);

#endif
