// SPDX-License-Identifier: Apache-2.0
// Invariants: 1. every figure comes from stored rows; 2. values stand in the order of the template; 3. unknown
// is "-", never 0; 4. times of one table are on one scale (base/phases.h).
#include "tuner/cli/vary_table.h"

#include "cupti/counters.h"
#include "reports/format.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct timed {
    char *problem;
    st_config config;
    double ns, occupancy; // ns on the scale of the finals; occupancy NaN unknown
    double median_ns;     // as measured
    int registers;        // -1 unknown
    char id[ST_HASH_TEXT];
} timed;

typedef struct table {
    st_store *store;
    const st_template *tmpl;
    st_text *out;
    timed *rows; // of one problem together
    size_t count, capacity;
} table;

static st_code take(void *context, const st_answer *answer, st_error *error)
{
    table *all = context;
    timed made = {.ns = answer->comparable_ns, .median_ns = answer->median_ns, .occupancy = answer->occupancy, .registers = answer->registers};
    bool usable = strcmp(answer->outcome, "correct") == 0 && !isnan(answer->comparable_ns) &&
                  st_config_parse(all->tmpl, answer->configuration, &made.config, NULL) == ST_OK;
    if (!usable)
        return ST_OK;
    timed *rows = st_grow(all->rows, &all->capacity, all->count + 1, sizeof *rows);
    if (!rows || !(made.problem = st_strdup(answer->problem))) {
        all->rows = rows ? rows : all->rows;
        return st_fail_memory(error, "reading a session");
    }
    all->rows = rows;
    snprintf(made.id, sizeof made.id, "%s", answer->candidate_id);
    all->rows[all->count++] = made;
    return ST_OK;
}

// --- what the best of a value waits for ------------------------------------------------------------------------

typedef struct stalls {
    char name[64];
    double most;
} stalls;

static st_code take_stall(void *context, const char *kind, const char *name, double value, st_error *error)
{
    (void)error;
    static const char start[] = "stall.";
    stalls *found = context;
    if (strcmp(kind, "pc") == 0 && strncmp(name, start, sizeof start - 1) == 0 &&
        strcmp(name, "stall.selected") != 0 && value > found->most) {
        found->most = value;
        snprintf(found->name, sizeof found->name, "%s", name + sizeof start - 1);
    }
    return ST_OK;
}

static st_code add_stall(const table *all, const timed *row, st_error *error)
{
    stalls found = {.most = 0};
    int64_t key;
    st_code code = st_store_candidate_key(all->store, row->id, &key, error);
    if (code == ST_OK)
        code = st_store_counters_of(all->store, key, take_stall, &found, error);
    if (code != ST_OK)
        return code;
    const st_stall *known = found.name[0] ? st_stall_find(found.name) : NULL;
    st_text_add(all->out, known ? known->waits_for : found.name[0] ? found.name : "no counters");
    if (found.name[0]) {
        st_text_add(all->out, " (");
        st_report_share(all->out, found.most);
        st_text_add(all->out, " of samples)");
    }
    return ST_OK;
}

// --- rows --------------------------------------------------------------------------------------------------------

static st_code add_row(const table *all, const char *value, const timed *row, st_error *error)
{
    st_text time;
    st_text_init(&time);
    st_report_comparable(&time, row->median_ns, row->ns);
    st_text_add(all->out, "  ");
    st_report_left(all->out, value, 12);
    st_text_add(all->out, " ");
    st_report_right(all->out, st_text_string(&time), 10);
    all->out->failed = all->out->failed || time.failed;
    st_text_release(&time);
    if (row->registers >= 0)
        st_text_addf(all->out, "  %4d", row->registers);
    else
        st_text_add(all->out, "     -");
    if (!isnan(row->occupancy))
        st_text_addf(all->out, "  %4.0f %%  ", row->occupancy * 100);
    else
        st_text_add(all->out, "       -  ");
    st_code code = add_stall(all, row, error);
    st_text_add(all->out, "\n");
    return code;
}

// One table: the best of each value of a parameter among rows [first, end), which are of one problem.
static st_code add_table(const table *all, int parameter, size_t first, size_t end, st_error *error)
{
    const st_parameter *of = &all->tmpl->parameters[parameter];
    st_text_add(all->out, "\n");
    st_report_problem(all->out, all->rows[first].problem);
    st_text_addf(all->out, ": the best with each %s\n  %-12s %10s  %4s  %6s  %s\n", of->name, of->name, "time",
                 "regs", "occup.", "waits for");
    st_code code = ST_OK;
    bool shifted = false;
    for (size_t v = 0; v < of->value_count && code == ST_OK; v++) {
        const timed *best = NULL;
        for (size_t i = first; i < end; i++)
            if (all->rows[i].config.value[parameter] == of->values[v].number &&
                (!best || all->rows[i].ns < best->ns))
                best = &all->rows[i];
        st_text value;
        st_text_init(&value);
        st_parameter_value_text(all->tmpl, parameter, of->values[v].number, &value);
        shifted = shifted || (best && st_report_is_shifted(best->median_ns, best->ns));
        if (best) // a value that --set or a `where` excludes is no row
            code = add_row(all, st_text_string(&value), best, error);
        all->out->failed = all->out->failed || value.failed;
        st_text_release(&value);
    }
    if (shifted)
        st_text_addf(all->out, "  %s\n", st_report_shifted);
    return code;
}

static size_t moved_parameters(const table *all, size_t first, size_t end)
{
    size_t moved = 0;
    for (size_t p = 0; p < all->tmpl->parameter_count; p++)
        for (size_t i = first + 1; i < end; i++)
            if (all->rows[i].config.value[p] != all->rows[first].config.value[p]) {
                moved++;
                break;
            }
    return moved;
}

st_code st_vary_tables(st_store *store, const st_template *tmpl, const char *const *vary, size_t vary_count,
                       const char *session_id, const char *cache, st_text *out, st_error *error)
{
    table all = {.store = store, .tmpl = tmpl, .out = out};
    st_query query = {.family = tmpl->family, .session = session_id, .cache = cache, .cc = -1, .sm_count = -1,
                      .n = -1, .since_ms = -1};
    st_code code = st_store_query(store, &query, take, &all, error);
    for (size_t first = 0, end; first < all.count && code == ST_OK; first = end) {
        end = first + 1;
        while (end < all.count && strcmp(all.rows[end].problem, all.rows[first].problem) == 0)
            end++;
        bool alone = vary_count == 1 && moved_parameters(&all, first, end) <= 1; // the summary's table
        for (size_t v = 0; v < vary_count && !alone && code == ST_OK; v++) {
            int parameter = st_template_parameter(tmpl, vary[v]);
            if (parameter >= 0)
                code = add_table(&all, parameter, first, end, error);
        }
    }
    if (code == ST_OK && out->failed)
        code = st_fail_memory(error, "printing a table");
    for (size_t i = 0; i < all.count; i++)
        st_free(all.rows[i].problem);
    st_free(all.rows);
    return code;
}
