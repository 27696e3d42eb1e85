// SPDX-License-Identifier: Apache-2.0
// Invariants: 1. what a T1 file says becomes directives, and nothing else decides; 2. a key that would change what is
// computed and is not understood is refused, never passed over; 3. each line that is written remembers the key
// that it comes from, so that whatever is wrong with it is told by that key.
#include "tuner/t1.h"

#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/t1_arguments.h"
#include "tuner/template_internal.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool st_t1_is_file(const char *path)
{
    size_t length = strlen(path);
    return length > 5 && strcmp(path + length - 5, ".json") == 0;
}

// --- lines and where they come from ---------------------------------------------------------------------------

st_code st_t1_line(t1_writer *to, const char *place, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *line = length < 0 ? NULL : st_malloc((size_t)length + 1);
    if (line)
        vsnprintf(line, (size_t)length + 1, format, again);
    va_end(again);
    bool kept = line && st_list_add(&to->places, place, strlen(place));
    for (char *at = line; at && *at; at++) // one line is one directive
        if (*at == '\n' || *at == '\r')
            *at = ' ';
    if (kept)
        st_text_addf(&to->out, "// simtune: %s\n", line);
    st_free(line);
    return kept && !to->out.failed ? ST_OK : st_fail_memory(to->error, "reading a T1 file");
}

st_code st_t1_wrong(t1_writer *to, const char *place, const char *remedy, const char *what)
{
    return st_fail(to->error, ST_USAGE, remedy, "%s: %s: %s", to->path, place, what);
}

st_code st_t1_expression(t1_writer *to, const char *place, const char *text, st_text *out)
{
    char *full = st_format("%s: %s", to->path, place);
    st_code code = full ? st_t1_translate(text, full, &to->names, out, to->error)
                        : st_fail_memory(to->error, "reading a T1 file");
    st_free(full);
    return code;
}

// A number, or a text that is an expression; *present false: null or absent.
st_code st_t1_size(t1_writer *to, const char *place, const json_t *value, st_text *out,
                   bool *present)
{
    *present = value && !json_is_null(value);
    if (!*present)
        return ST_OK;
    if (json_is_integer(value))
        st_text_addf(out, "%lld", (long long)json_integer_value(value));
    else if (json_is_string(value))
        return st_t1_expression(to, place, json_string_value(value), out);
    else
        return st_t1_wrong(to, place, "Write an integer, or an expression as a text.",
                           "this is no size");
    return out->failed ? st_fail_memory(to->error, "reading a T1 file") : ST_OK;
}

// --- parameters -----------------------------------------------------------------------------------------------

// What a parameter moves, from what its name says: names of T1 files are by convention.
static const char *role_of(const char *name)
{
    static const char *const roles[][2] = {
        {"block_size", " role tlp"},    {"threads", " role tlp"},
        {"unroll", " role ilp mlp"},    {"tile", " role work ilp"},
        {"work_per", " role work ilp"}, {"vector", " role mlp"},
        {"shmem", " role smem"},        {"shared", " role smem"},
        {"pad", " role smem"},          {"blocks_per", " role tlp regs"}};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strstr(name, roles[i][0]))
            return roles[i][1];
    return "";
}

static st_code add_json_value(t1_writer *to, const char *place, const json_t *value,
                              st_t1_list *out)
{
    bool added;
    if (json_is_string(value))
        added = st_t1_list_add(out, 0, json_string_value(value), json_string_length(value));
    else if (json_is_boolean(value))
        added = st_t1_list_add(out, json_is_true(value), NULL, 0);
    else if (json_is_number(value) &&
             json_number_value(value) == (double)(int64_t)json_number_value(value))
        added = st_t1_list_add(out, (int64_t)json_number_value(value), NULL, 0);
    else
        return st_t1_wrong(to, place, "Values are integers or words; scale numbers in the kernel.",
                           "a value that is neither an integer nor a text");
    return added ? ST_OK : st_fail_memory(to->error, "reading a T1 file");
}

static st_code read_values(t1_writer *to, const char *place, const json_t *values, st_t1_list *out)
{
    st_code code = ST_OK;
    *out = (st_t1_list){0};
    if (json_is_string(values)) {
        char *full = st_format("%s: %s.Values", to->path, place);
        code = full ? st_t1_values(json_string_value(values), full, out, to->error)
                    : st_fail_memory(to->error, "reading a T1 file");
        st_free(full);
        return code;
    }
    if (!json_is_array(values))
        return st_t1_wrong(to, place, "Write \"Values\": \"[1, 2, 4]\".",
                           "Values is neither a list nor a text");
    for (size_t i = 0; i < json_array_size(values) && code == ST_OK; i++)
        code = add_json_value(to, place, json_array_get(values, i), out);
    return code;
}

