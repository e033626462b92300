// Launches counted where they are written down, so that a profiler's numbers can be held against
// them.
#ifndef GPT2_LAUNCH_COUNTER_HPP
#define GPT2_LAUNCH_COUNTER_HPP

#include <array>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace gpt2 {

enum class launch_kind { own_kernel, cublas_call, copy, memset };

class launch_counter {
 public:
  void start() { counting_ = true; }

  /// What follows runs in this range; '#' stands for the layer.
  void enter(char const* path, std::size_t layer = 0) {
    path_ = path;
    layer_ = layer;
    fresh_ = true;
  }

  void add(launch_kind kind) {
    if (!counting_) return;
    if (fresh_) rows_.push_back({name(), {}});
    fresh_ = false;
    ++rows_.back().second[static_cast<std::size_t>(kind)];
  }

  void print(std::FILE* out) const {
    std::fputs("range_path,own_kernels,cublas_calls,copies,memsets\n", out);
    for (auto const& [path, counts] : rows_) {
      std::fprintf(out, "%s,%zu,%zu,%zu,%zu\n", path.c_str(), counts[0], counts[1], counts[2],
                   counts[3]);
    }
  }

 private:
  [[nodiscard]] std::string name() const {
    std::string path = path_;
    auto const mark = path.find('#');
    if (mark != std::string::npos) path.replace(mark, 1, std::to_string(layer_));
    return path;
  }

  bool counting_ = false;
  bool fresh_ = false;
  char const* path_ = "";
  std::size_t layer_ = 0;
  std::vector<std::pair<std::string, std::array<std::size_t, 4>>> rows_;
};

}  // namespace gpt2

#endif  // GPT2_LAUNCH_COUNTER_HPP
