// SPDX-License-Identifier: Apache-2.0
// A store with several sessions of fixed times, made through db/store.h: for the tests of comparisons and of the
// history, and of the command line. Each session is of one driver, template and device, and has one winner a problem,
// whose samples scatter by a known amount around a known time.
#ifndef SIMTUNE_TESTS_DB_HISTORY_FIXTURE_H
#define SIMTUNE_TESTS_DB_HISTORY_FIXTURE_H

#include "db/compare.h"
#include "db/store_internal.h"
#include "tuner/base/statistics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define HISTORY __attribute__((unused)) static

// What a session is made of. NULL: the usual.
typedef struct history_session {
    const char *family, *driver, *compiler, *tool, *template_hash, *device, *uuid, *options;
    int64_t ended_ms;
    // filled by history_begin
    st_store *store;
    st_session_row row;
} history_session;

typedef struct history_problem {
    int64_t n;
    const char *configuration, *cache;
    double ns, default_ns;
    double scatter;     // standard deviation as a share of the time
    int samples, clock; // 0: 60, 1980
    double long_scoreboard, barrier, dram; // of the counters; 0: none
    uint64_t seed;
    const char *outcome; // NULL: correct, with a winner
    int64_t winner_key;  // filled
} history_problem;

HISTORY double history_gauss(st_random *random)
{
    double radius = sqrt(-2 * log(1 - st_random_unit(random)));
    return radius * cos(6.283185307179586 * st_random_unit(random));
}

HISTORY const char *history_or(const char *text, const char *usual)
{
    return text ? text : usual;
}

HISTORY st_code history_begin(st_store *store, history_session *s, st_error *error)
{
    st_device_row device = {.cc = 90, .sm_count = 132, .memory_bytes = 150754820096, .l2_bytes = 62914560,
                            .read_gbs = 4600, .copy_gbs = 4260};
    snprintf(device.uuid, sizeof device.uuid, "%s", history_or(s->uuid, "GPU-00000000-1111-2222-3333-444444444444"));
    snprintf(device.name, sizeof device.name, "%s", history_or(s->device, "NVIDIA H200"));
    snprintf(device.backend, sizeof device.backend, "cuda");
    if (s->device && strstr(s->device, "A100"))
        device.cc = 80, device.sm_count = 108;
    st_toolchain_row toolchain = {.driver_cuda = 13000};
    snprintf(toolchain.driver, sizeof toolchain.driver, "%s", history_or(s->driver, "570.124.06"));
    snprintf(toolchain.compiler, sizeof toolchain.compiler, "%s", history_or(s->compiler, "nvrtc 13.0"));
    snprintf(toolchain.tool, sizeof toolchain.tool, "%s", history_or(s->tool, "0.1.0"));
    s->store = store;
    st_session_row *row = &s->row;
    *row = (st_session_row){.command = (char *)(uintptr_t)"simtune reduce --arch auto", .finished_ms = -1,
                            .options_json = (char *)(uintptr_t)history_or(s->options, "{\"run_to_run\":true}")};
    snprintf(row->family, sizeof row->family, "%s", history_or(s->family, "reduce"));
    snprintf(row->resume_key, sizeof row->resume_key, "resume");
    st_code code = st_store_device(store, &device, &row->device_key, error);
    if (code == ST_OK)
        code = st_store_toolchain(store, &toolchain, &row->toolchain_key, error);
    if (code == ST_OK)
        code = st_store_template(store, row->family,
                                 history_or(s->template_hash, "1111aaaa1111aaaa1111aaaa1111aaaa"),
                                 "{\"reduce.cu\":\"int x;\"}", &row->template_key, error);
    return code == ST_OK ? st_store_session_begin(store, row, error) : code;
}

HISTORY st_code history_measure(const history_session *s, const history_problem *p, int64_t candidate, double ns,
                                uint64_t seed, st_error *error)
{
    double samples[1024];
    st_random random;
    st_random_seed(&random, seed);
    int count = p->samples ? p->samples : 60;
    for (int i = 0; i < count; i++)
        samples[i] = ns * (1 + p->scatter * history_gauss(&random));
    st_measurement_row row = {.candidate_key = candidate, .samples_ns = samples, .sample_count = (size_t)count,
                              .median_ns = st_median(samples, (size_t)count), .sm_clock_mhz = p->clock ? p->clock : 1980,
                              .memory_clock_mhz = 3201, .temperature_c = 41, .power_mw = 300000,
                              .throttle_reasons = 0, .dropped = 0, .batch = 1, .tick_ns = 32,
                              .taken_ms = s->ended_ms > 0 ? s->ended_ms : 1790000000000};
    snprintf(row.phase, sizeof row.phase, "finals");
    snprintf(row.cache, sizeof row.cache, "%s", history_or(p->cache, "cold"));
    return st_store_measurement(s->store, &row, error);
}

