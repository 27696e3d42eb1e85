// SPDX-License-Identifier: Apache-2.0
// Program texts for the compiler. Invariants (tests/unit/tuner/test_program.c cites them):
//  P1  The template's text stands in the program unchanged, after #line 1 "its path": line numbers
//      that the compiler and the profiler report are those of the file.
//  P2  The text depends on type, words and compiled parameters alone; sizes, runtime parameters and
//      the device change nothing, so that a cached program serves all of them.
//  P3  kernels[c * launch_count + l] names an instance that exists for every c and l; where a
//      configuration never takes launch l, it is the name of a launch that it takes.
//  P4  Names are qualified with simtune:: when the file that holds the kernels opens that
//      namespace.
#include "tuner/base/memory.h"
#include "tuner/emit_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

// --- which namespace -----------------------------------------------------------------------------

// Skips a comment, string or character literal that begins at `at`; returns `at` when there is
// none.
static const char *skip_quiet(const char *at)
{
    if (at[0] == '/' && at[1] == '/')
        return at + strcspn(at, "\n");
    if (at[0] == '/' && at[1] == '*') {
        const char *end = strstr(at + 2, "*/");
        return end ? end + 2 : at + strlen(at);
    }
    if (*at == '"' || *at == '\'') {
        const char *end = at + 1;
        while (*end && *end != *at && *end != '\n')
            end += end[0] == '\\' && end[1] ? 2 : 1;
        return *end ? end + 1 : end;
    }
    return at;
}

static bool is_word_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

// Calls of the form next_word(&at, &span): the next identifier or number outside comments and
// literals, or NULL.
static const char *next_word(const char **at, size_t *span)
{
    const char *here = *at;
    while (*here) {
        const char *next = skip_quiet(here);
        if (next != here) {
            here = next;
        } else if (is_word_byte(*here)) {
            *span = 0;
            while (is_word_byte(here[*span]))
                (*span)++;
            *at = here + *span;
            return here;
        } else {
            here++;
        }
    }
    *at = here;
    return NULL;
}

static bool is_word(const char *at, size_t span, const char *word)
{
    return strlen(word) == span && strncmp(at, word, span) == 0;
}

static bool has_word(const char *text, const char *word)
{
    size_t span;
    for (const char *at = text, *found; (found = next_word(&at, &span)) != NULL;)
        if (is_word(found, span, word))
            return true;
    return false;
}

// Does the text open `namespace simtune {`?
static bool opens_namespace(const char *text)
{
    size_t span;
    bool after_keyword = false;
    for (const char *at = text, *found; (found = next_word(&at, &span)) != NULL;) {
        if (after_keyword && is_word(found, span, "simtune") && at[strspn(at, " \t\r\n")] == '{')
            return true;
        after_keyword = is_word(found, span, "namespace");
    }
    return false;
}

bool st_program_in_namespace(const st_template *tmpl, const st_includes *includes)
{
    const char *kernel = NULL;
    for (size_t i = 0; !kernel && i < tmpl->step_count; i++)
        if (tmpl->steps[i].kind == ST_STEP_LAUNCH)
            kernel = tmpl->steps[i].kernel;
    if (kernel && !has_word(tmpl->text, kernel))
        for (size_t i = 0; i < includes->count; i++)
            if (has_word(includes->items[i].text, kernel))
                return opens_namespace(includes->items[i].text);
    return opens_namespace(tmpl->text);
}

// --- programs ------------------------------------------------------------------------------------

void st_program_release(st_program *program)
{
    st_text_release(&program->source);
    st_includes_release(&program->includes);
    for (size_t i = 0; program->options && i < program->option_count; i++)
        st_free(program->options[i]);
    for (size_t i = 0; program->kernels && i < program->kernel_count; i++)
        st_free(program->kernels[i]);
    st_free(program->options);
    st_free(program->kernels);
    st_free(program->used);
    memset(program, 0, sizeof *program);
}

static void add_line_mark(const char *path, st_text *out)
{
    st_text_add(out, "#line 1 ");
    st_emit_string(path, out);
    st_text_add(out, "\n");
}

