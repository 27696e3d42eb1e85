// SPDX-License-Identifier: Apache-2.0
// `simtune query --sql`: how to open the store with other programs, and one statement that reads it.
#include "db/sql.h"
#include "reports/format.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/cli/cmd_query.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MEASURED_ROWS = 1000, WIDEST = 60 }; // rows whose widths a table knows, and the widest column it makes

typedef struct sheet {
    st_cli *cli;
    st_query_format format;
    size_t count;       // columns
    char **names;
    size_t *widths;
    st_text *cells;     // of the rows that wait for their widths
    size_t cell_count, cell_capacity, row_count;
    json_t *rows;
} sheet;

// --- a cell ----------------------------------------------------------------------------------------------------
static void add_hex(st_text *text, const st_sql_cell *cell)
{
    const unsigned char *bytes = cell->bytes;
    for (size_t i = 0; i < cell->length; i++)
        st_text_addf(text, "%02x", bytes[i]);
}

// Bytes that are no UTF-8, and what would move a terminal's cursor, become "?".
static void add_clean(st_text *text, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length;) {
        unsigned char lead = (unsigned char)bytes[i];
        size_t more = lead < 0x80 ? 0 : lead >= 0xC2 && lead < 0xE0 ? 1 : (lead & 0xF0) == 0xE0 ? 2 : lead >= 0xF0 && lead < 0xF5 ? 3 : 9;
        size_t have = 0;
        while (have < more && i + 1 + have < length && ((unsigned char)bytes[i + 1 + have] & 0xC0) == 0x80)
            have++;
        bool whole = more < 9 && have == more;
        if (!whole || lead == 0x7F || (lead < ' ' && lead != '\n' && lead != '\t'))
            st_text_add(text, "?");
        else
            st_text_add_bytes(text, bytes + i, more + 1);
        i += whole ? more + 1 : 1;
    }
}

static void add_cell(st_text *text, const st_sql_cell *cell, bool exact)
{
    switch (cell->kind) {
    case ST_CELL_NULL:
        break;
    case ST_CELL_INTEGER:
        st_text_addf(text, "%" PRId64, cell->integer);
        break;
    case ST_CELL_REAL:
        st_text_addf(text, exact ? "%.17g" : "%.6g", cell->real);
        break;
    case ST_CELL_TEXT:
        add_clean(text, cell->bytes, cell->length);
        break;
    case ST_CELL_BLOB:
        if (exact)
            add_hex(text, cell);
        else
            st_text_addf(text, "(%zu bytes)", cell->length);
        break;
    }
}

// --- a table ---------------------------------------------------------------------------------------------------
static void print_line(const sheet *to, const st_text *cells)
{
    st_text line;
    st_text_init(&line);
    for (size_t i = 0; i < to->count; i++) {
        const char *words = cells ? st_text_string(&cells[i]) : to->names[i];
        st_text_add(&line, i ? "  " : "");
        if (i + 1 < to->count)
            st_report_left(&line, words, (int)to->widths[i]);
        else
            st_text_add(&line, words);
    }
    st_cli_tell(to->cli, to->cli->out, "%s\n", st_text_string(&line));
    st_text_release(&line);
}

static void forget(sheet *to)
{
    for (size_t i = 0; i < to->cell_count; i++)
        st_text_release(&to->cells[i]);
    to->cell_count = 0;
}

static void flush_table(sheet *to, bool head)
{
    if (head)
        print_line(to, NULL);
    for (size_t i = 0; i < to->cell_count; i += to->count)
        print_line(to, &to->cells[i]);
    forget(to);
}

// The first rows are kept until the widths are known; after them each is printed as it comes.
static st_code table_row(sheet *to, const st_sql_cell *cells, st_error *error)
{
    st_text *grown = st_grow(to->cells, &to->cell_capacity, to->cell_count + to->count, sizeof *grown);
    if (!grown)
        return st_fail_memory(error, "printing a table");
    to->cells = grown;
    for (size_t i = 0; i < to->count; i++) {
        st_text *text = &grown[to->cell_count++];
        st_text_init(text);
        add_cell(text, &cells[i], false);
        for (char *at = text->data; at && *at; at++)
            *at = *at == '\n' || *at == '\t' ? ' ' : *at;
        size_t width = st_report_columns(st_text_string(text));
        if (to->row_count < MEASURED_ROWS && width > to->widths[i])
            to->widths[i] = width < WIDEST ? width : WIDEST;
    }
    if (++to->row_count >= MEASURED_ROWS)
        flush_table(to, to->row_count == MEASURED_ROWS);
    return ST_OK;
}

