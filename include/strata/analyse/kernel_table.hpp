#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_KERNEL_TABLE_HPP
#define STRATA_ANALYSE_KERNEL_TABLE_HPP

#include <strata/analyse/call_tree.hpp>
#include <strata/analyse/kernel_text.hpp>
#include <strata/analyse/launch_index.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/profile/duration_statistics.hpp>
#include <strata/profile/interval.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

STRATA_BEGIN

/// All launches of one kernel in one range.
/// Units: ns, bytes, blocks and threads; utilisations are fractions from 0 to 1.
struct kernel_row {
  std::uint32_t path_id = 0;
  std::string path;                   ///< of the range, as in range_row
  std::uint32_t name = no_reference;  ///< 1-based in profile::kernel_names
  std::string mangled;
  std::string demangled;   ///< the full name; as it was where it cannot be demangled
  std::string short_name;  ///< without namespaces, arguments and template arguments
  std::uint64_t count = 0;
  duration_statistics duration;
  std::uint64_t blocks_min = 0;
  std::uint64_t blocks_max = 0;
  double blocks_mean = 0.0;
  std::uint64_t blocks_median = 0;  ///< the lower of the two in the middle
  std::uint32_t block_threads_min = 0;
  std::uint32_t block_threads_max = 0;
  double warps_per_block = 0.0;            ///< mean, partial warps counted whole
  std::uint32_t registers_per_thread = 0;  ///< largest
  std::uint32_t static_shared_bytes = 0;   ///< largest
  std::uint32_t dynamic_shared_bytes = 0;  ///< largest
  /// min(4, warps a block) / 4, weighted by duration.
  double sm_utilisation = 0.0;
  /// min(multiprocessors, blocks) / multiprocessors * sm_utilisation, weighted by duration; NaN
  /// where the device is unknown.
  double gpu_utilisation = 0.0;
};

namespace detail {

/// Builds the rows, one for each run of kernels that are sorted by range and name.
class kernel_table_builder {
 public:
  kernel_table_builder(profile const& source, call_tree const& tree)
      : source_(source), tree_(tree), texts_(source.kernel_names.size()) {}

  vec<kernel_row> build() {
    sort_kernels();
    vec<kernel_row> rows;
    for (std::size_t first = 0; first < kernels_.size();) {
      std::size_t last = first;
      while (last < kernels_.size() && kernels_[last].first == kernels_[first].first) ++last;
      rows.push_back(make_row(first, last));
      first = last;
    }
    std::stable_sort(rows.begin(), rows.end(), [](kernel_row const& a, kernel_row const& b) {
      return a.duration.sum() > b.duration.sum();
    });
    return rows;
  }

 private:
  struct name_texts {
    std::string demangled;
    std::string short_name;
    bool known = false;
  };

  void sort_kernels() {
    launch_index const launches(source_);
    kernels_.reserve(source_.kernels.size());
    for (std::size_t i = 0; i < source_.kernels.size(); ++i) {
      kernel_record const& kernel = source_.kernels[i];
      std::uint64_t const row = tree_.position_of(launches.node_of(kernel.correlation));
      std::uint32_t const name =
          kernel.name <= source_.kernel_names.size() ? kernel.name : no_reference;
      kernels_.push_back({row << 32 | name, static_cast<std::uint32_t>(i)});
    }
    std::sort(kernels_.begin(), kernels_.end());
  }

  name_texts const& texts_of(std::uint32_t name) {
    name_texts& texts = texts_[name - 1];
    if (!texts.known) {
      std::string const& mangled = source_.kernel_names[name - 1].mangled;
      texts.demangled = demangled_text(mangled);
      texts.short_name = texts.demangled.empty() ? short_mangled_name(mangled)
                                                 : short_function_name(texts.demangled);
      if (texts.demangled.empty()) texts.demangled = mangled;
      texts.known = true;
    }
    return texts;
  }

  static std::uint64_t blocks_of(kernel_record const& kernel) noexcept {
    return std::uint64_t{kernel.grid_x} * kernel.grid_y * kernel.grid_z;
  }
  static std::uint64_t threads_of(kernel_record const& kernel) noexcept {
    return std::uint64_t{kernel.block_x} * kernel.block_y * kernel.block_z;
  }

  /// 0 where the device is unknown.
  std::uint32_t multiprocessors_of(std::uint32_t device) const noexcept {
    for (profile_device const& each : source_.environment.devices)
      if (each.ordinal == device) return each.multiprocessors;
    return 0;
  }

