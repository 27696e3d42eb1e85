// SPDX-License-Identifier: Apache-2.0
// Private to cupti/: CUPTI's host side, which needs neither GPU nor driver: what a chip can count,
// how many passes that takes, and values out of raw counter data.
#ifndef SIMTUNE_CUPTI_HOST_H
#define SIMTUNE_CUPTI_HOST_H

#include "cupti/cupti_api.h"

// A list of metrics for one chip, made ready: names resolved, scheduled into passes.
typedef struct st_metric_config {
    const st_cupti *api;
    CUpti_Profiler_Host_Object *host;
    const st_metric **metrics; // as asked, `count` of them
    const char **tool_names; // of those the chip has, `tool_count` of them; borrowed from the table
    int *tool_index;         // per metric: index in tool_names, -1 the chip has none
    size_t count, tool_count;
    uint8_t *image; // NULL when tool_count is 0
    size_t image_bytes, passes;
} st_metric_config;

// `config` is filled or left empty. A metric that the chip lacks is no error.
st_code st_metric_config_make(const st_cupti *api, const char *chip,
                              const st_metric *const *metrics, size_t count,
                              st_metric_config *config, st_error *error);
void st_metric_config_release(st_metric_config *config);
bool st_metric_config_is(const st_metric_config *config, const st_metric *const *metrics,
                         size_t count);
// values[m] for each metric of the config, in our units; NaN where there is none.
st_code st_metric_config_values(const st_metric_config *config, const uint8_t *data,
                                size_t data_bytes, size_t range, double *values, st_error *error);

#endif
