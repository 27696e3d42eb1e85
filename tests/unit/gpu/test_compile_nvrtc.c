// SPDX-License-Identifier: Apache-2.0
// Proves that the pool makes real code with real NVRTC: a cubin for every arch that it knows,
// names, includes, errors, and a cache that answers with the same bytes. Skipped where there is no
// NVRTC.
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/base/text.h"
#include "tuner/gpu/compile.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char kernels_source[] =
    "#include \"config.cuh\"\n"
    "template <class C> __global__ void add(float *out, const float *in, int n) {\n"
    "    __shared__ float tile[C::BLOCK];\n"
    "    tile[threadIdx.x] = in[threadIdx.x];\n"
    "    __syncthreads();\n"
    "    if (threadIdx.x < n) out[threadIdx.x] = tile[C::BLOCK - 1 - threadIdx.x] + n;\n"
    "}\n";
static const st_source_text config = {
    "config.cuh", "struct c1 { enum { BLOCK = 128 }; };\nstruct c2 { enum { BLOCK = 256 }; };\n"};
static const char *const both[] = {"add<c1>", "add<c2>"};

static char folder[64];

static int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/simtune-test-nvrtc-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    DIR *opened = opendir(folder);
    for (struct dirent *entry; opened && (entry = readdir(opened));)
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(opened), entry->d_name, 0);
    if (opened)
        closedir(opened);
    return rmdir(folder);
}

static void need_nvrtc(void) {
    char version[48];
    st_error error = {0};
    if (st_nvrtc_version(-1, version, NULL, NULL, 0, &error)) {
        assert_int_equal(error.code, ST_NOTHING);
        assert_true(error.remedy[0]);
        print_message("no NVRTC here: %s\n", error.what);
        skip();
    }
}

static st_pool *open_pool(const char *cache) {
    st_pool_options options = {.processes = 2, .cache_folder = cache};
    st_pool *pool = NULL;
    st_error error;
    assert_int_equal(st_pool_open(&options, &pool, &error), ST_OK);
    return pool;
}

static st_compile_job job_for(uint64_t id, const char *arch) {
    st_compile_job job = {.id = id,
                          .backend = "cuda",
                          .arch = arch,
                          .file_name = "add.cu",
                          .source = kernels_source,
                          .includes = &config,
                          .include_count = 1,
                          .kernels = both,
                          .kernel_count = 2};
    return job;
}

static void submit(st_pool *pool, const st_compile_job *job) {
    st_error error = {0};
    if (st_pool_submit(pool, job, &error))
        print_error("%s\n", error.what);
    assert_int_equal(error.code, ST_OK);
}

static st_compiled take(st_pool *pool) {
    st_compiled compiled;
    bool got = false;
    st_error error = {0};
    if (st_pool_next(pool, 240, &compiled, &got, &error))
        print_error("%s\n", error.what);
    assert_int_equal(error.code, ST_OK);
    assert_true(got);
    return compiled;
}

static st_compiled compile_one(const st_compile_job *job, const char *cache) {
    st_pool *pool = open_pool(cache);
    submit(pool, job);
    st_compiled compiled = take(pool);
    st_pool_close(pool);
    return compiled;
}

