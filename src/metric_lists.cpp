#include "metric_lists.hpp"
#include "gpu_chips.hpp"

STRATA_BEGIN
namespace detail {

vec<std::string> supported_chips(profiler_library const& library) {
  vec<std::string> names;
  cupti::profiler::supported_chips_params params;
  if (!library.ok() || call(library.api.supported_chips, params) != cupti::result::success)
    return names;
  for (std::size_t i = 0; i < params.count; ++i) names.emplace_back(params.names[i]);
  return names;
}

std::string meaning_on_chip(chip_metrics& chip, resolved_metric const& metric) {
  auto const counts = [&](std::string_view part) {
    return metric.formula.find(part) != std::string::npos;
  };
  if (counts("sm__ops_path_tensor") && ends_with(metric.key, "_peak_per_cycle"))
    return counts("_sparsity_off") ? "dense" : "dense: it has no sparsity";
  if (counts("_fill_sysmem")) return "fills of L2 from memory, no hits";
  if (counts("_fp4_fp6")) {
    bool shares = false;
    for (std::string const& counter : metric.counters)
      shares = shares || counter.find("fp4_fp6") != std::string::npos;
    return shares ? "with FP6, and FP4 at this speed" : "";
  }
  if (counts("_data_user")) return "user data alone";
  if (!begins_with(metric.key, "l2_") || !counts("lts__t_") || counts("_srcunit_")) return {};
  if (counts("_aperture_"))
    return counts("syslts__") ? "of the part of L2 for host memory and peers" : "";
  // On GB202 CUPTI 13 has both, and whether the one contains the other is not known.
  if (chip.has("syslts__t_sectors.sum")) return "host memory and peers have a part of their own";
  return chip.has("lts__t_sectors_aperture_sysmem.sum") ? "host memory and peers with it" : "";
}

namespace {

/// Lines of a table of metrics.
struct metric_lines {
  static constexpr std::size_t key_width = 34;
  static constexpr std::size_t unit_width = 20;
  static constexpr std::size_t level_width = 8;

  static std::string padded(std::string_view text, std::size_t width) {
    std::string out(text);
    out.append(out.size() < width ? width - out.size() : 1, ' ');
    return out;
  }
  static std::string heading() {
    return sentence(padded("metric", key_width))
           << padded("unit", unit_width) << padded("level", level_width) << "what\n";
  }
  static std::string make_line(metric const& entry) {
    return padded(entry.key(), key_width) + padded(entry.unit(), unit_width) +
           padded(to_string(entry.level()), level_width) + std::string(entry.meaning());
  }
};

/// Writes what list_metrics() returns.
class metric_lister : metric_lines {
 public:
  explicit metric_lister(profiler_library const& library) : library_(library) {}

  /// `wanted`: a chip or a product.
  std::string run(std::string_view wanted) {
    gpu_chip const* const meant = gpu_names::find(wanted);
    std::string_view const chip = meant != nullptr ? meant->name : wanted;
    vec<std::string> const known = supported_chips(library_);
    status const opened = host_.open(library_, std::string(chip));
    // libnvperf_host.so of 13.5 still opens GV100, which it does not list.
    bool const is_listed = known.empty() || known.contains(std::string(chip));
    if (!opened || !is_listed) {
      std::string const why = is_listed ? opened.message() : why_not(std::string(chip), known);
      char const* const end = !why.empty() && why.back() == '?' ? "\n" : ".\n";
      return sentence("No metrics can be listed: ") << why << end;
    }
    std::string product;
    if (chip != wanted) product = sentence(" (") << wanted << ')';
    text_ =
        sentence("Metrics of ")
        << chip << product << ", by " << library_.path
        << ".\nA pass is one step of the program, behind those that are timed. +: other formats of "
           "the tensor cores\ntake more, where they are used.\n\n";
    if (is_sold_as_geforce(chip))
      text_ +=
          "Peaks of tensor cores are the chip's. GeForce boards do FP16, BF16, TF32 and FP8 with "
          "sums in FP32\nat half of them, which reports take into account.\n\n";
    text_ += padded("preset", name_width) + "passes  what\n";
    for (metric_preset const& preset : preset_list()) add_preset(preset);
    text_ += '\n' + heading();
    for (metric const& entry : metric_list()) add_metric(entry);
    return std::move(text_);
  }

