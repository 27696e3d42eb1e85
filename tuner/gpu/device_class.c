// SPDX-License-Identifier: Apache-2.0
// Invariants: 1. every cc of `devices` stands in `limits`; 2. `limits` is sorted by cc; 3. rows of
// one cc stand together, its reference first, products of one class most common first.
#include "tuner/gpu/device_class.h"

#include "tuner/base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability". Every one
// has warps of 32, blocks of at most 1024 threads and 65536 registers an SM; from 8.0 on the system
// takes 1 KiB of shared memory of each block; clusters exist from 9.0 on (8 blocks without opting
// in). To add one: a row. Reviewed against the guide of CUDA 13.0.
static const struct {
    int cc, threads_per_sm, max_blocks_per_sm, smem_per_sm_kib, smem_per_block_kib;
} limits[] = {
    {70, 2048, 32, 96, 96},    {72, 2048, 32, 96, 96},    {75, 1024, 16, 64, 64},
    {80, 2048, 32, 164, 163},  {86, 1536, 16, 100, 99},   {87, 1536, 16, 164, 163},
    {89, 1536, 24, 100, 99},   {90, 2048, 32, 228, 227},  {100, 2048, 32, 228, 227},
    {103, 2048, 32, 228, 227}, {110, 1536, 24, 228, 227}, {120, 1536, 24, 100, 99},
    {121, 1536, 24, 100, 99},
};
#define LIMIT_COUNT (sizeof limits / sizeof limits[0])

// Sources: NVIDIA's data sheets of the products (memory, bandwidth) and architecture white papers
// (SMs, L2, bus, boost clock); L2 of the H200 is what CUDA reports there. To add one: a row in its
// place.
static const st_known_device devices[] = {
    // name                cc  SMs  GiB  GB/s    L2  bus  MHz
    {"V100-SXM2-16GB",     70,  80,  16,  900,    6, 4096, 1530},
    {"V100-SXM2-32GB",     70,  80,  32,  900,    6, 4096, 1530},
    {"T4",                 75,  40,  16,  320,    4,  256, 1590},
    {"GeForce RTX 2080 Ti",75,  68,  11,  616,   -1,  352, 1545},
    {"Quadro RTX 6000",    75,  72,  24,  672,    6,  384, 1770},
    {"A100-SXM4-80GB",     80, 108,  80, 2039,   40, 5120, 1410},
    {"A100-SXM4-40GB",     80, 108,  40, 1555,   40, 5120, 1410},
    {"A30",                80,  56,  24,  933,   24, 3072, 1440},
    {"GeForce RTX 3090",   86,  82,  24,  936,    6,  384, 1695},
    {"GeForce RTX 3080",   86,  68,  10,  760,    5,  320, 1710},
    {"A10",                86,  72,  24,  600,    6,  384, 1695},
    {"RTX A6000",          86,  84,  48,  768,    6,  384, 1800},
    {"A40",                86,  84,  48,  696,    6,  384, 1740},
    {"Jetson AGX Orin 64GB", 87, 16, 64,  204.8,  4,  256, 1300},
    {"GeForce RTX 4090",   89, 128,  24, 1008,   72,  384, 2520},
    {"L4",                 89,  58,  24,  300,   48,  192, 2040},
    {"L40S",               89, 142,  48,  864,   96,  384, 2520},
    {"L40",                89, 142,  48,  864,   96,  384, 2490},
    {"RTX 6000 Ada Generation", 89, 142, 48, 960, 96, 384, 2505},
    {"H100 80GB HBM3",     90, 132,  80, 3352,   50, 5120, 1980},
    {"H200",               90, 132, 141, 4800,   60, 6144, 1980},
    {"GH200 96GB HBM3",    90, 132,  96, 4000,   -1, 6144, 1980},
    {"GH200 144GB HBM3e",  90, 132, 144, 4900,   -1, 6144, 1980},
    {"H100 NVL",           90, 132,  94, 3938,   50, 6016, 1785},
    {"H100 PCIe",          90, 114,  80, 2039,   50, 5120, 1755},
    {"H20",                90,  78,  96, 4000,   -1, 6144, 1980},
    {"B200",              100, 148, 180, 8000,   -1, 8192, -1},
    {"GB200",             100, 152, 186, 8000,   -1, 8192, -1},
    {"GeForce RTX 5090",  120, 170,  32, 1792,   96,  512, 2407},
    {"GeForce RTX 5080",  120,  84,  16,  960,   64,  256, 2617},
    {"RTX PRO 6000 Blackwell", 120, 188, 96, 1792, 128, 512, -1},
    {"GB10",              121,  48, 128,  273,   -1,  256, -1},
};
#define DEVICE_COUNT (sizeof devices / sizeof devices[0])

const st_known_device *st_known_devices(size_t *count)
{
    *count = DEVICE_COUNT;
    return devices;
}

