// SPDX-License-Identifier: Apache-2.0
// Invariants: 1. lines are unique by family, class, cache and problem; 2. lines of families whose template is not at
// hand pass through reading and printing unchanged, so that one lock serves many families; 3. a row becomes a choice
// only when its template is the one in hand: an older configuration may mean something else in a newer one.
#include "tuner/lock.h"

#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/emit_internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ST_LOCK_VERSION 1
static const char head_word[] = "simtune-lock ";

void st_lock_init(st_lock *lock)
{
    *lock = (st_lock){0};
}

static void line_release(st_lock_line *line)
{
    st_free(line->problem);
    st_free(line->configuration);
    st_free(line->json);
}

void st_lock_release(st_lock *lock)
{
    for (size_t i = 0; i < lock->count; i++)
        line_release(&lock->lines[i]);
    st_free(lock->lines);
    st_free(lock->path);
    *lock = (st_lock){0};
}

// Takes the line over, also when it fails.
static st_code add_line(st_lock *lock, st_lock_line *line, st_error *error)
{
    st_lock_line *lines = st_grow(lock->lines, &lock->capacity, lock->count + 1, sizeof *lines);
    if (!lines) {
        line_release(line);
        return st_fail_memory(error, "reading a lock file");
    }
    lock->lines = lines;
    lines[lock->count++] = *line;
    return ST_OK;
}

static bool same_place(const st_lock_line *a, const st_lock_line *b)
{
    return strcmp(a->family, b->family) == 0 && a->device_class.cc == b->device_class.cc &&
           a->device_class.sm_count == b->device_class.sm_count && strcmp(a->cache, b->cache) == 0 &&
           strcmp(a->problem, b->problem) == 0;
}

// --- reading ---------------------------------------------------------------------------------------------------

static const char form[] =
    "Each line is `FAMILY sm_90/132 cold PROBLEM : CONFIGURATION : {…}`; simtune lock writes it anew.";

static st_code bad_line(const char *path, int number, const char *what, st_error *error)
{
    return st_fail(error, ST_FAILED, form, "%s:%d: %s", path, number, what);
}

// "sm_90/132"
static bool read_class(const char *text, st_device_class *out)
{
    int length = 0;
    return sscanf(text, "sm_%d/%d%n", &out->cc, &out->sm_count, &length) == 2 && !text[length] && out->cc > 0 &&
           out->cc < 10000 && out->sm_count > 0 && out->sm_count < 1000000;
}

// A piece without blanks around it; NULL: no memory.
static char *piece(const char *from, const char *to)
{
    while (from < to && isspace((unsigned char)*from))
        from++;
    while (to > from && isspace((unsigned char)to[-1]))
        to--;
    return st_strndup(from, (size_t)(to - from));
}

// The next blank-separated word, cut to what fits; false when it is absent or too long.
static bool word(const char **at, const char *end, char *out, size_t capacity)
{
    while (*at < end && isspace((unsigned char)**at))
        ++*at;
    size_t length = 0;
    while (*at + length < end && !isspace((unsigned char)(*at)[length]))
        length++;
    if (!length || length >= capacity)
        return false;
    memcpy(out, *at, length);
    out[length] = '\0';
    *at += length;
    return true;
}

static st_code read_json(const char *path, int number, st_lock_line *line, st_error *error)
{
    json_t *object = NULL;
    const char *hash = NULL;
    st_code code = st_json_parse(line->json, strlen(line->json), "the row", &object, error);
    if (!code && !json_is_object(object))
        code = st_fail(error, ST_FAILED, NULL, "what stands behind the second colon is no JSON object");
    if (!code)
        code = st_json_get_string(object, "template", &hash, error);
    if (!code && (strlen(hash) != ST_HASH_TEXT - 1 || strspn(hash, "0123456789abcdef") != ST_HASH_TEXT - 1))
        code = st_fail(error, ST_FAILED, NULL, "\"template\" is no hash");
    if (!code)
        memcpy(line->template_hash, hash, ST_HASH_TEXT);
    json_decref(object);
    if (code && code != ST_NO_MEMORY && error) {
        st_error_prefix(error, "%s:%d", path, number);
        snprintf(error->remedy, sizeof error->remedy, "%s", form);
        error->code = ST_FAILED;
        return ST_FAILED;
    }
    return code;
}

