#!/usr/bin/env python3
"""Writes the pages of this folder as C++ strings, for src/report.

    python3 page/embed.py FILE              writes them to FILE, strata_page_files.hpp for the compiler
    python3 page/embed.py --show OLD NEW    writes the page OLD as NEW, with its data and the present files

report.html and comparison.html are the pages: each names its style and scripts in their order, and has an empty element for
its data. A script or style is embedded without comments and indentation, so a comment has lines of its own and a text
does not go over a line. embed.cmake writes the same, for builds without Python.
"""
import pathlib
import re
import sys

here = pathlib.Path(__file__).resolve().parent
PAGES = ("report", "comparison")
DATA = '<script type="application/json" id="data">'
WORDS = "<!-- in words -->\n"  # what stands here without script
MAX_LITERAL = 15000  # bytes: MSVC takes 16,380
TOP = """// Made of the files in page/.
#include <string_view>

namespace strata_pages {

using std::string_view_literals::operator""sv;
"""
BOTTOM = "\n}  // namespace strata_pages\n"


def without_comments(text):
    """The lines without indentation, comments and empty ones."""
    text = re.sub(r"^\s*/\*.*?\*/[ \t]*$", "", text, flags=re.S | re.M)
    lines = (line.strip() for line in text.split("\n"))
    return "".join(line + "\n" for line in lines if line and not line.startswith("//"))


def embedded(line):
    """A line of markup, or the file that it names in its place."""
    named = re.fullmatch(r'<(?:script src|link rel="stylesheet" href)="([\w/.]+)">(?:</script>)?\n', line)
    if not named:
        return line
    file = here / named.group(1)
    element = "script" if file.suffix == ".js" else "style"
    return f"<{element}>\n{without_comments(file.read_text(encoding='ascii'))}</{element}>\n"


def pieces_of(page):
    """A page as (place, text): what comes before the answer in words, if it has one, then what comes before the data, and
    what comes behind them."""
    markup = (here / f"{page}.html").read_text(encoding="ascii")
    head, tail = "".join(map(embedded, markup.splitlines(keepends=True))).split(DATA)
    before = (head + DATA).split(WORDS)
    return list(zip(("head", "middle", "tail") if len(before) == 2 else ("head", "tail"), (*before, tail)))


def header():
    """The text of the header."""
    made = TOP
    for page in PAGES:
        for place, text in pieces_of(page):
            literals = [text[at:at + MAX_LITERAL] for at in range(0, len(text), MAX_LITERAL)]
            made += f"\nstatic constexpr std::string_view {page}_{place}[] = {{\n"
            made += "".join(f'R"page({literal})page"sv,\n' for literal in literals) + "};\n"
    return made + BOTTOM


def show(old, new):
    """A page with the data of another and the present files."""
    text = pathlib.Path(old).read_text(encoding="utf-8")
    data = text.split(DATA)[1].split("</script>")[0]
    page = "comparison" if '"strata.comparison"' in data[:200] else "report"
    *head, (_, tail) = pieces_of(page)
    pathlib.Path(new).write_text("".join(text for _, text in head) + data + tail, encoding="utf-8")


def main(arguments):
    if arguments[:1] == ["--show"] and len(arguments) == 3:
        show(*arguments[1:])
    elif len(arguments) == 1 and not arguments[0].startswith("-"):
        pathlib.Path(arguments[0]).write_text(header(), encoding="ascii")
    else:
        print(__doc__)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
