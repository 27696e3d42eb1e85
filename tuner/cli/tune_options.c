// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/tune_options.h"

#include "tuner/base/memory.h"

#include <stdlib.h>
#include <string.h>

// --- axes ------------------------------------------------------------------------------------------------------

typedef struct chosen {
    int64_t values[64];
    size_t count;
    bool expressly; // each was named by the user
} chosen;

static bool add_value(chosen *some, int64_t value)
{
    for (size_t i = 0; i < some->count; i++)
        if (some->values[i] == value)
            return true;
    if (some->count == sizeof some->values / sizeof some->values[0])
        return false;
    some->values[some->count++] = value;
    return true;
}

static void list_words(const st_axis *axis, st_text *out)
{
    for (size_t i = 0; i < axis->value_count; i++)
        st_text_addf(out, "%s%s", i ? " " : "", axis->values[i].word);
}

static st_code unknown_word(const st_template *tmpl, st_axis_kind kind, const char *word, st_error *error)
{
    st_text known;
    st_text_init(&known);
    for (size_t i = 0; i < tmpl->axis_count; i++)
        if (tmpl->axes[i].kind == kind) {
            st_text_addf(&known, "%s%s: ", known.length ? "; " : "", tmpl->axes[i].name);
            list_words(&tmpl->axes[i], &known);
        }
    st_code code = known.length
                       ? st_fail(error, ST_USAGE, st_text_string(&known), "%s has no %s %s", tmpl->family,
                                 kind == ST_AXIS_TYPE ? "type" : "word", word)
                       : st_fail(error, ST_USAGE, "leave the option out", "%s has no axis for %s", tmpl->family,
                                 word);
    st_text_release(&known);
    return code;
}

// Puts a word to the axis that has it.
static st_code choose_word(const st_template *tmpl, st_axis_kind kind, const char *word, chosen *some,
                           st_error *error)
{
    const st_type *type = kind == ST_AXIS_TYPE ? st_type_find(word) : NULL;
    const char *name = type ? type->name : word;
    for (size_t i = 0; i < tmpl->axis_count; i++)
        for (size_t v = 0; tmpl->axes[i].kind == kind && v < tmpl->axes[i].value_count; v++)
            if (strcmp(tmpl->axes[i].values[v].word, name) == 0) {
                add_value(&some[i], tmpl->axes[i].values[v].number);
                some[i].expressly = true;
                return ST_OK;
            }
    return unknown_word(tmpl, kind, word, error);
}

// Of no element nothing is measured, and the clock's noise would win.
static st_code check_size(const st_axis *axis, int64_t value, st_error *error)
{
    return value > 0 || axis->data ? ST_OK
                                   : st_fail(error, ST_USAGE, "give a size from 1 on; headers take n = 0 all the same",
                                             "%s=0 cannot be tuned: there is nothing to measure", axis->name);
}

// "1Mi" for the first size axis, "n=1Mi" for a named one.
static st_code choose_size(const st_template *tmpl, const char *word, chosen *some, st_error *error)
{
    const char *equals = strchr(word, '='), *number = equals ? equals + 1 : word;
    int64_t value;
    for (size_t i = 0; i < tmpl->axis_count; i++) {
        const st_axis *axis = &tmpl->axes[i];
        bool named = equals && strlen(axis->name) == (size_t)(equals - word) &&
                     strncmp(axis->name, word, (size_t)(equals - word)) == 0;
        if (axis->kind != ST_AXIS_SIZE || (equals ? !named : axis->data))
            continue;
        if (!st_text_to_int(number, &value) || value < 0 || value > (int64_t)1 << 48)
            return st_fail(error, ST_USAGE, "write sizes like 1000, 64Ki, 16Mi or 2^24", "%s is no size", number);
        if (check_size(axis, value, error) != ST_OK)
            return ST_USAGE;
        if (!add_value(&some[i], value))
            return st_fail(error, ST_USAGE, "give at most 64", "too many sizes");
        some[i].expressly = true;
        return ST_OK;
    }
    return st_fail(error, ST_USAGE, "simtune templates FAMILY shows the axes", "%s has no size axis for %s",
                   tmpl->family, word);
}

