// The forward pass operation by operation, one sequence and one head at a time, as a matrix library
// without fusion runs it: thousands of small kernels, each of which reads its operands from memory
// and writes its result back.
#include <cmath>

#include "cuda_common.cuh"
#include "eager_kernels.cuh"

namespace gpt2 {
namespace {

using namespace eager;

constexpr unsigned threads = 256;

class eager_model final : public gpu_model {
 public:
  eager_model(dimensions const& d, weights const& w)
      : gpu_model(d, w),
        x_(d.rows() * d.C),
        y_(d.rows() * d.C),
        qkv_(d.rows() * 3 * d.C),
        scores_(d.scores()),
        heads_(d.rows() * d.C),
        hidden_(d.rows() * 4 * d.C),
        centred_(d.T * d.C),
        squared_(d.T * d.C),
        column_(d.T),
        query_(d.T * d.D),
        key_(d.T * d.D),
        value_(d.T * d.D),
        mixed_(d.T * d.D),
        mask_(d.T * d.T),
        polynomial_(d.T * 4 * d.C),
        shifted_(d.T * d.Vp),
        picked_(d.T) {
    std::vector<float> mask(d.T * d.T, 0.0f);
    for (std::size_t t = 0; t < d.T; ++t) {
      for (std::size_t u = t + 1; u < d.T; ++u) mask[t * d.T + u] = -INFINITY;
    }
    to_device(mask_.data(), mask.data(), mask.size());
    stream_.wait();
  }

 private:
  void embedding(int const* tokens) override {
    at("embedding");
    to_device(tokens_.data(), tokens, d_.rows());
    std::size_t const n = d_.T * d_.C;
    for (std::size_t b = 0; b < d_.B; ++b) {
      float* x = x_.data() + b * n;
      launch(gather_rows, blocks(n, threads), threads, x, p_.token_table, tokens_.data() + b * d_.T,
             d_.C, n);
      zip(add{}, x, x, p_.position_table, n);
    }
  }

  void ln1(std::size_t l) override {
    at("block[#]/ln1", l);
    layernorm(p_.blocks[l].ln1);
  }
  void ln2(std::size_t l) override {
    at("block[#]/ln2", l);
    layernorm(p_.blocks[l].ln2);
  }
  void lnf() override {
    at("lnf");
    layernorm(p_.lnf);
  }
  void layernorm(parameters::norm const& p) {
    std::size_t const n = d_.T * d_.C;
    float const mean = 1.0f / static_cast<float>(d_.C);
    for (std::size_t b = 0; b < d_.B; ++b) {
      float const* x = x_.data() + b * n;
      float* y = y_.data() + b * n;
      reduce(sum{}, column_.data(), x, d_.T, d_.C, d_.C, mean);
      zip_rows(subtract{}, centred_.data(), x, column_.data(), d_.C, n);
      map(square{}, squared_.data(), centred_.data(), n);
      reduce(sum{}, column_.data(), squared_.data(), d_.T, d_.C, d_.C, mean);
      map(inverse_root{d_.epsilon}, column_.data(), column_.data(), d_.T);
      zip_rows(multiply{}, y, centred_.data(), column_.data(), d_.C, n);
      zip_columns(multiply{}, y, y, p.gain, d_.C, n);
      zip_columns(add{}, y, y, p.bias, d_.C, n);
    }
  }

  void qkv(std::size_t l) override {
    at("block[#]/attention/qkv", l);
    linear(qkv_, y_, p_.blocks[l].qkv, 3 * d_.C, d_.C);
  }

  void scores(std::size_t l) override {
    at("block[#]/attention/scores", l);
    each_head([this](std::size_t b, std::size_t h) {
      slice(query_.data(), b, h);
      slice(key_.data(), b, h + d_.H);
      float* s = head_scores(b, h);
      product<true>(s, query_.data(), key_.data(), d_.T, d_.T, d_.D);
      map(scale{d_.score_scale}, s, s, d_.T * d_.T);
    });
  }

