#ifndef STRATA_TABLES_RANGE_ROWS_HPP
#define STRATA_TABLES_RANGE_ROWS_HPP

#include <strata/profile.hpp>

STRATA_BEGIN

/// The part of some amount that lies in steps, from 0 to 1.
struct step_part {
  double in_steps = 1.0;
  double typical = 1.0;  ///< without the first recorded step, which may be apart

  void add(step_part const& part, double amount) noexcept {
    in_steps += part.in_steps * amount;
    typical += part.typical * amount;
  }
  /// Becomes these amounts as parts of a whole; stays without a whole.
  void set(step_part const& amounts, double whole) noexcept {
    if (!(whole > 0.0)) return;
    in_steps = detail::smaller(1.0, detail::larger(0.0, amounts.in_steps / whole));
    typical = detail::smaller(1.0, detail::larger(0.0, amounts.typical / whole));
  }
};

/// Kernels that a range captured into a graph and that a row launched.
struct captured_work {
  std::uint32_t launching_row;
  std::int64_t kernel_ns;
};

/// One range of the call tree with its cost. Rows are depth-first, children by first use.
struct range_row {
  std::uint32_t node = root_node;  ///< in the profile; of the first one when rows are folded
  std::uint32_t parent = 0;        ///< position of the parent's row; the root is its own parent
  std::uint32_t depth = 0;
  std::string name;  ///< as the program wrote it
  std::int64_t index = no_index;
  /// It stands for many ranges that there was no room for, or lies below such a row: no one range,
  /// so that it is neither judged nor named as one.
  bool is_many = false;
  /// `block[3]/attention`; "" for the root. `/` and `[` in names are kept as they are. Where it
  /// would be longer than 2,000 bytes, its middle is left out: path_below().
  std::string path;
  /// Joins the files of one run: the node, so it is the same in folded and unfolded tables.
  std::uint32_t path_id = 0;
  duration_statistics host;        ///< one value a call
  std::int64_t host_total_ns = 0;  ///< of all calls
  std::int64_t host_self_ns = 0;   ///< without the ranges below in the same thread
  /// Of these, in threads that drive no step, if others drive one: no part of a step's host time.
  std::int64_t other_threads_ns = 0;
  std::int64_t other_threads_self_ns = 0;
  /// Where all calls are in such threads: "thread loader"; of several "other threads".
  std::string thread;
  std::uint64_t first_step_calls = 0;
  std::int64_t first_step_host_ns = 0;  ///< the first recorded step, with its lazy initialisation
  double first_step_flops = 0.0;        ///< that the calls in it declared, as the next two
  double first_step_bytes = 0.0;
  double first_step_tokens = 0.0;
  /// The part of the calls that lies in steps, from 0 to 1; of a call around steps the part of its
  /// time.
  double step_share = 1.0;
  bool around_steps = false;       ///< steps lie in one of its calls, as in a range around the loop
  step_part step_call_share;       ///< of the calls
  step_part step_host_share;       ///< of the time of all calls
  step_part step_host_self_share;  ///< of `host_self_ns`
  /// Of the device work of the range and below, and of that of the range itself: by its time where
  /// the timeline is whole, else by the number of launches.
  step_part step_work_share;
  step_part step_self_share;
  step_part step_busy_share;  ///< of `gpu_busy_ns`: in which work of such launches ran
  /// Of the launches that ran, without those into captures: of the range and below, and of the
  /// range itself.
  step_part step_launch_share;
  step_part step_self_launch_share;
  double launches_run = 0.0;  ///< how many these are; all where the timeline is not whole
  double self_launches_run = 0.0;
  /// Of the host time in launches, into captures too (launch_ns); the first calls are expensive.
  step_part step_launch_time_share;
  step_part step_self_launch_time_share;
  device_work self;
  device_work total;
  vec<captured_work> captured;  ///< by the range itself, for others; one for each launching row
  std::int64_t gpu_busy_ns =
      0;  ///< time in which at least one kernel or copy of the range (or below) ran
  std::int64_t device_busy_ns = 0;  ///< the same of each counted device, added up
  /// Per call from its begin to the later of its own end and that of the last work that it
  /// launched, summed. 0 where the timeline lacks device work.
  std::int64_t span_ns = 0;
  std::int64_t peak_bytes = 0;  ///< most device memory that was allocated by the range and below,
                                ///< and not released, at one time
  // Of managed memory while the range and those below worked; see profile::has_migrations.
  std::uint64_t migrated_to_device_bytes = 0;
  std::uint64_t migrated_to_host_bytes = 0;
  std::uint64_t gpu_page_faults = 0;  ///< groups of faults for one page
  std::int64_t migration_ns = 0;      ///< of the migrations, added up: they may overlap
  double flops =
      std::numeric_limits<double>::quiet_NaN();  ///< sum over calls; NaN where never given
  double bytes = std::numeric_limits<double>::quiet_NaN();
  double tokens = std::numeric_limits<double>::quiet_NaN();
  /// That calls of NCCL in the range and below sent, as NVTX has them; NaN where it has none.
  double collective_bytes = std::numeric_limits<double>::quiet_NaN();
  std::string shape;  ///< `4x64x768` of the last call; followed by `...` when calls differ
  std::string note;
};

