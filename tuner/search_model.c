// SPDX-License-Identifier: Apache-2.0
// A Gaussian process with a kernel of two parts: a sum over features (what one parameter does by itself, which is
// learned from few answers) and a product over them (what they do together). Each feature has a relevance, chosen
// by the likelihood of the answers.
//
//   k(a, b) = s² ( Σ r_f exp(-2 δ_f²) / (F r0)  +  (1 + D) exp(-D) ),  D² = Σ r_f δ_f²,  δ_f = |a_f - b_f|
//
// Invariants: 1. `lower` is the Cholesky factor of the kernel of the observations, in the order in which they came;
// 2. column j of `solved` is row j of lower⁻¹ k(observations, rows), so means and deviations of all rows cost one
// column for an answer; 3. both are rebuilt when relevances change, and only then.
#include "tuner/search_model_internal.h"

#include "tuner/base/memory.h"

#include <stdlib.h>
#include <string.h>

// --- the kernel ------------------------------------------------------------------------------------------------

double st_kernel_distance(const st_features *features, size_t a, size_t b, size_t feature)
{
    size_t width = features->width;
    double delta = fabs((double)features->x[a * width + feature] - (double)features->x[b * width + feature]);
    return features->is_word[feature] && delta > 0 ? 1 : delta;
}

double st_relevance_usual(const st_features *features, size_t feature)
{
    return ST_RELEVANCE_MIDDLE / (double)features->width * features->weight[feature];
}

st_kernel st_kernel_of(const st_model *model)
{
    st_kernel k = {.width = model->features->width, .noise = exp(model->noise)};
    k.share = 1 / ST_RELEVANCE_MIDDLE;
    for (size_t f = 0; f < k.width; f++)
        k.r[f] = exp(model->relevance[f]);
    return k;
}

double st_kernel_value(const st_features *features, const st_kernel *k, size_t a, size_t b)
{
    double sum = 0, square = 0;
    for (size_t f = 0; f < k->width; f++) {
        double delta = st_kernel_distance(features, a, b, f), squared = delta * delta;
        square += k->r[f] * squared;
        sum += k->r[f] * (squared > 0 ? exp(-2 * squared) : 1);
    }
    double d = sqrt(square);
    return sum * k->share + (1 + d) * exp(-d);
}

double st_kernel_own(const st_kernel *k)
{
    double sum = 0;
    for (size_t f = 0; f < k->width; f++)
        sum += k->r[f];
    return sum * k->share + 1;
}

static double *lower_row(const st_model *model, size_t i)
{
    return model->lower + i * (i + 1) / 2;
}

// --- opening ---------------------------------------------------------------------------------------------------

st_code st_model_open(const st_features *features, const size_t *rows, size_t row_count, st_model **out,
                      st_error *error)
{
    st_model *model = st_calloc(1, sizeof *model);
    *out = NULL;
    if (!model)
        return st_fail_memory(error, "preparing a model");
    model->features = features;
    model->rows = rows;
    model->row_count = row_count;
    for (size_t f = 0; f < features->width; f++)
        model->relevance[f] = log(st_relevance_usual(features, f));
    model->noise = log(ST_NOISE_MIDDLE);
    model->variance = st_malloc((row_count + 1) * sizeof *model->variance);
    model->scratch = st_malloc((row_count + 1) * sizeof *model->scratch);
    if (!model->variance || !model->scratch) {
        st_model_close(model);
        return st_fail_memory(error, "preparing a model");
    }
    st_kernel k = st_kernel_of(model);
    for (size_t i = 0; i < row_count; i++)
        model->variance[i] = (float)st_kernel_own(&k);
    *out = model;
    return ST_OK;
}

void st_model_close(st_model *model)
{
    if (!model)
        return;
    st_free(model->at);
    st_free(model->lower);
    st_free(model->solved);
    st_free(model->variance);
    st_free(model->scratch);
    st_free(model);
}

size_t st_model_count(const st_model *model)
{
    return model->count;
}

double st_model_relevance(const st_model *model, size_t feature)
{
    return exp(model->relevance[feature]);
}

// --- adding an observation ---------------------------------------------------------------------------------------

