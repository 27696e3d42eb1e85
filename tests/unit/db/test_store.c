// SPDX-License-Identifier: Apache-2.0
// The store's basics: what is stored comes back, unknown is NULL both ways, ids are those of content,
// transactions nest, and a bad path or file gives one clear message. Numbers refer to the invariants that
// open db/store.c (S), rows.c (R), candidates.c (C), sessions.c (E), open.c (O).
#include "fixture.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

// --- rows --------------------------------------------------------------------------------------------------
static void rows_are_found_again_by_content(void **state) // R1
{
    (void)state;
    st_error error = {0};
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    int64_t a, b, c;
    st_device_row device = some_device("GPU-1");
    assert_ok(st_store_device(store, &device, &a, &error), error);
    snprintf(device.name, sizeof device.name, "renamed");
    assert_ok(st_store_device(store, &device, &b, &error), error);
    assert_int_equal(a, b);
    snprintf(device.uuid, sizeof device.uuid, "GPU-2");
    assert_ok(st_store_device(store, &device, &c, &error), error);
    assert_int_not_equal(a, c);

    st_toolchain_row toolchain = some_toolchain("580.1");
    assert_ok(st_store_toolchain(store, &toolchain, &a, &error), error);
    assert_ok(st_store_toolchain(store, &toolchain, &b, &error), error);
    assert_int_equal(a, b);
    toolchain.driver_cuda = -1;
    assert_ok(st_store_toolchain(store, &toolchain, &c, &error), error);
    assert_int_not_equal(a, c);

    assert_ok(st_store_problem(store, "reduce", "n=1", NULL, NULL, 1, &a, &error), error);
    assert_ok(st_store_problem(store, "reduce", "n=1", NULL, NULL, 1, &b, &error), error);
    assert_ok(st_store_problem(store, "scan", "n=1", NULL, NULL, 1, &c, &error), error);
    assert_int_equal(a, b);
    assert_int_not_equal(a, c);
    assert_int_equal(number(store, "SELECT type IS NULL AND operation IS NULL FROM problem"), 1);
    st_store_close(store);
}

static void ids_are_the_same_in_every_store(void **state) // R1
{
    (void)state;
    char one[ST_HASH_TEXT], two[ST_HASH_TEXT];
    st_error error = {0};
    assert_ok(st_problem_id("reduce", "n=1", one, &error), error);
    assert_ok(st_configuration_id("reduce", "n=1", two, &error), error);
    assert_int_equal(strlen(one), 32);
    assert_string_not_equal(one, two); // the kind is part of the hash
    assert_ok(st_problem_id("reducen", "=1", two, &error), error);
    assert_string_not_equal(one, two); // so is where a field ends
    // Ids stand in shipped files: a change of these digits breaks every store that exists.
    assert_string_equal(one, "e2b39abba492efa7810fe578a5e5d019");
    assert_ok(st_candidate_id("s", "p", "c", two, &error), error);
    assert_string_equal(two, "aad10f55d528b4b272e969ee88e4c049");
}

static void a_device_keeps_what_is_known_and_the_better_speed(void **state) // R3
{
    (void)state;
    st_error error = {0};
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    int64_t key;
    st_device_row device = some_device("GPU-1");
    assert_ok(st_store_device(store, &device, &key, &error), error);
    assert_int_equal(number(store, "SELECT l2_bytes IS NULL AND copy_gbs IS NULL FROM device"), 1);
    device.read_gbs = 4000;
    device.copy_gbs = 3900;
    device.l2_bytes = 62914560;
    device.memory_bytes = 5;
    device.facts_json = (char *)"{\"warp\":32}";
    assert_ok(st_store_device(store, &device, &key, &error), error);
    assert_int_equal(number(store, "SELECT read_gbs = 4500.5 AND copy_gbs = 3900 AND l2_bytes = 62914560"
                                   " AND memory_bytes = 150754820096 AND facts = '{\"warp\":32}'"
                                   " FROM device"), 1);
    device.read_gbs = 4600;
    device.copy_gbs = NAN;
    assert_ok(st_store_device(store, &device, &key, &error), error);
    assert_int_equal(number(store, "SELECT read_gbs = 4600 AND copy_gbs = 3900 FROM device"), 1);
    st_store_close(store);
}

static st_code keep_device(void *context, const st_device_row *row, st_error *error)
{
    (void)error;
    st_device_row *kept = context;
    *kept = *row;
    return ST_OK;
}

static void devices_are_listed_with_unknown_as_unknown(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    int64_t key;
    st_device_row device = some_device("GPU-1"), kept;
    assert_ok(st_store_device(store, &device, &key, &error), error);
    assert_ok(st_store_devices(store, keep_device, &kept, &error), error);
    assert_string_equal(kept.uuid, "GPU-1");
    assert_string_equal(kept.pci, "");
    assert_int_equal(kept.l2_bytes, -1);
    assert_int_equal(kept.memory_bytes, 150754820096);
    assert_true(isnan(kept.copy_gbs));
    assert_null(kept.facts_json);
    st_store_close(store);
}

