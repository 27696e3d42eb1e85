# SPDX-License-Identifier: Apache-2.0
# Headers name candidates: of the store, of another one, and of the same finals.
versions
D="--db history.db"
candidate() { sql history.db "SELECT c.candidate_id FROM candidate c JOIN session s USING (session_key) JOIN problem p USING (problem_key) JOIN configuration g USING (configuration_key) WHERE s.session_id = '$1' AND p.n = $2 AND g.text = '$3'"; }
header() { # NAME CACHE CANDIDATE
    printf '// simtune-provenance {"schema":1,"family":"reduce","template":"x","cache":"%s","rows":%d}\n' "$2" 2
    printf '// simtune-provenance {"problem":"T=f32 op=sum n=65536","config":"BLOCK=512 VEC=4","device":"NVIDIA H200","driver":"580.65.06","cc":90,"sm_count":132,"candidate":"%s","median_ns":4700.5,"measured_ms":1790000000000}\n' "$3"
    printf '// simtune-provenance {"problem":"T=f32 op=sum n=4096","config":"BLOCK=64 VEC=1","device":"NVIDIA H200","driver":"580.65.06","cc":90,"sm_count":132,"predicted":true}\n'
}
header old cold "$(candidate "$S2" 65536 'BLOCK=256 VEC=1')" > old.h
header new cold "$(candidate "$S2" 65536 'BLOCK=512 VEC=4')" > new.h
header foreign cold 00000000000000000000000000000000 > foreign.h
t simtune compare old.h new.h $D
t simtune compare old.h foreign.h --size 64Ki $D
t simtune compare foreign.h "$S3" --markdown $D
t simtune compare new.h new.h --op sum --type f32 --arch sm_90 --device h200 --size 64Ki $D
t simtune compare new.h new.h --op max $D
t simtune compare new.h old.h --by header --cache warm $D
echo "--- headers that are none"
echo '#pragma once' > plain.h
head -2 new.h > cut.h
sed 's/"schema":1/"schema":9/' new.h > newer.h
sed 's/"rows":2/"rows":"two"/' new.h > wrong.h
sed 's/"cc":90/"cc":-1/' new.h > range.h
sed 's/"family":"reduce"/"family":7/' new.h > text.h
sed 's/"candidate":"[0-9a-f]*"/"candidate":"abc"/' new.h > id.h
sed 's/"cache":"cold"/"cache":"hot"/' new.h > hot.h
sed 's/"family":"reduce",//' new.h > nofamily.h
sed 's/"problem":"[^"]*",//' new.h > noproblem.h
sed 's/provenance {.*/provenance [1]/' new.h > array.h
sed 's/provenance {/provenance /' new.h > nojson.h
for name in plain cut newer wrong range text id hot nofamily noproblem array nojson; do t simtune compare $name.h H200 $D; done
