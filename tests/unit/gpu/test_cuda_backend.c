// SPDX-License-Identifier: Apache-2.0
// The cuda backend over a counterfeit driver: what it asks the driver for, what it gives back, what
// happens after a sticky error (invariants 2 and 3 of cuda_backend.c), and every driver call
// failing.
#include "tests/fake/fake_cuda.h"
#include "tuner/gpu/backends_internal.h"
#include "tuner/gpu/driver_api.h"
#include "tuner/gpu/nvml.h"

#include <dlfcn.h>
#include <elf.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static fake_cuda *fake;
static fake_cuda pristine;
static char root[64];
static const st_gpu_operations *const gpus = &st_cuda_operations;

static int setup_all(void **state)
{
    (void)state;
    void *handle = dlopen(FAKE_CUDA, RTLD_NOW);
    if (!handle)
        return -1;
    fake_cuda_control_function *control;
    *(void **)&control = dlsym(handle, "fake_cuda_control");
    fake = control();
    pristine = *fake;
    snprintf(root, sizeof root, "/tmp/simtune-test-XXXXXX");
    if (!mkdtemp(root))
        return -1;
    st_machine_root = root;
    unsetenv("CUDA_VISIBLE_DEVICES");
    setenv("SIMTUNE_LIBCUDA", FAKE_CUDA, 1);
    setenv("SIMTUNE_LIBNVML", FAKE_NVML, 1);
    return 0;
}

static int teardown_all(void **state)
{
    (void)state;
    st_nvml_close();
    st_driver_close();
    return rmdir(root);
}

static int setup(void **state)
{
    (void)state;
    st_driver_close();
    st_nvml_close();
    *fake = pristine;
    return 0;
}

static void assert_nothing_alive(void)
{
    assert_int_equal(fake->contexts, 0);
    assert_int_equal(fake->streams, 0);
    assert_int_equal(fake->allocations, 0);
    assert_int_equal(fake->hosts, 0);
    assert_int_equal(fake->modules, 0);
    assert_int_equal(fake->events, 0);
}

static st_gpu *open_one(void)
{
    st_error error;
    st_gpu *gpu = NULL;
    assert_int_equal(gpus->open(0, &gpu, &error), ST_OK);
    return gpu;
}

// --- devices -------------------------------------------------------------------------------------
static void table_knows_it(void **state)
{
    (void)state;
    assert_ptr_equal(st_gpu_backend("cuda"), gpus);
    assert_null(st_gpu_backend("opencl"));
    assert_null(st_gpu_backend(""));
}

static void facts_without_a_context(void **state)
{
    (void)state;
    st_error error;
    int count = -1;
    fake->device_count = 2;
    assert_int_equal(gpus->count(&count, &error), ST_OK);
    assert_int_equal(count, 2);
    st_device_facts facts;
    assert_int_equal(gpus->facts(1, &facts, &error), ST_OK);
    assert_string_equal(facts.name, "Counterfeit 1");
    assert_string_equal(facts.uuid, "GPU-01122334-4556-6778-899a-abbccddeef00");
    assert_string_equal(facts.backend, "cuda");
    assert_string_equal(facts.driver, "580.95.05");
    assert_string_equal(facts.pci, "0000:06:00.0");
    assert_int_equal(facts.driver_cuda, 13000);
    assert_int_equal(facts.ordinal, 1);
    assert_int_equal(facts.cc, 90);
    assert_int_equal(facts.sm_count, 132);
    assert_int_equal(facts.smem_per_block, 227 << 10);
    assert_int_equal(facts.smem_reserved, 1024);
    assert_int_equal(facts.l2_bytes, 60 << 20);
    assert_int_equal(facts.memory_bytes, 1 << 30);
    assert_int_equal(facts.memory_clock_khz, -1); // the driver says 0
    assert_int_equal(facts.max_cluster, 8);
    assert_true(facts.ecc);
    assert_false(facts.is_mig);
    assert_false(facts.is_integrated);
    assert_int_equal(fake->contexts_made, 0);
}

static void older_device_has_no_clusters(void **state)
{
    (void)state;
    st_device_facts facts;
    fake->cc = 89;
    assert_int_equal(gpus->facts(0, &facts, NULL), ST_OK);
    assert_int_equal(facts.cc, 89);
    assert_int_equal(facts.max_cluster, 1);
}

