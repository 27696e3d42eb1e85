// SPDX-License-Identifier: Apache-2.0
// Words of parameters. Invariants: 1. a row without a family holds for all of them, unless they have one of their own;
// 2. every parameter of a template that ships has words, and so has each value that is not a number (a test holds the
// templates against this table).
// To add a parameter: a row for it, one for each value that is a word.
#include "reports/parameter_words.h"

#include "tuner/base/roles.h"

#include <string.h>

typedef struct parameter_row {
    const char *family, *parameter, *value, *words; // family NULL: any; value NULL: the parameter itself
} parameter_row;

static const parameter_row rows[] = {
    // --- all families
    {NULL, "BLOCK", NULL, "threads of a block"},
    {NULL, "VEC", NULL, "elements that one load or store instruction moves, at most 16 bytes"},
    {NULL, "UNROLL", NULL, "loads that a thread has under way before it uses the first"},
    {NULL, "ACC", NULL, "accumulators of a thread: chains of additions that do not wait for each other"},
    {NULL, "ITEMS", NULL, "elements of a thread"},
    {NULL, "MIN_BLOCKS", NULL,
     "blocks an SM that the compiler is told to make room for (__launch_bounds__): more means fewer registers a thread"},
    {NULL, "CLUSTER", NULL, "blocks of a cluster, which can reach each other's shared memory"},
    {NULL, "WAVES", NULL, "blocks that are started, as a multiple of what the device holds at once; 0: one for each tile"},
    {NULL, "STAGES", NULL, "slots of a ring of tiles in shared memory: how many tiles are on their way at once"},
    {NULL, "STORE", NULL, "how results are written"},
    {NULL, "STORE", "plain", "ordinary stores"},
    {NULL, "STORE", "streaming", "stores whose lines leave the caches first"},
    {NULL, "LOAD", NULL, "which caches a load goes through"},
    {NULL, "LOAD", "plain", "an ordinary load"},
    {NULL, "LOAD", "nc", "through the read-only path"},
    {NULL, "LOAD", "cg", "past L1"},
    {NULL, "LOAD", "no_allocate", "read-only, without a place in L1"},
    {NULL, "LOAD", "evict_first", "read-only, its line leaves L1 first"},
    {NULL, "LOAD", "l2_64", "read-only, L2 fetches 64 bytes"},
    {NULL, "LOAD", "l2_128", "read-only, L2 fetches 128 bytes"},
    {NULL, "LOAD", "l2_256", "read-only, L2 fetches 256 bytes"},
    {NULL, "SOURCE", NULL, "where values that threads share are read from"},
    {NULL, "SOURCE", "global", "global memory, each thread for itself"},
    {NULL, "SOURCE", "shared", "a copy in shared memory that the block makes first"},

    // --- reduce
    {"reduce", "ORDER", NULL, "when a thread adds what it has loaded"},
    {"reduce", "ORDER", "batched", "all loads of a tile, then its additions"},
    {"reduce", "ORDER", "interleaved", "each register is loaded anew as soon as it is added: loads stay under way across tiles"},
    {"reduce", "MAP", NULL, "which tiles a block takes"},
    {"reduce", "MAP", "strided", "every n-th, where n is the number of blocks"},
    {"reduce", "MAP", "contiguous", "one stretch of neighbours"},
    {"reduce", "WARP", NULL, "how the values of a warp are added"},
    {"reduce", "WARP", "shuffle", "from register to register"},
    {"reduce", "WARP", "shared", "a tree in shared memory"},
    {"reduce", "WARP", "redux", "one instruction (32-bit integers)"},
    {"reduce", "BLOCK_STEP", NULL, "how the values of a block's warps are added"},
    {"reduce", "BLOCK_STEP", "serial", "by one thread"},
    {"reduce", "BLOCK_STEP", "shuffle", "by one warp"},
    {"reduce", "BLOCK_STEP", "direct", "not at all: each warp's value goes to the finish"},
    {"reduce", "FINISH", NULL, "how the values of all blocks become one"},
    {"reduce", "FINISH", "two_pass", "a second kernel adds them"},
    {"reduce", "FINISH", "dependent", "a second kernel, which starts before the first has ended"},
    {"reduce", "FINISH", "watched", "a second kernel runs beside the first and takes each value as it comes"},
    {"reduce", "FINISH", "cluster", "one kernel of one cluster: blocks send their values to the first"},
    {"reduce", "FINISH", "one_block", "one kernel of a single block"},
    {"reduce", "FINISH", "ticket", "one kernel: the block that ends last adds them in order"},
    {"reduce", "FINISH", "atomic", "one kernel: each block adds to the result with an atomic"},

    // --- scan
    {"scan", "ALGORITHM", NULL, "how a block scans the values of its threads"},
    {"scan", "ALGORITHM", "hillis_steele", "in shared memory, a barrier each time the distance doubles"},
    {"scan", "ALGORITHM", "blelloch", "a tree up and down in shared memory"},
    {"scan", "ALGORITHM", "blelloch_padded", "blelloch with gaps, so that banks do not collide"},
    {"scan", "ALGORITHM", "warp_shuffle", "in registers, from lane to lane; then the totals of the warps"},
    {"scan", "ALGORITHM", "raking", "one warp, each lane a stretch one by one"},
    {"scan", "ALGORITHM", "serial", "one thread"},
    {"scan", "PASS", NULL, "how blocks come together: how a tile learns the sum of all before it"},
    {"scan", "PASS", "one_block", "one kernel of a single block"},
    {"scan", "PASS", "cluster", "one kernel of one cluster: a block sends its total to those behind it"},
    {"scan", "PASS", "reduce_then_scan", "three kernels: totals, their scan, the tiles; everything is read twice"},
    {"scan", "PASS", "scan_then_propagate", "three kernels: tiles, scan of their totals, addition; read and written twice"},
    {"scan", "PASS", "watched", "two kernels at the same time: one publishes totals, the other takes them as they come"},
    {"scan", "PASS", "look_back", "one kernel, a tile a block: each looks back at what the tiles before it have published"},
    {"scan", "PASS", "pipelined_look_back",
     "look-back by blocks that stay resident and take tile after tile through a ring in shared memory"},
    {"scan", "COPY", NULL, "how tiles come into the ring"},
    {"scan", "COPY", "bulk", "one bulk copy a tile, by the copy engine of the SM"},
    {"scan", "COPY", "async", "cp.async, 16 bytes a thread"},
    {"scan", "COPY", "plain", "loads and stores"},
    {"scan", "PAUSE", NULL, "nanoseconds between two looks at a state that is still empty"},
    {"scan", "LOOK", NULL, "how far a tile looks back"},
    {"scan", "LOOK", "nearest", "to the nearest tile whose sum from the beginning is published"},
    {"scan", "LOOK", "wave", "at the totals of all tiles since the block's last one, asked for at once"},
    {"scan", "ROLES", NULL, "whether warps share the work or divide it"},
    {"scan", "ROLES", "same", "all warps do everything in turn"},
    {"scan", "ROLES", "divided", "four warps more that load, publish and look back; no barrier of the block is left in the loop"},
    {"scan", "RESET", NULL, "how the states are emptied before"},
    {"scan", "RESET", "memset", "by a memset"},
    {"scan", "RESET", "dependent", "by a small kernel during which the scan may start"},

    // --- compact
    {"compact", "METHOD", NULL, "how a kept element finds its place in the output"},
    {"compact", "METHOD", "simple", "the articles' way: an atomic for any order, else count, then scatter"},
    {"compact", "METHOD", "atomic", "every kept element adds 1 to one counter"},
    {"compact", "METHOD", "warp_aggregated", "a warp takes places for all that it keeps at once"},
    {"compact", "METHOD", "block_aggregated", "a block takes places for all that it keeps at once"},
    {"compact", "METHOD", "scan_scatter", "two kernels: blocks count, then each adds up the counts before it and scatters"},
    {"compact", "METHOD", "look_back", "one kernel, a tile a block: each looks back at the counts before it"},
    {"compact", "METHOD", "pipelined_look_back", "look-back by resident blocks whose warps hand tiles on through a ring"},
    {"compact", "METHOD", "pipelined_wave", "as pipelined_look_back, without a chain: totals of all tiles since the block's last one"},
    {"compact", "METHOD", "one_block", "a single block"},
    {"compact", "METHOD", "cluster", "a single cluster"},
    {"compact", "METHOD", "quadratic", "each thread counts what is kept before its element: a baseline"},
    {"compact", "RANK", NULL, "how a lane finds its place within the warp"},
    {"compact", "RANK", "ballot", "a vote for each element"},
    {"compact", "RANK", "scan", "counts that are summed from lane to lane"},
    {"compact", "SCATTER", NULL, "how kept elements reach the output"},
    {"compact", "SCATTER", "direct", "each to its place"},
    {"compact", "SCATTER", "staged", "closed up in shared memory first, then written line by line"},
    {"compact", "WINDOW", NULL, "states of earlier tiles that a lane asks for at once"},
    {"compact", "BACKOFF", NULL, "nanoseconds between two looks at a state that is not there yet"},
    {"compact", "EMPTY", NULL, "how states and counters are emptied before"},
    {"compact", "EMPTY", "memset", "by a memset"},
    {"compact", "EMPTY", "kernel", "by a kernel"},
    {"compact", "EMPTY", "dependent", "by a kernel during which the next one may start"},

    // --- segreduce
    {"segreduce", "METHOD", NULL, "who reads a segment"},
    {"segreduce", "METHOD", "by_block", "a block, one segment after the other"},
    {"segreduce", "METHOD", "by_lanes", "LANES threads of a warp, BATCH segments at once"},
    {"segreduce", "METHOD", "staged", "as by_lanes, out of a copy in shared memory that is read in whole rows"},
    {"segreduce", "METHOD", "split_warps", "each warp an even piece of the array; a second kernel joins what goes over an edge"},
    {"segreduce", "METHOD", "split_blocks", "each block an even piece of the array; a second kernel joins"},
    {"segreduce", "LANES", NULL, "threads of a warp that share a segment"},
    {"segreduce", "BATCH", NULL, "segments that those threads have under way at once"},
    {"segreduce", "JOIN", NULL, "how the second kernel starts"},
    {"segreduce", "JOIN", "second_kernel", "when the first has ended"},
    {"segreduce", "JOIN", "dependent", "before the first has ended, and waits for it"},

    // --- examples
    {"fma_chain", "POINTS", NULL, "points that a thread computes side by side"},
    {"fma_chain", "ACC", NULL, "chains of multiply-adds of one point that do not wait for each other"},
    {"fma_chain", "LANES", NULL, "lanes that share a point"},
    {"fma_chain", "ROW", NULL, "coefficients that are loaded at once"},
    {"fma_chain", "AHEAD", NULL, "1: the next row is loaded before the one in hand is used up"},
    {"special", "ITEMS", NULL, "right sides of a thread that go through the steps together"},
    {"special", "TILES", NULL, "how many times a thread does that"},
    {"special", "STEPS", NULL, "steps of Newton's method"},
    {"special", "EARLY", NULL, "the special functions of all steps but the last"},
    {"special", "EARLY", "library", "sincosf, expf"},
    {"special", "EARLY", "fast", "the fast forms of the special unit, less accurate"},
    {"special", "EARLY", "polynomial", "polynomials on the multipliers, without the special unit"},
    {"special", "LAST", NULL, "the special functions of the last step"},
    {"special", "LAST", "library", "sincosf, expf"},
    {"special", "LAST", "fast", "the fast forms of the special unit, less accurate"},
    {"special", "LAST", "polynomial", "polynomials on the multipliers, without the special unit"},
    {"special", "DIVIDE", NULL, "how a step divides"},
    {"special", "DIVIDE", "exact", "rounded once"},
    {"special", "DIVIDE", "fast", "by the fast reciprocal"},
    {"particles", "TARGETS", NULL, "particles of a thread, all of one cell"},
    {"particles", "ACC", NULL, "sums for each of them that do not wait for each other"},
    {"particles", "UNROLL", NULL, "partners that are loaded at once"},
    {"particles", "ROOT", NULL, "how the distance is inverted"},
    {"particles", "ROOT", "exact", "a root and a division, both rounded once"},
    {"particles", "ROOT", "fast", "one instruction, off by two units in the last place"},
};

