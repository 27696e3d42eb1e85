// SPDX-License-Identifier: Apache-2.0
// The text of the schema, version 1. Invariants: 1. every table is STRICT, every reference a foreign key,
// every closed vocabulary a CHECK; 2. unknown is NULL; 3. each row has a local integer key (X_key) and,
// where rows of several stores must meet, a stable id (X_id); 4. views use built-in SQL functions only, so
// that sqlite3 and Python read them. docs/store.md describes each view; their columns are promises.
//
// Released scripts are never edited: see migrations.c.
#include "db/store_internal.h"

const char *const st_stored_outcomes[] = {"correct", "wrong",   "race",       "compile", "launch",
                                          "crash",   "timeout", "constraint", "skipped", NULL};
const char *const st_stored_phases[] = {"screen", "halving", "finals", NULL};
const char *const st_stored_caches[] = {"cold", "warm", NULL};
const char *const st_stored_statuses[] = {"running", "finished", "interrupted", NULL};
const char *const st_stored_profiles[] = {"pc", "range", NULL};

#define ID(column) column " TEXT NOT NULL UNIQUE CHECK (length(" column ") = 32 AND " column \
                          " NOT GLOB '*[^0-9a-f]*')"

const char st_schema_1_tables[] =
    // What stays the same: found by content, shared by sessions.
    "CREATE TABLE device ("
    "  device_key INTEGER PRIMARY KEY, " ID("device_id") ","
    "  uuid TEXT NOT NULL CHECK (uuid <> ''),"
    "  name TEXT NOT NULL,"
    "  backend TEXT NOT NULL CHECK (backend <> ''),"
    "  pci TEXT,"
    "  cc INTEGER CHECK (cc > 0),"
    "  sm_count INTEGER CHECK (sm_count > 0),"
    "  memory_bytes INTEGER CHECK (memory_bytes > 0),"
    "  l2_bytes INTEGER CHECK (l2_bytes >= 0),"
    "  facts TEXT CHECK (facts IS NULL OR json_valid(facts)),"
    "  read_gbs REAL CHECK (read_gbs > 0),"
    "  copy_gbs REAL CHECK (copy_gbs > 0),"
    "  UNIQUE (uuid, backend)) STRICT;"

    "CREATE TABLE toolchain ("
    "  toolchain_key INTEGER PRIMARY KEY, " ID("toolchain_id") ","
    "  driver TEXT,"
    "  driver_cuda INTEGER,"
    "  compiler TEXT,"
    "  tool TEXT) STRICT;"

    "CREATE TABLE template ("
    "  template_key INTEGER PRIMARY KEY,"
    "  hash TEXT NOT NULL UNIQUE CHECK (hash <> ''),"
    "  family TEXT NOT NULL CHECK (family <> ''),"
    "  texts TEXT NOT NULL CHECK (json_valid(texts))) STRICT;"

    "CREATE TABLE problem ("
    "  problem_key INTEGER PRIMARY KEY, " ID("problem_id") ","
    "  family TEXT NOT NULL CHECK (family <> ''),"
    "  text TEXT NOT NULL,"
    "  type TEXT,"
    "  operation TEXT,"
    "  n INTEGER CHECK (n >= 0),"
    "  UNIQUE (family, text)) STRICT;"

    "CREATE TABLE configuration ("
    "  configuration_key INTEGER PRIMARY KEY, " ID("configuration_id") ","
    "  family TEXT NOT NULL CHECK (family <> ''),"
    "  text TEXT NOT NULL,"
    "  parameters TEXT NOT NULL CHECK (json_valid(parameters)),"
    "  UNIQUE (family, text)) STRICT;"

    // What happened.
    "CREATE TABLE session ("
    "  session_key INTEGER PRIMARY KEY, " ID("session_id") ","
    "  resume_key TEXT NOT NULL,"
    "  family TEXT NOT NULL CHECK (family <> ''),"
    "  device_key INTEGER NOT NULL REFERENCES device,"
    "  toolchain_key INTEGER NOT NULL REFERENCES toolchain,"
    "  template_key INTEGER NOT NULL REFERENCES template,"
    "  started_ms INTEGER NOT NULL CHECK (started_ms > 0),"
    "  finished_ms INTEGER CHECK (finished_ms > 0),"
    "  status TEXT NOT NULL CHECK (status IN ('running', 'finished', 'interrupted')),"
    "  command TEXT,"
    "  options TEXT CHECK (options IS NULL OR json_valid(options)),"
    "  summary TEXT CHECK (summary IS NULL OR json_valid(summary)),"
    "  shipped INTEGER NOT NULL DEFAULT 0 CHECK (shipped IN (0, 1)),"
    "  CHECK ((status = 'running') = (finished_ms IS NULL))) STRICT;"
    "CREATE INDEX session_resume ON session (resume_key, started_ms);"
    "CREATE INDEX session_family ON session (family, finished_ms);"
    "CREATE INDEX session_device ON session (device_key, toolchain_key);"
    "CREATE INDEX session_finished ON session (finished_ms);"

    "CREATE TABLE candidate ("
    "  candidate_key INTEGER PRIMARY KEY, " ID("candidate_id") ","
    "  session_key INTEGER NOT NULL REFERENCES session,"
    "  problem_key INTEGER NOT NULL REFERENCES problem,"
    "  configuration_key INTEGER NOT NULL REFERENCES configuration,"
    "  outcome TEXT NOT NULL CHECK (outcome IN ('correct', 'wrong', 'race', 'compile', 'launch',"
    "    'crash', 'timeout', 'constraint', 'skipped')),"
    "  detail TEXT,"
    "  registers INTEGER CHECK (registers >= 0),"
    "  local_bytes INTEGER CHECK (local_bytes >= 0),"
    "  static_smem INTEGER CHECK (static_smem >= 0),"
    "  dynamic_smem INTEGER CHECK (dynamic_smem >= 0),"
    "  blocks_per_sm INTEGER CHECK (blocks_per_sm >= 0),"
    "  occupancy REAL CHECK (occupancy >= 0),"
    "  deterministic INTEGER CHECK (deterministic IN (0, 1)),"
    "  compile_seconds REAL CHECK (compile_seconds >= 0),"
    "  UNIQUE (session_key, problem_key, configuration_key)) STRICT;"
    "CREATE INDEX candidate_problem ON candidate (problem_key, configuration_key);"
    "CREATE INDEX candidate_configuration ON candidate (configuration_key);"
    "CREATE TRIGGER candidate_of_one_family BEFORE INSERT ON candidate"
    "  WHEN (SELECT family FROM session WHERE session_key = NEW.session_key) <>"
    "       (SELECT family FROM problem WHERE problem_key = NEW.problem_key)"
    "    OR (SELECT family FROM problem WHERE problem_key = NEW.problem_key) <>"
    "       (SELECT family FROM configuration WHERE configuration_key = NEW.configuration_key)"
    "  BEGIN SELECT RAISE(ABORT, 'session, problem and configuration are of different families');"
    "  END;"

    "CREATE TABLE measurement ("
    "  measurement_key INTEGER PRIMARY KEY,"
    "  candidate_key INTEGER NOT NULL REFERENCES candidate,"
    "  phase TEXT NOT NULL CHECK (phase IN ('screen', 'halving', 'finals')),"
    "  round INTEGER NOT NULL CHECK (round >= 0),"
    "  cache TEXT NOT NULL CHECK (cache IN ('cold', 'warm')),"
    "  median_ns REAL CHECK (median_ns >= 0),"
    "  sm_clock_mhz INTEGER,"
    "  memory_clock_mhz INTEGER,"
    "  temperature_c INTEGER,"
    "  power_mw INTEGER,"
    "  throttle_reasons INTEGER,"
    "  dropped INTEGER CHECK (dropped >= 0),"
    "  batch INTEGER CHECK (batch >= 1),"
    "  tick_ns REAL CHECK (tick_ns >= 0),"
    "  taken_ms INTEGER NOT NULL CHECK (taken_ms > 0),"
    "  samples BLOB NOT NULL CHECK (length(samples) % 8 = 0),"
    "  UNIQUE (candidate_key, cache, phase, round)) STRICT;"

    // One row a candidate and kind of profile; its values are rows of counter.
    "CREATE TABLE profile ("
    "  profile_key INTEGER PRIMARY KEY,"
    "  candidate_key INTEGER NOT NULL REFERENCES candidate,"
    "  kind TEXT NOT NULL CHECK (kind IN ('pc', 'range')),"
    "  seconds REAL CHECK (seconds >= 0),"
    "  UNIQUE (candidate_key, kind)) STRICT;"
    "CREATE TABLE metric ("
    "  metric_key INTEGER PRIMARY KEY,"
    "  name TEXT NOT NULL UNIQUE CHECK (name <> '')) STRICT;"
    "CREATE TABLE counter ("
    "  profile_key INTEGER NOT NULL REFERENCES profile,"
    "  metric_key INTEGER NOT NULL REFERENCES metric,"
    "  value REAL,"
    "  PRIMARY KEY (profile_key, metric_key)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE stall_lines ("
    "  candidate_key INTEGER PRIMARY KEY REFERENCES candidate,"
    "  lines TEXT NOT NULL CHECK (json_valid(lines))) STRICT;"

    // What was concluded.
    "CREATE TABLE winner ("
    "  session_key INTEGER NOT NULL REFERENCES session,"
    "  problem_key INTEGER NOT NULL REFERENCES problem,"
    "  cache TEXT NOT NULL CHECK (cache IN ('cold', 'warm')),"
    "  winner_key INTEGER NOT NULL REFERENCES candidate,"
    "  default_key INTEGER REFERENCES candidate,"
    "  winner_ns REAL CHECK (winner_ns >= 0),"
    "  default_ns REAL CHECK (default_ns >= 0),"
    "  speedup REAL,"
    "  speedup_low REAL,"
    "  speedup_high REAL,"
    "  tied INTEGER NOT NULL CHECK (tied >= 1),"
    "  ties TEXT CHECK (ties IS NULL OR json_valid(ties)),"
    "  bytes REAL CHECK (bytes >= 0),"
    "  note TEXT,"
    "  PRIMARY KEY (session_key, problem_key, cache)) STRICT, WITHOUT ROWID;"
    "CREATE INDEX winner_problem ON winner (problem_key, cache);"
    "CREATE INDEX winner_candidate ON winner (winner_key);"
    "CREATE INDEX winner_default ON winner (default_key);"
    "CREATE TRIGGER winner_of_its_session BEFORE INSERT ON winner"
    "  WHEN NOT EXISTS (SELECT 1 FROM candidate WHERE candidate_key = NEW.winner_key"
    "         AND session_key = NEW.session_key AND problem_key = NEW.problem_key"
    "         AND outcome = 'correct')"
    "    OR (NEW.default_key IS NOT NULL AND NOT EXISTS (SELECT 1 FROM candidate"
    "         WHERE candidate_key = NEW.default_key AND session_key = NEW.session_key"
    "         AND problem_key = NEW.problem_key))"
    "  BEGIN SELECT RAISE(ABORT,"
    "    'the winner must be a correct candidate of its session and problem, the default one too');"
    "  END;"
    "CREATE TRIGGER winner_of_its_session_again BEFORE UPDATE ON winner"
    "  WHEN NOT EXISTS (SELECT 1 FROM candidate WHERE candidate_key = NEW.winner_key"
    "         AND session_key = NEW.session_key AND problem_key = NEW.problem_key"
    "         AND outcome = 'correct')"
    "  BEGIN SELECT RAISE(ABORT,"
    "    'the winner must be a correct candidate of its session and problem'); END;";

