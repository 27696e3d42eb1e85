// SPDX-License-Identifier: Apache-2.0
// Files whole. Invariant of file.c: a file at its final name is always complete; the temporary file beside it
// is removed on every way out.
// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tuner/base/memory.h"
#include "tuner/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/simtune-file-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static const char *in_folder(const char *name)
{
    static char paths[4][256];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void assert_holds(const char *path, const void *bytes, size_t length)
{
    st_text text;
    st_error error = {0};
    st_text_init(&text);
    if (st_text_read_file(&text, path, &error) != ST_OK)
        fail_msg("%s", error.what);
    assert_int_equal(text.length, length);
    assert_memory_equal(st_text_string(&text), bytes, length);
    st_text_release(&text);
}

static size_t files_in(const char *path)
{
    DIR *directory = opendir(path);
    size_t count = 0;
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

static void test_writing_and_reading(void **state)
{
    (void)state;
    static const char bytes[] = "a\0b\n"; // any bytes
    bool changed = false;
    assert_int_equal(st_text_write_file(in_folder("a"), bytes, 4, &changed, NULL), ST_OK);
    assert_true(changed);
    assert_holds(in_folder("a"), bytes, 4);
    assert_int_equal(st_text_write_file(in_folder("empty"), "", 0, &changed, NULL), ST_OK);
    assert_holds(in_folder("empty"), "", 0);
    char *large = st_malloc(300000); // more than a block
    memset(large, 'x', 300000);
    assert_int_equal(st_text_write_file(in_folder("large"), large, 300000, NULL, NULL), ST_OK);
    assert_holds(in_folder("large"), large, 300000);
    st_free(large);
    assert_int_equal(files_in(folder), 3);
}

// Nothing rebuilds: an equal file keeps its time and its inode.
static void test_equal_is_left_alone(void **state)
{
    (void)state;
    struct stat before, after;
    bool changed = true;
    const char *path = in_folder("same");
    assert_int_equal(st_text_write_file(path, "abc", 3, NULL, NULL), ST_OK);
    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(st_text_write_file(path, "abc", 3, &changed, NULL), ST_OK);
    assert_false(changed);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(st_text_write_file(path, "abd", 3, &changed, NULL), ST_OK); // same length
    assert_true(changed);
    assert_holds(path, "abd", 3);
}

static void test_parents_are_made(void **state)
{
    (void)state;
    assert_int_equal(st_text_write_file(in_folder("x/y/z.h"), "1", 1, NULL, NULL), ST_OK);
    assert_holds(in_folder("x/y/z.h"), "1", 1);
    assert_int_equal(st_text_make_folder(in_folder("x/y"), NULL), ST_OK); // is there
    assert_int_equal(st_text_make_folder(in_folder("p//q/"), NULL), ST_OK);
    struct stat status;
    assert_int_equal(stat(in_folder("p/q"), &status), 0);
    assert_true(S_ISDIR(status.st_mode));
    assert_int_equal(st_text_make_folder("", NULL), ST_OK); // here
    assert_int_equal(st_text_make_folder("/", NULL), ST_OK);
}

static void test_refusing(void **state)
{
    (void)state;
    st_error error = {0};
    st_text text;
    st_text_init(&text);
    assert_int_equal(st_text_read_file(&text, in_folder("absent"), &error), ST_FAILED);
    assert_non_null(strstr(error.what, "absent"));
    assert_true(error.remedy[0]);
    assert_int_equal(st_text_read_file(&text, folder, &error), ST_FAILED); // a folder
    st_text_release(&text);
    assert_int_equal(st_text_write_file(in_folder("file"), "1", 1, NULL, NULL), ST_OK);
    assert_int_equal(st_text_make_folder(in_folder("file"), &error), ST_FAILED);
    assert_int_equal(st_text_make_folder(in_folder("file/below"), &error), ST_FAILED);
    assert_int_equal(st_text_write_file(in_folder("file/below.h"), "1", 1, NULL, &error), ST_FAILED);
    assert_non_null(strstr(error.what, "file"));
    assert_int_equal(st_text_write_file(folder, "1", 1, NULL, &error), ST_FAILED); // onto a folder
    assert_int_equal(files_in(folder), 1);
    assert_holds(in_folder("file"), "1", 1);
}

// A link stays a link, relative, absolute, by another link or to a file that is not there yet; a circle is said.
static void test_links_are_followed(void **state)
{
    (void)state;
    struct stat status;
    st_error error = {0};
    assert_int_equal(st_text_make_folder(in_folder("real"), NULL), ST_OK);
    assert_int_equal(symlink("real/target", in_folder("relative")), 0);
    assert_int_equal(symlink(in_folder("real/target"), in_folder("absolute")), 0);
    assert_int_equal(symlink("relative", in_folder("second")), 0);
    static const char *const links[] = {"relative", "absolute", "second"};
    for (size_t i = 0; i < 3; i++) {
        bool changed = false;
        char text[2] = {(char)('a' + i), '\0'};
        if (st_text_write_file(in_folder(links[i]), text, 1, &changed, &error) != ST_OK)
            fail_msg("%s: %s", links[i], error.what);
        assert_true(changed);
        assert_holds(in_folder("real/target"), text, 1);
        assert_int_equal(lstat(in_folder(links[i]), &status), 0);
        assert_true(S_ISLNK(status.st_mode));
    }
    assert_int_equal(files_in(in_folder("real")), 1); // no temporary file, here or there
    assert_int_equal(files_in(folder), 4);
    assert_int_equal(symlink("circle", in_folder("circle")), 0);
    assert_int_equal(st_text_write_file(in_folder("circle"), "1", 1, NULL, &error), ST_FAILED);
    assert_non_null(strstr(error.what, "circle"));
    assert_int_equal(symlink("/dev/null", in_folder("device")), 0);
    assert_int_equal(st_text_write_file(in_folder("device"), "1", 1, NULL, &error), ST_FAILED);
    assert_non_null(strstr(error.what, "is not an ordinary file"));
    assert_int_equal(files_in(folder), 6);
}

// Every system call and allocation fails in turn: the old file stays whole, nothing is left beside it.
static void faults(st_fault kind)
{
    assert_int_equal(st_text_write_file(in_folder("kept"), "old", 3, NULL, NULL), ST_OK);
    for (unsigned long n = 1; n < 100; n++) {
        bool changed = false;
        st_error error = {0};
        assert_int_equal(st_text_write_file(in_folder("kept"), "old", 3, NULL, NULL), ST_OK);
        st_fault_arm(kind, n);
        st_code code = st_text_write_file(in_folder("kept"), "new text", 8, &changed, &error);
        bool injected = st_fault_injected(kind);
        st_fault_arm(kind, 0);
        if (code == ST_OK)
            assert_holds(in_folder("kept"), "new text", 8);
        else {
            assert_holds(in_folder("kept"), "old", 3);
            assert_true(injected && error.what[0] && !changed);
        }
        assert_int_equal(files_in(folder), 1);
        if (!injected) {
            assert_int_equal(code, ST_OK);
            return;
        }
    }
    fail_msg("the trial without a fault was never reached");
}

static void test_system_faults(void **state)
{
    (void)state;
    faults(ST_FAULT_SYSTEM);
}

static void test_no_memory(void **state)
{
    (void)state;
    faults(ST_FAULT_ALLOCATION);
}

static void test_read_faults(void **state)
{
    (void)state;
    assert_int_equal(st_text_write_file(in_folder("a"), "abc", 3, NULL, NULL), ST_OK);
    for (int kind = 0; kind < 2; kind++)
        for (unsigned long n = 1; n < 100; n++) {
            st_text text;
            st_text_init(&text);
            st_fault_arm(kind ? ST_FAULT_SYSTEM : ST_FAULT_ALLOCATION, n);
            st_code code = st_text_read_file(&text, in_folder("a"), NULL);
            bool injected = st_fault_injected(kind ? ST_FAULT_SYSTEM : ST_FAULT_ALLOCATION);
            st_fault_arm(kind ? ST_FAULT_SYSTEM : ST_FAULT_ALLOCATION, 0);
            assert_int_equal(code == ST_OK, !injected);
            if (code == ST_OK)
                assert_string_equal(st_text_string(&text), "abc");
            st_text_release(&text);
            if (!injected)
                break;
            assert_true(n < 99);
        }
}

// Bit by bit: nothing is at the name before the end, and nothing else is left in any case.
static void test_writing_bit_by_bit(void **state)
{
    (void)state;
    st_error error = {0};
    st_writing writing = {0};
    char path[300], above[300];
    snprintf(path, sizeof path, "%s", in_folder("bits/a"));
    snprintf(above, sizeof above, "%s", in_folder("bits"));
    st_writing_release(&writing); // of none
    for (int finishes = 0; finishes < 2; finishes++) {
        assert_int_equal(st_writing_open(&writing, path, &error), ST_OK);
        assert_int_equal(st_writing_add(&writing, "one ", 4, &error), ST_OK);
        assert_int_equal(st_writing_add(&writing, "", 0, &error), ST_OK);
        assert_int_equal(st_writing_add(&writing, "two", 3, &error), ST_OK);
        assert_int_equal(access(path, F_OK), -1);
        if (finishes)
            assert_int_equal(st_writing_finish(&writing, &error), ST_OK);
        st_writing_release(&writing);
        assert_int_equal(files_in(above), finishes);
    }
    assert_holds(path, "one two", 7);
    for (unsigned long n = 1; n < 20; n++) { // each system call in turn
        st_fault_arm(ST_FAULT_SYSTEM, n);
        st_code code = st_writing_open(&writing, path, &error);
        if (code == ST_OK)
            code = st_writing_add(&writing, "three", 5, &error);
        if (code == ST_OK)
            code = st_writing_finish(&writing, &error);
        st_writing_release(&writing);
        bool injected = st_fault_injected(ST_FAULT_SYSTEM);
        st_fault_arm(ST_FAULT_SYSTEM, 0);
        assert_int_equal(code == ST_OK, !injected);
        assert_int_equal(files_in(above), 1);
        assert_holds(path, injected ? "one two" : "three", injected ? 7 : 5);
        if (!injected)
            return;
    }
    fail_msg("no trial went without a fault");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_writing_and_reading), IN_FOLDER(test_equal_is_left_alone),
        IN_FOLDER(test_parents_are_made),    IN_FOLDER(test_refusing),
        IN_FOLDER(test_links_are_followed),
        IN_FOLDER(test_system_faults),       IN_FOLDER(test_no_memory),
        IN_FOLDER(test_read_faults),         IN_FOLDER(test_writing_bit_by_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
