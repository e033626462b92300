#ifndef STRATA_TESTS_GPU_CUBLAS_HPP
#define STRATA_TESTS_GPU_CUBLAS_HPP

// cuBLAS where it is installed, loaded at run time and without its header: its products are what a
// device reaches.

#include <dlfcn.h>
#include <library_types.h>

namespace gpu {

/// The values of cublasComputeType_t.
enum class compute : int { f32 = 68, f32_pedantic = 69, f64 = 70, i32 = 72, f32_by_tf32 = 77 };

class cublas {
 public:
  cublas() {
    void* library = nullptr;
    for (char const* name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
                             "libcublas.so", "/usr/local/cuda/lib64/libcublas.so"})
      if (library == nullptr) library = dlopen(name, RTLD_NOW);
    if (library == nullptr) return;
    auto const create = reinterpret_cast<int (*)(void**)>(dlsym(library, "cublasCreate_v2"));
    destroy_ = reinterpret_cast<int (*)(void*)>(dlsym(library, "cublasDestroy_v2"));
    multiply_ = reinterpret_cast<product*>(dlsym(library, "cublasGemmEx"));
    if (create == nullptr || destroy_ == nullptr || multiply_ == nullptr || create(&handle_) != 0)
      handle_ = nullptr;
  }
  cublas(cublas const&) = delete;
  cublas& operator=(cublas const&) = delete;
  ~cublas() {
    if (handle_ != nullptr) destroy_(handle_);
  }

  bool found() const { return handle_ != nullptr; }

  /// to = left * right of side x side, `left` transposed where asked for. False: it was refused.
  bool multiply(int side, void const* left, void const* right, cudaDataType type, void* to,
                cudaDataType result, compute by, bool transposed = false) const {
    double const one64 = 1.0, none64 = 0.0;
    float const one32 = 1.0f, none32 = 0.0f;
    int const one = 1, none = 0;
    void const* alpha = &one32;
    void const* beta = &none32;
    if (by == compute::f64) alpha = &one64, beta = &none64;
    if (by == compute::i32) alpha = &one, beta = &none;
    return multiply_(handle_, transposed ? 1 : 0, 0, side, side, side, alpha, left, type, side,
                     right, type, side, beta, to, result, side, static_cast<int>(by), -1) == 0;
  }

 private:
  using product = int(void* handle, int left, int right, int m, int n, int k, void const* alpha,
                      void const* a, int a_type, int lda, void const* b, int b_type, int ldb,
                      void const* beta, void* c, int c_type, int ldc, int by, int algorithm);
  void* handle_ = nullptr;
  int (*destroy_)(void* handle) = nullptr;
  product* multiply_ = nullptr;
};

}  // namespace gpu

#endif  // STRATA_TESTS_GPU_CUBLAS_HPP
