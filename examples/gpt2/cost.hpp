// What one forward pass has to do at least: floating-point operations and fp32 bytes of every
// range.
#ifndef GPT2_COST_HPP
#define GPT2_COST_HPP

#include "dimensions.hpp"

namespace gpt2 {

struct work {
  double flops;
  double bytes;
};

/// The cost of every range of a step. Operations follow the usual formulas (a multiply-add is two,
/// the causal mask saves nothing). Bytes are the least that any implementation moves: inputs and
/// weights read once, outputs written once. The bytes of `attention` and `mlp` are thus less than
/// the sum of their parts, whose intermediate results need not leave the chip.
class step_cost {
 public:
  explicit step_cost(dimensions const& d)
      : BT_(static_cast<double>(d.rows())),
        T_(static_cast<double>(d.T)),
        scores_(static_cast<double>(d.scores())) {}

  [[nodiscard]] work embedding() const { return {X(), floats(BT_ + X() + T_ * C + X())}; }
  [[nodiscard]] work layernorm() const { return {7 * X(), floats(X() + 2 * C + X())}; }
  [[nodiscard]] work qkv() const { return linear(C, 3 * C); }
  [[nodiscard]] work scores() const { return {2 * BT_ * T_ * C, floats(2 * X() + scores_)}; }
  [[nodiscard]] work softmax() const { return {3 * scores_, floats(2 * scores_)}; }
  [[nodiscard]] work values() const { return {2 * BT_ * T_ * C, floats(scores_ + 2 * X())}; }
  [[nodiscard]] work projection() const { return linear(C, C); }
  [[nodiscard]] work residual() const { return {X(), floats(3 * X())}; }
  [[nodiscard]] work up() const { return linear(C, 4 * C); }
  [[nodiscard]] work gelu() const { return {9 * 4 * X(), floats(2 * 4 * X())}; }  // tanh counts one
  [[nodiscard]] work down() const { return linear(4 * C, C); }
  [[nodiscard]] work lm_head() const { return {2 * X() * Vp, floats(X() + C * Vp + BT_ * Vp)}; }
  [[nodiscard]] work loss() const { return {3 * BT_ * V, floats(BT_ * V + BT_ + 1)}; }

  [[nodiscard]] work attention() const {
    double const flops =
        qkv().flops + scores().flops + softmax().flops + values().flops + projection().flops;
    return {flops, floats(X() + 4 * C * C + 4 * C + X())};
  }
  [[nodiscard]] work mlp() const {
    return {up().flops + gelu().flops + down().flops, floats(X() + 8 * C * C + 5 * C + X())};
  }

 private:
  static constexpr double C = static_cast<double>(dimensions::C);
  static constexpr double V = static_cast<double>(dimensions::V);
  static constexpr double Vp = static_cast<double>(dimensions::Vp);

  static double floats(double count) { return 4 * count; }
  [[nodiscard]] double X() const { return BT_ * C; }  // one activation matrix
  [[nodiscard]] work linear(double in, double out) const {
    return {2 * BT_ * in * out, floats(BT_ * in + in * out + out + BT_ * out)};
  }

  double BT_;
  double T_;
  double scores_;
};

}  // namespace gpt2

#endif  // GPT2_COST_HPP
