// SPDX-License-Identifier: Apache-2.0
// A search with a window of pending configurations, as a run drives it: each asked once whatever the order of answers, a
// search that is told the same in the same order asks the same, what the compiler says is taken of pending ones alone,
// and small spaces are tried whole.
// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tuner/base/memory.h"
#include "tuner/base/statistics.h"
#include "tuner/search_internal.h"

#include <string.h>

static const double sixes[] = {1, 2, 4, 8, 16, 32}, fives[] = {64, 128, 256, 512, 1024};
static const st_search_parameter parameters[] = {
    {"ITEMS", 1, false, sixes, 6}, {"BLOCK", 2, false, fives, 5}, {"UNROLL", 1, false, sixes, 6}};
enum { PARAMETERS = 3, COUNT = 180, WINDOW = 16 };

typedef struct known {
    uint16_t values[COUNT * PARAMETERS];
    double ns[COUNT];
    st_search_space space;
} known;

static known *make_known(size_t count)
{
    known *made = st_calloc(1, sizeof *made);
    assert_non_null(made);
    for (size_t i = 0; i < COUNT; i++) {
        uint16_t *values = &made->values[i * PARAMETERS];
        values[0] = (uint16_t)(i % 6), values[1] = (uint16_t)(i / 6 % 5), values[2] = (uint16_t)(i / 30);
        double slow = 0.1 * fabs(values[0] - 3.0) + 0.1 * fabs(values[1] - 2.0) + 0.1 * fabs(values[2] - 4.0);
        made->ns[i] = values[0] + values[2] > 9 ? NAN : 1000 * exp(slow);
    }
    made->space = (st_search_space){parameters, PARAMETERS, made->values, count, 0};
    return made;
}

typedef struct driven {
    st_search *search;
    size_t pending[WINDOW], open;
    size_t asked[COUNT], asked_count, told[COUNT], told_count;
} driven;

static void open_it(driven *at, const char *strategy, const known *of)
{
    st_search_options options = {.seed = 4, .limit_ns = NAN};
    st_error error = {0};
    *at = (driven){0};
    assert_int_equal(st_search_open(strategy, &of->space, &options, &at->search, &error), ST_OK);
}

static void fill(driven *at)
{
    size_t count;
    st_error error = {0};
    assert_int_equal(st_search_ask(at->search, WINDOW - at->open, at->pending + at->open, &count, &error), ST_OK);
    memcpy(at->asked + at->asked_count, at->pending + at->open, count * sizeof *at->asked);
    at->asked_count += count;
    at->open += count;
}

static void tell(driven *at, const known *of, size_t index)
{
    st_search_answer answer = {of->ns[index], {NAN, NAN, NAN, NAN}};
    st_error error = {0};
    size_t place = 0;
    while (at->pending[place] != index)
        assert_true(++place < at->open);
    memmove(at->pending + place, at->pending + place + 1, (--at->open - place) * sizeof *at->pending);
    at->told[at->told_count++] = index;
    assert_int_equal(st_search_tell(at->search, index, &answer, &error), ST_OK);
}

// As compilers end: in any order. Each is asked once, the default first, and the window is kept full by those that can.
static void drive(driven *at, const char *strategy, const known *of, st_random *order)
{
    open_it(at, strategy, of);
    for (fill(at); at->open; fill(at))
        tell(at, of, at->pending[st_random_below(order, at->open)]);
}

static void test_any_order(void **state)
{
    (void)state;
    known *of = make_known(COUNT);
    size_t strategies;
    const st_strategy_row *rows = st_strategies(&strategies);
    for (size_t s = 0; s < strategies; s++) {
        bool seen[COUNT] = {false};
        st_random order;
        driven at;
        st_random_seed(&order, 11);
        drive(&at, rows[s].name, of, &order);
        assert_int_equal(at.told_count, COUNT);
        assert_int_equal(at.asked[0], 0);
        for (size_t i = 0; i < COUNT; i++) {
            assert_false(seen[at.asked[i]]);
            seen[at.asked[i]] = true;
        }
        assert_non_null(st_search_stops(at.search));
        st_search_close(at.search);
    }
    st_free(of);
}

