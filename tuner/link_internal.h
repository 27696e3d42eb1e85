// SPDX-License-Identifier: Apache-2.0
// Between the link to a worker (link.c) and what is asked of it (link_requests.c).
#ifndef SIMTUNE_TUNER_LINK_INTERNAL_H
#define SIMTUNE_TUNER_LINK_INTERNAL_H

#include "tuner/base/channel.h"
#include "tuner/link.h"

#include <jansson.h>

#define ST_LINK_START_LIMIT 60.0 // seconds: a first context on a large machine takes some

// A request with recovery before it; takes `json`. The reply is the caller's on NONE.
st_code st_link_request(st_link *link, json_t *json, const void *blob, size_t blob_length, double limit,
                        st_frame *reply, st_trouble *trouble, st_error *error);
void st_link_end_worker(st_link *link, double patience);

#endif
