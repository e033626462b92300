// Holds tests to one thread: where STRATA_TEST_ONE_THREAD is set, a run that made another one
// fails.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace {

std::atomic<unsigned> threads_made{0};

struct one_thread : doctest::IReporter {
  explicit one_thread(doctest::ContextOptions const&) {}
  void report_query(doctest::QueryData const&) override {}
  void test_run_start() override {}
  void test_run_end(doctest::TestRunStats const&) override {
    if (threads_made == 0 || std::getenv("STRATA_TEST_ONE_THREAD") == nullptr) return;
    std::printf("%u threads were made: add this file to threaded in tests/CMakeLists.txt\n",
                threads_made.load());
    std::fflush(stdout);
    std::_Exit(1);
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

REGISTER_LISTENER("one_thread", 1, one_thread);

}  // namespace

// In place of the C library's, for the C++ library too.
extern "C" int pthread_create(pthread_t* made, pthread_attr_t const* attributes,
                              void* (*run)(void*), void* of) noexcept {
  using creator = int(pthread_t*, pthread_attr_t const*, void* (*)(void*), void*);
  static auto* const create = reinterpret_cast<creator*>(dlsym(RTLD_NEXT, "pthread_create"));
  threads_made.fetch_add(1);
  return create(made, attributes, run, of);
}
