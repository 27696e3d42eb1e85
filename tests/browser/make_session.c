// SPDX-License-Identifier: Apache-2.0
// Makes a store with one session of as many candidates as wanted, for tests of its reports:
//   make_session STORE CANDIDATES [hostile|failing]     prints the session's id
// Times follow a smooth model with some noise; a few candidates fail in each way; winner, default and runner-up have
// profiles. `hostile`: names, sources, logs and commands are full of what breaks pages: the end of a script element,
// quotes, entities, control characters, bytes that are no UTF-8. `failing`: every candidate fails. Equal arguments give
// equal rows, ids and dates apart.
#include "db/store.h"
#include "tuner/base/hash.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/base/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOSTILE "</script><img/src=x/onerror=alert(1)>'\"&amp;<!--]]>${a}`"
#define BYTES "\x1b[2J\x07\x80\xff\xc3\xe2\x80\xa8\xef\xbf\xbf"

typedef struct making {
    st_store *store;
    st_session_row session;
    int64_t problem, keys[3]; // default, winner, runner-up
    char texts[3][400];    // of their configurations
    double best_ns, second_ns;
    size_t wanted;
    bool hostile, failing;
    st_random random;
    const char *family;
} making;

static const char *const source =
    "// simtune: family   made\n"
    "// simtune: axis     n = 1Mi\n"
    "// How many threads a block has.\n"
    "// simtune: param    BLOCK = 64 128 256 512 1024 role tlp\n"
    "// simtune: param    VEC   = 1 2 4 8 role mlp\n"
    "// simtune: param    UNROLL = 1 2 4 8 16 role mlp ilp\n"
    "// simtune: param    ACC   = 1 2 4 8 role ilp\n"
    "// simtune: param    PATH  = plain async bulk role sync\n"
    "// simtune: param    WAVES = 1 2 3 4 5 6 7 8\n"
    "// simtune: param    STEP  = 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
    "// simtune: default  BLOCK=256 VEC=1 UNROLL=1 ACC=1 PATH=plain WAVES=1 STEP=1\n"
    "template <class Config> __global__ void made(const float *in, float *out, int n)\n"
    "{\n"
    "    for (int i = threadIdx.x; i < n; i += blockDim.x)\n"
    "        out[i] = fmaf(in[i], 1.0f, made_by_a_function_with_a_name_that_is_much_too_long_for_any_telephone(in[i]));\n"
    "}\n";

static st_code start(making *to, st_error *error)
{
    st_device_row device = {.cc = 90, .sm_count = 132, .memory_bytes = 150754820096, .l2_bytes = 62914560,
                            .read_gbs = 4600, .copy_gbs = 4260};
    st_toolchain_row toolchain = {.driver_cuda = 13000};
    st_text texts;
    char hash[ST_HASH_TEXT];
    st_session_row *row = &to->session;
    snprintf(device.uuid, sizeof device.uuid, "GPU-00000000-1111-2222-3333-444444444444");
    snprintf(device.name, sizeof device.name, "%s", to->hostile ? "GPU <b>" HOSTILE : "NVIDIA H200");
    snprintf(device.backend, sizeof device.backend, "cuda");
    snprintf(toolchain.driver, sizeof toolchain.driver, "%s", to->hostile ? "580\"</title>" : "580.159.04");
    snprintf(toolchain.compiler, sizeof toolchain.compiler, "nvrtc 13.0");
    snprintf(toolchain.tool, sizeof toolchain.tool, "0.1.0");
    st_text_init(&texts);
    st_text_add(&texts, "{");
    st_json_add_string(&texts, to->hostile ? HOSTILE ".cu" : "made.cu");
    st_text_add(&texts, ":");
    st_text plain;
    st_text_init(&plain);
    st_text_addf(&plain, "%s%s", source, to->hostile ? "// " HOSTILE BYTES "\n" : "");
    st_json_add_string(&texts, st_text_string(&plain));
    st_text_add(&texts, "}");
    st_text_release(&plain);
    st_hash *hashing = st_hash_new();
    st_hash_field(hashing, st_text_string(&texts));
    st_hash_text(hashing, hash);
    st_hash_free(hashing);
    row->command = (char *)(uintptr_t)(to->hostile ? "simtune tune '" HOSTILE "'.cu" BYTES : "simtune tune made.cu");
    row->options_json = (char *)(uintptr_t)"{\"seed\":1,\"strategy\":\"exhaustive\"}";
    row->finished_ms = -1;
    snprintf(row->family, sizeof row->family, "%s", to->family);
    snprintf(row->resume_key, sizeof row->resume_key, "resume-%zu", to->wanted);
    st_code code = st_store_device(to->store, &device, &row->device_key, error);
    if (code == ST_OK)
        code = st_store_toolchain(to->store, &toolchain, &row->toolchain_key, error);
    if (code == ST_OK)
        code = st_store_template(to->store, to->family, hash, st_text_string(&texts), &row->template_key, error);
    if (code == ST_OK)
        code = st_store_session_begin(to->store, row, error);
    if (code == ST_OK)
        code = st_store_problem(to->store, to->family, to->hostile ? "T=" HOSTILE " n=1048576" : "T=f32 op=sum n=1048576",
                                "f32", to->hostile ? HOSTILE : "sum", 1048576, &to->problem, error);
    st_text_release(&texts);
    return code;
}

