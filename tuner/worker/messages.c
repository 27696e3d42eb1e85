// SPDX-License-Identifier: Apache-2.0
// Encoders and decoders of messages.h. Invariants: 1. a decoder checks presence, type and range of every
// field; 2. on failure nothing is left to free.
#include "tuner/worker/messages.h"

#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const outcome_names[ST_OUTCOME_COUNT] = {
    "correct", "wrong", "race", "compile", "launch", "crash", "timeout", "constraint", "skipped"};

const char *st_outcome_name(st_outcome outcome)
{
    return outcome < ST_OUTCOME_COUNT ? outcome_names[outcome] : "unknown";
}

int st_outcome_find(const char *name)
{
    for (int i = 0; i < ST_OUTCOME_COUNT; i++)
        if (strcmp(outcome_names[i], name) == 0)
            return i;
    return -1;
}

// A whole number within [low, high].
static st_code get_within(const json_t *object, const char *key, int64_t low, int64_t high,
                          int64_t *value, st_error *error)
{
    st_code code = st_json_get_int(object, key, value, error);
    if (code == ST_OK && (*value < low || *value > high))
        code = st_fail(error, ST_FAILED, NULL, "\"%s\" is %lld, outside %lld to %lld", key,
                       (long long)*value, (long long)low, (long long)high);
    return code;
}

static st_code get_text(const json_t *object, const char *key, char *out, size_t capacity,
                        st_error *error)
{
    const char *text;
    st_code code = st_json_get_string(object, key, &text, error);
    if (code == ST_OK && strlen(text) >= capacity)
        code = st_fail(error, ST_FAILED, NULL, "\"%s\" is too long", key);
    if (code == ST_OK)
        snprintf(out, capacity, "%s", text);
    return code;
}

// Appends `item` (stolen) to `list`; drops the list when anything failed.
static json_t *append_or_drop(json_t *list, json_t *item)
{
    if (list && json_array_append_new(list, item) != 0) {
        json_decref(list);
        return NULL;
    }
    return list;
}

// --- buffers ------------------------------------------------------------------------------------------

json_t *st_plan_buffers_encode(const st_plan_buffer *buffers, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count && list; i++) {
        json_t *values = json_array();
        for (uint32_t k = 0; k < buffers[i].fill_value_count && values; k++)
            values = append_or_drop(values, json_integer((json_int_t)buffers[i].fill_values[k]));
        list = append_or_drop(
            list, json_pack("{s:s, s:i, s:i, s:I, s:s, s:i, s:o}", "name", buffers[i].name, "role",
                            buffers[i].role, "type", (int)buffers[i].type, "count",
                            (json_int_t)buffers[i].count, "fill", buffers[i].fill, "misalign",
                            (int)buffers[i].misalign, "fill_values", values));
    }
    return list;
}

// Absent is none.
static st_code decode_fill_values(const json_t *json, st_plan_buffer *out, st_error *error)
{
    const json_t *values = json_object_get(json, "fill_values");
    enum { MOST = sizeof out->fill_values / sizeof out->fill_values[0] };
    if (values && (!json_is_array(values) || json_array_size(values) > MOST))
        return st_fail(error, ST_FAILED, NULL, "a fill has at most %d arguments", MOST);
    out->fill_value_count = (uint32_t)json_array_size(values);
    for (uint32_t i = 0; i < out->fill_value_count; i++) {
        const json_t *value = json_array_get(values, i);
        if (!json_is_integer(value))
            return st_fail(error, ST_FAILED, NULL, "an argument of a fill is no number");
        out->fill_values[i] = json_integer_value(value);
    }
    return ST_OK;
}

static st_code decode_buffer(const json_t *json, st_plan_buffer *out, st_error *error)
{
    int64_t role, type, count, misalign;
    st_code code = get_text(json, "name", out->name, sizeof out->name, error);
    if (code == ST_OK)
        code = get_text(json, "fill", out->fill, sizeof out->fill, error);
    if (code == ST_OK)
        code = get_within(json, "role", 0, 6, &role, error);
    if (code == ST_OK)
        code = get_within(json, "type", 0, ST_TYPE_COUNT - 1, &type, error);
    if (code == ST_OK)
        code = get_within(json, "count", 0, INT64_MAX / 16, &count, error);
    if (code == ST_OK)
        code = get_within(json, "misalign", 0, 255, &misalign, error);
    if (code == ST_OK)
        code = decode_fill_values(json, out, error);
    if (code != ST_OK)
        return code;
    out->role = (int)role;
    out->type = (st_type_id)type;
    out->count = (uint64_t)count;
    out->misalign = (uint32_t)misalign;
    return ST_OK;
}

