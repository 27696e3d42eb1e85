// SPDX-License-Identifier: Apache-2.0
// The history that ships (db/history): brought into the user's store, or read where there is none. SIMTUNE_SHIPPED_HISTORY
// =off keeps it out of a store.
#ifndef SIMTUNE_CLI_SHIPPED_H
#define SIMTUNE_CLI_SHIPPED_H

#include "db/store.h"

// Brings the shipped history into the user's store unless it is there as it ships now.
st_code st_shipped_bring(st_store *store, st_error *error);
// A store of the shipped history alone, for reading. It takes seconds to make, so it is kept in the cache folder.
st_code st_shipped_open(st_store **out, st_error *error);
// Only where it has been made. ST_NOTHING: it has not.
st_code st_shipped_open_made(st_store **out);

#endif
