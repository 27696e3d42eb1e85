// SPDX-License-Identifier: Apache-2.0
// Whether a session can be trusted: each thing that may spoil a measurement, with its figures. Invariants: 1. red comes
// first, then what is worth a look, what is fine, and what the store does not know; 2. a doubt has a level for a stated
// reason, never by taste; 3. what the store does not know is grey and says so.
// To add a doubt: a function that adds one, and its row in `questions`.
#include "reports/report_internal.h"

#include "reports/format.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct asking {
    st_reported_session *session;
    st_text words;
    bool failed;
} asking;

// Takes the words that were put together.
static void add(asking *at, st_reported_level level, const char *about)
{
    st_reported_doubt *made = REPORT_ADD(at->session->doubts, at->session->doubt_count, at->session->doubt_capacity);
    if (made) {
        made->level = level;
        made->about = about;
        made->words = at->words.failed ? NULL : st_strdup(st_text_string(&at->words));
    }
    at->failed = at->failed || !made || !made->words;
    st_text_clear(&at->words);
}

static double fact(const asking *at, const char *name)
{
    return at->session->facts ? st_json_number_or_nan(at->session->facts, name) : NAN;
}

static bool is_hardware(const asking *at)
{
    return st_backend_is_hardware(at->session->backend);
}

// --- the run ---------------------------------------------------------------------------------------------------------

static void ask_backend(asking *at)
{
    if (is_hardware(at))
        return;
    bool is_emulated = strcmp(at->session->backend, "emu") == 0;
    st_text_add(&at->words, is_emulated ? "measured on the emulated device: its outcomes count, its times mean nothing"
                                        : "nothing here was measured by simtune on hardware: ");
    if (!is_emulated)
        st_text_addf(&at->words, "the rows are \"%s\"", at->session->backend);
    add(at, ST_REPORTED_RED, "device");
}

static void ask_status(asking *at)
{
    if (at->session->session.status == ST_SESSION_FINISHED)
        return;
    st_text_add(&at->words, at->session->session.status == ST_SESSION_RUNNING
                                ? "the session has not ended: this is what it has so far"
                                : "the session was interrupted: what it did not get to is missing");
    add(at, ST_REPORTED_AMBER, "session");
}

static void ask_explored(asking *at)
{
    double allowed = fact(at, "allowed");
    size_t tried = at->session->candidate_count - at->session->outcomes[ST_REPORTED_SKIPPED], cold = 0, warm = 0;
    for (size_t p = 0; p < at->session->count; p++) {
        cold += at->session->problems[p].results[ST_REPORT_COLD].measured;
        warm += at->session->problems[p].results[ST_REPORT_WARM].measured;
    }
    const char *strategy = json_string_value(json_object_get(at->session->options, "strategy"));
    bool known = isfinite(allowed) && allowed >= (double)tried && allowed > 0;
    st_text_addf(&at->words, "%zu configuration%s tried on %zu problem%s", tried, tried == 1 ? " was" : "s were",
                 at->session->count, st_plural((int64_t)at->session->count));
    if (known) {
        st_text_addf(&at->words, " of %.0f that are allowed, ", allowed);
        st_report_share(&at->words, (double)tried / allowed);
    }
    if (strategy)
        st_text_addf(&at->words, " (strategy %s)", strategy);
    if (warm && warm < cold)
        st_text_addf(&at->words, "; %zu were timed with a cold cache, and %zu of those with a warm one too, as only what came on is",
                     cold, warm);
    if (!known)
        st_text_add(&at->words, "; how many are allowed is not stored");
    add(at, known ? ST_REPORTED_GREEN : ST_REPORTED_GREY, "explored");
}

static void ask_counters(asking *at)
{
    const char *state = json_string_value(json_object_get(at->session->facts, "counters"));
    size_t with = 0, winners = 0;
    for (size_t p = 0; p < at->session->count; p++)
        for (int cache = 0; cache < ST_REPORT_CACHES; cache++) {
            const st_reported_profile *profile = at->session->problems[p].results[cache].winner_profile;
            winners += profile != NULL;
            with += profile && profile->any;
        }
    if (!winners)
        return;
    if (with == winners) {
        st_text_addf(&at->words, "stall samples and counters are there for %s, taken with a cold cache",
                     with == 1 ? "the winner" : "every winner");
        add(at, ST_REPORTED_GREEN, "counters");
        return;
    }
    if (with)
        st_text_addf(&at->words, "%zu of %zu winners have counters", with, winners);
    else
        st_text_add(&at->words, "there are no counters, so why the winner is faster cannot be told from waits");
    if (state && strcmp(state, "allowed") != 0)
        st_text_addf(&at->words, " (%s; simtune doctor says what helps)", state);
    add(at, ST_REPORTED_AMBER, "counters");
}

