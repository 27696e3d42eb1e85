// SPDX-License-Identifier: Apache-2.0
// Writing HTML. Invariants: 1. text that comes from a store goes through page_words and no other way; 2. what is no valid
// UTF-8, and control characters, become U+FFFD, and what turns text round unseen \uXXXX, so that a log can break neither the page nor its encoding; 3. appending
// never fails on the spot (st_text).
#include "reports/page_internal.h"

#include "reports/format.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void page_raw(page *to, const char *html)
{
    st_text_add(to->out, html);
}

void page_rawf(page *to, const char *format, ...)
{
    char line[2048];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof line)
        to->out->failed = true; // a format of ours that outgrew its place: never half a tag
    else
        st_text_add_bytes(to->out, line, (size_t)length);
}

// Bytes of the character at `text` (of a text that ends with NUL), 0 where nothing stands that a page may hold.
static size_t character(const char *text)
{
    size_t bytes = st_text_character(text);
    const unsigned char *at = (const unsigned char *)text;
    bool is_control =
        (at[0] < 0x20 && at[0] != '\n' && at[0] != '\t') || at[0] == 0x7F || (at[0] == 0xC2 && at[1] < 0xA0);
    bool is_no_character = at[0] == 0xEF && at[1] == 0xBF && at[2] >= 0xBE; // U+FFFE, U+FFFF
    return is_control || is_no_character ? 0 : bytes;
}

void page_bytes(page *to, const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        unsigned char c = (unsigned char)text[i];
        const char *entity = c == '&'    ? "&amp;"
                             : c == '<'  ? "&lt;"
                             : c == '>'  ? "&gt;"
                             : c == '"'  ? "&quot;"
                             : c == '\'' ? "&#39;"
                                         : NULL;
        size_t bytes = entity ? 1 : character(text + i);
        if (bytes > length - i)
            bytes = 0; // the text was cut within a character
        unsigned hidden = bytes > 1 ? st_report_hidden(text + i) : 0;
        if (hidden)
            st_text_addf(to->out, "\\u%04X", hidden);
        else if (entity)
            st_text_add(to->out, entity);
        else if (bytes)
            st_text_add_bytes(to->out, text + i, bytes);
        else
            st_text_add(to->out, "\xEF\xBF\xBD");
        i += bytes ? bytes : 1;
    }
}

void page_words(page *to, const char *text)
{
    if (text)
        page_bytes(to, text, strlen(text));
}

void page_scratch(page *to)
{
    to->out->failed = to->out->failed || to->scratch.failed;
    page_bytes(to, st_text_string(&to->scratch), to->scratch.length);
    st_text_clear(&to->scratch);
}

void page_name(page *to, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "_");
        length += text[length] == '_';
        page_bytes(to, text, length);
        text += length;
        if (*text)
            page_raw(to, "<wbr>");
    }
}

void page_signed(page *to, double value, int digits)
{
    char text[64];
    if (!isfinite(value)) {
        page_raw(to, "-");
        return;
    }
    snprintf(text, sizeof text, "%.*f", digits, fabs(value));
    bool is_zero = strspn(text, "0.") == strlen(text);
    page_rawf(to, "%s%s", is_zero ? "±" : value < 0 ? "−" : "+", text);
}

void page_scroll(page *to, const char *label)
{
    page_rawf(to, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">", label);
}

// --- numbers ---------------------------------------------------------------------------------------------------------

void page_time(page *to, double ns)
{
    st_report_time(&to->scratch, ns);
    page_scratch(to);
}

void page_tick(page *to, double ns)
{
    static const char *const units[] = {"ns", "µs", "ms", "s"};
    int unit = 0;
    for (; ns >= 999.5 && unit < 3; unit++)
        ns /= 1000;
    page_rawf(to, "%.3g %s", ns, units[unit]);
}

void page_speed(page *to, double gbs)
{
    st_report_speed(&to->scratch, gbs);
    page_scratch(to);
}

void page_share(page *to, double share)
{
    st_report_share(&to->scratch, share);
    page_scratch(to);
}

