# SPDX-License-Identifier: Apache-2.0
# `simtune report`: which sessions, which form, where to. What stands on the page is tested elsewhere (unit, browser).
store
size() { "$@" | sed -E 's/\([0-9.]+ [KM]iB\)/(SIZE)/'; }
# The latest of a family, as a page; the same again writes nothing.
size t simtune report reduce --db history.db -o page.html
size t simtune report --family reduce --db history.db -o page.html
grep -c '<h1>' page.html
grep -o '<title>[^<]*' page.html
t simtune report --help
size t simtune report latest --db history.db -o page.htm
size t simtune report reduce scale --db history.db -o both.html
grep -o '<h1>[^<]*' both.html | head -1
# The file's name says the form, --format says it better; - is stdout.
size t simtune report reduce --db history.db -o page.md
size t simtune report reduce --db history.db -o page.txt
size t simtune report reduce --db history.db -o page.any --format json
simtune report reduce --db history.db -o - >stdout.html
cmp page.html stdout.html && echo "the same page"
json simtune report scale --db history.db --json
simtune report reduce --db history.db --format json | cmp - page.any && echo "the same document"
# What goes wrong.
t simtune report reduce --family scale --db history.db
t simtune report reduce --db history.db -o page.pdf
t simtune report reduce --db history.db --json -o page.html
size t simtune report reduce --db history.db --json -o report.json
t simtune report nothing --db history.db
t simtune report reduce reduce --db history.db
t simtune report --family nothing --db history.db
t simtune report 0123456789ab --db history.db
t simtune report --db history.db --format pdf
size t simtune report reduce --db history.db -o page.HTM
size t simtune report reduce --db history.db -o page.any --format Markdown
t simtune report --db history.db --cache hot
t simtune report --db history.db --json --format md
t simtune report --db history.db -o history.db --format html
sql history.db "UPDATE session SET status = 'interrupted'"
t simtune report --db history.db
t simtune report --family reduce --db history.db
sql history.db "UPDATE session SET status = 'running', finished_ms = NULL"
t simtune report --db history.db
t simtune report --db none.db
: >empty.db
t simtune report --db empty.db
# A terminal without UTF-8, and names that would turn it round.
sql history.db "UPDATE session SET status = 'finished', finished_ms = started_ms; UPDATE device SET name = 'N' || char(0x202e) || 'V|' || char(96)"
LC_ALL=C simtune report reduce --db history.db | LC_ALL=C grep -c '[^ -~]'
simtune report reduce --db history.db | head -2 | sed -E 's/  .*//'
simtune report reduce --db history.db --format md | head -1
left
