#!/usr/bin/env bash
# Builds and runs the tests that this machine can run.
#
#   tests/run.sh               the rings unit, fake, package, host and gpu
#   tests/run.sh --quick       the rings unit and fake, not optimised, without examples and command: about two minutes on two idle cores
#   tests/run.sh --sanitize    and the ring toolchains (the headers optimised, under LTO and fast math, by clang++ and nvcc, by
#                              Meson and make, and for other systems; beside unit, the pages in Chromium and Firefox, and
#                              how the work of reports grows); the ring readers (what other people open traces with; 300 MB in build);
#                              unit and fake again, but for their scripts, under ASan+UBSan and under TSan (of the unit
#                              tests those that make threads), and under ASan+UBSan each fuzz target with the same inputs
#                              each time: what continuous integration runs, about 26 minutes on two idle cores
#   tests/run.sh --full        and the rings toolchains and readers, the long parts, and whether the tests see careless faults (tests/mutants)
#   tests/run.sh --rings LIST  only these rings, for example unit,gpu
#   tests/run.sh --no-install  installs and downloads nothing; tests that need what is missing are skipped
#
# Missing Debian packages are installed when root, and some tools of tests are downloaded from PyPI into build; it names
# them before. Otherwise the command is printed, and the script fails. doctest and nlohmann/json may also lie
# in .deps/doctest, or where STRATA_DOCTEST_INCLUDE says; CLI11 in .deps/cli11.
# It says at the start what it will do and about how long that takes, then how far it is; all output is in build/logs.
# At the end it says why a test was skipped. The last line is "N passed, N failed, N skipped". The script fails when a
# test failed, when a build failed, and when a ring that should have run here did not.
set -u -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
root=$PWD
jobs=$(nproc 2>/dev/null || echo 2)

sanitize=0
full=0
quick=0
install=1
rings=unit,fake,package,host,gpu
chosen=0
while [ $# -gt 0 ]; do
  case $1 in
    --sanitize) sanitize=1 ;;
    --full) full=1 ;;
    --quick) rings=unit,fake; quick=1; chosen=1 ;;
    --no-install) install=0 ;;
    --rings) rings=${2:-}; chosen=1; shift ;;
    -h|--help) sed -n '2,21s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "tests/run.sh: unknown argument $1 (try --help)" >&2; exit 2 ;;
  esac
  shift
done
if ! [[ $rings =~ ^(unit|fake|package|toolchains|readers|host|gpu)(,(unit|fake|package|toolchains|readers|host|gpu))*$ ]]; then
  echo "tests/run.sh: --rings \"$rings\": some of unit,fake,package,toolchains,readers,host,gpu are needed, with commas between them" >&2
  exit 2
fi
if [ $((sanitize + full)) != 0 ] && [ $chosen = 0 ]; then rings=$rings,toolchains,readers; fi
has_ring() { case ",$rings," in *",$1,"*) true ;; *) false ;; esac; }

# The tests decide what is profiled, not the shell they run from.
doctest_include=${STRATA_DOCTEST_INCLUDE:-}
libcupti=${STRATA_TEST_CUPTI:-}
nvtx_include=${STRATA_TEST_NVTX:-}
for name in $(compgen -e STRATA) NVTX_INJECTION64_PATH; do unset "$name"; done
STRATA_TEST_CUPTI=$libcupti
STRATA_TEST_NVTX=$nvtx_include
if [ $full = 1 ]; then export STRATA_TEST_FULL=1; fi
if [ -n "$doctest_include" ]; then
  doctest_include=$(realpath "$doctest_include") || exit 1
elif [ -f .deps/doctest/doctest/doctest.h ]; then
  doctest_include=$root/.deps/doctest
fi

