// SPDX-License-Identifier: Apache-2.0
// The values of one candidate, as advice reads them.
//
// Invariants:
//  1. What was not given is NaN and stays so; nothing is made up of a part.
//  2. Shares are of samples as soon as there is one sampled share, else of the exact ratios' sum.
//  3. What is derived from samples is used only where the exact counter is not there. At each sample the scheduler
//     issued or it did not: the share of samples with nothing issued is 1 - issue activity. A warp is found issuing in
//     one of as many samples as an instruction takes cycles: total / selected is the latency of an instruction.
#include "cupti/advice.h"

#include <math.h>
#include <string.h>

static const char stall_prefix[] = "stall.", idle_prefix[] = "stall_not_issued.", latency_prefix[] = "latency.";

const char *st_validity_name(st_validity validity) {
    static const char *const names[] = {"unknown", "exact", "sampled", "derived", "few samples"};
    return names[validity];
}

void st_view_init(st_profile_view *view) {
    *view = (st_profile_view){.samples = NAN,
                              .registers = NAN,
                              .local_bytes = NAN,
                              .static_smem = NAN,
                              .dynamic_smem = NAN,
                              .blocks_per_sm = NAN,
                              .occupancy = NAN,
                              .ns = NAN,
                              .bytes = NAN,
                              .best_ns = NAN,
                              .device = {NAN, NAN, NAN, -1, -1, NAN, -1, -1, -1}};
    for (size_t i = 0; i < ST_VIEW_STALLS; i++)
        view->share[i] = view->not_issued[i] = view->ratio[i] = NAN;
    for (size_t i = 0; i < ST_VIEW_METRICS; i++)
        view->metric[i] = NAN;
}

// Index of a reason by our own name alone: stored counters have no other.
static int stall_index(const char *name) {
    size_t count = 0;
    const st_stall *table = st_stalls(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i].name, name) == 0)
            return (int)i;
    return -1;
}

// Shares of exact ratios: known as soon as there is any.
static void share_of_ratios(st_profile_view *view) {
    double sum = 0;
    for (size_t i = 0; i < ST_VIEW_STALLS; i++)
        sum += isnan(view->ratio[i]) ? 0 : view->ratio[i];
    for (size_t i = 0; i < ST_VIEW_STALLS; i++)
        view->share[i] = sum > 0 ? view->ratio[i] / sum : NAN;
}

static void take_sampled(st_profile_view *view, const char *name, double value) {
    bool idle = strncmp(name, idle_prefix, sizeof idle_prefix - 1) == 0;
    bool share = !idle && strncmp(name, stall_prefix, sizeof stall_prefix - 1) == 0;
    if (strcmp(name, "stall_samples") == 0)
        view->samples = value;
    if (!idle && !share)
        return;
    int index = stall_index(name + (idle ? sizeof idle_prefix : sizeof stall_prefix) - 1);
    if (index < 0)
        return;
    if (!view->sampled) // invariant 2
        for (size_t i = 0; i < ST_VIEW_STALLS; i++)
            view->share[i] = NAN;
    view->sampled = true;
    (idle ? view->not_issued : view->share)[index] = value;
}

void st_view_counter(st_profile_view *view, const char *kind, const char *name, double value) {
    if (!isfinite(value))
        return;
    if (strcmp(kind, "pc") == 0) {
        take_sampled(view, name, value);
        return;
    }
    const st_metric *metric = strcmp(kind, "range") == 0 ? st_metric_find(name) : NULL;
    if (!metric)
        return;
    if (strncmp(name, stall_prefix, sizeof stall_prefix - 1) == 0) {
        int index = stall_index(name + sizeof stall_prefix - 1);
        if (index >= 0)
            view->ratio[index] = value;
        if (index >= 0 && !view->sampled)
            share_of_ratios(view);
        return;
    }
    size_t count = 0;
    view->metric[metric - st_metrics(&count)] = value;
}

bool st_view_has_stalls(const st_profile_view *view) {
    for (size_t i = 0; i < ST_VIEW_STALLS; i++)
        if (!isnan(view->share[i]))
            return true;
    return false;
}

int st_view_main_stall(const st_profile_view *view) {
    size_t count = 0;
    const st_stall *table = st_stalls(&count);
    int best = -1;
    for (size_t i = 0; i < count; i++)
        if (view->share[i] > 0 && (best < 0 || view->share[i] > view->share[best]) &&
            strcmp(table[i].name, "selected") != 0 && strcmp(table[i].name, "not_selected") != 0)
            best = (int)i;
    return best;
}

// --- values by name -------------------------------------------------------------------------------------------

static st_validity of_samples(const st_profile_view *view, st_validity otherwise) {
    return !isnan(view->samples) && view->samples < ST_SAMPLES_FEW ? ST_VALID_FEW : otherwise;
}

static double sampled_issue_activity(const st_profile_view *view) {
    double idle = 0;
    bool any = false;
    for (size_t i = 0; i < ST_VIEW_STALLS; i++)
        if (!isnan(view->not_issued[i])) {
            idle += view->not_issued[i];
            any = true;
        }
    return any && idle <= 1.0001 ? 1 - fmin(idle, 1) : NAN;
}

