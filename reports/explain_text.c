// SPDX-License-Identifier: Apache-2.0
// An explanation in a terminal. Invariants: 1. a figure says what it is a share of; 2. what is estimated is called so,
// with where the formula comes from at the end; 3. no line is wider than the width, except for a word that is; 4. colour
// repeats what a word says.
#include "reports/explain_internal.h"

#include "reports/format.h"
#include "tuner/base/clock.h"

#include <math.h>
#include <string.h>

enum { USUAL = 80, LABEL = 14, WAITS_MOST = 8, LINES_MOST = 5, BAR = 20 };

typedef struct page {
    const st_explained *all;
    const st_explain_options *options;
    int width;
    st_text *out;
    const char *sources[ST_FINDINGS_MOST]; // of estimates, each once
    size_t source_count;
} page;

static void add_row(page *to, const char *label, st_text *words)
{
    st_report_row(to->out, label, LABEL, st_text_string(words), to->width);
    to->out->failed = to->out->failed || words->failed;
    st_text_clear(words);
}

static void add_styled(const page *to, const char *style, const char *words)
{
    if (to->options->colour)
        st_text_addf(to->out, "\033[%sm%s\033[0m", style, words);
    else
        st_text_add(to->out, words);
}

static void add_title(const page *to, const char *words)
{
    st_text_add(to->out, "\n");
    add_styled(to, "1", words);
    st_text_add(to->out, "\n");
}

// --- head ---------------------------------------------------------------------------------------------------------------

static bool is_predicted(const page *to)
{
    return strcmp(to->all->session->backend, ST_PREDICTED_BACKEND) == 0;
}

static void add_device(page *to, st_text *words)
{
    const st_reported_session *session = to->all->session;
    char date[ST_DATE_TEXT];
    const char *here = to->options->here ? to->options->here : "";
    st_clock_date(session->session.started_ms, date);
    st_text_addf(words, "%s", session->device_name[0] ? session->device_name : "unknown device");
    if (session->cc > 0 && session->sm_count > 0)
        st_text_addf(words, " (sm_%d, %d SMs)", session->cc, session->sm_count);
    if (is_predicted(to)) {
        const char *note = to->all->result->note ? to->all->result->note : "";
        bool told = st_text_starts(note, ST_PREDICTED_NOTE);
        st_text_addf(words, ", %s; PREDICTED: nothing of it ran, so there are no times and no waits to explain. ", date);
        st_text_addf(words, "It was chosen %s, among what fits by what the compiler says; tune on such a device to know",
                     told ? note + sizeof ST_PREDICTED_NOTE - 1 : "without measuring");
        add_row(to, "chosen for", words);
        return;
    }
    st_text_addf(words, ", driver %s, %s", session->driver[0] ? session->driver : "-", date);
    if (!st_backend_is_hardware(session->backend))
        st_text_addf(words, "; %s: its times and waits mean nothing",
                     strcmp(session->backend, "emu") == 0 ? "EMULATED" : "NOT MEASURED");
    else if (!here[0] || strcmp(here, session->device_uuid) != 0)
        st_text_add(words, here[0] ? "; not the GPU that is here" : "; there is no GPU here");
    add_row(to, "measured on", words);
}

static void add_time(const st_explained *all, const st_explained_one *one, st_text *words)
{
    const st_profile_view *view = &one->profile->view;
    const st_reported_time *time = &all->problem->candidates[one->candidate].times[all->cache];
    if (isnan(one->ns)) {
        st_text_add(words, "not timed");
        return;
    }
    st_report_time(words, one->ns);
    st_report_phase(time, &all->result->scale, words);
    double speed = view->bytes / view->ns, share = st_view_share_of_limit(view);
    if (isfinite(speed)) {
        st_text_add(words, ", ");
        st_report_speed(words, speed);
    }
    if (isfinite(share)) {
        st_text_add(words, ", ");
        st_report_share(words, share);
        st_text_add(words, " of the memory's measured speed");
    }
    if (one->candidate == all->result->winner && st_report_is_at_limit(all->session, all->result, all->cache)) {
        st_text_add(words, "; ");
        st_report_at_limit(all->session, all->result, all->cache, words);
    }
}

