# SPDX-License-Identifier: Apache-2.0
# A made-up store: made once, asked like any other, never emitted.
t simtune db generate made.db --candidates 300 --samples 4
t simtune db generate made.db
json simtune db generate again.db --candidates 300 --samples 4 --json
[ "$(sql made.db 'SELECT group_concat(candidate_id) FROM candidate')" = \
    "$(sql again.db 'SELECT group_concat(candidate_id) FROM candidate')" ] && echo "the same again"
t simtune db check --db made.db
t simtune query reduce --best --size 64Ki --cache cold --db made.db
t simtune show $(sql made.db "SELECT candidate_id FROM candidate WHERE candidate_key = 1") --db made.db
t simtune emit reduce --db made.db -o made.h
t simtune emit reduce --db made.db -o made.h --allow-emulated
t simtune db generate
t simtune db generate one.db two.db
t simtune db generate one.db --db made.db
t simtune db generate one.db --candidates 0
t simtune db generate one.db --candidates 1e6
t simtune db generate one.db --samples 51
t simtune db generate one.db --seed -1
t simtune db generate missing/one.db
left
