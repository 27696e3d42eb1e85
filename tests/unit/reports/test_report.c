// SPDX-License-Identifier: Apache-2.0
// The report's model, from the store alone. Promises of report.h: everything comes from stored rows; what is not known
// stays NaN, -1, NULL or ""; the same rows give the same report.
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
    return open_empty(state) == ST_OK && fixture_reduce(store, &session, &error) == ST_OK ? 0 : -1;
}

static int close_store(void **state)
{
    (void)state;
    st_report_release(&report);
    st_store_close(store);
    return 0;
}

static const st_reported_session *load(void)
{
    st_error error = {0};
    const char *ids[] = {session.row.id};
    need(st_report_load(store, ids, 1, ST_REPORT_COLD, &report, &error), &error);
    return &report.sessions[0];
}

static const st_reported_parameter *parameter(const st_reported_session *of, const char *name)
{
    for (size_t i = 0; i < of->parameter_count; i++)
        if (strcmp(of->parameters[i].name, name) == 0)
            return &of->parameters[i];
    fail_msg("no parameter %s", name);
    return NULL;
}

// Whether there is a doubt with this level and words.
static bool doubts(const st_reported_session *of, st_reported_level level, const char *about, const char *words)
{
    for (size_t i = 0; i < of->doubt_count; i++)
        if (of->doubts[i].level == level && strcmp(of->doubts[i].about, about) == 0 &&
            strstr(of->doubts[i].words, words))
            return true;
    return false;
}

// --- what was tried --------------------------------------------------------------------------------------------------

static void test_problems(void **state)
{
    (void)state;
    const st_reported_session *of = load();
    assert_int_equal(of->count, 3);
    assert_string_equal(of->problems[0].text, FIXTURE_SMALL);
    assert_string_equal(of->problems[0].type, "f32");
    assert_int_equal(of->problems[0].n, 65536);
    assert_int_equal(of->problems[0].count, 6);
    assert_int_equal(of->problems[0].outcomes[ST_REPORTED_CORRECT], 3);
    assert_int_equal(of->problems[0].outcomes[ST_REPORTED_WRONG], 1);
    assert_int_equal(of->problems[0].outcomes[ST_REPORTED_CONSTRAINT], 1);
    assert_int_equal(of->candidate_count, 9);
    assert_int_equal(of->measured_count, 5);
    const st_reported_candidate *failed = &of->problems[0].candidates[3];
    assert_string_equal(failed->detail, "out[0] is 12, should be 13\n1 of 1 differ");
    assert_true(isnan(failed->times[ST_REPORT_COLD].median_ns));
    assert_int_equal(failed->times[ST_REPORT_COLD].first_ms, -1);
    assert_int_equal(of->problems[0].candidates[5].registers, -1);
    assert_true(isnan(of->problems[0].candidates[5].occupancy));
    assert_true(of->problems[0].candidates[0].profiled && of->problems[0].candidates[1].profiled);
    assert_false(of->problems[0].candidates[2].profiled);
    assert_int_equal(of->problems[0].candidates[0].times[ST_REPORT_WARM].samples, 12);
    assert_int_equal(of->problems[0].candidates[0].times[ST_REPORT_WARM].phase, 'f');
}

static void test_parameters(void **state)
{
    (void)state;
    const st_reported_session *of = load();
    assert_int_equal(of->parameter_count, 5);
    assert_string_equal(of->parameters[0].name, "BLOCK");
    const st_reported_parameter *block = parameter(of, "BLOCK"), *finish = parameter(of, "FINISH");
    assert_true(block->numeric);
    assert_int_equal(block->value_count, 3);
    assert_string_equal(block->values[2], "1024"); // numbers, not texts
    assert_int_equal(block->standard, 0);          // from the default of a result: the template's text says nothing
    assert_false(finish->numeric);
    assert_string_equal(finish->values[0], "two_pass"); // as they came
    assert_int_equal(of->problems[0].candidates[1].values[0], 1);
    assert_int_equal(block->roles, 0);
    assert_null(block->meaning);
}

// Roles, defaults and the comment above a parameter come out of the text of the template.
static void test_source(void **state)
{
    (void)state;
    static const char text[] = "{\"other.cuh\":\"x\",\"scale.cu\":\"// simtune: family scale\\n"
                               "// simtune: summary  n elements, each times two\\n"
                               "// How much a thread does.\\n"
                               "// simtune: param BLOCK = 128 256  role tlp work\\n"
                               "// simtune: param ITEMS = 1 4      role ilp runtime\\n//\\n// Nobody's.\\n//\\n"
                               "// As one\\n// writes it.\\n"
                               "// simtune: default BLOCK=256 ITEMS=1\\n\"}";
    st_error error = {0};
    need(fixture_scale(store, "fedcba9876543210fedcba9876543210", text, &session, &error), &error);
    const st_reported_session *of = load();
    const st_reported_parameter *block = parameter(of, "BLOCK"), *items = parameter(of, "ITEMS");
    assert_int_equal(block->roles, ST_ROLE_TLP | ST_ROLE_WORK);
    assert_int_equal(items->roles, ST_ROLE_ILP);
    assert_string_equal(block->meaning, "How much a thread does.");
    assert_int_equal(block->standard, 1);
    assert_int_equal(items->standard, 0);
    assert_string_equal(of->source_file, "scale.cu");
    assert_string_equal(of->summary, "n elements, each times two");
    assert_string_equal(of->standard_words, "As one writes it.");
    assert_null(of->problems[0].type);
}

