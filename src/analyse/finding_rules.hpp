#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_FINDING_RULES_HPP
#define STRATA_ANALYSE_FINDING_RULES_HPP

#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/profile/metric_resolver.hpp>
#include <strata/profile/records.hpp>
#include <strata/tables/kernel_table.hpp>
#include <strata/tables/step_amounts.hpp>
#include <strata/tables/steps_summary.hpp>
#include "finding_context.hpp"
#include "findings.hpp"
#include "kernel_rules.hpp"
#include "roofline.hpp"
#include "step_bound.hpp"
#include "step_rules.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN
namespace detail {

/// Runs the rules.
class finding_rules : private step_rules {
 public:
  explicit finding_rules(findings_input const& input) : step_rules(input) {}

  findings_table run();

  static finding_rule const rules[];

 private:
  // --- the device has nothing to do ---

  bool launch_bound(finding_rule const& rule) { return idle(rule, idle_cause::launch); }
  bool wait_in_step(finding_rule const& rule) { return idle(rule, idle_cause::wait); }
  bool allocation_in_step(finding_rule const& rule) { return idle(rule, idle_cause::allocation); }
  bool host_work(finding_rule const& rule) {
    return idle(rule, idle_cause::host_work, idle_place::in_ranges);
  }
  bool gap_between_ranges(finding_rule const& rule) {
    return idle(rule, idle_cause::host_work, idle_place::between_ranges);
  }
  enum class idle_place : std::uint8_t { anywhere, in_ranges, between_ranges };
  /// Whether a rule looks at idle time of a row in a place.
  bool is_in_place(std::uint32_t row, idle_place scope) const noexcept {
    if (!is_judged(row)) return false;
    if (scope == idle_place::anywhere) return true;
    return (row == 0) == (scope == idle_place::between_ranges) && !migrating_[row];
  }
  bool idle(finding_rule const& rule, idle_cause cause, idle_place scope = idle_place::anywhere) {
    std::size_t const before = made_.findings.size();
    double const sure = sure_idle_part();
    idle_work all;
    for (idle_time const& idle : in_.steps.idle) {
      if (idle.cause != cause || !is_worth(idle.ns) || !is_in_place(idle.row, scope)) continue;
      if (cause == idle_cause::launch && launches_graphs(idle.row)) continue;
      idle_work const work = work_beside(idle);
      all.add(work);
      finding& made = add(rule, idle.row, sure * idle.ns, {});
      if (sure < 1.0) made.part = finding_part::none;  // what it gains is not replayed
      prove_idle(made, idle, work);
    }
    if (!(sure > 0.0)) made_.findings.resize(before);  // lost work may have filled it
    bool const between = scope == idle_place::between_ranges;
    entitle(before, idle_title(cause, all) + (between ? ", in no range" : ""));
    // The GPU's work hides no more than it takes.
    double const own_ns = in_.steps.own_idle_ns(all.ns);
    if (cause == idle_cause::host_work && own_ns > in_.steps.gpu_busy_ns)
      advise(before, between ? "mark what the program does there with a range, and make that "
                               "faster: the GPU has too little work to hide it"
                             : "make it faster, or move it to the GPU, which has too little work "
                               "to hide it");
    return true;
  }
  /// Idle time of the GPU, and what the host does of its ranges themselves in a step.
  struct idle_work {
    double ns = 0.0;
    double kernels = 0.0;
    double kernel_ns = 0.0;
    double allocations = 0.0;

    void add(idle_work const& more) noexcept {
      ns += more.ns;
      kernels += more.kernels;
      kernel_ns += more.kernel_ns;
      allocations += more.allocations;
    }
  };
  idle_work work_beside(idle_time const& idle) const noexcept {
    device_work const& own = rows_[idle.row].self;
    idle_work work;
    work.ns = idle.ns;
    work.kernels = own_launches_per_step(idle.row, own.kernels);
    work.kernel_ns = own_ns_per_step(idle.row, static_cast<double>(own.kernel_ns));
    work.allocations = own_launches_per_step(idle.row, own.allocations);
    return work;
  }
  void prove_idle(finding& made, idle_time const& idle, idle_work const& work) const {
    device_work const& own = rows_[idle.row].self;
    prove(made, "gpu_idle_ns", idle.ns, "ns");
    prove_some(made, "gaps", idle.gaps, "");
    if (idle.cause == idle_cause::launch && work.kernels > 0.0) {
      prove(made, "kernels_self", work.kernels, "");
      prove(made, "gpu_kernel_self_ns", work.kernel_ns, "ns");
      prove(made, "launch_self_ns", own_launch_ns_per_step(idle.row), "ns");
    } else if (idle.cause == idle_cause::wait) {
      prove_some(made, "synchronizations", own_launches_per_step(idle.row, own.synchronizations),
                 "");
    } else if (idle.cause == idle_cause::allocation) {
      prove_some(made, "allocations", work.allocations, "");
      prove_some(made, "allocated_bytes", own_launches_per_step(idle.row, own.allocated_bytes),
                 "B");
    }
  }
  /// What a range itself migrates, without the ranges below it.
  struct own_migrations {
    double to_device_bytes = 0.0;
    double to_host_bytes = 0.0;
    double faults = 0.0;
    double ns = 0.0;
  };
  vec<own_migrations> own_migrations_by_row() const {
    vec<own_migrations> own(rows_.size());
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      range_row const& from = rows_[row];
      own_migrations const all{static_cast<double>(from.migrated_to_device_bytes),
                               static_cast<double>(from.migrated_to_host_bytes),
                               static_cast<double>(from.gpu_page_faults),
                               static_cast<double>(from.migration_ns)};
      add_migrations(own[row], all, 1.0);
      if (row > 0) add_migrations(own[from.parent], all, -1.0);
    }
    return own;
  }
  static void add_migrations(own_migrations& sum, own_migrations const& more, double factor) {
    sum.to_device_bytes += factor * more.to_device_bytes;
    sum.to_host_bytes += factor * more.to_host_bytes;
    sum.faults += factor * more.faults;
    sum.ns += factor * more.ns;
  }