static void a_configuration_stands_as_json_too(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    int64_t key;
    assert_ok(st_store_configuration(store, "reduce", "BLOCK=256 FINISH=two_pass  X=-3 Y=1e3 E=", &key,
                                     &error), error);
    assert_int_equal(number(store, "SELECT json_extract(parameters, '$.BLOCK') = 256"
                                   " AND json_extract(parameters, '$.FINISH') = 'two_pass'"
                                   " AND json_extract(parameters, '$.X') = -3"
                                   " AND json_extract(parameters, '$.Y') = '1e3'"
                                   " AND json_extract(parameters, '$.E') = '' FROM configuration"), 1);
    assert_ok(st_store_configuration(store, "reduce", "", &key, &error), error);
    st_store_close(store);
}

static void a_template_is_kept_whole(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    int64_t key;
    char *text;
    assert_ok(st_store_template(store, "reduce", "abc", "{\"reduce.cu\":\"x\\n\"}", &key, &error), error);
    assert_ok(st_store_template_text(store, "abc", &text, &error), error);
    assert_string_equal(text, "{\"reduce.cu\":\"x\\n\"}");
    st_free(text);
    assert_int_equal(st_store_template_text(store, "abd", &text, &error), ST_NOTHING);
    assert_null(text);
    assert_int_equal(st_store_template(store, "reduce", "other", "not json", &key, &error), ST_FAILED);
    assert_non_null(strstr(error.what, "json_valid"));
    st_store_close(store);
}

// --- candidates --------------------------------------------------------------------------------------------
static st_code keep_measurement(void *context, const st_measurement_row *row, st_error *error)
{
    (void)error;
    st_measurement_row *kept = context;
    double *samples = malloc(row->sample_count * sizeof *samples + 1);
    memcpy(samples, row->samples_ns, row->sample_count * sizeof *samples);
    *kept = *row;
    kept->samples_ns = samples;
    return ST_OK;
}

static void samples_come_back_to_the_bit(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    st_session_row session;
    int64_t problem, candidate;
    assert_ok(add_session(store, "reduce", "GPU-1", "580", &session, &error), error);
    assert_ok(add_candidate(store, &session, 1024, "BLOCK=1", 5, &problem, &candidate, &error), error);
    const double samples[] = {0.1, 1e-300, 12345.678901234567, NAN, 3};
    st_measurement_row row = some_measurement(candidate, "finals", 2, "warm", samples, 5), kept = {0};
    assert_ok(st_store_measurement(store, &row, &error), error);
    sqlite3_exec(store->db, "DELETE FROM measurement WHERE phase = 'screen'", NULL, NULL, NULL);
    assert_ok(st_store_measurements(store, candidate, keep_measurement, &kept, &error), error);
    assert_int_equal(kept.sample_count, 5);
    assert_memory_equal(kept.samples_ns, samples, sizeof samples);
    assert_string_equal(kept.phase, "finals");
    assert_string_equal(kept.cache, "warm");
    assert_int_equal(kept.round, 2);
    assert_int_equal(kept.memory_clock_mhz, -1);
    assert_int_equal(kept.power_mw, -1);
    assert_int_equal(kept.throttle_reasons, 0);
    assert_int_equal(kept.sm_clock_mhz, 1980);
    assert_int_equal(kept.taken_ms, row.taken_ms);
    free((void *)(uintptr_t)kept.samples_ns);
    assert_int_equal(number(store, "SELECT hex(samples) LIKE '9A9999999999B93F%' FROM measurement"), 1);
    st_store_close(store);
}

static void a_measurement_is_never_replaced(void **state) // C2
{
    (void)state;
    st_error error = {0};
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    st_session_row session;
    int64_t problem, candidate;
    assert_ok(add_session(store, "reduce", "GPU-1", "580", &session, &error), error);
    assert_ok(add_candidate(store, &session, 1024, "BLOCK=1", 5, &problem, &candidate, &error), error);
    const double other[] = {99};
    st_measurement_row row = some_measurement(candidate, "screen", 0, "cold", other, 1);
    assert_int_equal(st_store_measurement(store, &row, &error), ST_FAILED);
    assert_non_null(strstr(error.what, "already holds round 0 of screen, cold"));
    assert_int_equal(number(store, "SELECT median_ns FROM measurement"), 5);
    snprintf(row.phase, sizeof row.phase, "guess"); // not a phase
    assert_int_equal(st_store_measurement(store, &row, &error), ST_FAILED);
    row = some_measurement(candidate + 1, "screen", 0, "cold", other, 1); // no such candidate
    assert_int_equal(st_store_measurement(store, &row, &error), ST_FAILED);
    row = some_measurement(candidate, "halving", 0, "cold", NULL, 0); // no samples is allowed
    assert_ok(st_store_measurement(store, &row, &error), error);
    assert_int_equal(number(store, "SELECT median_ns IS NULL AND length(samples) = 0"
                                   " FROM measurement WHERE phase = 'halving'"), 1);
    st_store_close(store);
}

