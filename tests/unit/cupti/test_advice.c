// SPDX-License-Identifier: Apache-2.0
// Proves that the rules speak when they should and are silent otherwise (advice.c, advice_rules.c, advice_checks.c):
// their gates, the memory's limit, unknown values, gains, directions; that the table is whole; and that stored lines
// are read (stall_lines.c). What a view derives from samples is test_advice_view.c's.
#include "cupti/advice.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int stall(const char *name) {
    size_t count = 0;
    const st_stall *table = st_stalls(&count), *found = st_stall_find(name);
    assert_non_null(found);
    return (int)(found - table);
}

// A kernel of which a share waits for one reason and the rest issues; the memory runs at 40 % of its speed.
static st_profile_view waiting(const char *reason, double share, double issue) {
    st_profile_view view;
    char name[96];
    st_view_init(&view);
    snprintf(name, sizeof name, "stall.%s", reason);
    st_view_counter(&view, "pc", name, share);
    st_view_counter(&view, "pc", "stall.selected", 1 - share);
    snprintf(name, sizeof name, "stall_not_issued.%s", reason);
    st_view_counter(&view, "pc", name, 1 - issue);
    st_view_counter(&view, "pc", "stall_samples", 5000);
    view.device.read_gbs = view.device.copy_gbs = 1000;
    view.bytes = 400e6;
    view.ns = 1e6;
    view.occupancy = 0.75;
    return view;
}

static bool says(const st_profile_view *view, const char *rule, st_finding *out) {
    st_finding findings[ST_FINDINGS_MOST];
    size_t count = st_advise(view, findings);
    assert_true(count <= ST_FINDINGS_MOST);
    for (size_t i = 0; i < count; i++)
        if (strcmp(findings[i].rule, rule) == 0) {
            if (out)
                *out = findings[i];
            return true;
        }
    return false;
}

// --- the table ----------------------------------------------------------------------------------------------------

static void every_row_is_filled(void **state) {
    (void)state;
    size_t count = 0;
    const st_rule *rules = st_rules(&count);
    assert_true(count < ST_FINDINGS_MOST + 18); // of the reasons, few can hold at once
    for (size_t i = 0; i < count; i++) {
        const st_rule *rule = &rules[i];
        assert_true(rule->id && rule->title && rule->message && rule->remedy && rule->when);
        assert_true(strlen(rule->message) > 30 && strlen(rule->remedy) > 20 && strlen(rule->when) > 8);
        assert_true(rule->stall || rule->holds); // else it would always speak
        assert_true(!rule->least_share || rule->stall);
        assert_ptr_equal(st_rule_find(rule->id), rule);
        for (size_t m = 0; m < rule->move_count; m++)
            assert_true(st_move_words(rule->moves[m])[0] != '\0');
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(rules[j].id, rule->id);
    }
    assert_null(st_rule_find("raise_occupancy"));
}

// advice_rules.c, invariant 2.
static void every_reason_has_its_rule(void **state) {
    (void)state;
    size_t count = 0;
    const st_stall *stalls = st_stalls(&count);
    for (size_t i = 0; i < count; i++) {
        const st_rule *rule = st_rule_find(stalls[i].name);
        if (strcmp(stalls[i].name, "selected") == 0) {
            assert_null(rule);
            continue;
        }
        assert_non_null(rule);
        assert_string_equal(rule->stall, stalls[i].name);
        unsigned roles = 0;
        for (size_t m = 0; m < rule->move_count; m++)
            roles |= (unsigned)rule->moves[m].role;
        if (roles != stalls[i].moves)
            fail_msg("%s moves %u here and %u in the table of reasons", rule->id, roles, stalls[i].moves);
    }
}

