// SPDX-License-Identifier: Apache-2.0
// Headers. Invariants (tests/unit/tuner/test_emit.c and tests/consumers cite them):
//  H1  The same template, choices and options give the same bytes, in whatever order the choices
//      come. No clock, no path, no environment is read: dates are those of the measurements.
//  H2  The namespace simtune_<8 digits> is a hash of all that the header prints, so that two
//      different headers never define one name twice in a program.
//  H3  Including costs no code: everything is a template or inline; what is not called is not
//      compiled.
//  H4  A plan is run only where its constraints hold on the running device, as compiled (code_cc).
//  H5  No program text traps: divisions by zero give 0, sizes are below 2^48, counts saturate.
//  H6  The first line says so when the figures are not those of a measurement on this machine.
//
// In the header, from top to bottom: what it is (emit_about.c), provenance (emit_provenance.c);
// simtune_config; constants and choice for C and C++ (emit_choice.c, emit_search.c); kernels
// (emit_kernels.c); host functions (emit_host.c, emit_plan.c, emit_steps.c, emit_call.c). emit_model.c sorts the rows
// first, and emit_shared.c finds what they share: code is printed once for all of them, and is over their numbers.
// The order of calls is st_emit_header below.
#include "tuner/base/memory.h"
#include "tuner/emit_internal.h"

#include <stdio.h>
#include <string.h>

// --- parts ---------------------------------------------------------------------------------------

// clang-format off
static const char config_text[] =
    "#if !defined(__CUDACC_RTC__)\n"
    "#include <stddef.h>\n"
    "#if defined(SIMTUNE_CONFIG_LAYOUT) && SIMTUNE_CONFIG_LAYOUT != 1\n"
    "#error \"headers of two versions of simtune that lay out simtune_config differently: make them anew\"\n"
    "#endif\n"
    "#ifndef SIMTUNE_CONFIG_LAYOUT\n"
    "#define SIMTUNE_CONFIG_LAYOUT 1\n"
    "#ifdef __cplusplus\n"
    "#define SIMTUNE_INLINE_ inline\n"
    "#else\n"
    "#define SIMTUNE_INLINE_ static inline\n"
    "#endif\n"
    "/* A configuration and where it comes from. The same in the headers of all families. */\n"
    "typedef struct simtune_config_1 {\n"
    "    const char *problem;  /* what it was tuned for: \"T=f32 op=sum n=65536\"; \"\" the default */\n"
    "    const char *text;     /* \"BLOCK=256 VEC=4\" */\n"
    "    const char *device;   /* on which it was measured */\n"
    "    int cc, sm_count;     /* its class */\n"
    "    unsigned long long n; /* recorded size; 0 when there is none */\n"
    "    int exact;            /* 1: recorded for the class asked for; 0: borrowed from another */\n"
    "    int predicted, emulated; /* 1: no measurement behind it */\n"
    "    int deterministic;    /* 1: floats are the same from run to run */\n"
    "    int blocks_per_sm;    /* resident blocks of the main kernel */\n"
    "    double median_ns, speedup; /* -1 unknown; speedup over the template's default */\n"
    "    int value_count;\n"
    "    const long long *value; /* by SIMTUNE_<FAMILY>_<PARAMETER> */\n"
    "} simtune_config;\n"
    "#endif\n"
    "#endif\n\n";
// clang-format on

static void add_structures(const st_emit_model *model, st_text *out)
{
    for (size_t i = 0; i < model->structure_count; i++) {
        const st_choice *choice = &model->choices[model->structures[i]];
        char name[48];
        snprintf(name, sizeof name, "config_%zu", i);
        st_program_config_struct(model->tmpl, &choice->problem, &choice->config, name, out);
    }
}

#define NOT_NVRTC(text) "#if !defined(__CUDACC_RTC__)\n" text "#endif\n"

static void add_define(void *context, const char *name, const char *value)
{
    st_text_addf(context, "#define %s %s\n", name, value);
}

static void add_undef(void *context, const char *name, const char *value)
{
    (void)value;
    st_text_addf(context, "#undef %s\n", name);
}

