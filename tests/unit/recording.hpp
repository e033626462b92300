// A session of host times only, without files and without a table, and questions to its profile.
#ifndef STRATA_TESTS_UNIT_RECORDING_HPP
#define STRATA_TESTS_UNIT_RECORDING_HPP

#include <strata/profile.hpp>
#include <strata/range.hpp>
#include <strata/session.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace recording_test {

inline strata::options quiet() {
  strata::options how;
  how.trace = false;
  how.table = how.csv = how.json = how.chrome_trace = false;
  how.nvtx = strata::options::nvtx_mode::off;
  return how;
}

inline std::string path_of(strata::profile const& p, std::uint32_t node) {
  if (node == strata::root_node) return {};
  strata::profile_node const& n = p.nodes[node];
  std::string path = path_of(p, n.parent);
  if (!path.empty()) path += '/';
  path += p.names[n.name];
  if (n.index == strata::any_index) return path + "[*]";
  return n.index == strata::no_index ? path : path + "[" + std::to_string(n.index) + "]";
}

/// Calls by path, those in sums too.
using call_counts = std::map<std::string, std::uint64_t>;

inline call_counts calls_of(strata::profile const& p) {
  std::map<std::uint32_t, std::uint64_t> by_node;
  for (strata::range_record const& r : p.ranges) ++by_node[r.node];
  for (strata::overflow_sums const& f : p.summed_ranges) {
    if (f.durations.count() != 0) by_node[f.node] += f.durations.count();
  }
  call_counts counts;
  for (auto const& [node, count] : by_node) counts[path_of(p, node)] += count;
  return counts;
}

inline strata::range_record const* find_range(strata::profile const& p, std::string const& path) {
  for (strata::range_record const& r : p.ranges) {
    if (path_of(p, r.node) == path) return &r;
  }
  return nullptr;
}

/// A session that runs as long as this object, or until its result is asked for.
class recording {
 public:
  explicit recording(strata::options how = quiet()) : session_(std::move(how)) {
    started_ = session_.start().ok();
  }
  bool started() const { return started_; }
  strata::session& session() { return session_; }
  strata::profile const& profile() { return session_.profile(); }

 private:
  strata::session session_;
  bool started_ = false;
};

}  // namespace recording_test

#endif  // STRATA_TESTS_UNIT_RECORDING_HPP
