# SPDX-License-Identifier: Apache-2.0
"""Writes small files in the shapes that other tools write: runs that were made up, for the cases of the command line."""
import gzip
import json

HEAD = {"device_name": "Some GPU 40GB", "kernel_name": "blur_kernel", "problem_size": [640, 480],
        "tune_params_keys": ["bx", "by", "path"],
        "tune_params": {"bx": [16, 32], "by": [1, 2], "path": ["plain", "shared mem"]}, "objective": "time"}


def entry(bx, by, path, second, **result):
    """As Kernel Tuner's log has it: the parameters again, then what was measured (ms)."""
    return f"{bx},{by},{path}", {"bx": bx, "by": by, "path": path, **result, "compile_time": 250.5, "verification_time": 0,
                                 "benchmark_time": 12.5, "timestamp": f"2024-02-29 23:59:{second:02}.502007+00:00"}


ENTRIES = [entry(16, 1, "plain", 1, time=2.04, times=[2.2, 2.0, 2.0, 2.0, 2.0], **{"GFLOP/s": 812.25}),
           entry(32, 1, "plain", 2, time="RuntimeFailedConfig"),
           entry(32, 2, "shared mem", 3, __error__="CompilationFailedConfig"),
           entry(16, 2, "shared mem", 4, time=1.25, times=[1.5, 1.25, 1.25], **{"GFLOP/s": 1300})]


def cache(entries=None, **changed):
    """The text of a cache file, ended as Kernel Tuner ends it."""
    lines = ",\n".join(json.dumps({key: value})[1:-1] for key, value in (ENTRIES if entries is None else entries))
    return json.dumps({**HEAD, **changed, "cache": {}}, indent="")[:-3].rstrip() + "\n" + lines + "}\n}"


def t4(**changed):
    """The same as T4 results of that time."""
    words = {"RuntimeFailedConfig": "runtime", "CompilationFailedConfig": "compile"}
    results = []
    for _, value in ENTRIES:
        error = value.get("__error__") or (value["time"] if isinstance(value["time"], str) else None)
        times = {"compilation": 250.5, "framework": 1.5, "search_algorithm": 0, "validation": 0}
        if not error:
            times["runtimes"] = value["times"]
        results.append({"timestamp": value["timestamp"], "configuration": {k: value[k] for k in HEAD["tune_params_keys"]},
                        "times": times, "invalidity": words.get(error, "correct"), "correctness": 0 if error else 1,
                        "measurements": [{"name": "time", "value": error or value["time"], "unit": ""}],
                        "objectives": ["time"]})
    return json.dumps({"metadata": {"timeunit": "miliseconds"}, "results": results, **changed}, indent=2)


def write(name, text):
    (gzip.open if name.endswith(".gz") else open)(name, "wt").write(text)
