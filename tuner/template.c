// SPDX-License-Identifier: Apache-2.0
// Invariants (tests/unit/tuner/test_template.c cites them):
//  T1  A template that loaded is whole: no name in it is unknown, every index is in range, every
//      parameter has a default of its list, and host_args holds every buffer and size of the
//      interface.
//  T2  A mistake is one message, FILE:LINE first where there is a line, with a remedy.
//  T3  Scope slots never move after loading; lets use only slots of earlier lets.
//  T4  The hash changes when the text or any file that it includes with "…" changes, and with
//  nothing else.
// Loading: text → directives (template_directives.c) → names declared (template_names.c,
// template_scope.c) → scope → everything else defined (template_scope.c, template_plan.c) →
// checked.
#include "tuner/template.h"

#include "tuner/base/memory.h"
#include "tuner/base/paths.h"
#include "tuner/t1.h"
#include "tuner/template_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// --- the directives
// ------------------------------------------------------------------------------------------

static st_code take_text(st_loader *loader, char **out) {
    st_free(*out);
    *out = st_strdup(loader->at->rest);
    return *out ? ST_OK : st_loader_no_memory(loader);
}

enum { FAMILY_MOST = 63 }; // as rows and workers keep it

static st_code read_family(st_loader *loader) {
    if (strlen(loader->at->rest) > FAMILY_MOST)
        return st_loader_fail(loader, "Choose a shorter one: it names files and functions.",
                              "the name of the family has %zu letters, more than %d", strlen(loader->at->rest),
                              FAMILY_MOST);
    if (!st_is_name(loader->at->rest))
        return st_loader_fail(loader,
                              "Write `family NAME` with letters, digits and _: it names files "
                              "and functions.",
                              "`%s` is no name of a family", loader->at->rest);
    return take_text(loader, &loader->tmpl->family);
}

static st_code read_summary(st_loader *loader) {
    return take_text(loader, &loader->tmpl->summary);
}

// One more expression of a list.
static st_code add_expression(st_loader *loader, st_expression ***list, size_t *count,
                              size_t *capacity) {
    st_expression **items = st_loader_append(loader, *list, count, capacity, sizeof *items);
    if (!items)
        return ST_NO_MEMORY;
    *list = items;
    return st_loader_expression(loader, loader->at->rest, &items[*count - 1]);
}

static st_code read_where(st_loader *loader) {
    st_template *t = loader->tmpl;
    return add_expression(loader, &t->wheres, &t->where_count, &loader->where_capacity);
}

static st_code read_prune(st_loader *loader) {
    st_template *t = loader->tmpl;
    st_code code = add_expression(loader, &t->prunes, &t->prune_count, &loader->prune_capacity);
    if (!code && st_expression_is_late(t->prunes[t->prune_count - 1], &t->scope))
        code = st_loader_fail(loader, "Make it a `where`, or use MAX_BLOCKS_PER_SM.",
                              "`prune` cannot depend on BLOCKS_PER_SM: it chooses what to compile");
    return code;
}

static st_code read_problem(st_loader *loader) {
    st_template *t = loader->tmpl;
    st_code code =
        add_expression(loader, &t->problem_rules, &t->problem_rule_count, &loader->rule_capacity);
    return code ? code
                : st_check_given(loader, "`problem`", t->problem_rules[t->problem_rule_count - 1],
                                 true);
}

static st_code read_usual(st_loader *loader) {
    st_template *t = loader->tmpl;
    st_code code =
        add_expression(loader, &t->usual_rules, &t->usual_rule_count, &loader->usual_capacity);
    return code ? code
                : st_check_given(loader, "`usual`", t->usual_rules[t->usual_rule_count - 1], false);
}

static st_code read_bytes(st_loader *loader) {
    return st_loader_expression(loader, loader->at->rest, &loader->tmpl->bytes);
}

