// SPDX-License-Identifier: Apache-2.0
// Synthetic profiles of the emulated device: the terms of the model (emu_model.c) told in the words of a
// GPU's counters, so that guidance and reports have something to read without a GPU. Like the times they mean
// nothing, and are the same in every run.
//
// A warp's time is the sum of what it waits for. Of one launch, in nanoseconds of the model:
//
//     long_scoreboard    memory and atomics, but for what the two below take
//     lg_throttle        of memory: a quarter, with 48 warps an SM and accesses of 4 bytes; less with fewer
//                        warps and wider accesses
//     drain              2 % of memory
//     barrier            barriers of blocks and clusters
//     short_scoreboard   70 % of exchanges and shared memory
//     mio_throttle       30 % of these, with 16 warps an SM; less with fewer, which wait for the value instead
//     wait               50 % of issue
//     selected           20 % of issue
//     not_selected       25 % of issue, with 32 warps an SM; less with fewer, which wait for arithmetic
//     branch_resolving   3 % of issue, no_instruction and dispatch_stall 1 % each
//
// each times the warps that were resident. What the model does not know (writes apart from reads, bank
// conflicts, L1) has no value.
#include "tuner/base/memory.h"
#include "tuner/gpu/emu_stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum reason {
    LONG_SCOREBOARD,
    LG_THROTTLE,
    DRAIN,
    BARRIER,
    SHORT_SCOREBOARD,
    MIO_THROTTLE,
    WAIT,
    SELECTED,
    NOT_SELECTED,
    BRANCH_RESOLVING,
    NO_INSTRUCTION,
    DISPATCH_STALL,
    REASONS
};
// As PC sampling spells them.
static const char *const reason_names[REASONS] = {
    [LONG_SCOREBOARD] = "long_scoreboard",
    [LG_THROTTLE] = "lg_throttle",
    [DRAIN] = "drain",
    [BARRIER] = "barrier",
    [SHORT_SCOREBOARD] = "short_scoreboard",
    [MIO_THROTTLE] = "mio_throttle",
    [WAIT] = "wait",
    [SELECTED] = "selected",
    [NOT_SELECTED] = "not_selected",
    [BRANCH_RESOLVING] = "branch_resolving",
    [NO_INSTRUCTION] = "no_instructions",
    [DISPATCH_STALL] = "dispatch_stall",
};

// --- recording ---------------------------------------------------------------------------------

static void drop_records(st_gpu *gpu)
{
    for (size_t i = 0; i < gpu->record_count; i++)
        st_free(gpu->records[i].sites);
    gpu->record_count = 0;
}

st_code st_emu_profile_begin(st_gpu *gpu, st_error *error)
{
    st_code code = st_emu_drain(gpu, -1, NULL, error);
    drop_records(gpu);
    gpu->profiling = code == ST_OK;
    st_emu_runner_profile(gpu->runner, gpu->profiling);
    st_emu_runner_profile(gpu->other, gpu->profiling);
    return code;
}

void st_emu_profile_end(st_gpu *gpu)
{
    drop_records(gpu);
    st_free(gpu->records);
    gpu->records = NULL;
    gpu->record_capacity = 0;
    gpu->profiling = false;
    st_emu_runner_profile(gpu->runner, false);
    st_emu_runner_profile(gpu->other, false);
}

void st_emu_profile_keep(st_gpu *gpu, st_emu_runner *ran, const st_emu_record *record)
{
    st_emu_record *more =
        st_grow(gpu->records, &gpu->record_capacity, gpu->record_count + 1, sizeof *more);
    if (!more)
        return; // a profile without this launch
    gpu->records = more;
    st_emu_record *made = &more[gpu->record_count++];
    *made = *record;
    size_t count;
    const st_emu_site *sites = st_emu_runner_sites(ran, &count);
    made->sites = count ? st_malloc(count * sizeof *sites) : NULL;
    made->site_count = made->sites ? count : 0;
    if (made->sites)
        memcpy(made->sites, sites, count * sizeof *sites);
    st_emu_runner_profile(ran, true); // the next launch counts anew
}

// --- stalls ------------------------------------------------------------------------------------

static double resident_warps(const st_emu_record *record)
{
    return record->account.warps_per_sm * record->account.sms;
}

// Nanoseconds a warp spends in each, of one launch.
static void split(const st_emu_record *record, double out[REASONS])
{
    const st_emu_account *of = &record->account;
    double warps = of->warps_per_sm, held = fmax(4.0, record->input.held);
    double throttled = of->memory * 0.25 * fmin(1.0, warps / 48) * 4 / held;
    double meetings = of->exchange + of->shared, mio = 0.3 * meetings * fmin(1.0, warps / 16);
    double crowd = 0.25 * of->issue * fmin(1.0, warps / 32);
    memset(out, 0, REASONS * sizeof *out);
    out[LG_THROTTLE] = throttled;
    out[DRAIN] = 0.02 * of->memory;
    out[LONG_SCOREBOARD] = of->memory - throttled - out[DRAIN] + of->atomic;
    out[BARRIER] = of->barrier + of->cluster;
    out[MIO_THROTTLE] = mio;
    out[SHORT_SCOREBOARD] = meetings - mio;
    out[NOT_SELECTED] = crowd;
    out[SELECTED] = 0.2 * of->issue;
    out[WAIT] = 0.75 * of->issue - crowd;
    out[BRANCH_RESOLVING] = 0.03 * of->issue;
    out[NO_INSTRUCTION] = out[DISPATCH_STALL] = 0.01 * of->issue;
}

