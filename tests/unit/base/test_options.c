// SPDX-License-Identifier: Apache-2.0
// Options out of a table: what is accepted, what is refused and with which words.
// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tuner/base/memory.h"
#include "tuner/base/options.h"

#include <string.h>

static const st_option first[] = {{"device", 'd', "WHICH", false, "a device"},
                                  {"type", 't', "TYPES", true, "types"},
                                  {"dry-run", 'n', NULL, false, "do nothing"},
                                  {0}};
static const st_option second[] = {{"json", 0, NULL, false, "as JSON"}, {"db", 0, "FILE", false, "the store"}, {0}};
static const st_option *const tables[] = {first, second, NULL};

#define PARSE(parsed, error, ...) parse(parsed, error, (const char *const[]){__VA_ARGS__, NULL})

static st_code parse(st_parsed *parsed, st_error *error, const char *const *words)
{
    int count = 0;
    while (words[count])
        count++;
    return st_options_parse(tables, count, (char **)(uintptr_t)words, parsed, error);
}

static void test_spellings(void **state)
{
    (void)state;
    st_parsed parsed;
    st_error error = {0};
    static const char *const spellings[][3] = {{"--device", "h200", NULL}, {"--device=h200", NULL, NULL},
                                               {"-d", "h200", NULL},       {"-dh200", NULL, NULL}};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(parse(&parsed, &error, spellings[i]), ST_OK);
        assert_string_equal(st_parsed_text(&parsed, "device"), "h200");
        assert_int_equal(parsed.word_count, 0);
        st_parsed_release(&parsed);
    }
    assert_int_equal(PARSE(&parsed, &error, "--db", "-"), ST_OK); // a dash is a value
    assert_string_equal(st_parsed_text(&parsed, "db"), "-");
    st_parsed_release(&parsed);
    assert_int_equal(PARSE(&parsed, &error, "--device=a=b"), ST_OK);
    assert_string_equal(st_parsed_text(&parsed, "device"), "a=b");
    st_parsed_release(&parsed);
}

static void test_flags_and_words(void **state)
{
    (void)state;
    st_parsed parsed;
    st_error error = {0};
    assert_int_equal(PARSE(&parsed, &error, "reduce", "-n", "--json", "-", "--", "--device", "-n"), ST_OK);
    assert_true(st_parsed_flag(&parsed, "json"));
    assert_true(st_parsed_flag(&parsed, "dry-run"));
    assert_false(st_parsed_flag(&parsed, "device"));
    assert_null(st_parsed_text(&parsed, "device"));
    assert_int_equal(parsed.word_count, 4);
    static const char *const words[] = {"reduce", "-", "--device", "-n"};
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(parsed.words[i], words[i]);
    st_parsed_release(&parsed);
    assert_int_equal(st_options_parse(tables, 0, NULL, &parsed, &error), ST_OK);
    assert_int_equal(parsed.word_count, 0);
    st_parsed_release(&parsed);
}

static void test_lists(void **state)
{
    (void)state;
    st_parsed parsed;
    st_error error = {0};
    st_list list;
    assert_int_equal(PARSE(&parsed, &error, "--type", "f32,i32", "-t", "f64"), ST_OK);
    assert_int_equal(st_parsed_list(&parsed, "type", true, &list, &error), ST_OK);
    assert_int_equal(list.count, 3);
    assert_string_equal(list.items[0], "f32");
    assert_string_equal(list.items[1], "i32");
    assert_string_equal(list.items[2], "f64");
    st_list_free(&list);
    assert_int_equal(st_parsed_list(&parsed, "type", false, &list, &error), ST_OK);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0], "f32,i32");
    st_list_free(&list);
    assert_int_equal(st_parsed_list(&parsed, "device", true, &list, &error), ST_OK);
    assert_int_equal(list.count, 0);
    st_list_free(&list);
    assert_string_equal(st_parsed_text(&parsed, "type"), "f64"); // the last
    st_parsed_release(&parsed);
}