static void write_value(const st_t1_value *value, st_text *out)
{
    if (value->word)
        st_text_add(out, value->word);
    else
        st_text_addf(out, "%lld", (long long)value->number);
}

static bool is_value(const st_t1_value *a, const st_t1_value *b)
{
    return a->word || b->word ? st_text_equal(a->word, b->word) : a->number == b->number;
}

// The parameter's default: what the file says, else its first value.
static st_code write_default(t1_writer *to, const char *place, const char *name,
                             const json_t *given, const st_t1_list *values, st_text *defaults)
{
    st_t1_list one = {0};
    const st_t1_value *chosen = &values->items[0];
    st_code code = given && !json_is_null(given) ? add_json_value(to, place, given, &one) : ST_OK;
    if (code == ST_OK && one.count) {
        chosen = NULL;
        for (size_t i = 0; i < values->count && !chosen; i++)
            if (is_value(&values->items[i], &one.items[0]))
                chosen = &values->items[i];
        if (!chosen)
            code = st_t1_wrong(to, place, NULL, "Default is none of its values");
    }
    if (code == ST_OK) {
        st_text_addf(defaults, " %s=", name);
        write_value(chosen, defaults);
    }
    st_t1_list_release(&one);
    return code;
}

static st_code read_parameter(t1_writer *to, size_t index, const json_t *object, st_text *defaults)
{
    char place[160];
    snprintf(place, sizeof place, "ConfigurationSpace.TuningParameters[%zu]", index);
    const char *name = json_string_value(json_object_get(object, "Name"));
    if (!name || !st_is_name(name))
        return st_t1_wrong(to, place, "Write \"Name\": \"block_size_x\".",
                           "no Name that a macro can have");
    snprintf(place, sizeof place, "ConfigurationSpace.TuningParameters[%zu] (%.64s)", index, name);
    st_t1_list values;
    st_text line;
    st_text_init(&line);
    st_code code = read_values(to, place, json_object_get(object, "Values"), &values);
    if (code == ST_OK && !values.count)
        code = st_t1_wrong(to, place, NULL, "it has no values");
    for (size_t i = 0; i < values.count && code == ST_OK; i++) {
        st_text_add(&line, " ");
        write_value(&values.items[i], &line);
        to->names.are_signed |= values.items[i].number < 0;
    }
    if (code == ST_OK && line.failed)
        code = st_fail_memory(to->error, "reading a T1 file");
    if (code == ST_OK)
        code = st_t1_line(to, place, "param %s =%s%s", name, st_text_string(&line), role_of(name));
    if (code == ST_OK)
        code =
            write_default(to, place, name, json_object_get(object, "Default"), &values, defaults);
    st_t1_list_release(&values);
    st_text_release(&line);
    return code;
}

// The file's list under a key of an object: NULL when absent, ST_USAGE when it is none.
static st_code list_at(t1_writer *to, const json_t *object, const char *place, const char *key,
                       const json_t **out)
{
    *out = json_object_get(object, key);
    if (json_is_null(*out))
        *out = NULL;
    if (!*out || json_is_array(*out))
        return ST_OK;
    char what[80];
    snprintf(what, sizeof what, "%s is no list", key);
    return st_t1_wrong(to, place, NULL, what);
}

static st_code read_space(t1_writer *to, const json_t *space)
{
    const json_t *parameters, *conditions;
    st_text defaults;
    st_text_init(&defaults);
    st_code code = list_at(to, space, "ConfigurationSpace", "TuningParameters", &parameters);
    for (size_t i = 0; i < json_array_size(parameters) && code == ST_OK; i++)
        code = read_parameter(to, i, json_array_get(parameters, i), &defaults);
    if (code == ST_OK && defaults.failed)
        code = st_fail_memory(to->error, "reading a T1 file");
    if (code == ST_OK && defaults.length)
        code = st_t1_line(to, "ConfigurationSpace.TuningParameters", "default%s",
                          st_text_string(&defaults));
    if (code == ST_OK)
        code = list_at(to, space, "ConfigurationSpace", "Conditions", &conditions);
    for (size_t i = 0; code == ST_OK && i < json_array_size(conditions); i++) {
        char place[80];
        snprintf(place, sizeof place, "ConfigurationSpace.Conditions[%zu]", i);
        const json_t *one = json_array_get(conditions, i),
                     *text = json_is_string(one) ? one : json_object_get(one, "Expression");
        st_text_clear(&defaults);
        if (!json_is_string(text))
            code = st_t1_wrong(to, place, NULL, "it has no Expression");
        else
            code = st_t1_expression(to, place, json_string_value(text), &defaults);
        if (code == ST_OK)
            code = st_t1_line(to, place, "where %s", st_text_string(&defaults));
    }
    st_text_release(&defaults);
    return code;
}

