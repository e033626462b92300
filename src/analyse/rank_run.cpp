#include "rank_run.hpp"

#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/profile.hpp>
#include <strata/profile/range_paths.hpp>
#include <strata/profile/records.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/launch_index.hpp>
#include <strata/tables/range_rows.hpp>
#include <strata/tables/steps.hpp>
#include <strata/tables/steps_summary.hpp>
#include "change_statistics.hpp"
#include "collective_finder.hpp"
#include "kernel_names.hpp"
#include "range_paths.hpp"
#include "rank_collectives.hpp"
#include "run_losses.hpp"
#include "run_ranges.hpp"
#include "run_tables.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

STRATA_BEGIN

namespace detail {

/// Where a rank keeps a collective, by path and name.
class collective_places {
 public:
  /// The position of a collective of this rank, which is added where there was none.
  std::size_t position_of(rank_run& run, std::string_view path, std::string_view kernel,
                          collective_kind const& kind) {
    std::string key(path);
    key += '\n';
    key += kernel;
    std::size_t& number = places_[key];
    if (number == 0) {
      rank_collective made{std::string(path), std::string(kernel), {}};
      made.operation = to_string(kind.operation);
      made.algorithm = kind.algorithm;
      made.protocol = kind.protocol;
      run.collectives.push_back(std::move(made));
      number = run.collectives.size();
    }
    return number - 1;
  }

 private:
  std::unordered_map<std::string, std::size_t> places_;  // position and 1; 0 is none yet
};

/// The path of the range around the last one of a path, and that one.
struct split_path {
  std::string parent;
  std::string_view last;
};
split_path split(std::string_view path) {
  std::size_t const slash = path.rfind('/');
  if (slash == path.npos) return {{}, path};
  return {std::string(path.substr(0, slash)), path.substr(slash + 1)};
}

/// The bytes of NCCL's messages in a mean step, by range.
class message_bytes {
 public:
  void add(std::string_view path, double bytes) {
    if (!(bytes > 0.0)) return;
    by_path_[std::string(path)] += bytes;
    split_path const parts = split(path);
    if (parts.last == "NCCL:ncclSend") ways_[group_of(parts)].sent += bytes;
    if (parts.last == "NCCL:ncclRecv") ways_[group_of(parts)].received += bytes;
    // With NCCL's plugin alone the sends and receives are ranges below the kernel's.
    if (begins_with(parts.last, "NCCL:Send (")) ways_[parts.parent].sent += bytes;
    if (begins_with(parts.last, "NCCL:Recv (")) ways_[parts.parent].received += bytes;
  }
  /// Requires: all bytes were added.
  void add_kernel(rank_collective const& collective) {
    if (!sends(collective)) return;
    split_path const parts = split(collective.path);
    (is_one(parts) ? ways_[group_of(parts)].runs_alone : ways_[collective.path].runs) = true;
  }
  /// Of a collective; NaN where it is not known. For sends and receives the larger of both: where
  /// some of a range ran in a group and others alone, nothing tells whose bytes are whose.
  /// Requires: all kernels were added.
  double of(rank_collective const& collective) const {
    if (sends(collective)) {
      split_path const parts = split(collective.path);
      auto const found = ways_.find(is_one(parts) ? group_of(parts) : collective.path);
      both_ways const ways = found == ways_.end() ? both_ways() : found->second;
      if (ways.runs && ways.runs_alone) return not_a_number;
      double const bytes = std::max(ways.sent, ways.received);
      if (ways.runs && bytes > 0.0) return bytes;
    }
    auto const found = by_path_.find(collective.path);
    return found != by_path_.end() ? found->second : not_a_number;
  }

 private:
  struct both_ways {
    double sent = 0.0;
    double received = 0.0;
    bool runs = false;        ///< the kernel of the group
    bool runs_alone = false;  ///< that of a send or receive
  };
  static bool sends(rank_collective const& collective) {
    return collective.operation == to_string(collective_operation::send_receive);
  }
  /// Whether a range is that of one send or receive.
  static bool is_one(split_path const& parts) {
    return parts.last == "NCCL:ncclSend" || parts.last == "NCCL:ncclRecv";
  }
  /// What is sent in a group is launched where it ends, behind the ranges of its calls.
  static std::string group_of(split_path const& parts) {
    return (parts.parent.empty() ? "" : parts.parent + '/') + "NCCL:ncclGroupEnd";
  }

