// SPDX-License-Identifier: Apache-2.0
// What to try next. A rule a line, first that fits: nothing won → look at what failed; counters denied →
// doctor; else the parameter that moves the time most, alone, around the winner; else what is known.
#include "reports/summary_internal.h"

#include "tuner/base/memory.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES_MOST = 64 };

// --- parameters --------------------------------------------------------------------------------------------

const char *summary_moved_alone(const summary_problem *problem, size_t *length)
{
    if (problem->count < 2)
        return NULL;
    const char *first = problem->candidates[0].configuration, *at = first, *moved = NULL;
    size_t name_length, pair_length;
    for (const char *pair; (pair = st_report_next_pair(&at, &name_length, &pair_length));) {
        for (size_t i = 1; i < problem->count; i++) {
            size_t here;
            const char *value = st_report_value_of(problem->candidates[i].configuration, pair, name_length, &here);
            bool same = value && here == pair_length - name_length - 1 &&
                        strncmp(value, pair + name_length + 1, here) == 0;
            if (same)
                continue;
            if (moved && moved != pair)
                return NULL;
            moved = pair;
            *length = name_length;
        }
    }
    return moved;
}

typedef struct best_of { // the best time seen with one value of a parameter
    const char *value;
    size_t length;
    double ns;
} best_of;

// How much slower the best candidate gets when this parameter is held at its worst value: the ratio of the
// slowest of its values' best times to the fastest. 1 when it has one value only.
static double weight_of(const summary_problem *problem, int cache, const char *name, size_t name_length)
{
    best_of values[VALUES_MOST];
    size_t count = 0;
    for (size_t i = 0; i < problem->count; i++) {
        size_t length;
        double ns = problem->candidates[i].comparable_ns[cache];
        const char *value = st_report_value_of(problem->candidates[i].configuration, name, name_length, &length);
        if (!value || isnan(ns))
            continue;
        size_t v = 0;
        while (v < count && (values[v].length != length || strncmp(values[v].value, value, length) != 0))
            v++;
        if (v == count && count == VALUES_MOST)
            continue;
        if (v == count)
            values[count++] = (best_of){value, length, ns};
        else if (ns < values[v].ns)
            values[v].ns = ns;
    }
    double low = INFINITY, high = 0;
    for (size_t v = 0; v < count; v++) {
        low = values[v].ns < low ? values[v].ns : low;
        high = values[v].ns > high ? values[v].ns : high;
    }
    return count > 1 && low > 0 ? high / low : 1;
}

// --- commands --------------------------------------------------------------------------------------------------

// The template's file as it was typed, when it is none of those that are commands; in quotes where the command has it so.
static const char *file_of(const char *command, size_t *length)
{
    for (const char *at = command ? command : ""; *at; at += *length + (at[*length] == ' ')) {
        *length = *at == '\'' ? 1 + strcspn(at + 1, "'") + 1 : strcspn(at, " ");
        *length = *length < strlen(at) ? *length : strlen(at);
        const char *end = at + *length - (*length > 1 && *at == '\'');
        bool is_file = (end - at > 3 && strncmp(end - 3, ".cu", 3) == 0) || (end - at > 5 && strncmp(end - 5, ".json", 5) == 0);
        if (is_file && *at != '-')
            return at;
    }
    return NULL;
}

// "simtune reduce", "simtune tune conv.json"
static void add_run(const summary *all, st_text *out)
{
    size_t length;
    const char *file = file_of(all->session.command, &length);
    st_text_addf(out, "simtune %s", file ? "tune " : all->session.family);
    if (file)
        st_text_add_bytes(out, file, length);
}

