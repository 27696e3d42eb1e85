// SPDX-License-Identifier: Apache-2.0
// The page and the report for programs. Invariants of page.c: 1. no network; 2. all that is to be read is in the HTML;
// 3. the same report gives the same bytes; 4. every text of the store is escaped. Of report_json.c: unknown is null,
// columns have one entry a candidate, and no "<" stands in what a page holds.
// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reports/report.h"
#include "tests/unit/faults.h"
#include "tests/unit/reports/session_fixture.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"

static st_store *store;
static fixture_session session;
static st_report report;
static st_text page;
extern const char st_page_css[]; // made from page.css when simtune is built

static void need(st_code code, const st_error *error)
{
    if (code != ST_OK)
        fail_msg("%s (%s)", error->what, error->remedy);
}

static int open_empty(void **state)
{
    (void)state;
    st_text_init(&page);
    return st_store_open(":memory:", ST_STORE_WRITE, &store, NULL);
}

static int open_reduce(void **state)
{
    st_error error = {0};
    return open_empty(state) == ST_OK && fixture_reduce(store, &session, &error) == ST_OK ? 0 : -1;
}

static int close_store(void **state)
{
    (void)state;
    st_text_release(&page);
    st_report_release(&report);
    st_store_close(store);
    return 0;
}

static const char *make(const char *const *ids, size_t count)
{
    st_error error = {0};
    need(st_report_load(store, ids, count, ST_REPORT_COLD, &report, &error), &error);
    need(st_report_html(&report, NULL, &page, &error), &error);
    return st_text_string(&page);
}

static const char *make_one(void)
{
    return make((const char *[]){session.row.id}, 1);
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        count++;
    return count;
}

// The document that the page holds, parsed.
static json_t *document(const char *html)
{
    static const char begin[] = "<script type=\"application/json\" id=\"data\">";
    const char *from = strstr(html, begin), *end = from ? strstr(from, "</script>") : NULL;
    json_t *value = NULL;
    st_error error = {0};
    assert_non_null(end);
    from += sizeof begin - 1;
    assert_null(memchr(from, '<', (size_t)(end - from)));
    need(st_json_parse(from, (size_t)(end - from), "the page", &value, &error), &error);
    return value;
}

// --- the page --------------------------------------------------------------------------------------------------------

// In the order of the questions that a reader has.
static void test_order(void **state)
{
    (void)state;
    static const char *const parts[] = {"<h1>",
                                        "What made it faster",
                                        "What it waits on now",
                                        "Configuration to copy",
                                        "Can it be trusted?",
                                        "Why it is faster",
                                        "Where the time goes",
                                        "What the profile says of the winner",
                                        "The landscape",
                                        "Time by each parameter",
                                        "The search",
                                        "Failures",
                                        "The samples",
                                        "Sizes side by side",
                                        "What the names mean",
                                        "Over time",
                                        "How to reproduce it",
                                        "All candidates",
                                        "id=\"data\""};
    const char *at = make_one();
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *found = strstr(at, parts[i]);
        if (!found)
            fail_msg("\"%s\" is missing, or stands too early", parts[i]);
        at = found;
    }
}

static void test_what_it_says(void **state)
{
    (void)state;
    const char *html = make_one();
    static const char *const said[] = {
        "<em>3.48 ×</em> as fast as the default",
        "reduce (T=f32 op=sum n=64Ki, cold cache) runs 3.48 × as fast as the default (95 % interval 3.45 to 3.50)",
        "<span class=\"pair moved\">BLOCK=<b>512</b></span>",
        "Its warps wait for a value from global memory (long_scoreboard, 46 % of samples)",
        "Together: these 4 were measured only at once.",
        "VEC: elements that one load or store instruction moves, at most 16 bytes. ",
        "with the most threads",
        "1 thing is not known.",
        "out[0] is 12, should be 13</td>"}; // the first line of the log
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (!strstr(html, said[i]))
            fail_msg("it does not say \"%s\"", said[i]);
    assert_null(strstr(html, "1 of 1 differ</td>"));
    assert_non_null(strstr(html, "simtune repro "));
    char show[64];
    snprintf(show, sizeof show, "<code>simtune show %.12s</code>", report.sessions[0].problems[0].candidates[1].id);
    assert_non_null(strstr(html, show));
    assert_non_null(strstr(html, "simtune reduce --arch auto"));
}

