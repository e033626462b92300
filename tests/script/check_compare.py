"""strata compare: what it prints and its exit codes, on the golden profiles and on changed copies."""

import copy
import json
import os
import pathlib
import re
import subprocess
import sys

from _script import UNREAD, UNWRITTEN, end, expect, failures, needs, program, root, that

needs(program)


def compared(code, *words):
    return expect(code, program, "compare", *words)


def says(done, text):
    that(text in done.stdout + done.stderr, f"{done.args}: nothing on '{text}'\n{done.stdout}{done.stderr}")


def written(name, profile):
    path = pathlib.Path(name)
    path.write_text(profile if isinstance(profile, str) else json.dumps(profile), encoding="utf-8")
    return path


golden = root / "tests/unit/golden/profile_gpu.json"
before = json.loads(golden.read_text(encoding="utf-8"))
before["steps"] = [{"step": i, "thread": 0, "begin_ns": 10000000 * i, "end_ns": 10000000 * i + 4000000 + 10000 * (i % 3)} for i in range(10)]
for row in before["ranges"]:  # quiet, and often enough to be judged
    row.update(calls=10, host_stddev_ns=0, first_step_calls=0, first_step_host_ns=0, first_step_gpu_busy_ns=row["gpu_busy_ns"] / 10)
slow = copy.deepcopy(before)
for step in slow["steps"]:
    step["end_ns"] += 1000000
for row in slow["ranges"]:
    if row["path"] == "forward/encoder":
        row["gpu_busy_ns"] = row["gpu_busy_ns"] * 3
        row["first_step_gpu_busy_ns"] *= 3
for row in slow["kernels"]:  # too few of them to be judged
    if row["path"] == "forward/encoder":
        row["total_ns"] = row["total_ns"] * 3
a, b = written("before.json", before), written("after.json", slow)

says(compared(0, a, a), "no regression: the steps are within the limit")
worse = compared(1, a, b)
says(worse, "regression: the step is 24.9 % slower")
first = worse.stdout.splitlines()[1]
if first.split() != "+0.0020 0.0010 0.0029 forward/encoder (GPU busy)".split():
    failures.append(f"the range that changed most is not first: {first}")
for option in ("--html", "--json", "--markdown"):  # a place that is none hides no answer, and no other file
    told = compared(2, option, "/nonexistent/x", "--markdown" if option != "--markdown" else "--json", "other", a, b)
    says(told, "regression: the step is 24.9 % slower")
    says(told, "/nonexistent/x: It cannot be written: No such file or directory" + UNWRITTEN)
    if not pathlib.Path("other").exists():
        failures.append(f"{option} /nonexistent/x: the other file is missing")
    pathlib.Path("other").unlink()
named = [copy.deepcopy(each) for each in (before, slow)]
for each in named:  # a thread's name is no markup
    for row in each["ranges"]:
        row["thread"] = "a|b](x)<i>\x1b"
        row["gpu_busy_ns"] = row["first_step_gpu_busy_ns"] = 0
    each["kernels"] = []
    for row in each["ranges"]:
        row["host_total_ns"] *= 1 + (each is named[1])
subprocess.run([str(program), "compare", "--anyway", "--markdown", "named.md", *(written(f"named{i}.json", each) for i, each in enumerate(named))], stdout=subprocess.DEVNULL)
told = pathlib.Path("named.md").read_text(encoding="utf-8")
plain = re.sub(r"\\.", "", told)
if "a\\|b" not in told or "<" in plain or "\x1b" in told or any(line.count("|") != 6 for line in plain.split("\n") if line.startswith("|")):
    failures.append(f"a thread's name is markup: {told}")
compared(0, "--fail-over", "50%", a, b)
compared(0, b, a)
says(compared(3, golden, golden), "inconclusive: the step's noise of")
single = json.loads(golden.read_text(encoding="utf-8"))
single["steps"] = single["steps"][:1]
says(compared(3, written("single.json", single), golden), "inconclusive: a run has fewer than 2 steps")
says(compared(3, golden, golden), "note: Lost in a run after: 1 ")
says(compared(0, "--range", "forward/encoder", a, a), "gpu_busy_ns")
columns = compared(0, "--range", "forward/block[*]", a, a).stdout
for words in ("calls 2 2 1.000", "gpu_busy_ns 82.0 us 82.0 us 1.000"):
    if words not in " ".join(columns.split()):
        failures.append(f"--range prints no '{words}'\n{columns}")
