// SPDX-License-Identifier: Apache-2.0
// The report in a terminal and as Markdown. Invariants of report_text.c: 2. no line is wider than the width, except
// for a word that is; 3. colour repeats what a word says; 4. nothing that others wrote steers a terminal. Of
// report_markdown.c: 2. it ends no cell and begins no markup; 3. the verdict stands above every table.
// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reports/format.h"
#include "reports/report_text.h"
#include "tests/unit/faults.h"
#include "tests/unit/reports/session_fixture.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"

static st_store *store;
static fixture_session session;

static int open_reduce(void **state)
{
    (void)state;
    st_error error = {0};
    st_json_setup();
    if (st_store_open(":memory:", ST_STORE_WRITE, &store, &error) != ST_OK)
        return -1;
    return fixture_reduce(store, &session, &error);
}

static int close_store(void **state)
{
    (void)state;
    st_store_close(store);
    return 0;
}

typedef enum form { TEXT, MARKDOWN } form;

// The report of some sessions; freed by the caller.
static char *made(form how, const st_report_text_options *options, const char *const *ids, size_t count)
{
    st_report report;
    st_error error = {0};
    st_text out;
    st_text_init(&out);
    if (st_report_load(store, ids, count, ST_REPORT_COLD, &report, &error) != ST_OK)
        fail_msg("%s", error.what);
    st_code code = how == TEXT ? st_report_text(&report, options, &out, &error) : st_report_markdown(&report, &out, &error);
    if (code != ST_OK)
        fail_msg("%s", error.what);
    st_report_release(&report);
    return st_text_take(&out);
}

static char *made_of(form how, const st_report_text_options *options, const char *id)
{
    return made(how, options, &id, 1);
}

static void need(st_code code, const st_error *error)
{
    if (code != ST_OK)
        fail_msg("%s", error->what);
}

static void has(const char *text, const char *words)
{
    if (!strstr(text, words))
        fail_msg("\"%s\" is not in:\n%s", words, text);
}

static void has_not(const char *text, const char *words)
{
    if (strstr(text, words))
        fail_msg("\"%s\" is in:\n%s", words, text);
}

// Columns of the widest line that has more than one word.
static size_t widest(const char *text)
{
    size_t most = 0;
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, "\n");
        char *line = st_strndup(at, length);
        size_t columns = st_report_columns(line);
        if (strchr(line + strspn(line, " "), ' ') && columns > most)
            most = columns;
        st_free(line);
        at += length + (at[length] == '\n');
    }
    return most;
}

static void the_verdict_and_what_it_stands_on(void **state)
{
    (void)state;
    char *text = made_of(TEXT, &(st_report_text_options){.unicode = true}, session.row.id);
    has(text, "reduce on NVIDIA H200 (sm_90, 132 SMs)");
    has(text, "3.48");
    has(text, "BLOCK=512 VEC=4 UNROLL=8 ACC=4 FINISH=cluster");
    has(text, "BLOCK 256 → 512");
    has(text, "a value from global memory");
    has(text, "█");
    has(text, "16.00 µs");
    has(text, "4.600 µs");
    has(text, "failed     3 of 9: 1 wrong, 1 compile, 1 crash");
    has(text, "--failures");
    has(text, "trust");
    has(text, "-o report.html");
    has_not(text, "\033");
    has_not(text, "nan");
    st_free(text);
}

static void lines_fit(void **state)
{
    (void)state;
    static const int widths[] = {60, 72, 80, 100, 140};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        char *text = made_of(TEXT, &(st_report_text_options){.unicode = true, .width = widths[i]}, session.row.id);
        assert_in_range(widest(text), 50, widths[i]);
        st_free(text);
        text = made_of(TEXT, &(st_report_text_options){.width = widths[i]}, session.row.id);
        assert_in_range(widest(text), 50, widths[i]);
        st_free(text);
    }
    char *usual = made_of(TEXT, &(st_report_text_options){.unicode = true}, session.row.id);
    char *eighty = made_of(TEXT, &(st_report_text_options){.unicode = true, .width = 80}, session.row.id);
    assert_string_equal(usual, eighty);
    st_free(eighty);
    // Too narrow for a table: as wide as the narrowest.
    char *narrow = made_of(TEXT, &(st_report_text_options){.width = 10}, session.row.id);
    assert_in_range(widest(narrow), 50, 60);
    st_free(narrow);
    st_free(usual);
}

static void ascii_bars_where_the_terminal_has_no_blocks(void **state)
{
    (void)state;
    char *text = made_of(TEXT, &(st_report_text_options){0}, session.row.id);
    has(text, "####");
    has_not(text, "█");
    st_free(text);
}

