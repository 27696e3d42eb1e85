// SPDX-License-Identifier: Apache-2.0
// The table of metrics. To add one: a row here (our name, NVIDIA's name as CUPTI's range profiler
// takes it, unit, scale, direction, group, meaning) and a line in docs/counters.md;
// tests/unit/cupti/ test_metrics.c checks the row and asks CUPTI for it on every chip.
//
// Invariants:
//  1. Names are unique, both ours and NVIDIA's. Ours are stored: they never change their meaning.
//  2. Percentages have scale 0.01 and unit SHARE; every other row has scale 1.
//  3. No metric is a time: a time taken under a profiler is not a time.
//  4. "stall." rows are named after rows of the stall table (stalls.c).
#include "cupti/counters.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define STALL(name, better, meaning)                                                               \
    {                                                                                              \
        "stall." name, "smsp__average_warps_issue_stalled_" name "_per_issue_active.ratio",        \
            ST_UNIT_RATIO, 1, better, "stall",                                                     \
            "warps " meaning ", on average at each issued instruction", NULL                       \
    }
#define SHARE(name, tool, better, group, meaning)                                                  \
    { name, tool, ST_UNIT_SHARE, 0.01, better, group, meaning, NULL }
#define PLAIN(name, tool, unit, better, group, meaning)                                            \
    { name, tool, unit, 1, better, group, meaning, NULL }

