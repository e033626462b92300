"""strata run: programs that know nothing of Strata, recorded in one command with the stand-ins for driver and CUPTI; that the
program stays its own (exit code, signals, stdin, terminal, process); a sentence for each mistake; and the installed layout."""

import csv
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import time

from _script import UNTOUCHED, build, end, environment, expect, library, needs, program, root, that

fakes = build / "tests/fake/lib"
fake_program = build / "tests/fake/bin/injected_program"
with_stand_ins = fake_program.exists() and (fakes / "libcupti.so.13").exists() and (fakes / "libcuda.so.1").exists()
needs(program, library)


def ran(code, *words, by=program, **options):
    return expect(code, by, "run", *words, **options)


def refused(code, told, *words, **options):
    done = ran(code, *words, **options)
    that(done.stderr == f"strata run: {told}\n" and not done.stdout, f"{words}: it says {done.stdout}{done.stderr}")


here = pathlib.Path("run").resolve()
shutil.rmtree(here, ignore_errors=True)
here.mkdir()
os.chdir(here)

# What the program gets.
names = ("LD_PRELOAD", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "STRATA")
show = "import os, json; print(json.dumps({k: os.environ.get(k) for k in %r}))" % (names,)
usual = "trace,formats=table+csv+json+trace+recording"
usual_out = f"out={here}/strata-out"


def given(*words, **more):
    told = ran(0, *words, "--", sys.executable, "-S", "-c", show, env={**environment, **more}).stdout
    return json.loads(told or "{}")


that(given() == {**dict.fromkeys(names, str(library)), "STRATA": f"{usual},{usual_out}"}, f"the environment: {given()}")
all_keys = given("--counters", "hbm+l1", "--steps", "Train step", "--out", "o", "--every", 9, "--for", "2m", "sort=order", "sync")["STRATA"]
that(all_keys == f"{usual},sort=order,sync,counters=hbm+l1,step=Train step,every=9,for=120,out={here}/o", f"the keys: {all_keys}")
that(given("skip=2", STRATA="skip=1,host")["STRATA"] == f"{usual},skip=1,host,skip=2,{usual_out}", "keys of the environment do not come first")
plugin = "import os; print(os.environ['NCCL_PROFILER_PLUGIN'])"
for wanted, path in (("strata", library), ("/opt/other.so", "/opt/other.so")):
    told = ran(0, "--", sys.executable, "-S", "-c", plugin, env={**environment, "NCCL_PROFILER_PLUGIN": wanted}).stdout.strip()
    that(told == str(path), f"NCCL's plugin: {told}")
that(given(LD_PRELOAD=str(library))["LD_PRELOAD"] == f"{library}:{library}", "another preloaded library is lost")
that(given("--library", library) == {**dict.fromkeys(names, str(library)), "STRATA": f"{usual},{usual_out},library={library}"},
     "--library is not taken")
runtime = {"TMPDIR": "/tmp", "XDG_RUNTIME_DIR": str(here)}
idle = given("--idle", "active=3", STRATA="skip=1", **runtime)["STRATA"]
that(re.fullmatch(rf"{re.escape(usual)},step=auto,active=10,trigger={here}/strata-\d+\.trigger,skip=1,active=3,{usual_out}", idle), f"--idle: {idle}")

for place in ("~/o", "/o"):
    that(given("--out", place)["STRATA"].endswith(f",out={place}"), f"--out {place} has another place")
that(given("out=key", STRATA="out=environment")["STRATA"].endswith(f",out={here}/key"), "out= of a key has another place")
usage = ran(0, "--help").stdout
that("Usage: strata run [OPTIONS] [KEY=VALUE ...] -- PROGRAM [ARGUMENTS ...]\n" in usage, f"the usage: {usage}")

# The program is its own: process, exit code, signals, stdin, terminal; words behind -- are not read.
nothing = ("strata: nothing was recorded: this program made no CUDA context and had no range; a program that it started has a report "
           "of its own\n")