  void softmax(std::size_t l) override {
    at("block[#]/attention/softmax", l);
    std::size_t const T = d_.T, n = T * T;
    each_head([=](std::size_t b, std::size_t h) {
      float* s = head_scores(b, h);
      zip(add{}, s, s, mask_.data(), n);
      reduce(maximum{}, column_.data(), s, T, T, T, 1.0f);
      zip_rows(subtract{}, s, s, column_.data(), T, n);
      map(exponential{}, s, s, n);
      reduce(sum{}, column_.data(), s, T, T, T, 1.0f);
      zip_rows(divide{}, s, s, column_.data(), T, n);
    });
  }

  void values(std::size_t l) override {
    at("block[#]/attention/values", l);
    clear(heads_.data(), d_.rows() * d_.C);
    each_head([this](std::size_t b, std::size_t h) {
      slice(value_.data(), b, h + 2 * d_.H);
      product<false>(mixed_.data(), head_scores(b, h), value_.data(), d_.T, d_.D, d_.T);
      place(heads_.data() + b * d_.T * d_.C + h * d_.D, mixed_.data());
    });
  }

  void projection(std::size_t l) override {
    at("block[#]/attention/projection", l);
    linear(y_, heads_, p_.blocks[l].projection, d_.C, d_.C);
  }

  void residual1(std::size_t l) override {
    at("block[#]/residual1", l);
    residual();
  }
  void residual2(std::size_t l) override {
    at("block[#]/residual2", l);
    residual();
  }
  void residual() {
    std::size_t const n = d_.T * d_.C;
    for (std::size_t i = 0; i < d_.B * n; i += n) {
      zip(add{}, x_.data() + i, x_.data() + i, y_.data() + i, n);
    }
  }

  void up(std::size_t l) override {
    at("block[#]/mlp/up", l);
    linear(hidden_, y_, p_.blocks[l].up, 4 * d_.C, d_.C);
  }

  // x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))) in nine operations.
  void gelu(std::size_t l) override {
    at("block[#]/mlp/gelu", l);
    std::size_t const n = d_.T * 4 * d_.C;
    float* z = polynomial_.data();
    for (std::size_t b = 0; b < d_.B; ++b) {
      float* x = hidden_.data() + b * n;
      map(square{}, z, x, n);
      zip(multiply{}, z, z, x, n);
      map(scale{0.044715f}, z, z, n);
      zip(add{}, z, z, x, n);
      map(scale{0.7978845608f}, z, z, n);
      map(hyperbolic_tangent{}, z, z, n);
      map(plus{1.0f}, z, z, n);
      zip(multiply{}, x, x, z, n);
      map(scale{0.5f}, x, x, n);
    }
  }

  void down(std::size_t l) override {
    at("block[#]/mlp/down", l);
    linear(y_, hidden_, p_.blocks[l].down, d_.C, 4 * d_.C);
  }

  void lm_head() override {
    at("lm_head");
    for (std::size_t b = 0; b < d_.B; ++b) {
      product<true>(logits_.data() + b * d_.T * d_.Vp, y_.data() + b * d_.T * d_.C, p_.token_table,
                    d_.T, d_.Vp, d_.C);
    }
  }

  float loss(int const* targets) override {
    at("loss");
    to_device(targets_.data(), targets, d_.rows());
    std::size_t const n = d_.T * d_.Vp;
    for (std::size_t b = 0; b < d_.B; ++b) {
      float const* s = logits_.data() + b * n;
      float* z = shifted_.data();
      float* losses = losses_.data() + b * d_.T;
      reduce(maximum{}, column_.data(), s, d_.T, d_.V, d_.Vp, 1.0f);
      zip_rows(subtract{}, z, s, column_.data(), d_.Vp, n);
      launch(pick, blocks(d_.T, threads), threads, picked_.data(), z, targets_.data() + b * d_.T,
             d_.Vp, d_.T);
      map(exponential{}, z, z, n);
      reduce(sum{}, losses, z, d_.T, d_.V, d_.Vp, 1.0f);
      map(logarithm{}, losses, losses, d_.T);
      zip(subtract{}, losses, losses, picked_.data(), d_.T);
    }
    std::size_t const rows = d_.rows();
    reduce(sum{}, mean_loss_.data(), losses_.data(), 1, rows, rows,
           1.0f / static_cast<float>(rows));
    return read_mean_loss();
  }