static st_code count_candidates(void *context, const st_candidate_row *row, const char *problem,
                                const char *configuration, st_error *error)
{
    (void)error;
    (void)problem;
    st_candidate_row *kept = context;
    assert_non_null(strstr(configuration, "BLOCK="));
    int64_t count = kept->key + 1;
    *kept = *row;
    kept->key = count;
    kept->detail = (char *)(row->detail && strcmp(row->detail, "line 1\nline 2") == 0 ? "same" : NULL);
    return ST_OK;
}

static void a_candidate_is_one_row_and_may_be_completed(void **state) // C1
{
    (void)state;
    st_error error = {0};
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    st_session_row session;
    int64_t problem, configuration;
    assert_ok(add_session(store, "reduce", "GPU-1", "580", &session, &error), error);
    assert_ok(st_store_problem(store, "reduce", "n=8", NULL, NULL, 8, &problem, &error), error);
    assert_ok(st_store_configuration(store, "reduce", "BLOCK=1", &configuration, &error), error);
    st_candidate_row row = blank_candidate(session.key, problem, configuration, "crash");
    row.registers = 40;
    row.detail = (char *)"line 1\nline 2";
    assert_ok(st_store_candidate(store, &row, &error), error);
    int64_t key = row.key;
    char id[ST_HASH_TEXT];
    memcpy(id, row.id, sizeof id);
    st_candidate_row kept = {0};
    assert_ok(st_store_candidates(store, session.key, count_candidates, &kept, &error), error);
    assert_int_equal(kept.key, 1);
    assert_string_equal(kept.outcome, "crash");
    assert_string_equal(kept.detail, "same");
    assert_int_equal(kept.registers, 40);
    assert_int_equal(kept.deterministic, -1);
    assert_true(isnan(kept.occupancy));

    row = blank_candidate(session.key, problem, configuration, "correct");
    row.occupancy = 0.5;
    assert_ok(st_store_candidate(store, &row, &error), error);
    assert_int_equal(row.key, key);
    assert_string_equal(row.id, id);
    assert_int_equal(number(store, "SELECT outcome = 'correct' AND detail IS NULL AND registers = 40"
                                   " AND occupancy = 0.5 FROM candidate"), 1);
    row = blank_candidate(session.key, problem, configuration, "lucky");
    assert_int_equal(st_store_candidate(store, &row, &error), ST_FAILED);
    row = blank_candidate(session.key, problem + 7, configuration, "correct");
    assert_int_equal(st_store_candidate(store, &row, &error), ST_FAILED);
    int64_t foreign;
    assert_ok(st_store_problem(store, "scan", "n=8", NULL, NULL, 8, &foreign, &error), error);
    row = blank_candidate(session.key, foreign, configuration, "correct");
    assert_int_equal(st_store_candidate(store, &row, &error), ST_FAILED);
    assert_non_null(strstr(error.what, "different families"));
    st_store_close(store);
}

typedef struct seen_counters {
    int count;
    double dram, scoreboard, barrier;
} seen_counters;

static st_code see_counter(void *context, const char *kind, const char *name, double value,
                           st_error *error)
{
    (void)error;
    seen_counters *seen = context;
    assert_string_equal(kind, "pc");
    seen->count++;
    if (strcmp(name, "dram_throughput") == 0)
        seen->dram = value;
    else if (strcmp(name, "stall.barrier") == 0)
        seen->barrier = value;
    else
        seen->scoreboard = value;
    return ST_OK;
}

static void counters_keep_their_first_value(void **state) // C3
{
    (void)state;
    st_error error = {0};
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    st_session_row session;
    int64_t problem, candidate;
    assert_ok(add_session(store, "reduce", "GPU-1", "580", &session, &error), error);
    assert_ok(add_candidate(store, &session, 1024, "BLOCK=1", 5, &problem, &candidate, &error), error);
    seen_counters seen = {0};
    assert_ok(st_store_counters_of(store, candidate, see_counter, &seen, &error), error);
    assert_int_equal(seen.count, 2);
    assert_true(seen.dram == 0.93 && isnan(seen.scoreboard));

    const char *const names[] = {"stall.long_scoreboard", "dram_throughput", "stall.barrier"};
    const double values[] = {0.5, 0.1, INFINITY};
    assert_ok(st_store_counters(store, candidate, "pc", names, values, 3, 0.5, &error), error);
    seen = (seen_counters){0};
    assert_ok(st_store_counters_of(store, candidate, see_counter, &seen, &error), error);
    assert_int_equal(seen.count, 3);
    assert_true(seen.dram == 0.93 && seen.scoreboard == 0.5 && isnan(seen.barrier));
    assert_int_equal(number(store, "SELECT seconds = 0.75 FROM profile"), 1);
    assert_int_equal(st_store_counters(store, candidate, "guess", names, values, 3, 0, &error),
                     ST_FAILED);
    assert_int_equal(number(store, "SELECT count(*) FROM profile"), 1);

    char *lines;
    assert_ok(st_store_stall_lines_of(store, candidate, &lines, &error), error);
    assert_string_equal(lines, "[{\"line\":12,\"samples\":100}]");
    st_free(lines);
    assert_ok(st_store_stall_lines(store, candidate, NULL, &error), error);
    assert_ok(st_store_stall_lines_of(store, candidate + 1, &lines, &error), error);
    assert_null(lines);
    st_store_close(store);
}

