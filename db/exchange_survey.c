// SPDX-License-Identifier: Apache-2.0
// The first reading of a file: what it is, what it says as a whole, and the name of its content. Invariants: 1. the
// name depends on what the file says, not on white space, compression, missing brackets or its path (but for what
// only the path tells); 2. dates come from the entries, from the file itself only when none has one.
#include "db/exchange_internal.h"

#include "tuner/base/clock.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

// --- which form ----------------------------------------------------------------------------------------------------
static st_code look(st_scan *scan, st_text *key, bool *history)
{
    int first = st_scan_peek(scan);
    if (first == 0xef) { // the mark that some editors put before UTF-8
        st_scan_fail(scan, "remove the byte order mark before its first bracket", "the file begins with a byte order mark");
    } else if (first >= 0 && first != '{') {
        st_scan_fail(scan,
                     "simtune reads its own history files (JSON Lines), T4 results and Kernel Tuner cache files, "
                     "gzip'ed or not",
                     "this is none of the files that can be imported: it does not begin with {");
    } else if (first == '{') {
        st_scan_need(scan, '{');
        if (st_scan_peek(scan) == '"')
            st_scan_value(scan, key);
        *history = scan->code == ST_OK && st_text_equal(st_text_string(key), "\"format\"");
    } else {
        *history = scan->code == ST_OK; // empty
    }
    return scan->code;
}

st_code st_exchange_is_history(const char *path, bool *history, st_error *error)
{
    struct stat status;
    *history = false;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        *history = true;
        return ST_OK;
    }
    st_scan *scan = st_calloc(1, sizeof *scan);
    if (!scan)
        return st_fail_memory(error, "importing");
    st_text key;
    st_text_init(&key);
    if (st_scan_open(scan, path, error) == ST_OK)
        look(scan, &key, history);
    st_code code = scan->code;
    st_scan_close(scan);
    st_text_release(&key);
    st_free(scan);
    return code;
}

const st_exchange_reader *st_exchange_reader_of(st_exchange_form form)
{
    return form == ST_FORM_T4 ? &st_t4_reader : &st_kernel_tuner_reader;
}

// --- what it says of itself ----------------------------------------------------------------------------------------
static st_code copy_own(const json_t *own, const char *name, char *out, size_t capacity, st_error *error)
{
    const char *text = json_string_value(json_object_get(own, name));
    if (text && strlen(text) >= capacity)
        return st_fail(error, ST_FAILED, NULL, "\"%s\" of \"simtune\" is longer than %zu characters", name, capacity - 1);
    if (text)
        snprintf(out, capacity, "%s", text);
    return ST_OK;
}

static int own_int(const json_t *own, const char *name, int unknown)
{
    int64_t value;
    return st_json_get_int(own, name, &value, NULL) == ST_OK && value > 0 && value <= INT32_MAX ? (int)value : unknown;
}

st_code st_sheet_read_own(const json_t *own, const char *form_words, st_sheet *out, st_error *error)
{
    if (!json_is_object(own))
        return ST_OK;
    const struct {
        const char *name;
        char *to;
        size_t capacity;
    } texts[] = {{"device", out->device, sizeof out->device},       {"family", out->family, sizeof out->family},
                 {"problem", out->problem, sizeof out->problem},    {"type", out->type, sizeof out->type},
                 {"operation", out->operation, sizeof out->operation}, {"cache", out->cache, sizeof out->cache},
                 {"driver", out->driver, sizeof out->driver},       {"compiler", out->compiler, sizeof out->compiler}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        st_code code = copy_own(own, texts[i].name, texts[i].to, texts[i].capacity, error);
        if (code != ST_OK)
            return code;
    }
    if (strcmp(out->cache, "cold") != 0 && strcmp(out->cache, "warm") != 0)
        return st_fail(error, ST_FAILED, NULL, "\"cache\" of \"simtune\" is neither cold nor warm");
    int64_t n;
    out->n = st_json_get_int(own, "n", &n, NULL) == ST_OK && n >= 0 ? n : json_object_get(own, "problem") ? -1 : out->n;
    out->driver_cuda = own_int(own, "driver_cuda", -1);
    out->cc = own_int(own, "cc", -1);
    out->sm_count = own_int(own, "sm_count", -1);
    const char *tool = json_string_value(json_object_get(own, "tool"));
    if (tool)
        snprintf(out->tool, sizeof out->tool, "simtune %.8s via %s", tool, form_words);
    return ST_OK;
}

