// SPDX-License-Identifier: Apache-2.0
// The first look at every candidate: verified, then a few samples. Invariants: 1. nothing is timed that was
// not verified on exact and on random data; 2. candidates go in chunks, so that the data change twice a
// chunk and not twice a candidate; 3. each candidate is in the store before the next chunk begins; 4. a
// worker lost by one candidate costs the others of its chunk a load, nothing else; 5. the store is not held
// while anything is verified or timed: a candidate is gathered, then stored in one short transaction.
#include "tuner/base/clock.h"
#include "tuner/base/memory.h"
#include "tuner/base/statistics.h"
#include "tuner/run_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// FEW: where what came out decides soon whether and how it goes on: of a search, which asks for more that is compiled
// meanwhile, and of a budget that ends near the memory's limit.
enum { CHUNK = 48, FEW = 4, HOPELESS = 2 };

// A few samples show who is hopeless; of long kernels, whose noise is small, fewer do.
static int64_t screen_samples(const run_problem *problem)
{
    return problem->best_ns[COLD] > 1e5 ? 3 : 4;
}

typedef struct chunk {
    size_t index[CHUNK];
    char *detail[CHUNK];
    size_t count;
} chunk;

static bool is_waiting(const st_run *run, const run_candidate *candidate)
{
    return !run_is_compiled(run, candidate);
}

// The next candidates whose programs are compiled (or failed); none before the program of what they are
// compared with.
static void gather(st_run *run, run_problem *problem, bool *taken, chunk *out)
{
    size_t most = run->options->budget_limit > 0 ? FEW : CHUNK;
    out->count = 0;
    if (!run->has_reference && is_waiting(run, &problem->standard))
        return;
    for (size_t i = 0; i < problem->candidate_count && out->count < most; i++) {
        if (taken[i])
            continue;
        if (is_waiting(run, &problem->candidates[i])) {
            if (strcmp(run->options->backend, "emu") == 0)
                break; // in order, so that two runs decide alike: its times are the same in every run
            continue;
        }
        taken[i] = true;
        out->detail[out->count] = NULL;
        out->index[out->count++] = i;
    }
}

// Keeps the default's outputs; *fails with what it says when it cannot, *lost when a worker went with it.
static st_code capture_once(st_run *run, run_problem *problem, st_data data, uint64_t rotation, char **fails,
                            bool *lost, st_error *error)
{
    run_candidate *standard = &problem->standard;
    int64_t id = (int64_t)problem->candidate_count;
    st_trouble trouble = ST_TROUBLE_NONE;
    st_error why = {0};
    unsigned before = st_link_generation(run->timing);
    standard->stage = STAGE_NEW;
    st_code code = run_load(run, run->timing, &problem->problem, standard, id, fails, error);
    if (code == ST_OK && standard->stage != STAGE_DONE) {
        code = st_link_capture(run->timing, id, data, rotation, run->options->time_limit, &trouble, &why);
        if (code != ST_OK)
            *error = why;
        else if (trouble != ST_TROUBLE_NONE && !(*fails = st_strdup(why.what)))
            code = st_fail_memory(error, "keeping the default's outputs");
    }
    bool timeout = trouble == ST_TROUBLE_TIMEOUT ||
                   (standard->stage == STAGE_DONE && standard->outcome == ST_OUTCOME_TIMEOUT);
    *lost = !timeout && st_link_generation(run->timing) != before;
    run->captured.known = code == ST_OK && !*fails && !*lost;
    run->captured.generation = before;
    run->captured.data = data;
    run->captured.rotation = rotation;
    return code;
}

// Without references the default's outputs are the reference; they must stand in the worker before anything
// is compared with them. A worker may be lost for other reasons than the default: it gets three.
st_code run_capture_default(st_run *run, run_problem *problem, st_data data, uint64_t rotation,
                            st_error *error)
{
    if (run->has_reference)
        return ST_OK;
    if (run->captured.known && run->captured.generation == st_link_generation(run->timing) &&
        run->captured.data == data && run->captured.rotation == rotation)
        return ST_OK;
    char *fails = NULL;
    bool lost = true;
    st_code code = ST_OK;
    run->captured.known = false;
    for (int attempt = 0; attempt < 3 && lost && code == ST_OK; attempt++) {
        st_free(fails);
        fails = NULL;
        code = capture_once(run, problem, data, rotation, &fails, &lost, error);
    }
    if (code == ST_OK && !run->captured.known)
        code = st_fail(error, ST_NOTHING, "mend the default, or add a `reference` to the template",
                       "the default configuration, which others are compared with, fails: %s",
                       fails ? fails : "its worker is lost each time");
    st_free(fails);
    return code;
}

