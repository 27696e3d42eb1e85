// SPDX-License-Identifier: Apache-2.0
// Shared by the forms in which something is explained.
#ifndef SIMTUNE_REPORTS_EXPLAIN_INTERNAL_H
#define SIMTUNE_REPORTS_EXPLAIN_INTERNAL_H

#include "reports/explain.h"

// A bar of `columns`: █ for what waits while nothing is issued, ░ for what waits while another warp issues. What is
// not 0 shows. `idle` NaN: all of it is █.
void explain_bar(st_text *out, double share, double idle, int columns);
// "reduce_blocks" out of "_ZN7simtune13reduce_blocksI…"; the whole name when it is none of ours.
void explain_kernel(st_text *out, const char *function);
// The line of a stored source, its white space at both ends left out; false: it is not there.
bool explain_source_line(const st_reported_session *session, const char *file, int line, st_text *out);
// Why a change that articles praise brought less than they promise: the first reason that the figures of both show, as a
// sentence with a blank before it. Nothing when they show none. `from` and `to` are the values of the parameter.
void explain_why_less(const st_profile_view *before, const st_profile_view *after, const char *from, const char *to,
                      st_text *out);
// The kernel that most samples of a profile are in; false: no lines.
bool explain_hottest_kernel(const st_reported_profile *profile, st_text *out);

#endif
