// SPDX-License-Identifier: Apache-2.0
// `simtune db`: the store as a file. To add a word: a row in `words`.
#include "db/inspect.h"
#include "reports/format.h"
#include "tuner/base/clock.h"
#include "tuner/base/memory.h"
#include "tuner/cli/cli_answers.h"

#include <string.h>

// --- info ------------------------------------------------------------------------------------------------------

static json_t *counts_json(const st_store_counts *counts)
{
    const struct {
        const char *key;
        int64_t value;
    } rows[] = {{"devices", counts->devices},           {"sessions", counts->sessions},
                {"sessions_unfinished", counts->unfinished}, {"sessions_shipped", counts->shipped},
                {"problems", counts->problems},         {"candidates", counts->candidates},
                {"measurements", counts->measurements}, {"samples", counts->samples},
                {"profiles", counts->profiles},         {"winners", counts->winners},
                {"bytes", counts->bytes},               {"first_session_ms", counts->first_ms},
                {"last_session_ms", counts->last_ms},   {"schema_version", counts->schema_version}};
    json_t *object = json_object();
    bool whole = object;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && whole; i++)
        whole = st_json_put(object, rows[i].key, st_json_known_or_null(rows[i].value));
    if (whole)
        return object;
    json_decref(object);
    return NULL;
}

static st_code add_session_json(void *context, const st_session_answer *session, st_error *error)
{
    json_t *object = json_object();
    bool whole = object && st_json_put(object, "id", json_string(session->id)) &&
                 st_json_put(object, "family", json_string(session->family)) &&
                 st_json_put(object, "device", json_string(session->device_name)) &&
                 st_json_put(object, "cc", st_json_known_or_null(session->cc)) &&
                 st_json_put(object, "sm_count", st_json_known_or_null(session->sm_count)) &&
                 st_json_put(object, "status", json_string(session->status)) &&
                 st_json_put(object, "command", st_json_text_or_null(session->command)) &&
                 st_json_put(object, "started_ms", st_json_known_or_null(session->started_ms)) &&
                 st_json_put(object, "finished_ms", st_json_known_or_null(session->finished_ms)) &&
                 st_json_put(object, "candidates", json_integer(session->candidates)) &&
                 st_json_put(object, "shipped", json_boolean(session->shipped));
    if (!whole)
        json_decref(object);
    return whole && json_array_append_new(context, object) == 0 ? ST_OK : st_fail_memory(error, "listing sessions");
}

static st_code print_session(void *context, const st_session_answer *session, st_error *error)
{
    (void)error;
    st_cli *cli = context;
    char date[ST_DATE_TEXT];
    st_clock_date(session->started_ms, date);
    fprintf(cli->out, "  %.12s  %s  %-11s %6lld  %s on %s%s\n", session->id, date, session->status,
            (long long)session->candidates, session->family, session->device_name,
            session->shipped ? " (shipped)" : "");
    return ST_OK;
}

static st_code print_info(st_cli *cli, st_store *store, const st_store_counts *counts, st_error *error)
{
    st_text size;
    st_text_init(&size);
    st_report_bytes(&size, counts->bytes);
    fprintf(cli->out, "%s: %s, schema %d\n", st_store_path(store), st_text_string(&size), counts->schema_version);
    st_text_release(&size);
    fprintf(cli->out,
            "  %lld sessions (%lld unfinished, %lld shipped) on %lld devices\n"
            "  %lld problems, %lld candidates, %lld measurements of %lld samples\n"
            "  %lld profiles, %lld winners\n",
            (long long)counts->sessions, (long long)counts->unfinished, (long long)counts->shipped,
            (long long)counts->devices, (long long)counts->problems, (long long)counts->candidates,
            (long long)counts->measurements, (long long)counts->samples, (long long)counts->profiles,
            (long long)counts->winners);
    if (!counts->sessions)
        return ST_OK;
    fprintf(cli->out, "\n  session       began                 status       tried  what\n");
    return st_store_sessions(store, print_session, cli, error);
}

static st_code info(st_cli *cli, st_error *error)
{
    st_store *store = NULL;
    st_store_counts counts;
    st_code code = st_cli_store(cli, ST_STORE_READ, &store, error);
    if (code == ST_OK)
        code = st_store_count(store, &counts, error);
    if (code == ST_OK && !cli->json)
        code = print_info(cli, store, &counts, error);
    if (code == ST_OK && cli->json) {
        json_t *sessions = json_array();
        code = sessions ? st_store_sessions(store, add_session_json, sessions, error)
                        : st_fail_memory(error, "listing sessions");
        json_t *whole = code == ST_OK ? json_pack("{s:s, s:s, s:o, s:O}", "schema", "simtune.db/1", "path",
                                                  st_store_path(store), "counts", counts_json(&counts),
                                                  "sessions", sessions)
                                      : NULL;
        if (code == ST_OK)
            code = st_cli_print_json(cli, whole, error);
        json_decref(sessions);
    }
    st_store_close(store);
    return code;
}

// --- export, import, check ----------------------------------------------------------------------------------------

static json_t *ids_json(const char *const *ids, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count && list; i++)
        if (json_array_append_new(list, json_string(ids[i])) != 0) {
            json_decref(list);
            list = NULL;
        }
    return list;
}

