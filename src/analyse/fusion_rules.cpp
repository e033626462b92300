#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/profile/records.hpp>
#include <strata/tables/kernel_table.hpp>
#include <strata/tables/launch_index.hpp>
#include "gains.hpp"
#include "kernel_class.hpp"
#include "kernel_names.hpp"
#include "rule_context.hpp"
#include "rules.hpp"
#include "speed_of_light.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

// The rule of kernels that hand each other their values through device memory.

STRATA_BEGIN
namespace detail {
namespace fusion {

/// A kernel whose bytes take less of its time at the peak does something else than move them.
/// Source: eager operators of PyTorch reach 0.5 to 0.9 of HBM's peak (H200), products 0.1 to 0.3.
constexpr double memory_bound_use = 1.0 / 3.0;
/// A kernel that moves less than this part of what the largest of its chain moves, or of its time
/// where no bytes were counted, has another number of values: one a row, or one in all. Chosen.
constexpr double tiny_bytes = 0.05;
constexpr double tiny_time = 0.2;
/// A kernel reads what the one before wrote where it reads at least this part of it: L2 may still
/// have some. Chosen.
constexpr double least_read = 0.5;
/// Of the bytes of a kernel: one that writes less reduces, one that reads less fills. Chosen.
constexpr double few_of_bytes = 0.15;
/// Kernels of as many values differ by no more in time: numbers of two sizes, one input more.
/// Chosen.
constexpr double most_ratio = 4.0;
/// Bytes out by bytes in, from which on a kernel only makes larger numbers of what it reads.
constexpr double expanding = 1.4;
/// Chains of one layer that follow each other directly are looked for up to this length. Chosen.
constexpr std::size_t longest_period = 16;
/// The bytes that a chain writes, with those that read them again and what is read a second time:
/// 2 are written and read, 2.3 of softmax with a mask. Chosen.
constexpr double saved_by_written = 2.5;

/// A launch in the order of its stream.
struct launched {
  std::size_t kernel = 0;  ///< in the kernel table
  std::size_t row = 0;
  std::uint64_t blocks = 0;
  double ns = 0.0;

  bool is_same(launched const& other) const noexcept {
    return kernel == other.kernel && blocks == other.blocks;
  }
};

/// What a launch moves from and to device memory: bytes, or the time that it takes for them.
struct traffic {
  double reads = not_a_number;
  double writes = not_a_number;

  double all() const noexcept { return reads + writes; }
  bool is_known() const noexcept { return is_finite(all()); }
  bool reduces() const noexcept { return writes < few_of_bytes * all(); }
  bool fills() const noexcept { return reads < few_of_bytes * all(); }
};

/// How a kernel follows the one before it.
enum class follows : std::uint8_t {
  no,     ///< its values are others
  apart,  ///< it may be of the same chain, but what comes between is no stream of values
  reads   ///< it reads what that one wrote
};

/// What a fused kernel cannot have at once, or where the values go.
enum class ending : std::uint8_t {
  stays,     ///< one kernel takes the place of the chain
  loaded,    ///< the product that reads the values can make them as it loads
  attention  ///< between two products: nothing of it has to be written
};

/// A chain in one step: of each time that it runs.
struct chain {
  std::size_t times = 0;
  std::size_t kernels = 0;  ///< of one time, without those of few values
  std::size_t fused = 0;    ///< kernels that go, of one time
  ending end = ending::stays;
  bool is_counted = false;          ///< bytes by kernel
  bool has_names = true;            ///< that say that its kernels do as they seem to
  bool has_loss = false;            ///< its reductions make a loss
  std::size_t between = no_kernel;  ///< a reduction that needs all values before the rest can begin
  std::size_t consumer = no_kernel;
  double total = 0.0;        ///< bytes, or ns
  double saved = 0.0;        ///< of these
  double shortest_ns = 0.0;  ///< of its kernels with all values
  struct part {
    double ns = 0.0;
    double launches = 0.0;  ///< that go
  };
  std::map<std::size_t, part> rows;
  std::vector<std::size_t> members;

  static constexpr std::size_t no_kernel = static_cast<std::size_t>(-1);