static void a_winner_belongs_to_its_session(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    st_session_row one, two;
    int64_t problem, mine, other;
    assert_ok(add_session(store, "reduce", "GPU-1", "580", &one, &error), error);
    assert_ok(add_session(store, "reduce", "GPU-1", "580", &two, &error), error);
    assert_ok(add_candidate(store, &one, 1024, "BLOCK=1", 5, &problem, &mine, &error), error);
    assert_ok(add_candidate(store, &two, 1024, "BLOCK=1", 5, &problem, &other, &error), error);
    st_winner_row row = some_winner(one.key, problem, other, 5);
    assert_int_equal(st_store_winner(store, &row, &error), ST_FAILED);
    assert_non_null(strstr(error.what, "candidate of its session"));
    row = some_winner(one.key, problem, mine, 5);
    row.default_key = other;
    assert_int_equal(st_store_winner(store, &row, &error), ST_FAILED);
    row.default_key = -1;
    assert_ok(st_store_winner(store, &row, &error), error);
    row.winner_ns = 4; // a resumed session concludes again
    assert_ok(st_store_winner(store, &row, &error), error);
    assert_int_equal(number(store, "SELECT count(*) = 1 AND max(winner_ns) = 4 AND"
                                   " max(default_key) IS NULL FROM winner"), 1);
    row.winner_key = other;
    assert_int_equal(st_store_winner(store, &row, &error), ST_FAILED);
    st_store_close(store);
}

// --- sessions ----------------------------------------------------------------------------------------------
static void sessions_go_their_way(void **state) // E1, E2
{
    (void)state;
    st_error error = {0};
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    st_session_row session, found;
    assert_int_equal(st_store_session_unfinished(store, "key", &found, &error), ST_NOTHING);
    assert_int_equal(st_store_session_latest(store, NULL, &found, &error), ST_NOTHING);
    assert_ok(add_session(store, "reduce", "GPU-1", "580", &session, &error), error);
    assert_int_equal(strlen(session.id), 32);
    assert_ok(st_store_session_unfinished(store, "key", &found, &error), error);
    assert_string_equal(found.id, session.id);
    assert_int_equal(found.key, session.key);
    assert_int_equal(found.status, ST_SESSION_RUNNING);
    assert_int_equal(found.finished_ms, -1);
    assert_string_equal(found.command, "simtune reduce --arch auto");
    assert_string_equal(found.options_json, "{\"seed\":1}");
    assert_null(found.summary_json);
    st_session_row_release(&found);
    assert_int_equal(st_store_session_unfinished(store, "other", &found, &error), ST_NOTHING);
    st_session_row_release(&found); // fine on what was not filled

    assert_int_equal(st_store_session_end(store, session.key, ST_SESSION_RUNNING, NULL, &error),
                     ST_FAILED);
    assert_ok(st_store_session_end(store, session.key, ST_SESSION_INTERRUPTED, NULL, &error), error);
    assert_int_equal(st_store_session_latest(store, "reduce", &found, &error), ST_NOTHING);
    assert_ok(st_store_session_unfinished(store, "key", &found, &error), error);
    assert_int_equal(found.status, ST_SESSION_INTERRUPTED);
    assert_true(found.finished_ms >= found.started_ms);
    st_session_row_release(&found);

    assert_ok(st_store_session_end(store, session.key, ST_SESSION_FINISHED, "{\"trust\":1}", &error),
              error);
    assert_int_equal(st_store_session_unfinished(store, "key", &found, &error), ST_NOTHING);
    assert_ok(st_store_session_latest(store, "reduce", &found, &error), error);
    assert_string_equal(found.summary_json, "{\"trust\":1}");
    st_session_row_release(&found);
    assert_int_equal(st_store_session_latest(store, "scan", &found, &error), ST_NOTHING);
    assert_int_equal(st_store_session_end(store, session.key, ST_SESSION_INTERRUPTED, NULL, &error),
                     ST_FAILED);
    assert_int_equal(st_store_session_end(store, 99, ST_SESSION_FINISHED, NULL, &error), ST_FAILED);

    char prefix[16];
    snprintf(prefix, sizeof prefix, "%.12s", session.id);
    assert_ok(st_store_session_of(store, prefix, &found, &error), error);
    assert_string_equal(found.id, session.id);
    st_session_row_release(&found);
    assert_int_equal(st_store_session_of(store, "ffffffff", &found, &error), ST_NOTHING);
    assert_int_equal(st_store_session_of(store, "zz", &found, &error), ST_USAGE);
    st_store_close(store);
}

