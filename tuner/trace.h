// SPDX-License-Identifier: Apache-2.0
// The timeline of a run, in the Chrome trace format that ui.perfetto.dev and chrome://tracing open: a track for the
// run's phases, one for each process that works for it. Promise: a trace costs a run nothing but memory (some 200
// bytes an event), and never fails it: what is lost shows when it is written. Every function takes NULL for no trace.
#ifndef SIMTUNE_TUNER_TRACE_H
#define SIMTUNE_TUNER_TRACE_H

#include "tuner/base/error.h"

#include <stddef.h>

typedef struct st_trace st_trace;

// The compile processes count up from ST_TRACE_COMPILE.
enum { ST_TRACE_RUN = 1, ST_TRACE_TIMING = 2, ST_TRACE_PROFILING = 3, ST_TRACE_COMPILE = 16, ST_TRACE_TRACKS = 96 };

// Time 0 is now. NULL: no memory.
st_trace *st_trace_new(void);
void st_trace_free(st_trace *trace);

typedef struct st_trace_argument {
    const char *name;
    const char *text; // NULL: the number
    double number;
} st_trace_argument;

// Something that went on on a track from `began` to `ended` (st_clock_seconds). Spans of one track lie beside or
// within one another. `category` is what viewers filter by; texts are copied.
void st_trace_span(st_trace *trace, int track, const char *category, const char *name, double began, double ended,
                   const st_trace_argument *arguments, size_t count);
// A value that a chart shows over time, from now on. NaN is left out.
void st_trace_value(st_trace *trace, const char *name, const char *unit, double value);
// A fact about the whole run, beside the events.
void st_trace_about(st_trace *trace, const char *name, const char *text);
// The name of the program's line over all tracks.
void st_trace_title(st_trace *trace, const char *title);
// The whole file, in an order that depends on the events alone.
st_code st_trace_write(const st_trace *trace, const char *path, st_error *error);

#endif
