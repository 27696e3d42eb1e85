#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/search.md: how the strategies compare on the recorded spaces.

Usage: table.py SIMTUNE SPACES FOLDER [SEEDS]

Runs go to FOLDER; one that is there is not repeated (they take a quarter of an hour of one core with 100 seeds).
"""
import json
import math
import pathlib
import subprocess
import sys

OTHERS = ("local", "genetic", "anneal")
RUNS = {
    "all": ("--strategy", ",".join(("guided", *OTHERS))),
    "random": ("--strategy", "random"),
    "without-stalls": ("--strategy", "guided", "--without", "stalls"),
    "without-model": ("--strategy", "guided", "--without", "model"),
    "batch-16": ("--strategy", "guided", "--batch", "16"),
    "history": ("--strategy", "guided", "--history"),
}


def run(simtune, spaces, folder, seeds):
    runs = {}
    for name, words in RUNS.items():
        path = folder / (name + ".json")
        if not path.exists() or not path.stat().st_size:
            done = subprocess.run([simtune, "replay", spaces, "--seeds", seeds, "--json", *words], capture_output=True,
                                  text=True, check=True)
            path.write_text(done.stdout)
        listed = json.loads(path.read_text())["spaces"]
        runs[name] = {(s["family"], s["problem"]): s for s in listed}
    return runs


def strategy(space, name):
    return next(s for s in space["strategies"] if s["strategy"] == name)


def median(space, name, what="evaluations"):
    return strategy(space, name)["goals"][0][what]["median"]


def geometric(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def row_of(runs, key):
    """What one space gave: evaluations and seconds to within 1 %, of all runs."""
    space, random = runs["all"][key], runs["random"][key]
    expects = space["within"][0]["random_expects"]
    of = {name: median(runs[name][key], "guided") for name in RUNS if name != "random"}
    each = median(random, "random", "seconds") / median(random, "random")
    best_seconds = min(median(space, o, "seconds") for o in OTHERS)
    return {"key": key, "n": space["configurations"], "k": space["within"][0]["configurations"], "expects": expects,
            "of": of, "others": {o: median(space, o) for o in OTHERS}, "seconds": median(space, "guided", "seconds"),
            "random_seconds": expects * each, "best_seconds": best_seconds,
            "seconds_without_stalls": median(runs["without-stalls"][key], "guided", "seconds"),
            "profiles": strategy(space, "guided")["profiles"]["median"],
            "stops": strategy(space, "guided")["stops"], "stops_16": strategy(runs["batch-16"][key], "guided")["stops"],
            "history": runs["history"][key]["history"]}


def print_evaluations(rows):
    print("| space | n | k | random | guided | without stalls | without model | local | genetic | anneal |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for r in rows:
        print(f"| {' '.join(r['key'])} | {r['n']} | {r['k']} | {r['expects']:.0f} | **{r['of']['all']:g}** |"
              f" {r['of']['without-stalls']:g} | {r['of']['without-model']:g} |"
              + "".join(f" {r['others'][o]:g} |" for o in OTHERS))
    shares = {name: geometric([r["of"][name] / r["expects"] for r in rows]) for name in rows[0]["of"]}
    shares.update({o: geometric([r["others"][o] / r["expects"] for r in rows]) for o in OTHERS})
    print("\nOver what random expects:", ", ".join(f"{name} {share:.2f}" for name, share in shares.items()))


def print_seconds(rows):
    print("\n| space | random | guided | without stalls | best of the others | profiles | stops after, from the best"
          " (9 of 10 seeds) | with 16 pending: evaluations | stops after, from the best | history: evaluations |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for r in rows:
        stops = [f"{s['evaluations']['median']:.0f}, {100 * s['gap']['median']:.1f} % ({100 * s['gap']['high']:.1f} %)"
                 for s in (r["stops"], r["stops_16"])]
        history = f"{r['of']['history']:g} (of {r['history']})" if r["history"] else "–"
        print(f"| {' '.join(r['key'])} | {r['random_seconds']:.3g} | **{r['seconds']:.3g}** |"
              f" {r['seconds_without_stalls']:.3g} | {r['best_seconds']:.3g} | {r['profiles']:g} | {stops[0]} |"
              f" {r['of']['batch-16']:g} | {stops[1]} | {history} |")


def print_targets(rows):
    large = [r for r in rows if r["expects"] > 50]
    print(f"\nof {len(large)} spaces where random expects more than 50: at most a fifth of it on",
          sum(r["of"]["all"] <= r["expects"] / 5 for r in large), "in evaluations,",
          sum(r["seconds"] <= r["random_seconds"] / 5 for r in large), "in seconds")
    print(f"of {len(rows)}: never more than random:", all(r["of"]["all"] <= r["expects"] for r in rows),
          "; at most half of the best other on", sum(r["of"]["all"] <= min(r["others"].values()) / 2 for r in rows),
          "in evaluations,", sum(r["seconds"] <= r["best_seconds"] / 2 for r in rows), "in seconds")


def main():
    simtune, spaces, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    runs = run(simtune, spaces, folder, sys.argv[4] if len(sys.argv) > 4 else "100")
    rows = [row_of(runs, key) for key in sorted(runs["all"])]
    print_evaluations(rows)
    print_seconds(rows)
    print_targets(rows)


if __name__ == "__main__":
    main()
