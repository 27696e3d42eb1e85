// SPDX-License-Identifier: Apache-2.0
// Proves that the compile pool loses no job and no more than one: crashes, hangs, garbage and early
// deaths of its processes (this very program plays them), that what is cached is what was compiled,
// and that damage in the cache is noticed. With NVRTC present, real code is made for every arch
// that it knows.
#include "tuner/base/clock.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/gpu/compile.h"
#include "tuner/gpu/compile_internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

// --- the child's part: what it does stands in the source that it is asked to compile
// ---------------

static void say(const json_t *json, const void *blob, size_t length) {
    st_error error;
    if (st_channel_send(3, json, blob, length, &error))
        _exit(9);
}

static void say_started(uint64_t id) {
    json_t *json = json_pack("{s:s, s:I}", "type", "started", "id", (json_int_t)id);
    say(json, NULL, 0);
    json_decref(json);
}

static void say_compiled(const st_compile_job *job, int outcome, size_t image_bytes) {
    char *names[8] = {"lowered"};
    st_compiled compiled = {.id = job->id, .seconds = 0.01, .kernel_count = job->kernel_count};
    compiled.outcome = outcome;
    compiled.lowered_names = names;
    for (size_t i = 0; i < job->kernel_count; ++i)
        names[i] = (char *)(uintptr_t)job->kernels[i];
    compiled.image = calloc(1, image_bytes + 1);
    memcpy(compiled.image, "image", image_bytes < 5 ? image_bytes : 5);
    compiled.image_bytes = image_bytes;
    compiled.log = outcome == ST_COMPILED ? "" : "k.cu(1): error: no such thing";
    strcpy(compiled.compiler, "fake 1");
    json_t *json = NULL;
    st_text blob;
    st_text_init(&blob);
    if (st_compiled_encode(&compiled, &json, &blob, NULL))
        _exit(9);
    say(json, blob.data, blob.length);
    json_decref(json);
    st_text_release(&blob);
    free(compiled.image);
}

// Makes FILE; true when this call made it.
static bool first_time(const char *file) {
    FILE *made = fopen(file, "wx");
    if (made)
        fclose(made);
    return made != NULL;
}

static void play(const st_compile_job *job) {
    const char *act = job->source;
    if (strcmp(act, "die unstarted") == 0)
        _exit(7);
    if (st_text_starts(act, "die unstarted once ") && first_time(act + 19))
        _exit(7);
    if (strcmp(act, "hang unstarted") == 0)
        pause();
    if (strcmp(act, "answer unstarted") == 0)
        say_compiled(job, ST_COMPILED, 5);
    say_started(job->id);
    if (strcmp(act, "crash") == 0) {
        fputs("about to fall over\n", stderr);
        fflush(stderr);
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    if (strcmp(act, "hang") == 0)
        for (;;)
            pause();
    if (strcmp(act, "garbage") == 0 &&
        write(3, "not a frame at all, but long enough to look at", 46))
        for (;;)
            pause();
    if (strcmp(act, "wrong id") == 0) {
        st_compile_job other = *job;
        other.id++;
        say_compiled(&other, ST_COMPILED, 5);
    }
    if (strcmp(act, "wrong count") == 0) {
        st_compile_job other = *job;
        other.kernel_count = 0;
        say_compiled(&other, ST_COMPILED, 5);
    }
    if (strcmp(act, "failed") == 0) {
        json_t *json =
            json_pack("{s:s, s:I, s:i, s:s, s:s}", "type", "failed", "id", (json_int_t)job->id,
                      "code", ST_NOTHING, "what", "no compiler", "remedy", "get one");
        say(json, NULL, 0);
        json_decref(json);
        return;
    }
    if (strcmp(act, "error") == 0)
        say_compiled(job, ST_COMPILE_ERROR, 0);
    else if (strcmp(act, "huge") == 0)
        say_compiled(job, ST_COMPILED, 3 << 20);
    else
        say_compiled(job, ST_COMPILED, 5);
}

static int act_as_child(void) {
    for (;;) {
        st_frame frame;
        st_received_job received;
        if (st_channel_receive(3, -1, &frame, NULL) != ST_RECEIVED)
            return 0;
        if (st_job_decode(&frame, &received, NULL))
            return 8;
        if (strcmp(received.job.backend, "fake") != 0)
            return 8;
        play(&received.job);
        st_received_job_release(&received);
    }
}

// --- the parent's part
// -----------------------------------------------------------------------------

static char folder[64];

static void remove_files_in(const char *path) {
    DIR *opened = opendir(path);
    for (struct dirent *entry; opened && (entry = readdir(opened));)
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(opened), entry->d_name, 0);
    if (opened)
        closedir(opened);
}

