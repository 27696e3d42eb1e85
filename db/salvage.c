// SPDX-License-Identifier: Apache-2.0
// Rows of a damaged store into a new one. Invariants: 1. the damaged file is read page by page and never written
// (salvage_pages.c); 2. the new store has all of the schema's constraints on while rows come in, so that what
// comes out is sound; parents come before children, and a row whose parents are lost is dropped and counted;
// 3. ids that are hashes are compared with what they were made of: a row that a flipped bit has changed there is
// dropped with all that hangs on it. What no hash covers (a time, a counter) cannot be checked: SQLite keeps no
// checksums of pages.
//
// Steps: schema → walk all trees, to see which pages are anybody's → pages without owner to the table that their
// rows fit → walk again and insert → hashes → migrations.
#include "db/salvage_internal.h"

#include "db/upkeep_internal.h"
#include "tuner/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char doing[] = "saving rows of a damaged store";

typedef struct st_salvage {
    st_pages pages;
    st_store *store; // the new one
    st_salvage_report *report;
    st_shape shapes[ST_SHAPES_MOST];
    size_t count;
    int8_t *owner;          // of a page: the index of the shape that its rows fit; -1 none
    unsigned char *free;    // pages of the free list
    bool schema_read;
    int version;
    // The table at hand.
    size_t at;
    sqlite3_stmt *insert;
    size_t insert_columns;
} st_salvage;

static st_salvage_table *table_of(st_salvage *job, size_t shape)
{
    return &job->report->tables[shape];
}

// --- inserting ---------------------------------------------------------------------------------------------
static st_code prepare_insert(st_salvage *job, size_t columns, st_error *error)
{
    const st_shape *shape = &job->shapes[job->at];
    sqlite3_finalize(job->insert);
    job->insert = NULL;
    st_text sql;
    st_text_init(&sql);
    st_text_addf(&sql, "INSERT INTO \"%s\" (", shape->name);
    for (size_t i = 0; i < columns; i++)
        st_text_addf(&sql, "%s\"%s\"", i ? ", " : "", shape->column[i]);
    st_text_add(&sql, ") VALUES (");
    for (size_t i = 0; i < columns; i++)
        st_text_add(&sql, i ? ", ?" : "?");
    st_text_add(&sql, ")");
    int rc = sql.failed ? SQLITE_NOMEM
             : st_fault_here(ST_FAULT_SQLITE) ? SQLITE_IOERR
                 : sqlite3_prepare_v2(job->store->db, st_text_string(&sql), -1, &job->insert, NULL);
    st_text_release(&sql);
    job->insert_columns = columns;
    return rc == SQLITE_OK ? ST_OK : st_store_fail(job->store, rc, doing, error);
}

static int bind_value(sqlite3_stmt *statement, int place, const st_value *value, char type)
{
    switch (value->kind) {
    case ST_VALUE_NULL:
        return sqlite3_bind_null(statement, place);
    case ST_VALUE_INT: // a whole number in a column of reals is kept as one
        return type == 'R' ? sqlite3_bind_double(statement, place, (double)value->integer)
                           : sqlite3_bind_int64(statement, place, value->integer);
    case ST_VALUE_REAL:
        return sqlite3_bind_double(statement, place, value->real);
    case ST_VALUE_TEXT:
        return sqlite3_bind_text64(statement, place, (const char *)value->bytes, value->length, SQLITE_STATIC,
                                   SQLITE_UTF8);
    default:
        return value->length ? sqlite3_bind_blob64(statement, place, value->bytes, value->length, SQLITE_STATIC)
                             : sqlite3_bind_zeroblob(statement, place, 0);
    }
}

static bool is_refusal(const st_salvage *job, int rc, st_salvage_table *table)
{
    if ((rc & 0xff) != SQLITE_CONSTRAINT)
        return false;
    int why = sqlite3_extended_errcode(job->store->db);
    bool lonely = why == SQLITE_CONSTRAINT_FOREIGNKEY || why == SQLITE_CONSTRAINT_TRIGGER;
    table->without_parent += lonely;
    table->broken += !lonely;
    return true;
}

