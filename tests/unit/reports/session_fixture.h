// SPDX-License-Identifier: Apache-2.0
// A store with fixed values, made through db/store.h alone: for the tests of reports and of the command line.
//   reduce on an H200: 64Ki won clearly (counters of winner and default), 256Mi won by a tie (range counters
//   only), 1Mi without a winner; one candidate for each way to fail.
//   scale on an H200: one small problem, its template's text kept, so that headers and repros can be made.
#ifndef SIMTUNE_TESTS_SESSION_FIXTURE_H
#define SIMTUNE_TESTS_SESSION_FIXTURE_H

#include "db/store.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FIXTURE __attribute__((unused)) static

typedef struct fixture_candidate {
    const char *configuration, *outcome, *detail;
    double cold_ns, warm_ns;  // NaN: not measured so
    int registers;
    double occupancy;
} fixture_candidate;

typedef struct fixture_session {
    st_store *store;
    st_session_row row;
    int64_t problem;
    int64_t candidates[16];
    size_t count;
} fixture_session;

FIXTURE st_device_row fixture_device(void)
{
    st_device_row row = {.cc = 90, .sm_count = 132, .memory_bytes = 150754820096, .l2_bytes = 62914560,
                         .read_gbs = 4600, .copy_gbs = 4260};
    snprintf(row.uuid, sizeof row.uuid, "GPU-00000000-1111-2222-3333-444444444444");
    snprintf(row.name, sizeof row.name, "NVIDIA H200");
    snprintf(row.backend, sizeof row.backend, "cuda");
    return row;
}

// `texts` as st_store_template takes them.
FIXTURE st_code fixture_begin(st_store *store, const char *family, const char *hash, const char *texts,
                              const char *command, fixture_session *out, st_error *error)
{
    st_device_row device = fixture_device();
    st_toolchain_row toolchain = {.driver_cuda = 13000};
    snprintf(toolchain.driver, sizeof toolchain.driver, "580.159.04");
    snprintf(toolchain.compiler, sizeof toolchain.compiler, "nvrtc 13.0");
    snprintf(toolchain.tool, sizeof toolchain.tool, "0.1.0");
    *out = (fixture_session){.store = store};
    st_session_row *row = &out->row;
    row->command = (char *)(uintptr_t)command;
    row->options_json = (char *)(uintptr_t)"{\"seed\":1,\"strategy\":\"exhaustive\"}";
    row->finished_ms = -1;
    snprintf(row->family, sizeof row->family, "%s", family);
    snprintf(row->resume_key, sizeof row->resume_key, "resume-%s", family);
    st_code code = st_store_device(store, &device, &row->device_key, error);
    if (code == ST_OK)
        code = st_store_toolchain(store, &toolchain, &row->toolchain_key, error);
    if (code == ST_OK)
        code = st_store_template(store, family, hash, texts, &row->template_key, error);
    return code == ST_OK ? st_store_session_begin(store, row, error) : code;
}

FIXTURE st_code fixture_measure(fixture_session *to, int64_t candidate, const char *cache, double ns,
                                st_error *error)
{
    double samples[12];
    for (int i = 0; i < 12; i++)
        samples[i] = ns * (1 + 0.001 * (i - 6)); // the median stands just below ns
    st_measurement_row row = {.candidate_key = candidate, .samples_ns = samples, .sample_count = 12,
                              .median_ns = ns, .sm_clock_mhz = 1980, .memory_clock_mhz = 3201,
                              .temperature_c = 41, .power_mw = 300000, .throttle_reasons = 0, .dropped = 0,
                              .batch = 1, .tick_ns = 32, .taken_ms = 1790000000000};
    snprintf(row.phase, sizeof row.phase, "finals");
    snprintf(row.cache, sizeof row.cache, "%s", cache);
    return st_store_measurement(to->store, &row, error);
}

