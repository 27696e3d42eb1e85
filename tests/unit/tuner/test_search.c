// SPDX-License-Identifier: Apache-2.0
// Strategies: what all promise (each configuration once, the default first, the same seed the same questions, a
// resumed run asks alike), and that the guided one is worth its name on spaces whose answer is known.
// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/faults.h"
#include "tuner/base/memory.h"
#include "tuner/base/roles.h"
#include "tuner/base/statistics.h"
#include "tuner/search.h"

#include <stdlib.h>
#include <string.h>

// BLOCK 5 values, UNROLL 5, METHOD 3 words, MINOR 4: 300 configurations less those that are forbidden.
static const double blocks[] = {64, 128, 256, 512, 1024}, unrolls[] = {1, 2, 4, 8, 16}, minors[] = {0, 1, 2, 3};
static const st_search_parameter parameters[] = {
    {"BLOCK", ST_ROLE_TLP, false, blocks, 5},
    {"UNROLL", ST_ROLE_MLP | ST_ROLE_ILP, false, unrolls, 5},
    {"METHOD", ST_ROLE_SYNC, true, NULL, 3},
    {"MINOR", 0, false, minors, 4},
};
enum { PARAMETERS = 4, MOST = 300 };

typedef struct known {
    uint16_t values[MOST * PARAMETERS];
    double ns[MOST];
    size_t best;
    st_search_space space;
} known;

// Fastest at BLOCK 512, UNROLL 8, METHOD 1, MINOR 2; BLOCK 1024 with UNROLL 16 fails.
static known *make_known(void)
{
    known *made = st_calloc(1, sizeof *made);
    assert_non_null(made);
    size_t count = 0;
    for (uint16_t b = 0; b < 5; b++)
        for (uint16_t u = 0; u < 5; u++)
            for (uint16_t m = 0; m < 3; m++)
                for (uint16_t i = 0; i < 4; i++) {
                    if (m == 2 && u == 0) // not allowed
                        continue;
                    uint16_t *values = &made->values[count * PARAMETERS];
                    values[0] = b, values[1] = u, values[2] = m, values[3] = i;
                    double slow = 0.15 * fabs(b - 3.0) + 0.2 * fabs(u - 3.0) + (m == 1 ? 0 : m == 0 ? 0.3 : 0.15) +
                                  0.02 * fabs(i - 2.0) + 0.05 * (b > 3) * (u > 3);
                    made->ns[count] = b == 4 && u == 4 ? NAN : 1000 * exp(slow);
                    if (b == 3 && u == 3 && m == 1 && i == 2)
                        made->best = count;
                    count++;
                }
    made->space = (st_search_space){parameters, PARAMETERS, made->values, count, 7};
    return made;
}

// The first 90 of them, for what holds of any space.
static known *make_small(void)
{
    known *made = make_known();
    made->space.count = 90;
    made->best = 0;
    for (size_t i = 0; i < made->space.count; i++)
        if (made->ns[i] < made->ns[made->best])
            made->best = i;
    return made;
}

static st_search *open_it(const char *strategy, const known *of, uint64_t seed)
{
    st_search_options options = {.seed = seed, .limit_ns = NAN};
    st_search *search = NULL;
    st_error error = {0};
    assert_int_equal(st_search_open(strategy, &of->space, &options, &search, &error), ST_OK);
    return search;
}

static void tell(st_search *search, const known *of, size_t index)
{
    st_search_answer answer = {of->ns[index], {NAN, NAN, NAN, NAN}};
    st_error error = {0};
    assert_int_equal(st_search_tell(search, index, &answer, &error), ST_OK);
}

// Until `goal` was asked, or all: the order of the questions; returns how many.
static size_t ask_all(st_search *search, const known *of, size_t batch, size_t goal, size_t *order)
{
    size_t asked[16], count, total = 0;
    st_error error = {0};
    do {
        assert_int_equal(st_search_ask(search, batch, asked, &count, &error), ST_OK);
        for (size_t i = 0; i < count; i++)
            order[total++] = asked[i];
        for (size_t i = 0; i < count; i++)
            tell(search, of, asked[i]);
        for (size_t i = total - count; i < total && goal != ST_SEARCH_NONE; i++)
            if (order[i] == goal)
                return i + 1;
    } while (count);
    return total;
}