// --- results ---------------------------------------------------------------------------------------------------------

static void test_results(void **state)
{
    (void)state;
    const st_reported_session *of = load();
    const st_reported_result *cold = &of->problems[0].results[ST_REPORT_COLD];
    assert_int_equal(cold->winner, 1);
    assert_int_equal(cold->standard, 0);
    assert_float_equal(cold->winner_ns, 4600, 1e-9);
    assert_float_equal(cold->speedup.low, 3.4512, 1e-9);
    assert_float_equal(cold->speed, 262148.0 / 4600, 1e-9);
    assert_float_equal(cold->limit_share, 262148.0 / 4600 / cold->limit_gbs, 1e-9);
    assert_int_equal(cold->measured, 3);
    assert_int_equal(cold->winner_samples.count, 12);
    assert_int_equal(cold->past_count, 1);
    const st_reported_result *broken = &of->problems[1].results[ST_REPORT_COLD];
    assert_int_equal(broken->winner, -1);
    assert_true(isnan(broken->speedup.centre));
    assert_null(broken->winner_profile);
    assert_null(broken->importance);
    assert_int_equal(of->lead, 0); // the large gain, not the tie
}

static void test_changes(void **state)
{
    (void)state;
    const st_reported_session *of = load();
    const st_reported_result *cold = &of->problems[0].results[ST_REPORT_COLD];
    assert_int_equal(cold->change_count, 5);
    for (size_t i = 0; i < cold->change_count; i++) {
        const st_reported_change *change = &cold->changes[i];
        if (strcmp(of->parameters[change->parameter].name, "ACC") != 0) {
            assert_float_equal(change->without, 16000.0 / 4600, 1e-9); // the default alone
            assert_int_equal(change->without_count, 1);
            continue;
        }
        assert_string_equal(change->from, "1");
        assert_string_equal(change->to, "4");
        assert_float_equal(change->without, 5200.0 / 4600, 1e-9);
        assert_int_equal(change->without_candidate, 2);
        assert_int_equal(change->without_count, 2);
    }
    assert_true(isnan(cold->importance[0])); // three times are too few to tell
}

// Begins a session of the family "toy" with these configurations; the winner is the second, the default the first.
static const st_reported_result *load_toy(const fixture_candidate *rows, size_t count, double bytes)
{
    st_error error = {0};
    need(fixture_begin(store, "toy", "0123456789abcdef0123456789abcdef", "{}", "simtune tune toy.cu", &session, &error),
         &error);
    need(fixture_candidates(&session, "n=1", NULL, NULL, 1, rows, count, &error), &error);
    need(fixture_winner(&session, "cold", 1, 0, rows[1].cold_ns, rows[0].cold_ns, 7.9, 8.1, 1, bytes, &error), &error);
    return &load()->problems[0].results[ST_REPORT_COLD];
}

static void assert_step(const st_reported_step *step, double gain, size_t differ, const char *words)
{
    st_text text;
    st_text_init(&text);
    st_report_step(&report.sessions[0], &report.sessions[0].problems[0], ST_REPORT_COLD, step, &text);
    assert_string_equal(st_text_string(&text), words);
    st_text_release(&text);
    assert_float_equal(step->gain, gain, 1e-9);
    assert_int_equal(step->differ, differ);
}

static void assert_credit(const st_reported_result *result, size_t credit, double gain, const char *words)
{
    st_text text;
    st_text_init(&text);
    st_report_credit(&report.sessions[0], &report.sessions[0].problems[0], ST_REPORT_COLD, credit, &text);
    assert_string_equal(st_text_string(&text), words);
    st_text_release(&text);
    assert_float_equal(result->credits[credit].gain, gain, 1e-9);
}

