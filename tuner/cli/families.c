// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/families.h"

#include "tuner/base/memory.h"
#include "tuner/base/paths.h"
#include "tuner/template.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static const char name_letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";

// "scan.cu" → 4; 0: no template can have this name.
static size_t name_length(const char *file)
{
    size_t length = strspn(file, name_letters);
    return strcmp(file + length, ".cu") == 0 ? length : 0;
}

static int may_be_one(const struct dirent *entry)
{
    return name_length(entry->d_name) > 0;
}

// Support code lies in the same folder: only a file that names a family is a template.
static bool names_a_family(const char *path)
{
    st_text text;
    st_text_init(&text);
    bool found = st_text_read_file(&text, path, NULL) == ST_OK && strstr(st_text_string(&text), "simtune: family");
    st_text_release(&text);
    return found;
}

static st_code add_folder(bool examples, st_list *names, st_list *paths, st_error *error)
{
    st_text folder;
    st_text_init(&folder);
    struct dirent **files = NULL;
    st_code code = examples ? st_template_example("", &folder, error) : st_paths_shipped("templates", &folder, error);
    int count = code == ST_OK ? scandir(st_text_string(&folder), &files, may_be_one, alphasort) : 0;
    if (code == ST_NOTHING)
        code = ST_OK;
    for (int i = 0; i < count; i++) {
        char *path = code == ST_OK ? st_format("%s/%s", st_text_string(&folder), files[i]->d_name) : NULL;
        if (code == ST_OK && (!path || (names_a_family(path) &&
                                        (!st_list_add(names, files[i]->d_name, name_length(files[i]->d_name)) ||
                                         !st_list_add(paths, path, strlen(path))))))
            code = st_fail_memory(error, "listing families");
        st_free(path);
        free(files[i]);
    }
    free(files);
    st_text_release(&folder);
    return code;
}

st_code st_families(st_list *names, st_list *paths, st_error *error)
{
    *names = *paths = (st_list){0};
    st_code code = add_folder(false, names, paths, error);
    return code == ST_OK ? add_folder(true, names, paths, error) : code;
}

void st_families_add(st_text *out, const char *between)
{
    st_list names, paths;
    if (st_families(&names, &paths, NULL) != ST_OK)
        out->failed = true;
    for (size_t i = 0; i < names.count; i++)
        st_text_addf(out, "%s%s", i ? between : "", names.items[i]);
    st_list_free(&names);
    st_list_free(&paths);
}

bool st_families_has(const char *name)
{
    if (!name[0] || name[strspn(name, name_letters)])
        return false;
    st_text relative, path;
    st_text_init(&relative);
    st_text_init(&path);
    st_text_addf(&relative, "templates/%s.cu", name);
    bool found = (st_paths_shipped(st_text_string(&relative), &path, NULL) == ST_OK ||
                  st_template_example(name, &path, NULL) == ST_OK) &&
                 names_a_family(st_text_string(&path));
    st_text_release(&path);
    st_text_release(&relative);
    return found;
}
