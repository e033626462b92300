#include "steps.hpp"

#include <strata/profile/devices.hpp>
#include <strata/tables/steps.hpp>
#include "collective_finder.hpp"
#include "devices.hpp"
#include "host_timeline.hpp"

#include <algorithm>
#include <optional>

STRATA_BEGIN
namespace detail {
namespace {

/// Adds to a mean step why the device was idle in it, and what ran.
class step_details final : public steps_builder {
 public:
  step_details(profile const& source, call_tree const& tree, vec<range_row> const& ranges)
      : steps_builder(source, tree, ranges), usable_(source), finder_(source, tree) {}

  step_analysis build() {
    static_cast<steps_summary&>(analysed_) = steps_builder::build();
    share_out(analysed_.idle, analysed_.step_idle_ns());
    share_out(analysed_.idle_between,
              std::max(0.0, analysed_.between_ns - analysed_.between_busy_ns));
    order();
    if (lost_all_times(source_, analysed_)) forget_idle();
    return std::move(analysed_);
  }

 private:
  /// Of one device.
  struct device_communication {
    busy_times computing;       ///< by kernels that are no collectives
    joint_time collectives;     ///< of the typical steps
    vec<step_work> own_copies;  ///< in streams without kernels, since the last kernel
    busy_times legacy;          ///< by work in the legacy default stream
  };

  struct exposed_time {
    std::int64_t begin;
    std::int64_t end;
    std::uint32_t collective;  ///< position in the summary
  };

  void begin_sweep() override {
    host_.emplace(source_, first_ == 0 ? lost_time : steps_[first_].begin);
    // Idle time between two steps is recorded once less than steps are, in each window.
    part_between_ = weight_of([this](std::size_t step) { return follows_on_device(step); }, part_);
    // Without a step that is seen whole all of them count: see alone_ns.
    part_alone_ = weight_of([this](std::size_t step) { return is_seen_whole(step); }, 0.0);
    join_kernels();
    look_at_streams();
    list_typical();
    add_graphs();
  }
  void see(step_work const& work, std::int64_t until) override {
    if (work.begin > until) add_gap(work, until);
    if (is_kernel(work)) {
      add_held(work);
      add_kernel(source_.kernels[work.record]);
    } else {
      add_copy(work, copy_of(work));
    }
  }
  void end_sweep() override {
    add_tails();
    add_between();
    add_copies_between();
    add_exposed();
    for (device_time const& device : analysed_.devices) analysed_.overlap_ns += device.overlap_ns;
  }

  /// Of a device whose times are all lost nothing is known, also not that it was idle.
  void forget_idle() {
    analysed_.idle.clear();
    analysed_.idle_between.clear();
    for (step_idle& step : analysed_.typical)
      for (double& ns : step.idle_ns) ns = 0.0;
  }

  void list_typical() {
    for (std::size_t i = first_; made_.from_steps && i < steps_.size(); ++i) {
      if (!is_typical(static_cast<std::uint32_t>(i))) continue;
      analysed_.typical.emplace_back();
      analysed_.typical.back().step = steps_[i].step;
      analysed_.typical.back().ns = static_cast<double>(elapsed(steps_[i].begin, steps_[i].end));
    }
  }

  /// The calls of the typical steps that make, change and upload graphs, or are captured into one.
  void add_graphs() {
    for (driver_call_record const& call : source_.launches) {
      if (call.is_left_out() || !host_->is_of_graphs(call)) continue;
      std::size_t const at = made_.from_steps ? position_of(call.step) : 0;
      if (at >= steps_.size() || !is_typical(static_cast<std::uint32_t>(at))) continue;
      std::uint32_t const row = tree_.position_of(call.node);
      graph_time& graph = entry_of(analysed_.graphs, places_.graphs, row, {row});
      graph.instantiations += call.kind == api_kind::instantiate ? part_ : 0.0;
      graph.changes += call.kind == api_kind::graph_change ? part_ : 0.0;
      graph.launches += host_timeline::is_captured_work(call) ? part_ : 0.0;
      graph.ns += part_ * static_cast<double>(elapsed(call.begin, call.end));
    }
  }

  /// The position of a step; behind the last one where it is not there.
  std::size_t position_of(std::uint32_t step) const noexcept {
    std::size_t const found =
        steps_.count_first([step](step_times const& other) { return other.step < step; });
    return found < steps_.size() && steps_[found].step == step ? found : steps_.size();
  }

