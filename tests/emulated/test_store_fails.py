# SPDX-License-Identifier: Apache-2.0
"""A store or a cache that cannot be written: a clear error, exit 1, nothing half-written."""
import os
import shutil
import subprocess
import unittest

import harness

NOBODY = 65534


def can_mount():
    return shutil.which("unshare") and subprocess.run(
        ["unshare", "-rm", "sh", "-c", "mount -t tmpfs -o size=64k none /mnt"], stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, check=False).returncode == 0


class NoRoom(harness.Case):
    @unittest.skipUnless(can_mount(), "no user namespaces here")
    def test_a_full_disk(self):
        """At several sizes, so that it is full at several moments."""
        place = self.place()
        folder = os.path.join(place.folder, "small")
        os.mkdir(folder)
        words = place.words("twice", "--set", "KIND=plain,halves", "--db", os.path.join(folder, "history.db"))
        self.assert_code(place.tune("twice", "--set", "KIND=plain,halves"), 0)  # the cache is warm, a store of its own has room
        ends = set()
        for kilobytes in (16, 128, 256, 320, 384):
            script = f"mount -t tmpfs -o size={kilobytes}k none {folder} && {harness.SIMTUNE} \"$@\"; code=$?;" \
                     f" test -e {folder}/history.db && cp {folder}/history.db* {place.folder}; exit $code"
            for name in os.listdir(place.folder):
                if name.startswith("history.db"):
                    os.remove(os.path.join(place.folder, name))
            process = subprocess.run(["unshare", "-rm", "sh", "-c", script, "sh", *words], env=place.env, text=True,
                                     capture_output=True, timeout=60, check=False)
            result = harness.Result(process.returncode, process.stdout, process.stderr)
            self.assertIn(result.code, (0, 1), str(result))
            if result.code:
                self.assert_says(result.err, r"(?m)^simtune: .*(full|disk|space)")
                self.assertNotIn("winner", result.out)
            ends.add(result.code)
            place.store_path = os.path.join(place.folder, "history.db")
            self.assert_sound(place)
            place.wait_for_nobody()
        self.assertIn(1, ends, "one of them is too small")

    @harness.needs_reach
    def test_a_folder_that_cannot_be_written(self):
        place = self.place()
        locked = os.path.join(place.folder, "locked")
        os.mkdir(locked)
        os.chmod(locked, 0o555)
        os.chmod(place.folder, 0o777)
        os.chmod(place.reports, 0o777)
        options = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        process = subprocess.run([harness.SIMTUNE, *place.words("no_size", "--db", os.path.join(locked, "history.db"))],
                                 env=place.env, text=True, capture_output=True, timeout=60, check=False, **options)
        result = harness.Result(process.returncode, process.stdout, process.stderr)
        self.assert_code(result, 1)
        self.assertEqual(result.out, "")
        self.assert_says(result.err, r"\Asimtune: .*locked/history\.db")
        self.assert_says(result.err, r"(?m)^  \S")  # and what to do
        self.assertEqual(os.listdir(locked), [])

    def test_no_file_at_all(self):
        place = self.place()
        for path in ("/dev/null/history.db", place.folder):
            result = place.tune("no_size", "--db", path)
            self.assert_code(result, 1)
            self.assert_says(result.err, r"\Asimtune: .*" + path)
            self.assertEqual(result.out, "")

    def test_a_file_that_is_no_store(self):
        place = self.place()
        path = os.path.join(place.folder, "notes.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write("these are notes, not measurements\n" * 100)
        result = place.tune("no_size", "--db", path)
        self.assert_code(result, 1)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "these are notes, not measurements\n" * 100)


class NoCache(harness.Case):
    def test_a_cache_that_is_a_file(self):
        place = self.place(own_cache=True)
        with open(place.cache, "w", encoding="utf-8"):
            pass
        result = place.tune("no_size")
        self.assert_code(result, 1)
        self.assert_says(result.err, re_escape(place.cache))

    def test_entries_that_are_cut_short_are_made_again(self):
        place = self.place(own_cache=True)
        self.assert_code(place.tune("no_size"), 0)
        folder = os.path.join(place.cache, "simtune")
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            os.truncate(path, os.path.getsize(path) // 2)
        result = place.tune("no_size")
        self.assert_code(result, 0)
        self.assertEqual({o for o, _ in place.outcomes().values()}, {"correct"})


def re_escape(path):
    return harness.re.escape(path)


if __name__ == "__main__":
    harness.main()
