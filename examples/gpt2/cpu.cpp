// The forward pass on the CPU.
#include <algorithm>
#include <cmath>

#include "cpu_matmul.hpp"
#include "model.hpp"
#include "parallel.hpp"

namespace gpt2 {
namespace {

// The sums below keep `lanes` partial sums, which the compiler turns into vectors without
// reordering anything.
constexpr std::size_t lanes = 16;

template <class Term>
float sum(std::size_t n, Term term) {
  float partial[lanes] = {};
  for (std::size_t i = 0; i + lanes <= n; i += lanes) {
    for (std::size_t j = 0; j < lanes; ++j) partial[j] += term(i + j);
  }
  float total = 0.0f;
  for (float p : partial) total += p;
  for (std::size_t i = n - n % lanes; i < n; ++i) total += term(i);
  return total;
}

class cpu_model final : public model {
 public:
  cpu_model(dimensions const& d, weights const& w)
      : model(d),
        p_(w.view()),
        x_(d.rows() * d.C),
        y_(d.rows() * d.C),
        qkv_(d.rows() * 3 * d.C),
        scores_(d.scores()),
        heads_(d.rows() * d.C),
        hidden_(d.rows() * 4 * d.C),
        logits_(d.rows() * d.Vp),
        losses_(d.rows()) {}

  std::vector<float> logits() override { return logits_; }

 private:
  void embedding(int const* tokens) override {
    GPT2_PARALLEL_FOR
    for (std::size_t row = 0; row < d_.rows(); ++row) {
      float const* token = p_.token_table + static_cast<std::size_t>(tokens[row]) * d_.C;
      float const* position = p_.position_table + row % d_.T * d_.C;
      for (std::size_t c = 0; c < d_.C; ++c) x_[row * d_.C + c] = token[c] + position[c];
    }
  }

  void ln1(std::size_t l) override { layernorm(p_.blocks[l].ln1); }
  void ln2(std::size_t l) override { layernorm(p_.blocks[l].ln2); }
  void lnf() override { layernorm(p_.lnf); }
  void layernorm(parameters::norm const& p) {
    constexpr auto n = static_cast<float>(dimensions::C);
    GPT2_PARALLEL_FOR
    for (std::size_t row = 0; row < d_.rows(); ++row) {
      float const* x = x_.data() + row * d_.C;
      float* y = y_.data() + row * d_.C;
      float const mean = sum(d_.C, [=](std::size_t i) { return x[i]; }) / n;
      float const variance =
          sum(d_.C, [=](std::size_t i) { return (x[i] - mean) * (x[i] - mean); }) / n;
      float const scale = 1.0f / std::sqrt(variance + d_.epsilon);
      for (std::size_t i = 0; i < d_.C; ++i) y[i] = (x[i] - mean) * scale * p.gain[i] + p.bias[i];
    }
  }

  void qkv(std::size_t l) override { linear(qkv_, y_, p_.blocks[l].qkv, 3 * d_.C, d_.C); }

  // Row t holds the scores of positions 0..t; what lies behind them is never read.
  void scores(std::size_t) override {
    std::size_t const T = d_.T;
    std::size_t const stride = 3 * d_.C;
    GPT2_PARALLEL_FOR
    for (std::size_t bh = 0; bh < d_.B * d_.H; ++bh) {
      float const* query = qkv_.data() + bh / d_.H * T * stride + bh % d_.H * d_.D;
      float const* key = query + d_.C;
      for (std::size_t t = 0; t < T; ++t) {
        for (std::size_t u = 0; u <= t; ++u) {
          float const* q = query + t * stride;
          float const* k = key + u * stride;
          float const dot = sum(dimensions::D, [=](std::size_t i) { return q[i] * k[i]; });
          scores_[(bh * T + t) * T + u] = dot * d_.score_scale;
        }
      }
    }
  }

