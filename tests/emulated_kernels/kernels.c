// SPDX-License-Identifier: Apache-2.0
// Invariants: 1. plans come from the template's directives, as in a tuning run; 2. every buffer is an
// allocation of its exact size, outputs and temporary storage filled with 0xFF, so that the checking
// mode knows where they end and what nobody has written; 3. a run leaves nothing on the device.
#include "tests/emulated_kernels/kernels.h"

#include "tests/emulated_kernels/data.h"
#include "tests/emulated_kernels/families.h"
#include "tuner/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OPS (&st_emu_operations)
enum { HANG_SECONDS = 5, MOST_ARGUMENTS = 16, MOST_KERNELS = 8, MOST_INCLUDES = 12 };

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
    st_source_text includes[MOST_INCLUDES];
    char *changed = NULL;
    st_code code = ST_OK;
    size_t count = of->program.includes.count;
    if (count > MOST_INCLUDES)
        return st_fail(error, ST_FAILED, NULL, "more than %d includes", MOST_INCLUDES);
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
    made->family = family_of(tmpl->family);
    if (!made->family)
        return st_fail(error, ST_FAILED, "add a row to families.c", "unknown family %s",
                       tmpl->family);
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
    kernels_case data;
    st_bindings bindings;
    st_plan_buffer *buffers;
    st_plan_kernels names;
    st_plan plan;
    st_gpu_kernel *kernels[MOST_KERNELS];
    st_gpu_pointer bases[KERNELS_BUFFERS], pointers[KERNELS_BUFFERS];
} run_work;

// ST_NOTHING where the template does not allow these sizes. (One without `prune` has its hints for the
// search among its constraints, and is right beyond them.)
static st_code check_allowed(const run_work *work, st_error *error)
{
    const st_template *tmpl = work->of->tmpl;
    for (size_t i = 0; i < tmpl->where_count && tmpl->prune_count > 0; i++) {
        int64_t holds = 0;
        st_code code = st_bindings_evaluate(&work->bindings, tmpl->wheres[i], 1, &holds, error);
        if (code)
            return code;
        if (!holds)
            return st_fail(error, ST_NOTHING, NULL, "not allowed");
    }
    return ST_OK;
}

static st_code make_plan(run_work *work, size_t config, st_error *error)
{
    kernels *of = work->of;
    const st_template *tmpl = of->tmpl;
    char **lowered = of->compiled.lowered_names + config * of->program.launch_count;
    int blocks = 1;
    st_code code = st_bindings_make(tmpl, &work->data.problem, &of->configs[config], &of->facts,
                                    &work->bindings, error);
    for (size_t b = 0; b < tmpl->buffer_count && !code; b++) {
        size_t moved = work->data.run->offset *
                       st_type_of(st_buffer_type(&work->bindings, &tmpl->buffers[b]))->size;
        if (moved && tmpl->buffers[b].role <= ST_BUFFER_INOUT)
            st_bindings_align(&work->bindings, (int)b, (int64_t)(moved & (~moved + 1)));
    }
    if (!code)
        code = check_allowed(work, error);
    if (code)
        return code;
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
    return code == ST_NOTHING ? ST_FAILED : code;
}

static bool is_output(const st_plan_buffer *buffer)
{
    return buffer->role == ST_BUFFER_OUTPUT || buffer->role == ST_BUFFER_INOUT;
}

static st_code make_data(run_work *work, st_error *error)
{
    const st_template *tmpl = work->of->tmpl;
    kernels_case *data = &work->data;
    data->bindings = &work->bindings;
    data->buffers = work->buffers;
    if (tmpl->buffer_count > KERNELS_BUFFERS)
        return st_fail(error, ST_FAILED, NULL, "more than %d buffers", KERNELS_BUFFERS);
    for (size_t b = 0; b < tmpl->buffer_count; b++) {
        const st_plan_buffer *buffer = &work->buffers[b];
        if (buffer->role != ST_BUFFER_INPUT && !is_output(buffer))
            continue;
        size_t size = st_type_of(buffer->type)->size;
        data->host[b] = st_calloc(buffer->count + 1, size);
        if (!data->host[b])
            return st_fail_memory(error, "making data");
        if (is_output(buffer))
            memset(data->host[b], 0xff, (buffer->count + 1) * size);
    }
    return work->of->family->fill(data, error);
}

