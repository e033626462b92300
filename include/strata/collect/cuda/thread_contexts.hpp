#include <strata/version.hpp>
#ifndef STRATA_COLLECT_CUDA_THREAD_CONTEXTS_HPP
#define STRATA_COLLECT_CUDA_THREAD_CONTEXTS_HPP

#include <strata/base/macros.hpp>
#include <strata/collect/cuda/driver.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

STRATA_BEGIN
namespace detail {

/// The contexts that the calling thread put work into while a session ran. Threads: each has its
/// own. Cost of saw(): a few ns where the context is the last one again.
class thread_contexts {
 public:
  static constexpr std::size_t most = 32;

  static void saw(driver::context_handle context, std::uint32_t session) noexcept {
    list& own = mine();
    if (own.last == context && own.session == session) return;
    if (own.session != session) own.count = 0;
    own.session = session;
    own.last = context;
    driver::context_handle* const end = own.all + own.count;
    bool const known = std::find(own.all, end, context) != end;
    if (context != nullptr && !known && own.count < most) own.all[own.count++] = context;
  }

  template <class Visit>
  static void each(std::uint32_t session, Visit visit) {
    list const& own = mine();
    if (own.session != session) return;
    for (std::size_t i = 0; i < own.count; ++i) visit(own.all[i]);
  }

 private:
  struct list {
    driver::context_handle last = nullptr;
    std::uint32_t session = 0;
    std::size_t count = 0;
    driver::context_handle all[most] = {};
  };
  static list& mine() noexcept {
    static thread_local list own;
    return own;
  }
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_CUDA_THREAD_CONTEXTS_HPP
