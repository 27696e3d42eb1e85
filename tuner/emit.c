// SPDX-License-Identifier: Apache-2.0
// Headers. Invariants (tests/unit/tuner/test_emit.c and tests/consumers cite them):
//  H1  The same template, choices and options give the same bytes, in whatever order the choices come. No
//      clock, no path, no environment is read: dates are those of the measurements.
//  H2  The namespace simtune_<8 digits> is a hash of all that the header prints, so that two different
//      headers never define one name twice in a program.
//  H3  Including costs no code: everything is a template or inline; what is not called is not compiled.
//  H4  A plan is run only where its constraints hold on the running device, as compiled (code_cc).
//  H5  No program text traps: divisions by zero give 0, sizes are below 2^48, counts saturate.
//  H6  The first line says so when the figures are not those of a measurement on this machine.
//
// In the header, from top to bottom: what it is (comments, provenance: emit_provenance.c); simtune_config;
// constants and choice for C and C++ (emit_choice.c); kernels (emit_kernels.c); host functions (emit_plan.c).
// emit_model.c sorts the rows first. The order of calls is st_emit_header below.
#include "tuner/base/clock.h"
#include "tuner/base/memory.h"
#include "tuner/base/version.h"
#include "tuner/emit_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define HASH_PLACE "@HASH8@"

// --- what it is -------------------------------------------------------------------------------------------------

static void add_class_name(const st_choice *choice, st_text *out) {
    st_emit_comment(*choice->device_name ? choice->device_name : "an unnamed device", out);
    st_text_addf(out, " (sm_%d, %d SMs)", choice->device_class.cc, choice->device_class.sm_count);
}

static void add_date(int64_t measured_ms, st_text *out) {
    char date[ST_DATE_TEXT];
    if (measured_ms <= 0) {
        st_text_add(out, "an unknown date");
        return;
    }
    st_clock_date(measured_ms, date);
    date[10] = '\0'; // the day
    st_text_add(out, date);
}

// One row a device class, with the newest date of its rows.
static void add_devices(const st_emit_model *model, bool predicted, bool with_dates, st_text *out) {
    size_t listed = 0;
    for (size_t i = 0; i < model->given_count; i++) {
        const st_choice *it = &model->choices[i];
        int64_t newest = it->measured_ms;
        bool seen = it->predicted != predicted;
        for (size_t j = 0; j < model->given_count; j++) {
            const st_choice *other = &model->choices[j];
            if (other->predicted != predicted ||
                memcmp(&other->device_class, &it->device_class, sizeof it->device_class) != 0)
                continue;
            seen |= j < i;
            newest = other->measured_ms > newest ? other->measured_ms : newest;
        }
        if (seen)
            continue;
        st_text_add(out, listed++ ? ", " : "");
        add_class_name(it, out);
        if (with_dates) {
            st_text_add(out, " of ");
            add_date(newest, out);
        }
    }
}

typedef struct standing { bool measured, predicted, emulated; } standing;

static standing standing_of(const st_emit_model *model) {
    standing it = {false, false, false};
    for (size_t i = 0; i < model->given_count; i++) {
        it.emulated |= model->choices[i].emulated;
        it.predicted |= model->choices[i].predicted;
        it.measured |= !model->choices[i].emulated && !model->choices[i].predicted;
    }
    return it;
}

// H6. Without line marks, so that it serves #pragma message as well. False: nothing to say.
static bool add_warning(const st_emit_model *model, st_text *out) {
    standing it = standing_of(model);
    size_t before = out->length;
    if (it.emulated)
        st_text_add(out, "EMULATED: these times mean nothing, the device was emulated on a CPU. ");
    if (model->options->not_tuned_here) {
        st_text_add(out, "NOT TUNED HERE: ");
        if (it.measured || it.emulated) {
            st_text_add(out, "figures measured on ");
            add_devices(model, false, true, out);
        }
        if (it.predicted)
            st_text_add(out, it.measured ? "; " : "");
    }
    if (it.predicted) {
        st_text_add(out, "PREDICTED, not measured, for ");
        add_devices(model, true, false, out);
    }
    return out->length > before;
}

