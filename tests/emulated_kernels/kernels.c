// SPDX-License-Identifier: Apache-2.0
// Invariants: 1. plans come from the template's directives, as in a tuning run; 2. every buffer is an
// allocation of its exact size, outputs and temporary storage filled with 0xFF, so that the checking
// mode knows where they end and what nobody has written; 3. a run leaves nothing on the device.
#include "tests/emulated_kernels/kernels.h"

#include "tests/emulated_kernels/data.h"
#include "tuner/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OPS (&st_emu_operations)
enum { HANG_SECONDS = 5, MOST_BUFFERS = 16, MOST_ARGUMENTS = 16, MOST_KERNELS = 8 };

// --- programs ------------------------------------------------------------------------------------

// *text with `from`, which must stand there once, replaced.
static st_code replace(const kernels_change *change, const char *text, char **out, st_error *error)
{
    const char *at = strstr(text, change->from);
    if (!at || strstr(at + 1, change->from))
        return st_fail(error, ST_NOTHING, "adapt the table of faults to the template",
                       "%s holds this text %s: %s", change->file, at ? "more than once" : "no more",
                       change->from);
    *out = st_format("%.*s%s%s", (int)(at - text), text, change->to, at + strlen(change->from));
    return *out ? ST_OK : st_fail_memory(error, "changing a template");
}

static st_code compile(kernels *of, const kernels_change *change, st_error *error)
{
    st_source_text includes[8];
    char *changed = NULL;
    st_code code = ST_OK;
    size_t count = of->program.includes.count;
    if (count > 8)
        return st_fail(error, ST_FAILED, NULL, "more than 8 includes");
    st_compile_job job = {.backend = "emu",
                          .arch = "sm_90",
                          .file_name = of->tmpl->path,
                          .source = of->program.source.data,
                          .includes = includes,
                          .include_count = count,
                          .kernels = (const char *const *)of->program.kernels,
                          .kernel_count = of->program.kernel_count};
    for (size_t i = 0; i < count; i++) {
        includes[i].name = of->program.includes.items[i].name;
        includes[i].text = of->program.includes.items[i].text;
        if (change && strcmp(includes[i].name, change->file) == 0) {
            code = replace(change, includes[i].text, &changed, error);
            includes[i].text = changed;
        }
    }
    if (change && !changed && !code) {
        code = replace(change, job.source, &changed, error);
        job.source = changed;
    }
    if (!code)
        code = st_emu_compile(&job, &of->compiled, error);
    st_free(changed);
    if (!code && of->compiled.outcome != ST_COMPILED)
        code = st_fail(error, ST_FAILED, NULL, "does not compile: %.400s", of->compiled.log);
    return code;
}

st_code kernels_reopen(kernels *of, st_error *error)
{
    if (of->gpu)
        OPS->close(of->gpu);
    of->gpu = NULL;
    st_code code = OPS->open(0, &of->gpu, error);
    if (!code)
        code = OPS->load(of->gpu, of->compiled.image, of->compiled.image_bytes, &of->module, error);
    return code;
}

st_code kernels_open(kernels *made, const st_template *tmpl, const st_problem *problem,
                     const st_config *configs, size_t count, const kernels_change *change,
                     st_error *error)
{
    memset(made, 0, sizeof *made);
    made->tmpl = tmpl;
    made->problem = *problem;
    made->configs = configs;
    made->config_count = count;
    st_emu_set_checking(true);
    st_code code = OPS->facts(0, &made->facts, error);
    if (!code)
        code = st_program_make(tmpl, problem, configs, count, &made->program, error);
    if (!code)
        code = compile(made, change, error);
    if (!code)
        code = kernels_reopen(made, error);
    return code;
}

void kernels_close(kernels *of)
{
    if (of->gpu)
        OPS->close(of->gpu);
    st_compiled_release(&of->compiled);
    st_program_release(&of->program);
    memset(of, 0, sizeof *of);
}

// --- one run -------------------------------------------------------------------------------------

typedef struct run_work {
    kernels *of;
    const kernels_run *run;
    st_type_id type;
    data_operation operation;
    st_bindings bindings;
    st_plan_buffer *buffers;
    st_plan_kernels names;
    st_plan plan;
    st_gpu_kernel *kernels[MOST_KERNELS];
    st_gpu_pointer bases[MOST_BUFFERS], pointers[MOST_BUFFERS];
    int output;
    _Alignas(8) unsigned char expected[8];
} run_work;

static int size_axis(const st_template *tmpl)
{
    for (size_t i = 0; i < tmpl->axis_count; i++)
        if (tmpl->axes[i].kind == ST_AXIS_SIZE)
            return (int)i;
    return -1;
}

