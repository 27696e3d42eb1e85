// SPDX-License-Identifier: Apache-2.0
// What the environment asks of fault points (fault.c): a role, one fault a run, the count of passes and places.
// This program is run anew for each trial, since the environment is read once: `--internal ROLE` or `--passes`.
// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tuner/base/memory.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/simtune-test-fault-XXXXXX";

// Three passes at one place, two at another; the exit code is the pass that failed, 0 for none.
__attribute__((noinline)) static bool here(void)
{
    return st_fault_here(ST_FAULT_CUPTI);
}

static int pass(void)
{
    int failed = 0;
    volatile int three = 3, five = 5; // unrolled, each pass would be a place of its own
    for (int i = 1; i <= three; i++)
        if (here())
            failed = i;
    for (int i = 4; i <= five; i++)
        if (st_fault_here(ST_FAULT_CUPTI))
            failed = i;
    return failed;
}

static int run(const char *variables, const char *words)
{
    char self[256], command[1024];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(length > 0);
    self[length] = '\0';
    snprintf(command, sizeof command, "cd %s && env %s '%s' %s", folder, variables, self, words);
    int status = system(command);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_roles(void **state)
{
    (void)state;
    assert_int_equal(run("SIMTUNE_FAULT=cupti:2", "--passes"), 2);
    assert_int_equal(run("SIMTUNE_FAULT=cupti:2", "--internal time"), 2); // everybody
    assert_int_equal(run("SIMTUNE_FAULT=parent/cupti:2", "--passes"), 2);
    assert_int_equal(run("SIMTUNE_FAULT=parent/cupti:2", "--internal time"), 0);
    assert_int_equal(run("SIMTUNE_FAULT=time/cupti:4", "--internal time"), 4);
    assert_int_equal(run("SIMTUNE_FAULT=time/cupti:4", "--internal profile"), 0);
    assert_int_equal(run("SIMTUNE_FAULT=time/cupti:4", "--passes"), 0);
    assert_int_equal(run("SIMTUNE_FAULT=tim/cupti:4", "--internal time"), 0);
    assert_int_equal(run("SIMTUNE_FAULT=/cupti:4", "--internal time"), 0);
    assert_int_equal(run("SIMTUNE_FAULT=time/cupti", "--internal time"), 0);
}

static void test_once(void **state)
{
    (void)state;
    const char *variables = "SIMTUNE_FAULT=cupti:3 SIMTUNE_FAULT_ONCE=once";
    assert_int_equal(run("SIMTUNE_FAULT=cupti:9 SIMTUNE_FAULT_ONCE=once", "--passes"),
                     0); // never got there
    assert_int_equal(run(variables, "--passes"), 3);
    assert_int_equal(run(variables, "--passes"), 0);
    char file[96];
    snprintf(file, sizeof file, "%s/once", folder);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(run(variables, "--internal time"), 3);
}

static void test_counts(void **state)
{
    (void)state;
    assert_int_equal(run("SIMTUNE_FAULT_COUNT=counts", "--passes"), 0);
    assert_int_equal(run("SIMTUNE_FAULT_COUNT=counts SIMTUNE_FAULT=cupti:1", "--internal time"), 1);
    char path[96], line[96];
    snprintf(path, sizeof path, "%s/counts", folder);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    int passes[2] = {0}, places[2][6] = {{0}}, other = 0;
    while (fgets(line, sizeof line, file)) {
        int n, who = strncmp(line, "time ", 5) == 0;
        if (sscanf(line, who ? "time cupti at %d" : "parent cupti at %d", &n) == 1 && n >= 1 &&
            n <= 5)
            places[who][n]++;
        else if (sscanf(line, who ? "time cupti %d" : "parent cupti %d", &n) == 1)
            passes[who] = n;
        else
            other++;
    }
    fclose(file);
    for (int who = 0; who < 2; who++) {
        assert_int_equal(passes[who], 5);
        assert_int_equal(places[who][1], 1); // the first pass of each place, no other
        assert_int_equal(places[who][4], 1);
        assert_int_equal(places[who][2] + places[who][3] + places[who][5], 0);
    }
    assert_int_equal(other, 0);
}

static void test_failures_are_counted(void **state)
{
    (void)state;
    unsigned long before = st_allocations_failed();
    st_free(st_malloc(8));
    assert_int_equal(st_allocations_failed(), before);
    st_fault_arm(ST_FAULT_ALLOCATION, 1);
    assert_null(st_calloc(1, 8));
    assert_int_equal(st_allocations_failed(), before + 1);
    st_fault_arm(ST_FAULT_ALLOCATION, 1);
    assert_null(st_format("%d", 1));
    assert_int_equal(st_allocations_failed(), before + 2);
    size_t capacity = 0;
    assert_null(st_grow(NULL, &capacity, SIZE_MAX / 4, 16));
    assert_int_equal(st_allocations_failed(), before + 3);
}

// Invariant 3 of fault.c, for ThreadSanitizer to look at: whoever makes the n-th pass, one fails.
enum { THREADS = 4, PASSES = 2000 };

static void *pass_in_a_thread(void *failed)
{
    for (int i = 0; i < PASSES; i++) {
        void *block = st_malloc(16);
        *(int *)failed += !block;
        st_free(block);
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    unsigned long before = st_allocations_failed();
    for (unsigned long n = 1; n <= THREADS * PASSES + 1; n += PASSES / 2) {
        pthread_t threads[THREADS];
        int failed[THREADS] = {0}, all = 0;
        st_fault_arm(ST_FAULT_ALLOCATION, n);
        for (int t = 0; t < THREADS; t++)
            assert_int_equal(pthread_create(&threads[t], NULL, pass_in_a_thread, &failed[t]), 0);
        for (int t = 0; t < THREADS; t++) {
            assert_int_equal(pthread_join(threads[t], NULL), 0);
            all += failed[t];
        }
        assert_int_equal(all, n <= THREADS * PASSES);
        assert_int_equal(st_fault_injected(ST_FAULT_ALLOCATION), all);
        before += (unsigned long)all;
    }
    st_fault_arm(ST_FAULT_ALLOCATION, 0);
    assert_int_equal(st_allocations_failed(), before);
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    char command[96];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(int argc, char **argv)
{
    if (argc > 1 && (strcmp(argv[1], "--passes") == 0 || strcmp(argv[1], "--internal") == 0))
        return pass();
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_roles), cmocka_unit_test(test_once),
                                       cmocka_unit_test(test_counts),
                                       cmocka_unit_test(test_failures_are_counted),
                                       cmocka_unit_test(test_threads)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