static int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/simtune-test-pool-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    remove_files_in(folder);
    return rmdir(folder);
}

static st_pool *open_pool(int processes, double first_limit, const char *cache) {
    st_pool_options options = {
        .processes = processes, .first_limit = first_limit, .cache_folder = cache};
    st_pool *pool = NULL;
    st_error error;
    assert_int_equal(st_pool_open(&options, &pool, &error), ST_OK);
    return pool;
}

static void submit_fake(st_pool *pool, uint64_t id, const char *act) {
    static const char *const kernels[] = {"k<1>"};
    st_compile_job job = {.id = id,
                          .backend = "fake",
                          .arch = "sm_90",
                          .file_name = "k.cu",
                          .source = act,
                          .kernels = kernels,
                          .kernel_count = 1};
    st_error error;
    assert_int_equal(st_pool_submit(pool, &job, &error), ST_OK);
}

static st_compiled take(st_pool *pool) {
    st_compiled compiled;
    bool got = false;
    st_error error = {0};
    st_code code = st_pool_next(pool, 120, &compiled, &got, &error);
    if (code)
        print_error("%s\n", error.what);
    assert_int_equal(code, ST_OK);
    assert_true(got);
    assert_non_null(compiled.log);
    return compiled;
}

static void takes_results_of_all_jobs(void **state) {
    (void)state;
    st_pool *pool = open_pool(3, 60, NULL);
    assert_int_equal(st_pool_processes(pool), 3);
    bool seen[40] = {false};
    for (uint64_t id = 0; id < 40; ++id)
        submit_fake(pool, id, id % 4 == 0 ? "huge" : "fine");
    assert_int_equal(st_pool_pending(pool), 40);
    for (int i = 0; i < 40; ++i) {
        st_compiled compiled = take(pool);
        assert_true(compiled.id < 40);
        assert_false(seen[compiled.id]);
        seen[compiled.id] = true;
        assert_int_equal(compiled.outcome, ST_COMPILED);
        assert_int_equal(compiled.image_bytes, compiled.id % 4 == 0 ? 3 << 20 : 5);
        assert_memory_equal(compiled.image, "image", 5);
        assert_int_equal(compiled.kernel_count, 1);
        assert_string_equal(compiled.lowered_names[0], "k<1>");
        assert_string_equal(compiled.compiler, "fake 1");
        assert_false(compiled.from_cache);
        st_compiled_release(&compiled);
    }
    assert_int_equal(st_pool_pending(pool), 0);
    st_pool_close(pool);
}

static void next_without_jobs_returns_at_once(void **state) {
    (void)state;
    st_pool *pool = open_pool(1, 60, NULL);
    st_compiled compiled;
    bool got = true;
    assert_int_equal(st_pool_next(pool, 1e6, &compiled, &got, NULL), ST_OK);
    assert_false(got);
    st_pool_close(pool);
}