static st_code read_line(const char *path, int number, const char *text, size_t length, st_lock_line *line,
                         st_error *error)
{
    const char *at = text, *end = text + length;
    char class_text[32];
    *line = (st_lock_line){.line = number};
    const char *first = memchr(text, ':', length), *brace = memchr(text, '{', length);
    const char *second = first ? memchr(first + 1, ':', (size_t)(end - first - 1)) : NULL;
    if (!second || !brace || brace < second)
        return bad_line(path, number, "a line of a lock has three parts, with \" : \" between them", error);
    if (!word(&at, first, line->family, sizeof line->family) || !word(&at, first, class_text, sizeof class_text) ||
        !word(&at, first, line->cache, sizeof line->cache))
        return bad_line(path, number, "family, device class or state of the cache is missing", error);
    if (!read_class(class_text, &line->device_class))
        return bad_line(path, number, "the device class is not like sm_90/132", error);
    if (strcmp(line->cache, "cold") != 0 && strcmp(line->cache, "warm") != 0)
        return bad_line(path, number, "the state of the cache is neither cold nor warm", error);
    line->problem = piece(at, first);
    line->configuration = piece(first + 1, second);
    line->json = piece(second + 1, end);
    if (!line->problem || !line->configuration || !line->json)
        return st_fail_memory(error, "reading a lock file");
    return read_json(path, number, line, error);
}

static st_code check_head(const char *path, const char *text, size_t length, int number, st_error *error)
{
    const size_t start = sizeof head_word - 1;
    char version[24];
    if (length <= start || length - start >= sizeof version || strncmp(text, head_word, start) != 0)
        return st_fail(error, ST_FAILED, "Name a file that simtune lock wrote.",
                       "%s:%d: no lock of simtune: it begins with `simtune-lock %d`", path, number, ST_LOCK_VERSION);
    memcpy(version, text + start, length - start);
    version[length - start] = '\0';
    int64_t found = 0;
    if (!st_text_to_int(version, &found) || found < 1)
        return bad_line(path, number, "the version of the lock is no number", error);
    if (found > ST_LOCK_VERSION)
        return st_fail(error, ST_FAILED, "Use the simtune that wrote it.",
                       "%s was written by a newer simtune (lock %lld, known here: %d)", path, (long long)found,
                       ST_LOCK_VERSION);
    return ST_OK;
}

static bool is_merge_mark(const char *text, size_t length)
{
    return length >= 7 && (strncmp(text, "<<<<<<<", 7) == 0 || strncmp(text, "=======", 7) == 0 ||
                           strncmp(text, ">>>>>>>", 7) == 0 || strncmp(text, "|||||||", 7) == 0);
}

static st_code keep_line(st_lock *lock, int number, const char *text, size_t length, st_error *error)
{
    st_lock_line line;
    st_code code = read_line(lock->path, number, text, length, &line, error);
    if (code != ST_OK) {
        line_release(&line);
        return code;
    }
    return add_line(lock, &line, error);
}

static st_code read_lines(st_lock *lock, const char *text, st_error *error)
{
    bool headed = false;
    int number = 1;
    st_code code = ST_OK;
    for (const char *line = text; *line && code == ST_OK; number++) {
        size_t whole = strcspn(line, "\n"), length = whole;
        const char *next = line + whole + (line[whole] == '\n');
        while (length && isspace((unsigned char)line[length - 1]))
            length--;
        if (is_merge_mark(line, length))
            code = st_fail(error, ST_FAILED, "Finish the merge: keep one line for each problem.",
                           "%s:%d: the mark of an unfinished merge", lock->path, number);
        else if (length && *line != '#' && !headed) {
            code = check_head(lock->path, line, length, number, error);
            headed = true;
        } else if (length && *line != '#')
            code = keep_line(lock, number, line, length, error);
        line = next;
    }
    if (code == ST_OK && !headed)
        code = check_head(lock->path, "", 0, 1, error);
    return code;
}

static int compare_lines(const void *left, const void *right);

// Two lines for one place stand side by side once they are sorted.
static st_code check_unique(st_lock *lock, st_error *error)
{
    if (lock->count)
        qsort(lock->lines, lock->count, sizeof *lock->lines, compare_lines);
    for (size_t i = 1; i < lock->count; i++)
        if (same_place(&lock->lines[i - 1], &lock->lines[i]))
            return st_fail(error, ST_FAILED, "Keep one of the two lines.",
                           "%s:%d: a second line for what line %d is about: %s %s", lock->path,
                           lock->lines[i].line, lock->lines[i - 1].line, lock->lines[i].family,
                           lock->lines[i].problem);
    return ST_OK;
}

