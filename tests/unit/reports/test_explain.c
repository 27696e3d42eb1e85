// SPDX-License-Identifier: Apache-2.0
// Explanations from the store (explain*.c) and the tour (tour*.c): what waits, what the rules say, what changes brought,
// whose device it was, lines and commands; the same as JSON; one stall by its names; and that a failure anywhere gives no
// half of it.
// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reports/explain.h"
#include "reports/format.h"
#include "reports/tour.h"
#include "tests/unit/faults.h"
#include "tests/unit/reports/session_fixture.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"

static st_store *store;
static fixture_session session;
static st_report report;

#define CHAIN "T=f32 n=1048576"
#define HASH "00112233445566778899aabbccddeeff"

static void need(st_code code, const st_error *error)
{
    if (code != ST_OK)
        fail_msg("%s (%s)", error->what, error->remedy);
}

static const char texts[] = "{\"fma_chain.cu\":\"// simtune: family fma_chain\\n"
                            "// simtune: param    BLOCK  = 128 256       role tlp\\n"
                            "// simtune: param    ACC    = 1 2 4 8       role ilp\\n"
                            "// simtune: param    FORM   = plain fast    role work\\n"
                            "// simtune: default  BLOCK=128 ACC=1 FORM=plain\\n"
                            "  \\tsum = fmaf(a, b, sum); // the chain   \\n\"}";

typedef struct counter_row {
    size_t candidate;
    const char *kind, *name;
    double value;
} counter_row;

static st_code put_counters(const counter_row *rows, size_t count, st_error *error)
{
    st_code code = ST_OK;
    for (size_t first = 0; first < count && code == ST_OK;) {
        const char *names[24];
        double values[24];
        size_t end = first, used = 0;
        for (; end < count && rows[end].candidate == rows[first].candidate &&
               strcmp(rows[end].kind, rows[first].kind) == 0;
             end++) {
            names[used] = rows[end].name;
            values[used++] = rows[end].value;
        }
        code = st_store_counters(session.store, session.candidates[rows[first].candidate], rows[first].kind, names,
                                 values, used, 0.003, error);
        first = end;
    }
    return code;
}

// A chain of dependent arithmetic, broken by accumulators.
static st_code fill(st_error *error)
{
    static const fixture_candidate rows[] = {
        {"BLOCK=128 ACC=1 FORM=plain", "correct", NULL, 40000, NAN, 20, 0.5},
        {"BLOCK=128 ACC=2 FORM=plain", "correct", NULL, 25000, NAN, 24, 0.5},
        {"BLOCK=128 ACC=4 FORM=plain", "correct", NULL, 16000, NAN, 32, 0.5},
        {"BLOCK=256 ACC=1 FORM=plain", "correct", NULL, 42000, NAN, 20, 1},
        {"BLOCK=256 ACC=4 FORM=fast", "wrong", "out[0] is 12, should be 13", NAN, NAN, 32, 1}};
    static const counter_row counters[] = {{0, "pc", "stall.wait", 0.62},
                                           {0, "pc", "stall_not_issued.wait", 0.55},
                                           {0, "pc", "stall.selected", 0.25},
                                           {0, "pc", "stall.not_selected", 0.05},
                                           {0, "pc", "stall.long_scoreboard", 0.08},
                                           {0, "pc", "stall_samples", 4000},
                                           {0, "pc", "stall_launches", 1},
                                           {0, "range", "sm_busy", 0.95},
                                           {2, "pc", "stall.wait", 0.2},
                                           {2, "pc", "stall_not_issued.wait", 0.1},
                                           {2, "pc", "stall.selected", 0.6},
                                           {2, "pc", "stall.not_selected", 0.2},
                                           {2, "pc", "stall_samples", 3000},
                                           {1, "pc", "stall.wait", 0.4},
                                           {1, "pc", "stall_samples", 50}};
    static const char lines[] =
        "[{\"file\":\"/somewhere/fma_chain.cu\",\"line\":6,\"samples\":2400,\"stall\":\"wait\",\"pc\":64,"
        "\"function\":\"_ZN7simtune5chainINS_16simtune_config_0EEEvPKf\"},"
        "{\"file\":\"other.cuh\",\"line\":3,\"samples\":100,\"stall\":\"long_scoreboard\",\"pc\":80,\"function\":"
        "\"f\"}]";
    st_code code = fixture_begin(store, "fma_chain", HASH, texts, "simtune tune fma_chain.cu", &session, error);
    if (code == ST_OK)
        code = fixture_candidates(&session, CHAIN, "f32", NULL, 1048576, rows, 5, error);
    if (code == ST_OK)
        code = fixture_winner(&session, "cold", 2, 0, 16000, 40000, 2.48, 2.52, 1, 8388608, error);
    if (code == ST_OK)
        code = put_counters(counters, sizeof counters / sizeof counters[0], error);
    if (code == ST_OK)
        code = st_store_stall_lines(store, session.candidates[0], lines, error);
    return code == ST_OK ? fixture_end(&session, "allowed", error) : code;
}

