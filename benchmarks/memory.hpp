// What the process has in memory, by the kernel's account.
#ifndef STRATA_BENCHMARKS_MEMORY_HPP
#define STRATA_BENCHMARKS_MEMORY_HPP

#include <cstdio>
#include <cstdlib>
#include <cstring>

/// `VmRSS`: now; `VmHWM`: at most. Units: KiB. 0 where it is not known.
inline double memory_kib(char const* what) {
  char line[256];
  double found = 0.0;
  std::FILE* const file = std::fopen("/proc/self/status", "r");
  while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr)
    if (std::strncmp(line, what, std::strlen(what)) == 0)
      found = std::atof(line + std::strlen(what) + 1);
  if (file != nullptr) std::fclose(file);
  return found;
}

#endif  // STRATA_BENCHMARKS_MEMORY_HPP
