// A module as plugins are: all of it is visible, and has ranges in inline functions too, of which
// g++ makes symbols that are unique in the process (STB_GNU_UNIQUE).
#include <strata/strata.hpp>

#include <cstdio>

namespace {

struct last_words {
  ~last_words() {
    std::puts("gone");
    std::fflush(stdout);
  }
} const last;

}  // namespace

inline void in_header() { STRATA_RANGE("inline"); }

extern "C" __attribute__((visibility("default"))) void module_work() {
  STRATA_STEP();
  STRATA_RANGE("module_inline");
  in_header();
}
