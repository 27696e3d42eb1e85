// SPDX-License-Identifier: Apache-2.0
// Every class of variants of every shipped family compiles with NVRTC for every architecture that it
// knows, without a warning: a pairwise cover of types, words and compiled parameters, as large as the
// architecture's own constraints allow, many configurations a program, through the compile pool. Prints
// the coverage, and what the assembler says of registers and spills.
//
//     test_nvrtc_variants [ARCH …]             only these: 90 100
//     test_nvrtc_variants --every N ARCH …     of each architecture every N-th program, of the next ones others
//     test_nvrtc_variants --family NAME …      one family
#include "tests/covering/covering.h"
#include "tuner/base/clock.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/emit.h"
#include "tuner/gpu/compile.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { MOST_ARCHS = 64, MOST_FAMILIES = 32, SKIPPED = 77, CONFIGS_A_PROGRAM = 12, SHOWN = 2 };

// --- what an architecture allows -----------------------------------------------------------------

// The facts that constraints ask for, of a large device of that compute capability.
static st_device_facts facts_of(int cc)
{
    bool datacenter = cc == 80 || cc == 90 || cc == 100 || cc == 103;
    int threads = cc < 80 ? 1024 : datacenter ? 2048 : 1536;
    st_device_facts made = {
        .name = "any",
        .backend = "cuda",
        .cc = cc,
        .sm_count = 132,
        .warp_size = 32,
        .max_threads_per_block = 1024,
        .threads_per_sm = threads,
        .max_blocks_per_sm = cc < 80      ? 16
                             : datacenter ? 32
                                          : 24,
        .registers_per_sm = 65536,
        .smem_per_block = cc < 80      ? 65536
                          : datacenter ? 166912
                                       : 101376,
        .smem_per_sm = cc < 80      ? 65536
                       : datacenter ? 167936
                                    : 102400,
        .smem_reserved = cc < 80 ? 0 : 1024,
        .l2_bytes = 40 << 20,
        .memory_bytes = (int64_t)16 << 30,
        .memory_clock_khz = 1000000,
        .memory_bus_bits = 256,
        .sm_clock_khz = 1500000,
        .max_cluster = cc >= 90 ? 8 : 1,
    };
    return made;
}

// --- one architecture ----------------------------------------------------------------------------

typedef struct program_work {
    st_program program;
    size_t first; // of its configurations among the choices
} program_work;

typedef struct arch_work {
    const st_template *tmpl;
    st_pool *pool;
    char arch[16];
    covering cover;
    covering_choice *choices;
    size_t choice_count;
    program_work *programs;
    size_t program_count, taken;
    size_t kernels, spilling, warnings, failures, unknown;
    int most_registers, most_spills;
    char worst[400]; // the configuration that spills most
} arch_work;

static st_code choose(arch_work *work, int cc, st_error *error)
{
    static const int64_t sizes[] = {1 << 14, 1 << 20, 1 << 26};
    st_device_facts device = facts_of(cc);
    st_code code = covering_open(&work->cover, work->tmpl, COVERING_SAMPLED, error);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !code; i++)
        code = covering_add(&work->cover, &device, sizes[i], error);
    if (!code)
        code = covering_choose(&work->cover, &work->choices, &work->choice_count, error);
    return code;
}

static st_code submit(arch_work *work, size_t first, size_t end, st_error *error)
{
    st_source_text includes[32];
    st_config configs[CONFIGS_A_PROGRAM];
    size_t id = work->program_count++;
    program_work *of = &work->programs[id];
    of->first = first;
    for (size_t i = first; i < end; i++)
        configs[i - first] = work->choices[i].config;
    st_code code = st_program_make(work->tmpl, &work->choices[first].problem, configs, end - first,
                                   &of->program, error);
    if (code)
        return code;
    size_t count = of->program.includes.count < 32 ? of->program.includes.count : 32;
    for (size_t i = 0; i < count; i++)
        includes[i] = (st_source_text){of->program.includes.items[i].name,
                                       of->program.includes.items[i].text};
    st_compile_job job = {.id = id,
                          .backend = "cuda",
                          .arch = work->arch,
                          .file_name = work->tmpl->path,
                          .source = of->program.source.data,
                          .includes = includes,
                          .include_count = count,
                          .options = (const char *const *)of->program.options,
                          .option_count = of->program.option_count,
                          .kernels = (const char *const *)of->program.kernels,
                          .kernel_count = of->program.kernel_count};
    return st_pool_submit(work->pool, &job, error);
}

