// SPDX-License-Identifier: Apache-2.0
// From values to findings.
//
// Invariants:
//  1. A gate whose value is unknown does not hold, so its rule says nothing.
//  2. At the memory's limit no rule speaks but those that say so (at_limit_too).
//  3. A gain is an estimate and an upper bound: what would be saved if the reason were gone. It is never more than the
//     cycles without an instruction, nor, for what the memory bounds, than what is missing to its measured speed.
//  4. The order is by severity, gain, then the table's.
#include "cupti/advice_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *st_gravity_name(st_gravity severity) {
    static const char *const names[] = {"fine", "minor", "major"};
    return names[severity];
}

const st_rule *st_rule_find(const char *id) {
    size_t count = 0;
    const st_rule *rules = st_rules(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(rules[i].id, id) == 0)
            return &rules[i];
    return NULL;
}

// --- evidence ---------------------------------------------------------------------------------------------------

void st_evidence(st_finding *finding, const char *format, ...) {
    char part[sizeof finding->evidence];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(part, sizeof part, format, arguments);
    va_end(arguments);
    size_t used = strlen(finding->evidence), between = used ? 2 : 0;
    if (length < 0 || used + between + (size_t)length >= sizeof finding->evidence)
        return;
    memcpy(finding->evidence + used, "; ", between);
    memcpy(finding->evidence + used + between, part, (size_t)length + 1);
}

double st_idle_share(const st_profile_view *view, int stall) {
    if (stall < 0)
        return NAN;
    if (!isnan(view->not_issued[stall]))
        return view->not_issued[stall];
    return view->share[stall] * (1 - st_view_value(view, "issue_active", NULL));
}

void st_drop_move(st_finding *finding, st_role role) {
    size_t kept = 0;
    for (size_t i = 0; i < finding->move_count; i++)
        if (finding->moves[i].role != role)
            finding->moves[kept++] = finding->moves[i];
    finding->move_count = kept;
}

static void add_stall_evidence(const st_profile_view *view, st_finding *finding) {
    double share = view->share[finding->stall], idle = st_idle_share(view, finding->stall);
    double latency = st_view_value(view, "latency", NULL), issue = st_view_value(view, "issue_active", NULL);
    if (view->sampled && !isnan(idle))
        st_evidence(finding, "%.0f %% of samples wait for it, %.0f %% while nothing is issued", 100 * share,
                    100 * idle);
    else
        st_evidence(finding, "%.0f %% of the warps' latency", 100 * share);
    if (!isnan(latency))
        st_evidence(finding, "%.1f of the %.1f cycles from one instruction of a warp to its next", share * latency,
                    latency);
    if (!isnan(issue))
        st_evidence(finding, "the schedulers issue in %.0f %% of cycles", 100 * issue);
    double speed = st_view_share_of_limit(view);
    if (speed >= 0.05) // less says that it is not about the memory
        st_evidence(finding, "%.0f %% of the memory's measured speed", 100 * speed);
}

// --- one rule -----------------------------------------------------------------------------------------------------

static int stall_of(const st_rule *rule) {
    size_t count = 0;
    const st_stall *table = st_stalls(&count);
    for (size_t i = 0; rule->stall && i < count; i++)
        if (strcmp(table[i].name, rule->stall) == 0)
            return (int)i;
    return -1;
}

// Invariants 1 and 2.
static bool gates_hold(const st_rule *rule, const st_profile_view *view, int stall) {
    if (st_view_at_limit(view) && !rule->at_limit_too)
        return false;
    if (rule->least_share > 0 && (stall < 0 || !(view->share[stall] >= rule->least_share)))
        return false;
    return rule->most_issue <= 0 || st_view_value(view, "issue_active", NULL) < rule->most_issue;
}

static const st_line_sample *line_of(const st_profile_view *view, int stall) {
    for (size_t i = 0; i < view->line_count && stall >= 0; i++) // most samples first
        if (view->lines[i].main_stall == stall)
            return &view->lines[i];
    return NULL;
}

