// SPDX-License-Identifier: Apache-2.0
// A sine, its fast form, and one that is wrong: judged by a bound that the reference gives number by number.
// simtune: family   rough
// simtune: axis     bound = ulps absolute
// simtune: param    FORM = library fast wrong
// simtune: default  FORM=library
// simtune: buffer   x : input f32[1021]   y : output f32[1021]
// simtune: buffer   right : expected f64[1021]   allowed : magnitude f64[1021]
// simtune: launch   rough grid=4 block=256 args=x,y
// simtune: reference rough_plain grid=4 block=256 args=x,right,allowed
// simtune: compare  y with right magnitude allowed tolerance 1e-7

extern "C" __global__ void rough(const float *x, float *y) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= 1021)
        return;
#if FORM == FORM_fast
    y[i] = __sinf(x[i]);
#else
    y[i] = sinf(x[i]) + (FORM == FORM_wrong && i == 77 ? 2e-3f : 0.0f);
#endif
}

extern "C" __global__ void rough_plain(const float *x, double *right, double *allowed) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= 1021)
        return;
    right[i] = sin((double)x[i]);
    allowed[i] = bound == bound_absolute ? 2000.0 : 4.0 * (right[i] < 0 ? -right[i] : right[i]);
}