// --- what all strategies promise -------------------------------------------------------------------------------------

// Whatever the batch, each configuration is asked once, the default first; at the end the best is known.
static void test_each_once(void **state)
{
    (void)state;
    known *of = make_small();
    size_t strategy_count, order[MOST];
    const st_strategy_row *rows = st_strategies(&strategy_count);
    static const size_t batches[] = {1, 7, 16};
    for (size_t s = 0; s < strategy_count; s++)
        for (size_t b = 0; b < 3; b++) {
            bool seen[MOST] = {false};
            st_search *search = open_it(rows[s].name, of, 3);
            assert_null(st_search_stops(search));
            assert_int_equal(ask_all(search, of, batches[b], ST_SEARCH_NONE, order), of->space.count);
            assert_int_equal(order[0], 7);
            for (size_t i = 0; i < of->space.count; i++) {
                assert_false(seen[order[i]]);
                seen[order[i]] = true;
            }
            assert_int_equal(st_search_told(search), of->space.count);
            assert_int_equal(st_search_best(search), of->best);
            assert_string_equal(st_search_stops(search), "every configuration was tried");
            st_search_close(search);
        }
    st_free(of);
}

// The same seed asks the same; another one something else.
static void test_seeds(void **state)
{
    (void)state;
    known *of = make_small();
    size_t strategy_count, a[MOST], b[MOST], c[MOST];
    const st_strategy_row *rows = st_strategies(&strategy_count);
    for (size_t s = 0; s < strategy_count; s++) {
        size_t *const orders[] = {a, b, c};
        for (uint64_t seed = 0; seed < 3; seed++) {
            st_search *search = open_it(rows[s].name, of, seed / 2);
            ask_all(search, of, 4, ST_SEARCH_NONE, orders[seed]);
            st_search_close(search);
        }
        assert_memory_equal(a, b, of->space.count * sizeof *a);
        assert_memory_not_equal(a, c, of->space.count * sizeof *a);
    }
    st_free(of);
}

// A search that is begun anew and told what the first one was told asks the same from there on, wherever the first
// one broke off, also within a batch.
static void test_resumed(void **state)
{
    (void)state;
    known *of = make_small();
    size_t strategy_count, whole[MOST], again[MOST];
    const st_strategy_row *rows = st_strategies(&strategy_count);
    for (size_t s = 0; s < strategy_count; s++) {
        st_search *search = open_it(rows[s].name, of, 5);
        ask_all(search, of, 8, ST_SEARCH_NONE, whole);
        st_search_close(search);
        search = open_it(rows[s].name, of, 5);
        ask_all(search, of, 8, whole[52], again);
        st_search_close(search);
        assert_memory_equal(whole, again, 53 * sizeof *whole);
    }
    st_free(of);
}

// Nothing but what was asked for can be told, and that once.
static void test_only_what_was_asked(void **state)
{
    (void)state;
    known *of = make_known();
    st_search *search = open_it("guided", of, 1);
    st_search_answer answer = {1, {NAN, NAN, NAN, NAN}};
    st_error error = {0};
    size_t asked, count;
    assert_int_equal(st_search_tell(search, 7, &answer, &error), ST_FAILED);
    assert_int_equal(st_search_ask(search, 1, &asked, &count, &error), ST_OK);
    assert_int_equal(st_search_tell(search, asked, &answer, &error), ST_OK);
    assert_int_equal(st_search_tell(search, asked, &answer, &error), ST_FAILED);
    assert_int_equal(st_search_tell(search, 100000, &answer, &error), ST_FAILED);
    st_search_close(search);
    st_free(of);
}

