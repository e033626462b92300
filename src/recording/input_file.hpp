#ifndef STRATA_SRC_RECORDING_INPUT_FILE_HPP
#define STRATA_SRC_RECORDING_INPUT_FILE_HPP

// A file that somebody names as a recording or a profile. It may be anything: what has no end, what
// waits for a writer and what is another kind of file is refused before it is read.

#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/status.hpp>

#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

STRATA_BEGIN
namespace detail {

/// What a file seems to be, by its first bytes; empty if they match no known kind.
inline std::string_view kind_of_file(std::string_view begin) noexcept {
  struct known_kind {
    std::string_view begin;
    std::string_view name;
  };
  constexpr known_kind kinds[] = {
      {"NVIDIA Tegra Profiler Report", "a report of Nsight Systems"},
      {{"NVR\0", 4}, "a report of Nsight Compute"},
      {{"SQLite format 3\0", 16}, "an SQLite database, such as Nsight Systems exports"},
      {"\x7f"
       "ELF",
       "an ELF program or library"},
      {"MZ", "a program or library of Windows"},
      {"#!", "a script"},
      {"\x1f\x8b", "compressed by gzip, so gunzip it"},
      {"\x28\xb5\x2f\xfd", "compressed by zstd, so unzstd it"},
      {{"\xfd"
        "7zXZ\0",
        6},
       "compressed by xz, so unxz it"},
      {"BZh", "compressed by bzip2, so bunzip2 it"},
      {"PK\x03\x04", "a zip archive"},
      {"7z\xbc\xaf\x27\x1c", "a 7z archive"},
      {"\x89PNG", "a PNG image"},
      {"\xff\xd8\xff", "a JPEG image"},
      {"GIF8", "a GIF image"},
      {"%PDF-", "a PDF document"},
      {"\x89HDF", "an HDF5 file"},
      {"\x93NUMPY", "an array of NumPy"},
      {"GGUF", "a model in GGUF"},
      {"<", "an HTML or XML page"},
      {"{", "JSON text"},
      {"[", "JSON text"}};
  if (begin.empty()) return "empty";
  for (known_kind const& kind : kinds)
    if (begin.substr(0, kind.begin.size()) == kind.begin) return kind.name;
  constexpr std::size_t tar_magic = 257;
  if (begin.size() > tar_magic && begin.substr(tar_magic, 5) == "ustar") return "a tar archive";
  bool zeros = true;
  bool text = true;
  for (char const c : begin) {
    auto const byte = static_cast<unsigned char>(c);
    zeros = zeros && byte == 0;
    text = text && (byte >= ' ' || byte == '\n' || byte == '\r' || byte == '\t') && byte != 0x7f;
  }
  return zeros ? "nothing but zeros" : text ? "plain text" : std::string_view();
}

/// A file that is open for reading: a regular one, whose size is known.
class input_file {
 public:
  /// Bytes by which its kind is known.
  static constexpr std::size_t kind_size = 512;

  input_file() = default;
  input_file(input_file const&) = delete;
  input_file& operator=(input_file const&) = delete;
  ~input_file() {
    if (file_ != nullptr) (void)std::fclose(file_);
  }

  /// Errors: input_output: it cannot be opened, or is no regular file: nothing of it is read, and
  /// nothing is waited for.
  status open(std::string const& path) {
    struct stat found {};
    // Before it is opened: to open a device may do something.
    if (::stat(path.c_str(), &found) != 0) return cannot_open();
    if (status const kind = objection(found.st_mode); !kind.ok()) return kind;
    int const number = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (number < 0) return cannot_open();
    bool const known = ::fstat(number, &found) == 0;
    status const kind = known ? objection(found.st_mode) : cannot_open();
    if (kind.ok()) file_ = ::fdopen(number, "rb");
    if (file_ == nullptr) {
      status const why = kind.ok() ? cannot_open() : kind;
      (void)::close(number);
      return why;
    }
    size_ = static_cast<std::uint64_t>(found.st_size);
    return {};
  }

  /// Requires: it is open.
  std::FILE* get() const noexcept { return file_; }
  /// As it was opened; 0 for files that the kernel makes up as they are read.
  std::uint64_t size() const noexcept { return size_; }

  /// Reads so many bytes, fewer at the file's end, and goes back to its begin.
  std::string first_bytes(std::size_t count = kind_size) const {
    std::string text(count, '\0');
    text.resize(std::fread(&text[0], 1, count, file_));
    std::rewind(file_);
    return text;
  }

  /// Reads on, until there are `most` bytes and one more.
  /// Errors: input_output.
  status read_rest(std::size_t most, std::string& text) const {
    char part[1 << 16];
    errno = 0;
    while (text.size() <= most) {
      std::size_t const got = std::fread(part, 1, sizeof part, file_);
      if (got == 0) break;
      text.append(part, got);
    }
    if (std::ferror(file_) == 0) return {};
    return cannot_read();
  }
  static status cannot_read() {
    return refusal(std::string("It cannot be read: ") + std::strerror(errno) +
                   "; copy it to another disk, or record again.");
  }

 private:
  static constexpr char const* directory = "It is a directory: name the profile.strata in it.";
  static constexpr char const* device =
      "It is a device, such as a terminal or a disk: name a regular file.";
  static constexpr char const* pipe =
      "It is a pipe or a socket: write what comes out of it to a file, and name that.";

  static status refusal(std::string const& why) { return {errc::input_output, why}; }
  static status cannot_open() {
    return refusal(std::string("It cannot be opened: ") + std::strerror(errno) +
                   "; name a file that is there, and that you may read.");
  }
  static status objection(mode_t mode) {
    if (S_ISDIR(mode)) return refusal(directory);
    if (S_ISCHR(mode) || S_ISBLK(mode)) return refusal(device);
    return S_ISREG(mode) ? status() : refusal(pipe);
  }

  std::FILE* file_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SRC_RECORDING_INPUT_FILE_HPP
