# SPDX-License-Identifier: Apache-2.0
# What stands where a header is to go: links are written through; what is no header of ours, or a damaged one, stays.
store
emit() { t simtune emit $DATA/scale.cu --db history.db --arch sm_90 -o "$@"; }
mkdir real
ln -s real/target.h link.h
emit link.h
[ -L link.h ] && [ -f real/target.h ] && echo "a link still, and its file was made"
emit link.h
emit real/target.h
echo "// simtune-provenance" >real/target.h
emit link.h
emit /dev/null
emit "$SHARE"
json simtune emit $DATA/scale.cu --db history.db -o json.h --json
json simtune emit $DATA/scale.cu --db history.db -o json.h --json
grep '^// simtune-provenance' json.h | sed -E 's|"command":"[^"]*"|"command":COMMAND|' | cut -c1-170
damage() { sed "$1" json.h >damaged.h; emit damaged.h; }
damage 's/"cc":90/"cc":-90/'
damage 's/"cc":90,//'
damage 's/"BLOCK=256 /"BLOCK=77 /'
damage 's/"device":"/"device":7,"x":"/'
damage 's/"device":"/"device":/'
damage 's/"rows":1/"rows":2/'
damage 's/"schema":1/"schema":2/'
damage 's/"family":"scale"/"family":"other"/'
damage 's/^\/\/ simtune-provenance {.*/\/\/ simtune-provenance []/'
damage 's/"template":"[0-9a-f]*"/"template":"00000000000000000000000000000000"/'
echo "int precious;" >precious.h
emit precious.h
cat precious.h
emit ""
left
