// SPDX-License-Identifier: Apache-2.0
// A Gaussian process over the configurations of a space. Promise: fitting takes milliseconds for a hundred answers;
// no randomness; what it predicts for all configurations is kept up to date at the cost of one row for each answer.
#ifndef SIMTUNE_TUNER_SEARCH_MODEL_H
#define SIMTUNE_TUNER_SEARCH_MODEL_H

#include "tuner/search_internal.h"

enum { ST_FEATURES_MOST = 64, ST_MODEL_MOST = 512 };

// What the model compares configurations by: numbers from 0 to 1, and words of which only equality counts.
typedef struct st_features {
    size_t count, width;
    float *x;                        // [count][width]
    bool is_word[ST_FEATURES_MOST];
    // What it usually matters over the others, of features and of parameters: 1, more for a word that decides which
    // values others can have, since it chooses an algorithm.
    double weight[ST_FEATURES_MOST], parameter_weight[ST_SEARCH_PARAMETERS];
    // Where each configuration stands for each role: the mean of its numbers, 0 … 1; [count][ST_SEARCH_ROLES].
    float *roles;
    bool has_role[ST_SEARCH_ROLES];        // some number moves it
} st_features;
st_code st_features_make(const st_search_space *space, st_features *out, st_error *error);
void st_features_release(st_features *features);

// How far two configurations are apart in one feature, 0 … 1.
double st_kernel_distance(const st_features *features, size_t a, size_t b, size_t feature);

typedef struct st_model st_model;
// `features` must outlive the model; `rows` are the configurations that it predicts for (borrowed).
st_code st_model_open(const st_features *features, const size_t *rows, size_t row_count, st_model **out,
                      st_error *error);
void st_model_close(st_model *model);
size_t st_model_count(const st_model *model); // observations
// Adds a configuration; its worth is given with each prediction, and may change. At most ST_MODEL_MOST.
st_code st_model_add(st_model *model, size_t index, st_error *error);
// Chooses what each feature matters by the likelihood of `z` ([observations], NaN: not known yet), and rebuilds.
st_code st_model_fit(st_model *model, const double *z, st_error *error);
// mean and deviation for each row; z may hold no NaN. *scale: of the signal.
st_code st_model_predict(st_model *model, const double *z, double *mean, double *deviation, st_error *error);
// Of the observations: what the model says of each when it is left out, against what it was: rank correlation
// (Spearman) over those that are told (z no NaN). NaN: fewer than 4.
double st_model_cross_validated(const st_model *model, const double *z);
double st_model_relevance(const st_model *model, size_t feature);

#endif
