#ifndef STRATA_COLLECT_COUNTERS_CHIP_METRICS_HPP
#define STRATA_COLLECT_COUNTERS_CHIP_METRICS_HPP

#include <strata/base/containers.hpp>
#include <strata/collect/counters/profiler_library.hpp>
#include <strata/profile/metric_resolver.hpp>

STRATA_DETAIL_COLD_CODE
STRATA_BEGIN
namespace detail {

/// A chip as CUPTI names it, the CUPTI that knows it, and what is sold with it.
struct gpu_chip {
  std::string_view name;
  std::string_view since;     ///< version of CUDA; 12.6U2 is the first with the Host API
  std::string_view until;     ///< empty: the newest has it still
  std::string_view products;  ///< in capital letters, without blanks
};

// Source: the chips that each wheel of CUPTI from 12.6.80 to 13.5.25 lists; NVIDIA's white papers
// and data sheets for the products. A product that was sold with several chips has the first.
inline constexpr gpu_chip gpu_chips[] = {
    {"GV100", "12.6U2", "13.0", "V100 V100S GV100 TITANV"},
    {"TU102", "12.6U2", "", "RTX2080TI TITANRTX RTX6000 RTX8000 RTX6000LAPTOP CMP50HX"},
    {"TU104", "12.6U2", "",
     "T4 T4G RTX2080 RTX2080SUPER RTX2070SUPER RTX5000 RTX4000 RTX2080LAPTOP RTX2080SUPERLAPTOP "
     "RTX2070SUPERLAPTOP RTX5000LAPTOP RTX4000LAPTOP"},
    {"TU106", "12.6U2", "",
     "RTX2070 RTX2060 RTX2060SUPER RTX2070LAPTOP RTX2060LAPTOP RTX3000 RTX3000LAPTOP CMP40HX"},
    {"TU116", "12.6U2", "", "GTX1660 GTX1660TI GTX1660SUPER GTX1650SUPER GTX1660TILAPTOP CMP30HX"},
    {"TU117", "12.6U2", "",
     "GTX1650 GTX1630 GTX1650LAPTOP GTX1650TI GTX1650TILAPTOP T1000 T600 T400 T400E T2000 T1200 "
     "T550 T500 T2000LAPTOP T1200LAPTOP T1000LAPTOP T600LAPTOP T550LAPTOP T500LAPTOP MX450 MX550"},
    {"GA100", "12.6U2", "", "A100 A800 A30 A100X A30X STATIONA100 CMP170HX"},
    {"GA102", "12.6U2", "",
     "A10 A10G A10M A40 A6000 RTXA6000 A5500 RTXA5500 A5000 RTXA5000 A4500 RTXA4500 RTX3090 "
     "RTX3090TI RTX3080 RTX3080TI CMP90HX"},
    {"GA103", "12.6U2", "", "RTX3080TILAPTOP RTXA5500LAPTOP"},
    {"GA104", "12.6U2", "",
     "A4000 RTXA4000 RTX3070 RTX3070TI RTX3060TI RTX3080LAPTOP RTX3070TILAPTOP RTX3070LAPTOP "
     "RTXA5000LAPTOP RTXA4500LAPTOP RTXA4000LAPTOP RTXA3000LAPTOP RTXA3000"},
    {"GA106", "12.6U2", "", "A2000 RTXA2000 RTX3060 RTX3050 RTX3060LAPTOP RTXA2000LAPTOP"},
    {"GA107", "12.6U2", "",
     "A2 A16 A1000 RTXA1000 A400 RTXA400 RTX30506GB RTX3050LAPTOP RTX3050TI RTX3050TILAPTOP "
     "RTX2050 RTX2050LAPTOP RTXA1000LAPTOP RTXA500LAPTOP RTXA500 MX570"},
    {"GA10B", "12.6U2", "", "ORIN AGXORIN ORINNX ORINNANO ORINNANOSUPER"},
    {"GH100", "12.6U2", "", "H100 H200 H800 H20 GH200 H100NVL H200NVL H100PCIE"},
    {"AD102", "12.6U2", "", "L40 L40S L40G L20 RTX4090 RTX4090D RTX6000ADA RTX5880ADA RTX5000ADA"},
    {"AD103", "12.6U2", "", "RTX4080 RTX4080SUPER RTX4070TISUPER RTX4090LAPTOP RTX5000ADALAPTOP"},
    {"AD104", "12.6U2", "",
     "L4 L2 RTX4070 RTX4070TI RTX4070SUPER RTX4500ADA RTX4000ADA RTX4080LAPTOP RTX4000ADALAPTOP "
     "RTX3500ADA RTX3500ADALAPTOP"},
    {"AD106", "12.6U2", "", "RTX4060TI RTX4070LAPTOP RTX3000ADA RTX3000ADALAPTOP"},
    {"AD107", "12.6U2", "",
     "RTX4060 RTX2000ADA RTX2000EADA RTX4060LAPTOP RTX4050 RTX4050LAPTOP RTX2000ADALAPTOP "
     "RTX1000ADA RTX1000ADALAPTOP RTX500ADA RTX500ADALAPTOP"},
    {"GB100", "12.8", "", "B200 B100 GB200"},
    {"GB102", "12.9", "", ""},
    {"GB110", "13.0", "", "B300 GB300 BLACKWELLULTRA STATIONGB300"},
    {"GB112", "13.1", "", ""},
    {"GB10B", "12.8", "", "THOR AGXTHOR T5000 T4000 THORT5000 THORT4000"},
    {"GB10C", "13.5", "", ""},
    {"GB202", "12.8", "",
     "RTX5090 RTX5090D RTX5090DV2 RTXPRO6000 RTX6000PRO RTXPRO6000D RTXPRO5000 RTX5000PRO"},
    {"GB203", "12.8", "",
     "RTX5080 RTX5070TI RTXPRO4500 RTXPRO4000 RTX5090LAPTOP RTX5080LAPTOP RTXPRO5000LAPTOP "
     "RTXPRO4000LAPTOP"},
    {"GB205", "12.8", "", "RTX5070 RTX5070TILAPTOP RTXPRO3000 RTXPRO3000LAPTOP"},
    {"GB206", "12.9", "",
     "RTX5060 RTX5060TI RTXPRO2000 RTX5070LAPTOP RTX5060LAPTOP RTXPRO2000LAPTOP"},
    {"GB207", "13.0", "",
     "RTX5050 RTX5050LAPTOP RTXPRO1000 RTXPRO1000LAPTOP RTXPRO500 RTXPRO500LAPTOP"},
    {"GB20B", "12.9", "", "SPARK DGXSPARK GB10"},
    {"GB20C", "13.1", "", ""},
    {"GR100", "13.4", "", "RUBIN VERARUBIN R100 R200 VR200 VR100"}};

/// Names of chips and products, as people write them.
class gpu_names {
 public:
  /// The chip of a product ("RTX 5090", "NVIDIA H100 80GB HBM3", "Orin") or of a name in small
  /// letters; null where it is neither. Words that say nothing of the chip are left out, all others
  /// count: an "RTX 4000 Ada" is no "RTX 4000", and an "RTX 5090 Laptop GPU" no "RTX 5090".
  static gpu_chip const* find(std::string_view text) {
    vec<std::string> words = words_of(text);
    for (gpu_chip const& chip : gpu_chips)
      if (words.size() == 1 && words[0] == chip.name) return &chip;
    if (gpu_chip const* const found = named(joined(words))) return found;
    words.keep_if([](std::string const& word) { return !is_of_board(word); });
    if (gpu_chip const* const found = product(joined(words))) return found;
    return of_family(words);
  }

