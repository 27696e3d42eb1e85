// SPDX-License-Identifier: Apache-2.0
// Reading history files. Invariants: 1. all of a file is imported or nothing of it (one transaction);
// 2. rows that are there are left as they are, so importing again adds nothing (history_rows.c); 3. a file
// that is cut off lacks its last line, or fails gzip's checksum, and is refused; 4. every message names the
// file and the line.
#include "db/history_internal.h"

#include "tuner/base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#define LINE_MAX_BYTES ((size_t)64 << 20)

static void import_head(st_import *in)
{
    const st_value *format = st_value_get(&in->reader, in->row, "format");
    if (!format || format->kind != ST_VALUE_TEXT || strcmp(format->text, ST_HISTORY_FORMAT) != 0) {
        in->code = st_fail(in->error, ST_FAILED, NULL, "this is not a history file of simtune");
        return;
    }
    int64_t version = st_import_int_or_unknown(in, "version");
    if (in->code == ST_OK && version < 1)
        in->code = st_fail(in->error, ST_FAILED, NULL, "\"version\" is missing or below 1");
    if (in->code == ST_OK && version > ST_HISTORY_VERSION)
        in->code =
            st_fail(in->error, ST_FAILED, "use the newer simtune that wrote it",
                    "the history file has version %lld; this simtune reads versions up to %d",
                    (long long)version, ST_HISTORY_VERSION);
}

static st_code import_line(st_import *in, const st_text *line)
{
    in->line_number++;
    in->code = st_reader_read(&in->reader, line, &in->row, in->error);
    if (in->code == ST_OK && in->row->kind != ST_VALUE_OBJECT)
        in->code = st_fail(in->error, ST_FAILED, NULL, "this is not a history file of simtune");
    if (in->code == ST_OK && in->line_number == 1)
        import_head(in);
    else if (in->code == ST_OK)
        st_import_row(in);
    in->row = NULL;
    if (in->code != ST_OK) {
        st_error_prefix(in->error, "%s:%zu", in->path, in->line_number);
        if (in->error && in->code == ST_FAILED && !*in->error->remedy)
            snprintf(in->error->remedy, sizeof in->error->remedy,
                     "nothing was imported; get the file again, or export it anew");
    }
    return in->code;
}

static st_code cannot_read(const st_import *in, gzFile file, st_error *error)
{
    int why = Z_OK;
    const char *text = file ? gzerror(file, &why) : NULL;
    if (!file || why == Z_ERRNO)
        text = strerror(errno);
    return st_fail(error, ST_FAILED, "check the file; if it is damaged, get it again",
                   "cannot read the history file %s: %s", in->path, text);
}

// Appends the next line, without its end. *more is false at the end of the file.
static st_code read_line(st_import *in, gzFile file, st_text *line, bool *more, st_error *error)
{
    char block[1 << 16];
    st_text_clear(line);
    for (*more = true;;) {
        char *got = st_fault_here(ST_FAULT_SYSTEM) ? (errno = EIO, NULL)
                                                   : gzgets(file, block, sizeof block);
        int why = Z_OK;
        gzerror(file, &why);
        if ((why != Z_OK && why != Z_STREAM_END) || (!got && !gzeof(file)))
            return cannot_read(in, file, error);
        *more = got != NULL;
        if (!got && !line->length)
            return ST_OK;
        size_t length = got ? strlen(block) : 0;
        bool whole = !got || (length && block[length - 1] == '\n');
        st_text_add_bytes(line, block, length - (length && whole && got ? 1 : 0));
        *more = true;
        if (line->failed)
            return st_fail_memory(error, "importing");
        if (line->length > LINE_MAX_BYTES)
            return st_fail(error, ST_FAILED, "check that it is a history file",
                           "the history file %s has a line of more than %zu MiB", in->path,
                           LINE_MAX_BYTES >> 20);
        if (whole)
            return ST_OK;
    }
}

static st_code import_file(st_import *in, gzFile file, st_error *error)
{
    st_text line;
    st_text_init(&line);
    st_code code = ST_OK;
    for (bool more = true; code == ST_OK && more;) {
        code = read_line(in, file, &line, &more, error);
        if (code == ST_OK && more)
            code = import_line(in, &line);
    }
    st_text_release(&line);
    if (code == ST_OK && !in->ended)
        code =
            st_fail(error, ST_FAILED, "nothing was imported; get the file again, or export it anew",
                    "the history file %s is cut off after line %zu", in->path, in->line_number);
    return code;
}

st_code st_history_import(st_store *store, const char *path, bool shipped, size_t *added,
                          st_error *error)
{
    st_error unheard; // so that messages can be completed when the caller wants none
    st_import in = {
        .store = store, .path = path, .shipped = shipped, .error = error ? error : &unheard};
    if (added)
        *added = 0;
    errno = 0;
    gzFile file = st_fault_here(ST_FAULT_SYSTEM) ? (errno = EIO, NULL) : gzopen(path, "rbe");
    if (!file)
        return cannot_read(&in, NULL, error);
    st_code code = st_store_begin(store, error);
    if (code == ST_OK) {
        st_store_whole_begin(store);
        code = import_file(&in, file, in.error);
        if (code == ST_OK)
            code = st_history_check_end(path, in.error);
        st_store_whole_end(store);
        code = st_store_finish(store, code, error);
    }
    gzclose(file);
    st_reader_release(&in.reader);
    st_known_release(&in.known);
    if (code == ST_OK && added)
        *added = in.added;
    return code;
}
