// SPDX-License-Identifier: Apache-2.0
// Invariant: nothing here depends on the device beyond the facts in the bindings, so that a plan made again
// from the store is the plan that was measured.
#include "tuner/plan.h"

#include "tuner/base/memory.h"
#include "tuner/base/text.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { THREADS_MOST = 1024 };

// An expression that must lie within [low, high]; `what` and `line` for the message.
static st_code within(const st_bindings *bindings, const st_expression *expression, int64_t missing,
                      int64_t low, int64_t high, const char *what, int line, int64_t *out,
                      st_error *error)
{
    st_code code = st_bindings_evaluate(bindings, expression, missing, out, error);
    if (code != ST_OK)
        return st_error_prefix(error, "%s:%d: %s", bindings->tmpl->path, line, what);
    if (*out < low || *out > high)
        return st_fail(error, ST_NOTHING, "add a `where` that keeps it in range",
                       "%s:%d: %s is %lld, outside %lld to %lld", bindings->tmpl->path, line, what,
                       (long long)*out, (long long)low, (long long)high);
    return ST_OK;
}

static st_code applies(const st_bindings *bindings, const st_expression *when, bool *out,
                       st_error *error)
{
    int64_t value;
    st_code code = st_bindings_evaluate(bindings, when, 1, &value, error);
    *out = code == ST_OK && value != 0;
    return code;
}

// Elements that a buffer is moved. What is both input and output goes with either side.
static uint32_t moved_by(const st_buffer *buffer, uint32_t misalign)
{
    static const uint32_t sides[] = {[ST_BUFFER_INPUT] = ST_MISALIGN_INPUTS,
                                     [ST_BUFFER_OUTPUT] = ST_MISALIGN_OUTPUTS,
                                     [ST_BUFFER_INOUT] = ST_MISALIGN_INPUTS | ST_MISALIGN_OUTPUTS};
    uint32_t side = misalign & (ST_MISALIGN_INPUTS | ST_MISALIGN_OUTPUTS);
    if (buffer->role > ST_BUFFER_INOUT || (side && !(sides[buffer->role] & side)))
        return 0;
    return misalign & ~(uint32_t)(ST_MISALIGN_INPUTS | ST_MISALIGN_OUTPUTS);
}

void st_plan_align(st_bindings *bindings, uint32_t misalign)
{
    const st_template *tmpl = bindings->tmpl;
    for (size_t i = 0; i < tmpl->buffer_count && misalign; i++) {
        uint64_t elements = moved_by(&tmpl->buffers[i], misalign);
        if (!elements)
            continue;
        uint64_t off = elements * st_type_of(st_buffer_type(bindings, &tmpl->buffers[i]))->size | 256;
        st_bindings_align(bindings, (int)i, (int64_t)(off & (~off + 1)));
    }
}

// Lets that nothing uses do not count: a template may tell BLOCKS_PER_SM by them alone.
static bool goes_by_residency(const st_template *tmpl)
{
    for (size_t i = 0; i < tmpl->step_count; i++) {
        const st_step *step = &tmpl->steps[i];
        bool late = step->when && st_expression_is_late(step->when, &tmpl->scope);
        late = late || (step->smem && st_expression_is_late(step->smem, &tmpl->scope));
        for (int d = 0; d < ST_MAX_DIMS; d++)
            late = late || (step->grid[d] && st_expression_is_late(step->grid[d], &tmpl->scope));
        for (size_t a = 0; a < step->argument_count; a++)
            late = late || (step->arguments[a].value && st_expression_is_late(step->arguments[a].value, &tmpl->scope));
        if (late)
            return true;
    }
    return false;
}

int st_plan_main_kernel(const st_template *tmpl, const st_plan *plan)
{
    bool takes_first = goes_by_residency(tmpl);
    double most = -1;
    int found = -1;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const st_plan_step *step = &plan->steps[i];
        double threads = 1;
        for (int d = 0; d < 3; d++)
            threads *= (double)step->grid[d] * (double)step->block[d];
        if (step->is_zero || (takes_first && found >= 0) || threads <= most)
            continue;
        most = threads;
        found = step->kernel;
    }
    return found;
}

