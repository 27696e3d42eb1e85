// SPDX-License-Identifier: Apache-2.0
// The comments at a header's top: whose figures they are, the licence, how it is used, the table.
#include "tuner/base/clock.h"
#include "tuner/base/version.h"
#include "tuner/emit_internal.h"

#include <math.h>
#include <string.h>

// --- what it is ----------------------------------------------------------------------------------

static void add_class_name(const st_choice *choice, st_text *out)
{
    st_emit_comment(*choice->device_name ? choice->device_name : "an unnamed device", out);
    st_text_addf(out, " (sm_%d, %d SMs)", choice->device_class.cc, choice->device_class.sm_count);
}

static void add_date(int64_t measured_ms, st_text *out)
{
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
static void add_devices(const st_emit_model *model, bool predicted, bool with_dates, st_text *out)
{
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

typedef struct standing {
    bool measured, predicted, emulated;
} standing;

static standing standing_of(const st_emit_model *model)
{
    standing it = {false, false, false};
    for (size_t i = 0; i < model->given_count; i++) {
        it.emulated |= model->choices[i].emulated;
        it.predicted |= model->choices[i].predicted;
        it.measured |= !model->choices[i].emulated && !model->choices[i].predicted;
    }
    return it;
}

// H6. Without line marks, so that it serves #pragma message as well. False: nothing to say.
bool st_emit_warning(const st_emit_model *model, st_text *out)
{
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

// clang-format off
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
// clang-format on

void st_emit_parameters(const st_emit_model *model, const st_emit_function *function, bool types, st_text *out)
{
    st_text_addf(out, "%stemp, %stemp_bytes", types ? "void *" : "", types ? "size_t *" : "");
    for (size_t i = 0; i < function->argument_count; i++) {
        st_text_add(out, ", ");
        if (types)
            st_emit_argument_type(model, function, &function->arguments[i], out);
        st_text_add(out, st_emit_argument_name(model, &function->arguments[i]));
    }
    st_text_addf(out, ", %sstream", types ? "cudaStream_t " : "");
}

static void add_prototype(const st_emit_model *model, const st_emit_function *function,
                          st_text *out)
{
    const st_template *tmpl = model->tmpl;
    st_text_addf(out, "//     cudaError_t %s(", function->full);
    st_emit_parameters(model, function, true, out);
    st_text_add(out, ");\n");
    for (size_t i = 0; i < tmpl->in_place_count; i++)
        if (st_emit_in_place(model, function, &tmpl->in_places[i]))
            st_text_addf(out, "//         %s and %s may be the same memory\n",
                         tmpl->buffers[tmpl->in_places[i].input].name,
                         tmpl->buffers[tmpl->in_places[i].output].name);
}

static void add_usage(const st_emit_model *model, st_text *out)
{
    st_text_addf(
        out, "// %s.h: kernels of the family %s, tuned by simtune %s; chosen by the %s cache.\n",
        model->base, model->tmpl->family, SIMTUNE_VERSION,
        model->options->cache ? model->options->cache : "unknown state of the");
    if (model->options->command) {
        st_text_add(out, "// Made again by: ");
        st_emit_comment(model->options->command, out);
        st_text_add(out, "\n");
    }
    if (model->split)
        st_text_addf(out, "//\n// In C++11 and later; the functions are compiled once, in %s.cu:\n", model->base);
    else
        st_text_add(out, "//\n// With a CUDA compiler (C++11 and later):\n");
    for (size_t i = 0; i < model->function_count; i++)
        add_prototype(model, &model->functions[i], out);
    st_text_addf(
        out,
        "// temp NULL: writes the size of the temporary storage, enough for these sizes%s on every\n"
        "// device of the process. Otherwise temp_bytes is what temp has; it may hold anything and "
        "should be aligned to\n"
        "// 256 bytes, as cudaMalloc does (else ask for 255 more). Too little: "
        "cudaErrorInvalidValue. Launches on\n"
        "// `stream` and returns the error of every launch; allocates nothing, waits for nothing, "
        "may be captured in a\n"
        "// graph and replayed. Calls at the same time need storage of their own.\n"
        "// The configuration is that of the device (compute capability and SM count) and of the "
        "recorded %s"
        "On a device that is not recorded, the\n"
        "// nearest class whose constraints hold, at last the default; -DSIMTUNE_NO_FALLBACK (in "
        "every file of the\n"
        "// program) makes that cudaErrorNotSupported.\n"
        "//\n"
        "// In C and C++ without CUDA: the constants below and, for each function,\n"
        "//     const simtune_config *%s_config(int cc, int sm_count, …);\n"
        "// cc is 90 for sm_90. `exact` of the answer is 0 when that class is not recorded; NULL: "
        "nothing suits.\n"
        "// With NVRTC: the kernels, in namespace simtune_" ST_EMIT_HASH_PLACE ", over config_0 …\n"
        "//\n"
        "// Two versions of this header in one program need nothing; in one file, define "
        "SIMTUNE_NAMESPACE_ONLY before\n"
        "// one of them (C++): its names then stand in namespace simtune_<hash> alone.\n//\n",
        model->size_count > 1 ? "" : " and smaller ones",
        model->size_count > 1
            ? "sizes nearest\n// to those asked for: the least sum of distances on log scales. "
            : "size nearest\n// to n on a log scale: the boundary between two is their geometric "
              "mean. ",
        model->functions[0].full);
}

static void add_time(double ns, st_text *out)
{
    if (ns < 1e3)
        st_text_addf(out, "%.0f ns", ns);
    else if (ns < 1e6)
        st_text_addf(out, "%.2f µs", ns / 1e3);
    else
        st_text_addf(out, "%.3f ms", ns / 1e6);
}

static void add_figures(const st_emit_model *model, const st_choice *choice, st_text *out)
{
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
    st_text_add(out, choice->deterministic ? ", the same from run to run"
                                           : ", not the same from run to run");
    if (choice->emulated)
        st_text_add(out, ", emulated");
    if (*choice->template_hash && strcmp(choice->template_hash, model->tmpl->hash) != 0)
        st_text_add(out, ", measured with another version of the template");
    st_text_add(out, "\n");
}

static void add_table(const st_emit_model *model, st_text *out)
{
    for (size_t f = 0; f < model->function_count; f++) {
        const st_emit_function *function = &model->functions[f];
        for (size_t c = 0; c < function->class_count; c++) {
            const st_emit_class *it = &model->classes[function->first_class + c];
            const st_choice *first = st_emit_row_choice(model, function, it->first);
            st_text_addf(out, "// %s on ", function->full);
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

void st_emit_about(const st_emit_model *model, st_text *out)
{
    st_text_add(out, licence_text);
    add_usage(model, out);
    add_table(model, out);
}
