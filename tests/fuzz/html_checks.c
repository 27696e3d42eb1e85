// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/html_checks.h"

#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { DEEPEST = 200, NAME_MOST = 32 };

void check_plain_utf8(const char *text, size_t length, const char *what)
{
    FUZZ_MUST(strlen(text) == length, "%s holds a NUL", what);
    for (const char *at = text; *at;) {
        size_t bytes = st_text_character(at);
        unsigned char c = (unsigned char)*at;
        FUZZ_MUST(bytes, "%s is not UTF-8 at %td", what, at - text);
        FUZZ_MUST(c == '\t' || c == '\n' || (c >= 0x20 && c != 0x7f), "%s holds the control character %02x at %td", what, c,
                  at - text);
        at += bytes;
    }
}

// --- HTML ----------------------------------------------------------------------------------------------------------

typedef struct html {
    const char *start, *at;
    char open[DEEPEST][NAME_MOST];
    size_t depth, scripts;
    const char *data;
    size_t data_length;
} html;

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

static const char *around(const html *in)
{
    static char part[81];
    snprintf(part, sizeof part, "%.80s", in->at);
    return part;
}

// &lt; &#39; and their kind.
static void entity(html *in)
{
    size_t length = strcspn(in->at, ";");
    bool number = in->at[1] == '#';
    size_t digits = number ? strspn(in->at + 2, "0123456789abcdefxABCDEFX") : 0;
    static const char *const known[] = {"&lt", "&gt", "&amp", "&quot", "&nbsp", "&thinsp", NULL};
    char word[NAME_MOST];
    snprintf(word, sizeof word, "%.*s", (int)(length < NAME_MOST ? length : 0), in->at);
    FUZZ_MUST(in->at[length] == ';' && (number ? digits == length - 2 && digits : is_one_of(word, known)),
              "no entity: %s", around(in));
    in->at += length + 1;
}