static st_code verify_chunk(st_run *run, run_problem *problem, chunk *these, st_data data,
                            uint64_t rotation, st_error *error)
{
    st_code code = ST_OK;
    for (size_t i = 0; i < these->count && code == ST_OK && !run_interrupted(run); i++) {
        run_candidate *candidate = &problem->candidates[these->index[i]];
        if (candidate->stage == STAGE_DONE)
            continue;
        code = run_capture_default(run, problem, data, rotation, error);
        if (code == ST_OK)
            code = run_verify(run, &problem->problem, candidate, (int64_t)these->index[i], data, rotation,
                              &these->detail[i], error);
    }
    return code;
}

st_code run_take(st_run *run, run_problem *problem, run_candidate *candidate, int64_t id, int cache,
                 int64_t samples, run_taken *out, char **detail, st_error *error)
{
    *out = (run_taken){.cache = cache};
    st_trouble trouble = ST_TROUBLE_NONE;
    st_error why = {0};
    st_code code = run_load(run, run->timing, &problem->problem, candidate, id, detail, error);
    if (code != ST_OK || candidate->stage == STAGE_DONE)
        return code;
    code = st_link_time(run->timing, id, run_cache_names[cache], samples,
                        run->options->time_limit + (double)samples, &out->samples, &out->count, &out->state,
                        &trouble, &why);
    if (code != ST_OK) {
        *error = why;
        return code;
    }
    if (trouble != ST_TROUBLE_NONE) {
        run_fail_by_trouble(candidate, trouble, "while timing: ", &why, detail);
        return ST_OK;
    }
    double median = st_median(out->samples, out->count);
    if (out->count && isnan(median))
        return st_fail_memory(error, "taking samples");
    out->taken = true;
    out->taken_ms = st_clock_unix_ms();
    candidate->series[cache].median_ns = median;
    candidate->series[cache].rounds++;
    run->throttled_samples += out->state.dropped;
    if (!(candidate->series[cache].median_ns >= problem->best_ns[cache]))
        problem->best_ns[cache] = candidate->series[cache].median_ns;
    return ST_OK;
}

// Beyond four times L2 nothing of the input is left from the run before: warm is cold.
static bool warm_differs(const st_run *run, const run_problem *problem)
{
    return !(problem->bytes > 4.0 * (double)run->device.l2_bytes);
}

// The candidate with all that was taken of it, whole or not at all. Nothing slow happens in here: other
// processes wait for this transaction.
static st_code store_screened(st_run *run, run_problem *problem, run_candidate *candidate,
                              const run_taken *taken, const char *detail, st_error *error)
{
    st_code code = st_store_begin(run->store, error);
    if (code != ST_OK)
        return code;
    code = run_store_candidate(run, problem, candidate, detail, error);
    for (int cache = 0; cache < CACHES && code == ST_OK; cache++)
        if (taken[cache].taken)
            code = run_store_taken(run, candidate, "screen", 0, &taken[cache], error);
    if (code == ST_OK)
        return st_store_commit(run->store, error);
    st_store_rollback(run->store);
    return code;
}

static st_code time_candidate(st_run *run, run_problem *problem, run_candidate *candidate, int64_t id,
                              char **detail, st_error *error)
{
    run_taken taken[CACHES] = {{0}};
    candidate->outcome = ST_OUTCOME_CORRECT;
    st_code code = run_take(run, problem, candidate, id, COLD, screen_samples(problem), &taken[COLD], detail,
                            error);
    bool hopeless = candidate->series[COLD].median_ns > HOPELESS * problem->best_ns[COLD];
    if (code == ST_OK && candidate->stage != STAGE_DONE && warm_differs(run, problem) && !hopeless)
        code = run_take(run, problem, candidate, id, WARM, screen_samples(problem), &taken[WARM], detail, error);
    candidate->stage = STAGE_DONE;
    candidate->screen_ns = taken[COLD].taken ? candidate->series[COLD].median_ns : NAN;
    if (code == ST_OK)
        code = store_screened(run, problem, candidate, taken, *detail, error);
    for (int cache = 0; cache < CACHES; cache++)
        st_free(taken[cache].samples);
    return code;
}

// Candidates that failed before timing are stored with their outcome alone.
static st_code finish_candidate(st_run *run, run_problem *problem, run_candidate *candidate, int64_t id,
                                char **detail, st_error *error)
{
    st_code code = ST_OK;
    if (candidate->stage == STAGE_DONE)
        code = run_store_candidate(run, problem, candidate, *detail, error);
    else
        code = time_candidate(run, problem, candidate, id, detail, error);
    problem->done++;
    problem->failed += candidate->outcome != ST_OUTCOME_CORRECT;
    run->result->outcomes[candidate->outcome]++;
    if (code == ST_OK)
        code = run_unload(run, run->timing, candidate, id, error);
    return code;
}