static void a_session_needs_what_it_refers_to(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    st_session_row session = {.resume_key = "k", .family = "reduce", .device_key = 1,
                              .toolchain_key = 1, .template_key = 1};
    assert_int_equal(st_store_session_begin(store, &session, &error), ST_FAILED);
    assert_non_null(strstr(error.what, "FOREIGN KEY"));
    assert_int_equal(number(store, "SELECT count(*) FROM session"), 0);
    st_store_close(store);
}

// --- transactions ------------------------------------------------------------------------------------------
static void transactions_nest(void **state) // S3
{
    (void)state;
    st_error error = {0};
    int64_t key;
    st_store *store = open_store(in_folder("nest.db"), ST_STORE_WRITE);
    st_store *other = open_store(in_folder("nest.db"), ST_STORE_READ);
    assert_ok(st_store_begin(store, &error), error);
    assert_ok(st_store_problem(store, "reduce", "outer", NULL, NULL, -1, &key, &error), error);
    assert_ok(st_store_begin(store, &error), error);
    assert_ok(st_store_problem(store, "reduce", "kept", NULL, NULL, -1, &key, &error), error);
    assert_ok(st_store_commit(store, &error), error);
    assert_ok(st_store_begin(store, &error), error);
    assert_ok(st_store_problem(store, "reduce", "undone", NULL, NULL, -1, &key, &error), error);
    st_store_rollback(store);
    assert_int_equal(number(other, "SELECT count(*) FROM problem"), 0); // nothing is visible yet
    assert_ok(st_store_commit(store, &error), error);
    assert_int_equal(number(other, "SELECT count(*) FROM problem"), 2);
    assert_int_equal(number(other, "SELECT count(*) FROM problem WHERE text = 'undone'"), 0);

    assert_ok(st_store_begin(store, &error), error);
    assert_ok(st_store_problem(store, "reduce", "lost", NULL, NULL, -1, &key, &error), error);
    st_store_rollback(store);
    st_store_rollback(store); // without a transaction: nothing
    assert_int_equal(st_store_commit(store, &error), ST_FAILED);
    assert_int_equal(number(store, "SELECT count(*) FROM problem"), 2);

    assert_ok(st_store_begin(store, &error), error);
    assert_ok(st_store_problem(store, "reduce", "unfinished", NULL, NULL, -1, &key, &error), error);
    st_store_close(store); // rolls back
    assert_int_equal(number(other, "SELECT count(*) FROM problem"), 2);
    st_store_close(other);
}

static void a_failed_step_leaves_the_outer_transaction_usable(void **state) // S3
{
    (void)state;
    st_error error = {0};
    int64_t key;
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    assert_ok(st_store_begin(store, &error), error);
    assert_ok(st_store_problem(store, "reduce", "good", NULL, NULL, -1, &key, &error), error);
    assert_int_equal(st_store_template(store, "reduce", "h", "no json", &key, &error), ST_FAILED);
    assert_ok(st_store_problem(store, "reduce", "good too", NULL, NULL, -1, &key, &error), error);
    assert_ok(st_store_commit(store, &error), error);
    assert_int_equal(number(store, "SELECT count(*) FROM problem"), 2);
    assert_int_equal(number(store, "SELECT count(*) FROM template"), 0);
    st_store_close(store);
}

static void after_a_rollback_of_sqlite_nothing_more_is_written(void **state) // S4
{
    (void)state;
    st_error error = {0};
    int64_t key;
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    assert_ok(st_store_begin(store, &error), error);
    assert_ok(st_store_problem(store, "reduce", "half", NULL, NULL, -1, &key, &error), error);
    sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL); // as SQLite does when a disk is full
    assert_int_equal(st_store_problem(store, "reduce", "rest", NULL, NULL, -1, &key, &error), ST_FAILED);
    assert_int_equal(st_store_commit(store, &error), ST_FAILED);
    assert_non_null(strstr(error.what, "rolled back after an earlier error"));
    assert_int_equal(number(store, "SELECT count(*) FROM problem"), 0);
    assert_ok(st_store_problem(store, "reduce", "new", NULL, NULL, -1, &key, &error), error);
    st_store_close(store);
}

