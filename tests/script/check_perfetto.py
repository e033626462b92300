#!/usr/bin/env python3
"""Checks traces in Perfetto's format: check_perfetto.py TRACE.perfetto-trace [TRACE.json]. Without a file it checks the
golden trace of the unit tests beside the golden trace.json of the same profile, and both traces of a recording.

The file is decoded with Perfetto's own definitions, which the Python package perfetto has (tests/run.sh puts it into
build/perfetto), and read as Perfetto's trace processor reads it: state by sequence, clocks, interned texts, slices by
time, work of GPUs. There is no unknown field; every reference is known; slices have both ends, arrows too. Each kernel
has what the tabs for compute ask of it. Beside a trace.json: processes, tracks, slices, arguments, marks, counters and
the number of arrows are equal. Perfetto's trace processor reads both, where the machine has it.
Exit status: 0, or 1 with what is wrong; 77 without the package.
"""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
sys.path.append(str(here.parent.parent / "build" / "perfetto"))
try:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto
    from google.protobuf import descriptor_pb2, descriptor_pool, unknown_fields
except ImportError as error:
    print(f"SKIPPED: Perfetto's definitions are not here ({error}): "
          "python3 -m pip install --target build/perfetto perfetto")
    sys.exit(77)

def extensions():
    """What the package lacks: files of their own (gpu_interned_data.proto, gpu_track_event.proto) have it."""
    file = descriptor_pb2.FileDescriptorProto(name="gpu_extensions.proto", package="perfetto.protos",
                                              dependency=[proto.DESCRIPTOR.name])
    kinds = descriptor_pb2.FieldDescriptorProto
    arrows = file.message_type.add(name="GpuCorrelation")
    arrows.field.add(name="render_stage_submission_event_ids", number=1, type=kinds.TYPE_UINT64,
                     label=kinds.LABEL_REPEATED)
    for name, number, extended, kind, label in (
            ("compute_kernels", 1000, "InternedData", "InternedComputeKernel", kinds.LABEL_REPEATED),
            ("compute_arg_names", 1001, "InternedData", "InternedComputeArgName", kinds.LABEL_REPEATED),
            ("gpu_correlation", 3000, "TrackEvent", "GpuCorrelation", kinds.LABEL_OPTIONAL)):
        file.extension.add(name=name, number=number, type=kinds.TYPE_MESSAGE, label=label,
                           extendee=f".perfetto.protos.{extended}", type_name=f".perfetto.protos.{kind}")
    descriptor_pool.Default().Add(file)
    return [descriptor_pool.Default().FindExtensionByName(f"perfetto.protos.{field.name}") for field in file.extension]


COMPUTE_KERNELS, COMPUTE_ARG_NAMES, GPU_CORRELATION = extensions()
MOST_SHOWN = 10
OWN_CLOCK = 64
TRACE_CLOCK = 6  # BOOTTIME
# Arguments of a launch, by the names that the tabs ask for, as trace.json has them; those of "" are of Perfetto alone.
LAUNCH = {"registers_per_thread": "registers", "shared_mem_static": "static_shared_bytes",
          "shared_mem_dynamic": "dynamic_shared_bytes", "grid_size": "", "workgroup_size": "", "thread_count": "",
          "device": "", "stream": ""}
Slice = collections.namedtuple("Slice", "process track category name begin end arguments")


class Sequence:
    def __init__(self):
        self.valid = False
        self.tables = {"event_categories": {}, "event_names": {}, "debug_annotation_names": {},
                       "debug_annotation_string_values": {}}
        self.meanings = {"graphics_contexts": {}, "gpu_specifications": {}, "gpu_counter_descriptors": {},
                         COMPUTE_KERNELS: {}, COMPUTE_ARG_NAMES: {}}
        self.track = self.clock = None