// Invariant 3: without its colours it is the same text.
static void colour_adds_nothing(void **state)
{
    (void)state;
    char *plain = made_of(TEXT, &(st_report_text_options){.unicode = true}, session.row.id);
    char *colours = made_of(TEXT, &(st_report_text_options){.unicode = true, .colour = true}, session.row.id);
    has(colours, "\033[");
    char *to = colours;
    for (const char *at = colours; *at;)
        if (*at == '\033')
            at += strcspn(at, "m") + 1;
        else
            *to++ = *at++;
    *to = '\0';
    assert_string_equal(colours, plain);
    st_free(colours);
    st_free(plain);
}

static void markdown_for_a_change(void **state)
{
    (void)state;
    char *text = made_of(MARKDOWN, NULL, session.row.id);
    has(text, "### reduce on NVIDIA H200\n");
    has(text, "| | default | winner |\n|---|---:|---:|\n");
    has(text, "| time | 16.00 µs | 4.600 µs |\n");
    has(text, "| registers | 20 | 40 |\n");
    has(text, "- 3.08 × `BLOCK 256 → 512, VEC 1 → 4, UNROLL 1 → 8, FINISH two_pass → cluster`, 4 at once");
    has(text, "- 1.13 × `ACC 1 → 4`\n");
    has(text, "**Trust: ");
    has(text, "| T=f32 op=sum n=256Mi |");
    has(text, "Reproduce: `simtune reduce --arch auto`\n");
    has(text, "3 of 9 configurations failed: 1 wrong, 1 compile, 1 crash.");
    assert_true(strstr(text, "**reduce") < strstr(text, "| | default"));
    has_not(text, "nan");
    st_free(text);
}

// A family of which every text is hostile.
static void what_others_wrote_stays_text(void **state)
{
    (void)state;
    static const fixture_candidate rows[] = {
        {"A=1|2 B=</td><script>", "correct", NULL, 9000, NAN, 16, 1},
        {"A=`x` B=\033[31m\xc2\x9b", "correct", NULL, 6000, NAN, 24, 1},
        {"A=3 B=x", "crash", "\033]0;title\007 | <b> `\n# head", NAN, NAN, -1, NAN}};
    fixture_session hostile;
    st_error error = {0};
    st_code code = fixture_begin(store, "ev|il`<b>", "ffffffffffffffffffffffffffffffff", "{\"a.cu\":\"x\"}",
                                 "simtune tune '`|\033[2J'", &hostile, &error);
    if (code == ST_OK)
        code = fixture_candidates(&hostile, "T=<i>|` n=64", NULL, NULL, 64, rows, 3, &error);
    if (code == ST_OK)
        code = fixture_winner(&hostile, "cold", 1, 0, 6000, 9000, 1.49, 1.51, 1, 512, &error);
    if (code == ST_OK)
        code = fixture_end(&hostile, "denied", &error);
    need(code, &error);
    char *text = made_of(TEXT, &(st_report_text_options){.unicode = true}, hostile.row.id);
    assert_true(st_report_is_safe(text, false));
    st_free(text);
    char *colours = made_of(TEXT, &(st_report_text_options){.unicode = true, .colour = true}, hostile.row.id);
    assert_true(st_report_is_safe(colours, true));
    has_not(colours, "\033[2J");
    st_free(colours);
    text = made_of(MARKDOWN, NULL, hostile.row.id);
    has_not(text, "<b>");
    has_not(text, "<i>");
    has_not(text, "\033");
    has(text, "ev\\|il\\`&lt;b");
    // Outside of code every bar that is not one of a table's own is escaped, and no code is left open in a line.
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, "\n"), ticks = 0;
        for (size_t i = 0; i < length; i++)
            ticks += at[i] == '`' && (i == 0 || at[i - 1] != '\\');
        if (ticks % 2)
            fail_msg("code is left open: %.*s", (int)length, at);
        at += length + (at[length] == '\n');
    }
    st_free(text);
}

static void several_sessions_stand_side_by_side(void **state)
{
    (void)state;
    fixture_session other;
    st_error error = {0};
    st_code code = fixture_reduce(store, &other, &error);
    need(code, &error);
    const char *ids[] = {session.row.id, other.row.id};
    char *text = made(TEXT, &(st_report_text_options){.unicode = true}, ids, 2);
    has(text, "side by side");
    has(text, "1.00 ×");
    assert_in_range(widest(text), 50, 80);
    st_free(text);
    text = made(MARKDOWN, NULL, ids, 2);
    has(text, "### Side by side");
    has(text, "| reduce T=f32 op=sum n=64Ki | **4.600 µs** | **4.600 µs** |");
    st_free(text);
    // Nothing in common.
    fixture_session scale;
    code = fixture_scale(store, "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee", "{\"scale.cu\":\"x\"}", &scale, &error);
    need(code, &error);
    const char *apart[] = {session.row.id, scale.row.id};
    text = made(TEXT, &(st_report_text_options){0}, apart, 2);
    has(text, "No two of these sessions");
    st_free(text);
}

