#include <doctest/doctest.h>
#include <strata/collect/counters/counting_pass.hpp>

#include <cstdint>

namespace pass_work_test {

using namespace strata;
using detail::pass_fingerprint;

namespace {

/// A launch as a callback gets it.
struct call {
  detail::cupti::launch_kernel_params plain{};
  detail::cupti::launch_config config{};
  detail::cupti::launch_kernel_ex_params extended{&config, nullptr};
  detail::cupti::api_data data{};

  call(char const* function, char const* kernel, std::uint32_t blocks, std::uint32_t threads) {
    for (int i = 0; i < 3; ++i) {
      plain.grid[i] = config.grid[i] = i == 0 ? blocks : 1;
      plain.block[i] = config.block[i] = i == 0 ? threads : 1;
    }
    data.function_name = function;
    data.symbol_name = kernel;
    bool const is_extended = std::string_view(function).substr(0, 16) == "cuLaunchKernelEx";
    data.function_params = is_extended ? static_cast<void const*>(&extended) : &plain;
  }
};

struct fixture {
  pass_fingerprint work;
  detail::recorder_state state;
  detail::thread_recorder own{state};
  detail::thread_recorder* before = detail::thread_recorder::current();

  fixture() { detail::thread_recorder::current() = &own; }
  ~fixture() { detail::thread_recorder::current() = before; }

  counted_work one(std::uint32_t pass, call const& c, api_kind kind = api_kind::launch) {
    work.begin(pass, &own);
    work.enter(3);
    work.add(kind, c.data);
    work.end(true);
    return work.passes().back();
  }
};

}  // namespace

TEST_CASE("the same launches make the same hashes, whatever the order") {
  fixture f;
  call const a("cuLaunchKernel", "a", 8, 32), b("cuLaunchKernelEx_ptsz", "b", 4, 64);
  for (std::uint32_t pass = 0; pass < 2; ++pass) {
    f.work.begin(pass, &f.own);
    f.work.enter(3);
    f.work.add(api_kind::launch, pass == 0 ? a.data : b.data);
    f.work.add(api_kind::launch, pass == 0 ? b.data : a.data);
    f.work.add(api_kind::allocate, a.data);  // no work
    f.work.end(true);
  }
  REQUIRE(f.work.passes().size() == 2);
  counted_work const& first = f.work.passes()[0];
  counted_work const& second = f.work.passes()[1];
  CHECK(first.node == 3);
  CHECK(second.pass == 1);
  CHECK(first.launches == 2);
  CHECK(first.threads == 8 * 32 + 4 * 64);
  CHECK(first.what == second.what);
  CHECK(first.shapes == second.shapes);
}

TEST_CASE("other kernels, other grids and other calls are distinguished") {
  fixture f;
  counted_work const base = f.one(0, {"cuLaunchKernel", "a", 8, 32});
  counted_work const grid = f.one(1, {"cuLaunchKernel", "a", 9, 32});
  CHECK(grid.what == base.what);
  CHECK(grid.shapes != base.shapes);
  counted_work const block = f.one(2, {"cuLaunchKernelEx", "a", 8, 64});
  CHECK(block.what == base.what);
  CHECK(block.shapes != base.shapes);
  CHECK(f.one(3, {"cuLaunchKernelEx", "a", 8, 32}).shapes == base.shapes);
  CHECK(f.one(4, {"cuLaunchKernel", "b", 8, 32}).what != base.what);
  CHECK(f.one(5, {"cuMemcpyHtoDAsync_v2", nullptr, 8, 32}, api_kind::copy).what != base.what);
  CHECK(f.one(6, {"cuLaunchCooperativeKernelMultiDevice", "a", 8, 32}).threads == 0);
}

TEST_CASE("two of a kernel are not one of another") {
  fixture f;
  call const a("cuLaunchKernel", "a", 8, 32);
  f.work.begin(0, &f.own);
  f.work.add(api_kind::launch, a.data);
  f.work.add(api_kind::launch, a.data);
  f.work.end(true);
  CHECK(f.work.passes()[0].what != f.one(1, a).what);
}

TEST_CASE("launches of other threads are counted apart; a discarded pass leaves nothing") {
  fixture f;
  call const a("cuLaunchKernel", "a", 8, 32);
  f.work.begin(0, &f.own);
  f.work.enter(3);
  detail::thread_recorder::current() = nullptr;
  f.work.add(api_kind::launch, a.data);
  f.work.end(true);
  REQUIRE(f.work.passes().size() == 1);
  CHECK(f.work.passes()[0].foreign == 1);
  CHECK(f.work.passes()[0].launches == 0);
  f.work.begin(1, &f.own);
  f.work.add(api_kind::launch, a.data);
  f.work.end(false);
  CHECK(f.work.passes().size() == 1);
  f.work.add(api_kind::launch, a.data);  // after the pass
  f.work.forget_from(0);
  CHECK(f.work.passes().empty());
}

TEST_CASE("another thread's launch is foreign where it is timed in another range") {
  fixture f;
  call const a("cuLaunchKernel", "a", 8, 32);
  detail::thread_recorder other{f.state};
  f.work.begin(0, &f.own);
  std::uint32_t const here = [&] {
    detail::range_token const open = f.own.begin(nullptr, "here", no_index, nullptr, false);
    f.own.drive_steps();
    f.work.enter(f.own.node());
    detail::thread_recorder::current() = &other;
    f.work.add(api_kind::launch, a.data);  // in no range
    detail::range_token const own = other.begin(nullptr, "own", no_index, nullptr, false);
    f.work.add(api_kind::launch, a.data);
    own.owner->end(own);
    detail::thread_recorder::current() = &f.own;
    std::uint32_t const node = f.own.node();
    open.owner->end(open);
    return node;
  }();
  f.work.end(true);
  REQUIRE(f.work.passes().size() == 1);
  CHECK(f.work.passes()[0].node == here);
  CHECK(f.work.passes()[0].launches == 1);
  CHECK(f.work.passes()[0].threads == 8 * 32);
  CHECK(f.work.passes()[0].foreign == 1);
}

TEST_CASE("so many steps in a row are no pass before counting ends") {
  constexpr std::int64_t begin = 5'000'000'000;
  constexpr std::int64_t longest = 10'000'000'000;
  auto const last_of = [&](int steps, std::int64_t now, bool by_hand) {
    detail::skipped_steps skipped;
    for (int i = 0; i < steps - 1; ++i) CHECK_FALSE(skipped.add(begin + i, by_hand));
    return skipped.add(now, by_hand);
  };
  CHECK_FALSE(last_of(99, begin + longest, true));
  CHECK(last_of(100, begin + 200, true));
  CHECK_FALSE(last_of(100, begin + longest - 1, false));
  CHECK(last_of(100, begin + longest, false));
}

}  // namespace pass_work_test
