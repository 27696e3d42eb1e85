// SPDX-License-Identifier: Apache-2.0
// The history of a family: versions in their order, one thing moved at a time where possible, change points named in a
// sentence that says what else changed, sparklines, and no wrong word without memory.
#include "tests/unit/db/fixture.h"

#include "reports/history.h"
#include "tests/unit/db/history_fixture.h"
#include "tuner/base/json.h"

#define FIRST_TEMPLATE "1111aaaa1111aaaa1111aaaa1111aaaa"
#define SECOND_TEMPLATE "2222bbbb2222bbbb2222bbbb2222bbbb"

static void add(st_store *store, history_session session, int64_t n, double ns, int days)
{
    st_error error = {0};
    static uint64_t seed;
    history_problem problem = {.n = n, .ns = ns, .scatter = 0, .seed = ++seed}; // exact, for the sentences
    session.ended_ms = 1780000000000 + days * (int64_t)86400000;
    assert_ok(history_begin(store, &session, &error), error);
    assert_ok(history_add(&session, &problem, &error), error);
    assert_ok(history_end(&session, &error), error);
}

static st_history load(st_store *store, int by)
{
    st_error error = {0};
    st_history made;
    const st_compare_filter filter = {.family = "reduce", .n = -1};
    assert_ok(st_history_load(store, &filter, by, &st_compare_usual_rules, &made, &error), error);
    return made;
}

static void assert_versions(const st_history *made, size_t series, const char *expected)
{
    st_text text;
    st_text_init(&text);
    for (size_t i = 0; i < made->series[series].count; i++)
        st_text_addf(&text, "%s%s%s", i ? " " : "", made->series[series].lines[i].version,
                     made->series[series].lines[i].held ? "" : "!");
    assert_string_equal(st_text_string(&text), expected);
    st_text_release(&text);
}

static void assert_sentence(const st_history *made, size_t finding, const char *expected)
{
    st_text text;
    st_text_init(&text);
    assert_true(finding < made->finding_count);
    st_history_sentence(made, &made->findings[finding], &text);
    assert_string_equal(st_text_string(&text), expected);
    st_text_release(&text);
}

static void assert_no_finding(const st_history *made, const char *expected)
{
    st_text text;
    st_text_init(&text);
    assert_int_equal(made->finding_count, 0);
    st_history_no_finding(made, &text);
    assert_string_equal(st_text_string(&text), expected);
    st_text_release(&text);
}

static void versions_stand_in_their_order(void **state)
{
    (void)state;
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    add(store, (history_session){.driver = "580.65.06"}, 1024, 100000, 0);
    add(store, (history_session){.driver = "580.159.04"}, 1024, 100000, 1);
    add(store, (history_session){.driver = "99.1"}, 1024, 100000, 2); // measured last, and the oldest
    st_history made = load(store, ST_HISTORY_DRIVER);
    assert_int_equal(made.count, 1);
    assert_versions(&made, 0, "99.1 580.65.06 580.159.04");
    assert_no_finding(&made, "no driver made reduce slower or faster beyond noise");
    st_history_release(&made);
    st_store_close(store);
}

static void templates_stand_in_the_order_of_their_first_measurement(void **state)
{
    (void)state;
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    add(store, (history_session){.template_hash = "9999" FIRST_TEMPLATE}, 1024, 100000, 0);
    add(store, (history_session){.template_hash = FIRST_TEMPLATE}, 1024, 100000, 1);
    add(store, (history_session){.template_hash = "9999" FIRST_TEMPLATE}, 1024, 100000, 2); // used again later
    st_history made = load(store, ST_HISTORY_TEMPLATE);
    assert_versions(&made, 0, "9999" FIRST_TEMPLATE " " FIRST_TEMPLATE);
    st_history_release(&made);
    st_store_close(store);
}

