// SPDX-License-Identifier: Apache-2.0
// A process of the compile pool: takes jobs from its channel, answers each, ends when the channel
// closes.
//
// Invariants:
//  1. A job is answered "started" before the compiler sees it, and then exactly once: "compiled"
//  (with
//     an outcome), or "failed" (nothing wrong with the job: NVRTC is absent, memory is out).
//  2. After an answer that leaves the compiler in doubt (internal error, memory out) the process
//  ends;
//     the pool starts another.
//  3. Freed memory is kept: giving it back to the system after each compile costs four times the
//  compile.
//  4. It stands in a process group of its own, so that what it starts (the host compiler) ends with
//  it.
#include "tuner/gpu/compile_internal.h"

#include "tuner/base/clock.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/gpu/nvrtc_api.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MAX_OPTIONS 256

// The emulated device's compiler. Weak: a build without that backend says so instead of not
// linking.
__attribute__((weak)) st_code st_emu_compile(const st_compile_job *job, st_compiled *out,
                                             st_error *error);

// What a compile came to beside its outcome.
typedef struct child_state {
    const st_nvrtc *nvrtc;
    bool no_ptxas_words; // this NVRTC refuses --ptxas-options=-v
    bool in_doubt;       // invariant 2
} child_state;

// --- NVRTC
// -----------------------------------------------------------------------------------------

static bool has_option(const st_compile_job *job, const char *start, const char *other) {
    for (size_t i = 0; i < job->option_count; ++i)
        if (st_text_starts(job->options[i], start) || st_text_starts(job->options[i], other))
            return true;
    return false;
}

// The job's options after ours; ours give way where the job says otherwise.
static st_code list_options(const child_state *state, const st_compile_job *job, char *arch,
                            size_t arch_capacity, const char **options, int *count,
                            st_error *error) {
    if (job->option_count > MAX_OPTIONS - 8)
        return st_fail(error, ST_USAGE, "give fewer options", "%s: %zu compiler options",
                       job->file_name, job->option_count);
    int n = 0;
    snprintf(arch, arch_capacity, "--gpu-architecture=%s", job->arch);
    options[n++] = arch;
    options[n++] = "-lineinfo";
    if (!has_option(job, "-default-device", "--device-as-default-execution-space"))
        options[n++] = "-default-device";
    if (!has_option(job, "--std", "-std"))
        options[n++] = "--std=c++11";
    if (!state->no_ptxas_words)
        options[n++] = "--ptxas-options=-v";
    for (size_t i = 0; i < job->option_count; ++i)
        options[n++] = job->options[i];
    *count = n;
    return ST_OK;
}

static st_code create_program(const child_state *state, const st_compile_job *job,
                              nvrtcProgram *program, st_error *error) {
    const st_nvrtc *api = state->nvrtc;
    const char **names = st_calloc(job->include_count + 1, sizeof *names);
    const char **texts = st_calloc(job->include_count + 1, sizeof *texts);
    st_code code = names && texts ? ST_OK : st_fail_memory(error, "handing a program to NVRTC");
    for (size_t i = 0; i < job->include_count && !code; ++i) {
        names[i] = job->includes[i].name;
        texts[i] = job->includes[i].text;
    }
    if (!code) {
        nvrtcResult result = st_fault_here(ST_FAULT_NVRTC)
                                 ? NVRTC_ERROR_OUT_OF_MEMORY
                                 : api->CreateProgram(program, job->source, job->file_name,
                                                      (int)job->include_count, texts, names);
        if (result != NVRTC_SUCCESS)
            code = st_fail(error, ST_FAILED, NULL, "%s: nvrtcCreateProgram: %s", job->file_name,
                           api->GetErrorString(result));
    }
    st_free(names);
    st_free(texts);
    return code;
}