static const char licence_text[] =
    "// SPDX-License-Identifier: 0BSD\n"
    "//\n"
    "// Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is\n"
    "// hereby granted.\n"
    "//\n"
    "// THE SOFTWARE IS PROVIDED \"AS IS\" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH REGARD TO THIS SOFTWARE\n"
    "// INCLUDING ALL IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR\n"
    "// ANY SPECIAL, DIRECT, INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES WHATSOEVER RESULTING FROM LOSS OF USE,\n"
    "// DATA OR PROFITS, WHETHER IN AN ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF OR IN\n"
    "// CONNECTION WITH THE USE OR PERFORMANCE OF THIS SOFTWARE.\n"
    "//\n";

static void add_prototype(const st_emit_model *model, const st_emit_function *function, st_text *out) {
    const st_template *tmpl = model->tmpl;
    const st_choice *choice = st_emit_row_choice(model, function, 0);
    st_text_addf(out, "//     cudaError_t %s%s%s(void *temp, size_t *temp_bytes", model->base,
                 *function->name ? "_" : "", function->name);
    for (size_t i = 0; i < model->argument_count; i++) {
        int buffer = model->arguments[i].buffer;
        if (buffer < 0) {
            st_text_addf(out, ", size_t %s", tmpl->axes[model->arguments[i].axis].name);
            continue;
        }
        const st_type *type = st_type_of(
            st_emit_buffer_type(tmpl, &choice->problem, &tmpl->buffers[buffer]));
        st_text_addf(out, ", %s%s *%s",
                     tmpl->buffers[buffer].role == ST_BUFFER_INPUT ? "const " : "", type->host_name,
                     tmpl->buffers[buffer].name);
    }
    st_text_add(out, ", cudaStream_t stream);\n");
}

static void add_usage(const st_emit_model *model, st_text *out) {
    st_text_addf(out,
                 "// %s.h: kernels of the family %s, tuned by simtune %s; chosen by the %s cache.\n", model->base,
                 model->tmpl->family, SIMTUNE_VERSION,
                 model->options->cache ? model->options->cache : "unknown state of the");
    if (model->options->command) {
        st_text_add(out, "// Made again by: ");
        st_emit_comment(model->options->command, out);
        st_text_add(out, "\n");
    }
    st_text_add(out, "//\n// With a CUDA compiler (C++11 and later):\n");
    for (size_t i = 0; i < model->function_count; i++)
        add_prototype(model, &model->functions[i], out);
    st_text_addf(out,
        "// temp NULL: writes the size of the temporary storage, enough for these sizes and smaller ones on every\n"
        "// device of the process. Otherwise temp_bytes is what temp has; it may hold anything and should be aligned to\n"
        "// 256 bytes, as cudaMalloc does (else ask for 255 more). Too little: cudaErrorInvalidValue. Launches on\n"
        "// `stream` and returns the error of every launch; allocates nothing, waits for nothing, may be captured in a\n"
        "// graph and replayed. Calls at the same time need storage of their own.\n"
        "// The configuration is that of the device (compute capability and SM count) and of the recorded size nearest\n"
        "// to n on a log scale: the boundary between two is their geometric mean. On a device that is not recorded, the\n"
        "// nearest class whose constraints hold, at last the default; -DSIMTUNE_NO_FALLBACK (in every file of the\n"
        "// program) makes that cudaErrorNotSupported.\n"
        "//\n"
        "// In C and C++ without CUDA: the constants below and, for each function,\n"
        "//     const simtune_config *%s%s%s_config(int cc, int sm_count, …);\n"
        "// cc is 90 for sm_90. `exact` of the answer is 0 when that class is not recorded; NULL: nothing suits.\n"
        "// With NVRTC: the kernels, in namespace simtune_" HASH_PLACE ", over config_0 …\n"
        "//\n"
        "// Two versions of this header in one program need nothing; in one file, define SIMTUNE_NAMESPACE_ONLY before\n"
        "// one of them (C++): its names then stand in namespace simtune_<hash> alone.\n//\n",
        model->base, *model->functions[0].name ? "_" : "", model->functions[0].name);
}

