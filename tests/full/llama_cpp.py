#!/usr/bin/env python3
"""The adapter for ggml in a real llama.cpp: builds it with the CPU backend, makes a model, runs the example in each mode.

    python3 tests/full/llama_cpp.py [--work FOLDER]

The sources are those inside the PyPI source package of llama-cpp-python, fetched with pip, or the tree that
STRATA_LLAMA_CPP names. FOLDER (build/llama_cpp) is kept, so a second run only builds what changed. Ten minutes on two
cores. The exit code is 77 where the sources cannot be had or a tool is missing.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

VERSION = "0.3.36"
ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "llama_cpp"
failures = []


def skip(why):
    print("SKIPPED:", " ".join(why.split()))
    sys.exit(77)


def environment(**more):
    return {**{k: v for k, v in os.environ.items() if not k.startswith("STRATA")}, **more}


def must(arguments, log, **options):
    """Runs a command whose output only matters when it fails."""
    with open(log, "w") as file:
        code = subprocess.run([str(a) for a in arguments], stdout=file, stderr=subprocess.STDOUT, **options).returncode
    if code != 0:
        tail = "\n".join(pathlib.Path(log).read_text(errors="replace").splitlines()[-60:])
        sys.exit(f"{' '.join(map(str, arguments))} failed with {code}:\n{tail}")


def sources(work):
    named = os.environ.get("STRATA_LLAMA_CPP")
    if named:
        tree = pathlib.Path(named).resolve()
        if not (tree / "include" / "llama.h").exists():
            sys.exit(f"STRATA_LLAMA_CPP names {tree}, which has no include/llama.h")
        return tree
    package = f"llama_cpp_python-{VERSION}"
    tree = work / package / "vendor" / "llama.cpp"
    if (tree / "include" / "llama.h").exists():
        return tree
    fetched = work / "download"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", fetched,
               f"llama-cpp-python=={VERSION}"]
    if not list(fetched.glob(package + ".tar.gz")):
        # To name what it fetched, pip asks the package's build system, which it fetches too.
        done = subprocess.run([str(a) for a in command], capture_output=True, text=True)
        if done.returncode != 0:
            skip("pip could not fetch llama-cpp-python; set STRATA_LLAMA_CPP to a source tree of llama.cpp\n" +
                 done.stderr[-1000:])
    with tarfile.open(next(fetched.glob(package + ".tar.gz"))) as archive:
        inside = [m for m in archive.getmembers() if m.name.startswith(f"{package}/vendor/llama.cpp/")
                  and ".." not in m.name and (m.isfile() or m.isdir())]
        archive.extractall(work, inside)
    return tree


def build(tree, work):
    folder = work / "build"
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    must(["cmake", "-S", EXAMPLE, "-B", folder, *generator, f"-DLLAMA_CPP_DIR={tree}", "-DCMAKE_BUILD_TYPE=Release",
          "-DGGML_NATIVE=OFF", "-DGGML_OPENMP=OFF"], work / "configure.log")
    must(["cmake", "--build", folder, "--target", "llama_strata", "-j", os.cpu_count() or 2], work / "build.log")
    return next(p for p in (folder / "llama_strata", folder / "bin" / "llama_strata") if p.exists())


def run(program, model, mode, strata, *more):
    env = environment(**({"STRATA": strata} if strata else {}))
    done = subprocess.run([program, model, "--mode", mode, *more], env=env, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        sys.exit(f"llama_strata --mode {mode} failed with {done.returncode}:\n{done.stdout}{done.stderr}")
    if not strata and done.stderr:
        failures.append(f"{mode}: printed without STRATA: {done.stderr}")
    return re.search(r"^tokens:.*$", done.stdout, re.M).group(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "llama_cpp")
    work = parser.parse_args().work.resolve()
    for tool in ("cmake", "g++"):
        if not shutil.which(tool):
            skip(f"no {tool}")
    work.mkdir(parents=True, exist_ok=True)
    tree = sources(work)
    program = build(tree, work)

    # Large enough that a decode's time is the graph's, not llama.cpp's own before and after it. That is about 0.1 ms, which
    # in the 2 ms of the experts' decode was 6 % (coarse) and 2.5 % (per-op): 10 % are allowed there.
    bounds = {"dense": 5, "experts": 10, "q4_k_m": 10, "q4_k_m of experts": 10}
    layers = 6
    models = {"dense": ["--layers", layers, "--width", 1024, "--heads", 16],
              "experts": ["--layers", layers, "--width", 1024, "--heads", 16, "--experts", 4],
              "q4_k_m": ["--layers", layers, "--width", 1024, "--heads", 16, "--kv-heads", 4, "--ffn", 2816, "--types", "q4_k_m"]}
    models["q4_k_m of experts"] = [*models["q4_k_m"], "--experts", 4, "--vocabulary", 4000]
    for kind, shape in models.items():
        model = work / f"{kind}.gguf"
        must([sys.executable, "-B", EXAMPLE / "make_gguf.py", model, *shape], work / "make_gguf.log")
        size = ["--prompt", "48", "--decode", "24"]
        tokens = run(program, model, "none", "", *size)
        print(f"{kind}: {len(tokens.split()) - 1} tokens", flush=True)
        for mode in ("coarse", "per-op", "none"):
            out = work / f"{kind}-{mode}"
            shutil.rmtree(out, ignore_errors=True)
            what = f"{kind}, {mode}"
            if run(program, model, mode, "", *size) != tokens:
                failures.append(f"{what}: other tokens with the callback, without a session")
            if run(program, model, mode, f"host,out={out},formats=csv+json+trace", *size) != tokens:
                failures.append(f"{what}: other tokens with a session")
            print(f"-- {what}", flush=True)
            check = [sys.executable, "-B", EXAMPLE / "check.py", out, "--mode", mode, "--layers", layers,
                     "--bound", bounds[kind]]
            if subprocess.run([str(a) for a in check]).returncode != 0:
                failures.append(f"{what}: check.py")
    for text in failures:
        print("FAILED", text)
    print("failed" if failures else "all passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
