// The main of every test executable. It is weak, so that a test which needs a main of its own just
// defines one and can still use doctest. A run in which no test case was selected fails: a filter
// that matches nothing is a mistake.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

namespace {

unsigned selected = 0;

struct count_selected : doctest::IReporter {
  explicit count_selected(doctest::ContextOptions const&) {}
  void report_query(doctest::QueryData const&) override { selected = 1; }
  void test_run_start() override {}
  void test_run_end(doctest::TestRunStats const& stats) override {
    selected = stats.numTestCasesPassingFilters;
  }
  void test_case_start(doctest::TestCaseData const&) override {}
  void test_case_reenter(doctest::TestCaseData const&) override {}
  void test_case_end(doctest::CurrentTestCaseStats const&) override {}
  void test_case_exception(doctest::TestCaseException const&) override {}
  void subcase_start(doctest::SubcaseSignature const&) override {}
  void subcase_end() override {}
  void log_assert(doctest::AssertData const&) override {}
  void log_message(doctest::MessageData const&) override {}
  void test_case_skipped(doctest::TestCaseData const&) override {}
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
