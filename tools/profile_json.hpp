// Reads a profile.json, also one of an older Strata.
#ifndef STRATA_TOOLS_PROFILE_JSON_HPP
#define STRATA_TOOLS_PROFILE_JSON_HPP

#include "analyse/run_tables.hpp"

#include <string>
#include <string_view>

namespace tools {

/// The newest `schema.version` of profile.json that this version of Strata reads.
inline constexpr int readable_profile_schema = 1;

/// Reads the content of a profile.json, whatever it is. Columns that this version does not know are
/// read too.
/// Errors: the sentence that is returned, and `made` has nothing; none where the text is a profile.
/// Cost: memory for its result and one row.
std::string read_profile_json(std::string_view text, strata::run_tables& made);

}  // namespace tools

#endif  // STRATA_TOOLS_PROFILE_JSON_HPP
