"""strata ranks: what it prints, its exit codes and its JSON, on made-up ranks of which one is late."""

import json
import pathlib
import re
import resource
import shutil
import subprocess

from _script import UNREAD, UNWRITTEN, build, end, environment, expect, needs, program, root, that

needs(program)


def ranks(code, *words):
    return expect(code, program, "ranks", *words)


def refused(told, *words):
    done = ranks(2, *words)
    that(done.stderr == f"strata ranks: {told}\n" and not done.stdout, f"{words}: {done.stderr}{done.stdout}")


def made(name, count, steps, layers, late, more, later=0):
    """Folders of ranks with recording and profile.json, of which one takes so many ns more in each mlp."""
    shutil.rmtree(name, ignore_errors=True)
    done = subprocess.run([str(build / "tests/bin/unit_tests"), "--source-file=*/unit/ranks_test.cpp", "--test-case=folders of ranks*"],
                          stdout=subprocess.PIPE, universal_newlines=True,
                          env={**environment, "STRATA_TEST_RANKS": f"{pathlib.Path(name).resolve()} {count} {steps} {layers} {late} {more} {later}"})
    that(done.returncode == 0 and pathlib.Path(f"{name}/rank0/profile.strata").exists(), done.stdout)
    return pathlib.Path(name)


def of_json(folder, name, change=lambda rank, profile: None):
    """The same ranks with profile.json alone, each changed."""
    shutil.rmtree(name, ignore_errors=True)
    for path in sorted(folder.glob("rank*/profile.json")):
        profile = json.loads(path.read_text(encoding="utf-8"))
        change(profile["environment"]["rank"], profile)
        place = pathlib.Path(name) / path.parent.name
        place.mkdir(parents=True)
        (place / "profile.json").write_text(json.dumps(profile), encoding="utf-8")
    return pathlib.Path(name)


def numbers(line):
    return [float(word) for word in line.split()[:7]]


late = made("late", 4, 10, 3, 2, 30000)
told = ranks(1, late, "--json", "late.json").stdout
result = json.loads(pathlib.Path("late.json").read_text(encoding="utf-8"))
first = told.splitlines()[0]
that(re.fullmatch(r"Rank 2 is last in 9 of 9 steps, by (8|9)[\d.]+ us \([\d.]+ % of the step\): its range block\[\*\]/mlp takes (8|9)[\d.]+ us more than "
                  r"the median of the others\.", first), first)
that(result["answer"] == first and result["verdict"] == "stands_out" and result["by_step"] and result["steps"] == 9, f"late.json: {result}")
that(len(told.splitlines()) <= 60, "more than 60 lines")
rows = {row["rank"]: row for row in result["ranks"]}
that(sorted(rows) == [0, 1, 2, 3] and result["ranks"][0]["rank"] == 2, f"ranks: {result['ranks']}")
for rank, row in rows.items():
    # Three all-reduces of 20 us each; what is not work or transfer is waiting, since nothing overlaps.
    that(row["transfer_ns"] == 60000 and row["times_last"] == (9 if rank == 2 else 0), f"rank {rank}: {row}")
    that(abs(row["gpu_busy_ns"] - row["work_ns"] - row["transfer_ns"] - row["wait_ns"]) < 0.01, f"rank {rank}: its times do not add up: {row}")
    that((row["wait_ns"] == 0) == (rank == 2), f"rank {rank}: {row}")
ranges = {row["path"]: row for row in result["ranges"]}
that(ranges["block[*]/attention"]["min_ns"] == ranges["block[*]/attention"]["max_ns"] == 120000, f"attention: {ranges}")
that(ranges["block[*]/mlp"]["max_rank"] == 2 and list(ranges)[0] == "block[*]/mlp", f"mlp: {ranges}")
shown = numbers(told.splitlines()[3])
that(shown[0] == 2 and shown[4] == 0.06 and shown[5] == 0, f"the first row: {told.splitlines()[3]}")
that(ranks(1, *sorted(late.iterdir())).stdout == told, "the folders one by one are another run")
that(ranks(1, *sorted(late.glob("*/profile.strata"))).stdout == told, "the files one by one are another run")

# What docs/how-to/several-ranks.md shows is printed.
guide = re.search(r"```\n(.*?)```", (root / "docs/how-to/several-ranks.md").read_text(encoding="utf-8"), re.S).group(1)
that(ranks(1, made("guide", 8, 40, 12, 5, 30000)).stdout.splitlines()[0] == " ".join(guide.split()), "docs/how-to/several-ranks.md shows another sentence")