  /// What the host does between steps while the device is idle.
  void add_between() {
    if (distances_.empty()) return;
    busy_times all;
    for (step_work const& work : work_) all.add(work.begin, work.end);
    idle_list_ = {&analysed_.idle_between, &places_.idle_between};
    idle_part_ = 1.0 / static_cast<double>(distances_.size());
    for (distance const& made : distances_)
      all.for_each_outside(made.begin, made.end, [&](std::int64_t begin, std::int64_t end) {
        split(made.thread, begin, end, nullptr);
      });
  }

  /// Copies from and to the host that no step launched, as far as they lie between two steps.
  void add_copies_between() {
    if (distances_.empty()) return;
    double const part = 1.0 / static_cast<double>(distances_.size());
    for (step_work const& work : work_) {
      if (work.step != no_step || is_kernel(work) || !is_of_host(copy_of(work))) continue;
      std::size_t at =
          distances_.count_first([&](distance const& before) { return before.end <= work.begin; });
      if (at == distances_.size() || distances_[at].begin >= work.end) continue;
      copy_record const& copy = copy_of(work);
      copy_time& copies = copies_in(analysed_.copies_between, places_.copies_between,
                                    tree_.position_of(copy.node), copy);
      copies.count += part;
      copies.bytes += part * static_cast<double>(copy.bytes);
      for (; at < distances_.size() && distances_[at].begin < work.end; ++at) {
        std::int64_t const begin = std::max(work.begin, distances_[at].begin);
        std::int64_t const end = std::min(work.end, distances_[at].end);
        copies.ns += part * static_cast<double>(elapsed(begin, end));
        copies.alone_ns += part * static_cast<double>(busy_.kernels.outside(begin, end));
      }
    }
  }

  /// The device was idle from `until` to the start of this work, as far as that is in its step.
  void add_gap(step_work const& work, std::int64_t until) {
    step_times const& step = steps_[work.step];
    // A period on the device ends with the next one's first work: the gap before it belongs to it.
    bool const follows = until != lost_time && follows_on_device(work.step);
    std::int64_t const begin = follows ? until : std::max(until, step.begin);
    if (begin >= work.begin) return;
    idle_part_ = follows && work.begin == step.gpu_begin ? part_between_ : part_;
    idle_step_ = work.step;
    driver_call_record const* const launch =
        work.launch == none ? nullptr : &source_.launches[work.launch];
    std::int64_t const end = due_begin(launch, begin, work.begin);
    if (end < work.begin)
      add_idle(node_of(work), idle_cause::device, work.begin - end, end == begin);
    if (end <= begin) return;
    if (launch == nullptr || launch->end <= begin)
      add_idle(node_of(work), idle_cause::launch, end - begin, true);
    else
      split(launch->thread, begin, end, launch);
  }

  /// Whether the period of the step before ends with this one's first work.
  bool follows_on_device(std::size_t step) const noexcept {
    return made_.period_of_gpu && step > first_ && is_followed(step - 1);
  }

  /// What one of the typical steps that `takes` is true of weighs in a mean step; `otherwise` where
  /// it is true of none.
  template <class Takes>
  double weight_of(Takes takes, double otherwise) const {
    double typical = 0.0;
    double taken = 0.0;
    for (std::size_t i = first_; i < steps_.size(); ++i) {
      if (!is_typical(static_cast<std::uint32_t>(i))) continue;
      typical += 1.0;
      if (takes(i)) taken += 1.0;
    }
    return taken > 0.0 ? part_ * typical / taken : otherwise;
  }

  /// Whether all that ran at the same time as the work of a step was recorded: what the next one
  /// would launch was not, where a window ends.
  bool is_seen_whole(std::size_t step) const noexcept {
    return !made_.period_of_gpu || is_followed(step);
  }
  /// The time of a mean step in which this copy ran and no kernel did.
  double alone_ns(std::size_t step, std::int64_t begin, std::int64_t end) const {
    double const part = !(part_alone_ > 0.0) ? part_ : is_seen_whole(step) ? part_alone_ : 0.0;
    return part * static_cast<double>(busy_.kernels.outside(begin, end));
  }

  /// What is left of each step when its last work has ended.
  void add_tails() {
    if (!made_.from_steps || made_.period_of_gpu) return;
    idle_part_ = part_;
    for (step_times const& step : steps_) {
      std::int64_t const begin = std::max(step.begin, step.gpu_end);
      idle_step_ = static_cast<std::size_t>(&step - steps_.data());
      if (is_typical(static_cast<std::uint32_t>(&step - steps_.data())) && begin < step.end)
        split(step.thread, begin, step.end, nullptr);
    }
  }

