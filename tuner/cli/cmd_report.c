// SPDX-License-Identifier: Apache-2.0
// `simtune report [SESSION…]`: what sessions found and why, as a page, in the terminal, as Markdown or as JSON. Reads only;
// needs no GPU. Invariant: what is written to a file replaces nothing that is no report's: st_text_write_file refuses
// stores, and an equal file is left untouched.
#include "reports/format.h"
#include "reports/report.h"
#include "reports/report_text.h"
#include "tuner/base/memory.h"
#include "tuner/cli/cli.h"
#include "tuner/cli/cli_answers.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

typedef enum form { FORM_TEXT, FORM_HTML, FORM_MARKDOWN, FORM_JSON, FORMS } form;

// To add a form: a row, and its line in `write`.
static const struct {
    const char *name, *endings[3];
} forms[FORMS] = {[FORM_TEXT] = {"text", {".txt"}},
                  [FORM_HTML] = {"html", {".html", ".htm"}},
                  [FORM_MARKDOWN] = {"md", {".md", ".markdown"}},
                  [FORM_JSON] = {"json", {".json"}}};

typedef struct wanted {
    form form;
    int cache;
    const char *family, *path; // path NULL: stdout
} wanted;

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), other = strlen(end);
    return length > other && strcasecmp(text + length - other, end) == 0;
}

// FORMS: the ending is none of ours. A name without one gets the page.
static form form_of_file(const char *path)
{
    for (int i = 0; i < FORMS; i++)
        for (size_t e = 0; e < sizeof forms[i].endings / sizeof *forms[i].endings; e++)
            if (forms[i].endings[e] && ends_with(path, forms[i].endings[e]))
                return (form)i;
    return strchr(st_text_file_name(path), '.') ? FORMS : FORM_HTML;
}

// "md", or an ending: "markdown", "htm", "TXT". FORMS: none.
static form form_of_name(const char *name)
{
    for (int i = 0; i < FORMS; i++) {
        bool meant = strcasecmp(forms[i].name, name) == 0;
        for (size_t e = 0; e < sizeof forms[i].endings / sizeof *forms[i].endings; e++)
            meant = meant || (forms[i].endings[e] && strcasecmp(forms[i].endings[e] + 1, name) == 0);
        if (meant)
            return (form)i;
    }
    return FORMS;
}

static st_code choose_form(const st_cli *cli, wanted *out, const char *name, st_error *error)
{
    form by_file = FORM_TEXT;
    if (out->path && strcmp(out->path, "-") == 0) {
        out->path = NULL;
        by_file = FORM_HTML;
    } else if (out->path)
        by_file = form_of_file(out->path);
    out->form = by_file;
    if (name)
        out->form = form_of_name(name);
    if (name && out->form == FORMS)
        return st_fail(error, ST_USAGE, "it is text, html, md or json", "there is no --format %s", name);
    if (cli->json && name && out->form != FORM_JSON)
        return st_fail(error, ST_USAGE, "leave one of them out", "--json and --format %s at the same time", name);
    bool told = out->path && strchr(st_text_file_name(out->path), '.');
    if (cli->json && told && by_file != FORM_JSON)
        return st_fail(error, ST_USAGE, "leave --json out, or name the file .json", "--json and -o %s at the same time",
                       out->path);
    if (cli->json)
        out->form = FORM_JSON;
    if (out->form == FORMS)
        return st_fail(error, ST_USAGE, "name it .html, .md, .json or .txt, or say --format",
                       "the end of %s names no form of a report", out->path);
    return ST_OK;
}

static st_code read_words(st_cli *cli, wanted *out, st_error *error)
{
    static const char *const caches[] = {"cold", "warm", NULL};
    const char *cache = NULL, *name = st_parsed_text(cli->parsed, "format");
    *out = (wanted){.family = st_parsed_text(cli->parsed, "family"), .path = st_parsed_text(cli->parsed, "output")};
    st_code code = st_cli_choice(cli, "cache", caches, &cache, error);
    if (code != ST_OK)
        return code;
    out->cache = cache ? st_report_cache_find(cache) : ST_REPORT_COLD;
    if (out->family && cli->parsed->word_count)
        return st_fail(error, ST_USAGE, "leave one of them out", "--family %s and %s at the same time", out->family,
                       cli->parsed->words[0]);
    return choose_form(cli, out, name, error);
}

