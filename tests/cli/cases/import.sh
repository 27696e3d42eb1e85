# SPDX-License-Identifier: Apache-2.0
# History files: out, in, and what is refused whole.
store
session=$(sql history.db "SELECT session_id FROM session WHERE family = 'scale'")
json simtune db export out.jsonl.gz $session --db history.db --json
json simtune db import out.jsonl.gz --db new.db --json
json simtune db import out.jsonl.gz out.jsonl.gz --db new.db --json
json simtune db check --db new.db --json
t simtune db export /dev/null $session --db history.db
t simtune db export /dev/full $session --db history.db
mkdir real && ln -s real/file.jsonl.gz link.jsonl.gz
t simtune db export link.jsonl.gz $session --db history.db
cmp out.jsonl.gz real/file.jsonl.gz && [ -L link.jsonl.gz ] && echo "through the link, the same bytes"
t simtune db import /dev/null --db new.db
mkdir folder
t simtune db import folder --db new.db
python3 - <<'END'
import gzip
lines = gzip.open("out.jsonl.gz", "rt").read().splitlines(True)
def write(name, made):
    gzip.open(name + ".gz", "wt").writelines(made)
def changed(name, old, new):
    text = "".join(lines)
    assert old in text, old
    write(name, text.replace(old, new, 1))
write("cut", lines[:-1])
write("more", lines + [lines[1]])
write("count", lines[:-1] + [lines[-1].replace('"rows":', '"rows":1')])
changed("newer", '"version":1', '"version":999')
changed("other", "simtune-history", "other-history")
changed("kind", '"row":"session"', '"row":"sessions"')
changed("missing", '"device":', '"devise":')
changed("absent", '"device":"', '"device":"0')
changed("long", '"backend":"cuda"', '"backend":"cuda and many more"')
changed("range", '"sm_count":132', '"sm_count":99999999999')
changed("type", '"sm_count":132', '"sm_count":"many"')
changed("sample", '"samples_ns":[', '"samples_ns":["fast",')
changed("list", '"measurements":[', '"measurements":[7,')
changed("speedup", '"speedup":', '"speedup":1e308,"x":')
changed("interval", '"speedup":', '"speedup":1e8,"x":')
changed("version", '"version":1', '"version":0')
changed("twice", '"round":0', '"round":-1')
open("half.gz", "wb").write(open("out.jsonl.gz", "rb").read()[:400])
END
for name in cut more count newer other kind missing absent long range type sample list speedup interval version twice half; do
    t simtune db import $name.gz --db fresh.db
done
t simtune db info --db fresh.db
reduce=$(sql history.db "SELECT session_id FROM session WHERE family = 'reduce'")
t simtune db export reduce.gz $reduce --db history.db
python3 - <<'END'
import gzip
text = gzip.open("reduce.gz", "rt").read()
assert '"dram_throughput":0.' in text
gzip.open("counter.gz", "wt").write(text.replace('"dram_throughput":0.', '"dram_throughput":"fast","x":0.', 1))
gzip.open("line.gz", "wb", 1).write(b" " * (70 << 20))
END
t simtune db import counter.gz --db fresh.db
# The same doctored: an occupancy above 1, a counter without a name, a winner that nobody tried.
python3 - <<'END'
import gzip, re
text = gzip.open("reduce.gz", "rt").read()
def doctored(name, pattern, by):
    changed, count = re.subn(pattern, by, text, count=1)
    assert count == 1, name
    gzip.open(name + ".gz", "wt").write(changed)
doctored("full", r'"occupancy":[0-9.e-]+', '"occupancy":7')
doctored("nameless", r'"dram_throughput":', '"":')
doctored("unknown", r'"winner":"[^"]*"', '"winner":"BLOCK=1"')
END
for name in full nameless unknown; do
    t simtune db import $name.gz --db fresh.db
done
t simtune db import line.gz --db fresh.db
# What is no JSON in the store is not written as such.
sql history.db "PRAGMA ignore_check_constraints = ON; UPDATE session SET options = '{' WHERE family = 'scale'"
t simtune db export broken.gz $session --db history.db
# Damage is told: exit 1, for programs too.
sql new.db "DELETE FROM device"
json simtune db check --db new.db --json
t simtune db info --db ""
left