  void split(std::uint32_t thread, std::int64_t begin, std::int64_t end,
             driver_call_record const* launch) {
    idle_time largest;
    host_->split(thread, begin, end, launch,
                 [&](std::uint32_t node, idle_cause cause, std::int64_t ns) {
                   add_idle(node, cause, ns, false);
                   if (static_cast<double>(ns) <= largest.ns) return;
                   largest = {node, cause, static_cast<double>(ns), 0.0};
                 });
    if (largest.ns > 0.0) add_idle(largest.row, largest.cause, 0, true);
  }

  void add_idle(std::uint32_t node, idle_cause cause, std::int64_t ns, bool gap) {
    std::uint32_t const row = tree_.position_of(node);
    std::uint64_t const key = std::uint64_t{row} << 8 | static_cast<std::uint64_t>(cause);
    idle_time& idle = entry_of(*idle_list_.times, *idle_list_.places, key, {row, cause, 0.0, 0.0});
    idle.ns += idle_part_ * static_cast<double>(ns);
    if (gap) idle.gaps += idle_part_;
    if (idle_list_.times != &analysed_.idle) return;  // it belongs to no step
    std::size_t const typical = idle_step_ - first_ - (made_.without_first ? 1 : 0);
    if (typical < analysed_.typical.size())
      analysed_.typical[typical].idle_ns[static_cast<std::size_t>(cause)] +=
          idle_part_ / part_ * static_cast<double>(ns);
  }

  /// Notes when kernels ran, of a step or not, and when others than collectives did on each device.
  void join_kernels() {
    for (step_work const& work : work_) {
      if (!is_kernel(work)) continue;
      busy_.kernels.add(work.begin, work.end);
      kernel_record const& kernel = source_.kernels[work.record];
      if (work.step != no_step) busy_.kernel_streams[stream_key(kernel)] = 1;
      if (!finder_.is_collective(kernel))
        communication_of(kernel.device).computing.add(work.begin, work.end);
    }
  }

  /// Notes which streams the legacy default stream does not block: their work runs concurrently
  /// with it. Also notes which streams wait for events.
  void look_at_streams() {
    constexpr std::int64_t least_beside = 2'000;  // ns: what is less may be the clock's; chosen
    auto const with_stream = [this](step_work const& work, auto const& look) {
      if (is_kernel(work))
        look(source_.kernels[work.record]);
      else
        look(copy_of(work));
    };
    for (step_work const& work : work_)
      with_stream(work, [&](auto const& record) {
        if (record.stream == legacy_stream)
          communication_of(record.device).legacy.add(work.begin, work.end);
      });
    for (step_work const& work : work_)
      with_stream(work, [&](auto const& record) {
        busy_times const& legacy = communication_of(record.device).legacy;
        if (record.stream != legacy_stream && legacy.within(work.begin, work.end) >= least_beside)
          busy_.beside_legacy[stream_key(record)] = 1;
      });
    for (synchronization_record const& wait : source_.synchronizations)
      if (wait.kind == synchronization_kind::stream_wait_event)
        busy_.event_streams[wait.stream] = 1;
  }

  /// Whether only the legacy default stream can have kept a kernel behind a copy: their streams
  /// block each other, and no event does.
  bool is_held_by_legacy(copy_record const& copy, kernel_record const& kernel) {
    bool const copies_in_it = copy.stream == legacy_stream;
    if (!copies_in_it && kernel.stream != legacy_stream) return false;
    std::uint64_t const other = copies_in_it ? stream_key(kernel) : stream_key(copy);
    return busy_.beside_legacy[other] == 0 && busy_.event_streams[kernel.stream] == 0;
  }

  void add_kernel(kernel_record const& kernel) {
    auto const ns = static_cast<double>(elapsed(kernel.begin, kernel.end));
    add_to_device(kernel, ns);
    stream_time& stream = stream_of(kernel);
    stream.kernels += part_;
    stream.ns += part_ * ns;
    if (finder_.is_collective(kernel)) return add_collective(kernel);
    double const filled = filled_by(kernel);
    if (filled > small_fill) return;
    stream.small_ns += part_ * ns;
    stream.filled_ns += part_ * ns * filled;
  }

