// SPDX-License-Identifier: Apache-2.0
// Choosing relevances, and judging what they are worth. The likelihood of the answers is climbed by its gradient
// (a few steps whose sizes follow the gradient's sign), from where the last fit ended.
#include "tuner/search_model_internal.h"

#include "tuner/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { FIT_MOST = 160, FIT_STEPS = 12 };

// Answers that a fit looks at, with all pairs of them.
typedef struct fitting {
    size_t count, width, pairs;
    size_t at[FIT_MOST];
    double z[FIT_MOST];
    float *squared, *alike;   // [pairs][width]: δ² and exp(-2 δ²)
    double *matrix, *inverse; // [count][count]
    double *weight;           // [count]: K⁻¹ (z - centre)
    double log_determinant, quadratic;
} fitting;

static void release(fitting *all)
{
    st_free(all->squared);
    st_free(all->alike);
    st_free(all->matrix);
    st_free(all->inverse);
    st_free(all->weight);
}

typedef struct ranked {
    double z;
    size_t i;
} ranked;

static int by_z(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->z != y->z)
        return x->z < y->z ? -1 : 1;
    return (x->i > y->i) - (x->i < y->i);
}

// All that are told; of very many the better half of those that have room, and the rest evenly.
static st_code choose(const st_model *model, const double *z, fitting *all, st_error *error)
{
    ranked *order = st_malloc((model->count + 1) * sizeof *order);
    size_t count = 0;
    if (!order)
        return st_fail_memory(error, "fitting a model");
    for (size_t i = 0; i < model->count; i++)
        if (!isnan(z[i]))
            order[count++] = (ranked){z[i], i};
    qsort(order, count, sizeof *order, by_z);
    size_t best = count <= FIT_MOST ? count : FIT_MOST / 2, rest = count - best;
    size_t more = count <= FIT_MOST ? 0 : FIT_MOST - best;
    for (size_t i = 0; i < best + more; i++) {
        const ranked *one = &order[i < best ? i : best + (i - best) * rest / more];
        all->at[all->count] = model->at[one->i];
        all->z[all->count++] = one->z;
    }
    st_free(order);
    return ST_OK;
}

static st_code prepare(const st_model *model, const double *z, fitting *all, st_error *error)
{
    st_code code = choose(model, z, all, error);
    if (code != ST_OK)
        return code;
    size_t n = all->count, width = all->width = model->features->width;
    all->pairs = n * (n - 1) / 2;
    all->squared = st_malloc((all->pairs * width + 1) * sizeof *all->squared);
    all->alike = st_malloc((all->pairs * width + 1) * sizeof *all->alike);
    all->matrix = st_malloc((n * n + 1) * sizeof *all->matrix);
    all->inverse = st_malloc((n * n + 1) * sizeof *all->inverse);
    all->weight = st_malloc((n + 1) * sizeof *all->weight);
    if (!all->squared || !all->alike || !all->matrix || !all->inverse || !all->weight)
        return st_fail_memory(error, "fitting a model");
    size_t pair = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++, pair++)
            for (size_t f = 0; f < width; f++) {
                double delta = st_kernel_distance(model->features, all->at[i], all->at[j], f);
                all->squared[pair * width + f] = (float)(delta * delta);
                all->alike[pair * width + f] = (float)exp(-2 * delta * delta);
            }
    return ST_OK;
}

// matrix = its Cholesky factor (lower). False: not positive.
static bool factor(double *matrix, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = matrix[i * n + j];
            for (size_t l = 0; l < j; l++)
                sum -= matrix[i * n + l] * matrix[j * n + l];
            if (i == j && !(sum > 0))
                return false;
            matrix[i * n + j] = i == j ? sqrt(sum) : sum / matrix[j * n + j];
        }
    return true;
}

// inverse of the matrix whose factor is `lower`; both [n][n].
static void invert(const double *lower, double *inverse, size_t n)
{
    // lower⁻¹, transposed: row c holds its column c, so that what follows runs along rows.
    for (size_t c = 0; c < n; c++) {
        double *column = inverse + c * n;
        for (size_t i = 0; i < n; i++) {
            double sum = i == c;
            for (size_t j = c; j < i && i > c; j++)
                sum -= lower[i * n + j] * column[j];
            column[i] = i < c ? 0 : sum / lower[i * n + i];
        }
    }
    // (lower⁻ᵀ lower⁻¹)[a][b] = Σ over i ≥ b of column a × column b; later rows need no earlier one.
    for (size_t a = 0; a < n; a++)
        for (size_t b = a; b < n; b++) {
            double sum = 0;
            for (size_t i = b; i < n; i++)
                sum += inverse[a * n + i] * inverse[b * n + i];
            inverse[a * n + b] = sum; // of this row only what lies ahead is read any more
        }
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < a; b++)
            inverse[a * n + b] = inverse[b * n + a];
}

