// SPDX-License-Identifier: Apache-2.0
// What is published of devices that are not here, for `--arch sm_80` without such a GPU. Promise:
// data sheet values, never measured ones; a value that is not published is -1.
#ifndef SIMTUNE_GPU_DEVICE_CLASS_H
#define SIMTUNE_GPU_DEVICE_CLASS_H

#include "tuner/base/error.h"
#include "tuner/gpu/device.h"

#include <stddef.h>

typedef struct st_known_device {
    const char *name;      // without "NVIDIA"
    int cc, sm_count;
    int memory_gib;
    double bandwidth_gbs;  // of the device memory, 10^9 bytes a second, from the data sheet
    int l2_mib;            // as CUDA reports it; -1 not published
    int bus_bits;
    int sm_clock_mhz;      // boost; -1 not published
} st_known_device;
// Within one (cc, sm_count) the most common product stands first; the first row of a cc is its
// reference.
const st_known_device *st_known_devices(size_t *count);

// The known device of a class; sm_count ≤ 0: the reference of the cc. Where several products share
// a class, the one nearest in memory (memory_bytes < 0: the most common). NULL: none is known.
const st_known_device *st_known_device_find(st_device_class device_class, int64_t memory_bytes);

// Facts of a class: the limits of its compute capability and what is known of the device. ST_USAGE
// when the compute capability is unknown. `facts->name` says which product it was taken from; uuid
// is "".
st_code st_device_class_facts(st_device_class device_class, int64_t memory_bytes,
                              st_device_facts *facts, st_error *error);

// "sm_90", "sm_90a", "compute_90", "90", "9.0", each with or without "/132" → class; sm_count -1
// without. ST_USAGE when it is not an arch, or one that is not known.
st_code st_device_class_parse(const char *text, st_device_class *out, st_error *error);

#endif
