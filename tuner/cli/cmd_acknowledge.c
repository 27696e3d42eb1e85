// SPDX-License-Identifier: Apache-2.0
// `simtune acknowledge`: says of changes against a baseline that they are as they should be, and why; lists and
// withdraws what was said. Needs no GPU.
#include "reports/format.h"
#include "tuner/base/clock.h"
#include "tuner/cli/compare_sides.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct listing {
    st_cli *cli;
    json_t *rows; // NULL: for people
    st_text text; // for people
    size_t count;
} listing;

static st_code listing_init(st_cli *cli, listing *out, st_error *error)
{
    *out = (listing){.cli = cli, .rows = cli->json ? json_array() : NULL};
    st_text_init(&out->text);
    return cli->json && !out->rows ? st_fail_memory(error, "listing acknowledgements") : ST_OK;
}

static void listing_release(listing *made)
{
    json_decref(made->rows);
    st_text_release(&made->text);
}

static st_code list_row(void *context, const st_acknowledgement *row, st_error *error)
{
    listing *to = context;
    to->count++;
    if (to->rows) {
        json_t *object = json_object();
        bool whole = object && st_json_put(object, "id", json_string(row->id)) &&
                     st_json_put(object, "family", json_string(row->family)) &&
                     st_json_put(object, "problem", json_string(row->problem)) &&
                     st_json_put(object, "cache", json_string(row->cache)) &&
                     st_json_put(object, "device", st_json_text_or_null(row->device_name)) &&
                     st_json_put(object, "session", json_string(row->session_id)) &&
                     st_json_put(object, "baseline", json_string(row->baseline_id)) &&
                     st_json_put(object, "reason", json_string(row->reason)) &&
                     st_json_put(object, "author", st_json_text_or_null(row->author)) &&
                     st_json_put(object, "acknowledged_ms", json_integer(row->acknowledged_ms)) &&
                     json_array_append(to->rows, object) == 0;
        json_decref(object);
        return whole ? ST_OK : st_fail_memory(error, "listing acknowledgements");
    }
    char date[ST_DATE_TEXT];
    st_clock_date(row->acknowledged_ms, date);
    // Fresh ids of one second begin alike: the whole is shown.
    st_text_addf(&to->text, "%s  %s ", row->id, row->family);
    st_report_problem(&to->text, row->problem);
    st_text_addf(&to->text, ", %s: %.12s against %.12s, by %s on %s: %s\n", row->cache, row->session_id,
                 row->baseline_id, row->author ? row->author : "-", date, row->reason);
    return to->text.failed ? st_fail_memory(error, "listing acknowledgements") : ST_OK;
}

static st_code print_list(st_cli *cli, listing *to, st_error *error)
{
    if (to->rows)
        return st_cli_print_json(cli, json_pack("{s:s, s:O}", "schema", "simtune.acknowledgements/1",
                                                "acknowledgements", to->rows), error);
    st_cli_print(cli, cli->out, st_text_string(&to->text));
    return ST_OK;
}

static st_code list_all(st_cli *cli, const st_cli_comparing *comparing, st_error *error)
{
    st_store *store = NULL;
    listing to;
    st_code code = listing_init(cli, &to, error);
    if (code == ST_OK)
        code = st_cli_store(cli, ST_STORE_READ, &store, error);
    if (code == ST_OK)
        code = st_store_acknowledgements(store, -1, &comparing->filter, list_row, &to, error);
    if (code == ST_OK)
        code = print_list(cli, &to, error);
    if (code == ST_OK && !to.count)
        code = st_fail(error, ST_NOTHING, "simtune acknowledge SESSION --reason TEXT", "nothing is acknowledged");
    listing_release(&to);
    st_store_close(store);
    return code;
}

static st_code withdraw(st_cli *cli, const st_cli_comparing *comparing, const char *id, st_error *error)
{
    st_store *store = NULL;
    st_code code = st_cli_store_that_is(cli, &store, error);
    if (code == ST_OK)
        code = st_store_acknowledgement_withdraw(store, id, error);
    if (code == ST_OK && !cli->json)
        fprintf(cli->out, "withdrawn: what it acknowledged fails again\n");
    st_store_close(store);
    if (code != ST_OK || !cli->json)
        return code;
    code = list_all(cli, comparing, error); // what is left
    return code == ST_NOTHING ? ST_OK : code;
}

// --- acknowledging -------------------------------------------------------------------------------------------------

typedef struct acknowledging {
    st_cli *cli;
    st_store *store;
    const st_cli_comparing *comparing;
    const char *reason;
    listing done;
    size_t said, otherwise; // changes that were acknowledged before; of them with another reason
} acknowledging;

static const char *author(void)
{
    const char *user = getenv("USER");
    if (!user || !user[0])
        user = getenv("LOGNAME");
    return user && user[0] ? user : NULL;
}

// The session and problem that an acknowledgement is looked for.
typedef struct saying {
    acknowledging *at;
    int64_t session_key, problem_key;
    bool there;
} saying;

static st_code see_said(void *context, const st_acknowledgement *row, st_error *error)
{
    saying *it = context;
    char date[ST_DATE_TEXT];
    st_text problem;
    (void)error;
    if (row->session_key != it->session_key || row->problem_key != it->problem_key)
        return ST_OK;
    it->there = true;
    it->at->said++;
    it->at->otherwise += strcmp(row->reason, it->at->reason) != 0;
    st_clock_date(row->acknowledged_ms, date);
    st_text_init(&problem);
    st_report_problem(&problem, row->problem);
    st_cli_tell(it->at->cli, it->at->cli->talk, "note: %s %s, %s, was acknowledged by %s on %s: %s (%s)\n", row->family,
                st_text_string(&problem), row->cache, row->author ? row->author : "-", date, row->reason, row->id);
    st_text_release(&problem);
    return ST_OK;
}

