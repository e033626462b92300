#!/usr/bin/env bash
# HolisticTraceAnalysis 0.5.0, pandas 2.3.3, Python 3.11.
#
# Guess: TraceAnalysis(trace_dir=...) reads the rank of each trace from the member distributedInfo.rank of its JSON.
# Behaviour: it looks for the text "rank":, at least one blank, digits. In JSON without blanks, as json.dumps with
# separators=(",", ":") writes it, no trace has a rank: each is rank 0, and of a folder with two ranks one is left.
# Seen: with a blank [0, 1], without [0]
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v"
"$folder/v/bin/pip" install -q HolisticTraceAnalysis==0.5.0 pandas==2.3.3 numpy==2.4.6
cd "$folder"
"$folder/v/bin/python" -W ignore - <<'PY'
import json, logging, os, sys
logging.disable(logging.CRITICAL)
from hta.common.trace_file import get_trace_files
found = {}
for how, separators in (("with a blank", (", ", ": ")), ("without", (",", ":"))):
    os.mkdir(how)
    for rank in range(2):
        with open(f"{how}/{rank}.json", "w") as file:
            trace = {"distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": []}
            json.dump(trace, file, separators=separators)
    found[how] = sorted(get_trace_files(how))
print(", ".join(f"{how} {ranks}" for how, ranks in found.items()))
sys.exit(0 if found == {"with a blank": [0, 1], "without": [0]} else 1)
PY