static st_code unknown_axis(const st_template *tmpl, const char *name, st_error *error)
{
    st_text known;
    st_text_init(&known);
    st_text_add(&known, tmpl->axis_count ? "its axes are" : "leave the option out");
    for (size_t i = 0; i < tmpl->axis_count; i++)
        st_text_addf(&known, " %s", tmpl->axes[i].name);
    st_code code = st_fail(error, ST_USAGE, st_text_string(&known), "%s has no axis %s", tmpl->family, name);
    st_text_release(&known);
    return code;
}

static st_code choose_axis_value(const st_template *tmpl, int index, const char *word, chosen *to, st_error *error)
{
    const st_axis *axis = &tmpl->axes[index];
    int64_t value;
    if (strcmp(word, "all") == 0) {
        for (size_t v = 0; v < axis->value_count; v++)
            if (!add_value(to, axis->values[v].number))
                return st_fail(error, ST_USAGE, "name some of them", "%s has more than 64 values", axis->name);
        return ST_OK;
    }
    st_code code = st_axis_value(tmpl, index, word, &value, error);
    if (code == ST_OK && axis->kind == ST_AXIS_SIZE && value > (int64_t)1 << 48)
        code = st_fail(error, ST_USAGE, "write sizes like 1000, 64Ki, 16Mi or 2^24", "%s is no size", word);
    if (code == ST_OK && axis->kind == ST_AXIS_SIZE)
        code = check_size(axis, value, error);
    if (code == ST_OK && !add_value(to, value))
        code = st_fail(error, ST_USAGE, "give at most 64", "too many values of %s", axis->name);
    return code;
}

// "percent=1,10" or "percent=all": values of any axis, of the data too.
static st_code choose_axis(const st_template *tmpl, const char *words, chosen *some, st_error *error)
{
    const char *equals = strchr(words, '=');
    char *name = equals ? st_strndup(words, (size_t)(equals - words)) : NULL;
    if (!equals)
        return st_fail(error, ST_USAGE, "write --axis NAME=VALUE,VALUE", "--axis %s names no value", words);
    if (!name)
        return st_fail_memory(error, "reading the command line");
    int index = st_template_axis(tmpl, name);
    st_code code = index < 0 ? unknown_axis(tmpl, name, error) : ST_OK;
    bool every = false;
    for (const char *at = equals + 1; code == ST_OK; at++) {
        size_t length = strcspn(at, ",");
        char *word = st_strndup(at, length);
        code = word ? choose_axis_value(tmpl, index, word, &some[index], error)
                    : st_fail_memory(error, "reading the command line");
        every = every || (word && strcmp(word, "all") == 0);
        st_free(word);
        at += length;
        if (!*at)
            break;
    }
    if (code == ST_OK)
        some[index].expressly = !every;
    st_free(name);
    return code;
}

// Sizes that the emulated device computes in a moment, for a template whose own are larger. Several size axes
// are all small.
static bool choose_small(const st_template *tmpl, chosen *some)
{
    enum { SMALL = 1 << 10, LARGE = 1 << 16, MANY = 256 };
    size_t axes = 0;
    bool larger = false;
    for (size_t i = 0; i < tmpl->axis_count; i++)
        axes += tmpl->axes[i].kind == ST_AXIS_SIZE && !tmpl->axes[i].data;
    for (size_t i = 0; i < tmpl->axis_count; i++) {
        const st_axis *axis = &tmpl->axes[i];
        bool replace = false;
        for (size_t v = 0; axis->kind == ST_AXIS_SIZE && !axis->data && v < axis->value_count; v++)
            replace = replace || axis->values[v].number > (axes > 1 ? MANY : LARGE);
        if (!replace || some[i].count)
            continue;
        larger = true;
        add_value(&some[i], axes > 1 ? MANY : SMALL);
        if (axes == 1)
            add_value(&some[i], LARGE);
    }
    return larger;
}

