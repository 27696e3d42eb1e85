// SPDX-License-Identifier: Apache-2.0
// Device code of emit_total.cu.
#ifndef EMIT_TOTAL_DEVICE_CUH
#define EMIT_TOTAL_DEVICE_CUH

namespace simtune {

enum op_word { op_sum, op_max };
struct simtune_half { unsigned short bits; };

template <class T> struct wide {
    typedef T type;
    static __device__ T of(T value) { return value; }
    static __device__ T back(T value) { return value; }
};
template <> struct wide<float> {
    typedef double type;
    static __device__ double of(float value) { return value; }
    static __device__ float back(double value) { return (float)value; }
};
template <> struct wide<simtune_half> {
    typedef double type;
    static __device__ double of(simtune_half value)
    {
        float wide;
        asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
        return wide;
    }
    static __device__ simtune_half back(double value)
    {
        simtune_half half;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half.bits) : "f"((float)value));
        return half;
    }
};

template <int OP> struct joiner {
    template <class A> static __device__ A join(A a, A b) { return a + b; }
    template <class A> static __device__ A seed() { return A(0); }
};
template <> struct joiner<op_max> {
    template <class A> static __device__ A join(A a, A b) { return a < b ? b : a; }
    template <class A> static __device__ A seed() { return A(0); }
};
template <int OP, class A> __device__ A join(A a, A b) { return joiner<OP>::join(a, b); }
template <int OP, class A> __device__ A seed() { return joiner<OP>::template seed<A>(); }

__device__ inline void allow_dependents()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}
__device__ inline void wait_for_previous()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

} // namespace simtune

#endif
