// SPDX-License-Identifier: Apache-2.0
// What the parameters of the families that ship mean, and their values where these are words: for readers who have never
// seen the template. Promise: constant texts, a sentence without its full stop; NULL where nothing is known, as of users'
// own families, whose templates say it in the comment above the parameter.
#ifndef SIMTUNE_REPORTS_PARAMETER_WORDS_H
#define SIMTUNE_REPORTS_PARAMETER_WORDS_H

#include <stdbool.h>
#include <stddef.h>

// `value` NULL: of the parameter itself.
const char *st_parameter_words(const char *family, const char *parameter, const char *value);

// The n-th role that a parameter may have: its name in templates, and what moving it does. False: there are no more.
bool st_role_words(size_t n, unsigned *role, const char **name, const char **words);

#endif