static void every_known_arch_gives_a_cubin(void **state) {
    (void)state;
    need_nvrtc();
    char version[48], names[64][16];
    int archs[64];
    size_t count = 0;
    assert_int_equal(st_nvrtc_version(-1, version, archs, &count, 64, NULL), ST_OK);
    assert_true(count > 5);
    st_pool *pool = open_pool(NULL);
    for (size_t i = 0; i < count; ++i) {
        snprintf(names[i], sizeof names[i], "sm_%d", archs[i]);
        st_compile_job job = job_for(i, names[i]);
        submit(pool, &job);
    }
    for (size_t i = 0; i < count; ++i) {
        st_compiled compiled = take(pool);
        if (compiled.outcome != ST_COMPILED)
            print_error("%s: %s\n", names[compiled.id], compiled.log);
        assert_int_equal(compiled.outcome, ST_COMPILED);
        assert_true(compiled.image_bytes > 64);
        assert_memory_equal(compiled.image, "\177ELF", 4);
        assert_string_equal(compiled.compiler, version);
        assert_int_equal(compiled.kernel_count, 2);
        assert_string_equal(compiled.lowered_names[0], "_Z3addI2c1EvPfPKfi");
        assert_string_equal(compiled.lowered_names[1], "_Z3addI2c2EvPfPKfi");
        int registers, spills, smem;
        assert_true(st_compile_kernel_facts(compiled.log, compiled.lowered_names[1], &registers,
                                            &spills, &smem));
        assert_in_range(registers, 1, 255);
        assert_int_equal(spills, 0);
        assert_in_range(smem, 1024, 1024 + 1024); // sm_90 and later add the system's own
        st_compiled_release(&compiled);
    }
    st_pool_close(pool);
}

static void an_error_names_the_line(void **state) {
    (void)state;
    need_nvrtc();
    st_compile_job job = job_for(1, "sm_90");
    job.source = "int x;\nthis is no code;\n";
    job.kernel_count = 0;
    st_compiled compiled = compile_one(&job, NULL);
    assert_int_equal(compiled.outcome, ST_COMPILE_ERROR);
    assert_non_null(strstr(compiled.log, "add.cu(2)"));
    st_compiled_release(&compiled);
}

static void wrong_requests_are_errors_of_the_job(void **state) {
    (void)state;
    need_nvrtc();
    static const char *const unknown_kernel[] = {"subtract<c1>"};
    static const char *const unknown_option[] = {"--no-such-option"};
    st_compile_job jobs[3] = {job_for(1, "sm_90"), job_for(2, "sm_90"), job_for(3, "sm_1")};
    jobs[0].kernels = unknown_kernel;
    jobs[0].kernel_count = 1;
    jobs[1].options = unknown_option;
    jobs[1].option_count = 1;
    for (int i = 0; i < 3; ++i) {
        st_compiled compiled = compile_one(&jobs[i], NULL);
        assert_int_equal(compiled.outcome, ST_COMPILE_ERROR);
        assert_true(compiled.log[0]);
        st_compiled_release(&compiled);
    }
}

static void options_of_the_job_win(void **state) {
    (void)state;
    need_nvrtc();
    static const char *const options[] = {"--std=c++17", "-DVALUE=3"};
    static const char *const kernels[] = {"k"};
    st_compile_job job = job_for(1, "sm_80");
    job.source =
        "template <int V> void f() { if constexpr (V == 3) ; else static_assert(V, \"\"); }\n"
        "static_assert(__cplusplus == 201703L, \"\");\n"
        "__global__ void k() { f<VALUE>(); }\n";
    job.options = options;
    job.option_count = 2;
    job.kernels = kernels;
    job.kernel_count = 1;
    st_compiled compiled = compile_one(&job, NULL);
    if (compiled.outcome != ST_COMPILED)
        print_error("%s\n", compiled.log);
    assert_int_equal(compiled.outcome, ST_COMPILED);
    st_compiled_release(&compiled);
}

static void the_cache_answers_with_the_same_bytes(void **state) {
    (void)state;
    need_nvrtc();
    st_compile_job job = job_for(1, "sm_90");
    st_compiled first = compile_one(&job, folder);
    assert_int_equal(first.outcome, ST_COMPILED);
    assert_false(first.from_cache);
    job.id = 77;
    st_compiled second = compile_one(&job, folder);
    assert_true(second.from_cache);
    assert_int_equal(second.id, 77);
    assert_int_equal(second.image_bytes, first.image_bytes);
    assert_memory_equal(second.image, first.image, first.image_bytes);
    assert_string_equal(second.lowered_names[0], first.lowered_names[0]);
    assert_string_equal(second.log, first.log);
    assert_true(second.seconds == first.seconds);
    st_compiled_release(&second);
    st_compile_job other = job_for(2, "sm_80");
    st_compiled third = compile_one(&other, folder);
    assert_false(third.from_cache);
    st_compiled_release(&third);
    st_compiled_release(&first);
}

