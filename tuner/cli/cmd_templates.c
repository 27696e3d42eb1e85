// SPDX-License-Identifier: Apache-2.0
// `simtune templates`: the families that ship, or one with all that its directives say and the size of its space
// on a device: the GPU present, else an arch from its data sheet.
#include "reports/format.h"
#include "tuner/base/memory.h"
#include "tuner/cli/cli_answers.h"
#include "tuner/cli/families.h"
#include "tuner/gpu/device_class.h"
#include "tuner/space.h"

#include <stdlib.h>
#include <string.h>

enum { INDENT = 14, WIDTH = 80 };

// --- the list ----------------------------------------------------------------------------------------------------

static size_t count_kind(const st_template *tmpl, st_axis_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < tmpl->axis_count; i++)
        if (tmpl->axes[i].kind == kind)
            count += tmpl->axes[i].value_count;
    return count;
}

static size_t count_launches(const st_template *tmpl)
{
    size_t count = 0;
    for (size_t i = 0; i < tmpl->step_count; i++)
        count += tmpl->steps[i].kind == ST_STEP_LAUNCH;
    return count;
}

static json_t *family_json(const st_template *tmpl)
{
    return json_pack("{s:s, s:o, s:s, s:s, s:I, s:I, s:I, s:I}", "family", tmpl->family, "summary",
                     st_json_text_or_null(tmpl->summary), "file", tmpl->path, "hash", tmpl->hash, "axes",
                     (json_int_t)tmpl->axis_count, "parameters", (json_int_t)tmpl->parameter_count, "constraints",
                     (json_int_t)tmpl->where_count, "launches", (json_int_t)count_launches(tmpl));
}

static st_code list_one(st_cli *cli, const char *path, json_t *list, st_error *error)
{
    st_template *tmpl = NULL;
    st_code code = st_template_load(path, &tmpl, error);
    if (code == ST_OK && cli->json)
        code = json_array_append_new(list, family_json(tmpl)) == 0 ? ST_OK : st_fail_memory(error, "listing families");
    else if (code == ST_OK)
        fprintf(cli->out, "%-12s %s\n%-12s types %zu, sizes %zu, parameters %zu, constraints %zu\n", tmpl->family,
                tmpl->summary ? tmpl->summary : "", "", count_kind(tmpl, ST_AXIS_TYPE), count_kind(tmpl, ST_AXIS_SIZE),
                tmpl->parameter_count, tmpl->where_count);
    st_template_free(tmpl);
    return code;
}

// A template with a mistake does not hide the others; the last mistake is returned, those before said here.
static st_code list_families(st_cli *cli, st_error *error)
{
    st_list names, paths;
    json_t *list = json_array();
    st_code code = st_families(&names, &paths, error);
    if (code == ST_OK && !list)
        code = st_fail_memory(error, "listing families");
    if (code == ST_OK && !names.count)
        code = st_fail(error, ST_NOTHING,
                       "install simtune whole, or set SIMTUNE_SHARE to the folder that holds templates/",
                       "no family is installed");
    for (size_t i = 0; i < paths.count && list; i++) {
        st_error own = {0};
        st_code here = list_one(cli, paths.items[i], list, &own);
        if (here != ST_OK && code != ST_OK)
            st_cli_say(cli, error);
        if (here != ST_OK)
            code = st_fail(error, here, own.remedy, "%s", own.what);
    }
    if (code == ST_OK && cli->json)
        code = st_cli_print_json(cli, json_pack("{s:s, s:O}", "schema", "simtune.templates/1", "families", list), error);
    json_decref(list);
    st_list_free(&names);
    st_list_free(&paths);
    return code;
}

// --- one family: what its directives say -------------------------------------------------------------------------------

static const struct {
    unsigned bit;
    const char *name;
} roles[] = {{ST_ROLE_ILP, "ilp"},   {ST_ROLE_MLP, "mlp"},   {ST_ROLE_TLP, "tlp"},  {ST_ROLE_SYNC, "sync"},
             {ST_ROLE_SMEM, "smem"}, {ST_ROLE_WORK, "work"}, {ST_ROLE_REGS, "regs"}};
enum { ROLES = sizeof roles / sizeof roles[0] };

static void add_value(const st_value *value, bool as_size, st_text *out)
{
    if (value->word)
        st_text_add(out, value->word);
    else if (as_size && value->number >= 0)
        st_text_add_size(out, (uint64_t)value->number);
    else
        st_text_addf(out, "%lld", (long long)value->number);
}