static st_code insert_row(void *context, const st_row *row, st_error *error)
{
    st_salvage *job = context;
    const st_shape *shape = &job->shapes[job->at];
    st_salvage_table *table = table_of(job, job->at);
    if (!job->insert || job->insert_columns != row->count) {
        st_code code = prepare_insert(job, row->count, error);
        if (code != ST_OK)
            return code;
    }
    int rc = SQLITE_OK;
    for (size_t i = 0; i < row->count && rc == SQLITE_OK; i++)
        rc = (int)i == shape->key ? sqlite3_bind_int64(job->insert, (int)i + 1, row->rowid)
                                  : bind_value(job->insert, (int)i + 1, &row->values[i], shape->type[i]);
    if (rc == SQLITE_OK)
        rc = st_fault_here(ST_FAULT_SQLITE) ? SQLITE_IOERR : sqlite3_step(job->insert);
    bool refused = is_refusal(job, rc, table);
    table->saved += rc == SQLITE_DONE;
    st_code code = rc == SQLITE_DONE || refused ? ST_OK : st_store_fail(job->store, rc, doing, error);
    sqlite3_reset(job->insert);
    return code;
}

static st_code count_row(void *context, const st_row *row, st_error *error)
{
    (void)context;
    (void)row;
    (void)error;
    return ST_OK;
}

static bool fits_table(void *context, const st_row *row)
{
    st_salvage *job = context;
    return st_shape_fits(&job->shapes[job->at], row);
}

// --- the schema of the damaged file ------------------------------------------------------------------------
static bool fits_schema(void *context, const st_row *row)
{
    (void)context;
    return row->count == 5 && row->values[0].kind == ST_VALUE_TEXT && row->values[1].kind == ST_VALUE_TEXT &&
           row->values[3].kind == ST_VALUE_INT;
}

static st_code take_schema(void *context, const st_row *row, st_error *error)
{
    (void)error;
    st_salvage *job = context;
    const st_value *type = &row->values[0], *name = &row->values[1];
    int64_t root = row->values[3].integer;
    if (type->length != 5 || memcmp(type->bytes, "table", 5) != 0 || root <= 1 || root > job->pages.count)
        return ST_OK;
    for (size_t i = 0; i < job->count; i++) {
        st_shape *shape = &job->shapes[i];
        if (strlen(shape->name) != name->length || memcmp(shape->name, name->bytes, name->length) != 0)
            continue;
        shape->root = (uint32_t)root;
        shape->found = true;
    }
    return ST_OK;
}

static st_code read_schema(st_salvage *job, st_error *error)
{
    st_tree tree = {.pages = &job->pages, .by_rowid = true, .fits = fits_schema, .take = take_schema, .context = job};
    st_text_init(&tree.payload);
    st_code code = st_tree_walk(&tree, 1, error);
    st_text_release(&tree.payload);
    job->schema_read = tree.lost_pages == 0 && tree.lost_rows == 0;
    return code;
}

// --- trees -------------------------------------------------------------------------------------------------
static st_code walk_table(st_salvage *job, size_t at, bool inserting, st_error *error)
{
    const st_shape *shape = &job->shapes[at];
    st_salvage_table *table = table_of(job, at);
    st_tree tree = {.pages = &job->pages, .by_rowid = shape->by_rowid, .fits = fits_table,
                    .take = inserting ? insert_row : count_row, .context = job};
    st_text_init(&tree.payload);
    job->at = at;
    st_code code = shape->root ? st_tree_walk(&tree, shape->root, error) : ST_OK;
    for (uint32_t page = 2; inserting && page <= job->pages.count && code == ST_OK; page++)
        if (job->owner[page] == (int8_t)at)
            code = st_tree_leaf(&tree, page, error);
    st_text_release(&tree.payload);
    sqlite3_finalize(job->insert);
    job->insert = NULL;
    table->lost_pages = tree.lost_pages;
    table->broken += inserting ? tree.lost_rows : 0;
    return code;
}

// --- pages without owner -----------------------------------------------------------------------------------
typedef struct st_guess {
    const st_salvage *job;
    bool by_rowid;
    uint32_t fits; // a bit for each shape that every row fits that can be read
    uint32_t told; // a bit for each that some row can be told by
    bool any;
} st_guess;

