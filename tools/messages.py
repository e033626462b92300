"""Writes what `strata help` knows of the documents. messages.inc: every message of docs/reference/messages.md with its
cause and fix; the sentences of codes are those of the headers, their fixes those of the document. entries.inc: every
name that an entry of the other references explains, such as the columns of the CSV files.

messages.py [--check]; with --check the exit code is 1 where a file is not what would be written."""

import json
import pathlib
import re
import sys

here = pathlib.Path(__file__).resolve().parent
docs = here.parent / "docs"
page = (docs / "reference/messages.md").read_text(encoding="utf-8")
# The documents whose entries are topics, and the sections that have messages in place of names.
EXPLAINING = ("reference/files.md", "reference/metrics.md", "reference/findings.md", "reference/comparison.md",
              "how-to/model.md")
MESSAGES = ("Notes",)
LONGEST = 40  # letters of a name
KINDS = {"The table": "column", "Memory by purpose": "column", "The limiter": "limiter", "Rates": "metric",
         "Units": "metric", "Counters of the CPU": "metric", "The answer": "answer",
         "Sentences of the answer": "answer", "Rules that need the trace alone": "rule", "Rules that need counters": "rule", "Measured roofs": "roof"}
LITERAL = r'"(?:[^"\\\n]|\\.)*"'
TEXT = rf"{LITERAL}(?:\s*{LITERAL})*"
NO_MORE = "The message itself says what to do."


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


def fixes(text):
    """What to do about each code of a section."""
    found = {}
    for codes, fix in re.findall(r"^(\d[\d, ]*): (.*)", "\n".join(items(text)), re.M):
        found.update({code: plain(fix) for code in re.findall(r"\d+", codes)})
    return found


def sentence(texts):
    return "".join(json.loads(part) for part in re.findall(LITERAL, texts))


def numbers(source):
    return dict(re.findall(r"^  (\w+) = (\d+),?", source[source.index("enum class result : int {"):], re.M))


def code_rows():
    """The sentences of the headers for each code that has a fix."""
    include = here.parent / "include/strata/collect/cuda"
    cupti = (include / "cupti.hpp").read_text(encoding="utf-8")
    general, special = (fixes(part) for part in page.split("## CUPTI\n")[1].split("## Counters\n")[0].split("Of the profiler"))
    for name, texts in re.findall(r"\{result::(\w+), errc::\w+,(.*?)\}(?:,\n|\};)", cupti, re.S):
        code = numbers(cupti)[name]
        said = re.split(r",\s*(?=\"|refused)", texts.strip())
        for text, fix in zip(said, (general.get(code), special.get(code, general.get(code)))):
            if text.startswith('"') and fix:
                yield [sentence(text)], fix
    driver = (include / "driver.hpp").read_text(encoding="utf-8")
    known = fixes(page.split("## Driver and device\n")[1].split("## CUPTI\n")[0])
    body = driver[driver.index("char const* fix(result"):]
    for name, text in re.findall(rf"case result::(\w+):\n\s*return ({TEXT});", body[:body.index("\n}")]):
        if numbers(driver)[name] in known:
            yield [sentence(text)], known[numbers(driver)[name]]


def literal(text):
    return json.dumps(text, ensure_ascii=False)


NAME = r"`[^`]+`(?: \([^)]*\))?"
DEFINED = re.compile(rf"(?:^|(?<=\. ))({NAME}(?:(?:,|,? or|,? and) {NAME})*)(?:: |\.?$)")


def definitions(text):
    """The names that an item or a paragraph explains, and what it says of them: `name`, `name`: text. `name`: text."""
    found = list(DEFINED.finditer(text))
    for one, following in zip(found, [*found[1:], None]):
        names = [name for name in re.findall(r"`([^`]+)`", one.group(1)) if len(name) <= LONGEST and "…" not in name]
        said = plain(text[one.end():following.start() if following else len(text)])
        if names:
            yield names, said


def rows_of_tables(text):
    """The names that the first cell of a row explains, and what the other cells say."""
    for line in re.findall(r"^\| *`.*", text, re.M):
        first, *cells = (cell.strip() for cell in line.strip().strip("|").split("|"))
        names = [name for name in re.findall(r"`([^`]+)`", first) if len(name) <= LONGEST and "…" not in name]
        if names:
            yield names, plain(" ".join(cells))


def entries():
    """Names, what they are, the document that explains them, and what it says."""
    for name in EXPLAINING:
        document = (docs / name).read_text(encoding="utf-8")
        for title, text in re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", document, re.S | re.M):
            paragraphs = re.findall(r"^`[^`]+`.*(?:\n(?!- |\n).+)*", text, re.M)
            for part in [] if title in MESSAGES else items(text) + [re.sub(r"\s+", " ", lines) for lines in paragraphs]:
                for names, said in definitions(part):
                    yield names, [KINDS.get(title, title), f"docs/{name}"], said
            for names, said in rows_of_tables(text):
                yield names, [KINDS.get(title, title), f"docs/{name}"], said


def texts():
    """The files by name."""
    about = "// Made by tools/messages.py of docs/{}.\n"
    text = about.format("reference/messages.md")
    for messages, fix in [*code_rows(), *rows(page.split("## STRATA and its keys\n")[1])]:
        text += f"{{{{{', '.join(map(literal, messages))}}},\n {literal(fix)}}},\n"
    yield "messages.inc", text
    text = about.format(", docs/".join(EXPLAINING))
    for names, where, said in entries():
        text += f"{{{{{', '.join(map(literal, names))}}}, {', '.join(map(literal, where))},\n {literal(said)}}},\n"
    yield "entries.inc", text


for name, text in texts():
    if "--check" not in sys.argv[1:]:
        (here / name).write_text(text, encoding="utf-8")
    elif (here / name).read_text(encoding="utf-8") != text:
        sys.exit(1)