// Columns that every view about candidates has: what it is, where, made with what.
#define SESSION_COLUMNS \
    "s.session_id, s.status, s.shipped, s.started_ms, s.finished_ms," \
    " d.name AS device_name, d.uuid AS device_uuid, d.backend, d.cc, d.sm_count, d.read_gbs," \
    " t.driver, t.driver_cuda, t.compiler, t.tool, e.hash AS template_hash"
#define CANDIDATE_COLUMNS \
    "c.candidate_id, p.family, p.text AS problem, p.type, p.operation, p.n," \
    " g.text AS configuration, g.parameters, c.outcome, c.detail, c.registers, c.local_bytes," \
    " c.static_smem, c.dynamic_smem, c.blocks_per_sm, c.occupancy, c.deterministic," \
    " c.compile_seconds, " SESSION_COLUMNS
#define KEY_COLUMNS \
    "c.candidate_key, c.session_key, c.problem_key, c.configuration_key," \
    " s.device_key, s.toolchain_key, s.template_key"
#define SESSION_JOINS \
    " JOIN device d ON d.device_key = s.device_key" \
    " JOIN toolchain t ON t.toolchain_key = s.toolchain_key" \
    " JOIN template e ON e.template_key = s.template_key"
#define CANDIDATE_JOINS(owner) \
    " JOIN session s ON s.session_key = " owner ".session_key" \
    " JOIN problem p ON p.problem_key = " owner ".problem_key" \
    " JOIN configuration g ON g.configuration_key = c.configuration_key" SESSION_JOINS