# Means alone tell the same rank, not how often.
means = of_json(late, "means")
told = ranks(1, means).stdout
that(told.startswith("Rank 2 is last in the mean of 10 steps, by ") and "its range block[*]/mlp takes " in told.splitlines()[0], told)
that("note: Mean steps are compared: formats=recording shows how often a rank is last.\n" in told, told)
mixed = of_json(late, "mixed")
shutil.copy("late/rank0/profile.strata", "mixed/rank0")
that(ranks(1, mixed).stdout.startswith("Rank 2 is last in the mean of 9 steps, by "), "a recording beside means")

# No rank stands out; too few steps; more ranks than are shown.
even = made("even", 12, 10, 2, -1, 0)
told = ranks(0, even, "--json", "even.json").stdout
that(re.match(r"No rank stands out: the latest, rank \d+, is last in \d+ of 9 steps, by [\d.]+ [nu]s \([\d.]+ % of the step\), within the noise\.\n", told), told)
that("\nand 2 ranks that are less late\n" in told, told)
that(sum(row["times_last"] for row in json.loads(pathlib.Path("even.json").read_text())["ranks"]) == 9, "not one rank is last in each step")
few = made("few", 2, 4, 1, 1, 30000)
told = ranks(3, few).stdout
that(told.startswith("Undecided: 3 steps are too few to tell, record 5 or more after the first; rank 1 is last in 3 of 3 steps, by "), told)

# A rank whose GPU does nothing more, but which comes late all the same: its host.
def come_late(rank, profile):
    for kernel in profile["kernels"]:
        if rank == 3 and kernel["kernel"].startswith("nccl"):
            for column in ("total_ns", "first_step_ns", "stddev_ns"):
                kernel[column] = 0.1 * kernel[column]


told = ranks(1, of_json(even, "host", come_late)).stdout
that(told.startswith("Rank 3 is last in the mean of 10 steps, by ") and "so its host is late: strata explain shows where its GPU is idle.\n" in told, told)


# One whose GPU does more, which is not all of it.
def work_and_come_late(rank, profile):
    come_late(rank, profile)
    collectives = sum(kernel["total_ns"] for kernel in profile["kernels"] if kernel["kernel"].startswith("nccl"))
    most = max((kernel for kernel in profile["kernels"] if not kernel["kernel"].startswith("nccl")), key=lambda kernel: kernel["total_ns"])
    if rank == 3:  # a third of what it comes late by
        most["total_ns"] += 3 * collectives


told = ranks(1, of_json(even, "both", work_and_come_late)).stdout
that(re.match(r"Rank 3 is last in the mean of 10 steps, by [\d.]+ us \([\d.]+ % of the step\): its GPU works [\d.]+ us longer than the median of the "
              r"others, and for the rest its host is late: strata explain shows where its GPU is idle\.\n", told), told)


# One that works longer than it is late, in ranges that half of the others work in as long.
def work_in_turns(rank, profile):
    come_late(rank, profile)
    for part, works in (("attention", rank % 2 == 0 or rank == 3), ("mlp", rank % 2 == 1 or rank == 0)):
        for kernel in profile["kernels"]:
            if works and kernel["path"].endswith(part) and not kernel["kernel"].startswith("nccl"):
                kernel["total_ns"] += 1e6
    profile["ranges"][0]["gpu_busy_ns"] += 1e8


told = ranks(1, of_json(even, "turns", work_in_turns)).stdout
that(re.match(r"Rank 3 is last in the mean of 10 steps, by [\d.]+ us \([\d.]+ % of the step\): its work takes [\d.]+ us more than the median of the "
              r"others, in no single range\.\n", told), told)

# Without collectives work is compared.
def without_collectives(rank, profile):
    profile["kernels"] = [kernel for kernel in profile["kernels"] if not kernel["kernel"].startswith("nccl") and "NCCL:" not in kernel["path"]]


told = ranks(1, of_json(late, "alone", without_collectives)).stdout
that(told.startswith("Rank 2 is last in ") and "note: No kernel is a collective: work alone is compared, waiting is not known. Record with collectives=NAME where one is.\n" in told, told)

# Ranks that take part in different collectives.
told = ranks(3, of_json(late, "groups", lambda rank, profile: without_collectives(rank, profile) if rank == 1 else None)).stdout
that(told.startswith("Undecided: the ranks take part in different collectives, so compare those that take part in the same with --anyway; rank 1 is last "), told)

# What cannot be compared: a sentence with the fix.
pathlib.Path("empty").mkdir(exist_ok=True)
refused("empty: Neither the folder nor a folder in it has a profile.strata or profile.json: give the out= of the run.", "empty")
refused("none: It cannot be opened: No such file or directory" + UNREAD, "none")
refused("late/rank2: It has rank 2 alone: give the folder that has all of them.", "late/rank2")
refused("means/rank1/profile.json: It is rank 1, and so is late/rank1/profile.strata: give one run.", "late", "means/rank1")
# A second run into one folder makes rank0-2 where rank0 is, and no suffix where the first run left none: the newest run is compared.
def begins(at):
    return lambda rank, profile: profile["environment"].update(started_at_unix_ns=1790000000000000000 + at * 10**9 + rank * 10**6)