// A user's family is not in our table: the comment above its parameter tells.
static void test_names_of_others(void **state)
{
    (void)state;
    static const char text[] = "{\"scale.cu\":\"// simtune: family scale\\n// How much a thread does & why.\\n"
                               "// simtune: param BLOCK = 128 256  role tlp work\\n//\\n"
                               "// simtune: param ITEMS = 1 4\\n// simtune: default BLOCK=256 ITEMS=1\\n\"}";
    st_error error = {0};
    need(fixture_scale(store, "fedcba9876543210fedcba9876543210", text, &session, &error), &error);
    const char *names = strstr(make_one(), "What the names mean");
    assert_non_null(names);
    assert_non_null(strstr(names, "How much a thread does &amp; why."));
    assert_non_null(strstr(names, "the template says nothing of it"));
    assert_non_null(strstr(names, "resident warps: others that can issue while one waits"));
    assert_null(strstr(names, "<dt><code>mlp</code>")); // no parameter has it
}

// Each reason to wait has a look of its own: no colour stands twice but with stripes.
static void test_reasons_look_different(void **state)
{
    (void)state;
    size_t count;
    const st_stall *stalls = st_stalls(&count);
    char looks[64][96] = {{0}};
    for (size_t i = 0; i < count; i++) {
        char rule[64];
        snprintf(rule, sizeof rule, ".w-%s { --w:", stalls[i].name);
        const char *at = strstr(st_page_css, rule);
        if (!at)
            fail_msg("no colour for %s", stalls[i].name);
        at += strlen(rule);
        snprintf(looks[i], sizeof looks[i], "%.*s", (int)strcspn(at, ";"), at);
        for (size_t j = 0; j < i; j++)
            if (strcmp(looks[i], looks[j]) == 0)
                fail_msg("%s looks as %s", stalls[i].name, stalls[j].name);
    }
}

// Of very many problems only those that are led with are shown whole; none is left out.
static void test_many_problems(void **state)
{
    (void)state;
    enum { MANY = 102 };
    static const fixture_candidate rows[] = {{"A=1", "correct", NULL, 8000, NAN, 32, 1},
                                             {"A=2", "correct", NULL, 1000, NAN, 32, 1}};
    st_error error = {0};
    need(fixture_begin(store, "toy", "0123456789abcdef0123456789abcdef", "{}", "x", &session, &error), &error);
    for (int i = 0; i < MANY; i++) {
        char problem[16];
        snprintf(problem, sizeof problem, "n=%d", i + 1);
        need(fixture_candidates(&session, problem, NULL, NULL, i + 1, rows, 2, &error), &error);
        need(fixture_winner(&session, "cold", 1, 0, 1000, 8000, 7.9, 8.1, 1, NAN, &error), &error);
    }
    const char *html = make_one();
    assert_int_equal(count_of(html, "<details class=\"problem\""), MANY);
    assert_int_equal(count_of(html, "<section class=\"why\">"), 1);
    assert_int_equal(count_of(html, "it shows the result only"), MANY - 1);
}

static void test_no_network(void **state)
{
    (void)state;
    const char *html = make_one();
    assert_null(strstr(html, "src="));
    assert_null(strstr(html, "@import"));
    assert_null(strstr(html, "url("));
    assert_null(strstr(html, "href=\"http"));
    assert_non_null(strstr(html, "default-src 'none'"));
}

// Each drawing has words for those who do not see it, or stands in a table that says the same.
static void test_drawings_have_words(void **state)
{
    (void)state;
    const char *html = make_one();
    size_t drawings = count_of(html, "<svg"), labelled = count_of(html, "role=\"img\" aria-label=\"");
    size_t hidden = count_of(html, "preserveAspectRatio=\"none\" aria-hidden=\"true\"");
    size_t marks = count_of(html, "class=\"mark\" role=\"img\"");
    size_t boxes = count_of(html, "<span class=\"boxed\"");
    assert_true(drawings > 8 && boxes > 20);
    assert_int_equal(boxes, count_of(html, "<td class=\"stripcell\"><span class=\"boxed\"")); // each in a row with its figures
    assert_int_equal(drawings, labelled - marks + hidden);
    assert_int_equal(count_of(html, "<table"), count_of(html, "</table>"));
    assert_int_equal(count_of(html, "<section"), count_of(html, "</section>"));
    assert_int_equal(count_of(html, "<details"), count_of(html, "</details>"));
    assert_int_equal(count_of(html, "<figure"), count_of(html, "</figure>"));
    assert_int_equal(count_of(html, "<div"), count_of(html, "</div>"));
}

static void test_same_bytes(void **state)
{
    (void)state;
    char *first = st_strdup(make_one());
    st_report_release(&report);
    st_text_clear(&page);
    assert_string_equal(first, make_one());
    st_free(first);
}

// --- texts of others -------------------------------------------------------------------------------------------------