static bool fits_any(void *context, const st_row *row)
{
    st_guess *guess = context;
    uint32_t fits = 0;
    for (size_t i = 0; i < guess->job->count; i++) {
        const st_shape *shape = &guess->job->shapes[i];
        if (shape->by_rowid != guess->by_rowid || !st_shape_fits(shape, row))
            continue;
        fits |= 1U << i;
        guess->told |= st_shape_is_told(shape, row) ? 1U << i : 0;
    }
    guess->fits = guess->any ? guess->fits & fits : fits;
    guess->any = true;
    return true;
}

static st_code guess_owner(st_salvage *job, uint32_t page, int type, st_error *error)
{
    st_guess guess = {.job = job, .by_rowid = type == 0x0d};
    st_tree tree = {.pages = &job->pages, .by_rowid = guess.by_rowid, .fits = fits_any, .take = count_row,
                    .context = &guess};
    st_text_init(&tree.payload);
    st_code code = st_tree_leaf(&tree, page, error);
    st_text_release(&tree.payload);
    uint32_t sure = guess.fits & guess.told;
    for (size_t i = 0; i < job->count; i++)
        if (sure == 1U << i)
            job->owner[page] = (int8_t)i;
    return code;
}

// Sound leaves that no tree reaches, since the page above them is lost. Only where it is known which pages were
// free: what stands on those was deleted. (Of a damaged header this is not known; then deleted rows may return.)
static st_code find_owners(st_salvage *job, st_error *error)
{
    bool needed = !job->schema_read;
    for (size_t i = 0; i < job->count; i++)
        needed |= table_of(job, i)->lost_pages > 0 || !job->shapes[i].root;
    if (!needed || !(job->pages.free_whole || job->pages.header_damaged))
        return ST_OK;
    unsigned char *bytes = st_malloc(job->pages.bytes);
    st_code code = bytes ? ST_OK : st_fail_memory(error, doing);
    for (uint32_t page = 2; page <= job->pages.count && code == ST_OK; page++) {
        if (job->pages.seen[page] || !st_pages_read(&job->pages, page, bytes))
            continue;
        int type = st_tree_page_type(bytes, page, job->pages.usable);
        if (type && type != 0x05)
            code = guess_owner(job, page, type, error);
    }
    st_free(bytes);
    return code;
}

// --- the whole ---------------------------------------------------------------------------------------------
static st_code note_wrong_id(void *context, const char *table, int64_t key, const char *id, st_error *error)
{
    (void)id;
    st_statement statement;
    st_code code = st_statement_open(context, &statement, "INSERT INTO temp.wrong VALUES (?, ?)", doing, error);
    if (code == ST_OK) {
        st_bind_text(&statement, table);
        st_bind_int(&statement, key);
        code = st_statement_run(&statement, error);
    }
    st_statement_close(&statement);
    return code;
}

static st_code count_rows(st_salvage *job, bool last, st_error *error)
{
    st_code code = ST_OK;
    for (size_t i = 0; i < job->count && code == ST_OK; i++) {
        char sql[96];
        int64_t rows;
        st_salvage_table *table = table_of(job, i);
        snprintf(sql, sizeof sql, "SELECT count(*) FROM \"%s\"", job->shapes[i].name);
        code = st_ask_number(job->store, sql, doing, &rows, error);
        if (last)
            table->contradicting = table->saved - rows;
        table->saved = rows;
    }
    return code;
}

// Rows whose id says something else than they do, and what hangs on them.
static st_code drop_contradictions(st_salvage *job, st_error *error)
{
    static const char *const tables[] = {"device", "toolchain", "problem", "configuration", "candidate"};
    int64_t found = 0;
    st_code code = st_script_run(job->store, "CREATE TEMP TABLE wrong (name TEXT, key INTEGER)", doing, error);
    if (code == ST_OK)
        code = st_wrong_ids(job->store, note_wrong_id, job->store, error);
    if (code == ST_OK)
        code = st_ask_number(job->store, "SELECT count(*) FROM temp.wrong", doing, &found, error);
    for (size_t i = 0; i < sizeof tables / sizeof *tables && found && code == ST_OK; i++) {
        char sql[192];
        snprintf(sql, sizeof sql, "DELETE FROM %s WHERE %s_key IN (SELECT key FROM temp.wrong WHERE name = '%s')",
                 tables[i], tables[i], tables[i]);
        code = st_script_run(job->store, sql, doing, error);
    }
    if (code == ST_OK && found)
        code = st_drop_orphans(job->store, NULL, error);
    return code == ST_OK ? count_rows(job, true, error) : code;
}

