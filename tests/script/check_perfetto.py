#!/usr/bin/env python3
"""Checks traces in Perfetto's format: check_perfetto.py TRACE.perfetto-trace [TRACE.json]. Without a file it checks the
golden trace of the unit tests beside the golden trace.json of the same profile.

The file is decoded with Perfetto's own definitions, which the Python package perfetto has (tests/run.sh puts it into
build/perfetto), and read as Perfetto's trace processor reads it: state by sequence, clocks, interned texts, slices by
time, flows. There is no unknown field; every reference is known; slices have both ends, flows too. Beside a
trace.json: processes, tracks, slices, arguments, marks, counters and the number of arrows are equal.
Exit status: 0, or 1 with what is wrong; 77 without the package.
"""
import collections
import json
import pathlib
import sys
import zlib

here = pathlib.Path(__file__).resolve().parent
sys.path.append(str(here.parent.parent / "build" / "perfetto"))
try:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto
    from google.protobuf import unknown_fields
except ImportError as error:
    print(f"SKIPPED: Perfetto's definitions are not here ({error}): "
          "python3 -m pip install --target build/perfetto perfetto")
    sys.exit(77)

MOST_SHOWN = 10
OWN_CLOCK = 64
TRACE_CLOCK = 6  # BOOTTIME
Slice = collections.namedtuple("Slice", "process track category name begin end arguments")


class Sequence:
    def __init__(self):
        self.valid = False
        self.tables = {"event_categories": {}, "event_names": {}, "debug_annotation_names": {},
                       "debug_annotation_string_values": {}}
        self.track = self.clock = None


class Trace:
    def __init__(self, data):
        self.wrong = []
        self.sequences = collections.defaultdict(Sequence)
        self.tracks = {}     # uuid: TrackDescriptor
        self.processes = {}  # pid: uuid
        self.events = []     # (time, order, track, TrackEvent, name, category, arguments)
        self.slices, self.marks, self.counters, self.flows = [], [], [], []
        self.packets = 0
        for packet in self.packets_of(data):
            self.packets += 1
            self.take(packet)
        self.play()

    def say(self, text):
        self.wrong.append(text)

    def known(self, message, what):
        """A field that the definitions do not have is a wrong number."""
        if len(unknown_fields.UnknownFieldSet(message)) > 0:
            self.say(f"{what} has a field that Perfetto does not know")
        for _, value in message.ListFields():
            for part in value if hasattr(value, "__iter__") and not isinstance(value, (str, bytes)) else [value]:
                if hasattr(part, "ListFields"):
                    self.known(part, what)

    def packets_of(self, data):
        for packet in proto.Trace.FromString(data).packet:
            self.known(packet, "a packet")
            if packet.HasField("compressed_packets"):
                yield from self.packets_of(zlib.decompress(packet.compressed_packets))
            else:
                yield packet

    def take(self, packet):
        if packet.HasField("track_descriptor"):
            return self.describe(packet.track_descriptor)
        if packet.trusted_packet_sequence_id == 0:
            return self.say("a packet belongs to no sequence")
        if packet.sequence_flags & proto.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED:
            self.sequences[packet.trusted_packet_sequence_id] = Sequence()
            self.sequences[packet.trusted_packet_sequence_id].valid = True
        sequence = self.sequences[packet.trusted_packet_sequence_id]
        if packet.HasField("trace_packet_defaults"):
            sequence.track = packet.trace_packet_defaults.track_event_defaults.track_uuid
            if packet.trace_packet_defaults.timestamp_clock_id != OWN_CLOCK:
                self.say("events have no clock of their own")
        if packet.HasField("interned_data"):
            for name, table in sequence.tables.items():
                for entry in getattr(packet.interned_data, name):
                    text = entry.str.decode("utf-8") if hasattr(entry, "str") else entry.name
                    if table.setdefault(entry.iid, text) != text or entry.iid == 0:
                        self.say(f"{name}: {entry.iid} is two texts")
        if packet.HasField("clock_snapshot"):
            clocks = {clock.clock_id: clock for clock in packet.clock_snapshot.clocks}
            if set(clocks) != {OWN_CLOCK, TRACE_CLOCK} or not clocks[OWN_CLOCK].is_incremental:
                self.say(f"clocks: {packet.clock_snapshot}")
            # The trace's clock may not go back from one snapshot to the next: all have the same times.
            if any(clock.timestamp != 0 for clock in clocks.values()):
                self.say(f"a snapshot of the clocks has a time: {packet.clock_snapshot}")
            sequence.clock = 0
        elif packet.HasField("track_event"):
            self.event(packet, sequence)
        else:
            self.say(f"a packet has nothing: {packet}")

    def describe(self, track):
        if self.tracks.setdefault(track.uuid, track) != track:
            self.say(f"two descriptions of a track: {track} {self.tracks[track.uuid]}")
        if track.HasField("process"):
            self.processes[track.process.pid] = track.uuid
        elif track.HasField("thread"):
            if track.thread.pid not in self.processes:
                self.say(f"a thread without process: {track}")
        elif track.parent_uuid not in self.tracks:
            self.say(f"a track without process: {track}")

    def looked_up(self, sequence, table, number):
        if number not in sequence.tables[table]:
            self.say(f"{table}: {number} is not known")
        return sequence.tables[table].get(number, "")

    def event(self, packet, sequence):
        if not sequence.valid or packet.sequence_flags != proto.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE:
            return self.say("an event without state")
        sequence.clock += packet.timestamp
        event = packet.track_event
        name = event.name
        if event.HasField("name_iid"):
            name = self.looked_up(sequence, "event_names", event.name_iid)
        category = "".join(self.looked_up(sequence, "event_categories", iid) for iid in event.category_iids)
        arguments = {}
        for argument in event.debug_annotations:
            value = getattr(argument, argument.WhichOneof("value"))
            if argument.HasField("string_value_iid"):
                value = self.looked_up(sequence, "debug_annotation_string_values", argument.string_value_iid)
            arguments[self.looked_up(sequence, "debug_annotation_names", argument.name_iid)] = value
        self.events.append((sequence.clock, len(self.events), sequence.track, event, name, category, arguments))

    def place(self, uuid):
        track = self.tracks[uuid]
        if track.HasField("process"):
            return track.process.process_name, ""
        if track.HasField("thread"):
            return self.tracks[self.processes[track.thread.pid]].process.process_name, track.thread.thread_name
        return self.tracks[track.parent_uuid].process.process_name, track.name

    def play(self):
        open_slices = collections.defaultdict(list)
        flows = {}
        kind = proto.TrackEvent
        for time, _, track, event, name, category, arguments in sorted(self.events, key=lambda e: e[:2]):
            if track not in self.tracks:
                self.say(f"an event on a track that nobody described: {event}")
                continue
            whole = Slice(*self.place(track), category, name, time, time, arguments)
            if event.type == kind.TYPE_COUNTER:
                value = event.double_counter_value if event.HasField("double_counter_value") else event.counter_value
                self.counters.append((*self.place(track), time, float(value)))
            elif event.type == kind.TYPE_INSTANT:
                self.marks.append(whole)
            elif event.type == kind.TYPE_SLICE_BEGIN:
                open_slices[track].append(whole)
            elif event.type == kind.TYPE_SLICE_END and open_slices[track]:
                whole = open_slices[track].pop()._replace(end=time)
                self.slices.append(whole)
            else:
                self.say(f"an end without begin, or no type: {whole}")
            for flow in event.flow_ids:
                if flow in flows:
                    self.say(f"a flow begins twice: {flow}")
                flows[flow] = whole
            for flow in event.terminating_flow_ids:
                begin = flows.pop(flow, None)
                if begin is None:
                    self.say(f"a flow ends that did not begin: {whole}")
                else:
                    self.flows.append((begin, whole))
                    if begin.arguments.get("correlation") != whole.arguments.get("correlation"):
                        self.say(f"a flow leads from {begin} to {whole}")
        self.wrong += [f"a slice without end: {s}" for stack in open_slices.values() for s in stack]
        self.wrong += [f"a flow without end: {s}" for s in flows.values()]


