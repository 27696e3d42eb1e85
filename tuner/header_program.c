// SPDX-License-Identifier: Apache-2.0
// Invariants: 1. the model is made of the header's own provenance, so rows, plans and kernels have the numbers that
// they have in its text; 2. each configuration that the model has stands in the text as it would be printed, otherwise
// the numbers could mean other kernels; 3. the text is not changed on its way to a compiler.
#include "tuner/header_program.h"

#include "tuner/base/memory.h"
#include "tuner/emit_internal.h"
#include "tuner/emit_rows.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HASH_DIGITS 8

struct st_header_program {
    const st_template *tmpl;
    st_emit_options options; // that the model refers to
    st_emit_model model;
    bool has_model;
    char *path, *folder;
    char cache[8];
    char space[sizeof "simtune_" + HASH_DIGITS];
    st_text header, source;  // source: of the .cu, empty when there is none
    char *source_path;       // NULL without one
    st_source_text include;  // the header, for the source
    bool is_edited;
};

static const char anew[] = "write it again: simtune emit FAMILY";

// --- reading -------------------------------------------------------------------------------------------------------

// The eight digits behind "SIMTUNE_REDUCE_H_" name the header.
static st_code read_space(st_header_program *it, st_error *error)
{
    char *guard = st_format("#define SIMTUNE_%s_H_", it->model.upper);
    if (!guard)
        return st_fail_memory(error, "reading a header");
    const char *at = strstr(st_text_string(&it->header), guard);
    const char *digits = at ? at + strlen(guard) : "";
    bool fine = strspn(digits, "0123456789abcdef") == HASH_DIGITS;
    st_free(guard);
    if (!fine)
        return st_fail(error, ST_FAILED, anew, "%s: the header does not say its name where it should", it->path);
    snprintf(it->space, sizeof it->space, "simtune_%.*s", HASH_DIGITS, digits);
    return ST_OK;
}

// H2 of emit.c backwards: the name is the hash of both texts with its places held.
static st_code check_hash(st_header_program *it, st_error *error)
{
    const char *digits = it->space + strlen("simtune_");
    const st_text *texts[] = {&it->header, &it->source};
    st_text held;
    char hash[ST_HASH_TEXT];
    st_text_init(&held);
    for (int i = 0; i < 2; i++) {
        const char *at = st_text_string(texts[i]);
        for (const char *place; (place = strstr(at, digits)) != NULL; at = place + HASH_DIGITS) {
            st_text_add_bytes(&held, at, (size_t)(place - at));
            st_text_add(&held, ST_EMIT_HASH_PLACE);
        }
        st_text_add(&held, at);
    }
    st_hash_of(st_text_string(&held), held.length, hash);
    it->is_edited = strncmp(hash, digits, HASH_DIGITS) != 0;
    st_code code = held.failed ? st_fail_memory(error, "reading a header") : ST_OK;
    st_text_release(&held);
    return code;
}

// "X.cu" of "X.h", when the header says that its functions stand there.
static st_code read_source(st_header_program *it, st_error *error)
{
    if (strstr(st_text_string(&it->header), "SIMTUNE_HAS_RUNTIME_") == NULL)
        return ST_OK;
    size_t length = strlen(it->path);
    bool is_h = length > 2 && strcmp(it->path + length - 2, ".h") == 0;
    it->source_path = st_format("%.*s.cu", (int)(is_h ? length - 2 : length), it->path);
    if (!it->source_path)
        return st_fail_memory(error, "reading a header");
    if (access(it->source_path, R_OK) != 0)
        return st_fail(error, ST_FAILED, "keep the two files together, or emit both again with --format h,cu",
                       "%s has its kernels in %s, which cannot be read", it->path, it->source_path);
    it->include = (st_source_text){st_text_file_name(it->path), NULL};
    return st_text_read_file(&it->source, it->source_path, error);
}

static const char *kernels_text(const st_header_program *it)
{
    return st_text_string(it->source_path ? &it->source : &it->header);
}

typedef struct looking {
    const char *at, *end;
    bool missing;
} looking;

static void find_define(void *context, const char *name, const char *value)
{
    looking *it = context;
    char *line = st_format("#define %s %s\n", name, value);
    const char *found = line && !it->missing ? strstr(it->at, line) : NULL;
    it->missing = !found || found > it->end;
    st_free(line);
}

// Invariant 2.
static bool has_structure(const st_header_program *it, size_t structure)
{
    const st_choice *choice = &it->model.choices[it->model.structures[structure]];
    char name[48];
    if (!it->tmpl->is_config) {
        char end[64];
        snprintf(name, sizeof name, "namespace config_%zu {", structure);
        snprintf(end, sizeof end, "} // namespace config_%zu\n", structure);
        looking all = {.at = strstr(kernels_text(it), name)};
        all.end = all.at ? strstr(all.at, end) : NULL;
        if (all.end)
            st_program_macros(it->tmpl, &choice->problem, &choice->config, find_define, &all);
        return all.end && !all.missing;
    }
    st_text wanted;
    st_text_init(&wanted);
    snprintf(name, sizeof name, "config_%zu", structure);
    st_program_config_struct(it->tmpl, &choice->problem, &choice->config, name, &wanted);
    bool found = !wanted.failed && strstr(kernels_text(it), st_text_string(&wanted)) != NULL;
    st_text_release(&wanted);
    return found;
}

