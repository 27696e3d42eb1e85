# SPDX-License-Identifier: Apache-2.0
# Outputs that cannot be written: exit 1, one message, nothing half-written.
store
echo "a file" >file
t simtune emit $DATA/scale.cu --db history.db -o file/below
t simtune emit $DATA/scale.cu --db history.db -o file/below.h
t simtune repro "$(id scale 1Mi)" --db history.db -o file/below.cu
t simtune db export file/below.jsonl.gz "$(simtune db info --json --db history.db | python3 -c \
    'import json, sys; print(json.load(sys.stdin)["sessions"][0]["id"])')" --db history.db
t simtune tune $DATA/scale.cu --arch sm_90 --db history.db -o file/below
left