def ns(us):
    return round(us * 1000)


def check_beside(trace, path):
    """What trace.json of the same profile says, in the same terms."""
    events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    processes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}

    def of(e, track, end):
        return Slice(processes[e["pid"]], track, e.get("cat", ""), e["name"], ns(e["ts"]), end, e.get("args", {}))

    ends = {e["id"]: ns(e["ts"]) for e in events if e["ph"] == "e"}
    slices = [of(e, tracks[e["pid"], e["tid"]], ns(e["ts"]) + ns(e["dur"])) for e in events if e["ph"] == "X"]
    slices += [of(e, "NVTX ranges", ends[e["id"]]) for e in events if e["ph"] == "b"]
    marks = [of(e, "", ns(e["ts"])) for e in events if e["ph"] == "i"]
    counters = [(processes[e["pid"]], e["name"], ns(e["ts"]), float(*e["args"].values())) for e in events if e["ph"] == "C"]
    for what, found, wanted in (("slices", trace.slices, slices), ("marks", trace.marks, marks),
                                ("counters", trace.counters, counters)):
        found, wanted = sorted(map(repr, map(plain, found))), sorted(map(repr, map(plain, wanted)))
        if found != wanted:
            differences = sorted(set(found) ^ set(wanted))[:4]
            trace.say(f"{len(found)} {what}, but {len(wanted)} in {path.name}; for example {differences}")
    arrows = sum(e["ph"] == "f" for e in events)
    if len(trace.flows) != arrows:
        trace.say(f"{len(trace.flows)} flows, but {arrows} arrows in {path.name}")


def plain(value):
    """With arguments in the order of their names, and numbers of one kind."""
    if isinstance(value, Slice):
        return value._replace(arguments=sorted((k, float(v) if type(v) in (int, float) else v)
                                               for k, v in value.arguments.items()))
    return value


def main():
    paths = [pathlib.Path(p) for p in sys.argv[1:]]
    if not paths:
        golden = here.parent / "unit" / "golden"
        paths = [golden / "trace.perfetto-trace", golden / "trace_spans.json"]
    trace = Trace(paths[0].read_bytes())
    if len(paths) > 1:
        check_beside(trace, paths[1])
    for line in trace.wrong[:MOST_SHOWN]:
        print(f"{paths[0]}: {line}")
    if len(trace.wrong) > MOST_SHOWN:
        print(f"{paths[0]}: and {len(trace.wrong) - MOST_SHOWN} more")
    if not trace.wrong:
        print(f"{paths[0]}: good: {trace.packets} packets, {len(trace.slices)} slices on {len(trace.tracks)} tracks, "
              f"{len(trace.flows)} arrows, {len(trace.marks)} marks, {len(trace.counters)} values of counters")
    return 1 if trace.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