static void every_rule_is_documented(void **state) {
    (void)state;
    st_text text;
    st_text_init(&text);
    assert_int_equal(st_text_read_file(&text, "docs/counters.md", NULL), ST_OK);
    size_t count = 0;
    const st_rule *rules = st_rules(&count);
    for (size_t i = 0; i < count; i++) {
        char row[96];
        snprintf(row, sizeof row, "\n| `%s` | ", rules[i].id);
        const char *rules_begin = strstr(st_text_string(&text), "\n## Rules\n");
        if (!rules_begin || !strstr(rules_begin, row))
            fail_msg("docs/counters.md has no row for the rule %s", rules[i].id);
    }
    st_text_release(&text);
}

// --- gates --------------------------------------------------------------------------------------------------------

static void nothing_known_says_nothing(void **state) {
    (void)state;
    st_profile_view view;
    st_finding findings[ST_FINDINGS_MOST];
    st_view_init(&view);
    assert_int_equal(st_advise(&view, findings), 0);
    view.ns = 1e5; // a time alone says nothing either
    view.bytes = 1e6;
    assert_int_equal(st_advise(&view, findings), 0);
}

static void a_share_above_its_gate_speaks(void **state) {
    (void)state;
    size_t count = 0;
    const st_rule *rules = st_rules(&count);
    for (size_t i = 0; i < count; i++) {
        if (!rules[i].stall || !rules[i].least_share)
            continue;
        st_profile_view view = waiting(rules[i].stall, rules[i].least_share + 0.01, 0.3);
        st_finding finding;
        if (!says(&view, rules[i].id, &finding))
            fail_msg("%s is silent", rules[i].id);
        assert_int_equal(finding.stall, stall(rules[i].stall));
        assert_non_null(strstr(finding.evidence, "% of samples wait for it"));
        assert_true(isnan(finding.gain) == !finding.gain_source);
        view = waiting(rules[i].stall, rules[i].least_share - 0.01, 0.3);
        assert_false(says(&view, rules[i].id, NULL));
    }
}

static void busy_schedulers_silence_what_waits(void **state) {
    (void)state;
    size_t count = 0;
    const st_rule *rules = st_rules(&count);
    for (size_t i = 0; i < count; i++) {
        if (!rules[i].stall || !rules[i].most_issue)
            continue;
        st_profile_view view = waiting(rules[i].stall, 0.6, 0.79);
        assert_true(says(&view, rules[i].id, NULL));
        view = waiting(rules[i].stall, 0.6, 0.81);
        assert_false(says(&view, rules[i].id, NULL));
        assert_true(says(&view, "issue_bound", NULL));
    }
}

static void at_the_limit_it_is_left_alone(void **state) {
    (void)state;
    st_profile_view view = waiting("long_scoreboard", 0.9, 0.05);
    st_finding findings[ST_FINDINGS_MOST];
    assert_true(says(&view, "long_scoreboard", NULL));
    view.ns = view.bytes / 971; // 97.1 % of 1000 GB/s
    assert_int_equal(st_advise(&view, findings), 1);
    assert_string_equal(findings[0].rule, "at_the_limit");
    assert_int_equal(findings[0].severity, ST_GRAVITY_FINE);
    assert_int_equal(findings[0].move_count, 0);
    assert_non_null(strstr(findings[0].evidence, "90 % wait for a value from global memory"));
    view.ns = view.bytes / 969;
    assert_true(says(&view, "long_scoreboard", NULL));
    assert_false(says(&view, "at_the_limit", NULL));
}

static void without_the_issue_activity_no_wait_is_told(void **state) {
    (void)state;
    st_profile_view view;
    st_view_init(&view);
    st_view_counter(&view, "range", "stall.wait", 9);
    st_view_counter(&view, "range", "stall.selected", 1);
    assert_false(says(&view, "wait", NULL));
    st_view_counter(&view, "range", "issue_active", 0.2);
    st_finding finding;
    assert_true(says(&view, "wait", &finding));
    assert_non_null(strstr(finding.evidence, "90 % of the warps' latency"));
    assert_true(fabs(finding.gain - 0.9 * 0.8) < 1e-9);
}

