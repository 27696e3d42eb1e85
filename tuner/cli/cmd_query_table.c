// SPDX-License-Identifier: Apache-2.0
// The answers of `simtune query` as a table for people.
#include "reports/format.h"
#include "tuner/cli/cmd_query.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void add_head(const st_query_printing *to, st_text *text)
{
    st_text_add(text, to->query->outcomes
                          ? "  outcome     candidate     why\n"
                          : "  cache       time        speed  of mem.  × the default          candidate\n");
}

// Names of devices are others' words: a line stays one.
static void add_line(st_text *text, const char *words)
{
    for (size_t length; *words; words += length + (words[length] != '\0')) {
        length = strcspn(words, "\n\r\t");
        st_text_add_bytes(text, words, length);
        st_text_add(text, words[length] ? "?" : "");
    }
}

// The words of a heading, once.
static bool begin(st_query_printing *to, char *last, size_t size, const char *heading, st_text *text)
{
    if (strcmp(heading, last) == 0)
        return false;
    st_text_addf(text, "%s%s", to->count ? "\n" : "", to->cli->colour ? "\033[1m" : "");
    add_line(text, heading);
    st_text_add(text, to->cli->colour ? "\033[0m\n" : "\n");
    add_head(to, text);
    snprintf(last, size, "%s", heading);
    to->problem[0] = '\0';
    return true;
}

// " (sm_90, 132 SMs)"; nothing for a device of which another tool's file tells the name alone.
static void class_of(const st_answer *row, char out[48])
{
    snprintf(out, 48, row->cc > 0 && row->sm_count > 0 ? " (sm_%d, %d SMs)" : "", row->cc, row->sm_count);
}

static const char *mark_of(const st_answer *row)
{
    return st_text_equal(row->backend, "emu")         ? ", EMULATED"
           : st_text_equal(row->backend, "imported")  ? ", IMPORTED"
           : st_text_equal(row->backend, "generated") ? ", GENERATED"
           : st_text_equal(row->backend, "predicted") ? ", PREDICTED, not measured"
                                                      : "";
}

static void add_device(const st_answer *row, char *out, size_t size)
{
    char class[48];
    class_of(row, class);
    snprintf(out, size, "%s%s, driver %s, %s%s%s", row->device_name, class, row->driver[0] ? row->driver : "-",
             row->compiler[0] ? row->compiler : "-", row->shipped ? ", shipped" : "", mark_of(row));
}

// With --per, the value of the group.
static void head_of_group(st_query_printing *to, const st_answer *row, st_text *text)
{
    char heading[256], size[32], class[48];
    const char *per = to->query->per, *value = row->group ? row->group : "unknown";
    int64_t n;
    if (strcmp(per, "size") == 0 && st_text_to_int(value, &n) && n >= 0) {
        st_text words;
        st_text_init(&words);
        st_text_add_size(&words, (uint64_t)n);
        snprintf(size, sizeof size, "%s", st_text_string(&words));
        st_text_release(&words);
        value = size;
    }
    class_of(row, class);
    if (strcmp(per, "device") == 0)
        snprintf(heading, sizeof heading, "%s%s, %s%s", value, class, row->device_uuid, mark_of(row));
    else
        snprintf(heading, sizeof heading, "%s %s", strcmp(per, "size") == 0 ? "n =" : per, value);
    begin(to, to->group, sizeof to->group, heading, text);
}

static void head_of_device(st_query_printing *to, const st_answer *row, st_text *text)
{
    char device[256];
    add_device(row, device, sizeof device);
    begin(to, to->device, sizeof to->device, device, text);
}

static void head_of_problem(st_query_printing *to, const st_answer *row, st_text *text)
{
    char problem[320];
    snprintf(problem, sizeof problem, "%s %s", row->family, row->problem);
    if (strcmp(problem, to->problem) == 0)
        return;
    st_text_addf(text, "%s ", row->family);
    st_report_problem(text, row->problem);
    st_text_add(text, "\n");
    snprintf(to->problem, sizeof to->problem, "%s", problem);
}

// What stands for a row beside its time: how much a winner gained, or what it is.
static void add_standing(const st_answer *row, st_text *text)
{
    bool correct = st_text_equal(row->outcome, "correct");
    if (!correct)
        st_text_add(text, row->outcome);
    else if (row->is_winner && row->is_default)
        st_text_addf(text, row->tied > 1 ? "the default wins, %d tie" : "the default wins", row->tied);
    else if (row->is_winner && isfinite(row->speedup)) {
        st_text_addf(text, "%.2f", row->speedup);
        if (isfinite(row->speedup_low) && isfinite(row->speedup_high))
            st_text_addf(text, " (%.2f–%.2f)", row->speedup_low, row->speedup_high);
        if (row->tied > 1)
            st_text_addf(text, ", %d tie", row->tied);
    } else if (row->is_winner)
        st_text_add(text, "winner");
    else if (row->is_default)
        st_text_add(text, "the default");
}