static st_code load(st_error *error)
{
    const char *id = session.row.id;
    return st_report_load(store, &id, 1, ST_REPORT_COLD, &report, error);
}

static int open_store(void **state)
{
    (void)state;
    st_error error = {0};
    report = (st_report){0};
    if (st_store_open(":memory:", ST_STORE_WRITE, &store, &error) != ST_OK || fill(&error) != ST_OK ||
        load(&error) != ST_OK)
        return -1;
    return 0;
}

static int close_store(void **state)
{
    (void)state;
    st_report_release(&report);
    st_store_close(store);
    return 0;
}

static char *explain(int candidate, int width, bool colour, const char *here)
{
    st_explained explained;
    st_error error = {0};
    st_text text;
    st_text_init(&text);
    const st_explain_options options = {.width = width, .colour = colour, .here = here};
    need(st_explain(store, &report.sessions[0], 0, ST_REPORT_COLD, candidate, &explained, &error), &error);
    need(st_explain_text(&explained, &options, &text, &error), &error);
    st_explained_release(&explained);
    return st_text_take(&text);
}

// Line breaks and indents of running text are one blank here.
static char *flat(const char *text)
{
    char *made = st_strdup(text), *to = made;
    assert_non_null(made);
    for (const char *at = made; *at; at++)
        if (*at != '\n' && *at != ' ')
            *to++ = *at;
        else if (to > made && to[-1] != ' ')
            *to++ = ' ';
    *to = '\0';
    return made;
}

static void expect(const char *text, const char *part)
{
    char *whole = flat(text), *wanted = flat(part);
    if (!strstr(whole, wanted))
        fail_msg("\"%s\" is not in\n%s", part, text);
    st_free(whole);
    st_free(wanted);
}

// With every blank in its place.
static void expect_line(const char *text, const char *line)
{
    if (!strstr(text, line))
        fail_msg("\"%s\" is not in\n%s", line, text);
}

static void expect_not(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("\"%s\" is in\n%s", part, text);
}

// --- explain --------------------------------------------------------------------------------------------------------

static void test_default(void **state)
{
    (void)state;
    char *text = explain(0, 0, false, "");
    expect(text, "fma_chain T=f32 n=1Mi, cold cache\n");
    expect(text, "NVIDIA H200 (sm_90, 132 SMs), driver 580.159.04");
    expect(text, "there is no GPU here");
    expect_line(text, "  wait               ███████████░           62 %\n");
    expect(text, "schedulers issue in 45 % of cycles (by samples)");
    expect(text, "4.0 cycles from\n");
    expect(text, "  major       waits for the arithmetic before it  [wait]\n");
    expect(text, "62 % of samples wait for it, 55 % while nothing is issued");
    expect(text, "2.5 of the 4.0 cycles");
    // What was tried in that direction: of one parameter alone, best first, with the candidate's id.
    expect(text, "    measured  ACC 1 → 4: 2.50 × as fast (");
    expect(text, "; articles promise 4 ×. Less than promised, since the schedulers then issue in 90 % of cycles");
    expect(text, "BLOCK 128 → 256: 1.05 × the time (");
    expect_not(text, "changed as well");
    expect(text, "    estimate  saves at most 55 % of the time [1]\n");
    expect(text, "[1] at most M/T");
    expect(text, "GPA");
    // The line, by the name that the template's texts have for the file, without its white space.
    expect(text, "fma_chain.cu:6 (SASS 0x40), 60 % of samples at one instruction:");
    expect(text, "sum = fmaf(a, b, sum); // the chain\n");
    expect(text, "other.cuh:3 waits for long_scoreboard: (source not stored)");
    expect(text, "-k 'regex:chain'");
    expect(text, "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio");
    st_free(text);
}