  double ns() const noexcept {
    double sum = 0.0;
    for (auto const& each : rows) sum += each.second.ns;
    return sum;
  }
  double saved_part() const noexcept { return total > 0.0 ? saved / total : 0.0; }
  void add(chain const& more) {
    times += more.times;
    total += more.total;
    saved += more.saved;
    shortest_ns = std::min(shortest_ns, more.shortest_ns);
    for (auto const& each : more.rows) {
      rows[each.first].ns += each.second.ns;
      rows[each.first].launches += each.second.launches;
    }
  }
};

/// The kernels of one step in the order of their streams.
struct step_kernels {
  std::vector<std::vector<launched>> streams;
  std::vector<double> row_ns;        ///< of all kernels, by row
  std::vector<double> row_launches;  ///< by row
};

/// Whether the counts of a range say that its kernels do nothing but read and write values.
inline bool only_moves(rule_context const& run, std::size_t row) noexcept {
  constexpr double busy = 0.5;  // of HBM's peak; chosen
  constexpr double few = 0.1;   // of the tensor cores' peak; chosen
  range_limit const& load = run.load(row);
  return load.use(gpu_unit::hbm) >= busy && load.use(gpu_unit::tensor) < few &&
         run.own(row, "hbm_write_bytes") >= few_of_bytes * run.own(row, "hbm_bytes");
}

/// Finds the chains of one stream.
class chain_finder {
 public:
  explicit chain_finder(rule_context const& run) : run_(run) {
    double const hbm = run.in.roofline.rate_of(to_string(gpu_unit::hbm));
    for (std::size_t i = 0; i < run.in.kernels.size(); ++i) {
      kernel_row const& kernel = run.in.kernels[i];
      kinds_.push_back(class_of(kernel));
      traffic counted;
      auto const launches = static_cast<double>(run.kernel_counters.launches[i]);
      counted.reads = run.kernel_counters.at(i, "hbm_read_bytes") / launches;
      counted.writes = run.kernel_counters.at(i, "hbm_write_bytes") / launches;
      mean_ns_.push_back(mean_duration(kernel, run.in.steps));
      traffic_.push_back(counted);
      uses_.push_back(counted.all() / hbm * 1e9 / mean_ns_.back());
    }
    for (std::size_t row = 0; row < run.rows.size(); ++row)
      is_of_memory_.push_back(only_moves(run, row));
  }

  kernel_class kind(std::size_t kernel) const noexcept { return kinds_[kernel]; }

  /// Adds the chains of a stream to `found`, by their kernels.
  void look(std::vector<launched> const& stream,
            std::map<std::vector<std::size_t>, chain>& found) const {
    std::size_t used = 0;  // what stands before belongs to chains that were found
    for (std::size_t begin = 0; begin < stream.size();) {
      if (!may_be_in_chain(stream[begin])) {
        ++begin;
        continue;
      }
      std::size_t end = begin + 1;
      double largest = size_of(stream[begin]);
      while (end < stream.size() && may_be_in_chain(stream[end]) && !repeats(stream, begin, end) &&
             how(stream, end, largest) != follows::no) {
        largest = std::max(largest, size_of(stream[end]));
        ++end;
      }
      chain made = chain_of(stream, {used, begin, end}, largest);
      if (made.times > 0) {
        used = end;
        chain& sum = found[made.members];
        if (sum.times == 0)
          sum = std::move(made);
        else
          sum.add(made);
      }
      begin = end;
    }
  }

