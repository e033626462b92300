#ifndef STRATA_SRC_RECORDING_CHECK_HPP
#define STRATA_SRC_RECORDING_CHECK_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/profile/samples.hpp>
#include <strata/recording/format.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

STRATA_BEGIN
namespace detail {

/// ns; half a year, either way.
constexpr bool is_recorded_time(std::int64_t ns) noexcept {
  constexpr std::int64_t most = std::int64_t{1} << 54;
  return ns > -most && ns < most;
}
constexpr bool is_recorded_sum(std::int64_t ns) noexcept { return ns >= 0 && is_recorded_time(ns); }

/// Drops from a recording what cannot be and does not make the rest wrong: records by their times,
/// which are counted, and sums of the device, which older versions made of such times.
class recording_repair {
 public:
  explicit recording_repair(profile& data) : profile_(data) {}

  void run() {
    drop_records();
    drop_samples();
    if (!can_be(profile_.device)) profile_.device = {};  // those of the records stand for them
  }

 private:
  /// The device may have lost the times of its work.
  void drop_records() {
    auto const lasts = [](auto const& r) {
      return is_recorded_time(r.begin) && is_recorded_time(r.end) && r.begin <= r.end;
    };
    auto const lasts_or_lost = [&](auto const& r) {
      return lasts(r) || (r.begin == lost_time && r.end == lost_time);
    };
    keep(profile_.ranges, lasts);
    keep(profile_.steps, lasts);
    keep(profile_.early_steps, lasts);
    keep(profile_.spans, lasts);
    keep(profile_.launches, lasts);
    keep(profile_.kernels, lasts_or_lost);
    keep(profile_.copies, lasts_or_lost);
    keep(profile_.memory, [](memory_record const& m) { return is_recorded_time(m.time); });
    keep(profile_.synchronizations, lasts_or_lost);
    keep(profile_.overheads, lasts);
    keep(profile_.migrations, lasts);
    keep(profile_.energy, [](energy_reading const& e) { return is_recorded_time(e.at); });
    keep(profile_.hang.ranges, [](hung_range const& r) {
      return r.open_ns == -1 || is_recorded_sum(r.open_ns);  // -1: its begin was not recorded
    });
    keep(profile_.hang.work, [](hung_work const& w) { return is_recorded_sum(w.last_ns); });
  }
  void drop_samples() {
    device_samples& all = profile_.samples;
    if (all.counters > counted_sample::max_counters) return;  // recording_check refuses that
    device_samples kept = all;
    kept.count = 0;
    kept.coded = {};
    sample_writer writer;
    sample_reader reader(all);
    std::uint64_t read = 0;
    for (counted_sample now; reader.next(now); ++read) {
      bool can_be = is_recorded_time(now.begin) && is_recorded_time(now.end) && now.begin < now.end;
      for (std::size_t i = 0; i < all.counters; ++i)
        can_be = can_be && is_recorded_sum(now.counts[i]);
      if (can_be) writer.add(kept, now);
    }
    bool const is_whole = reader.is_whole() && read == all.count;
    if (is_whole && kept.count == read) return;
    profile_.losses.records_refused += read - kept.count + (is_whole ? 0 : 1);
    all = std::move(kept);
  }
  template <class Record, class Check>
  void keep(vec<Record>& records, Check const& is_good) {
    profile_.losses.records_refused += records.size();
    records.keep_if(is_good);
    profile_.losses.records_refused -= records.size();
  }

  static bool can_be(device_sums const& device) noexcept {
    bool all = true;
    for (device_work const& w : device.nodes)
      for (std::int64_t const ns : {w.launch_ns, w.kernel_ns, w.copy_ns, w.synchronization_ns,
                                    w.graph_kernel_ns, w.adopted_ns})
        all = all && is_recorded_sum(ns);
    for (graph_kernel_sums const& g : device.graph_kernels)
      all = all && is_recorded_sum(g.kernel_ns);
    return all && can_be(device.by_node) && can_be(device.by_family);
  }
  static bool can_be(subtree_sums const& sums) noexcept {
    bool all = true;
    for (subtree_times const& t : sums.times)
      all = all && is_recorded_sum(t.busy_ns) && is_recorded_sum(t.peak_bytes);
    for (device_busy const& d : sums.devices)
      for (std::int64_t const ns : d.ns) all = all && is_recorded_sum(ns);
    return all;
  }

  profile& profile_;
};

/// Whether all that a profile refers to is there, and no number is beyond what a run can have: what
/// the analysis relies on.
class recording_check {
 public:
  explicit recording_check(profile const& data) : profile_(data) {}