// To add a directive: a row here, its reader, its line at the head of template.h and in
// docs/templates.md. `declare` runs before the scope stands, `define` after it; either may be NULL.
static const struct st_directive_row {
    const char *word;
    bool once;
    st_code (*declare)(st_loader *);
    st_code (*define)(st_loader *);
} rows[] = {
    {"family", true, read_family, NULL},
    {"summary", true, read_summary, NULL},
    {"axis", false, st_declare_axis, NULL},
    {"param", false, st_declare_parameter, NULL},
    {"let", false, st_declare_let, NULL},       // st_define_lets
    {"buffer", false, st_declare_buffer, NULL}, // st_define_buffers
    {"scalar", false, st_declare_scalar, NULL}, // st_define_scalars
    {"fill", false, NULL, st_read_fill_line},
    {"default", false, NULL, st_read_default},
    {"rival", false, NULL, st_read_rivals},
    {"where", false, NULL, read_where},
    {"prune", false, NULL, read_prune},
    {"problem", false, NULL, read_problem},
    {"usual", false, NULL, read_usual},
    {"determinism", false, NULL, st_read_determinism},
    {"zero", false, NULL, st_read_zero},
    {"reference", false, NULL, st_read_reference},
    {"launch", false, NULL, st_read_launch},
    {"derive", false, NULL, st_read_derive},
    {"in_place", false, NULL, st_read_in_place},
    {"compare", false, NULL, st_read_compare},
    {"bytes", true, NULL, read_bytes},
    {"host_args", false, NULL, st_read_host_args},
    {"host_name", false, NULL, st_read_host_name},
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

static st_code find_row(st_loader *loader, size_t *row) {
    const char *names[ROW_COUNT];
    char remedy[256];
    for (size_t i = 0; i < ROW_COUNT; i++) {
        names[i] = rows[i].word;
        if (strcmp(loader->at->word, rows[i].word) == 0) {
            *row = i;
            return ST_OK;
        }
    }
    st_loader_suggest(loader->at->word, names, ROW_COUNT, "directives", remedy, sizeof remedy);
    return st_loader_fail(loader, remedy, "unknown directive `%s`", loader->at->word);
}

static st_code declare_all(st_loader *loader, const st_directives *directives) {
    int seen[ROW_COUNT] = {0};
    for (size_t i = 0; i < directives->count; i++) {
        size_t row = 0;
        loader->at = &directives->items[i];
        st_code code = find_row(loader, &row);
        if (!code && rows[row].once && seen[row])
            code = st_loader_fail(loader, "Remove one.", "a second `%s`, after line %d",
                                  rows[row].word, seen[row]);
        if (!code && !*loader->at->rest)
            code = st_loader_fail(loader, "See docs/templates.md for the form of each directive.",
                                  "`%s` with nothing behind it", rows[row].word);
        if (!code && rows[row].declare)
            code = rows[row].declare(loader);
        if (code)
            return code;
        seen[row] = loader->at->line;
    }
    loader->at = NULL;
    return ST_OK;
}

// References before all else that is defined: compare asks whether there are any.
static st_code define_all(st_loader *loader, const st_directives *directives) {
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < directives->count; i++) {
            size_t row = 0;
            loader->at = &directives->items[i];
            st_code code = find_row(loader, &row);
            bool now = !code && (rows[row].define == st_read_reference) == (pass == 0);
            if (now && rows[row].define)
                code = rows[row].define(loader);
            if (code)
                return code;
        }
    loader->at = NULL;
    return ST_OK;
}

static st_code check_family(st_loader *loader, const st_directives *directives) {
    if (!directives->count)
        return st_loader_fail(loader, "Annotate it as docs/templates.md describes.",
                              "the file holds no `// simtune:` directives");
    if (!loader->tmpl->family)
        return st_loader_fail(loader, "Add `// simtune: family NAME`.", "the family has no name");
    return ST_OK;
}

static st_code check_defaults(st_loader *loader) {
    const st_template *t = loader->tmpl;
    st_directive line = {0};
    for (size_t i = 0; i < t->parameter_count; i++) {
        if (loader->has_default[i])
            continue;
        char remedy[160];
        st_text value;
        st_text_init(&value);
        st_parameter_value_text(t, (int)i, t->parameters[i].values[0].number, &value);
        snprintf(remedy, sizeof remedy, "Add `// simtune: default %s=%.60s`.",
                 t->parameters[i].name, st_text_string(&value));
        st_text_release(&value);
        line.line = t->parameters[i].line;
        loader->at = &line;
        st_code code = st_loader_fail(loader, remedy, "the parameter `%s` has no default",
                                      t->parameters[i].name);
        loader->at = NULL;
        return code;
    }
    return ST_OK;
}

