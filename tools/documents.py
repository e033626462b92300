"""Writes the documents that `strata help` explains words by as C++ strings: documents.py FILE. documents.cmake writes the
same, for builds without Python."""

import pathlib
import sys

here = pathlib.Path(__file__).resolve().parent
TOP = """// Made of the documents that tools/documents.txt names.
#include <string_view>

namespace strata_documents {

struct document {
  std::string_view name;
  std::string_view text;
};

inline constexpr document all[] = {
"""
names = (here / "documents.txt").read_text(encoding="ascii").split()
texts = ((name, (here.parent / name).read_text(encoding="utf-8")) for name in names)
rows = "".join(f'{{"{name}", R"document({text})document"}},\n' for name, text in texts)
pathlib.Path(sys.argv[1]).write_text(f"{TOP}{rows}}};\n\n}}  // namespace strata_documents\n", encoding="utf-8")
