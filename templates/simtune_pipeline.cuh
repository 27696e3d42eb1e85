// SPDX-License-Identifier: Apache-2.0
// Warps of a block that hand each other tiles in shared memory: one brings them, others work on
// them, each at its own pace. Beside simtune_tiles.cuh, whose copies it uses.
//
// Promises:
//  1. A signal has phases, 0 1 0 1 … One is complete when as many arrivals have come as the signal
//     was opened for, and all bytes that were announced. Who has waited for a phase sees what was
//     written before its arrivals.
//  2. Nobody arrives twice in a phase, so nobody may run two phases ahead of who waits.
//  3. Shared memory that threads have written may be filled again by bring once each of them has
//     called order_before_bulk_copies and arrived where the bringing warp has waited.
#ifndef SIMTUNE_PIPELINE_CUH
#define SIMTUNE_PIPELINE_CUH
#include "simtune_tiles.cuh"

namespace simtune {

// --- signals -------------------------------------------------------------------------------------
// Words of shared memory. sm_90: an mbarrier; before: arrivals so far, and how many make a phase, in
// the halves of the word. One thread opens it, then the block has a barrier. A whole warp waits.
#if defined(SIMTUNE_EMULATED) || (defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900)
__device__ __forceinline__ void signal_open(u64 *signal, u32 arrivals) {
    mbarrier_open(signal, arrivals);
}
__device__ __forceinline__ void signal_arrive(u64 *signal) {
    mbarrier_arrive(signal);
}
__device__ __forceinline__ void signal_wait(u64 *signal, u32 phase) {
#ifdef SIMTUNE_EMULATED // one lane asks, so that the others do not cost time
    if (simtune_emu_lane() == 0)
        mbarrier_wait(signal, phase);
    __syncwarp();
#else
    mbarrier_wait(signal, phase);
#endif
}
#else
__device__ __forceinline__ void signal_open(u64 *signal, u32 arrivals) {
    *signal = (u64)arrivals << 32;
}
__device__ __forceinline__ void signal_arrive(u64 *signal) {
    __threadfence_block();
    atomicAdd((u32 *)signal, 1u);
}
__device__ __forceinline__ void signal_wait(u64 *signal, u32 phase) {
    const volatile u32 *halves = (const volatile u32 *)signal;
    const u32 arrivals = halves[1];
    while ((halves[0] / arrivals & 1u) == phase) {
    }
    __threadfence_block();
}
#endif

// --- copies by one warp --------------------------------------------------------------------------
// All lanes of a warp call bring any number of times, then brought once, which is one arrival at
// `signal`. `to` in shared memory agrees with `from` modulo 16 (shared_place). Whole 16 bytes go by
// bulk copies (sm_90; no thread waits for them), by asynchronous copies (sm_80; the warp waits in
// brought), or by loads and stores; the ends that are less, element by element. Nothing beyond
// from + count is read. `announced` starts at 0.
template <class E>
__device__ __forceinline__ void bring(E *to, const E *from, u32 count, u64 *signal, u32 &announced) {
    const int FORM = copy_form<COPY_bulk>::FORM;
    const u32 lane = threadIdx.x % 32;
    u32 head = (0u - (u32)(u64)from) % 16 / (u32)sizeof(E);
    head = head < count ? head : count;
    const u32 body = (count - head) * (u32)sizeof(E) / 16 * 16; // bytes
    const u32 after = head + body / (u32)sizeof(E);
    if (FORM == COPY_bulk) {
        if (body != 0 && lane == 0)
            bulk_copy(to + head, from + head, body, signal);
        announced += body;
    } else {
        const char *source = (const char *)(from + head);
        char *target = (char *)(to + head);
        for (u32 at = lane * 16; at < body; at += 512) {
            if (FORM == COPY_async) {
                async_copy_16(target + at, source + at);
            } else {
                packet<16> piece;
                loader<LOAD_plain>::load(piece, source + at);
                store_shared(target + at, piece);
            }
        }
    }
    if (head != 0 || after != count) {
        if (lane < head)
            to[lane] = from[lane];
        for (u32 i = after + lane; i < count; i += 32)
            to[i] = from[i];
        order_before_bulk_copies();
    }
}

__device__ __forceinline__ void brought(u64 *signal, u32 announced) {
    const int FORM = copy_form<COPY_bulk>::FORM;
    if (FORM == COPY_async) {
        async_commit();
        async_wait<0>();
    }
    __syncwarp();
    if (threadIdx.x % 32 != 0)
        return;
    if (FORM == COPY_bulk)
        mbarrier_arrive_expect(signal, announced);
    else
        signal_arrive(signal);
}

// --- looking back over many tiles at once --------------------------------------------------------
// look_back with DEPTH loads of each lane under way: 32 * DEPTH tiles are looked at together. Where blocks publish
// their totals long before they are asked for, nobody polls, and what counts is how many tiles a round trip to L2
// covers: 32 are too few when a tile ends somewhere every few nanoseconds. For counts (tile_count_state).
template <int DEPTH> __device__ __forceinline__ u64 look_far_back(const u64 *states, u64 tile, u32 pause) {
    typedef tile_count_state state;
    const u32 lane = threadIdx.x % 32;
    u64 sum = 0, end = tile;
    bool found = end == 0;
    while (!found) {
        u64 value[DEPTH];
        u32 status[DEPTH];
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            value[k] = 0;
            status[k] = TILE_PREFIX; // of nothing, before tile 0
            if (lane + 32 * k < end)
                status[k] = state::get(states, end - 1 - lane - 32 * k, value[k]);
        }
        u32 rows = 0;
        bool wait = false;
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            const u32 prefixes = __ballot_sync(0xffffffffu, status[k] == TILE_PREFIX);
            // The lanes up to the nearest prefix, or all.
            const u32 wanted = prefixes ? prefixes ^ (prefixes - 1) : 0xffffffffu;
            const u32 empty = __ballot_sync(0xffffffffu, status[k] == TILE_EMPTY) & wanted;
            wait = wait || (!found && empty != 0);
            if (!found && !wait) {
                sum += wanted >> lane & 1u ? value[k] : 0;
                found = prefixes != 0;
                rows++;
            }
        }
        end -= found ? 0 : 32 * rows;
#ifdef SIMTUNE_EMULATED
        if (wait)
            simtune_emu_yield();
#endif
        if (wait && pause)
            __nanosleep(pause);
    }
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2)
        sum += shuffle_xor(sum, mask);
    return sum;
}

// The totals of the tiles [first, end), added up; as far, in one round trip. A block that keeps the sum of all before
// its last tile needs no more than the tiles since: about as many as there are blocks, whose totals depend on nothing
// but their blocks' loads. No block waits for what another has added up, so there is no chain.
template <int DEPTH>
__device__ __forceinline__ u64 totals_between(const u64 *states, u64 first, u64 end, u32 pause) {
    typedef tile_count_state state;
    u64 sum = 0;
    for (u64 from = first + threadIdx.x % 32; from - threadIdx.x % 32 < end; from += 32 * DEPTH) {
        u64 value[DEPTH];
        u32 status[DEPTH];
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            value[k] = 0;
            status[k] = TILE_TOTAL;
            if (from + 32 * k < end)
                status[k] = state::get(states, from + 32 * k, value[k]);
        }
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            while (status[k] == TILE_EMPTY) {
                if (pause)
                    __nanosleep(pause);
                status[k] = state::get(states, from + 32 * k, value[k]);
            }
            sum += value[k];
        }
    }
    __syncwarp();
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2)
        sum += shuffle_xor(sum, mask);
    return sum;
}

} // namespace simtune

#endif // SIMTUNE_PIPELINE_CUH
