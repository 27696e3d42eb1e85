# SPDX-License-Identifier: Apache-2.0
# Conditions, the fastest, groups, and rows that no other one beats.
store
t simtune query reduce --where "BLOCK >= 512 and stall.long_scoreboard > 0.45" --db history.db
t simtune query --where "outcome == crash or time > 200e3" --cache cold --db history.db
t simtune query --where "outcome != correct and registers > 50" --db history.db
t simtune query --where "FINISH == cluster and driver == 580.159.04" --best --cache warm --db history.db
t simtune query --failures --where "BLOCK == 1024" --db history.db
t simtune query --failures --where "time > 10" --db history.db
t simtune query --where "BLOK >= 512" --db history.db
t simtune query scale --where "sort == 1" --db history.db
t simtune query --where "outcome == crsh" --db history.db
t simtune query --where "BLOCK >=" --db history.db
t simtune query --where "ITEMS > 4" --db history.db
t simtune query --top 1 --cache cold --db history.db
t simtune query --top 0 --db history.db
t simtune query --top 1 --best --db history.db
t simtune query --per driver --cache cold --db history.db
t simtune query reduce --per size --top 2 --cache cold --db history.db
t simtune query --per device --type f32 --cache warm --db history.db
t simtune query --per type --cache warm --db history.db
t simtune query --per colour --db history.db
t simtune query --failures --per size --db history.db
t simtune query reduce --pareto time,registers --size 64Ki --cache cold --db history.db
t simtune query reduce --pareto "time, max:occupancy" --size 64Ki --cache cold --db history.db
t simtune query reduce --pareto "max:BLOCK * VEC" --size 64Ki --cache cold --db history.db
t simtune query --pareto time, --db history.db
t simtune query --pareto time --top 3 --db history.db
t simtune query --pareto n,n,n,n,n,n,n,n,n --db history.db
t simtune query --since 2001-01-01 --best --size 256Mi --db history.db
t simtune query --since 2999-01-01 --db history.db
t simtune query --since never --db history.db
