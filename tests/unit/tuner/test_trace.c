// SPDX-License-Identifier: Apache-2.0
// The timeline file (trace.c). Invariants: 1. every event is whole; 2. texts are escaped whatever bytes they hold;
// 3. no event lies before the beginning or ends before it begins. Promise: without a trace nothing happens; what is
// lost shows when it is written.
// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/faults.h"
#include "tuner/base/clock.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/simtune-test-trace-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
    (void)state;
    st_json_setup();
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/trace.json", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static json_t *read_back(void)
{
    st_text text;
    json_t *made = NULL;
    st_text_init(&text);
    assert_int_equal(st_text_read_file(&text, path, NULL), ST_OK);
    assert_int_equal(st_json_parse(st_text_string(&text), text.length, path, &made, NULL), ST_OK);
    st_text_release(&text);
    return made;
}

// The n-th event of a kind, NULL.
static const json_t *event(const json_t *made, const char *kind, size_t n)
{
    size_t i;
    const json_t *one;
    json_array_foreach (json_object_get(made, "traceEvents"), i, one)
        if (strcmp(json_string_value(json_object_get(one, "ph")), kind) == 0 && n-- == 0)
            return one;
    return NULL;
}

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static void spans_values_and_facts(void **state)
{
    (void)state;
    double before = st_clock_seconds();
    st_trace *trace = st_trace_new();
    assert_non_null(trace);
    const st_trace_argument arguments[] = {{"configuration", "A=1", 0}, {"mismatches", NULL, 7}, {"unknown", NULL, NAN}};
    double now = st_clock_seconds();
    st_trace_span(trace, ST_TRACE_TIMING, "verify", "verify exact", now, now + 0.25, arguments, 3);
    st_trace_span(trace, ST_TRACE_COMPILE + 3, "compile", "compile", before - 5, before - 6, NULL, 0); // before time began
    st_trace_span(trace, ST_TRACE_TRACKS, "", "no such track", now, now, NULL, 0);
    st_trace_value(trace, "best so far", "µs", 4.5);
    st_trace_value(trace, "best so far", "µs", NAN); // nothing is known: nothing is said
    st_trace_about(trace, "device", "H200");
    st_trace_about(trace, "driver", "");
    st_trace_title(trace, "reduce on H200");
    assert_int_equal(st_trace_write(trace, path, NULL), ST_OK);
    st_trace_free(trace);
    json_t *made = read_back();
    const json_t *first = event(made, "X", 0), *second = event(made, "X", 1), *value = event(made, "C", 0);
    assert_string_equal(json_string_value(json_object_get(first, "name")), "verify exact");
    assert_string_equal(json_string_value(json_object_get(first, "cat")), "verify");
    assert_true(number(first, "ts") >= 0 && fabs(number(first, "dur") - 250000) < 1);
    const json_t *told = json_object_get(first, "args");
    assert_string_equal(json_string_value(json_object_get(told, "configuration")), "A=1");
    assert_true(number(told, "mismatches") == 7);
    assert_null(json_object_get(told, "unknown"));
    assert_true(number(second, "ts") == 0 && number(second, "dur") == 0);
    assert_true(number(second, "tid") == ST_TRACE_COMPILE + 3);
    assert_null(event(made, "X", 2));
    assert_true(number(json_object_get(value, "args"), "µs") == 4.5);
    assert_null(event(made, "C", 1));
    const json_t *about = json_object_get(made, "otherData");
    assert_string_equal(json_string_value(json_object_get(about, "device")), "H200");
    assert_null(json_object_get(about, "driver"));
    // Names of the program and of each track that was used, and of no other.
    size_t names = 0;
    while (event(made, "M", names))
        names++;
    assert_int_equal(names, 1 + 2 * 2);
    assert_string_equal(json_string_value(json_object_get(json_object_get(event(made, "M", 0), "args"), "name")),
                        "reduce on H200");
    json_decref(made);
}

// Invariant 2: what comes back is what went in, and "?" for what is not UTF-8.
static void texts_are_escaped(void **state)
{
    (void)state;
    static const struct { const char *in, *out; } rows[] = {
        {"\"quoted\" \\ back", "\"quoted\" \\ back"},
        {"</script><b>", "</script><b>"},
        {"line\nnext\ttab\r\x01\x7f", "line\nnext\ttab\r\x01\x7f"},
        {"µ 漢 \xf0\x9f\x98\x80", "µ 漢 \xf0\x9f\x98\x80"},
        {"cut \xc3", "cut ?"},
        {"alone \x80\xbf", "alone ??"},
        {"overlong \xc0\x80 \xe0\x80\x80", "overlong ?? ???"},
        {"surrogate \xed\xa0\x80", "surrogate ???"},
        {"beyond \xf4\x90\x80\x80", "beyond ????"},
        {"", ""}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        st_trace *trace = st_trace_new();
        const st_trace_argument argument = {rows[i].in, rows[i].in, 0};
        st_trace_span(trace, ST_TRACE_RUN, rows[i].in, rows[i].in, 0, 0, &argument, 1);
        st_trace_about(trace, "command", rows[i].in);
        st_trace_title(trace, rows[i].in);
        st_trace_value(trace, rows[i].in, rows[i].in, 1);
        assert_int_equal(st_trace_write(trace, path, NULL), ST_OK);
        st_trace_free(trace);
        json_t *made = read_back();
        const json_t *one = event(made, "X", 0);
        assert_string_equal(json_string_value(json_object_get(one, "name")), rows[i].out);
        assert_string_equal(json_string_value(json_object_get(one, "cat")), rows[i].out);
        assert_string_equal(json_string_value(json_object_get(json_object_get(one, "args"), rows[i].out)), rows[i].out);
        if (rows[i].in[0])
            assert_string_equal(json_string_value(json_object_get(json_object_get(made, "otherData"), "command")),
                                rows[i].out);
        json_decref(made);
    }
}

static void without_a_trace_nothing_happens(void **state)
{
    (void)state;
    st_trace_span(NULL, ST_TRACE_RUN, "", "", 0, 0, NULL, 0);
    st_trace_value(NULL, "", "", 1);
    st_trace_about(NULL, "a", "b");
    st_trace_title(NULL, "a");
    st_trace_free(NULL);
    assert_int_equal(st_trace_write(NULL, path, NULL), ST_NO_MEMORY);
}

// A trace that lost something says so and leaves no half file.
static void memory_runs_out(void **state)
{
    (void)state;
    bool ended = false;
    for (unsigned long n = 1; !ended; n = next_fault(n)) {
        st_error error = {0};
        unlink(path);
        st_fault_arm(ST_FAULT_ALLOCATION, n);
        st_trace *trace = st_trace_new();
        for (int i = 0; i < 20; i++)
            st_trace_span(trace, ST_TRACE_RUN, "run", "a span of some length", 0, 1, NULL, 0);
        st_trace_about(trace, "device", "H200");
        st_code code = st_trace_write(trace, path, &error);
        ended = !st_fault_injected(ST_FAULT_ALLOCATION);
        st_fault_arm(ST_FAULT_ALLOCATION, 0);
        st_trace_free(trace);
        assert_int_equal(code, ended ? ST_OK : ST_NO_MEMORY);
        assert_int_equal(access(path, F_OK) == 0, ended);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_values_and_facts),
        cmocka_unit_test(texts_are_escaped),
        cmocka_unit_test(without_a_trace_nothing_happens),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
