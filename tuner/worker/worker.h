// SPDX-License-Identifier: Apache-2.0
// The processes that own a device: one that times, one that profiles (messages.h says what they answer).
// Promise: a worker does one request at a time, never measures under CUPTI unless it is the one that
// profiles, and answers every request or dies; whatever a candidate does to its context costs this
// process only.
#ifndef SIMTUNE_WORKER_WORKER_H
#define SIMTUNE_WORKER_WORKER_H

#include <stdbool.h>

// `simtune --internal time` and `simtune --internal profile`. Returns an exit code when the channel closes.
int st_worker_main(int channel_fd, bool profiles);

#endif
