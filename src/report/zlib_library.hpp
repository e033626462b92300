#include <strata/version.hpp>
#ifndef STRATA_REPORT_ZLIB_LIBRARY_HPP
#define STRATA_REPORT_ZLIB_LIBRARY_HPP

#include <strata/base/dynamic_library.hpp>
#include <strata/base/loader_use.hpp>
#include <strata/base/macros.hpp>

#include <dlfcn.h>

STRATA_BEGIN
namespace detail {
namespace zlib {

/// z_stream of zlib.h.
struct stream {
  unsigned char const* next_in;
  unsigned avail_in;
  unsigned long total_in;
  unsigned char* next_out;
  unsigned avail_out;
  unsigned long total_out;
  char const* msg;
  void* state;
  void* allocate;
  void* release;
  void* opaque;
  int data_type;
  unsigned long adler;
  unsigned long reserved;
};

constexpr int sync_flush = 2;
constexpr int finish = 4;
constexpr int deflated = 8;
constexpr int filtered = 1;  ///< the strategy for text with many numbers

/// zlib, opened for as long as this is there. It is not linked: a library that is loaded into a
/// program would bring the system's zlib before the program loads its own, newer one, and a program
/// has to start where there is none. Threads: any, once it is made.
class library {
 public:
  library() noexcept {
    loader_use const use;
    handle_ = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
    is_whole_ = handle_ != nullptr && bind("zlibVersion", version) &&
                bind("deflateInit2_", begin_deflate) && bind("deflate", deflate) &&
                bind("deflateSetDictionary", set_dictionary) && bind("deflateEnd", end_deflate) &&
                bind("crc32", crc32) && bind("crc32_combine", crc32_combine);
    if (!is_whole_) (void)dynamic_library::forget_error();
  }
  ~library() {
    if (handle_ == nullptr) return;
    loader_use const use;
    (void)dlclose(handle_);
  }
  library(library const&) = delete;
  library& operator=(library const&) = delete;

  bool is_whole() const noexcept { return is_whole_; }

  char const* (*version)() = nullptr;
  int (*begin_deflate)(stream*, int level, int method, int window_bits, int memory, int strategy,
                       char const* version, int size) = nullptr;
  int (*deflate)(stream*, int flush) = nullptr;
  int (*set_dictionary)(stream*, unsigned char const*, unsigned) = nullptr;
  int (*end_deflate)(stream*) = nullptr;
  unsigned long (*crc32)(unsigned long, unsigned char const*, unsigned) = nullptr;
  unsigned long (*crc32_combine)(unsigned long, unsigned long, long) = nullptr;

 private:
  template <class Function>
  bool bind(char const* name, Function*& function) noexcept {
    function = reinterpret_cast<Function*>(dlsym(handle_, name));
    return function != nullptr;
  }

  void* handle_ = nullptr;
  bool is_whole_ = false;
};

}  // namespace zlib
}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_ZLIB_LIBRARY_HPP
