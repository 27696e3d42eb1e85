// SPDX-License-Identifier: Apache-2.0
// `simtune db check`: whether the store is sound; of a damaged one, what is lost and what can still be read.
#include "db/check.h"
#include "db/inspect.h"
#include "tuner/cli/cli_answers.h"
#include "tuner/cli/cmd_db.h"

#include <inttypes.h>
#include <string.h>

typedef struct st_checked {
    json_t *findings;
    st_text words[3]; // by severity, a line each
    int64_t counts[3];
    bool examined;    // the rows themselves were looked at
} st_checked;

// --- findings --------------------------------------------------------------------------------------------------

static st_code add_finding(void *context, const st_check_finding *finding, st_error *error)
{
    st_checked *checked = context;
    st_text_addf(&checked->words[finding->severity], "%s\n", finding->words);
    checked->counts[finding->severity]++;
    json_t *object = json_pack("{s:s, s:s, s:I, s:s}", "severity", st_severity_name(finding->severity), "kind",
                               finding->kind, "count", (json_int_t)finding->count, "words", finding->words);
    return object && json_array_append_new(checked->findings, object) == 0 ? ST_OK
                                                                           : st_fail_memory(error, "checking the store");
}

static st_code add_damages(st_checked *checked, const char *lines, st_error *error)
{
    st_code code = ST_OK;
    while (*lines && code == ST_OK) {
        char words[256];
        size_t length = strcspn(lines, "\n");
        snprintf(words, sizeof words, "%.*s", (int)(length < 250 ? length : 250), lines);
        const st_check_finding finding = {ST_SEVERITY_DAMAGED, "damage", 1, words};
        code = add_finding(checked, &finding, error);
        lines += length + (lines[length] == '\n');
    }
    return code;
}

// --- what can still be read --------------------------------------------------------------------------------------

static json_t *saved_json(const st_salvage_report *report)
{
    json_t *tables = json_array();
    for (size_t i = 0; i < report->count && tables; i++) {
        const st_salvage_table *table = &report->tables[i];
        json_t *row = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "name", table->name, "rows", (json_int_t)table->saved,
                                "lost_pages", (json_int_t)table->lost_pages, "broken", (json_int_t)table->broken,
                                "without_parent", (json_int_t)table->without_parent, "contradicting",
                                (json_int_t)table->contradicting);
        if (!row || json_array_append_new(tables, row) != 0) {
            json_decref(tables);
            return NULL;
        }
    }
    return json_pack("{s:b, s:b, s:b, s:b, s:b, s:o}", "complete", (int)report->complete, "header_damaged",
                     (int)report->header_damaged, "schema_damaged", (int)report->schema_damaged, "truncated",
                     (int)report->truncated, "log_damaged", (int)report->log_damaged, "tables", tables);
}

static st_code print_saved_session(void *context, const st_session_answer *session, st_error *error)
{
    (void)error;
    st_cli *cli = context;
    st_cli_tell(cli, cli->out, "  %.12s  %s on %s: %lld candidate%s\n", session->id, session->family, session->device_name,
            (long long)session->candidates, st_plural(session->candidates));
    return ST_OK;
}

static st_code print_saved(st_cli *cli, st_store *saved, const st_salvage_report *report, st_error *error)
{
    st_text lost;
    st_text_init(&lost);
    st_salvage_describe(report, &lost);
    if (report->complete)
        fprintf(cli->out, "every row can be read: what is damaged are indexes alone\n");
    else
        fprintf(cli->out, "what is lost\n%s", st_text_string(&lost));
    st_text_release(&lost);
    fprintf(cli->out, "sessions that can be read, with what is left of them\n");
    return st_store_sessions(saved, print_saved_session, cli, error);
}

// --- the command -------------------------------------------------------------------------------------------------