#define NASTY "</script><script>alert(1)</script><!--\"'&\x01\x1b[31m\xff\xc2\x85\xe2\x80\xa8"

static void test_escaped(void **state)
{
    (void)state;
    static const fixture_candidate rows[] = {{"A=1 B=<b>x</b>", "correct", NULL, 2000, 2000, 20, 1},
                                             {"A=2 B=</script>", "correct", NULL, 1000, 1000, 20, 1},
                                             {"A=3 B=\"'&", "wrong", NASTY "\nsecond", NAN, NAN, 20, 1}};
    st_error error = {0};
    need(fixture_begin(store, "<i>fam", "0123456789abcdef0123456789abcdef",
                       "{\"<u>k.cu\":\"// simtune: family x\\n// <s>&\\n// simtune: param A = 1 2 3 role ilp\\n\"}",
                       "simtune tune " NASTY, &session, &error),
         &error);
    need(fixture_candidates(&session, "n=</title>", "<q>", "'\"", 1, rows, 3, &error), &error);
    need(fixture_winner(&session, "cold", 1, 0, 1000, 2000, 1.9, 2.1, 2, 4096, &error), &error);
    const char *html = make_one();
    assert_int_equal(count_of(html, "<script"), 2); // data and our own
    assert_int_equal(count_of(html, "</script>"), 2);
    assert_int_equal(count_of(html, "<title>"), 1);
    assert_int_equal(count_of(html, "</title>"), 1);
    assert_null(strstr(html, "<b>x</b>"));
    assert_null(strstr(html, "<i>fam"));
    assert_null(strstr(html, "<u>k.cu"));
    assert_null(strstr(html, "<s>&"));
    assert_null(strstr(html, "<q>"));
    assert_null(strstr(html, "alert(1)</script>"));
    assert_null(strstr(html, "\xe2\x80\xa8")); // U+2028 is shown, not set
    assert_non_null(strstr(html, "\\u2028"));
    for (const char *at = html; *at; at++)
        assert_true((unsigned char)*at >= 0x20 || *at == '\n');
    assert_null(strstr(html, "\xff"));
    assert_null(strstr(html, "\xc2\x85"));
    json_t *data = document(html);
    const json_t *one = json_array_get(json_object_get(data, "sessions"), 0);
    const json_t *problem = json_array_get(json_object_get(one, "problems"), 0);
    assert_string_equal(json_string_value(json_object_get(problem, "problem")), "n=</title>"); // as it was
    json_decref(data);
}

// --- the document ----------------------------------------------------------------------------------------------------

static void test_document(void **state)
{
    (void)state;
    json_t *data = document(make_one());
    const json_t *one = json_array_get(json_object_get(data, "sessions"), 0);
    const json_t *problem = json_array_get(json_object_get(one, "problems"), 0);
    const json_t *candidates = json_object_get(problem, "candidates"), *cold = json_object_get(problem, "cold");
    assert_string_equal(json_string_value(json_object_get(data, "schema")), "simtune.report/1");
    assert_int_equal(json_array_size(json_object_get(candidates, "id")), 6);
    assert_int_equal(json_array_size(json_object_get(candidates, "registers")), 6);
    assert_true(json_is_null(json_array_get(json_object_get(candidates, "registers"), 5)));
    const json_t *times = json_object_get(json_object_get(candidates, "cold"), "median_ns");
    assert_int_equal(json_array_size(times), 6);
    assert_float_equal(json_number_value(json_array_get(times, 1)), 4600, 1e-9);
    assert_true(json_is_null(json_array_get(times, 3)));
    assert_int_equal(json_array_size(json_object_get(candidates, "values")), 5);
    assert_int_equal(json_integer_value(json_object_get(cold, "winner")), 1);
    assert_float_equal(json_number_value(json_array_get(json_object_get(cold, "speedup"), 0)), 3.4512, 1e-6);
    assert_non_null(json_object_get(json_object_get(candidates, "details"), "3"));
    assert_true(
        json_is_null(json_object_get(json_array_get(json_object_get(one, "problems"), 1), "cold"))); // nothing measured
    json_decref(data);
}

static void test_json_alone(void **state)
{
    (void)state;
    st_error error = {0};
    json_t *value = NULL;
    const char *ids[] = {session.row.id};
    need(st_report_load(store, ids, 1, ST_REPORT_WARM, &report, &error), &error);
    need(st_report_json(&report, &page, &error), &error);
    need(st_json_parse(page.data, page.length, "the report", &value, &error), &error);
    assert_string_equal(json_string_value(json_object_get(value, "cache")), "warm");
    json_decref(value);
}

// --- several sessions, and none --------------------------------------------------------------------------------------