static void mig_instance_is_known_as_one(void **state)
{
    (void)state;
    st_device_facts facts;
    fake->mig = true;
    assert_int_equal(gpus->facts(0, &facts, NULL), ST_OK);
    assert_true(facts.is_mig);
    assert_memory_equal(facts.uuid, "MIG-", 4);
    assert_int_equal(strlen(facts.uuid), 40);
}

static void devices_that_are_not_there(void **state)
{
    (void)state;
    st_error error;
    st_device_facts facts;
    int count;
    assert_int_equal(gpus->facts(1, &facts, &error), ST_NOTHING);
    assert_non_null(strstr(error.what, "no device 1"));
    assert_int_equal(gpus->facts(-1, &facts, &error), ST_NOTHING);
    fake->device_count = 0;
    assert_int_equal(gpus->count(&count, &error), ST_NOTHING);
    st_gpu *gpu = (st_gpu *)&count;
    assert_int_equal(gpus->open(7, &gpu, &error), ST_FAILED);
    assert_null(gpu);
    assert_non_null(strstr(error.what, "opening device 7: cuDeviceGet"));
}

// --- work ----------------------------------------------------------------------------------------
static void memory_and_copies(void **state)
{
    (void)state;
    st_error error;
    st_gpu *gpu = open_one();
    assert_non_null(gpus->native_context(gpu));
    assert_int_equal(fake->stream_flags, CU_STREAM_NON_BLOCKING);
    assert_true(fake->context_flags & CU_CTX_LMEM_RESIZE_TO_MAX);
    size_t unused, total;
    assert_int_equal(gpus->memory(gpu, &unused, &total, &error), ST_OK);
    assert_int_equal(total, 1 << 30);

    st_gpu_pointer a = 0, none = 0;
    assert_int_equal(gpus->allocate(gpu, 64, &a, &error), ST_OK);
    assert_int_equal(gpus->allocate(gpu, 0, &none, &error), ST_OK); // a pointer all the same
    assert_int_not_equal(none, 0);
    unsigned char bytes[64], in[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    assert_int_equal(gpus->fill8(gpu, a, 0xFF, 64, &error), ST_OK);
    assert_int_equal(gpus->fill32(gpu, a + 16, 0x01020304, 2, &error), ST_OK);
    assert_int_equal(gpus->copy_in(gpu, a + 32, in, sizeof in, &error), ST_OK);
    assert_int_equal(gpus->copy_out(gpu, bytes, a, 64, &error), ST_OK);
    assert_int_equal(bytes[0], 0xFF);
    assert_int_equal(bytes[16], 4);
    assert_int_equal(bytes[23], 1);
    assert_int_equal(bytes[24], 0xFF);
    assert_memory_equal(bytes + 32, in, 8);
    int calls = fake->calls;
    assert_int_equal(gpus->fill8(gpu, a, 0, 0, &error), ST_OK); // nothing to do, nothing asked
    assert_int_equal(gpus->fill32(gpu, a, 0, 0, &error), ST_OK);
    assert_int_equal(gpus->copy_in(gpu, a, in, 0, &error), ST_OK);
    assert_int_equal(fake->calls, calls);

    void *host = NULL;
    st_gpu_pointer mapped = 0;
    assert_int_equal(gpus->allocate_mapped(gpu, 4, &host, &mapped, &error), ST_OK);
    assert_non_null(host);
    assert_int_equal(fake->hosts, 1);
    gpus->release(gpu, mapped); // told from device memory
    assert_int_equal(fake->hosts, 0);
    gpus->release(gpu, a);
    gpus->release(gpu, none);
    gpus->release(gpu, 0);
    bool done = true;
    fake->busy_queries = 1;
    assert_int_equal(gpus->query(gpu, &done, &error), ST_OK);
    assert_false(done);
    assert_int_equal(gpus->query(gpu, &done, &error), ST_OK);
    assert_true(done);
    gpus->close(gpu);
    gpus->close(NULL);
    assert_nothing_alive();
}

static void full_device_is_told_apart(void **state)
{
    (void)state;
    st_error error;
    st_gpu *gpu = open_one();
    st_gpu_pointer a = 5;
    assert_int_equal(gpus->allocate(gpu, (size_t)2 << 30, &a, &error), ST_NO_MEMORY);
    assert_int_equal(a, 0);
    assert_non_null(strstr(error.what, "2147483648 B"));
    assert_non_null(strstr(error.what, "1073741824 of 1073741824"));
    assert_false(gpus->is_lost(gpu));
    assert_int_equal(gpus->allocate(gpu, 8, &a, &error), ST_OK); // goes on
    gpus->release(gpu, a);
    gpus->close(gpu);
}

static void make_cubin(Elf64_Ehdr *head)
{
    memset(head, 0, sizeof *head);
    memcpy(head->e_ident, ELFMAG, SELFMAG);
    head->e_shoff = sizeof *head;
    head->e_shentsize = sizeof(Elf64_Shdr);
}

static void images_are_checked(void **state)
{
    (void)state;
    st_error error;
    st_gpu *gpu = open_one();
    st_gpu_module *module = NULL;
    Elf64_Ehdr cubin;
    make_cubin(&cubin);
    assert_int_equal(gpus->load(gpu, &cubin, sizeof cubin, &module, &error), ST_OK);
    gpus->unload(gpu, module);
    cubin.e_shnum = 3; // three headers would stand beyond the end
    assert_int_equal(gpus->load(gpu, &cubin, sizeof cubin, &module, &error), ST_FAILED);
    assert_null(module);
    assert_non_null(strstr(error.what, "cut off"));
    assert_int_equal(gpus->load(gpu, &cubin, 10, &module, &error), ST_FAILED);
    cubin.e_shoff = UINT64_MAX;
    assert_int_equal(gpus->load(gpu, &cubin, sizeof cubin, &module, &error), ST_FAILED);
    // PTX need not be terminated; nonsense is the driver's to refuse.
    char ptx[] = {'.', 'v', 'e', 'r', 's', 'i', 'o', 'n', ' ', '8'};
    assert_int_equal(gpus->load(gpu, ptx, sizeof ptx, &module, &error), ST_OK);
    assert_int_equal(gpus->load(gpu, "hello", 5, &module, &error), ST_FAILED);
    assert_non_null(strstr(error.what, "cuModuleLoadData: CUDA_ERROR_200"));
    gpus->unload(gpu, NULL);
    gpus->close(gpu); // with a module still loaded
    assert_nothing_alive();
}

static void kernels_and_launches(void **state)
{
    (void)state;
    st_error error;
    st_gpu *gpu = open_one();
    st_gpu_module *module;
    st_gpu_kernel *kernel, *again, *other;
    Elf64_Ehdr cubin;
    make_cubin(&cubin);
    assert_int_equal(gpus->load(gpu, &cubin, sizeof cubin, &module, &error), ST_OK);
    assert_int_equal(gpus->kernel(gpu, module, "_Z6reduce", &kernel, &error), ST_OK);
    assert_int_equal(fake->functions_loaded, 1); // not lazily, at the first launch
    assert_int_equal(gpus->kernel(gpu, module, "_Z6reduce", &again, &error), ST_OK);
    assert_ptr_equal(kernel, again);
    assert_int_equal(gpus->kernel(gpu, module, "_Z4scan", &other, &error), ST_OK);
    assert_ptr_not_equal(kernel, other);
    assert_int_equal(gpus->kernel(gpu, module, "absent", &other, &error), ST_FAILED);
    assert_non_null(strstr(error.what, "kernel absent: cuModuleGetFunction"));
    assert_null(other);

    st_kernel_facts facts;
    assert_int_equal(gpus->kernel_facts(gpu, kernel, &facts, &error), ST_OK);
    assert_int_equal(facts.registers, 40);
    assert_int_equal(facts.local_bytes, 16);
    assert_int_equal(facts.static_smem, 2048);
    assert_int_equal(facts.max_threads, 512);
    assert_int_equal(facts.binary_version, 90);

    int blocks = -1;
    assert_int_equal(gpus->occupancy(gpu, kernel, 256, 0, &blocks, &error), ST_OK);
    assert_int_equal(blocks, 8);
    assert_int_equal(fake->dynamic_smem_set, 0); // nothing to ask for
    assert_int_equal(gpus->occupancy(gpu, kernel, 256, 100 << 10, &blocks, &error), ST_OK);
    assert_int_equal(blocks, 2);
    assert_int_equal(fake->dynamic_smem_set, 100 << 10);
    const unsigned impossible[][2] = {{513, 0}, {0, 0}, {256, 226 << 10}, {256, UINT32_MAX}};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(gpus->occupancy(gpu, kernel, impossible[i][0], impossible[i][1], &blocks,
                                         &error),
                         ST_OK);
        assert_int_equal(blocks, 0);
    }

    int value = 7;
    void *arguments[] = {&value};
    st_launch launch = {.kernel = kernel, .grid = {5, 2, 1}, .block = {128, 1, 1}, .cluster = 1,
                        .arguments = arguments, .argument_count = 1};
    assert_int_equal(gpus->launch(gpu, &launch, &error), ST_OK);
    assert_int_equal(fake->grid[0], 5);
    assert_int_equal(fake->grid[1], 2);
    assert_int_equal(fake->block[0], 128);
    assert_int_equal(fake->cluster, 1);
    assert_false(fake->dependent);
    assert_ptr_equal(fake->arguments, arguments);
    launch.cluster = 8, launch.dependent = true, launch.dynamic_smem = 150 << 10;
    assert_int_equal(gpus->launch(gpu, &launch, &error), ST_OK);
    assert_int_equal(fake->cluster, 8);
    assert_true(fake->dependent);
    assert_int_equal(fake->smem, 150 << 10);
    assert_int_equal(fake->wide_cluster_set, 0);
    launch.cluster = 16;
    assert_int_equal(gpus->launch(gpu, &launch, &error), ST_OK);
    assert_int_equal(fake->wide_cluster_set, 1);
    launch.block[0] = 1024;
    assert_int_equal(gpus->launch(gpu, &launch, &error), ST_FAILED);
    assert_non_null(strstr(error.what, "_Z6reduce, grid 5×2×1, block 1024×1×1, 153600 B"));
    assert_non_null(strstr(error.what, "cuLaunchKernelEx: CUDA_ERROR_1"));
    assert_false(gpus->is_lost(gpu));
    launch.block[0] = 128, launch.dynamic_smem = 300 << 10;
    assert_int_equal(gpus->launch(gpu, &launch, &error), ST_FAILED);
    assert_non_null(strstr(error.what, "cuFuncSetAttribute"));
    gpus->close(gpu);
    assert_nothing_alive();
}

