// SPDX-License-Identifier: Apache-2.0
// Checks every class of configuration of templates/reduce.cu (finish, warp step, block step, load,
// order, vector width) for every type and operation against the CPU: sizes that break kernels,
// bases off alignment by one and three elements, temporary storage full of garbage, guards around
// output and storage. Then the reference kernels against the CPU, special values, and sizes beyond
// 2^32.
//
//   nvcc -O2 -std=c++11 -arch=sm_90 -Itemplates tests/bench/reduce_check.cu -o reduce_check
//   ./reduce_check
//   compute-sanitizer --tool racecheck ./reduce_check --tiny    few sizes of each class
#include "reduce_harness.cuh"

#include <cmath>
#include <limits>

using namespace simtune;

static int failures, checks;
static bool tiny;

// --- types on the CPU ----------------------------------------------------------------------------
static double half_value(unsigned short bits) {
    int exponent = (bits >> 10) & 31, fraction = bits & 1023;
    double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                  : exponent     ? std::ldexp(1024 + fraction, exponent - 25)
                                 : std::ldexp(fraction, -24);
    return bits & 0x8000 ? -size : size;
}

template <class T> struct on_cpu {
    typedef T R;
    static R read(T v) {
        return v;
    }
    static T write(long long v) {
        return (T)v;
    }
};
template <> struct on_cpu<float> {
    typedef double R;
    static R read(float v) {
        return v;
    }
    static float write(long long v) {
        return (float)v;
    }
};
template <> struct on_cpu<simtune_bfloat16> {
    typedef double R;
    static R read(simtune_bfloat16 v) {
        unsigned bits = (unsigned)v.bits << 16;
        float f;
        std::memcpy(&f, &bits, 4);
        return f;
    }
    static simtune_bfloat16 write(long long v) // |v| < 256: exact
    {
        float f = (float)v;
        unsigned bits;
        std::memcpy(&bits, &f, 4);
        simtune_bfloat16 result = {(unsigned short)(bits >> 16)};
        return result;
    }
};
template <> struct on_cpu<simtune_half> {
    typedef double R;
    static R read(simtune_half v) {
        return half_value(v.bits);
    }
    static simtune_half write(long long v) // |v| < 2048: exact
    {
        for (unsigned bits = 0; bits < 0x7c00; bits++)
            if (half_value((unsigned short)bits) == (double)(v < 0 ? -v : v)) {
                simtune_half result = {(unsigned short)(bits | (v < 0 ? 0x8000u : 0u))};
                return result;
            }
        std::abort();
    }
};

template <class R> static bool same(R a, R b) {
    return a == b || (a != a && b != b);
}

// `bits` and `ulp` of the output: sums of small integers are exact in float32 and are rounded once.
static unsigned short round_half(double v) {
    unsigned short best = 0;
    double nearest = INFINITY;
    for (unsigned bits = 0; bits <= 0x7c00; bits++) {
        double candidate = bits == 0x7c00 ? 65536.0 : half_value((unsigned short)bits);
        double off = std::fabs(candidate - std::fabs(v));
        if (off < nearest || (off == nearest && !(bits & 1))) {
            nearest = off;
            best = (unsigned short)bits;
        }
    }
    return (unsigned short)(best | (v < 0 ? 0x8000u : 0u));
}
template <class T> static typename on_cpu<T>::R rounded(typename on_cpu<T>::R v) {
    return v;
}
template <> double rounded<float>(double v) {
    return (float)v;
}
template <> double rounded<simtune_half>(double v) {
    return std::isfinite(v) ? half_value(round_half(v)) : v;
}
template <> double rounded<simtune_bfloat16>(double v) {
    float f = (float)v;
    unsigned bits;
    std::memcpy(&bits, &f, 4);
    if (std::isfinite(v))
        bits += 0x7fff + ((bits >> 16) & 1);
    bits &= 0xffff0000u;
    std::memcpy(&f, &bits, 4);
    return f;
}