class Trace:
    def __init__(self, data):
        self.wrong = []
        self.sequences = collections.defaultdict(Sequence)
        self.tracks = {}     # uuid: TrackDescriptor
        self.processes = {}  # pid: uuid
        self.gpus = []       # their names
        self.work = {}       # event of a GPU: its slice
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
        for field, value in message.ListFields():
            if field.is_extension and field.number not in (1000, 1001, 3000):
                self.say(f"{what} has an extension that is not Perfetto's: {field.full_name}")
            for part in value if hasattr(value, "__iter__") and not isinstance(value, (str, bytes)) else [value]:
                if hasattr(part, "ListFields"):
                    self.known(part, what)

    def packets_of(self, data):
        for packet in proto.Trace.FromString(data).packet:
            self.known(packet, "a packet")
            yield packet

    def take(self, packet):
        if packet.HasField("track_descriptor"):
            return self.describe(packet.track_descriptor)
        if packet.HasField("gpu_info"):
            names = [gpu.name for gpu in packet.gpu_info.gpus]
            if self.gpus not in ([], names) or any(gpu.vendor != "NVIDIA" for gpu in packet.gpu_info.gpus):
                self.say(f"two descriptions of the GPUs: {packet.gpu_info}")
            self.gpus = names
            return None
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
            for name, table in sequence.meanings.items():
                entries = (packet.interned_data.Extensions[name] if not isinstance(name, str)
                           else getattr(packet.interned_data, name))
                for entry in entries:
                    if table.setdefault(entry.iid, entry) != entry or entry.iid == 0:
                        self.say(f"{name}: {entry.iid} means two things")
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
        elif packet.HasField("gpu_render_stage_event"):
            self.gpu_work(packet, sequence)
        elif packet.HasField("gpu_counter_event"):
            self.gpu_use(packet, sequence)
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

    def passes(self, packet, sequence):
        """Whether the sequence has what it takes; its clock continues."""
        if not sequence.valid or packet.sequence_flags != proto.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE:
            self.say("an event without state")
            return False
        sequence.clock += packet.timestamp
        return True

    def gpu_name(self, number):
        return self.gpus[number] if number < len(self.gpus) else f"GPU {number}"

    def gpu_use(self, packet, sequence):
        if not self.passes(packet, sequence):
            return
        use = packet.gpu_counter_event
        meaning = sequence.meanings["gpu_counter_descriptors"].get(use.counter_descriptor_iid)
        if meaning is None or len(use.counters) != 1 or len(meaning.counter_descriptor.specs) != 1:
            return self.say(f"a value of no counter: {use}")
        spec = meaning.counter_descriptor.specs[0]
        kinds = proto.GpuCounterDescriptor
        if (list(spec.numerator_units) != [kinds.PERCENT] or spec.groups
                or use.counters[0].counter_id != spec.counter_id
                or spec.value_direction != kinds.GpuCounterSpec.VALUE_DIRECTION_FORWARDS_LOOKING):
            self.say(f"a counter is not the percentage from its time on: {spec}")
        self.counters.append((self.gpu_name(meaning.gpu_id), without_rank(spec.name), sequence.clock,
                              use.counters[0].double_value))

    def gpu_work(self, packet, sequence):
        """As ParseGpuRenderStageEvent of the trace processor makes a slice, and as the tabs read it."""
        if not self.passes(packet, sequence):
            return
        work = packet.gpu_render_stage_event
        specifications = sequence.meanings["gpu_specifications"]
        context = sequence.meanings["graphics_contexts"].get(work.context)
        kernel = sequence.meanings[COMPUTE_KERNELS].get(work.kernel_iid)
        queue, stage = specifications.get(work.hw_queue_iid), specifications.get(work.stage_iid)
        if not work.HasField("event_id") or queue is None or stage is None:
            return self.say(f"work without number, queue or stage makes no slice: {work}")
        if context is None or context.api != proto.InternedGraphicsContext.CUDA or context.pid not in self.processes:
            self.say(f"work is of no context of a process: {work}")
        arguments = self.launch_of(work, sequence)
        if stage.name == "kernel":
            if stage.category != proto.InternedGpuRenderStageSpecification.COMPUTE or kernel is None:
                return self.say(f"the tabs do not show a kernel: {work}")
            if kernel.demangled_name:
                arguments["kernel"] = kernel.demangled_name
        name = self.looked_up(sequence, "event_names", work.name_iid)
        if kernel is not None and kernel.name != name:
            arguments["mangled"] = kernel.name
        whole = Slice(self.gpu_name(work.gpu_id), without_rank(queue.name), stage.name, name, sequence.clock,
                      sequence.clock + work.duration, arguments)
        if work.event_id in self.work:
            self.say(f"two events have a number: {whole}")
        self.work[work.event_id] = whole
        self.slices.append(whole)

    def launch_of(self, work, sequence):
        arguments = {}
        for argument in work.launch.args:
            name = sequence.meanings[COMPUTE_ARG_NAMES].get(argument.name_iid)
            if name is None:
                self.say(f"an argument has no name: {work}")
                continue
            value = getattr(argument, argument.WhichOneof("value"))
            if argument.HasField("string_value_iid"):
                value = self.looked_up(sequence, "debug_annotation_string_values", argument.string_value_iid)
            arguments[name.name] = value
        if arguments.get("device") != work.gpu_id or "stream" not in arguments:
            self.say(f"Perfetto shows no stream below the process: {work}")
        if work.HasField("kernel_iid"):
            if not set(LAUNCH) <= set(arguments):
                self.say(f"the tabs miss {set(LAUNCH) - set(arguments)}: {work}")
            sizes = work.launch.grid_size, work.launch.workgroup_size
            counts = [size.x * size.y * size.z for size in sizes]
            if counts + [counts[0] * counts[1]] != [arguments.get(name)
                                                    for name in ("grid_size", "workgroup_size", "thread_count")]:
                self.say(f"sizes of a launch contradict each other: {work}")
            for name, size in zip(("grid", "block"), sizes):
                arguments[name] = f"{size.x}x{size.y}x{size.z}"
        return {LAUNCH.get(name, name): value for name, value in arguments.items() if LAUNCH.get(name, name)}

    def event(self, packet, sequence):
        if not self.passes(packet, sequence):
            return
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
        flows = dict(self.work)
        kind = proto.TrackEvent
        for time, _, track, event, name, category, arguments in sorted(self.events, key=lambda e: e[:2]):
            if track not in self.tracks:
                self.say(f"an event on a track that nobody described: {event}")
                continue
            whole = Slice(*self.place(track), category, name, time, time, arguments)
            if event.type == kind.TYPE_COUNTER:
                self.counters.append((*self.place(track), time, float(event.counter_value)))
            elif event.type == kind.TYPE_INSTANT:
                self.marks.append(whole)
            elif event.type == kind.TYPE_SLICE_BEGIN:
                open_slices[track].append(whole)
            elif event.type == kind.TYPE_SLICE_END and open_slices[track]:
                whole = open_slices[track].pop()._replace(end=time)
                self.slices.append(whole)
            else:
                self.say(f"an end without begin, or no type: {whole}")
            for number in event.Extensions[GPU_CORRELATION].render_stage_submission_event_ids:
                work = flows.pop(number, None)
                if work is None:
                    self.say(f"an arrow leads to no work, or a second one does: {whole}")
                    continue
                self.flows.append((whole, work))
                if whole.arguments.get("correlation") != work.arguments.get("correlation"):
                    self.say(f"an arrow leads from {whole} to {work}")
        self.wrong += [f"a slice without end: {s}" for stack in open_slices.values() for s in stack]


