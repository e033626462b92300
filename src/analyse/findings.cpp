#include "findings.hpp"

#include <strata/base/macros.hpp>
#include "finding_rules.hpp"

STRATA_BEGIN

findings_table make_findings(findings_input const& input) {
  return detail::finding_rules(input).run();
}

STRATA_END
