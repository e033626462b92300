#include <strata/version.hpp>
#ifndef STRATA_PROFILE_HPP
#define STRATA_PROFILE_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile/metric_set.hpp>
#include <strata/profile/records.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

STRATA_BEGIN

/// Durations of one kind, as running sums and a logarithmic histogram.
/// Units: ns. Quantiles have a relative error below 0.8 % and are exact for one value.
class duration_statistics {
 public:
  void add(std::int64_t duration) noexcept;
  void add(duration_statistics const& other);
  /// Converts the durations to another unit: each is multiplied by the factor.
  void scale(double factor);
  std::uint64_t count() const noexcept { return count_; }
  double sum() const noexcept { return sum_; }
  double sum_of_squares() const noexcept { return sum_of_squares_; }
  std::int64_t minimum() const noexcept { return count_ == 0 ? 0 : minimum_; }
  std::int64_t maximum() const noexcept { return maximum_; }
  double mean() const noexcept { return count_ == 0 ? 0.0 : sum_ / static_cast<double>(count_); }
  /// The value below which the given fraction (0 to 1) lies.
  std::int64_t quantile(double fraction) const noexcept;

 private:
  static std::size_t bucket(std::int64_t duration) noexcept;
  static std::int64_t middle(std::size_t bucket) noexcept;
  void widen(std::size_t first, std::size_t last);

  std::uint64_t count_ = 0;
  double sum_ = 0.0;
  double sum_of_squares_ = 0.0;
  std::int64_t minimum_ = 0;
  std::int64_t maximum_ = 0;
  std::size_t first_bucket_ = 0;
  vec<std::uint32_t> histogram_;  ///< from first_bucket_ on, as far as there are values
};

inline std::size_t duration_statistics::bucket(std::int64_t duration) noexcept {
  // 64 linear parts an octave: values below 128 ns are exact.
  if (duration < 128) return duration < 0 ? 0 : static_cast<std::size_t>(duration);
  auto const value = static_cast<std::uint64_t>(duration);
  unsigned octave = 0;
#if defined(__GNUC__)
  octave = 57u - static_cast<unsigned>(__builtin_clzll(value));
#else
  for (auto rest = value; rest >= 128; rest >>= 1) ++octave;
#endif
  return 64u * octave + static_cast<std::size_t>(value >> octave);
}

inline std::int64_t duration_statistics::middle(std::size_t bucket) noexcept {
  if (bucket < 128) return static_cast<std::int64_t>(bucket);
  std::size_t const octave = (bucket - 64) / 64;
  std::int64_t const low = static_cast<std::int64_t>(bucket - 64 * octave) << octave;
  return low + (std::int64_t{1} << octave) / 2;
}

inline void duration_statistics::widen(std::size_t first, std::size_t last) {
  if (histogram_.empty()) first_bucket_ = first;
  if (first < first_bucket_) {
    histogram_.insert(histogram_.begin(), first_bucket_ - first, 0u);
    first_bucket_ = first;
  }
  if (last - first_bucket_ >= histogram_.size()) histogram_.resize(last - first_bucket_ + 1);
}

inline void duration_statistics::add(std::int64_t duration) noexcept {
  minimum_ = count_ == 0 || duration < minimum_ ? duration : minimum_;
  maximum_ = count_ == 0 || duration > maximum_ ? duration : maximum_;
  ++count_;
  auto const value = static_cast<double>(duration);
  sum_ += value;
  sum_of_squares_ += value * value;
  std::size_t const at = bucket(duration);
  if (at < first_bucket_ || at - first_bucket_ >= histogram_.size()) widen(at, at);
  ++histogram_[at - first_bucket_];
}

