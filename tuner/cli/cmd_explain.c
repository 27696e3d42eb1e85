// SPDX-License-Identifier: Apache-2.0
// `simtune explain`: why a candidate, or a winner against its default, takes the time it takes. Reads the store alone;
// that a GPU is here only decides whether it is said that the figures are another's.
#include "reports/explain.h"
#include "tuner/base/memory.h"
#include "tuner/cli/cli_answers.h"
#include "tuner/cli/families.h"
#include "tuner/cli/shipped.h"
#include "tuner/gpu/gpu.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// --- a stall by its name --------------------------------------------------------------------------------------------

static st_code unknown_stall(const char *name, st_error *error)
{
    size_t count;
    const st_stall *stalls = st_stalls(&count);
    const char *names[ST_VIEW_STALLS];
    st_text all;
    st_text_init(&all);
    for (size_t i = 0; i < count; i++) {
        names[i] = stalls[i].name;
        st_text_addf(&all, "%s%s", i ? " " : "", stalls[i].name);
    }
    int nearest = st_text_nearest(name, names, count);
    st_code code = st_fail(error, ST_USAGE, NULL, "no stall reason is called %s, in articles neither", name);
    if (error && nearest >= 0)
        snprintf(error->remedy, sizeof error->remedy, "did you mean %s?", names[nearest]);
    else if (error)
        snprintf(error->remedy, sizeof error->remedy, "there are %s; all explains every one", st_text_string(&all));
    st_text_release(&all);
    return code;
}

// An example comes out of a store that is there; for the words none is needed, nor made.
static st_code open_examples(st_cli *cli, st_store **out, st_error *error)
{
    const char *path = st_parsed_text(cli->parsed, "db");
    *out = NULL;
    st_code code = st_store_open(path, ST_STORE_READ, out, error);
    if (code == ST_NOTHING && !path)
        code = st_shipped_open_made(out);
    return code == ST_NOTHING ? ST_OK : code;
}

static st_code add_stall(st_store *store, int stall, const char *asked, json_t *list, st_text *text, st_error *error)
{
    st_stall_example example = {.share = NAN, .ns = NAN};
    st_code code = store ? st_stall_example_find(store, stall, &example, error) : ST_OK;
    if (code != ST_OK)
        return code;
    if (list && json_array_append_new(list, st_stall_json(stall, &example)) != 0)
        code = st_fail_memory(error, "explaining a stall");
    if (!list) {
        st_text_add(text, text->length ? "\n" : "");
        st_stall_text(stall, asked, &example, 0, text);
    }
    st_stall_example_release(&example);
    return code == ST_OK && text->failed ? st_fail_memory(error, "explaining a stall") : code;
}

static st_code explain_stall(st_cli *cli, const char *name, st_error *error)
{
    int stalls[ST_VIEW_STALLS];
    size_t count = 0;
    bool every = strcmp(name, "all") == 0;
    if (cli->parsed->word_count)
        return st_fail(error, ST_USAGE, "explain one or the other", "--stall %s and %s together", name,
                       cli->parsed->words[0]);
    if (every)
        for (st_stalls(&count); count-- > 0;)
            stalls[count] = (int)count;
    if (every)
        st_stalls(&count);
    else
        count = st_stall_all(name, stalls);
    if (!count)
        return unknown_stall(name, error);
    st_store *store = NULL;
    json_t *list = cli->json ? json_array() : NULL;
    st_text text;
    st_text_init(&text);
    st_code code = cli->json && !list ? st_fail_memory(error, "explaining a stall")
                                      : open_examples(cli, &store, error);
    size_t known;
    for (size_t i = 0; i < count && code == ST_OK; i++)
        code = add_stall(store, stalls[i], every ? st_stalls(&known)[stalls[i]].name : name, list, &text, error);
    if (code == ST_OK && cli->json)
        code = st_cli_print_json(
            cli, json_pack("{s:s, s:s, s:O}", "schema", "simtune.stall/1", "asked", name, "stalls", list), error);
    else if (code == ST_OK)
        st_cli_print(cli, cli->out, st_text_string(&text));
    json_decref(list);
    st_text_release(&text);
    st_store_close(store);
    return code;
}

