"""Chromium without a window, driven through a pipe: what makes the pictures of page/ and what tests the pages use it."""
import base64
import fcntl
import json
import os
import pathlib
import select
import shutil
import subprocess
import time

ANSWER_S = 240  # what takes longer hangs: on a usual machine the slowest answer takes three seconds

# The moment of it in ms since the navigation, as a page says; 0 where nothing was painted.
FIRST_PAINT = "(performance.getEntriesByName('first-contentful-paint')[0] || {startTime: 0}).startTime"


def find_browser():
    names = [os.environ.get("STRATA_TEST_BROWSER", ""), "chromium", "chromium-browser", "google-chrome"]
    return next((found for found in map(shutil.which, filter(None, names)) if found), None)


def answer(browser, method, parameters):
    """The next message of a browser that was asked something."""
    try:
        return browser.receive()
    except TimeoutError:
        asked = (parameters or {}).get("expression", method)
        raise RuntimeError(f"it does not answer within {ANSWER_S} s: {asked[:200]}") from None


class Browser:
    """Chromium's DevTools protocol over a pipe: JSON with a NUL behind it, on descriptors 3 and 4 of the browser."""

    name = "Chromium"
    process = session = None

    def __init__(self, program, profile):
        self.program, self.profile = program, profile
        self.number = 0
        self.rest = b""
        self.events = []

    def start(self):
        self.session, self.rest = None, b""
        to_child, self.write_end = os.pipe()
        self.read_end, from_child = os.pipe()

        def place():  # in the child; above 4, where a copy cannot be what the other one replaces
            first, second = (fcntl.fcntl(end, fcntl.F_DUPFD, 5) for end in (to_child, from_child))
            os.dup2(first, 3)
            os.dup2(second, 4)

        self.process = subprocess.Popen(
            [self.program, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-gpu-vsync", "--disable-frame-rate-limit",
             f"--user-data-dir={self.profile}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False, preexec_fn=place)
        os.close(to_child)
        os.close(from_child)
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        self.session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")

    def receive(self):
        end = time.monotonic() + ANSWER_S
        while b"\0" not in self.rest:
            if not select.select([self.read_end], [], [], max(0, end - time.monotonic()))[0]:
                self.process.kill()
                raise TimeoutError
            more = os.read(self.read_end, 1 << 20)
            if not more:
                raise RuntimeError("it ended")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, parameters=None):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters or {}}
        if self.session:
            request["sessionId"] = self.session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.write_end, data):]
        while True:
            message = answer(self, method, parameters)
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            if "method" in message:
                self.events.append(message)

    def run(self, script):
        """The value of an expression; a promise is waited for."""
        made = self.call("Runtime.evaluate", {"expression": script, "returnByValue": True, "awaitPromise": True})
        if "exceptionDetails" in made:
            raise RuntimeError(f"{script[:200]}: {made['exceptionDetails']}")
        return made["result"].get("value")

    def open(self, path, width, dark, address=""):
        """`address`: what follows the name of the file, as `?link#range=mlp`."""
        self.events.clear()
        self.call("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500})
        self.call("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        self.call("Page.navigate", {"url": pathlib.Path(path).resolve().as_uri() + address})
        end = time.monotonic() + ANSWER_S
        while not self.run("document.readyState === 'complete' && !!document.getElementById('data')"):
            if time.monotonic() > end:
                raise RuntimeError(f"the page is not there within {ANSWER_S} s")
            time.sleep(0.02)
        self.settle()

    def pdf(self, paper):
        """The page printed on paper of this width and height in inches."""
        printed = self.call("Page.printToPDF", {"paperWidth": paper[0], "paperHeight": paper[1]})
        return base64.b64decode(printed["data"])

    def settle(self):
        """Figures are drawn anew in the next frames."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))")

    def end(self):
        if not self.process:
            return
        try:
            self.session = None
            self.call("Browser.close")
        except (RuntimeError, OSError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