again = of_json(late, "again", begins(0))
shutil.rmtree("again/rank3")
for path in sorted(of_json(late, "newer", begins(3600)).glob("rank*")):
    shutil.copytree(path, f"again/{path.name}" if path.name == "rank3" else f"again/{path.name}-2")
told = ranks(1, again).stdout
alone = ranks(1, "newer").stdout
several = ("note: Several runs wrote into this folder: the newest one is compared (recordings: 4; older ones, left out: 3). "
           "Give each run an out= of its own.\n")
that(several in told and told.replace(several, "") == alone, f"two runs in one folder: {told}\n{alone}")
told = ranks(1, *sorted(again.glob("rank*"))).stdout  # what a pattern gives
that(several in told and told.replace(several, "") == alone, f"two runs of a pattern: {told}")
# The same where nothing but the ranks tells that they are of two runs, and for the timeline.
shutil.rmtree("both", ignore_errors=True)
for name, later in (("first", 1000), ("second", 4600)):
    for path in made(name, 2, 10, 3, 1, 30000, later).glob("rank*"):
        shutil.copytree(path, f"both/{name}-{path.name}")
told = ranks(1, "both").stdout
two = several.replace("4; older ones, left out: 3", "2; older ones, left out: 2")
that(two in told and told.replace(two, "") == ranks(1, "second").stdout, f"two runs of other names: {told}")
told = expect(0, program, "trace", "both", "--out", "both.json").stderr
that(f"strata trace: {two[6:].replace('is compared', 'is in the timeline')}" in told, f"the timeline of two runs: {told}")
expect(0, program, "trace", "second", "--out", "second.json")
that(pathlib.Path("both.json").read_bytes() == pathlib.Path("second.json").read_bytes(), "the timeline has the older run too")
for path in pathlib.Path("both").glob("second-*"):
    shutil.rmtree(path)
shutil.copytree("first/rank0", "both/third-rank0")  # of the same time
for command in ("ranks", "trace"):
    told = expect(2, program, command, "both").stderr
    that("both/third-rank0/profile.strata: It is rank 0, and so is both/first-rank0/profile.strata: " in told, f"{command} of one rank twice: {told}")
shutil.rmtree("again/rank0")  # no rank is there twice, and all the same they are of two runs
shutil.rmtree("again/rank1")
shutil.rmtree("again/rank2-2")
refused("again: Of ranks 0 to 3 there is no 2: copy what is missing, or compare these with --anyway.", again)
part = of_json(late, "part")
shutil.rmtree("part/rank1")
refused("part: Of ranks 0 to 3 there is no 1: copy what is missing, or compare these with --anyway.", part)
told = ranks(1, "--anyway", part).stdout
that("note: Compared all the same: Of ranks 0 to 3 there is no 1: copy what is missing.\n" in told, told)


def far(rank, profile):
    profile["environment"]["rank"] = 2000000000 if rank == 3 else rank


refused("far: Of ranks 0 to 2000000000 there is no 3, 4, 5, 6, 7, ...: copy what is missing, or compare these with --anyway.", of_json(late, "far", far))
for name, change, told in (
        ("other", lambda p: p["environment"].update(command="eval"),
         "other: Of rank 0 and rank 3 the programs are train and eval: give the ranks of one run, or compare these with --anyway."),
        ("shorter", lambda p: p["steps"].pop(),
         "shorter: Of rank 0 and rank 3 the means are of 10 and 9 steps: record the same with active=, or with formats=recording, of which the steps "
         "that all have are compared, or compare these with --anyway."),
        ("unranked", lambda p: p["environment"].update(rank=None),
         "unranked/rank3/profile.json: It has no rank: MPI, torchrun and Slurm give one, and so does RANK=N."),
        ("stepless", lambda p: p.update(steps=[]), "stepless/rank3/profile.json: It has no steps: mark them with STRATA_STEP() or step=NAME."),
        ("untraced", lambda p: p.update(traced=False), "untraced/rank3/profile.json: It has no GPU work: record with STRATA=trace.")):
    refused(told, of_json(late, name, lambda rank, profile: change(profile) if rank == 3 else None))
(pathlib.Path("part/rank1")).mkdir()
pathlib.Path("part/rank1/profile.strata").write_text("nothing")
refused("part/rank1/profile.strata: It is no profile.json and no recording of Strata, it seems to be plain text: formats=json or formats=recording writes one.", part)
told = ranks(2, late, "--json", "no/x.json")
that(told.stderr == "strata ranks: no/x.json: It cannot be written: No such file or directory" + UNWRITTEN + "\n" and told.stdout.startswith("Rank 2 is last"),
     f"a place that is none hides the answer: {told}")

