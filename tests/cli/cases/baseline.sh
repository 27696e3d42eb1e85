# SPDX-License-Identifier: Apache-2.0
# Baselines, what fails a build, and what is acknowledged.
versions
export USER=ada
D="--db history.db"
t simtune compare --against-baseline $D
t simtune compare --baselines $D
t simtune compare --baseline ${S1} --note 'release 1' $D
t simtune compare --baselines $D
json simtune compare --baselines --json $D
echo "--- slower, lost, better: the newest session"
t simtune compare --against-baseline $D
t simtune compare --against-baseline --size 1Mi --cache cold $D
t simtune compare --against-baseline --size 1Mi --strict $D
# A filter that leaves nothing must not pass.
t simtune compare --against-baseline --size 7 --db history.db
t simtune compare --against-baseline --size 7 --strict --db history.db
echo "--- a given one"
t simtune compare --against-baseline ${S2} $D
t simtune compare --against-baseline ${S2} --markdown $D
t simtune compare --against-baseline ${S2} --threshold 10 $D
t simtune compare --against-baseline ${S4} $D
t simtune compare --against-baseline --family scan $D
echo "--- acknowledged"
t simtune acknowledge ${S2} $D
t simtune acknowledge --reason because $D
t simtune acknowledge ${S2} --reason ' ' $D
t simtune acknowledge --list $D
t simtune acknowledge ${S2} --threshold 20 --cache cold --family reduce --reason 'too small' $D
t simtune acknowledge ${S2} --device A100 --reason 'of another card' $D
t simtune acknowledge ${S2} --size 1Mi --reason 'nothing to excuse' $D
t simtune acknowledge ${S2} --reason 'the barrier is needed | says ada' $D
# What was said is not said over: the same words again are no mistake, others are refused.
t simtune acknowledge ${S2} --reason 'the barrier is needed | says ada' $D
t simtune acknowledge ${S2} --reason 'another reason' $D
t simtune compare --against-baseline ${S2} $D
json simtune compare --against-baseline ${S2} --json $D
t simtune compare --against-baseline ${S2} --markdown $D
t simtune compare --against-baseline ${S2} --size 64Ki --strict $D
t simtune compare --against-baseline ${S2} --size 16Mi --strict $D
json simtune acknowledge ${S2} --size 16Mi --strict --reason 'it always scatters' --json $D
t simtune compare --against-baseline ${S2} --size 16Mi --strict $D
t simtune acknowledge --list $D
json simtune acknowledge --list --json $D
t simtune acknowledge --list --type f32 --op sum --cache warm --arch sm_90 $D
t simtune acknowledge --list --family reduce --size 64Ki --device H200 $D
t simtune acknowledge --help
echo "--- what is lost, and what got worse since"
t simtune acknowledge latest --size 16Mi --reason 'a known crash' $D
t simtune compare --against-baseline $D
sql history.db "UPDATE acknowledgement SET session_key = (SELECT session_key FROM session WHERE session_id = '$S3') WHERE problem_key = (SELECT problem_key FROM problem WHERE n = 65536)"
t simtune compare --against-baseline ${S2} --size 64Ki $D
K=$(sql history.db "SELECT acknowledgement_id FROM acknowledgement ORDER BY acknowledgement_id LIMIT 1")
t simtune acknowledge --withdraw $K $D
t simtune acknowledge --withdraw $K $D
K=$(sql history.db "SELECT acknowledgement_id FROM acknowledgement ORDER BY acknowledgement_id LIMIT 1")
json simtune acknowledge --withdraw $K --json $D
echo "--- marks"
t simtune compare --baseline latest $D
t simtune compare --baselines $D
t simtune compare --against-baseline $D
t simtune compare --against-baseline --strict $D
json simtune compare --no-baseline ${S3} --json $D
t simtune compare --no-baseline ${S3} $D
t simtune compare --no-baseline ${S1} $D
json simtune compare --baselines --json $D
sql history.db "UPDATE session SET status = 'running', finished_ms = NULL WHERE session_id = '$S4'"
t simtune compare --baseline ${S4} $D
t simtune compare --baseline ffff $D
t simtune compare --baseline ${S1} --db nosuch.db
t simtune acknowledge ${S1} --reason because --db nosuch.db
left
echo "--- words that exclude each other"
t simtune compare --baseline ${S1} --baselines $D
t simtune compare 570 580.65 --note x $D
t simtune compare 570 580.65 --strict $D
t simtune compare --baselines 570 $D
t simtune compare --against-baseline 570 580 $D
t simtune acknowledge --list ${S1} $D
