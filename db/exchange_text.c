// SPDX-License-Identifier: Apache-2.0
// JSON of T4 and Kernel Tuner files, written as text: a number of theirs must look as they read it.
#include "db/exchange_internal.h"

#include "tuner/base/clock.h"
#include "tuner/base/json.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void st_json_add_text(st_text *out, const char *text)
{
    json_t *value = st_history_string(text);
    if (value)
        st_history_print(value, out);
    else
        out->failed = true;
    json_decref(value);
}

// Kernel Tuner takes a whole number for no time at all.
void st_json_add_real(st_text *out, double value)
{
    json_t *number = st_json_number(value);
    size_t before = out->length;
    if (number)
        st_history_print(number, out);
    else
        out->failed = true;
    bool whole = number && json_is_real(number) && !out->failed && !strpbrk(out->data + before, ".e");
    if (whole)
        st_text_add(out, ".0");
    json_decref(number);
}

void st_json_add_key(st_text *out, const char *name)
{
    char last = out->length ? out->data[out->length - 1] : '{';
    if (last != '{' && last != '[')
        st_text_add(out, ", ");
    st_json_add_text(out, name);
    st_text_add(out, ": ");
}

void st_text_add_unescaped(st_text *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const char digits[] = {text[i], i + 1 < length ? text[i + 1] : '\0', i + 2 < length ? text[i + 2] : '\0', '\0'};
        if (digits[0] == '%' && isxdigit((unsigned char)digits[1]) && isxdigit((unsigned char)digits[2])) {
            char byte = (char)strtol(digits + 1, NULL, 16);
            st_text_add_bytes(out, byte ? &byte : "?", 1);
            i += 2;
        } else {
            st_text_add_bytes(out, text + i, 1);
        }
    }
}

static bool is_number(const char *text)
{
    char *end;
    if (!isdigit((unsigned char)*text) && !(*text == '-' && isdigit((unsigned char)text[1])))
        return false;
    if (*text == '0' && isalnum((unsigned char)text[1]) && text[1] != 'e') // 0x10 and 010 are no JSON
        return false;
    double value = strtod(text, &end);
    return !*end && isfinite(value) && end[-1] != '.';
}

void st_json_add_value(st_text *out, const char *value)
{
    bool literal = strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
    if (literal || is_number(value)) {
        st_text_add(out, value);
    } else if (strcmp(value, "None") == 0) {
        st_text_add(out, "null");
    } else {
        st_text plain;
        st_text_init(&plain);
        st_text_add_unescaped(&plain, value, strlen(value));
        if (plain.failed)
            out->failed = true;
        st_json_add_text(out, st_text_string(&plain));
        st_text_release(&plain);
    }
}

void st_json_add_date(st_text *out, int64_t unix_ms)
{
    char date[ST_DATE_TEXT];
    st_clock_date(unix_ms, date);
    st_text_addf(out, "\"%.10s %.8s.%03d000+00:00\"", date, date + 11, (int)(unix_ms % 1000));
}

void st_json_add_own(st_text *out, const st_sheet *sheet)
{
    const struct {
        const char *name, *text;
    } texts[] = {{"device", sheet->device},       {"family", sheet->family}, {"problem", sheet->problem},
                 {"type", sheet->type},           {"operation", sheet->operation}, {"cache", sheet->cache},
                 {"driver", sheet->driver},       {"compiler", sheet->compiler},   {"tool", sheet->tool}};
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {{"n", sheet->n}, {"driver_cuda", sheet->driver_cuda}, {"cc", sheet->cc}, {"sm_count", sheet->sm_count}};
    st_text_add(out, "{");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (*texts[i].text || strcmp(texts[i].name, "problem") == 0) {
            st_json_add_key(out, texts[i].name);
            st_json_add_text(out, texts[i].text);
        }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].value >= 0) {
            st_json_add_key(out, numbers[i].name);
            st_text_addf(out, "%lld", (long long)numbers[i].value);
        }
    st_text_add(out, "}");
}
