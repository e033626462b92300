#include "roofline.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/profile/devices.hpp>
#include <strata/profile/metric_resolver.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/counter_table.hpp>
#include <strata/tables/steps_summary.hpp>
#include "device_peaks.hpp"
#include "devices.hpp"
#include "speed_of_light.hpp"
#include "stalls.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN

namespace detail {

class roofline_builder {
 public:
  roofline_builder(profile const& source, vec<range_row> const& rows, step_analysis const& steps,
                   counter_table const* counters, roofline_table const* whole)
      : source_(source),
        rows_(rows),
        steps_(steps),
        mean_(rows, steps),
        counters_(counters),
        whole_(whole) {}

  roofline_table build() {
    table_.memory = levels_[0] = memory_name(source_);
    find_devices();
    if (whole_ == nullptr) {
      add_roofs();
    } else {
      table_.roofs = whole_->roofs;
      table_.measured_at = whole_->measured_at;
    }
    copy_call_ns_.resize(rows_.size(), 0.0);
    for (copy_time const& copy : steps_.copies) copy_call_ns_[copy.row] += copy.call_ns;
    table_.limits.resize(rows_.size());
    table_.own.resize(rows_.size());
    for (std::size_t row = 0; row < rows_.size(); ++row) add_row(row);
    return std::move(table_);
  }

 private:
  static constexpr double no = std::numeric_limits<double>::quiet_NaN();
  static constexpr std::size_t level_count = 4;
  static constexpr std::size_t limiting_levels = 3;  ///< L1 has what shared memory moves
  static constexpr double slack = 1.05;  ///< chosen: clocks of counted and timed steps differ a bit

  struct amounts {
    double bytes[level_count] = {no, no, no, no};
    double flops = no;
    double compute_ns = 0.0;  ///< of the operations at their own roofs
    double least_ns = 0.0;    ///< and at what is possible
    std::string_view pipe;    ///< the one with the longest part
    std::string formats;      ///< of the tensor cores where they are several: "BF16, TF32"
    unit_times units;
  };

  /// Those that worked. Devices of different kinds have no roof in common.
  void find_devices() {
    table_.devices = std::max(std::size_t{1}, worked_ordinals(source_).size());
    vec<profile_device const*> const worked = worked_devices(source_);
    if (worked.empty()) return;
    for (profile_device const* const device : worked)
      if (device->name != worked[0]->name) return;
    device_ = worked[0];
    table_.highest_clock_hz = 1e3 * device_->clock_khz;
  }

  /// What was measured on the device is the height; what it cannot exceed is counted, or known of
  /// its attributes.
  void add_roof(std::string_view name, bool memory, double counted, double work) {
    double attribute = 0.0;
    double measured = 0.0;
    if (device_ != nullptr) {
      attribute = device_peak(*device_, name);
      measured = measured_peak(*device_, name);
    }
    double const at_clock = is_memory_name(name) ? attribute : attribute * clock_part_;
    roof made{name, memory};
    made.used = is_positive(work);
    made.origin = is_positive(counted) ? roof_origin::counted : roof_origin::device_attributes;
    made.rate = made.limit = is_positive(counted) ? counted : at_clock;
    made.nominal = attribute;
    if (is_positive(measured)) {
      made.origin = roof_origin::measured;
      made.rate = measured;
      made.limit = std::max(made.limit, measured);
      table_.measured_at = device_->measured_at;
    }
    if (is_positive(made.rate) && is_finite(made.rate)) table_.roofs.push_back(made);
  }

  /// One that few programs are near to: only where it was counted, or work of it.
  void add_used_roof(std::string_view name, double counted, double work) {
    if (is_positive(counted) || is_positive(work)) add_roof(name, false, counted, work);
  }

  /// A counted value of all work; where there is none, the largest of any row: a short range may
  /// lack cycles.
  double most_counted(std::string_view key) const {
    double const all = counted_value(counters_, 0, key);
    if (is_positive(all)) return all;
    double most = no;
    for (std::size_t row = 1; row < rows_.size(); ++row) {
      double const one = counted_value(counters_, row, key);
      if (is_positive(one) && !(most >= one)) most = one;
    }
    return most;
  }

