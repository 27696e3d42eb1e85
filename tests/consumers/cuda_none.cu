// SPDX-License-Identifier: Apache-2.0
// Includes the headers and calls nothing.
#include "simtune_reduce.h"
#include "simtune_total.h"
