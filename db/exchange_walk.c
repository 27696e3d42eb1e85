// SPDX-License-Identifier: Apache-2.0
// A walk over a file of another tool: its members, then its entries one by one. Invariants: 1. an entry is given
// only when all of it is there and is JSON; 2. a Kernel Tuner cache file may end after any whole entry, since that is
// what a run leaves that was ended; T4 results may not; 3. whatever stands after the end is refused.
#include "db/exchange_internal.h"

#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <stdio.h>
#include <string.h>

typedef struct walk {
    st_scan scan;
    const st_walk_visitor *visitor;
    st_walked *out;
    st_text key, value; // as they stand in the file
    bool recognised;
} walk;

static void parse(walk *at, const st_text *text, size_t line, const char *what, json_t **out)
{
    *out = NULL;
    if (at->scan.code != ST_OK)
        return;
    at->scan.code = st_json_parse(st_text_string(text), text->length, what, out, at->scan.error);
    if (at->scan.code == ST_FAILED)
        st_error_prefix(at->scan.error, "%s:%zu", at->scan.path, line);
}

// A member's or entry's name, then the colon. NULL after a failure; json_decref it.
static json_t *take_key(walk *at)
{
    json_t *name = NULL;
    size_t line = at->scan.line;
    if (st_scan_peek(&at->scan) != '"')
        st_scan_need(&at->scan, '"');
    if (at->scan.code == ST_OK)
        st_scan_value(&at->scan, &at->key);
    parse(at, &at->key, line, "name", &name);
    if (at->scan.code == ST_OK)
        st_scan_need(&at->scan, ':');
    return name;
}

// Names the place before what a visitor says.
static void told(walk *at, size_t line, const char *key, st_code code)
{
    if (at->scan.code != ST_OK || code == ST_OK)
        return;
    at->scan.code = code;
    if (code != ST_FAILED)
        return;
    if (key)
        st_error_prefix(at->scan.error, "%s:%zu: entry \"%.200s\"", at->scan.path, line, key);
    else
        st_error_prefix(at->scan.error, "%s:%zu: result %zu", at->scan.path, line, at->out->entries + 1);
    if (!*at->scan.error->remedy)
        snprintf(at->scan.error->remedy, sizeof at->scan.error->remedy,
                 "mend or remove that entry; nothing was imported");
}

// A run that was killed while it wrote leaves a part of an entry, which is not taken for a whole one.
static void tell_part(walk *at)
{
    if (at->scan.code == ST_FAILED && at->scan.ended)
        snprintf(at->scan.error->remedy, sizeof at->scan.error->remedy,
                 "the entry is not whole: get the file again, or remove its last entry; nothing was imported");
}

static void take_entry(walk *at, const char *key)
{
    json_t *value = NULL;
    st_scan_peek(&at->scan); // to its line
    size_t line = at->scan.line;
    st_scan_value(&at->scan, &at->value);
    tell_part(at);
    parse(at, &at->value, line, key ? "entry" : "result", &value);
    if (at->scan.code == ST_OK && !json_is_object(value))
        told(at, line, key, st_fail(at->scan.error, ST_FAILED, NULL, "it is no object"));
    if (at->scan.code == ST_OK)
        told(at, line, key, at->visitor->entry(at->visitor->context, key, &at->value, value, at->scan.error));
    json_decref(value);
    if (at->scan.code == ST_OK)
        at->out->entries++;
}

// True when the file ends here and may.
static bool is_cut(walk *at)
{
    if (at->scan.code != ST_OK || st_scan_peek(&at->scan) >= 0 || at->scan.code != ST_OK)
        return false;
    return at->out->cut = true;
}

