// SPDX-License-Identifier: Apache-2.0
// Conditions of rules beyond their gates, with the figures that speak for them. Invariant: a comparison with an unknown
// value is false, so that every condition here is written as what must hold.
#include "cupti/advice_internal.h"

#include <math.h>
#include <string.h>

static double value(const st_profile_view *view, const char *name) {
    return st_view_value(view, name, NULL);
}

static double known_or(double number, double otherwise) {
    return isnan(number) ? otherwise : number;
}

static double share_of(const st_profile_view *view, const char *stall) {
    const st_stall *found = st_stall_find(stall);
    size_t count = 0;
    return known_or(view->share[found - st_stalls(&count)], 0);
}

static double idle_of(const st_profile_view *view, const char *stall) {
    const st_stall *found = st_stall_find(stall);
    size_t count = 0;
    return known_or(st_idle_share(view, (int)(found - st_stalls(&count))), 0);
}

// --- leave it -----------------------------------------------------------------------------------------------------

bool st_rule_at_limit(const st_profile_view *view, st_finding *finding) {
    double speed = view->bytes / view->ns, share = st_view_share_of_limit(view);
    if (!st_view_at_limit(view))
        return false;
    double measured = st_view_measured_limit_gbs(view);
    if (st_view_limit_gbs(view) > measured) // another run is the limit, or this one
        st_evidence(finding, "%.0f GB/s, %.0f %% of the fastest run, which beats the %.0f GB/s measured of this memory",
                    speed, 100 * share, measured);
    else
        st_evidence(finding, "%.0f GB/s, %.0f %% of the %.0f GB/s that were measured of this memory", speed,
                    100 * share, measured);
    int main = st_view_main_stall(view);
    size_t count = 0;
    if (main >= 0)
        st_evidence(finding, "%.0f %% wait for %s, which is as it should be", 100 * view->share[main],
                    st_stalls(&count)[main].waits_for);
    return true;
}

bool st_rule_enough_warps(const st_profile_view *view, st_finding *finding) {
    double eligible = value(view, "eligible_warps");
    if (!isnan(eligible))
        st_evidence(finding, "%.1f warps of each scheduler are ready in a cycle", eligible);
    return true;
}

bool st_rule_issue_bound(const st_profile_view *view, st_finding *finding) {
    double issue = value(view, "issue_active"), instructions = value(view, "instructions");
    if (!(issue >= 0.8))
        return false;
    st_evidence(finding, "the schedulers issue in %.0f %% of cycles", 100 * issue);
    if (instructions > 0 && view->bytes > 0)
        st_evidence(finding, "%.2f instructions of a warp for each 128 bytes", instructions / (view->bytes / 128));
    return true;
}

// --- stalls -------------------------------------------------------------------------------------------------------

bool st_rule_memory_wait(const st_profile_view *view, st_finding *finding) {
    double reached = st_view_share_of_limit(view);
    if (!isnan(reached) && !isnan(finding->gain))
        finding->gain = fmin(finding->gain, fmax(0, 1 - reached));
    if (view->occupancy >= 0.95)
        st_drop_move(finding, ST_ROLE_TLP); // there is no room for more
    return true;
}

bool st_rule_arithmetic_wait(const st_profile_view *view, st_finding *finding) {
    if (view->occupancy >= 0.95)
        st_drop_move(finding, ST_ROLE_TLP);
    return true;
}

bool st_rule_pipe_busy(const st_profile_view *view, st_finding *finding) {
    double busy = value(view, "sm_throughput");
    if (!isnan(busy))
        st_evidence(finding, "the busiest pipe runs at %.0f %% of its peak", 100 * busy);
    if (busy >= 0.9) {
        finding->title = "runs at the speed of an arithmetic pipe";
        finding->severity = ST_GRAVITY_FINE;
        finding->gain = NAN;
    }
    return true;
}

// --- counters and the compiler --------------------------------------------------------------------------------------