// --- sessions --------------------------------------------------------------------------------------------------------

static st_code find_sessions(st_cli *cli, st_store *store, const wanted *of, char ids[][ST_HASH_TEXT], size_t count,
                             st_error *error)
{
    st_code code = ST_OK;
    for (size_t i = 0; i < count && code == ST_OK; i++) {
        st_session_row row = {0};
        code = st_cli_session_of(store, of->family, cli->parsed->word_count ? cli->parsed->words[i] : NULL, &row, error);
        memcpy(ids[i], row.id, sizeof row.id);
        for (size_t j = 0; j < i && code == ST_OK; j++)
            if (strcmp(ids[i], ids[j]) == 0)
                code = st_fail(error, ST_USAGE, "name each session once", "the session %s is named twice", ids[i]);
        st_session_row_release(&row);
    }
    return code;
}

// --- writing ---------------------------------------------------------------------------------------------------------

// Columns of the terminal, 80 where there is none.
static int width_of(FILE *out)
{
    struct winsize size;
    int columns = isatty(fileno(out)) && ioctl(fileno(out), TIOCGWINSZ, &size) == 0 ? size.ws_col : 80;
    return columns < 80 ? 80 : columns > 110 ? 110 : columns;
}

static st_code write_form(const st_cli *cli, const wanted *of, const st_report *report, st_text *text, st_error *error)
{
    st_report_text_options plain = {
        .colour = cli->colour && !of->path, .unicode = st_cli_is_unicode(), .width = width_of(cli->out)};
    switch (of->form) {
    case FORM_HTML:
        return st_report_html(report, NULL, text, error);
    case FORM_MARKDOWN:
        return st_report_markdown(report, text, error);
    case FORM_JSON: {
        st_code code = st_report_json(report, text, error);
        st_text_add(text, "\n");
        return code;
    }
    default:
        return st_report_text(report, &plain, text, error);
    }
}

static st_code put(st_cli *cli, const wanted *of, const st_text *text, st_error *error)
{
    bool changed = false;
    if (!of->path) {
        if (of->form == FORM_TEXT)
            st_cli_print(cli, cli->out, st_text_string(text));
        else
            fwrite(st_text_string(text), 1, text->length, cli->out);
        return ST_OK;
    }
    st_code code = st_text_write_file(of->path, st_text_string(text), text->length, &changed, error);
    if (code != ST_OK)
        return code;
    st_text size;
    st_text_init(&size);
    st_report_bytes(&size, (int64_t)text->length);
    fprintf(cli->talk, "%s %s (%s)\n", changed ? "wrote" : "unchanged:", of->path, st_text_string(&size));
    st_text_release(&size);
    return ST_OK;
}

static st_code report(st_cli *cli, st_store *store, const wanted *of, char ids[][ST_HASH_TEXT], const char **names,
                      size_t count, st_error *error)
{
    st_report made;
    st_text text;
    st_text_init(&text);
    st_code code = find_sessions(cli, store, of, ids, count, error);
    for (size_t i = 0; i < count; i++)
        names[i] = ids[i];
    if (code == ST_OK)
        code = st_report_load(store, names, count, of->cache, &made, error);
    if (code == ST_OK) {
        code = write_form(cli, of, &made, &text, error);
        st_report_release(&made);
    }
    if (code == ST_OK && text.failed)
        code = st_fail_memory(error, "writing a report");
    if (code == ST_OK)
        code = put(cli, of, &text, error);
    st_text_release(&text);
    return code;
}

st_code st_cmd_report(st_cli *cli, st_error *error)
{
    wanted of;
    st_store *store = NULL;
    size_t count = cli->parsed->word_count ? cli->parsed->word_count : 1;
    st_code code = read_words(cli, &of, error);
    if (code != ST_OK)
        return code;
    char(*ids)[ST_HASH_TEXT] = st_calloc(count, sizeof *ids);
    const char **names = st_calloc(count, sizeof *names);
    if (!ids || !names)
        code = st_fail_memory(error, "reading sessions");
    if (code == ST_OK)
        code = st_cli_store(cli, ST_STORE_READ, &store, error);
    if (code == ST_OK) {
        st_store_stop_when(store, cli->interrupted);
        code = report(cli, store, &of, ids, names, count, error);
    }
    st_store_close(store);
    st_free(ids);
    st_free(names);
    return code;
}