if "e+0" in columns or "stddev" in columns:
    failures.append(f"--range prints what it should not\n{columns}")
if " copies " in columns.partition("note:")[0]:
    failures.append(f"--range prints what is 0 on both sides\n{columns}")
says(compared(0, "--range", "forward/block[1]", a, a), "host_mean_ns")
for words in ("kernels gpu_busy_ns range (factors of a mean step, after / before)\n", " 1.000 3.000 forward/encoder\n", " 1.000 1.000 forward/block[*]/mlp\n"):
    if words not in re.sub(" +", " ", compared(1, "--factors", "kernels, gpu_busy_ns", a, b).stdout):
        failures.append(f"--factors prints no '{words}'")
says(compared(2, "--factors", "kernels,nothing", a, b), "nothing: No range of all profiles has this column: --range PATH prints those of one.")
# A call that was interrupted is in neither the verdict nor its line.
quiet, longer = copy.deepcopy(before), copy.deepcopy(before)
for profile, longest, deviation in ((quiet, 30000, 0), (longer, 9000000, 2836498)):
    profile["traced"] = False
    for row in profile["ranges"]:
        if row["path"] == "forward/block[0]/mlp":
            row.update(host_total_ns=270000 + longest, host_stddev_ns=deviation, host_min_ns=30000, host_p50_ns=30000, host_max_ns=longest)
interrupted = compared(0, written("quiet.json", quiet), written("longer.json", longer))
if "block[" in interrupted.stdout or "\nunchanged: 7\n" not in interrupted.stdout:
    failures.append(f"the table has what was not judged\n{interrupted.stdout}")
# Where it is shorter too, both sides are the same statistic, with its name.
shorter = copy.deepcopy(quiet)
for row in shorter["ranges"]:
    if row["path"] == "forward/block[0]/mlp":
        row.update(host_total_ns=200000, host_stddev_ns=10, host_min_ns=19990, host_p50_ns=20000, host_max_ns=20010)
trimmed = compared(0, "longer.json", written("shorter.json", shorter))
says(trimmed, "0.0300       0.0200")
says(trimmed, "forward/block[*]/mlp (host, trimmed)")
says(trimmed, "trimmed: a mean without the longest and the shortest call of each run")
blocks = copy.deepcopy(before)
for row in blocks["ranges"]:
    row["gpu_busy_ns"] *= 2 if "block[" in row["path"] else 1
folded = compared(0, a, written("blocks.json", blocks))
if ("block[0]" in folded.stdout or "forward/block[*]/ln1 (GPU busy)" not in folded.stdout
        or "\nunchanged: " not in folded.stdout):
    failures.append(f"indices are not folded\n{folded.stdout}")
says(compared(2, "--range", "nothing", a, a), "nothing: No range of this path is in all profiles: without --range all of them are listed.")
for words, told in (
    ([], "PATH is required"),
    ([a], f"PATH: only '{a}' is given: BEFORE and AFTER are needed"),
    ([a, a, a], "PATH: 3 paths need --baseline for each that is before the change"),
    (["--baseline", a], "PATH is required"),
    (["--failover", a, a], "there is no --failover, did you mean --fail-over?"),
    ([a, a, "--fail-over"], "--fail-over: 1 required TEXT missing"),
    (["--fail-over", "", a, a], "--fail-over takes a percentage such as 5%"),
    ([a, a, "--json"], "--json: 1 required FILE missing"),
    (["--json", "--anyway", a, a], "--json takes the path of a file, not '--anyway'"),
    *((["--fail-over", limit, a, a], f"--fail-over takes a percentage such as 5%, not '{limit}'") for limit in ("5", "x%", "-1%", "nan%", "1e9%")),
):
    says(compared(2, *words), f"strata compare: {told}\n")