static st_code make_plan(run_work *work, size_t config, st_error *error)
{
    kernels *of = work->of;
    const st_template *tmpl = of->tmpl;
    st_problem problem = of->problem;
    problem.value[size_axis(tmpl)] = (int64_t)work->run->n;
    char **lowered = of->compiled.lowered_names + config * of->program.launch_count;
    int blocks = 1;
    st_code code =
        st_bindings_make(tmpl, &problem, &of->configs[config], &of->facts, &work->bindings, error);
    if (!code)
        code = st_plan_kernels_make(&work->bindings, tmpl->steps, tmpl->step_count, lowered,
                                    &work->names, error);
    if (!code && work->names.count > MOST_KERNELS)
        code = st_fail(error, ST_FAILED, NULL, "more than %d kernels", MOST_KERNELS);
    for (size_t k = 0; k < work->names.count && !code; k++)
        code = OPS->kernel(of->gpu, of->module, work->names.kernels[k].lowered, &work->kernels[k],
                           error);
    if (!code)
        code = OPS->occupancy(of->gpu, work->kernels[0], work->names.kernels[0].block,
                              work->names.kernels[0].smem, &blocks, error);
    if (!code)
        code = st_bindings_late(&work->bindings, blocks > 0 ? blocks : 1, error);
    if (!code)
        code = st_plan_make(&work->bindings, tmpl->steps, tmpl->step_count, &work->names,
                            &work->plan, error);
    if (!code)
        code = st_plan_buffers(&work->bindings, 0, &work->buffers, error);
    return code;
}

static st_code make_input(run_work *work, size_t b, st_error *error)
{
    size_t size = st_type_of(work->type)->size;
    size_t bytes = (size_t)work->run->n * size, skipped = (size_t)work->run->offset * size;
    void *data = st_calloc(work->run->n + 1, size);
    if (!data)
        return st_fail_memory(error, "making data");
    data_make(data, work->type, work->operation, work->run, work->expected);
    st_code code =
        OPS->allocate(work->of->gpu, bytes + skipped ? bytes + skipped : 1, &work->bases[b], error);
    work->pointers[b] = work->bases[b] + skipped;
    if (!code && bytes)
        code = OPS->copy_in(work->of->gpu, work->pointers[b], data, bytes, error);
    st_free(data);
    return code;
}

static st_code make_buffers(run_work *work, st_error *error)
{
    const st_template *tmpl = work->of->tmpl;
    st_code code = ST_OK;
    if (tmpl->buffer_count > MOST_BUFFERS)
        return st_fail(error, ST_FAILED, NULL, "more than %d buffers", MOST_BUFFERS);
    for (size_t b = 0; b < tmpl->buffer_count && !code; b++) {
        const st_plan_buffer *buffer = &work->buffers[b];
        uint64_t count = buffer->role == ST_BUFFER_TEMP ? work->plan.temp_counts[b] : buffer->count;
        uint64_t bytes = count * st_type_of(buffer->type)->size;
        if (buffer->role == ST_BUFFER_INPUT) {
            code = make_input(work, b, error);
            continue;
        }
        if (buffer->role != ST_BUFFER_OUTPUT && buffer->role != ST_BUFFER_TEMP)
            continue; // the reference's
        if (buffer->role == ST_BUFFER_OUTPUT)
            work->output = (int)b;
        code = OPS->allocate(work->of->gpu, bytes ? bytes : 1, &work->bases[b], error);
        work->pointers[b] = work->bases[b];
        if (!code && bytes)
            code = OPS->fill8(work->of->gpu, work->bases[b], 0xff, bytes, error);
    }
    return code;
}

static st_code launch(run_work *work, const st_plan_step *step, st_error *error)
{
    uint64_t values[MOST_ARGUMENTS];
    void *arguments[MOST_ARGUMENTS];
    size_t sizes[MOST_ARGUMENTS];
    if (step->argument_count > MOST_ARGUMENTS)
        return st_fail(error, ST_FAILED, NULL, "more than %d arguments", MOST_ARGUMENTS);
    for (uint32_t i = 0; i < step->argument_count; i++) {
        const st_plan_argument *argument = &step->arguments[i];
        values[i] = argument->buffer >= 0 ? work->pointers[argument->buffer]
                                          : (uint64_t)argument->value; // integers, little endian
        sizes[i] = argument->buffer >= 0 ? 8 : st_type_of(argument->type)->size;
        arguments[i] = &values[i];
    }
    st_launch what = {.kernel = work->kernels[step->kernel],
                      .grid = {step->grid[0], step->grid[1], step->grid[2]},
                      .block = {step->block[0], step->block[1], step->block[2]},
                      .dynamic_smem = step->smem,
                      .cluster = step->cluster ? step->cluster : 1,
                      .dependent = step->dependent,
                      .arguments = arguments,
                      .argument_sizes = sizes,
                      .argument_count = step->argument_count};
    return OPS->launch(work->of->gpu, &what, error);
}

static st_code run_plan(run_work *work, st_error *error)
{
    st_code code = ST_OK;
    for (uint32_t i = 0; i < work->plan.step_count && !code; i++) {
        const st_plan_step *step = &work->plan.steps[i];
        if (!step->is_zero)
            code = launch(work, step, error);
        else if (step->zero_bytes)
            code =
                OPS->fill8(work->of->gpu, work->pointers[step->buffer], 0, step->zero_bytes, error);
    }
    // A kernel that waits for what never comes must not hold the test.
    clock_t until = clock() + (clock_t)HANG_SECONDS * CLOCKS_PER_SEC; // of processor time
    for (bool done = false; !code && !done;) {
        code = OPS->query(work->of->gpu, &done, error);
        if (!code && !done && clock() > until)
            code = st_fail(error, ST_FAILED, NULL, "hang: not done after %d s", HANG_SECONDS);
    }
    return code;
}

