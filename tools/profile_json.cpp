#include "profile_json.hpp"

#include <strata/base/text.hpp>
#include "analyse/run_losses.hpp"
#include "analyse/run_period.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace tools {
namespace {

using nlohmann::json;
using strata::run_tables;

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// A member of an object, or, with its name in `scope`, of an object in that.
struct member {
  std::string scope;
  std::string key;
  std::string text;
  double number = unknown;
  bool is_true = false;
};

/// The members of one row of a list, or of an object at the top.
class members {
 public:
  std::vector<member> all;
  std::vector<std::string> objects;  ///< the names of objects in it

  member const* find(std::string_view key, std::string_view scope = {}) const {
    for (member const& each : all)
      if (each.key == key && each.scope == scope) return &each;
    return nullptr;
  }
  std::string text(std::string_view key) const {
    member const* const found = find(key);
    return found == nullptr ? std::string() : found->text;
  }
  bool knows(std::string_view key) const {
    member const* const found = find(key);
    return found != nullptr && !std::isnan(found->number);
  }
  double number(std::string_view key, double otherwise = 0.0, std::string_view scope = {}) const {
    member const* const found = find(key, scope);
    return found == nullptr || std::isnan(found->number) ? otherwise : found->number;
  }
};

/// The columns of call_times in a list.
struct time_columns {
  char const* count;
  char const* total;
  char const* mean;
  char const* deviation;
  char const* median;
  char const* min;
  char const* max;
  char const* first_count;
  char const* first_total;
};
constexpr time_columns kernel_columns{"count",     "total_ns",         "mean_ns",
                                      "stddev_ns", "p50_ns",           "min_ns",
                                      "max_ns",    "first_step_count", "first_step_ns"};

/// Whether what comparisons judge of a row is a time or a number of calls.
bool is_sound(members const& row) {
  constexpr char const* judged[] = {"calls",       "host_total_ns",    "host_stddev_ns",
                                    "host_p50_ns", "first_step_calls", "first_step_host_ns",
                                    "count",       "total_ns",         "stddev_ns",
                                    "p50_ns",      "first_step_count", "first_step_ns"};
  return std::all_of(std::begin(judged), std::end(judged), [&](char const* name) {
    double const value = row.number(name);
    return value >= 0 && value < 1e30;
  });
}

std::int64_t whole(double value) {
  constexpr double most = 4e18;
  return value > 0.0 && value < most ? static_cast<std::int64_t>(value) : 0;
}

/// Makes the tables of the rows and objects of a file, as they come.
class tables_maker {
 public:
  explicit tables_maker(run_tables& made) : made_(made) {}

  bool has_ranges = false;

  /// Why the file is no profile that can be read; nothing where it is one. `is_whole`: whether all
  /// its rows are some of a profile.
  std::string problem(bool is_whole) const {
    if (schema_ != "strata.profile")
      return "It is no profile of Strata, whose schema.name is strata.profile: formats=json writes "
             "one.";
    if (!(version_ >= 1 && version_ <= readable_profile_schema))
      return "Its schema version is not readable here: compare it with the Strata that wrote it.";
    if (!is_whole) return "Its rows are not those of a profile: the file was changed.";
    return has_ranges ? "" : "It has no ranges: the file is not whole.";
  }

  void take_top(member const& value) {
    if (value.key == "traced") made_.traced = value.is_true;
    if (value.key == "period_of_gpu") made_.period_of_gpu = value.is_true;
  }
  void take_object(std::string_view name, members const& object) {
    if (name == "schema") {
      schema_ = object.text("name");
      version_ = object.number("version");
      made_.origin.strata = object.text("strata");
    } else if (name == "environment") {
      take_environment(object);
    } else if (name == "losses") {
      for (member const& loss : object.all)
        if (loss.scope.empty() && !std::isnan(loss.number))
          made_.losses.add(loss.key, strata::detail::loss_words(loss.key), loss.number);
      made_.steps_folded = std::max(0.0, object.number("steps_folded"));
    }
  }
  /// Returns: false where it is no row of that list.
  bool take_row(std::string_view part, std::string_view list, members const& row) {
    if (!part.empty()) {
      if (part == "counters" || part == "cpu_counters" || part == "live_counters")
        take_counters(part, list, row);
      return true;
    }
    if (list == "steps") return take_step(row);
    if (list == "devices") made_.devices.push_back({row.text("name"), row.number("clock_khz")});
    if (list == "ranges") take_range(row);
    if (list == "kernels") take_kernel(row);
    return (list != "ranges" && list != "kernels") || is_sound(row);
  }

