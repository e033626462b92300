// A program whose steps hold work that waits for what the program does after its launch:
// `waiting_program STATE STEPS`. It prints a sum that tells whether all of it ran; 77: it cannot be
// run here. hang_matrix_test.py runs it.
#include <strata/range.hpp>
#include <strata/strata.hpp>

#include <cooperative_groups.h>
#include <cuda.h>
#include <cuda_runtime.h>
#ifdef WITH_NCCL
#include <nccl.h>
#endif

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

constexpr int not_here = 77;

__global__ void add(int* sum) { atomicAdd(sum, 1); }

/// Until somebody else has written the value.
__global__ void add_after(unsigned volatile* flag, unsigned value, int* sum) {
  while (*flag < value) {
  }
  atomicAdd(sum, 1);
}

__global__ void write(unsigned volatile* flag, unsigned value) {
  __threadfence_system();
  *flag = value;
}

/// Two of these need each other.
__global__ void meet(unsigned volatile* mine, unsigned volatile* others, unsigned value, int* sum) {
  *mine = value;
  __threadfence_system();
  while (*others < value) {
  }
  if (sum != nullptr) atomicAdd(sum, 1);
}

__global__ void serve(unsigned volatile* items, unsigned volatile* served, unsigned last,
                      int* sum) {
  for (unsigned item = 1; item <= last; ++item) {
    while (*items < item) {
    }
    atomicAdd(sum, 1);
    __threadfence_system();
    *served = item;
  }
}

__global__ void add_together(int* sum) {
  cooperative_groups::this_grid().sync();
  if (threadIdx.x == 0) atomicAdd(sum, 1);
}

void check(cudaError_t code) {
  if (code == cudaSuccess) return;
  std::printf("%s\n", cudaGetErrorString(code));
  std::exit(not_here);
}
void check(CUresult code) {
  if (code == CUDA_SUCCESS) return;
  std::printf("CUDA driver error %d\n", static_cast<int>(code));
  std::exit(not_here);
}

std::atomic<unsigned> released{0};

class program {
 public:
  program(std::string state, unsigned steps) : state_(std::move(state)), steps_(steps) {
    int devices = 0;
    check(cudaGetDeviceCount(&devices));
    if (devices < 2 && (state_ == "two-gpus" || state_ == "nccl")) std::exit(not_here);
    check(cudaMalloc(&sum_, sizeof *sum_));
    check(cudaMemset(sum_, 0, sizeof *sum_));
    check(cudaHostAlloc(&flags_, 8 * sizeof *flags_, cudaHostAllocPortable | cudaHostAllocMapped));
    for (int i = 0; i < 8; ++i) flags_[i] = 0;
    check(cudaStreamCreateWithFlags(&own_, cudaStreamNonBlocking));
    check(cudaStreamCreateWithFlags(&other_, cudaStreamNonBlocking));
    if (state_ == "two-gpus") {
      check(cudaSetDevice(1));
      check(cudaStreamCreateWithFlags(&second_, cudaStreamNonBlocking));
      check(cudaSetDevice(0));
    }
    load_kernels();
    if (state_ == "graph") make_graph();
    if (state_ == "persistent") serve<<<1, 1, 0, other_>>>(flags_, flags_ + 1, steps_, sum_);
#ifdef WITH_NCCL
    if (state_ == "nccl") begin_nccl();
#else
    if (state_ == "nccl") std::exit(not_here);
#endif
  }

  void run() {
    for (unsigned step = 1; step <= steps_; ++step) {
      STRATA_STEP();
      {
        STRATA_RANGE("plain");
        add<<<1, 32, 0, own_>>>(sum_);
        check(cudaStreamSynchronize(own_));
      }
      {
        STRATA_RANGE("waits");
        wait(step);
        if (state_ != "late-flag") check(cudaStreamSynchronize(own_));
      }
      if (state_ == "late-flag") {  // the range ends before its work may
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        release(step);
        check(cudaStreamSynchronize(own_));
      }
    }
    check(cudaDeviceSynchronize());
    int sum = 0;
    check(cudaMemcpy(&sum, sum_, sizeof sum, cudaMemcpyDeviceToHost));
    std::printf("%d\n", sum);
  }

 private:
  /// Each runs once without a wait: the first launch of one loads it. Strata comes here, since
  /// cuptiSubscribe waits for the kernels that run then.
  void load_kernels() {
    STRATA_RANGE("load");
    flags_[6] = flags_[7] = 1000000;
    add<<<1, 1, 0, own_>>>(sum_);
    add_after<<<1, 1, 0, own_>>>(flags_ + 6, 1, sum_);
    write<<<1, 1, 0, own_>>>(flags_ + 5, 0);
    meet<<<1, 1, 0, own_>>>(flags_ + 4, flags_ + 6, 0, nullptr);
    launch_together();
    serve<<<1, 1, 0, own_>>>(flags_ + 6, flags_ + 5, 1, sum_);
    check(cudaStreamSynchronize(own_));
    flags_[4] = flags_[5] = 0;
  }