static const char *label_of(const st_explained *all, const st_explained_one *one)
{
    bool predicted = strcmp(all->session->backend, ST_PREDICTED_BACKEND) == 0;
    return one == &all->other                        ? "default"
           : one->candidate == all->result->winner   ? (predicted ? "predicted" : "winner")
           : all->result->standard == one->candidate ? "default"
                                                     : "candidate";
}

static void add_one(page *to, const st_explained_one *one, st_text *words)
{
    const st_reported_candidate *candidate = &to->all->problem->candidates[one->candidate];
    st_text_addf(words, "%.12s  %s", candidate->id, candidate->configuration);
    add_row(to, label_of(to->all, one), words);
    const char *why = candidate->detail ? candidate->detail : st_reported_outcome_meaning(candidate->outcome);
    if (candidate->outcome != ST_REPORTED_CORRECT)
        st_text_addf(words, "outcome %s: %.*s", st_reported_outcome_name(candidate->outcome), (int)strcspn(why, "\n"),
                     why);
    else
        add_time(to->all, one, words);
    if (candidate->registers >= 0)
        st_text_addf(words, "; %d registers", candidate->registers);
    if (isfinite(candidate->occupancy)) {
        st_text_add(words, ", occupancy up to ");
        st_report_share(words, candidate->occupancy);
    }
    add_row(to, "", words);
}

static const st_phase_times *phases_of(const st_explained *all, const st_explained_one *one)
{
    return &all->problem->candidates[one->candidate].times[all->cache].phases;
}

static void add_head(page *to, st_text *words)
{
    const st_explained *all = to->all;
    st_text_addf(words, "%s ", all->session->session.family);
    st_report_problem(words, all->problem->text);
    st_text_addf(words, ", %s cache", st_report_cache_name(all->cache));
    add_styled(to, "1", st_text_string(words));
    st_text_add(to->out, "\n");
    st_text_clear(words);
    add_device(to, words);
    add_one(to, &all->one, words);
    if (all->other.candidate < 0)
        return;
    add_one(to, &all->other, words);
    double times = st_phase_ratio(&all->result->scale, phases_of(all, &all->other), phases_of(all, &all->one));
    if (!isfinite(times))
        return;
    if (all->one.candidate == all->result->winner && isfinite(all->result->speedup.centre)) {
        st_report_speedup(words, all->result->speedup.centre, all->result->speedup.low, all->result->speedup.high);
        if (all->result->tied > 1)
            st_text_addf(words, ", %d tie", all->result->tied);
    } else
        st_text_addf(words, "%.2f × %s the default", times, times >= 1 ? "as fast as" : "the speed of");
    add_row(to, "", words);
}

// --- what the warps wait for -----------------------------------------------------------------------------------------------

static const st_reported_wait *wait_of(const st_reported_profile *profile, const char *name)
{
    for (size_t i = 0; profile && i < profile->wait_count; i++)
        if (strcmp(profile->waits[i].name, name) == 0)
            return &profile->waits[i];
    return NULL;
}

static void add_share(st_text *out, const st_reported_profile *profile, const st_reported_wait *wait)
{
    st_text share;
    st_text_init(&share);
    double value = wait ? st_reported_wait_share(profile, wait) : profile && profile->any ? 0 : NAN;
    st_report_share(&share, value);
    explain_bar(out, isnan(value) ? 0 : value, wait ? wait->not_issued : NAN, BAR);
    st_report_right(out, st_text_string(&share), 7);
    out->failed = out->failed || share.failed;
    st_text_release(&share);
}

static void add_wait(page *to, const st_reported_wait *wait)
{
    const st_reported_profile *other = to->all->other.profile;
    st_text_add(to->out, "  ");
    st_report_left(to->out, wait->name, 19);
    add_share(to->out, to->all->one.profile, wait);
    if (other && other->any) {
        st_text_add(to->out, "  ");
        add_share(to->out, other, wait_of(other, wait->name));
    }
    st_text_add(to->out, "\n");
}

