// The kernels of src/ceilings/ceilings.hpp compile for every device that runs them. Without a GPU:
// by ptxas of the toolkit, which STRATA_TEST_PTXAS names. Exit code 77 says that there is none.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "ceilings/ceiling_kernels.hpp"

namespace {

using kernel = strata::detail::ceiling_kernel;

char const* ptxas() { return std::getenv("STRATA_TEST_PTXAS"); }

struct module {
  std::string what;
  std::string text;
  std::uint32_t since;  ///< compute capability
  bool is_of_hopper;    ///< runs on 9.0 alone
};

std::vector<module> modules() {
  std::vector<module> made = {{"read of memory", kernel::read("cg", 8), 75, false},
                              {"read of L2", kernel::read("cg", 4), 75, false},
                              {"read of L1", kernel::read("ca", 4), 75, false},
                              {"read of shared memory", kernel::read("shared", 4), 75, false},
                              {"write", kernel::write(false, 1), 75, false},
                              {"copy", kernel::write(true, 1), 75, false},
                              {"mma of f64", kernel::mma_f64(false), 80, false},
                              {"large mma of f64", kernel::mma_f64(true), 90, false}};
  for (char const* const type : {"f32", "f64", "f16x2"})
    made.push_back({std::string("fma of ") + type, kernel::fma(type), 75, false});
  for (auto const& kind : strata::detail::tensor_kinds) {
    made.push_back({"mma of " + std::string(kind.type), kernel::mma(kind), kind.capability, false});
    made.push_back({"wgmma of " + std::string(kind.type), kernel::wgmma(kind), 90, true});
  }
  return made;
}

bool compiles(std::string const& text, std::string const& architecture) {
  std::string const path = "ceiling_kernel.ptx";
  std::ofstream(path) << text;
  std::string const command =
      std::string(ptxas()) + " -arch " + architecture + " -o ceiling_kernel.cubin " + path;
  bool const done = std::system(command.c_str()) == 0;
  std::remove("ceiling_kernel.cubin");
  std::remove(path.c_str());
  return done;
}

}  // namespace

TEST_CASE("the kernels of strata ceilings compile from Turing to Blackwell") {
  for (std::uint32_t const capability : {75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121}) {
    for (module const& one : modules()) {
      if (one.since > capability || (one.is_of_hopper && capability != 90)) continue;
      CAPTURE(one.what);
      CAPTURE(capability);
      std::string const architecture = "sm_" + std::to_string(capability);
      CHECK(compiles(one.text, one.is_of_hopper ? architecture + "a" : architecture));
    }
  }
}

TEST_CASE("what is no kernel does not compile") { CHECK_FALSE(compiles("ret;", "sm_90")); }

int main(int argc, char** argv) {
  if (ptxas() == nullptr || *ptxas() == '\0') {
    std::printf("SKIPPED: STRATA_TEST_PTXAS names no ptxas\n");
    return 77;
  }
  return doctest::Context(argc, argv).run();
}
