"""The pages in docs/ tell what the code does: every key, column and message has its entry, and no entry is without code.

docs/configuration.md       the keys and values of STRATA=, the variables, the fields of strata::options
docs/reading-the-report.md  the columns of every CSV file, the keys of profile.json, what tables say
docs/counters.md            the same of counters, their rates and notes
docs/troubleshooting.md     every other sentence that the headers can print
docs/integration.md         code that is marked complete compiles, STRATA= texts have no mistake
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
include = root / "include/strata"
pages = {p.name: p.read_text(encoding="utf-8") for p in sorted((root / "docs").glob("*.md"))}
failures = []
most_lines = 300


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


def code_spans(text):
    return re.findall(r"(?<!`)`([^`\n]+)`(?!`)", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M))


def first_column(text, column=1):
    """The code in the first cells of all tables of a text."""
    spans = []
    for line in text.splitlines():
        if line.startswith("|") and not re.match(r"\|[-: |]+\|$", line):
            spans += code_spans(re.split(r"(?<!\\)\|", line)[column])
    return spans


def same(name, what, there, told):
    for each in sorted(set(there) - set(told)):
        fail(name, f"{what} {each!r} has no entry")
    for each in sorted(set(told) - set(there)):
        fail(name, f"there is no {what} {each!r}")


def read(path):
    return (include / path).read_text(encoding="utf-8")


# --- messages -----------------------------------------------------------------------------------------------------

LITERAL = r'"(?:[^"\\\n]|\\.)*"'
# Where a text is explained that is not a message: legends and notes belong to the tables; the catalogues of metrics are
# themselves what list-metrics prints.
ELSEWHERE = {
    "tables/table.hpp": "findings.md reading-the-report.md troubleshooting.md",
    "report/report_input.hpp": "findings.md reading-the-report.md",
    "report/trace.hpp": "reading-the-report.md",
    "tables/range_table.hpp": "counters.md reading-the-report.md",
    "report/perfetto.hpp": "reading-the-report.md",
    "tables/counter_table.hpp": "counters.md",
    "llm.hpp": "model.md",
    "compare.hpp": "compare.md",
    "recording.hpp": "reading-the-report.md",
    "benchmark.hpp": "benchmark.md",
    "analyse/roofline.hpp": "findings.md",
    "ceilings.hpp": "counters.md",
    "session/ceilings_file.hpp": "counters.md",
    "collect/cuda/ceiling_runs.hpp": "counters.md",
    "collect/cuda/ceiling_kernels.hpp": None,  # PTX
    "analyse/comparability.hpp": "compare.md",
    "analyse/comparer.hpp": "compare.md",
    "analyse/profile_file.hpp": "compare.md",
    "ledger.hpp": "model.md",
    "analyse/byte_ledger.hpp": "model.md",
    "base/json_reader.hpp": "compare.md",
    "tables/counter_sums.hpp": "counters.md",
    "collect/cpu/cpu_counters.hpp": "counters.md troubleshooting.md",
    "report/trace_plan.hpp": "reading-the-report.md",
    "session/options_reader.hpp": "configuration.md troubleshooting.md",
    "session/environment_session.hpp": "configuration.md threads-and-processes.md troubleshooting.md",
    "profile/metric_catalogue.hpp": None,
    "profile/metric_rates.hpp": None,
    # What findings say is their own explanation; check_findings.py compares the rules with docs/findings.md.
    "analyse/finding_rules.hpp": None,
    "analyse/kernel_rules.hpp": None,
    "analyse/step_bound.hpp": "findings.md",
    "report/findings.hpp": "findings.md reading-the-report.md",
    "report/page_files.hpp": None,  # the page explains itself
    "report/comparison_files.hpp": None,
}


def literals(source):
    """The texts of a source file. Neighbouring literals are one text; comments, includes, pragmas and static_assert are none."""
    token = re.compile(LITERAL + r"|'(?:[^'\\\n]|\\.)+'|//[^\n]*|/\*.*?\*/", re.S)
    source = token.sub(lambda m: "" if m.group().startswith("/") else m.group(), source)
    source = source.replace("\\\n", "\n")  # a macro over several lines
    source = re.sub(r"static_assert\(.*?\);|is_one_of\([^()]*\)|_Pragma\([^\n]*|^\s*#\s*include[^\n]*", "", source, flags=re.S | re.M)
    for group in re.findall(rf"{LITERAL}(?:\s*{LITERAL})*", source):
        text = "".join(each[1:-1] for each in re.findall(LITERAL, group))
        yield text.replace('\\"', '"').replace("\\n", " ")


def is_sentence(text):
    """20 characters and three words with blanks between: a message or part of one, not a name, a path, a formula."""
    words = re.findall(r"(?<![^\s('\"])[A-Za-z=%]{2,}(?![\w/.*])", text)
    listed = all(word in known_keys for word in text.split(", "))
    return len(text.strip()) >= 20 and len(words) >= 3 and text.strip().count(" ") >= 2 and not listed


def parts(text):
    """What is fixed in a text with %s in it, without the marks at its ends."""
    for part in re.split(r"%\w+|[{}]", text):
        part = plain(part).strip(" .,;:()[]'\"")
        if len(part) >= 8:
            yield part


all_texts = []
reader = read("session/options_reader.hpp")
rows_of = {name: set(re.findall(r'\{"([a-z-]+)",', rows))  # the rows of a table of the reader
           for name, rows in re.findall(r"constexpr (?:number|flag|text)_row (\w+)\[\] = \{(.*?)\n  \};", reader, re.S)}
known_keys = set(re.findall(r'key == "([a-z0-9-]+)"', reader)) | rows_of["numbers"] | rows_of["flags"] | rows_of["texts"]
speaking = sorted(p for p in include.rglob("*") if p.suffix in (".hpp", ".h"))
for path in [*speaking, root / "examples/inject/inject.cpp"]:
    name = path.relative_to(root).as_posix()
    texts = list(literals(path.read_text(encoding="utf-8")))
    all_texts += texts
    told_in = ELSEWHERE.get(name[len("include/strata/"):], "troubleshooting.md")
    for text in filter(is_sentence, texts if told_in else []):
        for part in parts(text):
            if not any(part in plain(pages[page]) for page in told_in.split()):
                fail(told_in, f'nothing on "{part}" of {name}')

# Each message of the page is one that the headers have; `…` stands for what differs.
everything = plain("\0".join(all_texts))
other_words = {"undefined reference to 'dlopen'", "undefined reference to strata::…::session",  # the linker's
               "strata::…::session … has incomplete type", "… has initializer but incomplete type",
               "variable has incomplete type 'strata::session'", "'status' is not a member of 'strata'",
               "'strata_range_needs_braces_…' was not declared"}  # the compiler's
messages = [("troubleshooting.md", title) for title in re.findall(r"^## (.+)$", pages["troubleshooting.md"], re.M)]
for name, title in messages + [("counters.md", "Notes")]:
    for row in section(name, title).splitlines():
        by_code = re.match(r"\| (\d+|other) \|", row)  # CUPTI's codes stand before the message
        for message in first_column(row, 2 if by_code else 1):
            for part in [] if message in other_words else re.split("…", message):
                part = plain(part).strip(" .,;:()[]'\"/{}=")
                if len(part) >= 12 and part not in everything:
                    fail(name, f'no header says "{part}"')

# --- configuration ------------------------------------------------------------------------------------------------

code = read("options.hpp")
NAME = "configuration.md"
table = section(NAME, "Keys of STRATA")
same(NAME, "key", known_keys, first_column(table))
values = [("", each) for each in rows_of["all_formats"] | rows_of["all_kinds"]]
for word, value in values + re.findall(r'(\w+)(?:\.substr\(\d+, \d+\))? == "(\w+)"', reader):
    if word != "key" and not re.search(rf"`(?:[\w-]+=)?{value}(?:\+\w+)*\**`", pages[NAME]):
        fail(NAME, f"the value {value!r} is not told")

fields = {}
body = code[code.index("struct options {"):code.index("static options parse")]
body = re.sub(r"///?[^\n]*", "", body)
for declaration in re.findall(r"^\s*(?:std::\w+|vec<[^;]*?>|bool|nvtx_mode|order)\s+(\w+)\s*(?:=\s*([^;]+))?;", body, re.M):
    fields[declaration[0]] = declaration[1].strip()
rows = [l for l in section(NAME, "In code").splitlines() if l.startswith("| `")]
same(NAME, "field", fields, [s for l in rows for s in first_column(l)])
for row in rows:
    for field in first_column(row):
        default = fields.get(field, "")
        if default and default not in row.split("|")[2].replace("`", ""):
            fail(NAME, f"{field} is {default} in the code, not {row.split('|')[2].strip()}")
for field, key in (("skip", "skip"), ("warmup", "warmup"), ("repeat", "repeat"), ("log_mb", "log"), ("buffers_mb", "buffers")):
    for row in [l for l in table.splitlines() if l.startswith(f"| `{key}`")]:
        if row.split("|")[3].strip() != fields.get(field):
            fail(NAME, f"the default of {key} is {fields.get(field)}")

variables = set()
for path in include.rglob("*.h*"):
    text = path.read_text(encoding="utf-8")
    variables |= set(re.findall(r'(?:getenv|variable)\("(\w+)"\)', text))
    variables |= set(re.findall(r'block_variable = "(\w+)"', text))
    for group in re.findall(r"for \(char const\* (?:variable|name) :\s*\{([^}]*)\}", text):
        variables |= set(re.findall(r'"(\w+)"', group))
same(NAME, "variable", variables - {"STRATA"}, first_column(section(NAME, "Other variables")))
for preset in re.findall(r'^    \{"(\w+)", "', read("profile/metric_catalogue.hpp").split("presets[] = {")[-1].split("};")[0], re.M):
    if f"`{preset}`" not in section(NAME, "Counters"):
        fail(NAME, f"the preset {preset} is not told")

# --- columns and keys of the files --------------------------------------------------------------------------------

NAME = "reading-the-report.md"
golden = root / "tests/unit/golden"
columns = read("tables/columns.hpp")


def columns_in(function):
    """Those of the functions that it calls, too, but for the columns of kernels=, which the text below the table has."""
    body = re.search(rf"inline void {function}\(.*?\n}}\n", columns, re.S)
    text = body.group() if body else ""
    names = set(re.findall(r'(?:cells\.(?!exact)\w+\(|(?:host|device|managed)\(|known_integer\(cells, )"(\w+)"', text))
    return names.union(*(columns_in(each) for each in re.findall(r"^  (\w+_columns?)\(cells", text, re.M)
                         if each != "kernel_counter_columns"))


def header_of(file):
    return set((golden / file).read_text(encoding="utf-8").split("\n", 1)[0].split(","))


csv = {
    "ranges.csv": columns_in("range_columns") | header_of("ranges_gpu.csv"),
    "kernels.csv": columns_in("kernel_columns") | header_of("kernels_gpu.csv"),
    "memory.csv": columns_in("allocation_columns") | header_of("memory_gpu.csv"),
    "counters.csv": header_of("counters.csv"),
}
if "span_columns" in columns:
    csv["spans.csv"] = columns_in("span_columns")
for file, names in csv.items():
    on = "counters.md" if file == "counters.csv" else NAME
    same(on, f"column of {file}", names, first_column(section(on, file).split("\n### ")[0]))
catalogue = re.findall(r'^    \{"(\w+) \[', read("profile/metric_rates.hpp").split("metric_catalogue::rates[] = {")[-1].split("};")[0], re.M)
same("counters.md", "rate", catalogue, first_column(section("counters.md", "Rates")))
catalogue = re.findall(r'^    \{"(cpu_\w+) \[', read("profile/metric_rates.hpp"), re.M)
same("counters.md", "metric of the CPU", catalogue, first_column(section("counters.md", "Counters of the CPU")))
for name in header_of("counters_wide.csv") & {"rank", "path_id", "path"}:
    if f"`{name}`" not in section("counters.md", "counters_wide.csv"):
        fail("counters.md", f"the column {name} of counters_wide.csv has no entry")
program = pathlib.Path(os.environ.get("STRATA_TEST_BUILD_DIR", "/nowhere")) / "examples/minimal"
if program.exists():  # the real thing, where it was built
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([str(program)], env={**os.environ, "STRATA": f"host,formats=csv,out={folder}/out"}, check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for written in pathlib.Path(folder).rglob("*.csv"):
            same("counters.md" if "counters" in written.name else NAME, f"column of {written.name}, as written,", csv.get(written.name, ()),
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
for key in sorted(in_json - set(code_spans(pages[NAME]))):
    fail(NAME, f"the key {key} of profile.json has no entry")
for file in ("table_gpu_200.txt", "table_cpu_200.txt", "counters_300.txt"):  # the console's columns
    on = "counters.md" if file.startswith("counters") else NAME
    for line in (golden / file).read_text(encoding="utf-8").splitlines():
        if re.match(r"(range|kernel) {2,}\w", line):
            for title in filter(None, re.split(r" {2,}", line.strip())[1:]):
                if f"`{title}`" not in pages[on]:
                    fail(on, f"the column '{title}' of the console has no entry")
for view in ("tables/range_table.hpp",):
    for title in re.findall(r'^      \{\{"([^"]+)", \d+,', read(view) if (include / view).exists() else "", re.M):
        if f"`{title}`" not in pages["counters.md"]:
            fail("counters.md", f"the column '{title}' of the console has no entry")

# --- links, lengths, code -----------------------------------------------------------------------------------------


def anchors(text):
    titles = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


readme = (root / "README.md").read_text(encoding="utf-8")
for name, text in [("README.md", readme)] + [(f"docs/{n}", t) for n, t in pages.items()]:
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
for name, text in pages.items():
    if len(text.splitlines()) > most_lines:
        fail(name, f"{len(text.splitlines())} lines, {most_lines} at most")
    if not any(f"({where}{name}" in other for where, other in [("docs/", readme)] + [("", t) for t in pages.values()]):
        fail("docs", f"no page leads to {name}")
    if name != "counters.md" and f"docs/{name}" not in readme:
        fail("README.md", f"no link to docs/{name}")

compiler = next(filter(shutil.which, [os.environ.get("CXX", "").split(" ")[0], "c++", "g++", "clang++"]), None)
if compiler is None:
    print("not checked, since there is no compiler: the code and the texts of STRATA in docs/")
else:
    def compiled(source, language, *options):
        return subprocess.run([compiler, "-x", language, *options, f"-I{root}/include", "-"], input=source, universal_newlines=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    for name, text in pages.items():
        for language, block in re.findall(r"^```(cpp|c) complete\n(.*?)^```", text, re.S | re.M):
            options = ["-std=c++17"] if language == "cpp" else ["-std=c99"]
            done = compiled(block, "c++" if language == "cpp" else "c", "-fsyntax-only", "-Wall", "-Wextra", *options)
            if done.returncode:
                fail(name, f"a block does not compile:\n{block}\n{done.stdout}")

    # Every STRATA=... of a command line, read by the parser itself. A text with an ellipsis is no example.
    settings = set()
    for text in [readme] + list(pages.values()):
        for value in re.findall(r"(?<![\w`|])STRATA=([^\s`|\"']+)", text) + re.findall(r"`STRATA=([^`]+)`", text):
            value = value.rstrip(".,;:)")
            if value and "..." not in value and "…" not in value and "$" not in value:
                settings.add(shlex.split(value)[0] if value.strip() else value)
    for row in table.splitlines():  # the examples of the table
        settings |= {e for e in code_spans(row.split("|")[-2] if row.count("|") > 4 else "") if not e.startswith("STRATA=")}
    source = """#define STRATA_IMPLEMENTATION
#include <strata/strata.hpp>
#include <cstdio>
int main(int count, char** texts) {
  strata::vec<std::string> problems;
  for (int i = 1; i < count; ++i) strata::options::parse(texts[i], problems);
  for (auto const& each : problems) std::puts(each.c_str());
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
    print(f"{len(settings)} texts of STRATA parsed, {len(all_texts)} literals read")

for failure in failures:
    print("FAILED:", failure)
sys.exit(1 if failures else 0)
