#ifndef STRATA_PROFILE_METRIC_SET_HPP
#define STRATA_PROFILE_METRIC_SET_HPP

#include <strata/base/text.hpp>

#include <limits>

STRATA_DETAIL_COLD_CODE
STRATA_BEGIN

/// Where in the memory hierarchy a metric is taken.
enum class metric_level : std::uint8_t { sm, l1, l2, hbm, link, device, cpu };

/// What a CUPTI counter is read from: it decides what can share a pass and what a range costs.
enum class metric_location : std::uint8_t {
  memory,       ///< DRAM, L2, clocks of the device: cheap to read
  sm,           ///< SMs and L1: ten times as expensive a range
  sass,         ///< instrumented code: exact, in a pass of its own
  device_wide,  ///< links, memory of integrated chips (mcc): never together with any other place
  anywhere      ///< GPU time and constants of the device: with what else is counted
};

/// How values of several ranges, calls or steps become one.
enum class metric_combine : std::uint8_t {
  sum,      ///< they are added
  maximum,  ///< a constant of the device: the largest
  ratio,    ///< from the combined values of the metrics in the formula
  mean      ///< a ratio that CUPTI made itself: only a mean is possible, which is not exact
};

constexpr std::string_view to_string(metric_level level) noexcept {
  constexpr std::string_view names[] = {"sm", "l1", "l2", "hbm", "link", "device", "cpu"};
  return names[static_cast<std::size_t>(level)];
}

/// An entry of the catalogue: a text such as `l2 l2_bytes [B] = lts__t_bytes.sum: bytes from L2`.
/// The program relocates one pointer of it as it starts, and not one for each part. Requires: a
/// level, a key, ` [`, ` = ` and `: `, in this order.
struct metric {
  char const* text;

  constexpr metric(char const* all) noexcept : text(all) {}

  metric_level level() const noexcept {
    std::string_view const name(text, std::strcspn(text, " "));
    auto level = metric_level::sm;
    while (to_string(level) != name)
      level = static_cast<metric_level>(static_cast<std::uint8_t>(level) + 1);
    return level;
  }
  std::string_view key() const noexcept { return between(' ', 1, " "); }
  std::string_view unit() const noexcept { return between('[', 1, "]"); }
  /// Formulas over CUPTI names (they contain `__`) or over keys, separated by `|`: the first whose
  /// names all exist on the chip holds. `?name` counts as 0 where it does not exist.
  std::string_view formula() const noexcept { return between('=', 2, ":"); }
  std::string_view meaning() const noexcept { return between(':', 2, ""); }
  metric_combine combine() const noexcept {
    auto const has = [made_of = formula()](char const* part) {
      return made_of.find(part) != std::string_view::npos;
    };
    if (has("/")) return metric_combine::ratio;
    if (has(".per_second")) return metric_combine::mean;
    return has(".peak_sustained") ? metric_combine::maximum : metric_combine::sum;
  }

 private:
  std::string_view between(char mark, int width, char const* end) const noexcept {
    char const* const begin = std::strchr(text, mark) + width;
    return {begin, std::strcspn(begin, end)};
  }
};

/// A named set of metrics.
struct metric_preset {
  std::string_view name;
  std::string_view meaning;
  std::string_view items;  ///< keys and presets, separated by blanks
};

namespace detail {

/// Shares up to this are rounding and clocks, and said to be 100 %; units: %.
inline constexpr double most_share = 105.0;

/// Part of `text` before the first `mark`; `text` becomes what follows it.
inline std::string_view take_until(std::string_view& text, std::string_view marks) noexcept {
  std::size_t const index = text.find_first_of(marks);
  std::string_view const head = text.substr(0, index);
  text = index == std::string_view::npos ? std::string_view{} : text.substr(index + 1);
  return head;
}

/// A formula in postfix order: sums, differences, products, quotients and maxima of numbers and
/// names, as in `100 * max(a, 2 * b) / c`. Its value is NaN where a name has none, where a divisor
/// is 0, and where the text is no formula, is longer than 4,096 bytes or nests deeper than 64;
/// `?name` counts as 0 instead. A maximum leaves out what has no value. `share(a, b)` is `a / b`,
/// and 0 where a is, whatever b is: no work needs no peak.
class formula {
 public:
  /// The text outlives the formula. Cost: linear in the text.
  explicit formula(std::string_view text) : rest_(text) {
    good_ = text.size() <= longest;
    if (good_) sum();
    skip();
    if (rest_.empty() && good_) return;
    inputs_.clear();
    steps_.assign(1, {step::number, std::numeric_limits<double>::quiet_NaN()});
  }

