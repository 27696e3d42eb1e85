// SPDX-License-Identifier: Apache-2.0
// A run without a GPU (DESIGN.md §10). Of several devices of an arch one is taken by a fixed rule; what was measured goes
// before what was predicted.
#include "tuner/cli/tune_history.h"

#include "reports/format.h"
#include "reports/summary.h"
#include "tuner/base/clock.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/cli/cli_answers.h"
#include "tuner/gpu/device_class.h"
#include "tuner/publish.h"

#include <math.h>
#include <string.h>

// --- whose figures ---------------------------------------------------------------------------------------------------

// The reference device: one that was measured, with this version of the template, the fastest memory, then by name. Its name and class stand for all cards of the kind: history comes from several.
typedef struct reference {
    char name[96], date[ST_DATE_TEXT], driver[32];
    int cc, sm_count;
    double read_gbs;
    bool current;   // this version of the template
    bool predicted; // nothing was measured
} reference;

typedef struct looking {
    const st_template *tmpl;
    reference best;
    int cc; // -1: any
    bool found;
} looking;

static bool is_better(const looking *at, const reference *other)
{
    if (!at->found || other->predicted != at->best.predicted)
        return !at->found || !other->predicted;
    if (other->current != at->best.current)
        return other->current;
    return other->read_gbs > at->best.read_gbs ||
           (other->read_gbs == at->best.read_gbs && strcmp(other->name, at->best.name) < 0);
}

static st_code consider(void *context, const st_answer *answer, st_error *error)
{
    (void)error;
    looking *at = context;
    bool predicted = st_text_equal(answer->backend, ST_PREDICTED_BACKEND);
    if (!answer->is_winner || (!predicted && !st_backend_is_hardware(answer->backend)) ||
        (at->cc > 0 && answer->cc != at->cc))
        return ST_OK;
    reference other = {.cc = answer->cc,
                       .predicted = predicted,
                       .sm_count = answer->sm_count,
                       .read_gbs = isnan(answer->read_gbs) ? 0 : answer->read_gbs,
                       .current = st_text_equal(answer->template_hash, at->tmpl->hash)};
    snprintf(other.name, sizeof other.name, "%s", answer->device_name);
    if (!is_better(at, &other))
        return ST_OK;
    at->found = true;
    at->best = other;
    snprintf(at->best.driver, sizeof at->best.driver, "%s", answer->driver ? answer->driver : "");
    st_clock_date(answer->taken_ms, at->best.date);
    return ST_OK;
}

// --- what is said of it ----------------------------------------------------------------------------------------------

// Keeps the choices whose type and words were asked for; sizes all serve.
static size_t keep_asked(const st_tune_words *words, const st_template *tmpl, st_choice *choices, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool asked = false;
        for (size_t p = 0; p < words->problem_count && !asked; p++) {
            asked = true;
            for (size_t x = 0; x < tmpl->axis_count; x++)
                asked = asked && (tmpl->axes[x].kind == ST_AXIS_SIZE ||
                                  choices[i].problem.value[x] == words->problems[p].value[x]);
        }
        if (asked)
            choices[kept++] = choices[i];
    }
    return kept;
}

static void print_choice(st_cli *cli, const st_template *tmpl, const st_choice *choice, json_t *list)
{
    enum { TIME_COLUMNS = 10 };
    st_text problem, config, time, line;
    st_text_init(&problem);
    st_text_init(&config);
    st_text_init(&time);
    st_text_init(&line);
    st_problem_text(tmpl, &choice->problem, &problem);
    st_config_text(tmpl, &choice->config, &config);
    st_report_time(&time, choice->median_ns);
    st_report_right(&line, st_text_string(&time), TIME_COLUMNS);
    if (cli->json)
        json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:o}", "problem", st_text_string(&problem),
                                              "configuration", st_text_string(&config), "median_ns",
                                              st_json_number(choice->median_ns), "speedup",
                                              st_json_number(choice->speedup)));
    else if (choice->predicted)
        fprintf(cli->out, "%s\n    %s\n", st_text_string(&problem), st_text_string(&config));
    else
        fprintf(cli->out, "%-28s %s  %.2f x the default\n    %s\n", st_text_string(&problem), st_text_string(&line),
                choice->speedup, st_text_string(&config));
    st_text_release(&line);
    st_text_release(&time);
    st_text_release(&config);
    st_text_release(&problem);
}

