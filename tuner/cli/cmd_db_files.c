// SPDX-License-Identifier: Apache-2.0
// `simtune db backup` and `simtune db vacuum`: the store as one file.
#include "db/backup.h"
#include "reports/format.h"
#include "tuner/cli/cli_answers.h"
#include "tuner/cli/cmd_db.h"

st_code st_cmd_db_backup(st_cli *cli, st_error *error)
{
    const st_parsed *parsed = cli->parsed;
    if (parsed->word_count != 2)
        return st_fail(error, ST_USAGE, "simtune db backup FILE", "backup needs one file to write");
    int64_t bytes = 0;
    const char *target = parsed->words[1];
    st_text path, size;
    st_text_init(&path);
    st_text_init(&size);
    st_code code = st_cmd_db_path(cli, &path, error);
    if (code == ST_OK)
        code = st_store_backup(st_text_string(&path), target, st_parsed_flag(parsed, "force"), &bytes, error);
    st_report_bytes(&size, bytes);
    if (code == ST_OK && cli->json)
        code = st_cli_print_json(cli, json_pack("{s:s, s:s, s:s, s:I}", "schema", "simtune.db_backup/1", "path",
                                                st_text_string(&path), "target", target, "bytes", (json_int_t)bytes),
                                 error);
    else if (code == ST_OK)
        fprintf(cli->talk, "wrote %s to %s, and checked it\n", st_text_string(&size), target);
    st_text_release(&size);
    st_text_release(&path);
    return code;
}

st_code st_cmd_db_vacuum(st_cli *cli, st_error *error)
{
    st_store *store = NULL;
    int64_t before = 0, after = 0;
    st_text sizes;
    st_text_init(&sizes);
    st_code code = st_cmd_db_store(cli, ST_STORE_WRITE, &store, error);
    if (code == ST_OK)
        code = st_store_vacuum(store, &before, &after, error);
    st_report_bytes(&sizes, before);
    st_text_add(&sizes, " before, ");
    st_report_bytes(&sizes, after);
    if (code == ST_OK && cli->json)
        code = st_cli_print_json(cli, json_pack("{s:s, s:s, s:I, s:I}", "schema", "simtune.db_vacuum/1", "path",
                                                st_store_path(store), "bytes_before", (json_int_t)before, "bytes_after",
                                                (json_int_t)after),
                                 error);
    else if (code == ST_OK)
        fprintf(cli->talk, "%s: %s now\n", st_store_path(store), st_text_string(&sizes));
    st_text_release(&sizes);
    st_store_close(store);
    return code;
}