// --- candidates ----------------------------------------------------------------------------------------------------

// The i-th configuration (0 is the default), and the time that the model gives it.
static double configuration(const making *to, size_t i, st_text *out)
{
    static const int block[] = {256, 64, 128, 512, 1024}, vec[] = {1, 2, 4, 8}, unroll[] = {1, 2, 4, 8, 16};
    static const char *const paths[] = {"plain", "async", "bulk"};
    size_t b = i % 5, v = i / 5 % 4, u = i / 20 % 5, a = i / 100 % 4, p = i / 400 % 3, w = i / 1200 % 8,
           s = i / 9600 % 16;
    st_text_clear(out);
    st_text_addf(out, "BLOCK=%d VEC=%d UNROLL=%d ACC=%d PATH=%s WAVES=%zu STEP=%zu", block[b], vec[v], unroll[u],
                 1 << a, to->hostile && p == 2 ? HOSTILE : paths[p], w + 1, s + 1);
    double flight = log2(vec[v] * unroll[u] * block[b] / 256.0);
    return 5000 * (1 + 0.5 / (1 + exp(flight - 3)) + 0.06 * fmax(0, flight - 7) + 0.02 * fabs((double)a - 1.5) +
                   0.08 * (p == 0) + 0.01 * (double)w + 0.004 * (double)s);
}

static st_code measure(making *to, int64_t key, const char *cache, const char *phase, int round, double ns,
                       size_t count, int64_t when, st_error *error)
{
    double samples[64];
    for (size_t i = 0; i < count; i++)
        samples[i] = ns * (1 + 0.004 * (st_random_unit(&to->random) - 0.5));
    st_measurement_row row = {.candidate_key = key, .samples_ns = samples, .sample_count = count, .round = round,
                              .median_ns = st_median(samples, count), .sm_clock_mhz = 1980, .memory_clock_mhz = 3201,
                              .temperature_c = 41, .power_mw = 300000, .throttle_reasons = 0, .dropped = 0, .batch = 1,
                              .tick_ns = 32, .taken_ms = when};
    snprintf(row.phase, sizeof row.phase, "%s", phase);
    snprintf(row.cache, sizeof row.cache, "%s", cache);
    return st_store_measurement(to->store, &row, error);
}

// One in 40 fails, in turn in each way.
static const char *outcome_of(size_t i, const making *to, const char **detail)
{
    static const char *const ways[] = {"wrong", "compile", "launch", "crash", "timeout", "constraint", "race", "skipped"};
    static const char *const logs[] = {
        "out[17] is 3, expected 4 exactly (exact data, rotation 0): 1 of 1 differ", "made.cu(12): error: no\nmade.cu(13): note",
        "a block of 1024 threads does not fit", "an illegal memory access was encountered", "no answer within 10 s",
        "ACC <= UNROLL", "two threads write out[3]", ""};
    size_t way = i / 40 % 8;
    *detail = NULL;
    if (to->failing)
        way = i % 8;
    else if (i % 40 != 39)
        return "correct";
    *detail = to->hostile ? HOSTILE BYTES "\n</pre></details>" : logs[way][0] ? logs[way] : NULL;
    return ways[way];
}