static void walk_cache(walk *at)
{
    st_scan_need(&at->scan, '{');
    while (at->scan.code == ST_OK && !is_cut(at) && !st_scan_take(&at->scan, '}')) {
        json_t *key = take_key(at);
        if (at->scan.code == ST_OK)
            take_entry(at, json_string_value(key));
        json_decref(key);
        if (at->scan.code == ST_OK && !st_scan_take(&at->scan, ',') && st_scan_peek(&at->scan) != '}' && !is_cut(at))
            st_scan_need(&at->scan, ',');
    }
}

static void walk_results(walk *at)
{
    st_scan_need(&at->scan, '[');
    if (st_scan_take(&at->scan, ']'))
        return;
    do
        take_entry(at, NULL);
    while (at->scan.code == ST_OK && st_scan_take(&at->scan, ','));
    if (at->scan.code == ST_OK)
        st_scan_need(&at->scan, ']');
}

static void take_member(walk *at, const char *name)
{
    json_t *value = NULL;
    size_t line = at->scan.line;
    st_scan_value(&at->scan, &at->value);
    parse(at, &at->value, line, name, &value);
    st_code code = at->scan.code;
    if (code == ST_OK)
        code = at->visitor->member(at->visitor->context, name, value, at->scan.error);
    if (at->scan.code == ST_OK && code == ST_FAILED)
        st_error_prefix(at->scan.error, "%s:%zu", at->scan.path, line);
    at->scan.code = code;
    json_decref(value);
}

static void walk_member(walk *at)
{
    json_t *key = take_key(at);
    const char *name = json_string_value(key);
    int opening = at->scan.code == ST_OK ? st_scan_peek(&at->scan) : -1;
    bool cache = name && strcmp(name, "cache") == 0 && opening == '{';
    bool results = name && strcmp(name, "results") == 0 && opening == '[';
    if ((cache || results) && at->recognised) {
        st_scan_fail(&at->scan, "split it", "there is a second list of entries, \"%s\"", name);
    } else if (cache || results) {
        at->recognised = true;
        at->out->form = cache ? ST_FORM_KERNEL_TUNER : ST_FORM_T4;
        (cache ? walk_cache : walk_results)(at);
    } else if (at->scan.code == ST_OK) {
        take_member(at, name);
    }
    json_decref(key);
}

static void walk_file(walk *at)
{
    st_scan_need(&at->scan, '{');
    bool more = at->scan.code == ST_OK && !st_scan_take(&at->scan, '}');
    while (more && at->scan.code == ST_OK) {
        walk_member(at);
        if (at->scan.code != ST_OK || at->out->cut)
            break;
        more = st_scan_take(&at->scan, ',');
        if (!more && at->recognised && at->out->form == ST_FORM_KERNEL_TUNER && is_cut(at))
            break;
        if (!more)
            st_scan_need(&at->scan, '}');
    }
    if (at->scan.code == ST_OK && !at->out->cut && st_scan_peek(&at->scan) >= 0)
        st_scan_fail(&at->scan, "remove what follows, or get the file again; nothing was imported",
                     "something stands after the end of the JSON text");
    if (at->scan.code == ST_OK && !at->recognised)
        at->scan.code =
            st_fail(at->scan.error, ST_FAILED,
                    "simtune reads its own history files (JSON Lines), T4 results and Kernel Tuner cache files",
                    "%s is JSON, but holds neither \"results\" (T4) nor \"cache\" (Kernel Tuner)", at->scan.path);
}

st_code st_exchange_walk(const char *path, const st_walk_visitor *visitor, st_walked *out, st_error *error)
{
    *out = (st_walked){.form = ST_FORM_COUNT};
    walk *at = st_calloc(1, sizeof *at); // its block is large
    if (!at)
        return st_fail_memory(error, "importing");
    at->visitor = visitor;
    at->out = out;
    st_text_init(&at->key);
    st_text_init(&at->value);
    if (st_scan_open(&at->scan, path, error) == ST_OK)
        walk_file(at);
    st_scan_close(&at->scan);
    st_text_release(&at->key);
    st_text_release(&at->value);
    st_code code = at->scan.code;
    st_free(at);
    return code;
}