static bool is_value(const char *of_row, const char *value)
{
    return of_row && value ? strcmp(of_row, value) == 0 : !of_row && !value;
}

static bool is_family(const char *family)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].family && strcmp(rows[i].family, family) == 0)
            return true;
    return false;
}

const char *st_parameter_words(const char *family, const char *parameter, const char *value)
{
    const char *general = NULL;
    if (!is_family(family)) // a user's own: the same name may mean something else
        return NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].parameter, parameter) != 0 || !is_value(rows[i].value, value))
            continue;
        if (!rows[i].family)
            general = rows[i].words;
        else if (strcmp(rows[i].family, family) == 0)
            return rows[i].words;
    }
    return general;
}

// --- roles -----------------------------------------------------------------------------------------------------------

// To add a role: tuner/base/roles.h, and its row here.
static const struct {
    unsigned role;
    const char *name, *words;
} roles[] = {
    {ST_ROLE_MLP, "mlp", "loads in flight: how many bytes a thread has asked for and not yet received"},
    {ST_ROLE_ILP, "ilp", "independent instructions: work that does not wait for the instruction before it"},
    {ST_ROLE_TLP, "tlp", "resident warps: others that can issue while one waits"},
    {ST_ROLE_SYNC, "sync", "how threads come together: barriers, atomics, waiting for other blocks"},
    {ST_ROLE_SMEM, "smem", "shared memory: how much, and in which pattern"},
    {ST_ROLE_WORK, "work", "how work is split: what a thread, a block, a launch does"},
    {ST_ROLE_REGS, "regs", "registers of a thread, which limit how many warps are resident"},
};

bool st_role_words(size_t n, unsigned *role, const char **name, const char **words)
{
    if (n >= sizeof roles / sizeof *roles)
        return false;
    *role = roles[n].role;
    *name = roles[n].name;
    *words = roles[n].words;
    return true;
}