static st_code add_candidate(making *to, size_t i, st_text *text, st_error *error)
{
    const int64_t began = 1790000000000;
    const char *detail = NULL;
    double model = configuration(to, i, text), ns = model * (1 + 0.02 * st_random_unit(&to->random));
    const char *outcome = outcome_of(i, to, &detail);
    st_candidate_row row = {.session_key = to->session.key, .problem_key = to->problem,
                            .detail = (char *)(uintptr_t)detail, .registers = 16 + (int)(i % 9) * 8,
                            .local_bytes = i % 9 == 8 ? 32 : 0, .static_smem = 128, .dynamic_smem = 0,
                            .blocks_per_sm = 4, .occupancy = 0.25 * (double)(1 + i % 4), .deterministic = 1,
                            .compile_seconds = 0.025};
    snprintf(row.outcome, sizeof row.outcome, "%s", outcome);
    st_code code = st_store_configuration(to->store, to->family, st_text_string(text), &row.configuration_key, error);
    if (code == ST_OK)
        code = st_store_candidate(to->store, &row, error);
    if (code != ST_OK || strcmp(outcome, "correct") != 0)
        return code;
    code = measure(to, row.key, "cold", "screen", 0, ns, 4, began + (int64_t)i * 2, error);
    if (code == ST_OK && ns < 7000)
        code = measure(to, row.key, "warm", "screen", 0, ns * 0.9, 4, began + (int64_t)i * 2 + 1, error);
    if (i == 0) {
        to->keys[0] = row.key;
        snprintf(to->texts[0], sizeof to->texts[0], "%s", st_text_string(text));
    }
    if (!(ns >= to->best_ns)) {
        to->keys[2] = to->keys[1];
        memcpy(to->texts[2], to->texts[1], sizeof to->texts[2]);
        to->second_ns = to->best_ns;
        to->keys[1] = row.key;
        snprintf(to->texts[1], sizeof to->texts[1], "%s", st_text_string(text));
        to->best_ns = ns;
    }
    return code;
}

// --- what was concluded ------------------------------------------------------------------------------------------------

static st_code add_profile(making *to, int64_t key, double waits, st_error *error)
{
    static const char *const pc[] = {"stall.long_scoreboard", "stall.wait", "stall.barrier", "stall.short_scoreboard",
                                     "stall.not_selected", "stall.selected", "stall.lg_throttle",
                                     "stall_not_issued.long_scoreboard", "stall_not_issued.wait", "stall_samples"};
    const double shares[] = {waits, 0.1, 0.05, 0.04, 0.06, 0.75 - waits, 0, waits * 0.8, 0.04, 4200};
    static const char *const range[] = {"dram_throughput", "issue_active", "l2_hit_rate", "occupancy",
                                        "stall.long_scoreboard", "stall.wait"};
    const double values[] = {0.95 - waits / 2, 0.4, 0.02, 0.7, waits * 40, 3};
    char lines[2200];
    snprintf(lines, sizeof lines,
             "[{\"file\":\"%s\",\"function\":\"made\",\"line\":15,\"pc\":64,\"samples\":2000,\"stall\":\"long_scoreboard\"},"
             "{\"file\":\"%s\",\"function\":\"made\",\"line\":14,\"pc\":16,\"samples\":400,\"stall\":\"wait\"}]",
             "made.cu", "made.cu");
    st_code code = st_store_counters(to->store, key, "pc", pc, shares, 10, 0.02, error);
    if (code == ST_OK)
        code = st_store_counters(to->store, key, "range", range, values, 6, 0.03, error);
    return code == ST_OK ? st_store_stall_lines(to->store, key, lines, error) : code;
}