// --- gains and directions -------------------------------------------------------------------------------------------

static void a_gain_is_bounded(void **state) {
    (void)state;
    st_profile_view view = waiting("long_scoreboard", 0.9, 0.1);
    st_finding finding;
    assert_true(says(&view, "long_scoreboard", &finding));
    assert_true(fabs(finding.gain - 0.6) < 1e-9); // 40 % of the memory's speed are reached
    assert_non_null(strstr(finding.gain_source, "GPA"));
    view.device.read_gbs = NAN; // without the limit, what waits with nothing issued
    assert_true(says(&view, "long_scoreboard", &finding));
    assert_true(fabs(finding.gain - 0.9) < 1e-9);
    view = waiting("wait", 0.9, 0.1);
    assert_true(says(&view, "wait", &finding));
    assert_true(fabs(finding.gain - 0.9) < 1e-9);
}

// No reason can save more than what is left to the memory's limit; the pull of a search is not touched.
static void a_gain_is_capped_by_the_limit(void **state) {
    (void)state;
    st_finding findings[ST_FINDINGS_MOST];
    double pull[ST_ROLE_COUNT], after[ST_ROLE_COUNT];
    st_profile_view view = waiting("wait", 0.9, 0.1);
    size_t count = st_advise(&view, findings);
    assert_true(count > 0 && !findings[0].capped);
    assert_true(fabs(findings[0].gain - 0.9) < 1e-9);
    st_advice_pull(findings, count, pull, NULL);
    st_findings_cap(&view, findings, count);
    assert_true(findings[0].capped);
    assert_true(fabs(findings[0].gain - 0.6) < 1e-9); // 40 % of the memory's speed are reached
    st_advice_pull(findings, st_advise(&view, findings), after, NULL);
    assert_memory_equal(pull, after, sizeof pull);
    view.device.read_gbs = NAN; // without a limit nothing is lowered
    count = st_advise(&view, findings);
    st_findings_cap(&view, findings, count);
    assert_true(!findings[0].capped && fabs(findings[0].gain - 0.9) < 1e-9);
    view.device.read_gbs = 100; // faster than the limit: nothing is left, never less than nothing
    count = st_advise(&view, findings);
    st_findings_cap(&view, findings, count);
    for (size_t i = 0; i < count; i++)
        assert_true(isnan(findings[i].gain) || findings[i].gain == 0);
}

static void severity_goes_by_the_share(void **state) {
    (void)state;
    st_finding finding;
    st_profile_view view = waiting("barrier", 0.25, 0.3);
    assert_true(says(&view, "barrier", &finding));
    assert_int_equal(finding.severity, ST_GRAVITY_MINOR);
    view = waiting("barrier", 0.35, 0.3);
    assert_true(says(&view, "barrier", &finding));
    assert_int_equal(finding.severity, ST_GRAVITY_MAJOR);
}

static void full_occupancy_is_not_raised(void **state) {
    (void)state;
    st_finding finding;
    st_profile_view view = waiting("long_scoreboard", 0.8, 0.1);
    assert_true(says(&view, "long_scoreboard", &finding));
    assert_int_equal(finding.move_count, 2);
    view.occupancy = 1;
    assert_true(says(&view, "long_scoreboard", &finding));
    assert_int_equal(finding.move_count, 1);
    assert_int_equal(finding.moves[0].role, ST_ROLE_MLP);
    assert_int_equal(finding.moves[0].direction, 1);
}

