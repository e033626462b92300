// Profiles of any content, made of a fuzzer's bytes: names, places, parents, times, counts,
// formulas and keys are anything, in the form that a recording has.
#ifndef STRATA_TESTS_FUZZ_HOSTILE_PROFILE_HPP
#define STRATA_TESTS_FUZZ_HOSTILE_PROFILE_HPP

#include <strata/profile.hpp>
#include <strata/profile/device_summing.hpp>
#include <strata/profile/samples.hpp>
#include "recording/check.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "fuzz.hpp"

namespace fuzz {

/// Adds what one byte after the other says. Most references are good, so that a profile comes to be
/// read; some are not.
class hostile_profile {
 public:
  hostile_profile(input& from, std::size_t max_records) : from_(from) {
    made_.names.emplace_back();
    made_.nodes.push_back({0, 0, strata::no_index, 0, true});
    made_.end = 1'000'000;
    made_.traced = true;
    made_.has_steps = true;
    while (!from_.empty() && size_ < max_records) add(max_records);
  }

  strata::profile take() {
    strata::profile made = made_;
    strata::detail::recording_repair(made).run();
    // As a session has them, where the records allow it.
    if (sums_ && strata::detail::recording_check(made).is_sound())
      made.device = strata::detail::sum_records(made);
    return made;
  }

 private:
  void add(std::size_t max_records) {
    auto const what = from_.take<std::uint8_t>();
    std::size_t times = 1;
    // Few bytes stand for many records.
    if (what >= 224) times = std::size_t{1} << (what & 15);
    auto const kind = static_cast<std::uint8_t>(times > 1 ? from_.take<std::uint8_t>() : what);
    for (; times > 0 && size_ < max_records; --times, ++size_) add_one(kind % 30);
  }

  void add_one(unsigned kind) {
    switch (kind) {
      case 0:
        return made_.names.push_back(text());
      case 1:
      case 2:
        return node();
      case 3:
      case 4:
        return range();
      case 5:
        return attribute();
      case 6:
        return step();
      case 7:
      case 8:
        return launch();
      case 9:
      case 10:
        return kernel();
      case 11:
        return copy();
      case 12:
        return memory();
      case 13:
        return wait();
      case 14:
        return span();
      case 15:
        made_.threads.push_back({from_.take<std::uint8_t>(), number(), text()});
        return;
      case 16:
        return made_.problems.push_back(text());
      case 17:
        return environment();
      case 18:
        return counters();
      case 19:
        return value();
      case 20:
        return metric();
      case 21:
        return device();
      case 22:
        made_.kernel_names.push_back({text()});
        return;
      case 23:
        made_.hang.found = true;
        made_.hang.ranges.push_back({text(), from_.take<std::uint8_t>(), signed_number()});
        made_.hang.work.push_back({text(), number(), signed_number()});
        return;
      case 24:
        made_.migrations.push_back(
            {time(),
             time(),
             number(),
             from_.take<std::uint8_t>(),
             static_cast<strata::migration_kind>(from_.take<std::uint8_t>() % 10),
             {}});
        made_.has_migrations = true;
        return;
      case 25:
        made_.overheads.push_back({time(), time(), from_.take<std::uint8_t>(), 0});
        return;
      case 26:
        return loss();
      case 27:
        return sampled();
      case 28:
        return sample();
      default:
        sums_ = true;
    }
  }