  void launch_together() {
    void* arguments[] = {&sum_};
    check(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(&add_together), dim3(8), dim3(64),
                                      arguments, 0, own_));
  }

  void make_graph() {
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(own_, cudaStreamCaptureModeGlobal));
    add_after<<<1, 1, 0, own_>>>(flags_, 1, sum_);
    check(cudaStreamEndCapture(own_, &graph));
    check(cudaGraphInstantiate(&graph_, graph, 0));
  }

  void release(unsigned step) { *static_cast<unsigned volatile*>(flags_) = step; }

  void wait(unsigned step) {
    auto const flag = reinterpret_cast<CUdeviceptr>(flags_);
    if (state_ == "plain") {
      add<<<1, 32, 0, own_>>>(sum_);
    } else if (state_ == "wait-value") {
      check(cuStreamWaitValue32(own_, flag, step, CU_STREAM_WAIT_VALUE_GEQ));
      add<<<1, 32, 0, own_>>>(sum_);
      release(step);
    } else if (state_ == "batch-mem-op") {
      CUstreamBatchMemOpParams operation{};
      operation.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
      operation.waitValue.address = flag;
      operation.waitValue.value = step;
      operation.waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
      check(cuStreamBatchMemOp(own_, 1, &operation, 0));
      add<<<1, 32, 0, own_>>>(sum_);
      release(step);
    } else if (state_ == "host-flag") {
      add_after<<<1, 1, 0, own_>>>(flags_, step, sum_);
      release(step);
    } else if (state_ == "late-flag") {
      add_after<<<1, 1, 0, own_>>>(flags_, step, sum_);
    } else if (state_ == "other-stream") {
      add_after<<<1, 1, 0, own_>>>(flags_, step, sum_);
      write<<<1, 1, 0, other_>>>(flags_, step);
    } else if (state_ == "other-thread") {
      std::thread([&] { add_after<<<1, 1, 0, other_>>>(flags_, step, sum_); }).join();
      release(step);
      check(cudaStreamSynchronize(other_));
    } else if (state_ == "host-function") {
      awaited_ = step;
      check(cudaLaunchHostFunc(own_, &await_release, &awaited_));
      add<<<1, 32, 0, own_>>>(sum_);
      released = step;
    } else if (state_ == "grid-sync") {
      launch_together();
    } else if (state_ == "persistent") {
      release(step);
      while (*static_cast<unsigned volatile*>(flags_ + 1) < step) std::this_thread::yield();
    } else if (state_ == "graph") {
      flags_[0] = 0;
      check(cudaGraphLaunch(graph_, own_));
      release(1);
    } else if (state_ == "two-gpus") {
      meet<<<1, 1, 0, own_>>>(flags_ + 2, flags_ + 3, step, sum_);
      check(cudaSetDevice(1));
      meet<<<1, 1, 0, second_>>>(flags_ + 3, flags_ + 2, step, nullptr);
      check(cudaStreamSynchronize(second_));
      check(cudaSetDevice(0));
#ifdef WITH_NCCL
    } else if (state_ == "nccl") {
      reduce();
#endif
    } else {
      std::exit(not_here);
    }
  }

  static void await_release(void* step) {
    while (released.load() < *static_cast<unsigned*>(step)) std::this_thread::yield();
  }

#ifdef WITH_NCCL
  void begin_nccl() {
    int const devices[] = {0, 1};
    if (ncclCommInitAll(ranks_, 2, devices) != ncclSuccess) std::exit(not_here);
    for (int i = 0; i < 2; ++i) {
      check(cudaSetDevice(i));
      check(cudaMalloc(&parts_[i], 4096));
      check(cudaStreamCreateWithFlags(&streams_[i], cudaStreamNonBlocking));
    }
    check(cudaSetDevice(0));
    reduce();
  }
  void reduce_on(int rank) {
    check(cudaSetDevice(rank));
    (void)ncclAllReduce(parts_[rank], parts_[rank], 1024, ncclFloat, ncclSum, ranks_[rank],
                        streams_[rank]);
    check(cudaStreamSynchronize(streams_[rank]));
  }
  /// The second rank is late.
  void reduce() {
    std::thread second([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      reduce_on(1);
    });
    reduce_on(0);
    second.join();
    add<<<1, 32, 0, own_>>>(sum_);
  }

  ncclComm_t ranks_[2] = {};
  float* parts_[2] = {};
  cudaStream_t streams_[2] = {};
#endif

  std::string state_;
  unsigned steps_;
  unsigned awaited_ = 0;
  int* sum_ = nullptr;
  unsigned* flags_ = nullptr;
  cudaStream_t own_ = nullptr;
  cudaStream_t other_ = nullptr;
  cudaStream_t second_ = nullptr;
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return not_here;
  program(arguments[1], static_cast<unsigned>(std::atoi(arguments[2]))).run();
}