  void softmax(std::size_t) override {
    GPT2_PARALLEL_FOR
    for (std::size_t row = 0; row < d_.B * d_.H * d_.T; ++row) {
      float* s = scores_.data() + row * d_.T;
      std::size_t const n = row % d_.T + 1;
      float const largest = *std::max_element(s, s + n);
      float total = 0.0f;
      for (std::size_t i = 0; i < n; ++i) total += s[i] = std::exp(s[i] - largest);
      for (std::size_t i = 0; i < n; ++i) s[i] /= total;
    }
  }

  void values(std::size_t) override {
    std::size_t const T = d_.T;
    std::size_t const stride = 3 * d_.C;
    GPT2_PARALLEL_FOR
    for (std::size_t bh = 0; bh < d_.B * d_.H; ++bh) {
      std::size_t const b = bh / d_.H;
      std::size_t const h = bh % d_.H;
      float const* value = qkv_.data() + b * T * stride + 2 * d_.C + h * d_.D;
      for (std::size_t t = 0; t < T; ++t) {
        float mix[dimensions::D] = {};
        for (std::size_t u = 0; u <= t; ++u) {
          float const p = scores_[(bh * T + t) * T + u];
          for (std::size_t i = 0; i < d_.D; ++i) mix[i] += p * value[u * stride + i];
        }
        std::copy_n(mix, d_.D, heads_.data() + (b * T + t) * d_.C + h * d_.D);
      }
    }
  }

  void projection(std::size_t l) override {
    linear(y_, heads_, p_.blocks[l].projection, d_.C, d_.C);
  }

  void residual1(std::size_t) override { residual(); }
  void residual2(std::size_t) override { residual(); }
  void residual() {
    GPT2_PARALLEL_FOR
    for (std::size_t row = 0; row < d_.rows(); ++row) {
      for (std::size_t i = row * d_.C; i < (row + 1) * d_.C; ++i) x_[i] += y_[i];
    }
  }

  void up(std::size_t l) override { linear(hidden_, y_, p_.blocks[l].up, 4 * d_.C, d_.C); }

  // x/2 * (1 + tanh(z)) is x / (1 + exp(-2z)).
  void gelu(std::size_t) override {
    std::size_t const n = 4 * d_.C;
    GPT2_PARALLEL_FOR
    for (std::size_t row = 0; row < d_.rows(); ++row) {
      for (std::size_t i = row * n; i < (row + 1) * n; ++i) {
        float const v = hidden_[i];
        float const z = 0.7978845608f * (v + 0.044715f * v * v * v);
        hidden_[i] = v / (1.0f + std::exp(-2.0f * z));
      }
    }
  }

  void down(std::size_t l) override { linear(y_, hidden_, p_.blocks[l].down, d_.C, 4 * d_.C); }

  void lm_head() override {
    matmul(logits_.data(), y_.data(), p_.token_table, nullptr, d_.rows(), d_.Vp, d_.C);
  }

  float loss(int const* targets) override {
    GPT2_PARALLEL_FOR
    for (std::size_t row = 0; row < d_.rows(); ++row) {
      float const* s = logits_.data() + row * d_.Vp;
      float const largest = *std::max_element(s, s + d_.V);
      float const total =
          sum(dimensions::V, [=](std::size_t i) { return std::exp(s[i] - largest); });
      losses_[row] = std::log(total) - (s[targets[row]] - largest);
    }
    double total = 0.0;
    for (float l : losses_) total += static_cast<double>(l);
    return static_cast<float>(total / static_cast<double>(d_.rows()));
  }

  void linear(std::vector<float>& out, std::vector<float> const& in, parameters::linear const& p,
              std::size_t N, std::size_t K) {
    matmul(out.data(), in.data(), p.weight, p.bias, d_.rows(), N, K);
  }

  parameters p_;
  std::vector<float> x_;
  std::vector<float> y_;
  std::vector<float> qkv_;
  std::vector<float> scores_;
  std::vector<float> heads_;
  std::vector<float> hidden_;
  std::vector<float> logits_;
  std::vector<float> losses_;
};

}  // namespace

std::unique_ptr<model> make_cpu(dimensions const& d, weights const& w) {
  return std::make_unique<cpu_model>(d, w);
}

}  // namespace gpt2
