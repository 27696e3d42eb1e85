// SPDX-License-Identifier: Apache-2.0
// What tuner and workers say to each other. Invariants of messages.c: 1. a decoder checks presence, type and
// range of every field; 2. on failure nothing is left to free (the sanitizer looks).
// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/worker/messages.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_outcomes(void **state)
{
    (void)state;
    for (int i = 0; i < ST_OUTCOME_COUNT; i++)
        assert_int_equal(st_outcome_find(st_outcome_name((st_outcome)i)), i);
    assert_int_equal(st_outcome_find("frobnicated"), -1);
    assert_int_equal(st_outcome_find(""), -1);
    assert_string_equal(st_outcome_name(ST_OUTCOME_COUNT), "unknown");
}

// --- a plan -----------------------------------------------------------------------------------------------

static st_plan_argument arguments[] = {{0, ST_F32, 0}, {1, ST_F64, 0}, {-1, ST_U64, 268435456}, {-1, ST_I32, -7}};
static st_plan_step steps[] = {
    {.is_zero = true, .buffer = 1, .zero_bytes = 1ull << 40},
    {.kernel = 1, .grid = {2147483647, 2, 3}, .block = {1024, 1, 1}, .smem = 232448, .cluster = 8,
     .dependent = true, .arguments = arguments, .argument_count = 4},
    {.kernel = 0, .grid = {1, 1, 1}, .block = {32, 1, 1}, .cluster = 1}};
static uint64_t temps[] = {0, 1ull << 33};
static const st_plan plan = {.steps = steps, .step_count = 3, .temp_counts = temps, .buffer_count = 2};

static void assert_same_plan(const st_plan *got)
{
    assert_int_equal(got->step_count, 3);
    assert_int_equal(got->buffer_count, 2);
    assert_memory_equal(got->temp_counts, temps, sizeof temps);
    assert_true(got->steps[0].is_zero);
    assert_int_equal(got->steps[0].buffer, 1);
    assert_true(got->steps[0].zero_bytes == 1ull << 40);
    for (int i = 1; i < 3; i++) {
        const st_plan_step *a = &got->steps[i], *b = &steps[i];
        assert_int_equal(a->kernel, b->kernel);
        assert_memory_equal(a->grid, b->grid, sizeof a->grid);
        assert_memory_equal(a->block, b->block, sizeof a->block);
        assert_int_equal(a->smem, b->smem);
        assert_int_equal(a->cluster, b->cluster);
        assert_int_equal(a->dependent, b->dependent);
        assert_int_equal(a->argument_count, b->argument_count);
        for (uint32_t j = 0; j < a->argument_count; j++) {
            assert_int_equal(a->arguments[j].buffer, b->arguments[j].buffer);
            assert_int_equal(a->arguments[j].type, b->arguments[j].type);
            assert_true(a->arguments[j].value == b->arguments[j].value);
        }
    }
}

static void test_plan(void **state)
{
    (void)state;
    st_plan got;
    json_t *json = st_plan_encode(&plan);
    assert_int_equal(st_plan_decode(json, 2, 2, &got, NULL), ST_OK);
    assert_same_plan(&got);
    st_plan_release(&got);
    st_plan_release(&got); // twice is fine
    json_decref(json);
    const st_plan nothing = {0};
    json = st_plan_encode(&nothing);
    assert_int_equal(st_plan_decode(json, 0, 0, &got, NULL), ST_OK);
    assert_int_equal(got.step_count, 0);
    st_plan_release(&got);
    json_decref(json);
}

// The plan as JSON with one place changed.
static st_code decode_changed(const char *from, const char *to)
{
    st_text text;
    st_text_init(&text);
    json_t *json = st_plan_encode(&plan), *changed = NULL;
    st_json_print(json, &text);
    json_decref(json);
    char *place = strstr(text.data, from);
    if (!place)
        fail_msg("the plan does not hold %s: %s", from, text.data);
    char *whole = st_format("%.*s%s%s", (int)(place - text.data), text.data, to, place + strlen(from));
    st_error error = {0};
    if (st_json_parse(whole, strlen(whole), "test", &changed, &error) != ST_OK)
        fail_msg("%s", error.what);
    st_plan got;
    st_code code = st_plan_decode(changed, 2, 2, &got, &error);
    if (code == ST_OK)
        st_plan_release(&got);
    else
        assert_true(error.what[0]);
    json_decref(changed);
    st_free(whole);
    st_text_release(&text);
    return code;
}

