// SPDX-License-Identifier: Apache-2.0
// The summary of a session, from the store alone, to the byte (ids aside). Invariants of summary.c: 1. all from
// the store; 2. unknown is "-" or said in words; 3. no line is wider than the width; 4. colour only when asked
// for; 5. it ends with a command.
// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reports/format.h"
#include "reports/summary.h"
#include "tests/unit/reports/session_fixture.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <ctype.h>

static st_store *store;
static fixture_session session;

static void need(st_code code, const st_error *error)
{
    if (code != ST_OK)
        fail_msg("%s (%s)", error->what, error->remedy);
}

static int open_empty(void **state)
{
    (void)state;
    return st_store_open(":memory:", ST_STORE_WRITE, &store, NULL);
}

static int open_reduce(void **state)
{
    st_error error = {0};
    if (open_empty(state) != ST_OK)
        return -1;
    return fixture_reduce(store, &session, &error);
}

static int close_store(void **state)
{
    (void)state;
    st_store_close(store);
    return 0;
}

// Ids are new in each run: 12 and 32 hex digits become ID.
static char *summary(const char *cache, int width, bool colour)
{
    st_text text, plain;
    st_error error = {0};
    st_text_init(&text);
    st_text_init(&plain);
    st_summary_options options = {.cache = cache, .width = width, .colour = colour};
    need(st_summary_text(store, session.row.id, &options, &text, &error), &error);
    for (const char *at = st_text_string(&text); *at;) {
        size_t digits = strspn(at, "0123456789abcdef");
        bool is_id = digits == 12 || digits == 32;
        st_text_add_bytes(&plain, is_id ? "ID" : at, is_id ? 2 : digits ? digits : 1);
        at += digits ? digits : 1;
    }
    st_text_release(&text);
    return st_text_take(&plain);
}

static void test_text(void **state)
{
    (void)state;
    char *text = summary("cold", 0, false);
    assert_string_equal(text,
        "reduce on NVIDIA H200 (sm_90, 132 SMs)\n"
        "  driver 580.159.04, nvrtc 13.0, cold cache\n"
        "\n"
        "T=f32 op=sum n=64Ki\n"
        "  winner     BLOCK=512 VEC=4 UNROLL=8 ACC=4 FINISH=cluster\n"
        "  time       4.600 µs, 3.48 × the default (3.45–3.50)\n"
        "  memory     57.0 GB/s, 1.2 % of this memory's measured 4600 GB/s\n"
        "  waits for  a value from global memory (46 % of samples)\n"
        "             default: the other warps of its block at a barrier (51 % of\n"
        "             samples)\n"
        "  more       simtune show ID\n"
        "  failed     3 of 6: 1 crash, 1 wrong, 1 constraint\n"
        "             crash: an illegal memory access was encountered\n"
        "             simtune show ID\n"
        "\n"
        "T=f32 op=sum n=1Mi\n"
        "  winner     none in the cold cache\n"
        "  failed     1 of 1: 1 compile\n"
        "             compile: reduce.cu(12): error: identifier \"foo\" is undefined\n"
        "             simtune show ID\n"
        "\n"
        "T=f32 op=sum n=256Mi\n"
        "  winner     BLOCK=256 VEC=1 UNROLL=1 ACC=1 FINISH=two_pass\n"
        "  time       235.0 µs: the default itself is the fastest\n"
        "  memory     4569 GB/s, 99 % of this memory's measured 4600 GB/s\n"
        "  waits for  a value from global memory (90 % of warp latency)\n"
        "  ties       2 tie; the simplest was taken: by registers, then by nearness to\n"
        "             the default\n"
        "  more       simtune show ID\n"
        "  failed     none of 2\n"
        "\n"
        "  trust      3 samples dropped for throttling; SM clock 1980 MHz, at most 41 °C;\n"
        "             0 other processes on the device; counters allowed\n"
        "\n"
        "Next: simtune reduce --type f32 --op sum --size 64Ki --vary BLOCK --set VEC=4 \\\n"
        "      --set UNROLL=8 --set ACC=4 --set FINISH=cluster\n");
    st_free(text);
}

// Invariant 3, at widths where everything must be broken; nothing but line ends and blanks is lost.
static void test_width(void **state)
{
    (void)state;
    static const int widths[] = {80, 60, 100};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        char *text = summary("cold", widths[i], false), *rest = text;
        for (char *line; (line = strsep(&rest, "\n"));)
            if ((int)st_report_columns(line) > widths[i])
                fail_msg("wider than %d: %s", widths[i], line);
        st_free(text);
    }
}

