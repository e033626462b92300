#!/usr/bin/env bash
# The corpus under Strata and under Nsight Compute, list by list, and the comparison. On a machine with a GPU, ncu and nvcc.
#   bash benchmarks/corpus/run.sh OUTDIR [LIST...]        LIST: torch triton jax cupy llama; without one
#   all, llama where GGML_LIBRARIES is set (kernels_llama.py)
# Environment: COUNTERS, what Strata counts; STEPS; CORPUS_ONLY, CORPUS_WITHOUT: names; LIMIT: seconds for a program;
# ONLY_SIDE: strata or ncu; INJECT: libstrata_inject.so that is built already; CACHES: all (emptied for each kernel, beside
# reads before each operation under Strata) or none (CORPUS_WARM=1 is then set).
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
out=$(mkdir -p "$1" && cd "$1" && pwd)
shift
lists=${*:-torch triton jax cupy ${GGML_LIBRARIES:+llama}}
toolkit=${CUDA_HOME:-/usr/local/cuda}
CACHES=${CACHES:-all}
[ "$CACHES" = none ] && export CORPUS_WARM=1

cc -O1 -shared -fPIC -I"$root/include" -I"$toolkit/include" -o "$out/libmarkers.so" "$here/markers.c" -ldl || exit 1
if [ -z "${INJECT:-}" ]; then
  INJECT=$out/libstrata_inject.so
  # Each operation is a small part of the step: here what is below 1 % of it is said too, in ranges of any part, and all of a rule.
  rm -rf "$out/include" "$out/src" && cp -r "$root/include" "$root/src" "$out"
  rules=("$out/src/analyse/rule_context.hpp" "$out/src/analyse/findings.hpp")
  sed -Ei 's/(least_share(_of_range)?) = 0\.[0-9]+;/\1 = 1e-6;/; s/most_of_a_rule = 4;/most_of_a_rule = 4096;/' "${rules[@]}"
  [ "$(cat "${rules[@]}" | grep -cE '= (1e-6|4096);')" = 3 ] || echo "run.sh: small findings stay unsaid"
  g++ -std=c++17 -O2 -fPIC -shared -fvisibility=hidden -I"$out/include" -I"$out/src" \
    "$root/tools/inject/inject.cpp" "$out/src/all.cpp" \
    -Wl,--version-script="$root/tools/inject/inject.map" -static-libstdc++ -static-libgcc -o "$INJECT" -ldl -pthread || exit 1
fi
export CORPUS_MARKERS=$out/libmarkers.so TORCHINDUCTOR_COMPILE_THREADS=1
export TORCHINDUCTOR_CACHE_DIR=$out/cache/inductor TRITON_CACHE_DIR=$out/cache/triton CUPY_CACHE_DIR=$out/cache/cupy
export JAX_COMPILATION_CACHE_DIR=$out/cache/jax

percent=.avg.pct_of_peak_sustained_elapsed
fp32=smsp__sass_thread_inst_executed_op
metrics=breakdown:sm__throughput$percent,breakdown:gpu__compute_memory_throughput$percent
metrics+=,gpu__time_duration.sum,sm__cycles_elapsed.max,dram__bytes_read.sum,dram__bytes_write.sum
metrics+=,lts__t_sectors.sum,l1tex__t_sectors.sum,sm__pipe_tensor_cycles_active.sum
metrics+=,lts__t_sectors$percent,dram__throughput$percent,sm__inst_issued$percent,sm__pipe_tensor_cycles_active$percent
metrics+=,sm__pipe_fma_cycles_active$percent,sm__pipe_alu_cycles_active$percent,sm__pipe_fp64_cycles_active$percent
metrics+=,sm__inst_executed_pipe_xu$percent,sm__inst_executed_pipe_lsu$percent
metrics+=,l1tex__data_pipe_lsu_wavefronts$percent,l1tex__data_pipe_lsu_wavefronts_mem_shared$percent
metrics+=,${fp32}_fadd_pred_on.sum,${fp32}_fmul_pred_on.sum,${fp32}_ffma_pred_on.sum

pairs=()
for list in $lists; do
  if [ "${ONLY_SIDE:-strata}" = strata ]; then
    rm -rf "$out/$list"*.strata
    CUDA_INJECTION64_PATH=$INJECT CORPUS_TIMES=$out/$list.times.json \
      STRATA="trace,nvtx=in,skip=2,active=${ACTIVE:-5},counters=${COUNTERS:-findings+hbm+flops+sm_cycles},formats=csv+json,out=$out/$list.strata" \
      timeout "${LIMIT:-240}" python3 "$here/runner.py" "$list" strata "${STEPS:-40}" >"$out/$list.strata.txt" 2>&1
    echo "$list strata: $?"
    tail -n 3 "$out/$list.strata.txt"
  fi
  if [ "${ONLY_SIDE:-ncu}" = ncu ]; then
    env -u STRATA timeout "${LIMIT:-240}" ncu --profile-from-start off --nvtx --clock-control none --cache-control "$CACHES" \
      --target-processes application-only --metrics "$metrics" --print-units base --csv --page raw --log-file "$out/$list.ncu.csv" \
      python3 "$here/runner.py" "$list" ncu >"$out/$list.ncu.txt" 2>&1
    echo "$list ncu: $?, $(grep -c '^"[0-9]' "$out/$list.ncu.csv") kernels"
    tail -n 3 "$out/$list.ncu.txt"
  fi
  [ -e "$out/$list.strata/counters_wide.csv" ] && [ -e "$out/$list.ncu.csv" ] && pairs+=("$out/$list.strata" "$out/$list.ncu.csv")
done
[ ${#pairs[@]} -gt 0 ] && python3 "$here/compare.py" "$out/corpus.md" "${pairs[@]}"
