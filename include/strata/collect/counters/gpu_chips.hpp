#include <strata/version.hpp>
#ifndef STRATA_COLLECT_COUNTERS_GPU_CHIPS_HPP
#define STRATA_COLLECT_COUNTERS_GPU_CHIPS_HPP

#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile/metric_set.hpp>

#include <cstddef>
#include <string>
#include <string_view>

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
// and data sheets for the products. Chips of one line have the same counters.
inline constexpr gpu_chip gpu_chips[] = {
    {"GV100", "12.6U2", "13.0", "V100 V100S GV100 TITANV DGX1"},
    {"TU102", "12.6U2", "", "RTX2080TI TITANRTX RTX6000 RTX8000"},
    {"TU104", "12.6U2", "", "T4 T4G RTX2080 RTX2080SUPER RTX2070SUPER RTX5000 RTX4000"},
    {"TU106", "12.6U2", "", "RTX2070 RTX2060 RTX2060SUPER RTX3000"},
    {"TU116", "12.6U2", "", "GTX1660 GTX1660TI GTX1660SUPER GTX1650SUPER"},
    {"TU117", "12.6U2", "", "GTX1650 GTX1630 T1000 T600 T400"},
    {"GA100", "12.6U2", "", "A100 A800 A30 A100X A30X DGXA100"},
    {"GA102", "12.6U2", "",
     "A10 A10G A40 A6000 RTXA6000 A5500 RTXA5500 A5000 RTXA5000 A4500 RTXA4500 RTX3090 RTX3090TI "
     "RTX3080 RTX3080TI"},
    {"GA103", "12.6U2", "", ""},
    {"GA104", "12.6U2", "", "A4000 RTXA4000 RTX3070 RTX3070TI RTX3060TI"},
    {"GA106", "12.6U2", "", "A2000 RTXA2000 RTX3060 RTX3050"},
    {"GA107", "12.6U2", "", "A2 A16 A1000 RTXA1000 A400 RTXA400"},
    {"GA10B", "12.6U2", "", "ORIN AGXORIN ORINNX ORINNANO ORINNANOSUPER DRIVEORIN"},
    {"GH100", "12.6U2", "", "H100 H200 H800 H20 GH200 H100NVL H200NVL H100PCIE DGXH100 DGXH200"},
    {"AD102", "12.6U2", "", "L40 L40S L40G L20 RTX4090 RTX4090D RTX6000ADA RTX5880ADA RTX5000ADA"},
    {"AD103", "12.6U2", "", "RTX4080 RTX4080SUPER RTX4070TISUPER"},
    {"AD104", "12.6U2", "", "L4 RTX4070 RTX4070TI RTX4070SUPER RTX4500ADA RTX4000ADA"},
    {"AD106", "12.6U2", "", "RTX4060TI"},
    {"AD107", "12.6U2", "", "RTX4060 RTX2000ADA"},
    {"GB100", "12.8", "", "B200 B100 GB200 DGXB200 HGXB200 BLACKWELL"},
    {"GB102", "12.9", "", ""},
    {"GB110", "13.0", "", "B300 GB300 DGXB300 HGXB300 BLACKWELLULTRA DGXSTATION"},
    {"GB112", "13.1", "", ""},
    {"GB10B", "12.8", "", "THOR AGXTHOR DRIVETHOR T5000 T4000"},
    {"GB10C", "13.5", "", ""},
    {"GB202", "12.8", "", "RTX5090 RTX5090D RTXPRO6000 RTX6000PRO RTXPRO5000"},
    {"GB203", "12.8", "", "RTX5080 RTX5070TI RTXPRO4500 RTXPRO4000"},
    {"GB205", "12.8", "", "RTX5070"},
    {"GB206", "12.9", "", "RTX5060 RTX5060TI RTXPRO2000"},
    {"GB207", "13.0", "", "RTX5050"},
    {"GB20B", "12.9", "", "DGXSPARK SPARK GB10"},
    {"GB20C", "13.1", "", ""},
    {"GR100", "13.4", "", "RUBIN VERARUBIN R100 R200 VR200 VR100"}};

/// Names of chips and products, as people write them.
class gpu_names {
 public:
  /// The chip of a product ("RTX 5090", "NVIDIA H100 80GB HBM3", "Orin") or of a name in small
  /// letters; null where it is neither.
  static gpu_chip const* find(std::string_view text) {
    std::string const words = words_of(text);
    for (std::string_view part = words; !part.empty(); part = without_last(part)) {
      std::string const name = joined(part);
      for (std::string const& wanted : {name, "RTX" + name})
        for (gpu_chip const& chip : gpu_chips)
          if (chip.name == wanted || is_one_of(wanted, chip.products)) return &chip;
    }
    return nullptr;
  }

  /// The nearest names of chips and products: "RTX5090 (GB202)".
  static vec<std::string> nearest(std::string_view text) {
    nearest_names closest(joined(words_of(text)));
    for (gpu_chip const& chip : gpu_chips) {
      closest.consider(chip.name);
      std::string_view rest = chip.products;
      while (!rest.empty()) closest.consider(take_until(rest, " "));
    }
    vec<std::string> found = closest.best();
    for (std::string& name : found) {
      gpu_chip const* const chip = find(name);
      if (chip != nullptr && chip->name != name) name += " (" + std::string(chip->name) + ")";
    }
    return found;
  }

 private:
  /// In capital letters, with one blank between words, without what every product begins with.
  static std::string words_of(std::string_view text) {
    std::string all;
    for (char const c : text) {
      bool const separates = c == '-' || c == '_' || c == '\t';
      all += separates ? ' ' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
    std::string words;
    std::string_view rest = all;
    while (!rest.empty()) {
      std::string_view const word = take_until(rest, " ");
      if (word.empty() || is_one_of(word, "NVIDIA GEFORCE JETSON TESLA QUADRO")) continue;
      if (!words.empty()) words += ' ';
      words += word;
    }
    return words;
  }
  static std::string_view without_last(std::string_view words) noexcept {
    std::size_t const blank = words.rfind(' ');
    return words.substr(0, blank == std::string_view::npos ? 0 : blank);
  }
  static std::string joined(std::string_view words) {
    std::string name;
    for (char const c : words)
      if (c != ' ') name += c;
    return name;
  }
};

}  // namespace detail
STRATA_END
STRATA_DETAIL_END_CODE

#endif  // STRATA_COLLECT_COUNTERS_GPU_CHIPS_HPP