  /// The nearest names of chips and products, "RTX5090 (GB202)": those with the same number, or
  /// else those that differ by few letters.
  static vec<std::string> nearest(std::string_view text) {
    vec<std::string> words = words_of(text);
    words.keep_if([](std::string const& word) { return !is_of_board(word); });
    std::string const wanted = joined(words);
    std::string_view const number = number_of(wanted);
    nearest_names closest(wanted);
    vec<pair<std::size_t, std::string_view>> alike;
    auto const consider = [&](std::string_view name) {
      closest.consider(name);
      if (!number.empty() && number_of(name) == number)
        alike.push_back({edit_distance(wanted, name), name});
    };
    for (gpu_chip const& chip : gpu_chips) {
      consider(chip.name);
      for (std::string_view rest = chip.products; !rest.empty();) consider(take_until(rest, " "));
    }
    constexpr std::size_t most = 3;
    alike.sort();
    vec<std::string> found;
    for (auto const& one : alike)
      if (found.size() < most) found.emplace_back(one.second);
    if (found.empty()) found = closest.best(most);
    for (std::string& name : found) {
      gpu_chip const* const chip = named(name);
      if (chip != nullptr) name += " (" + std::string(chip->name) + ")";
    }
    return found;
  }

 private:
  static bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
  /// The first number of a name, of two digits or more: "5090" of "RTX5090D".
  static std::string_view number_of(std::string_view name) noexcept {
    for (std::size_t at = 0; at < name.size(); ++at) {
      std::size_t end = at;
      while (end < name.size() && is_digit(name[end])) ++end;
      if (end > at + 1) return name.substr(at, end - at);
      at = end;
    }
    return {};
  }
  static gpu_chip const* named(std::string_view name) noexcept {
    for (gpu_chip const& chip : gpu_chips)
      if (is_one_of(name, chip.products)) return &chip;
    return nullptr;
  }

