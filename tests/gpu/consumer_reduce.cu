// SPDX-License-Identifier: Apache-2.0
// The host functions of a generated simtune_reduce.h on a device: right results for every type and operation on
// odd sizes, from misaligned input, with garbage in the temporary storage, under graph replay, on two streams and
// on every device of the process. Prints what is wrong; ends with 0 when nothing is.
//
//     nvcc -std=c++11 -O2 -arch=native -I HEADERS consumer_reduce.cu -o consumer_reduce && ./consumer_reduce
#include "simtune_reduce.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <vector>

static int failures;

#define CHECK(call)                                                                                \
    do {                                                                                           \
        const cudaError_t error_here = (call);                                                     \
        if (error_here != cudaSuccess) {                                                           \
            std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_here)); \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

static void expect(bool holds, const char *what, const char *type, const char *operation, unsigned long long n)
{
    if (holds)
        return;
    failures++;
    std::printf("%s: %s %s, n = %llu\n", what, type, operation, n);
}

// --- data: small whole numbers that every type holds, so that answers are exact -------------------------------

enum operation { op_sum, op_min, op_max };
static const char *const operation_names[] = {"sum", "min", "max"};

// sum: 1 and 2 at about a hundred places, the first and the last among them. min and max: one place differs.
__host__ __device__ inline int value_at(operation op, unsigned long long i, unsigned long long n,
                                        unsigned long long place)
{
    if (op != op_sum)
        return i != place ? 3 : op == op_min ? 1 : 7;
    const unsigned long long stride = n / 96 + 1;
    return i == n - 1 ? 2 : i % stride ? 0 : 1 + (int)(i / stride % 2);
}

static double expected_of(operation op, unsigned long long n)
{
    if (op != op_sum)
        return op == op_min ? 1 : 7;
    const unsigned long long stride = n / 96 + 1;
    double total = 0;
    for (unsigned long long i = 0; i + 1 < n; i += stride)
        total += value_at(op, i, n, 0);
    return n ? total + value_at(op, n - 1, n, 0) : 0;
}

template <class T> __device__ inline T convert(int value) { return (T)value; }
template <> __device__ inline __half convert<__half>(int value) { return __float2half((float)value); }
template <> __device__ inline __nv_bfloat16 convert<__nv_bfloat16>(int value)
{
    return __float2bfloat16((float)value);
}

template <class T> double number(T value) { return (double)value; }
template <> double number<__half>(__half value) { return __half2float(value); }
template <> double number<__nv_bfloat16>(__nv_bfloat16 value) { return __bfloat162float(value); }

template <class T>
__global__ void fill(T *to, operation op, unsigned long long n, unsigned long long place)
{
    const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
    for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < n; i += step)
        to[i] = convert<T>(value_at(op, i, n, place));
}

// --- one call --------------------------------------------------------------------------------------------------

template <class T> struct family {
    typedef cudaError_t (*call)(void *, size_t *, const T *, T *, size_t, cudaStream_t);
    const char *name;
    call calls[3];
};

struct storage {
    void *memory;
    size_t bytes;
    storage() : memory(nullptr), bytes(0) {}
    ~storage() { cudaFree(memory); }
    void *of(size_t wanted)
    {
        if (wanted > bytes) {
            cudaFree(memory);
            memory = nullptr;
            CHECK(cudaMalloc(&memory, wanted));
            bytes = wanted;
        }
        return memory;
    }
};

template <class T> T *make(size_t count)
{
    void *memory = nullptr;
    CHECK(cudaMalloc(&memory, count * sizeof(T) + 64));
    return static_cast<T *>(memory);
}

template <class T> double get(const T *from)
{
    T value;
    CHECK(cudaMemcpy(&value, from, sizeof value, cudaMemcpyDeviceToHost));
    return number(value);
}

template <class T>
void check_size(const family<T> &it, operation op, T *memory, T *out, storage *temp, unsigned long long n,
                unsigned shift)
{
    const unsigned long long places[] = {0, n / 2, n - 1};
    for (int p = 0; p < (op == op_sum ? 1 : 3); p++) {
        T *const in = memory + shift;
        if (n > 0)
            fill<<<1024, 256>>>(in, op, n, places[p]);
        size_t bytes = 0;
        CHECK(it.calls[op](nullptr, &bytes, in, out, n, nullptr));
        expect(bytes > 0, "no size of the temporary storage", it.name, operation_names[op], n);
        void *const storage_here = temp->of(bytes);
        CHECK(cudaMemset(storage_here, 0xFF, bytes));
        CHECK(cudaMemset(out, 0xFF, sizeof(T)));
        CHECK(it.calls[op](storage_here, &bytes, in, out, n, nullptr));
        CHECK(cudaDeviceSynchronize());
        if (n > 0 || op == op_sum)
            expect(get(out) == expected_of(op, n), shift ? "wrong (misaligned)" : "wrong", it.name,
                   operation_names[op], n);
    }
}