// A gain belongs to all that was changed for it at once: only A was ever measured apart.
static void test_steps(void **state)
{
    (void)state;
    static const fixture_candidate rows[] = {{"A=1 B=1 C=x D=5", "correct", NULL, 8000, NAN, 32, 1},
                                             {"A=2 B=2 C=y D=5", "correct", NULL, 1000, NAN, 32, 1},
                                             {"A=2 B=1 C=x D=6", "correct", NULL, 4000, NAN, 32, 1},
                                             {"A=2 B=1 C=x D=5", "correct", NULL, 4001, NAN, 32, 1}, // nearer: stands for it
                                             {"A=3 B=1 C=x D=5", "correct", NULL, 5000, NAN, 32, 1},
                                             {"A=1 B=1 C=z D=5", "correct", NULL, 9000, NAN, 32, 1}, // no gain: no step
                                             {"A=2 B=2 C=z D=5", "wrong", NULL, NAN, NAN, 32, 1}};
    const st_reported_result *cold = load_toy(rows, sizeof rows / sizeof *rows, NAN);
    assert_int_equal(cold->step_count, 2);
    assert_step(&cold->steps[0], 8000.0 / 4001, 1, "A 1 → 2");
    assert_step(&cold->steps[1], 4.001, 2, "B 1 → 2, C x → y");
    assert_int_equal(cold->steps[0].before, 0);
    assert_int_equal(cold->steps[1].before, 3);
    assert_int_equal(cold->steps[1].after, 1);
    for (size_t i = 0; i < cold->change_count; i++) {
        const st_reported_change *change = &cold->changes[i];
        bool is_a = strcmp(report.sessions[0].parameters[change->parameter].name, "A") == 0;
        assert_int_equal(change->pairs, is_a); // A=1 and A=2 with all else equal: once
        if (is_a)
            assert_float_equal(change->alone.centre, 8000.0 / 4001, 1e-9);
        else
            assert_true(isnan(change->alone.centre));
    }
}

// What lies between the ends of a step divides it where both halves gain; else it is counted.
static void test_steps_are_divided(void **state)
{
    (void)state;
    static const fixture_candidate rows[] = {{"A=1 B=1 C=1 D=1", "correct", NULL, 8000, NAN, 32, 1},
                                             {"A=2 B=2 C=2 D=1", "correct", NULL, 1000, NAN, 32, 1},
                                             {"A=2 B=1 C=1 D=2", "correct", NULL, 4000, NAN, 32, 1}, // best with A alone
                                             {"A=2 B=1 C=1 D=1", "correct", NULL, 6000, NAN, 32, 1}, // divides the way to it
                                             {"A=2 B=2 C=1 D=2", "correct", NULL, 9000, NAN, 32, 1}}; // no gain
    const st_reported_result *cold = load_toy(rows, sizeof rows / sizeof *rows, NAN);
    assert_int_equal(cold->step_count, 3);
    assert_step(&cold->steps[0], 8.0 / 6, 1, "A 1 → 2");
    assert_step(&cold->steps[1], 1.5, 1, "D 1 → 2");
    assert_step(&cold->steps[2], 4, 3, "B 1 → 2, C 1 → 2; with it D 2 → 1");
    assert_int_equal(cold->steps[2].between, 2);
    // D is undone by the last step: what both gained is credited to what the winner has.
    assert_int_equal(cold->credit_count, 2);
    assert_credit(cold, 0, 6, "B 1 → 2, C 1 → 2");
    assert_credit(cold, 1, 8.0 / 6, "A 1 → 2");
    assert_int_equal(cold->steps[1].credit, cold->steps[2].credit);
}

// A word that passes another is one change; a number that is tuned further is two, and says where it ends.
static void test_credits_name_what_the_winner_has(void **state)
{
    (void)state;
    static const fixture_candidate rows[] = {{"A=x B=1 C=1", "correct", NULL, 8000, NAN, 32, 1},
                                             {"A=z B=4 C=2", "correct", NULL, 1000, NAN, 32, 1},
                                             {"A=y B=1 C=1", "correct", NULL, 6000, NAN, 32, 1},
                                             {"A=y B=2 C=1", "correct", NULL, 3000, NAN, 32, 1}};
    const st_reported_result *cold = load_toy(rows, sizeof rows / sizeof *rows, NAN);
    assert_int_equal(cold->step_count, 3);
    assert_int_equal(cold->credit_count, 2);
    assert_credit(cold, 0, 4, "A x → z, B 2 → 4, C 1 → 2");
    assert_credit(cold, 1, 2, "B 1 → 2 (4 in the end)");
}

// A number that leaves what the winner has, and comes back to it, is undone as a word is.
static void test_credits_of_a_detour(void **state)
{
    (void)state;
    static const fixture_candidate rows[] = {{"A=1 B=1 C=1 D=1", "correct", NULL, 8000, NAN, 32, 1},
                                             {"A=2 B=2 C=2 D=2", "correct", NULL, 1000, NAN, 32, 1},
                                             {"A=2 B=1 C=1 D=2", "correct", NULL, 6000, NAN, 32, 1},
                                             {"A=2 B=2 C=1 D=4", "correct", NULL, 3000, NAN, 32, 1}};
    const st_reported_result *cold = load_toy(rows, sizeof rows / sizeof *rows, NAN);
    assert_int_equal(cold->step_count, 3);
    assert_int_equal(cold->credit_count, 2);
    assert_credit(cold, 0, 6, "B 1 → 2, C 1 → 2");
    assert_credit(cold, 1, 8.0 / 6, "A 1 → 2, D 1 → 2");
}

