# SPDX-License-Identifier: Apache-2.0
# Headers and standalone programs from the store alone.
store
t simtune emit $DATA/scale.cu --db history.db --arch sm_90 -o include
t simtune emit $DATA/scale.cu --db history.db --arch sm_90 -o include
t simtune emit $DATA/scale.cu --db history.db --warm -o warm.h
t grep -c "0BSD" include/simtune_scale.h
t grep "tuned by" include/simtune_scale.h warm.h
t simtune emit $DATA/scale.cu --db history.db --arch sm_80 -o none
t simtune emit $DATA/scale.cu --db history.db --arch 80,90 -o none
t simtune emit $DATA/scale.cu --db history.db --type f32 -o none
t simtune emit reduce --db history.db -o none
t simtune emit $DATA/scale.cu reduce --db history.db -o none
t simtune repro "$(id scale 1Mi)" --db history.db -o repro.cu
t head -8 repro.cu
simtune repro "$(id scale 1Mi)" --db history.db | cmp - repro.cu && echo "stdout gets the same"
t simtune repro "$(id reduce 64Ki)" --db history.db
# Made from the stored text: the template may be gone.
cp -r "$DATA" gone && rm -r gone && left
# A class that no device has cannot be named by a header.
sql history.db "PRAGMA ignore_check_constraints = ON; UPDATE device SET cc = 7"
t simtune emit $DATA/scale.cu --db history.db -o none
