// SPDX-License-Identifier: Apache-2.0
// Modules, kernels and launches of the cuda backend.
//
// Invariants: 1. a kernel is really loaded before it is handed out, so that its first launch
// allocates and synchronises nothing (behind a gate that would be a deadlock); 2. opting in to more
// shared memory or a wider cluster is done once a kernel, and never lowered; 3. a kernel lives as
// long as its module.
#include "tuner/gpu/cuda_internal.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

// --- modules -------------------------------------------------------------------------------------
// The driver trusts the sizes that stand in a cubin, so a cut-off one would be read beyond its end.
static bool is_whole_elf(const void *image, size_t bytes)
{
    Elf64_Ehdr head;
    if (bytes < sizeof head)
        return false;
    memcpy(&head, image, sizeof head);
    return head.e_shoff <= bytes && (size_t)head.e_shnum * head.e_shentsize <= bytes - head.e_shoff;
}

static st_code load_image(st_gpu *gpu, CUmodule *module, const void *image, size_t bytes,
                          st_error *error)
{
    if (bytes >= SELFMAG && memcmp(image, ELFMAG, SELFMAG) == 0) {
        if (!is_whole_elf(image, bytes))
            return st_fail(error, ST_FAILED, "compile it anew (clear the compile cache)",
                           "the cubin of %zu bytes is cut off", bytes);
        return ST_CUDA(gpu, error, module_load, module, image);
    }
    // PTX is text that must end with a NUL.
    char *text = st_strndup(image, bytes);
    if (!text)
        return st_fail_memory(error, "loading a module");
    st_code code = ST_CUDA(gpu, error, module_load, module, text);
    st_free(text);
    return code;
}

st_code st_cuda_load(st_gpu *gpu, const void *image, size_t bytes, st_gpu_module **out,
                     st_error *error)
{
    *out = NULL;
    st_gpu_module *module = st_calloc(1, sizeof *module);
    if (!module)
        return st_fail_memory(error, "loading a module");
    st_code code = load_image(gpu, &module->module, image, bytes, error);
    if (code != ST_OK) {
        st_free(module);
        return code;
    }
    module->next = gpu->modules;
    module->place = &gpu->modules;
    if (module->next)
        module->next->place = &module->next;
    gpu->modules = module;
    *out = module;
    return ST_OK;
}

void st_cuda_unload(st_gpu *gpu, st_gpu_module *module)
{
    if (!module)
        return;
    *module->place = module->next;
    if (module->next)
        module->next->place = module->place;
    while (module->kernels) {
        st_gpu_kernel *kernel = module->kernels;
        module->kernels = kernel->next;
        st_free(kernel);
    }
    ST_CUDA_GIVE_BACK(gpu, module_unload, module->module);
    st_free(module);
}

// --- kernels -------------------------------------------------------------------------------------
static st_code prepare(st_gpu *gpu, st_gpu_module *module, st_gpu_kernel *kernel, st_error *error)
{
    st_code code = ST_CUDA(gpu, error, module_get_function, &kernel->function, module->module,
                           kernel->name);
    if (code == ST_OK && gpu->driver->func_load)
        code = ST_CUDA(gpu, error, func_load, kernel->function);
    if (code == ST_OK)
        code = ST_CUDA(gpu, error, func_get_attribute, &kernel->static_smem,
                       CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel->function);
    if (code == ST_OK)
        code = ST_CUDA(gpu, error, func_get_attribute, &kernel->max_threads,
                       CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel->function);
    return code;
}

st_code st_cuda_kernel(st_gpu *gpu, st_gpu_module *module, const char *lowered_name,
                       st_gpu_kernel **out, st_error *error)
{
    *out = NULL;
    for (st_gpu_kernel *known = module->kernels; known; known = known->next)
        if (strcmp(known->name, lowered_name) == 0) {
            *out = known;
            return ST_OK;
        }
    size_t length = strlen(lowered_name) + 1;
    st_gpu_kernel *kernel = st_calloc(1, sizeof *kernel + length);
    if (!kernel)
        return st_fail_memory(error, "finding a kernel");
    memcpy(kernel->name, lowered_name, length);
    st_code code = prepare(gpu, module, kernel, error);
    if (code != ST_OK) {
        st_free(kernel);
        return st_error_prefix(error, "kernel %.200s", lowered_name), code;
    }
    kernel->next = module->kernels;
    module->kernels = kernel;
    *out = kernel;
    return ST_OK;
}

