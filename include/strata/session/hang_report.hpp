#ifndef STRATA_SESSION_HANG_REPORT_HPP
#define STRATA_SESSION_HANG_REPORT_HPP

#include <strata/collect/cuda/activity.hpp>
#include <strata/profile/range_paths.hpp>
#include <strata/session/own_threads.hpp>

STRATA_BEGIN
namespace detail {

/// Where the program is while a device does not answer: the ranges that are open in all threads,
/// and the calls whose work has not ended. It reads what threads publish while they run.
/// Threads: one at a time.
class hang_finder {
 public:
  /// Ages are by the rate of the clock since now. Throws where no memory is left for the recorder.
  hang_finder() : first_(now()) {}

  /// The ranges that are open. Requires: the session records.
  void look_at_ranges(profile_hang& hang) {
    recorder& all = recorder::instance();
    program_now const program(rate_so_far());
    auto const add = [&](std::uint32_t thread, std::uint32_t node, std::int64_t begin) {
      hung_range open;
      open.path = program.path_of(node);
      open.thread = thread;
      if (begin != open_ranges::no_begin) open.open_ns = program.age_ns(begin);
      hang.ranges.push_back(open);
    };
    auto const just_ended = static_cast<std::int64_t>(end_ns / program.rate.ns_per_tick());
    all.state().left.for_each(program.ticks - just_ended, add);
    all.for_each_thread([&](thread_recorder const& thread) {
      std::uint32_t const number = thread.ordinal();
      thread.for_each_open(
          all.session(), [&](std::uint32_t node, std::int64_t begin) { add(number, node, begin); });
    });
  }

  /// The calls whose work has not arrived.
  void look_at_work(profile_hang& hang) {
    program_now const program(rate_so_far());
    vec<hung_work> by_node(program.nodes.size());
    activity_collector::instance().for_each_unfinished([&](driver_call_record const& call) {
      if (call.node >= by_node.size()) return;
      hung_work& work = by_node[call.node];
      std::int64_t const age = program.age_ns(call.begin);
      work.last_ns = work.calls == 0 ? age : smaller(work.last_ns, age);
      ++work.calls;
    });
    for (std::size_t node = 0; node < by_node.size(); ++node) {
      if (by_node[node].calls == 0) continue;
      by_node[node].path = program.path_of(static_cast<std::uint32_t>(node));
      hang.work.push_back(by_node[node]);
    }
    hang.work.sort([](hung_work const& a, hung_work const& b) { return a.calls > b.calls; });
  }

  /// A device does not answer: adds those calls to the ranges that were open, and prints all of it.
  /// `all_came`: all records of what has ended have come.
  /// Returns: the sentence for the report.
  status report(profile_hang& hang, bool all_came) {
    hang.found = true;
    look_at_work(hang);
    print("the GPU does not answer, and the report has what came before", hang, all_came);
    return {errc::limit, sentence_of(hang, all_came)};
  }

  /// The rank of this process in a distributed run, which sentences name then; -1: it is alone.
  static void set_rank(int rank) noexcept { rank_now().store(rank); }

  /// How many calls those are.
  static std::uint64_t calls_in(profile_hang const& hang) noexcept {
    std::uint64_t sum = 0;
    for (hung_work const& work : hang.work) sum += work.calls;
    return sum;
  }

  /// "1 call still ran at the end: launched in all-reduce 12.3 s ago".
  static std::string sentence_of(profile_hang const& hang, bool all_came) {
    std::uint64_t const calls = calls_in(hang);
    if (calls == 0) return "the GPU did not answer at the end" + rank_text(" of ");
    hung_work const& most = hang.work.front();
    sentence text;
    text << "the work of " << calls << (calls == 1 ? " call" : " calls") << rank_text(" of ")
         << (all_came ? " still ran on the GPU at the end: " : " had no record at the end: ")
         << (hang.work.size() == 1 ? "launched " : "the most were launched ") << in_range(most.path)
         << ", " << (calls == 1 ? "" : "the last one ") << seconds(most.last_ns) << " ago";
    return text;
  }

  /// The path of a node of the session that records now; "" is outside ranges.
  static std::string path_now(std::uint32_t node) {
    return program_now(tick_converter()).path_of(node);
  }
  static std::string seconds(std::int64_t ns) {
    return fixed_string(static_cast<double>(ns) * 1e-9, 1) + " s";
  }

  /// Prints it, one range a line, the innermost of each thread last. `heading`: what is known of
  /// the hang. CUPTI holds back a buffer in which a kernel still runs.
  static void print(char const* heading, profile_hang const& hang, bool all_came) {
    quiet_writes const quiet;
    std::string const whose = rank_text("");
    std::string const first = sentence(heading)
                              << "; " << (whose.empty() ? "the program" : whose.c_str()) << ':';
    say(first.c_str());
    std::string const begin = whose.empty() ? "  " : "  " + whose + ", ";
    std::size_t lines = 0;
    for (hung_range const& open : hang.ranges) {
      if (++lines > max_lines) break;
      std::string line = sentence(begin) << "thread " << open.thread << " is in " << open.path;
      if (open.open_ns >= 0) line += ", for " + seconds(open.open_ns);
      say(line.c_str());
    }
    if (hang.ranges.empty()) say((begin + "no range is open").c_str());
    if (lines > max_lines) say((begin + "and in more ranges, which are not listed").c_str());
    lines = 0;
    for (hung_work const& work : hang.work) {
      if (++lines > max_lines) break;
      std::string const line = sentence(begin)
                               << "on the GPU: " << work.calls
                               << (work.calls == 1 ? " call " : " calls ") << in_range(work.path)
                               << (all_came ? " without an end" : " without a record")
                               << ", the last one " << seconds(work.last_ns) << " ago";
      say(line.c_str());
    }
  }

