// SPDX-License-Identifier: Apache-2.0
// `simtune db export`: sessions of the store as a file, in our form or in another tool's.
#include "db/exchange.h"
#include "tuner/base/memory.h"
#include "tuner/cli/cli_answers.h"
#include "tuner/cli/cmd_db.h"

#include <string.h>

static const char usage[] = "simtune db export FILE [SESSION…] --format jsonl, t4 or kernel-tuner";

typedef struct wishes {
    st_cli_filter filter;
    st_export_wish wish;
    st_exchange_form form;
    const char *path;
    st_session_row *rows;   // of the sessions that were named
    const char **ids;
    size_t count;
} wishes;

// --- options -----------------------------------------------------------------------------------------------------
static st_code read_form(st_cli *cli, wishes *out, st_error *error)
{
    const char *name;
    st_code code = st_cli_choice(cli, "format", st_exchange_form_names, &name, error);
    if (code != ST_OK)
        return code;
    if (name) {
        st_exchange_form_find(name, &out->form);
        return ST_OK;
    }
    if (st_exchange_form_of_path(out->path, &out->form))
        return ST_OK;
    return st_fail(error, ST_USAGE, "give --format jsonl, t4 or kernel-tuner",
                   "the name %s does not tell which form of JSON is wanted", out->path);
}

static st_code read_filters(st_cli *cli, wishes *out, st_error *error)
{
    static const char *const caches[] = {"cold", "warm", NULL};
    const st_parsed *parsed = cli->parsed;
    const char *type = st_parsed_text(parsed, "type"), *size = st_parsed_text(parsed, "size");
    out->wish.family = st_parsed_text(parsed, "family");
    out->wish.operation = st_parsed_text(parsed, "op");
    out->wish.problem = st_parsed_text(parsed, "problem");
    out->wish.n = -1;
    st_code code = st_cli_choice(cli, "cache", caches, &out->wish.cache, error);
    if (code == ST_OK && out->wish.cache && out->form == ST_FORM_JSONL)
        code = st_fail(error, ST_USAGE, "leave --cache out, or give --format t4 or kernel-tuner",
                       "JSON Lines hold both states of the cache");
    if (code == ST_OK && type)
        code = st_cli_type(type, &out->wish.type, error);
    if (code == ST_OK && size && (!st_text_to_int(size, &out->wish.n) || out->wish.n < 0))
        code = st_fail(error, ST_USAGE, "give it as 65536, 64Ki or 2^16", "there is no size %s", size);
    if (code == ST_OK)
        code = st_cli_filter_read(cli, &out->filter, error);
    out->wish.device = out->filter.query.device;
    out->wish.archs = out->filter.archs;
    out->wish.arch_count = out->filter.arch_count;
    return code;
}

static st_code read_sessions(st_cli *cli, st_store *store, wishes *out, st_error *error)
{
    out->count = cli->parsed->word_count - 2;
    out->rows = st_calloc(out->count + 1, sizeof *out->rows);
    out->ids = st_calloc(out->count + 1, sizeof *out->ids);
    if (!out->rows || !out->ids)
        return st_fail_memory(error, "exporting");
    for (size_t i = 0; i < out->count; i++) {
        st_code code = st_store_session_of(store, cli->parsed->words[i + 2], &out->rows[i], error);
        if (code != ST_OK)
            return code;
        out->ids[i] = out->rows[i].id;
    }
    if (out->count)
        out->wish.sessions = out->ids;
    return ST_OK;
}

static void release(wishes *wanted)
{
    for (size_t i = 0; wanted->rows && i < wanted->count; i++)
        st_session_row_release(&wanted->rows[i]);
    st_free(wanted->rows);
    st_free(wanted->ids);
}

// --- what was done -----------------------------------------------------------------------------------------------
static void note(st_cli *cli, size_t count, const char *what)
{
    if (count)
        fprintf(cli->talk, "note: %zu candidate%s %s left out: %s\n", count, count == 1 ? "" : "s",
                count == 1 ? "was" : "were", what);
}