static double exact(const st_profile_view *view, const char *name) {
    size_t count = 0;
    const st_metric *metric = st_metric_find(name);
    return metric ? view->metric[metric - st_metrics(&count)] : NAN;
}

// Invariant 3.
static double metric_value(const st_profile_view *view, const char *name, st_validity *how) {
    double value = exact(view, name);
    *how = ST_VALID_EXACT;
    if (!isnan(value) || !view->sampled)
        return value;
    *how = of_samples(view, ST_VALID_DERIVED);
    int selected = stall_index("selected");
    if (strcmp(name, "issue_active") == 0)
        return sampled_issue_activity(view);
    if (strcmp(name, "ipc") == 0)
        return 4 * sampled_issue_activity(view);
    if (strcmp(name, "cycles_per_instruction") == 0 && view->share[selected] > 0)
        return 1 / view->share[selected];
    return NAN;
}

// Of the passes through shared memory, those that are conflicts.
static double conflicts(const st_profile_view *view) {
    double loads = exact(view, "shared_load_conflicts"), stores = exact(view, "shared_store_conflicts");
    if (isnan(loads) && isnan(stores))
        return NAN;
    return ((isnan(loads) ? 0 : loads) + (isnan(stores) ? 0 : stores)) / exact(view, "shared_wavefronts");
}

static double fact(const st_profile_view *view, const char *name) {
    const struct {
        const char *name;
        double value;
    } facts[] = {{"stall_samples", view->samples},
                 {"registers", view->registers},
                 {"local_bytes", view->local_bytes},
                 {"static_smem", view->static_smem},
                 {"dynamic_smem", view->dynamic_smem},
                 {"blocks_per_sm", view->blocks_per_sm},
                 {"occupancy_limit", view->occupancy},
                 {"ns", view->ns},
                 {"bytes", view->bytes},
                 {"best_ns", view->best_ns},
                 {"share_of_limit", st_view_share_of_limit(view)},
                 {"bank_conflicts", conflicts(view)}};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (strcmp(facts[i].name, name) == 0)
            return facts[i].value;
    return NAN;
}

static double value_of(const st_profile_view *view, const char *name, st_validity *how) {
    *how = view->sampled ? of_samples(view, ST_VALID_SAMPLED) : ST_VALID_EXACT;
    if (strncmp(name, stall_prefix, sizeof stall_prefix - 1) == 0) {
        int index = stall_index(name + sizeof stall_prefix - 1);
        return index < 0 ? NAN : view->share[index];
    }
    if (strncmp(name, idle_prefix, sizeof idle_prefix - 1) == 0) {
        int index = stall_index(name + sizeof idle_prefix - 1);
        return index < 0 ? NAN : view->not_issued[index];
    }
    if (strncmp(name, latency_prefix, sizeof latency_prefix - 1) == 0) {
        int index = stall_index(name + sizeof latency_prefix - 1);
        double latency = metric_value(view, "cycles_per_instruction", how);
        return index < 0 ? NAN : latency * view->share[index];
    }
    if (strcmp(name, "latency") == 0)
        return metric_value(view, "cycles_per_instruction", how);
    if (st_metric_find(name))
        return metric_value(view, name, how);
    *how = ST_VALID_EXACT;
    return fact(view, name);
}

double st_view_value(const st_profile_view *view, const char *name, st_validity *how) {
    st_validity unused;
    how = how ? how : &unused;
    double value = value_of(view, name, how);
    if (isnan(value))
        *how = ST_VALID_UNKNOWN;
    return value;
}

// --- the limit of the memory ------------------------------------------------------------------------------------

double st_view_written_share(const st_profile_view *view) {
    double read = exact(view, "dram_bytes_read"), written = exact(view, "dram_bytes_written");
    if (!isnan(view->device.written_share))
        return view->device.written_share;
    return read + written > 0 ? written / (read + written) : 0;
}

// A byte that is read and written back takes two bytes' time of a copy; what is only read goes at reading speed.
double st_view_measured_limit_gbs(const st_profile_view *view) {
    const st_device_limits *device = &view->device;
    double copied = fmin(1, 2 * st_view_written_share(view));
    if (!(device->read_gbs > 0))
        return NAN;
    if (!(device->copy_gbs > 0))
        return copied > 0 ? NAN : device->read_gbs;
    return 1 / ((1 - copied) / device->read_gbs + copied / device->copy_gbs);
}

// A candidate that was faster shows that the memory can do more than the plain copy did.
double st_view_limit_gbs(const st_profile_view *view) {
    double limit = st_view_measured_limit_gbs(view), reached = view->bytes / view->best_ns;
    return reached > limit ? reached : limit;
}

double st_view_share_of_limit(const st_profile_view *view) {
    double speed = view->bytes / view->ns; // bytes a nanosecond are GB/s
    return speed / st_view_limit_gbs(view);
}

bool st_view_at_limit(const st_profile_view *view) {
    return st_view_share_of_limit(view) >= 0.97;
}