 private:
  traffic counted(launched const& of) const noexcept {
    traffic made = traffic_[of.kernel];
    // Launches of other sizes have the kernel's mean count.
    kernel_row const& kernel = run_.in.kernels[of.kernel];
    double const factor =
        kernel.blocks_min == kernel.blocks_max ? 1.0 : of.ns / mean_ns_[of.kernel];
    made.reads *= factor;
    made.writes *= factor;
    return made;
  }
  bool is_counted(launched const& of) const noexcept { return traffic_[of.kernel].is_known(); }
  bool is_named(launched const& of) const noexcept {
    return kinds_[of.kernel] != kernel_class::unknown;
  }
  /// Bytes where they were counted, else ns.
  double size_of(launched const& of) const noexcept {
    return is_counted(of) ? counted(of).all() : of.ns;
  }
  bool is_tiny(launched const& of, double largest) const noexcept {
    return size_of(of) < (is_counted(of) ? tiny_bytes : tiny_time) * largest;
  }
  bool may_be_in_chain(launched const& of) const noexcept {
    kernel_class const kind = kinds_[of.kernel];
    if (!run_.is_judged(of.row) || kind > kernel_class::reduce) return false;
    // What is no known operation has to be bound by what it moves.
    bool const moves = !is_counted(of) || uses_[of.kernel] >= memory_bound_use;
    return moves || kind != kernel_class::unknown;
  }
  /// Whether what stands before `end` begins once more there: other values, in the same way.
  static bool repeats(std::vector<launched> const& stream, std::size_t begin, std::size_t end) {
    auto const same = [&stream](std::size_t at, std::size_t period) {
      if (at + period > stream.size()) return false;
      for (std::size_t i = at; i < at + period; ++i)
        if (!stream[i - period].is_same(stream[i])) return false;
      return true;
    };
    // x * x * x has the same kernel twice; more of them are other values.
    if (same(end, 1) && (same(end + 1, 1) || (end - begin > 1 && same(end - 1, 1)))) return true;
    for (std::size_t period = 2; period <= std::min(end - begin, longest_period); ++period)
      if (same(end, period)) return true;
    return false;
  }
  follows how(std::vector<launched> const& stream, std::size_t at, double largest) const noexcept {
    launched const& one = stream[at - 1];
    launched const& other = stream[at];
    bool const are_counted = is_counted(one) && is_counted(other);
    if (is_counted(one) != is_counted(other)) return follows::no;
    if (is_tiny(one, largest) || is_tiny(other, largest)) return follows::apart;
    // No model puts the result of a softmax into a norm: these have other values of the same shape.
    bool const are_norms = kinds_[one.kernel] == kernel_class::normalise &&
                           kinds_[other.kernel] == kernel_class::normalise;
    if (are_norms) return follows::no;
    if (are_counted) {
      traffic const before = counted(one);
      traffic const after = counted(other);
      if (before.reduces() || after.fills()) return follows::apart;
      bool const is_read = after.reads >= least_read * before.writes;
      bool const is_most = after.reads <= most_ratio * before.writes;
      return is_read && is_most ? follows::reads : follows::no;
    }
    // Next to a kernel with a known name, a kernel with an unknown name may do anything.
    bool const are_named = is_named(one) == is_named(other);
    if (!are_named && !(is_of_memory_[one.row] && is_of_memory_[other.row])) return follows::no;
    if (kinds_[one.kernel] == kernel_class::reduce) return follows::apart;
    bool const alike = std::max(one.ns, other.ns) <= most_ratio * std::min(one.ns, other.ns);
    return alike ? follows::reads : follows::no;
  }
  /// The time that one input or output of all values takes, as far as the times of kernels show.
  double pass_ns(std::vector<launched> const& stream, std::size_t begin, std::size_t end,
                 double largest) const noexcept {
    double least = largest;
    for (std::size_t i = begin; i < end; ++i) {
      if (is_tiny(stream[i], largest)) continue;
      bool const only_reads = kinds_[stream[i].kernel] == kernel_class::reduce;
      least = std::min(least, only_reads ? stream[i].ns : 0.5 * stream[i].ns);
    }
    return least;
  }
  traffic traffic_of(launched const& of, double pass) const noexcept {
    if (is_counted(of)) return counted(of);
    traffic made;
    made.writes = kinds_[of.kernel] == kernel_class::reduce ? 0.0 : std::min(pass, 0.5 * of.ns);
    made.reads = of.ns - made.writes;
    return made;
  }

