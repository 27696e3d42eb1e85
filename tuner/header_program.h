// SPDX-License-Identifier: Apache-2.0
// What a header holds, as a program: its kernels by name, and which of its rows it takes for a problem. Promise: what
// is handed on to a compiler is the text of the file as it stands, nothing of the template; a header whose kernels are
// not those that its provenance tells of is refused.
#ifndef SIMTUNE_TUNER_HEADER_PROGRAM_H
#define SIMTUNE_TUNER_HEADER_PROGRAM_H

#include "tuner/emit.h"
#include "tuner/gpu/compile.h"

typedef struct st_header_program st_header_program;

// ST_NOTHING: the file is absent; ST_STALE: it was made from another version of the template; ST_FAILED: it is none of
// ours, from a newer simtune, damaged, or its .cu is not beside it.
st_code st_header_open(const st_template *tmpl, const char *path, st_header_program **out, st_error *error);
void st_header_close(st_header_program *program);

const char *st_header_cache(const st_header_program *program);    // by which it was chosen: "cold" or "warm"
bool st_header_is_split(const st_header_program *program);        // its kernels stand in a .cu beside it
// Somebody changed the file after simtune had written it: its name no longer is the hash of its text.
bool st_header_is_edited(const st_header_program *program);
// As #include names it from another file: the header, or the .cu that has the kernels; and in which folder.
const char *st_header_file(const st_header_program *program);
const char *st_header_folder(const st_header_program *program);
const char *st_header_space(const st_header_program *program);    // "simtune_1234abcd"

size_t st_header_function_count(const st_header_program *program);
const char *st_header_function_name(const st_header_program *program, size_t function); // "simtune_reduce_f32_sum"
// A problem that the function was recorded for: its type and words hold for all of them.
const st_problem *st_header_function_problem(const st_header_program *program, size_t function);
// The sizes that a device's own class was recorded for; of a class that is not there, those of the class whose row the
// header borrows for the function's first problem. Writes up to `capacity` problems, returns how many there are.
size_t st_header_problems(const st_header_program *program, size_t function, const st_device_facts *device,
                          st_problem *out, size_t capacity);

typedef struct st_header_row {
    const st_choice *choice; // as recorded; for another problem than the one that was asked for, maybe
    size_t structure;        // of the kernels: config_<structure>
    size_t plan;
    bool exact;              // recorded for the class of the device
    bool is_default;         // nothing recorded suits: the template's default, which the header falls back to
} st_header_row;
// The row that the header's function takes on a device. ST_NOTHING: none suits.
st_code st_header_choose(const st_header_program *program, size_t function, const st_device_facts *device,
                         const st_problem *problem, st_header_row *out, st_error *error);

// The expressions that name the kernels of a row's launches in the header's program, one a launch step, in order. A
// launch that the row never takes has the name of one that it takes. st_free each, and the list.
st_code st_header_kernels(const st_header_program *program, const st_header_row *row, char ***names, size_t *count,
                          st_error *error);
// The identifiers that stand in the symbol of one of them in this order, namespace first, ended by NULL: to find it in
// what another compiler made. Of the kernel that launch `launch` has by st_header_kernels.
st_code st_header_symbol_parts(const st_header_program *program, const st_header_row *row, size_t launch,
                               char *parts[4], st_error *error);
// The job for NVRTC (or the emulated device's compiler) but for id, backend, arch and kernels; borrows from `program`.
void st_header_job(const st_header_program *program, st_compile_job *job);

#endif
