#include <strata/version.hpp>
#ifndef STRATA_PROFILE_HPP
#define STRATA_PROFILE_HPP

#include <strata/profile/metric_set.hpp>
#include <strata/profile/sums.hpp>

STRATA_DETAIL_COLD_CODE
STRATA_BEGIN

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

/// Host time of a node's calls in threads that inherited the place above it.
struct inherited_time {
  std::uint32_t node = root_node;
  std::uint32_t from = root_node;  ///< what such a thread itself was in, which contains the time
  std::int64_t total = 0;
};

/// A kernel name: as the compiler wrote it (mangled); it is demangled only when reported.
struct kernel_name {
  std::string mangled;
};

/// A thread of the program that ran ranges.
struct profile_thread {
  std::uint32_t ordinal = 0;  ///< the number in records
  std::uint64_t os_id = 0;
  std::string name;
};

/// What a device did in a measurement, as `src/ceilings/ceilings.hpp` makes them.
struct device_ceiling {
  std::string name;     ///< "HBM read", "L2 read", "FP32", "BF16 tensor", ...
  bool memory = false;  ///< the rates are B/s, of a program's loads and stores; else operations/s
  double rate = 0.0;    ///< the median of the samples
  double theory = 0.0;  ///< of the device's attributes; 0 where they do not tell
  double spread = 0.0;  ///< from the least to the most, as a part of the median
  double clock_hertz = 0.0;  ///< of the SMs meanwhile
  std::uint32_t samples = 0;
  std::string refused;  ///< why it is no ceiling; empty where it is one
};

/// A device as the driver describes it. Units: kHz, bits and bytes, as the names say.
struct profile_device {
  std::uint32_t ordinal = 0;  ///< the driver's number, that of records
  std::string name;
  std::uint32_t multiprocessors = 0;
  std::uint32_t compute_capability_major = 0;
  std::uint32_t compute_capability_minor = 0;
  std::uint32_t clock_khz = 0;
  std::uint32_t memory_clock_khz = 0;
  std::uint32_t memory_bus_bits = 0;
  std::uint64_t l2_bytes = 0;
  std::uint64_t memory_bytes = 0;
  std::string uuid;              ///< 8-4-4-4-12 hexadecimal digits
  std::string measured_at;       ///< when `ceilings` were measured, UTC, ISO 8601; empty: never
  vec<device_ceiling> ceilings;  ///< that were measured on this device, with this driver
  // What a multiprocessor holds at a time; 0: the driver does not tell, or the recording is older.
  std::uint32_t warp_size = 0;  ///< threads
  std::uint32_t threads_per_multiprocessor = 0;
  std::uint32_t blocks_per_multiprocessor = 0;
  std::uint32_t registers_per_multiprocessor = 0;  ///< of 32 bits
  std::uint32_t shared_bytes_per_multiprocessor = 0;
  std::uint32_t reserved_shared_bytes_per_block = 0;  ///< that the driver takes of each block

  /// The compute capability as one number: 90 is 9.0.
  std::uint32_t capability() const noexcept {
    return 10 * compute_capability_major + compute_capability_minor;
  }
};

