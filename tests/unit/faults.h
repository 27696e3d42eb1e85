// SPDX-License-Identifier: Apache-2.0
// Which faults a test injects: each of the first 16, then fewer and fewer, so that a day's tests stay short; with
// SIMTUNE_ALL_FAULTS in the environment every one, which is how the tests NAME_all of the label long run.
#ifndef SIMTUNE_TESTS_FAULTS_H
#define SIMTUNE_TESTS_FAULTS_H

#include <stdlib.h>

// The number of the fault after the n-th.
static inline unsigned long next_fault(unsigned long n)
{
    return n + (getenv("SIMTUNE_ALL_FAULTS") ? 1 : 1 + n / 16);
}

#endif
