// SPDX-License-Identifier: Apache-2.0
// A look at a store before it is written to. What a writer does not come by it does not notice: rows would go on
// coming into a file whose inner pages are damaged; and where the list of free pages is (which SQLite 3.40 does not even check in
// a file with views) new rows would be written over old ones. Invariants: 1. the file is only read, by a descriptor of its own,
// which is never closed while this process has the file open (that would drop SQLite's locks); 2. what is seen while other
// programs write is a suspicion: st_store_open looks again with the write lock held before it refuses; 3. a look ends after MOST
// seconds: leaves are not read, and of a very large store not all inner pages.
#include "db/salvage_internal.h"

#include "tuner/base/clock.h"

#include <string.h>
#include <time.h>

enum { TREES_MOST = 128 };
static const double most = 0.25; // seconds

typedef struct st_roots {
    uint32_t pages;
    struct {
        uint32_t page;
        bool by_rowid;
    } at[TREES_MOST];
    size_t count;
} st_roots;

static bool is_schema(void *context, const st_row *row)
{
    (void)context;
    return row->count == 5 && row->values[0].kind == ST_VALUE_TEXT && row->values[3].kind == ST_VALUE_INT;
}

static bool says(const st_value *value, const char *words)
{
    return value->kind == ST_VALUE_TEXT && memmem(value->bytes, value->length, words, strlen(words)) != NULL;
}

static st_code take_root(void *context, const st_row *row, st_error *error)
{
    (void)error;
    st_roots *roots = context;
    int64_t page = row->values[3].integer;
    if (page <= 0 || roots->count == TREES_MOST) // views and triggers have none
        return ST_OK;
    roots->at[roots->count].page = page <= roots->pages ? (uint32_t)page : 0;
    roots->at[roots->count++].by_rowid = says(&row->values[0], "table") && !says(&row->values[4], "WITHOUT ROWID");
    return ST_OK;
}

static st_code look(st_pages *pages, bool *suspect, st_error *error)
{
    st_roots roots = {.pages = pages->count};
    double until = st_clock_seconds() + most;
    st_tree schema = {.pages = pages, .by_rowid = true, .fits = is_schema, .take = take_root, .context = &roots};
    st_text_init(&schema.payload);
    st_code code = st_tree_walk(&schema, 1, error);
    st_text_release(&schema.payload);
    *suspect = schema.lost_pages || schema.lost_rows || !pages->free_whole || pages->truncated;
    for (size_t i = 0; i < roots.count && code == ST_OK && !*suspect; i++)
        *suspect = !st_tree_glance(pages, roots.at[i].page, roots.at[i].by_rowid, until);
    return code;
}

st_code st_glance(const char *path, int times, bool *suspect, st_error *error)
{
    st_code code = ST_OK;
    *suspect = true;
    for (int i = 0; i < times && code == ST_OK && *suspect; i++) {
        st_pages pages;
        *suspect = false;
        if (i) // whoever wrote may be done
            nanosleep(&(struct timespec){.tv_nsec = 2000000L * i}, NULL);
        if ((code = st_pages_open(path, &pages, error)) != ST_OK)
            break;
        if (!pages.header_damaged && pages.count > 0) // else SQLite tells
            code = look(&pages, suspect, error);
        st_pages_close(&pages);
    }
    return code;
}

st_code st_glance_locked(st_store *store, bool *suspect, st_error *error)
{
    st_pages pages;
    *suspect = false;
    st_code code = st_store_begin(store, error);
    if (code != ST_OK)
        return code;
    code = st_pages_open(sqlite3_db_filename(store->db, "main"), &pages, error);
    if (code == ST_OK) {
        code = look(&pages, suspect, error);
        store->kept_fd = pages.file; // closed with the store
        pages.file = -1;
        st_pages_close(&pages);
    }
    st_store_rollback(store);
    return code;
}
