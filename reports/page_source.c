// SPDX-License-Identifier: Apache-2.0
// The source with the heat of the stalls: the lines that the warps of winner and default wait at, each with what it waits
// for and a few lines about it. Invariants: 1. a line's share is of all samples of its profile; 2. the source is the
// stored one, that was measured; 3. lines stand in the order of the file, the hottest are found by their bars.
#include "reports/page_internal.h"

#include "reports/format.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HOT_MOST = 10, CONTEXT = 2 };
static const double winner_least = 0.008, standard_least = 0.03; // shares below which a line is not sought out

typedef struct hot_file {
    const char *name, *text;
    size_t count; // of its lines
    bool *shown;  // by line, from 1
    double share; // of the winner's samples, all lines
} hot_file;

static const st_reported_line *line_of(const st_reported_profile *profile, const char *file, int line)
{
    for (size_t i = 0; profile && i < profile->line_count; i++)
        if (profile->lines[i].line == line && strcmp(profile->lines[i].file, file) == 0)
            return &profile->lines[i];
    return NULL;
}

static size_t lines_in(const char *text)
{
    size_t count = 1;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

static void show_around(hot_file *file, int line)
{
    for (int i = line - CONTEXT; i <= line + CONTEXT; i++)
        if (i >= 1 && (size_t)i <= file->count)
            file->shown[i] = true;
}

static void mark(hot_file *file, const st_reported_profile *profile, double least)
{
    size_t hot = 0;
    for (size_t i = 0; profile && i < profile->line_count && hot < HOT_MOST; i++) { // most samples first
        const st_reported_line *line = &profile->lines[i];
        if (line->share < least)
            break;
        hot++;
        if (strcmp(line->file, file->name) == 0 && line->line > 0)
            show_around(file, line->line);
    }
}

static void add_heat(page *to, const st_reported_line *line, double most, const char *classes)
{
    page_raw(to, "<td class=\"n\">");
    if (line)
        page_share(to, line->share);
    page_raw(to, "</td><td class=\"barcell\">");
    if (line)
        page_rawf(to, "<span class=\"bar %s\"><i style=\"width:%.1f%%\"></i></span>", classes,
                  100 * line->share / most);
    page_raw(to, "</td>");
}

static void add_code_line(page *to, const hot_file *file, int number, const char *text, size_t length,
                          const st_reported_profile *winner, const st_reported_profile *standard, double most)
{
    const st_reported_line *after = line_of(winner, file->name, number),
                           *before = line_of(standard, file->name, number);
    double heat = after ? after->share / most : 0;
    page_rawf(to, "<tr%s><td class=\"n line\">%d</td>",
              heat >= 0.5    ? " class=\"hot\""
              : heat >= 0.15 ? " class=\"warm\""
                             : "",
              number);
    if (!after && !before) { // of most lines there is nothing to say
        page_rawf(to, "<td colspan=\"%d\"></td><td class=\"code\"><code>", standard ? 5 : 3);
        page_bytes(to, text, length);
        page_raw(to, "</code></td></tr>");
        return;
    }
    add_heat(to, after, most, "w");
    if (standard)
        add_heat(to, before, most, "d");
    page_raw(to, "<td>");
    if (after && after->stall_name[0]) {
        page_raw(to, "<i class=\"key");
        page_stall_class(to, after->stall_name);
        page_raw(to, "\"></i>");
        page_words(to, after->stall_name);
    }
    page_raw(to, "</td><td class=\"code\"><code>");
    page_bytes(to, text, length);
    page_raw(to, "</code></td></tr>");
}

static void add_file(page *to, const hot_file *file, const st_reported_profile *winner,
                     const st_reported_profile *standard, double most)
{
    page_raw(to, "<h4><code>");
    page_words(to, file->name);
    page_raw(to, "</code> <span class=\"note\">");
    page_share(to, file->share);
    page_raw(to, " of the winner's samples</span></h4>");
    page_scroll(to, "source");
    page_raw(to, "<table class=\"source\"><thead><tr><th scope=\"col\" "
                 "class=\"n\">line</th><th scope=\"col\" colspan=\"2\"><i class=\"key w\"></i>winner</th>");
    if (standard)
        page_raw(to, "<th scope=\"col\" colspan=\"2\"><i class=\"key d\"></i>default</th>");
    page_raw(to, "<th scope=\"col\">waits for</th><th scope=\"col\">source</th></tr></thead><tbody>");
    const char *at = file->text;
    bool gap = false;
    for (size_t line = 1; line <= file->count; line++) {
        size_t length = strcspn(at, "\n");
        if (file->shown[line]) {
            if (gap)
                page_rawf(to, "<tr class=\"gap\"><td colspan=\"%d\">⋯</td></tr>", standard ? 7 : 5);
            add_code_line(to, file, (int)line, at, length, winner, standard, most);
        }
        gap = !file->shown[line] && (gap || line > 1);
        at += length + (at[length] == '\n');
    }
    page_raw(to, "</tbody></table></div>");
}

static double share_in(const st_reported_profile *profile, const char *file)
{
    double share = 0;
    for (size_t i = 0; i < profile->line_count; i++)
        share += strcmp(profile->lines[i].file, file) == 0 ? profile->lines[i].share : 0;
    return share;
}

static bool show_file(page *to, const char *name, const char *text, const st_reported_profile *winner,
                      const st_reported_profile *standard, double most)
{
    hot_file file = {.name = name, .text = text, .count = lines_in(text)};
    file.shown = st_calloc(file.count + 2, sizeof *file.shown);
    if (!file.shown)
        return false;
    mark(&file, winner, winner_least);
    mark(&file, standard, standard_least);
    file.share = share_in(winner, name);
    bool any = false;
    for (size_t i = 1; i <= file.count; i++)
        any = any || file.shown[i];
    if (any)
        add_file(to, &file, winner, standard, most);
    st_free(file.shown);
    return true;
}

static bool has_source(const page_place *at, const st_reported_profile *profile)
{
    for (size_t i = 0; i < profile->line_count; i++)
        if (profile->lines[i].line > 0 && json_object_get(at->session->sources, profile->lines[i].file))
            return true;
    return false;
}

// The largest share of a file that is below `above`; negative: there is none.
static double next_share(const page_place *at, const st_reported_profile *winner, double above)
{
    const char *name;
    json_t *text;
    double next = -1;
    json_object_foreach(at->session->sources, name, text)
    {
        double share = share_in(winner, name);
        next = share < above ? fmax(next, share) : next;
    }
    return next;
}

void page_source(page *to, const page_place *at)
{
    const st_reported_profile *winner = at->result->winner_profile, *standard = at->result->standard_profile;
    const char *name;
    json_t *text;
    bool fine = true;
    if (!winner || !winner->line_count || !has_source(at, winner))
        return;
    if (at->result->standard == at->result->winner || !standard || !standard->line_count)
        standard = NULL;
    double most = fmax(winner->lines[0].share, standard ? standard->lines[0].share : 0);
    page_raw(to, "<section><h3>Source, by where warps wait</h3><p class=\"note\">Share of all samples that fell on the "
                 "line, with what "
                 "most of them wait for. The wait is for what an earlier line began.</p>");
    for (double above = INFINITY, share; (share = next_share(at, winner, above)) >= 0;
         above = share) { // the hottest file first
        json_object_foreach(at->session->sources, name, text)
        {
            if (fine && json_is_string(text) && share_in(winner, name) == share)
                fine = show_file(to, name, json_string_value(text), winner, standard, most);
        }
    }
    page_raw(to, "</section>");
    to->out->failed = to->out->failed || !fine;
}
