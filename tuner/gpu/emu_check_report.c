// SPDX-License-Identifier: Apache-2.0 Words for what the checking mode has found. Invariant: runs
// on the caller's stack, after the launch has ended, since it starts a process: addr2line, which
// comes with the compiler, knows the lines of the program's code, calls that were inlined included.
#include "tuner/base/memory.h"
#include "tuner/base/text.h"
#include "tuner/gpu/emu_check_internal.h"
#include "tuner/gpu/emu_host_compiler.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_FRAMES 3 // of inlined calls, the innermost first

// The emulated device's own headers stand between the access and who meant it.
static bool is_our_header(const char *name)
{
    static const char *const ours[] = {"cuda_on_cpu.h", "cuda_types.h",   "cuda_warp.h",
                                       "cuda_memory.h", "cuda_math.h",    "checks.h",
                                       "abi.h",         "kernel_table.h", "??"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (strncmp(name, ours[i], strlen(ours[i])) == 0)
            return true;
    return strncmp(name, "the kernel ", 11) == 0 || strncmp(name, "simtune's table", 15) == 0;
}

// One line of addr2line, "/path/reduce.cu:331 (discriminator 2)", to "reduce.cu:331".
static void add_frame(st_text *out, const char *line, size_t length, unsigned *frames)
{
    char text[256];
    snprintf(text, sizeof text, "%.*s", (int)length, line);
    char *end = strstr(text, " (discriminator");
    if (end)
        *end = 0;
    const char *slash = strrchr(text, '/'), *name = slash ? slash + 1 : text;
    if (*frames >= MOST_FRAMES || is_our_header(name))
        return;
    st_text_addf(out, "%s%s", (*frames)++ ? " in " : "", name);
}

// "simtune_device.cuh:463 in reduce.cu:418" of the code at `pc`, which a call returns to.
static void line_of(const st_emu_check *check, uint32_t pc, char *out, size_t capacity)
{
    char object[64], address[32];
    st_text text, lines;
    int status = -1;
    snprintf(out, capacity, "line unknown");
    if (!pc)
        return;
    snprintf(object, sizeof object, "/proc/%ld/fd/%d", (long)getpid(), check->module->fd);
    snprintf(address, sizeof address, "0x%x", pc - 1);
    char *const argv[] = {"addr2line", "-i", "-e", object, address, NULL};
    st_text_init(&text);
    st_text_init(&lines);
    unsigned frames = 0;
    if (st_emu_run_program(argv, &text, &status, NULL) == ST_OK && WIFEXITED(status) &&
        WEXITSTATUS(status) == 0)
        for (const char *at = st_text_string(&text); *at; at += strspn(at, "\n")) {
            size_t length = strcspn(at, "\n");
            add_frame(&lines, at, length, &frames);
            at += length;
        }
    if (frames && !lines.failed)
        snprintf(out, capacity, "%s", lines.data);
    st_text_release(&lines);
    st_text_release(&text);
}

static void add_actor(st_text *out, const st_emu_runner *runner, const st_emu_context *access)
{
    const unsigned *block = runner->launch->block, *grid = runner->launch->grid;
    unsigned t = access->thread, b = access->block - runner->check->block_base;
    st_text_addf(out, "block (%u,%u,%u), thread (%u,%u,%u)", b % grid[0], b / grid[0] % grid[1],
                 b / grid[0] / grid[1], t % block[0], t / block[0] % block[1],
                 t / block[0] / block[1]);
}

static const char *verb_of(const st_emu_context *access)
{
    bool reads = access->kind & SIMTUNE_EMU_READ, writes = access->kind & SIMTUNE_EMU_WRITE;
    if (access->kind & ST_EMU_COPYING)
        return writes ? "copies asynchronously to" : "copies asynchronously from";
    if (reads && writes)
        return access->kind & SIMTUNE_EMU_STRONG ? "changes atomically" : "changes";
    return writes ? "writes" : "reads";
}

static void add_race(st_text *out, const st_emu_runner *runner, const st_emu_finding *finding,
                     const char *line, const char *other_line)
{
    const st_emu_context *other = &finding->other;
    add_actor(out, runner, &finding->by);
    st_text_addf(out, " %s %s (%s); ", verb_of(&finding->by), finding->what, line);
    if (finding->other_kernel) {
        st_text_addf(out, "the kernel before %s them (%s), and nothing waits for it",
                     verb_of(other), other_line);
        return;
    }
    add_actor(out, runner, other);
    st_text_addf(out, " %s them (%s); nothing orders the two", verb_of(other), other_line);
}

void st_emu_check_describe(st_emu_check *check, st_emu_runner *runner)
{
    const st_emu_finding *finding = &check->finding;
    char line[200], other_line[200];
    st_text text;
    st_text_init(&text);
    if (!finding->found) {
        // A fault: the access that made it was reported before it was made.
        if (!strstr(runner->message, "illegal address") || !check->last_pc)
            return;
        line_of(check, check->last_pc, line, sizeof line);
        st_text_addf(&text, "%s (%s)", runner->message, line);
    } else {
        line_of(check, finding->by.pc, line, sizeof line);
        st_text_addf(&text, "%s: %s, ", finding->kind, runner->launch->kernel->name);
        if (finding->has_other) {
            line_of(check, finding->other.pc, other_line, sizeof other_line);
            add_race(&text, runner, finding, line, other_line);
        } else {
            add_actor(&text, runner, &finding->by);
            st_text_addf(&text, " %s %s%s (%s)", verb_of(&finding->by), finding->what,
                         strcmp(finding->kind, "uninitialised") == 0 ? ", which nobody has written"
                                                                     : "",
                         line);
        }
    }
    snprintf(runner->message, sizeof runner->message, "%s",
             text.failed ? "the checking mode found a fault, and has no memory to describe it"
                         : text.data);
    st_text_release(&text);
}
