#ifndef STRATA_SESSION_OPEN_FOLDER_HPP
#define STRATA_SESSION_OPEN_FOLDER_HPP

#include <strata/base/clock.hpp>
#include <strata/base/guest.hpp>
#include <strata/base/text.hpp>

#include <sys/stat.h>

#if defined(_WIN32)
#include <direct.h>
#else
#include <fcntl.h>
#include <unistd.h>
#endif

STRATA_BEGIN

namespace detail {

/// A directory that is open. What is made in it is new and its own: no link is followed, and a path
/// that somebody changes meanwhile leads nowhere else. Threads: one.
class open_folder {
 public:
  enum class last_link : unsigned char { followed, refused };

  /// A path of no length is the working directory. `error` says whether it could be opened.
  explicit open_folder(std::string const& path, last_link link = last_link::followed) noexcept
      : path_(path.c_str()) {
#if !defined(_WIN32)
    int const flags = link == last_link::refused ? O_NOFOLLOW : 0;
    number_ = raise_descriptor(
        ::open(*path_ == '\0' ? "." : path_, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags, 0));
    if (number_ < 0) error_ = errno;
    begun_ = file_identity(number_);
#else
    (void)link;
#endif
  }
  open_folder(open_folder const&) = delete;
  open_folder& operator=(open_folder const&) = delete;
  ~open_folder() {
#if !defined(_WIN32)
    if (file() >= 0) (void)::close(number_);
#endif
  }

  /// 0, or errno of the directory itself.
  int error() const noexcept { return error_; }

  /// Requires: the directory is open. Returns: 0 or errno; here and below.
  int make_folder(std::string const& name) const {
#if defined(_WIN32)
    return _mkdir(full(name).c_str()) == 0 ? 0 : errno;
#else
    return ::mkdirat(file(), name.c_str(), 0777) == 0 ? 0 : errno;
#endif
  }

  /// Begins a file that was not there. Returns: null, with errno, where it cannot.
  std::FILE* create(std::string const& name) const {
#if defined(_WIN32)
    return std::fopen(full(name).c_str(), "wb");
#else
    int const flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int const made = raise_descriptor(::openat(file(), name.c_str(), flags, 0666));
    return made < 0 ? nullptr : ::fdopen(made, "wb");
#endif
  }

  int rename(std::string const& from, std::string const& name) const {
#if defined(_WIN32)
    return std::rename(full(from).c_str(), full(name).c_str()) == 0 ? 0 : errno;
#else
    return ::renameat(file(), from.c_str(), file(), name.c_str()) == 0 ? 0 : errno;
#endif
  }

  void remove(std::string const& name) const {
#if defined(_WIN32)
    (void)std::remove(full(name).c_str());
#else
    (void)::unlinkat(file(), name.c_str(), 0);
#endif
  }

  /// Lets the link `name` lead to `target` beside it, where nothing but a link has that name.
  void link(std::string const& name, std::string const& target) const {
#if !defined(_WIN32)
    struct stat found {};
    bool const there = ::fstatat(file(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0;
    if (there && !S_ISLNK(found.st_mode)) return;
    std::string const part = sentence(name) << '.' << static_cast<long>(::getpid()) << '.'
                                            << monotonic_ns() << ".part";
    if (::symlinkat(target.c_str(), file(), part.c_str()) != 0) return;
    if (rename(part, name) != 0) remove(part);
#else
    (void)name, (void)target;
#endif
  }

  /// The user that a directory belongs to: this one, or one in it. -1 where that is not known.
  long owner(std::string const& name = {}) const {
#if !defined(_WIN32)
    struct stat found {};
    bool const known = name.empty()
                           ? ::fstat(file(), &found) == 0
                           : ::fstatat(file(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0;
    if (known) return static_cast<long>(found.st_uid);
#else
    (void)name;
#endif
    return -1;
  }

  /// The file of this name; not known where there is none.
  file_identity which(std::string const& name) const noexcept {
#if defined(__linux__) || defined(__APPLE__)
    struct stat found {};
    if (::fstatat(file(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0)
      return file_identity(found);
#else
    (void)name;
#endif
    return {};
  }

  /// Why nothing is made at a path: somebody else may replace what is made there, or has led the
  /// path elsewhere. Empty where nobody does. Looks at links on the way, and at the last directory
  /// that is there: what is made below it is this user's.
  ///
  /// Good are directories of this user and of root, and such as /tmp, where each may remove only
  /// what is his (the sticky bit). For root all others are good where not everybody may write:
  /// containers run as root, in directories of the user who began them.
  static std::string objection([[maybe_unused]] std::string const& path) {
#if !defined(_WIN32)
    long const user = static_cast<long>(::geteuid());
    std::string folder = path.empty() || path.front() != '/' ? "." : "/";
    struct stat last {};
    if (::stat(folder.c_str(), &last) != 0) return {};
    for (std::size_t end = 0; end != path.size();) {
      end = path.find('/', end + 1);
      if (end == std::string::npos) end = path.size();
      std::string const part = path.substr(0, end);
      struct stat found {};
      if (::lstat(part.c_str(), &found) != 0) break;
      bool const foreign = !belongs_to(found, user);
      if (S_ISLNK(found.st_mode) && foreign && (last.st_mode & S_IWOTH) != 0)
        return sentence(part) << " is a link of another user (uid " << found.st_uid << ")";
      if (::stat(part.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) break;
      folder = part;
      last = found;
    }
    bool const closed = user == 0 && (last.st_mode & S_IWOTH) == 0;
    if (belongs_to(last, user) || (last.st_mode & S_ISVTX) != 0 || closed) return {};
    return sentence(folder) << " belongs to another user (uid " << last.st_uid
                            << "), who could replace what is written there";
#else
    return {};
#endif
  }

 private:
#if !defined(_WIN32)
  static bool belongs_to(struct stat const& found, long user) noexcept {
    return found.st_uid == 0 || static_cast<long>(found.st_uid) == user;
  }

  /// -1 where the program closed the directory, whose number may be that of another one by now.
  int file() const noexcept {
    return !begun_.known || begun_.same_as(file_identity(number_)) ? number_ : -1;
  }
#else
  std::string full(std::string const& name) const { return std::string(path_) + "/" + name; }
#endif

  char const* path_;
  int number_ = -1;
  file_identity begun_;
  int error_ = 0;
};

}  // namespace detail

STRATA_END

#endif  // STRATA_SESSION_OPEN_FOLDER_HPP