static void findings_are_one_pull(void **state) {
    (void)state;
    double pull[ST_ROLE_COUNT], unordered[ST_ROLE_COUNT];
    st_finding findings[ST_FINDINGS_MOST];
    st_profile_view view = waiting("wait", 0.8, 0.2);
    st_advice_pull(findings, st_advise(&view, findings), pull, unordered);
    assert_true(pull[0] > 0.5); // ilp
    assert_true(pull[1] == 0 && pull[3] == 0);
    view = waiting("barrier", 0.5, 0.2);
    st_advice_pull(findings, st_advise(&view, findings), pull, unordered);
    assert_true(unordered[3] > 0.5 && pull[3] == 0); // sync: to another value
    view = waiting("not_selected", 0.5, 0.9);        // nothing pulls in what is fine
    st_advice_pull(findings, st_advise(&view, findings), pull, NULL);
    assert_true(pull[2] == 0);
    st_advice_pull(NULL, 0, pull, unordered);
    for (size_t r = 0; r < ST_ROLE_COUNT; r++)
        assert_true(pull[r] == 0 && unordered[r] == 0);
    view = waiting("wait", 0.8, 0.2);
    size_t count = st_advise(&view, findings);
    findings[0].gain = 50; // whatever comes in, a pull stays within -1 … 1
    st_advice_pull(findings, count, pull, unordered);
    assert_true(pull[0] == 1);
}

static void roles_have_names(void **state) {
    (void)state;
    static const char *const names[] = {"ilp", "mlp", "tlp", "sync", "smem", "work", "regs"};
    for (size_t r = 0; r < ST_ROLE_COUNT; r++) {
        assert_string_equal(st_role_name((st_role)(1u << r)), names[r]);
        for (int direction = -1; direction <= 1; direction++)
            assert_true(st_move_words((st_move){(st_role)(1u << r), direction})[0] != '\0');
    }
    assert_string_equal(st_role_name((st_role)0), "");
    assert_string_equal(st_move_words((st_move){(st_role)0, 1}), "");
}

static void the_gravest_comes_first(void **state) {
    (void)state;
    st_finding findings[ST_FINDINGS_MOST];
    st_profile_view view;
    st_view_init(&view);
    st_view_counter(&view, "pc", "stall.long_scoreboard", 0.35);
    st_view_counter(&view, "pc", "stall_not_issued.long_scoreboard", 0.3);
    st_view_counter(&view, "pc", "stall.wait", 0.31);
    st_view_counter(&view, "pc", "stall_not_issued.wait", 0.31);
    st_view_counter(&view, "pc", "stall.barrier", 0.22);
    st_view_counter(&view, "pc", "stall_not_issued.barrier", 0.2);
    st_view_counter(&view, "pc", "stall.not_selected", 0.12);
    assert_int_equal(st_advise(&view, findings), 4);
    assert_string_equal(findings[0].rule, "wait");
    assert_string_equal(findings[1].rule, "long_scoreboard");
    assert_string_equal(findings[2].rule, "barrier");
    assert_string_equal(findings[3].rule, "not_selected");
}

// --- the check list ---------------------------------------------------------------------------------------------------

// Sets a counter, expects the rule, sets it back, expects silence.
static void turns_on(st_profile_view *view, const char *counter, double on, double off, const char *rule) {
    st_view_counter(view, "range", counter, on);
    if (!says(view, rule, NULL))
        fail_msg("%s is silent at %s %g", rule, counter, on);
    st_view_counter(view, "range", counter, off);
    if (says(view, rule, NULL))
        fail_msg("%s speaks at %s %g", rule, counter, off);
}

static void counters_speak_for_themselves(void **state) {
    (void)state;
    st_profile_view view = waiting("short_scoreboard", 0.5, 0.4);
    st_view_counter(&view, "range", "shared_wavefronts", 1000);
    turns_on(&view, "shared_load_conflicts", 300, 20, "bank_conflicts");
    turns_on(&view, "shared_store_conflicts", 300, 20, "bank_conflicts");
    st_view_counter(&view, "range", "instructions", 1e6);
    turns_on(&view, "special_instructions", 2e5, 1e4, "special_functions");
    turns_on(&view, "threads_per_instruction", 12, 31, "divergence");
    turns_on(&view, "threads_not_predicated", 12, 31, "divergence");
    turns_on(&view, "load_sectors_per_request", 32, 16, "uncoalesced");
    turns_on(&view, "store_sectors_per_request", 20, 4, "uncoalesced");
    turns_on(&view, "sm_busy", 0.5, 0.95, "tail_effect");
    st_view_counter(&view, "range", "local_stores", 0);
    turns_on(&view, "local_loads", 1e5, 10, "spills");
    st_view_counter(&view, "range", "dram_bytes_written", 1e8);
    turns_on(&view, "dram_bytes_read", 7e8, 3e8, "extra_traffic");
    view = waiting("membar", 0.5, 0.4);
    st_view_counter(&view, "range", "instructions", 1e6);
    turns_on(&view, "global_atomics", 5e4, 5, "atomics");
    turns_on(&view, "global_reductions", 5e4, 5, "atomics");
}