static bool is_alignment(const st_template *tmpl, const st_expression *expression)
{
    for (size_t i = 0; expression && i < tmpl->buffer_count; i++)
        if (st_expression_uses(expression, tmpl->buffers[i].align_slot))
            return true;
    for (size_t i = 0; expression && i < tmpl->let_count; i++)
        if (st_expression_uses(expression, tmpl->lets[i].slot) && is_alignment(tmpl, tmpl->lets[i].value))
            return true;
    return false;
}

bool st_plan_asks_alignment(const st_template *tmpl)
{
    for (size_t i = 0; i < tmpl->step_count; i++) {
        const st_step *step = &tmpl->steps[i];
        bool asks = is_alignment(tmpl, step->when) || is_alignment(tmpl, step->smem);
        for (int d = 0; d < ST_MAX_DIMS; d++)
            asks = asks || is_alignment(tmpl, step->grid[d]) || is_alignment(tmpl, step->block[d]);
        for (size_t a = 0; a < step->argument_count; a++)
            asks = asks || is_alignment(tmpl, step->arguments[a].value);
        if (asks)
            return true;
    }
    return false;
}

st_code st_plan_fill(const st_bindings *bindings, size_t buffer, const st_fill **out, st_error *error)
{
    const st_template *tmpl = bindings->tmpl;
    *out = &tmpl->buffers[buffer].fill;
    for (size_t i = 0; i < tmpl->fill_line_count; i++) {
        const st_fill_line *line = &tmpl->fill_lines[i];
        int64_t holds = 1;
        st_code code = line->buffer == buffer
                           ? st_bindings_evaluate(bindings, line->when, 1, &holds, error)
                           : ST_OK;
        if (code != ST_OK)
            return code;
        if (line->buffer == buffer && holds) {
            *out = &line->fill;
            break;
        }
    }
    return ST_OK;
}

// Fills whose first argument is how many per cent of the elements are chosen.
static bool is_share(const st_fill *fill)
{
    return fill->argument_count > 0 && strcmp(fill->word, "offsets") != 0;
}

st_code st_plan_buffers(const st_bindings *bindings, uint32_t misalign, st_plan_buffer **out,
                        st_error *error)
{
    const st_template *tmpl = bindings->tmpl;
    *out = st_calloc(tmpl->buffer_count, sizeof **out);
    if (!*out)
        return st_fail_memory(error, "describing buffers");
    for (size_t i = 0; i < tmpl->buffer_count; i++) {
        const st_buffer *from = &tmpl->buffers[i];
        st_plan_buffer *to = &(*out)[i];
        snprintf(to->name, sizeof to->name, "%s", from->name);
        to->role = (int)from->role;
        to->type = st_buffer_type(bindings, from);
        to->misalign = moved_by(from, misalign);
        int64_t count = 0;
        const st_fill *fill;
        st_code code = st_plan_fill(bindings, i, &fill, error);
        if (code == ST_OK && from->role != ST_BUFFER_TEMP)
            code = within(bindings, from->count, 0, 0, INT64_MAX / 16, from->name, 0, &count, error);
        for (size_t k = 0; code == ST_OK && k < fill->argument_count; k++)
            code = st_bindings_evaluate(bindings, fill->arguments[k], 0, &to->fill_values[k], error);
        if (code == ST_OK && is_share(fill) && (to->fill_values[0] < 0 || to->fill_values[0] > 100))
            code = st_fail(error, ST_USAGE, "give a percentage from 0 to 100", "`fill %s` of %s gets %lld %%", fill->word,
                           bindings->tmpl->buffers[i].name, (long long)to->fill_values[0]);
        if (code != ST_OK) {
            st_free(*out);
            *out = NULL;
            return code;
        }
        snprintf(to->fill, sizeof to->fill, "%s", fill->word);
        to->fill_value_count = (uint32_t)fill->argument_count;
        to->count = (uint64_t)count;
    }
    return ST_OK;
}

void st_plan_kernels_release(st_plan_kernels *kernels)
{
    st_free(kernels->kernels);
    st_free(kernels->launch_kernel);
    *kernels = (st_plan_kernels){0};
}

