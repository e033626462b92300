#ifndef STRATA_TESTS_SAMPLE_PROFILE_HPP
#define STRATA_TESTS_SAMPLE_PROFILE_HPP

// Profiles for tests, written by hand or at random.

#include <strata/profile.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace sample {

inline constexpr double not_given = std::numeric_limits<double>::quiet_NaN();

/// Adds records with few words; everything that a test does not say is zero.
struct maker {
  strata::profile made;
  std::uint32_t correlations = 0;

  maker() {
    made.names.push_back("");
    made.nodes.push_back({0, 0, strata::no_index, 0, true});
  }

  std::uint32_t name(std::string const& text) {
    for (std::uint32_t i = 0; i < made.names.size(); ++i)
      if (made.names[i] == text) return i;
    made.names.push_back(text);
    return static_cast<std::uint32_t>(made.names.size() - 1);
  }

  std::uint32_t node(std::uint32_t parent, std::string const& text,
                     std::int64_t index = strata::no_index, bool selected = true) {
    made.nodes.push_back({parent, name(text), index, made.nodes[parent].depth + 1, selected});
    return static_cast<std::uint32_t>(made.nodes.size() - 1);
  }

  strata::range_record& call(std::uint32_t node, std::int64_t begin, std::int64_t end,
                             std::uint32_t thread = 0) {
    made.ranges.push_back({begin, end, node, strata::no_reference, 0, thread});
    return made.ranges.back();
  }

  strata::attribute_record& describe(strata::range_record& range) {
    made.attributes.push_back(
        {not_given, not_given, not_given, range.node, strata::no_reference, 0, {}});
    range.attribute = static_cast<std::uint32_t>(made.attributes.size());
    return made.attributes.back();
  }

  /// Gives the correlation.
  std::uint32_t launch(std::uint32_t node, std::int64_t begin, std::int64_t end,
                       strata::api_kind kind = strata::api_kind::launch, std::uint16_t thread = 0) {
    made.launches.push_back({begin, end, ++correlations, node, 0, thread, kind, 0});
    return correlations;
  }

  /// Of the range that launched.
  std::uint32_t node_of(std::uint32_t correlation) const {
    for (strata::driver_call_record const& each : made.launches)
      if (each.correlation == correlation && each.flags == 0) return each.node;
    return strata::root_node;
  }

  strata::kernel_record& kernel(std::uint32_t correlation, std::int64_t begin, std::int64_t end) {
    strata::kernel_record record{};
    record.begin = begin;
    record.end = end;
    record.node = node_of(correlation);
    record.captured_by = strata::no_node;
    record.correlation = correlation;
    record.grid_x = record.grid_y = record.grid_z = 1;
    record.block_x = record.block_y = record.block_z = 1;
    made.kernels.push_back(record);
    return made.kernels.back();
  }

  strata::copy_record& copy(std::uint32_t correlation, std::int64_t begin, std::int64_t end,
                            std::uint64_t bytes, strata::copy_kind kind) {
    strata::copy_record record{};
    record.begin = begin;
    record.end = end;
    record.bytes = bytes;
    record.node = node_of(correlation);
    record.correlation = correlation;
    record.kind = kind;
    made.copies.push_back(record);
    return made.copies.back();
  }

  strata::memory_record& allocate(std::uint32_t correlation, std::int64_t time,
                                  std::uint64_t address, std::uint64_t bytes,
                                  strata::memory_kind kind = strata::memory_kind::device) {
    made.memory.push_back(
        {time, address, bytes, node_of(correlation), correlation, 0, 0, kind, 1, 0, {}});
    return made.memory.back();
  }

  strata::memory_record& release(std::uint32_t correlation, std::int64_t time,
                                 std::uint64_t address, std::uint64_t bytes,
                                 strata::memory_kind kind = strata::memory_kind::device) {
    made.memory.push_back(
        {time, address, bytes, node_of(correlation), correlation, 0, 0, kind, 0, 0, {}});
    return made.memory.back();
  }
};

/// The same numbers on every platform.
struct random_numbers {
  std::uint64_t state;
  explicit random_numbers(std::uint64_t seed) : state(seed * 2654435761u + 88172645463325252u) {}
  std::uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>((next() >> 11) % bound);
  }
};

template <class Value>
void shuffle(strata::vec<Value>& values, random_numbers& random) {
  for (std::size_t i = values.size(); i > 1; --i)
    std::swap(values[i - 1], values[random.below(static_cast<std::uint32_t>(i))]);
}