// Empties out->log and puts NVRTC's words there. Where they are lost, *result becomes an internal error, whatever
// it was: registers and spills stand in these words, and a program without them would be kept in the cache.
static st_code take_log(const child_state *state, nvrtcProgram program, nvrtcResult *result,
                        st_compiled *out, st_error *error) {
    size_t bytes = 0;
    bool lost = st_fault_here(ST_FAULT_NVRTC) ||
                state->nvrtc->GetProgramLogSize(program, &bytes) != NVRTC_SUCCESS;
    char *log = st_calloc(bytes + 1, 1);
    if (!log)
        return st_fail_memory(error, "taking the compiler's words");
    lost = lost || (bytes && (st_fault_here(ST_FAULT_NVRTC) ||
                              state->nvrtc->GetProgramLog(program, log) != NVRTC_SUCCESS));
    if (lost) {
        log[0] = '\0';
        *result = NVRTC_ERROR_INTERNAL_ERROR;
    }
    st_free(out->log);
    out->log = log;
    return ST_OK;
}

// Puts "what: NVRTC's name of the error" before the log.
static st_code explain(const child_state *state, nvrtcResult result, const char *what,
                       st_compiled *out, st_error *error) {
    char *log = st_format("%s: %s\n%s", what, state->nvrtc->GetErrorString(result),
                          out->log ? out->log : "");
    if (!log)
        return st_fail_memory(error, "taking the compiler's words");
    st_free(out->log);
    out->log = log;
    return ST_OK;
}

static st_code take_image(const child_state *state, const st_compile_job *job, nvrtcProgram program,
                          st_compiled *out, st_error *error) {
    const st_nvrtc *api = state->nvrtc;
    out->lowered_names = st_calloc(job->kernel_count + 1, sizeof *out->lowered_names);
    if (!out->lowered_names)
        return st_fail_memory(error, "taking a compiled program");
    out->kernel_count = job->kernel_count;
    for (size_t i = 0; i < job->kernel_count; ++i) {
        const char *lowered = NULL;
        nvrtcResult result = st_fault_here(ST_FAULT_NVRTC)
                                 ? NVRTC_ERROR_INTERNAL_ERROR
                                 : api->GetLoweredName(program, job->kernels[i], &lowered);
        if (result != NVRTC_SUCCESS)
            return st_fail(error, ST_FAILED, NULL, "%s: no lowered name for %s: %s", job->file_name,
                           job->kernels[i], api->GetErrorString(result));
        if (!(out->lowered_names[i] = st_strdup(lowered)))
            return st_fail_memory(error, "taking a compiled program");
    }
    size_t bytes = 0;
    nvrtcResult result = st_fault_here(ST_FAULT_NVRTC) ? NVRTC_ERROR_INTERNAL_ERROR
                                                       : api->GetCUBINSize(program, &bytes);
    if (result == NVRTC_SUCCESS && bytes) {
        if (!(out->image = st_malloc(bytes)))
            return st_fail_memory(error, "taking a compiled program");
        result = st_fault_here(ST_FAULT_NVRTC) ? NVRTC_ERROR_INTERNAL_ERROR
                                               : api->GetCUBIN(program, out->image);
    }
    if (result != NVRTC_SUCCESS || !bytes)
        return st_fail(error, ST_FAILED, "give a real arch (sm_90), not a virtual one (compute_90)",
                       "%s: NVRTC made no cubin for %s: %s", job->file_name, job->arch,
                       api->GetErrorString(result));
    out->image_bytes = bytes;
    return ST_OK;
}