  /// The product that follows, if it can make the values of [begin, end) as it loads: they are
  /// copies of others, or larger numbers made of smaller ones.
  bool is_loaded(std::vector<launched> const& stream, std::size_t begin, std::size_t end) const {
    if (!is_read_by_next(stream, end)) return false;
    for (std::size_t i = begin; i < end; ++i) {
      kernel_class const kind = kinds_[stream[i].kernel];
      bool const is_simple = kind == kernel_class::copy || kind == kernel_class::elementwise ||
                             (kind == kernel_class::unknown && is_counted(stream[i]));
      if (!is_simple) return false;
    }
    launched const& first = stream[begin];
    if (!is_counted(first)) return kinds_[first.kernel] == kernel_class::copy;
    traffic const moved = counted(first);
    if (moved.fills()) return false;
    return kinds_[first.kernel] == kernel_class::copy || moved.writes >= expanding * moved.reads;
  }
  bool is_read_by_next(std::vector<launched> const& stream, std::size_t end) const {
    if (end == stream.size()) return false;
    kernel_class const kind = kinds_[stream[end].kernel];
    if (kind != kernel_class::product && kind != kernel_class::attention) return false;
    if (!is_counted(stream[end]) || !is_counted(stream[end - 1])) return true;
    return counted(stream[end]).reads >= least_read * counted(stream[end - 1]).writes;
  }
  /// Whether it is what attention does between its two products.
  bool is_attention(std::vector<launched> const& stream, std::size_t begin, std::size_t end,
                    double largest) const {
    if (begin == 0 || kinds_[stream[begin - 1].kernel] != kernel_class::product) return false;
    if (!is_read_by_next(stream, end) || kinds_[stream[end].kernel] != kernel_class::product)
      return false;
    bool has_softmax = false;
    for (std::size_t i = begin; i < end; ++i) {
      kernel_class const kind = kinds_[stream[i].kernel];
      name_words const words(run_.in.kernels[stream[i].kernel].short_name);
      has_softmax = has_softmax || (kind == kernel_class::normalise && words.has("softmax"));
      if (kind == kernel_class::reduce || is_tiny(stream[i], largest)) return false;
      if (i > begin && how(stream, i, largest) != follows::reads) return false;
    }
    return has_softmax;
  }

  /// Kernels of a stream: [begin, end), before which those from `first` on belong to no chain.
  struct span {
    std::size_t first, begin, end;
  };
  /// What these are; of no time where nothing of it hands values on.
  chain chain_of(std::vector<launched> const& stream, span const& looked_at, double largest) const {
    auto [first, begin, end] = looked_at;
    auto const links = [&](std::size_t at) { return how(stream, at, largest) == follows::reads; };
    chain made;
    bool const attends = is_attention(stream, begin, end, largest);
    std::size_t last = end - 1;  // where its last unbroken part begins
    while (last > begin && links(last)) --last;
    bool const loads = !attends && is_loaded(stream, last, end);
    if (attends || loads) {
      made.end = attends ? ending::attention : ending::loaded;
      made.consumer = stream[end].kernel;
      // Copies of several inputs do not read each other.
      while (loads && last == begin && begin > first && stream[begin - 1].is_same(stream[begin]))
        last = --begin;
    } else {
      // By its time, a reduction at the end may as well be of what the kernel before it read.
      auto const is_doubtful = [&](std::size_t at) {
        return !is_counted(stream[at]) && kinds_[stream[at].kernel] == kernel_class::reduce;
      };
      while (end > begin + 1 && (!links(end - 1) || is_doubtful(end - 1))) --end;
    }
    std::size_t const bound = loads ? last : end - 1;
    while (!attends && begin < bound && !links(begin + 1)) ++begin;
    add_links(stream, begin, end, loads ? last : end, largest, made);
    if (made.fused == 0 || is_pair_of_strangers(made)) return made;
    made.times = 1;
    return made;
  }

  /// Two kernels in ranges that nothing but the step has in common may well have values of one
  /// shape, and are no chain.
  bool is_pair_of_strangers(chain const& made) const noexcept {
    if (made.kernels > 2 || made.end != ending::stays || made.rows.size() < 2) return false;
    std::size_t const one = made.rows.begin()->first;
    std::size_t const other = made.rows.rbegin()->first;
    return outermost(one) != outermost(other);
  }
  std::size_t outermost(std::size_t row) const noexcept {
    while (run_.rows[row].depth > 1) row = run_.rows[row].parent;
    return row;
  }