// What there is no room for, or gains nothing that tells, is one credit, the last; no change is lost.
static void test_credits_are_few(void **state)
{
    (void)state;
    static const fixture_candidate rows[] = {{"A=1 B=1 C=1 D=1 E=1 F=1 G=1 H=1", "correct", NULL, 25600, NAN, 32, 1},
                                             {"A=2 B=2 C=2 D=2 E=2 F=2 G=2 H=2", "correct", NULL, 100, NAN, 32, 1},
                                             {"A=2 B=1 C=1 D=1 E=1 F=1 G=1 H=1", "correct", NULL, 12800, NAN, 32, 1},
                                             {"A=2 B=2 C=1 D=1 E=1 F=1 G=1 H=1", "correct", NULL, 6400, NAN, 32, 1},
                                             {"A=2 B=2 C=2 D=1 E=1 F=1 G=1 H=1", "correct", NULL, 3200, NAN, 32, 1},
                                             {"A=2 B=2 C=2 D=2 E=1 F=1 G=1 H=1", "correct", NULL, 1600, NAN, 32, 1},
                                             {"A=2 B=2 C=2 D=2 E=2 F=1 G=1 H=1", "correct", NULL, 800, NAN, 32, 1},
                                             {"A=2 B=2 C=2 D=2 E=2 F=2 G=1 H=1", "correct", NULL, 400, NAN, 32, 1},
                                             {"A=2 B=2 C=2 D=2 E=2 F=2 G=2 H=1", "correct", NULL, 200, NAN, 32, 1}};
    const st_reported_result *cold = load_toy(rows, sizeof rows / sizeof *rows, NAN);
    double whole = 1;
    assert_int_equal(cold->step_count, 8);
    assert_int_equal(cold->credit_count, ST_REPORT_CREDITS);
    for (size_t i = 0; i < cold->credit_count; i++)
        whole *= cold->credits[i].gain;
    assert_float_equal(whole, 256, 1e-9);
    assert_credit(cold, ST_REPORT_CREDITS - 1, 8, "F 1 → 2, G 1 → 2, H 1 → 2");
    assert_true(cold->credits[ST_REPORT_CREDITS - 1].is_rest);
}

static void assert_command(const char *command, const char *words)
{
    st_text text;
    st_text_init(&text);
    st_reported_session of = {.session = {.family = "scan", .command = (char *)(uintptr_t)command}};
    st_report_command(&of, &text);
    assert_string_equal(st_text_string(&text), words);
    st_text_release(&text);
}

// A reader has neither the files nor the folders of who recorded.
static void test_command_of_somebody_else(void **state)
{
    (void)state;
    assert_command("simtune scan --db /tmp/main.db --no-header", "simtune scan --no-header");
    assert_command("simtune scan --db=/tmp/main.db -o 'a b.h' --arch auto", "simtune scan --arch auto");
    assert_command("simtune tune /tmp/share/templates/scan.cu --db", "simtune tune scan");
    assert_command("simtune tune my/scan.cu --name 'a --db b'", "simtune tune my/scan.cu --name 'a --db b'");
    assert_command(NULL, "");
}

// Within 5 % of what the memory was measured to do, what is left comes first; in a warm cache only for what does not fit.
static void test_at_the_limit(void **state)
{
    (void)state;
    st_text text;
    st_text_init(&text);
    st_reported_session of = {.l2_bytes = 1000};
    st_reported_result result = {.winner = 0, .bytes = 2000, .limit_share = 0.96};
    st_report_at_limit(&of, &result, ST_REPORT_COLD, &text);
    assert_string_equal(st_text_string(&text), "at the memory's limit: at most 4.0 % is left");
    assert_false(st_report_is_at_limit(&of, &result, ST_REPORT_WARM));
    result.bytes = 5000;
    assert_true(st_report_is_at_limit(&of, &result, ST_REPORT_WARM));
    result.limit_share = 0.94;
    assert_false(st_report_is_at_limit(&of, &result, ST_REPORT_COLD));
    result.limit_share = NAN;
    assert_false(st_report_is_at_limit(&of, &result, ST_REPORT_COLD));
    st_text_release(&text);
}

static void test_pairs(void **state)
{
    (void)state;
    static const fixture_candidate rows[] = {{"A=1 B=1", "correct", NULL, 8000, NAN, 32, 1},
                                             {"A=2 B=2", "correct", NULL, 1000, NAN, 32, 1},
                                             {"A=1 B=2", "correct", NULL, 3000, NAN, 32, 1},
                                             {"A=2 B=1", "correct", NULL, 2000, NAN, 32, 1},
                                             {"A=1 B=3", "correct", NULL, 500, NAN, 32, 1}, // few samples: not faster
                                             {"A=2 B=3", "correct", NULL, 1000, NAN, 32, 1}};
    const st_reported_result *cold = load_toy(rows, sizeof rows / sizeof *rows, NAN);
    double product = 1;
    assert_int_equal(cold->change_count, 2);
    for (size_t i = 0; i < 2; i++) {
        bool is_a = cold->changes[i].parameter == 0;
        assert_int_equal(cold->changes[i].pairs, is_a ? 3 : 2);
        assert_float_equal(cold->changes[i].alone.low, is_a ? 0.5 : 2, 1e-9);
        assert_float_equal(cold->changes[i].alone.centre, is_a ? 3 : 7.0 / 3, 1e-9);
        assert_float_equal(cold->changes[i].alone.high, is_a ? 4 : 8.0 / 3, 1e-9);
    }
    for (size_t i = 0; i < cold->step_count; i++)
        product *= cold->steps[i].gain;
    assert_true(cold->step_count > 0);
    assert_float_equal(product, 8, 1e-9);
}

