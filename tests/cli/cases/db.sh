# SPDX-License-Identifier: Apache-2.0
# The store as a file.
store
t simtune db info --db history.db
json simtune db info --json --db history.db
t simtune db check --db history.db
session=$(simtune db info --json --db history.db | python3 -c \
    'import json, sys; print(json.load(sys.stdin)["sessions"][0]["id"])')
t simtune db export out.jsonl.gz $session --db history.db
t simtune db export out.jsonl.gz 0000 --db history.db
t simtune db import out.jsonl.gz --db new.db
t simtune db import out.jsonl.gz --db new.db
t simtune db info --db new.db
t simtune db import missing.jsonl.gz --db new.db
echo nonsense >nonsense.jsonl.gz
t simtune db import nonsense.jsonl.gz --db new.db
t simtune query --best --size 64Ki --cache cold --db new.db
# A row that refers to nothing is told: exit 1.
python3 - <<'END'
import sqlite3
store = sqlite3.connect("new.db")
store.execute("PRAGMA foreign_keys = OFF")
store.execute("DELETE FROM device")
store.commit()
END
t simtune db check --db new.db
