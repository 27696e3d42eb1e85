// SPDX-License-Identifier: Apache-2.0
// Readers of messages (tuner/worker/messages.h): JSON of any shape goes to each of them. What is accepted is
// within its limits, is written and read again, and the second text is the first.
#include "tests/fuzz/fuzz.h"

#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/worker/messages.h"

#include <string.h>

enum { BUFFERS = 3, KERNELS = 2 };

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    st_json_setup();
    return 0;
}

// Takes both.
static void must_equal(json_t *first, json_t *second, const char *what)
{
    FUZZ_MUST(first && second && json_equal(first, second), "a %s changed on its way", what);
    json_decref(first);
    json_decref(second);
}

static void must_read(st_code code, const st_error *error, const char *what)
{
    FUZZ_MUST(code == ST_OK, "a %s that was written is refused: %s", what, error->what);
}

static void check_plan(const json_t *json)
{
    st_plan plan, again;
    st_error error = {0};
    st_code code = st_plan_decode(json, BUFFERS, KERNELS, &plan, &error);
    if (code) {
        fuzz_check_error(code, &error);
        return;
    }
    for (uint32_t i = 0; i < plan.step_count; i++) {
        const st_plan_step *step = &plan.steps[i];
        FUZZ_MUST(step->is_zero ? step->buffer >= 0 && step->buffer < BUFFERS
                                : step->kernel >= 0 && step->kernel < KERNELS,
                  "step %u names what is not there", i);
        for (uint32_t a = 0; a < step->argument_count; a++)
            FUZZ_MUST(step->arguments[a].buffer >= -1 && step->arguments[a].buffer < BUFFERS,
                      "step %u has a buffer that is not there", i);
    }
    json_t *first = st_plan_encode(&plan);
    FUZZ_MUST(first, "a plan cannot be written");
    must_read(st_plan_decode(first, BUFFERS, KERNELS, &again, &error), &error, "plan");
    must_equal(first, st_plan_encode(&again), "plan");
    st_plan_release(&plan);
    st_plan_release(&again);
}

// The readers of lists: SOME_decode(json, &list, &count, &error).
#define CHECK_LIST(name, type, decode, encode, what)                                               \
    static void check_##name(const json_t *json)                                                   \
    {                                                                                              \
        type *list = NULL, *again = NULL;                                                          \
        size_t count = 0, again_count = 0;                                                         \
        st_error error = {0};                                                                      \
        st_code code = decode(json, &list, &count, &error);                                        \
        if (code) {                                                                                \
            fuzz_check_error(code, &error);                                                        \
            return;                                                                                \
        }                                                                                          \
        json_t *first = encode(list, count);                                                       \
        FUZZ_MUST(first, "a " what " cannot be written");                                          \
        must_read(decode(first, &again, &again_count, &error), &error, what);                      \
        must_equal(first, encode(again, again_count), what);                                       \
        st_free(list);                                                                             \
        st_free(again);                                                                            \
    }
#define DECODE_COMPARES(json, list, count, error)                                                  \
    st_plan_compares_decode(json, BUFFERS, list, count, error)
CHECK_LIST(buffers, st_plan_buffer, st_plan_buffers_decode, st_plan_buffers_encode, "buffer")
CHECK_LIST(kernels, st_load_kernel, st_load_kernels_decode, st_load_kernels_encode, "kernel")
CHECK_LIST(compares, st_plan_compare, DECODE_COMPARES, st_plan_compares_encode, "comparison")

static void check_loaded(const json_t *json)
{
    st_loaded_kernel list[KERNELS], again[KERNELS];
    st_error error = {0};
    st_code code = st_loaded_kernels_decode(json, list, KERNELS, &error);
    if (code) {
        fuzz_check_error(code, &error);
        return;
    }
    json_t *first = st_loaded_kernels_encode(list, KERNELS);
    must_read(st_loaded_kernels_decode(first, again, KERNELS, &error), &error, "loaded kernel");
    must_equal(first, st_loaded_kernels_encode(again, KERNELS), "loaded kernel");
}

// The readers of one struct: SOME_decode(json, &value, &error).
#define CHECK_ONE(name, type, decode, encode, what)                                                \
    static void check_##name(const json_t *json)                                                   \
    {                                                                                              \
        type value, again;                                                                         \
        st_error error = {0};                                                                      \
        memset(&value, 0, sizeof value);                                                           \
        memset(&again, 0, sizeof again);                                                           \
        st_code code = decode(json, &value, &error);                                               \
        if (code) {                                                                                \
            fuzz_check_error(code, &error);                                                        \
            return;                                                                                \
        }                                                                                          \
        json_t *first = encode(&value);                                                            \
        FUZZ_MUST(first, "a " what " cannot be written");                                          \
        must_read(decode(first, &again, &error), &error, what);                                    \
        must_equal(first, encode(&again), what);                                                   \
    }
CHECK_ONE(verdict, st_verdict, st_verdict_decode, st_verdict_encode, "verdict")
CHECK_ONE(state, st_timing_state, st_timing_state_decode, st_timing_state_encode, "state")
CHECK_ONE(facts, st_device_facts, st_device_facts_decode, st_device_facts_encode, "device")

// The getters on any value, an object or not.
static void check_getters(const json_t *json)
{
    int64_t whole;
    double number;
    bool truth;
    const char *text;
    json_t *part;
    static const char *const keys[] = {"name", "count", "bounded", "steps", "got", ""};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        st_error error = {0};
        st_code code = st_json_get_int(json, keys[i], &whole, &error);
        FUZZ_MUST(code == error.code, "a whole number without an error");
        FUZZ_MUST(code || st_json_get_number(json, keys[i], &number, NULL) == ST_OK,
                  "a whole number is no number");
        (void)st_json_get_bool(json, keys[i], &truth, NULL);
        (void)st_json_get_string(json, keys[i], &text, NULL);
        (void)st_json_get_array(json, keys[i], &part, NULL);
        (void)st_json_get_object(json, keys[i], &part, NULL);
        (void)st_json_number_or_nan(json, keys[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *json = NULL, *again = NULL;
    st_error error = {0};
    st_code code = st_json_parse((const char *)data, size, "message", &json, &error);
    if (code) {
        fuzz_check_error(code, &error);
        return 0;
    }
    st_text text;
    st_text_init(&text);
    st_json_print(json, &text);
    FUZZ_MUST(!text.failed &&
                  st_json_parse(text.data, text.length, "again", &again, &error) == ST_OK &&
                  json_equal(json, again),
              "JSON changed on its way: %s", st_text_string(&text));
    json_decref(again);
    st_text_release(&text);
    check_getters(json);
    check_plan(json);
    check_buffers(json);
    check_kernels(json);
    check_compares(json);
    check_loaded(json);
    check_verdict(json);
    check_state(json);
    check_facts(json);
    json_decref(json);
    return 0;
}
