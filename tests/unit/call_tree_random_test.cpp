#include "sample_profile.hpp"

#include <strata/tables/call_tree.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace call_tree_random_test {

using strata::api_kind;
using strata::call_tree;
using strata::folding;
using strata::range_row;

// A second, slow implementation: for each row it looks at every record.
namespace {

class reference {
 public:
  reference(strata::profile const& source, bool fold)
      : source_(source), memory_in_time_(source.memory) {
    positions_.resize(source.launches.size() + 1);
    for (std::uint32_t i = 0; i < source.launches.size(); ++i)
      positions_[source.launches[i].correlation] = i + 1;
    std::stable_sort(memory_in_time_.begin(), memory_in_time_.end(),
                     [](auto const& a, auto const& b) { return a.time < b.time; });
    for (std::size_t i = 0; i < source.nodes.size(); ++i) {
      auto const& node = source.nodes[i];
      std::string path = i == 0 ? "" : paths_[node.parent] + "/" + source.names[node.name];
      if (!fold && node.index != strata::no_index) path += "[" + std::to_string(node.index) + "]";
      paths_.push_back(path);
    }
  }

  void check(range_row const& row) const {
    INFO("row " << row.path);
    std::string const path = paths_[row.node];
    check_host(row, path);
    check_work(row, path);
    CHECK(row.gpu_busy_ns == busy(path));
    CHECK(row.span_ns == spans(path));
    CHECK(row.peak_bytes == peak(path));
  }

 private:
  bool below(std::uint32_t node, std::string const& path) const {
    std::string const& own = paths_[node];
    return own == path || own.compare(0, path.size() + 1, path + "/") == 0;
  }
  strata::driver_call_record const* launch(std::uint32_t correlation) const {
    std::uint32_t const at = correlation < positions_.size() ? positions_[correlation] : 0;
    return at == 0 ? nullptr : &source_.launches[at - 1];
  }
  std::uint32_t node(std::uint32_t correlation) const {
    auto const* const found = launch(correlation);
    return found == nullptr ? 0 : found->node;
  }

  void check_host(range_row const& row, std::string const& path) const {
    std::uint64_t calls = 0;
    std::int64_t total = 0;
    std::int64_t children = 0;
    for (auto const& range : source_.ranges) {
      if (paths_[range.node] == path) {
        ++calls;
        total += range.end - range.begin;
      } else if (paths_[source_.nodes[range.node].parent] == path) {
        children += range.end - range.begin;
      }
    }
    CHECK(row.host.count() == calls);
    CHECK(row.host_total_ns == total);
    CHECK(row.host_self_ns == (row.node == 0 ? 0 : total - children));
  }

  void check_work(range_row const& row, std::string const& path) const {
    std::uint64_t launches = 0, kernels = 0, own_kernels = 0, copies = 0, bytes = 0;
    std::uint64_t allocations = 0, allocated = 0, releases = 0;
    std::int64_t kernel_ns = 0, launch_ns = 0;
    for (auto const& each : source_.launches)
      if (below(each.node, path) &&
          (each.kind == api_kind::launch || each.kind == api_kind::copy)) {
        ++launches;
        launch_ns += each.end - each.begin;
      }
    for (auto const& kernel : source_.kernels) {
      if (paths_[node(kernel.correlation)] == path) ++own_kernels;
      if (!below(node(kernel.correlation), path)) continue;
      ++kernels;
      kernel_ns += kernel.end - kernel.begin;
    }
    for (auto const& copy : source_.copies)
      if (below(node(copy.correlation), path)) {
        ++copies;
        bytes += copy.bytes;
      }
    for (auto const& record : source_.memory)
      if (below(node(record.correlation), path)) {
        if (record.allocates != 0) {
          ++allocations;
          allocated += record.bytes;
        } else {
          ++releases;
        }
      }
    auto const& total = row.total;
    CHECK(total.launches == launches);
    CHECK(total.launch_ns == launch_ns);
    CHECK(total.kernels == kernels);
    CHECK(row.self.kernels == own_kernels);
    CHECK(total.kernel_ns == kernel_ns);
    CHECK(total.copies == copies);
    CHECK(total.host_to_device_bytes + total.device_to_host_bytes + total.device_to_device_bytes +
              total.peer_bytes + total.other_bytes + total.set_bytes ==
          bytes);
    CHECK(total.allocations == allocations);
    CHECK(total.allocated_bytes == allocated);
    CHECK(total.releases == releases);
  }