// What somebody has said of a change stays as it is.
static st_code is_said(acknowledging *at, const st_compare_row *a, int64_t session_key, bool *said, st_error *error)
{
    saying it = {.at = at, .session_key = session_key, .problem_key = a->problem_key};
    const st_compare_filter filter = {.family = a->family, .cache = a->cache, .n = a->n};
    st_code code = st_store_acknowledgements(at->store, a->session_key, &filter, see_said, &it, error);
    *said = it.there;
    return code;
}

static st_code keep(acknowledging *at, const st_comparison *made, const st_compare_pair *pair, int64_t now,
                    st_error *error)
{
    const st_compare_row *a = &pair->a->row;
    const struct st_compare_session *session = &made->sides[1].sessions[0];
    st_acknowledgement row = {.baseline_key = a->session_key, .session_key = session->session_key,
                              .problem_key = a->problem_key, .cache = a->cache, .reason = at->reason,
                              .author = author(), .acknowledged_ms = now, .family = a->family,
                              .problem = a->problem, .session_id = session->id, .baseline_id = a->session_id,
                              .device_name = a->device_name};
    bool said;
    st_code code = is_said(at, a, session->session_key, &said, error);
    if (code == ST_OK && !said)
        code = st_store_acknowledge(at->store, &row, error);
    return code == ST_OK && !said ? list_row(&at->done, &row, error) : code;
}

static st_code acknowledge(acknowledging *at, const char *word, st_error *error)
{
    char id[ST_HASH_TEXT];
    st_comparison made;
    size_t idle, before = at->done.count + at->said;
    bool strict = st_parsed_flag(at->cli->parsed, "strict");
    int64_t now = st_clock_unix_ms();
    st_comparison_init(&made, &at->comparing->rules);
    st_code code = st_cli_session_find(at->store, at->comparing, word, id, error);
    if (code == ST_OK)
        code = st_cli_against_baseline(at->cli, at->store, at->comparing, id, &made, &idle, error);
    for (size_t i = 0; i < made.count && code == ST_OK; i++) {
        st_change change = made.pairs[i].change;
        if (change == ST_CHANGE_WORSE || (strict && change == ST_CHANGE_UNKNOWN))
            code = keep(at, &made, &made.pairs[i], now, error);
    }
    if (code == ST_OK && at->done.count + at->said == before)
        code = st_fail(error, ST_NOTHING, "simtune compare --against-baseline SESSION shows it; --strict acknowledges"
                                          " what cannot be told, too",
                       "nothing of session %.12s got slower than its baseline beyond noise", id);
    st_comparison_release(&made);
    return code;
}

// All or nothing.
static st_code acknowledge_all(st_cli *cli, const st_cli_comparing *comparing, st_error *error)
{
    acknowledging at = {.cli = cli, .comparing = comparing, .reason = st_parsed_text(cli->parsed, "reason")};
    st_code code = listing_init(cli, &at.done, error);
    if (code == ST_OK)
        code = st_cli_store_that_is(cli, &at.store, error);
    bool begun = false;
    if (code == ST_OK) {
        code = st_store_begin(at.store, error);
        begun = code == ST_OK;
    }
    for (size_t i = 0; i < cli->parsed->word_count && code == ST_OK; i++)
        code = acknowledge(&at, cli->parsed->words[i], error);
    if (code == ST_OK && !at.done.count && at.otherwise) // the same words again are no mistake
        code = st_fail(error, ST_USAGE, "take the old one back first: simtune acknowledge --withdraw ID",
                       "it is acknowledged already, for another reason; what was said stays");
    if (code == ST_OK)
        code = st_store_commit(at.store, error);
    else if (begun)
        st_store_rollback(at.store);
    if (code == ST_OK)
        code = print_list(cli, &at.done, error);
    listing_release(&at.done);
    st_store_close(at.store);
    return code;
}

static st_code check_words(st_cli *cli, st_error *error)
{
    const st_parsed *parsed = cli->parsed;
    bool list = st_parsed_flag(parsed, "list");
    const char *id = st_parsed_text(parsed, "withdraw"), *reason = st_parsed_text(parsed, "reason");
    if ((list || id) && (parsed->word_count || reason || (list && id)))
        return st_fail(error, ST_USAGE, "do one after the other",
                       "--list and --withdraw stand alone, without sessions and --reason");
    if (list || id)
        return ST_OK;
    if (!parsed->word_count)
        return st_fail(error, ST_USAGE, "simtune acknowledge SESSION --reason TEXT; latest is the newest one",
                       "acknowledge needs a session");
    if (!reason || !reason[strspn(reason, " \t\n")])
        return st_fail(error, ST_USAGE, "--reason \"the result is now the same from run to run\"",
                       "an acknowledgement needs a reason, for whoever asks next year");
    return ST_OK;
}

st_code st_cmd_acknowledge(st_cli *cli, st_error *error)
{
    st_cli_comparing comparing;
    const char *id = st_parsed_text(cli->parsed, "withdraw");
    st_code code = check_words(cli, error);
    if (code == ST_OK)
        code = st_cli_comparing_read(cli, &comparing, error);
    if (code != ST_OK)
        return code;
    return st_parsed_flag(cli->parsed, "list") ? list_all(cli, &comparing, error)
           : id                                ? withdraw(cli, &comparing, id, error)
                                               : acknowledge_all(cli, &comparing, error);
}
