// SPDX-License-Identifier: Apache-2.0
// The space of one problem on one device: every allowed configuration, enumerated and constrained by
// SQLite (DESIGN.md §5). Promise: the same template, problem, device and options give the same
// configurations in the same order; 10 million combinations cut to 100,000 in under 5 s.
#ifndef SIMTUNE_TUNER_SPACE_H
#define SIMTUNE_TUNER_SPACE_H

#include "tuner/template.h"

typedef struct st_space st_space;

typedef struct st_space_options {
    const char *const *set; size_t set_count;   // "BLOCK=256" or "BLOCK=128,256" or
                                                // "BLOCK=128,256,VEC=4": only these values
    const char *const *vary; size_t vary_count; // "ACC": all parameters not named here or in `set` stay
                                                // at their default
    const char *const *where; size_t where_count; // further constraints
    bool need_run_to_run;    // only configurations that a determinism line grants …
    bool unless_default_none; // … but where the template says `determinism default none` for the problem
    uint64_t limit;          // stop with an error beyond so many configurations (0: 50 million)
} st_space_options;

// `options` may be NULL. The template must outlive the space. ST_NOTHING when no configuration is allowed
// (the remedy says what forbids the default); ST_USAGE for unknown names and values. Without a device
// (NULL) every fact is -1.
st_code st_space_open(const st_template *tmpl, const st_problem *problem,
                      const st_device_facts *device, const st_space_options *options,
                      st_space **out, st_error *error);
void st_space_close(st_space *space);
size_t st_space_count(const st_space *space);
double st_space_combinations(const st_space *space); // before constraints
void st_space_config(const st_space *space, size_t index, st_config *out); // index < count
// Index of a configuration, or -1 when it is not allowed.
int64_t st_space_find(const st_space *space, const st_config *config);
// True when nothing but a `prune` keeps the configuration out. (With --set or --vary none is asked.)
bool st_space_only_pruned(const st_space *space, const st_config *config);
// The query that made it, for --dry-run --verbose and tests. Valid as long as the space.
const char *st_space_sql(const st_space *space);
// Which `where` first forbids `config` (for messages), as FILE:LINE and text; NULL when none does.
const char *st_space_why_not(const st_space *space, const st_config *config);

// A `where` that uses BLOCKS_PER_SM is not in the query: the tuning run asks here once a candidate is
// compiled and its late values are bound. *forbidden_by is as of st_space_why_not, NULL when allowed.
bool st_space_has_late_where(const st_space *space);
st_code st_space_late_where(const st_space *space, const st_bindings *bindings,
                            const char **forbidden_by, st_error *error);

#endif
