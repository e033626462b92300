// Ranges on the streams of the GPU: each call from its first to its last work there.
#include "report/range_projection.hpp"
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sample_profile.hpp"

namespace range_projection_test {

using namespace strata;

namespace {

struct projected_sample : sample::maker {
  projected_sample() { made.traced = true; }

  void work(std::uint32_t node, std::int64_t launched, std::int64_t begin, std::int64_t end,
            std::uint32_t stream = 7) {
    kernel_record& record = kernel(launch(node, launched, launched + 1), begin, end);
    record.node = node;
    record.stream = stream;
  }
  /// `name begin-end at depth on stream`, in the order of begins.
  std::vector<std::string> lines() const {
    vec<detail::projected_range> all =
        detail::project_ranges(made, [](std::uint32_t) { return true; });
    all.sort([](auto const& a, auto const& b) {
      if (a.stream != b.stream) return a.stream < b.stream;
      return a.begin != b.begin ? a.begin < b.begin : a.depth < b.depth;
    });
    std::vector<std::string> texts;
    for (detail::projected_range const& each : all)
      texts.push_back(made.names[made.nodes[each.node].name] + " " + std::to_string(each.begin) +
                      "-" + std::to_string(each.end) + " at " + std::to_string(each.depth) +
                      " on " + std::to_string(each.stream));
    return texts;
  }
};

using texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a range lasts on a stream from its first to its last work, with those below it") {
  projected_sample s;
  std::uint32_t const block = s.node(0, "block");
  std::uint32_t const mlp = s.node(block, "mlp");
  s.call(block, 0, 100);
  s.call(mlp, 20, 60);
  s.work(block, 10, 1000, 1100);
  s.work(mlp, 30, 1100, 1300);
  s.work(mlp, 40, 1350, 1400);
  s.work(block, 70, 1500, 1600);
  CHECK(s.lines() == texts{"block 1000-1600 at 1 on 7", "mlp 1100-1400 at 2 on 7"});
}

TEST_CASE("calls of one range are apart, however close their work is") {
  projected_sample s;
  std::uint32_t const mlp = s.node(0, "mlp");
  s.call(mlp, 0, 20);
  s.call(mlp, 20, 40);
  s.work(mlp, 5, 1000, 1100);
  s.work(mlp, 25, 1100, 1200);
  CHECK(s.lines() == texts{"mlp 1000-1100 at 1 on 7", "mlp 1100-1200 at 1 on 7"});
}

TEST_CASE("each stream has the ranges of its own work") {
  projected_sample s;
  std::uint32_t const mlp = s.node(0, "mlp");
  s.call(mlp, 0, 50);
  s.work(mlp, 5, 1000, 1100, 7);
  s.work(mlp, 15, 1050, 1400, 13);
  s.work(mlp, 25, 1200, 1300, 7);
  CHECK(s.lines() == texts{"mlp 1000-1300 at 1 on 7", "mlp 1050-1400 at 1 on 13"});
}

TEST_CASE("work outside of ranges ends them, and has none") {
  projected_sample s;
  std::uint32_t const mlp = s.node(0, "mlp");
  s.call(mlp, 0, 50);
  s.work(mlp, 5, 1000, 1100);
  s.work(0, 60, 1200, 1300);
  CHECK(s.lines() == texts{"mlp 1000-1100 at 1 on 7"});
}

TEST_CASE("work of a range whose call was not recorded counts by its name, step by step") {
  projected_sample s;
  s.made.has_steps = true;
  std::uint32_t const mlp = s.node(0, "mlp");
  for (std::uint32_t step = 0; step < 2; ++step)
    for (std::int64_t i = 0; i < 2; ++i) {
      s.work(mlp, 100 * step + 10 * i, 1000 + 100 * step + 40 * i, 1030 + 100 * step + 40 * i);
      s.made.launches.back().step = step;
    }
  CHECK(s.lines() == texts{"mlp 1000-1070 at 1 on 7", "mlp 1100-1170 at 1 on 7"});
}

}  // namespace range_projection_test
