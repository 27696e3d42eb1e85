// SPDX-License-Identifier: Apache-2.0
// The contract of a header's host function (DESIGN.md §9) against a runtime that takes notes: sizes of the
// storage, what is asked of the runtime and how often, errors, several devices, several threads. The numbers are
// those of tests/data/emit_plain.cu and of the rows in CMakeLists.txt.
#include "simtune_plain.h"

#include <cstdio>
#include <thread>

fake_runtime fake;
static int failures;

static void expect(bool holds, const char *what, int line)
{
    if (!holds) {
        failures++;
        std::printf("contract.cpp:%d: %s does not hold\n", line, what);
    }
}
#define EXPECT(condition) expect((condition), #condition, __LINE__)

static float *const in = reinterpret_cast<float *>(0x1000000), *const out = reinterpret_cast<float *>(0x2000000);
static char *const temp = reinterpret_cast<char *>(0x3000000);

static void use(fake_device only)
{
    fake.devices.assign(1, only);
    fake.current = 0;
    fake.forget();
}

static cudaError_t size(size_t n, size_t rows, size_t *bytes)
{
    return simtune_plain(nullptr, bytes, in, out, n, rows, nullptr);
}
static cudaError_t run(size_t n, size_t rows, size_t bytes)
{
    return simtune_plain(temp, &bytes, in, out, n, rows, nullptr);
}

static size_t calls_of(const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < fake.calls.size(); i++)
        count += fake.calls[i] == name;
    return count;
}

// Ordinals are never asked twice, so each scene has a device of its own.
static void two_kernels_and_their_storage()
{
    fake.devices.assign(2, fake_device());
    fake.devices[0] = {80, 108, 166912, 80};
    fake.devices[1] = {80, 200, 166912, 80}; // not recorded; more SMs need more storage
    fake.current = 0;
    fake.forget();
    size_t bytes = 0;
    EXPECT(size(1 << 20, 1, &bytes) == cudaSuccess);
    EXPECT(bytes == (200 * 2 + 3) * 4); // blocks, and three elements for the worst alignment of `in`
    EXPECT(calls_of("cudaFuncGetAttributes") == 0 && fake.launches.empty());
    // Of this device alone less is enough.
    EXPECT(run(1 << 20, 1, 108 * 2 * 4) == cudaSuccess);
    EXPECT(fake.launches.size() == 2);
    EXPECT(fake.launches[0].grid.x == 216 && fake.launches[0].block.x == 64);
    EXPECT(fake.launches[0].pointers[0] == in && fake.launches[0].pointers[1] == temp);
    EXPECT(fake.launches[1].grid.y == 2 && fake.launches[1].block.z == 4 && fake.launches[1].shared == 65536);
    EXPECT(!fake.launches[1].dependent); // sm_80 has no such launch
    EXPECT(fake.shared_set.size() == 1 && fake.shared_set[0] == 166912 - 1024);
    // From now on: which device, and the launches.
    fake.forget();
    EXPECT(run(1 << 20, 1, bytes) == cudaSuccess);
    EXPECT(fake.calls.size() == 3 && calls_of("cudaGetDevice") == 1);
    // The other device has its own attributes, once.
    fake.forget();
    fake.current = 1;
    EXPECT(run(1 << 20, 1, bytes) == cudaSuccess && run(1 << 20, 1, bytes) == cudaSuccess);
    EXPECT(fake.launches.size() == 4 && fake.launches[0].grid.x == 400 && fake.shared_set.size() == 1);
    fake.current = 0;
}

static void errors_are_returned()
{
    fake.forget();
    size_t bytes = 0;
    EXPECT(run(1 << 20, 1, 108 * 2 * 4 - 1) == cudaErrorInvalidValue && fake.launches.empty());
    EXPECT(simtune_plain(nullptr, nullptr, in, out, 1, 1, nullptr) == cudaErrorInvalidValue);
    EXPECT(simtune_plain(temp, nullptr, in, out, 1, 1, nullptr) == cudaErrorInvalidValue);
    EXPECT(size((size_t)1 << 60, 1, &bytes) == cudaErrorInvalidValue);
    fake.fail_launch = 1;
    EXPECT(run(1 << 20, 1, 4096) == cudaErrorLaunchFailure && fake.launches.size() == 1);
    fake.forget();
    fake.fail_launch = 2;
    EXPECT(run(1 << 20, 1, 4096) == cudaErrorLaunchFailure && fake.launches.size() == 2);
    fake.forget();
}