 private:
  void take_environment(members const& from) {
    strata::run_origin& origin = made_.origin;
    origin.command = from.text("command");
    origin.configuration = from.text("configuration");
    origin.host = from.text("host");
    origin.cpu = from.text("cpu");
    origin.started_at = from.text("started_at");
    origin.started_at_unix_ns = whole(from.number("started_at_unix_ns"));
    origin.driver_version = from.number("driver_version");
    origin.cupti_version = from.number("cupti_version");
    double const rank = from.number("rank", -1.0);
    if (rank >= 0.0 && rank < 2147483648.0) origin.rank = static_cast<std::int32_t>(rank);
  }
  bool take_step(members const& row) {
    strata::run_step step;
    step.number = row.number("step", static_cast<double>(made_.steps.size()));
    step.end_ns = row.number("end_ns");
    step.ns = step.end_ns - row.number("begin_ns");
    step.cpu_ns = row.number("cpu_ns");
    step.period_ns = row.number("period_ns", std::numeric_limits<double>::quiet_NaN());
    made_.steps.push_back(step);
    return step.ns >= 0;
  }
  void take_range(members const& from) {
    strata::run_row row{
        from.text("path"), from.text("thread"), from.text("shape"), from.text("note"), {}};
    row.numbers.resize(made_.columns.size(), unknown);
    for (member const& value : from.all) {
      if (!value.scope.empty()) continue;
      auto const [place, is_new] = columns_.emplace(value.key, made_.columns.size());
      if (is_new) {
        made_.columns.push_back(value.key);
        row.numbers.push_back(unknown);
      }
      double& number = row.numbers[place->second];
      if (std::isnan(number)) number = value.number;
    }
    made_.ranges.push_back(std::move(row));
  }
  static strata::call_times times_of(members const& row, time_columns const& columns) {
    strata::call_times times;
    times.count = row.number(columns.count);
    times.total = row.number(columns.total);
    times.mean = row.number(columns.mean);
    times.deviation = row.number(columns.deviation);
    times.median = row.number(columns.median);
    times.min = row.number(columns.min);
    times.max = row.number(columns.max);
    times.first_count = row.number(columns.first_count);
    times.first_total = row.number(columns.first_total);
    times.knows_first = row.knows(columns.first_count);
    return times;
  }
  void take_kernel(members const& row) {
    member const* const collective = row.find("collective");
    bool const knows_collective =
        collective != nullptr && std::isnan(collective->number) && !collective->text.empty();
    made_.kernels.push_back({row.text("path"), row.text("kernel"), row.text("demangled"),
                             times_of(row, kernel_columns),
                             collective != nullptr && std::isnan(collective->number),
                             knows_collective ? collective->text : std::string(),
                             row.text("algorithm"), row.text("protocol")});
  }
  void take_counters(std::string_view part, std::string_view list, members const& row) {
    bool const of_gpu = part == "counters";
    if (made_.counters.empty() || made_.counters.back().of_gpu != of_gpu) {
      made_.counters.emplace_back();
      made_.counters.back().of_gpu = of_gpu;
    }
    strata::run_counter_set& set = made_.counters.back();
    if (list == "metrics")
      set.metrics.push_back(
          {row.text("key"), row.text("unit"), row.text("formula"), row.text("level")});
    if (list != "values") return;
    strata::run_counts counts{row.text("path"),
                              {},
                              row.number("sm_cycles", 0.0, "self"),
                              row.number("time_ns", 0.0, "self")};
    bool const has_total =
        std::find(row.objects.begin(), row.objects.end(), "total") != row.objects.end();
    if (has_total) counts.total = totals_of(set, row);
    set.rows.push_back(std::move(counts));
  }

  /// Cost: linear, where they are in the order of the metrics, as they are written.
  static std::vector<double> totals_of(strata::run_counter_set const& set, members const& row) {
    std::vector<double> totals(set.metrics.size(), unknown);
    std::size_t next = 0;
    for (member const& value : row.all) {
      if (value.scope != "total") continue;
      for (std::size_t tried = 0; tried < totals.size(); ++tried, ++next) {
        if (next >= totals.size()) next = 0;
        if (set.metrics[next].key != value.key) continue;
        totals[next++] = value.number;
        break;
      }
    }
    return totals;
  }

  run_tables& made_;
  std::unordered_map<std::string, std::size_t> columns_;
  std::string schema_;
  double version_ = 0.0;
};

/// Hands over each object of a list at the top, or of a list in an object at the top, with its
/// members; deeper ones are passed by.
class row_reader final : public json::json_sax_t {
 public:
  explicit row_reader(tables_maker& to) : to_(to) {}

  std::string expected;      ///< of what is no JSON; empty where that is not known
  std::size_t position = 0;  ///< where it is none
  bool is_json = true;