static st_code insert_all(st_salvage *job, st_error *error)
{
    st_code code = st_store_begin(job->store, error);
    if (code != ST_OK)
        return code;
    memcpy(job->pages.seen, job->free, (size_t)job->pages.count + 1);
    for (size_t i = 0; i < job->count && code == ST_OK; i++)
        code = walk_table(job, i, true, error);
    if (code == ST_OK)
        code = count_rows(job, false, error);
    return st_store_finish(job->store, code, error);
}

static st_code finish(st_salvage *job, st_error *error)
{
    st_code code = st_script_run(job->store, "PRAGMA foreign_keys = OFF", doing, error);
    if (code == ST_OK)
        code = drop_contradictions(job, error);
    if (code == ST_OK)
        code = st_migrations_run(job->store, st_migrations, st_migration_count, error); // also turns them on
    return code;
}

// --- the new store -----------------------------------------------------------------------------------------
static st_code open_new(st_salvage *job, st_error *error)
{
    const char *parent = getenv("TMPDIR");
    char *folder = st_format("%s/simtune-salvage-XXXXXX", parent && *parent ? parent : "/tmp");
    char *made = folder && !st_fault_here(ST_FAULT_SYSTEM) ? mkdtemp(folder) : NULL;
    char *path = made ? st_format("%s/saved.db", folder) : NULL;
    const st_store_options options = {ST_STORE_PATIENCE_MS, st_migrations, (size_t)job->version};
    st_code code = !folder || (made && !path) ? st_fail_memory(error, doing)
                   : !made ? st_fail(error, ST_FAILED, "name a folder that can be written in TMPDIR",
                                     "cannot make a folder in %s for what can be saved",
                                     parent && *parent ? parent : "/tmp")
                           : st_store_open_with(path, ST_STORE_WRITE, &options, &job->store, error);
    if (code == ST_OK)
        code = st_script_run(job->store, "PRAGMA synchronous = OFF", doing, error);
    if (code != ST_OK && path)
        unlink(path);
    if (made && !job->store)
        rmdir(folder);
    st_free(path);
    st_free(folder);
    return code;
}

void st_salvage_close(st_store *store)
{
    if (!store)
        return;
    char *path = st_strdup(st_store_path(store));
    st_store_close(store);
    char *slash = path ? strrchr(path, '/') : NULL;
    if (slash) {
        unlink(path);
        *slash = '\0';
        rmdir(path);
    }
    st_free(path);
}

// A row written before a column was added is shorter: as short as the oldest version that has the table has it.
static st_code read_shapes(st_salvage *job, st_error *error)
{
    st_code code = st_shapes_of(job->store, job->shapes, &job->count, error);
    for (size_t version = 1; version < (size_t)job->version && code == ST_OK; version++) {
        const st_store_options options = {0, st_migrations, version};
        st_shape older[ST_SHAPES_MOST];
        size_t count = 0;
        st_store *store = NULL;
        code = st_store_open_with(":memory:", ST_STORE_WRITE, &options, &store, error);
        if (code == ST_OK)
            code = st_shapes_of(store, older, &count, error);
        st_store_close(store);
        for (size_t i = 0; i < count && code == ST_OK; i++)
            for (size_t k = 0; k < job->count; k++)
                if (strcmp(older[i].name, job->shapes[k].name) == 0 && older[i].columns < job->shapes[k].least)
                    job->shapes[k].least = older[i].columns;
    }
    job->report->count = job->count;
    for (size_t i = 0; i < job->count; i++)
        snprintf(job->report->tables[i].name, sizeof job->report->tables[i].name, "%s", job->shapes[i].name);
    return code;
}

