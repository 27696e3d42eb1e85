// SPDX-License-Identifier: Apache-2.0
// The element types of problems. One row a type; to add one, add a row here, its conversions in
// templates/simtune_device.cuh, and a line in docs/templates.md.
#ifndef SIMTUNE_BASE_TYPES_H
#define SIMTUNE_BASE_TYPES_H

#include <stdbool.h>
#include <stddef.h>

typedef enum st_type_id {
    ST_F32, ST_F64, ST_I32, ST_U32, ST_I64, ST_U64, ST_F16, ST_BF16, ST_U8, ST_TYPE_COUNT
} st_type_id;

typedef struct st_type {
    st_type_id id;
    const char *name;        // "f32": in templates, command line, store, headers' function names
    size_t size;             // bytes
    bool is_float, is_signed;
    double unit_roundoff;    // u: 2^-24 for f32; 0 for integers
    const char *device_name; // spelling in templates and in NVRTC programs: "float", "simtune_half" (in namespace simtune)
    const char *host_name;   // spelling in the header's host functions: "float", "__half"
    const char *host_include;// "<cuda_fp16.h>" or NULL
    const char *old_names;   // accepted on input, space separated: "float float32 fp32"
} st_type;

const st_type *st_type_of(st_type_id id);
// By name or accepted old name; NULL when unknown.
const st_type *st_type_find(const char *name);

#endif
