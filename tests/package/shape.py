"""The shape of the code, as clang sees it: functions are short, classes have few data members, a line has one statement
and one declaration, what is done stands in statements, not in operators, and a name says what it names."""
import collections
import concurrent.futures
import importlib
import os
import pathlib
import re
import sys

from common import INCLUDE, ROOT, Checks, headers, left_out, skip

LONGEST = 60  # lines of a function's body, its braces included
MOST_MEMBERS = 15  # data members of a class; a record, whose members are all public, has one for each of its columns
KINDS = ("function", "class", "statements", "declarations", "operator", "name")
VERSION = re.compile(r"v\d+_\d+")
EMPTY_NAMES = set("at by dear each of place to told".split())
# Functions that are peers of the standard library's, and members that users of the library write.
KEPT_NAMES = {"strata::vec::at", "strata::counter_table::at", "strata::kernel_counter_table::at",
              "strata::llm::utilisation::by", "strata::llm::utilisation::of"}
GENERATED = {"include/strata/report/page_files.hpp"}
GGML = ROOT / "tests/fake/ggml"  # a stand-in for its headers
CLI11 = [ROOT / ".deps/cli11", pathlib.Path("/usr/include"), pathlib.Path("/usr/local/include")]

# What this test has to find, at the end of lines that name it, beside what is sound.
PLANTED = """int f();
void g();
class idle {{
 public:
  int a() const {{ return a_; }}
  int b() const {{ return b_; }}

 private:
  int a_ = 0;
  int b_ = 0;
}};
struct pair {{
  int a, b;  // declarations
}};
struct other_pair {{
  int a;
  int b; int c;  // declarations
}};
void two_statements() {{
  g(); g();  // statements
}}
void two_declarations() {{
  int a = 0, b = 0;  // declarations
  (void)(a + b);
}}
void operators(bool c) {{
  c && f();  // operator
  c || f();  // operator
  c ? g() : (void)f();  // operator
  f(), g();  // operator
  if (c) f(), g();  // operator
  for (int i = 0, n = 4; i < n; ++i, ++n) c ? g() : g();  // operator
  auto const inner = [&] {{ c ? g() : g(); }};  // operator
  inner();
}}
template <class T>
int comma_in_return(T) {{
  return g(), 1;  // operator
}}
bool sound(bool c) {{
  int const one = c ? 1 : 2;
  bool const both = c && f() != one;
  for (int i = 0, n = one; i < n; ++i, --n) g();
  if (c) return f() != 0 || both;
  switch (one) {{
    case 1:
      g();
      break;
    default: break;
  }}
  return both ? f() != 0 : c;
}}
class busy {{  // class
  int one_more_;
{members}}};
struct spans {{
  using of = int;  // name
  int at(int) const;  // name
  int to_ = 0;  // name
}};
enum class cause {{
  by,  // name
  call
}};
template <class place>  // name
struct vec {{
  place at() const;  // name
}};
int count(int of) {{  // name
  auto const told = of + 1;  // name
  return told;
}}
void lengthy() {{  // function
{statements}}}
"""


def libclang():
    """The module clang.cindex with its library. Debian has it beside its own Python, whichever runs this."""
    sys.path.append("/usr/lib/python3/dist-packages")
    try:
        index = importlib.import_module("clang.cindex")
        index.Index.create()
        return index
    except (ImportError, AttributeError, OSError) as error:
        problem = str(error).split("\n")[0]
    skip(f"libclang for Python is not installed (python3-clang): {problem}")


