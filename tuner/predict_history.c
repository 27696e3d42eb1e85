// SPDX-License-Identifier: Apache-2.0
// What was measured, and how a choice without it would have done. Invariants: 1. predicting a device looks at none of
// its own times; 2. it chooses among what was measured there, so that the loss is a ratio of two measured times.
#include "tuner/predict_internal.h"

#include "tuner/base/memory.h"
#include "tuner/gpu/device_class.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- loading -------------------------------------------------------------------------------------------------------

typedef struct loading {
    const st_template *tmpl;
    st_measured *out;
} loading;

static size_t device_of(st_measured *to, const st_answer *answer)
{
    for (size_t i = 0; i < to->device_count; i++)
        if (strcmp(to->devices[i].uuid, answer->device_uuid) == 0)
            return i;
    st_measured_device *grown = st_grow(to->devices, &to->device_capacity, to->device_count + 1, sizeof *grown);
    if (!grown)
        return SIZE_MAX;
    to->devices = grown;
    st_measured_device *made = &grown[to->device_count];
    *made = (st_measured_device){.device_class = {answer->cc, answer->sm_count}, .memory_bytes = answer->memory_bytes};
    snprintf(made->uuid, sizeof made->uuid, "%s", answer->device_uuid);
    snprintf(made->name, sizeof made->name, "%s", answer->device_name);
    return to->device_count++;
}

static st_code take(void *context, const st_answer *answer, st_error *error)
{
    loading *at = context;
    st_measured *to = at->out;
    st_measured_row row = {.registers = answer->registers, .local_bytes = answer->local_bytes,
                           .blocks_per_sm = answer->blocks_per_sm, .ns = answer->comparable_ns,
                           .is_winner = answer->is_winner, .is_default = answer->is_default};
    if (!st_backend_is_hardware(answer->backend) || strcmp(answer->outcome, "correct") != 0 ||
        strcmp(answer->cache, "cold") != 0 || !(answer->comparable_ns > 0))
        return ST_OK;
    if (!st_text_equal(answer->template_hash, at->tmpl->hash) ||
        st_problem_parse(at->tmpl, answer->problem, &row.problem, NULL) != ST_OK ||
        st_config_parse(at->tmpl, answer->configuration, &row.config, NULL) != ST_OK) {
        to->stale++;
        return ST_OK;
    }
    row.device = device_of(to, answer);
    st_measured_row *grown =
        row.device == SIZE_MAX ? NULL : st_grow(to->rows, &to->capacity, to->count + 1, sizeof *grown);
    if (!grown)
        return st_fail_memory(error, "reading what was measured");
    to->rows = grown;
    grown[to->count++] = row;
    return ST_OK;
}

// By device and problem, the fastest first.
static int compare_rows(const void *left, const void *right, void *context)
{
    const st_template *tmpl = context;
    const st_measured_row *a = left, *b = right;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    for (size_t i = 0; i < tmpl->axis_count; i++)
        if (a->problem.value[i] != b->problem.value[i])
            return a->problem.value[i] < b->problem.value[i] ? -1 : 1;
    return (a->ns > b->ns) - (a->ns < b->ns);
}

st_code st_measured_load(st_store *store, const st_template *tmpl, st_measured *out, st_error *error)
{
    *out = (st_measured){.count = 0};
    loading at = {tmpl, out};
    st_query query = {.family = tmpl->family, .cc = -1, .sm_count = -1, .n = -1, .since_ms = -1, .cache = "cold"};
    st_code code = st_store_query(store, &query, take, &at, error);
    if (code == ST_OK && out->count)
        qsort_r(out->rows, out->count, sizeof *out->rows, compare_rows, (void *)(uintptr_t)tmpl);
    return code;
}

void st_measured_release(st_measured *measured)
{
    st_free(measured->devices);
    st_free(measured->rows);
    *measured = (st_measured){.count = 0};
}

// --- the ranking of another device -----------------------------------------------------------------------------------

static bool same_problem(const st_template *tmpl, const st_problem *a, const st_problem *b)
{
    return memcmp(a->value, b->value, tmpl->axis_count * sizeof a->value[0]) == 0;
}

predict_span predict_rows_of(const st_template *tmpl, const st_measured *measured, size_t device,
                             const st_problem *problem)
{
    predict_span span = {.first = 0, .count = 0};
    for (size_t i = 0; i < measured->count; i++) {
        if (measured->rows[i].device != device || !same_problem(tmpl, &measured->rows[i].problem, problem))
            continue;
        if (!span.count++)
            span.first = i;
    }
    return span;
}

// As headers order classes: the same compute capability first, then one of the generation, then older, then newer.
static int64_t class_distance(const st_device_class *known, const st_device_class *wanted)
{
    int64_t cc = wanted->cc - known->cc, sms = llabs((int64_t)wanted->sm_count - known->sm_count);
    if (wanted->cc / 10 != known->cc / 10)
        cc = cc < 0 ? 100000 - cc : 1000 + cc;
    cc = cc < 0 ? -2 * cc : 2 * cc + (cc > 0);
    return cc * 65536 + (sms < 65535 ? sms : 65535);
}

size_t predict_neighbour(const st_template *tmpl, const st_measured *measured, const st_device_class *wanted,
                         size_t except, const st_problem *problem)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < measured->device_count; i++) {
        const st_device_class *known = &measured->devices[i].device_class;
        // A second card of the class that is left out would tell what is to be predicted.
        bool is_left_out = except != SIZE_MAX && (i == except || class_distance(known, wanted) == 0);
        if (is_left_out || predict_rows_of(tmpl, measured, i, problem).count < PREDICT_ROWS_LEAST)
            continue;
        if (best == SIZE_MAX ||
            class_distance(known, wanted) < class_distance(&measured->devices[best].device_class, wanted))
            best = i;
    }
    return best;
}

