// SPDX-License-Identifier: Apache-2.0
// JSON from outside is not trusted; equal values give equal bytes; what is not finite is null.
// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <string.h>

static json_t *parse(const char *text)
{
    json_t *value = NULL;
    st_error error = {0};
    if (st_json_parse(text, strlen(text), "test", &value, &error) != ST_OK)
        fail_msg("%s: %s", text, error.what);
    return value;
}

static void prints(const char *from, const char *to)
{
    st_text text;
    st_text_init(&text);
    json_t *value = parse(from);
    st_json_print(value, &text);
    assert_string_equal(st_text_string(&text), to);
    assert_false(text.failed);
    json_decref(value);
    st_text_release(&text);
}

static void test_printing(void **state)
{
    (void)state;
    prints("{ \"b\" : 1, \"a\" : [ true, null, \"x\\u00e9\" ] }", "{\"a\":[true,null,\"x\u00e9\"],\"b\":1}");
    prints("{\"a\":{\"d\":1,\"c\":2}}", "{\"a\":{\"c\":2,\"d\":1}}");
    prints("3", "3");
    prints("\"x\"", "\"x\"");
    prints("[]", "[]");
    prints("9223372036854775807", "9223372036854775807");
}

// A number that is printed is read back bit by bit.
static void test_numbers_survive(void **state)
{
    (void)state;
    static const double values[] = {0.1, 1.0 / 3, 4600.25, 1e300, 5e-324, -0.0, 123456789.123456789};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        st_text text;
        st_text_init(&text);
        json_t *value = st_json_number(values[i]);
        st_json_print(value, &text);
        json_t *back = parse(st_text_string(&text));
        double read = json_number_value(back);
        assert_memory_equal(&read, &values[i], sizeof read);
        json_decref(value);
        json_decref(back);
        st_text_release(&text);
    }
    json_t *nothing[] = {st_json_number(NAN), st_json_number(INFINITY), st_json_number(-INFINITY)};
    for (size_t i = 0; i < 3; i++) {
        assert_true(json_is_null(nothing[i]));
        json_decref(nothing[i]);
    }
}

// What jansson reads back is what went in; what is not UTF-8 becomes "?".
static void test_strings(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } rows[] = {{"", ""}, {"a\"b\\c/d", "a\"b\\c/d"}, {"\x01\n\t\x1f\x7f", "\x01\n\t\x1f\x7f"}, {"µ €", "µ €"}, {"\xff\xc3", "??"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        st_text text;
        json_t *value = NULL;
        st_text_init(&text);
        st_json_add_string(&text, rows[i].in);
        assert_int_equal(st_json_parse(st_text_string(&text), text.length, "a string", &value, NULL), ST_OK);
        assert_string_equal(json_string_value(value), rows[i].out);
        for (const char *at = st_text_string(&text); *at; at++)
            assert_true((unsigned char)*at >= 0x20 && *at != 0x7f);
        json_decref(value);
        st_text_release(&text);
    }
}

static void test_refusing(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "{", "{\"a\":1,\"a\":2}", "[1,]", "nul", "{\"a\":1} x", "'x'", "\"\xff\"",
                                        "[1e999]", "{\"a\" 1}", "\x01"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        json_t *value = (json_t *)1;
        st_error error = {0};
        assert_int_equal(st_json_parse(wrong[i], strlen(wrong[i]), "cache.json", &value, &error), ST_FAILED);
        assert_null(value);
        assert_non_null(strstr(error.what, "cache.json:"));
        assert_true(error.remedy[0]);
    }
    // Only so many bytes are read: what follows is not.
    json_t *value = NULL;
    assert_int_equal(st_json_parse("12x", 2, "test", &value, NULL), ST_OK);
    assert_int_equal(json_integer_value(value), 12);
    json_decref(value);
}