static st_code export_sessions(st_cli *cli, st_error *error)
{
    const st_parsed *parsed = cli->parsed;
    if (parsed->word_count < 3)
        return st_fail(error, ST_USAGE, "simtune db info lists the sessions; simtune db export FILE SESSION…",
                       "export needs a file and at least one session");
    size_t count = parsed->word_count - 2;
    st_store *store = NULL;
    st_session_row *rows = st_calloc(count, sizeof *rows);
    const char **ids = st_calloc(count + 1, sizeof *ids);
    st_code code = rows && ids ? st_cli_store(cli, ST_STORE_READ, &store, error)
                               : st_fail_memory(error, "exporting");
    for (size_t i = 0; i < count && code == ST_OK; i++) {
        code = st_store_session_of(store, parsed->words[i + 2], &rows[i], error);
        ids[i] = rows[i].id;
    }
    if (code == ST_OK)
        code = st_history_export(store, ids, parsed->words[1], error);
    if (code == ST_OK && cli->json)
        code = st_cli_print_json(cli, json_pack("{s:s, s:s, s:o}", "schema", "simtune.db_export/1", "path",
                                                parsed->words[1], "sessions", ids_json(ids, count)),
                                 error);
    else if (code == ST_OK)
        fprintf(cli->talk, "wrote %zu session%s to %s\n", count, count == 1 ? "" : "s", parsed->words[1]);
    for (size_t i = 0; rows && i < count; i++)
        st_session_row_release(&rows[i]);
    st_free(ids);
    st_free(rows);
    st_store_close(store);
    return code;
}

static st_code import_files(st_cli *cli, st_error *error)
{
    if (cli->parsed->word_count < 2)
        return st_fail(error, ST_USAGE, "simtune db import FILE…", "import needs at least one file");
    st_store *store = NULL;
    json_t *files = json_array();
    st_code code = files ? st_cli_store(cli, ST_STORE_WRITE, &store, error) : st_fail_memory(error, "importing");
    for (size_t i = 1; i < cli->parsed->word_count && code == ST_OK; i++) {
        size_t added = 0;
        code = st_history_import(store, cli->parsed->words[i], false, &added, error);
        if (code == ST_OK && !cli->json)
            fprintf(cli->talk, "%s: %zu row%s new\n", cli->parsed->words[i], added, added == 1 ? " was" : "s were");
        else if (code == ST_OK && json_array_append_new(files, json_pack("{s:s, s:I}", "path", cli->parsed->words[i],
                                                                         "new_rows", (json_int_t)added)) != 0)
            code = st_fail_memory(error, "printing JSON");
    }
    if (code == ST_OK && cli->json)
        code = st_cli_print_json(cli, json_pack("{s:s, s:O}", "schema", "simtune.db_import/1", "files", files), error);
    json_decref(files);
    st_store_close(store);
    return code;
}

static json_t *lines_json(const char *text)
{
    json_t *list = json_array();
    while (list && *text) {
        size_t length = strcspn(text, "\n");
        if (json_array_append_new(list, json_stringn(text, length)) != 0) {
            json_decref(list);
            return NULL;
        }
        text += length + (text[length] == '\n');
    }
    return list;
}

static st_code check(st_cli *cli, st_error *error)
{
    st_store *store = NULL;
    st_text findings;
    bool sound = false;
    st_text_init(&findings);
    st_code code = st_cli_store(cli, ST_STORE_READ, &store, error);
    if (code == ST_OK)
        code = st_store_check(store, &sound, &findings, error);
    if (code == ST_OK && cli->json)
        code = st_cli_print_json(cli, json_pack("{s:s, s:s, s:b, s:o}", "schema", "simtune.db_check/1", "path",
                                                st_store_path(store), "sound", (int)sound, "findings",
                                                lines_json(st_text_string(&findings))),
                                 error);
    else if (code == ST_OK && sound)
        fprintf(cli->out, "%s is sound\n", st_store_path(store));
    else if (code == ST_OK)
        fputs(st_text_string(&findings), cli->out);
    if (code == ST_OK && !sound)
        code = st_fail(error, ST_FAILED,
                       "keep a copy of the file, then export the sessions that can still be read into a new store",
                       "the store %s is damaged", st_store_path(store));
    st_text_release(&findings);
    st_store_close(store);
    return code;
}

// --- all ----------------------------------------------------------------------------------------------------------

static const struct {
    const char *word;
    st_code (*run)(st_cli *cli, st_error *error);
    bool takes_more;
} words[] = {{"info", info, false},
             {"export", export_sessions, true},
             {"import", import_files, true},
             {"check", check, false}};

st_code st_cmd_db(st_cli *cli, st_error *error)
{
    static const char remedy[] = "simtune db info, export FILE SESSION…, import FILE…, or check";
    const char *word = cli->parsed->word_count ? cli->parsed->words[0] : NULL;
    for (size_t i = 0; word && i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(words[i].word, word) != 0)
            continue;
        if (!words[i].takes_more && cli->parsed->word_count > 1)
            return st_fail(error, ST_USAGE, remedy, "db %s takes no %s", word, cli->parsed->words[1]);
        return words[i].run(cli, error);
    }
    return word ? st_fail(error, ST_USAGE, remedy, "db knows no %s", word)
                : st_fail(error, ST_USAGE, remedy, "db needs to be told what to do");
}
