# SPDX-License-Identifier: Apache-2.0
# The file system below the store. What is not here is stood in for.
store
info() { t simtune db info --db history.db | sed -n '1,3p;/^!/p;/^exit/p'; }
doctor() { echo "\$ simtune doctor"; simtune doctor --db history.db 2>/dev/null | grep -A 2 -E '^[a-z]+ +store ' | sed -E 's/ +$//'; }
info
json simtune db info --json --db history.db | grep -A 7 '"place"'
doctor
session=$(simtune db info --json --db history.db | python3 -c \
    'import json, sys; print(json.load(sys.stdin)["sessions"][0]["id"])')
simtune db export out.jsonl.gz $session --db history.db 2>/dev/null
for system in nfs4 cifs:locks=refused lustre:locks=ignored nfs:locks=local fuse.bindfs fuse.unheard; do
    export SIMTUNE_FILE_SYSTEM=$system
    echo "-- $system"
    info
    doctor
    t simtune db import out.jsonl.gz --db history.db
done
echo "-- trusted"
SIMTUNE_FILE_SYSTEM=cifs:locks=refused SIMTUNE_DB_LOCKS=trust t simtune db import out.jsonl.gz --db history.db
echo "-- patience"
SIMTUNE_DB_PATIENCE=soon t simtune db info --db history.db
left