static void test_winner_against_default(void **state)
{
    (void)state;
    char *text = explain(2, 0, false, "GPU-other");
    expect(text, "not the GPU that is here");
    expect(text, "  winner      ");
    expect(text, "2.50 × the default (2.48–2.52)");
    expect_line(text, "                     winner                       default\n");
    expect_line(text, "  wait               ██░░                   20 %  ███████████░           62 %\n");
    expect(text, "findings on the default: what there was to gain\n");
    expect(text, "issues in nearly every cycle  [issue_bound]"); // 90 % by samples
    expect(text, "what the winner changed\n");
    expect(text, "2.50 ×: ACC 1 → 4\n"); // measured alone
    st_free(text);
    text = explain(2, 0, false, "GPU-00000000-1111-2222-3333-444444444444");
    expect_not(text, "here\n");
    st_free(text);
}

static void test_others(void **state)
{
    (void)state;
    char *text = explain(1, 0, false, NULL); // few samples
    expect(text, "  candidate   ");
    expect(text, "1.60 × as fast as the default");
    expect(text, "only 50 samples: an indication");
    st_free(text);
    text = explain(3, 0, false, NULL); // nothing was counted
    expect(text, "0.95 × the speed of the default");
    expect(text, "no counters of the candidate are stored");
    expect_not(text, "findings on the candidate");
    st_free(text);
    text = explain(4, 0, false, NULL);
    expect(text, "outcome wrong: out[0] is 12, should be 13");
    st_free(text);
}

static void test_width_and_colour(void **state)
{
    (void)state;
    for (int candidate = 0; candidate < 5; candidate++) {
        char *plain = explain(candidate, 80, false, ""), *coloured = explain(candidate, 80, true, ""), *rest = plain;
        assert_null(strchr(plain, '\033'));
        assert_non_null(strchr(coloured, '\033'));
        for (char *line; (line = strsep(&rest, "\n"));)
            if (st_report_columns(line) > 80 && !strstr(line, "smsp__") && !strstr(line, "ncu "))
                fail_msg("wider than 80: %s", line);
        st_free(plain);
        st_free(coloured);
    }
}

static void test_json(void **state)
{
    (void)state;
    for (int candidate = 0; candidate < 5; candidate++) {
        st_explained explained;
        st_error error = {0};
        json_t *json = NULL;
        const st_explain_options options = {.here = "GPU-00000000-1111-2222-3333-444444444444"};
        need(st_explain(store, &report.sessions[0], 0, ST_REPORT_COLD, candidate, &explained, &error), &error);
        need(st_explain_json(&explained, &options, &json, &error), &error);
        const json_t *one = json_object_get(json, "explained");
        assert_string_equal(json_string_value(json_object_get(json, "schema")), "simtune.explain/1");
        assert_true(json_is_true(json_object_get(json, "measured_here")));
        assert_true(json_is_null(json_object_get(json, "compared_with")) == (candidate == 0));
        assert_true(json_is_null(json_object_get(one, "median_ns")) == (candidate == 4));
        if (candidate == 0) {
            const json_t *finding = json_array_get(json_object_get(one, "findings"), 0);
            assert_string_equal(json_string_value(json_object_get(finding, "rule")), "wait");
            assert_true(json_number_value(json_object_get(finding, "estimated_gain")) == 0.55);
            const json_t *measured = json_array_get(json_object_get(finding, "measured"), 0);
            assert_string_equal(json_string_value(json_object_get(measured, "to")), "4");
            assert_true(json_number_value(json_object_get(measured, "speedup")) == 2.5);
            assert_true(json_number_value(json_object_get(measured, "promised_speedup")) == 4);
            expect(json_string_value(json_object_get(measured, "why_less")), "no time left to save");
            const json_t *issue = json_object_get(json_object_get(one, "values"), "issue_active");
            assert_string_equal(json_string_value(json_object_get(issue, "validity")), "derived");
        }
        json_decref(json);
        st_explained_release(&explained);
    }
}

