#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The installed package as other projects use it: find_package, simtune_tuned_header, pkg-config, add_subdirectory.

Usage: package.py BUILD SOURCE [--cuda]     --cuda: also the CUDA program, if there is an nvcc; runs it where a GPU is

Installs BUILD into an empty folder and builds the projects beside this file against it, in an environment with no
store, no GPU and no source tree. Proves: answers of the header; that a second build does nothing; that a new lock
compiles what includes the header and an equal one does not; that what is missing is said while configuring.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


class Failure(Exception):
    pass


def must(holds, what):
    if not holds:
        raise Failure(what)


class Package:
    def __init__(self, build, source, top):
        self.build, self.source, self.top = build, source, top
        self.prefix = top / "prefix"
        kept = {key: value for key, value in os.environ.items() if key.startswith(("ASAN", "UBSAN", "LSAN", "CUDA_"))}
        self.env = {"PATH": os.environ["PATH"], "HOME": str(top), "XDG_DATA_HOME": str(top / "data"),
                    "LC_ALL": "C.UTF-8", "SIMTUNE_LIBCUDA": "/nonexistent", **kept}

    def run(self, *command, fails=False, cwd=None):
        done = subprocess.run([str(word) for word in command], env=self.env, cwd=cwd, capture_output=True, text=True,
                              check=False)
        must((done.returncode != 0) == fails, f"{' '.join(map(str, command))}: exit {done.returncode}\n"
                                              f"{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def simtune(self, *words, **more):
        return self.run(self.prefix / "bin/simtune", *words, **more)

    def project(self, name, where=None):
        folder = self.top / (where or name)
        shutil.copytree(HERE / name, folder)
        return folder

    def configure(self, folder, *words, **more):
        return self.run("cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja",
                        f"-DCMAKE_PREFIX_PATH={self.prefix}", *words, **more)

    def make(self, folder, **more):
        return self.run("ninja", "-v", "-C", folder / "build", **more)


def install(package):
    package.run("cmake", "--install", package.build, "--prefix", package.prefix)
    for file in ("bin/simtune", "share/simtune/templates/reduce.cu", "share/man/man1/simtune.1",
                 "share/pkgconfig/simtune.pc"):
        must((package.prefix / file).is_file(), f"{file} is not installed")
    must("LICENSE" in os.listdir(next(package.prefix.glob("share/doc/simtune"))), "no licence is installed")


def pkg_config(package):
    if not shutil.which("pkg-config"):
        print("pkg-config: not here, skipped")
        return
    package.env["PKG_CONFIG_PATH"] = str(package.prefix / "share/pkgconfig")
    program = package.run("pkg-config", "--variable=program", "simtune").strip()
    must("simtune 0." in package.run(program, "version"), "pkg-config names no program")
    templates = package.run("pkg-config", "--variable=templates", "simtune").strip()
    must((pathlib.Path(templates) / "reduce.cu").is_file(), "pkg-config names no templates")


def default_row(package, family, problem):
    """A predicted row with the template's default, for a family whose history is of an older template."""
    about = json.loads(package.simtune("templates", family, "--arch", "sm_90", "--json"))
    config = " ".join(f"{p['name']}={p['default']}" for p in about["parameters"])
    row = {"template": about["hash"], "deterministic": True, "predicted": True, "emulated": False, "blocks_per_sm": 1}
    return f"{family} sm_90/132 cold {problem} : {config} : {json.dumps(row)}\n"


def write_lock(package, path, *families, problem=None):
    """From the history that ships; what is not in it gets its default."""
    for family in families:
        try:
            package.simtune("lock", family, "--arch", "90", "-o", path)
        except Failure:
            with open(path, "a", encoding="utf-8") as lock:
                if not lock.tell():
                    lock.write("simtune-lock 1\n")
                lock.write(default_row(package, family, problem))


def other_block(rows):
    """The rows of a lock with another block size for the size that the programs ask for, and which."""
    row = r"(T=f32 op=sum n=1048576 : BLOCK=)(\d+)"
    other = "256" if re.search(row, rows).group(2) == "128" else "128"
    return other, re.sub(row, r"\g<1>" + other, rows)


def library(package):
    folder = package.project("library")
    lock = folder / "tuning.lock"
    write_lock(package, lock, "reduce")
    package.configure(folder, "-DLOCK=tuning.lock")
    package.make(folder)
    first = package.run(folder / "build/program")
    must("BLOCK=" in first, f"the program knows no configuration: {first}")
    must("no work to do" in package.make(folder), "a second build does something")
    header = folder / "build/simtune/choice/simtune_reduce.h"
    text = header.read_text(encoding="utf-8")
    must(str(package.top) not in text, "the header names the folder in which it was made")
    # The same lock once more: the rule runs, nothing is compiled.
    os.utime(lock)
    again = package.make(folder)
    must("choice.c" not in again and "emit" in again, f"an equal lock compiles something:\n{again}")
    must("no work to do" in package.make(folder), "the build after that does something")
    # Another configuration for the size that the program asks for.
    rows = lock.read_text(encoding="utf-8")
    other, changed = other_block(rows)
    lock.write_text(changed, encoding="utf-8")
    must("choice.c" in package.make(folder), "a new lock does not compile what includes the header")
    must(f"BLOCK={other} " in package.run(folder / "build/program"), "the program has not changed")
    # A lock of another version of the template stops the build, and the header stays.
    lock.write_text(re.sub(r'"template":"....', '"template":"0000', rows), encoding="utf-8")
    before = header.read_bytes()
    said = package.make(folder, fails=True)
    must("another version of its template" in said, f"the build does not say why:\n{said}")
    must(header.read_bytes() == before, "a failed build has changed the header")


def configure_errors(package):
    folder = package.project("library", "wrong")
    said = package.configure(folder, "-DLOCK=none.lock", fails=True)
    must("there is no lock file" in said and "simtune lock reduce" in " ".join(said.split()), said)
    write_lock(package, folder / "scan.lock", "scan")
    said = package.configure(folder, "-DLOCK=scan.lock", fails=True)
    must("has no row of reduce" in " ".join(said.split()), said)
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(wrong LANGUAGES C)\n"
        f"include({package.source}/cmake/SimtuneTunedHeader.cmake)\nadd_library(a STATIC choice.c)\n"
        "simtune_tuned_header(TARGET a FAMILIES reduce LOCK scan.lock)\n", encoding="utf-8")
    shutil.rmtree(folder / "build")
    must("there is no program simtune" in " ".join(package.configure(folder, fails=True).split()), "no program is no error")


