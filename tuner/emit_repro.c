// SPDX-License-Identifier: Apache-2.0
// A standalone program for one candidate: its kernels, the launches of its plan with the numbers of
// its device, simple inputs, a check where one is easy, and times. For a person with nvcc, ncu or a
// debugger.
#include "tuner/base/clock.h"
#include "tuner/base/memory.h"
#include "tuner/emit_internal.h"
#include "tuner/plan.h"

#include <math.h>
#include <string.h>

typedef struct repro {
    const st_template *tmpl;
    const st_choice *choice;
    const st_device_facts *device;
    st_bindings bindings;
    st_emit_kernels kernels;
} repro;

// clang-format off
static const char helpers_text[] =
    "#define CHECK(call)                                                                          \\\n"
    "    do {                                                                                     \\\n"
    "        const cudaError_t error = (call);                                                    \\\n"
    "        if (error != cudaSuccess) {                                                          \\\n"
    "            std::printf(\"%s:%d: %s\\n\", __FILE__, __LINE__, cudaGetErrorString(error));       \\\n"
    "            std::exit(1);                                                                    \\\n"
    "        }                                                                                    \\\n"
    "    } while (0)\n"
    "\n"
    "enum element_type { type_f32, type_f64, type_i32, type_u32, type_i64, type_u64, type_f16, type_bf16, type_u8 };\n"
    "\n"
    "static void *make(size_t bytes, int fill)\n"
    "{\n"
    "    void *memory = nullptr;\n"
    "    CHECK(cudaMalloc(&memory, bytes > 0 ? bytes : 1));\n"
    "    CHECK(cudaMemset(memory, fill, bytes));\n"
    "    return memory;\n"
    "}\n"
    "\n"
    "// 1 or 2 at every place that is a multiple of `stride`, zero elsewhere: at most 150 in all, so that every\n"
    "// type holds the sum exactly.\n"
    "static size_t stride_of(size_t count) { return count / 100 + 1; }\n"
    "static int value_at(size_t index, size_t count)\n"
    "{\n"
    "    const size_t stride = stride_of(count);\n"
    "    return index % stride ? 0 : 1 + (int)(index / stride % 2);\n"
    "}\n"
    "\n"
    "static void put_values(void *memory, size_t count, element_type type)\n"
    "{\n"
    "    static const size_t sizes[] = {4, 8, 4, 4, 8, 8, 2, 2, 1};\n"
    "    for (size_t i = 0; i < count; i += stride_of(count)) {\n"
    "        const int value = value_at(i, count);\n"
    "        const float as_f32 = (float)value;\n"
    "        const double as_f64 = value;\n"
    "        const long long whole = value;\n"
    "        const unsigned short half = value == 2 ? 0x4000 : 0x3c00, bfloat = value == 2 ? 0x4000 : 0x3f80;\n"
    "        const void *from = type == type_f32 ? (const void *)&as_f32 : type == type_f64 ? (const void *)&as_f64\n"
    "                         : type == type_f16 ? (const void *)&half : type == type_bf16 ? (const void *)&bfloat\n"
    "                                       : (const void *)&whole;\n"
    "        CHECK(cudaMemcpy((char *)memory + i * sizes[type], from, sizes[type], cudaMemcpyHostToDevice));\n"
    "    }\n"
    "}\n"
    "\n"
    "static double get_value(const void *memory, size_t index, element_type type)\n"
    "{\n"
    "    static const size_t sizes[] = {4, 8, 4, 4, 8, 8, 2, 2, 1};\n"
    "    unsigned long long bits = 0;\n"
    "    CHECK(cudaMemcpy(&bits, (const char *)memory + index * sizes[type], sizes[type], cudaMemcpyDeviceToHost));\n"
    "    if (type == type_f64) {\n"
    "        double value;\n"
    "        std::memcpy(&value, &bits, 8);\n"
    "        return value;\n"
    "    }\n"
    "    if (type == type_f16) {\n"
    "        const int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);\n"
    "        const double size = exponent == 31 ? (fraction ? NAN : INFINITY)\n"
    "                          : std::ldexp(exponent ? 1024 + fraction : fraction, (exponent ? exponent : 1) - 25);\n"
    "        return bits >> 15 ? -size : size;\n"
    "    }\n"
    "    if (type == type_f32 || type == type_bf16) {\n"
    "        const unsigned word = (unsigned)(type == type_bf16 ? bits << 16 : bits);\n"
    "        float value;\n"
    "        std::memcpy(&value, &word, 4);\n"
    "        return value;\n"
    "    }\n"
    "    return type == type_i32 ? (double)(int)bits : type == type_i64 ? (double)(long long)bits : (double)bits;\n"
    "}\n"
    "\n";