// NVRTC does not know push_macro, and has no outside.
static void add_macro_pragmas(const st_emit_kernels *kernels, const char *pragma, st_text *out)
{
    st_text_add(out, "#if !defined(__CUDACC_RTC__)\n");
    for (size_t i = 0; i < kernels->macros.count; i++)
        st_text_addf(out, "#pragma %s(\"%s\")\n", pragma, kernels->macros.items[i]);
    st_text_add(out, "#endif\n");
}

static void add_undefs(const st_emit_kernels *kernels, st_text *out)
{
    for (size_t i = 0; i < kernels->macros.count; i++)
        add_undef(out, kernels->macros.items[i], NULL);
}

// Macros of users' files: a copy of the text for each configuration, internal to the file that
// includes it.
static void add_macro_copies(const st_emit_model *model, const st_emit_kernels *kernels,
                             st_text *out)
{
    for (size_t i = 0; i < model->structure_count; i++) {
        const st_choice *choice = &model->choices[model->structures[i]];
        st_text_addf(out, "namespace config_%zu {\n" NOT_NVRTC("namespace {\n"), i);
        add_undefs(kernels, out);
        st_text_add(out, "struct simtune_structure {\n};\n"); // a type that tells the copies apart
        st_program_macros(model->tmpl, &choice->problem, &choice->config, add_define, out);
        st_text_add(out, st_text_string(&kernels->text));
        st_program_macros(model->tmpl, &choice->problem, &choice->config, add_undef, out);
        st_text_addf(out, NOT_NVRTC("}\n") "} // namespace config_%zu\n", i);
    }
}

typedef struct macro_names {
    st_emit_strings *strings;
    bool failed;
} macro_names;

static void collect_macro(void *context, const char *name, const char *value)
{
    macro_names *names = context;
    (void)value;
    names->failed |= !st_emit_strings_add(names->strings, name, strlen(name));
}

// Macros that the kernels' text defines, and those that stand for parameters, keep the meaning that
// they have outside: another header may bring the same text.
static void add_kernels(const st_emit_model *model, st_emit_kernels *kernels, st_text *out)
{
    const st_template *tmpl = model->tmpl;
    macro_names names = {&kernels->macros, false};
    if (!tmpl->is_config)
        st_program_macros(tmpl, &model->choices[0].problem, &model->choices[0].config,
                          collect_macro, &names);
    out->failed |= names.failed;
    st_text_add(out, "#if defined(__CUDACC__)\n");
    for (size_t i = 0; i < kernels->headers.count; i++)
        st_text_addf(out, "#include %s\n", kernels->headers.items[i]);
    add_macro_pragmas(kernels, "push_macro", out);
    add_undefs(kernels, out);
    st_text_add(out, "// --- kernels\n");
    bool own = tmpl->is_config && kernels->has_namespace;
    if (own)
        st_text_add(out, st_text_string(&kernels->text));
    st_text_add(out, "namespace simtune_" ST_EMIT_HASH_PLACE " {\n");
    if (tmpl->is_config && !own)
        st_text_add(out, st_text_string(&kernels->text));
    if (tmpl->is_config)
        add_structures(model, out);
    else
        add_macro_copies(model, kernels, out);
    st_text_add(out, "} // namespace simtune_" ST_EMIT_HASH_PLACE "\n");
    add_undefs(kernels, out);
    add_macro_pragmas(kernels, "pop_macro", out);
    st_text_add(out, "#endif // __CUDACC__\n\n");
}

static st_code add_choices(st_emit_model *model, st_text *out, st_error *error)
{
    st_text_add(out, "#if !defined(__CUDACC_RTC__)\n"
                     "#ifdef __cplusplus\nnamespace simtune_" ST_EMIT_HASH_PLACE " {\n#endif\n\n");
    st_code code = st_emit_choice(model, out, error);
    st_text_add(out, "#ifdef __cplusplus\n} // namespace simtune_" ST_EMIT_HASH_PLACE "\n#endif\n"
                     "#endif // !__CUDACC_RTC__\n\n");
    return code;
}

