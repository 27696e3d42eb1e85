// SPDX-License-Identifier: Apache-2.0
// Candidates whose times are of different phases, side by side: none that lost is shown before the winner, no change is
// credited with what a phase costs, and what was put on a scale is said. All figures follow from the table below.
// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reports/explain.h"
#include "reports/report.h"
#include "reports/summary.h"
#include "tests/unit/reports/session_fixture.h"
#include "tuner/base/memory.h"

// In the finals a candidate takes 400 ns longer than in the screen, 100 and 110 ns less than in halving.
enum { STANDARD, WINNER, RUNNER, LOSER, WITHOUT_A, HALVED, LUCKY, COUNT };
static const struct {
    const char *configuration;
    double screen, halving, later, finals; // 0: it did not come so far
    double comparable;
} rows[COUNT] = {
    [STANDARD] = {"A=1 B=1 C=1", 7000, 0, 0, 7400, 7400},
    [WINNER] = {"A=2 B=2 C=1", 5000, 5500, 5510, 5400, 5400},
    [RUNNER] = {"A=2 B=2 C=2", 5050, 5560, 5570, 5460, 5460},
    [LOSER] = {"A=2 B=1 C=1", 5150, 0, 0, 0, 5550}, // less than the winner, as it was measured
    [WITHOUT_A] = {"A=1 B=2 C=1", 6000, 0, 0, 0, 6400},
    [HALVED] = {"A=2 B=1 C=2", 5300, 5800, 0, 0, 5700},
    [LUCKY] = {"A=2 B=2 C=3", 4990, 0, 0, 0, 5390}, // left out all the same, as a budget may
};

static st_store *store;
static fixture_session session;
static st_report report;

static void need(st_code code, const st_error *error)
{
    if (code != ST_OK)
        fail_msg("%s (%s)", error->what, error->remedy);
}

static void measure(int64_t candidate, const char *phase, int round, double ns)
{
    st_error error = {0};
    const double samples[] = {ns, ns, ns};
    if (!(ns > 0))
        return;
    st_measurement_row row = {.candidate_key = candidate, .round = round, .samples_ns = samples, .sample_count = 3,
                              .median_ns = ns, .sm_clock_mhz = 1980, .memory_clock_mhz = 3201, .temperature_c = 41,
                              .power_mw = 300000, .throttle_reasons = 0, .dropped = 0, .batch = 1, .tick_ns = 32,
                              .taken_ms = 1790000000000};
    snprintf(row.phase, sizeof row.phase, "%s", phase);
    snprintf(row.cache, sizeof row.cache, "cold");
    need(st_store_measurement(store, &row, &error), &error);
}

static const st_reported_session *load(size_t count, bool finals)
{
    st_error error = {0};
    fixture_candidate candidates[COUNT];
    for (size_t i = 0; i < count; i++)
        candidates[i] = (fixture_candidate){rows[i].configuration, "correct", NULL, NAN, NAN, 32, 1};
    need(fixture_begin(store, "toy", "0123456789abcdef0123456789abcdef", "{}", "simtune tune toy.cu", &session, &error),
         &error);
    need(fixture_candidates(&session, "n=1", NULL, NULL, 1, candidates, count, &error), &error);
    for (size_t i = 0; i < count; i++) {
        measure(session.candidates[i], "screen", 0, rows[i].screen);
        measure(session.candidates[i], "halving", 1, rows[i].halving);
        measure(session.candidates[i], "halving", 2, rows[i].later);
        measure(session.candidates[i], "finals", 0, finals ? rows[i].finals : 0);
    }
    if (finals)
        need(fixture_winner(&session, "cold", WINNER, STANDARD, 5400, 7400, 1.36, 1.38, 1, NAN, &error), &error);
    need(fixture_end(&session, "ok", &error), &error);
    const char *ids[] = {session.row.id};
    need(st_report_load(store, ids, 1, ST_REPORT_COLD, &report, &error), &error);
    return &report.sessions[0];
}

