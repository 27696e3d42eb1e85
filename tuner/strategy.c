// SPDX-License-Identifier: Apache-2.0
// The table of strategies. To add one: a row here, its choosing in run_candidates.c, a line in the manual.
#include "tuner/run.h"

static const st_strategy_row rows[] = {
    {"exhaustive", "every allowed configuration, in a seeded random order, the default first"},
    {"random", "a seeded random sample of the allowed configurations (--budget says how many)"},
};

const st_strategy_row *st_strategies(size_t *count)
{
    *count = sizeof rows / sizeof rows[0];
    return rows;
}
