# SPDX-License-Identifier: Apache-2.0
# The same rows in every format, with the values that a condition is about.
store
json simtune query reduce --where "BLOCK == 256 and range.dram_throughput > 0.01 and stall.barrier > 0.5" --cache warm --db history.db --json
t simtune query reduce --where "BLOCK == 256 and range.dram_throughput > 0.01 and stall.barrier > 0.5" --cache warm --db history.db --csv
t simtune query reduce --where "BLOCK == 256 and range.dram_throughput > 0.01 and stall.barrier > 0.5" --cache warm --db history.db --markdown
t simtune query --per size --cache warm --db history.db --csv
t simtune query --per size --cache warm --db history.db --markdown
t simtune query --csv --markdown --db history.db
t simtune query --csv --json --db history.db
# What was only screened, and lost, does not stand before the winner because the finals take longer.
sql history.db "INSERT INTO measurement (candidate_key, phase, round, cache, median_ns, taken_ms, samples)
    SELECT candidate_key, 'screen', 0, cache, 4250, taken_ms, samples FROM measurement WHERE median_ns = 4600 AND cache = 'cold';
    UPDATE measurement SET phase = 'screen', median_ns = 4500 WHERE median_ns = 5200"
t simtune query reduce --top 3 --size 64Ki --cache cold --db history.db
LC_ALL=C t simtune query reduce --pareto time,registers --size 64Ki --cache cold --db history.db
t simtune query reduce --top 2 --size 64Ki --cache cold --markdown --db history.db
t simtune compare $(sql history.db "SELECT group_concat(candidate_id, ' ') FROM simtune_results WHERE cache = 'cold' AND median_ns IN (4600, 4500)") --db history.db
t simtune explain $(sql history.db "SELECT candidate_id FROM simtune_results WHERE median_ns = 4500") --db history.db