/// Where and how the profile was made.
struct profile_environment {
  std::string host;
  std::string command;
  std::string options;      ///< the text of STRATA, or the text that the code parsed
  std::string collectives;  ///< patterns of kernels that are collectives too, joined by +
  std::string started_at;   ///< UTC, ISO 8601
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

namespace detail {

/// Whether a program is Python, of some version: `python`, `python3.12`, `python3.13t`.
inline bool is_python(std::string_view program) noexcept {
  return begins_with(program, "python") &&
         program.find_first_not_of("0123456789.dt", 6) == program.npos;
}
/// The program of a command without its folder: of Python the script or module.
inline std::string program_of(std::string_view command) {
  std::string const first = take_word(command);
  std::string const program(without_folder(first));
  if (!is_python(program)) return program;
  while (!command.empty()) {
    std::string word = take_word(command);
    if (word.empty()) continue;
    if (word == "-") break;  // stdin
    if (word.front() != '-') {
      while (!word.empty() && word.back() == '/') word.pop_back();
      std::string_view const script = without_folder(word);
      return script.empty() ? program : std::string(script);
    }
    if (begins_with(word, "--")) {
      if (word == "--check-hash-based-pycs") take_word(command);
      continue;
    }
    // Letters in one word, of which these take the rest of it, or the next one: -um train.
    std::size_t const last = word.find_first_of("cmWX", 1);
    if (last == word.npos) continue;
    if (word[last] == 'c') break;
    std::string value = word.substr(last + 1);
    while (value.empty() && !command.empty()) value = take_word(command);
    if (word[last] == 'm') return value.empty() ? program : value;
  }
  return program;
}

}  // namespace detail

/// What could not be kept, each counted; all zero in a complete profile. `loss_kinds` has a
/// sentence for each.
struct profile_losses {
  std::uint64_t ranges_summed = 0;
  std::uint64_t steps_summed = 0;
  std::uint64_t ranges_left_open = 0;
  std::uint64_t ranges_ended_elsewhere = 0;
  std::uint64_t ranges_too_deep = 0;
  std::uint64_t names_refused = 0;
  std::uint64_t indices_refused = 0;
  std::uint64_t nodes_refused = 0;
  std::uint64_t pops_without_push = 0;
  std::uint64_t launches_summed = 0;
  std::uint64_t launches_dropped = 0;
  std::uint64_t activity_summed = 0;
  std::uint64_t activity_dropped = 0;
  std::uint64_t graph_nodes_refused = 0;
  std::uint64_t buffers_refused = 0;
  std::uint64_t uncorrelated = 0;
  std::uint64_t timestamps_lost = 0;
  std::uint64_t counter_ranges_lost = 0;
  std::uint64_t spans_dropped = 0;
  std::uint64_t spans_left_open = 0;
  std::uint64_t threads_merged = 0;
  std::uint64_t unrecorded = 0;  ///< memory was short; not the steps outside of windows
  std::uint64_t migrations_dropped = 0;
  std::uint64_t kernels_merged = 0;
  std::uint64_t histograms_coarse = 0;
  std::uint64_t allocations_dropped = 0;
  std::uint64_t work_unfinished = 0;
  std::uint64_t records_refused = 0;  ///< of a recording that is read
};

/// One kind of loss as reports name it.
struct loss_kind {
  using member = std::uint64_t profile_losses::*;

