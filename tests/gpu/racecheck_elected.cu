// SPDX-License-Identifier: Apache-2.0
// What racecheck can follow when a warp hands shared memory to another by an mbarrier: the same two kernels, with one
// lane that arrives for its warp behind __syncwarp (elected), and with each lane arriving itself (every). Both are
// right: __syncwarp orders memory among the lanes, an arrival releases, a wait acquires, and the order is cumulative.
//
//   racecheck_elected elected|every     exit 0: the answers were right
#include <cstdio>
#include <cstring>

typedef unsigned long long u64;
typedef unsigned u32;
enum { TURNS = 8 };

__device__ u32 address(const void *shared) { return (u32)__cvta_generic_to_shared(shared); }
__device__ void open(u64 *signal, u32 arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address(signal)), "r"(arrivals) : "memory");
}
__device__ void arrive(u64 *signal) {
    asm volatile("{.reg .b64 t; mbarrier.arrive.shared.b64 t, [%0];}" ::"r"(address(signal)) : "memory");
}
__device__ void wait(u64 *signal, u32 phase) {
    u32 done = 0;
    while (!done)
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                     : "=r"(done) : "r"(address(signal)), "r"(phase) : "memory");
}

// Warp 0 writes a word a lane, warp 1 reads them, turn by turn, in one slot.
template <bool EVERY> __global__ void hand_over(u32 *out) {
    __shared__ u64 full, empty;
    __shared__ u32 slot[32];
    const u32 lane = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        open(&full, EVERY ? 32 : 1);
        open(&empty, EVERY ? 32 : 1);
    }
    __syncthreads();
    u32 sum = 0;
    for (u32 turn = 0; turn < TURNS; turn++) {
        if (threadIdx.x < 32) {
            if (turn > 0)
                wait(&empty, (turn - 1) & 1);
            slot[lane] = turn + lane;
            __syncwarp();
            if (EVERY || lane == 0)
                arrive(&full);
        } else {
            wait(&full, turn & 1);
            sum += slot[31 - lane];
            __syncwarp();
            if (EVERY || lane == 0)
                arrive(&empty);
        }
    }
    if (threadIdx.x >= 32)
        out[lane] = sum;
}

int main(int count, char **arguments) {
    u32 *out, host[32];
    if (cudaMalloc(&out, sizeof host))
        return 2;
    if (count > 1 && std::strcmp(arguments[1], "every") == 0)
        hand_over<true><<<1, 64>>>(out);
    else
        hand_over<false><<<1, 64>>>(out);
    if (cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost))
        return 2;
    for (u32 lane = 0; lane < 32; lane++)
        if (host[lane] != TURNS * (TURNS - 1) / 2 + TURNS * (31 - lane))
            return std::printf("lane %u: %u\n", lane, host[lane]), 1;
    return 0;
}
