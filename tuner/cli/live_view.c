// SPDX-License-Identifier: Apache-2.0
// Invariants: 1. `lines` lines of the view stand above the cursor, which is at the beginning of a line; 2. what is
// drawn is one write, so that a slow terminal shows whole pictures.
#include "tuner/cli/live_view.h"

#include "reports/format.h"
#include "tuner/base/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

enum { LABEL = 8, WIDEST = 110, NARROWEST = 40, BAR_MOST = 40, USUAL = 80 };
static const double between = 0.1; // seconds

// --- the terminal ------------------------------------------------------------------------------------------------

// Columns that may be written: one less than there are, since some terminals go on in the next line after the last.
static int columns_of(FILE *out)
{
    struct winsize size;
    int columns = ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : USUAL;
    return (columns < WIDEST ? columns : WIDEST) - 1;
}

// A line, cut to the width. Escape sequences are ours alone, and of no width.
static void add_line(st_text *out, const char *line, int width)
{
    int columns = 0;
    bool cut = false;
    for (const char *at = line; *at;) {
        size_t length = *at == '\033' ? strcspn(at, "m") + 1 : st_text_character(at);
        bool shown = *at != '\033';
        cut = cut || (shown && columns == width);
        bool printable = length && (!shown || (unsigned char)*at >= 0x20);
        if (!cut || !shown)
            st_text_add_bytes(out, printable ? at : "?", printable ? length : 1);
        columns += shown && !cut;
        at += length ? length : 1;
    }
    st_text_add(out, "\033[K\n");
}

static void erase(st_live_view *view, st_text *out)
{
    if (view->lines)
        st_text_addf(out, "\033[%dA\r\033[J", view->lines);
    view->lines = 0;
}

static void put_words(const st_live_view *view, const st_text *words)
{
    st_text ascii;
    st_text_init(&ascii);
    if (!view->unicode)
        st_report_ascii(&ascii, st_text_string(words));
    const st_text *shown = view->unicode ? words : &ascii;
    if (!shown->failed)
        fwrite(st_text_string(shown), 1, shown->length, view->out);
    st_text_release(&ascii);
}

static void put(st_live_view *view, st_text *text)
{
    if (!text->failed)
        put_words(view, text);
    fflush(view->out);
    st_text_release(text);
}

// --- words -------------------------------------------------------------------------------------------------------

static void add_styled(const st_live_view *view, const char *style, const char *words, st_text *out)
{
    if (view->colour)
        st_text_addf(out, "\033[%sm%s\033[0m", style, words);
    else
        st_text_add(out, words);
}

// "about 42 s left", "about 3 min left".
static void add_left(double seconds, st_text *out)
{
    if (isnan(seconds))
        return;
    if (seconds < 99.5)
        st_text_addf(out, "about %.0f s left", seconds < 1 ? 1 : seconds);
    else if (seconds < 5940)
        st_text_addf(out, "about %.0f min left", seconds / 60);
    else
        st_text_addf(out, "about %.1f h left", seconds / 3600);
}

// "3 wrong, 1 compile"; nothing when none failed. The words of the gravest come first.
static void add_failures(const size_t *outcomes, st_text *out)
{
    static const st_outcome order[] = {ST_OUTCOME_CRASH,  ST_OUTCOME_WRONG,   ST_OUTCOME_RACE,       ST_OUTCOME_TIMEOUT,
                                       ST_OUTCOME_LAUNCH, ST_OUTCOME_COMPILE, ST_OUTCOME_CONSTRAINT, ST_OUTCOME_SKIPPED};
    bool any = false;
    for (size_t i = 0; outcomes && i < sizeof order / sizeof order[0]; i++) {
        if (!outcomes[order[i]])
            continue;
        st_text_addf(out, "%s%zu %s", any ? ", " : "", outcomes[order[i]], st_outcome_name(order[i]));
        any = true;
    }
}

static void add_bar(const st_live_view *view, const st_progress *progress, int room, st_text *out)
{
    int cells = room < BAR_MOST ? room : BAR_MOST;
    size_t done = progress->done < progress->total ? progress->done : progress->total;
    int full = progress->total ? (int)((double)done / (double)progress->total * cells) : 0;
    if (cells < 10)
        return;
    st_text bar;
    st_text_init(&bar);
    for (int i = 0; i < cells; i++)
        st_text_add(&bar, i < full ? (view->unicode ? "█" : "#") : (view->unicode ? "░" : "."));
    add_styled(view, "36", st_text_string(&bar), out);
    st_text_add(out, "  ");
    st_text_release(&bar);
}

// --- the picture ---------------------------------------------------------------------------------------------------

static void add_head(const st_progress *progress, int width, st_text *out)
{
    st_text head, left;
    st_text_init(&head);
    st_text_init(&left);
    st_text_addf(&head, "[%zu/%zu] ", progress->problem_index + 1, progress->problem_count);
    st_report_problem(&head, progress->problem);
    add_left(progress->seconds_left, &left);
    int gap = width - (int)st_report_columns(st_text_string(&head)) - (int)st_report_columns(st_text_string(&left));
    st_text_add(out, st_text_string(&head));
    if (left.length && gap >= 2)
        st_text_addf(out, "%*s%s", gap, "", st_text_string(&left));
    st_text_release(&left);
    st_text_release(&head);
}

static void add_label(const char *label, st_text *out)
{
    st_text_clear(out);
    st_report_left(out, label, LABEL);
}

