// What the model needs beside what a recording of the program counted.
#include "needs.hpp"

#include <cstdio>

#include "analyse/ledger.hpp"
#include "analyse/steps.hpp"
#include "recording/recording.hpp"

namespace gpt2 {

namespace llm = strata::llm;

namespace {

/// All calls of a step; of the moved bytes only the result is written.
strata::byte_need need(char const* ranges, double calls, llm::cost const& call_cost,
                       double logits = 0.0) {
  strata::byte_need made = strata::need_of(ranges, calls * call_cost, logits);
  made.written = calls * call_cost.elements * 4;
  return made;
}

strata::vec<strata::byte_need> needs_of_ranges(llm::model const& m, llm::pass const& p) {
  double const layers = m.kinds[0].count;
  double const logits = p.rows() * dimensions::Vp * 4;
  return {need("embedding", 1, llm::embedding(m, p)),
          need("ln1|ln2|lnf", 2 * layers + 1, llm::norm(m, p)),
          need("residual1|residual2", 2 * layers, llm::residual(m, p)),
          need("qkv", layers, llm::qkv(m, p)),
          need("scores", layers, llm::scores(m, p)),
          need("softmax", layers, llm::softmax(m, p)),
          need("values", layers, llm::values(m, p)),
          need("projection", layers, llm::output(m, p)),
          need("up", layers, llm::up(m, p)),
          need("gelu", layers, llm::nonlinearity(m, p)),
          need("down", layers, llm::down(m, p)),
          need("lm_head", 1, llm::head(m, p), logits),
          need("loss", 1, llm::loss(m, p))};
}

/// The forward pass alone, by the mean step, of the peak of plain FP32.
void print_mfu(dimensions const& d, llm::model const& m, strata::profile const& recorded) {
  strata::call_tree const whole(recorded);
  strata::call_tree const folded(recorded, strata::folding::by_name);
  strata::step_analysis const steps = strata::make_steps(recorded, folded, whole.rows());
  double const seconds = steps.mean_ns / 1e9;
  double const peak =
      strata::make_roofline(recorded, folded.rows(), steps, nullptr).rate_of("FP32");
  if (!(seconds > 0.0 && peak > 0.0)) return;
  auto const tokens = static_cast<double>(d.T);
  std::printf("\nA step is a forward pass, a third of what the conventions count: %.4f ms\n",
              seconds * 1e3);
  for (llm::convention const& convention :
       {llm::full_square, llm::causal_half, llm::weights_only}) {
    double const flops = llm::forward_flops(m, tokens, convention) * static_cast<double>(d.rows());
    llm::utilisation const made{"MFU", flops / seconds / peak, convention, {peak, "FP32", false}};
    std::printf("  %.0f operations: %s\n", flops, llm::describe(made).text);
  }
}

}  // namespace

int print_ledger(dimensions const& d, char const* recording) {
  strata::profile recorded;
  strata::status const read = strata::read_recording_file(recording, recorded);
  if (!read.ok()) {
    std::fprintf(stderr, "gpt2: %s: %s\n", recording, read.message().c_str());
    return 2;
  }
  llm::model const m = gpt2_124m(d);
  strata::byte_ledger const made =
      strata::make_ledger(recorded, needs_of_ranges(m, whole_batch(d)));
  std::fputs(strata::ledger_text(made).c_str(), stdout);
  print_mfu(d, m, recorded);
  return made.closes ? 0 : 1;
}

}  // namespace gpt2
