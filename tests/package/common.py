"""What the checks share: where things are, running compilers in parallel, and the account at the end."""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
INCLUDE = ROOT / "include"
TREE = INCLUDE / "strata"
IMPLEMENTATION = TREE / "implementation.cpp"  # all bodies: what a program compiles once, and dear
TREE_OF_TESTS = pathlib.Path(os.environ.get("STRATA_TEST_BUILD_DIR") or "no tree")
FULL = os.environ.get("STRATA_TEST_FULL") == "1"
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wpedantic", "-Werror"]
MODES = {"on": "-DSTRATA_ENABLED=1", "off": "-DSTRATA_ENABLED=0"}
BY_GXX = r"^CMAKE_CXX_COMPILER:\w+=\S*\bg\+\+$"  # in the cache of a build tree
INCLUDE_LINE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


def headers():
    """All headers as <strata/...> names."""
    found = sorted(p for p in TREE.rglob("*") if p.suffix in (".h", ".hpp"))
    return [p.relative_to(INCLUDE).as_posix() for p in found]


def includes_of(name):
    """The (quote, name) of every #include line of a header."""
    return INCLUDE_LINE.findall((INCLUDE / name).read_text())


def system_includes():
    """Every header outside Strata that the tree names, guarded: some exist on other systems only."""
    names = sorted({n for h in headers() for q, n in includes_of(h) if not n.startswith("strata/")})
    return "".join(f"#if __has_include(<{n}>)\n#include <{n}>\n#endif\n" for n in names)


def cuda_include():
    """The toolkit's include folder, or that of NVTX alone, or None."""
    bases = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    for folder in [os.environ.get("STRATA_TEST_NVTX"), *(f"{base}/include" for base in bases if base)]:
        if folder and pathlib.Path(folder, "nvtx3", "nvToolsExt.h").exists():
            return pathlib.Path(folder)
    return None


def needs_nvtx(name):
    """nvtx.hpp is the one header that may need the toolkit's."""
    return name == "strata/nvtx.hpp"


def in_mode(names, mode):
    """Headers called off*.hpp hold the twins of what off mode leaves out; in on mode they would be second definitions."""
    return [n for n in names if mode == "off" or not n.rsplit("/", 1)[-1].startswith("off")]


def nvcc():
    """The toolkit's nvcc, or None."""
    return shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")


def compilers():
    return [c for c in ("g++", "clang++") if shutil.which(c)]


def tree_has(pattern):
    """Whether a line of the cache of the build tree that runs this test matches."""
    cache = TREE_OF_TESTS / "CMakeCache.txt"
    return cache.exists() and re.search(pattern, cache.read_text(), re.M)


def skip(reason):
    print("SKIPPED:", reason)
    sys.exit(77)


def left_out(what, reason):
    """A part of a check that this machine cannot do; tests/run.sh names it at its end."""
    print(f"LEFT OUT: {what}: {reason}")


def clean_environment(**extra):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("STRATA", "NVTX_"))}
    env.update(extra)
    return env


def run(argv, stdin=None, cwd=None, env=None):
    return subprocess.run([str(a) for a in argv], input=stdin, cwd=cwd, env=env or clean_environment(),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)


class Checks:
    def __init__(self):
        self.done = 0
        self.failed = []

    def that(self, ok, name, detail=""):
        self.done += 1
        if not ok:
            self.failed.append(name)
            print(f"FAILED {name}\n{detail}".rstrip(), flush=True)
        return ok

    def succeeds(self, name, argv, **options):
        result = run(argv, **options)
        text = (result.stdout + result.stderr).splitlines()
        if len(text) > 40:
            text = text[:40] + [f"... and {len(text) - 40} more lines"]
        command = " ".join(str(a) for a in argv)
        self.that(result.returncode == 0, name,
                  f"  {command}\n  exit code {result.returncode}\n" + "\n".join("  " + t for t in text))
        return result

    def runs_silently(self, name, program):
        result = run([program])
        self.that(result.returncode == 0 and not result.stdout + result.stderr, name,
                  f"  exit code {result.returncode}\n{result.stdout}{result.stderr}")

    def bodies(self):
        """bodies.o: the implementation by g++, visible and position-independent, of the build tree where that has one."""
        output = pathlib.Path("bodies.o").absolute()
        if not output.exists():
            archive = TREE_OF_TESTS / "libstrata_implementation.a"
            if archive.exists() and tree_has(BY_GXX):
                output.write_bytes(subprocess.run(["ar", "p", archive], check=True, stdout=subprocess.PIPE).stdout)
            else:
                self.succeeds(output.name, ["g++", "-O0", "-fPIC", "-std=c++17", f"-I{INCLUDE}", "-c", IMPLEMENTATION, "-o", output])
        return output.name

    def reports(self, sources):
        """What links the reports by g++: the library of the build tree where that has one, else a unit of these sources and flags."""
        library = TREE_OF_TESTS / "libstrata_reports.a"
        if library.exists() and tree_has(BY_GXX):
            return ["-Wl,-u,strata_reports", library]
        self.succeeds("reports.o", ["g++", "-std=c++17", "-c", *sources, "-o", "reports.o"])
        return ["reports.o"]

    def all_succeed(self, jobs, **options):
        """jobs: (name, argv, stdin) each; as many at a time as there are cores."""
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
            return list(pool.map(lambda j: self.succeeds(j[0], j[1], stdin=j[2], **options), jobs))

    def end(self):
        print(f"{self.done - len(self.failed)} of {self.done} checks passed")
        for name in self.failed:
            print("  failed:", name)
        return 1 if self.failed or not self.done else 0
