# SPDX-License-Identifier: Apache-2.0
"""Of a standalone program whose warps hand each other tiles, the form that racecheck can follow.

    every_lane_arrives.py FROM.cu TO.cu     exit 3: the program has no such kernel

The kernels let one lane of a warp arrive at an mbarrier for all of it, behind __syncwarp. That orders what all lanes
did before (PTX ISA: bar.warp.sync orders memory among its threads, mbarrier.arrive releases, and both are cumulative),
but racecheck does not count what the other lanes did: racecheck_elected.cu shows it on a dozen lines. Here each lane
arrives itself, and the signals are opened for 32 times as many; nothing else is changed. What is reported then is a
race. A line that is not found as it is expected here is an error: then the kernels have changed, and this has to.
"""
import re
import sys

# (what stands there, what comes instead, how often)
SCAN = [
    ("mbarrier_open(block.full + threadIdx.x, 1);", "mbarrier_open(block.full + threadIdx.x, 32);", 1),
    ("mbarrier_open(block.added + threadIdx.x, 1);", "mbarrier_open(block.added + threadIdx.x, 32);", 1),
    ("mbarrier_open(block.known + threadIdx.x, 1);", "mbarrier_open(block.known + threadIdx.x, 32);", 1),
    ("mbarrier_open(block.empty + threadIdx.x, shape::WARPS);",
     "mbarrier_open(block.empty + threadIdx.x, 32 * shape::WARPS);", 1),
    ("mbarrier_arrive_expect(full + at, bytes);\n            }",
     "mbarrier_arrive_expect(full + at, bytes);\n            } else\n                mbarrier_arrive(full + at);", 1),
    ("mbarrier_arrive(added + at);\n            }",
     "mbarrier_arrive(added + at);\n            } else\n                mbarrier_arrive(added + at);", 1),
    ("if (lane == 0)\n                mbarrier_arrive(known + at);", "mbarrier_arrive(known + at);", 1),
    ("if (lane == 0)\n                mbarrier_arrive(empty + at);", "mbarrier_arrive(empty + at);", 1),
]
COMPACT = [
    ("signal_open(marked + i, 1);", "signal_open(marked + i, 32);", 1),
    ("signal_open(brought + i, 1);", "signal_open(brought + i, 32);", 1),
    ("signal_open(counted + i, 1);", "signal_open(counted + i, 32);", 1),
    ("signal_open(placed + i, 1);", "signal_open(placed + i, 32);", 1),
    ("signal_open(freed + i, WARPS);", "signal_open(freed + i, 32 * WARPS);", 1),
    # brought(): the lanes that announce nothing
    ("    if (threadIdx.x % 32 != 0)\n        return;\n    if (FORM == COPY_bulk)",
     "    if (threadIdx.x % 32 != 0) {\n        signal_arrive(signal);\n        return;\n    }\n    if (FORM == COPY_bulk)", 1),
    ("                if (lane == 0) {\n                    signal_arrive(line.marked + s);\n"
     "                    signal_arrive(line.brought + s);\n                }",
     "                signal_arrive(line.marked + s);\n                signal_arrive(line.brought + s);", 1),
    ("if (lane == 0)\n                signal_arrive(line.counted + s);", "signal_arrive(line.counted + s);", 1),
    ("        if (lane == 0)\n            signal_arrive(line.counted + s);", "        signal_arrive(line.counted + s);", 1),
    ("                signal_arrive(line.placed + s);\n                if (tile == tiles - 1)\n"
     "                    *count = before + total;\n            }",
     "                signal_arrive(line.placed + s);\n                if (tile == tiles - 1)\n"
     "                    *count = before + total;\n            } else\n                signal_arrive(line.placed + s);", 1),
    ("if (lane == 0)\n                signal_arrive(line.freed + s);", "signal_arrive(line.freed + s);", 1),
]


def main():
    source, target = sys.argv[1:]
    text = open(source, encoding="utf-8").read()
    if re.search(r"\bscan_divided<", text):
        changes = SCAN
    elif re.search(r"\bcompact_pipelined<", text):
        changes = COMPACT
    else:
        sys.exit(3)
    for old, new, times in changes:
        if text.count(old) != times:
            sys.exit(f"{source}: {text.count(old)} times, expected {times}: {old!r}")
        text = text.replace(old, new)
    with open(target, "w", encoding="utf-8") as out:
        out.write(text)


main()