  /// By a name that may lack "RTX". Of bare numbers only GeForce's (5090): a Quadro 6000 is older
  /// than the RTX 6000.
  static gpu_chip const* product(std::string const& name) {
    if (gpu_chip const* const found = named(name)) return found;
    bool const is_geforce = name.size() >= 4 && is_digit(name[0]) && name[1] == '0' &&
                            name[2] >= '5' && name[2] <= '9' && name[3] == '0';
    bool const is_short = is_geforce || begins_with(name, "PRO") || ends_with(name, "ADA");
    return is_short ? named("RTX" + name) : nullptr;
  }

  /// A name with the family in it, where that is true of the chip: "RTX PRO 6000 Blackwell".
  static gpu_chip const* of_family(vec<std::string> words) {
    struct family {
      std::string_view word;
      std::string_view chips;
    };
    constexpr family families[] = {{"VOLTA", "GV"}, {"TURING", "TU"}, {"AMPERE", "GA"},
                                   {"ADA", "AD"},   {"HOPPER", "GH"}, {"BLACKWELL", "GB"},
                                   {"RUBIN", "GR"}};
    for (family const& one : families) {
      std::size_t const place = words.index_of(one.word);
      if (place == words.size()) continue;
      words.keep_if([&](std::string const& word) { return word != one.word; });
      gpu_chip const* const found = product(joined(words));
      return found != nullptr && begins_with(found->name, one.chips) ? found : nullptr;
    }
    return nullptr;
  }

  /// Whether a word tells the board and not the chip: its memory, its plug, its edition.
  static bool is_of_board(std::string const& word) noexcept {
    std::size_t digits = 0;
    while (digits < word.size() && is_digit(word[digits])) ++digits;
    std::string_view const unit = std::string_view(word).substr(digits);
    if (digits > 0 && (unit == "GB" || unit == "G")) return true;
    if (digits > 0 && begins_with(unit, "G.")) return true;  // a part by MIG: 1g.10gb
    for (std::string_view const kind : {"HBM", "GDDR", "SXM", "NVL"})
      if (begins_with(word, kind)) return true;
    return is_one_of(
        word,
        "AC ACTIVE CARD CORE DESIGN DEVELOPER DEVKIT EDITION FE FOUNDERS GENERATION GPU "
        "GRACE GRAPHICS INDUSTRIAL KIT LC LOVELACE MIG MODULE PASSIVE PCIE SERVER SFF SUPERCHIP "
        "TENSOR WITH WORKSTATION");
  }

  /// In capital letters, without what every product begins with. GPUs of laptops have one word.
  static vec<std::string> words_of(std::string_view text) {
    std::string all;
    for (char const c : text) {
      bool const is_small = c >= 'a' && c <= 'z';
      bool const is_other = (c >= 'A' && c <= 'Z') || is_digit(c) || c == '.';
      all += is_small ? static_cast<char>(c - 'a' + 'A') : is_other ? c : ' ';
    }
    vec<std::string> words;
    bool is_laptop = false;
    for (std::string_view rest = all; !rest.empty();) {
      std::string_view const word = take_until(rest, " ");
      if (word.empty() || is_one_of(word, makes)) continue;
      bool const is_max_q = word == "MAX" && (rest == "Q" || begins_with(rest, "Q "));
      if (is_max_q) take_until(rest, " ");
      bool const tells = is_max_q || is_one_of(word, "LAPTOP MOBILE NOTEBOOK MAXQ");
      is_laptop = is_laptop || tells;
      if (!tells) words.emplace_back(word);
    }
    // An RTX PRO 6000 Blackwell Max-Q Workstation Edition is no part of a laptop.
    bool const is_workstation = words.index_of(std::string_view("WORKSTATION")) != words.size();
    if (is_laptop && !is_workstation) words.emplace_back("LAPTOP");
    return words;
  }
  static std::string joined(vec<std::string> const& words) {
    std::string name;
    for (std::string const& word : words) name += word;
    return name;
  }