that(ran(7, "--", sys.executable, "-S", "-c", "raise SystemExit(7)").stderr == nothing, "nothing is said where nothing is recorded")
that(ran(0, "off", "--", sys.executable, "-S", "-c", "").stderr == "", "off is not silent")
two = "import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', ''])"
that(ran(0, "--", sys.executable, "-S", "-c", two).stderr == nothing, "a child says it, too")
that(ran(0, "--", "echo", "--help", "--", "-x").stdout == "--help -- -x\n", "words of the program are taken")
that(ran(0, "--", "cat", input="from stdin\n").stdout == "from stdin\n", "stdin is lost")
pathlib.Path("static.c").write_text("int main(void) { return 4; }\n")
if subprocess.run(["cc", "-static", "-o", "static", "static.c"], stderr=subprocess.DEVNULL).returncode == 0:
    that(ran(4, "--", "./static").stderr == "strata run: ./static: It is linked statically, and no library can be loaded into it: nothing of it "
         "is recorded, but the programs that it starts are.\n", "nothing is said of a static program")
else:
    print("LEFT OUT: a static program, which needs a static C library")
# A stand-in for musl's loader: as that, it ends a program whose LD_PRELOAD names a library that is there, and continues where none is.
pathlib.Path("loader.c").write_text(r"""
static long call(long number, long a, long b, long c) {
#if defined(__x86_64__)
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
#else
  register long x8 __asm__("x8") = number; register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b; register long x2 __asm__("x2") = c;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
#endif
}
#if defined(__x86_64__)
enum { sys_open = 257, sys_exit = 231 };
__asm__(".globl _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call begin\n");
#else
enum { sys_open = 56, sys_exit = 94 };
__asm__(".globl _start\n_start: mov x0, sp\n bl begin\n");
#endif
void begin(long* stack) {
  char** variable = (char**)(stack + 1 + stack[0] + 1);
  char const* const wanted = "LD_PRELOAD=";
  for (; *variable; ++variable) {
    char* text = *variable;
    int i = 0;
    while (wanted[i] && text[i] == wanted[i]) ++i;
    if (wanted[i]) continue;
    for (char* path = text + i; *path;) {
      char* end = path;
      while (*end && *end != ':') ++end;
      int const last = !*end;
      *end = 0;
      if (call(sys_open, -100, (long)path, 0) >= 0) call(sys_exit, 127, 0, 0);
      path = last ? end : end + 1;
    }
  }
  call(sys_exit, 5, 0, 0);
}
""")
musl = here / "ld-musl-test.so.1"
linked = subprocess.run(["cc", "-O1", "-nostdlib", "-static", "-fno-stack-protector", "-fno-builtin", "-o", musl, "loader.c"], stderr=subprocess.PIPE)
linked = linked.returncode == 0 and subprocess.run(["cc", f"-Wl,--dynamic-linker={musl}", "-o", "musl", "static.c"]).returncode == 0
if linked:
    of_musl = ("It is linked to musl, and the library to glibc: nothing of it is recorded, but the programs that it starts are, where they are "
               "linked to glibc.")
    that(ran(5, "--", "./musl").stderr == f"strata run: ./musl: {of_musl}\n", "nothing is said of a program that is linked to musl")
    pathlib.Path("of_musl").write_text(f"#! {here}/musl -x\n")
    os.chmod("of_musl", 0o755)
    that(ran(5, "--", "./of_musl").stderr == f"strata run: ./of_musl: {of_musl}\n", "nothing is said of a script whose interpreter is")
    # What musl's loader does not find, glibc's does.
    hidden = "$ORIGIN" + "/.." * 64 + str(library)
    shown = subprocess.run([sys.executable, "-S", "-c", "print('libstrata_inject' in open('/proc/self/maps').read())"],
                           env={**environment, "LD_PRELOAD": hidden}, stdout=subprocess.PIPE, universal_newlines=True).stdout
    that(shown == "True\n", "a program of glibc that one of musl starts is not recorded")
    that(subprocess.run(["./musl"], env={**environment, "LD_PRELOAD": hidden}).returncode == 5, "a child of musl ends")
else:
    print("LEFT OUT: a program that is linked to musl, which needs cc")
