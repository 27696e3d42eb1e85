// SPDX-License-Identifier: Apache-2.0
// Prefix sums, minima and maxima of n elements, inclusive or exclusive. Each configuration is right
// for every n from 0 on and for any base that is aligned to an element. templates/README.md tells
// what each parameter is for.
//
// clang-format off
// simtune: family   scan
// simtune: summary  inclusive and exclusive prefix sums, minima and maxima of n elements
//
// simtune: axis     kind = exclusive inclusive
// simtune: axis     T  = f32 f64 i32 u32 i64 u64 f16 bf16
// simtune: axis     op = sum min max
// simtune: axis     n  = 64Ki 1Mi 16Mi 256Mi
//
// How a block scans: BLOCK threads hold ITEMS elements each, in rows of VEC; the rows' values are
// scanned by ALGORITHM.
// simtune: param    ALGORITHM = hillis_steele blelloch blelloch_padded warp_shuffle raking serial  role sync smem
// simtune: param    BLOCK  = 128 256 384 512 1024                     role tlp work
// simtune: param    ITEMS  = 1 2 4 8 12 16 24 32 48 64                role ilp mlp work regs
// simtune: param    VEC    = 1 2 4 8                                  role mlp
// simtune: param    STORE  = plain streaming                          role mlp
// simtune: param    MIN_BLOCKS = 1 2 3 4 6 8                          role regs tlp
// How blocks come together.
// simtune: param    PASS = one_block cluster reduce_then_scan scan_then_propagate watched look_back pipelined_look_back  role sync work
// simtune: param    CLUSTER = 1 2 4 8                                 role tlp sync
// simtune: param    STAGES = 1 2 3 4                                  role mlp smem
// simtune: param    COPY   = bulk async plain                         role mlp
// simtune: param    PAUSE  = 0 20 100                                 role sync
// simtune: param    LOOK   = nearest wave                             role sync
// simtune: param    ROLES  = same divided                             role sync tlp
// simtune: param    RESET  = memset dependent                         role sync
//
// The article's version, repaired: Hillis-Steele in shared memory, block offsets by three kernels.
// simtune: default  ALGORITHM=hillis_steele BLOCK=256 ITEMS=1 VEC=1 STORE=plain MIN_BLOCKS=1
// simtune: default  PASS=reduce_then_scan CLUSTER=1 STAGES=1 COPY=plain PAUSE=0 LOOK=nearest ROLES=same RESET=memset
// simtune: rival    ALGORITHM=hillis_steele ALGORITHM=blelloch
//
// What cannot be, on this device or at all.
// simtune: let      vec_bytes = VEC * size_of_T
// simtune: let      acc_bytes = max(4, size_of_T)
// simtune: let      rows = ITEMS / VEC
// simtune: let      tile = BLOCK * ITEMS
// simtune: let      is_pipelined = PASS == pipelined_look_back
// simtune: let      is_look_back = PASS == look_back or is_pipelined
// simtune: let      is_three = PASS == reduce_then_scan or PASS == scan_then_propagate
// simtune: let      is_blelloch = ALGORITHM == blelloch or ALGORITHM == blelloch_padded
// simtune: let      is_shuffle = ALGORITHM == warp_shuffle
// simtune: let      is_divided = ROLES == divided
// simtune: let      threads = BLOCK + is_divided * 128
// simtune: where    vec_bytes <= 16
// simtune: where    ITEMS % VEC == 0
// simtune: where    threads * MIN_BLOCKS <= THREADS_PER_SM
// simtune: where    threads <= MAX_THREADS_PER_BLOCK
// simtune: let      registers = ceil_div(ITEMS * size_of_T, 4) + rows * acc_bytes / 2 + 24
// simtune: where    registers * threads * MIN_BLOCKS <= REGISTERS_PER_SM
// simtune: where    registers <= 255
// simtune: let      is_power = BLOCK != 384 and (rows == 1 or rows == 2 or rows == 4 or rows == 8 or rows == 16)
// simtune: where    not is_blelloch or is_power
// The shared memory of an algorithm: the rows' values, twice where it is double-buffered or padded.
// simtune: let      scan_bytes = (not is_shuffle) * BLOCK * rows * acc_bytes * (1 + (ALGORITHM != blelloch and ALGORITHM != serial))
// simtune: where    scan_bytes <= 32768
// The ring of tiles, and a barrier for each.
// simtune: let      ring_bytes = is_pipelined * STAGES * tile * size_of_T
// simtune: where    (ring_bytes + scan_bytes + 2048 + SMEM_RESERVED) * MIN_BLOCKS <= SMEM_PER_SM
// simtune: where    ring_bytes + scan_bytes + 2048 <= SMEM_PER_BLOCK
// simtune: where    is_pipelined == (STAGES > 1)
// simtune: where    is_pipelined or COPY == plain
// simtune: where    COPY != bulk or CC >= 90
// simtune: where    COPY != async or CC >= 80
// simtune: where    PASS != watched or CC >= 90
// simtune: where    ROLES == same or (is_pipelined and COPY == bulk and is_shuffle)
// simtune: where    RESET == memset or (is_look_back and CC >= 90)
// simtune: where    PASS != cluster or (CC >= 90 and CLUSTER > 1 and CLUSTER <= MAX_CLUSTER)
// simtune: where    PASS == cluster or CLUSTER == 1
// simtune: where    is_look_back or (PAUSE == 0 and LOOK == nearest)
// Rounding twice is not allowed.
// simtune: where    PASS != scan_then_propagate or size_of_T >= 4 or op != sum
//
// What was never near the best, or only costs time: the algorithms in shared memory are tried in two
// passes …
// simtune: let      bytes_in = n * size_of_T
// simtune: let      is_plain = STORE == plain and MIN_BLOCKS == 1 and RESET == memset
// simtune: let      is_compared = (PASS == reduce_then_scan or PASS == look_back) and (BLOCK == 256 or BLOCK == 1024)
// simtune: prune    is_shuffle or (is_plain and is_compared and (VEC == 1 or vec_bytes == 16) and (rows == 1 or rows == 4))
// … shuffles with whole loads, and blocks that suit the size.
// simtune: prune    not is_shuffle or (vec_bytes == 16 and (STORE == streaming or PASS == watched))
// simtune: prune    PAUSE == 0
// simtune: prune    is_pipelined or (MIN_BLOCKS == 1 and LOOK == nearest)
// simtune: prune    PASS != one_block or (bytes_in <= 65536 and tile >= n / 4)
// simtune: prune    PASS != cluster or (CLUSTER == MAX_CLUSTER and bytes_in <= 2097152 and tile * CLUSTER >= n and tile * CLUSTER <= 4 * n)
// simtune: prune    PASS != watched or (n <= 1024 * tile and 16 * n >= SM_COUNT * tile and bytes_in <= 16777216)
// simtune: prune    PASS != look_back or (n <= 65536 * tile and (16 * n >= SM_COUNT * tile or BLOCK == 128))
// simtune: prune    not is_three or not is_shuffle or (ITEMS >= 8 and (16 * n >= SM_COUNT * tile or BLOCK == 128))
// simtune: prune    PASS != scan_then_propagate or ITEMS == 16
// simtune: let      is_filled = 2 * ring_bytes * MIN_BLOCKS >= SMEM_PER_SM
// simtune: prune    not is_pipelined or (bytes_in >= 8388608 and is_filled)
// simtune: prune    COPY == plain or COPY == bulk or CC < 90
// simtune: prune    not is_pipelined or COPY != plain or CC < 80
// simtune: prune    not is_divided or (LOOK == wave and MIN_BLOCKS <= 2)
// simtune: prune    not is_pipelined or is_divided or (STAGES == 2 and LOOK == nearest)
//
// A tile begins where a load of the ring or of a thread may begin, so that a base off that alignment
// may make one tile more.
// simtune: let      load_bytes = is_pipelined * 16 + (not is_pipelined) * vec_bytes
// simtune: let      is_off = align_in % load_bytes != 0
// simtune: let      most_tiles = max(1, ceil_div(n + load_bytes / size_of_T - 1, tile))
// simtune: let      tiles = max(1, ceil_div(n + is_off * (load_bytes / size_of_T - 1), tile))
// simtune: let      blocks = min(tiles, is_pipelined * SM_COUNT * MIN_BLOCKS + (not is_pipelined) * tiles)
// simtune: let      is_reset = RESET == dependent
// simtune: let      state_words = (is_look_back or PASS == watched) * (16 + most_tiles * acc_bytes / 4)
// simtune: let      partial_words = is_three * ceil_div(most_tiles * acc_bytes, 8)
// simtune: let      finish_block = min(1024, 32 * ceil_div(most_tiles, 128))
//
// simtune: buffer   in : input T[n]   out : output T[n]
// simtune: buffer   partial : temp u64[partial_words]   state : temp u64[state_words]
// simtune: buffer   reference_value : expected reference_T[n]   reference_magnitude : magnitude f64[n]
// simtune: in_place in out when PASS != watched
//
// simtune: zero     state  when is_look_back and not is_reset
// simtune: launch   scan_clear<Config> grid=ceil_div(state_words, 1024) block=256 args=state,state_words:u64 when is_look_back and is_reset
// simtune: launch   scan_one_block<Config> grid=1 block=BLOCK args=in,out,n when PASS == one_block
// simtune: launch   scan_cluster<Config> grid=CLUSTER block=BLOCK cluster=CLUSTER args=in,out,n when PASS == cluster
// simtune: launch   scan_totals<Config> grid=tiles block=BLOCK args=in,partial,n when PASS == reduce_then_scan
// simtune: launch   scan_tiles<Config> grid=tiles block=BLOCK args=in,out,partial,n when PASS == scan_then_propagate
// simtune: launch   scan_partials<Config> grid=1 block=finish_block args=in,partial,n when is_three
// simtune: launch   scan_from_partials<Config> grid=tiles block=BLOCK args=in,out,partial,n when PASS == reduce_then_scan
// simtune: launch   scan_propagate<Config> grid=tiles block=BLOCK args=in,out,partial,n when PASS == scan_then_propagate
// simtune: launch   scan_publish<Config> grid=tiles block=BLOCK+32*(BLOCK<1024) args=in,state,n when PASS == watched
// simtune: launch   scan_watch<Config> grid=tiles block=BLOCK dependent=1 args=in,out,state,n when PASS == watched
// simtune: launch   scan_look_back<Config> grid=tiles block=BLOCK dependent=is_reset args=in,out,state,n when PASS == look_back
// simtune: launch   scan_pipelined<Config> grid=blocks block=BLOCK smem=ring_bytes dependent=is_reset args=in,out,state,n when is_pipelined and not is_divided
// simtune: launch   scan_divided<Config> grid=blocks block=threads smem=ring_bytes dependent=is_reset args=in,out,state,n when is_divided
//
// Look-back combines what it finds, which is not the same in every run; min, max and integers do not
// care about the order.
// simtune: determinism run_to_run when not is_look_back or op != sum or not is_float_T
// simtune: determinism default none when op == sum and is_float_T
//
// simtune: let      reference_chunks = min(16384, max(1, ceil_div(n, 1024)))
// simtune: let      reference_blocks = ceil_div(reference_chunks, 4)
// simtune: reference reference_scan_chunks<Config> file=reference/scan_reference.cu grid=reference_blocks block=128 args=in,n,reference_chunks:u64
// simtune: reference reference_scan_offsets<Config> file=reference/scan_reference.cu grid=1 block=256 args=reference_chunks:u64
// simtune: reference reference_scan_values<Config> file=reference/scan_reference.cu grid=reference_blocks block=128 args=in,reference_value,reference_magnitude,n,reference_chunks:u64
//
// The height of the summation tree: a row, the block's algorithm, the grid.
// simtune: let      long_height = (ALGORITHM == raking) * (BLOCK * rows / 16) + (ALGORITHM == serial) * BLOCK * rows
// simtune: let      block_height = VEC + 2 * ceil_log2(BLOCK * rows) + rows + 8 + long_height
// simtune: let      grid_height = is_three * (ceil_div(most_tiles, 4096) + 16) + (not is_three) * most_tiles + 8
// simtune: compare  out with reference_value magnitude reference_magnitude height block_height + grid_height when op == sum
// simtune: compare  out with reference_value when op != sum
//
// simtune: bytes    2 * n * size_of_T
// simtune: host_name {kind}_scan_{T}_{op}
// simtune: host_args in,out,n
// clang-format on
#ifndef SIMTUNE_SCAN_CU
#define SIMTUNE_SCAN_CU
#include "simtune_tiles.cuh"

