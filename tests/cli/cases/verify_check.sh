# SPDX-License-Identifier: Apache-2.0
# Is a header or a lock still what the store would choose?
store
check() { t simtune verify --check "$@"; }
simtune lock $DATA/scale.cu --db history.db >.out
simtune emit $DATA/scale.cu --db history.db -o scale.h >.out
check simtune.lock $DATA/scale.cu --db history.db
check scale.h $DATA/scale.cu --db history.db
json simtune verify --check scale.h $DATA/scale.cu --db history.db --json
check scale.h --db history.db
check simtune.lock --db history.db
# The store knows nothing of it.
make_store other.db "$DATA/scale.cu"
sql other.db "UPDATE device SET sm_count = 114"
check scale.h $DATA/scale.cu --db other.db
check scale.h $DATA/scale.cu --db other.db --strict
# Another configuration: faster by far, by a little, slower.
config() {
    rm -f other.db*
    make_store other.db "$DATA/scale.cu"
    sql other.db "UPDATE configuration SET text = 'BLOCK=128 ITEMS=4' WHERE text = 'BLOCK=256 ITEMS=4'"
    sql other.db "UPDATE winner SET winner_ns = $1 WHERE cache = 'cold' AND problem_key IN (SELECT problem_key FROM problem WHERE family = 'scale')"
}
config 5000
check scale.h $DATA/scale.cu --db other.db
check simtune.lock $DATA/scale.cu --db other.db
json simtune verify --check simtune.lock $DATA/scale.cu --db other.db --json
config 5950
check scale.h $DATA/scale.cu --db other.db
check scale.h $DATA/scale.cu --db other.db --threshold 0.5
config 7000
check scale.h $DATA/scale.cu --db other.db
check scale.h $DATA/scale.cu --db other.db --threshold much
check scale.h $DATA/scale.cu --db other.db --threshold 101
# What was emulated is measured now.
sed -i 's/"emulated":false/"emulated":true/' simtune.lock
check simtune.lock $DATA/scale.cu --db history.db
# Another version of the template.
sed -i 's/"template":"..../"template":"0000/' simtune.lock scale.h
check simtune.lock $DATA/scale.cu --db history.db
check scale.h $DATA/scale.cu --db history.db
json simtune verify --check scale.h $DATA/scale.cu --db history.db --json
t simtune verify scale.h
t simtune verify --check
t simtune verify --help
check none.h --db history.db
echo "int precious;" >precious.h
check precious.h --db history.db
sed 's/cold/hot/' simtune.lock >broken.lock
check broken.lock --db history.db
left
