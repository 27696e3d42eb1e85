// SPDX-License-Identifier: Apache-2.0
// The world that a generated store tells of. Nothing here was measured. Invariants: 1. only + - * / on doubles and a
// seeded generator, so that every machine makes the same rows; 2. every parameter has an effect, and one driver makes one
// family slower on purpose (slow_driver, slow_family), so that questions have answers.
#include "db/generate_internal.h"

#include <math.h>
#include <stdio.h>

static const int slow_driver = 4, slow_family = 1; // scan

static const char *const families[ST_WORLD_FAMILIES] = {"reduce", "scan", "compact", "segreduce"};

static const struct {
    int cc, sm_count, l2_mib, memory_gib;
    double read_gbs;
} devices[ST_WORLD_DEVICES] = {
    {80, 108, 40, 40, 1380},   {86, 84, 6, 48, 690},     {89, 128, 72, 24, 920},
    {90, 132, 50, 80, 3050},   {90, 132, 60, 141, 4300}, {100, 148, 126, 180, 7200},
    {120, 188, 128, 96, 1600}, {75, 40, 4, 16, 260},
};

static const char *const drivers[ST_WORLD_DRIVERS] = {"535.104.05", "550.54.15", "560.35.03",
                                                      "570.86.10",  "575.51.03", "580.65.06"};

const char *st_world_family(int family)
{
    return families[family];
}

void st_world_device(int device, st_device_row *row)
{
    *row = (st_device_row){.cc = devices[device].cc,
                           .sm_count = devices[device].sm_count,
                           .memory_bytes = (int64_t)devices[device].memory_gib << 30,
                           .l2_bytes = (int64_t)devices[device].l2_mib << 20,
                           .read_gbs = devices[device].read_gbs,
                           .copy_gbs = devices[device].read_gbs * 0.9};
    snprintf(row->uuid, sizeof row->uuid, "GEN-00000000-0000-0000-0000-%012d", device + 1);
    snprintf(row->name, sizeof row->name, "Generated GPU %c", 'A' + device);
    snprintf(row->backend, sizeof row->backend, "%s", ST_GENERATED_BACKEND);
    snprintf(row->pci, sizeof row->pci, "0000:%02x:00.0", device + 1);
}

void st_world_toolchain(int driver, st_toolchain_row *row)
{
    *row = (st_toolchain_row){.driver_cuda = 12000 + 200 * driver};
    snprintf(row->driver, sizeof row->driver, "%s", drivers[driver]);
    snprintf(row->compiler, sizeof row->compiler, "nvrtc 12.%d", 2 * driver);
    snprintf(row->tool, sizeof row->tool, "generated");
}

// --- problems ----------------------------------------------------------------------------------------------
static const char *const types[4] = {"f32", "f64", "i32", "u64"};
static const int type_bytes[4] = {4, 8, 4, 8};
static const char *const operations[2] = {"sum", "max"};

static int64_t elements(int size)
{
    return (int64_t)65536 << (4 * size);
}

void st_world_problem(int group, int size, char *text, size_t capacity, const char **type,
                      const char **operation, int64_t *n)
{
    *type = types[group / 2];
    *operation = operations[group % 2];
    *n = elements(size);
    snprintf(text, capacity, "T=%s op=%s n=%lld", *type, *operation, (long long)*n);
}

double st_world_bytes(const st_world_place *place)
{
    static const double passes[ST_WORLD_FAMILIES] = {1, 2, 1.5, 1.25};
    return (double)elements(place->size) * type_bytes[place->group / 2] * passes[place->family];
}

// --- configurations ----------------------------------------------------------------------------------------
static const char *const finishes[3] = {"two_pass", "cluster", "ticket"};

void st_world_configurations(st_world_configuration out[ST_WORLD_CONFIGURATIONS])
{
    size_t count = 0;
    for (int finish = 0; finish < 3; finish++)
        for (int block = 256; block != 128; block = block == 1024 ? 128 : block * 2)
            for (int vec = 1; vec <= 4; vec *= 2)
                for (int unroll = 1; unroll <= 16; unroll *= 2)
                    for (int acc = 1; acc <= 8 && acc <= unroll; acc *= 2)
                        out[count++] = (st_world_configuration){block, vec, unroll, acc, finish};
    for (int finish = 0; finish < 3; finish++)
        for (int vec = 1; vec <= 4; vec *= 2)
            for (int unroll = 1; unroll <= 16; unroll *= 2)
                for (int acc = 1; acc <= 8 && acc <= unroll; acc *= 2)
                    out[count++] = (st_world_configuration){128, vec, unroll, acc, finish};
}

void st_world_configuration_text(const st_world_configuration *configuration, char *text,
                                 size_t capacity)
{
    snprintf(text, capacity, "BLOCK=%d VEC=%d UNROLL=%d ACC=%d FINISH=%s", configuration->block,
             configuration->vec, configuration->unroll, configuration->acc,
             finishes[configuration->finish]);
}

// --- times -------------------------------------------------------------------------------------------------
// How many doublings lie between two powers of 2.
static int doublings(int a, int b)
{
    int count = 0;
    for (; a < b; a *= 2)
        count++;
    for (; b < a; b *= 2)
        count++;
    return count;
}