static void test_several(void **state)
{
    (void)state;
    st_error error = {0};
    fixture_session other;
    need(fixture_reduce(store, &other, &error), &error);
    const char *html = make((const char *[]){session.row.id, other.row.id}, 2);
    assert_non_null(strstr(html, "<h1>2 sessions compared</h1>"));
    assert_non_null(strstr(html, "Winners, problem by problem"));
    assert_non_null(strstr(html, "id=\"s1\""));
    assert_non_null(strstr(html, "±0.0 %"));
    assert_string_not_equal(report.sessions[0].label, report.sessions[1].label);
    assert_int_equal(report.sessions[0].problems[0].results[ST_REPORT_COLD].past_count, 2);
}

static void test_empty_session(void **state)
{
    (void)state;
    st_error error = {0};
    need(fixture_begin(store, "reduce", "0123456789abcdef0123456789abcdef", "{}", "", &session, &error), &error);
    const char *html = make_one();
    assert_non_null(strstr(html, "Nothing was tried"));
    assert_non_null(strstr(html, "the command was not stored"));
    json_decref(document(html));
}

// Without a single time, without counters, without a default: each leaves its part out and says so.
static void test_sparse_sessions(void **state)
{
    (void)state;
    static const fixture_candidate failed[] = {{"A=1", "crash", NULL, NAN, NAN, -1, NAN},
                                               {"A=2", "timeout", "late", NAN, NAN, -1, NAN}};
    static const fixture_candidate lonely[] = {{"A=1", "correct", NULL, 5000, NAN, -1, NAN}};
    st_error error = {0};
    need(fixture_begin(store, "reduce", "0123456789abcdef0123456789abcdef", "{}", "x", &session, &error), &error);
    need(fixture_candidates(&session, "n=1", NULL, NULL, 1, failed, 2, &error), &error);
    need(fixture_candidates(&session, "n=2", NULL, NULL, 2, lonely, 1, &error), &error);
    need(fixture_winner(&session, "cold", 0, -1, 5000, NAN, NAN, NAN, 1, NAN, &error), &error);
    const char *html = make_one();
    assert_non_null(strstr(html, "A winner, and no default to compare with"));
    assert_non_null(strstr(html, "Not known: the store has no counters of the winner."));
    assert_non_null(strstr(html, "nothing was logged"));
    assert_null(strstr(html, "nan"));
    assert_null(strstr(html, "inf%"));
}

static void test_no_memory(void **state)
{
    (void)state;
    st_error error = {0};
    const char *ids[] = {session.row.id};
    unsigned long failures = 0;
    need(st_report_load(store, ids, 1, ST_REPORT_COLD, &report, &error), &error);
    for (unsigned long n = 1;; n = next_fault(n)) {
        st_text_release(&page);
        st_text_init(&page);
        st_fault_arm(ST_FAULT_ALLOCATION, n);
        st_code code = st_report_html(&report, NULL, &page, &error);
        bool injected = st_fault_injected(ST_FAULT_ALLOCATION);
        st_fault_arm(ST_FAULT_ALLOCATION, 0);
        assert_true(code == ST_NO_MEMORY || (code == ST_OK && !page.failed && strstr(page.data, "</html>")));
        failures += code != ST_OK;
        if (!injected)
            break;
    }
    assert_true(failures > 8);
}

int main(void)
{
    st_json_setup();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_order, open_reduce, close_store),
        cmocka_unit_test_setup_teardown(test_what_it_says, open_reduce, close_store),
        cmocka_unit_test_setup_teardown(test_names_of_others, open_empty, close_store),
        cmocka_unit_test(test_reasons_look_different),
        cmocka_unit_test_setup_teardown(test_many_problems, open_empty, close_store),
        cmocka_unit_test_setup_teardown(test_no_network, open_reduce, close_store),
        cmocka_unit_test_setup_teardown(test_drawings_have_words, open_reduce, close_store),
        cmocka_unit_test_setup_teardown(test_same_bytes, open_reduce, close_store),
        cmocka_unit_test_setup_teardown(test_escaped, open_empty, close_store),
        cmocka_unit_test_setup_teardown(test_document, open_reduce, close_store),
        cmocka_unit_test_setup_teardown(test_json_alone, open_reduce, close_store),
        cmocka_unit_test_setup_teardown(test_several, open_reduce, close_store),
        cmocka_unit_test_setup_teardown(test_empty_session, open_empty, close_store),
        cmocka_unit_test_setup_teardown(test_sparse_sessions, open_empty, close_store),
        cmocka_unit_test_setup_teardown(test_no_memory, open_reduce, close_store),
    };
    return cmocka_run_group_tests_name("page", tests, NULL, NULL);
}