compared(0, "--fail-over=50%", "--anyway", a, b)
usage = compared(0, "--help")
says(usage, "Exit code: 0 no regression, 1 a regression")
if usage.stderr or compared(0, a, "-h").stdout != usage.stdout:
    failures.append("--help is not on stdout")
says(compared(2, a, "missing.json"), "missing.json: It cannot be opened: No such file or directory" + UNREAD)
says(compared(2, written("cut.json", golden.read_text(encoding="utf-8")[:3000]), a), "cut.json: It is not valid JSON: line ")
says(compared(2, a, root / "tests/unit/golden/trace_cpu.json"), "It is no profile of Strata")
other = copy.deepcopy(before)
for row in other["ranges"][1:]:
    row["path"] = "other/" + row["path"]
apart = compared(3, a, written("other.json", other))
says(apart, "inconclusive: the profiles have no range in common")
says(apart, "a step takes 4.01 ms before and 4.01 ms after (medians)")
if "change" in apart.stdout or "0.000" in apart.stdout.replace("0.0000", ""):
    failures.append(f"a table of nothing\n{apart.stdout}")
moved = copy.deepcopy(before)
moved["environment"]["configuration"] += ",out=elsewhere,formats=json"
if "settings differ" in compared(0, a, written("moved.json", moved)).stdout:
    failures.append("out= and formats= are noted as a difference")
newer = copy.deepcopy(before)
newer["schema"]["version"] = 99
says(compared(2, a, written("newer.json", newer)), "Its schema version is not readable here")
faster_clock = copy.deepcopy(before)
faster_clock["devices"][0]["clock_khz"] *= 2
says(compared(3, a, written("clock.json", faster_clock)), "inconclusive: the devices or their clocks differ")
says(compared(0, "--anyway", a, "clock.json"), "note: Compared all the same: the devices")
hostile = copy.deepcopy(before)
hostile["environment"]["command"] = "\x1b[2J | `rm`"
done = compared(0, "--markdown", "hostile.md", a, written("hostile.json", hostile))
if "\x1b" in done.stdout or "\x1b" in pathlib.Path("hostile.md").read_text(encoding="utf-8"):
    failures.append("a control character of a profile reaches the terminal")

# A baseline without what is not read says the same.
pathlib.Path("short").mkdir(exist_ok=True)
subprocess.run([sys.executable, str(root / "tools/shorten.py"), "short", str(a), str(b)], check=True)
if compared(1, "short/before.json", "short/after.json").stdout != worse.stdout or pathlib.Path("short/after.json").stat().st_size > b.stat().st_size * 0.7:
    failures.append("a shortened profile says something else, or is not short")

# Several runs, in folders and as files.
for side, profile in (("old", before), ("new", slow)):
    for run in range(3):
        pathlib.Path(side, f"run{run}").mkdir(parents=True, exist_ok=True)
        written(f"{side}/run{run}/profile.json", profile)
says(compared(0, "old", "old"), "(medians of 30 and 30)")
says(compared(1, "old", "new"), "regression: the step is 24.9 % slower")
says(compared(1, "--baseline", "old/run0", "--baseline", "old/run1", "--baseline", a, "new"), "with that between runs")
if not pathlib.Path("old/run-latest").is_symlink():
    pathlib.Path("old/run-latest").symlink_to("run2")
says(compared(0, "old", "old"), "(medians of 30 and 30)")  # what the link leads to counts once
says(compared(0, "old/run-latest", "old"), "(medians of 10 and 30)")
pathlib.Path("empty").mkdir(exist_ok=True)
says(compared(2, "empty", a), "empty: Neither the folder nor a folder in it has a profile.json or profile.strata: give the out= of a run.")
ranked = copy.deepcopy(before)
ranked["environment"]["rank"] = 1
written("old/run2/profile.json", ranked)
says(compared(2, "old", a), "old: It has profiles of several ranks: give the folder of one rank.")