  struct input {
    std::string_view name;
    bool optional;
  };
  /// In the order of the text; a name that occurs twice is there twice.
  vec<input> const& inputs() const noexcept { return inputs_; }

  /// Requires: a value for each of inputs(), NaN where there is none. `divisor`, where it is given,
  /// becomes the position in inputs() of the last one by which the first quotient without a value
  /// was to be divided.
  double value(double const* inputs, std::size_t* divisor = nullptr) const noexcept {
    double const* const begin = inputs;
    double stack[max_depth];
    std::size_t top = 0;
    for (step const& next : steps_) {
      if (next.what == step::number) {
        stack[top++] = next.value;
        continue;
      }
      if (next.what == step::name || next.what == step::optional) {
        double const given = *inputs++;
        stack[top++] = next.what == step::optional && given != given ? 0.0 : given;
        continue;
      }
      double const right = stack[--top];
      double& left = stack[top - 1];
      if (next.what == '+') {
        left += right;
      } else if (next.what == '-') {
        left -= right;
      } else if (next.what == '*') {
        left *= right;
      } else if (next.what == step::maximum) {
        if (is_nan(left) || right > left) left = right;
      } else if (next.what != step::share || left != 0.0) {
        bool const is_first = divisor != nullptr && right == 0.0 && !is_nan(left);
        if (is_first && inputs != begin) *divisor = static_cast<std::size_t>(inputs - begin) - 1;
        if (is_first) divisor = nullptr;
        left = right == 0.0 ? std::numeric_limits<double>::quiet_NaN() : left / right;
      }
    }
    return stack[0];
  }

 private:
  struct step {
    static constexpr char number = 'n';
    static constexpr char name = 'a';
    static constexpr char optional = '?';
    static constexpr char maximum = '>';
    static constexpr char share = '%';
    char what;  ///< one of these or an operator
    double value;
  };
  static constexpr std::size_t longest = 4096;  ///< the catalogue's have a few hundred bytes
  static constexpr unsigned deepest = 64;       ///< brackets within brackets
  static constexpr std::size_t max_depth = 16;

  void skip() noexcept {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }

  bool take(char wanted) noexcept {
    skip();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void push(char what, double value = 0.0) {
    good_ = good_ && ++depth_ <= max_depth;
    steps_.push_back({what, value});
  }

  void apply(char what) {
    --depth_;
    steps_.push_back({what, 0.0});
  }

  void sum() {
    product();
    while (good_) {
      char const what = take('+') ? '+' : take('-') ? '-' : '\0';
      if (what == '\0') return;
      product();
      apply(what);
    }
  }

  void product() {
    factor();
    while (good_) {
      char const what = take('*') ? '*' : take('/') ? '/' : '\0';
      if (what == '\0') return;
      factor();
      apply(what);
    }
  }

  /// What is in brackets, up to `end`.
  void nested(char end) {
    good_ = ++nesting_ <= deepest && good_;
    if (good_) sum();
    good_ = good_ && take(end);
    --nesting_;
  }

  void factor() {
    if (take('(')) return nested(')');
    bool const optional = take('?');
    skip();
    std::size_t const end = rest_.find_first_of(" +-*/()?|,");
    std::string_view const word = rest_.substr(0, end);
    rest_.remove_prefix(word.size());
    if (word.empty()) {
      good_ = false;
    } else if ((word == "max" || word == "share") && take('(')) {
      nested(',');
      nested(')');
      apply(word == "max" ? step::maximum : step::share);
    } else if (word[0] >= '0' && word[0] <= '9') {
      push(step::number, number(word));
    } else {
      inputs_.push_back({word, optional});
      push(optional ? step::optional : step::name);
    }
  }

  /// Digits with an optional power of ten, as 32 or 1e9.
  double number(std::string_view word) noexcept {
    double result = 0.0;
    int exponent = 0;
    bool in_exponent = false;
    for (char const c : word) {
      if (c == 'e' && !in_exponent) {
        in_exponent = true;
      } else if (c < '0' || c > '9') {
        good_ = false;
      } else if (in_exponent) {
        exponent = exponent < 400 ? exponent * 10 + (c - '0') : 400;
      } else {
        result = result * 10 + (c - '0');
      }
    }
    for (int i = 0; i < exponent; ++i) result *= 10;
    return result;
  }

  std::string_view rest_;  ///< of the text, while it is read
  bool good_ = true;
  std::size_t depth_ = 0;  ///< of the stack behind the last step
  unsigned nesting_ = 0;   ///< brackets that are open
  vec<step> steps_;
  vec<input> inputs_;
};

/// Calls f(name, optional) for each name in a formula.
template <class Function>
void for_each_name(std::string_view text, Function&& f) {
  formula const parsed(text);
  for (formula::input const& input : parsed.inputs()) f(input.name, input.optional);
}

/// Whether a name is CUPTI's: unit__counter.rollup.
constexpr bool is_cupti_name(std::string_view name) noexcept {
  return name.find("__") != std::string_view::npos;
}

/// The unit of a CUPTI name, without the group before it: `l1tex` of "X.Triage.l1tex__t_bytes.sum".
constexpr std::string_view unit_of(std::string_view name) noexcept {
  std::string_view const before = name.substr(0, name.find("__"));
  std::size_t const dot = before.rfind('.');
  return dot == std::string_view::npos ? before : before.substr(dot + 1);
}

inline bool is_one_of(std::string_view word, std::string_view words) noexcept {
  while (!words.empty()) {
    if (take_until(words, " ") == word) return true;
  }
  return false;
}

/// The cycles of the tensor cores' pipe, by which it is known whether their work was counted.
inline constexpr std::string_view tensor_cycles = "sm__pipe_tensor_cycles_active.sum";
inline constexpr std::string_view tensor_format_prefix = "sm__ops_path_tensor_src_";

/// Whether a counter is of the operations of a format of the tensor cores.
inline bool counts_tensor_format(std::string_view counter) noexcept {
  return begins_with(counter, tensor_format_prefix) && ends_with(counter, ".sum");
}
/// Whether it takes passes of its own: BF16 does not.
inline bool is_conditional_format(std::string_view counter) noexcept {
  return counts_tensor_format(counter) &&
         !begins_with(counter.substr(tensor_format_prefix.size()), "bf16");
}

}  // namespace detail

/// Where a CUPTI counter is read.
inline metric_location location_of(std::string_view cupti_name) noexcept {
  if (detail::ends_with(cupti_name, ".peak_sustained")) return metric_location::anywhere;
  if (cupti_name.find("_sass_") != std::string_view::npos) return metric_location::sass;
  std::string_view const unit = detail::unit_of(cupti_name);
  if (detail::is_one_of(unit, "sm smsp l1tex tex tpc idc gcc sm_sub")) return metric_location::sm;
  if (detail::is_one_of(unit, "pcie nvlrx nvltx nvl ctc c2c mcc"))
    return metric_location::device_wide;
  // On GB202 some of these are of the whole device, others and those of GH100 are not. Only CUPTI
  // 13.1 tells which, so all are counted apart.
  if (detail::is_one_of(unit, "lts syslts") &&
      cupti_name.find("_realtime") != std::string_view::npos)
    return metric_location::device_wide;
  if (detail::begins_with(cupti_name, "gpu__time_duration")) return metric_location::anywhere;
  return metric_location::memory;
}

/// Whether CUPTI instruments kernels to count it, which breaks CUDA graphs. The peak of such a
/// counter is a constant of the device and instruments nothing.
inline bool instruments_kernels(std::string_view cupti_name) noexcept {
  return location_of(cupti_name) == metric_location::sass;
}

/// Level of a CUPTI counter, by its unit.
inline metric_level level_of(std::string_view cupti_name) noexcept {
  std::string_view const unit = detail::unit_of(cupti_name);
  if (detail::is_one_of(unit, "dram fbpa mcc")) return metric_level::hbm;
  if (detail::is_one_of(unit, "lts ltc lrc l2 syslts")) return metric_level::l2;
  if (detail::is_one_of(unit, "l1tex tex")) return metric_level::l1;
  if (location_of(cupti_name) == metric_location::device_wide) return metric_level::link;
  if (detail::is_one_of(unit, "sm smsp tpc gpc idc gcc")) return metric_level::sm;
  return metric_level::device;
}

/// How values of a CUPTI name combine, by its rollup: counts add up, what CUPTI divided does not.
inline metric_combine combine_of(std::string_view cupti_name) noexcept {
  // Of the busiest SM, slice or channel, which the analysis compares with the mean one.
  if (detail::is_one_of(cupti_name, "sm__cycles_active.max lts__t_sectors.max dram__bytes.max"))
    return metric_combine::sum;
  if (detail::ends_with(cupti_name, ".sum") || detail::ends_with(cupti_name, ".avg")) {
    return metric_combine::sum;
  }
  if (detail::ends_with(cupti_name, ".max") || detail::ends_with(cupti_name, ".peak_sustained")) {
    return metric_combine::maximum;
  }
  return metric_combine::mean;
}

/// A metric as one chip has it.
struct resolved_metric {
  std::string key;      ///< its key in the catalogue, or the CUPTI name as it was given
  std::string formula;  ///< over CUPTI names, or over keys of the same set
  std::string unit;     ///< empty where only CUPTI knows it
  metric_level level = metric_level::device;
  metric_combine combine = metric_combine::sum;
  bool derived = false;   ///< from other metrics of the set
  bool stand_in = false;  ///< formula is not the first alternative of the catalogue