  std::unordered_map<std::string, double> by_path_;
  std::unordered_map<std::string, both_ways> ways_;  // by the range of the kernel of a group
};

/// Adds to collectives what the ranges of all paths say: the bytes of their messages, and the size
/// of the communicator, where the ranges below agree. Of several collectives in one range the bytes
/// of each are not known. `bytes_of` tells those of a row in a mean step.
template <class Rows, class BytesOf>
void describe_collectives(rank_run& run, Rows const& rows, BytesOf bytes_of) {
  communicator_sizes<std::string> sizes;
  message_bytes messages;
  for (auto const& row : rows) {
    messages.add(row.path, bytes_of(row));
    split_path const parts = split(row.path);
    sizes.add(parts.parent, parts.last);
  }
  std::unordered_map<std::string, int> kernels;
  for (rank_collective const& collective : run.collectives) {
    ++kernels[collective.path];
    messages.add_kernel(collective);
  }
  for (rank_collective& collective : run.collectives) {
    collective.communicator_ranks = sizes.of(collective.path);
    if (kernels[collective.path] == 1) collective.bytes = messages.of(collective);
  }
}

/// The own work of a range, in ns and in launches.
struct own_work {
  double ns = 0.0;
  double launches = 0.0;
  double lost = 0.0;
};

/// The own work of ranges by path, summed where two are one.
/// Cost: O(n log n) for n ranges; a map that is kept in order moves its keys for each new one.
class work_by_path {
 public:
  void add(std::string path, own_work const& work) {
    all_.push_back({std::move(path), work.ns, work.launches, work.lost});
  }
  /// In the order of their paths, without those that did nothing. Takes all out.
  std::vector<rank_range> take() {
    std::stable_sort(all_.begin(), all_.end(),
                     [](rank_range const& a, rank_range const& b) { return a.path < b.path; });
    std::vector<rank_range> ranges;
    for (std::size_t i = 0; i < all_.size();) {
      rank_range sum = std::move(all_[i]);
      while (++i < all_.size() && all_[i].path == sum.path) {
        sum.ns += all_[i].ns;
        sum.launches += all_[i].launches;
        sum.lost += all_[i].lost;
      }
      if (sum.ns > 0.0 || sum.lost > 0.0) ranges.push_back(std::move(sum));
    }
    all_ = {};
    return ranges;
  }

 private:
  std::vector<rank_range> all_;
};

/// The paths of a profile's ranges and the bytes of NCCL's messages in them: of a call_tree what a
/// rank needs, for a fraction of its cost.
class rank_ranges {
 public:
  struct row {
    std::string path;
    double collective_bytes = not_a_number;  ///< in all steps, as range_row has it
    bool is_of_nccl = false;
    bool has_run = false;
  };

  explicit rank_ranges(profile const& source) : layout_(source, false), rows_(layout_.rows()) {
    name_rows(source);
    add_messages(source);
    for (auto i = static_cast<std::uint32_t>(rows_.size()); --i > 0;) {
      row& parent = rows_[layout_.parent(i)];
      row_details::add_given(parent.collective_bytes, rows_[i].collective_bytes);
      parent.has_run = parent.has_run || rows_[i].has_run;
    }
  }

  std::vector<row> const& rows() const noexcept { return rows_; }
  /// Ranges of earlier windows are nodes too.
  std::vector<row> rows_that_ran() const {
    std::vector<row> made;
    std::copy_if(rows_.begin(), rows_.end(), std::back_inserter(made),
                 [](row const& range) { return range.has_run; });
    return made;
  }
  std::uint32_t position_of(std::uint32_t node) const noexcept { return layout_.row_of(node); }

 private:
  void name_rows(profile const& source) {
    std::vector<path_end> ends(rows_.size());
    for (std::uint32_t i = 1; i < rows_.size(); ++i) {
      profile_node const& node = source.nodes[layout_.first_node(i)];
      std::string const name =
          node.name < source.names.size() ? source.names[node.name] : "[unknown]";
      std::uint32_t const above = layout_.parent(i);
      rows_[i].is_of_nccl = begins_with(name, nccl_domain);
      rows_[i].path =
          path_below(rows_[above].path, ends[above], name_with_index(name, node.index), ends[i]);
    }
  }
  void add_messages(profile const& source) {
    auto const add = [this](std::uint32_t node, double bytes) {
      row& made = rows_[layout_.row_of(node)];
      if (made.is_of_nccl && layout_.has_own_row(node))
        row_details::add_given(made.collective_bytes, bytes);
    };
    captured_calls const calls(source);
    for (range_record const& range : source.ranges) {
      rows_[layout_.row_of(range.node)].has_run = true;
      bool const is_described =
          range.attribute != no_reference && range.attribute <= source.attributes.size();
      if (is_described && !calls.only_captured(range))
        add(range.node, source.attributes[range.attribute - 1].bytes);
    }
    for (overflow_sums const& summed : source.summed_ranges) {
      rows_[layout_.row_of(summed.node)].has_run = true;
      if (summed.bytes != 0.0) add(summed.node, summed.bytes);
    }
  }

