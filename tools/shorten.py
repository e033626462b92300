"""profile.json without what compare does not read, for a baseline that is kept: shorten.py FOLDER PROFILE...

Each PROFILE is written to FOLDER by its name. Left out are the names and shapes of kernels, memory, what ranges counted by
themselves, and columns that are 0 or null in every row of all files.
"""

import json
import pathlib
import sys

TOP = ("schema", "environment", "devices", "traced", "has_steps", "losses")
NOT_READ = {"path_id", "parent_path_id", "name", "index", "depth"}
OF_KERNELS = ("path", "count", "total_ns", "min_ns", "p50_ns", "max_ns", "mean_ns", "stddev_ns")
FIRST_STEP = "first_step_"  # columns with it are kept where they are known: 0 is not unknown
OF_STEPS = ("step", "begin_ns", "end_ns", "cpu_ns")
OF_METRICS = ("key", "unit", "level", "formula")
COUNTED = ("counters", "cpu_counters", "live_counters")


def some(row, names):
    return {name: row[name] for name in names}


def main(folder, *paths):
    profiles = {pathlib.Path(path).name: json.loads(pathlib.Path(path).read_text(encoding="utf-8")) for path in paths}
    used = {key for whole in profiles.values() for row in whole["ranges"] for key, value in row.items()
            if value or (key.startswith(FIRST_STEP) and value is not None)} - NOT_READ
    for name, whole in profiles.items():
        kept = some(whole, [key for key in TOP if key in whole])
        kept["steps"] = [some(step, [key for key in OF_STEPS if key in step]) for step in whole["steps"]]
        kept["ranges"] = [{key: value for key, value in row.items() if key in used or key == "path"} for row in whole["ranges"]]
        kept["kernels"] = [some(row, [*OF_KERNELS, *(key for key in row if key.startswith(FIRST_STEP))]) for row in whole["kernels"]]
        for table in filter(whole.__contains__, COUNTED):
            kept[table] = {"metrics": [some(metric, OF_METRICS) for metric in whole[table]["metrics"]],
                           "values": [some(row, ("path", "total")) for row in whole[table]["values"]]}
        text = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
        pathlib.Path(folder, name).write_text(text.replace("},{", "},\n{") + "\n", encoding="utf-8")


if len(sys.argv) < 3:
    sys.exit(__doc__)
main(*sys.argv[1:])