// The finals, fastest first, as a run stores them.
static char *finals(const making *to, const double *times)
{
    st_text out;
    st_text_init(&out);
    st_text_add(&out, "[");
    static const int order[] = {1, 2, 0};
    for (int i = 0; i < 3; i++) {
        int who = order[i];
        double ratio = times[who] / times[1];
        if (!to->keys[who] || (who && to->keys[who] == to->keys[0] && to->keys[1] != to->keys[0]))
            continue;
        st_text_add(&out, i ? ",{\"configuration\":" : "{\"configuration\":");
        st_json_add_string(&out, to->texts[who]);
        st_text_addf(&out, ",\"median_ns\":%.6f,\"ratio\":%.6f,\"low\":%.6f,\"high\":%.6f,\"tied\":%s}", times[who], ratio,
                     ratio * 0.997, ratio * 1.003, ratio < 1.005 ? "true" : "false");
    }
    st_text_add(&out, "]");
    return st_text_take(&out);
}

static st_code finish(making *to, st_error *error)
{
    double times[3];
    char *ties = NULL;
    st_code code = ST_OK;
    for (int i = 0; i < 3 && code == ST_OK; i++) {
        times[i] = i == 0 ? 7800 : i == 1 ? to->best_ns : to->second_ns;
        if (to->keys[i] && (i == 0 || to->keys[i] != to->keys[0]))
            code = measure(to, to->keys[i], "cold", "finals", 0, times[i], 60, 1790001000000, error);
        if (code == ST_OK && to->keys[i] && (i == 0 || to->keys[i] != to->keys[0]))
            code = add_profile(to, to->keys[i], i == 0 ? 0.6 : 0.3, error);
    }
    ties = finals(to, times);
    if (code == ST_OK && to->keys[1]) {
        bool itself = to->keys[1] == to->keys[0];
        double ratio = itself ? 1 : 7800 / to->best_ns;
        st_winner_row row = {.session_key = to->session.key, .problem_key = to->problem, .winner_key = to->keys[1],
                             .default_key = to->keys[0], .winner_ns = itself ? 7800 : to->best_ns, .default_ns = 7800,
                             .speedup = ratio, .speedup_low = ratio * 0.995, .speedup_high = ratio * 1.005, .tied = 1,
                             .ties_json = ties, .bytes = 4194304,
                             .note = to->hostile ? (char *)(uintptr_t)HOSTILE BYTES : NULL};
        snprintf(row.cache, sizeof row.cache, "cold");
        code = st_store_winner(to->store, &row, error);
    }
    st_free(ties);
    return code == ST_OK ? st_store_session_end(to->store, to->session.key, ST_SESSION_FINISHED,
                                                "{\"counters\":\"allowed\",\"throttled_samples\":3,\"other_processes\":0,"
                                                "\"seconds\":12.5,\"phases\":{\"compile_cpu\":20,\"screen\":5,\"finals\":2,"
                                                "\"profile\":3},\"outcomes\":{}}",
                                                error)
                         : code;
}

int main(int argc, char **argv)
{
    st_error error = {0};
    making to = {.best_ns = NAN, .second_ns = NAN};
    st_json_setup();
    if (argc < 3)
        return 2;
    to.wanted = strtoul(argv[2], NULL, 10);
    to.hostile = argc > 3 && strcmp(argv[3], "hostile") == 0;
    to.failing = argc > 3 && strcmp(argv[3], "failing") == 0;
    to.family = to.hostile ? "m<ade>&\"'" : "made";
    st_random_seed(&to.random, 7);
    st_text text;
    st_text_init(&text);
    st_code code = st_store_open(argv[1], ST_STORE_WRITE, &to.store, &error);
    if (code == ST_OK)
        code = st_store_begin(to.store, &error);
    if (code == ST_OK)
        code = start(&to, &error);
    for (size_t i = 0; i < to.wanted && code == ST_OK; i++)
        code = add_candidate(&to, i, &text, &error);
    if (code == ST_OK)
        code = finish(&to, &error);
    if (code == ST_OK)
        code = st_store_commit(to.store, &error);
    if (code == ST_OK)
        printf("%s\n", to.session.id);
    else
        fprintf(stderr, "make_session: %s\n", error.what);
    st_text_release(&text);
    st_store_close(to.store);
    return code == ST_OK ? 0 : 1;
}