  /// The clock of the counted steps as a part of the device's highest one: all roofs of SMs are at
  /// one clock, or a format would look faster than another that was counted. 1 where nothing tells.
  double counted_clock_part() const {
    for (std::string_view const peak : {"fp32_peak", "tensor_peak", "fp64_peak", "fp16_peak"}) {
      double const hz = most_counted(std::string(peak) + "_per_second") /
                        most_counted(std::string(peak) + "_per_cycle");
      if (is_positive(hz) && table_.highest_clock_hz > 0.0) return hz / table_.highest_clock_hz;
    }
    return 1.0;
  }

  void add_roofs() {
    clock_part_ = counted_clock_part();
    double declared = 0.0;
    for (range_row const& row : rows_) declared = std::max(declared, row.bytes);
    double const moved = most_counted("hbm_bytes");
    double const l1 = most_counted("l1_peak_bytes_per_second");
    add_roof(table_.memory, true, most_counted("hbm_peak_bytes_per_second"),
             is_positive(moved) ? moved : declared);
    add_roof("L2", true, most_counted("l2_peak_bytes_per_second"), most_counted("l2_bytes"));
    add_roof("L1", true, l1, most_counted("l1_data_bytes"));
    double const shared = most_counted("shared_wavefronts");
    if (is_positive(shared)) add_roof("shared", true, l1, shared);
    add_roof("FP32", false, most_counted("fp32_peak_per_second"), most_counted("flop_fp32"));
    add_used_roof("FP64", most_counted("fp64_peak_per_second"), most_counted("flop_fp64"));
    add_used_roof("FP16", most_counted("fp16_peak_per_second"), most_counted("flop_fp16"));
    forget_constants();
    double const cycles =
        most_counted("tensor_peak_per_second") / most_counted("tensor_peak_per_cycle");
    for (tensor_format const& format : tensor_formats) {
      double const work =
          work_of(format, [this](std::string_view key) { return most_counted(key); });
      if (!format.is_common && !is_positive(work)) continue;
      add_roof(format.roof, false, cycles * most_counted(format.peak), work);
    }
  }

  /// Compilers load constants by an HFMA2, which counts as FP16 work: no roof is used for that.
  void forget_constants() {
    // Of a range's time at the roof. Constants took 0.7 % at most in GPT-2 and in PyTorch's kernels
    // (H200, CUDA 13.0).
    constexpr double constants = 0.01;
    for (roof& known : table_.roofs) {
      if (known.name != "FP16") continue;
      known.used = false;
      for (std::size_t row = 0; row < rows_.size(); ++row) {
        double const ns = counted_value(counters_, row, "flop_fp16") / known.rate * 1e9;
        double const busy = steps_.busy_ns(rows_[row]);
        known.used = known.used || (busy > 0.0 && ns > constants * busy);
      }
    }
  }

  void add_operations(amounts& sums, std::string_view pipe, double flops, double& longest) const {
    if (!is_positive(flops)) return;
    roof const* const pipe_roof = table_.find(pipe);
    if (pipe_roof == nullptr) return;
    // The pipes work at the same time: the longest counts.
    double const ns = flops / pipe_roof->rate * 1e9;
    sums.least_ns = std::max(sums.least_ns, flops / pipe_roof->limit * 1e9);
    sums.compute_ns = std::max(sums.compute_ns, ns);
    if (ns <= longest) return;
    longest = ns;
    sums.pipe = pipe;
  }