// Nothing lies between: one step, of everything.
static void test_one_step(void **state)
{
    (void)state;
    static const fixture_candidate rows[] = {{"A=1 B=1 C=1", "correct", NULL, 8000, NAN, 32, 1},
                                             {"A=2 B=2 C=2", "correct", NULL, 1000, NAN, 32, 1},
                                             {"A=4 B=4 C=4", "correct", NULL, 2000, NAN, 32, 1}};
    const st_reported_result *cold = load_toy(rows, 2, NAN);
    assert_int_equal(cold->step_count, 1);
    assert_step(&cold->steps[0], 8, 3, "A 1 → 2, B 1 → 2, C 1 → 2");
}

// The limit is what the device was measured to do, and a winner may beat it: that is said, not hidden.
static void test_beyond_the_limit(void **state)
{
    (void)state;
    static const fixture_candidate rows[] = {{"A=1", "correct", NULL, 8000, NAN, 32, 1},
                                             {"A=2", "correct", NULL, 1000, NAN, 32, 1}};
    st_text text;
    st_text_init(&text);
    const st_reported_result *cold = load_toy(rows, 2, 5e6); // 5000 GB/s
    assert_float_equal(cold->limit_gbs, 4600, 1e-9);
    assert_float_equal(cold->limit_share, 5000.0 / 4600, 1e-9);
    assert_true(doubts(&report.sessions[0], ST_REPORTED_AMBER, "limit", "1 winner, cold, is faster than the fastest"));
    st_report_limit(&report.sessions[0], cold, &text);
    assert_string_equal(st_text_string(&text), "the fastest plain read that simtune measured here");
    st_text_release(&text);
}

static const st_finding *finding_of(const st_reported_profile *profile, const char *rule)
{
    for (size_t i = 0; i < profile->finding_count; i++)
        if (strcmp(profile->findings[i].rule, rule) == 0)
            return &profile->findings[i];
    fail_msg("no finding %s", rule);
    return NULL;
}

// The profile of the winner of a problem with `bytes`, of which SMs have work in `busy` of the time.
static const st_reported_profile *profile_of(double bytes, double busy)
{
    static const fixture_candidate rows[] = {{"A=1", "correct", NULL, 80000, 80000, 32, 1},
                                             {"A=2", "correct", NULL, 10000, 10000, 32, 1}};
    const char *pc[] = {"stall.long_scoreboard", "stall_not_issued.long_scoreboard", "stall.selected", "stall_samples"};
    const double shares[] = {0.8, 0.7, 0.2, 4000};
    const char *range[] = {"sm_busy", "issue_active"};
    const double values[] = {busy, 0.1};
    st_error error = {0};
    need(fixture_begin(store, "toy", "0123456789abcdef0123456789abcdef", "{}", "simtune tune toy.cu", &session, &error),
         &error);
    need(fixture_candidates(&session, "n=1", NULL, NULL, 1, rows, 2, &error), &error);
    need(st_store_counters(store, session.candidates[1], "pc", pc, shares, 4, NAN, &error), &error);
    need(st_store_counters(store, session.candidates[1], "range", range, values, 2, NAN, &error), &error);
    need(fixture_winner(&session, "cold", 1, 0, 10000, 80000, 7.9, 8.1, 1, bytes, &error), &error);
    need(fixture_winner(&session, "warm", 1, 0, 10000, 80000, 7.9, 8.1, 1, bytes, &error), &error);
    return load()->problems[0].results[ST_REPORT_COLD].winner_profile;
}

// At 96 % of the limit a wait is no advice; and what was counted cold says so in the warm cache.
static void test_waits_at_the_limit(void **state)
{
    (void)state;
    const st_finding *wait = finding_of(profile_of(0.96 * 4600 * 10000, 0.95), "long_scoreboard");
    assert_int_equal(wait->severity, ST_GRAVITY_FINE);
    assert_non_null(strstr(wait->message, "at the memory's limit"));
    assert_int_equal(wait->move_count, 0);
    st_text text;
    st_text_init(&text);
    const st_reported_session *of = &report.sessions[0];
    st_report_now(of, &of->problems[0], ST_REPORT_COLD, &text);
    assert_true(st_text_starts(st_text_string(&text), "at the memory's limit: at most 4.0 % is left; its warps wait"));
    assert_null(strstr(st_text_string(&text), "cold cache"));
    st_text_clear(&text);
    st_report_now(of, &of->problems[0], ST_REPORT_WARM, &text);
    assert_non_null(strstr(st_text_string(&text), "taken with a cold cache"));
    st_text_release(&text);
}