st_code st_lock_read(const char *path, st_lock *out, st_error *error)
{
    st_lock_init(out);
    out->path = st_strdup(path);
    if (!out->path)
        return st_fail_memory(error, "reading a lock file");
    if (access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return st_fail(error, ST_NOTHING, "simtune lock FAMILY… makes one from the store", "%s does not exist", path);
    st_text text;
    st_text_init(&text);
    st_code code = st_text_read_file(&text, path, error);
    if (code == ST_OK && memchr(st_text_string(&text), '\0', text.length))
        code = st_fail(error, ST_FAILED, "Name a file that simtune lock wrote.", "%s is no text", path);
    if (code == ST_OK)
        code = read_lines(out, st_text_string(&text), error);
    st_text_release(&text);
    return code == ST_OK ? check_unique(out, error) : code;
}

bool st_lock_has_family(const st_lock *lock, const char *family)
{
    for (size_t i = 0; i < lock->count; i++)
        if (strcmp(lock->lines[i].family, family) == 0)
            return true;
    return false;
}

// --- lines and choices -----------------------------------------------------------------------------------------

static st_code choice_of(const st_lock *lock, const st_template *tmpl, const st_lock_line *line, st_choice *out,
                         st_error *error)
{
    if (strcmp(line->template_hash, tmpl->hash) != 0)
        return st_fail(error, ST_STALE,
                       "Tune with this version of the template, then write the lock anew: simtune lock FAMILY.",
                       "%s:%d: %s was chosen with another version of its template (%.12s; %s is %.12s)", lock->path,
                       line->line, line->family, line->template_hash, tmpl->path, tmpl->hash);
    json_t *object = NULL;
    st_code code = st_json_parse(line->json, strlen(line->json), "the row", &object, error);
    if (code == ST_OK &&
        !(st_json_put(object, "problem", json_string(line->problem)) &&
          st_json_put(object, "config", json_string(line->configuration)) &&
          st_json_put(object, "cc", json_integer(line->device_class.cc)) &&
          st_json_put(object, "sm_count", json_integer(line->device_class.sm_count))))
        code = st_fail_memory(error, "reading a lock file");
    if (code == ST_OK)
        code = st_choice_from_json(tmpl, object, out, error);
    json_decref(object);
    if (code != ST_OK && code != ST_NO_MEMORY && error) {
        st_error_prefix(error, "%s:%d", lock->path, line->line);
        error->code = ST_FAILED;
        return ST_FAILED;
    }
    return code;
}

static st_code nothing_of(const st_lock *lock, const st_template *tmpl, const char *cache, st_error *error)
{
    if (!st_lock_has_family(lock, tmpl->family))
        return st_fail(error, ST_NOTHING, "add it: simtune lock FAMILY",
                       "the lock %s has no row of %s", lock->path, tmpl->family);
    bool is_warm = strcmp(cache, "warm") == 0;
    return st_fail(error, ST_NOTHING, is_warm ? "leave --warm out" : "give --warm",
                   "the rows of %s in the lock %s were all chosen by the %s cache", tmpl->family, lock->path,
                   is_warm ? "cold" : "warm");
}

st_code st_lock_choices(const st_lock *lock, const st_template *tmpl, const char *cache, st_choice **choices,
                        size_t *count, st_error *error)
{
    *count = 0;
    *choices = st_calloc(lock->count ? lock->count : 1, sizeof **choices);
    st_code code = *choices ? ST_OK : st_fail_memory(error, "reading a lock file");
    for (size_t i = 0; i < lock->count && code == ST_OK; i++) {
        const st_lock_line *line = &lock->lines[i];
        if (strcmp(line->family, tmpl->family) != 0 || strcmp(line->cache, cache) != 0)
            continue;
        code = choice_of(lock, tmpl, line, &(*choices)[*count], error);
        ++*count;
    }
    if (code == ST_OK && !*count)
        code = nothing_of(lock, tmpl, cache, error);
    if (code != ST_OK) {
        st_free(*choices);
        *choices = NULL;
        *count = 0;
    }
    return code;
}

static st_code line_of(const st_template *tmpl, const char *cache, const st_choice *choice, st_lock_line *line,
                       st_error *error)
{
    st_text problem, configuration, text;
    st_text_init(&problem);
    st_text_init(&configuration);
    st_text_init(&text);
    *line = (st_lock_line){.device_class = choice->device_class};
    snprintf(line->family, sizeof line->family, "%s", tmpl->family);
    snprintf(line->cache, sizeof line->cache, "%s", cache);
    snprintf(line->template_hash, sizeof line->template_hash, "%s", tmpl->hash);
    st_problem_text(tmpl, &choice->problem, &problem);
    st_config_text(tmpl, &choice->config, &configuration);
    json_t *object = st_choice_to_json(tmpl, choice);
    static const char *const before[] = {"problem", "config", "cc", "sm_count"};
    for (size_t i = 0; object && i < sizeof before / sizeof *before; i++)
        json_object_del(object, before[i]);
    if (object)
        st_json_print(object, &text);
    json_decref(object);
    line->problem = st_text_take(&problem);
    line->configuration = st_text_take(&configuration);
    line->json = object ? st_text_take(&text) : NULL;
    st_text_release(&text);
    return line->problem && line->configuration && line->json ? ST_OK
                                                              : st_fail_memory(error, "writing a lock file");
}

static void remove_line(st_lock *lock, size_t index)
{
    line_release(&lock->lines[index]);
    memmove(&lock->lines[index], &lock->lines[index + 1], (lock->count - index - 1) * sizeof *lock->lines);
    lock->count--;
}

st_code st_lock_put(st_lock *lock, const st_template *tmpl, const char *cache, const st_choice *choices,
                    size_t count, size_t *dropped, st_error *error)
{
    *dropped = 0;
    for (size_t i = lock->count; i-- > 0;)
        if (strcmp(lock->lines[i].family, tmpl->family) == 0 &&
            strcmp(lock->lines[i].template_hash, tmpl->hash) != 0) {
            remove_line(lock, i);
            ++*dropped;
        }
    for (size_t i = 0; i < count; i++) {
        st_lock_line line;
        st_code code = line_of(tmpl, cache, &choices[i], &line, error);
        if (code != ST_OK) {
            line_release(&line);
            return code;
        }
        for (size_t k = lock->count; k-- > 0;)
            if (same_place(&lock->lines[k], &line))
                remove_line(lock, k);
        code = add_line(lock, &line, error);
        if (code != ST_OK)
            return code;
    }
    return ST_OK;
}

// --- writing ---------------------------------------------------------------------------------------------------

// Texts with the numbers in them by value: n=65536 before n=1048576.
static int compare_texts(const char *a, const char *b)
{
    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            size_t zeros_a = strspn(a, "0"), zeros_b = strspn(b, "0");
            a += zeros_a, b += zeros_b;
            size_t digits_a = strspn(a, "0123456789"), digits_b = strspn(b, "0123456789");
            int order = digits_a != digits_b ? (digits_a < digits_b ? -1 : 1) : strncmp(a, b, digits_a);
            if (order)
                return order;
            if (zeros_a != zeros_b)
                return zeros_a < zeros_b ? -1 : 1;
            a += digits_a, b += digits_b;
        } else if (*a != *b)
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        else
            a++, b++;
    }
    return *a ? 1 : *b ? -1 : 0;
}