static st_code block_of(const st_bindings *bindings, const st_step *step, uint32_t dims[3],
                        uint32_t *threads, st_error *error)
{
    int64_t product = 1;
    for (int d = 0; d < ST_MAX_DIMS; d++) {
        int64_t size;
        st_code code = within(bindings, step->block[d], 1, 1, THREADS_MOST, "block", step->line, &size,
                              error);
        if (code != ST_OK)
            return code;
        dims[d] = (uint32_t)size;
        product *= size;
    }
    if (product > THREADS_MOST)
        return st_fail(error, ST_NOTHING, "add a `where` that keeps the block at 1024 threads",
                       "%s:%d: a block of %lld threads", bindings->tmpl->path, step->line,
                       (long long)product);
    *threads = (uint32_t)product;
    return ST_OK;
}

st_code st_plan_kernels_make(const st_bindings *bindings, const st_step *steps, size_t step_count,
                             char *const *lowered, st_plan_kernels *out, st_error *error)
{
    *out = (st_plan_kernels){0};
    for (size_t i = 0; i < step_count; i++)
        out->launch_count += steps[i].kind == ST_STEP_LAUNCH;
    out->kernels = st_calloc(out->launch_count, sizeof *out->kernels);
    out->launch_kernel = st_calloc(out->launch_count, sizeof *out->launch_kernel);
    st_code code = out->kernels && out->launch_kernel ? ST_OK : st_fail_memory(error, "making a plan");
    for (size_t i = 0, launch = 0; i < step_count && code == ST_OK; i++) {
        const st_step *step = &steps[i];
        if (step->kind != ST_STEP_LAUNCH)
            continue;
        size_t at = launch++;
        bool used;
        uint32_t dims[3], threads = 0;
        int64_t smem = 0;
        out->launch_kernel[at] = -1;
        code = applies(bindings, step->when, &used, error);
        if (code != ST_OK || !used)
            continue;
        code = block_of(bindings, step, dims, &threads, error);
        if (code == ST_OK)
            code = within(bindings, step->smem, 0, 0, 1 << 30, "smem", step->line, &smem, error);
        if (code != ST_OK)
            continue;
        size_t found = 0;
        while (found < out->count && (strcmp(out->kernels[found].lowered, lowered[at]) != 0 ||
                                      out->kernels[found].block != threads ||
                                      out->kernels[found].smem != (uint32_t)smem))
            found++;
        if (found == out->count) {
            st_load_kernel *kernel = &out->kernels[out->count++];
            if (strlen(lowered[at]) >= sizeof kernel->lowered)
                code = st_fail(error, ST_FAILED, "shorten the kernel's name", "the name %s is too long",
                               lowered[at]);
            snprintf(kernel->lowered, sizeof kernel->lowered, "%s", lowered[at]);
            kernel->block = threads;
            kernel->smem = (uint32_t)smem;
        }
        out->launch_kernel[at] = (int)found;
    }
    if (code != ST_OK)
        st_plan_kernels_release(out);
    return code;
}

st_code st_plan_plain_kernels(const st_bindings *bindings, char *const *lowered, st_plan_kernels *references,
                              st_plan_kernels *derives, st_error *error)
{
    const st_template *tmpl = bindings->tmpl;
    *derives = (st_plan_kernels){0};
    st_code code = st_plan_kernels_make(bindings, tmpl->references, tmpl->reference_count, lowered, references,
                                        error);
    if (code != ST_OK || !tmpl->derive_count)
        return code;
    st_step *always = st_calloc(tmpl->derive_count, sizeof *always); // borrows all but `when`
    if (!always)
        code = st_fail_memory(error, "making a plan");
    for (size_t i = 0; i < tmpl->derive_count && code == ST_OK; i++) {
        always[i] = tmpl->derives[i];
        always[i].when = NULL;
    }
    if (code == ST_OK)
        code = st_plan_kernels_make(bindings, always, tmpl->derive_count, lowered + tmpl->reference_count, derives,
                                    error);
    for (size_t i = 0; i < derives->launch_count && code == ST_OK; i++)
        derives->launch_kernel[i] += (int)references->count;
    st_free(always);
    if (code != ST_OK)
        st_plan_kernels_release(references);
    return code;
}