static st_code check_structures(const st_header_program *it, st_error *error)
{
    for (size_t i = 0; i < it->model.structure_count; i++)
        if (!has_structure(it, i))
            return st_fail(error, ST_FAILED, anew,
                           "%s: its kernels are not those that its provenance tells of (config_%zu)", it->path, i);
    return ST_OK;
}

static st_code make_model(st_header_program *it, st_error *error)
{
    st_choice *choices = NULL;
    size_t count = 0;
    st_includes includes = {0};
    st_code code = st_emit_read(it->tmpl, it->path, NULL, &choices, &count, error);
    if (code == ST_OK)
        code = st_emit_model_make(it->tmpl, choices, count, &it->options, &it->model, error);
    it->has_model = code == ST_OK;
    if (code == ST_OK)
        code = st_template_includes(it->tmpl, &includes, error);
    if (code == ST_OK)
        it->model.in_namespace = st_program_in_namespace(it->tmpl, &includes);
    st_includes_release(&includes);
    st_free(choices);
    return code;
}

static st_code fill(st_header_program *it, st_error *error)
{
    st_emit_head head;
    const char *name = st_text_file_name(it->path);
    it->folder = name == it->path ? st_strdup(".") : st_strndup(it->path, (size_t)(name - it->path));
    if (!it->folder)
        return st_fail_memory(error, "reading a header");
    st_code code = st_emit_read_head(it->path, &head, error);
    if (code == ST_OK)
        code = make_model(it, error);
    if (code != ST_OK)
        return code;
    snprintf(it->cache, sizeof it->cache, "%s", head.cache[0] ? head.cache : "cold");
    code = st_text_read_file(&it->header, it->path, error);
    if (code == ST_OK)
        code = read_source(it, error);
    if (code == ST_OK)
        code = read_space(it, error);
    if (code == ST_OK)
        code = check_hash(it, error);
    if (code == ST_OK)
        code = check_structures(it, error);
    it->include.text = st_text_string(&it->header);
    return code;
}

st_code st_header_open(const st_template *tmpl, const char *path, st_header_program **out, st_error *error)
{
    *out = NULL;
    st_header_program *it = st_calloc(1, sizeof *it);
    if (!it)
        return st_fail_memory(error, "reading a header");
    it->tmpl = tmpl;
    st_text_init(&it->header);
    st_text_init(&it->source);
    it->path = st_strdup(path);
    st_code code = it->path ? fill(it, error) : st_fail_memory(error, "reading a header");
    if (code != ST_OK) {
        st_header_close(it);
        return code;
    }
    *out = it;
    return ST_OK;
}

void st_header_close(st_header_program *program)
{
    if (!program)
        return;
    if (program->has_model)
        st_emit_model_release(&program->model);
    st_text_release(&program->header);
    st_text_release(&program->source);
    st_free(program->path);
    st_free(program->folder);
    st_free(program->source_path);
    st_free(program);
}

// --- what it is ----------------------------------------------------------------------------------------------------

const char *st_header_cache(const st_header_program *program)
{
    return program->cache;
}

bool st_header_is_split(const st_header_program *program)
{
    return program->source_path != NULL;
}

bool st_header_is_edited(const st_header_program *program)
{
    return program->is_edited;
}

const char *st_header_file(const st_header_program *program)
{
    return st_text_file_name(program->source_path ? program->source_path : program->path);
}

const char *st_header_folder(const st_header_program *program)
{
    return program->folder;
}

const char *st_header_space(const st_header_program *program)
{
    return program->space;
}

size_t st_header_function_count(const st_header_program *program)
{
    return program->model.function_count;
}

const char *st_header_function_name(const st_header_program *program, size_t function)
{
    return program->model.functions[function].full;
}

const st_problem *st_header_function_problem(const st_header_program *program, size_t function)
{
    return &st_emit_row_choice(&program->model, &program->model.functions[function], 0)->problem;
}

// --- choosing ------------------------------------------------------------------------------------------------------

static const st_emit_class *class_of(const st_emit_model *model, const st_emit_function *function,
                                     const st_device_class *wanted)
{
    for (size_t i = 0; i < function->class_count; i++) {
        const st_emit_class *it = &model->classes[function->first_class + i];
        if (it->device.cc == wanted->cc && it->device.sm_count == wanted->sm_count)
            return it;
    }
    return NULL;
}

