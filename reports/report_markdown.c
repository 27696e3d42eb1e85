// SPDX-License-Identifier: Apache-2.0
// The report as the comment on a change. Invariants: 1. figures and sentences are the model's (report.h); 2. what
// others wrote ends no cell, no code and no paragraph, and begins no markup; 3. the verdict stands above every table.
#include "reports/report_text.h"

#include "reports/format.h"
#include "tuner/base/clock.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <string.h>

enum { ROWS_OPEN = 6, FINDINGS_MOST = 3 };

// A text of ours that may hold words of others, built aside.
static void take(st_text *out, st_text *words)
{
    st_report_markdown_words(out, st_text_string(words));
    out->failed = out->failed || words->failed;
    st_text_clear(words);
}

// Sentences of the model may lack their point.
static void end_sentence(st_text *words)
{
    char last = words->length ? words->data[words->length - 1] : '.';
    st_text_add(words, last == '.' ? "" : ".");
}

// --- parts ---------------------------------------------------------------------------------------------------------

static void add_head(const st_reported_session *session, int cache, st_text *out)
{
    char date[ST_DATE_TEXT];
    st_text words;
    st_text_init(&words);
    st_text_addf(&words, "%s on %s", session->session.family, session->device_name[0] ? session->device_name : "-");
    st_text_add(out, "### ");
    take(out, &words);
    st_clock_date(session->session.started_ms, date);
    st_text_addf(&words, "session %.12s, %s, %s cache, driver %s, %s, simtune %s", session->session.id, date,
                 st_report_cache_name(cache), session->driver[0] ? session->driver : "-",
                 session->compiler[0] ? session->compiler : "-", session->tool[0] ? session->tool : "-");
    if (strcmp(session->backend, ST_PREDICTED_BACKEND) == 0)
        st_text_add(&words, "; PREDICTED, not measured");
    st_text_add(out, "\n\n<sub>");
    take(out, &words);
    st_text_add(out, "</sub>\n\n");
    st_text_release(&words);
}

static double number_of(int value)
{
    return value < 0 ? NAN : value;
}

static void add_number(double value, const char *format, st_text *out)
{
    st_text words;
    st_text_init(&words);
    if (isfinite(value))
        st_text_addf(&words, format, value);
    st_text_add(out, words.length ? st_text_string(&words) : "-");
    st_text_release(&words);
}

static void add_main_wait(const st_reported_profile *profile, st_text *out)
{
    if (profile->main_wait < 0) {
        st_text_add(out, "-");
        return;
    }
    const st_reported_wait *wait = &profile->waits[profile->main_wait];
    st_report_markdown_code(out, wait->name);
    st_text_add(out, " ");
    st_report_share(out, st_reported_wait_share(profile, wait));
}

typedef struct side { // a column of the table
    const st_reported_candidate *candidate;
    const st_reported_profile *profile;
    double ns;
} side;

// The default beside the winner: one row a fact, "-" for what is not known.
static void add_sides(const st_reported_result *result, const side *sides, size_t count, st_text *out)
{
    static const char *const facts[] = {"time", "speed", "waits for", "registers", "spilled bytes", "occupancy"};
    for (size_t f = 0; f < sizeof facts / sizeof facts[0]; f++) {
        st_text_addf(out, "| %s |", facts[f]);
        for (size_t s = 0; s < count; s++) {
            const side *one = &sides[s];
            st_text_add(out, " ");
            switch (f) {
            case 0: st_report_time(out, one->ns); break;
            case 1: st_report_speed(out, result->bytes / one->ns); break;
            case 2: add_main_wait(one->profile, out); break;
            case 3: add_number(number_of(one->candidate->registers), "%.0f", out); break;
            case 4: add_number(number_of(one->candidate->local_bytes), "%.0f", out); break;
            default: st_report_share(out, one->candidate->occupancy); break;
            }
            st_text_add(out, " |");
        }
        st_text_add(out, "\n");
    }
}

static void add_table(const st_reported_problem *problem, int cache, st_text *out)
{
    const st_reported_result *result = &problem->results[cache];
    side sides[2];
    size_t count = 0;
    if (result->standard >= 0 && result->standard != result->winner)
        sides[count++] = (side){&problem->candidates[result->standard], result->standard_profile, result->standard_ns};
    sides[count++] = (side){&problem->candidates[result->winner], result->winner_profile, result->winner_ns};
    st_text_add(out, count == 2 ? "| | default | winner |\n|---|---:|---:|\n" : "| | winner |\n|---|---:|\n");
    add_sides(result, sides, count, out);
    st_text_add(out, "\n");
}