template <class T> void check_sizes(const family<T> &it)
{
    const unsigned long long sizes[] = {0,     1,      31,      33,       255,       1000,      4097,
                                        65535, 262145, 1000003, 16777259, 134217757};
    const size_t count = sizeof sizes / sizeof sizes[0];
    T *const memory = make<T>(sizes[count - 1] + 1), *const out = make<T>(1);
    storage temp;
    for (size_t s = 0; s < count; s++)
        for (int op = 0; op < 3; op++)
            for (unsigned shift = 0; shift < 2; shift++)
                check_size(it, (operation)op, memory, out, &temp, sizes[s], shift);
    CHECK(cudaFree(memory));
    CHECK(cudaFree(out));
}

// More elements than 32 bits count, where the memory is there.
template <class T> void check_huge(const family<T> &it)
{
    const unsigned long long n = (1ull << 32) + 12345;
    size_t free_bytes = 0, total = 0;
    CHECK(cudaMemGetInfo(&free_bytes, &total));
    if (free_bytes < n * sizeof(T) + (1ull << 30)) {
        std::printf("note: not enough memory for 2^32 elements of %s\n", it.name);
        return;
    }
    T *const memory = make<T>(n), *const out = make<T>(1);
    storage temp;
    check_size(it, op_sum, memory, out, &temp, n, 0);
    CHECK(cudaFree(memory));
    CHECK(cudaFree(out));
}

// --- the contract -----------------------------------------------------------------------------------------------

// Of each size that a row is recorded for: captured once, replayed 1,000 times over storage that is garbage again.
static void check_graph(const family<float> &it)
{
    const unsigned long long sizes[] = {1000, 65536, 1048576, 16777216, 100000001};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        const unsigned long long n = sizes[s];
        float *const in = make<float>(n), *const out = make<float>(1);
        size_t bytes = 0;
        CHECK(it.calls[op_sum](nullptr, &bytes, in, out, n, nullptr));
        void *temp = nullptr;
        CHECK(cudaMalloc(&temp, bytes));
        CHECK(cudaMemset(temp, 0xFF, bytes));
        fill<<<1024, 256>>>(in, op_sum, n, 0ull);
        CHECK(cudaDeviceSynchronize());
        cudaStream_t stream;
        cudaGraph_t graph;
        cudaGraphExec_t program;
        CHECK(cudaStreamCreate(&stream));
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        CHECK(it.calls[op_sum](temp, &bytes, in, out, n, stream));
        CHECK(cudaStreamEndCapture(stream, &graph));
        CHECK(cudaGraphInstantiate(&program, graph, 0));
        for (int i = 0; i < 1000; i++) {
            if (i % 100 == 0) {
                CHECK(cudaMemsetAsync(temp, 0xA5, bytes, stream));
                CHECK(cudaMemsetAsync(out, 0xFF, sizeof(float), stream));
            }
            CHECK(cudaGraphLaunch(program, stream));
            if (i % 100 == 99) {
                CHECK(cudaStreamSynchronize(stream));
                expect(get(out) == expected_of(op_sum, n), "wrong in a replayed graph", it.name, "sum", n);
            }
        }
        CHECK(cudaGraphExecDestroy(program));
        CHECK(cudaGraphDestroy(graph));
        CHECK(cudaStreamDestroy(stream));
        CHECK(cudaFree(temp));
        CHECK(cudaFree(in));
        CHECK(cudaFree(out));
    }
}

// Two streams at once, each with storage of its own.
static void check_streams(const family<float> &it)
{
    const unsigned long long sizes[2] = {1000003, 3000017};
    float *in[2], *out[2];
    void *temp[2];
    size_t bytes[2];
    cudaStream_t streams[2];
    const int calls = 200;
    for (int s = 0; s < 2; s++) {
        in[s] = make<float>(sizes[s]);
        out[s] = make<float>(calls);
        CHECK(it.calls[op_sum](nullptr, &bytes[s], in[s], out[s], sizes[s], nullptr));
        CHECK(cudaMalloc(&temp[s], bytes[s]));
        CHECK(cudaMemset(temp[s], 0xFF, bytes[s]));
        fill<<<1024, 256>>>(in[s], op_sum, sizes[s], 0ull);
        CHECK(cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking));
    }
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < calls; i++)
        for (int s = 0; s < 2; s++)
            CHECK(it.calls[op_sum](temp[s], &bytes[s], in[s], out[s] + i, sizes[s], streams[s]));
    CHECK(cudaDeviceSynchronize());
    for (int s = 0; s < 2; s++) {
        std::vector<float> got(calls);
        CHECK(cudaMemcpy(got.data(), out[s], calls * sizeof(float), cudaMemcpyDeviceToHost));
        for (int i = 0; i < calls; i++)
            expect(got[i] == expected_of(op_sum, sizes[s]), "wrong on two streams", it.name, "sum", sizes[s]);
        CHECK(cudaFree(in[s]));
        CHECK(cudaFree(out[s]));
        CHECK(cudaFree(temp[s]));
        CHECK(cudaStreamDestroy(streams[s]));
    }
}