static const st_metric table[] = {
    STALL("long_scoreboard", -1, "waiting for a value from global or local memory"),
    STALL("wait", -1, "waiting for the result of fixed-latency arithmetic"),
    STALL("short_scoreboard", -1, "waiting for a value from shared memory or a special function"),
    STALL("barrier", -1, "waiting at a barrier of the block"),
    STALL("membar", -1, "waiting for a memory fence"),
    STALL("lg_throttle", -1, "waiting for room in the queue of global-memory instructions"),
    STALL("drain", -1, "waiting after their exit for stores to leave"),
    STALL("math_pipe_throttle", -1, "waiting for an arithmetic pipe to be free"),
    STALL("mio_throttle", -1, "waiting for room in the shared-memory and special-function queue"),
    STALL("tex_throttle", -1, "waiting for room in the texture queue"),
    STALL("imc_miss", -1, "waiting for a constant that missed the immediate-constant cache"),
    STALL("no_instruction", -1, "waiting for instructions to be fetched"),
    STALL("branch_resolving", -1, "waiting for a branch target"),
    STALL("dispatch_stall", -1, "held back by the dispatcher"),
    STALL("gmma", -1, "waiting for a warp-group matrix instruction"),
    STALL("sleeping", -1, "sleeping of their own wish (nanosleep)"),
    STALL("misc", -1, "waiting for something that has no name"),
    STALL("not_selected", 0, "ready while another warp was chosen"),
    STALL("selected", 0, "chosen to issue"),

    SHARE("dram_throughput", "dram__throughput.avg.pct_of_peak_sustained_elapsed", 1, "memory",
          "device-memory traffic as a share of what the memory can move at its clock"),
    {"dram_bytes_read", "dram__bytes_read.sum", ST_UNIT_BYTES, 1, -1, "memory",
     "bytes read from device memory", "dram__bytes_op_read.sum"},
    {"dram_bytes_written", "dram__bytes_write.sum", ST_UNIT_BYTES, 1, -1, "memory",
     "bytes written to device memory; what stays dirty in L2 is not in it",
     "dram__bytes_op_write.sum"},
    PLAIN("dram_bandwidth", "dram__bytes.sum.per_second", ST_UNIT_BYTES_PER_SECOND, 1, "memory",
          "device-memory bytes per second under the profiler, not at the speed of a timed run"),
    SHARE("memory_throughput", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
          1, "memory",
          "the busiest part of the memory system (L1, L2, device memory) as a share of its peak"),
    SHARE("l2_throughput", "lts__throughput.avg.pct_of_peak_sustained_elapsed", 1, "memory",
          "L2 traffic as a share of its peak"),
    SHARE(
        "l2_hit_rate", "lts__t_sector_hit_rate.pct", 0, "memory",
        "share of L2 sector look-ups that hit; near 0 proves a cold start for a streaming kernel"),
    PLAIN("l2_bytes", "lts__t_bytes.sum", ST_UNIT_BYTES, -1, "memory",
          "bytes that went through L2"),
    SHARE("l1_throughput", "l1tex__throughput.avg.pct_of_peak_sustained_active", 1, "memory",
          "L1 and texture unit as a share of their peak"),
    SHARE("l1_hit_rate", "l1tex__t_sector_hit_rate.pct", 0, "memory",
          "share of L1 sector look-ups that hit"),
    PLAIN("load_sectors_per_request",
          "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio", ST_UNIT_RATIO, 0,
          "memory",
          "32-byte sectors for one global load of a warp: 4 is ideal for 4-byte elements, 16 for "
          "16-byte vectors"),
    PLAIN("store_sectors_per_request",
          "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio", ST_UNIT_RATIO, 0,
          "memory",
          "32-byte sectors for one global store of a warp: 4 is ideal for 4-byte elements"),
    PLAIN("global_atomics", "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum", ST_UNIT_COUNT, -1,
          "memory", "atomics of warps on global memory that give a value back"),
    PLAIN("global_reductions", "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum", ST_UNIT_COUNT,
          -1, "memory", "atomics of warps on global memory that give nothing back"),
    PLAIN("local_loads", "smsp__inst_executed_op_local_ld.sum", ST_UNIT_COUNT, -1, "memory",
          "warp instructions that read local memory: spilled registers or indexed arrays"),
    PLAIN("local_stores", "smsp__inst_executed_op_local_st.sum", ST_UNIT_COUNT, -1, "memory",
          "warp instructions that write local memory"),

    PLAIN("shared_load_conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
          ST_UNIT_COUNT, -1, "shared",
          "extra cycles of shared-memory loads because of bank conflicts"),
    PLAIN("shared_store_conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
          ST_UNIT_COUNT, -1, "shared",
          "extra cycles of shared-memory stores because of bank conflicts"),
    PLAIN("shared_wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", ST_UNIT_COUNT, -1,
          "shared", "passes through shared memory; conflicts are the part of them above the least"),

    SHARE("issue_active", "smsp__issue_active.avg.pct_of_peak_sustained_active", 1, "issue",
          "share of cycles in which a scheduler issued an instruction"),
    PLAIN("ipc", "sm__inst_executed.avg.per_cycle_active", ST_UNIT_RATIO, 1, "issue",
          "instructions executed per cycle of an SM (4 is the most)"),
    PLAIN("instructions", "smsp__inst_executed.sum", ST_UNIT_COUNT, -1, "issue",
          "warp instructions executed"),
    PLAIN("cycles_per_instruction", "smsp__average_warp_latency_per_inst_issued.ratio",
          ST_UNIT_CYCLES, -1, "issue",
          "cycles from one instruction of a warp to its next: the sum of all stalls"),
    PLAIN("eligible_warps", "smsp__warps_eligible.avg.per_cycle_active", ST_UNIT_RATIO, 1, "issue",
          "warps of a scheduler that could issue in a cycle; below 1 it runs dry"),
    PLAIN("threads_per_instruction", "smsp__average_thread_inst_executed_per_inst_executed.ratio",
          ST_UNIT_RATIO, 1, "issue",
          "threads that took part in an instruction (32: no divergence)"),
    PLAIN("threads_not_predicated",
          "smsp__average_thread_inst_executed_pred_on_per_inst_executed.ratio", ST_UNIT_RATIO, 1,
          "issue", "threads that an instruction was not predicated off for (32: none idle)"),
    PLAIN("special_instructions", "smsp__inst_executed_pipe_xu.sum", ST_UNIT_COUNT, -1, "issue",
          "warp instructions for special functions and conversions (exp, sin, reciprocals …)"),
    PLAIN("branches", "smsp__inst_executed_op_branch.sum", ST_UNIT_COUNT, -1, "issue",
          "branch instructions of warps"),
    SHARE("sm_throughput", "sm__throughput.avg.pct_of_peak_sustained_elapsed", 1, "issue",
          "the busiest pipe of the SMs as a share of its peak"),
    SHARE("sm_busy", "sm__cycles_active.avg.pct_of_peak_sustained_elapsed", 1, "issue",
          "share of the time that an SM had any warp: what is missing went to launch and tail"),

    SHARE("occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active", 0, "occupancy",
          "resident warps as a share of what an SM can hold"),
    PLAIN("warps_active", "smsp__warps_active.avg.per_cycle_active", ST_UNIT_RATIO, 0, "occupancy",
          "resident warps of a scheduler"),
    PLAIN("warps_per_issue", "smsp__average_warps_active_per_issue_active.ratio", ST_UNIT_RATIO, -1,
          "occupancy", "resident warps at each issued instruction: all stall ratios together"),
    SHARE("wait_registers",
          "tpc__warp_launch_cycles_stalled_shader_cs_reason_register_allocation.avg."
          "pct_of_peak_sustained_elapsed",
          -1, "occupancy",
          "share of cycles in which a block could not start for lack of registers"),
    SHARE("wait_shared_memory",
          "tpc__warp_launch_cycles_stalled_shader_cs_reason_shmem_allocation.avg."
          "pct_of_peak_sustained_elapsed",
          -1, "occupancy",
          "share of cycles in which a block could not start for lack of shared memory"),
    SHARE("wait_block_slots",
          "tpc__warp_launch_cycles_stalled_shader_cs_reason_cta_allocation.avg."
          "pct_of_peak_sustained_elapsed",
          -1, "occupancy",
          "share of cycles in which a block could not start for lack of block slots"),
};