# ASan's library wants to be the first one.
pathlib.Path("asan.c").write_text("#include <stdlib.h>\nint main(int n, char** w) { char* p = malloc(4); p[n > 1 ? 4 : 0] = 1; free(p); return w[0][0] ? 4 : 5; }\n")
for compiler in (["gcc"], ["clang", "-shared-libasan"]):
    if shutil.which(compiler[0]) is None or subprocess.run([*compiler, "-fsanitize=address", "-o", "asan", "asan.c"], stderr=subprocess.DEVNULL).returncode:
        print(f"LEFT OUT: a program with ASan by {compiler[0]}")
        continue
    if subprocess.run(["./asan"], env=environment, stderr=subprocess.DEVNULL).returncode != 4:
        print(f"LEFT OUT: a program with ASan by {compiler[0]}, which does not run here")
        continue
    for words in (["./asan"], ["sh", "-c", "./asan; exit $?"]):
        that("AddressSanitizer" not in ran(4, "--", *words).stderr, f"{words} by {compiler[0]}: ASan complains")
    that("heap-buffer-overflow" in ran(9, "--", "./asan", "x", env={**environment, "ASAN_OPTIONS": "exitcode=9"}).stderr, "ASan does not work")
child = subprocess.Popen([str(program), "run", "--", "sh", "-c", "echo $$; exec sleep 3600"], env=environment, stdout=subprocess.PIPE, universal_newlines=True)
that(int(child.stdout.readline()) == child.pid, "there is a process in between")
child.send_signal(signal.SIGTERM)
that(child.wait() == -signal.SIGTERM, f"a signal ends it by {child.returncode}")
pid, terminal = pty.fork()
if pid == 0:
    os.execve(str(program), [str(program), "run", "--", "sh", "-c", "test -t 0 && test -t 1 && test -t 2 && echo a terminal"], environment)
told = os.read(terminal, 1000).decode()
that(told.strip() == "a terminal" and os.waitpid(pid, 0)[1] == 0, f"it has no terminal: {told}")

# Each mistake is one sentence.
refused(2, "nothing to run: A program comes after --, as in strata run -- PROGRAM")
refused(2, "nothing to run: A program comes after --, as in strata run -- PROGRAM", "--")
refused(2, "./a.out: A program comes after --, as in strata run -- ./a.out", "./a.out")
refused(2, "python3: A program comes after --, as in strata run skip=1 -- python3", "skip=1", "python3", "train.py")
refused(2, "./a.out: A program comes after --, as in strata run trace skip=1 -- ./a.out", "trace", "skip=1", "./a.out")
refused(127, "no-such-program: There is no such program in PATH: name its path, as in ./no-such-program", "--", "no-such-program")
refused(127, "./gone: There is no such program: check its path.", "--", "./gone")
refused(126, "/tmp: It is a folder: name a program in it.", "--", "/tmp")
pathlib.Path("text").write_text("hello\n")
refused(126, "./text: It is not executable: chmod +x makes it so, and a script may follow its interpreter, as in "
             "strata run -- python3 train.py", "--", "./text")
os.chmod("text", 0o755)
refused(126, "./text: It is no program of this machine: begin a script with #!/bin/sh.", "--", "./text")
pathlib.Path("text").write_text("#!/no/such/interpreter\n")
refused(126, "./text: Its interpreter is missing: see its first line.", "--", "./text")
os.chmod("text", 0o644)
refused(126, "./text: It is not executable: chmod +x makes it so, and a script may follow its interpreter, as in "
             "strata run -- python3 train.py", "--", "text", env={**environment, "PATH": "."})
pathlib.Path("closed").mkdir()
shutil.copy(shutil.which("true"), "closed")
os.chmod("closed", 0)
as_nobody = {"preexec_fn": lambda: os.setuid(65534)} if os.geteuid() == 0 else {}
try:
    refused(126, "./closed/true: You may not search one of its folders: chmod +x opens a folder.", "--", "./closed/true", **as_nobody)
except PermissionError:
    print("LEFT OUT: a program in a closed folder, since another user may not run strata here")
os.chmod("closed", 0o755)
shutil.copy(shutil.which("true"), "privileged")
if os.geteuid() == 0:
    os.chown("privileged", 65534, -1)
    os.chmod("privileged", 0o4755)
    refused(2, "./privileged: It is setuid, setgid or has capabilities, and loads no library of its user's: run a copy of it without "
               "them.", "--", "./privileged")
