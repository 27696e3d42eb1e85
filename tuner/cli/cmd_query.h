// SPDX-License-Identifier: Apache-2.0
// What the files of `simtune query` share: cmd_query.c reads what is asked, cmd_query_table.c and cmd_query_rows.c
// print the answers, cmd_query_sql.c is --sql.
#ifndef SIMTUNE_CLI_CMD_QUERY_H
#define SIMTUNE_CLI_CMD_QUERY_H

#include "tuner/cli/cli_answers.h"

typedef enum st_query_format { ST_PRINT_TABLE, ST_PRINT_JSON, ST_PRINT_CSV, ST_PRINT_MARKDOWN } st_query_format;
st_code st_query_format_read(st_cli *cli, st_query_format *out, st_error *error);

typedef struct st_query_printing {
    st_cli *cli;
    const st_query *query;
    st_query_format format;
    size_t count;
    bool shifted; // a row of the table was: the note at its end says what "≈" is
    char device[256], problem[320], group[256]; // of the last row, to print each once
    json_t *rows;
    st_text text, cell, words; // of the row at hand; kept, since a table may have ten thousand
} st_query_printing;

// Callbacks of st_store_query; the context is an st_query_printing.
st_answer_callback st_query_print_time, st_query_print_failure; // a table
st_answer_callback st_query_print_csv, st_query_print_markdown, st_query_keep_json;
void st_query_csv_head(st_query_printing *to, const st_answer *first); // NULL: there is no row

// Whether its time is of another phase than the furthest, so that it is not the one that rows are ordered by.
bool st_query_is_shifted(const st_answer *row);
// One cell, for every command that prints CSV.
void st_csv_add(st_text *text, const char *value, size_t length);
// "0.46", "96", "crash", "-": the value as people read it.
void st_answer_value_add(st_text *text, const st_answer_value *value);
bool st_query_is_column(const char *name); // of --csv

st_code st_query_sql_command(st_cli *cli, st_query_format format, st_error *error);

#endif