namespace detail {

/// NCCL's NVTX domain, in front of the names of its ranges.
inline constexpr std::string_view nccl_domain = "NCCL:";

/// What the calls of a row said about their work: sums, and the shape and note of the last call.
class row_details {
 public:
  /// NaN is a value that was not given.
  static void add_given(double& sum, double value) noexcept {
    if (is_given(value)) sum = is_given(sum) ? sum + value : value;
  }

  /// The work of a call that only captured it was not done: it has a shape and a note, no amounts.
  void add(range_row& row, profile const& source, range_record const& range, bool done,
           bool in_first_step) {
    if (range.attribute > source.attributes.size()) return;
    attribute_record const& attribute = source.attributes[range.attribute - 1];
    if (done && in_first_step) {
      add_given(row.first_step_flops, attribute.flops);
      add_given(row.first_step_bytes, attribute.bytes);
      add_given(row.first_step_tokens, attribute.tokens);
    }
    if (done) {
      add_given(row.flops, attribute.flops);
      add_given(row.bytes, attribute.bytes);
      add_given(row.tokens, attribute.tokens);
    }
    if (attribute.rank != 0) {
      if (shape_ != no_reference && !same_shape(source.attributes[shape_ - 1], attribute))
        shapes_differ_ = true;
      if (shape_ == no_reference || range.begin >= shape_at_) {
        shape_ = range.attribute;
        shape_at_ = range.begin;
      }
    }
    if (attribute.note != no_reference && (note_ == no_reference || range.begin >= note_at_)) {
      note_ = attribute.note;
      note_at_ = range.begin;
    }
  }

  void describe(range_row& row, profile const& source) const {
    if (shape_ != no_reference) {
      row.shape = shape_text(source.attributes[shape_ - 1]);
      if (shapes_differ_) row.shape += "...";
    }
    if (note_ != no_reference && note_ < source.names.size()) row.note = source.names[note_];
  }

 private:
  static bool is_given(double const& value) noexcept { return !is_nan(value); }

  static std::uint32_t rank_of(attribute_record const& attribute) noexcept {
    return attribute.rank < 7 ? attribute.rank : 7;
  }

  static bool same_shape(attribute_record const& a, attribute_record const& b) noexcept {
    return rank_of(a) == rank_of(b) &&
           std::memcmp(a.dimensions, b.dimensions, rank_of(a) * sizeof *a.dimensions) == 0;
  }

  static std::string shape_text(attribute_record const& attribute) {
    sentence text;
    for (std::uint32_t i = 0; i < rank_of(attribute); ++i) {
      if (i != 0) text << 'x';
      text << attribute.dimensions[i];
    }
    return text;
  }

  std::int64_t shape_at_ = 0;
  std::int64_t note_at_ = 0;
  std::uint32_t shape_ = no_reference;  ///< 1-based in the attributes
  std::uint32_t note_ = no_reference;   ///< 1-based in the names
  bool shapes_differ_ = false;
};

/// The rows of a profile's nodes in a table: depth-first, children in order of first use, and
/// with folding nodes of one name below one row in one row.
/// A node that is neither selected nor above a selected one has no row of its own: its row is that
/// of the nearest node above which has one.
class row_layout {
 public:
  /// Ranges deeper than this have no rows of their own; no recorder nests so deep.
  static constexpr std::uint32_t deepest = 1024;

  row_layout(profile const& source, bool fold) {
    find_kept(source);
    leaders_.resize(nodes());
    for (std::size_t i = 0; i < nodes(); ++i) leaders_[i] = static_cast<std::uint32_t>(i);
    if (fold) fold_by_name(source);
    number_rows();
  }

