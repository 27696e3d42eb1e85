# SPDX-License-Identifier: Apache-2.0
# What failed: why, and how to see it again.
store
t simtune query --failures --db history.db
t simtune query reduce --failures --size 64Ki --type f32 --op sum --arch 90 --db history.db
t simtune query --failures --limit 1 --db history.db
t simtune query --outcome constraint --db history.db
t simtune query --outcome wrong,crash --outcome compile --limit 2 --db history.db
t simtune query --outcome correct --size 64Ki --db history.db
t simtune query --outcome timeout --db history.db
t simtune query scale --failures --db history.db
json simtune query --failures --json --size 1Mi --db history.db
t simtune query --failures --csv --size 1Mi --db history.db
sql history.db "UPDATE candidate SET detail = 'x.cu(3): error: this is a long line of a compiler''s log, which goes on for a while, longer than a line of a terminal, and ends' WHERE outcome = 'compile'; UPDATE candidate SET detail = NULL WHERE outcome = 'crash'"
t simtune query --failures --db history.db
# The command that it prints works; the fixture's own template is no template.
t simtune repro "$(failed wrong)" --db history.db
t simtune query --outcome fine --db history.db
t simtune query --failures --outcome wrong --db history.db
t simtune query --failures --best --db history.db
t simtune query --outcome wrong --cache cold --db history.db
t simtune query --failures --session 0000 --db history.db
left
