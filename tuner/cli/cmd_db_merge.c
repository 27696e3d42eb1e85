// SPDX-License-Identifier: Apache-2.0
// `simtune db merge`: takes other stores in.
#include "db/merge.h"
#include "tuner/cli/cli_answers.h"
#include "tuner/cli/cmd_db.h"

static json_t *merged_json(const char *path, const st_merge_report *report)
{
    return json_pack("{s:s, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "path", path, "schema_version",
                     report->schema_version, "sessions", (json_int_t)report->sessions, "new_sessions",
                     (json_int_t)report->new_sessions, "changed_sessions", (json_int_t)report->changed_sessions,
                     "unfinished_sessions", (json_int_t)report->unfinished, "new_devices",
                     (json_int_t)report->new_devices, "new_candidates", (json_int_t)report->new_candidates,
                     "new_measurements", (json_int_t)report->new_measurements, "new_winners",
                     (json_int_t)report->new_winners, "new_baselines", (json_int_t)report->new_baselines,
                     "new_acknowledgements", (json_int_t)report->new_acknowledgements, "settled_measurements",
                     (json_int_t)report->settled);
}

static void say_merged(st_cli *cli, const char *path, const st_merge_report *report)
{
    fprintf(cli->talk, "%s: %lld of %lld session%s %s new, with %lld candidate%s and %lld measurement%s\n", path,
            (long long)report->new_sessions, (long long)report->sessions, st_plural(report->sessions),
            report->new_sessions == 1 ? "was" : "were", (long long)report->new_candidates,
            st_plural(report->new_candidates), (long long)report->new_measurements, st_plural(report->new_measurements));
    if (report->changed_sessions)
        fprintf(cli->talk, "  sessions that went on there: %lld\n", (long long)report->changed_sessions);
    if (report->new_baselines || report->new_acknowledgements)
        fprintf(cli->talk, "  new baselines: %lld, new acknowledged changes: %lld\n", (long long)report->new_baselines,
                (long long)report->new_acknowledgements);
    if (report->settled)
        fprintf(cli->talk, "  measurements that both had and that differ: %lld; the fuller one stands, else the older\n",
                (long long)report->settled);
    if (report->unfinished)
        fprintf(cli->talk, "  sessions that had not ended there: %lld; what they had so far was taken, merge again later\n",
                (long long)report->unfinished);
}

st_code st_cmd_db_merge(st_cli *cli, st_error *error)
{
    if (cli->parsed->word_count < 2)
        return st_fail(error, ST_USAGE, "simtune db merge OTHER.db…", "merge needs at least one other store");
    st_store *store = NULL;
    json_t *files = json_array();
    st_code code = files ? st_cli_store_aside(cli, &store, error) : st_fail_memory(error, "merging");
    for (size_t i = 1; i < cli->parsed->word_count && code == ST_OK; i++) {
        st_merge_report report;
        const char *path = cli->parsed->words[i];
        code = st_store_merge(store, path, &report, error);
        if (code == ST_OK && !cli->json)
            say_merged(cli, path, &report);
        else if (code == ST_OK && json_array_append_new(files, merged_json(path, &report)) != 0)
            code = st_fail_memory(error, "printing JSON");
    }
    if (code == ST_OK && cli->json)
        code = st_cli_print_json(cli, json_pack("{s:s, s:s, s:O}", "schema", "simtune.db_merge/1", "path",
                                                st_store_path(store), "files", files),
                                 error);
    json_decref(files);
    return st_store_settle(store, code, error);
}
