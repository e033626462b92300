// A library whose constructor has a range while another thread begins the session, which opens
// libraries too: the dynamic loader lets that thread wait until the constructor has ended.
#include <strata/strata.hpp>

#include <chrono>
#include <thread>

__attribute__((constructor)) static void load() {
  std::thread([] { STRATA_RANGE("first"); }).detach();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  for (int i = 0; i < 100; ++i) {
    STRATA_RANGE("while it is loaded");
  }
}