// --- all formats -------------------------------------------------------------------------------------------------
static void print_separated(sheet *to, const st_sql_cell *cells)
{
    bool csv = to->format == ST_PRINT_CSV;
    st_text line, word;
    st_text_init(&line);
    for (size_t i = 0; i < to->count; i++) {
        st_text_init(&word);
        if (cells)
            add_cell(&word, &cells[i], csv);
        else
            st_text_add(&word, to->names[i]);
        st_text_add(&line, csv ? (i ? "," : "") : "| ");
        if (csv)
            st_csv_add(&line, st_text_string(&word), word.length);
        else
            st_report_markdown_words(&line, word.length ? st_text_string(&word) : "-");
        st_text_add(&line, csv ? "" : " ");
        st_text_release(&word);
    }
    if (csv)
        fprintf(to->cli->out, "%s\n", st_text_string(&line));
    else
        st_cli_tell(to->cli, to->cli->out, "%s|\n", st_text_string(&line));
    st_text_release(&line);
}

static json_t *cell_json(const st_sql_cell *cell)
{
    if (cell->kind == ST_CELL_NULL)
        return json_null();
    if (cell->kind == ST_CELL_INTEGER)
        return json_integer(cell->integer);
    if (cell->kind == ST_CELL_REAL)
        return st_json_number(cell->real);
    st_text text;
    st_text_init(&text);
    add_cell(&text, cell, true);
    json_t *value = text.failed ? NULL : json_string(st_text_string(&text));
    st_text_release(&text);
    return value;
}

static st_code json_row(sheet *to, const st_sql_cell *cells, st_error *error)
{
    json_t *row = json_array();
    bool whole = row != NULL;
    for (size_t i = 0; i < to->count && whole; i++)
        whole = json_array_append_new(row, cell_json(&cells[i])) == 0;
    if (!whole)
        json_decref(row);
    return whole && json_array_append_new(to->rows, row) == 0 ? ST_OK : st_fail_memory(error, "printing JSON");
}

static st_code take_columns(void *context, const char *const *names, size_t count, st_error *error)
{
    sheet *to = context;
    to->names = st_calloc(count, sizeof *to->names);
    to->widths = st_calloc(count, sizeof *to->widths);
    bool whole = to->names && to->widths;
    to->count = whole ? count : 0;
    for (size_t i = 0; i < to->count; i++) {
        whole = (to->names[i] = st_strdup(names[i])) && whole;
        to->widths[i] = to->names[i] ? st_report_columns(names[i]) : 0;
    }
    if (!whole)
        return st_fail_memory(error, "asking the store in SQL");
    if (to->format == ST_PRINT_CSV || to->format == ST_PRINT_MARKDOWN)
        print_separated(to, NULL);
    if (to->format == ST_PRINT_MARKDOWN) {
        for (size_t i = 0; i < count; i++)
            fputs("|---", to->cli->out);
        fputs("|\n", to->cli->out);
    }
    return ST_OK;
}

static st_code take_row(void *context, const st_sql_cell *cells, size_t count, st_error *error)
{
    (void)count;
    sheet *to = context;
    if (to->format == ST_PRINT_TABLE)
        return table_row(to, cells, error);
    if (to->format == ST_PRINT_JSON)
        return json_row(to, cells, error);
    print_separated(to, cells);
    return ST_OK;
}

static st_code print_json(sheet *to, st_error *error)
{
    json_t *columns = json_array();
    for (size_t i = 0; i < to->count && columns; i++)
        json_array_append_new(columns, json_string(to->names[i]));
    return st_cli_print_json(to->cli,
                             json_pack("{s:s, s:o, s:O}", "schema", "simtune.sql/1", "columns", columns, "rows", to->rows),
                             error);
}

static st_code ask(st_cli *cli, st_store *store, const char *sql, st_query_format format, st_error *error)
{
    sheet to = {.cli = cli, .format = format, .rows = json_array()};
    st_sql_sink sink = {&to, take_columns, take_row};
    st_code code = to.rows ? st_store_sql(store, sql, &sink, error) : st_fail_memory(error, "asking the store in SQL");
    if (code == ST_OK && format == ST_PRINT_JSON)
        code = print_json(&to, error);
    if (code == ST_OK && format == ST_PRINT_TABLE)
        flush_table(&to, to.row_count < MEASURED_ROWS);
    forget(&to);
    for (size_t i = 0; i < to.count; i++)
        st_free(to.names[i]);
    st_free(to.names);
    st_free(to.widths);
    st_free(to.cells);
    json_decref(to.rows);
    return code;
}

