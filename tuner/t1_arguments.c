// SPDX-License-Identifier: Apache-2.0
// KernelSpecification: problem sizes, arguments, grid and block.
//
// Problem sizes are numbers, as in the file: sizes of vectors, scalars and data belong together there. A kernel whose text
// names problem_size_x gets it as a macro. Vectors hold this program's own data, whose elements all count; outputs are
// compared with the default configuration's.
#include "tuner/t1_arguments.h"
#include "tuner/base/memory.h"
#include "tuner/template_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

// Elements of a vector, and bytes of shared memory, that no device has.
#define MOST_ELEMENTS (INT64_C(1) << 40)
#define MOST_SHARED (1 << 20)

static const char *const dimensions[] = {"X", "Y", "Z"}, *const axes[] = {"problem_size_x",
                                                                          "problem_size_y",
                                                                          "problem_size_z"};

// --- problem sizes ----------------------------------------------------------------------------------------------

static bool names(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)) != NULL; at += length) {
        bool begins = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        if (begins && !isalnum((unsigned char)at[length]) && at[length] != '_')
            return true;
    }
    return false;
}

st_code st_t1_read_problem(t1_writer *to, const json_t *kernel)
{
    static const char place[] = "KernelSpecification.ProblemSize";
    const json_t *sizes = json_object_get(kernel, "ProblemSize");
    if (!sizes || json_is_null(sizes))
        return ST_OK;
    size_t given = json_is_array(sizes) ? json_array_size(sizes) : 1;
    if (given > 3)
        return st_t1_wrong(to, place, NULL, "more than three sizes");
    for (size_t i = 0; i < given; i++) {
        const json_t *size = json_is_array(sizes) ? json_array_get(sizes, i) : sizes;
        if (!json_is_integer(size) || json_integer_value(size) < 1)
            return st_t1_wrong(to, place, "Write [4096, 4096].",
                               "a size that is no integer from 1 on");
        to->names.sizes[i] = (int64_t)json_integer_value(size);
        if (names(to->kernel, axes[i]))
            st_text_addf(&to->definitions, "#define %s %lld\n", axes[i],
                         (long long)to->names.sizes[i]);
    }
    to->names.size_count = given;
    return ST_OK;
}

// --- arguments --------------------------------------------------------------------------------------------------

// T1's types: ours, and how many of ours one is.
static const struct type_row {
    const char *name, *type;
    int count, bytes; // of one of ours
    bool scalar;      // can be passed by value
} types[] = {{"bool", "u8", 1, 1, true},       {"int8", "u8", 1, 1, true},
             {"uint8", "u8", 1, 1, true},      {"int16", "u8", 2, 1, false},
             {"uint16", "u8", 2, 1, false},    {"int32", "i32", 1, 4, true},
             {"int", "i32", 1, 4, true},       {"uint32", "u32", 1, 4, true},
             {"int64", "i64", 1, 8, true},     {"uint64", "u64", 1, 8, true},
             {"half", "f16", 1, 2, true},      {"half2", "f16", 2, 2, false},
             {"half4", "f16", 4, 2, false},    {"half8", "f16", 8, 2, false},
             {"half16", "f16", 16, 2, false},  {"float", "f32", 1, 4, true},
             {"float2", "f32", 2, 4, false},   {"float4", "f32", 4, 4, false},
             {"float8", "f32", 8, 4, false},   {"float16", "f32", 16, 4, false},
             {"double", "f64", 1, 8, true},    {"double2", "f64", 2, 8, false},
             {"double4", "f64", 4, 8, false},  {"double8", "f64", 8, 8, false},
             {"double16", "f64", 16, 8, false}};