  amounts counted(std::size_t row, counter_scope scope) const {
    amounts made;
    made.bytes[0] = counted_value(counters_, row, "hbm_bytes", scope);
    made.bytes[1] = counted_value(counters_, row, "l2_bytes", scope);
    made.bytes[2] = counted_value(counters_, row, "l1_data_bytes", scope);
    made.bytes[3] = wavefront_bytes * counted_value(counters_, row, "shared_wavefronts", scope);
    made.units = counted_unit_times(counters_, row, scope);
    auto const value = [&](std::string_view key) {
      return counted_value(counters_, row, key, scope);
    };
    made.flops = counted_operations(value);
    double longest = 0.0;
    add_operations(made, "FP32", counted_value(counters_, row, "flop_fp32", scope), longest);
    add_operations(made, "FP64", counted_value(counters_, row, "flop_fp64", scope), longest);
    add_operations(made, "FP16", counted_value(counters_, row, "flop_fp16", scope), longest);
    double tensor_ns = 0.0;  // one pipe for all formats
    double tensor_least_ns = 0.0;
    for (tensor_format const& format : tensor_formats) {
      double const flops = work_of(format, value);
      double unused = longest;
      add_operations(made, format.roof, flops, unused);
      roof const* const format_roof = table_.find(format.roof);
      if (!is_positive(flops) || format_roof == nullptr) continue;
      tensor_ns += flops / format_roof->rate * 1e9;
      tensor_least_ns += flops / format_roof->limit * 1e9;
      if (tensor_ns > longest) made.pipe = format.roof;
    }
    made.formats = formats_of(row, scope, tensor_ns);
    made.compute_ns = std::max(made.compute_ns, tensor_ns);
    made.least_ns = std::max(made.least_ns, tensor_least_ns);
    return made;
  }

  /// The formats that the tensor cores work on for a good part of their time, in the order of the
  /// table; empty where that is one.
  std::string formats_of(std::size_t row, counter_scope scope, double tensor_ns) const {
    constexpr double good_part = 0.1;  // chosen
    std::string formats;
    std::size_t count = 0;
    for (tensor_format const& format : tensor_formats) {
      double const work = work_of(
          format, [&](std::string_view key) { return counted_value(counters_, row, key, scope); });
      double const ns = work / table_.rate_of(format.roof) * 1e9;
      if (!(ns > 0.0) || ns < good_part * tensor_ns) continue;
      std::string_view const name = format.roof.substr(0, format.roof.find(' '));
      if (ends_with(formats, name)) continue;  // with other sums
      if (++count > 1) formats += ", ";
      formats += name;
    }
    return count > 1 ? formats : std::string();
  }

  /// How many devices worked on a range at a time, on average. A roof is one device's; work and
  /// busy times are added up over devices.
  static double devices_at_a_time(range_row const& row) noexcept {
    if (row.gpu_busy_ns <= 0 || row.device_busy_ns <= row.gpu_busy_ns) return 1.0;
    return static_cast<double>(row.device_busy_ns) / static_cast<double>(row.gpu_busy_ns);
  }

  /// Declared bytes that HBM can move in this time; NaN where L2 served them.
  double served_by_hbm(double bytes, double ns) const {
    return bytes > slack * table_.limit_of(table_.memory) * ns * 1e-9 ? no : bytes;
  }
  /// Whether L2 may have served the bytes that a range declares: calls that fit in it, at its
  /// speed.
  bool fits_l2(range_row const& row) const {
    auto const calls = static_cast<double>(row.host.count());
    if (device_ == nullptr || !is_positive(calls)) return false;
    auto const size = static_cast<double>(device_->l2_bytes);
    double const ns = row.bytes / table_.limit_of("L2") * 1e9;
    bool const too_fast = ns > slack * static_cast<double>(row.gpu_busy_ns);
    return row.bytes / calls <= size * static_cast<double>(table_.devices) && !too_fast;
  }

  /// `busy_ns`: of a step; so many devices worked in it at a time.
  void add_point(std::size_t row, std::size_t level, double bytes, amounts const& work,
                 work_evidence evidence, double busy_ns, double devices) {
    if (!is_positive(bytes) || !is_positive(work.flops)) return;
    double const time_ns = busy_ns * devices;
    roofline_point made;
    made.row = row;
    made.level = levels_[level];
    made.flops = work.flops;
    made.bytes = bytes;
    made.intensity_flop_per_byte = work.flops / bytes;
    made.flops_per_s = work.flops / time_ns * 1e9;
    made.bytes_per_s = bytes / time_ns * 1e9;
    made.time_ns = time_ns;
    made.devices = devices;
    double const rate = table_.rate_of(made.level);
    double const memory_ns = is_positive(rate) ? bytes / rate * 1e9 : 0.0;
    made.time_at_roof_ns = std::max(memory_ns, work.compute_ns);
    made.evidence = evidence;
    bool const cached = evidence == work_evidence::declared && fits_l2(rows_[row]);
    double const least_ns =
        cached || !is_positive(rate) ? 0.0 : bytes / table_.limit_of(made.level) * 1e9;
    made.above_roof = std::max(least_ns, work.least_ns) > slack * time_ns;
    table_.points.push_back(made);
  }

