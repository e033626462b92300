#ifndef STRATA_PROFILE_METRIC_RESOLVER_HPP
#define STRATA_PROFILE_METRIC_RESOLVER_HPP

#include <strata/profile/metric_rates.hpp>

STRATA_BEGIN

/// What the metrics of a part of the catalogue are made from.
enum class metric_source : std::uint8_t {
  cupti,  ///< counters of the GPU
  perf,   ///< counters of the CPU
  rates   ///< metrics of `cupti` and the time of timed steps
};

/// All metrics of one source.
struct metric_list {
  metric_source source = metric_source::cupti;

  metric const* begin() const noexcept {
    using all = detail::metric_catalogue;
    return source == metric_source::cupti  ? std::begin(all::entries)
           : source == metric_source::perf ? std::begin(all::cpu)
                                           : std::begin(all::rates);
  }
  metric const* end() const noexcept {
    using all = detail::metric_catalogue;
    return source == metric_source::cupti  ? std::end(all::entries)
           : source == metric_source::perf ? std::end(all::cpu)
                                           : std::end(all::rates);
  }
};

/// All presets.
struct preset_list {
  metric_preset const* begin() const noexcept {
    return std::begin(detail::metric_catalogue::presets);
  }
  metric_preset const* end() const noexcept { return std::end(detail::metric_catalogue::presets); }
};

/// The metric with this key, or null.
inline metric const* find_metric(std::string_view key,
                                 metric_source source = metric_source::cupti) noexcept {
  for (metric const& entry : metric_list{source}) {
    if (entry.key() == key) return &entry;
  }
  return nullptr;
}

/// The preset with this name, or null.
inline metric_preset const* find_preset(std::string_view name) noexcept {
  for (metric_preset const& preset : preset_list()) {
    if (preset.name == name) return &preset;
  }
  return nullptr;
}

namespace detail {

/// The metric with this key, of whichever source, or null.
inline metric const* find_entry(std::string_view key) noexcept {
  for (metric_source const source :
       {metric_source::cupti, metric_source::perf, metric_source::rates}) {
    if (metric const* const entry = find_metric(key, source)) return entry;
  }
  return nullptr;
}

inline void expand_into(std::string_view request, vec<std::string>& names) {
  while (!request.empty()) {
    std::string_view const item = take_until(request, "+, \t");
    if (item.empty()) continue;
    if (metric_preset const* preset = find_preset(item)) {
      expand_into(preset->items, names);
    } else if (!names.contains(item)) {
      names.emplace_back(item);
    }
  }
}

}  // namespace detail

/// The names in a request such as `hbm+l1_hit_rate+dram__bytes.sum`: presets become their metrics,
/// in order, each once; whatever else stays as it is.
inline vec<std::string> expand_metrics(std::string_view request) {
  vec<std::string> names;
  detail::expand_into(request, names);
  return names;
}

namespace detail {

/// Turns wanted names into a metric_set.
class metric_resolver {
 public:
  /// Why a counter cannot be counted; empty where it can.
  using refusal = std::string (*)(void* context, std::string const& counter);

  /// `chip_names` are what misspelt CUPTI names are compared with.
  metric_resolver(metric_source source, refusal why_not, void* context,
                  vec<std::string> const& chip_names = {})
      : source_(source), why_not_(why_not), context_(context), chip_names_(chip_names) {}

  /// Adds the rates whose inputs a set has.
  static void add_rates(metric_set& set) {
    if (set.metrics.empty()) return;
    metric_resolver rates(metric_source::rates, nullptr, nullptr);
    rates.set_ = std::move(set);
    for (metric const& entry : metric_list{metric_source::rates}) {
      if (!rates.choice(entry).empty()) rates.add(entry);
    }
    set = std::move(rates.set_);
  }

  metric_set run(vec<std::string> const& wanted) {
    for (std::string const& name : wanted) {
      if (set_.find(name) != nullptr) continue;
      if (metric const* entry = find_metric(name, source_)) {
        if (std::string reason = why_absent(*entry); !reason.empty()) {
          set_.absent.push_back({name, std::move(reason)});
        } else {
          add(*entry);
        }
      } else if (source_ == metric_source::cupti && is_cupti_name(name)) {
        add_raw(name);
      } else {
        set_unknown(name);
      }
    }
    return std::move(set_);
  }

 private:
  bool has(std::string_view counter) const {
    return why_not_(context_, std::string(counter)).empty();
  }

  bool available(std::string_view name) const {
    if (source_ == metric_source::rates) return name == timed_input || set_.find(name) != nullptr;
    if (is_cupti_name(name)) return has(name);
    metric const* entry = find_metric(name, source_);
    return entry != nullptr && !choice(*entry).empty();
  }