def without_rank(name):
    return re.sub(r"^rank \d+, ", "", name)


def ns(us):
    return round(us * 1000)


def check_beside(trace, path):
    """What trace.json of the same profile says, in the same terms."""
    events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    processes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}

    def of(e, track, end):
        arguments = e.get("args", {})
        if e.get("cat") in ("kernel", "copy"):
            track = track.split(" (overlap")[0]  # of a GPU: events may overlap
            arguments = {k: v for k, v in arguments.items() if k != "mangled" or v != e["name"]}
        return Slice(processes[e["pid"]], track, e.get("cat", ""), e["name"], ns(e["ts"]), end, arguments)

    ends = {e["id2"]["local"]: ns(e["ts"]) for e in events if e["ph"] == "e"}
    slices = [of(e, tracks[e["pid"], e["tid"]], ns(e["ts"]) + ns(e["dur"])) for e in events if e["ph"] == "X"]
    slices += [of(e, "NVTX ranges", ends[e["id2"]["local"]]) for e in events if e["ph"] == "b"]
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


def is_good(path, beside):
    trace = Trace(path.read_bytes())
    if beside is not None:
        check_beside(trace, beside)
    for line in trace.wrong[:MOST_SHOWN]:
        print(f"{path}: {line}")
    if len(trace.wrong) > MOST_SHOWN:
        print(f"{path}: and {len(trace.wrong) - MOST_SHOWN} more")
    for file in filter(None, (path, beside)):
        if not processor_agrees(trace, file):
            trace.wrong.append("the trace processor differs")
    if not trace.wrong:
        print(f"{path}: good: {trace.packets} packets, {len(trace.slices)} slices on {len(trace.tracks)} tracks, "
              f"{len(trace.work)} of them on {len(trace.gpus)} GPUs, {len(trace.flows)} arrows, "
              f"{len(trace.marks)} marks, {len(trace.counters)} values of counters")
    return not trace.wrong


