# SPDX-License-Identifier: Apache-2.0
# Two sides, and what a word means.
versions
D="--db history.db"
t simtune compare 570 580.65 $D
t simtune compare ${S1} ${S3} $D
t simtune compare A100 H200 --size 64Ki --markdown $D
json simtune compare 570.124.06 580.65.06 --device H200 --size 64Ki --json $D
t simtune compare 570 580.65 --cache warm $D
t simtune compare 570 580.65 --type f64 $D
t simtune compare 570 580.65 --size 64Ki --threshold '6 %' $D
t simtune compare 1111 2222 --by template --size 64Ki --op sum --family reduce $D
t simtune compare 'nvrtc 13.0' 13.0 --by compiler --cache warm $D
t simtune compare 0.1.0 'simtune 0.1.0' --by tool --cache warm $D
t simtune compare latest latest --size 64Ki $D
t simtune compare --help
echo "--- what is none, or several"
t simtune compare 580 H200 $D
t simtune compare nosuch H200 $D
t simtune compare nosuch H200 --by device $D
t simtune compare 580 570 --by nosuch $D
t simtune compare gone.h H200 $D
t simtune compare 570 $D
t simtune compare 570 580.65 --threshold much $D
t simtune compare 570 580.65 --size many $D
t simtune compare 570 580.65 --cache hot $D
t simtune compare 570 580.65 --json --markdown $D
t simtune compare 570 580.65 --db nosuch.db
echo "--- a device's name, and an id that begins alike"
cp history.db named.db
sql named.db "UPDATE candidate SET candidate_id = 'a1000000000000000000000000000001' WHERE candidate_key = 1"
t simtune compare A100 A100 --size 64Ki --family reduce --db named.db | head -2
sql named.db "UPDATE device SET name = 'NVIDIA A100X' WHERE name LIKE '%A100%'"
t simtune compare A100 H200 --db named.db
sql named.db "UPDATE device SET backend = 'predicted', name = 'NVIDIA A30' WHERE name LIKE '%A100%'"
t simtune compare A30 H200 --size 64Ki --type f32 --by device --db named.db
rm named.db