bool st_rule_bank_conflicts(const st_profile_view *view, st_finding *finding) {
    double loads = value(view, "shared_load_conflicts"), stores = value(view, "shared_store_conflicts");
    double conflicts = known_or(loads, 0) + known_or(stores, 0), passes = value(view, "shared_wavefronts");
    double waiting = idle_of(view, "short_scoreboard") + idle_of(view, "mio_throttle") + idle_of(view, "lg_throttle");
    if (!(conflicts / passes >= 0.1))
        return false;
    st_evidence(finding, "%.0f %% of %.3g passes through shared memory are conflicts", 100 * conflicts / passes,
                passes);
    if (st_view_has_stalls(view)) {
        finding->gain = waiting * fmin(1, conflicts / passes);
        if (waiting < 0.1)
            finding->severity = ST_GRAVITY_MINOR;
    }
    return true;
}

bool st_rule_special_functions(const st_profile_view *view, st_finding *finding) {
    static const char *const waits[] = {"short_scoreboard", "mio_throttle", "math_pipe_throttle"};
    double special = value(view, "special_instructions") / value(view, "instructions"), share = 0, idle = 0;
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        share += share_of(view, waits[i]);
        idle += idle_of(view, waits[i]);
    }
    if (!(special >= 0.05) || !(share >= 0.2))
        return false;
    st_evidence(finding, "%.0f %% of its instructions are special functions or conversions", 100 * special);
    st_evidence(finding, "%.0f %% of its warps' time goes into their unit and its queue", 100 * share);
    finding->gain = idle;
    return true;
}

bool st_rule_spills(const st_profile_view *view, st_finding *finding) {
    static const double matters = 0.001; // of all instructions
    double loads = value(view, "local_loads"), stores = value(view, "local_stores");
    double moved = isnan(loads) && isnan(stores) ? NAN : known_or(loads, 0) + known_or(stores, 0);
    double share = moved / value(view, "instructions");
    if (isnan(moved) ? !(view->local_bytes > 0) : !(share >= matters))
        return false; // also memory that is set aside for a way that is hardly ever taken
    if (view->local_bytes > 0)
        st_evidence(finding, "%.0f bytes of local memory a thread, %.0f registers", view->local_bytes,
                    view->registers);
    if (isnan(moved)) {
        st_evidence(finding, "how often it is used was not counted");
        finding->severity = ST_GRAVITY_MINOR;
    } else
        st_evidence(finding, "%.3g accesses of warps to it, %.1f for 100 instructions", moved, 100 * share);
    if (share < 0.01)
        finding->severity = ST_GRAVITY_MINOR;
    return true;
}

// What keeps more blocks from being resident: words, NULL when it cannot be told.
static const char *what_limits(const st_profile_view *view) {
    const st_device_limits *device = &view->device;
    double threads = view->occupancy * (double)device->threads_per_sm;
    double smem = (known_or(view->static_smem, 0) + known_or(view->dynamic_smem, 0)) * view->blocks_per_sm;
    if (value(view, "wait_registers") > 0.02 ||
        (device->registers_per_sm > 0 &&
         threads * ceil(view->registers / 8) * 8 > 0.75 * (double)device->registers_per_sm))
        return "registers";
    if (value(view, "wait_shared_memory") > 0.02 ||
        (device->smem_per_sm > 0 && smem > 0.6 * (double)device->smem_per_sm))
        return "shared memory";
    return NULL;
}

bool st_rule_occupancy(const st_profile_view *view, st_finding *finding) {
    double waiting = share_of(view, "long_scoreboard") + share_of(view, "wait");
    if (!(view->occupancy < 0.5) || !(waiting >= ST_SHARE_MUCH))
        return false;
    const char *limit = what_limits(view);
    double reached = value(view, "occupancy");
    st_evidence(finding, "%.0f %% of the warps that fit can be resident", 100 * view->occupancy);
    if (!isnan(reached) && !isnan(finding->gain))
        st_evidence(finding, "%.0f %% were, on average", 100 * reached);
    if (limit)
        st_evidence(finding, "%s: %s", "what is short", limit);
    if (limit && strcmp(limit, "registers") != 0)
        st_drop_move(finding, ST_ROLE_REGS);
    st_evidence(finding, "%.0f registers a thread", view->registers);
    return true;
}