# What Perfetto's trace processor is asked of a file: how many slices, arrows, values of counters and errors it has.
COUNTS = """SELECT (SELECT count(*) FROM slice), (SELECT count(*) FROM flow), (SELECT count(*) FROM counter),
  (SELECT count(*) FROM slice WHERE dur < 0 OR name IS NULL),
  (SELECT count(*) FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0);"""


def processor_agrees(trace, path):
    """Whether Perfetto's trace processor, where it is here, reads of a file what is in it, without an error."""
    program = os.environ.get("STRATA_TEST_TRACE_PROCESSOR") or shutil.which("trace_processor_shell")
    if not program:
        print("LEFT OUT: the trace processor: STRATA_TEST_TRACE_PROCESSOR=trace_processor_shell")
        return True
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as query:
        query.write(COUNTS)
        query.flush()
        done = subprocess.run([program, "-q", query.name, path], capture_output=True, text=True, check=False)
    wanted = [len(trace.slices) + len(trace.marks), len(trace.flows), len(trace.counters), 0, 0]
    found = [int(cell) for cell in done.stdout.strip().splitlines()[-1].split(",")] if done.returncode == 0 else done.stderr[-300:]
    print(f"{path}: by the trace processor {found} slices and marks, arrows, values of counters, broken slices, errors")
    if found != wanted:
        print(f"{path}: not {wanted}")
    return found == wanted


def recording_is_good(folder):
    """Both traces of a recording with two GPUs and their uses."""
    program = pathlib.Path(os.environ.get("STRATA_TEST_BUILD_DIR", "")).resolve() / "tools/strata"
    if not program.exists():
        print("LEFT OUT: a recording, since the command strata was not built")
        return True
    recording = here.parent.parent / "examples/report/llama-decode.strata"
    paths = [pathlib.Path(folder, name) for name in ("run.perfetto-trace", "run.json")]
    for path in paths:
        subprocess.run([program, "trace", recording, "--out", path], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    return is_good(*paths)


def main():
    paths = [pathlib.Path(p) for p in sys.argv[1:]]
    if paths:
        return 0 if is_good(paths[0], paths[1] if len(paths) > 1 else None) else 1
    golden = here.parent / "unit" / "golden"
    good = is_good(golden / "trace.perfetto-trace", golden / "trace_spans.json")
    with tempfile.TemporaryDirectory() as folder:
        return 0 if recording_is_good(folder) and good else 1


if __name__ == "__main__":
    sys.exit(main())