  std::size_t nodes() const noexcept { return parents_.size(); }
  std::size_t rows() const noexcept { return first_nodes_.size(); }
  std::uint32_t row_of(std::uint32_t node) const noexcept {
    return node < nodes() ? rows_of_nodes_[node] : 0;
  }
  /// Whether the calls of a node belong to its row, rather than to one above it.
  bool has_own_row(std::uint32_t node) const noexcept { return node >= nodes() || kept_[node]; }
  std::uint32_t first_node(std::uint32_t row) const noexcept { return first_nodes_[row]; }
  std::uint32_t parent(std::uint32_t row) const noexcept { return row_parents_[row]; }
  /// Whether `below` is in the subtree of `row`, which contains itself.
  bool contains(std::uint32_t row, std::uint32_t below) const noexcept {
    return row <= below && below - row < sizes_[row];
  }

 private:
  void find_kept(profile const& source) {
    std::size_t const count = source.nodes.empty() ? 1 : source.nodes.size();
    parents_.resize(count, root_node);
    depths_.resize(count, 0);
    kept_.resize(count, false);
    for (std::size_t i = 1; i < count; ++i) {
      std::uint32_t const parent = source.nodes[i].parent;
      parents_[i] = parent < i ? parent : root_node;
      depths_[i] = depths_[parents_[i]] + 1;
      kept_[i] = source.nodes[i].selected;
    }
    for (std::size_t i = count; --i > 0;)
      if (kept_[i]) kept_[parents_[i]] = true;
    kept_[root_node] = true;
    for (std::size_t i = 1; i < count; ++i)
      if (depths_[i] > deepest) kept_[i] = false;
  }

