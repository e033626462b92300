#ifndef STRATA_ANALYSE_COLLECTIVE_FINDER_HPP
#define STRATA_ANALYSE_COLLECTIVE_FINDER_HPP

#include <strata/base/containers.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/collectives.hpp>
#include "kernel_names.hpp"

STRATA_BEGIN
namespace detail {

/// The operation with a name in files; `other` for a name that is not known.
constexpr collective_operation collective_operation_of(std::string_view name) noexcept {
  auto operation = collective_operation::none;
  while (operation != collective_operation::other && to_string(operation) != name)
    operation = static_cast<collective_operation>(static_cast<std::uint8_t>(operation) + 1);
  return operation;
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
    if (known == answer::none)
      known = find(tree_.rows()[row].path, kernel.name) ? answer::yes : answer::no;
    return known == answer::yes;
  }
  /// Of a kernel by the number of its name.
  collective_kind find(std::string_view path, std::uint32_t name) {
    maybe_kind& known = names_[name];
    if (!known.asked)
      known = {true,
               collective_named(short_kernel_name(source_, name), full_kernel_name(source_, name),
                                source_.environment.collectives)};
    return collective_in(path, known.kind);
  }

 private:
  enum class answer : std::uint8_t {
    none,  ///< nothing asked yet
    yes,
    no
  };

  struct maybe_kind {
    bool asked = false;
    collective_kind kind;
  };

  profile const& source_;
  call_tree const& tree_;
  number_map<answer> answers_;    // by row and name
  number_map<maybe_kind> names_;  // by name
};

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_COLLECTIVE_FINDER_HPP
