// SPDX-License-Identifier: Apache-2.0
// How reports and commands write numbers, problems and paragraphs for people. Promise: each function appends;
// unknown (NaN, infinite) is "-", never 0; widths are counted in characters, not in bytes.
#ifndef SIMTUNE_REPORTS_FORMAT_H
#define SIMTUNE_REPORTS_FORMAT_H

#include "tuner/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void st_report_time(st_text *text, double ns);            // "4.612 µs": four significant digits
// In tables that compare candidates: the time on the scale of the finals (base/phases.h), with "≈ " where it was taken in
// another phase; the note below such a table says so.
void st_report_comparable(st_text *text, double median_ns, double comparable_ns);
bool st_report_is_shifted(double median_ns, double comparable_ns);
extern const char st_report_shifted[]; // "≈: …"
void st_report_speed(st_text *text, double bytes_per_ns); // "4512 GB/s"
void st_report_share(st_text *text, double share);        // "96 %", "2.4 %"
void st_report_bytes(st_text *text, int64_t bytes);       // "141.0 GiB", "60 MiB", "512 bytes"; negative: "-"
// "3.42 × the default (3.40–3.45)"; three digits where the interval is narrow about 1.
void st_report_speedup(st_text *text, double ratio, double low, double high);
// "T=f32 op=sum n=256Mi": sizes as people write them.
void st_report_problem(st_text *text, const char *problem);
// "  label    words" with the words from column `indent` on, broken at `width` columns; what does not fit goes
// on below the words' beginning. Several spaces between words become one.
void st_report_row(st_text *text, const char *label, int indent, const char *words, int width);
// Spaces, then the words, so that they end at the column `width` of a table.
void st_report_right(st_text *text, const char *words, int width);
void st_report_left(st_text *text, const char *words, int width);
size_t st_report_columns(const char *text);
// --- escape.c ------------------------------------------------------------------------------------------------------------
// Names and logs come from files and programs of others, and must not steer a terminal: control characters (C1, too) become
// "?", all but tabs and line ends and, with `colour`, sequences that choose a colour or weight. What is hidden is \uXXXX.
void st_report_safe(st_text *text, const char *words, bool colour);
bool st_report_is_safe(const char *words, bool colour);
// The code of the character there when it turns or breaks text without being seen (U+202E, U+2028, U+200B …), else 0.
unsigned st_report_hidden(const char *at);
// For a locale without UTF-8: what this program writes beyond ASCII, in ASCII.
void st_report_ascii(st_text *text, const char *words);
// Running text: every character that Markdown or HTML could take for markup is escaped, a line's end is a space. Code within a
// line or a cell.
void st_report_markdown_words(st_text *out, const char *words);
void st_report_markdown_code(st_text *out, const char *words);

// Walks "A=1 B=2": the next "NAME=VALUE" with its lengths, NULL at the end. *at moves on.
const char *st_report_next_pair(const char **at, size_t *name_length, size_t *length);
// The value of a name in "A=1 B=2" with its length; NULL when it is not there.
const char *st_report_value_of(const char *pairs, const char *name, size_t name_length, size_t *length);

#endif