// --- the machine -----------------------------------------------------------------------------------------------------

static void ask_clocks(asking *at)
{
    const st_reported_observed *seen = &at->session->observed;
    if (!at->session->measured_count || !is_hardware(at))
        return;
    if (seen->clock_low <= 0) {
        st_text_add(&at->words, "the clocks were not recorded");
        add(at, ST_REPORTED_GREY, "clocks");
        return;
    }
    double span = (double)(seen->clock_high - seen->clock_low) / seen->clock_high;
    if (seen->clock_low == seen->clock_high)
        st_text_addf(&at->words, "the SMs ran at %d MHz throughout", seen->clock_low);
    else {
        st_text_addf(&at->words, "the SMs ran at %d to %d MHz, a span of ", seen->clock_low, seen->clock_high);
        st_report_share(&at->words, span);
    }
    if (seen->memory_clock_low > 0 && seen->memory_clock_low == seen->memory_clock_high)
        st_text_addf(&at->words, ", memory at %d MHz", seen->memory_clock_low);
    else if (seen->memory_clock_low > 0)
        st_text_addf(&at->words, ", memory at %d to %d MHz", seen->memory_clock_low, seen->memory_clock_high);
    if (seen->temperature_high > 0)
        st_text_addf(&at->words, ", at most %d °C", seen->temperature_high);
    add(at, span > 0.10 ? ST_REPORTED_RED : span > 0.02 ? ST_REPORTED_AMBER : ST_REPORTED_GREEN, "clocks");
}

static void ask_throttling(asking *at)
{
    double throttled = fact(at, "throttled_samples");
    int64_t dropped = at->session->observed.dropped;
    double count = isfinite(throttled) ? throttled : dropped >= 0 ? (double)dropped : NAN;
    if (!at->session->measured_count || !is_hardware(at))
        return;
    if (isnan(count)) {
        st_text_add(&at->words, "throttling was not recorded");
        add(at, ST_REPORTED_GREY, "throttling");
    } else if (count == 0) {
        st_text_add(&at->words, "no sample was taken while the device throttled");
        add(at, ST_REPORTED_GREEN, "throttling");
    } else {
        st_text_addf(&at->words, "%.0f samples were taken while the device throttled; they were dropped", count);
        add(at, ST_REPORTED_AMBER, "throttling");
    }
}

static void ask_others(asking *at)
{
    double others = fact(at, "other_processes");
    if (!is_hardware(at))
        return;
    if (isnan(others)) {
        st_text_add(&at->words, "whether others used the device was not recorded");
        add(at, ST_REPORTED_GREY, "others");
        return;
    }
    if (others > 0)
        st_text_addf(&at->words, "%.0f other process%s used the device", others, others == 1 ? "" : "es");
    else
        st_text_add(&at->words, "no other process used the device");
    add(at, others > 0 ? ST_REPORTED_AMBER : ST_REPORTED_GREEN, "others");
}

// --- the figures -----------------------------------------------------------------------------------------------------

static void ask_noise(asking *at)
{
    double worst = NAN, widest = NAN;
    const char *where = "";
    for (size_t p = 0; p < at->session->count; p++)
        for (int cache = 0; cache < ST_REPORT_CACHES; cache++) {
            const st_reported_result *result = &at->session->problems[p].results[cache];
            const st_reported_samples *samples = &result->winner_samples;
            st_interval speedup = result->speedup;
            double half = (speedup.high - speedup.low) / 2 / speedup.centre;
            double scatter =
                samples->count ? st_mad(samples->ns, samples->count) / st_median(samples->ns, samples->count) : NAN;
            worst = scatter <= worst ? worst : isnan(scatter) ? worst : scatter;
            if (isfinite(half) && !(half <= widest)) {
                widest = half;
                where = at->session->problems[p].text;
            }
        }
    if (isnan(widest) || !is_hardware(at))
        return;
    st_text_add(&at->words, "the 95 % interval of a speedup is ±");
    st_report_share(&at->words, widest);
    st_text_add(&at->words, " at most");
    if (at->session->count > 1) {
        st_text_add(&at->words, " (");
        st_report_problem(&at->words, where);
        st_text_add(&at->words, ")");
    }
    if (isfinite(worst)) {
        st_text_add(&at->words, "; single samples of a winner scatter about their median by up to ");
        st_report_share(&at->words, worst);
    }
    add(at, widest > 0.10 ? ST_REPORTED_RED : widest > 0.03 ? ST_REPORTED_AMBER : ST_REPORTED_GREEN, "noise");
}

