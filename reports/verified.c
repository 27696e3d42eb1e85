// SPDX-License-Identifier: Apache-2.0
// Judging a header's rows. Invariants: 1. the header's time is held against each side by paired samples and one
// threshold; 2. a row is worse when it is worse than any side, cannot be told when that holds of any, better when it is
// better than one and worse than none; 3. the nvrtc side compares compilers and takes no part in the verdict of a row,
// but where it stands for a side that has its code.
#include "reports/verified.h"

#include "tuner/base/memory.h"

#include <math.h>
#include <string.h>

enum { RESAMPLES = 1000, SEED = 1 };

const char *st_verified_kind_name(st_verified_kind kind)
{
    static const char *const names[ST_VERIFIED_KINDS] = {"header", "nvrtc", "default", "store"};
    return names[kind];
}

void st_verified_init(st_verified *made)
{
    *made = (st_verified){.path = ""};
}

void st_verified_release(st_verified *made)
{
    for (size_t i = 0; i < made->count; i++) {
        st_verified_row *row = &made->rows[i];
        for (int k = 0; k < ST_VERIFIED_KINDS; k++) {
            st_free(row->sides[k].configuration);
            st_free(row->sides[k].detail);
            st_free(row->sides[k].samples_ns);
        }
        st_free(row->function);
        st_free(row->problem);
        st_free(row->recorded);
    }
    st_free(made->rows);
    st_verified_init(made);
}

st_verified_row *st_verified_add(st_verified *made)
{
    st_verified_row *rows = st_grow(made->rows, &made->capacity, made->count + 1, sizeof *rows);
    if (!rows)
        return NULL;
    made->rows = rows;
    st_verified_row *row = &rows[made->count++];
    *row = (st_verified_row){.reason = ""};
    for (int k = 0; k < ST_VERIFIED_KINDS; k++)
        row->sides[k] = (st_verified_side){.as = -1, .median_ns = NAN, .registers = -1, .spill_bytes = -1,
                                           .local_bytes = -1, .blocks_per_sm = -1, .change = ST_CHANGE_UNKNOWN,
                                           .ratio = {NAN, NAN, NAN}, .reason = ""};
    return row;
}

// --- judging -------------------------------------------------------------------------------------------------------

static bool is_right(const st_verified_side *side)
{
    return side->present && strcmp(side->outcome, "correct") == 0;
}

static void judge_samples(const st_verified *made, const st_verified_row *row, const st_verified_side *with,
                          st_verified_side *side)
{
    const st_verified_side *header = &row->sides[ST_VERIFIED_HEADER];
    size_t count = header->count < with->count ? header->count : with->count;
    if (count < ST_COMPARE_SAMPLES_LEAST) {
        side->reason = "there are fewer than 6 samples on a side";
        return;
    }
    side->ratio = st_ratio_interval(header->samples_ns, with->samples_ns, count, RESAMPLES, SEED);
    if (row->emulated) {
        side->reason = "times of an emulated device mean nothing";
        return;
    }
    side->change = st_change_of(side->ratio, made->threshold);
    if (side->change == ST_CHANGE_UNKNOWN)
        side->reason = side->ratio.low > 1 || side->ratio.high < 1 ? "the gap is too small for noise to be ruled out"
                                                                   : "the samples scatter too much";
}

// False: there is no such side.
static bool judge_side(const st_verified *made, st_verified_row *row, int kind)
{
    st_verified_side *side = &row->sides[kind];
    const st_verified_side *with = side;
    if (!side->present && side->as < 0)
        return false;
    if (!side->present && side->as == ST_VERIFIED_HEADER) {
        side->change = ST_CHANGE_SAME;
        side->ratio = (st_interval){1, 1, 1};
        side->reason = "it is the same configuration";
        return true;
    }
    if (!side->present)
        with = &row->sides[side->as];
    if (!is_right(with)) { // a time of what is wrong means nothing, and nobody would take it instead
        side->reason = "it is not right here, so its time means nothing";
        return true;
    }
    judge_samples(made, row, with, side);
    return true;
}

static void conclude(st_verified_row *row)
{
    bool any[ST_CHANGES] = {false};
    for (int kind = ST_VERIFIED_DEFAULT; kind <= ST_VERIFIED_STORE; kind++) {
        const st_verified_side *side = &row->sides[kind];
        if (!side->present && side->as < 0)
            continue;
        // What is not right is no alternative.
        const st_verified_side *with = side->present ? side : &row->sides[side->as];
        if (is_right(with))
            any[side->change] = true;
    }
    row->verdict = any[ST_CHANGE_WORSE]     ? ST_CHANGE_WORSE
                   : any[ST_CHANGE_UNKNOWN] ? ST_CHANGE_UNKNOWN
                   : any[ST_CHANGE_BETTER]  ? ST_CHANGE_BETTER
                   : any[ST_CHANGE_SAME]    ? ST_CHANGE_SAME
                                            : ST_CHANGE_UNKNOWN;
    if (row->verdict == ST_CHANGE_UNKNOWN && !any[ST_CHANGE_UNKNOWN])
        row->reason = "there is nothing right to compare it with";
}

st_code st_verified_judge(st_verified *made, st_verified_row *row, st_error *error)
{
    unsigned long failed = st_allocations_failed(); // an interval without memory is NaN, and would not be told
    const st_verified_side *header = &row->sides[ST_VERIFIED_HEADER];
    row->broken = !row->too_big && !is_right(header);
    if (row->too_big) {
        row->verdict = ST_CHANGE_UNKNOWN;
        row->reason = "it does not fit the free memory of this device";
    } else if (row->broken) {
        row->verdict = ST_CHANGE_WORSE;
        row->reason = strcmp(header->outcome, "wrong") == 0 ? "what it ships gives wrong answers here"
                                                            : "what it ships does not run here";
    } else {
        for (int kind = ST_VERIFIED_NVRTC; kind < ST_VERIFIED_KINDS; kind++)
            (void)judge_side(made, row, kind);
        conclude(row);
    }
    if (st_allocations_failed() != failed)
        return st_fail_memory(error, "comparing");
    made->counts[row->verdict]++;
    made->broken += row->broken;
    return ST_OK;
}
