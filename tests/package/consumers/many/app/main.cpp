// Exit code 42, and not a word unless STRATA asks for it.
#include <strata/range.hpp>

int engine();

int main() {
  STRATA_STEP();
  STRATA_RANGE("work");
  return engine() > 0 ? 42 : 1;
}
