// SPDX-License-Identifier: Apache-2.0
// Small pieces of explanations: bars, names of kernels, lines of sources. Pure.
#include "reports/explain_internal.h"

#include "reports/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void explain_bar(st_text *out, double share, double idle, int columns)
{
    double part = isnan(idle) ? share : fmin(idle, share);
    int all = (int)lround(fmin(fmax(share, 0), 1) * columns), dark = (int)lround(fmin(fmax(part, 0), 1) * columns);
    if (!all && share > 0)
        all = 1;
    for (int i = 0; i < all; i++)
        st_text_add(out, i < dark || (isnan(idle) && i < all) ? "█" : "░");
    st_text_addf(out, "%*s", columns - all, "");
}

// Names in a mangled one stand behind their lengths: N 7simtune 13reduce_blocks I …
void explain_kernel(st_text *out, const char *function)
{
    static const char space[] = "7simtune";
    const char *at = strstr(function, space);
    if (at) {
        at += sizeof space - 1;
        char *end;
        unsigned long length = strtoul(at, &end, 10);
        if (end > at && length && length <= strlen(end)) {
            st_text_add_bytes(out, end, length);
            return;
        }
    }
    st_text_add(out, function);
}

void explain_why_less(const st_profile_view *before, const st_profile_view *after, const char *from, const char *to,
                      st_text *out)
{
    double reached = st_view_share_of_limit(after), issue = st_view_value(after, "issue_active", NULL);
    double issued_before = st_view_value(before, "issue_active", NULL);
    int main = st_view_main_stall(before);
    size_t count;
    const st_stall *stalls = st_stalls(&count);
    st_text figure;
    st_text_init(&figure);
    if (reached >= 0.9) {
        st_report_share(&figure, reached);
        st_text_addf(
            out,
            " Less than promised, since the memory's measured speed is the limit: %s moves its bytes at %s of it.",
            to, st_text_string(&figure));
    } else if (issue >= 0.7) {
        st_report_share(&figure, issue);
        st_text_addf(
            out,
            " Less than promised, since the schedulers then issue in %s of cycles: there is no time left to save.",
            st_text_string(&figure));
    } else if (after->ns < 1e4) {
        st_report_time(&figure, after->ns);
        st_text_addf(
            out, " Less than promised, since launching such a kernel takes some µs of %s, which it does not change.",
            st_text_string(&figure));
    } else if (main >= 0 && strcmp(stalls[main].name, "wait") != 0) {
        st_report_share(&figure, before->share[main]);
        st_text_addf(
            out, " Less than promised, since its warps wait mostly for %s (%s of samples), which it does not change.",
            stalls[main].waits_for, st_text_string(&figure));
    } else if (issued_before >= 0.3) {
        st_report_share(&figure, issued_before);
        st_text_addf(
            out,
            " Less than promised, since other warps fill the gaps: with %s the schedulers issue in %s of cycles "
            "already.",
            from, st_text_string(&figure));
    }
    out->failed = out->failed || figure.failed;
    st_text_release(&figure);
}

bool explain_hottest_kernel(const st_reported_profile *profile, st_text *out)
{
    const st_line_sample *best = NULL;
    for (size_t i = 0; i < profile->instruction_count; i++)
        if (!best || profile->instructions[i].samples > best->samples)
            best = &profile->instructions[i];
    if (!best || !best->function[0])
        return false;
    explain_kernel(out, best->function);
    return true;
}

bool explain_source_line(const st_reported_session *session, const char *file, int line, st_text *out)
{
    const char *text = json_string_value(json_object_get(session->sources, file));
    for (int number = 1; text && number < line; number++) {
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    if (!text || line < 1)
        return false;
    size_t length = strcspn(text, "\n");
    while (length && strchr(" \t\r", text[length - 1]))
        length--;
    size_t start = strspn(text, " \t");
    if (start >= length)
        return false;
    st_text_add_bytes(out, text + start, length - start);
    return true;
}