def versions(package):
    folder = package.project("versions")
    write_lock(package, folder / "one.lock", "reduce")
    rows = (folder / "one.lock").read_text(encoding="utf-8")
    other, changed = other_block(rows)
    (folder / "two.lock").write_text(changed, encoding="utf-8")
    package.configure(folder)
    package.make(folder)
    one, two = package.run(folder / "build/versions").splitlines()
    must(f"BLOCK={other} " in two and one != two, f"two versions give {one} and {two}")


def subdirectory(package):
    folder = package.top / "whole"
    folder.mkdir()
    shutil.copy(HERE / "library/choice.c", folder)
    write_lock(package, folder / "simtune.lock", "reduce")
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(whole LANGUAGES C CXX)\n"
        f"add_subdirectory({package.source} simtune)\nadd_library(choice STATIC choice.c)\n"
        "simtune_tuned_header(TARGET choice FAMILIES reduce LOCK simtune.lock)\n", encoding="utf-8")
    package.configure(folder)
    plan = package.run("ninja", "-C", folder / "build", "-t", "commands", "choice")
    must("emit reduce" in plan and "tests/unit" not in plan, f"add_subdirectory plans something else:\n{plan[-2000:]}")


def cuda(package):
    if not shutil.which("nvcc", path=package.env["PATH"] + ":/usr/local/cuda/bin"):
        print("nvcc: not here, skipped")
        return
    package.env["PATH"] += ":/usr/local/cuda/bin"
    folder = package.project("app")
    write_lock(package, folder / "simtune.lock", "reduce", "scan", "compact",
               problem="T=f32 select=flagged order=ordered percent=50 pattern=random n=1048576")
    package.configure(folder)
    package.make(folder)
    must("no work to do" in package.make(folder), "a second build does something")
    if pathlib.Path("/dev/nvidia0").exists():
        package.env.pop("SIMTUNE_LIBCUDA")
        print(package.run(folder / "build/app").strip())
    else:
        print("app: built; no GPU to run it on")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("build", type=pathlib.Path)
    options.add_argument("source", type=pathlib.Path)
    options.add_argument("--cuda", action="store_true")
    options = options.parse_args()
    steps = [install, cuda] if options.cuda else [install, pkg_config, library, configure_errors, versions, subdirectory]
    with tempfile.TemporaryDirectory(prefix="simtune-package-") as top:
        package = Package(options.build.resolve(), options.source.resolve(), pathlib.Path(top))
        for step in steps:
            try:
                step(package)
            except Failure as failure:
                print(f"{step.__name__}: {failure}")
                return 1
            print(f"{step.__name__}: right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
