// What a trial of launches takes for the same work.
#include <doctest/doctest.h>

#include <cstdint>
#include <strata/collect/cuda/launch_gate.hpp>

namespace launch_gate_test {

namespace {

using strata::api_kind;
using strata::detail::launch_gate;
namespace cupti = strata::detail::cupti;

struct graph_call {
  void* parameters[2];
  cupti::api_data data{};

  graph_call(std::uintptr_t graph, char const* function)
      : parameters{reinterpret_cast<void*>(graph), nullptr} {
    data.function_name = function;
    data.function_params = parameters;
  }
};

std::uint64_t launch_of(launch_gate const& gate, std::uintptr_t graph) {
  graph_call const call(graph, "cuGraphLaunch");
  return gate.read(api_kind::graph_launch, cupti::stream_wait::none, call.data).what;
}

}  // namespace

TEST_CASE("a graph is known by its handle, until it changes or is destroyed") {
  launch_gate gate;
  constexpr std::uintptr_t one = 0x7f0000001000;
  constexpr std::uintptr_t other = 0x7f0000002000;
  std::uint64_t const known = launch_of(gate, one);
  CHECK(launch_of(gate, one) == known);
  CHECK(launch_of(gate, other) != known);
  for (char const* const change : {"cuGraphExecUpdate_v2", "cuGraphExecDestroy"}) {
    std::uint64_t const before = launch_of(gate, one);
    std::uint64_t const of_other = launch_of(gate, other);
    gate.graph_changed(graph_call(one, change).data);
    CHECK(launch_of(gate, one) != before);
    CHECK(launch_of(gate, other) == of_other);
  }
}

TEST_CASE("a kernel is known by its name, another call by its function") {
  launch_gate const gate;
  cupti::api_data call{};
  call.function_name = "cuLaunchKernel";
  auto const what = [&](api_kind kind) {
    return gate.read(kind, cupti::stream_wait::none, call).what;
  };
  call.symbol_name = "one";
  std::uint64_t const one = what(api_kind::launch);
  call.symbol_name = "two";
  CHECK(what(api_kind::launch) != one);
  call.symbol_name = "one";
  call.function_name = "cuLaunchKernelEx";
  CHECK(what(api_kind::launch) == one);
  std::uint64_t const copy = what(api_kind::copy);
  call.function_name = "cuMemcpyHtoDAsync_v2";
  CHECK(what(api_kind::copy) != copy);
}

TEST_CASE("a keeper is called with the context that came with it") {
  static launch_gate::keeper const keeper{
      [](void* context, strata::detail::gated_call const&) noexcept {
        ++*static_cast<int*>(context);
      },
      [](void*, strata::detail::gated_call const&) noexcept {}};
  launch_gate gate;
  int first = 0;
  int second = 0;
  gate.begins({});
  gate.set(&keeper, &first);
  gate.begins({});
  gate.set(&keeper, &second);
  gate.begins({});
  gate.begins({});
  gate.set(nullptr, nullptr);
  gate.begins({});
  CHECK(first == 1);
  CHECK(second == 2);
}

}  // namespace launch_gate_test
