// SPDX-License-Identifier: Apache-2.0
// What the values of a caller become in the host functions of a header whose names and arguments differ by problem
// (tests/data/emit_kept.cu), beside a header of another family, against a runtime that takes notes.
#include "simtune_kept.h"
#include "simtune_plain.h"

#include <cstdio>
#include <cstring>

fake_runtime fake;
static int failures;

static void expect(bool holds, const char *what, int line)
{
    if (!holds) {
        failures++;
        std::printf("contract_kept.cpp:%d: %s does not hold\n", line, what);
    }
}
#define EXPECT(condition) expect((condition), #condition, __LINE__)

static double *const in = reinterpret_cast<double *>(0x1000000), *const out = reinterpret_cast<double *>(0x2000000);
static unsigned char *const flags = reinterpret_cast<unsigned char *>(0x3000000);
static unsigned long long *const count = reinterpret_cast<unsigned long long *>(0x4000000);
static char temp[256];

static void *as_pointer(double value)
{
    void *bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

static unsigned block_of(size_t rows, size_t width)
{
    size_t bytes = sizeof temp;
    fake.forget();
    EXPECT(simtune_kept_f64_flagged(temp, &bytes, in, flags, out, count, rows, width, nullptr) == cudaSuccess);
    EXPECT(fake.launches.size() == 1);
    return fake.launches.empty() ? 0 : fake.launches[0].block.x;
}

int main()
{
    const fake_device device = {90, 132, 232448, 90};
    fake.devices.assign(1, device);
    size_t bytes = 0;
    EXPECT(simtune_kept_f64_flagged(nullptr, &bytes, in, flags, out, count, 1, 4, nullptr) == cudaSuccess && bytes >= 1);

    // Flags, and the scalar that this function does not take as it was while tuning.
    bytes = sizeof temp;
    EXPECT(simtune_kept_f64_flagged(temp, &bytes, in, flags, out, count, 1, 4, nullptr) == cudaSuccess);
    EXPECT(fake.launches.size() == 1 && fake.launches[0].grid.x == 1);
    EXPECT(fake.launches[0].pointers[0] == in && fake.launches[0].pointers[1] == flags);
    EXPECT(fake.launches[0].pointers[2] == as_pointer(3));
    // Their alignment decides.
    fake.forget();
    EXPECT(simtune_kept_f64_flagged(temp, &bytes, in, flags + 1, out, count, 1, 4, nullptr) == cudaSuccess);
    EXPECT(fake.launches.size() == 1 && fake.launches[0].grid.x == 2);

    // The scalar of the caller, and no flags: null, which is aligned to anything. Sizes in the other order.
    fake.forget();
    EXPECT(simtune_less_of_f64(temp, &bytes, in, out, count, -2.5, 1024, 1, nullptr) == cudaSuccess);
    EXPECT(fake.launches.size() == 1 && fake.launches[0].grid.x == 1);
    EXPECT(fake.launches[0].pointers[0] == in && fake.launches[0].pointers[1] == nullptr);
    EXPECT(fake.launches[0].pointers[2] == as_pointer(-2.5));
    EXPECT(fake.launches[0].block.x == 64); // the row of rows=1 width=1024

    // The nearest recorded pair: rows and width count alike, on a log scale. The row of percent=10 (BLOCK=128
    // everywhere) is none of the header.
    EXPECT(block_of(1, 4) == 32 && block_of(1, 1024) == 64 && block_of(1024, 4) == 128 && block_of(1024, 1024) == 64);
    EXPECT(block_of(30, 4) == 32 && block_of(40, 4) == 128 && block_of(1, 60) == 32 && block_of(1, 70) == 64);
    EXPECT(block_of(0, 0) == 32 && block_of((size_t)1 << 33, 4) == 128);

    // Configurations without CUDA, and another family in the same file.
    EXPECT(simtune_kept_f64_flagged_config(90, 132, 1024, 4)->value[SIMTUNE_KEPT_BLOCK] == 128);
    EXPECT(simtune_less_of_f64_config(90, 132, 1, 1024)->exact == 1);
    EXPECT(simtune_plain_config(90, 132, 1024, 1)->exact == 1);
    if (failures == 0)
        std::printf("as it should be\n");
    return failures != 0;
}
