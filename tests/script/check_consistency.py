#!/usr/bin/env python3
"""One quantity has one value: console, page, strata explain, findings.json, profile.json, ranges.csv, metrics.prom
and a comparison of a run with itself say the same of the shipped recordings and of random programs. No share
exceeds its whole, and parts add up.
"""

import collections
import csv
import html
import json
import pathlib
import re
import shutil
import subprocess
import sys

from _script import build, end, environment, failures, needs, program, root

sys.path.insert(0, str(root / "page"))
from chromium import Browser, find_browser  # noqa: E402

tests = build / "tests/bin/unit_tests"
needs(program, tests)
checks = 0


def that(ok, text):
    global checks
    checks += 1
    if not ok:
        failures.append(text)


def near(one, other, part=1e-4):
    """The same but for the digits that a file has."""
    return abs(one - other) <= part * max(abs(one), abs(other), 1e-9)


def ran(*words, **more):
    done = subprocess.run(
        [program, *map(str, words)], capture_output=True, text=True, check=False, env={**environment, **more}
    )
    return done


def same(one, other):
    """The same where one has fewer digits."""
    numbers = isinstance(one, (int, float)) and isinstance(other, (int, float))
    return near(one, other) if numbers else one == other


def words_of(evidence):
    """Of "GPU idle 9.34 ms", "1,468 idle gaps" and "time at peak of HBM: 1.20 ms" what is no number."""
    text = evidence.split(": ")[0]
    return re.sub(r"^[\d.,e+-]+ | [\d.,e+-]+( [\w/]+)?$", "", text)


def flat(text):
    return " ".join(text.split())


def time_text(ns):
    """As src and page write it: three digits."""
    for limit, unit, size in ((999.5, "ns", 1), (999.5e3, "us", 1e3), (999.5e6, "ms", 1e6), (float("inf"), "s", 1e9)):
        if ns < limit:
            value = ns / size
            digits = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
            return f"{value:.{digits}f} {unit}" if unit != "ns" else None
    return None