// The whole run's, times warps.
static double split_all(const st_gpu *gpu, double out[REASONS])
{
    double sum = 0;
    memset(out, 0, REASONS * sizeof *out);
    for (size_t i = 0; i < gpu->record_count; i++) {
        double one[REASONS];
        split(&gpu->records[i], one);
        for (int r = 0; r < REASONS; r++) {
            out[r] += one[r] * resident_warps(&gpu->records[i]);
            sum += one[r] * resident_warps(&gpu->records[i]);
        }
    }
    return sum;
}

static st_code add_line(st_emu_profile *to, const char *function, const char *file, int line,
                        enum reason reason, double samples, st_error *error)
{
    if (samples < 0.5)
        return ST_OK;
    st_emu_line *more = st_grow(to->lines, &to->line_capacity, to->line_count + 1, sizeof *more);
    if (!more)
        return st_fail_memory(error, "profiling on the emulated device");
    to->lines = more;
    more[to->line_count++] = (st_emu_line){.function = function,
                                           .file = file,
                                           .line = line,
                                           .reason = reason_names[reason],
                                           .samples = (uint64_t)(samples + 0.5)};
    return ST_OK;
}

// What waits at barriers and exchanges waits where they stand; the rest is known by its kernel alone.
static st_code add_lines(st_emu_profile *to, const st_emu_record *record, double scale,
                         st_error *error)
{
    double one[REASONS];
    uint64_t total[3] = {0, 0, 0};
    split(record, one);
    scale *= resident_warps(record);
    for (size_t s = 0; s < record->site_count; s++)
        total[record->sites[s].kind] += record->sites[s].count;
    double exchanges = (one[SHORT_SCOREBOARD] + one[MIO_THROTTLE]) * record->account.exchange /
                       fmax(1e-9, record->account.exchange + record->account.shared);
    const double parts[3] = {[ST_EMU_SITE_BARRIER] = record->account.barrier,
                             [ST_EMU_SITE_COLLECTIVE] = exchanges,
                             [ST_EMU_SITE_CLUSTER] = record->account.cluster};
    st_code code = ST_OK;
    for (size_t s = 0; s < record->site_count && code == ST_OK; s++) {
        const st_emu_site *site = &record->sites[s];
        double share = (double)site->count / (double)total[site->kind];
        code = add_line(to, record->kernel, site->file, site->line,
                        site->kind == ST_EMU_SITE_COLLECTIVE ? SHORT_SCOREBOARD : BARRIER,
                        parts[site->kind] * share * scale, error);
    }
    for (int r = 0; r < REASONS && code == ST_OK; r++)
        if (r != BARRIER && r != SHORT_SCOREBOARD && r != MIO_THROTTLE)
            code = add_line(to, record->kernel, "", 0, (enum reason)r, one[r] * scale, error);
    return code;
}

static int most_first(const void *a, const void *b)
{
    const st_emu_line *x = a, *y = b;
    if (x->samples != y->samples)
        return x->samples < y->samples ? 1 : -1;
    int order = strcmp(x->function, y->function);
    order = order ? order : strcmp(x->file, y->file);
    order = order ? order : (x->line > y->line) - (x->line < y->line);
    return order ? order : strcmp(x->reason, y->reason);
}

st_code st_emu_profile_stalls(st_gpu *gpu, uint64_t minimum, st_emu_profile *out, st_error *error)
{
    double ns[REASONS];
    *out = (st_emu_profile){0};
    st_code code = st_emu_drain(gpu, -1, NULL, error);
    double sum = split_all(gpu, ns);
    if (code != ST_OK || !(sum > 0))
        return code;
    double samples = fmin(20000.0, fmax(sum / 50, (double)minimum)); // one each 50 ns of a warp
    double issued = 1 - ns[SELECTED] / sum;
    for (int r = 0; r < REASONS; r++) {
        st_emu_reason *made = &out->reasons[out->reason_count];
        made->name = reason_names[r];
        made->samples = (uint64_t)(ns[r] / sum * samples + 0.5);
        made->samples_not_issued = r == SELECTED ? 0 : (uint64_t)((double)made->samples * issued);
        out->total += made->samples;
        out->reason_count += made->samples > 0;
    }
    for (size_t i = 0; i < gpu->record_count && code == ST_OK; i++)
        code = add_lines(out, &gpu->records[i], samples / sum, error);
    if (code == ST_OK && out->line_count)
        qsort(out->lines, out->line_count, sizeof *out->lines, most_first);
    else if (code != ST_OK)
        st_emu_profile_release(out);
    return code;
}

void st_emu_profile_release(st_emu_profile *profile)
{
    st_free(profile->lines);
    *profile = (st_emu_profile){0};
}

