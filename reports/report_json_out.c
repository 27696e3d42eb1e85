// SPDX-License-Identifier: Apache-2.0
// The pieces of a JSON document. Invariants: those of report_json.c; most of a large report are numbers, which are
// therefore written by hand.
#include "reports/report_json_internal.h"

#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <string.h>

void json_out_raw(json_out *to, const char *json)
{
    st_text_add(to->out, json);
}

void json_out_string(json_out *to, const char *text)
{
    if (!text || !text[0]) {
        json_out_raw(to, "null");
        return;
    }
    if (!to->for_page || !strpbrk(text, "<>&\xC2\xE2")) {
        st_json_add_string(to->out, text);
        return;
    }
    // In a script element "</script>" and "<!--" mean something; U+2028 ends a line for old readers.
    st_text plain;
    st_text_init(&plain);
    st_json_add_string(&plain, text);
    for (const char *at = st_text_string(&plain); *at; at++) {
        bool is_control = (unsigned char)at[0] == 0xC2 && (unsigned char)at[1] < 0xA0; // U+0080 … U+009F
        bool is_separator =
            (unsigned char)at[0] == 0xE2 && (unsigned char)at[1] == 0x80 && ((unsigned char)at[2] & 0xFE) == 0xA8;
        if (*at == '<' || *at == '>' || *at == '&')
            st_text_addf(to->out, "\\u%04x", *at);
        else if (is_control) {
            st_text_addf(to->out, "\\u00%02x", (unsigned char)at[1]);
            at++;
        } else if (is_separator) {
            st_text_addf(to->out, "\\u20%02x", (unsigned char)at[2] - 0x80);
            at += 2;
        } else
            st_text_add_bytes(to->out, at, 1);
    }
    to->out->failed = to->out->failed || plain.failed;
    st_text_release(&plain);
}

void json_out_number(json_out *to, double value)
{
    if (isfinite(value))
        st_text_addf(to->out, "%.7g", value);
    else
        json_out_raw(to, "null");
}

void json_out_share(json_out *to, double value)
{
    if (isfinite(value))
        st_text_addf(to->out, "%.4g", value);
    else
        json_out_raw(to, "null");
}

void json_out_whole(json_out *to, int64_t value) // below 0: unknown
{
    char digits[24];
    size_t at = sizeof digits;
    if (value < 0) {
        json_out_raw(to, "null");
        return;
    }
    do // by hand: most of a large report are such numbers
        digits[--at] = (char)('0' + value % 10);
    while (value /= 10);
    st_text_add_bytes(to->out, digits + at, sizeof digits - at);
}

void json_out_key(json_out *to, const char *name) // all but the first of an object
{
    st_text_addf(to->out, ",\"%s\":", name);
}

void json_out_put_string(json_out *to, const char *name, const char *text)
{
    json_out_key(to, name);
    json_out_string(to, text);
}

void json_out_put_number(json_out *to, const char *name, double value)
{
    json_out_key(to, name);
    json_out_number(to, value);
}

void json_out_put_share(json_out *to, const char *name, double value)
{
    json_out_key(to, name);
    json_out_share(to, value);
}

void json_out_put_whole(json_out *to, const char *name, int64_t value)
{
    json_out_key(to, name);
    json_out_whole(to, value);
}

// A document of the store as it is; what is safe in a script goes through string by string.
void json_out_document(json_out *to, const json_t *value)
{
    const char *name;
    const json_t *item;
    size_t i;
    if (json_is_object(value)) {
        bool first = true;
        json_out_raw(to, "{");
        json_object_foreach((json_t *)(uintptr_t)value, name, item)
        {
            json_out_raw(to, first ? "" : ",");
            first = false;
            json_out_string(to, name[0] ? name : " ");
            json_out_raw(to, ":");
            json_out_document(to, item);
        }
        json_out_raw(to, "}");
    } else if (json_is_array(value)) {
        json_out_raw(to, "[");
        json_array_foreach(value, i, item)
        {
            json_out_raw(to, i ? "," : "");
            json_out_document(to, item);
        }
        json_out_raw(to, "]");
    } else if (json_is_string(value) && json_string_length(value))
        json_out_string(to, json_string_value(value));
    else if (value)
        st_json_print(value, to->out);
    else
        json_out_raw(to, "null");
}