// "convolution-A4000" of "data/convolution-A4000_T4.json.gz".
static void family_of_path(const char *path, st_sheet *out)
{
    char name[256];
    const char *slash = strrchr(path, '/');
    snprintf(name, sizeof name, "%s", slash ? slash + 1 : path);
    static const char *const ends[] = {".gz", ".json", "_T4", "-T4", ".t4", "_cache", "-cache"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t length = strlen(name), end = strlen(ends[i]);
        if (length > end && strcmp(name + length - end, ends[i]) == 0)
            name[length - end] = '\0';
    }
    st_family_of(name, out->family, sizeof out->family);
    out->family_of_path = true;
}

static st_code fill_sheet(const char *path, const st_import_wish *wish, st_survey *out, st_error *error)
{
    st_sheet *sheet = &out->sheet;
    *sheet = (st_sheet){.n = -1, .driver_cuda = -1, .cc = -1, .sm_count = -1, .head = out->head};
    st_code code = st_exchange_reader_of(out->walked.form)->sheet(out->head, sheet, error);
    if (code == ST_FAILED && !*error->remedy)
        snprintf(error->remedy, sizeof error->remedy, "mend that member; nothing was imported");
    if (code != ST_OK)
        return code == ST_FAILED ? st_error_prefix(error, "%s", path) : code;
    if (!*sheet->device && wish && wish->device)
        snprintf(sheet->device, sizeof sheet->device, "%s", wish->device);
    if (!*sheet->family && wish && wish->family)
        st_family_of(wish->family, sheet->family, sizeof sheet->family);
    sheet->device_unknown = !*sheet->device;
    if (sheet->device_unknown)
        snprintf(sheet->device, sizeof sheet->device, "unknown device");
    if (!*sheet->family)
        family_of_path(path, sheet);
    return ST_OK;
}

// --- reading -------------------------------------------------------------------------------------------------------
typedef struct surveying {
    st_survey *out;
    st_hash *entries;
} surveying;

static st_code take_member(void *context, const char *name, const json_t *value, st_error *error)
{
    surveying *at = context;
    // As Python does, the last of several members of one name stands.
    return json_object_set(at->out->head, name, (json_t *)(uintptr_t)value) == 0
               ? ST_OK
               : st_fail_memory(error, "importing");
}

static st_code take_entry(void *context, const char *key, const st_text *text, const json_t *value, st_error *error)
{
    (void)error;
    surveying *at = context;
    st_hash_field(at->entries, key);
    st_hash_field(at->entries, st_text_string(text));
    const char *date = json_string_value(json_object_get(value, "timestamp"));
    int64_t ms = date ? st_date_parse(date) : -1;
    if (ms > 0 && (at->out->first_ms < 0 || ms < at->out->first_ms))
        at->out->first_ms = ms;
    if (ms > at->out->last_ms)
        at->out->last_ms = ms;
    return ST_OK;
}

static st_code name_session(const char *path, st_survey *out, st_error *error)
{
    const st_sheet *sheet = &out->sheet;
    char unit[32];
    struct stat status;
    snprintf(unit, sizeof unit, "%.17g", sheet->unit_ns);
    st_code code = st_content_id(
        out->session_id,
        (const char *[]){"imported session", st_exchange_form_name(out->walked.form), sheet->device, sheet->family,
                         sheet->problem, sheet->cache, sheet->tool, unit, out->entries_id},
        9, error);
    if (out->first_ms < 0) // without a date in it: when it was written
        out->first_ms = out->last_ms =
            stat(path, &status) == 0 && status.st_mtime > 0 ? (int64_t)status.st_mtime * 1000 : st_clock_unix_ms();
    return code;
}

st_code st_exchange_survey(const char *path, const st_import_wish *wish, st_survey *out, st_error *error)
{
    *out = (st_survey){.head = json_object(), .first_ms = -1, .last_ms = -1};
    surveying at = {out, st_hash_new()};
    st_walk_visitor visitor = {&at, take_member, take_entry};
    st_code code = out->head && at.entries ? ST_OK : st_fail_memory(error, "importing");
    if (code == ST_OK)
        code = st_exchange_walk(path, &visitor, &out->walked, error);
    if (code == ST_OK)
        st_hash_text(at.entries, out->entries_id);
    st_hash_free(at.entries);
    if (code == ST_OK)
        code = fill_sheet(path, wish, out, error);
    if (code == ST_OK)
        code = name_session(path, out, error);
    if (code != ST_OK)
        st_survey_release(out);
    return code;
}

void st_survey_release(st_survey *survey)
{
    json_decref(survey->head);
    survey->head = NULL;
}