static void without_a_winner_it_says_so(void **state)
{
    (void)state;
    static const fixture_candidate rows[] = {{"A=1", "compile", "no.cu(1): error", NAN, NAN, -1, NAN}};
    fixture_session none;
    st_error error = {0};
    st_code code = fixture_begin(store, "none", "dddddddddddddddddddddddddddddddd", "{\"no.cu\":\"x\"}", "simtune tune no.cu",
                                 &none, &error);
    if (code == ST_OK)
        code = fixture_candidates(&none, "n=64", NULL, NULL, 64, rows, 1, &error);
    if (code == ST_OK)
        code = fixture_end(&none, "off", &error);
    need(code, &error);
    for (int how = TEXT; how <= MARKDOWN; how++) {
        char *text = made_of((form)how, &(st_report_text_options){0}, none.row.id);
        has(text, "1 compile");
        has_not(text, "nan");
        st_free(text);
    }
}

// The spread of times: counted once each, and said only where there are enough.
static void the_spread_counts_every_time_once(void **state)
{
    (void)state;
    enum { MANY = 20, BINS = 8 };
    st_reported_candidate some[MANY] = {{0}};
    st_reported_problem problem = {.candidates = some, .count = MANY};
    size_t bins[BINS], total = 0;
    st_report_spread spread;
    for (int i = 0; i < MANY; i++) {
        some[i].times[ST_REPORT_COLD].first_ns = i == 3 ? NAN : 100 + i;
        some[i].outcome = i == 4 ? ST_REPORTED_WRONG : ST_REPORTED_CORRECT;
    }
    assert_true(st_report_spread_of(&problem, ST_REPORT_COLD, bins, BINS, &spread));
    for (int i = 0; i < BINS; i++)
        total += bins[i];
    assert_int_equal(total, MANY - 2);
    assert_int_equal(spread.measured, MANY - 2);
    assert_true(spread.low_ns == 100 && spread.high_ns == 119);
    assert_int_equal(spread.within, 4); // 100 101 102 105
    problem.count = 6;
    assert_false(st_report_spread_of(&problem, ST_REPORT_COLD, bins, BINS, &spread));
    assert_false(st_report_spread_of(&problem, ST_REPORT_WARM, bins, BINS, &spread));
}

static void memory_runs_out(void **state)
{
    (void)state;
    st_report report;
    st_error error = {0};
    const char *ids[] = {session.row.id, session.row.id};
    assert_int_equal(st_report_load(store, ids, 2, ST_REPORT_COLD, &report, &error), ST_OK);
    for (int how = TEXT; how <= MARKDOWN; how++) {
        bool injected = true;
        for (unsigned long n = 1; injected; n = next_fault(n)) {
            st_text out;
            st_text_init(&out);
            unsigned long failed = st_allocations_failed();
            st_fault_arm(ST_FAULT_ALLOCATION, n);
            st_code code = how == TEXT ? st_report_text(&report, &(st_report_text_options){.unicode = true}, &out, &error)
                                       : st_report_markdown(&report, &out, &error);
            injected = st_fault_injected(ST_FAULT_ALLOCATION);
            st_fault_arm(ST_FAULT_ALLOCATION, 0);
            // Whole, or it is known that something is missing.
            assert_true(code == ST_NO_MEMORY || !injected || st_allocations_failed() > failed);
            assert_true(injected || code == ST_OK);
            st_text_release(&out);
        }
    }
    st_report_release(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_verdict_and_what_it_stands_on, open_reduce, close_store),
        cmocka_unit_test_setup_teardown(lines_fit, open_reduce, close_store),
        cmocka_unit_test_setup_teardown(ascii_bars_where_the_terminal_has_no_blocks, open_reduce, close_store),
        cmocka_unit_test_setup_teardown(colour_adds_nothing, open_reduce, close_store),
        cmocka_unit_test_setup_teardown(markdown_for_a_change, open_reduce, close_store),
        cmocka_unit_test_setup_teardown(what_others_wrote_stays_text, open_reduce, close_store),
        cmocka_unit_test_setup_teardown(several_sessions_stand_side_by_side, open_reduce, close_store),
        cmocka_unit_test_setup_teardown(without_a_winner_it_says_so, open_reduce, close_store),
        cmocka_unit_test(the_spread_counts_every_time_once),
        cmocka_unit_test_setup_teardown(memory_runs_out, open_reduce, close_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