static long every = 1, phase; // which programs are compiled

// Where the program that begins with choice `first` ends.
static size_t program_end(const arch_work *work, size_t first)
{
    size_t most = work->tmpl->is_config ? CONFIGS_A_PROGRAM : 1, end = first;
    while (end < work->choice_count && end - first < most && work->choices[end].kind == work->choices[first].kind)
        end++;
    return end;
}

// Of each family and architecture at least one program, however few there are.
static st_code submit_all(arch_work *work, st_error *error)
{
    long number = phase++, programs = 0;
    st_code code = ST_OK;
    work->programs = st_calloc(work->choice_count + 1, sizeof *work->programs);
    if (!work->programs)
        return st_fail_memory(error, "compiling variants");
    for (size_t i = 0; i < work->choice_count; i = program_end(work, i))
        programs++;
    long step = every < programs ? every : programs > 0 ? programs : 1;
    for (size_t i = 0; i < work->choice_count && !code; i = program_end(work, i))
        if (number++ % step == 0)
            code = submit(work, i, program_end(work, i), error);
    return code;
}

static void read_kernel(arch_work *work, const program_work *of, const st_compiled *compiled,
                        size_t k)
{
    int registers, spills, smem;
    for (size_t other = 0; other < k; other++) // launches that share a kernel
        if (strcmp(compiled->lowered_names[other], compiled->lowered_names[k]) == 0)
            return;
    work->kernels++;
    if (!st_compile_kernel_facts(compiled->log, compiled->lowered_names[k], &registers, &spills,
                                 &smem) ||
        spills < 0) {
        work->unknown++;
        return;
    }
    work->most_registers = registers > work->most_registers ? registers : work->most_registers;
    work->spilling += spills > 0;
    if (spills > work->most_spills) {
        work->most_spills = spills;
        const covering_choice *choice = &work->choices[of->first + k / of->program.launch_count];
        st_text text;
        st_text_init(&text);
        st_problem_text(work->tmpl, &choice->problem, &text);
        st_text_add(&text, " ");
        st_config_text(work->tmpl, &choice->config, &text);
        snprintf(work->worst, sizeof work->worst, "%s", st_text_string(&text));
        st_text_release(&text);
    }
}

static void read_result(arch_work *work, const st_compiled *compiled)
{
    const program_work *of = &work->programs[compiled->id];
    const char *warning = compiled->log ? strstr(compiled->log, "warning") : NULL;
    if (compiled->outcome != ST_COMPILED) {
        if (work->failures++ < SHOWN)
            printf("FAILED  %s: %.2000s\n", work->arch, compiled->log);
        return;
    }
    if (warning) {
        while (warning > compiled->log && warning[-1] != '\n')
            warning--;
        if (work->warnings++ < SHOWN)
            printf("WARNING %s: %.600s\n", work->arch, warning);
    }
    for (size_t k = 0; k < compiled->kernel_count; k++)
        read_kernel(work, of, compiled, k);
}

static st_code take_all(arch_work *work, st_error *error)
{
    st_code code = ST_OK;
    while (work->taken < work->program_count && !code) {
        st_compiled compiled;
        bool got = false;
        code = st_pool_next(work->pool, 10, &compiled, &got, error);
        if (code || !got)
            continue;
        read_result(work, &compiled);
        st_compiled_release(&compiled);
        work->taken++;
    }
    return code;
}

static void release(arch_work *work)
{
    for (size_t i = 0; work->programs && i < work->program_count; i++)
        st_program_release(&work->programs[i].program);
    st_free(work->programs);
    st_free(work->choices);
    covering_close(&work->cover);
}

// True when everything compiled without a word, and every pair was covered.
static bool run_arch(const st_template *tmpl, st_pool *pool, int cc)
{
    arch_work work = {.tmpl = tmpl, .pool = pool};
    st_error error = {0};
    double start = st_clock_seconds();
    snprintf(work.arch, sizeof work.arch, "sm_%d", cc);
    st_code code = choose(&work, cc, &error);
    double chosen = st_clock_seconds();
    if (!code)
        code = submit_all(&work, &error);
    if (!code)
        code = take_all(&work, &error);
    if (code)
        printf("FAILED  %s: %s\n", work.arch, error.what);
    printf("%-10s %-7s %8zu %8zu %8zu %5zu/%-5zu %9d %9zu %8d %6.1f %6.1f  %s\n", tmpl->family,
           work.arch, work.choice_count, work.program_count, work.kernels, work.cover.pairs_covered,
           work.cover.pairs_possible, work.most_registers, work.spilling, work.most_spills,
           chosen - start, st_clock_seconds() - chosen, work.worst);
    bool right = !code && !work.failures && !work.warnings && !work.unknown && work.kernels > 0 &&
                 work.cover.pairs_covered == work.cover.pairs_possible;
    if (work.unknown)
        printf("FAILED  %s: the assembler says nothing of %zu kernels\n", work.arch, work.unknown);
    release(&work);
    return right;
}

