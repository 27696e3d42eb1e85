// SPDX-License-Identifier: Apache-2.0
// The main loop of a worker. Invariants:
//   1. every request gets exactly one reply, `failed` if nothing better;
//   2. after a lost context (gpu->is_lost) every reply says `lost`, and the parent ends this process;
//   3. CUPTI is touched only by the worker that profiles.
// States: started → opened (open) → able (support) → at a problem (problem) → candidates come and go.
// A request out of its state is answered `failed`, never acted upon.
#include "tuner/worker/worker.h"

#include "tuner/base/clock.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/worker/worker_internal.h"

#include <string.h>

static st_code ready(wk_reply *reply, st_error *error)
{
    reply->json = json_pack("{s:s}", "type", "ready");
    return reply->json ? ST_OK : st_fail_memory(error, "answering");
}

static void release_device(st_worker *worker)
{
    for (size_t i = 0; i < sizeof worker->events / sizeof worker->events[0]; i++) {
        if (worker->events[i])
            worker->ops->event_free(worker->gpu, worker->events[i]);
        worker->events[i] = NULL;
    }
    if (worker->flush)
        worker->ops->release(worker->gpu, worker->flush);
    if (worker->scratch)
        worker->ops->release(worker->gpu, worker->scratch);
    worker->flush = worker->scratch = 0;
    st_monitor_close(worker->monitor);
    worker->monitor = NULL;
    worker->ops->close(worker->gpu);
    worker->gpu = NULL;
}

static st_code request_open(st_worker *worker, const st_frame *request, wk_reply *reply,
                            st_error *error)
{
    const char *backend;
    int64_t ordinal;
    double began = st_clock_seconds();
    st_code code = st_json_get_string(request->json, "backend", &backend, error);
    if (code == ST_OK)
        code = st_json_get_int(request->json, "ordinal", &ordinal, error);
    if (code != ST_OK)
        return code;
    if (worker->gpu)
        return st_fail(error, ST_FAILED, NULL, "the device is open already");
    worker->ops = st_gpu_backend(backend);
    if (!worker->ops)
        return st_fail(error, ST_USAGE, NULL, "there is no backend %s", backend);
    code = worker->ops->facts((int)ordinal, &worker->facts, error);
    if (code == ST_OK)
        code = worker->ops->open((int)ordinal, &worker->gpu, error);
    if (code == ST_OK)
        code = st_monitor_open(&worker->facts, &worker->monitor, error);
    for (size_t i = 0; i < sizeof worker->events / sizeof worker->events[0] && code == ST_OK; i++)
        code = worker->ops->event_make(worker->gpu, &worker->events[i], error);
    void *flag;
    if (code == ST_OK)
        code = worker->ops->allocate_mapped(worker->gpu, 64, &flag, &worker->gate_device, error);
    if (code == ST_OK)
        code = worker->ops->allocate(worker->gpu, 4096, &worker->scratch, error);
    worker->flush_bytes = worker->facts.l2_bytes > 0 ? 2 * (uint64_t)worker->facts.l2_bytes
                                                     : (uint64_t)128 << 20;
    if (code == ST_OK)
        code = worker->ops->allocate(worker->gpu, worker->flush_bytes, &worker->flush, error);
    if (code == ST_OK)
        code = worker->ops->fill8(worker->gpu, worker->flush, 1, worker->flush_bytes, error);
    size_t available = 0, total = 0;
    if (code == ST_OK)
        code = worker->ops->memory(worker->gpu, &available, &total, error);
    if (code != ST_OK) { // half open is not open
        if (worker->gpu)
            release_device(worker);
        return code;
    }
    worker->gate_host = flag;
    *worker->gate_host = 1;
    if (worker->profiles && json_is_true(json_object_get(request->json, "warm")))
        wk_profiler_warm(worker);
    reply->json = json_pack("{s:s, s:o, s:I, s:I, s:f}", "type", "opened", "facts",
                            st_device_facts_encode(&worker->facts), "free_bytes", (json_int_t)available,
                            "total_bytes", (json_int_t)total, "seconds", st_clock_seconds() - began);
    return reply->json ? ST_OK : st_fail_memory(error, "answering");
}

