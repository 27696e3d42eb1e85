// SPDX-License-Identifier: Apache-2.0
#include "tuner/base/cuda_library.h"

#include "tuner/base/memory.h"
#include "tuner/base/paths.h"
#include "tuner/base/text.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A list being filled for one library and one major; 0: names without a version.
typedef struct search {
    const st_library_kind *kind;
    st_library_names *list;
    int major;
    bool failed; // out of memory
} search;

void st_library_names_release(st_library_names *list)
{
    for (size_t i = 0; i < list->count; i++)
        st_free(list->names[i]);
    *list = (st_library_names){.count = 0};
}

static void append(search *of, char *name)
{
    if (!name)
        of->failed = true;
    else if (of->list->count + 1 == sizeof of->list->names / sizeof of->list->names[0])
        st_free(name); // more toolkits than anybody installs
    else
        of->list->names[of->list->count++] = name;
}

static void add_name(search *of, const char *folder, const char *middle)
{
    append(of, of->major ? st_format("%s%slib%s.so.%d", folder, middle, of->kind->stem, of->major)
                         : st_format("%s%slib%s.so", folder, middle, of->kind->stem));
}

static void add_toolkit(search *of, const char *root)
{
    if (!root || !*root)
        return;
    add_name(of, root, "/lib64/");
    if (of->kind->extra)
        add_name(of, root, of->kind->extra);
    add_name(of, root, "/targets/x86_64-linux/lib/");
    add_name(of, root, "/targets/sbsa-linux/lib/");
}

// `folder` holds the libraries themselves or what pip unpacked: nvidia/cu13/lib (13.x packages) or
// nvidia/PACKAGE/lib (12.x packages).
static void add_unpacked(search *of, const char *folder)
{
    char middle[64];
    if (!folder || !*folder)
        return;
    add_name(of, folder, "/");
    snprintf(middle, sizeof middle, "/nvidia/cu%d/lib/", of->major);
    add_name(of, folder, middle);
    snprintf(middle, sizeof middle, "/nvidia/%s/lib/", of->kind->package);
    add_name(of, folder, middle);
}

static void add_versioned_toolkits(search *of)
{
    glob_t found;
    char pattern[64];
    snprintf(pattern, sizeof pattern, "/usr/local/cuda-%d*", of->major);
    if (glob(pattern, 0, NULL, &found) != 0)
        return;
    for (size_t i = found.gl_pathc; i-- > 0;)
        add_toolkit(of, found.gl_pathv[i]);
    globfree(&found);
}

static void add_user_data(search *of)
{
    st_text folder;
    st_text_init(&folder);
    if (st_paths_data(&folder, NULL) == ST_OK) {
        st_text_add(&folder, "/cuda");
        add_unpacked(of, st_text_string(&folder));
    }
    of->failed = of->failed || folder.failed;
    st_text_release(&folder);
}

static bool toolkits_hidden(void)
{
    const char *hidden = getenv("SIMTUNE_IGNORE_TOOLKIT");
    return hidden && strcmp(hidden, "1") == 0;
}

static st_code end_of(const search *of, st_error *error)
{
    return of->failed ? st_fail_memory(error, "looking for a CUDA library") : ST_OK;
}

st_code st_library_names_only(const st_library_kind *kind, st_library_names *list, bool *only, st_error *error)
{
    const char *name = getenv(kind->variable);
    search of = {kind, list, 0, false};
    *only = name && *name;
    if (*only)
        append(&of, st_strdup(name));
    return end_of(&of, error);
}

st_code st_library_names_add(const st_library_kind *kind, int major, st_library_names *list, st_error *error)
{
    search of = {kind, list, major, false};
    add_unpacked(&of, getenv("SIMTUNE_CUDA_LIBRARIES"));
    if (!toolkits_hidden()) {
        add_toolkit(&of, getenv("CUDA_HOME"));
        add_toolkit(&of, getenv("CUDA_PATH"));
        add_toolkit(&of, "/usr/local/cuda");
        add_versioned_toolkits(&of);
        add_name(&of, "", "");
    }
    add_unpacked(&of, SIMTUNE_SOURCE_FOLDER "/.deps/cuda");
    add_user_data(&of);
    return end_of(&of, error);
}

st_code st_library_names_add_plain(const st_library_kind *kind, st_library_names *list, st_error *error)
{
    search of = {kind, list, 0, false};
    if (!toolkits_hidden())
        add_name(&of, "", "");
    return end_of(&of, error);
}
