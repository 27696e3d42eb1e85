// SPDX-License-Identifier: Apache-2.0
// The forms of files, and how a name tells one.
#include "db/exchange.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name, *title;
} forms[ST_FORM_COUNT] = {[ST_FORM_JSONL] = {"jsonl", "a history file"},
                          [ST_FORM_T4] = {"t4", "T4 results"},
                          [ST_FORM_KERNEL_TUNER] = {"kernel-tuner", "a Kernel Tuner cache file"}};

const char *const st_exchange_form_names[] = {"jsonl", "t4", "kernel-tuner", NULL};

const char *st_exchange_form_name(st_exchange_form form)
{
    return forms[form].name;
}

const char *st_exchange_form_title(st_exchange_form form)
{
    return forms[form].title;
}

bool st_exchange_form_find(const char *name, st_exchange_form *out)
{
    for (int i = 0; i < ST_FORM_COUNT; i++)
        if (strcmp(forms[i].name, name) == 0) {
            *out = (st_exchange_form)i;
            return true;
        }
    return false;
}

static bool ends(const char *text, size_t length, const char *end)
{
    size_t own = strlen(end);
    return length >= own && strncasecmp(text + length - own, end, own) == 0;
}

// "t4" in "convolution-A4000_T4.json", not in "part42.json".
static bool has_word(const char *text, size_t length, const char *word)
{
    size_t own = strlen(word);
    for (size_t i = 0; i + own <= length; i++)
        if (strncasecmp(text + i, word, own) == 0 && (i == 0 || !isalnum((unsigned char)text[i - 1])) &&
            (i + own == length || !isalnum((unsigned char)text[i + own])))
            return true;
    return false;
}

bool st_exchange_form_of_path(const char *path, st_exchange_form *out)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t length = strlen(name);
    if (ends(name, length, ".gz"))
        length -= 3;
    *out = ST_FORM_JSONL;
    if (!ends(name, length, ".json"))
        return true;
    bool t4 = has_word(name, length, "t4");
    bool tuner = has_word(name, length, "cache") || has_word(name, length, "kernel-tuner") ||
                 has_word(name, length, "kernel_tuner");
    *out = t4 ? ST_FORM_T4 : ST_FORM_KERNEL_TUNER;
    return t4 != tuner;
}