// The measurement that stands for a candidate in a state of the cache: of its furthest phase the last
// round.
#define STANDING(candidate, cache) \
    "(SELECT y.measurement_key FROM measurement y WHERE y.candidate_key = " candidate \
    " AND y.cache = " cache " ORDER BY CASE y.phase WHEN 'finals' THEN 0 WHEN 'halving' THEN 1" \
    " ELSE 2 END, y.round DESC LIMIT 1)"

const char st_schema_1_views[] =
    "CREATE VIEW simtune_sessions AS SELECT " SESSION_COLUMNS ", s.family, s.command, s.options,"
    " s.summary, s.resume_key,"
    " strftime('%Y-%m-%dT%H:%M:%SZ', s.started_ms / 1000, 'unixepoch') AS started,"
    " strftime('%Y-%m-%dT%H:%M:%SZ', s.finished_ms / 1000, 'unixepoch') AS finished,"
    " s.session_key, s.device_key, s.toolchain_key, s.template_key"
    " FROM session s" SESSION_JOINS ";"

    "CREATE VIEW simtune_candidates AS SELECT " CANDIDATE_COLUMNS ", " KEY_COLUMNS
    " FROM candidate c" CANDIDATE_JOINS("c") ";"

    "CREATE VIEW simtune_measurements AS SELECT " CANDIDATE_COLUMNS ","
    " m.phase, m.round, m.cache, m.median_ns, length(m.samples) / 8 AS sample_count, m.samples,"
    " m.sm_clock_mhz, m.memory_clock_mhz, m.temperature_c, m.power_mw, m.throttle_reasons,"
    " m.dropped, m.batch, m.tick_ns, m.taken_ms,"
    " strftime('%Y-%m-%dT%H:%M:%SZ', m.taken_ms / 1000, 'unixepoch') AS taken,"
    " m.measurement_key, " KEY_COLUMNS
    " FROM candidate c JOIN measurement m ON m.candidate_key = c.candidate_key" CANDIDATE_JOINS("c") ";"

    "CREATE VIEW simtune_counters AS SELECT c.candidate_id, f.kind, r.name, v.value, f.seconds,"
    " c.candidate_key, c.session_key, c.problem_key, c.configuration_key"
    " FROM candidate c JOIN profile f ON f.candidate_key = c.candidate_key"
    " JOIN counter v ON v.profile_key = f.profile_key"
    " JOIN metric r ON r.metric_key = v.metric_key;"

    // One row a measured candidate and state of the cache.
    "CREATE VIEW simtune_results AS SELECT " CANDIDATE_COLUMNS ","
    " m.phase, m.cache, m.median_ns, length(m.samples) / 8 AS sample_count, m.taken_ms,"
    " w.winner_key IS c.candidate_key AS is_winner, w.default_key IS c.candidate_key AS is_default,"
    " CASE WHEN w.winner_key = c.candidate_key THEN w.speedup END AS speedup,"
    " CASE WHEN w.winner_key = c.candidate_key THEN w.speedup_low END AS speedup_low,"
    " CASE WHEN w.winner_key = c.candidate_key THEN w.speedup_high END AS speedup_high,"
    " CASE WHEN w.winner_key = c.candidate_key THEN w.tied ELSE 0 END AS tied,"
    " CASE WHEN w.winner_key = c.candidate_key THEN w.ties END AS ties,"
    " CASE WHEN w.winner_key = c.candidate_key THEN w.note END AS note,"
    " w.bytes, w.bytes / m.median_ns AS gbs, " KEY_COLUMNS
    " FROM candidate c JOIN measurement m ON m.candidate_key = c.candidate_key" CANDIDATE_JOINS("c")
    " LEFT JOIN winner w ON w.session_key = c.session_key AND w.problem_key = c.problem_key"
    "  AND w.cache = m.cache"
    " WHERE m.measurement_key = " STANDING("c.candidate_key", "m.cache") ";"

    // One row a session, problem and state of the cache; the same columns as simtune_results. CROSS JOIN
    // keeps SQLite from reading all candidates to find the few that won.
    "CREATE VIEW simtune_winners AS SELECT " CANDIDATE_COLUMNS ","
    " m.phase, w.cache, w.winner_ns AS median_ns,"
    " coalesce((SELECT sum(length(z.samples) / 8) FROM measurement z WHERE"
    "   z.candidate_key = w.winner_key AND z.cache = w.cache AND z.phase = m.phase), 0)"
    "   AS sample_count,"
    " coalesce(m.taken_ms, s.finished_ms, s.started_ms) AS taken_ms,"
    " 1 AS is_winner, w.default_key IS w.winner_key AS is_default,"
    " w.speedup, w.speedup_low, w.speedup_high, w.tied, w.ties, w.note,"
    " w.bytes, w.bytes / w.winner_ns AS gbs, " KEY_COLUMNS ", w.default_ns"
    " FROM winner w CROSS JOIN candidate c ON c.candidate_key = w.winner_key" CANDIDATE_JOINS("w")
    " LEFT JOIN measurement m ON m.measurement_key = " STANDING("w.winner_key", "w.cache") ";"

    // The newest ended session's winner for each device, toolchain, problem and state of the cache.
    "CREATE VIEW simtune_best AS SELECT b.* FROM simtune_winners b"
    " WHERE b.status <> 'running' AND NOT EXISTS (SELECT 1 FROM winner x"
    "  JOIN session y ON y.session_key = x.session_key"
    "  WHERE x.problem_key = b.problem_key AND x.cache = b.cache"
    "  AND y.device_key = b.device_key AND y.toolchain_key = b.toolchain_key"
    "  AND y.status <> 'running'"
    "  AND (y.finished_ms, y.session_id) > (b.finished_ms, b.session_id));";