static st_code tell(st_cli *cli, const wishes *wanted, const st_exported *done, st_error *error)
{
    bool whole = wanted->form == ST_FORM_JSONL;
    size_t left_out = done->older + done->strangers + done->unmeasured;
    if (cli->json)
        return st_cli_print_json(
            cli, json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:o}", "schema", "simtune.db_export/2", "path", wanted->path,
                           "format", st_exchange_form_name(wanted->form), "sessions", (json_int_t)done->sessions,
                           "candidates", (json_int_t)done->candidates, "left_out", (json_int_t)left_out, "subject",
                           whole ? json_null()
                                 : json_pack("{s:s, s:s, s:s, s:s}", "family", done->family, "problem", done->problem,
                                             "device", done->device, "cache", done->cache)),
            error);
    fprintf(cli->talk, "wrote %zu session%s with %zu candidate%s to %s", done->sessions,
            done->sessions == 1 ? "" : "s", done->candidates, done->candidates == 1 ? "" : "s", wanted->path);
    if (whole)
        fprintf(cli->talk, "\n");
    else
        st_cli_tell(cli, cli->talk, ": %s %s on %s, cache %s\n", done->family, done->problem, done->device, done->cache);
    note(cli, done->unmeasured, "not measured with the cache in this state, or skipped");
    note(cli, done->older, "a newer session tried the same configuration");
    note(cli, done->strangers, "other parameters than those of the newest session");
    return ST_OK;
}

static st_code export_store(st_cli *cli, st_store *store, wishes *wanted, st_error *error)
{
    st_exported done;
    st_code code = read_sessions(cli, store, wanted, error);
    if (code == ST_OK)
        code = st_exchange_export(store, &wanted->wish, wanted->form, wanted->path, &done, error);
    return code == ST_OK ? tell(cli, wanted, &done, error) : code;
}

// A damaged store: what can still be read of it. Anything else ends as it did.
static st_code export_saved(st_cli *cli, wishes *wanted, st_code code, st_error *error)
{
    st_store *saved = NULL;
    st_salvage_report report;
    st_text lost;
    st_text_init(&lost);
    code = st_cmd_db_salvage(cli, code, &saved, &report, error);
    if (code == ST_OK) {
        st_salvage_describe(&report, &lost);
        fprintf(cli->talk, "note: the store is damaged; %s\n%s",
                report.complete ? "every row of it can be read" : "what can be read of it is written", st_text_string(&lost));
        wanted->rows = NULL;
        wanted->ids = NULL;
        code = export_store(cli, saved, wanted, error);
        release(wanted);
    }
    st_text_release(&lost);
    st_salvage_close(saved);
    return code;
}

// Also a damaged one, which no header tells.
static st_code not_the_store(st_cli *cli, const char *target, st_error *error)
{
    st_text path;
    st_text_init(&path);
    st_code code = st_cmd_db_path(cli, &path, error);
    if (code == ST_OK && st_text_one_file(st_text_string(&path), target))
        code = st_fail(error, ST_USAGE, "name another file", "%s is the store itself", target);
    st_text_release(&path);
    return code;
}

st_code st_cmd_db_export(st_cli *cli, st_error *error)
{
    if (cli->parsed->word_count < 2)
        return st_fail(error, ST_USAGE, usage, "export needs a file");
    wishes wanted = {.path = cli->parsed->words[1]};
    st_store *store = NULL;
    st_code code = not_the_store(cli, wanted.path, error);
    if (code == ST_OK)
        code = read_form(cli, &wanted, error);
    if (code == ST_OK)
        code = read_filters(cli, &wanted, error);
    bool opened = code == ST_OK;
    if (code == ST_OK)
        code = st_cli_store(cli, ST_STORE_READ, &store, error);
    if (code == ST_OK)
        code = export_store(cli, store, &wanted, error);
    release(&wanted);
    st_store_close(store); // before anybody opens a damaged file another way
    if (code != ST_OK && opened)
        code = export_saved(cli, &wanted, code, error);
    return code;
}
