#ifndef STRATA_ANALYSE_KERNEL_NAMES_HPP
#define STRATA_ANALYSE_KERNEL_NAMES_HPP

#include <strata/profile.hpp>
#include <strata/tables/kernel_names.hpp>

#include <cstdint>
#include <string>

STRATA_BEGIN
namespace detail {

/// The name of a kernel without namespaces, arguments and template arguments.
inline std::string short_kernel_name(std::string const& mangled) {
  std::string const whole = demangled_text(mangled);
  return std::string(whole.empty() ? short_mangled_name(mangled) : short_function_name(whole));
}
/// The name with all of these; as it was where it cannot be demangled.
inline std::string full_kernel_name(std::string const& mangled) {
  std::string whole = demangled_text(mangled);
  return whole.empty() ? mangled : whole;
}
/// The same of a name by its number, 1-based in profile::kernel_names; empty where it has none.
inline std::string short_kernel_name(profile const& source, std::uint32_t name) {
  bool const is_named = name != no_reference && name <= source.kernel_names.size();
  return is_named ? short_kernel_name(source.kernel_names[name - 1].mangled) : std::string();
}
inline std::string full_kernel_name(profile const& source, std::uint32_t name) {
  bool const is_named = name != no_reference && name <= source.kernel_names.size();
  return is_named ? full_kernel_name(source.kernel_names[name - 1].mangled) : std::string();
}

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_KERNEL_NAMES_HPP
