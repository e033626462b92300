// Sessions for benchmarks: host times, no files, and what is common to the main functions.
#ifndef STRATA_BENCHMARKS_HOST_SESSION_HPP
#define STRATA_BENCHMARKS_HOST_SESSION_HPP

#include <strata/session.hpp>
#include <strata/strata.hpp>

#include <cstdlib>

#if defined(__GLIBC__)
#include <malloc.h>
#endif
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef BENCH_FLAGS
#define BENCH_FLAGS "unknown"
#endif

namespace bench {

#if defined(__clang__)
inline constexpr char const* compiler = "clang++ " __clang_version__;
#elif defined(__GNUC__)
inline constexpr char const* compiler = "g++ " __VERSION__;
#else
inline constexpr char const* compiler = "unknown";
#endif

/// Nothing but the host log, with room for everything that a benchmark records.
inline strata::options host_only() {
  strata::options how;
  how.trace = false;
  how.table = how.csv = how.json = how.chrome_trace = false;
  how.nvtx = strata::options::nvtx_mode::off;
  how.log_mb = 2048;
  return how;
}

inline bool keeps_pages = false;

/// Freed memory stays with the process, so that a second session records into touched memory.
inline void keep_freed_memory() {
  keeps_pages = true;
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

/// Freed memory goes back to the system: what is recorded next touches fresh pages.
inline void give_freed_memory_back() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

/// The benchmark decides who listens, not the shell that it runs from.
inline void clear_environment() {
  unsetenv("STRATA");
  unsetenv("NVTX_INJECTION64_PATH");
}

}  // namespace bench

// In place of the C library's: the end of a session gives the pages of its log back.
extern "C" int madvise(void* memory, std::size_t bytes, int advice) noexcept {
  return bench::keeps_pages ? -1 : static_cast<int>(syscall(SYS_madvise, memory, bytes, advice));
}

#endif  // STRATA_BENCHMARKS_HOST_SESSION_HPP
