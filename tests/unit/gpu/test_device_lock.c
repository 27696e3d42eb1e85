// SPDX-License-Identifier: Apache-2.0
// One tuner at a time: who holds it is said, waiting works, a killed holder leaves nothing behind,
// and files that are not ours to trust are refused (invariants of device_lock.c).
#include "tuner/base/memory.h"
#include "tuner/base/text.h"
#include "tuner/gpu/device_lock.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define UUID "GPU-0123-ab"
static char root[64], folder[96], file[160];

static int setup(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/simtune-test-XXXXXX");
    if (!mkdtemp(root))
        return -1;
    snprintf(folder, sizeof folder, "%s/locks", root);
    snprintf(file, sizeof file, "%s/device-" UUID ".lock", folder);
    return setenv("SIMTUNE_RUNTIME", folder, 1);
}

static int teardown(void **state)
{
    (void)state;
    DIR *listing = opendir(folder);
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.' && unlink(path) != 0)
            rmdir(path);
    }
    if (listing)
        closedir(listing);
    rmdir(folder);
    return rmdir(root);
}

static st_device_lock *take(void)
{
    st_error error;
    st_error_clear(&error);
    st_device_lock *lock = NULL;
    st_code code = st_device_lock_take(UUID, NULL, NULL, &lock, &error);
    if (code != ST_OK)
        print_message("%s\n", error.what);
    assert_int_equal(code, ST_OK);
    return lock;
}

static void second_is_told_who_holds_it(void **state)
{
    (void)state;
    st_error error;
    st_device_lock *first = take(), *second = first;
    assert_int_equal(st_device_lock_take(UUID, NULL, NULL, &second, &error), ST_FAILED);
    assert_null(second);
    char who[64];
    snprintf(who, sizeof who, "process %d (", (int)getpid());
    assert_non_null(strstr(error.what, who));
    assert_non_null(strstr(error.what, "test_device_lock"));
    assert_non_null(strstr(error.what, UUID));
    assert_non_null(strstr(error.remedy, "--device"));
    st_device_lock *other = NULL; // another device is free
    assert_int_equal(st_device_lock_take("GPU-9", NULL, NULL, &other, &error), ST_OK);
    st_device_lock_release(other);
    st_device_lock_release(first);
    st_device_lock_release(NULL);
    st_device_lock_release(take());
}

typedef struct waiter {
    st_device_lock *holder;
    int calls, release_at, give_up_at;
    st_lock_holder seen;
} waiter;

static bool on_wait(void *context, const st_lock_holder *holder, double waited)
{
    waiter *w = context;
    assert_true(waited >= 0);
    w->seen = *holder;
    w->calls++;
    if (w->calls == w->release_at)
        st_device_lock_release(w->holder);
    return w->calls != w->give_up_at;
}

static void waits_until_it_is_free(void **state)
{
    (void)state;
    st_error error;
    waiter w = {.holder = take(), .release_at = 2};
    st_device_lock *second = NULL;
    assert_int_equal(st_device_lock_take(UUID, on_wait, &w, &second, &error), ST_OK);
    assert_int_equal(w.calls, 2);
    assert_int_equal(w.seen.pid, getpid());
    assert_non_null(strstr(w.seen.command, "test_device_lock"));
    st_device_lock_release(second);
}

static void gives_up_when_told(void **state)
{
    (void)state;
    st_error error;
    waiter w = {.holder = take(), .give_up_at = 2};
    st_device_lock *second = NULL;
    assert_int_equal(st_device_lock_take(UUID, on_wait, &w, &second, &error), ST_FAILED);
    assert_int_equal(w.calls, 2);
    assert_non_null(strstr(error.what, "waited for"));
    st_device_lock_release(w.holder);
}

// The holder is killed: the lock is free, and what it wrote is not believed.
static void killed_holder_leaves_no_lock(void **state)
{
    (void)state;
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        st_device_lock *lock = NULL;
        char byte = st_device_lock_take(UUID, NULL, NULL, &lock, NULL) == ST_OK;
        if (write(ready[1], &byte, 1) != 1)
            _exit(1);
        pause();
        _exit(0);
    }
    char byte = 0;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 1);
    st_error error;
    st_device_lock *lock = NULL;
    assert_int_equal(st_device_lock_take(UUID, NULL, NULL, &lock, &error), ST_FAILED);
    char who[64];
    snprintf(who, sizeof who, "process %d (", (int)child);
    assert_non_null(strstr(error.what, who));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    st_device_lock_release(take());
    close(ready[0]);
    close(ready[1]);
}

