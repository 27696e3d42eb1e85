# SPDX-License-Identifier: Apache-2.0
# Pruning says what it would do, does it when told so, and the answers stay.
simtune db generate history.db --candidates 2000 --samples 8 2>/dev/null
one=$(sql history.db "SELECT session_id FROM session ORDER BY session_id LIMIT 1")
two=$(sql history.db "SELECT session_id FROM session WHERE family = (SELECT family FROM session ORDER BY session_id LIMIT 1)
    ORDER BY session_id DESC LIMIT 1")
answers() {
    simtune query --best --db history.db
    simtune compare $one $two --db history.db
    simtune emit reduce -o made --allow-emulated --db history.db && cat made/*.h
}
answers >before 2>&1
t simtune db prune --db history.db
json simtune db prune --older-than 0d --db history.db --json
t simtune db prune --older-than 200y --keep 1/1 --db history.db
t simtune db prune --keep 1/4 --yes --db history.db
t simtune db info --db history.db
t simtune db prune --older-than 0d --keep 4 --yes --db history.db
t simtune db prune --older-than 0d --keep 4 --db history.db
answers >after 2>&1
cmp before after && echo "winners and comparisons are the same"
t simtune db vacuum --db history.db
json simtune db vacuum --db history.db --json
t simtune db check --db history.db
for wrong in "--keep 0" "--keep 1/x" "--older-than 3" "--older-than d" "--older-than 5m" "--older-than 12345678d"; do
    t simtune db prune $wrong --db history.db
done
t simtune db prune now --db history.db