const st_metric *st_metrics(size_t *count) {
    *count = sizeof table / sizeof *table;
    return table;
}

const st_metric *st_metric_find(const char *name) {
    if (!name)
        return NULL;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

double st_metric_convert(const st_metric *metric, double tool_value) {
    return isfinite(tool_value) ? tool_value * metric->scale : NAN;
}

const char *st_metric_unit_name(st_metric_unit unit) {
    switch (unit) {
    case ST_UNIT_RATIO:
        return "ratio";
    case ST_UNIT_SHARE:
        return "share";
    case ST_UNIT_BYTES:
        return "bytes";
    case ST_UNIT_COUNT:
        return "count";
    case ST_UNIT_NANOSECONDS:
        return "ns";
    case ST_UNIT_CYCLES:
        return "cycles";
    case ST_UNIT_PER_SECOND:
        return "1/s";
    case ST_UNIT_BYTES_PER_SECOND:
        return "bytes/s";
    }
    return "unknown";
}

// Three significant digits with a decimal prefix: "1.07 G", "532 ", "0 ".
static void add_prefixed(st_text *text, double value) {
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
    size_t prefix = 0;
    // 999.5 would be printed as 1000 (or 1e+03) of the smaller unit.
    while (fabs(value) >= 999.5 && prefix + 1 < sizeof prefixes / sizeof *prefixes) {
        value /= 1000;
        prefix++;
    }
    st_text_addf(text, "%.3g %s", value, prefixes[prefix]);
}

void st_metric_add_value(st_text *text, const st_metric *metric, double value) {
    if (isnan(value)) {
        st_text_add(text, "-");
        return;
    }
    switch (metric->unit) {
    case ST_UNIT_SHARE:
        st_text_addf(text, "%.1f %%", value * 100);
        break;
    case ST_UNIT_RATIO:
        st_text_addf(text, "%.*f", fabs(value) < 10 ? 2 : 1, value);
        break;
    case ST_UNIT_CYCLES:
        st_text_addf(text, "%.1f cycles", value);
        break;
    case ST_UNIT_NANOSECONDS:
        st_text_addf(text, "%.0f ns", value);
        break;
    case ST_UNIT_COUNT:
        st_text_addf(text, "%.0f", value);
        break;
    case ST_UNIT_BYTES:
        add_prefixed(text, value), st_text_add(text, "B");
        break;
    case ST_UNIT_BYTES_PER_SECOND:
        add_prefixed(text, value), st_text_add(text, "B/s");
        break;
    case ST_UNIT_PER_SECOND:
        add_prefixed(text, value), st_text_add(text, "/s");
        break;
    }
}
