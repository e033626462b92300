// Names of GPUs as people and drivers write them, and the chips that they are.

#include "gpu_chips.hpp"

#include <doctest/doctest.h>

#include <cctype>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "../word_list.hpp"

namespace gpu_names_test {

using strata::detail::gpu_names;
using test::listed;

std::string chip_of(std::string const& name) {
  auto const* const found = gpu_names::find(name);
  return found == nullptr ? "" : std::string(found->name);
}

struct product {
  std::string name, chip;
};

// The products of each chip, as the driver or NVIDIA's page of the product writes them.
constexpr char const* products_by_chip = R"(
TU117: NVIDIA GeForce GTX 1630, NVIDIA GeForce GTX 1650, NVIDIA GeForce GTX 1650 Ti, NVIDIA T400
  4GB, NVIDIA T600 Laptop GPU, NVIDIA T1000 8GB, NVIDIA T1200 Laptop GPU, Quadro T2000
TU116: NVIDIA GeForce GTX 1650 SUPER, NVIDIA GeForce GTX 1660, NVIDIA GeForce GTX 1660 SUPER,
  NVIDIA GeForce GTX 1660 Ti
TU106: NVIDIA GeForce RTX 2060, NVIDIA GeForce RTX 2060 SUPER, NVIDIA GeForce RTX 2070, NVIDIA
  GeForce RTX 2070 with Max-Q Design, Quadro RTX 3000
TU104: NVIDIA GeForce RTX 2070 SUPER, NVIDIA GeForce RTX 2080, NVIDIA GeForce RTX 2080 SUPER,
  NVIDIA GeForce RTX 2080 Super with Max-Q Design, Quadro RTX 4000, Quadro RTX 5000, Quadro RTX
  5000 with Max-Q Design, Tesla T4
TU102: NVIDIA GeForce RTX 2080 Ti, NVIDIA TITAN RTX, Quadro RTX 6000, Quadro RTX 8000
GA107: NVIDIA GeForce RTX 2050, NVIDIA GeForce RTX 3050 6GB, NVIDIA GeForce RTX 3050 Laptop GPU,
  NVIDIA GeForce RTX 3050 Ti Laptop GPU, NVIDIA RTX A400, NVIDIA RTX A500 Laptop GPU, NVIDIA RTX
  A1000, NVIDIA RTX A1000 Laptop GPU, NVIDIA A2, NVIDIA A16
GA106: NVIDIA GeForce RTX 3050, NVIDIA GeForce RTX 3060, NVIDIA GeForce RTX 3060 Laptop GPU,
  NVIDIA RTX A2000 12GB
GA104: NVIDIA GeForce RTX 3060 Ti, NVIDIA GeForce RTX 3070, NVIDIA GeForce RTX 3070 Ti, NVIDIA
  GeForce RTX 3070 Ti Laptop GPU, NVIDIA GeForce RTX 3080 Laptop GPU, NVIDIA RTX A3000 Laptop GPU,
  NVIDIA RTX A4000, NVIDIA RTX A5000 Laptop GPU
GA102: NVIDIA GeForce RTX 3080, NVIDIA GeForce RTX 3080 12GB, NVIDIA GeForce RTX 3080 Ti, NVIDIA
  GeForce RTX 3090, NVIDIA GeForce RTX 3090 Ti, NVIDIA RTX A4500, NVIDIA RTX A5000, NVIDIA RTX
  A5500, NVIDIA RTX A6000, NVIDIA A10, NVIDIA A10G, NVIDIA A40
GA103: NVIDIA GeForce RTX 3080 Ti Laptop GPU, NVIDIA RTX A5500 Laptop GPU
GA100: NVIDIA A30, NVIDIA A100-PCIE-40GB, NVIDIA A100-SXM4-80GB, NVIDIA A100-SXM4-40GB MIG 1g.5gb,
  NVIDIA A100 80GB PCIe, NVIDIA A800 40GB Active, DGX A100
GA10B: Orin, Jetson AGX Orin 64GB, Jetson Orin NX 16GB, Jetson Orin Nano Super Developer Kit
AD107: NVIDIA GeForce RTX 4050 Laptop GPU, NVIDIA GeForce RTX 4060, NVIDIA GeForce RTX 4060 Laptop
  GPU, NVIDIA RTX 500 Ada Generation Laptop GPU, NVIDIA RTX 1000 Ada Generation Laptop GPU, NVIDIA
  RTX 2000 Ada Generation, NVIDIA RTX 2000E Ada Generation
AD106: NVIDIA GeForce RTX 4060 Ti, NVIDIA GeForce RTX 4070 Laptop GPU, NVIDIA RTX 3000 Ada
  Generation Laptop GPU
AD104: NVIDIA GeForce RTX 4070, NVIDIA GeForce RTX 4070 SUPER, NVIDIA GeForce RTX 4070 Ti, NVIDIA
  GeForce RTX 4080 Laptop GPU, NVIDIA RTX 3500 Ada Generation Laptop GPU, NVIDIA RTX 4000 Ada
  Generation, NVIDIA RTX 4000 SFF Ada Generation, NVIDIA RTX 4000 Ada Generation Laptop GPU,
  NVIDIA RTX 4500 Ada Generation, NVIDIA L2, NVIDIA L4
AD103: NVIDIA GeForce RTX 4070 Ti SUPER, NVIDIA GeForce RTX 4080, NVIDIA GeForce RTX 4080 SUPER,
  NVIDIA GeForce RTX 4090 Laptop GPU, NVIDIA RTX 5000 Ada Generation Laptop GPU
AD102: NVIDIA GeForce RTX 4090, NVIDIA GeForce RTX 4090 D, NVIDIA RTX 5000 Ada Generation, NVIDIA
  RTX 5880 Ada Generation, NVIDIA RTX 6000 Ada Generation, NVIDIA L20, NVIDIA L40, NVIDIA L40S
GH100: NVIDIA H100 80GB HBM3, NVIDIA H100 PCIe, NVIDIA H100 NVL, NVIDIA H200, NVIDIA H200 NVL,
  NVIDIA H20, NVIDIA H800, NVIDIA GH200 480GB, NVIDIA GH200 144G HBM3e, GH200 Grace Hopper
  Superchip, HGX H100
GB100: NVIDIA B200, HGX B200, NVIDIA GB200, GB200 NVL72, GB200 Grace Blackwell Superchip
GB110: NVIDIA B300 SXM6 AC, NVIDIA B300, NVIDIA GB300, GB300 NVL72
GB20B: NVIDIA GB10, DGX Spark, GB10 Grace Blackwell Superchip
GB10B: NVIDIA Thor, Jetson AGX Thor, Jetson AGX Thor Developer Kit, Jetson T5000
GB207: NVIDIA GeForce RTX 5050, NVIDIA GeForce RTX 5050 Laptop GPU, NVIDIA RTX PRO 500 Blackwell
  Generation Laptop GPU, NVIDIA RTX PRO 1000 Blackwell Generation Laptop GPU
GB206: NVIDIA GeForce RTX 5060, NVIDIA GeForce RTX 5060 Ti, NVIDIA GeForce RTX 5060 Laptop GPU,
  NVIDIA GeForce RTX 5070 Laptop GPU, NVIDIA RTX PRO 2000 Blackwell, NVIDIA RTX PRO 2000 Blackwell
  Generation Laptop GPU
GB205: NVIDIA GeForce RTX 5070, NVIDIA GeForce RTX 5070 Ti Laptop GPU, NVIDIA RTX PRO 3000
  Blackwell Generation Laptop GPU
GB203: NVIDIA GeForce RTX 5070 Ti, NVIDIA GeForce RTX 5080, NVIDIA GeForce RTX 5080 Laptop GPU,
  NVIDIA GeForce RTX 5090 Laptop GPU, NVIDIA RTX PRO 4000 Blackwell, NVIDIA RTX PRO 4000 Blackwell
  SFF Edition, NVIDIA RTX PRO 4000 Blackwell Generation Laptop GPU, NVIDIA RTX PRO 4500 Blackwell,
  NVIDIA RTX PRO 5000 Blackwell Generation Laptop GPU
GB202: NVIDIA GeForce RTX 5090, NVIDIA GeForce RTX 5090 D, NVIDIA RTX PRO 5000 Blackwell, NVIDIA
  RTX PRO 6000 Blackwell Workstation Edition, NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation
  Edition, NVIDIA RTX PRO 6000 Blackwell Server Edition
GR100: Vera Rubin NVL144
)";

