// SPDX-License-Identifier: Apache-2.0
// The model of the guided search: it interpolates what it was shown, knows less far from it, finds out which
// features matter, and its leave-one-out ranking is that of models that really were not shown the one.
// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tuner/base/memory.h"
#include "tuner/search_model.h"

#include <string.h>

static const double levels[] = {1, 2, 4, 8, 16, 32}, threads[] = {96, 128, 160, 192, 224, 256};
static const st_search_parameter parameters[] = {
    {"WORK", 0, false, levels, 6}, {"NOTHING", 0, false, levels, 6}, {"KIND", 0, true, NULL, 3}};
enum { COUNT = 108, PARAMETERS = 3 };
static uint16_t values[COUNT * PARAMETERS];
static const st_search_space space = {parameters, PARAMETERS, values, COUNT, ST_SEARCH_NONE};
static size_t rows[COUNT];

static int fill(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        rows[i] = i;
        values[i * PARAMETERS] = (uint16_t)(i % 6);
        values[i * PARAMETERS + 1] = (uint16_t)(i / 6 % 6);
        values[i * PARAMETERS + 2] = (uint16_t)(i / 36);
    }
    return 0;
}

static double truth(size_t i)
{
    return 0.1 * fabs(values[i * PARAMETERS] - 3.0) + (values[i * PARAMETERS + 2] == 1 ? 0.4 : 0);
}

typedef struct fitted {
    st_features features;
    st_model *model;
    double z[64], mean[COUNT], deviation[COUNT];
    size_t shown[64], count;
} fitted;

// Every `step`-th configuration is shown, but `left_out`.
static void show(fitted *made, size_t step, size_t left_out, bool fits)
{
    st_error error = {0};
    assert_int_equal(st_features_make(&space, &made->features, &error), ST_OK);
    assert_int_equal(st_model_open(&made->features, rows, COUNT, &made->model, &error), ST_OK);
    for (size_t i = 0; i < COUNT; i += step)
        if (i != left_out) {
            assert_int_equal(st_model_add(made->model, i, &error), ST_OK);
            made->shown[made->count] = i;
            made->z[made->count++] = truth(i);
        }
    if (fits)
        assert_int_equal(st_model_fit(made->model, made->z, &error), ST_OK);
    assert_int_equal(st_model_predict(made->model, made->z, made->mean, made->deviation, &error), ST_OK);
}

static void release(fitted *made)
{
    st_model_close(made->model);
    st_features_release(&made->features);
    *made = (fitted){.count = 0};
}

static void test_interpolates(void **state)
{
    (void)state;
    fitted made = {.count = 0};
    show(&made, 5, COUNT, true);
    double error_sum = 0, shown_deviation = 0, other_deviation = 0;
    for (size_t i = 0; i < COUNT; i++) {
        error_sum += fabs(made.mean[i] - truth(i));
        *(i % 5 ? &other_deviation : &shown_deviation) += made.deviation[i] / (i % 5 ? COUNT - made.count : made.count);
    }
    for (size_t i = 0; i < made.count; i++)
        assert_true(fabs(made.mean[made.shown[i]] - made.z[i]) < 0.05);
    assert_true(error_sum / COUNT < 0.05);
    assert_true(shown_deviation < 0.5 * other_deviation);
    assert_true(st_model_cross_validated(made.model, made.z) > 0.8);
    release(&made);
}

// What matters gets a greater relevance than what does not.
static void test_relevance(void **state)
{
    (void)state;
    fitted made = {.count = 0};
    show(&made, 3, COUNT, true);
    assert_true(st_model_relevance(made.model, 0) > 2 * st_model_relevance(made.model, 1));
    assert_true(st_model_relevance(made.model, 2) > 2 * st_model_relevance(made.model, 1));
    release(&made);
}

// The order in which answers come changes nothing; nor does whether they were added before or after a fit.
static void test_order(void **state)
{
    (void)state;
    fitted made = {.count = 0};
    st_model *other;
    st_error error = {0};
    double z[64], mean[COUNT], deviation[COUNT];
    show(&made, 4, COUNT, false);
    assert_int_equal(st_model_open(&made.features, rows, COUNT, &other, &error), ST_OK);
    for (size_t i = made.count; i-- > 0;) {
        assert_int_equal(st_model_add(other, made.shown[i], &error), ST_OK);
        z[made.count - 1 - i] = made.z[i];
    }
    assert_int_equal(st_model_predict(other, z, mean, deviation, &error), ST_OK);
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(fabs(mean[i] - made.mean[i]) < 1e-4);
        assert_true(fabs(deviation[i] - made.deviation[i]) < 1e-3);
    }
    st_model_close(other);
    release(&made);
}

