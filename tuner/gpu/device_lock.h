// SPDX-License-Identifier: Apache-2.0
// One tuner at a time on a device. Promise: while a lock is held, no other simtune of this machine
// takes the same device, whichever user runs it; a lock ends with its process, however that ends.
#ifndef SIMTUNE_GPU_DEVICE_LOCK_H
#define SIMTUNE_GPU_DEVICE_LOCK_H

#include "tuner/base/error.h"

#include <stdbool.h>
#include <sys/types.h>

typedef struct st_device_lock st_device_lock;

typedef struct st_lock_holder {
    pid_t pid;         // 0 unknown
    char command[256]; // its command line, "" unknown
} st_lock_holder;

// Called about ten times a second while another holds the device. False: stop waiting.
typedef bool st_lock_waiting(void *context, const st_lock_holder *holder, double waited_seconds);

// Takes the lock of the device `uuid`. `waiting` NULL: fails at once when another holds it. The
// error (ST_FAILED) says who. Not inherited by children that are executed anew.
st_code st_device_lock_take(const char *uuid, st_lock_waiting *waiting, void *context,
                            st_device_lock **out, st_error *error);
void st_device_lock_release(st_device_lock *lock); // NULL is fine

// The folder of the locks, made so that every user can put files there.
st_code st_device_lock_make_folder(const char *path, st_error *error);

#endif