static void a_damaged_file_is_compiled_anew(void **state) {
    (void)state;
    need_nvrtc();
    st_compile_job job = job_for(1, "sm_90");
    st_compiled compiled = compile_one(&job, folder);
    st_compiled_release(&compiled);
    DIR *opened = opendir(folder);
    assert_non_null(opened);
    int damaged = 0;
    for (struct dirent *entry; (entry = readdir(opened));) {
        if (entry->d_name[0] == '.')
            continue;
        char path[400];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        assert_int_equal(truncate(path, 1000), 0);
        damaged++;
    }
    closedir(opened);
    assert_int_equal(damaged, 1);
    for (int i = 0; i < 2; ++i) {
        compiled = compile_one(&job, folder);
        assert_int_equal(compiled.outcome, ST_COMPILED);
        assert_int_equal(compiled.from_cache, i == 1); // mended by the first
        st_compiled_release(&compiled);
    }
}

static void equal_jobs_are_compiled_once(void **state) {
    (void)state;
    need_nvrtc();
    st_pool *pool = open_pool(folder);
    for (uint64_t id = 0; id < 6; ++id) {
        st_compile_job job = job_for(id, "sm_90");
        submit(pool, &job);
    }
    int compiled_here = 0;
    unsigned seen = 0;
    for (int i = 0; i < 6; ++i) {
        st_compiled compiled = take(pool);
        assert_int_equal(compiled.outcome, ST_COMPILED);
        compiled_here += !compiled.from_cache;
        seen |= 1u << compiled.id;
        st_compiled_release(&compiled);
    }
    assert_int_equal(compiled_here, 1);
    assert_int_equal(seen, 0x3f);
    st_pool_close(pool);
}

static void the_emulated_device_is_served_too(void **state) {
    (void)state;
    static const char *const kernel[] = {"twice"};
    st_compile_job job = job_for(1, "sm_90");
    job.backend = "emu";
    job.source = "__global__ void twice(int *x) { x[threadIdx.x] *= 2; }\n";
    job.kernels = kernel;
    job.kernel_count = 1;
    for (int i = 0; i < 2; ++i) {
        st_compiled compiled = compile_one(&job, folder);
        if (compiled.outcome != ST_COMPILED)
            print_error("%s\n", compiled.log);
        assert_int_equal(compiled.outcome, ST_COMPILED);
        assert_true(compiled.image_bytes > 64);
        assert_true(compiled.compiler[0]);
        assert_int_equal(compiled.from_cache, i == 1);
        st_compiled_release(&compiled);
    }
    job.source = "__global__ void twice(int *x) { x[threadIdx.x] *= ; }\n";
    st_compiled compiled = compile_one(&job, folder);
    assert_int_equal(compiled.outcome, ST_COMPILE_ERROR);
    assert_true(compiled.log[0]);
    st_compiled_release(&compiled);
}

// Faults are armed in the processes of the pool, by the environment that they start with.
static void faults_of_a_process_are_reported(const char *kind, int most) {
    bool hurt = false;
    static const char *const kernel[] = {"k"};
    for (int n = 1; n <= most; ++n) {
        char fault[40];
        snprintf(fault, sizeof fault, "%s:%d", kind, n);
        setenv("SIMTUNE_FAULT", fault, 1);
        st_pool_options options = {.processes = 1};
        st_pool *pool = NULL;
        st_error error = {0};
        st_compiled compiled = {0};
        bool got = false;
        assert_int_equal(st_pool_open(&options, &pool, &error), ST_OK);
        st_compile_job job = job_for(7, "sm_90");
        job.source = "__global__ void k() {}";
        job.kernels = kernel;
        job.kernel_count = 1;
        st_code code = st_pool_submit(pool, &job, &error);
        if (!code)
            code = st_pool_next(pool, 240, &compiled, &got, &error);
        assert_true(code ? error.what[0] != 0 : got); // never silence
        if (got && compiled.outcome == ST_COMPILED) {
            assert_true(compiled.image_bytes > 64);
            assert_int_equal(compiled.kernel_count, 1);
        } else {
            hurt = true;
            assert_true(code || compiled.log[0]);
        }
        if (got)
            st_compiled_release(&compiled);
        st_pool_close(pool);
    }
    unsetenv("SIMTUNE_FAULT");
    assert_true(hurt);
}

