// SPDX-License-Identifier: Apache-2.0
#include "other/simtune_total.h"

const simtune_config *other_config(int cc, int sm_count, size_t n)
{
    return simtune_total_f32_sum_config(cc, sm_count, n);
}