static void test_bad_spaces(void **state)
{
    (void)state;
    known *of = make_known();
    st_search_options options = {.seed = 1};
    st_search *search;
    st_error error = {0};
    assert_int_equal(st_search_open("swarm", &of->space, &options, &search, &error), ST_USAGE);
    assert_non_null(strstr(error.remedy, "guided"));
    memcpy(of->values, of->values + PARAMETERS, PARAMETERS * sizeof *of->values); // two alike
    assert_int_equal(st_search_open("random", &of->space, &options, &search, &error), ST_FAILED);
    assert_null(search);
    st_free(of);
}

// None, one, and one where everything fails: no strategy hangs or divides by nothing.
static void test_small_and_failing(void **state)
{
    (void)state;
    known *of = make_small();
    size_t strategy_count, order[MOST];
    const st_strategy_row *rows = st_strategies(&strategy_count);
    for (size_t s = 0; s < strategy_count; s++) {
        known none = {.space = {parameters, PARAMETERS, of->values, 0, ST_SEARCH_NONE}};
        st_search *search = open_it(rows[s].name, &none, 1);
        assert_int_equal(ask_all(search, &none, 3, ST_SEARCH_NONE, order), 0);
        st_search_close(search);
        known one = {.space = {parameters, PARAMETERS, of->values, 1, 0}, .ns = {5}};
        search = open_it(rows[s].name, &one, 1);
        assert_int_equal(ask_all(search, &one, 3, ST_SEARCH_NONE, order), 1);
        assert_int_equal(st_search_best(search), 0);
        st_search_close(search);
        known *bad = make_small();
        for (size_t i = 0; i < bad->space.count; i++)
            bad->ns[i] = NAN;
        search = open_it(rows[s].name, bad, 1);
        assert_int_equal(ask_all(search, bad, 3, ST_SEARCH_NONE, order), bad->space.count);
        assert_true(st_search_best(search) == ST_SEARCH_NONE);
        st_search_close(search);
        st_free(bad);
    }
    st_free(of);
}

// --- guided ------------------------------------------------------------------------------------------------------------

static size_t evaluations_to_best(const char *strategy, const known *of, uint64_t seed, const st_search_options *with)
{
    st_search_options options = *with;
    st_search *search;
    st_error error = {0};
    size_t order[MOST];
    options.seed = seed;
    assert_int_equal(st_search_open(strategy, &of->space, &options, &search, &error), ST_OK);
    size_t count = ask_all(search, of, 1, of->best, order);
    st_search_close(search);
    return count;
}

static double median_to_best(const char *strategy, const known *of, const st_search_options *with)
{
    enum { SEEDS = 15 };
    double counts[SEEDS];
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        counts[seed] = (double)evaluations_to_best(strategy, of, seed, with);
    return st_median(counts, SEEDS);
}

// One optimum, where parameters act much by themselves: found in a quarter of what random needs and in half of what
// strategies need that do not walk downhill, which is best here. Without its model it is a local search.
static void test_guided_finds(void **state)
{
    (void)state;
    known *of = make_known();
    st_search_options plain = {.limit_ns = NAN}, without = {.limit_ns = NAN, .without_model = true};
    double guided = median_to_best("guided", of, &plain), random = median_to_best("random", of, &plain);
    assert_true(guided * 4 < random);
    assert_true(guided * 2 <= median_to_best("genetic", of, &plain));
    assert_true(guided * 2 <= median_to_best("anneal", of, &plain));
    assert_true(guided <= 1.25 * median_to_best("local", of, &plain));
    double alone = median_to_best("guided", of, &without);
    assert_true(alone * 2 < random);
    st_free(of);
}

// It stops, at the optimum of this space, long before all is tried, and not before it knows something.
static void test_guided_stops(void **state)
{
    (void)state;
    known *of = make_known();
    size_t asked, count = 1, told = 0;
    st_error error = {0};
    st_search *search = open_it("guided", of, 2);
    while (!st_search_stops(search) && count) {
        assert_int_equal(st_search_ask(search, 1, &asked, &count, &error), ST_OK);
        tell(search, of, asked);
        told++;
    }
    assert_true(told >= 16 && told < of->space.count / 3);
    assert_int_equal(st_search_best(search), of->best);
    assert_non_null(strstr(st_search_stops(search), "noise"));
    assert_non_null(strstr(st_search_says(search), "rank correlation"));
    st_search_close(search);
    // At the limit there is nothing to be won.
    st_search_options options = {.seed = 2, .limit_ns = of->ns[7]};
    assert_int_equal(st_search_open("guided", &of->space, &options, &search, &error), ST_OK);
    assert_int_equal(st_search_ask(search, 1, &asked, &count, &error), ST_OK);
    tell(search, of, asked);
    assert_non_null(strstr(st_search_stops(search), "limit"));
    st_search_close(search);
    st_free(of);
}

