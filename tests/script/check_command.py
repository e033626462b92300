"""strata: its subcommands, exit codes and help; trace, explain, metrics, ceilings and help by themselves. run, report,
ledger, compare and ranks have scripts of their own."""

import contextlib
import json
import os
import pathlib
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys

from _script import UNWRITTEN, build, end, environment, expect, needs, program, recordings, root, that

needs(program)
environment["XDG_CACHE_HOME"] = str(pathlib.Path("cache").resolve())  # no roofs of the user's
shutil.rmtree("cache", ignore_errors=True)


def ran(code, *words):
    return expect(code, program, *words)


same = [recordings[0], recordings[0]]
# The whole: every subcommand has its help and its line in docs/reference/command.md, and the exit codes stand there.
page = (root / "docs/reference/command.md").read_text(encoding="utf-8")
usage = ran(0, "--help").stdout
commands = re.findall(r"^  (\w+) {2,}[A-Z]", usage.split("Subcommands:")[1], re.M)
declared = re.findall(r"^subcommand_pointer make_(\w+)\(\);", (root / "tools/command.hpp").read_text(encoding="utf-8"), re.M)
that(len(declared) >= 10 and sorted(commands) == sorted(declared), f"subcommands: {commands}, of {declared}")
for name in commands:
    that(f"strata {name}" in page, f"docs/reference/command.md: nothing on strata {name}")
    for option in re.findall(r"--[a-z-]+", ran(0, name, "--help").stdout):
        that(option == "--help" or f"`{option}" in page or name == "compare", f"docs/reference/command.md: nothing on {option} of {name}")
codes = re.findall(r"^  (\d)  (\w+)", usage, re.M)
that(codes == [("0", "fine"), ("1", "found"), ("2", "unusable"), ("3", "undecided")], f"exit codes: {codes}")
for code, word in codes:
    that(re.search(rf"^- {code} {word}\b", page, re.M), f"docs/reference/command.md: nothing on exit code {code}")
that(ran(0, "--version").stdout.startswith("strata 0."), "no version")
that(ran(2).stderr == "strata: A subcommand is required\nstrata --help shows all options\n", "no subcommand is no mistake")
for words, said in ((["reprot"], "strata: there is no reprot, did you mean report?\nstrata --help shows all options\n"),
                    (["reprot", "x", "--out", "y"], "strata: there is no reprot, did you mean report?\nstrata --help shows all options\n"),
                    (["qqqqqq"], "strata: there is no qqqqqq\nstrata --help shows all options\n"),
                    (["run", "--for", "soon", "--", "x", "--port"], "strata run: --for takes a time such as 30s, 5m or 2h, not 'soon'\nstrata run --help shows all options\n"),
                    (["--verson"], "strata: there is no --verson, did you mean --version?\nstrata --help shows all options\n"),
                    (["report", "--fromats=html", "x"], "strata report: there is no --fromats, did you mean --formats?\nstrata report --help shows all options\n"),
                    (["report", "x", "y"], "strata report: y is one argument too many: it takes one FILE\nstrata report --help shows all options\n")):
    that(ran(2, *words).stderr == said, f"{words}: {ran(2, *words).stderr}")

for words, said in ((["metrics", "H100", "H200"], "metrics: H200 is one argument too many: it takes one CHIP"),
                    (["ceilings", "all"], "ceilings: all is one argument too many: it takes none"),
                    (["explain", "x", "--format", "xml"], "explain: --format takes text, markdown or json, not 'xml'"),
                    (["explain", "--json=x", "y"], "explain: --json takes no value"),
                    (["explain", ""], "explain: FILE is empty: name it")):
    that(ran(2, *words).stderr == f"strata {said}\nstrata {words[0]} --help shows all options\n", f"{words}: {ran(2, *words).stderr}")
that(ran(2, recordings[0]).stderr.startswith(f"strata: {recordings[0]} is no subcommand: strata report, explain or trace {recordings[0]}\n"), "a file is no subcommand")

# report: the table is on stdout, words about files are on stderr, and --out is what they call the folder.
table = ran(0, "report", recordings[0], "--formats", "table")
that(table.stdout.startswith("Strata 0.") and table.stderr == "", f"the table is not on stdout alone: {table.stderr}")
that(ran(2, "report", recordings[0], "--formats", "html,csv").stderr
     == "strata report: --formats html,csv: formats are joined by +\n", "a comma")
told = ran(2, "report", recordings[0], "--formats", "csv", "--out", "/proc/no")
that("choose another place with --out DIRECTORY;" in told.stderr and "STRATA=" not in told.stderr + told.stdout, f"--out: {told.stderr}")

that(ran(2, "report", recordings[0], "--formats", "none+html").stderr
     == "strata report: --formats none+html: in \"formats=none+html\" none is ignored: it cannot be combined with others.\n", "none and more")
that(ran(2, "compare", "--factors", ",", *same).stderr.endswith("--factors: It takes columns, such as kernels,gpu_busy_ns.\n"), "no column")
that(ran(2, "compare", "--accepted", ".", *same).stderr == "strata compare: .: It is a directory: name a file of lines.\n", "a folder of lines")

# SKILL.md: it is short, and names commands, files and members of the answer that there are.
skill = (root / "SKILL.md").read_text(encoding="utf-8")
that(len(skill.splitlines()) <= 120, f"SKILL.md: {len(skill.splitlines())} lines")
for name in re.findall(r"(?:^ +|`)strata (\w+)", skill, re.M):
    that(name in commands, f"SKILL.md: there is no strata {name}")