static bool apply(const st_rule *rule, const st_profile_view *view, st_finding *out) {
    int stall = stall_of(rule);
    if (!gates_hold(rule, view, stall))
        return false;
    *out = (st_finding){.rule = rule->id,
                        .severity = rule->severity,
                        .stall = stall,
                        .title = rule->title,
                        .message = rule->message,
                        .remedy = rule->remedy,
                        .gain = NAN,
                        .move_count = rule->move_count,
                        .focus = line_of(view, stall)};
    memcpy(out->moves, rule->moves, sizeof out->moves);
    if (stall >= 0) {
        add_stall_evidence(view, out);
        out->gain = rule->gain_source ? st_idle_share(view, stall) : NAN;
        if (out->severity == ST_GRAVITY_MAJOR && !(view->share[stall] >= ST_SHARE_MUCH))
            out->severity = ST_GRAVITY_MINOR;
    }
    if (rule->holds && !rule->holds(view, out))
        return false;
    if (!isnan(out->gain))
        out->gain = fmin(fmax(out->gain, 0), 1);
    out->gain_source = isnan(out->gain) ? NULL : rule->gain_source;
    return true;
}

static bool comes_before(const st_finding *a, const st_finding *b) {
    double gain_a = isnan(a->gain) ? -1 : a->gain, gain_b = isnan(b->gain) ? -1 : b->gain;
    return a->severity != b->severity ? a->severity > b->severity : gain_a > gain_b;
}

size_t st_advise(const st_profile_view *view, st_finding out[ST_FINDINGS_MOST]) {
    size_t rule_count = 0, count = 0;
    const st_rule *rules = st_rules(&rule_count);
    for (size_t i = 0; i < rule_count && count < ST_FINDINGS_MOST; i++) {
        st_finding made;
        if (!apply(&rules[i], view, &made))
            continue;
        size_t at = count++;
        for (; at > 0 && comes_before(&made, &out[at - 1]); at--)
            out[at] = out[at - 1];
        out[at] = made;
    }
    return count;
}

void st_findings_cap(const st_profile_view *view, st_finding *findings, size_t count) {
    double share = st_view_share_of_limit(view), left = share < 1 ? 1 - share : 0;
    for (size_t i = 0; i < count && !isnan(share); i++)
        if (findings[i].gain > left) {
            findings[i].gain = left;
            findings[i].capped = true;
        }
}

// --- directions -----------------------------------------------------------------------------------------------------

static size_t bit_of(st_role role) {
    size_t bit = 0;
    while (bit < ST_ROLE_COUNT && !((unsigned)role & (1u << bit)))
        bit++;
    return bit;
}

static double clamp(double value) {
    return value > 1 ? 1 : value < -1 ? -1 : value;
}

void st_advice_pull(const st_finding *findings, size_t count, double pull[ST_ROLE_COUNT],
                    double unordered[ST_ROLE_COUNT]) {
    static const double of_severity[] = {0, 0.5, 1};
    for (size_t r = 0; r < ST_ROLE_COUNT; r++) {
        pull[r] = 0;
        if (unordered)
            unordered[r] = 0;
    }
    for (size_t i = 0; i < count; i++) {
        double weight = (isnan(findings[i].gain) ? 0.1 : findings[i].gain) * of_severity[findings[i].severity];
        for (size_t m = 0; m < findings[i].move_count; m++) {
            size_t bit = bit_of(findings[i].moves[m].role);
            int direction = findings[i].moves[m].direction;
            if (bit >= ST_ROLE_COUNT)
                continue;
            if (direction)
                pull[bit] = clamp(pull[bit] + direction * weight);
            else if (unordered)
                unordered[bit] = clamp(unordered[bit] + weight);
        }
    }
}

const char *st_role_name(st_role role) {
    static const char *const names[ST_ROLE_COUNT] = {"ilp", "mlp", "tlp", "sync", "smem", "work", "regs"};
    size_t bit = bit_of(role);
    return bit < ST_ROLE_COUNT ? names[bit] : "";
}

const char *st_move_words(st_move move) {
    // fewer, another, more
    static const char *const words[ST_ROLE_COUNT][3] = {
        {"fewer independent instructions in a thread", "another number of independent instructions in a thread",
         "more independent instructions in a thread"},
        {"fewer loads in flight for each thread", "another kind or width of loads",
         "more or wider loads in flight for each thread"},
        {"fewer resident warps", "another number of resident warps", "more resident warps"},
        {"less synchronisation", "another way of coming together", "more synchronisation"},
        {"less use of shared memory", "another use of shared memory", "more use of shared memory"},
        {"less work for each block", "another split of the work", "more work for each block"},
        {"more registers for each thread (promise fewer blocks)", "another launch bound",
         "fewer registers for each thread (promise more blocks)"}};
    size_t bit = bit_of(move.role);
    return bit < ST_ROLE_COUNT ? words[bit][move.direction < 0 ? 0 : move.direction > 0 ? 2 : 1] : "";
}