HISTORY st_code history_candidate(const history_session *s, int64_t problem, const char *configuration,
                                  const char *outcome, int64_t *key, st_error *error)
{
    st_candidate_row row = {.session_key = s->row.key, .problem_key = problem, .registers = 32, .local_bytes = 0,
                            .static_smem = 128, .dynamic_smem = 0, .blocks_per_sm = 4, .occupancy = 0.75,
                            .deterministic = 1, .compile_seconds = 0.025};
    snprintf(row.outcome, sizeof row.outcome, "%s", outcome);
    st_code code = st_store_configuration(s->store, s->row.family, configuration, &row.configuration_key, error);
    if (code == ST_OK)
        code = st_store_candidate(s->store, &row, error);
    *key = row.key;
    return code;
}

// The problem, its default and its winner, measured in the same finals.
HISTORY st_code history_add(const history_session *s, history_problem *p, st_error *error)
{
    char text[64];
    int64_t problem, standard = -1;
    snprintf(text, sizeof text, "T=f32 op=sum n=%lld", (long long)p->n);
    st_code code = st_store_problem(s->store, s->row.family, text, "f32", "sum", p->n, &problem, error);
    const char *outcome = history_or(p->outcome, "correct");
    if (code == ST_OK)
        code = history_candidate(s, problem, history_or(p->configuration, "BLOCK=512 VEC=4"), outcome,
                                 &p->winner_key, error);
    if (code != ST_OK || p->outcome)
        return code;
    double default_ns = p->default_ns > 0 ? p->default_ns : p->ns * 2;
    code = history_candidate(s, problem, "BLOCK=256 VEC=1", "correct", &standard, error);
    if (code == ST_OK)
        code = history_measure(s, p, standard, default_ns, p->seed * 2 + 1, error);
    if (code == ST_OK)
        code = history_measure(s, p, p->winner_key, p->ns, p->seed * 2 + 2, error);
    const char *const stalls[] = {"stall.long_scoreboard", "stall.barrier"};
    const double shares[] = {p->long_scoreboard, p->barrier};
    const char *const exact[] = {"dram_throughput", "instructions"};
    const double counts[] = {p->dram, 1e6};
    if (code == ST_OK && p->long_scoreboard > 0)
        code = st_store_counters(s->store, p->winner_key, "pc", stalls, shares, 2, 0.02, error);
    if (code == ST_OK && p->dram > 0)
        code = st_store_counters(s->store, p->winner_key, "range", exact, counts, 2, 0.02, error);
    st_winner_row winner = {.session_key = s->row.key, .problem_key = problem, .winner_key = p->winner_key,
                            .default_key = standard, .winner_ns = p->ns, .default_ns = default_ns,
                            .speedup = default_ns / p->ns, .speedup_low = 1.9, .speedup_high = 2.1, .tied = 1,
                            .ties_json = (char *)(uintptr_t)"[]", .bytes = (double)p->n * 4};
    snprintf(winner.cache, sizeof winner.cache, "%s", history_or(p->cache, "cold"));
    return code == ST_OK ? st_store_winner(s->store, &winner, error) : code;
}

// Ends it at its time: the store's own clock would put two sessions into one millisecond.
HISTORY st_code history_end(history_session *s, st_error *error)
{
    char sql[200];
    st_code code = st_store_session_end(s->store, s->row.key, ST_SESSION_FINISHED, "{\"seconds\":1}", error);
    if (code != ST_OK || s->ended_ms <= 0)
        return code;
    snprintf(sql, sizeof sql, "UPDATE session SET started_ms = %lld, finished_ms = %lld WHERE session_key = %lld",
             (long long)(s->ended_ms - 1000), (long long)s->ended_ms, (long long)s->row.key);
    return st_script_run(s->store, sql, "ending a session", error);
}

#endif