// What was not chosen: the first type, word and property of the data, every size.
static void choose_defaults(const st_template *tmpl, chosen *some)
{
    for (size_t i = 0; i < tmpl->axis_count; i++) {
        bool all = tmpl->axes[i].kind == ST_AXIS_SIZE && !tmpl->axes[i].data;
        size_t wanted = all ? tmpl->axes[i].value_count : 1;
        for (size_t v = 0; v < wanted && some[i].count < wanted; v++)
            add_value(&some[i], tmpl->axes[i].values[v].number);
    }
}

static st_code make_problems(const st_template *tmpl, const chosen *some, st_tune_words *out, st_error *error)
{
    size_t count = 1;
    for (size_t i = 0; i < tmpl->axis_count; i++)
        if (__builtin_mul_overflow(count, some[i].count, &count) || count > 10000)
            return st_fail(error, ST_USAGE, "name fewer types and sizes", "these are more than 10000 problems");
    out->problems = st_calloc(count, sizeof *out->problems);
    if (!out->problems)
        return st_fail_memory(error, "listing problems");
    out->problem_count = count;
    for (size_t p = 0; p < count; p++) {
        size_t rest = p;
        // Sizes move fastest, so that problems of one type and word stand together.
        for (int pass = 0; pass < 2; pass++)
            for (size_t i = tmpl->axis_count; i-- > 0;)
                if ((tmpl->axes[i].kind == ST_AXIS_SIZE) == (pass == 0)) {
                    out->problems[p].value[i] = some[i].values[rest % some[i].count];
                    rest /= some[i].count;
                }
    }
    return ST_OK;
}

static bool asks_for(const st_template *tmpl, const st_expression *rule, int slot)
{
    if (st_expression_uses(rule, slot))
        return true;
    for (size_t i = 0; i < tmpl->let_count; i++)
        if (st_expression_uses(rule, tmpl->lets[i].slot) && asks_for(tmpl, tmpl->lets[i].value, slot))
            return true;
    return false;
}

// Did the user name all that the rule forbids, or is it what came along?
static bool is_express(const st_template *tmpl, const st_expression *rule, const chosen *some)
{
    for (size_t i = 0; i < tmpl->axis_count; i++)
        if (!some[i].expressly && asks_for(tmpl, rule, tmpl->axes[i].slot))
            return false;
    return true;
}

static st_code refuse_problem(const st_template *tmpl, const st_problem *problem, const st_expression *rule,
                              st_error *error)
{
    st_place place = st_expression_place(rule);
    st_text text;
    st_text_init(&text);
    st_problem_text(tmpl, problem, &text);
    st_code code = st_fail(error, ST_USAGE, "choose other values of these axes", "%s:%d: %s is no problem of %s: %s",
                           place.file ? place.file : "", place.line, st_text_string(&text), tmpl->family,
                           st_expression_text(rule));
    st_text_release(&text);
    return code;
}

// Leaves out the combinations that make no sense, and refuses them where they were asked for; leaves out what is
// not usual, unless it was asked for.
static st_code keep_sensible(const st_template *tmpl, const chosen *some, st_tune_words *out, st_error *error)
{
    size_t kept = 0;
    const st_expression *first = NULL;
    for (size_t p = 0; p < out->problem_count; p++) {
        const st_expression *broken = st_problem_broken_rule(tmpl, &out->problems[p], NULL);
        if (broken && is_express(tmpl, broken, some))
            return refuse_problem(tmpl, &out->problems[p], broken, error);
        const st_expression *unusual = broken ? NULL : st_problem_unusual_rule(tmpl, &out->problems[p]);
        if (unusual && is_express(tmpl, unusual, some))
            unusual = NULL;
        first = first ? first : broken ? broken : unusual;
        if (!broken && !unusual)
            out->problems[kept++] = out->problems[p];
    }
    if (!kept && out->problem_count)
        return refuse_problem(tmpl, &out->problems[0], first, error);
    out->problem_count = kept;
    return ST_OK;
}

