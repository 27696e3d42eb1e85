// SPDX-License-Identifier: Apache-2.0
// The tuner's end of a conversation with a worker (link.c). Invariants: 1. one request in flight; 2. after trouble
// that ended the worker a new one stands at the same problem before the next request; 3. a worker that cannot be
// brought back is an error of the tool, not of the candidate. Promise: a worker that dies, hangs or answers nonsense
// costs the request in flight.
//
// This program is its own worker: --internal time answers as a script says. SCRIPT is TYPE:N:WHAT, what the N-th
// request of that type over all workers of a test meets; COUNT is the file in which they are counted.
// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tuner/base/channel.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/link.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHANNEL = 3, SAMPLES = 3 };

// --- the worker --------------------------------------------------------------------------------------------

static const char *field(const char *script, int index, char *out, size_t capacity)
{
    for (; script && index > 0; index--)
        script = strchr(script, ':') ? strchr(script, ':') + 1 : NULL;
    snprintf(out, capacity, "%.*s", script ? (int)strcspn(script, ":") : 0, script ? script : "");
    return out;
}

// The number of this request among those of its type.
static long number_of(const char *type)
{
    char path[512];
    snprintf(path, sizeof path, "%s.%s", getenv("COUNT"), type);
    FILE *file = fopen(path, "a");
    if (!file)
        return -1;
    fputc('.', file);
    long number = ftell(file);
    fclose(file);
    return number;
}

static json_t *answer_to(const char *type, const json_t *request)
{
    if (strcmp(type, "open") == 0) {
        st_device_facts facts = {.name = "Scripted",
                                 .uuid = "EMU-1",
                                 .backend = "emu",
                                 .driver_cuda = -1,
                                 .cc = 90,
                                 .sm_count = 4};
        return json_pack("{s:s, s:o, s:i, s:i}", "type", "opened", "facts",
                         st_device_facts_encode(&facts), "free_bytes", 1000, "total_bytes", 2000);
    }
    if (strcmp(type, "support") == 0)
        return json_pack("{s:s, s:f}", "type", "ready", "tick_ns", 32.0);
    if (strcmp(type, "load") == 0) {
        st_loaded_kernel facts = {16, 0, 64, 1024, 8};
        return json_pack("{s:s, s:o}", "type", "loaded", "kernels",
                         st_loaded_kernels_encode(&facts, 1));
    }
    if (strcmp(type, "verify") == 0) {
        st_verdict verdict = {.checked = 100, .got = NAN, .expected = NAN, .bound = NAN};
        return json_pack("{s:s, s:o}", "type", "verified", "verdict", st_verdict_encode(&verdict));
    }
    if (strcmp(type, "time") == 0 || strcmp(type, "race") == 0) {
        st_timing_state state = {-1, -1, -1, -1, -1, -1, 0, 1, 32};
        return json_pack("{s:s, s:o}", "type", "timed", "state", st_timing_state_encode(&state));
    }
    if (strcmp(type, "stalls") == 0)
        return json_pack("{s:s, s:{}}", "type", "stalls", "profile");
    if (strcmp(type, "counters") == 0)
        return json_pack("{s:s, s:[]}", "type", "counters", "values");
    if (strcmp(type, "speed") == 0)
        return json_pack("{s:s, s:f, s:f}", "type", "speed", "read_gbs", 40.0, "copy_gbs", 20.0);
    (void)request;
    return json_pack("{s:s}", "type", "ready");
}

