// SPDX-License-Identifier: Apache-2.0
// The pages of a damaged file, with its write-ahead log. Invariants: 1. nothing is written, no lock is taken;
// 2. of the log only frames up to the last commit count whose checksums hold, as SQLite has it; 3. a number
// that the header gives is believed only where the file bears it out.
#include "db/salvage_internal.h"

#include "tuner/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_HEADER = 100, LOG_HEADER = 32, FRAME_HEADER = 24, PAGE_LEAST = 512, PAGE_MOST = 65536 };

uint32_t st_big_endian_4(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

uint32_t st_big_endian_2(const unsigned char *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

static bool is_page_size(uint32_t bytes)
{
    return bytes >= PAGE_LEAST && bytes <= PAGE_MOST && (bytes & (bytes - 1)) == 0;
}

static bool read_at(int file, int64_t offset, void *out, size_t length)
{
    unsigned char *to = out;
    while (length) {
        ssize_t got = st_fault_here(ST_FAULT_SYSTEM) ? (errno = EIO, -1) : pread(file, to, length, offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        to += got;
        offset += got;
        length -= (size_t)got;
    }
    return true;
}

bool st_pages_read(const st_pages *pages, uint32_t number, unsigned char *out)
{
    if (number == 0 || number > pages->count)
        return false;
    int64_t logged = pages->log_at[number];
    return logged ? read_at(pages->log, logged, out, pages->bytes)
                  : read_at(pages->file, (int64_t)(number - 1) * pages->bytes, out, pages->bytes);
}

// --- the log -----------------------------------------------------------------------------------------------
typedef struct st_log {
    bool big_endian; // of the checksums
    uint32_t bytes;  // of a page
    uint32_t salt[2], sum[2];
} st_log;

static uint32_t word(const st_log *log, const unsigned char *at)
{
    return log->big_endian ? st_big_endian_4(at)
                           : (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

static void add_to_sum(st_log *log, const unsigned char *at, size_t length)
{
    for (; length >= 8; at += 8, length -= 8) {
        log->sum[0] += word(log, at) + log->sum[1];
        log->sum[1] += word(log, at + 4) + log->sum[0];
    }
}

static bool sum_is(const st_log *log, const unsigned char *at)
{
    return log->sum[0] == st_big_endian_4(at) && log->sum[1] == st_big_endian_4(at + 4);
}

static bool read_log_header(const st_pages *pages, st_log *log)
{
    unsigned char header[LOG_HEADER];
    if (!read_at(pages->log, 0, header, sizeof header))
        return false;
    uint32_t magic = st_big_endian_4(header);
    *log = (st_log){.big_endian = magic & 1,
                    .bytes = st_big_endian_4(header + 8),
                    .salt = {st_big_endian_4(header + 16), st_big_endian_4(header + 20)}};
    add_to_sum(log, header, 24);
    return (magic & ~1U) == 0x377f0682 && is_page_size(log->bytes) && sum_is(log, header + 24);
}

// Walks the frames that are sound. `mark` 0 counts pages up to the last commit, else it notes where they stand.
static int64_t walk_log(st_pages *pages, st_log log, unsigned char *page, int64_t until)
{
    int64_t at = LOG_HEADER, committed = 0;
    unsigned char frame[FRAME_HEADER];
    for (; !until || at < until; at += FRAME_HEADER + (int64_t)pages->bytes) {
        if (!read_at(pages->log, at, frame, sizeof frame) ||
            !read_at(pages->log, at + FRAME_HEADER, page, pages->bytes))
            break;
        uint32_t number = st_big_endian_4(frame), size = st_big_endian_4(frame + 4);
        add_to_sum(&log, frame, 8);
        add_to_sum(&log, page, pages->bytes);
        if (st_big_endian_4(frame + 8) != log.salt[0] || st_big_endian_4(frame + 12) != log.salt[1] ||
            !sum_is(&log, frame + 16) || number == 0)
            break;
        if (until && number <= pages->count)
            pages->log_at[number] = at + FRAME_HEADER;
        if (size) {
            committed = at + FRAME_HEADER + pages->bytes;
            if (!until)
                pages->count = size;
        }
    }
    return committed;
}

static st_code apply_log(st_pages *pages, st_error *error)
{
    st_log log;
    struct stat status;
    bool there = pages->log >= 0 && fstat(pages->log, &status) == 0 && status.st_size > 0;
    bool sound = there && read_log_header(pages, &log) && log.bytes == pages->bytes;
    pages->log_damaged = there && !sound;
    uint32_t in_file = pages->count;
    unsigned char *page = st_malloc(pages->bytes);
    if (!page)
        return st_fail_memory(error, "reading a damaged store");
    int64_t until = sound ? walk_log(pages, log, page, 0) : 0;
    if (pages->count < in_file && pages->count < pages->named)
        pages->count = in_file; // a shorter file is believed when its own header says so too
    pages->log_at = st_calloc((size_t)pages->count + 1, sizeof *pages->log_at);
    pages->seen = st_calloc((size_t)pages->count + 1, 1);
    if (pages->log_at && pages->seen && until)
        walk_log(pages, log, page, until);
    st_free(page);
    return pages->log_at && pages->seen ? ST_OK : st_fail_memory(error, "reading a damaged store");
}

// --- the header --------------------------------------------------------------------------------------------
// How many pages look like pages of a tree, if pages have this size. The same stretch of the file for every size.
static int likely_pages(const st_pages *pages, int64_t length, uint32_t bytes)
{
    enum { STRETCH = 8 << 20 };
    int likely = 0;
    unsigned char head[12];
    for (int64_t at = bytes; at < length && at < STRETCH; at += bytes) {
        if (!read_at(pages->file, at, head, sizeof head))
            break;
        bool leaf = head[0] == 0x0d || head[0] == 0x0a, inner = head[0] == 0x05 || head[0] == 0x02;
        uint32_t cells = st_big_endian_2(head + 3), content = st_big_endian_2(head + 5);
        likely += (leaf || inner) && cells > 0 && cells < bytes / 4 && content < bytes && content > 2 * cells;
    }
    return likely;
}

static uint32_t guess_page_size(const st_pages *pages, int64_t length)
{
    static const uint32_t sizes[] = {65536, 32768, 16384, 8192, 4096, 2048, 1024, 512};
    st_log log;
    if (pages->log >= 0 && read_log_header(pages, &log))
        return log.bytes;
    uint32_t best = 4096; // SQLite's own choice
    // Pages half as large find the same heads again and a few false ones; pages twice as large find half of them.
    int most = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int likely = likely_pages(pages, length, sizes[i]);
        if (likely > most + most / 4) {
            most = likely;
            best = sizes[i];
        }
    }
    return best;
}

static void read_header(st_pages *pages, int64_t length)
{
    unsigned char header[FILE_HEADER] = {0};
    bool there = read_at(pages->file, 0, header, sizeof header);
    uint32_t bytes = st_big_endian_2(header + 16);
    bytes = bytes == 1 ? PAGE_MOST : bytes;
    uint32_t version = st_big_endian_4(header + 60);
    bool sound = there && memcmp(header, "SQLite format 3", 16) == 0 && is_page_size(bytes) && header[20] < 64 &&
                 header[21] == 64 && header[22] == 32 && header[23] == 32 && st_big_endian_4(header + 56) == 1 &&
                 st_big_endian_4(header + 68) == ST_APPLICATION_ID && version > 0 && version < 1000;
    pages->header_damaged = !sound;
    pages->bytes = sound ? bytes : guess_page_size(pages, length);
    pages->usable = pages->bytes - (sound ? header[20] : 0);
    pages->user_version = sound ? (int)version : -1;
    pages->named = sound ? st_big_endian_4(header + 28) : 0;
    pages->count = (uint32_t)(length / pages->bytes);
    if (sound) {
        pages->first_free = st_big_endian_4(header + 32);
        pages->free_count = st_big_endian_4(header + 36);
    }
}

// The newest page 1 may stand in the log.
static void read_header_again(st_pages *pages)
{
    unsigned char header[FILE_HEADER];
    if (!pages->log_at[1] || !read_at(pages->log, pages->log_at[1], header, sizeof header))
        return;
    pages->header_damaged = false;
    pages->usable = pages->bytes - header[20];
    pages->user_version = (int)st_big_endian_4(header + 60);
    pages->named = st_big_endian_4(header + 28);
    pages->first_free = st_big_endian_4(header + 32);
    pages->free_count = st_big_endian_4(header + 36);
}

// --- the free list -----------------------------------------------------------------------------------------
// What stands on free pages was deleted: it is marked, so that nobody takes it for lost pages of a table.
static st_code mark_free(st_pages *pages, st_error *error)
{
    unsigned char *trunk = st_malloc(pages->bytes);
    if (!trunk)
        return st_fail_memory(error, "reading a damaged store");
    uint32_t found = 0;
    for (uint32_t at = pages->first_free; at && at <= pages->count && !pages->seen[at];) {
        if (!st_pages_read(pages, at, trunk))
            break;
        uint32_t leaves = st_big_endian_4(trunk + 4);
        if (leaves > pages->usable / 4 - 2)
            break;
        pages->seen[at] = 1;
        found++;
        for (uint32_t i = 0; i < leaves; i++) {
            uint32_t leaf = st_big_endian_4(trunk + 8 + 4 * i);
            if (leaf && leaf <= pages->count && !pages->seen[leaf]) {
                pages->seen[leaf] = 1;
                found++;
            }
        }
        at = st_big_endian_4(trunk);
    }
    pages->free_whole = found == pages->free_count && !pages->header_damaged;
    st_free(trunk);
    return ST_OK;
}

// --- opening -----------------------------------------------------------------------------------------------
static st_code open_files(const char *path, st_pages *out, int64_t *length, st_error *error)
{
    struct stat status;
    out->file = st_fault_here(ST_FAULT_SYSTEM) ? (errno = EIO, -1) : open(path, O_RDONLY | O_CLOEXEC);
    if (out->file < 0)
        return st_fail(error, errno == ENOENT ? ST_NOTHING : ST_FAILED,
                       "check the path and its permissions, or name another store with --db",
                       "cannot open the store %s: %s", path, strerror(errno));
    if (fstat(out->file, &status) != 0 || !S_ISREG(status.st_mode))
        return st_fail(error, ST_FAILED, "name an ordinary file with --db", "the store %s is not an ordinary file",
                       path);
    *length = status.st_size;
    char *log = st_format("%s-wal", path);
    if (!log)
        return st_fail_memory(error, "reading a damaged store");
    out->log = open(log, O_RDONLY | O_CLOEXEC);
    st_free(log);
    return ST_OK;
}

st_code st_pages_open(const char *path, st_pages *out, st_error *error)
{
    int64_t length = 0;
    *out = (st_pages){.path = path, .file = -1, .log = -1, .user_version = -1};
    st_code code = open_files(path, out, &length, error);
    if (code == ST_OK) {
        read_header(out, length);
        code = apply_log(out, error);
    }
    if (code == ST_OK && out->count > 0) {
        read_header_again(out);
        out->truncated = out->named > out->count;
        code = mark_free(out, error);
    }
    if (code != ST_OK)
        st_pages_close(out);
    return code;
}

void st_pages_close(st_pages *pages)
{
    if (pages->file >= 0)
        close(pages->file);
    if (pages->log >= 0)
        close(pages->log);
    st_free(pages->log_at);
    st_free(pages->seen);
    *pages = (st_pages){.file = -1, .log = -1};
}
