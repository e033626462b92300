#include <strata/version.hpp>
#ifndef STRATA_SESSION_OUTPUT_DIRECTORY_HPP
#define STRATA_SESSION_OUTPUT_DIRECTORY_HPP

#include <strata/base/macros.hpp>
#include <strata/report/text_writer.hpp>
#include <strata/status.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include <sys/stat.h>
#if defined(_WIN32)
#include <direct.h>
#endif

STRATA_BEGIN

namespace detail {

/// A directory of its own for the files of one run.
class output_directory {
 public:
  /// Makes the directory, with its parents; where it exists already, the first free of `-2`, `-3`,
  /// ... beside it.
  status make(std::string const& wanted) {
    std::string path = wanted;
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
      (void)make_one(path.substr(0, slash));
    }
    for (int number = 1; number <= most_runs; ++number) {
      path_ = number == 1 ? path : path + "-" + std::to_string(number);
      int const error = make_one(path_);
      if (error == 0) return {};
      if (error != EEXIST) return failure(path_, error);
      if (!is_directory(path_)) return failure(path_, EEXIST);
    }
    return failure(path, EEXIST);
  }

  std::string const& path() const noexcept { return path_; }

  /// Writes one file under a temporary name and renames it when it is whole.
  template <class Fill>
  status write(char const* name, Fill fill) const {
    std::string const whole = path_ + "/" + name;
    std::string const part = whole + ".part";
    std::FILE* const file = std::fopen(part.c_str(), "wb");
    if (file == nullptr) return failure(part, errno);
    int error = 0;
    {
      text_writer out(file);
      fill(out);
      if (!out.flush()) error = out.error();
    }
    if (std::fclose(file) != 0 && error == 0) error = errno;
    if (error == 0 && std::rename(part.c_str(), whole.c_str()) != 0) error = errno;
    if (error == 0) return {};
    (void)std::remove(part.c_str());
    return failure(whole, error);
  }

 private:
  static constexpr int most_runs = 10'000;

  static int make_one(std::string const& path) noexcept {
#if defined(_WIN32)
    return _mkdir(path.c_str()) == 0 ? 0 : errno;
#else
    return ::mkdir(path.c_str(), 0777) == 0 ? 0 : errno;
#endif
  }

  static bool is_directory(std::string const& path) noexcept {
#if defined(_WIN32)
    struct _stat64 found {};
    return _stat64(path.c_str(), &found) == 0 && (found.st_mode & _S_IFDIR) != 0;
#else
    struct stat found {};
    return ::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
#endif
  }

  static status failure(std::string const& path, int error) {
    return {errc::input_output, "cannot write " + path + ": " + std::strerror(error) +
                                    "; choose another place with STRATA=...,out=DIRECTORY"};
  }

  std::string path_;
};

}  // namespace detail

STRATA_END

#endif  // STRATA_SESSION_OUTPUT_DIRECTORY_HPP
