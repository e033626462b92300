// How long a matrix product and a copy take, and how that grows with their size. Without a GPU at
// work the host times them, and says so.
//
//   ./benchmark
#include "benchmark/benchmark.hpp"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

static void multiply(float const* a, float const* b, float* c, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t j = 0; j < n; ++j) c[i * n + j] += a[i * n + k] * b[k * n + j];
}

int main() {
  strata::benchmarks all("host,formats=none");
  // In rounds: what else the machine does falls on all of them, and two profiles can be compared.
  for (int round = 0; round < 4; ++round) {
    strata::benchmark_options how;
    how.trials = 5;
    for (std::size_t const n : {64, 128, 256}) {
      std::vector<float> a(n * n, 1.0f);
      std::vector<float> b(n * n, 2.0f);
      std::vector<float> c(n * n);
      auto const size = static_cast<double>(n);
      how.x = {"n", static_cast<std::int64_t>(n)};
      how.flops = 2.0 * size * size * size;
      how.bytes = 4.0 * sizeof(float) * size * size;  // c is read and written
      all.run(
          "product", [&] { multiply(a.data(), b.data(), c.data(), n); }, how);
    }

    strata::benchmark_options copies;
    copies.trials = 5;
    for (std::size_t const bytes : {1u << 20, 1u << 22, 1u << 24}) {
      std::vector<char> from(bytes, 1);
      std::vector<char> target(bytes);
      copies.x = {"bytes", static_cast<std::int64_t>(bytes)};
      copies.bytes = 2.0 * static_cast<double>(bytes);  // read and written
      auto const copy = [&] { std::memcpy(target.data(), from.data(), bytes); };
      copies.cold = false;
      all.run("copy", copy, copies);
      copies.cold = true;  // other data fill the caches ahead of each trial
      all.run("copy", copy, copies);
    }
  }

  std::fputs(strata::benchmark_text(all.results()).c_str(), stdout);
  std::fputs("\nas llama.cpp's test-backend-ops prints them:\n", stdout);
  std::fputs(strata::backend_ops_text(all.results()).c_str(), stdout);
  return all.report().ok() ? 0 : 1;  // what STRATA asks for: table, files, page
}
