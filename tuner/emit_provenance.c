// SPDX-License-Identifier: Apache-2.0
// The machine-readable block: one comment line "// simtune-provenance {…}" for the header, then one
// a row. JSON with sorted keys; read here with the template, in emit_rows.c without. A reader of a later simtune reads
// every older schema; this one refuses a newer.
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/base/version.h"
#include "tuner/emit_internal.h"
#include "tuner/emit_rows.h"

#include <string.h>

// --- writing -------------------------------------------------------------------------------------

static void add_line(json_t *object, bool whole, st_text *out)
{
    if (object && whole) {
        st_text_add(out, ST_PROVENANCE_START);
        st_json_print(object, out);
        st_text_add(out, "\n");
    } else {
        out->failed = true;
    }
    json_decref(object);
}

static void add_header_line(const st_emit_model *model, st_text *out)
{
    json_t *object = json_object();
    bool whole = object && st_json_put(object, "schema", json_integer(ST_PROVENANCE_SCHEMA)) &&
                 st_json_put(object, "tool", json_string("simtune " SIMTUNE_VERSION)) &&
                 st_json_put(object, "family", json_string(model->tmpl->family)) &&
                 st_json_put(object, "template", json_string(model->tmpl->hash)) &&
                 st_json_put(object, "licence", json_string("0BSD")) &&
                 st_json_put(object, "cache", st_json_text_or_null(model->options->cache)) &&
                 st_json_put(object, "not_tuned_here", json_boolean(model->options->not_tuned_here)) &&
                 st_json_put(object, "command", st_json_text_or_null(model->options->command)) &&
                 st_json_put(object, "rows", json_integer((json_int_t)model->given_count));
    add_line(object, whole, out);
}

static void add_choice_line(const st_template *tmpl, const st_choice *choice, st_text *out)
{
    json_t *object = st_choice_to_json(tmpl, choice);
    add_line(object, object != NULL, out);
}

void st_emit_provenance(const st_emit_model *model, st_text *out)
{
    add_header_line(model, out);
    for (size_t i = 0; i < model->given_count; i++)
        add_choice_line(model->tmpl, &model->choices[i], out);
}

// --- reading -------------------------------------------------------------------------------------

typedef struct reader {
    const st_template *tmpl;
    const st_device_class *except;
    st_choice *choices;
    size_t count, capacity, seen;
} reader;

// Is it of this template?
static st_code check_head(void *context, const st_emit_head *head, st_error *error)
{
    const st_template *tmpl = ((const reader *)context)->tmpl;
    if (strcmp(head->family, tmpl->family) != 0)
        return st_fail(error, ST_FAILED, "Write to another file.", "it is a header of %s, not of %s", head->family,
                       tmpl->family);
    if (!head->template_hash[0])
        return st_fail(error, ST_FAILED, NULL, "\"template\" is missing");
    if (strcmp(head->template_hash, tmpl->hash) != 0)
        return st_fail(error, ST_STALE, "Tune those devices again, or write the header anew to another file.",
                       "it was made from another version of the template %s", tmpl->path);
    return ST_OK;
}

static st_code keep_choice(void *context, const st_emit_head *head, const json_t *object, st_error *error)
{
    reader *state = context;
    st_choice choice;
    (void)head;
    st_code code = st_choice_from_json(state->tmpl, object, &choice, error);
    if (code == ST_NO_MEMORY)
        return code;
    if (code) { // whatever is wrong with the row, the file is
        if (error) {
            st_error_prefix(error, "row %zu", state->seen + 1);
            error->code = ST_FAILED;
            error->remedy[0] = '\0'; // of whoever writes a problem or configuration; nobody wrote this by hand
        }
        return ST_FAILED;
    }
    state->seen++;
    if (state->except && choice.device_class.cc == state->except->cc &&
        choice.device_class.sm_count == state->except->sm_count)
        return ST_OK;
    st_choice *grown = st_grow(state->choices, &state->capacity, state->count + 1, sizeof *grown);
    if (!grown)
        return st_fail_memory(error, "reading a header");
    state->choices = grown;
    grown[state->count++] = choice;
    return ST_OK;
}

st_code st_emit_read(const st_template *tmpl, const char *path, const st_device_class *except,
                     st_choice **choices, size_t *count, st_error *error)
{
    *choices = NULL;
    *count = 0;
    reader state = {.tmpl = tmpl, .except = except};
    const st_provenance_reader how = {
        .context = &state,
        .head = check_head,
        .row = keep_choice,
        .anew = "Remove the file, or write to another one: the store has every row of this machine, and the header is "
                "made anew from it.",
        .newer = "Use the simtune that wrote it, or write to another file.",
        .foreign = "Write to another file, or remove it."};
    st_code code = st_provenance_read(path, &how, error);
    if (code) {
        st_free(state.choices);
        return code;
    }
    *choices = state.choices;
    *count = state.count;
    return ST_OK;
}
