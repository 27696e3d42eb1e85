// SPDX-License-Identifier: Apache-2.0
// A file that is being made. Invariants: 1. it appears at its name only when it is complete, and an older one stays
// until then (st_writing_finish); 2. the gzip header holds no date and no name: same bytes in, same bytes out; 3. it
// is written as it is made, so memory does not grow with it.
#include "db/exchange_internal.h"

#include "tuner/base/memory.h"

#include <limits.h>
#include <string.h>

enum { WRITTEN_AT_ONCE = 1 << 16 };

static void *zlib_allocate(void *context, unsigned count, unsigned size)
{
    (void)context;
    return st_calloc(count, size);
}

static void zlib_free(void *context, void *memory)
{
    (void)context;
    st_free(memory);
}

bool st_path_is_zipped(const char *path)
{
    size_t length = strlen(path);
    return length > 3 && strcmp(path + length - 3, ".gz") == 0;
}

st_code st_sink_open(st_sink *sink, const char *path, bool zipped, st_error *error)
{
    enum { GZIP = 16 + MAX_WBITS, MEMORY = 8 };
    *sink = (st_sink){.path = path, .stream = {.zalloc = zlib_allocate, .zfree = zlib_free}};
    st_text_init(&sink->waiting);
    st_code code = st_writing_open(&sink->file, path, error);
    if (code != ST_OK)
        return code;
    if (zipped && deflateInit2(&sink->stream, 9, Z_DEFLATED, GZIP, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        return st_fail_memory(error, "exporting");
    sink->zipped = zipped;
    return ST_OK;
}

static st_code write_waiting(st_sink *sink, size_t least, st_error *error)
{
    if (sink->waiting.failed)
        return st_fail_memory(error, "exporting");
    if (sink->waiting.length < least)
        return ST_OK;
    st_code code = st_writing_add(&sink->file, sink->waiting.data, sink->waiting.length, error);
    st_text_clear(&sink->waiting);
    return code;
}

// Takes what zlib has to give for the input at hand; everything with Z_FINISH.
static st_code compress_bytes(st_sink *sink, const char *bytes, size_t length, int flush, st_error *error)
{
    unsigned char block[1 << 14];
    int state = Z_OK;
    if (length > INT_MAX)
        return st_fail(error, ST_FAILED, "export other sessions", "a row for %s is larger than 2 GiB", sink->path);
    sink->stream.next_in = (unsigned char *)(uintptr_t)bytes;
    sink->stream.avail_in = (unsigned)length;
    do {
        sink->stream.next_out = block;
        sink->stream.avail_out = sizeof block;
        state = deflate(&sink->stream, flush);
        st_text_add_bytes(&sink->waiting, block, sizeof block - sink->stream.avail_out);
        st_code code = write_waiting(sink, WRITTEN_AT_ONCE, error);
        if (code != ST_OK)
            return code;
    } while (state == Z_OK && (sink->stream.avail_in || !sink->stream.avail_out));
    bool fine = state == (flush == Z_FINISH ? Z_STREAM_END : Z_OK) || (state == Z_BUF_ERROR && flush != Z_FINISH);
    return fine ? ST_OK : st_fail(error, ST_FAILED, NULL, "cannot compress a row for %s", sink->path);
}

st_code st_sink_add(st_sink *sink, const st_text *text, st_error *error)
{
    if (text->failed)
        return st_fail_memory(error, "exporting");
    if (sink->zipped)
        return compress_bytes(sink, text->data, text->length, Z_NO_FLUSH, error);
    st_text_add_bytes(&sink->waiting, text->data, text->length);
    return write_waiting(sink, WRITTEN_AT_ONCE, error);
}

st_code st_sink_finish(st_sink *sink, st_error *error)
{
    st_code code = sink->zipped ? compress_bytes(sink, "", 0, Z_FINISH, error) : ST_OK;
    if (code == ST_OK)
        code = write_waiting(sink, 1, error);
    return code == ST_OK ? st_writing_finish(&sink->file, error) : code;
}

void st_sink_release(st_sink *sink)
{
    if (sink->zipped)
        deflateEnd(&sink->stream);
    sink->zipped = false;
    st_writing_release(&sink->file);
    st_text_release(&sink->waiting);
}
