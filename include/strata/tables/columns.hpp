#ifndef STRATA_TABLES_COLUMNS_HPP
#define STRATA_TABLES_COLUMNS_HPP

#include <strata/base/json_writer.hpp>
#include <strata/tables/table_input.hpp>

STRATA_BEGIN
namespace detail {

// The columns of the CSV files, in their order: the rows of profile.json have them as keys, the
// page and `strata help` have their meaning, comparisons how they add up. A column is one line
// here.

/// How the values of a column go together over ranges and steps.
enum class column_sum : std::uint8_t {
  amount,      ///< they add up
  first_step,  ///< they add up over ranges, and are of one step
  call,        ///< of a call, or of a time: they do not add up
  identity     ///< which row it is, and where; a text: no value of it
};

/// Where the value of a column goes, and what it is made of besides its row.
struct column_cell {
  cell_sink& sink;
  char const* key;
  table_input const& input;

  void absent() const { sink.absent(key); }
  void text(std::string_view value) const { sink.text(key, value); }
  void number(double value) const { sink.number(key, value); }
  template <class Integer>
  void integer(Integer value) const {
    sink.integer(key, value);
  }
  /// A value where it is known.
  template <class Integer>
  void known(bool is_known, Integer value) const {
    is_known ? integer(value) : absent();
  }
};

/// How a sentence names an amount of a column: "launches 12 us", "12 launches"; or nothing where no
/// sentence has it.
struct column_words {
  std::string_view many = {};
  std::string_view one = {};  ///< of a count that is 1
};
constexpr column_words in_words(std::string_view many, std::string_view one = {}) noexcept {
  return {many, one};
}
inline constexpr column_words no_words{};

template <class Row>
struct column {
  char const* key;      ///< in the first line of the CSV file, and in JSON
  char const* unit;     ///< "ns", "B", or nothing where it is a count or a text
  char const* meaning;  ///< one sentence, without its full stop
  void (*write)(column_cell const& to, Row const& row);
  column_sum sum = column_sum::amount;
  column_words words = {};
  bool in_csv = true;  ///< else it is in profile.json alone
};

/// The columns of a table, or some that stand side by side.
template <class Row>
class column_list {
 public:
  template <std::size_t Count>
  constexpr explicit column_list(column<Row> const (&all)[Count]) noexcept
      : begin_(all), end_(all + Count) {}

  constexpr column<Row> const* begin() const noexcept { return begin_; }
  constexpr column<Row> const* end() const noexcept { return end_; }
  /// The column of that name; end() where there is none.
  constexpr column<Row> const* find(std::string_view key) const noexcept {
    column<Row> const* found = begin_;
    while (found != end_ && found->key != key) ++found;
    return found;
  }
  constexpr column_list from(std::string_view key) const noexcept { return {find(key), end_}; }
  constexpr column_list until(std::string_view key) const noexcept { return {begin_, find(key)}; }

  /// Calls look(key) for each column of the CSV file.
  template <class Look>
  void for_each_key(Look const& look) const {
    for (column<Row> const& each : *this)
      if (each.in_csv) look(each.key);
  }
  void write(cell_sink& cells, table_input const& input, Row const& row) const {
    for (column<Row> const& each : *this) each.write({cells, each.key, input}, row);
  }

 private:
  constexpr column_list(column<Row> const* begin, column<Row> const* end) noexcept
      : begin_(begin), end_(end) {}