static int compare_lines(const void *left, const void *right)
{
    const st_lock_line *a = left, *b = right;
    int order = strcmp(a->family, b->family);
    if (!order)
        order = (a->device_class.cc > b->device_class.cc) - (a->device_class.cc < b->device_class.cc);
    if (!order)
        order = (a->device_class.sm_count > b->device_class.sm_count) -
                (a->device_class.sm_count < b->device_class.sm_count);
    if (!order)
        order = compare_texts(a->problem, b->problem);
    if (!order)
        order = strcmp(a->cache, b->cache);
    return order ? order : (a->line > b->line) - (a->line < b->line);
}

st_code st_lock_print(st_lock *lock, st_text *out, st_error *error)
{
    if (lock->count)
        qsort(lock->lines, lock->count, sizeof *lock->lines, compare_lines);
    st_text_addf(out,
                 "%s%d\n"
                 "# What builds use, chosen from measurements; commit this file. simtune lock writes it, and\n"
                 "# simtune emit --lock prints headers from it. One line a device class and problem.\n",
                 head_word, ST_LOCK_VERSION);
    for (size_t i = 0; i < lock->count; i++) {
        const st_lock_line *line = &lock->lines[i];
        st_text_addf(out, "%s sm_%d/%d %s %s : %s : %s\n", line->family, line->device_class.cc,
                     line->device_class.sm_count, line->cache, line->problem, line->configuration, line->json);
    }
    return out->failed ? st_fail_memory(error, "writing a lock file") : ST_OK;
}
