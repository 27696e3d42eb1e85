// SPDX-License-Identifier: Apache-2.0
// The file system below a store: the table knows the kernel's numbers and names, mounts are read as proc(5)
// writes them, locks and shared memory are really tried, and what follows from each (journal, refusal, note)
// is right. SIMTUNE_FILE_SYSTEM stands in for file systems that are not here. Numbers refer to the invariants
// that open db/place.c (P) and db/locking.c (L).
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/wait.h>

// --- the table -------------------------------------------------------------------------------------------------
static void the_kernels_numbers_are_known(void **state)
{
    (void)state;
    static const struct {
        unsigned magic;
        const char *name;
        bool shared;
    } rows[] = {
        {NFS_SUPER_MAGIC, "nfs", true},     {SMB_SUPER_MAGIC, "smb", true},   {CIFS_SUPER_MAGIC, "cifs", true},
        {SMB2_SUPER_MAGIC, "smb2", true},   {V9FS_MAGIC, "9p", true},         {AFS_SUPER_MAGIC, "afs", true},
        {AFS_FS_MAGIC, "afs", true},        {CODA_SUPER_MAGIC, "coda", true}, {OCFS2_SUPER_MAGIC, "ocfs2", true},
        {CEPH_SUPER_MAGIC, "ceph", true},   {0x0BD00BD0, "lustre", true},     {0x47504653, "gpfs", true},
        {0x19830326, "beegfs", true},       {FUSE_SUPER_MAGIC, "fuse", false}, // its kind stands in mountinfo
        {EXT4_SUPER_MAGIC, "", false},      {XFS_SUPER_MAGIC, "", false},     {BTRFS_SUPER_MAGIC, "", false},
        {TMPFS_MAGIC, "", false},           {OVERLAYFS_SUPER_MAGIC, "", false}, {0, "", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool shared;
        assert_string_equal(st_place_by_magic(rows[i].magic, &shared), rows[i].name);
        assert_int_equal(shared, rows[i].shared);
    }
}

static void names_are_judged(void **state)
{
    (void)state;
    static const char *const shared[] = {"nfs", "nfs4", "cifs", "smb3", "9p", "lustre", "gpfs", "beegfs", "ceph",
                                         "afs", "virtiofs", "fuse", "fuse.sshfs", "fuse.glusterfs",
                                         "fuse.never-heard-of"};
    static const char *const own[] = {"ext4", "xfs", "btrfs", "tmpfs", "overlay", "zfs", "f2fs", "ntfs3",
                                      "fuseblk", "fuse.bindfs", "fuse.fuse-overlayfs", ""};
    for (size_t i = 0; i < sizeof shared / sizeof shared[0]; i++)
        assert_true(st_place_name_is_shared(shared[i]));
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        assert_false(st_place_name_is_shared(own[i]));
}

static void mounts_are_read(void **state)
{
    (void)state;
    st_file_place place = {0};
    static const char nfs[] = "36 35 0:52 / /mnt/a rw,relatime shared:1 master:2 - nfs4 srv:/data "
                              "rw,vers=4.2,hard,local_lock=none,addr=10.0.0.1\n";
    assert_true(st_place_read_mount(nfs, 36, 0, 0, &place));
    assert_string_equal(place.file_system, "nfs4");
    assert_string_equal(place.source, "srv:/data");
    assert_true(place.shared);
    assert_int_equal(place.locks, ST_LOCKS_UNTRIED);
    assert_false(st_place_read_mount(nfs, 37, 0, 52, &place)); // another mount
    assert_true(st_place_read_mount(nfs, 0, 0, 52, &place));   // by the device where ids are not to be had
    assert_false(st_place_read_mount(nfs, 0, 0, 53, &place));
    // Options that keep locks on this host.
    static const char *const options[] = {"nolock", "local_lock=all", "local_lock=posix", "localflock", "nobrl"};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        char line[200];
        snprintf(line, sizeof line, "36 35 0:52 / /mnt rw - nfs srv:/x rw,%s,vers=3", options[i]);
        place = (st_file_place){0};
        assert_true(st_place_read_mount(line, 36, 0, 0, &place));
        assert_int_equal(place.locks, ST_LOCKS_LOCAL);
    }
    place = (st_file_place){0}; // whole words only, and only where others have the file
    assert_true(st_place_read_mount("1 0 8:1 / / rw - nfs srv:/ rw,nolocks,xnolock", 1, 0, 0, &place));
    assert_int_equal(place.locks, ST_LOCKS_UNTRIED);
    place = (st_file_place){0};
    assert_true(st_place_read_mount("1 0 8:1 / / rw - ext4 /dev/sda1 rw,nolock", 1, 0, 0, &place));
    assert_int_equal(place.locks, ST_LOCKS_UNTRIED);
    assert_false(place.shared);
    static const char *const bad[] = {"", "\n", "1", "1 0 8:1 / / rw", "1 0 8:1 / / rw - ", "1 0 8:1 / / rw - ext4",
                                      "x y z - a b c", " - nfs srv:/ rw"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(st_place_read_mount(bad[i], 1, 8, 1, &place));
}

static void what_is_here_is_found(void **state)
{
    (void)state;
    st_error error = {0};
    st_file_place place;
    assert_ok(st_place_look("/proc", &place, &error), error);
    assert_string_equal(place.file_system, "proc");
    assert_false(place.shared);
    assert_int_equal(st_place_look("/nowhere/at/all", &place, &error), ST_FAILED);
    assert_non_null(strstr(error.what, "/nowhere/at/all"));
    st_text where;
    st_text_init(&where);
    assert_ok(st_place_examine(in_folder("not/yet/there.db"), &place, &where, &error), error);
    assert_true(strlen(place.file_system) > 0);
    assert_non_null(strstr(st_text_string(&where), "not/yet/there.db"));
    assert_ok(st_place_examine("plain-name-in-this-folder.db", &place, NULL, &error), error);
    st_text_release(&where);
}

// --- trying ----------------------------------------------------------------------------------------------------
static void locks_and_memory_are_tried(void **state) // P2, P3
{
    (void)state;
    st_error error = {0};
    st_file_place place = {.file_system = "nfs4", .shared = true, .memory_maps = true};
    assert_ok(st_place_try(in_folder("tried.db"), &place, &error), error);
    assert_int_equal(place.locks, ST_LOCKS_WORK); // this machine's disk, taken for another's
    assert_true(place.memory_maps);
    place = (st_file_place){.file_system = "fuse.bindfs", .memory_maps = true};
    assert_ok(st_place_try(in_folder("tried.db"), &place, &error), error);
    assert_int_equal(place.locks, ST_LOCKS_WORK);
    assert_true(st_place_wants_log(&place));
    place = (st_file_place){.file_system = "ext4"};
    assert_ok(st_place_try(in_folder("tried.db"), &place, &error), error);
    assert_int_equal(place.locks, ST_LOCKS_UNTRIED);
    place = (st_file_place){.file_system = "nfs", .shared = true};
    assert_int_equal(st_place_try("/nowhere/at/all.db", &place, &error), ST_FAILED);
    assert_non_null(strstr(error.what, "/nowhere/at/all.db"));
    char command[300]; // nothing is left
    snprintf(command, sizeof command, "test -z \"$(ls %s | grep probe)\"", folder);
    assert_int_equal(system(command), 0);
}

// --- what follows ----------------------------------------------------------------------------------------------
typedef struct heard {
    int notes;
    char text[1400];
} heard;

static void hear(void *context, const char *text)
{
    heard *all = context;
    all->notes++;
    snprintf(all->text, sizeof all->text, "%s", text);
}

static st_code open_on(const char *file_system, const char *name, st_store_mode mode, heard *all, st_store **store,
                       st_error *error)
{
    *all = (heard){0};
    if (file_system)
        setenv("SIMTUNE_FILE_SYSTEM", file_system, 1);
    st_store_listen(NULL, &(st_store_listener){all, hear, NULL});
    st_code code = st_store_open(in_folder(name), mode, store, error);
    st_store_listen(NULL, NULL);
    unsetenv("SIMTUNE_FILE_SYSTEM");
    return code;
}

static void put_one(const char *file_system, const char *name, const char *journal, int notes, const char *problem)
{
    st_error error = {0};
    st_store *store;
    st_file_place place;
    int64_t key;
    heard all;
    assert_ok(open_on(file_system, name, ST_STORE_WRITE, &all, &store, &error), error);
    assert_ok(st_store_problem(store, "r", problem, NULL, NULL, -1, &key, &error), error);
    assert_ok(st_store_place(store, &place, &error), error);
    assert_string_equal(place.journal, journal);
    assert_int_equal(all.notes, notes);
    st_store_close(store);
}

static int64_t count_problems(const char *file_system, const char *name)
{
    st_error error = {0};
    st_store *store;
    heard all;
    assert_ok(open_on(file_system, name, ST_STORE_READ, &all, &store, &error), error);
    int64_t count = number(store, "SELECT count(*) FROM problem");
    st_store_close(store);
    return count;
}

static void the_journal_follows_the_file_system(void **state) // P1, L1
{
    (void)state;
    put_one("ext4", "moving.db", "wal", 0, "one");
    put_one("nfs4", "moving.db", "truncate", 1, "two"); // moved to a file system of others …
    assert_int_equal(access(in_folder("moving.db-wal"), F_OK), -1);
    assert_int_equal(count_problems("nfs4", "moving.db"), 2);
    put_one("fuse.sshfs:locks=work", "moving.db", "truncate", 1, "three");
    put_one(NULL, "moving.db", "wal", 0, "four"); // … and back
    assert_int_equal(count_problems(NULL, "moving.db"), 4);
    put_one("fuse.bindfs:memory=none", "moving.db", "truncate", 0, "five"); // own, but without shared memory
    heard all;
    st_store *store;
    st_error error = {0};
    assert_ok(open_on("nfs4", "moving.db", ST_STORE_WRITE, &all, &store, &error), error);
    assert_non_null(strstr(all.text, "nfs4 (test:/), which several hosts may share"));
    assert_int_equal(number(store, "PRAGMA synchronous"), 2);
    st_store_close(store);
}

static void a_store_without_locks_is_not_written(void **state) // P2
{
    (void)state;
    static const struct {
        const char *file_system, *says;
    } kinds[] = {{"nfs:locks=refused", "it refuses to lock files: No locks available"},
                 {"lustre:locks=ignored", "two processes get one lock"},
                 {"nfs4:locks=local", "other hosts do not see this one's locks"}};
    st_error error = {0};
    st_store *store;
    heard all;
    put_one(NULL, "locks.db", "wal", 0, "one");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        assert_int_equal(open_on(kinds[i].file_system, "locks.db", ST_STORE_WRITE, &all, &store, &error), ST_FAILED);
        assert_null(store);
        assert_non_null(strstr(error.what, kinds[i].says));
        assert_non_null(strstr(error.what, "locks.db"));
        assert_non_null(strstr(error.remedy, "SIMTUNE_DB_LOCKS=trust"));
        assert_non_null(strstr(error.remedy, "--db FILE"));
        assert_int_equal(open_on(kinds[i].file_system, "new.db", ST_STORE_WRITE, &all, &store, &error), ST_FAILED);
        assert_int_equal(access(in_folder("new.db"), F_OK), -1); // and none was made
        assert_int_equal(count_problems(kinds[i].file_system, "locks.db"), 1); // reading is fine
    }
    setenv("SIMTUNE_DB_LOCKS", "trust", 1);
    put_one("nfs:locks=refused", "locks.db", "truncate", 1, "two");
    put_one("nfs:locks=refused", "trusted.db", "truncate", 1, "one");
    unsetenv("SIMTUNE_DB_LOCKS");
    assert_int_equal(count_problems(NULL, "locks.db"), 2);
    assert_int_equal(count_problems(NULL, "trusted.db"), 1);
}