const st_known_device *st_known_device_find(st_device_class device_class, int64_t memory_bytes)
{
    const st_known_device *best = NULL;
    int64_t best_distance = 0;
    for (size_t i = 0; i < DEVICE_COUNT; i++) {
        if (devices[i].cc != device_class.cc)
            continue;
        if (device_class.sm_count > 0 && devices[i].sm_count != device_class.sm_count)
            continue;
        int64_t distance = memory_bytes < 0 ? 0 : llabs(((int64_t)devices[i].memory_gib << 30) -
                                                        memory_bytes);
        if (!best || distance < best_distance) {
            best = &devices[i];
            best_distance = distance;
        }
    }
    return best;
}

// --- facts ---------------------------------------------------------------------------------------
static int limits_of(int cc)
{
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        if (limits[i].cc == cc)
            return (int)i;
    return -1;
}

static st_code fail_unknown(const char *what, st_error *error)
{
    char known[256] = "";
    size_t at = 0;
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        at +=
            (size_t)snprintf(known + at, sizeof known - at, "%ssm_%d", i ? " " : "", limits[i].cc);
    char remedy[400];
    snprintf(remedy, sizeof remedy, "known are: %s, each with or without a number of SMs as in "
                                    "sm_90/132",
             known);
    return st_fail(error, ST_USAGE, remedy, "unknown arch %s", what);
}

static void take_known(const st_known_device *known, st_device_facts *facts)
{
    snprintf(facts->name, sizeof facts->name, "NVIDIA %s", known->name);
    facts->sm_count = known->sm_count;
    facts->memory_bytes = (int64_t)known->memory_gib << 30;
    facts->memory_bus_bits = known->bus_bits;
    if (known->l2_mib > 0)
        facts->l2_bytes = (int64_t)known->l2_mib << 20;
    if (known->sm_clock_mhz > 0)
        facts->sm_clock_khz = (int64_t)known->sm_clock_mhz * 1000;
}

st_code st_device_class_facts(st_device_class device_class, int64_t memory_bytes,
                              st_device_facts *facts, st_error *error)
{
    *facts = (st_device_facts){.backend = "cuda", .driver_cuda = -1, .ordinal = -1};
#define X(field, name, unit, meaning) facts->field = -1;
    ST_DEVICE_FACTS(X)
#undef X
    int row = limits_of(device_class.cc);
    if (row < 0) {
        char name[32];
        snprintf(name, sizeof name, "sm_%d", device_class.cc);
        return fail_unknown(name, error);
    }
    facts->cc = device_class.cc;
    facts->sm_count = device_class.sm_count > 0 ? device_class.sm_count : -1;
    facts->warp_size = 32;
    facts->max_threads_per_block = 1024;
    facts->threads_per_sm = limits[row].threads_per_sm;
    facts->max_blocks_per_sm = limits[row].max_blocks_per_sm;
    facts->registers_per_sm = 65536;
    facts->smem_per_block = (int64_t)limits[row].smem_per_block_kib << 10;
    facts->smem_per_sm = (int64_t)limits[row].smem_per_sm_kib << 10;
    facts->smem_reserved = device_class.cc >= 80 ? 1024 : 0;
    facts->max_cluster = device_class.cc >= 90 ? 8 : 1;
    const st_known_device *known = st_known_device_find(device_class, memory_bytes);
    if (known)
        take_known(known, facts);
    else
        snprintf(facts->name, sizeof facts->name, "a device of sm_%d", device_class.cc);
    if (memory_bytes >= 0)
        facts->memory_bytes = memory_bytes;
    return ST_OK;
}

// --- names ---------------------------------------------------------------------------------------
// "90" or "90a" or "9.0" → 90; 0 when it is not a number of that form.
static int parse_cc(const char *text, const char **rest)
{
    char *end = NULL;
    if (!isdigit((unsigned char)text[0]))
        return 0;
    long number = strtol(text, &end, 10);
    if (number > 1000)
        return 0;
    if (*end == '.') {
        if (!isdigit((unsigned char)end[1]))
            return 0;
        number = number * 10 + (end[1] - '0');
        end += 2;
    } else if (*end == 'a' || *end == 'f') {
        end++; // features of one arch or family: the device is the same
    }
    *rest = end;
    return (int)number;
}

st_code st_device_class_parse(const char *text, st_device_class *out, st_error *error)
{
    const char *rest = text;
    if (st_text_starts(text, "sm_"))
        rest += strlen("sm_");
    else if (st_text_starts(text, "compute_"))
        rest += strlen("compute_");
    *out = (st_device_class){.sm_count = -1};
    int cc = parse_cc(rest, &rest);
    if (limits_of(cc) < 0)
        return fail_unknown(text, error);
    if (*rest == '/') {
        char *end = NULL;
        long count = isdigit((unsigned char)rest[1]) ? strtol(rest + 1, &end, 10) : 0;
        if (count < 1 || count > 10000)
            return fail_unknown(text, error);
        out->sm_count = (int)count;
        rest = end;
    }
    if (*rest)
        return fail_unknown(text, error);
    out->cc = cc;
    return ST_OK;
}
