// SPDX-License-Identifier: Apache-2.0
// One step of n particles that lie cell by cell, `cell` of them to a cell, and attract those of their own
// cell: a short inner accumulation for each, then velocity and place are brought forward. Each particle is
// four floats: place and mass; velocity and one that is passed on. Right for any n and any cell from 1 on
// (the last cell may be short), for any base that is aligned to a float.
//
// Few loads and many dependent operations a partner: ACC sums and TARGETS particles of one thread keep the
// multipliers busy; the reciprocal root is one instruction, or a root and a division.
//
//     simtune tune particles.cu --size n=256Ki --size cell=128
//
// clang-format off
// simtune: family   particles
// simtune: summary  example: a step of particles that attract those of their cell
//
// simtune: axis     n    = 256Ki
// simtune: axis     cell = 32 128
// More takes too long to check: a pair each.
// simtune: problem  cell >= 1 and n * cell <= SM_COUNT * 4Mi
//
// simtune: param    BLOCK   = 64 128 256 512     role tlp
// Particles of a thread, all of one cell; sums for each of them.
// simtune: param    TARGETS = 1 2 4              role ilp regs work
// simtune: param    ACC     = 1 2 4              role ilp regs
// Partners that are loaded at once, and from where.
// simtune: param    UNROLL  = 1 2 4 8            role mlp ilp
// simtune: param    SOURCE  = global shared      role mlp smem sync
// exact: a root and a division, both rounded once; fast: rsqrtf, off by two units in the last place.
// simtune: param    ROOT    = exact fast         role work
//
// simtune: default  BLOCK=256 TARGETS=1 ACC=1 UNROLL=1 SOURCE=global ROOT=exact
// simtune: rival    ROOT=exact SOURCE=shared ACC=1
//
// simtune: where    ACC <= UNROLL
// simtune: where    TARGETS * ACC <= 8
// simtune: prune    TARGETS <= cell and UNROLL <= cell
//
// A cell's particles are dealt out to `groups` threads. A block has `together` whole cells, or a cell has
// `chunks` blocks.
// simtune: let      cells    = ceil_div(n, cell)
// simtune: let      groups   = ceil_div(cell, TARGETS)
// simtune: let      together = max(1, BLOCK / groups)
// simtune: let      chunks   = ceil_div(groups, BLOCK)
// simtune: let      stage    = (SOURCE == shared) * BLOCK * TARGETS * 16
// simtune: let      wide     = align_place % 16 == 0 and align_velocity % 16 == 0 and align_new_place % 16 == 0 and align_new_velocity % 16 == 0
//
// simtune: scalar   rate : f32 = 1024
// simtune: buffer   place : input f32[4 * n]   velocity : input f32[4 * n]
// simtune: buffer   new_place : output f32[4 * n]   new_velocity : output f32[4 * n]
// simtune: buffer   right_place : expected f64[4 * n]   right_velocity : expected f64[4 * n]
// simtune: buffer   off_place : magnitude f64[4 * n]    off_velocity : magnitude f64[4 * n]
// simtune: launch   particles_step<Config> grid=ceil_div(cells,together)*chunks block=BLOCK smem=stage args=place,velocity,new_place,new_velocity,n,cell,together:u32,chunks:u64,rate,wide:u32
// simtune: reference reference_particles<Config> file=reference/particles_reference.cu grid=ceil_div(n,128) block=128 args=place,velocity,right_place,right_velocity,off_place,off_velocity,n,cell,rate
//
// 2^-24 of what the reference allows: 24 units for each pair, and the rounding of their sum.
// simtune: compare  new_place with right_place magnitude off_place tolerance 5.9604644775390625e-8
// simtune: compare  new_velocity with right_velocity magnitude off_velocity tolerance 5.9604644775390625e-8
// simtune: determinism run_to_run
// simtune: bytes    64 * n
// simtune: host_args place,velocity,new_place,new_velocity,n,cell,rate
// clang-format on
#ifndef SIMTUNE_PARTICLES_CU
#define SIMTUNE_PARTICLES_CU

