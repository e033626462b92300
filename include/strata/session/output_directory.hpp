#ifndef STRATA_SESSION_OUTPUT_DIRECTORY_HPP
#define STRATA_SESSION_OUTPUT_DIRECTORY_HPP

#include <strata/base/clock.hpp>
#include <strata/base/text_writer.hpp>
#include <strata/status.hpp>

#include <sys/stat.h>

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

STRATA_BEGIN
namespace detail {

/// A directory that is open. What is made in it is new and its own: no link is followed, and a path
/// that somebody changes meanwhile leads nowhere else. Threads: one.
class open_folder : uncopied {
 public:
  enum class last_link : unsigned char { followed, refused };

  /// A path of no length is the working directory. `error` says whether it could be opened.
  explicit open_folder(std::string const& path, last_link link = last_link::followed) noexcept
      : path_(path.c_str()) {
    int const flags = link == last_link::refused ? O_NOFOLLOW : 0;
    number_ = raise_descriptor(
        ::open(*path_ == '\0' ? "." : path_, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags, 0));
    if (number_ < 0) error_ = errno;
    begun_ = file_identity(number_);
  }
  ~open_folder() {
    if (file() >= 0) (void)::close(number_);
  }

  /// 0, or errno of the directory itself.
  int error() const noexcept { return error_; }

  /// Requires: the directory is open. Returns: 0 or errno; here and below.
  int make_folder(std::string const& name) const {
    return ::mkdirat(file(), name.c_str(), 0777) == 0 ? 0 : errno;
  }

  /// Begins a file that was not there. Returns: null, with errno, where it cannot.
  std::FILE* create(std::string const& name) const {
    int const flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int const made = raise_descriptor(::openat(file(), name.c_str(), flags, 0666));
    return made < 0 ? nullptr : ::fdopen(made, "wb");
  }

  int rename(std::string const& from, std::string const& name) const {
    return ::renameat(file(), from.c_str(), file(), name.c_str()) == 0 ? 0 : errno;
  }

  void remove(std::string const& name) const { (void)::unlinkat(file(), name.c_str(), 0); }

