// What every function of the fake profiler does first, and the images that it hands out.
#ifndef STRATA_TESTS_FAKE_FAKE_PROFILER_CALL_HPP
#define STRATA_TESTS_FAKE_FAKE_PROFILER_CALL_HPP

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <mutex>
#include <string>
#include <vector>

#include "fake_profiler_state.hpp"

namespace fake {

using cupti::result;

/// A size that a structure has from a version on; the versions descend.
struct size_since {
  std::uint32_t version;
  std::size_t size;
};

enum class needs { nothing, driver, initialized };

// Calls that begin something make objects, which are destroyed after the exit handlers that are
// younger than the first of those calls: what calls the profiler then crashes.
inline std::atomic<bool> is_profiler_destroyed{false};
inline void make_profiler_objects() {
  static struct objects {
    ~objects() { is_profiler_destroyed = true; }
  } const made;
}

/// One call: the lock, the count, the scripted failures, the driver, the size of the parameters.
class profiler_call {
 public:
  template <class Params>
  profiler_call(char const* function, Params const* params, std::vector<size_since> const& sizes,
                needs what)
      : s(the_state()), p(the_profiler()), function_(function) {
    if (is_profiler_destroyed) raise(SIGSEGV);
    if (is_one_of(
            {"cuptiProfilerHostInitialize", "cuptiRangeProfilerEnable", "cuptiPmSamplingEnable"}))
      make_profiler_objects();
    breaks_ = is_one_of({"cuptiRangeProfilerPushRange", "cuptiRangeProfilerPopRange"});
    of_session_ = is_one_of({"cuptiRangeProfilerEnable", "cuptiRangeProfilerDisable",
                             "cuptiRangeProfilerSetConfig", "cuptiRangeProfilerStart",
                             "cuptiRangeProfilerStop", "cuptiRangeProfilerDecodeData"});
    fake_ask_for_locks(function);
    if (breaks_ || of_session_) {
      fake_breaking_call(1, of_session_ ? 1 : 0);
      fake_take_time();
      fake_block_while(fake_blocks_profiler);
    }
    if (is_one_of({"cuptiPmSamplingDecodeData"})) fake_block_while(fake_blocks_sampling);
    bool const ready = fake_cuda_ready() != 0;
    current_ = fake_current_context();
    lock_ = std::unique_lock<std::mutex>(s.mutex);
    if (!has_size(params->struct_size, sizes)) return;
    ++s.calls[function];
    auto const failing = s.failing.find(function);
    auto const scripted = p.failures.find(function);
    if (params->reserved != nullptr) {
      fail("with pPriv set", result::invalid_parameter);
    } else if (failing != s.failing.end()) {
      code = static_cast<result>(failing->second);
    } else if (scripted != p.failures.end() && fails_now(scripted->second)) {
      code = static_cast<result>(scripted->second.code);
    } else if (what != needs::nothing && !ready) {
      fail("before cuInit", result::not_initialized);
    } else if (what == needs::initialized && !p.initialized) {
      fail("before cuptiProfilerInitialize", result::not_initialized);
    } else {
      go = true;
    }
  }

  ~profiler_call() {
    if (breaks_ || of_session_) fake_breaking_call(0, of_session_ ? 1 : 0);
  }
  profiler_call(profiler_call const&) = delete;
  profiler_call& operator=(profiler_call const&) = delete;

  /// Notes a misuse; the call returns `with`.
  void fail(char const* what, result with) {
    misuse(s, (std::string(function_) + " " + what).c_str());
    code = with;
    go = false;
  }

  profiler_object* object_of(api::range_object* handle) {
    auto const found = p.objects.find(handle);
    if (found != p.objects.end()) {
      if (found->second->context != current_) fail("in another context", result::invalid_context);
      return go ? found->second.get() : nullptr;
    }
    fail("with an object that is not enabled", result::invalid_parameter);
    return nullptr;
  }
  cupti_host* host_of(api::host_object* handle) {
    auto const found = p.hosts.find(handle);
    if (found != p.hosts.end()) return found->second.get();
    fail("with a host object that is not there", result::invalid_parameter);
    return nullptr;
  }

  state& s;
  profiler_state& p;
  result code = result::success;
  bool go = false;

 private:
  /// CUPTI compares sizes for equality. The client may try those of other versions, and no others.
  bool has_size(std::size_t size, std::vector<size_since> const& sizes) {
    for (size_since const& each : sizes) {
      if (s.version < each.version) continue;
      if (size == each.size) return true;
      break;
    }
    bool const known = std::any_of(sizes.begin(), sizes.end(),
                                   [&](size_since const& each) { return each.size == size; });
    if (!known) misuse(s, (std::string(function_) + " with a wrong structSize").c_str());
    code = result::invalid_parameter;
    return false;
  }

  bool is_one_of(std::initializer_list<char const*> names) const {
    return std::any_of(names.begin(), names.end(),
                       [&](char const* each) { return std::strcmp(each, function_) == 0; });
  }

  static bool fails_now(scripted_failure& what) {
    if (what.after != 0) {
      --what.after;
      return false;
    }
    if (what.count == 0) return false;
    --what.count;
    return true;
  }

  std::unique_lock<std::mutex> lock_;
  char const* function_;
  void* current_ = nullptr;
  bool breaks_ = false;      // captures
  bool of_session_ = false;  // which it begins, ends or configures
};

#define PROFILER_CALL(what, ...)                                             \
  fake::profiler_call c(__func__, params, {__VA_ARGS__}, fake::needs::what); \
  if (!c.go) return c.code

inline std::size_t values_at(std::size_t range, std::size_t values) {
  return sizeof(image_head) + range * (name_size + values * sizeof(double)) + name_size;
}

/// The head of a counter-data image; false where it is none, or too small.
inline bool read_head(std::uint8_t const* image, std::size_t size, image_head& head) {
  if (image == nullptr || size < sizeof(head)) return false;
  std::memcpy(&head, image, sizeof(head));
  return head.magic == data_magic && values_at(head.room, head.values) <= size + 64;
}

inline std::uint64_t config_in(std::uint8_t const* image, std::size_t size) {
  std::uint64_t words[2] = {};
  if (image == nullptr || size != config_image_size) return 0;
  std::memcpy(words, image, sizeof(words));
  return words[0] == config_magic ? words[1] : 0;
}

}  // namespace fake

#endif  // STRATA_TESTS_FAKE_FAKE_PROFILER_CALL_HPP
