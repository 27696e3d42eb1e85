// SPDX-License-Identifier: Apache-2.0
// What is in a store, looked at critically. Invariant: nothing here writes. To add a check: a row in `checks` with
// a statement that counts, or a function like look_at_samples and its call in st_store_examine; and its case in
// tests/unit/db/test_check.c.
#include "db/check.h"

#include "db/upkeep_internal.h"
#include "tuner/base/memory.h"
#include "tuner/base/statistics.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char doing[] = "checking it";

const char *st_severity_name(st_severity severity)
{
    static const char *const names[] = {"remark", "wrong", "damaged"};
    return names[severity];
}

typedef struct st_check {
    st_finding_callback *callback;
    void *context;
    int64_t non_finite, odd_lengths, odd_medians, thinned, wrong_ids, wrong_winners;
    char first_id[96]; // the first wrong one, and of what
} st_check;

static st_code tell(const st_check *check, st_severity severity, const char *kind, int64_t count, const char *form,
                    st_error *error)
{
    if (count == 0)
        return ST_OK;
    char words[256];
    snprintf(words, sizeof words, "%s: %" PRId64, form, count);
    st_check_finding finding = {severity, kind, count, words};
    return check->callback(check->context, &finding, error);
}

// --- what a statement can count ----------------------------------------------------------------------------
static const struct {
    st_severity severity;
    const char *kind, *words, *sql;
} checks[] = {
    {ST_SEVERITY_WRONG, "candidate_of_two_families", "candidates whose session, problem and configuration are of different families",
     "SELECT count(*) FROM candidate c JOIN session s ON s.session_key = c.session_key"
     " JOIN problem p ON p.problem_key = c.problem_key"
     " JOIN configuration g ON g.configuration_key = c.configuration_key"
     " WHERE s.family <> p.family OR p.family <> g.family"},
    {ST_SEVERITY_WRONG, "session_of_two_families", "sessions whose template is of another family",
     "SELECT count(*) FROM session s JOIN template e ON e.template_key = s.template_key WHERE e.family <> s.family"},
    {ST_SEVERITY_WRONG, "winner_not_of_its_session", "winners that are not a correct candidate of their session and problem",
     "SELECT count(*) FROM winner w JOIN candidate c ON c.candidate_key = w.winner_key"
     " WHERE c.session_key <> w.session_key OR c.problem_key <> w.problem_key OR c.outcome <> 'correct'"},
    {ST_SEVERITY_WRONG, "counter_without_profile", "counters of profiles that are not there",
     "SELECT count(*) FROM counter WHERE profile_key NOT IN (SELECT profile_key FROM profile)"},
    {ST_SEVERITY_WRONG, "session_ends_before_it_begins", "sessions that ended before they began",
     "SELECT count(*) FROM session WHERE finished_ms < started_ms"},
    {ST_SEVERITY_REMARK, "session_without_winner", "finished sessions with correct candidates and no winner",
     "SELECT count(*) FROM session s WHERE s.status = 'finished'"
     " AND EXISTS (SELECT 1 FROM candidate c WHERE c.session_key = s.session_key AND c.outcome = 'correct')"
     " AND NOT EXISTS (SELECT 1 FROM winner w WHERE w.session_key = s.session_key)"},
    {ST_SEVERITY_REMARK, "profile_without_counters", "profiles without counters",
     "SELECT count(*) FROM profile f WHERE NOT EXISTS (SELECT 1 FROM metric r CROSS JOIN counter v"
     " ON v.metric_key = r.metric_key AND v.profile_key = f.profile_key)"},
    {ST_SEVERITY_REMARK, "unused_metric", "metrics that nobody has a counter of",
     "SELECT count(*) FROM metric r WHERE NOT EXISTS (SELECT 1 FROM counter v WHERE v.metric_key = r.metric_key)"},
    {ST_SEVERITY_REMARK, "unused_configuration", "configurations that nobody has tried",
     "SELECT count(*) FROM configuration g WHERE NOT EXISTS"
     " (SELECT 1 FROM candidate c WHERE c.configuration_key = g.configuration_key)"},
    {ST_SEVERITY_REMARK, "unused_problem", "problems that nobody has tried",
     "SELECT count(*) FROM problem p WHERE NOT EXISTS (SELECT 1 FROM candidate c WHERE c.problem_key = p.problem_key)"},
    {ST_SEVERITY_REMARK, "unused_device", "devices without sessions",
     "SELECT count(*) FROM device d WHERE NOT EXISTS (SELECT 1 FROM session s WHERE s.device_key = d.device_key)"},
    {ST_SEVERITY_REMARK, "unused_toolchain", "toolchains without sessions",
     "SELECT count(*) FROM toolchain t WHERE t.toolchain_key NOT IN (SELECT toolchain_key FROM session)"},
    {ST_SEVERITY_REMARK, "unused_template", "templates without sessions",
     "SELECT count(*) FROM template e WHERE e.template_key NOT IN (SELECT template_key FROM session)"},
};

