// SPDX-License-Identifier: Apache-2.0
// Reading what is left of a damaged store. Proven here: whatever page is damaged, and however, salvage neither
// crashes nor changes the file; what it saves is sound, and are rows of the original; little is lost beyond the
// page that was damaged.
#include "tests/unit/db/damage.h"

#include "db/salvage.h"

static unsigned char *whole; // the sound file
static size_t length;
static char original[256], damaged[256], log_path[300];
enum { PAGE = 4096 };

static int make_original(void **state)
{
    if (make_fast_folder(state) != 0)
        return -1;
    snprintf(original, sizeof original, "%s/original.db", folder);
    snprintf(damaged, sizeof damaged, "%s/damaged.db", folder);
    snprintf(log_path, sizeof log_path, "%s-wal", damaged);
    setenv("TMPDIR", folder, 1);
    make_big_store(original);
    length = read_bytes(original, &whole);
    return 0;
}

static int remove_original(void **state)
{
    st_free(whole);
    return remove_folder(state);
}

static int64_t saved_of(const st_salvage_report *report, const char *table)
{
    for (size_t i = 0; i < report->count; i++)
        if (strcmp(report->tables[i].name, table) == 0)
            return report->tables[i].saved;
    return -1;
}

// Salvages `bytes` and holds it to the promises. Returns candidates saved, -1 when nothing could be.
static int64_t salvage(const unsigned char *bytes, size_t size, st_salvage_report *report, int64_t *untrue)
{
    st_error error = {0};
    st_store *store = NULL;
    unsigned char *after = NULL;
    write_bytes(damaged, bytes, size);
    st_code code = st_salvage_open(damaged, &store, report, &error);
    assert_int_equal(read_bytes(damaged, &after), size);
    assert_memory_equal(after, bytes, size);
    st_free(after);
    if (code != ST_OK) {
        assert_null(store);
        assert_true(error.what[0] != '\0');
        return -1;
    }
    assert_sound(store);
    *untrue = rows_not_in(store, original);
    int64_t candidates = saved_of(report, "candidate");
    assert_int_equal(number(store, "SELECT count(*) FROM candidate"), candidates);
    st_salvage_close(store);
    return candidates;
}

static void a_sound_file_is_saved_whole(void **state)
{
    (void)state;
    st_salvage_report report;
    int64_t untrue;
    assert_int_equal(salvage(whole, length, &report, &untrue), BIG_CANDIDATES);
    assert_true(report.complete);
    assert_int_equal(untrue, 0);
    assert_int_equal(saved_of(&report, "measurement"), 2 * BIG_CANDIDATES);
    assert_int_equal(saved_of(&report, "counter"), 2 * BIG_CANDIDATES);
    assert_int_equal(saved_of(&report, "winner"), 2);
    assert_int_equal(saved_of(&report, "baseline"), 2);
    assert_int_equal(report.pages, length / PAGE);
}

// Which pages hold rows, and not entries of an index alone.
static bool has_rows(size_t page)
{
    return whole[page * PAGE] == 0x0d;
}

// Three tests damage pages, each in its way. In a day's test each tries every page that leads to others, and a
// sixth of the leaves, not the same; the one of the label long tries all (tests/unit/faults.h).
static bool is_tried(size_t page, size_t which)
{
    bool leaf = whole[page * PAGE] == 0x0d || whole[page * PAGE] == 0x0a || whole[page * PAGE] == 0;
    return !leaf || page == 0 || page % 6 == which || getenv("SIMTUNE_ALL_FAULTS");
}

static void any_page_zeroed(void **state)
{
    (void)state;
    unsigned char *bytes = st_malloc(length);
    size_t hurt = 0;
    for (size_t page = 0; page < length / PAGE; page++) {
        st_salvage_report report;
        int64_t untrue = -1;
        if (!is_tried(page, 0))
            continue;
        memcpy(bytes, whole, length);
        memset(bytes + page * PAGE, 0, PAGE);
        int64_t candidates = salvage(bytes, length, &report, &untrue);
        if (candidates < 0)
            fail_msg("nothing was saved after page %zu was lost", page + 1);
        assert_int_equal(untrue, 0);
        if (has_rows(page))
            assert_false(report.complete);
        // A page holds some of the candidates; a device, a session or the template takes all of its own along.
        hurt += candidates < BIG_CANDIDATES / 2;
    }
    assert_true(hurt <= 12); // device, toolchain, session, problem, half of the configurations, the template's six
    st_free(bytes);
}