// An empty word among others is a slip, and a list without words would mean "all".
static void test_empty_words(void **state)
{
    (void)state;
    static const char *const lists[] = {",", "f32,", ",f32", "f32,,i32"};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        st_parsed parsed;
        st_error error = {0};
        st_list list;
        assert_int_equal(PARSE(&parsed, &error, "--type", "u8", "--type", lists[i]), ST_OK);
        assert_int_equal(st_parsed_list(&parsed, "type", true, &list, &error), ST_USAGE);
        assert_non_null(strstr(error.what, lists[i]));
        assert_int_equal(list.count, 0);
        assert_null(list.items);
        assert_int_equal(st_parsed_list(&parsed, "type", false, &list, &error), ST_OK); // not to be split
        st_list_free(&list);
        st_parsed_release(&parsed);
    }
}

static void test_refusing(void **state)
{
    (void)state;
    static const struct {
        const char *words[4], *what, *remedy;
    } rows[] = {{{"--devise"}, "--devise", "did you mean --device?"},
                {{"--devise=h200"}, "--devise", "did you mean --device?"},
                {{"--frobnicate"}, "--frobnicate", "--help lists the options"},
                {{"-x"}, "-x", "--help lists the options"},
                {{"-nx"}, "-nx", "--help lists the options"},
                {{"--json=yes"}, "--json takes no value", "leave the value out"},
                {{"--device"}, "--device needs a value (WHICH)", "see --help"},
                {{"-d"}, "--device needs a value (WHICH)", "see --help"},
                {{"--device", ""}, "--device needs a value (WHICH), not \"\"", "give a value, or leave the option out"},
                {{"--type="}, "--type needs a value (TYPES), not \"\"", "give a value, or leave the option out"},
                {{"--device", "a", "--device=b"}, "--device is given twice: a and b", "give it once"},
                {{"---"}, "---", "--help lists the options"},
                {{"--=x"}, "--", "--help lists the options"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        st_parsed parsed;
        st_error error = {0};
        assert_int_equal(parse(&parsed, &error, rows[i].words), ST_USAGE);
        if (!strstr(error.what, rows[i].what) || strcmp(error.remedy, rows[i].remedy) != 0)
            fail_msg("%s: %s (%s)", rows[i].words[0], error.what, error.remedy);
        assert_null(parsed.given); // released
        assert_null(parsed.words);
    }
    st_parsed parsed;
    st_error error = {0};
    assert_int_equal(PARSE(&parsed, &error, "--device", "a", "-da", "-n", "-n"), ST_OK); // the same twice is fine
    st_parsed_release(&parsed);
}

// A word of any length is cut in the message, never run over.
static void test_endless_words(void **state)
{
    (void)state;
    char word[5000] = "--";
    memset(word + 2, 'x', sizeof word - 3);
    word[sizeof word - 1] = '\0';
    st_parsed parsed;
    st_error error = {0};
    assert_int_equal(PARSE(&parsed, &error, word), ST_USAGE);
    assert_true(strlen(error.what) < 200);
}

static void test_help(void **state)
{
    (void)state;
    st_text text;
    st_text_init(&text);
    st_options_help(first, &text);
    assert_string_equal(st_text_string(&text), "  -d, --device WHICH           a device\n"
                                               "  -t, --type TYPES             types (repeatable)\n"
                                               "  -n, --dry-run                do nothing\n");
    st_text_release(&text);
}

static void test_no_memory(void **state)
{
    (void)state;
    for (unsigned long n = 1; n < 100; n++) {
        st_parsed parsed;
        st_list list = {0};
        st_error error = {0};
        st_fault_arm(ST_FAULT_ALLOCATION, n);
        st_code code = PARSE(&parsed, &error, "reduce", "--type", "f32,f64", "--json", "a", "b", "c");
        if (code == ST_OK) {
            code = st_parsed_list(&parsed, "type", true, &list, &error);
            st_parsed_release(&parsed);
        }
        bool injected = st_fault_injected(ST_FAULT_ALLOCATION);
        st_fault_arm(ST_FAULT_ALLOCATION, 0);
        assert_int_equal(code, injected ? ST_NO_MEMORY : ST_OK);
        assert_int_equal(list.count, injected ? 0 : 2);
        st_list_free(&list);
        if (!injected)
            return;
    }
    fail_msg("the trial without a fault was never reached");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spellings), cmocka_unit_test(test_flags_and_words),
        cmocka_unit_test(test_lists),     cmocka_unit_test(test_empty_words),
        cmocka_unit_test(test_refusing),
        cmocka_unit_test(test_endless_words), cmocka_unit_test(test_help),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
