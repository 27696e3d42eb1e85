# SPDX-License-Identifier: Apache-2.0
# The counterfeit driver with two devices: numbers, names and archs choose.
export FAKE_CUDA_DEVICES=2
store
t simtune devices --db history.db
json simtune devices --json --db history.db
t simtune query --device 1 --best --db history.db
t simtune query --device 7 --best --db history.db
t simtune query --arch auto --best --db history.db
t simtune templates $DATA/scale.cu
t simtune templates $DATA/scale.cu --device 7
t simtune tune $DATA/scale.cu --device 7 --db history.db
t simtune tune $DATA/scale.cu --dry-run --db history.db
FAKE_CUDA_VERSION=11000 t simtune devices
left
