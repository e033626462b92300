// The forward pass with cuBLAS for the matrix products, and one kernel for whatever lies between
// two of them.
#include <cublas_v2.h>

#include "cuda_common.cuh"
#include "fused_kernels.cuh"

namespace gpt2 {
namespace {

void check(cublasStatus_t code, char const* call) {
  if (code == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(call) + ": " + cublasGetStatusString(code));
}

class cublas_handle {
 public:
  // A workspace of our own keeps cuBLAS from allocating in the middle of a step.
  cublas_handle(cudaStream_t stream, bool tf32) : workspace_(room_for_workspace()) {
    STRATA_MEMORY("workspace");  // cublasCreate allocates too
    check(cublasCreate(&handle_), "cublasCreate");
    check(cublasSetStream(handle_, stream), "cublasSetStream");
    check(cublasSetWorkspace(handle_, workspace_.data(), workspace_bytes), "cublasSetWorkspace");
    check(cublasSetMathMode(handle_, tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH),
          "cublasSetMathMode");
  }
  ~cublas_handle() { (void)cublasDestroy(handle_); }
  cublas_handle(cublas_handle const&) = delete;
  cublas_handle& operator=(cublas_handle const&) = delete;

  [[nodiscard]] cublasHandle_t get() const { return handle_; }

 private:
  static constexpr std::size_t workspace_bytes = std::size_t{32} << 20;
  static device_buffer<char> room_for_workspace() {
    STRATA_MEMORY("workspace");
    return device_buffer<char>(workspace_bytes);
  }

  device_buffer<char> workspace_;
  cublasHandle_t handle_ = nullptr;
};

class fused_model final : public gpu_model {
 public:
  fused_model(dimensions const& d, weights const& w, bool tf32)
      : gpu_model(d, w),
        cublas_(stream_.get(), tf32),
        x_(d.rows() * d.C),
        y_(d.rows() * d.C),
        qkv_(d.rows() * 3 * d.C),
        query_(d.rows() * d.C),
        key_(d.rows() * d.C),
        value_(d.rows() * d.C),
        scores_(d.scores()),
        mixed_(d.rows() * d.C),
        heads_(d.rows() * d.C),
        hidden_(d.rows() * 4 * d.C) {}

 private:
  void embedding(int const* tokens) override {
    at("embedding");
    to_device(tokens_.data(), tokens, d_.rows());
    elementwise(fused::embed, n_, x_.data(), p_.token_table, p_.position_table, tokens_.data(),
                d_.T, n_);
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
    launch(fused::layernorm, static_cast<unsigned>(d_.rows()), fused::norm_threads, y_.data(),
           x_.data(), p.gain, p.bias);
  }

  void qkv(std::size_t l) override {
    at("block[#]/attention/qkv", l);
    product(qkv_, y_, p_.blocks[l].qkv.weight, 3 * d_.C, d_.C);
    elementwise(fused::split_heads, 3 * n_, query_.data(), key_.data(), value_.data(), qkv_.data(),
                p_.blocks[l].qkv.bias, d_.T, 3 * n_);
  }

  void scores(std::size_t l) override {
    at("block[#]/attention/scores", l);
    each_head(CUBLAS_OP_T, d_.T, d_.T, d_.D, key_, d_.D, query_, d_.D, scores_);
  }

  void softmax(std::size_t l) override {
    at("block[#]/attention/softmax", l);
    std::size_t const rows = d_.B * d_.H * d_.T;
    launch(fused::causal_softmax, blocks(rows * fused::warp, fused::softmax_threads),
           fused::softmax_threads, scores_.data(), d_.T, rows);
  }

  void values(std::size_t l) override {
    at("block[#]/attention/values", l);
    each_head(CUBLAS_OP_N, d_.D, d_.T, d_.T, value_, d_.D, scores_, d_.T, mixed_);
    elementwise(fused::merge_heads, n_, heads_.data(), mixed_.data(), d_.T, n_);
  }

  void projection(std::size_t l) override {
    at("block[#]/attention/projection", l);
    product(y_, heads_, p_.blocks[l].projection.weight, d_.C, d_.C);
  }

