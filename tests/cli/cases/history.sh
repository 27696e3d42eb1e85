# SPDX-License-Identifier: Apache-2.0
# `simtune tune` without the GPU that is asked for: from history, and nothing is tuned.
store
tune() { t simtune tune $DATA/scale.cu --db history.db "$@"; }
tune --arch sm_90 --dry-run
tune --arch sm_90 --no-header
tune --arch sm_90 --warm -o warm.h
tune --arch sm_90 --set BLOCK=256 --no-header
tune --arch sm_90 --vary ITEMS --size 1Mi --no-header
tune --arch sm_90 --where 'BLOCK > 1' --no-header
tune --arch sm_90 --set BLOKC=256
tune --arch sm_90 --vary ITEM
tune --arch sm_90 --where 'BLOCK >'
json simtune tune $DATA/scale.cu --db history.db --arch sm_90 --json -o json.h
json simtune tune $DATA/scale.cu --db history.db --arch sm_90 --json --no-header
tune --arch 90
tune --arch compute_90a --no-header
tune --arch sm_100
tune --arch sm_80,sm_90
tune
tune --device 0
# What ships, by a rule that the user's store does not change; a store that was named must be sound all the same.
simtune db export $SHARE/db/history/shipped.jsonl.gz "$(sql history.db "SELECT session_id FROM session WHERE family = 'scale'")" --db history.db 2>.err
tune -o shipped.h
tune --no-history --no-header
echo "this is a text, not a database, and long enough to have a header of a hundred bytes, which it fills" >text.db
t simtune tune $DATA/scale.cu --db text.db -o none
t simtune query scale --best
t simtune tune $DATA/axes.cu
# History of a type that was not asked for.
sed 's/^\/\/ simtune: axis     n/\/\/ simtune: axis     T = f32 i32\n&/; s/f32\[n\]/T[n]/' $DATA/scale.cu >typed.cu
cp $DATA/scale_device.cuh .
make_store typed.db typed.cu
sql typed.db "UPDATE problem SET text = 'T=f32 n=1048576', type = 'f32' WHERE family = 'scale'"
t simtune tune ./typed.cu --db typed.db --arch sm_90 --type i32
t simtune tune ./typed.cu --db typed.db --arch sm_90 --type f32 --no-header
t simtune emit ./typed.cu --db typed.db --type f32,i32 -o none
left
