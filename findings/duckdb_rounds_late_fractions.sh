#!/usr/bin/env bash
# DuckDB 2.0.1.
#
# Guess: a column of a CSV file whose first 20,480 rows are whole numbers and a later one has a fraction is read as
# DOUBLE, or refused with the line.
# Behaviour: it stays BIGINT, and the fraction is rounded without a word. sample_size=-1 reads it right.
# Seen: 1.5 in row 30,001 is 2 as BIGINT; with sample_size=-1 1.5 as DOUBLE
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v"
"$folder/v/bin/pip" install -q duckdb==2.0.1
cd "$folder"
"$folder/v/bin/python" - <<'PY'
import duckdb, sys

with open("times.csv", "w") as file:
    file.write("path,ns\n" + "".join(f"p{i},{i}\n" for i in range(30000)) + "last,1.5\n")
ask = "select ns, typeof(ns) from read_csv('times.csv'{}) where path = 'last'"
seen = [duckdb.sql(ask.format(how)).fetchall()[0] for how in ("", ", sample_size=-1")]
print(seen)
sys.exit(0 if seen == [(2, "BIGINT"), (1.5, "DOUBLE")] else 1)
PY