bool st_query_is_shifted(const st_answer *row)
{
    return row->phase[0] && st_report_is_shifted(row->median_ns, row->comparable_ns);
}

// "screen; ≈ 5.412 µs": a time that is of another phase, and what it is on the scale that rows are ordered by.
static void add_shift(st_query_printing *to, const st_answer *row)
{
    if (!st_query_is_shifted(row))
        return;
    st_text_addf(&to->cell, "%s; ≈ ", row->is_default ? "" : row->phase);
    st_report_time(&to->cell, row->comparable_ns);
    to->shifted = true;
}

static void add_cell(st_query_printing *to, void (*add)(st_text *, double), double value, int width)
{
    st_text_clear(&to->cell);
    add(&to->cell, value);
    st_report_right(&to->text, st_text_string(&to->cell), width);
}

// What the line or the headings of every row say anyway.
static bool is_in_line(const char *name)
{
    static const char *const said[] = {"time",      "median_ns",    "gbs",      "of_memory", "cache",
                                       "candidate", "outcome",      "problem",  "family",    "configuration",
                                       "winner",    "default",      "device",   "cc",        "sm_count",
                                       "driver",    "type",         "operation", "n",        "size"};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (strcmp(name, said[i]) == 0)
            return true;
    return false;
}

// Below the line of a row: its configuration, why it failed, where it ran (with --per), and the values that the
// condition is about and the line does not say.
static void add_below(st_query_printing *to, const st_answer *row)
{
    st_text *words = &to->words;
    st_report_row(&to->text, "", 8, row->configuration, 80);
    st_text_clear(words);
    if (row->detail && row->detail[0] && !st_text_equal(row->outcome, "correct"))
        st_text_addf(words, "%.*s", (int)strcspn(row->detail, "\n"), row->detail);
    if (words->length)
        st_report_row(&to->text, "", 8, st_text_string(words), 80);
    if (to->query->per) {
        char device[256];
        add_device(row, device, sizeof device);
        st_report_row(&to->text, "", 8, device, 80);
    }
    st_text_clear(words);
    for (size_t i = 0; i < row->value_count; i++) {
        const char *name = row->values[i].name;
        size_t length;
        if (st_report_value_of(row->configuration, name, strlen(name), &length) ||
            st_report_value_of(row->problem, name, strlen(name), &length) || is_in_line(name))
            continue;
        st_text_addf(words, "%s%s ", words->length ? "  " : "", name);
        st_answer_value_add(words, &row->values[i]);
    }
    if (words->length)
        st_report_row(&to->text, "", 8, st_text_string(words), 80);
}

static st_code print_row(st_query_printing *to, st_error *error)
{
    to->count++;
    if (to->text.failed || to->cell.failed || to->words.failed)
        return st_fail_memory(error, "printing a table");
    st_cli_print(to->cli, to->cli->out, st_text_string(&to->text));
    st_text_clear(&to->text);
    return ST_OK;
}

st_code st_query_print_time(void *context, const st_answer *row, st_error *error)
{
    st_query_printing *to = context;
    if (to->query->per)
        head_of_group(to, row, &to->text);
    else
        head_of_device(to, row, &to->text);
    head_of_problem(to, row, &to->text);
    double speed = row->bytes / row->median_ns;
    st_text_addf(&to->text, "  %-4s", row->cache[0] ? row->cache : "-");
    add_cell(to, st_report_time, row->median_ns, 12);
    add_cell(to, st_report_speed, speed, 13);
    add_cell(to, st_report_share, speed / row->read_gbs, 9);
    st_text_clear(&to->cell);
    add_standing(row, &to->cell);
    add_shift(to, row);
    st_text_add(&to->text, "  ");
    st_report_left(&to->text, st_text_string(&to->cell), 23);
    st_text_addf(&to->text, " %.12s\n", row->candidate_id);
    add_below(to, row);
    return print_row(to, error);
}

// What other tools measured, and what was made up, came without a template to make a program from.
static bool has_template(const st_answer *row)
{
    return !st_text_equal(row->backend, "imported") && !st_text_equal(row->backend, "generated");
}

// A candidate by its outcome: why, of the log the first line, and how to see it again.
st_code st_query_print_failure(void *context, const st_answer *row, st_error *error)
{
    enum { LINE = 100 };
    st_query_printing *to = context;
    head_of_device(to, row, &to->text);
    head_of_problem(to, row, &to->text);
    const char *why = row->detail ? row->detail : "";
    size_t length = strcspn(why, "\n");
    st_text_addf(&to->text, "  %-11s %.12s  %.*s%s\n", row->outcome, row->candidate_id,
                 (int)(length > LINE ? LINE : length ? length : 1), length ? why : "-",
                 why[length] || length > LINE ? " …" : "");
    st_report_row(&to->text, "", 8, row->configuration, 80);
    if (has_template(row))
        st_text_addf(&to->text, "        simtune repro %.12s -o repro.cu\n", row->candidate_id);
    return print_row(to, error);
}
