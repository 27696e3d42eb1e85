# SPDX-License-Identifier: Apache-2.0
# Statements of users: they read, and nothing else.
store
t simtune query --sql --db history.db
json simtune query --sql "SELECT family, count(*) AS rows, NULL, 0.5, x'00ff' FROM simtune_results GROUP BY family" --json --db history.db
t simtune query --sql "SELECT family, count(*) AS rows, NULL AS empty, 0.5, x'00ff' AS bytes FROM simtune_results GROUP BY family" --db history.db
t simtune query --sql "SELECT family, count(*) AS rows, NULL AS empty, 0.5, x'00ff' AS bytes FROM simtune_results GROUP BY family" --csv --db history.db
t simtune query --sql "SELECT family, count(*) AS rows, NULL AS empty, 0.5, x'00ff' AS bytes FROM simtune_results GROUP BY family" --markdown --db history.db
t simtune query --sql "SELECT 'a,\"b\"' AS 'one, two', 'x|y' || char(10, 27) || 'z'" --csv --db history.db
t simtune query --sql "SELECT 'a|b', 'x' || char(10, 27) || 'z', CAST(x'ff41' AS TEXT)" --db history.db
t simtune query --sql "SELECT 1 WHERE 0" --db history.db
t simtune query --sql "SELECT count(*) FROM (WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a WHERE x < 1500) SELECT x FROM a)" --db history.db
t simtune query --sql "PRAGMA table_info(simtune_baselines)" --csv --db history.db
json simtune query --sql --json --db history.db
for statement in "DELETE FROM winner" "UPDATE session SET command = 'x'" "INSERT INTO metric (name) VALUES ('x')" \
    "CREATE TEMP TABLE a (b)" "ATTACH 'other.db' AS other" "VACUUM INTO 'copy.db'" "PRAGMA user_version = 9" \
    "PRAGMA writable_schema = 1" "PRAGMA journal_mode = delete" "BEGIN" "SELECT load_extension('x')" \
    "WITH a AS (SELECT 1) DELETE FROM winner RETURNING *" "SELECT 1; DELETE FROM winner" "SELECT missing" "SELEKT 1" "-" " "; do
    t simtune query --db history.db --sql -- "$statement"
done
t simtune query --sql SELECT 1 --db history.db
t simtune query --sql "SELECT 2 /* two */" --db history.db
t simtune query --sql --best --db history.db
t simtune query --sql --csv --db history.db
sql history.db "SELECT count(*) FROM winner"
left