  row_layout layout_;
  std::vector<row> rows_;
};

/// Reads a rank from its records, step by step.
class rank_recording {
 public:
  /// Requires: a whole timeline with steps.
  explicit rank_recording(profile const& source)
      : source_(source), ranges_(source), launches_(source), finder_(source, no_tree_) {}

  rank_run read() {
    describe();
    find_steps();
    collect_work();
    describe_collectives(made_, ranges_.rows_that_ran(), [this](rank_ranges::row const& row) {
      return row.collective_bytes / static_cast<double>(source_.steps.size());
    });
    keep_last_steps();
    add_times();
    return std::move(made_);
  }

 private:
  static constexpr std::uint32_t no_collective = 0xffffffffu;
  /// Values of collectives that are kept of a rank: 128 KB.
  static constexpr std::size_t most_values = std::size_t{1} << 14;
  static constexpr std::size_t fewest_steps = 16;  ///< of which values are kept; chosen
  static constexpr std::size_t most_steps = 1000;  ///< the same; chosen

  /// A kernel or copy in one of the steps.
  struct work {
    std::int64_t begin;
    std::int64_t end;
    std::uint32_t sample;
    std::uint32_t row;         ///< of the ranges
    std::uint32_t collective;  ///< position, or no_collective
  };

  void describe() {
    profile_environment const& environment = source_.environment;
    made_.rank = environment.rank;
    made_.host = environment.host;
    made_.command = environment.command;
    made_.began_at = environment.started_at_unix_ns;
    made_.ended_at = add_saturated(made_.began_at, source_.end);
    if (!environment.devices.empty()) made_.device = environment.devices[0].name;
    made_.step_ns = make_mean_step(source_, no_tree_, no_tree_.rows()).mean_ns;
    made_.by_step = true;
    made_.losses = losses_of(source_.losses);
  }
  /// The first step pays for what the others find done.
  void find_steps() {
    for (step_record const& step : source_.steps) made_.steps.push_back(step.step);
    std::sort(made_.steps.begin(), made_.steps.end());
    made_.recorded_steps = made_.steps.size();
    if (made_.steps.size() > 1) made_.steps.erase(made_.steps.begin());
  }

  void collect_work() {
    launches_.visit_work(
        [this](auto const& record, std::uint32_t launch) { add_work(record, launch); });
    std::stable_sort(work_.begin(), work_.end(), [](work const& a, work const& b) {
      return a.sample != b.sample ? a.sample < b.sample : a.begin < b.begin;
    });
    auto const add_lost = [this](auto const& records) {
      for (auto const& record : records) {
        std::uint32_t const launch = launches_.launch_of(record.correlation);
        if (launch != launch_index::none && record.begin == lost_time) add_work(record, launch);
      }
    };
    add_lost(source_.kernels);
    add_lost(source_.copies);
  }
  template <class Record>
  void add_work(Record const& record, std::uint32_t launch) {
    std::uint32_t const step = source_.launches[launch].step;
    auto const sample = static_cast<std::size_t>(
        std::lower_bound(made_.steps.begin(), made_.steps.end(), step) - made_.steps.begin());
    if (sample == made_.steps.size() || made_.steps[sample] != step) return;
    std::uint32_t const row = ranges_.position_of(record.node);
    work_.push_back({record.begin, record.end, static_cast<std::uint32_t>(sample), row,
                     collective_of(row, record)});
  }
  /// The position of a kernel in a row among the collectives.
  std::uint32_t collective_of(std::uint32_t row, kernel_record const& kernel) {
    std::uint32_t& coded = places_[std::uint64_t{row} << 32 | kernel.name];
    if (coded == 0) coded = find_collective(row, kernel.name) + 2;  // no_collective is 1 then
    return coded - 2;
  }
  static std::uint32_t collective_of(std::uint32_t, copy_record const&) noexcept {
    return no_collective;
  }
  std::uint32_t find_collective(std::uint32_t row, std::uint32_t name) {
    rank_ranges::row const& range = ranges_.rows()[row];
    collective_kind const kind = finder_.find(range.path, name);
    if (!kind) return no_collective;
    return static_cast<std::uint32_t>(
        collectives_.position_of(made_, range.path, short_kernel_name(source_, name), kind));
  }

