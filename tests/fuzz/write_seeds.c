// SPDX-License-Identifier: Apache-2.0
// Writes the seeds that are made by our own writers: write_seeds tests/fuzz/corpus. Needed again only when a
// format changes; the other seeds were written by hand or taken from templates/ and tests/data.
#include "tests/unit/reports/session_fixture.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/emit.h"
#include "tuner/gpu/compile_internal.h"
#include "tuner/gpu/gpu.h"
#include "tuner/lock.h"
#include "tuner/worker/messages.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

static const char *corpus;
static st_error error;

static void need(st_code code, const char *what)
{
    if (code == ST_OK)
        return;
    fprintf(stderr, "write_seeds: %s: %s\n", what, error.what);
    exit(1);
}

static void put(const char *target, const char *name, const void *bytes, size_t length)
{
    char *path = st_format("%s/%s/%s", corpus, target, name);
    need(path ? st_text_write_file(path, bytes, length, NULL, &error) : ST_NO_MEMORY, name);
    st_free(path);
}

// Takes `json`.
static void put_json(const char *target, const char *name, json_t *json)
{
    st_text text;
    st_text_init(&text);
    need(json ? ST_OK : ST_NO_MEMORY, name);
    st_json_print(json, &text);
    put(target, name, text.data, text.length);
    st_text_release(&text);
    json_decref(json);
}

// --- messages ----------------------------------------------------------------------------------------------
static void write_messages(void)
{
    st_plan_argument arguments[] = {{0, ST_F32, 0}, {-1, ST_U64, 65536}, {-1, ST_I32, -1}};
    st_plan_step steps[] = {
        {.is_zero = true, .buffer = 1, .zero_bytes = 4},
        {.kernel = 1,
         .grid = {132, 2, 1},
         .block = {256, 1, 1},
         .smem = 1024,
         .cluster = 8,
         .dependent = true,
         .arguments = arguments,
         .argument_count = 3},
    };
    uint64_t temps[] = {0, 4096, 0};
    const st_plan plan = {steps, 2, temps, 3};
    const st_plan_buffer buffers[] = {{.name = "in", .role = 0, .type = ST_F16, .count = 65536, .fill = "values", .misalign = 1},
                                      {.name = "partial", .role = 3, .type = ST_F32, .count = 0, .fill = "none", .misalign = 0},
                                      {.name = "out", .role = 1, .type = ST_U64, .count = 1, .fill = "zero", .misalign = 0}};
    const st_load_kernel kernels[] = {{"_Z1kPf", 256, 4096}, {"finish<config_0>", 1024, 0}};
    const st_loaded_kernel loaded[] = {{32, 0, 1024, 1024, 8}, {255, 16, 0, 256, -1}};
    const st_plan_compare compares[] = {{2, 1, 0, true, 17, 0}, {2, -1, -1, false, 0, 1e-5}};
    const st_verdict right = {.checked = 65536, .got = NAN, .expected = NAN, .bound = NAN};
    st_verdict wrong = {3, 65536, 17, 1.5, 2.5, 1e-6, "value", "out"};
    const st_timing_state state = {1980, 2619, 54, 350000, 4, 1, 2, 16, 31.25};
    st_device_facts facts;
    need(st_gpu_backend("emu")->facts(0, &facts, &error), "emulated device");
    put_json("messages", "plan", st_plan_encode(&plan));
    put_json("messages", "buffers", st_plan_buffers_encode(buffers, 3));
    put_json("messages", "kernels", st_load_kernels_encode(kernels, 2));
    put_json("messages", "loaded", st_loaded_kernels_encode(loaded, 2));
    put_json("messages", "compares", st_plan_compares_encode(compares, 2));
    put_json("messages", "verdict", st_verdict_encode(&right));
    put_json("messages", "verdict_wrong", st_verdict_encode(&wrong));
    put_json("messages", "state", st_timing_state_encode(&state));
    put_json("messages", "facts", st_device_facts_encode(&facts));
}

// --- the compile pool --------------------------------------------------------------------------------------
static void put_message(const char *target, const char *name, json_t *json, const st_text *blob)
{
    st_text text;
    st_text_init(&text);
    st_json_print(json, &text);
    st_text_add(&text, "\n");
    st_text_add_bytes(&text, blob->data, blob->length);
    put(target, name, text.data, text.length);
    st_text_release(&text);
}

// The same as bytes on a socket.
static void put_frame(const char *name, const json_t *json, const st_text *blob)
{
    int pair[2];
    char bytes[8192];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        exit(1);
    need(st_channel_send(pair[0], json, blob->data, blob->length, &error), name);
    need(st_channel_send(pair[0], json, NULL, 0, &error), name);
    ssize_t length = recv(pair[1], bytes, sizeof bytes, MSG_DONTWAIT);
    put("channel", name, bytes, (size_t)length);
    close(pair[0]);
    close(pair[1]);
}

