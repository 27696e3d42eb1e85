// SPDX-License-Identifier: Apache-2.0
// A comparison as Markdown, for a comment on a change. Invariants: 1. no cell holds a bar or a line's end of its own;
// 2. what got worse stands first, above the fold, the whole table below.
#include "reports/compare_internal.h"

#include "reports/format.h"
#include "tuner/base/clock.h"

#include <math.h>
#include <string.h>

static void add_configuration(st_text *out, const st_compare_pair *pair)
{
    st_report_markdown_code(out, pair->a->row.configuration);
    if (!pair->b || strcmp(pair->a->row.configuration, pair->b->row.configuration) == 0)
        return;
    st_text_add(out, " → ");
    st_report_markdown_code(out, pair->b->row.configuration);
}

static void add_why(st_text *out, const st_compare_pair *pair)
{
    bool began = pair->reason[0] != '\0';
    st_report_markdown_words(out, pair->reason);
    for (size_t i = 0; i < pair->moved_count && i < 3; i++, began = true) {
        st_text_add(out, began ? "; " : "");
        st_compare_add_moved(&pair->moved[i], out);
    }
    for (unsigned bit = 1; bit < 1u << ST_DIFFERS_KINDS; bit <<= 1)
        if (pair->differs & bit) {
            st_text_addf(out, "%s%s differs", began ? "; " : "", st_differs_name(bit));
            began = true;
        }
    if (pair->note) {
        char date[ST_DATE_TEXT];
        st_clock_date(pair->note->acknowledged_ms, date);
        st_text_add(out, began ? "; acknowledged by " : "acknowledged by ");
        st_report_markdown_words(out, pair->note->author ? pair->note->author : "-");
        st_text_addf(out, " on %s: ", date);
        st_report_markdown_words(out, pair->note->reason);
        st_text_add(out, pair->note->surpassed ? "; but it got worse since" : "");
    }
}

static void add_line(st_text *out, const st_compare_pair *pair)
{
    const st_compare_row *row = &pair->a->row;
    st_text_addf(out, "| %s ", row->family);
    st_text problem;
    st_text_init(&problem);
    st_report_problem(&problem, row->problem);
    st_report_markdown_words(out, st_text_string(&problem));
    out->failed = out->failed || problem.failed;
    st_text_release(&problem);
    st_text_addf(out, " | %s | ", row->cache);
    st_report_markdown_words(out, row->device_name);
    st_text_add(out, " | ");
    st_report_time(out, pair->a_ns);
    st_text_add(out, " | ");
    if (pair->b)
        st_report_time(out, pair->b_ns);
    else
        st_text_add(out, "nothing valid");
    st_text_add(out, " | ");
    if (pair->b)
        compare_add_gaps(out, pair->ratio);
    else
        st_text_add(out, "-");
    bool strong = pair->change == ST_CHANGE_WORSE;
    st_text_addf(out, " | %s%s%s | ", strong ? "**" : "", st_change_name(pair->change), strong ? "**" : "");
    add_configuration(out, pair);
    st_text_add(out, " | ");
    add_why(out, pair);
    st_text_add(out, " |\n");
}

static void add_table(st_text *out, const st_comparison *made, bool worse)
{
    bool began = false;
    for (size_t i = 0; i < made->count; i++) {
        if ((made->pairs[i].change == ST_CHANGE_WORSE) != worse)
            continue;
        if (!began)
            st_text_addf(out, "\n| problem | cache | device | %s | %s | change (95 %%) | verdict | configuration | why |\n"
                              "|---|---|---|---|---|---|---|---|---|\n",
                         made->against_baseline ? "baseline" : "A", made->against_baseline ? "now" : "B");
        began = true;
        add_line(out, &made->pairs[i]);
    }
}

static void add_only(st_text *out, const st_comparison *made, int side)
{
    if (!made->only_count[side])
        return;
    st_text_addf(out, "\nOnly %s has:\n\n",
                 made->against_baseline ? (side ? "the new session" : "the baseline") : side ? "B" : "A");
    for (size_t i = 0; i < made->only_count[side]; i++) {
        const st_compare_row *row = side ? &made->only[side][i].b->row : &made->only[side][i].a->row;
        st_text_addf(out, "- %s ", row->family);
        st_report_problem(out, row->problem);
        st_text_addf(out, ", %s\n", row->cache);
    }
}

void st_comparison_markdown(const st_comparison *made, st_text *out)
{
    for (int side = 0; side < 2; side++)
        if (made->sides[side].label) {
            st_text_addf(out, "- %s: ", side ? "B" : "A");
            st_report_markdown_words(out, made->sides[side].label);
            st_text_add(out, "\n");
        }
    st_text_add(out, made->sides[0].label || made->sides[1].label ? "\n**" : "**");
    compare_add_counts(out, made);
    st_text_addf(out, "** (from %.3g %% on between sessions, %.3g %% within one)\n", made->rules.between * 100,
                 made->rules.within * 100);
    add_table(out, made, true);
    add_table(out, made, false);
    add_only(out, made, 0);
    add_only(out, made, 1);
}