# A recording is what its profile.json is.
recordings = [root / f"examples/report/gpt2-{kind}.strata" for kind in ("eager", "fused")]
pathlib.Path("recorded").mkdir(exist_ok=True)
pathlib.Path("recorded/profile.strata").write_bytes(recordings[0].read_bytes())
made = []
for recording in recordings:
    subprocess.run([str(program), "report", str(recording), "--formats", "json", "--out", f"of-{recording.stem}"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    made.append(max(pathlib.Path().glob(f"of-{recording.stem}*"), key=lambda folder: folder.stat().st_mtime_ns) / "profile.json")
of_json = compared(0, *made, "--json", "of-json.json")
compared(0, *recordings, "--json", "of-recordings.json")
compared(0, "recorded", recordings[1], "--json", "of-folder.json")
says(compared(1, *reversed(recordings)), "regression: the step is 17.6x slower")
texts = [pathlib.Path(f"of-{kind}.json").read_text(encoding="utf-8") for kind in ("json", "recordings", "folder")]
plain = [json.loads(text) for text in texts]
periods = [each.pop("period") for each in plain]
for each in plain:  # only records tell the causes of idle time, what bounds a step, and the noise of its steps
    each["headline"] = each["headline"].partition(";")[0]
    for row in each["ranges"]:
        del row["noise"]


def alike(one, other):
    """The same but for a nanosecond of a range."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= 2e-4 * max(abs(one), abs(other))
    return one == other


if "gpt2" not in of_json.stdout + texts[0] or not alike(plain[0], plain[1]) or plain[1] != plain[2] or periods[1] != periods[2]:
    different = [key for key in plain[0] if not alike(plain[0][key], plain[1][key]) or plain[1][key] != plain[2][key]]
    failures.append(f"recordings compare other than their profile.json: {different}")
for period in periods:
    for side in ("before", "after"):
        if abs(sum(row[f"{side}_ms"] for row in period["rows"]) / period[f"{side}_ms"] - 1) > 1e-6:
            failures.append(f"the rows of the period do not sum to it {side}: {period}")
if abs(periods[0]["before_ms"] / periods[1]["before_ms"] - 1) > 0.01:
    failures.append(f"a profile.json has another period than its recording: {periods}")
compared(0, made[1], recordings[1], "--json", "mixed.json")
copies = [row for row in json.loads(pathlib.Path("mixed.json").read_text(encoding="utf-8"))["period"]["rows"] if row["kind"] == "copy"]
if len(copies) != 1 or copies[0]["name"] != "copies" or not copies[0]["before_ms"] > 0 < copies[0]["after_ms"]:
    failures.append(f"the copies of a profile.json are not those of its recording: {copies}")

# Accepted regressions.
written("accepted.csv", "# path,column,limit,reason\n,step,30%,waits for the disk\n")
says(compared(0, "--accepted", "accepted.csv", a, b), "note: The step is 24.9 % slower, of which up to 30.0 % is accepted: waits for the disk.")
says(compared(0, "--accepted", "accepted.csv", a, a), "note: The step is accepted to be slower but is not any more (0.0 %): remove its line.")
written("accepted.csv", "\nforward,host,10,x\n")
says(compared(2, "--accepted", "accepted.csv", a, b), "accepted.csv: Line 2: the limit is a percentage such as 10%.")
says(compared(2, "--accepted", "none.csv", a, b), "none.csv: It cannot be opened: No such file or directory" + UNREAD)

# The sum over indices is hardly slower; the index that is has its name there.
times = ("total_ns", "min_ns", "p50_ns", "p95_ns", "max_ns", "mean_ns", "first_step_ns")
long = copy.deepcopy(before)
for row in long["kernels"]:  # ten launches, one a step, that fill it
    row.update({time: row[time] * 40 for time in times}, count=10, first_step_count=1)
    row.update(total_ns=10 * row["p50_ns"], mean_ns=row["p50_ns"], first_step_ns=row["p50_ns"])
one_layer = copy.deepcopy(long)
for row in one_layer["kernels"]:
    change = {"forward/block[0]/mlp": 0.5, "forward/block[1]/mlp": 1.5}.get(row["path"], 1)
    row.update({time: row[time] * change for time in times})
says(compared(1, written("long.json", long), written("layer.json", one_layer)),
     "forward/block[*]/mlp (GPU)  forward/block[1]/mlp is SLOWER")

# Half of a range's times lost: neither shorter nor slower.
lossy = copy.deepcopy(long)
lossy["losses"]["timestamps_lost"] = 10  # of two kernels
for row in lossy["kernels"]:
    if row["path"] == "forward/block[1]/mlp":
        row.update({time: int(row["p50_ns"] * 1.4) for time in times}, total_ns=5 * int(row["p50_ns"] * 1.4))
half = compared(3, "long.json", written("lossy.json", lossy))
says(half, "forward/block[1] (GPU) is between")
says(half, "unsure (times lost)")
says(half, "note: Lost in a run after: 10 records of GPU work")

# For programs and for people; docs/reference/comparison.md tells each member.
compared(1, "--json", "result.json", "--markdown", "result.md", a, b)
result = json.loads(pathlib.Path("result.json").read_text(encoding="utf-8"))
step = result["step"]
if (result["schema"]["name"], result["schema"]["version"], result["verdict"]) != ("strata.comparison", 1, "regression") or not (
    0.24 < step["change"] < 0.26 and step["before_runs"] == 1 and result["options"]["limit"] == 0.05
):
    failures.append(f"result.json: {result['schema']} {result['verdict']} {step}")
told = (root / "docs/reference/comparison.md").read_text(encoding="utf-8")
for each in [result, result["schema"], result["options"], step, result["period"], result["ranges"][0]]:
    for key in each:
        if f"`{key}`" not in told:
            failures.append(f"docs/reference/comparison.md: nothing on `{key}` of the JSON")
markdown = pathlib.Path("result.md").read_text(encoding="utf-8")
for words in ("**regression**: the step is 24.9 % slower", "| *step*, median | 4.0100 | 5.0100 | +24.9 %", "forward/encoder (GPU busy)"):
    if words not in markdown:
        failures.append(f"result.md has no '{words}'\n{markdown}")
says(compared(2, "--json", "no/folder/x.json", a, a), "no/folder/x.json: It cannot be written: No such file or directory" + UNWRITTEN)
for option in ("--json", "--html", "--markdown"):
    says(compared(2, option, "no/folder/x", a, a), compared(0, a, a).stdout)

# Eager against fused: a golden file has what is printed. STRATA_UPDATE_GOLDEN=1 writes the file.
shipped = [str(root / f"examples/compare/gpt2-{name}.json") for name in ("eager", "fused")]
columns_of_golden = "kernels,launch_ns,host_total_ns,gpu_busy_ns,global_load_bytes,l1_bytes,l2_bytes,hbm_bytes,instructions_executed"
demo = compared(0, "--html", "compare.html", *shipped).stdout
factors = compared(0, *shipped, "--factors", columns_of_golden).stdout.partition("note:")[0]
says(compared(1, *reversed(shipped)), "regression: the step is 19.0x slower")
if sum(pathlib.Path(each).stat().st_size for each in shipped) > 750_000:
    failures.append("the profiles of examples/compare have more than 750 kB")
printed = root / "tests/unit/golden/compare_gpt2.txt"
if os.environ.get("STRATA_UPDATE_GOLDEN"):
    printed.write_text(demo + factors, encoding="utf-8")
if not printed.exists() or printed.read_text(encoding="utf-8") != demo + factors:
    failures.append(f"{printed.name}: eager against fused is not what is printed; STRATA_UPDATE_GOLDEN=1 writes it\n{demo}{factors}")
guide = (root / "docs/how-to/compare-runs.md").read_text(encoding="utf-8")
recordings = re.search(r"^    strata compare (examples/\S+) (examples/\S+)$", guide, re.M).groups()
shown = compared(0, *(str(root / each) for each in recordings)).stdout.splitlines()
for line in re.search(r"^```\n(.*?)^```", guide, re.S | re.M).group(1).splitlines():
    start = line.rstrip("…")  # the document cuts a long line
    if not any(each == line or start != line and each.startswith(start) for each in shown):
        failures.append(f"docs/how-to/compare-runs.md: '{line}' is not printed")
for word in usage.stdout.split():
    if word.startswith("--") and f"`{word}" not in told:
        failures.append(f"docs/reference/comparison.md: nothing on {word}")
end("strata compare")
