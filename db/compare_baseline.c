// SPDX-License-Identifier: Apache-2.0
// Baselines and acknowledgements. Invariants: 1. a baseline is a session that ended, has a winner and was measured; 2. of several
// baselines of a family and device the one marked last counts; 3. an acknowledgement names the baseline that it was
// made against, and outlives the mark.
#include "db/compare_internal.h"

#include "tuner/base/clock.h"

#include <stdio.h>
#include <string.h>

// --- baselines -----------------------------------------------------------------------------------------------------

static st_code check_session(st_store *store, int64_t session_key, st_error *error)
{
    st_statement statement;
    bool row = false;
    char id[ST_HASH_TEXT] = "";
    bool ended = false, won = false, predicted = false;
    st_code code = st_statement_open(store, &statement,
                                     "SELECT session_id, status <> 'running',"
                                     " EXISTS (SELECT 1 FROM winner w WHERE w.session_key = s.session_key),"
                                     " EXISTS (SELECT 1 FROM device d WHERE d.device_key = s.device_key"
                                     "  AND d.backend = '" ST_PREDICTED_BACKEND "')"
                                     " FROM session s WHERE session_key = ?",
                                     "marking a baseline", error);
    if (code != ST_OK)
        return code;
    st_bind_int(&statement, session_key);
    code = st_statement_step(&statement, &row, error);
    if (code == ST_OK && row) {
        st_column_copy(&statement, 0, id, sizeof id);
        ended = st_column_int(&statement, 1) == 1;
        won = st_column_int(&statement, 2) == 1;
        predicted = st_column_int(&statement, 3) == 1;
    }
    st_statement_close(&statement);
    if (code == ST_OK && !row)
        code = st_fail(error, ST_NOTHING, "simtune db info lists sessions", "the store %s has no such session",
                       store->path);
    bool live = false;
    if (code == ST_OK && !ended)
        code = st_store_session_is_live(store, id, &live, error);
    if (code == ST_OK && !ended)
        code = live ? st_fail(error, ST_USAGE, "wait for its end, or mark another one",
                              "session %.12s is still running", id)
                    : st_fail(error, ST_USAGE, "give its command again: it goes on where it stopped; or mark another one",
                              "session %.12s was cut off before its end", id);
    if (code == ST_OK && predicted)
        code = st_fail(error, ST_USAGE, "mark one that was measured: simtune db info lists them",
                       "session %.12s is a prediction, which nobody measured", id);
    else if (code == ST_OK && !won)
        code = st_fail(error, ST_USAGE, "mark another one: simtune db info lists them",
                       "session %.12s has no winner to compare with", id);
    return code;
}

st_code st_store_baseline(st_store *store, int64_t session_key, const char *note, st_error *error)
{
    st_statement statement = {0};
    st_code code = st_store_begin(store, error);
    if (code != ST_OK)
        return code;
    code = check_session(store, session_key, error);
    if (code == ST_OK)
        code = st_statement_open(store, &statement,
                                 "INSERT INTO baseline (session_key, marked_ms, note) VALUES (?, ?, ?)"
                                 " ON CONFLICT (session_key) DO UPDATE SET marked_ms = excluded.marked_ms,"
                                 " note = excluded.note",
                                 "marking a baseline", error);
    if (code == ST_OK) {
        st_bind_int(&statement, session_key);
        st_bind_int(&statement, st_clock_unix_ms());
        st_bind_known_text(&statement, note);
        code = st_statement_run(&statement, error);
    }
    st_statement_close(&statement);
    return st_store_finish(store, code, error);
}

st_code st_store_baseline_forget(st_store *store, int64_t session_key, st_error *error)
{
    int64_t key;
    bool was = false;
    st_statement statement = {0};
    st_code code = st_store_begin(store, error);
    if (code != ST_OK)
        return code;
    code = st_statement_open(store, &statement, "DELETE FROM baseline WHERE session_key = ? RETURNING session_key",
                             "forgetting a baseline", error);
    if (code == ST_OK) {
        st_bind_int(&statement, session_key);
        code = st_statement_number(&statement, &key, &was, error);
    }
    st_statement_close(&statement);
    if (code == ST_OK && !was)
        code = st_fail(error, ST_NOTHING, "simtune compare --baselines lists them", "that session is no baseline");
    return st_store_finish(store, code, error);
}

