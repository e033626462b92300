// The inputs of the tests, `fuzz_NAME same=COUNT SEED...`: the seeds, then changes of them by a
// fixed rule, so that they are the same each time. libFuzzer's own depend on what an input reaches,
// and so on clocks and addresses. The input that runs is in the file `input`, for when it fails.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);

namespace {

constexpr std::size_t max_size = 16'384;

/// Numbers that depend on that of the input alone. Source: Steele, Lea, Flood: Fast splittable
/// pseudorandom number generators, 2014.
class numbers {
 public:
  explicit numbers(std::uint64_t input) : state_(input) {}

  std::size_t below(std::size_t limit) {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return static_cast<std::size_t>((x ^ (x >> 31)) % limit);
  }
  std::string bytes(std::size_t count) {
    std::string made(count, '\0');
    for (char& c : made) c = static_cast<char>(below(256));
    return made;
  }

 private:
  std::uint64_t state_;
};

void change(std::string& input, numbers& any) {
  std::size_t const at = any.below(input.size() + 1);
  std::size_t const count = 1 + any.below(16);
  switch (any.below(6)) {
    case 0:
      input.insert(at, any.bytes(count));
      return;
    case 1:
      input.erase(at, count);
      return;
    case 2:
      input.insert(at, input.substr(any.below(input.size() + 1), count * 16));
      return;
    case 3:
      input.replace(at, count, any.bytes(count));
      return;
    case 4:
      if (at < input.size()) input[at] = static_cast<char>(any.below(2) * 255);
      return;
    default:
      if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << any.below(8)));
  }
}

std::string input_of(std::size_t number, std::vector<std::string> const& seeds) {
  if (number < seeds.size()) return seeds[number];
  numbers any(number);
  if (any.below(8) == 0) return any.bytes(any.below(2048));
  std::string made = seeds[any.below(seeds.size())];
  if (any.below(4) == 0) {
    std::string const& other = seeds[any.below(seeds.size())];
    made.resize(any.below(made.size() + 1));
    made += other.substr(any.below(other.size() + 1));
  }
  for (std::size_t left = 1 + any.below(16); left > 0; --left) change(made, any);
  return made.substr(0, max_size);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** words) {
  std::string_view const first = *count > 1 ? (*words)[1] : "";
  if (first.substr(0, 5) != "same=") return 0;
  std::vector<std::string> seeds;
  for (int i = 2; i < *count; ++i) {
    std::ifstream file((*words)[i], std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  std::size_t const inputs = std::strtoull(first.data() + 5, nullptr, 10);
  if (seeds.empty() || inputs <= seeds.size()) {
    std::fputs("same=COUNT needs seeds, and a COUNT of more inputs than these\n", stderr);
    std::exit(2);
  }
  for (std::size_t i = 0; i < inputs; ++i) {
    std::string const input = input_of(i, seeds);
    std::ofstream("input", std::ios::binary) << input;
    (void)LLVMFuzzerTestOneInput(reinterpret_cast<std::uint8_t const*>(input.data()), input.size());
  }
  std::printf("%zu inputs\n", inputs);
  std::exit(0);
}

#if FUZZ_ALONE  // else libFuzzer has it
int main(int count, char** words) {
  (void)LLVMFuzzerInitialize(&count, &words);
  std::fputs("without libFuzzer only same=COUNT is tried\n", stderr);
  return 2;
}
#endif