bool st_rule_divergence(const st_profile_view *view, st_finding *finding) {
    double active = value(view, "threads_per_instruction"), on = value(view, "threads_not_predicated");
    double least = isnan(active) ? on : isnan(on) ? active : fmin(active, on);
    if (!(least < 24) || !(least > 0))
        return false;
    if (!isnan(active))
        st_evidence(finding, "%.1f of 32 threads take part in an instruction", active);
    if (!isnan(on))
        st_evidence(finding, "%.1f of 32 are not switched off for it", on);
    double issue = value(view, "issue_active");
    finding->gain = (1 - least / 32) * issue;
    if (issue < 0.3)
        finding->severity = ST_GRAVITY_MINOR; // the lanes are idle while the warp waits for something else anyway
    return true;
}

bool st_rule_uncoalesced(const st_profile_view *view, st_finding *finding) {
    static const double widest = 16.5; // 16 bytes a thread, and one sector more for a base off alignment
    double load = value(view, "load_sectors_per_request"), store = value(view, "store_sectors_per_request");
    double worst = fmax(known_or(load, 0), known_or(store, 0));
    if (!(worst > widest))
        return false;
    if (load > widest)
        st_evidence(finding, "a load of a warp takes %.1f sectors", load);
    if (store > widest)
        st_evidence(finding, "a store of a warp takes %.1f sectors", store);
    finding->gain = 1 - 16 / worst;
    return true;
}

bool st_rule_extra_traffic(const st_profile_view *view, st_finding *finding) {
    double moved = value(view, "dram_bytes_read") + value(view, "dram_bytes_written");
    static const double beyond_caches = 256e6; // smaller problems stay in the cache in part, and write into it
    if (!(moved / view->bytes >= 1.2) || !(view->bytes >= beyond_caches))
        return false;
    st_evidence(finding, "%.3g GB to and from device memory, %.3g GB are needed: %.2f ×", moved / 1e9,
                view->bytes / 1e9, moved / view->bytes);
    double busy = value(view, "dram_throughput");
    if (!isnan(busy))
        st_evidence(finding, "device memory runs at %.0f %% of its peak", 100 * busy);
    finding->gain = (1 - view->bytes / moved) * known_or(busy, 1);
    if (busy < 0.5)
        finding->severity = ST_GRAVITY_MINOR;
    return true;
}

bool st_rule_tail(const st_profile_view *view, st_finding *finding) {
    double busy = value(view, "sm_busy");
    if (!(busy < 0.8))
        return false;
    st_evidence(finding, "the SMs have a warp in %.0f %% of the time", 100 * busy);
    finding->gain = 1 - busy;
    if (view->ns < 2e4) { // a launch alone takes some microseconds
        finding->title = "is so short that launching it counts";
        finding->severity = ST_GRAVITY_MINOR;
        finding->gain = NAN; // how much of it is the launch cannot be told from this
        st_evidence(finding, "it takes %.1f µs, the launch included", view->ns / 1e3);
    }
    return true;
}

bool st_rule_atomics(const st_profile_view *view, st_finding *finding) {
    static const char *const waits[] = {"long_scoreboard", "lg_throttle", "membar", "drain"};
    double with_value = value(view, "global_atomics"), without = value(view, "global_reductions"), share = 0;
    double atomics = isnan(with_value) && isnan(without) ? NAN : known_or(with_value, 0) + known_or(without, 0);
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        share += share_of(view, waits[i]);
    if (!(atomics / value(view, "instructions") >= 0.01) || !(share >= ST_SHARE_MUCH))
        return false;
    st_evidence(finding, "%.3g atomics of warps, %.1f for 100 instructions", atomics,
                100 * atomics / value(view, "instructions"));
    st_evidence(finding, "%.0f %% of its warps' time goes into global memory", 100 * share);
    return true;
}