// --- which candidate --------------------------------------------------------------------------------------------------

typedef struct chosen {
    char session[ST_HASH_TEXT], candidate[ST_HASH_TEXT]; // candidate "": the winner, or what --config says
    char *problem;                                       // NULL: the session's lead
    const char *cache;
    bool found, hardware;
    int64_t taken_ms;
    double speedup;
} chosen;

// Of the winners that were asked for: hardware before others, then the newest session, then the largest gain in it.
static st_code consider(void *context, const st_answer *answer, st_error *error)
{
    chosen *best = context;
    bool hardware = st_backend_is_hardware(answer->backend), same = strcmp(best->session, answer->session_id) == 0;
    double speedup = isnan(answer->speedup) ? 0 : answer->speedup;
    bool better = !best->found || (hardware && !best->hardware) ||
                  (hardware == best->hardware && !same && answer->taken_ms > best->taken_ms) ||
                  (same && speedup > best->speedup);
    if (!answer->is_winner || !better)
        return ST_OK;
    char *problem = st_strdup(answer->problem);
    if (!problem)
        return st_fail_memory(error, "looking for a winner");
    st_free(best->problem);
    best->problem = problem;
    best->found = true;
    best->hardware = hardware;
    best->speedup = speedup;
    best->taken_ms = !same || answer->taken_ms > best->taken_ms ? answer->taken_ms : best->taken_ms;
    snprintf(best->session, sizeof best->session, "%s", answer->session_id);
    return ST_OK;
}

static st_code take_candidate(void *context, const st_answer *answer, st_error *error)
{
    chosen *to = context;
    if (to->found)
        return ST_OK;
    to->found = true;
    to->problem = st_strdup(answer->problem);
    snprintf(to->session, sizeof to->session, "%s", answer->session_id);
    snprintf(to->candidate, sizeof to->candidate, "%s", answer->candidate_id);
    return to->problem ? ST_OK : st_fail_memory(error, "looking for a candidate");
}

static bool is_id(const char *word)
{
    size_t length = strspn(word, "0123456789abcdefABCDEF");
    return length >= 4 && !word[length];
}

static st_code choose_by_id(st_store *store, const char *id, chosen *out, st_error *error)
{
    int64_t key;
    st_code code = st_store_candidate_key(store, id, &key, error);
    return code == ST_OK ? st_store_answer_of(store, key, take_candidate, out, error) : code;
}

static st_code choose_winner(st_cli *cli, st_store *store, const char *family, const char *session, chosen *out,
                             st_error *error)
{
    st_cli_filter filter;
    const char *type = st_parsed_text(cli->parsed, "type"), *size = st_parsed_text(cli->parsed, "size");
    st_code code = st_cli_filter_read(cli, &filter, error);
    st_query *query = &filter.query;
    query->best = true;
    query->family = family;
    query->cache = out->cache;
    query->operation = st_parsed_text(cli->parsed, "op");
    query->session = session;
    if (code == ST_OK && type)
        code = st_cli_type(type, &query->type, error);
    if (code == ST_OK && size && (!st_text_to_int(size, &query->n) || query->n < 0))
        code = st_fail(error, ST_USAGE, "write sizes like 1000, 64Ki, 16Mi or 2^24", "%s is no size", size);
    if (code == ST_OK && query->session)
        code = st_cli_check_session(store, query->session, error);
    if (code == ST_OK)
        code = st_cli_filter_ask(store, &filter, consider, out, error);
    if (code == ST_OK && !out->found)
        code = st_fail(error, ST_NOTHING,
                       "simtune query lists candidates, which can be explained by their ids; simtune "
                       "tune measures",
                       "the store has no winner of %s that fits", family ? family : "anything");
    return code;
}

// The id of a candidate, or of a session: then its winner.
static st_code choose_by_word(st_cli *cli, st_store *store, const char *word, chosen *out, st_error *error)
{
    st_error why = {0};
    st_session_row row = {0};
    if (st_store_session_of(store, word, &row, &why) == ST_OK) {
        st_session_row_release(&row);
        return choose_winner(cli, store, NULL, word, out, error);
    }
    if (st_parsed_text(cli->parsed, "config"))
        return st_fail(error, ST_USAGE, "an id is one configuration already", "--config and the id %s together", word);
    return choose_by_id(store, word, out, error);
}