static const struct type_row *find_type(const char *name)
{
    for (size_t i = 0; name && i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    return NULL;
}

typedef struct arguments {
    st_text list, bytes, smem; // of `args=`; what one run moves; bytes of dynamic shared memory
} arguments;

static st_code read_scalar(t1_writer *to, const char *place, const json_t *object,
                           const struct type_row *type, arguments *all)
{
    const json_t *value = json_object_get(object, "FillValue");
    double number = json_number_value(value);
    if (!type->scalar)
        return st_t1_wrong(to, place, "Pass its parts, or make it a vector of one.",
                           "a scalar of this type is not passed");
    if (!json_is_number(value) || !(number > -9e15 && number < 9e15) ||
        number != (double)(int64_t)number)
        return st_t1_wrong(to, place, "Pass an integer and scale it in the kernel.",
                           "a scalar whose FillValue is no integer");
    st_text_addf(&all->list, "%s%lld:%s", all->list.length ? "," : "", (long long)number,
                 type->type);
    return ST_OK;
}

// A plain number; expressions are looked at when they are computed.
static st_code check_number(t1_writer *to, const char *place, const json_t *value, int64_t low, int64_t high,
                            const char *key)
{
    if (!json_is_integer(value) || (json_integer_value(value) >= low && json_integer_value(value) <= high))
        return ST_OK;
    char what[120];
    snprintf(what, sizeof what, "%s is %lld, outside %lld to %lld", key, (long long)json_integer_value(value), (long long)low,
             (long long)high);
    return st_t1_wrong(to, place, "Write what the device can hold.", what);
}

static st_code fill_of(t1_writer *to, const char *place, const json_t *object, const char **out)
{
    const char *fill = json_string_value(json_object_get(object, "FillType"));
    const json_t *value = json_object_get(object, "FillValue");
    *out = "";
    if (fill && strcmp(fill, "Constant") == 0 && json_is_number(value) &&
        json_number_value(value) == 0)
        *out = " fill zero";
    else if (fill && strcmp(fill, "Constant") != 0 && strcmp(fill, "Random") != 0)
        return st_t1_wrong(to, place,
                           "Write FillType Random; elements then hold numbers that all count.",
                           "data out of files and programs are not read");
    return ST_OK;
}

static st_code read_vector(t1_writer *to, const char *place, const char *name, const json_t *object,
                           const struct type_row *type, arguments *all)
{
    static const char *const access[][2] = {
        {"ReadOnly", "input"}, {"WriteOnly", "output"}, {"ReadWrite", "inout"}};
    const char *given = json_string_value(json_object_get(object, "AccessType")), *role = NULL,
               *fill;
    const char *memory = json_string_value(json_object_get(object, "MemType"));
    for (int i = 0; given && i < 3; i++)
        if (strcmp(given, access[i][0]) == 0)
            role = access[i][1];
    if (!role)
        return st_t1_wrong(to, place, "Write AccessType ReadOnly, WriteOnly or ReadWrite.",
                           "an unknown AccessType");
    if (memory && strcmp(memory, "Constant") == 0)
        return st_t1_wrong(to, place, "Make it an argument in global memory.",
                           "symbols in constant memory are not filled");
    st_text size;
    st_text_init(&size);
    bool present;
    st_code code = fill_of(to, place, object, &fill);
    if (code == ST_OK)
        code = st_t1_size(to, place, json_object_get(object, "Size"), &size, &present);
    if (code == ST_OK && !present)
        code = st_t1_wrong(to, place, NULL, "a vector without Size");
    if (code == ST_OK)
        code = check_number(to, place, json_object_get(object, "Size"), 0, MOST_ELEMENTS, "Size");
    if (code == ST_OK) {
        // What is written is filled by verification.
        code = st_t1_line(to, place, "buffer %s : %s %s[%d * (%s)]%s", name, role, type->type,
                          type->count, st_text_string(&size), *role == 'o' ? "" : fill);
        st_text_addf(&all->list, "%s%s", all->list.length ? "," : "", name);
        st_text_addf(&all->bytes, " + %d * (%s)",
                     type->count * type->bytes * (strcmp(role, "inout") == 0 ? 2 : 1),
                     st_text_string(&size));
    }
    st_text_release(&size);
    return code;
}

// Local: dynamic shared memory, which is no argument in CUDA.
static st_code read_local(t1_writer *to, const char *place, const json_t *object,
                          const struct type_row *type, arguments *all)
{
    bool present;
    st_text_addf(&all->smem, " + %d * (", type->count * type->bytes);
    st_code code = st_t1_size(to, place, json_object_get(object, "Size"), &all->smem, &present);
    st_text_add(&all->smem, ")");
    if (code == ST_OK && !present)
        code = st_t1_wrong(to, place, NULL, "local memory without Size");
    return code == ST_OK ? check_number(to, place, json_object_get(object, "Size"), 0, MOST_SHARED, "Size") : code;
}

static st_code read_argument(t1_writer *to, size_t index, const json_t *object, arguments *all)
{
    char place[160], own[32];
    const char *name = json_string_value(json_object_get(object, "Name"));
    const char *memory = json_string_value(json_object_get(object, "MemoryType"));
    snprintf(own, sizeof own, "argument_%zu", index);
    snprintf(place, sizeof place, "KernelSpecification.Arguments[%zu] (%.64s)", index,
             name ? name : own);
    const struct type_row *type = find_type(json_string_value(json_object_get(object, "Type")));
    if (!type)
        return st_t1_wrong(to, place,
                           "Use the types of the T1 schema; a vector of another one can be uint8 "
                           "of as many bytes.",
                           "an unknown Type");
    if (name && !st_is_name(name))
        return st_t1_wrong(to, place, NULL, "Name is no name");
    if (!memory || strcmp(memory, "Vector") == 0)
        return read_vector(to, place, name ? name : own, object, type, all);
    if (strcmp(memory, "Scalar") == 0)
        return read_scalar(to, place, object, type, all);
    if (strcmp(memory, "Local") == 0)
        return read_local(to, place, object, type, all);
    return st_t1_wrong(to, place, "Make it an argument in global memory.",
                       "symbols in constant memory are not filled");
}

// A share of what the default configuration gives may be allowed; other ways of comparing are not.
static st_code read_reference(t1_writer *to, size_t index, const json_t *object)
{
    char place[80];
    snprintf(place, sizeof place, "KernelSpecification.ReferenceArguments[%zu]", index);
    const char *target = json_string_value(json_object_get(object, "TargetName"));
    const char *method = json_string_value(json_object_get(object, "ValidationMethod"));
    const json_t *threshold = json_object_get(object, "ValidationThreshold");
    if (!method || strcmp(method, "SideBySideRelativeComparison") != 0 || !target ||
        !json_is_number(threshold))
        return st_t1_wrong(
            to, place,
            "Use SideBySideRelativeComparison with a ValidationThreshold, or leave it out.",
            "results are compared with the default configuration's, by a share of them");
    return st_t1_line(to, place, "compare %s tolerance %.17g", target,
                      json_number_value(threshold));
}

static st_code read_references(t1_writer *to, const json_t *kernel)
{
    const json_t *list = json_object_get(kernel, "ReferenceArguments"),
                 *all = json_object_get(kernel, "Arguments");
    st_code code = ST_OK;
    for (size_t i = 0; i < json_array_size(list) && code == ST_OK; i++)
        code = read_reference(to, i, json_array_get(list, i));
    // With one comparison every output needs its own.
    for (size_t a = 0; json_array_size(list) && a < json_array_size(all) && code == ST_OK; a++) {
        const json_t *object = json_array_get(all, a);
        const char *access = json_string_value(json_object_get(object, "AccessType"));
        const char *name = json_string_value(json_object_get(object, "Name")), *target = NULL;
        for (size_t i = 0; name && i < json_array_size(list) && !st_text_equal(name, target); i++)
            target = json_string_value(json_object_get(json_array_get(list, i), "TargetName"));
        if (name && access && strcmp(access, "ReadOnly") != 0 && !st_text_equal(name, target))
            code =
                st_t1_line(to, "KernelSpecification.Arguments", "compare %s tolerance 1e-5", name);
    }
    return code;
}

// --- the launch -------------------------------------------------------------------------------------------------

// The product of a GridDiv list; "1" of an empty one.
static st_code read_divisor(t1_writer *to, const char *place, const json_t *list, st_text *out)
{
    st_code code = ST_OK;
    bool present;
    st_text_add(out, "max(1, 1");
    for (size_t i = 0; i < (json_is_array(list) ? json_array_size(list) : 1) && code == ST_OK;
         i++) {
        st_text factor;
        st_text_init(&factor);
        code = st_t1_size(to, place, json_is_array(list) ? json_array_get(list, i) : list, &factor,
                          &present);
        if (code == ST_OK && present)
            st_text_addf(out, " * (%s)", st_text_string(&factor));
        st_text_release(&factor);
    }
    st_text_add(out, ")");
    return code;
}

// Blocks along one dimension: problem over divisors where the file has both, as its own tools do; else GlobalSize, in
// blocks (CUDA) or threads.
static st_code read_grid(t1_writer *to, const json_t *kernel, int d, const char *block,
                         st_text *out)
{
    char place[64], key[16];
    snprintf(key, sizeof key, "GridDiv%s", dimensions[d]);
    snprintf(place, sizeof place, "KernelSpecification.%s", key);
    const json_t *divisor = json_object_get(kernel, key),
                 *all = json_object_get(kernel, "GlobalSize");
    const char *kind = json_string_value(json_object_get(kernel, "GlobalSizeType"));
    if ((size_t)d < to->names.size_count && divisor && !json_is_null(divisor)) {
        st_text_addf(out, "ceil_div(%lld, ", (long long)to->names.sizes[d]);
        st_code code = read_divisor(to, place, divisor, out);
        st_text_add(out, ")");
        return code;
    }
    snprintf(place, sizeof place, "KernelSpecification.GlobalSize.%s", dimensions[d]);
    bool threads = kind && strcmp(kind, "CUDA") != 0, present;
    st_text size;
    st_text_init(&size);
    st_code code = st_t1_size(to, place, json_object_get(all, dimensions[d]), &size, &present);
    if (code == ST_OK && !present && d == 0)
        code = st_t1_wrong(to, place, "Write GlobalSize, or ProblemSize and GridDivX.",
                           "the grid is missing");
    if (code == ST_OK && present && threads)
        st_text_addf(out, "ceil_div(%s, %s)", st_text_string(&size), block);
    else if (code == ST_OK)
        st_text_add(out, present ? st_text_string(&size) : "1");
    st_text_release(&size);
    return code;
}

static st_code write_launch(t1_writer *to, const json_t *kernel, const char *name,
                            const arguments *all)
{
    st_text grid, blocks;
    st_text_init(&grid);
    st_text_init(&blocks);
    const json_t *local = json_object_get(kernel, "LocalSize"),
                 *shared = json_object_get(kernel, "SharedMemory");
    st_code code = ST_OK;
    for (int d = 0; d < 3 && code == ST_OK; d++) {
        char place[64];
        bool present;
        st_text one;
        st_text_init(&one);
        snprintf(place, sizeof place, "KernelSpecification.LocalSize.%s", dimensions[d]);
        code = st_t1_size(to, place, json_object_get(local, dimensions[d]), &one, &present);
        if (code == ST_OK && !present)
            st_text_add(&one, "1");
        if (code == ST_OK && one.failed)
            code = st_fail_memory(to->error, "reading a T1 file");
        st_text_addf(&blocks, "%s(%s)", d ? "," : "", st_text_string(&one));
        st_text_add(&grid, d ? ",(" : "(");
        if (code == ST_OK)
            code = read_grid(to, kernel, d, st_text_string(&one), &grid);
        st_text_add(&grid, ")");
        st_text_release(&one);
    }
    if (code == ST_OK && (grid.failed || blocks.failed))
        code = st_fail_memory(to->error, "reading a T1 file");
    if (code == ST_OK)
        code = check_number(to, "KernelSpecification.SharedMemory", shared, 0, MOST_SHARED, "it");
    long long fixed = json_is_integer(shared) ? (long long)json_integer_value(shared) : 0;
    if (code == ST_OK)
        code =
            st_t1_line(to, "KernelSpecification", "launch %s grid=%s block=%s smem=%lld%s args=%s",
                       name, st_text_string(&grid), st_text_string(&blocks), fixed,
                       st_text_string(&all->smem), st_text_string(&all->list));
    if (code == ST_OK)
        code = st_t1_line(to, "KernelSpecification.Arguments", "bytes 0%s",
                          st_text_string(&all->bytes));
    st_text_release(&blocks);
    st_text_release(&grid);
    return code;
}

st_code st_t1_read_launch(t1_writer *to, const json_t *kernel, const char *name)
{
    const json_t *list = json_object_get(kernel, "Arguments");
    arguments all;
    if (list && !json_is_null(list) && !json_is_array(list))
        return st_t1_wrong(to, "KernelSpecification.Arguments", "Write \"Arguments\": [{…}, …].", "it is no list");
    st_text_init(&all.list);
    st_text_init(&all.bytes);
    st_text_init(&all.smem);
    st_code code = ST_OK;
    for (size_t i = 0; i < json_array_size(list) && code == ST_OK; i++)
        code = read_argument(to, i, json_array_get(list, i), &all);
    if (code == ST_OK)
        code = read_references(to, kernel);
    if (code == ST_OK && (all.list.failed || all.bytes.failed || all.smem.failed))
        code = st_fail_memory(to->error, "reading a T1 file");
    if (code == ST_OK)
        code = write_launch(to, kernel, name, &all);
    st_text_release(&all.smem);
    st_text_release(&all.bytes);
    st_text_release(&all.list);
    return code;
}