// Answers that are alike, but for the noise, have no order that a model could learn; the search stops all the same.
static void test_guided_all_alike(void **state)
{
    (void)state;
    known *of = make_known();
    st_random random;
    size_t asked, count = 1;
    st_error error = {0};
    st_random_seed(&random, 3);
    for (size_t i = 0; i < of->space.count; i++)
        of->ns[i] = 1000 + 20 * st_random_unit(&random);
    st_search *search = open_it("guided", of, 1);
    while (!st_search_stops(search) && count) {
        assert_int_equal(st_search_ask(search, 1, &asked, &count, &error), ST_OK);
        tell(search, of, asked);
    }
    assert_true(st_search_told(search) < of->space.count / 3);
    assert_non_null(strstr(st_search_stops(search), "noise"));
    st_search_close(search);
    st_free(of);
}

// Answers without any order: the model says so, abstains, and does not stop the search.
static void test_guided_abstains(void **state)
{
    (void)state;
    known *of = make_small();
    st_random random;
    size_t order[MOST];
    st_random_seed(&random, 9);
    for (size_t i = 0; i < of->space.count; i++)
        of->ns[i] = 1000 + 300 * st_random_unit(&random);
    st_search *search = open_it("guided", of, 1);
    ask_all(search, of, 1, ST_SEARCH_NONE, order);
    assert_int_equal(st_search_told(search), of->space.count);
    assert_non_null(strstr(st_search_says(search), "abstains"));
    st_search_close(search);
    st_free(of);
}

// History that knows it all leads there at once; history that is the wrong way round costs some, not all.
static void test_guided_history(void **state)
{
    (void)state;
    known *of = make_known();
    double expected[MOST];
    st_search_options options = {.limit_ns = NAN, .expected = expected}, plain = {.limit_ns = NAN};
    for (size_t i = 0; i < of->space.count; i++)
        expected[i] = isnan(of->ns[i]) ? NAN : log(of->ns[i] / 1000);
    assert_int_equal(evaluations_to_best("guided", of, 1, &options), 2); // after the default
    for (size_t i = 0; i < of->space.count; i++)
        expected[i] = isnan(of->ns[i]) ? NAN : 1.5 - log(of->ns[i] / 1000);
    double misled = median_to_best("guided", of, &options);
    assert_true(misled > median_to_best("guided", of, &plain));
    assert_true(misled < median_to_best("random", of, &plain) / 2);
    st_free(of);
}

// The profile of the default is wanted; advice that points the right way saves evaluations, an unknown one none; a
// strategy that does without stalls wants none.
static size_t with_advice(const known *of, uint64_t seed, const st_search_advice *advice, bool without)
{
    st_search_options options = {.seed = seed, .limit_ns = NAN, .without_stalls = without};
    st_search *search;
    st_error error = {0};
    size_t asked, count = 1, total = 0, wanted;
    assert_int_equal(st_search_open("guided", &of->space, &options, &search, &error), ST_OK);
    do {
        assert_int_equal(st_search_ask(search, 1, &asked, &count, &error), ST_OK);
        tell(search, of, asked);
        wanted = st_search_wants_profile(search);
        assert_true(wanted == ST_SEARCH_NONE || (wanted == asked && !without));
        if (!total && !without)
            assert_int_equal(wanted, of->space.standard);
        if (wanted != ST_SEARCH_NONE)
            st_search_tell_profile(search, wanted, advice);
        assert_true(st_search_wants_profile(search) == ST_SEARCH_NONE);
        total++;
    } while (asked != of->best);
    st_search_close(search);
    return total;
}

