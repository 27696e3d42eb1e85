// SPDX-License-Identifier: Apache-2.0
// Every class of configurations of a shipped template, computed in the checking mode: a pairwise cover of
// parameters, types and words, on the sizes that break kernels, on and off alignment, on exact and on special
// data, and in place where that is promised. Prints the coverage.
//
//     test_emulated_kernels FAMILY [SLICE SLICES] [--all] [--kinds]
//
// takes the kinds (combinations of type and words) number SLICE, SLICE + SLICES, …, and of each configuration's runs
// every other one; --all: all. The pairs are those of whole spaces; of a space of more than 4000 configurations,
// those of the part that a draw of values leaves. With --kinds, every kind meets every value of every parameter that
// it can; without, each type and each word does.
#include "tests/covering/covering.h"
#include "tests/emulated_kernels/families.h"
#include "tuner/base/clock.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RUNS = 64 };

typedef struct totals {
    size_t programs, configurations, runs, skipped, failures;
    double compiling, computing;
    bool every_run;
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
    st_text_add(&text, " | ");
    kernels_run_text(of, run, &text);
    printf("FAILED  %s: %s: %s\n", st_text_string(&text), verdict, detail);
    st_text_release(&text);
}

static st_code run_one(kernels *of, size_t config, const kernels_run *run, totals *all,
                       st_error *error)
{
    char verdict[24], detail[600];
    st_code code = kernels_compute(of, config, run, verdict, detail, error);
    if (code == ST_NOTHING) { // a constraint
        all->skipped++;
        return ST_OK;
    }
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
    static kernels_run runs[MOST_RUNS];
    size_t count = kernels_runs(of, config, runs, MOST_RUNS);
    st_code code = ST_OK;
    for (size_t i = 0; i < count && !code; i++)
        if (all->every_run || (i + config) % 2 == 0)
            code = run_one(of, config, &runs[i], all, error);
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

static st_code choose(const st_template *tmpl, bool kinds, covering *of, covering_choice **choices,
                      size_t *count, st_error *error)
{
    const family *known = family_of(tmpl->family);
    st_device_facts device;
    if (!known)
        return st_fail(error, ST_FAILED, "add a row to families.c", "unknown family %s",
                       tmpl->family);
    st_code code = st_emu_operations.facts(0, &device, error);
    if (!code)
        code = covering_open(
            of, tmpl, COVERING_RUNTIME | COVERING_SAMPLED | (kinds ? COVERING_KINDS : 0), error);
    for (size_t i = 0; i < known->covered_count && !code; i++) {
        int64_t sizes[ST_MAX_AXES] = {0};
        size_t next = 0;
        for (size_t a = 0; a < tmpl->axis_count; a++)
            if (tmpl->axes[a].kind == ST_AXIS_SIZE && !tmpl->axes[a].data)
                sizes[a] = known->covered[i][next < 2 ? next++ : 1];
        code = covering_add_sizes(of, &device, sizes, error);
    }
    return code ? code : covering_choose(of, choices, count, error);
}

// The choices of the kinds that are this run's; returns how many.
static size_t keep_slice(covering_choice *choices, size_t count, size_t slice, size_t slices)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (choices[i].kind % slices == slice)
            choices[kept++] = choices[i];
    return kept;
}

static st_code run_all(const char *name, size_t slice, size_t slices, bool kinds, totals *all,
                       bool *covered, st_error *error)
{
    st_template *tmpl = NULL;
    covering of = {0};
    covering_choice *choices = NULL;
    size_t count = 0, kept = 0;
    char path[512];
    family_path(name, path);
    st_code code = st_template_load(path, &tmpl, error);
    double start = st_clock_seconds();
    if (!code)
        code = choose(tmpl, kinds, &of, &choices, &count, error);
    if (!code) {
        kept = keep_slice(choices, count, slice, slices);
        printf(
            "%s: %zu configurations cover %zu of %zu possible pairs of values%s; taken here: %zu, "
            "with %zu pairs (chosen from %zu in %.1f s)\n",
            name, count, of.pairs_covered, of.pairs_possible,
            kinds ? ", type and words taken as one" : "", kept, covering_pairs(&of, choices, kept),
            of.row_count, st_clock_seconds() - start);
    }
    *covered = of.pairs_covered == of.pairs_possible && of.pairs_possible > 0;
    for (size_t i = 0; i < kept && !code;) {
        size_t end = i;
        while (end < kept && choices[end].kind == choices[i].kind)
            end++;
        code = run_kind(tmpl, &choices[i], end - i, all, error);
        i = end;
    }
    st_free(choices);
    covering_close(&of);
    st_template_free(tmpl);
    return code;
}

// Takes the word off the end of the arguments.
static bool has_word(char **argv, int *argc, const char *word)
{
    for (int i = 2; i < *argc; i++)
        if (strcmp(argv[i], word) == 0) {
            memmove(&argv[i], &argv[i + 1], sizeof *argv * (size_t)(*argc - i - 1));
            --*argc;
            return true;
        }
    return false;
}

int main(int argc, char **argv)
{
    totals all = {0};
    st_error error = {0};
    bool covered = false, kinds = has_word(argv, &argc, "--kinds");
    all.every_run = has_word(argv, &argc, "--all");
    size_t slice = argc > 3 ? strtoul(argv[2], NULL, 10) : 0;
    size_t slices = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
    if (argc < 2) {
        printf("usage: test_emulated_kernels FAMILY [SLICE SLICES] [--all] [--kinds]\n");
        return 2;
    }
    st_json_setup();
    setvbuf(stdout, NULL, _IOLBF, 0);
    st_code code = run_all(argv[1], slice, slices ? slices : 1, kinds, &all, &covered, &error);
    printf(
        "%s, slice %zu of %zu: %zu configurations in %zu programs (compiled in %.1f s), %zu runs "
        "(%.1f s), %zu not allowed, %zu wrong\n",
        argv[1], slice, slices, all.configurations, all.programs, all.compiling, all.runs,
        all.computing, all.skipped, all.failures);
    if (code)
        printf("%s\n%s\n", error.what, error.remedy);
    return code || all.failures || !covered || all.runs == 0;
}