static st_code request_support(st_worker *worker, const st_frame *request, wk_reply *reply,
                               st_error *error)
{
    static const char *const names[SUPPORT_KERNELS] = {
        "simtune_support_fill",  "simtune_support_compare", "simtune_support_report",
        "simtune_support_check", "simtune_support_flush",   "simtune_support_read",
        "simtune_support_copy",  "simtune_support_gate"};
    if (worker->support_module)
        return st_fail(error, ST_FAILED, NULL, "the support module is loaded already");
    st_code code = worker->ops->load(worker->gpu, request->blob, request->blob_length,
                                     &worker->support_module, error);
    for (int i = 0; i < SUPPORT_KERNELS && code == ST_OK; i++)
        code = worker->ops->kernel(worker->gpu, worker->support_module, names[i], &worker->support[i],
                                   error);
    // Who profiles times nothing, and the tick is hundreds of launches, which take 3 s under the sampler.
    if (code == ST_OK && !worker->profiles)
        code = wk_measure_tick(worker, &worker->tick_ns, error);
    if (code == ST_OK)
        reply->json = json_pack("{s:s, s:f}", "type", "ready", "tick_ns", worker->tick_ns);
    else if (worker->support_module && !worker->ops->is_lost(worker->gpu)) {
        worker->ops->unload(worker->gpu, worker->support_module);
        worker->support_module = NULL;
    }
    return code;
}

// A module and the kernels that are wanted of it.
static st_code load_module(st_worker *worker, const st_frame *request, wk_candidate *out,
                           st_load_kernel **kernels, bool *absent, st_error *error)
{
    *kernels = NULL;
    *absent = false;
    size_t count;
    st_code code = st_load_kernels_decode(json_object_get(request->json, "kernels"), kernels, &count,
                                          error);
    if (code == ST_OK && count)
        code = wk_module_take(worker, out->module_key, request->blob, request->blob_length, &out->module,
                              absent, error);
    if (*absent)
        return ST_OK;
    if (code == ST_OK && !(out->kernels = st_calloc(count, sizeof *out->kernels)))
        code = st_fail_memory(error, "loading a module");
    if (code == ST_OK)
        out->kernel_count = count;
    for (size_t i = 0; i < count && code == ST_OK; i++)
        code = worker->ops->kernel(worker->gpu, out->module, (*kernels)[i].lowered, &out->kernels[i],
                                   error);
    return code;
}

static void leave_problem(st_worker *worker)
{
    while (worker->candidate_count)
        wk_candidate_release(worker, &worker->candidates[--worker->candidate_count]);
    wk_candidate_release(worker, &worker->reference);
    wk_buffers_release(worker);
}

static st_code request_problem(st_worker *worker, const st_frame *request, wk_reply *reply,
                               st_error *error)
{
    st_plan_buffer *specs = NULL;
    st_load_kernel *kernels = NULL;
    size_t count = 0;
    uint64_t wanted = 0, available = 0;
    bool too_big = false;
    leave_problem(worker);
    st_code code = st_plan_buffers_decode(json_object_get(request->json, "buffers"), &specs, &count,
                                          error);
    if (code == ST_OK && !(worker->buffers = st_calloc(count, sizeof *worker->buffers)))
        code = st_fail_memory(error, "making buffers");
    if (code == ST_OK) {
        worker->buffer_count = count;
        for (size_t i = 0; i < count; i++)
            worker->buffers[i].spec = specs[i];
        code = wk_buffers_make(worker, &wanted, &available, error);
        too_big = code == ST_NOTHING || code == ST_NO_MEMORY; // NO_MEMORY: free, but in pieces
    }
    bool absent = false;
    if (code == ST_OK)
        code = load_module(worker, request, &worker->reference, &kernels, &absent, error);
    if (absent)
        code = st_fail(error, ST_FAILED, NULL, "the references came without their module");
    if (code == ST_OK)
        code = st_plan_decode(json_object_get(request->json, "plan"), count,
                              worker->reference.kernel_count, &worker->reference.plan, error);
    st_free(kernels);
    st_free(specs);
    if (code != ST_OK)
        leave_problem(worker);
    if (too_big) {
        reply->json = json_pack("{s:s, s:I, s:I}", "type", "too_big", "wanted", (json_int_t)wanted,
                                "free", (json_int_t)available);
        return ST_OK;
    }
    return code == ST_OK ? ready(reply, error) : code;
}

