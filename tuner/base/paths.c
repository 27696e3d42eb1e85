// SPDX-License-Identifier: Apache-2.0
#include "tuner/base/paths.h"

#include "tuner/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// XDG says that a relative path in one of its variables is to be ignored.
static st_code xdg(const char *variable, const char *under_home, st_text *out, st_error *error)
{
    const char *folder = getenv(variable);
    const char *home = getenv("HOME");
    if (folder && folder[0] == '/')
        st_text_addf(out, "%s/simtune", folder);
    else if (home && home[0] == '/')
        st_text_addf(out, "%s/%s/simtune", home, under_home);
    else
        return st_fail(error, ST_FAILED, "set HOME, or name the store with --db",
                       "neither %s nor HOME names a folder", variable);
    return out->failed ? st_fail_memory(error, "finding a folder") : ST_OK;
}

st_code st_paths_data(st_text *out, st_error *error)
{
    return xdg("XDG_DATA_HOME", ".local/share", out, error);
}

st_code st_paths_cache(st_text *out, st_error *error)
{
    return xdg("XDG_CACHE_HOME", ".cache", out, error);
}

st_code st_paths_runtime(st_text *out, st_error *error)
{
    // The lock of a device holds between users, so it stands where all of them look.
    const char *folder = getenv("SIMTUNE_RUNTIME");
    if (folder && folder[0] == '/')
        st_text_add(out, folder);
    else
        st_text_add(out, "/tmp/simtune-locks");
    return out->failed ? st_fail_memory(error, "finding a folder") : ST_OK;
}

// The folder of the running binary; where /proc is not mounted, the one that packages use.
static void own_folder(char *out, size_t capacity)
{
    ssize_t length = readlink("/proc/self/exe", out, capacity - 1);
    snprintf(out + (length > 0 ? length : 0), capacity - (size_t)(length > 0 ? length : 0), "%s",
             length > 0 ? "" : "/usr/bin/simtune");
    char *slash = strrchr(out, '/');
    if (slash)
        *slash = '\0';
}

st_code st_paths_shipped(const char *relative, st_text *out, st_error *error)
{
    char folder[4096];
    own_folder(folder, sizeof folder);
    const char *share = getenv("SIMTUNE_SHARE");
    unsigned long failed = st_allocations_failed();
    char *places[] = {share ? st_format("%s/%s", share, relative) : NULL,
                      st_format("%s/../share/simtune/%s", folder, relative),
                      st_format("%s/%s", SIMTUNE_SOURCE_FOLDER, relative),
                      st_format("%s/share/simtune/%s", folder, relative)};
    size_t count = sizeof places / sizeof places[0], found = count;
    bool complete = st_allocations_failed() == failed; // else a later place could win
    for (size_t i = 0; i < count && found == count && complete; i++)
        if (places[i] && access(places[i], R_OK) == 0)
            found = i;
    if (found < count)
        st_text_add(out, places[found]);
    for (size_t i = 0; i < count; i++)
        st_free(places[i]);
    if (!complete)
        return st_fail_memory(error, "finding a shipped file");
    if (found == count)
        return st_fail(error, ST_NOTHING,
                       "install simtune whole, or set SIMTUNE_SHARE to the folder that holds templates/",
                       "%s is neither beside the program (../share/simtune) nor in its source tree",
                       relative);
    return out->failed ? st_fail_memory(error, "finding a shipped file") : ST_OK;
}