  static constexpr std::string_view makes =
      "NVIDIA GEFORCE JETSON TESLA QUADRO DGX HGX AGX IGX DRIVE";
};

}  // namespace detail
STRATA_END
STRATA_DETAIL_END_CODE

STRATA_BEGIN
namespace detail {

/// What CUPTI says about a metric.
struct metric_properties {
  std::string description;
  std::string hardware_unit;
  std::string unit;  ///< as CUPTI writes it: "byte", "gpc_cycle"
  cupti::profiler::metric_type type = cupti::profiler::metric_type::counter;
  cupti::profiler::metric_scope scope = cupti::profiler::metric_scope::unknown;  ///< 13.1 and later
};

/// The metrics of one chip through CUPTI's Profiler Host API; needs no GPU and no driver.
/// Threads: one at a time.
class chip_metrics {
 public:
  /// Chips that the library knows, such as GH100.
  static vec<std::string> chips(profiler_library const& library) {
    vec<std::string> names;
    cupti::profiler::supported_chips_params params;
    if (!library.ok() || call(library.api.supported_chips, params) != cupti::result::success) {
      return names;
    }
    for (std::size_t i = 0; i < params.count; ++i) names.emplace_back(params.names[i]);
    return names;
  }

  /// Opens the chip with this name, exactly as chips() has it. With `images` passes are those of
  /// the device (MIG, vGPU), not of the whole chip.
  /// Errors: unavailable without libcupti, bad_argument for an unknown chip.
  status open(profiler_library const& library, std::string chip, counter_images images = {}) {
    if (!library.ok()) return {errc::unavailable, library.problem};
    status opened = scratch_.open(library, chip, images.of_context());
    if (!opened) return why_not(library, chip, std::move(opened));
    library_ = &library;
    chip_ = std::move(chip);
    images_ = std::move(images);
    known_.clear();
    return {};
  }

  /// Whether a CUPTI name, with its rollup, can be counted. CUPTI refuses a whole
  /// configuration for one bad name, so each is asked for by itself.
  /// Cost: 10 us the first time (0.5 ms for a rare rollup), then a look-up.
  bool has(std::string const& name) {
    if (bool const* const known = known_.find(name)) return *known;
    bool const found = is_cupti_name(name) && can_count(name);
    known_[name] = found;
    return found;
  }

  /// Errors: bad_argument for a name that the chip does not have.
  status properties(std::string const& name, metric_properties& found) {
    cupti::profiler::metric_properties_params params;
    params.object = scratch_.get();
    params.metric = name.c_str();
    status const done = scratch_.outcome("cuptiProfilerHostGetMetricProperties",
                                         call(library_->api.metric_properties, params));
    if (!done) return done;
    auto const text = [](char const* given) { return std::string(given != nullptr ? given : ""); };
    found = {text(params.description), text(params.hardware_unit), text(params.dimension),
             params.type, params.scope};
    return {};
  }

  /// Names of all counters, ratios and throughputs of the chip, without rollups.
  vec<std::string> base_metrics() {
    using cupti::profiler::metric_type;
    vec<std::string> names;
    for (metric_type const type :
         {metric_type::counter, metric_type::ratio, metric_type::throughput}) {
      cupti::profiler::base_metrics_params params;
      params.object = scratch_.get();
      params.type = type;
      if (call(library_->api.base_metrics, params) != cupti::result::success) continue;
      for (std::size_t i = 0; i < params.count; ++i) names.emplace_back(params.names[i]);
    }
    return names;
  }

  /// Keys, CUPTI names, or both, as this chip has them; units of CUPTI names filled in.
  metric_set resolve(vec<std::string> const& wanted) {
    bool foreign = false;
    for (std::string const& name : wanted) foreign = foreign || is_cupti_name(name);
    metric_set set = resolve_metrics(
        wanted, [this](std::string const& name) { return has(name); },
        foreign ? base_metrics() : vec<std::string>());
    for (resolved_metric& metric : set.metrics) {
      metric_properties found;
      if (metric.unit.empty() && properties(metric.key, found).ok()) metric.unit = found.unit;
    }
    return set;
  }

  /// Makes the image for counters that are counted together.
  /// Errors: names the counters that CUPTI refuses, alone or together.
  status configure(vec<std::string> const& names, metric_config& made) {
    status done = build(names, made);
    if (done || names.size() < 2) return done;
    std::string refused;
    for (std::string const& name : names) {
      metric_config alone;
      if (!build({name}, alone)) add_part(refused, name);
    }
    return {done.code(), done.message() + (refused.empty() ? " (these counters do not go together)"
                                                           : " (refused: " + refused + ")")};
  }

