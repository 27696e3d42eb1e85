// SPDX-License-Identifier: Apache-2.0
// Tuning problems of other tuners in the T1 format (JSON): a kernel, its parameters, conditions and arguments become
// a template, as if their directives stood before the kernel's text, and go the same way. docs/templates.md says what
// is read, what is refused, and what T1 says that is done in another way here.
#ifndef SIMTUNE_TUNER_T1_H
#define SIMTUNE_TUNER_T1_H

#include "tuner/template.h"

bool st_t1_is_file(const char *path); // it ends in .json
// The kernel's file is looked for beside the JSON file. ST_USAGE names the file and the place in it:
// "conv.json: ConfigurationSpace.Conditions[2]: …". The caller frees *out.
st_code st_t1_load(const char *path, st_template **out, st_error *error);
// The same of a text that has been read, with the kernel's text.
st_code st_t1_parse(const char *path, const char *json, size_t length, const char *kernel_path,
                    const char *kernel, st_template **out, st_error *error);
// The file's Budget in the words of --budget ("30s", "500"), with a leading number; "" without one.
st_code st_t1_budget(const char *path, char out[32], st_error *error);

#endif
