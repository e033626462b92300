// The host bounds the step: launches, copies, waits, allocations, its own work.

#include "planted.hpp"

namespace {

cudaGraphExec_t attention;  // the same kernels in a graph
void launch_attention(cudaStream_t stream) {
  for (int i = 0; i < 100; ++i) add_kernel<<<264, threads, 0, stream>>>(a, 1.0f);
}
void capture_attention() { attention = capture(launch_attention); }

void launch_storm() {
  for (int layer = 0; layer < 4; ++layer) {
    STRATA_RANGE("block", layer);
    {
      STRATA_RANGE("attention");
      if (mended)
        CHECK(cudaGraphLaunch(attention, nullptr));
      else
        launch_attention(nullptr);
    }
    STRATA_RANGE("mlp");
    triad(std::size_t{1} << 22);
  }
  wait();
}

/// What differs from step to step is an argument of the kernels, so that each has a graph of its
/// own; mended it is in memory.
void graph_rebuild() {
  {
    STRATA_RANGE("prepare");
    if (!mended) {
      CHECK(cudaGraphExecDestroy(attention));
      attention = capture(launch_attention);
    }
  }
  STRATA_RANGE("attention");
  CHECK(cudaGraphLaunch(attention, streams[0]));
  wait();
}

cudaStream_t copies;
void make_copy_stream() {
  CHECK(cudaStreamCreateWithFlags(&copies, mended ? cudaStreamNonBlocking : cudaStreamDefault));
}
/// Weights come in a stream of their own, which waits for the legacy default stream.
void legacy_stream() {
  for (int layer = 0; layer < 8; ++layer) {
    {
      STRATA_RANGE("prefetch");
      CHECK(cudaMemcpyAsync(a, pinned, std::size_t{1} << 24, cudaMemcpyHostToDevice, copies));
    }
    STRATA_RANGE("block", layer);
    add_kernel<<<1u << 19, threads>>>(c, 1.0f);
  }
  wait();
}

/// Mended it copies the same bytes, from and to pinned memory.
void pageable_copy() {
  float* const host = mended ? pinned : pageable.data();
  {
    STRATA_RANGE("load batch");
    CHECK(cudaMemcpy(a, host, pageable.size() * 4, cudaMemcpyHostToDevice));
  }
  {
    STRATA_RANGE("model");
    triad(std::size_t{1} << 24);
  }
  STRATA_RANGE("logits");
  CHECK(cudaMemcpy(host, c, std::size_t{1} << 24, cudaMemcpyDeviceToHost));
}

void pinned_copy() {
  {
    STRATA_RANGE("load batch");
    if (!mended) CHECK(cudaMemcpy(a, pinned, pageable.size() * 4, cudaMemcpyHostToDevice));
  }
  STRATA_RANGE("model");
  triad(std::size_t{1} << 24);
  wait();
}

void wait_in_step() {
  for (int layer = 0; layer < 50; ++layer) {
    STRATA_RANGE("block", layer);
    add_kernel<<<1u << 13, threads>>>(a, 1.0f);
    STRATA_RANGE("check");
    if (!mended) wait();
  }
  wait();
}

void allocation() {
  for (int layer = 0; layer < 20; ++layer) {
    STRATA_RANGE("block", layer);
    float* scratch = c;  // cudaMalloc gives the memory that the layer before it freed
    if (!mended) CHECK(cudaMalloc(&scratch, std::size_t{1} << 26));
    add_kernel<<<1u << 14, threads>>>(scratch, 1.0f);
    if (!mended) CHECK(cudaFree(scratch));
  }
  wait();
}

/// The pool keeps nothing, so that the wait unmaps what the next layer maps again.
void trimmed_pool() {
  for (int layer = 0; layer < 4; ++layer) {
    STRATA_RANGE("block", layer);
    float* activations;
    CHECK(cudaMallocAsync(&activations, std::size_t{1} << 28, streams[0]));
    add_kernel<<<1u << 18, threads, 0, streams[0]>>>(activations, 1.0f);
    CHECK(cudaFreeAsync(activations, streams[0]));
    CHECK(cudaStreamSynchronize(streams[0]));
  }
}

void cpu_work() {
  for (int layer = 0; layer < 20; ++layer) {
    {
      STRATA_RANGE("model");
      triad(std::size_t{1} << 22);
    }
    STRATA_RANGE("sample");
    if (!mended) compute_on_the_cpu(200);
  }
  wait();
}

void cpu_gap() {
  for (int layer = 0; layer < 20; ++layer) {
    {
      STRATA_RANGE("model");
      triad(std::size_t{1} << 22);
    }
    if (!mended) compute_on_the_cpu(200);
  }
  wait();
}

/// Allocations cost little here, the copy costs most.
void two_faults() {
  for (int layer = 0; layer < 4; ++layer) {
    STRATA_RANGE("block", layer);
    float* scratch;
    CHECK(cudaMalloc(&scratch, std::size_t{1} << 22));
    triad(std::size_t{1} << 24);
    CHECK(cudaFree(scratch));
  }
  STRATA_RANGE("logits");
  CHECK(cudaMemcpy(pageable.data(), c, pageable.size() * 4, cudaMemcpyDeviceToHost));
}

/// A number of each layer comes back, as the loss or a count of overflows does.
void item_in_layer() {
  for (int layer = 0; layer < 40; ++layer) {
    STRATA_RANGE("block", layer);
    add_kernel<<<1u << 13, threads>>>(a, 1.0f);
    STRATA_RANGE("item");
    float loss;
    if (!mended) CHECK(cudaMemcpy(&loss, a, sizeof(loss), cudaMemcpyDeviceToHost));
  }
  wait();
}

/// The first step does what the others find done.
void dear_first_step() {
  STRATA_RANGE("model");
  if (steps_begun == 1 && !mended) compute_on_the_cpu(100'000);
  triad(std::size_t{1} << 25);
  wait();
}

/// The pages travel to the host and back in each step.
float* managed;
constexpr std::size_t managed_floats = std::size_t{1} << 23;  // 32 MiB
void prepare_managed() {
  if (mended)
    CHECK(cudaMalloc(&managed, managed_floats * sizeof(float)));
  else
    CHECK(cudaMallocManaged(&managed, managed_floats * sizeof(float)));
}
void managed_thrash() {
  if (managed == nullptr) {
    STRATA_RANGE("allocate");
    prepare_managed();
  }
  {
    STRATA_RANGE("update");
    add_kernel<<<static_cast<unsigned>(managed_floats / threads), threads>>>(managed, 1.0f);
    wait();
  }
  STRATA_RANGE("inspect");
  if (mended) return;
  constexpr std::size_t page = 1024;  // floats
  for (std::size_t i = 0; i < managed_floats; i += page) managed[i] += 1.0f;
}

constexpr planted programs[] = {{"launch_storm", launch_storm, capture_attention},
                                {"pageable_copy", pageable_copy},
                                {"pinned_copy", pinned_copy},
                                {"wait_in_step", wait_in_step},
                                {"graph_rebuild", graph_rebuild, capture_attention},
                                {"legacy_stream", legacy_stream, make_copy_stream},
                                {"allocation", allocation},
                                {"trimmed_pool", trimmed_pool},
                                {"cpu_work", cpu_work},
                                {"cpu_gap", cpu_gap},
                                {"two_faults", two_faults},
                                {"item_in_layer", item_in_layer},
                                {"dear_first_step", dear_first_step},
                                {"managed_thrash", managed_thrash}};
planted_list const list{programs};

}  // namespace