  column<Row> const* begin_;
  column<Row> const* end_;
};

// Functions for `column::write`.

/// A member that is a whole number, of any row.
template <auto Field, class Row>
inline void integer_of(column_cell const& to, Row const& row) {
  to.integer(row.*Field);
}
template <auto Field, class Row>
inline void number_of(column_cell const& to, Row const& row) {
  to.number(row.*Field);
}
template <auto Field, class Row>
inline void text_of(column_cell const& to, Row const& row) {
  to.text(row.*Field);
}
template <class Row>
inline void rank_of(column_cell const& to, Row const&) {
  std::int64_t const rank = to.input.source.environment.rank;
  to.known(rank >= 0, rank);
}
/// Of device work: of the range alone, or with all below it.
template <auto Field>
inline void self_work(column_cell const& to, range_row const& row) {
  to.known(to.input.source.traced, row.self.*Field);
}
template <auto Field>
inline void total_work(column_cell const& to, range_row const& row) {
  to.known(to.input.source.traced, row.total.*Field);
}
template <auto Field>
inline void traced(column_cell const& to, range_row const& row) {
  to.known(to.input.source.traced, row.*Field);
}
template <auto Field>
inline void managed(column_cell const& to, range_row const& row) {
  to.known(to.input.source.has_migrations, row.*Field);
}

inline double standard_deviation(duration_statistics const& durations) noexcept {
  if (durations.count() < 2) return std::numeric_limits<double>::quiet_NaN();
  auto const n = static_cast<double>(durations.count());
  double const squares = durations.sum_of_squares() - durations.sum() * durations.sum() / n;
  return square_root((squares > 0.0 ? squares : 0.0) / (n - 1.0));
}

/// Whether device work of the first recorded step is distinguished from that of the others.
inline bool knows_first_step(profile const& source) noexcept {
  return source.traced && source.has_steps && source.has_whole_timeline();
}

inline void range_index(column_cell const& to, range_row const& row) {
  if (row.index == no_index) return to.absent();
  if (row.index == any_index) return to.text("*");
  to.integer(row.index);
}

/// ranges.csv: a row each path and index.
inline constexpr column<range_row> range_columns_list[] = {
    {"rank", "", "the rank of a distributed run; empty in others", rank_of, column_sum::identity},
    {"path_id", "", "the number of the range, the same in all files of the run",
     integer_of<&range_row::path_id>, column_sum::identity},
    {"parent_path_id", "", "the number of the range around it",
     [](column_cell const& to, range_row const& row) {
       bool const has_parent = row.depth != 0 && row.parent < to.input.ranges.size();
       to.known(has_parent, has_parent ? to.input.ranges[row.parent].path_id : 0);
     },
     column_sum::identity},
    {"path", "", "the names from the outermost range to this one, such as block[3]/attention",
     text_of<&range_row::path>, column_sum::identity},
    {"name", "", "the last name of the path", text_of<&range_row::name>, column_sum::identity},
    {"index", "", "the index of the range; * stands for indices beyond 4,096", range_index,
     column_sum::identity},
    {"depth", "", "the level of the range; the sum of everything has level 0",
     integer_of<&range_row::depth>, column_sum::identity},
    {"calls", "", "recorded calls",
     [](column_cell const& to, range_row const& row) { to.integer(row.host.count()); },
     column_sum::amount, in_words("calls", "call")},
    {"host_total_ns", "ns", "host time of all threads, summed over the calls",
     integer_of<&range_row::host_total_ns>},
    {"host_self_ns", "ns", "host time without the ranges inside it",
     integer_of<&range_row::host_self_ns>, column_sum::amount, in_words("by itself on the host")},
    {"host_min_ns", "ns", "host time of the shortest call",
     [](column_cell const& to, range_row const& row) {
       to.known(row.host.count() > 0, row.host.minimum());
     },
     column_sum::call},
    {"host_p50_ns", "ns", "the median of the host times of calls, within 1 %",
     [](column_cell const& to, range_row const& row) {
       to.known(row.host.count() > 0, row.host.quantile(0.5));
     },
     column_sum::call, in_words("median call")},
    {"host_p95_ns", "ns", "the host time that 95 % of the calls do not exceed, within 1 %",
     [](column_cell const& to, range_row const& row) {
       to.known(row.host.count() > 0, row.host.quantile(0.95));
     },
     column_sum::call, in_words("call at 95 %")},
    {"host_max_ns", "ns", "host time of the longest call",
     [](column_cell const& to, range_row const& row) {
       to.known(row.host.count() > 0, row.host.maximum());
     },
     column_sum::call},
    {"host_mean_ns", "ns", "the mean of the host times of calls",
     [](column_cell const& to, range_row const& row) {
       to.number(row.host.count() > 0 ? row.host.mean() : std::numeric_limits<double>::quiet_NaN());
     },
     column_sum::call, in_words("mean call")},
    {"host_stddev_ns", "ns", "the standard deviation of the host times of calls",
     [](column_cell const& to, range_row const& row) { to.number(standard_deviation(row.host)); },
     column_sum::call},
    {"first_step_calls", "", "calls in the first recorded step",
     integer_of<&range_row::first_step_calls>, column_sum::first_step},
    {"first_step_host_ns", "ns", "host time in the first recorded step",
     integer_of<&range_row::first_step_host_ns>, column_sum::first_step},
    {"step_share", "", "the part of the calls that lies in steps, 0 to 1",
     number_of<&range_row::step_share>, column_sum::identity},
    {"launches_self", "",
     "driver calls of the range alone that put work on the GPU, or into a captured graph",
     self_work<&device_work::launches>},
    {"launches", "", "driver calls that put work on the GPU, or into a captured graph",
     total_work<&device_work::launches>},
    {"launch_self_ns", "ns", "host time in launches, copies and fills of the range alone",
     self_work<&device_work::launch_ns>, column_sum::amount, in_words("in its own launches")},
    {"launch_ns", "ns", "host time in launches, copies and fills",
     total_work<&device_work::launch_ns>, column_sum::amount, in_words("in launch calls")},
    {"kernels_self", "", "kernels that ran and were launched by the range alone",
     self_work<&device_work::kernels>, column_sum::amount,
     in_words("kernels of its own", "kernel of its own")},
    {"kernels", "", "kernels that ran; those of a graph count for the range that launched it",
     total_work<&device_work::kernels>, column_sum::amount, in_words("kernels", "kernel")},
    {"gpu_kernel_self_ns", "ns", "the sum of the durations of kernels of the range alone",
     self_work<&device_work::kernel_ns>, column_sum::amount, in_words("in its own kernels")},
    {"gpu_kernel_ns", "ns", "the sum of the durations of kernels; overlapping ones count each",
     total_work<&device_work::kernel_ns>, column_sum::amount, in_words("in kernels")},
    {"gpu_busy_ns", "ns",
     "time in which a kernel or copy of the range ran; overlapping work counts once",
     traced<&range_row::gpu_busy_ns>, column_sum::amount, in_words("GPU busy")},
    {"span_ns", "ns",
     "time from the start of a call to the later of its end and the end of its last GPU work, "
     "summed over the calls; empty if the timeline is incomplete",
     [](column_cell const& to, range_row const& row) {
       bool const is_whole = to.input.source.traced && to.input.source.has_whole_timeline();
       to.known(is_whole, row.span_ns);
     }},
    {"copies_self", "", "copies and fills of the range alone", self_work<&device_work::copies>,
     column_sum::amount, in_words("copies", "copy")},
    {"copies", "", "copies and fills", total_work<&device_work::copies>},
    {"gpu_copy_self_ns", "ns", "GPU time of copies and fills of the range alone",
     self_work<&device_work::copy_ns>, column_sum::amount, in_words("in its own copies")},
    {"gpu_copy_ns", "ns", "GPU time of copies and fills", total_work<&device_work::copy_ns>},
    {"h2d_bytes", "B", "bytes copied from the host to a GPU",
     total_work<&device_work::host_to_device_bytes>, column_sum::amount,
     in_words("copied to the GPU")},
    {"d2h_bytes", "B", "bytes copied from a GPU to the host",
     total_work<&device_work::device_to_host_bytes>, column_sum::amount,
     in_words("copied from the GPU")},
    {"d2d_bytes", "B", "bytes copied within one GPU",
     total_work<&device_work::device_to_device_bytes>},
    {"other_copy_bytes", "B", "bytes copied in other directions",
     total_work<&device_work::other_bytes>},
    {"set_bytes", "B", "bytes filled", total_work<&device_work::set_bytes>},
    {"synchronizations", "", "waits of the host for the GPU",
     total_work<&device_work::synchronizations>, column_sum::amount,
     in_words("waits of the host", "wait of the host")},
    {"synchronization_ns", "ns", "host time in which it waited for the GPU",
     total_work<&device_work::synchronization_ns>},
    {"allocations", "", "allocations, also of pinned memory of the host",
     total_work<&device_work::allocations>, column_sum::amount,
     in_words("allocations", "allocation")},
    {"allocated_bytes", "B", "bytes allocated, also of pinned memory of the host",
     total_work<&device_work::allocated_bytes>, column_sum::amount, in_words("allocated")},
    {"releases", "", "releases of memory, also of pinned memory of the host",
     total_work<&device_work::releases>},
    {"released_bytes", "B", "bytes released, also of pinned memory of the host",
     total_work<&device_work::released_bytes>},
    {"peak_bytes", "B",
     "most device memory that the range and the ranges inside it held at one time",
     traced<&range_row::peak_bytes>, column_sum::call},
    {"graph_kernels", "",
     "kernels that the range captured and another range launched; that one has them in kernels",
     total_work<&device_work::graph_kernels>},
    {"graph_kernel_ns", "ns",
     "GPU time of kernels that it captured; busy where the graph is launched",
     total_work<&device_work::graph_kernel_ns>},
    {"migrated_bytes_h2d", "B", "bytes of managed memory that moved to a GPU",
     managed<&range_row::migrated_to_device_bytes>, column_sum::amount,
     in_words("migrated to the GPU")},
    {"migrated_bytes_d2h", "B", "bytes of managed memory that moved to the host",
     managed<&range_row::migrated_to_host_bytes>, column_sum::amount,
     in_words("migrated to the host")},
    {"gpu_page_faults", "", "page faults of GPUs in managed memory",
     managed<&range_row::gpu_page_faults>, column_sum::amount,
     in_words("page faults of the GPU", "page fault of the GPU")},
    {"migration_ns", "ns", "time of the migrations of managed memory, added up",
     managed<&range_row::migration_ns>, column_sum::amount, in_words("in migrations")},
    {"adopted_kernels", "", "the part of kernels that comes from threads in no range",
     total_work<&device_work::adopted_kernels>},
    {"adopted_ns", "ns", "GPU time of work from threads in no range",
     total_work<&device_work::adopted_ns>},
    {"p2p_copies", "", "the part of copies that goes from one GPU to another",
     total_work<&device_work::peer_copies>},
    {"p2p_bytes", "B", "bytes copied from one GPU to another",
     total_work<&device_work::peer_bytes>},
    {"p2p_ns", "ns", "the sum of the durations of copies from one GPU to another",
     total_work<&device_work::peer_ns>},
    {"flops", "FLOP", "floating-point operations that the range itself declares",
     number_of<&range_row::flops>, column_sum::amount, in_words("declared")},
    {"bytes", "B", "bytes that the range itself declares", number_of<&range_row::bytes>,
     column_sum::amount, in_words("declared")},
    {"tokens", "tokens", "tokens that the range itself declares", number_of<&range_row::tokens>},
    {"shape", "", "the declared shape of the last call; ... follows a shape that changed",
     text_of<&range_row::shape>, column_sum::identity},
    {"note", "", "the note of the last call", text_of<&range_row::note>, column_sum::identity},
    {"first_step_gpu_busy_ns", "ns", "GPU busy time of the first recorded step",
     [](column_cell const& to, range_row const& row) {
       double const in_first = row.step_busy_share.in_steps - row.step_busy_share.typical;
       to.known(knows_first_step(to.input.source),
                whole_ns(larger(0.0, in_first) * static_cast<double>(row.gpu_busy_ns)));
     },
     column_sum::first_step},
    {"other_threads_ns", "ns", "the part of the host time in threads that drive no steps",
     integer_of<&range_row::other_threads_ns>},
    {"thread", "", "the thread, if all calls are in threads that drive no steps",
     text_of<&range_row::thread>, column_sum::identity},
    {"collective_bytes", "B",
     "bytes of the messages of NCCL's calls, with nvtx=in; empty if NVTX gives none",
     number_of<&range_row::collective_bytes>},
};
inline constexpr column_list<range_row> range_columns(range_columns_list);

/// A unit as part of a column name: `bytes_per_second`.
inline std::string unit_words(std::string_view unit) {
  if (unit == "%") return "pct";
  std::string words;
  while (!unit.empty()) {
    if (!words.empty()) words += "_per_";
    std::string_view const part = take_until(unit, "/");
    if (part == "B") {
      words += words.empty() ? "bytes" : "byte";
    } else if (part == "s") {
      words += words.empty() ? "seconds" : "second";
    } else {
      for (char const c : part) words += c == ' ' ? '_' : lower(c);
    }
  }
  return words;
}

/// The name of a metric, with the words of its unit that are not in the name:
/// `l1_hit_rate_pct`, `hbm_bytes_per_second`.
inline std::string metric_column(counter_metric const& metric) {
  std::string const unit = unit_words(metric.unit);
  bool said = true;
  for (std::string_view rest = unit; !rest.empty();) {
    std::string_view const word = take_until(rest, "_");
    bool found = false;
    for (std::string_view key = metric.key; !key.empty() && !found;)
      found = take_until(key, "_") == word;
    said = said && found;
  }
  return said ? metric.key : sentence(metric.key) << '_' << unit;
}

/// kernels.csv: a row each kernel in a range. What was counted of them follows `first_step_ns`.
inline constexpr column<kernel_row> kernel_columns_list[] = {
    {"rank", "", "the rank of a distributed run; empty in others", rank_of, column_sum::identity},
    {"path_id", "", "the number of the range that launched the kernel",
     integer_of<&kernel_row::path_id>, column_sum::identity},
    {"path", "", "the path of the range", text_of<&kernel_row::path>, column_sum::identity},
    {"kernel", "", "the name of the kernel without namespaces and arguments",
     text_of<&kernel_row::short_name>, column_sum::identity},
    {"demangled", "", "the full name of the kernel", text_of<&kernel_row::demangled>,
     column_sum::identity},
    {"mangled", "", "the name of the kernel as the driver has it; in profile.json alone",
     [](column_cell const& to, kernel_row const& row) { to.sink.exact(to.key, row.mangled); },
     column_sum::identity, no_words, false},
    {"count", "", "launches", integer_of<&kernel_row::count>},
    {"total_ns", "ns", "the sum of the durations of launches",
     [](column_cell const& to, kernel_row const& row) {
       to.integer(whole_part(row.duration.sum()));
     },
     column_sum::amount, in_words("in its launches")},
    {"min_ns", "ns", "the duration of the shortest launch",
     [](column_cell const& to, kernel_row const& row) { to.integer(row.duration.minimum()); },
     column_sum::call},
    {"p50_ns", "ns", "the median of the durations, within 1 %",
     [](column_cell const& to, kernel_row const& row) { to.integer(row.duration.quantile(0.5)); },
     column_sum::call},
    {"p95_ns", "ns", "the duration that 95 % of the launches do not exceed, within 1 %",
     [](column_cell const& to, kernel_row const& row) { to.integer(row.duration.quantile(0.95)); },
     column_sum::call},
    {"max_ns", "ns", "the duration of the longest launch",
     [](column_cell const& to, kernel_row const& row) { to.integer(row.duration.maximum()); },
     column_sum::call},
    {"mean_ns", "ns", "the mean of the durations",
     [](column_cell const& to, kernel_row const& row) { to.number(row.duration.mean()); },
     column_sum::call},
    {"stddev_ns", "ns", "the standard deviation of the durations",
     [](column_cell const& to, kernel_row const& row) {
       to.number(standard_deviation(row.duration));
     },
     column_sum::call},
    {"blocks_min", "", "blocks of the smallest grid", integer_of<&kernel_row::blocks_min>,
     column_sum::call},
    {"blocks_median", "", "the median of the blocks of a grid, within 1 %",
     integer_of<&kernel_row::blocks_median>, column_sum::call,
     in_words("blocks of a launch", "block of a launch")},
    {"blocks_mean", "", "the mean of the blocks of a grid", number_of<&kernel_row::blocks_mean>,
     column_sum::call, in_words("blocks of a launch", "block of a launch")},
    {"blocks_max", "", "blocks of the largest grid", integer_of<&kernel_row::blocks_max>,
     column_sum::call},
    {"block_threads_min", "", "threads of the smallest block",
     integer_of<&kernel_row::block_threads_min>, column_sum::call},
    {"block_threads_max", "", "threads of the largest block",
     integer_of<&kernel_row::block_threads_max>, column_sum::call},
    {"warps_per_block", "", "the mean of the warps of a block",
     number_of<&kernel_row::warps_per_block>, column_sum::call},
    {"registers_per_thread", "", "registers of a thread, the most of all launches",
     integer_of<&kernel_row::registers_per_thread>, column_sum::call,
     in_words("registers of a thread", "register of a thread")},
    {"static_shared_bytes", "B", "static shared memory of a block, the most of all launches",
     integer_of<&kernel_row::static_shared_bytes>, column_sum::call},
    {"dynamic_shared_bytes", "B", "dynamic shared memory of a block, the most of all launches",
     integer_of<&kernel_row::dynamic_shared_bytes>, column_sum::call},
    {"sm_utilisation", "", "min(4, warps per block) / 4, weighted by time: a model of the launch",
     number_of<&kernel_row::sm_utilisation>, column_sum::call},
    {"gpu_utilisation", "", "min(SMs, blocks) / SMs x sm_utilisation: a model of the launch",
     number_of<&kernel_row::gpu_utilisation>, column_sum::call},
    {"first_step_count", "", "launches in the first recorded step",
     [](column_cell const& to, kernel_row const& row) {
       to.known(knows_first_step(to.input.source), row.first_step_count);
     },
     column_sum::first_step},
    {"first_step_ns", "ns", "the sum of their durations",
     [](column_cell const& to, kernel_row const& row) {
       to.known(knows_first_step(to.input.source), row.first_step_ns);
     },
     column_sum::first_step},
    {"collective", "", "what the GPUs do together in the kernel, by its name; empty for others",
     [](column_cell const& to, kernel_row const& row) {
       to.text(to_string(row.collective.operation));
     },
     column_sum::identity},
    {"algorithm", "", "the algorithm of NCCL, where the name of the kernel has it",
     [](column_cell const& to, kernel_row const& row) { to.text(row.collective.algorithm); },
     column_sum::identity},
    {"protocol", "", "the protocol of NCCL, where the name of the kernel has it",
     [](column_cell const& to, kernel_row const& row) { to.text(row.collective.protocol); },
     column_sum::identity},
};
inline constexpr column_list<kernel_row> kernel_columns(kernel_columns_list);

/// A row of kernels.csv, with what was counted of the kernel.
class kernel_cells {
 public:
  explicit kernel_cells(table_input const& input) : input_(input), counted_(input.kernel_counters) {
    if (counted_ == nullptr) return;
    counted_keys_.push_back("counted_launches");
    for (counter_metric const& metric : counted_->metrics)
      counted_keys_.push_back(metric_column(metric));
  }