// What made it faster: each gain with all that is credited together.
static void add_credits(const st_reported_session *session, const st_reported_problem *problem, int cache, st_text *out)
{
    const st_reported_result *result = &problem->results[cache];
    st_text words;
    st_text_init(&words);
    for (size_t i = 0; i < result->credit_count; i++) {
        st_report_credit(session, problem, cache, i, &words);
        st_text_addf(out, "- %.2f × ", result->credits[i].gain);
        st_report_markdown_code(out, st_text_string(&words));
        st_text_clear(&words);
        st_report_credit_how(result, i, ", ", "", out);
        st_text_add(out, "\n");
    }
    if (result->credit_count)
        st_text_add(out, "\n");
    st_text_release(&words);
}

static void add_trust(const st_reported_session *session, st_text *out)
{
    st_text_addf(out, "**Trust: %s.**", st_reported_level_word(st_report_trust(session)));
    for (size_t i = 0; i < session->doubt_count; i++) {
        const st_reported_doubt *doubt = &session->doubts[i];
        if (doubt->level != ST_REPORTED_RED && doubt->level != ST_REPORTED_AMBER)
            continue;
        st_text_addf(out, "\n- %s: ", st_reported_level_word(doubt->level));
        st_report_markdown_words(out, doubt->words);
    }
    st_text_add(out, "\n\n");
}

static void add_findings(const st_reported_profile *profile, st_text *out)
{
    for (size_t i = 0; i < profile->finding_count && i < FINDINGS_MOST; i++) {
        const st_finding *finding = &profile->findings[i];
        st_text_addf(out, "- **%s** (", st_gravity_name(finding->severity));
        st_report_markdown_code(out, finding->rule);
        st_text_add(out, "): ");
        st_report_markdown_words(out, finding->title);
        st_text_add(out, ". ");
        st_report_markdown_words(out, finding->remedy);
        st_text_add(out, " <sub>");
        st_report_markdown_words(out, finding->evidence);
        st_text_add(out, "</sub>");
        if (finding->focus && finding->focus->line > 0) {
            st_text_addf(out, " (line %d of ", finding->focus->line);
            st_report_markdown_code(out, st_text_file_name(finding->focus->file));
            st_text_add(out, ")");
        }
        st_text_add(out, "\n");
    }
    if (profile->finding_count)
        st_text_add(out, "\n");
}

// All sizes; a long table is folded.
static void add_sizes(const st_reported_session *session, int cache, st_text *out)
{
    st_text words;
    if (session->count < 2)
        return;
    st_text_init(&words);
    bool folded = session->count > ROWS_OPEN;
    if (folded)
        st_text_addf(out, "<details><summary>all %zu problems</summary>\n\n", session->count);
    st_text_add(out, "| problem | time | × the default | of the memory's speed | configuration |\n"
                     "|---|---:|---:|---:|---|\n");
    for (size_t p = 0; p < session->count; p++) {
        const st_reported_problem *problem = &session->problems[p];
        const st_reported_result *result = &problem->results[cache];
        st_report_problem(&words, problem->text);
        st_text_add(out, "| ");
        take(out, &words);
        st_text_add(out, " | ");
        st_report_time(out, result->winner_ns);
        st_text_add(out, " | ");
        add_number(result->speedup.centre, "%.2f", out);
        st_text_add(out, " | ");
        st_report_share(out, result->limit_share);
        st_text_add(out, " | ");
        if (result->winner >= 0)
            st_report_markdown_code(out, problem->candidates[result->winner].configuration);
        else
            st_text_add(out, "-");
        st_text_add(out, " |\n");
    }
    st_text_add(out, folded ? "\n</details>\n\n" : "\n");
    st_text_release(&words);
}

static void add_failed(const st_reported_session *session, st_text *out)
{
    st_text list;
    st_text_init(&list);
    size_t failed = st_report_failures(session->outcomes, &list);
    if (failed)
        st_text_addf(out, "%zu of %zu configuration%s failed: %s.\n\n", failed, session->candidate_count,
                     st_plural((int64_t)session->candidate_count),
                     st_text_string(&list));
    st_text_release(&list);
}