static const char timing_text[] =
    "    cudaEvent_t begin, end;\n"
    "    CHECK(cudaEventCreate(&begin));\n"
    "    CHECK(cudaEventCreate(&end));\n"
    "    std::vector<float> times;\n"
    "    for (int i = 0; i < runs; i++) {\n"
    "        CHECK(cudaEventRecord(begin, stream));\n"
    "        repro_run(stream);\n"
    "        CHECK(cudaEventRecord(end, stream));\n"
    "        CHECK(cudaEventSynchronize(end));\n"
    "        float ms = 0;\n"
    "        CHECK(cudaEventElapsedTime(&ms, begin, end));\n"
    "        times.push_back(ms);\n"
    "    }\n"
    "    std::sort(times.begin(), times.end());\n"
    "    // With launch overhead, the cache as it is: not the time that simtune stores.\n"
    "    std::printf(\"median %.2f us of %zu runs, fastest %.2f us\", times[times.size() / 2] * 1e3, times.size(),\n"
    "                times[0] * 1e3);\n";
// Only where an argument is a half-precision number.
static const char half_text[] =
    "// A small whole number as a half-precision one of `mantissa` bits.\n"
    "template <class T> static T half_of(long long value, int mantissa)\n"
    "{\n"
    "    int exponent = 0;\n"
    "    const double size = std::fabs((double)value), part = std::frexp(size, &exponent);\n"
    "    const int bias = mantissa == 10 ? 15 : 127;\n"
    "    unsigned bits = value < 0 ? 0x8000u : 0u;\n"
    "    if (size > 0)\n"
    "        bits |= ((unsigned)(exponent - 2 + bias) << mantissa) + (unsigned)std::nearbyint(std::ldexp(part, mantissa + 1));\n"
    "    const unsigned short half = (unsigned short)bits;\n"
    "    T made;\n"
    "    static_assert(sizeof made == sizeof half, \"two bytes\");\n"
    "    std::memcpy(&made, &half, sizeof made);\n"
    "    return made;\n"
    "}\n"
    "\n";
// clang-format on

// --- the first comment ---------------------------------------------------------------------------

static void add_comment(const repro *it, st_text *out)
{
    const st_choice *choice = it->choice;
    st_text_add(out, "// ");
    st_emit_comment(it->tmpl->family, out);
    st_text_add(out, ": ");
    st_problem_text(it->tmpl, &choice->problem, out);
    st_text_add(out, "\n// ");
    st_config_text(it->tmpl, &choice->config, out);
    st_text_addf(out, "\n// with the numbers of %s (sm_%lld, %lld SMs)", it->device->name,
                 (long long)it->device->cc, (long long)it->device->sm_count);
    if (*choice->candidate_id)
        st_text_addf(out, ", candidate %s", choice->candidate_id);
    if (choice->emulated)
        st_text_add(out, ", EMULATED");
    else if (choice->predicted)
        st_text_add(out, ", predicted");
    else if (isfinite(choice->median_ns)) {
        char date[ST_DATE_TEXT] = "an unknown date";
        if (choice->measured_ms > 0)
            st_clock_date(choice->measured_ms, date);
        st_text_addf(out, ", measured %.2f us on %s", choice->median_ns / 1e3, date);
    }
    long long cc = (long long)it->device->cc;
    st_text_addf(
        out,
        "\n//\n// nvcc -std=c++11 -O3 -lineinfo -arch=sm_%lld repro.cu -o repro && ./repro\n"
        "// ncu --set full --import-source yes -k 'regex:",
        cc);
    size_t listed = 0;
    for (size_t i = 0; i < it->tmpl->step_count; i++)
        if (it->tmpl->steps[i].kind == ST_STEP_LAUNCH)
            st_text_addf(out, "%s%s", listed++ ? "|" : "", it->tmpl->steps[i].kernel);
    st_text_addf(out, "' -c 4 ./repro 1\n// compute-sanitizer --tool memcheck ./repro 1 (or racecheck, "
                      "synccheck, initcheck)\n// The argument of the program: how often it is timed (25).\n\n");
}

