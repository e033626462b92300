#!/usr/bin/env python3
"""Programs that nobody edited (loops/programs.py), each plain and under `strata run`: are their steps found, are their results
the same, and what does a step cost?

    benchmarks/loops.py BUILD OUTDIR [NAME...]        BUILD: has tools/strata and tools/inject; OUTDIR/loops.md is the table

A program with a loop is right where at least nine tenths of its steps that come after the first quarter are found, within one
of a hundred of each other's count; one without where no step is found. Results must be equal. Exits with 1 otherwise."""

import json
import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
WITHOUT_STEPS = ("random_operations", "one_product", "growing")
LIMIT_S = 150
# What runs beside the plain program, with the options of `strata run`.
SIDES = {"auto": [], "every": ["--every", "100"], "counted": ["--counters", "findings"]}


def run(command, environment):
    begin = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, env=environment, check=False)
    except subprocess.TimeoutExpired:
        return None
    seconds = time.monotonic() - begin
    total = re.search(r"^sum (\S+)$", done.stdout, re.M)
    step = re.search(r"^step (\S+) us$", done.stdout, re.M)
    return {"seconds": seconds, "code": done.returncode, "sum": total and total[1], "step": float(step[1]) if step else None,
            "text": done.stdout[-1500:] + done.stderr[-3000:]}


def steps_of(folder):
    """How many steps a profile has, and its sentences about steps."""
    profiles = sorted(folder.glob("**/profile.json"), key=lambda path: path.stat().st_size)
    if not profiles:
        return None, ["no profile"]
    profile = json.loads(profiles[-1].read_text())
    return len(profile["steps"]), [text for text in profile["problems"] if "step" in text]


def main():
    build, out = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    out.mkdir(parents=True, exist_ok=True)
    strata = str(build / "tools" / "strata")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("STRATA")}
    environment.setdefault("PYTHONHASHSEED", "0")
    library = next(build.glob("**/libstrata_inject.so"))
    listed = subprocess.run([sys.executable, HERE / "loops" / "programs.py", "list"], capture_output=True, text=True, check=True)
    loops = {line.split()[0]: int(line.split()[1]) for line in listed.stdout.splitlines()}
    rows, wrong = [], 0
    for name in sys.argv[3:] or loops:
        program = [sys.executable, str(HERE / "loops" / "programs.py"), name]
        plain = run(program, environment)
        if plain is None or plain["code"] != 0:
            print(f"{name}: left out, it does not run here: {(plain or {'text': 'time limit'})['text'][-600:]}", flush=True)
            continue
        cells, found, right = [name, str(loops[name]), f"{plain['seconds']:.2f} s", f"{plain['step']:.0f}"], None, True
        notes = []
        for side, options in SIDES.items():
            folder = out / f"{name}.{side}"
            done = run([strata, "run", "--library", str(library), "--steps", "auto", *options, "--out", str(folder), "--", *program], environment)
            if done is None or done["code"] != 0 or done["sum"] != plain["sum"]:
                right = False
                notes.append(f"{side}: " + ("time limit" if done is None else f"exit {done['code']}, sum {done['sum']} not {plain['sum']}"))
                print(name, side, (done or {"text": ""})["text"], flush=True)
                cells.append("")
                continue
            cells.append(f"{done['step']:.0f}")
            if side != "every":
                steps, sentences = steps_of(folder)
            if side == "auto":
                found = steps
                notes.extend(sentences)
                said = subprocess.run([strata, "explain", str(folder)], capture_output=True, text=True, env=environment, check=False)
                (out / f"{name}.explain.txt").write_text(said.stdout + said.stderr + done["text"])
        if name in WITHOUT_STEPS:
            right = right and found == 0
        else:
            right = right and found is not None and 0.9 * 0.75 * loops[name] <= found <= loops[name] + 8
        wrong += not right
        cells[2:2] = ["" if found is None else str(found), "right" if right else "WRONG"]
        rows.append("| " + " | ".join([*cells, " ".join(notes)]) + " |")
        print(rows[-1], flush=True)
    head = ["program", "steps", "found", "", "plain", "us a step, plain", *SIDES, "said"]
    table = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *rows]
    (out / "loops.md").write_text("\n".join(table) + f"\n\n{len(rows) - wrong} of {len(rows)} right\n")
    return 1 if wrong or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