for option in re.findall(r"--[a-z]+", " ".join(re.findall(r"strata run (.*?) -- ", skill))):
    that(option in ran(0, "run", "--help").stdout, f"SKILL.md: strata run has no {option}")
for path in re.findall(r"`((?:docs|python)/[\w./-]+)`", skill):
    that((root / path).exists(), f"SKILL.md: there is no {path}")
members = json.loads((root / "docs/schema/explanation.json").read_text(encoding="utf-8"))["properties"]
for member in re.findall(r"^\d\. `(\w+)`", skill, re.M):
    that(member in members, f"SKILL.md: the answer has no {member}")

# trace: the files that report makes.
formats = (root / "include/strata/session/report_side.hpp").read_text(encoding="utf-8")
timelines = dict(re.findall(r'\{report_format::\w+,\s+"([\w.]+)",[^}]*?timeline,\s+"trace\.([\w.-]+)"\}', formats))
that(len(timelines) >= 2, f"timelines: {timelines}")
for recording in recordings:
    folder = pathlib.Path(f"trace-{recording.stem}")
    shutil.rmtree(folder, ignore_errors=True)
    ran(0, "report", recording, "--formats", "+".join(timelines), "--out", folder)
    for name in timelines.values():
        told = ran(0, "trace", recording, "--out", f"one.{name}").stderr
        that(told.endswith(f"strata trace: wrote one.{name}\n"), f"trace does not say where it wrote: {told}")
        that(pathlib.Path(f"one.{name}").read_bytes() == (folder / f"trace.{name}").read_bytes(), f"{recording.name}: another trace as {name}")
# Of several runs in one folder: one file, in which each has processes of its own and its place by the time of day.
shutil.rmtree("ranks", ignore_errors=True)
alone = []
for number, recording in enumerate(recordings[:2]):
    pathlib.Path(f"ranks/rank{number}").mkdir(parents=True)
    shutil.copy(recording, f"ranks/rank{number}/profile.strata")
    ran(0, "trace", recording, "--out", "one.json")
    alone.append(json.loads(pathlib.Path("one.json").read_text(encoding="utf-8")))
ran(0, "trace", "ranks", "--out", "joined.json")
joined = json.loads(pathlib.Path("joined.json").read_text(encoding="utf-8"))
that(joined["baseTimeNanoseconds"] == min(each["baseTimeNanoseconds"] for each in alone), "the runs do not begin with the first")
for each in alone:
    first = next(e for e in each["traceEvents"] if e["ph"] == "X")
    shift = (each["baseTimeNanoseconds"] - joined["baseTimeNanoseconds"]) / 1e3
    found = [e for e in joined["traceEvents"] if e["ph"] == "X" and e["name"] == first["name"] and abs(e["ts"] - first["ts"] - shift) < 0.002]
    that(found, f"a run is not where its time is: {first}")
that(len(joined["traceEvents"]) == sum(len(each["traceEvents"]) for each in alone), "events are missing")
# A rank that cannot be read is named, and the others are there.
broken = pathlib.Path("ranks/rank2/profile.strata")
broken.parent.mkdir()
broken.write_bytes(recordings[0].read_bytes()[:100])
told = ran(2, "trace", "ranks", "--out", "two.json").stderr
that("ranks/rank2/profile.strata" in told and told.endswith("wrote two.json\nstrata trace: 2 of 3 recordings are in it\n"), f"a broken rank: {told}")
that(pathlib.Path("two.json").read_bytes() == pathlib.Path("joined.json").read_bytes(), "a broken rank changes what the others have")
# Nsight Systems' tables: the rows of the timeline, joined as its readers join them.
words = ["trace", recordings[0], "--out", "one.sqlite"]
for _ in range(2):  # the second one replaces the first
    ran(0, *words)
kinds = {"kernel": "KERNEL", "gpu_memcpy": "MEMCPY", "gpu_memset": "MEMSET", "cuda_runtime": "RUNTIME",
         "cuda_sync": "SYNCHRONIZATION"}
with contextlib.closing(sqlite3.connect("one.sqlite")) as tables:
    for category, table in kinds.items():
        rows = [e for e in alone[0]["traceEvents"] if e.get("cat") == category and e["ph"] == "X"]
        found = tables.execute(f'SELECT count(*), total("end" - start) FROM CUPTI_ACTIVITY_KIND_{table}').fetchone()
        ns = 1e3 * sum(e["dur"] for e in rows)
        that(found[0] == len(rows) and abs(found[1] - ns) < len(rows) + 1, f"{table}: {found}, {len(rows)} events")
    named = tables.execute("""SELECT k.start, n.text, s.value FROM CUPTI_ACTIVITY_KIND_KERNEL k
        JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON k.correlationId = r.correlationId JOIN StringIds s ON k.shortName = s.id
        JOIN NVTX_EVENTS n ON n.eventType = 59 AND n.globalTid = r.globalTid
            AND n.start <= r.start AND n."end" >= r."end"
        GROUP BY k.start HAVING max(n.start) ORDER BY k.start""").fetchall()
    kernels = sum(e.get("cat") == "kernel" for e in alone[0]["traceEvents"])
    that(len(named) == kernels, f"{len(named)} kernels lie in ranges")
    events = {e["name"] for e in alone[0]["traceEvents"]}
    that({row[1] for row in named} | {row[2] for row in named} <= events, "a name is not the timeline's")
    that(tables.execute("SELECT smCount FROM TARGET_INFO_GPU").fetchall() == [(132,)], "not the GPU of the recording")