  bool null() override { return take({}); }
  bool boolean(bool value) override {
    member made;
    made.is_true = value;
    return take(std::move(made));
  }
  bool number_integer(number_integer_t value) override {
    return take_number(static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return take_number(static_cast<double>(value));
  }
  bool number_float(number_float_t value, string_t const&) override { return take_number(value); }
  bool string(string_t& value) override {
    member made;
    made.text = std::move(value);
    return take(std::move(made));
  }
  bool binary(binary_t&) override { return false; }
  bool key(string_t& value) override {
    key_ = std::move(value);
    return true;
  }
  bool start_object(std::size_t) override {
    if (open_.size() == 1) object_ = {};
    if (open_.size() == row_depth() + 1 && in_row_) row_.objects.push_back(key_);
    inner_members_ = 0;
    bool const begins_row = is_list();
    if (!open(false)) return false;
    if (!begins_row) return true;
    in_row_ = true;
    own_members_ = 0;
    row_ = {};
    return true;
  }
  bool end_object() override {
    if (in_row_ && open_.size() == row_depth() + 1) {
      in_row_ = false;
      bool const deep = list_depth_ == 3;
      if (!to_.take_row(deep ? open_[1].key : std::string(), open_[list_depth_ - 1].key, row_))
        return false;
    } else if (open_.size() == 2 && !open_[1].is_list) {
      to_.take_object(open_[1].key, object_);
    }
    open_.pop_back();
    return true;
  }
  bool start_array(std::size_t) override {
    if (is_row_expected()) return false;
    if (open_.size() == 1 && !open_[0].is_list && key_ == "ranges") to_.has_ranges = true;
    bool const is_of_rows = !in_row_ && ((open_.size() == 1 && !open_[0].is_list) ||
                                         (open_.size() == 2 && !open_[1].is_list));
    if (!open(true)) return false;
    if (is_of_rows) list_depth_ = open_.size();
    return true;
  }
  bool end_array() override {
    if (!in_row_ && open_.size() == list_depth_) list_depth_ = 0;
    open_.pop_back();
    return true;
  }
  bool parse_error(std::size_t at, std::string const&, json::exception const& error) override {
    constexpr std::string_view word = "; expected ";
    is_json = false;
    position = at;
    std::string const what = error.what();
    std::size_t const begin = what.rfind(word);
    if (begin != what.npos)
      expected = what.substr(begin + word.size());
    else if (what.find("while parsing value") != what.npos)
      expected = "a value";
    return false;
  }

 private:
  struct frame {
    bool is_list;
    std::string key;
  };
  static constexpr std::size_t deepest = 64;
  static constexpr std::size_t most_members = 500;  // of a row, or of an object in it; chosen

  std::size_t row_depth() const { return list_depth_; }
  /// Whether the next value is an element of a list of rows.
  bool is_list() const { return !in_row_ && list_depth_ != 0 && open_.size() == list_depth_; }
  /// The same of a list that has rows alone.
  bool is_row_expected() const {
    if (!is_list()) return false;
    std::string const& list = open_.back().key;
    if (list_depth_ == 2)
      return list == "ranges" || list == "kernels" || list == "steps" || list == "devices";
    return list == "values" && (open_[1].key == "counters" || open_[1].key == "cpu_counters" ||
                                open_[1].key == "live_counters");
  }
  bool open(bool is_list) {
    if (open_.size() >= deepest) {
      is_json = false;
      expected = "less nesting";
      return false;
    }
    open_.push_back({is_list, std::move(key_)});
    key_.clear();
    return true;
  }
  bool take_number(double value) {
    member made;
    made.number = value;
    return take(std::move(made));
  }
  bool take(member&& value) {
    if (is_row_expected()) return false;
    value.key = key_;
    if (in_row_) {
      bool const is_inner = open_.size() == row_depth() + 2 && !open_.back().is_list;
      if (open_.size() != row_depth() + 1 && !is_inner) return true;
      if (is_inner) value.scope = open_.back().key;
      row_.all.push_back(std::move(value));
      return ++(is_inner ? inner_members_ : own_members_) <= most_members;
    }
    if (open_.size() == 1 && !open_[0].is_list) to_.take_top(value);
    if (open_.size() == 2 && !open_[1].is_list && object_.all.size() < most_members)
      object_.all.push_back(std::move(value));
    return true;
  }
  tables_maker& to_;
  std::vector<frame> open_;
  std::string key_;
  std::size_t list_depth_ = 0;  ///< of the list of rows that is open; 0: none
  bool in_row_ = false;
  std::size_t own_members_ = 0;
  std::size_t inner_members_ = 0;
  members row_;
  members object_;
};

}  // namespace

std::string read_profile_json(std::string_view text, run_tables& made) {
  made = {};
  tables_maker maker(made);
  row_reader reader(maker);
  bool const is_read = json::sax_parse(text.begin(), text.end(), &reader);
  std::string problem;
  if (!reader.is_json) {
    auto const end =
        text.begin() + static_cast<std::ptrdiff_t>(std::min(reader.position, text.size()));
    auto const line = 1 + std::count(text.begin(), end, '\n');
    problem = "It is not valid JSON: line " + std::to_string(line) +
              (reader.expected.empty() ? ": the text is damaged."
                                       : ": " + reader.expected + " was expected.");
  } else {
    problem = maker.problem(is_read);
  }
  if (!problem.empty())
    made = {};
  else
    made.period = strata::make_run_period(made);
  return problem;
}

}  // namespace tools