// Invariant 4: the same words, with and without.
static void test_colour(void **state)
{
    (void)state;
    char *plain = summary("cold", 0, false), *coloured = summary("cold", 0, true);
    assert_null(strchr(plain, '\033'));
    assert_non_null(strchr(coloured, '\033'));
    st_text stripped;
    st_text_init(&stripped);
    for (const char *at = coloured; *at; at++) {
        if (*at == '\033')
            at += strcspn(at, "m");
        else
            st_text_add_bytes(&stripped, at, 1);
    }
    assert_string_equal(st_text_string(&stripped), plain);
    st_text_release(&stripped);
    st_free(plain);
    st_free(coloured);
}

static void test_warm(void **state)
{
    (void)state;
    char *text = summary("warm", 0, false);
    assert_non_null(strstr(text, "warm cache\n"));
    assert_non_null(strstr(text, "4.100 µs, 3.41 × the default (3.39–3.44)"));
    assert_non_null(strstr(text, "n=256Mi\n  winner     none in the warm cache\n"));
    st_free(text);
}

// --- other sessions --------------------------------------------------------------------------------------------

#define P "n=1024"

static void begin(const char *command)
{
    st_error error = {0};
    need(fixture_begin(store, "user", "hash", "{}", command, &session, &error), &error);
}

static void add(const fixture_candidate *rows, size_t count)
{
    st_error error = {0};
    need(fixture_candidates(&session, P, NULL, NULL, 1024, rows, count, &error), &error);
}

// Unknown is not zero: no bytes, no default, no counters, no registers, a session that has not ended.
static void test_unknown(void **state)
{
    (void)state;
    static const fixture_candidate rows[] = {{"A=1", "correct", NULL, 5000, NAN, -1, NAN}};
    st_error error = {0};
    begin("simtune tune user.cu");
    add(rows, 1);
    need(fixture_winner(&session, "cold", 0, -1, 5000, NAN, NAN, NAN, 1, NAN, &error), &error);
    char *text = summary("cold", 0, false);
    assert_string_equal(text,
        "user on NVIDIA H200 (sm_90, 132 SMs)\n"
        "  driver 580.159.04, nvrtc 13.0, cold cache\n"
        "  not finished: the same command goes on where it stopped\n"
        "\n"
        "n=1Ki\n"
        "  winner     A=1\n"
        "  time       5.000 µs; the default has no time to compare with\n"
        "  memory     - (the template does not say how many bytes it moves)\n"
        "  waits for  no counters\n"
        "  more       simtune show ID\n"
        "  failed     none of 1\n"
        "\n"
        "  trust      throttling unknown; SM clock 1980 MHz, at most 41 °C; other\n"
        "             processes unknown; counters unknown\n"
        "\n"
        "Next: simtune query user --best\n");
    st_free(text);
}

// A winner that the interval does not tell apart from the default says so, and speeds beyond the memory's too.
static void test_no_real_win(void **state)
{
    (void)state;
    static const fixture_candidate rows[] = {{"A=1", "correct", NULL, 5000, NAN, 20, 1},
                                             {"A=2", "correct", NULL, 4990, NAN, 18, 1}};
    st_error error = {0};
    begin("simtune tune user.cu");
    add(rows, 2);
    need(fixture_winner(&session, "cold", 1, 0, 4990, 5000, 0.998, 1.006, 2, 5e7, &error), &error);
    need(fixture_end(&session, "denied", &error), &error);
    char *text = summary("cold", 0, false);
    assert_non_null(strstr(text, "1.002 × the default (0.998–1.006): not told apart from it\n"));
    assert_non_null(strstr(text, "218 % of this memory's measured 4600 GB/s (so from"));
    assert_non_null(strstr(text, "counters denied"));
    assert_non_null(strstr(text, "\nNext: simtune doctor\n"));
    st_free(text);
}

static void test_nothing_won(void **state)
{
    (void)state;
    static const fixture_candidate rows[] = {{"A=1", "skipped", NULL, NAN, NAN, -1, NAN},
                                             {"A=2", "wrong", "out[0] is 1, should be 2", NAN, NAN, 20, 1}};
    st_error error = {0};
    begin("simtune tune user.cu");
    add(rows, 2);
    need(fixture_end(&session, "allowed", &error), &error);
    char *text = summary("cold", 0, false);
    assert_non_null(strstr(text, "failed     2 of 2: 1 wrong, 1 skipped\n"));
    assert_non_null(strstr(text, "wrong: out[0] is 1, should be 2\n")); // the worst is the example
    assert_non_null(strstr(text, "\nNext: simtune show ID\n"));
    st_free(text);
}

