// SPDX-License-Identifier: Apache-2.0
// The table of rules. To add one: a row here (its condition beyond the gates in advice_checks.c), a test in
// tests/unit/cupti/test_advice.c, a line in docs/counters.md.
//
// Invariants:
//  1. Ids are unique and never change their meaning; the rule of a reason has the reason's name.
//  2. Every reason but `selected` has one rule, whose roles are those that the table of reasons says it moves.
//  3. Conditions in words say all gates.
//  4. Where articles give wrong advice, the row gives the right one (stall_words.c says what they claim).
#include "cupti/advice_internal.h"

#define NOTHING_ISSUES 0.8 // above it a scheduler has little time left to save
#define M1(a, da) {{ST_ROLE_##a, da}}, 1
#define M2(a, da, b, db) {{ST_ROLE_##a, da}, {ST_ROLE_##b, db}}, 2
#define M3(a, da, b, db, c, dc) {{ST_ROLE_##a, da}, {ST_ROLE_##b, db}, {ST_ROLE_##c, dc}}, 3
#define NO_MOVE {{0, 0}}, 0

// Stall elimination: a time T of which M waits for the reason with nothing issued becomes T - M at best.
#define ELIMINATION                                                                                                    \
    "at most M/T, M the samples that wait for it while nothing is issued, T all: stall elimination after Zhou, Meng "  \
    "and Mellor-Crummey, GPA: A GPU Performance Advisor Based on Instruction Sampling, CGO 2021"
#define TO_THE_LIMIT ELIMINATION "; no more than what is missing to the memory's measured speed"
#define USUAL(share) "share ≥ " share ", issue activity < 80 %, not at the memory's limit"

