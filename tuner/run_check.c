// SPDX-License-Identifier: Apache-2.0
// The winner again on sizes that break kernels (PRIMITIVES): around warps, blocks and tiles, primes, nothing
// at all, and so many tiles that what adds up tiles needs a second round, each at aligned and at misaligned bases.
// Random data run over the temporary storage that exact data left: totals and flags of another input are the
// garbage that a caller's second call finds. Invariant: the worker is left at some other problem.
#include "tuner/base/memory.h"
#include "tuner/gpu/emu.h"
#include "tuner/run_internal.h"

#include <string.h>

enum { SIZES_MOST = 40, SMALL_SIZE = 3 };
// One block adds up what 1024 threads of 4 rows of tiles left; the next tile is a carry's.
enum { MANY_TILES = 4097 };
// Where other axes multiply a size, a check must not take longer than the tuning: what is larger than this and
// than the problem itself is checked with small values of the others, or left out.
static const uint64_t bytes_most = 2ull << 30, bytes_most_of_many = 16u << 20, bytes_most_emulated = 1u << 20;

// The value of a let of this name ("tile"), or 0.
static int64_t let_value(const st_bindings *bindings, const char *name)
{
    int slot = st_scope_find(&bindings->tmpl->scope, name);
    for (size_t i = 0; i < bindings->tmpl->let_count; i++)
        if (bindings->tmpl->lets[i].slot == slot && slot >= 0)
            return bindings->values[slot];
    return 0;
}

// The emulated device computes some million elements a second; where it sees every access, some ten thousand.
static int64_t elements_most(const st_run *run)
{
    return strcmp(run->options->backend, "emu") != 0 ? INT64_MAX : st_emu_checking() ? 66000 : 1100000;
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
    int blocks = candidate->main.blocks_per_sm;
    *count = 0;
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        *count = add_size(sizes, *count, always[i]);
    st_code code = st_bindings_make(run->tmpl, &problem->problem, &candidate->config, &run->device,
                                    &bindings, error);
    if (code == ST_OK)
        code = st_bindings_late(&bindings, blocks > 0 ? blocks : 1, error);
    if (code != ST_OK)
        return code;
    int64_t tile = let_value(&bindings, "tile"), block = candidate->main_block;
    for (int64_t off = -1; off <= 1; off++) {
        if (block > 1)
            *count = add_size(sizes, *count, block + off);
        if (tile > 1)
            *count = add_size(sizes, *count, tile + off);
    }
    if (tile > 1)
        *count = add_size(sizes, *count, 3 * tile + 4);
    if (tile > 1 && tile < INT64_MAX / MANY_TILES)
        *count = add_size(sizes, *count, MANY_TILES * tile - 1);
    st_bindings_release(&bindings);
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++)
        if (sizes[i] <= elements_most(run))
            sizes[kept++] = sizes[i];
    *count = kept;
    return ST_OK;
}

// The next axis of sizes that callers give, or -1.
static int size_axis(const st_template *tmpl, int before)
{
    for (size_t i = (size_t)(before + 1); i < tmpl->axis_count; i++)
        if (tmpl->axes[i].kind == ST_AXIS_SIZE && !tmpl->axes[i].data)
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
    st_data data = ST_DATA_EXACT;
    code = run_verify(run, problem, candidate, 0, data, 0, detail, error);
    if (code == ST_OK && candidate->stage != STAGE_DONE) {
        data = ST_DATA_RANDOM;
        code = run_verify(run, problem, candidate, 0, data, 0, detail, error);
    }
    if (code == ST_OK && candidate->stage == STAGE_DONE && *detail) {
        st_text text;
        st_text_init(&text);
        st_problem_text(run->tmpl, problem, &text);
        const char *moved = misalign == 0                   ? ""
                            : misalign & ST_MISALIGN_INPUTS  ? ", inputs off alignment"
                            : misalign & ST_MISALIGN_OUTPUTS ? ", outputs off alignment"
                                                             : ", off alignment";
        char *where = st_format("at %s%s%s: %s", st_text_string(&text), moved,
                                data == ST_DATA_RANDOM ? ", after a call with other data" : "", *detail);
        st_text_release(&text);
        if (where) {
            st_free(*detail);
            *detail = where;
        }
    }
    return code;
}

static uint64_t bytes_limit(const st_run *run)
{
    bool many = size_axis(run->tmpl, size_axis(run->tmpl, -1)) >= 0;
    return !many                                         ? bytes_most
           : strcmp(run->options->backend, "emu") == 0 ? bytes_most_emulated
                                                         : bytes_most_of_many;
}

// Is the problem one that makes sense and small enough?
static st_code is_checked(st_run *run, const run_problem *problem, const st_problem *other,
                          const st_config *config, bool *checked, st_error *error)
{
    uint64_t bytes, own;
    *checked = false;
    if (st_problem_broken_rule(run->tmpl, other, &run->device)) // its other expressions may have no value
        return ST_OK;
    st_code code = bytes_of(run, other, config, &bytes, error);
    if (code == ST_OK)
        code = bytes_of(run, &problem->problem, config, &own, error);
    *checked = code == ST_OK && (bytes <= bytes_limit(run) || bytes <= own);
    return code;
}

// The problem with one size changed; where that is too much, with the other sizes small.
static st_code check_size(st_run *run, const run_problem *problem, int axis, int64_t size,
                          run_candidate *candidate, char **detail, st_error *error)
{
    st_problem other = problem->problem;
    bool checked = false;
    other.value[axis] = size;
    st_code code = is_checked(run, problem, &other, &candidate->config, &checked, error);
    if (code == ST_OK && !checked) {
        for (int i = size_axis(run->tmpl, -1); i >= 0; i = size_axis(run->tmpl, i))
            if (i != axis && other.value[i] > SMALL_SIZE)
                other.value[i] = SMALL_SIZE;
        code = is_checked(run, problem, &other, &candidate->config, &checked, error);
    }
    // Each side alone only where the plan asks for alignments: others do the same whatever they are.
    static const uint32_t ways[] = {0, 1, ST_MISALIGN_INPUTS | 1, ST_MISALIGN_OUTPUTS | 1};
    size_t count = st_plan_asks_alignment(run->tmpl) ? 4 : 2;
    for (size_t i = 0; checked && i < count && code == ST_OK && candidate->stage == STAGE_NEW; i++)
        code = check_one(run, &other, ways[i], candidate, detail, error);
    return code;
}

st_code run_check_winner(st_run *run, run_problem *problem, run_candidate *candidate, bool *right,
                         char **detail, st_error *error)
{
    int64_t sizes[SIZES_MOST];
    size_t count = 0;
    *right = true;
    if (size_axis(run->tmpl, -1) < 0 || !run->has_reference)
        return ST_OK; // without a reference there is nothing to compare other sizes with
    st_code code = breaking_sizes(run, problem, candidate, sizes, &count, error);
    candidate->stage = STAGE_NEW;
    run->checked = candidate;
    for (int axis = size_axis(run->tmpl, -1); axis >= 0; axis = size_axis(run->tmpl, axis))
        for (size_t i = 0; i < count && code == ST_OK && candidate->stage == STAGE_NEW; i++) {
            run_progress(run, problem, "check", i, count);
            code = check_size(run, problem, axis, sizes[i], candidate, detail, error);
        }
    run->checked = NULL;
    *right = candidate->stage == STAGE_NEW;
    candidate->stage = STAGE_DONE;
    candidate->loaded = false;
    return code;
}
