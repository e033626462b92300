# Writes the documents that `strata help` explains words by as C++ strings: cmake -DOUT=FILE -P tools/documents.cmake.
# documents.py writes the same, for Meson.
get_filename_component(root "${CMAKE_CURRENT_LIST_DIR}" DIRECTORY)
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/documents.txt" names)
set(code "// Made of the documents that tools/documents.txt names.\n#include <string_view>\n\nnamespace strata_documents {\n
struct document {\n  std::string_view name;\n  std::string_view text;\n};\n\ninline constexpr document all[] = {\n")
foreach(name IN LISTS names)
  file(READ "${root}/${name}" text)
  string(APPEND code "{\"${name}\", R\"document(${text})document\"},\n")
endforeach()
file(WRITE "${OUT}" "${code}};\n\n}  // namespace strata_documents\n")