static void open_to_all_users(void **state)
{
    (void)state;
    struct stat status;
    mode_t mask = umask(077);
    st_device_lock *lock = take();
    umask(mask);
    assert_int_equal(stat(folder, &status), 0);
    assert_int_equal(status.st_mode & 07777, 01777);
    assert_int_equal(stat(file, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0666);
    st_device_lock_release(lock);
    assert_int_equal(stat(file, &status), 0); // stays, emptied
    assert_int_equal(status.st_size, 0);
}

// A program that is executed anew must not keep the device.
static void not_inherited(void **state)
{
    (void)state;
    st_device_lock *lock = take();
    bool seen = false;
    for (int fd = 0; fd < 256; fd++) {
        char link[64], target[512];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(link, target, sizeof target - 1);
        if (length < 0)
            continue;
        target[length] = '\0';
        if (strcmp(target, file) == 0) {
            seen = true;
            assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        }
    }
    assert_true(seen);
    st_device_lock_release(lock);
}

static void only_plain_files(void **state)
{
    (void)state;
    st_error error;
    st_device_lock *lock;
    char victim[160];
    assert_int_equal(st_device_lock_make_folder(folder, &error), ST_OK);
    snprintf(victim, sizeof victim, "%s/victim", folder);
    assert_int_equal(st_text_write_file(victim, "precious", 8, NULL, NULL), ST_OK);
    assert_int_equal(symlink(victim, file), 0);
    assert_int_equal(st_device_lock_take(UUID, NULL, NULL, &lock, &error), ST_FAILED);
    struct stat status;
    assert_int_equal(stat(victim, &status), 0);
    assert_int_equal(status.st_size, 8);
    unlink(file);
    assert_int_equal(mkfifo(file, 0666), 0); // would hang
    assert_int_equal(st_device_lock_take(UUID, NULL, NULL, &lock, &error), ST_FAILED);
    assert_non_null(strstr(error.what, "not a plain file"));
    unlink(file);
    assert_int_equal(mkdir(file, 0777), 0);
    assert_int_equal(st_device_lock_take(UUID, NULL, NULL, &lock, &error), ST_FAILED);
    assert_non_null(strstr(error.remedy, "SIMTUNE_RUNTIME"));
}

static void strange_uuid_stays_in_the_folder(void **state)
{
    (void)state;
    st_error error;
    st_device_lock *lock = NULL;
    assert_int_equal(st_device_lock_take("../../x y", NULL, NULL, &lock, &error), ST_OK);
    char path[160];
    snprintf(path, sizeof path, "%s/device-______x_y.lock", folder);
    assert_int_equal(access(path, F_OK), 0);
    st_device_lock_release(lock);
}

// What stands in the file came from anybody: no escape sequence reaches a terminal, nonsense is no
// pid.
static void holder_text_is_not_trusted(void **state)
{
    (void)state;
    const struct {
        const char *text, *said, *not_said;
    } cases[] = {
        {"123 evil\033[2Jname\n", "process 123 (evil?[2Jname)", "\033"},
        {"hello\n", "another simtune", "process"},
        {"-5 x\n", "another simtune", "process"},
        {"", "another simtune", "process"},
        {"77", "another simtune", "process"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        st_error error;
        st_device_lock *lock = take(), *second;
        int fd = open(file, O_WRONLY | O_TRUNC);
        size_t length = strlen(cases[i].text);
        assert_int_equal(write(fd, cases[i].text, length), length);
        close(fd);
        assert_int_equal(st_device_lock_take(UUID, NULL, NULL, &second, &error), ST_FAILED);
        assert_non_null(strstr(error.what, cases[i].said));
        assert_null(strstr(error.what, cases[i].not_said));
        st_device_lock_release(lock);
    }
}

static void faults(void **state)
{
    (void)state;
    const st_fault kinds[] = {ST_FAULT_SYSTEM, ST_FAULT_ALLOCATION};
    for (size_t k = 0; k < 2; k++)
        for (unsigned long n = 1;; n++) {
            st_error error;
            st_error_clear(&error);
            st_device_lock *lock = NULL;
            st_fault_arm(kinds[k], n);
            st_code code = st_device_lock_take(UUID, NULL, NULL, &lock, &error);
            bool injected = st_fault_injected(kinds[k]);
            st_fault_arm(kinds[k], 0);
            assert_int_equal(code == ST_OK, lock != NULL);
            assert_int_equal(code == ST_OK, !error.what[0]);
            st_device_lock_release(lock);
            if (!injected) {
                assert_int_equal(code, ST_OK);
                assert_true(n > 2);
                break;
            }
            st_device_lock_release(take()); // nothing stays locked
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(second_is_told_who_holds_it, setup, teardown),
        cmocka_unit_test_setup_teardown(waits_until_it_is_free, setup, teardown),
        cmocka_unit_test_setup_teardown(gives_up_when_told, setup, teardown),
        cmocka_unit_test_setup_teardown(killed_holder_leaves_no_lock, setup, teardown),
        cmocka_unit_test_setup_teardown(open_to_all_users, setup, teardown),
        cmocka_unit_test_setup_teardown(not_inherited, setup, teardown),
        cmocka_unit_test_setup_teardown(only_plain_files, setup, teardown),
        cmocka_unit_test_setup_teardown(strange_uuid_stays_in_the_folder, setup, teardown),
        cmocka_unit_test_setup_teardown(holder_text_is_not_trusted, setup, teardown),
        cmocka_unit_test_setup_teardown(faults, setup, teardown),
    };
    return cmocka_run_group_tests_name("device_lock", tests, NULL, NULL);
}
