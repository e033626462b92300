// The command line.
#ifndef GPT2_OPTIONS_HPP
#define GPT2_OPTIONS_HPP

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

#include "dimensions.hpp"

#ifndef GPT2_TEXT
#define GPT2_TEXT "text.txt"
#endif

namespace gpt2 {

struct options {
  dimensions size;
  std::string impl;  // empty: the best that this machine can run
  std::string text = GPT2_TEXT;
  std::size_t steps = 5;
  std::size_t warmup = 1;
  bool tf32 = false;
  bool check = false;
  bool count_launches = false;
  bool list = false;
  std::string ledger;  // a recording
};

inline constexpr char usage[] =
    R"(A GPT-2 124M forward pass with random weights, annotated with Strata.

  gpt2 [options]

  --impl cpu|eager|fused  fused (cuBLAS) where there is a GPU, else cpu;
                          eager launches a kernel for every small operation
  --B 4                   sequences in a batch, 1 to 1024
  --T 64                  tokens in a sequence, 1 to 1024
  --layers 12             layers, 1 to 48
  --steps 5               timed steps
  --warmup 1              steps before them; STRATA=trace,skip=1 skips them too
  --tf32                  tensor cores for the matrix products of fused
  --check                 compare all implementations that can run here;
                          exit code 1 if they differ
  --count-launches        print the GPU launches of one step by range, as CSV
  --list                  print what can run here, best first
  --ledger FILE           of a recording of this program with the same --B, --T
                          and --layers: where the bytes of a step come from,
                          and the MFU by three conventions
  --text FILE             the text that the tokens are made from
  --help                  this text

With STRATA=trace in the environment the program reports on itself at the end.
)";

/// One sentence, and exit code 2.
[[noreturn]] inline void refuse(std::string const& sentence) {
  std::fprintf(stderr, "gpt2: %s\n", sentence.c_str());
  std::exit(2);
}

namespace detail {

inline std::size_t number(std::string_view option, std::string_view text, std::size_t least,
                          std::size_t most) {
  std::size_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most) {
    refuse(std::string(option) + " takes a whole number from " + std::to_string(least) + " to " +
           std::to_string(most) + ", not '" + std::string(text) + "'.");
  }
  return value;
}

}  // namespace detail

/// Reads `--name value` and `--name=value`; whatever it does not understand ends the program.
inline options parse(int argc, char** argv) {
  options o;
  for (int i = 1; i < argc; ++i) {
    std::string_view name = argv[i];
    std::string_view inlined;
    auto const equals = name.find('=');
    bool const has_inlined = equals != std::string_view::npos;
    if (has_inlined) {
      inlined = name.substr(equals + 1);
      name = name.substr(0, equals);
    }
    auto const value = [&]() -> std::string_view {
      if (has_inlined) return inlined;
      if (i + 1 == argc) refuse(std::string(name) + " needs a value; see --help.");
      return argv[++i];
    };
    auto const count = [&](std::size_t least, std::size_t most) {
      return detail::number(name, value(), least, most);
    };
    bool* flag = nullptr;
    if (name == "--impl") {
      o.impl = value();
      if (o.impl != "cpu" && o.impl != "eager" && o.impl != "fused") {
        refuse("--impl takes cpu, eager or fused, not '" + o.impl + "'.");
      }
    } else if (name == "--B") {
      o.size.B = count(1, 1024);
    } else if (name == "--T") {
      o.size.T = count(1, dimensions::max_T);
    } else if (name == "--layers") {
      o.size.L = count(1, 48);
    } else if (name == "--steps") {
      o.steps = count(1, 1000000);
    } else if (name == "--warmup") {
      o.warmup = count(0, 1000000);
    } else if (name == "--text") {
      o.text = value();
    } else if (name == "--ledger") {
      o.ledger = value();
    } else if (name == "--tf32") {
      flag = &o.tf32;
    } else if (name == "--check") {
      flag = &o.check;
    } else if (name == "--count-launches") {
      flag = &o.count_launches;
    } else if (name == "--list") {
      flag = &o.list;
    } else if (name == "--help" || name == "-h") {
      std::fputs(usage, stdout);
      std::exit(0);
    } else {
      refuse("there is no option '" + std::string(argv[i]) + "'; see --help.");
    }
    if (flag && has_inlined) refuse(std::string(name) + " takes no value.");
    if (flag) *flag = true;
  }
  return o;
}

}  // namespace gpt2

#endif  // GPT2_OPTIONS_HPP
