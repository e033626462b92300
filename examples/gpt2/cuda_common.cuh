// What the two GPU implementations share: memory, launches that are checked and counted, the
// weights on the device.
#ifndef GPT2_CUDA_COMMON_CUH
#define GPT2_CUDA_COMMON_CUH

#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include <strata/strata.hpp>

#include "launch_counter.hpp"
#include "model.hpp"

namespace gpt2 {

/// Throws: std::runtime_error, with the call and CUDA's reason.
inline void check(cudaError_t code, char const* call) {
  if (code == cudaSuccess) return;
  throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(code));
}

template <class T>
class device_buffer {
 public:
  explicit device_buffer(std::size_t count) {
    check(cudaMalloc(&data_, count * sizeof(T)), "cudaMalloc");
  }
  ~device_buffer() { (void)cudaFree(data_); }
  device_buffer(device_buffer const&) = delete;
  device_buffer& operator=(device_buffer const&) = delete;

  [[nodiscard]] T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

class device_stream {
 public:
  device_stream() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  }
  ~device_stream() { (void)cudaStreamDestroy(stream_); }
  device_stream(device_stream const&) = delete;
  device_stream& operator=(device_stream const&) = delete;

  [[nodiscard]] cudaStream_t get() const { return stream_; }
  void wait() const { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 private:
  cudaStream_t stream_ = nullptr;
};

class gpu_model : public model {
 public:
  std::vector<float> logits() override {
    std::vector<float> host(d_.rows() * d_.Vp);
    to_host(host.data(), logits_.data(), host.size());
    stream_.wait();
    return host;
  }
  void count_launches() override { counter_.start(); }
  void print_launches(std::FILE* out) const override { counter_.print(out); }

 protected:
  gpu_model(dimensions const& d, weights const& w)
      : model(d),
        weights_(room_for_weights(w.size())),
        p_(w.view(weights_.data())),
        tokens_(d.rows()),
        targets_(d.rows()),
        logits_(d.rows() * d.Vp),
        losses_(d.rows()),
        mean_loss_(1) {
    to_device(weights_.data(), w.data(), w.size());
    stream_.wait();
  }

  static device_buffer<float> room_for_weights(std::size_t count) {
    STRATA_MEMORY("weights");
    return device_buffer<float>(count);
  }

  /// Names the range that the following launches belong to; '#' stands for the layer.
  void at(char const* path, std::size_t layer = 0) { counter_.enter(path, layer); }

  template <class... Parameters, class... Arguments>
  void launch(void (*kernel)(Parameters...), dim3 grid, unsigned threads, Arguments... arguments) {
    kernel<<<grid, threads, 0, stream_.get()>>>(arguments...);
    check(cudaGetLastError(), "kernel launch");
    counter_.add(launch_kind::own_kernel);
  }

  template <class T>
  void to_device(T* to, T const* from, std::size_t count) {
    check(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyHostToDevice, stream_.get()),
          "cudaMemcpyAsync to the device");
    counter_.add(launch_kind::copy);
  }

  template <class T>
  void to_host(T* to, T const* from, std::size_t count) {
    check(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDeviceToHost, stream_.get()),
          "cudaMemcpyAsync to the host");
    counter_.add(launch_kind::copy);
  }

  /// The only place of a step where the host waits for the device.
  float read_mean_loss() {
    float loss = 0.0f;
    to_host(&loss, mean_loss_.data(), 1);
    stream_.wait();
    return loss;
  }

  launch_counter counter_;
  device_stream stream_;
  device_buffer<float> weights_;
  parameters p_;  // pointers into weights_
  device_buffer<int> tokens_, targets_;
  device_buffer<float> logits_, losses_, mean_loss_;
};

/// Blocks that cover `count` elements with one thread each.
inline unsigned blocks(std::size_t count, unsigned threads) {
  return static_cast<unsigned>((count + threads - 1) / threads);
}

}  // namespace gpt2

#endif  // GPT2_CUDA_COMMON_CUH