static int be_worker(void)
{
    static const double samples[2 * SAMPLES] = {5, 6, 7, 8, 9, 10};
    const char *script = getenv("SCRIPT");
    char wanted[32], when[32], what[32];
    field(script, 0, wanted, sizeof wanted);
    field(script, 1, when, sizeof when);
    field(script, 2, what, sizeof what);
    st_frame frame;
    while (st_channel_receive(CHANNEL, -1, &frame, NULL) == ST_RECEIVED) {
        char type[32];
        snprintf(type, sizeof type, "%s", json_string_value(json_object_get(frame.json, "type")));
        long number = number_of(type);
        bool now =
            strcmp(type, wanted) == 0 && (strcmp(when, "every") == 0 || number == atol(when));
        json_t *reply = NULL;
        if (now && strcmp(what, "dies") == 0) {
            fprintf(stderr, "I had enough\n");
            abort();
        }
        if (now && strcmp(what, "ends") == 0)
            exit(7);
        if (now && strcmp(what, "hangs") == 0)
            pause();
        if (now && strcmp(what, "babbles") == 0) {
            if (write(CHANNEL, "what is a frame?", 16) != 16)
                return 1;
            pause();
        }
        if (now && strcmp(what, "refuses") == 0)
            reply = json_pack("{s:s, s:i, s:s, s:s, s:b}", "type", "failed", "code", 1, "what",
                              "too many resources", "remedy", "ask for less", "lost", 0);
        else if (now && strcmp(what, "lost") == 0)
            reply = json_pack("{s:s, s:i, s:s, s:s, s:b}", "type", "failed", "code", 1, "what",
                              "illegal address", "remedy", "", "lost", 1);
        else if (now && strcmp(what, "too_big") == 0)
            reply = json_pack("{s:s, s:i, s:i}", "type", "too_big", "wanted", 9, "free", 1);
        else if (now && strcmp(what, "need_module") == 0 && !frame.blob_length)
            reply = json_pack("{s:s}", "type", "need_module");
        else if (now && strcmp(what, "nonsense") == 0)
            reply = json_pack("{s:s, s:s}", "type", "loaded", "kernels", "many");
        else
            reply = answer_to(type, frame.json);
        size_t bytes = strcmp(type, "time") == 0   ? SAMPLES * sizeof *samples
                       : strcmp(type, "race") == 0 ? 2 * SAMPLES * sizeof *samples
                                                   : 0;
        bool sent = st_channel_send(CHANNEL, reply, bytes ? samples : NULL, bytes, NULL) == ST_OK;
        json_decref(reply);
        st_frame_release(&frame);
        if (!sent)
            return 1;
    }
    return 0;
}

// --- the conversation ------------------------------------------------------------------------------------------

static char folder[] = "/tmp/simtune-test-link-XXXXXX";
static char count_file[64];

static void script(const char *words)
{
    static int serial;
    snprintf(count_file, sizeof count_file, "%s/%d", folder, serial++);
    setenv("COUNT", count_file, 1);
    setenv("SCRIPT", words, 1);
}

static long asked(const char *type)
{
    char path[128];
    struct stat status;
    snprintf(path, sizeof path, "%s.%s", count_file, type);
    return stat(path, &status) == 0 ? (long)status.st_size : 0;
}

static st_link *open_link(st_error *error)
{
    st_link *link = NULL;
    st_link_options options = {.backend = "emu", .support = "support", .support_bytes = 7};
    st_link_open(&options, &link, error);
    return link;
}

static st_code go(st_link *link, bool *too_big, st_error *error)
{
    static const st_plan_buffer buffers[] = {{.name = "in", .count = 10, .fill = "values"}};
    static uint64_t temps[] = {0};
    static const st_plan plan = {.temp_counts = temps, .buffer_count = 1};
    st_link_problem problem = {
        .buffers = buffers, .buffer_count = 1, .image = "image", .image_bytes = 5, .plan = &plan};
    return st_link_set_problem(link, &problem, too_big, error);
}

static st_code load(st_link *link, st_loaded_kernel *facts, st_trouble *trouble, st_error *error)
{
    static const st_load_kernel kernel = {.lowered = "k", .block = 32};
    return st_link_load(link, 1, 7, "module", 6, &kernel, 1, facts, 5, trouble, error);
}

static st_code verify(st_link *link, double limit, st_trouble *trouble, st_error *error)
{
    static const st_plan_compare compare = {.output = 0, .expected = -1, .magnitude = -1};
    st_verdict verdict;
    const st_link_check check = {.compares = &compare, .count = 1};
    return st_link_verify(link, 1, ST_DATA_EXACT, 0, &check, limit, &verdict, trouble, error);
}

static st_link *at_problem(void)
{
    st_error error = {0};
    bool too_big;
    st_link *link = open_link(&error);
    if (!link || go(link, &too_big, &error) != ST_OK)
        fail_msg("%s", error.what);
    return link;
}

