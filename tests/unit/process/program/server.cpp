// A server that touches a file so many times, or none: `server FILE TIMES [OUT]`. With OUT it waits
// after each touch for the report in it, says `ready`, and at last continues for ever.
#include <strata/strata.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

void serve() {
  STRATA_STEP();
  STRATA_RANGE("request");
  usleep(1000);
}

bool is_there(std::string const& file) {
  struct stat found {};
  return stat(file.c_str(), &found) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 100;
  std::string const out = argc > 3 ? argv[3] : "";
  serve();
  for (int i = 1; i <= std::atoi(argv[2]); ++i) {
    if (*argv[1] != '\0') {
      close(open(argv[1], O_CREAT | O_WRONLY, 0666));
      (void)utimensat(AT_FDCWD, argv[1], nullptr, 0);
    }
    int const steps = out.empty() ? 150 : 1'000'000;
    std::string const last = out + "/00" + std::to_string(i) + "/memory.csv";
    for (int step = 0; step < steps && !is_there(last); ++step) serve();
    if (!out.empty()) (void)!write(1, "ready\n", 6);
  }
  while (!out.empty()) serve();
  return 0;
}