// A kernel that leaves the SMs idle waits for its launch: its samples say little of the time.
static void test_waits_of_an_idle_device(void **state)
{
    (void)state;
    const st_reported_profile *profile = profile_of(NAN, 0.006);
    const st_finding *wait = finding_of(profile, "long_scoreboard");
    assert_string_equal(profile->findings[0].rule, "tail_effect");
    assert_int_equal(wait->severity, ST_GRAVITY_MINOR);
    assert_float_equal(wait->gain, 0.006, 1e-9);
    assert_non_null(strstr(wait->evidence, "0.6 % of the time in which SMs have work"));
}

static void test_waits_of_a_busy_device(void **state)
{
    (void)state;
    const st_finding *wait = finding_of(profile_of(NAN, 0.95), "long_scoreboard");
    assert_int_equal(wait->severity, ST_GRAVITY_MAJOR);
    assert_float_equal(wait->gain, 0.7, 1e-9);
}

// Of two parameters one decides the time alone: it explains everything, the other nothing.
static void test_importance(void **state)
{
    (void)state;
    fixture_candidate rows[16];
    char texts[16][32];
    st_error error = {0};
    for (int i = 0; i < 16; i++) {
        snprintf(texts[i], sizeof texts[i], "A=%d B=%d", i % 4, i / 4);
        rows[i] = (fixture_candidate){texts[i], "correct", NULL, 1000 * (1 + i % 4), NAN, 32, 1};
    }
    need(fixture_begin(store, "toy", "0123456789abcdef0123456789abcdef", "{}", "simtune tune toy.cu", &session, &error),
         &error);
    need(fixture_candidates(&session, "n=1", NULL, NULL, 1, rows, 16, &error), &error);
    need(fixture_winner(&session, "cold", 0, 3, 1000, 4000, 3.9, 4.1, 4, NAN, &error), &error);
    const st_reported_result *cold = &load()->problems[0].results[ST_REPORT_COLD];
    assert_float_equal(cold->importance[0], 1, 1e-9);
    assert_float_equal(cold->importance[1], 0, 1e-9);
    assert_true(isnan(cold->speed)); // bytes are not known
    assert_true(isnan(cold->limit_share));
}

// --- profiles --------------------------------------------------------------------------------------------------------

static void test_sampled_profile(void **state)
{
    (void)state;
    const st_reported_session *of = load();
    const st_reported_profile *winner = of->problems[0].results[ST_REPORT_COLD].winner_profile;
    assert_true(winner->any && winner->is_sampled);
    assert_string_equal(winner->waits[winner->main_wait].name, "long_scoreboard");
    assert_float_equal(st_reported_wait_share(winner, &winner->waits[winner->main_wait]), 0.46, 1e-9);
    assert_float_equal(winner->total_samples, 2400, 1e-9);
    assert_float_equal(st_reported_counter_of(winner, "dram_throughput"), 0.21, 1e-9);
    assert_true(isnan(st_reported_counter_of(winner, "ipc")));
    const st_reported_profile *standard = of->problems[0].results[ST_REPORT_COLD].standard_profile;
    assert_true(isnan(st_reported_counter_of(standard, "occupancy"))); // stored as unknown
}

static void test_exact_profile(void **state)
{
    (void)state;
    const st_reported_session *of = load();
    const st_reported_profile *winner = of->problems[2].results[ST_REPORT_COLD].winner_profile;
    assert_false(winner->is_sampled);
    assert_true(isnan(winner->total_samples));
    assert_float_equal(st_reported_wait_share(winner, &winner->waits[0]), 0.9, 1e-9);
    assert_float_equal(winner->waits[1].ratio, 10, 1e-9);
    assert_true(isnan(winner->waits[0].samples));
}

// Instructions of one line are one line, which waits for what most of its samples wait for.
static void test_lines(void **state)
{
    (void)state;
    st_error error = {0};
    static const char lines[] =
        "[{\"file\":\"/a/reduce.cu\",\"function\":\"k\",\"line\":7,\"pc\":16,\"samples\":50,\"stall\":\"barrier\"},"
        "{\"file\":\"/a/reduce.cu\",\"function\":\"k\",\"line\":9,\"pc\":32,\"samples\":40,\"stall\":\"wait\"},"
        "{\"file\":\"/a/reduce.cu\",\"function\":\"k\",\"line\":7,\"pc\":48,\"samples\":30,\"stall\":\"wait\"},"
        "{\"file\":\"/a/reduce.cu\",\"function\":\"k\",\"line\":7,\"pc\":64,\"samples\":30,\"stall\":\"wait\"}]";
    int64_t key;
    const st_reported_session *of = load();
    need(st_store_candidate_key(store, of->problems[0].candidates[1].id, &key, &error), &error);
    need(st_store_stall_lines(store, key, lines, &error), &error);
    st_report_release(&report);
    const st_reported_profile *winner = load()->problems[0].results[ST_REPORT_COLD].winner_profile;
    assert_int_equal(winner->instruction_count, 4);
    assert_int_equal(winner->line_count, 2);
    assert_string_equal(winner->lines[0].file, "reduce.cu"); // as the texts of the template name it
    assert_int_equal(winner->lines[0].line, 7);
    assert_int_equal(winner->lines[0].samples, 110);
    assert_string_equal(winner->lines[0].stall_name, "wait");       // 60 against 50
    assert_float_equal(winner->lines[0].share, 110.0 / 2400, 1e-9); // of all samples, not of the kept ones
}

