# SPDX-License-Identifier: Apache-2.0
# Tables out of a store of fixed values.
store
t simtune query --db history.db
t simtune query reduce --best --db history.db
t simtune query reduce --best --cache warm --db history.db
t simtune query reduce --size 64Ki --type float --op sum --cache cold --limit 1 --db history.db
t simtune query --arch sm_90 --best --size 256Mi --db history.db
t simtune query --arch 80,90 --best --size 256Mi --db history.db
t simtune query --device h200 --best --size 256Mi --db history.db
t simtune query --device 4090 --db history.db
t simtune query --arch sm_80 --db history.db
t simtune query --arch auto --best --size 256Mi --db history.db
t simtune query --device 0 --db history.db
t simtune query nosuch --db history.db
t simtune query reduce --size 1Mi --db history.db
sql history.db "UPDATE device SET name = 'two' || char(10) || 'lines' WHERE cc = 90"
t simtune query --best --size 1Mi --db history.db | head -2
