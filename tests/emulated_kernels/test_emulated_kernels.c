// SPDX-License-Identifier: Apache-2.0
// Every class of configurations of templates/reduce.cu, computed in the checking mode: each operation of
// each type with every value of every parameter, and every pair of values that the spaces hold, on the
// sizes that break kernels, on and off alignment, on exact and on special data.
//
//     test_emulated_kernels [SLICE SLICES]
//
// takes the kinds (type and operation) number SLICE, SLICE + SLICES, ….
#include "tests/covering/covering.h"
#include "tests/emulated_kernels/kernels.h"
#include "tuner/base/clock.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct totals {
    size_t programs, configurations, runs, failures;
    double compiling, computing;
} totals;

static void report(const kernels *of, size_t config, const kernels_run *run, const char *verdict,
                   const char *detail)
{
    st_text text;
    st_text_init(&text);
    st_problem problem = of->problem;
    st_problem_text(of->tmpl, &problem, &text);
    st_text_add(&text, " | ");
    st_config_text(of->tmpl, &of->configs[config], &text);
    printf("FAILED  %s | n=%llu, %llu elements off alignment, %s data %u: %s: %s\n",
           st_text_string(&text), (unsigned long long)run->n, (unsigned long long)run->offset,
           run->data == KERNELS_EXACT ? "exact" : "special", run->rotation, verdict, detail);
    st_text_release(&text);
}

static st_code run_one(kernels *of, size_t config, const kernels_run *run, totals *all,
                       st_error *error)
{
    char verdict[24], detail[600];
    st_code code = kernels_compute(of, config, run, verdict, detail, error);
    if (code)
        return code;
    all->runs++;
    if (verdict[0]) {
        all->failures++;
        report(of, config, run, verdict, detail);
    }
    return ST_OK;
}

static st_code run_config(kernels *of, size_t config, totals *all, st_error *error)
{
    uint64_t sizes[32];
    size_t count = kernels_sizes(of, config, sizes, 32);
    st_code code = ST_OK;
    for (size_t s = 0; s < count && !code; s++) {
        kernels_run run = {.n = sizes[s], .rotation = (unsigned)(s + config)};
        code = run_one(of, config, &run, all, error);
        run.offset = 1 + s % 3;
        if (!code)
            code = run_one(of, config, &run, all, error);
    }
    for (unsigned rotation = 0; rotation < 4 && !code; rotation++) {
        kernels_run run = {
            .n = 1021, .offset = rotation, .data = KERNELS_SPECIAL, .rotation = rotation};
        code = run_one(of, config, &run, all, error);
    }
    return code;
}

// The configurations of one kind, as one program.
static st_code run_kind(const st_template *tmpl, const covering_choice *choices, size_t count,
                        totals *all, st_error *error)
{
    kernels of;
    st_config *configs = st_calloc(count, sizeof *configs);
    if (!configs)
        return st_fail_memory(error, "computing kernels");
    for (size_t i = 0; i < count; i++)
        configs[i] = choices[i].config;
    double start = st_clock_seconds();
    st_code code = kernels_open(&of, tmpl, &choices[0].problem, configs, count, NULL, error);
    double compiled = st_clock_seconds();
    for (size_t i = 0; i < count && !code; i++)
        code = run_config(&of, i, all, error);
    all->compiling += compiled - start;
    all->computing += st_clock_seconds() - compiled;
    all->programs++;
    all->configurations += count;
    kernels_close(&of);
    st_free(configs);
    return code;
}

static st_code choose(const st_template *tmpl, covering *of, covering_choice **choices,
                      size_t *count, st_error *error)
{
    static const int64_t sizes[] = {1 << 10, 1 << 16, 1 << 20};
    st_device_facts device;
    st_code code = st_emu_operations.facts(0, &device, error);
    if (!code)
        code = covering_open(of, tmpl, COVERING_RUNTIME | COVERING_KINDS, error);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !code; i++)
        code = covering_add(of, &device, sizes[i], error);
    return code ? code : covering_choose(of, choices, count, error);
}

static st_code run_all(size_t slice, size_t slices, totals *all, bool *covered, st_error *error)
{
    st_template *tmpl = NULL;
    covering of = {0};
    covering_choice *choices = NULL;
    size_t count = 0;
    st_code code = st_template_load(SIMTUNE_SOURCE_FOLDER "/templates/reduce.cu", &tmpl, error);
    double start = st_clock_seconds();
    if (!code)
        code = choose(tmpl, &of, &choices, &count, error);
    if (!code)
        printf("%zu configurations of %zu in the spaces; pairs of values covered: %zu of %zu "
               "possible (%.1f s)\n",
               count, of.row_count, of.pairs_covered, of.pairs_possible,
               st_clock_seconds() - start);
    *covered = of.pairs_covered == of.pairs_possible && of.pairs_possible > 0;
    for (size_t i = 0; i < count && !code;) {
        size_t end = i;
        while (end < count && choices[end].kind == choices[i].kind)
            end++;
        if (choices[i].kind % slices == slice)
            code = run_kind(tmpl, &choices[i], end - i, all, error);
        i = end;
    }
    st_free(choices);
    covering_close(&of);
    st_template_free(tmpl);
    return code;
}

int main(int argc, char **argv)
{
    totals all = {0};
    st_error error = {0};
    bool covered = false;
    size_t slice = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
    size_t slices = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
    st_json_setup();
    setvbuf(stdout, NULL, _IOLBF, 0);
    st_code code = run_all(slice, slices ? slices : 1, &all, &covered, &error);
    printf("slice %zu of %zu: %zu configurations in %zu programs (compiled in %.1f s), %zu runs "
           "(%.1f s), %zu wrong\n",
           slice, slices, all.configurations, all.programs, all.compiling, all.runs, all.computing,
           all.failures);
    if (code)
        printf("%s\n%s\n", error.what, error.remedy);
    return code || all.failures || !covered || all.runs == 0;
}
