// Names of GPUs as people and drivers write them, and the chips that they are.
#include <strata/collect/counters/gpu_chips.hpp>

#include <doctest/doctest.h>

#include <cctype>
#include <initializer_list>
#include <random>
#include <string>

namespace gpu_names_test {

using strata::detail::gpu_names;

std::string chip_of(std::string const& name) {
  auto const* const found = gpu_names::find(name);
  return found == nullptr ? "" : std::string(found->name);
}

struct product {
  char const* name;
  char const* chip;
};

// As the driver or NVIDIA's page of the product writes it.
constexpr product products[] = {
    {"NVIDIA GeForce GTX 1630", "TU117"},
    {"NVIDIA GeForce GTX 1650", "TU117"},
    {"NVIDIA GeForce GTX 1650 Ti", "TU117"},
    {"NVIDIA GeForce GTX 1650 SUPER", "TU116"},
    {"NVIDIA GeForce GTX 1660", "TU116"},
    {"NVIDIA GeForce GTX 1660 SUPER", "TU116"},
    {"NVIDIA GeForce GTX 1660 Ti", "TU116"},
    {"NVIDIA GeForce RTX 2060", "TU106"},
    {"NVIDIA GeForce RTX 2060 SUPER", "TU106"},
    {"NVIDIA GeForce RTX 2070", "TU106"},
    {"NVIDIA GeForce RTX 2070 with Max-Q Design", "TU106"},
    {"NVIDIA GeForce RTX 2070 SUPER", "TU104"},
    {"NVIDIA GeForce RTX 2080", "TU104"},
    {"NVIDIA GeForce RTX 2080 SUPER", "TU104"},
    {"NVIDIA GeForce RTX 2080 Super with Max-Q Design", "TU104"},
    {"NVIDIA GeForce RTX 2080 Ti", "TU102"},
    {"NVIDIA TITAN RTX", "TU102"},
    {"Quadro RTX 3000", "TU106"},
    {"Quadro RTX 4000", "TU104"},
    {"Quadro RTX 5000", "TU104"},
    {"Quadro RTX 5000 with Max-Q Design", "TU104"},
    {"Quadro RTX 6000", "TU102"},
    {"Quadro RTX 8000", "TU102"},
    {"NVIDIA T400 4GB", "TU117"},
    {"NVIDIA T600 Laptop GPU", "TU117"},
    {"NVIDIA T1000 8GB", "TU117"},
    {"NVIDIA T1200 Laptop GPU", "TU117"},
    {"Quadro T2000", "TU117"},
    {"Tesla T4", "TU104"},
    {"NVIDIA GeForce RTX 2050", "GA107"},
    {"NVIDIA GeForce RTX 3050", "GA106"},
    {"NVIDIA GeForce RTX 3050 6GB", "GA107"},
    {"NVIDIA GeForce RTX 3050 Laptop GPU", "GA107"},
    {"NVIDIA GeForce RTX 3050 Ti Laptop GPU", "GA107"},
    {"NVIDIA GeForce RTX 3060", "GA106"},
    {"NVIDIA GeForce RTX 3060 Laptop GPU", "GA106"},
    {"NVIDIA GeForce RTX 3060 Ti", "GA104"},
    {"NVIDIA GeForce RTX 3070", "GA104"},
    {"NVIDIA GeForce RTX 3070 Ti", "GA104"},
    {"NVIDIA GeForce RTX 3070 Ti Laptop GPU", "GA104"},
    {"NVIDIA GeForce RTX 3080", "GA102"},
    {"NVIDIA GeForce RTX 3080 12GB", "GA102"},
    {"NVIDIA GeForce RTX 3080 Laptop GPU", "GA104"},
    {"NVIDIA GeForce RTX 3080 Ti", "GA102"},
    {"NVIDIA GeForce RTX 3080 Ti Laptop GPU", "GA103"},
    {"NVIDIA GeForce RTX 3090", "GA102"},
    {"NVIDIA GeForce RTX 3090 Ti", "GA102"},
    {"NVIDIA RTX A400", "GA107"},
    {"NVIDIA RTX A500 Laptop GPU", "GA107"},
    {"NVIDIA RTX A1000", "GA107"},
    {"NVIDIA RTX A1000 Laptop GPU", "GA107"},
    {"NVIDIA RTX A2000 12GB", "GA106"},
    {"NVIDIA RTX A3000 Laptop GPU", "GA104"},
    {"NVIDIA RTX A4000", "GA104"},
    {"NVIDIA RTX A4500", "GA102"},
    {"NVIDIA RTX A5000", "GA102"},
    {"NVIDIA RTX A5000 Laptop GPU", "GA104"},
    {"NVIDIA RTX A5500", "GA102"},
    {"NVIDIA RTX A5500 Laptop GPU", "GA103"},
    {"NVIDIA RTX A6000", "GA102"},
    {"NVIDIA A2", "GA107"},
    {"NVIDIA A10", "GA102"},
    {"NVIDIA A10G", "GA102"},
    {"NVIDIA A16", "GA107"},
    {"NVIDIA A30", "GA100"},
    {"NVIDIA A40", "GA102"},
    {"NVIDIA A100-PCIE-40GB", "GA100"},
    {"NVIDIA A100-SXM4-80GB", "GA100"},
    {"NVIDIA A100-SXM4-40GB MIG 1g.5gb", "GA100"},
    {"NVIDIA A100 80GB PCIe", "GA100"},
    {"NVIDIA A800 40GB Active", "GA100"},
    {"DGX A100", "GA100"},
    {"Orin", "GA10B"},
    {"Jetson AGX Orin 64GB", "GA10B"},
    {"Jetson Orin NX 16GB", "GA10B"},
    {"Jetson Orin Nano Super Developer Kit", "GA10B"},
    {"NVIDIA GeForce RTX 4050 Laptop GPU", "AD107"},
    {"NVIDIA GeForce RTX 4060", "AD107"},
    {"NVIDIA GeForce RTX 4060 Laptop GPU", "AD107"},
    {"NVIDIA GeForce RTX 4060 Ti", "AD106"},
    {"NVIDIA GeForce RTX 4070", "AD104"},
    {"NVIDIA GeForce RTX 4070 Laptop GPU", "AD106"},
    {"NVIDIA GeForce RTX 4070 SUPER", "AD104"},
    {"NVIDIA GeForce RTX 4070 Ti", "AD104"},
    {"NVIDIA GeForce RTX 4070 Ti SUPER", "AD103"},
    {"NVIDIA GeForce RTX 4080", "AD103"},
    {"NVIDIA GeForce RTX 4080 SUPER", "AD103"},
    {"NVIDIA GeForce RTX 4080 Laptop GPU", "AD104"},
    {"NVIDIA GeForce RTX 4090", "AD102"},
    {"NVIDIA GeForce RTX 4090 D", "AD102"},
    {"NVIDIA GeForce RTX 4090 Laptop GPU", "AD103"},
    {"NVIDIA RTX 500 Ada Generation Laptop GPU", "AD107"},
    {"NVIDIA RTX 1000 Ada Generation Laptop GPU", "AD107"},
    {"NVIDIA RTX 2000 Ada Generation", "AD107"},
    {"NVIDIA RTX 2000E Ada Generation", "AD107"},
    {"NVIDIA RTX 3000 Ada Generation Laptop GPU", "AD106"},
    {"NVIDIA RTX 3500 Ada Generation Laptop GPU", "AD104"},
    {"NVIDIA RTX 4000 Ada Generation", "AD104"},
    {"NVIDIA RTX 4000 SFF Ada Generation", "AD104"},
    {"NVIDIA RTX 4000 Ada Generation Laptop GPU", "AD104"},
    {"NVIDIA RTX 4500 Ada Generation", "AD104"},
    {"NVIDIA RTX 5000 Ada Generation", "AD102"},
    {"NVIDIA RTX 5000 Ada Generation Laptop GPU", "AD103"},
    {"NVIDIA RTX 5880 Ada Generation", "AD102"},
    {"NVIDIA RTX 6000 Ada Generation", "AD102"},
    {"NVIDIA L2", "AD104"},
    {"NVIDIA L4", "AD104"},
    {"NVIDIA L20", "AD102"},
    {"NVIDIA L40", "AD102"},
    {"NVIDIA L40S", "AD102"},
    {"NVIDIA H100 80GB HBM3", "GH100"},
    {"NVIDIA H100 PCIe", "GH100"},
    {"NVIDIA H100 NVL", "GH100"},
    {"NVIDIA H200", "GH100"},
    {"NVIDIA H200 NVL", "GH100"},
    {"NVIDIA H20", "GH100"},
    {"NVIDIA H800", "GH100"},
    {"NVIDIA GH200 480GB", "GH100"},
    {"NVIDIA GH200 144G HBM3e", "GH100"},
    {"GH200 Grace Hopper Superchip", "GH100"},
    {"HGX H100", "GH100"},
    {"NVIDIA B200", "GB100"},
    {"HGX B200", "GB100"},
    {"NVIDIA GB200", "GB100"},
    {"GB200 NVL72", "GB100"},
    {"GB200 Grace Blackwell Superchip", "GB100"},
    {"NVIDIA B300 SXM6 AC", "GB110"},
    {"NVIDIA B300", "GB110"},
    {"NVIDIA GB300", "GB110"},
    {"GB300 NVL72", "GB110"},
    {"NVIDIA GB10", "GB20B"},
    {"DGX Spark", "GB20B"},
    {"GB10 Grace Blackwell Superchip", "GB20B"},
    {"NVIDIA Thor", "GB10B"},
    {"Jetson AGX Thor", "GB10B"},
    {"Jetson AGX Thor Developer Kit", "GB10B"},
    {"Jetson T5000", "GB10B"},
    {"NVIDIA GeForce RTX 5050", "GB207"},
    {"NVIDIA GeForce RTX 5050 Laptop GPU", "GB207"},
    {"NVIDIA GeForce RTX 5060", "GB206"},
    {"NVIDIA GeForce RTX 5060 Ti", "GB206"},
    {"NVIDIA GeForce RTX 5060 Laptop GPU", "GB206"},
    {"NVIDIA GeForce RTX 5070", "GB205"},
    {"NVIDIA GeForce RTX 5070 Laptop GPU", "GB206"},
    {"NVIDIA GeForce RTX 5070 Ti", "GB203"},
    {"NVIDIA GeForce RTX 5070 Ti Laptop GPU", "GB205"},
    {"NVIDIA GeForce RTX 5080", "GB203"},
    {"NVIDIA GeForce RTX 5080 Laptop GPU", "GB203"},
    {"NVIDIA GeForce RTX 5090", "GB202"},
    {"NVIDIA GeForce RTX 5090 D", "GB202"},
    {"NVIDIA GeForce RTX 5090 Laptop GPU", "GB203"},
    {"NVIDIA RTX PRO 500 Blackwell Generation Laptop GPU", "GB207"},
    {"NVIDIA RTX PRO 1000 Blackwell Generation Laptop GPU", "GB207"},
    {"NVIDIA RTX PRO 2000 Blackwell", "GB206"},
    {"NVIDIA RTX PRO 2000 Blackwell Generation Laptop GPU", "GB206"},
    {"NVIDIA RTX PRO 3000 Blackwell Generation Laptop GPU", "GB205"},
    {"NVIDIA RTX PRO 4000 Blackwell", "GB203"},
    {"NVIDIA RTX PRO 4000 Blackwell SFF Edition", "GB203"},
    {"NVIDIA RTX PRO 4000 Blackwell Generation Laptop GPU", "GB203"},
    {"NVIDIA RTX PRO 4500 Blackwell", "GB203"},
    {"NVIDIA RTX PRO 5000 Blackwell", "GB202"},
    {"NVIDIA RTX PRO 5000 Blackwell Generation Laptop GPU", "GB203"},
    {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "GB202"},
    {"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "GB202"},
    {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "GB202"},
    {"Vera Rubin NVL144", "GR100"}};

// What no product is called: no chip, whatever it resembles.
constexpr char const* no_products[] = {"",
                                       "RTX",
                                       "6000",
                                       "Quadro 6000",
                                       "Quadro 4000",
                                       "Blackwell",
                                       "Ada",
                                       "RTX 6000 Turbo",
                                       "RTX 5090 Ti",
                                       "RTX A6000 Ada",
                                       "RTX 50",
                                       "Xavier",
                                       "Jetson Nano",
                                       "RTX 4090 Ultra",
                                       "RTX 6000 Blackwell",
                                       "GTX 1080",
                                       "A100 Ada",
                                       "H100 Blackwell",
                                       "RTX 4080 Ada Max",
                                       "L40 Hopper",
                                       "DGX",
                                       "GeForce",
                                       "Laptop GPU",
                                       "GB10 Laptop",
                                       "H300",
                                       "A5090",
                                       "RTX PRO 6000 Ada",
                                       "GB20",
                                       "Tesla P4",
                                       "no-chip"};

std::string changed(std::string const& name, int (*change)(int)) {
  std::string made;
  for (char const c : name) made += static_cast<char>(change(static_cast<unsigned char>(c)));
  return made;
}

TEST_CASE("names of products, as the driver and as people write them") {
  for (product const& one : products) {
    CAPTURE(one.name);
    std::string const name = one.name;
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
  for (char const* const name : no_products) {
    CAPTURE(name);
    CHECK(chip_of(name).empty());
  }
}

// Words are left out only where they are known to say nothing of the chip.
TEST_CASE("a word that is not known is never left out, and a typo is no other product") {
  std::mt19937 random(49);
  std::size_t asked = 0;
  for (product const& one : products) {
    std::string const name = one.name;
    for (std::string const& word : {"Turbo", "Ultra", "Q", "Z2", "Ada"}) {
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