static st_code look(st_cli *cli, const char *path, st_checked *checked, st_error *error)
{
    st_store *store = NULL;
    st_text lines;
    bool sound = false, damaged = false;
    st_text_init(&lines);
    st_code code = st_store_looks_damaged(path, &damaged, error);
    if (code == ST_OK)
        code = st_cmd_db_store(cli, ST_STORE_READ, &store, error);
    if (code == ST_OK)
        code = st_store_check(store, &sound, &lines, error);
    if (code == ST_OK && sound && damaged) {
        sound = false;
        st_text_add(&lines, "the list of free pages is damaged: what is written next may come over rows that are there\n");
    }
    if (code == ST_OK)
        code = add_damages(checked, st_text_string(&lines), error);
    if (code == ST_OK && sound) {
        code = st_store_examine(store, add_finding, checked, error);
        checked->examined = code == ST_OK;
    } else if (code == ST_OK) {
        code = st_fail(error, ST_DAMAGED, NULL, "the store %s is damaged", st_store_path(store));
    }
    st_text_release(&lines);
    st_store_close(store); // before salvage, which opens the file by itself
    return code;
}

static void print_lines(st_cli *cli, const char *title, const st_text *lines)
{
    if (!lines->length)
        return;
    fprintf(cli->out, "%s\n", title);
    for (const char *at = st_text_string(lines); *at;) {
        size_t length = strcspn(at, "\n");
        st_cli_tell(cli, cli->out, "  %.*s\n", (int)length, at);
        at += length + (at[length] == '\n');
    }
}

static st_code print_checked(st_cli *cli, const st_checked *checked, const char *path, st_store *saved,
                             const st_salvage_report *report, st_error *error)
{
    bool sound = checked->examined && !checked->counts[ST_SEVERITY_WRONG];
    if (cli->json)
        return st_cli_print_json(cli,
                                 json_pack("{s:s, s:s, s:b, s:O, s:o}", "schema", "simtune.db_check/2", "path", path,
                                           "sound", (int)sound, "findings", checked->findings, "saved",
                                           saved ? saved_json(report) : json_null()),
                                 error);
    if (sound)
        fprintf(cli->out, "%s is sound\n", path);
    print_lines(cli, "damage", &checked->words[ST_SEVERITY_DAMAGED]);
    print_lines(cli, "wrong", &checked->words[ST_SEVERITY_WRONG]);
    print_lines(cli, "worth knowing", &checked->words[ST_SEVERITY_REMARK]);
    return saved ? print_saved(cli, saved, report, error) : ST_OK;
}

static st_code verdict(const st_checked *checked, const char *path, bool damaged, st_error *error)
{
    if (damaged)
        return st_fail(error, ST_DAMAGED,
                       "keep a copy of the file; simtune db export FILE.jsonl.gz saves what can be read, simtune db "
                       "import takes it into a new store",
                       "the store %s is damaged", path);
    if (checked->counts[ST_SEVERITY_WRONG])
        return st_fail(error, ST_FAILED,
                       "export the sessions that you trust into a new store (simtune db export, import)",
                       "the store %s can be read, but says what cannot be so", path);
    return ST_OK;
}

st_code st_cmd_db_check(st_cli *cli, st_error *error)
{
    st_checked checked = {.findings = json_array()};
    st_salvage_report report;
    st_store *saved = NULL;
    st_text path;
    st_text_init(&path);
    for (size_t i = 0; i < 3; i++)
        st_text_init(&checked.words[i]);
    st_code code = checked.findings ? st_cmd_db_path(cli, &path, error) : st_fail_memory(error, "checking the store");
    if (code == ST_OK)
        code = look(cli, st_text_string(&path), &checked, error);
    bool damaged = false;
    if (code != ST_OK) {
        st_error why = error ? *error : (st_error){0};
        code = st_cmd_db_salvage(cli, code, &saved, &report, error);
        damaged = code == ST_OK;
        if (damaged && !checked.words[ST_SEVERITY_DAMAGED].length)
            code = add_damages(&checked, why.what, error);
    }
    if (code == ST_OK)
        code = print_checked(cli, &checked, st_text_string(&path), saved, &report, error);
    if (code == ST_OK)
        code = verdict(&checked, st_text_string(&path), damaged, error);
    for (size_t i = 0; i < 3; i++)
        st_text_release(&checked.words[i]);
    json_decref(checked.findings);
    st_salvage_close(saved);
    st_text_release(&path);
    return code;
}
