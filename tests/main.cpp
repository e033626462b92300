// The main of every test executable. It is weak, so that a test which needs a main of its own just
// defines one and can still use doctest. A run in which no test case was selected fails: a filter
// that matches nothing is a mistake.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "listener.hpp"

namespace {

unsigned selected = 0;

struct count_selected : empty_listener {
  explicit count_selected(doctest::ContextOptions const&) {}
  void report_query(doctest::QueryData const&) override { selected = 1; }
  void test_run_end(doctest::TestRunStats const& stats) override {
    selected = stats.numTestCasesPassingFilters;
  }
};

REGISTER_LISTENER("count_selected", 1, count_selected);

}  // namespace

#if defined(__GNUC__)
__attribute__((weak))
#endif
int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  int const result = context.run();
  if (context.shouldExit()) return result;
  if (selected == 0) return 4;
  return result;
}