st_code st_cuda_kernel_facts(st_gpu *gpu, st_gpu_kernel *kernel, st_kernel_facts *facts,
                             st_error *error)
{
    const struct {
        int *place;
        CUfunction_attribute which;
    } rows[] = {
        {&facts->registers, CU_FUNC_ATTRIBUTE_NUM_REGS},
        {&facts->local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES},
        {&facts->static_smem, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES},
        {&facts->max_threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
        {&facts->binary_version, CU_FUNC_ATTRIBUTE_BINARY_VERSION},
    };
    *facts = (st_kernel_facts){-1, -1, -1, -1, -1};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        st_code code = ST_CUDA(gpu, error, func_get_attribute, rows[i].place, rows[i].which,
                               kernel->function);
        if (code != ST_OK)
            return st_error_prefix(error, "kernel %.200s", kernel->name), code;
    }
    return ST_OK;
}

static bool fits(const st_gpu *gpu, const st_gpu_kernel *kernel, unsigned block,
                 unsigned dynamic_smem)
{
    return block > 0 && block <= (unsigned)kernel->max_threads &&
           (uint64_t)dynamic_smem + (unsigned)kernel->static_smem <= (unsigned)gpu->smem_optin;
}

// More than 48 KiB a block needs asking for; asking always would change nothing below that.
static st_code allow_dynamic(st_gpu *gpu, st_gpu_kernel *kernel, unsigned dynamic_smem,
                             st_error *error)
{
    enum { WITHOUT_ASKING = 48 << 10 };
    if (dynamic_smem <= kernel->dynamic_allowed ||
        dynamic_smem + (unsigned)kernel->static_smem <= WITHOUT_ASKING)
        return ST_OK;
    st_code code = ST_CUDA(gpu, error, func_set_attribute, kernel->function,
                           CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)dynamic_smem);
    if (code == ST_OK)
        kernel->dynamic_allowed = dynamic_smem;
    return code;
}

st_code st_cuda_occupancy(st_gpu *gpu, st_gpu_kernel *kernel, unsigned block, unsigned dynamic_smem,
                          int *blocks_per_sm, st_error *error)
{
    *blocks_per_sm = 0;
    if (gpu->lost)
        return st_cuda_lost(gpu, error);
    if (!fits(gpu, kernel, block, dynamic_smem))
        return ST_OK;
    st_code code = allow_dynamic(gpu, kernel, dynamic_smem, error);
    if (code == ST_OK)
        code = ST_CUDA(gpu, error, occupancy, blocks_per_sm, kernel->function, (int)block,
                       dynamic_smem);
    if (code != ST_OK)
        st_error_prefix(error, "kernel %.200s", kernel->name);
    return code;
}

// --- launches ------------------------------------------------------------------------------------
static st_code allow_cluster(st_gpu *gpu, st_gpu_kernel *kernel, unsigned cluster, st_error *error)
{
    enum { PORTABLE = 8 };
    if (cluster <= PORTABLE || kernel->wide_cluster)
        return ST_OK;
    st_code code = ST_CUDA(gpu, error, func_set_attribute, kernel->function,
                           CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
    kernel->wide_cluster = code == ST_OK;
    return code;
}

static unsigned make_attributes(const st_launch *launch, CUlaunchAttribute attributes[2])
{
    unsigned count = 0;
    memset(attributes, 0, 2 * sizeof attributes[0]);
    if (launch->cluster > 1) {
        attributes[count].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        attributes[count].value.clusterDim.x = launch->cluster;
        attributes[count].value.clusterDim.y = 1;
        attributes[count].value.clusterDim.z = 1;
        count++;
    }
    if (launch->dependent) {
        attributes[count].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        attributes[count].value.programmaticStreamSerializationAllowed = 1;
        count++;
    }
    return count;
}

st_code st_cuda_launch(st_gpu *gpu, const st_launch *launch, st_error *error)
{
    st_gpu_kernel *kernel = launch->kernel;
    CUlaunchAttribute attributes[2];
    unsigned count = make_attributes(launch, attributes);
    CUlaunchConfig config = {
        .gridDimX = launch->grid[0],
        .gridDimY = launch->grid[1],
        .gridDimZ = launch->grid[2],
        .blockDimX = launch->block[0],
        .blockDimY = launch->block[1],
        .blockDimZ = launch->block[2],
        .sharedMemBytes = launch->dynamic_smem,
        .hStream = gpu->stream,
        .attrs = count ? attributes : NULL,
        .numAttrs = count,
    };
    st_code code = gpu->lost ? st_cuda_lost(gpu, error)
                             : allow_dynamic(gpu, kernel, launch->dynamic_smem, error);
    if (code == ST_OK)
        code = allow_cluster(gpu, kernel, launch->cluster, error);
    if (code == ST_OK)
        code =
            ST_CUDA(gpu, error, launch_kernel, &config, kernel->function, launch->arguments, NULL);
    if (code != ST_OK)
        st_error_prefix(error, "kernel %.200s, grid %u×%u×%u, block %u×%u×%u, %u B dynamic shared "
                               "memory, cluster %u",
                        kernel->name, launch->grid[0], launch->grid[1], launch->grid[2],
                        launch->block[0], launch->block[1], launch->block[2], launch->dynamic_smem,
                        launch->cluster);
    return code;
}
