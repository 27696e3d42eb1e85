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

void st_report_trust_words(const st_reported_session *session, st_text *out)
{
    static const char *const summaries[] = {"No: read the first line.", "Yes, with what is marked in mind.",
                                            "Yes: nothing speaks against it.",
                                            "Nothing is known that speaks for or against it."};
    st_reported_level worst = st_report_trust(session);
    size_t unknown = 0;
    for (size_t i = 0; i < session->doubt_count; i++)
        unknown += session->doubts[i].level == ST_REPORTED_GREY;
    st_text_add(out, summaries[worst]);
    if (unknown && worst != ST_REPORTED_GREY)
        st_text_addf(out, unknown == 1 ? " 1 thing is not known." : " %zu things are not known.", unknown);
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

void st_report_limit(const st_reported_session *session, const st_reported_result *result, st_text *out)
{
    if (!isfinite(result->limit_gbs))
        return;
    double copied = fmin(1, 2 * result->written); // of the bytes: what is read and written back is two of a copy
    if (copied < 0.05) {
        st_text_add(out, "the fastest plain read that simtune measured here");
        return;
    }
    if (copied > 0.95) {
        st_text_add(out, "the fastest plain copy that simtune measured here");
        return;
    }
    st_text_add(out, "between the fastest plain read (");
    st_report_speed(out, session->read_gbs);
    st_text_add(out, ") and the fastest plain copy (");
    st_report_speed(out, session->copy_gbs);
    st_text_add(out, ") that simtune measured here, for ");
    st_report_share(out, result->written);
    st_text_add(out, " of bytes written");
}

// --- phases ----------------------------------------------------------------------------------------------------------

static const char *const in_phase[ST_PHASES] = {"the screen", "the first halving", "the later halvings", "the finals"};

static void add_before_winner(const st_reported_problem *problem, int cache, st_text *out)
{
    const st_reported_result *result = &problem->results[cache];
    size_t count = 0;
    double most = 0;
    for (size_t i = 0; i < problem->count && result->winner >= 0; i++) {
        const st_reported_time *time = &problem->candidates[i].times[cache];
        if (time->phase == 'f' || !(time->comparable_ns < result->winner_ns))
            continue;
        count++;
        most = fmax(most, result->winner_ns / time->comparable_ns - 1);
    }
    if (!count)
        return;
    st_text_addf(out, "%s%zu that came to no final stand%s before the winner, by up to ", out->length ? " " : "", count,
                 count == 1 ? "s" : "");
    st_text_addf(out, "%.2g %%: an estimate out of few samples; the finals have the last word.", 100 * most);
}

void st_report_scale(const st_reported_problem *problem, int cache, st_text *out)
{
    static const double tells = 0.002; // of the time of the fastest
    const st_reported_result *result = &problem->results[cache];
    const st_phase_scale *scale = &result->scale;
    size_t told = 0;
    for (int phase = 0; phase < scale->to; phase++) {
        double longer = scale->longer_ns[phase];
        if (!(fabs(longer) > tells * result->fastest_ns))
            continue;
        if (!told)
            st_text_addf(out, "Times are those of %s%s; to what was timed in ", in_phase[scale->to],
                         scale->to == ST_PHASE_FINALS ? ", where candidates take turns" : "");
        st_text_addf(out, "%s%s ", told ? ", in " : "", in_phase[phase]);
        st_text_add(out, longer < 0 ? "−" : "+");
        st_report_time(out, fabs(longer));
        told++;
    }
    if (told)
        st_text_add(out, " is added: the median of what those took longer that came on.");
    add_before_winner(problem, cache, out);
}

void st_report_phase(const st_reported_time *time, const st_phase_scale *scale, st_text *out)
{
    int phase = st_phase_last(&time->phases);
    if (phase < 0 || phase >= scale->to)
        return;
    st_text_addf(out, " in %s (about ", in_phase[phase]);
    st_report_time(out, time->comparable_ns);
    st_text_addf(out, " in %s)", in_phase[scale->to]);
}

static bool differs(const st_reported_problem *problem, const st_reported_step *step, size_t parameter)
{
    return problem->candidates[step->before].values[parameter] != problem->candidates[step->after].values[parameter];
}

bool st_report_is_let_go(const st_reported_problem *problem, int cache, const st_reported_step *step, size_t parameter)
{
    const st_reported_candidate *all = problem->candidates;
    const st_reported_result *result = &problem->results[cache];
    uint16_t standard = all[result->standard].values[parameter];
    return differs(problem, step, parameter) && all[step->before].values[parameter] == standard &&
           all[result->winner].values[parameter] != standard;
}

void st_report_step(const st_reported_session *session, const st_reported_problem *problem, int cache,
                    const st_reported_step *step, st_text *out)
{
    size_t told = 0, let_go = 0;
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < session->parameter_count; i++) {
            const st_reported_parameter *one = &session->parameters[i];
            bool is_let_go = st_report_is_let_go(problem, cache, step, i);
            if (!differs(problem, step, i) || is_let_go != (round == 0))
                continue;
            uint16_t before = problem->candidates[step->before].values[i], after = problem->candidates[step->after].values[i];
            st_text_addf(out, "%s%s %s → %s", !told ? "" : round == 1 && told == let_go ? "; with it " : ", ", one->name,
                         before == ST_REPORT_NO_VALUE ? "-" : one->values[before],
                         after == ST_REPORT_NO_VALUE ? "-" : one->values[after]);
            let_go += is_let_go;
            told++;
        }
}

bool st_report_step_is_told(const st_reported_result *result, size_t step, size_t most)
{
    size_t before = 0;
    for (size_t i = 0; i < result->step_count; i++)
        before += result->steps[i].gain > result->steps[step].gain ||
                  (result->steps[i].gain == result->steps[step].gain && i < step);
    return result->steps[step].gain >= ST_REPORT_GAIN_TELLS && before < most;
}