  /// The CUPTI names to be counted for it; none where it is derived.
  vec<std::string> counters;
};

/// A metric that the chip does not have.
struct absent_metric {
  std::string key;
  std::string reason;  ///< one sentence without a full stop
};

/// A name that means nothing.
struct unknown_metric {
  std::string name;
  vec<std::string> suggestions;  ///< nearest first

  /// "unknown metric 'l1_hit': did you mean l1_hit_rate?"
  std::string message() const {
    std::string text = detail::sentence("unknown metric '") << name << '\'';
    for (std::size_t i = 0; i < suggestions.size(); ++i) {
      text += (i == 0 ? ": did you mean " : i + 1 == suggestions.size() ? " or " : ", ");
      text += suggestions[i];
    }
    return text + (suggestions.empty() ? ": strata metrics prints all" : "?");
  }
};

/// Counters that are configured with one call, since only those can share a pass.
struct metric_group {
  metric_location location = metric_location::memory;
  vec<std::string> counters;
  /// A format of the tensor cores: counted only where those before it do not explain their cycles.
  bool conditional = false;
};

/// What a request comes to on one chip.
struct metric_set {
  vec<resolved_metric> metrics;  ///< inputs come before what is derived from them
  vec<absent_metric> absent;
  vec<unknown_metric> unknown;

  resolved_metric const* find(std::string_view key) const noexcept {
    for (resolved_metric const& metric : metrics) {
      if (metric.key == key) return &metric;
    }
    return nullptr;
  }

  /// Every CUPTI name that is needed, once.
  vec<std::string> counters() const {
    vec<std::string> names;
    for (resolved_metric const& metric : metrics) {
      for (std::string const& name : metric.counters) {
        if (!names.contains(name)) names.push_back(name);
      }
    }
    return names;
  }
};

/// Divides the counters of a set into groups: the memory's, the SMs', the links', SASS. The SMs'
/// are apart from the memory's, which takes one pass more and makes ranges far cheaper. GPU time
/// and constants of the device join the cheapest, but never SASS, which may have to be left out.
inline vec<metric_group> group_metrics(metric_set const& set) {
  using location = metric_location;
  vec<metric_group> groups;
  auto const find_group = [&groups](location wanted) -> metric_group* {
    for (metric_group& group : groups) {
      if (group.location == wanted) return &group;
    }
    return nullptr;
  };
  vec<std::string> const names = set.counters();
  bool const has_cycles = names.contains(detail::tensor_cycles);
  for (location const where :
       {location::memory, location::sm, location::device_wide, location::sass}) {
    vec<std::string> conditional;
    for (std::string const& name : names) {
      if (location_of(name) != where) continue;
      if (has_cycles && detail::is_conditional_format(name)) {
        conditional.push_back(name);
        continue;
      }
      if (find_group(where) == nullptr) groups.push_back({where, {}});
      find_group(where)->counters.push_back(name);
    }
    for (std::string const& name : conditional)
      groups.push_back({where, vec<std::string>(1, name), true});
  }
  for (std::string const& name : names) {
    if (location_of(name) != location::anywhere) continue;
    bool const constant = detail::ends_with(name, ".peak_sustained");
    metric_group* group = find_group(location::memory);
    if (group == nullptr) group = find_group(location::sm);
    if (group == nullptr && !constant)
      group = find_group(location::device_wide);  // links refuse constants
    if (group == nullptr) group = groups.insert(groups.begin(), metric_group{location::memory, {}});
    group->counters.push_back(name);
  }
  return groups;
}

STRATA_END
STRATA_DETAIL_END_CODE

#endif  // STRATA_PROFILE_METRIC_SET_HPP