static void any_page_with_flipped_bits(void **state)
{
    (void)state;
    unsigned char *bytes = st_malloc(length);
    uint64_t random = 88172645463325252U;
    for (size_t round = 0; round < 1; round++)
        for (size_t page = 0; page < length / PAGE; page++) {
            st_salvage_report report;
            int64_t untrue = 0;
            if (!is_tried(page, 1))
                continue;
            memcpy(bytes, whole, length);
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            bytes[page * PAGE + random % PAGE] ^= (unsigned char)(1U << (random >> 32) % 8);
            int64_t candidates = salvage(bytes, length, &report, &untrue);
            assert_true(candidates >= 0);
            assert_true(untrue <= 1); // a value that nothing else tells of
        }
    st_free(bytes);
}

static void any_page_of_noise(void **state)
{
    (void)state;
    unsigned char *bytes = st_malloc(length);
    uint64_t random = 1234567;
    for (size_t page = 0; page < length / PAGE; page++) {
        st_salvage_report report;
        int64_t untrue = 0;
        if (!is_tried(page, 2))
            continue;
        memcpy(bytes, whole, length);
        for (size_t i = page ? 0 : 100; i < PAGE; i++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            bytes[page * PAGE + i] = (unsigned char)(random >> 24);
        }
        if (page)
            bytes[page * PAGE] = whole[page * PAGE]; // it still says what kind of page it is
        assert_true(salvage(bytes, length, &report, &untrue) >= 0);
        assert_int_equal(untrue, 0);
    }
    st_free(bytes);
}

static void cut_off_anywhere(void **state)
{
    (void)state;
    int64_t before = BIG_CANDIDATES;
    for (size_t size = length; size < length + 1; size -= getenv("SIMTUNE_ALL_FAULTS") ? 9000 : 27000) {
        st_salvage_report report;
        int64_t untrue = 0, candidates = salvage(whole, size, &report, &untrue);
        assert_int_equal(untrue, 0);
        assert_true(candidates <= before);
        before = candidates;
        if (candidates >= 0 && size < length)
            assert_true(report.truncated || size % PAGE == 0 || !report.complete);
    }
}

static void header_lost(void **state)
{
    (void)state;
    st_salvage_report report;
    int64_t untrue = 0;
    unsigned char *bytes = st_malloc(length);
    memcpy(bytes, whole, length);
    memset(bytes, 0xff, 100);
    assert_int_equal(salvage(bytes, length, &report, &untrue), BIG_CANDIDATES);
    assert_true(report.header_damaged);
    assert_int_equal(untrue, 0);
    // The first page with the list of tables: tables are told by their rows.
    memset(bytes, 0xff, PAGE);
    assert_int_equal(salvage(bytes, length, &report, &untrue), BIG_CANDIDATES);
    assert_true(report.schema_damaged);
    assert_int_equal(untrue, 0);
    assert_int_equal(saved_of(&report, "counter"), 2 * BIG_CANDIDATES);
    assert_int_equal(saved_of(&report, "measurement"), 2 * BIG_CANDIDATES);
    assert_int_equal(saved_of(&report, "metric"), 2);
    assert_int_equal(saved_of(&report, "stall_lines"), BIG_CANDIDATES);
    assert_int_equal(saved_of(&report, "winner"), 2);
    st_free(bytes);
}

static void nothing_of_ours(void **state)
{
    (void)state;
    st_salvage_report report;
    st_store *store = NULL;
    st_error error = {0};
    int64_t untrue = 0;
    unsigned char text[5000];
    memset(text, 'a', sizeof text);
    assert_int_equal(salvage(text, sizeof text, &report, &untrue), -1);
    assert_int_equal(salvage(text, 3, &report, &untrue), -1);
    assert_int_equal(salvage(text, 0, &report, &untrue), -1);
    assert_int_equal(st_salvage_open(in_folder("missing.db"), &store, &report, &error), ST_NOTHING);
    assert_int_equal(st_salvage_open(folder, &store, &report, &error), ST_FAILED);
}

static void a_newer_store_is_refused(void **state)
{
    (void)state;
    st_salvage_report report;
    int64_t untrue = 0;
    unsigned char *bytes = st_malloc(length);
    memcpy(bytes, whole, length);
    bytes[63] = 200;
    assert_int_equal(salvage(bytes, length, &report, &untrue), -1);
    st_free(bytes);
}