static void test_all_is_well(void **state)
{
    (void)state;
    script("");
    st_error error = {0};
    st_trouble trouble;
    st_loaded_kernel facts;
    st_link *link = at_problem();
    assert_string_equal(st_link_facts(link)->name, "Scripted");
    assert_int_equal(st_link_free_bytes(link), 1000);
    assert_true(st_link_tick_ns(link) == 32);
    assert_int_equal(load(link, &facts, &trouble, &error), ST_OK);
    assert_int_equal(trouble, ST_TROUBLE_NONE);
    assert_int_equal(facts.blocks_per_sm, 8);
    double *samples = NULL, read_gbs, copy_gbs;
    size_t count = 0, rounds = 0;
    st_timing_state conditions;
    assert_int_equal(
        st_link_time(link, 1, "cold", SAMPLES, 5, &samples, &count, &conditions, &trouble, &error),
        ST_OK);
    assert_int_equal(count, SAMPLES);
    assert_true(samples[2] == 7);
    st_free(samples);
    const int64_t both[] = {1, 2};
    assert_int_equal(st_link_race(link, both, 2, "warm", SAMPLES, 1, 5, &samples, &rounds,
                                  &conditions, &trouble, &error),
                     ST_OK);
    assert_int_equal(rounds, SAMPLES);
    assert_true(samples[5] == 10);
    st_free(samples);
    assert_int_equal(st_link_speed(link, &read_gbs, &copy_gbs, &trouble, &error), ST_OK);
    assert_true(read_gbs == 40 && copy_gbs == 20);
    assert_int_equal(st_link_generation(link), 0);
    st_link_close(link);
    assert_int_equal(asked("open"), 1);
    assert_int_equal(asked("problem"), 1);
}

// What each kind of end is to the candidate, and what stands in its place afterwards.
static void check_loss(const char *words, st_trouble expected, const char *message)
{
    script(words);
    st_error error = {0};
    st_trouble trouble;
    st_link *link = at_problem();
    assert_int_equal(verify(link, 0.5, &trouble, &error), ST_OK);
    assert_int_equal(trouble, expected);
    if (!strstr(error.what, message))
        fail_msg("'%s' is not in: %s", message, error.what);
    bool lost = expected != ST_TROUBLE_REFUSED;
    assert_int_equal(st_link_generation(link), lost);
    assert_int_equal(verify(link, 5, &trouble, &error), ST_OK);
    assert_int_equal(trouble, ST_TROUBLE_NONE);
    assert_int_equal(asked("open"), 1 + lost); // invariant 2
    assert_int_equal(asked("support"), 1 + lost);
    assert_int_equal(asked("problem"), 1 + lost);
    st_link_close(link);
}

static void test_losses(void **state)
{
    (void)state;
    check_loss("verify:1:dies", ST_TROUBLE_CRASH, "I had enough");
    check_loss("verify:1:ends", ST_TROUBLE_CRASH, "exit 7");
    check_loss("verify:1:hangs", ST_TROUBLE_TIMEOUT, "0.5 s");
    check_loss("verify:1:babbles", ST_TROUBLE_CRASH, "");
    check_loss("verify:1:lost", ST_TROUBLE_CRASH, "illegal address");
    check_loss("verify:1:refuses", ST_TROUBLE_REFUSED, "too many resources");
    check_loss("verify:1:nonsense", ST_TROUBLE_CRASH, "");
}

static void test_loading(void **state)
{
    (void)state;
    st_error error = {0};
    st_trouble trouble;
    st_loaded_kernel facts;
    script("load:1:need_module"); // the image follows
    st_link *link = at_problem();
    assert_int_equal(load(link, &facts, &trouble, &error), ST_OK);
    assert_int_equal(trouble, ST_TROUBLE_NONE);
    assert_int_equal(asked("load"), 2);
    st_link_close(link);
    script("load:1:nonsense");
    link = at_problem();
    assert_int_equal(load(link, &facts, &trouble, &error), ST_OK);
    assert_int_equal(trouble, ST_TROUBLE_CRASH);
    st_link_close(link);
}

