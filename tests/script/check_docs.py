"""The documents tell what the code does: every key, column, metric, loss and message has its entry, and no entry is without code.

docs/reference/configuration.md  the keys and values of STRATA=, the variables, the fields of strata::options
docs/reference/files.md          the columns of every CSV file, the keys of profile.json, the table
docs/reference/metrics.md        rates, units, the table of counters, the CPU's counters, notes
docs/reference/messages.md       losses, codes of CUPTI and the driver, and sentences: the first four words of each
docs/reference/api.md            declarations as the headers have them
All of them                      links; code that is marked complete compiles; STRATA= texts have no mistake
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
root = root if root.is_dir() else root.parents[2]
include, src = root / "include/strata", root / "src"
docs = root / "docs"
pages = {p.relative_to(docs).as_posix(): p.read_text(encoding="utf-8") for p in sorted(docs.rglob("*.md"))}
readme = (root / "README.md").read_text(encoding="utf-8")
contributing = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
CONFIGURATION, FILES, METRICS = "reference/configuration.md", "reference/files.md", "reference/metrics.md"
MESSAGES, API = "reference/messages.md", "reference/api.md"
failures = []


def fail(name, text):
    failures.append(f"{name}: {text}")


def plain(text):
    """Without marks and line breaks, so that texts can be searched for."""
    return re.sub(r"\s+", " ", text.replace("`", "").replace("\\|", "|")).strip()


def section(name, title):
    found = re.search(rf"^##+ {re.escape(title)}\n(.*?)(?=^## |\Z)", pages[name], re.S | re.M)
    if not found:
        fail(name, f"no section '{title}'")
    return found.group(1) if found else ""


def without_code(text):
    return re.sub(r"^ *```.*?^ *```", "", text, flags=re.S | re.M)


def code_spans(text):
    return re.findall(r"(?<!`)`([^`\n]+)`(?!`)", without_code(text))


def entries(text):
    """The entries of a text: a list item each, as (the code spans that it begins with, all of it)."""
    items = re.findall(r"^ *- (.*(?:\n +(?!- ).*)*)", without_code(text), re.M)
    for item in (re.sub(r"\s+", " ", i) for i in items):
        head = re.match(r"((?:`[^`]+`(?: \([^)]*\))?(?:,? (?:beside )?)?)*)", item)
        yield re.findall(r"`([^`]+)`", re.sub(r"(`[^`]+`) \([^)]*\)", r"\1", head.group(1))), item


def heads(text):
    """The code that the entries of a text begin with."""
    return [span for spans, _ in entries(text) for span in spans]


def same(name, what, there, told):
    for one in sorted(set(there) - set(told)):
        fail(name, f"{what} {one!r} has no entry")
    for one in sorted(set(told) - set(there)):
        fail(name, f"there is no {what} {one!r}")


def file_of(path):
    """A header, in whichever room it is."""
    at = [folder / path for folder in (include, src) if (folder / path).exists()]
    found = at or [file for folder in (include, src) for file in folder.rglob(pathlib.PurePath(path).name)]
    if len(found) != 1:
        sys.exit(f"FAILED: {path}: {len(found)} headers of this name")
    return found[0]


def read(path):
    return file_of(path).read_text(encoding="utf-8")


# --- messages -----------------------------------------------------------------------------------------------------

LITERAL = r'"(?:[^"\\\n]|\\.)*"'
FIRST_WORDS = 4
# Texts that are no messages, or have entries of another kind: PTX; metrics, of which `strata metrics` prints all; rules, which
# check_findings.py compares with docs/reference/findings.md; columns, which unit.columns_test does; the page, which explains
# itself; codes and losses, see below.
EXEMPT = {
    "ceiling_kernels.hpp", "column_meanings.hpp", "metric_catalogue.hpp", "metric_rates.hpp", "gpu_chips.hpp", "rules.hpp",
    "balance_rules.cpp", "data_rules.cpp", "doubt_rules.cpp", "idle_rules.cpp", "instruction_rules.cpp", "kernel_rules.cpp",
    "product_rules.cpp",
    "stall_rules.cpp", "stalls.hpp", "step_rules.cpp", "kernel_look.hpp",
    "page_shell.hpp", "comparison_files.hpp", "fleet_metrics.hpp", "cupti.hpp", "driver.hpp",
    "profile.hpp",
}
for name in EXEMPT - {path.name for folder in (include, src) for path in folder.rglob("*.?pp")}:
    fail("tests/script/check_docs.py", f"{name} is exempt and does not exist")
# The lines below the tables explain columns, which have entries of their own.
LEGENDS = {"range_table.hpp", "table.hpp", "console_tables.hpp", "console_tables.cpp", "counter_view.hpp", "cpu_counters.hpp"}
EXPLAINED = {"range_table.hpp", "table.hpp", "console_tables.hpp", "console_tables.cpp", "counter_view.hpp"}  # their other lines say of what the values are


def literals(source):
    """The texts of a source file. Neighbouring literals are one text; comments, includes, pragmas and static_assert are none."""
    token = re.compile(LITERAL + r"|'(?:[^'\\\n]|\\.)+'|//[^\n]*|/\*.*?\*/", re.S)
    source = token.sub(lambda m: "" if m.group().startswith("/") else m.group(), source)
    source = source.replace("\\\n", "\n")  # a macro over several lines
    source = re.sub(r"static_assert\(.*?\)(?:;|$)|is_one_of\([^()]*\)|_Pragma\([^\n]*|^\s*#\s*include[^\n]*", "", source, flags=re.S | re.M)
    of_keys = re.search(r"constexpr key_row keys\[\] = \{.*?\n  \};", source, re.S)
    if of_keys:  # each key has its entry; behind its function is what a message says of other values
        source = source.replace(of_keys.group(), re.sub(r'\{"[a-z-]+",.*?&', "", of_keys.group(), flags=re.S))
    for group in re.findall(rf"{LITERAL}(?:\s*{LITERAL})*", source):
        text = "".join(part[1:-1] for part in re.findall(LITERAL, group))
        yield text.replace('\\"', '"').replace("\\n", " ")


def is_sentence(text):
    """20 characters and three words with blanks between: a message or part of one, not a name, a path, a formula."""
    words = re.findall(r"(?<![^\s('\"])[A-Za-z=%]{2,}(?![\w/.*])", text)
    listed = all(word in known_keys for word in text.split(", "))
    return len(text.strip()) >= 20 and len(words) >= 3 and text.strip().count(" ") >= 2 and not listed


def fixed_words(text):
    """The words of what is fixed in a message. None where a text continues with a sentence."""
    if re.match(r"\s*[;,:).(\"#]", text) or "   " in text:  # the latter: the head of a table
        return None
    for part in re.split(r"%\w+|[{}]", text):
        part = plain(part).strip(" .,;:()[]'\"")
        if len(part) >= 8:
            return part.split()
    return None


def first_words(words, others=()):
    """What a message is found by: its first words, as many as tell it from the others."""
    for count in range(FIRST_WORDS, len(words)):
        if not any(other[:count] == words[:count] for other in others if other != words):
            return " ".join(words[:count]).strip(" .,;:()[]'\"")
    return " ".join(words)


all_texts = []
reader = read("session/options_reader.hpp")
rows_of = {name: set(re.findall(r'\{"([a-z-]+)",', rows))  # the rows of a table of the reader
           for name, rows in re.findall(r"constexpr (?:key|flag)_row (\w+)\[\] = \{(.*?)\n  \};", reader, re.S)}
known_keys = rows_of["keys"] | set(re.findall(r'key == "([a-z0-9-]+)"', reader))
everywhere = plain("\0".join(pages.values()))
titles = {span for text in pages.values() for span in code_spans(text)} | set(re.findall(r"^#+ (.*)", "\n".join(pages.values()), re.M))
wanted = []  # messages that need an entry: their words, whether something that differs comes before, and where they are
speaking = sorted(p for folder in (include, src, root / "tools/inject") for p in folder.rglob("*") if p.suffix in (".hpp", ".h", ".cpp") and p.name != "implementation.cpp")
for path in [*speaking, root / "tools/inject/inject.cpp", root / "tools/profile_json.cpp"]:
    texts = list(literals(path.read_text(encoding="utf-8")))
    all_texts += texts
    for text in filter(is_sentence, texts if path.name not in EXEMPT else []):
        words = fixed_words(text)
        title = re.match(r"\s*((?:[\w%/]+ ?){1,3}): ", text) if path.name in LEGENDS else None
        if words is None or path.name in EXPLAINED and title is None:
            continue
        if title and any({word, word + " %", word + " refs"} & titles for word in title.group(1).lower().split(" and ") + [title.group(1)]):
            continue
        wanted.append((words, text.startswith(" "), path.relative_to(root).as_posix()))
for words, goes_on, name in wanted:  # after what differs the first words are enough
    found_by = first_words(words, [] if goes_on else [other for other, *_ in wanted])
    if found_by not in everywhere:
        fail(MESSAGES, f'nothing on "{found_by}" of {name}')

# Each message of the pages is one that the headers have; `…` stands for what differs.
everything = plain("\0".join(all_texts))
other_words = {"undefined reference to 'dlopen'", "undefined reference to strata::…::session",  # the linker's
               "strata::…::session … has incomplete type", "… has initializer but incomplete…",
               "variable has incomplete type 'strata::session'", "'status' is not a member…",
               "'strata_…_needs_braces_…' was not declared"}  # the compiler's
for name, text in ((MESSAGES, pages[MESSAGES].split("## STRATA and its keys")[-1]), (METRICS, section(METRICS, "Notes"))):
    for message in heads(text):
        for part in [] if message in other_words or re.fullmatch(r"[a-z_]+", message) else re.split("…", message):
            part = plain(part).strip(" .,;:()[]'\"/{}=")
            if len(part) >= 12 and part not in everything:
                fail(name, f'no header says "{part}"')

loss_kinds = re.findall(r'STRATA_DETAIL_LOSS(?:_AS)?\(\s*(\w+),(?: \w+,)?\s*"([^"]+)"', read("profile.hpp"))
told = {spans[0]: plain(item) for spans, item in entries(section(MESSAGES, "Losses")) if spans}
same(MESSAGES, "loss", {key for key, _ in loss_kinds}, told)
for key, what in loss_kinds:
    if first_words(fixed_words(what)) not in told.get(key, ""):
        fail(MESSAGES, f"the loss {key} does not say '{what}'")


def codes_of(source, names):
    numbers = dict(re.findall(r"^  (\w+) = (\d+),?", source[source.index("enum class result : int {"):], re.M))
    return {numbers[name] for name in names}


def codes_told(text):
    """The codes of the entries of a text: each entry says what to do."""
    found = set()
    for numbers in re.findall(r"^ *- (\d[\d, ]*): \S", text, re.M):
        found |= set(re.findall(r"\d+", numbers))
    return found


cupti = read("collect/cuda/cupti.hpp")
general, special = set(), set()
for name, texts in re.findall(r"\{result::(\w+), errc::\w+,(.*?)\}(?:,\n|\};)", cupti, re.S):
    said = re.sub(rf"{LITERAL}(?:\s*{LITERAL})*", "S", texts).split(",")
    general |= {name} if said[0].strip() == "S" else set()
    special |= {name} if len(said) > 1 and said[1].strip() == "S" else set()
of_cupti = section(MESSAGES, "CUPTI").split("Of the profiler")
same(MESSAGES, "code of CUPTI", codes_of(cupti, general) - {"0"}, codes_told(of_cupti[0]))
same(MESSAGES, "code of CUPTI's profiler", codes_of(cupti, special) - {"3", "999"}, codes_told(of_cupti[-1]))
driver = read("collect/cuda/driver.hpp")
fixes = driver[driver.index("char const* fix(result"):]
same(MESSAGES, "code of the driver", codes_of(driver, set(re.findall(r"case result::(\w+):", fixes[:fixes.index("\n}")])) - {"success"}),
     codes_told(section(MESSAGES, "Driver and device")))

# --- configuration ------------------------------------------------------------------------------------------------

code = read("options.hpp")
NAME = CONFIGURATION
table = section(NAME, "Keys of STRATA")
defaults = {}  # of the keys
for spans, item in entries(table):
    given = re.search(r"` \(([^)]*)\):", item)
    for span in spans:
        defaults[span.split("=")[0]] = given.group(1) if given else ""
    if len(item.split(":", 1)[-1].split()) < 2:
        fail(NAME, f"the entry of {spans} says nothing")
same(NAME, "key", known_keys, defaults)
formats = re.findall(r'\{report_format::\w+,\s+"([\w.]+)",[^}]*?(?:"([\w.-]+)"|nullptr)\}', read("session/report_side.hpp"))
for name, file in formats:
    if file and file not in pages[FILES]:
        fail(FILES, f"nothing on {file}, which formats={name} writes")
values = [("", value) for value in {name for name, _ in formats} | rows_of["all_kinds"]]
for word, value in values + re.findall(r'(\w+)(?:\.substr\(\d+, \d+\))? == "(\w+)"', reader):
    if word != "key" and not re.search(rf"`(?:[\w-]+=)?{value}(?:\+\w+)*\**`", pages[NAME]):
        fail(NAME, f"the value {value!r} is not told")

fields = {}
body = code[code.index("struct options {"):code.index("static options parse")]
body = re.sub(r"///?[^\n]*", "", body)
for declaration in re.findall(r"^\s*(?:std::\w+|vec<[^;]*?>|bool|nvtx_mode|order)\s+(\w+)\s*(?:=\s*([^;]+))?;", body, re.M):
    fields[declaration[0]] = declaration[1].strip()
told = {}  # fields with their defaults: `skip`, `warmup` (`0`)
for _, item in entries(section(NAME, "In code")):
    waiting = []
    for default, empty, field in re.findall(r"\(`([^`]*)`\)|\((empty)\)|`([^`]+)`", item.split(": ")[0]):
        if field:
            waiting.append(field)
        else:
            told.update({name: default for name in waiting})
            waiting = []
as_key = {"false": "off", "true": "on", "": "", "0": "0", "1": "1"}
for field, default in fields.items():
    if field in told:
        if default and default != told[field]:
            fail(NAME, f"{field} is {default} in the code, not {told[field]}")
    elif field not in defaults:
        fail(NAME, f"the field {field!r} has no entry, and there is no key of its name")
    elif default.strip('"') != defaults[field] and as_key.get(default) not in (defaults[field], ""):
        fail(NAME, f"{field} is {default} in the code, and {defaults[field]} as a key")
for field in set(told) - set(fields):
    fail(NAME, f"there is no field {field!r}")
for field, key in (("log_mb", "log"), ("buffers_mb", "buffers"), ("drain_ms", "drain"), ("watchdog_s", "watchdog")):
    if defaults.get(key) != fields[field]:
        fail(NAME, f"the default of {key} is {fields[field]}")

variables = set()
for path in (*include.rglob("*.h*"), root / "tools/inject/injection.hpp"):
    text = path.read_text(encoding="utf-8")
    variables |= set(re.findall(r'(?:getenv|variable)\("(\w+)"\)', text))
    variables |= set(re.findall(r'block_variable = "(\w+)"', text))
    for group in re.findall(r"for \(char const\* (?:variable|name) :\s*\{([^}]*)\}", text):
        variables |= set(re.findall(r'"(\w+)"', group))
same(NAME, "variable", variables - {"STRATA"}, heads(section(NAME, "Other variables")))
presets = re.findall(r'^    \{"(\w+)", "', read("profile/metric_catalogue.hpp").split("presets[] = {")[-1].split("};")[0], re.M)
same(NAME, "preset", presets, heads(section(NAME, "Counters")))

# --- columns and keys of the files --------------------------------------------------------------------------------

NAME = FILES
golden = root / "tests/unit/golden"


def header_of(file):
    return set((golden / file).read_text(encoding="utf-8").split("\n", 1)[0].split(","))


csv = {
    "ranges.csv": header_of("columns_ranges.csv"),
    "kernels.csv": header_of("columns_kernels.csv"),
    "memory.csv": header_of("columns_memory.csv"),
    "spans.csv": header_of("columns_spans.csv"),
    "counters.csv": header_of("counters.csv"),
}
for file, names in csv.items():
    same(NAME, f"column of {file}", names, heads(section(NAME, file)))
rates_source = read("profile/metric_rates.hpp")
catalogue = re.findall(r'^    "\w+ (\w+) \[', rates_source.split("metric_catalogue::rates[] = {")[-1].split("};")[0], re.M)
same(METRICS, "rate", catalogue, heads(section(METRICS, "Rates")))
units = re.findall(r'^    STRATA_DETAIL_USE\("\w+", "(\w+)"', rates_source, re.M)
same(METRICS, "unit", {f"{unit}_{kind}" for unit in units for kind in ("ns", "use")}, heads(section(METRICS, "Units")))
catalogue = re.findall(r'^    "cpu (cpu_\w+) \[', rates_source, re.M)
same(METRICS, "metric of the CPU", catalogue, heads(section(METRICS, "Counters of the CPU")))
for name in header_of("counters_wide.csv") & {"rank", "path_id", "path"}:
    if f"`{name}`" not in section(NAME, "counters.csv"):
        fail(NAME, f"the column {name} of counters_wide.csv has no entry")
program = pathlib.Path(os.environ.get("STRATA_TEST_BUILD_DIR", "/nowhere")) / "examples/minimal"
if program.exists():  # the real thing, where it was built
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([str(program)], env={**os.environ, "STRATA": f"host,formats=csv,out={folder}/out"}, check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for written in pathlib.Path(folder).rglob("*.csv"):
            same(NAME, f"column of {written.name}, as written,", csv.get(written.name, ()),
                 written.read_text(encoding="utf-8").split("\n", 1)[0].split(","))


def keys_of(value, found):
    if isinstance(value, dict):
        for key, inner in value.items():
            found.add(key)
            if key not in ("self", "total", "self_notes", "total_notes"):  # their keys are metrics
                keys_of(inner, found)
    for inner in value if isinstance(value, list) else []:
        keys_of(inner, found)


in_json = set()
for file in ("profile_gpu.json", "counters.json"):
    keys_of(json.loads((golden / file).read_text(encoding="utf-8")), in_json)
for key in sorted(in_json - set(code_spans(pages[NAME])) - {key for key, _ in loss_kinds}):
    fail(NAME, f"the key {key} of profile.json has no entry")
for file in ("table_gpu_200.txt", "table_cpu_200.txt", "counters_300.txt"):  # the console's columns
    on = METRICS if file.startswith("counters") else NAME
    for line in (golden / file).read_text(encoding="utf-8").splitlines():
        if re.match(r"(range|kernel) {2,}\w", line):
            for title in filter(None, re.split(r" {2,}", line.strip())[1:]):
                if f"`{title}`" not in pages[on]:
                    fail(on, f"the column '{title}' of the console has no entry")
for view in ("report/counter_view.hpp",):
    for title in re.findall(r'^      \{\{"([^"]+)", \d+,', read(view), re.M):
        if f"`{title}`" not in pages[METRICS]:
            fail(METRICS, f"the column '{title}' of the console has no entry")

# --- the API ------------------------------------------------------------------------------------------------------


def folded(text):
    """Without line breaks and the blanks that differ by layout."""
    return re.sub(r"\( ", "(", re.sub(r"\s+", " ", text))


public = [p for p in (*include.iterdir(), *src.rglob("*.hpp")) if p.suffix in (".hpp", ".h")] + list((include / "annotate").iterdir())
headers = folded(" ".join(p.read_text(encoding="utf-8") for p in public))
declared = re.findall(r"^```cpp declared\n(.*?)^```", pages[API], re.S | re.M)
signatures = [folded(re.sub(r"//.*", "", line)).strip(" ;") for block in declared for line in re.split(r"\n(?! )", block) if line.strip()]
for signature in signatures:
    call = re.search(r"\b\w+\(.*\)(?: const)?(?: noexcept)?$", signature)
    if call is None or call.group() not in headers:
        fail(API, f"no header declares {signature!r}")
if len(signatures) < 20:
    fail(API, "few declarations were found")
names = set(re.findall(r"^#define (STRATA_(?!DETAIL|BEGIN|END|RANGE_HPP|HPP)\w+)\(", read("range.hpp"), re.M))
names |= set(re.findall(r"^static inline void (strata_\w+)\(", read("c.h"), re.M))
names = {name for name in names if "detail" not in name}
outcomes = re.search(r"enum class errc[^{]*\{(.*?)\};", read("status.hpp"), re.S).group(1)
names |= set(re.findall(r"^  (\w+)(?=,|  )", outcomes, re.M)) | set(re.findall(r"^  (\w+) ", outcomes, re.M))
for name in sorted(names):
    if not re.search(rf"\b{name}\b", pages[API]):
        fail(API, f"{name} has no entry")

# --- links --------------------------------------------------------------------------------------------------------


def anchors(text):
    titles = re.findall(r"^#+ (.+)$", without_code(text), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


documents = {"README.md": readme, "CONTRIBUTING.md": contributing, **{f"docs/{n}": t for n, t in pages.items()}}
for name, text in documents.items():
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        to = ((root / name).parent / path).resolve() if path else root / name
        if not to.exists():
            fail(name, f"the link {target} leads nowhere")
        elif anchor and to.suffix == ".md" and anchor not in anchors(to.read_text(encoding="utf-8")):
            fail(name, f"the link {target} names no heading of {to.name}")
    for path in re.findall(r"(?<![\w/])(?:examples|tests|benchmarks|include|docs)/[\w./-]*\w", text):
        if not (root / path).exists():
            fail(name, f"{path} does not exist")
for name in pages:
    if name != "README.md" and f"({name}" not in pages["README.md"]:
        fail("docs/README.md", f"no link to {name}")
if "(docs/README.md)" not in readme:
    fail("README.md", "no link to docs/README.md")

# Each fault of others names the tests that would fail: `unit.trace_test`, `gpu.script.fork_test`.
FAULTS = "reference/known-faults.md"
known_tests = {path.stem for path in (root / "tests").rglob("*.*")}
for line in re.findall(r"^\| (?!report |---).*$", pages[FAULTS], re.M):
    named = re.findall(r"`([a-z]+(?:\.\w+)+)`", line.rsplit(" | ", 1)[-1])
    for test in named:
        if test.split(".")[-1] not in known_tests:
            fail(FAULTS, f"there is no test {test}")
    if not named:
        fail(FAULTS, f"a fault names no test: {line[:60]}")

# --- code ---------------------------------------------------------------------------------------------------------

compiler = next(filter(shutil.which, [os.environ.get("CXX", "").split(" ")[0], "c++", "g++", "clang++"]), None)
if compiler is None:
    print("not checked, since there is no compiler: the code and the texts of STRATA in docs/")
else:
    def compiled(source, language, *options):
        return subprocess.run([compiler, "-x", language, *options, f"-I{root}/include", f"-I{root}/src", "-"], input=source, universal_newlines=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    complete = 0
    for name, text in pages.items():
        for language, block in re.findall(r"^```(cpp|c) complete\n(.*?)^```", text, re.S | re.M):
            options = ["-std=c++17"] if language == "cpp" else ["-std=c99"]
            done = compiled(block, "c++" if language == "cpp" else "c", "-fsyntax-only", "-Wall", "-Wextra", *options)
            complete += 1
            if done.returncode:
                fail(name, f"a block does not compile:\n{block}\n{done.stdout}")
    if complete == 0:
        fail("docs", "no code was compiled")

    # Every STRATA=... of a command line, read by the parser itself. A text with an ellipsis is no example.
    settings = set()
    for text in [readme] + list(pages.values()):
        for value in re.findall(r"(?<![\w`|])STRATA=([^\s`|\"']+)", text) + re.findall(r"`STRATA=([^`\s]+)", text):
            value = value.rstrip(".,;:)")
            if value and "..." not in value and "…" not in value and "$" not in value:
                settings.add(shlex.split(value)[0] if value.strip() else value)
    for _, item in entries(table):  # the examples of the keys
        settings |= set(re.findall(r"Example: `([^`]+)`", item))
    source = """#define STRATA_IMPLEMENTATION
#include <strata/strata.hpp>
#include <cstdio>
int main(int count, char** texts) {
  strata::vec<std::string> problems;
  for (int i = 1; i < count; ++i) strata::options::parse(texts[i], problems);
  for (std::string const& problem : problems) std::puts(problem.c_str());
}
"""
    with tempfile.TemporaryDirectory() as folder:
        built = compiled(source, "c++", "-std=c++17", "-O0", "-o", f"{folder}/parse")
        if built.returncode:
            fail("docs", f"the parser of STRATA does not compile:\n{built.stdout}")
        else:
            for problem in subprocess.run([f"{folder}/parse", *sorted(settings)], stdout=subprocess.PIPE,
                                          universal_newlines=True).stdout.splitlines():
                fail("docs or README.md", problem)
    print(f"{len(settings)} texts of STRATA parsed, {len(all_texts)} literals read, {len(wanted)} messages looked up, "
          f"{len(signatures)} declarations")

for failure in failures:
    print("FAILED:", failure)
sys.exit(1 if failures else 0)