  bool is_sound() {
    check_tree();
    if (!good_) return false;
    check_all(profile_.ranges, [&](range_record const& r) {
      good(in_tree(r.node) && r.attribute <= profile_.attributes.size());
    });
    check_all(profile_.attributes, [&](attribute_record const& a) {
      good(in_tree(a.node) && a.note <= profile_.names.size() && a.rank <= 7);
    });
    check_all(profile_.spans, [&](span_record const& s) {
      good(s.kind <= span_kind::mark && is_name(s.name) && is_name(s.domain));
    });
    check_all(profile_.summed_ranges,
              [&](overflow_sums const& f) { good(in_tree(f.node) && sums(f.durations)); });
    check_all(profile_.inherited, [&](inherited_time const& i) {
      good(in_tree(i.node) && in_tree(i.from) && is_recorded_sum(i.total));
    });
    good(sums(profile_.summed_steps) && is_recorded_time(profile_.end));
    check_all(profile_.launches, [&](driver_call_record const& l) {
      good(in_tree(l.node) && l.kind <= api_kind::instantiate);
    });
    check_all(profile_.kernels, [&](kernel_record const& k) {
      good(in_tree(k.node) && is_kernel(k.name) &&
           (k.captured_by == no_node || in_tree(k.captured_by)));
    });
    check_all(profile_.copies, [&](copy_record const& c) {
      good(in_tree(c.node) && is_size(c.bytes) && c.kind <= copy_kind::set);
    });
    check_all(profile_.memory, [&](memory_record const& m) {
      good(in_tree(m.node) && is_size(m.bytes) && m.kind <= memory_kind::managed_static);
    });
    check_all(profile_.synchronizations, [&](synchronization_record const& s) {
      good(in_tree(s.node) && s.kind <= synchronization_kind::context);
    });
    check_all(profile_.migrations, [&](migration_record const& m) {
      good(is_size(m.value) && m.kind <= migration_kind::last_former);
    });
    good(profile_.samples.counters <= counted_sample::max_counters);
    check_device();
    check_all(profile_.counter_sets, [&](counter_set const& set) { check_set(set); });
    return good_;
  }

 private:
  template <class Value, class Check>
  void check_all(vec<Value> const& list, Check const& look) {
    for (Value const& value : list) look(value);
  }
  void good(bool is) noexcept { good_ = good_ && is; }

  bool in_tree(std::uint32_t node) const noexcept { return node < profile_.nodes.size(); }
  bool is_name(std::uint32_t name) const noexcept { return name < profile_.names.size(); }
  bool is_kernel(std::uint32_t name) const noexcept { return name <= profile_.kernel_names.size(); }
  static bool is_size(std::uint64_t bytes) noexcept { return bytes < std::uint64_t{1} << 50; }

  static bool sums(duration_statistics const& durations) noexcept {
    return recorded_fields::is_sound(durations);
  }

  void check_tree() {
    for (std::size_t i = 0; i < profile_.nodes.size(); ++i) {
      profile_node const& node = profile_.nodes[i];
      bool const root = i == 0 && node.parent == 0 && node.depth == 0;
      good(is_name(node.name) &&
           (root || (node.parent < i && node.depth == profile_.nodes[node.parent].depth + 1)));
    }
  }

  void check_device() {
    device_sums const& sums_of = profile_.device;
    std::size_t const nodes = sums_of.complete ? profile_.nodes.size() : 0;
    std::size_t const families = sums_of.by_family.times.size();
    good(sums_of.nodes.size() == nodes && sums_of.family_of_node.size() == nodes);
    check_sums(sums_of.by_node, nodes);
    check_sums(sums_of.by_family, families);
    check_all(sums_of.family_of_node, [&](std::uint32_t family) { good(family < families); });
    check_all(sums_of.kernels, [&](kernel_sums const& k) {
      good(in_tree(k.node) && is_kernel(k.name) && sums(k.duration) && sums(k.blocks));
    });
    check_all(sums_of.graph_kernels, [&](graph_kernel_sums const& g) {
      good(in_tree(g.launched_by) && in_tree(g.captured_by));
    });
  }
  void check_sums(subtree_sums const& sums, std::size_t places) {
    good(sums.times.size() == places);
    check_all(sums.devices, [&](device_busy const& d) { good(d.ns.size() == places); });
  }

  void check_set(counter_set const& set) {
    std::size_t const names = set.names.size();
    constexpr std::uint64_t max_passes = 4096;
    good(set.method <= counting::sampled && set.passes <= max_passes &&
         set.passes_done <= max_passes && (set.origins.empty() || set.origins.size() == names));
    check_all(set.metrics.metrics, [&](resolved_metric const& m) {
      good(m.level <= metric_level::cpu && m.combine <= metric_combine::mean);
    });
    check_all(set.values,
              [&](counter_value const& v) { good(in_tree(v.node) && v.counter < names); });
    check_all(set.kernels, [&](counted_kernel const& k) {
      good(in_tree(k.node) && is_kernel(k.name) && k.values.size() == names);
    });
    check_all(set.origins, [&](counter_origin const& o) {
      good(o.first_pass <= max_passes && o.passes <= max_passes);
    });
    check_all(set.work,
              [&](counted_work const& w) { good(in_tree(w.node) && w.pass < max_passes); });
  }

  profile const& profile_;
  bool good_ = true;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SRC_RECORDING_CHECK_HPP
