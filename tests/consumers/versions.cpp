// SPDX-License-Identifier: Apache-2.0
// Two versions of one header in one file and in two files of one program: each answers for itself.
#include "simtune_total.h"
#define SIMTUNE_NAMESPACE_ONLY
#include "other/simtune_total.h"
#include "simtune_total.h"

#include <cstring>

const simtune_config *other_config(int cc, int sm_count, size_t n); // versions_other.cpp

int main()
{
    const simtune_config *mine = simtune_total_f32_sum_config(90, 132, 1024);
    const simtune_config *theirs = SIMTUNE_OTHER::simtune_total_f32_sum_config(90, 132, 1024);
    const simtune_config *far = other_config(90, 132, 1024);
    return !(std::strstr(mine->text, "BLOCK=256") && std::strstr(theirs->text, "BLOCK=64") &&
             std::strstr(far->text, "BLOCK=64"));
}