FIXTURE st_code fixture_candidates(fixture_session *to, const char *problem, const char *type,
                                   const char *operation, int64_t n, const fixture_candidate *rows,
                                   size_t count, st_error *error)
{
    st_code code = st_store_problem(to->store, to->row.family, problem, type, operation, n, &to->problem, error);
    to->count = 0;
    for (size_t i = 0; i < count && code == ST_OK; i++) {
        st_candidate_row row = {.session_key = to->row.key, .problem_key = to->problem,
                                .detail = (char *)(uintptr_t)rows[i].detail, .registers = rows[i].registers,
                                .local_bytes = 0, .static_smem = 128, .dynamic_smem = 0, .blocks_per_sm = 4,
                                .occupancy = rows[i].occupancy, .deterministic = 1, .compile_seconds = 0.025};
        if (rows[i].registers < 0)
            row.local_bytes = row.static_smem = row.dynamic_smem = row.blocks_per_sm = row.deterministic = -1;
        snprintf(row.outcome, sizeof row.outcome, "%s", rows[i].outcome);
        code = st_store_configuration(to->store, to->row.family, rows[i].configuration, &row.configuration_key,
                                      error);
        if (code == ST_OK)
            code = st_store_candidate(to->store, &row, error);
        to->candidates[to->count++] = row.key;
        if (code == ST_OK && !isnan(rows[i].cold_ns))
            code = fixture_measure(to, row.key, "cold", rows[i].cold_ns, error);
        if (code == ST_OK && !isnan(rows[i].warm_ns))
            code = fixture_measure(to, row.key, "warm", rows[i].warm_ns, error);
    }
    return code;
}

FIXTURE st_code fixture_winner(fixture_session *to, const char *cache, size_t winner, int standard,
                               double winner_ns, double standard_ns, double low, double high, int tied,
                               double bytes, st_error *error)
{
    st_winner_row row = {.session_key = to->row.key, .problem_key = to->problem,
                         .winner_key = to->candidates[winner],
                         .default_key = standard < 0 ? -1 : to->candidates[standard],
                         .winner_ns = winner_ns, .default_ns = standard < 0 ? NAN : standard_ns,
                         .speedup = standard < 0 ? NAN : standard_ns / winner_ns, .speedup_low = low,
                         .speedup_high = high, .tied = tied,
                         .ties_json = (char *)(uintptr_t)"[]", .bytes = bytes,
                         .note = tied > 1 ? (char *)(uintptr_t)"this one has the fewest registers" : NULL};
    snprintf(row.cache, sizeof row.cache, "%s", cache);
    return st_store_winner(to->store, &row, error);
}

FIXTURE st_code fixture_counters(fixture_session *to, size_t candidate, const char *kind, const char *first,
                                 double first_value, const char *second, double second_value,
                                 const char *third, double third_value, st_error *error)
{
    const char *const names[] = {first, second, third};
    const double values[] = {first_value, second_value, third_value};
    return st_store_counters(to->store, to->candidates[candidate], kind, names, values, third ? 3 : 2, 0.02,
                             error);
}

FIXTURE st_code fixture_end(fixture_session *to, const char *counters, st_error *error)
{
    char facts[256];
    snprintf(facts, sizeof facts,
             "{\"counters\":\"%s\",\"throttled_samples\":3,\"other_processes\":0,\"seconds\":12.5,"
             "\"outcomes\":{\"correct\":4}}",
             counters);
    return st_store_session_end(to->store, to->row.key, ST_SESSION_FINISHED, facts, error);
}

#define FIXTURE_SMALL "T=f32 op=sum n=65536"
#define FIXTURE_BROKEN "T=f32 op=sum n=1048576"
#define FIXTURE_LARGE "T=f32 op=sum n=268435456"

