#!/usr/bin/env bash
# gguf 0.19.0 (the Python package of llama.cpp).
#
# Guess: metadata that is a list of lists, which the format allows, is read as it was written: [[1, 2], [3]].
# Behaviour: contents() gives one flat list; where an inner list ended is lost without a word, so that [[1, 2], [3]] and
# [[1], [2, 3]] read alike. A list that is empty is not written at all, and its field is None.
# Seen: [1, 2, 3] for both; None
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v"
"$folder/v/bin/pip" install -q gguf==0.19.0
cd "$folder"
"$folder/v/bin/python" - <<'PY'
import sys

import gguf
import numpy


def read_back(value):
    writer = gguf.GGUFWriter("model.gguf", "llama")
    writer.add_array("layers.groups", value)
    writer.add_tensor("weight", numpy.zeros((2, 3), numpy.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    field = gguf.GGUFReader("model.gguf").get_field("layers.groups")
    return field and field.contents()


seen = read_back([[1, 2], [3]]), read_back([[1], [2, 3]]), read_back([])
print(seen)
sys.exit(0 if seen == ([1, 2, 3], [1, 2, 3], None) else 1)
PY
