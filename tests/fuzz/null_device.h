// SPDX-License-Identifier: Apache-2.0
// A device that computes nothing: memory is host memory whose bounds are checked, launches are checked for
// what a driver refuses, clocks advance by fixed steps. It stands in for every backend (it defines
// st_gpu_backend), so that all requests of a worker are within reach in microseconds.
//
// What an image and a kernel do stands in their names: an image that begins with "bad" is refused, a kernel
// "absent…" is not found, a launch of "lost…" loses the context, one of "wrong…" makes the next comparison
// find mismatches.
#ifndef SIMTUNE_TESTS_FUZZ_NULL_DEVICE_H
#define SIMTUNE_TESTS_FUZZ_NULL_DEVICE_H

#include <stddef.h>

// Device memory that was allocated and not released, after the worker has closed the device.
size_t null_device_leaks(void);

#endif