static void conflicts_that_nobody_waits_for_are_minor(void **state) {
    (void)state;
    st_finding finding;
    st_profile_view view = waiting("long_scoreboard", 0.8, 0.1);
    st_view_counter(&view, "range", "shared_wavefronts", 1000);
    st_view_counter(&view, "range", "shared_load_conflicts", 500);
    assert_true(says(&view, "bank_conflicts", &finding));
    assert_int_equal(finding.severity, ST_GRAVITY_MINOR);
    assert_true(finding.gain == 0);
}

static void the_compiler_s_facts_speak(void **state) {
    (void)state;
    st_finding finding;
    st_profile_view view = waiting("long_scoreboard", 0.6, 0.2);
    view.registers = 255;
    view.local_bytes = 120;
    assert_true(says(&view, "spills", &finding));
    assert_int_equal(finding.severity, ST_GRAVITY_MINOR); // how often it is used is not known
    assert_non_null(strstr(finding.evidence, "120 bytes of local memory a thread, 255 registers"));
    st_view_counter(&view, "range", "instructions", 1e6);
    st_view_counter(&view, "range", "local_loads", 2e4);
    assert_true(says(&view, "spills", &finding));
    assert_int_equal(finding.severity, ST_GRAVITY_MAJOR);
    assert_non_null(strstr(finding.evidence, "2.0 for 100 instructions"));
    st_view_counter(&view, "range", "local_loads", 0); // set aside, and never used
    assert_false(says(&view, "spills", NULL));
    view = waiting("long_scoreboard", 0.6, 0.2);
    view.local_bytes = 0;
    assert_false(says(&view, "spills", NULL));

    assert_false(says(&view, "low_occupancy", NULL));
    view.occupancy = 0.25;
    view.registers = 120;
    view.device.threads_per_sm = 2048;
    view.device.registers_per_sm = 65536;
    assert_true(says(&view, "low_occupancy", &finding));
    assert_non_null(strstr(finding.evidence, "what is short: registers"));
    assert_int_equal(finding.move_count, 2);
    view.registers = 32; // then it is something else, and a launch bound does not help
    view.blocks_per_sm = 2;
    view.static_smem = 100e3;
    view.device.smem_per_sm = 228 << 10;
    assert_true(says(&view, "low_occupancy", &finding));
    assert_non_null(strstr(finding.evidence, "what is short: shared memory"));
    assert_int_equal(finding.move_count, 1);
    view = waiting("barrier", 0.6, 0.2); // few warps that do not wait for latency are no finding
    view.occupancy = 0.25;
    assert_false(says(&view, "low_occupancy", NULL));
}

static void a_pipe_at_its_peak_is_fine(void **state) {
    (void)state;
    st_finding finding;
    st_profile_view view = waiting("math_pipe_throttle", 0.5, 0.9); // busy schedulers do not silence this one
    assert_true(says(&view, "math_pipe_throttle", &finding));
    assert_int_equal(finding.severity, ST_GRAVITY_MAJOR);
    st_view_counter(&view, "range", "sm_throughput", 0.95);
    assert_true(says(&view, "math_pipe_throttle", &finding));
    assert_int_equal(finding.severity, ST_GRAVITY_FINE);
    assert_non_null(strstr(finding.evidence, "95 % of its peak"));
    assert_true(isnan(finding.gain) && !finding.gain_source);
}