// --- the whole ------------------------------------------------------------------------------------------------

// What a kernel is compiled with: definitions become lines before it; what changes nothing here is passed over.
static st_code read_options(t1_writer *to, const json_t *kernel)
{
    static const char *const harmless[] = {"-std=",
                                           "--std=",
                                           "-O",
                                           "-lineinfo",
                                           "--generate-line-info",
                                           "-arch",
                                           "--gpu-architecture",
                                           "-gencode",
                                           "-w",
                                           NULL};
    const json_t *options;
    st_code code = list_at(to, kernel, "KernelSpecification", "CompilerOptions", &options);
    for (size_t i = 0; code == ST_OK && i < json_array_size(options); i++) {
        const char *option = json_string_value(json_array_get(options, i));
        bool fine = option && !strpbrk(option, "\n\r");
        for (size_t k = 0; fine && harmless[k] && !st_text_starts(option, harmless[k]);)
            fine = harmless[++k] || st_text_starts(option, "-D");
        char place[64];
        snprintf(place, sizeof place, "KernelSpecification.CompilerOptions[%zu]", i);
        if (!fine)
            code = st_t1_wrong(to, place, "Put what it does into the kernel's file.",
                               "an option that is not passed on; -D, -std= and -O are understood");
        else if (st_text_starts(option, "-D")) {
            const char *name = option + 2 + strspn(option + 2, " "), *equals = strchr(name, '=');
            st_text_addf(&to->definitions, "#define %.*s %s\n",
                         equals ? (int)(equals - name) : (int)strlen(name), name,
                         equals ? equals + 1 : "1");
        }
    }
    return code;
}

static st_code write_family(t1_writer *to, const char *kernel)
{
    char family[64];
    size_t length = strlen(kernel);
    if (length == 0 || length >= sizeof family || !st_is_name(kernel))
        return st_t1_wrong(to, "KernelSpecification.KernelName",
                           "Give instances of templates a plain name in the kernel's file.",
                           "this is no plain name of a kernel");
    for (size_t i = 0; i <= length; i++)
        family[i] = (char)tolower((unsigned char)kernel[i]);
    st_code code = st_t1_line(to, "KernelSpecification.KernelName", "family %s", family);
    return code == ST_OK ? st_t1_line(to, "KernelSpecification.KernelName",
                                      "summary %s, as a T1 file describes it", kernel)
                         : code;
}

static st_code write_all(t1_writer *to, const json_t *root)
{
    const json_t *space = json_object_get(root, "ConfigurationSpace"),
                 *kernel = json_object_get(root, "KernelSpecification");
    const char *language = json_string_value(json_object_get(kernel, "Language"));
    const char *name = json_string_value(json_object_get(kernel, "KernelName"));
    if (!json_is_object(space) || !json_is_object(kernel))
        return st_fail(to->error, ST_USAGE,
                       "A T1 file has ConfigurationSpace and KernelSpecification; `simtune db "
                       "import` reads results.",
                       "%s is no T1 file", to->path);
    if (!language || strcmp(language, "CUDA") != 0)
        return st_t1_wrong(to, "KernelSpecification.Language", NULL, "only CUDA is read");
    st_code code = write_family(to, name ? name : "");
    if (code == ST_OK)
        code = st_t1_read_problem(to, kernel);
    if (code == ST_OK)
        code = read_space(to, space);
    if (code == ST_OK)
        code = st_t1_read_launch(to, kernel, name);
    return code == ST_OK ? read_options(to, kernel) : code;
}

// "PATH:LINE: what" of a line that was written here: by the key that it comes from.
static void name_place(t1_writer *to)
{
    st_error *error = to->error;
    size_t length = strlen(to->path);
    char *end;
    if (!error || strncmp(error->what, to->path, length) != 0 || error->what[length] != ':')
        return;
    unsigned long line = strtoul(error->what + length + 1, &end, 10);
    if (line == 0 || line > to->places.count || end[0] != ':')
        return;
    st_error before = *error;
    (void)st_fail(error, before.code, before.remedy, "%s: %s: %s", to->path,
                  to->places.items[line - 1],
                  before.what + (end - error->what) + 1 + (end[1] == ' '));
}