  /// Kernels that wait for pages of managed memory, and the host's code that takes them back.
  bool managed_memory(finding_rule const& rule) {
    // Beyond it the host does more than wait for pages. Source: an H200, where the host took 10.3
    // times as long to read 32 MiB as these took to migrate.
    constexpr double most_of_migration = 20.0;
    if (!in_.source.has_migrations) return true;
    vec<own_migrations> const own = own_migrations_by_row();
    vec<double> idle_by_row(rows_.size(), 0.0);
    for (idle_time const& time : in_.steps.idle)
      if (time.cause == idle_cause::host_work) idle_by_row[time.row] += time.ns;
    std::size_t const before = made_.findings.size();
    own_migrations all;  // of a step
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (!is_judged(row) || !is_worth(per_step(row, own[row].ns))) continue;
      double idle = idle_by_row[row];
      if (idle > most_of_migration * per_step(row, own[row].ns)) idle = 0.0;
      double const waits = own[row].faults > 0.0 || own[row].to_device_bytes > 0.0
                               ? judge_.gain(row, fix_of_kernels().ends_waits(load(row).time_ns))
                               : 0.0;
      if (!is_worth(waits) && !is_worth(idle)) continue;
      add_migrations(all, own[row], per_step(row, 1.0));
      if (is_worth(waits)) prove_migrations(add_kernels(rule, row, waits, {}), own[row]);
      if (!is_worth(idle)) continue;
      migrating_[row] = true;
      finding& made = add(rule, row, idle, {});
      made.part = finding_part::host_work;
      prove_migrations(made, own[row]);
    }
    entitle(before, sentence("Managed memory moves ")
                        << bytes_text(all.to_device_bytes) << " to the GPU and "
                        << bytes_text(all.to_host_bytes) << " back in " << in_.steps.one_whole());
    return true;
  }
  void prove_migrations(finding& made, own_migrations const& own) const {
    prove(made, "migrated_bytes_h2d", per_step(made.row, own.to_device_bytes), "B");
    prove(made, "migrated_bytes_d2h", per_step(made.row, own.to_host_bytes), "B");
    prove(made, "gpu_page_faults", per_step(made.row, own.faults), "");
    prove(made, "migration_ns", per_step(made.row, own.ns), "ns");
  }

  /// Whether a range launches its kernels in graphs, many at a time.
  bool launches_graphs(std::size_t row) const noexcept {
    device_work const& work = rows_[row].self;
    constexpr std::uint64_t many = 4;  // kernels by launch; chosen
    return work.launches > 0 && work.kernels > many * work.launches;
  }
  char const* in_whole() const noexcept { return in_.steps.from_steps ? " a step" : " in the run"; }
  /// "The GPU is idle for 42.4 us of a step while the host launches a kernel of 2.00 us": of the
  /// ranges that are worth it, without those that launch graphs. The page's budget has all of it.
  std::string idle_title(idle_cause cause, idle_work const& all) const {
    std::string const gpu = sentence(in_.roofline.devices > 1 ? "All GPUs are" : "The GPU is")
                            << " idle for " << time(in_.steps.own_idle_ns(all.ns)) << " of "
                            << in_.steps.one_whole();
    std::string const idle = sentence(gpu) << " " << entry_of(cause).meanwhile;
    switch (cause) {
      case idle_cause::launch:  // before a kernel is launched, and before it begins
        if (!(all.kernels > 0.0)) return gpu + " while the host launches";
        if (all.kernels < 1.5)
          return gpu + " while the host launches a kernel of " + time(all.kernel_ns);
        return sentence(gpu) << " between " << count(all.kernels, "kernel", "kernels") << " of "
                             << time(all.kernel_ns / all.kernels) << ", launched one by one";
      case idle_cause::wait:
        return gpu + " while the host, after a wait, launches what comes next";
      case idle_cause::allocation:
        if (!(all.allocations > 0.0)) return gpu + " while the host frees memory";
        return sentence(idle) << ", " << count(all.allocations, "time", "times") << in_whole();
      default:  // host_work: no other cause has this look
        return idle;
    }
  }

  /// What pinned copies of the host reach in one direction, in bytes a ns: what those of this run
  /// do, or else the bus at its widest. NaN where neither is known.
  double pinned_rate(bool to_device) const {
    constexpr double large = 1 << 20;  // bytes: what is smaller takes its launch
    double best = 0.0;
    for (copy_time const& copies : in_.steps.copies) {
      bool const is_large = copies.count > 0.0 && copies.bytes >= large * copies.count;
      if (copies.to_device == to_device && !copies.pageable && is_large && copies.ns > 0.0)
        best = larger(best, copies.bytes / copies.ns);
    }
    if (best > 0.0) return best;
    for (profile_device const* const device : worked_) best = larger(best, bus_peak(*device));
    if (!(best > 0.0)) return not_a_number;
    return best * 1e-9 * reachable_use(gpu_unit::pcie);
  }

  /// A pinned copy may lie beside kernels or be left out; a pageable one still has to cross the
  /// bus.
  bool pageable_copy(finding_rule const& rule) { return copies(rule, host_memory::pageable); }
  bool copy_in_step(finding_rule const& rule) { return copies(rule, host_memory::pinned); }
  enum class host_memory : std::uint8_t { pinned, pageable };
  bool copies(finding_rule const& rule, host_memory memory) {
    bool const pageable = memory == host_memory::pageable;
    // Idle time belongs to the largest copies of a range, which stand first.
    vec<double> idle(rows_.size(), 0.0);
    for (idle_time const& time : in_.steps.idle)
      if (time.cause == idle_cause::copy) idle[time.row] += time.ns;
    double const rates[] = {pinned_rate(false), pinned_rate(true)};
    std::size_t const before = made_.findings.size();
    copy_time all[2];  // by direction, from the GPU and to it
    double all_idle_ns = 0.0;
    for (copy_time const& time : in_.steps.copies) {
      double const idle_ns = idle[time.row];
      double cost = time.alone_ns + idle_ns;
      idle[time.row] = 0.0;
      if (time.pageable != pageable || !is_judged(time.row)) continue;
      double const pinned_ns = time.bytes / rates[time.to_device ? 1 : 0];
      if (time.pageable && known(pinned_ns) && time.ns > 0.0)
        cost -= time.alone_ns * smaller(1.0, pinned_ns / time.ns);
      if (!is_worth(cost)) continue;
      copy_time& sum = all[time.to_device ? 1 : 0];
      sum.bytes += time.bytes;
      sum.count += time.count;
      sum.alone_ns += time.alone_ns;
      sum.ns += time.ns;
      all_idle_ns += idle_ns;
      finding& made = add(rule, time.row, cost, {});
      prove(made, time.to_device ? "h2d_bytes" : "d2h_bytes", time.bytes, "B");
      prove(made, "gpu_copy_self_ns", time.ns, "ns");
      prove(made, "copies_self", time.count, "");
      prove(made, "launch_ns", time.call_ns, "ns");
      if (!time.pageable) continue;
      prove(made, "pinned_ns", pinned_ns, "ns");
      if (!known(pinned_ns)) made.part = finding_part::none;
    }
    // Copies at the same time count once.
    double const alone_ns = smaller(all[0].alone_ns + all[1].alone_ns, in_.steps.copies_alone_ns);
    std::string title = copies_title(all[0], all[1], alone_ns, pageable);
    double const idle_ns = in_.steps.own_idle_ns(all_idle_ns);
    if (is_worth(idle_ns)) title += ", and an idle GPU for " + time(idle_ns);
    entitle(before, title);
    if (!pageable && alone_ns > in_.steps.gpu_busy_ns - in_.steps.copies_alone_ns)
      advise(before, "copy less, or leave the data on the GPU: kernels are too short to hide it");
    return true;
  }
  /// "32.0 MiB a step go to the GPU in 1 copy, at 55.1 GB/s, with no kernel at the same time for
  /// 610 us".
  std::string copies_title(copy_time const& downloads, copy_time const& uploads, double alone_ns,
                           bool pageable) const {
    constexpr double large = 1 << 20;  // bytes: a rate of less is that of its launch
    sentence title;
    auto const say = [&](copy_time const& sum, char const* direction) {
      title << bytes_text(sum.bytes) << in_whole() << direction
            << count(sum.count, "copy", "copies");
      if (sum.ns > 0.0 && sum.bytes >= large * sum.count)
        title << ", at " << fixed_string(sum.bytes / sum.ns, 1) << " GB/s";
    };
    if (uploads.count > 0.0) say(uploads, " go to the GPU in ");
    if (uploads.count > 0.0 && downloads.count > 0.0) title << ", and ";
    if (downloads.count > 0.0) say(downloads, " come from the GPU in ");
    title << (pageable ? " through pageable memory" : "")
          << ", with no kernel at the same time for " << time(alone_ns);
    return title;
  }

  /// Collectives that no other kernel hides.
  bool exposed_communication(finding_rule const& rule) {
    std::size_t const before = made_.findings.size();
    collective_time all;
    for (collective_time const& time : in_.steps.collectives) {
      if (!is_judged(time.row)) continue;
      all.busy_ns += time.busy_ns;
      all.alone_ns += time.alone_ns;
    }
    if (!is_expensive(all.alone_ns)) return true;
    // Each range counts, however little it has: layers and buckets have ranges of their own.
    for (collective_time const& time : in_.steps.collectives) {
      if (!is_judged(time.row) || !(time.alone_ns > 0.0)) continue;
      judge_.set_apart(time.row, time.alone_ns);
      finding& made = add(rule, time.row, time.alone_ns, {});
      prove(made, "kernels_self", time.count, "");
      prove(made, "gpu_kernel_self_ns", time.ns, "ns");
      prove(made, "collective_bytes", calls_per_step(time.row, rows_[time.row].collective_bytes),
            "B");
    }
    // Those of the last step of a window may end behind its period.
    entitle(before, sentence("Collectives take ")
                        << time(smaller(all.busy_ns, step_ns_)) << " of " << in_.steps.one_whole()
                        << ", with no other kernel at the same time for "
                        << time(smaller(all.alone_ns, step_ns_)));
    return true;
  }

  /// The kernels of one device in a mean step that leave most of its SMs free.
  struct small_kernels {
    std::uint32_t device = 0;
    std::size_t streams = 0;
    double ns = 0.0;
    double busiest_ns = 0.0;  // of one stream
    double filled_ns = 0.0;   // times the part of the SMs that they fill
    double overlap_ns = 0.0;  // of all kernels of the device

    /// What they would take less, each stream beside the others; 0 where they do not follow one
    /// another.
    double gain_together() const noexcept {
      // One after the other, each kernel has L2 for itself. Side by side they share it, and a load
      // that misses it takes twice as long: 400 cycles for 200 (V100, A100, H100). How many do is
      // not known of a trace: half of them.
      // Source: Ultrasonics Sonochemistry 99 (2023) 106546, table 3.
      constexpr double longer_together = 1.5;
      // Of their time; chosen.
      constexpr double one_stream = 0.8;    // there is nothing to run beside it
      constexpr double side_by_side = 0.1;  // they do run together
      if (busiest_ns > one_stream * ns || overlap_ns > side_by_side * ns) return 0.0;
      return larger(0.0, ns - longer_together * larger(busiest_ns, filled_ns));
    }
  };
  vec<small_kernels> small_kernels_by_device() const {
    vec<small_kernels> works;
    number_map<std::size_t> places;
    for (device_time const& device : in_.steps.devices) {
      places[device.device] = works.size();
      works.emplace_back();
      works.back().device = device.device;
      works.back().overlap_ns = device.overlap_ns;
    }
    for (stream_time const& stream : in_.steps.streams) {
      std::size_t const* const place = places.find(stream.device);
      if (place == nullptr || !(stream.small_ns > 0.0)) continue;
      small_kernels& work = works[*place];
      ++work.streams;
      work.ns += stream.small_ns;
      work.filled_ns += stream.filled_ns;
      work.busiest_ns = larger(work.busiest_ns, stream.small_ns);
    }
    return works;
  }

  /// Looks at the kernels that leave most SMs free: what fills the GPU may stand beside them.
  bool serialised_streams(finding_rule const& rule) {
    small_kernels worst;
    for (small_kernels const& work : small_kernels_by_device())
      if (work.gain_together() > worst.gain_together()) worst = work;
    double const cost = worst.gain_together();
    if (!is_expensive(cost)) return true;
    vec<double> little(rows_.size(), 0.0);
    for (kernel_row const& kernel : in_.kernels) {
      bool const is_small = kernel.blocks_mean <= small_fill * multiprocessors_;
      if (is_small && !is_collective(kernel)) little[row_of(kernel)] += kernel.duration.sum();
    }
    std::size_t most_expensive = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (is_judged(i) && little[i] > little[most_expensive]) most_expensive = i;
      if (little[i] > 0.0) judge_.claim(i, cost);
    }
    sentence title;
    title << "Kernels of " << worst.streams << " streams ";
    if (in_.steps.devices.size() > 1) title << "of GPU " << worst.device << ' ';
    title << "run one after the other, each on " << percent(worst.filled_ns / worst.ns)
          << " of the SMs";
    finding& made = add(rule, most_expensive, cost, title);
    prove(made, "streams", static_cast<double>(worst.streams), "");
    prove(made, "gpu_kernel_ns", worst.ns, "ns");
    prove(made, "overlap_ns", worst.overlap_ns, "ns");
    return true;
  }

  // --- numbers to doubt ---

  /// Operations of a step in a range with those below it, of all pipes; NaN where the tensor cores
  /// worked on formats that were not counted, and where other work was counted than timed.
  double counted_flops(std::size_t row) const noexcept {
    if (!is_timed_work(row, counter_scope::total)) return not_a_number;
    double const plain = counted_value(in_.counters, row, "flop");
    double const fp32 = counted_value(in_.counters, row, "flop_fp32");
    double const tensor = tensor_flops(row, counter_scope::total);
    double const busy = in_.roofline.limits[row].use(gpu_unit::tensor);
    constexpr double idle = 0.02;  // use: a kernel without products has some on an H200
    if (busy > idle && !(tensor > 0.0)) return not_a_number;
    return (known(plain) ? plain : fp32) + (known(tensor) ? tensor : 0.0);
  }
  /// The time that operations take of a range's: all of it only where the pipes that do them bound
  /// it. What a norm declares is often not what it does, and costs nothing.
  double computing_ns(range_limit const& load, double flops) const noexcept {
    double use = larger(load.use(gpu_unit::tensor), load.use(gpu_unit::fma));
    use = larger(use, load.use(gpu_unit::fp64));
    double const at_roof = at_roof_ns(flops, "FP32") / load.time_ns;
    if (!load.units.is_known() && known(at_roof)) use = at_roof;
    return load.time_ns * smaller(1.0, use / bound_use);
  }
  /// Whether a row lies in one of several. Requires: none of these lies in another, they are in
  /// order, and none comes behind this row.
  bool is_below(std::size_t row, vec<std::size_t> const& above) const noexcept {
    return !above.empty() && is_in(row, above.back());
  }

  bool declared_work(finding_rule const& rule) {
    // One by the other; chosen: formulas leave out what is small.
    constexpr double most_apart = 1.25;
    vec<std::size_t> found;
    for (std::size_t row = 1; row < rows_.size(); ++row) {
      double const declared = in_.steps.declared_flops(rows_[row]);
      double const counted = counted_flops(row);
      if (!is_judged(row) || is_below(row, found)) continue;
      if (!(declared > 0.0) || !known(declared) || !known(counted)) continue;
      range_limit const& load = in_.roofline.limits[row];
      double const part = declared / counted;
      if (!is_worth(load.time_ns) || (part > 1.0 / most_apart && part < most_apart)) continue;
      double const gain = judge_.gain_below(row, end_of(row), load, part,
                                            computing_ns(load, counted) * (1.0 - part));
      if (part < 1.0 && !is_worth(gain)) continue;
      found.push_back(row);
      double const times = counted / declared;
      std::string const measured = times < 0.005 ? "less than 0.01" : fixed_string(times, 2);
      char const* const left_out =
          times < 1.0 ? "; integer ones, as of quantised weights, are not counted" : "";
      finding& made = add(rule, row, part < 1.0 ? gain : 0.0,
                          sentence("The range does ")
                              << measured << " times the declared operations" << left_out);
      prove(made, "flop", counted, "FLOP");
      prove(made, "flops", declared, "FLOP");
      for (std::size_t other = row; part < 1.0 && other < end_of(row); ++other)
        judge_.claim(other, in_.roofline.own[other].time_ns * (1.0 - part));
    }
    return true;
  }

  /// Of each range, the level that is the most above its roof.
  vec<roofline_point const*> points_above() const {
    vec<roofline_point const*> above;
    for (roofline_point const& point : in_.roofline.points) {
      if (!point.above_roof || !is_judged(point.row)) continue;
      if (!is_expensive(point.time_ns / point.devices)) continue;
      if (above.empty() || above.back()->row != point.row)
        above.push_back(&point);
      else if (point.time_at_roof_ns > above.back()->time_at_roof_ns)
        above.back() = &point;
    }
    above.sort([](auto const* a, auto const* b) { return a->time_ns > b->time_ns; });
    return above;
  }

  /// Where bytes of HBM without a kernel may come from (a loop of cudaMalloc, kernel and cudaFree
  /// moved 754 MiB: H200, CUDA 13.0).
  std::string_view cleared_by_driver(std::size_t row) const noexcept {
    return rows_[row].total.allocations == 0
               ? ""
               : "; it allocates, and the driver clears memory without a kernel";
  }

  bool above_roof(finding_rule const& rule) {
    vec<roofline_point const*> const above = points_above();
    for (std::size_t i = 0; i < above.size() && i < most_of_a_rule; ++i) {
      roofline_point const& point = *above[i];
      double const memory_ns = at_roof_ns(point.bytes, point.level);
      bool const by_bytes = known(memory_ns) && memory_ns >= point.time_at_roof_ns;
      std::string title = sentence("The range is above its roof: at the peak of ")
                          << (by_bytes ? point.level : "its operations") << " the "
                          << to_string(point.evidence) << " work takes "
                          << fixed_string(point.time_at_roof_ns / point.time_ns, 2)
                          << " times the measured time";
      if (point.level == "HBM") title += cleared_by_driver(point.row);
      if (above.size() > most_of_a_rule)
        title += sentence("; so do ") << above.size() - 1 << " more ranges";
      finding& made = add(rule, point.row, 0.0, std::move(title));
      prove(made, "time_at_roof_ns", point.time_at_roof_ns / point.devices, "ns");
      prove(made, "gpu_busy_ns", point.time_ns / point.devices, "ns");
    }
    if (in_.counters == nullptr) return true;
    vec<std::size_t> said;  // metrics
    for (counter_table::share_above_peak const& share : in_.counters->above_peak) {
      if (said.size() == most_of_a_rule || said.contains(share.metric)) continue;
      if (!is_judged(share.row) || !is_expensive(in_.roofline.limits[share.row].time_ns)) continue;
      said.push_back(share.metric);
      std::string_view const key = in_.counters->metrics[share.metric].key;
      std::string title = sentence(key) << " would be " << fixed_string(share.percent, 0)
                                        << " %: the number is wrong";
      if (key == "hbm_of_peak") title += cleared_by_driver(share.row);
      finding& made = add(rule, share.row, 0.0, std::move(title));
      // The catalogue's key outlives the counter table.
      if (metric const* const entry = find_entry(key))
        prove(made, entry->key(), share.percent, "%");
    }
    return true;
  }

  bool untrusted(finding_rule const& rule) {
    auto const all = static_cast<double>(rows_[0].total.kernels + rows_[0].total.copies);
    double const missing = losses_.device_work + losses_.device_times;
    if (missing > least_lost * all) {
      finding& made = add_of_step(rule, 0.0,
                                  count(missing) +
                                      " records of launches, kernels or copies were lost: GPU "
                                      "times of ranges are too small");
      prove(made, "lost", missing, "");
      prove(made, "kernels", static_cast<double>(rows_[0].total.kernels), "");
    }
    double calls = 0.0;
    for (range_row const& row : rows_) calls += static_cast<double>(row.host.count());
    if (losses_.calls > least_lost * calls && losses_.host_text != losses_.device_text) {
      finding& made =
          add_of_step(rule, 0.0, losses_.host_text + ": host times of ranges are too small");
      prove(made, "lost", losses_.calls, "");
      prove(made, "calls", calls, "");
    }
    return true;
  }

  /// Time in rows that stand for many ranges: which of them takes it nobody knows.
  bool merged_ranges(finding_rule const& rule) {
    constexpr double least = 0.05;  // of a step; chosen
    double ns = 0.0;
    std::size_t largest = 0;
    double most = 0.0;
    step_amounts const amounts(rows_, in_.steps);
    for (std::size_t row = 1; row < rows_.size(); ++row) {
      if (is_judged(row)) continue;
      double const own = has_device_work()
                             ? own_ns_per_step(row, static_cast<double>(rows_[row].self.kernel_ns +
                                                                        rows_[row].self.copy_ns))
                             : amounts.stepping_self_ns(row);
      ns += own;
      if (!(own > most)) continue;
      most = own;
      largest = row;
    }
    if (!(ns > least * step_ns_)) return true;
    std::string_view const name = rows_[largest].name;
    finding& made = add_of_step(rule, 0.0,
                                percent(ns / step_ns_) + " of " + in_.steps.one_whole() +
                                    " is in rows that stand for many ranges, most of it in " +
                                    std::string(name));
    if (name == deeper_ranges) made.advice = "check that each push has its pop, and end recursion";
    prove(made, has_device_work() ? "gpu_kernel_self_ns" : "host_self_ns", ns, "ns");
    return true;
  }

  bool own_cost(finding_rule const& rule) {
    profile_cost const& cost = in_.source.cost;
    double const ns = cost.ns();
    // Each thread pays for its own ranges and calls.
    auto const threads = static_cast<double>(larger(std::size_t{1}, in_.source.threads.size()));
    double const window = cost.seconds_in_window * 1e9 * threads;
    constexpr double least_cost = 0.1;  // of the recorded time; chosen
    if (!(ns > least_cost * window) || !(window > 0.0)) return true;
    // What it takes while the GPU works may cost nothing.
    double cost_of_step = in_.steps.per_step(ns) / threads;
    if (has_device_work()) cost_of_step = smaller(cost_of_step, idle_of_host());
    // What the step does not wait for makes the host's times doubtful all the same.
    if (!is_expensive(cost_of_step)) cost_of_step = 0.0;
    finding& made =
        add_of_step(rule, cost_of_step,
                    sentence("The recording itself takes ")
                        << percent(ns / window) << " of the recorded time of its threads");
    prove(made, "own_ns", in_.steps.per_step(ns), "ns");
    return true;
  }

  bool first_step(finding_rule const& rule) {
    steps_summary const& steps = in_.steps;
    constexpr double least_factor = 3.0;  // times the median; chosen
    if (!steps.from_steps || steps.count < 3 || steps.first_ns < least_factor * steps.p50_ns)
      return true;
    if (follows_own_start(steps.first_ns - steps.p50_ns)) return true;
    finding& made =
        add_of_step(rule, 0.0,
                    sentence("The first recorded step takes ")
                        << time(steps.first_ns) << ", the median one " << time(steps.p50_ns));
    prove(made, "first_ns", steps.first_ns, "ns");
    prove(made, "p50_ns", steps.p50_ns, "ns");
    return true;
  }

  /// Whether Strata's own start, which came right before the first step, may have made it so much
  /// longer: it leaves cold caches and threads that begin. Seen: 1.2 ms after a start of 6 ms.
  bool follows_own_start(double ns) const noexcept {
    constexpr double share = 0.25;  // of the time to start; chosen
    double const start_ns = in_.source.cost.start_seconds * 1e9;
    std::int64_t begin = INT64_MAX;
    for (step_record const& step : in_.source.steps) begin = smaller(begin, step.begin);
    return static_cast<double>(begin) < 2.0 * start_ns && ns < share * start_ns;
  }

  /// Idle time for what the host does of each row with those below it.
  vec<double> idle_of_host_by_row() const {
    if (!in_.steps.has_timeline) return vec<double>(rows_.size(), in_.steps.active_idle_ns());
    vec<double> idle(rows_.size(), 0.0);
    for (idle_time const& time : in_.steps.idle)
      if (time.cause != idle_cause::device) idle[time.row] += time.ns;
    for (std::size_t row = rows_.size(); row-- > 1;) idle[rows_[row].parent] += idle[row];
    return idle;
  }

  /// Without a first step that the mean step leaves out.
  double mean_call_ns(range_row const& row) const {
    bool const all = !in_.steps.without_first || row.first_step_calls >= row.host.count();
    if (all) return row.host.mean();
    return static_cast<double>(row.host_total_ns - row.first_step_host_ns) /
           static_cast<double>(row.host.count() - row.first_step_calls);
  }

  /// What the calls of a row cost beyond its median; 0 where they hardly vary. Layers may differ
  /// from each other, so that `row` is of one index.
  double cost_of_varying(range_row const& row, double calls) const {
    constexpr std::uint64_t fewest = 16;  // calls; chosen
    constexpr double far_apart = 2.0;     // times the median; chosen
    if (row.host.count() < fewest || row.host_self_ns < row.host_total_ns / 2) return 0.0;
    auto const p50 = static_cast<double>(row.host.quantile(0.5));
    if (!(static_cast<double>(row.host.quantile(0.95)) > far_apart * p50)) return 0.0;
    return larger(0.0, mean_call_ns(row) - p50) * calls;
  }

  bool varying_calls(finding_rule const& rule) {
    constexpr double least = 5.0 * least_share;  // of a step; chosen
    struct varying {
      double cost = 0.0;  // of all indices
      double most = 0.0;
      std::size_t worst = 0;
    };
    vec<varying> found(rows_.size());
    for (std::size_t i = 1; i < in_.by_index.size(); ++i) {
      range_row const& range = in_.by_index[i];
      if (range.is_many || range.index == any_index) continue;  // of all indices without a row
      std::size_t const row = in_.tree.position_of(range.node);
      double const cost =
          cost_of_varying(range, calls_per_step(row, static_cast<double>(range.host.count())));
      if (row >= found.size() ||
          calls_per_step(row, static_cast<double>(rows_[row].host.count())) < 1.0)
        continue;
      varying& calls = found[row];
      calls.cost += cost;
      if (cost > calls.most) {
        calls.most = cost;
        calls.worst = i;
      }
    }
    vec<double> const idle = idle_of_host_by_row();
    vec<std::size_t> said;
    std::size_t const before = made_.findings.size();
    double all = 0.0;
    for (std::size_t row = 1; row < found.size(); ++row) {
      double cost = found[row].cost;
      if (has_device_work()) cost = smaller(cost, idle[row]);
      if (found[row].worst == 0 || cost < least * step_ns_) continue;
      if (is_below(row, said)) continue;         // it is that range's idle time
      if (!rows_[row].thread.empty()) continue;  // it is beside the step
      said.push_back(row);
      all += cost;
      range_row const& worst = in_.by_index[found[row].worst];
      auto const p50 = static_cast<double>(worst.host.quantile(0.5));
      auto const p95 = static_cast<double>(worst.host.quantile(0.95));
      bool const one = worst.path == rows_[row].path;
      finding& made = add(rule, row, cost,
                          sentence("Calls of ")
                              << (one ? "one range" : worst.path) << " differ: the median takes "
                              << time(p50) << ", one of twenty more than " << time(p95));
      prove(made, "host_p50_ns", p50, "ns");
      prove(made, "host_p95_ns", p95, "ns");
      prove(made, "host_mean_ns", mean_call_ns(worst), "ns");
      for (finding_evidence& value : made.evidence) value.path = worst.path;
    }
    if (is_by_preemption(all)) made_.findings.resize(before);  // `preempted` names that cause
    return true;
  }
};

