# SPDX-License-Identifier: Apache-2.0
"""A run as people see it while it goes on: the live view of a terminal, a line a problem elsewhere, --trace."""
import collections
import fcntl
import json
import os
import pty
import re
import struct
import termios

import harness

WORDS = ("--set", "BLOCK=128", "--set", "KIND=plain,halves,odd_one,no_compile")


class Screen:
    """A terminal of the sequences that the view uses; anything else is an error. Remembers what was drawn."""

    def __init__(self, columns):
        self.columns, self.lines, self.row, self.column = columns, [""], 0, 0
        self.pictures, self.colours, self.is_note = [], 0, False

    def put(self, character):
        self.lines[self.row] = (self.lines[self.row].ljust(self.column)[:self.column] + character
                                + self.lines[self.row][self.column + 1:])
        self.column += 1
        if self.column >= self.columns:
            if not self.is_note:  # notes are whole; the terminal breaks them
                raise AssertionError(f"a line reaches the edge: {self.lines[self.row]!r}")
            self.down()

    def down(self):
        self.row += 1
        self.column = 0
        while len(self.lines) <= self.row:
            self.lines.append("")

    def sequence(self, number, letter):
        if letter == "A":
            self.row -= int(number)
            if self.row < 0:
                raise AssertionError("the cursor leaves the top")
        elif letter == "K" and number in ("", "0"):
            self.lines[self.row] = self.lines[self.row][:self.column]
        elif letter == "J" and number in ("", "0"):
            self.pictures.append([line.rstrip() for line in self.lines])
            self.lines[self.row] = self.lines[self.row][:self.column]
            del self.lines[self.row + 1:]
        elif letter == "m":
            self.colours += 1
        else:
            raise AssertionError(f"unknown sequence {number}{letter}")

    def feed(self, text):
        for line in re.findall(r"[^\n]*\n|[^\n]+$", text):
            self.is_note = "note: " in line
            self.feed_line(line)
        return self

    def feed_line(self, text):
        for part in re.finditer(r"\x1b\[([0-9;]*)([A-Za-z])|(\r)|(\n)|([^\x1b\r\n])", text):
            number, letter, back, down, character = part.groups()
            if letter:
                self.sequence(number, letter)
            elif back:
                self.column = 0
            elif down:
                self.down()
            else:
                self.put(character)


