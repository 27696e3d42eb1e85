// SPDX-License-Identifier: Apache-2.0
// A verified header for people and as JSON. Unknown is "-" or null, never 0.
#include "reports/compare_internal.h"
#include "reports/format.h"
#include "reports/verified.h"
#include "tuner/base/json.h"

#include <math.h>
#include <string.h>

enum { INDENT = 13, WIDTH = 100 };

// --- for people ----------------------------------------------------------------------------------------------------

void st_verified_text_head(const st_verified *made, st_text *out)
{
    st_text_addf(out, "%s: %s, chosen by the %s cache\n  %s (sm_%d, %d SMs)", made->path, made->family, made->cache,
                 made->device, made->cc, made->sm_count);
    if (made->driver[0])
        st_text_addf(out, ", driver %s", made->driver);
    st_text_addf(out, ", header by %s", made->shipped_by);
    if (strcmp(made->shipped_by, made->compiler) != 0)
        st_text_addf(out, ", default and store by %s", made->compiler);
    st_text_add(out, "\n");
}

static void add_resources(const st_verified_side *side, st_text *out)
{
    if (side->registers >= 0)
        st_text_addf(out, ", %d registers", side->registers);
    if (side->spill_bytes > 0)
        st_text_addf(out, ", %d bytes spilled", side->spill_bytes);
    else if (side->spill_bytes == 0)
        st_text_add(out, ", nothing spilled");
}

static void add_change(const st_verified_side *side, st_text *out)
{
    st_text_addf(out, "; header %s", st_change_name(side->change));
    if (!isnan(side->ratio.centre) && !(side->ratio.low == 1 && side->ratio.high == 1)) {
        st_text_add(out, ": ");
        compare_add_gaps(out, side->ratio);
    }
    if (side->reason[0])
        st_text_addf(out, ": %s", side->reason);
}

// Of a compiler's log the first line with an error; of all else the first line.
static void add_telling_line(const char *detail, st_text *out)
{
    const char *line = strstr(detail, "error");
    while (line && line > detail && line[-1] != '\n')
        line--;
    line = line ? line : detail;
    st_text_add_bytes(out, line, strcspn(line, "\n"));
}

static void add_side(const st_verified_row *row, int kind, st_text *out)
{
    const st_verified_side *side = &row->sides[kind];
    st_text words;
    if (!side->present && side->as < 0)
        return;
    st_text_init(&words);
    if (side->present && strcmp(side->outcome, "correct") != 0) {
        st_text_addf(&words, "%s: ", side->outcome);
        add_telling_line(side->detail ? side->detail : "-", &words);
    } else if (side->present) {
        st_report_time(&words, side->median_ns);
        add_resources(side, &words);
        if (kind != ST_VERIFIED_HEADER && !row->broken)
            add_change(side, &words);
        if (kind == ST_VERIFIED_HEADER || kind == ST_VERIFIED_STORE) // the others are known by their names
            st_text_addf(&words, " — %s", side->configuration);
    } else {
        static const char *const same[ST_VERIFIED_KINDS] = {"the header's configuration", "the header's configuration, by NVRTC",
                                                            "the default", ""};
        st_text_add(&words, same[side->as]);
        if (side->as != ST_VERIFIED_HEADER && !row->broken)
            add_change(side, &words);
    }
    st_text safe;
    st_text_init(&safe);
    st_report_safe(&safe, st_text_string(&words), false);
    st_report_row(out, st_verified_kind_name((st_verified_kind)kind), INDENT, st_text_string(&safe), WIDTH);
    out->failed |= words.failed || safe.failed;
    st_text_release(&safe);
    st_text_release(&words);
}

void st_verified_text_row(const st_verified_row *row, st_text *out)
{
    if (row->problem[0])
        st_report_problem(out, row->problem);
    else
        st_text_add(out, row->function);
    st_text_addf(out, "  %s", st_change_name(row->verdict));
    if (row->reason[0])
        st_text_addf(out, ": %s", row->reason);
    st_text_add(out, "\n");
    if (row->is_default)
        st_text_add(out, "  the header knows nothing that suits this device, and takes the default\n");
    else if (!row->exact)
        st_text_addf(out, "  borrowed from the row of sm_%d with %d SMs\n", row->cc, row->sm_count);
    if (row->predicted && !row->is_default)
        st_text_add(out, "  predicted: the header has no measurement behind it\n");
    if (row->recorded && !row->is_default) {
        st_text_add(out, "  recorded for ");
        st_report_problem(out, row->recorded);
        st_text_add(out, "\n");
    }
    for (int kind = 0; kind < ST_VERIFIED_KINDS && !row->too_big; kind++)
        add_side(row, kind, out);
}

void st_verified_text_foot(const st_verified *made, st_text *out)
{
    st_text_addf(out, "%zu verified: %zu better, %zu same, %zu worse, %zu cannot tell", made->count,
                 made->counts[ST_CHANGE_BETTER], made->counts[ST_CHANGE_SAME], made->counts[ST_CHANGE_WORSE],
                 made->counts[ST_CHANGE_UNKNOWN]);
    if (made->broken)
        st_text_addf(out, "; %zu of the worse ones do not work here", made->broken);
    st_text_add(out, "\n");
}