namespace simtune {

enum kind_word { kind_exclusive, kind_inclusive };
enum algorithm_word {
    ALGORITHM_hillis_steele,
    ALGORITHM_blelloch,
    ALGORITHM_blelloch_padded,
    ALGORITHM_warp_shuffle,
    ALGORITHM_raking,
    ALGORITHM_serial
};
enum pass_word {
    PASS_one_block,
    PASS_cluster,
    PASS_reduce_then_scan,
    PASS_scan_then_propagate,
    PASS_watched,
    PASS_look_back,
    PASS_pipelined_look_back
};
enum look_word { LOOK_nearest, LOOK_wave };
enum roles_word { ROLES_same, ROLES_divided };
enum reset_word { RESET_memset, RESET_dependent };

// --- tiles ---------------------------------------------------------------------------------------
// The elements of a tile in their order: warp after warp, of a warp row after row, of a row lane
// after lane, VEC of each lane.
template <class Config> struct scan_shape {
    typedef typename Config::T T;
    typedef typename element<T>::accumulator A;
    typedef operation<Config::op, A> OP;
    typedef tile_state<A> state;
    static const int BLOCK = Config::BLOCK;
    static const int WARPS = BLOCK / 32;
    static const int VEC = Config::VEC;
    static const int ROWS = Config::ITEMS / VEC;
    static const int BYTES = VEC * (int)sizeof(T); // of one load
    static const int TILE = BLOCK * Config::ITEMS;
    static const bool IS_PIPELINED = Config::PASS == PASS_pipelined_look_back;
    static const int ALIGNMENT = IS_PIPELINED ? 16 : BYTES; // of a tile's first load

    // Place in the tile of this thread's first element of a row.
    static __device__ __forceinline__ int place(int row) {
        return (threadIdx.x / 32) * (32 * Config::ITEMS) + row * (32 * VEC) +
               (threadIdx.x % 32) * VEC;
    }
    static __device__ __forceinline__ T identity() {
        return element<T>::narrow(OP::identity());
    }
};

// What is scanned. Tiles begin at an aligned address: `shift` places of tile 0 lie before the first
// element, and are identities, as those behind the last one.
template <class Config> struct scan_problem {
    typedef scan_shape<Config> shape;
    typedef typename shape::T T;
    const T *in;
    T *out;
    u64 n;
    u32 shift;
    u64 tiles;
    bool stores_vectors;

    __device__ __forceinline__ scan_problem(const T *from, T *to, u64 count) {
        in = from;
        out = to;
        n = count;
        shift = (u32)((u64)from % shape::ALIGNMENT) / (u32)sizeof(T);
        tiles = n ? (n + shift + (shape::TILE - 1)) / shape::TILE : 0;
        stores_vectors = ((u64)to - shift * sizeof(T)) % shape::BYTES == 0;
    }
    // Of a place of a tile; what lies outside is not less than n.
    __device__ __forceinline__ u64 index(u64 tile, int place) const {
        return tile * shape::TILE + (u64)place - shift;
    }
    __device__ __forceinline__ bool is_whole(u64 tile) const {
        return (tile > 0 || shift == 0) && (tile + 1) * shape::TILE <= n + shift;
    }
};

// A thread's elements of one tile.
template <class Config> struct scan_rows {
    typedef scan_shape<Config> shape;
    typedef scan_problem<Config> problem;
    typedef typename shape::T T;
    typedef typename shape::A A;
    typedef typename shape::OP OP;
    static const int ROWS = shape::ROWS, VEC = shape::VEC;
    packet<shape::BYTES> row[ROWS];

    __device__ __forceinline__ void load(const problem &all, u64 tile) {
        if (all.is_whole(tile)) {
            const T *from = all.in + all.index(tile, shape::place(0));
#pragma unroll
            for (int k = 0; k < ROWS; k++)
                loader<LOAD_plain>::load(row[k], from + k * (32 * VEC));
            return;
        }
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            T value[VEC];
#pragma unroll
            for (int v = 0; v < VEC; v++) {
                const u64 i = all.index(tile, shape::place(k) + v);
                value[v] = i < all.n ? all.in[i] : shape::identity();
            }
            row[k] = pack<T, VEC>::of(value);
        }
    }