  /// Of long runs the last steps, so that memory stays bounded.
  void keep_last_steps() {
    std::size_t const most =
        std::max(fewest_steps, most_values / std::max(std::size_t{1}, made_.collectives.size()));
    std::size_t const kept = std::min(most, most_steps);
    if (made_.steps.size() <= kept) return;
    first_ = made_.steps.size() - kept;
    made_.steps.erase(made_.steps.begin(),
                      made_.steps.begin() + static_cast<std::ptrdiff_t>(first_));
    work_.erase(std::remove_if(work_.begin(), work_.end(),
                               [this](work const& item) { return item.sample < first_; }),
                work_.end());
  }

  void add_times() {
    std::size_t const steps = made_.steps.size();
    made_.busy_ns.resize(steps, 0.0);
    made_.work_ns.resize(steps, 0.0);
    made_.lost_work.resize(steps, 0.0);
    for (rank_collective& collective : made_.collectives) {
      for (std::vector<double>* const values :
           {&collective.ns, &collective.launches, &collective.lost})
        values->resize(steps, 0.0);
      collective.ends.resize(steps, 0);
    }
    std::vector<own_work> own(ranges_.rows().size());
    std::int64_t busy_until = lost_time;
    std::int64_t work_until = lost_time;
    for (work const& item : work_) {
      std::size_t const sample = item.sample - first_;
      double const lost = item.begin == lost_time ? 1.0 : 0.0;
      made_.busy_ns[sample] += newly_covered(item, busy_until);
      auto const ns = static_cast<double>(elapsed(item.begin, item.end));
      if (item.collective != no_collective) {
        rank_collective& collective = made_.collectives[item.collective];
        collective.ns[sample] += ns;
        collective.launches[sample] += 1.0;
        collective.lost[sample] += lost;
        if (item.begin != lost_time && made_.began_at != 0)
          collective.ends[sample] =
              std::max(collective.ends[sample], add_saturated(made_.began_at, item.end));
        continue;
      }
      made_.work_ns[sample] += newly_covered(item, work_until);
      made_.lost_work[sample] += lost;
      own[item.row].ns += ns;
      own[item.row].launches += 1.0;
      own[item.row].lost += lost;
    }
    for (rank_collective& collective : made_.collectives)  // none lost, as usual
      if (std::all_of(collective.lost.begin(), collective.lost.end(),
                      [](double lost) { return lost == 0.0; }))
        collective.lost = {};
    work_by_path by_path;
    for (std::size_t row = 0; row < own.size(); ++row)
      if (own[row].launches > 0.0)
        by_path.add(with_folded_indices(ranges_.rows()[row].path), own[row]);
    made_.ranges = by_path.take();
    for (rank_range& range : made_.ranges)
      for (double* const value : {&range.ns, &range.launches, &range.lost})
        *value /= static_cast<double>(steps);
  }
  /// The time of this work behind `until`, which becomes its end.
  static double newly_covered(work const& item, std::int64_t& until) {
    std::int64_t const ns = elapsed(std::max(item.begin, until), item.end);
    until = std::max(until, item.end);
    return static_cast<double>(ns);
  }

  profile const& source_;
  call_tree const no_tree_{profile()};  ///< the length of a step needs no ranges
  rank_ranges ranges_;
  launch_index launches_;
  collective_finder finder_;
  rank_run made_;
  std::vector<work> work_;
  std::size_t first_ = 0;  ///< of the samples that are kept
  std::unordered_map<std::uint64_t, std::uint32_t>
      places_;  ///< by row and name: the collective's position and 2
  collective_places collectives_;
};

/// Reads a rank from the sums of its tables: its mean step. Work in ranges that lie outside
/// of steps is left out, and so is the first step where its part is known.
class rank_means {
 public:
  explicit rank_means(run_tables const& source) : source_(source) {}

  rank_run read() {
    describe();
    made_.busy_ns.push_back(0.0);
    made_.work_ns.push_back(0.0);
    for (run_row const& row : source_.ranges) add_range(row);
    for (run_kernel const& row : source_.kernels) add_kernel(row);
    describe_collectives(made_, source_.ranges, [this](run_row const& row) {
      return once_.count(row.path) == 0 ? number(row, "collective_bytes") / steps_ : not_a_number;
    });
    made_.ranges = work_.take();
    made_.lost_work.push_back(0.0);
    for (rank_range const& range : made_.ranges) {
      made_.work_ns[0] += range.ns;
      made_.lost_work[0] += range.lost;
    }
    made_.work_ns[0] = std::min(made_.work_ns[0], made_.busy_ns[0]);
    double const squares = made_.collectives.empty() ? work_squares_ : collective_squares_;
    made_.deviation_ns = std::sqrt(squares / steps_);
    return std::move(made_);
  }

