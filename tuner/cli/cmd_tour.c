// SPDX-License-Identifier: Apache-2.0
// `simtune tour`: what articles on warp stalls show, as tables out of the store. --measure fills a stop by the same way as
// `simtune tune`, on the GPU that is here.
#include "reports/tour.h"
#include "tuner/base/memory.h"
#include "tuner/base/paths.h"
#include "tuner/cli/cli_answers.h"
#include "tuner/gpu/gpu.h"

#include <stdio.h>
#include <string.h>

static const st_tour_stop *find_stop(const char *id)
{
    size_t count;
    const st_tour_stop *stops = st_tour_stops(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(stops[i].id, id) == 0)
            return &stops[i];
    return NULL;
}

static st_code unknown_stop(const char *id, st_error *error)
{
    size_t count;
    const st_tour_stop *stops = st_tour_stops(&count);
    st_text all;
    st_text_init(&all);
    for (size_t i = 0; i < count; i++)
        st_text_addf(&all, "%s%s", i ? " " : "", stops[i].id);
    st_code code = st_fail(error, ST_USAGE, NULL, "the tour has no stop %s", id);
    if (error)
        snprintf(error->remedy, sizeof error->remedy, "its stops are %s", st_text_string(&all));
    st_text_release(&all);
    return code;
}

// --- measuring ----------------------------------------------------------------------------------------------------------

// The words of a command as arguments, in the memory of `words`.
static int split(char *words, char **out, int most)
{
    int count = 0;
    for (char *at = strtok(words, " "); at && count < most; at = strtok(NULL, " "))
        out[count++] = at;
    return count;
}

static st_code measure_with(st_cli *cli, int count, char **arguments, st_error *error)
{
    const st_command *tune = st_command_find("tune");
    const st_option *tables[8];
    size_t used = 0;
    for (; tune->tables[used] && used < 6; used++)
        tables[used] = tune->tables[used];
    tables[used++] = st_options_common;
    tables[used] = NULL;
    st_parsed parsed = {0};
    FILE *nowhere = fopen("/dev/null", "w");
    st_cli inner = *cli;
    inner.parsed = &parsed;
    inner.out = nowhere;
    inner.json = false;
    st_code code = nowhere ? st_options_parse(tables, count, arguments, &parsed, error)
                           : st_fail(error, ST_FAILED, NULL, "/dev/null cannot be opened");
    if (code == ST_OK)
        code = tune->run(&inner, error);
    st_parsed_release(&parsed);
    if (nowhere)
        fclose(nowhere);
    return code;
}

// An example by its place; families are found by their names.
static st_code find_template(char **word, st_text *path, st_error *error)
{
    size_t length = strlen(*word);
    if (length < 4 || strcmp(*word + length - 3, ".cu") != 0)
        return ST_OK;
    st_text relative;
    st_text_init(&relative);
    st_text_addf(&relative, "templates/examples/%s", *word);
    st_code code = relative.failed ? st_fail_memory(error, "looking for an example")
                                   : st_paths_shipped(st_text_string(&relative), path, error);
    st_text_release(&relative);
    if (code == ST_OK)
        *word = path->data;
    return code;
}

// As `simtune tune … --strategy exhaustive --profile all --no-header` on the same store and device.
static st_code measure(st_cli *cli, const st_tour_stop *stop, st_error *error)
{
    enum { WORDS_MOST = 40 };
    static const char *const passed[][2] = {
        {"device", "--device"}, {"arch", "--arch"}, {"db", "--db"}, {"budget", "--budget"}};
    char *arguments[WORDS_MOST + 16], *memory = st_strdup(stop->measure);
    st_text path;
    st_text_init(&path);
    int count = memory ? split(memory, arguments, WORDS_MOST) : 0;
    st_code code = memory ? find_template(&arguments[0], &path, error) : st_fail_memory(error, "measuring a stop");
    for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++) {
        const char *value = st_parsed_text(cli->parsed, passed[i][0]);
        if (value) {
            arguments[count++] = (char *)(uintptr_t)passed[i][1];
            arguments[count++] = (char *)(uintptr_t)value;
        }
    }
    arguments[count++] = (char *)(uintptr_t) "--strategy"; // what a stop compares is measured, also where it is slow
    arguments[count++] = (char *)(uintptr_t) "exhaustive";
    arguments[count++] = (char *)(uintptr_t) "--profile";
    arguments[count++] = (char *)(uintptr_t) "all";
    arguments[count++] = (char *)(uintptr_t) "--no-header";
    if (code == ST_OK) {
        st_cli_tell(cli, cli->talk, "measuring %s: simtune tune %s\n", stop->id, stop->measure);
        code = measure_with(cli, count, arguments, error);
    }
    st_text_release(&path);
    st_free(memory);
    return code;
}

// A tour that measures wants a device; without one `tune` would answer from history.
static st_code check_device(st_cli *cli, st_error *error)
{
    st_cli_device device;
    st_code code = st_cli_find_device(cli, &device, error);
    if (code == ST_OK && !device.present)
        code = st_fail(error, ST_NOTHING,
                       "leave --measure out for what the store has; simtune doctor tells what is found here",
                       "no GPU is here to measure on");
    return code;
}