static void print_axes(st_cli *cli, const st_template *tmpl, st_text *text)
{
    static const char *const kinds[] = {"type", "word", "size"};
    fprintf(cli->out, "\naxes: what the problem is; a default run takes the first type and word, and every size\n");
    for (size_t i = 0; i < tmpl->axis_count; i++) {
        const st_axis *axis = &tmpl->axes[i];
        st_text words;
        st_text_init(&words);
        st_text_addf(&words, "%s:", kinds[axis->kind]);
        for (size_t v = 0; v < axis->value_count; v++) {
            st_text_add(&words, " ");
            add_value(&axis->values[v], axis->kind == ST_AXIS_SIZE, &words);
        }
        if (axis->data)
            st_text_add(&words, "; of the data: the first alone, and no part of the header");
        st_report_row(text, axis->name, INDENT, st_text_string(&words), WIDTH);
        st_text_release(&words);
    }
    for (size_t i = 0; i < tmpl->problem_rule_count; i++)
        st_text_addf(text, "%s  %4d  %s\n", i ? "" : "those that make sense together (line of the template)\n",
                     abs(st_expression_place(tmpl->problem_rules[i]).line), st_expression_text(tmpl->problem_rules[i]));
    fputs(st_text_string(text), cli->out);
    st_text_clear(text);
}

static void print_parameters(st_cli *cli, const st_template *tmpl, st_text *text)
{
    fprintf(cli->out, tmpl->parameter_count ? "\nparameters: what is tuned; [ ] is the default\n" : "\nno parameters\n");
    for (size_t i = 0; i < tmpl->parameter_count; i++) {
        const st_parameter *parameter = &tmpl->parameters[i];
        st_text words;
        st_text_init(&words);
        for (size_t v = 0; v < parameter->value_count; v++) {
            bool standard = v == parameter->default_index;
            st_text_add(&words, v ? (standard ? " [" : " ") : (standard ? "[" : ""));
            add_value(&parameter->values[v], false, &words);
            st_text_add(&words, standard ? "]" : "");
        }
        bool first = true;
        for (size_t r = 0; r < ROLES; r++)
            if (parameter->roles & roles[r].bit) {
                st_text_addf(&words, "%s%s", first ? "; role " : " ", roles[r].name);
                first = false;
            }
        st_text_add(&words, parameter->runtime ? "; runtime" : "");
        st_report_row(text, parameter->name, INDENT, st_text_string(&words), WIDTH);
        st_text_release(&words);
    }
    fputs(st_text_string(text), cli->out);
    st_text_clear(text);
}

// The lets that constraints are written with, also by way of other lets. A let uses earlier ones only.
static void mark_used(const st_template *tmpl, bool *used)
{
    for (size_t i = tmpl->let_count; i-- > 0;) {
        for (size_t w = 0; w < tmpl->where_count; w++)
            used[i] = used[i] || st_expression_uses(tmpl->wheres[w], tmpl->lets[i].slot);
        for (size_t later = i + 1; later < tmpl->let_count; later++)
            used[i] = used[i] || (used[later] && st_expression_uses(tmpl->lets[later].value, tmpl->lets[i].slot));
    }
}

static st_code print_constraints(st_cli *cli, const st_template *tmpl, st_error *error)
{
    bool *used = st_calloc(tmpl->let_count + 1, sizeof *used), any = false;
    if (!used)
        return st_fail_memory(error, "printing a family");
    mark_used(tmpl, used);
    fprintf(cli->out, tmpl->where_count
                          ? "\nconstraints: what every allowed configuration keeps (line of the template)\n"
                          : "\nno constraints\n");
    for (size_t i = 0; i < tmpl->where_count; i++)
        fprintf(cli->out, "  %4d  %s\n", abs(st_expression_place(tmpl->wheres[i]).line),
                st_expression_text(tmpl->wheres[i]));
    for (size_t i = 0; i < tmpl->let_count; i++)
        if (used[i]) {
            fprintf(cli->out, "%s  %4d  %s = %s%s\n", any ? "" : "where\n",
                    abs(st_expression_place(tmpl->lets[i].value).line), tmpl->lets[i].name,
                    st_expression_text(tmpl->lets[i].value), tmpl->lets[i].late ? "  (known after compiling)" : "");
            any = true;
        }
    st_free(used);
    return ST_OK;
}

static json_t *value_json(const st_value *value)
{
    return value->word ? json_string(value->word) : json_integer(value->number);
}