static void test_empty_session(void **state)
{
    (void)state;
    st_error error = {0};
    begin("simtune tune user.cu");
    need(fixture_end(&session, "unknown", &error), &error);
    char *text = summary("cold", 0, false);
    assert_string_equal(text, "user on -\n"
                              "  driver -, -, cold cache\n"
                              "\n"
                              "  trust      3 samples dropped for throttling; clocks unknown; 0 other processes\n"
                              "             on the device; counters unknown\n"
                              "\n"
                              "Next: simtune templates user.cu\n");
    st_free(text);
}

// One parameter alone: the table of its values.
static void test_vary(void **state)
{
    (void)state;
    static const fixture_candidate rows[] = {{"A=1 B=7", "correct", NULL, 5000, NAN, 20, 1},
                                             {"A=2 B=7", "correct", NULL, 4000, NAN, 28, 0.5},
                                             {"A=4 B=7", "wrong", "no", NAN, NAN, -1, NAN}};
    st_error error = {0};
    begin("simtune user --vary A");
    add(rows, 3);
    need(fixture_winner(&session, "cold", 1, 0, 4000, 5000, 1.24, 1.26, 1, 1e6, &error), &error);
    need(fixture_counters(&session, 1, "pc", "stall.wait", 0.4, "stall.selected", 0.6, NULL, 0, &error), &error);
    need(fixture_end(&session, "allowed", &error), &error);
    char *text = summary("cold", 0, false);
    assert_non_null(strstr(text,
        "\n  A                  time  regs  occup.  waits for\n"
        "  1              5.000 µs    20   100 %  no counters\n"
        "  2              4.000 µs    28    50 %  the result of fixed-latency arithmetic (40 % of samples)\n"
        "  4                 wrong     -       -  no counters\n"));
    assert_non_null(strstr(text, "\nNext: simtune query user --best\n")); // it was a --vary already
    st_free(text);
}

static void test_unknown_session(void **state)
{
    (void)state;
    st_text text;
    st_error error = {0};
    st_text_init(&text);
    st_summary_options options = {.cache = "cold"};
    assert_int_equal(st_summary_text(store, "0000", &options, &text, &error), ST_NOTHING);
    assert_int_equal(st_summary_json(store, "0000", &text, &error), ST_NOTHING);
    assert_int_equal(st_summary_why(store, "0000", P, "cold", &text, &error), ST_NOTHING);
    assert_int_equal(text.length, 0);
    st_text_release(&text);
}

// --- why -----------------------------------------------------------------------------------------------------------

static char *why(const char *problem, const char *cache)
{
    st_text text;
    st_error error = {0};
    st_text_init(&text);
    need(st_summary_why(store, session.row.id, problem, cache, &text, &error), &error);
    return st_text_take(&text);
}

static void test_why(void **state)
{
    (void)state;
    char *small = why(FIXTURE_SMALL, "cold"), *large = why(FIXTURE_LARGE, "cold");
    char *broken = why(FIXTURE_BROKEN, "cold"), *unknown = why("n=3", "cold"), *warm = why(FIXTURE_LARGE, "warm");
    assert_string_equal(small,
        "T=f32 op=sum n=64Ki: BLOCK 256 → 512, VEC 1 → 4, UNROLL 1 → 8 and 2 more\n"
        "  its warps wait for a value from global memory (46 %); default: barrier, 51 %\n"
        "  device memory runs at 21 % of its peak; default: 6.0 %\n");
    assert_string_equal(large, "T=f32 op=sum n=256Mi: the default itself wins\n"
                               "  its warps wait for a value from global memory (90 %)\n"
                               "  device memory runs at 93 % of its peak\n");
    assert_string_equal(broken, "");
    assert_string_equal(unknown, "");
    assert_string_equal(warm, "");
    char *const all[] = {small, large, broken, unknown, warm};
    for (size_t i = 0; i < 5; i++)
        st_free(all[i]);
}

// Nothing is said where no counter says it.
static void test_why_without_counters(void **state)
{
    (void)state;
    static const fixture_candidate rows[] = {{"A=1", "correct", NULL, 5000, NAN, 20, 1},
                                             {"A=2", "correct", NULL, 4000, NAN, 18, 1}};
    st_error error = {0};
    begin("simtune tune user.cu");
    add(rows, 2);
    need(fixture_winner(&session, "cold", 1, 0, 4000, 5000, 1.2, 1.3, 1, 1e6, &error), &error);
    need(fixture_counters(&session, 1, "pc", "stall.wait", NAN, "stall.barrier", NAN, NULL, 0, &error), &error);
    char *text = why(P, "cold");
    assert_string_equal(text, "");
    st_free(text);
}