    // From a slot of the ring, whose places outside hold identities.
    __device__ __forceinline__ void load(const T *slot) {
#pragma unroll
        for (int k = 0; k < ROWS; k++)
            load_shared(row[k], slot + shape::place(k));
    }

    // Another warp's elements: those of this lane.
    __device__ __forceinline__ void load_part(const T *slot, int warp) {
#pragma unroll
        for (int k = 0; k < ROWS; k++)
            load_shared(row[k], slot + (warp * ROWS + k) * (32 * VEC) + threadIdx.x % 32 * VEC);
    }

    __device__ __forceinline__ A get(int k, int v) const {
        return element<T>::widen(unpack<T>::get(row[k], v));
    }

    // One row's value; pairs first, so that the chain is short.
    __device__ __forceinline__ A sum(int k) const {
        A value[VEC];
#pragma unroll
        for (int v = 0; v < VEC; v++)
            value[v] = get(k, v);
#pragma unroll
        for (int distance = 1; distance < VEC; distance *= 2)
#pragma unroll
            for (int v = 0; v + distance < VEC; v += 2 * distance)
                value[v] = OP::combine(value[v], value[v + distance]);
        return value[0];
    }
    __device__ __forceinline__ void sums(A *value) const {
#pragma unroll
        for (int k = 0; k < ROWS; k++)
            value[k] = sum(k);
    }
    // Of all rows.
    __device__ __forceinline__ A total() const {
        A value = sum(0);
#pragma unroll
        for (int k = 1; k < ROWS; k++)
            value = OP::combine(value, sum(k));
        return value;
    }

    // Writes the tile's results. before[k]: what lies before row k in the tile; prefix: before the
    // tile.
    __device__ __forceinline__ void store(const problem &all, u64 tile, A prefix,
                                          const A *before) const {
        const bool vectors = all.stores_vectors && all.is_whole(tile);
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            T value[VEC];
            A running = OP::combine(prefix, before[k]);
#pragma unroll
            for (int v = 0; v < VEC; v++) {
                const A next = OP::combine(running, get(k, v));
                value[v] =
                    element<T>::narrow(Config::kind == kind_exclusive ? running : next);
                running = next;
            }
            const u64 first = all.index(tile, shape::place(k));
            if (vectors) {
                storer<Config::STORE>::store(all.out + first, pack<T, VEC>::of(value));
            } else {
#pragma unroll
                for (int v = 0; v < VEC; v++)
                    if (first + v < all.n)
                        all.out[first + v] = value[v];
            }
        }
    }
};

// --- scans of a block ----------------------------------------------------------------------------
// run: sum[k] becomes what lies before the thread's row k in the tile; all threads get the total.
// Begins and ends a use of shared memory. totals: the warps' totals where they are known already
// (warp_shuffle alone makes use of it), or NULL.
//
// The algorithms in shared memory see the tile as COUNT values in order: those of a warp's row lie
// side by side, so that rows are 32 consecutive words of 32 banks.
template <class Config, int ALGORITHM = Config::ALGORITHM> struct block_scan;

template <class Config> struct shared_values {
    typedef scan_shape<Config> shape;
    static const int COUNT = shape::BLOCK * shape::ROWS;
    static __device__ __forceinline__ int place(int k) {
        return ((threadIdx.x / 32) * shape::ROWS + k) * 32 + threadIdx.x % 32;
    }
};

// Every value is combined with the one 1, 2, 4 … before it, from one buffer into the other.
template <class Config> struct block_scan<Config, ALGORITHM_hillis_steele> {
    typedef scan_shape<Config> shape;
    typedef shared_values<Config> at;
    typedef typename shape::A A;
    static __device__ __forceinline__ A run(A *sum, const A *) {
        __shared__ A buffer[2][at::COUNT];
        A *from = buffer[0], *to = buffer[1];
#pragma unroll
        for (int k = 0; k < shape::ROWS; k++)
            from[at::place(k)] = sum[k];
        __syncthreads();
#pragma unroll 1
        for (int distance = 1; distance < at::COUNT; distance *= 2) {
#pragma unroll
            for (int k = 0; k < shape::ROWS; k++) {
                const int i = at::place(k);
                A value = from[i];
                if (i >= distance)
                    value = shape::OP::combine(from[i - distance], value);
                to[i] = value;
            }
            __syncthreads();
            A *const full = to;
            to = from;
            from = full;
        }
#pragma unroll
        for (int k = 0; k < shape::ROWS; k++) {
            const int i = at::place(k);
            sum[k] = i > 0 ? from[i - 1] : shape::OP::identity();
        }
        const A total = from[at::COUNT - 1];
        __syncthreads();
        return total;
    }
};

