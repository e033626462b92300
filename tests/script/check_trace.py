#!/usr/bin/env python3
"""Checks trace files: check_trace.py TRACE.json...  Without a file it checks itself on small traces.

A trace parses; its times are whole ns and never go back on a track; of two slices on a track one contains the other or
they are apart, and on the tracks of a device they are apart; every arrow has one begin and one end, in this order, and
each lies in a slice; every track that has slices has a name. Exit status: 0, or 1 with what is wrong.
"""
import bisect
import json
import sys

MOST_SHOWN = 10


class Trace:
    def __init__(self, document):
        self.wrong = []
        self.slices = {}   # (pid, tid): [(begin, end)] in the order of the file, ns
        self.arrows = {}   # (cat, name, id): {"s": [(ts, track)], "f": [...]}
        self.spans = {}    # (cat, id): {"b": [ts], "e": [ts]}
        self.named = set()
        self.devices = set()
        self.nesting = set()
        self.count = 0
        if not isinstance(document, dict) or not isinstance(document.get("traceEvents"), list):
            self.wrong.append("the file is not an object with traceEvents")
            return
        self.read(document["traceEvents"])
        self.check_tracks()
        self.check_arrows()
        self.check_spans()

    def ns(self, event, key):
        value = event.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.wrong.append(f"{key} is not a number: {event}")
            return 0
        ns = round(value * 1000)
        if abs(value * 1000 - ns) > 0.01 + abs(ns) * 1e-14:
            self.wrong.append(f"{key} has a part of a ns: {event}")
        return ns

    def read(self, events):
        last = {}
        for event in events:
            self.count += 1
            phase = event.get("ph")
            track = (event.get("pid"), event.get("tid"))
            if not all(isinstance(n, int) for n in track) or not isinstance(event.get("name"), str):
                self.wrong.append(f"no pid, tid or name: {event}")
                continue
            if phase == "M":
                if event["name"] == "thread_name":
                    self.named.add(track)
                    if event["args"]["name"].endswith(", ranges"):
                        self.nesting.add(track)  # the ranges of a stream, by their work
                if event["name"] == "process_name" and event["args"]["name"].startswith("GPU "):
                    self.devices.add(event["pid"])
                continue
            if phase not in ("X", "s", "f", "C", "i", "b", "e"):
                self.wrong.append(f"an unknown kind of event: {event}")
                continue
            time = self.ns(event, "ts")
            if phase in "be":
                self.spans.setdefault((event.get("cat"), event.get("id")), {"b": [], "e": []})[phase].append(time)
                continue
            order = track + (("C", event["name"]) if phase == "C" else ("i",) if phase == "i" else ())
            if time < last.get(order, time):
                self.wrong.append(f"time goes back on track {track}: {event}")
            last[order] = time
            if phase == "X":
                duration = self.ns(event, "dur")
                if duration < 0:
                    self.wrong.append(f"a slice ends before it begins: {event}")
                self.slices.setdefault(track, []).append((time, time + duration))
            elif phase in "sf":
                if phase == "f" and event.get("bp") != "e":
                    self.wrong.append(f"an arrow ends at the next slice, not at the one around it: {event}")
                key = (event.get("cat"), event["name"], event.get("id"))
                self.arrows.setdefault(key, {"s": [], "f": []})[phase].append((time, track))

    def check_tracks(self):
        for track, slices in self.slices.items():
            if track not in self.named:
                self.wrong.append(f"track {track} has no name")
            ends = []
            for begin, end in slices:
                while ends and ends[-1] <= begin:
                    ends.pop()
                if ends and end > ends[-1]:
                    self.wrong.append(f"slices overlap on track {track}: {begin}..{end} ns reaches beyond {ends[-1]}")
                elif ends and track[0] in self.devices and track not in self.nesting:
                    self.wrong.append(f"slices of a device nest on track {track}: {begin}..{end} ns")
                ends.append(end)

    def check_spans(self):
        for key, ends in self.spans.items():
            if len(ends["b"]) != 1 or len(ends["e"]) != 1:
                self.wrong.append(f"span {key} has {len(ends['b'])} begins and {len(ends['e'])} ends")
            elif ends["b"] > ends["e"]:
                self.wrong.append(f"span {key} ends before it begins")

    def in_slice(self, time, track):
        slices = self.slices.get(track, [])
        at = bisect.bisect_right(slices, (time, float("inf"))) - 1
        # A slice that contains the time may have begun before others that are over.
        while at >= 0:
            if slices[at][1] >= time:
                return True
            at -= 1
        return False

    def check_arrows(self):
        for key, ends in self.arrows.items():
            if len(ends["s"]) != 1 or len(ends["f"]) != 1:
                self.wrong.append(f"arrow {key} has {len(ends['s'])} begins and {len(ends['f'])} ends")
                continue
            if ends["s"][0][0] > ends["f"][0][0]:
                self.wrong.append(f"arrow {key} goes back in time")
            for phase, what in (("s", "begins"), ("f", "ends")):
                if not self.in_slice(*ends[phase][0]):
                    self.wrong.append(f"arrow {key} {what} outside of every slice")


