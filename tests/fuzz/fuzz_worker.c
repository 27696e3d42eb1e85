// SPDX-License-Identifier: Apache-2.0
// A worker's answers (tuner/worker/worker.c). The input: requests, a line of JSON each, all of which reach
// the worker before it starts; the text under "blob" travels as the request's blob. Each must have exactly
// one answer, an object with a type, a lost context must be told in every answer after, and the worker must
// end in order and leave no device memory.
//
// The device is null_device.c. Counts are cut down so that an input takes a millisecond.
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/null_device.h"

#include "tuner/base/channel.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/worker/worker.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REQUESTS_MOST = 32, BYTES_MOST = 64 << 10, ELEMENTS_MOST = 4096, RUNS_MOST = 3 };

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    st_json_setup();
    return 0;
}

static void limit_one(json_t *value, json_int_t most)
{
    if (json_is_integer(value) && json_integer_value(value) > most)
        json_integer_set(value, most);
}

static void limit_request(json_t *request)
{
    static const char *const counts[] = {"samples", "rounds", "drop", "minimum"};
    size_t i;
    json_t *item;
    for (i = 0; i < sizeof counts / sizeof *counts; i++)
        limit_one(json_object_get(request, counts[i]), RUNS_MOST);
    json_array_foreach(json_object_get(request, "buffers"), i,
                       item) if (i % 4 != 3) // some may ask for more than there is
        limit_one(json_object_get(item, "count"), ELEMENTS_MOST);
    json_array_foreach(json_object_get(json_object_get(request, "plan"), "temps"), i, item)
        limit_one(item, ELEMENTS_MOST);
}

// What is no JSON is left out: such a frame ends the conversation, as fuzz_channel.c knows.
static bool send_request(int fd, const char *line)
{
    json_t *request = NULL;
    st_error error = {0};
    if (st_json_parse(line, strlen(line), "request", &request, NULL) != ST_OK)
        return false;
    limit_request(request);
    const char *blob = json_string_value(json_object_get(request, "blob"));
    FUZZ_MUST(st_channel_send(fd, request, blob, blob ? strlen(blob) : 0, &error) == ST_OK, "%s",
              error.what);
    json_decref(request);
    return true;
}

// Returns whether it says that the context is lost.
static bool check_answer(const st_frame *reply)
{
    const char *type = json_string_value(json_object_get(reply->json, "type"));
    FUZZ_MUST(type, "an answer without a type");
    if (strcmp(type, "failed") != 0)
        return false;
    const char *what = json_string_value(json_object_get(reply->json, "what"));
    const json_t *lost = json_object_get(reply->json, "lost");
    FUZZ_MUST(what && *what, "it failed and does not say why");
    FUZZ_MUST(json_is_integer(json_object_get(reply->json, "code")), "it failed without a code");
    FUZZ_MUST(json_is_boolean(lost), "is the context lost or not?");
    return json_is_true(lost);
}

static int send_all(int fd, const uint8_t *data, size_t size)
{
    size_t sent = 0;
    int asked = 0;
    char *line;
    while (asked < REQUESTS_MOST && (line = fuzz_line(&data, &size)) != NULL) {
        // As much again when it is printed, once more for the blob, and the frame.
        size_t bytes = 3 * strlen(line) + 64;
        if (sent + bytes < BYTES_MOST && send_request(fd, line)) {
            asked++;
            sent += bytes;
        }
        free(line);
    }
    shutdown(fd, SHUT_WR);
    return asked;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int pair[2], answered = 0;
    bool lost = false;
    st_frame reply;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        fuzz_fail("no socket pair");
    int asked = send_all(pair[0], data, size);
    FUZZ_MUST(st_worker_main(pair[1], false) == 0, "the worker did not end in order");
    close(pair[1]);
    while (st_channel_receive(pair[0], 1, &reply, NULL) == ST_RECEIVED) {
        bool now = check_answer(&reply);
        answered++;
        lost = lost || now;
        st_frame_release(&reply);
    }
    close(pair[0]);
    FUZZ_MUST(answered == asked, "%d requests, %d answers", asked, answered);
    FUZZ_MUST(!null_device_leaks(), "%zu allocations are left on the device", null_device_leaks());
    return 0;
}
