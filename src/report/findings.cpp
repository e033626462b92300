#include "findings.hpp"

#include <strata/base/json_writer.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/text_writer.hpp>
#include <strata/tables/json.hpp>
#include "answer_json.hpp"

STRATA_BEGIN

void write_findings(detail::text_writer& out, report_input const& input) {
  detail::json_writer json(out);
  json.object();
  json.line();
  detail::write_schema(json, "strata.findings", findings_schema_version);
  detail::answer_json(json, input).write();
  detail::write_list(json, "idle", input.analysed.idle, [&](idle_time const& time) {
    json.text("path", input.folded[time.row].path);
    json.text("cause", to_string(time.cause));
    json.number("ns", input.analysed.own_idle_ns(time.ns));
    json.number("gaps", time.gaps);
  });
  detail::write_list(json, "idle_between", input.analysed.idle_between, [&](idle_time const& time) {
    json.text("path", input.folded[time.row].path);
    json.text("cause", to_string(time.cause));
    json.number("ns", time.ns);
    json.number("gaps", time.gaps);
  });
  json.line();
  json.end_object();
  out.put('\n');
}

STRATA_END