  /// Adds up [begin, end), of which [loaded, end) goes whole.
  void add_links(std::vector<launched> const& stream, std::size_t begin, std::size_t end,
                 std::size_t loaded, double largest, chain& made) const {
    double const pass = pass_ns(stream, begin, end, largest);
    if (made.end == ending::attention) loaded = begin;
    double linked = 0.0;
    double more = 0.0;  // that kernels read besides
    bool differ = made.end != ending::stays;
    made.is_counted = true;
    made.shortest_ns = stream[begin].ns;
    for (std::size_t i = begin; i < end; ++i) {
      traffic const moved = traffic_of(stream[i], pass);
      kernel_class const kind = kinds_[stream[i].kernel];
      made.is_counted = made.is_counted && is_counted(stream[i]);
      made.has_names = made.has_names && kind != kernel_class::unknown;
      made.has_loss = made.has_loss || is_of_loss(stream[i].kernel);
      made.members.push_back(stream[i].kernel);
      differ = differ || !stream[i].is_same(stream[begin]);
      made.total += moved.all();
      chain::part& part = made.rows[stream[i].row];
      part.ns += stream[i].ns;
      if (!is_tiny(stream[i], largest)) {
        ++made.kernels;
        made.shortest_ns = std::min(made.shortest_ns, stream[i].ns);
      }
      if (i >= loaded) {
        made.saved += moved.all();
        ++made.fused;
        part.launches += 1.0;
        continue;
      }
      if (i == begin) continue;
      if (how(stream, i, largest) != follows::reads) {
        bool const reduces = traffic_of(stream[i - 1], pass).reduces();
        if (reduces && made.between == chain::no_kernel) made.between = stream[i - 1].kernel;
        continue;
      }
      double const handed = std::min(traffic_of(stream[i - 1], pass).writes, moved.reads);
      linked += handed;
      ++made.fused;
      part.launches += 1.0;
      bool const reduces = kind == kernel_class::reduce || moved.reduces();
      if (!reduces) more += moved.reads - handed;
    }
    // The second input of two kernels is another one; the longer a chain, the more often it is one
    // that a kernel before has read or made, as x in x * (1 + tanh(x + x^3)). Chosen.
    double const other_inputs = std::min(1.0, 2.0 / static_cast<double>(made.kernels));
    made.saved += 2.0 * linked + more * (1.0 - other_inputs);
    // A fused loss takes what the chain takes first, and gives what it gives last.
    if (made.has_loss && made.end == ending::stays)
      made.saved = made.total - traffic_of(stream[begin], pass).reads -
                   traffic_of(stream[end - 1], pass).writes;
    if (!differ) made.fused = 0;
    // Chains before different consumers are different ones.
    if (made.consumer != chain::no_kernel) made.members.push_back(made.consumer);
  }
  bool is_of_loss(std::size_t kernel) const {
    return name_words(run_.in.kernels[kernel].short_name).has_any({"nll", "loss", "entropy"});
  }

