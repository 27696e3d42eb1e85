// SPDX-License-Identifier: Apache-2.0
// Version 2 of the schema: baselines, acknowledged changes, counters by metric, and "the newest" in one pass. It
// shares no text with schema.c, so that a released script cannot change by an edit of another.
#include "db/store_internal.h"

// clang-format off
#define ID(column) column " TEXT NOT NULL UNIQUE CHECK (length(" column ") = 32 AND " column \
                          " NOT GLOB '*[^0-9a-f]*')"
#define DATE(column) "strftime('%Y-%m-%dT%H:%M:%SZ', " column " / 1000, 'unixepoch')"

const char st_schema_2_tables[] =
    // What comparisons are made against.
    "CREATE TABLE baseline ("
    "  session_key INTEGER PRIMARY KEY REFERENCES session,"
    "  marked_ms INTEGER NOT NULL CHECK (marked_ms > 0),"
    "  note TEXT) STRICT;"

    // A change against a baseline that somebody has looked at, and why it is as it should be.
    "CREATE TABLE acknowledgement ("
    "  acknowledgement_key INTEGER PRIMARY KEY, " ID("acknowledgement_id") ","
    "  baseline_key INTEGER NOT NULL REFERENCES session,"
    "  session_key INTEGER NOT NULL REFERENCES session,"
    "  problem_key INTEGER NOT NULL REFERENCES problem,"
    "  cache TEXT NOT NULL CHECK (cache IN ('cold', 'warm')),"
    "  reason TEXT NOT NULL CHECK (reason <> ''),"
    "  author TEXT,"
    "  acknowledged_ms INTEGER NOT NULL CHECK (acknowledged_ms > 0),"
    "  UNIQUE (baseline_key, session_key, problem_key, cache)) STRICT;"
    "CREATE INDEX acknowledgement_session ON acknowledgement (session_key);"
    "CREATE INDEX acknowledgement_problem ON acknowledgement (problem_key);"

    // How many samples there were before a prune thinned them; NULL: all are here.
    "ALTER TABLE measurement ADD COLUMN samples_taken INTEGER CHECK (samples_taken > 0);"

    // Counters by metric first: "stall.long_scoreboard > 0.5" over the whole store reads one run of rows that
    // lie side by side instead of every row of the largest table. Those of one candidate are found by a look-up
    // a metric. A foreign key would search this table from end to end for each profile that is deleted (it has
    // no index by profile, which would double it), so two triggers hold the reference.
    "CREATE TABLE counter_by_metric ("
    "  metric_key INTEGER NOT NULL REFERENCES metric,"
    "  profile_key INTEGER NOT NULL,"
    "  value REAL,"
    "  PRIMARY KEY (metric_key, profile_key)) STRICT, WITHOUT ROWID;"
    "INSERT INTO counter_by_metric (metric_key, profile_key, value)"
    "  SELECT metric_key, profile_key, value FROM counter ORDER BY metric_key, profile_key;"
    "DROP VIEW simtune_counters;"
    "DROP TABLE counter;"
    "ALTER TABLE counter_by_metric RENAME TO counter;"
    "CREATE TRIGGER counter_of_a_profile BEFORE INSERT ON counter"
    "  WHEN NOT EXISTS (SELECT 1 FROM profile WHERE profile_key = NEW.profile_key)"
    "  BEGIN SELECT RAISE(ABORT, 'a counter of a profile that is not there'); END;"
    "CREATE TRIGGER profile_takes_its_counters BEFORE DELETE ON profile"
    "  BEGIN DELETE FROM counter WHERE profile_key = OLD.profile_key"
    "    AND metric_key IN (SELECT metric_key FROM metric); END;"

    // The measurement that stands for a candidate is the first of this order; the views ask for it in these words,
    // and would sort for each row without it.
    "CREATE INDEX measurement_standing ON measurement (candidate_key, cache,"
    " CASE phase WHEN 'finals' THEN 0 WHEN 'halving' THEN 1 ELSE 2 END, round DESC);";

const char st_schema_2_views[] =
    // As in version 1. CROSS JOIN: the counter comes last, found by its whole key.
    "CREATE VIEW simtune_counters AS SELECT c.candidate_id, f.kind, r.name, v.value, f.seconds,"
    " c.candidate_key, c.session_key, c.problem_key, c.configuration_key"
    " FROM candidate c JOIN profile f ON f.candidate_key = c.candidate_key JOIN metric r"
    " CROSS JOIN counter v ON v.metric_key = r.metric_key AND v.profile_key = f.profile_key;"

    "CREATE VIEW simtune_baselines AS SELECT v.session_id, v.family, v.device_name, v.device_uuid,"
    " v.backend, v.cc, v.sm_count, v.driver, v.driver_cuda, v.compiler, v.tool, v.template_hash,"
    " v.started_ms, v.finished_ms, b.marked_ms, " DATE("b.marked_ms") " AS marked, b.note, b.session_key"
    " FROM baseline b JOIN simtune_sessions v ON v.session_key = b.session_key;"

    "CREATE VIEW simtune_acknowledgements AS SELECT a.acknowledgement_id,"
    " o.session_id AS baseline_id, s.session_id, p.family, p.text AS problem, p.type, p.operation,"
    " p.n, a.cache, a.reason, a.author, a.acknowledged_ms,"
    " " DATE("a.acknowledged_ms") " AS acknowledged,"
    " a.acknowledgement_key, a.baseline_key, a.session_key, a.problem_key"
    " FROM acknowledgement a JOIN session o ON o.session_key = a.baseline_key"
    " JOIN session s ON s.session_key = a.session_key"
    " JOIN problem p ON p.problem_key = a.problem_key;"

    // The newest ended session's winner for each device, toolchain, problem and state of the cache: all are
    // found in one pass, where version 1 looked through the rivals of each row.
    "DROP VIEW simtune_best;"
    "CREATE VIEW simtune_best AS SELECT b.* FROM simtune_winners b"
    " WHERE (b.session_key, b.problem_key, b.cache) IN (SELECT session_key, problem_key, cache FROM"
    "  (SELECT x.session_key, x.problem_key, x.cache, row_number() OVER"
    "    (PARTITION BY x.problem_key, x.cache, y.device_key, y.toolchain_key"
    "     ORDER BY y.finished_ms DESC, y.session_id DESC) AS place"
    "   FROM winner x JOIN session y ON y.session_key = x.session_key WHERE y.status <> 'running')"
    "  WHERE place = 1);";