/// A program that runs on some threads: nested calls that launch kernels and copies and allocate.
class random_program {
 public:
  random_program(std::uint64_t seed, std::uint32_t node_count) : random_(seed) {
    static char const* const names[] = {"block", "attention", "mlp", "ln1"};
    children_.emplace_back();
    while (maker_.made.nodes.size() < node_count) {
      auto const parent = random_.below(static_cast<std::uint32_t>(maker_.made.nodes.size()));
      std::string const name = names[random_.below(4)];
      std::int64_t const index =
          random_.below(2) == 0 ? strata::no_index : static_cast<std::int64_t>(random_.below(4));
      if (exists(parent, name, index)) continue;
      children_[parent].push_back(maker_.node(parent, name, index));
      children_.emplace_back();
    }
  }

  strata::profile run(std::uint32_t calls) {
    for (std::uint16_t thread = 0; thread < 3; ++thread) {
      time_ = thread;
      while (calls_ < calls * (thread + 1u)) {
        call(0, thread);
        ++calls_;
      }
    }
    shuffle(maker_.made.ranges, random_);
    shuffle(maker_.made.launches, random_);
    shuffle(maker_.made.kernels, random_);
    shuffle(maker_.made.copies, random_);
    shuffle(maker_.made.memory, random_);
    return maker_.made;
  }

 private:
  bool exists(std::uint32_t parent, std::string const& name, std::int64_t index) {
    for (std::uint32_t const child : children_[parent])
      if (maker_.made.nodes[child].index == index &&
          maker_.made.names[maker_.made.nodes[child].name] == name)
        return true;
    return false;
  }

  std::int64_t tick() { return time_ += 1 + random_.below(20); }

  void call(std::uint32_t node, std::uint16_t thread) {
    std::int64_t const begin = tick();
    for (std::uint32_t i = random_.below(4); i > 0; --i) work(node, thread);
    for (std::uint32_t const child : children_[node])
      if (random_.below(2) == 0) {
        ++calls_;
        call(child, thread);
        if (random_.below(2) == 0) work(node, thread);
      }
    std::int64_t const end = tick();
    if (node != 0) maker_.call(node, begin, end, thread);
  }

  void work(std::uint32_t node, std::uint16_t thread) {
    std::int64_t const begin = tick();
    std::int64_t const end = tick();
    std::int64_t const device = begin + random_.below(100);
    std::int64_t const until = device + random_.below(60);
    switch (random_.below(4)) {
      case 0:
      case 1:
        maker_.kernel(maker_.launch(node, begin, end, strata::api_kind::launch, thread), device,
                      until);
        break;
      case 2:
        maker_.copy(maker_.launch(node, begin, end, strata::api_kind::copy, thread), device, until,
                    random_.below(1000), static_cast<strata::copy_kind>(random_.below(7)));
        break;
      default: {
        std::uint64_t const address = 1 + random_.below(12);
        if (random_.below(2) == 0)
          maker_.allocate(maker_.launch(node, begin, end, strata::api_kind::allocate, thread), end,
                          address, random_.below(1000),
                          static_cast<strata::memory_kind>(random_.below(8)));
        else
          maker_.release(maker_.launch(node, begin, end, strata::api_kind::release, thread), end,
                         address, 0);
      }
    }
  }

  maker maker_;
  random_numbers random_;
  std::vector<std::vector<std::uint32_t>> children_;
  std::int64_t time_ = 0;
  std::uint32_t calls_ = 0;
};

/// Five steps, of which the first takes 100 ms, the others 1 ms. It fills a cache of 64 MiB, which
/// stays; the others take and give back 2 MiB. `work(step, cache, begin)` adds what else they do.
template <class Work>
void fill_cache_first(maker& m, Work work) {
  constexpr std::int64_t ms = 1'000'000;
  m.made.has_steps = m.made.traced = true;
  std::uint32_t const cache = m.node(0, "memory:kv cache");
  std::uint64_t address = 0x100;
  std::int64_t begin = 0;
  for (std::uint32_t step = 0; step < 5; ++step) {
    std::int64_t const end = begin + (step == 0 ? 100 : 1) * ms;
    std::uint64_t const bytes = step == 0 ? 64 << 20 : 2 << 20;
    std::uint32_t const id = m.launch(cache, begin, begin + 1, strata::api_kind::allocate);
    m.allocate(id, begin + 10, ++address, bytes);
    if (step > 0) m.release(id, begin + 20, address, bytes);
    work(step, cache, begin);
    m.made.steps.push_back({begin, end, step, 0});
    begin = end;
  }
  m.made.end = begin;
  m.made.cost.seconds_in_window = 0.104;
}

}  // namespace sample

#endif  // STRATA_TESTS_SAMPLE_PROFILE_HPP