// "simtune reduce --type f32 --op sum --size 64Ki": numbers of a problem are sizes, other values its type or a
// word; sizes of several axes are given by name.
static void add_problem_options(const summary *all, const summary_problem *problem, st_text *out)
{
    size_t name_length, length, sizes = 0;
    const char *at = problem->text;
    for (const char *pair; (pair = st_report_next_pair(&at, &name_length, &length));)
        sizes += pair[name_length] == '=' && isdigit((unsigned char)pair[name_length + 1]);
    at = problem->text;
    add_run(all, out);
    for (const char *pair; (pair = st_report_next_pair(&at, &name_length, &length));) {
        const char *value = pair + name_length + 1;
        size_t value_length = length > name_length ? length - name_length - 1 : 0;
        if (isdigit((unsigned char)*value)) {
            st_text_add(out, " --size ");
            if (sizes > 1)
                st_text_add_bytes(out, pair, name_length + 1);
            st_text_add_size(out, strtoull(value, NULL, 10));
            continue;
        }
        bool is_type = problem->type && strlen(problem->type) == value_length &&
                       strncmp(problem->type, value, value_length) == 0;
        st_text_addf(out, " --%s %.*s", is_type ? "type" : "op", (int)value_length, value);
    }
}

// The winner's values where they are not the default's: what --vary leaves alone is the default.
static void add_settings(const summary_candidate *winner, const summary_candidate *standard, const char *vary,
                         size_t vary_length, st_text *out)
{
    const char *at = winner->configuration;
    size_t name_length, length, here;
    for (const char *pair; (pair = st_report_next_pair(&at, &name_length, &length));) {
        const char *value = st_report_value_of(standard->configuration, pair, name_length, &here);
        bool same = value && here == length - name_length - 1 &&
                    strncmp(value, pair + name_length + 1, here) == 0;
        bool varied = name_length == vary_length && strncmp(pair, vary, vary_length) == 0;
        if (same || varied)
            continue;
        st_text_addf(out, " --set %.*s", (int)length, pair);
    }
}

// The problem whose winner gained most over the default is where a look pays.
static const summary_problem *most_gained(const summary *all, int cache)
{
    const summary_problem *best = NULL;
    for (size_t i = 0; i < all->count; i++)
        if (summary_winner(&all->problems[i], cache) && summary_standard(&all->problems[i], cache) &&
            (!best || all->problems[i].results[cache].speedup > best->results[cache].speedup))
            best = &all->problems[i];
    return best;
}

static bool add_vary(const summary *all, int cache, st_text *out)
{
    const summary_problem *problem = most_gained(all, cache);
    size_t unused;
    if (!problem || !all->session.command || summary_moved_alone(problem, &unused))
        return false;
    const summary_candidate *winner = summary_winner(problem, cache), *standard = summary_standard(problem, cache);
    const char *at = winner->configuration, *name = NULL;
    size_t name_length, length, best_length = 0;
    double most = 1.02; // below 2 % no parameter is worth a look
    for (const char *pair; (pair = st_report_next_pair(&at, &name_length, &length));) {
        double weight = weight_of(problem, cache, pair, name_length);
        if (weight > most) {
            most = weight;
            name = pair;
            best_length = name_length;
        }
    }
    if (!name)
        return false;
    add_problem_options(all, problem, out);
    st_text_addf(out, " --vary %.*s", (int)best_length, name);
    add_settings(winner, standard, name, best_length, out);
    return true;
}

static bool any_winner(const summary *all, int cache)
{
    for (size_t i = 0; i < all->count; i++)
        if (summary_winner(&all->problems[i], cache))
            return true;
    return false;
}

void summary_add_next(const summary *all, int cache, st_text *out)
{
    const char *counters = json_string_value(json_object_get(all->facts, "counters"));
    if (!any_winner(all, cache)) {
        for (size_t p = 0; p < all->count; p++)
            for (size_t c = 0; c < all->problems[p].count; c++)
                if (strcmp(all->problems[p].candidates[c].outcome, "correct") != 0) {
                    st_text_addf(out, "simtune show %.12s", all->problems[p].candidates[c].id);
                    return;
                }
        size_t length;
        const char *file = file_of(all->session.command, &length);
        st_text_add(out, "simtune templates ");
        st_text_add_bytes(out, file ? file : all->session.family, file ? length : strlen(all->session.family));
        return;
    }
    if (counters && strcmp(counters, "denied") == 0)
        st_text_add(out, "simtune doctor");
    else if (!add_vary(all, cache, out))
        st_text_addf(out, "simtune query %s --best", all->session.family);
}