static st_code run_checks(st_store *store, const st_check *check, st_error *error)
{
    st_code code = ST_OK;
    for (size_t i = 0; i < sizeof checks / sizeof *checks && code == ST_OK; i++) {
        int64_t count;
        code = st_ask_number(store, checks[i].sql, doing, &count, error);
        if (code == ST_OK)
            code = tell(check, checks[i].severity, checks[i].kind, count, checks[i].words, error);
    }
    return code;
}

// --- samples -----------------------------------------------------------------------------------------------
static st_code look_at_samples(st_store *store, st_check *check, st_error *error)
{
    st_statement statement;
    st_code code = st_statement_open_once(store, &statement, "SELECT samples, median_ns, samples_taken FROM measurement",
                                          doing, error);
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&statement, &row, error);
        if (code != ST_OK || !row)
            break;
        size_t count, bytes = (size_t)sqlite3_column_bytes(statement.statement, 0);
        const void *blob = sqlite3_column_blob(statement.statement, 0);
        double *samples = st_samples_decode(blob, bytes, &count), low = INFINITY, high = -INFINITY;
        if (!samples || (!blob && bytes)) {
            st_free(samples);
            code = st_fail_memory(error, doing);
            break;
        }
        bool finite = true;
        for (size_t i = 0; i < count; i++) {
            finite &= isfinite(samples[i]) && samples[i] >= 0;
            low = fmin(low, samples[i]);
            high = fmax(high, samples[i]);
        }
        double median = st_column_real(&statement, 1);
        bool thin = st_column_int(&statement, 2) > 0; // then the median may lie outside what is left
        check->odd_lengths += bytes % 8 != 0;
        check->non_finite += !finite;
        check->thinned += thin;
        check->odd_medians += finite && !thin && count && !isnan(median) && (median < low || median > high);
        st_free(samples);
    }
    st_statement_close(&statement);
    return code;
}

static st_code tell_of_samples(const st_check *check, st_error *error)
{
    st_code code = tell(check, ST_SEVERITY_WRONG, "samples_of_odd_length", check->odd_lengths,
                        "measurements whose samples are not whole numbers of 8 bytes", error);
    if (code == ST_OK)
        code = tell(check, ST_SEVERITY_WRONG, "samples_not_finite", check->non_finite,
                    "measurements with samples that are no times (negative, infinite or not a number)", error);
    if (code == ST_OK)
        code = tell(check, ST_SEVERITY_WRONG, "median_outside_samples", check->odd_medians,
                    "measurements whose median lies outside their samples", error);
    if (code == ST_OK)
        code = tell(check, ST_SEVERITY_REMARK, "thinned", check->thinned, "measurements whose samples were thinned by a prune",
                    error);
    return code;
}

