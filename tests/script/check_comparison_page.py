#!/usr/bin/env python3
"""Checks the page of compare --html in a browser: check_comparison_page.py [--firefox] [PAGE.html...]. Without a file it makes pages of changed
copies of a golden profile: slower, with counters and three runs a side, with hostile names, 600 ranges, without steps or a GPU;
and of the profiles in examples/compare.

What the page shows are the numbers of compare --json: the step, each bar, each factor, each column of a range. It is checked in a
browser as check_page.py does with report.html. Exit status: 0, or 1 with what is wrong; 77 without a browser or without compare.
"""
import copy
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import check_page

root = check_page.root
SECTIONS = ["headline", "notes", "waterfall", "changes", "factors", "range", "only", "runs"]
IN_FIREFOX = ("slower", "hostile")
HOSTILE = "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\"> and a name that has no end " + "x" * 80


def factor(before, after):
    """As the page writes it: four digits that count."""
    if before <= 0:
        return "new" if after > 0 else ""
    v = after / before
    if v >= 100:
        return f"{math.floor(v + .5):,}"
    return f"{v:.1f}" if v >= 10 else f"{v:.3f}" if v >= .0995 else f"{float(f'{v:.3g}'):g}" if v > 0 else "0"


def near(shown, wanted):
    """Whether a factor is the other, to the last digit."""
    number = re.fullmatch(r"[\d.,e-]+", shown) and float(shown.replace(",", ""))
    if not isinstance(number, float) or not re.fullmatch(r"[\d.,e-]+", wanted):
        return shown == wanted
    return abs(number - float(wanted.replace(",", ""))) <= .004 * abs(number) + 1e-9  # ties are rounded either way


