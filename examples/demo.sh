#!/usr/bin/env bash
# Builds the GPT-2 example and lets Strata report on it: both GPU implementations where there is a GPU, else the CPU's.
# Usage: bash examples/demo.sh [--no-install] [options of gpt2]; --help prints them
# STRATA=... in the environment replaces the demo's own settings.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=build  # the one that the documents make, so that the command strata is built once

may_install=1
passed_on=()
for argument in "$@"; do
  case $argument in
    --no-install)
      may_install=0
      continue
      ;;
    --help | -h)
      echo "bash examples/demo.sh [options]: builds GPT-2 124M and profiles its forward pass, on the GPU if there is one, else on the CPU."
      echo "STRATA=... in the environment replaces the demo's settings. Missing Debian packages are installed when root;"
      echo "--no-install refuses. All other options are passed on to gpt2:"
      sed -n '/^  --impl/,/^$/p' examples/gpt2/options.hpp
      exit 0
      ;;
  esac
  passed_on+=("$argument")
done
set -- "${passed_on[@]}"

if nvidia-smi -L >/dev/null 2>&1; then
  echo "There is a GPU: GPT-2 124M is profiled on it, where CMake finds a CUDA toolkit with cuBLAS."
else
  echo "There is no GPU here (nvidia-smi lists none): GPT-2 124M is profiled on the CPU, with host times alone."
fi

# --- tools ---
missing=()
command -v "${CXX:-c++}" >/dev/null || missing+=(g++)
command -v cmake >/dev/null || missing+=(cmake)
command -v ninja >/dev/null || command -v make >/dev/null || missing+=(make)
if ((${#missing[@]})); then
  install="apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
  if ((!may_install)) || [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
    echo "demo.sh: ${missing[*]} missing; on Debian or Ubuntu, run as root: $install" >&2
    exit 1
  fi
  echo "These Debian packages are missing and are installed now, as root (--no-install refuses): ${missing[*]}"
  if ! DEBIAN_FRONTEND=noninteractive bash -c "$install" >/dev/null; then
    echo "demo.sh: ${missing[*]} cannot be installed: see above; install them by hand, and run this again" >&2
    exit 1
  fi
fi

# The command strata, which compares both implementations, reads its arguments by CLI11.
has_cli11() { "${CXX:-c++}" -I.deps/cli11 -x c++ -E - <<<'#include <CLI/CLI.hpp>' >/dev/null 2>&1; }
if ((may_install)) && ! has_cli11 && [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
  echo "This Debian package is missing and is installed now, as root (--no-install refuses): libcli11-dev"
  if ! why=$(DEBIAN_FRONTEND=noninteractive bash -c \
    "apt-get update && apt-get install -y --no-install-recommends libcli11-dev" 2>&1 >/dev/null); then
    echo "demo.sh: libcli11-dev was not installed: ${why##*$'\n'}; the demo continues without the command strata" >&2
  fi
fi

# The command strata of this version, where there is one: built here, or installed.
version=$(sed -n 's/^#define STRATA_VERSION_\(MAJOR\|MINOR\|PATCH\) //p' include/strata/version.hpp | paste -sd.)
find_strata() {
  for candidate in "$build/tools/strata" "$(command -v strata)"; do
    [[ -x $candidate && $("$candidate" --version 2>/dev/null) == "strata $version" ]] && echo "$candidate" && return
  done
  return 0
}

# --- build ---
strata=$(find_strata)
echo "The demo takes about one minute to compile on two cores and 30 s to run on a CPU. What is built stays in $build."
if [[ $strata ]]; then
  echo "The command strata is there already: $strata."
else
  echo "Where there is a GPU, the command strata takes 3 more minutes of a core to compile."
fi
if [[ ! -e $build/CMakeCache.txt ]] && command -v ninja >/dev/null; then
  export CMAKE_GENERATOR=Ninja
fi
cmake -S . -B "$build" -DSTRATA_BUILD_EXAMPLES=ON
cmake --build "$build" --target gpt2 --parallel "$(nproc)"
gpt2=$build/examples/gpt2/gpt2

# --- run ---
implementations=()
for argument in "$@"; do
  # The caller chooses: one run, as asked for.
  case $argument in --impl | --impl=* | --check | --count-launches | --list) implementations=("") ;; esac
done
if ((!${#implementations[@]})); then
  mapfile -t implementations < <("$gpt2" --list)
  if ((${#implementations[@]} > 1)); then
    implementations=(fused eager)  # with a GPU, the CPU can rest
  fi
fi

start=$(mktemp)
trap 'rm -f "$start" "$start.log"' EXIT
# CMake takes CLI11 where it is installed, and fetches it where not.
# Where strata is, or will be.
command=${strata:-$build/tools/strata}
make_command="cmake -S . -B $build -DSTRATA_BUILD_TOOLS=ON && cmake --build $build --target strata_command -j2  # 3 minutes of a core"
for implementation in "${implementations[@]}"; do
  name=${implementation:-gpt2}
  settings=trace,skip=1,formats=table+csv+json+trace+html+recording,out=strata-out/$name
  steps=()
  case $name in
    cpu) settings+=,counters=cpu ;;
    fused | eager)  # five steps are timed, those after them are counted
      settings+=,active=5,counters=findings
      [[ -n ${STRATA:-} ]] || steps=(--steps 25)
      ;;
  esac
  settings=${STRATA:-$settings}
  all=(${implementation:+--impl "$implementation"} "${steps[@]}" "$@")
  echo
  echo "STRATA=$settings $gpt2 ${all[*]}"
  STRATA=$settings "$gpt2" "${all[@]}"
done

if [[ -z ${STRATA:-} ]]; then  # else the program has said where they are
  files=$([[ ! -d strata-out ]] || find strata-out -type f -newer "$start" | sort)
  [[ -z $files ]] || printf '\nFiles written:\n%s\n' "$(sed 's/^/  /' <<<"$files")"
fi

# The command is made once, before the first line that names it.
say_how_to_make() {
  [[ $strata || ${said:-} ]] || echo "  $make_command"
  said=1
}

recorded() { find strata-out -path "strata-out/$1*/$2" -newer "$start" -print -quit 2>/dev/null || true; }
eager=$(recorded eager profile.json) fused=$(recorded fused profile.json)
if [[ -z ${STRATA:-} && $eager && $fused ]]; then
  page=$(dirname "$fused")/compare.html
  printf '\nEager against fused, as a page in %s:\n' "$page"
  if [[ $strata ]] || { has_cli11 && cmake --build "$build" --target strata_command --parallel "$(nproc)" >"$start.log" 2>&1; }; then
    strata=$command
    "$command" compare --html "$page" "$eager" "$fused" || true  # the exit code is a verdict
  else
    ! has_cli11 || tail -n 5 "$start.log" >&2
    say_how_to_make
    echo "  $command compare --html $page $eager $fused"
  fi
fi

if [[ ${implementations[*]} == cpu ]]; then
  echo
  echo "The reports of the same program on an H200, eager and fused, from recordings in examples/report:"
  say_how_to_make
  for name in eager fused; do
    echo "  $command report examples/report/gpt2-$name.strata --out strata-out/h200-$name"
  done
  echo "Eager against fused, 20 steps of each on an H200:"
  echo "  $command compare --html $build/compare.html examples/compare/gpt2-eager.json examples/compare/gpt2-fused.json"
fi

recording=$(recorded "${implementations[0]}" profile.strata)
if [[ -z ${STRATA:-} && $recording ]]; then
  printf '\nThe recording of this run, explained:\n'
  say_how_to_make
  echo "  $command explain $recording"
fi
