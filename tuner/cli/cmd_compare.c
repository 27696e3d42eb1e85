// SPDX-License-Identifier: Apache-2.0
// `simtune compare`: two sides, or the newest sessions against their baselines; and the baselines themselves. Needs
// no GPU. Only marking a baseline opens the store for writing.
#include "reports/format.h"
#include "tuner/base/clock.h"
#include "tuner/cli/compare_sides.h"

#include <stdio.h>
#include <string.h>

// --- printing --------------------------------------------------------------------------------------------------------

static st_code print(st_cli *cli, const st_comparison *made, st_error *error)
{
    st_text text;
    st_text_init(&text);
    st_compare_print how = {.colour = cli->colour};
    st_code code = ST_OK;
    if (cli->json) {
        code = st_comparison_json(made, &text, error);
        st_text_add(&text, "\n");
    } else if (st_parsed_flag(cli->parsed, "markdown"))
        st_comparison_markdown(made, &text);
    else
        st_comparison_text(made, &how, &text);
    if (code == ST_OK && text.failed)
        code = st_fail_memory(error, "printing a comparison");
    if (code == ST_OK)
        st_cli_print(cli, cli->out, st_text_string(&text));
    st_text_release(&text);
    return code;
}

// --- A and B -----------------------------------------------------------------------------------------------------------

// A side that is there and has no row is no comparison.
static st_code check_sides(const st_comparison *made, st_error *error)
{
    for (int side = 0; side < 2; side++)
        if (!made->sides[side].count)
            return st_fail(error, ST_NOTHING, "ask for less; simtune query --best lists winners",
                           "%s has no such winner", made->sides[side].label);
    return ST_OK;
}

static st_code compare_two(st_cli *cli, st_store *store, const st_cli_comparing *comparing, st_error *error)
{
    st_comparison made;
    st_cli_side sides[2];
    st_comparison_init(&made, &comparing->rules);
    st_code code = ST_OK;
    for (int i = 0; i < 2 && code == ST_OK; i++) {
        code = st_cli_side_find(cli, store, comparing, cli->parsed->words[i], &sides[i], error);
        if (code == ST_OK)
            code = st_cli_side_add(store, &sides[i], comparing, &made, i, error);
    }
    if (code == ST_OK)
        code = check_sides(&made, error);
    if (code == ST_OK)
        code = st_comparison_judge(&made, store, error);
    if (code == ST_OK)
        code = print(cli, &made, error);
    st_comparison_release(&made);
    return code;
}

// --- against baselines ---------------------------------------------------------------------------------------------------

static st_code verdict(st_cli *cli, const st_comparison *made, size_t idle, st_error *error)
{
    size_t slower = st_comparison_regressions(made), untold = st_comparison_untold(made) + idle;
    if (slower)
        return st_fail(error, ST_REGRESSION,
                       "if it is as it should be: simtune acknowledge SESSION --reason TEXT, or mark a new baseline",
                       "%zu of %zu compared got slower than the baseline beyond noise", slower, made->count);
    if (!made->count && !idle)
        return st_fail(error, st_parsed_flag(cli->parsed, "strict") ? ST_STALE : ST_NOTHING,
                       "check --type, --op, --size and --cache; simtune compare --baselines lists what there is",
                       "nothing of the baseline was compared");
    if (untold && st_parsed_flag(cli->parsed, "strict"))
        return st_fail(error, ST_STALE, "tune again with more time (--budget none), or leave out --strict",
                       "what cannot be told from noise or was not measured again: %zu", untold);
    return ST_OK;
}

static st_code against_baseline(st_cli *cli, st_store *store, const st_cli_comparing *comparing, st_error *error)
{
    st_comparison made;
    st_comparison_init(&made, &comparing->rules);
    size_t idle = 0;
    const char *word = cli->parsed->word_count ? cli->parsed->words[0] : NULL;
    st_code code = st_cli_against_baseline(cli, store, comparing, word, &made, &idle, error);
    if (code == ST_OK)
        code = print(cli, &made, error);
    if (code == ST_OK)
        code = verdict(cli, &made, idle, error);
    st_comparison_release(&made);
    return code;
}

// --- baselines -----------------------------------------------------------------------------------------------------------

typedef struct listing {
    st_cli *cli;
    json_t *rows; // NULL: for people
    size_t count;
} listing;

static st_code list_baseline(void *context, const st_baseline_row *row, st_error *error)
{
    listing *to = context;
    char date[ST_DATE_TEXT];
    to->count++;
    st_clock_date(row->marked_ms, date);
    if (!to->rows) {
        st_cli_tell(to->cli, to->cli->out, "%.12s  %-10s %s, driver %s, %s, template %.12s; marked %s%s%s%s\n", row->session_id,
                row->family, row->device_name, row->driver[0] ? row->driver : "-",
                row->compiler[0] ? row->compiler : "-", row->template_hash, date,
                row->newest ? "" : ", replaced by a newer one", row->note ? ": " : "", row->note ? row->note : "");
        return ST_OK;
    }
    json_t *object = json_object();
    bool whole = object && st_json_put(object, "session", json_string(row->session_id)) &&
                 st_json_put(object, "family", json_string(row->family)) &&
                 st_json_put(object, "device", json_string(row->device_name)) &&
                 st_json_put(object, "device_uuid", json_string(row->device_uuid)) &&
                 st_json_put(object, "driver", st_json_text_or_null(row->driver)) &&
                 st_json_put(object, "compiler", st_json_text_or_null(row->compiler)) &&
                 st_json_put(object, "template_hash", st_json_text_or_null(row->template_hash)) &&
                 st_json_put(object, "marked_ms", json_integer(row->marked_ms)) &&
                 st_json_put(object, "note", st_json_text_or_null(row->note)) &&
                 st_json_put(object, "newest", json_boolean(row->newest)) &&
                 json_array_append(to->rows, object) == 0;
    json_decref(object);
    return whole ? ST_OK : st_fail_memory(error, "listing baselines");
}

