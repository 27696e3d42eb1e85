// SPDX-License-Identifier: Apache-2.0
// Screening in the order of a strategy that looks at what came out. Up to WINDOW configurations are pending: asked for,
// and being compiled or waiting to be measured; after each answer the next one is asked for, so that the compilers work
// while the device does. Invariants: 1. the strategy is told what stands in the store and nothing else, in the order in
// which it came there: a resumed run is told the stored answers again in that order, asks the same after each, and goes
// on where the other one stopped; 2. an answer is stored before it is told, and the stop rules and budgets are looked
// at after each; what is measured and not told when it stops is in the store, what is not compiled is dropped; 3.
// history is what was measured before this session began, and its own problems that are done; 4. a profile is taken
// where the strategy wants one, before the next question, and a resumed run takes none that the other went on without;
// 5. never more are asked for than a budget of configurations allows.
#include "tuner/base/clock.h"
#include "tuner/base/memory.h"
#include "tuner/replay.h"
#include "tuner/run_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// One for each compile process of a usual machine. Not its number: resumed runs must ask alike.
enum { WINDOW = 16 };

// The candidates of a problem as a space to be searched.
typedef struct searched {
    st_search_space space;
    st_search_parameter parameters[ST_MAX_PARAMETERS];
    double *numbers[ST_MAX_PARAMETERS]; // sorted
    char **words[ST_MAX_PARAMETERS];    // as configurations spell them
    uint16_t *values;
    double *expected;                   // history; NULL: none
} searched;

static void release(searched *all)
{
    for (size_t p = 0; p < all->space.parameter_count; p++) {
        for (size_t v = 0; all->words[p] && v < all->parameters[p].value_count; v++)
            st_free(all->words[p][v]);
        st_free(all->words[p]);
        st_free(all->numbers[p]);
    }
    st_free(all->values);
    st_free(all->expected);
}

static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static st_code make_parameter(const st_template *tmpl, size_t p, searched *all, st_error *error)
{
    const st_parameter *of = &tmpl->parameters[p];
    double *numbers = all->numbers[p] = st_malloc(of->value_count * sizeof *numbers);
    char **words = all->words[p] = st_calloc(of->value_count + 1, sizeof *words);
    if (!numbers || !words)
        return st_fail_memory(error, "searching");
    all->parameters[p] = (st_search_parameter){.name = of->name, .roles = of->roles, .values = numbers,
                                               .value_count = of->value_count};
    for (size_t v = 0; v < of->value_count; v++) {
        numbers[v] = (double)of->values[v].number;
        all->parameters[p].is_word = all->parameters[p].is_word || of->values[v].word;
    }
    qsort(numbers, of->value_count, sizeof *numbers, by_number);
    for (size_t v = 0; v < of->value_count; v++) {
        st_text text;
        st_text_init(&text);
        st_parameter_value_text(tmpl, (int)p, (int64_t)numbers[v], &text);
        if (!(words[v] = st_text_take(&text)))
            return st_fail_memory(error, "searching");
    }
    return ST_OK;
}

static st_code make_space(const st_run *run, const run_problem *problem, searched *all, st_error *error)
{
    const st_template *tmpl = run->tmpl;
    size_t parameters = tmpl->parameter_count;
    st_config standard;
    st_code code = ST_OK;
    for (size_t p = 0; p < parameters && code == ST_OK; p++) {
        all->space.parameter_count = p + 1;
        code = make_parameter(tmpl, p, all, error);
    }
    all->values = st_malloc((problem->candidate_count * parameters + 1) * sizeof *all->values);
    if (code == ST_OK && !all->values)
        code = st_fail_memory(error, "searching");
    for (size_t i = 0; i < problem->candidate_count && code == ST_OK; i++)
        for (size_t p = 0; p < parameters; p++) {
            double value = (double)problem->candidates[i].config.value[p];
            const double *found = bsearch(&value, all->numbers[p], all->parameters[p].value_count, sizeof value, by_number);
            all->values[i * parameters + p] = (uint16_t)(found ? found - all->numbers[p] : 0);
        }
    st_config_default(tmpl, &standard);
    bool first = problem->candidate_count && st_config_equal(tmpl, &problem->candidates[0].config, &standard);
    all->space.parameters = all->parameters;
    all->space.values = all->values;
    all->space.count = problem->candidate_count;
    all->space.standard = first ? 0 : ST_SEARCH_NONE;
    return code;
}