// --- how to open it ------------------------------------------------------------------------------------------------
typedef struct view_list {
    st_text text;
    json_t *json;
} view_list;

static st_code take_view(void *context, const char *view, const char *const *columns, size_t count, st_error *error)
{
    view_list *to = context;
    st_text words;
    st_text_init(&words);
    json_t *names = json_array();
    for (size_t i = 0; i < count; i++) {
        st_text_addf(&words, "%s%s", i ? " " : "", columns[i]);
        json_array_append_new(names, json_string(columns[i]));
    }
    st_text_addf(&to->text, "\n%s\n", view);
    st_report_row(&to->text, "", 4, st_text_string(&words), 100);
    bool whole = !words.failed && json_array_append_new(to->json, json_pack("{s:s, s:o}", "name", view, "columns",
                                                                              names)) == 0;
    st_text_release(&words);
    return whole ? ST_OK : st_fail_memory(error, "listing the views");
}

static void add_how(const char *path, st_text *text)
{
    st_text_addf(text,
                 "The store is %s\n"
                 "\nsqlite3\n    sqlite3 -readonly -box '%s' \\\n"
                 "        \"SELECT problem, configuration, median_ns FROM simtune_best\"\n"
                 "\nPython\n    import sqlite3\n"
                 "    db = sqlite3.connect('file:%s?mode=ro', uri=True)\n"
                 "    for row in db.execute('SELECT problem, configuration, median_ns FROM simtune_best'):\n"
                 "        print(*row)\n"
                 "\nR (package RSQLite)\n"
                 "    db <- DBI::dbConnect(RSQLite::SQLite(), '%s', flags = RSQLite::SQLITE_RO)\n"
                 "    DBI::dbGetQuery(db, 'SELECT problem, configuration, median_ns FROM simtune_best')\n"
                 "\nThe views below stay; a column is never taken away. Tables may change. Times are in nanoseconds,\n"
                 "…_ms in milliseconds since 1970 UTC; unknown is NULL.\n",
                 path, path, path, path);
}

static st_code tell_how(st_cli *cli, st_store *store, st_query_format format, st_error *error)
{
    view_list views = {.json = json_array()};
    st_text_init(&views.text);
    add_how(st_store_path(store), &views.text);
    st_code code = views.json ? st_store_views(store, take_view, &views, error)
                              : st_fail_memory(error, "listing the views");
    if (code == ST_OK && format == ST_PRINT_JSON)
        code = st_cli_print_json(cli,
                                 json_pack("{s:s, s:s, s:O}", "schema", "simtune.views/1", "store",
                                           st_store_path(store), "views", views.json),
                                 error);
    else if (code == ST_OK)
        fputs(st_text_string(&views.text), cli->out);
    json_decref(views.json);
    st_text_release(&views.text);
    return code;
}

// Options that choose rows say nothing beside a statement.
static st_code only_sql(st_cli *cli, st_query_format format, bool statement, st_error *error)
{
    static const char *const fitting[] = {"sql", "json", "csv", "markdown", "db"};
    for (size_t i = 0; i < cli->parsed->given_count; i++) {
        const char *name = cli->parsed->given[i].option->name;
        bool fits = false;
        for (size_t k = 0; k < sizeof fitting / sizeof *fitting; k++)
            fits = fits || strcmp(name, fitting[k]) == 0;
        if (!fits)
            return st_fail(error, ST_USAGE, "write it into the statement: WHERE, ORDER BY, LIMIT",
                           "--sql and --%s together", name);
    }
    if (!statement && (format == ST_PRINT_CSV || format == ST_PRINT_MARKDOWN))
        return st_fail(error, ST_USAGE, "simtune query --csv --sql \"SELECT * FROM simtune_best\"",
                       "--csv and --markdown print the rows of a statement, and there is none");
    if (cli->parsed->word_count > 1)
        return st_fail(error, ST_USAGE, "quote it: simtune query --sql \"SELECT * FROM simtune_best\"",
                       "--sql takes one statement, and there are %zu words", cli->parsed->word_count);
    return ST_OK;
}

st_code st_query_sql_command(st_cli *cli, st_query_format format, st_error *error)
{
    st_store *store = NULL;
    const char *statement = cli->parsed->word_count ? cli->parsed->words[0] : NULL;
    st_code code = only_sql(cli, format, statement != NULL, error);
    if (code == ST_OK)
        code = st_cli_store(cli, ST_STORE_READ, &store, error);
    if (code == ST_OK) {
        st_store_stop_when(store, cli->interrupted);
        code = statement ? ask(cli, store, statement, format, error) : tell_how(cli, store, format, error);
    }
    st_store_close(store);
    return code;
}