void page_times(page *to, double ratio)
{
    if (isfinite(ratio))
        page_rawf(to, "%.*f ×", ratio < 1.2 ? 3 : ratio < 10 ? 2 : 1, ratio);
    else
        page_raw(to, "-");
}

void page_count(page *to, double count)
{
    char digits[64];
    if (!isfinite(count)) {
        page_raw(to, "-");
        return;
    }
    if (count >= 1e15 || count < 0 || (count < 1000 && count != floor(count))) {
        page_rawf(to, "%.4g", count);
        return;
    }
    int length = snprintf(digits, sizeof digits, "%.0f", count);
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            page_raw(to, "\xE2\x80\xAF"); // a narrow space that does not break
        page_rawf(to, "%c", digits[i]);
    }
}

void page_problem(page *to, const char *problem)
{
    st_report_problem(&to->scratch, problem);
    page_scratch(to);
}

void page_problem_part(page *to, const st_reported_session *session, const char *problem, bool varying)
{
    st_report_problem_part(session, problem, varying, &to->scratch);
    page_scratch(to);
}

// --- candidates ------------------------------------------------------------------------------------------------------

static void add_pair(page *to, const st_reported_parameter *parameter, uint16_t value, bool moved)
{
    page_rawf(to, moved ? "<span class=\"pair moved\">" : "<span class=\"pair\">");
    page_words(to, parameter->name);
    page_raw(to, "=<b>");
    page_words(to, parameter->values[value]);
    page_raw(to, "</b></span> ");
}

void page_configuration(page *to, const page_place *at, int candidate, int standard)
{
    const uint16_t *values = at->problem->candidates[candidate].values;
    const uint16_t *before = standard < 0 ? NULL : at->problem->candidates[standard].values;
    page_raw(to, "<code class=\"config\">");
    for (size_t i = 0; i < at->session->parameter_count; i++)
        if (values[i] != ST_REPORT_NO_VALUE)
            add_pair(to, &at->session->parameters[i], values[i], before && before[i] != values[i]);
    page_raw(to, "</code>");
}

void page_differences(page *to, const page_place *at, int candidate)
{
    const uint16_t *values = at->problem->candidates[candidate].values;
    size_t count = 0;
    page_raw(to, "<code class=\"config\">");
    for (size_t i = 0; i < at->session->parameter_count; i++) {
        int standard = at->session->parameters[i].standard;
        if (values[i] == ST_REPORT_NO_VALUE || (standard >= 0 && values[i] == (uint16_t)standard))
            continue;
        add_pair(to, &at->session->parameters[i], values[i], false);
        count++;
    }
    page_raw(to, count ? "</code>" : "the default</code>");
}

void page_candidate(page *to, const page_place *at, int candidate)
{
    page_rawf(to, "<code class=\"id\" data-c=\"%d\">%.8s</code>", candidate, at->problem->candidates[candidate].id);
}

// --- roles -----------------------------------------------------------------------------------------------------------

void page_roles(page *to, unsigned roles)
{
    static const struct {
        unsigned bit;
        const char *words;
    } words[] = {{ST_ROLE_MLP, "loads in flight"}, {ST_ROLE_ILP, "independent instructions"},
                 {ST_ROLE_TLP, "resident warps"},  {ST_ROLE_SYNC, "how threads come together"},
                 {ST_ROLE_SMEM, "shared memory"},  {ST_ROLE_WORK, "how work is split"},
                 {ST_ROLE_REGS, "registers"}};
    bool first = true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (roles & words[i].bit) {
            page_rawf(to, "%s%s", first ? "" : ", ", words[i].words);
            first = false;
        }
    if (first)
        page_raw(to, "-");
}

// --- stall reasons ---------------------------------------------------------------------------------------------------

// Only names of the table become classes; the style sheet knows them.
void page_stall_class(page *to, const char *name)
{
    const st_stall *stall = st_stall_find(name);
    page_rawf(to, " w-%s", stall ? stall->name : "unknown");
}

const char *page_waits_for(const char *stall_name)
{
    const st_stall *stall = st_stall_find(stall_name);
    return stall ? stall->waits_for : "a reason that this version does not know";
}
