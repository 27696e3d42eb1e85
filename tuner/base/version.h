// SPDX-License-Identifier: Apache-2.0
#ifndef SIMTUNE_BASE_VERSION_H
#define SIMTUNE_BASE_VERSION_H
#define SIMTUNE_VERSION "0.1.0"
#endif