static void a_full_disk_is_said_and_loses_nothing(void **state) // S4
{
    (void)state;
    st_error error = {0};
    st_session_row session;
    int64_t problem, candidate;
    st_store *store = open_store(in_folder("full.db"), ST_STORE_WRITE);
    assert_ok(add_session(store, "reduce", "GPU-1", "580", &session, &error), error);
    char sql[64];
    snprintf(sql, sizeof sql, "PRAGMA max_page_count = %lld",
             (long long)number(store, "PRAGMA page_count") + 4);
    number(store, sql);
    int kept = 0;
    st_code code = ST_OK;
    for (; code == ST_OK; kept++) {
        char configuration[32];
        assert_true(kept < 100000);
        snprintf(configuration, sizeof configuration, "BLOCK=%d", kept);
        code = add_candidate(store, &session, 1024, configuration, 5, &problem, &candidate, &error);
    }
    kept--;
    assert_int_equal(code, ST_FAILED);
    assert_non_null(strstr(error.what, "full"));
    assert_non_null(strstr(error.remedy, "room"));
    assert_int_equal(number(store, "SELECT count(*) FROM candidate"), kept);
    assert_int_equal(number(store, "SELECT count(*) FROM measurement"), kept);
    assert_int_equal(number(store, "SELECT count(*) FROM stall_lines"), kept);
    assert_sound(store);
    number(store, "PRAGMA max_page_count = 1000000"); // room again
    assert_ok(add_candidate(store, &session, 1024, "BLOCK=new", 5, &problem, &candidate, &error), error);
    st_store_close(store);
}

// A real failing write: the file may not grow beyond a limit. Exits with 0 when all was as it should be.
static int meet_the_limit(const char *path)
{
    st_error error = {0};
    st_session_row session;
    int64_t problem, candidate;
    st_store *store;
    struct rlimit limit = {256 << 10, 256 << 10};
    signal(SIGXFSZ, SIG_IGN);
    if (st_store_open(path, ST_STORE_WRITE, &store, &error) != ST_OK ||
        add_session(store, "reduce", "GPU-1", "580", &session, &error) != ST_OK ||
        setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 1;
    st_code code = ST_OK;
    for (int i = 0; code == ST_OK && i < 100000; i++) {
        char configuration[32];
        snprintf(configuration, sizeof configuration, "BLOCK=%d", i);
        code = add_candidate(store, &session, 1024, configuration, 5, &problem, &candidate, &error);
    }
    st_store_close(store);
    if (code == ST_FAILED && strstr(error.what, "full") && strstr(error.remedy, "room"))
        return 0;
    fprintf(stderr, "code %d: %s\n", (int)code, error.what);
    return 2;
}

static void a_failing_write_loses_nothing_that_was_committed(void **state)
{
    (void)state;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(meet_the_limit(in_folder("limit.db")));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    st_store *store = open_store(in_folder("limit.db"), ST_STORE_WRITE);
    int64_t kept = number(store, "SELECT count(*) FROM candidate");
    assert_true(kept > 0);
    assert_int_equal(number(store, "SELECT count(*) FROM measurement"), kept);
    assert_int_equal(number(store, "SELECT count(*) FROM stall_lines"), kept);
    assert_sound(store);
    st_store_close(store);
}

// --- opening -----------------------------------------------------------------------------------------------
static st_code try_open(const char *path, st_store_mode mode, st_error *error)
{
    st_store *store = (st_store *)1;
    st_code code = st_store_open(path, mode, &store, error);
    if (code == ST_OK)
        st_store_close(store);
    else
        assert_null(store);
    return code;
}

static void put(const char *path, const void *bytes, size_t length)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    fclose(file);
}

static void bad_paths_are_named(void **state) // O1
{
    (void)state;
    st_error error = {0};
    assert_int_equal(try_open(in_folder("absent.db"), ST_STORE_READ, &error), ST_NOTHING);
    assert_non_null(strstr(error.what, "absent.db"));
    assert_true(strlen(error.remedy) > 0);
    assert_int_equal(access(in_folder("absent.db"), F_OK), -1); // and none was made
    for (int mode = ST_STORE_READ; mode <= ST_STORE_WRITE; mode++) {
        assert_int_equal(try_open(folder, (st_store_mode)mode, &error), ST_FAILED);
        assert_non_null(strstr(error.what, "is a folder"));
        assert_int_equal(try_open("", (st_store_mode)mode, &error), ST_USAGE);
        assert_int_equal(try_open("/dev/null", (st_store_mode)mode, &error), ST_FAILED);
        put(in_folder("text.db"), "this is a text, not a database", 30);
        assert_int_equal(try_open(in_folder("text.db"), (st_store_mode)mode, &error), ST_FAILED);
        assert_non_null(strstr(error.what, "not a simtune store"));
        assert_int_equal(try_open(in_folder("text.db/below.db"), (st_store_mode)mode, &error), ST_FAILED);
    }
    struct stat status;
    assert_int_equal(stat(in_folder("text.db"), &status), 0);
    assert_int_equal(status.st_size, 30);
}