  rule_context const& run_;
  std::vector<kernel_class> kinds_;  ///< by kernel row, as the next ones
  std::vector<double> mean_ns_;
  std::vector<traffic> traffic_;    ///< of a launch
  std::vector<double> uses_;        ///< of device memory
  std::vector<bool> is_of_memory_;  ///< by row
};

/// The step whose kernels take nearest to what they take in a mean step; no_step: the run.
inline std::uint32_t usual_step(rule_context const& run, launch_index const& launches) {
  profile const& source = run.in.source;
  std::map<std::uint32_t, double> times;
  std::uint32_t last = no_step;
  double* sum = nullptr;  // of the last step: records of one mostly stand together
  for (kernel_record const& kernel : source.kernels) {
    std::uint32_t const launch = launches.launch_of(kernel.correlation);
    if (launch == launch_index::none || kernel.begin == lost_time) continue;
    std::uint32_t const step = source.launches[launch].step;
    if (sum == nullptr || step != last) sum = &times[last = step];
    *sum += static_cast<double>(elapsed(kernel.begin, kernel.end));
  }
  times.erase(no_step);
  if (times.size() > 1) times.erase(source.first_recorded_step());
  if (times.empty()) return no_step;
  double all = 0.0;
  for (auto const& each : times) all += each.second;
  double const mean = all / static_cast<double>(times.size());
  return std::min_element(times.begin(), times.end(),
                          [mean](auto const& a, auto const& b) {
                            return std::abs(a.second - mean) < std::abs(b.second - mean);
                          })
      ->first;
}

inline step_kernels kernels_of_step(rule_context const& run) {
  profile const& source = run.in.source;
  launch_index const launches(source);
  std::uint32_t const step =
      run.in.steps.from_steps ? usual_step(run, launches) : std::uint32_t{no_step};
  std::unordered_map<std::uint64_t, std::size_t> places;  // of kernels, by path and name
  auto const key = [](std::uint32_t path, std::uint32_t name) {
    return std::uint64_t{path} << 32 | name;
  };
  for (std::size_t i = 0; i < run.in.kernels.size(); ++i)
    places[key(run.in.kernels[i].path_id, run.in.kernels[i].name)] = i;
  step_kernels made;
  made.row_ns.resize(run.rows.size(), 0.0);
  made.row_launches.resize(run.rows.size(), 0.0);
  std::vector<kernel_record const*> chosen;
  for (kernel_record const& kernel : source.kernels) {
    if (kernel.begin == lost_time) continue;
    if (step != no_step) {
      std::uint32_t const launch = launches.launch_of(kernel.correlation);
      if (launch == launch_index::none || source.launches[launch].step != step) continue;
    }
    chosen.push_back(&kernel);
  }
  std::stable_sort(
      chosen.begin(), chosen.end(),
      [](kernel_record const* a, kernel_record const* b) { return a->begin < b->begin; });
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> streams;
  for (kernel_record const* const kernel : chosen) {
    std::size_t const row = run.in.tree.position_of(kernel->node);
    if (row >= run.rows.size()) continue;
    auto const found = places.find(key(run.rows[row].path_id, kernel->name));
    if (found == places.end()) continue;
    auto const ns = static_cast<double>(elapsed(kernel->begin, kernel->end));
    made.row_ns[row] += ns;
    made.row_launches[row] += 1.0;
    auto const place =
        streams.emplace(std::make_pair(kernel->context, kernel->stream), streams.size()).first;
    made.streams.resize(streams.size());
    std::uint64_t const blocks = std::uint64_t{kernel->grid_x} * kernel->grid_y * kernel->grid_z;
    made.streams[place->second].push_back({found->second, row, blocks, ns});
  }
  return made;
}

}  // namespace fusion

namespace {

/// What is known of a chain.
enum class evidence : std::uint8_t {
  against,  ///< its values do not go through device memory
  open,     ///< its kernels' own counts would tell
  enough
};

/// Of a chain that no counts of its kernels show: what the names and times of its kernels say, and
/// what was counted of their ranges.
evidence evidence_of(rule_context const& run, fusion::chain const& seen,
                     fusion::step_kernels const& step) {
  if (seen.is_counted) return evidence::enough;
  constexpr double most_of_range = 0.8;  // of a range's time; chosen
  bool is_shown = true;                  // by counts of its ranges
  for (auto const& [row, part] : seen.rows) {
    bool const is_most = part.ns >= most_of_range * step.row_ns[row];
    double const use = run.load(row).use(gpu_unit::hbm);
    if (run.load(row).units.is_known() && is_most && use < fusion::memory_bound_use)
      return evidence::against;
    is_shown = is_shown && is_most && fusion::only_moves(run, row);
  }
  if (is_shown) return evidence::enough;
  // What device memory moves in the time of the shortest kernel has room in L2, or it does not:
  // L2 moves about twice as much in that time, and kernels reach half of it.
  double const hbm = run.in.roofline.rate_of(to_string(gpu_unit::hbm));
  double const l2_bytes = run.worked.empty() ? 0.0 : static_cast<double>(run.worked[0]->l2_bytes);
  double const by_l2 = is_finite(hbm) && l2_bytes > 0.0 ? l2_bytes / hbm * 1e9 : 10'000.0;
  if (seen.shortest_ns < 0.5 * by_l2) return evidence::against;
  return seen.has_names && seen.shortest_ns >= 2.0 * by_l2 ? evidence::enough : evidence::open;
}

/// The most that a range's own kernels can save, by what was counted of the range: what goes was
/// written to device memory.
double most_saved_ns(rule_context const& run, std::size_t row) noexcept {
  double const written = run.own(row, "hbm_write_bytes");
  double const bytes =
      is_finite(written) ? fusion::saved_by_written * written : run.own(row, "hbm_bytes");
  double const ns = run.at_roof_ns(bytes, to_string(gpu_unit::hbm));
  if (!is_finite(ns)) return run.load(row).time_ns;
  double const reached = std::max(fusion::memory_bound_use, run.load(row).use(gpu_unit::hbm));
  return ns / std::min(reached, reachable_use(gpu_unit::hbm));
}

/// What computing takes of a range's own kernels, at the peak of its pipes: it stays where one
/// kernel takes the place of several.
double computing_ns(rule_context const& run, std::size_t row) noexcept {
  double most = 0.0;
  for (gpu_unit const unit :
       {gpu_unit::fma, gpu_unit::alu, gpu_unit::fp64, gpu_unit::xu, gpu_unit::adu}) {
    double const ns = run.load(row).units[unit];
    if (is_finite(ns)) most = std::max(most, ns);
  }
  return most;
}

/// What no other cause has of the kernels of a chain in a range, as far as each was counted by
/// itself; all of the range's time elsewhere.
double unclaimed_of_chain(rule_context const& run, fusion::chain const& seen, std::size_t row,
                          vec<std::string> const& names) {
  if (run.by_kernel == nullptr) return run.load(row).time_ns;
  kernels_apart const& apart = *run.in.by_kernel;
  std::set<std::string_view> members;
  for (std::size_t const kernel : seen.members)
    if (kernel != seen.consumer && run.row_of(run.in.kernels[kernel]) == row)
      members.insert(names[kernel]);
  double ns = 0.0;
  for (std::size_t i = 0; i < apart.ranges.size(); ++i)
    if (apart.ranges[i] == row && members.erase(apart.kernels[i]) > 0)
      ns += run.by_kernel->gains.unclaimed(i);
  return members.empty() ? ns : run.load(row).time_ns;
}

/// How many kernels a title names: with those of few values, without what reads the chain's.
std::size_t named_kernels(fusion::chain const& seen) noexcept {
  return seen.members.size() - (seen.consumer == fusion::chain::no_kernel ? 0 : 1);
}

/// "Mul x 4, tanh and 2 more".
std::string names_of(rule_context const& run, fusion::chain const& seen) {
  constexpr std::size_t most = 4;
  std::vector<std::pair<std::string, std::size_t>> names;
  for (std::size_t i = 0; i < named_kernels(seen); ++i) {
    std::string name = operation_of(run.in.kernels[seen.members[i]]);
    auto const known = std::find_if(names.begin(), names.end(),
                                    [&](auto const& each) { return each.first == name; });
    if (known == names.end())
      names.emplace_back(std::move(name), 1);
    else
      ++known->second;
  }
  std::string text;
  std::size_t left = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i >= most) {
      left += names[i].second;
      continue;
    }
    text += (i == 0 ? "" : ", ") + names[i].first;
    if (names[i].second > 1) text += " x " + std::to_string(names[i].second);
  }
  return left == 0 ? text : text + " and " + std::to_string(left) + " more";
}