static void add_time(double ns, st_text *out) {
    if (ns < 1e3)
        st_text_addf(out, "%.0f ns", ns);
    else if (ns < 1e6)
        st_text_addf(out, "%.2f µs", ns / 1e3);
    else
        st_text_addf(out, "%.3f ms", ns / 1e6);
}

static void add_figures(const st_emit_model *model, const st_choice *choice, st_text *out) {
    st_text_add(out, "//     ");
    st_config_text(model->tmpl, &choice->config, out);
    st_text_add(out, "\n//     ");
    if (choice->predicted)
        st_text_add(out, "predicted, not measured");
    else if (isnan(choice->median_ns))
        st_text_add(out, "time unknown");
    else
        add_time(choice->median_ns, out);
    if (!isnan(choice->gbs))
        st_text_addf(out, ", %.0f GB/s", choice->gbs);
    if (!isnan(choice->speedup))
        st_text_addf(out, ", %.3f times the default's speed", choice->speedup);
    if (!isnan(choice->speedup_low) && !isnan(choice->speedup_high))
        st_text_addf(out, " (95 %%: %.3f to %.3f)", choice->speedup_low, choice->speedup_high);
    if (choice->samples > 0)
        st_text_addf(out, ", %zu samples", choice->samples);
    if (choice->tied > 1)
        st_text_addf(out, ", the simplest of %d that tie", choice->tied);
    st_text_add(out, choice->deterministic ? ", the same from run to run" : ", not the same from run to run");
    if (choice->emulated)
        st_text_add(out, ", emulated");
    if (*choice->template_hash && strcmp(choice->template_hash, model->tmpl->hash) != 0)
        st_text_add(out, ", measured with another version of the template");
    st_text_add(out, "\n");
}

static void add_table(const st_emit_model *model, st_text *out) {
    for (size_t f = 0; f < model->function_count; f++) {
        const st_emit_function *function = &model->functions[f];
        for (size_t c = 0; c < function->class_count; c++) {
            const st_emit_class *it = &model->classes[function->first_class + c];
            const st_choice *first = st_emit_row_choice(model, function, it->first);
            st_text_addf(out, "// %s%s%s on ", model->base, *function->name ? "_" : "", function->name);
            add_class_name(first, out);
            if (first->memory_bytes > 0)
                st_text_addf(out, ", %.0f GiB", (double)first->memory_bytes / (1 << 30));
            st_text_add(out, ", driver ");
            st_emit_comment(*first->driver ? first->driver : "unknown", out);
            st_text_add(out, ", ");
            st_emit_comment(*first->compiler ? first->compiler : "compiler unknown", out);
            st_text_add(out, ", ");
            add_date(first->measured_ms, out);
            st_text_add(out, ":\n");
            for (size_t r = 0; r < it->count; r++) {
                const st_choice *choice = st_emit_row_choice(model, function, it->first + r);
                st_text_add(out, "//   ");
                st_problem_text(model->tmpl, &choice->problem, out);
                st_text_add(out, "\n");
                add_figures(model, choice, out);
            }
        }
    }
    st_text_add(out, "//\n");
}

// --- parts -----------------------------------------------------------------------------------------------------------

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
    "    int blocks_per_sm;    /* resident blocks of the first kernel */\n"
    "    double median_ns, speedup; /* -1 unknown; speedup over the template's default */\n"
    "    int value_count;\n"
    "    const long long *value; /* by SIMTUNE_<FAMILY>_<PARAMETER> */\n"
    "} simtune_config;\n"
    "#endif\n"
    "#endif\n\n";

