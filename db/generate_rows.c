// SPDX-License-Identifier: Apache-2.0
// The rows of one problem of a generated session: candidates, measurements, counters, winners. See generate.c.
#include "db/generate_internal.h"

#include "tuner/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FINALISTS = 4, SAMPLES_MAX = ST_GENERATE_SAMPLES_MAX };
static const char doing[] = "generating rows";

// --- one candidate -----------------------------------------------------------------------------------------
static st_code make_measurement(st_generate_maker *all, const st_generate_trial *it,
                                const char *phase, int round, bool warm, int count,
                                double *median_ns, st_error *error)
{
    double samples[SAMPLES_MAX];
    unsigned char *blob;
    for (int i = 0; i < count; i++)
        samples[i] = st_world_sample(&all->random, it->time_ns * (warm ? 0.8 : 1));
    *median_ns = st_median(samples, (size_t)count);
    if (!(blob = st_samples_encode(samples, (size_t)count)))
        return st_fail_memory(error, doing);
    st_statement statement;
    st_code code = st_statement_open(
        all->store, &statement,
        "INSERT INTO measurement (candidate_key, phase, round, cache, median_ns, sm_clock_mhz, "
        "memory_clock_mhz,"
        " temperature_c, power_mw, throttle_reasons, dropped, batch, tick_ns, taken_ms, samples)"
        " VALUES (?, ?, ?, ?, ?, 1980, 3201, 41, 300000, 0, 0, 1, 32.0, ?, ?)",
        doing, error);
    if (code == ST_OK) {
        st_bind_int(&statement, it->key);
        st_bind_text(&statement, phase);
        st_bind_int(&statement, round);
        st_bind_text(&statement, warm ? "warm" : "cold");
        st_bind_real(&statement, *median_ns);
        st_bind_int(&statement, all->date_ms++);
        st_bind_blob(&statement, blob, (size_t)count * 8);
    }
    code = st_generate_run_row(&statement, code, error);
    st_free(blob);
    all->made.measurements++;
    all->made.samples += count;
    return code;
}

static st_code make_counters(st_generate_maker *all, const st_generate_trial *it, double slow,
                             bool exact, st_error *error)
{
    double values[ST_WORLD_COUNTERS];
    int64_t profile;
    st_statement statement;
    st_world_counters(&all->random, exact, &all->point[it->configuration], slow, values);
    st_code code = st_statement_open(
        all->store, &statement,
        "INSERT INTO profile (candidate_key, kind, seconds) VALUES (?, ?, ?) RETURNING profile_key",
        doing, error);
    if (code == ST_OK) {
        st_bind_int(&statement, it->key);
        st_bind_text(&statement, exact ? "range" : "pc");
        st_bind_real(&statement, exact ? 0.125 : 0.03125);
        code = st_statement_number(&statement, &profile, NULL, error);
    }
    st_statement_close(&statement);
    for (int i = 0; i < ST_WORLD_COUNTERS && code == ST_OK; i++) {
        code = st_statement_open(
            all->store, &statement,
            "INSERT INTO counter (profile_key, metric_key, value) VALUES (?, ?, ?)", doing, error);
        if (code == ST_OK) {
            st_bind_int(&statement, profile);
            st_bind_int(&statement, all->metric[exact][i]);
            st_bind_real(&statement, values[i]);
        }
        code = st_generate_run_row(&statement, code, error);
        all->made.counters++;
    }
    return code;
}

