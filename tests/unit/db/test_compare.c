// SPDX-License-Identifier: Apache-2.0
// What comparisons ask of the store (db/compare.h): what words mean, which rows a side has, samples that were taken
// together, baselines and acknowledgements; no plan reads the growing tables; faults are reported.
#include "tests/unit/db/fixture.h"

#include "db/compare_internal.h"
#include "tests/unit/db/history_fixture.h"
#include "tuner/base/json.h"

// --- a store ---------------------------------------------------------------------------------------------------------

static int64_t day(int days)
{
    return 1780000000000 + days * (int64_t)86400000;
}

typedef struct made {
    st_store *store;
    char ids[6][ST_HASH_TEXT];
    int64_t keys[6], winners[6];
} made;

static void add(made *to, int which, history_session session, int64_t n, double ns)
{
    st_error error = {0};
    history_problem problem = {.n = n, .ns = ns, .scatter = 0.01, .seed = (uint64_t)which};
    assert_ok(history_begin(to->store, &session, &error), error);
    assert_ok(history_add(&session, &problem, &error), error);
    assert_ok(history_end(&session, &error), error);
    memcpy(to->ids[which], session.row.id, ST_HASH_TEXT);
    to->keys[which] = session.row.key;
    to->winners[which] = problem.winner_key;
}

// Two cards of one model and another one; two drivers, two templates; of driver 570 two sessions, the second newer.
static made make(const char *path)
{
    made to = {.store = open_store(path, ST_STORE_WRITE)};
    add(&to, 0, (history_session){.driver = "570.124.06", .ended_ms = day(0)}, 1024, 100);
    add(&to, 1, (history_session){.driver = "570.124.06", .ended_ms = day(2)}, 1024, 101);
    add(&to, 2, (history_session){.driver = "580.65.06", .ended_ms = day(3)}, 1024, 110);
    add(&to, 3, (history_session){.driver = "580.65.06", .uuid = "GPU-bbbb-second", .ended_ms = day(4)}, 1024, 111);
    add(&to, 4, (history_session){.driver = "580.65.06", .device = "NVIDIA A100", .uuid = "GPU-aaaa-third",
                                  .template_hash = "2222bbbb2222bbbb2222bbbb2222bbbb", .tool = "0.2.0",
                                  .compiler = "nvrtc 12.6", .ended_ms = day(5)}, 1024, 200);
    add(&to, 5, (history_session){.driver = "570.124.06", .family = "scan", .ended_ms = day(1),
                                  .template_hash = "3333cccc3333cccc3333cccc3333cccc"}, 2048, 50);
    return to;
}

// --- words -----------------------------------------------------------------------------------------------------------

typedef struct words {
    st_text text;
} words;

static st_code take_word(void *context, const st_meaning *meaning, st_error *error)
{
    (void)error;
    words *to = context;
    bool is_id = meaning->kind <= ST_SIDE_TEMPLATE;
    st_text_addf(&to->text, "%s%s %.*s", to->text.length ? ", " : "", st_side_kind_name(meaning->kind), is_id ? 8 : 99,
                 meaning->value);
    return ST_OK;
}

static void assert_means(st_store *store, const char *word, const char *expected)
{
    st_error error = {0};
    words all;
    st_text_init(&all.text);
    assert_ok(st_store_meanings(store, word, take_word, &all, &error), error);
    if (strcmp(st_text_string(&all.text), expected) != 0)
        fail_msg("%s means \"%s\", not \"%s\"", word, st_text_string(&all.text), expected);
    st_text_release(&all.text);
}

static void words_mean_what_the_store_has(void **state)
{
    (void)state;
    made to = make(":memory:");
    assert_means(to.store, "570", "driver 570.124.06");
    assert_means(to.store, "580.65.06", "driver 580.65.06");
    assert_means(to.store, "58", "");   // no beginning of a driver ends within a number
    assert_means(to.store, "570.", "");
    assert_means(to.store, "nvrtc 13.0", "compiler nvrtc 13.0");
    assert_means(to.store, "12.6", "compiler nvrtc 12.6");
    assert_means(to.store, "0.2.0", "tool 0.2.0");
    assert_means(to.store, "simtune 0.1.0", "tool 0.1.0");
    assert_means(to.store, "h200", "device NVIDIA H200"); // of two cards one model
    assert_means(to.store, "NVIDIA A100", "device NVIDIA A100");
    assert_means(to.store, "nvidia", "device NVIDIA A100, device NVIDIA H200");
    assert_means(to.store, "gpu-bbbb", "device GPU-bbbb-second");
    assert_means(to.store, "2222", "template 2222bbbb");
    assert_means(to.store, "222", "");  // too short for a hash
    assert_means(to.store, "nosuch", "");
    assert_means(to.store, "%", "");
    assert_means(to.store, "", "");
    char expected[80], upper[ST_HASH_TEXT];
    snprintf(expected, sizeof expected, "session %.8s", to.ids[2]);
    assert_means(to.store, to.ids[2], expected); // whole: whatever else begins so
    for (size_t i = 0; i < ST_HASH_TEXT; i++)
        upper[i] = (char)(to.ids[2][i] >= 'a' ? to.ids[2][i] - 32 : to.ids[2][i]);
    assert_means(to.store, upper, expected);
    char huge[300];
    memset(huge, '5', sizeof huge - 1);
    huge[299] = '\0';
    assert_means(to.store, huge, "");
    st_store_close(to.store);
}