else:
    print("LEFT OUT: a setuid program of another user, which root alone can make")
refused(2, "./none.so: There is no such library: check its path, or leave --library out.", "--library", "./none.so", "--", "true")
pathlib.Path("text.so").write_text("no library\n")
pathlib.Path("cut.so").write_bytes(library.read_bytes()[:100])
for file in ("text.so", "cut.so", sys.executable):  # the linker would pass over it, and the program run without a word
    refused(2, f"{pathlib.Path(file).resolve()}: It is no libstrata_inject.so of this machine: build it with this command, or leave --library out.",
            "--library", file, "--", "true")
pathlib.Path("a b").mkdir()
shutil.copy(library, "a b")
refused(2, f"{here}/a b/libstrata_inject.so: LD_PRELOAD ends a path at a blank or colon: move the library.", "--library",
        "a b/libstrata_inject.so", "--", "true")
pathlib.Path("bin").mkdir()
shutil.copy(program, "bin")
that("It is neither beside this command nor in ../lib" in ran(2, "--", "true", by="bin/strata").stderr, "no library is no mistake")
refused(2, 'STRATA: there is no key "tarce", did you mean trace? STRATA=help prints the keys.', "tarce=1", "--", "true")
refused(2, 'every=x: every takes a whole number from 1.', "--every", "x", "--", "true")
refused(2, 'every=x: every takes a whole number from 1.', "STRATA=trace,every=x", "--", "true")
refused(2, 'STRATA: there is no key "foo", did you mean for? STRATA=help prints the keys.', "--", "true", env={**environment, "STRATA": "foo"})
refused(2, "hbm,l1: A comma begins another key of STRATA=: lists are joined by +.", "--counters", "hbm,l1", "--", "true")
that("no-such-metric" in ran(2, "--counters", "no-such-metric", "--", "true").stderr, "an unknown metric is taken")
refused(2, "--for takes a time such as 30s, 5m or 2h, not 'soon'\nstrata run --help shows all options", "--for", "soon", "--", "true")
for option, takes in (("--out", "the name of a folder, whose files have names of their own"), ("--steps", "the name of a range, such as 'Train step'"),
                      ("--counters", "names joined by +, such as findings"), ("--every", "a number of steps, such as 100")):
    refused(2, f"{option} takes {takes}\nstrata run --help shows all options", option, "", "--", "true")
refused(2, "CUDA_INJECTION64_PATH: It names another tool, and one is loaded: unset it.", "--", "true",
        env={**environment, "CUDA_INJECTION64_PATH": "/opt/other.so"})