static void check_storage(const family<float> &it)
{
    const unsigned long long n = 1 << 20;
    float *const in = make<float>(n), *const out = make<float>(1);
    size_t bytes = 0, before = 0;
    expect(it.calls[op_sum](nullptr, nullptr, in, out, n, nullptr) == cudaErrorInvalidValue, "no place for the size",
           it.name, "sum", n);
    for (unsigned long long size = 0; size <= 1ull << 33; size = size * 2 + 1) {
        CHECK(it.calls[op_sum](nullptr, &bytes, in, out, size, nullptr));
        expect(bytes >= before, "less storage for more elements", it.name, "sum", size);
        before = bytes;
    }
    expect(it.calls[op_sum](nullptr, &bytes, in, out, ~(size_t)0, nullptr) == cudaErrorInvalidValue, "absurd size",
           it.name, "sum", ~0ull);
    CHECK(it.calls[op_sum](nullptr, &bytes, in, out, n, nullptr));
    void *temp = nullptr;
    CHECK(cudaMalloc(&temp, bytes + 512));
    size_t little = 1;
    expect(it.calls[op_sum](temp, &little, in, out, n, nullptr) == cudaErrorInvalidValue, "too little storage", it.name,
           "sum", n);
    // Storage off its alignment: refused when there is no room, right when there are 255 bytes more.
    fill<<<1024, 256>>>(in, op_sum, n, 0ull);
    size_t more = bytes + 255;
    CHECK(it.calls[op_sum](static_cast<char *>(temp) + 8, &more, in, out, n, nullptr));
    CHECK(cudaDeviceSynchronize());
    expect(get(out) == expected_of(op_sum, n), "wrong with misaligned storage", it.name, "sum", n);
    CHECK(cudaFree(temp));
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
}

// Storage whose size was asked on the first device serves every other.
static void check_devices(const family<float> &it)
{
    int count = 0;
    const unsigned long long n = 1000003;
    size_t bytes = 0;
    CHECK(cudaGetDeviceCount(&count));
    CHECK(cudaSetDevice(0));
    CHECK(it.calls[op_sum](nullptr, &bytes, nullptr, nullptr, n, nullptr));
    for (int device = 0; device < count; device++) {
        CHECK(cudaSetDevice(device));
        float *const in = make<float>(n), *const out = make<float>(1);
        void *temp = nullptr;
        CHECK(cudaMalloc(&temp, bytes));
        fill<<<1024, 256>>>(in, op_sum, n, 0ull);
        CHECK(it.calls[op_sum](temp, &bytes, in, out, n, nullptr));
        CHECK(cudaDeviceSynchronize());
        expect(get(out) == expected_of(op_sum, n), "wrong on another device", it.name, "sum", (unsigned)device);
        CHECK(cudaFree(temp));
        CHECK(cudaFree(in));
        CHECK(cudaFree(out));
    }
    CHECK(cudaSetDevice(0));
}

#define FAMILY(T, name)                                                                            \
    {                                                                                              \
        #name, { simtune_reduce_##name##_sum, simtune_reduce_##name##_min, simtune_reduce_##name##_max } \
    }

int main()
{
    const family<float> f32 = FAMILY(float, f32);
    const family<double> f64 = FAMILY(double, f64);
    const family<int> i32 = FAMILY(int, i32);
    const family<unsigned int> u32 = FAMILY(unsigned int, u32);
    const family<long long> i64 = FAMILY(long long, i64);
    const family<unsigned long long> u64 = FAMILY(unsigned long long, u64);
    const family<__half> f16 = FAMILY(__half, f16);
    const family<__nv_bfloat16> bf16 = FAMILY(__nv_bfloat16, bf16);
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    const unsigned long long sizes[] = {1000, 65536, 1 << 20, 1 << 24, 1 << 28};
    for (size_t i = 0; i < 5; i++) {
        const simtune_config *const config = simtune_reduce_f32_sum_config(
            device.major * 10 + device.minor, device.multiProcessorCount, sizes[i]);
        std::printf("%s, n = %llu: %s%s\n", device.name, sizes[i], config ? config->text : "nothing",
                    config && config->exact ? "" : " (not of this device)");
    }
    check_storage(f32);
    check_graph(f32);
    check_streams(f32);
    check_devices(f32);
    check_sizes(f32);
    check_sizes(f64);
    check_sizes(i32);
    check_sizes(u32);
    check_sizes(i64);
    check_sizes(u64);
    check_sizes(f16);
    check_sizes(bf16);
    check_huge(f16);
    std::printf("%d failures\n", failures);
    return failures != 0;
}
