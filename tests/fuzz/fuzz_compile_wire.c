// SPDX-License-Identifier: Apache-2.0
// Jobs and results of the compile pool (tuner/gpu/compile_wire.c). The input: a line of JSON, then the
// blob. What is accepted must be written and read again as the same.
#include "tests/fuzz/fuzz.h"

#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/gpu/compile_internal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    st_json_setup();
    return 0;
}

// Written anew, a message that was accepted has the same blob, byte by byte.
static void check_blob(const st_text *again, const void *blob, size_t length)
{
    FUZZ_MUST(again->length == length && memcmp(again->data, blob, length) == 0,
              "%zu bytes were read, %zu are written", length, again->length);
}

static void check_job(const json_t *json, const void *blob, size_t length)
{
    st_frame frame = {.json = json_incref((json_t *)(uintptr_t)json), .blob_length = length};
    st_error error = {0};
    st_received_job received;
    if (length && !(frame.blob = st_malloc(length)))
        fuzz_fail("no memory");
    if (length)
        memcpy(frame.blob, blob, length);
    st_code code = st_job_decode(&frame, &received, &error);
    FUZZ_MUST(!frame.json && !frame.blob, "a frame was not taken over");
    if (code) {
        fuzz_check_error(code, &error);
        return;
    }
    json_t *again = NULL;
    st_text text;
    st_text_init(&text);
    FUZZ_MUST(st_job_encode(&received.job, &again, &text, &error) == ST_OK, "%s", error.what);
    check_blob(&text, blob, length);
    st_text_release(&text);
    json_decref(again);
    st_received_job_release(&received);
}

static void check_compiled(const json_t *json, const void *blob, size_t length)
{
    st_error error = {0};
    st_compiled compiled;
    st_code code = st_compiled_decode(json, blob, length, &compiled, &error);
    if (code) {
        fuzz_check_error(code, &error);
        return;
    }
    FUZZ_MUST(compiled.log && memchr(compiled.compiler, 0, sizeof compiled.compiler),
              "a result without a log or with an endless compiler");
    json_t *again = NULL;
    st_text text;
    st_text_init(&text);
    FUZZ_MUST(st_compiled_encode(&compiled, &again, &text, &error) == ST_OK, "%s", error.what);
    check_blob(&text, blob, length);
    st_text_release(&text);
    json_decref(again);
    st_compiled_release(&compiled);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *line = fuzz_line(&data, &size);
    json_t *json = NULL;
    if (!line)
        return 0;
    if (st_json_parse(line, strlen(line), "message", &json, NULL) == ST_OK) {
        check_job(json, data, size);
        check_compiled(json, size ? data : NULL, size);
    }
    json_decref(json);
    free(line);
    return 0;
}