namespace simtune {

typedef unsigned int u32;
typedef unsigned long long u64;

enum particles_source_word { SOURCE_global, SOURCE_shared };
enum particles_root_word { ROOT_exact, ROOT_fast };

template <bool WIDE> __device__ __forceinline__ float4 particle_load(const float *from, u64 i) {
    if (WIDE)
        return ((const float4 *)from)[i];
    const float4 four = {from[4 * i], from[4 * i + 1], from[4 * i + 2], from[4 * i + 3]};
    return four;
}
__device__ __forceinline__ void particle_store(float *to, u64 i, const float4 &four, bool wide) {
    if (wide) {
        ((float4 *)to)[i] = four;
        return;
    }
    to[4 * i] = four.x;
    to[4 * i + 1] = four.y;
    to[4 * i + 2] = four.z;
    to[4 * i + 3] = four.w;
}

// --- the particles of a thread -------------------------------------------------------------------
template <class Config> struct particle_thread {
    float4 at[Config::TARGETS];
    float x[Config::TARGETS][Config::ACC], y[Config::TARGETS][Config::ACC],
        z[Config::TARGETS][Config::ACC];

    __device__ __forceinline__ void begin(int t, const float4 &place) {
        at[t] = place;
#pragma unroll
        for (int a = 0; a < Config::ACC; a++)
            x[t][a] = y[t][a] = z[t][a] = 0.0f;
    }

    // Distances are softened: a particle does not attract itself.
    __device__ __forceinline__ void add(const float4 &other, int a) {
#pragma unroll
        for (int t = 0; t < Config::TARGETS; t++) {
            const float dx = other.x - at[t].x, dy = other.y - at[t].y, dz = other.z - at[t].z;
            const float square = fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, 0.015625f)));
            const float root = Config::ROOT == ROOT_fast ? rsqrtf(square) : 1.0f / sqrtf(square);
            const float pull = other.w * root * (root * root);
            x[t][a] = fmaf(dx, pull, x[t][a]);
            y[t][a] = fmaf(dy, pull, y[t][a]);
            z[t][a] = fmaf(dz, pull, z[t][a]);
        }
    }

    template <bool WIDE> __device__ __forceinline__ void add_all(const float *from, u64 first, u64 count) {
        u64 j = 0;
#pragma unroll 1
        for (; j + Config::UNROLL <= count; j += Config::UNROLL) {
            float4 other[Config::UNROLL];
#pragma unroll
            for (int u = 0; u < Config::UNROLL; u++)
                other[u] = particle_load<WIDE>(from, first + j + u);
#pragma unroll
            for (int u = 0; u < Config::UNROLL; u++)
                add(other[u], u % Config::ACC);
        }
#pragma unroll 1
        for (; j < count; j++)
            add(particle_load<WIDE>(from, first + j), 0);
    }

    static __device__ __forceinline__ float total(const float *sums) {
        float sum = sums[0];
#pragma unroll
        for (int a = 1; a < Config::ACC; a++)
            sum += sums[a];
        return sum;
    }

    // Velocity first, then the place with the new velocity.
    __device__ __forceinline__ void end(int t, float span, float4 &place, float4 &velocity) const {
        velocity.x = fmaf(span, total(x[t]), velocity.x);
        velocity.y = fmaf(span, total(y[t]), velocity.y);
        velocity.z = fmaf(span, total(z[t]), velocity.z);
        place.x = fmaf(span, velocity.x, at[t].x);
        place.y = fmaf(span, velocity.y, at[t].y);
        place.z = fmaf(span, velocity.z, at[t].z);
        place.w = at[t].w;
    }
};

// --- one block -----------------------------------------------------------------------------------
// Where a thread's cell lies, and its number among the threads of that cell.
struct particle_cell {
    u64 block_first;  // first particle of the block's first cell
    u64 first, count; // of the thread's cell; count 0: the thread has none
    u64 place;        // of the cell among those of the block, in particles
    u64 slot;
};

