// SPDX-License-Identifier: Apache-2.0
// Growable text, numbers and near words. Invariants of text.c: 1. data[length] is NUL once data is not NULL;
// 2. once `failed`, nothing is appended.
// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tuner/base/memory.h"
#include "tuner/base/text.h"

#include <string.h>

static void test_appending(void **state)
{
    (void)state;
    st_text text;
    st_text_init(&text);
    assert_string_equal(st_text_string(&text), "");
    st_text_add(&text, "");
    assert_string_equal(st_text_string(&text), "");
    st_text_add(&text, "one");
    st_text_addf(&text, " %s %d", "two", 3);
    st_text_add_bytes(&text, "\0x", 2);
    assert_int_equal(text.length, 11);
    assert_memory_equal(text.data, "one two 3\0x", 12); // with the NUL after it
    assert_false(text.failed);
    st_text_clear(&text);
    assert_string_equal(st_text_string(&text), "");
    assert_int_equal(text.length, 0);
    st_text_release(&text);
    st_text_release(&text); // twice is fine
    assert_null(text.data);
}

// Longer than any first allocation, and a format longer than what is there.
static void test_growing(void **state)
{
    (void)state;
    st_text text;
    st_text_init(&text);
    for (int i = 0; i < 1000; i++)
        st_text_addf(&text, "%05d", i);
    assert_int_equal(text.length, 5000);
    assert_memory_equal(text.data, "0000000001", 10);
    assert_memory_equal(text.data + 4995, "00999", 6);
    st_text_addf(&text, "%20000d", 7);
    assert_int_equal(text.length, 25000);
    assert_int_equal(text.data[24999], '7');
    assert_int_equal(text.data[25000], '\0');
    st_text_release(&text);
}

static void test_taking(void **state)
{
    (void)state;
    st_text text;
    st_text_init(&text);
    char *empty = st_text_take(&text);
    assert_string_equal(empty, "");
    st_free(empty);
    st_text_add(&text, "kept");
    char *kept = st_text_take(&text);
    assert_string_equal(kept, "kept");
    assert_null(text.data);
    assert_int_equal(text.length, 0);
    st_free(kept);
}

// Each allocation fails in turn: the failure is remembered, what came before stays readable.
static void test_no_memory(void **state)
{
    (void)state;
    for (unsigned long n = 1;; n++) {
        st_text text;
        st_text_init(&text);
        st_fault_arm(ST_FAULT_ALLOCATION, n);
        for (int i = 0; i < 100; i++)
            st_text_add(&text, "0123456789");
        bool injected = st_fault_injected(ST_FAULT_ALLOCATION);
        st_fault_arm(ST_FAULT_ALLOCATION, 0);
        assert_int_equal(text.failed, injected);
        assert_int_equal(text.length % 10, 0);
        assert_int_equal(strlen(st_text_string(&text)), text.length);
        size_t length = text.length;
        st_text_addf(&text, "%s", "more");
        assert_int_equal(text.length, injected ? length : length + 4);
        char *taken = st_text_take(&text);
        assert_int_equal(taken == NULL, injected);
        assert_null(text.data); // released either way
        st_free(taken);
        if (!injected)
            break;
        assert_true(n < 100);
    }
}

static void test_clearing_a_failure(void **state)
{
    (void)state;
    st_text text;
    st_text_init(&text);
    st_fault_arm(ST_FAULT_ALLOCATION, 1);
    st_text_add(&text, "lost");
    assert_true(text.failed);
    st_text_clear(&text);
    st_text_add(&text, "kept");
    assert_false(text.failed);
    assert_string_equal(st_text_string(&text), "kept");
    st_text_release(&text);
}

static void test_comparing(void **state)
{
    (void)state;
    assert_true(st_text_equal(NULL, NULL));
    assert_false(st_text_equal(NULL, ""));
    assert_false(st_text_equal("", NULL));
    assert_true(st_text_equal("a", "a"));
    assert_false(st_text_equal("a", "A"));
    assert_true(st_text_starts("abc", "ab"));
    assert_true(st_text_starts("abc", ""));
    assert_false(st_text_starts("ab", "abc"));
}

