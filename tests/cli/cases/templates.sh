# SPDX-License-Identifier: Apache-2.0
# Families. The list is of what ships, so only its form is shown.
t simtune templates $DATA/scale.cu --arch sm_90
t simtune templates $DATA/scale.cu --arch sm_80/108
t simtune templates $DATA/scale.cu
json simtune templates $DATA/scale.cu --arch sm_90 --json
simtune templates | grep '^reduce ' | cut -c1-30
simtune templates --json >list.json && python3 "$CHECK_JSON" list.json | grep -E 'SCHEMA|"schema"|"family"'
simtune templates reduce --json >reduce.json && python3 "$CHECK_JSON" reduce.json | grep -E 'SCHEMA|"schema"|"family"'
simtune templates reduce --arch sm_90 | grep -E '^(axes|parameters|constraints|space|  BLOCK |  FINISH )'
