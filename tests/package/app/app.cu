// SPDX-License-Identifier: Apache-2.0
// Sums, scans and compacts on three streams at once, eagerly and as a replayed graph, and checks every answer with the
// CPU. Exit 77: no GPU here.
#include <cuda_runtime.h>

#include "simtune_compact.h"
#include "simtune_reduce.h"
#include "simtune_scan.h"

#include <cstdio>
#include <vector>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t status_ = (call);                                                                                  \
        if (status_ != cudaSuccess) {                                                                                  \
            std::printf("%s: %s\n", #call, cudaGetErrorString(status_));                                               \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

enum { STREAMS = 3, REPLAYS = 100 };

struct buffers {
    float *in, *sum, *scanned, *kept;
    unsigned char *flags;
    unsigned long long *count;
    void *temp[3];
    size_t bytes[3];
};

size_t storage_of_compaction(size_t n); // other.cpp

static cudaError_t enqueue(buffers &b, size_t n, cudaStream_t stream)
{
    cudaError_t status = simtune_reduce_f32_sum(b.temp[0], &b.bytes[0], b.in, b.sum, n, stream);
    if (status == cudaSuccess)
        status = simtune_exclusive_scan_f32_sum(b.temp[1], &b.bytes[1], b.in, b.scanned, n, stream);
    if (status == cudaSuccess)
        status = simtune_compact_f32_flagged(b.temp[2], &b.bytes[2], b.in, b.flags, b.kept, b.count, n, stream);
    return status;
}

static int check(const buffers &b, size_t n, const std::vector<float> &in, const std::vector<unsigned char> &flags)
{
    std::vector<float> scanned(n), kept(n);
    float sum = -1;
    unsigned long long count = 0, expected = 0;
    CHECK(cudaMemcpy(&sum, b.sum, sizeof sum, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&count, b.count, sizeof count, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(scanned.data(), b.scanned, n * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(kept.data(), b.kept, n * sizeof(float), cudaMemcpyDeviceToHost));
    double running = 0; // small whole numbers: exact
    for (size_t i = 0; i < n; i++) {
        if (scanned[i] != (float)running || (flags[i] && kept[expected++] != in[i])) {
            std::printf("n=%zu: wrong at %zu\n", n, i);
            return 1;
        }
        running += in[i];
    }
    if (sum != (float)running || count != expected) {
        std::printf("n=%zu: sum %g (%g), kept %llu (%llu)\n", n, sum, running, count, expected);
        return 1;
    }
    return 0;
}

static int run(size_t n)
{
    std::vector<float> in(n);
    std::vector<unsigned char> flags(n);
    for (size_t i = 0; i < n; i++) {
        in[i] = (float)(i % 3 == 0) - (float)(i % 7 == 0);
        flags[i] = (unsigned char)(i % 5 == 0);
    }
    buffers all[STREAMS];
    cudaStream_t streams[STREAMS];
    for (int s = 0; s < STREAMS; s++) {
        buffers &b = all[s];
        CHECK(cudaStreamCreate(&streams[s]));
        CHECK(cudaMalloc(&b.in, n * sizeof(float)));
        CHECK(cudaMalloc(&b.scanned, n * sizeof(float)));
        CHECK(cudaMalloc(&b.kept, n * sizeof(float)));
        CHECK(cudaMalloc(&b.flags, n));
        CHECK(cudaMalloc(&b.sum, sizeof(float)));
        CHECK(cudaMalloc(&b.count, sizeof(unsigned long long)));
        CHECK(cudaMemcpy(b.in, in.data(), n * sizeof(float), cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(b.flags, flags.data(), n, cudaMemcpyHostToDevice));
        for (int k = 0; k < 3; k++)
            b.temp[k] = nullptr, b.bytes[k] = 0;
        CHECK(enqueue(b, n, streams[s]));
        if (b.bytes[2] != storage_of_compaction(n)) {
            std::printf("two files disagree on the storage of a compaction\n");
            return 1;
        }
        for (int k = 0; k < 3; k++) {
            CHECK(cudaMalloc(&b.temp[k], b.bytes[k] ? b.bytes[k] : 1));
            CHECK(cudaMemset(b.temp[k], 0xFF, b.bytes[k]));
        }
    }
    for (int s = 0; s < STREAMS; s++)
        CHECK(enqueue(all[s], n, streams[s]));
    CHECK(cudaDeviceSynchronize());
    for (int s = 0; s < STREAMS; s++)
        if (check(all[s], n, in, flags))
            return 1;
    for (int s = 0; s < STREAMS; s++) { // the same as a graph, replayed
        cudaGraph_t graph;
        cudaGraphExec_t exec;
        CHECK(cudaMemset(all[s].scanned, 0xFF, n * sizeof(float)));
        CHECK(cudaStreamBeginCapture(streams[s], cudaStreamCaptureModeThreadLocal));
        CHECK(enqueue(all[s], n, streams[s]));
        CHECK(cudaStreamEndCapture(streams[s], &graph));
        CHECK(cudaGraphInstantiate(&exec, graph, 0));
        for (int i = 0; i < REPLAYS; i++)
            CHECK(cudaGraphLaunch(exec, streams[s]));
        CHECK(cudaStreamSynchronize(streams[s]));
        if (check(all[s], n, in, flags))
            return 1;
        CHECK(cudaGraphExecDestroy(exec));
        CHECK(cudaGraphDestroy(graph));
    }
    for (int s = 0; s < STREAMS; s++) {
        void *owned[] = {all[s].in,   all[s].scanned, all[s].kept,    all[s].flags,  all[s].sum,
                         all[s].count, all[s].temp[0], all[s].temp[1], all[s].temp[2]};
        for (void *memory : owned)
            CHECK(cudaFree(memory));
        CHECK(cudaStreamDestroy(streams[s]));
    }
    return 0;
}

int main()
{
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
        std::printf("no GPU here\n");
        return 77;
    }
    const size_t sizes[] = {1, 1000, 65536, 1000003, 16777216};
    for (size_t n : sizes)
        if (run(n))
            return 1;
    std::printf("all right\n");
    return 0;
}