static st_code make_room(st_model *model, st_error *error)
{
    if (model->count < model->capacity)
        return ST_OK;
    size_t wanted = model->capacity ? model->capacity * 2 : 16;
    size_t *at = st_realloc(model->at, wanted * sizeof *at);
    if (at)
        model->at = at;
    double *lower = st_realloc(model->lower, wanted * (wanted + 1) / 2 * sizeof *lower);
    if (lower)
        model->lower = lower;
    float *solved = st_realloc(model->solved, wanted * (model->row_count + 1) * sizeof *solved);
    if (solved)
        model->solved = solved;
    if (!at || !lower || !solved)
        return st_fail_memory(error, "preparing a model");
    model->capacity = wanted;
    return ST_OK;
}

static void extend(st_model *model, const st_kernel *k, size_t i)
{
    double *row = lower_row(model, i);
    double diagonal = st_kernel_own(k) + k->noise + ST_JITTER;
    for (size_t j = 0; j < i; j++) {
        const double *other = lower_row(model, j);
        double sum = st_kernel_value(model->features, k, model->at[i], model->at[j]);
        for (size_t l = 0; l < j; l++)
            sum -= row[l] * other[l];
        row[j] = sum / other[j];
        diagonal -= row[j] * row[j];
    }
    row[i] = sqrt(diagonal > ST_JITTER ? diagonal : ST_JITTER);
    double *work = model->scratch;
    for (size_t c = 0; c < model->row_count; c++)
        work[c] = st_kernel_value(model->features, k, model->at[i], model->rows[c]);
    for (size_t j = 0; j < i; j++) {
        const float *solved = model->solved + j * model->row_count;
        double factor = row[j];
        for (size_t c = 0; c < model->row_count; c++)
            work[c] -= factor * (double)solved[c];
    }
    float *solved = model->solved + i * model->row_count;
    double inverse = 1 / row[i];
    for (size_t c = 0; c < model->row_count; c++) {
        float value = (float)(work[c] * inverse);
        solved[c] = value;
        model->variance[c] -= value * value;
    }
}

st_code st_model_add(st_model *model, size_t index, st_error *error)
{
    if (model->count == ST_MODEL_MOST)
        return ST_OK;
    st_code code = make_room(model, error);
    if (code != ST_OK)
        return code;
    st_kernel k = st_kernel_of(model);
    model->at[model->count] = index;
    extend(model, &k, model->count);
    model->count++;
    return ST_OK;
}

void st_model_rebuild(st_model *model)
{
    st_kernel k = st_kernel_of(model);
    float own = (float)st_kernel_own(&k);
    for (size_t c = 0; c < model->row_count; c++)
        model->variance[c] = own;
    for (size_t i = 0; i < model->count; i++)
        extend(model, &k, i);
}

// --- predicting --------------------------------------------------------------------------------------------------

double st_model_centre(const double *z, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += z[i];
    return count ? sum / (double)count : 0;
}

// lower⁻¹ (z - middle)
static void solve_forward(const st_model *model, const double *z, double centre, double *out)
{
    for (size_t i = 0; i < model->count; i++) {
        const double *row = lower_row(model, i);
        double sum = z[i] - centre;
        for (size_t j = 0; j < i; j++)
            sum -= row[j] * out[j];
        out[i] = sum / row[i];
    }
}

// s² of the signal, drawn to what logarithms of times usually have where there are few answers.
double st_model_signal(const double *white, size_t count)
{
    const double usual = 0.1, weight = 3;
    double sum = usual * weight;
    for (size_t i = 0; i < count; i++)
        sum += white[i] * white[i];
    return sum / ((double)count + weight);
}

st_code st_model_predict(st_model *model, const double *z, double *mean, double *deviation, st_error *error)
{
    double *white = st_malloc((model->count + 1) * sizeof *white);
    if (!white)
        return st_fail_memory(error, "asking a model");
    double centre = st_model_centre(z, model->count);
    solve_forward(model, z, centre, white);
    double variance = st_model_signal(white, model->count);
    for (size_t c = 0; c < model->row_count; c++)
        mean[c] = centre;
    for (size_t j = 0; j < model->count; j++) {
        const float *solved = model->solved + j * model->row_count;
        for (size_t c = 0; c < model->row_count; c++)
            mean[c] += white[j] * (double)solved[c];
    }
    for (size_t c = 0; c < model->row_count; c++)
        deviation[c] = sqrt(variance * fmax((double)model->variance[c], 1e-12));
    st_free(white);
    return ST_OK;
}