inline void duration_statistics::add(duration_statistics const& other) {
  if (other.count_ == 0) return;
  minimum_ = count_ == 0 || other.minimum_ < minimum_ ? other.minimum_ : minimum_;
  maximum_ = count_ == 0 || other.maximum_ > maximum_ ? other.maximum_ : maximum_;
  count_ += other.count_;
  sum_ += other.sum_;
  sum_of_squares_ += other.sum_of_squares_;
  widen(other.first_bucket_, other.first_bucket_ + other.histogram_.size() - 1);
  std::uint32_t* const to = histogram_.data() + (other.first_bucket_ - first_bucket_);
  for (std::size_t i = 0; i < other.histogram_.size(); ++i) to[i] += other.histogram_[i];
}

inline void duration_statistics::scale(double factor) {
  auto const convert = [factor](std::int64_t duration) {
    double const value = static_cast<double>(duration) * factor;
    return value < 9.2e18 ? static_cast<std::int64_t>(value)
                          : std::int64_t{9'200'000'000'000'000'000};
  };
  duration_statistics scaled;
  for (std::size_t i = 0; i < histogram_.size(); ++i) {
    if (histogram_[i] == 0) continue;
    std::size_t const to = bucket(convert(middle(first_bucket_ + i)));
    scaled.widen(to, to);
    scaled.histogram_[to - scaled.first_bucket_] += histogram_[i];
  }
  scaled.count_ = count_;
  scaled.sum_ = sum_ * factor;
  scaled.sum_of_squares_ = sum_of_squares_ * factor * factor;
  scaled.minimum_ = convert(minimum_);
  scaled.maximum_ = convert(maximum_);
  *this = scaled;
}

inline std::int64_t duration_statistics::quantile(double fraction) const noexcept {
  if (count_ == 0 || !(fraction > 0.0)) return minimum();
  if (fraction >= 1.0) return maximum_;
  auto const rank = static_cast<std::uint64_t>(fraction * static_cast<double>(count_ - 1) + 0.5);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < histogram_.size(); ++i) {
    seen += histogram_[i];
    if (seen > rank) {
      std::int64_t const value = middle(first_bucket_ + i);
      return value < minimum_ ? minimum_ : value > maximum_ ? maximum_ : value;
    }
  }
  return maximum_;
}

/// A place in the call tree: a name (with an index where one was given) below a parent.
/// Nodes are ordered so that a parent comes before its children; node 0 is the root.
struct profile_node {
  std::uint32_t parent;
  std::uint32_t name;   ///< position in profile::names
  std::int64_t index;   ///< no_index, any_index or the index
  std::uint32_t depth;  ///< 0 at the root
  bool selected;        ///< false where `only=` leaves it out
};

/// The calls of one node that the log could not keep one by one: sums never drop.
struct overflow_sums {
  std::uint32_t node = root_node;
  duration_statistics durations;
  double flops = 0.0;
  double bytes = 0.0;
  double tokens = 0.0;
};

/// Host time of a node's calls in threads that had inherited the place above it: no part of its
/// parent's time.
struct inherited_time {
  std::uint32_t node = root_node;
  std::uint32_t from = root_node;  ///< what such a thread itself was in, which contains the time
  std::int64_t total = 0;
};

/// A kernel name: as the compiler wrote it (mangled); it is demangled only when reported.
struct kernel_name {
  std::string mangled;
};

struct profile_thread {
  std::uint32_t ordinal = 0;
  std::uint64_t os_id = 0;
  std::string name;
};

struct profile_device {
  std::uint32_t ordinal = 0;
  std::string name;
  std::uint32_t multiprocessors = 0;
  std::uint32_t compute_capability_major = 0;
  std::uint32_t compute_capability_minor = 0;
  std::uint32_t clock_khz = 0;
  std::uint32_t memory_clock_khz = 0;
  std::uint32_t memory_bus_bits = 0;
  std::uint64_t l2_bytes = 0;
  std::uint64_t memory_bytes = 0;
};

