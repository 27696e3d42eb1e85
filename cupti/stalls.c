// SPDX-License-Identifier: Apache-2.0
// The table of stall reasons. To add one: a row here, its "stall." row in metrics.c where the range
// profiler has it, and a line in docs/counters.md.
//
// Invariants:
//  1. Names are unique; `name` is the range profiler's spelling where it has one.
//  2. PC sampling and the range profiler spell some reasons differently (no_instructions,
//  warpgroup_arrive),
//     and some chips lack some (gmma is GH100's, imc_miss ended with GA/AD/GH): names are matched
//     here at run time, a reason that a chip lacks is simply never found in its data.
//  3. Where articles used one old name for several reasons, the row that they mostly meant comes
//  first.
//  4. What articles got wrong is corrected in `meaning`, where a reader meets it.
#include "cupti/advice.h"

#include "tuner/base/roles.h"

#include <string.h>

static const st_stall table[] = {
    {"long_scoreboard", "long_scoreboard", "long_scoreboard", "memory_dependency long_sb",
     "a value from global memory",
     "The warp needs the result of a load from global or local memory (or a texture) that has not "
     "come "
     "back yet, from L1, L2 or device memory. More loads in flight for each thread, or more "
     "resident "
     "warps, hide it. In a kernel that already moves data at the memory's speed it is high and "
     "harmless.",
     ST_ROLE_MLP | ST_ROLE_TLP},
    {"wait", "wait", "wait", "execution_dependency exec_dependency",
     "the result of fixed-latency arithmetic",
     "The warp waits the fixed number of cycles that its last instruction needs, usually an "
     "addition or "
     "multiplication that the next one depends on. A longer chain of dependent operations makes it "
     "high: "
     "several independent accumulators shorten it. Articles that say it needs no attention are "
     "wrong.",
     ST_ROLE_ILP | ST_ROLE_TLP},
    {"short_scoreboard", "short_scoreboard", "short_scoreboard",
     "execution_dependency shared_dependency short_sb", "a value from shared memory or a special function",
     "The warp needs a result of the shared-memory and special-function path: a shared load, a "
     "shuffle, "
     "an exp or a reciprocal. Fewer exchanges through shared memory, no bank conflicts, or more "
     "independent work beside them help. It is not the dependency on registers that articles call "
     "it.",
     ST_ROLE_SMEM | ST_ROLE_ILP},
    {"barrier", "barrier", "barrier", "synchronization sync",
     "the other warps of its block at a barrier",
     "The warp has reached __syncthreads (or another barrier of the block) before others. Smaller "
     "blocks, "
     "less uneven work between the warps, or steps that need no barrier (shuffles) help.",
     ST_ROLE_SYNC | ST_ROLE_WORK},
    {"membar", "membar", "membar", "synchronization memory_barrier", "a memory fence",
     "The warp waits until its earlier writes are visible (__threadfence, or the fence within an "
     "acquire "
     "or release). Fewer fences, narrower ones, or fewer stores before them help.",
     ST_ROLE_SYNC},
    {"lg_throttle", "lg_throttle", "lg_throttle", "memory_throttle lg",
     "room in the queue of global-memory instructions",
     "Too many load and store instructions of global or local memory were issued in too short a "
     "time, and "
     "their queue is full. Fewer and wider accesses (vectors) move the same bytes; spilled "
     "registers "
     "cause it too.",
     ST_ROLE_MLP | ST_ROLE_WORK | ST_ROLE_ILP},
    {"drain", "drain", "drain", "memory_throttle", "its last stores to leave",
     "The warp has ended, but its stores have not left for memory yet, so its place is not free. "
     "Many "
     "stores at the end of short blocks cause it: longer-lived blocks and wider stores help.",
     ST_ROLE_WORK | ST_ROLE_MLP},
    {"math_pipe_throttle", "math_pipe_throttle", "math_pipe_throttle", "pipe_busy math",
     "an arithmetic pipe to be free",
     "The arithmetic unit that the next instruction needs is taken by other warps. If that pipe is "
     "busy "
     "nearly all the time, the kernel is bound by arithmetic: fewer or cheaper operations help, "
     "more "
     "warps do not.",
     ST_ROLE_WORK},
    {"mio_throttle", "mio_throttle", "mio_throttle", "pipe_busy mio",
     "room in the shared-memory and special-function queue",
     "Shared-memory accesses, shuffles, special functions and dynamic branches share one queue, "
     "and it is "
     "full. Fewer and wider shared accesses, no bank conflicts, or another way to exchange values "
     "help.",
     ST_ROLE_SMEM | ST_ROLE_WORK},
    {"tex_throttle", "tex_throttle", "tex_throttle", "texture tex", "room in the texture queue",
     "Too many texture, surface or double-precision instructions were issued in too short a time. "
     "Wider "
     "and fewer of them help.",
     ST_ROLE_MLP},
    {"imc_miss", "imc_miss", "imc_miss", "constant_memory_dependency constant_dependency imc",
     "a constant that is not in its cache",
     "A kernel parameter or another constant operand missed the immediate-constant cache. It is "
     "common at "
     "the start of a kernel and in short ones; constants indexed differently by each thread cause "
     "it too. "
     "Chips from Blackwell on do not report it.",
     0},
    {"no_instruction", "no_instruction", "no_instructions", "instruction_fetch inst_fetch no_inst",
     "instructions to be fetched",
     "The next instructions are not in the instruction cache, or the warp jumps about in a large "
     "body of "
     "code. Common in kernels of few instructions in all, and where a loop is unrolled beyond the "
     "cache: "
     "less unrolling helps.",
     ST_ROLE_ILP | ST_ROLE_WORK | ST_ROLE_MLP},
    {"branch_resolving", "branch_resolving", "branch_resolving", "branch branch_resolve", "the target of a branch",
     "The warp waits until a branch is decided and the program counter is set. Short loops cause "
     "it: more "
     "work an iteration (unrolling) or predication instead of branches help.",
     ST_ROLE_ILP},
    {"dispatch_stall", "dispatch_stall", "dispatch_stall", "dispatch", "the dispatcher",
     "The instruction was chosen but held back by the dispatcher, for conflicts of register ports "
     "or "
     "because a resource was not there. It is rarely large and rarely something to act on.",
     ST_ROLE_REGS},
    {"gmma", "gmma", "warpgroup_arrive", "warpgroup", "a warp-group matrix instruction",
     "The warp waits for the asynchronous matrix instructions of its warp group (WARPGROUP.ARRIVE "
     "and "
     "what follows). Only the Hopper data-centre chip reports it.",
     ST_ROLE_SYNC | ST_ROLE_ILP},
    {"sleeping", "sleeping", "sleeping", "sleep", "the end of its own sleep",
     "All threads of the warp are in __nanosleep, as in a loop that polls for another block with "
     "pauses. "
     "The wait that it stands for is that of the polling.",
     ST_ROLE_SYNC},
    {"misc", "misc", "misc", "other", "something that has no name",
     "A reason of the hardware that has no counter of its own. It is rarely large.", 0},
    {"not_selected", "not_selected", "not_selected", "not_chosen",
     "its turn: another warp was chosen",
     "The warp was ready and the scheduler took another. It is a sign of enough warps, not of a "
     "problem: "
     "more occupancy, as articles advise, cannot help; fewer warps with more registers each may.",
     ST_ROLE_TLP | ST_ROLE_REGS},
    {"selected", "selected", "selected", "issued", "nothing: it issues",
     "The warp was chosen and issued its instruction. This is the useful part, not a stall.", 0},
};

