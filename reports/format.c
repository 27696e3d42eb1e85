// SPDX-License-Identifier: Apache-2.0
// Invariants: 1. unknown is "-", never 0; 2. a line is wider than the width only where one word (with its unit) is.
#include "reports/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Four significant digits.
static int decimals(double value)
{
    return value < 10 ? 3 : value < 100 ? 2 : value < 1000 ? 1 : 0;
}

void st_report_time(st_text *text, double ns)
{
    static const struct {
        double below, scale;
        const char *unit;
    } units[] = {{1e3, 1, "ns"}, {1e6, 1e3, "µs"}, {1e9, 1e6, "ms"}, {INFINITY, 1e9, "s"}};
    if (!isfinite(ns)) {
        st_text_add(text, "-");
        return;
    }
    size_t i = 0;
    while (ns >= units[i].below)
        i++;
    double value = ns / units[i].scale;
    st_text_addf(text, "%.*f %s", decimals(value), value, units[i].unit);
}

const char st_report_shifted[] = "≈: what such a time is among those of the finals, where candidates take turns";

bool st_report_is_shifted(double median_ns, double comparable_ns)
{
    return fabs(comparable_ns - median_ns) > 0.0005 * median_ns; // of four digits one differs
}

void st_report_comparable(st_text *text, double median_ns, double comparable_ns)
{
    st_text_add(text, st_report_is_shifted(median_ns, comparable_ns) ? "≈ " : "");
    st_report_time(text, isfinite(comparable_ns) ? comparable_ns : median_ns);
}

void st_report_speed(st_text *text, double bytes_per_ns)
{
    if (isfinite(bytes_per_ns))
        st_text_addf(text, "%.*f GB/s", bytes_per_ns < 10 ? 2 : bytes_per_ns < 100 ? 1 : 0, bytes_per_ns);
    else
        st_text_add(text, "-");
}

void st_report_share(st_text *text, double share)
{
    if (isfinite(share))
        st_text_addf(text, "%.*f %%", share < 0.0995 && share > 0 ? 1 : 0, share * 100);
    else
        st_text_add(text, "-");
}

void st_report_bytes(st_text *text, int64_t bytes)
{
    if (bytes < 0)
        st_text_add(text, "-");
    else if (bytes < 1024)
        st_text_addf(text, "%lld bytes", (long long)bytes);
    else if (bytes < (int64_t)1 << 20)
        st_text_addf(text, "%.4g KiB", (double)bytes / 1024);
    else if (bytes < (int64_t)1 << 30)
        st_text_addf(text, "%.4g MiB", (double)bytes / (1 << 20));
    else
        st_text_addf(text, "%.1f GiB", (double)bytes / (1 << 30));
}

void st_report_speedup(st_text *text, double ratio, double low, double high)
{
    if (!isfinite(ratio)) {
        st_text_add(text, "-");
        return;
    }
    bool narrow = isfinite(low) && isfinite(high) && high - low < 0.02;
    int digits = narrow && ratio < 1.2 ? 3 : ratio < 10 ? 2 : 1;
    st_text_addf(text, "%.*f × the default", digits, ratio);
    if (isfinite(low) && isfinite(high))
        st_text_addf(text, " (%.*f–%.*f)", digits, low, digits, high);
}

const char *st_report_next_pair(const char **at, size_t *name_length, size_t *length)
{
    const char *pair = *at + strspn(*at, " ");
    *length = strcspn(pair, " ");
    *name_length = strcspn(pair, "= ");
    *at = pair + *length;
    return *length ? pair : NULL;
}

const char *st_report_value_of(const char *pairs, const char *name, size_t name_length, size_t *length)
{
    size_t name_here;
    for (const char *pair; (pair = st_report_next_pair(&pairs, &name_here, length));)
        if (name_here == name_length && pair[name_here] == '=' && strncmp(pair, name, name_length) == 0) {
            *length -= name_length + 1;
            return pair + name_length + 1;
        }
    return NULL;
}

void st_report_problem(st_text *text, const char *problem)
{
    size_t name_length, length;
    bool first = true;
    if (!problem[strspn(problem, " ")])
        st_text_add(text, "(one problem)"); // of a template without axes
    for (const char *pair; (pair = st_report_next_pair(&problem, &name_length, &length)); first = false) {
        char *end;
        const char *value = pair + name_length + 1;
        unsigned long long number = length > name_length + 1 ? strtoull(value, &end, 10) : 0;
        bool is_size = length > name_length + 1 && *value >= '0' && *value <= '9' && end == pair + length;
        st_text_add(text, first ? "" : " ");
        st_text_add_bytes(text, pair, is_size ? name_length + 1 : length);
        if (is_size)
            st_text_add_size(text, number);
    }
}

static int columns_of(const char *text, size_t bytes)
{
    int columns = 0;
    for (size_t i = 0; i < bytes; i++)
        columns += ((unsigned char)text[i] & 0xC0) != 0x80; // what goes on a UTF-8 character counts nothing
    return columns;
}

size_t st_report_columns(const char *text)
{
    return (size_t)columns_of(text, strlen(text));
}

// Bytes up to where a line may break: a number keeps the word after it, which is mostly its unit.
static size_t piece(const char *words)
{
    size_t length = strcspn(words, " ");
    size_t space = strspn(words + length, " "), next = strcspn(words + length + space, " ");
    bool is_number = length && words[length - 1] >= '0' && words[length - 1] <= '9';
    if (!is_number || space != 1 || !next || memchr(words, '=', length + space + next))
        return length;
    return length + space + next;
}

void st_report_row(st_text *text, const char *label, int indent, const char *words, int width)
{
    int at = indent;
    bool line_begins = true;
    st_text_add(text, "  ");
    st_report_left(text, label, indent - 2);
    int used = columns_of(label, strlen(label));
    if (used && used >= indent - 2) { // a long name keeps its distance
        st_text_add(text, " ");
        at = used + 3;
    }
    while (*(words += strspn(words, " "))) {
        size_t length = piece(words);
        int columns = columns_of(words, length);
        if (!line_begins && at + 1 + columns > width) {
            st_text_addf(text, "\n%*s", indent, "");
            at = indent;
            line_begins = true;
        }
        st_text_add(text, line_begins ? "" : " ");
        st_text_add_bytes(text, words, length);
        at += columns + !line_begins;
        line_begins = false;
        words += length;
    }
    st_text_add(text, "\n");
}

void st_report_right(st_text *text, const char *words, int width)
{
    int pad = width - (int)st_report_columns(words);
    st_text_addf(text, "%*s%s", pad > 0 ? pad : 0, "", words);
}

void st_report_left(st_text *text, const char *words, int width)
{
    int pad = width - (int)st_report_columns(words);
    st_text_addf(text, "%s%*s", words, pad > 0 ? pad : 0, "");
}
