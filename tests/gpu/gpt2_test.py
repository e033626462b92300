"""The GPT-2 example on a real device: the profile against launches counted in the source and against a bare client."""

import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys

from _gpu import bare_client, build, here, number, rows, skip

program = build / "examples" / "gpt2" / "gpt2"
steps = 2


def run(arguments, strata="", **more):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("STRATA")}
    environment.update(more)
    if strata:
        environment["STRATA"] = strata
    done = subprocess.run([program, *arguments], env=environment, capture_output=True, text=True, timeout=250)
    if done.returncode != 0:
        sys.exit(f"{program} {arguments} failed: {done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def launches(implementation, shape):
    text = run(["--impl", implementation, *shape, "--steps", "1", "--count-launches"])[0]
    table = text[text.index("range_path,"):].splitlines()
    return list(csv.DictReader(line for line in table if line.count(",") == 4))


def test(implementation, client, failures):
    shape = ["--B", "2", "--T", "32", "--layers", "3"]
    out = pathlib.Path(f"run-{implementation}")
    shutil.rmtree(out, ignore_errors=True)
    run(["--impl", implementation, *shape, "--steps", str(steps), "--warmup", "1"],
        strata=f"trace,skip=1,out={out},formats=csv+json+trace")
    ranges = {r["path"]: r for r in rows(out / "ranges.csv")}
    compared = 0
    for expected in launches(implementation, shape):
        found = ranges.get(expected["range_path"])
        own = int(expected["own_kernels"]) * steps
        calls = int(expected["cublas_calls"]) * steps
        copies = (int(expected["copies"]) + int(expected["memsets"])) * steps
        if found is None:
            if own or calls or copies:
                failures.append(f"{implementation}: no row {expected['range_path']}")
            continue
        kernels, moved = number(found["kernels_self"]), number(found["copies_self"])
        # A call of cuBLAS is one kernel or more, and may clear a workspace; everything else is exact.
        good = kernels >= own + calls and moved >= copies if calls else kernels == own and moved == copies
        compared += 1
        if not good:
            failures.append(f"{implementation} {expected['range_path']}: {kernels} kernels, {moved} copies; the source "
                            f"has {own} kernels, {calls} cuBLAS calls, {copies} copies")
    profile = json.loads((out / "profile.json").read_text(encoding="utf-8"))
    lost = {k: v for k, v in profile["losses"].items() if v}
    if lost or profile["problems"]:
        failures.append(f"{implementation}: lost {lost}, problems {profile['problems']}")
    checked = subprocess.run([sys.executable, here.parent / "script" / "check_trace.py", out / "trace.json.gz"],
                             capture_output=True, text=True)
    print(checked.stdout.strip())
    if checked.returncode != 0:
        failures.append(f"{implementation}: trace.json.gz: {checked.stdout}{checked.stderr}")

    # The whole program, kernel by kernel, as a bare client sees it.
    whole = pathlib.Path(f"run-{implementation}-whole")
    shutil.rmtree(whole, ignore_errors=True)
    arguments = ["--impl", implementation, *shape, "--steps", str(steps), "--warmup", "0"]
    run(arguments, strata=f"trace,out={whole},formats=csv+json")
    bare = pathlib.Path(f"bare-{implementation}.txt").resolve()
    run(arguments, CUDA_INJECTION64_PATH=str(client), BARE_CLIENT_OUT=str(bare))
    seen = {}
    for row in json.loads((whole / "profile.json").read_text(encoding="utf-8"))["kernels"]:
        seen[row["mangled"]] = seen.get(row["mangled"], 0) + row["count"]
    reference = {}
    for line in bare.read_text().splitlines():
        count, name = line.split(" ", 1)
        reference[name] = int(count)
    # Kernels before the first range (weights) are before the session.
    before = sum(reference.values()) - sum(seen.values())
    different = {n: (seen.get(n, 0), reference.get(n, 0)) for n in {*seen, *reference}
                 if seen.get(n, 0) != reference.get(n, 0)}
    if different:
        failures.append(f"{implementation}: kernels (Strata, bare client): {different}")
    print(f"{implementation}: {compared} ranges equal the source; {sum(seen.values())} kernels of {len(seen)} names, "
          f"a bare client saw {sum(reference.values())} ({before} more)")


def main():
    if not program.exists():
        skip(f"{program} is not built")
    if "fused" not in run(["--list"])[0]:
        skip("the example has no GPU implementation here, or there is no GPU")
    client = bare_client()
    failures = []
    for implementation in ("fused", "eager"):
        test(implementation, client, failures)
    for failure in failures:
        print("FAILED:", failure)
    sys.exit(1 if failures else 0)


main()