static void next_gives_up_when_its_time_is_over(void **state) {
    (void)state;
    st_pool *pool = open_pool(1, 60, NULL);
    submit_fake(pool, 1, "hang");
    st_compiled compiled;
    bool got = true;
    assert_int_equal(st_pool_next(pool, 0.05, &compiled, &got, NULL), ST_OK);
    assert_false(got);
    assert_int_equal(st_pool_pending(pool), 1);
    st_pool_close(pool); // with a job under way
}

// What no process was given yet is forgotten; what one has comes back, or ends with the pool.
static void jobs_that_wait_can_be_dropped(void **state) {
    (void)state;
    st_pool *pool = open_pool(1, 60, NULL);
    submit_fake(pool, 1, "hang");
    for (uint64_t id = 2; id <= 6; ++id)
        submit_fake(pool, id, "fine");
    assert_false(st_pool_drop(pool, 1)); // being compiled
    assert_false(st_pool_drop(pool, 7)); // never heard of
    assert_true(st_pool_drop(pool, 4));
    assert_false(st_pool_drop(pool, 4));
    assert_true(st_pool_drop(pool, 6)); // the last of its list
    assert_int_equal(st_pool_pending(pool), 4);
    submit_fake(pool, 8, "fine");
    assert_true(st_pool_drop(pool, 8));
    st_pool_close(pool);
    pool = open_pool(1, 60, NULL);
    for (uint64_t id = 1; id <= 5; ++id)
        submit_fake(pool, id, "fine");
    assert_true(st_pool_drop(pool, 4));
    submit_fake(pool, 4, "error"); // the same id once more
    unsigned seen = 0;
    for (int i = 0; i < 5; ++i) {
        st_compiled compiled = take(pool);
        assert_int_equal(compiled.outcome, compiled.id == 4 ? ST_COMPILE_ERROR : ST_COMPILED);
        seen |= 1u << compiled.id;
        st_compiled_release(&compiled);
    }
    assert_int_equal(seen, 0x3e);
    assert_int_equal(st_pool_pending(pool), 0);
    st_pool_close(pool);
}

// The outcome of `act` when it stands between sound jobs, which must all come back.
static st_compiled outcome_of(const char *act, double first_limit) {
    st_pool *pool = open_pool(1, first_limit, NULL);
    submit_fake(pool, 1, "fine");
    submit_fake(pool, 2, act);
    submit_fake(pool, 3, "fine");
    submit_fake(pool, 4, "fine");
    st_compiled of_act = {0};
    unsigned seen = 0;
    for (int i = 0; i < 4; ++i) {
        st_compiled compiled = take(pool);
        seen |= 1u << compiled.id;
        if (compiled.id == 2) {
            of_act = compiled;
            continue;
        }
        assert_int_equal(compiled.outcome, ST_COMPILED);
        st_compiled_release(&compiled);
    }
    assert_int_equal(seen, 0x1e);
    st_pool_close(pool);
    return of_act;
}

static void a_crash_costs_one_job(void **state) {
    (void)state;
    st_compiled compiled = outcome_of("crash", 60);
    assert_int_equal(compiled.outcome, ST_COMPILE_CRASH);
    assert_non_null(strstr(compiled.log, "k.cu"));
    assert_non_null(strstr(compiled.log, "signal 11"));
    assert_non_null(strstr(compiled.log, "about to fall over"));
    assert_null(compiled.image);
    st_compiled_release(&compiled);
}

static void a_hang_costs_one_job(void **state) {
    (void)state;
    st_compiled compiled = outcome_of("hang", 0.5);
    assert_int_equal(compiled.outcome, ST_COMPILE_TIMEOUT);
    assert_true(compiled.seconds >= 0.5);
    assert_non_null(strstr(compiled.log, "given up"));
    st_compiled_release(&compiled);
}

static void nonsense_costs_one_job(void **state) {
    (void)state;
    static const char *const acts[] = {"garbage", "wrong id", "wrong count"};
    for (size_t i = 0; i < sizeof acts / sizeof *acts; ++i) {
        st_compiled compiled = outcome_of(acts[i], 60);
        assert_int_equal(compiled.outcome, ST_COMPILE_CRASH);
        st_compiled_release(&compiled);
    }
}

