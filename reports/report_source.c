// SPDX-License-Identifier: Apache-2.0
// What the stored text of a template says: what it computes; of its parameters roles, default values, and the comment above
// them; the comment above the default. Only what a report shows is read; the whole language of directives is the tuner's (tuner/template.h). Invariants: 1. a
// text that is not understood is no error: what it would have said stays unknown; 2. nothing is read from disk.
#include "reports/report_internal.h"

#include "reports/format.h"
#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/base/roles.h"

#include <string.h>

static const char mark[] = "// simtune:";

// To add a role: base/roles.h, and its word here.
static const struct {
    const char *name;
    unsigned bit;
} roles[] = {{"ilp", ST_ROLE_ILP},   {"mlp", ST_ROLE_MLP},   {"tlp", ST_ROLE_TLP},  {"sync", ST_ROLE_SYNC},
             {"smem", ST_ROLE_SMEM}, {"work", ST_ROLE_WORK}, {"regs", ST_ROLE_REGS}};

typedef struct source_reading {
    st_reported_session *session;
    st_text comment;   // the paragraph that stands above
    bool comment_ends; // a directive followed it: the next comment begins a new one
} source_reading;

static bool next_word(const char **at, const char *end, const char **word, size_t *length)
{
    while (*at < end && strchr(" \t=", **at))
        ++*at;
    *word = *at;
    while (*at < end && !strchr(" \t=", **at))
        ++*at;
    *length = (size_t)(*at - *word);
    return *length > 0;
}

static bool is_word(const char *word, size_t length, const char *text)
{
    return strlen(text) == length && memcmp(word, text, length) == 0;
}

static st_reported_parameter *find(st_reported_session *session, const char *name, size_t length)
{
    for (size_t i = 0; i < session->parameter_count; i++)
        if (is_word(name, length, session->parameters[i].name))
            return &session->parameters[i];
    return NULL;
}

// "ALGORITHM = a b c  role sync smem runtime"
static bool take_parameter(source_reading *at, const char *from, const char *end)
{
    const char *word;
    size_t length;
    bool is_role = false;
    st_reported_parameter *parameter = next_word(&from, end, &word, &length) ? find(at->session, word, length) : NULL;
    if (!parameter || parameter->roles || parameter->meaning)
        return true;
    while (next_word(&from, end, &word, &length)) {
        for (size_t i = 0; i < sizeof roles / sizeof *roles && is_role; i++)
            if (is_word(word, length, roles[i].name))
                parameter->roles |= roles[i].bit;
        is_role = is_role || is_word(word, length, "role");
    }
    if (!at->comment.length)
        return true;
    parameter->meaning = st_strdup(st_text_string(&at->comment));
    return parameter->meaning != NULL;
}

// "summary  sums of n elements": the first there is.
static bool take_summary(source_reading *at, const char *from, const char *end)
{
    while (from < end && (*from == ' ' || *from == '\t'))
        from++;
    if (at->session->summary || from == end)
        return true;
    at->session->summary = st_strndup(from, (size_t)(end - from));
    return at->session->summary != NULL;
}

// "ALGORITHM=hillis_steele BLOCK=256"
static bool take_default(source_reading *at, const char *from, const char *end)
{
    bool is_first = !at->session->standard_words && at->comment.length;
    if (is_first && !(at->session->standard_words = st_strdup(st_text_string(&at->comment))))
        return false;
    const char *name, *value;
    size_t name_length, length;
    while (next_word(&from, end, &name, &name_length) && next_word(&from, end, &value, &length)) {
        st_reported_parameter *parameter = find(at->session, name, name_length);
        for (size_t i = 0; parameter && i < parameter->value_count; i++)
            if (is_word(value, length, parameter->values[i]))
                parameter->standard = (int)i;
    }
    return true;
}

static void take_comment(source_reading *at, const char *from, const char *end)
{
    if (at->comment_ends)
        st_text_clear(&at->comment);
    at->comment_ends = false;
    while (from < end && (*from == '/' || *from == ' '))
        from++;
    if (from == end) { // an empty comment line ends a paragraph
        at->comment_ends = true;
        st_text_clear(&at->comment);
        return;
    }
    st_text_add(&at->comment, at->comment.length ? " " : "");
    st_text_add_bytes(&at->comment, from, (size_t)(end - from));
}

static bool take_line(source_reading *at, const char *line, const char *end)
{
    while (line < end && (*line == ' ' || *line == '\t'))
        line++;
    size_t length = (size_t)(end - line);
    if (length < 2 || line[0] != '/' || line[1] != '/') {
        st_text_clear(&at->comment);
        return true;
    }
    if (length < sizeof mark - 1 || memcmp(line, mark, sizeof mark - 1) != 0) {
        take_comment(at, line, end);
        return true;
    }
    const char *from = line + sizeof mark - 1, *word;
    if (!next_word(&from, end, &word, &length))
        return true;
    at->comment_ends = true;
    if (is_word(word, length, "summary"))
        return take_summary(at, from, end);
    if (is_word(word, length, "default"))
        return take_default(at, from, end);
    return !is_word(word, length, "param") || take_parameter(at, from, end);
}

static bool read_text(st_reported_session *session, const char *text)
{
    source_reading at = {.session = session, .comment_ends = true};
    bool fine = true;
    st_text_init(&at.comment);
    for (const char *line = text; *line && fine;) {
        size_t length = strcspn(line, "\n");
        fine = take_line(&at, line, line + length);
        line += length + (line[length] == '\n');
    }
    fine = fine && !at.comment.failed;
    st_text_release(&at.comment);
    return fine;
}

st_code report_source(st_reported_session *session, const char *template_json, st_error *error)
{
    const char *name;
    json_t *text;
    if (!template_json || !template_json[0])
        return ST_OK;
    st_code code = st_json_parse(template_json, strlen(template_json), "the template", &session->sources, NULL);
    if (code == ST_NO_MEMORY)
        return st_fail_memory(error, "reading the template");
    if (code != ST_OK || !json_is_object(session->sources))
        return ST_OK;
    bool fine = true;
    json_object_foreach(session->sources, name, text)
    {
        const char *string = json_string_value(text);
        if (!string || session->source_file || !strstr(string, "// simtune: family"))
            continue;
        session->source_file = st_strdup(name);
        fine = session->source_file && read_text(session, string);
    }
    return fine ? ST_OK : st_fail_memory(error, "reading the template");
}
