// SPDX-License-Identifier: Apache-2.0
// A file that is being made. Invariants: 1. it appears at its name only when it is complete, and an older one stays
// until then (st_text_write_file); 2. the gzip header holds no date and no name: same bytes in, same bytes out.
#include "db/exchange_internal.h"

#include "tuner/base/memory.h"

#include <limits.h>
#include <string.h>

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
    st_text_init(&sink->file);
    if (zipped && deflateInit2(&sink->stream, 9, Z_DEFLATED, GZIP, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        return st_fail_memory(error, "exporting");
    sink->zipped = zipped;
    return ST_OK;
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
        st_text_add_bytes(&sink->file, block, sizeof block - sink->stream.avail_out);
    } while (state == Z_OK && (sink->stream.avail_in || !sink->stream.avail_out));
    if (sink->file.failed)
        return st_fail_memory(error, "exporting");
    bool fine = state == (flush == Z_FINISH ? Z_STREAM_END : Z_OK) || (state == Z_BUF_ERROR && flush != Z_FINISH);
    return fine ? ST_OK : st_fail(error, ST_FAILED, NULL, "cannot compress a row for %s", sink->path);
}

st_code st_sink_add(st_sink *sink, const st_text *text, st_error *error)
{
    if (text->failed)
        return st_fail_memory(error, "exporting");
    if (sink->zipped)
        return compress_bytes(sink, text->data, text->length, Z_NO_FLUSH, error);
    st_text_add_bytes(&sink->file, text->data, text->length);
    return sink->file.failed ? st_fail_memory(error, "exporting") : ST_OK;
}

st_code st_sink_finish(st_sink *sink, st_error *error)
{
    st_code code = sink->zipped ? compress_bytes(sink, "", 0, Z_FINISH, error) : ST_OK;
    return code == ST_OK
               ? st_text_write_file(sink->path, st_text_string(&sink->file), sink->file.length, NULL, error)
               : code;
}

void st_sink_release(st_sink *sink)
{
    if (sink->zipped)
        deflateEnd(&sink->stream);
    sink->zipped = false;
    st_text_release(&sink->file);
}
