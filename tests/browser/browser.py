# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven over the pipe of its DevTools protocol: no port, no packages beside it.

    with Browser() as browser:
        page = browser.open("file:///…/report.html", width=1400, dark=False)
        page.run("document.title")            # a JSON value; an exception of the page is one here
        page.complaints                       # console errors and warnings, exceptions, requests to other places

The browser runs in a home of its own, without a network, and ends with the block.
"""
import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")


def find():
    """The path of a Chromium, or None."""
    named = os.environ.get("SIMTUNE_CHROMIUM")
    return named or next((found for found in map(shutil.which, NAMES) if found), None)


class Failed(Exception):
    pass


class Browser:
    def __init__(self):
        self.home = tempfile.mkdtemp(prefix="simtune-browser-")
        to_it, self.write_end = os.pipe()
        self.read_end, from_it = os.pipe()

        def pass_pipes():  # it reads commands from 3 and answers to 4
            low = os.dup(to_it), os.dup(from_it)  # these may be 3 or 4 themselves
            high = [os.dup2(fd, 50 + i) for i, fd in enumerate(low)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)
            os.closerange(5, 64)

        words = [find(), "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--no-first-run",
                 "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking",
                 "--disable-component-update", "--disable-sync", "--disable-default-apps", "--mute-audio",
                 "--hide-scrollbars", "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={self.home}/profile",
                 "about:blank"]
        self.process = subprocess.Popen(
            words, preexec_fn=pass_pipes, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True, env={**os.environ, "HOME": self.home, "TZ": "UTC"})
        os.close(to_it)
        os.close(from_it)
        self.buffer, self.number, self.pages = b"", 0, {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except OSError:
            pass
        self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)
        shutil.rmtree(self.home, ignore_errors=True)

    def next_message(self, seconds):
        end = time.monotonic() + seconds
        while b"\0" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.read_end], [], [], left)[0]:
                return None
            some = os.read(self.read_end, 1 << 20)
            if not some:
                raise Failed(f"the browser ended with {self.process.wait()}")
            self.buffer += some
        message, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(message)
        page = self.pages.get(message.get("sessionId"))
        if page and "method" in message:
            page.hear(message["method"], message["params"])
        return message

    def call(self, method, session=None, timeout=120, **parameters):
        self.number += 1
        number = self.number
        message = {"id": number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write_end, data):]
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            answer = self.next_message(end - time.monotonic())
            if answer and answer.get("id") == number:
                if "error" in answer:
                    raise Failed(f"{method}: {answer['error']}")
                return answer["result"]
        raise Failed(f"{method}: no answer within {timeout} s")

    def open(self, address, **how):
        return Page(self, address, **how)


class Page:
    def __init__(self, browser, address, width=1400, height=900, dark=False, scripts=True, media="screen", timeout=120):
        self.browser, self.address, self.complaints, self.loaded, self.asked = browser, address, [], False, []
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.target = target
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        browser.pages[self.session] = self
        for part in ("Page", "Runtime", "Log", "Network", "DOM"):
            self.call(f"{part}.enable")
        self.call("Performance.enable", timeDomain="threadTicks")
        self.resize(width, height)
        self.call("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                            {"name": "prefers-reduced-motion", "value": "reduce"}])
        if not scripts:
            self.call("Emulation.setScriptExecutionDisabled", value=True)
        self.began = time.monotonic()
        self.call("Page.navigate", url=address, timeout=timeout)
        while not self.loaded:
            if time.monotonic() - self.began > timeout:
                raise Failed(f"{address} is not loaded after {timeout} s")
            browser.next_message(1)
        self.load_seconds = time.monotonic() - self.began

    def call(self, method, timeout=120, **parameters):
        return self.browser.call(method, self.session, timeout, **parameters)

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)
        self.browser.pages.pop(self.session, None)

    def resize(self, width, height=900):
        self.width = width
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def hear(self, method, told):
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Runtime.exceptionThrown":
            details = told["exceptionDetails"]
            self.complaints.append("exception: " + details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.complaints.append("console: " + " ".join(str(a.get("value", a.get("description"))) for a in told["args"]))
        elif method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.complaints.append("log: " + told["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            address = told["request"]["url"]
            if address != self.address and not address.startswith(("data:", "blob:", "about:", self.address + "#")):
                self.complaints.append("asks for " + address)

    def run(self, expression, timeout=120):
        """The value of an expression (of its promise, if it is one)."""
        told = self.call("Runtime.evaluate", timeout, expression=expression, returnByValue=True, awaitPromise=True,
                         userGesture=True)
        if "exceptionDetails" in told:
            details = told["exceptionDetails"]
            raise Failed(details.get("exception", {}).get("description", details["text"]))
        return told["result"].get("value")

    def settle(self):
        """Until what was asked for is drawn."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def busy(self):
        """Seconds of processor time that the page's thread has spent: parsing, scripts, layout. Not how long it waited."""
        told = self.call("Performance.getMetrics")["metrics"]
        return next(one["value"] for one in told if one["name"] == "TaskDuration")

    # --- a hand and a keyboard --------------------------------------------------------------------------------
    def hover(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.settle()

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.settle()

    def key(self, key, code=0, text=""):
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code,
                  **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)
        self.settle()

    def picture(self, path, whole=False):
        told = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(told["data"]))