// In the order in which they look: what explains a range's kernels comes before what only says
// that they are slow.
inline constexpr finding_rule finding_rules::rules[] = {
    {"exposed-communication", "communication that no kernel hides",
     "overlap collectives with computation, send less, or ask strata ranks who is waited for",
     deciding::nothing, &finding_rules::exposed_communication, finding_part::kernels},
    {"managed-memory", "pages of managed memory",
     "prefetch it (cudaMemPrefetchAsync), advise where it is read, or copy once with "
     "cudaMemcpyAsync",
     deciding::nothing, &finding_rules::managed_memory, finding_part::kernels},
    {"launch-bound", "kernels launched one by one",
     "launch a CUDA graph of the step, fuse kernels, or give each launch more work",
     deciding::nothing, &finding_rules::launch_bound, finding_part::launches},
    {"wait-in-step", "waits of the host",
     "wait once a step, or use events between streams: the host can launch ahead meanwhile",
     deciding::nothing, &finding_rules::wait_in_step, finding_part::waits},
    {"allocation-in-step", "allocations",
     "allocate before the loop, or use a pool: cudaMallocAsync with a release threshold",
     deciding::nothing, &finding_rules::allocation_in_step, finding_part::allocations},
    {"host-work", "work on the CPU",
     "move the work to the GPU or to another thread, or launch the next kernels first",
     deciding::nothing, &finding_rules::host_work, finding_part::host_work},
    {"gap-between-ranges", "work on the CPU",
     "mark what the program does there with a range; move it to another thread, or launch first",
     deciding::nothing, &finding_rules::gap_between_ranges, finding_part::host_work},
    {"pageable-copy", "copies through pageable memory",
     "use pinned memory (cudaMallocHost) and cudaMemcpyAsync; leave on the GPU what can stay there",
     deciding::nothing, &finding_rules::pageable_copy, finding_part::copies},
    {"copy-in-step", "copies that no kernel hides",
     "overlap the copy with kernels in another stream, copy less, or leave the data on the GPU",
     deciding::nothing, &finding_rules::copy_in_step, finding_part::copies},
    {"serialised-streams", "streams that run one after the other",
     "remove events, the default stream and host waits between independent streams",
     deciding::nothing, &finding_rules::serialised_streams, finding_part::order},
    {"declared-work", "more work than is declared",
     "look for work that is done twice, or correct what the range declares", deciding::nothing,
     &finding_rules::declared_work, finding_part::kernels_below},
    {"fp64-by-accident", "FP64 by accident",
     "write constants as 1.0f and call expf: FP64 is 2 to 64 times slower", deciding::findings,
     &finding_rules::fp64_by_accident, finding_part::kernels},
    {"uncoalesced", "uncoalesced loads and stores",
     "let the threads of a warp access neighbouring addresses, or change the layout",
     deciding::findings, &finding_rules::uncoalesced, finding_part::kernels},
    {"register-spills", "register spills",
     "use fewer variables a thread, __launch_bounds__, or constant indices", deciding::findings,
     &finding_rules::register_spills, finding_part::kernels},
    {"bank-conflicts", "bank conflicts", "pad or swizzle the arrays in shared memory",
     deciding::findings, &finding_rules::bank_conflicts, finding_part::kernels},
    {"few-blocks", "too few blocks",
     "split the work into more blocks, or run several such kernels at a time", deciding::nothing,
     &finding_rules::few_blocks, finding_part::kernels},
    {"atomics", "atomics that wait for each other",
     "reduce within warps and blocks first, or spread the atomics over addresses",
     deciding::findings, &finding_rules::atomics, finding_part::kernels},
    {"fp32-without-tensor", "FP32 products without tensor cores", "allow TF32, or use BF16",
     deciding::findings, &finding_rules::fp32_without_tensor, finding_part::kernels},
    {"extra-traffic", "traffic that is not needed",
     "fuse kernels, or tile so that L2 and L1 keep what is read again", deciding::hbm,
     &finding_rules::extra_traffic, finding_part::kernels},
    {"tail-wave", "a last wave of few blocks",
     "choose tiles so that the blocks fill whole waves, or a persistent kernel", deciding::findings,
     &finding_rules::tail_wave, finding_part::kernels},
    {"low-occupancy", "too few warps", "use smaller tiles: fewer registers or less shared memory",
     deciding::findings, &finding_rules::low_occupancy, finding_part::kernels},
    {"latency-bound", "loads that wait",
     "keep more loads in flight: more warps, several elements a thread", deciding::findings,
     &finding_rules::latency_bound, finding_part::kernels},
    {"varying-calls", "",
     "look at the slow calls in the trace: locks, page faults, other processes", deciding::nothing,
     &finding_rules::varying_calls, finding_part::none},
    {"preempted", "threads that take the CPU of the steps",
     "leave the thread of the steps a CPU: fewer threads than CPUs, no other program beside it, "
     "taskset or a cgroup",
     deciding::nothing, &finding_rules::preempted, finding_part::none},
    {"host-waits", "waits of the host",
     "look at what it waits for: a lock, another thread, a file, a sleep; mark it with a range",
     deciding::nothing, &finding_rules::host_waits, finding_part::none},
    {"steps-drift", "steps that grow",
     "look at what grows with them: caches, lists and memory, or other programs beside it",
     deciding::nothing, &finding_rules::steps_drift, finding_part::none},
    {"slow-step", "a slow step",
     "look at that step in the trace: a file, an allocation, another program", deciding::nothing,
     &finding_rules::slow_step, finding_part::none},
    {"first-step", "", "leave it out with warmup=1, or load modules and plans before the loop",
     deciding::nothing, &finding_rules::first_step, finding_part::none},
    {"above-roof", "", "check the units of flops() and bytes(), and the clocks of counted steps",
     deciding::nothing, &finding_rules::above_roof, finding_part::none},
    {"untrusted", "", "raise buffers= and log=, or record fewer steps", deciding::nothing,
     &finding_rules::untrusted, finding_part::none},
    {"merged-ranges", "", "use fewer names: give a number as an index beside the name, not in it",
     deciding::nothing, &finding_rules::merged_ranges, finding_part::none},
    {"own-cost", "", "mark fewer small ranges, or trace less: trace=kernels", deciding::nothing,
     &finding_rules::own_cost, finding_part::none},
};

inline findings_table finding_rules::run() {
  if (rows_.empty()) return {};
  if (in_.source.hang.found) {  // what is missing says more than what came
    made_.bound = step_bound(in_, migrating_).text();
    return std::move(made_);
  }
  if (!(step_ns_ > 0.0)) return {};
  for (finding_rule const& rule : rules) {
    std::size_t const before = made_.findings.size();
    bool const decided = (this->*rule.look)(rule);
    settle(before, rule);
    if (!decided && rule.needs != deciding::nothing && has_device_work())
      made_.undecided.push_back(what_decides(rule.id, rule.needs));
  }
  made_.findings.sort(
      [](finding const& a, finding const& b) { return a.cost_ns_per_step > b.cost_ns_per_step; });
  made_.bound = step_bound(in_, migrating_).text();
  return std::move(made_);
}

}  // namespace detail

STRATA_END

#endif  // STRATA_ANALYSE_FINDING_RULES_HPP
