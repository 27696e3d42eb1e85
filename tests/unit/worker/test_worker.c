// SPDX-License-Identifier: Apache-2.0
// A conversation with a worker (worker.c) on the emulated device. Invariants: 1. every request gets exactly one
// reply, `failed` with a reason if nothing better, also when any allocation or system call of it fails; what is
// not `failed` is whole and right; 3. a request out of its state is answered `failed`, never acted upon.
//
// All requests lie in the channel before the worker starts, so that worker and test are one thread: a fault that
// is armed strikes the worker alone.
// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tuner/base/channel.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/base/text.h"
#include "tuner/gpu/emu.h"
#include "tuner/worker/messages.h"
#include "tuner/worker/worker.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { N = 100, MODULE = 7, REPLIES = 64 };

static const char source[] =
    "extern \"C\" __global__ void tripled(const int *in, int *out, unsigned long long n)\n"
    "{\n"
    "    unsigned long long i = blockIdx.x * 32ull + threadIdx.x;\n"
    "    if (i < n)\n"
    "        out[i] = 3 * in[i];\n"
    "}\n"
    "extern \"C\" __global__ void last_is_off(const int *in, int *out, unsigned long long n)\n"
    "{\n"
    "    unsigned long long i = blockIdx.x * 32ull + threadIdx.x;\n"
    "    if (i < n)\n"
    "        out[i] = 3 * in[i] + (i == n - 1);\n"
    "}\n"
    "extern \"C\" __global__ void astray(const int *in, int *out, unsigned long long n)\n"
    "{\n"
    "    out[n + (1ull << 40)] = in[0];\n"
    "}\n"
    "extern \"C\" __global__ void rotated(const int *in, int *out, unsigned long long n)\n"
    "{\n"
    "    for (unsigned long long i = 0; blockIdx.x + threadIdx.x == 0 && i < n; i++)\n"
    "        out[i] = 3 * in[(i + n - 1) % n];\n"
    "}\n"
    "extern \"C\" __global__ void total(const int *in, int *out, unsigned long long n)\n"
    "{\n"
    "    int sum = 0;\n"
    "    for (unsigned long long i = 0; blockIdx.x + threadIdx.x == 0 && i < n; i++)\n"
    "        sum += in[i] * in[i];\n"
    "    if (blockIdx.x + threadIdx.x == 0)\n"
    "        *out = sum;\n"
    "}\n";
static const char *const names[] = {"tripled", "last_is_off", "astray", "rotated", "total"};
static st_compiled support, program;

static st_compiled compile(const char *file, const char *text, const char *const *kernels,
                           size_t count)
{
    st_compile_job job = {.backend = "emu",
                          .arch = "sm_90",
                          .file_name = file,
                          .source = text,
                          .kernels = kernels,
                          .kernel_count = count};
    st_compiled out = {0};
    st_error error = {0};
    if (st_emu_compile(&job, &out, &error) != ST_OK)
        fail_msg("%s", error.what);
    if (out.outcome != ST_COMPILED)
        fail_msg("%s", out.log);
    return out;
}

static int set_up(void **state)
{
    (void)state;
    static const char *const kernels[] = {"simtune_support_fill",   "simtune_support_compare",
                                          "simtune_support_report", "simtune_support_check",
                                          "simtune_support_flush",  "simtune_support_read",
                                          "simtune_support_copy",   "simtune_support_gate"};
    st_text text;
    st_text_init(&text);
    if (st_text_read_file(&text, SIMTUNE_SOURCE_FOLDER "/templates/support.cu", NULL) != ST_OK)
        return -1;
    support = compile("support.cu", st_text_string(&text), kernels, 8);
    program = compile("tripled.cu", source, names, sizeof names / sizeof *names);
    st_text_release(&text);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    st_compiled_release(&support);
    st_compiled_release(&program);
    return 0;
}

// --- a channel full of requests ------------------------------------------------------------------------------

typedef struct talk {
    int ours, theirs;
    int sent;
    st_frame replies[REPLIES];
    int count;
} talk;