// What NVRTC's answer means for the job.
static st_code judge(child_state *state, nvrtcResult result, const st_compile_job *job,
                     nvrtcProgram program, st_compiled *out, st_error *error) {
    switch (result) {
    case NVRTC_SUCCESS:
        out->outcome = ST_COMPILED;
        return take_image(state, job, program, out, error);
    case NVRTC_ERROR_COMPILATION:
        out->outcome = ST_COMPILE_ERROR;
        return ST_OK;
    case NVRTC_ERROR_BUILTIN_OPERATION_FAILURE: // libnvrtc-builtins is not beside libnvrtc
        return st_fail(error, ST_NOTHING,
                       "install NVRTC whole: libnvrtc-builtins must be beside libnvrtc",
                       "%s: %s: %.600s", state->nvrtc->library.path,
                       state->nvrtc->GetErrorString(result), out->log);
    case NVRTC_ERROR_OUT_OF_MEMORY:
    case NVRTC_ERROR_INTERNAL_ERROR:
        state->in_doubt = true;
        out->outcome = ST_COMPILE_CRASH;
        return explain(state, result, "the compiler gave up", out, error);
    default: // an option, a kernel's name or the program is not valid
        out->outcome = ST_COMPILE_ERROR;
        return explain(state, result, "nvrtcCompileProgram", out, error);
    }
}

static st_code compile_program(child_state *state, const st_compile_job *job, nvrtcProgram program,
                               st_compiled *out, st_error *error) {
    const st_nvrtc *api = state->nvrtc;
    char arch[96];
    const char *options[MAX_OPTIONS];
    int count = 0;
    for (size_t i = 0; i < job->kernel_count; ++i) {
        nvrtcResult result = st_fault_here(ST_FAULT_NVRTC)
                                 ? NVRTC_ERROR_OUT_OF_MEMORY
                                 : api->AddNameExpression(program, job->kernels[i]);
        if (result != NVRTC_SUCCESS)
            return st_fail(error, ST_FAILED, NULL, "%s: %s: %s", job->file_name, job->kernels[i],
                           api->GetErrorString(result));
    }
    st_code code = list_options(state, job, arch, sizeof arch, options, &count, error);
    if (code)
        return code;
    nvrtcResult result = st_fault_here(ST_FAULT_NVRTC)
                             ? NVRTC_ERROR_INTERNAL_ERROR
                             : api->CompileProgram(program, count, options);
    code = take_log(state, program, &result, out, error);
    if (!code && result == NVRTC_ERROR_INVALID_OPTION && !state->no_ptxas_words &&
        strstr(out->log, "ptxas-options")) { // an older NVRTC: without the assembler's words, then
        state->no_ptxas_words = true;
        code = list_options(state, job, arch, sizeof arch, options, &count, error);
        if (!code) {
            result = st_fault_here(ST_FAULT_NVRTC) ? NVRTC_ERROR_INTERNAL_ERROR
                                                   : api->CompileProgram(program, count, options);
            code = take_log(state, program, &result, out, error);
        }
    }
    return code ? code : judge(state, result, job, program, out, error);
}

static st_code compile_cuda(child_state *state, const st_compile_job *job, st_compiled *out,
                            st_error *error) {
    if (!state->nvrtc) {
        st_code code = st_nvrtc_open(st_driver_cuda_version(), &state->nvrtc, error);
        if (code)
            return code;
    }
    snprintf(out->compiler, sizeof out->compiler, "%s", state->nvrtc->version);
    nvrtcProgram program = NULL;
    st_code code = create_program(state, job, &program, error);
    if (!code)
        code = compile_program(state, job, program, out, error);
    if (program)
        state->nvrtc->DestroyProgram(&program);
    return code;
}

// --- the loop
// --------------------------------------------------------------------------------------

static st_code compile(child_state *state, const st_compile_job *job, st_compiled *out,
                       st_error *error) {
    double start = st_clock_seconds();
    st_code code;
    if (strcmp(job->backend, "cuda") == 0)
        code = compile_cuda(state, job, out, error);
    else if (strcmp(job->backend, "emu") == 0 && st_emu_compile)
        code = st_emu_compile(job, out, error);
    else
        code = st_fail(error, ST_USAGE, "use the backend cuda",
                       "this simtune has no compiler for the backend %.40s", job->backend);
    out->id = job->id;
    out->seconds = st_clock_seconds() - start;
    if (!code && !out->log && !(out->log = st_strdup("")))
        code = st_fail_memory(error, "compiling");
    return code;
}