static st_code request_unload(st_worker *worker, const st_frame *request, wk_reply *reply,
                              st_error *error)
{
    wk_candidate *candidate;
    st_code code = wk_get_candidate(worker, request->json, &candidate, error);
    if (code != ST_OK)
        return code;
    wk_candidate_release(worker, candidate);
    *candidate = worker->candidates[--worker->candidate_count];
    return ready(reply, error);
}

static st_code loaded_facts(st_worker *worker, const wk_candidate *candidate,
                            const st_load_kernel *kernels, wk_reply *reply, st_error *error)
{
    st_loaded_kernel *facts = st_calloc(candidate->kernel_count, sizeof *facts);
    st_code code = facts ? ST_OK : st_fail_memory(error, "loading a module");
    for (size_t i = 0; i < candidate->kernel_count && code == ST_OK; i++) {
        st_kernel_facts known;
        code = worker->ops->kernel_facts(worker->gpu, candidate->kernels[i], &known, error);
        if (code != ST_OK)
            break;
        facts[i] = (st_loaded_kernel){.registers = known.registers,
                                      .local_bytes = known.local_bytes,
                                      .static_smem = known.static_smem,
                                      .max_threads = known.max_threads,
                                      .blocks_per_sm = -1};
        if (kernels[i].block)
            code = worker->ops->occupancy(worker->gpu, candidate->kernels[i], kernels[i].block,
                                          kernels[i].smem, &facts[i].blocks_per_sm, error);
    }
    if (code == ST_OK)
        reply->json = json_pack("{s:s, s:o}", "type", "loaded", "kernels",
                                st_loaded_kernels_encode(facts, candidate->kernel_count));
    st_free(facts);
    return code;
}

static st_code request_load(st_worker *worker, const st_frame *request, wk_reply *reply,
                            st_error *error)
{
    int64_t id, key;
    bool absent;
    st_code code = st_json_get_int(request->json, "candidate", &id, error);
    if (code == ST_OK)
        code = st_json_get_int(request->json, "module", &key, error);
    if (code == ST_OK && wk_candidate_find(worker, id))
        code = st_fail(error, ST_FAILED, NULL, "candidate %lld is loaded already", (long long)id);
    if (code != ST_OK)
        return code;
    wk_candidate *all = st_grow(worker->candidates, &worker->candidate_capacity,
                                worker->candidate_count + 1, sizeof *all);
    if (!all)
        return st_fail_memory(error, "loading a module");
    worker->candidates = all;
    wk_candidate made = {.id = id, .module_key = key};
    st_load_kernel *kernels = NULL;
    code = load_module(worker, request, &made, &kernels, &absent, error);
    if (absent) {
        st_free(kernels);
        reply->json = json_pack("{s:s}", "type", "need_module");
        return reply->json ? ST_OK : st_fail_memory(error, "answering");
    }
    if (code == ST_OK)
        code = loaded_facts(worker, &made, kernels, reply, error);
    st_free(kernels);
    if (code == ST_OK)
        worker->candidates[worker->candidate_count++] = made;
    else
        wk_candidate_release(worker, &made);
    return code;
}

static st_code request_plan(st_worker *worker, const st_frame *request, wk_reply *reply,
                            st_error *error)
{
    wk_candidate *candidate;
    st_plan plan = {0};
    st_code code = wk_get_candidate(worker, request->json, &candidate, error);
    if (code == ST_OK)
        code = st_plan_decode(json_object_get(request->json, "plan"), worker->buffer_count,
                              candidate->kernel_count, &plan, error);
    if (code == ST_OK)
        code = wk_buffers_fit(worker, &plan, error);
    if (code != ST_OK) {
        st_plan_release(&plan);
        return code;
    }
    st_plan_release(&candidate->plan);
    candidate->plan = plan;
    return ready(reply, error);
}

