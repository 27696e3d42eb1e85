# SPDX-License-Identifier: Apache-2.0
# A colleague's store is taken in; once more changes nothing; either way gives the same rows.
store
mv history.db mine.db
store
mv history.db theirs.db
sql theirs.db "UPDATE session SET status = 'running', finished_ms = NULL WHERE family = 'scale';
    INSERT INTO baseline SELECT session_key, started_ms, 'before the update' FROM session WHERE family = 'reduce'"
cp mine.db left.db
cp theirs.db right.db
t simtune db merge theirs.db --db left.db
t simtune db merge theirs.db --db left.db
t simtune db merge mine.db --db right.db
t simtune db export left.jsonl --db left.db
t simtune db export right.jsonl --db right.db
cmp left.jsonl right.jsonl && echo "both hold the same"
# There it went on, and a measurement was taken anew.
sql theirs.db "UPDATE session SET status = 'finished', finished_ms = started_ms + 1000, summary = '{}'
    WHERE family = 'scale';
    UPDATE measurement SET taken_ms = taken_ms - 1, sm_clock_mhz = 1000 WHERE measurement_key = 1"
t simtune db merge theirs.db --db left.db
json simtune db merge theirs.db mine.db --db new.db --json
t simtune db merge --db new.db
t simtune db merge new.db --db new.db
t simtune db merge missing.db --db new.db
TMPDIR=/nonexistent t simtune db merge mine.db --db new.db
t simtune db check --db new.db
