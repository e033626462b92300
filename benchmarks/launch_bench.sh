#!/usr/bin/env bash
# Runs launch_bench in all its modes, one process each, in turn, round by round.
# Usage: benchmarks/launch_bench.sh BINARY OUTPUT.jsonl [ROUNDS [SECONDS]]
# No round begins after SECONDS. The lines of a mode that fails are missing, and the script then fails at its end.
set -u -o pipefail
binary=${1:?usage: launch_bench.sh BINARY OUTPUT.jsonl [ROUNDS [SECONDS]]}
output=${2:?usage: launch_bench.sh BINARY OUTPUT.jsonl [ROUNDS [SECONDS]]}
rounds=${3:-9}
limit=${4:-100000}
modes=(plain idle bare-short bare strata strata-kernels strata-range)
failed=0
: >"$output"
binary=$(realpath "$binary")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
one() { (cd "$work" && "$binary" "$@" 2>>messages) >>"$output" || { failed=1; echo "failed: launch_bench $*" >&2; }; }

# Memory and reports first: they do not depend on how quiet the machine is.
for mode in bare strata; do one "$mode" --report 1000000; done
for ((round = 0; round < rounds && SECONDS < limit; ++round)); do
  for ((i = 0; i < ${#modes[@]}; ++i)); do
    one "${modes[(i + round) % ${#modes[@]}]}" --windows 5 --launches 20000
  done
done
echo "launch_bench: $round rounds in $SECONDS s"
sed -n '1,20p' "$work/messages" >&2
exit $failed