std::string title_of(rule_context const& run, fusion::chain const& seen) {
  std::size_t const named = named_kernels(seen);
  std::string const count = amount_text(static_cast<double>(named), "kernel", "kernels");
  bool const is_one = named == 1;
  std::string title = count + " (" + names_of(run, seen) + ") ";
  std::string const bytes = seen.is_counted
                                ? bytes_text(seen.saved) + " of the " + bytes_text(seen.total)
                                : percent_text(seen.saved_part());
  std::string const often = seen.times == 1 ? "" : ", " + std::to_string(seen.times) + " times";
  if (seen.end == fusion::ending::attention)
    return title + (is_one ? "stands" : "stand") + " between two products of attention" + often +
           ": what they move through device memory" +
           (seen.is_counted ? ", " + bytes_text(seen.total) + " a step," : "") +
           " need never be written";
  if (seen.end == fusion::ending::loaded && seen.saved_part() > 0.999)
    return title +
           (!seen.is_counted ? is_one ? "seems to copy or convert" : "seem to copy or convert"
            : is_one         ? "copies or converts"
                             : "copy or convert") +
           " what " + operation_of(run.in.kernels[seen.consumer]) + " reads next" + often +
           ": it could read the original, and convert as it loads" +
           (seen.is_counted ? ", without " + bytes_text(seen.total) + " a step" : "");
  title += std::string(seen.is_counted ? "" : "seem to ") +
           "pass on through device memory what one kernel would keep on the chip" + often + ": " +
           bytes +
           (seen.is_counted ? " that they move in a step" : " of their bytes, by their times");
  if (seen.between != fusion::chain::no_kernel && !seen.has_loss)
    title += "; " + operation_of(run.in.kernels[seen.between]) +
             " needs all values before the rest begins, unless it is done row by row";
  return title;
}

