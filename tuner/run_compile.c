// SPDX-License-Identifier: Apache-2.0
// Compiling for a group of problems that share type and words. Invariants: 1. configurations that differ in
// runtime parameters alone are compiled once; 2. the grouping into programs depends on the space and the
// seed alone, so that a second run finds them all in the cache; 3. a program that fails as a whole is split
// until the faulty configuration stands alone.
#include "tuner/base/memory.h"
#include "tuner/base/paths.h"
#include "tuner/run_internal.h"

#include <stdio.h>
#include <string.h>

enum { CONFIGS_A_PROGRAM = 8 };
// Jobs that are not candidates' programs.
#define JOB_SUPPORT UINT64_MAX
#define JOB_REFERENCE (UINT64_MAX - 1)

static st_code submit(st_run *run, uint64_t id, const char *file_name, const char *source,
                      const st_program *program, const char *const *kernels, size_t kernel_count,
                      st_error *error)
{
    st_source_text *includes = st_calloc(program ? program->includes.count : 0, sizeof *includes);
    if (!includes)
        return st_fail_memory(error, "compiling");
    size_t include_count = program ? program->includes.count : 0;
    for (size_t i = 0; i < include_count; i++)
        includes[i] = (st_source_text){program->includes.items[i].name, program->includes.items[i].text};
    st_compile_job job = {.id = id,
                          .backend = run->options->backend,
                          .arch = run->arch,
                          .file_name = file_name,
                          .source = source,
                          .includes = includes,
                          .include_count = include_count,
                          .options = program ? (const char *const *)program->options : NULL,
                          .option_count = program ? program->option_count : 0,
                          .kernels = kernels,
                          .kernel_count = kernel_count};
    st_code code = st_pool_submit(run->pool, &job, error);
    st_free(includes);
    return code;
}

static st_code take(st_run *run, st_compiled *compiled, st_error *error);

// Waits for one job of the tool's own, while others come in as well; it must compile.
static st_code wait_for(st_run *run, uint64_t id, const char *what, st_compiled *out, st_error *error)
{
    size_t own = id == JOB_REFERENCE;
    st_code code = ST_OK;
    for (double patience = 0; !run->own[own].there; patience = 1) {
        st_compiled any;
        bool got;
        code = st_pool_next(run->pool, patience, &any, &got, error);
        if (code == ST_OK && got)
            code = take(run, &any, error);
        if (code == ST_OK && run_interrupted(run))
            code = st_fail(error, ST_INTERRUPTED, NULL, "interrupted");
        if (code != ST_OK)
            return code;
        if (!got)
            run_profiler_start(run); // there is time for it: nothing is timed while this compiles
    }
    *out = run->own[own].compiled;
    run->own[own].there = false;
    run_trace_compiled(run, NULL, what, out);
    if (out->outcome == ST_COMPILED) {
        if (!run->compiler[0])
            snprintf(run->compiler, sizeof run->compiler, "%s", out->compiler);
        return ST_OK;
    }
    code = st_fail(error, ST_FAILED,
                   own ? "mend the template's reference file; its lines are named above" : "see simtune doctor",
                   "%s does not compile for %s: %s", what, run->arch, out->log);
    st_compiled_release(out);
    return code;
}

st_code run_compile_begin(st_run *run, st_error *error)
{
    static const char *const kernels[] = {
        "simtune_support_fill",  "simtune_support_compare", "simtune_support_report",
        "simtune_support_check", "simtune_support_flush",   "simtune_support_read",
        "simtune_support_copy",  "simtune_support_gate"};
    st_text path, source;
    st_text_init(&path);
    st_text_init(&source);
    st_pool_options pool = {.processes = run->options->compile_processes,
                            .cache_folder = run->options->cache_folder,
                            .first_limit = 60,
                            .program = run->options->program};
    st_code code = st_pool_open(&pool, &run->pool, error);
    if (code == ST_OK)
        code = st_paths_shipped("templates/support.cu", &path, error);
    if (code == ST_OK)
        code = st_text_read_file(&source, st_text_string(&path), error);
    if (code == ST_OK)
        code = submit(run, JOB_SUPPORT, "support.cu", st_text_string(&source), NULL, kernels,
                      sizeof kernels / sizeof kernels[0], error);
    st_text_release(&source);
    st_text_release(&path);
    return code;
}