static void add_command(const st_reported_session *session, st_text *out)
{
    if (!session->session.command || !session->session.command[0])
        return;
    st_text words;
    st_text_init(&words);
    st_report_command(session, &words);
    st_text_add(out, "Reproduce: ");
    st_report_markdown_code(out, st_text_string(&words));
    st_text_add(out, "\n");
    out->failed = out->failed || words.failed;
    st_text_release(&words);
}

static void add_session(const st_reported_session *session, int cache, st_text *out)
{
    st_text words;
    const st_reported_problem *lead = session->lead >= 0 ? &session->problems[session->lead] : NULL;
    st_text_init(&words);
    add_head(session, cache, out);
    if (lead) {
        st_report_verdict(session, lead, cache, &words);
        end_sentence(&words);
        st_text_add(out, "**");
        take(out, &words);
        st_text_add(out, "**");
    } else
        st_text_add(out, "**Nothing was tried.**");
    if (lead && lead->results[cache].winner >= 0) {
        st_report_now(session, lead, cache, &words);
        end_sentence(&words);
        st_text_add(out, words.length ? " Now " : "");
        take(out, &words);
        st_text_add(out, "\n\n");
        st_report_markdown_code(out, lead->candidates[lead->results[cache].winner].configuration);
        st_text_add(out, "\n\n");
        add_table(lead, cache, out);
        add_credits(session, lead, cache, out);
    } else
        st_text_add(out, "\n\n");
    add_trust(session, out);
    if (lead && lead->results[cache].winner >= 0)
        add_findings(lead->results[cache].winner_profile, out);
    add_sizes(session, cache, out);
    add_failed(session, out);
    add_command(session, out);
    st_text_release(&words);
}

// --- several sessions ----------------------------------------------------------------------------------------------

static void add_shared(const st_report *report, const st_report_shared *shared, st_text *out)
{
    st_text words;
    st_text_init(&words);
    st_text_addf(&words, "%s ", shared->family);
    st_report_problem(&words, shared->problem);
    st_text_add(out, "| ");
    take(out, &words);
    st_text_add(out, " |");
    for (size_t s = 0; s < report->count; s++) {
        if (shared->place[s] == SIZE_MAX) {
            st_text_add(out, " - |");
            continue;
        }
        double ns = report->sessions[s].problems[shared->place[s]].results[report->cache].winner_ns;
        st_text_add(out, ns == shared->best_ns ? " **" : " ");
        st_report_time(out, ns);
        if (ns == shared->best_ns)
            st_text_add(out, "** |");
        else
            st_text_addf(out, " (%.2f ×) |", ns / shared->best_ns);
    }
    st_text_add(out, "\n");
    st_text_release(&words);
}

static st_code add_comparison(const st_report *report, st_text *out, st_error *error)
{
    st_report_shared *shared = NULL;
    size_t count = 0;
    st_code code = st_report_shared_find(report, &shared, &count, error);
    if (code != ST_OK)
        return code;
    st_text_add(out, "\n### Side by side\n\n");
    if (!count)
        st_text_add(out, "No two of these sessions have a winner of the same problem.\n");
    else {
        st_text_add(out, "| winner's time |");
        for (size_t s = 0; s < report->count; s++) {
            st_text_add(out, " ");
            st_report_markdown_words(out, report->sessions[s].label);
            st_text_add(out, ", ");
            st_report_markdown_words(out, report->sessions[s].device_name);
            st_text_add(out, " |");
        }
        st_text_add(out, "\n|---|");
        for (size_t s = 0; s < report->count; s++)
            st_text_add(out, "---:|");
        st_text_add(out, "\n");
    }
    for (size_t i = 0; i < count; i++)
        add_shared(report, &shared[i], out);
    st_report_shared_free(shared, count);
    return ST_OK;
}

st_code st_report_markdown(const st_report *report, st_text *out, st_error *error)
{
    st_code code = ST_OK;
    for (size_t s = 0; s < report->count; s++) {
        st_text_add(out, s ? "\n" : "");
        add_session(&report->sessions[s], report->cache, out);
    }
    if (report->count > 1)
        code = add_comparison(report, out, error);
    if (code == ST_OK && out->failed)
        code = st_fail_memory(error, "writing a report");
    return code;
}