// Decodes a list of structs of `bytes` each with `decode`.
typedef st_code decode_item(const json_t *json, void *out, const void *context, st_error *error);
static st_code decode_list(const json_t *json, size_t bytes, decode_item *decode,
                           const void *context, void **out, size_t *count, st_error *error)
{
    *out = NULL;
    *count = 0;
    if (!json_is_array(json))
        return st_fail(error, ST_FAILED, NULL, "a list is missing");
    size_t length = json_array_size(json);
    char *items = st_calloc(length, bytes);
    if (!items)
        return st_fail_memory(error, "reading a message");
    for (size_t i = 0; i < length; i++) {
        st_code code = decode(json_array_get(json, i), items + i * bytes, context, error);
        if (code != ST_OK) {
            st_free(items);
            return code;
        }
    }
    *out = items;
    *count = length;
    return ST_OK;
}

static st_code decode_buffer_item(const json_t *json, void *out, const void *context,
                                  st_error *error)
{
    (void)context;
    return decode_buffer(json, out, error);
}

st_code st_plan_buffers_decode(const json_t *json, st_plan_buffer **out, size_t *count,
                               st_error *error)
{
    return decode_list(json, sizeof **out, decode_buffer_item, NULL, (void **)out, count, error);
}

// --- kernels ------------------------------------------------------------------------------------------

json_t *st_load_kernels_encode(const st_load_kernel *kernels, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count && list; i++)
        list = append_or_drop(list, json_pack("{s:s, s:I, s:I}", "name", kernels[i].lowered, "block",
                                              (json_int_t)kernels[i].block, "smem",
                                              (json_int_t)kernels[i].smem));
    return list;
}

static st_code decode_load_kernel(const json_t *json, void *item, const void *context,
                                  st_error *error)
{
    (void)context;
    st_load_kernel *out = item;
    int64_t block, smem;
    st_code code = get_text(json, "name", out->lowered, sizeof out->lowered, error);
    if (code == ST_OK)
        code = get_within(json, "block", 0, 1 << 20, &block, error);
    if (code == ST_OK)
        code = get_within(json, "smem", 0, 1 << 30, &smem, error);
    if (code == ST_OK) {
        out->block = (uint32_t)block;
        out->smem = (uint32_t)smem;
    }
    return code;
}

st_code st_load_kernels_decode(const json_t *json, st_load_kernel **out, size_t *count,
                               st_error *error)
{
    return decode_list(json, sizeof **out, decode_load_kernel, NULL, (void **)out, count, error);
}

json_t *st_loaded_kernels_encode(const st_loaded_kernel *kernels, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count && list; i++)
        list = append_or_drop(list, json_pack("[i,i,i,i,i]", kernels[i].registers,
                                              kernels[i].local_bytes, kernels[i].static_smem,
                                              kernels[i].max_threads, kernels[i].blocks_per_sm));
    return list;
}

st_code st_loaded_kernels_decode(const json_t *json, st_loaded_kernel *out, size_t count,
                                 st_error *error)
{
    if (!json_is_array(json) || json_array_size(json) != count)
        return st_fail(error, ST_FAILED, NULL, "not as many kernels came back as were loaded");
    for (size_t i = 0; i < count; i++) {
        const json_t *row = json_array_get(json, i);
        int *fields[] = {&out[i].registers, &out[i].local_bytes, &out[i].static_smem,
                         &out[i].max_threads, &out[i].blocks_per_sm};
        for (size_t f = 0; f < 5; f++) {
            const json_t *value = json_array_get(row, f);
            json_int_t number = json_is_integer(value) ? json_integer_value(value) : INT64_MIN;
            if (number < -1 || number > INT32_MAX)
                return st_fail(error, ST_FAILED, NULL, "a kernel's facts are not numbers that can be");
            *fields[f] = (int)number;
        }
    }
    return ST_OK;
}

// --- plans --------------------------------------------------------------------------------------------

void st_plan_release(st_plan *plan)
{
    for (uint32_t i = 0; i < plan->step_count && plan->steps; i++)
        st_free(plan->steps[i].arguments);
    st_free(plan->steps);
    st_free(plan->temp_counts);
    *plan = (st_plan){0};
}

