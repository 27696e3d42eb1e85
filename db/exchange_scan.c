// SPDX-License-Identifier: Apache-2.0
// Bytes of a JSON file, gzip'ed or not, one value at a time. Invariants: 1. nothing of the file is kept but the block
// at hand and the value that was asked for, which has a limit; 2. a value is taken by its brackets and quotes alone,
// so that a long list costs no tree; 3. every message names file, line and column.
#include "db/exchange_internal.h"

#include "tuner/base/memory.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DAMAGED "check the file; if it is damaged, get it again. Nothing was imported"

st_code st_scan_fail(st_scan *scan, const char *remedy, const char *format, ...)
{
    if (scan->code != ST_OK)
        return scan->code;
    char what[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return scan->code = st_fail(scan->error, ST_FAILED, remedy, "%s:%zu:%zu: %s", scan->path, scan->line,
                                scan->column, what);
}

static st_code cannot_read(st_scan *scan)
{
    int why = Z_OK;
    const char *text = scan->file ? gzerror(scan->file, &why) : NULL;
    if (!scan->file || why == Z_ERRNO || why == Z_OK)
        text = strerror(errno);
    return scan->code = st_fail(scan->error, ST_FAILED, DAMAGED, "cannot read %s: %s", scan->path, text);
}

st_code st_scan_open(st_scan *scan, const char *path, st_error *error)
{
    scan->path = path;
    scan->line = scan->column = 1;
    scan->at = scan->end = 0;
    scan->ended = false;
    scan->code = ST_OK;
    scan->error = error;
    errno = 0;
    scan->file = st_fault_here(ST_FAULT_SYSTEM) ? (errno = EIO, NULL) : gzopen(path, "rbe");
    return scan->file ? ST_OK : cannot_read(scan);
}

void st_scan_close(st_scan *scan)
{
    if (scan->file)
        gzclose(scan->file);
    scan->file = NULL;
}

static bool fill(st_scan *scan)
{
    if (scan->code != ST_OK || scan->ended)
        return false;
    int got = st_fault_here(ST_FAULT_SYSTEM) ? (errno = EIO, -1) : gzread(scan->file, scan->block, ST_SCAN_BLOCK);
    int why = Z_OK;
    gzerror(scan->file, &why);
    if (got < 0 || (why != Z_OK && why != Z_STREAM_END)) {
        cannot_read(scan); // a gzip'ed file that is cut off as well
        return false;
    }
    scan->at = 0;
    scan->end = (size_t)got;
    scan->ended = got == 0;
    return got > 0;
}

static int next(st_scan *scan)
{
    return scan->at < scan->end || fill(scan) ? scan->block[scan->at] : -1;
}

static void advance(st_scan *scan)
{
    bool new_line = scan->block[scan->at++] == '\n';
    scan->line += new_line;
    scan->column = new_line ? 1 : scan->column + 1;
}

int st_scan_peek(st_scan *scan)
{
    int byte = next(scan);
    while (byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r') {
        advance(scan);
        byte = next(scan);
    }
    return scan->code == ST_OK ? byte : -1;
}

bool st_scan_take(st_scan *scan, char wanted)
{
    if (st_scan_peek(scan) != (unsigned char)wanted)
        return false;
    advance(scan);
    return true;
}

void st_scan_need(st_scan *scan, char wanted)
{
    if (st_scan_take(scan, wanted) || scan->code != ST_OK)
        return;
    int found = next(scan);
    if (found < 0)
        st_scan_fail(scan, DAMAGED, "the file ends where a '%c' should stand", wanted);
    else if (found > ' ' && found < 0x7f)
        st_scan_fail(scan, DAMAGED, "a '%c' stands where a '%c' should", found, wanted);
    else
        st_scan_fail(scan, DAMAGED, "byte %d stands where a '%c' should", found, wanted);
}

// --- values --------------------------------------------------------------------------------------------------
// Appends the bytes of a run within the block in one go.
static void take_run(st_scan *scan, size_t length, st_text *out)
{
    st_text_add_bytes(out, scan->block + scan->at, length);
    for (; length; length--)
        advance(scan);
}

static void take_string(st_scan *scan, st_text *out)
{
    take_run(scan, 1, out); // the quote
    for (;;) {
        if (next(scan) < 0) {
            st_scan_fail(scan, DAMAGED, "the file ends within a text");
            return;
        }
        size_t length = 0;
        while (scan->at + length < scan->end && scan->block[scan->at + length] != '"' &&
               scan->block[scan->at + length] != '\\')
            length++;
        take_run(scan, length, out);
        if (scan->at == scan->end)
            continue;
        bool quote = scan->block[scan->at] == '"';
        take_run(scan, 1, out);
        if (quote)
            return;
        if (next(scan) >= 0) // what is escaped
            take_run(scan, 1, out);
        if (out->length > ST_SCAN_VALUE_MOST)
            return; // st_scan_value tells
    }
}

static bool is_word(int byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           byte == '+' || byte == '-' || byte == '.' || byte == '_';
}

// A number, true, false or null; and what Python writes for numbers that JSON does not have.
static void take_word(st_scan *scan, st_text *out)
{
    char word[16];
    size_t length = 0, before = out->length;
    for (int byte = next(scan); is_word(byte); byte = next(scan)) {
        if (length < sizeof word - 1)
            word[length] = (char)byte;
        length++;
        take_run(scan, 1, out);
        if (out->length > ST_SCAN_VALUE_MOST)
            return;
    }
    word[length < sizeof word ? length : sizeof word - 1] = '\0';
    static const char *const unknown[] = {"NaN", "Infinity", "-Infinity"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown && !out->failed; i++)
        if (strcmp(word, unknown[i]) == 0) {
            out->length = before;
            st_text_add(out, "null");
        }
}

// One token of a value; *depth follows the brackets.
static void take_token(st_scan *scan, int byte, int *depth, st_text *out)
{
    if (byte == '"') {
        take_string(scan, out);
    } else if (is_word(byte)) {
        take_word(scan, out);
    } else if (byte && strchr("{}[],:", byte)) {
        *depth += byte == '{' || byte == '[' ? 1 : byte == '}' || byte == ']' ? -1 : 0;
        take_run(scan, 1, out);
    } else {
        st_scan_fail(scan, DAMAGED, "byte %d stands where a value should", byte);
    }
    if (*depth > ST_SCAN_DEPTH)
        st_scan_fail(scan, DAMAGED, "more than %d brackets within each other", ST_SCAN_DEPTH);
}

void st_scan_value(st_scan *scan, st_text *out)
{
    int depth = 0;
    st_text_clear(out);
    do {
        int byte = st_scan_peek(scan);
        if (scan->code != ST_OK)
            return;
        if (byte < 0) {
            st_scan_fail(scan, DAMAGED, "the file ends %s", depth ? "within a value" : "where a value should stand");
            return;
        }
        if (depth == 0 && byte && strchr("}],:", byte)) {
            st_scan_fail(scan, DAMAGED, "a '%c' stands where a value should", byte);
            return;
        }
        take_token(scan, byte, &depth, out);
        if (out->failed)
            scan->code = st_fail_memory(scan->error, "importing");
        else if (out->length > ST_SCAN_VALUE_MOST)
            st_scan_fail(scan, DAMAGED, "a value of more than %zu MiB", ST_SCAN_VALUE_MOST >> 20);
    } while (depth > 0 && scan->code == ST_OK);
}