// --- one stall --------------------------------------------------------------------------------------------------------

static int stall_index(const char *name)
{
    size_t count;
    const st_stall *table = st_stalls(&count);
    return (int)(st_stall_find(name) - table);
}

static void test_stall(void **state)
{
    (void)state;
    st_stall_example example;
    st_error error = {0};
    st_text text;
    st_text_init(&text);
    need(st_stall_example_find(store, stall_index("wait"), &example, &error), &error);
    assert_non_null(example.family);
    assert_true(example.share == 0.62); // the largest of the store
    st_stall_text(stall_index("wait"), "execution_dependency", &example, 80, &text);
    expect(st_text_string(&text), "you asked for\n");
    expect(st_text_string(&text), "62 % of samples, fma_chain T=f32 n=1Mi on NVIDIA H200");
    expect(st_text_string(&text), "more independent instructions in a thread (role ilp)");
    json_t *json = st_stall_json(stall_index("wait"), &example);
    assert_string_equal(json_string_value(json_object_get(json_object_get(json, "example"), "family")), "fma_chain");
    json_decref(json);
    st_stall_example_release(&example);
    st_text_clear(&text);
    need(st_stall_example_find(store, stall_index("barrier"), &example, &error), &error); // no such counter here
    assert_null(example.family);
    st_stall_text(stall_index("barrier"), "barrier", &example, 80, &text);
    expect(st_text_string(&text), "none: no profile in the store");
    expect_not(st_text_string(&text), "you asked for");
    json = st_stall_json(stall_index("barrier"), &example);
    assert_true(json_is_null(json_object_get(json, "example")));
    json_decref(json);
    st_text_release(&text);
}

// --- the tour -----------------------------------------------------------------------------------------------------------

static void test_tour(void **state)
{
    (void)state;
    size_t count;
    const st_tour_stop *stops = st_tour_stops(&count);
    st_tour_found found;
    st_error error = {0};
    st_text text;
    st_text_init(&text);
    assert_string_equal(stops[0].family, "fma_chain");
    need(st_tour_find(store, &stops[0], NULL, NULL, 0, &found, &error), &error);
    assert_true(found.found && found.alone);
    assert_int_equal(found.count, 4);
    assert_true(found.rows[0].ns == 40000 && found.rows[2].ns == 16000 && isnan(found.rows[3].ns));
    assert_int_equal(found.rows[2].wrong, 1); // of all with that value
    st_tour_text(&stops[0], &found, 1, "", 80, &text);
    expect(st_text_string(&text), "not on this machine; all else is the\n");
    expect_line(st_text_string(&text),
                "  1     40.00 µs   1.00    45 %     4.0    20  wait 62 %, long_scoreboard 8.0 %\n");
    expect(st_text_string(&text), "  8   not tried\n");
    expect(st_text_string(&text), "4 is 2.50 × as fast as 1; the share of samples that wait for the result of");
    expect(st_text_string(&text), "goes from 62 % to 20 %");
    expect(st_text_string(&text), "since the schedulers then issue in 90 % of cycles");
    expect(st_text_string(&text), "1 of the 2 configurations with 4 gives a wrong result.");
    json_t *json = st_tour_json(&stops[0], &found, "");
    assert_int_equal(json_array_size(json_object_get(json, "rows")), 4);
    assert_true(json_is_false(json_object_get(json, "measured_here")));
    json_decref(json);
    st_tour_found_release(&found);
    st_text_clear(&text);
    need(st_tour_find(store, &stops[2], NULL, NULL, 0, &found, &error), &error); // no scan here
    assert_false(found.found);
    st_tour_text(&stops[2], &found, 3, "", 80, &text);
    expect(st_text_string(&text), "simtune tour --measure scans");
    st_tour_found_release(&found);
    need(st_tour_find(store, &stops[0], "A100", NULL, 0, &found, &error), &error); // not that device
    assert_false(found.found);
    st_tour_found_release(&found);
    st_text_release(&text);
}

