# SPDX-License-Identifier: Apache-2.0
# Which version made it slower.
versions
D="--db history.db"
t simtune history reduce $D
t simtune history reduce --device H200 --size 64Ki --markdown $D
LC_ALL=C t simtune history reduce --device H200 --size 64Ki $D
LC_ALL=C t simtune history reduce --by template --arch sm_90 --op sum --type f32 $D
t simtune history reduce --by device --cache cold $D
t simtune history reduce --by compiler --size 1Mi $D
t simtune history reduce --by tool --cache warm $D
json simtune history reduce --device H200 --size 64Ki --json $D
json simtune history reduce --by device --size 16Mi --json $D
t simtune history reduce --device H200 --size 1Mi --threshold 0.1 $D
t simtune history --help
echo "--- what there is nothing of"
t simtune history scan $D
t simtune history reduce --type f64 $D
t simtune history $D
t simtune history reduce --by weather $D
t simtune history reduce --json --markdown $D