  void add_row(std::size_t position) {
    range_row const& row = rows_[position];
    double const time = steps_.busy_ns(row);
    double const parallel = devices_at_a_time(row);
    amounts real;
    if (is_timed_work(counters_, position, counter_scope::total))
      real = counted(position, counter_scope::total);
    amounts said;  // of an unknown format: no roof of compute
    said.flops = steps_.declared_flops(row);
    said.bytes[0] = steps_.declared_bytes(row);
    amounts limiting = said;
    if (fits_l2(row)) limiting.bytes[0] = served_by_hbm(said.bytes[0], time * parallel);
    table_.limits[position] =
        nearest(of_kernels(real, row.total, time * parallel), limiting, time, parallel);
    bool const leaf = row.self.kernels == row.total.kernels;
    double const own =
        steps_.per_step(static_cast<double>(row.self.kernel_ns), row.step_self_share);
    amounts alone;
    if (is_timed_work(counters_, position, counter_scope::self))
      alone = counted(position, counter_scope::self);
    double const own_ns = std::min(own, time);
    table_.own[position] = nearest(of_kernels(alone, row.self, own_ns * parallel),
                                   leaf ? limiting : amounts(), own_ns, parallel);
    if (!is_positive(time)) return;
    amounts const& work = is_positive(real.flops) ? real : said;
    for (std::size_t level = 0; level < level_count; ++level)
      add_point(position, level, real.bytes[level], work,
                is_positive(real.flops) ? work_evidence::counted : work_evidence::mixed, time,
                parallel);
    add_point(position, 0, said.bytes[0], said, work_evidence::declared, time, parallel);
    if (!row.is_many) describe(position, table_.limits[position]);  // of no one range
  }

  /// What was counted, without what no kernel does: all of it if none ran; and more bytes of
  /// device memory than that can move, where memory is allocated or released, which the driver
  /// clears. Source: 839 MiB in 2 us of a range that only calls cudaFree (H200, CUDA 13.0).
  amounts of_kernels(amounts const& counted, device_work const& work, double time) const {
    if (work.kernels == 0) return {};
    amounts made = counted;
    double const least_ns = made.bytes[0] / table_.limit_of(table_.memory) * 1e9;
    double const ns = std::max(least_ns, made.units[gpu_unit::hbm]);
    if (work.allocations + work.releases == 0 || !(ns > slack * time)) return made;
    made.bytes[0] = made.units[gpu_unit::hbm] = no;
    return made;
  }

  /// The unit, or else the roof, that takes the longest for this work. `time`: of a step;
  /// `parallel`: devices at a time.
  range_limit nearest(amounts const& real, amounts const& said, double time,
                      double parallel) const {
    range_limit limit;
    limit.time_ns = time;
    limit.units = real.units;
    limit.units.scale(1.0 / parallel);
    limit.counted =
        is_positive(real.bytes[0]) || is_positive(real.bytes[1]) || is_positive(real.flops);
    double least_ns = real.least_ns;
    auto const look = [&limit](std::string_view name, double ns) {
      if (!is_positive(ns) || ns <= limit.roof_ns) return;
      limit.roof_ns = ns;
      limit.roof = name;
    };
    for (std::size_t level = 0; level < limiting_levels; ++level) {
      bool const declared = level == 0 && !is_positive(real.bytes[0]);
      double const bytes = declared ? said.bytes[0] : real.bytes[level];
      look(levels_[level], bytes / table_.rate_of(levels_[level]) * 1e9 / parallel);
      double const ns = bytes / table_.limit_of(levels_[level]) * 1e9;
      if (is_positive(ns) && ns > least_ns) least_ns = ns;
    }
    look(real.pipe, real.compute_ns / parallel);
    bool above_roof = least_ns > slack * time * parallel;
    if (limit.units.is_known()) {
      limit.counted = true;
      limit.roof = limit.units.longest_name(table_.memory);
      limit.roof_ns = limit.units.longest_ns();
      above_roof = above_roof || limit.roof_ns > slack * time;
    }
    if (above_roof && time > 0.0) limit.kind = limiter::above_roof;
    name_units(limit, real);
    return limit;
  }

