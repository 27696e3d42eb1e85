// SPDX-License-Identifier: Apache-2.0
// Shared by search_model.c and search_model_fit.c.
#ifndef SIMTUNE_TUNER_SEARCH_MODEL_INTERNAL_H
#define SIMTUNE_TUNER_SEARCH_MODEL_INTERNAL_H

#include "tuner/search_model.h"

// Relevances and noise are chosen by the likelihood; these say what they usually are: the logarithm of a relevance
// spreads around that of middle / features × the feature's weight, the logarithm of the noise's variance around its own.
#define ST_RELEVANCE_MIDDLE 6.0
#define ST_RELEVANCE_SPREAD 1.0
#define ST_NOISE_MIDDLE 3e-3
#define ST_NOISE_SPREAD 1.2
#define ST_NOISE_LEAST 1e-4
#define ST_JITTER 1e-9

struct st_model {
    const st_features *features;
    const size_t *rows;
    size_t row_count;
    size_t *at;            // [observations]: configurations
    size_t count, capacity;
    double *lower;         // by rows: (i, j) at i (i + 1) / 2 + j
    float *solved;         // [observations][row_count]
    float *variance;       // [row_count]: what is left of it, in units of s²
    double relevance[ST_FEATURES_MOST]; // logarithms
    double noise;          // logarithm of its variance, in units of s²
    double *scratch;       // [row_count]
};

typedef struct st_kernel {
    double r[ST_FEATURES_MOST], share; // share: 1 / (F r0)
    double noise;
    size_t width;
} st_kernel;
double st_relevance_usual(const st_features *features, size_t feature);
st_kernel st_kernel_of(const st_model *model);
double st_kernel_own(const st_kernel *kernel); // of a configuration with itself, without noise
double st_kernel_value(const st_features *features, const st_kernel *kernel, size_t a, size_t b);
double st_model_centre(const double *z, size_t count);
// s² of the signal out of lower⁻¹ (z - centre).
double st_model_signal(const double *white, size_t count);
void st_model_rebuild(st_model *model);

#endif
