// SPDX-License-Identifier: Apache-2.0
// JSON of one line of a history file, without an allocation a value: a file has some twenty numbers for each text, and
// millions of them. Invariants: 1. what is taken is what RFC 8259 allows, less names that stand twice in an object, the
// character U+0000 and halves of surrogate pairs; 2. values and texts live in memory of the reader, which is used again for
// the next line; 3. begin and end of a value are those in the line, which is never changed; 4. texts need no more room than
// the line, since each is shorter by its quotes than where it stands.
#include "db/history_internal.h"

#include "tuner/base/memory.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 64
#define NO_VALUE UINT32_MAX

void st_reader_release(st_reader *reader)
{
    st_free(reader->values);
    st_free(reader->texts);
    *reader = (st_reader){0};
}

const st_value *st_value_first(const st_reader *reader, const st_value *value)
{
    return value && value->first != NO_VALUE ? &reader->values[value->first] : NULL;
}

const st_value *st_value_next(const st_reader *reader, const st_value *value)
{
    return value->next != NO_VALUE ? &reader->values[value->next] : NULL;
}

const st_value *st_value_get(const st_reader *reader, const st_value *object, const char *name)
{
    if (!object || object->kind != ST_VALUE_OBJECT)
        return NULL;
    const st_value *at = st_value_first(reader, object);
    while (at && strcmp(at->name, name) != 0)
        at = st_value_next(reader, at);
    return at;
}

// --- texts ---------------------------------------------------------------------------------------------------
static bool wrong(st_reader *reader, const char *why)
{
    if (!reader->why)
        reader->why = why;
    return false;
}

static bool hex4(const char *at, unsigned *out)
{
    *out = 0;
    for (int i = 0; i < 4; i++) {
        unsigned char c = (unsigned char)at[i];
        unsigned digit = c >= '0' && c <= '9' ? c - (unsigned)'0' : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10u : 16;
        if (digit > 15)
            return false;
        *out = *out << 4 | digit;
    }
    return true;
}

static char *put_character(char *out, unsigned code)
{
    if (code < 0x80) {
        *out++ = (char)code;
        return out;
    }
    int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char lead[] = {0, 0xC0, 0xE0, 0xF0};
    *out++ = (char)(lead[more] | code >> (6 * more));
    while (more--)
        *out++ = (char)(0x80 | (code >> (6 * more) & 0x3F));
    return out;
}

// Behind "\u"; *at moves behind the digits.
static bool read_code(st_reader *reader, unsigned *code)
{
    unsigned low;
    if (!hex4(reader->at, code))
        return wrong(reader, "\\u wants four hexadecimal digits");
    reader->at += 4;
    if (*code == 0)
        return wrong(reader, "U+0000 stands in a text");
    if (*code < 0xD800 || *code > 0xDFFF)
        return true;
    if (*code > 0xDBFF || reader->at[0] != '\\' || reader->at[1] != 'u' || !hex4(reader->at + 2, &low) || low < 0xDC00 ||
        low > 0xDFFF)
        return wrong(reader, "half of a surrogate pair");
    reader->at += 6;
    *code = 0x10000 + ((*code - 0xD800) << 10) + (low - 0xDC00);
    return true;
}

