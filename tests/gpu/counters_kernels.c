// SPDX-License-Identifier: Apache-2.0
#include "counters_kernels.h"

#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char trial_source[] =
    "extern \"C\" __global__ void stream(const float4 *in, float *out, unsigned long long n) {\n"
    "    float a = 0, b = 0;\n"
    "    unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;\n"
    "    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;\n"
    "#pragma unroll 4\n"
    "    for (; i < n; i += step) {\n"
    "        float4 v = in[i];\n"
    "        a += v.x + v.y;\n"
    "        b += v.z + v.w;\n"
    "    }\n"
    "    out[blockIdx.x * blockDim.x + threadIdx.x] = a + b;\n"
    "}\n"
    "extern \"C\" __global__ void chain(const float4 *in, float *out, unsigned long long n) {\n"
    "    float a = threadIdx.x, b = out[0];\n"
    "    for (unsigned long long i = 0; i < n; i++)\n"
    "        a = a * b + 1.0f;\n"
    "    out[blockIdx.x * blockDim.x + threadIdx.x] = a;\n"
    "}\n"
    "extern \"C\" __global__ void conflicts(const float4 *in, float *out, unsigned long long n) {\n"
    "    __shared__ float tile[32 * 32];\n"
    "    for (int i = threadIdx.x; i < 1024; i += blockDim.x) tile[i] = i;\n"
    "    __syncthreads();\n"
    "    float a = 0;\n"
    "    for (unsigned long long i = 0; i < n; i++)\n"
    "        a += tile[((threadIdx.x % 32) * 32 + (int)a + i) % 1024];\n"
    "    out[blockIdx.x * blockDim.x + threadIdx.x] = a;\n"
    "}\n";
const char trial_flush_source[] =
    "extern \"C\" __global__ void flush(const float4 *in, float *out, unsigned long long n) {\n"
    "    float a = 0;\n"
    "    for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n;\n"
    "         i += gridDim.x * blockDim.x) a += in[i].x;\n"
    "    if (a == 12345.0f) out[0] = a;\n"
    "}\n";

trial_device gpu;
int failures;

CUdeviceptr input, output;
CUfunction flush_kernel;

bool check(bool holds, const char *what) {
    printf("%s %s\n", holds ? "ok    " : "FAILED", what);
    failures += !holds;
    return holds;
}

static void launch(CUfunction function, unsigned blocks, unsigned long long n) {
    void *arguments[] = {&input, &output, &n};
    CUresult result = gpu.launch(function, blocks, 1, 1, 256, 1, 1, 0, NULL, arguments, NULL);
    if (result != CUDA_SUCCESS) {
        printf("FAILED a launch: %d\n", (int)result);
        exit(1);
    }
}

st_code run_once(void *context, st_error *error) {
    candidate *one = context;
    for (int k = 0; k < 2 && one->functions[k]; k++)
        launch(one->functions[k], one->blocks, one->n[k]);
    one->runs++;
    CUresult result = gpu.synchronize();
    return result == CUDA_SUCCESS ? ST_OK
                                  : st_fail(error, ST_FAILED, NULL, "CUDA error %d", (int)result);
}

st_code flush(void *context, st_error *error) {
    (void)context;
    launch(flush_kernel, (unsigned)gpu.sms * 8, BYTES / 2 / 16);
    return gpu.synchronize() == CUDA_SUCCESS ? ST_OK
                                             : st_fail(error, ST_FAILED, NULL, "CUDA error");
}

CUfunction function_of(CUmodule module, const char *name) {
    CUfunction function = NULL;
    if (gpu.function(&function, module, name) != CUDA_SUCCESS)
        printf("FAILED no kernel %s\n", name), failures++;
    return function;
}

CUmodule load(const trial_cubin *cubin) {
    CUmodule module = NULL;
    if (gpu.load(&module, cubin->bytes) != CUDA_SUCCESS)
        printf("FAILED loading a module\n"), failures++;
    return module;
}

const char *name_of(const st_stall_profile *profile, int reason) {
    return reason < 0 ? "none" : profile->reasons[reason].pc_name;
}

static void print_profile(const char *title, const st_stall_profile *profile, const candidate *one,
                          const st_profiler *profiler) {
    st_text words;
    st_text_init(&words);
    st_stall_describe(profile, &words);
    printf("  %-34s %8llu samples, %llu dropped, %3zu instructions, %u runs, next period 2^%u, "
           "%.4f s: %s\n",
           title, (unsigned long long)profile->total_samples,
           (unsigned long long)profile->dropped_samples, profile->line_count, one->runs,
           profiler->sampling.period, profile->seconds, st_text_string(&words));
    st_text_release(&words);
}

st_stall_profile stalls_of(st_profiler *profiler, candidate *one, const trial_cubin *cubin,
                           const char *title) {
    st_stall_profile profile;
    st_error error;
    one->runs = 0;
    st_code code = st_profiler_stalls(profiler, run_once, one, cubin ? cubin->bytes : NULL,
                                      cubin ? cubin->length : 0, 2000, &profile, &error);
    if (code != ST_OK)
        printf("FAILED %s: %s (%s)\n", title, error.what, error.remedy), failures++;
    else
        print_profile(title, &profile, one, profiler);
    return profile;
}

double value_of(st_profiler *profiler, candidate *one, const char *metric) {
    double value = NAN;
    void *contexts[] = {one};
    st_error error;
    if (st_profiler_counters(profiler, run_once, contexts, 1, &metric, 1, &value, NULL, &error) !=
        ST_OK)
        printf("FAILED %s: %s\n", metric, error.what), failures++;
    return value;
}