/// Where and how the profile was made.
struct profile_environment {
  std::string host;
  std::string command;
  std::string configuration;  ///< the text of STRATA, or what the code configured
  std::string started_at;     ///< UTC, ISO 8601
  std::string cpu;
  std::string clock;       ///< "tsc", "cntvct" or "steady_clock"
  std::string cupti_path;  ///< empty when CUPTI was not used
  std::uint32_t cupti_version = 0;
  std::uint32_t driver_version = 0;
  std::uint64_t process_id = 0;
  std::int64_t started_at_unix_ns = 0;
  std::int32_t rank = -1;  ///< of a distributed run, -1 when there is one process
  vec<profile_device> devices;
};

/// What could not be kept, each counted; all zero in a complete profile.
struct profile_losses {
  std::uint64_t ranges_folded = 0;     ///< calls kept in sums only, because the log was full
  std::uint64_t ranges_left_open = 0;  ///< not ended when the session ended
  std::uint64_t ranges_ended_elsewhere =
      0;                              ///< ended by another thread than the one that began them
  std::uint64_t ranges_too_deep = 0;  ///< nested deeper than the limit, counted in `[deeper]`
  std::uint64_t names_refused =
      0;  ///< calls whose name was one too many, counted in `[other names]`
  std::uint64_t indices_refused = 0;  ///< calls whose index was one too many, counted in `[*]`
  std::uint64_t nodes_refused =
      0;  ///< calls whose place in the tree was one too many, counted in `[other ranges]`
  std::uint64_t pops_without_push = 0;
  std::uint64_t launches_dropped = 0;     ///< calls into the driver beyond the memory limit
  std::uint64_t activity_dropped = 0;     ///< records that CUPTI says it dropped
  std::uint64_t activity_refused = 0;     ///< records beyond the memory limit
  std::uint64_t buffers_refused = 0;      ///< buffer requests of CUPTI beyond the memory limit
  std::uint64_t uncorrelated = 0;         ///< kernels and copies without a known launch
  std::uint64_t timestamps_lost = 0;      ///< kernels and copies whose times the device lost
  std::uint64_t counter_ranges_lost = 0;  ///< ranges that CUPTI's profiler refused or dropped
  std::uint64_t spans_dropped = 0;        ///< start/end ranges and marks beyond the memory limit
  std::uint64_t spans_left_open = 0;      ///< start/end ranges not ended when the session ended
  std::uint64_t threads_refused = 0;  ///< threads beyond the limit, whose ranges were not recorded
};

/// What the instrumentation itself cost the program.
struct profile_cost {
  double seconds_in_window = 0.0;  ///< how long was recorded
  double range_ns = 0.0;           ///< measured cost of one recorded range
  std::uint64_t ranges = 0;        ///< ranges recorded
  std::uint64_t callbacks = 0;     ///< launch callbacks served
  double callback_ns = 0.0;        ///< measured cost of one launch callback
  double activity_seconds =
      0.0;  ///< time in CUPTI's buffer callbacks, on CUPTI's threads for the most part
  double flush_seconds = 0.0;        ///< time that a thread of the program waited for a flush
  double start_seconds = 0.0;        ///< time to start the collectors
  std::uint64_t counter_reads = 0;   ///< readings of the CPU's counters
  double counter_read_ns = 0.0;      ///< what one took
  std::uint64_t log_bytes = 0;       ///< memory of the logs
  std::uint64_t activity_bytes = 0;  ///< memory of activity buffers and records
};

/// What one range, without the ranges below it, counted: in one step, or in all recorded calls
/// (counter_set::method).
struct counter_value {
  std::uint32_t node;
  std::uint32_t counter;  ///< position in counter_set::names
  double value;
};

/// The counting steps that a counter took.
struct counter_origin {
  std::uint32_t first_pass;  ///< from 0
  std::uint32_t passes;
};

/// What one range, without the ranges below it, put on the device in one counting step. Equal
/// hashes mean the same work.
struct counted_work {
  std::uint32_t node;
  std::uint32_t pass;      ///< of the counting, from 0
  std::uint32_t launches;  ///< of kernels and graphs, copies and fills
  std::uint32_t foreign;   ///< by other threads while this range was counted
  std::uint64_t what;      ///< hash of the kernels' names, in any order
  std::uint64_t shapes;    ///< hash of the names with their grids and blocks
  double threads;          ///< of the kernels whose launch parameters are known
};