static void test_plan_refuses(void **state)
{
    (void)state;
    static const char *const changes[][2] = {
        {"\"zero\":1", "\"zero\":2"},                       // a buffer that is not there
        {"\"zero\":1", "\"zero\":-1"},
        {"\"zero\":1", "\"zero\":\"1\""},
        {"\"bytes\":1099511627776", "\"bytes\":-1"},
        {"\"bytes\":1099511627776", "\"bites\":1"},
        {"\"kernel\":1", "\"kernel\":2"},                   // a kernel that is not there
        {"\"kernel\":1", "\"kernel\":-1"},
        {"\"kernel\":1", "\"colonel\":1"},
        {"\"grid\":[2147483647,2,3]", "\"grid\":[4294967296,2,3]"},
        {"\"grid\":[2147483647,2,3]", "\"grid\":[1,2]"},
        {"\"grid\":[2147483647,2,3]", "\"grid\":[1,-2,3]"},
        {"\"grid\":[2147483647,2,3]", "\"grid\":[1,2.5,3]"},
        {"\"grid\":[2147483647,2,3]", "\"grid\":7"},
        {"\"block\":[1024,1,1]", "\"block\":[1024,\"1\",1]"},
        {"\"smem\":232448", "\"smem\":-1"},
        {"\"smem\":232448", "\"smem\":2000000000"},
        {"\"cluster\":8", "\"cluster\":1000"},
        {"\"dependent\":true", "\"dependent\":1"},
        {"[0,0,0]", "[2,0,0]"},                             // an argument's buffer
        {"[0,0,0]", "[-2,0,0]"},
        {"[0,0,0]", "[0,9,0]"},                             // its type: one beyond the last
        {"[0,0,0]", "[0,-1,0]"},
        {"[0,0,0]", "[0,0]"},
        {"[0,0,0]", "null"},
        {"\"temps\":[0,8589934592]", "\"temps\":[0]"},
        {"\"temps\":[0,8589934592]", "\"temps\":[0,1,2]"},
        {"\"temps\":[0,8589934592]", "\"temps\":[0,-1]"},
        {"\"temps\":[0,8589934592]", "\"temps\":[0,\"1\"]"},
        {"\"temps\":[0,8589934592]", "\"temps\":[0,9223372036854775807]"},
        {"\"temps\":[0,8589934592]", "\"temps\":{}"},
        {"\"steps\":", "\"stops\":"}};
    assert_int_equal(ST_TYPE_COUNT, 9); // as a row above has it
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++)
        if (decode_changed(changes[i][0], changes[i][1]) != ST_FAILED)
            fail_msg("%s is taken", changes[i][1]);
    assert_int_equal(decode_changed("\"cluster\":8", "\"cluster\":4"), ST_OK); // the trial itself works
    st_plan got;
    assert_int_equal(st_plan_decode(NULL, 0, 0, &got, NULL), ST_FAILED);
}

// --- lists --------------------------------------------------------------------------------------------------

static void test_buffers(void **state)
{
    (void)state;
    const st_plan_buffer buffers[] = {
        {.name = "in", .role = 0, .type = ST_F16, .count = 1ull << 40, .fill = "values", .misalign = 1},
        {.name = "out", .role = 6, .type = ST_U8, .count = 0, .fill = "below", .fill_values = {50, 1, INT64_MIN},
         .fill_value_count = 3}};
    st_plan_buffer *got;
    size_t count;
    json_t *json = st_plan_buffers_encode(buffers, 2);
    assert_int_equal(st_plan_buffers_decode(json, &got, &count, NULL), ST_OK);
    assert_int_equal(count, 2);
    assert_string_equal(got[0].name, "in");
    assert_string_equal(got[0].fill, "values");
    assert_true(got[0].count == 1ull << 40);
    assert_int_equal(got[0].misalign, 1);
    assert_int_equal(got[0].type, ST_F16);
    assert_int_equal(got[0].fill_value_count, 0);
    assert_int_equal(got[1].role, 6);
    assert_int_equal(got[1].fill_value_count, 3);
    assert_int_equal(got[1].fill_values[0], 50);
    assert_true(got[1].fill_values[2] == INT64_MIN);
    st_free(got);
    json_decref(json);
    json = st_plan_buffers_encode(NULL, 0);
    assert_int_equal(st_plan_buffers_decode(json, &got, &count, NULL), ST_OK);
    assert_int_equal(count, 0);
    st_free(got);
    json_decref(json);
}

