// An implementation in the program and one in a module: the process has one state, and a session in
// either sees the work of both.
#include "two_implementations.hpp"

#include <dlfcn.h>

#include <strata/collect/cuda/contexts.hpp>
#include <thread>

#include "fake_session.hpp"

namespace two_implementations_test {

namespace {

constexpr std::uint32_t stream = 9;

two::module_calls const& module() {
  static auto* const get = reinterpret_cast<two::module_calls const* (*)()>(
      dlsym(dlopen(TWO_MODULE, RTLD_NOW | RTLD_LOCAL), "two_module"));
  return *get();
}

void launch() { (void)fake::launch(); }

/// Work of both, also in another thread.
void work() {
  {
    STRATA_RANGE("program");
    launch();
    module().work(&launch);
  }
  module().work([] {
    STRATA_RANGE("program");
    launch();
    launch();
  });
  std::thread([] { module().work(&launch); }).join();
}

void work_into_capture() {
  STRATA_RANGE("program");
  module().work([] { (void)fake::launch("kernel", stream); });
}

void capture_and_launch() {
  fake_graph_t graph = 0;
  {
    STRATA_RANGE("program");
    (void)fake_begin_capture(stream);
    work_into_capture();
    graph = fake_end_capture(stream);
  }
  fake_graph_launch(fake_graph_clone(graph), stream);
}

bool has(std::string const& text, char const* part) { return text.find(part) != std::string::npos; }
std::string in_program(void (*body)()) { return two::session_around(body); }
std::string in_module(void (*body)()) {
  char text[2000];
  module().session(body, text, sizeof text);
  return text;
}

std::string const recorded =
    "program 1 1 0\n"
    "program/module 1 1 0\n"
    "module 2 1 0\n"
    "module/program 1 2 0\n"
    "captured 0\n";

}  // namespace

TEST_CASE("the module's implementation is its own, the process's block is shared") {
  CHECK(module().own_block != &strata::detail::own_block);
  CHECK(module().block == &strata::detail::block());
}

TEST_CASE("a session in each in turn records both, each with a subscription of its own") {
  fake_create_context(1);
  for (int turn = 0; turn < 2; ++turn) {
    CHECK(in_module(&work) == recorded);
    CHECK(in_program(&work) == recorded);
  }
  CHECK(fake_calls("cuptiSubscribe") == 4);
  CHECK(fake_calls("cuptiUnsubscribe") == 4);
  CHECK(fake_misuse_count() == 0);
}

TEST_CASE("both see what is captured, and who captured a graph's kernels") {
  CHECK(in_module(&capture_and_launch) == in_program(&capture_and_launch));
  // A capture that began before either session, seen by the one subscriber.
  (void)fake_begin_capture(stream);
  CHECK(strata::detail::capture_guard::capturing());
  CHECK(has(in_module(&work_into_capture), "captured 1\n"));
  CHECK(has(in_program(&work_into_capture), "captured 1\n"));
  (void)fake_end_capture(stream);
  CHECK_FALSE(strata::detail::capture_guard::capturing());
  CHECK(in_module(&work) == recorded);
  CHECK(fake_calls("cuptiSubscribe") == 5);  // kept since the graph
  CHECK(fake_misuse_count() == 0);
}

TEST_CASE("one session at a time, whichever implementation runs it") {
  fake::traced const running;
  CHECK(has(in_module([] {}), "another Strata session is running"));
}

}  // namespace two_implementations_test