/// What the launches of one kernel in one range counted in a step, summed up.
struct counted_kernel {
  std::uint32_t node;
  std::uint32_t name;          ///< 1-based in profile::kernel_names
  std::uint64_t launches_min;  ///< in the steps that counted
  std::uint64_t launches_max;
  vec<double> values;  ///< in the order of counter_set::names; NaN: no value
};

/// How the values of a counter_set were counted.
enum class counting : std::uint8_t {
  passes,        ///< in counting steps after the timed ones, one pass of the profiler a step
  while_running  ///< in the timed steps: sums over all recorded calls
};

/// Counters of one origin: what was asked for, and what was counted by range or by kernel.
struct counter_set {
  static constexpr std::string_view gpu = "counters";
  static constexpr std::string_view gpu_kernels = "kernel_counters";
  static constexpr std::string_view cpu = "cpu_counters";

  std::string name;  ///< key in profile.json, stem of the names of the CSV files
  counting method = counting::passes;
  std::string where;            ///< the chip, as CUPTI names it; the model of a CPU
  vec<std::uint32_t> devices;   ///< that were counted, as the driver numbers them; a CPU has none
  std::string about;            ///< of values counted while_running: sentences for the console
  metric_set metrics;           ///< what was asked for, as the chip has it
  vec<std::string> names;       ///< of the counters, CUPTI's or perf's
  vec<counter_origin> origins;  ///< of the names; empty where unknown
  vec<counter_value> values;    ///< by range
  vec<counted_kernel> kernels;  ///< by kernel and range
  vec<counted_work> work;       ///< of the counting steps; empty where it could not be followed
  std::uint64_t passes = 0;     ///< counting steps that the set takes
  std::uint64_t passes_done = 0;
};

/// What a run produced: data only. Times are ns since the session began unless said otherwise.
struct profile {
  profile_environment environment;
  profile_losses losses;
  profile_cost cost;
  vec<std::string> problems;  ///< one sentence each: what could not be done and the cure

  vec<std::string> names;       ///< of ranges and notes; position 0 is empty
  vec<profile_node> nodes;      ///< position is the node's number; node 0 is the root
  vec<profile_thread> threads;  ///< position is not the ordinal
  vec<step_record> steps;
  vec<range_record> ranges;
  vec<attribute_record> attributes;
  vec<overflow_sums> folded;
  vec<span_record> spans;  ///< start/end ranges and marks of NVTX
  vec<inherited_time> inherited;

  vec<launch_record> launches;
  vec<kernel_record> kernels;
  vec<kernel_name> kernel_names;  ///< kernel_record::name is 1-based into these
  vec<copy_record> copies;
  vec<memory_record> memory;
  vec<synchronization_record> synchronizations;
  vec<overhead_record> overheads;
  vec<captured_record> captured;  ///< sorted by graph node and time

  vec<counter_set> counter_sets;  ///< one for each collector of counters that was opened

  std::int64_t end = 0;    ///< when the session ended
  bool traced = false;     ///< device activity was collected
  bool has_steps = false;  ///< the program used STRATA_STEP()

  /// The counter set with this name; an empty one where there is none.
  counter_set const& counters(std::string_view name = counter_set::gpu) const {
    static counter_set const none{};
    for (counter_set const& each : counter_sets) {
      if (each.name == name) return each;
    }
    return none;
  }
  /// The same, added where there was none.
  counter_set& add_counters(std::string_view name) {
    for (counter_set& each : counter_sets) {
      if (each.name == name) return each;
    }
    counter_sets.emplace_back().name = name;
    return counter_sets.back();
  }
};

STRATA_END

#endif  // STRATA_PROFILE_HPP