st_code st_compare_baselines_sql(const st_compare_filter *filter, st_text *sql, st_error *error)
{
    st_text_add(sql, "SELECT b.session_key, s.device_key, s.session_id, s.family, d.name, d.uuid, t.driver, t.compiler,"
                     " e.hash, b.marked_ms, s.finished_ms, b.note, row_number() OVER (PARTITION BY s.family,"
                     " s.device_key ORDER BY b.marked_ms DESC, s.session_id DESC) = 1,"
                     " (SELECT x.session_id FROM session x WHERE x.family = s.family AND x.device_key = s.device_key"
                     "  AND x.status = 'finished' ORDER BY x.finished_ms DESC, x.session_id DESC LIMIT 1)"
                     " FROM baseline b CROSS JOIN session s ON s.session_key = b.session_key"
                     " CROSS JOIN device d ON d.device_key = s.device_key"
                     " CROSS JOIN toolchain t ON t.toolchain_key = s.toolchain_key"
                     " CROSS JOIN template e ON e.template_key = s.template_key WHERE 1");
    st_text_add(sql, filter->family ? " AND s.family = :family" : "");
    st_compare_add_device(filter, sql);
    st_text_add(sql, " ORDER BY s.family, d.name, d.uuid, b.marked_ms DESC, s.session_id DESC");
    return sql->failed ? st_fail_memory(error, "listing baselines") : ST_OK;
}

st_code st_store_baselines(st_store *store, const st_compare_filter *filter, st_baseline_callback *callback,
                           void *context, st_error *error)
{
    st_text sql;
    st_text_init(&sql);
    st_statement s = {0};
    st_code code = st_compare_baselines_sql(filter, &sql, error);
    if (code == ST_OK)
        code = st_statement_open_once(store, &s, st_text_string(&sql), "listing baselines", error);
    st_text_release(&sql);
    if (code != ST_OK)
        return code;
    st_compare_bind_filter(&s, filter);
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&s, &row, error);
        if (code != ST_OK || !row)
            break;
        st_baseline_row one = {.session_key = st_column_int(&s, 0),
                               .device_key = st_column_int(&s, 1),
                               .session_id = st_column_text(&s, 2),
                               .family = st_column_text(&s, 3),
                               .device_name = st_column_text(&s, 4),
                               .device_uuid = st_column_text(&s, 5),
                               .driver = st_column_text(&s, 6),
                               .compiler = st_column_text(&s, 7),
                               .template_hash = st_column_text(&s, 8),
                               .marked_ms = st_column_int(&s, 9),
                               .finished_ms = st_column_int(&s, 10),
                               .note = st_column_text_or_null(&s, 11),
                               .newest = st_column_int(&s, 12) == 1,
                               .newest_session = st_column_text(&s, 13)};
        code = callback(context, &one, error);
    }
    st_statement_close(&s);
    return code;
}

st_code st_store_latest(st_store *store, const st_compare_filter *filter, char id[ST_HASH_TEXT], st_error *error)
{
    st_text sql;
    st_text_init(&sql);
    st_statement statement = {0};
    bool row = false;
    id[0] = '\0';
    // Predictions are rows of sessions as well, but nobody ran them.
    st_text_add(&sql, "SELECT s.session_id FROM session s WHERE s.status = 'finished' AND s.device_key NOT IN"
                      " (SELECT device_key FROM device WHERE backend = '" ST_PREDICTED_BACKEND "')");
    st_text_add(&sql, filter->family ? " AND s.family = :family" : "");
    st_compare_add_device(filter, &sql);
    st_text_add(&sql, " ORDER BY s.shipped, s.finished_ms DESC, s.session_id DESC LIMIT 1");
    st_code code = sql.failed ? st_fail_memory(error, "looking for the newest session")
                              : st_statement_open_once(store, &statement, st_text_string(&sql),
                                                       "looking for the newest session", error);
    st_text_release(&sql);
    if (code != ST_OK)
        return code;
    st_compare_bind_filter(&statement, filter);
    code = st_statement_step(&statement, &row, error);
    if (code == ST_OK && row)
        st_column_copy(&statement, 0, id, ST_HASH_TEXT);
    st_statement_close(&statement);
    if (code == ST_OK && !row)
        code = st_fail(error, ST_NOTHING, "tune something first, for example: simtune reduce",
                       "the store %s has no finished session%s%s", store->path, filter->family ? " of " : "",
                       filter->family ? filter->family : "");
    return code;
}

// --- acknowledgements ------------------------------------------------------------------------------------------------

st_code st_store_acknowledge(st_store *store, st_acknowledgement *row, st_error *error)
{
    bool found = false;
    st_statement s = {0};
    if (st_hash_fresh_id(row->id) != 0)
        return st_fail(error, ST_FAILED, "check that getrandom(2) works here",
                       "the system gives no random bytes for the acknowledgement's id");
    st_code code = st_store_begin(store, error);
    if (code != ST_OK)
        return code;
    code = st_statement_open(store, &s,
                             "INSERT INTO acknowledgement (acknowledgement_id, baseline_key, session_key, problem_key,"
                             " cache, reason, author, acknowledged_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
                             " ON CONFLICT (baseline_key, session_key, problem_key, cache) DO NOTHING"
                             " RETURNING acknowledgement_id",
                             "storing an acknowledgement", error);
    if (code == ST_OK) {
        st_bind_text(&s, row->id);
        st_bind_int(&s, row->baseline_key);
        st_bind_int(&s, row->session_key);
        st_bind_int(&s, row->problem_key);
        st_bind_text(&s, row->cache);
        st_bind_text(&s, row->reason);
        st_bind_known_text(&s, row->author);
        st_bind_int(&s, row->acknowledged_ms);
        code = st_statement_step(&s, &found, error);
        if (code == ST_OK && found)
            code = st_statement_run(&s, error);
    }
    st_statement_close(&s);
    if (code == ST_OK && !found) // what somebody has said is not said over
        code = st_fail(error, ST_USAGE, "simtune acknowledge --list shows it, --withdraw ID takes it back",
                       "this change is acknowledged already");
    return st_store_finish(store, code, error);
}

