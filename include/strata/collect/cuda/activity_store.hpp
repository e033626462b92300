#ifndef STRATA_COLLECT_CUDA_ACTIVITY_STORE_HPP
#define STRATA_COLLECT_CUDA_ACTIVITY_STORE_HPP

#include <strata/collect/cuda/graph_captures.hpp>
#include <strata/collect/cuda/traced_records.hpp>
#include <strata/collect/host/recorder.hpp>
#include <strata/profile/device_summing.hpp>

STRATA_BEGIN
namespace detail {

/// CUPTI's records, joined to the calls that caused them and summed up as they arrive. They wait
/// for a batch, so that late ones come in order of their times. What the timeline has room for is
/// kept, in CUPTI's time, until a session takes it. Times that cannot be are lost: the record
/// counts without them. Threads: add from CUPTI's threads, the rest from the session's.
class activity_store {
 public:
  /// How many records wait before the older half is joined. Where a quarter of the budget is less,
  /// that many, but two full buffers of CUPTI's at least.
  static constexpr std::size_t batch = 131'072;
  static constexpr std::size_t min_batch = 20'480;

  activity_store(memory_budget& budget, graph_captures& captures)
      : budget_(&budget), captures_(&captures) {}

  /// The launches that kernels without a call may belong to.
  graph_launches& graphs() noexcept { return graphs_; }

  /// Requires: the budget is that of the new session.
  void clear() noexcept {
    system_lock lock(mutex_);
    auto const quarter = static_cast<std::size_t>(larger(budget_->limit(), std::int64_t{0})) / 4;
    translator_.names().limit_bytes(quarter);
    translator_.clock().begin_session();
    waiting_ = {};
    waiting_.batch = smaller(batch, larger(min_batch, quarter / sizeof(traced_kernel)));
    made_ = {};
    strays_ = {};
    fresh_.max_bytes = 0;
    graphs_.clear();
    sums_.begin(*budget_, translator_.other_kernels());
    room_.clear();
    newest_ = retired_ = 0;
    described_ = false;
  }

  /// The devices' sizes. Requires: CUDA is initialised. Threads: one that may call the driver.
  void describe_devices() {
    driver_library const& driver = driver_library::get();
    if (described_.exchange(true)) return;
    translator_.look_at_devices(driver);
    for (int i = 0; driver.ok() && i < driver.device_count; ++i) {
      int const count = driver.attribute(i, driver::attribute::multiprocessor_count);
      system_lock lock(mutex_);
      if (!sums_.summing) return;
      sums_.summing->describe_device(static_cast<std::uint32_t>(i),
                                     static_cast<std::uint32_t>(count));
    }
  }

  /// A record that there is no memory for is counted as lost.
  void try_add(cupti::record const& any) noexcept {
    try_one([&] { add(any); });
  }
  void add(cupti::record const& any) {
    if (!sums_.summing) {  // because memory was short, or later than the end of its session
      if (sums_.is_missing) lose();
      return;
    }
    switch (any.kind) {
      case cupti::activity_kind::kernel:
      case cupti::activity_kind::concurrent_kernel:
        add_timed(cupti::as<cupti::kernel_record>(&any));
        break;
      case cupti::activity_kind::copy:
        add_timed(cupti::as<cupti::copy_record>(&any));
        break;
      case cupti::activity_kind::peer_copy:
        add_timed(cupti::as<cupti::peer_copy_record>(&any));
        break;
      case cupti::activity_kind::set:
        add_timed(cupti::as<cupti::set_record>(&any));
        break;
      case cupti::activity_kind::memory:
        await(translator_.made_of(cupti::as<cupti::memory_record>(&any)));
        break;
      case cupti::activity_kind::synchronization:
        add_timed(cupti::as<cupti::synchronization_record>(&any));
        break;
      case cupti::activity_kind::overhead:
        return add_overhead(cupti::as<cupti::overhead_record>(&any));
      case cupti::activity_kind::context:
        return describe_context(cupti::as<cupti::context_record>(&any));
      case cupti::activity_kind::unified_memory:
        return add_migration(cupti::as<cupti::unified_memory_record>(&any));
      default:
        return;
    }
    if (waiting_.lists.size() >= waiting_.batch) join_pending(false);
    // Windows far apart fill the pages of calls long before they make a batch.
    if (newest_ - retired_ >= launch_table::slack) {
      find_calls();
      retire();
    }
  }