  template <class Look>
  void for_each_key(Look const& look) const {
    kernel_columns.until(after_counted).for_each_key(look);
    for (std::string const& key : counted_keys_) look(key.c_str());
    kernel_columns.from(after_counted).for_each_key(look);
  }
  void write(cell_sink& cells, std::size_t index) const {
    kernel_row const& row = input_.kernels[index];
    kernel_columns.until(after_counted).write(cells, input_, row);
    for (std::size_t i = 0; i < counted_keys_.size(); ++i) {
      if (i == 0)
        cells.integer(counted_keys_[i].c_str(), counted_->launches[index]);
      else
        cells.number(counted_keys_[i].c_str(), counted_->at(index, i - 1));
    }
    kernel_columns.from(after_counted).write(cells, input_, row);
  }

 private:
  static constexpr std::string_view after_counted = "collective";

  table_input const& input_;
  kernel_counter_table const* counted_;  ///< null where nothing was
  vec<std::string> counted_keys_;
};

inline void allocation_address(column_cell const& to, allocation_row const& row) {
  char address[longest_number] = {'0', 'x'};
  char const* const end = digits_text(address + 2, row.address, 16);
  to.text({address, static_cast<std::size_t>(end - address)});
}
inline void allocation_purpose(column_cell const& to, allocation_row const& row) {
  vec<memory_purpose> const& purposes = to.input.memory.purposes;
  to.text(row.purpose < purposes.size() ? std::string_view(purposes[row.purpose].name)
                                        : std::string_view());
}

/// memory.csv: a row each allocation.
inline constexpr column<allocation_row> allocation_columns_list[] = {
    {"rank", "", "the rank of a distributed run; empty in others", rank_of, column_sum::identity},
    {"path_id", "", "the number of the range that allocated", integer_of<&allocation_row::path_id>,
     column_sum::identity},
    {"path", "", "the path of the range", text_of<&allocation_row::path>, column_sum::identity},
    {"address", "", "where the memory is", allocation_address, column_sum::identity},
    {"bytes", "B", "how large it is", integer_of<&allocation_row::bytes>},
    {"kind", "", "device, managed, pinned, pageable, array, device_static or managed_static",
     [](column_cell const& to, allocation_row const& row) { to.text(to_string(row.kind)); },
     column_sum::identity},
    {"asynchronous", "", "1 for cudaMallocAsync",
     [](column_cell const& to, allocation_row const& row) { to.integer(row.asynchronous ? 1 : 0); },
     column_sum::identity},
    {"device", "", "the GPU", integer_of<&allocation_row::device>, column_sum::identity},
    {"stream", "", "the stream of an asynchronous allocation", integer_of<&allocation_row::stream>,
     column_sum::identity},
    {"allocated_at_ns", "ns", "when it was allocated, since the session began",
     integer_of<&allocation_row::allocated_at>, column_sum::call},
    {"released_at_ns", "ns", "when it was released, since the session began; empty if it was not",
     [](column_cell const& to, allocation_row const& row) {
       to.known(row.released_at >= 0, row.released_at);
     },
     column_sum::call},
    {"released_in", "", "the path of the range that released it",
     text_of<&allocation_row::released_in>, column_sum::identity},
    {"purpose", "", "the innermost STRATA_MEMORY around the allocation, or other",
     allocation_purpose, column_sum::identity},
};
inline constexpr column_list<allocation_row> allocation_columns(allocation_columns_list);

/// A text of the profile; empty where there is none.
inline std::string_view name_text(profile const& source, std::uint32_t name) noexcept {
  return name < source.names.size() ? std::string_view(source.names[name]) : std::string_view();
}

/// spans.csv: a row each start/end range or mark of NVTX.
inline constexpr column<span_record> span_columns_list[] = {
    {"rank", "", "the rank of a distributed run; empty in others", rank_of, column_sum::identity},
    {"kind", "", "range or mark",
     [](column_cell const& to, span_record const& span) {
       to.text(span.kind == span_kind::mark ? "mark" : "range");
     },
     column_sum::identity},
    {"domain", "", "the domain of NVTX",
     [](column_cell const& to, span_record const& span) {
       to.text(name_text(to.input.source, span.domain));
     },
     column_sum::identity},
    {"name", "", "the text of NVTX",
     [](column_cell const& to, span_record const& span) {
       to.text(name_text(to.input.source, span.name));
     },
     column_sum::identity},
    {"step", "", "the step in which it began; empty outside of steps",
     [](column_cell const& to, span_record const& span) {
       to.known(span.step != no_step, span.step);
     },
     column_sum::identity},
    {"thread", "", "the thread in which it began", integer_of<&span_record::thread>,
     column_sum::identity},
    {"end_thread", "", "the thread in which it ended", integer_of<&span_record::end_thread>,
     column_sum::identity},
    {"begin_ns", "ns", "when it began, since the session began", integer_of<&span_record::begin>,
     column_sum::call},
    {"end_ns", "ns", "when it ended, since the session began", integer_of<&span_record::end>,
     column_sum::call},
    {"duration_ns", "ns", "the time between them",
     [](column_cell const& to, span_record const& span) { to.integer(span.end - span.begin); }},
};
inline constexpr column_list<span_record> span_columns(span_columns_list);

/// A metric of a range.
struct counter_line {
  range_row const& range;
  counter_scope scope;
  counter_metric const& metric;
  counter_cell const& cell;
  std::string_view note;
};

/// counters.csv and cpu_counters.csv: a row each path, scope and metric.
inline constexpr column<counter_line> counter_columns_list[] = {
    {"rank", "", "the rank of a distributed run; empty in others", rank_of, column_sum::identity},
    {"path_id", "", "the number of the range",
     [](column_cell const& to, counter_line const& row) { to.integer(row.range.path_id); },
     column_sum::identity},
    {"path", "", "the path of the range",
     [](column_cell const& to, counter_line const& row) { to.text(row.range.path); },
     column_sum::identity},
    {"metric", "", "the name of the metric",
     [](column_cell const& to, counter_line const& row) { to.text(row.metric.key); },
     column_sum::identity},
    {"value", "", "the value of one step; of the CPU the sum over all calls",
     [](column_cell const& to, counter_line const& row) { to.number(row.cell.value); }},
    {"unit", "", "the unit of the value",
     [](column_cell const& to, counter_line const& row) { to.text(row.metric.unit); },
     column_sum::identity},
    {"scope", "", "self: of the range alone; total: with the ranges inside it",
     [](column_cell const& to, counter_line const& row) { to.text(to_string(row.scope)); },
     column_sum::identity},
    {"method", "",
     "counted; derived from counts; timed; counted+timed, a count of a counting step by the "
     "time of a timed one; sampled; or modelled",
     [](column_cell const& to, counter_line const& row) { to.text(to_string(row.metric.method)); },
     column_sum::identity},
    {"passes", "", "the counting steps that it took",
     [](column_cell const& to, counter_line const& row) { to.integer(row.metric.passes.size()); },
     column_sum::identity},
    {"note", "", "why the cell is empty, or what to know about the value",
     [](column_cell const& to, counter_line const& row) { to.text(row.note); },
     column_sum::identity},
    {"plus_minus", "",
     "of sampled and modelled values: half of an interval meant for 95 % of the true ones",
     [](column_cell const& to, counter_line const& row) { to.number(row.cell.plus_minus); }},
};
inline constexpr column_list<counter_line> counter_columns(counter_columns_list);

}  // namespace detail
STRATA_END

#endif  // STRATA_TABLES_COLUMNS_HPP
