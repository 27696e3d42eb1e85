# SPDX-License-Identifier: Apache-2.0
# Without a driver: what needs one says so, what needs none works.
store
t simtune devices
t simtune tune $DATA/scale.cu --arch sm_90 --db history.db -o include
t simtune tune $DATA/scale.cu --arch sm_80 --db history.db -o none
t simtune tune $DATA/scale.cu --device 1 --db history.db -o none
t simtune version
left