static void a_torn_file_is_said_to_be_damaged(void **state)
{
    (void)state;
    st_error error = {0};
    st_store_close(open_store(in_folder("torn.db"), ST_STORE_WRITE));
    FILE *file = fopen(in_folder("torn.db"), "r+b");
    unsigned char noise[4000];
    memset(noise, 0xa5, sizeof noise);
    fseek(file, 100, SEEK_SET);
    fwrite(noise, 1, sizeof noise, file);
    fclose(file);
    for (int mode = ST_STORE_READ; mode <= ST_STORE_WRITE; mode++) {
        assert_int_equal(try_open(in_folder("torn.db"), (st_store_mode)mode, &error), ST_FAILED);
        assert_non_null(strstr(error.what, "damaged"));
    }
}

static void folders_are_made_and_links_followed(void **state)
{
    (void)state;
    st_error error = {0};
    assert_ok(try_open(in_folder("a/b/c/new.db"), ST_STORE_WRITE, &error), error);
    assert_ok(try_open(in_folder("a/b/c/new.db"), ST_STORE_READ, &error), error);
    assert_int_equal(symlink(in_folder("a/b/c/new.db"), in_folder("link.db")), 0);
    st_store *store = open_store(in_folder("link.db"), ST_STORE_WRITE);
    int64_t key;
    assert_ok(st_store_problem(store, "reduce", "through", NULL, NULL, -1, &key, &error), error);
    assert_string_equal(st_store_path(store), in_folder("link.db"));
    st_store_close(store);
    store = open_store(in_folder("a/b/c/new.db"), ST_STORE_READ);
    assert_int_equal(number(store, "SELECT count(*) FROM problem"), 1);
    st_store_close(store);
    assert_int_equal(symlink(in_folder("nowhere.db"), in_folder("dangling.db")), 0);
    assert_int_equal(try_open(in_folder("dangling.db"), ST_STORE_READ, &error), ST_NOTHING);
    assert_ok(try_open(in_folder("strange %41?#&name.db"), ST_STORE_WRITE, &error), error);
    assert_ok(try_open(in_folder("strange %41?#&name.db"), ST_STORE_READ, &error), error);
}

static void the_default_is_in_xdg_data_home(void **state)
{
    (void)state;
    st_error error = {0};
    setenv("XDG_DATA_HOME", folder, 1);
    st_store *store = open_store(NULL, ST_STORE_WRITE);
    assert_string_equal(st_store_path(store), in_folder("simtune/history.db"));
    st_store_close(store);
    assert_int_equal(access(in_folder("simtune/history.db"), F_OK), 0);
    assert_ok(try_open(NULL, ST_STORE_READ, &error), error);
}

static void a_reader_cannot_write(void **state)
{
    (void)state;
    st_error error = {0};
    int64_t key;
    st_store_close(open_store(in_folder("reader.db"), ST_STORE_WRITE));
    st_store *stores[] = {open_store(in_folder("reader.db"), ST_STORE_READ),
                          open_store(":memory:", ST_STORE_READ)};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(st_store_begin(stores[i], &error), ST_FAILED);
        assert_int_equal(st_store_problem(stores[i], "r", "x", NULL, NULL, -1, &key, &error), ST_FAILED);
        assert_non_null(strstr(error.what, "reading only"));
        assert_int_not_equal(sqlite3_exec(stores[i]->db, "DELETE FROM problem", NULL, NULL, NULL),
                             SQLITE_OK);
        st_store_close(stores[i]);
    }
}

// As an ordinary user, to whom permissions apply; in a process of its own. Exits with the trial's answer.
static int as_nobody(int (*trial)(const char *path), const char *path)
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(77);
        _exit(trial(path));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int reads_two(const char *path)
{
    st_store *store;
    st_error error;
    for (int again = 0; again < 2; again++) {
        if (st_store_open(path, ST_STORE_READ, &store, &error) != ST_OK) {
            fprintf(stderr, "%s\n", error.what);
            return 1;
        }
        int64_t count = -1;
        st_statement statement;
        if (st_statement_open(store, &statement, "SELECT count(*) FROM problem", "t", NULL) == ST_OK)
            st_statement_number(&statement, &count, NULL, NULL);
        st_statement_close(&statement);
        st_store_close(store);
        if (count != 2)
            return 2;
    }
    return 0;
}

static int write_is_refused(const char *path)
{
    st_store *store;
    st_error error;
    st_code code = st_store_open(path, ST_STORE_WRITE, &store, &error);
    return code == ST_FAILED && strlen(error.remedy) > 0 &&
                   (strstr(error.what, "cannot be written") || strstr(error.what, "cannot be opened"))
               ? 0
               : 1;
}