class Comparison(check_page.Page):
    def __init__(self, browser, path, result, wrong):
        super().__init__(browser, path, wrong)
        self.result = result

    def texts(self, selector):
        return self.run(f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.textContent)")

    def range(self, title):
        """The range of the result with this title, and its judged times."""
        each = next(r for r in self.result["ranges"] if title.startswith(r["path"] + " ("))
        judged = each["verdict"] != "unjudged"
        times = [each["judged_before_ms"], each["judged_after_ms"]] if judged else [each["before_ms"], each["after_ms"]]
        return each, times

    def check_data(self):
        """The page has the JSON, with six digits and the first of long lists."""
        def same(a, b, where):
            if isinstance(b, (int, float)):
                self.expect(abs(a - b) <= 5.1e-6 * abs(b), f"{where}: {a} and {b}")
            elif isinstance(b, dict):
                self.expect(list(a) == list(b), f"{where}: {list(a)}")
                for key in b:
                    same(a[key], b[key], f"{where}.{key}")
            elif isinstance(b, list):
                self.expect(len(a) == min(len(b), 300) or where.endswith(("steps_ms", "columns_before", "columns_after")), f"{where} has {len(a)} of {len(b)}")
                for i, each in enumerate(a):
                    same(each, b[i], f"{where}[{i}]")
            else:
                self.expect(a == b, f"{where}: {a} and {b}")
        same(json.loads(self.run("JSON.stringify(data)")), self.result, "data")

    def check_print(self):
        """On paper a table has the columns that have room, once; of one range nothing is printed."""
        tables = "[...document.querySelectorAll('table')].filter(t => t.getClientRects().length)"
        before = self.run(tables + ".length")
        self.act("dispatchEvent(new Event('beforeprint'))")
        names = self.run(tables + ".map(t => t.parentNode.getAttribute('aria-label'))")
        self.expect("Columns of the range" not in names and names.count("Table of factors") == bool(self.result["ranges"]), f"tables on paper: {names}")
        wide = self.run("[...document.querySelectorAll('.chart svg, .scroll table')].filter(e => e.getBoundingClientRect().width > 700).map(e => e.outerHTML.slice(0, 80))")
        self.expect(not wide, f"wider than paper: {wide}")
        if self.has("#factors"):
            self.expect("Range" in self.texts("#factor-rows thead th:not([hidden])") and self.run("byId('factors').innerText.includes('On paper: the first columns')"), "paper does not say which columns it has")
        self.act("dispatchEvent(new Event('afterprint'))")
        self.expect(self.run(tables + ".length") == before and not self.has(".continued"), "the page stays as it was printed")
        if self.browser.name == "Chromium":
            rows = min(100, len(self.result["ranges"])) + len(self.result["runs"]) + len(self.result["only_before"] + self.result["only_after"])
            pages = len(re.findall(rb"/Type /Page\b(?!s)", self.browser.pdf(check_page.PAPERS["A4"])))
            self.expect(pages <= 5 + rows / 20, f"{pages} pages of A4 for {rows} rows")

    def check_order(self):
        order = self.run("[...document.querySelectorAll('main > section')].map(s => s.id)")
        self.expect(order == [each for each in SECTIONS if each in order] and {"headline", "notes", "runs"} <= set(order), f"the order of the sections: {order}")
        self.expect(("only" in order) == bool(self.result["only_before"] + self.result["only_after"]), "the ranges of one side")
        self.expect(("changes" in order) == bool(self.result["ranges"]), "the ranges")
        self.expect(self.run("[...document.querySelectorAll('nav a')].every(a => document.querySelector(a.hash))"), "a link to no section")

    def check_headline(self):
        said, step = self.run("document.getElementById('headline').innerText"), self.result["step"]
        verdict, reason, headline = (self.result[key] for key in ("verdict", "reason", "headline"))
        self.expect(verdict[1:] in said, "the verdict is not in the headline")
        self.expect(((verdict + ": " + reason)[1:] in said) == (verdict != "no regression"),
                    f"the reason of {verdict}: {said}")
        most = next((row["label"] for row in self.result["period"]["rows"] if row["changed"]), None)
        self.expect(("Changed most: " + most in said) if most else "Changed most" not in said, f"{most} changed most: {said}")
        if step["before_steps"] and step["after_steps"]:
            times = self.run(f"[time({step['before_ms']} * 1e6), time({step['after_ms']} * 1e6)]")
            self.expect(said.startswith(("The step ", "A step takes ", "No change: ")) and headline[1:] in said.split("\n")[0], f"the step: {said}")
            self.expect(f" {times[0]} before and {times[1]} after (medians)" in said, f"the times of the step: {said}")
            has_factor = any(near(each, factor(step["before_ms"], step["after_ms"])) for each in self.texts("#headline dd"))
            self.expect(has_factor == step["comparable"], "the factor of the step")
        else:
            self.expect("There are no steps on both sides" in said, f"no steps: {said}")
        if self.result["geometric_mean"]:
            self.expect(any(near(each, factor(1, self.result["geometric_mean"])) for each in self.texts("#headline dd")), "the geometric mean")
        notes = self.texts("#notes .notice")
        self.expect(notes == self.result["notes"], f"the notes: {notes}")

    def check_waterfall(self):
        """The bars lead from the period before to the period after."""
        if not self.has("#waterfall-figure"):
            self.expect(not self.result["period"]["rows"], "there is no waterfall")
            return
        ends = self.run("[...document.querySelectorAll('#waterfall-figure rect')].map(r => [Number(r.dataset.from), Number(r.dataset.to)])")
        step = self.result["period"]
        near_enough = 1e-5 * max(step["before_ms"], step["after_ms"])
        way = [ends[0][1]] + [each[0] for each in ends[1:-1]]
        wrong = [i for i, each in enumerate(way) if i and abs(each - ends[i - 1][1]) > near_enough]
        self.expect(not wrong and abs(ends[0][1] - step["before_ms"]) <= near_enough, f"the waterfall begins elsewhere: {ends}")
        self.expect(abs(ends[-2][1] - step["after_ms"]) <= near_enough and abs(ends[-1][1] - step["after_ms"]) <= near_enough, f"the waterfall ends elsewhere: {ends}")

    def check_bars(self):
        bars = "#changes-figure rect"
        for choice in (["all", "inner"] if self.has("#changes select") else [None]):
            if choice:
                self.choose("#changes select", choice)
            shown = self.run(f"[...document.querySelectorAll('{bars}')].map(r => [r.getAttribute('aria-label').split('\\n')[0], Number(r.dataset.delta), r.width.baseVal.value, r.x.baseVal.value])")
            deltas = [round(abs(each[1]), 9) for each in shown]
            self.expect(deltas == sorted(deltas, reverse=True) and 0 < len(shown) <= 15, f"the bars are not sorted: {deltas}")
            for title, delta, width, x in shown:
                before, after = self.range(title)[1]
                self.expect(abs(delta - (after - before)) <= 1e-5 * max(before, after), f"the bar of {title[:60]}: {delta}")
            longest = max(shown, key=lambda each: each[2])
            for title, delta, width, x in shown:
                self.expect(abs(width - max(1, abs(delta / (longest[1] or 1)) * longest[2])) <= 1.01, f"the length of the bar of {title[:60]}: {width}")
            if choice == "inner":
                paths = [self.range(each[0])[0]["path"] for each in shown]
                self.expect(not any(other["path"].startswith(path + "/") for path in paths for other in self.result["ranges"]), "a range that has others below it")
        box = self.run("document.getElementById('changes-figure').getBoundingClientRect().right")
        cut = self.run("""[...document.querySelectorAll('#changes-figure text')].map(t => t.getBoundingClientRect()).filter(b => b.left < document.getElementById('changes-figure').getBoundingClientRect().left - 1
            || b.right > document.getElementById('changes-figure').getBoundingClientRect().right + 1).length""")
        self.expect(cut == 0, f"{cut} texts of the bars are cut, the figure ends at {box}")
        title = self.run(f"document.querySelectorAll('{bars}')[document.querySelectorAll('{bars}').length - 1].getAttribute('aria-label').split('\\n')[0]")
        self.act(f"[...document.querySelectorAll('{bars}')].pop().dispatchEvent(new KeyboardEvent('keydown', {{key: 'Enter', bubbles: true}}))")
        self.expect(self.run("document.getElementById('range-chosen').value") == self.range(title)[0]["path"], "Enter on a bar does not choose its range")
        self.expect(self.run("document.activeElement.id") == "range-chosen", "the focus does not follow to the range")

    def check_factors(self):
        heads = [each for each in self.texts("#factor-rows thead th")]
        names = [column["name"] for column in self.result["columns"]]
        self.expect(set(heads[7:]) <= set(names), f"columns that are none: {heads[7:]}")
        rows = self.run("[...document.querySelectorAll('#factor-rows tbody tr')].map(r => [...r.cells].map(c => c.textContent))")
        self.expect(len(rows) == min(100, len(self.result["ranges"]), 300), f"{len(rows)} rows of factors")
        differing = set()
        for r in self.result["ranges"][:300]:
            for name, before, after in zip(names, r["columns_before"], r["columns_after"]):
                if before is not None and (abs(after / before - 1) > .0006 if before > 0 else after > 0):
                    differing.add(name)
        self.expect(differing <= set(heads[7:]), f"columns are missing: {differing - set(heads[7:])}")
        for row in rows:
            each, (before, after) = self.range(row[0])
            self.expect(near(row[1], factor(before, after)), f"the factor of {row[0][:60]}: {row[1]}, {before} and {after}")
            verdicts = {"slower"} if each["slower"] else {"within": {"faster", "within the limit"}, "unjudged": {"not judged"}}.get(each["verdict"], {each["verdict"]})
            self.expect(row[3] in verdicts, f"the verdict of {row[0][:60]}: {row[3]}")
            ends = re.findall(r"[\d.,e-]+", row[4])
            if each["change"] is not None:
                self.expect(len(ends) == 2 and all(near(end, factor(1, (1 + each["change"]) * math.exp(z * each["noise"]))) for end, z in zip(ends, (-1.96, 1.96))), f"the interval of {row[0][:60]}: {row[4]}")
            else:
                self.expect(not row[4], f"an interval of what was not judged: {row[4]}")
            for name, cell in zip(heads[7:], row[7:]):
                at = names.index(name)
                old, new = each["columns_before"][at], each["columns_after"][at]
                self.expect(near(cell, "" if old is None else factor(old, new)), f"{name} of {row[0][:60]}: {cell}, {old} and {new}")
        for at in (0, 1, 3, len(heads) - 1, 2):
            self.click(f"document.querySelectorAll('#factor-rows thead button')[{at}]")
            self.expect(self.run("[...document.querySelectorAll('#factor-rows [aria-sort]')].map(h => h.cellIndex)") == [at], f"heading {at} does not sort")
            cells = self.run(f"[...document.querySelectorAll('#factor-rows tbody tr')].map(r => r.cells[{at}].textContent)")
            if at in (0, 3):
                self.expect(cells == self.run(f"{json.dumps(cells)}.sort((a, b) => a.localeCompare(b))"), f"the order by heading {at}: {cells[:5]}")
            elif at != 2:
                numbers = [float(each.replace(",", "")) if re.match(r"[\d.]", each) else -1 for each in cells]
                self.expect(numbers == sorted(numbers, reverse=True), f"the order by heading {at}: {cells[:5]}")
        same = self.run("(document.querySelector('#factors > p.about:not(:nth-child(2))') || {textContent: ''}).textContent")
        self.expect(not differing & set(re.findall(r"\w+", same.partition(":")[2])), f"said to be the same: {same}")

    def check_range(self):
        for value in self.run("[...document.getElementById('range-chosen').options].map(o => o.value).slice(0, 4)"):
            self.choose("#range-chosen", value)
            each = next(r for r in self.result["ranges"] if r["path"] == value)
            wanted = {column["name"]: (before, after) for column, before, after in zip(self.result["columns"], each["columns_before"], each["columns_after"]) if before or after}
            rows = self.run("[...document.querySelectorAll('#range-columns tbody tr')].map(r => [...r.cells].map(c => c.textContent))")
            self.expect([row[0] for row in rows] == list(wanted), f"the columns of {value[:60]}: {[row[0] for row in rows]}")
            for name, shown, before, after in rows:
                self.expect(near(shown, factor(*wanted[name])), f"{name} of {value[:60]}: {shown}")
                unit = next(column["unit"] for column in self.result["columns"] if column["name"] == name)
                self.expect([before, after] == self.run(f"{json.dumps(wanted[name])}.map(inUnit({json.dumps(unit)}))"), f"{name} of {value[:60]}: {before}, {after}")

    def check_runs(self):
        points = self.count("#steps-figure circle")
        self.expect(points == sum(len(run["steps_ms"]) for run in self.result["runs"]), f"{points} points of steps")
        rows = self.run("[...document.querySelectorAll('#runs tbody tr')].map(r => r.cells[1].textContent)")
        self.expect(rows == [f"{run['steps']:,}" for run in self.result["runs"]], f"the steps of the runs: {rows}")