static void events(void **state)
{
    (void)state;
    st_error error;
    st_gpu *gpu = open_one();
    st_gpu_event *start, *end;
    double ns = -1;
    assert_int_equal(gpus->event_make(gpu, &start, &error), ST_OK);
    assert_int_equal(gpus->event_make(gpu, &end, &error), ST_OK);
    assert_int_equal(gpus->event_record(gpu, start, &error), ST_OK);
    assert_int_equal(gpus->event_record(gpu, end, &error), ST_OK);
    assert_int_equal(gpus->event_elapsed(gpu, start, end, &ns, &error), ST_OK);
    assert_true(ns == 250000.0);
    snprintf(fake->fail_call, sizeof fake->fail_call, "cuEventSynchronize");
    fake->fail_result = 1;
    assert_int_equal(gpus->event_elapsed(gpu, start, end, &ns, &error), ST_FAILED);
    assert_true(isnan(ns)); // unknown is not 0
    fake->fail_call[0] = '\0';
    gpus->event_free(gpu, start);
    gpus->event_free(gpu, end);
    gpus->event_free(gpu, NULL);
    gpus->close(gpu);
    assert_nothing_alive();
}

// After a sticky error everything says "lost", by whom, and asks the driver nothing more.
static void sticky_error_loses_the_device(void **state)
{
    (void)state;
    st_error error;
    st_gpu *gpu = open_one();
    st_gpu_pointer a;
    st_gpu_event *event;
    st_gpu_module *module;
    st_gpu_kernel *kernel;
    Elf64_Ehdr cubin;
    make_cubin(&cubin);
    assert_int_equal(gpus->allocate(gpu, 64, &a, &error), ST_OK);
    assert_int_equal(gpus->event_make(gpu, &event, &error), ST_OK);
    assert_int_equal(gpus->load(gpu, &cubin, sizeof cubin, &module, &error), ST_OK);
    assert_int_equal(gpus->kernel(gpu, module, "k", &kernel, &error), ST_OK);
    fake->broken = 700;
    assert_int_equal(gpus->synchronize(gpu, &error), ST_FAILED);
    assert_true(gpus->is_lost(gpu));
    assert_non_null(strstr(error.what, "CUDA_ERROR_ILLEGAL_ADDRESS"));
    assert_non_null(strstr(error.remedy, "new process"));

    fake->broken = 0; // even if the driver would answer again
    int calls = fake->calls, blocks;
    bool done;
    double ns;
    size_t unused, total;
    unsigned char byte = 0;
    void *host;
    st_gpu_pointer b;
    st_gpu_module *more;
    st_gpu_event *another;
    st_gpu_kernel *found;
    st_kernel_facts facts;
    st_launch launch = {.kernel = kernel, .grid = {1, 1, 1}, .block = {1, 1, 1}, .cluster = 1};
    const st_code codes[] = {
        gpus->synchronize(gpu, &error),
        gpus->query(gpu, &done, &error),
        gpus->allocate(gpu, 8, &b, &error),
        gpus->allocate_mapped(gpu, 8, &host, &b, &error),
        gpus->memory(gpu, &unused, &total, &error),
        gpus->fill8(gpu, a, 0, 1, &error),
        gpus->fill32(gpu, a, 0, 1, &error),
        gpus->copy_in(gpu, a, &byte, 1, &error),
        gpus->copy_out(gpu, &byte, a, 1, &error),
        gpus->launch(gpu, &launch, &error),
        gpus->load(gpu, &cubin, sizeof cubin, &more, &error),
        gpus->kernel(gpu, module, "other", &found, &error),
        gpus->kernel_facts(gpu, kernel, &facts, &error),
        gpus->occupancy(gpu, kernel, 32, 0, &blocks, &error),
        gpus->event_make(gpu, &another, &error),
        gpus->event_record(gpu, event, &error),
        gpus->event_elapsed(gpu, event, event, &ns, &error),
    };
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        assert_int_equal(codes[i], ST_FAILED);
    assert_int_equal(fake->calls, calls);
    assert_non_null(strstr(error.what, "lost before: cuStreamSynchronize: CUDA_ERROR_ILLEGAL"));
    fake->broken = 700;
    gpus->event_free(gpu, event);
    gpus->release(gpu, a);
    gpus->close(gpu);
    assert_nothing_alive();
}

