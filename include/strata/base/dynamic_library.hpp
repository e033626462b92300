#ifndef STRATA_BASE_DYNAMIC_LIBRARY_HPP
#define STRATA_BASE_DYNAMIC_LIBRARY_HPP

#include <strata/base/loader_use.hpp>
#include <strata/base/macros.hpp>

#include <cstring>
#include <string>

#include <dlfcn.h>

STRATA_DETAIL_COLD_CODE
STRATA_BEGIN
namespace detail {

/// The name of a function, and the address of the pointer that receives it.
struct library_function {
  char const* name;
  void* pointer;
};

/// A library that is opened by name or absolute path and, once open, stays so until the process
/// ends. What fails here is no error that the program's own dlerror() gives.
class dynamic_library {
 public:
  /// Opens `name`. A path that depends on the working directory is refused.
  bool open(char const* name) noexcept { return open_with(name, 0) || forget_error(); }

  /// The same; on failure `reason` is what the dynamic linker says.
  bool open(char const* name, std::string& reason) {
    if (open_with(name, 0)) return true;
    char const* text = ::dlerror();
    reason = text != nullptr ? text : "unknown error";
    return forget_error();
  }

  /// Takes `name` only if the process has it already.
  bool open_loaded(char const* name) noexcept {
    return open_with(name, RTLD_NOLOAD) || forget_error();
  }

  [[nodiscard]] bool is_open() const noexcept { return handle_ != nullptr; }

  /// Stores the function called `name`, or null: a feature that is absent.
  template <class Function>
  bool bind(char const* name, Function*& function) const noexcept {
    return bind(library_function{name, &function});
  }
  bool bind(library_function const& which) const noexcept {
    void* address = nullptr;
    if (handle_ != nullptr) address = ::dlsym(handle_, which.name);
    std::memcpy(which.pointer, &address, sizeof address);
    return address != nullptr || forget_error();
  }

  /// File that holds the function called `name`, or an empty string.
  [[nodiscard]] std::string path_of(char const* name) const {
    Dl_info info{};
    void* address = handle_ == nullptr ? nullptr : ::dlsym(handle_, name);
    if (address != nullptr && ::dladdr(address, &info) != 0 && info.dli_fname != nullptr) {
      return info.dli_fname;
    }
    (void)forget_error();
    return {};
  }

  /// Absolute path, or bare name that the dynamic linker looks up in its own folders.
  static bool acceptable(char const* name) noexcept {
    if (name == nullptr || *name == '\0') return false;
    if (*name == '/') return true;
    for (char const* c = name; *c != '\0'; ++c) {
      if (*c == '/') return false;
    }
    return true;
  }

  /// The dynamic linker's error of this thread is over, and its memory given back: glibc keeps it
  /// until it was asked for twice. Returns: false.
  static bool forget_error() noexcept {
    (void)::dlerror();
    (void)::dlerror();
    return false;
  }

 private:
  bool open_with(char const* name, int extra) noexcept {
    if (!acceptable(name)) return false;
    loader_use const use;
    handle_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL | extra);
    return handle_ != nullptr;
  }

  void* handle_ = nullptr;
};

}  // namespace detail
STRATA_END
STRATA_DETAIL_END_CODE

#endif  // STRATA_BASE_DYNAMIC_LIBRARY_HPP