st_code run_compile_support(st_run *run, st_error *error)
{
    st_compiled compiled = {0};
    st_code code = wait_for(run, JOB_SUPPORT, "support.cu", &compiled, error);
    if (code == ST_OK) {
        run->support = compiled.image;
        run->support_bytes = compiled.image_bytes;
        compiled.image = NULL;
        st_compiled_release(&compiled);
    }
    return code;
}

static void release_program(run_program *program)
{
    st_compiled_release(&program->compiled);
    st_free(program->classes);
    st_free(program->used);
    *program = (run_program){0};
}

void run_group_release(st_run *run)
{
    for (size_t i = 0; i < run->program_count; i++)
        release_program(&run->programs[i]);
    st_free(run->programs);
    st_free(run->classes);
    st_config_index_release(&run->class_configs);
    run->programs = NULL;
    run->classes = NULL;
    run->program_count = run->programs_pending = run->class_count = 0;
    for (size_t i = 0; i < sizeof run->own / sizeof run->own[0]; i++) {
        if (run->own[i].there)
            st_compiled_release(&run->own[i].compiled);
        run->own[i].there = false;
    }
    if (run->has_reference)
        st_compiled_release(&run->reference);
    run->reference = (st_compiled){0};
    run->has_reference = run->group_begun = false;
}

static st_code submit_program(st_run *run, size_t index, st_error *error)
{
    run_program *program = &run->programs[index];
    st_config *configs = st_calloc(program->class_count, sizeof *configs);
    st_program text = {0};
    st_code code = configs ? ST_OK : st_fail_memory(error, "compiling");
    for (size_t i = 0; i < program->class_count && code == ST_OK; i++)
        configs[i] = run->class_configs.configs[program->classes[i]];
    if (code == ST_OK)
        code = st_program_make(run->tmpl, &run->problems[run->group_first].problem, configs,
                               program->class_count, &text, error);
    const char *slash = strrchr(run->tmpl->path, '/');
    if (code == ST_OK)
        code = submit(run, (uint64_t)program->serial, slash ? slash + 1 : run->tmpl->path, st_text_string(&text.source), &text,
                      (const char *const *)text.kernels, text.kernel_count, error);
    if (code == ST_OK) {
        program->launch_count = text.launch_count;
        program->used = text.used;
        text.used = NULL;
        run->programs_pending++;
    }
    st_program_release(&text);
    st_free(configs);
    return code;
}

// Appends a program of some classes and submits it.
static st_code add_program(st_run *run, const size_t *classes, size_t count, st_error *error)
{
    run_program *programs = st_realloc(run->programs, (run->program_count + 1) * sizeof *programs);
    if (!programs)
        return st_fail_memory(error, "compiling");
    run->programs = programs;
    size_t *own = st_malloc(count * sizeof *own);
    if (!own)
        return st_fail_memory(error, "compiling");
    memcpy(own, classes, count * sizeof *own);
    programs[run->program_count] = (run_program){.classes = own, .class_count = count, .serial = ++run->serials};
    for (size_t i = 0; i < count; i++) {
        run->classes[classes[i]].program = run->program_count;
        run->classes[classes[i]].in_program = i;
    }
    return submit_program(run, run->program_count++, error);
}

// Room for a program of one configuration and for its class.
static st_code add_single(st_run *run, size_t *class_index, st_error *error)
{
    run_program *programs = st_realloc(run->programs, (run->program_count + 1) * sizeof *programs);
    if (programs)
        run->programs = programs;
    run_class *classes = st_realloc(run->classes, (run->class_count + 1) * sizeof *classes);
    if (classes)
        run->classes = classes;
    size_t *own = st_malloc(sizeof *own);
    if (!programs || !classes || !own) {
        st_free(own);
        return st_fail_memory(error, "compiling");
    }
    *own = *class_index = run->class_count++;
    classes[*own] = (run_class){.program = run->program_count};
    programs[run->program_count++] = (run_program){.classes = own, .class_count = 1, .serial = ++run->serials};
    return ST_OK;
}