static st_code screen_chunk(st_run *run, run_problem *problem, chunk *these, uint64_t rotation,
                            st_error *error)
{
    st_code code = verify_chunk(run, problem, these, ST_DATA_EXACT, rotation, error);
    if (code == ST_OK)
        code = verify_chunk(run, problem, these, ST_DATA_RANDOM, 0, error);
    for (size_t i = 0; i < these->count; i++) {
        run_candidate *candidate = &problem->candidates[these->index[i]];
        if (code == ST_OK && !run_interrupted(run)) {
            code = finish_candidate(run, problem, candidate, (int64_t)these->index[i], &these->detail[i],
                                    error);
            run_progress(run, problem, "screen", problem->done, problem->candidate_count);
        }
        st_free(these->detail[i]);
    }
    return code;
}

const char *run_budget_ends(const st_run *run, const run_problem *problem, double spent, double best_ns, char *words,
                            size_t capacity)
{
    const st_tune_options *options = run->options;
    double limit_ns = problem->bytes / run->read_gbs;
    if (options->budget_limit > 0 && best_ns <= limit_ns * (1 + options->budget_limit)) {
        snprintf(words, capacity, "the best is within %.4g %% of the memory's limit", options->budget_limit * 100);
        return words;
    }
    if (!(options->budget_seconds > 0 && spent > options->budget_seconds))
        return NULL;
    snprintf(words, capacity, "the budget of %.3g s ended", options->budget_seconds);
    return words;
}

void run_note_limit(st_run *run, const run_problem *problem)
{
    char words[80];
    double limit_ns = problem->bytes / run->read_gbs;
    if (!(run->options->budget_limit > 0) || run_interrupted(run) || problem->done < problem->candidate_count ||
        isnan(problem->best_ns[COLD]) || run_budget_ends(run, problem, 0, problem->best_ns[COLD], words, sizeof words))
        return;
    run_note(run, "%s: all %zu candidates were tried, and none was within %.4g %% of the memory's limit; the best was %.3g %% above",
             problem->text, problem->candidate_count, run->options->budget_limit * 100,
             (problem->best_ns[COLD] / limit_ns - 1) * 100);
}

// Those of `indexes` that are to be tried and are compiled (or failed to).
static void gather_some(st_run *run, run_problem *problem, const size_t *indexes, size_t count, chunk *out)
{
    // The emulated device's times hang on what ran before: there they go in their order, one by one, so that no
    // compiler's pace decides, and two runs are alike, also when one of them was resumed.
    bool emulated = strcmp(run->options->backend, "emu") == 0;
    size_t most = emulated ? 1 : FEW;
    out->count = 0;
    if (!run->has_reference && is_waiting(run, &problem->standard))
        return;
    for (size_t i = 0; i < count && out->count < most; i++) {
        const run_candidate *candidate = &problem->candidates[indexes[i]];
        if (candidate->stage == STAGE_DONE)
            continue;
        if (is_waiting(run, candidate) && emulated)
            return;
        if (is_waiting(run, candidate))
            continue;
        out->detail[out->count] = NULL;
        out->index[out->count++] = indexes[i];
    }
}

st_code run_screen_some(st_run *run, run_problem *problem, const size_t *indexes, size_t count, uint64_t number,
                        size_t *tried, st_error *error)
{
    chunk these;
    gather_some(run, problem, indexes, count, &these);
    *tried = these.count;
    return these.count ? screen_chunk(run, problem, &these, number, error) : ST_OK;
}

st_code run_screen(st_run *run, run_problem *problem, st_error *error)
{
    const st_strategy_row *strategy = st_strategy_find(run->options->strategy);
    if (strategy && strategy->adaptive)
        return run_search(run, problem, error);
    bool *taken = st_calloc(problem->candidate_count, sizeof *taken);
    if (!taken)
        return st_fail_memory(error, "screening");
    size_t resumed = 0;
    for (size_t i = 0; i < problem->candidate_count; i++)
        if (problem->candidates[i].resumed) {
            taken[i] = true;
            resumed++;
        }
    problem->done = resumed;
    run->captured.known = false;
    double began = st_clock_seconds(), waited = 0;
    run->screen_began = began;
    st_code code = ST_OK;
    for (uint64_t number = 0; code == ST_OK && !run_interrupted(run); number++) {
        chunk these;
        code = run_pump(run, 0, error);
        gather(run, problem, taken, &these);
        if (code == ST_OK && !these.count && run->programs_pending) {
            double start = st_clock_seconds();
            run_progress(run, problem, "compile", problem->done, problem->candidate_count);
            code = run_pump(run, 0.5, error);
            waited += st_clock_seconds() - start;
            continue;
        }
        if (code != ST_OK || !these.count)
            break;
        code = screen_chunk(run, problem, &these, number, error);
        char words[80];
        const char *reason = run_budget_ends(run, problem, st_clock_seconds() - began - waited, problem->best_ns[COLD],
                                             words, sizeof words);
        if (code == ST_OK && problem->done < problem->candidate_count && reason) {
            run_note(run, "%s: %s with %zu of %zu candidates tried", problem->text, reason, problem->done,
                     problem->candidate_count);
            break;
        }
    }
    run->screen_seconds += st_clock_seconds() - began - waited;
    run->screen_began = 0;
    st_free(taken);
    return code;
}