static st_code read_problems(st_cli *cli, const st_template *tmpl, st_tune_words *out, st_error *error)
{
    chosen *some = st_calloc(ST_MAX_AXES, sizeof *some);
    st_code code = some ? ST_OK : st_fail_memory(error, "listing problems");
    for (size_t i = 0; i < out->types.count && code == ST_OK; i++)
        code = choose_word(tmpl, ST_AXIS_TYPE, out->types.items[i], some, error);
    for (size_t i = 0; i < out->words.count && code == ST_OK; i++)
        code = choose_word(tmpl, ST_AXIS_WORD, out->words.items[i], some, error);
    for (size_t i = 0; i < out->sizes.count && code == ST_OK; i++)
        code = choose_size(tmpl, out->sizes.items[i], some, error);
    for (size_t i = 0; i < out->axes.count && code == ST_OK; i++)
        code = choose_axis(tmpl, out->axes.items[i], some, error);
    if (code == ST_OK && st_cli_wants_emulated(cli) && choose_small(tmpl, some))
        fprintf(cli->talk, "note: the emulated device computes on the CPU, so n is small unless --size says more\n");
    if (code == ST_OK) {
        // Only axes without any word of the user get their defaults.
        chosen *defaults = st_calloc(ST_MAX_AXES, sizeof *defaults);
        if (!defaults)
            code = st_fail_memory(error, "listing problems");
        else {
            choose_defaults(tmpl, defaults);
            for (size_t i = 0; i < tmpl->axis_count; i++)
                if (!some[i].count)
                    some[i] = defaults[i];
            code = make_problems(tmpl, some, out, error);
            if (code == ST_OK)
                code = keep_sensible(tmpl, some, out, error);
        }
        st_free(defaults);
    }
    st_free(some);
    return code;
}

// Old names ("float") as the type's name, which the store knows.
static st_code name_types(st_tune_words *out, st_error *error)
{
    for (size_t i = 0; i < out->types.count; i++) {
        const st_type *type = st_type_find(out->types.items[i]);
        char *name = type ? st_strdup(type->name) : NULL;
        if (type && !name)
            return st_fail_memory(error, "reading the command line");
        if (name) {
            st_free(out->types.items[i]);
            out->types.items[i] = name;
        }
    }
    return ST_OK;
}

// --- the other options --------------------------------------------------------------------------------------

static st_code read_number(st_cli *cli, const char *name, double missing, double low, double high, double *out,
                           st_error *error)
{
    const char *word = st_parsed_text(cli->parsed, name);
    *out = missing;
    if (!word)
        return ST_OK;
    char *end;
    *out = strtod(word, &end);
    if (end == word || *end || !(*out >= low && *out <= high))
        return st_fail(error, ST_USAGE, "see --help", "--%s %s is not a number from %g to %g", name, word, low,
                       high);
    return ST_OK;
}

static st_code read_whole(st_cli *cli, const char *name, int64_t missing, int64_t low, int64_t high, int64_t *out,
                          st_error *error)
{
    const char *word = st_parsed_text(cli->parsed, name);
    *out = missing;
    if (word && (!st_text_to_int(word, out) || *out < low || *out > high))
        return st_fail(error, ST_USAGE, "see --help", "--%s %s is not a whole number from %lld to %lld", name, word,
                       (long long)low, (long long)high);
    return ST_OK;
}