template <class T, int OP> struct fold {
    typedef typename on_cpu<T>::R R;
    static R start() {
        typedef std::numeric_limits<R> limit;
        if (OP == op_sum)
            return 0;
        if (limit::has_infinity)
            return OP == op_min ? limit::infinity() : -limit::infinity();
        return OP == op_min ? limit::max() : limit::lowest();
    }
    static R step(R a, R b) {
        if (OP == op_sum)
            return limit_add(a, b);
        if (a != a || b != b)
            return a != a ? a : b;
        return OP == op_min ? std::min(a, b) : std::max(a, b);
    }
    static double limit_add(double a, double b) {
        return a + b;
    }
    static int limit_add(int a, int b) {
        return (int)((unsigned)a + (unsigned)b);
    }
    static unsigned limit_add(unsigned a, unsigned b) {
        return a + b;
    }
    static long long limit_add(long long a, long long b) {
        return (long long)((u64)a + (u64)b);
    }
    static u64 limit_add(u64 a, u64 b) {
        return a + b;
    }
};

// --- one configuration on many sizes -------------------------------------------------------------
static unsigned char *device_temp;
static const size_t temp_capacity = 64 << 20, guard = 256;
static void *device_out; // guard, one element, guard

static u64 mix(u64 z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

template <class T> struct data_set {
    std::vector<T> host;
    T *device;
};

// Small integers with two extremes; 64-bit integers use all their bits.
template <class T> static data_set<T> make_data(size_t n, u64 seed) {
    data_set<T> data;
    std::vector<T> values;
    for (int v = -101; v <= 101; v++)
        values.push_back(on_cpu<T>::write(v));
    data.host.resize(n);
    for (size_t i = 0; i < n; i++) {
        u64 drawn = mix(seed + i * 0x9e3779b97f4a7c15ull);
        data.host[i] = values[101 + (int)(drawn % 7) - 3];
        if (sizeof(T) == 8 && is_integer<T>::value)
            std::memcpy(&data.host[i], &drawn, 8);
    }
    if (n > 4 && !(sizeof(T) == 8 && is_integer<T>::value)) {
        data.host[n / 3] = values[0];
        data.host[2 * n / 3] = values[202];
    }
    CHECK(cudaMalloc(&data.device, n * sizeof(T)));
    CHECK(cudaMemcpy(data.device, data.host.data(), n * sizeof(T), cudaMemcpyHostToDevice));
    return data;
}

// Runs on garbage storage; false and a message when a guard was touched.
template <class T> static T run(const candidate &c, const T *in, u64 n) {
    plan p = plan_of(c, n);
    if (p.temp_bytes + guard > temp_capacity) {
        std::printf("FAIL storage of %zu bytes: %s\n", p.temp_bytes, text_of(c).c_str());
        std::exit(1);
    }
    if (tiny) { // never written, so that a read of what nothing wrote shows under initcheck
        CHECK(cudaFree(device_temp));
        CHECK(cudaMalloc(&device_temp, p.temp_bytes + guard));
    } else {
        CHECK(cudaMemset(device_temp, 0xff, p.temp_bytes + guard));
    }
    CHECK(cudaMemset(device_out, 0xff, 2 * guard + sizeof(T)));
    CHECK(launch_candidate(c, in, (char *)device_out + guard, device_temp, n, 0));
    CHECK(cudaDeviceSynchronize());
    unsigned char after[guard], around[2 * guard + 8];
    if (tiny)
        std::memset(after, 0xff, guard);
    else
        CHECK(cudaMemcpy(after, device_temp + p.temp_bytes, guard, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(around, device_out, 2 * guard + sizeof(T), cudaMemcpyDeviceToHost));
    T result;
    std::memcpy(&result, around + guard, sizeof(T));
    for (size_t i = 0; i < guard; i++)
        if (after[i] != 0xff || around[i] != 0xff || around[guard + sizeof(T) + i] != 0xff) {
            std::printf("FAIL guard touched, n=%llu: %s\n", n, text_of(c).c_str());
            failures++;
            break;
        }
    return result;
}

// What every size must give from each of three bases: folded once for a data set and operation.
template <class T, int OP> struct expectations {
    typedef typename on_cpu<T>::R R;
    std::vector<R> of[3];
    explicit expectations(const data_set<T> &data) {
        for (int base = 0; base < 3; base++) {
            of[base].assign(1, fold<T, OP>::start());
            for (size_t i = (size_t)offset(base); i < data.host.size(); i++)
                of[base].push_back(
                    fold<T, OP>::step(of[base].back(), on_cpu<T>::read(data.host[i])));
        }
    }
    static u64 offset(int base) {
        return base == 2 ? 3 : base;
    }
};

template <class T, int OP>
static void check_sizes(const candidate &c, const data_set<T> &data,
                        const expectations<T, OP> &expect, const std::vector<u64> &sizes) {
    typedef typename on_cpu<T>::R R;
    for (int base = tiny; base < (tiny ? 2 : 3); base++)
        for (u64 n : sizes) {
            const u64 offset = expect.offset(base);
            if (offset + n > data.host.size())
                continue;
            R expected = expect.of[base][n];
            R got = on_cpu<T>::read(run<T>(c, data.device + offset, n));
            checks++;
            if (!same(got, rounded<T>(expected)) && failures++ < 40)
                std::printf(
                    "FAIL size_of_T=%d op=%d n=%llu offset=%llu got %.17g expected %.17g: %s\n",
                    (int)sizeof(T), OP, n, offset, (double)got, (double)expected,
                    text_of(c).c_str());
        }
}

static std::vector<u64> sizes_for(const candidate &c) {
    u64 tile = (u64)c.block * c.vec * c.unroll;
    if (tiny)
        return std::vector<u64>{0, 1, tile + 1, 3 * tile + 5, 70001};
    u64 sizes[] = {0,     1,     2,    3,    7,    31,   32,       33,   127,      128,
                   129,   255,   257,  1000, 1023, 1025, tile - 1, tile, tile + 1, 3 * tile + 5,
                   65536, 65537, 99991};
    std::vector<u64> all(sizes, sizes + sizeof sizes / sizeof *sizes);
    all.push_back(1000003);
    return all;
}

template <class C>
static void check(const data_set<typename C::T> &data,
                  const expectations<typename C::T, C::op> &expect) {
    candidate c = make_candidate<C>();
    const bool fixed = c.finish == FINISH_one_block || c.finish == FINISH_cluster;
    for (int waves = fixed ? 1 : 0; waves <= (fixed ? 1 : 2); waves += 2)
        for (int contiguous = 0; contiguous <= (c.finish == FINISH_one_block ? 0 : 1);
             contiguous++) {
            c.waves = waves == 2 ? 1 : waves;
            c.contiguous = contiguous;
            check_sizes<typename C::T, C::op>(c, data, expect, sizes_for(c));
        }
}

// --- special values ------------------------------------------------------------------------------
template <class T, class C>
static void check_values(const std::vector<T> &values, T expected, bool bits) {
    candidate c = make_candidate<C>();
    T *device;
    CHECK(cudaMalloc(&device, values.size() * sizeof(T)));
    CHECK(cudaMemcpy(device, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    T got = run<T>(c, device, values.size());
    CHECK(cudaFree(device));
    checks++;
    bool fine = bits ? std::memcmp(&got, &expected, sizeof(T)) == 0
                     : same(on_cpu<T>::read(got), on_cpu<T>::read(expected));
    if (!fine && failures++ < 40)
        std::printf("FAIL special value: got %g expected %g op=%d: %s\n",
                    (double)on_cpu<T>::read(got), (double)on_cpu<T>::read(expected), C::op,
                    text_of(c).c_str());
}

template <class T, int FINISH>
static void check_special(T nan, T infinity, T minus_infinity, T zero, T minus_zero) {
    typedef config<T, op_min, 128, 16 / sizeof(T), 1, 1, LOAD_nc, 0, 1, 0, 1, FINISH, 2> least;
    typedef config<T, op_max, 128, 16 / sizeof(T), 1, 1, LOAD_nc, 0, 1, 0, 1, FINISH, 2> greatest;
    const size_t n = 1001;
    for (size_t at = 0; at < n; at += 77) {
        std::vector<T> values(n, zero);
        values[at] = nan;
        check_values<T, least>(values, nan, false);
        check_values<T, greatest>(values, nan, false);
        values[at] = minus_zero;
        check_values<T, least>(values, minus_zero, true);
        values.assign(n, minus_zero);
        check_values<T, greatest>(values, minus_zero, true);
        values[at] = zero;
        check_values<T, greatest>(values, zero, true);
    }
    check_values<T, least>(std::vector<T>(n, infinity), infinity, false);
    check_values<T, greatest>(std::vector<T>(n, minus_infinity), minus_infinity, false);
    check_values<T, least>(std::vector<T>(n, minus_infinity), minus_infinity, false);
}

// --- the classes ---------------------------------------------------------------------------------
template <class T, int OP> static void check_classes(const data_set<T> &data) {
    enum { W = 16 / sizeof(T) };
    const expectations<T, OP> expect(data);
    check<config<T, OP, 256, 1, 1, 1, LOAD_plain, 0, 1, 0, 1, FINISH_two_pass, 1>>(data, expect);
    check<config<T, OP, 128, W, 4, 4, LOAD_nc, 0, 1, 0, 1, FINISH_dependent, 1>>(data, expect);
    check<config<T, OP, 256, W, 2, 2, LOAD_no_allocate, 1, 2, 1, 0, FINISH_two_pass, 1>>(data,
                                                                                         expect);
    check<config<T, OP, 512, W / 2, 4, 2, LOAD_cg, 0, 1, 0, 2, FINISH_dependent, 1>>(data, expect);
    check<config<T, OP, 256, W, 4, 8, LOAD_evict_first, 1, 1, 0, 1, FINISH_cluster, 8>>(data,
                                                                                        expect);
    check<config<T, OP, 512, W, 1, 1, LOAD_l2_256, 0, 1, 1, 2, FINISH_cluster, 4>>(data, expect);
    check<config<T, OP, 128, W, 2, 1, LOAD_l2_128, 0, 1, 0, 0, FINISH_cluster, 2>>(data, expect);
    check<config<T, OP, 1024, W, 2, 2, LOAD_l2_64, 0, 1, 0, 1, FINISH_one_block, 1>>(data, expect);
    check<config<T, OP, 256, W, 2, 2, LOAD_nc, 0, 1, 1, 0, FINISH_ticket, 1>>(data, expect);
    check<config<T, OP, 256, W, 2, 2, LOAD_nc, 0, 1, 0, 1, FINISH_atomic, 1>>(data, expect);
}

template <class T> static void check_type(u64 seed) {
    data_set<T> data = make_data<T>(1000100, seed);
    check_classes<T, op_sum>(data);
    check_classes<T, op_min>(data);
    check_classes<T, op_max>(data);
    // The reference kernels.
    typedef typename reference_type<T>::R R;
    typedef config<T, op_sum, 256, 1, 1, 1, LOAD_plain, 0, 1, 0, 1, FINISH_two_pass, 1> sum;
    typedef config<T, op_min, 256, 1, 1, 1, LOAD_plain, 0, 1, 0, 1, FINISH_two_pass, 1> least;
    R *expected;
    double *magnitude;
    CHECK(cudaMalloc(&expected, sizeof(R)));
    CHECK(cudaMalloc(&magnitude, 8));
    for (u64 n : {0ull, 1ull, 33ull, 65537ull, (u64)data.host.size()})
        for (int is_sum = 0; is_sum < 2; is_sum++) {
            const unsigned blocks = (unsigned)std::min(1024ull, std::max(1ull, ceil_div(n, 4096)));
            R want = is_sum ? fold<T, op_sum>::start() : fold<T, op_min>::start();
            double size = 0;
            for (u64 i = 0; i < n; i++) {
                R v = on_cpu<T>::read(data.host[i]);
                want = is_sum ? fold<T, op_sum>::step(want, v) : fold<T, op_min>::step(want, v);
                size += std::fabs((double)v);
            }
            if (is_sum) {
                reference_reduce_blocks<sum><<<blocks, 256>>>(data.device, n);
                reference_reduce_total<sum><<<1, 1>>>(expected, magnitude, blocks);
            } else {
                reference_reduce_blocks<least><<<blocks, 256>>>(data.device, n);
                reference_reduce_total<least><<<1, 1>>>(expected, magnitude, blocks);
            }
            R got;
            double got_size;
            CHECK(cudaMemcpy(&got, expected, sizeof(R), cudaMemcpyDeviceToHost));
            CHECK(cudaMemcpy(&got_size, magnitude, 8, cudaMemcpyDeviceToHost));
            checks++;
            if (!same(got, want) || !(std::fabs(got_size - size) <= 1e-9 * size)) {
                failures++;
                std::printf(
                    "FAIL reference n=%llu: %.17g, magnitude %.17g; expected %.17g, %.17g\n", n,
                    (double)got, got_size, (double)want, size);
            }
        }
    CHECK(cudaFree(expected));
    CHECK(cudaFree(magnitude));
    CHECK(cudaFree(data.device));
}

// --- beyond 2^32 elements, on the device ---------------------------------------------------------
__global__ void fill_sparse(simtune_half *to, u64 n) {
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n;
         i += (u64)gridDim.x * blockDim.x)
        to[i].bits = i % 1048576 == 5 || i + 1 == n ? 0x3c00 : 0; // one in 2^20 and the last are 1
}

template <class C>
static void check_huge(const simtune_half *data, u64 n, double expected, int waves,
                       bool contiguous) {
    candidate c = make_candidate<C>();
    c.waves = waves;
    c.contiguous = contiguous;
    double got = half_value(run<simtune_half>(c, data, n).bits);
    checks++;
    if (got != expected) {
        failures++;
        std::printf("FAIL n=%llu got %g expected %g: %s\n", n, got, expected, text_of(c).c_str());
    }
}

static void check_beyond() {
    const u64 n = (1ull << 32) + 12345;
    simtune_half *data;
    CHECK(cudaMalloc(&data, n * 2));
    fill_sparse<<<2048, 256>>>(data, n);
    const double expected = half_value(round_half(4097 + 1));
    typedef config<simtune_half, op_sum, 512, 8, 4, 4, LOAD_nc, 0, 1, 0, 1, FINISH_two_pass, 1>
        two_pass;
    typedef config<simtune_half, op_sum, 512, 1, 1, 1, LOAD_nc, 0, 1, 0, 1, FINISH_dependent, 1>
        narrow;
    typedef config<simtune_half, op_sum, 512, 8, 4, 4, LOAD_nc, 1, 1, 0, 1, FINISH_ticket, 1>
        ticket;
    for (int contiguous = 0; contiguous < 2; contiguous++) {
        check_huge<two_pass>(data, n, expected, 1, contiguous);
        check_huge<two_pass>(data, n, expected, 0, contiguous);
        check_huge<narrow>(data, n, expected, 2, contiguous);
        check_huge<ticket>(data, n, expected, 1, contiguous);
    }
    CHECK(cudaFree(data));
}

template <int FINISH> static void check_all_special() {
    check_special<float, FINISH>(NAN, INFINITY, -INFINITY, 0.0f, -0.0f);
    check_special<double, FINISH>(NAN, INFINITY, -INFINITY, 0.0, -0.0);
    const simtune_half half[] = {{0x7e00}, {0x7c00}, {0xfc00}, {0}, {0x8000}};
    check_special<simtune_half, FINISH>(half[0], half[1], half[2], half[3], half[4]);
    const simtune_bfloat16 brain[] = {{0x7fc0}, {0x7f80}, {0xff80}, {0}, {0x8000}};
    check_special<simtune_bfloat16, FINISH>(brain[0], brain[1], brain[2], brain[3], brain[4]);
}

// The warp instruction exists for 32-bit integers alone.
static void check_redux() {
    data_set<int> integers = make_data<int>(100100, 9);
    const expectations<int, op_sum> sum(integers);
    const expectations<int, op_min> least(integers);
    const expectations<int, op_max> greatest(integers);
    check<config<int, op_sum, 256, 4, 2, 2, LOAD_nc, 0, 1, WARP_redux, 1, FINISH_two_pass, 1>>(
        integers, sum);
    check<config<int, op_min, 256, 4, 2, 2, LOAD_nc, 0, 1, WARP_redux, 2, FINISH_cluster, 4>>(
        integers, least);
    check<config<int, op_max, 256, 4, 2, 2, LOAD_nc, 0, 1, WARP_redux, 1, FINISH_one_block, 1>>(
        integers, greatest);
    data_set<unsigned> naturals = make_data<unsigned>(100100, 10);
    const expectations<unsigned, op_sum> sum_u(naturals);
    const expectations<unsigned, op_min> least_u(naturals);
    const expectations<unsigned, op_max> greatest_u(naturals);
    check<config<unsigned, op_sum, 256, 4, 2, 2, LOAD_nc, 0, 1, WARP_redux, 0, FINISH_ticket, 1>>(
        naturals, sum_u);
    check<config<unsigned, op_min, 256, 4, 2, 2, LOAD_nc, 0, 1, WARP_redux, 1, FINISH_atomic, 1>>(
        naturals, least_u);
    check<
        config<unsigned, op_max, 256, 4, 2, 2, LOAD_nc, 0, 1, WARP_redux, 2, FINISH_dependent, 1>>(
        naturals, greatest_u);
    CHECK(cudaFree(integers.device));
    CHECK(cudaFree(naturals.device));
}

static void check_tiny() {
    data_set<float> floats = make_data<float>(100100, 1);
    check_classes<float, op_sum>(floats);
    CHECK(cudaFree(floats.device));
    data_set<simtune_half> halves = make_data<simtune_half>(100100, 2);
    check_classes<simtune_half, op_max>(halves);
    CHECK(cudaFree(halves.device));
    data_set<long long> integers = make_data<long long>(100100, 3);
    check_classes<long long, op_min>(integers);
    CHECK(cudaFree(integers.device));
    check_redux();
}

static void check_everything() {
    check_type<float>(1);
    check_type<double>(2);
    check_type<int>(3);
    check_type<unsigned>(4);
    check_type<long long>(5);
    check_type<u64>(6);
    check_type<simtune_half>(7);
    check_type<simtune_bfloat16>(8);
    check_redux();
    check_all_special<FINISH_two_pass>();
    check_all_special<FINISH_cluster>();
    check_all_special<FINISH_atomic>();
    check_beyond();
}

int main(int argc, char **argv) {
    tiny = argc > 1 && std::strcmp(argv[1], "--tiny") == 0;
    read_device_facts();
    CHECK(cudaMalloc(&device_temp, temp_capacity));
    CHECK(cudaMalloc(&device_out, 2 * guard + 8));
    if (tiny)
        check_tiny();
    else
        check_everything();
    CHECK(cudaDeviceSynchronize());
    std::printf("%d checks, %d failures\n", checks, failures);
    return failures != 0;
}
