// SPDX-License-Identifier: Apache-2.0
// Jobs and results of the compile pool as frames. A decoder trusts nothing: counts are checked
// against the bytes that are there before anything is allocated for them.
#include "tuner/gpu/compile_internal.h"

#include "tuner/base/json.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <string.h>

#define TAKING_APART "taking a compile message apart"

static void add_ended(st_text *blob, const char *text) {
    st_text_add_bytes(blob, text ? text : "", strlen(text ? text : "") + 1);
}

st_code st_job_encode(const st_compile_job *job, json_t **json, st_text *blob, st_error *error) {
    add_ended(blob, job->backend);
    add_ended(blob, job->arch);
    add_ended(blob, job->file_name);
    add_ended(blob, job->source);
    for (size_t i = 0; i < job->include_count; ++i) {
        add_ended(blob, job->includes[i].name);
        add_ended(blob, job->includes[i].text);
    }
    for (size_t i = 0; i < job->option_count; ++i)
        add_ended(blob, job->options[i]);
    for (size_t i = 0; i < job->kernel_count; ++i)
        add_ended(blob, job->kernels[i]);
    *json = json_pack("{s:s, s:I, s:I, s:I, s:I}", "type", "compile", "id", (json_int_t)job->id,
                      "includes", (json_int_t)job->include_count, "options",
                      (json_int_t)job->option_count, "kernels", (json_int_t)job->kernel_count);
    if (!*json || blob->failed) {
        json_decref(*json);
        *json = NULL;
        return st_fail_memory(error, "sending a compile job");
    }
    return ST_OK;
}

// The next NUL-ended text of a blob; NULL when there is none.
static const char *next_text(const char **at, const char *end) {
    const char *text = *at;
    const char *nul = text < end ? memchr(text, 0, (size_t)(end - text)) : NULL;
    if (!nul)
        return NULL;
    *at = nul + 1;
    return text;
}

// A count of `key` that `most` things can hold.
static st_code get_count(const json_t *json, const char *key, size_t most, size_t *count,
                         st_error *error) {
    int64_t value = 0;
    st_code code = st_json_get_int(json, key, &value, error);
    if (code)
        return code;
    if (value < 0 || (uint64_t)value > most)
        return st_fail(error, ST_FAILED, NULL, "compile message: %s is %lld", key,
                       (long long)value);
    *count = (size_t)value;
    return ST_OK;
}

static st_code broken(st_error *error) {
    return st_fail(error, ST_FAILED, NULL, "compile message: its texts are not complete");
}

static st_code decode_job(st_received_job *out, st_error *error) {
    st_compile_job *job = &out->job;
    const st_frame *frame = &out->frame;
    const char *type = NULL;
    int64_t id = 0;
    st_code code = st_json_get_string(frame->json, "type", &type, error);
    if (!code && strcmp(type, "compile") != 0)
        code = st_fail(error, ST_FAILED, NULL, "compile message: unknown type %.40s", type);
    if (!code)
        code = st_json_get_int(frame->json, "id", &id, error);
    if (!code)
        code = get_count(frame->json, "includes", frame->blob_length, &job->include_count, error);
    if (!code)
        code = get_count(frame->json, "options", frame->blob_length, &job->option_count, error);
    if (!code)
        code = get_count(frame->json, "kernels", frame->blob_length, &job->kernel_count, error);
    if (code)
        return code;
    job->id = (uint64_t)id;
    size_t texts = job->option_count + job->kernel_count;
    out->includes = st_calloc(job->include_count + 1, sizeof *out->includes);
    out->texts = st_calloc(texts + 1, sizeof *out->texts);
    if (!out->includes || !out->texts)
        return st_fail_memory(error, TAKING_APART);
    const char *at = frame->blob, *end = at ? at + frame->blob_length : at;
    job->backend = next_text(&at, end);
    job->arch = next_text(&at, end);
    job->file_name = next_text(&at, end);
    job->source = next_text(&at, end);
    if (!job->source)
        return broken(error);
    for (size_t i = 0; i < job->include_count; ++i) {
        out->includes[i].name = next_text(&at, end);
        out->includes[i].text = next_text(&at, end);
        if (!out->includes[i].text)
            return broken(error);
    }
    for (size_t i = 0; i < texts; ++i)
        if (!(out->texts[i] = next_text(&at, end)))
            return broken(error);
    if (at != end)
        return broken(error);
    job->includes = out->includes;
    job->options = out->texts;
    job->kernels = out->texts + job->option_count;
    return ST_OK;
}