static void read_only_files_and_folders_work(void **state) // O2: immutable, alone, shared
{
    (void)state;
    st_error error = {0};
    int64_t key;
    char db[256], wal[260];
    assert_int_equal(mkdir(in_folder("ro"), 0755), 0);
    chmod(folder, 0755);
    snprintf(db, sizeof db, "%s", in_folder("ro/a.db"));
    snprintf(wal, sizeof wal, "%s-wal", db);
    st_store *store = open_store(db, ST_STORE_WRITE);
    assert_ok(st_store_problem(store, "r", "one", NULL, NULL, -1, &key, &error), error);
    assert_ok(st_store_problem(store, "r", "two", NULL, NULL, -1, &key, &error), error);
    st_store_close(store);
    chmod(db, 0444);
    assert_int_equal(as_nobody(reads_two, db), 0); // file read-only, folder of another user
    chmod(in_folder("ro"), 0555);
    assert_int_equal(as_nobody(reads_two, db), 0); // immutable
    assert_int_equal(as_nobody(write_is_refused, db), 0);

    // A writer was killed: what it committed stands in the write-ahead log only.
    chmod(in_folder("ro"), 0755);
    chmod(db, 0644);
    sqlite3 *raw;
    assert_int_equal(sqlite3_open(db, &raw), SQLITE_OK);
    sqlite3_exec(raw, "DELETE FROM problem", NULL, NULL, NULL);
    sqlite3_close(raw);
    pid_t child = fork();
    if (child == 0) {
        st_store *mine;
        if (st_store_open(db, ST_STORE_WRITE, &mine, NULL) != ST_OK ||
            st_store_problem(mine, "r", "three", NULL, NULL, -1, &key, NULL) != ST_OK ||
            st_store_problem(mine, "r", "four", NULL, NULL, -1, &key, NULL) != ST_OK)
            _exit(1);
        _exit(0); // without closing
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    struct stat before, after;
    assert_int_equal(stat(wal, &before), 0);
    assert_true(before.st_size > 0);
    chmod(db, 0444);
    chmod(wal, 0444);
    chmod(in_folder("ro"), 0555);
    assert_int_equal(as_nobody(reads_two, db), 0); // shared, with the -shm file that was left
    chmod(in_folder("ro"), 0755);
    char shm[260];
    snprintf(shm, sizeof shm, "%s-shm", db);
    unlink(shm);
    chmod(in_folder("ro"), 0555);
    assert_int_equal(as_nobody(reads_two, db), 0); // alone
    assert_int_equal(stat(wal, &after), 0);
    assert_int_equal(before.st_size, after.st_size);
    chmod(in_folder("ro"), 0755);
}

static void a_reader_changes_no_byte(void **state) // O3
{
    (void)state;
    char command[600];
    st_error error = {0};
    int64_t key;
    st_store *store = open_store(in_folder("still.db"), ST_STORE_WRITE);
    assert_ok(st_store_problem(store, "r", "one", NULL, NULL, -1, &key, &error), error);
    st_store_close(store);
    snprintf(command, sizeof command, "cp -p %s %s", in_folder("still.db"), in_folder("still.copy"));
    assert_int_equal(system(command), 0);
    for (int i = 0; i < 3; i++)
        st_store_close(open_store(in_folder("still.db"), ST_STORE_READ));
    snprintf(command, sizeof command, "cmp %s %s && test ! %s -nt %s", in_folder("still.db"),
             in_folder("still.copy"), in_folder("still.db"), in_folder("still.copy"));
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_found_again_by_content),
        cmocka_unit_test(ids_are_the_same_in_every_store),
        cmocka_unit_test(a_device_keeps_what_is_known_and_the_better_speed),
        cmocka_unit_test(devices_are_listed_with_unknown_as_unknown),
        cmocka_unit_test(a_configuration_stands_as_json_too),
        cmocka_unit_test(a_template_is_kept_whole),
        cmocka_unit_test(samples_come_back_to_the_bit),
        cmocka_unit_test(a_measurement_is_never_replaced),
        cmocka_unit_test(a_candidate_is_one_row_and_may_be_completed),
        cmocka_unit_test(counters_keep_their_first_value),
        cmocka_unit_test(a_winner_belongs_to_its_session),
        cmocka_unit_test(sessions_go_their_way),
        cmocka_unit_test(a_session_needs_what_it_refers_to),
        cmocka_unit_test(transactions_nest),
        cmocka_unit_test(a_failed_step_leaves_the_outer_transaction_usable),
        cmocka_unit_test(after_a_rollback_of_sqlite_nothing_more_is_written),
        cmocka_unit_test(a_full_disk_is_said_and_loses_nothing),
        cmocka_unit_test(a_failing_write_loses_nothing_that_was_committed),
        cmocka_unit_test(bad_paths_are_named),
        cmocka_unit_test(a_torn_file_is_said_to_be_damaged),
        cmocka_unit_test(folders_are_made_and_links_followed),
        cmocka_unit_test(the_default_is_in_xdg_data_home),
        cmocka_unit_test(a_reader_cannot_write),
        cmocka_unit_test(read_only_files_and_folders_work),
        cmocka_unit_test(a_reader_changes_no_byte),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
