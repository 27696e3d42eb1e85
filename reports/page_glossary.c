// SPDX-License-Identifier: Apache-2.0
// What the names mean: parameters, their values, what they move, and stall reasons. Invariants: 1. for a family that ships
// the words are those of parameter_words.c, else the comment above the parameter in the stored text of the template; 2. a
// parameter without any words keeps its row and says so.
#include "reports/page_internal.h"
#include "reports/parameter_words.h"

#include <string.h>

static const char *words_of(const st_reported_session *session, const st_reported_parameter *parameter)
{
    const char *words = st_parameter_words(session->session.family, parameter->name, NULL);
    return words ? words : parameter->meaning;
}

void page_meaning_words(page *to, const st_reported_session *session, size_t parameter)
{
    const char *words = words_of(session, &session->parameters[parameter]);
    if (!words)
        return;
    page_words(to, session->parameters[parameter].name);
    page_raw(to, ": ");
    page_words(to, words);
    size_t length = strlen(words);
    page_raw(to, length && strchr(".!?", words[length - 1]) ? " " : ". ");
}

void page_meaning(page *to, const st_reported_session *session, const char *name, const char *value)
{
    const char *words = NULL, *of_value = value ? st_parameter_words(session->session.family, name, value) : NULL;
    for (size_t i = 0; i < session->parameter_count && !words; i++)
        if (strcmp(session->parameters[i].name, name) == 0)
            words = words_of(session, &session->parameters[i]);
    if (!words && !of_value)
        return;
    page_raw(to, " title=\"");
    page_words(to, words);
    if (of_value) {
        page_raw(to, words ? "; " : "");
        page_words(to, value);
        page_raw(to, ": ");
        page_words(to, of_value);
    }
    page_raw(to, "\"");
}

static void add_values(page *to, const st_reported_session *session, const st_reported_parameter *parameter)
{
    bool any = false;
    for (size_t v = 0; v < parameter->value_count; v++)
        any = any || st_parameter_words(session->session.family, parameter->name, parameter->values[v]);
    if (!any) {
        for (size_t v = 0; v < parameter->value_count; v++) {
            page_raw(to, v ? ", <code>" : "<code>");
            page_name(to, parameter->values[v]);
            page_raw(to, parameter->standard == (int)v ? "</code> (default)" : "</code>");
        }
        return;
    }
    page_raw(to, "<dl class=\"values\">");
    for (size_t v = 0; v < parameter->value_count; v++) {
        const char *words = st_parameter_words(session->session.family, parameter->name, parameter->values[v]);
        page_raw(to, "<dt><code>");
        page_name(to, parameter->values[v]);
        page_raw(to, parameter->standard == (int)v ? "</code> (default)</dt><dd>" : "</code></dt><dd>");
        page_words(to, words ? words : "-");
        page_raw(to, "</dd>");
    }
    page_raw(to, "</dl>");
}

static void add_parameter(page *to, const st_reported_session *session, const st_reported_parameter *parameter)
{
    const char *words = words_of(session, parameter);
    page_raw(to, "<tr><th scope=\"row\"><code>");
    page_words(to, parameter->name);
    page_raw(to, "</code></th><td>");
    page_words(to, words ? words : "the template says nothing of it");
    page_raw(to, "</td><td>");
    add_values(to, session, parameter);
    page_raw(to, "</td><td>");
    page_roles(to, parameter->roles);
    page_raw(to, "</td></tr>");
}

static void add_roles(page *to, const st_reported_session *session)
{
    const char *name, *words;
    unsigned role, all = 0;
    for (size_t i = 0; i < session->parameter_count; i++)
        all |= session->parameters[i].roles;
    if (!all)
        return;
    page_raw(to, "<h3>What parameters move</h3><p class=\"note\">A template says of each parameter what it moves (its "
                 "role); that is how the advice about a stall becomes a direction of the search.</p><dl class=\"facts\">");
    for (size_t i = 0; st_role_words(i, &role, &name, &words); i++)
        if (all & role) {
            page_rawf(to, "<dt><code>%s</code></dt><dd>", name);
            page_words(to, words);
            page_raw(to, "</dd>");
        }
    page_raw(to, "</dl>");
}

void page_parameters(page *to, int session)
{
    const st_reported_session *of = &to->report->sessions[session];
    page_rawf(to, "<section class=\"glossary\" id=\"s%d-parameters\"><h2>What the names mean</h2>", session);
    if (of->parameter_count) {
        page_scroll(to, "parameters");
        page_raw(to, "<table><thead><tr><th scope=\"col\">parameter</th><th scope=\"col\">what it is</th><th "
                     "scope=\"col\">values that were tried</th><th scope=\"col\">moves</th></tr></thead><tbody>");
        for (size_t i = 0; i < of->parameter_count; i++)
            add_parameter(to, of, &of->parameters[i]);
        page_raw(to, "</tbody></table></div>");
    } else
        page_raw(to, "<p class=\"note\">There are no parameters: nothing was tried.</p>");
    add_roles(to, of);
    page_raw(to, "</section>");
}