  /// What came before its call was noted finds it now, since the call may go. Requires: the mutex.
  void find_calls() {
    auto const stays = [this](auto& record) { return is_awaited(record, join(record)); };
    waiting_.lists.for_each_list([&](auto& records) { records.keep_if(stays); });
  }

  /// From now on work without times has not ended, and stays out; else it has lost them.
  void leave_out_unfinished(bool leave_out) noexcept { leaves_out_unfinished_ = leave_out; }
  std::uint64_t work_unfinished() const noexcept { return made_.losses.work_unfinished; }

  /// Excludes clear, join_pending and take while a whole buffer is added.
  system_mutex& mutex() noexcept { return mutex_; }
  /// CUPTI's clock. Guarded by the mutex.
  record_clock& clock() noexcept { return translator_.clock(); }
  /// Records are kept for `stream` from now on, or no longer. Requires: the mutex.
  void keep_for_stream(bool on) noexcept {
    std::size_t const max_bytes = on ? 0 : fresh_.max_bytes;  // a report is made afterwards
    fresh_ = {};
    fresh_.keeps = on;
    fresh_.max_bytes = max_bytes;
  }
  /// What came since the last time finds its calls: they count as having caused work from then on.
  /// Requires: the mutex.
  void find_fresh_calls() {
    fresh_.lists.for_each_list([this](auto& records) {
      records.keep_if([&](auto& record) { return join(record) != join_result::left_out; });
    });
  }
  bool has_fresh() const noexcept { return fresh_.lists.size() != 0; }
  /// How many records there was no room for.
  std::uint64_t dropped_from_stream() const noexcept { return fresh_.dropped; }

  /// Hands what came since the last time to `target`, its times in ns since the session began, and
  /// the names of kernels. What begins after `until` waits where its call is not known, and what
  /// has a call waits until `take` has taken that. Requires: the mutex, and `find_fresh_calls`.
  /// Returns: whether there is more than a piece takes.
  template <class Take>
  bool stream(profile& target, clock_bridge const& bridge, tick_converter const& ticks,
              std::int64_t until, Take take) {
    fresh_.max_bytes = larger(fresh_.max_bytes, fresh_.lists.bytes());
    if (fresh_.has_long) {
      fresh_.lists.for_each_list([](auto& records) { sort_by_time(records); });
      fresh_.has_long = lose_impossible_lengths(fresh_.lists);
    }
    std::size_t taken = 0;
    bool has_more = false;
    auto const waits = [&](auto& record) {
      join_result joined = join(record);
      bool const has_time = time_of(record) != lost_time;
      if (joined == join_result::unknown && has_time &&
          bridge.to_ns(time_of(record), ticks) > until)
        return true;
      if (joined == join_result::unknown) joined = join_by_graph(record);
      if (joined == join_result::known && !launches().stream_call(record.correlation, take))
        return true;
      ++taken;
      if (joined == join_result::left_out || (joined == join_result::unknown && is_own(record)))
        return false;
      if (joined == join_result::unknown) record.node = root_node;
      convert(record, bridge, ticks);
      add_to(target, record);
      return false;
    };
    fresh_.lists.for_each_list([&](auto& records) {
      records.keep_if([&](auto& record) {
        if (taken < max_in_piece) return waits(record);
        return has_more = true;
      });
    });
    translator_.names().for_each_from(fresh_.first_name, [&](auto name) {
      target.kernel_names.push_back({std::string(name)});
      ++fresh_.first_name;
    });
    return has_more;
  }

  /// The most memory of waiting records, and that of the names: in no budget, but bounded.
  std::uint64_t bytes_beyond_budget() noexcept {
    system_lock lock(mutex_);
    return waiting_.max_bytes + fresh_.max_bytes + translator_.names().bytes();
  }