// --- buffers and launches ------------------------------------------------------------------------

static bool is_ours(const st_buffer *buffer)
{
    return buffer->role != ST_BUFFER_EXPECTED && buffer->role != ST_BUFFER_MAGNITUDE &&
           buffer->role != ST_BUFFER_DERIVED;
}

static const st_type *type_of(const repro *it, const st_buffer *buffer)
{
    return st_type_of(st_emit_buffer_type(it->tmpl, &it->choice->problem, buffer));
}

static st_code count_of(const repro *it, const st_buffer *buffer, int64_t *count, st_error *error)
{
    st_code code = st_bindings_evaluate(&it->bindings, buffer->count, 0, count, error);
    if (!code && *count < 0)
        *count = 0;
    return code;
}

static void add_buffers(const repro *it, st_text *out)
{
    for (size_t i = 0; i < it->tmpl->buffer_count; i++)
        if (is_ours(&it->tmpl->buffers[i]))
            st_text_addf(out, "static void *buffer_%s;\n", it->tmpl->buffers[i].name);
    st_text_add(out, "\n");
}

static st_code add_argument(const repro *it, const st_argument *argument, st_text *out,
                            st_error *error)
{
    if (argument->buffer >= 0) {
        const st_buffer *buffer = &it->tmpl->buffers[argument->buffer];
        st_text_addf(out, ",\n                                 (%s *)buffer_%s",
                     type_of(it, buffer)->device_name, buffer->name);
        return ST_OK;
    }
    int64_t value = 0;
    const st_scalar *scalar = argument->scalar >= 0 ? &it->tmpl->scalars[argument->scalar] : NULL;
    st_type_id id = scalar ? st_bindings_scalar_type(&it->bindings, scalar) : argument->type;
    st_code code = st_bindings_evaluate(&it->bindings, scalar ? scalar->value : argument->value, 0,
                                        &value, error);
    if (code)
        return code;
    st_text_add(out, ",\n                                 ");
    if (id == ST_F16 || id == ST_BF16)
        st_text_addf(out, "half_of<%s>(%lld, %d)", st_type_of(id)->device_name, (long long)value,
                     id == ST_F16 ? 10 : 7);
    else
        st_text_addf(out, "(%s)%lldll", st_type_of(id)->device_name, (long long)value);
    return ST_OK;
}