// --- faults --------------------------------------------------------------------------------------
// All that a worker does, keeping on after a failure as far as it can.
static st_code whole_life(st_error *error)
{
    int count, blocks;
    st_device_facts facts;
    st_gpu *gpu = NULL;
    st_code code = gpus->count(&count, error);
    if (code == ST_OK)
        code = gpus->facts(0, &facts, error);
    if (code == ST_OK)
        code = gpus->open(0, &gpu, error);
    if (code != ST_OK)
        return code;
    st_gpu_pointer a = 0, mapped = 0;
    st_gpu_event *start = NULL, *end = NULL;
    st_gpu_module *module = NULL;
    st_gpu_kernel *kernel = NULL;
    st_kernel_facts kernel_facts;
    void *host;
    bool done;
    double ns;
    size_t unused, total;
    char bytes[64];
    Elf64_Ehdr cubin;
    make_cubin(&cubin);
    code = gpus->allocate(gpu, 64, &a, error);
    if (code == ST_OK)
        code = gpus->allocate_mapped(gpu, 4, &host, &mapped, error);
    if (code == ST_OK)
        code = gpus->memory(gpu, &unused, &total, error);
    if (code == ST_OK)
        code = gpus->fill8(gpu, a, 1, 64, error);
    if (code == ST_OK)
        code = gpus->fill32(gpu, a, 1, 16, error);
    if (code == ST_OK)
        code = gpus->copy_in(gpu, a, bytes, 64, error);
    if (code == ST_OK)
        code = gpus->copy_out(gpu, bytes, a, 64, error);
    if (code == ST_OK)
        code = gpus->load(gpu, &cubin, sizeof cubin, &module, error);
    if (code == ST_OK)
        code = gpus->kernel(gpu, module, "k", &kernel, error);
    if (code == ST_OK)
        code = gpus->kernel_facts(gpu, kernel, &kernel_facts, error);
    if (code == ST_OK)
        code = gpus->occupancy(gpu, kernel, 256, 100 << 10, &blocks, error);
    st_launch launch = {.kernel = kernel, .grid = {1, 1, 1}, .block = {1, 1, 1}, .cluster = 16,
                        .dependent = true, .dynamic_smem = 120 << 10};
    if (code == ST_OK)
        code = gpus->event_make(gpu, &start, error);
    if (code == ST_OK)
        code = gpus->event_make(gpu, &end, error);
    if (code == ST_OK)
        code = gpus->event_record(gpu, start, error);
    if (code == ST_OK)
        code = gpus->launch(gpu, &launch, error);
    if (code == ST_OK)
        code = gpus->event_record(gpu, end, error);
    if (code == ST_OK)
        code = gpus->query(gpu, &done, error);
    if (code == ST_OK)
        code = gpus->event_elapsed(gpu, start, end, &ns, error);
    gpus->event_free(gpu, start);
    gpus->event_free(gpu, end);
    if (module)
        gpus->unload(gpu, module);
    gpus->release(gpu, a);
    gpus->close(gpu); // gives the mapped memory back
    return code;
}