static json_t *encode_step(const st_plan_step *step)
{
    if (step->is_zero)
        return json_pack("{s:i, s:I}", "zero", step->buffer, "bytes", (json_int_t)step->zero_bytes);
    json_t *arguments = json_array();
    for (uint32_t i = 0; i < step->argument_count && arguments; i++)
        arguments = append_or_drop(arguments, json_pack("[i,i,I]", step->arguments[i].buffer,
                                                        (int)step->arguments[i].type,
                                                        (json_int_t)step->arguments[i].value));
    return json_pack("{s:i, s:[I,I,I], s:[I,I,I], s:I, s:I, s:b, s:o}", "kernel", step->kernel,
                     "grid", (json_int_t)step->grid[0], (json_int_t)step->grid[1],
                     (json_int_t)step->grid[2], "block", (json_int_t)step->block[0],
                     (json_int_t)step->block[1], (json_int_t)step->block[2], "smem",
                     (json_int_t)step->smem, "cluster", (json_int_t)step->cluster, "dependent",
                     (int)step->dependent, "arguments", arguments);
}

json_t *st_plan_encode(const st_plan *plan)
{
    json_t *steps = json_array(), *temps = json_array();
    for (uint32_t i = 0; i < plan->step_count && steps; i++)
        steps = append_or_drop(steps, encode_step(&plan->steps[i]));
    for (uint32_t i = 0; i < plan->buffer_count && temps; i++)
        temps = append_or_drop(temps, json_integer((json_int_t)plan->temp_counts[i]));
    return json_pack("{s:o, s:o}", "steps", steps, "temps", temps);
}

static st_code decode_dims(const json_t *json, const char *key, uint32_t out[3], st_error *error)
{
    json_t *list;
    st_code code = st_json_get_array(json, key, &list, error);
    for (size_t i = 0; i < 3 && code == ST_OK; i++) {
        const json_t *value = json_array_get(list, i);
        json_int_t number = json_is_integer(value) ? json_integer_value(value) : -1;
        if (number < 0 || number > UINT32_MAX)
            code = st_fail(error, ST_FAILED, NULL, "\"%s\" is not three sizes", key);
        else
            out[i] = (uint32_t)number;
    }
    return code;
}

static st_code decode_arguments(const json_t *json, size_t buffers, st_plan_step *out,
                                st_error *error)
{
    json_t *list;
    st_code code = st_json_get_array(json, "arguments", &list, error);
    if (code != ST_OK)
        return code;
    size_t count = json_array_size(list);
    out->arguments = st_calloc(count, sizeof *out->arguments);
    if (!out->arguments)
        return st_fail_memory(error, "reading a plan");
    out->argument_count = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        const json_t *row = json_array_get(list, i);
        json_int_t fields[3];
        for (size_t f = 0; f < 3; f++) {
            const json_t *value = json_array_get(row, f);
            if (!json_is_integer(value))
                return st_fail(error, ST_FAILED, NULL, "an argument of a launch is not three numbers");
            fields[f] = json_integer_value(value);
        }
        if (fields[0] < -1 || fields[0] >= (json_int_t)buffers || fields[1] < 0 ||
            fields[1] >= ST_TYPE_COUNT)
            return st_fail(error, ST_FAILED, NULL, "an argument names buffer %lld of %zu",
                           (long long)fields[0], buffers);
        out->arguments[i] = (st_plan_argument){
            .buffer = (int)fields[0], .type = (st_type_id)fields[1], .value = fields[2]};
    }
    return ST_OK;
}

static st_code decode_step(const json_t *json, size_t buffers, size_t kernels, st_plan_step *out,
                           st_error *error)
{
    int64_t number, bytes;
    if (json_object_get(json, "zero")) {
        st_code code = get_within(json, "zero", 0, (int64_t)buffers - 1, &number, error);
        if (code == ST_OK)
            code = get_within(json, "bytes", 0, INT64_MAX, &bytes, error);
        if (code == ST_OK)
            *out = (st_plan_step){
                .is_zero = true, .buffer = (int)number, .zero_bytes = (uint64_t)bytes};
        return code;
    }
    int64_t smem, cluster;
    st_code code = get_within(json, "kernel", 0, (int64_t)kernels - 1, &number, error);
    if (code == ST_OK)
        out->kernel = (int)number;
    if (code == ST_OK)
        code = decode_dims(json, "grid", out->grid, error);
    if (code == ST_OK)
        code = decode_dims(json, "block", out->block, error);
    if (code == ST_OK)
        code = get_within(json, "smem", 0, 1 << 30, &smem, error);
    if (code == ST_OK)
        code = get_within(json, "cluster", 0, 64, &cluster, error);
    if (code == ST_OK)
        code = st_json_get_bool(json, "dependent", &out->dependent, error);
    if (code != ST_OK)
        return code;
    out->smem = (uint32_t)smem;
    out->cluster = (uint32_t)cluster;
    return decode_arguments(json, buffers, out, error);
}