static void add_structures(const st_emit_model *model, st_text *out) {
    for (size_t i = 0; i < model->structure_count; i++) {
        const st_choice *choice = &model->choices[model->structures[i]];
        char name[48];
        snprintf(name, sizeof name, "config_%zu", i);
        st_program_config_struct(model->tmpl, &choice->problem, &choice->config, name, out);
    }
}

#define NOT_NVRTC(text) "#if !defined(__CUDACC_RTC__)\n" text "#endif\n"

static void add_define(void *context, const char *name, const char *value) {
    st_text_addf(context, "#define %s %s\n", name, value);
}

static void add_undef(void *context, const char *name, const char *value) {
    (void)value;
    st_text_addf(context, "#undef %s\n", name);
}

// NVRTC does not know push_macro, and has no outside.
static void add_macro_pragmas(const st_emit_kernels *kernels, const char *pragma, st_text *out) {
    st_text_add(out, "#if !defined(__CUDACC_RTC__)\n");
    for (size_t i = 0; i < kernels->macros.count; i++)
        st_text_addf(out, "#pragma %s(\"%s\")\n", pragma, kernels->macros.items[i]);
    st_text_add(out, "#endif\n");
}

static void add_undefs(const st_emit_kernels *kernels, st_text *out) {
    for (size_t i = 0; i < kernels->macros.count; i++)
        add_undef(out, kernels->macros.items[i], NULL);
}

// Macros of users' files: a copy of the text for each configuration, internal to the file that includes it.
static void add_macro_copies(const st_emit_model *model, const st_emit_kernels *kernels, st_text *out) {
    for (size_t i = 0; i < model->structure_count; i++) {
        const st_choice *choice = &model->choices[model->structures[i]];
        st_text_addf(out, "namespace config_%zu {\n" NOT_NVRTC("namespace {\n"), i);
        add_undefs(kernels, out);
        st_program_macros(model->tmpl, &choice->problem, &choice->config, add_define, out);
        st_text_add(out, st_text_string(&kernels->text));
        st_program_macros(model->tmpl, &choice->problem, &choice->config, add_undef, out);
        st_text_addf(out, NOT_NVRTC("}\n") "} // namespace config_%zu\n", i);
    }
}

// Macros that the kernels' text defines, and those that stand for parameters, keep the meaning that they have
// outside: another header may bring the same text.
static void collect_macro(void *context, const char *name, const char *value) {
    st_emit_strings *strings = context;
    (void)value;
    st_emit_strings_add(strings, name, strlen(name));
}

static void add_kernels(const st_emit_model *model, st_emit_kernels *kernels, st_text *out) {
    const st_template *tmpl = model->tmpl;
    if (!tmpl->is_config)
        st_program_macros(tmpl, &model->choices[0].problem, &model->choices[0].config, collect_macro,
                          &kernels->macros);
    st_text_add(out, "#if defined(__CUDACC__)\n");
    for (size_t i = 0; i < kernels->headers.count; i++)
        st_text_addf(out, "#include %s\n", kernels->headers.items[i]);
    add_macro_pragmas(kernels, "push_macro", out);
    add_undefs(kernels, out);
    st_text_add(out, "// --- kernels\n");
    bool own = tmpl->is_config && kernels->has_namespace;
    if (own)
        st_text_add(out, st_text_string(&kernels->text));
    st_text_add(out, "namespace simtune_" HASH_PLACE " {\n");
    if (tmpl->is_config && !own)
        st_text_add(out, st_text_string(&kernels->text));
    if (tmpl->is_config)
        add_structures(model, out);
    else
        add_macro_copies(model, kernels, out);
    st_text_add(out, "} // namespace simtune_" HASH_PLACE "\n");
    add_undefs(kernels, out);
    add_macro_pragmas(kernels, "pop_macro", out);
    st_text_add(out, "#endif // __CUDACC__\n\n");
}

