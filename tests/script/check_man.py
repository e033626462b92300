"""strata.1, the manual page that the build makes, is what the command and docs/reference/command.md say, and roff takes it without a warning."""

import pathlib
import re
import shutil
import sys
import tempfile

from _script import end, needs, program, root, run, skip, that

needs(program)

# In a copy, it is written anew, with the same bytes, and a change of the document or of the page is seen.
page = program.parent / "strata.1"
if not page.exists():
    skip("CMake found no Python, so that there is no manual page")
folder = tempfile.TemporaryDirectory()
copy = pathlib.Path(folder.name)
for name in ("tools/man.py", "docs/reference/command.md"):
    (copy / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(root / name, copy / name)
man = (sys.executable, "-B", copy / "tools/man.py", program)
that(run(*man).returncode != 0, "man.py without a file to write")
that(run(*man, copy / "strata.1").returncode == 0 and (copy / "strata.1").read_bytes() == page.read_bytes(),
     "the page of the build is not of the command and its document")
document = copy / "docs/reference/command.md"
document.write_text(document.read_text(encoding="utf-8").replace("replaces itself by the program", "is the program"), encoding="utf-8")
that(run(*man, copy / "strata.1").returncode == 0 and "is the program" in (copy / "strata.1").read_text(encoding="utf-8"),
     "a change of the document is not in the page")

# What it says: each subcommand with all of its options, and all exit codes.
text = page.read_text(encoding="utf-8")
that(all(ord(letter) < 128 for letter in text), "a character that not every roff has")
plain = re.sub(r"\\f[BIR]", "", text).replace("\\-", "-")
commands = re.findall(r"^  (\w+) {2,}[A-Z]", run(program, "--help").stdout.split("Subcommands:")[1], re.M)
for name in commands:
    that(f".SS strata {name}\n" in plain, f"nothing on strata {name}")
    for option in re.findall(r"^  (--[a-z-]+)", run(program, name, "--help").stdout, re.M):
        that(re.search(rf"^\.TP\n{option}\b", plain.split(f".SS strata {name}\n")[-1].split(".SS")[0], re.M), f"nothing on {option} of {name}")
for code in range(4):
    that(re.search(rf"^\.TP\n{code}\n", plain.split(".SH EXIT STATUS")[-1], re.M), f"nothing on exit code {code}")

# How it looks.
for name, words in (("groff", ("-man", "-ww", "-Tutf8")), ("mandoc", ("-Tlint", "-Wwarning"))):
    if not shutil.which(name):
        print(f"LEFT OUT: {name} is not installed")
        continue
    shown = run(name, *words, page)
    that(shown.returncode == 0 and not shown.stderr, f"{name} says: {shown.stderr}")
    if name == "groff":
        lines = re.sub(r"\x1b\[\d*m|.\x08", "", shown.stdout)
        that(re.search(r"^ +--steps TEXT", lines, re.M) and "strata run -- PROGRAM" in lines, f"groff shows: {lines[:2000]}")
        that(not re.search(r"\\\w|^\.[A-Z]", lines, re.M), "a request of roff is shown as text")

end(f"{len(commands)} subcommands")