double predict_bandwidth(const st_device_class *device_class, int64_t memory_bytes)
{
    const st_known_device *known = st_known_device_find(*device_class, memory_bytes);
    if (!known) // of the generation: better than none
        known = st_known_device_find((st_device_class){device_class->cc, -1}, -1);
    return known ? known->bandwidth_gbs : 1000;
}

st_code predict_facts(const st_device_class *device_class, int64_t memory_bytes, st_device_facts *out, st_error *error)
{
    st_code code = st_device_class_facts(*device_class, memory_bytes, out, error);
    if (code == ST_OK && out->sm_count < 1)
        out->sm_count = device_class->sm_count;
    return code;
}

double predict_by_neighbour(const st_template *tmpl, const st_measured *measured, size_t neighbour,
                            const st_problem *problem, const st_config *config, double model_ns)
{
    predict_span span = predict_rows_of(tmpl, measured, neighbour, problem);
    const st_measured_device *device = &measured->devices[neighbour];
    for (size_t i = span.first; i < span.first + span.count; i++) {
        const st_measured_row *row = &measured->rows[i];
        if (!st_config_equal(tmpl, &row->config, config))
            continue;
        st_device_facts facts;
        double there = NAN;
        const st_static_facts of = {row->registers, row->blocks_per_sm > 0 ? row->blocks_per_sm : 1,
                                    predict_bandwidth(&device->device_class, device->memory_bytes)};
        if (predict_facts(&device->device_class, device->memory_bytes, &facts, NULL) != ST_OK ||
            st_predict_ns(tmpl, problem, config, &facts, &of, &there, NULL) != ST_OK)
            return NAN;
        return row->ns * model_ns / there; // what the model says of the change, on what was measured
    }
    return NAN;
}

// --- leave one out -----------------------------------------------------------------------------------------------------

// What the device would be predicted to take, from anything but its own times. NaN: it cannot be launched there.
static double score(const st_template *tmpl, const st_measured *measured, const st_measured_row *row, size_t neighbour)
{
    const st_measured_device *device = &measured->devices[row->device];
    st_device_facts facts;
    double ns = NAN;
    const st_static_facts of = {row->registers, row->blocks_per_sm > 0 ? row->blocks_per_sm : 1,
                                predict_bandwidth(&device->device_class, device->memory_bytes)};
    if (predict_facts(&device->device_class, device->memory_bytes, &facts, NULL) != ST_OK ||
        st_predict_ns(tmpl, &row->problem, &row->config, &facts, &of, &ns, NULL) != ST_OK)
        return NAN;
    return neighbour == SIZE_MAX
               ? ns
               : predict_by_neighbour(tmpl, measured, neighbour, &row->problem, &row->config, ns);
}

static st_code leave_out(const st_template *tmpl, const st_measured *measured, predict_span span,
                         st_left_out_callback *callback, void *context, st_error *error)
{
    const st_measured_row *rows = &measured->rows[span.first], *best = rows, *chosen = NULL;
    const st_measured_device *device = &measured->devices[rows->device];
    size_t neighbour = predict_neighbour(tmpl, measured, &device->device_class, rows->device, &rows->problem);
    double standard_ns = NAN;
    st_config standard;
    st_config_default(tmpl, &standard);
    predict_entry *entries = st_calloc(span.count, sizeof *entries);
    if (!entries)
        return st_fail_memory(error, "leaving a device out");
    for (size_t i = 0; i < span.count; i++) {
        if (st_config_equal(tmpl, &rows[i].config, &standard))
            standard_ns = rows[i].ns;
        entries[i] = (predict_entry){&rows[i].config, rows[i].registers, NAN};
        if (rows[i].local_bytes <= PREDICT_LOCAL_MOST) // as predicting drops what spills
            entries[i].ns = score(tmpl, measured, &rows[i], neighbour);
    }
    size_t picked = predict_pick(tmpl, entries, span.count, neighbour != SIZE_MAX);
    chosen = picked == SIZE_MAX ? NULL : &rows[picked];
    st_free(entries);
    if (!chosen)
        return ST_OK;
    for (size_t i = 0; i < span.count; i++)
        if (rows[i].is_winner)
            best = best->is_winner && best->ns <= rows[i].ns ? best : &rows[i];
    const st_left_out row = {.device = device,
                             .by = neighbour == SIZE_MAX ? NULL : &measured->devices[neighbour],
                             .problem = &rows->problem,
                             .candidates = span.count,
                             .chosen = &chosen->config,
                             .best = &best->config,
                             .chosen_ns = chosen->ns,
                             .best_ns = best->ns,
                             .default_ns = standard_ns};
    return callback(context, &row, error);
}

st_code st_predict_left_out(const st_template *tmpl, const st_measured *measured, size_t least,
                            st_left_out_callback *callback, void *context, st_error *error)
{
    st_code code = ST_OK;
    for (size_t first = 0; first < measured->count && code == ST_OK;) {
        const st_measured_row *row = &measured->rows[first];
        predict_span span = {first, 0};
        while (first + span.count < measured->count && row[span.count].device == row->device &&
               same_problem(tmpl, &row[span.count].problem, &row->problem))
            span.count++;
        if (span.count >= least)
            code = leave_out(tmpl, measured, span, callback, context, error);
        first += span.count;
    }
    return code;
}
