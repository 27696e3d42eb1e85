# SPDX-License-Identifier: Apache-2.0
# Strategies over recorded spaces: a made-up Kernel Tuner cache and T4 file, and sessions of a store.
store
PYTHONPATH="$DATA" python3 -B -c 'from foreign import *
import itertools
made = []
for second, (bx, by, path) in enumerate(itertools.product([16, 32, 64, 128], [1, 2, 4], ["plain", "shared mem"])):
    good = 1 + abs(bx - 64) / 64 + abs(by - 2) / 4 + (path == "plain") / 2
    result = {"__error__": "RuntimeFailedConfig"} if bx * by > 256 else {"time": good, "times": [good] * 3}
    made.append(entry(bx, by, path, second, **result))
write("blur_cache.json.gz", cache(made))
write("blur_T4.json", t4())
write("failed_cache.json", cache([made[-1]]))'
t simtune replay blur_cache.json.gz --strategy random,local,genetic,anneal --seeds 9
t simtune replay blur_cache.json.gz --strategy guided --seeds 3 --chart chart.csv
head -3 chart.csv
t simtune replay blur_cache.json.gz --strategy local --seeds 2 --seed 7 --batch 4
t simtune replay --help
json simtune replay blur_T4.json --strategy exhaustive,guided --seeds 2 --json
# Of a store: by session, one problem of it, the other state of the cache, with what the other problems tell.
session=$(sql history.db "SELECT session_id FROM session WHERE family = 'reduce' LIMIT 1")
t simtune replay $session --strategy random --seeds 2 --db history.db
t simtune replay $session --cache warm --strategy random,guided --seeds 2 --history --without stalls,model --db history.db
problem=$(sql history.db "SELECT text FROM problem WHERE family = 'scale' LIMIT 1")
scale=$(sql history.db "SELECT session_id FROM session WHERE family = 'scale' LIMIT 1")
t simtune replay $scale --problem "$problem" --strategy guided --seeds 2 --db history.db
for word in latest scale; do simtune replay $word --strategy random --seeds 1 --db history.db | grep session; done
# What cannot be.
t simtune replay
t simtune replay nothing.json
t simtune replay 00000000 --db history.db
t simtune replay nothing --db history.db
t simtune replay $session --problem "n=3" --db history.db
t simtune replay failed_cache.json
t simtune replay blur_cache.json.gz --strategy random,swarm
t simtune replay blur_cache.json.gz --without luck
t simtune replay blur_cache.json.gz --seeds 0
t simtune replay blur_cache.json.gz --cache hot
t simtune replay blur_cache.json.gz --strategy random,local,random
t simtune replay blur_cache.json.gz --strategy random --seeds 1 --chart history.db
left