// The type of an argument; ST_TYPE_COUNT for a size.
static st_type_id type_of_argument(const st_emit_model *model, const st_emit_function *function,
                                   const st_emit_argument *argument)
{
    const st_template *tmpl = model->tmpl;
    const st_problem *problem = &st_emit_row_choice(model, function, 0)->problem;
    return argument->buffer >= 0   ? st_emit_buffer_type(tmpl, problem, &tmpl->buffers[argument->buffer])
           : argument->scalar >= 0 ? st_problem_scalar_type(tmpl, problem, &tmpl->scalars[argument->scalar])
                                   : ST_TYPE_COUNT;
}

// Of the types in the functions' arguments that are no fundamental ones. Pointers need to know no more than that there
// is such a type (cuda_fp16.h and cuda_bf16.h take longer to compile than all the rest of a header); numbers do.
static void add_types(const st_emit_model *model, st_text *out)
{
    bool pointed[ST_TYPE_COUNT + 1] = {false}, passed[ST_TYPE_COUNT + 1] = {false};
    for (size_t f = 0; f < model->function_count; f++)
        for (size_t i = 0; i < model->functions[f].argument_count; i++) {
            const st_emit_argument *argument = &model->functions[f].arguments[i];
            st_type_id id = type_of_argument(model, &model->functions[f], argument);
            *(argument->scalar >= 0 ? &passed[id] : &pointed[id]) = true;
        }
    for (int id = 0; id < ST_TYPE_COUNT; id++) {
        const st_type *type = st_type_of((st_type_id)id);
        if (type->host_include && passed[id])
            st_text_addf(out, "#include %s\n", type->host_include);
        else if (type->host_include && pointed[id])
            st_text_addf(out, "struct %s; // of %s\n", type->host_name, type->host_include);
    }
}

static void add_host_includes(const st_emit_model *model, st_text *out)
{
    st_text_add(out, "#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)\n"
                     "#if !defined(__GNUC__)\n#include <atomic>\n#endif\n#include <cuda_runtime.h>\n");
    add_types(model, out);
    st_text_add(out, "#endif\n\n");
}

// --- in two files --------------------------------------------------------------------------------

#define HAS_RUNTIME "SIMTUNE_HAS_RUNTIME_" ST_EMIT_HASH_PLACE

// C++ with the runtime's headers at hand sees the functions; C, and C++ without CUDA, what is below.
static void add_declarations(const st_emit_model *model, st_text *out)
{
    st_text_add(out, "#if defined(__cplusplus) && !defined(__CUDACC_RTC__)\n"
                     "#if defined(__CUDACC__)\n#define " HAS_RUNTIME "\n"
                     "#elif defined(__has_include)\n#if __has_include(<cuda_runtime_api.h>)\n#define " HAS_RUNTIME
                     "\n#endif\n#endif\n#endif\n#ifdef " HAS_RUNTIME "\n#include <cuda_runtime_api.h>\n");
    add_types(model, out);
    st_text_add(out, "namespace simtune_" ST_EMIT_HASH_PLACE " {\n");
    for (size_t i = 0; i < model->function_count; i++) {
        st_text_addf(out, "cudaError_t %s(", model->functions[i].full);
        st_emit_parameters(model, &model->functions[i], true, out);
        st_text_add(out, ");\n");
    }
    st_text_add(out, "} // namespace simtune_" ST_EMIT_HASH_PLACE "\n#endif\n\n");
}

static void add_definition(const st_emit_model *model, const st_emit_function *function, st_text *out)
{
    st_text_addf(out, "\ncudaError_t %s(", function->full);
    st_emit_parameters(model, function, true, out);
    st_text_addf(out, ")\n{\n    return host::%s(", function->full);
    st_emit_parameters(model, function, false, out);
    st_text_add(out, ");\n}\n");
}

static st_code add_host(st_emit_model *model, st_text *out, st_error *error)
{
    st_text_add(out, "#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)\n"
                     "namespace simtune_" ST_EMIT_HASH_PLACE " {\nnamespace host {\n\n");
    st_emit_host_common(model, false, out);
    st_code code = st_emit_plan_function(model, out, error);
    st_emit_steps(model, out);
    st_emit_host_common(model, true, out);
    for (size_t i = 0; !code && i < model->function_count; i++)
        code = st_emit_call_function(model, &model->functions[i], out, error);
    st_text_add(out, "} // namespace host\n");
    for (size_t i = 0; i < model->function_count; i++)
        if (model->split)
            add_definition(model, &model->functions[i], out);
        else
            st_text_addf(out, "using host::%s;\n", model->functions[i].full);
    st_text_add(out, "} // namespace simtune_" ST_EMIT_HASH_PLACE "\n#endif\n\n");
    return code;
}

