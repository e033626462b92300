#include <strata/version.hpp>
#ifndef STRATA_SESSION_OUTPUT_DIRECTORY_HPP
#define STRATA_SESSION_OUTPUT_DIRECTORY_HPP

#include <strata/base/clock.hpp>
#include <strata/base/guest.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/memory.hpp>
#include <strata/base/vec.hpp>
#include <strata/base/vocabulary.hpp>
#include <strata/report/text_writer.hpp>
#include <strata/status.hpp>

#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>

#if defined(_WIN32)
#include <direct.h>
#else
#include <fcntl.h>
#include <unistd.h>
#endif

STRATA_BEGIN

namespace detail {

/// What a file is filled with: refers to a function of a text_writer.
using file_content = callback<void(text_writer&)>;

/// A directory of its own for the files of one run.
class output_directory {
 public:
  /// Makes the directory, with its parents; where it is there already, or a file of its name, the
  /// first free of `-2`, `-3`, ... beside it. `numbered_from` not 0: the first free of `001`,
  /// `002`, ... within it, from that number on.
  status make(std::string const& wanted, int numbered_from = 0) {
    bool const numbered = numbered_from != 0;
    int const first = numbered ? numbered_from : 1;
    if (wanted.empty()) return failure(wanted, ENOENT);
    std::string path = wanted;
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    if (numbered) path += '/';
    make_parents(path);
    for (int number = first; number - first < most_runs; ++number) {
      number_ = number;
      path_ = path + (numbered      ? three_digits(number)
                      : number == 1 ? std::string()
                                    : sentence("-") << number);
      int const error = make_one(path_);
      if (error == 0) return {};
      if (error != EEXIST || is_special(path_)) return failure(path_, error);
    }
    return failure(path, EEXIST);
  }

  /// Makes the directories that a path names before its last part.
  static void make_parents(std::string const& path) {
    for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
      (void)make_one(path.substr(0, slash));
    }
  }

  std::string const& path() const noexcept { return path_; }
  /// That of a numbered directory.
  int number() const noexcept { return number_; }

  file_identity which() const noexcept {
#if defined(__linux__) || defined(__APPLE__)
    struct stat found {};
    if (::lstat(path_.c_str(), &found) == 0) return file_identity(found);
#endif
    return {};
  }

  /// Removes these files, and the directory if nothing else is in it: neither where it is
  /// another directory than it was, nor files that were written since. Not on Windows.
  static void remove(std::string const& path, vec<std::string> const& files,
                     file_identity const& made) {
#if defined(__linux__) || defined(__APPLE__)
    int const folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) return;
    struct stat now {};
    bool const same = ::fstat(folder, &now) == 0 && file_identity(now).same_as(made);
    for (std::string const& name : files) {
      if (!same) break;
      // The last change of the directory was the rename of the report's last file.
      if (::fstatat(folder, name.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0 &&
          file_identity(now).modified <= made.modified)
        (void)::unlinkat(folder, name.c_str(), 0);
    }
    ::close(folder);
    if (same) remove_empty(path);
#else
    (void)path, (void)files, (void)made;
#endif
  }

  /// Whether `make` would succeed; only parents stay behind.
  static status probe(std::string const& wanted, bool numbered = false) {
    output_directory made;
    status const outcome = made.make(wanted, numbered ? 1 : 0);
    if (outcome.ok()) remove_empty(made.path_);
    return outcome;
  }

  /// Writes one file under a temporary name and renames it when it is whole.
  status write(char const* name, file_content const& content) const {
    std::FILE* file = nullptr;
    status const begun = begin(name, file);
    if (!begun.ok()) return begun;
    int error = 0;
    {
      text_writer out(file);
      bool const whole = if_memory_allows([&] { content(out); });
      if (!out.flush()) error = out.error();
      if (!whole) error = ENOMEM;
      if (!out.has_file()) error = text_writer::file_lost;
    }
    return end(name, file, error);
  }