static st_code add_launch(const repro *it, const st_step *step, st_text *out, st_error *error)
{
    int64_t form[9] = {0};
    const st_expression *parts[] = {step->grid[0],  step->grid[1],  step->grid[2],
                                    step->block[0], step->block[1], step->block[2],
                                    step->smem,     step->cluster,  step->dependent};
    for (size_t i = 0; i < 9; i++) {
        int64_t missing = i == 6 || i == 8 ? 0 : 1;
        st_code code = st_bindings_evaluate(&it->bindings, parts[i], missing, &form[i], error);
        if (code)
            return code;
    }
    const char *config = step->uses_config ? "<repro_config>" : "";
    if (form[0] == 0 || form[1] == 0 || form[2] == 0)
        return ST_OK; // an empty grid: nothing to do
    st_text_addf(out, "    {\n");
    if (form[6] > 0)
        st_text_addf(out,
                     "        CHECK(cudaFuncSetAttribute((const void *)%s%s,\n"
                     "                                   "
                     "cudaFuncAttributeMaxDynamicSharedMemorySize, %lld));\n",
                     step->kernel, config, (long long)form[6]);
    if (form[7] > 8)
        st_text_addf(out,
                     "        CHECK(cudaFuncSetAttribute((const void *)%s%s,\n"
                     "                                   "
                     "cudaFuncAttributeNonPortableClusterSizeAllowed, 1));\n",
                     step->kernel, config);
    st_text_addf(out,
                 "        cudaLaunchAttribute attributes[2];\n"
                 "        cudaLaunchConfig_t config = cudaLaunchConfig_t();\n"
                 "        config.gridDim = dim3(%lldu, %lldu, %lldu);\n"
                 "        config.blockDim = dim3(%lldu, %lldu, %lldu);\n"
                 "        config.dynamicSmemBytes = %lld;\n"
                 "        config.stream = stream;\n"
                 "        config.attrs = attributes;\n",
                 (long long)form[0], (long long)form[1], (long long)form[2], (long long)form[3],
                 (long long)form[4], (long long)form[5], (long long)form[6]);
    if (form[7] > 1)
        st_text_addf(
            out,
            "        attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;\n"
            "        attributes[config.numAttrs].val.clusterDim.x = %lld;\n"
            "        attributes[config.numAttrs].val.clusterDim.y = 1;\n"
            "        attributes[config.numAttrs++].val.clusterDim.z = 1;\n",
            (long long)form[7]);
    if (form[8])
        st_text_add(
            out, "        attributes[config.numAttrs].id = "
                 "cudaLaunchAttributeProgrammaticStreamSerialization;\n"
                 "        attributes[config.numAttrs++].val.programmaticStreamSerializationAllowed "
                 "= 1;\n");
    st_text_addf(out, "        CHECK(cudaLaunchKernelEx(&config, %s%s", step->kernel, config);
    st_code code = ST_OK;
    for (size_t i = 0; !code && i < step->argument_count; i++)
        code = add_argument(it, &step->arguments[i], out, error);
    st_text_add(out, "));\n    }\n");
    return code;
}

static st_code add_run(const repro *it, st_text *out, st_error *error)
{
    st_text_add(out, "static void repro_run(cudaStream_t stream)\n{\n");
    for (size_t i = 0; i < it->tmpl->step_count; i++) {
        const st_step *step = &it->tmpl->steps[i];
        int64_t taken = 1, count = 0;
        st_code code = st_bindings_evaluate(&it->bindings, step->when, 1, &taken, error);
        if (!code && taken && step->kind == ST_STEP_ZERO) {
            const st_buffer *buffer = &it->tmpl->buffers[step->buffer];
            code = count_of(it, buffer, &count, error);
            st_text_addf(out, "    CHECK(cudaMemsetAsync(buffer_%s, 0, %lldull, stream));\n",
                         buffer->name, (long long)count * (long long)type_of(it, buffer)->size);
        } else if (!code && taken) {
            code = add_launch(it, step, out, error);
        }
        if (code)
            return code;
    }
    st_text_add(out, "}\n\n");
    return ST_OK;
}

// --- main ----------------------------------------------------------------------------------------

// sum, min or max of one input: what we know to check. NULL: something else.
static const char *known_operation(const repro *it, const st_buffer **input,
                                   const st_buffer **output)
{
    static const char *const known[] = {"sum", "min", "max"};
    const st_template *tmpl = it->tmpl;
    size_t inputs = 0, outputs = 0;
    for (size_t i = 0; i < tmpl->buffer_count; i++) {
        const st_buffer *buffer = &tmpl->buffers[i];
        int64_t count;
        if (buffer->role == ST_BUFFER_INPUT)
            inputs++, *input = buffer;
        if (buffer->role == ST_BUFFER_INOUT)
            return NULL;
        if (buffer->role == ST_BUFFER_OUTPUT) {
            outputs++, *output = buffer;
            if (count_of(it, buffer, &count, NULL) || count != 1)
                return NULL;
        }
    }
    for (size_t i = 0; inputs == 1 && outputs == 1 && i < tmpl->axis_count; i++) {
        const st_axis *axis = &tmpl->axes[i];
        const char *word =
            axis->kind == ST_AXIS_WORD
                ? st_emit_word(axis->values, axis->value_count, it->choice->problem.value[i])
                : NULL;
        for (size_t j = 0; word && j < 3; j++)
            if (strcmp(word, known[j]) == 0)
                return known[j];
    }
    return NULL;
}

