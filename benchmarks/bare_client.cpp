// The bare client for any program: `CUDA_INJECTION64_PATH=./libbare.so program`. The driver loads
// it.
//
//   g++ -std=c++17 -O2 -shared -fPIC -I$CUDA/include -o libbare.so benchmarks/bare_client.cpp -ldl
#include "bare_client.hpp"

extern "C" int InitializeInjection() {
  bare_client::instance().start(true);
  return 1;
}
