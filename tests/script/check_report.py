"""strata report: every report of a recording, on a machine without a GPU; what it says of files that are none. strata ledger too.

The recordings are those of examples/report, one that the example phases writes, and one that unit_tests makes by hand."""

import csv
import json
import pathlib
import re

import _script
from _script import UNREAD, build, end, environment, needs, program, recordings, root, that

needs(program, build / "examples/phases")
here = pathlib.Path()


def run(*words, **variables):
    return _script.run(*words, env={**environment, "COLUMNS": "240", "LC_ALL": "C.UTF-8", **variables})


def reported(code, *words):
    done = run(program, "report", *words)
    that(done.returncode == code, f"{words}: exit code {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def out(name):
    """A folder that is not there."""
    for i in range(1000):
        if not (here / f"{name}{i}").exists():
            return here / f"{name}{i}"


# What a program recorded is reported as the program did it. Its recording has pieces before its report.
table = re.findall(r'\{report_format::\w+,\s+"([\w.]+)",[^}]*?(?:"([\w.-]+)"|nullptr)\}',
                   (root / "include/strata/session/report_side.hpp").read_text(encoding="utf-8"))
formats = "+".join(name for name, _ in table)
first, again = out("first"), out("again")
told = run(build / "examples/phases", STRATA=f"host,formats={formats},out={first}")
that(told.returncode == 0, f"phases: {told.stderr}")
said = reported(0, first, "--formats", formats, "--out", again)
that(said.replace(str(again), str(first)) == told.stderr, f"other words than the program's:\n{said}\n{told.stderr}")
files = sorted(each.name for each in first.iterdir())
that(len(table) >= 8 and all(file in files for _, file in table if file), f"files are missing: {files}")
that(files == sorted(each.name for each in again.iterdir()), f"other files: {files}")
for name in files:
    before, after = ((folder / name).read_bytes() for folder in (first, again))
    same = before.endswith(after[len(b"strata recording 2\n"):]) if name == "profile.strata" else before == after
    that(same, f"{name} is not the program's")

# The page of a run on a GPU, with everything in it.
counted = [each for each in recordings if each.stem != "gpt2-memory"]
declared = [each for each in counted if each.stem.startswith("gpt2-")]  # the work of their ranges
for recording in recordings:
    that(recording.stat().st_size <= 1_000_000, f"{recording.name} has more than 1 MB")
made = run(build / "tests/bin/unit_tests", "--source-file=*/unit/html_test.cpp", "--test-case=pages for the test in a browser",
           STRATA_TEST_PAGES=str(here))
that(made.returncode == 0, made.stdout)
folders = {}
for recording in [here / "gpt2.strata", *recordings]:
    folder = folders[recording.stem] = out(recording.stem)
    said = reported(0, recording, "--formats", "table+html+csv+json", "--out", folder)
    has_table = re.search(r"^ *(block|attention)\[\*\] ", said, re.M)
    that(re.search(r"^answer:", said, re.M) and has_table, f"{recording.name}: no answer, or no table:\n{said}")
    page = (folder / "report.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))
    that(len(page) < 2_000_000, f"{recording.name}: the page has {len(page)} bytes")
    has_graphs = recording.stem in ("pytorch-decode", "llama-decode")
    has_points = recording.stem != "llama-decode"  # whose operations are neither counted, beside graphs, nor declared
    that(data["answer"]["findings"] and bool(data["answer"]["points"]) == has_points,
         f"{recording.name}: findings, or no roofline")
    that(("switch CUDA graphs off to run" in said) == has_graphs,
         f"{recording.name}: what graphs keep from being counted")
    purposes = {each["purpose"] for each in csv.DictReader((folder / "memory.csv").open(encoding="utf-8"))}
    that(recording.stem != "gpt2-memory" or {"weights", "activations", "workspace"} <= purposes, f"{recording.name}: memory of {purposes}")
    that(any(each["tracks"] for each in data["timeline"]["windows"]), f"{recording.name}: no timeline")
    that(data["kernels"] and (data["views"][0].get("metrics") or recording not in [here / "gpt2.strata", *counted]), f"{recording.name}: no counters")
    environment_of = json.loads((folder / "profile.json").read_text(encoding="utf-8"))["environment"]
    programs = r"\./gpt2 |\./llama-completion -m 1b\.gguf |python3 benchmarks/planted/planted_torch.py "
    is_nameless = (re.match(programs, environment_of["command"]) and environment_of["host"] == "vm"
                   and "out=" not in environment_of["configuration"])
    that(recording.parent == here or is_nameless,
         f"{recording.name}: names of a machine or of its folders: {environment_of}")
that((folders["gpt2"] / "report.html").read_bytes() == (here / "gpt2.html").read_bytes(), "the page of a recording is not that of its profile")

# The bytes of a step, by what the ranges declare and by the model. The MFU by hand: 2 x 123,653,376 weights a token, and 4 x 12
# layers x 12 heads x 64 x 64 keys, all or half; an H200 has 132 SMs that do 256 FP32 operations a cycle at 1.98 GHz.
for recording in declared:
    for words in ([program, "ledger", recording], [build / "examples/gpt2/gpt2", "--ledger", recording]):
        done = run(*words)
        that(done.returncode == 0 and "the sum closes" in done.stdout, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}")
        for line in done.stdout.splitlines():
            open_bytes = re.match(r"step .* unexplained [+-]?([\d.]+) (\w+)$", line)
            that(not open_bytes or open_bytes.group(2) in ("B", "KiB"), f"{words}: {line}")
    ms = float(re.search(r"conventions count: ([\d.]+) ms", done.stdout).group(1))
    scores = 4 * 12 * 12 * 64 * 64
    for more, words in ((scores, "6N + 12LHQT"), (scores / 2, "6N + 6LHQT"), (0, "6N")):
        flops = 256 * (2 * 123653376 + more)
        wanted = f"  {flops:.0f} operations: MFU {100 * flops / (ms / 1e3) / (132 * 256 * 1.98e9):.1f} % ({words}, with head;"
        that(wanted in done.stdout, f"{recording.name}: no '{wanted}' in\n{done.stdout}")
that(run(program, "ledger", first / "profile.strata").returncode == 2, "no counters, and no other code than that of a sum")
that(run(program, "ledger", "none.strata").stderr == "strata ledger: none.strata: It cannot be opened: No such file or directory" + UNREAD + "\n", "a ledger of no file")
that(json.loads(run(program, "ledger", recordings[0], "--json").stdout)[-1]["path"] == "", "no ledger as JSON")

# A program that was killed leaves the pieces, and every command takes them.
whole = (first / "profile.strata").read_bytes()
report = (again / "profile.strata").read_bytes()[len(b"strata recording 2\n"):]
killed = here / "killed"
killed.mkdir(exist_ok=True)
(killed / "profile.strata.part").write_bytes(whole[:-len(report)] + b"p1")
cut = "The recording has no end: the program runs, was killed or could not write on, or this is more than 1 GiB. It has the first "
that(cut in reported(0, killed, "--formats", "csv+table", "--out", out("of-killed")), "a report of a killed program does not say so")
lines = [(folder / "ranges.csv").read_text().count("\n") for folder in (first, here / "of-killed0")]
that(lines[0] == lines[1], f"ranges.csv of a killed program has {lines[1]} lines, {lines[0]} of the same that ended")
for words in (("explain", killed, "--json"), ("trace", killed, "--out", here / "killed.json"), ("compare", killed, killed)):
    done = run(program, *words)
    that(done.returncode in (0, 3) and "strata: It " not in done.stderr, f"{words}: {done.returncode}: {done.stderr}")
that(done.stderr.count(cut) == 2, f"compare does not say that its sides are cut: {done.stderr}")
traced = json.loads((here / "killed.json").read_text())["traceEvents"]
that(sum(event.get("cat") == "user_annotation" for event in traced) > 5, "the timeline of a killed program has no ranges")

# What it refuses, in a sentence.
bytes_of = (first / "profile.strata").read_bytes()
(here / "cut.strata").write_bytes(bytes_of[:-100])
(here / "flipped.strata").write_bytes(bytes_of[:-500] + bytes([bytes_of[-500] ^ 4]) + bytes_of[-499:])
(here / "newer.strata").write_bytes(bytes_of.replace(b"recording 2\n", b"recording 3\n", 1))
for file, sentence in (("none.strata", "It cannot be opened: No such file or directory" + UNREAD),
                       (first / "ranges.csv", "It is no recording of Strata, it seems to be plain text: formats=recording writes one."),
                       ("newer.strata", "It is of a newer Strata: report it with the one that wrote it."),
                       ("cut.strata", "It is not whole, or was changed: copy it again as binary data."),
                       ("flipped.strata", "It is not whole, or was changed: copy it again as binary data.")):
    that(reported(2, file) == f"strata report: {file}: {sentence}\n", f"{file}: another sentence")
tells = "strata report --help shows all options\n"
formats = f"{', '.join(name for name, _ in table)}, joined by +, or none."
for words, told in ((["--format=html"], f"there is no --format, did you mean --formats?\n{tells}"),
                    (["late"], f"late is one argument too many: it takes one FILE\n{tells}"),
                    (["--out", ""], f"--out takes the name of a folder, whose files have names of their own\n{tells}"),
                    (["--formats", "htm"], f"--formats htm: takes {formats}\n"),
                    (["--formats", "html,out=x"], "--formats html,out=x: formats are joined by +\n"),
                    (["--sort", "dear"], f"--sort takes cost, order or name, not 'dear'\n{tells}")):
    that(reported(2, first, *words) == f"strata report: {told}", f"{words}: another sentence")
that(reported(2) == f"strata report: FILE is required\n{tells}" and "FILE is a recording" in reported(0, "--help"), "no usage")
(here / "ranks/rank0").mkdir(parents=True, exist_ok=True)
(here / "ranks/rank0/profile.strata").write_bytes(bytes_of)
that("the recording has a trace, which says whose work was sampled: leave --map out" in reported(2, recordings[0], "--map", recordings[0])
     and "the recording has no samples" in reported(2, first, "--map", recordings[0])
     and "It cannot be opened" in reported(2, first, "--map", here / "nowhere"), "a map is of no use there")
that("and its folders have: name one, such as rank0." in reported(2, "ranks"), "a folder of folders is no run")
that("The folder has no profile.strata: record with STRATA=trace,formats=table+recording."
     in reported(2, root / "docs"), "a folder without a recording")
that("cannot write" in reported(2, first, "--formats", "html", "--out", "/dev/null/x"), "no place is no failure")

end(f"{len(recordings)} recordings of examples/report")