  std::string text() {
    static char const* const texts[] = {"",
                                        "block",
                                        "attention",
                                        "../../x",
                                        "/tmp/x",
                                        "\x1b[2J\x07",
                                        "a\"b\\c,d\n=e|f",
                                        "\xff\xc2\x9b",
                                        "</script><b>",
                                        "$(touch x); `y` 'z",
                                        "_ZN3llm4gemmIfEEvPT_",
                                        "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                                        "\xe2\x80\xae",
                                        "step 1/[*]",
                                        "counters",
                                        "l2_bytes"};
    auto const which = from_.take<std::uint8_t>();
    if (which < 128) return texts[which % 16];
    if (which < 144) return std::string(std::size_t{1} << (which & 15), 'n');
    return from_.line();
  }
  std::string formula() {
    static char const* const formulas[] = {
        "lts__t_bytes.sum", "a__b.sum / c__d.sum", "max(a, 2 * b) / c",
        "((((((a))))))",    "1e400 * 1e400",       "l2_bytes / 0",
        "?x + ?y"};
    auto const which = from_.take<std::uint8_t>();
    if (which < 128) return formulas[which % 7];
    if (which < 144) {
      std::string text;
      for (std::size_t left = std::size_t{1} << (which & 15); left > 0; --left) text += "(max(";
      return text;
    }
    return from_.line();
  }
  std::uint64_t number() {
    auto const size = from_.take<std::uint8_t>();
    switch (size % 8) {
      case 0:
        return from_.take<std::uint64_t>();
      case 1:
        return from_.take<std::uint32_t>();
      case 2:
        return ~std::uint64_t{0};
      case 3:
        return (std::uint64_t{1} << 50) - 1;
      default:
        return from_.take<std::uint16_t>();
    }
  }
  std::int64_t signed_number() { return static_cast<std::int64_t>(number()); }
  std::int64_t time() {
    auto const which = from_.take<std::uint8_t>();
    if (which < 8) return signed_number();
    if (which < 12) return (std::int64_t{1} << 54) - 1;
    if (which < 14) return strata::lost_time;
    now_ += which;
    return now_;
  }
  double real() {
    switch (from_.take<std::uint8_t>() % 6) {
      case 0:
        return std::numeric_limits<double>::quiet_NaN();
      case 1:
        return from_.take<double>();
      case 2:
        return 1e308;
      default:
        return from_.take<std::uint16_t>();
    }
  }
  /// A position in a list; rarely one beyond it.
  template <class List>
  std::uint32_t place(List const& list, std::uint32_t base = 0) {
    auto const which = from_.take<std::uint16_t>();
    if (which == 0xffff) return from_.take<std::uint32_t>();
    return list.empty() ? 0 : base + static_cast<std::uint32_t>(which % list.size());
  }
  std::uint32_t any_node() { return place(made_.nodes); }
  std::uint32_t any_step() {
    auto const which = from_.take<std::uint8_t>();
    return which == 255 ? strata::no_step : which % 8;
  }

