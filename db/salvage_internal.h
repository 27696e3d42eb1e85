// SPDX-License-Identifier: Apache-2.0
// Shared by the files that read a damaged store: salvage_pages.c (pages and the write-ahead log),
// salvage_tree.c (trees of pages, and records in them), salvage_shapes.c (which table a row is of),
// salvage.c (rows into a new store); glance.c (a look before a store is written to).
//
// SQLite never touches the damaged file: its pages are read here, through a descriptor that cannot write.
// The format is SQLite's, as https://www.sqlite.org/fileformat2.html has it.
#ifndef SIMTUNE_DB_SALVAGE_INTERNAL_H
#define SIMTUNE_DB_SALVAGE_INTERNAL_H

#include "db/salvage.h"
#include "db/store_internal.h"

// --- salvage_pages.c ---------------------------------------------------------------------------------------
typedef struct st_pages {
    const char *path;
    int file, log;             // descriptors; log -1: there is none
    uint32_t bytes, usable;    // of a page, without what is reserved at its end
    uint32_t count;            // pages; from 1 on
    uint32_t named;            // pages that the header says there are
    uint32_t first_free, free_count; // as the header says
    int user_version;          // -1: the header is damaged
    bool header_damaged, truncated, log_damaged;
    int64_t *log_at;           // where in the log the newest content of a page stands; 0: in the file
    unsigned char *seen;       // a page that belongs to something that was read
    bool free_whole;           // every page of the free list was found
} st_pages;

st_code st_pages_open(const char *path, st_pages *out, st_error *error);
void st_pages_close(st_pages *pages);
// Reads a page into `out` (pages->bytes long). False: it is beyond the end, or the disk fails.
bool st_pages_read(const st_pages *pages, uint32_t number, unsigned char *out);
uint32_t st_big_endian_4(const unsigned char *at);
uint32_t st_big_endian_2(const unsigned char *at);

// --- salvage_tree.c ----------------------------------------------------------------------------------------
typedef enum st_value_kind { ST_VALUE_NULL, ST_VALUE_INT, ST_VALUE_REAL, ST_VALUE_TEXT, ST_VALUE_BLOB } st_value_kind;
typedef struct st_value {
    st_value_kind kind;
    int64_t integer;
    double real;
    const unsigned char *bytes; // of texts and blobs; valid during the callback only
    size_t length;
} st_value;
enum { ST_VALUES_MOST = 64 };
typedef struct st_row {
    int64_t rowid; // of tables by rowid
    st_value values[ST_VALUES_MOST];
    size_t count;
} st_row;

// How a tree is read. `fits` says whether a row can be one of this table: a page none of whose rows fits was
// reached through a damaged pointer, and is left to its owner.
typedef struct st_tree {
    st_pages *pages;
    bool by_rowid;
    bool (*fits)(void *context, const st_row *row);
    st_code (*take)(void *context, const st_row *row, st_error *error);
    void *context;
    int64_t lost_pages, lost_rows; // added to
    st_text payload;               // of the row at hand
} st_tree;
// Every row of the tree below `root` that can be read.
st_code st_tree_walk(st_tree *tree, uint32_t root, st_error *error);
// The rows of one leaf, or of an interior page of an index without its children; nothing for other pages.
st_code st_tree_leaf(st_tree *tree, uint32_t page, st_error *error);
// Whether the tree's inner pages are such, and lead to pages that nothing else leads to. Leaves are not read. Stops,
// content, at the time `until` (st_clock_seconds).
bool st_tree_glance(st_pages *pages, uint32_t root, bool by_rowid, double until);
// 0x0d and 0x05: leaf and interior page of a table; 0x0a and 0x02: of an index. 0 for anything else.
int st_tree_page_type(const unsigned char *page, uint32_t number, uint32_t usable);

// --- salvage_shapes.c --------------------------------------------------------------------------------------
enum { ST_SHAPE_COLUMNS = 32, ST_SHAPES_MOST = 24 };
typedef struct st_shape {
    char name[32];
    bool by_rowid;
    size_t columns, least;         // `least`: rows from before a column was added have fewer values
    char column[ST_SHAPE_COLUMNS][32];
    char type[ST_SHAPE_COLUMNS];   // 'I', 'R', 'T', 'B'
    bool needed[ST_SHAPE_COLUMNS]; // NOT NULL
    int key;                       // the column that is the rowid; -1 none
    uint32_t root;                 // in the damaged file; 0 unknown
    bool found;                    // the damaged file's schema names the table
} st_shape;
// The tables of `store`, those that others refer to first.
st_code st_shapes_of(st_store *store, st_shape *shapes, size_t *count, st_error *error);
bool st_shape_fits(const st_shape *shape, const st_row *row);
// Whether rows of this shape on a page of their own can be told from those of every other table and index.
bool st_shape_is_told(const st_shape *shape, const st_row *row);

#endif