// The file's owner uses the write-ahead log while another host has it mounted.
static void a_switch_by_another_host_is_noticed(void **state)
{
    (void)state;
    st_error error = {0};
    st_store *mounted, *own;
    int64_t key;
    heard all;
    put_one("nfs4", "both.db", "truncate", 1, "one");
    assert_ok(open_on("nfs4", "both.db", ST_STORE_WRITE, &all, &mounted, &error), error);
    assert_ok(open_on(NULL, "both.db", ST_STORE_WRITE, &all, &own, &error), error);
    assert_ok(st_store_problem(own, "r", "own", NULL, NULL, -1, &key, &error), error);
    assert_int_equal(st_store_problem(mounted, "r", "mounted", NULL, NULL, -1, &key, &error), ST_FAILED);
    assert_non_null(strstr(error.what, "switched to the journal mode wal"));
    st_store_close(mounted);
    st_store_close(own);
    assert_int_equal(count_problems(NULL, "both.db"), 2);
}

// --- ghosts ----------------------------------------------------------------------------------------------------
static void expect_ghost(st_store *store, const char *says, const char *remedy)
{
    st_error error = {0};
    int64_t key;
    for (int again = 0; again < 2; again++) {
        assert_int_equal(st_store_problem(store, "r", again ? "b" : "a", NULL, NULL, -1, &key, &error), ST_FAILED);
        if (!strstr(error.what, says) || !strstr(error.remedy, remedy))
            fail_msg("%s (%s)", error.what, error.remedy);
    }
    assert_int_equal(store->depth, 0);
    st_store_close(store);
}

