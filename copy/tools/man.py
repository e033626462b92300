"""Writes the manual page of the command: what it says of its subcommands, and docs/reference/command.md.

man.py STRATA FILE: STRATA is the command, FILE the page, strata.1. CMake and Meson run this when the command is built."""

import pathlib
import re
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent
page = (here.parent / "docs/reference/command.md").read_text(encoding="utf-8")
HELP_OF_HELP = "-h,--help"
NEVER_SHOWN = ("Schemas",)  # a manual page has no links


def said(program, *words, option="--help"):
    done = subprocess.run([program, *words, option], stdout=subprocess.PIPE, universal_newlines=True, check=True)
    return done.stdout


def roff(text):
    """A text that roff prints as it is."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("…", "...")
    return re.sub(r"^\.", r"\\&.", text, flags=re.M)


def marked(text):
    """A text of Markdown: code is bold, a link is its words."""
    text = re.sub(r"\s+", " ", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)).strip()
    return "".join(rf"\fB{roff(part)}\fR" if odd % 2 else roff(part) for odd, part in enumerate(text.split("`")))


def verbatim(lines):
    return [".PP", ".nf", ".RS 2", *(roff(line) or "\\&" for line in lines), ".RE", ".fi"]


def blocks(text):
    """Paragraphs of Markdown: those that are indented are code, those that begin with - are items."""
    lines = []
    for block in filter(None, re.split(r"\n\s*\n", text.strip("\n"))):
        if block.startswith("    "):
            lines += verbatim(line[4:] for line in block.splitlines())
        elif block.startswith("- "):
            for item in re.split(r"\n(?=- )", block):
                lines += [".IP \\(bu 2", marked(item[2:])]
        else:
            lines += [".PP", marked(block)]
    return lines


def paragraphs(text):
    """What follows the options of a subcommand: as it is where a line of it is indented."""
    lines = []
    for block in filter(str.strip, re.split(r"\n\s*\n", text)):
        rows = block.strip("\n").splitlines()
        is_prose = not any(row.startswith(" ") for row in rows)
        lines += [".PP", *map(roff, rows)] if is_prose else verbatim(rows)
    return lines


def arguments(text):
    """The rows of a list of arguments: names, and what each one is."""
    rows = []
    for line in text.splitlines():
        row = re.match(r"  (\S.*?)(?: {2,}(\S.*))?$", line)
        if row:
            rows.append([row.group(1), row.group(2) or ""])
        elif line.strip():
            rows[-1][1] = f"{rows[-1][1]} {line.strip()}".strip()
    return [(name, about) for name, about in rows if name != HELP_OF_HELP]


def argument(name, about):
    """A row as a tagged paragraph: of a positional argument its kind, TEXT, says nothing."""
    word, _, takes = re.sub(r" REQUIRED$", "", name).partition(" ")
    kind = re.sub(r"^TEXT:", "", takes)
    if not word.startswith("-"):
        kind = kind.replace("TEXT", "").strip()
    value = rf" \fI{roff(kind)}\fR" if kind else ""
    return [".TP", rf"\fB{roff(word)}\fR{value}", roff(about)]


class Subcommand:
    """What a subcommand says of itself."""

    def __init__(self, program, name):
        text = said(program, name)
        self.about, usage, rest = text.split("\n", 2)
        self.usage = usage[len("Usage: "):]
        lists, _, self.details = rest.lstrip("\n").partition("Options:\n")
        options, _, self.details = self.details.partition("\n\n")
        self.arguments = arguments(lists.replace("Positionals:\n", "")) + arguments(options)

    def section(self):
        lines = [f".SS {self.usage.split(' [')[0]}", f"{roff(self.about)}.", ".PP", rf"\fB{roff(self.usage)}\fR"]
        for row in self.arguments:
            lines += argument(*row)
        return lines + paragraphs(self.details)


def manual(program):
    usage = said(program)
    about, version = usage.split("\n", 1)[0], said(program, option="--version")
    names = re.findall(r"^  (\w+) {2,}[A-Z]", usage.split("Subcommands:")[1], re.M)
    commands = [Subcommand(program, name) for name in names]
    _, beginning, *sections = re.split(r"^# .*\n|^## ", page, flags=re.M)
    lines = [r'.\" Of docs/reference/command.md and strata --help, by tools/man.py: change these.',
             f'.TH STRATA 1 "" "Strata {version.split()[-1]}" "User Commands"', ".SH NAME",
             r"strata \- record programs on NVIDIA GPUs, and report what was recorded", ".SH SYNOPSIS"]
    for command in commands:
        lines += [rf"\fB{roff(command.usage)}\fR", ".br"]
    items = re.search(r"^- `strata run.*?(?=\n\n)", beginning, re.S | re.M).group()
    lines[-1:] = [".SH DESCRIPTION", roff(about), *blocks(items), ".SH COMMANDS"]
    for command in commands:
        lines += command.section()
    for section in sections:
        title, text = section.split("\n", 1)
        if title not in NEVER_SHOWN:
            lines += [f'.SH "{title.upper()}"', *blocks(text)]
    lines += [".SH EXIT STATUS"]
    for code, text in re.findall(r"^  (\d)  (.*)", usage, re.M):
        lines += [".TP", rf"\fB{code}\fR", roff(text)]
    return "\n".join(lines) + "\n"


if len(sys.argv) != 3:
    sys.exit(__doc__)
pathlib.Path(sys.argv[2]).write_text(manual(str(pathlib.Path(sys.argv[1]).resolve())), encoding="utf-8")
