// SPDX-License-Identifier: Apache-2.0
// What a header's function costs the host before it launches anything: which device, which row, which layout of the
// temporary storage. The storage that is given is too small, so each call ends there, with cudaErrorInvalidValue.
//
//     nvcc -O2 -std=c++11 -arch=sm_90 -I FOLDER_OF_THE_HEADERS header_choice.cu -o header_choice && ./header_choice
//
// Prints `call NANOSECONDS` (the worst size's median), and a line a size. 77: no GPU.
#include "simtune_reduce.h"
#include "simtune_scan.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

enum { CALLS = 20000, ROUNDS = 31 };

static double now_ns()
{
    using namespace std::chrono;
    return (double)duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

template <class Call> static double median_of(Call call)
{
    std::vector<double> rounds;
    for (int r = 0; r < ROUNDS; r++) {
        const double began = now_ns();
        for (int i = 0; i < CALLS; i++)
            call();
        rounds.push_back((now_ns() - began) / CALLS);
    }
    std::sort(rounds.begin(), rounds.end());
    return rounds[ROUNDS / 2];
}

int main()
{
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
        std::printf("no GPU here\n");
        return 77;
    }
    float *memory = nullptr;
    if (cudaMalloc(&memory, 1024) != cudaSuccess)
        return 1;
    double worst = 0;
    const double device = median_of([] {
        int ordinal;
        (void)cudaGetDevice(&ordinal);
    });
    std::printf("cudaGetDevice alone %.1f ns\n", device);
    const size_t sizes[] = {65536, 1000003, 1048576, 3000000, 16777216, 268435456};
    for (size_t n : sizes) {
        size_t none = 0;
        // A row that needs no storage would launch: it is left out.
        size_t reduce_bytes = 0, scan_bytes = 0;
        (void)simtune_reduce_f32_sum(nullptr, &reduce_bytes, memory, memory, n, 0);
        (void)simtune_exclusive_scan_f32_sum(nullptr, &scan_bytes, memory, memory, n, 0);
        const bool reduces = reduce_bytes && simtune_reduce_f32_sum(memory, &none, memory, memory, n, 0) == cudaErrorInvalidValue;
        const bool scans = scan_bytes && simtune_exclusive_scan_f32_sum(memory, &none, memory, memory, n, 0) == cudaErrorInvalidValue;
        if (reduces) {
            const double ns = median_of([&] { (void)simtune_reduce_f32_sum(memory, &none, memory, memory, n, 0); });
            std::printf("reduce n=%zu %.1f ns\n", n, ns);
            worst = std::max(worst, ns);
        }
        if (scans) {
            const double ns = median_of([&] { (void)simtune_exclusive_scan_f32_sum(memory, &none, memory, memory, n, 0); });
            std::printf("scan n=%zu %.1f ns\n", n, ns);
            worst = std::max(worst, ns);
        }
    }
    (void)cudaGetLastError();
    if (worst == 0) {
        std::printf("no row of these sizes needs storage\n");
        return 1;
    }
    std::printf("call %.1f\n", worst);
    return 0;
}