st_code st_plan_decode(const json_t *json, size_t buffers, size_t kernels, st_plan *out,
                       st_error *error)
{
    *out = (st_plan){0};
    json_t *steps, *temps;
    st_code code = st_json_get_array(json, "steps", &steps, error);
    if (code == ST_OK)
        code = st_json_get_array(json, "temps", &temps, error);
    if (code != ST_OK)
        return code;
    if (json_array_size(temps) != buffers)
        return st_fail(error, ST_FAILED, NULL, "a plan does not name every buffer");
    out->steps = st_calloc(json_array_size(steps), sizeof *out->steps);
    out->temp_counts = st_calloc(buffers, sizeof *out->temp_counts);
    if (!out->steps || !out->temp_counts)
        code = st_fail_memory(error, "reading a plan");
    else {
        out->step_count = (uint32_t)json_array_size(steps);
        out->buffer_count = (uint32_t)buffers;
    }
    for (size_t i = 0; i < buffers && code == ST_OK; i++) {
        const json_t *value = json_array_get(temps, i);
        json_int_t count = json_is_integer(value) ? json_integer_value(value) : -1;
        if (count < 0 || count > INT64_MAX / 16)
            code = st_fail(error, ST_FAILED, NULL, "a plan wants a buffer of %lld elements",
                           (long long)count);
        else
            out->temp_counts[i] = (uint64_t)count;
    }
    for (uint32_t i = 0; i < out->step_count && code == ST_OK; i++)
        code = decode_step(json_array_get(steps, i), buffers, kernels, &out->steps[i], error);
    if (code != ST_OK)
        st_plan_release(out);
    return code;
}

// --- comparing ------------------------------------------------------------------------------------------

json_t *st_plan_compares_encode(const st_plan_compare *compares, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count && list; i++)
        list = append_or_drop(
            list, json_pack("{s:i, s:i, s:i, s:b, s:I, s:f}", "output", compares[i].output,
                            "expected", compares[i].expected, "magnitude", compares[i].magnitude,
                            "bounded", (int)compares[i].bounded, "height",
                            (json_int_t)compares[i].height, "tolerance", compares[i].tolerance));
    return list;
}

static st_code decode_compare(const json_t *json, void *item, const void *context, st_error *error)
{
    st_plan_compare *out = item;
    int64_t last = (int64_t)*(const size_t *)context - 1, output, expected, magnitude;
    st_code code = get_within(json, "output", 0, last, &output, error);
    if (code == ST_OK)
        code = get_within(json, "expected", -1, last, &expected, error);
    if (code == ST_OK)
        code = get_within(json, "magnitude", -1, last, &magnitude, error);
    if (code == ST_OK)
        code = st_json_get_bool(json, "bounded", &out->bounded, error);
    if (code == ST_OK)
        code = get_within(json, "height", 0, INT64_MAX, &out->height, error);
    if (code == ST_OK)
        code = st_json_get_number(json, "tolerance", &out->tolerance, error);
    if (code == ST_OK) {
        out->output = (int)output;
        out->expected = (int)expected;
        out->magnitude = (int)magnitude;
    }
    return code;
}

st_code st_plan_compares_decode(const json_t *json, size_t buffers, st_plan_compare **out,
                                size_t *count, st_error *error)
{
    return decode_list(json, sizeof **out, decode_compare, &buffers, (void **)out, count, error);
}

json_t *st_verdict_encode(const st_verdict *verdict)
{
    return json_pack("{s:I, s:I, s:I, s:o, s:o, s:o, s:s, s:s}", "mismatches",
                     (json_int_t)verdict->mismatches, "checked", (json_int_t)verdict->checked, "first",
                     (json_int_t)verdict->first_index, "got", st_json_number(verdict->got), "expected",
                     st_json_number(verdict->expected), "bound", st_json_number(verdict->bound), "what",
                     verdict->what, "output", verdict->output);
}

st_code st_verdict_decode(const json_t *json, st_verdict *out, st_error *error)
{
    int64_t mismatches, checked, first;
    st_code code = get_within(json, "mismatches", 0, INT64_MAX, &mismatches, error);
    if (code == ST_OK)
        code = get_within(json, "checked", 0, INT64_MAX, &checked, error);
    if (code == ST_OK)
        code = get_within(json, "first", 0, INT64_MAX, &first, error);
    if (code == ST_OK)
        code = get_text(json, "what", out->what, sizeof out->what, error);
    if (code == ST_OK)
        code = get_text(json, "output", out->output, sizeof out->output, error);
    if (code != ST_OK)
        return code;
    out->mismatches = (uint64_t)mismatches;
    out->checked = (uint64_t)checked;
    out->first_index = (uint64_t)first;
    out->got = st_json_number_or_nan(json, "got");
    out->expected = st_json_number_or_nan(json, "expected");
    out->bound = st_json_number_or_nan(json, "bound");
    return ST_OK;
}