std::string_view advice_of(fusion::chain const& seen) noexcept {
  if (seen.end == fusion::ending::attention)
    return "use fused attention: scaled_dot_product_attention, FlashAttention, cuDNN";
  if (seen.end == fusion::ending::loaded)
    return "let the reader take the other format or layout as it loads, or keep the result: "
           "mixed-input products, strides, a cache in the layout that is read";
  if (seen.has_loss)
    return "use a fused loss that goes through the logits once, in parts and in their own format";
  return {};
}

candidate fusion_candidate(rule_context const& run, fusion::chain const& seen, std::size_t row,
                           double gain) {
  candidate made = run.candidate_of_kernels(row, gain, title_of(run, seen));
  made.advice = advice_of(seen);
  // Of a chain over several ranges each has its time; the one with most of it has the rest.
  bool const is_longest =
      std::max_element(seen.rows.begin(), seen.rows.end(), [](auto const& a, auto const& b) {
        return a.second.ns < b.second.ns;
      })->first == row;
  if (is_longest) made.prove("chain_kernels", static_cast<double>(seen.kernels * seen.times), "");
  made.prove("chain_ns", seen.rows.at(row).ns, "ns");
  if (seen.is_counted && is_longest) {
    made.prove("hbm_bytes", seen.total, "B");
    made.prove("saved_bytes", seen.saved, "B");
  } else if (!seen.is_counted && !launches_graphs(run.rows[row], run.in.steps)) {
    made.needs = counters_of_every_kernel;
  }
  return made;
}

}  // namespace

rule_result fusion_of_kernels(rule_context const& run) {
  rule_result made;
  if (!run.in.steps.has_timeline || run.in.kernels.empty()) return made;
  fusion::step_kernels const step = fusion::kernels_of_step(run);
  std::map<std::vector<std::size_t>, fusion::chain> found;
  fusion::chain_finder const finder(run);
  for (std::vector<fusion::launched> const& stream : step.streams) finder.look(stream, found);
  std::vector<fusion::chain const*> order;
  for (auto const& each : found) order.push_back(&each.second);
  std::stable_sort(order.begin(), order.end(), [](auto const* a, auto const* b) {
    return a->ns() * a->saved_part() > b->ns() * b->saved_part();
  });
  gain_judge gains = run.gains;  // a range may have several chains
  vec<std::string> const names = distinct_names(run.in.kernels);
  std::map<std::size_t, double> left;  // by range, what its counts allow
  double open_ns = 0.0;
  for (fusion::chain const* const seen : order) {
    evidence const known = evidence_of(run, *seen, step);
    if (known == evidence::against) continue;
    bool const sure = known == evidence::enough;
    for (auto const& [row, part] : seen->rows) {
      double const all = run.load(row).time_ns;
      double const saved = part.ns / step.row_ns[row] *
                           std::min(all * seen->saved_part(), all - computing_ns(run, row));
      double& most = left.emplace(row, most_saved_ns(run, row)).first->second;
      double const possible = std::min(saved, unclaimed_of_chain(run, *seen, row, names));
      double const gain =
          gains.gain_of_some(row, seen->is_counted ? possible : std::min(possible, most));
      if (!sure) open_ns += gain;
      if (!sure || !run.is_worth(gain) || run.is_of_collectives(row)) continue;
      candidate one = fusion_candidate(run, *seen, row, gain);
      bool const in_graphs = launches_graphs(run.rows[row], run.in.steps);
      one.launches = in_graphs ? 0.0 : part.launches / step.row_launches[row];
      gains.claim(row, gain);
      most = std::max(0.0, most - gain);
      made.candidates.push_back(std::move(one));
    }
  }
  if (run.is_expensive(open_ns)) made.open.push_back(run.what_decides(deciding::every_kernel));
  return made;
}

}  // namespace detail
STRATA_END