static void test_stops_are_whole(void **state)
{
    (void)state;
    size_t count;
    const st_tour_stop *stops = st_tour_stops(&count);
    for (size_t i = 0; i < count; i++) {
        assert_true(stops[i].id && stops[i].title && stops[i].claim && stops[i].measure && stops[i].values[1]);
        assert_non_null(st_stall_find(stops[i].look_at[0]));
        assert_true(!stops[i].look_at[1] || st_stall_find(stops[i].look_at[1]));
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(stops[i].id, stops[j].id);
    }
}

// --- faults -----------------------------------------------------------------------------------------------------------

static st_code everything(st_error *error)
{
    st_explained explained;
    st_stall_example example = {0};
    st_tour_found found;
    size_t count;
    json_t *json = NULL;
    st_text text;
    st_text_init(&text);
    const st_explain_options options = {.here = ""};
    st_code code = st_explain(store, &report.sessions[0], 0, ST_REPORT_COLD, 2, &explained, error);
    if (code == ST_OK) {
        code = st_explain_text(&explained, &options, &text, error);
        if (code == ST_OK)
            code = st_explain_json(&explained, &options, &json, error);
        json_decref(json);
        st_explained_release(&explained);
    }
    if (code == ST_OK)
        code = st_stall_example_find(store, stall_index("wait"), &example, error);
    st_stall_example_release(&example);
    if (code == ST_OK) {
        code = st_tour_find(store, &st_tour_stops(&count)[0], NULL, NULL, 0, &found, error);
        if (code == ST_OK) {
            st_tour_text(&st_tour_stops(&count)[0], &found, 1, "", 80, &text);
            if (text.failed)
                code = st_fail_memory(error, "the tour");
            st_tour_found_release(&found);
        }
    }
    st_text_release(&text);
    return code;
}

static void test_faults(void **state)
{
    (void)state;
    static const st_fault kinds[] = {ST_FAULT_ALLOCATION, ST_FAULT_SQLITE};
    for (size_t k = 0; k < 2; k++) {
        bool injected = true;
        for (unsigned long n = 1; injected; n = next_fault(n)) {
            st_error error = {0};
            unsigned long before = st_allocations_failed();
            st_fault_arm(kinds[k], n);
            st_code code = everything(&error);
            injected = st_fault_injected(kinds[k]);
            st_fault_arm(kinds[k], 0);
            if (!injected)
                assert_int_equal(code, ST_OK);
            else if (code == ST_OK) // a small part of a text: the command looks at this count
                assert_true(st_allocations_failed() > before);
            else
                assert_true(error.what[0] != '\0');
        }
    }
}

int main(void)
{
    st_json_setup();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_default, open_store, close_store),
        cmocka_unit_test_setup_teardown(test_winner_against_default, open_store, close_store),
        cmocka_unit_test_setup_teardown(test_others, open_store, close_store),
        cmocka_unit_test_setup_teardown(test_width_and_colour, open_store, close_store),
        cmocka_unit_test_setup_teardown(test_json, open_store, close_store),
        cmocka_unit_test_setup_teardown(test_stall, open_store, close_store),
        cmocka_unit_test_setup_teardown(test_tour, open_store, close_store),
        cmocka_unit_test(test_stops_are_whole),
        cmocka_unit_test_setup_teardown(test_faults, open_store, close_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
