// SPDX-License-Identifier: Apache-2.0
// The kernels that the counterfeit libcuda computes: those of templates/support.cu, from their own text (each is a
// loop over a grid, so a grid of one thread does all of it), and that of tests/faults_in_turn/templates/blend.cu,
// written again. What only moves bytes, to be timed, moves none. The copy of blend in a header is known by its mangled
// name; FAKE_CUDA_HEADER_NS is the time of that, and FAKE_CUDA_HEADER_WRONG makes its answers wrong.
#include "tests/fake/fake_cuda.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#define __device__
#define __global__
namespace {
struct index3 {
    unsigned x, y, z;
};
const index3 gridDim = {1, 1, 1}, blockDim = {1, 1, 1}, blockIdx = {0, 0, 0}, threadIdx = {0, 0, 0};
struct int4 {
    int x, y, z, w;
};
template <class T> void atomicAdd(T *at, T value) { *at += value; }
template <class T> void atomicMin(T *at, T value) { *at = value < *at ? value : *at; }
long long clock64() { return 1; }
void __nanosleep(unsigned) {}
}
#pragma GCC diagnostic ignored "-Wunused-function"
#include "templates/support.cu"

namespace {
// Arguments as cuLaunchKernelEx takes them, to the parameters of a kernel.
template <class... P, std::size_t... I> void spread(void (*kernel)(P...), void **a, std::index_sequence<I...>)
{
    kernel(*static_cast<P *>(a[I])...);
}

template <class... P> void spread_all(void (*kernel)(P...), void **arguments)
{
    spread(kernel, arguments, std::index_sequence_for<P...>{});
}

template <auto kernel> void run(void **arguments)
{
    spread_all(kernel, arguments);
}

void nothing(void **) {}

// `partial` must have been set to zero before. Unsigned: the data is any bits.
void blend(const unsigned *in, unsigned *partial, unsigned *out)
{
    for (int i = 0; i < 64; i++) {
        out[i] = in[i] * 3 + 1 + partial[0];
        partial[1] += in[i];
    }
}

void blend_of_header(const unsigned *in, unsigned *partial, unsigned *out)
{
    blend(in, partial, out);
}

void blend_wrong(const unsigned *in, unsigned *partial, unsigned *out)
{
    blend(in, partial, out);
    out[63] += 1;
}

void blend_plain(const unsigned *in, unsigned *right)
{
    for (int i = 0; i < 64; i++)
        right[i] = in[i] * 3 + 1;
}

const struct {
    const char *name;
    fake_kernel *run;
    double ns;
} kernels[] = {
    {"simtune_support_fill", run<simtune_support_fill>, 5000},
    {"simtune_support_compare", run<simtune_support_compare>, 5000},
    {"simtune_support_report", run<simtune_support_report>, 5000},
    {"simtune_support_check", run<simtune_support_check>, 5000},
    {"simtune_support_flush", nothing, 9000},
    {"simtune_support_read", nothing, 9000},
    {"simtune_support_copy", nothing, 9000},
    {"simtune_support_gate", nothing, 0},
    {"blend", run<blend>, 20000},
    {"blend_plain", run<blend_plain>, 90000},
};
}

extern "C" fake_kernel *fake_kernel_find(const char *name, double *ns)
{
    for (const auto &kernel : kernels)
        if (std::strcmp(kernel.name, name) == 0) {
            *ns = kernel.ns;
            return kernel.run;
        }
    if (std::strncmp(name, "_ZN", 3) != 0 || !std::strstr(name, "5blend"))
        return nullptr;
    const char *time = std::getenv("FAKE_CUDA_HEADER_NS");
    *ns = time ? std::atof(time) : 20000;
    return std::getenv("FAKE_CUDA_HEADER_WRONG") ? run<blend_wrong> : run<blend_of_header>;
}
