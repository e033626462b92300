"""docs/schema: what Strata writes as JSON is what the schemas say, and no member is missing in them. Validated are the answers,
profiles and comparisons of the recordings in examples/report, the golden files, and what other tests left in the build tree."""

import copy
import json
import os
import pathlib
import shutil
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(root / "build" / "jsonschema"))
try:
    import jsonschema
except ImportError:
    print("SKIPPED: the Python package jsonschema is not installed; tests/run.sh installs it, or apt-get install python3-jsonschema")
    sys.exit(77)
if not hasattr(jsonschema, "Draft202012Validator"):
    print("SKIPPED: jsonschema 4.0 or later is needed")
    sys.exit(77)
build = pathlib.Path(os.environ.get("STRATA_TEST_BUILD_DIR", "")).resolve()
program = build / "tools/strata"
if not program.exists():
    print("SKIPPED: the command strata was not built")
    sys.exit(77)
environment = {k: v for k, v in os.environ.items() if not k.startswith("STRATA")}
failures = []
checked = {}


def that(ok, text):
    if not ok:
        failures.append(text)


def closed(schema):
    """The schema with nothing allowed but what it names: a member that is written has to be in it."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(part) for key, part in schema.items()}
    if made.get("type") == "object" and made.get("properties"):
        made.setdefault("additionalProperties", False)
    return made


schemas = {}
for path in sorted((root / "docs/schema").glob("*.json")):
    schema = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    version = schema["properties"]["schema"]["properties"]["version"]["const"]
    that(schema["$id"] == f"urn:strata:{path.stem}:{version}", f"{path.name}: $id is {schema['$id']}")
    schemas[f"strata.{path.stem}"] = (jsonschema.Draft202012Validator(schema), jsonschema.Draft202012Validator(closed(schema)))


def check(text, where):
    document = json.loads(text)
    name = document["schema"]["name"]
    if name not in schemas:
        return document
    checked[name] = checked.get(name, 0) + 1
    valid, whole = schemas[name]
    if whole.is_valid(document):  # and so it is without the rule that all has to be named
        return document
    errors = [(error, "") for error in valid.iter_errors(document)] or \
             [(error, "the schema leaves it out: ") for error in whole.iter_errors(document)]
    for error, what in errors[:3]:
        failures.append(f"{where}: {what}{error.json_path}: {error.message[:200]}")
    return document


def ran(*words):
    done = subprocess.run([str(program), *map(str, words)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    that(done.returncode in (0, 1, 3), f"{words}: exit code {done.returncode}: {done.stderr}")
    return done.stdout


here = pathlib.Path("schemas").resolve()
shutil.rmtree(here, ignore_errors=True)
here.mkdir()
recordings = sorted((root / "examples/report").glob("*.strata"))
profiles = []
for recording in recordings:
    told = ran("explain", recording, "--json")
    that(len(told.encode()) <= 20000 and told == ran("explain", recording, "--json"), f"{recording.name}: an answer of {len(told)} bytes, or two")
    that(told == ran("explain", recording, "--format", "json"), f"{recording.name}: --json is not --format json")
    check(told, f"explain {recording.name}")
    ran("report", recording, "--formats", "json", "--out", here / recording.stem)
    profiles.append(here / recording.stem / "profile.json")
    check(profiles[-1].read_text(encoding="utf-8"), profiles[-1])
for before, after in zip(profiles, [*profiles[1:], profiles[0]]):
    ran("compare", before, after, "--anyway", "--json", here / "comparison.json")
    check((here / "comparison.json").read_text(encoding="utf-8"), f"compare {before.parent.name} {after.parent.name}")
for path in sorted((root / "tests/unit/golden").glob("profile_*.json")):
    check(path.read_text(encoding="utf-8"), path.name)
left = [path for name in ("profile", "comparison") for path in sorted((build / "tests/work").rglob(f"{name}.json"))]
for path in left[:2000]:
    try:
        text = path.read_text(encoding="utf-8")
        if json.loads(text).get("schema", {}).get("version") != 1:
            continue
    except (OSError, ValueError, AttributeError):  # a test that runs now, or that writes broken files
        continue
    check(text, path)

# The schemas see mistakes: an answer without a member, with another type, of another version.
answer = json.loads(ran("explain", recordings[0], "--json"))
for break_it in (lambda a: a.pop("step_ns"), lambda a: a.update(step_ns="1"), lambda a: a["schema"].update(version=2),
                 lambda a: a["findings"][0].pop("rule"), lambda a: a["ranges"][0].update(share=[])):
    broken = copy.deepcopy(answer)
    break_it(broken)
    that(not schemas["strata.explanation"][0].is_valid(broken), "a broken answer is valid")
more = {**answer, "later": 1}
that(schemas["strata.explanation"][0].is_valid(more), "a member that came later makes an answer invalid")

that(set(checked) == set(schemas), f"only {sorted(checked)} were seen")
for failure in failures[:30]:
    print(f"FAILED: {failure}")
print(f"schemas: {', '.join(f'{count} of {name}' for name, count in sorted(checked.items()))}; {len(failures)} failures")
sys.exit(1 if failures else 0)