static bool read_escape(st_reader *reader, char **out)
{
    static const char letters[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
    char letter = *reader->at++;
    const char *found = letter ? strchr(letters, letter) : NULL;
    unsigned code;
    if (found) {
        *(*out)++ = means[found - letters];
        return true;
    }
    if (letter != 'u')
        return wrong(reader, "an unknown escape in a text");
    if (!read_code(reader, &code))
        return false;
    *out = put_character(*out, code);
    return true;
}

// At the quote; ends behind the other.
static bool read_text(st_reader *reader, const char **text)
{
    char *out = reader->texts + reader->texts_used;
    *text = out;
    for (reader->at++;;) {
        const char *from = reader->at;
        unsigned char c;
        while ((c = (unsigned char)*reader->at) >= 0x20 && c < 0x80 && c != '"' && c != '\\')
            reader->at++;
        memcpy(out, from, (size_t)(reader->at - from));
        out += reader->at - from;
        if (c == '"')
            break;
        if (c == '\\') {
            reader->at++;
            if (!read_escape(reader, &out))
                return false;
            continue;
        }
        size_t length = c >= 0x80 ? st_text_character(reader->at) : 0;
        if (!length)
            return wrong(reader, c >= 0x80 ? "a text is not UTF-8"
                                 : c       ? "a control character stands in a text" : "a text has no end");
        memcpy(out, reader->at, length);
        out += length;
        reader->at += length;
    }
    reader->at++;
    *out++ = '\0';
    reader->texts_used = (size_t)(out - reader->texts);
    return true;
}

// --- numbers -------------------------------------------------------------------------------------------------
static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
static bool end_of_number(st_reader *reader, bool *whole)
{
    const char *at = reader->at;
    at += *at == '-';
    if (!is_digit(*at) || (at[0] == '0' && is_digit(at[1])))
        return wrong(reader, "a value is expected");
    while (is_digit(*at))
        at++;
    *whole = true;
    for (int part = 0; part < 2; part++) {
        if (part ? *at != 'e' && *at != 'E' : *at != '.')
            continue;
        *whole = false;
        at++;
        at += part && (*at == '+' || *at == '-');
        if (!is_digit(*at))
            return wrong(reader, "a number wants a digit here");
        while (is_digit(*at))
            at++;
    }
    reader->at = at;
    return true;
}

__extension__ typedef unsigned __int128 st_wide;

// digits / 10^places, rounded once to the nearest double, ties to even: what strtod gives, in a tenth of its time. Both fit
// 64 bits. The quotient of digits, shifted to 127 bits, has at least 62, so that those below the 53 of a double decide.
static double divide(uint64_t digits, unsigned places)
{
    static const uint64_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000,
                                      10000000000, 100000000000, 1000000000000, 10000000000000, 100000000000000,
                                      1000000000000000, 10000000000000000, 100000000000000000, 1000000000000000000,
                                      UINT64_C(10000000000000000000)};
    if (!digits)
        return 0;
    int up = __builtin_clzll(digits) + 63;
    st_wide from = (st_wide)digits << up, quotient = from / powers[places];
    bool rest = quotient * powers[places] != from;
    uint64_t high = (uint64_t)(quotient >> 64);
    int bits = high ? 128 - __builtin_clzll(high) : 64 - __builtin_clzll((uint64_t)quotient), below = bits - 53;
    st_wide half = (st_wide)1 << (below - 1), tail = quotient & (half * 2 - 1);
    uint64_t mantissa = (uint64_t)(quotient >> below);
    if (tail > half || (tail == half && (rest || mantissa & 1)))
        mantissa++; // 2^53 is exact too
    return ldexp((double)mantissa, below - up);
}

// Of the end_of_number form. More digits than 64 bits hold, and powers of ten, are left to strtod.
double st_reader_number(const char *from, const char *end)
{
    const char *at = from + (*from == '-'), *point = NULL;
    uint64_t digits = 0;
    bool fits = end - at <= 20;
    for (; fits && at < end; at++) {
        if (*at == '.')
            point = at;
        else if (is_digit(*at))
            digits = digits * 10 + (uint64_t)(*at - '0'); // 19 of them at most, behind a point
        else
            fits = false;
    }
    if (!fits || !point)
        return strtod(from, NULL); // the program never leaves the C locale's numbers
    double value = divide(digits, (unsigned)(end - point - 1));
    return *from == '-' ? -value : value;
}

static bool read_number(st_reader *reader, st_value *value)
{
    const char *from = reader->at;
    bool whole;
    if (!end_of_number(reader, &whole))
        return false;
    errno = 0;
    value->kind = whole ? ST_VALUE_INT : ST_VALUE_REAL;
    if (whole) {
        value->integer = 0;
        if (reader->at - from < 18) { // most are short
            for (const char *at = from + (*from == '-'); at < reader->at; at++)
                value->integer = value->integer * 10 + (*at - '0');
            value->integer = *from == '-' ? -value->integer : value->integer;
        } else {
            value->integer = strtoll(from, NULL, 10);
        }
        return errno ? wrong(reader, "a whole number of more than 64 bits") : true;
    }
    value->real = st_reader_number(from, reader->at);
    return isinf(value->real) ? wrong(reader, "a number that is too large") : true;
}

// --- values --------------------------------------------------------------------------------------------------
static void skip_space(st_reader *reader)
{
    while (*reader->at == ' ' || *reader->at == '\t' || *reader->at == '\n' || *reader->at == '\r')
        reader->at++;
}