 private:
  static constexpr std::size_t name_width = 14;

  /// Those with tensor cores: not the chips of data centers and of Jetson, nor Turing's small ones.
  static bool is_sold_as_geforce(std::string_view chip) {
    for (std::string_view const family : {"TU10", "GA10", "AD10", "GB20"})
      if (begins_with(chip, family)) return chip != "GA100" && is_digit(chip.back());
    return false;
  }

  /// That a chip is none of those that are known, and the CUPTI that knows it or the names that are
  /// near.
  std::string why_not(std::string const& chip, vec<std::string> const& known) const {
    std::string text = sentence(library_.path) << " does not know chip '" << chip << '\'';
    gpu_chip const* const meant = gpu_names::find(chip);
    if (meant != nullptr && !known.contains(std::string(meant->name))) {
      text += sentence(": ") << meant->name << " needs the libcupti of CUDA " << meant->since;
      return text + (meant->until.empty() ? " or later" : " to " + std::string(meant->until));
    }
    text += "; it knows";
    for (std::string const& name : known) text += ' ' + name;
    vec<std::string> const alike = gpu_names::nearest(chip);
    for (std::size_t i = 0; i < alike.size(); ++i)
      text += (i == 0 ? "; did you mean " : i + 1 == alike.size() ? " or " : ", ") + alike[i];
    return alike.empty() ? text : text + '?';
  }

  /// Passes of all groups of a set, as a session counts them; a dash where nothing is left.
  std::string passes(metric_set const& set) {
    std::size_t sum = 0;
    bool conditional = false;
    for (metric_group const& group : group_metrics(set)) {
      conditional = conditional || group.conditional;
      metric_config config;
      if (group.conditional) continue;
      if (!host_.configure(group.counters, config)) return "?";
      sum += config.passes();
    }
    if (sum == 0) return "-";
    return sentence() << sum << (conditional ? "+" : "");
  }

  void add_preset(metric_preset const& preset) {
    metric_set const set = host_.resolve(expand_metrics(preset.name));
    text_ += sentence(padded(preset.name, name_width))
             << padded(passes(set), 8) << preset.meaning << '\n';
    for (absent_metric const& metric : set.absent) {
      text_ += sentence("    without ") << metric.key << ": " << metric.reason << '\n';
    }
    for (resolved_metric const& metric : set.metrics) {
      if (metric.stand_in)
        text_ += sentence("    ") << metric.key << " by " << metric.formula << '\n';
    }
  }

  void add_metric(metric const& entry) {
    metric_set const set = host_.resolve({std::string(entry.key())});
    text_ += make_line(entry);
    if (resolved_metric const* found = set.find(entry.key())) {
      text_ += " = " + found->formula;
      std::string const meaning = meaning_on_chip(host_, *found);
      if (!meaning.empty()) text_ += " (" + meaning + ')';
    } else if (!set.absent.empty()) {
      text_ += sentence(" (") << set.absent.front().reason << ')';
    }
    text_ += '\n';
  }

  profiler_library const& library_;
  chip_metrics host_;
  std::string text_;
};

}  // namespace
}  // namespace detail

std::string list_metrics(std::string_view chip) {
  return list_metrics(chip, detail::profiler_library::get());
}
std::string list_metrics(std::string_view chip, detail::profiler_library const& library) {
  return detail::metric_lister(library).run(chip);
}

std::string list_cpu_metrics() {
  using lines = detail::metric_lines;
  std::string text =
      "Metrics of the CPU, by Linux's perf, in the timed steps and at no extra pass. The preset "
      "\"cpu\"\nhas all of them.\n\n" +
      lines::heading();
  for (metric const& entry : metric_list{metric_source::perf}) {
    text += lines::make_line(entry);
    bool const counted = detail::find_perf_event(entry.formula()) != nullptr;
    if (!counted) text += " = " + std::string(entry.formula());
    text += '\n';
  }
  return text;
}

STRATA_END