  void linear(device_buffer<float> const& out, device_buffer<float> const& in,
              parameters::linear const& p, std::size_t N, std::size_t K) {
    for (std::size_t b = 0; b < d_.B; ++b) {
      float* o = out.data() + b * d_.T * N;
      product<true>(o, in.data() + b * d_.T * K, p.weight, d_.T, N, K);
      zip_columns(add{}, o, o, p.bias, N, d_.T * N);
    }
  }

  template <class Body>
  void each_head(Body body) {
    for (std::size_t b = 0; b < d_.B; ++b) {
      for (std::size_t h = 0; h < d_.H; ++h) body(b, h);
    }
  }
  [[nodiscard]] float* head_scores(std::size_t b, std::size_t h) const {
    return scores_.data() + (b * d_.H + h) * d_.T * d_.T;
  }

  // A head's columns of the queries (0 to H-1), keys (from H) or values (from 2H) of one sequence.
  void slice(float* out, std::size_t b, std::size_t head) {
    launch(copy_columns, blocks(d_.T * d_.D, threads), threads, out,
           qkv_.data() + b * d_.T * 3 * d_.C + head * d_.D, d_.D, 3 * d_.C, d_.T * d_.D);
  }
  void place(float* to, float const* from) {
    std::size_t const width = d_.D * sizeof(float);
    check(cudaMemcpy2DAsync(to, d_.C * sizeof(float), from, width, width, d_.T,
                            cudaMemcpyDeviceToDevice, stream_.get()),
          "cudaMemcpy2DAsync");
    counter_.add(launch_kind::copy);
  }
  void clear(float* data, std::size_t count) {
    check(cudaMemsetAsync(data, 0, count * sizeof(float), stream_.get()), "cudaMemsetAsync");
    counter_.add(launch_kind::memset);
  }

  template <class F>
  void map(F f, float* out, float const* a, std::size_t n) {
    launch(map_kernel<F>, blocks(n, threads), threads, f, out, a, n);
  }
  template <class F>
  void zip(F f, float* out, float const* a, float const* b, std::size_t n) {
    launch(zip_kernel<F>, blocks(n, threads), threads, f, out, a, b, n);
  }
  template <class F>
  void zip_rows(F f, float* out, float const* a, float const* b, std::size_t cols, std::size_t n) {
    launch(zip_rows_kernel<F>, blocks(n, threads), threads, f, out, a, b, cols, n);
  }
  template <class F>
  void zip_columns(F f, float* out, float const* a, float const* b, std::size_t cols,
                   std::size_t n) {
    launch(zip_columns_kernel<F>, blocks(n, threads), threads, f, out, a, b, cols, n);
  }
  template <class F>
  void reduce(F f, float* out, float const* a, std::size_t rows, std::size_t cols,
              std::size_t stride, float factor) {
    launch(reduce_kernel<F>, static_cast<unsigned>(rows), reduce_threads, f, out, a, cols, stride,
           factor);
  }
  template <bool Transposed>
  void product(float* out, float const* a, float const* b, std::size_t M, std::size_t N,
               std::size_t K) {
    launch(product_kernel<Transposed>, dim3(blocks(N, tile), blocks(M, tile)), tile * tile, out, a,
           b, M, N, K);
  }

  device_buffer<float> x_, y_, qkv_, scores_, heads_, hidden_;
  device_buffer<float> centred_, squared_, column_, query_, key_, value_, mixed_, mask_;
  device_buffer<float> polynomial_, shifted_, picked_;
};

}  // namespace

std::unique_ptr<model> make_eager(dimensions const& d, weights const& w) {
  return std::make_unique<eager_model>(d, w);
}

}  // namespace gpt2