static bool read_word(st_reader *reader, const char *word, st_value *value, st_value_kind kind, bool truth)
{
    size_t length = strlen(word);
    if (strncmp(reader->at, word, length) != 0)
        return wrong(reader, "a value is expected");
    reader->at += length;
    value->kind = kind;
    value->integer = truth;
    return true;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool stands_before(const st_value *values, uint32_t first, uint32_t at)
{
    for (uint32_t i = first; i != at; i = values[i].next)
        if (strcmp(values[i].name, values[at].name) == 0)
            return true;
    return false;
}

// A mark among 256 for each name: few names fall on a mark that is taken, and only those are compared.
static bool few_names_differ(const st_value *values, uint32_t first)
{
    uint64_t taken[4] = {0};
    for (uint32_t at = first; at != NO_VALUE; at = values[at].next) {
        unsigned hash = 2166136261u;
        for (const char *c = values[at].name; *c; c++)
            hash = (hash ^ (unsigned char)*c) * 16777619u;
        hash ^= hash >> 16;
        uint64_t bit = UINT64_C(1) << (hash & 63), *word = &taken[hash >> 6 & 3];
        if (*word & bit && stands_before(values, first, at))
            return false;
        *word |= bit;
    }
    return true;
}

static bool many_names_differ(st_reader *reader, uint32_t first, size_t count)
{
    const char **names = st_malloc(count * sizeof *names);
    size_t filled = 0;
    bool same = false;
    if (!names)
        return reader->no_memory = true, false;
    for (uint32_t at = first; at != NO_VALUE; at = reader->values[at].next)
        names[filled++] = reader->values[at].name;
    qsort(names, filled, sizeof *names, by_text);
    for (size_t i = 1; i < filled; i++)
        same = same || strcmp(names[i - 1], names[i]) == 0;
    st_free(names);
    return !same;
}

static bool names_differ(st_reader *reader, uint32_t first, size_t count)
{
    return (count <= 64 ? few_names_differ(reader->values, first) : many_names_differ(reader, first, count)) ||
           wrong(reader, "a name stands twice in an object");
}

static bool read_value(st_reader *reader, const char *name, unsigned depth, uint32_t *place);

static bool read_name(st_reader *reader, const char **name)
{
    if (*reader->at != '"')
        return wrong(reader, "a name in quotes is expected");
    if (!read_text(reader, name))
        return false;
    skip_space(reader);
    if (*reader->at != ':')
        return wrong(reader, "':' is expected");
    reader->at++;
    skip_space(reader);
    return true;
}

// At the bracket. `place` is of the value itself: the array of values may move while its members are read.
static bool read_members(st_reader *reader, uint32_t place, char end, unsigned depth)
{
    bool named = end == '}';
    uint32_t first = NO_VALUE, last = NO_VALUE, member;
    uint32_t count = 0;
    if (depth >= DEPTH_MAX)
        return wrong(reader, "values stand too deep in others");
    reader->at++;
    skip_space(reader);
    for (bool more = *reader->at != end; more; count++) {
        const char *name = NULL;
        if ((named && !read_name(reader, &name)) || !read_value(reader, name, depth + 1, &member))
            return false;
        *(last == NO_VALUE ? &first : &reader->values[last].next) = member;
        last = member;
        skip_space(reader);
        more = *reader->at == ',';
        if (!more && *reader->at != end)
            return wrong(reader, named ? "',' or '}' is expected" : "',' or ']' is expected");
        reader->at += more;
        if (more)
            skip_space(reader);
    }
    reader->at++;
    reader->values[place].kind = named ? ST_VALUE_OBJECT : ST_VALUE_LIST;
    reader->values[place].first = first;
    reader->values[place].count = count;
    return !named || names_differ(reader, first, count);
}

static bool read_plain(st_reader *reader, st_value *value)
{
    switch (*reader->at) {
    case '"':
        value->kind = ST_VALUE_TEXT;
        return read_text(reader, &value->text);
    case 't':
        return read_word(reader, "true", value, ST_VALUE_BOOL, true);
    case 'f':
        return read_word(reader, "false", value, ST_VALUE_BOOL, false);
    case 'n':
        return read_word(reader, "null", value, ST_VALUE_NULL, false);
    default:
        return read_number(reader, value);
    }
}

static bool read_value(st_reader *reader, const char *name, unsigned depth, uint32_t *place)
{
    if (reader->count + 1 >= NO_VALUE)
        return wrong(reader, "too many values");
    st_value *values = st_grow(reader->values, &reader->capacity, reader->count + 1, sizeof *values);
    if (!values)
        return reader->no_memory = true, false;
    reader->values = values;
    *place = (uint32_t)reader->count++;
    st_value *value = &values[*place];
    *value = (st_value){.name = name, .begin = (uint32_t)(reader->at - reader->line), .first = NO_VALUE, .next = NO_VALUE};
    char c = *reader->at;
    bool fine = c == '{' || c == '[' ? read_members(reader, *place, c == '{' ? '}' : ']', depth) : read_plain(reader, value);
    if (fine)
        reader->values[*place].end = (uint32_t)(reader->at - reader->line);
    return fine;
}

char *st_value_json(const st_reader *reader, const st_value *value)
{
    return st_strndup(reader->line + value->begin, value->end - value->begin);
}

st_code st_reader_read(st_reader *reader, const st_text *line, const st_value **value, st_error *error)
{
    uint32_t place;
    *value = NULL;
    reader->count = reader->texts_used = 0;
    reader->why = NULL;
    reader->no_memory = false;
    reader->at = reader->line = st_text_string(line);
    char *texts = st_grow(reader->texts, &reader->texts_capacity, line->length + 1, 1);
    if (!texts)
        return st_fail_memory(error, "importing");
    reader->texts = texts;
    skip_space(reader);
    bool fine = read_value(reader, NULL, 0, &place);
    if (fine) {
        skip_space(reader);
        fine = reader->at == reader->line + line->length || wrong(reader, "something stands behind the value");
    }
    if (reader->no_memory)
        return st_fail_memory(error, "importing");
    if (!fine)
        return st_fail(error, ST_FAILED, "check that the file is JSON and complete", "not JSON at byte %zu: %s",
                       (size_t)(reader->at - reader->line) + 1, reader->why);
    *value = &reader->values[place];
    return ST_OK;
}