static void test_problem(void **state)
{
    (void)state;
    st_error error = {0};
    bool too_big = false;
    script("problem:1:too_big");
    st_link *link = open_link(&error);
    assert_int_equal(go(link, &too_big, &error), ST_OK);
    assert_true(too_big);
    assert_int_equal(go(link, &too_big, &error), ST_OK);
    assert_false(too_big);
    st_link_close(link);
    script("problem:1:dies"); // of what was before: it gets another try
    link = open_link(&error);
    assert_int_equal(go(link, &too_big, &error), ST_OK);
    assert_int_equal(asked("open"), 2);
    st_link_close(link);
    script("problem:every:refuses");
    link = open_link(&error);
    assert_int_not_equal(go(link, &too_big, &error), ST_OK);
    assert_non_null(strstr(error.what, "too many resources"));
    st_link_close(link);
    // A worker that was lost, and the next one finds no room any more.
    script("verify:1:dies");
    link = at_problem();
    st_trouble trouble;
    setenv("SCRIPT", "problem:every:too_big", 1);
    assert_int_equal(verify(link, 5, &trouble, &error), ST_OK);
    assert_int_equal(trouble, ST_TROUBLE_CRASH);
    assert_int_equal(verify(link, 5, &trouble, &error), ST_FAILED);
    assert_non_null(strstr(error.what, "no longer the memory"));
    st_link_close(link);
}

static st_link *begin_link(st_error *error)
{
    st_link_options options = {.backend = "emu", .support = "SUPPORT", .support_bytes = 7};
    st_link *link = NULL;
    assert_int_equal(st_link_begin(&options, &link, error), ST_OK);
    return link;
}

// A worker that opens while others work: whatever is asked first waits for it, and one that dies meanwhile costs
// nothing.
static void test_begun(void **state)
{
    (void)state;
    st_error error = {0};
    st_trouble trouble;
    bool too_big;
    script("");
    st_link *link = begin_link(&error);
    assert_int_equal(st_link_await(link, &error), ST_OK);
    assert_string_equal(st_link_facts(link)->name, "Scripted");
    assert_true(st_link_tick_ns(link) == 32); // the support module went with it
    assert_int_equal(st_link_await(link, &error), ST_OK);
    assert_int_equal(asked("open"), 1);
    st_link_close(link);
    script("");
    link = begin_link(&error);
    assert_int_equal(go(link, &too_big, &error), ST_OK);
    assert_int_equal(verify(link, 5, &trouble, &error), ST_OK);
    assert_int_equal(trouble, ST_TROUBLE_NONE);
    assert_int_equal(asked("open"), 1);
    assert_int_equal(asked("support"), 1);
    st_link_close(link);
    script("open:1:dies");
    link = begin_link(&error);
    assert_int_equal(st_link_await(link, &error), ST_OK);
    assert_int_equal(asked("open"), 2);
    st_link_close(link);
    script("open:every:refuses");
    link = begin_link(&error);
    assert_int_not_equal(st_link_await(link, &error), ST_OK);
    assert_non_null(strstr(error.what, "too many resources"));
    st_link_close(link);
    // The support module comes after it was begun, once; and one that nobody waits for is ended.
    script("");
    st_link_options options = {.backend = "emu", .profiles = true, .warm = true};
    assert_int_equal(st_link_begin(&options, &link, &error), ST_OK);
    assert_int_equal(st_link_support(link, "SUPPORT", 7, &error), ST_OK);
    assert_int_equal(asked("support"), 1);
    st_link_close(link);
    st_link_close(begin_link(&error));
    options.program = "/nonexistent/simtune"; // which is known when it is waited for
    assert_int_equal(st_link_begin(&options, &link, &error), ST_OK);
    assert_int_not_equal(st_link_await(link, &error), ST_OK);
    assert_true(error.what[0]);
    st_link_close(link);
}

// Invariant 3.
static void test_not_brought_back(void **state)
{
    (void)state;
    st_error error = {0};
    st_trouble trouble;
    script("open:every:dies");
    assert_null(open_link(&error));
    assert_non_null(strstr(error.what, "signal 6"));
    assert_int_equal(asked("open"), 2);
    script("open:1:dies"); // once may be chance
    st_link *link = open_link(&error);
    assert_non_null(link);
    st_link_close(link);
    script("verify:1:dies");
    link = at_problem();
    verify(link, 5, &trouble, &error);
    setenv("SCRIPT", "open:every:ends", 1);
    assert_int_not_equal(verify(link, 5, &trouble, &error), ST_OK);
    assert_non_null(strstr(error.what, "cannot be started again"));
    st_link_close(link);
    st_link_options options = {.backend = "emu", .program = "/nonexistent/simtune"};
    assert_int_not_equal(st_link_open(&options, &link, &error), ST_OK);
    assert_null(link);
    assert_true(error.what[0]);
}