 private:
  static constexpr std::size_t max_lines = 40;
  /// How long the program's own exit handlers may take, after main has ended.
  static constexpr double end_ns = 5e9;

  static atomic<int>& rank_now() noexcept {
    static atomic<int> rank{-1};
    return rank;
  }
  /// These words and "rank 3"; empty for a process that is alone.
  static std::string rank_text(char const* words) {
    int const rank = rank_now().load();
    if (rank < 0) return {};
    return sentence(words) << "rank " << rank;
  }

  static clock_sample now() { return sample_clock(recorder::instance().clock(), kernel_ns); }
  tick_converter rate_so_far() const {
    constexpr std::int64_t shortest_ns = 2'000'000;  // for a rate exact to 0.1 %
    clock_sample last = now();
    for (deadline patience(2 * shortest_ns);
         last.other - first_.other < shortest_ns && patience.lasts();)
      last = now();
    return {first_, last};
  }

  /// The ranges that the program has, and the time.
  struct program_now {
    explicit program_now(tick_converter const& so_far)
        : rate(so_far),
          ticks(recorder::instance().clock().now()),
          nodes(recorder::instance().state().nodes.nodes()),
          names(recorder::instance().state().names.texts()) {}

    std::int64_t age_ns(std::int64_t begin) const noexcept {
      return larger(std::int64_t{0}, rate.duration_ns(ticks - begin));
    }
    std::string path_of(std::uint32_t node) const {
      vec<std::uint32_t> around;  // the innermost first
      for (; node != root_node && node < nodes.size(); node = nodes[node].parent)
        around.push_back(node);
      std::string path;
      path_end end;
      while (!around.empty()) {
        node_table::node const& one = nodes[around.back()];
        std::string const name = one.name < names.size() ? names[one.name] : std::string();
        path = path_below(path, end, name_with_index(name, one.index), end);
        around.pop_back();
      }
      return path;
    }

    tick_converter rate;
    std::int64_t ticks;
    vec<node_table::node> nodes;
    vec<std::string> names;
  };

  clock_sample first_;
};

/// Says on the console where the program is when nothing has gone on for a while: no range or step
/// began or ended, no call into the driver was followed, no record came, and a range is open or
/// device work is without its end. A thread of its own looks, which calls neither CUPTI nor the
/// driver, and takes no lock that is held while a device is waited for.
class watchdog : uncopied {
 public:
  ~watchdog() { stop(); }

  /// Errors: unavailable: no thread can be started.
  status start(std::uint32_t patience_s) {
    patience_ns_ = std::int64_t{patience_s} * 1'000'000'000;
    if (patience_s == 0) return {};
    ended_.reset();
    if (thread_.start(&run, this)) return {};
    return {errc::unavailable,
            "watchdog= does not watch, since no thread can be started: raise ulimit -u"};
  }

  /// Ends the thread. Threads: any.
  void stop() noexcept {
    if (!thread_.runs()) return;
    ended_.make();
    thread_.join();
  }

 private:
  static constexpr std::int64_t period_ns = 50'000'000;
  static constexpr std::int64_t between_reports_ns = 60'000'000'000;

  /// Until the session ends, or no other thread is left in the process.
  static void* run(void* context) {
    auto& self = *static_cast<watchdog*>(context);
    name_thread("strata-watchdog");
    own_thread const counted;
    program_threads program;
    while (!program.have_ended()) {
      self.ended_.pause(program.pause(period_ns));
      if (self.ended_.is_made()) break;
      (void)if_memory_allows([&self] { self.look(); });
    }
    return nullptr;
  }

  void look() {
    std::int64_t const now = kernel_ns();
    std::uint64_t const mark = recorder_mark() * 31 + activity_collector::instance().mark();
    if (mark != mark_ || since_ == 0) {
      mark_ = mark;
      since_ = now;
      return;
    }
    if (now - since_ < patience_ns_ || now < next_) return;
    profile_hang found;
    finder_.look_at_ranges(found);
    finder_.look_at_work(found);
    if (found.ranges.empty() && found.work.empty()) return;
    next_ = now + between_reports_ns;
    std::string const heading = sentence("nothing has gone on for ")
                                << (now - since_) / 1'000'000'000 << " s (watchdog=)";
    hang_finder::print(heading.c_str(), found, false);
  }

  /// Another number after each range and step.
  static std::uint64_t recorder_mark() {
    recorder& all = recorder::instance();
    std::uint64_t mark = all.steps_begun();
    all.for_each_thread([&](thread_recorder const& thread) { mark = mark * 31 + thread.mark(); });
    return mark;
  }

  hang_finder finder_;
  std::int64_t patience_ns_ = 0;
  std::int64_t since_ = 0;
  std::int64_t next_ = 0;
  std::uint64_t mark_ = 0;
  stop_request ended_;
  owned_thread thread_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_HANG_REPORT_HPP
