#ifndef STRATA_SESSION_RECORDING_STREAM_HPP
#define STRATA_SESSION_RECORDING_STREAM_HPP

#include <strata/session/device_drain.hpp>
#include <strata/session/growing_file.hpp>

STRATA_BEGIN
namespace detail {

/// Writes profile.strata while the program runs: what has ended goes to the file within a second,
/// by a thread of its own, and what was written survives any end of the process. The file is called
/// profile.strata.part until it is complete. Threads: the session's, one at a time. Cost: memory
/// for what comes in a second, at most 64 MB.
class recording_stream : uncopied {
 public:
  recording_stream(options const& wanted, bool tracing) : options_(&wanted), tracing_(tracing) {}
  ~recording_stream() noexcept {
    // In a forked child the file is the parent's.
    if (!in_forked_child() && !if_memory_allows([this] { (void)file_.close(); })) end_early();
  }

  /// Begins the file in this directory. Requires: the collectors are open, and record nothing yet.
  /// Errors: input_output, unavailable: nothing stays there, and the recording is written at the
  /// end.
  status open(output_directory const& directory, profile_environment environment,
              vec<status> const& problems) {
    for (status const& problem : problems) made_.problems.push_back(problem.message());
    made_.environment = std::move(environment);
    made_.traced = tracing_;
    if (tracing_) (void)activity_buffers::instance();  // made here, where memory may be missing
    status const begun = file_.begin(directory);
    if (!begun.ok()) return begun;
    set_streaming(true);
    if (thread_.start(&run, this)) return {};
    set_streaming(false);
    file_.abandon();
    return {errc::unavailable, no_thread};
  }

  /// Ends the thread; also called by that thread, when it is the last one of the process.
  void stop() noexcept {
    if (!thread_.runs()) return;
    ended_.make();
    thread_.join();
  }

  /// Writes what was recorded until the session ended. Requires: `stop`, and no piece was taken.
  void write_rest() {
    write(true);
    set_streaming(false);
  }

  /// Adds what the session reports, and gives the file its name. Returns: whether it is there.
  bool complete(profile const& reported) { return file_.complete(reported); }
  growing_file const& file() const noexcept { return file_; }
  /// Memory of a piece, at most: in no budget.
  std::uint64_t max_bytes() const noexcept { return max_bytes_; }

 private:
  static constexpr char const* no_thread =
      "the recording is written at the end, since no thread can be started: raise ulimit -u";
  static constexpr std::int64_t period_ns = 250'000'000;
  /// CUPTI delivers ten times a second: the call of younger work may still be under way.
  static constexpr std::int64_t work_age_ns = 250'000'000;
  /// A thread notes a time, and then, a moment later, the record that has it.
  static constexpr std::int64_t host_age_ns = 50'000'000;
  /// A call during a capture waits this long for work that shows that it was not captured.
  static constexpr std::int64_t call_age_ns = 750'000'000;
  static constexpr std::size_t usual_piece = 65'536;

  void set_streaming(bool on) noexcept {
    if (!std::exchange(streams_, on) && !on) return;
    recorder::instance().set_streaming(on);
    if (tracing_) activity_buffers::instance().set_streaming(on);
  }

  /// The file ends early; the session continues.
  void end_early() noexcept {
    file_.end_early();
    set_streaming(false);
  }

  /// Until the session ends, or no other thread is left in the process.
  static void* run(void* context) {
    auto& self = *static_cast<recording_stream*>(context);
    name_thread("strata-stream");
    own_thread const counted;
    program_threads program;
    std::int64_t next = kernel_ns() + period_ns;
    while (!program.have_ended()) {
      self.ended_.pause(program.pause(period_ns));
      if (self.ended_.is_made()) break;
      if (kernel_ns() < next) continue;
      self.write(false);
      next = kernel_ns() + period_ns;
    }
    return nullptr;
  }

  /// What the host did goes to the file by pieces of time, so that a piece is small.
  void write(bool last) noexcept {
    if (!if_memory_allows([&] { write_pieces(last); })) end_early();
  }
  void write_pieces(bool last) {
    if (!file_.has_room()) return set_streaming(false);
    recorder& from = recorder::instance();
    // One rate for the whole file: times that were written stay in order with those that follow.
    if (!std::exchange(has_ticks_, true)) ticks_ = from.converter();
    std::int64_t const now = from.clock().now();
    std::int64_t const until = last ? now : now - ticks_of(host_age_ns);
    if (written_.until == 0) written_.until = from.begun();
    bool has_more = false;
    while ((written_.until < until || has_more) && file_.is_open()) {
      std::int64_t const end = written_.until + ticks_of(piece_ns_);
      has_more = take_piece(now, end < until ? end : until, false);
    }
    has_more = last;
    while (has_more && file_.is_open()) has_more = take_piece(now, latest_time, true);
  }