// What the winner with the largest gain is faster by, from its counters.
static st_code add_why(st_store *store, const st_template *tmpl, const st_choice *choices, size_t count,
                       const char *cache, st_text *why, st_error *error)
{
    const st_choice *best = &choices[0];
    for (size_t i = 1; i < count; i++)
        if (choices[i].speedup > best->speedup)
            best = &choices[i];
    st_text problem;
    st_text_init(&problem);
    st_problem_text(tmpl, &best->problem, &problem);
    st_code code = st_summary_why(store, best->session_id, st_text_string(&problem), cache, why, error);
    st_text_release(&problem);
    return code;
}

// Of what is shown, not of all that the device was ever asked for.
static void date_newest(const st_choice *choices, size_t count, reference *from)
{
    int64_t newest = 0;
    for (size_t i = 0; i < count; i++)
        newest = choices[i].measured_ms > newest ? choices[i].measured_ms : newest;
    if (newest > 0)
        st_clock_date(newest, from->date);
}

static st_code history_print(st_cli *cli, const st_template *tmpl, st_store *store, const reference *from,
                             const st_choice *choices, size_t count, const char *cache, const char *path,
                             bool changed, st_error *error)
{
    st_text why;
    st_text_init(&why);
    json_t *list = json_array();
    if (!list)
        return st_fail_memory(error, "printing what is known");
    if (!cli->json && from->predicted)
        fprintf(cli->out, "NOT TUNED HERE: PREDICTED, not measured, for %s (sm_%d, %d SMs), %s\n", from->name, from->cc,
                from->sm_count, from->date);
    else if (!cli->json)
        fprintf(cli->out, "NOT TUNED HERE: figures of %s (sm_%d, %d SMs), driver %s, %s\n", from->name, from->cc,
                from->sm_count, from->driver, from->date);
    for (size_t i = 0; i < count; i++)
        print_choice(cli, tmpl, &choices[i], list);
    st_code code = from->predicted ? ST_OK : add_why(store, tmpl, choices, count, cache, &why, error);
    if (code == ST_OK && cli->json) {
        json_t *all = json_pack("{s:s, s:b, s:b, s:s, s:i, s:i, s:s, s:s, s:s, s:s?, s:s, s:O}", "schema",
                                "simtune.history/1", "tuned_here", 0, "predicted", (int)from->predicted, "device", from->name, "cc", from->cc,
                                "sm_count", from->sm_count, "driver", from->driver, "date", from->date, "cache",
                                cache, "header", path[0] ? path : NULL, "why", st_text_string(&why), "winners",
                                list);
        code = st_cli_print_json(cli, all, error);
    } else if (code == ST_OK) {
        if (path[0])
            fprintf(cli->out, "%s %s\n", changed ? "wrote" : "unchanged:", path);
        fprintf(cli->out, "%s", st_text_string(&why));
    }
    json_decref(list);
    st_text_release(&why);
    return code;
}

// What to give so that there is one of these words. Of its own type and operation, literally.
static st_code fail_unpredicted(st_cli *cli, const reference *from, st_error *error)
{
    static const char *const options[] = {"type", "op"};
    st_text remedy;
    st_text_init(&remedy);
    const st_known_device *usual = st_known_device_find((st_device_class){.cc = from->cc, .sm_count = -1}, -1);
    st_text_addf(&remedy, "simtune predict %s --arch %d", cli->parsed->words[0], from->cc);
    if (!usual || usual->sm_count != from->sm_count)
        st_text_addf(&remedy, "/%d", from->sm_count);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (st_parsed_text(cli->parsed, options[i]))
            st_text_addf(&remedy, " --%s %s", options[i], st_parsed_text(cli->parsed, options[i]));
    st_code code = st_fail(error, ST_NOTHING, NULL, "%s has no prediction of that type and operation, only of others",
                           from->name);
    if (error && !remedy.failed)
        snprintf(error->remedy, sizeof error->remedy, "%s, then this again", st_text_string(&remedy));
    st_text_release(&remedy);
    return code;
}

static st_code fail_unknown(st_cli *cli, const st_template *tmpl, int cc, bool warm, st_error *error)
{
    char remedy[256];
    if (cc <= 0)
        return st_fail(error, ST_NOTHING, "run it on a machine with a GPU; simtune doctor tells what is found here",
                       "no GPU is here, and no history of %s is known", tmpl->family);
    if (warm)
        return st_fail(error, ST_NOTHING, "run it on such a GPU; or leave --warm out: predictions are of the cold cache only",
                       "such a GPU is not here, and no history of %s by the warm cache is known for this arch",
                       tmpl->family);
    snprintf(remedy, sizeof remedy, "run it on such a GPU; or choose without measuring, and run it again: simtune predict %s --arch %d",
             cli->parsed->words[0], cc);
    return st_fail(error, ST_NOTHING, remedy, "such a GPU is not here, and no history of %s is known for this arch",
                   tmpl->family);
}