static void a_compile_error_brings_its_log(void **state) {
    (void)state;
    st_compiled compiled = outcome_of("error", 60);
    assert_int_equal(compiled.outcome, ST_COMPILE_ERROR);
    assert_non_null(strstr(compiled.log, "no such thing"));
    st_compiled_release(&compiled);
}

static void a_job_that_was_not_started_is_tried_again(void **state) {
    (void)state;
    char act[128];
    snprintf(act, sizeof act, "die unstarted once %s/died", folder);
    st_compiled compiled = outcome_of(act, 60);
    assert_int_equal(compiled.outcome, ST_COMPILED);
    assert_int_equal(access(act + 19, F_OK), 0); // it did die once
    st_compiled_release(&compiled);
}

static void assert_fails(st_pool *pool, st_code code, const char *words) {
    st_compiled compiled;
    bool got = true;
    st_error error = {0};
    assert_int_equal(st_pool_next(pool, 120, &compiled, &got, &error), code);
    assert_false(got);
    assert_non_null(strstr(error.what, words));
    assert_true(error.remedy[0]);
}

static void children_that_always_die_early_are_an_error(void **state) {
    (void)state;
    static const char *const acts[] = {"die unstarted", "answer unstarted"};
    for (size_t i = 0; i < 2; ++i) {
        st_pool *pool = open_pool(2, 60, NULL);
        submit_fake(pool, 1, acts[i]);
        assert_fails(pool, ST_FAILED, "before they begin");
        st_pool_close(pool);
    }
}

static void a_program_that_is_none_is_an_error(void **state) {
    (void)state;
    st_pool_options options = {.processes = 2, .program = "/nonexistent/simtune"};
    st_pool *pool = NULL;
    assert_int_equal(st_pool_open(&options, &pool, NULL), ST_OK);
    submit_fake(pool, 1, "fine");
    assert_fails(pool, ST_FAILED, "before they begin");
    st_pool_close(pool);
}

static void a_failure_around_the_job_is_an_error_of_next(void **state) {
    (void)state;
    st_pool *pool = open_pool(1, 60, NULL);
    submit_fake(pool, 1, "failed");
    submit_fake(pool, 2, "fine");
    st_compiled compiled;
    bool got = false;
    st_error error;
    st_code code;
    int failures = 0, results = 0;
    while (st_pool_pending(pool)) {
        code = st_pool_next(pool, 120, &compiled, &got, &error);
        if (code) {
            assert_int_equal(code, ST_NOTHING);
            assert_string_equal(error.what, "no compiler");
            assert_string_equal(error.remedy, "get one");
            failures++;
        } else if (got) {
            assert_int_equal(compiled.id, 2);
            st_compiled_release(&compiled);
            results++;
        }
    }
    assert_int_equal(failures, 1);
    assert_int_equal(results, 1);
    st_pool_close(pool);
}

static void the_poll_descriptor_tells_when_to_call(void **state) {
    (void)state;
    st_pool *pool = open_pool(2, 0.3, NULL);
    struct pollfd wait = {.fd = st_pool_poll_fd(pool), .events = POLLIN};
    assert_int_equal(poll(&wait, 1, 0), 0);
    submit_fake(pool, 1, "fine");
    submit_fake(pool, 2, "hang");
    submit_fake(pool, 3, "crash");
    int results = 0;
    while (st_pool_pending(pool)) { // only ever called when the descriptor says so
        assert_int_equal(poll(&wait, 1, 60000), 1);
        st_compiled compiled;
        bool got = false;
        assert_int_equal(st_pool_next(pool, 0, &compiled, &got, NULL), ST_OK);
        if (got)
            st_compiled_release(&compiled);
        results += got;
    }
    assert_int_equal(results, 3);
    st_pool_close(pool);
}