static st_code read_all(st_loader *loader, const st_directives *directives) {
    st_code code = declare_all(loader, directives);
    if (!code)
        code = check_family(loader, directives);
    if (!code)
        code = st_build_scope(loader, directives);
    if (!code)
        code = st_define_lets(loader);
    if (!code)
        code = st_define_buffers(loader);
    if (!code)
        code = st_define_scalars(loader);
    loader->has_default = code ? NULL : st_calloc(loader->tmpl->parameter_count + 1, sizeof(bool));
    if (!code && !loader->has_default)
        code = st_loader_no_memory(loader);
    if (!code)
        code = define_all(loader, directives);
    if (!code)
        code = check_defaults(loader);
    if (!code)
        code = st_check_plan(loader);
    st_free(loader->has_default);
    st_free(loader->words);
    st_directives_release(&loader->let_texts);
    st_directives_release(&loader->buffer_texts);
    st_directives_release(&loader->fill_texts);
    st_directives_release(&loader->scalar_texts);
    return code;
}

// --- loading
// -----------------------------------------------------------------------------------------------------

static st_code hash_template(st_template *t, st_error *error) {
    st_includes includes;
    st_code code = st_template_includes(t, &includes, error);
    if (code)
        return code;
    st_hash *hash = st_hash_new();
    if (hash) {
        st_hash_field(hash, t->text);
        for (size_t i = 0; i < includes.count; i++) {
            st_hash_field(hash, includes.items[i].name);
            st_hash_field(hash, includes.items[i].text);
        }
        st_hash_text(hash, t->hash);
    }
    st_includes_release(&includes);
    if (!hash)
        return st_fail_memory(error, "hashing the template");
    st_hash_free(hash);
    return ST_OK;
}

static st_template *new_template(const char *path, const char *beside, const char *text, size_t length) {
    st_template *t = st_calloc(1, sizeof *t);
    if (!t)
        return NULL;
    const char *slash = strrchr(beside, '/');
    t->path = st_strdup(path);
    t->folder = slash ? st_strndup(beside, slash == beside ? 1 : (size_t)(slash - beside)) : st_strdup(".");
    t->text = st_strndup(text, length);
    t->text_length = length;
    t->slot_blocks_per_sm = t->slot_size_of_type = t->slot_is_float = -1;
    for (size_t i = 0; i < sizeof t->fact_slots / sizeof *t->fact_slots; i++)
        t->fact_slots[i] = -1;
    if (t->path && t->folder && t->text)
        return t;
    st_template_free(t);
    return NULL;
}

st_code st_template_parse(const char *path, const char *text, size_t length, st_template **out,
                          st_error *error) {
    return st_template_parse_beside(path, path, NULL, text, length, out, error);
}

st_code st_template_parse_beside(const char *path, const char *beside, const st_list *places, const char *text,
                                 size_t length, st_template **out, st_error *error) {
    *out = NULL;
    st_template *t = new_template(path, beside, text, length);
    if (!t)
        return st_fail_memory(error, "reading the template");
    st_loader loader = {.tmpl = t, .places = places, .error = error};
    st_directives directives;
    st_code code = st_directives_read(path, text, length, &directives, error);
    if (!code)
        code = read_all(&loader, &directives);
    st_directives_release(&directives);
    if (!code)
        code = hash_template(t, error);
    if (code) {
        st_template_free(t);
        return code;
    }
    *out = t;
    return ST_OK;
}

static st_code check_files(const st_template *t, const char *what, const st_step *steps,
                           size_t count, st_error *error) {
    for (size_t i = 0; i < count; i++) {
        const char *file = steps[i].file;
        if (!file)
            continue;
        char *path = *file == '/' ? st_strdup(file) : st_format("%s/%s", t->folder, file);
        if (!path)
            return st_fail_memory(error, "reading the template");
        bool readable = access(path, R_OK) == 0;
        st_code code =
            readable ? ST_OK
                     : st_fail(error, ST_USAGE, "Paths are relative to the template's folder.",
                               "%s:%d: cannot read the %s %s: %s", t->path, steps[i].line, what,
                               path, strerror(errno));
        st_free(path);
        if (code)
            return code;
    }
    return ST_OK;
}

st_code st_template_load(const char *path, st_template **out, st_error *error) {
    st_text text;
    *out = NULL;
    if (st_t1_is_file(path))
        return st_t1_load(path, out, error);
    st_text_init(&text);
    st_code code = st_text_read_file(&text, path, error);
    if (!code)
        code = st_template_parse(path, st_text_string(&text), text.length, out, error);
    if (!code)
        code =
            check_files(*out, "reference", (*out)->references, (*out)->reference_count, error);
    if (!code)
        code = check_files(*out, "derive", (*out)->derives, (*out)->derive_count, error);
    if (code) {
        st_template_free(*out);
        *out = NULL;
    }
    st_text_release(&text);
    return code;
}

// --- the end
// -----------------------------------------------------------------------------------------------------

static void free_value_list(st_value *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        st_free(values[i].word);
    st_free(values);
}