// The session on reduction.
FIXTURE st_code fixture_reduce(st_store *store, fixture_session *s, st_error *error)
{
    static const fixture_candidate small[] = {
        {"BLOCK=256 VEC=1 UNROLL=1 ACC=1 FINISH=two_pass", "correct", NULL, 16000, 14000, 20, 1},
        {"BLOCK=512 VEC=4 UNROLL=8 ACC=4 FINISH=cluster", "correct", NULL, 4600, 4100, 40, 0.75},
        {"BLOCK=512 VEC=4 UNROLL=8 ACC=1 FINISH=cluster", "correct", NULL, 5200, 4600, 32, 0.75},
        {"BLOCK=512 VEC=4 UNROLL=1 ACC=1 FINISH=ticket", "wrong", "out[0] is 12, should be 13\n1 of 1 differ",
         NAN, NAN, 24, 1},
        {"BLOCK=1024 VEC=4 UNROLL=16 ACC=8 FINISH=atomic", "crash", "an illegal memory access was encountered",
         NAN, NAN, 96, 0.5},
        {"BLOCK=1024 VEC=8 UNROLL=16 ACC=8 FINISH=atomic", "constraint", NULL, NAN, NAN, -1, NAN}};
    static const fixture_candidate broken[] = {
        {"BLOCK=256 VEC=1 UNROLL=1 ACC=1 FINISH=two_pass", "compile",
         "reduce.cu(12): error: identifier \"foo\" is undefined", NAN, NAN, -1, NAN}};
    static const fixture_candidate large[] = {
        {"BLOCK=256 VEC=1 UNROLL=1 ACC=1 FINISH=two_pass", "correct", NULL, 235000, 235000, 20, 1},
        {"BLOCK=512 VEC=4 UNROLL=8 ACC=4 FINISH=two_pass", "correct", NULL, 234500, 234800, 40, 0.75}};
    st_code code = fixture_begin(store, "reduce", "0123456789abcdef0123456789abcdef", "{\"reduce.cu\":\"int x;\"}",
                                 "simtune reduce --arch auto", s, error);
    if (code == ST_OK)
        code = fixture_candidates(s, FIXTURE_SMALL, "f32", "sum", 65536, small, 6, error);
    if (code == ST_OK)
        code = fixture_winner(s, "cold", 1, 0, 4600, 16000, 3.4512, 3.5021, 1, 262148, error);
    if (code == ST_OK)
        code = fixture_winner(s, "warm", 1, 0, 4100, 14000, 3.39, 3.44, 1, 262148, error);
    if (code == ST_OK)
        code = fixture_counters(s, 1, "pc", "stall.long_scoreboard", 0.46, "stall.selected", 0.3,
                                "stall_samples", 2400, error);
    if (code == ST_OK)
        code = fixture_counters(s, 1, "range", "dram_throughput", 0.21, "occupancy", 0.7, NULL, 0, error);
    if (code == ST_OK)
        code = fixture_counters(s, 0, "pc", "stall.barrier", 0.51, "stall.long_scoreboard", 0.4,
                                "stall_samples", 2100, error);
    if (code == ST_OK)
        code = fixture_counters(s, 0, "range", "dram_throughput", 0.06, "occupancy", NAN, NULL, 0, error);
    if (code == ST_OK)
        code = fixture_candidates(s, FIXTURE_BROKEN, "f32", "sum", 1048576, broken, 1, error);
    if (code == ST_OK)
        code = fixture_candidates(s, FIXTURE_LARGE, "f32", "sum", 268435456, large, 2, error);
    if (code == ST_OK)
        code = fixture_winner(s, "cold", 0, 0, 235000, 235000, 1, 1, 2, 1073741828, error);
    if (code == ST_OK)
        code = fixture_counters(s, 0, "range", "stall.long_scoreboard", 90, "stall.wait", 10,
                                "dram_throughput", 0.93, error);
    return code == ST_OK ? fixture_end(s, "allowed", error) : code;
}

// A session on a template whose text is kept. `hash` and `texts` are of tests/cli/data/scale.cu.
FIXTURE st_code fixture_scale(st_store *store, const char *hash, const char *texts, fixture_session *s,
                              st_error *error)
{
    static const fixture_candidate rows[] = {
        {"BLOCK=128 ITEMS=1", "correct", NULL, 9000, 8000, 16, 1},
        {"BLOCK=256 ITEMS=4", "correct", NULL, 6000, 5000, 24, 1}};
    st_code code = fixture_begin(store, "scale", hash, texts, "simtune tune scale.cu", s, error);
    if (code == ST_OK)
        code = fixture_candidates(s, "n=1048576", NULL, NULL, 1048576, rows, 2, error);
    if (code == ST_OK)
        code = fixture_winner(s, "cold", 1, 0, 6000, 9000, 1.49, 1.51, 1, 8388608, error);
    if (code == ST_OK)
        code = fixture_winner(s, "warm", 1, 0, 5000, 8000, 1.58, 1.61, 1, 8388608, error);
    return code == ST_OK ? fixture_end(s, "denied", error) : code;
}

#endif
