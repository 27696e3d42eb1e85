// SPDX-License-Identifier: Apache-2.0
// Trees of pages and the records in them, read without trust. Invariants: 1. no offset, length or page number of
// the file is used before it was compared with its bounds; 2. a page is read once, whatever pointers say, so
// that every walk ends; 3. a record counts only when its header and its length agree to the byte.
#include "db/salvage_internal.h"

#include "tuner/base/clock.h"
#include "tuner/base/memory.h"

#include <string.h>

enum { LEAF_OF_TABLE = 0x0d, INNER_OF_TABLE = 0x05, LEAF_OF_INDEX = 0x0a, INNER_OF_INDEX = 0x02, DEPTH_MOST = 24 };

typedef struct st_page {
    const unsigned char *bytes;
    uint32_t number, head; // where its head begins: behind the file's header on page 1
    int type;
    uint32_t cells, first_cell; // first_cell: the array of their places
} st_page;

typedef struct st_cell {
    uint32_t child;   // of interior pages
    int64_t rowid;    // of tables
    uint64_t payload; // bytes; 0 for an interior page of a table
    uint32_t at;      // where the payload begins
} st_cell;

// --- numbers -----------------------------------------------------------------------------------------------
// A varint of at most 9 bytes before `end`. Returns its length, 0 when it does not end in time.
static size_t varint(const unsigned char *at, const unsigned char *end, uint64_t *out)
{
    uint64_t value = 0;
    for (size_t i = 0; i < 9 && at + i < end; i++) {
        if (i == 8) {
            *out = value << 8 | at[i];
            return 9;
        }
        value = value << 7 | (at[i] & 0x7f);
        if (!(at[i] & 0x80)) {
            *out = value;
            return i + 1;
        }
    }
    return 0;
}

static int64_t big_endian_signed(const unsigned char *at, size_t length)
{
    uint64_t value = at[0] & 0x80 ? UINT64_MAX : 0;
    for (size_t i = 0; i < length; i++)
        value = value << 8 | at[i];
    return (int64_t)value;
}

// --- records -----------------------------------------------------------------------------------------------
// Bytes that a value of this type takes in the record's body; -1: there is no such type.
static int64_t length_of_type(uint64_t type)
{
    static const int8_t lengths[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0};
    if (type < 10)
        return lengths[type];
    return type < 12 || type > (uint64_t)INT32_MAX * 2 ? -1 : (int64_t)(type - 12) / 2;
}

static void decode(uint64_t type, const unsigned char *at, size_t length, st_value *out)
{
    *out = (st_value){.bytes = at, .length = length};
    if (type == 0) {
        out->kind = ST_VALUE_NULL;
    } else if (type == 7) {
        uint64_t bits = (uint64_t)big_endian_signed(at, 8);
        memcpy(&out->real, &bits, sizeof bits);
        out->kind = ST_VALUE_REAL;
    } else if (type < 10) {
        out->kind = ST_VALUE_INT;
        out->integer = type == 8 ? 0 : type == 9 ? 1 : big_endian_signed(at, length);
    } else {
        out->kind = type & 1 ? ST_VALUE_TEXT : ST_VALUE_BLOB;
    }
}

static bool decode_record(const unsigned char *bytes, size_t length, st_row *row)
{
    uint64_t head, type;
    const unsigned char *end = bytes + length;
    size_t used = varint(bytes, end, &head);
    row->count = 0;
    if (!used || head < used || head > length)
        return false;
    const unsigned char *at = bytes + used, *types_end = bytes + head, *body = types_end;
    while (at < types_end) {
        used = varint(at, types_end, &type);
        int64_t size = used ? length_of_type(type) : -1;
        if (size < 0 || size > end - body || row->count == ST_VALUES_MOST)
            return false;
        decode(type, body, (size_t)size, &row->values[row->count++]);
        at += used;
        body += size;
    }
    return body == end && row->count > 0;
}

// --- pages -------------------------------------------------------------------------------------------------
static bool open_page(const unsigned char *bytes, uint32_t number, uint32_t usable, st_page *out)
{
    uint32_t head = number == 1 ? 100 : 0;
    int type = bytes[head];
    bool inner = type == INNER_OF_TABLE || type == INNER_OF_INDEX;
    *out = (st_page){.bytes = bytes, .number = number, .head = head, .type = type,
                     .cells = st_big_endian_2(bytes + head + 3), .first_cell = head + (inner ? 12 : 8)};
    return (inner || type == LEAF_OF_TABLE || type == LEAF_OF_INDEX) &&
           out->first_cell + 2 * out->cells <= usable && (out->cells > 0 || !inner);
}

int st_tree_page_type(const unsigned char *page, uint32_t number, uint32_t usable)
{
    st_page opened;
    return open_page(page, number, usable, &opened) ? opened.type : 0;
}

static bool is_inner(const st_page *page)
{
    return page->type == INNER_OF_TABLE || page->type == INNER_OF_INDEX;
}

static bool is_of_table(const st_page *page)
{
    return page->type == INNER_OF_TABLE || page->type == LEAF_OF_TABLE;
}