  /// Hands everything to the profile, its times in ns since the session began.
  void take(profile& target, clock_bridge const& bridge, tick_converter const& ticks) {
    system_lock lock(mutex_);
    if (!sums_.summing) return;
    join_pending(true);
    launches().for_each(
        [&](driver_call_record const& launch, bool, bool kept) { sum(launch, kept); });
    auto const convert_all = [&](auto& records) {
      for (auto& record : records) convert(record, bridge, ticks);
    };
    convert_all(made_.kernels);
    convert_all(made_.copies);
    convert_all(made_.synchronizations);
    convert_all(made_.overheads);
    convert_all(made_.migrations);
    convert_all(strays_);
    convert_all(made_.memory);
    recorded_periods const& recorded = recorder::instance().periods();
    auto const is_recorded = [&](auto const& record) {
      return recorded.contains(record.begin, ticks);
    };
    made_.overheads.keep_if(is_recorded);
    made_.migrations.keep_if(is_recorded);
    strays_.keep_if(is_recorded);
    for (synchronization_record const& wait : strays_) {
      sums_.summing->add(wait);
      keep(made_.synchronizations, wait);
    }
    sums_.summing->finish(ticks.ns_per_tick());
    target.losses.kernels_merged += sums_.summing->losses().kernels_merged;
    target.losses.histograms_coarse += sums_.summing->losses().histograms_coarse;
    target.losses.allocations_dropped += sums_.summing->losses().allocations_dropped;
    sums_.summing.reset();
    target.device = std::move(sums_.sums);
    target.contexts = std::move(made_.contexts);
    target.kernels = std::move(made_.kernels);
    target.copies = std::move(made_.copies);
    target.memory = std::move(made_.memory);
    target.synchronizations = std::move(made_.synchronizations);
    target.overheads = std::move(made_.overheads);
    target.migrations = std::move(made_.migrations);
    translator_.names().for_each_from(
        1, [&](auto name) { target.kernel_names.push_back({std::string(name)}); });
    for (loss_kind const& kind : loss_kinds) target.losses.*kind.count += made_.losses.*kind.count;
  }

 private:
  static void add_to(profile& target, traced_kernel const& kernel) {
    target.kernels.push_back(kernel);
  }
  static void add_to(profile& target, copy_record const& copy) { target.copies.push_back(copy); }
  static void add_to(profile& target, memory_record const& made) { target.memory.push_back(made); }
  static void add_to(profile& target, synchronization_record const& wait) {
    target.synchronizations.push_back(wait);
  }

  /// What waits to be joined.
  struct waiting_records {
    record_lists lists;
    std::size_t batch = activity_store::batch;
    std::size_t max_bytes = 0;  // that waited at once
  };

  /// Sums of all that was joined.
  struct running_sums {
    device_sums sums;
    maybe<device_summing> summing;
    bool is_missing = false;  // memory was short

    void begin(memory_budget& budget, std::uint32_t others) noexcept {
      sums = {};
      is_missing = !if_memory_allows([&] { summing.emplace(sums, &budget, others); });
      if (is_missing) summing.reset();
    }
  };

  /// What the budget has for the timeline. It ends at one time for all kinds of records.
  class timeline_room {
   public:
    explicit timeline_room(memory_budget& budget) noexcept : budget_(&budget) {}

    void clear() noexcept {
      bytes_ = 0;
      is_full_ = false;
    }
    /// Returns: whether there was room.
    template <class Record>
    bool keep(vec<Record>& log, Record const& record) {
      is_full_ = is_full_ || !take(sizeof record) || !log.make_room(1);
      if (!is_full_) log.push_back(record);
      return !is_full_;
    }
    bool take(std::size_t bytes) noexcept {
      constexpr std::size_t quantum = std::size_t{64} << 10;
      if (bytes_ < bytes) {
        if (!budget_->take(quantum, memory_use::record)) return false;
        bytes_ += quantum;
      }
      bytes_ -= bytes;
      return true;
    }

   private:
    memory_budget* budget_;
    std::size_t bytes_ = 0;  // taken from the budget and not used
    bool is_full_ = false;
  };

  /// So that a piece needs little memory.
  static constexpr std::size_t max_in_piece = 65'536;
  /// What a recording that is written meanwhile has not taken yet.
  struct fresh_records {
    static constexpr std::size_t most = 262'144;