  /// Returns: whether there is more device work than a piece takes.
  bool take_piece(std::int64_t now, std::int64_t until, bool last) {
    std::int64_t const old = now - ticks_of(call_age_ns);
    std::int64_t const known = smaller(until, now - ticks_of(work_age_ns));
    auto const take = [&](launch_table::offered_call const& call) {
      if (call.waits(until, last ? latest_time : old)) return false;
      take_call(call);
      return true;
    };
    bool const has_more =
        tracing_ && activity_buffers::instance().stream(
                        made_, ticks_, last ? latest_time : ticks_.to_ns(known), last, take);
    recorder::instance().stream(
        until, [&](step_record const& step) { made_.steps.push_back(in_ns(step)); },
        [&](range_record const& range, attribute_record const* attribute) {
          take_range(in_ns(range), attribute);
        });
    std::size_t const size = made_.launches.size() + made_.ranges.size();
    if (size > usual_piece) piece_ns_ = piece_ns_ / 2 + 1'000'000;
    if (size < usual_piece / 4 && piece_ns_ < period_ns) piece_ns_ *= 2;
    written_.until = until;
    made_.end = last ? ticks_.to_ns(now) : ticks_.to_ns(until);
    emit();
    return has_more;
  }

  std::int64_t ticks_of(std::int64_t ns) const noexcept {
    return static_cast<std::int64_t>(static_cast<double>(ns) / ticks_.ns_per_tick());
  }
  template <class Record>
  Record in_ns(Record record) const noexcept {
    record.begin = ticks_.to_ns(record.begin);
    record.end = ticks_.to_ns(record.end);
    return record;
  }

  void take_range(range_record range, attribute_record const* attribute) {
    range.attribute = no_reference;
    if (attribute != nullptr) {
      made_.attributes.push_back(*attribute);
      range.attribute = static_cast<std::uint32_t>(written_.attributes + made_.attributes.size());
    }
    made_.ranges.push_back(range);
  }

  void take_call(launch_table::offered_call const& offered) {
    driver_call_record call = offered.record;
    if (call.is_left_out()) return;
    if (offered.worked) call.flags &= driver_call_record::adopted;
    made_.launches.push_back(in_ns(call));
  }

  /// Events that there was no room for.
  std::uint64_t left_out() const {
    std::uint64_t const of_host = recorder::instance().state().stream_dropped.load();
    return of_host + (tracing_ ? activity_buffers::instance().dropped_from_stream() : 0);
  }

  /// The names and places that the program has added.
  void learn() {
    recorder& from = recorder::instance();
    std::size_t const names = written_.places.names.size();
    std::size_t const nodes = written_.places.nodes.size();
    from.state().nodes.for_each_from(nodes, [this](node_table::node const& node) {
      written_.places.nodes.push_back({node.parent, node.name, node.index, node.depth, false});
    });
    from.state().names.for_each_from(names, [this](std::string_view text) {
      written_.places.names.push_back(std::string(text));
    });
    for (std::size_t i = names; i < written_.places.names.size(); ++i)
      made_.names.push_back(written_.places.names[i]);
    for (std::size_t i = nodes; i < written_.places.nodes.size(); ++i) {
      select(written_.places, i, options_->only);
      made_.nodes.push_back(written_.places.nodes[i]);
    }
    vec<profile_thread> const threads = from.threads();
    for (; written_.threads < threads.size(); ++written_.threads)
      made_.threads.push_back(threads[written_.threads]);
    made_.has_steps = from.steps_begun() != 0;
    bool const has_work = made_.kernels.size() + made_.copies.size() > 0;
    if (!has_work || std::exchange(has_devices_, true)) return;
    (void)devices_of_machine::describe(made_.environment, *options_, true);
    describes_ = true;
  }

  /// The bytes of a piece's records.
  struct record_bytes {
    std::uint64_t sum = 0;

    template <class Value>
    void field(char const*, Value& member) noexcept {
      if constexpr (is_vec<Value>) add(member);
    }

   private:
    template <class Record>
    void add(vec<Record> const& records) noexcept {
      if constexpr (is_record<Record>) sum += records.size() * sizeof(Record);
    }
  };

  /// Forgets a piece, and keeps its memory for the next one: large blocks that come and go would
  /// stay with the allocator.
  struct empty_piece {
    template <class Value>
    void field(char const*, Value& member) noexcept {
      if constexpr (is_vec<Value>) member.clear();
    }
  };

  /// Writes what was taken, and forgets it.
  void emit() {
    record_bytes records;
    recorded_fields::visit_streamed(records, made_);
    if (records.sum == 0 && !describes_) return;
    learn();
    max_bytes_ = larger(max_bytes_, records.sum);
    profile_piece piece{made_, std::exchange(describes_, false), left_out()};
    if (!file_.write(piece)) return set_streaming(false);
    written_.attributes += made_.attributes.size();
    empty_piece none;
    recorded_fields::visit_streamed(none, made_);
    made_.problems.clear();
  }

  options const* options_;
  bool tracing_;
  growing_file file_;
  profile made_;           // the piece that is written next
  bool describes_ = true;  // that piece has the environment
  bool has_devices_ = false;
  std::uint64_t max_bytes_ = 0;
  /// What was written.
  struct written_part {
    profile places;  // nodes and names
    std::size_t threads = 0;
    std::size_t attributes = 0;
    std::int64_t until = 0;  // of the host, in ticks
  } written_;
  std::int64_t piece_ns_ = period_ns;
  tick_converter ticks_;
  bool has_ticks_ = false;
  bool streams_ = false;
  stop_request ended_;
  owned_thread thread_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_RECORDING_STREAM_HPP
