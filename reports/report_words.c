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
    if (result->note && st_text_starts(result->note, ST_PREDICTED_NOTE))
        st_text_add(out, "is PREDICTED, not measured, so nothing tells how it compares with the default");
    else if (result->winner == result->standard)
        st_text_add(out, "the default itself is the fastest");
    else if (result->standard < 0 || !isfinite(speedup.centre))
        st_text_add(out, "cannot be compared with the default, which has no time");
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

bool st_report_is_at_limit(const st_reported_session *session, const st_reported_result *result, int cache)
{
    static const double near = 0.95;
    bool in_cache = cache == ST_REPORT_WARM && !(result->bytes > 4.0 * (double)session->l2_bytes);
    return result->winner >= 0 && result->limit_share >= near && !in_cache;
}

void st_report_at_limit(const st_reported_session *session, const st_reported_result *result, int cache, st_text *out)
{
    if (!st_report_is_at_limit(session, result, cache))
        return;
    st_text_add(out, "at the memory's limit: ");
    if (result->limit_share >= 1) {
        st_text_add(out, "nothing is left of what was measured of it");
        return;
    }
    st_text_add(out, "at most ");
    st_report_share(out, 1 - result->limit_share);
    st_text_add(out, " is left");
}

void st_report_now(const st_reported_session *session, const st_reported_problem *problem, int cache, st_text *out)
{
    const st_reported_result *result = &problem->results[cache];
    const st_reported_profile *profile = result->winner_profile;
    size_t before = out->length;
    st_report_at_limit(session, result, cache, out);
    if (!profile || !profile->any)
        return;
    st_text_add(out, out->length > before ? "; " : "");
    st_report_waits_on(profile, out);
    if (cache == ST_REPORT_WARM && out->length > before)
        st_text_add(out, " (counters and stalls were taken with a cold cache)");
}

void st_report_tie(const st_reported_result *result, st_text *out)
{
    if (result->note && !(result->tied > 1 && !st_text_starts(result->note, ST_PREDICTED_NOTE)))
        st_text_add(out, result->note);
    else if (result->tied > 1)
        st_text_addf(out, "%d configurations tie; of those within 0.5 %% of the fastest the simplest was taken: by registers of "
                          "the kernel that needs most, then by nearness to the default, then by time", result->tied);
}

// The end of a word of a command; quotes hold blanks.
static size_t word_length(const char *at)
{
    size_t length = 0;
    for (char quote = 0; at[length] && (quote || at[length] != ' '); length++)
        if (at[length] == quote)
            quote = 0;
        else if (!quote && (at[length] == '\'' || at[length] == '"'))
            quote = at[length];
    return length;
}

static bool is_word(const char *at, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(at, word, length) == 0;
}

void st_report_command(const st_reported_session *session, st_text *out)
{
    static const char *const files[] = {"--db", "--output", "-o"};
    const char *at = session->session.command ? session->session.command : "", *family = session->session.family;
    size_t begin = out->length;
    for (size_t length; at += strspn(at, " "), *at; at += length) {
        size_t name = strcspn(at, "= "), i = 0;
        length = word_length(at);
        while (i < sizeof files / sizeof *files && !is_word(at, name < length ? name : length, files[i]))
            i++;
        if (i < sizeof files / sizeof *files) {
            if (name >= length) { // its value is the next word
                at += length;
                at += strspn(at, " ");
                length = word_length(at);
            }
            continue;
        }
        st_text_add(out, out->length > begin ? " " : "");
        size_t tail = strlen(family) + 3, place = strlen("/templates/");
        const char *end = at + length - (length > tail + place ? tail : 0);
        if (length > tail + place && strncmp(end - place, "/templates/", place) == 0 &&
            strncmp(end, family, tail - 3) == 0 && strncmp(end + tail - 3, ".cu", 3) == 0)
            st_text_add(out, family);
        else
            st_text_add_bytes(out, at, length);
    }
}

static bool is_common(const st_reported_session *session, const char *pair, size_t name_length, size_t length)
{
    for (size_t p = 0; p < session->count; p++) {
        size_t here;
        const char *value = st_report_value_of(session->problems[p].text, pair, name_length, &here);
        if (!value || here != length - name_length - 1 || strncmp(value, pair + name_length + 1, here) != 0)
            return false;
    }
    return true;
}

void st_report_problem_part(const st_reported_session *session, const char *problem, bool varying, st_text *out)
{
    size_t name_length, length;
    st_text part;
    st_text_init(&part);
    for (const char *pair; (pair = st_report_next_pair(&problem, &name_length, &length));)
        if (length > name_length && (session->count == 1 || is_common(session, pair, name_length, length) != varying)) {
            st_text_add(&part, part.length ? " " : "");
            st_text_add_bytes(&part, pair, length);
        }
    st_report_problem(out, st_text_string(&part));
    out->failed = out->failed || part.failed;
    st_text_release(&part);
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
