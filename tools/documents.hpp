// What the documents say of messages and of words of the outputs. The documents are in the command.
#ifndef STRATA_TOOLS_DOCUMENTS_HPP
#define STRATA_TOOLS_DOCUMENTS_HPP

#include <string>
#include <string_view>
#include <vector>

namespace tools {

struct explained_message {
  std::vector<std::string> said;  ///< alternatives; … stands for what differs
  std::string fix;
};

/// A name, or several, that an item of a list, a paragraph, a row of a table or a schema explains.
struct explained_entry {
  std::vector<std::string> names;
  std::string kind;  ///< such as column, or `member`
  std::string_view document;
  std::string meaning;  ///< may be empty
};

/// A file that a run writes: what its section says, and each column or member of it.
struct explained_file {
  std::vector<std::string> names;  ///< its own, and those of files with the same columns
  std::string_view document;
  std::string meaning;
  std::vector<explained_entry> parts;
};

/// Whether the build put the documents into the command. Without them there are neither messages
/// nor entries.
bool has_documents() noexcept;
/// Every message of docs/reference/messages.md; of a code of CUPTI or the driver its sentence.
std::vector<explained_message> const& documented_messages();
/// The kind of what a schema describes.
inline constexpr std::string_view member = "member";
/// What the other references explain.
std::vector<explained_entry> const& documented_entries();

/// The files that have a section of their own.
std::vector<explained_file> const& documented_files();

}  // namespace tools

#endif  // STRATA_TOOLS_DOCUMENTS_HPP
