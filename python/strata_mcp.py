#!/usr/bin/env python3
"""The command `strata` for coding agents: a server of the Model Context Protocol over stdio. It only reads.

    {"mcpServers": {"strata": {"command": "python3", "args": ["/PREFIX/share/strata/python/strata_mcp.py"]}}}

Its tools are explain, compare, help, metrics and profiles. None of them runs a program other than `strata`, or writes
outside a temporary folder, which is removed. `strata run` is not among them: a program is recorded by who may run it.

Messages are JSON-RPC 2.0, a line each, answered in order. The end of stdin ends it.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18")  # of the protocol; the last one is offered
VERSION_WITH_BATCHES = "2025-03-26"  # the others have none
MOST_OF_A_MESSAGE = 1 << 20  # bytes
MOST_OF_A_BATCH = 100  # messages
MOST_OF_AN_ANSWER = 64 << 10  # bytes of text
MOST_OF_AN_ARGUMENT = 4096  # characters
MOST_LISTED = 100  # recordings and profiles
MOST_LOOKED_AT = 50000  # names of files and folders

PARSE_ERROR, INVALID_REQUEST, UNKNOWN_METHOD, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603

FINE, FOUND, UNDECIDED = 0, 1, 3  # exit codes of strata
VERDICTS = {FINE: "no regression", FOUND: "regression", UNDECIDED: "undecided: the runs do not tell"}


class Refusal(Exception):
    """A request that the protocol does not allow: an error of JSON-RPC."""

    def __init__(self, code, sentence):
        super().__init__(sentence)
        self.code = code


class Failure(Exception):
    """A tool that could not do its work: a result that says so."""


# --- the command ---------------------------------------------------------------------------------------------------


def is_program(path):
    """Whether a file is a program of whom this server runs for, or of whose it is: in folders above a clone, such as
    /tmp, others may make one."""
    if not path.is_file() or not os.access(str(path), os.X_OK):
        return False
    return path.stat().st_uid in (0, os.geteuid(), os.stat(__file__).st_uid)


def find_command(wish):
    """The command that was asked for, that which was installed or built with this file, or that of PATH; else None."""
    if wish:
        return shutil.which(wish)
    own = pathlib.Path(__file__).resolve().parent
    prefixes = [own, *list(own.parents)[:3]]
    places = [own / "strata", *(prefix / "bin/strata" for prefix in prefixes), own.parent / "build/tools/strata"]
    return next((str(place) for place in places if is_program(place)), shutil.which("strata"))


class Ending:
    """SIGTERM ends this server: not while a child begins, which nothing would end."""

    def __init__(self):
        self.is_asked = False
        self.is_held = False

    def ask(self, *_):
        self.is_asked = True
        self.end_where_asked()

    def end_where_asked(self):
        if self.is_asked and not self.is_held:
            sys.exit(128 + signal.SIGTERM)


ending = Ending()


class Command:
    """Runs strata, with a limit of time and output."""

    def __init__(self, wish, seconds):
        self.wish = wish
        self.seconds = seconds

    def version(self):
        try:
            code, said, _ = self.run("--version")
        except Failure:
            return "unknown"
        return said.split()[-1] if code == FINE and said.split() else "unknown"

    def run(self, *words):
        """What it said: its exit code, stdout and stderr."""
        program = find_command(self.wish)
        if program is None and self.wish:
            raise Failure(f"{self.wish} is no program: start this server with another --strata PATH.")
        if program is None:
            raise Failure("The command strata was not found beside this server or in PATH: build it by cmake -S . -B "
                          "build && cmake --build build --target strata_command, and start this server with --strata "
                          "build/tools/strata.")
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            ending.is_held = True
            try:
                child = subprocess.Popen([program, *words], stdin=subprocess.DEVNULL, stdout=out, stderr=err)
            except OSError as problem:
                ending.is_held = False
                raise Failure(f"{program} cannot be run: {problem.strerror}: build it for this machine.") from problem
            try:
                ending.is_held = False
                ending.end_where_asked()
                code = child.wait(self.seconds)
            except subprocess.TimeoutExpired:
                raise Failure(f"strata {words[0]} was ended after {self.seconds:g} s: record fewer steps, or start "
                              f"this server with --seconds {2 * self.seconds:g}.") from None
            finally:
                child.kill()
                child.wait()
            return code, head_of(out), head_of(err)

    def answer(self, *words):
        """What it said on stdout, where it did what it was asked for."""
        code, said, told = self.run(*words)
        if code != FINE:
            raise Failure("\n".join(filter(None, (said.strip(), told.strip()))) or ended_by(words[0], code))
        return said


def ended_by(name, code):
    return f"strata {name} ended with {code} and said nothing: try it in a terminal."


def head_of(file):
    """The text of a file, cut where it is too long."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    return cut(file.read(MOST_OF_AN_ANSWER), size)