static st_code make_candidate_row(st_generate_maker *all, const st_generate_trial *it,
                                  const char *outcome, const char *detail, st_error *error)
{
    const st_world_place *place = &all->place;
    const st_world_configuration *point = &all->point[it->configuration];
    int registers = 16 + 2 * point->vec * point->acc + point->unroll;
    char id[ST_HASH_TEXT];
    st_statement statement;
    st_code code =
        st_candidate_id(all->session_id, all->problem_id[place->family][place->group][place->size],
                        all->configuration_id[place->family][it->configuration], id, error);
    if (code != ST_OK)
        return code;
    code =
        st_statement_open(all->store, &statement,
                          "INSERT INTO candidate (candidate_key, candidate_id, session_key, "
                          "problem_key, configuration_key, outcome,"
                          " detail, registers, local_bytes, static_smem, dynamic_smem, "
                          "blocks_per_sm, occupancy, deterministic,"
                          " compile_seconds) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?, 0, ?, ?, 1, ?)",
                          doing, error);
    if (code == ST_OK) {
        bool compiled = strcmp(outcome, "compile") && strcmp(outcome, "constraint") &&
                        strcmp(outcome, "skipped");
        st_bind_int(&statement, it->key);
        st_bind_text(&statement, id);
        st_bind_int(&statement, all->session);
        st_bind_int(&statement, all->problem[place->family][place->group][place->size]);
        st_bind_int(&statement, all->configuration[place->family][it->configuration]);
        st_bind_text(&statement, outcome);
        st_bind_known_text(&statement, detail);
        st_bind_known_int(&statement, compiled ? registers : -1);
        st_bind_known_int(&statement, compiled ? 4 * point->block : -1);
        st_bind_known_int(&statement, compiled ? 2048 / point->block : -1);
        st_bind_real(&statement, registers > 32 ? 32.0 / registers : 1);
        st_bind_real(&statement, 0.03125 * (1 + (double)st_random_below(&all->random, 8)));
    }
    return st_generate_run_row(&statement, code, error);
}

static st_code make_candidate(st_generate_maker *all, st_generate_trial *it, double best_ns,
                              st_error *error)
{
    const char *detail;
    // The default is always there: what everything is compared with.
    const char *outcome = it->configuration ? st_world_outcome(&all->random, &detail) : "correct";
    if (!it->configuration)
        detail = NULL;
    it->key = ++all->made.candidates;
    it->correct = strcmp(outcome, "correct") == 0;
    it->time_ns = st_world_time_ns(&all->place, &all->point[it->configuration]) *
                  (1 + 0.02 * (st_random_unit(&all->random) - 0.5));
    st_code code = make_candidate_row(all, it, outcome, detail, error);
    if (code != ST_OK || !it->correct)
        return code;
    // With a second round for the faster half this is more than `samples` a candidate on average.
    int count = (all->options->samples * 7 + 9) / 10;
    code = make_measurement(all, it, "screen", 0, false, count, &it->median_ns, error);
    for (int exact = 0; exact < 2 && code == ST_OK; exact++)
        code = make_counters(all, it, it->time_ns / best_ns, exact, error);
    return code;
}

// --- one problem of a session ------------------------------------------------------------------------------
static int by_time(const void *a, const void *b)
{
    const st_generate_trial *one = a, *other = b;
    if (one->correct != other->correct)
        return one->correct ? -1 : 1;
    if (one->correct && one->median_ns != other->median_ns)
        return one->median_ns < other->median_ns ? -1 : 1;
    return one->key < other->key ? -1 : 1;
}

static st_code make_stall_lines(st_generate_maker *all, const st_generate_trial *it,
                                st_error *error)
{
    char lines[256];
    st_statement statement;
    snprintf(
        lines, sizeof lines,
        "[{\"file\":\"%s.cu\",\"function\":\"generated\",\"line\":%d,\"pc\":1840,\"samples\":%d,"
        "\"stall\":\"long_scoreboard\"}]",
        st_world_family(all->place.family), 100 + (int)st_random_below(&all->random, 100),
        1 + (int)st_random_below(&all->random, 1000));
    st_code code = st_statement_open(all->store, &statement,
                                     "INSERT INTO stall_lines (candidate_key, lines) VALUES (?, ?)",
                                     doing, error);
    if (code == ST_OK) {
        st_bind_int(&statement, it->key);
        st_bind_text(&statement, lines);
    }
    return st_generate_run_row(&statement, code, error);
}

