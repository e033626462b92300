// The files that subcommands read and write.
#ifndef STRATA_TOOLS_FILES_HPP
#define STRATA_TOOLS_FILES_HPP

#include <strata/base/text_writer.hpp>
#include <strata/profile.hpp>
#include <strata/recording/format.hpp>
#include "recording/recording.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"

namespace tools {

using strata::detail::recording_name;
using strata::detail::recording_part_name;

/// Reads a recording: a file, or a folder that has profile.strata, or profile.strata.part of a
/// program that was killed.
/// Errors: the sentence is on stderr, and false is returned.
bool read_recording(char const* command, std::string const& path, strata::profile& recorded,
                    strata::recording_view wanted = strata::recording_view::report);

/// The same of the bytes of a recording. Errors: as strata::read_recording.
strata::status read_recording(std::string_view bytes, strata::profile& recorded);

/// What is recorded of a run: the file itself, that of the folder, or those of its folders in the
/// order of their names, each once where links lead to it too. Of `names`, in one folder the first
/// that is there.
std::vector<std::string> profiles_in(std::string const& path,
                                     std::vector<std::string> const& names);

/// The folders in a folder that have none of these.
std::vector<std::string> folders_without(std::string const& path,
                                         std::vector<std::string> const& names);

/// What a file is to be. By its first bytes another one is refused before it is read.
enum class expected_text {
  profile,  ///< profile.json or a recording
  lines     ///< lines of text
};

/// Reads all of a regular file, at most 1 GiB. Returns: why it cannot be read; nothing where it is.
std::string read_file(std::string const& path, std::string& text,
                      expected_text what = expected_text::profile);

/// What the name of a file ends in, in lower case: `.gz` of trace.json.GZ; empty: nothing.
std::string ending_of(std::string const& path);

/// Has `write` write a file beside `path` that takes its place once it is whole: a failure leaves
/// what was there. What is no regular file, as /dev/stdout, is written itself. Returns: why it is
/// not written, as `write` does; empty where it is.
std::string replace_file(std::string const& path,
                         std::function<std::string(std::string const&)> const& write);

/// The same of text; an empty path is none. Returns: whether it is written; otherwise a line is on
/// stderr.
bool write_file(char const* command, std::string const& path,
                std::function<void(strata::detail::text_writer&)> const& write);

/// Says why a file is not written, and what to do.
void report_unwritten(char const* command, std::string const& path, std::string const& problem);

}  // namespace tools

#endif  // STRATA_TOOLS_FILES_HPP