  /// The first of the alternatives whose names all exist; empty where there is none. One in which
  /// everything is optional needs at least one name.
  std::string_view choice(metric const& entry) const {
    std::string_view rest = entry.formula();
    while (!rest.empty()) {
      std::string_view const alternative = trimmed(take_until(rest, "|"));
      bool complete = true;
      bool any = false;
      for_each_name(alternative, [&](std::string_view name, bool optional) {
        if (!complete) return;
        bool const there = available(name);
        any = any || there;
        complete = there || optional;
      });
      if (complete && any) return alternative;
    }
    return {};
  }

  /// Why a metric of the catalogue cannot be counted; empty where it can.
  std::string why_absent(metric const& entry) const {
    if (!choice(entry).empty()) return {};
    vec<std::string_view> missing;
    list_missing(entry, missing);
    std::string reason;
    if (source_ == metric_source::perf) return why_not_(context_, std::string(missing.front()));
    for (std::string_view const name : missing) {
      reason += reason.empty() ? "this chip lacks " : ", ";
      reason += name;
    }
    bool const choices = entry.formula().find('|') != std::string_view::npos;
    return reason + (choices ? " and any alternative" : "");
  }

  /// The CUPTI names that the first alternative lacks, in itself or in what it is derived from.
  void list_missing(metric const& entry, vec<std::string_view>& missing) const {
    std::string_view rest = entry.formula();
    for_each_name(take_until(rest, "|"), [&](std::string_view name, bool) {
      if (available(name)) return;
      if (metric const* input = find_metric(name, source_)) {
        list_missing(*input, missing);
      } else if (!missing.contains(name)) {
        missing.push_back(name);
      }
    });
  }

  void add(metric const& entry) {
    if (set_.find(entry.key()) != nullptr) return;
    std::string_view const formula = choice(entry);
    resolved_metric made;
    made.key = entry.key();
    made.unit = entry.unit();
    made.level = entry.level();
    made.combine = entry.combine();
    made.stand_in = source_ == metric_source::cupti && !begins_with(entry.formula(), formula);
    made.formula = formula;
    for_each_name(formula, [&](std::string_view name, bool) {
      if (!available(name)) return;
      if (is_cupti_name(name)) {
        made.counters.emplace_back(name);
      } else {
        made.derived = true;
        if (metric const* const input = find_metric(name, source_)) add(*input);
      }
    });
    set_.metrics.push_back(std::move(made));
  }

  /// A CUPTI name; one without a rollup is a sum.
  void add_raw(std::string const& name) {
    std::string const sum = name + ".sum";
    std::string const& found = has(name) ? name : has(sum) ? sum : std::string();
    if (found.empty()) {
      set_unknown(name);
      return;
    }
    if (set_.find(found) != nullptr) return;
    resolved_metric made;
    made.key = found;
    made.formula = found;
    made.level = level_of(found);
    made.combine = combine_of(found);
    made.counters.push_back(found);
    set_.metrics.push_back(std::move(made));
  }

  void set_unknown(std::string const& name) {
    if (source_ == metric_source::cupti && is_cupti_name(name)) {
      set_.unknown.push_back({name, nearest_counters(name)});
      return;
    }
    nearest_names nearest(name);
    for (metric const& entry : metric_list{source_}) nearest.consider(entry.key());
    if (source_ == metric_source::cupti)
      for (metric_preset const& preset : preset_list()) nearest.consider(preset.name);
    set_.unknown.push_back({name, nearest.best()});
  }

  /// The chip's names nearest to a CUPTI name, with its rollup or the commonest where they have it.
  vec<std::string> nearest_counters(std::string const& name) const {
    std::size_t const dot = name.find('.', name.find("__"));
    std::string const base = name.substr(0, dot);
    std::string const rollup = dot == std::string::npos ? std::string() : name.substr(dot);
    nearest_names nearest(base);
    for (std::string const& known : chip_names_) nearest.consider(known);
    vec<std::string> found = nearest.best();
    for (std::string& nearby : found) {
      if (has(nearby + rollup)) {
        nearby += rollup;
      } else if (has(nearby + ".sum")) {
        nearby += ".sum";
      }
    }
    return found;
  }

  metric_source source_;
  refusal why_not_;
  void* context_;
  vec<std::string> chip_names_;
  metric_set set_;
};

}  // namespace detail

/// Resolves names for a chip. has(name): whether the chip has a CUPTI metric with its rollup.
/// `chip_names` are what misspelt CUPTI names are compared with.
/// Cost: has() is called several times for a name, so it should remember.
template <class Has>
metric_set resolve_metrics(vec<std::string> const& wanted, Has&& has,
                           vec<std::string> const& chip_names = {}) {
  auto asked = [&has](std::string const& name) { return static_cast<bool>(has(name)); };
  using question = decltype(asked);
  detail::metric_resolver::refusal const why_not = [](void* asker, std::string const& name) {
    return std::string((*static_cast<question*>(asker))(name) ? "" : "this chip lacks it");
  };
  return detail::metric_resolver(metric_source::cupti, why_not, &asked, chip_names).run(wanted);
}

STRATA_END

#endif  // STRATA_PROFILE_METRIC_RESOLVER_HPP
