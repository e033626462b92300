"""examples/demo.sh and the commands that programs print: an install that fails says so, and each printed command runs as printed. The
demo runs beside stand-ins for cmake, apt-get and gpt2."""

import json
import os
import pathlib
import re
import shutil
import subprocess

from _script import build, end, environment, library, recordings, root, run, that

strata = build / "tools/strata"


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + text, encoding="utf-8")
    path.chmod(0o755)


here = pathlib.Path("demo").resolve()
shutil.rmtree(here, ignore_errors=True)
(here / "examples").mkdir(parents=True)
shutil.copy(root / "examples/demo.sh", here / "examples")
(here / "include/strata").mkdir(parents=True)
shutil.copy(root / "include/strata/version.hpp", here / "include/strata")
stubs = here / "stubs"
gpt2 = "build/examples/gpt2/gpt2"
script(stubs / "cmake", f"""
case "$*" in *strata_command*) echo "no rule to make target" >&2; exit 1 ;; esac
mkdir -p {os.path.dirname(gpt2)}
printf '#!/bin/sh\\n%s\\n' 'case "$*" in *--list*) echo $IMPLEMENTATIONS; exit ;; esac
out=strata-out/$2; mkdir -p $out; sleep 0.02; echo > $out/profile.json; echo > $out/profile.strata' > {gpt2}
sed -i 's/echo .IMPLEMENTATIONS/printf "%s\\\\n" $IMPLEMENTATIONS/' {gpt2}
chmod +x {gpt2}
""")
script(stubs / "id", "echo 0\n")
script(stubs / "nvidia-smi", 'case "$IMPLEMENTATIONS" in *fused*) ;; *) exit 9 ;; esac\n')
script(stubs / "no-cli11", "exit 1\n")
script(stubs / "apt-get", "case $1 in update) exit 0 ;; esac; echo Reading >&2; echo 'E: Unable to locate package libcli11-dev' >&2; exit 100\n")