  void add_collective(kernel_record const& kernel) {
    std::uint32_t const row = tree_.position_of(kernel.node);
    collective_time& collective = entry_of(analysed_.collectives, places_.collectives, row, {row});
    collective.count += part_;
    collective.ns += part_ * static_cast<double>(elapsed(kernel.begin, kernel.end));
    collective.busy_ns +=
        part_ * static_cast<double>(busy_.collectives.add(kernel.begin, kernel.end));
    device_communication& own = communication_of(kernel.device);
    std::int64_t const more = own.collectives.add(kernel.begin, kernel.end);
    auto const position = static_cast<std::uint32_t>(&collective - analysed_.collectives.data());
    own.computing.for_each_outside(kernel.end - more, kernel.end,
                                   [&](std::int64_t begin, std::int64_t end) {
                                     busy_.exposed.push_back({begin, end, position});
                                   });
  }

  /// Times in which collectives ran on a device and no other kernel did: those of several devices
  /// at the same time count once.
  void add_exposed() {
    busy_.exposed.sort([](exposed_time const& a, exposed_time const& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.collective < b.collective;
    });
    joint_time joint;
    for (exposed_time const& time : busy_.exposed)
      analysed_.collectives[time.collective].alone_ns +=
          part_ * static_cast<double>(joint.add(time.begin, time.end));
  }

  void add_device_copy(step_work const& work, copy_record const& copy) {
    std::uint32_t const row = tree_.position_of(copy.node);
    device_copy_time& all = entry_of(analysed_.device_copies, places_.device_copies, row, {row});
    bool const is_fill = copy.kind == copy_kind::set;
    (is_fill ? all.fills : all.copies) += part_;
    (is_fill ? all.filled_bytes : all.copied_bytes) += part_ * static_cast<double>(copy.bytes);
    all.ns += part_ * static_cast<double>(elapsed(work.begin, work.end));
    std::int64_t const more = busy_.device_copies.add(work.begin, work.end);
    all.alone_ns += alone_ns(work.step, work.end - more, work.end);
  }

  void add_copy(step_work const& work, copy_record const& copy) {
    auto const ns = static_cast<double>(elapsed(work.begin, work.end));
    if (copy.kind == copy_kind::device_to_device || copy.kind == copy_kind::set)
      add_device_copy(work, copy);
    if (!is_of_host(copy)) return;
    copy_time& copies =
        copies_in(analysed_.copies, places_.copies, tree_.position_of(copy.node), copy);
    copies.count += part_;
    copies.bytes += part_ * static_cast<double>(copy.bytes);
    copies.ns += part_ * ns;
    copies.alone_ns += alone_ns(work.step, work.begin, work.end);
    if (busy_.kernel_streams[stream_key(copy)] == 0)
      communication_of(copy.device).own_copies.push_back(work);
    std::int64_t const more = busy_.copies.add(work.begin, work.end);
    analysed_.copies_ns += part_ * static_cast<double>(more);
    analysed_.copies_alone_ns += alone_ns(work.step, work.end - more, work.end);
    if (work.launch == none) return;
    driver_call_record const& call = source_.launches[work.launch];
    copies.call_ns += part_ * static_cast<double>(elapsed(call.begin, call.end));
  }

  /// The copies before a kernel, in streams of their own, that ended before it began although its
  /// launch had ended before them.
  void add_held(step_work const& next) {
    kernel_record const& kernel = source_.kernels[next.record];
    vec<step_work>& own_copies = communication_of(kernel.device).own_copies;
    for (step_work const& work : own_copies) {
      copy_record const& copy = copy_of(work);
      bool const waited = next.launch != none && source_.launches[next.launch].end < work.end;
      if (!waited || work.end > next.begin) continue;
      copy_time& copies =
          copies_in(analysed_.copies, places_.copies, tree_.position_of(copy.node), copy);
      double const ns = alone_ns(work.step, work.begin, work.end);
      copies.held_ns += ns;
      copies.legacy_ns += is_held_by_legacy(copy, kernel) ? ns : 0.0;
    }
    own_copies.clear();
  }

  /// The part of its context's multiprocessors that have a block of this kernel; 1 where that is
  /// unknown.
  double filled_by(kernel_record const& kernel) const noexcept {
    double const blocks = 1.0 * kernel.grid_x * kernel.grid_y * kernel.grid_z;
    double const room = usable_.of(kernel.device, kernel.context);
    return room > 0.0 ? std::min(1.0, blocks / room) : 1.0;
  }

  /// Requires: the kernels of a device come in the order of their begins.
  void add_to_device(kernel_record const& kernel, double ns) {
    device_time& device =
        entry_of(analysed_.devices, places_.devices, kernel.device, {kernel.device});
    busy_.devices.resize(analysed_.devices.size());
    joint_time& joint = busy_.devices[static_cast<std::size_t>(&device - analysed_.devices.data())];
    auto const alone = static_cast<double>(joint.add(kernel.begin, kernel.end));
    device.ns += part_ * ns;
    device.overlap_ns += part_ * (ns - alone);
  }