// A tree of sums up, prefixes down. COUNT is a power of two. PAD: one place of 32 (16 for 8 bytes) is
// left out, so that values at a distance of a power of two lie in different banks.
template <class Config, bool PADDED> struct block_scan_blelloch {
    typedef scan_shape<Config> shape;
    typedef shared_values<Config> at;
    typedef typename shape::A A;
    static const int EVERY = 128 / (int)sizeof(A);
    static __device__ __forceinline__ int padded(int i) {
        return PADDED ? i + i / EVERY : i;
    }
    static __device__ __forceinline__ A run(A *sum, const A *) {
        __shared__ A value[at::COUNT + (PADDED ? at::COUNT / EVERY : 0)];
#pragma unroll
        for (int k = 0; k < shape::ROWS; k++)
            value[padded(at::place(k))] = sum[k];
        __syncthreads();
#pragma unroll 1
        for (int distance = 1; distance < at::COUNT; distance *= 2) {
            for (int t = threadIdx.x; t < at::COUNT / 2 / distance; t += shape::BLOCK) {
                const int right = padded(2 * distance * (t + 1) - 1);
                value[right] =
                    shape::OP::combine(value[padded(2 * distance * t + distance - 1)], value[right]);
            }
            __syncthreads();
        }
        const A total = value[padded(at::COUNT - 1)];
        __syncthreads();
        if (threadIdx.x == 0)
            value[padded(at::COUNT - 1)] = shape::OP::identity();
        __syncthreads();
#pragma unroll 1
        for (int distance = at::COUNT / 2; distance > 0; distance /= 2) {
            for (int t = threadIdx.x; t < at::COUNT / 2 / distance; t += shape::BLOCK) {
                const int left = padded(2 * distance * t + distance - 1);
                const int right = padded(2 * distance * (t + 1) - 1);
                const A before = value[right];
                value[right] = shape::OP::combine(before, value[left]);
                value[left] = before;
            }
            __syncthreads();
        }
#pragma unroll
        for (int k = 0; k < shape::ROWS; k++)
            sum[k] = value[padded(at::place(k))];
        __syncthreads();
        return total;
    }
};
template <class Config> struct block_scan<Config, ALGORITHM_blelloch> {
    typedef typename scan_shape<Config>::A A;
    static __device__ __forceinline__ A run(A *sum, const A *totals) {
        return block_scan_blelloch<Config, false>::run(sum, totals);
    }
};
template <class Config> struct block_scan<Config, ALGORITHM_blelloch_padded> {
    typedef typename scan_shape<Config>::A A;
    static __device__ __forceinline__ A run(A *sum, const A *totals) {
        return block_scan_blelloch<Config, true>::run(sum, totals);
    }
};

// Warp 0 alone: each lane adds a stretch one by one, the stretches are scanned by shuffles, each lane
// goes over its stretch again. A stretch of even length is followed by a place that is left out.
template <class Config> struct block_scan<Config, ALGORITHM_raking> {
    typedef scan_shape<Config> shape;
    typedef shared_values<Config> at;
    typedef typename shape::A A;
    typedef typename shape::OP OP;
    static const int STRETCH = at::COUNT / 32, PAD = 1 - STRETCH % 2;
    static __device__ __forceinline__ int padded(int i) {
        return i + i / STRETCH * PAD;
    }
    static __device__ __forceinline__ A run(A *sum, const A *) {
        __shared__ A value[at::COUNT + 32 * PAD];
        __shared__ A total;
#pragma unroll
        for (int k = 0; k < shape::ROWS; k++)
            value[padded(at::place(k))] = sum[k];
        __syncthreads();
        if (threadIdx.x < 32) {
            A *const mine = value + threadIdx.x * (STRETCH + PAD);
            A stretch = mine[0];
            for (int i = 1; i < STRETCH; i++)
                stretch = OP::combine(stretch, mine[i]);
            const A all = scan_lanes<OP, 32>(stretch);
            A running = shuffle_up(all, 1);
            if (threadIdx.x == 0)
                running = OP::identity();
            for (int i = 0; i < STRETCH; i++) {
                const A next = OP::combine(running, mine[i]);
                mine[i] = running;
                running = next;
            }
            if (threadIdx.x == 31)
                total = all;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < shape::ROWS; k++)
            sum[k] = value[padded(at::place(k))];
        const A result = total;
        __syncthreads();
        return result;
    }
};

// One thread goes over all values.
template <class Config> struct block_scan<Config, ALGORITHM_serial> {
    typedef scan_shape<Config> shape;
    typedef shared_values<Config> at;
    typedef typename shape::A A;
    static __device__ __forceinline__ A run(A *sum, const A *) {
        __shared__ A value[at::COUNT];
        __shared__ A total;
#pragma unroll
        for (int k = 0; k < shape::ROWS; k++)
            value[at::place(k)] = sum[k];
        __syncthreads();
        if (threadIdx.x == 0) {
            A running = shape::OP::identity();
            for (int i = 0; i < at::COUNT; i++) {
                const A next = shape::OP::combine(running, value[i]);
                value[i] = running;
                running = next;
            }
            total = running;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < shape::ROWS; k++)
            sum[k] = value[at::place(k)];
        const A result = total;
        __syncthreads();
        return result;
    }
};

// A warp's rows by shuffles, side by side, all in registers: sum[k] becomes what lies before row k in
// the warp's part of the tile. Returns the warp's total.
template <class Config>
__device__ __forceinline__ typename scan_shape<Config>::A
scan_warp(typename scan_shape<Config>::A *sum) {
    typedef scan_shape<Config> shape;
    typedef typename shape::A A;
    typedef typename shape::OP OP;
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2)
#pragma unroll
        for (int k = 0; k < shape::ROWS; k++) {
            const A lower = shuffle_up(sum[k], distance);
            if (lane >= distance)
                sum[k] = OP::combine(lower, sum[k]);
        }
    A running = OP::identity();
#pragma unroll
    for (int k = 0; k < shape::ROWS; k++) {
        const A row = shuffle_from(sum[k], 31), lower = shuffle_up(sum[k], 1);
        sum[k] = lane > 0 ? OP::combine(running, lower) : running;
        running = OP::combine(running, row);
    }
    return running;
}

// The warps' parts, then the warps' totals, in every warp again.
template <class Config> struct block_scan<Config, ALGORITHM_warp_shuffle> {
    typedef scan_shape<Config> shape;
    typedef typename shape::A A;
    typedef typename shape::OP OP;
    static __device__ __forceinline__ A run(A *sum, const A *totals) {
        __shared__ A warps[shape::WARPS];
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        const A running = scan_warp<Config>(sum);
        if (!totals) {
            __syncthreads(); // the last use of `warps` has been read
            if (lane == 0)
                warps[warp] = running;
            __syncthreads();
            totals = warps;
        }
        A all = lane < shape::WARPS ? totals[lane] : OP::identity();
        all = scan_lanes<OP, shape::WARPS>(all);
        const A total = shuffle_from(all, shape::WARPS - 1);
        const A before = shuffle_from(all, warp > 0 ? warp - 1 : 0);
        if (warp > 0)
#pragma unroll
            for (int k = 0; k < shape::ROWS; k++)
                sum[k] = OP::combine(before, sum[k]);
        return total;
    }
};