def check_file(path):
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except (OSError, ValueError) as error:
        print(f"{path}: {error}")
        return False
    trace = Trace(document)
    for line in trace.wrong[:MOST_SHOWN]:
        print(f"{path}: {line}")
    if len(trace.wrong) > MOST_SHOWN:
        print(f"{path}: and {len(trace.wrong) - MOST_SHOWN} more")
    if not trace.wrong:
        slices = sum(len(s) for s in trace.slices.values())
        print(f"{path}: good: {trace.count} events, {slices} slices on {len(trace.slices)} tracks, "
              f"{len(trace.arrows)} arrows")
    return not trace.wrong


def check_itself():
    """A good trace is good, and each way to spoil it is found."""
    def good():
        tracks = [{"ph": "M", "name": "process_name", "pid": 2, "tid": 0, "args": {"name": "GPU 0"}}]
        tracks += [{"ph": "M", "name": "thread_name", "pid": p, "tid": 1, "args": {"name": "t"}} for p in (1, 2)]
        return tracks + [
            {"ph": "X", "name": "outer", "pid": 1, "tid": 1, "ts": 1.0, "dur": 9.0},
            {"ph": "X", "name": "launch", "pid": 1, "tid": 1, "ts": 1.0, "dur": 2.001},
            {"ph": "s", "name": "l", "cat": "l", "id": 7, "pid": 1, "tid": 1, "ts": 1.0},
            {"ph": "X", "name": "kernel", "pid": 2, "tid": 1, "ts": 2.5, "dur": 1.0},
            {"ph": "f", "name": "l", "cat": "l", "id": 7, "pid": 2, "tid": 1, "ts": 2.5, "bp": "e"},
            {"ph": "X", "name": "kernel", "pid": 2, "tid": 1, "ts": 3.5, "dur": 1.0},
            {"ph": "b", "name": "span", "cat": "nvtx", "id": 1, "pid": 1, "tid": 0, "ts": 1.0},
            {"ph": "e", "name": "span", "cat": "nvtx", "id": 1, "pid": 1, "tid": 0, "ts": 2.0},
        ]

    def spoiled(position, **changes):
        events = good()
        events[position].update(changes)
        return events

    cases = {
        "no name of a track": good()[:2] + good()[3:],
        "reaches beyond": spoiled(4, dur=20.0),
        "part of a ns": spoiled(4, dur=2.00005),
        "back on a track": spoiled(8, ts=0.5),
        "overlap on a device": spoiled(8, ts=3.0),
        "nested on a device": spoiled(8, ts=3.0, dur=0.1),
        "no end of an arrow": good()[:7] + good()[8:],
        "no begin of an arrow": spoiled(5, id=8),
        "two begins": good()[:6] + [good()[5]] + good()[6:],
        "begins outside": spoiled(5, ts=99.0),
        "ends outside": spoiled(7, ts=9.0),
        "ends at the next slice": spoiled(7, bp="s"),
        "not a number": spoiled(3, ts="1"),
        "negative": spoiled(8, dur=-1.0),
        "no end of a span": good()[:10],
        "a span back in time": spoiled(10, ts=0.5),
        "unknown kind": spoiled(8, ph="B"),
    }
    failed = []
    if Trace({"traceEvents": good()}).wrong:
        failed.append("a good trace is refused: " + str(Trace({"traceEvents": good()}).wrong))
    if not Trace([]).wrong:
        failed.append("a list is taken for a trace")
    of_ranges = spoiled(2, args={"name": "stream 7, ranges"})
    of_ranges[8].update(ts=3.0, dur=0.1)
    if Trace({"traceEvents": of_ranges}).wrong:
        failed.append("ranges of a stream do not nest")
    of_ranges[8].update(dur=9.0)
    cases["ranges of a stream overlap"] = of_ranges
    failed += [f"not found: {name}" for name, events in cases.items() if not Trace({"traceEvents": events}).wrong]
    print("\n".join(failed) or f"{len(cases) + 3} checks of the checker: good")
    return not failed


def main():
    if len(sys.argv) == 1:
        return 0 if check_itself() else 1
    return 0 if all([check_file(path) for path in sys.argv[1:]]) else 1


if __name__ == "__main__":
    sys.exit(main())