const st_stall *st_stalls(size_t *count) {
    *count = sizeof table / sizeof *table;
    return table;
}

// Takes NVIDIA's and articles' wrapping off a name: what is left is compared.
static size_t core_of(const char *name, const char **core) {
    static const char *const starts[] = {"smsp__pcsamp_warps_issue_stalled_",
                                         "smsp__pcsamp_warp_stall_",
                                         "smsp__average_warps_issue_stalled_",
                                         "smsp__average_warp_latency_issue_stalled_",
                                         "smsp__warps_issue_stalled_",
                                         "smsp__warp_issue_stalled_",
                                         "stall.",
                                         "stall_"};
    static const char *const ends[] = {"_per_issue_active.ratio", "_per_warp_active.pct", ".sum",
                                       ".ratio", "_not_issued"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0) {
            name += strlen(starts[i]);
            break;
        }
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t end = strlen(ends[i]);
        if (length > end && strcmp(name + length - end, ends[i]) == 0) {
            length -= end;
            break;
        }
    }
    *core = name;
    return length;
}

static bool is_word(const char *word, const char *core, size_t length) {
    return word && strlen(word) == length && strncmp(word, core, length) == 0;
}

static bool has_word(const char *words, const char *core, size_t length) {
    while (words && *words) {
        size_t word = strcspn(words, " ");
        if (word == length && strncmp(words, core, length) == 0)
            return true;
        words += word;
        words += strspn(words, " ");
    }
    return false;
}

enum { NAME_MOST = 128 }; // longer ones are none

// As Nsight Compute's tables have it: "Stall Long Scoreboard". False: too long for a name.
static bool plain_name(const char *any_name, char out[NAME_MOST]) {
    size_t length = strlen(any_name);
    if (length >= NAME_MOST)
        return false;
    for (size_t i = 0; i <= length; i++) {
        char c = any_name[i];
        out[i] = c == ' ' || c == '-' ? '_' : c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    return true;
}

const st_stall *st_stall_find(const char *any_name) {
    char plain[NAME_MOST];
    if (!any_name || !*any_name || !plain_name(any_name, plain))
        return NULL;
    const char *core = NULL;
    size_t length = core_of(plain, &core);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (is_word(table[i].name, core, length) || is_word(table[i].range_name, core, length) ||
            is_word(table[i].pc_name, core, length))
            return &table[i];
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (has_word(table[i].old_names, core, length))
            return &table[i];
    return NULL;
}

size_t st_stall_all(const char *any_name, int out[ST_VIEW_STALLS]) {
    const st_stall *first = st_stall_find(any_name);
    const char *core = NULL;
    char plain[NAME_MOST];
    size_t count = 0;
    if (!first || !plain_name(any_name, plain))
        return 0;
    size_t length = core_of(plain, &core);
    out[count++] = (int)(first - table);
    for (size_t i = 0; i < sizeof table / sizeof *table && has_word(first->old_names, core, length); i++)
        if (&table[i] != first && has_word(table[i].old_names, core, length))
            out[count++] = (int)i;
    return count;
}
