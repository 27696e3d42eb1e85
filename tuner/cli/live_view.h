// SPDX-License-Identifier: Apache-2.0
// A run while it goes on, on stderr. On a terminal some lines that are drawn anew: progress with the time left, the
// best so far, the last outcome, what failed. Elsewhere one line for each problem when it is over. Promise: no line
// is wider than the terminal; nothing of the view is left when it ends; notes stand above it, whole.
#ifndef SIMTUNE_CLI_LIVE_VIEW_H
#define SIMTUNE_CLI_LIVE_VIEW_H

#include "tuner/cli/cli.h"
#include "tuner/run.h"

typedef struct st_live_view {
    FILE *out;
    bool terminal, colour, unicode;
    double drawn;          // st_clock_seconds of the last drawing
    int lines;             // that stand on the terminal now
    // Elsewhere: what will be said of the problem at hand.
    bool any;
    size_t index, said;    // of that problem; problems below `said` have their line
    st_text line;
} st_live_view;

void st_live_begin(st_live_view *view, const st_cli *cli);
void st_live_end(st_live_view *view);
// As st_tune_listener wants them; the context is the view.
void st_live_progress(void *view, const st_progress *progress);
void st_live_note(void *view, const char *text);

#endif
