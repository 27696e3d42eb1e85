// SPDX-License-Identifier: Apache-2.0
// A page as a browser takes it apart, strictly: what a report writes must be well-formed, and nothing that others wrote
// may become markup. Every function ends the process (FUZZ_MUST) where a promise is not kept.
#ifndef SIMTUNE_TESTS_HTML_CHECKS_H
#define SIMTUNE_TESTS_HTML_CHECKS_H

#include <stddef.h>

// UTF-8 without control characters, tabs and line ends aside.
void check_plain_utf8(const char *text, size_t length, const char *what);
// Elements nest and close; attributes are quoted, none handles events or leads out of the page; every & is an entity;
// there are `scripts` script elements. `data` (may be NULL) gets the beginning and length of the one of type
// application/json.
void check_html(const char *text, size_t length, size_t scripts, const char **data, size_t *data_length);
// Outside of code no markup but the page's own, and no code that is left open in a line.
void check_markdown(const char *text);

#endif
