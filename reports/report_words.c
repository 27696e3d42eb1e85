// SPDX-License-Identifier: Apache-2.0
// Words that every form of the report uses. To add an outcome: a row here and in report.h.
#include "reports/report.h"

#include "reports/format.h"

#include <math.h>
#include <string.h>

const char *st_report_cache_name(int cache)
{
    return cache == ST_REPORT_WARM ? "warm" : "cold";
}

int st_report_cache_find(const char *name)
{
    return strcmp(name, "cold") == 0 ? ST_REPORT_COLD : strcmp(name, "warm") == 0 ? ST_REPORT_WARM : -1;
}

// --- outcomes --------------------------------------------------------------------------------------------------------

static const struct {
    const char *name, *meaning;
    bool is_failure;
} outcomes[ST_REPORTED_OUTCOMES] = {
    [ST_REPORTED_CORRECT] = {"correct", "verified, and so timed", false},
    [ST_REPORTED_WRONG] = {"wrong", "gave a wrong result", true},
    [ST_REPORTED_RACE] = {"race", "gave different results from run to run where the same were promised", true},
    [ST_REPORTED_COMPILE] = {"compile", "did not compile", true},
    [ST_REPORTED_LAUNCH] = {"launch", "the launch was refused or failed", true},
    [ST_REPORTED_CRASH] = {"crash", "took its process or context down", true},
    [ST_REPORTED_TIMEOUT] = {"timeout", "did not end within the time limit", true},
    [ST_REPORTED_CONSTRAINT] = {"constraint", "does not fit the device, known after compiling", false},
    [ST_REPORTED_SKIPPED] = {"skipped", "was not tried", false},
    [ST_REPORTED_OTHER] = {"other", "an outcome that this version does not know", true},
};

const char *st_reported_outcome_name(st_reported_outcome outcome)
{
    return outcomes[outcome].name;
}

const char *st_reported_outcome_meaning(st_reported_outcome outcome)
{
    return outcomes[outcome].meaning;
}

bool st_reported_outcome_is_failure(st_reported_outcome outcome)
{
    return outcomes[outcome].is_failure;
}

// --- trust -----------------------------------------------------------------------------------------------------------

const char *st_reported_level_word(st_reported_level level)
{
    static const char *const words[] = {"doubt", "look", "fine", "unknown"};
    return words[level];
}

st_reported_level st_report_trust(const st_reported_session *session)
{
    return session->doubt_count ? session->doubts[0].level : ST_REPORTED_GREY;
}

// --- sentences -------------------------------------------------------------------------------------------------------

// "1.031" where the interval is narrow about 1, else as many digits as tell.
static void add_ratio(st_text *out, double ratio, st_interval interval)
{
    bool narrow = isfinite(interval.low) && isfinite(interval.high) && interval.high - interval.low < 0.02;
    int digits = narrow && ratio < 1.2 ? 3 : ratio < 10 ? 2 : 1;
    st_text_addf(out, "%.*f", digits, ratio);
}

static void add_gain(const st_reported_result *result, st_text *out)
{
    st_interval speedup = result->speedup;
    if (result->winner == result->standard)
        st_text_add(out, "the default itself is the fastest");
    else if (result->standard < 0 || !isfinite(speedup.centre))
        st_text_add(out, "the default has no time to compare with");
    else if (isfinite(speedup.low) && speedup.low <= 1 && speedup.high >= 1)
        st_text_add(out, "cannot be told from the default");
    else {
        st_text_add(out, "runs ");
        add_ratio(out, speedup.centre, speedup);
        st_text_add(out, " × as fast as the default");
        if (isfinite(speedup.low) && isfinite(speedup.high)) {
            st_text_add(out, " (95 % interval ");
            add_ratio(out, speedup.low, speedup);
            st_text_add(out, " to ");
            add_ratio(out, speedup.high, speedup);
            st_text_add(out, ")");
        }
    }
}

void st_report_verdict(const st_reported_session *session, const st_reported_problem *problem, int cache, st_text *out)
{
    const st_reported_result *result = &problem->results[cache];
    st_text_addf(out, "%s (", session->session.family);
    st_report_problem(out, problem->text);
    st_text_addf(out, ", %s cache) ", st_report_cache_name(cache));
    if (result->winner < 0) {
        st_text_add(out, result->measured ? "has times but no winner: the run did not get to its finals"
                                          : "has no valid configuration that was measured");
        return;
    }
    add_gain(result, out);
    if (result->winner != result->standard && isfinite(result->standard_ns)) {
        st_text_add(out, ": ");
        st_report_time(out, result->standard_ns);
        st_text_add(out, " → ");
        st_report_time(out, result->winner_ns);
    }
    if (result->tied > 1)
        st_text_addf(out, "; %d configurations tie for the first place", result->tied);
}

void st_report_waits_on(const st_reported_profile *profile, st_text *out)
{
    if (!profile || !profile->any)
        return;
    double dram = st_reported_counter_of(profile, "dram_throughput");
    if (profile->main_wait >= 0) {
        const st_reported_wait *wait = &profile->waits[profile->main_wait];
        size_t count;
        const st_stall *table = st_stalls(&count);
        st_text_addf(out, "its warps wait for %s (%s, ", wait->stall >= 0 ? table[wait->stall].waits_for : wait->name,
                     wait->name);
        st_report_share(out, st_reported_wait_share(profile, wait));
        st_text_addf(out, " of %s)", profile->is_sampled ? "samples" : "warp latency");
    } else if (profile->wait_count)
        st_text_add(out, "its warps issue whenever they were looked at");
    if (isfinite(dram)) {
        st_text_add(out, profile->wait_count ? "; device memory runs at " : "device memory runs at ");
        st_report_share(out, dram);
        st_text_add(out, " of its peak");
    }
}

void st_report_change(const st_reported_session *session, const st_reported_change *change, st_text *out)
{
    st_text_addf(out, "%s %s → %s", session->parameters[change->parameter].name, change->from[0] ? change->from : "-",
                 change->to[0] ? change->to : "-");
}