template <class Config>
__device__ __forceinline__ particle_cell particle_find(u64 n, u64 cell, u64 groups, u32 together,
                                                       u64 chunks) {
    particle_cell found;
    u64 which = 0;
    found.slot = (blockIdx.x % chunks) * Config::BLOCK + threadIdx.x;
    if (chunks == 1) {
        which = threadIdx.x / (u32)groups;
        found.slot = threadIdx.x % (u32)groups;
    }
    found.block_first = blockIdx.x / chunks * together * cell;
    found.place = which * cell;
    found.first = found.block_first + found.place;
    found.count = which < together && found.first < n ? n - found.first : 0;
    found.count = found.count < cell ? found.count : cell;
    return found;
}

// Through shared memory: all cells of the block at once, or one cell piece by piece. What lies beyond the
// last particle is left out.
template <class Config, bool WIDE>
__device__ __forceinline__ void particles_staged(particle_thread<Config> &thread, const float *place,
                                                 const particle_cell &mine, u64 n, u64 cell,
                                                 u32 together, u64 chunks) {
    extern __shared__ float4 particle_stage[];
    const u64 ROOM = Config::BLOCK * Config::TARGETS;
    const u64 width = chunks == 1 ? cell : ROOM;
#pragma unroll 1
    for (u64 begin = 0; begin < cell; begin += width) {
        const u64 from = mine.block_first + begin;
        u64 wanted = chunks == 1 ? together * cell : cell - begin;
        wanted = wanted < ROOM ? wanted : ROOM;
        __syncthreads();
#pragma unroll 1
        for (u64 k = threadIdx.x; k < wanted && from + k < n; k += Config::BLOCK)
            particle_stage[k] = particle_load<WIDE>(place, from + k);
        __syncthreads();
        const u64 left = mine.count > begin ? mine.count - begin : 0;
        thread.template add_all<true>((const float *)particle_stage, chunks == 1 ? mine.place : 0,
                                      left < width ? left : width);
    }
}

template <class Config, bool WIDE>
__device__ __forceinline__ void
particles_block(const float *__restrict__ place, const float *__restrict__ velocity,
                float *__restrict__ new_place, float *__restrict__ new_velocity, u64 n, u64 cell,
                u32 together, u64 chunks, float span) {
    const u64 groups = (cell + Config::TARGETS - 1) / Config::TARGETS;
    const particle_cell mine = particle_find<Config>(n, cell, groups, together, chunks);
    particle_thread<Config> thread;
#pragma unroll
    for (int t = 0; t < Config::TARGETS; t++) {
        const u64 i = mine.slot + t * groups;
        const float4 none = {0.0f, 0.0f, 0.0f, 0.0f};
        thread.begin(t, i < mine.count ? particle_load<WIDE>(place, mine.first + i) : none);
    }
    if (Config::SOURCE == SOURCE_shared)
        particles_staged<Config, WIDE>(thread, place, mine, n, cell, together, chunks);
    else if (mine.slot < mine.count)
        thread.template add_all<WIDE>(place, mine.first, mine.count);
#pragma unroll
    for (int t = 0; t < Config::TARGETS; t++) {
        const u64 i = mine.slot + t * groups;
        if (i < mine.count) {
            float4 moved, speed = particle_load<WIDE>(velocity, mine.first + i);
            thread.end(t, span, moved, speed);
            particle_store(new_place, mine.first + i, moved, WIDE);
            particle_store(new_velocity, mine.first + i, speed, WIDE);
        }
    }
}

// rate: steps a unit of time. wide: all four bases are aligned to a particle.
template <class Config>
__global__ void __launch_bounds__(Config::BLOCK)
    particles_step(const float *__restrict__ place, const float *__restrict__ velocity,
                   float *__restrict__ new_place, float *__restrict__ new_velocity, u64 n, u64 cell,
                   u32 together, u64 chunks, float rate, u32 wide) {
    const float span = 1.0f / rate;
    if (wide)
        particles_block<Config, true>(place, velocity, new_place, new_velocity, n, cell, together,
                                      chunks, span);
    else
        particles_block<Config, false>(place, velocity, new_place, new_velocity, n, cell, together,
                                       chunks, span);
}

} // namespace simtune

#endif // SIMTUNE_PARTICLES_CU
