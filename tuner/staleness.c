// SPDX-License-Identifier: Apache-2.0
#include "tuner/staleness.h"

#include <math.h>
#include <string.h>

const char *st_staleness_name(st_staleness staleness)
{
    static const char *const names[] = {"current", "better known", "measured now", "another, not faster", "unknown"};
    return names[staleness];
}

static const st_choice *find(const st_template *tmpl, const st_choice *row, const st_choice *known, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (known[i].device_class.cc == row->device_class.cc &&
            known[i].device_class.sm_count == row->device_class.sm_count &&
            memcmp(known[i].problem.value, row->problem.value, tmpl->axis_count * sizeof row->problem.value[0]) == 0)
            return &known[i];
    return NULL;
}

static st_staleness judge(const st_template *tmpl, const st_stale_row *it, double threshold)
{
    if (!it->known)
        return ST_ROW_UNKNOWN;
    bool was_measured = !it->row->predicted && !it->row->emulated;
    if (!was_measured && !it->known->predicted && !it->known->emulated)
        return ST_ROW_MEASURED;
    if (st_config_equal(tmpl, &it->row->config, &it->known->config))
        return ST_ROW_CURRENT;
    // A row without a time cannot be compared: what was measured is the better knowledge.
    if (isnan(it->ratio))
        return isnan(it->known->median_ns) ? ST_ROW_OTHER : ST_ROW_BETTER;
    return it->ratio > 1 + threshold ? ST_ROW_BETTER : ST_ROW_OTHER;
}

void st_stale_rows(const st_template *tmpl, const st_choice *rows, size_t count, const st_choice *known,
                   size_t known_count, double threshold, st_stale_row *out)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = (st_stale_row){.row = &rows[i], .known = find(tmpl, &rows[i], known, known_count), .ratio = NAN};
        if (out[i].known && out[i].known->median_ns > 0)
            out[i].ratio = rows[i].median_ns / out[i].known->median_ns;
        out[i].staleness = judge(tmpl, &out[i], threshold);
    }
}
