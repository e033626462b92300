// planted CASE [STEPS [mended]]; planted list. Small programs with one planted bottleneck each, and
// sound ones: what findings.json says first is known. With "mended" the program has the same work
// without its fault: exactly what the prediction of the finding takes away. Run by planted.py.

#include <cstring>

#include "planted.hpp"

planted_list const* planted_list::all;
float *a, *b, *c;
float* pinned;
std::vector<float> pageable(std::size_t{1} << 23);
cudaStream_t streams[4];
cudaEvent_t events[4];
bool mended;
unsigned multiprocessors;
int steps_begun;

cudaGraphExec_t capture(void (*work)(cudaStream_t)) {
  cudaGraph_t captured;
  cudaGraphExec_t made;
  CHECK(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeThreadLocal));
  work(streams[0]);
  CHECK(cudaStreamEndCapture(streams[0], &captured));
  CHECK(cudaGraphInstantiate(&made, captured, 0));
  return made;
}

void allow_staged_bytes(void const* kernel) {
  constexpr cudaFuncAttribute most = cudaFuncAttributeMaxDynamicSharedMemorySize;
  CHECK(cudaFuncSetAttribute(kernel, most, staged_bytes));
}

namespace {

void prepare() {
  for (float** const buffer : {&a, &b, &c}) {
    CHECK(cudaMalloc(buffer, large * sizeof(float)));
    CHECK(cudaMemset(*buffer, 0, large * sizeof(float)));
  }
  CHECK(cudaMallocHost(&pinned, pageable.size() * sizeof(float)));
  for (auto& stream : streams) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (auto& event : events) CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  int count;
  CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
  multiprocessors = static_cast<unsigned>(count);
}

void run(planted const& program, int steps) {
  prepare();
  if (program.prepare != nullptr) program.prepare();
  wait();
  program.step();  // modules are loaded
  wait();
  while (steps_begun < steps) {
    STRATA_STEP();
    ++steps_begun;
    program.step();
  }
  wait();
}

}  // namespace

int main(int count, char** arguments) {
  char const* const wanted = count > 1 ? arguments[1] : "list";
  int const steps = count > 2 ? std::atoi(arguments[2]) : 40;
  bool const only_list = std::strcmp(wanted, "list") == 0;
  mended = count > 3 && std::strcmp(arguments[3], "mended") == 0;
  for (planted_list const* list = planted_list::all; list != nullptr; list = list->next) {
    for (planted const* program = list->begin; program != list->end; ++program) {
      if (only_list) std::puts(program->name);
      if (std::strcmp(wanted, program->name) != 0) continue;
      run(*program, steps);
      return 0;
    }
  }
  return only_list ? 0 : 1;
}