st_code st_plan_in_places(const st_bindings *bindings, int (**out)[2], size_t *count, st_error *error)
{
    const st_template *tmpl = bindings->tmpl;
    *count = 0;
    *out = st_calloc(tmpl->in_place_count + 1, sizeof **out);
    st_code code = *out ? ST_OK : st_fail_memory(error, "making a plan");
    for (size_t i = 0; i < tmpl->in_place_count && code == ST_OK; i++) {
        const st_in_place *it = &tmpl->in_places[i];
        bool promised;
        code = applies(bindings, it->when, &promised, error);
        if (code != ST_OK || !promised)
            continue;
        (*out)[*count][0] = it->input;
        (*out)[(*count)++][1] = it->output;
    }
    if (code != ST_OK) {
        st_free(*out);
        *out = NULL;
    }
    return code;
}

static st_code make_arguments(const st_bindings *bindings, const st_step *step, st_plan_step *out,
                              st_error *error)
{
    out->arguments = st_calloc(step->argument_count, sizeof *out->arguments);
    if (!out->arguments)
        return st_fail_memory(error, "making a plan");
    out->argument_count = (uint32_t)step->argument_count;
    for (size_t i = 0; i < step->argument_count; i++) {
        const st_argument *from = &step->arguments[i];
        st_plan_argument *to = &out->arguments[i];
        *to = (st_plan_argument){.buffer = from->buffer, .type = from->type};
        if (from->buffer >= 0)
            continue;
        const st_expression *value = from->value;
        if (from->scalar >= 0) {
            to->type = st_bindings_scalar_type(bindings, &bindings->tmpl->scalars[from->scalar]);
            value = bindings->tmpl->scalars[from->scalar].value;
        }
        st_code code = st_bindings_evaluate(bindings, value, 0, &to->value, error);
        if (code != ST_OK)
            return code;
    }
    return ST_OK;
}

static st_code make_launch(const st_bindings *bindings, const st_step *step, int kernel,
                           st_plan_step *out, st_error *error)
{
    static const int64_t grid_most[3] = {INT_MAX, 65535, 65535};
    int64_t value = 0;
    uint32_t threads;
    out->kernel = kernel;
    st_code code = block_of(bindings, step, out->block, &threads, error);
    for (int d = 0; d < ST_MAX_DIMS && code == ST_OK; d++) {
        code = within(bindings, step->grid[d], 1, 0, grid_most[d], "grid", step->line, &value, error);
        out->grid[d] = (uint32_t)value;
    }
    if (code == ST_OK)
        code = within(bindings, step->smem, 0, 0, 1 << 30, "smem", step->line, &value, error);
    out->smem = (uint32_t)value;
    if (code == ST_OK)
        code = within(bindings, step->cluster, 1, 0, 64, "cluster", step->line, &value, error);
    out->cluster = value > 1 ? (uint32_t)value : 1;
    if (code == ST_OK)
        code = within(bindings, step->dependent, 0, INT64_MIN, INT64_MAX, "dependent", step->line, &value,
                      error);
    out->dependent = value != 0;
    return code == ST_OK ? make_arguments(bindings, step, out, error) : code;
}

static st_code make_temps(const st_bindings *bindings, st_plan *out, st_error *error)
{
    const st_template *tmpl = bindings->tmpl;
    out->temp_counts = st_calloc(tmpl->buffer_count, sizeof *out->temp_counts);
    if (!out->temp_counts)
        return st_fail_memory(error, "making a plan");
    out->buffer_count = (uint32_t)tmpl->buffer_count;
    for (size_t i = 0; i < tmpl->buffer_count; i++) {
        int64_t count;
        if (tmpl->buffers[i].role != ST_BUFFER_TEMP)
            continue;
        st_code code = within(bindings, tmpl->buffers[i].count, 0, 0, INT64_MAX / 16,
                              tmpl->buffers[i].name, 0, &count, error);
        if (code != ST_OK)
            return code;
        out->temp_counts[i] = (uint64_t)count;
    }
    return ST_OK;
}

static st_code make_step(const st_bindings *bindings, const st_step *step, int kernel, st_plan *plan,
                         st_error *error)
{
    st_plan_step *out = &plan->steps[plan->step_count];
    if (step->kind == ST_STEP_ZERO) {
        const st_buffer *buffer = &bindings->tmpl->buffers[step->buffer];
        int64_t count;
        st_code code = within(bindings, buffer->count, 0, 0, INT64_MAX / 16, buffer->name, step->line,
                              &count, error);
        if (code != ST_OK)
            return code;
        size_t size = st_type_of(st_buffer_type(bindings, buffer))->size;
        *out = (st_plan_step){
            .is_zero = true, .buffer = step->buffer, .zero_bytes = (uint64_t)count * size};
        plan->step_count++;
        return ST_OK;
    }
    plan->step_count++; // counted first: what was allocated in it is released with the plan
    st_code code = make_launch(bindings, step, kernel, out, error);
    if (code == ST_OK && (out->grid[0] == 0 || out->grid[1] == 0 || out->grid[2] == 0)) {
        st_free(out->arguments); // an empty grid is no launch
        *out = (st_plan_step){0};
        plan->step_count--;
    }
    return code;
}