// --- rivals ---------------------------------------------------------------------------------------------------------

// A winner, the two rivals that its template names, and the default; the finals as the run stores them.
static void begin_rivals(bool counters)
{
    static const fixture_candidate rows[] = {{"ALGORITHM=warp_shuffle A=1", "correct", NULL, 4000, NAN, 20, 1},
                                             {"ALGORITHM=blelloch A=1", "correct", NULL, 5200, NAN, 18, 1},
                                             {"ALGORITHM=hillis_steele A=1", "correct", NULL, 8000, NAN, 18, 1}};
    static const char ties[] =
        "[{\"configuration\":\"ALGORITHM=warp_shuffle A=1\",\"median_ns\":4000,\"rivals\":[\"ALGORITHM=warp_shuffle\"]},"
        "{\"configuration\":\"ALGORITHM=blelloch A=1\",\"median_ns\":5200,\"rivals\":[\"ALGORITHM=blelloch\",\"A=1\"]},"
        "{\"configuration\":\"ALGORITHM=hillis_steele A=1\",\"median_ns\":8000,\"rivals\":[\"ALGORITHM=hillis_steele\"]}]";
    st_error error = {0};
    begin("simtune scan");
    add(rows, 3);
    st_winner_row row = {.session_key = session.row.key, .problem_key = session.problem,
                         .winner_key = session.candidates[0], .default_key = session.candidates[2],
                         .winner_ns = 4000, .default_ns = 8000, .speedup = 2, .speedup_low = 1.9,
                         .speedup_high = 2.1, .tied = 1, .ties_json = (char *)(uintptr_t)ties, .bytes = 1e6};
    snprintf(row.cache, sizeof row.cache, "cold");
    need(st_store_winner(store, &row, &error), &error);
    if (!counters)
        return;
    need(fixture_counters(&session, 0, "pc", "stall.long_scoreboard", 0.6, "stall.barrier", 0.04, NULL, 0, &error),
         &error);
    need(fixture_counters(&session, 0, "range", "dram_bytes_read", 4e6, "instructions", 1e6, "dram_throughput", 0.88,
                          &error), &error);
    need(fixture_counters(&session, 1, "pc", "stall.long_scoreboard", 0.62, "stall.barrier", 0.31, NULL, 0, &error),
         &error);
    need(fixture_counters(&session, 1, "range", "shared_load_conflicts", 450, "shared_wavefronts", 1000,
                          "dram_bytes_read", 4e6, &error), &error);
    need(fixture_counters(&session, 2, "pc", "stall.long_scoreboard", 0.62, "stall.not_selected", 0.3, NULL, 0,
                          &error), &error);
    need(fixture_counters(&session, 2, "range", "dram_bytes_read", 8e6, "instructions", 1.1e6, "dram_throughput",
                          0.85, &error), &error);
}

// The reasons are what differs in the counters, largest first: no word of a wait that both share, of the default
// (which is not the rival "A=1" of the winner itself), or of a counter that one of them lacks.
static void test_rivals(void **state)
{
    (void)state;
    begin_rivals(true);
    char *text = why(P, "cold");
    assert_non_null(strstr(text, "  blelloch at its best takes 1.30 × the time: its warps wait for the other warps\n"
                                 "  of its block at a barrier 31 % of the time (the winner's 4 %); 45 % of its\n"
                                 "  passes through shared memory are bank conflicts (the winner's 0 %)\n"));
    assert_non_null(strstr(text, "  hillis_steele at its best takes 2.00 × the time: it moves 2.00 × the bytes to\n"
                                 "  and from device memory\n"));
    assert_null(strstr(text, "A=1 at its best"));
    assert_null(strstr(text, "warp_shuffle at its best"));
    st_free(text);
    text = summary("cold", 80, false);
    assert_non_null(strstr(text, "  against    blelloch at its best takes 1.30 × the time: its warps wait for the\n"));
    assert_non_null(strstr(text, "             hillis_steele at its best takes 2.00 × the time: it moves 2.00 ×\n"));
    st_free(text);
}

// Without counters the times alone.
static void test_rivals_without_counters(void **state)
{
    (void)state;
    begin_rivals(false);
    char *text = summary("cold", 80, false);
    assert_non_null(strstr(text, "  against    blelloch at its best takes 1.30 × the time\n"
                                 "             hillis_steele at its best takes 2.00 × the time\n"));
    st_free(text);
}

// --- JSON ---------------------------------------------------------------------------------------------------------

