// SPDX-License-Identifier: Apache-2.0
// Numbers and paragraphs for people. Invariants of format.c: 1. unknown is "-", never 0; 2. a line is wider than
// the width only where one word (with its unit) is.
// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reports/format.h"

#include <math.h>
#include <string.h>

static void gives(void (*add)(st_text *, double), double value, const char *wanted)
{
    st_text text;
    st_text_init(&text);
    add(&text, value);
    assert_string_equal(st_text_string(&text), wanted);
    st_text_release(&text);
}

static void test_numbers(void **state)
{
    (void)state;
    gives(st_report_time, 4.25, "4.250 ns");
    gives(st_report_time, 999, "999.0 ns");
    gives(st_report_time, 4600, "4.600 µs");
    gives(st_report_time, 16000, "16.00 µs");
    gives(st_report_time, 235000, "235.0 µs");
    gives(st_report_time, 1.5e6, "1.500 ms");
    gives(st_report_time, 2.5e9, "2.500 s");
    gives(st_report_time, 1.2345e12, "1234 s");
    gives(st_report_time, 0, "0.000 ns"); // 0 is known
    gives(st_report_time, NAN, "-");
    gives(st_report_time, INFINITY, "-");
    gives(st_report_speed, 4512.4, "4512 GB/s");
    gives(st_report_speed, 57.02, "57.0 GB/s");
    gives(st_report_speed, 1.234, "1.23 GB/s");
    gives(st_report_speed, NAN, "-");
    gives(st_report_share, 0.96, "96 %");
    gives(st_report_share, 0.0239, "2.4 %");
    gives(st_report_share, 0, "0 %");
    gives(st_report_share, 1, "100 %");
    gives(st_report_share, NAN, "-");
}