static st_code history_header(st_cli *cli, const st_template *tmpl, st_store *store, reference *from,
                              const st_tune_words *words, const char *cache, st_error *error)
{
    st_publish wanted = {.device = from->name, .cc = from->cc, .sm_count = from->sm_count, .cache = cache};
    st_choice *choices = NULL;
    size_t count = 0;
    st_text path;
    st_text_init(&path);
    bool changed = false;
    st_code code = st_choices_from_store(store, tmpl, &wanted, &choices, &count, NULL, NULL, error);
    st_emit_options options = {.cache = cache, .not_tuned_here = true, .command = cli->command_line};
    bool writes = !st_parsed_flag(cli->parsed, "no-header") && !st_parsed_flag(cli->parsed, "dry-run");
    if (code == ST_OK) {
        count = keep_asked(words, tmpl, choices, count);
        if (!count && from->predicted)
            code = fail_unpredicted(cli, from, error);
        else if (!count)
            code = st_fail(error, ST_NOTHING, "simtune query shows what there is; tune the rest on a GPU",
                           "the history of %s has no winner of that type and operation", from->name);
    }
    date_newest(choices, count, from);
    if (code == ST_OK && writes)
        code = st_header_publish(tmpl, choices, count, &options, st_parsed_text(cli->parsed, "output"), &path,
                                 &changed, error);
    if (code == ST_OK)
        code = history_print(cli, tmpl, store, from, choices, count, cache, st_text_string(&path), changed, error);
    st_text_release(&path);
    st_free(choices);
    return code;
}

// A header is of the first value of each axis of the data, which its callers do not know.
static bool asks_for_data(const st_template *tmpl, const st_tune_words *words)
{
    for (size_t x = 0; x < tmpl->axis_count; x++)
        for (size_t p = 0; p < words->problem_count && tmpl->axes[x].data; p++)
            if (words->problems[p].value[x] != words->problems[0].value[x] ||
                (tmpl->axes[x].value_count && words->problems[p].value[x] != tmpl->axes[x].values[0].number))
                return true;
    return false;
}

// Unknown parameters and values are refused here as on a GPU. Without a device nothing else can be judged.
static st_code check_space_words(const st_tune_words *words, st_error *error)
{
    st_space *space = NULL;
    st_error why = {0};
    st_code code = st_space_open(words->options.tmpl, &words->problems[0], NULL, &words->options.space, &space, &why);
    st_space_close(space);
    if (code != ST_USAGE)
        return ST_OK;
    if (error)
        *error = why;
    return code;
}

st_code st_tune_from_history(st_cli *cli, const st_template *tmpl, const st_tune_words *words, int cc, st_error *error)
{
    st_store *store = NULL;
    looking at = {.tmpl = tmpl, .cc = cc};
    st_code named = check_space_words(words, error);
    if (named != ST_OK)
        return named;
    if (words->options.space.set_count || words->options.space.vary_count || words->options.space.where_count ||
        st_parsed_text(cli->parsed, "size") || asks_for_data(tmpl, words))
        fprintf(cli->talk, "note: nothing is tuned without a GPU: --set, --vary, --where, --size and --axis of the data "
                           "have no effect\n");
    if (st_parsed_flag(cli->parsed, "dry-run"))
        fprintf(cli->talk, "note: a dry run: without a GPU this is what a run would say; nothing is written\n");
    const char *cache = st_parsed_flag(cli->parsed, "warm") ? "warm" : "cold";
    st_query query = {.family = tmpl->family, .cc = cc, .sm_count = -1, .n = -1, .since_ms = -1, .cache = cache,
                      .best = true};
    st_code code;
    if (cc > 0)
        code = st_cli_store(cli, ST_STORE_READ, &store, error);
    else { // by a rule that does not depend on the user's store; but one that was named must be sound
        const char *path = st_parsed_text(cli->parsed, "db");
        st_error why = {0};
        code = path ? st_store_open(path, ST_STORE_READ, &store, &why) : ST_NOTHING;
        st_store_close(store);
        store = NULL;
        if (code != ST_OK && code != ST_NOTHING) {
            if (error)
                *error = why;
            return code;
        }
        code = st_store_open(":memory:", ST_STORE_WRITE, &store, error);
        if (code == ST_OK)
            code = st_cli_import_shipped(store, error);
    }
    if (code == ST_OK)
        code = st_store_query(store, &query, consider, &at, error);
    if (code == ST_OK && !at.found)
        code = fail_unknown(cli, tmpl, cc, strcmp(cache, "warm") == 0, error);
    if (code == ST_OK)
        code = history_header(cli, tmpl, store, &at.best, words, cache, error);
    st_store_close(store);
    return code;
}
