// SPDX-License-Identifier: Apache-2.0
// Devices of the cuda backend without a context: how many, and what each is.
//
// Invariants: 1. no context is made; 2. a fact that the driver does not tell is -1; only what a
// device cannot be used without (its name, compute capability, SM count, UUID) is an error.
#include "tuner/gpu/cuda_internal.h"
#include "tuner/gpu/nvml.h"

#include <stdio.h>
#include <string.h>

#define CHECKED(driver, error, field, ...)                                                         \
    st_driver_check(driver, ST_DRIVER_CALL(driver, field, __VA_ARGS__), ST_CALL_##field, error)

st_code st_cuda_count(int *devices, st_error *error)
{
    *devices = 0;
    const st_driver *driver = st_driver_get(error);
    if (!driver) {
        // Without an error to look at, "unusable" is the careful answer.
        return error ? error->code : ST_FAILED;
    }
    st_code code = CHECKED(driver, error, device_get_count, devices);
    if (code == ST_OK && *devices == 0)
        return st_fail(error, ST_NOTHING, "see `simtune doctor`",
                       "the driver works but shows no GPU");
    return code;
}

void st_cuda_uuid_text(const char *prefix, const unsigned char bytes[16], char out[48])
{
    int at = snprintf(out, 48, "%s", prefix);
    for (int i = 0; i < 16; i++)
        at += snprintf(out + at, (size_t)(48 - at), "%s%02x",
                       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
}

// A MIG instance has a UUID of its own beside that of its board, and "MIG" in its name.
static st_code read_identity(const st_driver *driver, CUdevice device, st_device_facts *facts,
                             st_error *error)
{
    CUuuid uuid = {{0}}, board = {{0}};
    st_code code = CHECKED(driver, error, device_get_name, facts->name, (int)sizeof facts->name - 1,
                           device);
    if (code == ST_OK)
        code = CHECKED(driver, error, device_get_uuid, &uuid, device);
    if (code != ST_OK)
        return code;
    bool has_board = driver->device_get_board_uuid &&
                     ST_DRIVER_CALL(driver, device_get_board_uuid, &board, device) == CUDA_SUCCESS;
    facts->is_mig = strstr(facts->name, " MIG ") ||
                    (has_board && memcmp(uuid.bytes, board.bytes, sizeof uuid.bytes) != 0);
    unsigned char bytes[16];
    memcpy(bytes, uuid.bytes, sizeof bytes);
    st_cuda_uuid_text(facts->is_mig ? "MIG-" : "GPU-", bytes, facts->uuid);
    if (ST_DRIVER_CALL(driver, device_get_pci, facts->pci, (int)sizeof facts->pci - 1, device) !=
        CUDA_SUCCESS)
        facts->pci[0] = '\0';
    return ST_OK;
}

// One attribute, or -1. No attribute that is asked for here is 0 on a device that knows it.
static int64_t attribute(const st_driver *driver, CUdevice device, CUdevice_attribute which)
{
    int value = -1;
    CUresult result = ST_DRIVER_CALL(driver, device_get_attribute, &value, which, device);
    return result == CUDA_SUCCESS && value > 0 ? value : -1;
}

static bool flag(const st_driver *driver, CUdevice device, CUdevice_attribute which)
{
    return attribute(driver, device, which) == 1;
}

static st_code read_attributes(const st_driver *driver, CUdevice device, st_device_facts *facts,
                               st_error *error)
{
    int major = 0, minor = 0, sm_count = 0;
    st_code code = CHECKED(driver, error, device_get_attribute, &major,
                           CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    if (code == ST_OK)
        code = CHECKED(driver, error, device_get_attribute, &minor,
                       CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    if (code == ST_OK)
        code = CHECKED(driver, error, device_get_attribute, &sm_count,
                       CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    if (code != ST_OK)
        return code;
    facts->cc = major * 10 + minor;
    facts->sm_count = sm_count;

    const struct {
        int64_t *place;
        CUdevice_attribute which;
    } rows[] = {
        {&facts->warp_size, CU_DEVICE_ATTRIBUTE_WARP_SIZE},
        {&facts->max_threads_per_block, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
        {&facts->threads_per_sm, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR},
        {&facts->max_blocks_per_sm, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR},
        {&facts->registers_per_sm, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR},
        {&facts->smem_per_block, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
        {&facts->smem_per_sm, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR},
        {&facts->l2_bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
        {&facts->memory_clock_khz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE},
        {&facts->memory_bus_bits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH},
        {&facts->sm_clock_khz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        *rows[i].place = attribute(driver, device, rows[i].which);
    if (facts->smem_per_block < 0)
        facts->smem_per_block =
            attribute(driver, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);

    int reserved = -1; // 0 is an answer here: before sm_80 nothing is taken
    if (ST_DRIVER_CALL(driver, device_get_attribute, &reserved,
                       CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK,
                       device) == CUDA_SUCCESS)
        facts->smem_reserved = reserved;
    // The portable size; the driver has no attribute for it, only whether clusters exist.
    facts->max_cluster = flag(driver, device, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) ? 8 : 1;
    facts->is_integrated = flag(driver, device, CU_DEVICE_ATTRIBUTE_INTEGRATED);
    facts->ecc = flag(driver, device, CU_DEVICE_ATTRIBUTE_ECC_ENABLED);
    return ST_OK;
}

st_code st_cuda_facts(int ordinal, st_device_facts *facts, st_error *error)
{
    *facts = (st_device_facts){.ordinal = ordinal, .backend = "cuda", .driver_cuda = -1};
#define X(field, name, unit, meaning) facts->field = -1;
    ST_DEVICE_FACTS(X)
#undef X
    int devices;
    st_code code = st_cuda_count(&devices, error);
    if (code != ST_OK)
        return code;
    if (ordinal < 0 || ordinal >= devices)
        return st_fail(error, ST_NOTHING, "`simtune devices` lists them",
                       "there is no device %d: the driver shows %d", ordinal, devices);
    const st_driver *driver = st_driver_get(error);
    if (!driver)
        return ST_FAILED;
    CUdevice device = 0;
    code = CHECKED(driver, error, device_get, &device, ordinal);
    if (code == ST_OK)
        code = read_identity(driver, device, facts, error);
    if (code == ST_OK)
        code = read_attributes(driver, device, facts, error);
    if (code != ST_OK)
        return st_error_prefix(error, "device %d", ordinal), code;
    size_t total = 0;
    if (ST_DRIVER_CALL(driver, device_total_mem, &total, device) == CUDA_SUCCESS && total > 0)
        facts->memory_bytes = (int64_t)total;
    facts->driver_cuda = driver->version;
    st_nvml_driver_version(facts->driver);
    return ST_OK;
}
