// SPDX-License-Identifier: Apache-2.0
// The rows of simtune_results for a statement that uses few of their columns. The view joins nine tables for every row,
// and SQLite cannot leave one out; where hundreds of thousands of rows are looked at to choose some, that is most of the
// work. Invariants: 1. a column has the value that it has in the view (tests/unit/db/test_query.c compares them); 2. a column
// that is not in the table below means the view itself.
#include "db/query_internal.h"

#include <ctype.h>
#include <string.h>

enum { OF_PROBLEM = 1, OF_CONFIGURATION = 2, OF_DEVICE = 4, OF_TOOLCHAIN = 8, OF_TEMPLATE = 16, OF_WINNER = 32 };

#define WON(column) "CASE WHEN w.winner_key = c.candidate_key THEN w." column " END"

// As schema.c has them. What a session, a candidate and a measurement say of themselves needs no further table.
static const struct {
    const char *name, *sql; // sql NULL: the column of its table
    char table;
    unsigned needs;
} columns[] = {
    {"candidate_key", NULL, 'c', 0},   {"candidate_id", NULL, 'c', 0},  {"session_key", NULL, 'c', 0},
    {"problem_key", NULL, 'c', 0},     {"configuration_key", NULL, 'c', 0}, {"outcome", NULL, 'c', 0},
    {"registers", NULL, 'c', 0},       {"local_bytes", NULL, 'c', 0},   {"static_smem", NULL, 'c', 0},
    {"dynamic_smem", NULL, 'c', 0},    {"blocks_per_sm", NULL, 'c', 0}, {"occupancy", NULL, 'c', 0},
    {"deterministic", NULL, 'c', 0},   {"compile_seconds", NULL, 'c', 0},
    {"session_id", NULL, 's', 0},      {"status", NULL, 's', 0},        {"shipped", NULL, 's', 0},
    {"started_ms", NULL, 's', 0},      {"finished_ms", NULL, 's', 0},   {"device_key", NULL, 's', 0},
    {"cache", NULL, 'm', 0},           {"phase", NULL, 'm', 0},         {"median_ns", NULL, 'm', 0},
    {"taken_ms", NULL, 'm', 0},        {"sample_count", "length(m.samples) / 8", 'm', 0},
    {"family", NULL, 'p', OF_PROBLEM}, {"problem", "p.text", 'p', OF_PROBLEM}, {"type", NULL, 'p', OF_PROBLEM},
    {"operation", NULL, 'p', OF_PROBLEM}, {"n", NULL, 'p', OF_PROBLEM},
    {"configuration", "g.text", 'g', OF_CONFIGURATION}, {"parameters", NULL, 'g', OF_CONFIGURATION},
    {"device_name", "d.name", 'd', OF_DEVICE}, {"device_uuid", "d.uuid", 'd', OF_DEVICE},
    {"backend", NULL, 'd', OF_DEVICE}, {"cc", NULL, 'd', OF_DEVICE},    {"sm_count", NULL, 'd', OF_DEVICE},
    {"read_gbs", NULL, 'd', OF_DEVICE}, {"driver", NULL, 't', OF_TOOLCHAIN}, {"driver_cuda", NULL, 't', OF_TOOLCHAIN},
    {"compiler", NULL, 't', OF_TOOLCHAIN}, {"tool", NULL, 't', OF_TOOLCHAIN},
    {"template_hash", "e.hash", 'e', OF_TEMPLATE},
    {"bytes", NULL, 'w', OF_WINNER},   {"gbs", "w.bytes / m.median_ns", 'w', OF_WINNER},
    {"is_winner", "w.winner_key IS c.candidate_key", 'w', OF_WINNER},
    {"is_default", "w.default_key IS c.candidate_key", 'w', OF_WINNER},
    {"speedup", WON("speedup"), 'w', OF_WINNER}, {"speedup_low", WON("speedup_low"), 'w', OF_WINNER},
    {"speedup_high", WON("speedup_high"), 'w', OF_WINNER},
    {"tied", "CASE WHEN w.winner_key = c.candidate_key THEN w.tied ELSE 0 END", 'w', OF_WINNER},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

// Past a text in quotes, which double a quote of their own.
static const char *skip_quoted(const char *at)
{
    for (char quote = *at++; *at; at++)
        if (*at == quote && *++at != quote)
            break;
    return at;
}

// Past the parentheses that begin here.
static const char *skip_nested(const char *at)
{
    int depth = 0;
    while (*at) {
        if (*at == '\'' || *at == '"') {
            at = skip_quoted(at);
            continue;
        }
        depth += (*at == '(') - (*at == ')');
        at++;
        if (!depth)
            break;
    }
    return at;
}

// Marks the columns of r that the text uses, but in subqueries that have an r of their own: they begin with it. False:
// one is not known here.
static bool find_used(const char *sql, bool used[COLUMNS])
{
    static const char own[] = "(SELECT r.";
    for (const char *at = sql; *at;) {
        if (*at == '\'' || *at == '"') {
            at = skip_quoted(at);
        } else if (strncmp(at, own, sizeof own - 1) == 0) {
            at = skip_nested(at);
        } else if (isalnum((unsigned char)*at) || *at == '_') {
            size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
            bool is_r = length == 1 && *at == 'r' && at[1] == '.';
            at += is_r ? 2 : length;
            if (!is_r)
                continue;
            length = strspn(at, "abcdefghijklmnopqrstuvwxyz_");
            size_t i = 0;
            while (i < COLUMNS && (strncmp(columns[i].name, at, length) != 0 || columns[i].name[length]))
                i++;
            if (i == COLUMNS)
                return false;
            used[i] = true;
            at += length;
        } else {
            at++;
        }
    }
    return true;
}

void st_query_rows_sql(const bool used[], st_text *out)
{
    static const char *const joins[] = {
        " JOIN problem p ON p.problem_key = c.problem_key",
        " JOIN configuration g ON g.configuration_key = c.configuration_key",
        " JOIN device d ON d.device_key = s.device_key",
        " JOIN toolchain t ON t.toolchain_key = s.toolchain_key",
        " JOIN template e ON e.template_key = s.template_key",
        " LEFT JOIN winner w ON w.session_key = c.session_key AND w.problem_key = c.problem_key AND w.cache = m.cache"};
    unsigned needs = 0;
    bool any = false;
    st_text_add(out, "(SELECT ");
    for (size_t i = 0; i < COLUMNS; i++) {
        if (used && !used[i])
            continue;
        needs |= columns[i].needs;
        st_text_add(out, any ? ", " : "");
        if (columns[i].sql)
            st_text_addf(out, "%s AS %s", columns[i].sql, columns[i].name);
        else
            st_text_addf(out, "%c.%s", columns[i].table, columns[i].name);
        any = true;
    }
    st_text_add(out, " FROM candidate c JOIN measurement m ON m.candidate_key = c.candidate_key"
                     " JOIN session s ON s.session_key = c.session_key");
    for (size_t i = 0; i < sizeof joins / sizeof *joins; i++)
        if (needs & 1u << i)
            st_text_add(out, joins[i]);
    st_text_add(out, " WHERE m.measurement_key = (SELECT y.measurement_key FROM measurement y"
                     " WHERE y.candidate_key = c.candidate_key AND y.cache = m.cache"
                     " ORDER BY CASE y.phase WHEN 'finals' THEN 0 WHEN 'halving' THEN 1 ELSE 2 END, y.round DESC"
                     " LIMIT 1)) r");
}

const char *st_query_rows_column(size_t index)
{
    return index < COLUMNS ? columns[index].name : NULL;
}

void st_question_rows_sql(const st_question *question, const char *using, st_text *out)
{
    bool used[COLUMNS] = {false};
    if (question->source == ST_FROM_RESULTS && find_used(using, used))
        st_query_rows_sql(used, out);
    else
        st_text_add(out, st_question_from(question->source));
}
