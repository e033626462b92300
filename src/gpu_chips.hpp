#ifndef STRATA_GPU_CHIPS_HPP
#define STRATA_GPU_CHIPS_HPP

#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile/metric_set.hpp>

#include <cstddef>
#include <string>
#include <string_view>

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
    // An RTX PRO 6000 Blackwell Max-Q Workstation Edition is not part of a laptop.
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

#endif  // STRATA_GPU_CHIPS_HPP
