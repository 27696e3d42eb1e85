// SPDX-License-Identifier: Apache-2.0
// The winner again on sizes that break kernels (PRIMITIVES): around warps, blocks and tiles, primes, nothing
// at all, each at aligned and at misaligned bases. Invariant: the worker is left at some other problem.
#include "tuner/base/memory.h"
#include "tuner/run_internal.h"

#include <string.h>

enum { SIZES_MOST = 40 };
// Where other axes multiply a size, a check must not take longer than the tuning: what is larger than this and
// than the problem itself is left out.
static const uint64_t bytes_most = 64u << 20;

// The value of a let of this name ("tile"), or 0.
static int64_t let_value(const st_bindings *bindings, const char *name)
{
    int slot = st_scope_find(&bindings->tmpl->scope, name);
    for (size_t i = 0; i < bindings->tmpl->let_count; i++)
        if (bindings->tmpl->lets[i].slot == slot && slot >= 0)
            return bindings->values[slot];
    return 0;
}

static size_t add_size(int64_t *sizes, size_t count, int64_t size)
{
    for (size_t i = 0; i < count; i++)
        if (sizes[i] == size)
            return count;
    if (size < 0 || count == SIZES_MOST)
        return count;
    sizes[count] = size;
    return count + 1;
}

static st_code breaking_sizes(st_run *run, const run_problem *problem, const run_candidate *candidate,
                              int64_t *sizes, size_t *count, st_error *error)
{
    static const int64_t always[] = {0, 1, 31, 32, 33, 1021, 65537, 1000003};
    st_bindings bindings = {0};
    int blocks = candidate->first.blocks_per_sm;
    *count = 0;
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        *count = add_size(sizes, *count, always[i]);
    st_code code = st_bindings_make(run->tmpl, &problem->problem, &candidate->config, &run->device,
                                    &bindings, error);
    if (code == ST_OK)
        code = st_bindings_late(&bindings, blocks > 0 ? blocks : 1, error);
    if (code != ST_OK)
        return code;
    int64_t tile = let_value(&bindings, "tile"), block = candidate->first_block;
    for (int64_t off = -1; off <= 1; off++) {
        if (block > 1)
            *count = add_size(sizes, *count, block + off);
        if (tile > 1)
            *count = add_size(sizes, *count, tile + off);
    }
    if (tile > 1)
        *count = add_size(sizes, *count, 3 * tile + 4);
    st_bindings_release(&bindings);
    return ST_OK;
}

static int size_axis(const st_template *tmpl)
{
    for (size_t i = 0; i < tmpl->axis_count; i++)
        if (tmpl->axes[i].kind == ST_AXIS_SIZE)
            return (int)i;
    return -1;
}

static st_code bytes_of(st_run *run, const st_problem *problem, const st_config *config, uint64_t *bytes,
                        st_error *error)
{
    st_bindings bindings = {0};
    st_plan_buffer *buffers = NULL;
    *bytes = 0;
    st_code code = st_bindings_make(run->tmpl, problem, config, &run->device, &bindings, error);
    if (code == ST_OK)
        code = st_plan_buffers(&bindings, 0, &buffers, error);
    for (size_t i = 0; i < run->tmpl->buffer_count && code == ST_OK; i++)
        *bytes += buffers[i].count * st_type_of(buffers[i].type)->size; // a size has at most 48 bits here
    st_free(buffers);
    st_bindings_release(&bindings);
    return code;
}

static st_code check_one(st_run *run, const st_problem *problem, uint32_t misalign,
                         run_candidate *candidate, char **detail, st_error *error)
{
    bool too_big;
    st_code code = run_set_problem(run, run->timing, problem, misalign, &too_big, error);
    candidate->loaded = false; // the worker left its candidates with the problem before
    if (code != ST_OK || too_big)
        return code;
    for (int data = 0; data < 2 && code == ST_OK && candidate->stage != STAGE_DONE; data++)
        code = run_verify(run, problem, candidate, 0, data ? ST_DATA_RANDOM : ST_DATA_EXACT, 0, detail,
                          error);
    if (code == ST_OK && candidate->stage == STAGE_DONE && *detail) {
        st_text text;
        st_text_init(&text);
        st_problem_text(run->tmpl, problem, &text);
        char *where = st_format("at %s%s: %s", st_text_string(&text), misalign ? ", off alignment" : "",
                                *detail);
        st_text_release(&text);
        if (where) {
            st_free(*detail);
            *detail = where;
        }
    }
    return code;
}

st_code run_check_winner(st_run *run, run_problem *problem, run_candidate *candidate, bool *right,
                         char **detail, st_error *error)
{
    int64_t sizes[SIZES_MOST];
    size_t count = 0;
    int axis = size_axis(run->tmpl);
    *right = true;
    if (axis < 0 || !run->has_reference)
        return ST_OK; // without a reference there is nothing to compare other sizes with
    st_code code = breaking_sizes(run, problem, candidate, sizes, &count, error);
    candidate->stage = STAGE_NEW;
    for (size_t i = 0; i < count && code == ST_OK && candidate->stage == STAGE_NEW; i++) {
        st_problem other = problem->problem;
        other.value[axis] = sizes[i];
        uint64_t bytes, own;
        code = bytes_of(run, &other, &candidate->config, &bytes, error);
        if (code == ST_OK)
            code = bytes_of(run, &problem->problem, &candidate->config, &own, error);
        if (code != ST_OK || (bytes > bytes_most && bytes > own))
            continue;
        run_progress(run, problem, "check", i, count);
        for (uint32_t misalign = 0; misalign < 2 && code == ST_OK && candidate->stage == STAGE_NEW; misalign++)
            code = check_one(run, &other, misalign, candidate, detail, error);
    }
    *right = candidate->stage == STAGE_NEW;
    candidate->stage = STAGE_DONE;
    candidate->loaded = false;
    return code;
}
