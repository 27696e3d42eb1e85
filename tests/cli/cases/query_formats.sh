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