// --- states and devices -----------------------------------------------------------------------------------

json_t *st_timing_state_encode(const st_timing_state *state)
{
    return json_pack("{s:i, s:i, s:i, s:i, s:I, s:i, s:I, s:I, s:o}", "sm_clock_mhz",
                     state->sm_clock_mhz, "memory_clock_mhz", state->memory_clock_mhz, "temperature_c",
                     state->temperature_c, "power_mw", state->power_mw, "throttle_reasons",
                     (json_int_t)state->throttle_reasons, "other_processes", state->other_processes,
                     "dropped", (json_int_t)state->dropped, "batch", (json_int_t)state->batch, "tick_ns",
                     st_json_number(state->tick_ns));
}

st_code st_timing_state_decode(const json_t *json, st_timing_state *out, st_error *error)
{
    int64_t dropped, batch;
    struct {
        const char *key;
        int *place;
    } fields[] = {{"sm_clock_mhz", &out->sm_clock_mhz},
                  {"memory_clock_mhz", &out->memory_clock_mhz},
                  {"temperature_c", &out->temperature_c},
                  {"power_mw", &out->power_mw},
                  {"other_processes", &out->other_processes}};
    st_code code = get_within(json, "dropped", 0, UINT32_MAX, &dropped, error);
    if (code == ST_OK)
        code = get_within(json, "batch", 1, UINT32_MAX, &batch, error);
    if (code == ST_OK)
        code = st_json_get_int(json, "throttle_reasons", &out->throttle_reasons, error);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0] && code == ST_OK; i++) {
        int64_t value;
        code = get_within(json, fields[i].key, -1, INT32_MAX, &value, error);
        if (code == ST_OK)
            *fields[i].place = (int)value;
    }
    if (code != ST_OK)
        return code;
    out->dropped = (uint32_t)dropped;
    out->batch = (uint32_t)batch;
    out->tick_ns = st_json_number_or_nan(json, "tick_ns");
    return ST_OK;
}

json_t *st_device_facts_encode(const st_device_facts *facts)
{
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:s, s:i, s:s, s:i, s:b, s:b, s:b}", "name", facts->name, "uuid", facts->uuid,
        "backend", facts->backend, "driver", facts->driver, "driver_cuda", facts->driver_cuda, "pci",
        facts->pci, "ordinal", facts->ordinal, "is_mig", (int)facts->is_mig, "is_integrated",
        (int)facts->is_integrated, "ecc", (int)facts->ecc);
    bool ok = json != NULL;
#define X(field, name, unit, meaning)                                                              \
    ok = ok && json_object_set_new(json, #field, json_integer(facts->field)) == 0;
    ST_DEVICE_FACTS(X)
#undef X
    if (ok)
        return json;
    json_decref(json);
    return NULL;
}

st_code st_device_facts_decode(const json_t *json, st_device_facts *out, st_error *error)
{
    *out = (st_device_facts){0};
    int64_t driver_cuda, ordinal;
    st_code code = get_text(json, "name", out->name, sizeof out->name, error);
    if (code == ST_OK)
        code = get_text(json, "uuid", out->uuid, sizeof out->uuid, error);
    if (code == ST_OK)
        code = get_text(json, "backend", out->backend, sizeof out->backend, error);
    if (code == ST_OK)
        code = get_text(json, "driver", out->driver, sizeof out->driver, error);
    if (code == ST_OK)
        code = get_text(json, "pci", out->pci, sizeof out->pci, error);
    if (code == ST_OK)
        code = get_within(json, "driver_cuda", -1, INT32_MAX, &driver_cuda, error);
    if (code == ST_OK)
        code = get_within(json, "ordinal", -1, INT32_MAX, &ordinal, error);
    if (code == ST_OK)
        code = st_json_get_bool(json, "is_mig", &out->is_mig, error);
    if (code == ST_OK)
        code = st_json_get_bool(json, "is_integrated", &out->is_integrated, error);
    if (code == ST_OK)
        code = st_json_get_bool(json, "ecc", &out->ecc, error);
#define X(field, name, unit, meaning)                                                              \
    if (code == ST_OK)                                                                             \
        code = st_json_get_int(json, #field, &out->field, error);
    ST_DEVICE_FACTS(X)
#undef X
    if (code == ST_OK) {
        out->driver_cuda = (int)driver_cuda;
        out->ordinal = (int)ordinal;
    }
    return code;
}