static st_code choose(st_cli *cli, st_store *store, chosen *out, st_error *error)
{
    const char *word = cli->parsed->word_count ? cli->parsed->words[0] : NULL;
    bool known = false;
    st_code code = word ? st_store_knows_family(store, word, &known, error) : ST_OK;
    if (code != ST_OK)
        return code;
    if (word && !known && !st_families_has(word) && is_id(word))
        return choose_by_word(cli, store, word, out, error);
    if (word && !known)
        return st_fail(error, ST_NOTHING, "simtune query lists what there is",
                       "the store knows neither a family nor a candidate %s", word);
    return choose_winner(cli, store, word, st_parsed_text(cli->parsed, "session"), out, error);
}

// --- in the report ------------------------------------------------------------------------------------------------------

static int problem_of(const st_reported_session *session, const char *text)
{
    for (size_t i = 0; i < session->count; i++)
        if (strcmp(session->problems[i].text, text) == 0)
            return (int)i;
    return -1;
}

static int parameter_of(const st_reported_session *session, const char *name, size_t length)
{
    for (size_t i = 0; i < session->parameter_count; i++)
        if (strlen(session->parameters[i].name) == length && strncmp(session->parameters[i].name, name, length) == 0)
            return (int)i;
    return -1;
}

// "BLOCK=256 VEC=4" or with commas: wanted[parameter] is the index of its value, -1 where any will do.
static st_code read_config(const st_reported_session *session, const char *words, int *wanted, st_error *error)
{
    for (size_t p = 0; p < session->parameter_count; p++)
        wanted[p] = -1;
    while (*(words += strspn(words, " ,"))) {
        size_t length = strcspn(words, " ,"), name = strcspn(words, "=, ");
        int parameter = name < length ? parameter_of(session, words, name) : -1;
        if (parameter < 0)
            return st_fail(error, ST_USAGE,
                           "write --config \"BLOCK=256 VEC=4\"; simtune templates FAMILY lists parameters",
                           "%.*s is no parameter of %s with a value", (int)length, words, session->session.family);
        const st_reported_parameter *of = &session->parameters[parameter];
        for (size_t v = 0; v < of->value_count && wanted[parameter] < 0; v++)
            if (strlen(of->values[v]) == length - name - 1 &&
                strncmp(of->values[v], words + name + 1, length - name - 1) == 0)
                wanted[parameter] = (int)v;
        if (wanted[parameter] < 0)
            return st_fail(error, ST_NOTHING, "simtune query lists what was measured",
                           "that session tried nothing with %.*s", (int)length, words);
        words += length;
    }
    return ST_OK;
}

static bool fits(const st_reported_session *session, const st_reported_candidate *candidate, const int *wanted)
{
    for (size_t p = 0; p < session->parameter_count; p++)
        if (wanted[p] >= 0 && candidate->values[p] != wanted[p])
            return false;
    return true;
}

// The fastest that has these values; a failed one only where none was timed.
static st_code candidate_by_config(const st_reported_session *session, const st_reported_problem *problem, int cache,
                                   const char *words, int *out, st_error *error)
{
    int *wanted = st_calloc(session->parameter_count + 1, sizeof *wanted);
    double least = INFINITY;
    *out = -1;
    if (!wanted)
        return st_fail_memory(error, "looking for a candidate");
    st_code code = read_config(session, words, wanted, error);
    for (size_t c = 0; c < problem->count && code == ST_OK; c++) {
        double ns = problem->candidates[c].times[cache].comparable_ns;
        if (!fits(session, &problem->candidates[c], wanted) || !(*out < 0 || ns < least))
            continue;
        least = isnan(ns) ? INFINITY : ns;
        *out = (int)c;
    }
    st_free(wanted);
    if (code == ST_OK && *out < 0)
        code = st_fail(error, ST_NOTHING,
                       "simtune query lists what was measured; leave a value out for the fastest of the rest",
                       "no candidate of %s has all of %s", problem->text, words);
    return code;
}