// The table of requests: to add one, add a row and a line in messages.h.
typedef st_code handler(st_worker *worker, const st_frame *request, wk_reply *reply, st_error *error);
static const struct {
    const char *type;
    handler *handle;
    int needs; // 0 nothing, 1 an open device, 2 support, 3 a problem
} requests[] = {
    {"open", request_open, 0},       {"support", request_support, 1}, {"problem", request_problem, 2},
    {"load", request_load, 3},       {"plan", request_plan, 3},       {"verify", wk_verify, 3},
    {"capture", wk_capture, 3},      {"time", wk_time, 3},            {"race", wk_race, 3},
    {"stalls", wk_stalls, 3},        {"counters", wk_counters, 3},    {"speed", wk_speed, 2},
    {"unload", request_unload, 3},
};

static int state_of(const st_worker *worker)
{
    return worker->buffers ? 3 : worker->support_module ? 2 : worker->gpu ? 1 : 0;
}

static st_code handle(st_worker *worker, const st_frame *request, wk_reply *reply, st_error *error)
{
    const char *type;
    st_code code = st_json_get_string(request->json, "type", &type, error);
    if (code != ST_OK)
        return code;
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        if (strcmp(type, requests[i].type) != 0)
            continue;
        if (state_of(worker) < requests[i].needs)
            return st_fail(error, ST_FAILED, NULL, "%s came before its time", type);
        return requests[i].handle(worker, request, reply, error);
    }
    return st_fail(error, ST_FAILED, NULL, "there is no request %s", type);
}

// The words of an error may be cut within a character, which JSON refuses: then only ASCII goes through, since
// no answer at all would be taken for a crash of the candidate.
static json_t *describe_failure(st_code code, st_error *error, bool lost)
{
    for (int attempt = 0; attempt < 2; attempt++) {
        json_t *json = json_pack("{s:s, s:i, s:s, s:s, s:b}", "type", "failed", "code", (int)code, "what",
                                 error->what, "remedy", error->remedy, "lost", (int)lost);
        if (json)
            return json;
        for (char *at = error->what; *at; at++)
            *at = (unsigned char)*at > 126 ? '?' : *at;
        for (char *at = error->remedy; *at; at++)
            *at = (unsigned char)*at > 126 ? '?' : *at;
    }
    return NULL;
}

static bool answer(st_worker *worker, const st_frame *request)
{
    st_error error = {0};
    wk_reply reply = {0};
    st_code code = handle(worker, request, &reply, &error);
    if (code == ST_OK && !reply.json)
        code = st_fail_memory(&error, "answering");
    if (code != ST_OK) {
        bool lost = worker->gpu && worker->ops->is_lost(worker->gpu);
        json_decref(reply.json);
        reply.json = describe_failure(code, &error, lost);
    }
    bool sent = reply.json && st_channel_send(worker->fd, reply.json, reply.blob, reply.blob_length,
                                              NULL) == ST_OK;
    json_decref(reply.json);
    st_free(reply.blob);
    return sent;
}

static void close_worker(st_worker *worker)
{
    if (!worker->gpu)
        return;
    wk_profiler_close(worker);
    leave_problem(worker);
    st_free(worker->candidates);
    wk_modules_release(worker);
    if (worker->support_module)
        worker->ops->unload(worker->gpu, worker->support_module);
    release_device(worker);
}

int st_worker_main(int channel_fd, bool profiles)
{
    st_worker worker = {.fd = channel_fd, .profiles = profiles, .tick_ns = 1};
    worker.state = (st_device_state){-1, -1, -1, -1, -1, false, -1};
    worker.state_read_at = -1;
    for (;;) {
        st_frame request;
        if (st_channel_receive(channel_fd, -1, &request, NULL) != ST_RECEIVED)
            break;
        bool sent = answer(&worker, &request);
        st_frame_release(&request);
        if (!sent)
            break;
    }
    close_worker(&worker);
    return 0;
}