static st_code list_baselines(st_cli *cli, st_store *store, const st_cli_comparing *comparing, st_error *error)
{
    listing to = {.cli = cli, .rows = cli->json ? json_array() : NULL};
    st_code code = cli->json && !to.rows ? st_fail_memory(error, "listing baselines") : ST_OK;
    if (code == ST_OK)
        code = st_store_baselines(store, &comparing->filter, list_baseline, &to, error);
    if (code == ST_OK && cli->json)
        code = st_cli_print_json(cli, json_pack("{s:s, s:O}", "schema", "simtune.baselines/1", "baselines", to.rows),
                                 error);
    json_decref(to.rows);
    if (code == ST_OK && !to.count)
        code = st_fail(error, ST_NOTHING, "mark one: simtune compare --baseline SESSION", "there is no baseline");
    return code;
}

static st_code change_baseline(st_cli *cli, const st_cli_comparing *comparing, st_error *error)
{
    const char *mark = st_parsed_text(cli->parsed, "baseline"), *forget = st_parsed_text(cli->parsed, "no-baseline");
    char id[ST_HASH_TEXT];
    st_session_row session;
    st_store *store = NULL;
    st_code code = st_cli_store_that_is(cli, &store, error);
    if (code == ST_OK)
        code = st_cli_session_find(store, comparing, mark ? mark : forget, id, error);
    if (code == ST_OK && (code = st_store_session_of(store, id, &session, error)) == ST_OK) {
        code = mark ? st_store_baseline(store, session.key, st_parsed_text(cli->parsed, "note"), error)
                    : st_store_baseline_forget(store, session.key, error);
        if (code == ST_OK && !cli->json)
            st_cli_tell(cli, cli->out, "session %.12s of %s is %s baseline\n", id, session.family, mark ? "a" : "no longer a");
        st_session_row_release(&session);
    }
    if (code == ST_OK && cli->json) {
        code = list_baselines(cli, store, comparing, error);
        if (code == ST_NOTHING) // the last one was taken away
            code = ST_OK;
    }
    st_store_close(store);
    return code;
}

// --- all -----------------------------------------------------------------------------------------------------------------

static st_code check_words(st_cli *cli, st_error *error)
{
    const st_parsed *parsed = cli->parsed;
    bool against = st_parsed_flag(parsed, "against-baseline"), list = st_parsed_flag(parsed, "baselines");
    bool change = st_parsed_text(parsed, "baseline") || st_parsed_text(parsed, "no-baseline");
    bool both = st_parsed_text(parsed, "baseline") && st_parsed_text(parsed, "no-baseline");
    if (both || against + list + change > 1)
        return st_fail(error, ST_USAGE, "do one after the other",
                       "--baseline, --no-baseline, --baselines and --against-baseline exclude each other");
    if (st_parsed_text(parsed, "note") && !st_parsed_text(parsed, "baseline"))
        return st_fail(error, ST_USAGE, "simtune compare --baseline SESSION --note TEXT", "--note without --baseline");
    if (st_parsed_flag(parsed, "strict") && !against)
        return st_fail(error, ST_USAGE, "simtune compare --against-baseline --strict",
                       "--strict without --against-baseline");
    if ((list || change) && parsed->word_count)
        return st_fail(error, ST_USAGE, "leave it out", "there is nothing to compare %s with", parsed->words[0]);
    if (against && parsed->word_count > 1)
        return st_fail(error, ST_USAGE, "name one session or header, or none for the newest",
                       "--against-baseline takes one side, not %zu", parsed->word_count);
    if (!against && !list && !change && parsed->word_count != 2)
        return st_fail(error, ST_USAGE,
                       "simtune compare A B; simtune db info lists sessions, simtune devices what is here",
                       "compare needs two sides, not %zu", parsed->word_count);
    return st_cli_check_forms(cli, error);
}

st_code st_cmd_compare(st_cli *cli, st_error *error)
{
    st_cli_comparing comparing;
    st_store *store = NULL;
    st_code code = check_words(cli, error);
    if (code == ST_OK)
        code = st_cli_comparing_read(cli, &comparing, error);
    if (code != ST_OK)
        return code;
    if (st_parsed_text(cli->parsed, "baseline") || st_parsed_text(cli->parsed, "no-baseline"))
        return change_baseline(cli, &comparing, error);
    code = st_cli_store(cli, ST_STORE_READ, &store, error);
    if (code == ST_OK)
        code = st_parsed_flag(cli->parsed, "baselines")          ? list_baselines(cli, store, &comparing, error)
               : st_parsed_flag(cli->parsed, "against-baseline") ? against_baseline(cli, store, &comparing, error)
                                                                 : compare_two(cli, store, &comparing, error);
    st_store_close(store);
    return code;
}