static void add_values(page *to, const char *label, const st_explained_one *one, st_text *words)
{
    static const struct {
        const char *name, *words;
        bool share;
    } rows[] = {{"issue_active", "schedulers issue in %s of cycles", true},
                {"latency", "%s cycles from one instruction of a warp to its next", false},
                {"dram_throughput", "device memory at %s of its peak", true},
                {"load_sectors_per_request", "%s sectors of 32 bytes for a load of a warp", false},
                {"store_sectors_per_request", "%s for a store", false},
                {"bank_conflicts", "%s of the passes through shared memory are conflicts", true},
                {"threads_per_instruction", "%s of 32 threads take part in an instruction", false},
                {"sm_busy", "SMs have work in %s of the time", true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        st_validity how;
        double value = st_view_value(&one->profile->view, rows[i].name, &how);
        st_text figure;
        bool usual = (strcmp(rows[i].name, "bank_conflicts") == 0 && value < 0.005) ||
                     (strcmp(rows[i].name, "threads_per_instruction") == 0 && value > 31.5);
        if (isnan(value) || usual)
            continue;
        st_text_init(&figure);
        if (rows[i].share)
            st_report_share(&figure, value);
        else
            st_text_addf(&figure, "%.1f", value);
        const char *place = strstr(rows[i].words, "%s");
        st_text_addf(words, "%s%.*s%s%s", words->length ? "; " : "", (int)(place - rows[i].words), rows[i].words,
                     st_text_string(&figure), place + 2);
        if (how != ST_VALID_EXACT)
            st_text_addf(words, " (%s)", how == ST_VALID_DERIVED ? "by samples" : st_validity_name(how));
        st_text_release(&figure);
    }
    if (words->length)
        add_row(to, label, words);
}

static void add_waits(page *to, st_text *words)
{
    const st_explained *all = to->all;
    const st_reported_profile *profile = all->one.profile, *other = all->other.profile;
    bool two = other && other->any;
    if (is_predicted(to))
        return;
    if (!profile->any) {
        st_text_addf(words, "no counters of the %s are stored: run with --counters required, or --profile all",
                     label_of(all, &all->one));
        add_row(to, "", words);
        return;
    }
    if (all->cache == ST_REPORT_WARM) {
        st_text_add(words, "counters and stalls were taken with a cold cache");
        add_row(to, "", words);
    }
    add_title(to, profile->is_sampled ? "what the warps wait for, share of all samples"
                                      : "what the warps wait for, share of their latency");
    if (two) {
        st_text_add(to->out, "  ");
        st_report_left(to->out, "", 19);
        st_report_left(to->out, label_of(all, &all->one), BAR + 9);
        st_text_addf(to->out, "%s\n", label_of(all, &all->other));
    }
    size_t told = 0;
    for (size_t i = 0; i < profile->wait_count && told < WAITS_MOST; i++) {
        double here = st_reported_wait_share(profile, &profile->waits[i]);
        const st_reported_wait *there = wait_of(other, profile->waits[i].name);
        if (!(here >= 0.01) && !(there && st_reported_wait_share(other, there) >= 0.05))
            continue;
        add_wait(to, &profile->waits[i]);
        told++;
    }
    if (profile->is_sampled)
        st_text_add(to->out, "  █ while nothing is issued, ░ while another warp issues\n");
    add_values(to, label_of(all, &all->one), &all->one, words);
    if (two)
        add_values(to, "default", &all->other, words);
    if (profile->total_samples < ST_SAMPLES_FEW) {
        st_text_addf(words, "only %.0f samples: an indication", profile->total_samples);
        add_row(to, "", words);
    }
}

// --- findings --------------------------------------------------------------------------------------------------------------

static void keep_source(page *to, const char *source)
{
    for (size_t i = 0; i < to->source_count; i++)
        if (strcmp(to->sources[i], source) == 0)
            return;
    if (to->source_count < ST_FINDINGS_MOST)
        to->sources[to->source_count++] = source;
}

static size_t number_of_source(const page *to, const char *source)
{
    size_t i = 0;
    while (i < to->source_count && strcmp(to->sources[i], source) != 0)
        i++;
    return i + 1;
}

static void add_focus(page *to, const st_reported_profile *profile, const st_line_sample *focus, st_text *words)
{
    double total = profile->total_samples;
    if (!focus || focus->line <= 0)
        return;
    const char *file = st_text_file_name(focus->file);
    st_text_addf(words, "%s:%d (SASS 0x%llx)", file, focus->line, (unsigned long long)focus->pc_offset);
    if (total > 0) {
        st_text_add(words, ", ");
        st_report_share(words, (double)focus->samples / total);
        st_text_add(words, " of samples at one instruction");
    }
    st_text_add(words, ": ");
    if (!explain_source_line(to->all->session, file, focus->line, words))
        st_text_add(words, "(source not stored)");
    add_row(to, "  line", words);
}

static void add_brought(page *to, const st_explained_one *one, size_t finding, st_text *words)
{
    bool first = true;
    for (size_t i = 0; i < one->brought_count; i++) {
        const st_brought *brought = &one->brought[i];
        if (brought->finding != (int)finding)
            continue;
        st_text_addf(words, "%s %s → %s: ", to->all->session->parameters[brought->parameter].name, brought->from,
                     brought->to);
        if (fabs(brought->times - 1) < 0.005)
            st_text_add(words, "the same time");
        else if (brought->times > 1)
            st_text_addf(words, "%.2f × as fast", brought->times);
        else
            st_text_addf(words, "%.2f × the time", 1 / brought->times);
        st_text_addf(words, "%s (%.12s)", brought->alone ? "" : ", other parameters changed as well",
                     to->all->problem->candidates[brought->candidate].id);
        if (brought->times < 0.8 * brought->promised) {
            st_text_addf(words, "; articles promise %.3g ×.", brought->promised);
            explain_why_less(&one->profile->view, &brought->view, brought->from, brought->to, words);
        }
        add_row(to, first ? "  measured" : "", words);
        first = false;
    }
}

static void add_finding(page *to, const st_explained_one *one, size_t index, st_text *words)
{
    const st_finding *finding = &one->profile->findings[index];
    static const char *const styles[] = {"32", "33", "31"};
    st_text_add(to->out, "  ");
    add_styled(to, styles[finding->severity], st_gravity_name(finding->severity));
    st_text_addf(to->out, "%*s%s", (int)(LABEL - 2 - strlen(st_gravity_name(finding->severity))), "", finding->title);
    st_text_addf(to->out, "  [%s]\n", finding->rule);
    st_text_add(words, finding->message);
    add_row(to, "", words);
    st_text_add(words, finding->evidence);
    add_row(to, "  evidence", words);
    add_focus(to, one->profile, finding->focus, words);
    st_text_add(words, finding->remedy);
    add_row(to, finding->severity == ST_GRAVITY_FINE ? "  advice" : "  change", words);
    if (!isnan(finding->gain)) {
        keep_source(to, finding->gain_source);
        st_text_add(words, "saves at most ");
        st_report_share(words, finding->gain);
        st_text_addf(words, " of the time [%zu]", number_of_source(to, finding->gain_source));
        add_row(to, "  estimate", words);
    }
    add_brought(to, one, index, words);
}

static void add_findings(page *to, const st_explained_one *one, const char *title, st_text *words)
{
    if (!one->profile || !one->profile->any)
        return;
    add_title(to, title);
    if (!one->profile->finding_count) {
        st_text_add(words, "no rule has anything to say: nothing waits for more than its usual share");
        add_row(to, "", words);
    }
    for (size_t i = 0; i < one->profile->finding_count; i++)
        add_finding(to, one, i, words);
}

// --- lines, changes, commands ------------------------------------------------------------------------------------------------

static void add_lines(page *to, st_text *words)
{
    const st_reported_profile *profile = to->all->one.profile;
    st_text label;
    st_text_init(&label);
    for (size_t i = 0; i < profile->line_count && i < LINES_MOST; i++) {
        const st_reported_line *line = &profile->lines[i];
        if (line->line <= 0)
            continue;
        if (!label.length)
            add_title(to, "lines that wait");
        st_text_clear(&label);
        st_text_add(&label, "  ");
        st_report_share(&label, line->share);
        st_text_addf(words, "%s:%d waits for %s: ", line->file, line->line,
                     line->stall_name[0] ? line->stall_name : "-");
        if (!explain_source_line(to->all->session, line->file, line->line, words))
            st_text_add(words, "(source not stored)");
        add_row(to, st_text_string(&label), words);
    }
    to->out->failed = to->out->failed || label.failed;
    st_text_release(&label);
}

// What made it faster: each gain with all that is credited together. A prediction measured none, and has only
// its changes.
static void add_changes(page *to, st_text *words)
{
    const st_explained *all = to->all;
    const st_reported_result *result = all->result;
    if (all->one.candidate != result->winner || all->other.candidate < 0 || !result->change_count)
        return;
    add_title(to, is_predicted(to) ? "what the prediction changes" : "what the winner changed");
    for (size_t i = 0; i < result->credit_count; i++) {
        st_text_addf(words, "%.2f ×: ", result->credits[i].gain);
        st_report_credit(all->session, all->problem, all->cache, i, words);
        st_report_credit_how(result, i, " (", ")", words);
        add_row(to, "", words);
    }
    for (size_t i = 0; i < result->change_count && !result->step_count; i++) {
        st_report_change(all->session, &result->changes[i], words);
        add_row(to, "", words);
    }
}

static void add_commands(page *to, st_text *words)
{
    const st_explained *all = to->all;
    const st_reported_profile *profile = all->one.profile;
    const char *id = all->problem->candidates[all->one.candidate].id;
    int main = st_view_main_stall(&profile->view);
    size_t count;
    const st_stall *stalls = st_stalls(&count);
    add_title(to, "the same in Nsight Compute, on such a device");
    st_text_addf(to->out, "  simtune repro %.12s -o repro.cu\n", id);
    st_text_addf(to->out, "  nvcc -std=c++11 -O3 -lineinfo -arch=sm_%d repro.cu -o repro\n", all->session->cc);
    st_text_add(to->out, "  ncu --section WarpStateStats --section SourceCounters --import-source yes");
    if (explain_hottest_kernel(profile, words))
        st_text_addf(to->out, " \\\n      -k 'regex:%s'", st_text_string(words));
    st_text_clear(words);
    if (main >= 0 && stalls[main].range_name)
        st_text_addf(to->out, " \\\n      --metrics smsp__average_warps_issue_stalled_%s_per_issue_active.ratio",
                     stalls[main].range_name);
    st_text_add(to->out, " \\\n      ./repro\n");
}

static void add_sources(page *to, st_text *words)
{
    if (!to->source_count)
        return;
    add_title(to, "estimates");
    for (size_t i = 0; i < to->source_count; i++) {
        st_text_addf(words, "[%zu] %s", i + 1, to->sources[i]);
        add_row(to, "", words);
    }
}

st_code st_explain_text(const st_explained *explained, const st_explain_options *options, st_text *out,
                        st_error *error)
{
    page to = {.all = explained, .options = options, .width = options->width ? options->width : USUAL, .out = out};
    const st_explained_one *other = &explained->other;
    st_text words, title;
    st_text_init(&words);
    st_text_init(&title);
    add_head(&to, &words);
    add_waits(&to, &words);
    st_text_addf(&title, "findings on the %s", label_of(explained, &explained->one));
    add_findings(&to, &explained->one, st_text_string(&title), &words);
    if (other->candidate >= 0 && explained->one.candidate == explained->result->winner)
        add_findings(&to, other, "findings on the default: what there was to gain", &words);
    add_lines(&to, &words);
    add_changes(&to, &words);
    add_commands(&to, &words);
    add_sources(&to, &words);
    bool failed = words.failed || title.failed || out->failed;
    st_text_release(&title);
    st_text_release(&words);
    return failed ? st_fail_memory(error, "explaining a candidate") : ST_OK;
}