static void test_integers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } right[] = {{"0", 0}, {"42", 42}, {"-7", -7}, {"007", 7}, {"64Ki", 65536}, {"1Mi", 1048576},
                 {"2Gi", 2147483648}, {"1Ti", 1099511627776}, {"3K", 3000}, {"3k", 3000}, {"5M", 5000000},
                 {"2G", 2000000000}, {"1T", 1000000000000}, {"2^20", 1048576}, {"2^0", 1}, {"2^62", 1ll << 62},
                 {"10^3", 1000}, {"-2^3", -8}, {"0^0", 1}, {"9223372036854775807", INT64_MAX},
                 {"-9223372036854775807", -INT64_MAX}, {"8388607Ti", 8388607ll << 40}};
    static const char *const wrong[] = {"", "-", "x", " 1", "1 ", "+1", "1.5", "0x10", "1KiB", "1ki", "Ki", "1Kii",
                                        "--1", "2^", "2^-1", "2^x", "2^63", "2^64", "3^50", "2^9999999999999999999",
                                        "9223372036854775808", "99999999999999999999", "8388608Ti", "1e3", "^2"};
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        int64_t value = -999;
        if (!st_text_to_int(right[i].text, &value) || value != right[i].value)
            fail_msg("%s gives %lld", right[i].text, (long long)value);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        int64_t value;
        if (st_text_to_int(wrong[i], &value))
            fail_msg("%s is taken for %lld", wrong[i], (long long)value);
    }
}

// A size that is written is read back as the same.
static void test_sizes(void **state)
{
    (void)state;
    static const struct {
        uint64_t value;
        const char *text;
    } rows[] = {{0, "0"}, {1, "1"}, {1023, "1023"}, {1024, "1Ki"}, {1025, "1025"}, {65536, "64Ki"},
                {1536, "1536"}, {268435456, "256Mi"}, {1099511627776, "1Ti"}, {1ull << 50, "1024Ti"},
                {3ull << 30, "3Gi"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        st_text text;
        int64_t back;
        st_text_init(&text);
        st_text_add_size(&text, rows[i].value);
        assert_string_equal(st_text_string(&text), rows[i].text);
        assert_true(st_text_to_int(st_text_string(&text), &back));
        assert_int_equal(back, rows[i].value);
        st_text_release(&text);
    }
}

static void test_near_words(void **state)
{
    (void)state;
    static const char *const words[] = {"device", "arch", "type", "no-header", "db"};
    assert_int_equal(st_text_nearest("devise", words, 5), 0);
    assert_int_equal(st_text_nearest("DEVICE", words, 5), 0); // case alone is no distance
    assert_int_equal(st_text_nearest("dvice", words, 5), 0);
    assert_int_equal(st_text_nearest("devicess", words, 5), 0);
    assert_int_equal(st_text_nearest("arhc", words, 5), 1);
    assert_int_equal(st_text_nearest("frobnicate", words, 5), -1);
    assert_int_equal(st_text_nearest("", words, 5), -1);
    assert_int_equal(st_text_nearest("xy", words, 5), -1); // as far as it is long
    assert_int_equal(st_text_nearest("type", words, 0), -1);
    char endless[200];
    memset(endless, 'a', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    assert_int_equal(st_text_nearest(endless, words, 5), -1);
}

// The well-formed sequences of Unicode's table 3-7, their first and last, and what lies just beyond each.
static void test_characters(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t length;
    } rows[] = {{"", 0}, {"a", 1}, {"\x7f", 1}, {"\x01", 1},
                {"\x80", 0}, {"\xbf", 0}, {"\xc0\x80", 0}, {"\xc1\xbf", 0},
                {"\xc2\x80", 2}, {"\xdf\xbf", 2}, {"\xc2", 0}, {"\xc2z", 0}, {"\xc2\xc2", 0},
                {"\xe0\x9f\xbf", 0}, {"\xe0\xa0\x80", 3}, {"\xed\x9f\xbf", 3}, {"\xed\xa0\x80", 0}, {"\xed\xbf\xbf", 0},
                {"\xee\x80\x80", 3}, {"\xef\xbf\xbf", 3}, {"\xe2\x82", 0},
                {"\xf0\x8f\xbf\xbf", 0}, {"\xf0\x90\x80\x80", 4}, {"\xf4\x8f\xbf\xbf", 4}, {"\xf4\x90\x80\x80", 0},
                {"\xf0\x9f\x98", 0}, {"\xf8\x88\x80\x80\x80", 0}, {"\xfe", 0}, {"\xff", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (st_text_character(rows[i].text) != rows[i].length)
            fail_msg("row %zu is %zu bytes long", i, st_text_character(rows[i].text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_appending),  cmocka_unit_test(test_growing),
        cmocka_unit_test(test_taking),     cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_clearing_a_failure), cmocka_unit_test(test_comparing),
        cmocka_unit_test(test_integers),   cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_near_words), cmocka_unit_test(test_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