  /// The tensor cores by their formats where they are several, any other unit or roof by its name.
  static std::string name_of(std::string_view roof, std::string const& formats) {
    bool const is_tensor = roof == to_string(gpu_unit::tensor) || roof.find(" tensor") != roof.npos;
    if (!is_tensor || formats.empty()) return std::string(roof);
    return std::string(to_string(gpu_unit::tensor)) + " (" + formats + ")";
  }
  void name_units(range_limit& limit, amounts const& real) const {
    if (std::string named = name_of(limit.roof, real.formats); named != limit.roof)
      limit.name = std::move(named);
    unit_times const others = limit.units.without_longest();
    if (!others.is_known() || !(limit.time_ns > 0.0)) return;
    double const ns = others.longest_ns();
    if (limit.roof_ns - ns > used_as_much * limit.time_ns) return;
    limit.beside = name_of(others.longest_name(table_.memory), real.formats);
    limit.beside_ns = ns;
  }
  /// The limiter in words.
  void describe(std::size_t position, range_limit& limit) const {
    if (!limit.is_above_roof()) limit.kind = limiter_of(position, limit);
    limit.text = to_string(limit.kind);
    if (limit.kind == limiter::unit) limit.text = limit.names_with_use();
    if (limit.kind != limiter::latency) return;
    stall_share const most = longest_stall(counters_, position, counter_scope::total);
    if (most.stall != nullptr && most.part >= most.uncounted) limit.stall = most.stall->name;
    if (!limit.stall.empty()) limit.text += ": " + stall_name(limit.stall);
  }
  /// Host time of a range in calls that wait for the GPU, and in those that copy, which mostly do.
  double waited_ns(std::size_t position) const {
    range_row const& row = rows_[position];
    return steps_.per_step(static_cast<double>(row.total.synchronization_ns), row.step_host_share) +
           copy_call_ns_[position];
  }
  limiter limiter_of(std::size_t position, range_limit const& limit) const {
    range_row const& row = rows_[position];
    double const time = limit.time_ns;
    double const host = steps_.host_ns(row) - waited_ns(position);
    // ns; chosen: what is shorter is often launched more slowly than it runs.
    constexpr std::int64_t short_kernel = 20'000;
    if (mean_.work(position).copy_ns > time / 2) return limiter::copies;
    if (limit.fraction() >= latency_use) return limiter::unit;
    if (host > 2.0 * time && row.total.kernels > 0 &&
        row.total.kernel_ns < short_kernel * static_cast<std::int64_t>(row.total.kernels))
      return limiter::launch;
    return limit.is_latency() ? limiter::latency : limiter::unknown;
  }
  profile const& source_;
  vec<range_row> const& rows_;
  step_analysis const& steps_;
  step_amounts mean_;
  counter_table const* counters_;           ///< of the same rows; null where nothing was counted
  roofline_table const* whole_;             ///< whose roofs these are; null: they are counted
  profile_device const* device_ = nullptr;  ///< one of those that worked, all of a kind
  vec<double> copy_call_ns_;                ///< by row: host time in calls that copy
  double clock_part_ = 1.0;
  roofline_table table_;
  std::string_view levels_[level_count] = {"HBM", "L2", "L1", "shared"};
};

}  // namespace detail

roofline_table make_roofline(profile const& source, vec<range_row> const& rows,
                             step_analysis const& steps, counter_table const* counters,
                             roofline_table const* whole) {
  return detail::roofline_builder(source, rows, steps, counters, whole).build();
}

STRATA_END