  /// Lets the link `name` lead to `target` beside it, where nothing but a link has that name.
  void link(std::string const& name, std::string const& target) const {
    struct stat found {};
    bool const there = ::fstatat(file(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0;
    if (there && !S_ISLNK(found.st_mode)) return;
    std::string const part = sentence(name) << '.' << static_cast<long>(::getpid()) << '.'
                                            << monotonic_ns() << ".part";
    if (::symlinkat(target.c_str(), file(), part.c_str()) != 0) return;
    if (rename(part, name) != 0) remove(part);
  }

  /// The user that a directory belongs to: this one, or one in it. -1 where that is not known.
  long owner(std::string const& name = {}) const {
    struct stat found {};
    bool const known = name.empty()
                           ? ::fstat(file(), &found) == 0
                           : ::fstatat(file(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0;
    if (known) return static_cast<long>(found.st_uid);
    return -1;
  }

  /// The file of this name; not known where there is none.
  file_identity which(std::string const& name) const noexcept {
    struct stat found {};
    if (::fstatat(file(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0)
      return file_identity(found);
    return {};
  }

  /// Why nothing is made at a path: somebody else may replace what is made there, or has led the
  /// path elsewhere. Empty where nobody does. Good are directories of this user and of root, and
  /// such as /tmp (the sticky bit). For root all others are good where not everybody may write:
  /// containers run as root, in directories of the user who began them.
  static std::string objection(std::string const& path) {
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
  }

 private:
  static bool belongs_to(struct stat const& found, long user) noexcept {
    return found.st_uid == 0 || static_cast<long>(found.st_uid) == user;
  }

  /// -1 where the program closed the directory, whose number may be that of another one by now.
  int file() const noexcept {
    return !begun_.known || begun_.same_as(file_identity(number_)) ? number_ : -1;
  }

  char const* path_;
  int number_ = -1;
  file_identity begun_;
  int error_ = 0;
};

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
    std::string path = with_name(wanted);
    if (numbered) path += '/';
    std::string const objection = open_folder::objection(parent_of(path));
    if (!objection.empty()) return refusal(path, objection);
    make_parents(path);
    std::string const parent = parent_of(path);
    open_folder const folder(parent);
    if (folder.error() != 0) return failure(path, folder.error());
    for (int number = first; number - first < max_runs; ++number) {
      number_ = number;
      path_ = path + (numbered      ? three_digits(number)
                      : number == 1 ? std::string()
                                    : sentence("-") << number);
      std::string const name = name_of(path_);
      int const error = folder.make_folder(name);
      if (error == 0) {
        owner_ = folder.owner(name);
        return {};
      }
      if (error != EEXIST || is_special(path_)) return failure(path_, error);
    }
    return failure(path, EEXIST);
  }

  /// Lets `WANTED-latest` beside the wanted directory lead to this one, or to this report of a
  /// window in it, so that the last of several is found. What has that name and is no link stays.
  void link_latest(std::string wanted) const {
    wanted = with_name(std::move(wanted));
    std::string const parent = parent_of(wanted);
    std::string const folder_of_windows = parent_of(path_);
    std::string target = name_of(path_);
    if (folder_of_windows != parent) {
      if (parent_of(folder_of_windows) != parent) return;
      target = name_of(folder_of_windows) + "/" + target;
    }
    open_folder const folder(parent);
    if (folder.error() == 0) folder.link(name_of(wanted) + "-latest", target);
  }

  /// Whether it is not there any more, or is another one.
  bool gone() const noexcept {
    open_folder const folder(path_, open_folder::last_link::refused);
    return folder.error() != 0 || folder.owner() != owner_;
  }

  /// Whether a file that was begun is not there any more, or another one has its name.
  bool lacks(char const* name, std::FILE* file) const {
    open_folder const folder(path_, open_folder::last_link::refused);
    file_identity const begun(file);
    return folder.error() != 0 ||
           (begun.known && !begun.same_as(folder.which(std::string(name) + ".part")));
  }

  /// Bytes that this user may still write there; as many as there are where nobody knows.
  std::uint64_t room() const noexcept {
    struct statvfs found {};
    if (::statvfs(path_.c_str(), &found) == 0 && found.f_blocks != 0)
      return static_cast<std::uint64_t>(found.f_bavail) * found.f_frsize;
    return ~std::uint64_t{0};
  }

  /// Makes the directories that a path names before its last part.
  static void make_parents(std::string const& path) {
    for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
      (void)::mkdir(path.substr(0, slash).c_str(), 0777);
    }
  }

  std::string const& path() const noexcept { return path_; }
  /// That of a numbered directory.
  int number() const noexcept { return number_; }

  file_identity which() const noexcept {
    struct stat found {};
    if (::lstat(path_.c_str(), &found) == 0) return file_identity(found);
    return {};
  }

  /// Removes these files, and the directory if nothing else is in it: neither where it is
  /// another directory than it was, nor files that were written since. Not on Windows.
  static void remove(std::string const& path, vec<std::string> const& files,
                     file_identity const& made) {
    int const folder =
        raise_descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
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
    if (same) (void)::rmdir(path.c_str());
  }

  /// Removes the directory if nothing is in it.
  void remove_empty() const noexcept { (void)::rmdir(path_.c_str()); }

  /// Whether `make` would succeed; only parents stay behind.
  static status probe(std::string const& wanted, bool numbered = false) {
    output_directory made;
    status const outcome = made.make(wanted, numbered ? 1 : 0);
    if (outcome.ok()) made.remove_empty();
    return outcome;
  }

  /// Writes one file under a temporary name and renames it when it is whole.
  status write(char const* name, file_content const& content) const {
    int const error = put(name, content);
    return error == 0 ? status() : failure(sentence(path_) << "/" << name, error);
  }

  /// The same. Returns: 0, errno, or text_writer::file_lost.
  int put(char const* name, file_content const& content) const {
    std::FILE* file = nullptr;
    int error = open_part(name, file);
    if (error != 0) return error;
    {
      text_writer out(file);
      bool const whole = if_memory_allows([&] { content(out); });
      if (!out.flush()) error = out.error();
      if (!whole) error = ENOMEM;
      if (!out.has_file()) error = text_writer::file_lost;
    }
    return close_part(name, file, error);
  }

  /// Begins a file under its temporary name, with `.part` behind it.
  status begin(char const* name, std::FILE*& file) const {
    int const error = open_part(name, file);
    return error == 0 ? status() : failure(sentence(path_) << "/" << name << ".part", error);
  }

  /// Ends it: gives it its name, or removes it where there was an error. In the directory of a user
  /// that the program was before it can do neither.
  status end(char const* name, std::FILE* file, int error) const {
    std::string const path = sentence(path_) << "/" << name;
    bool const is_whole = error == 0;
    if (is_whole && lacks(name, file)) return (void)std::fclose(file), failure(path, ENOENT);
    error = close_part(name, file, error);
    if (error == 0) return {};
    struct stat found {};
    if (!is_whole || ::lstat((path + ".part").c_str(), &found) != 0) return failure(path, error);
    return {errc::input_output, sentence("cannot write ")
                                    << path << ": " << reason(error) << "; all of it is in " << path
                                    << ".part, which strata report reads"};
  }

  /// What is before the last part of a path: empty for the working directory.
  static std::string parent_of(std::string const& path) {
    std::size_t const slash = path.rfind('/');
    if (slash == std::string::npos) return {};
    return path.substr(0, slash == 0 ? 1 : slash);
  }
  static std::string name_of(std::string const& path) { return path.substr(path.rfind('/') + 1); }

  /// `files` of one directory as a shell has them: `DIRECTORY/{one,other}`.
  static std::string joined(std::string const& folder, vec<std::string> const& files) {
    std::string names;
    for (std::string const& name : files) add_part(names, name, ",");
    if (files.size() < 2)
      return sentence(folder) << "/" << names;  // a shell expands {a,b}, not {a}
    return sentence(folder) << "/{" << names << "}";
  }

  /// Why a file cannot be written.
  static std::string reason(int error) {
    if (error == text_writer::file_lost)
      return "the program closed its file, as closefrom() does; close files before the first range";
    return std::strerror(error);
  }
  static constexpr char const* fix = "; choose another place with STRATA=...,out=DIRECTORY";

 private:
  static constexpr int max_runs = 10'000;

  /// A file of the directory itself: its name leads nowhere else.
  int open_part(std::string const& name, std::FILE*& file) const {
    if (name.empty() || name.find_first_of("/\\") != name.npos) return EINVAL;
    open_folder const folder(path_, open_folder::last_link::refused);
    if (folder.error() != 0) return folder.error();
    if (folder.owner() != owner_) return EPERM;
    file = folder.create(name + ".part");
    if (file == nullptr) return errno;
    // The text_writer has a buffer. A second one here would be written again by a child that the
    // program forks meanwhile.
    (void)std::setvbuf(file, nullptr, _IONBF, 0);
    return 0;
  }
  /// Gives the part its name, or removes it where there was an error. Returns: the first one.
  int close_part(std::string const& name, std::FILE* file, int error) const {
    open_folder const folder(path_, open_folder::last_link::refused);
    if (error != text_writer::file_lost && std::fclose(file) != 0 && error == 0) error = errno;
    if (folder.error() != 0) return error != 0 ? error : folder.error();
    if (folder.owner() != owner_) return error != 0 ? error : EPERM;
    std::string const part = name + ".part";
    if (error == 0) error = folder.rename(part, name);
    if (error != 0) folder.remove(part);
    return error;
  }

  /// A path without slashes at its end. One without a name (/, ., ..) is a place for a directory.
  static std::string with_name(std::string path) {
    while (!path.empty() && path.back() == '/') path.pop_back();
    std::string const name = name_of(path);
    return name.empty() || name == "." || name == ".." ? path + "/strata-out" : path;
  }

  static std::string three_digits(int number) {
    std::string const text = sentence() << number;
    return std::string(text.size() < 3 ? 3 - text.size() : 0, '0') + text;
  }

  /// Neither a directory nor a file: nothing is made beside /dev/null.
  static bool is_special(std::string const& path) noexcept {
    struct stat found {};
    return ::stat(path.c_str(), &found) != 0 || !(S_ISDIR(found.st_mode) || S_ISREG(found.st_mode));
  }

  static status failure(std::string const& path, int error) {
    std::string const text = sentence("cannot write ") << path << ": " << reason(error);
    return {errc::input_output, error == text_writer::file_lost ? text : text + fix};
  }
  static status refusal(std::string const& path, std::string const& objection) {
    return {errc::input_output,
            sentence("cannot write ")
                << path << ": " << objection
                << "; make a directory of your own, and name it in STRATA=...,out=DIRECTORY/run"};
  }

  std::string path_;
  int number_ = 0;
  long owner_ = -1;  // of the directory, as it was made
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_OUTPUT_DIRECTORY_HPP