static void limits_follow_the_times(void **state) {
    (void)state;
    st_compile_times times = {.count = 0};
    assert_true(st_compile_times_limit(&times, 60, 1) == 60);
    st_compile_times_add(&times, 1, 1);
    st_compile_times_add(&times, 2, 2);
    assert_true(st_compile_times_limit(&times, 60, 1) == 60);
    st_compile_times_add(&times, 1, 1);
    assert_true(st_compile_times_limit(&times, 60, 1) == 20);
    assert_true(st_compile_times_limit(&times, 60, 3) == 60);
    for (int i = 0; i < 300; ++i)
        st_compile_times_add(&times, 0.01, 1);
    assert_true(st_compile_times_limit(&times, 60, 1) == 5); // never less
    assert_true(st_compile_times_limit(&times, 60, 0) == 5);
}

static void allocation_failures_are_reported(void **state) {
    (void)state;
    for (unsigned long n = 1;; ++n) {
        st_pool_options options = {.processes = 1, .cache_folder = folder};
        static const char *const kernels[] = {"k"};
        st_compile_job job = {.id = 1,
                              .backend = "fake",
                              .arch = "sm_90",
                              .file_name = "k.cu",
                              .source = "fine",
                              .kernels = kernels,
                              .kernel_count = 1};
        st_pool *pool = NULL;
        st_error error = {0};
        st_compiled compiled = {0};
        bool got = false;
        st_fault_arm(ST_FAULT_ALLOCATION, n);
        st_code code = st_pool_open(&options, &pool, &error);
        if (!code)
            code = st_pool_submit(pool, &job, &error);
        while (!code && !got && st_pool_pending(pool))
            code = st_pool_next(pool, 120, &compiled, &got, &error);
        bool injected = st_fault_injected(ST_FAULT_ALLOCATION);
        st_fault_arm(ST_FAULT_ALLOCATION, 0);
        assert_true(code == ST_OK || error.what[0]);
        // A fault may cost the job, or be mended by another process; never both result and error.
        assert_true(code == ST_OK ? got : !got);
        if (got)
            st_compiled_release(&compiled);
        st_pool_close(pool);
        if (!injected)
            break;
    }
}

// --- the cache
// -------------------------------------------------------------------------------------

static st_compile_job job_with(const char *source, const char *const *options,
                               size_t option_count) {
    static const char *const kernels[] = {"k"};
    st_compile_job job = {.id = 1,
                          .backend = "cuda",
                          .arch = "sm_90",
                          .file_name = "k.cu",
                          .source = source,
                          .options = options,
                          .option_count = option_count,
                          .kernels = kernels,
                          .kernel_count = 1};
    return job;
}

static void key_of(const st_compile_job *job, const char *compiler, char key[ST_HASH_TEXT]) {
    st_include_memory *memory = st_include_memory_new();
    assert_non_null(memory);
    assert_int_equal(st_compile_key(job, compiler, memory, key, NULL), ST_OK);
    st_include_memory_free(memory);
}

static void every_part_of_a_job_changes_its_key(void **state) {
    (void)state;
    static const char *const options[] = {"-DA=1", "-DB=2"};
    static const char *const other_options[] = {"-DA=1-DB", "=2"};
    static const char *const other_kernels[] = {"k2"};
    const st_source_text include = {"a.cuh", "int a;"}, other_include = {"a.cuh", "int b;"};
    st_compile_job base = job_with("int x;", options, 2), jobs[8];
    base.includes = &include;
    base.include_count = 1;
    for (int i = 0; i < 8; ++i)
        jobs[i] = base;
    jobs[1].source = "int y;";
    jobs[2].arch = "sm_80";
    jobs[3].options = other_options;
    jobs[4].option_count = 1;
    jobs[5].includes = &other_include;
    jobs[6].kernels = other_kernels;
    jobs[7].backend = "emu";
    char keys[9][ST_HASH_TEXT];
    for (int i = 0; i < 8; ++i)
        key_of(&jobs[i], "nvrtc 13.0", keys[i]);
    key_of(&base, "nvrtc 13.1", keys[8]);
    for (int i = 0; i < 9; ++i)
        for (int j = 0; j < i; ++j)
            assert_string_not_equal(keys[i], keys[j]);
    char again[ST_HASH_TEXT];
    jobs[0].id = 99; // the caller's number is no part of the content
    key_of(&jobs[0], "nvrtc 13.0", again);
    assert_string_equal(again, keys[0]);
}

