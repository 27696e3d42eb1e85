// SPDX-License-Identifier: Apache-2.0
// What rows of a history file must be beyond their types: words, names, order, and what `simtune db check` would
// condemn. Invariant: nothing here writes to the store.
#include "db/history_internal.h"

#include "tuner/base/memory.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

// --- texts -------------------------------------------------------------------------------------------------
void st_import_check_filled(st_import *in, const char *name, const char *text)
{
    if (in->code == ST_OK && !*text)
        in->code = st_fail(in->error, ST_FAILED, NULL, "\"%s\" is empty", name);
}

void st_import_check_id(st_import *in, const char *name, const char *text)
{
    if (in->code == ST_OK && (strlen(text) != ST_HASH_TEXT - 1 || strspn(text, "0123456789abcdef") != ST_HASH_TEXT - 1))
        in->code = st_fail(in->error, ST_FAILED, NULL, "\"%s\" is \"%.64s\"; allowed are %d of the characters 0-9 and a-f", name,
                           text, ST_HASH_TEXT - 1);
}

void st_import_check_word(st_import *in, const char *name, const char *text, const char *const *allowed)
{
    char list[160] = "";
    size_t used = 0;
    if (in->code != ST_OK)
        return;
    for (size_t i = 0; allowed[i]; i++) {
        if (strcmp(allowed[i], text) == 0)
            return;
        if (used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", allowed[i]);
    }
    in->code = st_fail(in->error, ST_FAILED, NULL, "\"%s\" is \"%.64s\"; allowed is one of %s", name, text, list);
}

static bool is_plain(const char *text)
{
    for (const char *at = text; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            return false;
    return true;
}

// Below the folder that the template stands in, whatever somebody writes the texts to.
static bool is_name_of_file(const char *name)
{
    bool fine = *name && *name != '/' && is_plain(name) && !strchr(name, '\\');
    for (const char *at = name; fine && at; at = strchr(at, '/'), at += at != NULL) {
        size_t length = strcspn(at, "/");
        fine = length && !(length == 2 && at[0] == '.' && at[1] == '.');
    }
    return fine;
}

void st_import_check_texts(st_import *in)
{
    if (in->code != ST_OK || !st_import_is_given(in, "texts"))
        return;
    const st_value *texts = st_import_members_of(in, "texts", ST_VALUE_OBJECT), *at = st_value_first(&in->reader, texts);
    for (; in->code == ST_OK && at; at = st_value_next(&in->reader, at))
        if (at->kind != ST_VALUE_TEXT)
            in->code = st_fail(in->error, ST_FAILED, NULL, "\"texts\": what the file \"%.64s\" holds is not a text", at->name);
        else if (!is_name_of_file(at->name))
            in->code = st_fail(in->error, ST_FAILED, NULL,
                               "\"texts\": \"%.64s\" is no name of a template's file; allowed is one without .. and not from /",
                               at->name);
}

// The same name among the words before `at`.
static bool stands_before(const char *text, const char *at, size_t length)
{
    while (text < at) {
        size_t other = strcspn(text, "=");
        if (other == length && strncmp(text, at, length) == 0)
            return true;
        text += strcspn(text, " ");
        text += *text == ' ';
    }
    return false;
}

// NAME=VALUE, with one blank between them, no name twice. Which names there are only the template knows.
void st_import_check_configuration(st_import *in, const char *text)
{
    const char *why = !*text ? "it is empty" : is_plain(text) ? NULL : "it holds control characters";
    if (in->code != ST_OK)
        return;
    for (const char *at = text; !why && at; at = strchr(at, ' '), at += at != NULL) {
        size_t word = strcspn(at, " "), name = strcspn(at, "= ");
        if (!name || at[name] != '=' || name + 1 >= word)
            why = "its words are not all NAME=VALUE";
        else if (stands_before(text, at, name))
            why = "a parameter stands in it twice";
    }
    if (why)
        in->code = st_fail(in->error, ST_FAILED, NULL, "\"configuration\" is \"%.200s\": %s", is_plain(text) ? text : "…", why);
}

// --- numbers -----------------------------------------------------------------------------------------------
void st_import_check_times(st_import *in, const char *status, int64_t started, int64_t finished)
{
    if (in->code != ST_OK)
        return;
    bool running = strcmp(status, "running") == 0;
    if (running != (finished < 0))
        in->code = st_fail(in->error, ST_FAILED, NULL, "\"status\" is \"%s\", but \"finished_ms\" is %s", status,
                           running ? "there" : "missing");
    else if (finished >= 0 && finished < started)
        in->code = st_fail(in->error, ST_FAILED, NULL, "\"finished_ms\" is %lld, before \"started_ms\", %lld", (long long)finished,
                           (long long)started);
}

// What no clock tells was not measured: a time below zero, a median outside its samples (of thinned ones it may be).
void st_import_check_samples(st_import *in, const st_measurement_row *row, bool thinned)
{
    double low = INFINITY, high = -INFINITY, median = row->median_ns;
    if (in->code != ST_OK)
        return;
    for (size_t i = 0; i < row->sample_count; i++) {
        low = fmin(low, row->samples_ns[i]);
        high = fmax(high, row->samples_ns[i]);
    }
    if (low < 0 || median < 0)
        in->code = st_fail(in->error, ST_FAILED, NULL, "a time is negative: %g ns", low < 0 ? low : median);
    if (in->code == ST_OK && !thinned && low <= high && (median < low || median > high))
        in->code = st_fail(in->error, ST_FAILED, NULL,
                           "the median %.17g ns lies outside its samples, %.17g to %.17g ns", median, low, high);
}

// Ratios of times are above zero, and beyond a thousand million nobody has measured one.
void st_import_check_speedup(st_import *in, const st_winner_row *row)
{
    const double all[] = {row->speedup_low, row->speedup, row->speedup_high};
    for (int i = 0; i < 3 && in->code == ST_OK; i++)
        if (all[i] <= 0 || all[i] > 1e9)
            in->code = st_fail(in->error, ST_FAILED, NULL, "a speedup of %g is out of range, 0 to 1e9", all[i]);
    if (in->code == ST_OK && (row->speedup < row->speedup_low || row->speedup > row->speedup_high))
        in->code = st_fail(in->error, ST_FAILED, NULL, "the speedup %g lies outside its interval, %g to %g", row->speedup,
                           row->speedup_low, row->speedup_high);
}

// --- other rows --------------------------------------------------------------------------------------------
void st_import_check_holds(st_import *in, const char *sql, int64_t key, const char *text, const char *otherwise)
{
    st_statement statement;
    int64_t count = 0;
    if (in->code != ST_OK)
        return;
    in->code = st_statement_open(in->store, &statement, sql, "importing", in->error);
    if (in->code == ST_OK) {
        st_bind_int(&statement, key);
        st_bind_text(&statement, text);
        in->code = st_statement_number(&statement, &count, NULL, in->error);
    }
    st_statement_close(&statement);
    if (in->code == ST_OK && !count)
        in->code = st_fail(in->error, ST_FAILED, NULL, "%s, \"%s\"", otherwise, text);
}

// --- the end of the file -----------------------------------------------------------------------------------
typedef struct ending {
    FILE *file;
    z_stream stream;
    unsigned char in[1 << 16], out[1 << 16];
} ending;

static bool fill(ending *at)
{
    if (!at->stream.avail_in) {
        at->stream.next_in = at->in;
        at->stream.avail_in = (unsigned)fread(at->in, 1, sizeof at->in, at->file);
    }
    return at->stream.avail_in > 0;
}

// Member after member to the end of the file. What is wrong within one has been told before.
static bool ends_with_a_member(ending *at)
{
    int state = Z_STREAM_END;
    while (fill(at)) {
        if (state == Z_STREAM_END)
            inflateReset(&at->stream);
        at->stream.next_out = at->out;
        at->stream.avail_out = sizeof at->out;
        state = inflate(&at->stream, Z_NO_FLUSH);
        if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR)
            return false;
    }
    return state == Z_STREAM_END;
}

st_code st_history_check_end(const char *path, st_error *error)
{
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) // a pipe is read once
        return ST_OK;
    ending *at = st_calloc(1, sizeof *at);
    if (!at)
        return st_fail_memory(error, "importing");
    at->file = fopen(path, "rbe");
    st_code code = at->file ? ST_OK
                            : st_fail(error, ST_FAILED, "check the file", "cannot read the history file %s: %s", path,
                                      strerror(errno));
    bool zipped = code == ST_OK && fill(at) && at->stream.avail_in > 1 && at->in[0] == 0x1f && at->in[1] == 0x8b;
    if (zipped && inflateInit2(&at->stream, 15 + 16) != Z_OK) // 16: gzip
        code = st_fail_memory(error, "importing");
    else if (zipped) {
        if (!ends_with_a_member(at))
            code = st_fail(error, ST_FAILED, "nothing was imported; get the file again, or export it anew",
                           "the history file %s has something behind its end, which is no gzip", path);
        inflateEnd(&at->stream);
    }
    if (at->file)
        fclose(at->file);
    st_free(at);
    return code;
}
