// SPDX-License-Identifier: Apache-2.0
#include "trial_device.h"

#include "tuner/base/library.h"
#include "tuner/base/memory.h"

#include <stdio.h>

bool trial_open(trial_device *device) {
    *device = (trial_device){0};
    static const char *const names[] = {"libcuda.so.1", NULL};
    st_library library;
    st_error error;
    if (st_library_open(&library, names, "", &error) != ST_OK) {
        printf("SKIPPED: %s\n", error.what);
        return false;
    }
    const st_symbol symbols[] = {
#define X(pointer, name, type) {name, (void **)&device->pointer, true},
        TRIAL_DRIVER(X)
#undef X
    };
    if (st_library_load(&library, symbols, sizeof symbols / sizeof *symbols, "", &error) != ST_OK) {
        printf("SKIPPED: %s\n", error.what);
        return false;
    }
    if (device->init(0) != CUDA_SUCCESS || device->device_get(&device->device, 0) != CUDA_SUCCESS ||
        device->retain(&device->context, device->device) != CUDA_SUCCESS ||
        device->set_current(device->context) != CUDA_SUCCESS) {
        printf("SKIPPED: no usable GPU\n");
        return false;
    }
    device->device_name(device->name, sizeof device->name, device->device);
    device->attribute(&device->sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device->device);
    device->attribute(&device->major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device->device);
    device->attribute(&device->minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device->device);
    return true;
}

typedef struct nvrtc_calls {
    __typeof__(&nvrtcCreateProgram) create;
    __typeof__(&nvrtcDestroyProgram) destroy;
    __typeof__(&nvrtcCompileProgram) compile;
    __typeof__(&nvrtcGetCUBINSize) size;
    __typeof__(&nvrtcGetCUBIN) get;
    __typeof__(&nvrtcGetProgramLogSize) log_size;
    __typeof__(&nvrtcGetProgramLog) log;
} nvrtc_calls;

static bool open_nvrtc(nvrtc_calls *calls) {
    static const char *const names[] = {"/usr/local/cuda/lib64/libnvrtc.so.13",
                                        "/usr/local/cuda/lib64/libnvrtc.so.12", "libnvrtc.so.13",
                                        "libnvrtc.so.12", NULL};
    st_library library;
    st_error error;
    if (st_library_open(&library, names, "", &error) != ST_OK) {
        printf("SKIPPED: %s\n", error.what);
        return false;
    }
    const st_symbol symbols[] = {{"nvrtcCreateProgram", (void **)&calls->create, true},
                                 {"nvrtcDestroyProgram", (void **)&calls->destroy, true},
                                 {"nvrtcCompileProgram", (void **)&calls->compile, true},
                                 {"nvrtcGetCUBINSize", (void **)&calls->size, true},
                                 {"nvrtcGetCUBIN", (void **)&calls->get, true},
                                 {"nvrtcGetProgramLogSize", (void **)&calls->log_size, true},
                                 {"nvrtcGetProgramLog", (void **)&calls->log, true}};
    return st_library_load(&library, symbols, sizeof symbols / sizeof *symbols, "", &error) ==
           ST_OK;
}

static void print_log(const nvrtc_calls *calls, nvrtcProgram program) {
    size_t length = 0;
    if (calls->log_size(program, &length) != NVRTC_SUCCESS)
        return;
    char *log = st_calloc(length + 1, 1);
    if (log && calls->log(program, log) == NVRTC_SUCCESS)
        printf("%s\n", log);
    st_free(log);
}

bool trial_compile(const trial_device *device, const char *source, trial_cubin *cubin) {
    nvrtc_calls calls;
    *cubin = (trial_cubin){0};
    if (!open_nvrtc(&calls))
        return false;
    char arch[40];
    snprintf(arch, sizeof arch, "--gpu-architecture=sm_%d%d", device->major, device->minor);
    const char *options[] = {arch, "-lineinfo", "-default-device"};
    nvrtcProgram program = NULL;
    bool fine = calls.create(&program, source, "trial.cu", 0, NULL, NULL) == NVRTC_SUCCESS &&
                calls.compile(program, 3, options) == NVRTC_SUCCESS &&
                calls.size(program, &cubin->length) == NVRTC_SUCCESS &&
                (cubin->bytes = st_malloc(cubin->length)) != NULL &&
                calls.get(program, cubin->bytes) == NVRTC_SUCCESS;
    if (!fine)
        print_log(&calls, program);
    calls.destroy(&program);
    return fine;
}