static void write_text(const char *name, const char *text) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(st_text_write_file(path, text, strlen(text), NULL, NULL), ST_OK);
}

static void files_reached_by_include_folders_are_in_the_key(void **state) {
    (void)state;
    write_text("one.h", "#pragma once\n # include \"two.h\"\n#include <one.h>\n");
    write_text("two.h", "int two;\n");
    char option[80];
    snprintf(option, sizeof option, "-I%s", folder);
    const char *joined[] = {option}, *apart[] = {"-I", folder}, *long_form[80];
    char long_option[100];
    snprintf(long_option, sizeof long_option, "--include-path=%s", folder);
    long_form[0] = long_option;
    st_compile_job jobs[] = {job_with("#include <one.h>\nint x;", joined, 1),
                             job_with("#include <one.h>\nint x;", apart, 2),
                             job_with("#include <one.h>\nint x;", long_form, 1)};
    char before[3][ST_HASH_TEXT], after[3][ST_HASH_TEXT];
    for (int i = 0; i < 3; ++i)
        key_of(&jobs[i], "c", before[i]);
    write_text("two.h", "int two2;\n");
    for (int i = 0; i < 3; ++i) {
        key_of(&jobs[i], "c", after[i]);
        assert_string_not_equal(before[i], after[i]);
    }
}

static st_compiled sample_result(char **names) {
    st_compiled compiled = {.id = 3,
                            .seconds = 0.25,
                            .image = "cubin\0bytes",
                            .image_bytes = 11,
                            .lowered_names = names,
                            .kernel_count = 2,
                            .log = "a warning"};
    compiled.outcome = ST_COMPILED;
    strcpy(compiled.compiler, "nvrtc 13.0");
    return compiled;
}

static const char *const sample_key = "0123456789abcdef0123456789abcdef";

static void what_was_cached_comes_back(void **state) {
    (void)state;
    char *names[] = {"_Z1kv", ""};
    st_compiled compiled = sample_result(names), read;
    assert_false(st_cache_read(folder, sample_key, &read));
    assert_int_equal(st_cache_write(folder, sample_key, &compiled, NULL), ST_OK);
    assert_true(st_cache_read(folder, sample_key, &read));
    assert_true(read.from_cache);
    assert_int_equal(read.outcome, ST_COMPILED);
    assert_int_equal(read.image_bytes, 11);
    assert_memory_equal(read.image, compiled.image, 11);
    assert_int_equal(read.kernel_count, 2);
    assert_string_equal(read.lowered_names[0], "_Z1kv");
    assert_string_equal(read.lowered_names[1], "");
    assert_string_equal(read.log, "a warning");
    assert_string_equal(read.compiler, "nvrtc 13.0");
    assert_true(read.seconds == 0.25);
    st_compiled_release(&read);
}

