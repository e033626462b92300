#ifndef STRATA_SRC_RECORDING_PARTS_HPP
#define STRATA_SRC_RECORDING_PARTS_HPP

#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/recording/format.hpp>
#include <strata/status.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// The parts of a recording, one after the other.
class recording_parts {
 public:
  struct part {
    recording_part kind = recording_part::piece;
    std::string_view content;
  };
  enum class state {
    part,     ///< there is one
    end,      ///< after the last one
    cut,      ///< what is left is the start of one: the program was killed meanwhile
    unusable  ///< it was changed
  };

  /// Bytes between a piece's begin and its content, and around its content.
  static constexpr std::size_t piece_header = 1 + 2 * sizeof(std::uint64_t);
  static constexpr std::size_t piece_frame = piece_header + sizeof(std::uint64_t);

  /// `first_line`: of the file. Version 1 has a report alone, whose hash is of that line too.
  recording_parts(std::string_view first_line, std::string_view text, int version)
      : first_line_(version == 1 ? first_line : std::string_view()), rest_(text) {}

  state next(part& found) {
    if (rest_.empty()) return state::end;
    bool const is_first_version = !first_line_.empty();
    found.kind = is_first_version ? recording_part::profile : static_cast<recording_part>(rest_[0]);
    std::size_t header = is_first_version ? 0 : 1;
    std::uint64_t size = rest_.size() - header - sizeof(std::uint64_t);
    if (found.kind == recording_part::unfinished) return state::cut;
    if (found.kind == recording_part::piece) {
      header = piece_header;
      if (rest_.size() < header) return state::cut;
      if (!read_size(rest_, size)) return state::unusable;
      if (size > rest_.size() || rest_.size() - size < piece_frame) return state::cut;
    } else if (found.kind != recording_part::profile || rest_.size() < sizeof size + header) {
      return state::unusable;
    }
    found.content = rest_.substr(header, static_cast<std::size_t>(size));
    std::size_t const end = header + found.content.size();
    fnv1a hash;
    hash.add(first_line_);
    hash.add(found.content);
    if (hash.value() != number_in(rest_.substr(end))) return state::unusable;
    rest_.remove_prefix(end + sizeof(std::uint64_t));
    return state::part;
  }

  /// Of the piece that begins there. Requires: its header is whole. Returns: whether it is sound.
  static bool read_size(std::string_view piece, std::uint64_t& size) {
    size = number_in(piece.substr(1));
    return number_in(piece.substr(1 + sizeof size)) == ~size;
  }

 private:
  static std::uint64_t number_in(std::string_view text) {
    std::uint64_t value = 0;
    std::memcpy(&value, text.data(), sizeof value);
    return value;
  }

  std::string_view first_line_;  ///< of version 1
  std::string_view rest_;
};

/// Reads the first line. Returns: its size.
/// Errors: bad_argument: it is no recording, or of a newer version.
inline status read_first_line(std::string_view bytes, std::size_t& size, int& version) {
  constexpr std::string_view magic = recording_magic;
  if (bytes.substr(0, magic.size()) != magic)
    return {errc::bad_argument, "It is no recording of Strata: formats=recording writes one."};
  size = magic.size();
  version = 0;
  while (size < bytes.size() && is_digit(bytes[size]) && version < 1'000'000)
    version = version * 10 + (bytes[size++] - '0');
  if (version > recording_version)
    return {errc::bad_argument, "It is of a newer Strata: report it with the one that wrote it."};
  if (version == 0 || size == bytes.size() || bytes[size++] != '\n')
    return {errc::bad_argument, "It is not whole, or was changed: copy it again as binary data."};
  return {};
}

/// Returns: whether the file can be read from there; not that of a pipe.
inline bool go_to(std::FILE* file, std::int64_t position) noexcept {
  return fseeko(file, static_cast<off_t>(position), SEEK_SET) == 0;
}

/// Where the report of a recording begins, behind its pieces; 0 where there is none.
inline std::int64_t report_position(std::FILE* file) {
  char header[recording_parts::piece_header];
  constexpr std::size_t first_line = recording_magic.size() + 2;
  auto position = static_cast<std::int64_t>(first_line);
  while (go_to(file, position)) {
    std::size_t const got = std::fread(header, 1, sizeof header, file);
    if (got > 0 && header[0] == static_cast<char>(recording_part::profile)) return position;
    std::uint64_t size = 0;
    bool const is_piece = got == sizeof header &&
                          header[0] == static_cast<char>(recording_part::piece) &&
                          recording_parts::read_size({header, got}, size);
    if (!is_piece || size > std::uint64_t{1} << 40) return 0;
    position += static_cast<std::int64_t>(size + recording_parts::piece_frame);
  }
  return 0;
}

}  // namespace detail
STRATA_END

#endif  // STRATA_SRC_RECORDING_PARTS_HPP