static void add_file(const char *path, const char *text, size_t length, st_text *out)
{
    if (out->length > 0 && out->data[out->length - 1] != '\n')
        st_text_add(out, "\n");
    add_line_mark(path, out);
    st_text_add_bytes(out, text, length);
    if (length == 0 || text[length - 1] != '\n')
        st_text_add(out, "\n");
}

static void add_define(void *context, const char *name, const char *value)
{
    st_text_addf(context, "#define %s %s\n", name, value);
}

static void add_structs(const st_template *tmpl, const st_problem *problem,
                        const st_config *configs, size_t count, bool in_namespace, st_text *out)
{
    add_line_mark("simtune_config", out);
    if (in_namespace)
        st_text_add(out, "namespace simtune {\n");
    for (size_t i = 0; i < count; i++) {
        char name[48];
        snprintf(name, sizeof name, "simtune_config_%zu", i);
        st_program_config_struct(tmpl, problem, &configs[i], name, out);
    }
    if (in_namespace)
        st_text_add(out, "}\n");
}

static char *kernel_name(const st_step *step, size_t config, bool in_namespace)
{
    const char *scope = in_namespace ? "simtune::" : "";
    if (!step->uses_config)
        return st_format("%s%s", scope, step->kernel);
    return st_format("%s%s<%ssimtune_config_%zu>", scope, step->kernel, scope, config);
}

// Does the configuration ever take this launch, whatever size and device? (P2, P3)
static st_code may_use(const st_template *tmpl, const st_problem *problem, const st_config *config,
                       const st_step *const *launches, size_t count, bool *used, st_error *error)
{
    bool given[ST_MAX_AXES];
    for (size_t i = 0; i < ST_MAX_AXES; i++)
        given[i] = true;
    st_emit_values values;
    st_code code = st_emit_values_make(tmpl, problem, config, -1, given, &values, error);
    if (code)
        return code;
    for (size_t i = 0; i < count; i++)
        used[i] = st_emit_values_truth(&values, launches[i]->when) != 0;
    st_emit_values_release(&values);
    return ST_OK;
}

static st_code add_kernels(const st_template *tmpl, const st_problem *problem,
                           const st_config *configs, size_t config_count,
                           const st_step *const *launches, const bool *in_namespace, size_t count,
                           st_program *out, st_error *error)
{
    out->launch_count = count;
    out->kernels = st_calloc(config_count * count + 1, sizeof *out->kernels);
    out->used = st_calloc(config_count * count + 1, sizeof *out->used);
    if (!out->kernels || !out->used)
        return st_fail_memory(error, "naming kernels");
    out->kernel_count = config_count * count;
    for (size_t c = 0; c < config_count; c++) {
        bool *used = out->used + c * count;
        st_code code = may_use(tmpl, problem, &configs[c], launches, count, used, error);
        if (code)
            return code;
        size_t first = 0;
        while (first < count && !used[first])
            first++;
        if (first == count)
            return st_fail(error, ST_USAGE, "Give one of its launches a `when` that holds for it.",
                           "%s: no launch is left for one of the configurations", tmpl->path);
        for (size_t l = 0; l < count; l++) {
            size_t named = used[l] ? l : first;
            char *name = kernel_name(launches[named], c, in_namespace[named]);
            if (!name)
                return st_fail_memory(error, "naming kernels");
            out->kernels[c * count + l] = name;
        }
    }
    return ST_OK;
}

static size_t collect_launches(const st_step *steps, size_t count, const st_step **launches)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (steps[i].kind == ST_STEP_LAUNCH)
            launches[found++] = &steps[i];
    return found;
}

