// SPDX-License-Identifier: Apache-2.0
// The words of `simtune db` that have files of their own; cmd_db.c holds the table.
#ifndef SIMTUNE_CLI_CMD_DB_H
#define SIMTUNE_CLI_CMD_DB_H

#include "db/salvage.h"
#include "tuner/cli/cli.h"

st_code st_cmd_db_export(st_cli *cli, st_error *error); // cmd_db_export.c
st_code st_cmd_db_import(st_cli *cli, st_error *error); // cmd_db_import.c
st_code st_cmd_db_info(st_cli *cli, st_error *error);   // cmd_db_info.c
st_code st_cmd_db_check(st_cli *cli, st_error *error);  // cmd_db_check.c
st_code st_cmd_db_merge(st_cli *cli, st_error *error);  // cmd_db_merge.c
st_code st_cmd_db_prune(st_cli *cli, st_error *error);  // cmd_db_prune.c
st_code st_cmd_db_backup(st_cli *cli, st_error *error); // cmd_db_files.c
st_code st_cmd_db_vacuum(st_cli *cli, st_error *error);
st_code st_cmd_db_generate(st_cli *cli, st_error *error); // cmd_db_generate.c

// The path of --db, or the default one. Appends.
st_code st_cmd_db_path(st_cli *cli, st_text *out, st_error *error);
// The store of --db or the default when there is one: no word makes a store in order to look after it. ST_NOTHING: there is
// none; ST_FAILED: a file without a byte.
st_code st_cmd_db_store(st_cli *cli, st_store_mode mode, st_store **out, st_error *error);
// What can be read of the store when opening or reading it ended with `code`: ST_OK with a store of what was saved
// (st_salvage_close), or `code` with its error when the file is not damaged or holds nothing.
st_code st_cmd_db_salvage(st_cli *cli, st_code code, st_store **out, st_salvage_report *report, st_error *error);

#endif
