# SPDX-License-Identifier: Apache-2.0
"""Several tuning processes on one store: nothing is lost, each waits politely, no two write one session."""
import contextlib
import os
import signal
import sqlite3
import threading
import time

import harness

COMMAND = ("--set", "KIND=plain,halves,odd_one", "--set", "BLOCK=64,128", "--jobs", "1", "--counters", "off")
CANDIDATES = 6
LOCKED = "database is locked|stayed locked"


class Writers(harness.Case):
    """Processes that could be of different machines' devices: the emulated device is locked by folder."""

    @classmethod
    def setUpClass(cls):
        """What is compiled is compiled before, so that the processes meet at the store."""
        if not Writers.warm:
            place = harness.Place()
            result = place.tune("twice", *COMMAND)
            place.close()
            assert result.code == 0, str(result)
            Writers.warm = True

    warm = False

    def start(self, place, name, *words, **env):
        return place.start(*place.words("twice", *COMMAND, *words),
                           SIMTUNE_RUNTIME=os.path.join(place.folder, f"locks-{name}"), **env)

    @staticmethod
    def candidates(place, like="%"):
        try:
            return place.one("SELECT count(*) FROM candidate c JOIN session s USING (session_key)"
                             " WHERE s.command LIKE ?", like)
        except sqlite3.Error:
            return 0  # the store is not there yet, or being made

    @staticmethod
    def measured(place):
        return set(place.rows("SELECT s.session_id, c.candidate_id, m.phase, m.cache, m.round, m.taken_ms, m.samples"
                              " FROM measurement m JOIN candidate c USING (candidate_key)"
                              " JOIN session s USING (session_key)"))

    def assert_complete(self, place, sessions):
        """Each session has its candidates once, its winners, and is finished; the store is sound."""
        self.assert_sound(place)
        self.assertEqual(place.rows(
            "SELECT status, (SELECT count(*) FROM candidate c WHERE c.session_key = s.session_key),"
            " (SELECT count(DISTINCT candidate_id) FROM candidate c WHERE c.session_key = s.session_key),"
            " (SELECT count(*) FROM winner w WHERE w.session_key = s.session_key) FROM session s"),
            [("finished", CANDIDATES, CANDIDATES, 2)] * sessions)


class Together(Writers):
    def read_again_and_again(self, place, ended, found):
        while not ended.is_set():
            result = place.run("query", "twice", "--json", timeout=60)
            found.append(result)

    def test_four_at_once_beside_a_reader(self):
        place = self.place()
        self.assert_code(place.tune("twice", *COMMAND), 0)  # the store is there, so a pass means the same in each run
        ended, found = threading.Event(), []
        reader = threading.Thread(target=self.read_again_and_again, args=(place, ended, found))
        reader.start()
        try:
            # Two are the same command; one meets an error of the disk; one is killed as soon as it has stored some.
            words = {"a": ("--seed", "1"), "b": ("--seed", "1"), "disk": ("--seed", "3"), "kill": ("--seed", "4")}
            processes = {name: self.start(place, name, *words[name],
                                          **({"SIMTUNE_FAULT": "parent/sqlite:200"} if name == "disk" else {}))
                         for name in words}
            place.wait_until(lambda: self.candidates(place, "%--seed 4%") >= 3, 120, "the fourth has stored some")
            acknowledged = self.measured(place)
            processes["kill"].kill()
            results = {name: place.finish(process, 120) for name, process in processes.items()}
        finally:
            ended.set()
            reader.join()
        self.assert_code(results["a"], 0)
        self.assert_code(results["b"], 0)
        self.assert_code(results["disk"], 1)
        self.assert_says(results["disk"].err, "(?m)^simtune: .*disk|failed")
        for result in (*results.values(), *found):
            self.assertNotRegex(result.err, LOCKED)
        self.assertTrue(found)
        for result in found:
            self.assert_code(result, 0)
        self.assertLessEqual(acknowledged, self.measured(place), "an acknowledged measurement is gone")
        place.wait_for_nobody(5)
        before = self.measured(place)
        # What did not end is taken up, each by its own command.
        for name in ("disk", "kill"):
            result = place.finish(self.start(place, name, *words[name]), 120)
            self.assert_code(result, 0)
            self.assert_says(result.err, "resumed session")
        self.assertLessEqual(before, self.measured(place), "a measurement is gone or was taken again")
        self.assert_complete(place, 5)
        waits = [wait for wait, in place.rows("SELECT json_extract(summary, '$.longest_store_wait') FROM session")]
        print(f"longest wait of each run for the store: {', '.join(f'{1000 * wait:.1f} ms' for wait in waits)}")