static const st_rule table[] = {
    // --- leave it
    {"at_the_limit", NULL, "the timed run moves its bytes within 3 % of the memory's measured speed",
     "it runs at the speed of the memory",
     "Its warps wait because the memory can give no more. Waiting is no problem in a kernel that is at the limit.",
     "Leave it. Only moving fewer bytes (fusing it with its neighbours, a smaller type) makes it faster.", NULL, 0, 0, true,
     ST_GRAVITY_FINE, NO_MOVE, st_rule_at_limit},
    {"not_selected", "not_selected", "share ≥ 10 %", "has more ready warps than it can issue",
     "In these samples a warp was ready and another one was taken. That is what enough warps look like, not a problem; "
     "more occupancy, as articles advise, cannot help.",
     "Leave it, or trade warps for registers: more work in each thread, fewer threads.", NULL, 0.1, 0, true, ST_GRAVITY_FINE,
     M2(TLP, -1, REGS, -1), st_rule_enough_warps},
    {"issue_bound", NULL, "issue activity ≥ 80 %, not at the memory's limit", "issues in nearly every cycle",
     "The schedulers are busy: the time goes into the number of instructions, not into waiting.",
     "Fewer instructions for the same work: wider loads, more elements for each address computation, cheaper operations.",
     NULL, 0, 0, false, ST_GRAVITY_MINOR, M2(WORK, 1, MLP, 0), st_rule_issue_bound},

    // --- one for each reason
    {"long_scoreboard", "long_scoreboard", USUAL("30 %"), "waits for values from global memory",
     "Too few bytes are under way: each warp asks for a value and soon needs it, and there are not enough other warps "
     "to fill the time until it comes.",
     "More loads in flight before the first value is used: wider vectors, more unrolling, loads batched before the "
     "arithmetic; then more resident warps, if registers allow.",
     TO_THE_LIMIT, 0.3, NOTHING_ISSUES, false, ST_GRAVITY_MAJOR, M2(MLP, 1, TLP, 1), st_rule_memory_wait},
    {"wait", "wait", USUAL("30 %"), "waits for the arithmetic before it",
     "A long dependency chain: each operation needs the result of the one before, so the fixed latency of the "
     "arithmetic is paid again and again. Articles that call it harmless are wrong where it is the largest share.",
     "Several independent chains in a thread (2, 4, 8 accumulators that are joined at the end), or more resident warps "
     "to fill the gaps.",
     ELIMINATION, 0.3, NOTHING_ISSUES, false, ST_GRAVITY_MAJOR, M2(ILP, 1, TLP, 1), st_rule_arithmetic_wait},
    {"short_scoreboard", "short_scoreboard", USUAL("30 %"), "waits for shared memory or special functions",
     "Results of the shared-memory and special-function path come late: shared loads, shuffles, exp, sin, reciprocals, "
     "square roots. It is not a dependency on registers, as articles say.",
     "Exchange less through shared memory, remove bank conflicts, keep values in registers, use fast forms of special "
     "functions where the error bound allows it, or put independent work beside them.",
     ELIMINATION, 0.3, NOTHING_ISSUES, false, ST_GRAVITY_MAJOR, M2(SMEM, 0, ILP, 1), NULL},
    {"barrier", "barrier", USUAL("20 %"), "waits for other warps at a barrier",
     "Warps of a block meet too often, or come to the barrier at very different times: the barrier is too coarse for "
     "the work between.",
     "Smaller blocks, steps within a warp by shuffle instead of through the block, more work between two barriers, or "
     "an even split of the work.",
     ELIMINATION, 0.2, NOTHING_ISSUES, false, ST_GRAVITY_MAJOR, M2(SYNC, 0, WORK, 0), NULL},
    {"membar", "membar", USUAL("15 %"), "waits at memory fences",
     "Fences (__threadfence, acquire and release) wait until earlier writes are visible to others.",
     "Fewer fences, narrower ones (block instead of device), or fewer stores before them: another way of coming together.",
     ELIMINATION, 0.15, NOTHING_ISSUES, false, ST_GRAVITY_MAJOR, M1(SYNC, 0), NULL},
    {"lg_throttle", "lg_throttle", USUAL("15 %"), "issues too many accesses to global memory",
     "The queue for global and local memory instructions is full: many narrow accesses, or spilled registers.",
     "Fewer and wider accesses: vectors of 16 bytes; less unrolling of narrow loads; no spills.", TO_THE_LIMIT, 0.15,
     NOTHING_ISSUES, false, ST_GRAVITY_MAJOR, M3(MLP, 0, WORK, 1, ILP, -1), st_rule_memory_wait},
    {"drain", "drain", USUAL("15 %"), "ends with stores that have not left",
     "Blocks end soon after their last stores and hold their place until these have gone to memory.",
     "Longer-lived blocks (more tiles for each), wider stores.", TO_THE_LIMIT, 0.15, NOTHING_ISSUES, false,
     ST_GRAVITY_MAJOR, M2(WORK, 1, MLP, 1), st_rule_memory_wait},
    {"math_pipe_throttle", "math_pipe_throttle", "share ≥ 20 %, not at the memory's limit", "waits for an arithmetic pipe",
     "The arithmetic unit that the next instruction needs is taken. Where that pipe is nearly always busy the kernel is "
     "bound by arithmetic, and more warps do not help.",
     "Fewer or cheaper operations: fused multiply-add, a smaller type, fast forms, less recomputation.", ELIMINATION, 0.2, 0,
     false, ST_GRAVITY_MAJOR, M1(WORK, 0), st_rule_pipe_busy},
    {"mio_throttle", "mio_throttle", USUAL("15 %"), "fills the shared-memory and special-function queue",
     "Shared-memory accesses, shuffles, special functions and indirect branches come faster than their queue takes them.",
     "Fewer and wider shared accesses, no bank conflicts, fewer shuffles (more elements in a thread before they are "
     "exchanged).",
     ELIMINATION, 0.15, NOTHING_ISSUES, false, ST_GRAVITY_MAJOR, M2(SMEM, 0, WORK, 1), NULL},
    {"tex_throttle", "tex_throttle", USUAL("15 %"), "fills the texture queue",
     "Too many texture, surface or double-precision instructions in too short a time.",
     "Fewer and wider of them; double precision through this queue exists on chips with few double-precision units: "
     "use single precision where the error bound allows it.",
     ELIMINATION, 0.15, NOTHING_ISSUES, false, ST_GRAVITY_MAJOR, M1(MLP, 1), NULL},
    {"imc_miss", "imc_miss", USUAL("20 %"), "waits for constants",
     "Kernel parameters and constants are fetched for the first time, which short kernels feel, or constants are "
     "indexed differently by each thread.",
     "For a short kernel: fewer blocks that do more each. Otherwise: constants that differ from thread to thread belong "
     "into shared or global memory.",
     ELIMINATION, 0.2, NOTHING_ISSUES, false, ST_GRAVITY_MINOR, NO_MOVE, NULL},
    {"no_instruction", "no_instruction", USUAL("20 %"), "waits for instructions",
     "The code does not fit the instruction cache, or each warp runs through it once only, as in short kernels.",
     "Less unrolling, smaller bodies; blocks that loop instead of many short blocks.", ELIMINATION, 0.2, NOTHING_ISSUES,
     false, ST_GRAVITY_MAJOR, M3(ILP, -1, WORK, 1, MLP, -1), NULL},
    {"branch_resolving", "branch_resolving", USUAL("15 %"), "waits for branches",
     "Short loops or many branches: the warp waits for each jump.",
     "More work in each iteration (unrolling), predication in place of short branches.", ELIMINATION, 0.15,
     NOTHING_ISSUES, false, ST_GRAVITY_MINOR, M1(ILP, 1), NULL},
    {"dispatch_stall", "dispatch_stall", USUAL("20 %"), "is held back by the dispatcher",
     "Instructions were chosen but not sent, usually for conflicts of register ports.",
     "Another launch bound changes how registers are laid out; there is rarely more to do.", ELIMINATION, 0.2, NOTHING_ISSUES,
     false, ST_GRAVITY_MINOR, M1(REGS, 0), NULL},
    {"gmma", "gmma", USUAL("20 %"), "waits for warp-group matrix instructions",
     "The asynchronous matrix instructions of the warp group have not ended when their result is needed.",
     "More of them in flight before the wait, and other work between.", ELIMINATION, 0.2, NOTHING_ISSUES, false,
     ST_GRAVITY_MAJOR, M2(SYNC, 0, ILP, 1), NULL},
    {"sleeping", "sleeping", USUAL("15 %"), "sleeps while it polls",
     "Warps wait in __nanosleep for another block. What they wait for is the other block's progress.",
     "Shorter or no pauses, or another way in which blocks hand values on.", ELIMINATION, 0.15, NOTHING_ISSUES, false,
     ST_GRAVITY_MAJOR, M1(SYNC, 0), NULL},
    {"misc", "misc", USUAL("30 %"), "waits for something that has no name",
     "The hardware has no counter of its own for this reason. It is rarely large.",
     "Look at the lines that wait most.", ELIMINATION, 0.3, NOTHING_ISSUES, false, ST_GRAVITY_MINOR, NO_MOVE, NULL},

    // --- what counters and the compiler show beside
    {"bank_conflicts", NULL, "≥ 10 % of the passes through shared memory are conflicts, not at the memory's limit",
     "has bank conflicts in shared memory",
     "Threads of a warp reach different words of one bank at once, and the accesses are done one after the other.",
     "Pad rows of shared memory by one element, or exchange by shuffle.",
     "at most the samples that wait for shared memory, times the share of its passes that are conflicts", 0, 0, false,
     ST_GRAVITY_MAJOR, M1(SMEM, 0), st_rule_bank_conflicts},
    {"special_functions", NULL, "≥ 5 % of its instructions are special functions, share of short_scoreboard, mio_throttle and "
     "math_pipe_throttle together ≥ 20 %",
     "spends its time in special functions",
     "exp, log, sin, reciprocals, square roots and conversions go through a unit that takes a quarter as many of them a "
     "cycle as of plain arithmetic, or fewer.",
     "Fast forms (__expf, rsqrtf, __fdividef) where the error bound allows them; fewer conversions; move them out of loops.",
     "at most the samples that wait for these instructions while nothing is issued", 0, 0, false, ST_GRAVITY_MAJOR,
     M1(WORK, 0), st_rule_special_functions},
    {"spills", NULL, "the compiler set local memory aside, and ≥ 0.1 % of the instructions use it (or that was not counted)",
     "keeps values in local memory",
     "Registers that do not fit are spilled, and arrays that are indexed by a variable live there too: values go to memory "
     "and come back.",
     "Promise fewer blocks an SM (more registers for each thread), unroll less, fewer accumulators; index arrays by what the "
     "compiler knows.",
     NULL, 0, 0, true, ST_GRAVITY_MAJOR, M3(REGS, -1, ILP, -1, MLP, -1), st_rule_spills},
    {"low_occupancy", NULL,
     "less than half of the warps that fit can be resident, long_scoreboard and wait together ≥ 30 %, issue activity < 80 %",
     "has few warps to hide latency with",
     "What a block needs (registers, shared memory, threads) lets few warps be resident, and those that are there wait.",
     "A launch bound that promises more blocks, smaller blocks, less shared memory; or so many independent loads and "
     "chains in each thread that few warps are enough.",
     NULL, 0, NOTHING_ISSUES, false, ST_GRAVITY_MINOR, M2(TLP, 1, REGS, 1), st_rule_occupancy},
    {"divergence", NULL, "fewer than 24 of 32 threads take part in an instruction, not at the memory's limit",
     "diverges within warps",
     "Threads of a warp take different ways, or are switched off, and the others wait for them.",
     "Let neighbouring threads do alike: split the work by warps, sort it, or make the tail as wide as a warp.",
     "at most the share of lanes that are idle, times issue activity", 0, 0, false, ST_GRAVITY_MAJOR, M1(WORK, 0),
     st_rule_divergence},
    {"uncoalesced", NULL, "more than 16 sectors of 32 bytes for one access of a warp, not at the memory's limit",
     "reads or writes scattered addresses",
     "Even the widest access of a warp (16 bytes a thread) needs 16 sectors; more means that neighbouring threads do not "
     "reach neighbouring addresses.",
     "Neighbouring threads take neighbouring elements; go through shared memory where the order must change.",
     "at most the sectors that are moved beside what is asked for", 0, 0, false, ST_GRAVITY_MAJOR, M2(MLP, 0, WORK, 0),
     st_rule_uncoalesced},
    {"extra_traffic", NULL, "device memory moves ≥ 1.2 × the bytes that the problem needs, and these exceed the cache",
     "moves more bytes than the problem has",
     "Values are read or written more than once through device memory.",
     "Fewer passes over the data, or a second pass while they are still in the cache.",
     "at most the share of the bytes that is too much, where the memory bounds it", 0, 0, true, ST_GRAVITY_MAJOR,
     M2(WORK, 0, SYNC, 0), st_rule_extra_traffic},
    {"tail_effect", NULL, "the SMs have no warp in ≥ 20 % of the time", "leaves SMs without work",
     "Blocks end at different times, or there are too few of them, or the kernel is so short that launching it is most "
     "of its time.",
     "As many blocks as fit at once (or a whole multiple), smaller pieces at the end; for small problems fewer launches.",
     "at most the share of time in which SMs have no warp", 0, 0, false, ST_GRAVITY_MAJOR, M2(WORK, 0, SYNC, 0),
     st_rule_tail},
    {"atomics", NULL, "≥ 1 atomic for 100 instructions, share of long_scoreboard, lg_throttle, membar and drain together "
     "≥ 30 %",
     "waits for atomics",
     "Many threads add to few addresses in global memory; the accesses to one address are done one after the other.",
     "Add up in the warp and the block first, one atomic a block; or write partial results and scan or reduce them.",
     NULL, 0, NOTHING_ISSUES, false, ST_GRAVITY_MAJOR, M2(SYNC, 0, WORK, 1), st_rule_atomics},
};

const st_rule *st_rules(size_t *count) {
    *count = sizeof table / sizeof *table;
    return table;
}