class run_outputs:
    """All that is written of one recording."""

    def __init__(self, recording):
        self.name = recording.stem
        folder = self.folder = pathlib.Path("outputs") / self.name
        shutil.rmtree(folder, ignore_errors=True)
        done = ran("report", recording, "--formats", "table+json+csv+html+openmetrics", "--out", folder, COLUMNS="240")
        that(done.returncode == 0, f"{self.name}: {done.stderr}")
        self.console = done.stdout
        folder = self.folder = next(folder.rglob("findings.json")).parent  # of a rank it is one below
        read = lambda name: (folder / name).read_text(encoding="utf-8")  # noqa: E731
        self.findings = json.loads(read("findings.json"))
        self.profile = json.loads(read("profile.json"))
        table = lambda name: list(csv.DictReader((folder / name).open(encoding="utf-8", newline=""))) if (folder / name).exists() else []  # noqa: E731
        self.ranges, self.kernels, self.memory = table("ranges.csv"), table("kernels.csv"), table("memory.csv")
        self.counters, self.wide = table("counters.csv"), table("counters_wide.csv")
        self.page_text = read("report.html")
        self.page = json.loads(re.search(r'id="data">(.*?)</script>', self.page_text, re.S).group(1))
        self.metrics = {}
        for line in read("metrics.prom").splitlines():
            if line and not line.startswith("#"):
                key, value = line.rsplit(" ", 1)
                self.metrics[key] = float(value)
        self.step_metric = next(value for key, value in self.metrics.items() if key.startswith("strata_step_seconds"))
        self.explained = json.loads(ran("explain", recording, "--json").stdout)
        self.told = ran("explain", recording).stdout
        self.compared = None
        made = ran("compare", recording, recording, "--json", folder / "same.json")
        if made.returncode in (0, 3) and (folder / "same.json").exists():
            self.compared = json.loads((folder / "same.json").read_text(encoding="utf-8"))

    def check(self):
        for part in (
            self.check_account,
            self.check_period,
            self.check_findings,
            self.check_shares,
            self.check_idle,
            self.check_words,
            self.check_tables,
            self.check_sums,
            self.check_kernels,
            self.check_memory,
            self.check_counters,
            self.check_metrics,
            self.check_comparison,
        ):
            part()

    def that(self, ok, text):
        that(ok, f"{self.name}: {text}")

    # The page as people see it says the same.
    def check_dom(self, browser):
        browser.open(self.folder / "report.html", 1400, False)
        step, account = self.findings["step"], self.findings["account"]
        shown = flat(browser.run("document.getElementById('main').innerText"))
        for other in ("in no range", "no range launched it", "between ranges", "No rule found anything wrong"):
            self.that(other not in shown, f"the page: {other}")
        if "llama" not in self.page["environment"]["command"]:
            said = shown  # but for problems, which are as they were recorded
            for problem in self.page["problems"]:
                said = said.replace(flat(problem)[1:], "")  # it begins a sentence
            self.that("GGML_CUDA" not in said, "the page has llama.cpp's variable for another program")
        self.that(flat(account["text"]) in shown, "the page: another account")
        if self.findings["next"]["tells_more"] and self.page["traced"]:
            self.that(flat(self.findings["next"]["command"]) in shown, "the page: another next command")
        shares = browser.run(
            "[...document.querySelectorAll('[aria-label=\"Cost of Strata\"] tbody td:last-child')].map(e => e.textContent)"
        )
        known = sum(float(share.strip("< %").replace(",", "")) for share in shares if share and "<" not in share)
        self.that(known <= 100, f"the page: Strata cost {shares} of the recorded time")
        started = browser.run(
            "[...document.querySelectorAll('[aria-label=\"Cost of Strata\"] tbody tr')].filter(e => e.cells[0].textContent === 'to start').map(e => e.cells[2].textContent)"
        )
        self.that(not any(started), f"the page: the start of Strata is {started} of a time that it is no part of")
        self.check_tiles(browser)
        self.check_icicle(browser)
        self.check_dom_ranges(browser)
        self.check_dom_findings(browser)
        if not browser.run("!!document.querySelector('.budget')"):
            return
        names = browser.run("[...document.querySelectorAll('.parts li')].filter(e => e.querySelector('i.idle')).map(e => e.querySelector('.what').textContent)")
        for name in names:
            self.that(name == "cause not recorded" or name in account["text"] or "others " in account["text"],
                      f"the page: idle time is called {name}, in the account: {account['text']}")
        parts = browser.run(
            "[...document.querySelectorAll('.budget > span')].map(e => [e.classList.contains('idle'), Number(e.dataset.ns)])"
        )
        idle = sum(ns for is_idle, ns in parts if is_idle)
        self.that(near(idle, self.idle(), 1e-3), f"the page's bar has {idle} ns idle, the account {self.idle()}")
        self.that(near(sum(ns for _, ns in parts), step["period_ns"], 0.01), "the page's bar is no period")
        helps = browser.run(
            """[...document.querySelectorAll('.parts li')].map(e => [e.querySelector('i').classList.contains('idle'),
            ...[...e.querySelectorAll('[data-finding]')].map(h => [Number(h.dataset.finding), Number(h.dataset.gain)])])"""
        )
        credited = collections.Counter()
        for is_idle, *found in helps:
            for number, gain in found:
                credited[number] += gain
        for number, gain in credited.items():
            one = self.findings["findings"][number - 1]
            self.that(gain <= one["gain_ns_per_step"] * 1.001, f"the page: parts gain {gain} by {one['rule']}, all {one['gain_ns_per_step']}")
        for is_idle, *found in helps:
            for number, gain in found:
                finding = self.findings["findings"][number - 1]
                of_kernels = finding["part"] in ("kernels", "none")
                both = finding["part"] == "copies"  # wait for them, and run them
                self.that(both or of_kernels != is_idle, f"the page: {finding['rule']} is of {'idle' if is_idle else 'busy'} time")
                self.that(gain <= finding["gain_ns_per_step"] * 1.001, f"the page: {finding['rule']} gains {gain}")
        if self.page.get("launches_graphs"):
            general = browser.run("[...document.querySelectorAll('.parts .helps')].map(e => e.textContent).join(' ')")
            self.that("a CUDA graph," not in general, "the page: a graph for a program that replays one")
        uses = browser.run(
            """typeof unitsOf === 'undefined' ? [] : folded.rows.slice(1).map(row =>
            [row.path, (unitsOf(row).find(bar => bar.name === 'L2') || {}).use, level2Traffic(row).share])"""
        )
        for path, unit, traffic in uses:
            if unit is not None and traffic is not None:
                self.that(abs(traffic - unit) <= 1, f"{path}: L2 moves {traffic} % of its peak, and is used for {unit} %")

    # The first screen has the step, the tokens and the memory of findings.json and profile.json.
    def check_tiles(self, browser):
        step = self.findings["step"]
        tiles = dict(browser.run("[...document.querySelectorAll('.tile')].map(t => [t.children[0].textContent, t.children[1].textContent])"))
        for name, ns in (("Step time", step["usual_ns"]), ("Step, as a period of the GPU", step["usual_ns"]), ("Period", step["period_ns"]),
                         ("First step", step["first_ns"])):
            if name in tiles and time_text(ns):
                self.that(tiles[name] == time_text(ns), f"the page: {name} {tiles[name]}, not {time_text(ns)}")
        if "Tokens/s" in tiles:
            self.that(tiles["Tokens/s"].replace(",", "") == f"{step['tokens_per_second']:.0f}" or step["tokens_per_second"] < 1000,
                      f"the page: {tiles['Tokens/s']} tokens/s, not {step['tokens_per_second']}")

    # A box says what its share is of, and the whole has the ranges that are not on the page.
    def check_icicle(self, browser):
        boxes = browser.run("[...document.querySelectorAll('#icicle-figure rect')].map(e => e.getAttribute('aria-label'))")
        for text in boxes:
            self.that("% of all " in text, f"the page: a share of what? {text}")
        root = next(row for row in self.ranges if row["path_id"] == "0")
        if not boxes or self.findings["step"]["from_steps"] or not root["gpu_kernel_ns"]:
            return
        note = browser.run("document.querySelector('#icicle [role=status]').textContent")
        whole = time_text(int(root["gpu_kernel_ns"]) + int(root["gpu_copy_ns"]))
        if "by GPU time" in note and whole:
            self.that(f": {whole}, 100 %" in note, f"the page: {note} ranges.csv has {whole}")

    # The table of ranges has the time and the share that strata explain has.
    def check_dom_ranges(self, browser):
        rows = browser.run("""[...document.querySelectorAll('#range-rows tbody tr')].map(r => [folded.rows[r.querySelector('.pick').dataset.place].path,
            Object.fromEntries([...r.cells].map(c => [r.closest('table').tHead.rows[0].cells[c.cellIndex].textContent, c.textContent]))])""")
        explained = {row["path"]: row for row in self.explained["ranges"]}
        for path, cells in rows:
            row = explained.get(path)
            if row is None or row["share"] is None or row.get("thread"):
                continue
            share = next((text for name, text in cells.items() if name.startswith("% of ")), "")
            if share and not share.startswith("<"):
                self.that(abs(float(share.strip("% ")) - 100 * row["share"]) < 0.06, f"the page: {path} has {share} %, explain {row['share']}")

    # Each finding has its number and its words.
    def check_dom_findings(self, browser):
        shown = browser.run("[...document.querySelectorAll('.findings > li')].map(e => [e.id, e.textContent])")
        for name, text in shown:
            one = self.findings["findings"][int(name.split("-")[1]) - 1]
            for words in (one["title"], one["prediction"]):
                self.that(flat(words)[1:] in flat(text), f"the page: {name} is not {one['rule']}: {words}")

    # The phrases that the outputs use as categories.
    def phrases(self):
        account, findings = self.findings["account"], self.findings["findings"]
        for part in account["parts"]:
            yield part["kind"]
            yield part["name"]
        yield from re.findall(r"(?:^A \w+ of [\d.]+ \w+ is |; )[\d.]+ \w+ ([a-z ]+) \(", account["text"])
        yield from re.findall(r"[:,] ([A-Za-z][A-Za-z ]+?) [\d.]+ [mun]?s\b", re.sub(r"(of finding) \d+", r"\1", account["text"]))
        for one in findings:
            yield one["rule"]
            yield one["cause"]
            for item in one["evidence"]:
                yield words_of(item["text"])
        for limit in self.findings["limits"]:
            yield re.sub(r" and .*", "", limit["limiter"])
        head = self.findings["bound"].split(": ")[0]
        if ": " in self.findings["bound"] and len(head) < 20:
            yield head
        for row in (self.compared or {}).get("period", {}).get("rows", []):
            if row["kind"] != "range":
                yield row["label"]

    # One account, whose parts add up.
    def check_account(self):
        account = self.findings["account"]
        sums = {kind: 0.0 for kind in ("at a hardware limit", "explained", "unknown", "idle", "between")}
        for part in account["parts"]:
            self.that(part["ns"] > 0, f"a part is {part['ns']}")
            self.that(part["kind"] != "unknown" or part["tells"], f"nothing tells of {part}")
            self.that(
                part["finding"] is None or part["finding"] <= len(self.findings["findings"]), f"no finding: {part}"
            )
            sums[part["kind"]] += part["ns"]
        for kind, key in zip(sums, ("at_roof_ns", "explained_ns", "unknown_ns", "idle_ns", "idle_between_ns")):
            self.that(near(sums[kind], account[key], 1e-3), f"{kind}: {sums[kind]} and {account[key]}")
        if account["parts"]:
            self.that(near(sum(sums.values()), account["period_ns"], 0.01), f"the account does not close: {sums}")
        self.that(
            near(account["step_ns"] + account["between_ns"], account["period_ns"]),
            "step and time between are no period",
        )
        on_page = self.page["answer"]["account"]
        for key, value in on_page.items():
            self.that(same(value, account[key]), f"account on the page: {key} {value}, {account[key]}")
        if self.page["answer"]["step"]["gpu_busy_ns"]:
            budget = {key: sum(self.page["budget"][key][2::4]) for key in ("busy", "idle", "between")}
            self.that(
                near(budget["busy"], sums["at a hardware limit"] + sums["explained"] + sums["unknown"], 1e-3), f"budget: {budget}"
            )
            self.that(near(budget["idle"], sums["idle"], 1e-3), f"budget: {budget}, {sums}")
            self.that(near(budget["between"], sums["between"], 1e-3), f"budget: {budget}, {sums}")
        for key in ("text", "unknown"):
            sentence = account[key]
            self.that(
                self.explained["account" if key == "text" else key] == sentence[:600] or len(sentence) > 290,
                f"explain: another {key}",
            )
            self.that(flat(sentence) in flat(self.console), f"console: another {key}: {sentence}")
            self.that(html.escape(sentence, quote=False) in self.page_text, f"the page without script: another {key}")

    # One step length and one period.
    def check_period(self):
        step, on_page = self.findings["step"], self.page["answer"]["step"]
        for key in step:
            self.that(same(step[key], on_page[key]), f"page: {key} of the step is {on_page[key]}, not {step[key]}")
        self.that(
            near(step["usual_ns"] + step["between_ns"], step["period_ns"]), "usual step and time between are no period"
        )
        self.that(
            self.explained["period_ns"] == step["period_ns"] == self.findings["account"]["period_ns"], "the period"
        )
        if not step["from_steps"]:
            return
        head = flat(self.console[:2000])
        shown = time_text(step["usual_ns"])
        self.that(shown is None or f"step {shown}" in head, f"console: step {shown}")
        self.that(shown is None or self.explained["step"].startswith(f"step {shown}"), f"explain: step {shown}")
        if step["tokens_per_second"]:
            self.that(
                near(step["tokens"] / step["period_ns"] * 1e9, step["tokens_per_second"], 1e-3),
                "tokens a second are not of the period",
            )
            self.that(
                f"{step['tokens_per_second']:,.0f} tokens/s" in head or step["tokens_per_second"] < 1000,
                "console: other tokens/s",
            )
        if step["usual_ns"] < step["mean_ns"]:  # recording slows steps
            self.that(
                flat(self.console).count("without recording, which takes") == 1,
                "console: what recording slows is not said once",
            )
            self.that(
                self.told.count("without recording, which takes") == 1, "explain: what recording slows is not said once"
            )
            self.that(
                "Values are of a mean recorded step" in flat(self.console), "console: recorded amounts are not marked"
            )

    # A finding has the same number, words and amounts everywhere.
    def check_findings(self):
        mine, period = self.findings["findings"], self.findings["step"]["period_ns"]
        for i, (one, shown) in enumerate(zip(mine, self.page["answer"]["findings"])):
            for key in one.keys() & shown.keys() - {"ranges", "evidence"}:
                self.that(same(one[key], shown[key]), f"page: {key} of finding {i + 1} is {shown[key]}, not {one[key]}")
        for i, (one, told) in enumerate(zip(mine, self.explained["findings"])):
            for key in ("rule", "cost_ns_per_step", "predicted_step_ns", "gain_ns_per_step"):
                self.that(one[key] == told[key], f"explain: {key} of finding {i + 1}")
            self.that(f"finding {i + 1}" in self.told, f"explain: no number {i + 1}")
        for number, rule in re.findall(r"^finding (\d+): ([\w-]+):", self.console, re.M):
            self.that(mine[int(number) - 1]["rule"] == rule, f"console: finding {number} is {rule}")
        for one in mine:
            costs = sum(item["cost_ns_per_step"] for item in one["ranges"])
            self.that(
                costs <= one["cost_ns_per_step"] * 1.001,
                f"{one['rule']}: its ranges cost {costs}, all {one['cost_ns_per_step']}",
            )
            self.that(one["cost_ns_per_step"] <= period * 1.001, f"{one['rule']} costs more than all")
            self.that(one["gain_ns_per_step"] <= period * 1.001, f"{one['rule']} gains more than all")
            if one["predicted_step_ns"] is not None:
                self.that(
                    near(one["predicted_step_ns"] + one["gain_ns_per_step"], period, 1e-3),
                    f"{one['rule']}: prediction and gain",
                )
            idle = sum(
                item["value"] for item in one["evidence"] if item["column"] in ("gpu_idle_ns", "gpu_idle_between_ns")
            )
            self.that(idle <= self.idle() * 1.001, f"{one['rule']}: evidence of {idle} ns idle, in all {self.idle()}")
            said = re.search(r"idle for ([\d.]+ \w+) of a", one["title"])
            shown = {item["path"] for item in one["evidence"]}
            if said and time_text(idle):
                rest = sum(item["cost_ns_per_step"] for item in one["ranges"] if item["path"] not in shown)
                self.that(
                    any(time_text(ns) == said.group(1) for ns in (idle, idle + rest)),
                    f"{one['rule']}: {said.group(1)} in the title, {time_text(idle)} in the evidence and {rest} ns of other ranges",
                )
        together = self.findings["together"]["prediction"]
        self.that(together == self.page["answer"]["together"]["prediction"] == self.explained["together"], "together")
        self.that(not together or f"together: {together}" in flat(self.console), "console: together")
        passed = re.search(r"With these fixed, (.*) gains? less than alone", together or "")
        for number in re.findall(r"(\d+) \([a-z-]+", passed.group(1)) if passed else ():
            one = mine[int(number) - 1]
            self.that(one["shortens_step"] and one["gain_ns_per_step"] > 0, f"together: {one['rule']} gains nothing alone")

    def idle(self):
        return self.findings["account"]["idle_ns"] + self.findings["account"]["idle_between_ns"]

    # No share exceeds its whole, and a share of the step is one of the period.
    def check_shares(self):
        busy, period = {}, self.findings["step"]["period_ns"]
        for row in self.explained["ranges"]:
            busy[row["path"]] = row
            if row["share"] is not None:
                self.that(0 < row["share"] <= 1, f"{row['path']} has {row['share']} of the step")
                has_gpu = self.page["traced"] and (self.page["answer"]["step"]["gpu_busy_ns"] or 0) > 0
                self.that(
                    not has_gpu or near(row["time_ns"] / period, row["share"], 1e-3),
                    f"{row['path']}: a share of another step",
                )
        for limit in self.findings["limits"]:
            for use in limit.get("use", []):
                self.that(0 <= use["part"] <= 1, f"{limit['path']}: {use}")
        header = next(
            (line for line in self.console.splitlines() if re.match(r"range .*% of (step|run|period)", line)), None
        )
        if header is None:
            return
        share_end = re.search(r"% of (step|run|period)", header).end()
        busy_end = header.index("GPU busy") + len("GPU busy") if "GPU busy" in header else 0
        for line in self.console[self.console.index(header) :].split("\n\n")[0].splitlines():  # other tables have other columns
            name = line.split("  ")[0].strip()
            row = next((row for path, row in busy.items() if path == name), None)
            shown = re.search(r"([\d.]+)$", line[:share_end])
            if row is None or not shown or row["share"] is None or not busy_end:
                continue
            self.that(
                abs(float(shown.group(1)) - 100 * row["share"]) < 0.06,
                f"{name}: {shown.group(1)} % on the console, explain {row['share']}",
            )
        head = re.search(r"GPU busy [\d.]+ \w+ \(([\d.]+) %\)", flat(self.console))
        account = self.findings["account"]
        if head and account["parts"]:
            part = 1 - self.idle() / account["period_ns"]
            self.that(
                abs(float(head.group(1)) - 100 * part) < 0.06, f"console: {head.group(1)} % busy, the account {part}"
            )
            said = re.search(r"busy (\d+) % of the (?:step|period)", self.findings["bound"])
            self.that(
                not said or abs(int(said.group(1)) - 100 * part) <= 0.6,
                f"the answer: {self.findings['bound']}, the account {part}",
            )

    # Idle time by cause is that of the account, and so is the time in which the GPU was busy.
    def check_idle(self):
        step, account = self.findings["step"], self.findings["account"]
        busy = [value * 1e9 for key, value in self.metrics.items() if key.startswith("strata_step_gpu_busy_seconds")]
        if account["parts"] and all(part["name"] in ("times lost", "not traced") for part in account["parts"]):
            self.that(not busy and not self.findings["idle"] and not self.findings["idle_between"], f"idle time of a GPU whose times are not known: {busy}")
            self.that(self.page["traced"] is False or (step["gpu_busy_ns"], step["gpu_idle_ns"]) == (None, None), f"a GPU whose times are not known: {step}")
            self.that(account["idle_ns"] == account["idle_between_ns"] == 0, f"idle in the account: {account}")
        elif account["parts"]:
            of_account = account["period_ns"] - self.idle()
            for where, ns in (("findings.json", step["gpu_busy_ns"]), *(("metrics", ns) for ns in busy)):
                self.that(near(ns, of_account, 1e-3), f"{where}: the GPU is busy for {ns} ns, in the account for {of_account}")
            self.that(near(step["gpu_idle_ns"], self.idle(), 1e-3) or abs(step["gpu_idle_ns"] - self.idle()) < 1, f"findings.json: idle {step['gpu_idle_ns']}, the account {self.idle()}")
        for key, whole in (("idle", "idle_ns"), ("idle_between", "idle_between_ns")):
            known = sum(item["ns"] for item in self.findings[key])
            self.that(
                known <= self.idle() * 1.01 or self.findings["step"]["period_of_gpu"],
                f"{key}: {known} of {self.findings['account'][whole]}",
            )

    # A place and a column have one name, for people.
    def check_words(self):
        outputs = {
            "console": flat(self.console),
            "explain": flat(self.told),
            "page": json.dumps(self.page["answer"]["findings"]),
        }
        for where, text in outputs.items():
            for other in ("in no range", "no range launched it", "1 more findings"):
                self.that(other not in text, f"{where}: {other}")
        for one in self.findings["findings"]:
            for item in one["evidence"]:
                self.that(
                    "_" not in item["column"] or item["column"] not in item["text"],
                    f"evidence has the name of a column: {item['text']}",
                )
        self.that("in all:" not in self.console, "console: in all")

    # Files of the whole run.
    def check_tables(self):
        rows = {row["path_id"]: row for row in self.ranges}
        for row in self.profile["ranges"]:
            other = rows[str(row["path_id"])]
            for key in ("calls", "host_total_ns", "gpu_busy_ns", "kernels", "gpu_kernel_ns"):
                value = row.get(key)
                self.that(
                    other[key] == ("" if value is None else str(value)),
                    f"{row['path']}: {key} {value} in profile.json, {other[key]} in ranges.csv",
                )
            above = rows.get(other["parent_path_id"])
            for key in ("kernels", "gpu_kernel_ns", "gpu_busy_ns"):
                if above and above[key] and other[key]:
                    self.that(
                        int(other[key]) <= int(above[key]), f"{row['path']}: {key} exceeds that of the range around it"
                    )

    # What a range has is its own and that of the ranges in it.
    def check_sums(self):
        below = collections.defaultdict(list)
        for row in self.ranges:
            below[row["parent_path_id"]].append(row)
        for row in self.ranges:
            for key in ("kernels", "gpu_kernel", "copies", "gpu_copy", "launches", "launch"):
                end = "_ns" if key in ("gpu_kernel", "gpu_copy", "launch") else ""
                whole, own = row[key + end], row[f"{key}_self{end}"]
                if not whole or not own:
                    continue
                parts = int(own) + sum(int(each[key + end]) for each in below[row["path_id"]])
                self.that(parts == int(whole), f"{row['path']}: {key} are {whole}, their parts {parts}")

    # kernels.csv has the kernels of ranges.csv, profile.json and the page.
    def check_kernels(self):
        amounts = collections.defaultdict(lambda: [0, 0])
        for row in self.kernels:
            amounts[row["path_id"]][0] += int(row["count"])
            amounts[row["path_id"]][1] += int(row["total_ns"])
        for row in self.ranges:
            if row["kernels_self"]:
                mine = [int(row["kernels_self"]), int(row["gpu_kernel_self_ns"])]
                self.that(amounts[row["path_id"]] == mine, f"{row['path']}: kernels.csv {amounts[row['path_id']]}, ranges.csv {mine}")
        self.that(len(self.kernels) == len(self.profile["kernels"]), "profile.json has other kernels")
        for row, other in zip(self.kernels, self.profile["kernels"]):
            for key in ("path_id", "kernel", "count", "total_ns", "min_ns", "max_ns"):
                self.that(row[key] == str(other[key]), f"kernels.csv: {key} {row[key]}, profile.json {other[key]}")
        page = {"count": 0, "total_ns": 0}
        for row in self.page["kernels"]["rows"]:
            kernel = {**self.page["kernel_same"], **dict(zip(self.page["kernel_columns"], row))}
            for key in page:
                page[key] += kernel[key]
        page["total_ns"] += self.page["kernels"]["rest_ns"]
        if self.page["kernels"]["total"] > len(self.page["kernels"]["rows"]):
            del page["count"]  # of the others it has the time
        for key, value in page.items():
            whole = sum(int(row[key]) for row in self.kernels)
            self.that(same(value, whole), f"the page's kernels: {key} {value}, kernels.csv {whole}")

    # The peak of the memory is that of its allocations.
    def check_memory(self):
        if "memory" not in self.profile:
            return
        changes = []
        for row in self.memory:
            if row["kind"] in ("device", "managed", "array", "device_static", "managed_static"):
                changes.append((int(row["allocated_at_ns"]), int(row["bytes"])))
                if row["released_at_ns"]:
                    changes.append((int(row["released_at_ns"]), -int(row["bytes"])))
        live = peak = 0
        for _, change in sorted(changes):
            live += change
            peak = max(peak, live)
        said = self.profile["memory"]["peak_bytes"]
        self.that(said == peak, f"the peak of profile.json is {said}, of memory.csv {peak}")
        if "memory" in self.page:
            self.that(self.page["memory"]["peak_bytes"] == said, "the page has another peak of the memory")
        metric = [value for key, value in self.metrics.items() if key.startswith("strata_memory_peak_bytes")]
        self.that(not metric or metric == [said], f"metrics: a peak of {metric}, not {said}")

    # Two tables of the counted values and profile.json say the same; no hit rate, no use exceeds 100 %.
    def check_counters(self):
        if not self.counters:
            return
        metrics = list(dict.fromkeys(row["metric"] for row in self.counters))  # in the order of the columns, whose names have units
        wide = {(row["path_id"], metric): value for row in self.wide for metric, value in zip(metrics, list(row.values())[3:])}
        self.that(all(len(row) == len(metrics) + 3 for row in self.wide), "counters_wide.csv has other metrics")
        units = {each["key"]: each["unit"] for each in self.profile["counters"]["metrics"]}
        totals = {str(each["path_id"]): each["total"] for each in self.profile["counters"]["values"]}
        for row in self.counters:
            if row["scope"] != "total":
                continue
            where = f"{row['path']}: {row['metric']}"
            self.that(row["value"] == wide[row["path_id"], row["metric"]], f"{where}: two tables have two values")
            value = (totals.get(row["path_id"]) or {}).get(row["metric"])
            self.that(same(float(row["value"] or "nan"), value) if value is not None and row["value"] else not row["value"] and value is None,
                      f"{where}: {row['value']} in counters.csv, {value} in profile.json")
            is_part = units.get(row["metric"]) == "%" and row["value"]
            self.that(not is_part or 0 <= float(row["value"]) <= 100.5, f"{where}: {row['value']} %")

    def check_metrics(self):
        step = self.findings["step"]
        # Of each range what explain and ranges.csv have.
        explained = {row["path"]: row for row in self.explained["ranges"]}
        for key, value in self.metrics.items():
            found = re.match(r'strata_range_gpu_busy_seconds\{.*range="([^"]*)"', key)
            row = found and explained.get(found.group(1))
            is_busy_time = self.page["traced"] and (step["gpu_busy_ns"] or 0) > 0 and not step["usual_ns"] < step["mean_ns"]
            if row and row["share"] is not None and is_busy_time:
                self.that(near(value * 1e9, row["time_ns"], 1e-3), f"{found.group(1)}: {value} s in the metrics, explain {row['time_ns']} ns")
        said = [value for key, value in self.metrics.items() if key.startswith("strata_tokens_per_second")]
        self.that(not said or f"{said[0]:,.0f}" == f"{step['tokens_per_second']:,.0f}", f"metrics: {said} tokens/s, findings.json {step['tokens_per_second']}")
        self.that(near(self.step_metric * 1e9, step["mean_ns"]), "metrics: another step")
        unrecorded = [value for key, value in self.metrics.items() if key.startswith("strata_step_unrecorded_seconds")]
        usual = [step["usual_ns"]] if step["usual_ns"] < step["mean_ns"] else []
        self.that(len(unrecorded) == len(usual) and all(near(a * 1e9, b) for a, b in zip(unrecorded, usual)), f"metrics: {unrecorded} unrecorded, {usual}")
        gains = {
            one["rule"]: one["gain_ns_per_step"] for one in reversed(self.findings["findings"]) if one["shortens_step"]
        }
        for key, value in self.metrics.items():
            rule = re.match(r'strata_finding_gain_seconds\{.*rule="([\w-]+)"', key)
            if rule:
                self.that(
                    near(value * 1e9, gains.get(rule.group(1), -1), 1e-3),
                    f"metrics: {key} {value}, findings.json {gains}",
                )

    # A run is as long as itself, and each of its times is that of its reports.
    def check_comparison(self):
        if self.compared is None or self.compared["step"].get("before_ms") is None:
            return
        if any(part["name"] == "times lost" for part in self.findings["account"]["parts"]):
            self.that(self.compared["verdict"] == "inconclusive" and "lost all its GPU times" in self.compared["reason"], f"all times lost: {self.compared['reason']}")
            self.that(not self.compared["period"]["rows"] and not self.compared["step"]["comparable"], "all times lost, and rows of the period")
            return
        step, period = self.compared["step"], self.compared["period"]
        self.that(step["before_ms"] == step["after_ms"], f"compared with itself: {step}")
        of_gpu = self.findings["step"]["period_of_gpu"]
        self.that((step["before_of_gpu"], step["after_of_gpu"]) == (of_gpu, of_gpu), f"its steps are periods of the GPU: {of_gpu}, {step}")
        for row in (*period["rows"], *self.compared["ranges"]):
            self.that(row["before_ms"] == row["after_ms"], f"compared with itself: {row}")
        if not period["rows"]:
            return
        self.that(near(sum(row["before_ms"] for row in period["rows"]), period["before_ms"], 1e-3), "its rows are no period")
        mine = self.findings["step"]
        if not mine["between_ns"] or not mine["period_of_gpu"]:
            self.that(near(step["before_ms"] * 1e6, mine["p50_ns"], 1e-3), f"a median step of {step['before_ms']} ms, not {mine['p50_ns']} ns")
        explained = {row["path"]: row for row in self.explained["ranges"]}
        for row in self.compared["ranges"]:
            other = explained.get(row["path"])
            if other and other["share"] is not None and row["time"] == "gpu" and not row.get("once"):
                self.that(near(row["before_ms"] * 1e6, other["time_ns"], 1e-3), f"{row['path']}: {row['before_ms']} ms in the comparison, explain {other['time_ns']} ns")
        says_recorded = any("which recording makes longer" in note for note in self.compared["notes"])
        self.that(says_recorded == (mine["usual_ns"] < mine["mean_ns"]), f"the comparison of recorded steps: {self.compared['notes']}")
        if not mine["usual_ns"] < mine["mean_ns"]:
            self.that(near(period["before_ms"] * 1e6, mine["period_ns"], 0.01), f"a period of {period['before_ms']} ms, not {mine['period_ns']} ns")


