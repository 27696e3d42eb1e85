// SPDX-License-Identifier: Apache-2.0
// The choice of a header, as C and C++ without CUDA see it. Compiled as C11 and as C++11 with warnings as
// errors, and once more with SIMTUNE_NO_FALLBACK. Headers: CMakeLists.txt says which rows they hold.
#include "simtune_axpy.h"
#include "simtune_narrow.h"
#include "simtune_total.h"

#include <stdio.h>
#include <string.h>

static int failures;

static void expect(const char *what, const simtune_config *got, const char *words, int exact)
{
    if (words == NULL ? got == NULL : got != NULL && strstr(got->text, words) != NULL && got->exact == exact)
        return;
    failures++;
    printf("%s: got %s (exact %d), expected %s (exact %d)\n", what, got ? got->text : "nothing",
           got ? got->exact : -1, words ? words : "nothing", exact);
}

static void expect_true(const char *what, int holds)
{
    if (!holds) {
        failures++;
        printf("%s does not hold\n", what);
    }
}

/* The recorded size that is nearest on a log scale; the boundary is the geometric mean. */
static void check_sizes(void)
{
    expect("0", simtune_total_f32_sum_config(90, 132, 0), "FINISH=cluster", 1);
    expect("8191", simtune_total_f32_sum_config(90, 132, 8191), "FINISH=cluster", 1);
    expect("8192", simtune_total_f32_sum_config(90, 132, 8192), "FINISH=dependent", 1);
    expect("65536", simtune_total_f32_sum_config(90, 132, 65536), "FINISH=dependent", 1);
    expect("262143", simtune_total_f32_sum_config(90, 132, 262143), "FINISH=dependent", 1);
    expect("262144", simtune_total_f32_sum_config(90, 132, 262144), "FINISH=ticket", 1);
    expect("all", simtune_total_f32_sum_config(90, 132, ~(size_t)0), "FINISH=ticket", 1);
    expect("sm_80", simtune_total_f32_sum_config(80, 108, 1000), "FINISH=two_pass WAVES=4", 1);
}

static void check_classes(void)
{
#ifdef SIMTUNE_NO_FALLBACK
    expect("unknown SM count", simtune_total_f32_sum_config(90, 114, 1000), NULL, 0);
    expect("unknown sm", simtune_total_f32_sum_config(86, 82, 1000), NULL, 0);
#else
    const simtune_config *last;
    expect("unknown SM count", simtune_total_f32_sum_config(90, 114, 1000), "FINISH=cluster", 0);
    expect("same generation", simtune_total_f32_sum_config(86, 82, 1000), "FINISH=two_pass WAVES=4", 0);
    expect("nearest older", simtune_total_f32_sum_config(100, 148, 1000), "FINISH=cluster", 0);
    expect("newer", simtune_total_f32_sum_config(75, 40, 1000), "FINISH=two_pass WAVES=4", 0);
    /* Its nearest class has a cluster for small sizes, which sm_80 cannot hold: another row of it. */
    expect("another row", simtune_narrow_f32_sum_config(80, 108, 1000), "FINISH=ticket", 0);
    /* Nothing but clusters: the template's default. */
    last = simtune_narrow_f32_max_config(80, 108, 1000);
    expect("default", last, "BLOCK=128 ITEMS=1 FINISH=two_pass WAVES=1", 0);
    expect_true("the default has no class", last != NULL && last->cc == 0 && last->predicted == 1);
    /* Too much shared memory for sm_75 (64 KiB), enough on sm_80. */
    expect("memory", simtune_narrow_i32_sum_config(75, 40, 1000), "BLOCK=128 ITEMS=1 FINISH=two_pass", 0);
    expect("memory", simtune_narrow_i32_sum_config(80, 108, 1000), "BLOCK=1024 ITEMS=16", 0);
#endif
}

static void check_constants(void)
{
    const simtune_config *config = simtune_total_f32_sum_config(90, 132, 65536);
    expect_true("constant", SIMTUNE_TOTAL_F32_SUM_SM90_132_N65536_BLOCK == 256);
    expect_true("value", config && config->value[SIMTUNE_TOTAL_BLOCK] == 256);
    expect_true("word", config && config->value[SIMTUNE_TOTAL_FINISH] == SIMTUNE_TOTAL_WORD_dependent);
    expect_true("word constant",
                SIMTUNE_TOTAL_F32_SUM_SM90_132_N1024_FINISH == SIMTUNE_TOTAL_WORD_cluster);
    expect_true("count", config && config->value_count == 4);
    expect_true("facts", config && config->n == 65536 && config->sm_count == 132 && !config->predicted &&
                             config->blocks_per_sm == 2 && config->median_ns > 0);
    expect_true("problem", config && strcmp(config->problem, "T=f32 op=sum n=65536") == 0);
}

/* A kernel that is not written for every size is run only where its constraints hold for the size asked for. */
static void check_sizes_that_must_hold(void)
{
    expect("multiple", simtune_axpy_config(90, 132, 1024), "BLOCK=256 ITEMS=2 ORDER=chunked", 1);
    expect("no multiple", simtune_axpy_config(90, 132, 1023), NULL, 0);
}

int main(void)
{
    check_sizes();
    check_classes();
    check_constants();
    check_sizes_that_must_hold();
    return failures != 0;
}