static void a_short_kernel_is_told_as_such(void **state) {
    (void)state;
    st_finding finding;
    st_profile_view view = waiting("long_scoreboard", 0.5, 0.1);
    st_view_counter(&view, "range", "sm_busy", 0.3);
    assert_true(says(&view, "tail_effect", &finding));
    assert_int_equal(finding.severity, ST_GRAVITY_MAJOR);
    view.ns = 4000;
    view.bytes = 1e5;
    assert_true(says(&view, "tail_effect", &finding));
    assert_int_equal(finding.severity, ST_GRAVITY_MINOR);
    assert_non_null(strstr(finding.evidence, "4.0 µs"));
}

// --- lines ------------------------------------------------------------------------------------------------------------

static void the_line_that_waits_most_is_the_focus(void **state) {
    (void)state;
    const char *json =
        "[{\"file\":\"a.cu\",\"line\":7,\"samples\":50,\"stall\":\"barrier\",\"function\":\"f\",\"pc\":16},"
        "{\"file\":\"a.cu\",\"line\":9,\"samples\":30,\"stall\":\"wait\"},"
        "{\"file\":\"a.cu\",\"line\":11,\"samples\":20,\"stall\":\"wait\"}]";
    st_error error = {0};
    st_line_sample *lines = NULL;
    size_t count = 0;
    assert_int_equal(st_stall_lines_parse(json, &lines, &count, &error), ST_OK);
    assert_int_equal(count, 3);
    assert_int_equal(lines[0].pc_offset, 16);
    assert_string_equal(lines[0].function, "f");
    st_profile_view view = waiting("wait", 0.6, 0.2);
    st_finding finding;
    view.lines = lines;
    view.line_count = count;
    assert_true(says(&view, "wait", &finding));
    assert_ptr_equal(finding.focus, &lines[1]);
    view.line_count = 1;
    assert_true(says(&view, "wait", &finding));
    assert_null(finding.focus);
    st_free(lines);
}

static void lines_from_anyone_are_not_trusted(void **state) {
    (void)state;
    static const char *const refused[] = {"{}", "7", "[", "[{]", "null x"};
    st_error error = {0};
    st_line_sample *lines = NULL;
    size_t count = 9;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_int_not_equal(st_stall_lines_parse(refused[i], &lines, &count, &error), ST_OK);
        assert_true(!lines && !count && error.what[0]);
    }
    assert_int_equal(st_stall_lines_parse(NULL, &lines, &count, &error), ST_OK);
    assert_int_equal(st_stall_lines_parse("", &lines, &count, &error), ST_OK);
    assert_int_equal(st_stall_lines_parse("[]", &lines, &count, &error), ST_OK);
    assert_true(!lines && !count);
    const char *odd = "[7, {\"line\":-4,\"samples\":\"x\",\"stall\":\"no such\",\"file\":3,\"pc\":99999999999},"
                      "{\"line\":99999999999,\"stall\":\"\"}]";
    assert_int_equal(st_stall_lines_parse(odd, &lines, &count, &error), ST_OK);
    assert_int_equal(count, 3);
    for (size_t i = 0; i < count; i++)
        assert_true(lines[i].main_stall == -1 && lines[i].line == 0 && lines[i].samples == 0 && !lines[i].file[0]);
    st_free(lines);
}

// --- words ------------------------------------------------------------------------------------------------------------

