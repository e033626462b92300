// A session in code: this program decides itself when ranges are recorded, and reads the profile.
//
//   ./session
#include <cstdio>
#include <strata/profile.hpp>
#include <strata/session.hpp>
#include <strata/strata.hpp>

static double serve(int request) {
  STRATA_RANGE("request");
  double sum = 0;
  for (int i = 0; i < 100000; ++i) sum += i % (request + 2);
  return sum;
}

int main() {
  strata::options options;
  options.trace = false;  // host times only; true asks for the GPU's as well
  options.out = "session-out";
  options.chrome_trace = false;

  double sum = serve(0);  // no session runs: the range idles
  strata::session session(options);
  if (strata::status const started = session.start(); !started) {
    std::fprintf(stderr, "%s\n", started.message().c_str());  // the program goes on without it
  }
  for (int request = 1; request < 4; ++request) sum += serve(request);
  session.stop();
  sum += serve(4);  // idles again

  std::printf("recorded %d of 5 requests\n", static_cast<int>(session.profile().ranges.size()));
  (void)session.report();  // the table on stderr, and the files
  for (strata::status const& problem : session.problems()) std::puts(problem.message().c_str());
  return sum > 0 ? 0 : 1;
}
