#!/usr/bin/env python3
"""Writes src/report/page_files.hpp: the pages of this folder as C++ strings.

    python3 page/embed.py                   after a change of a file in page/
    python3 page/embed.py --check           says whether the header is up to date; exit status 1 where not
    python3 page/embed.py --show OLD NEW    writes the page OLD as NEW, with its data and the present files

report.html and comparison.html are the pages: each names its style and scripts in their order, and has an empty element for
its data. A script or style is embedded without comments and indentation, so a comment has lines of its own and a text
does not go over a line.
"""
import pathlib
import re
import sys

here = pathlib.Path(__file__).resolve().parent
HEADER = here.parent / "src/report/page_files.hpp"
PAGES = ("report", "comparison")
DATA = '<script type="application/json" id="data">'
WORDS = "<!-- in words -->\n"  # what stands here without script
LONGEST = 15000  # bytes of a literal: MSVC takes 16,380

TOP = """#include <strata/version.hpp>
#ifndef STRATA_REPORT_PAGE_FILES_HPP
#define STRATA_REPORT_PAGE_FILES_HPP

#include <strata/base/macros.hpp>

#include <string_view>

// Made by page/embed.py of the files in page/. Change those, then run: python3 page/embed.py
// clang-format off

STRATA_BEGIN
namespace detail {

using std::string_view_literals::operator""sv;  // g++ counts the characters of others one by one

"""
BOTTOM = """
}  // namespace detail
STRATA_END

// clang-format on

#endif  // STRATA_REPORT_PAGE_FILES_HPP
"""


def without_comments(text):
    """The lines without indentation, comments and empty ones."""
    text = re.sub(r"^\s*/\*.*?\*/[ \t]*$", "", text, flags=re.S | re.M)
    lines = (line.strip() for line in text.split("\n"))
    return "".join(line + "\n" for line in lines if line and not line.startswith("//"))


def pieces_of(name):
    """A page as lists of (name of the piece, text): what comes before the answer in words, if it has one, then what
    comes before the data, and behind them."""
    text = (here / f"{name}.html").read_text(encoding="ascii")
    head, tail = text.split(DATA)
    before = (head + DATA).split(WORDS)
    return [list(parts_of(part)) for part in (*before, tail)]


def places_of(parts):
    """The names of these lists."""
    return ("head", "tail") if len(parts) == 2 else ("head", "middle", "tail")


def parts_of(markup):
    """Markup, and the files that it names in its place."""
    kept = ""
    for line in markup.splitlines(keepends=True):
        named = re.fullmatch(r'<(?:script src|link rel="stylesheet" href)="([\w/.]+)">(?:</script>)?\n', line)
        if not named:
            kept += line
            continue
        if kept:
            yield "markup", kept
            kept = ""
        file = here / named.group(1)
        element = "script" if file.suffix == ".js" else "style"
        text = without_comments(file.read_text(encoding="ascii"))
        yield re.sub(r"\W", "_", named.group(1)), f"<{element}>\n{text}</{element}>\n"
    if kept:
        yield "markup", kept


def split(text):
    """The text in pieces that a compiler takes, each of whole lines."""
    piece = ""
    for line in text.splitlines(keepends=True):
        if piece and len(piece) + len(line) > LONGEST:
            yield piece
            piece = ""
        piece += line
    yield piece


def header():
    """The text of the header."""
    names, definitions, tables = {}, "", ""
    for page in PAGES:
        lists = pieces_of(page)
        for place, parts in zip(places_of(lists), lists):
            listed = []
            for label, text in parts:
                for piece in split(text):
                    if piece not in names:
                        same = sum(name.startswith(f"page_{label}") for name in names.values())
                        names[piece] = f"page_{label}" + (f"_{same + 1}" if label == "markup" or same else "")
                        definitions += f'inline constexpr std::string_view {names[piece]} = R"page({piece})page"sv;\n'
                    listed.append(names[piece])
            tables += f"\ninline constexpr std::string_view {page}_page_{place}[] = {{\n"
            tables += "".join(f"    {name},\n" for name in listed) + "};\n"
    return TOP + definitions + tables + BOTTOM


def show(old, new):
    """A page with the data of another and the present files."""
    text = pathlib.Path(old).read_text(encoding="utf-8")
    data = text.split(DATA)[1].split("</script>")[0]
    name = "comparison" if '"strata.comparison"' in data[:200] else "report"
    *head, tail = ("".join(text for _, text in parts) for parts in pieces_of(name))
    pathlib.Path(new).write_text("".join(head) + data + tail, encoding="utf-8")


def main(arguments):
    if arguments[:1] == ["--show"] and len(arguments) == 3:
        show(*arguments[1:])
        return 0
    if arguments not in ([], ["--check"]):
        print(__doc__)
        return 2
    text = header()
    if not arguments:
        HEADER.write_text(text, encoding="ascii")
        return 0
    if HEADER.is_file() and HEADER.read_text(encoding="utf-8") == text:
        return 0
    print("src/report/page_files.hpp is not what the files of page/ make: run python3 page/embed.py")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