// --- trust -----------------------------------------------------------------------------------------------------------

static void test_trust(void **state)
{
    (void)state;
    const st_reported_session *of = load();
    assert_true(doubts(of, ST_REPORTED_AMBER, "throttling", "3 samples"));
    assert_true(doubts(of, ST_REPORTED_AMBER, "verification", "1 gave a wrong one"));
    assert_true(doubts(of, ST_REPORTED_GREEN, "clocks", "1980 MHz throughout"));
    assert_true(doubts(of, ST_REPORTED_GREEN, "others", "no other process"));
    assert_true(doubts(of, ST_REPORTED_GREY, "explored", "not stored"));
    for (size_t i = 1; i < of->doubt_count; i++)
        assert_true(of->doubts[i - 1].level <= of->doubts[i].level);
    assert_int_equal(st_report_trust(of), of->doubts[0].level);
}

static void assert_trust(const st_reported_session *of, const char *expected)
{
    st_text text;
    st_text_init(&text);
    st_report_trust_words(of, &text);
    assert_string_equal(st_text_string(&text), expected);
    st_text_release(&text);
}

// What is not known is counted: "nothing speaks against it" alone would be too much.
static void test_trust_words(void **state)
{
    (void)state;
    load();
    assert_trust(&report.sessions[0], "Yes, with what is marked in mind. 1 thing is not known.");
    st_reported_doubt doubt[3] = {{.level = ST_REPORTED_GREEN}, {.level = ST_REPORTED_GREY}, {.level = ST_REPORTED_GREY}};
    st_reported_session made = {.doubts = doubt, .doubt_count = 3};
    assert_trust(&made, "Yes: nothing speaks against it. 2 things are not known.");
    made.doubt_count = 1;
    assert_trust(&made, "Yes: nothing speaks against it.");
    made.doubts = doubt + 1;
    assert_trust(&made, "Nothing is known that speaks for or against it.");
}

static void test_emulated_is_red(void **state)
{
    (void)state;
    st_error error = {0};
    st_device_row device = fixture_device();
    snprintf(device.backend, sizeof device.backend, "emu");
    snprintf(device.uuid, sizeof device.uuid, "EMU-1");
    fixture_session other = {.store = store};
    other.row = session.row;
    need(st_store_device(store, &device, &other.row.device_key, &error), &error);
    need(st_store_session_begin(store, &other.row, &error), &error);
    const char *ids[] = {other.row.id};
    need(st_report_load(store, ids, 1, ST_REPORT_COLD, &report, &error), &error);
    const st_reported_session *of = &report.sessions[0];
    assert_true(doubts(of, ST_REPORTED_RED, "device", "emulated"));
    assert_true(doubts(of, ST_REPORTED_AMBER, "session", "has not ended"));
    assert_int_equal(st_report_trust(of), ST_REPORTED_RED);
    assert_int_equal(of->lead, -1); // it has no candidate at all
}

// --- words -----------------------------------------------------------------------------------------------------------

static void assert_verdict(const st_reported_session *of, size_t problem, const char *expected)
{
    st_text text;
    st_text_init(&text);
    st_report_verdict(of, &of->problems[problem], ST_REPORT_COLD, &text);
    assert_string_equal(st_text_string(&text), expected);
    st_text_release(&text);
}

static void test_verdicts(void **state)
{
    (void)state;
    const st_reported_session *of = load();
    assert_verdict(of, 0,
                   "reduce (T=f32 op=sum n=64Ki, cold cache) runs 3.48 × as fast as the default (95 % interval 3.45 to "
                   "3.50): 16.00 µs → 4.600 µs");
    assert_verdict(of, 1, "reduce (T=f32 op=sum n=1Mi, cold cache) has no valid configuration that was measured");
    assert_verdict(
        of, 2,
        "reduce (T=f32 op=sum n=256Mi, cold cache) the default itself is the fastest; 2 configurations tie for "
        "the first place");
}

