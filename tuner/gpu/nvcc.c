// SPDX-License-Identifier: Apache-2.0
// Invariants: 1. everything is written into one fresh folder, which is gone when st_nvcc_compile returns; 2. nvcc's own
// exit decides whether something compiled, a cubin that cannot be read is an error.
#include "tuner/gpu/nvcc.h"

#include "tuner/base/clock.h"
#include "tuner/base/memory.h"
#include "tuner/base/text.h"
#include "tuner/gpu/emu_host_compiler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char remedy[] = "install the CUDA toolkit, put nvcc on PATH, or name it: --compiler /path/to/nvcc";

// --- which nvcc ------------------------------------------------------------------------------------------------------

// "Cuda compilation tools, release 13.0, V13.0.48"
static bool probe(const char *program, st_nvcc *out)
{
    char *const argv[] = {(char *)(uintptr_t)program, (char *)(uintptr_t)"--version", NULL};
    st_text text;
    int status = -1;
    st_text_init(&text);
    bool works = strlen(program) < sizeof out->program && st_emu_run_program(argv, &text, &status, NULL) == ST_OK &&
                 WIFEXITED(status) && WEXITSTATUS(status) == 0;
    const char *release = works ? strstr(st_text_string(&text), "release ") : NULL;
    works = release != NULL;
    if (works) {
        release += strlen("release ");
        snprintf(out->program, sizeof out->program, "%s", program);
        snprintf(out->version, sizeof out->version, "nvcc %.*s", (int)strcspn(release, ", \n"), release);
    }
    st_text_release(&text);
    return works;
}

st_code st_nvcc_find(const char *wish, st_nvcc *out, st_error *error)
{
    static const char *const homes[] = {"CUDA_HOME", "CUDA_PATH"};
    if (strcmp(wish, "nvcc") != 0)
        return probe(wish, out) ? ST_OK : st_fail(error, ST_NOTHING, remedy, "%s does not run as nvcc", wish);
    bool found = probe("nvcc", out);
    for (size_t i = 0; i < sizeof homes / sizeof *homes && !found; i++) {
        const char *home = getenv(homes[i]);
        char *path = home && *home ? st_format("%s/bin/nvcc", home) : NULL;
        found = path && probe(path, out);
        st_free(path);
    }
    if (!found && !probe("/usr/local/cuda/bin/nvcc", out))
        return st_fail(error, ST_NOTHING, remedy, "there is no nvcc on this machine");
    return ST_OK;
}

// --- compiling -------------------------------------------------------------------------------------------------------

typedef struct work {
    char *folder, *source, *image; // names
} work;

static st_code open_work(work *it, st_error *error)
{
    const char *top = getenv("TMPDIR");
    it->folder = st_format("%s/simtune-nvcc-XXXXXX", top && *top ? top : "/tmp");
    if (!it->folder)
        return st_fail_memory(error, "compiling with nvcc");
    if (st_fault_here(ST_FAULT_SYSTEM) || !mkdtemp(it->folder)) {
        st_code code = st_fail(error, ST_FAILED, "set TMPDIR to a folder that can be written", "cannot make %s: %s",
                               it->folder, strerror(errno));
        st_free(it->folder);
        it->folder = NULL;
        return code;
    }
    it->source = st_format("%s/header.cu", it->folder);
    it->image = st_format("%s/header.cubin", it->folder);
    return it->source && it->image ? ST_OK : st_fail_memory(error, "compiling with nvcc");
}

static void close_work(work *it)
{
    if (it->source)
        unlink(it->source);
    if (it->image)
        unlink(it->image);
    if (it->folder)
        rmdir(it->folder);
    st_free(it->source);
    st_free(it->image);
    st_free(it->folder);
}

static st_code run(const st_nvcc *nvcc, const work *it, const char *folder, const char *arch, st_text *log, bool *works,
                   st_error *error)
{
    char *include = st_format("-I%s", folder), *architecture = st_format("-arch=%s", arch);
    char *const argv[] = {(char *)(uintptr_t)nvcc->program, (char *)(uintptr_t)"-cubin", architecture, include,
                          (char *)(uintptr_t)"-Xptxas", (char *)(uintptr_t)"-v", (char *)(uintptr_t)"-o", it->image,
                          it->source, NULL};
    int status = 0;
    st_code code = include && architecture ? st_emu_run_program(argv, log, &status, error)
                                           : st_fail_memory(error, "compiling with nvcc");
    if (code == ST_NOTHING)
        code = st_fail(error, ST_NOTHING, remedy, "%s does not run", nvcc->program);
    if (code == ST_OK && WIFSIGNALED(status))
        st_text_addf(log, "nvcc was ended by signal %d\n", WTERMSIG(status));
    *works = code == ST_OK && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    st_free(include);
    st_free(architecture);
    return code;
}

st_code st_nvcc_compile(const st_nvcc *nvcc, const char *source, const char *folder, const char *arch, st_compiled *out,
                        st_error *error)
{
    work it = {0};
    st_text log, image;
    bool works = false;
    *out = (st_compiled){.outcome = ST_COMPILE_ERROR};
    snprintf(out->compiler, sizeof out->compiler, "%s", nvcc->version);
    st_text_init(&log);
    st_text_init(&image);
    double began = st_clock_seconds();
    st_code code = open_work(&it, error);
    if (code == ST_OK)
        code = st_text_write_file(it.source, source, strlen(source), NULL, error);
    if (code == ST_OK)
        code = run(nvcc, &it, folder, arch, &log, &works, error);
    out->seconds = st_clock_seconds() - began;
    if (works)
        code = st_text_read_file(&image, it.image, error);
    if (code == ST_OK && works) {
        out->outcome = ST_COMPILED;
        out->image_bytes = image.length;
        out->image = st_text_take(&image);
    }
    if (code == ST_OK && (!(out->log = st_strdup(st_text_string(&log))) || (works && !out->image)))
        code = st_fail_memory(error, "compiling with nvcc");
    close_work(&it);
    st_text_release(&log);
    st_text_release(&image);
    if (code != ST_OK)
        st_compiled_release(out);
    return code;
}

// --- names in a log --------------------------------------------------------------------------------------------------

static bool has_parts(const char *name, size_t length, char *const *parts)
{
    const char *at = name, *end = name + length;
    for (; *parts; parts++) {
        size_t span = strlen(*parts);
        at = memmem(at, (size_t)(end - at), *parts, span);
        if (!at)
            return false;
        at += span;
    }
    return true;
}

char *st_nvcc_symbol(const char *log, char *const *parts, bool *failed)
{
    static const char start[] = "Compiling entry function '";
    *failed = false;
    for (const char *at = log; (at = strstr(at, start)) != NULL;) {
        at += sizeof start - 1;
        size_t length = strcspn(at, "'\n");
        if (!has_parts(at, length, parts))
            continue;
        char *name = st_strndup(at, length);
        *failed = !name;
        return name;
    }
    return NULL;
}