static void every_failing_call_of_nvrtc_is_reported(void **state) {
    (void)state;
    need_nvrtc();
    faults_of_a_process_are_reported("nvrtc", 10);
}

static void every_failing_allocation_of_a_process_is_reported(void **state) {
    (void)state;
    need_nvrtc();
    faults_of_a_process_are_reported("allocation", 40);
}

static void every_failing_system_call_of_a_process_is_reported(void **state) {
    (void)state;
    need_nvrtc();
    faults_of_a_process_are_reported("system", 12);
}

static void an_unknown_backend_is_an_error(void **state) {
    (void)state;
    st_pool *pool = open_pool(NULL);
    st_compile_job job = job_for(1, "sm_90");
    job.backend = "abacus";
    submit(pool, &job);
    st_compiled compiled;
    bool got = true;
    st_error error;
    assert_int_equal(st_pool_next(pool, 60, &compiled, &got, &error), ST_USAGE);
    assert_false(got);
    assert_non_null(strstr(error.what, "abacus"));
    assert_int_equal(st_pool_pending(pool), 0);
    st_pool_close(pool);
}

// Run anew with another environment: one process keeps the first NVRTC that it opened.
static int answer_version(const char *driver) {
    char version[48] = "";
    st_error error = {0};
    st_code code = st_nvrtc_version(atoi(driver), version, NULL, NULL, 0, &error);
    printf("%d|%s|%s|%s\n", (int)code, version, error.what, error.remedy);
    return 0;
}

static void ask_version(const char *environment, int driver, char *answer, size_t capacity) {
    char own[400], command[600];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    assert_true(length > 0);
    own[length] = '\0';
    snprintf(command, sizeof command, "env %s '%s' --version-for %d", environment, own, driver);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t got = fread(answer, 1, capacity - 1, pipe);
    answer[got] = '\0';
    assert_int_equal(pclose(pipe), 0);
}

static void what_is_absent_is_named_with_the_remedy(void **state) {
    (void)state;
    char answer[4096];
    ask_version("SIMTUNE_LIBNVRTC=/nonexistent/libnvrtc.so", -1, answer, sizeof answer);
    assert_true(st_text_starts(answer, "3||")); // ST_NOTHING
    assert_non_null(strstr(answer, "/nonexistent/libnvrtc.so"));
    assert_non_null(strstr(answer, "SIMTUNE_LIBNVRTC"));
    ask_version("SIMTUNE_LIBNVRTC=", 11080, answer, sizeof answer);
    assert_true(st_text_starts(answer, "3||"));
    assert_non_null(strstr(answer, "11.8"));
    assert_non_null(strstr(answer, "driver"));
}

int main(int argc, char **argv) {
    st_json_setup();
    if (argc > 2 && strcmp(argv[1], "--version-for") == 0)
        return answer_version(argv[2]);
    if (argc > 1 && strcmp(argv[1], "--internal") == 0)
        return st_compile_child(3);
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(every_known_arch_gives_a_cubin),
        TEST(an_error_names_the_line),
        TEST(wrong_requests_are_errors_of_the_job),
        TEST(options_of_the_job_win),
        TEST(the_cache_answers_with_the_same_bytes),
        TEST(a_damaged_file_is_compiled_anew),
        TEST(equal_jobs_are_compiled_once),
        TEST(the_emulated_device_is_served_too),
        TEST(every_failing_call_of_nvrtc_is_reported),
        TEST(every_failing_allocation_of_a_process_is_reported),
        TEST(every_failing_system_call_of_a_process_is_reported),
        TEST(an_unknown_backend_is_an_error),
        TEST(what_is_absent_is_named_with_the_remedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