static void test_guided_advice(void **state)
{
    (void)state;
    known *of = make_known();
    for (size_t i = 0; i < of->space.count; i++) { // the default is far from the best, and the advice is right
        const uint16_t *values = &of->values[i * PARAMETERS];
        of->ns[i] = 1000 * exp(0.05 * (4 - values[0]) + 0.05 * (4 - values[1]) + 0.1 * (values[2] != 1) +
                               0.03 * abs(values[3] - 2) + 0.08 * ((values[0] * 7 + values[1] * 3 + values[3]) % 5) / 4);
        if (of->ns[i] < of->ns[of->best] || isnan(of->ns[of->best]))
            of->best = i;
    }
    const st_search_advice more_loads = {.pull = {0, 1, 1, 0, 0, 0, 0}}; // mlp and tlp
    enum { SEEDS = 15 };
    double with[SEEDS], without[SEEDS];
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        with[seed] = (double)with_advice(of, seed, &more_loads, false);
        without[seed] = (double)with_advice(of, seed, NULL, false);
        assert_int_equal((size_t)without[seed], with_advice(of, seed, NULL, true));
    }
    assert_true(st_median(with, SEEDS) < st_median(without, SEEDS));
    st_free(of);
}

// A failing corner is left alone: of 12 failures few are met before the best is found.
static void test_guided_avoids_failures(void **state)
{
    (void)state;
    known *of = make_known();
    for (size_t i = 0; i < of->space.count; i++) // all of BLOCK 1024, whose neighbours are fast
        if (of->values[i * PARAMETERS] == 4)
            of->ns[i] = NAN;
    double failures[9];
    for (uint64_t seed = 0; seed < 9; seed++) {
        size_t order[MOST];
        st_search *search = open_it("guided", of, seed);
        size_t count = ask_all(search, of, 1, of->best, order);
        failures[seed] = 0;
        for (size_t i = 0; i < count; i++)
            failures[seed] += isnan(of->ns[order[i]]);
        st_search_close(search);
    }
    assert_true(st_median(failures, 9) <= 4);
    st_free(of);
}

// Every allocation may fail: an error each time, nothing lost, nothing asked twice.
static void test_no_memory(void **state)
{
    (void)state;
    known *of = make_known();
    for (unsigned long n = 1; n < 4000; n = next_fault(n)) {
        st_search_options options = {.seed = 1, .limit_ns = NAN};
        st_search *search = NULL;
        st_error error = {0};
        size_t asked[4], count;
        st_fault_arm(ST_FAULT_ALLOCATION, n);
        st_code code = st_search_open("guided", &of->space, &options, &search, &error);
        for (int batch = 0; batch < 6 && code == ST_OK; batch++) {
            code = st_search_ask(search, 4, asked, &count, &error);
            for (size_t i = 0; i < count && code == ST_OK; i++) {
                st_search_answer answer = {of->ns[asked[i]], {NAN, NAN, NAN, NAN}};
                code = st_search_tell(search, asked[i], &answer, &error);
            }
        }
        bool injected = st_fault_injected(ST_FAULT_ALLOCATION);
        st_fault_arm(ST_FAULT_ALLOCATION, 0);
        st_search_close(search);
        assert_true(code == ST_OK || (injected && code == ST_NO_MEMORY));
        if (!injected) {
            st_free(of);
            return;
        }
    }
    fail_msg("the trial without a fault was never reached");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_once), cmocka_unit_test(test_seeds), cmocka_unit_test(test_resumed),
        cmocka_unit_test(test_only_what_was_asked), cmocka_unit_test(test_bad_spaces),
        cmocka_unit_test(test_small_and_failing), cmocka_unit_test(test_guided_finds),
        cmocka_unit_test(test_guided_stops), cmocka_unit_test(test_guided_all_alike), cmocka_unit_test(test_guided_abstains),
        cmocka_unit_test(test_guided_history), cmocka_unit_test(test_guided_advice),
        cmocka_unit_test(test_guided_avoids_failures), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