// A run that was killed after any number of answers: the next one is told what is stored in its order, and asks for the
// same; what was pending is asked for again.
static void test_resumed(void **state)
{
    (void)state;
    known *of = make_known(COUNT);
    size_t strategies;
    const st_strategy_row *rows = st_strategies(&strategies);
    for (size_t s = 0; s < strategies; s++) {
        st_random order;
        driven whole, again;
        st_random_seed(&order, 5);
        drive(&whole, rows[s].name, of, &order);
        open_it(&again, rows[s].name, of);
        fill(&again);
        for (size_t i = 0; i < 61; i++) {
            tell(&again, of, whole.told[i]); // fails when it is not pending
            fill(&again);
        }
        assert_true(again.asked_count >= 61);
        assert_memory_equal(whole.asked, again.asked, again.asked_count * sizeof *whole.asked);
        st_search_close(again.search);
        st_search_close(whole.search);
    }
    st_free(of);
}

// What is pending does not keep guided from giving the next: the window is full until all is asked.
static void test_stays_full(void **state)
{
    (void)state;
    known *of = make_known(COUNT);
    driven at;
    open_it(&at, "guided", of);
    for (fill(&at); at.asked_count < COUNT; fill(&at)) {
        assert_int_equal(at.open, WINDOW);
        tell(&at, of, at.pending[at.told_count % 3]);
    }
    st_search_close(at.search);
    st_free(of);
}

static void test_facts(void **state)
{
    (void)state;
    known *of = make_known(COUNT);
    driven at;
    open_it(&at, "guided", of);
    fill(&at);
    size_t pending = at.pending[3], fresh = 0;
    while (at.search->mark[fresh] != ST_FRESH)
        fresh++;
    const st_search_facts facts = {40, 0, 2048, 0.5};
    st_search_tell_facts(at.search, pending, &facts);
    st_search_tell_facts(at.search, fresh, &facts); // not asked for
    st_search_tell_facts(at.search, COUNT + 7, &facts);
    assert_true(at.search->facts[pending].registers == 40 && at.search->facts[pending].occupancy == 0.5);
    assert_true(isnan(at.search->facts[fresh].registers));
    tell(&at, of, pending);
    assert_true(isnan(at.search->facts[pending].registers)); // the answer's stand
    st_search_tell_facts(at.search, pending, &facts);
    assert_true(isnan(at.search->facts[pending].registers));
    st_search_close(at.search);
    st_free(of);
}

// Of a space of ST_SEARCH_SMALL nothing is left out, of a larger one the best is found long before its end.
static void test_small(void **state)
{
    (void)state;
    const size_t counts[] = {ST_SEARCH_SMALL, COUNT};
    for (int large = 0; large < 2; large++) {
        known *of = make_known(counts[large]);
        driven at;
        open_it(&at, "guided", of);
        for (fill(&at); !st_search_stops(at.search); fill(&at))
            tell(&at, of, at.pending[0]);
        if (large)
            assert_in_range(at.told_count, 24, COUNT - 20);
        else
            assert_int_equal(at.told_count, ST_SEARCH_SMALL);
        st_search_close(at.search);
        st_free(of);
    }
}

static void test_who_profiles(void **state)
{
    (void)state;
    size_t count;
    const st_strategy_row *rows = st_strategies(&count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(st_strategy_profiles(&rows[i]), strcmp(rows[i].name, "guided") == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_order), cmocka_unit_test(test_resumed), cmocka_unit_test(test_stays_full),
        cmocka_unit_test(test_facts),     cmocka_unit_test(test_small),   cmocka_unit_test(test_who_profiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