folder = pathlib.Path("recordings")
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir()
made = subprocess.run(
    [str(tests), "--source-file=*/unit/account_test.cpp", "--test-case=recordings for the test of outputs"],
    capture_output=True,
    text=True,
    check=False,
    env={**environment, "STRATA_TEST_RECORDINGS": str(folder.resolve())},
)
that(made.returncode == 0, made.stdout)
recordings = sorted((root / "examples/report").glob("*.strata")) + sorted(folder.glob("*.strata"))
that(len(recordings) >= 30, f"recordings are missing: {len(recordings)}")


def check_ranges_of_pair(pair, compared, console):
    """A range whose kernels are a row of the period has the times and the noise of that row."""
    by_period = {row["name"]: row for row in compared["period"]["rows"] if row["kind"] == "range"}
    paths = [row["path"] for row in compared["ranges"]]
    both = 0
    for row in compared["ranges"]:
        inner = any(path.startswith(row["path"] + "/") for path in paths)
        other = by_period.get(row["path"])
        if other is None or inner or row.get("trimmed") or row["judged_by"] != "gpu":
            continue
        both += 1
        for key in ("before_ms", "after_ms"):
            that(near(row["judged_" + key], other[key], 1e-3), f"{pair}: {row['path']} takes {row['judged_' + key]} and {other[key]} ms")
        that(row["noise"] == other["noise"], f"{pair}: the noise of {row['path']} is {row['noise']} and {other['noise']}")
        that(not (other["changed"] and row["verdict"] == "unsure" and row["before_ms"] > row["after_ms"]), f"{pair}: {row['path']} is unsure and changed")
        lines = [line for line in console.splitlines() if re.search(rf" {re.escape(row['path'])}( \(GPU\)|;| \(within|$)", line)]
        said = {found.group() for found in (re.search(r"[-+][\d.]+ % \+-[\d.]+", line) for line in lines) if found}
        that(len(said) <= 1, f"{pair}: one change, two texts: {lines}")
    that(both > 1, f"{pair}: no range is a row of the period")


