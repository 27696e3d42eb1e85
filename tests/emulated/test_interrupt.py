# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, and two tuners that want one device."""
import os
import re
import signal
import time

import harness

COMMAND = ("--set", "KIND=plain,halves", "--set", "BLOCK=64,128,256")


def count(place, table):
    try:
        return place.one(f"SELECT count(*) FROM {table}")
    except harness.sqlite3.Error:
        return 0  # the store is not there yet, or being made


class Interrupted(harness.Case):
    def interrupt(self, place, words, condition, number=signal.SIGINT):
        process = place.start(*words)
        place.wait_until(condition, 60, "the run is so far")
        os.killpg(process.pid, number)  # as a terminal does: to children as well
        return place.finish(process, timeout=20)

    def test_what_was_measured_is_kept_and_reported(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            place = self.place()
            words = place.words("twice", *COMMAND, "--jobs", "1")
            result = self.interrupt(place, words, lambda p=place: count(p, "candidate") >= 2, number)
            self.assert_code(result, harness.INTERRUPTED)
            self.assert_says(result.out, r"(so far|winner) +BLOCK=\d+ KIND=(plain|halves)")
            self.assert_says(result.out, r"time +[\d.]+ µs")
            self.assert_says(result.err, "(?s)interrupted.*the same command goes on")
            place.wait_for_nobody()
            self.assert_sound(place)
            self.assertEqual(place.rows("SELECT status FROM session"), [("interrupted",)])
            before = set(place.rows("SELECT candidate_key, phase, cache, round, taken_ms FROM measurement"))
            again = place.run(*words)
            self.assert_code(again, 0)
            self.assertEqual(place.rows("SELECT status FROM session"), [("finished",)])
            self.assertEqual(count(place, "candidate"), 6)
            self.assertEqual(count(place, "winner"), 2)
            self.assertLessEqual(before, set(place.rows(
                "SELECT candidate_key, phase, cache, round, taken_ms FROM measurement")))
            self.assert_sound(place)

    def test_before_anything_is_measured(self):
        place = self.place(own_cache=True)
        result = self.interrupt(place, place.words("twice", *COMMAND), lambda: place.children("compile"))
        self.assert_code(result, harness.INTERRUPTED)
        self.assertNotIn("winner", result.out)
        place.wait_for_nobody()
        self.assert_sound(place)

    def test_during_the_finals(self):
        place = self.place()
        words = place.words("twice", *COMMAND)
        result = self.interrupt(place, words, lambda: place.one(
            "SELECT count(*) FROM measurement WHERE phase = 'finals'") if count(place, "measurement") else 0)
        if result.code != 0:  # it may have been over by then
            self.assert_code(result, harness.INTERRUPTED)
        self.assert_says(result.out, "winner +BLOCK=")
        self.assert_code(place.run(*words), 0)
        self.assertGreaterEqual(count(place, "winner"), 2)
        self.assert_sound(place)

    def test_a_second_one_ends_at_once(self):
        place = self.place()
        # A kernel that never ends holds the first Ctrl-C up for as long as the time limit.
        process = place.start(*place.words(harness.FAULTY, "--size", "4Ki", "--set", "MODE=right,forever",
                                           "--time-limit", "600"))
        place.wait_until(lambda: self.worker_spins(place), 60, "the kernel that never ends runs")
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.2)
        self.assertIsNone(process.poll(), "the first one ends the run in order")
        os.killpg(process.pid, signal.SIGINT)
        result = place.finish(process, timeout=5)
        self.assert_code(result, harness.INTERRUPTED)
        place.wait_for_nobody()
        self.assert_sound(place)

    @staticmethod
    def worker_spins(place):
        """A timing worker has used a second of processor time."""
        for pid in place.children("time"):
            try:
                with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[11]) + int(fields[12]) >= 1.0 * os.sysconf("SC_CLK_TCK"):
                return True
        return False


class OneDevice(harness.Case):
    def holder(self, place, *words):
        process = place.start(*place.words("twice", *COMMAND, *words))
        place.wait_until(lambda: self.signed(place, process.pid), 60, "the first tuner holds the device")
        return process

    @staticmethod
    def signed(place, pid):
        folder = os.path.join(place.folder, "locks")
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                if file.read().startswith(f"{pid} "):
                    return True
        return False

    def test_the_second_waits_and_says_for_whom(self):
        place = self.place()
        first = self.holder(place)
        second = place.finish(place.start(*place.words("twice", *COMMAND)))
        first_result = place.finish(first)
        self.assert_code(first_result, 0)
        self.assert_code(second, 0)
        notes = re.findall(r"waiting for the device: process (\d+) holds it \((.*)\)", second.err)
        self.assertEqual([int(pid) for pid, _ in notes], [first.pid], "said once, with the right process")
        self.assert_says(notes[0][1], "tune .*twice.cu")
        ends = place.rows("SELECT finished_ms, (SELECT min(taken_ms) FROM simtune_measurements m"
                          " WHERE m.session_key = s.session_key) FROM session s ORDER BY started_ms")
        self.assertEqual(len(ends), 2)
        self.assertGreaterEqual(ends[1][1], ends[0][0], "nothing was timed while the other tuned")

    def test_a_killed_tuner_holds_nothing(self):
        place = self.place()
        first = self.holder(place)
        second = place.start(*place.words("twice", "--set", "KIND=plain"))
        first.kill()
        place.finish(first)
        self.assert_code(place.finish(second), 0)

    def test_interrupted_while_waiting(self):
        place = self.place()
        first = self.holder(place)
        second = place.start(*place.words("twice", *COMMAND, "--db", os.path.join(place.folder, "other.db")))
        place.wait_until(lambda: place.children("time")[1:], 60, "the second has opened the device")
        time.sleep(0.1)
        waiting = first.poll() is None
        os.killpg(second.pid, signal.SIGINT)
        result = place.finish(second, timeout=10)
        self.assert_code(place.finish(first), 0)
        if waiting:
            self.assert_code(result, harness.INTERRUPTED)

    def test_another_device_is_free(self):
        place = self.place()
        place.env["SIMTUNE_EMU_DEVICES"] = "2"
        first = self.holder(place)
        result = place.run("tune", os.path.join(harness.TEMPLATES, "no_size.cu"), "--device", "emu:1")
        self.assert_code(result, 0)
        self.assertNotIn("waiting", result.err)
        self.assert_code(place.finish(first), 0)
        self.assertEqual(count(place, "device"), 2)
        self.assert_sound(place)


if __name__ == "__main__":
    harness.main()
