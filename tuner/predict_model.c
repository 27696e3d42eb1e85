// SPDX-License-Identifier: Apache-2.0
// The model. Each launch of the plan takes
//   a gap before it (less where it may begin before its predecessor ends), and the longer of
//   - its traffic over the memory's speed, as far as enough bytes are in flight to reach it (Little's law), and
//   - the memory's latency, once for each round in which its threads wait for loads.
// Traffic: the buffers among its arguments; but a launch of a few threads that is handed what many threads of another
// launch go through looks at a few places of it only. In flight: the integers among the parameters whose role is `mlp` multiply
// the loads that a thread has begun, as far as its registers and the block's shared memory can hold them.
// The constants are of no device in particular; docs/builds.md says how far the model can be trusted.
#include "tuner/predict_model.h"

#include "tuner/base/memory.h"
#include "tuner/plan.h"

#include <math.h>
#include <string.h>

static const double first_gap = 2600, next_gap = 1300, dependent_gap = 700, latency = 900; // ns
static const double reached = 0.93;            // of the data sheet's bandwidth, at best
static const double few = 16;                  // times fewer threads than another launch has: it only looks
static const double sm_speed = 64;             // bytes a ns that one SM takes at most
static const double own_registers = 24;        // of a thread, for addresses and counters

// The product of the integers of the mlp parameters.
static double loads_of(const st_template *tmpl, const st_config *config)
{
    double loads = 1;
    for (size_t i = 0; i < tmpl->parameter_count; i++) {
        const st_parameter *parameter = &tmpl->parameters[i];
        bool is_number = parameter->value_count && !parameter->values[0].word;
        if (is_number && (parameter->roles & ST_ROLE_MLP) && config->value[i] > 1)
            loads *= (double)config->value[i];
    }
    return loads;
}

typedef struct launch {
    double blocks, threads, smem; // of the grid, of a block, bytes of a block
    double traffic;               // bytes
    bool dependent;
} launch;

static double threads_of(const st_plan_step *step)
{
    return (double)step->grid[0] * step->grid[1] * step->grid[2] * step->block[0] * step->block[1] * step->block[2];
}

static bool takes(const st_plan_step *step, int buffer)
{
    for (uint32_t i = 0; i < step->argument_count; i++)
        if (step->arguments[i].buffer == buffer)
            return true;
    return false;
}

static bool only_looks(const st_plan *plan, const st_plan_step *step, int buffer)
{
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const st_plan_step *other = &plan->steps[i];
        if (!other->is_zero && takes(other, buffer) && threads_of(other) > few * threads_of(step))
            return true;
    }
    return false;
}

static double traffic_of(const st_plan_step *step, const st_plan *plan, const st_plan_buffer *buffers)
{
    double bytes = 0;
    for (uint32_t i = 0; i < step->argument_count; i++) {
        int buffer = step->arguments[i].buffer;
        if (buffer < 0 || only_looks(plan, step, buffer))
            continue;
        double count = (double)(plan->temp_counts[buffer] ? plan->temp_counts[buffer] : buffers[buffer].count);
        bytes += count * (double)st_type_of(buffers[buffer].type)->size;
    }
    return bytes;
}

static double time_of(const launch *it, const st_template *tmpl, const st_config *config, const st_device_facts *device,
                      const st_static_facts *facts, double element)
{
    double sms = (double)device->sm_count;
    double held = fmin(facts->blocks_per_sm, ceil(it->blocks / sms));
    double room = fmax(facts->registers > 0 ? (facts->registers - own_registers) * 4 : 128, 8);
    double a_thread = fmin(loads_of(tmpl, config) * element, room);
    double a_block = fmax(it->threads * a_thread, it->smem > 8192 ? it->smem : 0);
    double in_flight = held * a_block * fmin(it->blocks, sms * held) / (sms * held); // of an SM, on average
    double of_sm = it->traffic / fmin(sms, it->blocks);
    double rounds = fmax(1, of_sm / fmax(held * a_block, 1));
    double waves = ceil(it->blocks / (sms * facts->blocks_per_sm)), even = it->blocks / (sms * facts->blocks_per_sm);
    double tail = even > 1 ? waves / even : 1; // the last wave is not full
    double little = fmin(in_flight * sms / latency, sm_speed * fmin(sms, it->blocks)); // bytes a ns
    double speed = facts->bandwidth * reached;
    return fmax(it->traffic / fmin(speed, fmax(little, 1e-3)) * (1 + (tail - 1) * 0.5), rounds * latency);
}

static double add_steps(const st_template *tmpl, const st_config *config, const st_plan *plan,
                        const st_plan_buffer *buffers, const st_device_facts *device, const st_static_facts *facts,
                        double element)
{
    double ns = 0;
    size_t seen = 0;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const st_plan_step *step = &plan->steps[i];
        if (step->is_zero) {
            ns += seen++ ? next_gap : first_gap;
            ns += (double)step->zero_bytes / (facts->bandwidth * reached);
            continue;
        }
        launch it = {.blocks = (double)step->grid[0] * step->grid[1] * step->grid[2],
                     .threads = (double)step->block[0] * step->block[1] * step->block[2],
                     .smem = step->smem,
                     .dependent = step->dependent && device->cc >= 90};
        if (it.blocks < 1)
            continue;
        it.traffic = traffic_of(step, plan, buffers);
        ns += !seen++ ? first_gap : it.dependent ? dependent_gap : next_gap;
        ns += time_of(&it, tmpl, config, device, facts, element);
    }
    return ns;
}

st_code st_predict_ns(const st_template *tmpl, const st_problem *problem, const st_config *config,
                      const st_device_facts *device, const st_static_facts *facts, double *ns, st_error *error)
{
    st_bindings bindings = {0};
    st_plan_buffer *buffers = NULL;
    st_plan_kernels kernels = {0};
    st_plan plan = {0};
    char *names[64];
    const st_type *type = st_problem_type(tmpl, problem);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        names[i] = (char *)(uintptr_t)"kernel"; // launches are told apart by their steps
    st_code code = st_bindings_make(tmpl, problem, config, device, &bindings, error);
    if (code == ST_OK)
        code = st_bindings_late(&bindings, facts->blocks_per_sm, error);
    if (code == ST_OK)
        code = st_plan_buffers(&bindings, 0, &buffers, error);
    if (code == ST_OK)
        code = st_plan_kernels_make(&bindings, tmpl->steps, tmpl->step_count, names, &kernels, error);
    if (code == ST_OK)
        code = st_plan_make(&bindings, tmpl->steps, tmpl->step_count, &kernels, &plan, error);
    if (code == ST_OK)
        *ns = add_steps(tmpl, config, &plan, buffers, device, facts, type ? (double)type->size : 4);
    st_plan_release(&plan);
    st_plan_kernels_release(&kernels);
    st_free(buffers);
    st_bindings_release(&bindings);
    return code;
}
