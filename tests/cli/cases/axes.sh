# SPDX-License-Identifier: Apache-2.0
# Which problems are meant: types, words, sizes, any axis by its name, and the front-ends of named axes.
dry() { t simtune tune $DATA/axes.cu --device emu --dry-run "$@"; }
t simtune templates $DATA/axes.cu --arch sm_90
json simtune templates $DATA/axes.cu --arch sm_90 --json
dry
dry --type i32,float --size 4Ki,2^20
dry -t i32 -n 1000
dry --size n=64Ki --size 1K
dry --kind inclusive
dry --kind exclusive,inclusive --size 64Ki
dry --op inclusive --size 64Ki
dry --ordered --size 64Ki
dry --any-order --size 64Ki
dry --axis percent=1,100 --size 64Ki
dry -a percent=all --size 64Ki
# Combinations that make no sense: left out silently, refused when each part of them was named.
dry --axis order=all --axis kind=all --size 64Ki
dry --kind inclusive --any-order
# What there is not.
dry --ordered --any-order
dry --kind sideways
dry --op sideways
dry --axis percent
dry --axis percent=x
dry --axis kind=
dry --axis nosuch=1
dry --size m=4
dry --size 1125899906842624
dry --axis n=1125899906842624
dry --size "$(seq -s, 1 65)"
dry --axis "n=$(seq -s, 1 65)"
dry --size "$(seq -s, 1 64)" --axis "percent=$(seq -s, 1 64)" --type f32,i32 --kind exclusive,inclusive
# More sizes in the template than may be asked for at once.
sed "s/n = 64Ki 1Mi/n = $(seq -s' ' 1 65)/; s/family   axes/family   many/" $DATA/axes.cu >many.cu
t simtune tune ./many.cu --device emu --dry-run --axis n=all
nosize() { t simtune tune $DATA/nosize.cu --device emu --dry-run "$@"; }
nosize
nosize --size 4
nosize --op sum
nosize --any-order
left
