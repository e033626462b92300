// Ranges of worker threads below the range that gave them the work.
//
//   STRATA=host ./threads        rows: attention[*] and, below it, head[*]
#include <strata/range.hpp>
#include <thread>
#include <vector>

static void attend(int head) {
  STRATA_RANGE("head", head);
  double volatile sum = 0;
  for (int i = 0; i < 100000; ++i) sum = sum + i;
}

static void attention(int layer) {
  STRATA_RANGE("attention", layer);
  strata::range_handle const here = strata::current();
  std::vector<std::thread> workers;
  for (int head = 0; head < 3; ++head) {
    workers.emplace_back([here, head] {
      strata::inherit const below(here);  // without it, head would be a row at the top
      attend(head);
    });
  }
  for (std::thread& worker : workers) worker.join();
}

int main() {
  for (int layer = 0; layer < 2; ++layer) attention(layer);
}
