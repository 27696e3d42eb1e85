# SPDX-License-Identifier: Apache-2.0
# Where output goes wrong, and what no user types.
full() { echo "\$ $* >/dev/full"; "$@" >/dev/full 2>.err; echo "exit $?"; sed 's/^/! /' .err; }
full simtune help
full simtune version --json
full simtune help --man
simtune help --man | head -1
store
simtune query --csv --db history.db | head -1 | cut -c1-30
t simtune --internal frobnicate
env -u HOME -u XDG_DATA_HOME simtune query 2>&1
HOME=relative t simtune query
SIMTUNE_SHARE=/nonexistent/simtune t simtune --version
t simtune -V
t simtune -h -x
# --db is an option of all commands, also of those that need no store.
t simtune version --db missing.db
t simtune templates $DATA/nosize.cu --arch sm_90 --db missing.db
simtune help --db missing.db | head -1
t simtune help version --db missing.db
t simtune query -h --limit 0
t simtune tune $DATA/scale.cu --device emu -o /proc
t simtune tune $DATA/scale.cu --device emu -o /dev/null
left