static void add_using(const st_emit_model *model, const char *end, st_text *out)
{
    for (size_t i = 0; i < model->function_count; i++)
        st_text_addf(out, "using simtune_" ST_EMIT_HASH_PLACE "::%s%s;\n",
                     model->functions[i].full, end);
}

static void add_global_names(const st_emit_model *model, st_text *out)
{
    st_text_addf(out, "#ifdef SIMTUNE_%s_GLOBAL_" ST_EMIT_HASH_PLACE "\n", model->upper);
    st_emit_constants(model, out);
    st_text_add(out, "#if defined(__cplusplus) && !defined(__CUDACC_RTC__)\n");
    add_using(model, "_config", out);
    st_text_add(out, model->split ? "#ifdef " HAS_RUNTIME "\n" : "#if defined(__CUDACC__)\n");
    add_using(model, "", out);
    st_text_add(out, "#endif\n#endif\n#endif\n\n");
}

static void add_guard(const st_emit_model *model, st_text *out)
{
    st_text_addf(out,
                 "#ifndef SIMTUNE_%s_H_" ST_EMIT_HASH_PLACE
                 "\n#define SIMTUNE_%s_H_" ST_EMIT_HASH_PLACE "\n"
                 "#if defined(__cplusplus) && defined(SIMTUNE_NAMESPACE_ONLY)\n"
                 "/* No global names: those of another version may be here. */\n"
                 "#elif defined(SIMTUNE_%s_H)\n"
                 "#error \"two versions of %s.h in one file: define SIMTUNE_NAMESPACE_ONLY before "
                 "one of them "
                 "(C++), or include them in two files\"\n"
                 "#define SIMTUNE_%s_CLASH_" ST_EMIT_HASH_PLACE "\n"
                 "#else\n"
                 "#define SIMTUNE_%s_H \"" ST_EMIT_HASH_PLACE
                 "\"\n#define SIMTUNE_%s_GLOBAL_" ST_EMIT_HASH_PLACE "\n"
                 "#endif\n#ifndef SIMTUNE_%s_CLASH_" ST_EMIT_HASH_PLACE "\n\n",
                 model->upper, model->upper, model->upper, model->base, model->upper, model->upper,
                 model->upper, model->upper);
}

static void add_message(const char *warning, const st_emit_model *model, st_text *out)
{
    st_text message;
    st_text_init(&message);
    st_text_addf(&message, "%s.h: %s", model->base, warning);
    st_text_add(out, "#if !defined(SIMTUNE_QUIET) && !defined(__CUDACC_RTC__) && !defined(__CUDA_ARCH__)\n#pragma message(");
    st_emit_string(st_text_string(&message), out);
    st_text_add(out, ")\n#endif\n\n");
    out->failed |= message.failed;
    st_text_release(&message);
}

// --- the whole -----------------------------------------------------------------------------------

// What runs: kernels, and the host functions that launch them.
static st_code add_code(st_emit_model *model, st_emit_kernels *kernels, st_text *out, st_error *error)
{
    add_kernels(model, kernels, out);
    return add_host(model, out, error);
}

static st_code print_source(st_emit_model *model, st_emit_kernels *kernels, const char *header_name, st_text *out,
                            st_error *error)
{
    st_text_addf(out,
                 "// SPDX-License-Identifier: 0BSD\n"
                 "// Kernels and host functions of the family %s, for %s, which says what they are and where they\n"
                 "// come from. To be compiled once, by a CUDA compiler.\n"
                 "#define SIMTUNE_NAMESPACE_ONLY\n#include \"%s\"\n"
                 "#ifndef SIMTUNE_%s_H_" ST_EMIT_HASH_PLACE "\n#error \"%s is not the one that was made with this file: "
                 "make both anew\"\n#endif\n",
                 model->tmpl->family, header_name, header_name, model->upper, header_name);
    add_host_includes(model, out);
    st_code code = add_code(model, kernels, out, error);
    return code ? code : out->failed ? st_fail_memory(error, "printing a header") : ST_OK;
}

