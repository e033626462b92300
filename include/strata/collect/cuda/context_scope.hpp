#include <strata/version.hpp>
#ifndef STRATA_COLLECT_CUDA_CONTEXT_SCOPE_HPP
#define STRATA_COLLECT_CUDA_CONTEXT_SCOPE_HPP

#include <strata/base/macros.hpp>
#include <strata/collect/cuda/driver.hpp>

STRATA_BEGIN
namespace detail {

/// Makes a context current in the calling thread as long as it lives; null leaves all as it is.
class context_scope {
 public:
  explicit context_scope(driver::context_handle context) noexcept {
    driver::table const& api = driver_library::get().api;
    if (context == nullptr) return;
    pushed_ = api.context_push != nullptr && api.context_pop != nullptr &&
              api.context_push(context) == driver::result::success;
    ok_ = pushed_;
  }
  context_scope(context_scope const&) = delete;
  context_scope& operator=(context_scope const&) = delete;
  ~context_scope() {
    driver::context_handle popped = nullptr;
    if (pushed_) (void)driver_library::get().api.context_pop(&popped);
  }

  explicit operator bool() const noexcept { return ok_; }

 private:
  bool pushed_ = false;
  bool ok_ = true;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_CUDA_CONTEXT_SCOPE_HPP