#define BUFFER(name, fill, role, type, count, misalign) \
    "[{\"name\":" name ",\"fill\":" fill ",\"role\":" role ",\"type\":" type ",\"count\":" count ",\"misalign\":" misalign "}]"

static void test_buffers_refuse(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "{}", "[1]", "[{}]", "null",
        BUFFER("7", "\"\"", "0", "0", "1", "0"),
        BUFFER("\"0123456789012345678901234567890123456789012345678901234567890123\"", "\"\"", "0", "0", "1", "0"),
        BUFFER("\"x\"", "\"01234567890123456789012345678901\"", "0", "0", "1", "0"),
        BUFFER("\"x\"", "\"\"", "7", "0", "1", "0"), BUFFER("\"x\"", "\"\"", "-1", "0", "1", "0"),
        BUFFER("\"x\"", "\"\"", "0", "9", "1", "0"), BUFFER("\"x\"", "\"\"", "0", "0", "-1", "0"),
        BUFFER("\"x\"", "\"\"", "0", "0", "9223372036854775807", "0"), BUFFER("\"x\"", "\"\"", "0", "0", "1", "256"),
        BUFFER("\"x\"", "\"\"", "0", "0", "1", "-1"), BUFFER("\"x\"", "\"\"", "0", "0", "1.5", "0"),
        BUFFER("\"x\"", "\"\"", "0", "0", "1", "0,\"fill_values\":7"),
        BUFFER("\"x\"", "\"\"", "0", "0", "1", "0,\"fill_values\":[1,2,3,4]"),
        BUFFER("\"x\"", "\"\"", "0", "0", "1", "0,\"fill_values\":[1.5]")};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        json_t *json = NULL;
        st_plan_buffer *got = (st_plan_buffer *)1;
        size_t count = 9;
        assert_int_equal(st_json_parse(wrong[i], strlen(wrong[i]), "test", &json, NULL), ST_OK);
        if (st_plan_buffers_decode(json, &got, &count, NULL) != ST_FAILED)
            fail_msg("%s is taken", wrong[i]);
        assert_null(got);
        assert_int_equal(count, 0);
        json_decref(json);
    }
    json_t *json = NULL; // and what lies just within
    static const char fine[] = BUFFER("\"x\"", "\"\"", "6", "8", "576460752303423487", "255");
    st_plan_buffer *got;
    size_t count;
    assert_int_equal(st_json_parse(fine, strlen(fine), "test", &json, NULL), ST_OK);
    assert_int_equal(st_plan_buffers_decode(json, &got, &count, NULL), ST_OK);
    st_free(got);
    json_decref(json);
}

static void test_kernels(void **state)
{
    (void)state;
    st_load_kernel kernels[2] = {{.lowered = "_Z6reducePf", .block = 1024, .smem = 232448}, {.block = 0, .smem = 0}};
    memset(kernels[1].lowered, 'k', ST_NAME_MAX - 1);
    st_load_kernel *got;
    size_t count;
    json_t *json = st_load_kernels_encode(kernels, 2);
    assert_int_equal(st_load_kernels_decode(json, &got, &count, NULL), ST_OK);
    assert_int_equal(count, 2);
    assert_string_equal(got[0].lowered, "_Z6reducePf");
    assert_int_equal(got[0].block, 1024);
    assert_int_equal(got[0].smem, 232448);
    assert_string_equal(got[1].lowered, kernels[1].lowered);
    st_free(got);
    json_object_set_new(json_array_get(json, 0), "block", json_integer(-1));
    assert_int_equal(st_load_kernels_decode(json, &got, &count, NULL), ST_FAILED);
    json_object_set_new(json_array_get(json, 0), "block", json_integer(1024));
    char *name = st_format("%s%s", kernels[1].lowered, "k"); // one too long
    json_object_set_new(json_array_get(json, 1), "name", json_string(name));
    assert_int_equal(st_load_kernels_decode(json, &got, &count, NULL), ST_FAILED);
    st_free(name);
    json_decref(json);
}