class Shapes:
    """The violations of a translation unit, in files that are ours."""

    def __init__(self, clang):
        self.kind = clang.CursorKind
        self.private = (clang.AccessSpecifier.PRIVATE, clang.AccessSpecifier.PROTECTED)
        kind = self.kind
        self.functions = {kind.FUNCTION_DECL, kind.CXX_METHOD, kind.CONSTRUCTOR, kind.DESTRUCTOR,
                          kind.CONVERSION_FUNCTION, kind.FUNCTION_TEMPLATE, kind.LAMBDA_EXPR}
        self.classes = {kind.CLASS_DECL, kind.STRUCT_DECL, kind.UNION_DECL, kind.CLASS_TEMPLATE,
                        kind.CLASS_TEMPLATE_PARTIAL_SPECIALIZATION}
        self.leaves = {kind.TYPE_REF, kind.TEMPLATE_REF, kind.NAMESPACE_REF, kind.MEMBER_REF, kind.OVERLOADED_DECL_REF,
                       kind.INTEGER_LITERAL, kind.FLOATING_LITERAL, kind.STRING_LITERAL, kind.CHARACTER_LITERAL,
                       kind.CXX_BOOL_LITERAL_EXPR, kind.CXX_NULL_PTR_LITERAL_EXPR, kind.CXX_THIS_EXPR,
                       kind.DECL_REF_EXPR, kind.NULL_STMT, kind.BREAK_STMT, kind.CONTINUE_STMT}
        self.holders = self.classes | {kind.NAMESPACE, kind.LINKAGE_SPEC, kind.TRANSLATION_UNIT}
        self.variables = {kind.VAR_DECL, kind.FIELD_DECL}
        self.named = self.variables | self.functions | self.classes | {
            kind.PARM_DECL, kind.ENUM_DECL, kind.ENUM_CONSTANT_DECL, kind.TEMPLATE_NON_TYPE_PARAMETER,
            kind.TEMPLATE_TYPE_PARAMETER, kind.TEMPLATE_TEMPLATE_PARAMETER, kind.TYPE_ALIAS_DECL,
            kind.TYPE_ALIAS_TEMPLATE_DECL, kind.TYPEDEF_DECL, kind.NAMESPACE}
        self.kept = set()
        self.wrappers = {kind.UNEXPOSED_EXPR, kind.PAREN_EXPR, kind.CSTYLE_CAST_EXPR}
        self.texts = {}
        self.found = []

    def add(self, kind, cursor, what):
        self.found.append((kind, cursor.location.file.name, cursor.extent.start.line, what))

    def text(self, extent_start, extent_end):
        """What stands between two places of a file."""
        name = extent_start.file.name if extent_start.file else None
        if name is None or extent_end.file is None or extent_end.file.name != name:
            return ""
        if name not in self.texts:
            self.texts[name] = pathlib.Path(name).read_bytes()
        return self.texts[name][extent_start.offset:extent_end.offset].decode(errors="replace")

    def operator(self, cursor):
        """The operator of a binary expression."""
        children = list(cursor.get_children())
        if len(children) != 2:
            return ""
        return self.text(children[0].extent.end, children[1].extent.start).strip(" \n()")

    def bare(self, cursor):
        """An expression without what wraps it."""
        while cursor.kind in self.wrappers:
            inner = [c for c in cursor.get_children() if c.kind.is_expression()]
            if len(inner) != 1:
                break
            cursor = inner[0]
        return cursor

    def statement(self, cursor):
        inner = self.bare(cursor)
        if inner.kind == self.kind.CONDITIONAL_OPERATOR:
            self.add("operator", cursor, "?: as a statement")
        elif inner.kind == self.kind.BINARY_OPERATOR and self.operator(inner) in (",", "&&", "||"):
            self.add("operator", cursor, f"{self.operator(inner)} as a statement")

    def one_a_line(self, kind, siblings):
        """Each begins on a line of its own."""
        last = None
        for cursor in siblings:
            start, end = cursor.extent.start, cursor.extent.end
            if last is not None and start.offset > last.offset and start.line == last.line:
                self.add(kind, cursor, f"two {kind} on a line")
            last = end

    def body(self, cursor, children):
        kind = self.kind
        if cursor.kind == kind.COMPOUND_STMT:
            steps = [c for c in children if c.kind != kind.NULL_STMT]
            self.one_a_line("statements", steps)
        elif cursor.kind in (kind.IF_STMT, kind.WHILE_STMT):
            begins = [c.kind in (kind.DECL_STMT, kind.VAR_DECL) for c in children].index(False)
            steps = children[begins + 1:]  # without the condition
        elif cursor.kind in (kind.FOR_STMT, kind.CXX_FOR_RANGE_STMT, kind.CASE_STMT, kind.DEFAULT_STMT):
            steps = children[-1:]
        elif cursor.kind == kind.DO_STMT:
            steps = children[:1]
        else:
            steps = []
        for step in steps:
            if step.kind.is_expression():
                self.statement(step)
        if cursor.kind == kind.RETURN_STMT and children:
            inner = self.bare(children[0])
            if inner.kind == kind.BINARY_OPERATOR and self.operator(inner) == ",":
                self.add("operator", cursor, ", in a return")

    def declarations(self, cursor, children, parent):
        kind = self.kind
        if cursor.kind == kind.DECL_STMT and (parent is None or parent.kind != kind.FOR_STMT):
            if sum(c.kind == kind.VAR_DECL for c in children) > 1:
                self.add("declarations", cursor, "two declarations in one")
        if cursor.kind in self.holders:
            variables = [c for c in children if c.kind in self.variables]
            for one, next_one in zip(variables, variables[1:]):
                if one.extent.start.offset == next_one.extent.start.offset and one.spelling and next_one.spelling:
                    self.add("declarations", next_one, "two declarations in one")
            self.one_a_line("declarations", variables)

    def name(self, cursor):
        if cursor.kind not in self.named or cursor.spelling.rstrip("_") not in EMPTY_NAMES:
            return
        whole = qualified(cursor)
        if whole in KEPT_NAMES:
            self.kept.add(whole)
        else:
            self.add("name", cursor, f"{cursor.spelling} does not say what it is")

    def visit(self, cursor, parent=None):
        children = list(cursor.get_children())
        self.name(cursor)
        if cursor.kind in self.functions:
            for body in children:
                if body.kind == self.kind.COMPOUND_STMT:
                    lines = body.extent.end.line - body.extent.start.line + 1
                    if lines > LONGEST:
                        self.add("function", cursor, f"{cursor.spelling or 'a lambda'} has {lines} lines")
        if cursor.kind in self.classes:
            members = [c for c in children if c.kind == self.kind.FIELD_DECL]
            if any(m.access_specifier in self.private for m in members) and len(members) > MOST_MEMBERS:
                self.add("class", cursor, f"{cursor.spelling} has {len(members)} data members")
        self.body(cursor, children)
        self.declarations(cursor, children, parent)
        for child in children:
            if child.kind not in self.leaves:
                self.visit(child, cursor)

    def unit(self, top, judged):
        """All top declarations that stand in files to be judged."""
        for cursor in top.get_children():
            file = cursor.location.file
            if file is not None and judged(file.name):
                self.visit(cursor, top)