def rows(folder, name):
    with open(pathlib.Path(folder) / f"{name}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def attach(code, pid, told=None, **options):
    done = subprocess.run([str(program), "attach", str(pid)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, **options)
    said = f"strata attach: {pid}: {told}\n" if told else ""
    that(done.returncode == code and done.stderr == said and bool(done.stdout) == (code == 0), f"strata attach {pid}: {done}")
    return done.stdout


def attached_to(code, told, *words, sleeper="sleep", **more):
    """A process that sleeps, and what is said of it."""
    child = subprocess.Popen([*map(str, words), sleeper, "3600"], env={**environment, **more}, stderr=subprocess.DEVNULL)
    try:
        return attach(code, child.pid, told)
    finally:
        child.kill()
        child.wait()


fix = "start it by strata run --idle -- PROGRAM"
attach(2, "soon", "It is no process id: a number, such as 1234.")
attach(2, 0, "It is no process id: a number, such as 1234.")
attach(2, 999999999, "There is no such process: pgrep -a NAME lists those of a name.")
attached_to(2, f"It does not run under Strata, or has renamed itself: {fix}, or touch the file of its trigger=")
attached_to(2, f"It does not run under Strata, or has renamed itself: {fix}, or touch the file of its trigger=", STRATA="off")
attached_to(2, f"It waits for nothing, as it has no trigger=: {fix}", program, "run", "--")
attached_to(1, "Strata has not begun in it, as it has no CUDA context and no range yet; a program that it started has a process id "
               "of its own: pgrep -a NAME", STRATA="trigger=touched,out=below")
that(not pathlib.Path("touched").exists(), "a file is touched that nobody looks at")
shutil.copy(shutil.which("sleep"), "strata")  # its thread has the name of a session's
told = attached_to(0, None, sleeper="./strata", STRATA="trigger=touched,out=below")
that(told.endswith(f" begins where its next step ends; its report will be in {here}/below-latest\n") and pathlib.Path("touched").exists(), f"a touched file: {told}")
child = subprocess.Popen(["./strata", "3600"], env={**environment, "STRATA": f"trigger={here}/none/file"})
told = subprocess.run([str(program), "attach", str(child.pid)], stderr=subprocess.PIPE, universal_newlines=True)
that((told.returncode, told.stderr) == (1, f"strata attach: {here}/none/file: It cannot be touched: No such file or directory" + UNTOUCHED + "\n"), f"no folder: {told}")
if as_nobody:
    attach(2, child.pid, f"It belongs to another user (uid {os.geteuid()}): run strata attach as that user, or as root.", **as_nobody)
if os.geteuid() == 0:  # root of a container may see less
    try:
        pathlib.Path("/proc/1/environ").read_bytes()
    except OSError as error:
        attach(2, 1, f"You are root, but /proc/1/environ cannot be read ({error.strerror}): start the container with --cap-add=SYS_PTRACE, "
                     "or run strata attach where the process was started.")
child.kill()
child.wait()
# As root it touches what the process may touch, and nothing else.
if as_nobody:
    mine = pathlib.Path("mine")
    mine.write_text("of root")
    mine.chmod(0o600)
    os.utime(mine, (1, 1))
    os.symlink(here / "mine", "leads")
    pathlib.Path("open").mkdir()
    os.chmod("open", 0o777)
    for wanted, allowed in (("mine", False), ("leads", False), (f"{here}/made", False), ("open/made", True)):
        child = subprocess.Popen(["./strata", "3600"], env={**environment, "STRATA": f"trigger={wanted}"}, **as_nobody)
        told = subprocess.run([str(program), "attach", str(child.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
        child.kill()
        child.wait()
        that(told.returncode == (0 if allowed else 1) and (allowed or "It cannot be touched: Permission denied; start the process with" in told.stderr), f"{wanted}: {told}")
    that(mine.stat().st_mtime == 1 and not pathlib.Path("made").exists() and pathlib.Path("open/made").stat().st_uid != 0, "root touches a file for somebody else")
with_fakes = {**environment, "STRATA_CUPTI": str(fakes / "libcupti.so.13"), "STRATA_LIBCUDA": str(fakes / "libcuda.so.1"),
              "FAKE_CUPTI_FILE": str(fakes / "libcupti.so.13"), "FAKE_CUDA_FILE": str(fakes / "libcuda.so.1")}


def records(by, *more):
    """A program that makes a context, and works three times."""
    shutil.rmtree("out", ignore_errors=True)
    done = ran(5, "--out", "out", "--", fake_program, "init", "context", "work=3", "tell", *more, env=with_fakes, by=by)
    that("subscribed: 1\n" in done.stdout and done.stderr.count("strata: wrote ") == 1 and nothing not in done.stderr, f"nothing is recorded: {done.stdout}{done.stderr}")
    that([row["count"] for row in rows("out", "kernels")] == ["3"], "other kernels")
    answer = subprocess.run([str(by), "explain", "out"], env=environment, stdout=subprocess.PIPE, universal_newlines=True)
    that(answer.returncode == 0 and "\nanswer " in answer.stdout, f"no answer: {answer.stdout}")


if with_stand_ins:
    records(program)
    # Children: the program that a shell starts has the report.
    shutil.rmtree("out", ignore_errors=True)
    parent = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"
    done = ran(5, "--out", "out", "--", sys.executable, "-S", "-c", parent, fake_program, "init", "context", "work=2", env=with_fakes)
    that([row["count"] for row in rows("out", "kernels")] == ["2"], f"a child is not recorded: {done.stderr}")
    that(done.stderr.endswith(nothing), f"a program is taken for its child: {done.stderr}")
    # The place of the files is that of the command, wherever the program goes.
    pathlib.Path("elsewhere").mkdir()
    ran(5, "--out", "moved-away", "--", "sh", "-c", f"cd elsewhere && exec '{fake_program}' init context work=2", env=with_fakes)
    that([row["count"] for row in rows("moved-away", "kernels")] == ["2"] and not os.listdir("elsewhere"), "--out follows the program")
    # Counters, which need steps: the calls of a range are.
    ran(5, "--steps", "own", "--counters", "dram__bytes_read.sum", "--out", "counted", "--", fake_program.with_name("injected_ranges"), "init",
        "context", *["work=2"] * 9, env=with_fakes)
    counted = json.loads(pathlib.Path("counted/profile.json").read_text(encoding="utf-8"))
    values = [row["self"]["dram__bytes_read.sum"] for row in counted["counters"]["values"] if row["path"] == "own"]
    that(len(counted["steps"]) == 3 and not counted["problems"] and values == [64],  # two kernels of 32 threads
         f"counters in the steps of a range: {values}, {len(counted['steps'])} steps, {counted['problems']}")
    # --for: the report comes while the program continues.
    shutil.rmtree("out", ignore_errors=True)
    child = subprocess.Popen([str(program), "run", "--out", "out", "--for", "1s", "--", str(fake_program), "init", "context", "work=3", "wait", "work=1"],
                             env=with_fakes, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    begin = time.monotonic()
    while "strata: wrote " not in child.stderr.readline() and time.monotonic() < begin + 60:
        pass
    took = time.monotonic() - begin
    that(child.poll() is None and took > 0.8, f"the report of --for 1s came after {took:.1f} s, exit code {child.poll()}")
    child.send_signal(signal.SIGINT)
    out, err = child.communicate()
    that(child.returncode == -signal.SIGINT and "wrote" not in err, f"after its report it ends by {child.returncode}: {out}{err}")
    that([row["count"] for row in rows("out", "kernels")] == ["3"], "kernels of --for 1s")
    # A program without a period: all of it is recorded, though counters wait for steps, and it is said.
    shutil.rmtree("out", ignore_errors=True)
    ran(5, "--steps", "auto", "--counters", "findings", "--out", "out", "--library", library, "sort=order", "--", fake_program, "init", "context",
        "work=3", env=with_fakes)
    answer = json.loads(subprocess.run([str(program), "explain", "out", "--json"], env=environment, stdout=subprocess.PIPE).stdout)
    that([row["count"] for row in rows("out", "kernels")] == ["3"] and answer["bound"] != "Nothing was recorded: see problems."
         and any("so that there are no steps: the whole run is shown, without counters; " in told for told in answer["problems"]),
         f"a program without a period: {answer}")
    # The next command is what works: library, keys and words of the program as they were.
    that(answer["next"][0].startswith(f"strata run --out next --library {library} --steps auto sort=order counters=findings -- {fake_program} "),
         f"the next command: {answer['next']}")
    # strata attach: a window of a process that records nothing until then.
    child = subprocess.Popen([str(program), "run", "--idle", "--out", "attached", "--steps", "own", "active=2", "--", str(fake_program.with_name("injected_ranges")),
                              "init", "context", *["work=2"] * 3, "handler", "wait", *["work=2"] * 6],
                             env={**with_fakes, **runtime}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    while "ready" not in child.stdout.readline():
        pass
    time.sleep(1)  # it looks at the file ten times a second
    attach(0, child.pid)
    time.sleep(2)  # and needs a moment to see that it was touched, longer on a busy machine
    child.send_signal(signal.SIGINT)
    out, err = child.communicate()
    that(child.returncode == 5 and sorted(os.listdir("attached")) == ["001"] and [row["count"] for row in rows("attached/001", "kernels")] == ["4"],
         f"strata attach: exit code {child.returncode}: {out}{err}")
    answer = json.loads(subprocess.run([str(program), "explain", "attached/001", "--json"], env=environment, stdout=subprocess.PIPE).stdout)
    that(" --idle --steps own active=2 counters=findings -- " in answer["next"][0], f"the next command after strata attach: {answer['next']}")
else:
    print("LEFT OUT: recordings, which need the stand-ins of the ring fake")

# Python: ranges and steps by python/strata.py, which does nothing where the library is not loaded.
pathlib.Path("marked.py").write_text('''
import strata, sys
from strata import *  # leaves Python's range as it is

@strata.range("sample")
def sample(value):
    return value + 1

for number in range(6):
    with strata.step():
        with strata.range("block", number), strata.range("Grüße"):
            assert sample(number) == number + 1
            sum(range(200_000))  # most of the time, on a busy machine too
        try:
            with strata.range("raises"):
                raise KeyError(number)
        except KeyError:
            pass
        with strata.step():  # within one it is none
            pass
for index, error in ((1.0, TypeError), ("3", TypeError), (2**63, ValueError)):
    try:
        strata.range("block", index)
    except error as wrong:  # with the library and without
        assert repr(index) in str(wrong) and "part of the name" in str(wrong), wrong
    else:
        assert False, index
print(strata.is_loaded())
''', encoding="utf-8")
python = {**environment, "PYTHONPATH": str(root / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
alone = subprocess.run([sys.executable, "marked.py"], env=python, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
that((alone.returncode, alone.stdout, alone.stderr) == (0, "False\n", ""), f"without the library: {alone}")
shutil.rmtree("marked", ignore_errors=True)
done = ran(0, "--out", "marked", "host", "skip=2", "active=3", "--", sys.executable, "marked.py", env=python)
calls = {row["path"]: int(row["calls"]) for row in rows("marked", "ranges") if row["path"]}
expected = {f"block[{i}]{below}": 1 for i in (2, 3, 4) for below in ("", "/Grüße", "/Grüße/sample")}
that(done.stdout == "True\n" and calls == {**expected, "raises": 3}, f"by Python: {calls}\n{done.stdout}{done.stderr}")
shutil.rmtree("marked")
ran(0, "--out", "marked", "--steps", "block", "host", "--", sys.executable, "marked.py", env=python)
that(json.loads(pathlib.Path("marked/profile.json").read_text(encoding="utf-8"))["has_steps"], "no steps by --steps block")
shutil.rmtree("marked")
ran(0, "--out", "marked", "--steps", "bl*'k", "host", "--", sys.executable, "marked.py", env=python)
answer = json.loads(subprocess.run([str(program), "explain", "marked", "--json"], env=environment, stdout=subprocess.PIPE).stdout)
that(answer["next"][0]
     == f"strata run --out next --steps block -- {sys.executable} marked.py",
     f"the next command: {answer['next']}")
that(any("step=bl*'k: no range of that name began" in problem for problem in answer["problems"]), f"problems: {answer['problems']}")
# Tasks of asyncio take turns in a thread that has one stack of ranges.
pathlib.Path("tasks.py").write_text("""
import asyncio, concurrent.futures, strata

async def request(name, before, after):
    with strata.range(name):
        await before.wait()
        with strata.range("work"):
            pass
    after.set()

async def within(name):
    with strata.range(name):
        await asyncio.sleep(0)

def values():
    with strata.range("generator"):
        yield 1

@strata.range("recursion")
def recurse(depth):
    return depth and recurse(depth - 1)

async def main():
    first, second = asyncio.Event(), asyncio.Event()
    with strata.range("serve"):
        tasks = [asyncio.ensure_future(request(*words)) for words in (("short", first, second), ("long", second, asyncio.Event()))]
        await asyncio.sleep(0)  # both have begun, and short ends first
        first.set()
        await asyncio.gather(*tasks)
        await within("alone")
        await asyncio.gather(within("child"))
        await asyncio.get_running_loop().run_in_executor(None, recurse, 2)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(recurse, [1] * 8))
    one = values()
    next(one)
    with strata.range("caller"):
        list(one)
    with strata.range("after"):
        pass

asyncio.run(main())
""")
shutil.rmtree("tasks", ignore_errors=True)
done = ran(0, "--out", "tasks", "host", "--", sys.executable, "tasks.py", env=python)
calls = {row["path"]: int(row["calls"]) for row in rows("tasks", "ranges") if row["path"]}
recursion = {"recursion": 9, "recursion/recursion": 9, "recursion/recursion/recursion": 1}
that(calls == {"serve": 1, "serve/short": 1, "serve/short/work": 1, "serve/work": 1, "serve/alone": 1, "serve/child": 1, **recursion, "generator": 1,
               "generator/caller": 1, "after": 1}, f"tasks: {calls}")
that('strata: range "long" is left out, or ends early: "short" of another task or generator is open around it' in done.stderr
     and "strata: 2 ranges were left out, or ended early" in done.stderr, f"of tasks it says {done.stderr}")

# Children that multiprocessing forks record nothing: the first that has a range says so.
pathlib.Path("forks.py").write_text("""
import multiprocessing, strata

def work(number):
    with strata.range("child"), strata.range("inner"):
        return number

with strata.range("parent"), multiprocessing.get_context("fork").Pool(3) as pool:
    print(sum(pool.map(work, [1] * 30, 1)))
""", encoding="utf-8")
shutil.rmtree("marked")
done = ran(0, "--out", "marked", "host", "--", sys.executable, "forks.py", env=python)
that(done.stdout == "30\n" and done.stderr.count("strata: a forked child has ranges, which are not recorded: start it by exec") == 1
     and done.stderr.count("strata: wrote") == 1, f"forked children: {done.stdout}{done.stderr}")
that([row["path"] for row in rows("marked", "ranges") if row["path"]] == ["parent"], "forked children are recorded")
pathlib.Path("waits.py").write_text("import strata, time\nwith strata.range('a'): pass\ntime.sleep(4)\nwith strata.range('late'): pass\n")
for more, code in (((), 0), (("strict", "step=b"), 3)):  # strict: the exit code is the report's, though it came before
    shutil.rmtree("marked", ignore_errors=True)
    ran(code, "--out", "marked", "--for", "1s", "host", *more, "--", sys.executable, "waits.py", env=python)
    that([row["path"] for row in rows("marked", "ranges")][-1] == "a", "--for records what comes after its report")
# Ctrl-C: Python ends itself by the signal, after its own end.
pathlib.Path("loops.py").write_text("import strata, time\nwith strata.range('a'): pass\nprint('in the loop', flush=True)\ntime.sleep(3600)\n")
shutil.rmtree("marked")
child = subprocess.Popen([str(program), "run", "--out", "marked", "host", "--", sys.executable, "loops.py"], env=python, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, universal_newlines=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
child.stdout.readline()
child.send_signal(signal.SIGINT)
err = child.communicate()[1]
that(child.returncode == -signal.SIGINT and "KeyboardInterrupt" in err, f"Ctrl-C ends it by {child.returncode}: {err}")
that(pathlib.Path("marked/ranges.csv").exists() and [row["path"] for row in rows("marked", "ranges")][-1] == "a", f"Ctrl-C has no report: {err}")
injected = subprocess.run([sys.executable, "marked.py"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                          env={**python, "STRATA": "host,out=driven", "CUDA_INJECTION64_PATH": str(library)})
that(injected.stdout == "True\n" and "strata: wrote " in injected.stderr, f"a library that the driver would load: {injected}")

# The installed layout: bin/ and the folder of libraries, wherever they are moved.
shutil.rmtree("prefix", ignore_errors=True)
done = subprocess.run(["cmake", "--install", str(build), "--prefix", "prefix", "--component", "tools"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
os.rename("prefix", "moved")
installed = sorted(path.relative_to("moved").as_posix() for path in pathlib.Path("moved").rglob("*") if path.is_file())
libraries = [name for name in installed if name.endswith("/libstrata_inject.so")]
shared = ["share/man/man1/strata.1", "share/strata/python/strata.py",
          *(f"share/strata/schema/{path.name}" for path in (root / "docs/schema").iterdir())]
that(done.returncode == 0 and len(libraries) == 1 and libraries[0].startswith("lib") and installed == sorted(["bin/strata", *libraries, *shared]),
     f"installed: {installed}")
told = json.loads(ran(0, "--", sys.executable, "-S", "-c", show, by="moved/bin/strata").stdout or "{}")
that(told.get("LD_PRELOAD") == str((here / "moved" / libraries[0]).resolve()), f"the installed command takes {told.get('LD_PRELOAD')}")
if with_stand_ins:
    records("moved/bin/strata")

end("strata run")