  device_communication& communication_of(std::uint32_t device) {
    return entry_of(busy_.communication, places_.communication, device, device_communication());
  }

  template <class Record>
  static std::uint64_t stream_key(Record const& record) noexcept {
    return std::uint64_t{record.device} << 32 | record.stream;
  }
  stream_time& stream_of(kernel_record const& kernel) {
    return entry_of(analysed_.streams, places_.streams, stream_key(kernel),
                    {kernel.device, kernel.stream});
  }

  static bool is_of_host(copy_record const& copy) noexcept {
    return copy.kind == copy_kind::host_to_device || copy.kind == copy_kind::device_to_host;
  }

  copy_time& copies_in(vec<copy_time>& list, number_map<std::uint32_t>& places, std::uint32_t row,
                       copy_record const& copy) {
    bool const to_device = copy.kind == copy_kind::host_to_device;
    bool const pageable = copy.pageable != 0;
    bool const in_place = shares_host_memory(source_, copy.device);
    std::uint64_t const key = std::uint64_t{row} << 3 | (in_place ? 4u : 0u) |
                              (to_device ? 2u : 0u) | (pageable ? 1u : 0u);
    return entry_of(list, places, key, {row, to_device, pageable, in_place});
  }

  /// The entry with a key in a list of the summary: `first` where there is none yet.
  template <class Entry>
  static Entry& entry_of(vec<Entry>& list, number_map<std::uint32_t>& places, std::uint64_t key,
                         Entry const& first) {
    std::uint32_t& number = places[key];
    if (number == 0) {
      list.push_back(first);
      number = static_cast<std::uint32_t>(list.size());
    }
    return list[number - 1];
  }

  /// Steps that overlap on the device have the same idle time: its parts are no more than all.
  static void share_out(vec<idle_time>& parts, double whole) noexcept {
    double sum = 0.0;
    for (idle_time const& part : parts) sum += part.ns;
    if (sum <= whole) return;
    for (idle_time& part : parts) part.ns *= whole / sum;
  }

  void order() {
    auto const longest_first = [](auto const& a, auto const& b) { return a.ns > b.ns; };
    analysed_.idle.sort(longest_first);
    analysed_.idle_between.sort(longest_first);
    analysed_.copies.sort(longest_first);
    analysed_.copies_between.sort(longest_first);
    analysed_.collectives.sort(longest_first);
    analysed_.streams.sort(longest_first);
    analysed_.devices.sort(longest_first);
  }

  step_analysis analysed_;
  usable_multiprocessors usable_;
  collective_finder finder_;
  std::optional<host_timeline> host_;
  struct device_busy {
    busy_times kernels;
    joint_time collectives;
    vec<device_communication> communication;  ///< see places_.communication
    vec<exposed_time> exposed;
    joint_time copies;                         ///< between host and device
    number_map<std::uint32_t> kernel_streams;  ///< 1 of those with kernels of steps
    number_map<std::uint32_t> beside_legacy;   ///< 1 of those that the legacy stream does not block
    number_map<std::uint32_t> event_streams;   ///< 1 of those that wait for events
    joint_time device_copies;
    vec<joint_time> devices;  ///< their kernels
  } busy_;
  double part_between_ = 1.0;  ///< `part_` of idle time between steps
  double part_alone_ = 1.0;    ///< and of copies while no kernel ran
  double idle_part_ = 1.0;     ///< the one of these that counts for an idle time
  std::size_t idle_step_ = 0;  ///< the step that an idle time belongs to; position in steps_
  /// 1-based positions in the summary; 0: none yet.
  struct summary_places {
    number_map<std::uint32_t> idle;
    number_map<std::uint32_t> idle_between;
    number_map<std::uint32_t> graphs;
    number_map<std::uint32_t> streams;
    number_map<std::uint32_t> devices;
    number_map<std::uint32_t> copies;
    number_map<std::uint32_t> copies_between;
    number_map<std::uint32_t> device_copies;
    number_map<std::uint32_t> collectives;
    number_map<std::uint32_t> communication;  ///< by device
  } places_;
  /// Where idle time is added.
  struct idle_list {
    vec<idle_time>* times;
    number_map<std::uint32_t>* places;
  } idle_list_{&analysed_.idle, &places_.idle};
};

}  // namespace
}  // namespace detail

step_analysis make_steps(profile const& source, call_tree const& folded,
                         vec<range_row> const& ranges) {
  return detail::step_details(source, folded, ranges).build();
}

STRATA_END
