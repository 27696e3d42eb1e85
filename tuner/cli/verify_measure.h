// SPDX-License-Identifier: Apache-2.0
// `simtune verify HEADER`: what the files of it share. cmd_verify.c decides between this and --check.
#ifndef SIMTUNE_CLI_VERIFY_MEASURE_H
#define SIMTUNE_CLI_VERIFY_MEASURE_H

#include "tuner/cli/cli.h"
#include "tuner/verify.h"

// A family that ships, or the one of a FILE.cu behind the first word of the command line that has this name.
st_code st_cli_verify_template(const st_cli *cli, const char *path, const char *family, st_template **out,
                               st_error *error);
// --threshold in per cent as a share; `usual` where it is not given.
st_code st_cli_verify_threshold(const st_cli *cli, double usual, double *out, st_error *error);
st_code st_cli_verify_measure(st_cli *cli, const char *path, st_error *error);

// verify_items.c: what of a header is measured on a device.
typedef struct st_verify_items {
    st_verify_item *items;  // those of one function side by side; `best` is filled by the caller
    size_t count, capacity;
    size_t shrunk;          // rows that the emulated device takes at a smaller size than they were recorded for
    size_t left_out;        // rows that are too large for it and cannot be taken at another size
} st_verify_items;
// As --type, --op and --size say. ST_NOTHING: nothing of it suits the device, or is asked for.
st_code st_verify_items_make(const st_cli *cli, const st_template *tmpl, const st_header_program *header,
                             const st_cli_device *device, st_verify_items *out, st_error *error);
void st_verify_items_release(st_verify_items *items);

#endif