static void every_meaning_of_a_name_is_found(void **state) {
    (void)state;
    int found[ST_VIEW_STALLS];
    assert_int_equal(st_stall_all("execution_dependency", found), 2);
    assert_int_equal(found[0], stall("wait"));
    assert_int_equal(found[1], stall("short_scoreboard"));
    assert_int_equal(st_stall_all("stall_memory_throttle", found), 2);
    assert_int_equal(found[1], stall("drain"));
    assert_int_equal(st_stall_all("synchronization", found), 2);
    assert_int_equal(found[1], stall("membar"));
    assert_int_equal(st_stall_all("pipe_busy", found), 2);
    assert_int_equal(st_stall_all("smsp__pcsamp_warps_issue_stalled_warpgroup_arrive", found), 1);
    assert_int_equal(found[0], stall("gmma"));
    assert_int_equal(st_stall_all("wait", found), 1);
    assert_int_equal(st_stall_all("nonsense", found), 0);
    assert_int_equal(st_stall_all("", found), 0);
}

static void what_articles_claim_is_corrected(void **state) {
    (void)state;
    size_t count = 0;
    st_stalls(&count);
    static const char *const corrected[] = {"short_scoreboard", "wait", "not_selected"};
    for (size_t i = 0; i < sizeof corrected / sizeof *corrected; i++) {
        const st_stall_words *words = st_stall_words_of(stall(corrected[i]));
        assert_true(words && words->claim && words->correction);
        assert_string_equal(words->name, corrected[i]);
    }
    assert_null(st_stall_words_of(stall("misc")));
    assert_null(st_stall_words_of(-1));
    assert_null(st_stall_words_of((int)count));
}

// Evidence that does not fit is left out whole, however odd the numbers.
static void odd_values_do_no_harm(void **state) {
    (void)state;
    static const double odd[] = {1e300, -1e300, 0, -5, 1e-300};
    size_t metrics = 0;
    const st_metric *table = st_metrics(&metrics);
    for (size_t o = 0; o < sizeof odd / sizeof *odd; o++) {
        st_profile_view view = waiting("long_scoreboard", 0.9, 0.1);
        st_finding findings[ST_FINDINGS_MOST];
        for (size_t m = 0; m < metrics; m++)
            st_view_counter(&view, "range", table[m].name, odd[o]);
        view.registers = view.local_bytes = view.occupancy = odd[o];
        size_t count = st_advise(&view, findings);
        for (size_t i = 0; i < count; i++) {
            assert_true(strlen(findings[i].evidence) < sizeof findings[i].evidence);
            assert_true(isnan(findings[i].gain) || findings[i].gain >= 0);
        }
    }
}

int main(void) {
    st_json_setup();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_filled),
        cmocka_unit_test(every_reason_has_its_rule),
        cmocka_unit_test(every_rule_is_documented),
        cmocka_unit_test(nothing_known_says_nothing),
        cmocka_unit_test(a_share_above_its_gate_speaks),
        cmocka_unit_test(busy_schedulers_silence_what_waits),
        cmocka_unit_test(at_the_limit_it_is_left_alone),
        cmocka_unit_test(without_the_issue_activity_no_wait_is_told),
        cmocka_unit_test(a_gain_is_bounded),
        cmocka_unit_test(a_gain_is_capped_by_the_limit),
        cmocka_unit_test(severity_goes_by_the_share),
        cmocka_unit_test(full_occupancy_is_not_raised),
        cmocka_unit_test(findings_are_one_pull),
        cmocka_unit_test(roles_have_names),
        cmocka_unit_test(the_gravest_comes_first),
        cmocka_unit_test(counters_speak_for_themselves),
        cmocka_unit_test(conflicts_that_nobody_waits_for_are_minor),
        cmocka_unit_test(the_compiler_s_facts_speak),
        cmocka_unit_test(a_pipe_at_its_peak_is_fine),
        cmocka_unit_test(a_short_kernel_is_told_as_such),
        cmocka_unit_test(the_line_that_waits_most_is_the_focus),
        cmocka_unit_test(lines_from_anyone_are_not_trusted),
        cmocka_unit_test(every_meaning_of_a_name_is_found),
        cmocka_unit_test(what_articles_claim_is_corrected),
        cmocka_unit_test(odd_values_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
