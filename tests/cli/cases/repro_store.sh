# SPDX-License-Identifier: Apache-2.0
# A program of a candidate is made from what the store kept; what the store keeps is not trusted.
store
winner=$(id scale 1Mi)
json simtune repro $winner --json --db history.db -o repro.cu
json simtune repro $winner --json --db history.db -o repro.cu
simtune repro $winner --json --db history.db >source.json
python3 "$CHECK_JSON" source.json | cut -c1-60
t simtune repro $winner --db history.db -o - >dash.out
grep -c '^' dash.out
ln -s repro.cu link.cu
t simtune repro $winner --db history.db -o link.cu
t simtune repro $winner --db history.db -o /dev/null
TMPDIR=$PWD/repro.cu t simtune repro $winner --db history.db
t simtune repro 0000 --db history.db
t simtune repro xyz --db history.db
t simtune repro 1 2 --db history.db
texts() { sql history.db "UPDATE template SET texts = '$1' WHERE family = 'scale'"; t simtune repro $winner --db history.db; }
texts '{"../evil.cu": "// simtune: family scale"}'
texts '{"/etc/evil.cu": "// simtune: family scale"}'
texts '{"scale.cu": "int x"}'
texts '{"scale.cu": 7}'
texts '{"scale.cu": "// simtune: family scale"}'
texts '[]'
sql history.db "PRAGMA ignore_check_constraints = ON; DELETE FROM template WHERE family = 'scale'"
t simtune repro $winner --db history.db
left
