// A listener of doctest that does nothing: others override the calls that they need.
#ifndef STRATA_TESTS_LISTENER_HPP
#define STRATA_TESTS_LISTENER_HPP

#include <doctest/doctest.h>

struct empty_listener : doctest::IReporter {
  void report_query(doctest::QueryData const&) override {}
  void test_run_start() override {}
  void test_run_end(doctest::TestRunStats const&) override {}
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

#endif  // STRATA_TESTS_LISTENER_HPP