def check_rows_of_console(pair, rows, console):
    """Rows of the JSON are the lines of the console, those of idle time too."""
    lines = console[console.index("row (mean ms of a period") :].splitlines()
    shown = [row for row in rows if abs(row["after_ms"] - row["before_ms"]) >= 0.00005][:12]
    for row in shown:
        start = f"{row['after_ms'] - row['before_ms']:+.4f} {row['before_ms']:.4f} {row['after_ms']:.4f} "
        that(any(flat(line).startswith(start) and row["label"] in line for line in lines), f"{pair}: the console has no row {row['label']}: {start}")
    that(any(row["kind"] == "idle" for row in shown), f"{pair}: no idle time among the rows")


def check_pairs(all_outputs):
    """A comparison names the largest part of the whole change, and no factor where nothing is common."""
    runs = {one.name: one for one in all_outputs}
    for before, after in (("gpt2-eager", "gpt2-fused"), ("gpt2-fused", "gpt2-memory"), ("pytorch-training", "pytorch-attention"),
                          ("llama-decode", "gpt2-fused")):
        pair = f"{before} and {after}"
        files = [root / f"examples/report/{name}.strata" for name in (before, after)]
        written = pathlib.Path("outputs") / "pair"
        done = ran("compare", *files, "--json", f"{written}.json", "--markdown", f"{written}.md", "--html", f"{written}.html")
        compared = json.loads(pathlib.Path(f"{written}.json").read_text(encoding="utf-8"))
        text, period = flat(done.stdout), compared["period"]
        if before == "llama-decode":
            that("faster" not in text and "times as long" not in text and not period["rows"], f"{pair} have nothing in common: {text[:300]}")
            continue
        rows = period["rows"]
        for side in ("before_ms", "after_ms"):
            that(near(sum(row[side] for row in rows), period[side], 1e-3), f"{pair}: the rows are no period {side}")
            if (side == "before_ms") == (before in runs) and before in runs:
                mine = runs[before].findings["step"]
                if not mine["usual_ns"] < mine["mean_ns"]:
                    that(near(period["before_ms"] * 1e6, mine["period_ns"], 0.01), f"{pair}: another period before")
        check_ranges_of_pair(pair, compared, done.stdout)
        check_rows_of_console(pair, rows, done.stdout)
        changed = [row for row in rows if row["changed"]]
        most = max(changed, key=lambda row: abs(row["after_ms"] - row["before_ms"]), default=None)
        markdown = flat(pathlib.Path(f"{written}.md").read_text(encoding="utf-8"))
        page = pathlib.Path(f"{written}.html").read_text(encoding="utf-8")
        if most:
            that(f"changed most: {most['label']}, " in text, f"{pair}: {most['label']} changed most: {text[-400:]}")
            that("Changed most: " in markdown, f"{pair}: Markdown does not say what changed most")
        for row in rows:
            that(not (row["changed"] and row["within_noise"]), f"{pair}: {row['label']} changed within noise")
            that(f'"label":{json.dumps(row["label"])}' in page, f"{pair}: the page has no row {row['label']}")
        if before == "gpt2-eager":
            that(done.returncode == 0 and most["kind"] == "idle", f"{pair}: {done.returncode}, {most}")
            that("latency: long scoreboard before, issue" in text, f"{pair}: causes of both sides are not named")
    # What is of the device alone is the same in all of its runs.
    for key in ("mfu_peak", "mbu_peak"):
        peaks = {runs[name].findings["step"][key] for name in ("gpt2-eager", "gpt2-fused", "gpt2-memory")}
        that(len(peaks) == 1, f"{key} differs by run: {peaks}")


topics = set()
seen = []
browser = Browser(find_browser(), str(pathlib.Path("browser").resolve())) if find_browser() else None
if browser:
    browser.start()
else:
    print("LEFT OUT: the page as people see it: no browser here")
for each in recordings:
    outputs = run_outputs(each)
    outputs.check()
    if browser:
        outputs.check_dom(browser)
    topics.update(outputs.phrases())
    seen.append(outputs)
if browser:
    browser.end()
check_pairs(seen)
# Each phrase that an output uses as a category is explained.
topics.discard("")
that(len(topics) > 60, f"few phrases were found: {sorted(topics)}")
for topic in sorted(topics):
    that(ran("help", topic).returncode == 0, f"strata help {topic}: {ran('help', topic).stderr}")
end(f"{checks} checks of {len(recordings)} recordings")
