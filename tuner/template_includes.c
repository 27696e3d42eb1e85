// SPDX-License-Identifier: Apache-2.0
// The files that a template includes with "…", found as a compiler would: beside the including
// file, beside the template, then among the shipped templates. What is in none of them (cuda_fp16.h
// written with quotes) is the compiler's business. Conditions are not evaluated: a file in a branch
// that is not taken is found as well, which costs nothing but a changed hash when it changes.
#include "tuner/base/memory.h"
#include "tuner/base/paths.h"
#include "tuner/template.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_INCLUDES 1000

// The name in `#include "NAME"` of a line, or NULL; the caller frees. *failed: memory is out.
static char *included_name(const char *line, const char *end, bool *failed) {
    while (line < end && isblank((unsigned char)*line))
        line++;
    if (line == end || *line != '#')
        return NULL;
    line++;
    while (line < end && isblank((unsigned char)*line))
        line++;
    static const char word[] = "include";
    if ((size_t)(end - line) < sizeof word || strncmp(line, word, sizeof word - 1) != 0)
        return NULL;
    line += sizeof word - 1;
    while (line < end && isblank((unsigned char)*line))
        line++;
    const char *close =
        line < end && *line == '"' ? memchr(line + 1, '"', (size_t)(end - line - 1)) : NULL;
    if (!close || close == line + 1)
        return NULL;
    char *name = st_strndup(line + 1, (size_t)(close - line - 1));
    *failed |= !name;
    return name;
}

static bool is_file(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

// *path is NULL when the file is nowhere; the caller frees.
static st_code find_file(const st_template *t, const char *folder, const char *name, char **path,
                         st_error *error) {
    *path = NULL;
    const char *const folders[] = {folder, t->folder};
    for (size_t i = 0; i < 2; i++) {
        char *candidate = *name == '/' ? st_strdup(name) : st_format("%s/%s", folders[i], name);
        if (!candidate)
            return st_fail_memory(error, "reading includes");
        if (is_file(candidate)) {
            *path = candidate;
            return ST_OK;
        }
        st_free(candidate);
    }
    st_text shipped;
    st_text_init(&shipped);
    char *relative = st_format("templates/%s", name);
    st_code code = relative ? st_paths_shipped(relative, &shipped, NULL)
                            : st_fail_memory(error, "reading includes");
    if (code == ST_OK && is_file(st_text_string(&shipped)))
        *path = st_text_take(&shipped);
    st_free(relative);
    st_text_release(&shipped);
    return code == ST_NO_MEMORY ? st_fail_memory(error, "reading includes") : ST_OK;
}

static const st_include *known_include(const st_includes *includes, const char *name) {
    for (size_t i = 0; i < includes->count; i++)
        if (strcmp(includes->items[i].name, name) == 0)
            return &includes->items[i];
    return NULL;
}

// Takes `name` and `path`.
static st_code add_include(st_includes *out, char *name, char *path, st_error *error) {
    st_text text;
    st_text_init(&text);
    st_code code = ST_OK;
    st_include *items = st_grow(out->items, &out->capacity, out->count + 1, sizeof *items);
    if (!items)
        code = st_fail_memory(error, "reading includes");
    else
        out->items = items;
    if (!code && out->count >= MOST_INCLUDES)
        code =
            st_fail(error, ST_USAGE, NULL, "%s: more than %d included files", path, MOST_INCLUDES);
    if (!code)
        code = st_text_read_file(&text, path, error);
    char *content = code ? NULL : text.data ? st_text_take(&text) : st_strdup("");
    if (!code && !content)
        code = st_fail_memory(error, "reading includes");
    if (code) {
        st_text_release(&text);
        st_free(name);
        st_free(path);
        return code;
    }
    items[out->count++] = (st_include){name, path, content};
    return ST_OK;
}

// Takes `name`.
static st_code take_include(const st_template *t, const char *folder, char *name, st_includes *out,
                            st_error *error) {
    char *path;
    st_code code = find_file(t, folder, name, &path, error);
    if (code || !path) {
        st_free(name);
        return code;
    }
    const st_include *known = known_include(out, name);
    if (!known)
        return add_include(out, name, path, error);
    // The compiler is given files by name, so one name is one file.
    struct stat a, b;
    bool same = stat(known->path, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
                a.st_ino == b.st_ino;
    if (!same)
        code = st_fail(error, ST_USAGE, "Rename one of them.",
                       "two files are included as \"%s\": %s and %s", name, known->path, path);
    st_free(name);
    st_free(path);
    return code;
}

static st_code scan(const st_template *t, const char *folder, const char *text, st_includes *out,
                    st_error *error) {
    st_code code = ST_OK;
    for (const char *at = text; !code && *at;) {
        const char *end = strchr(at, '\n');
        if (!end)
            end = at + strlen(at);
        bool failed = false;
        char *name = included_name(at, end, &failed);
        if (failed)
            code = st_fail_memory(error, "reading includes");
        if (name)
            code = take_include(t, folder, name, out, error);
        at = *end ? end + 1 : end;
    }
    return code;
}

st_code st_template_includes(const st_template *tmpl, st_includes *out, st_error *error) {
    return st_template_includes_of(tmpl, tmpl->folder, tmpl->text, out, error);
}

st_code st_template_includes_of(const st_template *tmpl, const char *folder_of_text, const char *text,
                                st_includes *out, st_error *error) {
    memset(out, 0, sizeof *out);
    st_code code = scan(tmpl, folder_of_text, text, out, error);
    for (size_t i = 0; !code && i < out->count; i++) { // grows while it is walked
        const char *slash = strrchr(out->items[i].path, '/');
        char *folder = slash ? st_strndup(out->items[i].path, (size_t)(slash - out->items[i].path))
                             : st_strdup(".");
        code = folder ? scan(tmpl, folder, out->items[i].text, out, error)
                      : st_fail_memory(error, "reading includes");
        st_free(folder);
    }
    if (code)
        st_includes_release(out);
    return code;
}

void st_includes_release(st_includes *includes) {
    for (size_t i = 0; i < includes->count; i++) {
        st_free(includes->items[i].name);
        st_free(includes->items[i].path);
        st_free(includes->items[i].text);
    }
    st_free(includes->items);
    memset(includes, 0, sizeof *includes);
}