    record_lists lists;
    std::size_t first_name = 1;
    std::size_t max_bytes = 0;  // that were here at once
    bool keeps = false;
    bool has_long = false;  // that lose_impossible_lengths has to look at
    std::uint64_t dropped = 0;

    template <class Record>
    void add(Record const& record) {
      if (!keeps) return;
      vec<Record>& records = lists.list_of(record);
      if (lists.size() < most && records.make_room(1)) {
        records.push_back(record);
        has_long = has_long || is_long(record);
      } else {
        ++dropped;
      }
    }
  };

  /// From CUPTI's clock to ns since the session began.
  template <class Record>
  static void convert(Record& record, clock_bridge const& bridge, tick_converter const& ticks) {
    if (record.begin == lost_time) return;
    std::int64_t const length = record.end - record.begin;
    record.begin = bridge.to_ns(record.begin, ticks);
    record.end = bridge.to_ns(record.end, ticks);
    if (record.end < record.begin) record.end = record.begin + length;  // the clock was set in it
  }
  static void convert(strata::memory_record& record, clock_bridge const& bridge,
                      tick_converter const& ticks) {
    record.time = bridge.to_ns(record.time, ticks);
    record.reserved[0] = 0;  // of one that is streamed before it is joined
  }

  /// The time in the middle of the longest list: what begins until then is joined now.
  std::int64_t middle() noexcept {
    std::size_t longest = 0;
    std::int64_t time = 0;
    waiting_.lists.for_each_list([&](auto const& records) {
      if (records.size() <= longest) return;
      longest = records.size();
      time = time_of(records[longest / 2]);
    });
    return time;
  }

  static void lose(std::size_t records = 1) noexcept {
    recorder::instance().state().unrecorded.fetch_add(records, memory_order_relaxed);
  }
  /// Memory is short: what waits is in no sum, and would wait for ever.
  void forget_waiting() noexcept {
    lose(waiting_.lists.size());
    waiting_.lists = {};
  }

  /// Does something with a record that no longer waits. Where memory is short it is in no sum.
  void try_one(callback<void()> body) noexcept {
    if (!if_memory_allows(body)) lose();
  }

  /// Joins and sums up the older half of what waits, or all.
  void join_pending(bool all) noexcept {
    record_lists& lists = waiting_.lists;
    waiting_.max_bytes = larger(waiting_.max_bytes, lists.bytes());
    if (!if_memory_allows([&] {
          lists.for_each_list([](auto& records) { sort_by_time(records); });
          (void)lose_impossible_lengths(lists);
          learn_nodes();
        }))
      return forget_waiting();
    std::int64_t const until = all ? latest_time : middle();
    auto const before = [&](auto const& records) {
      return all ? records.size()
                 : records.count_first([&](auto const& r) { return time_of(r) <= until; });
    };
    std::size_t const kernels = before(lists.kernels);
    std::size_t const copies = before(lists.copies);
    add_by_time(lists.kernels, kernels, lists.copies, copies,
                [this](auto& record) { try_one([&] { join_work(record); }); });
    lists.kernels.erase(lists.kernels.begin(), lists.kernels.begin() + kernels);
    lists.copies.erase(lists.copies.begin(), lists.copies.begin() + copies);
    auto const join_calls = [&](auto& records, auto& log) {
      std::size_t const count = before(records);
      for (std::size_t i = 0; i < count; ++i) try_one([&] { join_call(records[i], log); });
      records.erase(records.begin(), records.begin() + count);
    };
    join_calls(lists.memory, made_.memory);
    join_calls(lists.waits, made_.synchronizations);
    if (newest_ != 0) retire();
    captures_->forget_updated();
  }

  void retire() noexcept {
    retired_ = newest_;
    (void)if_memory_allows([this] { find_fresh_calls(); });
    launches().retire(newest_, [this](driver_call_record const& launch) { sum(launch, false); });
  }

  /// The nodes that the program's tree has since grown by.
  void learn_nodes() {
    recorder::instance().state().nodes.for_each_from(
        sums_.summing->nodes(),
        [this](node_table::node const& made) { sums_.summing->add_node(made.parent, made.name); });
  }