def cut(text, size):
    """A text of so many bytes, of which these are the first."""
    if size <= MOST_OF_AN_ANSWER:
        return text.decode("utf-8", "replace")
    whole_lines = text[:text.rfind(b"\n") + 1] or text
    return f"{whole_lines.decode('utf-8', 'replace')}[cut: these are the first {len(whole_lines)} of {size} bytes]\n"


# --- the tools -----------------------------------------------------------------------------------------------------


def explain(command, file):
    return command.answer("explain", "--json", "--", file)


def compare(command, before, after):
    with tempfile.TemporaryDirectory(prefix="strata-mcp-") as folder:
        table = pathlib.Path(folder, "comparison.md")
        code, said, told = command.run("compare", f"--markdown={table}", "--", before, after)
        if code not in VERDICTS or not table.exists():
            raise Failure((told + said).strip() or ended_by("compare", code))
        with table.open("rb") as file:
            return f"verdict: {VERDICTS[code]} (exit code {code})\n\n{head_of(file)}"


def explain_topic(command, topic=""):
    return command.answer("help", *(["--", topic] if topic else []))


def metrics(command, chip=""):
    return command.answer("metrics", *(["--", chip] if chip else []))


BEGINNINGS = {"recording": b"strata recording ", "profile": b'"name":"strata.profile"'}
MOST_OF_A_BEGINNING = 200  # bytes


def kind_of(path):
    """Whether a file is a recording or a profile of Strata; None: neither."""
    kind = "profile" if path.name == "profile.json" else None
    if path.name.endswith((".strata", ".strata.part")):
        kind = "recording"
    if kind is None or not path.is_file():
        return None
    with path.open("rb") as file:
        beginning = file.read(MOST_OF_A_BEGINNING).replace(b" ", b"" if kind == "profile" else b" ")
    return kind if BEGINNINGS[kind] in beginning else None


class Search:
    """Looks for recordings and profiles below a folder. It follows no links and enters no hidden folders."""

    def __init__(self, seconds):
        self.deadline = time.monotonic() + seconds
        self.looked_at = 0
        self.found = []
        self.unreadable = []

    def is_over(self):
        return self.looked_at >= MOST_LOOKED_AT or time.monotonic() > self.deadline

    def look_below(self, folder):
        waiting = [folder]
        while waiting and not self.is_over():
            waiting += self.look_into(waiting.pop(0))
        return bool(waiting)

    def look_into(self, folder):
        """The folders in one, after its files were looked at."""
        folders = []
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            self.unreadable.append(folder)
            return folders
        for entry in entries:
            self.looked_at += 1
            if self.is_over():
                return [folder]
            if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                folders.append(entry.path)
            self.look_at(pathlib.Path(entry.path))
        return folders

    def look_at(self, path):
        try:
            kind = None if path.is_symlink() else kind_of(path)
            if kind:
                state = path.stat()
                self.found.append((state.st_mtime, str(path), kind, state.st_size))
        except OSError:
            self.unreadable.append(str(path))