static void nothing_to_do_is_fine()
{
    fake.forget();
    size_t bytes = 0;
    EXPECT(size(0, 0, &bytes) == cudaSuccess && bytes >= 1);
    EXPECT(run(0, 0, bytes) == cudaSuccess && fake.launches.empty()); // empty grids
    EXPECT(size(0, 1, &bytes) == cudaSuccess && run(0, 1, bytes) == cudaSuccess && fake.launches.size() == 1);
    fake.forget();
}

// Pointers off their alignment, in and out of the storage.
static void alignment_is_looked_at()
{
    fake.forget();
    size_t bytes = (216 + 3) * 4;
    EXPECT(simtune_plain(temp, &bytes, in + 1, out, 1 << 20, 1, nullptr) == cudaSuccess); // head is 3
    bytes--;
    EXPECT(simtune_plain(temp, &bytes, in + 1, out, 1 << 20, 1, nullptr) == cudaErrorInvalidValue);
    fake.forget();
    bytes = 216 * 4 + 255;
    EXPECT(simtune_plain(temp + 1, &bytes, in, out, 1 << 20, 1, nullptr) == cudaSuccess);
    EXPECT(fake.launches[0].pointers[1] == temp + 256);
    bytes = 216 * 4;
    EXPECT(simtune_plain(temp + 1, &bytes, in, out, 1 << 20, 1, nullptr) == cudaErrorInvalidValue);
    fake.forget();
}

int main(int argc, char **argv)
{
    // Facts are kept for the process: a scene with another first device is another process.
    const char scene = argc > 1 ? argv[1][0] : '?';
    if (scene == 'a') {
        two_kernels_and_their_storage();
        errors_are_returned();
        nothing_to_do_is_fine();
        alignment_is_looked_at();
    } else if (scene == 'b') { // an H200, code for it
        use({90, 132, 232448, 90});
        size_t bytes = 0;
        EXPECT(size(1024, 1, &bytes) == cudaSuccess);
        EXPECT(run(1024, 1, 1) == cudaSuccess && fake.launches.size() == 1);
        EXPECT(fake.launches[0].cluster == 16 && fake.launches[0].grid.x == 16);
        EXPECT(calls_of("cudaFuncSetAttribute") == 2 && calls_of("cudaLaunchKernelExC") == 1);
        fake.forget();
        EXPECT(size(1 << 20, 1024, &bytes) == cudaSuccess);
        EXPECT(bytes == 256 + 264 * 8); // counter and its 256 bytes, state
        EXPECT(run(1 << 20, 1024, bytes) == cudaSuccess && fake.launches.size() == 1);
        EXPECT(fake.memsets.size() == 1 && fake.memsets[0].at == temp && fake.memsets[0].bytes == 12);
        EXPECT(fake.launches[0].pointers[0] == temp && fake.launches[0].pointers[1] == temp + 256);
        EXPECT(fake.launches[0].pointers[2] == out);
    } else if (scene == 'c') { // an H200, code for sm_80 only: no cluster, whatever the table says
        use({90, 132, 232448, 80});
        EXPECT(run(1024, 1, 1 << 20) == cudaSuccess);
        EXPECT(fake.launches.size() == 1 && fake.launches[0].cluster == 1 && fake.memsets.size() == 1);
    } else if (scene == 'd') { // too little shared memory for the second kernel, no clusters
        use({75, 40, 65536, 75});
        EXPECT(run(1024, 1, 1 << 20) == cudaSuccess);
        EXPECT(fake.launches.size() == 2); // exactly what it has
        use({75, 40, 65536, 75});
        fake.current = 0;
    } else if (scene == 'e') { // no device
        fake.devices.clear();
        size_t bytes = 0;
        EXPECT(size(1024, 1, &bytes) == cudaErrorNoDevice && run(1024, 1, 1) == cudaErrorNoDevice);
    } else if (scene == 'f') { // first calls from several threads
        use({80, 108, 166912, 80});
        std::vector<std::thread> threads;
        for (int t = 0; t < 8; t++)
            threads.push_back(std::thread([]() {
                for (int i = 0; i < 100; i++)
                    run(1 << 20, 1, 4096);
            }));
        for (size_t t = 0; t < threads.size(); t++)
            threads[t].join();
        EXPECT(fake.launches.size() == 1600);
        for (size_t i = 0; i < fake.shared_set.size(); i++)
            EXPECT(fake.shared_set[i] == 166912 - 1024);
    } else {
        return 2;
    }
    return failures != 0;
}
