# SPDX-License-Identifier: Apache-2.0
# Families. The list is of what ships, so only its form is shown.
t simtune templates $DATA/scale.cu --arch sm_90
t simtune templates $DATA/scale.cu --arch sm_80/108
t simtune templates $DATA/scale.cu
json simtune templates $DATA/scale.cu --arch sm_90 --json
simtune templates | grep '^reduce ' | cut -c1-30
simtune templates --json | python3 -c 'import json, sys
document = json.load(sys.stdin)
print(document["schema"], [f["family"] for f in document["families"] if f["family"] == "reduce"])'
simtune templates reduce --arch sm_90 | grep -E '^(axes|parameters|constraints|space|  BLOCK |  FINISH )'
