# SPDX-License-Identifier: Apache-2.0
# One candidate.
store
winner=$(id reduce 64Ki)
t simtune show $winner --db history.db
t simtune show ${winner:0:12} --db history.db
json simtune show $winner --json --db history.db
for outcome in wrong crash constraint; do
    failed=$(python3 -c 'import sqlite3, sys; print(sqlite3.connect("history.db").execute(
        "SELECT candidate_id FROM candidate WHERE outcome = ?", (sys.argv[1],)).fetchone()[0])' $outcome)
    t simtune show $failed --db history.db
done
json simtune show $failed --json --db history.db
t simtune show 0000 --db history.db
