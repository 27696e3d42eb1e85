// SPDX-License-Identifier: Apache-2.0
// A damaged store is not written to. Proven here: damage of any inner page, of the list of tables and of the list of free
// pages is seen before a writer begins, and the file stays as it is; damage that a writer meets ends its transaction and
// every later one; a sound store that others write meanwhile is never taken for a damaged one.
#include "tests/unit/db/damage.h"

#include <sys/wait.h>

enum { PAGE = 4096 };
static unsigned char *whole;
static size_t length;
static char path[256];

static int make_original(void **state)
{
    if (make_fast_folder(state) != 0)
        return -1;
    snprintf(path, sizeof path, "%s/a.db", folder);
    make_big_store(path);
    length = read_bytes(path, &whole);
    return 0;
}

static int remove_original(void **state)
{
    st_free(whole);
    return remove_folder(state);
}

static void assert_untouched(const unsigned char *bytes)
{
    unsigned char *now;
    assert_int_equal(read_bytes(path, &now), length);
    assert_memory_equal(now, bytes, length);
    st_free(now);
}

static void assert_refused(const unsigned char *bytes, const char *words)
{
    st_error error = {0};
    st_store *store = (st_store *)1;
    write_bytes(path, bytes, length);
    if (st_store_open(path, ST_STORE_WRITE, &store, &error) != ST_DAMAGED)
        fail_msg("%s: it was opened (%s)", words, error.what);
    assert_null(store);
    assert_non_null(strstr(error.what, "damaged"));
    assert_non_null(strstr(error.remedy, "simtune db check"));
    assert_untouched(bytes);
}

static void inner_pages_are_looked_at(void **state)
{
    (void)state;
    unsigned char *bytes = st_malloc(length);
    size_t seen = 0;
    for (size_t page = 1; page < length / PAGE; page++) {
        if (whole[page * PAGE] != 0x05 && whole[page * PAGE] != 0x02)
            continue;
        seen++;
        memcpy(bytes, whole, length);
        memset(bytes + page * PAGE, 0, PAGE);
        assert_refused(bytes, "zeroed");
        memcpy(bytes, whole, length);
        bytes[page * PAGE + 8] ^= 0x40; // its last child, beyond the end of the file
        assert_refused(bytes, "a child that is not there");
        memcpy(bytes, whole, length);
        bytes[page * PAGE] = whole[page * PAGE] == 0x05 ? 0x02 : 0x05;
        assert_refused(bytes, "a page of another kind");
    }
    assert_true(seen >= 4);
    memcpy(bytes, whole, length);
    memset(bytes + 100, 0xee, PAGE - 100);
    assert_refused(bytes, "the list of tables");
    st_free(bytes);
    write_bytes(path, whole, length);
    st_store_close(open_store(path, ST_STORE_WRITE));
}

// Free pages that are said to be somebody's would be written over.
static void the_list_of_free_pages_is_looked_at(void **state)
{
    (void)state;
    st_error error = {0};
    unsigned char *old = whole, *bytes;
    size_t old_length = length;
    write_bytes(path, whole, length);
    st_store *store = open_store(path, ST_STORE_WRITE);
    assert_ok(st_script_run(store, "DELETE FROM measurement; DELETE FROM stall_lines", "t", &error), error);
    st_store_close(store);
    length = read_bytes(path, &bytes);
    whole = bytes;
    size_t trunk = (size_t)bytes[34] << 8 | bytes[35];
    assert_true(trunk > 1 && trunk <= length / PAGE);
    unsigned char *copy = st_malloc(length);
    memcpy(copy, bytes, length);
    copy[(trunk - 1) * PAGE + 11] = 2; // the first of its leaves: the root of a table
    copy[(trunk - 1) * PAGE + 10] = copy[(trunk - 1) * PAGE + 9] = 0;
    assert_refused(copy, "a table among the free pages");
    memcpy(copy, bytes, length);
    copy[39] ^= 1; // how many there are
    assert_refused(copy, "a wrong count");
    st_free(copy);
    st_free(bytes);
    whole = old;
    length = old_length;
}

// What nobody looks at before: a leaf. Who reads it in a transaction commits nothing, and begins no other.
static void damage_that_is_met_ends_writing(void **state)
{
    (void)state;
    st_error error = {0};
    int64_t key, count;
    unsigned char *bytes = st_malloc(length);
    memcpy(bytes, whole, length);
    size_t leaf = 0;
    for (size_t page = 1; page < length / PAGE; page++) // the last leaf of samples
        if (bytes[page * PAGE] == 0x0d && memmem(bytes + page * PAGE, PAGE, "finals", 6) &&
            !memmem(bytes + page * PAGE, PAGE, "CREATE", 6))
            leaf = page;
    assert_true(leaf > 0);
    memset(bytes + leaf * PAGE + 3, 0xee, 5);
    write_bytes(path, bytes, length);
    st_store *store = open_store(path, ST_STORE_WRITE);
    assert_ok(st_store_begin(store, &error), error);
    assert_ok(st_store_problem(store, "reduce", "lost", NULL, NULL, -1, &key, &error), error);
    assert_int_equal(st_ask_number(store, "SELECT sum(length(samples)) FROM measurement", "t", &count, &error), ST_DAMAGED);
    assert_int_equal(st_store_problem(store, "reduce", "later", NULL, NULL, -1, &key, &error), ST_DAMAGED);
    assert_int_equal(st_store_commit(store, &error), ST_DAMAGED);
    assert_non_null(strstr(error.what, "nothing more is written"));
    assert_int_equal(store->depth, 0);
    assert_int_equal(st_store_begin(store, &error), ST_DAMAGED);
    assert_int_equal(number(store, "SELECT count(*) FROM problem WHERE text IN ('lost', 'later')"), 0); // reading goes on
    st_store_close(store);
    st_free(bytes);
}

// Pages are read while they are written: that looks odd now and then, and is never said to be damage.
static void a_store_that_others_write_is_sound(void **state)
{
    (void)state;
    st_error error = {0};
    const char *live = in_folder("live.db");
    st_store_close(open_store(live, ST_STORE_WRITE));
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        st_store *store;
        st_session_row session;
        int64_t problem, candidate;
        st_code code = st_store_open(live, ST_STORE_WRITE, &store, &error);
        if (code == ST_OK)
            code = add_session(store, "reduce", "GPU-1", "580", &session, &error);
        for (int i = 0; code == ST_OK && i < 150; i++) {
            char text[32];
            snprintf(text, sizeof text, "A=%d", i);
            code = add_candidate(store, &session, 1024, text, 5, &problem, &candidate, &error);
            if (i % 10 == 0) // the log begins anew, under the feet of whoever reads it
                sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_RESTART, NULL, NULL);
        }
        _exit(code == ST_OK ? 0 : 1);
    }
    int status, times = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        st_store_close(open_store(live, ST_STORE_WRITE));
        times++;
    }
    assert_int_equal(status, 0);
    assert_true(times > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inner_pages_are_looked_at),
        cmocka_unit_test(the_list_of_free_pages_is_looked_at),
        cmocka_unit_test(damage_that_is_met_ends_writing),
        cmocka_unit_test(a_store_that_others_write_is_sound),
    };
    return cmocka_run_group_tests(tests, make_original, remove_original);
}