// What no product is called: no chip, whatever it resembles.
constexpr char const* no_products = R"(
, RTX, 6000, Quadro 6000, Quadro 4000, Blackwell, Ada, RTX 6000 Turbo, RTX 5090 Ti, RTX A6000 Ada,
RTX 50, Xavier, Jetson Nano, RTX 4090 Ultra, RTX 6000 Blackwell, GTX 1080, A100 Ada, H100
Blackwell, RTX 4080 Ada Max, L40 Hopper, DGX, GeForce, Laptop GPU, GB10 Laptop, H300, A5090, RTX
PRO 6000 Ada, GB20, Tesla P4, no-chip
)";
std::vector<product> read_products() {
  std::vector<product> all;
  std::string const text = products_by_chip;
  for (std::size_t at = text.find(':'); at != text.npos; at = text.find(':', at + 1)) {
    std::string const chip = text.substr(text.rfind('\n', at) + 1, at - text.rfind('\n', at) - 1);
    std::size_t const next = text.find(':', at + 1);
    std::size_t const end = next == text.npos ? next : text.rfind('\n', next);
    for (std::string const& name : listed(text.substr(at + 1, end - at - 1)))
      all.push_back({name, chip});
  }
  return all;
}
std::vector<product> const products = read_products();

std::string changed(std::string const& name, int (*change)(int)) {
  std::string made;
  for (char const c : name) made += static_cast<char>(change(static_cast<unsigned char>(c)));
  return made;
}