class NotHeld(Writers):
    """While a candidate is worked on, the store is free: with the worker stopped, the run can only wait for it."""

    def test_whatever_the_worker_does(self):
        place = self.place()
        tried = 0
        for seed in range(20):
            process = self.start(place, "one", "--seed", str(seed))
            while process.poll() is None and tried < 25:
                workers = place.children("time")
                if not workers or not self.candidates(place):
                    time.sleep(0.01)
                    continue
                try:
                    os.kill(workers[0], signal.SIGSTOP)
                    time.sleep(0.05)  # what the run had in hand is written by then
                    other = sqlite3.connect(place.store_path, isolation_level=None, timeout=1.5)
                    other.execute("BEGIN IMMEDIATE")
                    other.execute("ROLLBACK")
                    other.close()
                    tried += 1
                except ProcessLookupError:
                    pass
                finally:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(workers[0], signal.SIGCONT)
                time.sleep(0.02)
            self.assert_code(place.finish(process, 120), 0)
            if tried >= 25:
                break
        self.assertGreaterEqual(tried, 25)
        self.assert_sound(place)


class OneSession(Writers):
    """Two processes that do the same: one session each, unless the other one is gone."""

    def test_a_session_that_runs_is_not_resumed(self):
        place = self.place()
        first = self.start(place, "first")
        place.wait_until(lambda: self.candidates(place) >= 2, 60, "the first has stored some")
        os.kill(first.pid, signal.SIGSTOP)  # alive, in the midst of its session
        second = place.finish(self.start(place, "second"), 120)
        os.kill(first.pid, signal.SIGCONT)
        self.assert_code(second, 0)
        self.assert_says(second.err, "another process is tuning just this right now: this run is a session of its own")
        self.assertNotIn("resumed", second.err)
        self.assert_code(place.finish(first, 120), 0)
        self.assert_complete(place, 2)

    def test_one_whose_process_is_gone_is(self):
        place = self.place()
        first = self.start(place, "first")
        place.wait_until(lambda: self.candidates(place) >= 2, 60, "the first has stored some")
        first.kill()  # its workers may live on for a moment
        second = place.finish(self.start(place, "second"), 120)
        place.finish(first)
        self.assert_code(second, 0)
        self.assert_says(second.err, "resumed session")
        self.assert_complete(place, 1)


class Waiting(Writers):
    """Another program holds the store in the midst of a run."""

    def run_until_held(self, place, **env):
        process = self.start(place, "one", **env)
        place.wait_until(lambda: self.candidates(place) >= 2, 60, "it has stored some")
        holder = sqlite3.connect(place.store_path, isolation_level=None, timeout=30)
        holder.execute("BEGIN IMMEDIATE")
        return process, holder

    def finish_later(self, place):
        """The same command, with nobody in the way."""
        before = self.measured(place)
        result = place.finish(self.start(place, "one"), 120)
        self.assert_code(result, 0)
        self.assert_says(result.err, "resumed session")
        self.assertLessEqual(before, self.measured(place))
        self.assert_complete(place, 1)

    def test_is_said_once_and_loses_nothing(self):
        place = self.place()
        process, holder = self.run_until_held(place)
        time.sleep(3)
        self.assertIsNone(process.poll(), "it waits")
        holder.execute("ROLLBACK")
        holder.close()
        result = place.finish(process, 120)
        self.assert_code(result, 0)
        said = [line for line in result.err.splitlines() if "waiting for the store" in line]
        self.assertEqual(len(said), 1, str(result))
        self.assert_says(said[0], rf"^note: waiting for the store .*history\.db: process {os.getpid()} \(.*python.*\) holds it")
        self.assert_complete(place, 1)

    def test_has_an_end(self):
        place = self.place()
        process, holder = self.run_until_held(place, SIMTUNE_DB_PATIENCE="0.2")
        result = place.finish(process, 60)
        self.assert_code(result, 1)
        self.assert_says(result.err, rf"(?m)^simtune: the store .*history\.db stayed locked by process {os.getpid()} \(.*"
                                     r"for 2 s \(")  # a run waits ten times as long as it is told
        self.assert_says(result.err, r"(?m)^  wait until the other program is done.*SIMTUNE_DB_PATIENCE")
        holder.execute("ROLLBACK")
        holder.close()
        place.wait_for_nobody(5)
        self.finish_later(place)

    def test_ends_with_ctrl_c(self):
        place = self.place()
        process, holder = self.run_until_held(place)
        time.sleep(0.5)
        os.killpg(process.pid, signal.SIGINT)
        result = place.finish(process, 20)
        self.assert_code(result, harness.INTERRUPTED)
        self.assert_says(result.err, "interrupted while waiting for the store")
        holder.execute("ROLLBACK")
        holder.close()
        place.wait_for_nobody(5)
        self.finish_later(place)

    def test_of_a_command_too(self):
        place = self.place()
        self.assert_code(place.tune("no_size"), 0)
        holder = sqlite3.connect(place.store_path, isolation_level=None, timeout=30)
        holder.execute("BEGIN IMMEDIATE")
        result = place.run("tune", os.path.join(harness.TEMPLATES, "no_size.cu"), "--device", "emu", "--budget", "none",
                           SIMTUNE_DB_PATIENCE="0")
        self.assert_code(result, 1)
        self.assert_says(result.err, "stayed locked by process")
        self.assert_code(place.run("query", "--json"), 0)  # readers do not wait for writers
        result = place.run("query", SIMTUNE_DB_PATIENCE="long")
        self.assert_code(result, 2)
        self.assert_says(result.err, "SIMTUNE_DB_PATIENCE=long")
        holder.execute("ROLLBACK")
        holder.close()