static st_code read_determinism(st_cli *cli, const st_template *tmpl, st_tune_options *options, st_error *error)
{
    const char *word = st_parsed_text(cli->parsed, "determinism");
    options->space.need_run_to_run = tmpl->determinism_count > 0;
    options->space.unless_default_none = !word;
    if (!word || strcmp(word, "run_to_run") == 0) {
        options->space.need_run_to_run = options->space.need_run_to_run || word;
        return ST_OK;
    }
    options->space.need_run_to_run = false;
    return strcmp(word, "none") == 0 ? ST_OK
                                     : st_fail(error, ST_USAGE, "there are run_to_run and none",
                                               "there is no determinism %s", word);
}

static st_code read_counters(st_cli *cli, st_tune_options *options, st_error *error)
{
    const char *word = st_parsed_text(cli->parsed, "counters");
    options->counters = !word || strcmp(word, "auto") == 0 ? ST_COUNTERS_AUTO
                        : strcmp(word, "off") == 0         ? ST_COUNTERS_OFF
                                                           : ST_COUNTERS_DEMANDED;
    if (options->counters == ST_COUNTERS_DEMANDED && strcmp(word, "required") != 0)
        return st_fail(error, ST_USAGE, "there are auto, off and required", "--counters %s is unknown", word);
    return ST_OK;
}

static st_code read_profile(st_cli *cli, st_tune_options *options, st_error *error)
{
    const char *word = st_parsed_text(cli->parsed, "profile");
    options->profile_all = word && strcmp(word, "all") == 0;
    if (word && !options->profile_all && strcmp(word, "survivors") != 0)
        return st_fail(error, ST_USAGE, "there are survivors and all", "--profile %s is unknown", word);
    return options->profile_all && options->counters == ST_COUNTERS_OFF
               ? st_fail(error, ST_USAGE, "leave one of them out", "--profile all needs what --counters off refuses")
               : ST_OK;
}

// Front-ends of --axis for axes that people name often. To add one: a row, and one of the options.
static st_code add_axis_words(st_cli *cli, st_list *axes, st_error *error)
{
    static const struct {
        const char *option, *axis, *value; // value NULL: the option's
    } rows[] = {{"kind", "kind", NULL}, {"ordered", "order", "ordered"}, {"any-order", "order", "any"}};
    if (st_parsed_flag(cli->parsed, "ordered") && st_parsed_flag(cli->parsed, "any-order"))
        return st_fail(error, ST_USAGE, "choose one, or both with --axis order=all",
                       "--ordered and --any-order together");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *given = st_parsed_text(cli->parsed, rows[i].option);
        if (!given)
            continue;
        char *words = st_format("%s=%s", rows[i].axis, rows[i].value ? rows[i].value : given);
        bool added = words && st_list_add(axes, words, strlen(words));
        st_free(words);
        if (!added)
            return st_fail_memory(error, "reading the command line");
    }
    return ST_OK;
}

// Asked for twice is asked for once: each has a table.
static void drop_twins(st_list *list)
{
    size_t kept = 0;
    for (size_t i = 0, j; i < list->count; i++) {
        for (j = 0; j < kept && strcmp(list->items[j], list->items[i]) != 0; j++)
            ;
        if (j < kept)
            st_free(list->items[i]);
        else
            list->items[kept++] = list->items[i];
    }
    list->count = kept;
}

static st_code read_lists(st_cli *cli, st_tune_words *out, st_error *error)
{
    st_code code = st_parsed_list(cli->parsed, "type", true, &out->types, error);
    if (code == ST_OK)
        code = st_parsed_list(cli->parsed, "op", true, &out->words, error);
    if (code == ST_OK)
        code = st_parsed_list(cli->parsed, "size", true, &out->sizes, error);
    if (code == ST_OK)
        code = st_parsed_list(cli->parsed, "axis", false, &out->axes, error);
    if (code == ST_OK)
        code = add_axis_words(cli, &out->axes, error);
    if (code == ST_OK)
        code = st_parsed_list(cli->parsed, "set", false, &out->set, error);
    if (code == ST_OK)
        code = st_parsed_list(cli->parsed, "vary", true, &out->vary, error);
    drop_twins(&out->vary);
    if (code == ST_OK)
        code = st_parsed_list(cli->parsed, "where", false, &out->where, error);
    return code;
}