// The input that an output may lie upon, where the run asks for it; else -1.
static int upon(const run_work *work, size_t b)
{
    const st_template *tmpl = work->of->tmpl;
    for (size_t i = 0; i < tmpl->in_place_count && work->data.run->in_place; i++) {
        int64_t holds = 0;
        st_error ignored = {0};
        if (tmpl->in_places[i].output == (int)b &&
            !st_bindings_evaluate(&work->bindings, tmpl->in_places[i].when, 1, &holds, &ignored) &&
            holds)
            return tmpl->in_places[i].input;
    }
    return -1;
}

static st_code make_buffer(run_work *work, size_t b, st_error *error)
{
    const st_plan_buffer *buffer = &work->buffers[b];
    size_t size = st_type_of(buffer->type)->size;
    bool given = buffer->role == ST_BUFFER_INPUT, temp = buffer->role == ST_BUFFER_TEMP;
    uint64_t bytes = (temp ? work->plan.temp_counts[b] : buffer->count) * size;
    uint64_t skipped = temp ? 0 : work->data.run->offset * size;
    if (!given && !temp && !is_output(buffer))
        return ST_OK; // the reference's
    st_code code =
        OPS->allocate(work->of->gpu, bytes + skipped ? bytes + skipped : 1, &work->bases[b], error);
    work->pointers[b] = work->bases[b] + skipped;
    if (!code && bytes && given)
        code = OPS->copy_in(work->of->gpu, work->pointers[b], work->data.host[b], bytes, error);
    else if (!code && bytes)
        code = OPS->fill8(work->of->gpu, work->pointers[b], 0xff, bytes, error);
    return code;
}

static st_code make_buffers(run_work *work, st_error *error)
{
    st_code code = ST_OK;
    for (size_t b = 0; b < work->of->tmpl->buffer_count && !code; b++)
        if (upon(work, b) < 0)
            code = make_buffer(work, b, error);
    for (size_t b = 0; b < work->of->tmpl->buffer_count && !code; b++)
        if (upon(work, b) >= 0)
            work->pointers[b] = work->pointers[upon(work, b)];
    return code;
}