  void sum(driver_call_record const& launch, bool kept) noexcept {
    if (launch.is_left_out()) return;
    if (!kept) ++made_.losses.launches_summed;
    if (launch.node >= sums_.summing->nodes() && !if_memory_allows([this] { learn_nodes(); }))
      return (void)++made_.losses.launches_dropped;
    if (is_work(launch.kind))
      sums_.summing->add_launches(launch.node, 1, launch.end - launch.begin);
  }

  static launch_table& launches() noexcept { return recorder::instance().state().launches; }

  enum class join_result : unsigned char { unknown, known, left_out };

  /// Looks for the call that caused a record, and gives the record its node. From then on the
  /// answer is `known`, also where the call is left out.
  template <class Record>
  join_result join(Record& record, bool by_own_id = true) {
    if (record.node != no_node) return join_result::known;
    driver_call_record driver_call{};
    if (!launches().find(record.correlation, driver_call)) return join_result::unknown;
    record.node = driver_call.node;
    if (by_own_id && begins_before(record, driver_call)) lose_time(record);
    if (newest_ == 0 || record.correlation - newest_ < 0x80000000u) newest_ = record.correlation;
    note_capture(record, driver_call.begin);
    if ((driver_call.flags & driver_call_record::adopted) != 0) note_adopted(record);
    return driver_call.is_left_out() ? join_result::left_out : join_result::known;
  }
  void note_capture(traced_kernel& kernel, std::int64_t launched) const noexcept {
    if (kernel.graph_node != 0)
      kernel.captured_by = recorder::instance().state().nodes.node_of(
          captures_->range_of(kernel.graph_node, launched), kernel.captured_by);
  }
  template <class Record>
  static void note_capture(Record const&, std::int64_t) noexcept {}
  static void note_adopted(traced_kernel& kernel) noexcept { kernel.adopted = 1; }
  static void note_adopted(strata::copy_record& copy) noexcept { copy.adopted = 1; }
  template <class Record>
  static void note_adopted(Record const&) noexcept {}

  template <class From>
  void add_timed(From const& from) {
    if (!leaves_out_unfinished_ || from.end_ns != 0) return await(translator_.made_of(from));
    if (!launches().leaves_out_running(from.correlation_id)) ++made_.losses.work_unfinished;
  }

  /// A record waits for its batch. A call that is still under way is looked for again then.
  template <class Record>
  void await(Record made) {
    made.node = no_node;
    join_result const joined = join(made);
    if (!is_awaited(made, joined)) return;
    check_time(made);
    vec<Record>& waiting = waiting_.lists.list_of(made);
    if (!waiting.make_room(1)) out_of_memory();
    if (joined == join_result::unknown)
      note_capture(made, latest_time);  // its graph may go meanwhile
    if (joined != join_result::left_out) fresh_.add(made);
    waiting.push_back(made);
  }
  /// An allocation or release with an impossible time takes that of its call. If the call is not
  /// known yet, it takes the present time and keeps its place among others.
  void check_time(strata::memory_record& made) noexcept {
    record_clock const& clock = translator_.clock();
    driver_call_record call{};
    bool const has_call = made.node != no_node && launches().find(made.correlation, call);
    bool const has_time = made.time != lost_time && !(has_call && begins_before(made, call));
    if (has_time) return;
    made.reserved[0] = has_call ? 0 : 1;  // see check_late_time
    made.time = has_call ? clock.time_of_call(call.begin) : clock.latest().other;
  }
  template <class Record>
  static void check_time(Record const&) noexcept {}
  /// The same when the record is joined: the call may have been under way, else the time is lost.
  void check_late_time(strata::memory_record& made) noexcept {
    if (std::exchange(made.reserved[0], std::uint8_t{0}) == 0) return;
    driver_call_record call{};
    if (!launches().find(made.correlation, call)) return (void)++made_.losses.timestamps_lost;
    made.time = translator_.clock().time_of_call(call.begin);
  }
  template <class Record>
  static void check_late_time(Record const&) noexcept {}
  static bool is_awaited(traced_kernel& kernel, join_result joined) noexcept {
    if (joined == join_result::left_out) kernel.is_left_out = true;
    return joined != join_result::left_out || kernel.graph_node != 0;
  }
  template <class Record>
  static bool is_awaited(Record const&, join_result joined) noexcept {
    return joined != join_result::left_out;
  }