static st_code print_header(st_emit_model *model, st_emit_kernels *kernels, st_text *out,
                            st_error *error)
{
    st_text warning;
    st_text_init(&warning);
    bool warns = st_emit_warning(model, &warning);
    if (warns)
        st_text_addf(out, "// %s\n", st_text_string(&warning));
    st_emit_about(model, out);
    st_emit_provenance(model, out);
    add_guard(model, out);
    if (warns)
        add_message(st_text_string(&warning), model, out);
    out->failed |= warning.failed;
    st_text_release(&warning);
    if (!model->split)
        add_host_includes(model, out);
    st_text_add(out, config_text);
    st_code code = add_choices(model, out, error);
    if (code)
        return code;
    if (model->split)
        add_declarations(model, out);
    else
        code = add_code(model, kernels, out, error);
    if (code)
        return code;
    add_global_names(model, out);
    st_text_addf(out, "#endif\n#endif // SIMTUNE_%s_H_" ST_EMIT_HASH_PLACE "\n", model->upper);
    return out->failed ? st_fail_memory(error, "printing a header") : ST_OK;
}

// H2: the hash of the text with its place held takes that place.
static void fill_hash(const char *hash, const st_text *draft, st_text *out)
{
    const char *at = st_text_string(draft);
    for (const char *place; (place = strstr(at, ST_EMIT_HASH_PLACE)) != NULL;) {
        st_text_add_bytes(out, at, (size_t)(place - at));
        st_text_add_bytes(out, hash, 8);
        at = place + sizeof ST_EMIT_HASH_PLACE - 1;
    }
    st_text_add(out, at);
}

// Both texts have the hash of both. `source` NULL: one file.
static st_code print(st_emit_model *model, st_emit_kernels *kernels, const char *header_name, st_text *header,
                     st_text *source, st_error *error)
{
    st_text drafts[2], whole;
    char hash[ST_HASH_TEXT];
    st_text_init(&drafts[0]);
    st_text_init(&drafts[1]);
    st_text_init(&whole);
    st_code code = print_header(model, kernels, &drafts[0], error);
    if (!code && source)
        code = print_source(model, kernels, header_name, &drafts[1], error);
    st_text_add(&whole, st_text_string(&drafts[0]));
    st_text_add(&whole, st_text_string(&drafts[1]));
    if (!code) {
        st_hash_of(st_text_string(&whole), whole.length, hash);
        fill_hash(hash, &drafts[0], header);
        if (source)
            fill_hash(hash, &drafts[1], source);
        if (whole.failed || header->failed || (source && source->failed))
            code = st_fail_memory(error, "printing a header");
    }
    st_text_release(&drafts[0]);
    st_text_release(&drafts[1]);
    st_text_release(&whole);
    return code;
}

st_code st_emit_split(const st_template *tmpl, const st_choice *choices, size_t count,
                      const st_emit_options *options, const char *header_name, st_text *header, st_text *source,
                      st_error *error)
{
    static const st_emit_options none = {0};
    st_emit_model model;
    st_code code =
        st_emit_model_make(tmpl, choices, count, options ? options : &none, &model, error);
    if (code)
        return code;
    st_emit_kernels kernels;
    model.split = source != NULL;
    code = st_emit_kernels_make(tmpl, "simtune_" ST_EMIT_HASH_PLACE, true, &kernels, error);
    if (!code) {
        model.in_namespace = kernels.has_namespace;
        code = st_emit_share(&model, error);
        if (!code)
            code = print(&model, &kernels, header_name, header, source, error);
        st_emit_kernels_release(&kernels);
    }
    st_emit_model_release(&model);
    return code;
}

st_code st_emit_header(const st_template *tmpl, const st_choice *choices, size_t count,
                       const st_emit_options *options, st_text *out, st_error *error)
{
    return st_emit_split(tmpl, choices, count, options, NULL, out, NULL, error);
}