static void test_getters(void **state)
{
    (void)state;
    json_t *object = parse("{\"i\":7,\"r\":1.5,\"b\":true,\"s\":\"x\",\"l\":[1],\"o\":{},\"n\":null}");
    int64_t whole;
    double number;
    bool flag;
    const char *text;
    json_t *part;
    assert_int_equal(st_json_get_int(object, "i", &whole, NULL), ST_OK);
    assert_int_equal(whole, 7);
    assert_int_equal(st_json_get_number(object, "r", &number, NULL), ST_OK);
    assert_true(number == 1.5);
    assert_int_equal(st_json_get_number(object, "i", &number, NULL), ST_OK);
    assert_true(number == 7);
    assert_int_equal(st_json_get_bool(object, "b", &flag, NULL), ST_OK);
    assert_true(flag);
    assert_int_equal(st_json_get_string(object, "s", &text, NULL), ST_OK);
    assert_string_equal(text, "x");
    assert_int_equal(st_json_get_array(object, "l", &part, NULL), ST_OK);
    assert_int_equal(json_array_size(part), 1);
    assert_int_equal(st_json_get_object(object, "o", &part, NULL), ST_OK);
    assert_true(st_json_number_or_nan(object, "r") == 1.5);
    assert_true(isnan(st_json_number_or_nan(object, "n")));
    assert_true(isnan(st_json_number_or_nan(object, "absent")));
    assert_true(isnan(st_json_number_or_nan(object, "s")));
    json_decref(object);
}

// Absent, null, another type, no object at all: an error that names the key, and nothing is written.
static void test_getters_refuse(void **state)
{
    (void)state;
    json_t *object = parse("{\"i\":7,\"r\":1.5,\"b\":true,\"s\":\"x\",\"l\":[1],\"o\":{},\"n\":null}"), *list = parse("[1]");
    const json_t *const places[] = {object, list, NULL};
    for (size_t p = 0; p < 3; p++) {
        static const char *const keys[] = {"absent", "i", "r", "b", "s", "l", "o", "n"};
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
            char kind = p ? '-' : keys[k][1] ? '-' : keys[k][0]; // what it really is
            int64_t whole = 99;
            double number = 99;
            bool flag = true;
            const char *text = "kept";
            json_t *part = list;
            st_error error = {0};
            st_code codes[] = {st_json_get_int(places[p], keys[k], &whole, &error),
                               st_json_get_number(places[p], keys[k], &number, &error),
                               st_json_get_bool(places[p], keys[k], &flag, &error),
                               st_json_get_string(places[p], keys[k], &text, &error),
                               st_json_get_array(places[p], keys[k], &part, &error)};
            bool right[] = {kind == 'i', kind == 'i' || kind == 'r', kind == 'b', kind == 's', kind == 'l'};
            for (size_t c = 0; c < 5; c++)
                assert_int_equal(codes[c], right[c] ? ST_OK : ST_FAILED);
            assert_true(right[0] || whole == 99);
            assert_true(right[1] || number == 99);
            assert_true(right[3] || strcmp(text, "kept") == 0);
            assert_true(right[4] || part == list);
            if (!right[0])
                assert_non_null(strstr(error.what, keys[k]));
            part = NULL;
            assert_int_equal(st_json_get_object(places[p], keys[k], &part, &error), kind == 'o' ? ST_OK : ST_FAILED);
        }
    }
    json_decref(object);
    json_decref(list);
}

// Each allocation fails in turn: no crash, no half of a value.
static void test_no_memory(void **state)
{
    (void)state;
    static const char whole[] = "{\"a\":[1,2.5,\"three\",{\"four\":null}],\"b\":true}";
    for (unsigned long n = 1; n < 1000; n++) {
        json_t *value = NULL;
        st_text text;
        st_text_init(&text);
        st_fault_arm(ST_FAULT_ALLOCATION, n);
        st_code code = st_json_parse(whole, strlen(whole), "test", &value, NULL);
        if (code == ST_OK)
            st_json_print(value, &text);
        bool injected = st_fault_injected(ST_FAULT_ALLOCATION);
        st_fault_arm(ST_FAULT_ALLOCATION, 0);
        assert_int_equal(value != NULL, code == ST_OK);
        if (code == ST_OK && !text.failed)
            assert_string_equal(st_text_string(&text), whole);
        else
            assert_true(injected);
        json_decref(value);
        st_text_release(&text);
        if (!injected)
            return;
    }
    fail_msg("the trial without a fault was never reached");
}

int main(void)
{
    st_json_setup();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_printing),  cmocka_unit_test(test_numbers_survive),
        cmocka_unit_test(test_refusing), cmocka_unit_test(test_strings),  cmocka_unit_test(test_getters),
        cmocka_unit_test(test_getters_refuse), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
