#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernel Tuner's strategies in its simulation, over cache files that simtune exported: evaluations to within 1 % of the best.

Usage: against_kernel_tuner.py FILE STRATEGY [SEEDS [EVALUATIONS [SECONDS]]]      (needs `pip install kernel_tuner`)

FILE comes from `simtune db export FILE --format kernel-tuner`. Of each configuration the median of its samples counts, for
`simtune replay` and here: --medians OUT FILE writes the file in which that is the only time.
"""
import contextlib
import io
import json
import os
import random
import statistics
import sys
import time
import warnings


def write_medians(out, path):
    with open(path) as file:
        content = json.load(file)
    for entry in content["cache"].values():
        if entry.get("times"):
            entry["time"] = statistics.median(entry["times"])
            entry["times"] = [entry["time"]]
    with open(out, "w") as file:
        json.dump(content, file)


class Replay:
    """One cache file; the space is built once, which takes Kernel Tuner long."""

    def __init__(self, path):
        import kernel_tuner.interface
        from kernel_tuner.runners import simulation
        self.path = path
        with open(path) as file:
            self.content = json.load(file)
        self.cache, self.keys = self.content["cache"], self.content["tune_params_keys"]
        timed = {key: e["time"] for key, e in self.cache.items() if isinstance(e.get("time"), float)}
        self.good = {key for key, ns in timed.items() if ns <= 1.01 * min(timed.values())}
        self.order, made = [], []
        make, plain = kernel_tuner.interface.Searchspace, simulation.SimulationRunner.run

        def make_once(*words, **named):
            made.extend([] if made else [make(*words, **named)])
            return made[0]

        def run(runner, space, options):
            space = list(space)
            for element in space:
                key = ",".join(str(value) for value in element)
                if key in self.cache and key not in self.order:
                    self.order.append(key)
            return plain(runner, space, options)

        kernel_tuner.interface.Searchspace = make_once
        simulation.SimulationRunner.run = run

    def evaluations(self, strategy, seed, most):
        """Until within 1 %; infinite when it ends before."""
        import kernel_tuner
        import numpy
        self.order.clear()
        random.seed(seed)
        numpy.random.seed(seed)

        def allowed(values):
            return ",".join(str(values[key]) for key in self.keys) in self.cache

        name = self.content["kernel_name"]
        with contextlib.redirect_stdout(io.StringIO()):
            kernel_tuner.tune_kernel(name, f"__global__ void {name}() {{}}", self.content["problem_size"], [],
                                     self.content["tune_params"], restrictions=allowed, strategy=strategy,
                                     strategy_options={"max_fevals": min(most, len(self.cache))}, simulation_mode=True,
                                     cache=self.path, block_size_names=["NONE"], quiet=True)
        return next((i + 1 for i, key in enumerate(self.order) if key in self.good), float("inf"))


def main():
    warnings.filterwarnings("ignore")
    if sys.argv[1] == "--medians":
        return write_medians(*sys.argv[2:])
    path, strategy = sys.argv[1:3]
    seeds, most, seconds = [float(word) for word in sys.argv[3:] + ["20", "3000", "60"][len(sys.argv) - 3:]]
    replay, found, began = Replay(path), [], time.time()
    for seed in range(int(seeds)):
        found.append(replay.evaluations(strategy, seed, int(most)))
        if time.time() - began > seconds and len(found) >= 10:
            break
    found.sort()
    print(f"{os.path.basename(path)}: {len(replay.cache)} configurations, {len(replay.good)} within 1 %; {strategy}: median"
          f" {statistics.median(found):g} ({found[len(found) // 10]:g}–{found[len(found) * 9 // 10]:g}) of {len(found)} seeds,"
          f" {sum(f == float('inf') for f in found)} ended before")


if __name__ == "__main__":
    main()
