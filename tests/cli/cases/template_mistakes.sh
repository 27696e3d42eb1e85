# SPDX-License-Identifier: Apache-2.0
# Every way to write a directive wrong, each put into a small template as its third line (data/mistakes.txt; | begins
# the next line): what is said, where, and the remedy.
while IFS= read -r mistake; do
    {
        printf '// simtune: family f\n// simtune: axis n = 10\n'
        printf '// simtune: %s\n' "$mistake" | sed 's/ | /\n\/\/ simtune: /g; s/\\$/\\\nint x;/'
        printf '// simtune: launch k grid=1 block=1 args=n\n'
    } >t.cu
    echo "== $mistake"
    simtune templates ./t.cu --arch sm_90 >.out 2>.err
    rc=$?
    sed 's/^/! /' .err
    [ $rc = 2 ] || { echo "exit $rc"; cat .out; }
done <$DATA/mistakes.txt
# Of the whole file.
whole() { t simtune templates ./t.cu; }
: >t.cu
whole
echo "// simtune: launch k grid=1 block=1 args=" >t.cu
whole
printf '// simtune: family f\n// simtune: axis n = 1\n' >t.cu
whole
printf '// simtune: family f \\' >t.cu
whole
printf 'int x;\0// simtune: family f\n' >t.cu
whole
{ echo "// simtune: family f"; for i in $(seq 13); do echo "// simtune: axis x$i = 1"; done; } >t.cu
whole
{ echo "// simtune: family f"; for i in $(seq 41); do echo "// simtune: param x$i = 1"; done; } >t.cu
whole
printf '// simtune: family f\n// simtune: axis n = 1\n// simtune: launch k grid=1 block=1 args=n\n' >t.cu
whole