// All threads get the combination of the values of BLOCK threads; a further warp may take part with
// identities.
template <class Config>
__device__ __forceinline__ typename scan_shape<Config>::A
combine_block(typename scan_shape<Config>::A value) {
    typedef scan_shape<Config> shape;
    typedef typename shape::A A;
    __shared__ A warps[shape::WARPS];
    value = combine_lanes<typename shape::OP>(value);
    __syncthreads(); // the last use of `warps` has been read
    if (threadIdx.x % 32 == 0 && threadIdx.x < Config::BLOCK)
        warps[threadIdx.x / 32] = value;
    __syncthreads();
    const int lane = threadIdx.x % 32;
    return combine_lanes<typename shape::OP>(lane < shape::WARPS ? warps[lane]
                                                                 : shape::OP::identity());
}

// --- one_block, cluster: no temporary storage ----------------------------------------------------
// Tiles one after the other, from `first` to before `end`.
template <class Config>
__device__ __forceinline__ void scan_stretch(const scan_problem<Config> &all, u64 first, u64 end,
                                             typename scan_shape<Config>::A prefix) {
    typedef scan_shape<Config> shape;
    scan_rows<Config> rows;
    typename shape::A sum[shape::ROWS];
    for (u64 tile = first; tile < end; tile++) {
        rows.load(all, tile);
        rows.sums(sum);
        const typename shape::A total = block_scan<Config>::run(sum, 0);
        rows.store(all, tile, prefix, sum);
        prefix = shape::OP::combine(prefix, total);
    }
}

template <class Config>
__global__ void __launch_bounds__(Config::BLOCK, Config::MIN_BLOCKS)
    scan_one_block(const typename Config::T *in, typename Config::T *out, u64 n) {
    const scan_problem<Config> all(in, out, n);
    scan_stretch<Config>(all, 0, all.tiles, scan_shape<Config>::OP::identity());
}

// Each block has a stretch of tiles (at best one, which then is read once) and sends its total to the
// blocks behind it.
template <class Config>
__global__ void __launch_bounds__(Config::BLOCK, Config::MIN_BLOCKS)
    scan_cluster(const typename Config::T *in, typename Config::T *out, u64 n) {
    typedef scan_shape<Config> shape;
    typedef typename shape::A A;
    typedef typename shape::OP OP;
    __shared__ A values[Config::CLUSTER];
    __shared__ u64 box;
    const u32 rank = cluster_rank();
    if (threadIdx.x == 0)
        mailbox_open(&box);
    cluster_arrive_open();
    const scan_problem<Config> all(in, out, n);
    const u64 share = (all.tiles + (Config::CLUSTER - 1)) / Config::CLUSTER;
    const u64 first = rank * share, end = first + share < all.tiles ? first + share : all.tiles;

    scan_rows<Config> rows;
    A sum[shape::ROWS], total = OP::identity();
    if (share == 1 && first < end) {
        rows.load(all, first);
        rows.sums(sum);
        total = block_scan<Config>::run(sum, 0);
    } else {
        for (u64 tile = first; tile < end; tile++) {
            rows.load(all, tile);
            total = OP::combine(total, rows.total());
        }
        total = combine_block<Config>(total);
    }
    cluster_wait_running();
    if (rank > 0 && threadIdx.x == 0)
        mailbox_expect(&box, rank * (u32)sizeof(A));
    if (threadIdx.x > rank && threadIdx.x < Config::CLUSTER)
        mailbox_send(&values[rank], &box, threadIdx.x, total);
    A prefix = OP::identity();
    if (rank > 0) {
        mailbox_wait(&box, rank * (u32)sizeof(A));
#pragma unroll
        for (int i = 0; i < Config::CLUSTER - 1; i++)
            if (i < (int)rank)
                prefix = OP::combine(prefix, values[i]);
    }
    if (share == 1 && first < end)
        rows.store(all, first, prefix, sum);
    else
        scan_stretch<Config>(all, first, end, prefix);
}

// --- reduce_then_scan, scan_then_propagate: three kernels ----------------------------------------
template <class Config>
__global__ void __launch_bounds__(Config::BLOCK, Config::MIN_BLOCKS)
    scan_totals(const typename Config::T *in, void *partial, u64 n) {
    typedef typename scan_shape<Config>::A A;
    const scan_problem<Config> all(in, 0, n);
    if (blockIdx.x >= all.tiles)
        return;
    scan_rows<Config> rows;
    rows.load(all, blockIdx.x);
    const A total = combine_block<Config>(rows.total());
    if (threadIdx.x == 0)
        ((A *)partial)[blockIdx.x] = total;
}

template <class Config>
__global__ void __launch_bounds__(Config::BLOCK, Config::MIN_BLOCKS)
    scan_tiles(const typename Config::T *in, typename Config::T *out, void *partial, u64 n) {
    typedef scan_shape<Config> shape;
    typedef typename shape::A A;
    const scan_problem<Config> all(in, out, n);
    if (blockIdx.x >= all.tiles)
        return;
    scan_rows<Config> rows;
    A sum[shape::ROWS];
    rows.load(all, blockIdx.x);
    rows.sums(sum);
    const A total = block_scan<Config>::run(sum, 0);
    rows.store(all, blockIdx.x, shape::OP::identity(), sum);
    if (threadIdx.x == 0)
        ((A *)partial)[blockIdx.x] = total;
}

// One block of any number of whole warps: partial totals become what lies before each, four a
// thread at a time.
template <class Config>
__global__ void __launch_bounds__(1024)
    scan_partials(const typename Config::T *in, void *partial, u64 n) {
    typedef scan_shape<Config> shape;
    typedef typename shape::A A;
    typedef typename shape::OP OP;
    __shared__ A warps[32];
    const scan_problem<Config> all(in, 0, n);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    A *const values = (A *)partial;
    A prefix = OP::identity();
    for (u64 base = 0; base < all.tiles; base += 4 * blockDim.x) {
        const u64 first = base + 4 * threadIdx.x;
        A four[4], sum = OP::identity();
#pragma unroll
        for (int i = 0; i < 4; i++) {
            four[i] = first + i < all.tiles ? values[first + i] : OP::identity();
            sum = OP::combine(sum, four[i]);
        }
        const A inclusive = scan_lanes<OP, 32>(sum);
        if (lane == 31)
            warps[warp] = inclusive;
        __syncthreads();
        A others = lane < (int)blockDim.x / 32 ? warps[lane] : OP::identity();
        others = scan_lanes<OP, 32>(others);
        const A lower = shuffle_up(inclusive, 1), before = shuffle_from(others, warp > 0 ? warp - 1 : 0);
        A running = warp > 0 ? OP::combine(prefix, before) : prefix;
        if (lane > 0)
            running = OP::combine(running, lower);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if (first + i < all.tiles)
                values[first + i] = running;
            running = OP::combine(running, four[i]);
        }
        prefix = OP::combine(prefix, shuffle_from(others, 31));
        __syncthreads();
    }
}

