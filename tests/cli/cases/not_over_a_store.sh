# SPDX-License-Identifier: Apache-2.0
# No command writes over a store, nor over the files beside one, whatever name it is given.
store
cp history.db other.db
sum() { sha256sum "$@" | cut -c1-64 | tr '\n' ' '; }
before=$(sum history.db other.db)
t simtune db export history.db --db history.db
t simtune db export ./history.db --format t4 --family scale --db history.db
t simtune db export other.db --db history.db
ln -s history.db link.jsonl
t simtune db export link.jsonl --db history.db
t simtune repro "$(id scale 1Mi)" -o history.db --db history.db
t simtune repro "$(id scale 1Mi)" -o other.db --db history.db
touch other.db-wal history.db-running
t simtune db export other.db-wal --db history.db
t simtune db backup history.db-wal --db history.db
t simtune db backup history.db-running --db history.db
t simtune db backup other.db --force --db history.db
t simtune db backup new.db --db history.db
rm other.db-wal
[ "$before" = "$(sum history.db other.db)" ] && echo "both are as they were"
# A store whose header is destroyed is still the store.
printf 'xxxxxxxxxxxxxxxx' | dd of=other.db conv=notrunc status=none
t simtune db export other.db --db other.db