// --- history -----------------------------------------------------------------------------------------------------

static st_code look_up(st_run *run, run_problem *problem, searched *all, st_error *error)
{
    int64_t before_ms = run->session_began_ms ? run->session_began_ms : st_clock_unix_ms(); // it may not have begun
    st_record_wish wish = {.family = run->tmpl->family, .cache = "cold", .before_ms = before_ms,
                           .also_session = run->result->session_id, .hardware_only = true, .nearest_to = problem->text,
                           .device = run->device.name};
    st_records records = {0};
    size_t used = 0;
    if (run->options->no_history || strcmp(run->options->backend, "cuda") != 0)
        return ST_OK;
    st_error why = {0};
    st_code code = st_records_load(run->store, &wish, &records, &why);
    if (code != ST_OK && code != ST_NOTHING) {
        *error = why;
        return code;
    }
    all->expected = st_malloc((problem->candidate_count + 1) * sizeof *all->expected);
    code = all->expected ? ST_OK : st_fail_memory(error, "using history");
    st_experience_of of = {.family = run->tmpl->family, .problem = problem->text, .device = run->device.name,
                           .cc = (int)run->device.cc, .sm_count = (int)run->device.sm_count, .space = &all->space,
                           .words = (char *const *const *)all->words};
    if (code == ST_OK)
        code = st_experience(&of, &records, all->expected, &used, error);
    if (!used) {
        st_free(all->expected);
        all->expected = NULL;
    }
    st_records_release(&records);
    return code;
}

// --- the window ---------------------------------------------------------------------------------------------------

typedef struct searching {
    st_run *run;
    run_problem *problem;
    st_search *search;
    size_t pending[WINDOW], count; // in the order in which they were asked for
    bool foreseen[WINDOW];         // what the compiler says of it was told
    size_t replayed;               // answers of a former process that were told
    size_t resumed;                // how many there are
    uint64_t number;               // of the next chunk
    double waited;                 // for programs, and for the profile worker to open
} searching;

// Fills the window up. What a former process measured needs no program.
static st_code ask(searching *at, st_error *error)
{
    uint64_t budget = at->run->options->budget_candidates, asked = st_search_told(at->search) + at->count;
    size_t most = WINDOW - at->count, count = 0;
    if (budget && budget - asked < most)
        most = asked < budget ? (size_t)(budget - asked) : 0;
    st_code code = st_search_ask(at->search, most, at->pending + at->count, &count, error);
    for (size_t i = at->count; i < at->count + count && code == ST_OK; i++) {
        at->foreseen[i] = false;
        if (!at->problem->candidates[at->pending[i]].resumed)
            code = run_want(at->run, &at->problem->candidates[at->pending[i]], error);
    }
    at->count += count;
    return code;
}

static void forget(searching *at, size_t place)
{
    at->count--;
    memmove(&at->pending[place], &at->pending[place + 1], (at->count - place) * sizeof *at->pending);
    memmove(&at->foreseen[place], &at->foreseen[place + 1], (at->count - place) * sizeof *at->foreseen);
}

// What is compiled and not tried yet: the strategy hears what the compiler says of it.
static st_code foresee(searching *at, st_error *error)
{
    st_code code = ST_OK;
    for (size_t i = 0; i < at->count && code == ST_OK; i++) {
        run_candidate *candidate = &at->problem->candidates[at->pending[i]];
        st_search_facts facts;
        if (at->foreseen[i] || candidate->stage == STAGE_DONE || !run_is_compiled(at->run, candidate))
            continue;
        code = run_foresee(at->run, &at->problem->problem, candidate, &facts, error);
        at->foreseen[i] = true;
        if (code == ST_OK)
            st_search_tell_facts(at->search, at->pending[i], &facts);
    }
    return code;
}