told = ran(2, "trace", recordings[0], "--out", "no/a-folder.sqlite").stderr
that("no/a-folder.sqlite: It cannot be written" in told, "no place for tables")
that("one rank" in ran(2, "trace", "ranks", "--out", "ranks.sqlite").stderr, "tables of several runs")
# A file that cannot be written whole leaves what was there.
largest = max(recordings, key=lambda path: path.stat().st_size)
for name in ("one.sqlite", "one.json", "one.json.gz"):
    ran(0, "trace", recordings[0], "--out", name)
    before = pathlib.Path(name).read_bytes()
    words = ["bash", "-c", 'ulimit -f 20; exec "$0" "$@"', str(program), "trace", str(largest), "--out", name]
    done = subprocess.run(words, env=environment, restore_signals=False,  # without SIGXFSZ
                          stderr=subprocess.PIPE, universal_newlines=True)
    that(done.returncode == 2 and "It cannot be written" in done.stderr and pathlib.Path(name).read_bytes() == before
         and not pathlib.Path(name + ".part").exists(), f"{name} of a full disk: {done.returncode} {done.stderr}")
# Without zlib the timeline is there, not compressed.
pathlib.Path("no-zlib").mkdir(exist_ok=True)
pathlib.Path("no-zlib/libz.so.1").write_bytes(b"")
for path in ("bare.json", "bare.json.gz"):
    pathlib.Path(path).unlink(missing_ok=True)
for words in (["trace", recordings[0], "--out", "bare.json.gz"], ["report", recordings[0], "--formats", "trace", "--out", "bare"]):
    done = subprocess.run([str(program), *map(str, words)], stderr=subprocess.PIPE, universal_newlines=True, env={**environment, "LD_LIBRARY_PATH": "no-zlib"})
    that(done.returncode == 0 and "not compressed, because libz.so.1 is not here" in done.stderr, f"without zlib: {done.stderr}")
    that("trace.json.gz" not in done.stderr, f"without zlib there is no such file: {done.stderr}")
ran(0, "trace", recordings[0], "--out", "one.json")
for path in ("bare.json", "bare/trace.json"):
    that(pathlib.Path(path).read_bytes() == pathlib.Path("one.json").read_bytes(), f"{path} is another one without zlib")
# A name says what is written, whatever letters it has, and what cannot be written is refused.
for name, begins in (("named.SQLITE", b"SQLite"), ("named.sqlite3", b"SQLite"), ("named.db", b"SQLite"), ("named.JSON", b"{"), ("named.json.GZ", b"\x1f\x8b")):
    ran(0, "trace", recordings[0], "--out", name)
    that(pathlib.Path(name).read_bytes().startswith(begins), f"{name} is something else")
for name in ("one.pftrace", "one.perfetto-trace", "one.html", "one.nsys-rep", "one.csv", "one"):
    told = ran(2, "trace", recordings[0], "--out", name).stderr
    that("trace.json.gz" in told and told.count("\n") == 1 and not pathlib.Path(name).exists(), f"another format: {told}")
that(ran(0, "trace", recordings[0], "--out", "/dev/stdout").stdout.startswith("{"), "a timeline on stdout")
for words in (["report", recordings[0], "--out", "page.html"], ["run", "--out", "run.json.gz", "--", "true"]):
    told = ran(2, *words).stderr.split("\n")[0]
    that(told == f"strata {words[0]}: --out takes the name of a folder, whose files have names of their own, not '{words[words.index('--out') + 1]}'", told)
for words, told in ((["compare", "--json", "x.html"], "--json takes a name that ends in .json, not 'x.html'"),
                    (["compare", "--html", "x.json.gz"], "--html takes a name that ends in .html, not 'x.json.gz'"),
                    (["compare", "--markdown", "x.json"], "--markdown takes a name that ends in .md, not 'x.json'"),
                    (["ranks", "--json", "ranks"], "--json takes the path of a file, not 'ranks'")):
    that(ran(2, *words, *same).stderr.split("\n")[0] == f"strata {words[0]}: {told}", f"{words}: {told}")
that(ran(2, "trace", recordings[0], "--out", "no/folder/x.json").stderr
     == "strata trace: no/folder/x.json: It cannot be written: No such file or directory" + UNWRITTEN + "\n", "no place is no failure")

schema = (root / "docs/schema/explanation.json").read_text(encoding="utf-8")
# explain: bounded, the same bytes for the same input, and what findings.json says.
made = subprocess.run([str(build / "tests/bin/unit_tests"), "--source-file=*/unit/html_test.cpp", "--test-case=pages for the test in a browser"], stdout=subprocess.PIPE, universal_newlines=True,
                      env={**environment, "STRATA_TEST_PAGES": str(pathlib.Path().resolve())})
