// Calls the units that the command line names, each of which adds one.
#ifdef UMBRELLA
#include <strata/strata.hpp>
#endif

#define DECLARE(name) extern "C" int name(int);
#define CALL(name) x = name(x);

UNITS(DECLARE)

int main() {
  int x = 40;
  UNITS(CALL)
  return x;
}