def demo(implementations, *words):
    environment = {**os.environ, "PATH": f"{stubs}:{os.environ['PATH']}", "CXX": str(stubs / "no-cli11"), "IMPLEMENTATIONS": implementations}
    environment.pop("STRATA", None)
    done = subprocess.run(["bash", "examples/demo.sh", *words], cwd=here, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True)
    that(done.returncode == 0, f"{implementations} {words}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done


on_cpu = demo("cpu")
that("libcli11-dev was not installed: E: Unable to locate package libcli11-dev" in on_cpu.stderr, f"a failed install is silent: {on_cpu.stderr}")
that("minute to compile" in on_cpu.stdout.split("STRATA=")[0], "it does not say first how long it takes")
that(on_cpu.stdout.startswith("There is no GPU here"), f"the first line does not say that there is no GPU: {on_cpu.stdout}")
that("libcli11-dev" not in demo("cpu", "--no-install").stdout, "--no-install installs")
on_gpu = demo("fused eager cpu", "--no-install")
that(on_gpu.stdout.startswith("There is a GPU"), f"the first line does not say that there is a GPU: {on_gpu.stdout}")
for done, name in ((on_cpu, "cpu"), (on_gpu, "fused")):
    that(done.stdout.endswith(f"  build/tools/strata explain strata-out/{name}/profile.strata\n"), f"the demo does not end with its recording: {done.stdout}")
    that(done.stdout.count("--target strata_command") == 1, f"how to make the command is not said once: {done.stdout}")
script(stubs / "apt-get", "exit 0\n")
that("not installed" not in demo("cpu").stderr, "an install that went well is said to have failed")

# A command strata that is there already is used, and nothing is built for it; one of another version is not.
version = ".".join(re.findall(r"VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", (root / "include/strata/version.hpp").read_text(encoding="utf-8")))
for place, said, is_used in (("build/tools/strata", version, True), ("build/tools/strata", "0.0.1", False), ("stubs/strata", version, True)):
    script(here / place, f'case $1 in --version) echo "strata {said}" ;; *) echo "used $1" ;; esac\n')
    again = demo("fused eager cpu", "--no-install").stdout
    that(("used compare" in again) == is_used and ("is there already" in again) == is_used and ("to compile." in again) != is_used,
         f"{place} of {said}: {again}")
    that(("strata_command" in demo("cpu", "--no-install").stdout) != is_used, f"{place} of {said}: it is to be built")
    (here / place).unlink()

# What they print to be run, in the sources: with the command of this build, and folders of this test.
printed = sorted({line.strip() for line in (on_cpu.stdout + on_gpu.stdout).splitlines() if re.match(r"  (cmake|build/)", line)})
that(len(printed) == 7, f"the printed commands: {printed}")
if not strata.exists():
    print("LEFT OUT: commands of strata, which was not built")
for place in ("strata-out/eager", "strata-out/fused"):  # as the demo would leave them
    name = os.path.basename(place)
    shutil.copy(root / f"examples/compare/gpt2-{name}.json", here / place / "profile.json")
for name in ("cpu", "fused"):
    shutil.copy(root / "examples/report/gpt2-fused.strata", here / f"strata-out/{name}/profile.strata")
for line in printed:
    if line.startswith("cmake"):
        continue
    words = line.split()
    places = [str(root / word) if word.startswith("examples/") else word for word in words[1:]]
    if words[0] != "build/tools/strata" or not strata.exists():
        that(words[0] == "build/tools/strata", f"a command of nothing that is built: {line}")
        continue
    (here / "build").mkdir(exist_ok=True)
    done = subprocess.run([str(strata), *places], cwd=here, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    that(done.returncode in (0, 1, 3), f"{line}: exit code {done.returncode}\n{done.stdout}")  # 1 and 3 are verdicts

shutil.rmtree(here / "strata-out")  # what lies there is shorter than a profile

# The command that makes strata: also in a tree that was configured before CLI11 came.
cmake = [line for line in printed if line.startswith("cmake")]
that(len(cmake) == 1, f"commands of cmake: {cmake}")
tree = here / "tree"


def configured(*words):
    done = subprocess.run(["cmake", "-S", str(root), "-B", str(tree), "-DSTRATA_BUILD_EXAMPLES=OFF", *words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True)
    that(done.returncode == 0, f"cmake {words}: {done.stdout}")
    targets = subprocess.run(["cmake", "--build", str(tree), "--target", "help"], stdout=subprocess.PIPE, universal_newlines=True).stdout
    return "strata_command" in targets


# .deps may have it too.
if subprocess.run(["c++", f"-I{root}/.deps/cli11", "-x", "c++", "-E", "-"], input="#include <CLI/CLI.hpp>\n", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                  universal_newlines=True).returncode == 0:
    that(not configured(f"-DCMAKE_IGNORE_PATH=/usr/include;/usr/local/include;{root}/.deps/cli11"), "the command is built without CLI11")
    that(configured("-DCMAKE_IGNORE_PATH="), "the command is not built once CLI11 has come")
    that(not configured("-DSTRATA_BUILD_TOOLS=OFF"), "who chose OFF gets the command")
    that(not configured(), "the choice is forgotten")
    that(cmake and configured(*re.findall(r"-D\S+", cmake[0])), f"{cmake}: there is no such target")
else:
    print("LEFT OUT: a tree in which CLI11 comes later, which needs CLI11")

# Commands in the messages of the library and of the command: the subcommand and its options are there.
if strata.exists():
    helps = {}
    for source in [*(root / "include/strata").rglob("*.hpp"), *(root / "src").rglob("*.hpp"), *(root / "tools").glob("*.cpp"), *(root / "python").glob("*.py")]:
        text = re.sub(r'"\s*"', "", source.read_text(encoding="utf-8"))  # literals that follow each other are one
        for command in re.findall(r'\bstrata ((?:run|report|explain|compare|ranks|trace|attach|metrics|ledger|ceilings|help)\b[^"`\'\n]*)', text):
            name = command.split()[0]
            if name not in helps:
                done = subprocess.run([str(strata), name, "--help"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
                helps[name] = done.stdout
                that(done.returncode == 0, f"{source.name}: strata {name}: {done.stdout}")
            own = re.split(" -- |[:;,]", command)[0]
            for option in re.findall(r"(?<= )--[a-z][a-z-]*", own):
                that(option in helps[name], f"{source.name}: strata {name} has no {option}: {command}")
    that(len(helps) > 4, f"few commands were found: {sorted(helps)}")

# Each whole command among them, of the examples in the help, and of the answers of all recordings runs, beside stand-ins for programs.
if strata.exists():
    stage = here / "stage"
    for folder in ("strata-out", "run", "live-out", "traced-out"):
        (stage / folder).mkdir(parents=True)
        shutil.copy(root / "examples/report/gpt2-fused.strata", stage / folder / "profile.strata")
    shutil.copy(root / "examples/report/gpt2-fused.strata", stage / "profile.strata")
    (stage / "bin").mkdir()
    (stage / "bin/strata").symlink_to(strata)
    for name in ("bin/python3", "server", "gpt2", "llama-completion"):
        script(stage / name, "sleep 0.1\n")
    environment.update({"PATH": f"{stage}/bin:{os.environ['PATH']}", "XDG_CACHE_HOME": str(stage / "cache")})  # no roofs of the user's
    needs = {
        r"strata report live-out --map": "a recording of live, which takes a GPU",
        r"strata ranks run": "the recordings of several ranks: check_ranks makes them",
        r"strata metrics$": "a GPU",
        r"strata attach": "a process of strata run --idle: check_run begins one",
    }
    if not library.exists():
        needs[r".*strata run "] = "libstrata_inject.so, which was not built"
    commands = {"strata metrics H200", "strata metrics"}
    for name in helps:
        commands.update(line.split("  ")[0] for line in re.findall(r"^  ((?:strata) .*?) *(?:#.*)?$", helps[name], re.M))
    for file in recordings:
        commands.update(json.loads(run(strata, "explain", file, "--format", "json").stdout)["next"])
    that(len(commands) > 25, f"few commands are printed: {sorted(commands)}")
    for line in sorted(commands):
        why = [needs[each] for each in needs if re.match(each, line)]
        if why:
            print(f"LEFT OUT: {line}: it needs {why[0]}")
            continue
        done = run("bash", "-c", line, cwd=stage, timeout=300)
        that(done.returncode in (0, 1, 3), f"{line}: exit code {done.returncode}\n{done.stdout[-500:]}{done.stderr}")  # 1 and 3 are verdicts

end("the demo")