static void every_damage_is_a_miss(void **state) {
    (void)state;
    char *names[] = {"_Z1kv", "_Z1lv"};
    st_compiled compiled = sample_result(names), read;
    assert_int_equal(st_cache_write(folder, sample_key, &compiled, NULL), ST_OK);
    char path[160];
    snprintf(path, sizeof path, "%s/%s.compiled", folder, sample_key);
    st_text whole;
    st_text_init(&whole);
    assert_int_equal(st_text_read_file(&whole, path, NULL), ST_OK);
    for (size_t at = 0; at < whole.length; ++at) { // one bit changed, or cut there
        FILE *file = fopen(path, "wb");
        whole.data[at] ^= 4;
        assert_int_equal(fwrite(whole.data, 1, whole.length, file), whole.length);
        fclose(file);
        whole.data[at] ^= 4;
        assert_false(st_cache_read(folder, sample_key, &read));
        file = fopen(path, "wb");
        assert_int_equal(fwrite(whole.data, 1, at, file), at);
        fclose(file);
        assert_false(st_cache_read(folder, sample_key, &read));
    }
    st_text_release(&whole);
}

static void trimming_takes_the_oldest_of_ours_only(void **state) {
    (void)state;
    static const char *const keys[] = {"00000000000000000000000000000001",
                                       "00000000000000000000000000000002",
                                       "00000000000000000000000000000003"};
    char *names[] = {"a", "b"};
    st_compiled compiled = sample_result(names), read;
    write_text("notes.txt", "not ours to remove, and older than everything");
    int64_t bytes = 0;
    for (int i = 0; i < 3; ++i) {
        char path[160];
        assert_int_equal(st_cache_write(folder, keys[i], &compiled, NULL), ST_OK);
        snprintf(path, sizeof path, "%s/%s.compiled", folder, keys[i]);
        struct timespec times[2] = {{1000 + i, 0}, {1000 + i, 0}};
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
        struct stat status;
        assert_int_equal(stat(path, &status), 0);
        bytes += status.st_size;
    }
    st_cache_trim(folder, bytes);
    assert_true(st_cache_read(folder, keys[0], &read)); // within the limit; now the newest
    st_compiled_release(&read);
    st_cache_trim(folder, bytes - 1);
    assert_false(st_cache_read(folder, keys[1], &read));
    assert_true(st_cache_read(folder, keys[0], &read));
    st_compiled_release(&read);
    st_cache_trim(folder, 0);
    assert_false(st_cache_read(folder, keys[0], &read));
    char kept[160];
    snprintf(kept, sizeof kept, "%s/notes.txt", folder);
    assert_int_equal(access(kept, F_OK), 0);
}

// --- frames from an untrusted side
// -----------------------------------------------------------------

static void broken_job_frames_are_refused(void **state) {
    (void)state;
    static const char *const kernels[] = {"k<1>"};
    static const char *const options[] = {"-DX"};
    const st_source_text include = {"a.cuh", "int a;"};
    st_compile_job job = {.id = 5,
                          .backend = "cuda",
                          .arch = "sm_90",
                          .file_name = "k.cu",
                          .source = "x",
                          .includes = &include,
                          .include_count = 1,
                          .options = options,
                          .option_count = 1,
                          .kernels = kernels,
                          .kernel_count = 1};
    json_t *json = NULL;
    st_text blob;
    st_text_init(&blob);
    assert_int_equal(st_job_encode(&job, &json, &blob, NULL), ST_OK);
    for (size_t length = 0; length <= blob.length; ++length) {
        st_frame frame = {
            .json = json_incref(json), .blob = st_malloc(length + 1), .blob_length = length};
        memcpy(frame.blob, blob.data, length);
        st_received_job received;
        st_code code = st_job_decode(&frame, &received, NULL);
        assert_int_equal(code, length == blob.length ? ST_OK : ST_FAILED);
        if (code)
            continue;
        assert_string_equal(received.job.includes[0].text, "int a;");
        assert_string_equal(received.job.options[0], "-DX");
        assert_string_equal(received.job.kernels[0], "k<1>");
        st_received_job_release(&received);
    }
    static const char *const counts[] = {"includes", "options", "kernels"};
    static const json_int_t wrong[] = {-1, 0, 2, 1000, INT64_MAX};
    for (size_t c = 0; c < 3; ++c)
        for (size_t w = 0; w < sizeof wrong / sizeof *wrong; ++w) {
            json_t *changed = json_copy(json);
            json_object_set_new(changed, counts[c], json_integer(wrong[w]));
            st_frame frame = {
                .json = changed, .blob = st_malloc(blob.length), .blob_length = blob.length};
            memcpy(frame.blob, blob.data, blob.length);
            st_received_job received;
            assert_int_equal(st_job_decode(&frame, &received, NULL), ST_FAILED);
        }
    json_decref(json);
    st_text_release(&blob);
}