st_code st_compare_acknowledgements_sql(int64_t baseline_key, const st_compare_filter *filter, st_text *sql,
                                        st_error *error)
{
    st_text_add(sql, "SELECT k.acknowledgement_id, k.baseline_key, k.session_key, k.problem_key, k.cache, k.reason,"
                     " k.author, k.acknowledged_ms, p.family, p.text, s.session_id, o.session_id, d.name"
                     " FROM acknowledgement k CROSS JOIN problem p ON p.problem_key = k.problem_key"
                     " CROSS JOIN session s ON s.session_key = k.session_key"
                     " CROSS JOIN session o ON o.session_key = k.baseline_key"
                     " CROSS JOIN device d ON d.device_key = s.device_key WHERE 1");
    st_text_add(sql, baseline_key >= 0 ? " AND k.baseline_key = :baseline" : "");
    st_text_add(sql, filter->family ? " AND p.family = :family" : "");
    st_text_add(sql, filter->type ? " AND p.type = :type" : "");
    st_text_add(sql, filter->operation ? " AND p.operation = :operation" : "");
    st_text_add(sql, filter->n >= 0 ? " AND p.n = :n" : "");
    st_text_add(sql, filter->cache ? " AND k.cache = :cache" : "");
    st_compare_add_device(filter, sql);
    st_text_add(sql, " ORDER BY p.family, p.type, p.operation, p.n, p.text, k.cache, k.acknowledged_ms DESC,"
                     " k.acknowledgement_id DESC");
    return sql->failed ? st_fail_memory(error, "listing acknowledgements") : ST_OK;
}

st_code st_store_acknowledgements(st_store *store, int64_t baseline_key, const st_compare_filter *filter,
                                  st_acknowledgement_callback *callback, void *context, st_error *error)
{
    st_text sql;
    st_text_init(&sql);
    st_statement s = {0};
    st_code code = st_compare_acknowledgements_sql(baseline_key, filter, &sql, error);
    if (code == ST_OK)
        code = st_statement_open_once(store, &s, st_text_string(&sql), "listing acknowledgements", error);
    st_text_release(&sql);
    if (code != ST_OK)
        return code;
    st_compare_bind_filter(&s, filter);
    st_compare_bind_int(&s, ":baseline", baseline_key);
    for (bool row = true; code == ST_OK && row;) {
        code = st_statement_step(&s, &row, error);
        if (code != ST_OK || !row)
            break;
        st_acknowledgement one = {.baseline_key = st_column_int(&s, 1),
                                  .session_key = st_column_int(&s, 2),
                                  .problem_key = st_column_int(&s, 3),
                                  .cache = st_column_text(&s, 4),
                                  .reason = st_column_text(&s, 5),
                                  .author = st_column_text_or_null(&s, 6),
                                  .acknowledged_ms = st_column_int(&s, 7),
                                  .family = st_column_text(&s, 8),
                                  .problem = st_column_text(&s, 9),
                                  .session_id = st_column_text(&s, 10),
                                  .baseline_id = st_column_text(&s, 11),
                                  .device_name = st_column_text(&s, 12)};
        st_column_copy(&s, 0, one.id, sizeof one.id);
        code = callback(context, &one, error);
    }
    st_statement_close(&s);
    return code;
}

st_code st_store_acknowledgement_withdraw(st_store *store, const char *id_prefix, st_error *error)
{
    int64_t key;
    st_code code = st_store_begin(store, error);
    if (code != ST_OK)
        return code;
    code = st_key_by_prefix(store,
                            "SELECT acknowledgement_key, acknowledgement_id FROM acknowledgement"
                            " WHERE acknowledgement_id >= ?1 AND acknowledgement_id < ?1 || 'g'"
                            " ORDER BY acknowledgement_id LIMIT 2",
                            "acknowledgement", id_prefix, &key, error);
    if (code == ST_NOTHING)
        code = st_fail(error, ST_NOTHING, "simtune acknowledge --list shows them",
                       "the store %s has no acknowledgement that begins with %s", store->path, id_prefix);
    st_statement s = {0};
    if (code == ST_OK)
        code = st_statement_open(store, &s, "DELETE FROM acknowledgement WHERE acknowledgement_key = ?",
                                 "withdrawing an acknowledgement", error);
    if (code == ST_OK) {
        st_bind_int(&s, key);
        code = st_statement_run(&s, error);
    }
    st_statement_close(&s);
    return st_store_finish(store, code, error);
}