static st_code add_choices(st_emit_model *model, st_text *out, st_error *error) {
    st_text_add(out, "#if !defined(__CUDACC_RTC__)\n"
                     "#ifdef __cplusplus\nnamespace simtune_" HASH_PLACE " {\n#endif\n\n");
    st_emit_choice_common(model, out);
    st_code code = ST_OK;
    for (size_t i = 0; !code && i < model->function_count; i++)
        code = st_emit_choice_function(model, &model->functions[i], out, error);
    st_text_add(out, "#ifdef __cplusplus\n} // namespace simtune_" HASH_PLACE "\n#endif\n"
                     "#endif // !__CUDACC_RTC__\n\n");
    return code;
}

static void add_host_includes(const st_emit_model *model, st_text *out) {
    bool listed[ST_TYPE_COUNT] = {false};
    st_text_add(out, "#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)\n"
                     "#include <atomic>\n#include <cuda_runtime.h>\n");
    for (size_t f = 0; f < model->function_count; f++) {
        const st_choice *choice = st_emit_row_choice(model, &model->functions[f], 0);
        for (size_t i = 0; i < model->argument_count; i++) {
            if (model->arguments[i].buffer < 0)
                continue;
            st_type_id id = st_emit_buffer_type(model->tmpl, &choice->problem,
                                                &model->tmpl->buffers[model->arguments[i].buffer]);
            if (!listed[id] && st_type_of(id)->host_include)
                st_text_addf(out, "#include %s\n", st_type_of(id)->host_include);
            listed[id] = true;
        }
    }
    st_text_add(out, "#endif\n\n");
}

static st_code add_host(st_emit_model *model, st_text *out, st_error *error) {
    st_text_add(out, "#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)\n"
                     "namespace simtune_" HASH_PLACE " {\nnamespace host {\n\n");
    st_emit_host_common(model, out);
    st_code code = ST_OK;
    for (size_t i = 0; !code && i < model->function_count; i++)
        code = st_emit_host_function(model, &model->functions[i], out, error);
    st_text_add(out, "} // namespace host\n");
    for (size_t i = 0; i < model->function_count; i++)
        st_text_addf(out, "using host::%s%s%s;\n", model->base, *model->functions[i].name ? "_" : "",
                     model->functions[i].name);
    st_text_add(out, "} // namespace simtune_" HASH_PLACE "\n#endif\n\n");
    return code;
}

static void add_using(const st_emit_model *model, const char *end, st_text *out) {
    for (size_t i = 0; i < model->function_count; i++)
        st_text_addf(out, "using simtune_" HASH_PLACE "::%s%s%s%s;\n", model->base,
                     *model->functions[i].name ? "_" : "", model->functions[i].name, end);
}

static void add_global_names(const st_emit_model *model, st_text *out) {
    st_text_addf(out, "#ifdef SIMTUNE_%s_GLOBAL_" HASH_PLACE "\n", model->upper);
    st_emit_constants(model, out);
    st_text_add(out, "#if defined(__cplusplus) && !defined(__CUDACC_RTC__)\n");
    add_using(model, "_config", out);
    st_text_add(out, "#if defined(__CUDACC__)\n");
    add_using(model, "", out);
    st_text_add(out, "#endif\n#endif\n#endif\n\n");
}