static void test_loaded_kernels(void **state)
{
    (void)state;
    const st_loaded_kernel kernels[] = {{32, 0, 128, 1024, 8}, {255, 4096, 0, 256, -1}};
    st_loaded_kernel got[2];
    json_t *json = st_loaded_kernels_encode(kernels, 2);
    assert_int_equal(st_loaded_kernels_decode(json, got, 2, NULL), ST_OK);
    assert_memory_equal(got, kernels, sizeof kernels);
    assert_int_equal(st_loaded_kernels_decode(json, got, 1, NULL), ST_FAILED);
    assert_int_equal(st_loaded_kernels_decode(NULL, got, 1, NULL), ST_FAILED);
    static const json_int_t wrong[] = {-2, 1ll << 31, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        json_array_set_new(json_array_get(json, 1), 2, json_integer(wrong[i]));
        assert_int_equal(st_loaded_kernels_decode(json, got, 2, NULL), ST_FAILED);
    }
    json_array_set_new(json_array_get(json, 1), 2, json_string("0"));
    assert_int_equal(st_loaded_kernels_decode(json, got, 2, NULL), ST_FAILED);
    json_array_set_new(json, 1, json_array());
    assert_int_equal(st_loaded_kernels_decode(json, got, 2, NULL), ST_FAILED);
    json_decref(json);
}

static void test_compares(void **state)
{
    (void)state;
    const st_plan_compare compares[] = {{.output = 1, .expected = 2, .magnitude = 3, .bounded = true, .height = 40},
                                        {.output = 0, .expected = -1, .magnitude = -1, .tolerance = 1e-5}};
    st_plan_compare *got;
    size_t count;
    json_t *json = st_plan_compares_encode(compares, 2);
    assert_int_equal(st_plan_compares_decode(json, 4, &got, &count, NULL), ST_OK);
    assert_int_equal(count, 2);
    assert_int_equal(got[0].output, 1);
    assert_int_equal(got[0].magnitude, 3);
    assert_true(got[0].bounded && got[0].height == 40);
    assert_int_equal(got[1].expected, -1);
    assert_true(got[1].tolerance == 1e-5 && !got[1].bounded);
    st_free(got);
    assert_int_equal(st_plan_compares_decode(json, 3, &got, &count, NULL), ST_FAILED); // magnitude 3 is not there
    assert_int_equal(st_plan_compares_decode(json, 0, &got, &count, NULL), ST_FAILED);
    json_object_set_new(json_array_get(json, 0), "height", json_integer(-1));
    assert_int_equal(st_plan_compares_decode(json, 4, &got, &count, NULL), ST_FAILED);
    json_decref(json);
}

// --- single rows ----------------------------------------------------------------------------------------------

static void test_verdict(void **state)
{
    (void)state;
    const st_verdict verdict = {.mismatches = 1ull << 40, .checked = 1ull << 41, .first_index = 5, .got = NAN,
                                .expected = 0.1, .bound = NAN, .what = "value", .output = "out"};
    st_verdict got;
    json_t *json = st_verdict_encode(&verdict);
    assert_int_equal(st_verdict_decode(json, &got, NULL), ST_OK);
    assert_true(got.mismatches == 1ull << 40 && got.checked == 1ull << 41);
    assert_int_equal(got.first_index, 5);
    assert_true(isnan(got.got) && isnan(got.bound)); // unknown stays unknown
    assert_true(got.expected == 0.1);
    assert_string_equal(got.what, "value");
    assert_string_equal(got.output, "out");
    json_object_set_new(json, "mismatches", json_integer(-1));
    assert_int_equal(st_verdict_decode(json, &got, NULL), ST_FAILED);
    json_object_set_new(json, "mismatches", json_integer(0));
    json_object_del(json, "what");
    assert_int_equal(st_verdict_decode(json, &got, NULL), ST_FAILED);
    json_decref(json);
}

