"""docs/schema: what Strata writes as JSON is what the schemas say, and no member is missing in them. Validated are the answers,
profiles, findings, comparisons and ranks of the recordings in examples/report, the golden files, the report of a program whose
GPU hangs, and what other tests left in the build tree."""

import copy
import json
import pathlib
import shutil
import subprocess
import sys

from _script import build, end, environment, failures, needs, program, recordings, root, skip, that

sys.path.append(str(root / "build" / "jsonschema"))
try:
    import jsonschema
except ImportError:
    skip("the Python package jsonschema is not installed; tests/run.sh installs it, or apt-get install python3-jsonschema")
if not hasattr(jsonschema, "Draft202012Validator"):
    skip("jsonschema 4.0 or later is needed")
needs(program)
checked = {}


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


HANG = "hang"  # a member of profile.json, which has a schema for itself, and the version of the profile
texts = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted((root / "docs/schema").glob("*.json"))}
schemas = {}
for name, schema in texts.items():
    jsonschema.Draft202012Validator.check_schema(schema)
    version = texts["profile" if name == HANG else name]["properties"]["schema"]["properties"]["version"]["const"]
    that(schema["$id"] == f"urn:strata:{name}:{version}", f"{name}.json: $id is {schema['$id']}")
    schemas[f"strata.{name}"] = (jsonschema.Draft202012Validator(schema), jsonschema.Draft202012Validator(closed(schema)))
own = ("$schema", "$id", "title", "description")
that({key: part for key, part in texts[HANG].items() if key not in own} == texts["profile"]["properties"][HANG],
     "hang.json is not what profile.json says of hang")


def check(text, where):
    document = json.loads(text)
    if HANG in document:
        validate(document[HANG], f"strata.{HANG}", where)
    return validate(document, document["schema"]["name"], where)


def validate(document, name, where):
    checked[name] = checked.get(name, 0) + 1
    valid, whole = schemas[name]
    if whole.is_valid(document):  # and so it is without the rule that all has to be named
        return document
    errors = [(error, "") for error in valid.iter_errors(document)] or \
             [(error, "the schema leaves it out: ") for error in whole.iter_errors(document)]
    for error, what in errors[:3]:
        failures.append(f"{where}: {what}{error.json_path}: {error.message[:200]}")
    return document


def some(paths):
    """Fifty of them, spread over all."""
    return paths[::max(1, len(paths) // 50)]


def ran(*words):
    done = subprocess.run([str(program), *map(str, words)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    that(done.returncode in (0, 1, 3), f"{words}: exit code {done.returncode}: {done.stderr}")
    return done.stdout


here = pathlib.Path("schemas").resolve()
shutil.rmtree(here, ignore_errors=True)
here.mkdir()
profiles = []
for recording in recordings:
    told = ran("explain", recording, "--json")
    that(len(told.encode()) <= 20000 and told == ran("explain", recording, "--json"), f"{recording.name}: an answer of {len(told)} bytes, or two")
    that(told == ran("explain", recording, "--format", "json"), f"{recording.name}: --json is not --format json")
    check(told, f"explain {recording.name}")
    ran("report", recording, "--formats", "json", "--out", here / recording.stem)
    profiles.append(here / recording.stem / "profile.json")
    check(profiles[-1].read_text(encoding="utf-8"), profiles[-1])
    check((here / recording.stem / "findings.json").read_text(encoding="utf-8"), f"findings of {recording.name}")
for before, after in zip(profiles, [*profiles[1:], profiles[0]]):
    ran("compare", before, after, "--anyway", "--json", here / "comparison.json")
    check((here / "comparison.json").read_text(encoding="utf-8"), f"compare {before.parent.name} {after.parent.name}")
done = subprocess.run([str(build / "tests/bin/unit_tests"), "--source-file=*/unit/ranks_test.cpp", "--test-case=folders of ranks*"],
                      env={**environment, "STRATA_TEST_RANKS": f"{here / 'run'} 3 8 2 1 30000"}, stdout=subprocess.PIPE, universal_newlines=True)
that(done.returncode == 0, done.stdout)
for paths in ([here / "run"], sorted((here / "run").glob("rank*/profile.json"))):
    ran("ranks", *paths, "--json", here / "ranks.json")
    check((here / "ranks.json").read_text(encoding="utf-8"), f"ranks {len(paths)}")
for path in sorted((root / "tests/unit/golden").glob("profile_*.json")):
    check(path.read_text(encoding="utf-8"), path.name)
hung_program, fakes = build / "tests/fake/fake_hung_program", build / "tests/fake/lib"
if hung_program.exists():
    with_fakes = {**environment, "STRATA": f"trace,drain=300,formats=json,out={here}/hung", "FAKE_HANG": "9", "ASAN_OPTIONS": "detect_leaks=0",
                  "STRATA_CUPTI": str(fakes / "libcupti.so.13"), "STRATA_LIBCUDA": str(fakes / "libcuda.so.1"), "FAKE_CUPTI_FILE": str(fakes / "libcupti.so.13")}
    told = subprocess.run([str(hung_program), "thread", "SIGTERM"], env=with_fakes, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    that("the GPU does not answer" in told.stderr, f"no GPU hangs: {told}")
    hung = check((here / "hung/profile.json").read_text(encoding="utf-8"), "the profile of a GPU that hangs")
    that(hung.get(HANG, {}).get("open_ranges") and hung[HANG]["unfinished"], f"hang is {hung.get(HANG)}")
else:
    print("LEFT OUT: a GPU that hangs, which needs the stand-ins of the ring fake")
    del schemas[f"strata.{HANG}"]
for path in [path for name in ("profile", "findings", "comparison") for path in some(sorted((build / "tests/work").rglob(f"{name}.json")))]:
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


def mutations(value, where=""):
    """Whichever member has a name for the first time is of another type; whichever object comes first has a member more."""
    rows = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in rows:
        place = f"{where}.{key}" if isinstance(value, dict) else f"{where}[]"
        if place in seen:
            continue
        seen.add(place)
        kept, value[key] = part, "text" if isinstance(part, (dict, list)) else {"another": "type"}
        yield f"{place} of another type"
        value[key] = kept
        yield from mutations(part, place)
    if isinstance(value, dict):
        value["another_member"] = 1
        yield f"{where}.another_member"
        del value["another_member"]


broken = 0
for name, path in (("findings", here / recordings[0].stem / "findings.json"), (HANG, here / "hung/profile.json")):
    if not path.exists():
        continue
    document = json.loads(path.read_text(encoding="utf-8"))
    document = document[HANG] if name == HANG else document
    whole = schemas[f"strata.{name}"][1]
    that(whole.is_valid(document), f"{name}: invalid before anything is changed")
    seen = set()
    for what in mutations(document):
        broken += 1
        that(not whole.is_valid(document), f"{name}.json does not see {what}")
    that(whole.is_valid(document), f"{name}: the changes were not taken back")
    for member in list(document):
        kept = document.pop(member)
        that(not whole.is_valid(document), f"{name}.json does not miss {member}")
        document[member] = kept
that(broken > 50, f"only {broken} changes")

that(set(checked) == set(schemas), f"only {sorted(checked)} were seen")
end(f"schemas: {', '.join(f'{count} of {name}' for name, count in sorted(checked.items()))}; {broken} changes seen")