  void join_work(traced_kernel& work) {
    join_result joined = work.is_left_out ? join_result::left_out : join(work);
    if (work.graph_node != 0 && joined != join_result::unknown) graphs_.saw(work, work.graph);
    if (joined == join_result::unknown) joined = join_by_graph(work);
    if (joined == join_result::unknown && is_own(work)) return;
    if (joined == join_result::unknown) note_capture(work, latest_time);
    add_work<strata::kernel_record>(work, made_.kernels, joined);
  }
  /// A kernel of a graph's conditional node bears no id of a call.
  join_result join_by_graph(traced_kernel& kernel) {
    std::uint32_t const own = kernel.correlation;
    if (kernel.graph_node == 0 ||
        !graphs_.find(kernel, kernel.graph, translator_.clock().clock(), kernel.correlation))
      return join_result::unknown;
    join_result const joined = join(kernel, false);
    if (joined == join_result::unknown) kernel.correlation = own;
    return joined;
  }
  template <class Record>
  static join_result join_by_graph(Record const&) noexcept {
    return join_result::unknown;
  }
  void join_work(strata::copy_record& copied) { add_work(copied, made_.copies, join(copied)); }

  template <class Record>
  void add_work(Record& record, vec<Record>& log, join_result joined) {
    if (joined == join_result::left_out) return;
    if (joined == join_result::unknown) record.node = root_node;
    count_lost_time(record);
    sums_.summing->add(record);
    if (joined == join_result::unknown) ++made_.losses.uncorrelated;
    keep(log, record);
  }

  template <class Record>
  void count_lost_time(Record const& record) noexcept {
    if (time_of(record) == lost_time) ++made_.losses.timestamps_lost;
  }
  template <class Record>
  static void lose_time(Record& record) noexcept {
    record.begin = record.end = lost_time;
  }
  static void lose_time(strata::memory_record&) noexcept {}  // see check_time

  /// Whether a record is of before its call, which is the one that it names.
  template <class Record>
  bool begins_before(Record const& record, driver_call_record const& call) const noexcept {
    std::int64_t const begin = time_of(record);
    return begin != lost_time && translator_.clock().is_before_call(begin, call.begin);
  }

  /// Work on a stream ends before what is behind it on that stream begins. A programmatic dependent
  /// launch begins earlier, but does not end earlier. So work within which two kernels of its
  /// stream ran whole has a wrong time. Kernels of graphs may run concurrently in any stream.
  static constexpr std::int64_t long_ns = 1'000'000;
  static constexpr std::int64_t overlap_ns = 100'000;
  template <class Record>
  static bool is_long(Record const& record) noexcept {
    return time_of(record) != lost_time && record.end - record.begin > long_ns;
  }
  static bool is_long(strata::memory_record const&) noexcept { return false; }
  static bool is_long(strata::synchronization_record const&) noexcept { return false; }

  /// Takes their times from such records. Requires: they are sorted by time. Returns: whether work
  /// stays that what comes later may still show to be such. Cost: a comparison a record, and for a
  /// long one the kernels that began while it ran, within a limit for all of them.
  static bool lose_impossible_lengths(record_lists& lists) {
    std::size_t looks = std::size_t{1} << 22;
    bool any_long = false;
    auto const look_at = [&](auto& records) {
      bool any_lost = false;
      std::size_t next = 0;  // kernel that begins later
      for (auto& record : records) {
        if (!is_long(record) || is_of_graph(record)) continue;
        any_long = true;
        while (next < lists.kernels.size() && time_of(lists.kernels[next]) < record.begin) ++next;
        int within = 0;
        for (std::size_t i = next; i < lists.kernels.size() && within < 2 && looks > 0; ++i) {
          traced_kernel const& other = lists.kernels[i];
          if (other.begin >= record.end - overlap_ns) break;
          --looks;
          bool const is_behind = other.begin >= record.begin && other.stream == record.stream &&
                                 other.context == record.context && !is_of_graph(other);
          within += is_behind && other.end < record.end - overlap_ns ? 1 : 0;
        }
        if (within < 2) continue;
        lose_time(record);
        any_lost = true;
      }
      if (any_lost) sort_by_time(records);
    };
    look_at(lists.copies);
    look_at(lists.kernels);
    return any_long;
  }
  static bool is_of_graph(traced_kernel const& kernel) noexcept { return kernel.graph_node != 0; }
  static bool is_of_graph(strata::copy_record const&) noexcept { return false; }

