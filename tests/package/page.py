"""The files of page/: they are embedded alike by each build, they are formatted, and eslint finds nothing in them."""
import os
import pathlib
import re
import shutil
import sys

from common import ROOT, Checks, clean_environment, left_out, run

PAGE = ROOT / "page"
LONGEST = 100  # columns
sys.path.insert(0, str(PAGE))
import embed  # noqa: E402


def check_format(checks, path, name):
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    wrong = [f"  {name}:{i + 1}: {line[:60]}" for i, line in enumerate(lines)
             if len(line) > LONGEST or "\t" in line or line != line.rstrip()]
    checks.that(not wrong, f"{name} has at most {LONGEST} columns, and no blanks at the end", "\n".join(wrong))
    checks.that(text.isascii() and text.endswith("\n") and not text.endswith("\n\n"), f"{name} is ASCII and ends in one line end")
    odd = [f"  {name}:{i + 1}" for i, line in enumerate(lines)
           if (len(line) - len(line.lstrip(" "))) % 2 and not line.lstrip().startswith("*")]
    checks.that(not odd, f"{name} is indented by 2", "\n".join(odd))
    if path.suffix == ".js":
        checks.that(lines[0] == '"use strict";', f"{name} is strict")
        checks.that(all(line.count("`") % 2 == 0 for line in lines), f"{name} has no text over several lines")
    if path.suffix == ".js" and path.parent.parent == PAGE:
        checks.that(lines[1].startswith("// "), f"{name} says what it is")


def check_embedding(checks):
    made = [pathlib.Path(name).resolve() for name in ("by_python.hpp", "by_cmake.hpp")]
    checks.succeeds("embed.py", [sys.executable, PAGE / "embed.py", made[0]])
    checks.succeeds("embed.cmake", ["cmake", f"-DOUT={made[1]}", "-P", PAGE / "embed.cmake"])
    checks.that(made[0].read_bytes() == made[1].read_bytes(), "Python and CMake embed the same")
    named = {name for page in embed.PAGES for name in re.findall(r'(?:src|href)="([\w/.]+\.(?:js|css))"',
                                                                  (PAGE / f"{page}.html").read_text())}
    there = {path.relative_to(PAGE).as_posix() for path in PAGE.rglob("*") if path.suffix in (".js", ".css")}
    checks.that(named == there, "each file of page/ is on a page", "  " + " ".join(sorted(named ^ there)))
    for literal in re.findall(r'R"page\((.*?)\)page"', made[0].read_text(), re.S):
        checks.that(len(literal) <= 16000, "a literal has at most 16,000 bytes, which every compiler takes", literal[:60])
    for page in embed.PAGES:
        size = sum(len(text) for _, text in embed.pieces_of(page))
        checks.that(size <= 300 * 1024, f"{page}.html is at most 300 KiB without its data")
        print(f"{page}.html: {size} bytes without its data")


def scripts_of(page):
    """A page's scripts as one, as a browser sees them, and where each of its lines is from."""
    text, places = "", []
    for name in re.findall(r'<script src="([\w/.]+)">', (PAGE / f"{page}.html").read_text()):
        lines = (PAGE / name).read_text().splitlines(keepends=True)
        if text:
            lines[0] = "\n"  # one "use strict" is enough
        text += "".join(lines)
        places += [(name, i + 1) for i in range(len(lines))]
    return text, places


def lint(checks, eslint):
    """Debian's modules are in a folder of their own, which another node does not search."""
    environment = clean_environment(NODE_PATH=os.pathsep.join(filter(None, [os.environ.get("NODE_PATH"), "/usr/share/nodejs"])))
    unused = {}
    for page in embed.PAGES:
        text, places = scripts_of(page)
        done = run([eslint, "--stdin", "--stdin-filename", PAGE / "page.js", "--format", "unix"], stdin=text, cwd=PAGE, env=environment)
        found = re.findall(r"^.*?:(\d+):\d+: (.*)$", done.stdout, re.M)
        messages = ["{}:{}: {}".format(*places[int(line) - 1], what) for line, what in found]
        # What only one of the pages uses stands in shared/ all the same, but one of them does.
        unused[page] = {each for each in messages if each.startswith("shared/") and "no-unused-vars" in each}
        wrong = [each for each in messages if each not in unused[page]]
        checks.that(not wrong and done.returncode in (0, 1), f"eslint finds nothing in the scripts of {page}.html",
                    "\n".join("  " + each for each in wrong) + done.stderr)
    nowhere = set.intersection(*unused.values())
    checks.that(not nowhere, "what is in shared/ is used", "\n".join("  " + each for each in sorted(nowhere)))


def main():
    checks = Checks()
    files = [path for path in PAGE.rglob("*") if path.suffix in (".js", ".css", ".html")] + list((ROOT / "tests/page").glob("*.js"))
    for path in sorted(files):
        check_format(checks, path, path.relative_to(ROOT).as_posix())
    check_embedding(checks)
    node = shutil.which("node") or shutil.which("nodejs")
    if node:
        for path in sorted(path for path in files if path.suffix == ".js"):
            checks.succeeds(f"node reads {path.name}", [node, "--check", path])
    else:
        left_out("whether node reads the scripts", "apt-get install nodejs")
    eslint = shutil.which("eslint")
    if node and eslint:
        lint(checks, eslint)
    else:
        left_out("what eslint finds in the page's scripts", "apt-get install eslint")
    return checks.end()