def date_of(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def profiles(command, folder="."):
    if not os.path.isdir(folder):
        raise Failure(f"{folder}: There is no such folder: name one that has runs below it, such as .")
    search = Search(command.seconds)
    is_cut = search.look_below(folder)
    newest = sorted(search.found, key=lambda row: (-row[0], row[1]))
    listed = [{"path": path, "kind": kind, "modified": date_of(when), "bytes": size}
              for when, path, kind, size in newest[:MOST_LISTED]]
    told = {"profiles": listed, "left_out": len(newest) - len(listed), "unreadable": len(search.unreadable),
            "searched_all": not is_cut}
    if is_cut:
        told["note"] = f"The search ended after {search.looked_at} names: name a folder further down."
    return json.dumps(told)


class Tool:
    """A function with what a client is told of it: its arguments, of which some are required, are texts."""

    def __init__(self, function, title, about, arguments, required=()):
        self.function = function
        self.title = title
        self.about = about
        self.arguments = arguments
        self.required = required

    def described(self, name):
        properties = {key: {"type": "string", "description": text} for key, text in self.arguments.items()}
        schema = {"type": "object", "additionalProperties": False, "properties": properties}
        if self.required:
            schema["required"] = list(self.required)
        return {"name": name, "title": self.title, "description": self.about, "inputSchema": schema,
                "annotations": {"title": self.title, "readOnlyHint": True, "destructiveHint": False,
                                "idempotentHint": True, "openWorldHint": False}}

    def check(self, name, given):
        for key in given:
            if key not in self.arguments:
                takes = ", ".join(self.arguments)
                raise Refusal(INVALID_PARAMS, f"{name} has no argument {key[:100]!a}: it takes {takes}.")
        for key, value in given.items():
            if not isinstance(value, str):
                raise Refusal(INVALID_PARAMS, f"{key} of {name} is a text in quotes.")
            if len(value) > MOST_OF_AN_ARGUMENT:
                most = MOST_OF_AN_ARGUMENT
                raise Refusal(INVALID_PARAMS, f"{key} of {name} has {len(value)} characters, {most} at most.")
            if "\0" in value or not is_text_of_system(value):
                raise Refusal(INVALID_PARAMS, f"{key} of {name} has a character that no command takes: leave it out.")
        for key in self.required:
            if not given.get(key):
                raise Refusal(INVALID_PARAMS, f"{name} needs {key}: {self.arguments[key]}.")


def is_text_of_system(text):
    try:
        os.fsencode(text)
    except UnicodeError:
        return False
    return True


RECORDING = "a recording (profile.strata), or the folder of a run that has it"
RUN = "a recording (profile.strata), profile.json, or the folder of a run that has one"
TOOLS = {
    "explain": Tool(
        explain, "Explain a recording",
        "What bounds the step of a recorded GPU program, the findings that gain most with their evidence and advice, "
        "what was not examined, and the next command: JSON, at most 20 kB.",
        {"file": RECORDING}, ("file",)),
    "compare": Tool(
        compare, "Compare two recordings",
        "Whether the run after a change is slower or faster than that before it: the verdict, then a Markdown table by "
        "range.",
        {"before": f"{RUN}, before the change", "after": f"{RUN}, after it"}, ("before", "after")),
    "help": Tool(
        explain_topic, "Explain a word of Strata",
        "What a key of STRATA=, a column, a metric, a preset, a stall, a limiter, a finding or a message means, and "
        "its cure. Without a topic: all keys.",
        {"topic": "the word, or the sentence that Strata printed"}),
    "metrics": Tool(
        metrics, "List what a GPU counts",
        "The hardware counters of a chip and of this CPU, with the passes that they take. It needs the libcupti of "
        "CUDA, and a GPU only where no chip is named.",
        {"chip": "such as GH100 for an H100 or H200; without: this machine's"}),
    "profiles": Tool(
        profiles, "List recordings",
        f"The recordings and profile.json of Strata below a folder, newest first, {MOST_LISTED} at most. explain takes "
        "recordings, compare takes both.",
        {"folder": "where to look; without: the server's folder"}),
}
INSTRUCTIONS = ("Strata tells why a GPU program is slow. Record it in a shell: strata run --out before -- python3 "
                "train.py. Then explain that folder, change what its first finding advises, record again, and compare "
                "both folders. Read not_examined and problems too.")


# --- the protocol --------------------------------------------------------------------------------------------------


class Server:
    """Answers messages; what it remembers is the version of the protocol."""

    def __init__(self, command):
        self.command = command
        self.version = VERSIONS[-1]
        self.methods = {"initialize": self.initialize, "ping": lambda _: {}, "tools/list": self.list_tools,
                        "tools/call": self.call_tool}

    def initialize(self, params):
        asked = params.get("protocolVersion")
        if not isinstance(asked, str):
            raise Refusal(INVALID_PARAMS, f"initialize needs protocolVersion, such as {VERSIONS[-1]}.")
        self.version = asked if asked in VERSIONS else VERSIONS[-1]
        return {"protocolVersion": self.version, "capabilities": {"tools": {}},
                "serverInfo": {"name": "strata", "title": "Strata", "version": self.command.version()},
                "instructions": INSTRUCTIONS}

    def list_tools(self, params):
        if params.get("cursor") is not None:
            raise Refusal(INVALID_PARAMS, "There is one page of tools: leave cursor out.")
        return {"tools": [tool.described(name) for name, tool in TOOLS.items()]}

    def call_tool(self, params):
        name, given = params.get("name"), params.get("arguments")
        given = {} if given is None else given
        if not isinstance(name, str) or name not in TOOLS:
            named = f" {name[:100]!a}" if isinstance(name, str) else " without a name"
            raise Refusal(INVALID_PARAMS, f"There is no tool{named}: the tools are {', '.join(TOOLS)}.")
        if not isinstance(given, dict):
            raise Refusal(INVALID_PARAMS, f"The arguments of {name} are an object, such as {{}}.")
        TOOLS[name].check(name, given)
        try:
            text, is_error = TOOLS[name].function(self.command, **given), False
        except Failure as failure:
            text, is_error = str(failure), True
        return {"content": [{"type": "text", "text": text}], "isError": is_error}

    def result_of(self, method, params):
        if method not in self.methods:
            there_are = ", ".join(self.methods)
            raise Refusal(UNKNOWN_METHOD, f"There is no method {method[:100]!a}: this server has {there_are}.")
        if not isinstance(params, dict):
            raise Refusal(INVALID_PARAMS, f"The params of {method} are an object.")
        return self.methods[method](params)

    def answer(self, message):
        """The answer of one message; None: it has none."""
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return error(None, INVALID_REQUEST, 'A message is an object with "jsonrpc": "2.0".')
        if "method" not in message and ("result" in message or "error" in message):
            return None  # an answer, though nothing was asked
        number, method = message.get("id"), message.get("method")
        if "id" in message and (isinstance(number, bool) or not isinstance(number, (str, int))):
            return error(None, INVALID_REQUEST, "The id of a request is a string or an integer.")
        if not isinstance(method, str):
            return error(number, INVALID_REQUEST, "A message has a method, which is a string.")
        if "id" not in message:
            return None  # a notification
        try:
            return {"jsonrpc": "2.0", "id": number, "result": self.result_of(method, message.get("params", {}))}
        except Refusal as refusal:
            return error(number, refusal.code, str(refusal))
        except Exception as problem:  # a client waits for each answer
            return error(number, INTERNAL_ERROR, f"A mistake of this server, {type(problem).__name__}: {problem}")

    def answer_line(self, line):
        try:
            message = json.loads(line.decode("utf-8"), parse_constant=refuse_constant)
        except (ValueError, RecursionError) as problem:
            return error(None, PARSE_ERROR, f"The line is no JSON: {str(problem)[:200] or 'it nests too deeply'}.")
        if not isinstance(message, list):
            return self.answer(message)
        if self.version != VERSION_WITH_BATCHES:
            return error(None, INVALID_REQUEST, f"Protocol {self.version} has no batches: send a message a line.")
        if not 0 < len(message) <= MOST_OF_A_BATCH:
            return error(None, INVALID_REQUEST, f"A batch has 1 to {MOST_OF_A_BATCH} messages, not {len(message)}.")
        return list(filter(None, map(self.answer, message))) or None


def refuse_constant(name):
    raise ValueError(f"{name} is no number of JSON")


def error(number, code, sentence):
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": sentence}}


def lines_of(stream):
    """The lines of a stream; None for one that is too long, of which the rest is left out."""
    while True:
        line = stream.readline(MOST_OF_A_MESSAGE + 1)
        if not line:
            return
        is_long = len(line) > MOST_OF_A_MESSAGE
        while is_long and line and not line.endswith(b"\n"):
            line = stream.readline(MOST_OF_A_MESSAGE)
        if is_long:
            yield None
        elif line.strip():
            yield line


def serve(server, requests, answers):
    for line in lines_of(requests):
        if line is None:
            answer = error(None, INVALID_REQUEST, f"A message has {MOST_OF_A_MESSAGE} bytes at most.")
        else:
            answer = server.answer_line(line)
        if answer is not None:
            answers.write(json.dumps(answer).encode("ascii") + b"\n")
            answers.flush()


def seconds_of(text):
    seconds = float(text)
    if not 0 < seconds <= 86400:
        raise ValueError(text)
    return seconds


def main():
    reader = argparse.ArgumentParser(description="A server of the Model Context Protocol on stdio, which only reads.")
    reader.add_argument("--strata", metavar="PATH", help="the command, which is else looked for beside this file")
    reader.add_argument("--seconds", type=seconds_of, default=120, help="how long a tool may take: 120")
    asked = reader.parse_args()
    signal.signal(signal.SIGTERM, ending.ask)
    try:
        serve(Server(Command(asked.strata, asked.seconds)), sys.stdin.buffer, sys.stdout.buffer)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:  # nobody reads
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main())
