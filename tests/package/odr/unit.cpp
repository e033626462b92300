// A unit of a program whose other units are compiled in the other mode, or live in other shared
// objects.
#ifdef UMBRELLA
#include <strata/strata.hpp>
#else
#include <strata/range.hpp>
#endif

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

extern "C" __attribute__((visibility("default"))) int UNIT(int x) {
  STRATA_RANGE(TEXT(UNIT) "_range");
  strata::scoped_range const scope{TEXT(UNIT) "_scope"};
  strata::phases phase;
  phase.next(TEXT(UNIT) "_phase");
  phase.end();
  strata::push(TEXT(UNIT) "_push");
  strata::pop();
  return x + 1;
}