static void the_driver_that_made_it_slower_is_named(void **state)
{
    (void)state;
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    for (int64_t n = 1024; n <= 4096; n *= 2) {
        add(store, (history_session){.driver = "570.1"}, n, 100000, 0);
        add(store, (history_session){.driver = "575.1"}, n, 100100, 1);
        add(store, (history_session){.driver = "580.1"}, n, n == 1024 ? 100100 : n == 2048 ? 105000 : 110000, 2);
        add(store, (history_session){.driver = "585.1"}, n, n == 1024 ? 100100 : n == 2048 ? 105000 : 110000, 3);
    }
    st_history made = load(store, -1);
    assert_true(made.chosen && made.by == ST_HISTORY_DRIVER && made.versions == 4);
    assert_int_equal(made.count, 3);
    assert_int_equal(made.finding_count, 1);
    const st_history_finding *finding = &made.findings[0];
    assert_true(finding->count == 2 && finding->of == 3 && finding->untold == 0 && finding->others == 0);
    assert_true(fabs(finding->least - 1.049) < 0.002 && fabs(finding->most - 1.099) < 0.002);
    st_text text;
    st_text_init(&text);
    st_history_sentence(&made, finding, &text);
    assert_non_null(strstr(text.data, "driver 580.1 made reduce slower on NVIDIA H200 than 575.1 in 2 of 3 problems and "
                                      "states of the cache, by 4.9 to 9.9 %"));
    assert_non_null(strstr(text.data, "; nothing else that is known changed with it"));
    st_text_release(&text);
    // The slow one stays slow: from the first to the last.
    assert_int_equal(made.series[2].overall.change, ST_CHANGE_WORSE);
    assert_int_equal(made.series[0].overall.change, ST_CHANGE_SAME);
    st_history_release(&made);
    st_store_close(store);
}

// Of driver 580 there are measurements with both templates: the one that can be compared is taken, not the newest.
static void one_thing_moves_at_a_time_where_possible(void **state)
{
    (void)state;
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    add(store, (history_session){.driver = "570.1"}, 1024, 100000, 0);
    add(store, (history_session){.driver = "580.1"}, 1024, 110000, 1);
    add(store, (history_session){.driver = "580.1", .template_hash = SECOND_TEMPLATE}, 1024, 90000, 2);
    add(store, (history_session){.driver = "590.1", .template_hash = SECOND_TEMPLATE}, 1024, 90000, 3);
    add(store, (history_session){.driver = "590.1"}, 1024, 110000, 1); // older, and comparable
    st_history made = load(store, ST_HISTORY_DRIVER);
    assert_versions(&made, 0, "570.1 580.1 590.1");
    assert_string_equal(made.series[0].lines[1].record->row.template_hash, FIRST_TEMPLATE);
    assert_int_equal(made.finding_count, 1);
    assert_int_equal(made.findings[0].others, 0);
    assert_int_equal(made.series[0].lines[2].change.change, ST_CHANGE_SAME);
    st_history_release(&made);
    made = load(store, ST_HISTORY_TEMPLATE); // and with the driver held
    assert_int_equal(made.findings[0].change, ST_CHANGE_BETTER);
    assert_int_equal(made.findings[0].others, 0);
    assert_string_equal(made.series[0].lines[0].record->row.driver, made.series[0].lines[1].record->row.driver);
    st_history_release(&made);
    st_store_close(store);
}

static void what_else_changed_is_said(void **state)
{
    (void)state;
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    add(store, (history_session){.driver = "570.1"}, 1024, 100000, 0);
    add(store, (history_session){.driver = "580.1", .template_hash = SECOND_TEMPLATE, .tool = "0.2.0"}, 1024, 120000, 1);
    st_history made = load(store, ST_HISTORY_DRIVER);
    assert_versions(&made, 0, "570.1! 580.1");
    assert_int_equal(made.findings[0].others, ST_DIFFERS_TEMPLATE | ST_DIFFERS_TOOL);
    st_text text;
    st_text_init(&text);
    st_history_sentence(&made, &made.findings[0], &text);
    assert_non_null(strstr(text.data, "; but tool and template changed too, so it may not be the driver"));
    st_text_release(&text);
    st_history_release(&made);
    st_store_close(store);
}