static st_code prepare(st_salvage *job, st_error *error)
{
    int known = st_migrations[st_migration_count - 1].number;
    st_pages *pages = &job->pages;
    if (pages->user_version > known)
        return st_migrations_newer(pages->path, pages->user_version, known, error);
    job->version = pages->user_version > 0 ? pages->user_version : known;
    size_t bytes = (size_t)pages->count + 1;
    job->free = st_malloc(bytes);
    job->owner = st_malloc(bytes);
    if (!job->free || !job->owner)
        return st_fail_memory(error, doing);
    memcpy(job->free, pages->seen, bytes);
    memset(job->owner, -1, bytes);
    st_code code = open_new(job, error);
    if (code == ST_OK)
        code = read_shapes(job, error);
    return code == ST_OK ? read_schema(job, error) : code;
}

static void sum_up(st_salvage *job)
{
    st_salvage_report *report = job->report;
    report->header_damaged = job->pages.header_damaged;
    report->truncated = job->pages.truncated;
    report->log_damaged = job->pages.log_damaged;
    report->schema_damaged = !job->schema_read;
    report->pages = job->pages.count;
    report->page_bytes = job->pages.bytes;
    report->complete = !report->header_damaged && !report->truncated && !report->log_damaged && job->schema_read;
    for (size_t i = 0; i < job->count; i++) {
        const st_salvage_table *table = table_of(job, i);
        report->lost_pages += table->lost_pages;
        report->complete &= !table->lost_pages && !table->broken && !table->without_parent && !table->contradicting;
        if (strcmp(table->name, "session") == 0)
            report->sessions = table->saved;
    }
}

static st_code run(st_salvage *job, st_error *error)
{
    st_code code = prepare(job, error);
    for (size_t i = 0; i < job->count && code == ST_OK; i++)
        code = walk_table(job, i, false, error);
    if (code == ST_OK)
        code = find_owners(job, error);
    if (code == ST_OK)
        code = insert_all(job, error);
    if (code == ST_OK)
        code = finish(job, error);
    return code;
}

static bool saved_anything(const st_salvage_report *report)
{
    bool any = false;
    for (size_t i = 0; i < report->count; i++)
        any |= report->tables[i].saved > 0;
    return any;
}

st_code st_salvage_open(const char *path, st_store **out, st_salvage_report *report, st_error *error)
{
    st_salvage job = {.report = report};
    *out = NULL;
    *report = (st_salvage_report){0};
    st_code code = st_pages_open(path, &job.pages, error);
    if (code != ST_OK)
        return code;
    code = run(&job, error);
    if (code == ST_OK)
        sum_up(&job);
    if (code == ST_OK && !report->complete && !saved_anything(report))
        code = st_fail(error, ST_FAILED, "name another file with --db, or restore this one from a copy",
                       "%s holds nothing of a simtune store that can be read", path);
    if (code == ST_OK)
        *out = job.store;
    else
        st_salvage_close(job.store);
    st_free(job.free);
    st_free(job.owner);
    st_pages_close(&job.pages);
    return code;
}

void st_salvage_describe(const st_salvage_report *report, st_text *out)
{
    static const struct {
        size_t at;
        const char *words;
    } marks[] = {
        {offsetof(st_salvage_report, header_damaged), "the file's header is damaged: rows that were deleted may be back"},
        {offsetof(st_salvage_report, schema_damaged), "the list of tables is damaged: they were told by their rows"},
        {offsetof(st_salvage_report, truncated), "the file is cut off: pages at its end are missing"},
        {offsetof(st_salvage_report, log_damaged), "the -wal file is damaged: the last commits in it are lost"},
    };
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (*(const bool *)((const char *)report + marks[i].at))
            st_text_addf(out, "%s\n", marks[i].words);
    for (size_t i = 0; i < report->count; i++) {
        const st_salvage_table *table = &report->tables[i];
        const struct {
            int64_t count;
            const char *words;
        } losses[] = {{table->lost_pages, "lost pages"},
                      {table->broken, "broken rows"},
                      {table->without_parent, "rows that refer to lost ones"},
                      {table->contradicting, "rows that contradict their id"}};
        bool any = false;
        for (size_t k = 0; k < sizeof losses / sizeof *losses; k++)
            any |= losses[k].count > 0;
        if (!any)
            continue;
        st_text_addf(out, "%s: rows that can be read: %lld", table->name, (long long)table->saved);
        for (size_t k = 0; k < sizeof losses / sizeof *losses; k++)
            if (losses[k].count)
                st_text_addf(out, "; %s: %lld", losses[k].words, (long long)losses[k].count);
        st_text_add(out, "\n");
    }
}
