"""Writes messages.inc: every message of docs/reference/messages.md with its cause and cure, for `strata help`. The sentences of
codes are those of the headers, their cures those of the document.

messages.py [--check]; with --check the exit code is 1 where the file is not what would be written."""

import json
import pathlib
import re
import sys

here = pathlib.Path(__file__).resolve().parent
page = (here.parent / "docs/reference/messages.md").read_text(encoding="utf-8")
made = here / "messages.inc"
LITERAL = r'"(?:[^"\\\n]|\\.)*"'
TEXT = rf"{LITERAL}(?:\s*{LITERAL})*"
NO_MORE = "The sentence names its cure."


def plain(text):
    """Without marks of Markdown."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"\s+", " ", re.sub(r"[`*]", "", text)).strip()


def items(text):
    return [re.sub(r"\s+", " ", item) for item in re.findall(r"^ *- (.*(?:\n +(?!- ).*)*)", text, re.M)]


def rows(text):
    """Messages, those that an item begins with, and what follows them."""
    for item in items(text):
        head = re.match(r"(?:`[a-z_]+` )?((?:`[^`]+`(?: \([^)]*\))?(?:, |,? with |,? after )?)+)", item)
        if head:
            yield re.findall(r"`([^`]+)`", head.group(1)), plain(item[head.end():].lstrip(": ")) or NO_MORE


def cures(text):
    """What to do about each code of a section."""
    found = {}
    for codes, cure in re.findall(r"^(\d[\d, ]*): (.*)", "\n".join(items(text)), re.M):
        found.update({code: plain(cure) for code in re.findall(r"\d+", codes)})
    return found


def sentence(texts):
    return "".join(json.loads(part) for part in re.findall(LITERAL, texts))


def numbers(source):
    return dict(re.findall(r"^  (\w+) = (\d+),?", source[source.index("enum class result : int {"):], re.M))


def code_rows():
    """The sentences of the headers for each code that has a cure."""
    include = here.parent / "include/strata/collect/cuda"
    cupti = (include / "cupti.hpp").read_text(encoding="utf-8")
    general, special = (cures(part) for part in page.split("## CUPTI\n")[1].split("## Counters\n")[0].split("Of the profiler"))
    for name, texts in re.findall(r"\{result::(\w+), errc::\w+,(.*?)\}(?:,\n|\};)", cupti, re.S):
        code = numbers(cupti)[name]
        said = re.split(r",\s*(?=\"|refused)", texts.strip())
        for text, cure in zip(said, (general.get(code), special.get(code, general.get(code)))):
            if text.startswith('"') and cure:
                yield [sentence(text)], cure
    driver = (include / "driver.hpp").read_text(encoding="utf-8")
    known = cures(page.split("## Driver and device\n")[1].split("## CUPTI\n")[0])
    body = driver[driver.index("char const* cure(result"):]
    for name, text in re.findall(rf"case result::(\w+):\n\s*return ({TEXT});", body[:body.index("\n}")]):
        if numbers(driver)[name] in known:
            yield [sentence(text)], known[numbers(driver)[name]]


def literal(text):
    return json.dumps(text, ensure_ascii=False)


text = "// Made by tools/messages.py of docs/reference/messages.md.\n"
for messages, cure in [*code_rows(), *rows(page.split("## STRATA and its keys\n")[1])]:
    text += f"{{{{{', '.join(map(literal, messages))}}},\n {literal(cure)}}},\n"
if "--check" in sys.argv[1:]:
    sys.exit(made.read_text(encoding="utf-8") != text)
made.write_text(text, encoding="utf-8")