static json_t *as_json(void)
{
    st_text text;
    st_error error = {0};
    json_t *value = NULL;
    st_text_init(&text);
    need(st_summary_json(store, session.row.id, &text, &error), &error);
    need(st_json_parse(st_text_string(&text), text.length, "the summary", &value, &error), &error);
    st_text_release(&text);
    return value;
}

static void test_json(void **state)
{
    (void)state;
    json_t *all = as_json();
    assert_string_equal(json_string_value(json_object_get(all, "schema")), "simtune.summary/1");
    const json_t *problems = json_object_get(all, "problems"), *small = json_array_get(problems, 0);
    assert_int_equal(json_array_size(problems), 3);
    const json_t *cold = json_object_get(small, "cold"), *winner = json_object_get(cold, "winner");
    assert_true(json_number_value(json_object_get(winner, "median_ns")) == 4600);
    assert_true(json_number_value(json_object_get(cold, "bytes_per_second")) == 262148 / 4600.0 * 1e9);
    const json_t *counters = json_object_get(winner, "counters");
    assert_string_equal(json_string_value(json_object_get(counters, "main_stall")), "long_scoreboard");
    assert_true(json_number_value(json_object_get(counters, "main_stall_share")) == 0.46);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(small, "outcomes"), "crash")), 1);
    assert_int_equal(json_array_size(json_object_get(small, "failed_examples")), 2);
    // Unknown is null.
    assert_true(json_is_null(json_object_get(json_array_get(problems, 1), "cold")));
    assert_true(json_is_null(json_object_get(json_array_get(problems, 2), "warm")));
    assert_string_equal(json_string_value(json_object_get(json_object_get(all, "session"), "status")), "finished");
    assert_true(json_number_value(json_object_get(json_object_get(all, "device"), "read_bytes_per_second")) == 4.6e12);
    json_decref(all);
}

static void test_same_bytes(void **state)
{
    (void)state;
    st_text one, other;
    st_error error = {0};
    st_text_init(&one);
    st_text_init(&other);
    need(st_summary_json(store, session.row.id, &one, &error), &error);
    need(st_summary_json(store, session.row.id, &other, &error), &error);
    assert_string_equal(st_text_string(&one), st_text_string(&other));
    st_text_release(&one);
    st_text_release(&other);
}

// --- faults ----------------------------------------------------------------------------------------------------------

static st_code all_of_it(st_text *text, st_error *error)
{
    st_summary_options options = {.cache = "cold"};
    st_code code = st_summary_text(store, session.row.id, &options, text, error);
    if (code == ST_OK)
        code = st_summary_json(store, session.row.id, text, error);
    return code == ST_OK ? st_summary_why(store, session.row.id, FIXTURE_SMALL, "cold", text, error) : code;
}

// Each allocation and SQLite call fails in turn, until a trial injects none: an error, or the whole text.
static void test_faults(void **state)
{
    (void)state;
    static const st_fault kinds[] = {ST_FAULT_ALLOCATION, ST_FAULT_SQLITE};
    st_text whole;
    st_error error = {0};
    st_text_init(&whole);
    need(all_of_it(&whole, &error), &error);
    for (size_t k = 0; k < 2; k++)
        for (unsigned long n = 1;; n++) {
            st_text text;
            st_text_init(&text);
            st_fault_arm(kinds[k], n);
            st_code code = all_of_it(&text, &error);
            bool injected = st_fault_injected(kinds[k]);
            st_fault_arm(kinds[k], 0);
            if (code == ST_OK && !text.failed)
                assert_string_equal(st_text_string(&text), st_text_string(&whole));
            else
                assert_true(injected && error.what[0]);
            st_text_release(&text);
            if (!injected)
                break;
            assert_true(n < 20000);
        }
    st_text_release(&whole);
}

#define WITH_REDUCE(test) cmocka_unit_test_setup_teardown(test, open_reduce, close_store)
#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, open_empty, close_store)

int main(void)
{
    st_json_setup();
    const struct CMUnitTest tests[] = {
        WITH_REDUCE(test_text),       WITH_REDUCE(test_width),  WITH_REDUCE(test_colour),
        WITH_REDUCE(test_warm),       WITH_STORE(test_unknown), WITH_STORE(test_no_real_win),
        WITH_STORE(test_nothing_won), WITH_STORE(test_empty_session), WITH_STORE(test_vary),
        WITH_STORE(test_unknown_session), WITH_REDUCE(test_why), WITH_STORE(test_why_without_counters),
        WITH_STORE(test_rivals), WITH_STORE(test_rivals_without_counters),
        WITH_REDUCE(test_json),       WITH_REDUCE(test_same_bytes), WITH_REDUCE(test_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