static void take_name(html *in, char *out)
{
    size_t length = strspn(in->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-:_");
    FUZZ_MUST(length && length < NAME_MOST, "no name: %s", around(in));
    memcpy(out, in->at, length);
    out[length] = '\0';
    in->at += length;
}

static void check_attribute(const html *in, const char *element, const char *name, const char *value, size_t length)
{
    bool inside = length && (value[0] == '#' || strncmp(value, "data:,", 6) == 0);
    FUZZ_MUST(strncasecmp(name, "on", 2) != 0, "an event handler: %s of %s", name, element);
    FUZZ_MUST((strcasecmp(name, "href") != 0 && strcasecmp(name, "src") != 0) || inside, "%s leads out: %.*s", name,
              (int)length, value);
    (void)in;
}

// name="value" …; to the end of the tag. True: it closes itself.
static bool attributes(html *in, const char *element, char *type)
{
    type[0] = '\0';
    for (;;) {
        in->at += strspn(in->at, " \n");
        if (*in->at == '>' || (in->at[0] == '/' && in->at[1] == '>'))
            break;
        char name[NAME_MOST];
        take_name(in, name);
        if (*in->at != '=')
            continue;
        FUZZ_MUST(in->at[1] == '"', "an attribute without quotes: %s", around(in));
        const char *value = in->at += 2;
        while (*in->at && *in->at != '"') {
            FUZZ_MUST(*in->at != '<', "a tag in an attribute: %s", around(in));
            if (*in->at == '&')
                entity(in);
            else
                in->at++;
        }
        FUZZ_MUST(*in->at == '"', "an attribute without end in %s", element);
        check_attribute(in, element, name, value, (size_t)(in->at - value));
        if (strcmp(name, "type") == 0)
            snprintf(type, NAME_MOST, "%.*s", (int)(in->at - value), value);
        in->at++;
    }
    bool closed = *in->at == '/';
    in->at += closed ? 2 : 1;
    return closed;
}

// What no markup ends but the end of the element itself.
static void raw_text(html *in, const char *element, const char *type)
{
    char end[NAME_MOST + 4];
    snprintf(end, sizeof end, "</%s", element);
    const char *from = in->at;
    while (*in->at && strncasecmp(in->at, end, strlen(end)) != 0) {
        FUZZ_MUST(strncmp(in->at, "<!--", 4) != 0, "a comment in %s", element);
        in->at++;
    }
    FUZZ_MUST(*in->at, "%s without an end", element);
    if (strcmp(element, "script") == 0) {
        in->scripts++;
        if (strcmp(type, "application/json") == 0) {
            FUZZ_MUST(!in->data, "data twice");
            in->data = from;
            in->data_length = (size_t)(in->at - from);
        }
    }
}

static void close_tag(html *in)
{
    char name[NAME_MOST];
    in->at += 2;
    take_name(in, name);
    FUZZ_MUST(*in->at == '>', "an end with attributes: %s", around(in));
    in->at++;
    FUZZ_MUST(in->depth && strcmp(in->open[in->depth - 1], name) == 0, "</%s> ends %s: %s", name,
              in->depth ? in->open[in->depth - 1] : "nothing", around(in));
    in->depth--;
}

static void open_tag(html *in)
{
    static const char *const empty[] = {"meta", "br", "hr", "input", "link", "wbr", NULL};
    static const char *const forbidden[] = {"img", "iframe", "object", "embed", "base", "form", "b>", NULL};
    char name[NAME_MOST], type[NAME_MOST];
    in->at++;
    take_name(in, name);
    FUZZ_MUST(!is_one_of(name, forbidden), "an element that reports have not: %s", name);
    bool closed = attributes(in, name, type);
    if (closed || is_one_of(name, empty))
        return;
    FUZZ_MUST(in->depth < DEEPEST, "too deep");
    memcpy(in->open[in->depth++], name, NAME_MOST);
    if (strcmp(name, "script") == 0 || strcmp(name, "style") == 0)
        raw_text(in, name, type);
}

void check_html(const char *text, size_t length, size_t scripts, const char **data, size_t *data_length)
{
    html in = {.start = text, .at = text};
    check_plain_utf8(text, length, "the page");
    FUZZ_MUST(strncasecmp(text, "<!doctype html>", 15) == 0, "no doctype");
    in.at += 15;
    while (*in.at) {
        if (in.at[0] == '<' && in.at[1] == '/')
            close_tag(&in);
        else if (in.at[0] == '<')
            open_tag(&in);
        else if (*in.at == '&')
            entity(&in);
        else
            in.at++;
    }
    FUZZ_MUST(!in.depth, "%s is not closed", in.open[in.depth ? in.depth - 1 : 0]);
    FUZZ_MUST(in.scripts == scripts, "%zu scripts", in.scripts);
    if (data) {
        *data = in.data;
        *data_length = in.data_length;
    }
}

// --- Markdown ------------------------------------------------------------------------------------------------------

static size_t own_tag(const char *at)
{
    static const char *const tags[] = {"<sub>", "</sub>", "<details>", "</details>", "<summary>", "</summary>",
                                       "<code>", "</code>", NULL};
    for (const char *const *tag = tags; *tag; tag++)
        if (strncmp(at, *tag, strlen(*tag)) == 0)
            return strlen(*tag);
    return 0;
}

void check_markdown(const char *text)
{
    bool code = false;
    check_plain_utf8(text, strlen(text), "the markdown");
    for (const char *at = text; *at;) {
        if (*at == '\n') {
            FUZZ_MUST(!code, "code is left open before: %.60s", at);
            at++;
        } else if (*at == '`') {
            code = !code;
            at++;
        } else if (code) {
            at++;
        } else if (*at == '\\' && at[1] && at[1] != '\n') {
            at += 2;
        } else if (*at == '<') {
            FUZZ_MUST(own_tag(at), "markup: %.60s", at);
            at += own_tag(at);
        } else {
            FUZZ_MUST(*at != '[' && *at != ']' && *at != '_' && *at != '$', "markup of Markdown: %.60s", at);
            at++;
        }
    }
    FUZZ_MUST(!code, "code is left open at the end");
}
