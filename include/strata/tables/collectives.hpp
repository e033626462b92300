#include <strata/version.hpp>
#ifndef STRATA_TABLES_COLLECTIVES_HPP
#define STRATA_TABLES_COLLECTIVES_HPP

#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/kernel_names.hpp>

#include <cstdint>
#include <string>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// Whether a kernel is one of NCCL's, in which ranks wait for each other: by its short name, or by
/// a range of NCCL's NVTX domain.
inline bool is_collective(std::string_view path, std::string_view kernel) noexcept {
  if (begins_with(kernel, "nccl")) return true;
  constexpr std::string_view domain = "NCCL:";
  return begins_with(path, domain) || path.find("/NCCL:") != path.npos;
}

/// Tells the collectives among the kernels of a profile.
/// Cost: O(1); each name is read once in each range.
class collective_finder {
 public:
  collective_finder(profile const& source, call_tree const& tree) noexcept
      : source_(source), tree_(tree) {}

  bool is_collective(kernel_record const& kernel) {
    std::uint32_t const row = tree_.position_of(kernel.node);
    answer& known = answers_[std::uint64_t{row} << 32 | kernel.name];
    if (known == answer::none) {
      std::string const name = short_kernel_name(source_, kernel.name);
      bool const is_one = detail::is_collective(tree_.rows()[row].path, name);
      known = is_one ? answer::yes : answer::no;
    }
    return known == answer::yes;
  }

 private:
  enum class answer : std::uint8_t {
    none,  ///< nothing asked yet
    yes,
    no
  };

  profile const& source_;
  call_tree const& tree_;
  number_map<answer> answers_;  // by row and name
};

}  // namespace detail
STRATA_END

#endif  // STRATA_TABLES_COLLECTIVES_HPP