static st_code make_winner(st_generate_maker *all, const st_generate_trial *best,
                           const st_generate_trial *other, const double ns[2], bool warm,
                           st_error *error)
{
    char ties[384] = "", text[96];
    double ratio = ns[1] / ns[0];
    bool tie = best != other && ratio < 1.005;
    if (tie) {
        st_world_configuration_text(&all->point[other->configuration], text, sizeof text);
        snprintf(ties, sizeof ties,
                 "[{\"configuration\":\"%s\",\"high\":%.17g,\"low\":%.17g,\"median_ns\":%.17g,"
                 "\"ratio\":%.17g,"
                 "\"tied\":true}]",
                 text, ratio * 1.01, ratio * 0.99, ns[1], ratio);
    }
    st_winner_row row = {
        .session_key = all->session,
        .problem_key = all->problem[all->place.family][all->place.group][all->place.size],
        .winner_key = best->key,
        .default_key = other->key,
        .winner_ns = ns[0],
        .default_ns = ns[1],
        .speedup = ratio,
        .speedup_low = ratio * 0.99,
        .speedup_high = ratio * 1.01,
        .tied = tie ? 2 : 1,
        .ties_json = ties,
        .bytes = st_world_bytes(&all->place),
        .note = tie ? (char *)(uintptr_t) "this one has the fewest registers" : NULL};
    snprintf(row.cache, sizeof row.cache, "%s", warm ? "warm" : "cold");
    all->made.winners++;
    return st_store_winner(all->store, &row, error);
}

// The fastest and the default, measured again in both states of the cache; of the screen's order the first wins.
static st_code make_finals(st_generate_maker *all, int correct, st_error *error)
{
    int count = all->options->samples * 3 < SAMPLES_MAX ? all->options->samples * 3 : SAMPLES_MAX;
    const st_generate_trial *standard = NULL;
    st_code code = ST_OK;
    for (int i = 0; i < correct; i++)
        if (all->trials[i].configuration == 0)
            standard = &all->trials[i];
    for (int warm = 0; warm < 2 && code == ST_OK; warm++) {
        double ns[2] = {0, 0}, median;
        for (int i = 0; i < correct && code == ST_OK; i++) {
            const st_generate_trial *it = &all->trials[i];
            if (i >= FINALISTS && it != standard)
                continue;
            code = make_measurement(all, it, "finals", 0, warm, count, &median, error);
            if (i == 0)
                ns[0] = median;
            if (it == standard)
                ns[1] = median;
            if (code == ST_OK && !warm)
                code = make_stall_lines(all, it, error);
        }
        if (code == ST_OK)
            code = make_winner(all, &all->trials[0], standard, ns, warm, error);
    }
    return code;
}

st_code st_generate_problem(st_generate_maker *all, int count, st_error *error)
{
    double best_ns = 0, median;
    st_code code = ST_OK;
    int start = (int)st_random_below(&all->random, ST_WORLD_CONFIGURATIONS - 1);
    for (int i = 0; i < ST_WORLD_CONFIGURATIONS; i++) {
        double ns = st_world_time_ns(&all->place, &all->point[i]);
        best_ns = i == 0 || ns < best_ns ? ns : best_ns;
    }
    for (int i = 0; i < count && code == ST_OK; i++) {
        // 5 and 503 have no common divisor: every configuration but the default once.
        all->trials[i] = (st_generate_trial){
            .configuration = i == 0 ? 0 : 1 + (start + 5 * i) % (ST_WORLD_CONFIGURATIONS - 1)};
        code = make_candidate(all, &all->trials[i], best_ns, error);
    }
    if (code != ST_OK)
        return code;
    qsort(all->trials, (size_t)count, sizeof *all->trials, by_time);
    int correct = 0;
    while (correct < count && all->trials[correct].correct)
        correct++;
    for (int i = 0; i < (correct + 1) / 2 && code == ST_OK; i++)
        code = make_measurement(all, &all->trials[i], "halving", 0, false,
                                (all->options->samples * 7 + 9) / 10, &median, error);
    return code == ST_OK ? make_finals(all, correct, error) : code;
}