static void whole_names_hide_parts_of_others(void **state)
{
    (void)state;
    made to = make(":memory:");
    st_error error = {0};
    assert_ok(st_script_run(to.store, "UPDATE device SET name = 'NVIDIA H200 NVL' WHERE name = 'NVIDIA A100'", "x",
                            &error), error);
    assert_means(to.store, "H200", "device NVIDIA H200, device NVIDIA H200 NVL");
    assert_means(to.store, "NVIDIA H200", "device NVIDIA H200");
    assert_ok(st_script_run(to.store, "UPDATE toolchain SET driver = '580' WHERE driver = '570.124.06'", "x", &error),
              error);
    assert_means(to.store, "580", "driver 580");
    // One word, several kinds.
    assert_ok(st_script_run(to.store, "UPDATE template SET hash = '5800' || substr(hash, 5) WHERE hash LIKE '2222%';"
                                      "UPDATE toolchain SET driver = '5800' WHERE driver = '580'", "x", &error), error);
    assert_means(to.store, "5800", "template 5800bbbb, driver 5800");
    st_store_close(to.store);
}

static void values_are_listed_newest_first(void **state)
{
    (void)state;
    made to = make(":memory:");
    static const struct {
        st_side_kind kind;
        size_t limit;
        const char *expected;
    } cases[] = {{ST_SIDE_DRIVER, 9, "driver 580.65.06, driver 570.124.06"}, {ST_SIDE_DRIVER, 1, "driver 580.65.06"},
                 {ST_SIDE_DEVICE, 9, "device NVIDIA A100, device NVIDIA H200"},
                 {ST_SIDE_TOOL, 9, "tool 0.2.0, tool 0.1.0"}, {ST_SIDE_CANDIDATE, 9, ""},
                 {ST_SIDE_COMPILER, 9, "compiler nvrtc 12.6, compiler nvrtc 13.0"},
                 {ST_SIDE_TEMPLATE, 9, "template 2222bbbb, template 1111aaaa, template 3333cccc"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        st_error error = {0};
        words all;
        st_text_init(&all.text);
        assert_ok(st_store_values(to.store, cases[i].kind, cases[i].limit, take_word, &all, &error), error);
        assert_string_equal(st_text_string(&all.text), cases[i].expected);
        st_text_release(&all.text);
    }
    for (int kind = 0; kind < ST_SIDE_KINDS; kind++)
        assert_int_equal(st_side_kind_find(st_side_kind_name((st_side_kind)kind)), kind);
    assert_int_equal(st_side_kind_find("header"), -1);
    st_store_close(to.store);
}

// --- rows ------------------------------------------------------------------------------------------------------------

typedef struct seen {
    size_t count;
    char sessions[16][ST_HASH_TEXT];
    double ns[16];
    int64_t keys[16];
} seen;

static st_code take_row(void *context, const st_compare_row *row, st_error *error)
{
    (void)error;
    seen *to = context;
    assert_true(to->count < 16);
    snprintf(to->sessions[to->count], ST_HASH_TEXT, "%s", row->session_id);
    to->keys[to->count] = row->candidate_key;
    to->ns[to->count++] = row->median_ns;
    assert_true(row->family[0] && row->problem[0] && row->configuration[0] && row->device_name[0] && row->driver[0]);
    assert_true(row->configuration_key > 0);
    return ST_OK;
}

static seen rows(st_store *store, int kind, const char *value, st_compare_filter filter)
{
    st_error error = {0};
    seen all = {0};
    assert_ok(kind < 0 ? st_store_compare_history(store, &filter, take_row, &all, &error)
                       : st_store_compare(store, (st_side_kind)kind, value, &filter, take_row, &all, &error), error);
    return all;
}

static void a_side_is_the_newest_of_each_device(void **state)
{
    (void)state;
    made to = make(":memory:");
    const st_compare_filter any = {.n = -1};
    seen all = rows(to.store, ST_SIDE_DRIVER, "570.124.06", any);
    assert_int_equal(all.count, 2); // reduce of the newer session, scan
    assert_string_equal(all.sessions[0], to.ids[1]);
    assert_string_equal(all.sessions[1], to.ids[5]);
    all = rows(to.store, ST_SIDE_DRIVER, "580.65.06", any);
    assert_int_equal(all.count, 3); // device by device, by name and UUID
    assert_string_equal(all.sessions[0], to.ids[4]);
    all = rows(to.store, ST_SIDE_DEVICE, "NVIDIA H200", any);
    assert_int_equal(all.count, 2); // the newest of both cards
    assert_string_equal(all.sessions[0], to.ids[3]);
    all = rows(to.store, ST_SIDE_DEVICE, "GPU-00000000-1111-2222-3333-444444444444", any);
    assert_string_equal(all.sessions[0], to.ids[2]);
    all = rows(to.store, ST_SIDE_TEMPLATE, "1111aaaa1111aaaa1111aaaa1111aaaa", any);
    assert_int_equal(all.count, 2);
    all = rows(to.store, ST_SIDE_TOOL, "0.2.0", any);
    assert_int_equal(all.count, 1);
    all = rows(to.store, ST_SIDE_COMPILER, "nvrtc 12.6", any);
    assert_int_equal(all.count, 1);
    all = rows(to.store, ST_SIDE_SESSION, to.ids[0], any);
    assert_int_equal(all.count, 1);
    assert_true(all.ns[0] == 100);
    all = rows(to.store, -1, NULL, (st_compare_filter){.family = "reduce", .n = -1});
    assert_int_equal(all.count, 5);
    st_store_close(to.store);
}

static void filters_each_leave_out_the_rest(void **state)
{
    (void)state;
    made to = make(":memory:");
    const int a100[] = {80}, both[] = {80, 90};
    const struct {
        st_compare_filter filter;
        size_t expected;
    } cases[] = {{{.family = "scan", .n = -1}, 0}, {{.family = "reduce", .n = -1}, 3}, {{.type = "f32", .n = -1}, 3},
                 {{.type = "f64", .n = -1}, 0}, {{.operation = "sum", .n = -1}, 3}, {{.operation = "max", .n = -1}, 0},
                 {{.n = 1024}, 3}, {{.n = 0}, 0}, {{.cache = "cold", .n = -1}, 3}, {{.cache = "warm", .n = -1}, 0},
                 {{.device = "a100", .n = -1}, 1}, {{.device = "GPU-BBBB-second", .n = -1}, 1},
                 {{.archs = a100, .arch_count = 1, .n = -1}, 1}, {{.archs = both, .arch_count = 2, .n = -1}, 3},
                 {{.device = "h200", .archs = a100, .arch_count = 1, .n = -1}, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        seen all = rows(to.store, ST_SIDE_DRIVER, "580.65.06", cases[i].filter);
        if (all.count != cases[i].expected)
            fail_msg("filter %zu lets %zu through", i, all.count);
    }
    st_store_close(to.store);
}

static void running_sessions_are_compared_only_by_name(void **state)
{
    (void)state;
    made to = make(":memory:");
    st_error error = {0};
    char sql[160];
    snprintf(sql, sizeof sql, "UPDATE session SET status = 'running', finished_ms = NULL WHERE session_key = %lld",
             (long long)to.keys[2]);
    assert_ok(st_script_run(to.store, sql, "x", &error), error);
    assert_int_equal(rows(to.store, ST_SIDE_DRIVER, "580.65.06", (st_compare_filter){.n = -1}).count, 2);
    assert_int_equal(rows(to.store, ST_SIDE_SESSION, to.ids[2], (st_compare_filter){.n = -1}).count, 1);
    st_store_close(to.store);
}

static void a_candidate_is_a_side_in_each_state_of_the_cache(void **state)
{
    (void)state;
    made to = make(":memory:");
    st_error error = {0};
    const double samples[] = {7, 7, 8};
    st_measurement_row warm = some_measurement(to.winners[0], "screen", 0, "warm", samples, 3);
    assert_ok(st_store_measurement(to.store, &warm, &error), error);
    char id[ST_HASH_TEXT];
    snprintf(id, sizeof id, "%s", "");
    sqlite3_stmt *statement;
    sqlite3_prepare_v2(to.store->db, "SELECT candidate_id FROM candidate WHERE candidate_key = ?", -1, &statement, NULL);
    sqlite3_bind_int64(statement, 1, to.winners[0]);
    sqlite3_step(statement);
    snprintf(id, sizeof id, "%s", (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    seen all = rows(to.store, ST_SIDE_CANDIDATE, id, (st_compare_filter){.n = -1});
    assert_int_equal(all.count, 2);
    assert_true(all.ns[0] == 100 && all.ns[1] == 7); // the winner's own, and what stands
    assert_int_equal(rows(to.store, ST_SIDE_CANDIDATE, id, (st_compare_filter){.cache = "warm", .n = -1}).count, 1);
    st_store_close(to.store);
}

static void a_problem_is_lost_when_nothing_valid_was_left(void **state)
{
    (void)state;
    made to = make(":memory:");
    st_error error = {0};
    bool lost = true;
    int64_t problem = number(to.store, "SELECT problem_key FROM problem WHERE n = 1024");
    assert_ok(st_store_lost(to.store, to.keys[0], problem, &lost, &error), error);
    assert_false(lost);
    assert_ok(st_store_lost(to.store, to.keys[5], problem, &lost, &error), error);
    assert_false(lost); // it never tried it
    char sql[120];
    snprintf(sql, sizeof sql, "UPDATE candidate SET outcome = 'crash' WHERE session_key = %lld", (long long)to.keys[0]);
    assert_ok(st_script_run(to.store, sql, "x", &error), error);
    assert_ok(st_store_lost(to.store, to.keys[0], problem, &lost, &error), error);
    assert_true(lost);
    st_store_close(to.store);
}

// --- samples -----------------------------------------------------------------------------------------------------------

static void samples_of_one_final_come_together(void **state)
{
    (void)state;
    made to = make(":memory:");
    st_error error = {0};
    st_standing a, b;
    bool paired = false;
    int64_t standard = number(to.store, "SELECT default_key FROM winner ORDER BY session_key LIMIT 1");
    assert_ok(st_store_standing_pair(to.store, to.winners[0], standard, "cold", &a, &b, &paired, &error), error);
    assert_true(paired && a.sample_count == 60 && b.sample_count == 60 && a.round == 0);
    assert_true(a.sm_clock_mhz == 1980 && a.tick_ns == 32 && a.batch == 1 && a.dropped == 0);
    assert_string_equal(a.phase, "finals");
    st_standing_release(&a);
    st_standing_release(&b);
    // Of another session, another state of the cache, another number of samples: never together.
    assert_ok(st_store_standing_pair(to.store, to.winners[0], to.winners[1], "cold", &a, &b, &paired, &error), error);
    assert_false(paired);
    assert_ok(st_store_standing_pair(to.store, to.winners[0], standard, "warm", &a, &b, &paired, &error), error);
    assert_false(paired);
    const double few[] = {1, 2, 3}, more[] = {1, 2, 3, 4};
    st_measurement_row row = some_measurement(to.winners[0], "finals", 1, "cold", few, 3);
    assert_ok(st_store_measurement(to.store, &row, &error), error);
    row = some_measurement(standard, "finals", 1, "cold", more, 4);
    assert_ok(st_store_measurement(to.store, &row, &error), error);
    assert_ok(st_store_standing_pair(to.store, to.winners[0], standard, "cold", &a, &b, &paired, &error), error);
    assert_true(paired && a.round == 0); // the last round that both have in full
    st_standing_release(&a);
    st_standing_release(&b);
    assert_ok(st_store_standing(to.store, to.winners[0], "cold", &a, &error), error);
    assert_true(a.sample_count == 3 && a.round == 1); // alone, the last one stands
    st_standing_release(&a);
    assert_ok(st_store_standing(to.store, to.winners[0], "warm", &a, &error), error);
    assert_true(!a.samples_ns && a.round == -1 && isnan(a.median_ns) && a.sm_clock_mhz == -1);
    st_store_close(to.store);
}

static void taken(const made *to, int64_t candidate, const char *phase, int round, double ns)
{
    st_error error = {0};
    const double samples[] = {ns, ns + 1, ns + 2};
    st_measurement_row row = some_measurement(candidate, phase, round, "warm", samples, 3);
    assert_ok(st_store_measurement(to->store, &row, &error), error);
}

static void expect_shared(const made *to, int64_t one, int64_t other, const char *phase, double ns_a, double ns_b)
{
    st_error error = {0};
    st_standing a = {0}, b = {0};
    bool shared = !phase;
    assert_ok(st_store_standing_shared(to->store, one, other, "warm", &a, &b, &shared, &error), error);
    assert_int_equal(shared, phase != NULL);
    if (phase) {
        assert_string_equal(a.phase, phase);
        assert_string_equal(b.phase, phase);
        assert_true(a.median_ns == ns_a && b.median_ns == ns_b);
    }
    st_standing_release(&a);
    st_standing_release(&b);
}

// Of sessions and phases of all kinds: the furthest that both came to, and of it what is most alike.
static void samples_of_one_phase_are_compared(void **state)
{
    (void)state;
    made to = make(":memory:");
    int64_t one = to.winners[0], other = to.winners[1];
    expect_shared(&to, one, other, NULL, 0, 0);
    taken(&to, one, "screen", 0, 100);
    taken(&to, one, "halving", 1, 110);
    taken(&to, one, "halving", 2, 112);
    taken(&to, one, "finals", 0, 105);
    expect_shared(&to, one, other, NULL, 0, 0); // never measured in this state
    taken(&to, other, "screen", 0, 101);
    expect_shared(&to, one, other, "screen", 100, 101);
    expect_shared(&to, other, one, "screen", 101, 100);
    taken(&to, other, "halving", 1, 111);
    expect_shared(&to, one, other, "halving", 110, 111); // the first round of both, not the last of one
    taken(&to, other, "finals", 3, 106);
    taken(&to, one, "finals", 1, 104);
    expect_shared(&to, one, other, "finals", 104, 106); // finals are alike: the last
    st_store_close(to.store);
}

// --- baselines ---------------------------------------------------------------------------------------------------------

typedef struct marks {
    size_t count;
    char lines[8][160];
} marks;

static st_code take_mark(void *context, const st_baseline_row *row, st_error *error)
{
    (void)error;
    marks *to = context;
    assert_true(to->count < 8 && row->marked_ms > 0);
    snprintf(to->lines[to->count++], sizeof to->lines[0], "%s %s %s%s %s", row->session_id, row->family,
             row->newest ? "newest" : "old", row->note ? row->note : "", row->newest_session);
    return ST_OK;
}

static marks list(st_store *store, st_compare_filter filter)
{
    st_error error = {0};
    marks all = {0};
    assert_ok(st_store_baselines(store, &filter, take_mark, &all, &error), error);
    return all;
}

static void of_several_baselines_the_last_mark_counts(void **state)
{
    (void)state;
    made to = make(":memory:");
    st_error error = {0};
    char expected[160];
    assert_ok(st_store_baseline(to.store, to.keys[1], NULL, &error), error);
    assert_ok(st_script_run(to.store, "UPDATE baseline SET marked_ms = 1000", "x", &error), error);
    assert_ok(st_store_baseline(to.store, to.keys[0], " release", &error), error);
    marks all = list(to.store, (st_compare_filter){.n = -1});
    assert_int_equal(all.count, 2);
    snprintf(expected, sizeof expected, "%s reduce newest release %s", to.ids[0], to.ids[2]);
    assert_string_equal(all.lines[0], expected); // an older session, marked later; the newest session is of its card
    assert_non_null(strstr(all.lines[1], " old"));
    // Again: note and time are replaced, and there is still one row.
    assert_ok(st_store_baseline(to.store, to.keys[1], " again", &error), error);
    assert_int_equal(number(to.store, "SELECT count(*) FROM baseline"), 2);
    all = list(to.store, (st_compare_filter){.n = -1});
    assert_int_equal(all.count, 2);
    assert_int_equal(list(to.store, (st_compare_filter){.family = "scan", .n = -1}).count, 0);
    assert_int_equal(list(to.store, (st_compare_filter){.device = "A100", .n = -1}).count, 0);
    assert_ok(st_store_baseline_forget(to.store, to.keys[1], &error), error);
    assert_int_equal(st_store_baseline_forget(to.store, to.keys[1], &error), ST_NOTHING);
    assert_int_equal(list(to.store, (st_compare_filter){.n = -1}).count, 1);
    assert_sound(to.store);
    st_store_close(to.store);
}

static void what_cannot_be_a_baseline_is_refused(void **state)
{
    (void)state;
    made to = make(":memory:");
    st_error error = {0};
    history_session empty = {.ended_ms = day(9)};
    assert_ok(history_begin(to.store, &empty, &error), error);
    assert_int_equal(st_store_baseline(to.store, empty.row.key, NULL, &error), ST_USAGE); // nobody runs it any more
    assert_non_null(strstr(error.what, "was cut off before its end"));
    assert_ok(history_end(&empty, &error), error);
    assert_int_equal(st_store_baseline(to.store, empty.row.key, NULL, &error), ST_USAGE);
    assert_non_null(strstr(error.what, "no winner"));
    assert_int_equal(st_store_baseline(to.store, 12345, NULL, &error), ST_NOTHING);
    assert_int_equal(number(to.store, "SELECT count(*) FROM baseline"), 0);
    st_store_close(to.store);
}

static void the_latest_is_a_finished_one(void **state)
{
    (void)state;
    made to = make(":memory:");
    st_error error = {0};
    char id[ST_HASH_TEXT];
    const st_compare_filter any = {.n = -1}, scan = {.family = "scan", .n = -1}, none = {.family = "x", .n = -1};
    const st_compare_filter h200 = {.device = "H200", .n = -1};
    assert_ok(st_store_latest(to.store, &any, id, &error), error);
    assert_string_equal(id, to.ids[4]);
    assert_ok(st_store_latest(to.store, &scan, id, &error), error);
    assert_string_equal(id, to.ids[5]);
    assert_ok(st_store_latest(to.store, &h200, id, &error), error);
    assert_string_equal(id, to.ids[3]);
    assert_int_equal(st_store_latest(to.store, &none, id, &error), ST_NOTHING);
    // A prediction is nothing that ran.
    assert_ok(st_script_run(to.store, "UPDATE device SET backend = 'predicted' WHERE name NOT LIKE '%H200%'", "x", &error),
              error);
    assert_ok(st_store_latest(to.store, &any, id, &error), error);
    assert_string_equal(id, to.ids[3]);
    st_session_row row;
    assert_ok(st_store_session_latest(to.store, NULL, &row, &error), error);
    assert_string_equal(row.id, to.ids[3]);
    st_session_row_release(&row);
    assert_ok(st_script_run(to.store, "UPDATE session SET status = 'interrupted'", "x", &error), error);
    assert_int_equal(st_store_latest(to.store, &any, id, &error), ST_NOTHING);
    st_store_close(to.store);
}

// A session that some process runs is told from one that was cut off.
static void a_running_session_is_no_baseline_yet(void **state)
{
    (void)state;
    made to = make(in_folder("live.db"));
    st_error error = {0};
    bool mine = false;
    history_session empty = {.ended_ms = day(9)};
    assert_ok(history_begin(to.store, &empty, &error), error);
    st_store *runs = open_store(in_folder("live.db"), ST_STORE_WRITE);
    assert_ok(st_store_session_claim(runs, empty.row.id, &mine, &error), error);
    assert_true(mine);
    assert_int_equal(st_store_baseline(to.store, empty.row.key, NULL, &error), ST_USAGE);
    assert_non_null(strstr(error.what, "is still running"));
    st_store_close(runs);
    assert_int_equal(st_store_baseline(to.store, empty.row.key, NULL, &error), ST_USAGE);
    assert_non_null(strstr(error.what, "was cut off before its end"));
    st_store_close(to.store);
}

// --- acknowledgements ----------------------------------------------------------------------------------------------------

typedef struct notes {
    size_t count;
    char lines[8][160];
} notes;

static st_code take_note(void *context, const st_acknowledgement *row, st_error *error)
{
    (void)error;
    notes *to = context;
    assert_true(to->count < 8 && strlen(row->id) == 32 && strlen(row->baseline_id) == 32);
    snprintf(to->lines[to->count++], sizeof to->lines[0], "%.32s %.20s %.8s %.40s %.20s", row->session_id, row->family,
             row->cache, row->reason, row->author ? row->author : "-");
    return ST_OK;
}

static notes said(st_store *store, int64_t baseline, st_compare_filter filter)
{
    st_error error = {0};
    notes all = {0};
    assert_ok(st_store_acknowledgements(store, baseline, &filter, take_note, &all, &error), error);
    return all;
}

static void acknowledgements_are_kept_found_and_withdrawn(void **state)
{
    (void)state;
    made to = make(":memory:");
    st_error error = {0};
    int64_t problem = number(to.store, "SELECT problem_key FROM problem WHERE n = 1024");
    const st_compare_filter any = {.n = -1};
    st_acknowledgement row = {.baseline_key = to.keys[0], .session_key = to.keys[1], .problem_key = problem,
                              .cache = "cold", .reason = "first", .author = NULL, .acknowledged_ms = 1000};
    assert_ok(st_store_acknowledge(to.store, &row, &error), error);
    char first[ST_HASH_TEXT];
    memcpy(first, row.id, sizeof first);
    row.session_key = to.keys[2];
    row.reason = "second";
    row.author = "ada";
    row.acknowledged_ms = 2000;
    assert_ok(st_store_acknowledge(to.store, &row, &error), error);
    notes all = said(to.store, to.keys[0], any);
    assert_int_equal(all.count, 2);
    assert_non_null(strstr(all.lines[0], "second ada")); // the newest first
    assert_non_null(strstr(all.lines[1], "first -"));
    // Again for the same: what was said stays.
    row.session_key = to.keys[1];
    row.reason = "third";
    row.acknowledged_ms = 3000;
    assert_int_equal(st_store_acknowledge(to.store, &row, &error), ST_USAGE);
    assert_non_null(strstr(error.what, "acknowledged already"));
    all = said(to.store, -1, any);
    assert_int_equal(all.count, 2);
    assert_non_null(strstr(all.lines[1], "first -"));
    assert_int_equal(said(to.store, to.keys[3], any).count, 0);
    assert_int_equal(said(to.store, -1, (st_compare_filter){.family = "scan", .n = -1}).count, 0);
    assert_int_equal(said(to.store, -1, (st_compare_filter){.type = "f32", .operation = "sum", .cache = "cold",
                                                            .n = 1024, .device = "h200"}).count, 2);
    assert_int_equal(said(to.store, -1, (st_compare_filter){.cache = "warm", .n = -1}).count, 0);
    assert_ok(st_store_acknowledgement_withdraw(to.store, first, &error), error);
    assert_int_equal(st_store_acknowledgement_withdraw(to.store, first, &error), ST_NOTHING);
    assert_int_equal(st_store_acknowledgement_withdraw(to.store, "xyz", &error), ST_USAGE);
    assert_int_equal(said(to.store, -1, any).count, 1);
    // It outlives the mark, and a reason must stand.
    assert_ok(st_store_baseline(to.store, to.keys[0], NULL, &error), error);
    assert_ok(st_store_baseline_forget(to.store, to.keys[0], &error), error);
    assert_int_equal(said(to.store, to.keys[0], any).count, 1);
    row.reason = "";
    assert_int_equal(st_store_acknowledge(to.store, &row, &error), ST_FAILED);
    assert_sound(to.store);
    st_store_close(to.store);
}

// --- plans -------------------------------------------------------------------------------------------------------------

// None may read a growing table from end to end: candidates (c, x), winners (w), measurements (m, y), problems,
// configurations; sessions (s, o) only where no index knows what is asked.
static void assert_plan(st_store *store, const char *sql, bool all_sessions)
{
    static const char *const grown[] = {"c", "x", "w", "m", "y", "p", "g", "o", "candidate", "winner", "measurement",
                                        "problem", "configuration", "session"};
    st_text text;
    st_text_init(&text);
    st_text_addf(&text, "EXPLAIN QUERY PLAN %s", sql);
    sqlite3_stmt *statement;
    int steps = 0;
    assert_int_equal(sqlite3_prepare_v2(store->db, text.data, -1, &statement, NULL), SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const char *step = (const char *)sqlite3_column_text(statement, 3);
        bool scan = strncmp(step, "SCAN ", 5) == 0, bad = scan && !all_sessions && strncmp(step + 5, "s", 1) == 0 &&
                                                          (!step[6] || step[6] == ' ');
        steps++;
        for (size_t i = 0; i < sizeof grown / sizeof *grown && scan; i++) {
            size_t length = strlen(grown[i]);
            bad = bad || (strncmp(step + 5, grown[i], length) == 0 && (!step[5 + length] || step[5 + length] == ' '));
        }
        if (bad)
            fail_msg("\"%s\" in the plan of %s", step, sql);
    }
    assert_true(steps > 0);
    sqlite3_finalize(statement);
    st_text_release(&text);
}

static void plan_of(st_store *store, int kind, st_compare_filter filter, bool all_sessions)
{
    st_text sql;
    st_text_init(&sql);
    assert_int_equal(st_compare_sql(kind, &filter, &sql, NULL), ST_OK);
    assert_plan(store, sql.data, all_sessions);
    st_text_release(&sql);
}

static void plans_use_indexes(void **state)
{
    (void)state;
    made to = make(in_folder("plans.db"));
    st_error error = {0};
    history_session large = {.driver = "590.1", .ended_ms = day(9)}; // statistics of a table of two rows say nothing
    assert_ok(history_begin(to.store, &large, &error), error);
    for (int i = 0; i < 100; i++) {
        history_problem problem = {.n = 4096 + i, .ns = 100, .samples = 6};
        assert_ok(history_add(&large, &problem, &error), error);
    }
    assert_ok(history_end(&large, &error), error);
    const int arch[] = {90};
    const st_compare_filter any = {.n = -1}, all = {.family = "reduce", .type = "f32", .operation = "sum", .n = 1024,
                                                    .cache = "cold", .device = "H200", .archs = arch, .arch_count = 1};
    for (int analyzed = 0; analyzed < 2; analyzed++) {
        for (int kind = -1; kind < ST_SIDE_KINDS; kind++) {
            bool named = kind == ST_SIDE_SESSION || kind == ST_SIDE_CANDIDATE;
            plan_of(to.store, kind, any, !named);
            plan_of(to.store, kind, all, !named);
        }
        assert_plan(to.store, st_compare_standing_sql, false);
        assert_plan(to.store, st_compare_round_sql, false);
        assert_plan(to.store, st_compare_shared_phase_sql, false);
        assert_plan(to.store, st_compare_common_round_sql, false);
        assert_plan(to.store, st_compare_lost_sql, false);
        st_text sql;
        st_text_init(&sql);
        assert_int_equal(st_compare_baselines_sql(&all, &sql, NULL), ST_OK);
        assert_plan(to.store, sql.data, false);
        st_text_clear(&sql);
        assert_int_equal(st_compare_acknowledgements_sql(1, &all, &sql, NULL), ST_OK);
        assert_plan(to.store, sql.data, false);
        st_text_release(&sql);
        assert_int_equal(sqlite3_exec(to.store->db, "ANALYZE", NULL, NULL, NULL), SQLITE_OK);
        st_store_close(to.store);
        to.store = open_store(in_folder("plans.db"), ST_STORE_WRITE);
    }
    st_store_close(to.store);
}

// --- faults ------------------------------------------------------------------------------------------------------------

static st_code take_nothing(void *context, const st_compare_row *row, st_error *error)
{
    (void)context, (void)row, (void)error;
    return ST_OK;
}

static st_code use_all(const made *to, const char *id, st_error *error)
{
    const st_compare_filter any = {.n = -1};
    words all;
    marks marked = {0};
    notes noted = {0};
    st_standing a = {0}, b = {0};
    bool flag;
    char latest[ST_HASH_TEXT];
    st_text_init(&all.text);
    int64_t problem = 1, standard = to->winners[0] + 1;
    st_acknowledgement row = {.baseline_key = to->keys[0], .session_key = to->keys[1], .problem_key = problem,
                              .cache = "cold", .reason = "because", .author = "ada", .acknowledged_ms = 1000};
    st_code code = st_store_meanings(to->store, id, take_word, &all, error);
    if (code == ST_OK)
        code = st_store_values(to->store, ST_SIDE_DRIVER, 4, take_word, &all, error);
    if (code == ST_OK)
        code = st_store_compare(to->store, ST_SIDE_DRIVER, "570.124.06", &any, take_nothing, NULL, error);
    if (code == ST_OK)
        code = st_store_lost(to->store, to->keys[0], problem, &flag, error);
    if (code == ST_OK)
        code = st_store_standing_pair(to->store, to->winners[0], standard, "cold", &a, &b, &flag, error);
    if (code == ST_OK && flag) {
        st_standing_release(&a);
        st_standing_release(&b);
    }
    if (code == ST_OK)
        code = st_store_standing_shared(to->store, to->winners[0], standard, "cold", &a, &b, &flag, error);
    if (code == ST_OK && flag) {
        st_standing_release(&a);
        st_standing_release(&b);
    }
    if (code == ST_OK)
        code = st_store_standing(to->store, to->winners[0], "cold", &a, error);
    st_standing_release(&a);
    if (code == ST_OK)
        code = st_store_baseline(to->store, to->keys[0], "note", error);
    if (code == ST_OK)
        code = st_store_baselines(to->store, &any, take_mark, &marked, error);
    if (code == ST_OK)
        code = st_store_acknowledge(to->store, &row, error);
    if (code == ST_OK)
        code = st_store_acknowledgements(to->store, -1, &any, take_note, &noted, error);
    if (code == ST_OK)
        code = st_store_latest(to->store, &any, latest, error);
    if (code == ST_OK)
        code = st_store_acknowledgement_withdraw(to->store, row.id, error);
    if (code == ST_OK)
        code = st_store_baseline_forget(to->store, to->keys[0], error);
    st_text_release(&all.text);
    return code;
}

static unsigned long inject(st_fault kind, unsigned long least)
{
    unsigned long n = 1;
    for (;; n++) {
        made to = make(":memory:");
        st_error error = {0};
        st_fault_arm(kind, n);
        st_code code = use_all(&to, to.ids[0], &error);
        bool hit = st_fault_injected(kind);
        st_fault_arm(kind, 0);
        assert_int_equal(to.store->depth, 0);
        assert_int_equal(sqlite3_get_autocommit(to.store->db), 1);
        if (hit && code != ST_OK)
            assert_true(error.what[0] && error.code == code);
        if (!hit)
            assert_ok(code, error);
        // Whatever failed, it is undone or done in whole, and works the next time.
        sqlite3_exec(to.store->db, "DELETE FROM acknowledgement; DELETE FROM baseline", NULL, NULL, NULL);
        assert_ok(use_all(&to, to.ids[0], &error), error);
        assert_sound(to.store);
        st_store_close(to.store);
        if (!hit)
            break;
    }
    assert_true(n > least);
    return n;
}

static void faults_are_reported(void **state)
{
    (void)state;
    inject(ST_FAULT_SQLITE, 40);
    inject(ST_FAULT_ALLOCATION, 8);
}

int main(void)
{
    st_json_setup();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_mean_what_the_store_has),
        cmocka_unit_test(whole_names_hide_parts_of_others),
        cmocka_unit_test(values_are_listed_newest_first),
        cmocka_unit_test(a_side_is_the_newest_of_each_device),
        cmocka_unit_test(filters_each_leave_out_the_rest),
        cmocka_unit_test(running_sessions_are_compared_only_by_name),
        cmocka_unit_test(a_candidate_is_a_side_in_each_state_of_the_cache),
        cmocka_unit_test(a_problem_is_lost_when_nothing_valid_was_left),
        cmocka_unit_test(samples_of_one_final_come_together), cmocka_unit_test(samples_of_one_phase_are_compared),
        cmocka_unit_test(of_several_baselines_the_last_mark_counts),
        cmocka_unit_test(what_cannot_be_a_baseline_is_refused),
        cmocka_unit_test(a_running_session_is_no_baseline_yet),
        cmocka_unit_test(the_latest_is_a_finished_one),
        cmocka_unit_test(acknowledgements_are_kept_found_and_withdrawn),
        cmocka_unit_test(plans_use_indexes),
        cmocka_unit_test(faults_are_reported),
    };
    return cmocka_run_group_tests(tests, make_fast_folder, remove_folder);
}