static int open_store(void **state)
{
    (void)state;
    return st_store_open(":memory:", ST_STORE_WRITE, &store, NULL);
}

static int close_store(void **state)
{
    (void)state;
    st_report_release(&report);
    st_store_close(store);
    return 0;
}

static void test_times(void **state)
{
    (void)state;
    const st_reported_problem *problem = &load(COUNT, true)->problems[0];
    for (size_t i = 0; i < COUNT; i++) {
        const st_reported_time *time = &problem->candidates[i].times[ST_REPORT_COLD];
        double last = rows[i].finals > 0    ? rows[i].finals
                      : rows[i].later > 0   ? rows[i].later
                      : rows[i].halving > 0 ? rows[i].halving
                                            : rows[i].screen;
        assert_true(time->median_ns == last && time->first_ns == rows[i].screen); // as they were measured
        assert_true(time->comparable_ns == rows[i].comparable);
    }
    assert_true(problem->results[ST_REPORT_COLD].fastest_ns == 5390);
    assert_true(isnan(problem->candidates[0].times[ST_REPORT_WARM].comparable_ns));
    assert_true(isnan(problem->results[ST_REPORT_WARM].fastest_ns));
}

static char *words_of(const st_reported_problem *problem, int cache)
{
    st_text text;
    st_text_init(&text);
    st_report_scale(problem, cache, &text);
    return st_text_take(&text);
}

static void test_said(void **state)
{
    (void)state;
    const st_reported_problem *problem = &load(COUNT, true)->problems[0];
    char *words = words_of(problem, ST_REPORT_COLD), *none = words_of(problem, ST_REPORT_WARM);
    assert_string_equal(words,
                        "Times are those of the finals, where candidates take turns; to what was timed in the screen "
                        "+400.0 ns, in the first halving −100.0 ns, in the later halvings −110.0 ns is added: the median "
                        "of what those took longer that came on. 1 that came to no final stands before the winner, by up to "
                        "0.19 %: an estimate out of few samples; the finals have the last word.");
    assert_true(!none || !none[0]);
    st_free(words);
    st_free(none);
}

static void test_said_without_finals(void **state)
{
    (void)state;
    const st_reported_problem *problem = &load(LUCKY, false)->problems[0];
    char *words = words_of(problem, ST_REPORT_COLD);
    assert_non_null(strstr(words, "Times are those of the later halvings; to what was timed in the screen +515.0 ns is "
                                  "added")); // the 10 ns of the first are less than tells
    assert_null(strstr(words, "before the winner")); // there is none
    st_free(words);
}

// As measured, leaving B out would be a gain, and A would gain less than it did.
static void test_changes(void **state)
{
    (void)state;
    const st_reported_result *cold = &load(COUNT, true)->problems[0].results[ST_REPORT_COLD];
    assert_int_equal(cold->change_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const st_reported_change *change = &cold->changes[i];
        bool is_a = change->parameter == 0;
        assert_int_equal(change->without_candidate, is_a ? WITHOUT_A : LOSER);
        assert_float_equal(change->without, is_a ? 6400.0 / 5400 : 5550.0 / 5400, 1e-12);
        // A: 6000/5000 and 7000/5150, both in the screen. B: 5150/5000 and 7000/6000 there, 5800/5560 in halving.
        assert_int_equal(change->pairs, is_a ? 2 : 3);
        assert_float_equal(change->alone.low, is_a ? 1.2 : 1.03, 1e-12);
        assert_float_equal(change->alone.centre, is_a ? (1.2 + 7000.0 / 5150) / 2 : 5800.0 / 5560, 1e-12);
        assert_float_equal(change->alone.high, is_a ? 7000.0 / 5150 : 7000.0 / 6000, 1e-12);
    }
}

