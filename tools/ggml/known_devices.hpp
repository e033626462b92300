#ifndef STRATA_TOOLS_GGML_KNOWN_DEVICES_HPP
#define STRATA_TOOLS_GGML_KNOWN_DEVICES_HPP

#include <ggml-backend.h>

#include <strata/base/threads.hpp>

#include <cstddef>

namespace ggml_recorded {

/// How often in a graph the backends of a device ask of a node whether it is empty.
enum class asking : unsigned char { unknown, once, twice };

/// What is known of the devices of this process, which live as long as it does, where backends come
/// and go. Threads: any.
class known_devices {
 public:
  static known_devices& instance() {
    static known_devices only;
    return only;
  }
  asking find(ggml_backend_dev_t device) {
    strata::detail::spin_lock const lock(mutex_);
    for (entry const& known : entries_)
      if (known.device == device) return known.asks;
    return asking::unknown;
  }
  /// Who was seen to ask twice does so. A device without room stays unknown.
  void learn(ggml_backend_dev_t device, asking asks) {
    strata::detail::spin_lock const lock(mutex_);
    for (entry& known : entries_) {
      if (known.device != nullptr && known.device != device) continue;
      known.device = device;
      if (known.asks != asking::twice) known.asks = asks;
      return;
    }
  }

 private:
  struct entry {
    ggml_backend_dev_t device = nullptr;
    asking asks = asking::unknown;
  };
  static constexpr std::size_t most = 64;

  strata::detail::spin_mutex mutex_;
  entry entries_[most];
};

}  // namespace ggml_recorded

#endif  // STRATA_TOOLS_GGML_KNOWN_DEVICES_HPP