static void draw_phase(const st_live_view *view, const st_progress *progress, int width, st_text *line, st_text *out)
{
    char count[64];
    snprintf(count, sizeof count, "%zu/%zu", progress->done, progress->total);
    add_label(progress->phase, line);
    add_bar(view, progress, width - LABEL - (int)strlen(count) - 2, line);
    st_text_add(line, count);
    add_line(out, st_text_string(line), width);
}

static void draw_best(const st_live_view *view, const st_progress *progress, int width, st_text *line, st_text *out)
{
    st_text time;
    if (isnan(progress->best_ns))
        return;
    st_text_init(&time);
    st_report_time(&time, progress->best_ns);
    add_label("best", line);
    add_styled(view, "1;32", st_text_string(&time), line);
    if (progress->default_ns > progress->best_ns)
        st_text_addf(line, ", %.2f × the default", progress->default_ns / progress->best_ns);
    st_text_addf(line, "  %s", progress->best);
    add_line(out, st_text_string(line), width);
    st_text_release(&time);
}

static void draw_last(const st_live_view *view, const st_progress *progress, int width, st_text *line, st_text *out)
{
    if (!progress->last[0])
        return;
    bool right = progress->last_outcome == ST_OUTCOME_CORRECT;
    add_label("last", line);
    add_styled(view, right ? "0" : "31", st_outcome_name(progress->last_outcome), line);
    if (!isnan(progress->last_ns)) {
        st_text_add(line, " ");
        st_report_time(line, progress->last_ns);
    }
    st_text_addf(line, "  %s", progress->last);
    add_line(out, st_text_string(line), width);
}

static void draw_failed(const st_live_view *view, const st_progress *progress, int width, st_text *line, st_text *out)
{
    st_text words;
    st_text_init(&words);
    add_failures(progress->outcomes, &words);
    add_label("failed", line);
    add_styled(view, "31", st_text_string(&words), line);
    if (words.length)
        add_line(out, st_text_string(line), width);
    st_text_release(&words);
}

static void draw(st_live_view *view, const st_progress *progress)
{
    int width = columns_of(view->out);
    st_text out, line;
    st_text_init(&out);
    st_text_init(&line);
    if (view->lines)
        st_text_addf(&out, "\033[%dA\r", view->lines);
    size_t body = out.length;
    add_head(progress, width, &line);
    if (width < NARROWEST) { // the essence
        st_text_addf(&line, " %s %zu/%zu", progress->phase, progress->done, progress->total);
        add_line(&out, st_text_string(&line), width);
    } else {
        add_line(&out, st_text_string(&line), width);
        draw_phase(view, progress, width, &line, &out);
        draw_best(view, progress, width, &line, &out);
        draw_last(view, progress, width, &line, &out);
        draw_failed(view, progress, width, &line, &out);
    }
    int lines = 0;
    for (const char *at = st_text_string(&out) + body; (at = strchr(at, '\n')); at++)
        lines++;
    st_text_add(&out, "\033[J");
    view->lines = out.failed ? view->lines : lines;
    st_text_release(&line);
    put(view, &out);
}

// --- elsewhere -------------------------------------------------------------------------------------------------------

// "T=f32 op=sum n=64Ki: 412 of 672 tried, 3 wrong, 1 compile; best 4.612 µs": kept until the problem is over.
static void keep(st_live_view *view, const st_progress *progress)
{
    size_t tried = 0;
    for (int i = 0; progress->outcomes && i < ST_OUTCOME_COUNT; i++)
        tried += progress->outcomes[i];
    st_text_clear(&view->line);
    st_text_addf(&view->line, "[%zu/%zu] ", progress->problem_index + 1, progress->problem_count);
    st_report_problem(&view->line, progress->problem);
    st_text_addf(&view->line, ": %zu tried", tried);
    if (progress->failed)
        st_text_add(&view->line, ", ");
    add_failures(progress->outcomes, &view->line);
    if (!isnan(progress->best_ns)) {
        st_text_add(&view->line, "; best ");
        st_report_time(&view->line, progress->best_ns);
    }
    view->index = progress->problem_index;
    view->any = true;
}

static void say_kept(st_live_view *view)
{
    if (view->any)
        put_words(view, &view->line);
    if (view->any)
        fputc('\n', view->out);
    if (view->any)
        view->said = view->index + 1;
    view->any = false;
}

// --- the interface -----------------------------------------------------------------------------------------------

void st_live_begin(st_live_view *view, const st_cli *cli)
{
    const char *terminal = getenv("TERM");
    *view = (st_live_view){.out = cli->talk, .colour = cli->talk_colour, .unicode = st_cli_is_unicode()};
    view->terminal = cli->talk_is_terminal && terminal && strcmp(terminal, "dumb") != 0;
    st_text_init(&view->line);
}

void st_live_end(st_live_view *view)
{
    st_text out;
    st_text_init(&out);
    erase(view, &out);
    put(view, &out);
    say_kept(view);
    st_text_release(&view->line);
}

void st_live_progress(void *context, const st_progress *progress)
{
    st_live_view *view = context;
    double now = st_clock_seconds();
    if (!view->terminal) {
        if (view->any && progress->problem_index != view->index)
            say_kept(view);
        if (progress->problem_index >= view->said) // counters of a group come when all of its times are there
            keep(view, progress);
    } else if (now - view->drawn >= between) {
        view->drawn = now;
        draw(view, progress);
    }
}

void st_live_note(void *context, const char *text)
{
    st_live_view *view = context;
    st_text out;
    st_text_init(&out);
    erase(view, &out);
    st_text_add(&out, "note: ");
    st_report_safe(&out, text, false); // words of workers and compilers among it
    st_text_add(&out, "\n");
    put(view, &out);
}