template <class Config>
__global__ void __launch_bounds__(Config::BLOCK, Config::MIN_BLOCKS)
    scan_from_partials(const typename Config::T *in, typename Config::T *out, const void *partial,
                       u64 n) {
    typedef scan_shape<Config> shape;
    typedef typename shape::A A;
    const scan_problem<Config> all(in, out, n);
    if (blockIdx.x >= all.tiles)
        return;
    scan_rows<Config> rows;
    A sum[shape::ROWS];
    rows.load(all, blockIdx.x);
    const A prefix = ((const A *)partial)[blockIdx.x];
    rows.sums(sum);
    block_scan<Config>::run(sum, 0);
    rows.store(all, blockIdx.x, prefix, sum);
}

// What scan_tiles left in `out`, and what lies before the tile.
template <class Config>
__global__ void __launch_bounds__(Config::BLOCK, Config::MIN_BLOCKS)
    scan_propagate(const typename Config::T *in, typename Config::T *out, const void *partial,
                   u64 n) {
    typedef scan_shape<Config> shape;
    typedef typename shape::T T;
    typedef typename shape::A A;
    const scan_problem<Config> all(in, out, n);
    if (blockIdx.x >= all.tiles)
        return;
    const A prefix = ((const A *)partial)[blockIdx.x];
    const bool vectors = all.stores_vectors && all.is_whole(blockIdx.x);
#pragma unroll
    for (int k = 0; k < shape::ROWS; k++) {
        const u64 first = all.index(blockIdx.x, shape::place(k));
        if (vectors) {
            packet<shape::BYTES> from;
            loader<LOAD_plain>::load(from, out + first);
            T value[shape::VEC];
#pragma unroll
            for (int v = 0; v < shape::VEC; v++)
                value[v] = element<T>::narrow(shape::OP::combine(
                    prefix, element<T>::widen(unpack<T>::get(from, v))));
            storer<Config::STORE>::store(out + first, pack<T, shape::VEC>::of(value));
        } else {
#pragma unroll
            for (int v = 0; v < shape::VEC; v++)
                if (first + v < n)
                    out[first + v] = element<T>::narrow(
                        shape::OP::combine(prefix, element<T>::widen(out[first + v])));
        }
    }
}

// --- watched: two kernels at the same time -------------------------------------------------------
// The first publishes the tiles' totals, the second scans the tiles and takes the totals of all tiles
// before its own as they come: no chain, and one order of combining. Each block of the first empties
// its state before it allows the second, which therefore finds no state of another time, and waits
// only for blocks that all run already. (A warp of its own empties it, so that the loads of the others
// need not wait for that.)
template <class Config>
__global__ void __launch_bounds__(Config::BLOCK + (Config::BLOCK < 1024 ? 32 : 0))
    scan_publish(const typename Config::T *in, u64 *state, u64 n) {
    typedef scan_shape<Config> shape;
    typedef typename shape::A A;
    const scan_problem<Config> all(in, 0, n);
    const u32 emptier = Config::BLOCK < 1024 ? Config::BLOCK : 0;
    u64 *const states = tile_states(state);
    if (threadIdx.x == emptier) {
        shape::state::put(states, blockIdx.x, TILE_EMPTY, A(0));
        __threadfence();
        allow_dependents();
    }
    if (blockIdx.x >= all.tiles)
        return;
    A total = shape::OP::identity();
    if (threadIdx.x < Config::BLOCK) {
        scan_rows<Config> rows;
        rows.load(all, blockIdx.x);
        total = rows.total();
    }
    total = combine_block<Config>(total);
    if (threadIdx.x == 0)
        shape::state::put(states, blockIdx.x, TILE_TOTAL, total);
}

template <class Config>
__global__ void __launch_bounds__(Config::BLOCK, Config::MIN_BLOCKS)
    scan_watch(const typename Config::T *in, typename Config::T *out, const u64 *state, u64 n) {
    typedef scan_shape<Config> shape;
    typedef typename shape::A A;
    typedef typename shape::OP OP;
    const scan_problem<Config> all(in, out, n);
    if (blockIdx.x >= all.tiles)
        return;
    const u64 *const states = tile_states((u64 *)state);
    scan_rows<Config> rows;
    A sum[shape::ROWS];
    rows.load(all, blockIdx.x);
    rows.sums(sum);
    block_scan<Config>::run(sum, 0);
    const A share = predecessors<typename shape::state, OP>(states, blockIdx.x, threadIdx.x,
                                                            Config::BLOCK);
    rows.store(all, blockIdx.x, combine_block<Config>(share), sum);
}

// --- look_back -----------------------------------------------------------------------------------
template <class Config> __global__ void __launch_bounds__(256) scan_clear(u64 *state, u64 words) {
    allow_dependents();
    clear_words(state, words);
}

// What lies before a block's tiles, which come in ascending order; of one whole warp. nearest: back to
// the nearest tile whose prefix is published, and then this tile's own. wave: the totals of all tiles
// since the block's last one; prefixes are not published.
template <class Config> struct prefix_finder {
    typedef scan_shape<Config> shape;
    typedef typename shape::A A;
    typedef typename shape::OP OP;
    u64 upto; // tiles that `carry` knows
    A carry;

    __device__ __forceinline__ prefix_finder() {
        upto = 0;
        carry = OP::identity();
    }
    __device__ __forceinline__ A find(u64 *states, u64 tile, A total) {
        if (Config::LOOK == LOOK_wave) {
            const A prefix = OP::combine(carry, totals_between<typename shape::state, OP>(
                                                    states, upto, tile, Config::PAUSE));
            upto = tile + 1;
            carry = OP::combine(prefix, total);
            return prefix;
        }
        const A prefix = look_back<typename shape::state, OP>(states, tile, Config::PAUSE);
        if (threadIdx.x % 32 == 0 && tile > 0)
            shape::state::put(states, tile, TILE_PREFIX, OP::combine(prefix, total));
        return prefix;
    }
};

// One tile a block.
template <class Config>
__global__ void __launch_bounds__(Config::BLOCK, Config::MIN_BLOCKS)
    scan_look_back(const typename Config::T *in, typename Config::T *out, u64 *state, u64 n) {
    typedef scan_shape<Config> shape;
    typedef typename shape::A A;
    __shared__ u32 ticket;
    __shared__ A found;
    const scan_problem<Config> all(in, out, n);
    if (Config::RESET == RESET_dependent) {
        // Some block will want it.
        if (threadIdx.x == 0 && blockIdx.x < all.tiles && all.is_whole(blockIdx.x))
            prefetch_bytes(in + all.index(blockIdx.x, 0), shape::TILE * (u32)sizeof(*in));
        wait_for_previous();
    }
    if (threadIdx.x == 0)
        ticket = take_ticket(state);
    __syncthreads();
    const u64 tile = ticket;
    if (tile >= all.tiles)
        return;
    u64 *const states = tile_states(state);
    scan_rows<Config> rows;
    A sum[shape::ROWS];
    rows.load(all, tile);
    rows.sums(sum);
    const A total = block_scan<Config>::run(sum, 0);
    if (threadIdx.x == 0)
        shape::state::put(states, tile, tile == 0 ? TILE_PREFIX : TILE_TOTAL, total);
    if (threadIdx.x < 32) {
        prefix_finder<Config> finder;
        const A prefix = finder.find(states, tile, total);
        if (threadIdx.x == 0)
            found = prefix;
    }
    __syncthreads();
    rows.store(all, tile, found, sum);
}

