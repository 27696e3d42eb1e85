# SPDX-License-Identifier: Apache-2.0
# Every option of a tuning run that says what would be done, on the emulated device.
dry() { t simtune tune $DATA/scale.cu --device emu --dry-run "$@"; }
dry
json simtune tune $DATA/scale.cu --device emu --dry-run --json
dry -n 64Ki
dry --size 64Ki --set BLOCK=128
dry --size 64Ki --set BLOCK=128,ITEMS=2
dry --size 64Ki -s BLOCK=128 -s ITEMS=1,2
dry --size 64Ki --vary ITEMS
dry --size 64Ki --vary ITEMS --set BLOCK=256
dry --size 64Ki --where 'BLOCK * ITEMS >= 256' -w 'ITEMS < 4'
dry --size 64Ki --budget 30s
dry --size 64Ki --budget 2min
dry --size 64Ki --budget 3
dry --size 64Ki --budget none
dry --size 64Ki --budget limit:5%
dry --size 64Ki --budget 30s,4,limit:2.5%
dry --size 64Ki --budget 0x10
dry --size 64Ki --budget 30s,
dry --size 64Ki --strategy guided --budget 4
dry --size 64Ki --strategy random --seed 7 --budget 2
dry --size 64Ki --strategy exhaustive --determinism none --determinism none
dry --size 64Ki --determinism run_to_run
dry --size 64Ki --time-limit 0.5 --jobs 1 -j 1 --counters off --warm --fresh --no-header -o nowhere
dry -d emu --size 64Ki
# Refused.
dry --set BLOCK
dry --set BLOCK=
dry --set BLOCK=64
dry --set BLOCK=lots
dry --set BLOKC=128
dry --set BLOCK=128 --set BLOCK=256
dry --vary BLOKC
dry --where 'BLOKC > 1'
dry --where 'BLOCK > > 1'
dry --where 'BLOCK > 4096'
dry --where 'BLOCK / 0 > 1'
dry --budget 0
dry --budget 1.5
dry --budget 5h
dry --budget limit:5
dry --budget limit:0%
dry --budget 3,4
dry --budget none,3
grep -v 'simtune: bytes' $DATA/axes.cu >silent.cu
t simtune tune silent.cu --device emu --dry-run --size 64Ki --budget limit:5%
rm silent.cu
dry --seed 1.5
dry --seed -1
dry --seed 99999999999999999999
dry --jobs 1.5
dry --jobs 0
dry --jobs 257
dry --time-limit 0
dry --time-limit soon
dry --budget 3 --budget 4
dry --type ""
dry --size ""
dry --size 64Ki,
dry --size ,64Ki
dry --size 64Ki,,1Mi
dry --output ""
dry --device ""
t simtune tune $DATA/scale.cu --dry-run --device emu:0 --size 64Ki
t simtune tune $DATA/scale.cu --dry-run --device emu:9
dry --arch sm_89
dry --arch ""
dry extra
left
