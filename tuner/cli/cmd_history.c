// SPDX-License-Identifier: Apache-2.0
// `simtune history FAMILY`: how its winners changed from version to version. Reads only; needs no GPU.
#include "reports/history.h"
#include "tuner/cli/compare_sides.h"

#include <stdio.h>
#include <string.h>

static st_code print(st_cli *cli, const st_history *made, st_error *error)
{
    st_text text;
    st_text_init(&text);
    st_history_print how = {.colour = cli->colour, .unicode = st_cli_is_unicode()};
    st_code code = ST_OK;
    if (cli->json) {
        code = st_history_json(made, &text, error);
        st_text_add(&text, "\n");
    } else if (st_parsed_flag(cli->parsed, "markdown"))
        st_history_markdown(made, how.unicode, &text);
    else
        st_history_text(made, &how, &text);
    if (code == ST_OK && text.failed)
        code = st_fail_memory(error, "printing a history");
    if (code == ST_OK)
        st_cli_print(cli, cli->out, st_text_string(&text));
    st_text_release(&text);
    return code;
}

static st_code read_words(st_cli *cli, st_cli_comparing *comparing, int *by, st_error *error)
{
    static const char *const words[] = {"driver", "compiler", "template", "tool", "device", NULL};
    const char *word = NULL;
    if (cli->parsed->word_count != 1)
        return st_fail(error, ST_USAGE, "simtune history reduce; simtune templates lists families",
                       "history needs one family, not %zu", cli->parsed->word_count);
    st_code code = st_cli_check_forms(cli, error);
    if (code == ST_OK)
        code = st_cli_comparing_read(cli, comparing, error);
    if (code == ST_OK)
        code = st_cli_choice(cli, "by", words, &word, error);
    comparing->filter.family = cli->parsed->words[0];
    *by = code == ST_OK && word ? st_history_by_find(word) : -1;
    return code;
}

st_code st_cmd_history(st_cli *cli, st_error *error)
{
    st_cli_comparing comparing;
    st_history made;
    st_store *store = NULL;
    int by;
    st_code code = read_words(cli, &comparing, &by, error);
    if (code == ST_OK)
        code = st_cli_store(cli, ST_STORE_READ, &store, error);
    bool loaded = false;
    if (code == ST_OK) {
        code = st_history_load(store, &comparing.filter, by, &comparing.rules, &made, error);
        loaded = code == ST_OK;
    }
    if (loaded) {
        code = print(cli, &made, error);
        st_history_release(&made);
    }
    st_store_close(store);
    return code;
}