# A rank that died before its first chunk left a file without one, or nothing; or one with a step alone.
whole = made("whole", 4, 10, 3, 2, 30000)
for left, has in (("an empty file", b""), ("a first line", b"strata recording 2\n"), ("a piece that was cut", b"strata recording 2\np\x10\0\0"), ("nothing", None)):
    shutil.rmtree("died", ignore_errors=True)
    shutil.copytree(whole, "died")
    for file in pathlib.Path("died/rank1").iterdir():
        file.unlink()
    if has is not None:
        pathlib.Path("died/rank1/profile.strata.part").write_bytes(has)
    place = "died/rank1" if has is None else "died/rank1/profile.strata.part"
    told = ranks(1, "died", "--json", "died.json").stdout
    that(told.startswith("Rank 2 is last in 9 of 9 steps, by "), f"{left}: {told}")
    that(f"note: Rank 1 died before it had recorded two steps ({place}): the others are compared without it.\n" in told, f"{left}: {told}")
    that(json.loads(pathlib.Path("died.json").read_text(encoding="utf-8"))["dead_ranks"] == [1], f"{left}: died.json")
    that(ranks(1, *sorted(pathlib.Path("died").iterdir())).stdout.startswith("Rank 2 is last in 9 of 9 steps, by "), f"{left}: the folders one by one")
for rank in (0, 2, 3):
    for file in pathlib.Path(f"died/rank{rank}").iterdir():
        file.unlink()
refused("died: No rank recorded two steps before it died: mark steps, and record again.", "died")
that(json.loads(pathlib.Path("late.json").read_text(encoding="utf-8"))["dead_ranks"] == [], "nobody died in late.json")

# What each collective took, of all ranks.
rows = {(row["path"], row["operation"]): row for row in result["collectives"]}
that(len(rows) == len(result["collectives"]) and all(row["algorithm"] == row["protocol"] == "" or row["algorithm"] for row in rows.values()), f"collectives: {rows}")
that(abs(sum(row["transfer_ns"] for row in rows.values()) - 60000) < 0.01, f"collectives: {rows}")
that(all(row["communicator_ranks"] is None and row["least_wait_rank"] == 2 and row["operation"] == "all_reduce" for row in rows.values()), f"collectives: {rows}")


# A share of the link needs the size of the communicator, which NCCL's plugin tells.
def send(rank, profile, plugin=""):
    profile["environment"].update(host="a")
    profile["devices"][0].update(name="NVIDIA H200")
    for row in [row for row in profile["ranges"] if row["path"].endswith("NCCL:ncclAllReduce")]:
        row["collective_bytes"] = 1e7
        if plugin:
            profile["ranges"].append({**row, "path": row["path"] + plugin, "kernels_self": 0})


told = ranks(1, of_json(late, "sent", send)).stdout
that(" GB/s for 4 ranks " in told and "% of NVLink" not in told and told.endswith(
    "note: How many ranks a communicator has is not known, so no share of NVLink is shown: record with NCCL_PROFILER_PLUGIN=strata.\n"), told)
told = ranks(1, of_json(late, "plugin", lambda rank, profile: send(rank, profile, "/NCCL:AllReduce RING LL (2 channels of 4 ranks)")),
             "--json", "plugin.json").stdout
that(" % of NVLink " in told and " for 4 ranks" not in told and "How many ranks" not in told, told)
that(all(row["communicator_ranks"] == 4 for row in json.loads(pathlib.Path("plugin.json").read_text(encoding="utf-8"))["collectives"]), "plugin.json")

# Recordings of other steps: those that all have.
longer = made("longer", 4, 12, 3, 2, 30000)
shutil.copy("longer/rank1/profile.strata", "late/rank1")
told = ranks(1, late).stdout
that(told.startswith("Rank 2 is last in 9 of 9 steps, by ") and "note: The ranks recorded other steps: those that all have are compared.\n" in told, told)

# Ranks of a large run: a core takes less than 10 s, and memory holds what is left of each, not its recording.
def limited():
    resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
    resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))


many = made("many", 1024, 8, 2, 700, 30000)
done = subprocess.run([str(program), "ranks", str(many)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                      preexec_fn=limited, env=environment, check=False)
that(done.returncode == 1 and done.stdout.startswith("Rank 700 is last in 7 of 7 steps, by "), f"1,024 ranks: {done}")
that("\nand 1014 ranks that are less late\n" in done.stdout, done.stdout)
shutil.rmtree("many")

end("strata ranks")
