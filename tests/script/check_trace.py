#!/usr/bin/env python3
"""Checks trace files: check_trace.py TRACE.json[.gz]...  Without a file it checks itself on small traces.

A trace parses; its times are whole ns and never go back on a track; of two slices on a track one contains the other or
they are apart, and on the tracks of a device what contains others is a range; every arrow that ends has one begin,
before it; every track that has slices has a name. Exit status: 0, or 1 with what is wrong.
"""
import gzip
import json
import sys

MOST_SHOWN = 10


class Trace:
    def __init__(self, document):
        self.wrong = []
        self.slices = {}   # (pid, tid): [(begin, end)] in the order of the file, ns
        self.begins = {}   # of arrows, by bind_id: [ns]
        self.ends = []     # (bind_id, ns)
        self.spans = {}    # (cat, id): {"b": [ts], "e": [ts]}
        self.named = set()
        self.devices = set()
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
                if event["name"] == "process_name" and event["args"]["name"].startswith("GPU "):
                    self.devices.add(event["pid"])
                continue
            if phase not in ("X", "C", "i", "b", "e", "s", "f"):
                self.wrong.append(f"an unknown kind of event: {event}")
                continue
            time = self.ns(event, "ts")
            if phase in "sf":  # of work that seems to begin before its call
                if phase == "s":
                    self.begins.setdefault(("early", event.get("id")), []).append(time)
                else:
                    self.ends.append((("early", event.get("id")), time))
                continue
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
                holds = event.get("cat") == "gpu_user_annotation"
                self.slices.setdefault(track, []).append((time, time + duration, holds))
                if event.get("flow_out"):
                    self.begins.setdefault(event.get("bind_id"), []).append(time)
                if event.get("flow_in"):
                    self.ends.append((event.get("bind_id"), time))

    def check_tracks(self):
        for track, slices in self.slices.items():
            if track not in self.named:
                self.wrong.append(f"track {track} has no name")
            around = []
            for begin, end, holds in slices:
                while around and around[-1][0] <= begin:
                    around.pop()
                if around and end > around[-1][0]:
                    self.wrong.append(f"slices overlap on track {track}: {begin}..{end} ns reaches beyond {around[-1][0]}")
                elif around and track[0] in self.devices and not around[-1][1]:
                    self.wrong.append(f"slices of a device nest on track {track}: {begin}..{end} ns")
                around.append((end, holds))

    def check_spans(self):
        for key, ends in self.spans.items():
            if len(ends["b"]) != 1 or len(ends["e"]) != 1:
                self.wrong.append(f"span {key} has {len(ends['b'])} begins and {len(ends['e'])} ends")
            elif ends["b"] > ends["e"]:
                self.wrong.append(f"span {key} ends before it begins")

    def check_arrows(self):
        for number, begins in self.begins.items():
            if len(begins) != 1 or not number:
                self.wrong.append(f"arrow {number} has {len(begins)} begins")
        for number, end in self.ends:
            if number not in self.begins:
                self.wrong.append(f"arrow {number} has no begin")
            elif self.begins[number][0] > end:
                self.wrong.append(f"arrow {number} goes back in time")
        for number in self.begins.keys() - {number for number, _ in self.ends}:
            self.wrong.append(f"arrow {number} has no end")


def check_file(path):
    try:
        with (gzip.open if str(path).endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
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
              f"{len(trace.ends)} arrows")
    return not trace.wrong


def check_itself():
    """A good trace is good, and each way to spoil it is found."""
    def good():
        tracks = [{"ph": "M", "name": "process_name", "pid": 2, "tid": 0, "args": {"name": "GPU 0"}}]
        tracks += [{"ph": "M", "name": "thread_name", "pid": p, "tid": 1, "args": {"name": "t"}} for p in (1, 2)]
        return tracks + [
            {"ph": "X", "name": "outer", "pid": 1, "tid": 1, "ts": 1.0, "dur": 9.0},
            {"ph": "X", "name": "launch", "pid": 1, "tid": 1, "ts": 1.0, "dur": 2.001, "bind_id": 7, "flow_out": True},
            {"ph": "X", "name": "range", "pid": 2, "tid": 1, "ts": 2.5, "dur": 3.0, "cat": "gpu_user_annotation"},
            {"ph": "X", "name": "kernel", "pid": 2, "tid": 1, "ts": 2.5, "dur": 1.0, "bind_id": 7, "flow_in": True},
            {"ph": "X", "name": "kernel", "pid": 2, "tid": 1, "ts": 3.5, "dur": 1.0, "bind_id": 7, "flow_in": True},
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
        "back on a track": spoiled(7, ts=2.4),
        "overlap on a device": spoiled(7, ts=3.0),
        "nested on a device": spoiled(7, ts=3.0, dur=0.1),
        "beyond its range": spoiled(7, dur=9.0),
        "no end of an arrow": good()[:6] + good()[8:],
        "no begin of an arrow": spoiled(4, bind_id=8),
        "two begins": spoiled(3, bind_id=7, flow_out=True),
        "an arrow back in time": spoiled(4, ts=2.7, dur=0.1),
        "no number of an arrow": spoiled(4, bind_id=0),
        "not a number": spoiled(3, ts="1"),
        "negative": spoiled(7, dur=-1.0),
        "no end of a span": good()[:9],
        "a span back in time": spoiled(9, ts=0.5),
        "unknown kind": spoiled(7, ph="B"),
    }
    failed = []
    if Trace({"traceEvents": good()}).wrong:
        failed.append("a good trace is refused: " + str(Trace({"traceEvents": good()}).wrong))
    if not Trace([]).wrong:
        failed.append("a list is taken for a trace")
    failed += [f"not found: {name}" for name, events in cases.items() if not Trace({"traceEvents": events}).wrong]
    print("\n".join(failed) or f"{len(cases) + 2} checks of the checker: good")
    return not failed


def main():
    if len(sys.argv) == 1:
        return 0 if check_itself() else 1
    return 0 if all([check_file(path) for path in sys.argv[1:]]) else 1


if __name__ == "__main__":
    sys.exit(main())