def qualified(cursor):
    """The name with its classes and namespaces, but for the one that has the version."""
    parts = []
    while cursor is not None and cursor.spelling and not cursor.kind.is_translation_unit():
        parts.insert(0, cursor.spelling)
        cursor = cursor.semantic_parent
    return "::".join(part for part in parts if not VERSION.fullmatch(part))


def parse(source, arguments, text, part):
    """What one source holds: violations in its part of our files, all files that it reaches, errors of the parser."""
    clang = libclang()
    sys.setrecursionlimit(10000)
    shapes = Shapes(clang)
    if text:
        shapes.texts[source] = text.encode()
    unit = clang.Index.create().parse(source, arguments, [(source, text)] if text else None)
    errors = [str(d) for d in unit.diagnostics if d.severity >= clang.Diagnostic.Error]
    shapes.unit(unit.cursor, lambda name: name.startswith(part))
    return shapes.found, {i.include.name for i in unit.get_includes()}, errors, shapes.kept


def planted():
    """Errors, what this test finds in its own source, and what it should."""
    members = "".join(f"  int m{i}_;\n" for i in range(MOST_MEMBERS))
    text = PLANTED.format(members=members, statements="  g();\n" * (LONGEST - 1))
    found, _, errors, _ = parse("planted.cpp", ["-std=c++17", "-w"], text, "planted.cpp")
    expected = [(kind, number) for number, line in enumerate(text.split("\n"), 1)
                for kind in KINDS if line.endswith("// " + kind)]
    return errors, sorted((kind, line) for kind, _, line, _ in found), sorted(expected)


def sources():
    """Sources that reach all of our files: name, arguments, text where it is no file, and the files it is judged for."""
    every = "".join(f"#include <{name}>\n" for name in headers(adapters=True))
    flags = ["-std=c++17", "-w", f"-I{INCLUDE}", f"-I{GGML}"]
    yield "all_headers.cpp", flags, "#define STRATA_IMPLEMENTATION\n" + every, str(INCLUDE / "strata")
    yield "off.cpp", flags + ["-DSTRATA_ENABLED=0"], "#include <strata/session.hpp>\n", str(INCLUDE / "strata")
    cli = next((f"-I{folder}" for folder in CLI11 if (folder / "CLI/CLI.hpp").exists()), None)
    for folder in ("tools", "examples"):
        for path in sorted((ROOT / folder).rglob("*.cpp")):
            if path.name == "arguments.cpp" and not cli:
                left_out("tools/arguments.cpp", "CLI11 is not installed")
            elif path.name != "implementation.cpp" and path.parent.name != "llama_cpp":  # which needs llama.h
                yield str(path), flags + ([cli] if cli else []), None, str(ROOT / folder)


def main():
    libclang()
    checks = Checks()
    errors, found, expected = planted()
    checks.that(not errors and found == expected, "planted violations are found, and nothing else",
                f"  {errors}\n  found    {found}\n  expected {expected}")
    seen, violations, kept = set(), set(), set()
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count() or 2) as pool:
        jobs = [(job[0], pool.submit(parse, *job)) for job in sources()]
        for source, job in jobs:
            mine, files, errors, used = job.result()
            checks.that(not errors, f"clang reads {source}", "\n".join("  " + e for e in errors[:20]))
            seen |= files
            kept |= used
            violations |= {(kind, os.path.relpath(file, ROOT), line, what) for kind, file, line, what in mine}
    for name in headers(adapters=True):
        checks.that(str(INCLUDE / name) in seen, f"{name} is read")
    for name in sorted(KEPT_NAMES):
        checks.that(name in kept, f"{name} is there, and needs its exception")
    count = collections.Counter((file, kind) for kind, file, _, _ in violations if file not in GENERATED)
    for (file, kind), number in sorted(count.items()):
        lines = sorted((line, what) for k, f, line, what in violations if (f, k) == (file, kind))
        checks.that(number == 0, f"{file}: {kind}: {number}",
                    "\n".join(f"  {file}:{line}: {what}" for line, what in lines))
    return checks.end()
