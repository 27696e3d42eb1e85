// SPDX-License-Identifier: Apache-2.0
#include "simtune_reduce.h"

const char *choice_for(int cc, int sm_count, size_t n);

const char *choice_for(int cc, int sm_count, size_t n)
{
    const simtune_config *config = simtune_reduce_f32_sum_config(cc, sm_count, n);
    return config ? config->text : "";
}