static void a_moved_or_removed_store_is_noticed(void **state) // L2
{
    (void)state;
    st_error error = {0};
    static const char *const systems[] = {"ext4", "nfs4"};
    for (int i = 0; i < 2; i++) {
        setenv("SIMTUNE_FILE_SYSTEM", systems[i], 1);
        st_store *store = open_store(in_folder("here.db"), ST_STORE_WRITE);
        int64_t key;
        assert_ok(st_store_problem(store, "r", "before", NULL, NULL, -1, &key, &error), error);
        assert_int_equal(rename(in_folder("here.db"), in_folder("there.db")), 0);
        expect_ghost(store, "there.db while it was in use", "move it back");
        // With its log it is whole again; nothing was written to it since.
        rename(in_folder("here.db-wal"), in_folder("there.db-wal"));
        store = open_store(in_folder("there.db"), ST_STORE_WRITE);
        assert_int_equal(number(store, "SELECT count(*) FROM problem"), 1);
        // In the midst of a transaction.
        assert_ok(st_store_begin(store, &error), error);
        assert_ok(st_store_problem(store, "r", "amid", NULL, NULL, -1, &key, &error), error);
        unlink(in_folder("there.db"));
        assert_int_equal(st_store_commit(store, &error), ST_FAILED);
        assert_non_null(strstr(error.what, "removed or replaced"));
        expect_ghost(store, "removed or replaced while it was in use", "restore it");
        unlink(in_folder("there.db-wal"));
        unlink(in_folder("there.db-shm"));
        unlink(in_folder("here.db-shm"));
        // Another store in its place.
        store = open_store(in_folder("place.db"), ST_STORE_WRITE);
        st_store_close(open_store(in_folder("other.db"), ST_STORE_WRITE));
        assert_int_equal(rename(in_folder("other.db"), in_folder("place.db")), 0);
        expect_ghost(store, "removed or replaced while it was in use", "restore it");
        store = open_store(in_folder("place.db"), ST_STORE_READ);
        assert_int_equal(number(store, "SELECT count(*) FROM problem"), 0); // the new one is as it was
        assert_sound(store);
        st_store_close(store);
        unlink(in_folder("place.db"));
    }
    unsetenv("SIMTUNE_FILE_SYSTEM");
}

