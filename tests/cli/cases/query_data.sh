# SPDX-License-Identifier: Apache-2.0
# The same for programs.
store
t simtune query --csv --best --db history.db
t simtune query --csv --arch sm_80 --db history.db
json simtune query --json --best --size 256Mi --db history.db
json simtune query --json --arch sm_80 --db history.db