static json_t *values_json(const st_value *values, size_t count)
{
    json_t *list = json_array();
    bool whole = list;
    for (size_t i = 0; i < count && whole; i++)
        whole = json_array_append_new(list, value_json(&values[i])) == 0;
    if (whole)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *axes_json(const st_template *tmpl)
{
    static const char *const kinds[] = {"type", "word", "size"};
    json_t *list = json_array();
    bool whole = list;
    for (size_t i = 0; i < tmpl->axis_count && whole; i++)
        whole = json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:o}", "name", tmpl->axes[i].name, "kind",
                                                      kinds[tmpl->axes[i].kind], "data", (int)tmpl->axes[i].data,
                                                      "values",
                                                      values_json(tmpl->axes[i].values,
                                                                  tmpl->axes[i].value_count))) == 0;
    if (whole)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *roles_json(unsigned bits)
{
    json_t *list = json_array();
    bool whole = list;
    for (size_t r = 0; r < ROLES && whole; r++)
        whole = !(bits & roles[r].bit) || json_array_append_new(list, json_string(roles[r].name)) == 0;
    if (whole)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *parameters_json(const st_template *tmpl)
{
    json_t *list = json_array();
    bool whole = list;
    for (size_t i = 0; i < tmpl->parameter_count && whole; i++) {
        const st_parameter *parameter = &tmpl->parameters[i];
        whole = json_array_append_new(
                    list, json_pack("{s:s, s:o, s:o, s:o, s:b}", "name", parameter->name, "values",
                                    values_json(parameter->values, parameter->value_count), "default",
                                    value_json(&parameter->values[parameter->default_index]), "roles",
                                    roles_json(parameter->roles), "runtime", (int)parameter->runtime)) == 0;
    }
    if (whole)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *expressions_json(st_expression *const *expressions, size_t count)
{
    json_t *list = json_array();
    bool whole = list;
    for (size_t i = 0; i < count && whole; i++)
        whole = json_array_append_new(list, json_pack("{s:i, s:s}", "line", abs(st_expression_place(expressions[i]).line),
                                                      "where", st_expression_text(expressions[i]))) == 0;
    if (whole)
        return list;
    json_decref(list);
    return NULL;
}

// --- one family: its space ------------------------------------------------------------------------------------------------

typedef struct ground { // the device whose facts bound the space
    st_device_facts facts;
    const char *origin;
} ground;

static st_code find_ground(st_cli *cli, ground *out, st_error *error)
{
    const char *arch = st_parsed_text(cli->parsed, "arch");
    st_device_class class = {90, -1}; // without a GPU and a wish: the first of sm_90
    if (!arch || strcmp(arch, "auto") == 0 || st_parsed_flag(cli->parsed, "device")) {
        st_cli_device device;
        st_code code = st_cli_find_device(cli, &device, error);
        if (code != ST_OK)
            return code;
        out->facts = device.facts;
        out->origin = "the GPU here";
        if (device.present)
            return ST_OK;
    } else {
        st_code code = st_device_class_parse(arch, &class, error);
        if (code != ST_OK)
            return code;
    }
    out->origin = arch && strcmp(arch, "auto") != 0 ? "from its data sheet" : "from its data sheet; no GPU is here";
    return st_device_class_facts(class, -1, &out->facts, error);
}

static bool moves(const st_axis *axis)
{
    return axis->kind == ST_AXIS_SIZE && !axis->data;
}

static size_t count_problems(const st_template *tmpl)
{
    size_t count = 1;
    for (size_t i = 0; i < tmpl->axis_count; i++)
        count *= moves(&tmpl->axes[i]) ? tmpl->axes[i].value_count : 1;
    return count;
}

// The p-th problem of a default run: every size, the first of all else.
static st_problem problem_of(const st_template *tmpl, size_t p)
{
    st_problem problem = {{0}};
    for (size_t i = tmpl->axis_count; i-- > 0;) {
        const st_axis *axis = &tmpl->axes[i];
        problem.value[i] = axis->values[moves(axis) ? p % axis->value_count : 0].number;
        p /= moves(axis) ? axis->value_count : 1;
    }
    return problem;
}

static st_code measure_space(const st_template *tmpl, const st_problem *problem, const ground *on, size_t *allowed,
                             double *combinations, st_error *error)
{
    st_space_options options = {.need_run_to_run = tmpl->determinism_count > 0 &&
                                                   !st_problem_default_none(tmpl, problem)};
    st_space *space = NULL;
    st_error why = {0};
    st_code code = st_space_open(tmpl, problem, &on->facts, &options, &space, &why);
    *allowed = code == ST_OK ? st_space_count(space) : 0;
    if (code == ST_OK)
        *combinations = st_space_combinations(space);
    st_space_close(space);
    if (code == ST_OK || code == ST_NOTHING) // none allowed is a size too
        return ST_OK;
    return st_fail(error, code, why.remedy, "%s", why.what);
}

static double all_combinations(const st_template *tmpl)
{
    double product = 1;
    for (size_t i = 0; i < tmpl->parameter_count; i++)
        product *= (double)tmpl->parameters[i].value_count;
    return product;
}

// Each problem of a default run; a family without sizes has one space.
static st_code measure_sizes(st_cli *cli, const st_template *tmpl, const ground *on, json_t *list, st_error *error)
{
    st_code code = ST_OK;
    for (size_t p = 0; p < count_problems(tmpl) && code == ST_OK; p++) {
        st_problem problem = problem_of(tmpl, p);
        if (st_problem_broken_rule(tmpl, &problem, &on->facts))
            continue;
        size_t allowed = 0;
        double combinations = all_combinations(tmpl);
        st_text name, shown;
        st_text_init(&name);
        st_text_init(&shown);
        st_problem_text(tmpl, &problem, &name);
        st_report_problem(&shown, st_text_string(&name));
        code = measure_space(tmpl, &problem, on, &allowed, &combinations, error);
        if (code == ST_OK && cli->json)
            code = json_array_append_new(list, json_pack("{s:s, s:f, s:I}", "problem", st_text_string(&name),
                                                         "combinations", combinations, "allowed",
                                                         (json_int_t)allowed)) == 0
                       ? ST_OK
                       : st_fail_memory(error, "sizing the space");
        else if (code == ST_OK)
            fprintf(cli->out, "  %-30s %zu allowed of %.0f\n", st_text_string(&shown), allowed, combinations);
        st_text_release(&shown);
        st_text_release(&name);
    }
    return code;
}

static st_code print_family(st_cli *cli, const st_template *tmpl, const ground *on, st_error *error)
{
    st_text text;
    st_text_init(&text);
    fprintf(cli->out, "%s%s%s\n  %s\n  template %s, %zu launch%s\n", tmpl->family, tmpl->summary ? ": " : "",
            tmpl->summary ? tmpl->summary : "", tmpl->path, tmpl->hash, count_launches(tmpl),
            count_launches(tmpl) == 1 ? "" : "es");
    print_axes(cli, tmpl, &text);
    print_parameters(cli, tmpl, &text);
    st_code code = text.failed ? st_fail_memory(error, "printing a family") : print_constraints(cli, tmpl, error);
    st_text_release(&text);
    if (code != ST_OK)
        return code;
    fprintf(cli->out, "\nspace on %s (sm_%d, %d SMs), %s\n", on->facts.name, (int)on->facts.cc, (int)on->facts.sm_count,
            on->origin);
    return measure_sizes(cli, tmpl, on, NULL, error);
}

static st_code print_family_json(st_cli *cli, const st_template *tmpl, const ground *on, st_error *error)
{
    json_t *spaces = json_array(), *object = family_json(tmpl);
    st_code code = spaces && object ? measure_sizes(cli, tmpl, on, spaces, error)
                                    : st_fail_memory(error, "printing a family");
    bool whole = code == ST_OK && st_json_put(object, "schema", json_string("simtune.template/1")) &&
                 st_json_put(object, "axes", axes_json(tmpl)) &&
                 st_json_put(object, "parameters", parameters_json(tmpl)) &&
                 st_json_put(object, "problems", expressions_json(tmpl->problem_rules, tmpl->problem_rule_count)) &&
                 st_json_put(object, "constraints", expressions_json(tmpl->wheres, tmpl->where_count)) &&
                 st_json_put(object, "device", json_string(on->facts.name)) &&
                 st_json_put(object, "cc", st_json_known_or_null(on->facts.cc)) &&
                 st_json_put(object, "sm_count", st_json_known_or_null(on->facts.sm_count)) &&
                 json_object_set(object, "spaces", spaces) == 0;
    if (code == ST_OK)
        code = st_cli_print_json(cli, whole ? json_incref(object) : NULL, error);
    json_decref(object);
    json_decref(spaces);
    return code;
}

st_code st_cmd_templates(st_cli *cli, st_error *error)
{
    if (cli->parsed->word_count > 1)
        return st_fail(error, ST_USAGE, "one family at a time, or none for the list", "templates takes no %s",
                       cli->parsed->words[1]);
    if (!cli->parsed->word_count)
        return list_families(cli, error);
    st_template *tmpl = NULL;
    ground on;
    st_code code = st_template_find(cli->parsed->words[0], &tmpl, error);
    if (code == ST_OK)
        code = find_ground(cli, &on, error);
    if (code == ST_OK)
        code = cli->json ? print_family_json(cli, tmpl, &on, error) : print_family(cli, tmpl, &on, error);
    st_template_free(tmpl);
    return code;
}
