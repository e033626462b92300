// What a program and a module that it loads, each with an implementation, have in common.
#ifndef STRATA_TESTS_FAKE_TWO_IMPLEMENTATIONS_HPP
#define STRATA_TESTS_FAKE_TWO_IMPLEMENTATIONS_HPP

#include <cstddef>
#include <cstdio>
#include <strata/profile.hpp>
#include <strata/session.hpp>
#include <strata/tables/call_tree.hpp>
#include <string>

namespace two {

/// What the module exports.
struct module_calls {
  void (*work)(void (*launch)());                              // a range "module" around a launch
  void (*session)(void (*body)(), char* text, std::size_t n);  // and what it recorded
  void const* own_block;
  void const* block;
};

/// The ranges of a session around `body`: path, calls, kernels, kernels captured into graphs.
inline std::string session_around(void (*body)()) {
  strata::vec<std::string> mistakes;
  strata::session run(strata::options::parse("trace,formats=none", mistakes));
  strata::status const started = run.start();
  std::string text = started.message();
  body();
  strata::profile const& p = run.profile();
  for (std::string const& problem : p.problems) text += "problem: " + problem + '\n';
  strata::call_tree const tree(p);
  for (strata::range_row const& row : tree.rows()) {
    if (row.path.empty()) continue;
    text += row.path + ' ' + std::to_string(row.host.count()) + ' ' +
            std::to_string(row.self.kernels) + ' ' + std::to_string(row.self.graph_kernels) + '\n';
  }
  std::size_t captured = 0;
  for (strata::driver_call_record const& each : p.launches)
    captured += (each.flags & strata::driver_call_record::in_capture) != 0;
  return text + "captured " + std::to_string(captured) + '\n';
}

}  // namespace two

#endif  // STRATA_TESTS_FAKE_TWO_IMPLEMENTATIONS_HPP