// What stands in the log alone is read too, up to the last commit that is whole.
static void the_log_is_read(void **state)
{
    (void)state;
    st_error error = {0};
    st_session_row session;
    st_store *store = open_store(in_folder("live.db"), ST_STORE_WRITE), *saved = NULL;
    int64_t problem, candidate;
    assert_ok(st_script_run(store, "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA wal_autocheckpoint = 0", "t", &error),
              error);
    assert_ok(add_session(store, "reduce", "GPU-1", "580", &session, &error), error);
    for (int i = 0; i < 20; i++) {
        char configuration[32];
        snprintf(configuration, sizeof configuration, "A=%d", i);
        assert_ok(add_candidate(store, &session, 1024, configuration, 5, &problem, &candidate, &error), error);
    }
    unsigned char *file, *log;
    size_t file_length = read_bytes(in_folder("live.db"), &file), log_length = read_bytes(in_folder("live.db-wal"), &log);
    assert_true(log_length > 100000);
    int64_t before = 20;
    st_salvage_report report;
    for (size_t size = log_length; size < log_length + 1; size -= getenv("SIMTUNE_ALL_FAULTS") ? 37000 : 111000) {
        write_bytes(damaged, file, file_length);
        write_bytes(log_path, log, size);
        if (st_salvage_open(damaged, &saved, &report, &error) != ST_OK)
            continue; // nothing was committed yet
        assert_sound(saved);
        int64_t candidates = saved_of(&report, "candidate");
        assert_true(candidates <= before);
        assert_int_equal(number(saved, "SELECT count(*) FROM measurement"), candidates); // whole commits only
        if (size == log_length)
            assert_int_equal(candidates, 20);
        before = candidates;
        st_salvage_close(saved);
    }
    assert_true(before < 20);
    log[30] ^= 1; // its checksum
    write_bytes(log_path, log, log_length);
    if (st_salvage_open(damaged, &saved, &report, &error) == ST_OK)
        assert_true(report.log_damaged);
    st_salvage_close(saved);
    unlink(log_path);
    st_free(file);
    st_free(log);
    st_store_close(store);
}

// What was deleted stays deleted, although its bytes are still in the file.
static void deleted_rows_stay_deleted(void **state)
{
    (void)state;
    st_error error = {0};
    const char *path = in_folder("pruned.db");
    write_bytes(path, whole, length);
    st_store *store = open_store(path, ST_STORE_WRITE);
    assert_ok(st_script_run(store,
                            "DELETE FROM counter; DELETE FROM measurement WHERE phase = 'finals';"
                            "DELETE FROM stall_lines WHERE candidate_key % 2", "t", &error), error);
    st_store_close(store);
    unsigned char *bytes;
    size_t size = read_bytes(path, &bytes);
    for (size_t page = 1; page < size / PAGE; page++) {
        if (bytes[page * PAGE] != 0x05)
            continue; // lose an interior page, so that pages without owner are looked at
        unsigned char *copy = st_malloc(size);
        memcpy(copy, bytes, size);
        memset(copy + page * PAGE, 0, PAGE);
        st_salvage_report report;
        int64_t untrue = 0;
        assert_true(salvage(copy, size, &report, &untrue) > 0);
        assert_int_equal(untrue, 0);
        assert_int_equal(saved_of(&report, "counter"), 0);
        assert_true(saved_of(&report, "measurement") <= BIG_CANDIDATES);
        assert_true(saved_of(&report, "stall_lines") <= BIG_CANDIDATES / 2);
        st_free(copy);
    }
    st_free(bytes);
}

static void faults_are_reported(void **state)
{
    (void)state;
    const st_fault kinds[] = {ST_FAULT_SQLITE, ST_FAULT_ALLOCATION, ST_FAULT_SYSTEM};
    st_error error = {0};
    st_session_row session;
    int64_t problem, candidate;
    const char *path = in_folder("small.db");
    st_store *store = open_store(path, ST_STORE_WRITE);
    assert_ok(add_session(store, "reduce", "GPU-1", "580", &session, &error), error);
    assert_ok(add_candidate(store, &session, 1024, "A=1", 5, &problem, &candidate, &error), error);
    st_store_close(store);
    for (size_t k = 0; k < 3; k++)
        for (unsigned long n = 1;; n += getenv("SIMTUNE_ALL_FAULTS") ? 1 : 1 + n / 6) { // hundreds of them are in the making of the new store
            st_salvage_report report;
            st_fault_arm(kinds[k], n);
            st_code code = st_salvage_open(path, &store, &report, &error);
            bool injected = st_fault_injected(kinds[k]);
            st_fault_arm(kinds[k], 0);
            // A page that cannot be read (a system fault) is a damaged page.
            assert_true(code == ST_OK || (injected && error.what[0] && !store));
            if (code == ST_OK && injected && kinds[k] == ST_FAULT_ALLOCATION)
                fail_msg("allocation %lu failed and nobody noticed", n);
            st_salvage_close(store);
            if (!injected)
                break;
            assert_true(n < 20000);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_file_is_saved_whole), cmocka_unit_test(any_page_zeroed),
        cmocka_unit_test(any_page_with_flipped_bits),  cmocka_unit_test(any_page_of_noise),
        cmocka_unit_test(cut_off_anywhere),            cmocka_unit_test(header_lost),
        cmocka_unit_test(nothing_of_ours),             cmocka_unit_test(a_newer_store_is_refused),
        cmocka_unit_test(the_log_is_read),             cmocka_unit_test(deleted_rows_stay_deleted),
        cmocka_unit_test(faults_are_reported),
    };
    return cmocka_run_group_tests(tests, make_original, remove_original);
}
