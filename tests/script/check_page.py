#!/usr/bin/env python3
"""Checks report.html in a browser: check_page.py [--firefox] [PAGE.html...]. Without a file it checks pages that unit_tests makes of
profiles by hand: a GPT-2 with counters, one with hostile names, 10,000 ranges, host times only, threads of one
name with CPU counters, nothing at all.

Chromium runs without a window, driven through a pipe, twice at once. --firefox does the same with two of the pages in Firefox,
driven by WebDriver BiDi. No page writes an error to the console or asks for anything but
itself; each control does what it says; figures have the points of the data; nothing is wider than the window at 1400
and 390 pixels; the first paint does not wait for seconds; axe-core, where it is there, finds nothing.
Exit status: 0, or 1 with what is wrong; 77 without a browser or without the pages.
"""
import collections
import concurrent.futures
import functools
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

here = pathlib.Path(__file__).resolve().parent
root = here.parent.parent
sys.path.insert(0, str(root / "page"))
from chromium import ANSWER_S, FIRST_PAINT, Browser, answer, find_browser  # noqa: E402

PAPERS = {"A4": (8.27, 11.69), "letter": (8.5, 11)}  # inches
AT_ONCE = 2  # browsers; each waits for itself often
FIRST_PAINT_MS = 5000  # ten times its time on a busy machine: no measurement
DATA = '<script type="application/json" id="data">'
IN_FIREFOX = ("gpt2", "hostile")


def skip(why):
    print("SKIPPED:", why)
    sys.exit(77)


def find_axe():
    """axe.min.js: named by STRATA_TEST_AXE, put into build/axe by tests/run.sh, or of an installed Python package."""
    folders = [os.environ.get("STRATA_TEST_AXE", ""), root / "build/axe", *sys.path]
    for folder in filter(None, folders):
        for name in ("axe.min.js", "axe_playwright_python/axe.min.js", "axe_core_python/axe.min.js"):
            if (pathlib.Path(folder) / name).is_file():
                return (pathlib.Path(folder) / name).read_text(encoding="utf-8")
    return None