// The word for what the emulated device says.
static void name_failure(const char *what, char verdict[24])
{
    static const char *const words[][2] = {
        {"race: ", "race"},
        {"uninitialised: ", "uninitialised"},
        {"out of bounds: ", "out of bounds"},
        {"illegal address", "out of bounds"},
        {"deadlock", "deadlock"},
        {"barrier divergence", "divergence"},
        {"hang: ", "hang"},
    };
    snprintf(verdict, 24, "launch");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(what, words[i][0])) {
            snprintf(verdict, 24, "%s", words[i][1]);
            return;
        }
}

static st_code judge(run_work *work, char verdict[24], char detail[600], st_error *error)
{
    unsigned char got[8] = {0};
    char a[32], b[32];
    st_code code = OPS->copy_out(work->of->gpu, got, work->pointers[work->output],
                                 st_type_of(work->type)->size, error);
    if (code || data_same(work->type, got, work->expected))
        return code;
    data_text(work->type, got, a, sizeof a);
    data_text(work->type, work->expected, b, sizeof b);
    snprintf(verdict, 24, "value");
    snprintf(detail, 600, "%s, expected %s", a, b);
    return ST_OK;
}

static st_code find_operation(run_work *work, st_error *error)
{
    const st_template *tmpl = work->of->tmpl;
    work->type = st_problem_type(tmpl, &work->of->problem)->id;
    int axis = st_template_axis(tmpl, "op");
    for (size_t v = 0; axis >= 0 && v < tmpl->axes[axis].value_count; v++) {
        static const char *const names[] = {"sum", "min", "max"};
        const st_value *value = &tmpl->axes[axis].values[v];
        for (int o = 0; o < 3; o++)
            if (value->number == work->of->problem.value[axis] &&
                strcmp(value->word, names[o]) == 0) {
                work->operation = (data_operation)o;
                return ST_OK;
            }
    }
    return st_fail(error, ST_FAILED, NULL, "%s is no reduction that this test knows", tmpl->family);
}

st_code kernels_compute(kernels *of, size_t config, const kernels_run *run, char verdict[24],
                        char detail[600], st_error *error)
{
    run_work work = {.of = of, .run = run, .output = -1};
    verdict[0] = detail[0] = 0;
    st_code code = find_operation(&work, error);
    if (!code)
        code = make_plan(&work, config, error);
    if (!code)
        code = make_buffers(&work, error);
    if (!code && work.output < 0)
        code = st_fail(error, ST_FAILED, NULL, "%s has no output", of->tmpl->family);
    if (!code && run_plan(&work, error)) {
        name_failure(error->what, verdict);
        snprintf(detail, 600, "%.590s", error->what);
        code = kernels_reopen(of, error); // the allocations are gone with the device
    } else if (!code) {
        code = judge(&work, verdict, detail, error);
        for (size_t b = 0; b < MOST_BUFFERS; b++)
            if (work.bases[b])
                OPS->release(of->gpu, work.bases[b]);
    }
    st_plan_release(&work.plan);
    st_plan_kernels_release(&work.names);
    st_free(work.buffers);
    st_bindings_release(&work.bindings);
    return code;
}

// --- sizes ---------------------------------------------------------------------------------------

static uint64_t parameter(const kernels *of, size_t config, const char *name)
{
    int at = st_template_parameter(of->tmpl, name);
    return at < 0 ? 1 : (uint64_t)of->configs[config].value[at];
}

static size_t add_size(uint64_t *out, size_t count, size_t capacity, uint64_t size)
{
    for (size_t i = 0; i < count; i++)
        if (out[i] == size)
            return count;
    if (count < capacity)
        out[count++] = size;
    return count;
}

size_t kernels_sizes(const kernels *of, size_t config, uint64_t *out, size_t capacity)
{
    static const uint64_t always[] = {0, 1, 31, 32, 33, 1021};
    uint64_t block = parameter(of, config, "BLOCK"), vec = parameter(of, config, "VEC");
    uint64_t tile = block * vec * parameter(of, config, "UNROLL");
    uint64_t cluster = parameter(of, config, "CLUSTER");
    // Several tiles a block cost time: only where tiles are small.
    uint64_t more = tile <= 8192 ? 5 * tile + block * vec + 7 : tile + block * vec + 7;
    uint64_t three = tile <= 32768 ? 3 * tile + 4 * vec : tile + 4 * vec;
    const uint64_t wanted[] = {
        block - 1, block,    block + 1, tile - 1,
        tile,      tile + 1, three,     tile <= 8192 ? tile * cluster + 1 : 1,
        more};
    size_t count = 0;
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        count = add_size(out, count, capacity, always[i]);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        count = add_size(out, count, capacity, wanted[i]);
    return count;
}
