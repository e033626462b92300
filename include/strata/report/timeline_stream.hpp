#include <strata/version.hpp>
#ifndef STRATA_REPORT_TIMELINE_STREAM_HPP
#define STRATA_REPORT_TIMELINE_STREAM_HPP

#include <strata/annotate/process.hpp>
#include <strata/base/clock.hpp>
#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/memory.hpp>
#include <strata/base/text.hpp>
#include <strata/base/threads.hpp>
#include <strata/base/vec.hpp>
#include <strata/base/vocabulary.hpp>
#include <strata/collect/cuda/activity_buffers.hpp>
#include <strata/collect/host/launch_table.hpp>
#include <strata/collect/host/node_table.hpp>
#include <strata/collect/host/recorder.hpp>
#include <strata/options.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>
#include <strata/report/perfetto.hpp>
#include <strata/report/stream_track.hpp>
#include <strata/report/trace.hpp>
#include <strata/report/trace_plan.hpp>
#include <strata/session/machine.hpp>
#include <strata/session/report_files.hpp>
#include <strata/session/report_side.hpp>
#include <strata/status.hpp>
#include <strata/tables/columns.hpp>
#include <strata/tables/text_writer.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#if defined(__linux__)
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#endif

STRATA_BEGIN
namespace detail {

/// Writes trace.perfetto-trace while the program runs: what has ended goes to the file within a
/// second, by a thread of its own, and what was written survives any end of the process. The file
/// is called trace.perfetto-trace.part until it is complete. Threads: the session's, one at a time.
/// Cost: memory for what comes in a second, at most 64 MB.
class timeline_stream final : public streamed_trace {
 public:
  timeline_stream(options const& wanted, bool tracing) : options_(&wanted), tracing_(tracing) {}
  timeline_stream& operator=(timeline_stream const&) = delete;
  ~timeline_stream() noexcept override {
    // In a forked child the file is the parent's.
    if (!in_forked_child() && !if_memory_allows([this] { close(); })) end_early();
  }

  status open() override {
#if defined(__linux__)
    machine::describe(made_.environment);
    status outcome;
    if (!report_files::make_directory(*options_, made_.environment.rank,
                                      report_files::look_around().spare, directory_, outcome))
      return outcome;
    if (tracing_) (void)activity_buffers::instance();  // made here, where memory may be missing
    status const begun = directory_.begin(name, file_);
    if (!begun.ok()) return begun;
    std::uint64_t const room = directory_.room();
    kept_room_ = room / 2 < most_kept_room ? room / 2 : most_kept_room;
    out_.emplace(file_);
    sink_.emplace(*out_, labels_.texts(), 0, true);
    set_streaming(true);
    if ((runs_ = machine::start_thread(thread_, &run, this))) return {};
    set_streaming(false);
    close();
    return {errc::unavailable, no_thread};
#else
    return {errc::not_supported, no_thread};
#endif
  }