static void devices_can_be_the_lines(void **state)
{
    (void)state;
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    add(store, (history_session){0}, 1024, 100000, 0);
    add(store, (history_session){.uuid = "GPU-same-model"}, 1024, 100000, 1); // a second card: the same line
    add(store, (history_session){.device = "NVIDIA A100", .uuid = "GPU-a"}, 1024, 200000, 2);
    st_history made = load(store, ST_HISTORY_DEVICE);
    assert_int_equal(made.count, 1);
    assert_versions(&made, 0, "NVIDIA A100 NVIDIA H200");
    assert_int_equal(made.findings[0].change, ST_CHANGE_BETTER);
    st_text text;
    st_text_init(&text);
    st_history_sentence(&made, &made.findings[0], &text);
    assert_non_null(strstr(text.data, "reduce is faster on NVIDIA H200 than on NVIDIA A100, by "));
    st_text_release(&text);
    st_history_release(&made);
    made = load(store, ST_HISTORY_DRIVER); // otherwise each card has its own
    assert_int_equal(made.count, 3);
    assert_no_finding(&made, "there is one driver so far: 570.124.06");
    st_history_release(&made);
    st_store_close(store);
}

static void the_kind_is_the_first_that_has_several(void **state)
{
    (void)state;
    static const struct {
        history_session second;
        st_history_by expected;
    } cases[] = {{{.driver = "580"}, ST_HISTORY_DRIVER},
                 {{.compiler = "nvrtc 12.6"}, ST_HISTORY_COMPILER},
                 {{.template_hash = SECOND_TEMPLATE}, ST_HISTORY_TEMPLATE},
                 {{.tool = "0.2.0"}, ST_HISTORY_TOOL},
                 {{.device = "NVIDIA A100", .uuid = "GPU-a"}, ST_HISTORY_DRIVER},
                 {{.compiler = "nvrtc 12.6", .template_hash = SECOND_TEMPLATE}, ST_HISTORY_COMPILER}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        st_store *store = open_store(":memory:", ST_STORE_WRITE);
        add(store, (history_session){0}, 1024, 100000, 0);
        add(store, cases[i].second, 1024, 100000, 1);
        st_history made = load(store, -1);
        assert_int_equal(made.by, cases[i].expected);
        st_history_release(&made);
        st_store_close(store);
    }
    for (int by = 0; by < ST_HISTORY_BYS; by++)
        assert_int_equal(st_history_by_find(st_history_by_name((st_history_by)by)), by);
    assert_int_equal(st_history_by_find("weather"), -1);
}

static void nothing_known_is_said(void **state)
{
    (void)state;
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    st_error error = {0};
    st_history made;
    add(store, (history_session){0}, 1024, 100000, 0);
    const st_compare_filter scan = {.family = "scan", .n = -1}, other = {.family = "reduce", .n = 4096};
    assert_int_equal(st_history_load(store, &scan, -1, &st_compare_usual_rules, &made, &error), ST_NOTHING);
    assert_int_equal(st_history_load(store, &other, -1, &st_compare_usual_rules, &made, &error), ST_NOTHING);
    // Two versions that never met one problem.
    add(store, (history_session){.driver = "580"}, 4096, 100000, 1);
    made = load(store, -1);
    assert_no_finding(&made, "no problem was measured with more than one driver");
    st_history_release(&made);
    st_store_close(store);
}

static void sparklines_show_changes_and_no_noise(void **state)
{
    (void)state;
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    const double times[] = {100000, 100200, 150000, 200000, 100000};
    char driver[8];
    for (int i = 0; i < 5; i++) {
        snprintf(driver, sizeof driver, "%d.1", 500 + i % 100);
        add(store, (history_session){.driver = driver}, 1024, times[i], i);
        add(store, (history_session){.driver = driver}, 2048, 100000 + 100 * (i % 2), i);
    }
    st_history made = load(store, -1);
    st_text text;
    st_text_init(&text);
    st_history_sparkline(&made.series[0], true, &text);
    assert_string_equal(st_text_string(&text), "▁▁▅█▁");
    st_text_clear(&text);
    st_history_sparkline(&made.series[0], false, &text);
    assert_string_equal(st_text_string(&text), "__=#_");
    st_text_clear(&text);
    st_history_sparkline(&made.series[1], true, &text); // a tenth of a percent is no mountain
    assert_string_equal(st_text_string(&text), "▁▁▁▁▁");
    st_text_release(&text);
    assert_int_equal(made.series[0].lines[3].level, 7);
    st_history_release(&made);
    st_store_close(store);
}