static void ptxas_words_are_read(void **state) {
    (void)state;
    static const char log[] =
        "ptxas info    : 0 bytes gmem\n"
        "ptxas info    : Compiling entry function '_Z1kI2c2EvPf' for 'sm_90'\n"
        "ptxas info    : Function properties for _Z1kI2c2EvPf\n"
        "ptxas         .     352 bytes stack frame, 484 bytes spill stores, 568 bytes spill loads\n"
        "ptxas info    : Used 32 registers, used 1 barriers, 352 bytes cumulative stack size, "
        "1024 bytes smem\n"
        "ptxas info    : Compiling entry function '_Z1kI2c2EvPfi' for 'sm_90'\n"
        "ptxas info    : Function properties for helper\n"
        "    8 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads\n"
        "ptxas info    : Function properties for _Z1kI2c2EvPfi\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 80 registers, 368 bytes cmem[0]\n"
        "ptxas info    : Compiling entry function 'cut' for 'sm_90'\n";
    int registers, spills, smem;
    assert_true(st_compile_kernel_facts(log, "_Z1kI2c2EvPf", &registers, &spills, &smem));
    assert_int_equal(registers, 32);
    assert_int_equal(spills, 484);
    assert_int_equal(smem, 1024);
    assert_true(st_compile_kernel_facts(log, "_Z1kI2c2EvPfi", &registers, &spills, &smem));
    assert_int_equal(registers, 80);
    assert_int_equal(spills, 0);
    assert_int_equal(smem, 0);
    assert_false(st_compile_kernel_facts(log, "cut", &registers, &spills, &smem));
    assert_int_equal(registers, -1);
    assert_int_equal(spills, -1);
    assert_int_equal(smem, -1);
    assert_false(st_compile_kernel_facts(log, "_Z1kI2c2Ev", &registers, &spills, &smem));
    assert_false(st_compile_kernel_facts("", "k", &registers, &spills, &smem));
    assert_false(st_compile_kernel_facts(NULL, "k", &registers, &spills, &smem));
}

int main(int argc, char **argv) {
    st_json_setup();
    if (argc > 1 && strcmp(argv[1], "--internal") == 0)
        return act_as_child();
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(takes_results_of_all_jobs),
        TEST(next_without_jobs_returns_at_once),
        TEST(next_gives_up_when_its_time_is_over),
        TEST(jobs_that_wait_can_be_dropped),
        TEST(a_crash_costs_one_job),
        TEST(a_hang_costs_one_job),
        TEST(nonsense_costs_one_job),
        TEST(a_compile_error_brings_its_log),
        TEST(a_job_that_was_not_started_is_tried_again),
        TEST(children_that_always_die_early_are_an_error),
        TEST(a_program_that_is_none_is_an_error),
        TEST(a_failure_around_the_job_is_an_error_of_next),
        TEST(the_poll_descriptor_tells_when_to_call),
        TEST(limits_follow_the_times),
        TEST(allocation_failures_are_reported),
        TEST(every_part_of_a_job_changes_its_key),
        TEST(files_reached_by_include_folders_are_in_the_key),
        TEST(what_was_cached_comes_back),
        TEST(every_damage_is_a_miss),
        TEST(trimming_takes_the_oldest_of_ours_only),
        TEST(broken_job_frames_are_refused),
        TEST(ptxas_words_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
