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
left