static st_store *printed_store(void)
{
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    add(store, (history_session){.driver = "570.1"}, 1024, 100000, 0);
    add(store, (history_session){.driver = "580.1", .device = NULL}, 1024, 120000, 1);
    add(store, (history_session){.driver = "590.1", .template_hash = SECOND_TEMPLATE}, 1024, 90000, 2);
    return store;
}

static void every_form_says_the_same(void **state)
{
    (void)state;
    st_store *store = printed_store();
    st_error error = {0};
    st_history made = load(store, -1);
    st_text text, markdown, json;
    st_text_init(&text);
    st_text_init(&markdown);
    st_text_init(&json);
    st_history_text(&made, &(st_history_print){.unicode = true}, &text);
    st_history_markdown(&made, true, &markdown);
    assert_ok(st_history_json(&made, &json, &error), error);
    const char *sentence = "driver 580.1 made reduce slower on NVIDIA H200 than 570.1, by ";
    assert_non_null(strstr(text.data, sentence));
    assert_non_null(strstr(markdown.data, sentence));
    json_t *whole = NULL;
    assert_ok(st_json_parse(json.data, json.length, "json", &whole, &error), error);
    const json_t *finding = json_array_get(json_object_get(whole, "findings"), 0);
    assert_non_null(strstr(json_string_value(json_object_get(finding, "sentence")), sentence));
    const json_t *series = json_array_get(json_object_get(whole, "series"), 0);
    assert_int_equal(json_array_size(json_object_get(series, "lines")), 3);
    json_decref(whole);
    assert_sentence(&made, 1, "driver 590.1 made reduce faster on NVIDIA H200 than 580.1, by 25.0 %; but template changed "
                              "too, so it may not be the driver");
    st_text_release(&json);
    st_text_release(&markdown);
    st_text_release(&text);
    st_history_release(&made);
    st_store_close(store);
}

static st_code whole_way(st_store *store, st_text *out, st_error *error)
{
    st_history made;
    const st_compare_filter filter = {.family = "reduce", .n = -1};
    unsigned long failed = st_allocations_failed();
    st_code code = st_history_load(store, &filter, -1, &st_compare_usual_rules, &made, error);
    if (code != ST_OK)
        return code;
    code = st_history_json(&made, out, error);
    st_history_text(&made, &(st_history_print){.unicode = true}, out);
    st_history_markdown(&made, false, out);
    st_history_release(&made);
    if (code == ST_OK && st_allocations_failed() != failed) // as main looks at it
        code = st_fail_memory(error, "printing");
    return code;
}

static void inject(st_fault kind, unsigned long least)
{
    st_store *store = printed_store();
    st_error error = {0};
    st_text expected, got;
    st_text_init(&expected);
    st_text_init(&got);
    assert_ok(whole_way(store, &expected, &error), error);
    for (unsigned long n = 1;; n++) {
        st_text_clear(&got);
        got.failed = false;
        error = (st_error){0};
        st_fault_arm(kind, n);
        st_code code = whole_way(store, &got, &error);
        bool hit = st_fault_injected(kind);
        st_fault_arm(kind, 0);
        if (code == ST_OK)
            assert_string_equal(st_text_string(&got), st_text_string(&expected));
        else
            assert_true(hit && error.what[0]);
        if (!hit) {
            assert_true(n > least);
            break;
        }
    }
    st_text_release(&got);
    st_text_release(&expected);
    st_store_close(store);
}

static void faults_never_change_a_word(void **state)
{
    (void)state;
    inject(ST_FAULT_ALLOCATION, 60);
    inject(ST_FAULT_SQLITE, 10);
}

int main(void)
{
    st_json_setup();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_stand_in_their_order),
        cmocka_unit_test(templates_stand_in_the_order_of_their_first_measurement),
        cmocka_unit_test(the_driver_that_made_it_slower_is_named),
        cmocka_unit_test(one_thing_moves_at_a_time_where_possible),
        cmocka_unit_test(what_else_changed_is_said),
        cmocka_unit_test(devices_can_be_the_lines),
        cmocka_unit_test(the_kind_is_the_first_that_has_several),
        cmocka_unit_test(nothing_known_is_said),
        cmocka_unit_test(sparklines_show_changes_and_no_noise),
        cmocka_unit_test(every_form_says_the_same),
        cmocka_unit_test(faults_never_change_a_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
