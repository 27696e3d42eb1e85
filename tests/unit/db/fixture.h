// SPDX-License-Identifier: Apache-2.0
// What the tests of the store share: a folder of their own, and a small run of the tool to put into it.
#ifndef SIMTUNE_TESTS_DB_FIXTURE_H
#define SIMTUNE_TESTS_DB_FIXTURE_H

// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "db/store_internal.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHARED __attribute__((unused)) static

// Fails with the error's words.
#define assert_ok(code, error)                                                                     \
    do {                                                                                           \
        st_code got_ = (code);                                                                     \
        if (got_ != ST_OK)                                                                         \
            fail_msg("%s: code %d: %s (%s)", #code, (int)got_, (error).what, (error).remedy);      \
    } while (0)

SHARED char folder[64];

SHARED int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/simtune-db-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

// In memory where the system has such a place: for tests that make hundreds of stores.
SHARED int make_fast_folder(void **state)
{
    snprintf(folder, sizeof folder, "/dev/shm/simtune-db-XXXXXX");
    return mkdtemp(folder) ? 0 : make_folder(state);
}

SHARED int remove_folder(void **state)
{
    (void)state;
    char command[256];
    snprintf(command, sizeof command, "chmod -R u+rwx %s && rm -rf %s", folder, folder);
    return system(command);
}

// "FOLDER/name", good until the eighth call after it.
SHARED const char *in_folder(const char *name)
{
    static char paths[8][256];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

SHARED st_store *open_store(const char *path, st_store_mode mode)
{
    st_error error = {0};
    st_store *store = NULL;
    assert_ok(st_store_open(path, mode, &store, &error), error);
    assert_non_null(store);
    return store;
}

SHARED st_store_options current_options(int patience_ms)
{
    return (st_store_options){patience_ms, st_migrations, st_migration_count};
}

// --- rows --------------------------------------------------------------------------------------------------
SHARED st_device_row some_device(const char *uuid)
{
    st_device_row row = {.cc = 90,
                         .sm_count = 132,
                         .memory_bytes = 150754820096,
                         .l2_bytes = -1,
                         .facts_json = NULL,
                         .read_gbs = 4500.5,
                         .copy_gbs = NAN};
    snprintf(row.uuid, sizeof row.uuid, "%s", uuid);
    snprintf(row.name, sizeof row.name, "NVIDIA H200");
    snprintf(row.backend, sizeof row.backend, "cuda");
    return row;
}

SHARED st_toolchain_row some_toolchain(const char *driver)
{
    st_toolchain_row row = {.driver_cuda = 13000};
    snprintf(row.driver, sizeof row.driver, "%s", driver);
    snprintf(row.compiler, sizeof row.compiler, "nvrtc 13.0");
    snprintf(row.tool, sizeof row.tool, "0.1.0");
    return row;
}

// A session of `family` with all that it refers to. Returns ST_OK or the first code.
SHARED st_code add_session(st_store *store, const char *family, const char *uuid,
                           const char *driver, st_session_row *session, st_error *error)
{
    *session = (st_session_row){.command = (char *)"simtune reduce --arch auto",
                                .options_json = (char *)"{\"seed\":1}"};
    st_device_row device = some_device(uuid);
    st_toolchain_row toolchain = some_toolchain(driver);
    snprintf(session->resume_key, sizeof session->resume_key, "%s", "key");
    snprintf(session->family, sizeof session->family, "%s", family);
    char hash[64];
    snprintf(hash, sizeof hash, "hash-of-%s", family);
    st_code code = st_store_device(store, &device, &session->device_key, error);
    if (code == ST_OK)
        code = st_store_toolchain(store, &toolchain, &session->toolchain_key, error);
    if (code == ST_OK)
        code = st_store_template(store, family, hash, "{\"a.cu\":\"int x;\\n\"}",
                                 &session->template_key, error);
    if (code == ST_OK)
        code = st_store_session_begin(store, session, error);
    return code;
}

SHARED st_candidate_row blank_candidate(int64_t session, int64_t problem, int64_t configuration,
                                        const char *outcome)
{
    st_candidate_row row = {.session_key = session,
                            .problem_key = problem,
                            .configuration_key = configuration,
                            .registers = -1,
                            .local_bytes = -1,
                            .static_smem = -1,
                            .dynamic_smem = -1,
                            .blocks_per_sm = -1,
                            .occupancy = NAN,
                            .deterministic = -1,
                            .compile_seconds = NAN};
    snprintf(row.outcome, sizeof row.outcome, "%s", outcome);
    return row;
}

SHARED st_measurement_row some_measurement(int64_t candidate, const char *phase, int round,
                                           const char *cache, const double *samples, size_t count)
{
    st_measurement_row row = {.candidate_key = candidate,
                              .round = round,
                              .samples_ns = samples,
                              .sample_count = count,
                              .median_ns = count ? samples[0] : NAN,
                              .sm_clock_mhz = 1980,
                              .memory_clock_mhz = -1,
                              .temperature_c = 40,
                              .power_mw = -1,
                              .throttle_reasons = 0,
                              .dropped = 0,
                              .batch = 1,
                              .tick_ns = 32.0,
                              .taken_ms = 1764000000000 + round};
    snprintf(row.phase, sizeof row.phase, "%s", phase);
    snprintf(row.cache, sizeof row.cache, "%s", cache);
    return row;
}

// One candidate whole, in one transaction: row, measurement, counters, stall lines.
SHARED st_code add_candidate(st_store *store, const st_session_row *session, int64_t n,
                             const char *configuration, double median_ns, int64_t *problem,
                             int64_t *candidate, st_error *error)
{
    char problem_text[64];
    snprintf(problem_text, sizeof problem_text, "T=f32 op=sum n=%lld", (long long)n);
    const double samples[] = {median_ns, median_ns + 0.1, median_ns * 3};
    const char *const names[] = {"dram_throughput", "stall.long_scoreboard"};
    const double values[] = {0.93, NAN};
    int64_t configuration_key = -1;
    st_code code = st_store_begin(store, error);
    if (code != ST_OK)
        return code;
    code = st_store_problem(store, session->family, problem_text, "f32", "sum", n, problem, error);
    if (code == ST_OK)
        code = st_store_configuration(store, session->family, configuration, &configuration_key,
                                      error);
    st_candidate_row row = blank_candidate(session->key, *problem, configuration_key, "correct");
    row.registers = 32;
    if (code == ST_OK)
        code = st_store_candidate(store, &row, error);
    *candidate = row.key;
    if (code == ST_OK) {
        st_measurement_row m = some_measurement(row.key, "screen", 0, "cold", samples, 3);
        code = st_store_measurement(store, &m, error);
    }
    if (code == ST_OK)
        code = st_store_counters(store, row.key, "pc", names, values, 2, 0.25, error);
    if (code == ST_OK)
        code = st_store_stall_lines(store, row.key, "[{\"line\":12,\"samples\":100}]", error);
    if (code == ST_OK)
        return st_store_commit(store, error);
    st_store_rollback(store);
    return code;
}

SHARED st_winner_row some_winner(int64_t session, int64_t problem, int64_t winner, double ns)
{
    return (st_winner_row){.session_key = session,
                           .problem_key = problem,
                           .cache = "cold",
                           .winner_key = winner,
                           .default_key = winner,
                           .winner_ns = ns,
                           .default_ns = ns * 2,
                           .speedup = 2.0,
                           .speedup_low = 1.9,
                           .speedup_high = 2.1,
                           .tied = 1,
                           .ties_json = NULL,
                           .bytes = 4096.0,
                           .note = NULL};
}

// The only number of a statement, for looking behind the interface.
SHARED int64_t number(st_store *store, const char *sql)
{
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

SHARED void assert_sound(st_store *store)
{
    assert_int_equal(number(store, "SELECT count(*) FROM pragma_integrity_check"
                                   " WHERE integrity_check <> 'ok'"),
                     0);
    assert_int_equal(number(store, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
}

#endif