# ---- what is needed -------------------------------------------------------------------------------------------------
missing() {
  have() { command -v "$1" >/dev/null 2>&1; }
  header() {
    [ -n "$doctest_include" ] && [ -f "$doctest_include/$1" ] && return
    [ -f "/usr/include/$1" ] || [ -f "/usr/local/include/$1" ]
  }
  have g++ || echo g++
  have cmake || echo cmake
  have python3 || echo python3
  header doctest/doctest.h || echo doctest-dev
  header nlohmann/json.hpp || echo nlohmann-json3-dev
  [ $quick = 1 ] || header CLI/CLI.hpp || [ -f .deps/cli11/CLI/CLI.hpp ] || echo libcli11-dev
  have ninja || have make || echo ninja-build
  if has_ring package || has_ring toolchains; then
    have ninja || echo ninja-build
    have make || echo make
    have meson || echo meson
    have pkg-config || echo pkg-config
  fi
}
has_sanitizers() { [ -f "$(clang++ -print-file-name="libclang_rt.asan-$(uname -m).a" 2>/dev/null)" ]; }
optional() {  # tests that need these are skipped, and say so, where they cannot be had
  if has_ring unit && [ $quick = 0 ]; then
    command -v node >/dev/null 2>&1 || command -v nodejs >/dev/null 2>&1 || echo nodejs
  fi
  if has_ring readers; then
    command -v node >/dev/null 2>&1 || command -v nodejs >/dev/null 2>&1 || echo nodejs
    python3 -m pip --version >/dev/null 2>&1 || echo python3-pip
  fi
  if [ $sanitize = 1 ]; then
    command -v clang++ >/dev/null 2>&1 || echo clang
    has_sanitizers || echo libclang-rt-dev
    command -v ld.lld >/dev/null 2>&1 || echo lld
  fi
  if has_ring package || has_ring toolchains; then
    command -v clang++ >/dev/null 2>&1 || echo clang
  fi
  if has_ring package; then
    command -v clang-format >/dev/null 2>&1 || echo clang-format
    command -v eslint >/dev/null 2>&1 || echo eslint
    [ -f /usr/local/cuda/include/cupti.h ] || python3 -m pip --version >/dev/null 2>&1 || echo python3-pip
  fi
  if has_ring toolchains; then
    ! has_ring unit || command -v chromium >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1 || echo chromium
    ! has_ring unit || command -v firefox-esr >/dev/null 2>&1 || command -v firefox >/dev/null 2>&1 || echo firefox-esr
    command -v aarch64-linux-gnu-g++ >/dev/null 2>&1 || echo g++-aarch64-linux-gnu
    command -v qemu-aarch64 >/dev/null 2>&1 || echo qemu-user
    python3 -m pip --version >/dev/null 2>&1 || echo python3-pip
  fi
}
required=$(missing | sort -u)
wanted=$(optional | sort -u)
# No build needs these: they are installed beside the first one.
later=$(grep -xE 'chromium|clang-format|eslint|firefox-esr|g\+\+-aarch64-linux-gnu|nodejs|qemu-user' <<<"$wanted")
wanted=$(grep -vxF "${later:-none}" <<<"$wanted")
downloads=()  # what runs meanwhile, until the first tests
if [ -n "$required$wanted$later" ] && [ $install = 1 ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  export DEBIAN_FRONTEND=noninteractive
  echo "These Debian packages are missing and are installed now, as root (--no-install refuses):" $required $wanted $later
  apt-get update -qq >/dev/null 2>&1 || echo "apt-get update failed; trying with the lists that are there"
  install_packages() {
    [ $# = 0 ] || apt-get install -y -qq --no-install-recommends "$@" >/dev/null || echo "apt-get could not install:" "$@"
  }
  install_packages $required
  install_packages $wanted
  if [ -n "$later" ]; then
    install_packages $later &
    downloads+=("$!")
  fi
  required=$(missing | sort -u)
fi
if [ -n "$required" ]; then
  echo "tests/run.sh: these packages are missing; install them with" >&2
  echo "  apt-get update && apt-get install -y --no-install-recommends" $required >&2
  exit 1
fi

# ---- building and running -------------------------------------------------------------------------------------------
generator=()
if command -v ninja >/dev/null 2>&1; then generator=(-G Ninja); fi
logs=$root/build/logs
mkdir -p "$logs"
problems=()
builds=()

# configure NAME ARGUMENTS...: build/NAME, and remembers it in `planned`.
planned=()
together=(-DSTRATA_TEST_TOGETHER=ON)
if [ $full = 1 ]; then together=(-DCMAKE_UNITY_BUILD=OFF); fi  # each file has the includes that it needs
configure() {
  local name=$1
  shift
  local out=$logs/$name
  rm -f "$out".*
  if ! cmake -B "build/$name" "${generator[@]}" -DSTRATA_BUILD_TESTS=ON "${together[@]}" \
      -DSTRATA_DOCTEST_INCLUDE="$doctest_include" "${nvtx[@]}" "$@" \
      >"$out.configure" 2>&1; then
    cat "$out.configure"
    problems+=("$name: configure failed")
    return
  fi
  planned+=("$name")
}

# build NAME: builds what was configured.
build() {
  local name=$1
  local out=$logs/$name
  # -k: one file that does not compile takes only its own tests with it.
  local keep=(-k)
  [ ${#generator[@]} = 0 ] || keep=(-k 0)
  if ! python3 -B tests/progress.py run building "$name" "$jobs" "$out.build" \
      cmake --build "build/$name" -j "$jobs" -- "${keep[@]}"; then
    grep -E -A20 'error|FAILED|undefined reference' "$out.build" | head -200
    return 1
  fi
}

# check NAME: runs the tests of what was built. $runner goes before ctest, which runs $at_once tests at a time.
runner=()
at_once=$((jobs + 3))  # about three wait, for a GPU that hangs or a browser
check() {
  local name=$1
  local out=$logs/$name
  builds+=("$name")
  python3 -B tests/progress.py run testing "$name" "$jobs" "$out.ctest" \
    "${runner[@]}" ctest --test-dir "build/$name" -j "$at_once" --output-on-failure --no-tests=error \
    --test-output-size-passed 1000000 --test-output-size-failed 1000000 --output-junit "$out.xml" ||
    problems+=("$name: ctest failed")
}

device=0
if python3 - <<'PY' 2>/dev/null; then device=1; fi
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
count = ctypes.c_int(0)
sys.exit(0 if cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0 else 1)
PY
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
cuda=()
if [ -n "$nvcc" ]; then
  export CUDACXX=$nvcc
  # native: CMake 3.24
  if [ $device = 1 ] && cmake --help-property CUDA_ARCHITECTURES | grep native >/dev/null; then
    cuda=(-DCMAKE_CUDA_ARCHITECTURES=native)
  fi
fi

# from_pypi WHAT: whether it may be downloaded; says so before.
from_pypi() {
  [ $install = 1 ] || return 1
  echo "downloading $1 from PyPI into build (--no-install refuses)"
}

# wheel NAME VERSION: the files of a package of PyPI, in build/NAME.
wheel() {
  local folder=$root/build/$1
  [ -d "$folder/nvidia" ] ||
    { from_pypi "$2" && python3 -m pip download --quiet --no-deps --only-binary=:all: --timeout=15 --retries=1 -d "$folder" "$2" &&
      python3 -m zipfile -e "$folder"/*.whl "$folder" && rm -f "$folder"/*.whl; }
}

# The host ring needs a libcupti, which PyPI has too: 13.0, since 13.2 and later want a driver even for names.
cupti=()
if has_ring host && [ -z "${STRATA_TEST_CUPTI:-}" ] && ! ls /usr/local/cuda*/lib64/libcupti.so* \
    /usr/local/cuda*/extras/CUPTI/lib64/libcupti.so* >/dev/null 2>&1; then
  wheel cupti 'nvidia-cuda-cupti==13.0.*'
  STRATA_TEST_CUPTI=$(find "$root/build/cupti" -name 'libcupti.so*' 2>/dev/null | head -1)
fi
if [ -n "${STRATA_TEST_CUPTI:-}" ]; then cupti=("-DSTRATA_TEST_CUPTI=$STRATA_TEST_CUPTI"); fi
# The table of all chips: of the newest, which knows the newest of them, of the oldest, and of two between. 13.1 alone tells
# without a driver which counters are of the whole device.
if has_ring host; then
  versions=()
  for package in nvidia-cuda-cupti-cu12==12.6.80 nvidia-cuda-cupti-cu12==12.9.79 nvidia-cuda-cupti==13.1.115 \
      nvidia-cuda-cupti==13.5.25; do
    folder=cupti-${package##*==}
    wheel "$folder" "$package" && versions+=("$(find "$root/build/$folder" -name 'libcupti.so*' | head -1)")
  done
  [ ${#versions[@]} = 0 ] || cupti+=("-DSTRATA_TEST_CUPTI_VERSIONS=$(IFS=';'; echo "${versions[*]}")")
fi

# What compiles the kernels of strata ceilings for devices that are not here.
if has_ring host && [ ! -x /usr/local/cuda/bin/ptxas ] && wheel ptxas 'nvidia-cuda-nvcc==13.0.88'; then
  ptxas=$(find "$root/build/ptxas" -name ptxas -type f | head -1)
  chmod +x "$ptxas"
  cupti+=("-DSTRATA_TEST_PTXAS=$ptxas")
  export STRATA_TEST_PTXAS=$ptxas
fi
# What shows their instructions. 13.2 is its first wheel.
if has_ring host && ! command -v nvdisasm >/dev/null 2>&1 && [ ! -x /usr/local/cuda/bin/nvdisasm ] &&
    wheel nvdisasm 'nvidia-cuda-nvdisasm==13.2.51'; then
  STRATA_TEST_NVDISASM=$(find "$root/build/nvdisasm" -name nvdisasm -type f | head -1)
  chmod +x "$STRATA_TEST_NVDISASM"
  export STRATA_TEST_NVDISASM
fi

# The same for NVTX's headers, which some tests are beside.
nvtx=()
if { has_ring package || has_ring toolchains; } && [ -z "$STRATA_TEST_NVTX" ] && ! ls /usr/local/cuda/include/nvtx3/nvToolsExt.h \
    "${CUDA_HOME:-/usr}/include/nvtx3/nvToolsExt.h" >/dev/null 2>&1; then
  wheel nvtx 'nvidia-nvtx==13.0.*'
  STRATA_TEST_NVTX=$(dirname "$(dirname "$(find "$root/build/nvtx" -name nvToolsExt.h 2>/dev/null | head -1)")")
  [ -d "$STRATA_TEST_NVTX/nvtx3" ] || STRATA_TEST_NVTX=
fi
if [ -n "$STRATA_TEST_NVTX" ]; then
  export STRATA_TEST_NVTX
  nvtx=("-DCMAKE_INCLUDE_PATH=$STRATA_TEST_NVTX")
fi

# Without optimisation clang++ takes half of the time of g++. Beside the sanitizers, which clang++ compiles, g++ compiles the
# tests, and the implementation that most of them use is optimised and hardened as distributions do it, with all warnings
# (toolchains.implementations); what runs on a device is always optimised.
compiler=g++
optimised=(-DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" -DSTRATA_TEST_FLAGS=-O0
  "-DSTRATA_TEST_IMPLEMENTATION_FLAGS=-O2;-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3;-D_GLIBCXX_ASSERTIONS;-fstack-protector-strong;-Wconversion;-Wshadow;-Wpedantic;-Werror")
if [ $((sanitize + full + device)) = 0 ]; then
  optimised=(-DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="-O0 -g1")
  ! command -v clang++ >/dev/null 2>&1 || compiler=clang++
fi
by=()  # the compiler of CXX is CMake's own choice
if [ -z "${CXX:-}" ]; then
  by=(-DCMAKE_CXX_COMPILER=$compiler)
  for cache in build/tests/CMakeCache.txt build/quick/CMakeCache.txt; do  # CMake forgets what else it was told where the compiler changes
    grep -q "^CMAKE_CXX_COMPILER:[A-Z]*=\(.*/\)\?$compiler\$" $cache 2>/dev/null || rm -f $cache
  done
fi
if [ $quick = 1 ]; then
  configure quick "${by[@]}" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 \
    -DSTRATA_TEST_RINGS="unit;fake" -DSTRATA_BUILD_EXAMPLES=OFF -DSTRATA_BUILD_TOOLS=OFF
else
  built=$rings
  # Tests of a device are built where there is one, with --full, and where nothing else is asked for.
  if [ $device = 0 ] && [ $full = 0 ] && [ "$rings" != gpu ]; then built=${rings//gpu/}; fi
  configure tests "${by[@]}" "${optimised[@]}" -DSTRATA_TEST_RINGS="${built//,/;}" "${cuda[@]}" "${cupti[@]}"
fi
if [ $sanitize = 1 ]; then
  sanitizing=g++
  if has_sanitizers; then sanitizing=clang++; fi  # it takes half of the time of g++
  linked=()  # LLD takes a third of the time of GNU ld, which links the other tests
  if [ $sanitizing = clang++ ] && command -v ld.lld >/dev/null 2>&1; then
    linked=(-DCMAKE_{EXE,MODULE,SHARED}_LINKER_FLAGS=-fuse-ld=lld)
  fi
  configure asan --preset asan -DCMAKE_CXX_COMPILER=$sanitizing "${linked[@]}" -DSTRATA_FUZZ_TIMES=$((full ? 5 : 1))
  configure tsan --preset tsan -DCMAKE_CXX_COMPILER=$sanitizing "${linked[@]}"
fi
[ ${#planned[@]} = 0 ] || python3 -B tests/progress.py plan "$jobs" "${planned[@]}"

# pip_install FOLDER WHAT...: packages for tests, in build/FOLDER while the first tree is built. No bytecode is compiled: all of
# it takes longer than what is used.
pip_install() {
  python3 -m pip install --quiet --no-compile --timeout=15 --retries=1 --root-user-action=ignore --target "$root/build/$1" "${@:2}" &
  downloads+=("$!")
}

# What other people open traces with; without it the ring is skipped.
if has_ring readers && [ ! -d "$root/build/readers/hta" ] && from_pypi "the readers of traces"; then
  pip_install readers --no-deps -r tests/readers/requirements.txt
fi

# What validates the JSON files by their schemas; without it that script is skipped.
if has_ring unit && [ $quick = 0 ] && ! python3 -c 'import jsonschema' 2>/dev/null; then
  [ -d "$root/build/jsonschema/jsonschema" ] || ! from_pypi jsonschema || pip_install jsonschema 'jsonschema==4.*'
fi

# What reads gauges as Prometheus does; without it that script is skipped.
if has_ring unit && [ $quick = 0 ] && ! python3 -c 'import prometheus_client' 2>/dev/null; then
  [ -d "$root/build/fleet/prometheus_client" ] || ! from_pypi prometheus-client || pip_install fleet 'prometheus-client==0.*'
fi

# What checks pages for people who do not see them or have no mouse; without it that part is left out.
if has_ring toolchains && has_ring unit && [ ! -d "$root/build/axe/axe_playwright_python" ] && from_pypi axe-playwright-python; then
  pip_install axe --no-deps 'axe-playwright-python==0.1.*'
fi

# A recent clang that compiles for other systems; without it that part is left out.
if has_ring toolchains && [ ! -d "$root/build/zig/ziglang" ] && from_pypi ziglang; then
  pip_install zig --no-deps 'ziglang==0.17.*'
fi

# Tests wait much of their time: meanwhile the next tree is built, at a lower priority. With --full the first tree has a
# measurement, which is made alone.
ahead=
for number in "${!planned[@]}"; do
  name=${planned[number]}
  next=${planned[number + 1]:-}
  if [ -n "$ahead" ]; then wait "$ahead"; else build "$name"; fi ||
    problems+=("$name: build failed (all of it: build/logs/$name.build)")
  ahead=
  if [ -n "$next" ] && [ "$number-$full" != 0-1 ]; then
    (renice -n 19 -p "$BASHPID" >/dev/null; build "$next") &
    ahead=$!
  fi
  if [ "$name" = tsan ]; then
    at_once=$((jobs * 5 / 2))  # a program that ends beside other threads sleeps for a second, to see their races
    # Some kernels randomise addresses further than TSan can follow.
    echo 'int main() {}' >"$logs/probe.cpp"
    if $sanitizing -fsanitize=thread "$logs/probe.cpp" -o "$logs/probe" && ! "$logs/probe" 2>/dev/null; then
      if setarch "$(uname -m)" -R "$logs/probe" 2>/dev/null; then runner=(setarch "$(uname -m)" -R); fi
    fi
  fi
  [ ${#downloads[@]} = 0 ] || wait "${downloads[@]}"
  downloads=()
  check "$name"
  runner=()
done

if [ $full = 1 ]; then
  echo "mutants: a build of the unit and fake tests with all faults in it, and each fault tried (build/mutants/results.txt)"
  STRATA_DOCTEST_INCLUDE=$doctest_include python3 -B tests/mutants/run.py --jobs "$jobs" ||
    problems+=("mutants: less than 90 % killed, or not as tests/mutants/mutants.txt says")
fi

# ---- the account ----------------------------------------------------------------------------------------------------
echo
python3 - "$logs" "$rings" "$chosen" "$device" "${nvcc:+1}" "$install" "${#problems[@]}" "${problems[@]}" -- "${builds[@]}" <<'PY'
import sys, xml.etree.ElementTree as tree
logs, rings, chosen, device, nvcc, install, count = sys.argv[1:8]
problems = sys.argv[8:8 + int(count)]
builds = sys.argv[9 + int(count):]
failures = sum("ctest failed" not in p for p in problems)  # ctest's own are in its count
total = {"passed": 0, "failed": failures, "skipped": 0}
# Skipped where a tool is missing, or what only a network has, or a counter of the CPU.
optional = {"toolchains.clang", "toolchains.nvcc", "toolchains.firefox_page", "toolchains.firefox_comparison_page", "package.abi", "package.format",
            "toolchains.platforms", "toolchains.device_programs", "toolchains.llama_cpp", "unit.process.cpu_hardware", "unit.script.check_ceilings", "fake.nvtx_header_test"}
if "quick" in builds or install == "0":  # no browser, and nothing of PyPI
    optional |= {"toolchains.check_page", "toolchains.check_comparison_page", "toolchains.check_pictures", "unit.script.check_page_logic", "readers.check_readers",
                 "unit.script.check_schemas", "unit.script.check_fleet_metrics"}


def read(build):
    """Name, outcome, and what a test says that it skipped or left out."""
    for case in tree.parse(f"{logs}/{build}.xml").getroot().iter("testcase"):
        skipped = case.find("skipped")
        said = [line.strip() for line in (case.findtext("system-out") or "").splitlines() if line.strip()]
        left_out = [line[10:] for line in said if line.startswith("LEFT OUT: ")]
        if case.get("status") == "run" and case.find("failure") is None:
            yield case.get("name"), "passed", left_out
        elif skipped is not None and "SKIP_RETURN_CODE" in (skipped.get("message") or ""):
            yield case.get("name"), "skipped", [line[9:] for line in said[-1:] if line.startswith("SKIPPED: ")]
        else:
            yield case.get("name"), "failed", []


for build in builds:
    try:
        cases = list(read(build))
    except (OSError, tree.ParseError) as error:
        problems.append(f"{build}: no test results ({error})")
        total["failed"] += 1
        continue
    expected_rings = {"asan": ["unit", "fake", "fuzz"], "tsan": ["unit", "fake"]}.get(build, rings.split(","))
    others = sorted({c[0].split(".")[0] for c in cases} - set(expected_rings))
    for ring in expected_rings + others:
        mine = [c for c in cases if c[0].split(".")[0] == ring]
        n = {k: sum(c[1] == k for c in mine) for k in total}
        for key in total:
            total[key] += n[key]
        line = f"{build:6} {ring:8} {n['passed']:4} passed {n['failed']:4} failed {n['skipped']:4} skipped"
        skipped = [c[0] for c in mine if c[1] == "skipped"]
        if ring == "gpu":
            expected = device == "1" and nvcc == "1"
            if expected and n["passed"] == 0:
                problems.append("gpu: this machine has a device and nvcc, but no test ran")
            if not expected:
                line += "  (no device here: not built)" if nvcc == "1" else "  (no nvcc here: not built)"
        elif ring == "host":
            line += "" if n["passed"] else "  (no libcupti here)"
        else:
            if n["passed"] == 0:
                problems.append(f"{build}: no {ring} test passed")
            wrong = [name for name in skipped if name not in optional]
            if wrong:
                problems.append(f"{build}: skipped, but should run here: {', '.join(wrong)}")
        print(line)
        for state, word in (("skipped", "skipped"), ("passed", "left out of")):
            names = {}
            for name, outcome, said in mine:
                for reason in dict.fromkeys(said if outcome == state else []):
                    names.setdefault(reason, []).append(name)
            for reason, some in names.items():
                print(f"       {word} {', '.join(some)}: {reason}")
        mute = [c[0] for c in mine if c[1] == "skipped" and not c[2]]
        if mute:
            problems.append(f"{build}: skipped without a reason: {', '.join(mute)}")
        failed = [c[0] for c in mine if c[1] == "failed"]
        if failed:
            print(f"       FAILED {', '.join(failed)}")
for ring in ("toolchains", "readers"):
    if chosen == "0" and ring not in rings.split(","):
        print(f"tests  {ring}  not run: --sanitize, --full and --rings {ring} run it")
for problem in problems:
    print("PROBLEM", problem)
print("{passed} passed, {failed} failed, {skipped} skipped".format(**total))
sys.exit(1 if problems or total["failed"] else 0)
PY