static void test_timing_state(void **state)
{
    (void)state;
    const st_timing_state unknown = {-1, -1, -1, -1, -1, -1, 0, 1, NAN};
    const st_timing_state known = {1980, 3201, 41, 300000, 0x44, 2, 7, 40, 32};
    st_timing_state got;
    json_t *json = st_timing_state_encode(&unknown);
    assert_int_equal(st_timing_state_decode(json, &got, NULL), ST_OK);
    assert_int_equal(got.sm_clock_mhz, -1);
    assert_true(got.throttle_reasons == -1 && got.other_processes == -1 && isnan(got.tick_ns));
    json_decref(json);
    json = st_timing_state_encode(&known);
    assert_int_equal(st_timing_state_decode(json, &got, NULL), ST_OK);
    assert_int_equal(got.sm_clock_mhz, 1980);
    assert_int_equal(got.memory_clock_mhz, 3201);
    assert_int_equal(got.temperature_c, 41);
    assert_int_equal(got.power_mw, 300000);
    assert_int_equal(got.throttle_reasons, 0x44);
    assert_int_equal(got.other_processes, 2);
    assert_int_equal(got.dropped, 7);
    assert_int_equal(got.batch, 40);
    assert_true(got.tick_ns == 32);
    static const struct {
        const char *key;
        json_int_t value;
    } wrong[] = {{"batch", 0}, {"batch", 1ll << 33}, {"dropped", -1}, {"sm_clock_mhz", -2},
                 {"temperature_c", 1ll << 31}, {"other_processes", -2}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        json_t *copy = json_deep_copy(json);
        json_object_set_new(copy, wrong[i].key, json_integer(wrong[i].value));
        if (st_timing_state_decode(copy, &got, NULL) != ST_FAILED)
            fail_msg("%s %lld is taken", wrong[i].key, (long long)wrong[i].value);
        json_decref(copy);
    }
    json_decref(json);
}

static st_device_facts some_facts(void)
{
    st_device_facts facts = {.name = "NVIDIA H200", .uuid = "GPU-1", .backend = "cuda", .driver = "", .driver_cuda = 13000,
                             .pci = "0000:05:00.0", .ordinal = 1, .ecc = true};
    int64_t next = -1;
#define X(field, name, unit, meaning) facts.field = next++;
    ST_DEVICE_FACTS(X)
#undef X
    return facts;
}

static void test_device_facts(void **state)
{
    (void)state;
    st_device_facts facts = some_facts(), got;
    json_t *json = st_device_facts_encode(&facts);
    assert_int_equal(st_device_facts_decode(json, &got, NULL), ST_OK);
    assert_string_equal(got.name, facts.name);
    assert_string_equal(got.uuid, facts.uuid);
    assert_string_equal(got.driver, "");
    assert_string_equal(got.pci, facts.pci);
    assert_int_equal(got.driver_cuda, 13000);
    assert_int_equal(got.ordinal, 1);
    assert_true(got.ecc && !got.is_mig && !got.is_integrated);
#define X(field, name, unit, meaning) assert_true(got.field == facts.field);
    ST_DEVICE_FACTS(X)
#undef X
    // Every field is needed, and of its type.
    const char *key;
    json_t *value;
    json_object_foreach(json, key, value)
    {
        json_t *copy = json_deep_copy(json);
        json_object_del(copy, key);
        if (st_device_facts_decode(copy, &got, NULL) != ST_FAILED)
            fail_msg("facts without %s are taken", key);
        json_object_set_new(copy, key, json_array());
        assert_int_equal(st_device_facts_decode(copy, &got, NULL), ST_FAILED);
        json_decref(copy);
    }
    json_decref(json);
}

// Each allocation fails in turn: an encoder gives NULL, a decoder an error, and nothing leaks.
static void test_no_memory(void **state)
{
    (void)state;
    for (unsigned long n = 1; n < 2000; n++) {
        st_plan got;
        st_device_facts facts = some_facts();
        st_fault_arm(ST_FAULT_ALLOCATION, n);
        json_t *json = st_plan_encode(&plan);
        st_code code = json ? st_plan_decode(json, 2, 2, &got, NULL) : ST_NO_MEMORY;
        json_t *other = st_device_facts_encode(&facts);
        bool injected = st_fault_injected(ST_FAULT_ALLOCATION);
        st_fault_arm(ST_FAULT_ALLOCATION, 0);
        if (code == ST_OK) {
            assert_same_plan(&got);
            st_plan_release(&got);
        } else
            assert_true(injected);
        json_decref(json);
        json_decref(other);
        if (!injected)
            return;
    }
    fail_msg("the trial without a fault was never reached");
}

int main(void)
{
    st_json_setup();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outcomes),       cmocka_unit_test(test_plan),
        cmocka_unit_test(test_plan_refuses),   cmocka_unit_test(test_buffers),
        cmocka_unit_test(test_buffers_refuse), cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_loaded_kernels), cmocka_unit_test(test_compares),
        cmocka_unit_test(test_verdict),        cmocka_unit_test(test_timing_state),
        cmocka_unit_test(test_device_facts),   cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
