"use strict";
// Loads scripts of page/ as a browser does: one after the other, into one global scope.
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const folder = path.join(__dirname, "..", "..", "page");

/** Runs the scripts beside the data of a page; returns what has these names. Once in a process. */
function load(files, names, data) {
  globalThis.document = {getElementById: () => ({textContent: JSON.stringify(data || {})})};
  for (const file of files) {
    const filename = path.join(folder, file);
    vm.runInThisContext(fs.readFileSync(filename, "utf8"), {filename});
  }
  return vm.runInThisContext("({" + names.join(", ") + "})");
}

/** A generator of numbers from 0 to 1, the same in each run. */
function randomNumbers(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

module.exports = {load, randomNumbers};