  /// Whether work without a call of the program is Strata's: CUPTI's Range Profiler launches a
  /// kernel, and Strata waits.
  bool is_own(traced_kernel const& kernel) const noexcept {
    return translator_.is_of_profiler(kernel);
  }
  static bool is_own(strata::synchronization_record const&) noexcept { return true; }
  template <class Record>
  static bool is_own(Record const&) noexcept {
    return false;
  }

  /// Records of calls that put no work on the device: some calls are under way when the callbacks
  /// begin, and so are not known.
  template <class Record>
  void join_call(Record& record, vec<Record>& log) {
    join_result const joined = join(record);
    if (joined == join_result::left_out) return;
    if (joined == join_result::unknown) record.node = root_node;
    if (joined == join_result::unknown && is_stray(record)) return;
    count_lost_time(record);
    check_late_time(record);
    sums_.summing->add(record);
    keep(log, record);
  }
  /// Strata's own waits have no call either: whether the program recorded then is known later.
  bool is_stray(strata::synchronization_record const& wait) {
    if (wait.begin == lost_time) {
      ++made_.losses.timestamps_lost;
    } else if ((strays_.size() < batch || room_.take(sizeof wait)) && strays_.make_room(1)) {
      strays_.push_back(wait);
    } else {
      ++made_.losses.activity_dropped;
    }
    return true;
  }
  static bool is_stray(strata::memory_record const&) noexcept { return false; }

  /// Keeps a record for the timeline, as long as that has room.
  template <class Record>
  void keep(vec<Record>& log, Record const& record) {
    if (!room_.keep(log, record)) ++made_.losses.activity_summed;
  }

  void add_overhead(cupti::overhead_record const& from) {
    overhead_record const made = translator_.made_of(from);
    if (made.begin != lost_time) keep(made_.overheads, made);  // it is CUPTI's, no work of the GPU
  }

  /// A migration has no call: its time alone says whose it is. They are in no other sums, so one
  /// without room is lost.
  void add_migration(cupti::unified_memory_record const& from) {
    migration_record const made = translator_.made_of(from);
    if (made.kind == migration_kind::unknown) return;
    if (made.begin == lost_time) return (void)++made_.losses.timestamps_lost;
    if (!room_.keep(made_.migrations, made)) ++made_.losses.migrations_dropped;
  }

  /// Keeps how many multiprocessors a green context has. An id that comes again is the newest's.
  void describe_context(cupti::context_record const& from) {
    constexpr std::size_t max_contexts = 1024;
    made_.contexts.keep_if([&](auto const& known) { return known.context != from.context_id; });
    bool const has_part = from.is_green != 0 && from.multiprocessors != 0 &&
                          from.multiprocessors != sums_.summing->multiprocessors(from.device_id);
    if (!has_part || made_.contexts.size() == max_contexts) return;
    profile_context const made{from.context_id, from.device_id, from.multiprocessors};
    made_.contexts.push_back(made);
    sums_.summing->describe_context(made);
  }

  memory_budget* budget_;
  graph_captures* captures_;
  graph_launches graphs_;
  system_mutex mutex_;
  record_translator translator_;
  waiting_records waiting_;
  fresh_records fresh_;
  // What was joined.
  timeline_room room_{*budget_};
  profile made_;
  vec<strata::synchronization_record> strays_;
  running_sums sums_;
  atomic<bool> described_{false};
  bool leaves_out_unfinished_ = false;
  std::uint32_t newest_ = 0;   // correlation id that a record bore, 0 before the first one
  std::uint32_t retired_ = 0;  // the newest one when calls were last retired
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_CUDA_ACTIVITY_STORE_HPP