class Firefox:
    """WebDriver BiDi over a WebSocket, with the functions and the events of Browser."""

    name = "Firefox"
    process = socket = None

    def __init__(self, program, profile):
        self.program, self.profile = program, profile
        self.number = 0
        self.events = []

    def start(self):
        folder = pathlib.Path(self.profile)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        quiet = ("app.normandy.enabled", "app.update.auto", "browser.safebrowsing.update.enabled", "extensions.update.enabled",
                 "network.captive-portal-service.enabled", "network.connectivity-service.enabled", "datareporting.policy.dataSubmissionEnabled")
        own = "user_pref('layout.css.prefers-color-scheme.content-override', 1);\nuser_pref('layout.frame_rate', 0);\n"  # light; no pause between frames
        folder.joinpath("user.js").write_text("".join(f'user_pref("{name}", false);\n' for name in quiet) + own)
        self.process = subprocess.Popen([self.program, "--headless", "--no-remote", "--profile", self.profile, "--remote-debugging-port", "0", "about:blank"],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env={**os.environ, "MOZ_HEADLESS": "1", "HOME": self.profile})
        told = folder / "WebDriverBiDiServer.json"
        end = time.monotonic() + ANSWER_S
        while not told.exists() or not told.read_text().strip():
            if time.monotonic() > end or self.process.poll() is not None:
                raise RuntimeError("it does not start")
            time.sleep(0.05)
        where = json.loads(told.read_text())
        self.socket = socket.create_connection((where["ws_host"], where["ws_port"]), ANSWER_S)
        self.socket.sendall((f"GET /session HTTP/1.1\r\nHost: {where['ws_host']}:{where['ws_port']}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             "Sec-WebSocket-Key: c3RyYXRhLXN0cmF0YS0xMg==\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        self.stream = self.socket.makefile("rb")
        if b" 101 " not in self.stream.readline():
            raise RuntimeError("it refuses the connection")
        while self.stream.readline().strip():
            pass
        self.call("session.new", {"capabilities": {}})
        self.call("session.subscribe", {"events": ["log.entryAdded", "network.beforeRequestSent"]})
        self.context = self.call("browsingContext.getTree")["contexts"][0]["context"]

    def receive(self):
        """A message may come in several frames; a ping is answered with nothing, since the session is short."""
        text = b""
        while True:
            first, size = self.stream.read(2)
            size &= 127
            if size > 125:
                size = int.from_bytes(self.stream.read(2 if size == 126 else 8), "big")
            part = self.stream.read(size)
            if first & 8:
                continue
            text += part
            if first & 128:
                return json.loads(text)

    def call(self, method, parameters=None):
        self.number += 1
        data = json.dumps({"id": self.number, "method": method, "params": parameters or {}}).encode()
        many = len(data)
        size = bytes([128 + many]) if many < 126 else b"\xfe" + many.to_bytes(2, "big") if many < 1 << 16 else b"\xff" + many.to_bytes(8, "big")
        self.socket.sendall(b"\x81" + size + b"\1" * 4 + bytes(each ^ 1 for each in data))  # Firefox refuses a mask of 0
        while True:
            message = answer(self, method, parameters)
            if message.get("id") == self.number:
                if message["type"] == "error":
                    raise RuntimeError(f"{method}: {message['message']}")
                return message["result"]
            if message.get("method") == "network.beforeRequestSent":
                self.events.append({"method": "Network.requestWillBeSent", "params": message["params"]})
            elif message.get("method") == "log.entryAdded":
                entry = message["params"]
                if entry["type"] == "javascript":
                    self.events.append({"method": "Runtime.exceptionThrown", "params": {"exceptionDetails": {"text": entry["text"]}}})
                else:
                    self.events.append({"method": "Runtime.consoleAPICalled", "params": entry})

    def run(self, script):
        made = self.call("script.evaluate", {"expression": script, "target": {"context": self.context}, "awaitPromise": True})
        if made["type"] != "success":
            raise RuntimeError(f"{script[:200]}: {made['exceptionDetails']['text']}")
        return self.plain(made["result"])

    def plain(self, value):
        if value["type"] == "array":
            return [self.plain(each) for each in value["value"]]
        if value["type"] == "object":
            return {key: self.plain(each) for key, each in value["value"]}
        return value.get("value") if value["type"] in ("string", "number", "boolean") else None

    def open(self, path, width, dark, address=""):
        self.events.clear()
        self.call("browsingContext.setViewport", {"context": self.context, "viewport": {"width": width, "height": 900}})
        url = pathlib.Path(path).resolve().as_uri() + address
        self.call("browsingContext.navigate", {"context": self.context, "url": url, "wait": "complete"})
        self.settle()

    settle = Browser.settle

    def end(self):
        if not self.process:
            return
        try:
            if self.socket:
                self.call("browser.close")
                self.process.wait(10)
        except (RuntimeError, OSError, ValueError, subprocess.TimeoutExpired):
            pass
        self.process.kill()
        self.process.wait()
        if self.socket:
            self.socket.close()


def idle_of(window):
    """The idle time of a window: that of the gaps which are one, and of those that are joined."""
    joined = dict(zip(window["joined"][::4], window["joined"][2::4]))
    return sum(joined.get(i, length) for i, length in enumerate(window["gaps"][1::3]))


def lines_of(window):
    """The names beside a timeline: ranges of a thread are on several lines with one name."""
    names = []
    for track in window["tracks"]:
        name = (track["kind"], track.get("thread"))
        if track["kind"] != "ranges" or not names or names[-1] != name:
            names.append(name)
    return names + [("gaps", None)] * bool(window["gaps"]) + [("use", use["name"]) for use in window["uses"]]


class Page:
    def __init__(self, browser, path, wrong):
        self.browser, self.path, self.wrong = browser, path, wrong
        # What the page has to show; its own functions do not say what that is.
        self.data = json.loads(path.read_text(encoding="utf-8").split(DATA)[1].split("</script>")[0])
        self.checks = 0

    def open(self, width, dark):
        self.browser.open(self.path, width, dark)
        for _ in range(5):  # other work on the machine may delay a paint
            if self.first_paint() < FIRST_PAINT_MS:
                break
            self.browser.open(self.path, width, dark)
        self.expect(self.first_paint() < FIRST_PAINT_MS, f"the first paint takes {self.first_paint():.0f} ms")

    def run(self, script):
        return self.browser.run(script)

    @functools.lru_cache(maxsize=None)
    def range_rows(self):
        """The rows of the folded table of ranges, as the data has them."""
        return [{**self.data["same"], **dict(zip(self.data["columns"], row))} for row in self.data["views"][0]["rows"]]

    def is_within(self, place, top):
        rows = self.range_rows()
        while place is not None and place != top:
            place = rows[place]["parent"]
        return place == top

    def in_no_step(self, place):
        """Whether a range that was called has no part in a mean step, nor one below it."""
        rows = self.range_rows()
        below = [row for i, row in enumerate(rows) if self.is_within(i, place)]
        return self.data["answer"]["step"]["from_steps"] and rows[place]["calls"] > 0 and not any(row["calls"] > 0 and row["step_share"] > 0 for row in below)

    def kernels_in(self, place):
        """Launches and ns of each kernel of a range and of those below it, the longest first."""
        names = ("count", "total_ns") if self.in_no_step(place) else ("step_launches", "step_ns")
        within = {i for i in range(len(self.data["views"][0]["rows"])) if self.is_within(i, place)}
        merged = collections.defaultdict(lambda: [0, 0])
        for row in self.data["kernels"]["rows"]:
            kernel = {**self.data["kernel_same"], **dict(zip(self.data["kernel_columns"], row))}
            if kernel["range"] not in within or not kernel[names[0]]:
                continue
            for i, name in enumerate(names):
                merged[kernel["name"], kernel["whole"]][i] += kernel[name]
        return sorted(merged.values(), key=lambda each: -each[1])

    def expect(self, good, what):
        self.checks += 1
        if not good:
            self.wrong.append(f"{self.path.name}: {what}")

    def act(self, script):
        """Runs a script and waits until the figures are drawn."""
        self.run(script)
        self.browser.settle()

    def has(self, selector):
        return self.run(f"!!document.querySelector({json.dumps(selector)})")

    def count(self, selector):
        return self.run(f"document.querySelectorAll({json.dumps(selector)}).length")

    def choose(self, selector, value):
        self.act(f"{{ const s = document.querySelector({json.dumps(selector)}); s.value = {json.dumps(value)}; "
                 "s.dispatchEvent(new Event('input', {bubbles: true})); s.dispatchEvent(new Event('change', {bubbles: true})); }")

    def click(self, script):
        self.act(f"({script}).click()")

    def fold(self, title):
        """Presses a button above the table of ranges."""
        self.click(f"[...document.querySelectorAll('#ranges button')].find(b => b.textContent === '{title}')")

    def check_events(self):
        for event in self.browser.events:
            kind, parameters = event["method"], event["params"]
            if kind == "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                self.expect(False, "an exception: " + details.get("exception", {}).get("description", details["text"]))
            elif kind == "Runtime.consoleAPICalled" or (kind == "Log.entryAdded" and parameters["entry"]["level"] == "error"):
                self.expect(False, f"the console has {parameters}")
            elif kind == "Network.requestWillBeSent":
                url = parameters["request"]["url"]
                is_page = re.split("[?#]", url)[0] == self.path.resolve().as_uri()
                self.expect(is_page or url.startswith(("data:", "blob:", "about:")), "a request for " + url[:200])

    def first_paint(self):
        return self.run(FIRST_PAINT)

    def check_width(self, width):
        self.expect(self.run("document.documentElement.scrollWidth") <= width, f"wider than the window of {width} pixels")

    def check_narrow(self):
        """On a telephone all links of the navigation, the settings and the names of legends are there whole."""
        names = self.run("""[...document.querySelectorAll('#range-rows .pick, #kernel-rows .pick')].slice(0, 60)
            .filter(e => e.scrollWidth > e.clientWidth + 1 || e.getBoundingClientRect().right > innerWidth).map(e => e.textContent)""")
        self.expect(not names, f"names are cut: {names[:4]}")
        cut = self.run("""[...document.querySelectorAll('nav a, #where, .legend li, .parts .what, .controls label, .tile dd')].filter(e => e.getClientRects().length
            && (e.getBoundingClientRect().right > innerWidth + 0.5 || e.getBoundingClientRect().left < -0.5 || e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline'))
            .map(e => e.textContent.slice(0, 60))""")
        self.expect(not cut, f"cut at the edge of a narrow window: {cut[:4]}")
        self.act("scrollTo(0, 3000)")
        place = self.run("folded.rows.length > 1 ? folded.rows[1].place : 0")
        if place:
            self.act(f"choose({place})")
            box = "document.getElementById('chosen').getBoundingClientRect()"
            self.expect(self.run(f"{box}.top >= 0 && {box}.bottom < 200 && {box}.right <= innerWidth"), "the choice is out of sight")
            self.act("choose(0)")
        self.act("scrollTo(0, 0)")

    def check_order(self):
        order = self.run("[...document.querySelectorAll('main > section')].map(s => s.id)")
        wanted = ["headline", "findings", "lost", "icicle", "ranges", "kernels", "shares", "roofline", "range", "timeline", "collectives", "memory", "environment"]
        self.expect(order == [each for each in wanted if each in order] and "headline" in order, f"the order of the sections: {order}")
        self.expect(self.run("[...document.querySelectorAll('nav a')].every(a => document.querySelector(a.hash))"), "a link to no section")
        empty = self.run("[...document.querySelectorAll('main > section')].filter(s => s.innerText.trim().split('\\n').length < 2).map(s => s.id)")
        self.expect(not empty, f"sections with nothing but a heading: {empty}")

    def check_table(self):
        rows = "#range-rows tbody tr"
        first = self.run("shownRows().filter(r => r.depth === 1).map(r => r.label)")
        if self.data["sort"] == "name":
            self.expect(first == sorted(first), f"the rows are not in the order of their names: {first}")
        else:
            costs = self.run("shownRows().filter(r => r.depth === 1 && !r.outside).map(r => columns.find(c => c.key === rangeTable.sort).get(r) || 0)")
            self.expect(costs == sorted(costs, reverse=True), f"the dearest row is not the first: {costs}")
        if len(self.data["views"][0]["rows"]) < 2:
            return
        self.fold("Unfold all")
        full = self.count(rows)
        self.fold("Fold all")
        folded = self.count(rows)
        self.expect(folded <= full, "Fold all shows more rows")
        if self.has("#range-rows .fold"):
            self.expect(folded < full, "Fold all folds nothing")
            self.click("document.querySelector('#range-rows .fold')")
            self.expect(self.count(rows) > folded, "a fold does not open")
            self.expect(self.run("document.activeElement.classList.contains('pick')"), "a fold loses the focus")
            folds = "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: '%s', bubbles: true}))"
            opened, place = self.count(rows), self.run("document.activeElement.dataset.place")
            self.act(folds % "ArrowLeft")
            self.expect(self.count(rows) < opened, "an arrow key does not fold")
            self.act(folds % "ArrowRight")
            self.expect(self.count(rows) == opened, "an arrow key does not unfold")
            self.act(folds % "ArrowDown")
            self.expect(self.run("document.activeElement.dataset.place") != place, "an arrow key does not go to the next row")
        name = self.run("folded.rows[folded.rows.length - 1].label")
        self.choose("#range-search", name)
        self.expect(self.run(f"[...document.querySelectorAll('#range-rows .pick')].some(b => b.textContent === {json.dumps(name)})"), "the search does not find " + name[:40])
        self.choose("#range-search", "no such range")
        self.expect(self.count("#range-rows .pick") == 0, "the search finds what is not there")
        self.choose("#range-search", "")
        for order in ("execution", "names", "execution"):
            self.click("document.querySelectorAll('#range-rows thead button')[0]")
            labels = self.run("shownRows().filter(r => r.depth === 1 && !r.outside).map(r => [r.place, r.label])")
            self.expect(self.run("rangeTable.sort") in ("order", "name"), "the first heading sorts by a number")
            by_name = self.run("rangeTable.sort") == "name"
            self.expect(labels == sorted(labels, key=lambda each: each[1].lower() if by_name else each[0]), f"the order by {order}: {labels}")
        for column in range(min(3, self.count("#range-rows thead th"))):
            self.click(f"document.querySelectorAll('#range-rows thead button')[{column}]")
            self.expect(self.count("#range-rows [aria-sort]") == 1, "a heading does not sort")
            shown = self.run("!document.querySelector('#range-rows [aria-sort]').hidden")  # it has room
            self.expect(not shown or self.run("document.activeElement.closest('#range-rows [aria-sort]') !== null"), "the focus leaves the heading that sorts")
            if column:
                direction = "document.querySelector('#range-rows [aria-sort]').getAttribute('aria-sort')"
                first = self.run(direction)
                self.click(f"document.querySelectorAll('#range-rows thead button')[{column}]")
                self.expect(self.run(direction) != first, "a second click on a heading does not sort the other way round")
        if self.has("#range-view"):
            self.choose("#range-view", "1")
            self.expect(self.run("rangeTable.view.name") == "each", "the ranges are not shown each by itself")
            self.choose("#range-view", "0")
        if self.run("anyRow(inNoStep)"):
            self.expect(not self.run("shownRows().some(inNoStep)"), "ranges of no step have amounts of a step")
            self.expect(self.count("[aria-label='Ranges outside of steps, by the whole run'] tbody tr") == self.run("sum(folded.rows, r => r.depth > 0 && inNoStep(r) && !inNoStep(folded.rows[r.parent]))") > 0,
                        "ranges of no step are not in a table of their own")
            self.choose("#range-per", "")
            self.fold("Unfold all")
            self.expect(self.run("shownRows().filter(inNoStep).length === sum(folded.rows, inNoStep)"), "the whole run lacks ranges of no step")
            self.choose("#range-per", "1")
        place = self.run("folded.rows.length - 1")
        self.act(f"showRow({place})")
        self.expect(self.run(f"document.getElementById('row-{place}')?.contains(document.activeElement)"), "a link to a row does not lead there")

    def check_kernels(self):
        """The kernel view has each kernel of a step with the ranges that run it, and links lead both ways."""
        times = collections.defaultdict(float)
        for what, place, ns, _ in zip(*[iter(self.data["budget"]["busy"] if self.data["budget"] else [])] * 4):
            times[place, what] += ns
        limits = {}
        for (place, what), ns in times.items():
            if ns > limits.get(place, ("", 0))[1]:
                limits[place] = (what, ns)
        groups = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0]))
        for row in self.data["kernels"]["rows"]:
            kernel = {**self.data["kernel_same"], **dict(zip(self.data["kernel_columns"], row))}
            if kernel["step_launches"]:
                sums = groups[kernel["name"], kernel["whole"]][kernel["range"]]
                sums[0] += kernel["step_launches"]
                sums[1] += kernel["step_ns"]
        self.expect(self.has("#kernels") == bool(groups), "the view of kernels")
        if not groups:
            return
        while self.run("!document.getElementById('kernel-more').hidden"):
            self.click("document.getElementById('kernel-more')")
        shown = self.run("[...document.querySelectorAll('#kernel-rows tbody tr')].map(r => [...r.cells].map(c => (c.querySelector('.pick') || c).textContent))")
        period = self.data["answer"]["step"]["period_ns"]
        whole = [[name, sum(ns for _, ns in runs.values()), sum(launches for launches, _ in runs.values()), runs] for (name, _), runs in groups.items()]
        wanted = self.run(f"{json.dumps([[name, ns, launches, len(runs)] for name, ns, launches, runs in whole])}"
                          f".map(([name, ns, launches, runs]) => [name, time(ns), shareText(100 * ns / {period}), count(launches), time(ns / launches), count(runs)])")
        self.expect(sorted(row[:5] + row[6:] for row in shown) == sorted(wanted), f"the kernels of a step: {shown[:2]}, not {wanted[:2]}")
        place, (name, _, _, runs) = max(enumerate(whole), key=lambda each: (len(each[1][3]), each[1][1]))
        self.act(f"showKernel({json.dumps(name)})")
        self.expect(self.run(f"document.activeElement.textContent === {json.dumps(name)}"), f"the kernel {name[:40]} is not shown")
        rows = self.run("[...document.querySelectorAll('#kernel-rows tr[data-range]')].map(r => [Number(r.dataset.range), r.cells[3].textContent, r.cells[5].textContent])")
        by_range = self.run(f"{json.dumps([[place, launches] for place, (launches, _) in runs.items()])}.map(([place, n]) => [place, count(n)])")
        self.expect(sorted(row[:2] for row in rows) == sorted(by_range), f"the ranges of a kernel: {rows}, not {by_range}")
        for place, _, limit in rows:
            what = limits.get(place, ("", 0))[0]
            self.expect(limit == self.run(f"({json.dumps(what)} && busyKinds[{json.dumps(what)}]?.name) || {json.dumps(what)}"), f"the limiter of range {place} is {what}, not {limit}")
        before = self.run("isChosen ? chosen : 0")
        first = rows[0][0]
        if first:
            self.click("document.querySelector('#kernel-rows tr[data-range] .pick')")
            self.expect(self.run("isChosen && chosen") == first, "a range of a kernel is not chosen")
            self.expect(self.count("#kernel-rows tr.picked") > 0, "the kernels of the choice are not marked")
            link = "[...document.querySelectorAll(\"[aria-label='Kernels of the range'] tbody th a\")]"
            if self.run(f"{link}.length"):
                linked = self.run(f"{link}[0].textContent")
                self.act("kernelView.open.clear(); drawKernelView()")
                self.click(f"{link}[0]")
                self.expect(self.run("document.activeElement.textContent") == linked and self.count("#kernel-rows tr[data-range]") > 0, "a kernel of a range leads to no kernel")
        self.act("kernelView.open.clear(); drawKernelView()")
        self.act(f"location.hash = '#kernel=' + encodeURIComponent({json.dumps(name)})")
        self.expect(self.count("#kernel-rows tr[data-range]") == len(runs), "the address of a kernel does not show it")
        self.act(f"choose({before}); kernelView.open.clear(); drawKernelView()")
        self.choose("#kernel-filter", "no such kernel")
        self.expect(self.count("#kernel-rows tbody tr") == 0, "the filter of kernels finds what is not there")
        self.choose("#kernel-filter", name.lower())
        self.expect(0 < self.count("#kernel-rows tbody tr"), "the filter of kernels finds nothing")
        self.choose("#kernel-filter", "")

    def check_numbers(self):
        """Each number of a table has its metric, its formula or meaning, and its source."""
        self.act("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        silent = self.run("""[...document.querySelectorAll('tbody')].flatMap(b => [...b.rows].slice(0, 30)).flatMap(r => [...r.cells])
            .filter(c => c.matches('td:not(.text)') && c.textContent && !(/\\n./.test(aboutNumber(c)) && aboutNumber(c).length > 20))
            .map(c => c.closest('table').parentNode.getAttribute('aria-label') + ', ' + c.closest('table').tHead.rows[0].cells[c.cellIndex].textContent + ': ' + c.textContent)""")
        self.expect(not silent, f"numbers that say nothing of themselves: {silent[:4]}")
        if self.has("[aria-label='Counted values'] td"):
            key = "document.querySelector(\"[aria-label='Counted values'] tbody tr\")"
            metric = self.run(f"folded.metrics.find(m => m.key === {key}.cells[0].textContent)")
            said = self.run(f"aboutNumber({key}.cells[1])")
            self.expect(all(part in said for part in (metric["key"], metric.get("formula", ""), metric["method"].capitalize(), metric["set"])), f"what {metric['key']} is: {said}")
        if self.has("#range-rows td:not(.text):not(:empty)"):
            self.act("(c => c.dispatchEvent(new PointerEvent('pointermove', {bubbles: true, clientX: 20, clientY: 20})))([...document.querySelectorAll('#range-rows td')].find(c => c.textContent && !c.matches('.text')))")
            self.expect(self.run("!document.getElementById('tip').hidden && /\\.csv/.test(document.getElementById('tip').textContent)"), "a number shows nothing at the mouse")
            self.act("document.body.dispatchEvent(new PointerEvent('pointermove', {bubbles: true}))")
            self.expect(self.run("document.getElementById('tip').hidden"), "a text stays at the mouse")

    def check_height(self):
        """A table of few rows is shown whole."""
        cut = self.run("""[...document.querySelectorAll('.scroll')].filter(s => s.querySelectorAll('tbody tr').length <= 40 && s.scrollHeight > s.clientHeight + 1)
            .map(s => s.getAttribute('aria-label'))""")
        self.expect(not cut, f"tables of few rows are cut: {cut}")
        tall = self.run("""[...document.querySelectorAll('.scroll')].filter(s => s.querySelectorAll('tbody tr').length > 60 && s.scrollHeight <= s.clientHeight + 1)
            .map(s => s.getAttribute('aria-label'))""")
        self.expect(not tall, f"long tables do not scroll within themselves: {tall}")

    def check_room(self):
        """No column is cut at the edge: what has no room is hidden, and a click shows it. No label of the roofline lies on a mark or on another label."""
        wide = """[...document.querySelectorAll('.scroll')].filter(s => s.scrollWidth > s.clientWidth + 1 && [...s.querySelectorAll('thead th')].filter(h => !h.hidden).length > 2)
            .map(s => s.getAttribute('aria-label'))"""
        self.expect(not self.run(wide), f"columns are cut: {self.run(wide)}")
        if self.has("#range-rows .more-columns"):
            hidden = "[...document.querySelectorAll('#range-rows th, #range-rows td')].filter(c => c.hidden).length"
            self.expect(self.run(hidden) > 0, "columns are offered that are there")
            self.click("document.querySelector('#range-rows .more-columns')")
            self.expect(self.run(hidden) == 0, "columns stay hidden")
            self.click("document.querySelector('#range-rows .more-columns')")
            self.expect(self.run(hidden) > 0 and not self.run(wide), "columns stay shown")
        if not self.has("#roofline-figure"):
            return
        covered = self.run("""(() => { const figure = document.getElementById('roofline-figure').getBoundingClientRect();
            const circles = [...document.querySelectorAll('#roofline-figure [data-level="HBM"]')].map(c => c.getAttribute('d').match(/M(\\S+) (\\S+)a(\\S+)/).slice(1).map(Number))
              .map(([x, y, r]) => ({left: figure.left + x, top: figure.top + y - r, width: 2 * r}));
            return [...document.querySelectorAll('#roofline-figure text:not(.soft)')].filter(t => { const b = t.getBoundingClientRect();
              return !t.hasAttribute('transform') && circles.some(c => { const r = c.width / 2, x = c.left + r, y = c.top + r;
                return Math.hypot(x - Math.max(b.left, Math.min(x, b.right)), y - Math.max(b.top + b.height / 4, Math.min(y, b.bottom - b.height / 4))) < r - 2; }); }).map(t => t.textContent); })()""")
        self.expect(not covered, f"labels on marks: {covered}")
        both = self.run("""(() => { const texts = [...document.querySelectorAll('#roofline-figure text')].filter(t => t.hasAttribute('style') && !t.hasAttribute('transform'));
            const boxes = texts.map(t => t.getBoundingClientRect());
            return texts.filter((t, i) => boxes.some((b, k) => k !== i && b.left + 1 < boxes[i].right && boxes[i].left + 1 < b.right && Math.abs(b.top + b.bottom - boxes[i].top - boxes[i].bottom) < b.height))
              .map(t => t.textContent); })()""")
        self.expect(not both, f"labels on labels: {both}")

    def check_texts(self):
        """The headline, what was lost, units and plurals."""
        text = self.run("document.body.innerText")
        self.expect("\u00b5s" not in text and "\u03bcs" not in text, "two spellings of microseconds")
        self.expect(not re.search(r"(?<![\d,.])1 (others|allocations|ranges|rows|records|releases)\b", text), "a plural of one")
        for doubt in self.run("[...data.losses, ...data.problems].map(sentence)"):
            self.expect(self.run(f"[...document.querySelectorAll('.notice')].filter(p => p.textContent === {json.dumps(doubt)}).length") == 1, "not once on the page: " + doubt[:60])
        self.expect(self.has("#lost") == bool(self.data["losses"] + self.data["problems"]), "the section of what was lost")
        tiles = self.run("document.getElementById('headline').innerText")
        for part in self.run("sentence(answer.bound).split(/(?<=\\.) /)"):
            self.expect(part in " ".join(tiles.split()), f"the answer is not in the headline: {part}")
        helping = [one for one in self.run("answer.findings") if one["shortens_step"]]
        if helping:
            first, step = helping[0], self.run("summary.period_ns")
            told = self.run("(cause => sentence(cause.title) + ' ' + sentence(cause.advice))(answer.findings.find(one => one.shortens_step))")
            self.expect("What helps most" in tiles and told in tiles, "what helps most is not in the headline")
            self.expect((", though little: " in tiles) == (first["gain_ns_per_step"] < 0.05 * step), "how much helps what helps most")
            self.expect(("Most to gain: " in tiles) == (first["gain_ns_per_step"] > 0.1 * step), "what there is to gain is in the first line")
        else:
            none = "What helps most is not measured. " if self.run("answer.undecided.length > 0") else " found nothing that would shorten"
            self.expect((none in tiles) == self.run("summary.gpu_busy_ns > 0"), "the headline of no finding")
        if self.run("summary.from_steps && summary.count > 1"):
            self.expect(self.run("time(summary.usual_ns)") in tiles and self.run("(typicalCount < 20 ? ', longest ' : ', p95 ') + time(summary.p95_ns)") in tiles, "the mean step and its note")
            if self.run("summary.usual_ns < summary.mean_ns"):
                self.expect(self.run("'recorded: mean ' + time(summary.mean_ns)") in tiles and "all of it shortened alike" in tiles, "what recording slows")
        elif not self.run("summary.from_steps"):
            self.expect(("no step was recorded" in tiles) == self.run("data.has_steps"), "why there is no step")
        self.expect(("Tokens/s" in tiles) == self.run("summary.tokens_per_second > 0"), "tokens of layers")

    def check_first_screen(self):
        """What helps each part, the best finding among it, and the memory, by the data."""
        shown = self.run("[...document.querySelectorAll('#budget [data-finding]')].map(p => [p.dataset.finding, p.dataset.gain, p.textContent])")
        for place, gain, text in shown:
            found = self.run(f"leadingFindings[{int(place) - 1}]")
            self.expect(text.startswith(f"finding {place} ({self.run(f'time({gain})')})"), f"what a finding gains a part: {text}")
            self.expect(0 < float(gain) <= found["gain_ns_per_step"] * 1.001, f"a part gains more than all: {text}")
            self.expect(found["advice"] in text or "; in general: " in text or text.endswith("; "), f"what helps a part: {text}")
        linked = {int(place) for place, _, _ in shown}
        best = self.run("bestFinding")  # of more than 200 parts the ranges of the shortest are not on the page
        is_of_part = best and (best["part"] in ("kernels", "copies") or best["part"] != "none" and self.run("summary.gpu_idle_ns > 0"))
        if is_of_part and self.has("#budget") and not self.run("Object.values(data.budget).flat().includes(-1)"):
            self.expect(self.run("leadingFindings.indexOf(bestFinding) + 1") in linked, f"no part has the finding that gains most: {best['rule']}")
        for name, key, declared in ((self.data["memory_name"], "hbm_use", "mbu"), ("Tensor", "tensor_use", "mfu")):
            said = self.run(f"[...document.querySelectorAll('#headline .tile')].filter(t => t.children[0].textContent === {json.dumps(name + ' use, counted')}).map(t => t.innerText)[0] || ''")
            use = self.run(f"metric(folded.rows[0], '{key}')")
            is_wanted = use is not None and self.data["answer"]["step"][declared] is None and self.run("folded.rows[0].mean_kernels > 0")
            self.expect(bool(said) == is_wanted, f"the tile of {key}: {said}")
            self.expect(not said or self.run(f"percent({use})") in said and self.run("count(folded.rows[0].mean_kernels) + ' of '") in said, f"the tile of {key} is {said}")
        memory = self.data.get("memory")
        tiles = dict(self.run("[...document.querySelectorAll('#headline .tile')].map(t => [t.children[0].textContent, t.innerText.split('\\n').slice(1)])"))
        self.expect(("Most memory while recorded" in tiles) == bool(memory and memory["peak_bytes"]), "the tile of memory")
        if "Most memory while recorded" not in tiles:
            return
        shown = tiles["Most memory while recorded"]
        self.expect(shown[0] == self.run(f"bytes({memory['peak_bytes']})"), f"the peak of memory is {memory['peak_bytes']} bytes: {shown}")
        live = sum(total[5] for total in memory["totals"])
        self.expect(self.run(f"bytes({live})") + " in " in shown[-1] if live else shown[-1] == "all was released", f"{live} bytes are never released: {shown}")
        parts = memory.get("by_purpose") or memory["by_range"]
        at_peak = max(parts["points"], key=lambda point: sum(point[1:]))[1:]
        self.expect(self.run(f"bytes({max(at_peak)})") in shown[1], f"one part held {max(at_peak)} bytes at the peak: {shown}")

    def check_budget(self):
        """The parts of the budget are as wide as their times, busy before idle; a step has a dot."""
        if self.run("!data.budget || !(summary.gpu_busy_ns > 0)"):
            self.expect(not self.has("#budget"), "a budget of no GPU")
            return
        parts = self.run("[...document.querySelectorAll('.budget > span')].map(s => [Number(s.dataset.ns), s.getBoundingClientRect().width, s.classList.contains('idle')])")
        whole, wide = sum(each[0] for each in parts), sum(each[1] for each in parts)
        busy = sum(each[0] for each in parts if not each[2])
        account = self.data["answer"]["account"]
        known = sum(account[key] for key in ("at_roof_ns", "explained_ns", "unknown_ns"))
        self.expect(abs(busy - known) < 0.01 * whole, f"GPU time of the budget: {busy}, of the account: {known}")
        self.expect(abs(whole / account["period_ns"] - 1) < 0.01, f"the budget is of a period of {whole} ns")
        self.expect(account["text"] in self.run("document.querySelector('#headline').textContent"), "the account is not on the page")
        wrong = [each for each in parts if abs(each[1] / wide - each[0] / whole) > 0.02]
        self.expect(parts and not wrong, f"parts of the budget have another width: {wrong}")
        cut = self.run("[...document.querySelectorAll('.budget .label')].filter(l => l.scrollWidth > l.clientWidth || l.getBoundingClientRect().width > l.parentNode.getBoundingClientRect().width).map(l => l.textContent)")
        self.expect(not cut, f"labels of the budget are cut: {cut}")
        silent = self.run("[...document.querySelectorAll('.budget > span')].filter(s => s.getBoundingClientRect().width > 60 && !/\\d %$/.test(s.textContent)).map(s => s.dataset.ns)")
        self.expect(not silent, f"parts of the budget without a share: {silent}")
        idle = [each[2] for each in parts]
        self.expect(idle == sorted(idle), "idle time stands before GPU time")
        if self.has("#steps-figure"):
            self.expect(self.count("#steps-figure [data-step]") == len(self.data["steps"]) // 4 - (self.data["answer"]["step"]["without_first"] and self.data["steps"][1] == 1), "the dots of the steps")
        self.expect(self.count("#findings > ol > li") <= 5, "more than five findings are open")

    def check_choice(self):
        """One range is chosen on the whole page, and its address leads back to it."""
        if not self.has("#icicle-figure"):
            return
        boxes = "#icicle-figure rect"
        place = self.run(f"[...document.querySelectorAll('{boxes}')].map(r => Number(r.dataset.key)).slice(-1)[0]")
        self.act(f"document.querySelector('{boxes}[data-key=\"{place}\"]').dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
        self.expect(self.run("chosen") == place, "a click on the icicle chooses no range")
        self.expect(self.run("location.hash === addressOf(chosen)"), "the address does not have the choice")
        self.expect(self.run("!document.getElementById('chosen').hidden && document.getElementById('chosen').textContent.includes(titleOf(chosen))"), "the choice does not stand beside the sections")
        self.expect(self.count(f"{boxes}.picked") == 1, "the icicle does not mark the choice")
        if self.has("#range-chosen"):
            self.expect(self.run("Number(document.getElementById('range-chosen').value)") == place or place >= 400, "one range is another one")
        address = self.run("location.hash")
        self.act("choose(0)")
        self.check_filter("#icicle-filter", f"[...document.querySelectorAll('{boxes}:not(.pale)')].every(r => hasWords(Number(r.dataset.key), %s))")
        self.expect(self.run("location.hash") == "" and self.run("document.getElementById('chosen').hidden"), "the choice stays")
        self.act(f"location.hash = {json.dumps(address)}")
        self.expect(self.run("chosen") == place, "the address does not lead to the range")
        self.act("new Promise(done => { choose(0); setTimeout(done, 60000); "  # Back comes when it comes
                 "addEventListener('popstate', () => done(), {once: true}); history.back(); })")
        self.expect(self.run("chosen") == place, "Back does not lead to the choice before")
        self.act("location.hash = '#range=no/such/range'")
        self.expect(self.run("document.getElementById('chosen').textContent") == "This page has no range no/such/range.", "an unknown range is not named")
        for link in self.run("[...document.querySelectorAll('#budget a[href^=\"#finding-\"]')].map(a => a.getAttribute('href'))"):
            self.expect(self.has(link), f"{link} leads to no finding")
        self.act("choose(0)")
        self.expect(self.run("[...document.querySelectorAll('#icicle-figure rect')].every(r => !r.classList.contains('pale'))"), "ranges stay pale")

    def check_link(self, width):
        """The address of a choice opens the page with it in view; no later choice moves the page or the focus."""
        if not self.has("#icicle-figure"):
            return
        place, address = self.run("""(row => [row.place, addressOf(row.place)])(
            folded.rows.filter(r => r.depth && !inNoStep(r)).slice(-1)[0] || folded.rows[0])""")
        if not place:
            return
        self.browser.open(self.path, width, False, "?link" + address)
        self.expect(self.run("chosen") == place, "a link does not choose its range")
        section = "['range', 'icicle', 'ranges'].map(byId).find(Boolean).getBoundingClientRect()"
        at_end = "innerHeight + scrollY >= document.documentElement.scrollHeight - 2"
        top = self.run(f"{section}.top")
        self.expect(-1 <= top < 200 or 0 <= top < 900 and self.run(at_end),
                    f"a link does not show its range: {top} pixels below the top")
        picked = f"!!document.querySelector('#row-{place}.picked') || shownRows().length > rangeTable.most"
        self.expect(self.run(picked), "the row of a link is folded")
        self.expect(self.run("document.activeElement === document.body"), "a link takes the focus")
        self.act("scrollTo(0, 40)")
        self.act(f"choose({place - 1})")
        self.expect(abs(self.run("scrollY") - 40) < 2, f"a later choice moves the page to {self.run('scrollY')}")

    def check_shares(self):
        if not self.has("#shares"):
            return
        sums = self.run("[...document.querySelectorAll('#shares svg')].flatMap(s => { const y = {}; "
                        "s.querySelectorAll('rect').forEach(r => y[r.getAttribute('y')] = (y[r.getAttribute('y')] || 0) + Number(r.dataset.share)); return Object.values(y); })")
        self.expect(sums and all(abs(each - 1) < 1e-6 for each in sums), f"shares do not add up to a whole: {sums}")
        self.check_filter("#share-filter", "[...document.querySelectorAll('#shares rect:not(.pale)')].every(r => folded.rows.some(o => r.dataset.key.endsWith(o.place) && hasWords(o.place, %s)))")
        if self.has("#share-depth"):
            self.choose("#share-depth", "1")
            self.expect(self.run("document.querySelectorAll('#shares .legend li').length === parts(1).parts.length"), "the depth of the shares does not change")

    def check_roofline(self):
        if not self.has("#roofline-figure"):
            return
        marks = "#roofline-figure [data-level][data-range]"
        inner = self.count(marks)
        points = self.data["answer"]["points"]
        ranges = {point["range"] for point in points}
        outer = {place for place in ranges if any(other != place and self.is_within(other, place) for other in ranges)}
        self.expect(inner == sum(point["range"] not in outer for point in points), "the roofline lacks points of a level")
        if self.has("#roofline-ranges"):
            self.choose("#roofline-ranges", "1")
        self.expect(self.count(marks) == len(points), "the roofline lacks points")
        levels = self.run("[...document.querySelectorAll('#roofline-level option')].map(o => o.value)")
        for level in levels[1:]:
            self.choose("#roofline-level", level)
            self.expect(sum(point["level"] == level for point in points) == self.count(marks), "the roofline of " + level)
        self.expect(levels[:1] in ([], [""]), f"the levels are not all together at first: {levels}")
        if levels:
            self.choose("#roofline-level", "")
        wrong = self.run("""(all => { const at = m => rangePoints.filter(p => p.range == m.dataset.range && p.level === m.dataset.level
              && m.dataset.key.endsWith(p.evidence))[0].flop_per_byte;
            return all.filter(m => Math.abs(m.dataset.x - all[0].dataset.x) > .01
              && Math.sign(Math.log(at(m) / at(all[0]))) !== Math.sign(m.dataset.x - all[0].dataset.x)).length; })([...document.querySelectorAll('%s')])""" % marks)
        names = self.run("[...document.querySelectorAll('#roofline .legend li button')].map(li => li.textContent)")
        self.expect(len(names) == len(set(names)), f"a range is twice in the legend: {names}")
        self.expect(wrong == 0, f"{wrong} marks lie on the wrong side")
        dashed = self.run("[...document.querySelectorAll('#roofline-figure .roof')].filter(r => getComputedStyle(r).strokeDasharray !== 'none').map(r => r.dataset.roof).join()")
        solid = self.run("[...document.querySelectorAll('#roofline-figure .roof')].filter(r => getComputedStyle(r).strokeDasharray === 'none').map(r => r.dataset.roof).join()")
        compute = self.run("answer.roofs.filter(r => r.unit === 'FLOP/s' && r.rate > 0)")
        for roof in compute:
            is_idle = not roof["used"] and any(other["used"] for other in compute)
            self.expect(roof["name"] in (dashed if is_idle else solid), f"the roof {roof['name']} is {'not ' * is_idle}dashed: {dashed}; {solid}")
        if self.has("#roofline-filter"):
            self.check_filter("#roofline-filter", "[...document.querySelectorAll('#roofline-figure [data-range]')].every(m => hasWords(Number(m.dataset.range), %s))")
        self.check_counted_kernels()
        self.expect(self.has("#roofline-part") == (len(ranges) > 1), "a slider of one range, or none of several")
        if self.has("#roofline-part"):
            self.choose("#roofline-part", "50")
            self.expect(0 < self.count(marks) < len(points), "the slider of the roofline does nothing")
            self.choose("#roofline-part", "100")
        self.act("document.querySelector('#roofline-figure [data-range]').dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}))")
        alone = self.count(marks + "[aria-pressed='true']")
        self.expect(alone > 0 and len(set(self.run(f"[...document.querySelectorAll(\"{marks}[aria-pressed='true']\")].map(m => m.dataset.range)"))) == 1
                    and self.count(marks + ".dim") == self.count(marks) - alone, "Enter does not isolate a range")
        if len(ranges) > 1:
            self.click("[...document.querySelectorAll('#roofline button')].find(b => b.textContent === 'Show all')")
            self.expect(self.count(marks + ".dim") == 0, "Show all leaves ranges out")
        # Firefox without a window has no focus, and sends no event of one.
        self.act("{ const c = document.querySelector('#roofline-figure [data-range]'); c.focus(); if (!document.hasFocus()) c.dispatchEvent(new FocusEvent('focus')); }")
        self.expect(not self.run("document.getElementById('tip').hidden"), "the focus shows no text")
        got = self.run("""new Promise(done => { const click = HTMLAnchorElement.prototype.click;
            HTMLAnchorElement.prototype.click = function () { HTMLAnchorElement.prototype.click = click; done(this.download + ' ' + this.href.slice(0, 22) + ' ' + (this.href.length > 5000)); };
            document.getElementById('roofline-png').click(); setTimeout(() => done('nothing'), 5000); })""")
        self.expect(got == "roofline.png data:image/png;base64, true", f"the picture: {got}")

    def check_filter(self, box, test):
        """What a filter does not find stands back or is gone; without words all is as before."""
        name = self.run("folded.rows.filter(r => r.depth).slice(-1)[0].label.toLowerCase()")
        before = self.count("svg .pale")
        self.choose(box, name)
        self.expect(self.run(test % json.dumps(name)), f"{box} does not filter")
        self.choose(box, "no such range")
        self.expect(self.run(test % json.dumps("no such range")), f"{box} finds what is not there")
        self.choose(box, "")
        self.expect(self.count("svg .pale") == before, f"{box} leaves its mark")

    def check_counted_kernels(self):
        """Kernels that were counted one by one are marks while a range above them is chosen."""
        if not self.run("kernelPoints(0).length"):
            return
        before = self.run("isChosen ? chosen : 0")
        self.act("choose(folded.rows.find(r => r.depth && kernelPoints(r.place).length).place)")
        self.expect(self.count("#roofline-figure [data-kernel]") == self.run("kernelPoints(chosen).length"), "the roofline lacks kernels")
        self.expect(self.run("kernelPoints(chosen).every(p => p.flop_per_byte > 0 && p.flop_per_second > 0)"), "a kernel without work")
        self.act(f"choose({before})")
        self.expect(before or self.count("#roofline-figure [data-kernel]") == 0, "kernels stay without a choice")

    def check_range(self):
        if not self.has("#range-chosen"):
            return
        self.expect(self.run("tellingPlaces().has(longestRange().place) || !tellingPlaces().size"), "the range that is shown first has nothing to show")
        self.expect(self.run("isChosen || chosen === longestRange().place"), "the range that is shown first is not the longest")
        for value in self.run("[...document.getElementById('range-chosen').options].map(o => o.value).slice(0, 6)"):
            self.choose("#range-chosen", value)
            self.expect(self.run("chosen") == int(value), "the choice of a range")
            self.expect(self.run("[...document.querySelectorAll('#memory-chart, #units-figure, #stalls-figure')].every(s => !/NaN|undefined|null/.test(s.textContent))"), "the levels of memory have a wrong number")

        rows = "[...document.querySelectorAll(\"[aria-label='Kernels of the range'] tbody tr\")].map(r => [r.cells[1].textContent, r.cells[2].textContent])"
        kernels = self.kernels_in(self.run("chosen"))[:200]
        wanted = self.run(f"{json.dumps(kernels)}.map(([launches, ns]) => [count(launches), time(ns)])")
        self.expect(sorted(self.run(rows)) == sorted(wanted), f"launches and time of kernels: {self.run(rows)[:3]}, not {wanted[:3]}")
        names = self.run("[...document.querySelectorAll(\"[aria-label='Kernels of the range'] tbody th\")]"
                         ".map(c => [c.textContent, c.title, c.getAttribute('aria-label')])")
        cut = [name for name in names if name[0].count("\u2026") > 1 or name[1] != name[2] or not name[1]]
        self.expect(not cut, f"a name of a kernel is cut twice, or has no whole: {cut[:2]}")
        self.act("document.querySelectorAll('#range details').forEach(d => { d.open = true; })")
        for key, unit in self.run("folded.metrics.filter(m => isSum(m) && !none(metric(folded.rows[chosen], m.key))).map(m => [m.key, m.unit])"):
            shown = self.run(f"[...document.querySelectorAll('#range tbody tr')].find(r => r.cells[0].textContent === '{key}').cells[1].textContent")
            self.expect(shown == self.run(f"inUnit('{unit}')(perStep(folded.rows[chosen], metric(folded.rows[chosen], '{key}')))"), f"{key} is not of a mean step: {shown}")
        if self.run("!kernelRows.length && !['hbm_bytes', 'l2_bytes', 'l1_bytes'].some(key => metricAt.has(key))"):
            self.expect(self.has("#range details[open] tbody tr") or self.run("folded.rows[chosen].counted.every(none)"), "the section of one range is empty")

    def check_timeline(self):
        if not self.has("#timeline-figure"):
            return
        names = self.run("""(() => { const texts = [], paint = CanvasRenderingContext2D.prototype, fill = paint.fillText;
            paint.fillText = function (text, x) { if (x === 0) texts.push(text); return fill.apply(this, arguments); };
            document.querySelector('#timeline [aria-label="Show all of it"]').click(); paint.fillText = fill; return texts; })()""")
        windows = [w for w in self.data["timeline"]["windows"] if w["tracks"]]
        room = self.run("document.getElementById('timeline-figure').clientWidth")
        cut = [name for name in names if name.endswith("\u2026") and len(name) < 45]
        self.expect(room >= 560 or not cut, f"names of tracks are cut: {cut}")
        self.expect(len(names) == len(lines_of(windows[0])), f"names of threads beside the timeline: {names}, not {lines_of(windows[0])}")
        options = self.run("[...document.querySelectorAll('#timeline select option')].map(o => o.value)") or [None]
        self.expect(self.run("document.querySelector('#timeline [role=status]').textContent.includes(data.trace_file ? data.trace_file + ' has all' : 'formats=html+trace')"), "the timeline names another file")
        records = "Number(document.getElementById('timeline-figure').dataset.records)"
        status = "document.querySelector('#timeline [role=status]').textContent"
        self.expect(len(options) == len(windows), f"{len(windows)} steps, {len(options)} to choose from")
        for value, window in zip(options, windows):
            if value is not None:
                self.choose("#timeline select", value)
            drawn = self.run(records)
            self.expect(drawn == sum(track["count"] for track in window["tracks"]), "the timeline lacks records")
            title = f"Step {window['step']} (" if window["step"] is not None else window["what"].capitalize() + ", all of it"
            self.expect(self.run(f"{status}.startsWith({json.dumps(title)}) && {status}.includes(', all of it.')"), f"the timeline does not say that it shows {title}")
            idle = self.run("Number(document.getElementById('timeline-figure').dataset.idle)")
            self.expect(idle == idle_of(window), f"gaps of {idle} ns are drawn, not of {idle_of(window)} ns")
            used = sum(length * use / 1000 for each in window["uses"] for length, use in zip(each["pieces"][1::3], each["pieces"][2::3]))
            shown = self.run("Number(document.getElementById('timeline-figure').dataset.use)")
            self.expect(abs(shown - used) <= 1e-6 * used, f"uses of {shown} ns are drawn, not of {used} ns")
            self.expect(self.run(status + ".includes('the mean of a range, not samples')") == bool(window["uses"]), "the timeline does not say what uses are")
        here = sum(window["step"] is not None for window in windows)
        step = self.data["answer"]["step"]
        self.expect(not step["from_steps"] or (self.run(status + ".includes('steps are on this page')") == (here < step["count"])), "the timeline does not say which steps are here")
        self.click("document.querySelector('#timeline [aria-label=\"Zoom in\"]')")
        self.click("document.querySelector('#timeline [aria-label=\"Later\"]')")
        self.expect(self.run(records) <= drawn and not self.run(status + ".includes(', all of it.')"), "the timeline does not zoom")
        marks = self.run("""(() => { const texts = [], paint = CanvasRenderingContext2D.prototype, fill = paint.fillText;
            paint.fillText = function (text, x, y) { if (y === 8) texts.push(text); return fill.apply(this, arguments); };
            for (let i = 0; i < 12; i++) { texts.length = 0; document.querySelector('#timeline [aria-label="Zoom in"]').click(); } paint.fillText = fill; return texts; })()""")
        self.expect(marks and len(set(marks)) == len(marks), f"marks of the axis that are alike: {marks}")
        self.click("document.querySelector('#timeline [aria-label=\"Show all of it\"]')")
        self.expect(self.run(records) == drawn, "the timeline does not come back")
        self.check_timeline_marks(records, drawn)

    def check_timeline_marks(self, records, drawn):
        """The keyboard moves the timeline, gaps have bars, arrows lead to the kernels of the chosen range, a search pales the others."""
        figure = "document.getElementById('timeline-figure')"
        press = figure + ".dispatchEvent(new KeyboardEvent('keydown', {key: '%s', bubbles: true, cancelable: true}))"
        for _ in range(3):
            self.act(press % "w")
        near = self.run(records)
        self.act(press % "d")
        self.expect(near <= drawn and self.run("!document.querySelector('#timeline [role=status]').textContent.includes(', all of it.')"), "W does not zoom into the timeline")
        self.act(press % "Home")
        self.expect(self.run(records) == drawn, "Home does not show all of the timeline")
        gaps = [w for w in self.data["timeline"]["windows"] if w["tracks"]][-1]["gaps"]
        self.expect((self.run(f"Number({figure}.dataset.gaps)") > 0) == bool(gaps), "the gaps of the device have no bars")
        place = self.run("""(() => { const w = readWindow(data.timeline.windows.filter(w => w.tracks.length).slice(-1)[0]), bars = w.tracks.flatMap(t => t.bars).filter(b => b.call && b.range && b.end - b.begin > w.length_ns / 200);
            const ranges = [...new Set(bars.map(b => b.range))]; return ranges.find(r => sum(bars, b => isWithin(b.range, r)) < mostArrows) || 0; })()""")
        if place:
            before = self.run("isChosen ? chosen : 0")
            self.act(f"choose({place})")
            self.expect(self.run(f"Number({figure}.dataset.arrows)") > 0, "no arrow leads from a launch to a kernel")
            self.act(f"choose({before})")
        self.check_selection(figure, press)
        self.choose("#timeline-search", "no such bar")
        self.expect(self.run(records) == drawn, "a search hides bars")
        self.choose("#timeline-search", "")

    def check_selection(self, figure, press):
        """Dragging selects a part, whose sums are those of the records; the keyboard selects what is shown."""
        drag = figure + """.dispatchEvent(new PointerEvent('pointer%s', {bubbles: true, clientX: (b => b.left + %f * b.width)(""" + figure + ".getBoundingClientRect()), clientY: " + figure + ".getBoundingClientRect().top + 5}))"
        for kind, at in (("down", 0.5), ("move", 0.6), ("move", 0.8), ("up", 0.8)):
            self.act(drag % (kind, at))
        self.expect(self.has("#timeline .selection:not([hidden])"), "dragging selects nothing")
        begin, end = self.run(f"(s => [s.left, s.right])(document.querySelector('#timeline .selection').getBoundingClientRect())")
        left, right = self.run(f"(s => [s.left, s.right])({figure}.getBoundingClientRect())")
        self.expect(abs(begin - left - 0.5 * (right - left)) < 3 and abs(end - left - 0.8 * (right - left)) < 3, "another part is selected")
        self.act(press % "Escape")
        self.expect(not self.has("#timeline .selection:not([hidden])") and not self.has("#timeline-parts"), "Escape leaves the selection")
        self.act(press % "Enter")
        window = [w for w in self.data["timeline"]["windows"] if w["tracks"]][-1]
        if not any(track["kind"] == "device" for track in window["tracks"]):
            self.act(press % "Escape")
            return
        parts = self.run("[...document.querySelectorAll('#timeline-parts .amount[data-ns]')].map(a => Number(a.dataset.ns))")
        self.expect(abs(sum(parts) - window["length_ns"]) <= 1e-6 * window["length_ns"], f"busy and idle are {sum(parts)} ns of {window['length_ns']}")
        self.expect(abs(sum(parts[1:]) - idle_of(window)) <= 1e-6 * window["length_ns"], f"idle is {sum(parts[1:])}, not {idle_of(window)}")
        launches = self.run("sum(sumsBetween(readWindow(data.timeline.windows.filter(w => w.tracks.length).slice(-1)[0]).tracks, 0, Infinity).names, n => n.count)")
        self.expect(launches == sum(track["count"] for track in window["tracks"] if track["kind"] == "device"), f"{launches} kernels and copies are in the sums")
        self.act(press % "w")
        self.act(press % "Enter")
        self.act(press % "Home")
        self.act(press % "z")
        self.expect(self.run("!document.querySelector('#timeline [role=status]').textContent.includes(', all of it.')"), "Z does not zoom to the selection")
        self.act(press % "Home")
        self.act(press % "Escape")

    def check_collectives(self):
        recorded = self.data.get("collectives")
        self.expect(self.has("#collectives") == bool(recorded), "the section of collectives")
        if not recorded:
            return
        shown = self.run("textsOfTable(document.querySelector('#collectives table'))")
        rows = recorded["rows"]
        self.expect([row[3] for row in shown[1:]] == [row["operation"].replace("_", " ") for row in rows], f"collectives: {shown}")
        known = [any(row[6:]) for row in shown[1:]]
        self.expect(known == [row["bus_bytes_per_s"] is not None for row in rows], f"bus bandwidths: {shown}")
        self.expect("NaN" not in str(shown) and "undefined" not in str(shown), f"collectives: {shown}")

    def check_memory(self):
        if not self.has("#memory-figure"):
            return
        first = self.run("document.querySelector('#memory select').value")
        memory = self.data["memory"]
        self.expect(first == ("by_purpose" if "by_purpose" in memory else "by_range"), f"memory is shown {first} first")
        ticks = self.run("[...document.querySelectorAll('#memory-figure .tick')].map(t => t.textContent)")
        read = [re.fullmatch(r"\d+(?:\.(\d+))? (ns|us|ms|s)", tick) for tick in ticks]
        decimals = {len(tick[1] or "") if tick else -1 for tick in read}
        self.expect(len(ticks) == len(set(ticks)) and len(decimals) == 1 and -1 not in decimals, f"ticks of memory: {ticks}")
        self.expect(decimals == {0} or any(tick[1][-1] != "0" for tick in read), f"ticks of memory have a 0 too many: {ticks}")
        self.expect(self.run("document.querySelector('#memory [role=status]').textContent.startsWith('At the peak: ')"), "memory does not say who held the peak")
        series = memory["by_range"]["series"]
        place = next((part for part in series if part > 0), 0)
        if place:
            before = self.run("isChosen ? chosen : 0")
            self.act(f"choose({place})")
            peak = "Number(document.querySelector('#memory-figure .chosen-line').dataset.peak)"
            mine = [i + 1 for i, part in enumerate(series) if self.is_within(part, place)]
            most = max(sum(point[i] for i in mine) for point in memory["by_range"]["points"])
            self.expect(self.run(peak) == most, f"the line of the chosen range has a peak of {self.run(peak)} bytes, not {most}")
            self.expect(self.run("[...document.querySelectorAll('#memory tr.picked')].every(r => r.cells[0].textContent.includes(titleOf(chosen)))"), "rows of memory are marked that are not of the choice")
            marked = "[...document.querySelectorAll('.findings > li')].map(li => li.classList.contains('picked'))"
            self.expect(self.run(marked) == self.run("[...document.querySelectorAll('.findings > li')].map(li => li.dataset.ranges.split(' ').filter(Boolean).some(r => isWithin(Number(r), chosen) || isWithin(chosen, Number(r))))"), "the findings of the choice are not marked")
            self.act("choose(0)")
            self.expect(self.count(".findings > li.picked, #memory .chosen-line, #memory tr.picked") == 0, "marks stay without a choice")
            self.act(f"choose({before})")
        for value in [key for key in ("by_kind", "by_purpose", "by_range") if key in memory]:
            self.choose("#memory select", value)
            self.expect(self.count("#memory-figure polygon") == len(memory[value]["series"]) + bool(memory[value]["others"]), "the parts of the memory")

        if self.has("[aria-label='Device memory by purpose']"):
            cells = self.run("[...document.querySelectorAll(\"[aria-label='Device memory by purpose'] tbody tr\")].map(r => [r.cells[0].textContent, r.cells[5].textContent])")
            self.expect(cells == self.run("data.memory.purposes.map(p => [p[0], bytes(p[1])])"), f"memory by purpose in a mean step: {cells}")
            self.expect(not self.run("data.memory.mean_steps") or self.run("document.getElementById('memory').textContent.includes(meanSteps(data.memory.mean_steps))"), "memory does not say of which steps it is")

    def check_rest(self):
        details = self.count("details")
        self.act("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        self.expect(self.run("[...document.querySelectorAll('details')].every(d => d.children.length > 1)"), f"one of {details} details is empty")
        self.expect(not self.run("/\\bNaN\\b|\\bundefined\\b|\\[object/.test(document.body.innerText)"), "a number or text is not one")
        self.expect(self.run("[...document.querySelectorAll('#environment .wraps td')].every(d => d.scrollWidth <= d.clientWidth + 1)"), "a value of the run is cut off")
        self.expect(self.run("['faults', 'misses', 'branches', 'cycles'].map(u => inUnit(u)(1)).join()") == "1 fault,1 miss,1 branch,1 cycle", "one of a thing is many")
        theme = self.run("isDark()")
        self.click("document.getElementById('theme')")
        self.expect(self.run("isDark()") != theme, "the colours do not change")
        self.click("document.getElementById('theme')")

    def check_focus(self):
        """What can be pressed in a figure, a legend and the names of the table are one tab stop each; each stop has a name."""
        stops = "[...document.querySelectorAll('a[href], button, input, select, summary, [tabindex], svg *')].filter(e => e.tabIndex >= 0 && e.getClientRects().length)"
        nameless = self.run(stops + """.filter(e => !(e.getAttribute('aria-label') || e.textContent || e.closest('label')))
            .map(e => e.outerHTML.slice(0, 80))""")
        self.expect(not nameless, f"tab stops without a name: {nameless[:3]}")
        many = self.run("[...document.querySelectorAll('.chart, .legend, #range-rows tbody')].filter(box => box.querySelectorAll('[tabindex=\"0\"], [role=button]:not([tabindex])').length > 1).map(box => box.parentNode.id)")
        self.expect(not many, f"several tab stops in {many}")
        hidden = self.run("""['.budget > span', '#kernel-rows .pick', '#range-rows .pick', '#icicle rect', '#shares rect[tabindex]', '#roofline-figure path[tabindex]', '#timeline-figure', 'nav a', 'summary', '#icicle-filter']
            .map(s => document.querySelector(s)).filter(e => e && e.getClientRects().length).filter(e => { e.focus({focusVisible: true, preventScroll: true}); const style = getComputedStyle(e);
              return e.matches(':focus-visible') && (style.outlineStyle === 'none' || parseFloat(style.outlineWidth) < 2); }).map(e => e.outerHTML.slice(0, 60))""")
        self.expect(not hidden, f"the focus cannot be seen on {hidden}")
        for box in ("#shares .chart", "#icicle .chart", "#roofline .chart", "#shares .legend"):
            items = f"[...document.querySelectorAll('{box} [tabindex]')]"
            if self.count(f"{box} [tabindex]") < 2:
                continue
            self.act(f"{items}[0].focus(); {items}[0].dispatchEvent(new KeyboardEvent('keydown', {{key: 'ArrowRight', bubbles: true}}))")
            self.expect(self.run(f"{items}.indexOf(document.activeElement)") == 1, f"an arrow key does not move the focus in {box}")
            self.act(f"document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {{key: 'End', bubbles: true}}))")
            self.expect(self.run(f"{items}.indexOf(document.activeElement) === {items}.length - 1"), f"End does not lead to the last of {box}")

    def check_print(self):
        """On paper the page is narrow and light: figures are drawn for it, columns without room are left out."""
        before = self.run("[isDark(), document.querySelector('main').clientWidth]")
        self.act("dispatchEvent(new Event('beforeprint'))")
        wide = self.run("[...document.querySelectorAll('.chart svg, .chart canvas, .scroll table')].filter(e => e.getBoundingClientRect().width > 700).map(e => e.outerHTML.slice(0, 80))")
        self.expect(not wide and not self.run("isDark()"), f"wider than paper: {wide}")
        height_px = self.check_paper()
        self.check_sizes()
        lost = self.run("""[...document.querySelectorAll('.scroll')].filter(s => s.getClientRects().length && s.querySelector('table')).flatMap(s => {
            const heads = [...s.querySelectorAll('thead th')];
            return [...s.querySelector('thead tr').cells].filter(h => !heads.some(o => !o.hidden && o.textContent === h.textContent)).map(h => s.getAttribute('aria-label') + ': ' + h.textContent); })""")
        self.expect(not lost, f"columns are lost on paper: {lost[:5]}")
        self.act("dispatchEvent(new Event('afterprint'))")
        self.expect(self.count(".continued") == 0, "tables stay split")
        if self.browser.name == "Chromium":
            self.check_pdf(height_px)
        self.expect(self.run("[isDark(), document.querySelector('main').clientWidth]") == before, "the page stays as it was printed")

    def check_sizes(self):
        """On paper texts have few sizes, those of figures too."""
        sizes = self.run("""[...new Set([...document.querySelectorAll('main *')]
            .filter(e => e.getClientRects().length)
            .filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()))
            .map(e => parseFloat(getComputedStyle(e).fontSize)))].sort((a, b) => a - b)""")
        self.expect(sizes and sizes[0] >= 9 and len(sizes) <= 4, f"sizes of texts on paper: {sizes}")

    def check_pdf(self, height_px):
        """Printed, no figure lies on two pages, and pages are full: the page on paper is `height_px` high. A text marks
        where a figure begins and ends."""
        self.act("""document.head.append(el('style', {id: 'marks'},
            '.chart::before, .chart::after { position: absolute; left: 0; font: 4px/1 sans-serif }'
            + '.chart::before { top: 0; content: attr(data-mark) "top" }'
            + '.chart::after { bottom: 0; content: attr(data-mark) "bottom" }'));
            [...document.querySelectorAll('.chart')].filter(c => c.getClientRects().length)
              .forEach((c, i) => { c.dataset.mark = `figure${i}`; });""")
        figures = self.count("[data-mark]")
        for name, paper in list(PAPERS.items())[:1 if self.path.name == "huge.html" else None]:
            pdf = self.browser.pdf(paper)
            pages = len(re.findall(rb"/Type /Page\b(?!s)", pdf))
            full = height_px / ((paper[1] - 0.8) * 96)
            self.expect(0 < pages <= 2 + 1.3 * full, f"{pages} pages of {name} for {full:.1f} pages of text")
            if not shutil.which("pdftotext"):
                continue
            text = subprocess.run(["pdftotext", "-", "-"], input=pdf, stdout=subprocess.PIPE).stdout
            sheets = text.decode("utf-8", "replace").split("\f")
            split = [i for i in range(figures)
                     if not any(f"figure{i}top" in sheet and f"figure{i}bottom" in sheet for sheet in sheets)]
            self.expect(not split, f"figures on two pages of {name}: {split} of {figures}")
        self.act("document.getElementById('marks').remove()")

    def check_paper(self):
        """No figure is cut: neither at the end of a page, nor a text of it at its edge. Returns: how high the page is on
        paper, in pixels."""
        too_high = self.run("[...document.querySelectorAll('.chart')].filter(c => c.getBoundingClientRect().height > 900).map(c => c.parentNode.id)")
        self.expect(not too_high, f"higher than paper: {too_high}")
        cut = self.run("""[...document.querySelectorAll('.chart svg')].flatMap(s => { const box = s.getBoundingClientRect();
            return [...s.querySelectorAll('text')].filter(t => { const b = t.getBoundingClientRect(); return b.width && (b.left < box.left - 2 || b.right > box.right + 2
              || b.top < box.top - 4 || b.bottom > box.bottom + 4); }).map(t => s.id + ': ' + t.textContent); })""")
        self.expect(not cut, f"texts of figures are cut on paper: {cut[:4]}")
        if self.browser.name != "Chromium":
            return 0
        self.browser.call("Emulation.setEmulatedMedia", {"media": "print"})
        split = self.run("[...document.querySelectorAll('.chart, .two > *')].filter(c => getComputedStyle(c).breakInside !== 'avoid').map(c => c.parentNode.id)")
        self.expect(not split, f"pages end within figures: {split[:4]}")
        self.browser.settle()
        height_px = self.run("document.querySelector('main').getBoundingClientRect().bottom + scrollY")
        self.browser.call("Emulation.setEmulatedMedia", {"media": ""})
        return height_px

    def check_axe(self, axe):
        if axe is None:
            return
        self.run(axe + ";0")
        for violation in self.run("axe.run({resultTypes: ['violations']}).then(r => r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html.slice(0, 120)).slice(0, 3).join(' | ')))"):
            self.expect(False, "axe: " + violation)


def check(browser, path, width, dark, axe, wrong):
    page = Page(browser, path, wrong)
    begin = time.monotonic()
    huge = path.name == "huge.html"
    page.open(width, dark)
    page.check_width(width)
    page.check_order()
    if huge:  # of 10,000 ranges; the first paint takes as long as its elements are many
        page.expect(page.count("*") < 8000, f"{page.count('*')} elements before anything is unfolded")
    if not huge and (dark or width < 500):  # in the wide window once all tables are open
        page.check_axe(axe)
    if width < 500:
        page.check_narrow()
    if not dark:
        for each in (page.check_height, page.check_room, page.check_table, page.check_height):
            each()
        # What the page computes does not depend on its width, nor does paper: the longest names do all of it in a narrow window
        # of Chromium too.
        everything = width == 1400 or (path.name == "hostile.html" and browser.name == "Chromium")
        if huge:  # each choice of a range draws its table anew: with all rows that takes seconds
            page.fold("Fold all")
        page.check_first_screen()
        for each in (page.check_budget, page.check_kernels, page.check_numbers, page.check_choice, page.check_shares, page.check_roofline,
                     page.check_range, page.check_timeline, page.check_collectives, page.check_memory) * everything:
            each()
        if huge:
            page.fold("Unfold all")
        prints = (page.check_print,) * everything
        for each in (page.check_focus, *prints, page.check_rest, page.check_height, page.check_texts):
            each()
        page.check_width(width)
        if width == 1400 and not huge:
            page.check_axe(axe)
    if not dark and not huge:
        page.check_link(width)
    if path.name == "hostile.html":
        page.expect("broken" not in page.run("document.title") or "</script>" in page.run("document.title"), "a name ran as a script")
        page.expect(page.count("img") == 0, "a name became an element")
    page.check_events()
    if os.environ.get("STRATA_TEST_VERBOSE"):
        print(f"{browser.name}: {path.name} at {width}{', dark' * dark}: {time.monotonic() - begin:.1f} s")
    return page.checks


def make_pages(folder):
    build = os.environ.get("STRATA_TEST_BUILD_DIR")
    program = build and pathlib.Path(build) / "tests/bin/unit_tests"
    if not program or not program.exists():
        skip("unit_tests, which makes the pages, is not built: name pages, or the build in STRATA_TEST_BUILD_DIR")
    done = subprocess.run([str(program), "--source-file=*/unit/html_test.cpp", "--test-case=pages for the test in a browser"],
                          env={**os.environ, "STRATA_TEST_PAGES": folder}, capture_output=True, text=True, timeout=ANSWER_S)
    if done.returncode != 0:
        print(done.stdout, done.stderr)
        sys.exit(1)
    return sorted(pathlib.Path(folder).glob("*.html"))


def choose_browser():
    """What the command line asks for: a class, the program of the browser, and the pages that it names. Without a browser
    the test is skipped."""
    words = sys.argv[1:]
    in_firefox = words[:1] == ["--firefox"]
    if in_firefox:
        kind, program, package = Firefox, shutil.which("firefox-esr") or shutil.which("firefox"), "firefox-esr"
    else:
        kind, program, package = Browser, find_browser(), "chromium, or name one in STRATA_TEST_BROWSER"
    if program is None:
        skip(f"there is no {kind.name}: apt-get install {package}")
    return kind, program, [pathlib.Path(name) for name in words[in_firefox:]]


def pages_for(kind, pages, in_firefox):
    """Of the pages that a test makes those for this browser: all of them, or those that are named for Firefox."""
    if kind is Browser:
        return pages
    return [next(path for path in pages if path.stem == stem) for stem in in_firefox]


def visit(kind, program, folder, pages, check):
    """Calls check(browser, page, width, dark, wrong) for each view of the pages: how many checks were made, and what is
    wrong. Each browser takes the largest page that is left; Firefox is one, and its dark colours are left to Chromium. The page
    with most elements has no other colours than the rest."""
    by_size = sorted(pages, key=lambda path: path.stat().st_size, reverse=True)
    views = ((1400, False), (390, False)) if kind is Firefox else ((1400, False), (390, False), (1400, True))
    left = collections.deque((path, width, dark) for path in by_size for width, dark in views if not (dark and path.stem == "huge"))
    jobs = [(kind(program, f"{folder}/browser-{i}"), left) for i in range(1 if kind is Firefox else AT_ONCE)]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        visits = list(pool.map(lambda job: visit_in(*job, check), jobs))
    return sum(checks for checks, _ in visits), [each for _, wrong in visits for each in wrong]


def visit_in(browser, left, check):
    """One browser, until no page is left."""
    checks, wrong, view = 0, [], None
    try:
        start(browser)
        view = take(left)
        while view:
            checks += check(browser, *view, wrong)
            view = take(left)
    except (RuntimeError, OSError, ValueError) as problem:
        where = f"{view[0].name} at {view[1]} pixels" if view else "at its start"
        wrong.append(f"{where}: {problem or type(problem).__name__}")
    finally:
        browser.end()
    return checks, [f"{browser.name}: {each}" for each in wrong]


def start(browser):
    """On a busy machine a browser may end at its start: it is started twice more."""
    for _ in range(2):
        try:
            return browser.start()
        except (RuntimeError, OSError, ValueError):
            browser.end()
    return browser.start()


def take(left):
    try:
        return left.popleft()
    except IndexError:  # another browser has taken the last
        return None


def main():
    kind, program, named = choose_browser()
    axe = find_axe()
    with tempfile.TemporaryDirectory() as folder:
        pages = named or pages_for(kind, make_pages(folder), IN_FIREFOX)
        checks, wrong = visit(kind, program, folder, pages, lambda browser, path, width, dark, wrong: check(browser, path, width, dark, axe, wrong))
    for each in wrong:
        print("FAILED:", each)
    without = "" if axe else "; without axe-core: python3 -m pip install --target build/axe axe-playwright-python"
    print(f"{len(pages)} pages, {checks} checks, {len(wrong)} failures{without}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