  std::string_view key;  ///< in profile.json, where `folded` stands for summed
  member count;
  std::string_view what;
  /// What follows and the fix; `{log}` and `{buffers}` stand for an option with a larger value.
  std::string_view advice;
};

#define STRATA_DETAIL_LOSS_AS(KEY, NAME, WHAT, ADVICE) \
  { #KEY, &profile_losses::NAME, WHAT, ADVICE }
#define STRATA_DETAIL_LOSS(NAME, WHAT, ADVICE) STRATA_DETAIL_LOSS_AS(NAME, NAME, WHAT, ADVICE)
inline constexpr loss_kind loss_kinds[] = {
    STRATA_DETAIL_LOSS_AS(
        ranges_folded, ranges_summed, "range calls kept in the sums only",
        "They are missing in the trace: the range log was full. Raise it with {log}, "
        "or record fewer steps."),
    STRATA_DETAIL_LOSS_AS(steps_folded, steps_summed, "steps kept in the sums only",
                          "They are missing in the trace and in the steps of profile.json. Record "
                          "windows of steps (active=)."),
    STRATA_DETAIL_LOSS(
        ranges_left_open, "ranges still open at the end",
        "They are counted up to there in the thread that ended the session and missing in others. "
        "End them before the session."),
    STRATA_DETAIL_LOSS(ranges_ended_elsewhere,
                       "ranges ended by another thread than the one that began them",
                       "They are not counted. Begin and end a range in one thread."),
    STRATA_DETAIL_LOSS(ranges_too_deep, "range calls nested too deep",
                       "They are counted in [deeper]. Check that each push has its pop."),
    STRATA_DETAIL_LOSS(
        names_refused, "range calls with one name too many",
        "They are counted in [other names]. Give a number as an index beside the name, not in it."),
    STRATA_DETAIL_LOSS(indices_refused, "range calls with one index too many",
                       "They are counted in [*]. Use fewer distinct indices."),
    STRATA_DETAIL_LOSS(nodes_refused, "range calls with one place in the tree too many",
                       "They are counted in [other ranges]. Use fewer distinct names and indices."),
    STRATA_DETAIL_LOSS(pops_without_push, "pops without a push in the session",
                       "Nothing was ended. Give each a push that came after the session's begin."),
    STRATA_DETAIL_LOSS_AS(
        launches_folded, launches_summed, "driver calls kept in the sums only",
        "They are missing in the trace: the log was full. Raise it with {log}, or "
        "record fewer steps."),
    STRATA_DETAIL_LOSS(
        launches_dropped, "driver calls that no memory was left for",
        "Their kernels are outside ranges. Raise the limit with {log}, or record fewer steps."),
    STRATA_DETAIL_LOSS_AS(
        activity_folded, activity_summed, "records of device work kept in the sums only",
        "They are missing in the trace, and spans are left out: the memory for them was full. "
        "Raise it with {buffers}, or record fewer steps."),
    STRATA_DETAIL_LOSS(
        activity_dropped, "records of device work dropped by CUPTI",
        "Device times are too small. Give it room with {buffers}, or record fewer steps."),
    STRATA_DETAIL_LOSS(
        graph_nodes_refused, "nodes of CUDA graphs one too many",
        "Their kernels are not shown where they were captured. Destroy graphs that are not "
        "needed, or give them room with {buffers}."),
    STRATA_DETAIL_LOSS(buffers_refused, "buffers refused to CUPTI at the memory limit",
                       "Raise it with {buffers}."),
    STRATA_DETAIL_LOSS(
        uncorrelated, "kernels and copies without a known launch",
        "They are outside ranges: launched before the recording began, or by a dropped call."),
    STRATA_DETAIL_LOSS(
        timestamps_lost, "records of GPU work whose times are lost or cannot be",
        "Kernels, copies and waits are counted with a time of 0 and are missing in the trace; "
        "migrations are missing. After an error of CUDA the last records have none; otherwise "
        "record shorter windows (active=), or take another CUPTI."),
    STRATA_DETAIL_LOSS(counter_ranges_lost, "ranges that CUPTI refused or dropped while it counted",
                       "They have no values. Use fewer different range names and indices."),
    STRATA_DETAIL_LOSS(spans_dropped, "NVTX spans beyond the memory limit",
                       "They are missing in spans.csv and in the trace. Raise it with {log}, or "
                       "leave fewer open at a time."),
    STRATA_DETAIL_LOSS(spans_left_open, "NVTX spans still open at the end",
                       "They are missing. End them before the session."),
    STRATA_DETAIL_LOSS(threads_merged, "threads beyond the limit",
                       "They are counted as one thread, [other threads]. Use a pool of threads."),
    STRATA_DETAIL_LOSS(unrecorded, "ranges, steps and device records that no memory was left for",
                       "They are missing everywhere. Free memory, or lower log= and buffers=."),
    STRATA_DETAIL_LOSS(migrations_dropped, "migrations of managed memory that no room was left for",
                       "They are missing in the ranges. Raise it with {buffers}, or record fewer "
                       "steps."),
    STRATA_DETAIL_LOSS(kernels_merged, "kernels without room for the sums of their own name",
                       "They are counted in [other kernels], of their range or of no range; the "
                       "ranges' own numbers are whole. Give them room with {buffers}."),
    STRATA_DETAIL_LOSS(histograms_coarse, "kernels by range whose times are kept roughly",
                       "Their quantiles are estimates; sums, means and extremes are exact. Give "
                       "them room with {buffers}."),
    STRATA_DETAIL_LOSS(allocations_dropped, "allocations in use that could not be followed",
                       "Peaks of memory are too small; counts and bytes are exact. Give them room "
                       "with {buffers}."),
    STRATA_DETAIL_LOSS(work_unfinished, "calls whose GPU work had not ended at the end",
                       "Their GPU time is missing. Where the GPU was only slow, wait longer for it "
                       "with drain= (ms)."),
    STRATA_DETAIL_LOSS(records_refused, "records of the recording with impossible times",
                       "They are missing in the trace. Record the program again.")};
#undef STRATA_DETAIL_LOSS
#undef STRATA_DETAIL_LOSS_AS

/// What the instrumentation itself cost the program.
struct profile_cost {
  double seconds_in_window = 0.0;  ///< how long was recorded
  double range_ns = 0.0;           ///< measured cost of one recorded range
  std::uint64_t ranges = 0;        ///< ranges recorded
  std::uint64_t callbacks = 0;     ///< launch callbacks served
  double callback_ns = 0.0;        ///< measured cost of one launch callback
  double activity_seconds =
      0.0;  ///< time in CUPTI's buffer callbacks, on CUPTI's threads for the most part
  double flush_seconds = 0.0;          ///< time that a thread of the program waited for a flush
  double start_seconds = 0.0;          ///< time to start the collectors
  std::uint64_t unrecorded_steps = 0;  ///< that were neither recorded nor counted
  double unrecorded_step_ns = 0.0;     ///< their median
  std::uint64_t counter_reads = 0;     ///< readings of the CPU's counters
  double counter_read_ns = 0.0;        ///< what one took
  std::uint64_t log_bytes = 0;         ///< memory of the logs
  std::uint64_t activity_bytes = 0;    ///< memory of activity buffers and records

  /// What the program's threads paid. Units: ns.
  double ranges_ns() const noexcept { return static_cast<double>(ranges) * range_ns; }
  double callbacks_ns() const noexcept { return static_cast<double>(callbacks) * callback_ns; }
  double counters_ns() const noexcept {
    return static_cast<double>(counter_reads) * counter_read_ns;
  }
  double ns() const noexcept { return ranges_ns() + callbacks_ns() + counters_ns(); }
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
  std::uint32_t foreign;   ///< by other threads, counted with this range and timed elsewhere
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
  passes,         ///< in counting steps after the timed ones, one pass of the profiler a step
  while_running,  ///< in the timed steps: sums over all recorded calls
  sampled         ///< the same, split by the times of work; see detail::sampled_names
};

/// Counters of one origin: what was asked for, and what was counted by range or by kernel.
struct counter_set {
  static constexpr std::string_view gpu = "counters";
  static constexpr std::string_view gpu_kernels = "kernel_counters";
  static constexpr std::string_view cpu = "cpu_counters";
  static constexpr std::string_view live = "live_counters";

  std::string name;  ///< key in profile.json, stem of the names of the CSV files
  counting method = counting::passes;
  std::string where;            ///< the chip, as CUPTI names it; the model of a CPU
  vec<std::uint32_t> devices;   ///< that were counted, as the driver numbers them; a CPU has none
  std::string about;            ///< of values counted while_running: sentences for the console
  metric_set metrics;           ///< what was asked for, as the chip has it
  vec<absent_metric> left_out;  ///< counters that the chip has and the run does not: why
  vec<std::string> names;       ///< of the counters, CUPTI's or perf's
  vec<counter_origin> origins;  ///< of the names; empty where unknown
  vec<counter_value> values;    ///< by range
  vec<counted_kernel> kernels;  ///< by kernel and range
  vec<counted_work> work;       ///< of the counting steps; empty where it could not be followed
  std::uint64_t passes = 0;     ///< counting steps that the set takes
  std::uint64_t passes_done = 0;
};

/// What a step moved to and from device memory, by sampling: while the host was in it, or, with a
/// trace that was explained, while the device did its work.
struct step_traffic_record {
  std::uint32_t step;
  std::uint32_t reserved;
  double bytes;
};

/// What the counters of a device counted, time by time; detail::sample_reader reads it.
struct device_samples {
  std::uint32_t device = 0;
  std::uint32_t counters = 0;  ///< of a sample: the first names of the set counter_set::live
  std::uint64_t count = 0;
  bool only_steps = false;  ///< what was between the steps was not recorded
  std::string about;        ///< how they were made: a sentence
  vec<std::uint8_t> coded;
};

/// What the counter of a device's energy had come to, at about the time at which it did.
struct energy_reading {
  std::int64_t at;
  std::uint64_t millijoules;
};

/// A range that was open when the GPU did not answer any more.
struct hung_range {
  std::string path;           ///< as in ranges.csv
  std::uint32_t thread = 0;   ///< its ordinal
  std::int64_t open_ns = -1;  ///< for how long; -1 where its begin was not recorded
};

/// The calls of one range whose work had not ended by then.
struct hung_work {
  std::string path;  ///< "" outside of ranges
  std::uint64_t calls = 0;
  std::int64_t last_ns = 0;  ///< how long ago the last one was
};

/// How the program stood when the GPU did not answer: at the end of a session, within `drain=`.
struct profile_hang {
  bool found = false;
  vec<hung_range> ranges;  ///< of each thread from the outermost on
  vec<hung_work> work;     ///< the most calls first
};

/// What a run produced: data only. Times are ns since the session began unless said otherwise.
struct profile {
  profile_environment environment;
  profile_losses losses;
  profile_cost cost;
  profile_hang hang;
  vec<std::string> problems;  ///< one sentence each: what could not be done and the fix

  vec<std::string> names;       ///< of ranges and notes; position 0 is empty
  vec<profile_node> nodes;      ///< position is the node's number; node 0 is the root
  vec<profile_thread> threads;  ///< position is not the ordinal
  vec<step_record> steps;
  vec<step_record> early_steps;      ///< before the first work of a step on a device: see steps
  duration_statistics summed_steps;  ///< those that are not kept one by one
  vec<range_record> ranges;
  vec<attribute_record> attributes;
  vec<overflow_sums> summed_ranges;
  vec<span_record> spans;  ///< start/end ranges and marks of NVTX
  vec<inherited_time> inherited;

  vec<driver_call_record> launches;
  vec<kernel_record> kernels;
  vec<kernel_name> kernel_names;  ///< kernel_record::name is 1-based into these
  vec<copy_record> copies;
  vec<memory_record> memory;
  vec<synchronization_record> synchronizations;
  vec<overhead_record> overheads;
  vec<profile_context> contexts;     ///< those that have not all of their device
  vec<migration_record> migrations;  ///< of managed memory; see has_migrations
  device_sums device;                ///< over all device work, kept or not

  vec<counter_set> counter_sets;          ///< one for each collector of counters that was opened
  vec<step_traffic_record> step_traffic;  ///< of the steps that were sampled from begin to end
  device_samples samples;                 ///< of `live`, which has one device
  vec<energy_reading> energy;             ///< of that device, in order

  std::int64_t end = 0;    ///< when the session ended
  bool traced = false;     ///< device activity was collected
  bool has_steps = false;  ///< the program used STRATA_STEP()
  /// Managed memory was seen, and its migrations and faults were collected from then on.
  bool has_migrations = false;

  /// Whether the records have all calls into the driver and all device work that the sums have.
  bool has_whole_timeline() const noexcept {
    return losses.launches_summed + losses.launches_dropped + losses.activity_summed +
               losses.unrecorded ==
           0;
  }

  /// The first step that was recorded; no_step where there is none.
  std::uint32_t first_recorded_step() const noexcept {
    std::uint32_t first = no_step;
    for (step_record const& step : steps) first = detail::smaller(first, step.step);
    if (first != no_step) return first;
    for (range_record const& range : ranges) first = detail::smaller(first, range.step);
    return first;
  }

  /// The counter set with this name; an empty one where there is none.
  counter_set const& counters(std::string_view name = counter_set::gpu) const {
    static counter_set const none{};
    for (counter_set const& set : counter_sets) {
      if (set.name == name) return set;
    }
    return none;
  }
  /// The same, added where there was none.
  counter_set& add_counters(std::string_view name) {
    for (counter_set& set : counter_sets) {
      if (set.name == name) return set;
    }
    counter_sets.emplace_back().name = name;
    return counter_sets.back();
  }
};

namespace detail {

/// With only=: marks the node whose name matches one of the patterns, or which is below such a one.
inline bool select(profile& data, std::size_t number, vec<std::string> const& patterns) noexcept {
  profile_node& node = data.nodes[number];
  node.selected = patterns.empty() || (node.parent < number && node.parent != root_node &&
                                       data.nodes[node.parent].selected);
  for (std::string const& pattern : patterns)
    node.selected = node.selected || matches(data.names[node.name], pattern);
  return node.selected;
}

/// With only=: marks all nodes. Returns: whether one is wanted.
inline bool select_all(profile& data, vec<std::string> const& patterns) noexcept {
  bool any = false;
  for (std::size_t i = 1; i < data.nodes.size(); ++i) any = select(data, i, patterns) || any;
  data.nodes[root_node].selected = false;
  return any;
}

}  // namespace detail
STRATA_END
STRATA_DETAIL_END_CODE

#endif  // STRATA_PROFILE_HPP