st_code run_add_program(st_run *run, const st_compile_job *job, size_t *class_index, st_error *error)
{
    st_code code = add_single(run, class_index, error);
    if (code != ST_OK)
        return code;
    run_program *program = &run->programs[run->program_count - 1];
    st_compile_job whole = *job;
    whole.id = (uint64_t)program->serial;
    whole.backend = run->options->backend;
    whole.arch = run->arch;
    program->launch_count = job->kernel_count;
    code = st_pool_submit(run->pool, &whole, error);
    run->programs_pending += code == ST_OK;
    return code;
}

st_code run_add_compiled(st_run *run, st_compiled *compiled, size_t *class_index, st_error *error)
{
    st_code code = add_single(run, class_index, error);
    if (code != ST_OK) {
        st_compiled_release(compiled);
        return code;
    }
    run_program *program = &run->programs[run->program_count - 1];
    program->launch_count = compiled->kernel_count;
    program->compiled = *compiled;
    program->state = compiled->outcome == ST_COMPILED ? PROGRAM_READY : PROGRAM_FAILED;
    *compiled = (st_compiled){0};
    return ST_OK;
}

static st_code submit_reference(st_run *run, st_error *error)
{
    st_program text = {0};
    st_code code = st_reference_program_make(run->tmpl, &run->problems[run->group_first].problem, &text,
                                             error);
    if (code == ST_NOTHING) {
        st_error_clear(error);
        return ST_OK;
    }
    if (code == ST_OK)
        code = submit(run, JOB_REFERENCE, "reference.cu", st_text_string(&text.source), &text,
                      (const char *const *)text.kernels, text.kernel_count, error);
    run->has_reference = code == ST_OK;
    st_program_release(&text);
    return code;
}

static st_code classify(st_run *run, run_candidate *candidate, st_error *error)
{
    st_config key = st_config_compiled(run->tmpl, &candidate->config);
    candidate->class_index = st_config_index_add(&run->class_configs, &key, NULL);
    return candidate->class_index == SIZE_MAX ? st_fail_memory(error, "grouping configurations") : ST_OK;
}

st_code run_group_begin(st_run *run, st_error *error)
{
    st_code code = submit_reference(run, error);
    run->group_begun = true;
    // Classes in the order in which the first problem tries them, so that what is tried first is compiled
    // first: without a reference that is the default, with which all others are compared.
    st_config_index_init(&run->class_configs, run->tmpl);
    for (size_t p = run->group_first; p < run->group_first + run->group_count && code == ST_OK; p++) {
        run_problem *problem = &run->problems[p];
        if (!run->has_reference && !problem->skipped)
            code = classify(run, &problem->standard, error);
        for (size_t i = 0; i < problem->candidate_count && code == ST_OK; i++)
            if (!problem->candidates[i].unclassed)
                code = classify(run, &problem->candidates[i], error);
    }
    size_t class_count = run->class_configs.count;
    if (code == ST_OK && !(run->classes = st_calloc(class_count ? class_count : 1, sizeof *run->classes)))
        code = st_fail_memory(error, "grouping configurations");
    run->class_count = code == ST_OK ? class_count : 0;
    size_t at_once = run->tmpl->is_config ? CONFIGS_A_PROGRAM : 1;
    for (size_t i = 0; i < class_count && code == ST_OK; i += at_once) {
        size_t some[CONFIGS_A_PROGRAM], count = 0;
        while (count < at_once && i + count < class_count) {
            some[count] = i + count;
            count++;
        }
        code = add_program(run, some, count, error);
    }
    return code;
}

st_code run_group_ready(st_run *run, st_error *error)
{
    run->group_begun = false;
    return run->has_reference ? wait_for(run, JOB_REFERENCE, "the reference", &run->reference, error) : ST_OK;
}

st_code run_group_compile(st_run *run, st_error *error)
{
    st_code code = run_group_begin(run, error);
    return code == ST_OK ? run_group_ready(run, error) : code;
}

// A program that was dropped, once more.
static st_code want_again(st_run *run, size_t class_index, st_error *error)
{
    size_t index = run->classes[class_index].program;
    run_program *program = &run->programs[index];
    if (program->state != PROGRAM_DROPPED)
        return ST_OK;
    st_free(program->used);
    program->used = NULL;
    program->state = PROGRAM_WAITING;
    return submit_program(run, index, error);
}

