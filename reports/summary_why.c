// SPDX-License-Identifier: Apache-2.0
// Why a winner wins, in three lines from stored counters alone, and one for each rival of its template. Invariants: 1. a line whose counters are not
// there is left out; with none of them nothing is said at all; 2. no line claims a cause that no counter or
// parameter shows.
#include "reports/summary_internal.h"

#include "cupti/counters.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 80 };

// "VEC 1 → 4, UNROLL 1 → 8 and 2 more": as many as the line holds, in the order of the template.
static void add_differences(const char *winner, const char *standard, st_text *out)
{
    const char *at = winner;
    size_t name_length, length, here, left_out = 0, listed = 0;
    size_t room = WIDTH - 12 - st_report_columns(st_text_string(out));
    st_text list;
    st_text_init(&list);
    for (const char *pair; (pair = st_report_next_pair(&at, &name_length, &length));) {
        const char *before = st_report_value_of(standard, pair, name_length, &here);
        size_t value_length = length - name_length - 1;
        if (before && here == value_length && strncmp(before, pair + name_length + 1, here) == 0)
            continue;
        st_text one;
        st_text_init(&one);
        st_text_addf(&one, "%s%.*s %.*s → %.*s", listed ? ", " : "", (int)name_length, pair,
                     before ? (int)here : 1, before ? before : "-", (int)value_length, pair + name_length + 1);
        if (!left_out &&
            st_report_columns(st_text_string(&list)) + st_report_columns(st_text_string(&one)) <= room) {
            st_text_add(&list, st_text_string(&one));
            listed++;
        } else
            left_out++;
        out->failed = out->failed || one.failed;
        st_text_release(&one);
    }
    st_text_add(out, st_text_string(&list));
    if (left_out && listed)
        st_text_addf(out, " and %zu more", left_out);
    else if (left_out)
        st_text_addf(out, "%zu parameters", left_out);
    out->failed = out->failed || list.failed;
    st_text_release(&list);
}

// The default's stall by its short name, so that both stand in one line.
static void add_stalls(const summary_counters *winner, const summary_counters *standard, st_text *out)
{
    const st_stall *stall = st_stall_find(winner->stall);
    st_text_addf(out, "  its warps wait for %s (", stall ? stall->waits_for : winner->stall);
    st_report_share(out, winner->stall_share);
    st_text_add(out, ")");
    if (standard && standard->stall[0]) {
        st_text_addf(out, "; default: %s, ", strcmp(winner->stall, standard->stall) == 0 ? "the same" : standard->stall);
        st_report_share(out, standard->stall_share);
    }
    st_text_add(out, "\n");
}

static void add_throughput(const summary_counters *winner, const summary_counters *standard, st_text *out)
{
    st_text_add(out, "  device memory runs at ");
    st_report_share(out, winner->dram_throughput);
    st_text_add(out, " of its peak");
    if (standard && !isnan(standard->dram_throughput)) {
        st_text_add(out, "; default: ");
        st_report_share(out, standard->dram_throughput);
    }
    st_text_add(out, "\n");
}

static void add_why(const summary_problem *problem, int cache, st_text *out)
{
    const summary_candidate *winner = summary_winner(problem, cache), *standard = summary_standard(problem, cache);
    const summary_result *result = &problem->results[cache];
    bool two = standard && standard != winner && result->standard_counters.any;
    const summary_counters *before = two ? &result->standard_counters : NULL;
    st_report_problem(out, problem->text);
    st_text_add(out, ": ");
    if (!standard)
        st_text_add(out, "the default has no time to compare with");
    else if (standard == winner)
        st_text_add(out, "the default itself wins");
    else
        add_differences(winner->configuration, standard->configuration, out);
    st_text_add(out, "\n");
    if (result->winner_counters.stall[0])
        add_stalls(&result->winner_counters, before, out);
    if (!isnan(result->winner_counters.dram_throughput))
        add_throughput(&result->winner_counters, before, out);
}

static void add_rival_line(void *context, const char *words)
{
    st_report_row(context, "", 2, words, WIDTH);
}

st_code st_summary_why(st_store *store, const char *session_id, const char *problem, const char *cache,
                       st_text *out, st_error *error)
{
    summary all;
    int index = summary_cache(cache);
    st_code code = summary_load(store, session_id, &all, error);
    if (code != ST_OK)
        return code;
    for (size_t i = 0; i < all.count && code == ST_OK; i++)
        if (strcmp(all.problems[i].text, problem) == 0 && summary_winner(&all.problems[i], index) &&
            all.problems[i].results[index].winner_counters.any) {
            add_why(&all.problems[i], index, out);
            code = summary_rivals(store, &all.problems[i], index, add_rival_line, out, error);
        }
    if (code == ST_OK && out->failed)
        code = st_fail_memory(error, "writing a summary");
    summary_release(&all);
    return code;
}