double st_world_time_ns(const st_world_place *place, const st_world_configuration *configuration)
{
    int best_block = 128 << ((place->device + place->family) % 4);
    int best_unroll = 1 << ((place->device + place->size) % 5);
    double worse = 0.04 * doublings(configuration->block, best_block) +
                   0.05 * doublings(configuration->unroll, best_unroll) +
                   0.09 * doublings(configuration->vec, 4) +
                   0.02 * doublings(configuration->acc, 4) +
                   0.03 * ((configuration->finish + place->device + place->size) % 3);
    double driver = 1 + 0.003 * ((place->driver * 7 + place->family * 3) % 5);
    if (place->driver == slow_driver && place->family == slow_family)
        driver += 0.08;
    double memory_ns = st_world_bytes(place) / devices[place->device].read_gbs;
    return 2000 + memory_ns * 1.08 * (1 + worse) * driver * (place->new_template ? 0.98 : 1);
}

// The sum of uniform numbers stands for a normal one: no function whose last digit depends on the library.
static double noise(st_random *random)
{
    return st_random_unit(random) + st_random_unit(random) + st_random_unit(random) - 1.5;
}

double st_world_sample(st_random *random, double time_ns)
{
    double sample = time_ns * (1 + 0.008 * noise(random));
    return st_random_below(random, 64) ? sample : sample * (1.05 + 0.2 * st_random_unit(random));
}

const char *st_world_outcome(st_random *random, const char **detail)
{
    static const struct {
        const char *outcome, *detail;
        int per_mille;
    } failures[] = {
        {"wrong", "out[0] is 12, should be 13\n1 of 1 differ", 8},
        {"race", "a race on the shared `partial`", 3},
        {"compile", "error: ptxas needs too much shared memory", 12},
        {"launch", "too many resources requested for launch", 6},
        {"crash", "an illegal memory access was encountered", 4},
        {"timeout", "no answer within 10 s", 2},
        {"constraint", NULL, 10},
        {"skipped", NULL, 5},
    };
    int at = (int)st_random_below(random, 1000);
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        at -= failures[i].per_mille;
        *detail = failures[i].detail;
        if (at < 0)
            return failures[i].outcome;
    }
    *detail = NULL;
    return "correct";
}

// --- counters ----------------------------------------------------------------------------------------------
static const char *const pc_names[ST_WORLD_COUNTERS] = {"stall.long_scoreboard",
                                                        "stall.wait",
                                                        "stall.short_scoreboard",
                                                        "stall.barrier",
                                                        "stall.lg_throttle",
                                                        "stall.mio_throttle",
                                                        "stall.math_pipe_throttle",
                                                        "stall.membar",
                                                        "stall.branch_resolving",
                                                        "stall.dispatch_stall",
                                                        "stall.drain",
                                                        "stall.gmma",
                                                        "stall.imc_miss",
                                                        "stall.misc",
                                                        "stall.no_instruction",
                                                        "stall.not_selected",
                                                        "stall.selected",
                                                        "stall.sleeping",
                                                        "stall.tex_throttle",
                                                        "stall_samples"};
static const char *const range_names[ST_WORLD_COUNTERS] = {
    "dram_throughput",       "occupancy",      "sm_throughput",
    "memory_throughput",     "l1_throughput",  "l2_throughput",
    "l1_hit_rate",           "l2_hit_rate",    "ipc",
    "issue_active",          "dram_bandwidth", "dram_bytes_read",
    "dram_bytes_written",    "instructions",   "branches",
    "eligible_warps",        "warps_active",   "cycles_per_instruction",
    "shared_load_conflicts", "local_loads"};

const char *const *st_world_counter_names(bool exact)
{
    return exact ? range_names : pc_names;
}

// Shares of stall samples that sum to 1: what waits for memory grows with the loads in flight that are missing.
static void stall_shares(st_random *random, const st_world_configuration *configuration,
                         double values[ST_WORLD_COUNTERS])
{
    int in_flight = configuration->vec * configuration->unroll;
    double sum = 0;
    for (int i = 0; i < ST_WORLD_COUNTERS - 1; i++) {
        double share = st_random_unit(random) / (1 + i);
        if (i == 0)
            share += in_flight >= 16 ? 0.5 : 4.0 / in_flight;
        values[i] = share;
        sum += share;
    }
    for (int i = 0; i < ST_WORLD_COUNTERS - 1; i++)
        values[i] /= sum;
    values[ST_WORLD_COUNTERS - 1] = (double)(2000 + st_random_below(random, 8000));
}

void st_world_counters(st_random *random, bool exact, const st_world_configuration *configuration,
                       double slow, double values[ST_WORLD_COUNTERS])
{
    if (!exact) {
        stall_shares(random, configuration, values);
        return;
    }
    for (int i = 0; i < ST_WORLD_COUNTERS; i++) {
        double value = st_random_unit(random);
        values[i] = i < 8    ? (0.5 + 0.4 * value) / slow // shares
                    : i == 8 ? value * 4
                    : i == 9 ? value
                    : i < 15 ? floor(value * 1e9) // bytes, instructions
                             : value * 16;
    }
    values[ST_WORLD_COUNTERS - 1] =
        st_random_below(random, 50) ? 0 : NAN; // now and then one is unknown
}