class Moved(Writers):
    """The file is not where it was in the midst of a run: said, and never written elsewhere."""

    def test_renamed(self):
        place = self.place()
        process = self.start(place, "one")
        place.wait_until(lambda: self.candidates(place) >= 2, 60, "it has stored some")
        before = self.measured(place)
        elsewhere = place.store_path + ".moved"
        os.rename(place.store_path, elsewhere)
        result = place.finish(process, 60)
        self.assert_code(result, 1)
        self.assert_says(result.err, r"(?m)^simtune: the store .*history\.db was moved to .*history\.db\.moved while it was")
        self.assertFalse(os.path.exists(place.store_path), "no new one was begun")
        os.rename(elsewhere, place.store_path)
        place.wait_for_nobody(5)
        self.assertLessEqual(before, self.measured(place))
        self.assert_code(place.finish(self.start(place, "one"), 120), 0)
        self.assertLessEqual(before, self.measured(place))
        self.assert_complete(place, 1)

    def test_removed(self):
        place = self.place()
        process = self.start(place, "one")
        place.wait_until(lambda: self.candidates(place) >= 2, 60, "it has stored some")
        os.remove(place.store_path)
        result = place.finish(process, 60)
        self.assert_code(result, 1)
        self.assert_says(result.err, r"(?m)^simtune: the store .*history\.db was removed or replaced while it was in use")
        self.assertFalse(os.path.exists(place.store_path))


class NetworkFileSystems(Writers):
    """SIMTUNE_FILE_SYSTEM stands in for one."""

    def test_four_with_a_rollback_journal(self):
        place = self.place()
        processes = [self.start(place, str(i), "--seed", str(i), SIMTUNE_FILE_SYSTEM="nfs4") for i in range(4)]
        results = [place.finish(process, 120) for process in processes]
        for result in results:
            self.assert_code(result, 0)
            self.assertNotRegex(result.err, LOCKED)
            self.assertEqual(result.err.count("which several hosts may share"), 1, str(result))
        self.assertFalse(os.path.exists(place.store_path + "-wal"))
        self.assert_complete(place, 4)

    def test_without_locks_nothing_is_written(self):
        place = self.place()
        result = place.tune("no_size", SIMTUNE_FILE_SYSTEM="nfs:locks=refused")
        self.assert_code(result, 1)
        self.assert_says(result.err, r"(?m)^simtune: the store .*history\.db is not written: its file system nfs \(.*\)"
                                     " has no working locks")
        self.assertFalse(os.path.exists(place.store_path))
        result = place.tune("no_size", SIMTUNE_FILE_SYSTEM="nfs:locks=refused", SIMTUNE_DB_LOCKS="trust")
        self.assert_code(result, 0)
        self.assert_says(result.err, "SIMTUNE_DB_LOCKS=trust says that nobody else writes")
        self.assert_sound(place)
        # What a network file system holds can be read without locks.
        self.assert_code(place.run("query", SIMTUNE_FILE_SYSTEM="nfs:locks=refused"), 0)


if __name__ == "__main__":
    harness.main()