  /// Like configure, but counters that CUPTI does not count together get configurations of their
  /// own, and what instruments kernels never shares one with what does not. `problems` takes a
  /// sentence for each that CUPTI does not count even alone.
  /// Cost: milliseconds; where CUPTI refuses, some for each counter.
  void configure_apart(vec<std::string> const& names, vec<metric_config>& made,
                       vec<status>& problems) {
    for (bool const instrumented : {false, true}) {
      vec<std::string> alike = names;
      alike.keep_if(
          [&](std::string const& name) { return instruments_kernels(name) == instrumented; });
      if (!alike.empty()) configure_alike(alike, made, problems);
    }
  }

  /// One configuration for each group of the set, in the order of group_metrics().
  status configure(metric_set const& set, pass_layout layout, vec<metric_config>& made) {
    made.clear();
    for (metric_group const& group : group_metrics(set, layout)) {
      metric_config config;
      status const done = configure(group.counters, config);
      if (!done) return done;
      made.push_back(std::move(config));
    }
    return {};
  }

 private:
  void configure_alike(vec<std::string> const& names, vec<metric_config>& made,
                       vec<status>& problems) {
    metric_config together;
    if (build(names, together).ok()) {
      made.push_back(std::move(together));
      return;
    }
    vec<vec<std::string>> groups;
    for (std::string const& name : names) {
      metric_config alone;
      status const able = build({name}, alone);
      if (able.ok()) {
        join(name, groups);
      } else {
        problems.emplace_back(able.code(), sentence(name) << " is not counted: " << able.message());
      }
    }
    for (vec<std::string> const& group : groups) {
      metric_config config;
      status const able = build(group, config);
      if (able.ok()) {
        made.push_back(std::move(config));
      } else {
        problems.push_back(able);
      }
    }
  }

  /// CUPTI has properties for a name without its rollup, which it cannot count, and 13.1 has them
  /// for any rollup; so those that not every counter has are tried on an object of their own.
  bool can_count(std::string const& name) {
    metric_properties found;
    if (!properties(name, found)) return false;
    std::size_t const dot = name.find('.', name.find("__"));
    if (dot == std::string::npos) return false;
    if (found.type == cupti::profiler::metric_type::counter &&
        is_one_of(std::string_view(name).substr(dot), common_rollups)) {
      return true;
    }
    metric_config alone;
    return build({name}, alone).ok();
  }

  /// Adds a name to the first group that takes it, or to a new one.
  void join(std::string const& name, vec<vec<std::string>>& groups) {
    for (vec<std::string>& group : groups) {
      metric_config config;
      group.push_back(name);
      if (build(group, config).ok()) return;
      group.pop_back();
    }
    groups.push_back({name});
  }

  static status why_not(profiler_library const& library, std::string const& chip, status failed) {
    vec<std::string> const known = chips(library);
    if (known.empty() || known.contains(chip)) return failed;
    std::string text = sentence(library.path) << " does not know chip '" << chip << '\'';
    gpu_chip const* const meant = gpu_names::find(chip);
    if (meant != nullptr && !known.contains(std::string(meant->name))) {
      text += sentence(": ") << meant->name << " needs the libcupti of CUDA ";
      if (!meant->until.empty()) {
        text += sentence(meant->since) << " to " << meant->until;
      } else {
        text += sentence(meant->since) << " or later";
      }
      return {errc::bad_argument, std::move(text)};
    }
    text += "; it knows";
    for (std::string const& name : known) text += ' ' + name;
    vec<std::string> const alike = gpu_names::nearest(chip);
    for (std::size_t i = 0; i < alike.size(); ++i)
      text += (i == 0 ? "; did you mean " : i + 1 == alike.size() ? " or " : ", ") + alike[i];
    if (!alike.empty()) text += '?';
    return {errc::bad_argument, std::move(text)};
  }

  status build(vec<std::string> const& names, metric_config& made) {
    return configure_counters(*library_, chip_, images_, names, made);
  }

  static constexpr std::string_view common_rollups =
      ".sum .avg .sum.peak_sustained .avg.peak_sustained";

  profiler_library const* library_ = nullptr;
  std::string chip_;
  counter_images images_;
  cupti_host scratch_;  // for questions only: nothing is added to it
  flat_map<std::string, bool> known_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_CHIP_METRICS_HPP