st_code st_job_decode(st_frame *frame, st_received_job *out, st_error *error) {
    memset(out, 0, sizeof *out);
    out->frame = *frame;
    memset(frame, 0, sizeof *frame);
    st_code code = decode_job(out, error);
    if (code)
        st_received_job_release(out);
    return code;
}

void st_received_job_release(st_received_job *received) {
    st_free(received->includes);
    st_free(received->texts);
    st_frame_release(&received->frame);
    memset(received, 0, sizeof *received);
}

st_code st_compiled_encode(const st_compiled *compiled, json_t **json, st_text *blob,
                           st_error *error) {
    st_text_add_bytes(blob, compiled->image, compiled->image_bytes);
    for (size_t i = 0; i < compiled->kernel_count; ++i)
        add_ended(blob, compiled->lowered_names ? compiled->lowered_names[i] : "");
    add_ended(blob, compiled->log);
    *json =
        json_pack("{s:s, s:I, s:i, s:I, s:I, s:o, s:s}", "type", "compiled", "id",
                  (json_int_t)compiled->id, "outcome", (int)compiled->outcome, "image",
                  (json_int_t)compiled->image_bytes, "kernels", (json_int_t)compiled->kernel_count,
                  "seconds", st_json_number(compiled->seconds), "compiler", compiled->compiler);
    if (!*json || blob->failed) {
        json_decref(*json);
        *json = NULL;
        return st_fail_memory(error, "sending a compiled program");
    }
    return ST_OK;
}

static st_code copy_text(const char *text, char **out, st_error *error) {
    if (!text)
        return broken(error);
    *out = st_strdup(text);
    return *out ? ST_OK : st_fail_memory(error, TAKING_APART);
}

static st_code decode_compiled(const json_t *json, const char *at, size_t length, st_compiled *out,
                               st_error *error) {
    const char *end = at ? at + length : at, *compiler = NULL;
    int64_t id = 0, outcome = 0;
    size_t image_bytes = 0, kernels = 0;
    st_code code = st_json_get_int(json, "id", &id, error);
    if (!code)
        code = st_json_get_int(json, "outcome", &outcome, error);
    if (!code)
        code = get_count(json, "image", length, &image_bytes, error);
    if (!code)
        code = get_count(json, "kernels", length, &kernels, error);
    if (!code)
        code = st_json_get_string(json, "compiler", &compiler, error);
    if (code)
        return code;
    if (outcome < ST_COMPILED || outcome > ST_COMPILE_CRASH)
        return st_fail(error, ST_FAILED, NULL, "compile message: unknown outcome");
    out->id = (uint64_t)id;
    out->outcome = (int)outcome;
    out->seconds = st_json_number_or_nan(json, "seconds");
    strncpy(out->compiler, compiler, sizeof out->compiler - 1);
    out->lowered_names = st_calloc(kernels + 1, sizeof *out->lowered_names);
    out->image = image_bytes ? st_malloc(image_bytes) : NULL;
    if (!out->lowered_names || (image_bytes && !out->image))
        return st_fail_memory(error, TAKING_APART);
    if (image_bytes)
        memcpy(out->image, at, image_bytes);
    out->image_bytes = image_bytes;
    out->kernel_count = kernels;
    at += image_bytes;
    for (size_t i = 0; i < kernels && !code; ++i)
        code = copy_text(next_text(&at, end), &out->lowered_names[i], error);
    if (!code)
        code = copy_text(next_text(&at, end), &out->log, error);
    return !code && at != end ? broken(error) : code;
}

st_code st_compiled_decode(const json_t *json, const void *blob, size_t blob_length,
                           st_compiled *out, st_error *error) {
    memset(out, 0, sizeof *out);
    if (!blob)
        return broken(error);
    st_code code = decode_compiled(json, blob, blob_length, out, error);
    if (code)
        st_compiled_release(out);
    return code;
}

void st_compiled_release(st_compiled *compiled) {
    for (size_t i = 0; compiled->lowered_names && i < compiled->kernel_count; ++i)
        st_free(compiled->lowered_names[i]);
    st_free(compiled->lowered_names);
    st_free(compiled->image);
    st_free(compiled->log);
    memset(compiled, 0, sizeof *compiled);
}