// --- pipelined_look_back -------------------------------------------------------------------------
// As many blocks as the device holds take tiles by ticket; the tiles of the next STAGES turns are on
// their way into a ring in shared memory. In turn t a block
//   1. adds up the tile of turn t + 1 and publishes its total, so that nobody waits long for it,
//   2. scans the tile of turn t, looks back, publishes its prefix,
//   3. lets the tile of turn t + STAGES come into the slot that is free now,
//   4. writes its results.
template <class Config> struct scan_pipeline {
    typedef scan_shape<Config> shape;
    typedef scan_problem<Config> problem;
    typedef typename shape::T T;
    typedef typename shape::A A;
    typedef typename shape::OP OP;
    static const int STAGES = Config::STAGES;
    tile_ring<Config::COPY, STAGES, shape::BLOCK> ring;

    static __device__ __forceinline__ T *slot(int turn) {
        return (T *)dynamic_shared() + (turn % STAGES) * shape::TILE;
    }

    __device__ __forceinline__ void load(const problem &all, int turn, u64 tile) {
        if (tile < all.tiles) {
            const u32 first = tile == 0 ? all.shift : 0;
            const u64 rest = all.n + all.shift - tile * shape::TILE;
            const u32 end = rest < (u64)shape::TILE ? (u32)rest : (u32)shape::TILE;
            ring.copy(turn, slot(turn) + first, all.in + all.index(tile, (int)first), end - first);
        }
        ring.commit(turn);
    }

    // Waits for a turn's tile and leaves the total of each warp.
    template <int LEFT>
    __device__ __forceinline__ void add_up(const problem &all, int turn, u64 tile, A *totals) {
        ring.template wait<LEFT>(turn);
        if (tile >= all.tiles)
            return;
        if (!all.is_whole(tile)) {
            for (int place = threadIdx.x; place < shape::TILE; place += shape::BLOCK)
                if (all.index(tile, place) >= all.n)
                    slot(turn)[place] = shape::identity();
            order_before_bulk_copies();
            __syncthreads();
        }
        scan_rows<Config> rows;
        rows.load(slot(turn));
        const A total = combine_lanes<OP>(rows.total());
        if (threadIdx.x % 32 == 0)
            totals[threadIdx.x / 32] = total;
    }
};

template <class Config>
__global__ void __launch_bounds__(Config::BLOCK, Config::MIN_BLOCKS)
    scan_pipelined(const typename Config::T *in, typename Config::T *out, u64 *state, u64 n) {
    typedef scan_shape<Config> shape;
    typedef scan_pipeline<Config> pipeline;
    typedef typename shape::A A;
    typedef typename shape::OP OP;
    const int STAGES = Config::STAGES;
    __shared__ u64 barriers[STAGES];
    __shared__ u32 tickets[STAGES];
    __shared__ A totals[2][shape::WARPS];
    __shared__ A found;
    const scan_problem<Config> all(in, out, n);
    u64 *const states = tile_states(state);
    pipeline line;
    line.ring.open(barriers);
    if (Config::RESET == RESET_dependent)
        wait_for_previous();
    if (threadIdx.x == 0) {
        const u32 first = take_tickets(state, STAGES);
        for (u32 s = 0; s < STAGES; s++)
            tickets[s] = first + s;
    }
    __syncthreads();
#pragma unroll
    for (int turn = 0; turn < STAGES; turn++)
        line.load(all, turn, tickets[turn]);
    u64 tile = tickets[0];
    line.template add_up<STAGES - 1>(all, 0, tile, totals[0]);
    __syncthreads();
    if (tile >= all.tiles)
        return;
    if (threadIdx.x < 32) {
        const int lane = threadIdx.x;
        const A total = combine_lanes<OP>(lane < shape::WARPS ? totals[0][lane] : OP::identity());
        if (lane == 0)
            shape::state::put(states, tile, tile == 0 ? TILE_PREFIX : TILE_TOTAL, total);
    }
    prefix_finder<Config> finder;
    for (int turn = 0;; turn++) {
        u32 ticket;
        if (threadIdx.x == 0)
            ticket = take_ticket(state); // comes back while the tile is scanned
        const u64 next = tickets[(turn + 1) % STAGES];
        A *const known = totals[turn % 2], *const coming = totals[(turn + 1) % 2];
        line.template add_up<STAGES - 2>(all, turn + 1, next, coming);
        __syncthreads();
        if (threadIdx.x < 32 && next < all.tiles) {
            const int lane = threadIdx.x;
            const A total = combine_lanes<OP>(lane < shape::WARPS ? coming[lane] : OP::identity());
            if (lane == 0)
                shape::state::put(states, next, TILE_TOTAL, total);
        }
        scan_rows<Config> rows;
        A sum[shape::ROWS];
        rows.load(pipeline::slot(turn));
        rows.sums(sum);
        const A total = block_scan<Config>::run(sum, known);
        if (threadIdx.x < 32) {
            const A prefix = finder.find(states, tile, total);
            if (threadIdx.x == 0) {
                found = prefix;
                tickets[turn % STAGES] = ticket;
            }
        }
        __syncthreads();
        line.load(all, turn + STAGES, tickets[turn % STAGES]);
        rows.store(all, tile, found, sum);
        if (next >= all.tiles)
            break;
        tile = next;
    }
}

