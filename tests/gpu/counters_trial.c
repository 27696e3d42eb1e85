// SPDX-License-Identifier: Apache-2.0
// Counters on a real GPU: what must hold (exit 1 when something does not), and with --measure what
// it costs. Kernels with a known character are profiled, so that the figures can be judged:
//   stream    sums 1 GiB of floats: waits for global memory, near the memory's speed
//   chain     dependent multiply-adds: waits for arithmetic
//   conflicts shared memory at a stride of 32 words: bank conflicts
//   flush     another module: must never be counted when it runs in `prepare`
// Other modes: --probe prints the state of the counters; --hold SECONDS keeps PC sampling enabled.
#include "cupti/counters.h"
#include "cupti/profiler_internal.h"
#include "trial_device.h"
#include "tuner/base/clock.h"
#include "tuner/base/memory.h"

#include <execinfo.h>
#include <malloc.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char source[] =
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
static const char flush_source[] =
    "extern \"C\" __global__ void flush(const float4 *in, float *out, unsigned long long n) {\n"
    "    float a = 0;\n"
    "    for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n;\n"
    "         i += gridDim.x * blockDim.x) a += in[i].x;\n"
    "    if (a == 12345.0f) out[0] = a;\n"
    "}\n";

#define BYTES ((size_t)1 << 30)
#define MANY 32

static trial_device gpu;
static int failures;

typedef struct candidate {
    CUfunction functions[2]; // run one after the other; the second may be NULL
    unsigned blocks;
    unsigned long long n[2];
    unsigned runs;
} candidate;

static CUdeviceptr input, output;
static CUfunction flush_kernel;
static bool flush_wanted;