  kernel_row make_row(std::size_t first, std::size_t last) {
    range_row const& range = tree_.rows()[kernels_[first].first >> 32];
    kernel_row row;
    row.path_id = range.path_id;
    row.path = range.path;
    row.name = static_cast<std::uint32_t>(kernels_[first].first);
    row.count = last - first;
    row.short_name = "[unknown]";
    if (row.name != no_reference) {
      name_texts const& texts = texts_of(row.name);
      row.mangled = source_.kernel_names[row.name - 1].mangled;
      row.demangled = texts.demangled;
      row.short_name = texts.short_name;
    }
    for (std::size_t i = first; i < last; ++i) {
      kernel_record const& kernel = source_.kernels[kernels_[i].second];
      if (kernel.begin != lost_time) row.duration.add(elapsed(kernel.begin, kernel.end));
      row.registers_per_thread =
          (std::max)(row.registers_per_thread, std::uint32_t{kernel.registers});
      row.static_shared_bytes =
          (std::max)(row.static_shared_bytes, std::uint32_t{kernel.static_shared_bytes});
      row.dynamic_shared_bytes = (std::max)(row.dynamic_shared_bytes, kernel.dynamic_shared_bytes);
    }
    describe_blocks(row, first, last);
    describe_use(row, first, last);
    return row;
  }

  void describe_blocks(kernel_row& row, std::size_t first, std::size_t last) {
    blocks_.clear();
    std::uint64_t threads_min = (std::numeric_limits<std::uint64_t>::max)();
    std::uint64_t threads_max = 0;
    double blocks = 0.0;
    double warps = 0.0;
    for (std::size_t i = first; i < last; ++i) {
      kernel_record const& kernel = source_.kernels[kernels_[i].second];
      std::uint64_t const threads = threads_of(kernel);
      threads_min = (std::min)(threads_min, threads);
      threads_max = (std::max)(threads_max, threads);
      blocks_.push_back(blocks_of(kernel));
      blocks += static_cast<double>(blocks_.back());
      warps += static_cast<double>((threads + 31) / 32);
    }
    row.block_threads_min = narrowed(threads_min);
    row.block_threads_max = narrowed(threads_max);
    row.blocks_mean = blocks / static_cast<double>(row.count);
    row.warps_per_block = warps / static_cast<double>(row.count);
    std::sort(blocks_.begin(), blocks_.end());
    row.blocks_min = blocks_.front();
    row.blocks_max = blocks_.back();
    row.blocks_median = blocks_[(blocks_.size() - 1) / 2];
  }

  static std::uint32_t narrowed(std::uint64_t value) noexcept {
    constexpr std::uint64_t most = (std::numeric_limits<std::uint32_t>::max)();
    return static_cast<std::uint32_t>(value < most ? value : most);
  }

  void describe_use(kernel_row& row, std::size_t first, std::size_t last) const {
    double weights = 0.0;
    double placed_weights = 0.0;  // of kernels on a known device
    double sm = 0.0;
    double gpu = 0.0;
    bool const timed = row.duration.sum() > 0.0;
    for (std::size_t i = first; i < last; ++i) {
      kernel_record const& kernel = source_.kernels[kernels_[i].second];
      double const weight = timed ? static_cast<double>(elapsed(kernel.begin, kernel.end)) : 1.0;
      double const warps = static_cast<double>((threads_of(kernel) + 31) / 32);
      double const used = (warps < 4.0 ? warps : 4.0) / 4.0;
      weights += weight;
      sm += weight * used;
      double const multiprocessors = multiprocessors_of(kernel.device);
      if (!(multiprocessors > 0.0)) continue;
      double const blocks = static_cast<double>(blocks_of(kernel));
      placed_weights += weight;
      gpu += weight * used * (blocks < multiprocessors ? blocks / multiprocessors : 1.0);
    }
    row.sm_utilisation = sm / weights;
    row.gpu_utilisation =
        placed_weights > 0.0 ? gpu / placed_weights : std::numeric_limits<double>::quiet_NaN();
  }

  profile const& source_;
  call_tree const& tree_;
  vec<name_texts> texts_;
  /// Position of the range's row and name, position of the kernel.
  vec<std::pair<std::uint64_t, std::uint32_t>> kernels_;
  vec<std::uint64_t> blocks_;
};

}  // namespace detail

/// Kernels by range and name, the longest total first.
/// Cost: O(k log k) for k kernels; each name is demangled once.
inline vec<kernel_row> make_kernel_table(profile const& source, call_tree const& tree) {
  return detail::kernel_table_builder(source, tree).build();
}

STRATA_END

#endif  // STRATA_ANALYSE_KERNEL_TABLE_HPP
