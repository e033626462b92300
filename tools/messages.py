"""Writes messages.inc: every message of docs/troubleshooting.md with its cause and cure, for `strata help`.

messages.py [--check]; with --check the exit code is 1 where the file is not what would be written."""

import json
import pathlib
import re
import sys

here = pathlib.Path(__file__).resolve().parent
page = here.parent / "docs/troubleshooting.md"
made = here / "messages.inc"


def plain(text):
    """Without marks of Markdown."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"\s+", " ", re.sub(r"[`*]", "", text).replace("\\|", "|")).strip()


def rows(text):
    """Messages and cures of all tables whose first or second column is headed `message`."""
    column = None
    for line in text.splitlines():
        if not line.startswith("|"):
            column = None
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if "message" in cells:
            column = cells.index("message")
        elif column is not None and not re.match(r"\|[-: |]+\|$", line):
            yield re.findall(r"`([^`]+)`", cells[column]), plain(" ".join(cells[column + 1:]))


def literal(text):
    return json.dumps(text, ensure_ascii=False)


text = "// Made by tools/messages.py of docs/troubleshooting.md.\n"
for messages, cure in rows(page.read_text(encoding="utf-8")):
    if messages and cure:
        said = ", ".join(literal(message.replace("\\|", "|")) for message in messages)
        text += f"{{{{{said}}},\n {literal(cure)}}},\n"
if "--check" in sys.argv[1:]:
    sys.exit(made.read_text(encoding="utf-8") != text)
made.write_text(text, encoding="utf-8")
