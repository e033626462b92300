// What this device reaches: memory, caches, and operations of each format. Later sessions on it
// take the results for their roofs.
//
//   ./ceilings
#include <strata/ceilings.hpp>

#include <cstdio>
#include <cstring>

int main(int count, char** arguments) {
  bool keep = true;
  for (int i = 1; i < count; ++i) {
    if (std::strcmp(arguments[i], "--no-cache") == 0) {
      keep = false;
    } else {
      bool const help = std::strcmp(arguments[i], "--help") == 0;
      if (!help) std::fprintf(stderr, "ceilings: there is no option '%s'\n", arguments[i]);
      std::fputs(
          "ceilings [--no-cache]\n"
          "Measures the first GPU, or without one the CPU, and keeps the results of a GPU for\n"
          "the roofs of later sessions. --no-cache: prints them only.\n",
          help ? stdout : stderr);
      return help ? 0 : 2;
    }
  }
  strata::measured_ceilings const gpu = strata::measure_ceilings();
  std::fputs(strata::ceilings_text(gpu).c_str(), stdout);
  if (!gpu.outcome.ok()) {
    std::fputs(strata::ceilings_text(strata::measure_cpu_ceilings()).c_str(), stdout);
    return 0;
  }
  if (!keep) return 0;
  strata::status const kept = strata::write_ceilings(gpu);
  std::printf("%s\n", kept.ok() ? "kept for the roofs of later sessions" : kept.message().c_str());
  return kept.ok() ? 0 : 1;
}
