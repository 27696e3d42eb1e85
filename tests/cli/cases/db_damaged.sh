# SPDX-License-Identifier: Apache-2.0
# Damaged stores: told plainly by every command that meets the damage, what can still be read is said and saved, and the file stays as it is.
store
python3 - <<'END'
import sqlite3
whole = bytearray(open("history.db", "rb").read())
db = sqlite3.connect("history.db")
root = dict(db.execute("SELECT name, rootpage FROM sqlite_schema"))
page = db.execute("PRAGMA page_size").fetchone()[0]
def write(name, change):
    bytes_now = bytearray(whole)
    change(bytes_now)
    open(name, "wb").write(bytes_now)
def zero(table):
    def change(bytes_now):
        at = (root[table] - 1) * page
        bytes_now[at:at + page] = bytes(page)
    return change
write("table.db", zero("measurement"))
write("index.db", zero("candidate_problem"))
def header(bytes_now):
    bytes_now[0:100] = b"\xff" * 100
write("header.db", header)
def cut(bytes_now):
    del bytes_now[len(bytes_now) // 2:]
write("cut.db", cut)
END
md5sum table.db index.db header.db cut.db >before
t simtune query --db table.db
t simtune db check --db table.db
json simtune db check --db table.db --json
t simtune db check --db index.db
t simtune db check --db header.db
t simtune db vacuum --db table.db
t simtune db backup copy.db --db table.db
t simtune db merge table.db --db other.db
# What can be read is saved, and makes a sound store.
t simtune db export table.jsonl.gz --db table.db
t simtune db import table.jsonl.gz --db saved.db
t simtune db check --db saved.db
t simtune db export index.jsonl --db index.db
t simtune db export header.jsonl --db header.db
t simtune db export sound.jsonl --db history.db
cmp index.jsonl sound.jsonl && cmp header.jsonl sound.jsonl && echo "nothing was lost of these"
t simtune db export cut.jsonl --db cut.db
md5sum --quiet -c before && echo "the damaged files are as they were"
# What is no store, or of a newer version, is not taken for a damaged one.
printf 'a text of some length, which is no database and holds no row of a store, however one looks at it: nothing %0200d' 0 >text.db
t simtune db check --db text.db
t simtune db export text.jsonl --db text.db
sql history.db "PRAGMA user_version = 999"
t simtune db check --db history.db
left
# A large one without its header: the size of its pages is found again.
simtune db generate large.db --candidates 3000 --samples 3 >.out 2>&1
dd if=/dev/zero of=large.db bs=16 count=1 conv=notrunc status=none
t simtune db export large.jsonl --db large.db
simtune db import large.jsonl --db again.db >.out 2>&1
sql again.db "SELECT count(*) FROM candidate"