static void begin(talk *with)
{
    int pair[2], room = 8 << 20;
    *with = (talk){0};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    for (int i = 0; i < 2; i++)
        setsockopt(pair[i], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
    with->ours = pair[0];
    with->theirs = pair[1];
}

// Takes `request`.
static void say(talk *with, json_t *request, const void *blob, size_t bytes)
{
    st_error error = {0};
    assert_non_null(request);
    if (st_channel_send(with->ours, request, blob, bytes, &error) != ST_OK)
        fail_msg("%s", error.what);
    json_decref(request);
    with->sent++;
}

static void listen_to(talk *with)
{
    while (with->count < REPLIES &&
           st_channel_receive(with->ours, 0, &with->replies[with->count], NULL) == ST_RECEIVED)
        with->count++;
}

static void run_worker(talk *with, bool profiles)
{
    shutdown(with->ours, SHUT_WR);
    assert_int_equal(st_worker_main(with->theirs, profiles), 0);
    close(with->theirs); // as the end of its process does: a frame that broke off is seen at once
}

static void end(talk *with)
{
    for (int i = 0; i < with->count; i++)
        st_frame_release(&with->replies[i]);
    close(with->ours);
}

static const char *text_of(const talk *with, int reply, const char *name)
{
    const char *text = json_string_value(json_object_get(with->replies[reply].json, name));
    return text ? text : "";
}

// --- requests ---------------------------------------------------------------------------------------------

static uint32_t buffer_total = 3; // of the problem at hand

static json_t *plan_json(int kernel, int in, int out)
{
    st_plan_argument arguments[] = {{in, ST_I32, 0}, {out, ST_I32, 0}, {-1, ST_U64, N}};
    st_plan_step step = {.kernel = kernel,
                         .grid = {(N + 31) / 32, 1, 1},
                         .block = {32, 1, 1},
                         .cluster = 1,
                         .arguments = arguments,
                         .argument_count = 3};
    uint64_t temps[5] = {0};
    st_plan plan = {.steps = &step, .step_count = 1, .temp_counts = temps, .buffer_count = buffer_total};
    return st_plan_encode(&plan);
}

static json_t *kernels_json(const char *lowered)
{
    st_load_kernel kernel = {.block = 32};
    snprintf(kernel.lowered, sizeof kernel.lowered, "%s", lowered);
    return st_load_kernels_encode(&kernel, 1);
}

// Roles as tuner/template.h numbers them: input, output, expected.
static json_t *buffers_json(int64_t count)
{
    st_plan_buffer buffers[] = {
        {.name = "in", .role = 0, .type = ST_I32, .count = (uint64_t)count, .fill = "values"},
        {.name = "out", .role = 1, .type = ST_I32, .count = (uint64_t)count, .fill = "values"},
        {.name = "right", .role = 4, .type = ST_I32, .count = (uint64_t)count, .fill = "values"}};
    return st_plan_buffers_encode(buffers, 3);
}

static json_t *compares_json(int expected)
{
    st_plan_compare compare = {.output = 1, .expected = expected, .magnitude = -1};
    return st_plan_compares_encode(&compare, 1);
}

static void say_open(talk *with)
{
    say(with, json_pack("{s:s, s:s, s:i}", "type", "open", "backend", "emu", "ordinal", 0), NULL,
        0);
    say(with, json_pack("{s:s}", "type", "support"), support.image, support.image_bytes);
}

static void say_problem(talk *with, int64_t count)
{
    say(with,
        json_pack("{s:s, s:o, s:o, s:o}", "type", "problem", "buffers", buffers_json(count),
                  "kernels", kernels_json("tripled"), "plan", plan_json(0, 0, 2)),
        program.image, program.image_bytes);
}

static void say_load(talk *with, int id, const char *lowered, bool with_image)
{
    say(with,
        json_pack("{s:s, s:i, s:i, s:o}", "type", "load", "candidate", id, "module", MODULE,
                  "kernels", kernels_json(lowered)),
        with_image ? program.image : NULL, with_image ? program.image_bytes : 0);
    say(with,
        json_pack("{s:s, s:i, s:o}", "type", "plan", "candidate", id, "plan", plan_json(0, 0, 1)),
        NULL, 0);
}

static void say_verify(talk *with, int id, int expected)
{
    say(with,
        json_pack("{s:s, s:i, s:i, s:i, s:o}", "type", "verify", "candidate", id, "data",
                  (int)ST_DATA_EXACT, "rotation", 3, "compares", compares_json(expected)),
        NULL, 0);
}

// Replies, in this order; what the candidates are worth is known.
enum {
    OPENED,
    SUPPORTED,
    AT_PROBLEM,
    LOADED_RIGHT,
    PLANNED_RIGHT,
    LOADED_WRONG,
    PLANNED_WRONG,
    RIGHT,
    WRONG,
    CAPTURED,
    AS_CAPTURED,
    TIMED,
    RACED,
    UNLOADED,
    SPED,
    STALLED,
    CONVERSATION
};

static void say_all(talk *with)
{
    say_open(with);
    say_problem(with, N);
    say_load(with, 1, "tripled", true);
    say_load(with, 2, "last_is_off", false); // the worker has the module
    say_verify(with, 1, 2);
    say_verify(with, 2, 2);
    say(with,
        json_pack("{s:s, s:i, s:i, s:i}", "type", "capture", "candidate", 2, "data",
                  (int)ST_DATA_EXACT, "rotation", 3),
        NULL, 0);
    say_verify(with, 2, -1);
    say(with,
        json_pack("{s:s, s:i, s:s, s:i, s:i}", "type", "time", "candidate", 1, "cache", "warm",
                  "samples", 2, "drop", 0),
        NULL, 0);
    say(with,
        json_pack("{s:s, s:[i, i], s:s, s:i, s:i}", "type", "race", "candidates", 1, 2, "cache",
                  "warm", "rounds", 2, "seed", 5),
        NULL, 0);
    say(with, json_pack("{s:s, s:i}", "type", "unload", "candidate", 2), NULL, 0);
    say(with, json_pack("{s:s}", "type", "speed"), NULL, 0);
    say(with, json_pack("{s:s, s:i, s:i}", "type", "stalls", "candidate", 1, "minimum", 1), NULL,
        0);
}

static const char *const answers[CONVERSATION] = {
    "opened",   "ready", "ready",    "loaded", "ready", "loaded", "ready", "verified",
    "verified", "ready", "verified", "timed",  "timed", "ready",  "speed", "failed"};

static void check_verdict(const talk *with, int reply, uint64_t mismatches)
{
    st_verdict verdict;
    json_t *json = json_object_get(with->replies[reply].json, "verdict");
    assert_int_equal(st_verdict_decode(json, &verdict, NULL), ST_OK);
    assert_int_equal(verdict.mismatches, mismatches);
    if (mismatches)
        assert_int_equal(verdict.first_index, N - 1);
}

static void check_samples(const st_frame *reply, size_t count)
{
    assert_int_equal(reply->blob_length, count * sizeof(double));
    for (size_t i = 0; i < count; i++)
        assert_true(((double *)reply->blob)[i] > 0);
}

// What is not `failed` is what the undisturbed conversation has there.
static void check_answer(const talk *with, int reply)
{
    const char *type = text_of(with, reply, "type");
    if (strcmp(type, "failed") == 0) {
        assert_true(*text_of(with, reply, "what"));
        assert_true(json_is_integer(json_object_get(with->replies[reply].json, "code")));
        return;
    }
    if (strcmp(type, "need_module") == 0) { // the load that would have brought it failed
        assert_int_equal(reply, LOADED_WRONG);
        return;
    }
    assert_string_equal(type, answers[reply]);
    st_loaded_kernel facts;
    json_t *list = json_object_get(with->replies[reply].json, "kernels");
    switch (reply) {
    case LOADED_RIGHT:
    case LOADED_WRONG:
        assert_int_equal(st_loaded_kernels_decode(list, &facts, 1, NULL), ST_OK);
        assert_true(facts.blocks_per_sm > 0);
        break;
    case RIGHT:
        check_verdict(with, reply, 0);
        break;
    case WRONG:
        check_verdict(with, reply, 1);
        break;
    case AS_CAPTURED:
        check_verdict(with, reply, 0);
        break;
    case TIMED:
        check_samples(&with->replies[reply], 2);
        break;
    case RACED:
        check_samples(&with->replies[reply], 4);
        break;
    default:
        break;
    }
}

static void test_conversation(void **state)
{
    (void)state;
    talk with;
    begin(&with);
    say_all(&with);
    assert_int_equal(with.sent, CONVERSATION);
    run_worker(&with, false);
    listen_to(&with);
    assert_int_equal(with.count, CONVERSATION);
    for (int i = 0; i < CONVERSATION; i++) {
        if (strcmp(text_of(&with, i, "type"), answers[i]) != 0)
            fail_msg("answer %d is %s: %s", i, text_of(&with, i, "type"),
                     text_of(&with, i, "what"));
        check_answer(&with, i);
    }
    end(&with);
}

// Every allocation and system call of the conversation fails once. A reply that could not be sent ends the worker,
// so that the parent notices; a failed request costs those that need it, never their truth.
static void test_faults(void **state)
{
    (void)state;
    static const st_fault kinds[] = {ST_FAULT_ALLOCATION, ST_FAULT_SYSTEM};
    for (int k = 0; k < 2; k++) {
        bool injected = true;
        unsigned long step = 1;
        for (unsigned long n = 1; injected; n += step) {
            talk with;
            begin(&with);
            say_all(&with);
            st_fault_arm(kinds[k], n);
            run_worker(&with, false);
            injected = st_fault_injected(kinds[k]);
            st_fault_arm(kinds[k], 0);
            listen_to(&with);
            for (int i = 0; i < with.count; i++)
                check_answer(&with, i);
            if (!injected)
                assert_int_equal(with.count, CONVERSATION);
            end(&with);
            step = k == 0 ? 1 + n / 25
                          : 1; // each of the first, then samples: the loop runs thousands of passes
        }
    }
}

// Invariant 3.
static void test_out_of_state(void **state)
{
    (void)state;
    talk with;
    begin(&with);
    say(&with, json_pack("{s:s}", "type", "support"), "", 0);
    say(&with, json_pack("{s:s}", "type", "speed"), NULL, 0);
    say(&with, json_pack("{s:s, s:i}", "type", "unload", "candidate", 1), NULL, 0);
    say(&with, json_pack("{s:s}", "type", "dance"), NULL, 0);
    say(&with, json_pack("{s:i}", "type", 4), NULL, 0);
    say(&with, json_pack("{s:s, s:s, s:i}", "type", "open", "backend", "vulkan", "ordinal", 0),
        NULL, 0);
    say(&with, json_pack("{s:s, s:s, s:i}", "type", "open", "backend", "emu", "ordinal", 99), NULL,
        0);
    run_worker(&with, false);
    listen_to(&with);
    assert_int_equal(with.count, 7);
    static const char *const words[] = {"before its time",
                                        "before its time",
                                        "before its time",
                                        "no request dance",
                                        "type",
                                        "no backend vulkan",
                                        ""};
    for (int i = 0; i < 7; i++) {
        assert_string_equal(text_of(&with, i, "type"), "failed");
        assert_non_null(strstr(text_of(&with, i, "what"), words[i]));
        assert_false(json_is_true(json_object_get(with.replies[i].json, "lost")));
    }
    end(&with);
}

static void test_requests_that_do_not_fit(void **state)
{
    (void)state;
    talk with;
    begin(&with);
    say_open(&with); // 0, 1
    say(&with, json_pack("{s:s, s:s, s:i}", "type", "open", "backend", "emu", "ordinal", 0), NULL,
        0);                                                                                // 2
    say(&with, json_pack("{s:s}", "type", "support"), support.image, support.image_bytes); // 3
    say_problem(&with, INT64_C(1) << 45);                                                  // 4
    say_problem(&with, N);                                                                 // 5
    say(&with, json_pack("{s:s, s:i}", "type", "unload", "candidate", 1), NULL, 0);        // 6
    say_load(&with, 1, "tripled", false);                                                  // 7, 8
    say_load(&with, 1, "tripled", true);                                                   // 9, 10
    say_load(&with, 1, "tripled", true);                                                   // 11, 12
    say_load(&with, 3, "nobody", true);                                                    // 13, 14
    say(&with,
        json_pack("{s:s, s:i, s:s, s:i}", "type", "time", "candidate", 1, "cache", "tepid",
                  "samples", 1),
        NULL, 0); // 15
    say(&with,
        json_pack("{s:s, s:i, s:s, s:i}", "type", "time", "candidate", 1, "cache", "cold",
                  "samples", -1),
        NULL, 0); // 16
    say(&with,
        json_pack("{s:s, s:[i], s:s, s:i, s:i}", "type", "race", "candidates", 1, "cache", "cold",
                  "rounds", 0, "seed", 1),
        NULL, 0); // 17
    say(&with,
        json_pack("{s:s, s:[i], s:[s]}", "type", "counters", "candidates", 1, "metrics",
                  "occupancy"),
        NULL, 0);
    say_verify(&with, 1, 2); // 19
    run_worker(&with, false);
    listen_to(&with);
    assert_int_equal(with.count, 20);
    static const char *const types[] = {"opened", "ready",  "failed",      "failed", "too_big",
                                        "ready",  "failed", "need_module", "failed", "loaded",
                                        "ready",  "failed", "ready",       "failed", "failed",
                                        "failed", "failed", "failed",      "failed", "verified"};
    for (int i = 0; i < 20; i++)
        if (strcmp(text_of(&with, i, "type"), types[i]) != 0)
            fail_msg("answer %d is %s: %s", i, text_of(&with, i, "type"),
                     text_of(&with, i, "what"));
    end(&with);
}

// A kernel that breaks its context: that answer and all after it say that the worker is lost.
// --- derived buffers and runs in place ------------------------------------------------------------------------

// Roles: input, output, expected, derived, expected; the reference fills both that are expected.
static void say_problem_with_sums(talk *with)
{
    st_plan_buffer buffers[] = {
        {.name = "in", .role = 0, .type = ST_I32, .count = N, .fill = "distinct"},
        {.name = "out", .role = 1, .type = ST_I32, .count = N, .fill = "none"},
        {.name = "right", .role = 4, .type = ST_I32, .count = N, .fill = "none"},
        {.name = "sum", .role = 6, .type = ST_I32, .count = 1, .fill = "none"},
        {.name = "right_sum", .role = 4, .type = ST_I32, .count = 1, .fill = "none"}};
    st_load_kernel kernels[] = {{.lowered = "tripled", .block = 32}, {.lowered = "total", .block = 32}};
    json_t *plan = plan_json(0, 0, 2), *second = plan_json(1, 2, 4);
    json_array_extend(json_object_get(plan, "steps"), json_object_get(second, "steps"));
    json_decref(second);
    say(with,
        json_pack("{s:s, s:o, s:o, s:o}", "type", "problem", "buffers", st_plan_buffers_encode(buffers, 5),
                  "kernels", st_load_kernels_encode(kernels, 2), "plan", plan),
        program.image, program.image_bytes);
}

static void say_verify_more(talk *with, int id, int output, int expected, bool derive, bool in_place)
{
    st_plan_compare compare = {.output = output, .expected = expected, .magnitude = -1};
    json_t *request = json_pack("{s:s, s:i, s:i, s:i, s:o}", "type", "verify", "candidate", id, "data",
                                (int)ST_DATA_EXACT, "rotation", 1, "compares", st_plan_compares_encode(&compare, 1));
    if (derive)
        json_object_set_new(request, "derive", plan_json(1, 1, 3));
    if (in_place)
        json_object_set_new(request, "in_place", json_pack("[[i,i]]", 0, 1));
    say(with, request, NULL, 0);
}

static void expect_verdict(const talk *with, int reply, const char *what)
{
    st_verdict verdict;
    assert_string_equal(text_of(with, reply, "type"), "verified");
    assert_int_equal(st_verdict_decode(json_object_get(with->replies[reply].json, "verdict"), &verdict, NULL), ST_OK);
    assert_int_equal(verdict.mismatches == 0, what == NULL);
    if (what)
        assert_string_equal(verdict.what, what);
}

static void test_derived_and_in_place(void **state)
{
    (void)state;
    talk with;
    begin(&with);
    buffer_total = 5;
    say_open(&with);
    say_problem_with_sums(&with);                // 2
    say_load(&with, 1, "tripled", true);         // 3 4
    say_load(&with, 2, "rotated", false);        // 5 6
    say_verify_more(&with, 1, 1, 2, false, true); // 7: element by element, in place too
    say_verify_more(&with, 2, 1, 2, false, false); // 8: in another order
    say_verify_more(&with, 2, 3, 4, true, false); // 9: which the derived sum does not see
    say_verify_more(&with, 2, 3, 4, true, true);  // 10: but in place it reads what it wrote
    say_verify_more(&with, 2, 3, 4, false, false); // 11: nothing filled it
    say_verify_more(&with, 1, 1, 2, true, true);  // 12: nothing of that stays
    say(&with, json_pack("{s:s, s:i, s:i, s:i, s:[], s:[[i,i]]}", "type", "verify", "candidate", 1, "data", 0, "rotation",
                         1, "compares", "in_place", 1, 0), NULL, 0); // 13: an output is no input
    buffer_total = 3;
    run_worker(&with, false);
    listen_to(&with);
    assert_int_equal(with.count, 14);
    expect_verdict(&with, 7, NULL);
    expect_verdict(&with, 8, "value");
    expect_verdict(&with, 9, NULL);
    expect_verdict(&with, 10, "in place");
    expect_verdict(&with, 11, "unwritten");
    expect_verdict(&with, 12, NULL);
    assert_string_equal(text_of(&with, 13, "type"), "failed");
    end(&with);
}

static void test_lost(void **state)
{
    (void)state;
    talk with;
    begin(&with);
    say_open(&with);
    say_problem(&with, N);
    say_load(&with, 1, "astray", true);
    say_verify(&with, 1, 2);
    say(&with, json_pack("{s:s}", "type", "speed"), NULL, 0);
    run_worker(&with, false);
    listen_to(&with);
    assert_int_equal(with.count, 7);
    for (int i = 5; i < 7; i++) {
        assert_string_equal(text_of(&with, i, "type"), "failed");
        assert_true(json_is_true(json_object_get(with.replies[i].json, "lost")));
    }
    end(&with);
}

static void profile_one(talk *with)
{
    begin(with);
    say_open(with);
    say_problem(with, N);
    say_load(with, 1, "tripled", true);
    say(with, json_pack("{s:s, s:i, s:i}", "type", "stalls", "candidate", 1, "minimum", 500),
        program.image, program.image_bytes);
    say(with,
        json_pack("{s:s, s:[i, i], s:[s, s, s]}", "type", "counters", "candidates", 1, 1, "metrics",
                  "occupancy", "dram_bytes_read", "shared_load_conflicts"),
        NULL, 0);
    say(with,
        json_pack("{s:s, s:[i], s:[s]}", "type", "counters", "candidates", 1, "metrics", "no_such"),
        NULL, 0);
    run_worker(with, true);
    listen_to(with);
    assert_int_equal(with->count, 8);
}

// The emulated device's profile is its model's, in the form of a GPU's.
static void test_emulated_profile(void **state)
{
    (void)state;
    talk with;
    profile_one(&with);
    assert_string_equal(text_of(&with, 5, "type"), "stalls");
    const json_t *stalls = with.replies[5].json, *reasons = json_object_get(stalls, "reasons"), *at;
    json_int_t total = 0, lines = 0;
    size_t i;
    json_array_foreach (reasons, i, at) {
        assert_non_null(json_string_value(json_object_get(at, "name")));
        total += json_integer_value(json_object_get(at, "samples"));
    }
    assert_true(total >= 450);
    assert_int_equal(total, json_integer_value(json_object_get(stalls, "total")));
    json_array_foreach (json_object_get(stalls, "lines"), i, at)
        lines += json_integer_value(json_object_get(at, "samples"));
    assert_true(lines > total / 2 && lines <= total + 64);

    assert_string_equal(text_of(&with, 6, "type"), "counters");
    const json_t *rows = json_object_get(with.replies[6].json, "values");
    assert_int_equal(json_array_size(rows), 2);
    for (size_t row = 0; row < 2; row++) { // twice the same
        const json_t *values = json_array_get(rows, row);
        double occupancy = json_number_value(json_array_get(values, 0));
        assert_true(occupancy > 0 && occupancy <= 1);
        assert_true(json_number_value(json_array_get(values, 1)) >= 4.0 * N);
        assert_true(json_is_null(json_array_get(values, 2))); // not modelled
    }
    assert_true(json_equal(json_array_get(rows, 0), json_array_get(rows, 1)));
    assert_string_equal(text_of(&with, 7, "type"), "failed");
    end(&with);
}

// The profile worker of a device whose counters cannot be had says so, and nothing is measured for them.
static void test_no_counters(void **state)
{
    (void)state;
    talk with;
    setenv("SIMTUNE_EMU_COUNTERS", "denied", 1);
    profile_one(&with);
    for (int i = 5; i < 7; i++) {
        assert_string_equal(text_of(&with, i, "type"), "failed");
        assert_string_equal(text_of(&with, i, "what"), "counters are denied");
    }
    unsetenv("SIMTUNE_EMU_COUNTERS");
    end(&with);
}

int main(void)
{
    st_json_setup();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conversation),
        cmocka_unit_test(test_out_of_state),
        cmocka_unit_test(test_requests_that_do_not_fit),
        cmocka_unit_test(test_derived_and_in_place),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_emulated_profile),
        cmocka_unit_test(test_no_counters),
        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
