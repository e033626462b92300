// Runs GPT-2's forward pass step by step; see --help.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <strata/strata.hpp>

#include "check.hpp"
#include "model.hpp"
#include "needs.hpp"
#include "options.hpp"
#include "tokens.hpp"
#include "weights.hpp"

namespace {

using clock_type = std::chrono::steady_clock;

double seconds_since(clock_type::time_point start) {
  return std::chrono::duration<double>(clock_type::now() - start).count();
}

std::vector<std::string> available() {
#if GPT2_CUDA
  if (gpt2::gpu_available()) return {"fused", "eager", "cpu"};
#endif
  return {"cpu"};
}

std::unique_ptr<gpt2::model> make(std::string const& impl, gpt2::dimensions const& size,
                                  gpt2::weights const& w, [[maybe_unused]] bool tf32) {
  STRATA_MEMORY("activations");  // what is allocated below it, but for weights and workspace
#if GPT2_CUDA
  if (impl == "eager") return gpt2::make_eager(size, w);
  if (impl == "fused") return gpt2::make_fused(size, w, tf32);
#endif
  return impl == "cpu" ? gpt2::make_cpu(size, w) : nullptr;
}

gpt2::token_stream read_text(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  std::string const text{std::istreambuf_iterator<char>(file), {}};
  if (!file || text.size() < 2) {
    gpt2::refuse("no text could be read from '" + path + "'; name a text file with --text.");
  }
  return gpt2::token_stream(text);
}

// Chooses the implementation, and refuses what this build or this machine cannot do.
void settle(gpt2::options& o) {
  auto const all = available();
  if (o.impl.empty()) o.impl = all.front();
  if (std::find(all.begin(), all.end(), o.impl) == all.end()) {
#if GPT2_CUDA
    gpt2::refuse("--impl " + o.impl + " needs an NVIDIA GPU and its driver, and none was found.");
#else
    gpt2::refuse("--impl " + o.impl + " is not in this build, which was made without CUDA.");
#endif
  }
  if (o.check) return;
  if (o.tf32 && o.impl != "fused") gpt2::refuse("--tf32 works with --impl fused only.");
  if (o.count_launches && o.impl == "cpu") {
    gpt2::refuse("--count-launches needs --impl eager or fused: the CPU launches nothing.");
  }
}

int check(gpt2::options const& o, gpt2::weights const& w, gpt2::token_stream const& text) {
  auto const tokens = text.batch(0, o.size.rows());
  auto const targets = text.batch(1, o.size.rows());
  auto const run = [&](std::string const& impl, bool tf32) {
    auto const m = make(impl, o.size, w, tf32);
    float const loss = m->forward(tokens.data(), targets.data());
    return gpt2::outcome{loss, m->logits()};
  };
  auto const cpu = run("cpu", false);
  std::printf("%-10s loss %.6f  (the reference)\n", "cpu", static_cast<double>(cpu.loss));
  bool good = std::isfinite(cpu.loss);
  if (available().size() == 1) {
    std::puts("Nothing to compare it with: no GPU implementation can run here.");
    return good ? 0 : 1;
  }
  good &= gpt2::compare("eager", run("eager", false), cpu, 1e-3);
  good &= gpt2::compare("fused", run("fused", false), cpu, 1e-3);
  good &= gpt2::compare("fused tf32", run("fused", true), cpu, 1e-2);
  return good ? 0 : 1;
}

int run(gpt2::options const& o, gpt2::weights const& w, gpt2::token_stream const& text) {
  auto const m = make(o.impl, o.size, w, o.tf32);
  std::size_t const rows = o.size.rows();
  double timed_s = 0.0;
  std::size_t const steps = o.warmup + (o.count_launches ? 1 : o.steps);
  for (std::size_t step = 0; step < steps; ++step) {
    STRATA_STEP();
    auto const tokens = text.batch(step * rows, rows);
    auto const targets = text.batch(step * rows + 1, rows);
    if (o.count_launches && step == o.warmup) m->count_launches();
    auto const start = clock_type::now();
    double const loss = static_cast<double>(m->forward(tokens.data(), targets.data()));
    double const step_s = seconds_since(start);
    if (step >= o.warmup) timed_s += step_s;
    if (!o.count_launches) {
      std::printf("step %zu: loss %.6f, %.3f ms%s\n", step, loss, 1e3 * step_s,
                  step < o.warmup ? " (warm-up)" : "");
    }
  }
  if (o.count_launches) {
    m->print_launches(stdout);
  } else {
    double const mean_s = timed_s / static_cast<double>(o.steps);
    std::printf("%s: %.3f ms a step, %.0f tokens/s\n", o.impl.c_str(), 1e3 * mean_s,
                static_cast<double>(rows) / mean_s);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    auto o = gpt2::parse(argc, argv);
    if (o.list) {
      for (auto const& name : available()) std::puts(name.c_str());
      return 0;
    }
    if (!o.ledger.empty()) return gpt2::print_ledger(o.size, o.ledger.c_str());
    settle(o);
    auto const text = read_text(o.text);
    auto const start = clock_type::now();
    gpt2::weights const w = [&o] {
      STRATA_MEMORY("weights");
      return gpt2::weights(o.size);
    }();
    if (!o.count_launches) {
      std::printf("GPT-2: B=%zu T=%zu layers=%zu, %.1f M random parameters made in %.2f s\n",
                  o.size.B, o.size.T, o.size.L, static_cast<double>(w.size()) * 1e-6,
                  seconds_since(start));
    }
    return o.check ? check(o, w, text) : run(o, w, text);
  } catch (std::exception const& e) {
    std::fprintf(stderr, "gpt2: %s\n", e.what());
    return 1;
  }
}
