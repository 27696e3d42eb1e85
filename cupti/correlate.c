// SPDX-License-Identifier: Apache-2.0
// From an instruction to the line of source that it was compiled from. Needs no GPU.
//
// Invariants:
//  1. A path is returned as the compiler wrote it: the folder is put before a name that is not
//  absolute.
//  2. What CUPTI allocates for names is freed here with free(), as its documentation asks.
#include "cupti/cupti_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REMEDY "compile with -lineinfo, and give the cubin that is running"

// The part of `folder` that is beyond our own working folder: "" for that folder itself.
static const char *beyond_here(const char *folder) {
    char here[4096];
    if (!folder)
        return "";
    if (!getcwd(here, sizeof here) || !st_text_starts(folder, here))
        return folder;
    const char *rest = folder + strlen(here);
    return *rest == '/' ? rest + 1 : *rest ? folder : rest;
}

static void join(const char *folder, const char *name, char *out, size_t size) {
    folder = beyond_here(folder);
    if (name[0] == '/' || !*folder)
        snprintf(out, size, "%s", name);
    else
        snprintf(out, size, "%s/%s", folder, name);
}

st_code st_source_line(const void *image, size_t image_bytes, const char *function,
                       uint64_t pc_offset, char *file, size_t file_size, int *line,
                       st_error *error) {
    *line = 0;
    if (file_size)
        file[0] = 0;
    if (!image || image_bytes == 0 || !function || !*function)
        return st_fail(error, ST_NOTHING, REMEDY, "no cubin or no function to look up");
    const st_cupti *api = NULL;
    st_code code = st_cupti_open(&api, NULL, error);
    if (code != ST_OK)
        return code;
    CUpti_GetSassToSourceCorrelationParams ask = {
        .size = ST_CUPTI_SIZE(CUpti_GetSassToSourceCorrelationParams, dirName),
        .cubin = image,
        .cubinSize = image_bytes,
        .functionName = function,
        .pcOffset = pc_offset};
    int result = ST_CUPTI(api, GetSassToSourceCorrelation, &ask);
    if (result != CUPTI_SUCCESS)
        code = st_fail(error, ST_NOTHING, REMEDY,
                       "no source line for %.200s+0x%llx: CUPTI says %s (%d)", function,
                       (unsigned long long)pc_offset, st_cupti_words(api, result), result);
    else if (!ask.fileName || ask.lineNumber == 0)
        code = st_fail(error, ST_NOTHING, REMEDY, "no source line for %.200s+0x%llx", function,
                       (unsigned long long)pc_offset);
    if (code == ST_OK) {
        *line = (int)ask.lineNumber;
        join(ask.dirName, ask.fileName, file, file_size);
    }
    free(ask.fileName); // invariant 2
    free(ask.dirName);
    return code;
}