that(made.returncode == 0 and pathlib.Path("hostile.strata").exists(), made.stdout)
for recording in [*recordings, pathlib.Path("hostile.strata")]:
    for form in ("text", "markdown", "json"):
        told = ran(0, "explain", recording, "--format", form).stdout
        that(len(told.encode()) <= 20000, f"{recording.name}: {len(told.encode())} bytes as {form}")
        that(told == ran(0, "explain", recording, "--format", form).stdout, f"{recording.name}: other bytes for the same input")
        that(not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", told), f"{recording.name}: a control character as {form}")
    marked = ran(0, "explain", recording, "--format", "markdown").stdout
    for line in marked.split("\n"):
        words = re.sub(r"\\.", "", re.sub(r"`[^`]*`", "", line))  # without code and what is escaped
        that(line.startswith("    ") or not re.search("[`<>]", words), f"{recording.name}: a name is markup: {line}")
        that(not line.startswith("|") or words.count("|") == 5, f"{recording.name}: a name ends a cell: {line}")
    answer = json.loads(told)
    folder = pathlib.Path(f"explain-{recording.stem}")
    shutil.rmtree(folder, ignore_errors=True)
    ran(0, "report", recording, "--formats", "json", "--out", folder)
    findings = json.loads((folder / "findings.json").read_text(encoding="utf-8"))
    that(len(answer["findings"]) + answer["findings_left_out"] == len(findings["findings"]), f"{recording.name}: findings are missing")
    for one, other in zip(answer["findings"], findings["findings"]):
        that(one["rule"] == other["rule"] and one["cost_ns_per_step"] == other["cost_ns_per_step"] and
             one["predicted_step_ns"] == other["predicted_step_ns"] and one["evidence"][:1] == other["evidence"][:1] and
             len(one["evidence"]) + one["evidence_left_out"] == len(other["evidence"]) or
             recording.name == "hostile.strata", f"{recording.name}: another finding: {one}")
    undecided = " ".join(answer["not_examined"])
    for rule in findings["undecided"]:
        that(rule["rule"] in undecided and rule["how"] in undecided, f"{recording.name}: {rule} is not told")
    for key in (*answer, *answer["schema"], *(answer["findings"] or [{}])[0], *(answer["ranges"] or [{}])[0]):
        that(f'"{key}"' in schema, f"docs/schema/explanation.json: nothing on {key} of the JSON")
text = ran(0, "explain", recordings[0]).stdout
for words in ("answer        Launch-bound: ", "finding 1     launch-bound: ", "  evidence    block[*]/", "  try         launch a CUDA graph",
              "not examined  ",
              "next          strata run --out next skip=1 warmup=1 active=2 counters=findings kernels=softmax -- "):
    that(f"\n{words}" in text, f"explain has no '{words}':\n{text}")
that(re.search(r"^ranges        block\[\*\]: GPU busy [\d.]+ ms, ", text, re.M), f"explain does not say which time:\n{text}")
that(re.search(r": \d,\d{3} kernels of its own$", text, re.M), f"explain has a count with decimals:\n{text}")
that(re.search(r"record with counters=findings,kernels=softmax to run these checks$", text, re.M),
     f"a range's name is no mode of kernels=:\n{text}")
that("few-blocks: record with counters=findings,kernels=loss to run this check\n" in text, "one check is several")
that(f" more: strata report {recordings[0]} --formats csv\n" in text
     and f" more: strata report {recordings[0]} --formats json\n" in text,
     f"explain does not say how to see the rest:\n{text}")
whole = next(recording for recording in recordings if recording.stem == "llama-decode")
text = ran(0, "explain", "hostile.strata").stdout  # its run wrote the files
that("formats=" not in text and " more: strata report hostile.strata --formats csv\n" in text
     and " more: strata report hostile.strata --formats json\n" in text,
     f"explain names files of the run, which may lie elsewhere:\n{text}")
counted = next(recording for recording in recordings if recording.stem == "pytorch-decode")
that(any(told.startswith("counters: ") for told in json.loads(ran(0, "explain", counted, "--json").stdout)["problems"])
     and "counters: " not in ran(0, "trace", counted, "--out", "x.json").stderr, "a timeline is told what was not counted")
that("\nnext          First make the program launch its work without CUDA graphs (no stream capture), for this run only.\n              strata run " in ran(0, "explain", counted).stdout,
     "what to do first does not stand first")
that("next          GGML_CUDA_DISABLE_GRAPHS=1 strata run --out next " in ran(0, "explain", whole).stdout,
     "explain does not say how to count beside CUDA graphs")
that(ran(2, "explain", root / "README.md").stderr ==
     f"strata explain: {root}/README.md: It is no recording of Strata, it seems to be plain text: formats=recording writes one.\n", "a recording of no file")

# What has no end, waits for somebody or is another kind of file is refused at once, by each command that reads.
fifo = pathlib.Path("pipe")
if not fifo.exists():
    os.mkfifo(fifo)
pathlib.Path("png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
with open("sparse", "wb") as sparse:
    sparse.truncate(1 << 40)
for words in (["explain"], ["report"], ["trace"], ["ledger"], ["ranks"], ["compare", "--baseline", recordings[0]]):
    for file, said in (("/dev/zero", "It is a device"), (fifo, "It is a pipe or a socket"), ("png", "it seems to be a PNG image: formats="),
                       ("sparse", "it seems to be nothing but zeros: formats="), (program, "it seems to be an ELF program or library: formats=")):
        told = ran(2, *words, file)
        that(said in told.stderr and told.stderr.count("\n") == 1 and not told.stdout, f"{words} {file}: {told.stderr}")
limited = subprocess.run(["sh", "-c", f"ulimit -v 40000; exec {shlex.quote(str(program))} explain {shlex.quote(str(recordings[0]))}"],
                         env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
that(limited.returncode >= 0 and (limited.returncode in (0, 127) or "The memory is not enough" in limited.stderr),
     f"no memory: {limited.returncode} {limited.stderr}")


# A recording of somebody else, with these texts of its environment and these problems.
def recording_with(name, environment_, problems=(), kernels=()):
    def leb(value):
        made = b""
        while value > 127:
            made, value = made + bytes([value & 127 | 128]), value >> 7
        return made + bytes([value])

    keys = []

    def key(word):
        if word in keys:
            return leb(keys.index(word) + 1)
        keys.append(word)
        return leb(len(keys)) + leb(len(word)) + word.encode()

    def text(value):
        return b"\2" + leb(len(value.encode())) + value.encode()

    content = b"\5" + key("environment") + b"\5" + b"".join(key(k) + text(v) for k, v in environment_.items()) + b"\0"
    if problems:
        content += key("problems") + b"\4" + leb(len(problems)) + b"".join(map(text, problems))
    if kernels:
        content += key("kernel_names") + b"\4" + leb(len(kernels)) + b"".join(b"\5" + key("mangled") + text(each) + b"\0" for each in kernels)
        content += key("names") + b"\4\1" + text("") + key("nodes") + b"\4\1\5\0"
        record = lambda *words: leb(16) + leb(1) + bytes([sum(1 << i for i in range(8) if words[i]), sum(1 << i for i in range(8) if words[i + 8])]) + b"".join(leb(2 * w) for w in words if w)
        content += key("kernels") + b"\3" + record(1, 0, 100, 0, 0, 0, 0, 1, 0, 0, 1, 65537, 1, 1, 0, 0) + key("end") + b"\0" + leb(2000) + key("traced") + b"\0\2"
    content += b"\0"
    hash_ = 0xcbf29ce484222325
    for byte in content:
        hash_ = (hash_ ^ byte) * 0x100000001b3 % (1 << 64)
    pathlib.Path(name).write_bytes(b"strata recording 2\nw" + content + hash_.to_bytes(8, "little"))


# No text of it is a command of ours, wherever the file lies, and none controls the terminal.
pathlib.Path("bin").mkdir(exist_ok=True)
pathlib.Path("bin/strata").write_text("#!/bin/sh\nprintf '%s\\n' \"$@\" > ran\n")
pathlib.Path("bin/strata").chmod(0o755)
odd = pathlib.Path("it's $(touch pwned)")
odd.mkdir(exist_ok=True)
for command, words in (("./train --lr 'a b' x=1", ["./train", "--lr", "a b", "x=1"]), ("./a 'it'\\''s'", ["./a", "it's"]), ("./a; touch pwned", ["PROGRAM"]),
                       ("./a $(touch pwned)", ["PROGRAM"]), ("./a `touch pwned`", ["PROGRAM"]), ("./a\ntouch pwned", ["PROGRAM"]), ("./a > pwned", ["PROGRAM"]),
                       ("./a 'x", ["PROGRAM"]), ("./a \x1b[2J", ["PROGRAM"]), ("./a 'x\ny'", ["PROGRAM"]), ("", ["PROGRAM"]), ("x" * 5000, ["PROGRAM"])):
    recording_with(odd / "x.strata", {"command": command, "options": "trace,step=a;touch pwned,only=$(touch pwned),library=`touch pwned`"})
    answer = json.loads(ran(0, "explain", odd / "x.strata", "--json").stdout)
    for line in answer["next"]:
        subprocess.run(["sh", "-c", line], env={**environment, "PATH": f"{pathlib.Path('bin').resolve()}:{environment['PATH']}"}, stderr=subprocess.DEVNULL)
        given = pathlib.Path("ran").read_text().split("\n")[:-1]
        that(not pathlib.Path("pwned").exists() and given[0] in ("run", "report"), f"{line}: a shell runs more than that")
        that(given[0] != "run" or given[given.index("--") + 1:] == words, f"{command!r}: the next command is {line}")
        that(given[0] != "report" or given[1] == str(odd / "x.strata"), f"another file: {line}")
    that("those that the recording names" in answer["next_note"], "whose the command is")
# The next command is the one that tells most of a program that is annotated already: its GPU, its steps, then its counters.
for options, kernels, expected in (("host,skip=2", (), "strata run --out next skip=2 -- ./train"), ("trace", ("_Z1kv",), "strata run --out next --steps auto counters=findings -- ./train"),
                                   ("trace,step=token", ("_Z1kv",), "strata run --out next --steps token counters=findings -- ./train")):
    recording_with("next.strata", {"command": "./train", "options": options}, kernels=kernels)
    answer = json.loads(ran(0, "explain", "next.strata", "--json").stdout)
    that(answer["next"][0] == expected, f"after {options}: {answer['next'][0]}")
# A name of 400 bytes that stands for 2^40 in C++ stays as it is.
digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def reference(number):
    return "S_" if number == 0 else f"S{digits[number - 1]}_" if number <= 36 else f"S{digits[(number - 1) // 36]}{digits[(number - 1) % 36]}_"


doubled = "_Z1f1A" + "".join(f"1{chr(66 + i % 20)}I{reference(2 * i) * 2}E" for i in range(40))
recording_with("doubled.strata", {"command": "./a"}, kernels=[doubled])
told = ran(0, "report", "doubled.strata", "--formats", "json", "--out", "doubled")
read = json.loads(pathlib.Path("doubled/profile.json").read_text(encoding="utf-8"))["kernels"]
that([row["mangled"] for row in read] == ["[too long in C++] " + doubled], f"a name that doubles: {read}")
shutil.rmtree("doubled")
recording_with("control.strata", {"command": "./a"}, ["clear\x1b[2J\x07\u009b\u202e", "two\nlines"])
for words in (["trace", "control.strata", "--out", "x.json"], ["explain", "control.strata"], ["explain", "control.strata", "--json"], ["report", "control.strata", "--formats", "table"]):
    told = ran(0, *words)
    said = told.stdout + told.stderr
    that("clear" in said and not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", said) and "\nlines" not in said, f"{words}: {said!r}")

# help: of keys, metrics, presets, findings and messages.
for topic, words in (("skip", "STRATA=skip=N"), ("hbm_bytes", "hbm_bytes [B], hbm: bytes moved"), ("hbm", "counters=hbm: "), ("limiter", "column limiter: the unit used most"),
                     ("GPU busy", "column GPU busy: overlapping work"), ("atomics", "finding atomics, try: "),
                     ("strata: no NVIDIA driver: libcuda.so.1 was not found (in a container, start it with --gpus all)", "no NVIDIA driver: libcuda.so.1"),
                     ('STRATA: there is no key "tarce", did you mean trace?', "misspelt, or a ; or blank")):
    that(words in ran(0, "help", topic).stdout, f"help {topic}: nothing on '{words}'")
for line in ("STRATA=trace,out=run1 ./program", "  GPU busy: overlapping work counts once"):
    that(line in ran(0, "help").stdout, f"help without a topic: {line}")
examples = re.findall(r"^  strata help (\S.*)", ran(0, "help", "--help").stdout.replace("  the keys of STRATA=", ""), re.M)
that(len(examples) >= 5, f"examples of help: {examples}")
for example in examples:
    ran(0, "help", *shlex.split(example))
for stall in (["short", "scoreboard"], ["short-scoreboard"], ["latency:", "short", "scoreboard"], ["Short Scoreboard"]):
    that("short scoreboard: warps wait for shared memory" in ran(0, "help", *stall).stdout, f"help {stall}")
for finding in (["few-blocks"], ["few", "blocks"], ["Few blocks"]):
    that("finding few-blocks, try: " in ran(0, "help", *finding).stdout, f"help {finding}")
for limiter in ("launch", "latency", "copies", "above the roof", "HBM", "issue"):
    that(f"limiter {limiter}: " in ran(0, "help", limiter).stdout, f"help {limiter}")
for text in ("every=2", "STRATA=skip=3,every=2"):
    that("STRATA=every=N  " in ran(0, "help", text).stdout, f"help {text}")
that("counters=hbm: traffic" in ran(0, "help", "STRATA=trace,counters=hbm+hbm_bytes").stdout, "help of what is counted")
for topic, words in (("ranges.csv", "\n  gpu_busy_ns: time in which a kernel or copy of the range ran"), ("profile.json", "\n  ranges, kernels, spans: the rows"), ("findings.json", "\n  account: what the"),
                     ("strata-out/cpu_counters.csv", "file counters.csv: There is one row"), ("trace.json", "file trace.json.gz: "), ("report.html", "file report.html: "),
                     ("profile.strata", "file profile.strata: "), ("kernels.csv", "\n  path_id: "), ("memory.csv", "\n  address: "), ("spans.csv", "\n  domain: ")):
    that(words in ran(0, "help", topic).stdout, f"help {topic}: nothing on '{words}'")
for topic, words in (("MBU", "MBU, MFU: "), ("MFU", "MBU, MFU: "), ("issue", "issue: the slots in which schedulers issue")):
    told = ran(0, "help", topic).stdout
    that(words in told and "Beside the ranges" not in told, f"help {topic}: {told}")
that("it is no key, column, file, metric, preset, stall, limiter, finding or message: strata help lists" in ran(2, "help", "xyzzyxyzzy").stderr, "help of nothing")
for word, near in (("launch-bond", "launch-bound"), ("SORTT", "sort"), ("hbm_bytez", "hbm_bytes"),
                   ("limitr", "limiter"), ("hbm_of_peek", "hbm_of_peak"), ("cpu_ipz", "cpu_ipc"),
                   ("host totl", "host total"), ("explan", "explain")):
    that(f", did you mean {near}? strata help lists" in ran(2, "help", word).stderr, f"help {word}")
for words, names in ((["sectors", "of", "local", "load"], "l1_local_load_sectors"),
                     (["spill"], "register-spills, l1_local_load_sectors, l1_local_store_sectors")):
    that(f", but strata help explains what may be meant: {names}. " in ran(2, "help", *words).stderr, f"help {words}")
told = ran(0, "help", "driver").stdout
that(re.match(r"no entry for driver; \d+ messages contain it:\n", told) and len(told.splitlines()) == 8,
     f"a word of messages alone:\n{told}")
told = ran(0, "help", "range").stdout
that(told.startswith("column range: ") and "CUPTI" not in told, "help range has messages")
explained = {}


def has_topic(word, where):
    """Whether strata help knows a word of an output."""
    if word not in explained:
        explained[word] = subprocess.run([str(program), "help", "--", word], env=environment, stdout=subprocess.PIPE,
                                         stderr=subprocess.DEVNULL, universal_newlines=True)
        done = explained[word]
        that(done.returncode == 0 and not done.stdout.startswith("no entry"),
             f"strata help knows nothing of '{word}' of {where}")


# Every word that the outputs print is a topic: of the console the head, the answer, each header, what legends
# explain, the foot.
for recording in recordings:
    environment["COLUMNS"] = "400"
    table = ran(0, "report", recording, "--formats", "table").stdout
    del environment["COLUMNS"]
    head, answer = table.split("\n")[1:3]
    for word in re.findall(r"(?:^|[(,|;] ?)([a-zA-Z]\w*(?: [a-zA-Z]\w*)*)(?= \d|\)| \(|$)", head):
        has_topic(re.sub("^mean of$", "mean", word), f"the head of {recording.name}")
    has_topic(re.search(r"^answer: +([\w -]+): ", answer).group(1), f"the answer of {recording.name}")
    for line in re.findall(r"\n\n(.*)\n─", table):
        for word in re.split(" {2,}", line.strip()):
            has_topic(word, f"the headers of {recording.name}")
    for word in re.findall(r"^((?:[\w()%/]+ )*[\w()%/]+): ", table, re.M):
        has_topic(word, f"the legends of {recording.name}")
    for word in re.findall(r"[\d.]+ \w?s (in [a-zA-Z' ]+)|; ([a-z]+) ", table[table.rindex("\ncost:"):]):
        has_topic("".join(word).strip(), f"the foot of {recording.name}")
    answer = json.loads(ran(0, "explain", recording, "--json").stdout)
    for range_ in answer["ranges"]:
        has_topic(range_["limiter"], f"the limiters of {recording.name}") if range_["limiter"] else None
    for value in (value for cause in answer["findings"] for value in cause["evidence"]):
        has_topic(value["column"], f"the evidence of {recording.name}")
    for word in re.findall(r"^ *([a-z][a-z ]*?)(?: \d)?  ", ran(0, "explain", recording).stdout, re.M):
        has_topic(word, f"the answer of {recording.name}")
    ran(0, "report", recording, "--formats", "csv", "--out", f"words-{recording.stem}")
    for written in pathlib.Path(f"words-{recording.stem}").glob("*.csv"):
        head = "" if written.stem.endswith("_wide") else written.read_text(encoding="utf-8").split("\n")[0]
        for word in filter(None, head.split(",")):
            has_topic(word, written.name)
    shutil.rmtree(f"words-{recording.stem}")
tables = "".join((root / name).read_text(encoding="utf-8")
                 for name in ("include/strata/tables/range_table.hpp", "src/report/counter_view.hpp",
                              "src/report/console_tables.cpp"))
headers = re.findall(r'\{"([^"]+)", \d+(?=[,}])', tables)
that(len(headers) > 60, f"headers in the code: {headers}")
for word in headers:
    has_topic(word, "the code")
rules = "".join((root / "src/analyse" / name).read_text(encoding="utf-8")
                for name in [path.name for path in (root / "src/analyse").glob("*_rules.cpp")] + ["rule_context.cpp"])
for word in re.findall(r'prove(?:_own)?\([^"\n]*"(\w+)"', rules):
    has_topic(word, "the rules' evidence")
for word in """rules, Without this cause, problem, wrote, GPU idle, What helps most, Most to gain, No single limiter, Limiter,
    in general, outside ranges, at best, without recording, Its longest kernel, Each runs kernels, block[*], window, SM, waiting for launches,
    queued work not started, calls that copy, waits of the host, allocations, making CUDA graphs, CPU code between launches, roof, declared work, best case, noise, verdict,
    SLOWER, unsure, inconclusive, MFU, MBU, kept in L2, write-back, workspace, Only host times are known, unrecorded, all""".split(","):
    has_topic(" ".join(word.split()), "the outputs")
# The same of comparisons and ranks: headers, beginnings of lines, rows that are no range, members of the JSON.
made = subprocess.run([str(build / "tests/bin/unit_tests"), "--source-file=*/unit/ranks_test.cpp", "--test-case=folders of ranks*"],
                      stdout=subprocess.PIPE, universal_newlines=True,
                      env={**environment, "STRATA_TEST_RANKS": f"{pathlib.Path('help-ranks').resolve()} 4 10 3 2 30000"})
that(made.returncode == 0, made.stdout)
slow = ran(0, "compare", "--json", "help.json", *recordings[:2]).stdout + ran(1, "compare", *recordings[1::-1]).stdout
late = ran(1, "ranks", "--json", "help-ranks.json", "help-ranks").stdout
for line in re.findall(r"^ +[a-z]+  .*", slow + late, re.M):  # headers
    for word in re.split(" {2,}", re.sub(r" \([^()]*\)$", "", line).strip()):
        has_topic(word, "the headers of comparisons and ranks")
for word in re.findall(r"^([a-z][a-z ]*): ", slow, re.M):
    has_topic(word, "a comparison")
for word in re.findall(r"^ +[-+].* {2}((?:GPU idle: |copies |the period|the first step|between |work at )[a-z ]*|\d+ other rows)", slow, re.M):
    has_topic(re.sub(r"^\d+ ", "", word).strip(), "the rows of a period")


def members_of(value):
    for name, part in value.items() if isinstance(value, dict) else (("", each) for each in value):
        if name and name != "schema":
            yield name
        if isinstance(part, (dict, list)):
            yield from members_of(part)


for name in ("help.json", "help-ranks.json"):
    for word in sorted(set(members_of(json.loads(pathlib.Path(name).read_text(encoding="utf-8"))))):
        has_topic(word, name)
causes = (root / "src/analyse/steps.hpp").read_text(encoding="utf-8")
bounds = re.findall(r'^    \{"[\w ]+", "([\w-]+)", "', causes, re.M)
that(len(bounds) >= 6, f"what bounds a step: {bounds}")
for word in bounds:
    has_topic(word, "the answer")
for word in ("while the program computes on the CPU", "all, a step", *commands):
    has_topic(word, "the outputs")

# What it prints goes nowhere: a full disk, or no stdout at all. That is no verdict, and no file takes the place of stdout.
for words in (["explain", recordings[0]], ["explain", recordings[0], "--json"], ["help", "skip"], ["--help"], ["--version"],
              ["compare", "--help"], ["compare", "--anyway", *same], ["compare", "--json", "same.json", *same], ["ledger", recordings[0]],
              ["report", recordings[0], "--formats", "table"], ["metrics", "H100"]):
    for where in (">/dev/full", ">&-"):
        lost = subprocess.run(["bash", "-c", f'exec "$0" "$@" {where}', str(program), *map(str, words)], env=environment,
                              stderr=subprocess.PIPE, universal_newlines=True)
        by = "strata" if words[0].startswith("-") or "--help" in words else f"strata {words[0]}"
        that(lost.returncode == 2, f"{words} {where}: {lost.returncode}")
        that(lost.stderr == f"{by}: stdout: It cannot be written: close no stdout, and free space where it goes.\n", f"{words} {where}: {lost.stderr}")
that(json.loads(pathlib.Path("same.json").read_text(encoding="utf-8"))["verdict"], "a closed stdout: other text in the file")
for words in (["compare", "--html"], ["compare", "--json"], ["compare", "--markdown"]):
    lost = ran(2, *words, "/dev/full", *same)
    that(lost.stderr.endswith("/dev/full: It cannot be written: No space left on device" + UNWRITTEN + "\n") and lost.stdout, f"{words}: {lost.stderr}")

# Both builds put the same bytes of the documents into it.
subprocess.run([sys.executable, "-B", str(root / "tools/documents.py"), "by_python.hpp"], check=True)
subprocess.run(["cmake", "-DOUT=by_cmake.hpp", "-P", str(root / "tools/documents.cmake")], check=True)
that(pathlib.Path("by_python.hpp").read_bytes() == pathlib.Path("by_cmake.hpp").read_bytes(), "CMake and Meson embed other documents")

# metrics: by a libcupti of this machine, if there is one.
told = ran(2, "metrics", "no-chip")
that(told.stdout.startswith("No metrics can be listed: ") and "Metrics of the CPU" in told.stdout, f"metrics: {told.stdout[:200]}")

# ceilings: of the GPU, or without one of the CPU.
quiet = ran(0, "ceilings")
rate = r" +[\d.]+ (?:GB/s|[GT]FLOP/s|TOP/s) "
if re.search(r"^HBM read ", quiet.stdout, re.M):
    names = ["HBM read", "HBM write", "HBM copy", "L2 read", "L1 read", "shared read", "FP32", "FP64", "FP16", "BF16 tensor"]
    kept = list(pathlib.Path("cache/strata").glob("*-*-*-*-*.txt"))
    that(len(kept) == 1 and kept[0].read_text().startswith("strata-ceilings 1\n"), f"kept: {kept}")
else:  # no GPU
    names = ["CPU copy", "CPU triad", "CPU FP32"]
    that(not pathlib.Path("cache").exists(), "ceilings of a CPU were kept")
for name in names:
    that(re.search(rf"^{re.escape(name)}{rate}", quiet.stdout, re.M), f"no row for {name}:\n{quiet.stdout}")
that(not re.search(r"^CPU FP32 +0\.00 ", quiet.stdout, re.M), f"a rate of nothing:\n{quiet.stdout}")
that(not quiet.stderr, f"it says: {quiet.stderr}")

# It is installed where it was built, and every source file is in all builds.
shutil.rmtree("prefix", ignore_errors=True)
done = subprocess.run(["cmake", "--install", str(build), "--prefix", "prefix", "--component", "tools"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
that(done.returncode == 0 and pathlib.Path("prefix/bin/strata").exists(), f"it is not installed: {done.stdout}")
sources = sorted(path.stem for path in (root / "tools").glob("*.cpp") if path.stem != "implementation")
listed = re.search(r"add_executable\(strata_command\s(.*?)\)", (root / "tools/CMakeLists.txt").read_text(), re.S).group(1)
that(sorted(re.findall(r"(\w+)\.cpp", listed)) == sources, "tools/CMakeLists.txt lists other files")
listed = re.search(r"foreach name : \[('arguments'.*?)\]", (root / "meson.build").read_text(), re.S).group(1)
that(sorted(re.findall(r"'(\w+)'", listed)) == sources, "meson.build lists other files")

end(f"{len(commands)} subcommands, {len(recordings)} recordings")
