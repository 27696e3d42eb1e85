# SPDX-License-Identifier: Apache-2.0
# Commands that fail leave no store behind; those that look after a store want one; what others named cannot steer a
# terminal; sessions whose process is gone are told as such; free pages are looked at.
store
foreign() { PYTHONPATH="$DATA" python3 -B -c "from foreign import *; import json
$1"; }
files() { ls -A | grep -e "$1" || echo "no $1"; }
echo "--- nothing is left of what failed"
echo nonsense >odd.gz
t simtune db import odd.gz --db fresh.db
t simtune db merge missing.db --db fresh.db
t simtune db merge odd.gz --db fresh.db
t simtune db import odd.gz missing.gz
files fresh
test -e "$HOME/.local/share/simtune/history.db" && echo "a store was left" || echo "no store of its own, either"
echo "--- a store that is not there, and one without a byte"
for what in check prune 'prune --yes' vacuum; do t simtune db $what --db fresh.db; done
t simtune db check
: >empty.db
for what in check prune 'prune --yes' vacuum; do t simtune db $what --db empty.db; done
files fresh
echo "--- names of others"
foreign 'write("cache.json", cache([("1", {"A": 1, "time": 2.5}), ("2", {"A": 2, "time": "RuntimeFailedConfig"})],
    kernel_name="k", device_name="GPU \x1b]0;owned\x07 \x1b[2J\x9b31m | x", tune_params_keys=["A"]))'
t simtune db import cache.json --db named.db
t simtune query --db named.db
t simtune query --failures --db named.db
t simtune query --markdown --db named.db
t simtune query --sql "SELECT name FROM device" --db named.db
t simtune db info --db named.db
id=$(sql named.db "SELECT candidate_id FROM candidate WHERE outcome = 'correct'")
t simtune show $id --db named.db
simtune query --json --db named.db | grep -ci 'u001b'
simtune query "$(printf 'no\033[2J')" --db named.db 2>&1 | cat -v
printf '{"format":"simtune-history","version":1}\n{"row":"\033[2J\\u0007"}\n' >odd.jsonl
t simtune db import odd.jsonl --db named.db
echo "--- a session whose process is gone"
sql history.db "UPDATE session SET status = 'running', finished_ms = NULL WHERE family = 'scale'"
simtune db info --db history.db | grep -e 'cut off'
json simtune db info --db history.db --json | grep -c '"live": false'
echo "--- times that were not measured"
simtune db export sound.jsonl --db history.db 2>/dev/null
sed 's/"samples_ns":\[/"samples_ns":[-1,/' sound.jsonl >negative.jsonl
sed 's/"median_ns":/"median_ns":1e9,"was_ns":/' sound.jsonl >median.jsonl
t simtune db import negative.jsonl --db fresh.db
t simtune db import median.jsonl --db fresh.db
files fresh
echo "--- the list of free pages"
sql history.db "DELETE FROM stall_lines"
sql history.db "DELETE FROM measurement WHERE phase <> 'finals'"
python3 - <<'END'
bytes_now = bytearray(open("history.db", "rb").read())
bytes_now[39] ^= 1
open("history.db", "wb").write(bytes_now)
END
rm -f history.db-wal history.db-shm
t simtune db check --db history.db
t simtune db vacuum --db history.db
left
echo "--- caches of what shipped before"
mkdir -p "$HOME/.cache/simtune"
for day in 1 2 3; do touch -d "2020-01-0$day" "$HOME/.cache/simtune/shipped-000$day.db" "$HOME/.cache/simtune/shipped-000$day.db-wal"; done
touch "$HOME/.cache/simtune/other.db"
gzip -nc sound.jsonl >"$SHARE/db/history/sound.jsonl.gz"
simtune query --best | grep -c 'shipped'
ls "$HOME/.cache/simtune" | sed 's/[0-9a-f]\{16\}/HASH/' | grep -v -e '-shm' -e 'HASH.db-'