  /// Begins a file under its temporary name, with `.part` behind it.
  status begin(char const* name, std::FILE*& file) const {
    std::string const part = sentence(path_) << "/" << name << ".part";
    file = open_part(part);
    return file != nullptr ? status() : failure(part, errno);
  }

  /// Ends it: gives it its name, or removes it where there was an error.
  status end(char const* name, std::FILE* file, int error) const {
    std::string const whole = sentence(path_) << "/" << name;
    error = close_part(whole + ".part", whole, file, error);
    return error == 0 ? status() : failure(whole, error);
  }

  /// Replaces a file at once: a reader sees the old one or the new one, and so does another writer.
  static bool replace(std::string const& path, std::string const& text) {
    std::string const part = sentence(path) << "." << monotonic_ns() << ".part";
    std::FILE* const file = open_part(part);
    if (file == nullptr) return false;
    bool const whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    return close_part(part, path, file, whole ? 0 : EIO) == 0;
  }

 private:
  static constexpr int most_runs = 10'000;

  static std::FILE* open_part(std::string const& part) noexcept {
    std::FILE* file = std::fopen(part.c_str(), "wbe");
#if defined(__linux__) || defined(__APPLE__)
    if (file != nullptr && ::fileno(file) <= STDERR_FILENO) file = moved_up(file);
#endif
    // The text_writer has a buffer. A second one here would be written again by a child that the
    // program forks meanwhile.
    if (file != nullptr) (void)std::setvbuf(file, nullptr, _IONBF, 0);
    return file;
  }
  /// Gives the part its name, or removes it where there was an error. Returns: the first one.
  static int close_part(std::string const& part, std::string const& whole, std::FILE* file,
                        int error) noexcept {
    if (error != text_writer::file_lost && std::fclose(file) != 0 && error == 0) error = errno;
    if (error == 0 && std::rename(part.c_str(), whole.c_str()) != 0) error = errno;
    if (error != 0) (void)std::remove(part.c_str());
    return error;
  }

  static std::string three_digits(int number) {
    std::string const text = sentence() << number;
    return std::string(text.size() < 3 ? 3 - text.size() : 0, '0') + text;
  }

#if defined(__linux__) || defined(__APPLE__)
  /// A file under another number than those of the program's input and output, which a program may
  /// have closed. Null, with errno, where there is none.
  static std::FILE* moved_up(std::FILE* file) noexcept {
    int const number = ::fcntl(::fileno(file), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int const error = errno;
    (void)std::fclose(file);
    errno = error;
    return number < 0 ? nullptr : ::fdopen(number, "wb");
  }
#endif

  static void remove_empty(std::string const& path) noexcept {
#if defined(_WIN32)
    (void)_rmdir(path.c_str());
#else
    (void)::rmdir(path.c_str());
#endif
  }

  static int make_one(std::string const& path) noexcept {
#if defined(_WIN32)
    return _mkdir(path.c_str()) == 0 ? 0 : errno;
#else
    return ::mkdir(path.c_str(), 0777) == 0 ? 0 : errno;
#endif
  }

  /// Neither a directory nor a file: nothing is made beside /dev/null.
  static bool is_special(std::string const& path) noexcept {
#if defined(_WIN32)
    struct _stat64 found {};
    return _stat64(path.c_str(), &found) != 0 || (found.st_mode & (_S_IFDIR | _S_IFREG)) == 0;
#else
    struct stat found {};
    return ::stat(path.c_str(), &found) != 0 || !(S_ISDIR(found.st_mode) || S_ISREG(found.st_mode));
#endif
  }

  static status failure(std::string const& path, int error) {
    if (error == text_writer::file_lost)
      return {errc::input_output,
              sentence("cannot write ")
                  << path
                  << ": the program closed its file, as closefrom() does; close "
                     "files before the first range"};
    return {errc::input_output, sentence("cannot write ")
                                    << path << ": " << std::strerror(error)
                                    << "; choose another place with STRATA=...,out=DIRECTORY"};
  }

  std::string path_;
  int number_ = 0;
};

}  // namespace detail

STRATA_END

#endif  // STRATA_SESSION_OUTPUT_DIRECTORY_HPP