// Tries some that are compiled, or waits for one that is.
static st_code measure(searching *at, st_error *error)
{
    size_t tried = 0;
    st_code code = run_pump(at->run, 0, error);
    if (code == ST_OK)
        code = foresee(at, error);
    double start = st_clock_seconds();
    if (code == ST_OK)
        code = run_profiler_await(at->run, error);
    at->waited += st_clock_seconds() - start;
    if (code == ST_OK)
        code = run_screen_some(at->run, at->problem, at->pending, at->count, at->number, &tried, error);
    at->number += tried > 0;
    if (code != ST_OK || tried)
        return code;
    start = st_clock_seconds();
    run_progress(at->run, at->problem, "compile", at->problem->done, at->problem->candidate_count);
    code = run_pump(at->run, 0.5, error);
    at->waited += st_clock_seconds() - start;
    return code;
}

// --- answers ------------------------------------------------------------------------------------------------------

static double known(int value)
{
    return value < 0 ? NAN : (double)value;
}

// The place of the one to be told: of those in the store that which came there first; at->count: none is there.
static size_t next_answer(const searching *at)
{
    size_t found = at->count;
    const run_candidate *all = at->problem->candidates;
    for (size_t i = 0; i < at->count; i++) {
        const run_candidate *candidate = &all[at->pending[i]];
        if (candidate->stage == STAGE_DONE && candidate->key &&
            (found == at->count || candidate->key < all[at->pending[found]].key))
            found = i;
    }
    return found;
}

static st_code tell(searching *at, size_t place, st_error *error)
{
    size_t index = at->pending[place];
    const run_candidate *candidate = &at->problem->candidates[index];
    // By the first look alone: what a later phase found out was not known when this was decided first.
    st_search_answer answer = {.ns = candidate->screen_ns,
                               .facts = {known(candidate->main.registers), known(candidate->main.local_bytes),
                                         known(candidate->main.static_smem) + candidate->main_smem,
                                         run_occupancy(at->run, candidate)}};
    at->replayed += candidate->resumed;
    forget(at, place);
    return st_search_tell(at->search, index, &answer, error);
}

static st_code advise(searching *at, size_t index, st_error *error)
{
    run_candidate *candidate = &at->problem->candidates[index];
    bool former = at->replayed < at->resumed; // the other process went on from here
    st_code code = ST_OK;
    if (!candidate->profiled && !former && run_profiling_wanted(at->run))
        code = run_profile_some(at->run, at->problem, &index, 1, error);
    if (code != ST_OK || !candidate->profiled) {
        st_search_tell_profile(at->search, index, NULL);
        return code;
    }
    st_profile_view view;
    st_finding findings[ST_FINDINGS_MOST];
    st_search_advice advice = {.leave = false};
    code = run_view(at->run, at->problem, index, &view, error);
    if (code != ST_OK)
        return code;
    view.ns = candidate->screen_ns; // later rounds are not known yet when this is decided
    view.best_ns = at->problem->candidates[st_search_best(at->search)].screen_ns;
    st_advice_pull(findings, st_advise(&view, findings), advice.pull, NULL);
    advice.leave = st_view_at_limit(&view);
    st_search_tell_profile(at->search, index, &advice);
    return ST_OK;
}

static st_code one_answer(searching *at, size_t place, st_error *error)
{
    st_code code = tell(at, place, error);
    for (size_t wanted; code == ST_OK && !run_interrupted(at->run) &&
                        (wanted = st_search_wants_profile(at->search)) != ST_SEARCH_NONE;)
        code = advise(at, wanted, error);
    return code;
}

// --- all of them --------------------------------------------------------------------------------------------------