  void residual1(std::size_t l) override {
    at("block[#]/residual1", l);
    residual(p_.blocks[l].projection.bias);
  }
  void residual2(std::size_t l) override {
    at("block[#]/residual2", l);
    residual(p_.blocks[l].down.bias);
  }
  void residual(float const* bias) {
    elementwise(fused::add_residual, n_, x_.data(), y_.data(), bias, n_);
  }

  void up(std::size_t l) override {
    at("block[#]/mlp/up", l);
    product(hidden_, y_, p_.blocks[l].up.weight, 4 * d_.C, d_.C);
  }

  void gelu(std::size_t l) override {
    at("block[#]/mlp/gelu", l);
    elementwise(fused::gelu_bias, 4 * n_, hidden_.data(), p_.blocks[l].up.bias, 4 * n_);
  }

  void down(std::size_t l) override {
    at("block[#]/mlp/down", l);
    product(y_, hidden_, p_.blocks[l].down.weight, d_.C, 4 * d_.C);
  }

  void lm_head() override {
    at("lm_head");
    product(logits_, y_, p_.token_table, d_.Vp, d_.C);
  }

  float loss(int const* targets) override {
    at("loss");
    to_device(targets_.data(), targets, d_.rows());
    launch(fused::cross_entropy, static_cast<unsigned>(d_.rows()), fused::loss_threads,
           losses_.data(), logits_.data(), targets_.data());
    launch(fused::mean, 1, fused::loss_threads, mean_loss_.data(), losses_.data(), d_.rows());
    return read_mean_loss();
  }

  template <class Kernel, class... Arguments>
  void elementwise(Kernel kernel, std::size_t n, Arguments... arguments) {
    launch(kernel, blocks(n, fused::elementwise_threads), fused::elementwise_threads, arguments...);
  }

  // out (B*T x N) = in (B*T x K) times the transpose of weight (N x K). cuBLAS counts by columns,
  // so it sees every matrix transposed, and the factors swap.
  void product(device_buffer<float> const& out, device_buffer<float> const& in, float const* weight,
               std::size_t N, std::size_t K) {
    int const n = static_cast<int>(N), k = static_cast<int>(K), m = static_cast<int>(d_.rows());
    check(cublasSgemm(cublas_.get(), CUBLAS_OP_T, CUBLAS_OP_N, n, m, k, &one_, weight, k, in.data(),
                      k, &zero_, out.data(), n),
          "cublasSgemm");
    counter_.add(launch_kind::cublas_call);
  }

  // One product for every head of every sequence, in cuBLAS's own order: c (m x n) = op(a) * b.
  void each_head(cublasOperation_t op, std::size_t m, std::size_t n, std::size_t k,
                 device_buffer<float> const& a, std::size_t lda, device_buffer<float> const& b,
                 std::size_t ldb, device_buffer<float> const& c) {
    auto const whole = [](std::size_t value) { return static_cast<int>(value); };
    auto const stride = [](std::size_t x, std::size_t y) { return static_cast<long long>(x * y); };
    check(cublasSgemmStridedBatched(cublas_.get(), op, CUBLAS_OP_N, whole(m), whole(n), whole(k),
                                    &one_, a.data(), whole(lda), stride(d_.T, d_.D), b.data(),
                                    whole(ldb), stride(n, k), &zero_, c.data(), whole(m),
                                    stride(m, n), whole(d_.B * d_.H)),
          "cublasSgemmStridedBatched");
    counter_.add(launch_kind::cublas_call);
  }

  static constexpr float one_ = 1.0f, zero_ = 0.0f;

  std::size_t n_ = d_.rows() * d_.C;
  cublas_handle cublas_;
  device_buffer<float> x_, y_, qkv_, query_, key_, value_, scores_, mixed_, heads_, hidden_;
};

}  // namespace

bool gpu_available() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

std::unique_ptr<model> make_fused(dimensions const& d, weights const& w, bool tf32) {
  return std::make_unique<fused_model>(d, w, tf32);
}

}  // namespace gpt2
