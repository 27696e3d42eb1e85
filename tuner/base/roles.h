// SPDX-License-Identifier: Apache-2.0
// What a tuned parameter moves: how advice about a stall becomes a direction in the space.
#ifndef SIMTUNE_BASE_ROLES_H
#define SIMTUNE_BASE_ROLES_H

typedef enum st_role { // bits
    ST_ROLE_ILP = 1,   // independent instructions of one thread
    ST_ROLE_MLP = 2,   // loads in flight
    ST_ROLE_TLP = 4,   // resident warps (occupancy)
    ST_ROLE_SYNC = 8,  // barriers, how blocks come together
    ST_ROLE_SMEM = 16, // shared memory and its banks
    ST_ROLE_WORK = 32, // how work is split
    ST_ROLE_REGS = 64  // registers, launch bounds
} st_role;

#endif