size_t st_header_problems(const st_header_program *program, size_t function, const st_device_facts *device,
                          st_problem *out, size_t capacity)
{
    const st_emit_model *model = &program->model;
    const st_emit_function *its = &model->functions[function];
    st_device_class wanted = {(int)device->cc, (int)device->sm_count};
    const st_emit_class *within = class_of(model, its, &wanted);
    st_header_row borrowed;
    if (!within && st_header_choose(program, function, device, st_header_function_problem(program, function), &borrowed,
                                    NULL) == ST_OK)
        within = class_of(model, its, &borrowed.choice->device_class);
    if (!within) // the default is all that suits: any recorded sizes serve
        within = &model->classes[its->first_class];
    for (size_t i = 0; i < within->count && i < capacity; i++)
        out[i] = st_emit_row_choice(model, its, within->first + i)->problem;
    return within->count;
}

st_code st_header_choose(const st_header_program *program, size_t function, const st_device_facts *device,
                         const st_problem *problem, st_header_row *out, st_error *error)
{
    const st_emit_model *model = &program->model;
    const st_emit_function *its = &model->functions[function];
    size_t row = SIZE_MAX;
    *out = (st_header_row){0};
    st_code code = st_emit_choose(model, its, device, problem, &row, &out->exact, error);
    if (code == ST_OK && row == SIZE_MAX)
        code = st_fail(error, ST_NOTHING, "tune on this device, and emit it anew",
                       "%s: no row of %s suits sm_%lld with %lld SMs", program->path, its->full, (long long)device->cc,
                       (long long)device->sm_count);
    if (code != ST_OK)
        return code;
    out->choice = st_emit_row_choice(model, its, row);
    out->plan = st_emit_row_plan(model, its, row);
    out->structure = model->plans[out->plan].structure;
    out->is_default = its->has_default && row + 1 == its->row_count;
    return ST_OK;
}

// --- kernels -------------------------------------------------------------------------------------------------------

// The launch step that stands at `launch`, or, where the row never takes it, the first that it takes. NULL: none.
static const st_step *named_step(const st_header_program *program, const st_header_row *row, size_t launch)
{
    const st_emit_values *values = &program->model.plans[row->plan].values;
    const st_step *first = NULL;
    size_t at = 0;
    for (size_t i = 0; i < program->tmpl->step_count; i++) {
        const st_step *step = &program->tmpl->steps[i];
        if (step->kind != ST_STEP_LAUNCH)
            continue;
        bool taken = st_emit_values_truth(values, step->when) != 0;
        if (taken && !first)
            first = step;
        if (taken && at == launch)
            return step;
        at++;
    }
    return first;
}

static char *kernel_name(const st_header_program *program, const st_header_row *row, const st_step *step)
{
    if (!program->tmpl->is_config)
        return st_format("%s::config_%zu::%s%s", program->space, row->structure,
                         program->model.in_namespace ? "simtune::" : "", step->kernel);
    if (!step->uses_config)
        return st_format("%s::%s", program->space, step->kernel);
    return st_format("%s::%s<%s::config_%zu>", program->space, step->kernel, program->space, row->structure);
}

static size_t launch_count(const st_template *tmpl)
{
    size_t count = 0;
    for (size_t i = 0; i < tmpl->step_count; i++)
        count += tmpl->steps[i].kind == ST_STEP_LAUNCH;
    return count;
}

st_code st_header_kernels(const st_header_program *program, const st_header_row *row, char ***names, size_t *count,
                          st_error *error)
{
    *count = launch_count(program->tmpl);
    *names = st_calloc(*count + 1, sizeof **names);
    if (!*names)
        return st_fail_memory(error, "naming kernels");
    for (size_t i = 0; i < *count; i++) {
        const st_step *step = named_step(program, row, i);
        (*names)[i] = step ? kernel_name(program, row, step) : NULL;
        if ((*names)[i])
            continue;
        for (size_t k = 0; k < i; k++)
            st_free((*names)[k]);
        st_free(*names);
        *names = NULL;
        return step ? st_fail_memory(error, "naming kernels")
                    : st_fail(error, ST_FAILED, anew, "%s: a row of it launches nothing", program->path);
    }
    return ST_OK;
}

st_code st_header_symbol_parts(const st_header_program *program, const st_header_row *row, size_t launch,
                               char *parts[4], st_error *error)
{
    const st_step *step = named_step(program, row, launch);
    char config[48];
    snprintf(config, sizeof config, "config_%zu", row->structure);
    const char *texts[3] = {program->space, step ? step->kernel : "", config};
    if (!program->tmpl->is_config) { // the configuration is a namespace around the kernel
        texts[1] = config;
        texts[2] = step ? step->kernel : "";
    }
    size_t count = program->tmpl->is_config && step && !step->uses_config ? 2 : 3;
    memset(parts, 0, 4 * sizeof *parts);
    for (size_t i = 0; i < count; i++)
        if (!(parts[i] = st_format("%zu%s", strlen(texts[i]), texts[i]))) {
            while (i-- > 0)
                st_free(parts[i]);
            return st_fail_memory(error, "naming kernels");
        }
    return ST_OK;
}

void st_header_job(const st_header_program *program, st_compile_job *job)
{
    *job = (st_compile_job){.file_name = st_header_file(program), .source = kernels_text(program)};
    if (program->source_path) {
        job->includes = &program->include;
        job->include_count = 1;
    }
}