static void test_waits_on(void **state)
{
    (void)state;
    st_text text;
    st_text_init(&text);
    const st_reported_session *of = load();
    st_report_waits_on(of->problems[0].results[ST_REPORT_COLD].winner_profile, &text);
    assert_string_equal(st_text_string(&text),
                        "its warps wait for a value from global memory (long_scoreboard, 46 % of samples); "
                        "device memory runs at 21 % of its peak");
    st_text_clear(&text);
    st_report_waits_on(NULL, &text);
    assert_string_equal(st_text_string(&text), "");
    st_text_release(&text);
}

static void test_outcome_words(void **state)
{
    (void)state;
    for (int i = 0; i < ST_REPORTED_OUTCOMES; i++) {
        assert_true(strlen(st_reported_outcome_name((st_reported_outcome)i)) > 0);
        assert_true(strlen(st_reported_outcome_meaning((st_reported_outcome)i)) > 0);
    }
    assert_false(st_reported_outcome_is_failure(ST_REPORTED_CORRECT));
    assert_false(st_reported_outcome_is_failure(ST_REPORTED_SKIPPED));
    assert_true(st_reported_outcome_is_failure(ST_REPORTED_RACE));
    assert_int_equal(st_report_cache_find("warm"), ST_REPORT_WARM);
    assert_int_equal(st_report_cache_find("hot"), -1);
}

// --- what goes wrong -------------------------------------------------------------------------------------------------

static void test_no_such_session(void **state)
{
    (void)state;
    st_error error = {0};
    const char *ids[] = {session.row.id, "ffffffffffffffffffffffffffffffff"};
    assert_int_equal(st_report_load(store, ids, 2, ST_REPORT_COLD, &report, &error), ST_NOTHING);
    assert_int_equal(report.count, 0);
}

// Every allocation in turn: the load says so and leaves nothing behind, or did not need it.
static void test_no_memory(void **state)
{
    (void)state;
    const char *ids[] = {session.row.id};
    unsigned long failures = 0;
    for (unsigned long n = 1;; n = next_fault(n)) {
        st_error error = {0};
        st_fault_arm(ST_FAULT_ALLOCATION, n);
        st_code code = st_report_load(store, ids, 1, ST_REPORT_COLD, &report, &error);
        bool injected = st_fault_injected(ST_FAULT_ALLOCATION);
        st_fault_arm(ST_FAULT_ALLOCATION, 0);
        if (code == ST_OK)
            st_report_release(&report);
        failures += code != ST_OK;
        if (!injected)
            break;
    }
    assert_true(failures > 20);
    load();
}

int main(void)
{
    st_json_setup();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_problems, open_reduce, close_store),
        cmocka_unit_test_setup_teardown(test_parameters, open_reduce, close_store),
        cmocka_unit_test_setup_teardown(test_source, open_empty, close_store),
        cmocka_unit_test_setup_teardown(test_results, open_reduce, close_store),
        cmocka_unit_test_setup_teardown(test_changes, open_reduce, close_store),
        cmocka_unit_test_setup_teardown(test_steps, open_empty, close_store),
        cmocka_unit_test_setup_teardown(test_steps_are_divided, open_empty, close_store),
        cmocka_unit_test_setup_teardown(test_credits_name_what_the_winner_has, open_empty, close_store),
        cmocka_unit_test_setup_teardown(test_credits_of_a_detour, open_empty, close_store),
        cmocka_unit_test_setup_teardown(test_credits_are_few, open_empty, close_store),
        cmocka_unit_test(test_command_of_somebody_else),
        cmocka_unit_test(test_at_the_limit),
        cmocka_unit_test_setup_teardown(test_waits_at_the_limit, open_empty, close_store),
        cmocka_unit_test_setup_teardown(test_waits_of_an_idle_device, open_empty, close_store),
        cmocka_unit_test_setup_teardown(test_waits_of_a_busy_device, open_empty, close_store),
        cmocka_unit_test_setup_teardown(test_pairs, open_empty, close_store),
        cmocka_unit_test_setup_teardown(test_one_step, open_empty, close_store),
        cmocka_unit_test_setup_teardown(test_beyond_the_limit, open_empty, close_store),
        cmocka_unit_test_setup_teardown(test_importance, open_empty, close_store),
        cmocka_unit_test_setup_teardown(test_sampled_profile, open_reduce, close_store),
        cmocka_unit_test_setup_teardown(test_exact_profile, open_reduce, close_store),
        cmocka_unit_test_setup_teardown(test_lines, open_reduce, close_store),
        cmocka_unit_test_setup_teardown(test_trust, open_reduce, close_store),
        cmocka_unit_test_setup_teardown(test_trust_words, open_reduce, close_store),
        cmocka_unit_test_setup_teardown(test_emulated_is_red, open_reduce, close_store),
        cmocka_unit_test_setup_teardown(test_verdicts, open_reduce, close_store),
        cmocka_unit_test_setup_teardown(test_waits_on, open_reduce, close_store),
        cmocka_unit_test(test_outcome_words),
        cmocka_unit_test_setup_teardown(test_no_such_session, open_reduce, close_store),
        cmocka_unit_test_setup_teardown(test_no_memory, open_reduce, close_store),
    };
    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
