// SPDX-License-Identifier: Apache-2.0
// What people are told of a run while it goes on, and its timeline. Invariant: nothing here decides anything; a run
// without listener and trace does the same.
#include "tuner/base/clock.h"
#include "tuner/run_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void run_note(st_run *run, const char *format, ...)
{
    if (!run->listener || !run->listener->note)
        return;
    char text[1600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    run->listener->note(run->listener->context, text);
}

// --- progress ------------------------------------------------------------------------------------------------

// What a problem takes beside its candidates: halving, finals, their check, the profile. Measured on an H200.
static const double rest_of_a_problem = 1.3;

// At the pace so far, no problem's candidates taking longer than its budget.
static double seconds_left(const st_run *run, const run_problem *now)
{
    size_t done = 0;
    double budget = run->options->budget_seconds, left = 0;
    for (size_t i = 0; i < run->options->problem_count; i++)
        done += run->problems[i].done;
    if (!now || done < run->result->resumed_candidates + 20)
        return NAN;
    double spent = run->screen_seconds + (run->screen_began > 0 ? st_clock_seconds() - run->screen_began : 0);
    double pace = spent / (double)(done - run->result->resumed_candidates);
    for (size_t i = (size_t)(now - run->problems); i < run->options->problem_count; i++) {
        const run_problem *problem = &run->problems[i];
        double screen = pace * (double)(problem->candidate_count - problem->done);
        if (budget > 0 && screen > budget)
            screen = budget;
        if (problem == now && run->screen_began <= 0)
            screen = 0; // its candidates are over
        left += problem->skipped ? 0 : screen + rest_of_a_problem;
    }
    return left;
}

void run_progress(st_run *run, const run_problem *problem, const char *phase, size_t done, size_t total)
{
    if (!run->listener || !run->listener->progress)
        return;
    bool known = problem && run->shown.of == problem;
    st_progress progress = {.phase = phase,
                            .problem = problem ? problem->text : "",
                            .problem_index = problem ? (size_t)(problem - run->problems) : 0,
                            .problem_count = run->options->problem_count,
                            .done = done,
                            .total = total,
                            .best_ns = problem ? problem->best_ns[COLD] : NAN,
                            .failed = problem ? problem->failed : 0,
                            .seconds_left = seconds_left(run, problem),
                            .default_ns = problem ? problem->default_ns : NAN,
                            .outcomes = problem ? problem->outcomes : NULL,
                            .best = known ? run->shown.best : "",
                            .last = known ? run->shown.last : "",
                            .last_outcome = run->shown.last_outcome,
                            .last_ns = known ? run->shown.last_ns : NAN};
    run->listener->progress(run->listener->context, &progress);
}

static size_t failures(const run_problem *problem)
{
    size_t count = 0;
    for (int i = 0; i < ST_OUTCOME_COUNT; i++)
        count += i == ST_OUTCOME_CORRECT ? 0 : problem->outcomes[i];
    return count;
}

static void trace_best(st_run *run, const run_problem *problem)
{
    if (!run->options->trace)
        return;
    st_text name;
    st_text_init(&name);
    st_text_addf(&name, "best so far: %s", problem->text);
    st_trace_value(run->options->trace, st_text_string(&name), "µs", problem->best_ns[COLD] / 1e3);
    st_text_release(&name);
}

void run_finished(st_run *run, run_problem *problem, const run_candidate *candidate, const char *configuration,
                  bool before)
{
    double ns = candidate->series[COLD].median_ns;
    bool right = candidate->outcome == ST_OUTCOME_CORRECT;
    problem->outcomes[ST_OUTCOME_CORRECT] -= before;
    problem->outcomes[candidate->outcome]++;
    snprintf(run->shown.last, sizeof run->shown.last, "%s", configuration);
    run->shown.last_outcome = candidate->outcome;
    run->shown.last_ns = right ? ns : NAN;
    if (right && st_config_equal(run->tmpl, &candidate->config, &problem->standard.config))
        problem->default_ns = ns;
    if (right && ns <= problem->best_ns[COLD]) {
        snprintf(run->shown.best, sizeof run->shown.best, "%s", configuration);
        trace_best(run, problem);
    }
    if (!right)
        st_trace_value(run->options->trace, "failed", "candidates", (double)failures(problem));
}

// --- the timeline --------------------------------------------------------------------------------------------

static void name_candidate(void *context, int64_t id, st_text *out)
{
    const st_run *run = context;
    const run_problem *problem = run->at;
    const run_candidate *candidate = run->checked;
    if (!candidate && problem && (size_t)id < problem->candidate_count)
        candidate = &problem->candidates[id];
    else if (!candidate && problem && (size_t)id == problem->candidate_count)
        candidate = &problem->standard;
    if (candidate)
        st_config_text(run->tmpl, &candidate->config, out);
}

void run_trace_begin(st_run *run)
{
    run->link_trace = (st_link_trace){run->options->trace, run, name_candidate};
    st_trace_title(run->options->trace, run->tmpl->family);
    st_trace_about(run->options->trace, "command", run->options->command);
}

void run_trace_opened(st_run *run)
{
    st_trace *trace = run->options->trace;
    char title[160];
    snprintf(title, sizeof title, "%s on %s", run->tmpl->family, run->device.name);
    st_trace_title(trace, title);
    st_trace_about(trace, "family", run->tmpl->family);
    st_trace_about(trace, "device", run->device.name);
    st_trace_about(trace, "driver", run->device.driver);
    st_trace_about(trace, "compiler", run->compiler);
    st_trace_about(trace, "session", run->result->session_id);
    st_trace_span(trace, ST_TRACE_RUN, "run", "begin", run->started, st_clock_seconds(), NULL, 0);
}

void run_trace_compiled(st_run *run, const run_program *program, const char *what, const st_compiled *compiled)
{
    static const char *const words[] = {"compile", "compile: error", "compile: timeout", "compile: crash"};
    st_trace *trace = run->options->trace;
    if (!trace)
        return;
    st_text first;
    st_text_init(&first);
    if (program && program->class_count)
        st_config_text(run->tmpl, &run->class_configs.configs[program->classes[0]], &first);
    const st_trace_argument arguments[] = {
        {program ? "first configuration" : "what", program ? st_text_string(&first) : what, 0},
        {"configurations", NULL, program ? (double)program->class_count : NAN},
        {"bytes", NULL, compiled->outcome == ST_COMPILED ? (double)compiled->image_bytes : NAN}};
    if (!compiled->from_cache)
        st_trace_span(trace, ST_TRACE_COMPILE + compiled->process, "compile", words[compiled->outcome], compiled->began,
                      compiled->began + compiled->seconds, arguments, 3);
    if (program)
        st_trace_value(trace, "waiting to be compiled", "programs", (double)run->programs_pending);
    st_text_release(&first);
}

st_code run_phase(st_run *run, run_problem *problem, const char *name,
                  st_code (*work)(st_run *run, run_problem *problem, st_error *error), st_error *error)
{
    const run_problem *outer = run->at;
    double began = st_clock_seconds();
    run->at = problem;
    if (!name) {
        run->shown.of = problem;
        run->shown.best[0] = run->shown.last[0] = '\0';
        run->shown.last_ns = NAN;
    }
    st_code code = work(run, problem, error);
    const st_trace_argument of = {"problem", problem->text, 0};
    if (!problem->skipped)
        st_trace_span(run->options->trace, ST_TRACE_RUN, "run", name ? name : problem->text, began, st_clock_seconds(),
                      name ? &of : NULL, name ? 1 : 0);
    run->at = outer;
    return code;
}
