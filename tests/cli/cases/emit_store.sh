# SPDX-License-Identifier: Apache-2.0
# Which rows of the store make a header.
store
session=$(sql history.db "SELECT session_id FROM session WHERE family = 'scale'")
t simtune emit $DATA/scale.cu --session $session --db history.db -o a.h
t simtune emit $DATA/scale.cu --session 0000 --db history.db -o none
t simtune emit $DATA/scale.cu --device h200 --db history.db -o b.h
t simtune emit $DATA/scale.cu --device 4090 --db history.db -o none
t simtune emit $DATA/scale.cu --arch auto --db history.db -o c.h
t simtune emit $DATA/scale.cu --arch sm_90,sm_90 --db history.db -o d.h
t simtune emit $DATA/scale.cu --arch "$(seq -s, 75 95)" --db history.db -o none
t simtune emit $DATA/scale.cu --type f32, --db history.db -o none
t simtune emit $DATA/scale.cu --type "" --db history.db -o none
t simtune emit $DATA/scale.cu reduce --db history.db -o one.h
cmp -s a.h d.h || diff a.h d.h | grep -c command
# An older device's winner beside one of another version of the template, and one of the emulated device.
sql history.db "UPDATE template SET hash = 'f0000000000000000000000000000000' WHERE family = 'scale'"
t simtune emit $DATA/scale.cu --db history.db -o none
sql history.db "UPDATE device SET device_id = 'f0000000000000000000000000000000', uuid = 'GPU-other', cc = 80"
store
t simtune emit $DATA/scale.cu --db history.db -o e.h
make_store emulated.db "$DATA/scale.cu"
sql emulated.db "UPDATE device SET device_id = 'f0000000000000000000000000000000', backend = 'emu'"
t simtune emit $DATA/scale.cu --db emulated.db -o none
t simtune emit $DATA/scale.cu --db emulated.db --allow-emulated -o emulated.h
head -2 emulated.h
t simtune query scale --best --db emulated.db
make_store emulated.db "$DATA/scale.cu"
t simtune emit $DATA/scale.cu --db emulated.db -o f.h
left