static st_code add_check(const repro *it, st_text *out, st_error *error)
{
    const st_buffer *input = NULL, *output = NULL;
    const char *operation = known_operation(it, &input, &output);
    int64_t count = 0;
    for (size_t i = 0; i < it->tmpl->buffer_count; i++) {
        const st_buffer *buffer = &it->tmpl->buffers[i];
        if (buffer->role != ST_BUFFER_OUTPUT && buffer->role != ST_BUFFER_INOUT)
            continue;
        st_code code = count_of(it, buffer, &count, error);
        if (code)
            return code;
        st_text_addf(
            out,
            "    for (size_t i = 0; i < %lldull; i++)\n"
            "        std::printf(\"%s[%%zu] = %%.17g\\n\", i, get_value(buffer_%s, i, type_%s));\n",
            (long long)(count < 8 ? count : 8), buffer->name, buffer->name,
            type_of(it, buffer)->name);
    }
    if (!operation)
        return ST_OK;
    st_code code = count_of(it, input, &count, error);
    if (code || count == 0)
        return code;
    const char *step = strcmp(operation, "sum") == 0   ? "expected + value"
                       : strcmp(operation, "min") == 0 ? "value < expected ? value : expected"
                                                       : "value > expected ? value : expected";
    st_text_addf(
        out,
        "    double expected = value_at(0, %lldull);\n"
        "    for (size_t i = 1; i < %lldull; i++) {\n"
        "        const double value = value_at(i, %lldull);\n"
        "        expected = %s;\n"
        "    }\n"
        "    const bool right = get_value(buffer_%s, 0, type_%s) == expected;\n"
        "    std::printf(\"%%s: expected %%g\\n\", right ? \"right\" : \"WRONG\", expected);\n",
        (long long)count, (long long)count, (long long)count, step, output->name,
        type_of(it, output)->name);
    return ST_OK;
}

static st_code add_main(const repro *it, st_text *out, st_error *error)
{
    st_text_add(out, "int main(int argument_count, char **arguments)\n{\n"
                     "    const int wanted = argument_count > 1 ? std::atoi(arguments[1]) : 25;\n"
                     "    const int runs = wanted > 1 ? wanted : 1;\n");
    for (size_t i = 0; i < it->tmpl->buffer_count; i++) {
        const st_buffer *buffer = &it->tmpl->buffers[i];
        int64_t count = 0;
        if (!is_ours(buffer))
            continue;
        st_code code = count_of(it, buffer, &count, error);
        if (code)
            return code;
        bool filled = buffer->role == ST_BUFFER_INPUT || buffer->role == ST_BUFFER_INOUT;
        const st_fill *fill;
        code = st_plan_fill(&it->bindings, i, &fill, error);
        if (code)
            return code;
        bool zero = strcmp(fill->word, "zero") == 0;
        st_text_addf(out, "    buffer_%s = make(%lldull * %zu, %s);\n", buffer->name,
                     (long long)count, type_of(it, buffer)->size, filled || zero ? "0" : "0xFF");
        if (filled && !zero)
            st_text_addf(out, "    put_values(buffer_%s, %lldull, type_%s);\n", buffer->name,
                         (long long)count, type_of(it, buffer)->name);
    }
    st_text_add(
        out,
        "    cudaStream_t stream;\n    CHECK(cudaStreamCreate(&stream));\n    repro_run(stream);\n"
        "    CHECK(cudaStreamSynchronize(stream));\n");
    st_code code = add_check(it, out, error);
    int64_t bytes = -1;
    if (!code)
        code = st_bindings_evaluate(&it->bindings, it->tmpl->bytes, -1, &bytes, error);
    if (code)
        return code;
    st_text_add(out, timing_text);
    if (bytes > 0)
        st_text_addf(out,
                     "    std::printf(\", %%.0f GB/s\", %lld / (times[times.size() / 2] * 1e6));\n",
                     (long long)bytes);
    st_text_add(out, "    std::printf(\"\\n\");\n");
    for (size_t i = 0; i < it->tmpl->buffer_count; i++)
        if (is_ours(&it->tmpl->buffers[i]))
            st_text_addf(out, "    CHECK(cudaFree(buffer_%s));\n", it->tmpl->buffers[i].name);
    st_text_add(out, "    return ");
    const st_buffer *input, *output;
    int64_t count = 0;
    bool checked =
        known_operation(it, &input, &output) && !count_of(it, input, &count, NULL) && count > 0;
    st_text_add(out, checked ? "right ? 0 : 1;\n}\n" : "0;\n}\n");
    return ST_OK;
}

