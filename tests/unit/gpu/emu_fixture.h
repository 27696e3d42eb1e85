// SPDX-License-Identifier: Apache-2.0
// Compiling and launching a kernel given as text on the emulated device, for tests. Every step is
// asserted.
#ifndef SIMTUNE_TEST_EMU_FIXTURE_H
#define SIMTUNE_TEST_EMU_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/base/memory.h"
#include "tuner/gpu/emu.h"

#define OPS (&st_emu_operations)

#define must(call)                                                                                 \
    do {                                                                                           \
        st_error must_error = {0};                                                                 \
        st_code must_code = (call);                                                                \
        if (must_code)                                                                             \
            print_error("%s: %s\n", #call, error.what);                                            \
        assert_int_equal(must_code, ST_OK);                                                        \
        (void)must_error;                                                                          \
    } while (0)

static st_error error; // of the last call that failed

static inline st_compiled compile_with(const char *source, const char *const *kernels, size_t count,
                                       const st_source_text *includes, size_t include_count,
                                       const char *const *options, size_t option_count) {
    st_compile_job job = {.id = 7,
                          .backend = "emu",
                          .arch = "sm_90",
                          .file_name = "test.cu",
                          .source = source,
                          .includes = includes,
                          .include_count = include_count,
                          .options = options,
                          .option_count = option_count,
                          .kernels = kernels,
                          .kernel_count = count};
    st_compiled compiled;
    must(st_emu_compile(&job, &compiled, &error));
    if (compiled.outcome != ST_COMPILED)
        print_error("%s\n", compiled.log);
    return compiled;
}

typedef struct program {
    st_gpu *gpu;
    st_gpu_module *module;
    st_gpu_kernel *kernel; // the first
} program;

static inline program open_program(const char *source, const char *const *kernels, size_t count) {
    program made = {0};
    st_compiled compiled = compile_with(source, kernels, count, NULL, 0, NULL, 0);
    assert_int_equal(compiled.outcome, ST_COMPILED);
    must(OPS->open(0, &made.gpu, &error));
    must(OPS->load(made.gpu, compiled.image, compiled.image_bytes, &made.module, &error));
    must(OPS->kernel(made.gpu, made.module, compiled.lowered_names[0], &made.kernel, &error));
    st_compiled_release(&compiled);
    return made;
}

static inline program open_kernel(const char *source, const char *kernel) {
    return open_program(source, &kernel, 1);
}

static inline void close_program(program *of) {
    OPS->close(of->gpu);
}

// Queues a launch; up to six arguments of 8 bytes or 4.
typedef struct argument {
    uint64_t value;
    size_t size;
} argument;
#define P(pointer) ((argument){(pointer), 8})
#define U(number) ((argument){(uint32_t)(number), 4})

static inline st_code queue_full(program *of, st_launch launch, const argument *list,
                                 unsigned count) {
    void *pointers[8];
    size_t sizes[8];
    uint64_t values[8];
    for (unsigned i = 0; i < count; i++) {
        values[i] = list[i].value;
        pointers[i] = &values[i];
        sizes[i] = list[i].size;
    }
    if (!launch.kernel)
        launch.kernel = of->kernel;
    for (int d = 0; d < 3; d++) {
        launch.grid[d] = launch.grid[d] ? launch.grid[d] : 1;
        launch.block[d] = launch.block[d] ? launch.block[d] : 1;
    }
    launch.arguments = pointers;
    launch.argument_sizes = sizes;
    launch.argument_count = count;
    return OPS->launch(of->gpu, &launch, &error);
}
#define QUEUE(of, grid_x, block_x, ...)                                                            \
    must(queue_full((of), (st_launch){.grid = {grid_x}, .block = {block_x}},                       \
                    (const argument[]){__VA_ARGS__},                                               \
                    sizeof((const argument[]){__VA_ARGS__}) / sizeof(argument)))

static inline st_gpu_pointer device_buffer(program *of, size_t bytes) {
    st_gpu_pointer made = 0;
    must(OPS->allocate(of->gpu, bytes, &made, &error));
    return made;
}

static inline st_gpu_pointer device_copy(program *of, const void *from, size_t bytes) {
    st_gpu_pointer made = device_buffer(of, bytes);
    must(OPS->copy_in(of->gpu, made, from, bytes, &error));
    return made;
}

// Waits, and asserts that the launch failed with a message that holds `words`.
static inline void expect_failure(program *of, const char *words) {
    assert_int_not_equal(OPS->synchronize(of->gpu, &error), ST_OK);
    if (!strstr(error.what, words))
        print_error("expected '%s' in: %s\n", words, error.what);
    assert_non_null(strstr(error.what, words));
    assert_true(OPS->is_lost(of->gpu));
}

#endif
