#!/usr/bin/env python3
"""metrics.prom of every shipped recording as the client of Prometheus reads it: strictly as OpenMetrics, and as the older text.
Both have the same values, no series comes twice, and the step is that of findings.json."""

import json
import pathlib
import shutil
import subprocess
import sys

from _script import end, environment, needs, program, recordings, root, skip, that

sys.path.append(str(root / "build" / "fleet"))
try:
    import prometheus_client.openmetrics.parser
    import prometheus_client.parser
except ImportError as error:
    skip(f"the Python package prometheus-client is not installed ({error}); tests/run.sh installs it")
needs(program)


def series(families):
    """Values by name and labels; a series that comes twice would be refused by a server."""
    found = {}
    for family in families:
        that(family.type == "gauge", f"{family.name} is a {family.type}")
        that(family.documentation, f"{family.name} has no help")
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            that(key not in found, f"{key} comes twice")
            found[key] = float(sample.value)
    return found


shutil.rmtree("fleet", ignore_errors=True)
count = 0
for recording in recordings:
    folder = pathlib.Path("fleet") / recording.stem
    done = subprocess.run([program, "report", recording, "--formats", "openmetrics+json", "--out", folder],
                          capture_output=True, text=True, env=environment, check=False)
    that(done.returncode == 0, f"{recording.stem}: {done.stderr}")
    text = (folder / "metrics.prom").read_text(encoding="utf-8")
    strict = series(prometheus_client.openmetrics.parser.text_string_to_metric_families(text))
    older = series(prometheus_client.parser.text_string_to_metric_families(text))
    that(strict == older, f"{recording.stem}: the older parser reads other values")
    step = json.loads((folder / "findings.json").read_text(encoding="utf-8"))["step"]
    mine = [value for (name, _), value in strict.items() if name == "strata_step_seconds"]
    that(len(mine) == 1 and abs(mine[0] * 1e9 / step["mean_ns"] - 1) < 1e-5, f"{recording.stem}: step {mine}, not {step['mean_ns']} ns")
    that(len(strict) > 10, f"{recording.stem}: {len(strict)} series")
    count += len(strict)
that(len(recordings) >= 5, "recordings are missing")
end(f"{count} series of {len(recordings)} recordings")