// "BLOCK=256,UNROLL=8" is two settings, "BLOCK=128,256" one with two values.
static st_code split_settings(st_list *set, st_error *error)
{
    st_list made = {0};
    bool ok = true;
    for (size_t i = 0; i < set->count && ok; i++) {
        const char *start = set->items[i], *at = start;
        while (*at && ok) {
            const char *comma = strchr(at, ','), *equals = comma ? strchr(comma, '=') : NULL;
            const char *next = comma ? strchr(comma + 1, ',') : NULL;
            if (comma && equals && (!next || equals < next)) {
                ok = st_list_add(&made, start, (size_t)(comma - start));
                start = comma + 1;
            }
            at = comma ? comma + 1 : at + strlen(at);
        }
        ok = ok && st_list_add(&made, start, strlen(start));
    }
    if (!ok) {
        st_list_free(&made);
        return st_fail_memory(error, "reading the command line");
    }
    st_list_free(set);
    *set = made;
    return ST_OK;
}

st_code st_tune_words_read(st_cli *cli, const st_template *tmpl, st_tune_words *out, st_error *error)
{
    *out = (st_tune_words){0};
    st_tune_options *options = &out->options;
    double limit = 10;
    int64_t seed = 1, jobs = 0;
    st_code code = read_lists(cli, out, error);
    if (code == ST_OK)
        code = split_settings(&out->set, error);
    if (code == ST_OK)
        code = split_settings(&out->axes, error);
    if (code == ST_OK)
        code = read_problems(cli, tmpl, out, error);
    if (code == ST_OK)
        code = name_types(out, error);
    if (code == ST_OK)
        code = st_tune_budget_read(cli, out, error);
    if (code == ST_OK)
        code = read_whole(cli, "seed", 1, 0, INT64_MAX, &seed, error);
    if (code == ST_OK)
        code = read_number(cli, "time-limit", 10, 0.01, 86400, &limit, error);
    if (code == ST_OK)
        code = read_whole(cli, "jobs", 0, 1, 256, &jobs, error);
    if (code == ST_OK)
        code = st_tune_strategy_read(cli, out, error);
    if (code == ST_OK)
        code = read_determinism(cli, tmpl, options, error);
    if (code == ST_OK)
        code = read_counters(cli, options, error);
    if (code == ST_OK)
        code = read_profile(cli, options, error);
    if (code != ST_OK) {
        st_tune_words_release(out);
        return code;
    }
    options->tmpl = tmpl;
    options->problems = out->problems;
    options->problem_count = out->problem_count;
    options->space.set = (const char *const *)out->set.items;
    options->space.set_count = out->set.count;
    options->space.vary = (const char *const *)out->vary.items;
    options->space.vary_count = out->vary.count;
    options->space.where = (const char *const *)out->where.items;
    options->space.where_count = out->where.count;
    options->seed = (uint64_t)seed;
    options->time_limit = limit;
    options->compile_processes = (int)jobs;
    options->fresh = st_parsed_flag(cli->parsed, "fresh");
    options->no_history = st_parsed_flag(cli->parsed, "no-history");
    options->command = cli->command_line;
    options->interrupted = cli->interrupted;
    return ST_OK;
}

void st_tune_words_release(st_tune_words *words)
{
    st_list_free(&words->types);
    st_list_free(&words->words);
    st_list_free(&words->sizes);
    st_list_free(&words->axes);
    st_list_free(&words->set);
    st_list_free(&words->vary);
    st_list_free(&words->where);
    st_free(words->problems);
    *words = (st_tune_words){0};
}
