// SPDX-License-Identifier: Apache-2.0
// Where a template lies: one that ships, by the family's name, an example, or a file of the user's; and what in it bears
// a name.
#include "tuner/template.h"

#include "tuner/base/memory.h"
#include "tuner/base/paths.h"
#include "tuner/t1.h"
#include "tuner/template_internal.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// ST_NOTHING: none.
static st_code find_shipped(const char *name, st_text *path, st_error *error) {
    char *relative = st_format("templates/%s.cu", name);
    st_code code = relative ? st_paths_shipped(relative, path, error)
                            : st_fail_memory(error, "looking for a template");
    st_free(relative);
    return code == ST_NOTHING ? st_template_example(name, path, error) : code;
}

st_code st_template_example(const char *name, st_text *path, st_error *error) {
    st_code code = st_paths_shipped("templates", path, error);
    if (code == ST_OK)
        st_text_addf(path, "/examples/%s%s", name, *name ? ".cu" : "");
    if (code == ST_OK && path->failed)
        return st_fail_memory(error, "looking for a template");
    if (code == ST_OK && access(st_text_string(path), R_OK) == 0)
        return ST_OK;
    st_text_clear(path);
    return code == ST_OK ? st_fail(error, ST_NOTHING, NULL, "no example is named `%s`", name) : code;
}

// True for NAME.cu with a family in it: support code lies in the same folder.
static bool is_template_file(const char *folder, const char *file) {
    size_t length = strlen(file);
    if (length < 4 || strcmp(file + length - 3, ".cu") != 0)
        return false;
    char *path = st_format("%s/%s", folder, file);
    st_text text;
    st_text_init(&text);
    bool is = path && st_text_read_file(&text, path, NULL) == ST_OK &&
              strstr(st_text_string(&text), "simtune: family");
    st_text_release(&text);
    st_free(path);
    return is;
}

// Adds the families of a folder to `list`; *nearest: the first that may be meant by `name`.
static void list_folder(const char *name, const char *folder, char nearest[64], st_text *list) {
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (!is_template_file(folder, entry->d_name))
            continue;
        char family[64];
        snprintf(family, sizeof family, "%.*s", (int)strlen(entry->d_name) - 3, entry->d_name);
        const char *candidate = family;
        if (!*nearest && st_text_nearest(name, &candidate, 1) == 0)
            snprintf(nearest, 64, "%s", family);
        st_text_addf(list, " %s", family);
    }
    if (directory)
        closedir(directory);
}

static st_code unknown_family(const char *name, st_error *error) {
    st_text folder, list;
    char nearest[64] = "";
    st_text_init(&folder);
    st_text_init(&list);
    if (st_paths_shipped("templates", &folder, NULL) == ST_OK)
        list_folder(name, st_text_string(&folder), nearest, &list);
    st_text_clear(&folder);
    if (st_template_example("", &folder, NULL) == ST_OK)
        list_folder(name, st_text_string(&folder), nearest, &list);
    char remedy[400];
    if (*nearest)
        snprintf(remedy, sizeof remedy, "Did you mean `%s`?", nearest);
    else
        snprintf(remedy, sizeof remedy,
                 "The families are:%.300s. To tune a file, give its path, ending in .cu.",
                 st_text_string(&list));
    st_text_release(&folder);
    st_text_release(&list);
    return st_fail(error, ST_USAGE, remedy, "unknown family `%s`", name);
}

st_code st_template_find(const char *name, st_template **out, st_error *error) {
    size_t length = strlen(name);
    *out = NULL;
    if (strchr(name, '/') || (length > 3 && strcmp(name + length - 3, ".cu") == 0) || st_t1_is_file(name))
        return st_template_load(name, out, error);
    if (!st_is_name(name))
        return unknown_family(name, error);
    st_text path;
    st_text_init(&path);
    st_code code = find_shipped(name, &path, error);
    if (!code)
        code = st_template_load(st_text_string(&path), out, error);
    else if (code == ST_NOTHING)
        code = unknown_family(name, error);
    st_text_release(&path);
    return code;
}

int st_template_parameter(const st_template *tmpl, const char *name) {
    for (size_t i = 0; i < tmpl->parameter_count; i++)
        if (strcmp(tmpl->parameters[i].name, name) == 0)
            return (int)i;
    return -1;
}

int st_template_axis(const st_template *tmpl, const char *name) {
    for (size_t i = 0; i < tmpl->axis_count; i++)
        if (strcmp(tmpl->axes[i].name, name) == 0)
            return (int)i;
    return -1;
}

int st_template_buffer(const st_template *tmpl, const char *name) {
    for (size_t i = 0; i < tmpl->buffer_count; i++)
        if (strcmp(tmpl->buffers[i].name, name) == 0)
            return (int)i;
    return -1;
}

int st_template_scalar(const st_template *tmpl, const char *name) {
    for (size_t i = 0; i < tmpl->scalar_count; i++)
        if (strcmp(tmpl->scalars[i].name, name) == 0)
            return (int)i;
    return -1;
}