static void note_end(searching *at, const char *reason)
{
    const run_problem *problem = at->problem;
    const char *says = st_search_says(at->search);
    if (problem->done < problem->candidate_count)
        run_note(at->run, "%s: %zu of %zu candidates tried, then %s%s%s", problem->text, problem->done,
                 problem->candidate_count, reason, says[0] ? "; " : "", says);
}

// Why it is over, or NULL. What a former process measured costs no time.
static const char *why_it_ends(searching *at, double began, char *words, size_t capacity)
{
    uint64_t budget = at->run->options->budget_candidates;
    size_t best = st_search_best(at->search);
    double spent = at->replayed < at->resumed ? 0 : st_clock_seconds() - began - at->waited;
    if (budget && st_search_told(at->search) >= budget)
        return "the budget ended";
    const char *reason = st_search_stops(at->search);
    return reason ? reason
                  : run_budget_ends(at->run, at->problem, spent,
                                    best == ST_SEARCH_NONE ? NAN : at->problem->candidates[best].screen_ns, words,
                                    capacity);
}

static st_code search_all(searching *at, double began, st_error *error)
{
    st_code code = ST_OK;
    char words[80];
    while (code == ST_OK && !run_interrupted(at->run)) {
        size_t place = next_answer(at);
        if (place < at->count) {
            code = one_answer(at, place, error);
            const char *reason = code == ST_OK ? why_it_ends(at, began, words, sizeof words) : NULL;
            if (reason) {
                note_end(at, reason);
                break;
            }
            if (code == ST_OK)
                code = ask(at, error);
            continue;
        }
        if (!at->count)
            code = ask(at, error);
        if (!at->count)
            break;
        if (code == ST_OK)
            code = measure(at, error);
    }
    for (size_t i = 0; i < at->count; i++)
        run_drop(at->run, &at->problem->candidates[at->pending[i]]);
    return code;
}

// A search over the candidates of a problem, with what history expects of them. Also on failure both are to be released.
static st_code open_search(st_run *run, run_problem *problem, searched *all, st_search **out, st_error *error)
{
    st_search_options options = {.seed = run->options->seed, .limit_ns = problem->bytes / run->read_gbs};
    st_code code = make_space(run, problem, all, error);
    if (code == ST_OK)
        code = look_up(run, problem, all, error);
    options.expected = all->expected;
    return code == ST_OK ? st_search_open(run->options->strategy, &all->space, &options, out, error) : code;
}

st_code run_search(st_run *run, run_problem *problem, st_error *error)
{
    searched all = {.values = NULL};
    searching at = {.run = run, .problem = problem};
    for (size_t i = 0; i < problem->candidate_count; i++)
        at.resumed += problem->candidates[i].resumed;
    problem->done = at.resumed;
    run->captured.known = false;
    double began = st_clock_seconds();
    run->screen_began = began;
    st_code code = open_search(run, problem, &all, &at.search, error);
    if (code == ST_OK) {
        run_profiler_start(run);
        code = search_all(&at, st_clock_seconds(), error);
    }
    run->screen_seconds += st_clock_seconds() - began - at.waited;
    run->screen_began = 0;
    st_search_close(at.search);
    release(&all);
    return code;
}

st_code run_search_ahead(st_run *run, run_problem *problem, st_error *error)
{
    const st_strategy_row *strategy = st_strategy_find(run->options->strategy);
    if (!strategy || !strategy->adaptive || problem->won[COLD] || problem->won[WARM])
        return ST_OK;
    searched all = {.values = NULL};
    st_search *search = NULL;
    size_t asked[WINDOW], count = 0, most = WINDOW;
    if (run->options->budget_candidates && run->options->budget_candidates < most)
        most = (size_t)run->options->budget_candidates;
    st_code code = open_search(run, problem, &all, &search, error);
    if (code == ST_OK)
        code = st_search_ask(search, most, asked, &count, error);
    for (size_t i = 0; i < count && code == ST_OK; i++)
        if (!problem->candidates[asked[i]].resumed)
            code = run_want(run, &problem->candidates[asked[i]], error);
    st_search_close(search);
    release(&all);
    return code;
}
