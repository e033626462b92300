#!/usr/bin/env bash
# Step times of the GPT-2 example (B=4, T=64) plain, with host times, with the device traced, with its kernels alone traced,
# and under the bare client where STRATA_BARE_CLIENT names its library (bare_client.cpp); one process each, in turn.
# Usage: benchmarks/gpt2_overhead.sh BINARY OUTPUT.jsonl [ROUNDS [SECONDS]]
# No round begins after SECONDS. STRATA_GPT2_IMPLEMENTATIONS: "fused eager" unless set.
set -u -o pipefail
binary=${1:?usage: gpt2_overhead.sh BINARY OUTPUT.jsonl [ROUNDS [SECONDS]]}
output=${2:?usage: gpt2_overhead.sh BINARY OUTPUT.jsonl [ROUNDS [SECONDS]]}
rounds=${3:-9}
limit=${4:-100000}
read -r -a implementations <<<"${STRATA_GPT2_IMPLEMENTATIONS:-fused eager}"
variants=(plain host trace trace=kernels)
bare=$(realpath -q "${STRATA_BARE_CLIENT:-}")
if [ -n "$bare" ]; then variants+=(bare); fi
steps=${STRATA_GPT2_STEPS:-20}
failed=0
: >"$output"
binary=$(realpath "$binary")
for name in $(compgen -e STRATA) NVTX_INJECTION64_PATH; do unset "$name"; done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

one() {
  local impl=$1 variant=$2 round=$3
  local settings=()
  case $variant in
    plain) ;;
    bare) settings=("CUDA_INJECTION64_PATH=$bare") ;;
    *) settings=("STRATA=$variant,formats=none") ;;
  esac
  if ! (cd "$work" && env "${settings[@]}" "$binary" --impl "$impl" --B 4 --T 64 --warmup 3 --steps "$steps") \
    >"$work/log" 2>"$work/messages"; then
    failed=1
    echo "failed: gpt2 --impl $impl, $variant: $(head -n 1 "$work/messages")" >&2
    return
  fi
  local times
  times=$(sed -n '/warm-up/d; s/^step .*, \([0-9.]*\) ms.*/\1/p' "$work/log" | paste -sd, -)
  echo "{\"bench\":\"gpt2\",\"impl\":\"$impl\",\"variant\":\"$variant\",\"round\":$round,\"step_ms\":[$times]}" >>"$output"
}

for ((round = 0; round < rounds && SECONDS < limit; ++round)); do
  for impl in "${implementations[@]}"; do
    for ((i = 0; i < ${#variants[@]}; ++i)); do
      one "$impl" "${variants[(i + round) % ${#variants[@]}]}" "$round"
    done
  done
done
echo "gpt2_overhead: $round rounds in $SECONDS s"
exit $failed
