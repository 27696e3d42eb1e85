// SPDX-License-Identifier: Apache-2.0
// Words of others, and our own where not all can be shown: in a terminal, in Markdown, in a locale without UTF-8.
// Invariants: 1. what changes the order or the lines of text without being seen stands as \uXXXX; 2. in Markdown what others
// wrote ends no cell, no code and no paragraph, and begins no markup; 3. in ASCII, tables keep their columns.
#include "reports/format.h"

#include <string.h>

// --- what is not seen ----------------------------------------------------------------------------------------------------
unsigned st_report_hidden(const char *at)
{
    static const struct {
        unsigned first, last;
    } ranges[] = {{0x061C, 0x061C}, {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x2069}, {0xFEFF, 0xFEFF}};
    const unsigned char *byte = (const unsigned char *)at;
    unsigned code = 0;
    if (*byte < 0xD8 || !st_text_character(at))
        return 0;
    if ((*byte & 0xE0) == 0xC0)
        code = (*byte & 0x1Fu) << 6 | (byte[1] & 0x3Fu);
    else if ((*byte & 0xF0) == 0xE0)
        code = (*byte & 0x0Fu) << 12 | (byte[1] & 0x3Fu) << 6 | (byte[2] & 0x3Fu);
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return code;
    return 0;
}

// Bytes of the character at `at` that a terminal may see; 0: it may not, and takes *length bytes.
static size_t safe_bytes(const char *at, bool colour, size_t *length)
{
    unsigned char c = (unsigned char)*at, next = c ? (unsigned char)at[1] : 0;
    *length = 1;
    if (c >= 0xD8 && st_report_hidden(at)) {
        *length = st_text_character(at);
        return 0;
    }
    if ((c >= ' ' && c != 0x7f && c != 0xc2) || c == '\n' || c == '\t')
        return 1;
    if (c == 0xc2) { // U+0080 to U+009F are controls; what is no UTF-8 may be taken for one by a terminal of 8 bits
        *length = next >= 0x80 && next <= 0x9f ? 2 : 1;
        return next > 0x9f && next <= 0xbf ? 2 : 0;
    }
    size_t digits = c == 0x1b && next == '[' ? strspn(at + 2, "0123456789;") : 0;
    return colour && digits && at[2 + digits] == 'm' ? digits + 3 : 0;
}

bool st_report_is_safe(const char *words, bool colour)
{
    size_t skipped;
    for (size_t bytes; *words; words += bytes)
        if (*words >= ' ' && *words < 0x7f)
            bytes = 1;
        else if (!(bytes = safe_bytes(words, colour, &skipped)))
            return false;
    return true;
}

void st_report_safe(st_text *text, const char *words, bool colour)
{
    while (*words) {
        size_t skipped, bytes = safe_bytes(words, colour, &skipped);
        unsigned hidden = bytes ? 0 : st_report_hidden(words);
        if (hidden)
            st_text_addf(text, "\\u%04X", hidden);
        else
            st_text_add_bytes(text, bytes ? words : "?", bytes ? bytes : 1);
        words += bytes ? bytes : skipped;
    }
}

// --- without UTF-8 ---------------------------------------------------------------------------------------------------------
void st_report_ascii(st_text *text, const char *words)
{
    // What this program itself writes. Names of others stay as they are: whoever reads them knows their encoding.
    static const struct {
        const char *character, *ascii;
    } rows[] = {{"×", "x"}, {"µ", "u"}, {"–", "-"}, {"→", "->"}, {"…", "..."}, {"·", "-"}, {"≥", ">="}, {"≤", "<="},
                {"≈", "~"}, {"−", "-"},
                {"°", " "}, {"█", "#"}, {"░", "."}, {"▉", "#"}, {"▊", "#"}, {"▋", "#"}, {"▌", "#"}, {"▍", " "},
                {"▎", " "}, {"▏", " "}, {"▁", "."}, {"▂", "."}, {"▃", "-"}, {"▄", "-"}, {"▅", "="}, {"▆", "="},
                {"▇", "#"}, {"─", "-"}, {"│", "|"}, {"├", "|"}, {"└", "`"}, {"²", "2"}};
    while (*words) {
        size_t plain = 0, row = 0;
        while (words[plain] && (unsigned char)words[plain] < 0x80)
            plain++;
        st_text_add_bytes(text, words, plain);
        words += plain;
        if (!*words)
            return;
        while (row < sizeof rows / sizeof *rows && !st_text_starts(words, rows[row].character))
            row++;
        bool known = row < sizeof rows / sizeof *rows;
        size_t length = known ? strlen(rows[row].character) : 1;
        st_text_add(text, known ? rows[row].ascii : "");
        st_text_add_bytes(text, words, known ? 0 : 1);
        words += length;
    }
}

// --- Markdown --------------------------------------------------------------------------------------------------------------
void st_report_markdown_words(st_text *out, const char *words)
{
    while (*words) {
        size_t length = st_text_character(words);
        unsigned char c = (unsigned char)*words;
        unsigned hidden = st_report_hidden(words);
        if (hidden)
            st_text_addf(out, "\\\\u%04X", hidden);
        else if (c == '<')
            st_text_add(out, "&lt;");
        else if (c == '&')
            st_text_add(out, "&amp;");
        else if (strchr("|\\`*_[]#~>@$", c))
            st_text_addf(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f || !length)
            st_text_add(out, length ? " " : "?");
        else
            st_text_add_bytes(out, words, length);
        words += length ? length : 1;
    }
}

// Between backticks nothing can be escaped, and a bar ends a cell even there; an element of HTML holds escaped words as they are.
void st_report_markdown_code(st_text *out, const char *words)
{
    bool plain = strpbrk(words, "`|\\") == NULL;
    for (const char *at = words; *at && plain; at += plain ? st_text_character(at) : 0)
        plain = (unsigned char)*at >= 0x20 && *at != 0x7f && st_text_character(at) && !st_report_hidden(at);
    st_text_add(out, plain ? "`" : "<code>");
    if (plain)
        st_text_add(out, words);
    else
        st_report_markdown_words(out, words);
    st_text_add(out, plain ? "`" : "</code>");
}
