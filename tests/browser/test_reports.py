# SPDX-License-Identifier: Apache-2.0
"""Reports in a real browser: nothing complains, everything can be read and reached, and what a hand does works.

Made-up sessions of 1 and 700 candidates, one that is full of what breaks pages, one in which everything failed; with
SIMTUNE_TEST_ALL also the newest recorded session of every family that ships, and 50,000 candidates.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

import browser

SIMTUNE, MAKE_SESSION = os.environ["SIMTUNE"], os.environ["MAKE_SESSION"]
HERE = os.path.dirname(os.path.abspath(__file__))
HISTORY = os.path.join(HERE, "..", "..", "db", "history")
ALL = bool(os.environ.get("SIMTUNE_TEST_ALL"))
with open(os.path.join(HERE, "checks.js"), encoding="utf-8") as script:
    CHECKS = script.read()
WIDTHS = (400, 1400)


class Reports(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="simtune-reports-")
        cls.browser = browser.Browser()
        cls.made = {}

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.folder.cleanup()

    # --- pages ---------------------------------------------------------------------------------------------------
    def simtune(self, *words):
        return subprocess.run([SIMTUNE, *words], capture_output=True, check=True, cwd=self.folder.name,
                              env={**os.environ, "HOME": self.folder.name, "XDG_DATA_HOME": self.folder.name})

    def report(self, candidates, kind=""):
        """The path of the report of a made-up session, and its bytes; made once."""
        key = f"{candidates}{kind}"
        if key not in self.made:
            store, path = (os.path.join(self.folder.name, key + end) for end in (".db", ".html"))
            words = [MAKE_SESSION, store, str(candidates), *([kind] if kind else [])]
            session = subprocess.run(words, capture_output=True, check=True, text=True).stdout.strip()
            self.simtune("report", session, "--db", store, "-o", path)
            self.made[key] = path, store, session
        return self.made[key][0]

    def page(self, path, **how):
        page = self.browser.open("file://" + path, **how)
        self.addCleanup(page.close)
        page.run(CHECKS)
        return page

    def assert_nothing(self, found, where):
        self.assertEqual(found, [], where)

    def check_page(self, path, dark=True):
        """All that holds for every report: everything that is wrong, at once."""
        found = []

        def ask(page, what, where):
            found.extend(f"{where}: {one}" for one in page.run(f"checks.{what}()"))

        for width in WIDTHS:
            page = self.page(path, width=width)
            ask(page, "overflow", f"{width} px")
            page.run("checks.openAll()")
            page.settle()
            ask(page, "overflow", f"{width} px, all open")
            ask(page, "scrolling", f"{width} px")
            found.extend(page.complaints)
        for part in ("charts", "reading", "foreign"):
            ask(page, part, part)
        for shade in (False, True) if dark else (False,):
            page = self.page(path, width=1400, dark=shade)
            page.run("checks.openAll()")
            page.resize(1400, min(16000, page.run("document.documentElement.scrollHeight")))  # all of it is in the window
            page.settle()
            ask(page, "contrast", "dark" if shade else "light")
        self.assertEqual(found, [], path)

    # --- what holds for every page -----------------------------------------------------------------------------------
    def test_one_candidate(self):
        self.check_page(self.report(1))

    def test_seven_hundred_candidates(self):
        path = self.report(700)
        self.check_page(path)
        self.assertLess(os.path.getsize(path), 3e6)

    def test_everything_failed(self):
        self.check_page(self.report(30, "failing"))

    def test_several_sessions_on_one_page(self):
        self.report(700)
        self.report(30, "failing")
        store, other = os.path.join(self.folder.name, "both.db"), self.made["30failing"]
        self.simtune("db", "merge", self.made["700"][1], other[1], "--db", store)
        path = os.path.join(self.folder.name, "both.html")
        self.simtune("report", self.made["700"][2], other[2], "--db", store, "-o", path)
        self.check_page(path, dark=False)

    @unittest.skipUnless(ALL, "only with --all")
    def test_every_family_that_ships(self):
        store = os.path.join(self.folder.name, "history.db")
        for file in sorted(glob.glob(os.path.join(HISTORY, "*.gz"))):
            self.simtune("db", "import", file, "--db", store)
        rows = json.loads(self.simtune("query", "--sql", "SELECT family, max(session_id) AS id FROM simtune_sessions"
                                       " WHERE status = 'finished' GROUP BY family", "--json", "--db", store).stdout)["rows"]
        self.assertGreaterEqual(len(rows), 4)
        for row in rows:
            family, session = (row["family"], row["id"]) if isinstance(row, dict) else row
            with self.subTest(family):
                path = os.path.join(self.folder.name, family + ".html")
                self.simtune("report", session, "--db", store, "-o", path)
                self.check_page(path)

    @unittest.skipUnless(ALL, "only with --all")
    def test_fifty_thousand_candidates(self):
        began = time.monotonic()
        path = self.report(50000)
        print(f"\n  50,000 candidates: store and page in {time.monotonic() - began:.1f} s, "
              f"{os.path.getsize(path) / 1e6:.1f} MB", file=sys.stderr)
        self.assertLess(os.path.getsize(path), 20e6)
        page = self.page(path)
        print(f"  loaded in {page.load_seconds:.1f} s", file=sys.stderr)
        self.assert_nothing(page.complaints, path)
        self.assert_nothing(page.run("checks.overflow()"), path)
        self.filter(page, "BLOCK=512 VEC=4")
        self.assertRegex(page.run("document.querySelector('#tools').innerText"), r"\d+ of 50000")

    def test_the_same_rows_give_the_same_bytes(self):
        path = self.report(700)
        _, store, session = self.made["700"]
        again = os.path.join(self.folder.name, "again.html")
        self.simtune("report", session, "--db", store, "-o", again)
        with open(path, "rb") as first, open(again, "rb") as second:
            self.assertTrue(first.read() == second.read())

    # --- texts of others -------------------------------------------------------------------------------------------
    def test_hostile_names_logs_and_sources_stay_text(self):
        path = self.report(1000, "hostile")
        page = self.page(path)
        self.assert_nothing(page.complaints, path)
        self.assert_nothing(page.run("checks.foreign()"), path)
        self.assert_nothing(page.run("checks.overflow()"), path)
        self.assertEqual(page.run("document.querySelectorAll('script').length"), 2, "the data and the program")
        self.assertIn("onerror=alert(1)", page.run("document.body.textContent"), "it is shown, as text")
        self.assertIn("GPU <b></script>", page.run("document.body.innerText"))
        # What would steer a terminal or break a file is not in it, in any form.
        with open(path, "rb") as file:
            text = file.read()
        text.decode("utf-8")
        self.assertNotRegex(text, rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
        for step in ("checks.openAll()", "document.querySelector('details.problem') && 0"):
            page.run(step)
        page.settle()
        self.hover_the_landscape(page)
        self.filter(page, "onerror")
        self.assertGreater(self.matches(page), 0)
        self.assert_nothing(page.complaints, path)
        self.assert_nothing(page.run("checks.foreign()"), "after the script built tips and tables")
        data = json.loads(page.run("document.getElementById('data').textContent"))
        self.assertIn("</script>", json.dumps(data))

    # --- without scripts, on paper -------------------------------------------------------------------------------------
    def test_without_scripts_it_can_be_read(self):
        path = self.report(700)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        written = re.sub(r"(?s)<(script|style)\b.*?</\1>", "", text)
        for words in ("as fast as the default", "Can it be trusted", "long_scoreboard", "Where the time goes", "The landscape",
                      "reproduce", "BLOCK"):
            self.assertTrue(words.lower() in written.lower(), words)
        page = self.browser.open("file://" + path, width=1400, scripts=False)
        self.addCleanup(page.close)
        self.assert_nothing(page.complaints, path)
        for shown in page.call("Runtime.evaluate", expression="""
                [...document.querySelectorAll('button, input, select')].filter(n => n.checkVisibility()).map(n => n.outerHTML.slice(0, 80))
                """, returnByValue=True)["result"].get("value") or []:
            self.fail("does nothing without scripts: " + shown)

    def test_on_paper(self):
        page = self.page(self.report(700), width=794, media="print")
        self.assert_nothing(page.run("checks.overflow()"), "A4")
        self.assertEqual(page.run("getComputedStyle(document.querySelector('details.problem > :not(summary)')).display !== 'none'"), True)
        told = page.call("Page.printToPDF", preferCSSPageSize=True)
        self.assertGreater(len(told["data"]), 20000)

    # --- a hand ------------------------------------------------------------------------------------------------------
    def hover_the_landscape(self, page):
        """Moves to the third point of the first chart of all candidates; what the tip says."""
        where = page.run("""(() => {
            const path = [...document.querySelectorAll('path[data-points="all"]')].find(p => p.checkVisibility()), svg = path.ownerSVGElement;
            svg.scrollIntoView({ block: 'center' });
            const box = svg.getBoundingClientRect(), n = path.getAttribute('d').match(/\\d+/g).map(Number);
            const i = 3 * Math.floor(n.length / 6); // in the middle, away from labels
            return [box.left + n[i] / 1000 * box.width, box.top + n[i + 1] / 1000 * box.height];
        })()""")
        page.hover(*where)
        return where, page.run("(() => { const tip = document.querySelector('.tip'); return tip.hidden ? null : tip.innerText; })()")

    def filter(self, page, text):
        page.run(f"""(() => {{ const input = document.querySelector('#tools input'); input.value = {json.dumps(text)};
            input.dispatchEvent(new Event('input', {{ bubbles: true }})); }})()""")
        page.run("new Promise(done => setTimeout(done, 400))")

    def matches(self, page):
        found = re.search(r"(\d+) of \d+", page.run("document.querySelector('#tools').innerText"))
        return int(found.group(1)) if found else None

    def test_hover_choose_and_walk(self):
        page = self.page(self.report(700))
        where, tip = self.hover_the_landscape(page)
        self.assertRegex(tip or "", r"^[\d.]+ (ns|µs|ms)\s.*× the winner")
        page.click(*where)
        self.assertFalse(page.run("document.querySelector('.inspector').hidden"))
        chosen = page.run("document.querySelector('.inspector').innerText")
        self.assertIn(" ".join(tip.split()[:2]), chosen, "the one that was pointed at")
        self.assertGreater(page.run("document.querySelectorAll('.dot.chosen').length"), 1, "marked in more than one chart")
        page.key("Escape", 27)
        self.assertTrue(page.run("document.querySelector('.inspector').hidden"))
        page.run("document.querySelector('svg[tabindex]').focus()")
        page.key("Home", 36)
        first = page.run("document.querySelector('.inspector').innerText")
        page.key("ArrowRight", 39)
        self.assertNotEqual(page.run("document.querySelector('.inspector').innerText"), first)
        self.assert_nothing(page.complaints, "hover")

    def test_rows_get_their_points(self):
        """Rows of a parameter and of samples are boxes in the page; the script puts one point a configuration, a run over them."""
        page = self.page(self.report(700))
        data = json.loads(page.run("document.getElementById('data').textContent"))
        problem = data["sessions"][0]["problems"][0]
        measured = sum(time is not None for time in problem["candidates"]["cold"]["median_ns"])
        points = page.run("""[...document.querySelectorAll('table.strips')].filter(t => t.checkVisibility()).map(t =>
            [...t.querySelectorAll('.boxed path.pts')].reduce((n, path) => n + path.getAttribute('d').split('M').length - 1, 0))""")
        self.assertGreater(len(points), 3)
        self.assertEqual(set(points), {measured})
        # The fastest of a row stands at the left end of its line.
        ends = page.run("""[...document.querySelectorAll('table.strips .boxed')].filter(b => b.checkVisibility()).map(b =>
            [+b.style.getPropertyValue('--a'), Math.min(...b.querySelector('path.pts').getAttribute('d').match(/\\d+ /g).map(Number)) / 10])""")
        for at, seen in ends:
            self.assertAlmostEqual(at, seen, delta=0.11)
        samples = page.run("""[...document.querySelectorAll('.samples .boxed')].filter(b => b.checkVisibility()).map(b =>
            b.querySelector('path.pts').getAttribute('d').split('M').length - 1)""")
        self.assertEqual(samples, [len(problem["cold"]["samples"][who]) for who in ("winner", "default", "runner_up")])

    def test_what_scrolls_sideways_says_so(self):
        for width, some in ((400, True), (1400, False)):
            page = self.page(self.report(1), width=width)
            page.settle()
            found = page.run("""[...document.querySelectorAll('.scroll')].filter(b => b.clientWidth && b.scrollWidth > b.clientWidth + 1)
                .map(b => !!b.previousElementSibling && b.previousElementSibling.matches('.sideways'))""")
            self.assertTrue(all(found), width)
            self.assertEqual(bool(found) and some, some)
            hints = page.run("[...document.querySelectorAll('.sideways')].filter(h => h.checkVisibility()).length")
            self.assertEqual(hints, len(found), width)

    def test_filter(self):
        path = self.report(700)
        page = self.page(path)
        data = json.loads(page.run("document.getElementById('data').textContent"))
        problem = data["sessions"][0]["problems"][0]
        outcomes = [data["outcomes"][o] for o in problem["candidates"]["outcome"]]
        self.assertEqual(len(outcomes), 700)
        self.filter(page, "outcome=wrong")
        self.assertEqual(self.matches(page), outcomes.count("wrong"))
        registers = problem["candidates"]["registers"]
        self.filter(page, "registers<=32")
        self.assertEqual(self.matches(page), sum(r is not None and r <= 32 for r in registers))
        self.filter(page, "BLOCK=256 VEC=1")
        both = self.matches(page)
        self.assertTrue(0 < both < 700)
        self.assertGreater(page.run("[...document.querySelectorAll('path.match')].filter(p => p.getAttribute('d')).length"), 0)
        self.filter(page, "nonsense<=")
        self.assertIn("not understood", page.run("document.querySelector('#tools').innerText"))
        self.filter(page, "")
        self.assertIsNone(self.matches(page))
        self.assert_nothing(page.complaints, path)

    def test_downloads_hold_the_figures(self):
        page = self.page(self.report(700))
        page.run("""window.kept = []; const make = URL.createObjectURL; URL.createObjectURL = blob => { kept.push(blob); return make(blob); };
            HTMLAnchorElement.prototype.click = function () {}; checks.openAll();""")
        page.settle()
        names = page.run("[...document.querySelectorAll('.candidates button, #tools button')].filter(b => /CSV|JSON/.test(b.textContent))"
                         ".map(b => { b.click(); return b.textContent; })")
        self.assertGreaterEqual(len(names), 4)
        texts = page.run("Promise.all(kept.map(blob => blob.text()))")
        candidates = next(text for text in texts if text.startswith("candidate,problem,outcome"))
        self.assertEqual(len(candidates.strip().split("\r\n")), 701)
        self.assertIn("BLOCK", candidates.splitlines()[0])
        self.assertTrue(any(text.startswith("{") and json.loads(text)["schema"].startswith("simtune.report/") for text in texts))

    def test_it_is_quick(self):
        """Interactive in under a second with 700 candidates: loaded, and a first hover answered; processor time, so that a
        busy machine decides nothing."""
        seconds = []
        for _ in range(3):
            page = self.page(self.report(700))
            self.hover_the_landscape(page)
            seconds.append(page.busy())
        self.assertLess(min(seconds), 1, seconds)
        self.assertGreater(min(seconds), 0.001)


if __name__ == "__main__":
    if not browser.find():
        print("NOT RUN: there is no Chromium here; ./dev test -L browser installs it", file=sys.stderr)
        sys.exit(77)
    unittest.main(verbosity=2)