static void test_steps(void **state)
{
    (void)state;
    const st_reported_result *cold = &load(COUNT, true)->problems[0].results[ST_REPORT_COLD];
    double whole = 1;
    assert_int_equal(cold->step_count, 2);
    assert_int_equal(cold->steps[0].after, LOSER);
    assert_float_equal(cold->steps[0].gain, 7400.0 / 5550, 1e-12);
    for (size_t i = 0; i < cold->step_count; i++) {
        assert_true(cold->steps[i].gain > 1);
        whole *= cold->steps[i].gain;
    }
    assert_float_equal(whole, 7400.0 / 5400, 1e-12);
}

static size_t count_of(const char *text, const char *words)
{
    size_t count = 0;
    for (; (text = strstr(text, words)); text++)
        count++;
    return count;
}

// The mark of the winner is at the left of the landscape, and its time in no row is beaten by a screened one.
static void test_page(void **state)
{
    (void)state;
    st_error error = {0};
    st_text page;
    st_text_init(&page);
    load(LUCKY, true);
    need(st_report_html(&report, NULL, &page, &error), &error);
    const char *html = st_text_string(&page);
    assert_non_null(strstr(html, "Times are those of the finals"));
    assert_null(strstr(html, "before the winner, by up to"));
    const char *mark = strstr(html, "<span class=\"tag w\" style=\"left:");
    assert_non_null(mark);
    assert_true(strtod(mark + strlen("<span class=\"tag w\" style=\"left:"), NULL) < 100.0 / 6);
    assert_int_equal(count_of(html, "5.150 µs"), 0);
    assert_true(count_of(html, "5.550 µs") > 1);
    assert_non_null(strstr(html, "\"median_ns\":[7400,5400,5460,5150,6000,5800]"));
    assert_non_null(strstr(html, "\"comparable_ns\":[7400,5400,5460,5550,6400,5700]"));
    st_text_release(&page);
}

static char *explained(int candidate)
{
    st_explained made;
    st_error error = {0};
    st_text text;
    const st_explain_options options = {.width = 200, .here = ""};
    st_text_init(&text);
    need(st_explain(store, &report.sessions[0], 0, ST_REPORT_COLD, candidate, &made, &error), &error);
    need(st_explain_text(&made, &options, &text, &error), &error);
    st_explained_release(&made);
    return st_text_take(&text);
}

static void test_explained(void **state)
{
    (void)state;
    load(COUNT, true);
    char *loser = explained(LOSER), *winner = explained(WINNER);
    assert_non_null(strstr(loser, "5.150 µs in the screen (about 5.550 µs in the finals)"));
    assert_non_null(strstr(loser, "1.36 × as fast as the default")); // 7000 / 5150; not 7400 / 5150
    assert_non_null(strstr(winner, "5.400 µs"));
    assert_null(strstr(winner, "5.400 µs in"));
    st_free(loser);
    st_free(winner);
}

// What a parameter is worth says which to look at next: of A the worst value's best time stands highest over the best.
static void test_summary(void **state)
{
    (void)state;
    st_error error = {0};
    st_text text;
    st_text_init(&text);
    load(LUCKY, true);
    need(st_summary_text(store, session.row.id, &(st_summary_options){.cache = "cold", .width = 100}, &text, &error), &error);
    assert_non_null(strstr(st_text_string(&text), "--vary A"));
    st_text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_times, open_store, close_store),
        cmocka_unit_test_setup_teardown(test_said, open_store, close_store),
        cmocka_unit_test_setup_teardown(test_said_without_finals, open_store, close_store),
        cmocka_unit_test_setup_teardown(test_changes, open_store, close_store),
        cmocka_unit_test_setup_teardown(test_steps, open_store, close_store),
        cmocka_unit_test_setup_teardown(test_page, open_store, close_store),
        cmocka_unit_test_setup_teardown(test_explained, open_store, close_store),
        cmocka_unit_test_setup_teardown(test_summary, open_store, close_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
