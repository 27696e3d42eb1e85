// SPDX-License-Identifier: Apache-2.0
// Which problems of a header are measured. Without --size those that it was recorded for; with it the sizes that are
// named, whichever row the header takes for them. On the emulated device, which is slow, rows of large problems are
// taken at a small size: their kernels are the same.
#include "tuner/base/memory.h"
#include "tuner/base/text.h"
#include "tuner/cli/cli_answers.h"
#include "tuner/cli/verify_measure.h"

#include <string.h>

enum { PROBLEMS_MOST = 1024, SIZES_MOST = 64, EMULATED_ONE = 1 << 16, EMULATED_EACH = 256 };

typedef struct wish {
    st_list types, words, sizes;
    int64_t size[ST_MAX_AXES][SIZES_MOST]; // of --size, by axis
    size_t size_count[ST_MAX_AXES];
} wish;

// --- what is asked for -----------------------------------------------------------------------------------------------

static bool is_size(const st_axis *axis)
{
    return axis->kind == ST_AXIS_SIZE && !axis->data;
}

// "1Mi" for the first size axis, "n=1Mi" for a named one.
static st_code read_size(const st_template *tmpl, const char *word, wish *out, st_error *error)
{
    const char *equals = strchr(word, '='), *number = equals ? equals + 1 : word;
    int64_t value;
    for (size_t i = 0; i < tmpl->axis_count; i++) {
        const st_axis *axis = &tmpl->axes[i];
        bool named = equals && strlen(axis->name) == (size_t)(equals - word) &&
                     strncmp(axis->name, word, (size_t)(equals - word)) == 0;
        if (!is_size(axis) || (equals && !named))
            continue;
        if (!st_text_to_int(number, &value) || value < 0 || value > (int64_t)1 << 48)
            return st_fail(error, ST_USAGE, "write sizes like 1000, 64Ki, 16Mi or 2^24", "%s is no size", number);
        if (out->size_count[i] == SIZES_MOST)
            return st_fail(error, ST_USAGE, "give at most 64", "too many sizes");
        out->size[i][out->size_count[i]++] = value;
        return ST_OK;
    }
    return st_fail(error, ST_USAGE, "simtune templates FAMILY shows the axes", "%s has no size axis for %s",
                   tmpl->family, word);
}

static st_code read_wish(const st_cli *cli, const st_template *tmpl, wish *out, st_error *error)
{
    memset(out, 0, sizeof *out);
    st_code code = st_parsed_list(cli->parsed, "type", true, &out->types, error);
    if (code == ST_OK)
        code = st_parsed_list(cli->parsed, "op", true, &out->words, error);
    if (code == ST_OK)
        code = st_parsed_list(cli->parsed, "size", true, &out->sizes, error);
    for (size_t i = 0; i < out->types.count && code == ST_OK; i++) {
        const char *name = NULL;
        code = st_cli_type(out->types.items[i], &name, error);
        char *copy = code == ST_OK ? st_strdup(name) : NULL;
        if (code == ST_OK && !copy)
            code = st_fail_memory(error, "reading the command line");
        if (copy) {
            st_free(out->types.items[i]);
            out->types.items[i] = copy;
        }
    }
    for (size_t i = 0; i < out->sizes.count && code == ST_OK; i++)
        code = read_size(tmpl, out->sizes.items[i], out, error);
    return code;
}

static void release_wish(wish *of)
{
    st_list_free(&of->types);
    st_list_free(&of->words);
    st_list_free(&of->sizes);
}

static bool has_word(const st_template *tmpl, const st_problem *problem, const char *word)
{
    for (size_t i = 0; i < tmpl->axis_count; i++)
        for (size_t v = 0; tmpl->axes[i].kind == ST_AXIS_WORD && v < tmpl->axes[i].value_count; v++)
            if (tmpl->axes[i].values[v].number == problem->value[i] && strcmp(tmpl->axes[i].values[v].word, word) == 0)
                return true;
    return false;
}

static bool is_asked(const st_template *tmpl, const wish *asked, const st_problem *problem)
{
    const st_type *type = st_problem_type(tmpl, problem);
    bool types = asked->types.count == 0, words = asked->words.count == 0;
    for (size_t i = 0; i < asked->types.count; i++)
        types = types || (type && strcmp(type->name, asked->types.items[i]) == 0);
    for (size_t i = 0; i < asked->words.count; i++)
        words = words || has_word(tmpl, problem, asked->words.items[i]);
    return types && words;
}

// --- items -----------------------------------------------------------------------------------------------------------

typedef struct making {
    const st_template *tmpl;
    const st_header_program *header;
    const st_cli_device *device;
    const wish *asked;
    st_verify_items *out;
    bool emulated, in_namespace;
} making;

static size_t size_axes(const st_template *tmpl)
{
    size_t count = 0;
    for (size_t i = 0; i < tmpl->axis_count; i++)
        count += is_size(&tmpl->axes[i]);
    return count;
}

