// SPDX-License-Identifier: Apache-2.0
// What `db info` and `doctor` tell of the file system below a store.
#ifndef SIMTUNE_CLI_CLI_PLACE_H
#define SIMTUNE_CLI_CLI_PLACE_H

#include "db/locking.h"
#include "tuner/base/json.h"
#include "tuner/gpu/doctor.h"

// "ext4, write-ahead log"
void st_cli_place_words(const st_file_place *place, st_text *out);
json_t *st_cli_place_json(const st_file_place *place); // NULL: no memory
// The finding `store`: where it is (or would be), and whether several processes can write it there.
st_code st_cli_place_finding(const char *path, st_doctor_finding *out, st_error *error);

#endif