static void a_log_that_was_tidied_away_is_noticed(void **state)
{
    (void)state;
    st_error error = {0};
    static const char *const endings[] = {"tidy.db-wal", "tidy.db-shm"};
    for (int i = 0; i < 2; i++) {
        int64_t key;
        st_store *store = open_store(in_folder("tidy.db"), ST_STORE_WRITE);
        assert_ok(st_store_problem(store, "r", endings[i], NULL, NULL, -1, &key, &error), error);
        unlink(in_folder(endings[i]));
        expect_ghost(store, "removed or replaced while it was in use", "leave the files beside a store alone");
        unlink(in_folder("tidy.db-wal"));
        unlink(in_folder("tidy.db-shm"));
    }
}

// Looking at a file that this process has open must not open and close it: that would drop SQLite's locks. Another
// process then could take the store for unused.
static int takes_it_for_unused(const char *path)
{
    int fd = open(path, O_RDWR);
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0x40000002, .l_len = 510};
    return fcntl(fd, F_GETLK, &all) == 0 && all.l_type == F_UNLCK ? 1 : 0;
}

static void opening_it_twice_keeps_the_locks(void **state) // L3
{
    (void)state;
    st_error error = {0};
    int64_t key;
    st_store *store = open_store(in_folder("locked.db"), ST_STORE_WRITE);
    assert_ok(st_store_problem(store, "r", "x", NULL, NULL, -1, &key, &error), error);
    for (int i = 0; i < 2; i++) {
        st_store_close(open_store(in_folder("locked.db"), i ? ST_STORE_READ : ST_STORE_WRITE));
        st_file_look look;
        assert_ok(st_file_look_at(in_folder("locked.db"), &look, &error), error);
        assert_true(look.exists);
        fflush(NULL);
        pid_t child = fork();
        if (child == 0)
            _exit(takes_it_for_unused(in_folder("locked.db")));
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    st_store_close(store);
}

int main(void)
{
    unsetenv("SIMTUNE_FILE_SYSTEM");
    unsetenv("SIMTUNE_DB_LOCKS");
    unsetenv("SIMTUNE_DB_PATIENCE");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernels_numbers_are_known),
        cmocka_unit_test(names_are_judged),
        cmocka_unit_test(mounts_are_read),
        cmocka_unit_test(what_is_here_is_found),
        cmocka_unit_test(locks_and_memory_are_tried),
        cmocka_unit_test(the_journal_follows_the_file_system),
        cmocka_unit_test(a_store_without_locks_is_not_written),
        cmocka_unit_test(a_switch_by_another_host_is_noticed),
        cmocka_unit_test(a_moved_or_removed_store_is_noticed),
        cmocka_unit_test(a_log_that_was_tidied_away_is_noticed),
        cmocka_unit_test(opening_it_twice_keeps_the_locks),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
