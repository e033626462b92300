"""A recording of a MB, whatever it has many of, is read within 5 s of a processor and 256 MB, which an unoptimised command keeps too;
its trace, which may have hundreds of times its bytes, within a minute."""

import pathlib
import resource
import shutil

from _script import build, end, expect, needs, program, run, that

maker = build / "tests/bin/unit_tests"
needs(program, maker)
shapes = ["deep-calls", "depth", "overlapping-ranges", "long-names", "names", "kernel-names"]
made = run(maker, "--source-file=*/unit/growing_profiles_test.cpp", "--test-case=recordings of so many*",
           env={"STRATA_TEST_GROWING": " ".join(["1000000", *shapes])})
that(made.returncode == 0, made.stdout)


def limited(seconds):
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_DATA, (2**28, 2**28))
        resource.setrlimit(resource.RLIMIT_AS, (2**29, 2**29))

    return limit


for shape in shapes:
    file = pathlib.Path(f"{shape}.strata")
    that(850_000 < file.stat().st_size <= 1_000_000, f"{file}: {file.stat().st_size} bytes")
    for seconds, words in ((5, ["report", file, "--formats", "table+csv+json+html+openmetrics", "--out", "out"]), (5, ["explain", file]),
                           (5, ["compare", file, file]), (60, ["trace", file, "--out", "trace.json.gz"])):
        shutil.rmtree("out", ignore_errors=True)
        # Paths of more than 2,000 bytes are refused. All steps of a run that has others in one of them are no comparison.
        code = 2 if shape == "long-names" else 3 if shape == "overlapping-ranges" and words[0] == "compare" else 0
        done = expect(code, program, *words, preexec_fn=limited(seconds))
        that((code == 2) == ("are too long for a report" in done.stderr), f"{words}: {done.stderr}")
end("limits")