static bool check(bool holds, const char *what) {
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

static st_code run_once(void *context, st_error *error) {
    candidate *one = context;
    for (int k = 0; k < 2 && one->functions[k]; k++)
        launch(one->functions[k], one->blocks, one->n[k]);
    one->runs++;
    CUresult result = gpu.synchronize();
    return result == CUDA_SUCCESS ? ST_OK
                                  : st_fail(error, ST_FAILED, NULL, "CUDA error %d", (int)result);
}

static st_code prepare(void *context, st_error *error) {
    (void)context;
    if (flush_wanted)
        launch(flush_kernel, (unsigned)gpu.sms * 8, BYTES / 2 / 16);
    return gpu.synchronize() == CUDA_SUCCESS ? ST_OK
                                             : st_fail(error, ST_FAILED, NULL, "CUDA error");
}

static CUfunction function_of(CUmodule module, const char *name) {
    CUfunction function = NULL;
    if (gpu.function(&function, module, name) != CUDA_SUCCESS)
        printf("FAILED no kernel %s\n", name), failures++;
    return function;
}

static CUmodule load(const trial_cubin *cubin) {
    CUmodule module = NULL;
    if (gpu.load(&module, cubin->bytes) != CUDA_SUCCESS)
        printf("FAILED loading a module\n"), failures++;
    return module;
}

static const char *name_of(const st_stall_profile *profile, int reason) {
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

static st_stall_profile stalls_of(st_profiler *profiler, candidate *one, const trial_cubin *cubin,
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

static double value_of(st_profiler *profiler, candidate *one, const char *metric) {
    double value = NAN;
    void *contexts[] = {one};
    st_error error;
    if (st_profiler_counters(profiler, run_once, contexts, 1, &metric, 1, &value, NULL, &error) !=
        ST_OK)
        printf("FAILED %s: %s\n", metric, error.what), failures++;
    return value;
}

// --- what must hold
// ----------------------------------------------------------------------------------------

static void check_stream(st_profiler *profiler, candidate *stream, const trial_cubin *cubin) {
    st_stall_profile profile = stalls_of(profiler, stream, cubin, "stream");
    check(profile.total_samples >= 2000, "stream: at least 2000 samples");
    check(strcmp(name_of(&profile, st_stall_main(&profile)), "long_scoreboard") == 0,
          "stream: waits for global memory most");
    for (size_t i = 0; i < profile.reason_count && profile.reasons[i].samples; i++)
        printf("    %-20s %8llu, %8llu not issued\n", profile.reasons[i].pc_name,
               (unsigned long long)profile.reasons[i].samples,
               (unsigned long long)profile.reasons[i].samples_not_issued);
    bool all_known = true;
    for (size_t i = 0; i < profile.reason_count; i++)
        if (profile.reasons[i].stall < 0) {
            printf("    unknown reason %s\n", profile.reasons[i].pc_name);
            all_known = false;
        }
    check(all_known, "every reason that CUPTI names is in the table");
    if (check(profile.line_count > 0, "stream: instructions are known")) {
        for (size_t i = 0; i < profile.line_count && i < 5; i++)
            printf("    %s+0x%llx %s:%d %llu\n", profile.lines[i].function,
                   (unsigned long long)profile.lines[i].pc_offset, profile.lines[i].file,
                   profile.lines[i].line, (unsigned long long)profile.lines[i].samples);
        check(strcmp(profile.lines[0].function, "stream") == 0,
              "stream: its own function is named");
        int line = profile.lines[0].line;
        check(line == 8 || line == 9 || line == 7, "stream: the waiting line is that of the sum");
    }
    st_stall_profile_release(&profile);
}

static void check_chain(st_profiler *profiler, candidate *chain, const trial_cubin *cubin) {
    st_stall_profile profile = stalls_of(profiler, chain, cubin, "chain");
    check(strcmp(name_of(&profile, st_stall_main(&profile)), "wait") == 0,
          "chain: waits for arithmetic most");
    st_stall_profile_release(&profile);
}

// All kernels of one run are in its profile.
static void check_two_kernels(st_profiler *profiler, candidate *both, const trial_cubin *cubin) {
    st_stall_profile profile = stalls_of(profiler, both, cubin, "stream, then chain");
    uint64_t stream = 0, chain = 0;
    for (size_t i = 0; i < profile.line_count; i++) {
        if (strcmp(profile.lines[i].function, "stream") == 0)
            stream += profile.lines[i].samples;
        if (strcmp(profile.lines[i].function, "chain") == 0)
            chain += profile.lines[i].samples;
    }
    printf("    stream %llu, chain %llu samples\n", (unsigned long long)stream,
           (unsigned long long)chain);
    check(stream > 100 && chain > 100, "two kernels: both are sampled");
    st_stall_profile_release(&profile);
}

static void check_prepare(st_profiler *profiler, candidate *small, const trial_cubin *cubin) {
    static const char *const names[] = {"dram_bytes_read", "l2_hit_rate"};
    double warm[2], cold[2];
    void *contexts[] = {small};
    st_error error;
    st_code code =
        st_profiler_counters(profiler, run_once, contexts, 1, names, 2, warm, NULL, &error);
    st_profiler_set_prepare(profiler, prepare);
    flush_wanted = true;
    if (code == ST_OK)
        code = st_profiler_counters(profiler, run_once, contexts, 1, names, 2, cold, NULL, &error);
    if (!check(code == ST_OK, "counters with prepare"))
        return;
    double bytes = 16.0 * (double)small->n[0];
    printf(
        "    %.0f bytes read by the kernel; from memory: warm %.0f (L2 hits %.3f), after a flush "
        "%.0f (L2 hits %.3f)\n",
        bytes, warm[0], warm[1], cold[0], cold[1]);
    check(cold[0] > 0.8 * bytes && cold[0] < 1.5 * bytes, "prepare: its own bytes are not counted");
    check(warm[0] < 0.5 * bytes, "without it the small input stays in L2");
    st_stall_profile profile = stalls_of(profiler, small, cubin, "small stream after a flush");
    bool only = true;
    for (size_t i = 0; i < profile.line_count; i++)
        only = only && strcmp(profile.lines[i].function, "stream") == 0;
    check(profile.line_count > 0 && only, "prepare: its kernel is not in the samples");
    st_stall_profile_release(&profile);
    st_profiler_set_prepare(profiler, NULL);
    flush_wanted = false;
}

static void print_counters(const char *const *names, size_t count, const double *values) {
    for (size_t m = 0; m < count; m++) {
        st_text text;
        st_text_init(&text);
        st_metric_add_value(&text, st_metric_find(names[m]), values[m]);
        printf("    %-28s %s\n", names[m], st_text_string(&text));
        st_text_release(&text);
    }
}

static void check_all_counters(st_profiler *profiler, candidate *stream) {
    size_t count = 0;
    const st_metric *table = st_metrics(&count);
    const char *names[128];
    double values[128], seconds = 0;
    for (size_t m = 0; m < count; m++)
        names[m] = table[m].name;
    void *contexts[] = {stream};
    st_error error;
    stream->runs = 0;
    st_code code = st_profiler_counters(profiler, run_once, contexts, 1, names, count, values,
                                        &seconds, &error);
    if (!check(code == ST_OK, "all counters of one candidate")) {
        printf("    %s\n", error.what);
        return;
    }
    printf("  stream, all %zu counters: %u passes, %.3f s\n", count, stream->runs, seconds);
    print_counters(names, count, values);
    double stalls = 0;
    size_t finite = 0;
    for (size_t m = 0; m < count; m++) {
        finite += !isnan(values[m]);
        if (strcmp(table[m].group, "stall") == 0 && !isnan(values[m]))
            stalls += values[m];
        if (table[m].unit == ST_UNIT_SHARE && !(values[m] >= 0 && values[m] < 1.1))
            printf("    out of range: %s\n", names[m]), failures++;
    }
    printf("    sum of stall ratios %.1f\n", stalls);
    check(finite + 2 >= count, "nearly every counter has a value");
    double per_issue = value_of(profiler, stream, "warps_per_issue");
    check(fabs(stalls / per_issue - 1) < 0.1, "the stall ratios add up to the warps per issue");
    check(value_of(profiler, stream, "dram_throughput") > 0.5,
          "stream: memory above half its peak");
    double bytes = value_of(profiler, stream, "dram_bytes_read");
    check(fabs(bytes / (double)BYTES - 1) < 0.1, "stream: reads its input once");
    check(fabs(value_of(profiler, stream, "load_sectors_per_request") - 16) < 0.1,
          "stream: 16 sectors for a warp's 16-byte loads");
}

static void check_conflicts(st_profiler *profiler, candidate *conflicts, candidate *chain) {
    double many = value_of(profiler, conflicts, "shared_load_conflicts");
    double none = value_of(profiler, chain, "shared_load_conflicts");
    printf("    bank conflicts: conflicts %.0f, chain %.0f\n", many, none);
    check(many > 1e5 && none < 1000, "bank conflicts are counted where they are");
}

// Ranges come back in order: each candidate reads another number of bytes.
static void check_many(st_profiler *profiler, CUfunction stream) {
    static candidate list[MANY];
    void *contexts[MANY];
    const char *names[] = {"dram_bytes_read", "stall.long_scoreboard", "issue_active"};
    double values[MANY * 3], seconds = 0;
    for (int c = 0; c < MANY; c++) {
        list[c] = (candidate){.functions = {stream}, .blocks = (unsigned)gpu.sms * 8};
        list[c].n[0] = BYTES / 16 / MANY * (unsigned)(c + 1);
        contexts[c] = &list[c];
    }
    st_error error;
    st_code code = st_profiler_counters(profiler, run_once, contexts, MANY, names, 3, values,
                                        &seconds, &error);
    if (!check(code == ST_OK, "counters of 32 candidates")) {
        printf("    %s\n", error.what);
        return;
    }
    bool in_order = true;
    for (int c = 8; c < MANY; c++) // below that the input stays in L2 from the candidate before
        in_order = in_order && fabs(values[3 * c] / (16.0 * (double)list[c].n[0]) - 1) < 0.25;
    printf(
        "  32 candidates, 3 counters: %u passes, %.3f s (%.1f ms each); bytes read %.3g … %.3g\n",
        list[0].runs, seconds, 1e3 * seconds / MANY, values[0], values[3 * (MANY - 1)]);
    check(in_order, "each candidate gets its own bytes");
}

static st_code run_badly(void *context, st_error *error) {
    (void)context;
    return st_fail(error, ST_FAILED, NULL, "a planted failure");
}

// A run that fails is an error with its own words, and the next collection works.
static void check_failures(st_profiler *profiler, candidate *stream, const trial_cubin *cubin) {
    st_error error;
    st_stall_profile profile;
    const char *names[] = {"issue_active"};
    double value = 0;
    void *contexts[] = {stream};
    st_code code =
        st_profiler_counters(profiler, run_badly, contexts, 1, names, 1, &value, NULL, &error);
    check(code == ST_FAILED && strstr(error.what, "planted") && isnan(value),
          "a failing run within a range is told");
    check(value_of(profiler, stream, "issue_active") > 0, "counters work after it");
    code = st_profiler_stalls(profiler, run_badly, stream, NULL, 0, 0, &profile, &error);
    check(code == ST_FAILED && strstr(error.what, "planted"),
          "a failing run while sampling is told");
    profile = stalls_of(profiler, stream, cubin, "stream after a failure");
    check(profile.total_samples >= 2000, "stalls work after it");
    st_stall_profile_release(&profile);
    names[0] = "no_such_counter";
    code = st_profiler_counters(profiler, run_once, contexts, 1, names, 1, &value, NULL, &error);
    check(code == ST_USAGE && strstr(error.what, "no_such_counter"), "an unknown name is an error");
    int broken = 0, survived = 0;
    double began = st_clock_seconds();
    for (unsigned long n = 1; n < 60 && st_clock_seconds() - began < 15;
         n++) { // each call in turn fails
        st_fault_arm(ST_FAULT_CUPTI, n);
        code = st_profiler_stalls(profiler, run_once, stream, NULL, 0, 0, &profile, &error);
        broken += code != ST_OK;
        if (code == ST_OK)
            st_stall_profile_release(&profile);
        names[0] = "issue_active";
        code =
            st_profiler_counters(profiler, run_once, contexts, 1, names, 1, &value, NULL, &error);
        bool unfinished = !st_fault_injected(ST_FAULT_CUPTI);
        st_fault_arm(ST_FAULT_CUPTI, 0);
        broken += code != ST_OK;
        survived++;
        if (unfinished)
            break;
    }
    printf("    %d collections with an injected fault, %d reported it\n", survived, broken);
    check(broken >= survived / 2, "injected faults are reported");
    check(value_of(profiler, stream, "issue_active") > 0, "counters work after all faults");
}

static void check_switching(st_profiler *profiler, candidate *stream, const trial_cubin *cubin) {
    double to_sampling = 0, to_ranges = 0, stay = 0;
    bool fine = true;
    for (int i = 0; i < 20; i++) {
        st_error error;
        st_stall_profile profile = {0};
        double t0 = st_clock_seconds();
        fine = fine && st_profiler_switch(profiler, ST_MODE_SAMPLING, &error) == ST_OK;
        double t1 = st_clock_seconds();
        fine = fine && st_profiler_stalls(profiler, run_once, stream, cubin->bytes, cubin->length,
                                          2000, &profile, &error) == ST_OK;
        fine = fine && profile.total_samples > 0;
        st_stall_profile_release(&profile);
        double t2 = st_clock_seconds();
        fine = fine && st_profiler_switch(profiler, ST_MODE_RANGES, &error) == ST_OK;
        double t3 = st_clock_seconds();
        fine = fine && value_of(profiler, stream, "dram_throughput") > 0.5;
        to_sampling += t1 - t0, to_ranges += t3 - t2, stay += t2 - t1;
        if (i == 0)
            printf("  first switch: to sampling %.4f s, stalls %.4f s, to ranges %.4f s\n", t1 - t0,
                   t2 - t1, t3 - t2);
    }
    printf(
        "  20 switches each way: to sampling %.4f s, stalls %.4f s, to ranges %.4f s on average\n",
        to_sampling / 20, stay / 20, to_ranges / 20);
    check(fine, "switching 20 times works");
}

// --- what it costs (--measure)
// -------------------------------------------------------------------------------

static void measure_periods(st_profiler *profiler, candidate *one, const char *title,
                            const trial_cubin *cubin) {
    for (uint32_t period = 5; period <= 14; period++) {
        char name[64];
        snprintf(name, sizeof name, "%s, period 2^%u", title, period);
        profiler->sampling.period = period;
        st_stall_profile profile = stalls_of(profiler, one, cubin, name);
        st_stall_profile_release(&profile);
    }
}

static void measure_growth(st_profiler *profiler, candidate *one, const trial_cubin *cubin) {
    for (int i = 0; i <= 60; i++) {
        st_error error;
        st_stall_profile profile;
        if (st_profiler_stalls(profiler, run_once, one, cubin->bytes, cubin->length, 0, &profile,
                               &error) == ST_OK)
            st_stall_profile_release(&profile);
        if (i % 20 == 0)
            printf("  after %d collections: %zu KiB in use\n", i,
                   (size_t)mallinfo2().uordblks >> 10);
    }
}

static void measure_leftover(st_profiler *profiler) {
    usleep(200000);
    CUpti_PCSamplingData *taken = &profiler->sampling.taken;
    CUpti_PCSamplingGetDataParams get = {
        .size = ST_CUPTI_SIZE(CUpti_PCSamplingGetDataParams, pcSamplingData),
        .ctx = profiler->context,
        .pcSamplingData = taken};
    int result = profiler->api->PCSamplingGetData(&get);
    printf("  200 ms later: result %d, %zu records, %llu samples, own buffer %zu records\n", result,
           taken->totalNumPcs, (unsigned long long)taken->totalSamples,
           profiler->sampling.kept.totalNumPcs);
    for (size_t i = 0; i < taken->totalNumPcs; i++)
        taken->pPcData[i].functionName = NULL;
}

static void measure_sets(st_profiler *profiler, candidate *stream) {
    static const char *const groups[] = {"stall", "memory", "shared", "issue", "occupancy"};
    size_t count = 0;
    const st_metric *table = st_metrics(&count);
    for (size_t g = 0; g < 5; g++)
        for (int repeat = 0; repeat < 2; repeat++) {
            const char *names[128];
            double values[128 * MANY], seconds = 0;
            size_t used = 0;
            for (size_t m = 0; m < count; m++)
                if (strcmp(table[m].group, groups[g]) == 0)
                    names[used++] = table[m].name;
            void *contexts[MANY];
            for (int c = 0; c < MANY; c++)
                contexts[c] = stream;
            st_error error;
            size_t candidates = repeat ? MANY : 1;
            stream->runs = 0;
            st_code code = st_profiler_counters(profiler, run_once, contexts, candidates, names,
                                                used, values, &seconds, &error);
            printf("  %-10s %2zu counters, %2zu candidates: %s, %u runs, %.3f s, %.1f ms each\n",
                   groups[g], used, candidates, code == ST_OK ? "ok" : error.what, stream->runs,
                   seconds, 1e3 * seconds / (double)candidates);
        }
}

// --- modes
// -------------------------------------------------------------------------------------------------

static int print_state(void) {
    st_text detail;
    st_text_init(&detail);
    double began = st_clock_seconds();
    st_counters_state state = st_counters_probe(gpu.context, 0, &detail);
    printf("state: %s (%.3f s) %s\nremedy: %s\n", st_counters_state_name(state),
           st_clock_seconds() - began, st_text_string(&detail), st_counters_remedy(state));
    st_text_release(&detail);
    return state == ST_COUNTERS_ALLOWED ? 0 : 5;
}

static double hold_seconds;

static st_code run_and_sleep(void *context, st_error *error) {
    st_code code = run_once(context, error);
    usleep((useconds_t)(hold_seconds * 1e6));
    return code;
}

// Set-up of one kernel for the small modes.
static bool set_up(trial_cubin *cubin, candidate *stream, st_profiler **profiler) {
    if (!trial_compile(&gpu, source, cubin))
        return false;
    CUmodule module = load(cubin);
    gpu.allocate(&input, BYTES);
    gpu.allocate(&output, (size_t)gpu.sms * 8 * 256 * 4);
    gpu.fill(input, 0x3f800000, BYTES / 4);
    *stream = (candidate){{function_of(module, "stream")}, (unsigned)gpu.sms * 8, {BYTES / 16}, 0};
    st_counters_state state;
    st_error error;
    if (st_profiler_open(gpu.context, 0, profiler, &state, &error) == ST_OK)
        return true;
    printf("open: %s: %s\n", st_counters_state_name(state), error.what);
    return false;
}

static int hold(double seconds, bool sampling) {
    trial_cubin cubin;
    candidate stream;
    st_profiler *profiler = NULL;
    if (!set_up(&cubin, &stream, &profiler))
        return 1;
    printf("hold: collecting\n");
    hold_seconds = seconds;
    st_error error;
    st_stall_profile profile;
    const char *name = "issue_active";
    void *contexts[] = {&stream};
    double value;
    st_code code = sampling ? st_profiler_stalls(profiler, run_and_sleep, &stream, NULL, 0, 1, &profile, &error)
                            : st_profiler_counters(profiler, run_and_sleep, contexts, 1, &name, 1, &value, NULL, &error);
    printf("hold: %s\n", code == ST_OK ? "done" : error.what);
    return 0;
}

static int brief(void) {
    trial_cubin cubin;
    candidate stream;
    st_profiler *profiler = NULL;
    if (!set_up(&cubin, &stream, &profiler))
        return 1;
    st_error error;
    st_stall_profile profile;
    st_code code = st_profiler_stalls(profiler, run_once, &stream, cubin.bytes, cubin.length, 0, &profile, &error);
    if (code == ST_OK)
        print_profile("brief", &profile, &stream, profiler);
    else
        printf("brief stalls: code %d %s | %s\n", code, error.what, error.remedy);
    const char *name = "dram_throughput";
    void *contexts[] = {&stream};
    double value = NAN;
    code = st_profiler_counters(profiler, run_once, contexts, 1, &name, 1, &value, NULL, &error);
    printf("brief counters: code %d %.3f %s\n", code, value, code == ST_OK ? "" : error.what);
    st_profiler_close(profiler);
    return 0;
}

static int try_ranges(int experiment) {
    trial_cubin cubin;
    candidate stream;
    st_profiler *profiler = NULL;
    if (!set_up(&cubin, &stream, &profiler))
        return 1;
    profiler->ranges.experiment = experiment;
    static const char *const names[] = {"dram_throughput", "issue_active", "stall.wait", "l2_hit_rate", "dram_bytes_read"};
    void *contexts[100];
    for (int c = 0; c < 100; c++)
        contexts[c] = &stream;
    static const struct { size_t first, metrics, candidates; } steps[] = {{0,1,1},{0,1,1},{0,1,1},{0,1,8},{0,1,1},{1,1,1},{0,5,1},{0,5,70},{2,2,1},{0,5,3},{2,1,64},{4,1,1},{3,1,1}};
    double values[500], total = 0;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        st_error error;
        double seconds = 0;
        printf("  experiment %d step %zu ...", experiment, i);
        fflush(stdout);
        st_code code = st_profiler_counters(profiler, run_once, contexts, steps[i].candidates, names + steps[i].first, steps[i].metrics, values, &seconds, &error);
        total += seconds;
        printf(" %zu metrics, %zu candidates: %s %.4f s, %.4g … %.4g\n", steps[i].metrics, steps[i].candidates, code == ST_OK ? "ok" : error.what, seconds, values[0], values[steps[i].metrics * steps[i].candidates - 1]);
    }
    st_profiler_close(profiler);
    printf("  experiment %d: %.3f s\n", experiment, total);
    return 0;
}

static int try_buffer(double mib) {
    trial_cubin cubin;
    candidate stream;
    st_profiler *profiler = NULL;
    if (!set_up(&cubin, &stream, &profiler))
        return 1;
    profiler->sampling.hardware_bytes = (size_t)(mib * 1048576);
    st_error error;
    for (int i = 0; i < 3; i++) {
        double t0 = st_clock_seconds();
        st_code code = st_profiler_switch(profiler, ST_MODE_SAMPLING, &error);
        double t1 = st_clock_seconds();
        if (code != ST_OK)
            printf("enabling: %s\n", error.what);
        static const uint32_t periods[] = {9, 7, 5};
        for (int k = 0; k < 3; k++) {
            CUpti_PCSamplingConfigurationInfo one;
            memset(&one, 0, sizeof one);
            one.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD;
            one.attributeData.samplingPeriodData.samplingPeriod = periods[k];
            CUpti_PCSamplingConfigurationInfoParams set = {
                .size = ST_CUPTI_SIZE(CUpti_PCSamplingConfigurationInfoParams, pPCSamplingConfigurationInfo),
                .ctx = profiler->context, .numAttributes = 1, .pPCSamplingConfigurationInfo = &one};
            double t2 = st_clock_seconds();
            int result = profiler->api->PCSamplingSetConfigurationAttribute(&set);
            double t3 = st_clock_seconds();
            printf("  set period 2^%u alone: result %d, status %d, %.4f s\n", periods[k], result, (int)one.attributeStatus, t3 - t2);
            profiler->sampling.period = periods[k];
            if (result == 0)
                profiler->sampling.set_period = periods[k];
            st_stall_profile profile = stalls_of(profiler, &stream, &cubin, "stream");
            st_stall_profile_release(&profile);
            profiler->sampling.period = profiler->sampling.set_period;
        }
        double t4 = st_clock_seconds();
        st_profiler_switch(profiler, ST_MODE_OFF, &error);
        printf("  buffer %g MiB: enabling %.4f s, disabling %.4f s\n", mib, t1 - t0, st_clock_seconds() - t4);
    }
    st_profiler_close(profiler);
    return 0;
}

static void on_crash(int number) {
    void *frames[40];
    int count = backtrace(frames, 40);
    backtrace_symbols_fd(frames, count, 1);
    _exit(128 + number);
}

static int trial(bool measure) {
    trial_cubin cubin, flush;
    if (!trial_compile(&gpu, source, &cubin) || !trial_compile(&gpu, flush_source, &flush))
        return 1;
    CUmodule before = load(&cubin); // loaded before CUPTI is there
    CUmodule flush_module = load(&flush);
    if (gpu.allocate(&input, BYTES) != CUDA_SUCCESS ||
        gpu.allocate(&output, (size_t)gpu.sms * 8 * 256 * 4) != CUDA_SUCCESS)
        return 1;
    gpu.fill(input, 0x3f800000, BYTES / 4);
    flush_kernel = function_of(flush_module, "flush");
    unsigned blocks = (unsigned)gpu.sms * 8;
    candidate stream = {{function_of(before, "stream")}, blocks, {BYTES / 16}, 0};
    candidate small = {{function_of(before, "stream")}, blocks, {(4 << 20) / 16}, 0};
    candidate tiny = {{function_of(before, "stream")}, 1, {1024}, 0};
    // Two warps a scheduler: with more, another warp always stands ready and none is seen waiting.
    candidate chain = {{function_of(before, "chain")}, (unsigned)gpu.sms, {20000}, 0};
    candidate conflicts = {{function_of(before, "conflicts")}, blocks, {500}, 0};
    candidate both = {{function_of(before, "stream"), function_of(before, "chain")},
                      blocks,
                      {BYTES / 16, 20000},
                      0};
    st_profiler *profiler = NULL;
    st_counters_state state;
    st_error error;
    double began = st_clock_seconds();
    st_code code = st_profiler_open(gpu.context, 0, &profiler, &state, &error);
    printf("open: %s, %.3f s\n", st_counters_state_name(state), st_clock_seconds() - began);
    if (code != ST_OK) {
        printf("FAILED %s (%s)\n", error.what, error.remedy);
        return state == ST_COUNTERS_FAILED ? 1 : 77;
    }
    profiler->ranges.experiment = 1;
    printf("chip %s\n", st_profiler_chip(profiler));
    printf("-- module loaded before CUPTI\n");
    check_stream(profiler, &stream, &cubin);
    printf("-- module loaded after\n");
    CUmodule after = load(&cubin);
    candidate late = stream;
    late.functions[0] = function_of(after, "stream");
    check_stream(profiler, &late, &cubin);
    gpu.unload(after);
    check_chain(profiler, &chain, &cubin);
    check_two_kernels(profiler, &both, &cubin);
    st_stall_profile profile = stalls_of(profiler, &tiny, &cubin, "tiny");
    check(profile.total_samples > 0, "tiny: some samples");
    st_stall_profile_release(&profile);
    if (measure) {
        measure_leftover(profiler);
        measure_periods(profiler, &stream, "stream", &cubin);
        measure_periods(profiler, &small, "small", &cubin);
        measure_periods(profiler, &tiny, "tiny", &cubin);
        measure_growth(profiler, &small, &cubin);
    }
    printf("-- counters\n");
    check_all_counters(profiler, &stream);
    check_conflicts(profiler, &conflicts, &chain);
    check_many(profiler, stream.functions[0]);
    check_prepare(profiler, &small, &cubin);
    if (measure)
        measure_sets(profiler, &stream);
    printf("-- switching and failures\n");
    check_switching(profiler, &stream, &cubin);
    check_failures(profiler, &stream, &cubin);
    began = st_clock_seconds();
    st_profiler_close(profiler);
    printf("close: %.3f s\n", st_clock_seconds() - began);
    began = st_clock_seconds();
    code = st_profiler_open(gpu.context, 0, &profiler, &state, &error);
    printf("second open: %.3f s\n", st_clock_seconds() - began);
    if (check(code == ST_OK, "a profiler can be opened again")) {
        check_chain(profiler, &chain, &cubin);
        st_profiler_close(profiler);
    }
    st_free(cubin.bytes);
    st_free(flush.bytes);
    printf("%s: %d failures\n", failures ? "FAILED" : "PASSED", failures);
    return failures ? 1 : 0;
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!trial_open(&gpu))
        return 77;
    const char *mode = argc > 1 ? argv[1] : "";
    printf("%s, sm_%d%d, %d SMs\n", gpu.name, gpu.major, gpu.minor, gpu.sms);
    if (strcmp(mode, "--probe") == 0)
        return print_state();
    signal(SIGSEGV, on_crash);
    signal(SIGABRT, on_crash);
    if (strcmp(mode, "--hold-sampling") == 0 && argc > 2)
        return hold(atof(argv[2]), true);
    if (strcmp(mode, "--hold-ranges") == 0 && argc > 2)
        return hold(atof(argv[2]), false);
    if (strcmp(mode, "--brief") == 0)
        return brief();
    if (strcmp(mode, "--ranges") == 0 && argc > 2)
        return try_ranges(atoi(argv[2]));
    if (strcmp(mode, "--buffer") == 0 && argc > 2)
        return try_buffer(atof(argv[2]));
    return trial(strcmp(mode, "--measure") == 0);
}