// --- faults in turn ------------------------------------------------------------------------------------------

// Everything that a run asks. Ends early with trouble or a failure, as a run does.
static st_code everything(st_link *link, st_trouble *trouble, st_error *error)
{
    st_loaded_kernel facts;
    st_timing_state conditions;
    double *samples = NULL, read_gbs, copy_gbs;
    size_t count = 0;
    json_t *reply = NULL;
    bool too_big = false;
    const int64_t one = 1;
    const char *metric = "occupancy";
    st_plan plan = {0};
    *trouble = ST_TROUBLE_NONE;
    st_code code = go(link, &too_big, error);
#define NEXT (code == ST_OK && *trouble == ST_TROUBLE_NONE)
    if (NEXT)
        code = load(link, &facts, trouble, error);
    if (NEXT)
        code = st_link_plan(link, 1, &plan, trouble, error);
    if (NEXT)
        code = verify(link, 5, trouble, error);
    if (NEXT)
        code = st_link_capture(link, 1, ST_DATA_EXACT, 0, 5, trouble, error);
    if (NEXT)
        code = st_link_time(link, 1, "cold", SAMPLES, 5, &samples, &count, &conditions, trouble,
                            error);
    if (NEXT)
        assert_int_equal(count, SAMPLES);
    st_free(samples);
    samples = NULL;
    if (NEXT)
        code = st_link_race(link, &one, 1, "warm", 2 * SAMPLES, 1, 5, &samples, &count, &conditions,
                            trouble, error);
    st_free(samples);
    if (NEXT)
        code = st_link_stalls(link, 1, &(st_link_stall_options){.minimum = 1, .lines = 8, .expected_ns = 1e4, .seconds = 1},
                              "cubin", 5, 5, &reply, trouble, error);
    json_decref(reply);
    reply = NULL;
    if (NEXT)
        code = st_link_counters(link, &one, 1, &metric, 1, 5, &reply, trouble, error);
    json_decref(reply);
    if (NEXT)
        code = st_link_speed(link, &read_gbs, &copy_gbs, trouble, error);
    if (NEXT)
        code = st_link_unload(link, 1, trouble, error);
    return code;
#undef NEXT
}

static st_link *begun_or_null(st_error *error)
{
    st_link_options options = {.backend = "emu", .support = "SUPPORT", .support_bytes = 7};
    st_link *link = NULL;
    (void)st_link_begin(&options, &link, error);
    return link;
}

static void test_faults(void **state)
{
    (void)state;
    static const st_fault kinds[] = {ST_FAULT_ALLOCATION, ST_FAULT_SYSTEM};
    for (int k = 0; k < 2; k++) {
        bool injected = true;
        for (unsigned long n = 1; injected; n += k ? 1 : 1 + n / 12) {
            script("");
            st_error error = {0};
            st_trouble trouble = ST_TROUBLE_NONE;
            st_fault_arm(kinds[k], n);
            st_link *link = ((unsigned long)k + n) % 2 ? open_link(&error) : begun_or_null(&error);
            st_code code = link ? everything(link, &trouble, &error) : error.code;
            injected = st_fault_injected(kinds[k]);
            st_fault_arm(kinds[k], 0);
            if (code != ST_OK || trouble != ST_TROUBLE_NONE) {
                assert_true(injected);
                assert_true(error.what[0]);
            }
            // One fault costs one request: the link is as good as before.
            if (link && (everything(link, &trouble, &error) != ST_OK || trouble != ST_TROUBLE_NONE))
                fail_msg("after kind %d pass %lu: %s", k, n, error.what);
            st_link_close(link);
        }
    }
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    char command[96];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(int argc, char **argv)
{
    st_json_setup();
    if (argc == 3 && strcmp(argv[1], "--internal") == 0)
        return be_worker();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_is_well),      cmocka_unit_test(test_losses),
        cmocka_unit_test(test_loading),          cmocka_unit_test(test_problem),
        cmocka_unit_test(test_not_brought_back), cmocka_unit_test(test_faults),
        cmocka_unit_test(test_begun),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