// The macros of a configuration, in front of the source: not as -D options, since those reach
// NVRTC's own headers too, where a T or an N of the user's breaks them.
static st_code put_macros(const st_template *tmpl, const st_problem *problem,
                          const st_config *config, st_program *out, st_error *error)
{
    st_text whole;
    st_text_init(&whole);
    st_program_macros(tmpl, problem, config, add_define, &whole);
    st_text_add_bytes(&whole, st_text_string(&out->source), out->source.length);
    if (whole.failed || out->source.failed) {
        st_text_release(&whole);
        return st_fail_memory(error, "making a program");
    }
    st_text_release(&out->source);
    out->source = whole;
    return ST_OK;
}

static st_code fill_program(const st_template *tmpl, const st_problem *problem,
                            const st_config *configs, size_t config_count, const st_step **launches,
                            bool *in_namespace, st_program *out, st_error *error)
{
    st_code code = st_template_includes(tmpl, &out->includes, error);
    if (code)
        return code;
    bool has_namespace = st_program_in_namespace(tmpl, &out->includes);
    add_file(tmpl->path, tmpl->text, tmpl->text_length, &out->source);
    if (tmpl->is_config)
        add_structs(tmpl, problem, configs, config_count, has_namespace, &out->source);
    if (out->source.failed)
        return st_fail_memory(error, "making a program");
    if (!tmpl->is_config)
        code = put_macros(tmpl, problem, configs, out, error);
    size_t count = collect_launches(tmpl->steps, tmpl->step_count, launches);
    for (size_t i = 0; i < count; i++)
        in_namespace[i] = has_namespace;
    if (!code)
        code = add_kernels(tmpl, problem, configs, config_count, launches, in_namespace, count, out,
                           error);
    return code;
}

st_code st_program_make(const st_template *tmpl, const st_problem *problem,
                        const st_config *configs, size_t config_count, st_program *out,
                        st_error *error)
{
    memset(out, 0, sizeof *out);
    if (config_count == 0 || (!tmpl->is_config && config_count != 1))
        return st_fail(error, ST_FAILED, NULL, "%s: a program of %zu configurations cannot be made",
                       tmpl->path, config_count);
    const st_step **launches = st_calloc(tmpl->step_count + 1, sizeof *launches);
    bool *in_namespace = st_calloc(tmpl->step_count + 1, sizeof *in_namespace);
    st_code code = launches && in_namespace ? ST_OK : st_fail_memory(error, "making a program");
    if (!code)
        code =
            fill_program(tmpl, problem, configs, config_count, launches, in_namespace, out, error);
    st_free(launches);
    st_free(in_namespace);
    if (code)
        st_program_release(out);
    return code;
}

// --- the reference's program ---------------------------------------------------------------------

typedef struct reference_file {
    const char *name; // as in the directive; NULL: the template itself
    bool has_namespace;
} reference_file;

static st_code add_includes_of(const st_template *tmpl, const char *folder, const char *text,
                               st_includes *out, st_error *error)
{
    st_includes found;
    st_code code = st_template_includes_of(tmpl, folder, text, &found, error);
    for (size_t i = 0; !code && i < found.count; i++) {
        bool known = false;
        for (size_t j = 0; j < out->count; j++)
            known |= strcmp(out->items[j].name, found.items[i].name) == 0;
        if (known)
            continue;
        st_include *items = st_grow(out->items, &out->capacity, out->count + 1, sizeof *items);
        if (!items) {
            code = st_fail_memory(error, "reading includes");
            break;
        }
        out->items = items;
        items[out->count++] = found.items[i];
        memset(&found.items[i], 0, sizeof found.items[i]);
    }
    st_includes_release(&found);
    return code;
}