static bool read_cell(const st_page *page, uint32_t usable, uint32_t index, st_cell *out)
{
    uint32_t at = st_big_endian_2(page->bytes + page->first_cell + 2 * index);
    const unsigned char *end = page->bytes + usable;
    uint64_t number = 0;
    *out = (st_cell){0};
    if (at < page->first_cell + 2 * page->cells || at + 4 > usable)
        return false;
    if (is_inner(page)) {
        out->child = st_big_endian_4(page->bytes + at);
        at += 4;
    }
    if (page->type != INNER_OF_TABLE) {
        size_t used = varint(page->bytes + at, end, &out->payload);
        at += (uint32_t)used;
        if (!used || out->payload == 0 || out->payload > INT32_MAX)
            return false;
    }
    if (is_of_table(page)) {
        size_t used = varint(page->bytes + at, end, &number);
        at += (uint32_t)used;
        if (!used)
            return false;
    }
    out->rowid = (int64_t)number;
    out->at = at;
    return at <= usable;
}

// How much of a payload stands on the page itself; the rest is in a chain of pages.
static uint32_t local_bytes(const st_page *page, uint32_t usable, uint64_t payload)
{
    uint32_t most = page->type == LEAF_OF_TABLE ? usable - 35 : (usable - 12) * 64 / 255 - 23;
    uint32_t least = (usable - 12) * 32 / 255 - 23;
    if (payload <= most)
        return (uint32_t)payload;
    uint64_t fits = least + (payload - least) % (usable - 4);
    return (uint32_t)(fits <= most ? fits : least);
}

// Appends what stands in the chain of pages from `next` on. False when the chain breaks.
static bool follow_chain(st_tree *tree, uint32_t next, uint64_t missing, unsigned char *page)
{
    uint32_t room = tree->pages->usable - 4;
    while (missing) {
        if (!next || next > tree->pages->count || !st_pages_read(tree->pages, next, page))
            return false;
        uint64_t here = missing < room ? missing : room;
        st_text_add_bytes(&tree->payload, page + 4, (size_t)here);
        tree->pages->seen[next] = 1;
        missing -= here;
        next = st_big_endian_4(page);
    }
    return true;
}

// The record of a cell. *row points into the page or into tree->payload. False: it cannot be read.
static bool read_row(st_tree *tree, const st_page *page, const st_cell *cell, unsigned char *scratch, st_row *row)
{
    uint32_t usable = tree->pages->usable, local = local_bytes(page, usable, cell->payload);
    const unsigned char *bytes = page->bytes + cell->at;
    row->rowid = cell->rowid;
    if ((uint64_t)cell->at + local + (local < cell->payload ? 4 : 0) > usable)
        return false;
    if (local < cell->payload) {
        if (cell->payload / (usable - 4) > tree->pages->count) // longer than the whole file
            return false;
        st_text_clear(&tree->payload);
        st_text_add_bytes(&tree->payload, bytes, local);
        if (!follow_chain(tree, st_big_endian_4(bytes + local), cell->payload - local, scratch))
            return false;
        if (tree->payload.failed || tree->payload.length != cell->payload)
            return false;
        bytes = (const unsigned char *)tree->payload.data;
    }
    return decode_record(bytes, (size_t)cell->payload, row);
}

// --- leaves ------------------------------------------------------------------------------------------------
// Rowids rise on a page. One that is greater than the next, which itself fits behind the one before, is damaged.
static bool in_order(const st_page *page, uint32_t usable, uint32_t index, int64_t before, const st_cell *cell)
{
    st_cell next;
    if (index > 0 && cell->rowid <= before)
        return false;
    return index + 1 >= page->cells || !read_cell(page, usable, index + 1, &next) || next.rowid > cell->rowid ||
           (index > 0 && next.rowid <= before);
}

static bool page_fits(st_tree *tree, const st_page *page, unsigned char *scratch)
{
    bool any = false;
    st_row row;
    st_cell cell;
    for (uint32_t i = 0; i < page->cells; i++) {
        any = true;
        if (read_cell(page, tree->pages->usable, i, &cell) && read_row(tree, page, &cell, scratch, &row) &&
            tree->fits(tree->context, &row))
            return true;
    }
    return !any; // an empty page is nobody's
}

static st_code take_rows(st_tree *tree, const st_page *page, unsigned char *scratch, st_error *error)
{
    int64_t before = INT64_MIN;
    st_code code = ST_OK;
    st_row row;
    st_cell cell;
    for (uint32_t i = 0; i < page->cells && code == ST_OK; i++) {
        bool whole = read_cell(page, tree->pages->usable, i, &cell) &&
                     (!is_of_table(page) || in_order(page, tree->pages->usable, i, before, &cell));
        if (whole)
            before = cell.rowid;
        whole = whole && read_row(tree, page, &cell, scratch, &row) && tree->fits(tree->context, &row);
        if (tree->payload.failed)
            return st_fail_memory(error, "reading a damaged store");
        if (whole)
            code = tree->take(tree->context, &row, error);
        else
            tree->lost_rows++;
    }
    return code;
}

