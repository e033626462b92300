#include <strata/version.hpp>
#ifndef STRATA_BASE_DYNAMIC_LIBRARY_HPP
#define STRATA_BASE_DYNAMIC_LIBRARY_HPP

#include <strata/base/macros.hpp>

#include <cstring>
#include <string>

#if defined(__linux__)
#include <dlfcn.h>
#endif

STRATA_DETAIL_COLD_CODE
STRATA_BEGIN
namespace detail {

/// A function by name, and the address of the pointer to it.
struct library_function {
  char const* name;
  void* pointer;
};

/// A library that is opened by name or absolute path and, once open, stays so until the process
/// ends.
class dynamic_library {
 public:
  /// Opens `name`. A path that depends on the working directory is refused.
  bool open(char const* name) noexcept { return open_with(name, 0); }

  /// Takes `name` only if the process has it already.
  bool open_loaded(char const* name) noexcept {
#if defined(__linux__)
    return open_with(name, RTLD_NOLOAD);
#else
    return open_with(name, 0);
#endif
  }

  [[nodiscard]] bool is_open() const noexcept { return handle_ != nullptr; }

  /// Stores the function called `name` in `function`, or null: a null entry is a feature that is
  /// absent.
  template <class Function>
  bool bind(char const* name, Function*& function) const noexcept {
    return bind(library_function{name, &function});
  }
  bool bind(library_function const& which) const noexcept {
    void* address = nullptr;
#if defined(__linux__)
    if (handle_ != nullptr) address = ::dlsym(handle_, which.name);
#endif
    std::memcpy(which.pointer, &address, sizeof address);
    return address != nullptr;
  }

  /// File that holds the function called `name`, or an empty string.
  [[nodiscard]] std::string path_of(char const* name) const {
#if defined(__linux__)
    Dl_info info{};
    void* address = handle_ == nullptr ? nullptr : ::dlsym(handle_, name);
    if (address != nullptr && ::dladdr(address, &info) != 0 && info.dli_fname != nullptr) {
      return info.dli_fname;
    }
#else
    (void)name;
#endif
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

  /// What the dynamic linker said about the last failure in this thread.
  static std::string last_error() {
#if defined(__linux__)
    char const* text = ::dlerror();
    return text != nullptr ? text : "unknown error";
#else
    return "not supported on this platform";
#endif
  }

 private:
  bool open_with(char const* name, int extra) noexcept {
    if (!acceptable(name)) return false;
#if defined(__linux__)
    handle_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL | extra);
#else
    (void)extra;
#endif
    return handle_ != nullptr;
  }

  void* handle_ = nullptr;
};

}  // namespace detail
STRATA_END
STRATA_DETAIL_END_CODE

#endif  // STRATA_BASE_DYNAMIC_LIBRARY_HPP