  /// Numbers that are equal where the texts are.
  static vec<std::uint32_t> number_texts(vec<std::string> const& texts) {
    vec<std::uint32_t> order(texts.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
    order.sort([&texts](std::uint32_t a, std::uint32_t b) {
      int const difference = texts[a].compare(texts[b]);
      return difference != 0 ? difference < 0 : a < b;
    });
    vec<std::uint32_t> numbers(texts.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      numbers[order[i]] =
          i > 0 && texts[order[i]] == texts[order[i - 1]] ? numbers[order[i - 1]] : order[i];
    return numbers;
  }

  /// Level by level from the root, because which nodes are siblings depends on the level above.
  void fold_by_name(profile const& source) {
    vec<std::uint32_t> const names = number_texts(source.names);
    vec<vec<std::uint32_t>> levels;
    for (std::size_t i = 1; i < nodes(); ++i) {
      if (!kept_[i]) continue;
      if (levels.size() < depths_[i]) levels.resize(depths_[i]);
      levels[depths_[i] - 1].push_back(static_cast<std::uint32_t>(i));
    }
    vec<pair<std::uint64_t, std::uint32_t>> siblings;
    for (auto const& level : levels) {
      siblings.clear();
      for (std::uint32_t const node : level) {
        std::uint32_t const name = source.nodes[node].name;
        std::uint64_t const above = leaders_[parents_[node]];
        siblings.push_back({above << 32 | (name < names.size() ? names[name] : 0xffffffffu), node});
      }
      siblings.sort();
      for (std::size_t i = 1; i < siblings.size(); ++i)
        if (siblings[i].first == siblings[i - 1].first)
          leaders_[siblings[i].second] = leaders_[siblings[i - 1].second];
    }
  }

  bool leads(std::size_t node) const noexcept { return kept_[node] && leaders_[node] == node; }

  void number_rows() {
    // A leader comes after that of its parent, whose numbers are final before its own.
    vec<std::uint32_t> sizes(nodes(), 1);
    std::size_t count = 1;
    for (std::size_t i = nodes(); --i > 0;) {
      if (!leads(i)) continue;
      sizes[leaders_[parents_[i]]] += sizes[i];
      ++count;
    }
    first_nodes_.resize(count);
    row_parents_.resize(count);
    sizes_.resize(count);
    rows_of_nodes_.resize(nodes());
    vec<std::uint32_t> next(nodes(), 1);  // the row of the next child
    sizes_[0] = sizes[0];
    for (std::size_t i = 1; i < nodes(); ++i) {
      std::uint32_t const above = leaders_[parents_[i]];
      if (leads(i)) {
        std::uint32_t const row = next[above];
        next[above] += sizes[i];
        next[i] = row + 1;
        rows_of_nodes_[i] = row;
        first_nodes_[row] = static_cast<std::uint32_t>(i);
        row_parents_[row] = rows_of_nodes_[above];
        sizes_[row] = sizes[i];
      } else {
        rows_of_nodes_[i] = rows_of_nodes_[kept_[i] ? leaders_[i] : parents_[i]];
      }
    }
  }

  vec<std::uint32_t> parents_;
  vec<std::uint32_t> depths_;
  vec<bool> kept_;
  vec<std::uint32_t> leaders_;  ///< of each node the first node of its row
  vec<std::uint32_t> rows_of_nodes_;
  vec<std::uint32_t> first_nodes_;
  vec<std::uint32_t> row_parents_;
  vec<std::uint32_t> sizes_;  ///< of each row's subtree
};

/// How long every call lasted when the device work that it launched is waited for.
/// Launches belong to the calls that are open on their thread at that time.
/// Cost: in addition to the input, a number a call and a launch, and as much while they are
/// sorted.
class span_sweep {
 public:
  /// A call of the host that launched, by the thread of the range that it belongs to, and when the
  /// last of its work ended.
  struct launch {
    std::int64_t begin;
    std::int64_t work_end;
    std::uint32_t thread;
  };

  explicit span_sweep(row_layout const& layout) : layout_(layout) {}

  /// Calls `add(row, span)` once for each call of a range that has a row of its own. `launch_at(i)`
  /// of `launch_count` launches: its work_end is lost_time where it had no work.
  template <class LaunchAt, class Add>
  void run(vec<range_record> const& ranges, std::size_t launch_count, LaunchAt launch_at, Add add) {
    vec<std::uint32_t> calls;
    for (std::size_t i = 0; i < ranges.size(); ++i)
      if (layout_.has_own_row(ranges[i].node)) calls.push_back(static_cast<std::uint32_t>(i));
    calls.sort([this, &ranges](std::uint32_t first, std::uint32_t second) {
      call const a = call_of(ranges[first]);
      call const b = call_of(ranges[second]);
      if (a.thread != b.thread) return a.thread < b.thread;
      if (a.begin != b.begin) return a.begin < b.begin;
      return a.end != b.end ? a.end > b.end : a.row < b.row;
    });
    vec<std::uint32_t> launches;
    for (std::size_t i = 0; i < launch_count; ++i)
      if (launch_at(i).work_end != lost_time) launches.push_back(static_cast<std::uint32_t>(i));
    launches.sort([&launch_at](std::uint32_t first, std::uint32_t second) {
      launch const a = launch_at(first);
      launch const b = launch_at(second);
      return a.thread != b.thread ? a.thread < b.thread : a.begin < b.begin;
    });
    std::size_t next = 0;
    for (std::uint32_t const number : calls) {
      call const next_call = call_of(ranges[number]);
      while (next < launches.size() && is_before(launch_at(launches[next]), next_call))
        take(launch_at(launches[next++]), add);
      open(next_call, add);
    }
    while (next < launches.size()) take(launch_at(launches[next++]), add);
    while (!open_.empty()) close(add);
  }

 private:
  struct call {
    std::int64_t begin;
    std::int64_t end;
    std::int64_t work_end;
    std::uint32_t thread;
    std::uint32_t row;
  };

  call call_of(range_record const& range) const noexcept {
    return {range.begin, larger(range.begin, range.end), lost_time, range.thread,
            layout_.row_of(range.node)};
  }

  static bool is_before(launch const& a, call const& b) noexcept {
    return a.thread != b.thread ? a.thread < b.thread : a.begin < b.begin;
  }

  template <class Add>
  void open(call const& opened, Add& add) {
    while (!open_.empty() && !encloses(open_.back(), opened)) close(add);
    open_.push_back(opened);
  }

  /// A call that begins in the very ns in which another ends lies in it only if the tree says so.
  bool encloses(call const& outer, call const& inner) const noexcept {
    if (outer.thread != inner.thread || outer.end < inner.begin) return false;
    return outer.end > inner.begin ||
           (outer.row != inner.row && layout_.contains(outer.row, inner.row));
  }

  template <class Add>
  void take(launch const& launched, Add& add) {
    while (!open_.empty() &&
           (open_.back().thread != launched.thread || open_.back().end < launched.begin))
      close(add);
    if (!open_.empty()) open_.back().work_end = larger(open_.back().work_end, launched.work_end);
  }

  template <class Add>
  void close(Add& add) {
    call const done = open_.back();
    open_.pop_back();
    add(done.row, elapsed(done.begin, larger(done.end, done.work_end)));
    if (!open_.empty() && open_.back().thread == done.thread)
      open_.back().work_end = larger(open_.back().work_end, done.work_end);
  }

  row_layout const& layout_;
  vec<call> open_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_TABLES_RANGE_ROWS_HPP