  void node() {
    std::uint32_t const parent = from_.take<std::uint8_t>() < 128
                                     ? static_cast<std::uint32_t>(made_.nodes.size() - 1)
                                     : any_node();
    std::uint32_t const name = place(made_.names);
    std::uint32_t const depth =
        parent < made_.nodes.size() ? made_.nodes[parent].depth + 1 : from_.take<std::uint32_t>();
    auto const which = from_.take<std::uint8_t>();
    std::int64_t const index = which < 128   ? strata::no_index
                               : which < 132 ? signed_number()
                                             : which - 132;
    made_.nodes.push_back({parent, name, index, depth, which != 0});
  }
  void range() {
    std::uint32_t const node = any_node();
    std::int64_t const begin = time();
    made_.ranges.push_back(
        {begin, time(), node, strata::no_reference, any_step(), from_.take<std::uint8_t>() % 4u});
  }
  void attribute() {
    strata::attribute_record made{real(), real(), real(), any_node(), place(made_.names), 0, {}};
    made.rank = from_.take<std::uint8_t>() % 9;
    for (std::uint32_t& dimension : made.dimensions) dimension = from_.take<std::uint32_t>();
    if (!made_.ranges.empty()) {
      made.node = made_.ranges.back().node;
      made_.ranges.back().attribute = static_cast<std::uint32_t>(made_.attributes.size() + 1);
    }
    made_.attributes.push_back(made);
  }
  void step() {
    std::int64_t const begin = time();
    made_.steps.push_back({begin, time(), static_cast<std::uint32_t>(made_.steps.size()), 0});
  }
  void launch() {
    std::int64_t const begin = time();
    made_.launches.push_back({begin, time(), ++launched_, any_node(), any_step(),
                              from_.take<std::uint8_t>(),
                              static_cast<strata::api_kind>(from_.take<std::uint8_t>() % 12),
                              from_.take<std::uint8_t>()});
  }
  std::uint32_t call() {
    auto const which = from_.take<std::uint8_t>();
    return which < 160 ? launched_ : from_.take<std::uint16_t>();
  }
  void kernel() {
    auto made = strata::kernel_record{};
    made.begin = time();
    made.end = time();
    made.node = any_node();
    made.captured_by = from_.take<std::uint8_t>() < 200 ? strata::no_node : any_node();
    made.correlation = call();
    made.name = place(made_.kernel_names, 1);
    made.stream = from_.take<std::uint8_t>() % 8 != 0 ? from_.take<std::uint8_t>() % 3u
                                                      : from_.take<std::uint32_t>();
    made.context = from_.take<std::uint8_t>() % 2;
    made.grid_x = from_.take<std::uint32_t>();
    made.grid_y = made.grid_z = 1;
    made.block_x = from_.take<std::uint16_t>();
    made.block_y = made.block_z = 1;
    made.registers = from_.take<std::uint8_t>();
    made.dynamic_shared_bytes = from_.take<std::uint16_t>();
    made.device = from_.take<std::uint8_t>() % 3;
    made_.kernels.push_back(made);
  }
  void copy() {
    auto made = strata::copy_record{};
    made.begin = time();
    made.end = time();
    made.bytes = number();
    made.node = any_node();
    made.correlation = call();
    made.stream = from_.take<std::uint8_t>() % 3;
    made.device = from_.take<std::uint8_t>() % 3;
    made.kind = static_cast<strata::copy_kind>(from_.take<std::uint8_t>() % 8);
    made.pageable = from_.take<std::uint8_t>();
    made_.copies.push_back(made);
  }
  void memory() {
    auto made = strata::memory_record{};
    made.time = time();
    made.address = from_.take<std::uint8_t>();
    made.bytes = number();
    made.node = any_node();
    made.correlation = call();
    made.device = from_.take<std::uint8_t>() % 3;
    made.kind = static_cast<strata::memory_kind>(from_.take<std::uint8_t>() % 9);
    made.allocates = from_.take<std::uint8_t>() % 3;
    made_.memory.push_back(made);
  }
  void wait() {
    auto made = strata::synchronization_record{};
    made.begin = time();
    made.end = time();
    made.node = any_node();
    made.correlation = call();
    made.kind = static_cast<strata::synchronization_kind>(from_.take<std::uint8_t>() % 6);
    made_.synchronizations.push_back(made);
  }
  void span() {
    auto made = strata::span_record{};
    made.begin = time();
    made.end = time();
    made.name = place(made_.names);
    made.domain = place(made_.names);
    made.step = any_step();
    made.thread = from_.take<std::uint8_t>();
    made.end_thread = from_.take<std::uint8_t>();
    made.kind = static_cast<strata::span_kind>(from_.take<std::uint8_t>() % 3);
    made_.spans.push_back(made);
  }
  void environment() {
    strata::profile_environment& e = made_.environment;
    std::string* const texts[] = {&e.host, &e.command, &e.options,   &e.started_at,
                                  &e.cpu,  &e.clock,   &e.cupti_path};
    *texts[from_.take<std::uint8_t>() % 7] = text();
    e.rank = static_cast<std::int32_t>(number());
    e.driver_version = from_.take<std::uint32_t>();
  }
  void device() {
    strata::profile_device made;
    made.ordinal = from_.take<std::uint8_t>() % 3;
    made.name = text();
    made.multiprocessors = from_.take<std::uint32_t>();
    made.compute_capability_major = from_.take<std::uint8_t>() % 12;
    made.clock_khz = from_.take<std::uint32_t>();
    made.memory_clock_khz = from_.take<std::uint32_t>();
    made.memory_bus_bits = from_.take<std::uint16_t>();
    made.l2_bytes = number();
    made.uuid = text();
    made.warp_size = from_.take<std::uint8_t>();
    made.threads_per_multiprocessor = from_.take<std::uint16_t>();
    made.blocks_per_multiprocessor = from_.take<std::uint8_t>();
    made.registers_per_multiprocessor = from_.take<std::uint32_t>();
    made.shared_bytes_per_multiprocessor = from_.take<std::uint32_t>();
    made.ceilings.push_back({text(), from_.take<std::uint8_t>() % 2 == 1, real(), real(), real(),
                             real(), from_.take<std::uint8_t>(), text()});
    made_.environment.devices.push_back(std::move(made));
  }
  void counters() {
    static char const* const names[] = {"counters", "cpu_counters", "kernel_counters",
                                        "live_counters"};
    strata::counter_set made;
    auto const which = from_.take<std::uint8_t>();
    made.name = which < 160 ? names[which % 4] : text();
    made.method = static_cast<strata::counting>(from_.take<std::uint8_t>() % 3);
    made.where = text();
    made.about = text();
    made.passes = from_.take<std::uint8_t>() % 8 != 0 ? from_.take<std::uint8_t>() : number();
    made.passes_done = from_.take<std::uint8_t>() % 8 != 0 ? from_.take<std::uint8_t>() : number();
    made_.counter_sets.push_back(std::move(made));
  }
  strata::counter_set& set() {
    if (made_.counter_sets.empty()) counters();
    return made_.counter_sets.back();
  }
  void metric() {
    strata::counter_set& in = set();
    if (from_.take<std::uint8_t>() % 16 == 0) return in.metrics.absent.push_back({text(), text()});
    strata::resolved_metric made;
    made.key = text();
    made.formula = formula();
    made.unit = text();
    made.level = static_cast<strata::metric_level>(from_.take<std::uint8_t>() % 8);
    made.combine = static_cast<strata::metric_combine>(from_.take<std::uint8_t>() % 5);
    made.counters.push_back("lts__t_bytes.sum");
    in.metrics.metrics.push_back(std::move(made));
    if (!in.names.contains("lts__t_bytes.sum")) in.names.push_back("lts__t_bytes.sum");
  }
  void value() {
    strata::counter_set& in = set();
    switch (from_.take<std::uint8_t>() % 4) {
      case 0:
        return in.names.push_back(text());
      case 1:
        in.work.push_back({any_node(), from_.take<std::uint8_t>(), from_.take<std::uint8_t>(),
                           from_.take<std::uint8_t>(), number(), number(), real()});
        return;
      case 2: {
        strata::counted_kernel made{
            any_node(), place(made_.kernel_names, 1), number(), number(), {}};
        while (made.values.size() < in.names.size() && made.values.size() < 64)
          made.values.push_back(real());
        in.kernels.push_back(std::move(made));
        return;
      }
      default:
        in.values.push_back({any_node(), place(in.names), real()});
    }
  }
  /// A set of live counters.
  void sampled() {
    strata::device_samples& all = made_.samples;
    all.device = from_.take<std::uint8_t>() % 3;
    all.about = text();
    all.only_steps = from_.take<std::uint8_t>() % 2 != 0;
    auto const count = from_.take<std::uint8_t>();
    if (all.coded.empty()) all.counters = count < 250 ? 1 + count % 3 : count;
    strata::counter_set& set = made_.add_counters(strata::counter_set::live);
    set.method = strata::counting::sampled;
    while (set.names.size() < all.counters % 16) set.names.push_back(text());
  }
  /// Whole, or any bytes.
  void sample() {
    if (from_.take<std::uint8_t>() % 32 == 0) {
      made_.samples.coded.push_back(from_.take<std::uint8_t>());
      return;
    }
    strata::detail::counted_sample made{time(), time(), {}};
    for (std::size_t i = 0; i < 3; ++i) made.counts[i] = signed_number();
    if (made_.samples.counters <= strata::detail::counted_sample::max_counters)
      samples_.add(made_.samples, made);
  }
  void loss() {
    std::size_t const count = sizeof strata::loss_kinds / sizeof *strata::loss_kinds;
    made_.losses.*strata::loss_kinds[from_.take<std::uint8_t>() % count].count = number();
    made_.cost.range_ns = real();
    made_.cost.ranges = number();
    made_.cost.unrecorded_steps = number();
    made_.cost.unrecorded_step_ns = real();
  }

  input& from_;
  strata::profile made_;
  strata::detail::sample_writer samples_;
  std::int64_t now_ = 0;
  std::uint32_t launched_ = 0;
  std::size_t size_ = 0;
  bool sums_ = false;
};

}  // namespace fuzz

#endif  // STRATA_TESTS_FUZZ_HOSTILE_PROFILE_HPP