// --- families ------------------------------------------------------------------------------------

// The files of a folder that hold a family: those that say so. `count` are there already; returns how many then.
static size_t add_families(const char *name, char paths[MOST_FAMILIES][512], size_t count)
{
    DIR *folder = opendir(name);
    for (struct dirent *entry; folder && (entry = readdir(folder)) && count < MOST_FAMILIES;) {
        st_text text;
        st_text_init(&text);
        size_t length = strlen(entry->d_name);
        snprintf(paths[count], sizeof paths[count], "%.300s/%.200s", name, entry->d_name);
        if (length > 3 && strcmp(entry->d_name + length - 3, ".cu") == 0 &&
            st_text_read_file(&text, paths[count], NULL) == ST_OK &&
            strstr(st_text_string(&text), "// simtune: family "))
            count++;
        st_text_release(&text);
    }
    if (folder)
        closedir(folder);
    qsort(paths, count, sizeof paths[0], (int (*)(const void *, const void *))strcmp);
    return count;
}

static bool run_family(const char *path, st_pool *pool, const int *archs, size_t arch_count)
{
    st_template *tmpl = NULL;
    st_error error = {0};
    bool right = true;
    if (st_template_load(path, &tmpl, &error)) {
        printf("FAILED  %s\n", error.what);
        return false;
    }
    for (size_t a = 0; a < arch_count; a++)
        right &= run_arch(tmpl, pool, archs[a]);
    st_template_free(tmpl);
    return right;
}

int main(int argc, char **argv)
{
    static char paths[MOST_FAMILIES][512];
    char version[48];
    int archs[MOST_ARCHS];
    size_t arch_count = 0;
    st_error error = {0};
    st_json_setup();
    if (argc > MOST_ARCHS)
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (st_nvrtc_version(-1, version, archs, &arch_count, MOST_ARCHS, &error)) {
        printf("SKIPPED: NO NVRTC HERE, no variant was compiled (%s)\n%s\n", error.what,
               error.remedy);
        return SKIPPED;
    }
    int first = 1;
    const char *only = ""; // all
    for (; first + 1 < argc && argv[first][0] == '-'; first += 2)
        if (strcmp(argv[first], "--every") == 0)
            every = atol(argv[first + 1]);
        else
            only = argv[first + 1];
    if (every < 1)
        return 2;
    for (int i = first; i < argc; i++)
        archs[i - first] = atoi(argv[i]);
    if (argc > first)
        arch_count = (size_t)(argc - first);
    st_pool *pool = NULL;
    st_pool_options options = {.processes = 2, .program = COMPILE_CHILD};
    if (st_pool_open(&options, &pool, &error)) {
        printf("%s\n", error.what);
        return 1;
    }
    size_t families = add_families(SIMTUNE_SOURCE_FOLDER "/templates", paths, 0);
    families = add_families(SIMTUNE_SOURCE_FOLDER "/templates/examples", paths, families);
    bool right = families > 0 && arch_count > 0;
    char wanted[128];
    snprintf(wanted, sizeof wanted, "/%s%s", only, *only ? ".cu" : "");
    printf("%s, %zu architectures, one of %ld programs\n", version, arch_count, every);
    printf("%-10s %-7s %8s %8s %8s %11s %9s %9s %8s %6s %6s  %s\n", "family", "arch", "configs",
           "programs", "kernels", "pairs", "registers", "spilling", "bytes", "choose", "s",
           "spills most");
    for (size_t f = 0; f < families; f++)
        if (strstr(paths[f], wanted))
            right &= run_family(paths[f], pool, archs, arch_count);
    st_pool_close(pool);
    struct rusage used = {0};
    getrusage(RUSAGE_CHILDREN, &used);
    printf("the compilers took %ld s of processor time\n", (long)used.ru_utime.tv_sec);
    return !right;
}
