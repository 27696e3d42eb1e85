// SPDX-License-Identifier: Apache-2.0
// Which compiler builds the emulated device's programs. Invariant: what is found once is kept for
// the process, as long as SIMTUNE_HOST_CXX says the same.
#include "tuner/gpu/emu_host_compiler.h"
#include "tuner/base/hash.h"
#include "tuner/base/paths.h"
#include "tuner/gpu/emu.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOG_LIMIT ((size_t)256 << 10)

extern char **environ;

// --- running a program -------------------------------------------------------------------------

st_code st_emu_run_program(char *const *argv, st_text *log, int *status, st_error *error) {
    int ends[2] = {-1, -1};
    pid_t pid;
    posix_spawn_file_actions_t actions;
    if (pipe2(ends, O_CLOEXEC))
        return st_fail(error, ST_FAILED, NULL, "pipe: %s", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
    int failed = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (failed) {
        close(ends[0]);
        return st_fail(error, ST_NOTHING, ST_EMU_COMPILER_REMEDY,
                       "the emulated device's compiler %s: %s", argv[0], strerror(failed));
    }
    char buffer[4096];
    for (;;) {
        ssize_t n = read(ends[0], buffer, sizeof buffer);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        if (log->length < LOG_LIMIT)
            st_text_add_bytes(log, buffer, (size_t)n);
    }
    close(ends[0]);
    while (waitpid(pid, status, 0) < 0)
        if (errno != EINTR)
            return st_fail(error, ST_FAILED, NULL, "waiting for %s: %s", argv[0], strerror(errno));
    return ST_OK;
}

// --- which compiler ----------------------------------------------------------------------------

static bool probe(const char *program, st_emu_host_compiler *out) {
    char *const argv[] = {(char *)program, "--version", NULL};
    st_text text;
    int status = -1;
    st_text_init(&text);
    bool works = st_emu_run_program(argv, &text, &status, NULL) == ST_OK && WIFEXITED(status) &&
                 WEXITSTATUS(status) == 0 && !text.failed;
    if (works) {
        // "g++ (Debian 12.2.0-14) 12.2.0", "Debian clang version 14.0.6": the last number of
        // line 1.
        const char *line = st_text_string(&text);
        size_t length = strcspn(line, "\n");
        char number[24] = "?";
        for (size_t i = 0; i < length; i++)
            if ((i == 0 || line[i - 1] == ' ') && line[i] >= '0' && line[i] <= '9')
                snprintf(number, sizeof number, "%.*s", (int)strcspn(line + i, " \n-+~)"),
                         line + i);
        const char *name = strrchr(program, '/');
        out->is_clang = strstr(line, "clang") != NULL;
        snprintf(out->program, sizeof out->program, "%s", program);
        snprintf(out->version, sizeof out->version, "%.16s %s", name ? name + 1 : program, number);
    }
    st_text_release(&text);
    return works;
}

st_code st_emu_find_compiler(st_emu_host_compiler *out, st_error *error) {
    static st_emu_host_compiler known; // a process compiles many programs
    static char known_wish[256];
    const char *wish = getenv("SIMTUNE_HOST_CXX");
    if (known.program[0] && strcmp(known_wish, wish ? wish : "") == 0) {
        *out = known;
        return ST_OK;
    }
    if (wish && wish[0]) {
        if (strlen(wish) >= sizeof known.program || !probe(wish, out))
            return st_fail(error, ST_NOTHING, ST_EMU_COMPILER_REMEDY,
                           "the emulated device's compiler %s (SIMTUNE_HOST_CXX) does not run",
                           wish);
    } else if (!probe("g++", out) && !probe("clang++", out) && !probe("c++", out)) {
        return st_fail(error, ST_NOTHING, ST_EMU_COMPILER_REMEDY,
                       "the emulated device needs a C++ compiler; none of g++, clang++, c++ runs");
    }
    known = *out;
    snprintf(known_wish, sizeof known_wish, "%s", wish ? wish : "");
    return ST_OK;
}

static const char *const device_headers[] = {"cuda_on_cpu.h", "abi.h",         "cuda_types.h",
                                             "cuda_warp.h",   "cuda_memory.h", "cuda_math.h",
                                             "kernel_table.h", "checks.h"};

st_code st_emu_header_folder(st_text *folder, char hash[9], st_error *error) {
    st_code code = st_paths_shipped("templates/emu/cuda_on_cpu.h", folder, error);
    if (code)
        return code;
    folder->length = (size_t)(strrchr(folder->data, '/') - folder->data);
    folder->data[folder->length] = 0;
    if (!hash)
        return ST_OK;
    char digits[ST_HASH_TEXT];
    st_hash *running = st_hash_new();
    if (!running)
        return st_fail_memory(error, "hashing the emulated device's headers");
    for (size_t i = 0; !code && i < sizeof device_headers / sizeof *device_headers; i++) {
        st_text path, text;
        st_text_init(&path);
        st_text_init(&text);
        st_text_addf(&path, "%s/%s", folder->data, device_headers[i]);
        code = path.failed ? st_fail_memory(error, "reading the emulated device's headers")
                           : st_text_read_file(&text, path.data, error);
        if (!code)
            st_hash_bytes(running, text.data, text.length);
        st_text_release(&path);
        st_text_release(&text);
    }
    st_hash_text(running, digits);
    st_hash_free(running);
    snprintf(hash, 9, "%.8s", digits);
    return code;
}

bool st_emu_checking(void) {
    const char *wish = getenv("SIMTUNE_EMU_CHECK");
    return wish && wish[0] && strcmp(wish, "0") != 0;
}

void st_emu_set_checking(bool on) {
    if (on)
        setenv("SIMTUNE_EMU_CHECK", "1", 1);
    else
        unsetenv("SIMTUNE_EMU_CHECK");
}

st_code st_emu_compiler(char version[48], st_error *error) {
    st_emu_host_compiler compiler;
    st_code code = st_emu_find_compiler(&compiler, error);
    if (code)
        return code;
    char hash[9] = "";
    st_text folder;
    st_text_init(&folder);
    code = st_emu_header_folder(&folder, hash, error);
    st_text_release(&folder);
    if (!code)
        snprintf(version, 48, "%.28s emu %.8s%s", compiler.version, hash,
                 st_emu_checking() ? " check" : "");
    return code;
}
