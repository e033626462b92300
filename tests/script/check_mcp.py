"""python/strata_mcp.py, driven as a client would: every tool and every error, on the recordings of examples/report, with the
command that was built; that nothing is written or left running."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

root = pathlib.Path(__file__).resolve().parents[2]
program = pathlib.Path(os.environ.get("STRATA_TEST_BUILD_DIR", "")).resolve() / "tools/strata"
if sys.version_info < (3, 8):
    print("SKIPPED: the server needs Python 3.8 or later")
    sys.exit(77)
if not program.exists():
    print("SKIPPED: the command strata was not built")
    sys.exit(77)
server = root / "python/strata_mcp.py"
recordings = root / "examples/report"
environment = {k: v for k, v in os.environ.items() if not k.startswith("STRATA")}
failures = []


def that(ok, text):
    if not ok:
        failures.append(text)


here = pathlib.Path("mcp").resolve()
shutil.rmtree(here, ignore_errors=True)
(here / "temporary").mkdir(parents=True)
os.chdir(here)
environment.update(TMPDIR=str(here / "temporary"), PYTHONDONTWRITEBYTECODE="1")


class Client:
    """A server with what a client says to it. STRATA= of the environment is for programs that are recorded, not for it."""

    def __init__(self, *options, version="2025-06-18", **more):
        self.process = subprocess.Popen([sys.executable, str(server), *options], env={**environment, "STRATA": "no-such-key", **more},
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.number = 0
        self.opened = self.ask("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def say(self, message):
        self.process.stdin.write(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self):
        line = self.process.stdout.readline()
        that(line.endswith(b"\n"), f"an answer is no line: {line}")
        return json.loads(line)

    def tell(self, message):
        """Says something, and hears the answer to it alone: that of a ping after it comes next."""
        self.say(message)
        answer = self.hear()
        self.say({"jsonrpc": "2.0", "id": "after", "method": "ping"})
        that(self.hear() == {"jsonrpc": "2.0", "id": "after", "result": {}}, f"{message!r:.200}: more than one answer, or no ping")
        return answer

    def ask(self, method, params):
        self.number += 1
        answer = self.tell({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        that(answer["jsonrpc"] == "2.0" and answer["id"] == self.number, f"{method}: another answer: {answer}")
        return answer

    def call(self, tool, **arguments):
        """The text of a tool that did its work."""
        return self.result(tool, arguments, False)

    def fails(self, tool, **arguments):
        """The text of a tool that could not."""
        return self.result(tool, arguments, True)

    def result(self, tool, arguments, is_error):
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        result = answer.get("result", {"content": [{"type": "text", "text": str(answer)}]})
        that(result.get("isError") is is_error and len(result["content"]) == 1 and result["content"][0]["type"] == "text",
             f"{tool} {arguments}: {answer}")
        return result["content"][0]["text"]

    def is_refused(self, message, code, words, number=None):
        answer = self.tell(message)
        said = answer.get("error", {})
        that(set(answer) == {"jsonrpc", "id", "error"} and answer["id"] == number and said.get("code") == code and
             words in said.get("message", ""), f"{message!r:.200}: {answer}")

    def refuses(self, method, params, code, words):
        self.number += 1
        self.is_refused({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}, code, words, self.number)

    def end(self, code=0):
        out, err = self.process.communicate(timeout=60)
        that((self.process.returncode, out, err) == (code, b"", b""), f"the server ends with {self.process.returncode}: {out}{err}")


def said_by_command(*words):
    done = subprocess.run([str(program), *map(str, words)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True)
    return done.returncode, done.stdout, done.stderr


# The protocol: versions, ids, notifications, batches, the end.
for asked, taken in (("2024-11-05", "2024-11-05"), ("2025-03-26", "2025-03-26"), ("2025-06-18", "2025-06-18"), ("2099-01-01", "2025-06-18")):
    client = Client(f"--strata={program}", version=asked)
    result = client.opened["result"]
    that(result["protocolVersion"] == taken and result["capabilities"] == {"tools": {}}, f"{asked}: {result}")
    that(result["serverInfo"]["version"] == said_by_command("--version")[1].split()[-1], f"the server is {result['serverInfo']}")
    pings = [{"jsonrpc": "2.0", "id": number, "method": "ping"} for number in (7, "x")]
    if taken == "2025-03-26":
        told = client.tell([*pings, {"jsonrpc": "2.0", "method": "notifications/cancelled"}, 1])
        that([(one["id"], "result" in one) for one in told] == [(7, True), ("x", True), (None, False)], f"a batch: {told}")
        client.say([{"jsonrpc": "2.0", "method": "notifications/cancelled"}])  # no answer: that of the next ping is heard
        client.is_refused([], -32600, "A batch has 1 to 100 messages, not 0.")
        client.is_refused([pings[0]] * 101, -32600, "not 101.")
    else:
        client.is_refused(pings, -32600, f"Protocol {taken} has no batches")
    client.end()

client = Client(f"--strata={program}")
tools = {tool["name"]: tool for tool in client.ask("tools/list", {})["result"]["tools"]}
that(sorted(tools) == ["compare", "explain", "help", "metrics", "profiles"], f"tools: {sorted(tools)}")
for name, tool in tools.items():
    hints = tool["annotations"]
    that(hints["readOnlyHint"] is True and hints["destructiveHint"] is False and tool["description"], f"{name}: {tool}")
    that(tool["inputSchema"]["type"] == "object" and set(tool["inputSchema"].get("required", [])) <= set(tool["inputSchema"]["properties"]),
         f"{name}: {tool['inputSchema']}")
for number in (0, -1, 2**70, "", "a b", "é"):
    that(client.tell({"jsonrpc": "2.0", "id": number, "method": "ping"}) == {"jsonrpc": "2.0", "id": number, "result": {}}, f"id {number}")
for silent in ({"method": "notifications/initialized"}, {"method": "no/such"}, {"method": "tools/call", "params": 1}, {"id": 3, "result": {}},
               {"id": 3, "error": {"code": 1, "message": "x"}}):
    client.say({"jsonrpc": "2.0", **silent})  # the next answer is that of the next request
client.say(b"\n  \n")
for line, code, words in ((b"{", -32700, "The line is no JSON: "), (b"\xff\n", -32700, "The line is no JSON: "), (b"NaN", -32700, "NaN is no number of JSON"),
                          (b"[" * 100000, -32700, "The line is no JSON: "), (b"1" * 5000 + b"x", -32700, "no JSON"),
                          (b'"' + b"x" * (1 << 20) + b'"', -32600, "A message has 1048576 bytes at most."), (b"1", -32600, "A message is an object"),
                          (b'{"id":1,"method":"ping"}', -32600, "A message is an object"), (b'{"jsonrpc":"2.0"}', -32600, "A message has a method"),
                          (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, "The id of a request is a string or an integer."),
                          (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, "The id of a request is"),
                          (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, "The id of a request is")):
    client.is_refused(line.rstrip(b"\n") + b"\n", code, words)
client.is_refused({"jsonrpc": "2.0", "id": "q", "method": 1}, -32600, "A message has a method", "q")
for method, params, code, words in (
        ("tools/run", {}, -32601, "There is no method 'tools/run': this server has initialize, ping, tools/list, tools/call."),
        ("resources/list", {}, -32601, "There is no method"), ("ping", [], -32602, "The params of ping are an object."),
        ("initialize", {}, -32602, "initialize needs protocolVersion, such as 2025-06-18."),
        ("tools/list", {"cursor": "2"}, -32602, "There is one page of tools"),
        ("tools/call", {}, -32602, "There is no tool without a name"), ("tools/call", {"name": ["run"]}, -32602, "There is no tool without a name"),
        ("tools/call", {"name": "run"}, -32602, "There is no tool 'run': the tools are explain, compare, help, metrics, profiles."),
        ("tools/call", {"name": "help", "arguments": ["skip"]}, -32602, "The arguments of help are an object"),
        ("tools/call", {"name": "explain"}, -32602, "explain needs file: a recording"),
        ("tools/call", {"name": "explain", "arguments": {"file": ""}}, -32602, "explain needs file: a recording"),
        ("tools/call", {"name": "compare", "arguments": {"before": "a"}}, -32602, "compare needs after: a recording"),
        ("tools/call", {"name": "explain", "arguments": {"file": 1}}, -32602, "file of explain is a text in quotes."),
        ("tools/call", {"name": "explain", "arguments": {"file": "a", "html": "b"}}, -32602, "explain has no argument 'html': it takes file."),
        ("tools/call", {"name": "explain", "arguments": {"file": "a" * 4097}}, -32602, "file of explain has 4097 characters, 4096 at most."),
        ("tools/call", {"name": "explain", "arguments": {"file": "a\0b"}}, -32602, "file of explain has a character that no command takes"),
        ("tools/call", {"name": "explain", "arguments": {"file": "\ud800"}}, -32602, "file of explain has a character that no command takes")):
    client.refuses(method, params, code, words)

# The tools say what the command says.
for recording in sorted(recordings.glob("*.strata")):
    that(client.call("explain", file=str(recording)) == said_by_command("explain", recording, "--json")[1], f"explain {recording.name}")
verdicts = {0: "no regression", 1: "regression", 3: "undecided: the runs do not tell"}
seen = set()
for before in sorted(recordings.glob("gpt2-*.strata")):
    for after in sorted(recordings.glob("gpt2-*.strata")):
        code = said_by_command("compare", before, after, "--markdown", "by-hand.md")[0]
        seen.add(code)
        told = client.call("compare", before=str(before), after=str(after))
        that(told == f"verdict: {verdicts[code]} (exit code {code})\n\n{pathlib.Path('by-hand.md').read_text(encoding='utf-8')}",
             f"compare {before.name} {after.name}: {told}")
pathlib.Path("by-hand.md").unlink()
that(len(seen) >= 2, f"only the verdicts {seen} were seen")
for topic in ("skip", "short scoreboard", "launch-bound", "strata: no NVIDIA driver: libcuda.so.1 was not found"):
    that(client.call("help", topic=topic) == said_by_command("help", topic)[1], f"help {topic}")
that(client.call("help") == said_by_command("help")[1] == client.call("help", topic=""), "help without a topic")
code, said, _ = said_by_command("metrics", "GH100")
that((client.call if code == 0 else client.fails)("metrics", chip="GH100").strip() == said.strip(), "metrics GH100")
code, said, told = said_by_command("metrics")
that((client.call if code == 0 else client.fails)("metrics").strip() == (said + told).strip(), "metrics of this machine")
that("No metrics can be listed: " in client.fails("metrics", chip="no-chip"), "metrics of no chip")

# What is missing is a sentence with its cure, and what begins with - is no option.
for name, words in (("gone.strata", "strata explain: gone.strata: It cannot be opened: "), ("temporary", "The folder has no profile.strata"),
                    ("--help", "strata explain: --help: It cannot be opened: "), (str(root / "README.md"), "It is no recording of Strata")):
    that(words in client.fails("explain", file=name), f"explain {name}: {client.fails('explain', file=name)}")
    told = client.fails("compare", before=name, after=str(recordings / "gpt2-eager.strata"))
    that(told.startswith("strata compare: "), f"compare {name}: {told}")
that("strata help: --version: it is no key" in client.fails("help", topic="--version"), "help --version")
that("No metrics can be listed: " in client.fails("metrics", chip="--help"), "metrics --help")
pathlib.Path("--json").mkdir()
shutil.copy(recordings / "gpt2-eager.strata", "--json/profile.strata")
that(client.call("explain", file="--json") == said_by_command("explain", "--json", "--", "--json")[1], "a folder --json")
that("There is no such folder: name one" in client.fails("profiles", folder="gone"), "profiles of no folder")

# profiles: newest first, bounded, without what only looks like one.
runs = pathlib.Path("runs")
for number in range(120):
    folder = runs / f"run-{number:03}"
    folder.mkdir(parents=True)
    name = "profile.strata.part" if number == 119 else "profile.strata"  # of a program that was killed
    shutil.copy(recordings / "pytorch-decode.strata", folder / name)
    os.utime(folder / name, (10**9 + number, 10**9 + number))
told = said_by_command("report", recordings / "pytorch-decode.strata", "--formats", "json", "--out", "runs/deep/er/run")
os.utime("runs/deep/er/run/profile.json", (2 * 10**9, 2 * 10**9))
for name, text in (("other/profile.json", '{"schema":{"name":"another"}}'), ("other/text.strata", "text"), (".hidden/profile.strata", "strata recording 1\n"),
                   ("other/profile.strata/x", ""), ("other/empty.strata", "")):
    (runs / name).parent.mkdir(parents=True, exist_ok=True)
    (runs / name).write_text(text)
(runs / "link.strata").symlink_to(recordings / "pytorch-decode.strata")
(runs / "loop").symlink_to(runs.resolve())
os.mkfifo(runs / "pipe.strata")
listed = json.loads(client.call("profiles", folder="runs"))
that(listed["profiles"][0] == {"path": "runs/deep/er/run/profile.json", "kind": "profile", "modified": "2033-05-18T03:33:20Z",
                               "bytes": os.stat("runs/deep/er/run/profile.json").st_size}, f"the newest: {listed['profiles'][0]}")
that([row["path"] for row in listed["profiles"][1:]] ==
     ["runs/run-119/profile.strata.part", *(f"runs/run-{number:03}/profile.strata" for number in range(118, 20, -1))],
     f"listed: {listed['profiles'][1:]}")
that((listed["left_out"], listed["unreadable"], listed["searched_all"]) == (21, 0, True) and "note" not in listed, f"listed: {listed}")
that(json.loads(client.call("profiles"))["left_out"] == 22, "profiles of the server's folder")  # that of --json, too
before = sorted(map(str, here.rglob("*")))
client.end()

# A limit of time: the command is ended, and the server goes on.
client = Client(f"--strata={program}", "--seconds=0.5")
began = time.monotonic()
told = client.fails("explain", file="runs/pipe.strata")  # opened for as long as nobody writes
that(told == "strata explain was ended after 0.5 s: record fewer steps, or start this server with --seconds 1.", f"too long: {told}")
that(0.5 <= time.monotonic() - began < 30, f"it took {time.monotonic() - began} s")
client.end()
for moment in range(12):  # SIGTERM comes while the command begins, and later
    client = Client(f"--strata={program}")
    children = pathlib.Path(f"/proc/{client.process.pid}/task/{client.process.pid}/children")
    client.say({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "explain", "arguments": {"file": "runs/pipe.strata"}}})
    deadline = time.monotonic() + 60
    child = ""
    while not child and time.monotonic() < deadline:
        child = children.read_text().strip()
    time.sleep(moment * 0.0005)
    client.process.send_signal(signal.SIGTERM)
    client.end(128 + signal.SIGTERM)
    is_left = pathlib.Path(f"/proc/{child}").exists()
    that(child and not is_left, f"SIGTERM leaves the command running, or it never ran: {child}")
    if child and is_left:
        os.kill(int(child), signal.SIGKILL)
client = Client(f"--strata={program}")
client.process.stdout.close()  # nobody reads
client.say({"jsonrpc": "2.0", "id": 1, "method": "ping"})
that(client.process.wait(60) == 0 and client.process.stderr.read() == b"", "a client that is gone is a mistake")
client.process.stderr.close()
that(sorted(map(str, here.rglob("*"))) == before, f"it leaves files: {sorted(set(map(str, here.rglob('*'))) - set(before))}")

# The command: one that is missing, beside the server as it is installed, and in PATH.
client = Client("--strata=gone/strata")
that(client.opened["result"]["serverInfo"]["version"] == "unknown", f"it opens as {client.opened}")
that(client.fails("help") == "gone/strata is no program: start this server with another --strata PATH.", f"no command: {client.fails('help')}")
client.end()
for place in ("prefix/share/strata/python", "prefix/lib/python3.8/site-packages", "prefix", "alone/deep/down/here"):
    pathlib.Path(place).mkdir(parents=True, exist_ok=True)
    shutil.copy(server, place)
pathlib.Path("prefix/bin").mkdir()
pathlib.Path("prefix/bin/strata").symlink_to(program)
whole, skip = server, said_by_command("help", "skip")[1]
for place in ("prefix/share/strata/python", "prefix/lib/python3.8/site-packages", "prefix"):
    server = here / place / "strata_mcp.py"
    client = Client(PATH="/nowhere")
    that(client.call("help", topic="skip") == skip, f"the command is not found from {place}")
    client.end()
server = here / "alone/deep/down/here/strata_mcp.py"
client = Client(PATH=f"/nowhere:{program.parent}")
that(client.call("help", topic="skip") == skip, "the command is not found in PATH")
client.end()
client = Client(PATH="/nowhere")
that(client.fails("help").startswith("The command strata was not found beside this server or in PATH: build it by cmake "), "no command at all")
client.end()
server = whole
shutil.copy(root / "README.md", "not-elf")
os.chmod("not-elf", 0o755)
client = Client("--strata=./not-elf")
that(re.fullmatch(r"\./not-elf cannot be run: .*: build it for this machine\.", client.fails("help")), f"no program: {client.fails('help')}")
client.end()
for wrong in (["--seconds", "0"], ["--seconds", "soon"], ["more"]):
    done = subprocess.run([sys.executable, str(server), *wrong], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    that(done.returncode == 2 and not done.stdout and b"error: " in done.stderr, f"{wrong}: {done}")

# What is too long is cut at a line, and says so.
sys.path.insert(0, str(server.parent))
sys.dont_write_bytecode = True
import strata_mcp
with open("long", "wb+") as file:
    file.write(b"a line\n" * 100000)
    head = strata_mcp.head_of(file)
that(head == "a line\n" * 9362 + "[cut: these are the first 65534 of 700000 bytes]\n", f"a long text: {head[-200:]!r}")
with open("short", "wb+") as file:
    file.write("a line\u00e9".encode())
    that(strata_mcp.head_of(file) == "a line\u00e9", "a short text")
# A program that somebody else put beside this server is not run; one of root's or of the server's owner is.
os.makedirs("planted/bin", exist_ok=True)
shutil.copy(program, "planted/bin/strata")
planted = pathlib.Path("planted/bin/strata")
that(strata_mcp.is_program(planted), "a program of one's own is none")
if os.geteuid() == 0:
    os.chown(planted, 65534, 65534)
    that(strata_mcp.is_program(planted) == (os.stat(server).st_uid == 65534), "somebody else's program would be run")
# A search has a limit of names.
strata_mcp.MOST_LOOKED_AT = 60
listed = json.loads(strata_mcp.profiles(strata_mcp.Command(None, 60), "runs"))
that(not listed["searched_all"] and listed["note"] == "The search ended after 60 names: name a folder further down.", f"a bounded search: {listed}")
listed = json.loads(strata_mcp.profiles(strata_mcp.Command(None, -1), "runs"))
that(not listed["searched_all"] and listed["profiles"] == [], f"a search without time: {listed}")

for failure in failures[:30]:
    print("FAILED:", failure)
print(f"{len(tools)} tools; {len(failures)} failures")
sys.exit(1 if failures else 0)
