# SPDX-License-Identifier: Apache-2.0
# A store that is of a newer version, missing, a folder or something else is refused and left as it is.
python3 -c 'import sqlite3; c = sqlite3.connect("newer.db"); c.execute("PRAGMA user_version = 999"); c.commit()'
before=$(md5sum <newer.db)
t simtune query --db newer.db
t simtune show 0123 --db newer.db
t simtune db info --db newer.db
t simtune db check --db newer.db
t simtune emit reduce --db newer.db
[ "$before" = "$(md5sum <newer.db)" ] && echo "newer.db is as it was"
t simtune query --db missing.db
mkdir folder
t simtune query --db folder
echo "this is a text, not a database, and long enough to have a header of a hundred bytes, which it fills" >text.db
t simtune query --db text.db
t simtune query --db text.db/below
t simtune query --db /dev/null
sql other.db "CREATE TABLE x (a)"
t simtune query --db other.db
# Ids that begin alike.
store
sql history.db "UPDATE candidate SET candidate_id = printf('abcd%028d', candidate_key) WHERE candidate_key < 3"
t simtune show abcd --db history.db
t simtune show ABCD0000000000000000000000000001 --db history.db
left