def on_terminal(place, words, columns, **env):
    """What a run writes to stderr when that is a terminal of so many columns, and its exit code."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = harness.subprocess.Popen(
        [harness.SIMTUNE, *words], cwd=place.folder, env={**place.env, "TERM": "xterm", "LC_ALL": "C.UTF-8", **env},
        stdin=harness.subprocess.DEVNULL, stdout=harness.subprocess.DEVNULL, stderr=theirs, start_new_session=True)
    os.close(theirs)
    written = b""
    while True:
        try:
            some = os.read(ours, 1 << 16)
        except OSError:  # its end
            break
        if not some:
            break
        written += some
    os.close(ours)
    return process.wait(60), written.decode()


class LiveView(harness.Case):
    def test_the_view_of_a_terminal(self):
        place = self.place()
        code, written = on_terminal(place, place.words("twice", *WORDS), 80)
        self.assertEqual(code, 0, written)
        screen = Screen(80).feed(written)
        everything = "\n".join("\n".join(picture) for picture in screen.pictures)
        self.assert_says(everything, r"\[1/1\]")
        self.assert_says(everything, r"screen +[█░]+ +\d/4")
        self.assert_says(everything, r"best +[\d.]+ (ns|µs|ms).*  BLOCK=128 KIND=(plain|halves)")
        self.assert_says(everything, r"last +(correct|wrong|compile)")
        self.assert_says(everything, r"failed +1 wrong, 1 compile|failed +1 (wrong|compile)\n")
        # Nothing of it stays; what was said in between does.
        rest = [line.rstrip() for line in screen.lines if line.strip()]
        self.assertTrue(rest and all(line.startswith("note: ") for line in rest), rest)
        self.assertEqual(screen.colours, 0, "NO_COLOR is set")

    def test_colour_width_and_plain_letters(self):
        place = self.place()
        words = place.words("twice", *WORDS)
        code, written = on_terminal(place, words, 44, NO_COLOR="", LC_ALL="C")
        screen = Screen(44).feed(written)  # raises where a line is wider
        self.assertEqual(code, 0)
        self.assertGreater(screen.colours, 0)
        everything = "\n".join("\n".join(picture) for picture in screen.pictures)
        self.assert_says(everything, r"screen +[#.]+ +\d/4")
        code, written = on_terminal(place, words, 30)
        for picture in Screen(30).feed(written).pictures:
            self.assertLessEqual(len([line for line in picture if line and not line.startswith("note")]), 12)
        self.assertEqual(code, 0)

    def test_elsewhere_a_line_a_problem(self):
        place = self.place()
        result = place.tune("twice", *WORDS)
        self.assert_code(result, 0)
        lines = [line for line in result.err.splitlines() if not line.startswith("note: ")]
        self.assertEqual(len(lines), 1, result.err)
        self.assert_says(lines[0], r"^\[1/1\] .*: 4 tried, 1 wrong, 1 compile; best [\d.]+ \ws$")
        self.assertNotIn("\033", result.err)
        # A terminal that cannot move its cursor is no terminal.
        code, written = on_terminal(place, place.words("twice", *WORDS), 80, TERM="dumb")
        self.assertEqual(code, 0)
        self.assertNotIn("\033", written)
        self.assert_says(written, r"\[1/1\] .*4 tried")


def spans(trace, **wanted):
    return [e for e in trace["traceEvents"] if e["ph"] == "X" and all(e.get(k) == v for k, v in wanted.items())]


class Timeline(harness.Case):
    def test_everything_that_was_done_is_there_and_in_order(self):
        place = self.place(own_cache=True)
        result = place.tune("twice", *WORDS[:3], WORDS[3] + ",crash", "--trace", "new/run.json")
        self.assert_code(result, 0)
        self.assert_says(result.err, r"timeline is in new/run\.json")
        with open(os.path.join(place.folder, "new", "run.json"), encoding="utf-8") as file:
            trace = json.load(file)
        events = trace["traceEvents"]
        about = trace["otherData"]
        self.assertEqual(about["session"], place.one("SELECT session_id FROM session"))
        self.assertIn("--trace", about["command"])
        tracks = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
        self.assertLessEqual({"run", "worker: verify and time", "worker: profile", "compile process 1"},
                             set(tracks.values()))
        self.assertEqual(set(tracks), {e["tid"] for e in spans(trace)})
        self.assert_nested(trace)

        # Phases of the run, in order, within their problem.
        problem = spans(trace, name=place.one("SELECT text FROM problem"))[0]
        phases = [e for e in spans(trace, tid=1) if e["name"] in ("screen", "halving", "finals", "profile")]
        self.assertEqual([e["name"] for e in phases], ["screen", "halving", "finals", "profile"])
        for phase in phases:
            self.assertGreaterEqual(phase["ts"], problem["ts"])
            self.assertLessEqual(phase["ts"] + phase["dur"], problem["ts"] + problem["dur"] + 1)

        # Each candidate: verified on exact and random data before it is timed; failures are called by name.
        by_configuration = collections.defaultdict(list)
        for event in sorted(spans(trace), key=lambda e: e["ts"]):
            if event["cat"] in ("verify", "time") and "configuration" in event.get("args", {}):
                by_configuration[event["args"]["configuration"]].append(event["name"])
        right = [c for c, (outcome, _) in place.outcomes().items() if outcome == "correct"]
        self.assertTrue(right)
        for configuration in right:
            names = by_configuration[configuration]
            self.assertLess(max(names.index("verify exact"), names.index("verify random")), names.index("time cold"))
        self.assertTrue(any(name.endswith(": wrong") for name in by_configuration["BLOCK=128 KIND=odd_one"]))
        crashes = [e for e in spans(trace) if e["name"].endswith(": crash")]
        self.assertTrue(any(e["args"]["configuration"] == "BLOCK=128 KIND=crash" and "illegal" in e["args"]["why"]
                            for e in crashes), crashes)
        self.assertNotIn("BLOCK=128 KIND=no_compile", by_configuration)
        self.assertTrue(spans(trace, name="compile: error"))

        # Compiling took as long as the store says; profiling is in its own process; finals are there.
        facts = json.loads(place.one("SELECT summary FROM session"))
        ours = sum(e["dur"] for e in spans(trace, cat="compile") if e["args"].get("configurations"))
        self.assertAlmostEqual(ours / 1e6, facts["phases"]["compile_cpu"], delta=0.01)
        self.assertEqual({e["tid"] for e in spans(trace, cat="profile")}, {3})
        self.assertTrue(spans(trace, name="finals cold"))
        values = [e for e in events if e["ph"] == "C" and e["name"].startswith("best so far")]
        best = [e["args"]["µs"] for e in values]
        self.assertEqual(best, sorted(best, reverse=True))
        self.assertTrue(best)

    def assert_nested(self, trace):
        """On a track spans lie beside or within one another, and none begins before the trace."""
        for track in {e["tid"] for e in spans(trace)}:
            ends = []
            for event in sorted(spans(trace, tid=track), key=lambda e: (e["ts"], -e["dur"])):
                self.assertGreaterEqual(event["ts"], 0)
                while ends and ends[-1] <= event["ts"] + 1e-4:
                    ends.pop()
                if ends:
                    self.assertLessEqual(event["ts"] + event["dur"], ends[-1] + 1e-4, event)
                ends.append(event["ts"] + event["dur"])

    def test_from_the_cache_nothing_is_compiled(self):
        place = self.place()
        right = ("--set", "BLOCK=128", "--set", "KIND=plain,halves")
        place.tune("twice", *right)
        result = place.tune("twice", *right, "--fresh", "--trace", "again.json")
        self.assert_code(result, 0)
        with open(os.path.join(place.folder, "again.json"), encoding="utf-8") as file:
            self.assertEqual(spans(json.load(file), cat="compile"), [])

    def test_what_cannot_be_written_is_known_before_anything_is_measured(self):
        place = self.place()
        os.mkdir(os.path.join(place.folder, "folder"))
        for path, words in (("folder", "not an ordinary file"), ("folder/", "ordinary file"), ("/proc/none/t.json", "folder")):
            result = place.tune("twice", *WORDS, "--trace", path)
            self.assertIn(result.code, (1, 2), str(result))
            self.assert_says(result.err, words)
            self.assertFalse(os.path.exists(place.store_path), "nothing was begun")
        database = os.path.join(place.folder, "other.db")
        self.assert_code(place.tune("twice", "--set", "KIND=plain", "--db", database), 0)
        size = os.path.getsize(database)
        result = place.tune("twice", "--set", "KIND=plain", "--trace", database)
        self.assertNotEqual(result.code, 0)
        self.assert_says(result.err, "database")
        self.assertEqual(os.path.getsize(database), size)

    def test_without_a_run_there_is_no_timeline(self):
        place = self.place()
        result = place.tune("twice", "--dry-run", "--trace", "t.json")
        self.assert_code(result, 0)
        self.assert_says(result.err, "--trace has nothing to show")
        self.assertFalse(os.path.exists(os.path.join(place.folder, "t.json")))


if __name__ == "__main__":
    harness.main()
