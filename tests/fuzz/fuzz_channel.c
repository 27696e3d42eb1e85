// SPDX-License-Identifier: Apache-2.0
// Frames (tuner/base/channel.h): arbitrary bytes come over a socket pair whose other end is then closed.
// Every frame that is received is sent and received again and must be the same.
#include "tests/fuzz/fuzz.h"

#include "tuner/base/channel.h"
#include "tuner/base/json.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { INPUT_MOST = 64 << 10 }; // what a socket buffer takes without a reader

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    st_json_setup();
    return 0;
}

static void make_pair(int pair[2])
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        fuzz_fail("no socket pair");
}

static void check_again(const st_frame *frame)
{
    int pair[2];
    st_frame again;
    st_error error = {0};
    make_pair(pair);
    FUZZ_MUST(st_channel_send(pair[0], frame->json, frame->blob, frame->blob_length, &error) ==
                  ST_OK,
              "what was received cannot be sent: %s", error.what);
    FUZZ_MUST(st_channel_receive(pair[1], 1, &again, &error) == ST_RECEIVED,
              "what was received and sent is not received: %s", error.what);
    FUZZ_MUST(json_equal(frame->json, again.json) && frame->blob_length == again.blob_length &&
                  (!again.blob_length || memcmp(frame->blob, again.blob, again.blob_length) == 0),
              "a frame changed on its way");
    st_frame_release(&again);
    close(pair[0]);
    close(pair[1]);
}

// A frame may announce a GiB that never comes. Asking the system for it takes a while, so few inputs may.
static bool is_too_slow(const uint8_t *data, size_t size)
{
    return size >= 12 && (data[7] >= 0x02 || data[6] >= 0x20) && data[size - 1] != '!';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int pair[2];
    if (size > INPUT_MOST || is_too_slow(data, size))
        return 0;
    make_pair(pair);
    if (size && send(pair[0], data, size, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)size)
        fuzz_fail("the socket's buffer is too small");
    close(pair[0]);
    st_receive result;
    do {
        st_frame frame;
        st_error error = {0};
        result = st_channel_receive(pair[1], 1, &frame, &error);
        FUZZ_MUST(result != ST_RECEIVE_TIMEOUT, "it waits for a side that is gone");
        if (result == ST_RECEIVE_BROKEN)
            fuzz_check_error(error.code, &error);
        if (result == ST_RECEIVED)
            check_again(&frame);
        else
            FUZZ_MUST(!frame.json && !frame.blob, "half a frame was left");
        st_frame_release(&frame);
    } while (result == ST_RECEIVED);
    close(pair[1]);
    return 0;
}