static void every_fault(st_fault kind, unsigned long fewest)
{
    unsigned long n = 1, failed = 0;
    for (;; n++) {
        st_error error;
        st_error_clear(&error);
        st_driver_close();
        st_nvml_close();
        *fake = pristine;
        st_fault_arm(kind, n);
        st_code code = whole_life(&error);
        bool injected = st_fault_injected(kind);
        st_fault_arm(kind, 0);
        assert_nothing_alive();
        if (!injected) {
            assert_int_equal(code, ST_OK);
            break;
        }
        if (code != ST_OK) {
            failed++;
            assert_int_equal(error.code, code);
            assert_true(error.what[0]);
            if (kind == ST_FAULT_DRIVER)
                assert_non_null(strstr(error.what, "INJECTED_FAULT"));
        }
    }
    // Not each is fatal (a fact may be unknown, a thing given back), but most are.
    assert_true(failed >= fewest);
}

static void every_driver_call_may_fail(void **state)
{
    (void)state;
    every_fault(ST_FAULT_DRIVER, 30);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    every_fault(ST_FAULT_ALLOCATION, 5);
}

// The driver itself fails, in every call of the table, with an error that passes and one that
// stays.
static void every_call_answers_badly(void **state)
{
    (void)state;
    const int results[] = {1, 719};
    for (int call = 0; call < ST_DRIVER_CALL_COUNT; call++)
        for (size_t r = 0; r < 2; r++) {
            st_error error;
            st_error_clear(&error);
            st_driver_close();
            *fake = pristine;
            snprintf(fake->fail_call, sizeof fake->fail_call, "%s",
                     st_driver_call_name((st_driver_call)call));
            fake->fail_result = results[r];
            st_code code = whole_life(&error);
            assert_nothing_alive();
            if (code != ST_OK && call != ST_CALL_init)
                assert_non_null(strstr(error.what, results[r] == 1 ? "CUDA_ERROR_1"
                                                                   : "CUDA_ERROR_719"));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(table_knows_it, setup),
        cmocka_unit_test_setup(facts_without_a_context, setup),
        cmocka_unit_test_setup(older_device_has_no_clusters, setup),
        cmocka_unit_test_setup(mig_instance_is_known_as_one, setup),
        cmocka_unit_test_setup(devices_that_are_not_there, setup),
        cmocka_unit_test_setup(memory_and_copies, setup),
        cmocka_unit_test_setup(full_device_is_told_apart, setup),
        cmocka_unit_test_setup(images_are_checked, setup),
        cmocka_unit_test_setup(kernels_and_launches, setup),
        cmocka_unit_test_setup(events, setup),
        cmocka_unit_test_setup(sticky_error_loses_the_device, setup),
        cmocka_unit_test_setup(every_driver_call_may_fail, setup),
        cmocka_unit_test_setup(every_allocation_may_fail, setup),
        cmocka_unit_test_setup(every_call_answers_badly, setup),
    };
    return cmocka_run_group_tests_name("cuda_backend", tests, setup_all, teardown_all);
}
