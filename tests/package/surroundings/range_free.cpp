// A program without a range, with and without the umbrella header: what it has done by the end of
// main, and how long its work took.
#ifdef UMBRELLA
#include <strata/strata.hpp>
#endif

#include <malloc.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

static unsigned work(unsigned rounds) {
  unsigned x = 1;
  for (unsigned i = 0; i < rounds; ++i) x = x * 1'664'525u + 1'013'904'223u + (x >> 7);
  return x;
}

/// Prints the lines of a file of /proc that begin with `start`, or the files it names.
static void show(char const* path, char const* start) {
  std::FILE* const file = std::fopen(path, "r");
  if (file == nullptr) return;
  char line[4096];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (start != nullptr && std::strncmp(line, start, std::strlen(start)) != 0) continue;
    char const* const name = start == nullptr ? std::strrchr(line, '/') : line;
    if (name != nullptr) std::printf("%s", name);
  }
  std::fclose(file);
}

int main(int count, char** words) {
  std::size_t const heap = mallinfo2().uordblks;  // before anything of ours is in it
  unsigned const rounds = count > 1 ? static_cast<unsigned>(std::atoi(words[1])) : 1000;
  auto const begin = std::chrono::steady_clock::now();
  unsigned const result = work(rounds);
  auto const end = std::chrono::steady_clock::now();
  if (count > 2) {
    std::printf("heap %zu\n", heap);
    show("/proc/self/status", "Threads:");
    show("/proc/self/maps", nullptr);
  }
  std::printf("work %.9f %u\n", std::chrono::duration<double>(end - begin).count(), result & 1u);
  return 42;
}