static int candidate_by_id(const st_reported_problem *problem, const char *id)
{
    for (size_t c = 0; c < problem->count; c++)
        if (strcmp(problem->candidates[c].id, id) == 0)
            return (int)c;
    return -1;
}

// The UUID of the device of the session when that is here, else of any that is; "": none.
static void find_here(const char *wanted, char out[48])
{
    const st_gpu_operations *ops = st_gpu_backend("cuda");
    int count = 0;
    st_error why = {0};
    out[0] = '\0';
    if (!ops || ops->count(&count, &why) != ST_OK)
        return;
    for (int i = 0; i < count; i++) {
        st_device_facts facts;
        bool read = ops->facts(i, &facts, &why) == ST_OK;
        if (read && (!out[0] || strcmp(facts.uuid, wanted) == 0))
            snprintf(out, 48, "%s", facts.uuid);
    }
}

static st_code print(st_cli *cli, const st_explained *explained, st_error *error)
{
    char here[48];
    find_here(explained->session->device_uuid, here);
    const st_explain_options options = {.colour = cli->colour, .here = here};
    json_t *json = NULL;
    if (cli->json) {
        st_code code = st_explain_json(explained, &options, &json, error);
        return code == ST_OK ? st_cli_print_json(cli, json, error) : code;
    }
    st_text text;
    st_text_init(&text);
    st_code code = st_explain_text(explained, &options, &text, error);
    if (code == ST_OK)
        st_cli_print(cli, cli->out, st_text_string(&text));
    st_text_release(&text);
    return code;
}

static st_code has_lost(const chosen *what, st_error *error)
{
    return st_fail(error, ST_FAILED, "simtune db check tells what is damaged",
                   "session %.12s has lost what it says of %s", what->session, what->problem);
}

static st_code explain_in(st_cli *cli, st_store *store, const st_report *report, const chosen *what, st_error *error)
{
    const st_reported_session *session = &report->sessions[0];
    const char *config = st_parsed_text(cli->parsed, "config");
    int cache = st_report_cache_find(what->cache), problem = problem_of(session, what->problem);
    if (problem < 0)
        return has_lost(what, error);
    const st_reported_problem *of = &session->problems[problem];
    int candidate = what->candidate[0] ? candidate_by_id(of, what->candidate) : of->results[cache].winner;
    st_code code = config ? candidate_by_config(session, of, cache, config, &candidate, error) : ST_OK;
    if (code == ST_OK && candidate < 0)
        code = has_lost(what, error);
    st_explained explained;
    if (code == ST_OK)
        code = st_explain(store, session, problem, cache, candidate, &explained, error);
    if (code == ST_OK) {
        code = print(cli, &explained, error);
        st_explained_release(&explained);
    }
    return code;
}

st_code st_cmd_explain(st_cli *cli, st_error *error)
{
    static const char *const caches[] = {"cold", "warm", NULL};
    const char *stall = st_parsed_text(cli->parsed, "stall");
    if (cli->parsed->word_count > 1)
        return st_fail(error, ST_USAGE, "one family or one candidate's id", "explain takes no %s",
                       cli->parsed->words[1]);
    if (stall)
        return explain_stall(cli, stall, error);
    chosen what = {.cache = NULL};
    st_store *store = NULL;
    st_report report = {0};
    st_code code = st_cli_choice(cli, "cache", caches, &what.cache, error);
    if (!what.cache)
        what.cache = "cold";
    if (code == ST_OK)
        code = st_cli_store(cli, ST_STORE_READ, &store, error);
    if (code == ST_OK)
        code = choose(cli, store, &what, error);
    if (code == ST_OK) {
        const char *id = what.session;
        code = st_report_load(store, &id, 1, st_report_cache_find(what.cache), &report, error);
    }
    if (code == ST_OK) {
        code = explain_in(cli, store, &report, &what, error);
        st_report_release(&report);
    }
    st_free(what.problem);
    st_store_close(store);
    return code;
}