static st_code read_reference(const st_template *tmpl, reference_file *file, st_program *out,
                              st_error *error)
{
    if (!file->name) {
        file->has_namespace = opens_namespace(tmpl->text);
        add_file(tmpl->path, tmpl->text, tmpl->text_length, &out->source);
        return add_includes_of(tmpl, tmpl->folder, tmpl->text, &out->includes, error);
    }
    char *path =
        file->name[0] == '/' ? st_strdup(file->name) : st_format("%s/%s", tmpl->folder, file->name);
    // What it includes is looked for beside it, then beside the template.
    char *folder = path ? st_strdup(path) : NULL;
    st_text text;
    st_text_init(&text);
    st_code code = folder ? ST_OK : st_fail_memory(error, "reading the reference");
    if (!code && strrchr(folder, '/'))
        *strrchr(folder, '/') = '\0';
    if (!code)
        code = st_text_read_file(&text, path, error);
    if (!code) {
        file->has_namespace = opens_namespace(st_text_string(&text));
        add_file(path, st_text_string(&text), text.length, &out->source);
        if (text.length > 0)
            code = add_includes_of(tmpl, folder, st_text_string(&text), &out->includes, error);
    }
    st_text_release(&text);
    st_free(folder);
    st_free(path);
    return code;
}

// Each file once, in the order of the references; in_namespace[i] is that of reference i's file.
static st_code read_references(const st_template *tmpl, const st_step *const *launches,
                               size_t count, reference_file *files, bool *in_namespace,
                               st_program *out, st_error *error)
{
    size_t file_count = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        while (at < file_count && !st_text_equal(files[at].name, launches[i]->file))
            at++;
        if (at == file_count) {
            files[file_count++] = (reference_file){launches[i]->file, false};
            st_code code = read_reference(tmpl, &files[at], out, error);
            if (code)
                return code;
        }
        in_namespace[i] = files[at].has_namespace;
    }
    return ST_OK;
}

static st_code fill_reference(const st_template *tmpl, const st_problem *problem,
                              const st_step **launches, reference_file *files, bool *in_namespace,
                              st_program *out, st_error *error)
{
    size_t references = collect_launches(tmpl->references, tmpl->reference_count, launches);
    size_t count =
        references + collect_launches(tmpl->derives, tmpl->derive_count, launches + references);
    st_code code = read_references(tmpl, launches, count, files, in_namespace, out, error);
    if (code)
        return code;
    bool uses_config = false, any_namespace = false;
    for (size_t i = 0; i < count; i++) {
        uses_config |= launches[i]->uses_config;
        any_namespace |= in_namespace[i];
    }
    st_config config;
    st_config_default(tmpl, &config);
    if (uses_config) {
        // In namespace simtune when any of the files opens it: its kernels see the struct, and a
        // file without gets it by a using declaration.
        add_structs(tmpl, problem, &config, 1, any_namespace, &out->source);
        if (any_namespace)
            st_text_add(&out->source, "using simtune::simtune_config_0;\n");
    } else {
        code = put_macros(tmpl, problem, &config, out, error);
    }
    if (!code && out->source.failed)
        code = st_fail_memory(error, "making the reference's program");
    if (!code)
        code = add_kernels(tmpl, problem, &config, 1, launches, in_namespace, count, out, error);
    // Which derives run, the configuration at hand decides, not the default: all of them are compiled.
    for (size_t i = references; !code && i < count; i++) {
        st_free(out->kernels[i]);
        out->used[i] = true;
        if (!(out->kernels[i] = kernel_name(launches[i], 0, in_namespace[i])))
            code = st_fail_memory(error, "naming kernels");
    }
    return code;
}

st_code st_reference_program_make(const st_template *tmpl, const st_problem *problem,
                                  st_program *out, st_error *error)
{
    memset(out, 0, sizeof *out);
    if (tmpl->reference_count == 0)
        return st_fail(error, ST_NOTHING,
                       "Its default configuration is what others are compared with.",
                       "%s has no reference", tmpl->path);
    size_t count = tmpl->reference_count + tmpl->derive_count;
    const st_step **launches = st_calloc(count, sizeof *launches);
    bool *in_namespace = st_calloc(count, sizeof *in_namespace);
    reference_file *files = st_calloc(count, sizeof *files);
    st_code code = launches && in_namespace && files
                       ? ST_OK
                       : st_fail_memory(error, "making the reference's program");
    if (!code)
        code = fill_reference(tmpl, problem, launches, files, in_namespace, out, error);
    st_free(launches);
    st_free(in_namespace);
    st_free(files);
    if (code)
        st_program_release(out);
    return code;
}
