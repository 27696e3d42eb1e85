// SPDX-License-Identifier: Apache-2.0
// Samples of a line, read before the JSON reader sees it: they are most of a file, and a JSON value for each costs more than
// all else together. Invariants: 1. a list of numbers is replaced by its place among those of the line, and nothing else
// is touched; 2. a line in which the name stands in any other way than before a list of numbers is left whole, so that no
// number of the file can be taken for a place; 3. numbers mean what the JSON reader makes of them.
#include "db/history_internal.h"

#include "tuner/base/memory.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char name[] = "\"samples_ns\"";

void st_cut_samples_release(st_cut_samples *cut)
{
    st_free(cut->values);
    st_free(cut->ends);
    *cut = (st_cut_samples){0};
}

// -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)? as JSON has it. NULL: no number stands here.
static const char *end_of_number(const char *at)
{
    static const char digits[] = "0123456789";
    at += *at == '-';
    size_t length = strspn(at, digits);
    if (!length || (length > 1 && *at == '0'))
        return NULL;
    at += length;
    if (*at == '.') {
        if (!(length = strspn(at + 1, digits)))
            return NULL;
        at += 1 + length;
    }
    if (*at == 'e' || *at == 'E') {
        at += 1 + (at[1] == '+' || at[1] == '-');
        if (!(length = strspn(at, digits)))
            return NULL;
        at += length;
    }
    return at;
}

static bool add_value(st_cut_samples *cut, double value)
{
    double *values = st_grow(cut->values, &cut->capacity, cut->count + 1, sizeof *values);
    if (!values)
        return false;
    cut->values = values;
    values[cut->count++] = value;
    return true;
}

// Reads "1.5,2,null]" from behind its bracket; *at moves behind the end. *plain false: something else stands there.
static bool read_list(st_cut_samples *cut, const char **at, bool *plain)
{
    const char *from = *at;
    *plain = false;
    if (*from == ']' && cut->lists > 9) // its place would be longer than it is
        return true;
    for (bool more = *from != ']'; more;) {
        bool unknown = strncmp(from, "null", 4) == 0;
        const char *end = unknown ? from + 4 : end_of_number(from);
        if (!end || (*end != ',' && *end != ']'))
            return true;
        errno = 0;
        double value = unknown ? NAN : strtod(from, NULL); // the program never leaves the C locale
        if (isinf(value))
            return true;
        if (!add_value(cut, value))
            return false;
        more = *end == ',';
        from = end + more;
    }
    *plain = true;
    *at = from + 1;
    size_t *ends = st_grow(cut->ends, &cut->end_capacity, cut->lists + 1, sizeof *ends);
    if (!ends)
        return false;
    cut->ends = ends;
    ends[cut->lists++] = cut->count;
    return true;
}

// All of them, or none.
static bool read_all(st_cut_samples *cut, const char *line, bool *plain)
{
    cut->count = cut->lists = 0;
    *plain = strstr(line, "\\u") == NULL; // the name may be written otherwise
    for (const char *at = line; *plain && (at = strstr(at, name));) {
        at += sizeof name - 1;
        *plain = at[0] == ':' && at[1] == '[';
        at += 2;
        if (*plain && !read_list(cut, &at, plain))
            return false;
    }
    return true;
}

bool st_cut_samples_of(st_cut_samples *cut, st_text *line)
{
    bool plain;
    cut->lists = 0;
    if (!line->data || strlen(line->data) != line->length)
        return true;
    if (!read_all(cut, line->data, &plain))
        return false;
    if (!plain)
        cut->lists = 0;
    char *out = line->data, *at = line->data;
    for (size_t list = 0; list < cut->lists; list++) {
        char *begin = strstr(at, name) + sizeof name, *end = strchr(begin, ']') + 1; // behind the colon
        memmove(out, at, (size_t)(begin - at));
        out += begin - at;
        char place[24];
        int digits = snprintf(place, sizeof place, "%zu", list);
        memcpy(out, place, (size_t)digits); // no longer than the list was
        out += digits;
        at = end;
    }
    if (cut->lists) {
        size_t rest = line->length - (size_t)(at - line->data);
        memmove(out, at, rest + 1);
        line->length = (size_t)(out - line->data) + rest;
    }
    return true;
}
