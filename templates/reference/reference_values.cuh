// SPDX-License-Identifier: Apache-2.0
// What the plain references of reduce, segreduce and scan share: how an element is read, and a value with
// its rounding error and magnitude. Included after a template, whose types and words it takes.
#ifndef SIMTUNE_REFERENCE_VALUES_CUH
#define SIMTUNE_REFERENCE_VALUES_CUH

namespace simtune {

// How a type is read: floats as double, integers as themselves.
template <class T> struct reference_type { typedef T R; };
template <> struct reference_type<float> { typedef double R; };
template <> struct reference_type<simtune_half> { typedef double R; };
template <> struct reference_type<simtune_bfloat16> { typedef double R; };

template <class T> __device__ T reference_read(T value) {
    return value;
}
__device__ inline double reference_read(float value) {
    return (double)value;
}
__device__ inline double reference_read(simtune_half value) {
    const int exponent = (value.bits >> 10) & 31, fraction = value.bits & 1023;
    double size =
        exponent == 0 ? fraction * (1.0 / 16777216.0) : (1024 + fraction) * (1.0 / 1024.0);
    for (int e = exponent; e > 15 && exponent != 31; e--)
        size *= 2.0;
    for (int e = exponent; e > 0 && e < 15; e++)
        size *= 0.5;
    if (exponent == 31)
        size = limits<double>::greatest() * (fraction ? 0.0 : 1.0); // infinity times 0 is NaN
    return value.bits & 0x8000u ? -size : size;
}
__device__ inline double reference_read(simtune_bfloat16 value) {
    union {
        unsigned int bits;
        float number;
    } both;
    both.bits = (unsigned int)value.bits << 16;
    return (double)both.number;
}

// What is known of all elements so far.
template <class R> struct reference_state {
    R value, error;
    double magnitude;
};

template <class R> __device__ R reference_sum(R a, R b, R *) {
    return (R)((u64)a + (u64)b);
}
__device__ inline double reference_sum(double a, double b, double *error) {
    const double sum = a + b, b_part = sum - a, a_part = sum - b_part;
    *error += (a - a_part) + (b - b_part);
    return sum;
}

template <int OPERATION, class R>
__device__ void reference_add(reference_state<R> &to, const reference_state<R> &from) {
    if (OPERATION == op_sum) {
        to.value = reference_sum(to.value, from.value, &to.error);
        to.error = (R)(to.error + from.error);
    } else if (to.value == to.value) { // not a NaN already
        const bool better = OPERATION == op_min ? from.value < to.value : to.value < from.value;
        if (better || from.value != from.value)
            to.value = from.value;
    }
    to.magnitude += from.magnitude;
}

template <int OPERATION, class R, class T>
__device__ void reference_add_element(reference_state<R> &to, T element) {
    reference_state<R> one = {reference_read(element), (R)0, 0.0};
    one.magnitude = (double)one.value;
    if (one.magnitude < 0)
        one.magnitude = -one.magnitude;
    reference_add<OPERATION, R>(to, one);
}

template <int OPERATION, class R> __device__ reference_state<R> reference_empty() {
    reference_state<R> state = {(R)0, (R)0, 0.0};
    if (OPERATION != op_sum)
        state.value = OPERATION == op_min ? limits<R>::greatest() : limits<R>::least();
    return state;
}

} // namespace simtune

#endif // SIMTUNE_REFERENCE_VALUES_CUH