static st_code answer(int fd, json_t *json, const void *blob, size_t length, st_error *error) {
    st_code code = json ? st_channel_send(fd, json, blob, length, error)
                        : st_fail_memory(error, "answering a compile job");
    json_decref(json);
    return code;
}

static st_code answer_started(int fd, const st_compile_job *job, st_error *error) {
    return answer(fd, json_pack("{s:s, s:I}", "type", "started", "id", (json_int_t)job->id), NULL,
                  0, error);
}

static st_code answer_compiled(int fd, const st_compiled *compiled, st_error *error) {
    st_text blob;
    st_text_init(&blob);
    json_t *json = NULL;
    st_code code = st_compiled_encode(compiled, &json, &blob, error);
    if (!code && json_object_set_new(json, "ended", json_real(st_clock_seconds())) != 0) {
        json_decref(json);
        code = st_fail_memory(error, "answering a compile job");
    }
    if (!code)
        code = answer(fd, json, blob.data, blob.length, error);
    st_text_release(&blob);
    return code;
}

// The words of an error may be cut within a character, which JSON refuses: only ASCII goes through.
static void keep_ascii(char *text) {
    for (; *text; ++text)
        if ((unsigned char)*text > 126 || (unsigned char)*text < 32)
            *text = '?';
}

static st_code answer_failed(int fd, const st_compile_job *job, st_code code, st_error *failure,
                             st_error *error) {
    keep_ascii(failure->what);
    keep_ascii(failure->remedy);
    return answer(fd,
                  json_pack("{s:s, s:I, s:i, s:s, s:s}", "type", "failed", "id",
                            (json_int_t)job->id, "code", (int)code, "what", failure->what, "remedy",
                            failure->remedy),
                  NULL, 0, error);
}

// One job from a frame to its answer. An error means that the channel is of no more use.
static st_code serve(child_state *state, int fd, st_frame *frame, st_error *error) {
    st_received_job received;
    st_code code = st_job_decode(frame, &received, error);
    if (code)
        return code;
    code = answer_started(fd, &received.job, error);
    if (!code) {
        st_compiled compiled = {.outcome = ST_COMPILE_ERROR};
        st_error failure = {0};
        st_code failed = compile(state, &received.job, &compiled, &failure);
        if (failed == ST_NO_MEMORY)
            state->in_doubt = true;
        if (!failed && (failed = answer_compiled(fd, &compiled, &failure)) == ST_FAILED)
            code = st_fail(error, ST_FAILED, NULL, "%s", failure.what);
        if (failed && !code)
            code = answer_failed(fd, &received.job, failed, &failure, error);
        st_compiled_release(&compiled);
    }
    st_received_job_release(&received);
    return code;
}

static void settle_in(void) {
    mallopt(M_TRIM_THRESHOLD, 1 << 30); // invariant 3
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, 64 << 20);
    setpgid(0, 0); // invariant 4
    if (nice(5) < 0) {
        // Compiling yields to the process that measures; where it may not, nothing is lost.
    }
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) { // where memory is short, a compile goes first: that costs one job
        if (write(fd, "800", 3) != 3) {
        }
        close(fd);
    }
}

int st_compile_child(int channel_fd) {
    settle_in();
    child_state state = {0};
    for (;;) {
        st_frame frame;
        st_error error = {0};
        st_receive got = st_channel_receive(channel_fd, -1, &frame, &error);
        if (got == ST_RECEIVE_CLOSED)
            return 0;
        st_code code = got == ST_RECEIVED ? serve(&state, channel_fd, &frame, &error) : ST_FAILED;
        if (code || state.in_doubt) {
            if (error.what[0] && write(STDERR_FILENO, error.what, strlen(error.what)) < 0) {
                // The parent no longer listens.
            }
            return 1;
        }
    }
}