// The same with roles (sm_90): the first BLOCK threads scan, and four warps behind them see to it that
// nothing is waited for. Each tile in a slot goes from barrier to barrier:
//
//   empty --loader: ticket, bulk copy--> full --adder: totals of the warps' parts, publishes the
//   tile's total--> added --finder: looks back, publishes the prefix--> known --scanners: scan, take
//   the prefix, let the slot go (empty), write the results
//
// A block's later tiles are added up and published as soon as they have come, whatever its earlier
// ones wait for. Two adders share the slots.
template <class Config> struct scan_roles {
    typedef scan_shape<Config> shape;
    typedef scan_problem<Config> problem;
    typedef typename shape::T T;
    typedef typename shape::A A;
    typedef typename shape::OP OP;
    static const int STAGES = Config::STAGES, WARPS = shape::WARPS, ADDERS = 2, HELPERS = 2 + ADDERS;
    enum { NO_TILE = 0xffffffffu };
    u64 full[STAGES], added[STAGES], known[STAGES], empty[STAGES];
    u32 tiles[STAGES];
    A parts[STAGES][WARPS]; // the total of each warp's part, then what lies before it

    static __device__ __forceinline__ T *slot(int turn) {
        return (T *)dynamic_shared() + turn % STAGES * shape::TILE;
    }
    static __device__ __forceinline__ u32 phase(int turn) {
        return (u32)(turn / STAGES) & 1u;
    }

    // Identities at the places of a slot behind `end` and before `first`, by one warp.
    static __device__ __forceinline__ void fill(T *to, u32 first, u32 end) {
        const u32 lane = threadIdx.x % 32, WIDE = 16 / (u32)sizeof(T);
        const u32 aligned = (end + WIDE - 1) / WIDE * WIDE;
        if (lane < first)
            to[lane] = shape::identity();
        if (end + lane < aligned)
            to[end + lane] = shape::identity();
        T identities[WIDE];
#pragma unroll
        for (u32 i = 0; i < WIDE; i++)
            identities[i] = shape::identity();
        for (u32 i = aligned + lane * WIDE; i < (u32)shape::TILE; i += 32 * WIDE)
            store_shared(to + i, pack<T, (int)WIDE>::of(identities));
        order_before_bulk_copies();
    }

    __device__ __forceinline__ void load(const problem &all, u64 *state) {
        const u32 lane = threadIdx.x % 32;
        tile_ring<COPY_bulk, STAGES, 32> ring;
        int ends = 0; // turns without a tile: one for each slot, so that all adders see one
        for (int turn = 0; ends < STAGES; turn++) {
            const int at = turn % STAGES;
            if (turn >= STAGES)
                mbarrier_wait(empty + at, phase(turn - STAGES));
            u32 tile = 0;
            if (lane == 0)
                tile = take_ticket(state);
            tile = shuffle_from(tile, 0);
            const bool exists = tile < all.tiles;
            u32 bytes = 0;
            if (exists) {
                const u32 first = tile == 0 ? all.shift : 0;
                const u64 rest = all.n + all.shift - (u64)tile * shape::TILE;
                const u32 end = rest < (u64)shape::TILE ? (u32)rest : (u32)shape::TILE;
                if (end - first < (u32)shape::TILE)
                    fill(slot(turn), first, end);
                bytes = ring.copy_by_warp(full + at, slot(turn) + first,
                                          all.in + all.index(tile, (int)first), end - first);
            }
            __syncwarp();
            if (lane == 0) {
                tiles[at] = exists ? tile : (u32)NO_TILE;
                mbarrier_arrive_expect(full + at, bytes);
            }
            ends += !exists;
        }
    }

    // Of PARTS values of each lane, lane i gets the combination of all lanes' value[i % PARTS].
    template <int PARTS> static __device__ __forceinline__ A transposed_sums(A *value) {
        const u32 lane = threadIdx.x % 32;
#pragma unroll
        for (int distance = 16; distance >= PARTS; distance /= 2)
#pragma unroll
            for (int i = 0; i < PARTS; i++)
                value[i] = OP::combine(value[i], shuffle_xor(value[i], distance));
#pragma unroll
        for (int distance = PARTS / 2; distance > 0; distance /= 2)
#pragma unroll
            for (int i = 0; i < distance; i++) {
                const bool upper = (lane & distance) != 0;
                const A given = upper ? value[i] : value[i + distance];
                const A kept = upper ? value[i + distance] : value[i];
                value[i] = OP::combine(kept, shuffle_xor(given, distance));
            }
        return value[0];
    }

    // A slot's tiles all go to one adder: who waits for a barrier's phases misses none of them.
    __device__ __forceinline__ void add(u64 *states, int adder) {
        const int PARTS = WARPS <= 4 ? 4 : WARPS <= 8 ? 8 : WARPS <= 16 ? 16 : 32;
        const int lane = threadIdx.x % 32;
        for (int turn = 0;; turn++) {
            const int at = turn % STAGES;
            if (at % ADDERS != adder)
                continue;
            mbarrier_wait(full + at, phase(turn));
            const u32 tile = tiles[at];
            if (tile == NO_TILE)
                return;
            A part[PARTS];
#pragma unroll
            for (int w = 0; w < PARTS; w++) {
                part[w] = OP::identity();
                if (w < WARPS) {
                    scan_rows<Config> rows;
                    rows.load_part(slot(turn), w);
                    part[w] = rows.total();
                }
            }
            const A mine = transposed_sums<PARTS>(part);
            if (lane < WARPS)
                parts[at][lane] = mine;
            A total = mine;
#pragma unroll
            for (int distance = PARTS / 2; distance > 0; distance /= 2)
                total = OP::combine(total, shuffle_xor(total, distance));
            __syncwarp();
            if (lane == 0) {
                shape::state::put(states, tile, tile == 0 ? TILE_PREFIX : TILE_TOTAL, total);
                mbarrier_arrive(added + at);
            }
        }
    }

    __device__ __forceinline__ void find(u64 *states) {
        const int lane = threadIdx.x % 32;
        prefix_finder<Config> finder;
        for (int turn = 0;; turn++) {
            const int at = turn % STAGES;
            mbarrier_wait(full + at, phase(turn));
            const u32 tile = tiles[at];
            if (tile == NO_TILE)
                return;
            mbarrier_wait(added + at, phase(turn));
            const A part = lane < WARPS ? parts[at][lane] : OP::identity();
            const A upto = scan_lanes<OP, WARPS>(part);
            const A lower = shuffle_up(upto, 1), total = shuffle_from(upto, WARPS - 1);
            const A prefix = finder.find(states, tile, total);
            if (lane < WARPS)
                parts[at][lane] = lane > 0 ? OP::combine(prefix, lower) : prefix;
            __syncwarp();
            if (lane == 0)
                mbarrier_arrive(known + at);
        }
    }

    __device__ __forceinline__ void scan(const problem &all) {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        for (int turn = 0;; turn++) {
            const int at = turn % STAGES;
            mbarrier_wait(full + at, phase(turn));
            const u32 tile = tiles[at];
            if (tile == NO_TILE)
                return;
            scan_rows<Config> rows;
            A sum[shape::ROWS];
            rows.load(slot(turn));
            rows.sums(sum);
            scan_warp<Config>(sum);
            mbarrier_wait(known + at, phase(turn));
            const A prefix = parts[at][warp];
            __syncwarp();
            if (lane == 0)
                mbarrier_arrive(empty + at);
            rows.store(all, tile, prefix, sum);
        }
    }
};

template <class Config>
__global__ void __launch_bounds__(Config::BLOCK + 32 * scan_roles<Config>::HELPERS, Config::MIN_BLOCKS)
    scan_divided(const typename Config::T *in, typename Config::T *out, u64 *state, u64 n) {
    typedef scan_shape<Config> shape;
    typedef scan_roles<Config> roles;
    if (copy_form<COPY_bulk>::FORM != COPY_bulk)
        return; // the directives do not ask for it before sm_90
    __shared__ roles block;
    const scan_problem<Config> all(in, out, n);
    const int helper = (int)threadIdx.x / 32 - shape::WARPS;
    if (threadIdx.x < Config::STAGES) {
        mbarrier_open(block.full + threadIdx.x, 1);
        mbarrier_open(block.added + threadIdx.x, 1);
        mbarrier_open(block.known + threadIdx.x, 1);
        mbarrier_open(block.empty + threadIdx.x, shape::WARPS);
    }
    __syncthreads();
    if (Config::RESET == RESET_dependent)
        wait_for_previous();
    if (helper < 0)
        block.scan(all);
    else if (helper == 0)
        block.load(all, state);
    else if (helper == 1)
        block.find(tile_states(state));
    else
        block.add(tile_states(state), helper - 2);
}

} // namespace simtune

#endif // SIMTUNE_SCAN_CU