// Fills matrix (factor), inverse, weight and the figures of the likelihood. *variance: s².
static bool evaluate(fitting *all, const st_kernel *k, double *variance)
{
    size_t n = all->count, pair = 0;
    double own = st_kernel_own(k) + k->noise + ST_JITTER, centre = st_model_centre(all->z, n);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++, pair++) {
            const float *squared = all->squared + pair * all->width, *alike = all->alike + pair * all->width;
            double sum = 0, square = 0;
            for (size_t f = 0; f < all->width; f++) {
                square += k->r[f] * (double)squared[f];
                sum += k->r[f] * (double)alike[f];
            }
            double d = sqrt(square);
            all->matrix[i * n + j] = sum * k->share + (1 + d) * exp(-d);
        }
        all->matrix[i * n + i] = own;
    }
    if (!factor(all->matrix, n))
        return false;
    double white[FIT_MOST];
    all->log_determinant = 0;
    for (size_t i = 0; i < n; i++) {
        double sum = all->z[i] - centre;
        for (size_t j = 0; j < i; j++)
            sum -= all->matrix[i * n + j] * white[j];
        white[i] = sum / all->matrix[i * n + i];
        all->log_determinant += 2 * log(all->matrix[i * n + i]);
    }
    *variance = st_model_signal(white, n);
    for (size_t i = n; i-- > 0;) {
        double sum = white[i];
        for (size_t j = i + 1; j < n; j++)
            sum -= all->matrix[j * n + i] * all->weight[j];
        all->weight[i] = sum / all->matrix[i * n + i];
    }
    invert(all->matrix, all->inverse, n);
    return true;
}

// Of the logarithm of the likelihood with its priors, to the logarithms of relevances and of the noise (last).
static void gradient(const st_model *model, const fitting *all, const st_kernel *k, double variance, double *out)
{
    size_t n = all->count, width = all->width, pair = 0;
    double noise = 0, own = 0;
    memset(out, 0, (width + 1) * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++, pair++) {
            const float *squared = all->squared + pair * width, *alike = all->alike + pair * width;
            // Both (i, j) and (j, i): twice the half.
            double pull = all->weight[i] * all->weight[j] / variance - all->inverse[i * n + j], square = 0;
            for (size_t f = 0; f < width; f++)
                square += k->r[f] * (double)squared[f];
            double product = -0.5 * exp(-sqrt(square));
            for (size_t f = 0; f < width; f++)
                out[f] += pull * (k->share * (double)alike[f] + product * (double)squared[f]);
        }
        double pull = 0.5 * (all->weight[i] * all->weight[i] / variance - all->inverse[i * n + i]);
        own += pull * k->share;
        noise += pull;
    }
    for (size_t f = 0; f < width; f++) {
        out[f] = (out[f] + own) * k->r[f];
        out[f] -= (model->relevance[f] - log(st_relevance_usual(model->features, f))) / (ST_RELEVANCE_SPREAD * ST_RELEVANCE_SPREAD);
    }
    out[width] = noise * k->noise - (model->noise - log(ST_NOISE_MIDDLE)) / (ST_NOISE_SPREAD * ST_NOISE_SPREAD);
}

static double climb(double at, double slope, double *step, double *before, double low, double high)
{
    if (*before != 0)
        *step *= slope * *before > 0 ? 1.3 : 0.4;
    *step = fmin(*step, 1);
    *before = slope;
    at += slope > 0 ? *step : slope < 0 ? -*step : 0;
    return fmin(fmax(at, low), high);
}

st_code st_model_fit(st_model *model, const double *z, st_error *error)
{
    fitting all = {0};
    double slope[ST_FEATURES_MOST + 1], step[ST_FEATURES_MOST + 1], before[ST_FEATURES_MOST + 1] = {0};
    st_code code = prepare(model, z, &all, error);
    for (size_t f = 0; f <= model->features->width; f++)
        step[f] = 0.3;
    for (int at = 0; at < FIT_STEPS && code == ST_OK && all.count > 2; at++) {
        st_kernel k = st_kernel_of(model);
        double variance;
        if (!evaluate(&all, &k, &variance))
            break;
        gradient(model, &all, &k, variance, slope);
        for (size_t f = 0; f < all.width; f++) {
            double usual = log(st_relevance_usual(model->features, f));
            model->relevance[f] = climb(model->relevance[f], slope[f], &step[f], &before[f], usual - 4, usual + 4);
        }
        model->noise = climb(model->noise, slope[all.width], &step[all.width], &before[all.width],
                             log(ST_NOISE_LEAST), 0);
    }
    release(&all);
    if (code == ST_OK)
        st_model_rebuild(model);
    return code;
}

// --- what it is worth ----------------------------------------------------------------------------------------------

// Ranks 1 … count; equal values share the middle of theirs.
static void rank(ranked *order, size_t count, double *out)
{
    qsort(order, count, sizeof *order, by_z);
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && order[end].z == order[i].z)
            end++;
        for (size_t j = i; j < end; j++)
            out[order[j].i] = (double)(i + end + 1) / 2;
        i = end;
    }
}

static double correlation(const double *a, const double *b, size_t count)
{
    double middle = (double)(count + 1) / 2, ab = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < count; i++) {
        ab += (a[i] - middle) * (b[i] - middle);
        aa += (a[i] - middle) * (a[i] - middle);
        bb += (b[i] - middle) * (b[i] - middle);
    }
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}

double st_model_cross_validated(const st_model *model, const double *z)
{
    fitting all = {0};
    double variance, result = NAN;
    st_kernel k = st_kernel_of(model);
    ranked *order = st_malloc(FIT_MOST * sizeof *order);
    double *was = st_malloc(FIT_MOST * sizeof *was), *said = st_malloc(FIT_MOST * sizeof *said);
    if (order && was && said && prepare(model, z, &all, NULL) == ST_OK && all.count >= 4 &&
        evaluate(&all, &k, &variance)) {
        for (size_t i = 0; i < all.count; i++)
            order[i] = (ranked){all.z[i], i};
        rank(order, all.count, was);
        // Left out: z_i - weight_i / inverse_ii.
        for (size_t i = 0; i < all.count; i++)
            order[i] = (ranked){all.z[i] - all.weight[i] / all.inverse[i * all.count + i], i};
        rank(order, all.count, said);
        result = correlation(was, said, all.count);
    }
    st_free(order);
    st_free(was);
    st_free(said);
    release(&all);
    return result;
}
