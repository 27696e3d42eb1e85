# SPDX-License-Identifier: Apache-2.0
# Words that mean nothing: one clear message, exit 2, nothing written.
store
t simtune frobnicate
t simtune quer
t simtune --frobnicate
t simtune help frobnicate
t simtune query --bset
t simtune query --limit
t simtune query --best=yes
t simtune query reduce scan
t simtune query --limit 0
t simtune query --limit many
t simtune query --type f31
t simtune query --size nonsense
t simtune query --size -4
t simtune query --arch sm_1
t simtune query --arch auto,sm_90
t simtune query --cache hot
t simtune query --json --csv
t simtune query --session xyz --db history.db
t simtune query --type ""
t simtune query --size ""
t simtune query --db ""
t simtune query --limit 1 --limit 2
t simtune query --outcome fine
t simtune query --cache ""
t simtune query -z
t simtune show
t simtune show xyz --db history.db
t simtune show 1 2
t simtune repro
t simtune emit
t simtune emit nosuch --db history.db
t simtune emit reduce scan -o one.h
t simtune emit reduce --type f31
t simtune emit reduce --arch sm_1
t simtune templates nosuch
t simtune templates reduc
t simtune templates reduce --arch sm_1
t simtune templates a b
t simtune db
t simtune db frobnicate
t simtune db info more
t simtune db export
t simtune db import
t simtune devices more
t simtune devices --device 0
t simtune doctor more
t simtune doctor --arch sm_90
t simtune version more
t simtune help query show
t simtune tune
t simtune tune reduce scan
t simtune reduce --type f31
t simtune reduce --op product
t simtune reduce --size nonsense
t simtune reduce --arch sm_1
t simtune reduce --budget much
t simtune reduce --strategy clairvoyant
t simtune reduce --determinism much
t simtune reduce --counters perhaps
t simtune reduce --seed -1
t simtune reduce --seed 1.5
t simtune reduce --jobs 1.5
t simtune reduce --type ""
t simtune reduce --size ""
t simtune nosuch.cu
left
