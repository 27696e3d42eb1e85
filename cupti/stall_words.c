// SPDX-License-Identifier: Apache-2.0
// What articles say of stalls, and what is so. To add one: a row. Invariants: 1. at most one row a reason; 2. a
// correction says what to do instead.
#include "cupti/advice.h"

#include <string.h>

static const st_stall_words table[] = {
    {"long_scoreboard", "raise occupancy until it goes away",
     "Occupancy helps only until enough bytes are under way; several loads in flight in each thread do the same with few "
     "warps. In a kernel that moves its bytes at the memory's speed it stays high and is no problem."},
    {"wait", "a fixed latency that needs no attention",
     "It is the largest share of kernels with one long chain of dependent arithmetic; independent accumulators shorten "
     "it. Their execution_dependency is this one together with short_scoreboard."},
    {"short_scoreboard", "a dependency on registers",
     "It waits for shared memory, shuffles and special functions. A dependency between plain arithmetic instructions "
     "shows as wait."},
    {"barrier", "remove __syncthreads", "The barriers are needed; what can change is how often warps meet, and how evenly "
                                        "they come. Removing one that is needed gives wrong results now and then."},
    {"lg_throttle", "the memory is too slow (memory_throttle)",
     "The queue of memory instructions is full, not the memory: fewer and wider accesses move the same bytes."},
    {"drain", "the memory is too slow (memory_throttle)",
     "Warps that have ended wait for their stores to leave; longer-lived blocks pay that once."},
    {"math_pipe_throttle", "raise occupancy", "The pipe is busy: more warps wait for the same pipe. Fewer operations help."},
    {"mio_throttle", "the arithmetic is busy (pipe_busy)",
     "It is the queue in front of shared memory and special functions; plain arithmetic shows as math_pipe_throttle."},
    {"not_selected", "raise occupancy",
     "It is high because there are more ready warps than can issue: more of them cannot help, fewer may."},
    {"no_instruction", "the kernel is too long", "Also short kernels show it, whose instructions all come for the first time."},
    {"selected", "a stall", "These warps issue: it is the useful part, and no stall."},
};

const st_stall_words *st_stall_words_of(int stall) {
    size_t count = 0;
    const st_stall *stalls = st_stalls(&count);
    if (stall < 0 || (size_t)stall >= count)
        return NULL;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].name, stalls[stall].name) == 0)
            return &table[i];
    return NULL;
}