static void ask_verification(asking *at)
{
    const size_t *counts = at->session->outcomes;
    size_t wrong = counts[ST_REPORTED_WRONG] + counts[ST_REPORTED_RACE], failed = 0;
    for (int i = 0; i < ST_REPORTED_OUTCOMES; i++)
        if (st_reported_outcome_is_failure((st_reported_outcome)i))
            failed += counts[i];
    st_text_add(&at->words, "every configuration with a time gave the right result first");
    if (wrong)
        st_text_addf(&at->words, "; %zu gave a wrong one and %s left out", wrong, wrong == 1 ? "was" : "were");
    if (failed > wrong)
        st_text_addf(&at->words, "; %zu failed otherwise", failed - wrong);
    if (!wrong && failed == wrong)
        st_text_add(&at->words, "; none failed");
    add(at, failed ? ST_REPORTED_AMBER : ST_REPORTED_GREEN, "verification");
}

static void ask_ties(asking *at)
{
    size_t ties = 0, winners = 0, missing = 0;
    for (size_t p = 0; p < at->session->count; p++)
        for (int cache = 0; cache < ST_REPORT_CACHES; cache++) {
            const st_reported_result *result = &at->session->problems[p].results[cache];
            winners += result->winner >= 0;
            ties += result->winner >= 0 && result->tied > 1;
            missing += result->winner >= 0 && result->standard < 0;
        }
    if (missing) {
        st_text_addf(&at->words, "%zu of %zu winners have no default to compare with", missing, winners);
        add(at, ST_REPORTED_AMBER, "default");
    }
    if (!winners)
        return;
    if (ties)
        st_text_addf(&at->words,
                     "%zu of %zu winners%s tie with others: the gain over the default stands, which of the tied "
                     "is fastest cannot be told",
                     ties, winners, winners > at->session->count ? " (of each problem one with a cold and one with a warm cache)"
                                                                  : "");
    else
        st_text_addf(&at->words, winners == 1 ? "the winner is clear" : "all %zu winners are clear", winners);
    add(at, ST_REPORTED_GREEN, "ties");
}

// More than the memory was measured to move.
static void ask_limit(asking *at)
{
    size_t beyond = 0;
    double most = 0;
    for (size_t p = 0; p < at->session->count; p++) {
        double share = at->session->problems[p].results[ST_REPORT_COLD].limit_share;
        beyond += share > 1.03;
        most = share > most ? share : most;
    }
    if (!beyond || !is_hardware(at))
        return;
    st_text_addf(&at->words, "%zu winner%s, cold, %s faster than the fastest plain read or copy that was measured (",
                 beyond, beyond == 1 ? "" : "s", beyond == 1 ? "is" : "are");
    st_report_share(&at->words, most);
    st_text_add(&at->words, " of it): that was no better, or what is written last is still in the cache when a run ends");
    add(at, ST_REPORTED_AMBER, "limit");
}

static void ask_versions(asking *at)
{
    const st_reported_session *session = at->session;
    st_text_addf(&at->words, "driver %s, %s, simtune %s, template %.12s",
                 session->driver[0] ? session->driver : "unknown",
                 session->compiler[0] ? session->compiler : "compiler unknown",
                 session->tool[0] ? session->tool : "unknown", session->template_hash);
    bool known = session->driver[0] && session->compiler[0] && session->tool[0];
    add(at, known ? ST_REPORTED_GREEN : ST_REPORTED_GREY, "versions");
}

static void (*const questions[])(asking *at) = {ask_backend, ask_status,   ask_clocks,   ask_throttling,
                                                ask_others,  ask_noise,    ask_limit,    ask_verification,
                                                ask_ties,    ask_explored, ask_counters, ask_versions};

// Stable: doubts of a level keep their order.
static void sort_by_level(st_reported_doubt *doubts, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t j = i; j > 0 && doubts[j].level < doubts[j - 1].level; j--) {
            st_reported_doubt swapped = doubts[j];
            doubts[j] = doubts[j - 1];
            doubts[j - 1] = swapped;
        }
}

st_code report_trust(st_reported_session *session, st_error *error)
{
    asking at = {.session = session};
    st_text_init(&at.words);
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        questions[i](&at);
    st_text_release(&at.words);
    sort_by_level(session->doubts, session->doubt_count);
    return at.failed ? st_fail_memory(error, "weighing a session") : ST_OK;
}