// --- trees -------------------------------------------------------------------------------------------------
static st_code walk(st_tree *tree, uint32_t number, int depth, st_error *error);

// The page's own rows, unless it is an interior page of a table.
static st_code walk_page(st_tree *tree, const st_page *page, int depth, unsigned char *scratch, st_error *error)
{
    st_code code = ST_OK;
    st_cell cell;
    bool has_rows = page->type != INNER_OF_TABLE;
    if (has_rows && !page_fits(tree, page, scratch)) {
        tree->lost_pages++;
        return ST_OK;
    }
    tree->pages->seen[page->number] = 1;
    if (has_rows)
        code = take_rows(tree, page, scratch, error);
    if (!is_inner(page))
        return code;
    for (uint32_t i = 0; i < page->cells && code == ST_OK; i++) {
        if (read_cell(page, tree->pages->usable, i, &cell))
            code = walk(tree, cell.child, depth + 1, error);
        else
            tree->lost_pages++;
    }
    return code == ST_OK ? walk(tree, st_big_endian_4(page->bytes + page->head + 8), depth + 1, error) : code;
}

static st_code walk(st_tree *tree, uint32_t number, int depth, st_error *error)
{
    st_pages *pages = tree->pages;
    if (number == 0 || number > pages->count || depth > DEPTH_MOST || pages->seen[number]) {
        tree->lost_pages++;
        return ST_OK;
    }
    unsigned char *bytes = st_malloc((size_t)pages->bytes * 2);
    if (!bytes)
        return st_fail_memory(error, "reading a damaged store");
    st_page page;
    st_code code = ST_OK;
    if (st_pages_read(pages, number, bytes) && open_page(bytes, number, pages->usable, &page) &&
        is_of_table(&page) == tree->by_rowid)
        code = walk_page(tree, &page, depth, bytes + pages->bytes, error);
    else
        tree->lost_pages++;
    st_free(bytes);
    return code;
}

st_code st_tree_walk(st_tree *tree, uint32_t root, st_error *error)
{
    return walk(tree, root, 0, error);
}

st_code st_tree_leaf(st_tree *tree, uint32_t number, st_error *error)
{
    st_pages *pages = tree->pages;
    unsigned char *bytes = st_malloc((size_t)pages->bytes * 2);
    if (!bytes)
        return st_fail_memory(error, "reading a damaged store");
    st_page page;
    st_code code = ST_OK;
    if (st_pages_read(pages, number, bytes) && open_page(bytes, number, pages->usable, &page) &&
        page.type != INNER_OF_TABLE && is_of_table(&page) == tree->by_rowid) {
        pages->seen[number] = 1;
        code = take_rows(tree, &page, bytes + pages->bytes, error);
    }
    st_free(bytes);
    return code;
}

// --- a glance ----------------------------------------------------------------------------------------------
// How many levels of inner pages stand above the leaves, by the way to the first one. -1: that way is broken.
static int levels_above(const st_pages *pages, uint32_t root, unsigned char *bytes)
{
    st_page page;
    st_cell cell;
    uint32_t number = root;
    for (int levels = 0; levels < DEPTH_MOST; levels++) {
        if (!st_pages_read(pages, number, bytes) || !open_page(bytes, number, pages->usable, &page))
            return -1;
        if (!is_inner(&page))
            return levels;
        if (!read_cell(&page, pages->usable, 0, &cell))
            return -1;
        number = cell.child;
    }
    return -1;
}

static bool glance(st_pages *pages, uint32_t number, bool by_rowid, int levels, double until);

// The children of an inner page, in order. A page of a table has rowids that rise.
static bool glance_below(st_pages *pages, const st_page *page, int levels, double until)
{
    st_cell cell;
    int64_t before = INT64_MIN;
    for (uint32_t i = 0; i < page->cells; i++) {
        if (!read_cell(page, pages->usable, i, &cell) ||
            (is_of_table(page) && i > 0 && cell.rowid <= before) ||
            !glance(pages, cell.child, is_of_table(page), levels - 1, until))
            return false;
        before = cell.rowid;
    }
    return glance(pages, st_big_endian_4(page->bytes + page->head + 8), is_of_table(page), levels - 1, until);
}

static bool glance(st_pages *pages, uint32_t number, bool by_rowid, int levels, double until)
{
    if (number == 0 || number > pages->count || pages->seen[number])
        return false;
    pages->seen[number] = 1;
    if (levels == 0 || st_clock_seconds() > until)
        return true;
    unsigned char *bytes = st_malloc(pages->bytes);
    st_page page;
    bool sound = !bytes || (st_pages_read(pages, number, bytes) && open_page(bytes, number, pages->usable, &page) &&
                            is_inner(&page) && is_of_table(&page) == by_rowid &&
                            glance_below(pages, &page, levels, until));
    st_free(bytes);
    return sound;
}

bool st_tree_glance(st_pages *pages, uint32_t root, bool by_rowid, double until)
{
    unsigned char *bytes = st_malloc(pages->bytes);
    int levels = bytes ? levels_above(pages, root, bytes) : 0;
    st_free(bytes);
    return levels >= 0 && glance(pages, root, by_rowid, levels, until);
}
