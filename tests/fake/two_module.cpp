// A module with ranges and an implementation of its own, whose symbols nobody else sees.
#include <strata/strata.hpp>

#include "two_implementations.hpp"

namespace {

void work(void (*launch)()) {
  STRATA_RANGE("module");
  launch();
}

void session(void (*body)(), char* text, std::size_t n) {
  std::snprintf(text, n, "%s", two::session_around(body).c_str());
}

two::module_calls const calls{&work, &session, &strata::detail::own_block,
                              &strata::detail::block()};

}  // namespace

extern "C" __attribute__((visibility("default"))) two::module_calls const* two_module() {
  return &calls;
}