// True when a size was made smaller.
static bool shrink(const st_template *tmpl, st_problem *problem)
{
    int64_t most = size_axes(tmpl) > 1 ? EMULATED_EACH : EMULATED_ONE;
    bool any = false;
    for (size_t i = 0; i < tmpl->axis_count; i++)
        if (is_size(&tmpl->axes[i]) && problem->value[i] > most) {
            problem->value[i] = most;
            any = true;
        }
    return any;
}

static bool is_there(const making *it, const st_verify_item *item)
{
    for (size_t i = 0; i < it->out->count; i++)
        if (it->out->items[i].function == item->function && it->out->items[i].row.plan == item->row.plan &&
            memcmp(it->out->items[i].problem.value, item->problem.value,
                   it->tmpl->axis_count * sizeof item->problem.value[0]) == 0)
            return true;
    return false;
}

static st_code add_item(making *it, size_t function, const st_problem *problem, st_error *error)
{
    st_verify_item item = {.function = function, .problem = *problem};
    st_code code = st_header_choose(it->header, function, &it->device->facts, problem, &item.row, error);
    if (code != ST_OK)
        return code;
    bool shrunk = it->emulated && !it->asked->sizes.count && shrink(it->tmpl, &item.problem);
    if (shrunk && !it->in_namespace) {
        it->out->left_out++; // kernels that are not written for every size
        return ST_OK;
    }
    if (is_there(it, &item))
        return ST_OK;
    st_verify_item *grown = st_grow(it->out->items, &it->out->capacity, it->out->count + 1, sizeof *grown);
    if (!grown)
        return st_fail_memory(error, "choosing what to measure");
    it->out->items = grown;
    grown[it->out->count++] = item;
    it->out->shrunk += shrunk;
    return ST_OK;
}

// The problem with each combination of the sizes that were named.
static st_code add_sizes(making *it, size_t function, st_problem *problem, size_t axis, st_error *error)
{
    while (axis < it->tmpl->axis_count && !it->asked->size_count[axis])
        axis++;
    if (axis == it->tmpl->axis_count)
        return add_item(it, function, problem, error);
    int64_t recorded = problem->value[axis];
    st_code code = ST_OK;
    for (size_t i = 0; i < it->asked->size_count[axis] && code == ST_OK; i++) {
        problem->value[axis] = it->asked->size[axis][i];
        code = add_sizes(it, function, problem, axis + 1, error);
    }
    problem->value[axis] = recorded;
    return code;
}

static st_code add_function(making *it, size_t function, st_error *error)
{
    st_problem *problems = st_calloc(PROBLEMS_MOST, sizeof *problems);
    if (!problems)
        return st_fail_memory(error, "choosing what to measure");
    size_t count = st_header_problems(it->header, function, &it->device->facts, problems, PROBLEMS_MOST);
    st_code code = ST_OK;
    for (size_t i = 0; i < count && i < PROBLEMS_MOST && code == ST_OK; i++)
        code = add_sizes(it, function, &problems[i], 0, error);
    st_free(problems);
    return code;
}

st_code st_verify_items_make(const st_cli *cli, const st_template *tmpl, const st_header_program *header,
                             const st_cli_device *device, st_verify_items *out, st_error *error)
{
    wish asked;
    st_error none = {0};
    st_includes includes = {0};
    making it = {.tmpl = tmpl, .header = header, .device = device, .asked = &asked, .out = out,
                 .emulated = strcmp(device->backend, "emu") == 0};
    *out = (st_verify_items){.count = 0};
    st_code code = read_wish(cli, tmpl, &asked, error);
    if (code == ST_OK)
        code = st_template_includes(tmpl, &includes, error);
    it.in_namespace = code == ST_OK && st_program_in_namespace(tmpl, &includes);
    st_includes_release(&includes);
    size_t functions = 0;
    for (size_t f = 0; f < st_header_function_count(header) && code == ST_OK; f++) {
        if (!is_asked(tmpl, &asked, st_header_function_problem(header, f)))
            continue;
        functions++;
        code = add_function(&it, f, &none);
        if (code == ST_NOTHING) // another function may have a row that suits
            code = ST_OK;
        else if (code != ST_OK && error)
            *error = none;
    }
    if (code == ST_OK && !functions)
        code = st_fail(error, ST_NOTHING, "leave out --type or --op, or emit that as well",
                       "the header has no function of that type and operation");
    if (code == ST_OK && !out->count)
        code = st_fail(error, ST_NOTHING, out->left_out ? "name a size that is small enough: --size 64Ki"
                                                        : "tune on this device, and emit it anew",
                       "nothing of the header can be measured on this device%s%s", none.what[0] ? ": " : "", none.what);
    release_wish(&asked);
    return code;
}

void st_verify_items_release(st_verify_items *items)
{
    st_free(items->items);
    *items = (st_verify_items){.count = 0};
}