static void add_guard(const st_emit_model *model, st_text *out) {
    st_text_addf(out,
                 "#ifndef SIMTUNE_%s_H_" HASH_PLACE "\n#define SIMTUNE_%s_H_" HASH_PLACE "\n"
                 "#if defined(__cplusplus) && defined(SIMTUNE_NAMESPACE_ONLY)\n"
                 "/* No global names: those of another version may be here. */\n"
                 "#elif defined(SIMTUNE_%s_H)\n"
                 "#error \"two versions of %s.h in one file: define SIMTUNE_NAMESPACE_ONLY before one of them "
                 "(C++), or include them in two files\"\n"
                 "#define SIMTUNE_%s_CLASH_" HASH_PLACE "\n"
                 "#else\n"
                 "#define SIMTUNE_%s_H \"" HASH_PLACE "\"\n#define SIMTUNE_%s_GLOBAL_" HASH_PLACE "\n"
                 "#endif\n#ifndef SIMTUNE_%s_CLASH_" HASH_PLACE "\n\n",
                 model->upper, model->upper, model->upper, model->base, model->upper, model->upper,
                 model->upper, model->upper);
}

static void add_message(const char *warning, const st_emit_model *model, st_text *out) {
    st_text message;
    st_text_init(&message);
    st_text_addf(&message, "%s.h: %s", model->base, warning);
    st_text_add(out, "#if !defined(SIMTUNE_QUIET) && !defined(__CUDACC_RTC__)\n#pragma message(");
    st_emit_string(st_text_string(&message), out);
    st_text_add(out, ")\n#endif\n\n");
    out->failed |= message.failed;
    st_text_release(&message);
}

// --- the whole ---------------------------------------------------------------------------------------------------------

static st_code print_header(st_emit_model *model, st_emit_kernels *kernels, st_text *out,
                            st_error *error) {
    st_text warning;
    st_text_init(&warning);
    bool warns = add_warning(model, &warning);
    if (warns)
        st_text_addf(out, "// %s\n", st_text_string(&warning));
    st_text_add(out, licence_text);
    add_usage(model, out);
    add_table(model, out);
    st_emit_provenance(model, out);
    add_guard(model, out);
    if (warns)
        add_message(st_text_string(&warning), model, out);
    out->failed |= warning.failed;
    st_text_release(&warning);
    add_host_includes(model, out);
    st_text_add(out, config_text);
    st_code code = add_choices(model, out, error);
    if (code)
        return code;
    add_kernels(model, kernels, out);
    code = add_host(model, out, error);
    if (code)
        return code;
    add_global_names(model, out);
    st_text_addf(out, "#endif\n#endif // SIMTUNE_%s_H_" HASH_PLACE "\n", model->upper);
    return out->failed ? st_fail_memory(error, "printing a header") : ST_OK;
}

// H2: the hash of the text with its place held takes that place.
static void fill_hash(const st_text *draft, st_text *out) {
    char hash[ST_HASH_TEXT];
    st_hash_of(draft->data, draft->length, hash);
    hash[8] = '\0';
    const char *at = draft->data;
    for (const char *place; (place = strstr(at, HASH_PLACE)) != NULL;) {
        st_text_add_bytes(out, at, (size_t)(place - at));
        st_text_add(out, hash);
        at = place + sizeof HASH_PLACE - 1;
    }
    st_text_add(out, at);
}

st_code st_emit_header(const st_template *tmpl, const st_choice *choices, size_t count,
                       const st_emit_options *options, st_text *out, st_error *error) {
    static const st_emit_options none = {NULL, false, NULL};
    st_emit_model model;
    st_code code = st_emit_model_make(tmpl, choices, count, options ? options : &none, &model, error);
    if (code)
        return code;
    st_emit_kernels kernels;
    code = st_emit_kernels_make(tmpl, "simtune_" HASH_PLACE, true, &kernels, error);
    if (!code) {
        model.in_namespace = kernels.has_namespace;
        st_text draft;
        st_text_init(&draft);
        code = print_header(&model, &kernels, &draft, error);
        if (!code)
            fill_hash(&draft, out);
        if (!code && out->failed)
            code = st_fail_memory(error, "printing a header");
        st_text_release(&draft);
        st_emit_kernels_release(&kernels);
    }
    st_emit_model_release(&model);
    return code;
}