TEST_CASE("names of products, as the driver and as people write them") {
  REQUIRE(products.size() == 166);
  for (product const& one : products) {
    CAPTURE(one.name);
    std::string const& name = one.name;
    CHECK(chip_of(name) == one.chip);
    CHECK(chip_of(changed(name, [](int c) { return std::tolower(c); })) == one.chip);
    CHECK(chip_of(changed(name, [](int c) { return std::toupper(c); })) == one.chip);
    CHECK(chip_of(changed(name, [](int c) { return c == ' ' ? '_' : c; })) == one.chip);
    CHECK(chip_of("  " + name + "\t ") == one.chip);
  }
  for (product const& one :
       std::initializer_list<product>{{"RTX5090", "GB202"},
                                      {"5090", "GB202"},
                                      {"4090 laptop", "AD103"},
                                      {"RTX 4090 Mobile", "AD103"},
                                      {"RTX2080 Max-Q", "TU104"},
                                      {"RTX6000Ada", "AD102"},
                                      {"6000 Ada", "AD102"},
                                      {"RTX 6000 Ada Lovelace", "AD102"},
                                      {"RTX PRO 6000", "GB202"},
                                      {"Pro 6000 Blackwell", "GB202"},
                                      {"RTX 6000 Pro", "GB202"},
                                      {"NVIDIA\xc2\xae RTX\xe2\x84\xa2 A6000", "GA102"},
                                      {"A6000", "GA102"},
                                      {"h100nvl", "GH100"},
                                      {"T5000", "GB10B"},
                                      {"Thor", "GB10B"},
                                      {"gb202", "GB202"},
                                      {"Blackwell Ultra", "GB110"}}) {
    CAPTURE(one.name);
    CHECK(chip_of(one.name) == one.chip);
  }
  CHECK(chip_of("").empty());
  for (std::string const& name : listed(no_products)) {
    CAPTURE(name);
    CHECK(chip_of(name).empty());
  }
}

// Words are left out only where they are known to say nothing of the chip.
TEST_CASE("a word that is not known is never left out, and a typo is no other product") {
  std::mt19937 random(49);
  std::size_t asked = 0;
  for (product const& one : products) {
    std::string const& name = one.name;
    for (std::string const word : {"Turbo", "Ultra", "Q", "Z2", "Ada"}) {
      for (std::string const& other : {name + ' ' + word, word + ' ' + name}) {
        CAPTURE(other);
        ++asked;
        std::string const found = chip_of(other);
        bool const is_true = word == "Ada" && found.compare(0, 2, "AD") == 0;
        if (!is_true) CHECK(found.empty());
      }
    }
    for (int i = 0; i < 20; ++i) {
      std::string typo = name;
      std::size_t const at = random() % typo.size();
      if (!std::isalnum(static_cast<unsigned char>(typo[at]))) continue;
      typo[at] = typo[at] == 'Z' ? 'Y' : 'Z';
      CAPTURE(typo);
      std::string const found = chip_of(typo);
      ++asked;
      CHECK((found.empty() || found == one.chip));  // a letter of "80GB" may be any
    }
  }
  CHECK(asked > 3000);
}

TEST_CASE("near misses are asked for") {
  auto const asks = [](char const* text, char const* wanted) {
    CAPTURE(text);
    CHECK(gpu_names::find(text) == nullptr);
    bool found = false;
    for (std::string const& name : gpu_names::nearest(text)) found = found || name == wanted;
    CHECK(found);
  };
  asks("RTX 5090 Ti", "RTX5090 (GB202)");
  asks("RTX 6000 Blackwell", "RTX6000ADA (AD102)");
  asks("RTX 4500", "RTXA4500 (GA102)");
  asks("H100X", "H100 (GH100)");
  asks("GeForce RTX 5090 Titan", "RTX5090 (GB202)");
  asks("6000", "A6000 (GA102)");
}

}  // namespace gpu_names_test