 private:
  double number(run_row const& row, char const* name) const { return source_.number(row, name); }
  bool has(run_row const& row, char const* name) const {
    return source_.number(row, name, -1.0) >= 0.0;
  }
  /// A sum of the run in a mean step.
  double per_step(double sum, double first, bool knows_first) const {
    averaged_steps const later{steps_, steps_ >= 2.0 && knows_first};
    return later.mean(sum, first);
  }

  void describe() {
    run_origin const& origin = source_.origin;
    made_.rank = origin.rank;
    made_.host = origin.host;
    made_.command = origin.command;
    made_.losses = source_.losses;
    std::vector<double> all;
    double end = 0.0;
    for (run_step const& step : source_.steps) {
      all.push_back(step.ns);
      end = std::max(end, step.end_ns);
    }
    constexpr double most = 4e18;  // ns, below 2^62
    if (origin.started_at_unix_ns > 0 && end < most) {
      made_.began_at = origin.started_at_unix_ns;
      made_.ended_at = add_saturated(made_.began_at, static_cast<std::int64_t>(end));
    }
    if (!source_.devices.empty()) made_.device = source_.devices[0].name;
    made_.recorded_steps = all.size();
    steps_ = std::max(1.0, static_cast<double>(all.size()));
    averaged_steps const later{steps_, all.size() > 1};
    made_.step_ns = all.empty() ? 0.0 : later.mean(mean(all) * steps_, all[0]);
  }

  void add_range(run_row const& row) {
    std::string const& path = row.path;
    if (path.empty())
      made_.busy_ns[0] = per_step(number(row, "gpu_busy_ns"), number(row, "first_step_gpu_busy_ns"),
                                  has(row, "first_step_gpu_busy_ns"));
    bool const is_outside =
        number(row, "calls") > 0.0 && source_.number(row, "step_share", 1.0) <= 0.0;
    if (is_outside) {
      once_.insert(path);
      return;
    }
    work_.add(with_folded_indices(path),
              {number(row, "gpu_copy_self_ns") / steps_, number(row, "copies_self") / steps_, 0.0});
  }
  void add_kernel(run_kernel const& row) {
    if (once_.count(row.path) != 0) return;
    call_times const& times = row.times;
    double const ns = per_step(times.total, times.first_total, times.knows_first);
    collective_kind const kind = kind_of(row);
    double const squares = times.count * std::pow(times.deviation, 2);
    double const lost = std::min(untimed_launches(times), made_.losses.device_times) / steps_;
    if (!kind) {
      work_.add(with_folded_indices(row.path), {ns, times.count / steps_, lost});
      work_squares_ += squares;
      return;
    }
    if (!(ns + lost > 0.0)) return;  // it ran in the first step alone
    collective_squares_ += squares;
    rank_collective& made =
        made_.collectives[collectives_.position_of(made_, row.path, row.kernel, kind)];
    for (std::vector<double>* const values : {&made.ns, &made.launches, &made.lost})
      values->resize(1, 0.0);
    made.ns[0] += ns;
    made.launches[0] += times.count / steps_;
    made.lost[0] += lost;
  }
  /// By its column, which an older file does not have.
  static collective_kind kind_of(run_kernel const& row) {
    if (!row.knows_collective)
      return collective_in(row.path, collective_named(row.kernel, row.demangled, {}));
    collective_kind kind;
    kind.operation = collective_operation_of(row.collective);
    kind.algorithm = row.algorithm;
    kind.protocol = row.protocol;
    return kind;
  }

  run_tables const& source_;
  rank_run made_;
  double steps_ = 1.0;
  double collective_squares_ = 0.0;  // ns squared: of launches around the means of their kernels
  double work_squares_ = 0.0;        // the same of what is no collective
  std::set<std::string> once_;       // paths of ranges outside of steps
  work_by_path work_;
  collective_places collectives_;
};

}  // namespace detail

bool has_rank_steps(profile const& recorded) noexcept {
  return recorded.traced && recorded.has_whole_timeline() && recorded.steps.size() > 1 &&
         recorded.losses.steps_summed == 0;
}

rank_run read_rank(profile const& recorded) { return detail::rank_recording(recorded).read(); }

rank_run read_rank(run_tables const& file) { return detail::rank_means(file).read(); }

STRATA_END
