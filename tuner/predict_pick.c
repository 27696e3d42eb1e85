// SPDX-License-Identifier: Apache-2.0
// Which of the predicted is taken. A model is wrong most where it knows least: a configuration that stands alone at the
// top is more likely a mistake of the model than a discovery. So of those that it cannot tell apart the one is taken
// that has most in common with the others.
#include "tuner/predict_internal.h"

#include <math.h>

// Predicted times within so much of the best are not told apart: by the model alone; by another device's times.
static const double near_by_model = 0.10, near_by_device = 0.02;

static size_t differences(const st_template *tmpl, const st_config *a, const st_config *b)
{
    size_t count = 0;
    for (size_t i = 0; i < tmpl->parameter_count; i++)
        count += a->value[i] != b->value[i];
    return count;
}

static bool is_simpler(const st_template *tmpl, const predict_entry *a, const predict_entry *b)
{
    if (a->registers != b->registers)
        return a->registers < b->registers;
    for (size_t i = 0; i < tmpl->parameter_count; i++)
        if (a->config->value[i] != b->config->value[i])
            return a->config->value[i] < b->config->value[i];
    return false;
}

size_t predict_pick(const st_template *tmpl, const predict_entry *entries, size_t count, bool ranked)
{
    double least = NAN, near = ranked ? near_by_device : near_by_model;
    size_t best = SIZE_MAX, best_distance = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(entries[i].ns) && !(entries[i].ns >= least))
            least = entries[i].ns;
    for (size_t i = 0; i < count; i++) {
        if (!(entries[i].ns <= least * (1 + near)))
            continue;
        size_t distance = 0;
        for (size_t k = 0; k < count; k++)
            if (entries[k].ns <= least * (1 + near))
                distance += differences(tmpl, entries[i].config, entries[k].config);
        if (best == SIZE_MAX || distance < best_distance ||
            (distance == best_distance && is_simpler(tmpl, &entries[i], &entries[best]))) {
            best = i;
            best_distance = distance;
        }
    }
    return best;
}
