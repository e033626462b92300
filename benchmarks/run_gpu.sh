#!/usr/bin/env bash
# Builds and runs all benchmarks on a machine with a GPU, within six minutes, and needs no network.
# Usage: benchmarks/run_gpu.sh OUTPUT_FOLDER [SECONDS]      SECONDS: 300 unless given; how long it may measure
# Writes launch.jsonl, gpt2.jsonl, range.json, thread.json, report.json and table.md into OUTPUT_FOLDER.
# range, thread and report need Google Benchmark: $STRATA_BENCHMARK_ROOT with include/benchmark/benchmark.h and
# lib/libbenchmark.{a,so}, else the system's; without it they are skipped, and the output says so.
set -u -o pipefail
mkdir -p "${1:?usage: run_gpu.sh OUTPUT_FOLDER [SECONDS]}"
output=$(realpath "$1")
limit=${2:-300}
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
here=$root/benchmarks
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
for name in $(compgen -e STRATA_) NVTX_INJECTION64_PATH STRATA; do
  if [ "$name" != STRATA_BENCHMARK_ROOT ]; then unset "$name"; fi
done
cuda=${CUDA_HOME:-/usr/local/cuda}
export PATH=$PATH:$cuda/bin
failed=0
note() { echo "run_gpu.sh: $*"; }

# ---- builds, side by side ----
(nvcc -std=c++17 -O2 -arch=native -I"$root/include" -o "$build/launch_bench" "$here/launch_bench.cu" \
  "$root/include/strata/implementation.cpp" -ldl) >"$build/launch.log" 2>&1 &
g++ -std=c++17 -O2 -shared -fPIC -I"$cuda/include" -o "$build/libbare.so" "$here/bare_client.cpp" -ldl >"$build/bare.log" 2>&1 &
(cmake -S "$root" -B "$build/cmake" -DCMAKE_BUILD_TYPE=Release -DSTRATA_BUILD_BENCHMARKS=OFF \
  -DSTRATA_BUILD_EXAMPLES=ON && cmake --build "$build/cmake" --target gpt2 --parallel "$(nproc)") \
  >"$build/gpt2.log" 2>&1 &
library=${STRATA_BENCHMARK_ROOT:-}
if [ -n "$library" ]; then library=$(realpath "$library"); fi
flags=(-std=c++17 -O2 -DNDEBUG '-DBENCH_FLAGS="-O2"' -I"$root/include" -isystem "$cuda/include")
if [ -n "$library" ]; then flags+=(-isystem "$library/include"); fi
if echo '#include <benchmark/benchmark.h>' | g++ "${flags[@]}" -x c++ -fsyntax-only - 2>/dev/null; then
  links=(-pthread -ldl)
  if [ -n "$library" ]; then links=(-L"$library/lib" -Wl,-rpath,"$library/lib" -lbenchmark "${links[@]}"); else links=(-lbenchmark "${links[@]}"); fi
  bodies=$build/implementation.o
  g++ "${flags[@]}" -c -o "$bodies" "$root/include/strata/implementation.cpp" >"$build/implementation.log" 2>&1
  g++ "${flags[@]}" -o "$build/range_bench" "$here/range_bench.cpp" "$here/range_off.cpp" "$bodies" "${links[@]}" >"$build/range.log" 2>&1 &
  g++ "${flags[@]}" -o "$build/thread_bench" "$here/thread_bench.cpp" "$bodies" "${links[@]}" >"$build/thread.log" 2>&1 &
  g++ "${flags[@]}" -o "$build/report_bench" "$here/report_bench.cpp" "$bodies" "${links[@]}" >"$build/report.log" 2>&1 &
else
  note "SKIPPED range, thread and report: there is no Google Benchmark here (STRATA_BENCHMARK_ROOT)"
fi
wait
for log in "$build"/*.log; do
  if grep -q -i -E "error|undefined reference" "$log"; then
    failed=1
    note "build trouble, $(basename "$log" .log):"
    grep -i -E -m 5 "error|undefined reference" "$log"
  fi
done
note "built after $SECONDS s"
limit=$((limit + SECONDS))

# ---- runs: shares of what is left, so that all come to their turn ----
if [ -x "$build/range_bench" ]; then
  python3 "$here/run_cpu.py" "$build" "$output" --only range,thread --repetitions 9 || failed=1
  python3 "$here/run_cpu.py" "$build" "$output" --only report --repetitions 3 --largest 1000000 || failed=1
fi
gpt2=$build/cmake/examples/gpt2/gpt2
if [ -x "$build/launch_bench" ]; then
  bash "$here/launch_bench.sh" "$build/launch_bench" "$output/launch.jsonl" 15 $(((limit - SECONDS) * 45 / 100)) || failed=1
else
  note "SKIPPED launches: launch_bench is not built"
fi
if [ -x "$gpt2" ]; then
  STRATA_BARE_CLIENT=$build/libbare.so bash "$here/gpt2_overhead.sh" "$gpt2" "$output/gpt2.jsonl" 15 $(((limit - SECONDS) * 90 / 100)) || failed=1
else
  note "SKIPPED gpt2: the example is not built"
fi

# ---- the table ----
shopt -s nullglob
{
  echo "# Benchmarks on a GPU machine"
  echo
  echo "$(date +%F), $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1)," \
    "$(nvcc --version | sed -n 's/.*release \([0-9.]*\).*/CUDA \1/p'), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)," \
    "$(nproc) cores, Linux $(uname -r | cut -d- -f1). Command: \`benchmarks/run_gpu.sh OUTPUT_FOLDER\`."
  python3 "$here/ratios.py" "$output"/*.json "$output"/*.jsonl
} >"$output/table.md" || note "not every bar is met; see table.md"
note "done after $SECONDS s"
exit $failed