  /// Ends the thread. Threads: any; also that thread, when it is the last one of the process.
  void stop() noexcept override {
#if defined(__linux__)
    if (!runs_) return;
    runs_ = false;
    ended_.store(1);
    (void)syscall(SYS_futex, &ended_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    if (!pthread_equal(thread_, pthread_self())) pthread_join(thread_, nullptr);
#endif
  }

  /// Writes what was recorded until the session ended. Requires: `stop`, and that nothing was taken
  /// from the collectors.
  void write_rest() override {
    write(true);
    left_out_ = recorder::instance().state().stream_dropped.load() +
                recorder::instance().state().launches.dropped_from_stream();
    if (tracing_)
      activity_buffers::instance().stream(
          [this](work_queue& queue, name_table const&, clock_bridge const&) {
            left_out_ += queue.dropped;
          });
    set_streaming(false);
  }

  /// Adds what is known at the end only, and gives the file its name.
  bool complete(table_input const& input, std::string& remark) override {
    if (!has_file()) return false;
    if (left_out_ > 0)
      remark =
          sentence("The timeline leaves out ")
          << count_text(left_out_)
          << " events that came faster than they could be written; trace fewer kinds (trace=) or "
             "fewer steps (active=) to see them.";
    trace_events events(*sink_, input.source, labels_, arrows_);
    std::uint32_t const host = trace_process(made_, 0);
    sink_->process(host, trace_process_name(made_, 0));
    sink_->track(trace_track_kind::process, host, 0, {});
    if (left_out_ > 0) sink_->remark(remark, input.source.end);
    write_spans(*sink_, events, input.source, latest_time);
    if (!input.memory.timeline.empty())
      sink_->track(trace_track_kind::counter, host, 0, "device memory");
    for (memory_point const& point : input.memory.timeline) sink_->counter(point.time, point.bytes);
    return close();
  }

  char const* file_name() const noexcept override { return name; }
  output_directory const& directory() const noexcept override { return directory_; }
  /// Why the file ends early; it was said.
  status const& problem() const noexcept override { return problem_; }

 private:
  static constexpr char const* name = "trace.perfetto-trace";
  static constexpr char const* no_thread =
      "the timeline is written at the end, since no thread can be started: raise ulimit -u";
  static constexpr std::int64_t period_ns = 250'000'000;
  /// CUPTI delivers ten times a second: what is younger may still come out of order.
  static constexpr std::int64_t work_age_ns = 250'000'000;
  /// A thread notes a time, and then, a moment later, the record that has it.
  static constexpr std::int64_t host_age_ns = 50'000'000;
  /// Calls wait for so long for their work, and the ranges around them with them.
  static constexpr std::int64_t call_age_ns = 750'000'000;
  static constexpr std::size_t usual_piece = 65'536;
  /// Bytes of the disk that this file leaves to the smaller ones, which are written at the end. A
  /// heuristic: tables, findings and profile.json rarely have more.
  static constexpr std::uint64_t most_kept_room = std::uint64_t{64} << 20;
  static constexpr std::uint32_t within_none = 0xfffffffeu;

  void set_streaming(bool on) noexcept {
    recorder::instance().set_streaming(on);
    if (tracing_) activity_buffers::instance().set_streaming(on);
  }

  bool close() {
    if (!has_file()) return false;
    if (sink_ && !sink_->flush()) {
      fail(out_->error());
      return false;
    }
    sink_.reset();
    out_.reset();
    problem_ = directory_.end(name, std::exchange(file_, nullptr), 0);
    if (!problem_.ok()) say(problem_.message().c_str());
    return problem_.ok();
  }

  /// False also where its number is now that of a file of the program: neither written nor closed.
  bool has_file() {
    if (file_ != nullptr && !out_->has_file()) fail(text_writer::file_lost);
    return file_ != nullptr;
  }

  /// The disk is full, say: what was written stays, under the name that says that it is not whole.
  void fail(int error) {
    bool const there = error != text_writer::file_lost && out_->has_file();
    if (!there) out_->fail(text_writer::file_lost);
    sink_.reset();
    out_.reset();
    std::FILE* const file = std::exchange(file_, nullptr);
    if (there && std::ftell(file) < 4096) {  // nothing of it can be read
      problem_ = directory_.end(name, file, error);
    } else {
      if (there) (void)std::fclose(file);
      problem_ = {errc::input_output,
                  sentence("cannot go on with ")
                      << directory_.path() << "/" << name
                      << ".part: " << (there ? std::strerror(error) : "the program closed its file")
                      << "; the timeline ends there, and recording goes on"};
    }
    say(problem_.message().c_str());
    set_streaming(false);
  }

  /// Memory is short: what was written stays.
  void end_early() noexcept {
    bool const there = file_ != nullptr && out_ && out_->has_file();
    sink_.reset();
    out_.reset();
    if (there) std::fclose(file_);
    file_ = nullptr;
    say("the timeline ends early, since memory is short: free some, or lower log= and buffers=; "
        "recording goes on");
    set_streaming(false);
  }

#if defined(__linux__)
  /// Until the session ends, or no other thread is left in the process.
  static void* run(void* context) {
    auto& self = *static_cast<timeline_stream*>(context);
    pthread_setname_np(pthread_self(), "strata-stream");
    machine::own_threads().fetch_add(1);
    timespec const usual{0, period_ns};
    timespec const soon{0, 10'000'000};
    bool alone = false;
    for (;;) {
      (void)syscall(SYS_futex, &self.ended_, FUTEX_WAIT_PRIVATE, 0, alone ? &soon : &usual, nullptr,
                    0);
      if (self.ended_.load() != 0) break;
      if (!alone) self.write(false);
      alone = alone || machine::main_has_ended("/proc/self/stat");
      if (alone && machine::threads_left() <= 2) break;
    }
    machine::own_threads().fetch_sub(1);
    return nullptr;
  }
#endif

  /// The host's events go to the file by pieces of time, so that what is within another one comes
  /// in the same piece or in one before.
  void write(bool last) noexcept {
    if (!if_memory_allows([&] { write_pieces(last); })) end_early();
  }
  void write_pieces(bool last) {
    if (!has_file()) return;
    if (directory_.room() < kept_room_) return fail(ENOSPC);
    recorder& from = recorder::instance();
    // One rate for the whole file: times that were written stay in order with those that follow.
    if (!std::exchange(has_ticks_, true)) ticks_ = from.converter();
    std::int64_t const now = from.clock().now();
    std::int64_t until = last ? now : now - ticks_of(host_age_ns);
    if (tracing_)
      activity_buffers::instance().stream(
          [&](work_queue& queue, name_table const& names, clock_bridge const& bridge) {
            take_work(queue, names, bridge, now, last);
            if (!last) until = first_to_wait(until, now - ticks_of(call_age_ns));
          });
    if (written_ == 0) written_ = from.begun();
    while (written_ < until && file_ != nullptr) {
      std::int64_t const end = written_ + ticks_of(piece_ns_);
      write_piece(end < until ? end : until, false);
    }
    if (last && file_ != nullptr) write_piece(latest_time, true);
  }

  void write_piece(std::int64_t until, bool last) {
    if (tracing_)
      activity_buffers::instance().stream(
          [&](work_queue&, name_table const&, clock_bridge const&) { take_calls(until, last); });
    recorder::instance().stream(
        until, [&](step_record const& step) { made_.steps.push_back(step); },
        [&](range_record const& range, attribute_record const* attribute) {
          take_range(range, attribute);
          return true;
        });
    std::size_t const size = made_.launches.size() + made_.ranges.size();
    if (size > usual_piece) piece_ns_ = piece_ns_ / 2 + 1'000'000;
    if (size < usual_piece / 4 && piece_ns_ < period_ns) piece_ns_ *= 2;
    written_ = until;
    emit();
  }

  void to_ns(std::int64_t& begin, std::int64_t& end) const noexcept {
    begin = ticks_.to_ns(begin);
    end = ticks_.to_ns(end);
  }

  void take_range(range_record range, attribute_record const* attribute) {
    range.attribute = no_reference;
    if (attribute != nullptr) {
      made_.attributes.push_back(*attribute);
      range.attribute = static_cast<std::uint32_t>(made_.attributes.size());
    }
    made_.ranges.push_back(range);
  }

  std::int64_t ticks_of(std::int64_t ns) const noexcept {
    return static_cast<std::int64_t>(static_cast<double>(ns) / ticks_.ns_per_tick());
  }

  /// Calls wait for their work, for a while, where it is not known how many arrows begin there.
  /// Returns: until when nothing of the host waits.
  std::int64_t first_to_wait(std::int64_t until, std::int64_t old) {
    launches().stream(false, [&](launch_record const& call, std::uint32_t arrows) {
      bool const waits = is_work(call.kind) && call.end > old && call.causes_work() &&
                         !work_queue::causes_one(call) &&
                         (arrows == 0 || call.kind == api_kind::graph_launch);
      if (waits && call.begin < until) until = call.begin;
      return false;
    });
    return until;
  }

  void take_calls(std::int64_t until, bool last) {
    launches().stream(last, [&](launch_record call, std::uint32_t arrows) {
      if (call.end > until) return false;
      if (call.is_left_out()) return true;
      if (arrows == 0 && !last && work_queue::causes_one(call)) arrows = 1;
      if (arrows != 0) call.flags &= launch_record::adopted;
      to_ns(call.begin, call.end);
      made_.launches.push_back(call);
      arrows_.push_back(arrows);
      return true;
    });
    calls_ = made_.launches.size();
  }

  void take_work(work_queue& queue, name_table const& names, clock_bridge const& bridge,
                 std::int64_t now, bool last) {
    bool const all = last || queue.size() > work_queue::most / 2;
    std::int64_t const until = all ? latest_time : ticks_.to_ns(now) - work_age_ns;
    auto const take = [&](auto& waiting, auto& to, auto is_own) {
      std::size_t kept = 0;
      for (std::size_t i = 0; i < waiting.size(); ++i) {
        auto& each = waiting[i];
        if (each.call.kind == api_kind::none) work_queue::find_call(each, launches());
        bool const known = each.call.kind != api_kind::none;
        if ((each.work.begin == 0 && each.work.end == 0) || each.call.is_left_out()) continue;
        std::int64_t const begin = bridge.to_ns(each.work.begin, ticks_);
        std::int64_t const end = bridge.to_ns(each.work.end, ticks_);
        if (begin > until || (!known && end > until)) {  // its call may be under way
          waiting[kept++] = each;
          continue;
        }
        if (!known && is_own(each.work)) continue;
        to.push_back(each);
        to.back().work.begin = begin;
        to.back().work.end = end;
      }
      waiting.resize(kept);
    };
    // Without a call of the program: the Range Profiler's kernel, and Strata's own waits.
    take(queue.kernels, work_.kernels, [&](kernel_record const& kernel) {
      return kernel.name != no_reference && names.text(kernel.name) == "WaitNs";
    });
    take(queue.copies, work_.copies, [](copy_record const&) { return false; });
    take(queue.waits, work_.waits, [](synchronization_record const&) { return true; });
    names.each_from(made_.kernel_names.size() + 1, [this](std::string_view text) {
      made_.kernel_names.push_back({std::string(text)});
    });
  }

  static launch_table& launches() noexcept { return recorder::instance().state().launches; }

  /// The names and places that the program has added.
  void learn() {
    recorder& from = recorder::instance();
    from.state().nodes.each_from(made_.nodes.size(), [this](node_table::node const& node) {
      made_.nodes.push_back({node.parent, node.name, node.index, node.depth, false});
    });
    from.state().names.each_from(made_.names.size(), [this](std::string_view text) {
      made_.names.push_back(std::string(text));
    });
    for (; selected_ < made_.nodes.size(); ++selected_) select(made_, selected_, options_->only);
    labels_.learn(made_);
    made_.has_steps = from.steps_begun() != 0;
  }

  /// Writes what was taken, and forgets it.
  void emit() {
    if (work_.size() + made_.launches.size() + made_.ranges.size() + made_.steps.size() > 0) {
      learn();
      add_host();
      add_work();
      write_fresh();
    }
    if (!sink_->flush()) return fail(out_->error());
    made_.steps.clear();
    made_.ranges.clear();
    made_.attributes.clear();
    made_.launches.clear();
    made_.kernels.clear();
    made_.copies.clear();
    made_.synchronizations.clear();
    work_ = {};
    arrows_.clear();
    calls_ = 0;
  }

  template <class Record>
  static trace_slice slice_of(vec<Record> const& all, std::size_t i, slice_kind kind, int order) {
    // Nothing is before the session, but by an error of the clocks.
    std::int64_t const begin = all[i].begin < 0 ? 0 : all[i].begin;
    std::int64_t const end = all[i].end < begin ? begin : all[i].end;
    return {begin, end,  static_cast<std::uint32_t>(i),   no_launch,
            0,     kind, static_cast<std::uint8_t>(order)};
  }

  void add_host() {
    for (std::size_t i = 0; i < made_.steps.size(); ++i) {
      step_record& step = made_.steps[i];
      to_ns(step.begin, step.end);
      track({0, 0, step.thread}).add(slice_of(made_.steps, i, slice_kind::step, 0), within_none);
    }
    for (std::size_t i = 0; i < made_.ranges.size(); ++i) {
      range_record& range = made_.ranges[i];
      to_ns(range.begin, range.end);
      if (!labels_.has_own_row(range.node)) continue;
      profile_node const& node = made_.nodes[range.node];
      int const order = node.depth < 250 ? static_cast<int>(node.depth) + 1 : 251;
      track({0, 0, range.thread})
          .add(slice_of(made_.ranges, i, slice_kind::range, order), node.parent);
    }
    for (std::size_t i = 0; i < calls_; ++i) {
      launch_record const& call = made_.launches[i];
      track({0, 0, call.thread})
          .add(slice_of(made_.launches, i, slice_kind::driver, 254), call.node);
    }
  }

  void add_work() {
    auto const add = [&](auto& from, auto& to, slice_kind kind) {
      for (auto& each : from) {
        to.push_back(each.work);
        trace_slice slice = slice_of(to, to.size() - 1, kind, 0);
        if (each.call.kind != api_kind::none) {
          to_ns(each.call.begin, each.call.end);
          slice.launch = static_cast<std::uint32_t>(made_.launches.size());
          // Of two events at one time a reader takes first the one that was written first.
          if (each.call.begin == slice.begin) ++each.call.begin;
          slice.arrow = each.call.begin < slice.end ? each.arrow : 0;
          made_.launches.push_back(each.call);
        }
        track({each.work.device + 1u, each.work.context, each.work.stream}).add(slice, 0);
      }
    };
    add(work_.kernels, made_.kernels, slice_kind::kernel);
    add(work_.copies, made_.copies, slice_kind::copy);
    for (auto const& each : work_.waits) {
      made_.synchronizations.push_back(each.work);
      track({0, trace_plan::synchronization_context, 0})
          .add(slice_of(made_.synchronizations, made_.synchronizations.size() - 1,
                        slice_kind::synchronization, 0),
               0);
    }
  }

  stream_track& track(trace_track::position const& at) {
    if (last_ < tracks_.size() && tracks_[last_].at == at) return tracks_[last_];
    last_ = tracks_.count_first([&](stream_track const& each) { return each.at < at; });
    if (last_ == tracks_.size() || !(tracks_[last_].at == at)) {
      bool const nests = at.process == 0 && at.context != trace_plan::synchronization_context;
      tracks_.insert(tracks_.begin() + last_, stream_track(at, nests));
      made_.threads = recorder::instance().threads();
      if (at.process != 0 && made_.environment.devices.empty())
        (void)machine::describe_devices(made_.environment, "off");
    }
    return tracks_[last_];
  }

  void write_fresh() {
    trace_events events(*sink_, made_, labels_, arrows_);
    for (stream_track& each : tracks_) {
      if (!each.has_fresh()) continue;
      each.place([this] { return ++lanes_; });
      std::uint32_t const process = trace_process(made_, each.at.process);
      sink_->process(process, trace_process_name(made_, each.at.process));
      for (std::size_t i = 0; i < each.lanes.size(); ++i) {
        stream_track::lane& lane = each.lanes[i];
        if (lane.slices.empty()) continue;
        bool const is_thread = i == 0 && each.at.process == 0 && each.at.context == 0;
        std::string const label =
            lane_name(trace_track_name(made_, each.at, is_first_context(each.at)), i);
        sink_->track(is_thread ? trace_track_kind::thread : trace_track_kind::lane, process,
                     lane.number, label);
        for (trace_slice const& slice : lane.slices) events.slice(slice);
        lane.slices.clear();
      }
    }
  }

  /// The streams of the first context that is seen on a device have short names.
  bool is_first_context(trace_track::position const& at) {
    std::uint32_t& first = contexts_[at.process];
    if (first == 0) first = at.context + 1;
    return first == at.context + 1;
  }

  options const* options_;
  bool tracing_;
  output_directory directory_;
  std::FILE* file_ = nullptr;
  maybe<text_writer> out_;
  trace_labels labels_;
  maybe<perfetto_writer> sink_;
  profile made_;           // names and places so far; records of the piece that is written
  work_queue work_;        // of that piece
  std::size_t calls_ = 0;  // of its launches those that are events themselves
  vec<std::uint32_t> arrows_;
  vec<stream_track> tracks_;
  std::size_t last_ = 0;
  std::size_t selected_ = 0;  // nodes of which it is known
  number_map<std::uint32_t> contexts_;
  std::uint32_t lanes_ = 0;
  std::int64_t written_ = 0;  // until when the host's events were written, in ticks
  std::int64_t piece_ns_ = period_ns;
  tick_converter ticks_;
  bool has_ticks_ = false;
  std::uint64_t kept_room_ = 0;
  std::uint64_t left_out_ = 0;
  status problem_;
  atomic<int> ended_{0};
#if defined(__linux__)
  bool runs_ = false;
  pthread_t thread_{};
#endif
};

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_TIMELINE_STREAM_HPP