void run_drop(st_run *run, run_candidate *candidate)
{
    if (candidate->unclassed || candidate->stage == STAGE_DONE)
        return;
    run_program *program = &run->programs[run->classes[candidate->class_index].program];
    candidate->unclassed = true; // wanted again it is looked up again
    if (program->state != PROGRAM_WAITING || program->class_count != 1 ||
        !st_pool_drop(run->pool, (uint64_t)program->serial))
        return;
    program->state = PROGRAM_DROPPED;
    run->programs_pending--;
}

// One program each: what a strategy asks for is compiled at once, by as many processes as there are.
st_code run_want(st_run *run, run_candidate *candidate, st_error *error)
{
    if (!candidate->unclassed)
        return ST_OK;
    st_code code = classify(run, candidate, error);
    if (code != ST_OK)
        return code;
    if (candidate->class_index < run->class_count) {
        candidate->unclassed = false;
        return want_again(run, candidate->class_index, error);
    }
    run_class *classes = st_realloc(run->classes, (run->class_count + 1) * sizeof *classes);
    if (!classes)
        return st_fail_memory(error, "grouping configurations");
    run->classes = classes;
    classes[run->class_count++] = (run_class){0};
    candidate->unclassed = false;
    return add_program(run, &candidate->class_index, 1, error);
}

// The program of a result: serials count up within a group. NULL: of a group that ended before all of its
// programs were compiled.
static run_program *program_of(st_run *run, const st_compiled *compiled)
{
    uint64_t first = run->program_count ? (uint64_t)run->programs[0].serial : 0;
    return compiled->id >= first && compiled->id - first < run->program_count ? &run->programs[compiled->id - first]
                                                                              : NULL;
}

static st_code take(st_run *run, st_compiled *compiled, st_error *error)
{
    run_program *program = program_of(run, compiled);
    if (compiled->id >= JOB_REFERENCE) {
        size_t own = compiled->id == JOB_REFERENCE;
        run->own[own].compiled = *compiled;
        run->own[own].there = true;
        return ST_OK;
    }
    if (!program) {
        st_compiled_release(compiled);
        return ST_OK;
    }
    run->programs_pending--;
    run_trace_compiled(run, program, NULL, compiled);
    run->compile_seconds += compiled->from_cache ? 0 : compiled->seconds;
    if (compiled->outcome != ST_COMPILED && program->class_count > 1) {
        size_t count = program->class_count, *classes = program->classes;
        program->classes = NULL;
        program->class_count = 0;
        program->state = PROGRAM_FAILED;
        st_compiled_release(compiled);
        st_code code = ST_OK;
        for (size_t i = 0; i < count && code == ST_OK; i++)
            code = add_program(run, &classes[i], 1, error);
        st_free(classes);
        return code;
    }
    program->compiled = *compiled;
    program->state = compiled->outcome == ST_COMPILED ? PROGRAM_READY : PROGRAM_FAILED;
    return ST_OK;
}

bool run_is_compiled(const st_run *run, const run_candidate *candidate)
{
    run_program_state state = candidate->unclassed ? PROGRAM_DROPPED
                                                   : run->programs[run->classes[candidate->class_index].program].state;
    return state == PROGRAM_READY || state == PROGRAM_FAILED;
}

st_code run_await(st_run *run, size_t class_index, st_error *error)
{
    st_code wanted = want_again(run, class_index, error);
    if (wanted != ST_OK)
        return wanted;
    // A program that is split moves: found anew each time.
    while (run->programs[run->classes[class_index].program].state == PROGRAM_WAITING) {
        if (run_interrupted(run))
            return st_fail(error, ST_INTERRUPTED, "the same command goes on where this one stopped",
                           "interrupted: what was measured is kept");
        st_code code = run_pump(run, 0.5, error);
        if (code != ST_OK)
            return code;
    }
    return ST_OK;
}

st_code run_pump(st_run *run, double seconds, st_error *error)
{
    st_code code = ST_OK;
    for (bool got = true; got && code == ST_OK && run->programs_pending;) {
        st_compiled compiled;
        code = st_pool_next(run->pool, seconds, &compiled, &got, error);
        if (code == ST_OK && got)
            code = take(run, &compiled, error);
        seconds = 0;
    }
    return code;
}