// --- winners -----------------------------------------------------------------------------------------------
// What was concluded must lie within what the winner's finals (or all that it has) measured.
static st_code look_at_winners(st_store *store, st_check *check, st_error *error)
{
    return st_ask_number(
        store,
        "SELECT count(*) FROM winner w WHERE w.winner_ns IS NOT NULL AND EXISTS (SELECT 1 FROM measurement m"
        "  WHERE m.candidate_key = w.winner_key AND m.cache = w.cache AND m.median_ns IS NOT NULL)"
        " AND w.winner_ns NOT BETWEEN"
        "  0.8 * (SELECT min(m.median_ns) FROM measurement m WHERE m.candidate_key = w.winner_key AND m.cache = w.cache)"
        "  AND 1.25 * (SELECT max(m.median_ns) FROM measurement m WHERE m.candidate_key = w.winner_key"
        "   AND m.cache = w.cache)",
        doing, &check->wrong_winners, error);
}

// --- ids ---------------------------------------------------------------------------------------------------
static st_code note_wrong_id(void *context, const char *table, int64_t key, const char *id, st_error *error)
{
    (void)key;
    (void)error;
    st_check *check = context;
    if (check->wrong_ids++ == 0)
        snprintf(check->first_id, sizeof check->first_id, "%s %s", table, id);
    return ST_OK;
}

static st_code tell_of_ids(const st_check *check, st_error *error)
{
    char words[160];
    snprintf(words, sizeof words, "rows whose id is not the hash of what they say (the first: %s)", check->first_id);
    return tell(check, ST_SEVERITY_WRONG, "wrong_id", check->wrong_ids, words, error);
}

// --- the schema --------------------------------------------------------------------------------------------
// An index that somebody dropped makes queries slow, a trigger lets wrong rows in.
static st_code look_at_schema(st_store *store, const st_check *check, st_error *error)
{
    st_store *fresh = NULL;
    st_statement wanted;
    int64_t missing = 0;
    char first[64] = "";
    st_code code = st_store_open(":memory:", ST_STORE_WRITE, &fresh, error);
    if (code != ST_OK)
        return code;
    code = st_statement_open_once(fresh, &wanted, "SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite%'",
                                  doing, error);
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&wanted, &row, error);
        if (code != ST_OK || !row)
            break;
        st_statement there;
        int64_t count = 0;
        code = st_statement_open(store, &there, "SELECT count(*) FROM sqlite_schema WHERE type = ? AND name = ?", doing,
                                 error);
        if (code == ST_OK) {
            st_bind_text(&there, st_column_text(&wanted, 0));
            st_bind_text(&there, st_column_text(&wanted, 1));
            code = st_statement_number(&there, &count, NULL, error);
        }
        st_statement_close(&there);
        if (code == ST_OK && count == 0 && missing++ == 0)
            snprintf(first, sizeof first, "%s", st_column_text(&wanted, 1));
    }
    st_statement_close(&wanted);
    st_store_close(fresh);
    char words[160];
    snprintf(words, sizeof words, "tables, indexes, triggers or views of the schema are missing (the first: %s)", first);
    return code == ST_OK ? tell(check, ST_SEVERITY_WRONG, "schema_incomplete", missing, words, error) : code;
}

st_code st_store_examine(st_store *store, st_finding_callback *callback, void *context, st_error *error)
{
    st_check check = {.callback = callback, .context = context};
    st_code code = look_at_schema(store, &check, error);
    if (code == ST_OK)
        code = st_wrong_ids(store, note_wrong_id, &check, error);
    if (code == ST_OK)
        code = tell_of_ids(&check, error);
    if (code == ST_OK)
        code = look_at_samples(store, &check, error);
    if (code == ST_OK)
        code = tell_of_samples(&check, error);
    if (code == ST_OK)
        code = look_at_winners(store, &check, error);
    if (code == ST_OK)
        code = tell(&check, ST_SEVERITY_WRONG, "winner_unlike_its_samples", check.wrong_winners,
                    "winners whose time is far from what they were measured at", error);
    return code == ST_OK ? run_checks(store, &check, error) : code;
}