// A scalar of a float type stands in the plan as an integer.
static uint64_t argument_bits(const st_plan_argument *argument)
{
    uint64_t bits = 0;
    if (!st_type_of(argument->type)->is_float)
        return (uint64_t)argument->value; // little endian
    data_put(&bits, argument->type, 0, argument->value);
    return bits;
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
        values[i] =
            argument->buffer >= 0 ? work->pointers[argument->buffer] : argument_bits(argument);
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

static void compare(const kernels_case *data, int buffer, const void *got, char detail[600])
{
    const st_plan_buffer *of = &data->buffers[buffer];
    size_t size = st_type_of(of->type)->size;
    const char *a = got, *b = data->host[buffer];
    char found[32], right[32];
    for (uint64_t i = 0; i < of->count; i++) {
        if (data_same(of->type, a + i * size, b + i * size))
            continue;
        data_text(of->type, a + i * size, found, sizeof found);
        data_text(of->type, b + i * size, right, sizeof right);
        snprintf(detail, 600, "%s[%llu]: %s, expected %s", of->name, (unsigned long long)i, found,
                 right);
        return;
    }
}

static st_code judge(run_work *work, char verdict[24], char detail[600], st_error *error)
{
    st_code code = ST_OK;
    for (size_t b = 0; b < work->of->tmpl->buffer_count && !code && !detail[0]; b++) {
        const st_plan_buffer *buffer = &work->buffers[b];
        size_t bytes = buffer->count * st_type_of(buffer->type)->size;
        if (!is_output(buffer) || !bytes)
            continue;
        void *got = st_malloc(bytes);
        if (!got)
            return st_fail_memory(error, "reading results");
        code = OPS->copy_out(work->of->gpu, got, work->pointers[b], bytes, error);
        if (!code)
            (work->of->family->judge ? work->of->family->judge : compare)(&work->data, (int)b, got,
                                                                          detail);
        st_free(got);
    }
    if (detail[0])
        snprintf(verdict, 24, "value");
    return code;
}

st_code kernels_compute(kernels *of, size_t config, const kernels_run *run, char verdict[24],
                        char detail[600], st_error *error)
{
    run_work work = {.of = of};
    const st_type *type = st_problem_type(of->tmpl, &of->problem);
    verdict[0] = detail[0] = 0;
    work.data = (kernels_case){.of = of,
                               .run = run,
                               .config = &of->configs[config],
                               .problem = of->problem,
                               .type = type ? type->id : ST_F32}; // a family without a type axis
    for (size_t a = 0; a < of->tmpl->axis_count; a++)
        if (of->tmpl->axes[a].kind == ST_AXIS_SIZE)
            work.data.problem.value[a] = run->size[a];
    st_code code = make_plan(&work, config, error);
    if (!code)
        code = make_data(&work, error);
    if (!code)
        code = make_buffers(&work, error);
    if (!code && run_plan(&work, error)) {
        name_failure(error->what, verdict);
        snprintf(detail, 600, "%.590s", error->what);
        code = kernels_reopen(of, error); // the allocations are gone with the device
    } else if (!code) {
        code = judge(&work, verdict, detail, error);
        for (size_t b = 0; b < KERNELS_BUFFERS; b++)
            if (work.bases[b])
                OPS->release(of->gpu, work.bases[b]);
    }
    for (size_t b = 0; b < KERNELS_BUFFERS; b++)
        st_free(work.data.host[b]);
    st_plan_release(&work.plan);
    st_plan_kernels_release(&work.names);
    st_free(work.buffers);
    st_bindings_release(&work.bindings);
    return code;
}

// --- what a case is ------------------------------------------------------------------------------

int64_t kernels_axis(const kernels_case *of, const char *name)
{
    int axis = st_template_axis(of->of->tmpl, name);
    return axis < 0 ? 0 : of->problem.value[axis];
}

static bool is_word(const st_value *values, size_t count, int64_t number, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (values[i].number == number && values[i].word && strcmp(values[i].word, word) == 0)
            return true;
    return false;
}

bool kernels_axis_is(const kernels_case *of, const char *name, const char *word)
{
    int at = st_template_axis(of->of->tmpl, name);
    const st_axis *axis = &of->of->tmpl->axes[at < 0 ? 0 : at];
    return at >= 0 && is_word(axis->values, axis->value_count, of->problem.value[at], word);
}

bool kernels_config_is(const kernels_case *of, const char *parameter, const char *word)
{
    int at = st_template_parameter(of->of->tmpl, parameter);
    const st_parameter *found = &of->of->tmpl->parameters[at < 0 ? 0 : at];
    return at >= 0 && is_word(found->values, found->value_count, of->config->value[at], word);
}

int kernels_buffer(const kernels_case *of, const char *name)
{
    return st_template_buffer(of->of->tmpl, name);
}

uint64_t kernels_parameter(const kernels *of, size_t config, const char *name)
{
    int at = st_template_parameter(of->tmpl, name);
    return at < 0 ? 1 : (uint64_t)of->configs[config].value[at];
}

void kernels_run_text(const kernels *of, const kernels_run *run, st_text *out)
{
    for (size_t a = 0; a < of->tmpl->axis_count; a++)
        if (of->tmpl->axes[a].kind == ST_AXIS_SIZE)
            st_text_addf(out, "%s=%lld ", of->tmpl->axes[a].name, (long long)run->size[a]);
    st_text_addf(out, "%llu elements off alignment, %s data %u%s", (unsigned long long)run->offset,
                 run->data == KERNELS_EXACT ? "exact" : "special", run->rotation,
                 run->in_place ? ", in place" : "");
}

// Every size on and off alignment, in place in turn; then special data.
size_t kernels_runs(const kernels *of, size_t config, kernels_run *out, size_t capacity)
{
    size_t sizes = of->family->runs(of, config, out, 0, capacity), count = sizes;
    for (size_t i = 0; i < sizes && count < capacity; i++) {
        out[i].rotation = (unsigned)(i + config);
        out[count] = out[i];
        out[count].offset = 1 + i % 3;
        out[count].in_place = of->tmpl->in_place_count > 0 && i % 2;
        out[count++].rotation++;
    }
    for (unsigned rotation = 0; rotation < 4 && count < capacity; rotation++) {
        size_t added = family_add_run(of, out + count, 0, capacity - count, of->family->special,
                                      of->family->special[1].axis ? 2 : 1);
        out[count].offset = rotation;
        out[count].data = KERNELS_SPECIAL;
        out[count].rotation = rotation;
        count += added;
    }
    return count;
}