void st_verified_text(const st_verified *made, st_text *out)
{
    st_verified_text_head(made, out);
    for (size_t i = 0; i < made->count; i++)
        st_verified_text_row(&made->rows[i], out);
    st_verified_text_foot(made, out);
}

// --- as JSON ---------------------------------------------------------------------------------------------------------

static json_t *int_or_null(int value)
{
    return value < 0 ? json_null() : json_integer(value);
}

static json_t *side_json(const st_verified_row *row, int kind)
{
    const st_verified_side *side = &row->sides[kind];
    if (!side->present && side->as < 0)
        return json_null();
    json_t *object = json_object();
    bool judged = kind != ST_VERIFIED_HEADER;
    const char *as = side->as >= 0 ? st_verified_kind_name((st_verified_kind)side->as) : NULL;
    bool whole =
        object && st_json_put(object, "same_as", st_json_text_or_null(as)) &&
        st_json_put(object, "configuration", st_json_text_or_null(side->configuration)) &&
        st_json_put(object, "compiler", st_json_text_or_null(side->compiler[0] ? side->compiler : NULL)) &&
        st_json_put(object, "outcome", st_json_text_or_null(side->outcome[0] ? side->outcome : NULL)) &&
        st_json_put(object, "detail", st_json_text_or_null(side->detail)) &&
        st_json_put(object, "median_ns", st_json_number(side->median_ns)) &&
        st_json_put(object, "samples", json_integer((json_int_t)side->count)) &&
        st_json_put(object, "registers", int_or_null(side->registers)) &&
        st_json_put(object, "spill_bytes", int_or_null(side->spill_bytes)) &&
        st_json_put(object, "local_bytes", int_or_null(side->local_bytes)) &&
        st_json_put(object, "blocks_per_sm", int_or_null(side->blocks_per_sm)) &&
        st_json_put(object, "verdict", judged ? json_string(st_change_name(side->change)) : json_null()) &&
        st_json_put(object, "ratio", st_json_number(side->ratio.centre)) &&
        st_json_put(object, "ratio_low", st_json_number(side->ratio.low)) &&
        st_json_put(object, "ratio_high", st_json_number(side->ratio.high)) &&
        st_json_put(object, "reason", st_json_text_or_null(side->reason[0] ? side->reason : NULL));
    if (whole)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *row_json(const st_verified_row *row)
{
    json_t *object = json_object();
    bool whole = object && st_json_put(object, "function", json_string(row->function)) &&
                 st_json_put(object, "problem", json_string(row->problem)) &&
                 st_json_put(object, "recorded_for", json_string(row->recorded ? row->recorded : row->problem)) &&
                 st_json_put(object, "exact", json_boolean(row->exact)) &&
                 st_json_put(object, "is_default", json_boolean(row->is_default)) &&
                 st_json_put(object, "predicted", json_boolean(row->predicted)) &&
                 st_json_put(object, "cc", row->is_default ? json_null() : json_integer(row->cc)) &&
                 st_json_put(object, "sm_count", row->is_default ? json_null() : json_integer(row->sm_count)) &&
                 st_json_put(object, "verdict", json_string(st_change_name(row->verdict))) &&
                 st_json_put(object, "works", row->too_big ? json_null() : json_boolean(!row->broken)) &&
                 st_json_put(object, "reason", st_json_text_or_null(row->reason[0] ? row->reason : NULL));
    for (int kind = 0; whole && kind < ST_VERIFIED_KINDS; kind++)
        whole = st_json_put(object, st_verified_kind_name((st_verified_kind)kind), side_json(row, kind));
    if (whole)
        return object;
    json_decref(object);
    return NULL;
}

json_t *st_verified_json(const st_verified *made)
{
    json_t *object = json_object(), *rows = json_array();
    bool whole = object && rows;
    for (size_t i = 0; whole && i < made->count; i++)
        whole = json_array_append_new(rows, row_json(&made->rows[i])) == 0;
    whole = whole && st_json_put(object, "schema", json_string("simtune.verify/1")) &&
            st_json_put(object, "path", json_string(made->path)) &&
            st_json_put(object, "family", json_string(made->family)) &&
            st_json_put(object, "cache", json_string(made->cache)) &&
            st_json_put(object, "device", json_string(made->device)) &&
            st_json_put(object, "cc", json_integer(made->cc)) &&
            st_json_put(object, "sm_count", json_integer(made->sm_count)) &&
            st_json_put(object, "driver", st_json_text_or_null(made->driver[0] ? made->driver : NULL)) &&
            st_json_put(object, "shipped_by", json_string(made->shipped_by)) &&
            st_json_put(object, "compiler", json_string(made->compiler)) &&
            st_json_put(object, "nvcc_seconds", made->nvcc_seconds > 0 ? json_real(made->nvcc_seconds) : json_null()) &&
            st_json_put(object, "edited", json_boolean(made->edited)) &&
            st_json_put(object, "threshold", json_real(made->threshold));
    if (whole && st_json_put(object, "rows", json_incref(rows))) {
        json_decref(rows);
        return object;
    }
    json_decref(rows);
    json_decref(object);
    return NULL;
}
