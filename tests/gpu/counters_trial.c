// SPDX-License-Identifier: Apache-2.0
// Counters on a real GPU: what must hold (exit 1 when something does not), and with --measure what
// it costs. Kernels with a known character are profiled, so that the figures can be judged:
//   stream    sums 1 GiB of floats: waits for global memory, near the memory's speed
//   chain     dependent multiply-adds: waits for arithmetic
//   conflicts shared memory at a stride of 32 words: bank conflicts
//   flush     another module: must never be counted when it runs in `prepare`
// --probe prints the state of the counters and ends.
#include "counters_kernels.h"
#include "tuner/base/clock.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

// The same kernel after it ran once (its input may be in L2) and after a flush: what `prepare`
// launches reads 512 MiB and must not be counted.
static void check_prepare(st_profiler *profiler, candidate *small, const trial_cubin *cubin) {
    static const char *const names[] = {"dram_bytes_read", "l2_hit_rate"};
    double warm[2], cold[2];
    void *contexts[] = {small};
    st_error error;
    st_profiler_set_prepare(profiler, run_once);
    st_code code =
        st_profiler_counters(profiler, run_once, contexts, 1, names, 2, warm, NULL, &error);
    st_profiler_set_prepare(profiler, flush);
    if (code == ST_OK)
        code = st_profiler_counters(profiler, run_once, contexts, 1, names, 2, cold, NULL, &error);
    if (!check(code == ST_OK, "counters with prepare"))
        return;
    double bytes = 16.0 * (double)small->n[0];
    printf(
        "    %.0f bytes read by the kernel; from memory: after itself %.0f (L2 hits %.3f), after a "
        "flush %.0f (L2 hits %.3f)\n",
        bytes, warm[0], warm[1], cold[0], cold[1]);
    check(cold[0] > 0.8 * bytes && cold[0] < 1.5 * bytes, "prepare: its own bytes are not counted");
    st_stall_profile profile = stalls_of(profiler, small, cubin, "small stream after a flush");
    bool only = true;
    for (size_t i = 0; i < profile.line_count; i++)
        only = only && strcmp(profile.lines[i].function, "stream") == 0;
    check(profile.line_count > 0 && only, "prepare: its kernel is not in the samples");
    check(profile.total_samples >= 2000, "prepare: enough samples of a short kernel");
    st_stall_profile_release(&profile);
    st_profiler_set_prepare(profiler, NULL);
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

static int trial(bool measure) {
    trial_cubin cubin, flush_cubin;
    if (!trial_compile(&gpu, trial_source, &cubin) ||
        !trial_compile(&gpu, trial_flush_source, &flush_cubin))
        return 1;
    CUmodule before = load(&cubin); // loaded before CUPTI is there
    CUmodule flush_module = load(&flush_cubin);
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
    check(profile.total_samples >= 200, "tiny: repeated until there are samples");
    st_stall_profile_release(&profile);
    if (measure) {
        measure_sampling(profiler, &stream, &small, &tiny, &cubin);
    }
    printf("-- counters\n");
    check_all_counters(profiler, &stream);
    check_conflicts(profiler, &conflicts, &chain);
    check_many(profiler, stream.functions[0]);
    check_prepare(profiler, &small, &cubin);
    if (measure)
        measure_counters(profiler, &stream);
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
    st_free(flush_cubin.bytes);
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
    return trial(strcmp(mode, "--measure") == 0);
}