static void free_steps(st_step *steps, size_t count) {
    for (size_t i = 0; i < count; i++) {
        st_step *step = &steps[i];
        st_expression_free(step->when);
        st_free(step->kernel);
        st_free(step->file);
        for (int d = 0; d < ST_MAX_DIMS; d++) {
            st_expression_free(step->grid[d]);
            st_expression_free(step->block[d]);
        }
        st_expression_free(step->smem);
        st_expression_free(step->cluster);
        st_expression_free(step->dependent);
        for (size_t a = 0; a < step->argument_count; a++)
            st_expression_free(step->arguments[a].value);
        st_free(step->arguments);
    }
    st_free(steps);
}

static void free_names(st_template *t) {
    for (size_t i = 0; i < t->axis_count; i++) {
        st_free(t->axes[i].name);
        free_value_list(t->axes[i].values, t->axes[i].value_count);
    }
    st_free(t->axes);
    for (size_t i = 0; i < t->parameter_count; i++) {
        st_free(t->parameters[i].name);
        free_value_list(t->parameters[i].values, t->parameters[i].value_count);
    }
    st_free(t->parameters);
    for (size_t i = 0; i < t->let_count; i++) {
        st_free(t->lets[i].name);
        st_expression_free(t->lets[i].value);
    }
    st_free(t->lets);
    for (size_t i = 0; i < t->buffer_count; i++) {
        st_free(t->buffers[i].name);
        st_free(t->buffers[i].type_word);
        st_expression_free(t->buffers[i].count);
        st_fill_release(&t->buffers[i].fill);
    }
    st_free(t->buffers);
    for (size_t i = 0; i < t->fill_line_count; i++) {
        st_fill_release(&t->fill_lines[i].fill);
        st_expression_free(t->fill_lines[i].when);
    }
    st_free(t->fill_lines);
    for (size_t i = 0; i < t->scalar_count; i++) {
        st_free(t->scalars[i].name);
        st_free(t->scalars[i].type_word);
        st_expression_free(t->scalars[i].value);
    }
    st_free(t->scalars);
    for (size_t i = 0; i < t->made_name_count; i++)
        st_free(t->made_names[i]);
    st_free(t->made_names);
}

static void free_host(st_template *t) {
    for (size_t i = 0; i < t->host_list_count; i++) {
        for (size_t k = 0; k < t->host_lists[i].count; k++)
            st_free(t->host_lists[i].names[k]);
        st_free(t->host_lists[i].names);
        st_expression_free(t->host_lists[i].when);
    }
    st_free(t->host_lists);
    for (size_t i = 0; i < t->host_name_count; i++) {
        st_free(t->host_names[i].pattern);
        st_expression_free(t->host_names[i].when);
    }
    st_free(t->host_names);
    for (size_t i = 0; i < t->in_place_count; i++)
        st_expression_free(t->in_places[i].when);
    st_free(t->in_places);
}

static void free_expressions(st_expression **list, size_t count) {
    for (size_t i = 0; i < count; i++)
        st_expression_free(list[i]);
    st_free(list);
}

static void free_rules(st_determinism_rule *rules, size_t count) {
    for (size_t i = 0; i < count; i++)
        st_expression_free(rules[i].when);
    st_free(rules);
}

void st_template_free(st_template *tmpl) {
    if (!tmpl)
        return;
    free_names(tmpl);
    free_host(tmpl);
    free_steps(tmpl->steps, tmpl->step_count);
    free_steps(tmpl->references, tmpl->reference_count);
    free_steps(tmpl->derives, tmpl->derive_count);
    free_expressions(tmpl->wheres, tmpl->where_count);
    free_expressions(tmpl->prunes, tmpl->prune_count);
    free_expressions(tmpl->problem_rules, tmpl->problem_rule_count);
    free_expressions(tmpl->usual_rules, tmpl->usual_rule_count);
    free_rules(tmpl->determinism, tmpl->determinism_count);
    free_rules(tmpl->default_none, tmpl->default_none_count);
    for (size_t i = 0; i < tmpl->compare_count; i++) {
        st_expression_free(tmpl->compares[i].height);
        st_expression_free(tmpl->compares[i].when);
    }
    st_free(tmpl->compares);
    st_expression_free(tmpl->bytes);
    st_scope_release(&tmpl->scope);
    st_free(tmpl->path);
    st_free(tmpl->folder);
    st_free(tmpl->family);
    st_free(tmpl->summary);
    st_free(tmpl->text);
    st_free(tmpl);
}