st_code st_plan_make(const st_bindings *bindings, const st_step *steps, size_t step_count,
                     const st_plan_kernels *kernels, st_plan *out, st_error *error)
{
    *out = (st_plan){0};
    out->steps = st_calloc(step_count, sizeof *out->steps);
    st_code code = out->steps ? make_temps(bindings, out, error) : st_fail_memory(error, "making a plan");
    for (size_t i = 0, launch = 0; i < step_count && code == ST_OK; i++) {
        bool is_launch = steps[i].kind == ST_STEP_LAUNCH, used;
        size_t at = launch;
        launch += is_launch;
        code = applies(bindings, steps[i].when, &used, error);
        if (code == ST_OK && used && is_launch && kernels->launch_kernel[at] < 0)
            code = st_fail(error, ST_FAILED, "let `when` depend on what is known before compiling",
                           "%s:%d: this launch was not planned", bindings->tmpl->path, steps[i].line);
        if (code == ST_OK && used)
            code = make_step(bindings, &steps[i], is_launch ? kernels->launch_kernel[at] : 0, out, error);
    }
    if (code != ST_OK)
        st_plan_release(out);
    return code;
}

st_code st_plan_check_steps(const st_bindings *bindings, const st_plan *plan, st_error *error)
{
    const st_template *tmpl = bindings->tmpl;
    for (size_t i = 0; i < tmpl->buffer_count && !plan->step_count; i++) {
        const st_buffer *buffer = &tmpl->buffers[i];
        int64_t count = 0;
        if (buffer->role != ST_BUFFER_OUTPUT && buffer->role != ST_BUFFER_INOUT)
            continue;
        st_code code = within(bindings, buffer->count, 0, 0, INT64_MAX / 16, buffer->name, 0, &count, error);
        if (code == ST_OK && count > 0)
            code = st_fail(error, ST_NOTHING, "let the grid have a block along each axis",
                           "%s: it launches nothing, though %s has %lld element%s to be written", tmpl->path, buffer->name,
                           (long long)count, st_plural(count));
        if (code != ST_OK)
            return code;
    }
    return ST_OK;
}

st_code st_plan_compares(const st_bindings *bindings, st_plan_compare **out, size_t *count,
                         st_error *error)
{
    const st_template *tmpl = bindings->tmpl;
    *count = 0;
    *out = st_calloc(tmpl->compare_count + tmpl->buffer_count, sizeof **out);
    if (!*out)
        return st_fail_memory(error, "making comparisons");
    st_code code = ST_OK;
    for (size_t i = 0; i < tmpl->compare_count && code == ST_OK; i++) {
        const st_compare *from = &tmpl->compares[i];
        bool used;
        code = applies(bindings, from->when, &used, error);
        if (code != ST_OK || !used)
            continue;
        st_plan_compare *to = &(*out)[(*count)++];
        *to = (st_plan_compare){.output = from->output,
                                .expected = tmpl->reference_count ? from->expected : -1,
                                .magnitude = from->magnitude,
                                .bounded = from->height != NULL,
                                .tolerance = from->tolerance};
        if (from->height)
            code = within(bindings, from->height, 0, 0, INT64_MAX, "height", 0, &to->height, error);
    }
    // A template that says nothing of comparing: every output must equal the default's.
    for (size_t i = 0; i < tmpl->buffer_count && !tmpl->compare_count; i++)
        if (tmpl->buffers[i].role == ST_BUFFER_OUTPUT || tmpl->buffers[i].role == ST_BUFFER_INOUT)
            (*out)[(*count)++] = (st_plan_compare){
                .output = (int)i, .expected = -1, .magnitude = -1, .tolerance = 1e-5};
    if (code != ST_OK) {
        st_free(*out);
        *out = NULL;
    }
    return code;
}
