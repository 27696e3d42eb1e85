// SPDX-License-Identifier: Apache-2.0
// Child processes of our own binary and the framed messages between them and the parent.
// Promise: a child that dies, hangs or sends nonsense is noticed and costs only itself.
//
// A frame is: u32 json length, u64 blob length (both little endian), JSON text, blob bytes. The JSON
// says what it is ("type"); the blob carries what would be silly in JSON (cubins, samples).
#ifndef SIMTUNE_BASE_CHANNEL_H
#define SIMTUNE_BASE_CHANNEL_H

#include "tuner/base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define ST_FRAME_JSON_MAX (16u << 20)
#define ST_FRAME_BLOB_MAX ((size_t)1 << 30)

typedef struct st_frame {
    json_t *json; // owned
    void *blob;   // owned, st_free; NULL when blob_length is 0
    size_t blob_length;
} st_frame;
void st_frame_release(st_frame *frame);

typedef struct st_child {
    pid_t pid;     // 0 when there is none
    int fd;        // our end of the socket pair, -1 when there is none
    int error_fd;  // read end of the child's stderr, or -1
    int exit_status; // as waitpid gives it, after st_child_stop or a noticed death
} st_child;

// Starts this same binary anew (/proc/self/exe) as `simtune --internal ROLE` with descriptor 3 as its
// channel. The child dies with the parent (PR_SET_PDEATHSIG), ignores SIGINT (the parent ends it in
// order), and its stderr is kept (last 4 KiB, see st_child_last_words). `environment` (NULL-terminated
// "NAME=value", may be NULL) is added to ours. `program` overrides the binary in tests (NULL = self).
st_code st_child_start(st_child *child, const char *role, const char *const *environment,
                       const char *program, st_error *error);
// Asks (closes the channel), waits `patience` seconds, then kills. Reaps. Safe to call twice.
void st_child_stop(st_child *child, double patience);
// What the child last wrote to stderr (for `crash` messages), at most `capacity`-1 bytes.
void st_child_last_words(st_child *child, char *out, size_t capacity);

typedef enum st_receive {
    ST_RECEIVED,
    ST_RECEIVE_TIMEOUT,   // nothing complete within the time; what came so far is kept in the kernel
    ST_RECEIVE_CLOSED,    // the other side is gone
    ST_RECEIVE_BROKEN     // not a frame of ours, or out of memory
} st_receive;

// Sends one frame whole. `json` is borrowed. ST_FAILED when the other side is gone.
st_code st_channel_send(int fd, const json_t *json, const void *blob, size_t blob_length,
                        st_error *error);
// Waits up to `seconds` (negative: for ever) for a frame to begin, then reads it whole (a frame that
// has begun must be complete within 30 s more, else BROKEN).
st_receive st_channel_receive(int fd, double seconds, st_frame *frame, st_error *error);

#endif