// --- counters ----------------------------------------------------------------------------------

typedef struct sums { // over the launches of a run
    double hit, miss, total, instructions, shared, spilled, warp_ns, sm_ns;
    double clock, bandwidth, sm_count, sectors;
} sums;

static void add_up(const st_gpu *gpu, sums *out)
{
    *out = (sums){.clock = (double)gpu->facts->sm_clock_khz / 1e6,
                  .bandwidth = st_emu_model_bandwidth(gpu->facts),
                  .sm_count = (double)gpu->facts->sm_count};
    for (size_t i = 0; i < gpu->record_count; i++) {
        const st_emu_record *record = &gpu->records[i];
        double busy = record->account.total - record->account.launch,
               bytes = record->input.hit_bytes + record->input.miss_bytes;
        out->hit += record->input.hit_bytes;
        out->miss += record->input.miss_bytes;
        out->total += record->account.total;
        out->instructions += record->account.instructions;
        out->shared += (double)record->counts.shared_uses / 32;
        out->spilled += (double)record->input.spilled / 4 * (double)record->counts.threads / 32;
        out->warp_ns += busy * resident_warps(record);
        out->sm_ns += busy * record->account.sms;
        out->sectors += bytes * fmin(16.0, fmax(4.0, record->input.held / 2.0));
    }
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : NAN;
}

typedef double counter(const sums *of);
static double dram_share(const sums *of)
{
    return ratio(of->miss, of->total * of->bandwidth);
}
static double l2_share(const sums *of)
{
    return ratio(of->hit + of->miss, of->total * of->bandwidth * 3);
}
static double memory_share(const sums *of)
{
    return fmax(dram_share(of), l2_share(of));
}
static double dram_read(const sums *of)
{
    return of->miss;
}
static double dram_speed(const sums *of)
{
    return ratio(of->miss, of->total / 1e9);
}
static double l2_hits(const sums *of)
{
    return ratio(of->hit, of->hit + of->miss);
}
static double l2_bytes(const sums *of)
{
    return of->hit + of->miss;
}
static double sectors(const sums *of)
{
    return ratio(of->sectors, of->hit + of->miss);
}
static double spills(const sums *of)
{
    return of->spilled;
}
static double wavefronts(const sums *of)
{
    return of->shared;
}
static double issue_active(const sums *of)
{
    return fmin(1.0, ratio(of->instructions, 4 * of->clock * of->sm_ns));
}
static double ipc(const sums *of)
{
    return 4 * issue_active(of);
}
static double instructions(const sums *of)
{
    return of->instructions;
}
static double per_issue(const sums *of)
{
    return ratio(of->warp_ns * of->clock, of->instructions);
}
static double warps_active(const sums *of)
{
    return ratio(of->warp_ns, of->sm_ns) / 4;
}
static double occupancy(const sums *of)
{
    return ratio(of->warp_ns, of->sm_ns) / 64;
}
static double sm_busy(const sums *of)
{
    return ratio(of->sm_ns, of->total * of->sm_count);
}

// To add one: a row; the names are those of the table of metrics.
static const struct {
    const char *name;
    counter *value;
} counters[] = {
    {"dram_throughput", dram_share},
    {"dram_bytes_read", dram_read},
    {"dram_bandwidth", dram_speed},
    {"memory_throughput", memory_share},
    {"l2_throughput", l2_share},
    {"l2_hit_rate", l2_hits},
    {"l2_bytes", l2_bytes},
    {"load_sectors_per_request", sectors},
    {"local_loads", spills},
    {"local_stores", spills},
    {"shared_wavefronts", wavefronts},
    {"issue_active", issue_active},
    {"ipc", ipc},
    {"instructions", instructions},
    {"cycles_per_instruction", per_issue},
    {"warps_per_issue", per_issue},
    {"warps_active", warps_active},
    {"occupancy", occupancy},
    {"sm_throughput", issue_active},
    {"sm_busy", sm_busy},
};

// "stall.NAME": warps that wait for it at each issued instruction.
static double stall_ratio(const st_gpu *gpu, const sums *of, const char *name)
{
    double ns[REASONS], sum = split_all(gpu, ns);
    for (int r = 0; r < REASONS; r++)
        if (strcmp(reason_names[r], name) == 0 ||
            (r == NO_INSTRUCTION && strcmp(name, "no_instruction") == 0))
            return ratio(ns[r], sum) * per_issue(of);
    return NAN;
}

st_code st_emu_profile_counter(st_gpu *gpu, const char *name, double *value, st_error *error)
{
    static const char stall[] = "stall.";
    st_code code = st_emu_drain(gpu, -1, NULL, error);
    sums of;
    *value = NAN;
    if (code != ST_OK)
        return code;
    add_up(gpu, &of);
    if (strncmp(name, stall, sizeof stall - 1) == 0)
        *value = stall_ratio(gpu, &of, name + sizeof stall - 1);
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++)
        if (strcmp(counters[i].name, name) == 0)
            *value = counters[i].value(&of);
    return ST_OK;
}
