// SPDX-License-Identifier: Apache-2.0
// The stops of the tour. To add one: a row. Invariants: 1. the first value is where articles start; 2. what is claimed is
// theirs, never ours.
#include "reports/tour.h"

#include <math.h>

static const st_tour_stop table[] = {
    {"accumulators", "One accumulator against several, where arithmetic is all", "fma_chain", "ACC", {"1", "2", "4", "8"},
     true, {"wait", "long_scoreboard"},
     "A chain of dependent multiply-adds waits four cycles for each; four accumulators make it four times as fast.", 4,
     "fma_chain.cu --type f32 --size n=16Ki --set ROW=16,AHEAD=1 --vary ACC"},
    {"accumulators_in_memory", "One accumulator against several, where memory is read", "reduce", "ACC",
     {"1", "2", "4", "8"}, true, {"long_scoreboard", "wait"},
     "Four accumulators break the dependency of a reduction and make it up to four times as fast.", 4,
     "reduce --type f32 --op sum --size 16Mi --set UNROLL=8 --vary ACC"},
    {"scans", "Hillis-Steele against Blelloch", "scan", "ALGORITHM",
     {"hillis_steele", "blelloch", "blelloch_padded", "warp_shuffle"}, false, {"barrier", "short_scoreboard"},
     "Blelloch's scan does n additions where that of Hillis and Steele does n log n, so it is the faster one.", NAN,
     "scan --type f32 --op sum --size 1Mi --set ALGORITHM=hillis_steele,blelloch,blelloch_padded,warp_shuffle"},
    {"atomics", "An atomic for each kept element against a scan", "compact", "METHOD",
     {"simple", "atomic", "warp_aggregated", "block_aggregated", "scan_scatter", "look_back"}, false, {"long_scoreboard", NULL},
     "Atomics serialise; a scan gives each element its place without them, and in order.", NAN,
     "compact --type f32 --size 16Mi --any-order --set METHOD=simple,atomic,warp_aggregated,block_aggregated,scan_scatter"},
    {"special_functions", "Library functions against fast forms", "special", "EARLY", {"library", "fast", "polynomial"},
     false, {"math_pipe_throttle", "short_scoreboard"},
     "Fast forms (__sinf, __expf) are several times as fast as the library's, and good enough.", NAN,
     "special.cu --size 1Mi --set STEPS=5,6,8 --vary EARLY,LAST"},
};

const st_tour_stop *st_tour_stops(size_t *count)
{
    *count = sizeof table / sizeof table[0];
    return table;
}
