// SPDX-License-Identifier: Apache-2.0
// Opening a store: a bad path or file gives one clear message, folders are made and links followed, a
// reader writes nothing, and read-only files and folders can be read, also after a killed writer. Numbers
// refer to the invariants that open db/open.c (O).
#include "fixture.h"

#include <sys/wait.h>

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
        assert_int_equal(try_open(in_folder("text.db/below.db"), (st_store_mode)mode, &error),
                         ST_FAILED);
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
        assert_int_equal(try_open(in_folder("torn.db"), (st_store_mode)mode, &error), ST_DAMAGED);
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
        assert_int_equal(st_store_problem(stores[i], "r", "x", NULL, NULL, -1, &key, &error),
                         ST_FAILED);
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
        if (st_statement_open(store, &statement, "SELECT count(*) FROM problem", "t", NULL) ==
            ST_OK)
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
                   (strstr(error.what, "cannot be written") ||
                    strstr(error.what, "cannot be opened"))
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
    snprintf(command, sizeof command, "cp -p %s %s", in_folder("still.db"),
             in_folder("still.copy"));
    assert_int_equal(system(command), 0);
    for (int i = 0; i < 3; i++)
        st_store_close(open_store(in_folder("still.db"), ST_STORE_READ));
    snprintf(command, sizeof command, "cmp %s %s && test ! %s -nt %s", in_folder("still.db"),
             in_folder("still.copy"), in_folder("still.db"), in_folder("still.copy"));
    assert_int_equal(system(command), 0);
}

static size_t files_like(const char *begin)
{
    char command[300];
    snprintf(command, sizeof command, "ls -A %s | grep -c '^%s'", folder, begin);
    FILE *pipe = popen(command, "r");
    int count = -1;
    assert_non_null(pipe);
    assert_int_equal(fscanf(pipe, "%d", &count), 1);
    pclose(pipe);
    return (size_t)count;
}

// A new store comes to its name when all went well; whoever fails leaves nothing.
static void a_new_store_is_made_aside(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store;
    int64_t key;
    const char *path = in_folder("aside.db");
    for (int fails = 0; fails < 3; fails++) { // closed, settled with an error, settled
        assert_ok(st_store_open_aside(path, &store, &error), error);
        assert_string_equal(st_store_path(store), path);
        assert_ok(st_store_problem(store, "reduce", "x", NULL, NULL, -1, &key, &error), error);
        assert_int_equal(access(path, F_OK), -1);
        if (fails == 0)
            st_store_close(store);
        else
            assert_int_equal(st_store_settle(store, fails == 1 ? ST_FAILED : ST_OK, &error), fails == 1 ? ST_FAILED : ST_OK);
        assert_int_equal(files_like("aside"), fails == 2);
    }
    // One that is there is opened as ever.
    assert_ok(st_store_open_aside(path, &store, &error), error);
    assert_int_equal(number(store, "SELECT count(*) FROM problem"), 1);
    assert_ok(st_store_problem(store, "reduce", "y", NULL, NULL, -1, &key, &error), error);
    assert_int_equal(st_store_settle(store, ST_FAILED, &error), ST_FAILED);
    store = open_store(path, ST_STORE_READ);
    assert_int_equal(number(store, "SELECT count(*) FROM problem"), 2);
    st_store_close(store);
    assert_int_equal(st_store_settle(NULL, ST_NOTHING, &error), ST_NOTHING);
}

static void a_store_that_another_made_meanwhile_stays(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *store, *other;
    int64_t key;
    const char *path = in_folder("race.db");
    assert_ok(st_store_open_aside(path, &store, &error), error);
    other = open_store(path, ST_STORE_WRITE);
    assert_ok(st_store_problem(other, "reduce", "theirs", NULL, NULL, -1, &key, &error), error);
    st_store_close(other);
    assert_int_equal(st_store_settle(store, ST_OK, &error), ST_FAILED);
    assert_non_null(strstr(error.what, "another program made the store"));
    other = open_store(path, ST_STORE_READ);
    assert_int_equal(number(other, "SELECT count(*) FROM problem WHERE text = 'theirs'"), 1);
    st_store_close(other);
    assert_int_equal(files_like("race.db.making"), 0);
    // Nor can it come where nothing can be put.
    assert_ok(st_store_open_aside(in_folder("fault.db"), &store, &error), error);
    st_fault_arm(ST_FAULT_SYSTEM, 1);
    assert_int_equal(st_store_settle(store, ST_OK, &error), ST_FAILED);
    st_fault_arm(ST_FAULT_SYSTEM, 0);
    assert_non_null(strstr(error.what, "cannot make the store"));
    assert_int_equal(files_like("fault"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_paths_are_named),
        cmocka_unit_test(a_torn_file_is_said_to_be_damaged),
        cmocka_unit_test(folders_are_made_and_links_followed),
        cmocka_unit_test(the_default_is_in_xdg_data_home),
        cmocka_unit_test(a_reader_cannot_write),
        cmocka_unit_test(read_only_files_and_folders_work),
        cmocka_unit_test(a_reader_changes_no_byte),
        cmocka_unit_test(a_new_store_is_made_aside),
        cmocka_unit_test(a_store_that_another_made_meanwhile_stays),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
