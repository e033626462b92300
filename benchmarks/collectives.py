#!/usr/bin/env python3
"""Collectives of PyTorch on the GPUs of one host, as Strata has them beside events of CUDA: bytes, bus bandwidth, known waits.

    benchmarks/collectives.py BUILD OUTDIR [GPUS]     BUILD: has tools/strata and tools/inject; OUTDIR/collectives.md is the table

Sizes and bandwidths are those of nccl-tests. Events measure calls in a row, so what waits for another rank is in the first of
them alone; of the ranks the least time counts on both sides. Exits with 1 where bytes are not exact, or where a bandwidth
differs by more than 3 % from 4 MiB on, or a wait by more than 5 %."""

import json
import os
import pathlib
import subprocess
import sys

SIZES = [1 << 10, 64 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20]
OPERATIONS = ["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_receive"]
CALLS, STEPS = 10, 8
LATE_NS = [1e6, 3e6]
BUS_BAR, BUS_FROM, WAIT_BAR = 0.03, 4 << 20, 0.05


def program(out):
    """A rank: each operation and size in a range of each step, then collectives that one rank comes late to."""
    import torch
    import torch.distributed as dist
    rank, count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl", device_id=torch.device("cuda", int(os.environ["LOCAL_RANK"])))
    ours, theirs = (torch.zeros(SIZES[-1] // 2, dtype=torch.bfloat16, device="cuda") for _ in range(2))

    def call(operation, size):
        whole, part = size // 2, size // 2 // count
        if operation == "all_reduce":
            dist.all_reduce(ours[:whole])
        elif operation == "all_gather":
            dist.all_gather_into_tensor(theirs[:whole], ours[:part])
        elif operation == "reduce_scatter":
            dist.reduce_scatter_tensor(theirs[:part], ours[:whole])
        elif operation == "all_to_all":
            dist.all_to_all_single(theirs[:whole], ours[:whole])
        else:
            for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, ours[:whole], (rank + 1) % count),
                                                dist.P2POp(dist.irecv, theirs[:whole], (rank - 1) % count)]):
                work.wait()

    def measure(name, before, work):
        """The ns of what comes before some work and of both, from when all ranks are there; the work is in a range."""
        dist.barrier()
        torch.cuda.synchronize()
        events = [torch.cuda.Event(enable_timing=True) for _ in range(3)]
        events[0].record()
        before()
        events[1].record()
        with torch.cuda.nvtx.range(name):
            work()
        events[2].record()
        torch.cuda.synchronize()
        return [events[0].elapsed_time(event) * 1e6 for event in events[1:]]

    def sleep(cycles):
        torch.cuda._sleep(int(cycles))  # pylint: disable=protected-access

    sleep(1e7)
    cycles_per_ns = 1e7 / measure("none", lambda: sleep(1e7), lambda: None)[0]
    times = {}
    for _ in range(STEPS):
        with torch.cuda.nvtx.range("step"):
            for operation in OPERATIONS:
                for size in SIZES:
                    name = f"{operation} {size}"
                    ns = measure(name, lambda: None, lambda: [call(operation, size) for _ in range(CALLS)])[1]
                    times.setdefault(name, []).append(ns / CALLS)
            for late in LATE_NS:
                name = f"late {late:.0f}"
                ns = measure(name, lambda: sleep(late * cycles_per_ns * (rank == 1)), lambda: call("all_reduce", 25_000_000))[0]
                times.setdefault(name, []).append(ns)
    everyone = [None] * count
    dist.all_gather_object(everyone, times)
    if rank == 0:
        # The first step is not in Strata's mean either.
        mean = {key: [sum(of[key][1:]) / (STEPS - 1) for of in everyone] for key in times}
        pathlib.Path(out).write_text(json.dumps(mean), encoding="utf-8")
    dist.destroy_process_group()


def moved(operation, size, count):
    """Of a call the bytes of the message as NCCL has them, and those that cross a rank's link."""
    part = size // count
    return {"all_reduce": (size, 2 * (count - 1) * part), "send_receive": (size, size)}.get(operation, (part, (count - 1) * part))


def main():
    build, out = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 2
    out.mkdir(parents=True, exist_ok=True)
    strata = str(build / "tools" / "strata")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("STRATA")}
    environment["NCCL_PROFILER_PLUGIN"] = "strata"
    subprocess.run([strata, "run", "--steps", "step", "--out", out / "run", "nvtx=in", "formats=recording+openmetrics", "--",
                    sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(count),
                    __file__, "--rank", out / "events.json"], env=environment, check=True, timeout=110)
    subprocess.run([strata, "ranks", out / "run", "--json", out / "ranks.json"], stdout=subprocess.DEVNULL, check=False)
    events = json.loads((out / "events.json").read_text(encoding="utf-8"))
    rows = json.loads((out / "ranks.json").read_text(encoding="utf-8"))["collectives"]
    lines, wrong = ["| | bytes | bus, events | Strata | ratio |", "|---|---|---|---|---|"], 0

    def row_of(name):
        return next((row for row in rows if f"/{name}/" in f"/{row['path']}/"), None)

    for operation in OPERATIONS:
        for size in SIZES:
            name = f"{operation} {size}"
            row, (message, link) = row_of(name), moved(operation, size, count)
            if row is None:
                lines.append(f"| {name} | no row | | | |")
                wrong += 1
                continue
            bus, seen = link / min(events[name]), (row["bus_bytes_per_s"] or 0.0) / 1e9
            exact = row["bytes"] == message * CALLS
            ratio = seen / bus
            wrong += not exact or (size >= BUS_FROM and abs(ratio - 1) > BUS_BAR)
            lines.append(f"| {name} | {'exact' if exact else row['bytes']} | {bus:.1f} GB/s | {seen:.1f} | {ratio:.3f} |")
    for late in LATE_NS:
        name = f"late {late:.0f}"
        row, known = row_of(name), max(events[name])
        ratio = row["longest_wait_ns"] / known if row else 0.0
        wrong += abs(ratio - 1) > WAIT_BAR or row["least_wait_rank"] != 1
        lines.append(f"| wait for rank 1, {known / 1e6:.3f} ms | | | | {ratio:.3f} |")
    lines.append(f"\n{wrong} of {len(lines) - 2} beyond their bar, {count} GPUs")
    (out / "collectives.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rank"]:
        program(sys.argv[2])
    else:
        main()