// --- the whole -----------------------------------------------------------------------------------

static void add_define(void *context, const char *name, const char *value)
{
    st_text_addf(context, "#define %s %s\n", name, value);
}

static void add_undef(void *context, const char *name, const char *value)
{
    (void)value;
    st_text_addf(context, "#undef %s\n", name);
}

static void add_kernels(const repro *it, st_text *out)
{
    const st_template *tmpl = it->tmpl;
    const char *open = it->kernels.has_namespace ? "namespace simtune {\n" : "";
    for (size_t i = 0; i < it->kernels.headers.count; i++)
        st_text_addf(out, "#include %s\n", it->kernels.headers.items[i]);
    if (!tmpl->is_config)
        st_program_macros(tmpl, &it->choice->problem, &it->choice->config, add_define, out);
    st_text_add(out, st_text_string(&it->kernels.text));
    if (tmpl->is_config) {
        st_text_add(out, open);
        st_program_config_struct(tmpl, &it->choice->problem, &it->choice->config, "repro_config",
                                 out);
        st_text_add(out, *open ? "}\n" : "");
    } else {
        st_program_macros(tmpl, &it->choice->problem, &it->choice->config, add_undef, out);
    }
    st_text_add(out,
                "\n// --- the program ---------------------------------------------------------\n");
    st_text_add(out,
                "#include <algorithm>\n#include <cmath>\n#include <cstdio>\n#include <cstdlib>\n"
                "#include <cstring>\n#include <vector>\n\n");
}

static bool has_half_scalar(const repro *it)
{
    for (size_t i = 0; i < it->tmpl->scalar_count; i++) {
        st_type_id id = st_bindings_scalar_type(&it->bindings, &it->tmpl->scalars[i]);
        if (id == ST_F16 || id == ST_BF16)
            return true;
    }
    return false;
}

static st_code print_repro(const repro *it, st_text *out, st_error *error)
{
    add_comment(it, out);
    add_kernels(it, out);
    st_text_add(out, helpers_text);
    if (has_half_scalar(it))
        st_text_add(out, half_text);
    add_buffers(it, out);
    // Beside the kernels, so that their names and types are found.
    st_text_add(out, it->kernels.has_namespace ? "namespace simtune {\n" : "");
    st_code code = add_run(it, out, error);
    st_text_add(out, it->kernels.has_namespace
                         ? "} // namespace simtune\nusing simtune::repro_run;\n\n"
                         : "");
    if (!code)
        code = add_main(it, out, error);
    if (!code && out->failed)
        code = st_fail_memory(error, "printing a program");
    return code;
}

st_code st_emit_repro(const st_template *tmpl, const st_choice *choice,
                      const st_device_facts *device, st_text *out, st_error *error)
{
    repro it;
    memset(&it, 0, sizeof it);
    it.tmpl = tmpl;
    it.choice = choice;
    it.device = device;
    st_code code =
        st_bindings_make(tmpl, &choice->problem, &choice->config, device, &it.bindings, error);
    if (code)
        return code;
    code = st_bindings_late(&it.bindings, choice->blocks_per_sm > 0 ? choice->blocks_per_sm : 1,
                            error);
    if (!code)
        code = st_emit_kernels_make(tmpl, NULL, false, &it.kernels, error);
    if (!code) {
        code = print_repro(&it, out, error);
        st_emit_kernels_release(&it.kernels);
    }
    st_bindings_release(&it.bindings);
    return code;
}