static st_code parse_text(t1_writer *to, const char *kernel_path, const char *kernel,
                          st_template **out)
{
    const char *name = st_text_file_name(kernel_path);
    st_text_add(&to->out, st_text_string(&to->definitions));
    st_text_addf(&to->out, "#line 1 \"%s\"\n%s", name, kernel);
    if (to->out.failed || to->definitions.failed)
        return st_fail_memory(to->error, "reading a T1 file");
    st_list full = {0}; // places with the file's name, for what is wrong once expressions are computed
    for (size_t i = 0; i < to->places.count; i++) {
        char *place = st_format("%s: %s", to->path, to->places.items[i]);
        bool kept = place && st_list_add(&full, place, strlen(place));
        st_free(place);
        if (!kept) {
            st_list_free(&full);
            return st_fail_memory(to->error, "reading a T1 file");
        }
    }
    st_code code = strpbrk(name, "\"\\\n")
                       ? st_t1_wrong(to, "KernelSpecification.KernelFile", NULL,
                                     "a name that cannot be quoted")
                       : st_template_parse_beside(to->path, kernel_path, &full, st_text_string(&to->out),
                                                  to->out.length, out, to->error);
    if (code == ST_USAGE)
        name_place(to);
    st_list_free(&full);
    return code;
}

static void writer_open(t1_writer *to, const char *path, const char *kernel, st_error *error)
{
    *to = (t1_writer){.path = path, .kernel = kernel, .error = error};
    st_text_init(&to->out);
    st_text_init(&to->definitions);
}

st_code st_t1_parse(const char *path, const char *json, size_t length, const char *kernel_path,
                    const char *kernel, st_template **out, st_error *error)
{
    t1_writer to;
    json_t *root = NULL;
    st_error own = {0};
    *out = NULL;
    writer_open(&to, path, kernel, error ? error : &own);
    st_code code = st_json_parse(json, length, path, &root, to.error);
    if (code == ST_OK)
        code = write_all(&to, root);
    if (code == ST_OK)
        code = parse_text(&to, kernel_path, kernel, out);
    json_decref(root);
    st_text_release(&to.out);
    st_text_release(&to.definitions);
    st_list_free(&to.places);
    return code;
}

// The path of the kernel's file, beside the JSON file; the caller frees.
static st_code kernel_path_of(const char *path, const json_t *root, char **out, st_error *error)
{
    const char *file = json_string_value(
        json_object_get(json_object_get(root, "KernelSpecification"), "KernelFile"));
    const char *slash = strrchr(path, '/');
    if (!file || !*file)
        return st_fail(
            error, ST_USAGE,
            "A T1 file names the kernel's file there; `simtune db import` reads results.",
            "%s: KernelSpecification.KernelFile is missing", path);
    *out = *file == '/' || !slash ? st_strdup(file)
                                  : st_format("%.*s/%s", (int)(slash - path), path, file);
    return *out ? ST_OK : st_fail_memory(error, "reading a T1 file");
}

static st_code read_json(const char *path, st_text *text, json_t **root, st_error *error)
{
    st_code code = st_text_read_file(text, path, error);
    if (code == ST_OK)
        code = st_json_parse(st_text_string(text), text->length, path, root, error);
    return code;
}

st_code st_t1_load(const char *path, st_template **out, st_error *error)
{
    st_text text, kernel;
    json_t *root = NULL;
    char *kernel_path = NULL;
    *out = NULL;
    st_text_init(&text);
    st_text_init(&kernel);
    st_code code = read_json(path, &text, &root, error);
    if (code == ST_OK)
        code = kernel_path_of(path, root, &kernel_path, error);
    if (code == ST_OK && (code = st_text_read_file(&kernel, kernel_path, error)) != ST_OK)
        code = st_error_prefix(error, "%s: KernelSpecification.KernelFile", path);
    if (code == ST_OK)
        code = st_t1_parse(path, st_text_string(&text), text.length, kernel_path,
                           st_text_string(&kernel), out, error);
    st_free(kernel_path);
    json_decref(root);
    st_text_release(&kernel);
    st_text_release(&text);
    return code;
}

st_code st_t1_budget(const char *path, char out[32], st_error *error)
{
    st_text text;
    json_t *root = NULL;
    out[0] = '\0';
    st_text_init(&text);
    st_code code = read_json(path, &text, &root, error);
    const json_t *list = json_object_get(root, "Budget");
    for (size_t i = 0; i < json_array_size(list) && code == ST_OK && !out[0]; i++) {
        const json_t *one = json_array_get(list, i);
        const char *type = json_string_value(json_object_get(one, "Type"));
        double value = json_number_value(json_object_get(one, "BudgetValue"));
        if (type && strcmp(type, "TuningDuration") == 0 && value > 0 && value < 1e9)
            snprintf(out, 32, "%.3fs", value);
        if (type && strcmp(type, "ConfigurationCount") == 0 && value >= 1 && value < 1e15)
            snprintf(out, 32, "%lld", (long long)value);
    }
    json_decref(root);
    st_text_release(&text);
    return code;
}