def check(browser, path, width, dark, result, axe, wrong):
    page = Comparison(browser, path, result, wrong)
    page.open(width, dark)
    page.check_width(width)
    page.check_order()
    page.check_axe(axe if path.stem != "many" else None)  # it takes its time, and many rows are as one
    if not dark:
        each_of = (page.check_waterfall, page.check_bars, page.check_factors, page.check_range) if result["ranges"] else ()
        for each in (page.check_data, page.check_height, page.check_room, page.check_headline, *each_of, page.check_runs, page.check_print):
            each()
        page.act("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        text = page.run("document.body.innerText")
        page.expect(not re.search(r"\bNaN\b|\bundefined\b|\bnull\b|Infinity|\[object", text), "a number or text is not one")
        page.expect(not re.search(r"(?<![\d,.])1 (steps|runs|ranges|times)\b", text), "a plural of one")
        page.click("document.getElementById('theme')")
        page.expect(page.run("isDark()"), "the colours do not change")
        page.check_width(width)
        page.check_axe(axe if path.stem != "many" and width == 1400 else None)  # with all tables open, in the other colours
    page.expect(page.run("document.title !== 'broken'") and page.count("img") == 0, "a name became markup")
    page.check_events()
    return page.checks


def made_profiles():
    """Names of pages, with the profiles of both sides."""
    golden = json.loads((root / "tests/unit/golden/profile_gpu.json").read_text(encoding="utf-8"))
    golden["steps"] = [{"step": i, "thread": 0, "begin_ns": 10000000 * i, "end_ns": 10000000 * i + 4000000 + 10000 * (i % 3)} for i in range(10)]
    for row in golden["ranges"]:
        row.update(calls=10, host_stddev_ns=0, first_step_calls=0, first_step_host_ns=0, first_step_gpu_busy_ns=0)
    for row in golden["kernels"]:
        row.update(count=10, total_ns=row["total_ns"] * 5, stddev_ns=0, first_step_count=1, first_step_ns=row["total_ns"] / 2)

    def changed(by, of=golden):
        other = copy.deepcopy(of)
        by(other)
        return other

    def slow(p):
        for step in p["steps"]:
            step["end_ns"] += 1000000
        for row in p["ranges"]:
            if row["path"].endswith("mlp"):
                row.update(host_total_ns=row["host_total_ns"] * 3, host_p50_ns=row["host_p50_ns"] * 3, gpu_busy_ns=row["gpu_busy_ns"] * 2, launches=0)
        for row in p["kernels"]:
            if row["path"] == "forward/encoder":
                row.update({key: row[key] * 9 for key in ("total_ns", "first_step_ns", "min_ns", "p50_ns", "max_ns")})
        p["ranges"][-1]["path"] = "only after"
        p["environment"]["command"] += " --slow"

    def counters(p, times):
        p["counters"] = {"metrics": [{"key": "hbm_bytes", "unit": "B", "level": "hbm", "formula": "a + b"}, {"key": "l1_hit_rate", "unit": "%", "level": "l1", "formula": "100 * a / b"}],
                         "values": [{"path": row["path"], "total": {"hbm_bytes": 1000000 * times + i, "l1_hit_rate": 50 / times}} for i, row in enumerate(p["ranges"])]}

    def hostile(p):
        for row in p["ranges"] + p["kernels"]:
            row["path"] = row["path"].replace("encoder", HOSTILE)
        p["environment"].update(command=HOSTILE, host=HOSTILE, cpu=HOSTILE)
        p["devices"][0]["name"] = HOSTILE

    def many(p, times):
        row = p["ranges"][1]
        p["ranges"] += [{**row, "path": f"range with a name that takes some room {i}", "host_total_ns": 1000000 * (i + 1) * (times if i % 3 else 1)} for i in range(600)]

    def bare(p):
        p.update(steps=[], kernels=[], devices=[], traced=False)

    counted = [changed(lambda p: counters(p, 1)), changed(lambda p: counters(p, 3))]
    pages = {
        "slower": ([golden], [changed(slow)]),
        "counted": ([counted[0]] * 3, [changed(slow, counted[1])] * 3),
        "hostile": ([changed(hostile)], [changed(hostile, changed(slow))]),
        "many": ([changed(lambda p: many(p, 1))], [changed(lambda p: many(p, 2))]),
        "bare": ([changed(bare)], [changed(bare, changed(slow))]),
        "nothing": ([golden], [changed(lambda p: p.update(ranges=[{**row, "path": "other/" + row["path"]} for row in p["ranges"]]))]),
    }
    shipped = sorted((root / "examples/compare").glob("gpt2-*.json"))
    if shipped:
        pages["gpt2"] = tuple([json.loads(path.read_text(encoding="utf-8"))] for path in shipped)
    return pages


def make_pages(folder):
    program = pathlib.Path(os.environ.get("STRATA_TEST_BUILD_DIR", ""), "tools", "strata")
    if not program.exists():
        check_page.skip("the command strata is not built")
    for name, (before, after) in made_profiles().items():
        sides = []
        for side, profiles in (("before", before), ("after", after)):
            for i, profile in enumerate(profiles):
                run = pathlib.Path(folder, name, side, str(i))
                run.mkdir(parents=True)
                (run / "profile.json").write_text(json.dumps(profile), encoding="utf-8")
            sides.append(str(pathlib.Path(folder, name, side)))
        page = pathlib.Path(folder, name + ".html")
        done = subprocess.run([str(program), "compare", "--html", str(page), "--json", str(page.with_suffix(".json")), *sides], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
        if done.returncode == 2:
            print(done.stderr)
            sys.exit(1)
        yield page


def main():
    kind, program, named = check_page.choose_browser()
    axe = check_page.find_axe()
    with tempfile.TemporaryDirectory() as folder:
        pages = named or list(make_pages(folder))
        results = {path: json.loads(path.with_suffix(".json").read_text(encoding="utf-8")) for path in pages}
        if not named:  # what compare is known to say of one of them
            known = next(result for path, result in results.items() if path.stem == "slower")
            assert known["verdict"] == "regression" and abs(known["step"]["after_ms"] - 5.01) < 1e-6, known["step"]
            assert any(each["slower"] and each["judged_by"] == "gpu" and abs(each["change"] - 8) < 1e-6 for each in known["ranges"]), known["ranges"]
            pages = check_page.pages_for(kind, pages, IN_FIREFOX)
        checks, wrong = check_page.visit(kind, program, folder, pages,
                                         lambda browser, path, width, dark, wrong: check(browser, path, width, dark, results[path], axe, wrong))
    for each in wrong:
        print("FAILED:", each)
    print(f"{len(pages)} pages, {checks} checks, {len(wrong)} failures{'' if axe else '; without axe-core'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