// --- showing --------------------------------------------------------------------------------------------------------------

// The UUID of a GPU that is here; "": none.
static void find_here(char out[48])
{
    const st_gpu_operations *ops = st_gpu_backend("cuda");
    st_device_facts facts;
    int count = 0;
    out[0] = '\0';
    if (ops && ops->count(&count, NULL) == ST_OK && count > 0 && ops->facts(0, &facts, NULL) == ST_OK)
        snprintf(out, 48, "%s", facts.uuid);
}

typedef struct showing {
    st_cli *cli;
    st_store *store;
    const st_cli_filter *filter; // whose figures
    char here[48];
    st_text text;
    json_t *list; // NULL: for people
    size_t shown;
} showing;

static st_code show_stop(showing *to, const st_tour_stop *stop, size_t number, st_error *error)
{
    st_tour_found found;
    const st_cli_filter *filter = to->filter;
    st_code code = st_tour_find(to->store, stop, filter->query.device, filter->archs, filter->arch_count, &found, error);
    if (code != ST_OK)
        return code;
    if (to->list && json_array_append_new(to->list, st_tour_json(stop, &found, to->here)) != 0)
        code = st_fail_memory(error, "showing a stop of the tour");
    if (!to->list) {
        st_text_add(&to->text, to->text.length ? "\n" : "");
        st_tour_text(stop, &found, number, to->here, 0, &to->text);
    }
    to->shown += found.found;
    st_tour_found_release(&found);
    return code == ST_OK && to->text.failed ? st_fail_memory(error, "showing a stop of the tour") : code;
}

// Of what was asked for there is nothing; of another device there may be.
static st_code cannot_show(const st_cli_filter *filter, const st_tour_stop *only, st_error *error)
{
    st_text whose;
    st_text_init(&whose);
    for (size_t i = 0; i < filter->arch_count; i++)
        st_text_addf(&whose, "%ssm_%d", i ? " or " : " of ", filter->archs[i]);
    if (filter->query.device)
        st_text_addf(&whose, " on %s", filter->query.device);
    st_code code = st_fail(error, ST_NOTHING, whose.length ? "simtune tour without --arch and --device shows what there is of others"
                                                           : "simtune tour --measure measures it on a GPU",
                           "the store cannot show %s%s", only ? only->id : "a stop", st_text_string(&whose));
    st_text_release(&whose);
    return code;
}

static st_code show(st_cli *cli, showing *to, st_error *error)
{
    size_t count;
    const st_tour_stop *stops = st_tour_stops(&count),
                       *only = cli->parsed->word_count ? find_stop(cli->parsed->words[0]) : NULL;
    st_code code = ST_OK;
    for (size_t i = 0; i < count && code == ST_OK; i++)
        if (!only || &stops[i] == only)
            code = show_stop(to, &stops[i], i + 1, error);
    if (code == ST_OK && to->list)
        code = st_cli_print_json(cli, json_pack("{s:s, s:O}", "schema", "simtune.tour/1", "stops", to->list), error);
    else if (code == ST_OK)
        st_cli_print(cli, cli->out, st_text_string(&to->text));
    if (code != ST_OK || to->shown || !(only || to->filter->arch_count || to->filter->query.device))
        return code;
    return cannot_show(to->filter, only, error);
}

static st_code measure_all(st_cli *cli, st_error *error)
{
    size_t count;
    const st_tour_stop *stops = st_tour_stops(&count),
                       *only = cli->parsed->word_count ? find_stop(cli->parsed->words[0]) : NULL;
    st_code code = check_device(cli, error);
    for (size_t i = 0; i < count && code == ST_OK; i++)
        if (!only || &stops[i] == only)
            code = measure(cli, &stops[i], error);
    return code;
}

st_code st_cmd_tour(st_cli *cli, st_error *error)
{
    st_cli_filter filter;
    showing to = {.cli = cli};
    if (cli->parsed->word_count > 1)
        return st_fail(error, ST_USAGE, "one stop, or none for all", "tour takes no %s", cli->parsed->words[1]);
    if (cli->parsed->word_count && !find_stop(cli->parsed->words[0]))
        return unknown_stop(cli->parsed->words[0], error);
    if (st_parsed_text(cli->parsed, "budget") && !st_parsed_flag(cli->parsed, "measure"))
        return st_fail(error, ST_USAGE, "add --measure", "--budget is of what --measure tries");
    st_code code = st_parsed_flag(cli->parsed, "measure") ? measure_all(cli, error) : ST_OK;
    if (code == ST_OK)
        code = st_cli_filter_read(cli, &filter, error);
    if (code != ST_OK)
        return code;
    st_text_init(&to.text);
    to.filter = &filter;
    to.list = cli->json ? json_array() : NULL;
    find_here(to.here);
    if (cli->json && !to.list)
        code = st_fail_memory(error, "showing the tour");
    if (code == ST_OK)
        code = st_cli_store(cli, ST_STORE_READ, &to.store, error);
    if (code == ST_OK)
        code = show(cli, &to, error);
    json_decref(to.list);
    st_text_release(&to.text);
    st_store_close(to.store);
    return code;
}
