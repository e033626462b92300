// A program with ranges, kernels and children, in the order of its arguments; a child says how its
// first use of CUDA went.
//   range=N  N ranges without CUDA     steps=N  N steps with a kernel each
//   cuda     memory is allocated       launch   a kernel in a range, perhaps the first call of CUDA
//   child=fork, exec, spawn, system
#include <strata/strata.hpp>

#include <cuda_runtime.h>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

__global__ void one(int* p) {
  if (p != nullptr) *p = 1;
}

int say_cuda() {
  int* memory = nullptr;
  cudaError_t code = cudaMalloc(&memory, sizeof(int));
  if (code == cudaSuccess) one<<<1, 1>>>(memory);
  if (code == cudaSuccess) code = cudaDeviceSynchronize();
  std::printf("CUDA in a child: %s\n", cudaGetErrorName(code));
  for (char** entry = environ; *entry != nullptr; ++entry)
    for (char const* const name : {"STRATA_DETAIL", "NVTX_INJECTION", "CUDA_INJECTION"})
      if (std::strncmp(*entry, name, std::strlen(name)) == 0) std::printf("has %s\n", *entry);
  std::fflush(stdout);
  return 0;
}

void child(std::string const& how) {
  std::fflush(stdout);
  char own[4096] = {};
  (void)!readlink("/proc/self/exe", own, sizeof own - 1);
  char word[] = "in-child";
  char* words[] = {own, word, nullptr};
  pid_t made = 0;
  int status = 0;
  if (how == "fork" || how == "exec") made = fork();
  if (how == "spawn") (void)posix_spawn(&made, own, nullptr, nullptr, words, environ);
  if (how == "system") status = std::system((std::string(own) + " in-child").c_str());
  if (made == 0 && how == "exec") (void)execv(own, words);
  if (made == 0 && how == "fork") _exit(say_cuda());
  if (how != "system") (void)waitpid(made, &status, 0);
  std::printf("child by %s: %d\n", how.c_str(), WEXITSTATUS(status));
}

void run(std::string const& word) {
  std::size_t const sign = word.find('=');
  std::string const key = word.substr(0, sign);
  std::string const value = sign == std::string::npos ? "" : word.substr(sign + 1);
  int const count = std::atoi(value.c_str());
  if (key == "in-child") (void)say_cuda();
  if (key == "child") child(value);
  if (key == "cuda") {
    void* memory = nullptr;
    std::printf("cudaMalloc: %s\n", cudaGetErrorName(cudaMalloc(&memory, 64)));
  }
  for (int i = 0; key == "range" && i < count; ++i) {
    STRATA_RANGE("host");
    usleep(100);
  }
  for (int i = 0; key == "steps" && i < count; ++i) {
    STRATA_STEP();
    STRATA_RANGE("step");
    one<<<1, 1>>>(nullptr);
  }
  if (key == "launch") {
    STRATA_RANGE("first");
    one<<<1, 1>>>(nullptr);
  }
}

}  // namespace

int main(int count, char** words) {
  for (int i = 1; i < count; ++i) run(words[i]);
  std::fflush(stdout);
  return 3;
}