static void write_compile_messages(void)
{
    static const st_source_text includes[] = {{"a.cuh", "#pragma once\n"}, {"b.cuh", "int b;\n"}};
    static const char *const options[] = {"-DBLOCK=256"}, *const kernels[] = {"k<config_0>", "f"};
    static char *names[] = {(char *)"_Z1kI8config_0E", (char *)"_Z1fv"};
    const st_compile_job job = {7,        "cuda", "sm_90", "k.cu", "__global__ void f() {}\n",
                                includes, 2,      options, 1,      kernels,
                                2};
    st_compiled compiled = {.id = 7,
                            .image = (void *)(uintptr_t) "\177ELF image",
                            .image_bytes = 10,
                            .lowered_names = names,
                            .kernel_count = 2,
                            .log = (char *)(uintptr_t) "ptxas info : nothing\n",
                            .seconds = 0.25,
                            .compiler = "nvrtc 13.0"};
    json_t *json = NULL;
    st_text blob;
    st_text_init(&blob);
    need(st_job_encode(&job, &json, &blob, &error), "job");
    put_message("compile_wire", "job", json, &blob);
    put_frame("job", json, &blob);
    json_decref(json);
    st_text_clear(&blob);
    need(st_compiled_encode(&compiled, &json, &blob, &error), "compiled");
    put_message("compile_wire", "compiled", json, &blob);
    put_frame("compiled", json, &blob);
    json_decref(json);
    compiled.outcome = ST_COMPILE_ERROR;
    compiled.image_bytes = compiled.kernel_count = 0;
    st_text_clear(&blob);
    need(st_compiled_encode(&compiled, &json, &blob, &error), "compiled");
    put_message("compile_wire", "failed", json, &blob);
    json_decref(json);
    st_text_release(&blob);
}

// --- history -----------------------------------------------------------------------------------------------
static void write_history(void)
{
    st_store *store = NULL;
    fixture_session session;
    char path[] = "/tmp/simtune-seed-XXXXXX", block[4096];
    close(mkstemp(path));
    need(st_store_open(":memory:", ST_STORE_WRITE, &store, &error), "store");
    need(fixture_scale(store, "00112233445566778899aabbccddeeff", "{\"scale.cu\":\"text\"}",
                       &session, &error),
         "scale");
    static const char *const names[] = {"long_scoreboard", "wait"};
    const double values[] = {107.5, NAN};
    need(st_store_counters(store, session.candidates[0], "pc", names, values, 2, 0.5, &error),
         "counters");
    need(st_store_stall_lines(store, session.candidates[0],
                              "[{\"file\":\"scale.cu\",\"line\":17,\"samples\":9}]", &error),
         "lines");
    need(st_history_export(store, NULL, path, &error), "export");
    st_store_close(store);
    gzFile file = gzopen(path, "rb");
    st_text text;
    int got;
    st_text_init(&text);
    while ((got = gzread(file, block, sizeof block)) > 0)
        st_text_add_bytes(&text, block, (size_t)got);
    gzclose(file);
    unlink(path);
    put("history", "scale", text.data, text.length);
    st_text_release(&text);
}

// --- headers -----------------------------------------------------------------------------------------------
static void write_headers(void)
{
    static const st_emit_options options = {.cache = "cold", .command = "simtune emit total"};
    st_template *tmpl = NULL;
    st_choice choices[3];
    st_text text;
    need(st_template_load(SIMTUNE_SOURCE_FOLDER "/tests/data/emit_total.cu", &tmpl, &error),
         "total");
    memset(tmpl->hash, '0', ST_HASH_TEXT - 1);
    memset(choices, 0, sizeof choices);
    for (int i = 0; i < 3; i++) {
        st_choice *choice = &choices[i];
        choice->device_class = (st_device_class){i == 1 ? 80 : 90, i == 1 ? 108 : 132};
        need(st_problem_parse(tmpl, i == 2 ? "T=f32 op=sum n=1024" : "T=f32 op=sum n=1048576",
                              &choice->problem, &error),
             "problem");
        st_config_default(tmpl, &choice->config);
        choice->blocks_per_sm = 2;
        snprintf(choice->device_name, sizeof choice->device_name, "NVIDIA H200");
        snprintf(choice->driver, sizeof choice->driver, "580.1");
        snprintf(choice->compiler, sizeof choice->compiler, "nvrtc 13.0");
        snprintf(choice->template_hash, sizeof choice->template_hash, "%s", tmpl->hash);
        choice->memory_bytes = i ? -1 : (int64_t)80 << 30;
        choice->measured_ms = 1775000000000;
        choice->samples = 100;
        choice->median_ns = 4612.5;
        choice->speedup = 2.0, choice->speedup_low = 1.9, choice->speedup_high = 2.1;
        choice->gbs = NAN;
        choice->tied = 1;
        choice->deterministic = true;
    }
    st_text_init(&text);
    need(st_emit_header(tmpl, choices, 3, &options, &text, &error), "header");
    // The provenance alone: what is read of a header.
    st_text lines;
    st_text_init(&lines);
    st_text_add(&lines, "// SPDX-License-Identifier: 0BSD\n");
    for (const char *line = text.data; *line;) {
        size_t length = strcspn(line, "\n");
        if (st_text_starts(line, "// simtune-provenance "))
            st_text_add_bytes(&lines, line, length + 1);
        line += length + (line[length] == '\n');
    }
    put("emit_read", "header", lines.data, lines.length);
    st_text_release(&lines);
    st_lock lock;
    size_t dropped;
    st_lock_init(&lock);
    st_text_clear(&text);
    need(st_lock_put(&lock, tmpl, "cold", choices, 3, &dropped, &error), "lock");
    need(st_lock_put(&lock, tmpl, "warm", choices, 1, &dropped, &error), "lock");
    need(st_lock_print(&lock, &text, &error), "lock");
    put("lock", "rows", text.data, text.length);
    st_lock_release(&lock);
    st_text_release(&text);
    st_template_free(tmpl);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "write_seeds: CORPUS\n");
        return 2;
    }
    corpus = argv[1];
    st_json_setup();
    write_messages();
    write_compile_messages();
    write_history();
    write_headers();
    return 0;
}
