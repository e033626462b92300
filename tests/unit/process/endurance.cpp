// Recording for long, and by many threads at once: in a process of its own, whose memory is
// measured.
#include "../../sanitizers.hpp"
#include "../recording.hpp"

#include <doctest/doctest.h>

#include <unistd.h>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

using namespace strata;
using namespace recording_test;

namespace {

/// Units: bytes.
std::int64_t resident() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t all = 0, pages = 0;
  statm >> all >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

/// The most that was resident so far. Units: bytes.
std::int64_t peak() {
  std::ifstream status("/proc/self/status");
  std::int64_t kilobytes = 0;
  for (std::string word; status >> word;)
    if (word == "VmHWM:") status >> kilobytes;
  return kilobytes << 10;
}

/// Ranges of all kinds: `count` of them in each of two layers, and one around them.
void layers(int count, int thread = 0) {
  static char const* const names[] = {"ln1", "attn_norm-0", "ffn_out-0", "blk.0.ffn_down.weight"};
  STRATA_RANGE("outer", thread);
  for (int i = 0; i < count; ++i) {
    STRATA_RANGE("block", i % 2);
    phases part;
    part.next(names[i % 4], flops(2));
  }
}

}  // namespace

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
// The first test: the peak is that of the whole process.
TEST_CASE("the end of a session has no second copy of ten million ranges") {
  constexpr int each = 50'000;  // makes two ranges
  options how = quiet();
  how.log_mb = 1024;
  recording all(how);
  for (int i = 0; i < 100; ++i) layers(each);
  std::int64_t const before = resident();
  profile const& p = all.profile();
  CHECK(p.ranges.size() == 100 * (1 + 2 * each));
  CHECK(p.attributes.size() == 100 * each);
  CHECK(before > std::int64_t{32} * 10'000'000);
  CHECK(p.cost.log_bytes > 32u * 10'000'000);
  CHECK(peak() - before < std::int64_t{64} << 20);
  std::string const& last = p.names[p.nodes[p.ranges.back().node].name];
  CHECK(last == "outer");
}

TEST_CASE("a hundred million ranges in a log of one MB: flat memory, exact sums") {
#if defined(__OPTIMIZE__)
  constexpr int rounds = 1'000;
#else
  constexpr int rounds = 100;
#endif
  constexpr int each = 50'000;  // makes two ranges
  options how = quiet();
  how.log_mb = 1;
  recording all(how);
  layers(each);
  std::int64_t const before = resident();
  std::int64_t most = before;
  for (int i = 1; i < rounds; ++i) {
    layers(each);
    most = resident() > most ? resident() : most;
  }
  profile const& p = all.profile();
  most = resident() > most ? resident() : most;
  CHECK(most - before < std::int64_t{65} << 20);
  CHECK(p.cost.log_bytes <= (1u << 20));
  CHECK(p.ranges.size() + p.losses.ranges_summed == rounds * (1 + 2 * each));
  call_counts const counts = calls_of(p);
  CHECK(counts.at("outer[0]") == rounds);
  CHECK(counts.at("outer[0]/block[1]") == rounds * each / 2);
  CHECK(counts.at("outer[0]/block[0]/ln1") == rounds * each / 4);
  CHECK(counts.at("outer[0]/block[1]/blk.0.ffn_down.weight") == rounds * each / 4);
  double work = 0;
  for (overflow_sums const& f : p.summed_ranges) work += f.flops;
  for (range_record const& r : p.ranges) {
    if (r.attribute != no_reference) work += p.attributes[r.attribute - 1].flops;
  }
  CHECK(work == 2.0 * rounds * each);
}
#endif

TEST_CASE("64 threads begin and end sessions while all of them record") {
  constexpr int count = 64;
  constexpr int sessions_wanted = 200;
  std::atomic<int> sessions{0};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      STRATA_RANGE("thread", t);
      while (sessions < sessions_wanted) {
        layers(5, count);
        options how = quiet();
        how.log_mb = t % 2 == 0 ? 1 : 16;
        session own(how);
        if (!own.start().ok()) {  // another thread has one
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          continue;
        }
        layers(20, t);
        std::thread([&] { layers(4, count + 1); }).join();
        profile const& p = own.profile();
        int mine = 0;
        for (range_record const& r : p.ranges) {
          bool const good = r.node != root_node && r.node < p.nodes.size() &&
                            r.attribute <= p.attributes.size() && r.begin <= r.end;
          wrong += good ? 0 : 1;
          mine += good && p.nodes[r.node].index == t && p.names[p.nodes[r.node].name] == "outer";
        }
        for (overflow_sums const& f : p.summed_ranges) wrong += f.node < p.nodes.size() ? 0 : 1;
        wrong += p.losses.ranges_summed == 0 && mine != 1 ? 1 : 0;
        ++sessions;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(wrong.load() == 0);
}