static void test_groups_and_alignment(void **state)
{
    (void)state;
    static const st_search_parameter some[] = {
        {"block_size_x", 0, false, threads, 6}, {"block_size_y", 0, false, levels, 6}, {"KIND", 8, true, NULL, 3}};
    st_search_space other = {some, PARAMETERS, values, COUNT, ST_SEARCH_NONE};
    st_features features;
    st_error error = {0};
    assert_int_equal(st_features_make(&other, &features, &error), ST_OK);
    assert_int_equal(features.width, 3 + 1 + 1); // each, the alignment of 96 … 256, the product of both sizes
    for (size_t i = 0; i < features.count * features.width; i++)
        assert_true(features.is_word[i % features.width] || (features.x[i] >= 0 && features.x[i] <= 1));
    // 128 and 256 are aligned better than 96 and 160, which are alike.
    const float *x = features.x;
    assert_true(x[5 * 5 + 3] > x[1 * 5 + 3] && x[1 * 5 + 3] > x[0 * 5 + 3] && !(x[0 * 5 + 3] < x[2 * 5 + 3]));
    st_features_release(&features);
}

// A word that decides which values the others have weighs more, the more of them it decides; one that goes with all of
// them weighs no more than a number does, and so does one that never changes.
static void test_words_that_decide(void **state)
{
    (void)state;
    static const st_search_parameter some[] = {
        {"METHOD", 0, true, NULL, 3}, {"STAGES", 0, false, levels, 6}, {"LOAD", 0, true, NULL, 3}, {"SAME", 0, true, NULL, 1}};
    enum { ALL = 24 };
    uint16_t few[ALL * 4];
    for (size_t i = 0; i < ALL; i++) {
        uint16_t method = (uint16_t)(i / 4 % 3 ? 1 + i / 4 % 2 : 0); // of 0 only the first number, of 1 and 2 all
        uint16_t row[] = {method, (uint16_t)(method ? 1 + i % 4 : 0), (uint16_t)(i / 8), 0};
        memcpy(&few[i * 4], row, sizeof row);
    }
    st_search_space other = {some, 4, few, ALL, ST_SEARCH_NONE};
    st_features features;
    st_error error = {0};
    assert_int_equal(st_features_make(&other, &features, &error), ST_OK);
    assert_int_equal(features.width, 3);
    const double *weight = features.parameter_weight;
    assert_true(weight[0] > 1.5 && weight[0] < 7);
    assert_true(weight[0] > weight[2] && weight[2] >= 1);
    assert_true(weight[1] == 1 && weight[3] == 1);
    for (size_t f = 0; f < 3; f++)
        assert_true(features.weight[f] == weight[f]);
    st_features_release(&features);
    assert_int_equal(st_features_make(&space, &features, &error), ST_OK); // each KIND with each number
    assert_true(fabs(features.parameter_weight[2] - 1) < 1e-9);
    st_features_release(&features);
}

// As it comes with a prediction of one that the model has never seen.
static void test_left_out(void **state)
{
    (void)state;
    fitted all = {.count = 0};
    show(&all, 6, COUNT, false);
    size_t agree = 0, pairs = 0;
    double said[64];
    for (size_t i = 0; i < all.count; i++) {
        fitted rest = {.count = 0};
        show(&rest, 6, all.shown[i], false);
        said[i] = rest.mean[all.shown[i]];
        release(&rest);
    }
    for (size_t a = 0; a < all.count; a++)
        for (size_t b = 0; b < a; b++)
            if (all.z[a] < all.z[b] || all.z[a] > all.z[b]) {
                agree += (said[a] < said[b]) == (all.z[a] < all.z[b]);
                pairs++;
            }
    double share = (double)agree / (double)pairs, ranking = st_model_cross_validated(all.model, all.z);
    assert_true(ranking > 2 * share - 1 - 0.25 && ranking < 2 * share - 1 + 0.45);
    release(&all);
}

static void test_few(void **state)
{
    (void)state;
    fitted made = {.count = 0};
    show(&made, 50, COUNT, true); // three answers
    assert_int_equal(made.count, 3);
    assert_true(isnan(st_model_cross_validated(made.model, made.z)));
    for (size_t i = 0; i < COUNT; i++)
        assert_true(isfinite(made.mean[i]) && made.deviation[i] > 0);
    release(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interpolates), cmocka_unit_test(test_relevance), cmocka_unit_test(test_order),
        cmocka_unit_test(test_groups_and_alignment), cmocka_unit_test(test_words_that_decide),
        cmocka_unit_test(test_left_out), cmocka_unit_test(test_few),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