static void test_bytes(void **state)
{
    (void)state;
    static const struct {
        int64_t bytes;
        const char *text;
    } rows[] = {{-1, "-"}, {0, "0 bytes"}, {1023, "1023 bytes"}, {1024, "1 KiB"}, {62914560, "60 MiB"},
                {150754820096, "140.4 GiB"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        st_text text;
        st_text_init(&text);
        st_report_bytes(&text, rows[i].bytes);
        assert_string_equal(st_text_string(&text), rows[i].text);
        st_text_release(&text);
    }
}

static void test_speedups(void **state)
{
    (void)state;
    static const struct {
        double ratio, low, high;
        const char *text;
    } rows[] = {{3.4167, 3.3955, 3.4481, "3.42 × the default (3.40–3.45)"},
                {1.0042, 1.0011, 1.0071, "1.004 × the default (1.001–1.007)"},
                {12.34, 12.2, 12.5, "12.3 × the default (12.2–12.5)"},
                {2, NAN, NAN, "2.00 × the default"},
                {NAN, 1, 2, "-"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        st_text text;
        st_text_init(&text);
        st_report_speedup(&text, rows[i].ratio, rows[i].low, rows[i].high);
        assert_string_equal(st_text_string(&text), rows[i].text);
        st_text_release(&text);
    }
}

static void test_problems(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"T=f32 op=sum n=268435456", "T=f32 op=sum n=256Mi"},
                                          {"n=1000", "n=1000"},
                                          {"n=0", "n=0"},
                                          {"m=1024 n=3", "m=1Ki n=3"},
                                          {"word=2fast n=1048576", "word=2fast n=1Mi"},
                                          {"", "(one problem)"},
                                          {"odd n= =3", "odd n= =3"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        st_text text;
        st_text_init(&text);
        st_report_problem(&text, rows[i][0]);
        assert_string_equal(st_text_string(&text), rows[i][1]);
        st_text_release(&text);
    }
}

static void test_pairs(void **state)
{
    (void)state;
    static const char pairs[] = "BLOCK=256 VEC=4  FINISH=two_pass";
    size_t length = 0;
    const char *value = st_report_value_of(pairs, "VEC", 3, &length);
    assert_int_equal(length, 1);
    assert_memory_equal(value, "4", 1);
    value = st_report_value_of(pairs, "FINISH", 6, &length);
    assert_int_equal(length, 8);
    assert_memory_equal(value, "two_pass", 8);
    assert_null(st_report_value_of(pairs, "VE", 2, &length)); // a part of a name is none
    assert_null(st_report_value_of(pairs, "EC", 2, &length));
    assert_null(st_report_value_of("", "VEC", 3, &length));
    const char *at = pairs;
    size_t name_length, count = 0;
    while (st_report_next_pair(&at, &name_length, &length))
        count++;
    assert_int_equal(count, 3);
}

// No line beyond the width; nothing lost; what goes on stands below the beginning.
static void test_rows(void **state)
{
    (void)state;
    st_text text;
    st_text_init(&text);
    st_report_row(&text, "label", 10, "one two  three 12 µs four", 20);
    assert_string_equal(st_text_string(&text), "  label   one two\n"
                                               "          three\n"
                                               "          12 µs four\n"); // a number keeps its unit
    st_text_clear(&text);
    st_report_row(&text, "much too long a label", 6, "x", 20);
    assert_string_equal(st_text_string(&text), "  much too long a label x\n");
    st_text_clear(&text);
    st_report_row(&text, "", 4, "", 20);
    assert_string_equal(st_text_string(&text), "    \n");
    st_text_clear(&text);
    st_report_row(&text, "a", 4, "A=1 B=2 C=3", 8); // numbers of a configuration are no numbers with a unit
    assert_string_equal(st_text_string(&text), "  a A=1\n    B=2\n    C=3\n");
    st_text_clear(&text);
    st_report_row(&text, "", 2, "endlesslylongword x", 8);
    assert_string_equal(st_text_string(&text), "  endlesslylongword\n  x\n");
    st_text_release(&text);
}

static void test_columns(void **state)
{
    (void)state;
    assert_int_equal(st_report_columns("µs – ×"), 6);
    assert_int_equal(st_report_columns(""), 0);
    st_text text;
    st_text_init(&text);
    st_report_right(&text, "4 µs", 6);
    st_text_add(&text, "|");
    st_report_left(&text, "µ", 3);
    st_text_add(&text, "|");
    st_report_right(&text, "longer", 2);
    assert_string_equal(st_text_string(&text), "  4 µs|µ  |longer");
    st_text_release(&text);
}

static void test_ascii(void **state)
{
    (void)state;
    st_text text;
    st_text_init(&text);
    st_report_ascii(&text, "4 µs – 2.00 × → █░▏│ … n");
    assert_string_equal(st_text_string(&text), "4 us - 2.00 x -> #. | ... n");
    st_text_clear(&text);
    st_report_ascii(&text, "Café \xff"); // of others: as it is
    assert_string_equal(st_text_string(&text), "Café \xff");
    st_text_release(&text);
}

// Into a cell of a table of GitHub's Markdown: as its scanner goes over it, a backslash takes the next character with it.
static bool ends_a_cell(const char *cell)
{
    for (const char *at = cell; *at; at++)
        if (*at == '\\' && at[1])
            at++;
        else if (*at == '|' || *at == '\n')
            return true;
    return false;
}

static void test_markdown(void **state)
{
    (void)state;
    static const struct {
        const char *words, *text, *code;
    } rows[] = {
        {"BLOCK=256", "BLOCK=256", "`BLOCK=256`"},
        {"BLOCK 1 → 4", "BLOCK 1 → 4", "`BLOCK 1 → 4`"},
        {"a|b", "a\\|b", "<code>a\\|b</code>"},
        {"a\\|b", "a\\\\\\|b", "<code>a\\\\\\|b</code>"},
        {"a`b", "a\\`b", "<code>a\\`b</code>"},
        {"``", "\\`\\`", "<code>\\`\\`</code>"},
        {"<b>&", "&lt;b\\>&amp;", "`<b>&`"},
        {"x\ny\t\xff", "x y ?", "<code>x y ?</code>"},
        {"a\xe2\x80\xae" "b\xe2\x80\xa8", "a\\\\u202Eb\\\\u2028", "<code>a\\\\u202Eb\\\\u2028</code>"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        st_text text, code;
        st_text_init(&text);
        st_text_init(&code);
        st_report_markdown_words(&text, rows[i].words);
        st_report_markdown_code(&code, rows[i].words);
        assert_string_equal(st_text_string(&text), rows[i].text);
        assert_string_equal(st_text_string(&code), rows[i].code);
        assert_false(ends_a_cell(st_text_string(&text)) || ends_a_cell(st_text_string(&code)));
        st_text_release(&text);
        st_text_release(&code);
    }
}

static void test_safe(void **state)
{
    (void)state;
    static const struct {
        const char *words, *plain, *coloured;
    } rows[] = {
        {"a\xe2\x80\xae" "b\xe2\x80\xa8\xef\xbb\xbf", "a\\u202Eb\\u2028\\uFEFF", "a\\u202Eb\\u2028\\uFEFF"},
        {"NVIDIA H200 – 4 µs\tx\n", "NVIDIA H200 – 4 µs\tx\n", "NVIDIA H200 – 4 µs\tx\n"},
        {"\033[2J\033[31mred\033[0m", "?[2J?[31mred?[0m", "?[2J\033[31mred\033[0m"},
        {"\033]0;title\007", "?]0;title?", "?]0;title?"},
        {"a\rb\bc\177d", "a?b?c?d", "a?b?c?d"},
        {"\302\233" "2J|\302\240|\302", "?2J|\302\240|?", "?2J|\302\240|?"},
        {"\033[", "?[", "?["},
        {"\033[1;31", "?[1;31", "?[1;31"},
        {"\033[m", "?[m", "?[m"},
        {"", "", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int colour = 0; colour < 2; colour++) {
            const char *wanted = colour ? rows[i].coloured : rows[i].plain;
            st_text text;
            st_text_init(&text);
            st_report_safe(&text, rows[i].words, colour);
            assert_string_equal(st_text_string(&text), wanted);
            assert_int_equal(st_report_is_safe(rows[i].words, colour), strcmp(rows[i].words, wanted) == 0);
            assert_true(st_report_is_safe(wanted, colour));
            st_text_release(&text);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),  cmocka_unit_test(test_bytes), cmocka_unit_test(test_speedups),
        cmocka_unit_test(test_problems), cmocka_unit_test(test_pairs), cmocka_unit_test(test_rows),
        cmocka_unit_test(test_columns), cmocka_unit_test(test_safe),
        cmocka_unit_test(test_ascii),
        cmocka_unit_test(test_markdown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