  std::int64_t busy(std::string const& path) const {
    std::vector<bool> taken;
    auto const take = [&](std::uint32_t correlation, std::int64_t begin, std::int64_t end) {
      if (!below(node(correlation), path)) return;
      if (taken.size() < static_cast<std::size_t>(end)) taken.resize(static_cast<std::size_t>(end));
      for (std::int64_t t = begin; t < end; ++t) taken[static_cast<std::size_t>(t)] = true;
    };
    for (auto const& kernel : source_.kernels) take(kernel.correlation, kernel.begin, kernel.end);
    for (auto const& copy : source_.copies) take(copy.correlation, copy.begin, copy.end);
    std::int64_t sum = 0;
    for (bool const each : taken) sum += each;
    return sum;
  }

  std::int64_t spans(std::string const& path) const {
    std::int64_t sum = 0;
    for (auto const& range : source_.ranges) {
      if (paths_[range.node] != path) continue;
      std::int64_t last = range.end;
      auto const wait = [&](std::uint32_t correlation, std::int64_t end) {
        auto const* const by = launch(correlation);
        if (by != nullptr && by->thread == range.thread && by->begin >= range.begin &&
            by->begin <= range.end && end > last)
          last = end;
      };
      for (auto const& kernel : source_.kernels) wait(kernel.correlation, kernel.end);
      for (auto const& copy : source_.copies) wait(copy.correlation, copy.end);
      sum += last - range.begin;
    }
    return sum;
  }

  std::int64_t peak(std::string const& path) const {
    struct live {
      std::uint64_t address;
      std::int64_t bytes;
    };
    std::vector<live> all;
    std::int64_t most = 0;
    for (auto const& record : memory_in_time_) {
      for (std::size_t i = all.size(); i-- > 0;)
        if (all[i].address == record.address)
          all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
      if (record.allocates == 0) continue;
      bool const counts = record.kind != strata::memory_kind::unknown &&
                          record.kind != strata::memory_kind::pinned &&
                          record.kind != strata::memory_kind::pageable &&
                          below(node(record.correlation), path);
      all.push_back({record.address, counts ? static_cast<std::int64_t>(record.bytes) : 0});
      std::int64_t sum = 0;
      for (live const& each : all) sum += each.bytes;
      most = sum > most ? sum : most;
    }
    return most;
  }

  strata::profile const& source_;
  std::vector<std::string> paths_;
  strata::vec<strata::memory_record> memory_in_time_;
  std::vector<std::uint32_t> positions_;  // of the launch of a correlation, from one
};

}  // namespace

TEST_CASE("random programs: every row is what a slow count of all records gives") {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    strata::profile const source = sample::random_program(seed, 25).run(120);
    REQUIRE(source.kernels.size() > 20);
    for (folding const mode : {folding::none, folding::by_name}) {
      reference const expected(source, mode == folding::by_name);
      call_tree const tree(source, mode);
      for (range_row const& row : tree.rows()) expected.check(row);
    }
  }
}

TEST_CASE("random programs: totals") {
  for (std::uint64_t seed = 100; seed < 130; ++seed) {
    CAPTURE(seed);
    strata::profile const source = sample::random_program(seed, 60).run(400);
    call_tree const tree(source);
    call_tree const folded(source, folding::by_name);
    for (call_tree const* const each : {&tree, &folded}) {
      auto const& rows = each->rows();
      std::uint64_t kernels = 0, calls = 0;
      std::int64_t copy_ns = 0;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        kernels += rows[i].self.kernels;
        copy_ns += rows[i].self.copy_ns;
        calls += rows[i].host.count();
        CHECK(rows[i].gpu_busy_ns <= rows[i].total.kernel_ns + rows[i].total.copy_ns);
        CHECK(rows[i].gpu_busy_ns <= rows[rows[i].parent].gpu_busy_ns);
        CHECK(rows[i].peak_bytes <= rows[rows[i].parent].peak_bytes);
        CHECK(rows[i].span_ns >= rows[i].host_total_ns);
        if (i > 0) CHECK(rows[i].parent < i);
      }
      CHECK(kernels == source.kernels.size());
      CHECK(rows[0].total.kernels == source.kernels.size());
      CHECK(rows[0].total.copies == source.copies.size());
      CHECK(rows[0].total.copy_ns == copy_ns);
      CHECK(calls == source.ranges.size());
    }
    CHECK(folded.rows().size() < tree.rows().size());
    CHECK(tree.rows()[0].gpu_busy_ns == folded.rows()[0].gpu_busy_ns);
    CHECK(tree.rows()[0].peak_bytes == folded.rows()[0].peak_bytes);
    for (range_row const& row : folded.rows()) CHECK(tree.row_of(row.path_id).name == row.name);
  }
}

}  // namespace call_tree_random_test
