// SPDX-License-Identifier: Apache-2.0
// The store's basics: what is stored comes back, unknown is NULL both ways, ids are those of content,
// transactions nest, and a full disk loses nothing. Numbers refer to the invariants that
// open db/store.c (S), rows.c (R), candidates.c (C), sessions.c (E).
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
    assert_int_equal(number(store,
                            "SELECT read_gbs = 4500.5 AND copy_gbs = 3900 AND l2_bytes = 62914560"
                            " AND memory_bytes = 150754820096 AND facts = '{\"warp\":32}'"
                            " FROM device"),
                     1);
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
    assert_ok(st_store_configuration(store, "reduce",
                                     "BLOCK=256 FINISH=two_pass  X=-3 Y=1e3 E=", &key, &error),
              error);
    assert_int_equal(number(store, "SELECT json_extract(parameters, '$.BLOCK') = 256"
                                   " AND json_extract(parameters, '$.FINISH') = 'two_pass'"
                                   " AND json_extract(parameters, '$.X') = -3"
                                   " AND json_extract(parameters, '$.Y') = '1e3'"
                                   " AND json_extract(parameters, '$.E') = '' FROM configuration"),
                     1);
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
    assert_ok(st_store_template(store, "reduce", "abc", "{\"reduce.cu\":\"x\\n\"}", &key, &error),
              error);
    assert_ok(st_store_template_text(store, "abc", &text, &error), error);
    assert_string_equal(text, "{\"reduce.cu\":\"x\\n\"}");
    st_free(text);
    assert_int_equal(st_store_template_text(store, "abd", &text, &error), ST_NOTHING);
    assert_null(text);
    assert_int_equal(st_store_template(store, "reduce", "other", "not json", &key, &error),
                     ST_FAILED);
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
    assert_ok(add_candidate(store, &session, 1024, "BLOCK=1", 5, &problem, &candidate, &error),
              error);
    const double samples[] = {0.1, 1e-300, 12345.678901234567, NAN, 3};
    st_measurement_row row = some_measurement(candidate, "finals", 2, "warm", samples, 5),
                       kept = {0};
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
    assert_int_equal(number(store, "SELECT hex(samples) LIKE '9A9999999999B93F%' FROM measurement"),
                     1);
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
    assert_ok(add_candidate(store, &session, 1024, "BLOCK=1", 5, &problem, &candidate, &error),
              error);
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
                                   " FROM measurement WHERE phase = 'halving'"),
                     1);
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
    kept->detail =
        (char *)(row->detail && strcmp(row->detail, "line 1\nline 2") == 0 ? "same" : NULL);
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
    assert_int_equal(number(store,
                            "SELECT outcome = 'correct' AND detail IS NULL AND registers = 40"
                            " AND occupancy = 0.5 FROM candidate"),
                     1);
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
    assert_ok(add_candidate(store, &session, 1024, "BLOCK=1", 5, &problem, &candidate, &error),
              error);
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
    double seconds = 0;
    assert_ok(st_store_profile_seconds(store, candidate, "pc", &seconds, &error), error);
    assert_true(seconds == 0.75);
    assert_ok(st_store_profile_seconds(store, candidate, "range", &seconds, &error), error);
    assert_true(isnan(seconds));
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
                                   " max(default_key) IS NULL FROM winner"),
                     1);
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
    assert_ok(st_store_session_end(store, session.key, ST_SESSION_INTERRUPTED, NULL, &error),
              error);
    assert_int_equal(st_store_session_latest(store, "reduce", &found, &error), ST_NOTHING);
    assert_ok(st_store_session_unfinished(store, "key", &found, &error), error);
    assert_int_equal(found.status, ST_SESSION_INTERRUPTED);
    assert_true(found.finished_ms >= found.started_ms);
    st_session_row_release(&found);

    assert_ok(
        st_store_session_end(store, session.key, ST_SESSION_FINISHED, "{\"trust\":1}", &error),
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
    st_session_row session = {.resume_key = "k",
                              .family = "reduce",
                              .device_key = 1,
                              .toolchain_key = 1,
                              .template_key = 1};
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
    assert_int_equal(st_store_problem(store, "reduce", "rest", NULL, NULL, -1, &key, &error),
                     ST_FAILED);
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
    assert_ok(add_candidate(store, &session, 1024, "BLOCK=new", 5, &problem, &candidate, &error),
              error);
    st_store_close(store);
}

// A real failing write: the file may not grow beyond a limit. Exits with 0 when all was as it should be.
static int meet_the_limit(const char *path)
{
    st_error error = {0};
    st_session_row session;
    int64_t problem, candidate;
    st_store *store;
    struct rlimit limit = {1 << 20, 1 << 20};
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
    if (code == ST_FAILED && strstr(error.what, "disk I/O error") && strstr(error.remedy, "room"))
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
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
