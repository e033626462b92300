// Controls of the scripted libcuda.so.1 and libcupti.so.13 that stand in for a GPU. A test links
// both (they are then found as libraries the process already has), or names them in STRATA_LIBCUDA
// and STRATA_CUPTI. All state lives in the libraries; every function may be called from any thread.
// Times are nanoseconds of CLOCK_REALTIME.
#ifndef STRATA_TESTS_FAKE_FAKE_HPP
#define STRATA_TESTS_FAKE_FAKE_HPP

#include <cstddef>
#include <cstdint>

#define FAKE_EXPORT __attribute__((visibility("default")))

struct fake_kernel {
  char const* name = "kernel";
  std::uint32_t stream = 7;  // as CUPTI numbers them; 7 is the default stream
  std::int32_t grid[3] = {1, 1, 1};
  std::int32_t block[3] = {32, 1, 1};
  std::uint16_t registers = 32;
  std::int32_t static_shared_bytes = 0;
  std::int32_t dynamic_shared_bytes = 0;
  std::uint32_t local_bytes = 0;  // per thread
  std::uint64_t duration_ns = 1000;
  std::uint32_t device = 0;
  std::uint32_t context = 1;  // as CUPTI numbers them
  bool waits = false;         // it does not end until fake_go
};

enum class fake_order : int { launched, reversed, shuffled };
enum class fake_thread : int {
  caller,  // FlushAll delivers in the thread that calls it
  worker   // a thread of the library's own delivers; FlushAll waits for it
};

using fake_graph_t = std::uint64_t;
using fake_node_t = std::uint64_t;

extern "C" {

// ---- libcuda.so.1 ----
FAKE_EXPORT void fake_cuda_reset();
FAKE_EXPORT void fake_set_init_result(int code);  // what cuInit returns
FAKE_EXPORT std::size_t fake_init_count();        // how often it was called
FAKE_EXPORT void fake_set_device_count(int count);
FAKE_EXPORT void fake_set_driver_version(int version);  // for example 12040
FAKE_EXPORT void fake_set_device_attribute(int code, int value);
/// Of one device, whatever the others have.
FAKE_EXPORT void fake_set_attribute_of(int device, int code, int value);
/// Where an address is: a device's memory, or with -1 pinned memory of the host.
/// Whether devices read each other's memory; else a copy between them has two records.
FAKE_EXPORT void fake_set_devices_reach(int reach);
FAKE_EXPORT int fake_devices_reach();
FAKE_EXPORT void fake_set_memory_of(std::uint64_t address, int device);
FAKE_EXPORT int fake_memory_of(std::uint64_t address);   // -1 where it is none
FAKE_EXPORT void fake_set_current_context(int present);  // 0: the thread has no context
FAKE_EXPORT void* fake_current_context();                // a CUcontext, or null
/// The device of a context; 0 until it is told.
FAKE_EXPORT void fake_set_device_of(std::uint32_t context, int device);
FAKE_EXPORT std::size_t fake_synchronize_count();
FAKE_EXPORT std::size_t fake_synchronize_count_of(std::uint32_t context);
FAKE_EXPORT void fake_set_version_hook(void (*hook)());  // within cuDriverGetVersion
/// Called within cuCtxSynchronize and cuCtxRecordEvent. Null ends it.
FAKE_EXPORT void fake_set_synchronize_hook(void (*hook)());
/// The context is gone: to use it from now on is a misuse. For fake_destroy_context.
FAKE_EXPORT void fake_forget_context(std::uint32_t context);
/// What lies between the events before this and those after it.
FAKE_EXPORT void fake_pass_event_time(std::uint64_t ns);
FAKE_EXPORT std::size_t fake_cuda_events();        // that were not destroyed
FAKE_EXPORT std::size_t fake_cuda_filled_bytes();  // by cuMemsetD8Async, of allocated memory
FAKE_EXPORT std::size_t fake_cuda_misuse_count();  // uses of contexts that are gone
/// A blocking stream that is not known here captures: cuStreamIsCapturing on the legacy stream says
/// CUDA_ERROR_STREAM_CAPTURE_IMPLICIT.
FAKE_EXPORT void fake_set_implicit_capture(int on);
/// The same in another context than the first one.
FAKE_EXPORT void fake_set_implicit_capture_in(std::uint32_t context, int on);
/// Whether cuCtxSynchronize was called while a stream captured, which ruins the capture.
FAKE_EXPORT int fake_capture_broken();
/// What the runtime does at a program's first call, and each function below that works on the
/// device: cuInit, then a context, which takes until the session's watch has seen it. Returns:
/// whether the program has CUDA.
FAKE_EXPORT int fake_use_cuda();
FAKE_EXPORT int fake_cuda_ready();  // cuInit has succeeded, or injects: CUPTI may be called
FAKE_EXPORT void fake_mark_capture(std::uint32_t stream, int open);  // for fake_begin_capture
FAKE_EXPORT int fake_capture_invalid(std::uint32_t stream);          // for fake_end_capture
/// What an H200 did (driver 580, CUDA 13.0) with four threads that capture, instantiate and destroy
/// graphs: a call of the profiler that waits for the device invalidates the captures that are open
/// or begin meanwhile; one that begins or ends its session crashes during a call that begins a
/// capture, instantiates or destroys. The stand-ins call these around theirs.
FAKE_EXPORT void fake_graph_call(int begins);
FAKE_EXPORT void fake_breaking_call(int begins, int of_session);
FAKE_EXPORT std::size_t fake_crash_count();
/// Whether the calling thread holds a lock over which it may not call: asked in each call of the
/// driver and CUPTI but cuptiActivityGetNextRecord, which reads a buffer. Counts from 0 again.
FAKE_EXPORT void fake_set_lock_question(int (*holds)());
FAKE_EXPORT std::size_t fake_calls_under_lock();
FAKE_EXPORT void fake_ask_for_locks(char const* function);  // for the stand-ins
/// How long such calls take, so that they meet. Stays until it is set again.
FAKE_EXPORT void fake_set_call_time(unsigned microseconds);
FAKE_EXPORT void fake_take_time();  // for the stand-ins
/// Calls that a kernel which never ends blocks: bits of fake_hang.
enum fake_blocked : unsigned {
  fake_blocks_context = 1,       ///< cuCtxSynchronize of Strata
  fake_blocks_forced_flush = 2,  ///< cuptiActivityFlushAll, forced
  fake_blocks_flush = 4,         ///< cuptiActivityFlushAll(0), which otherwise gives nothing
  fake_blocks_stream = 8,        ///< fake_sync of the program
  fake_blocks_profiler = 16,     ///< what the profiler drains the device for
  fake_blocks_switches = 32,     ///< cuptiActivityDisable and cuptiEnableCallback
  fake_blocks_attributes = 64,   ///< cuDeviceGetAttribute
  fake_blocks_sampling = 128,    ///< cuptiPmSamplingDecodeData; not of all
  fake_blocks_all = 127
};
/// A kernel of the device, launched while fake_hold is on, does not end until this says 0: these
/// calls block, in whichever thread.
FAKE_EXPORT void fake_hang(unsigned blocked);
/// A stream has work for so long from now on; 0 ends it, -1 is for ever. Meanwhile it and events of
/// its context are not ready, and what waits for the context blocks: cuCtxSynchronize, and what the
/// profiler drains the device for.
FAKE_EXPORT void fake_occupy(std::uint32_t context, std::uint32_t stream, long milliseconds);
/// A stream has work that does not end until fake_go: what it waits for comes from the program.
FAKE_EXPORT void fake_wait(std::uint32_t context, std::uint32_t stream);
/// The program writes the value, releases the kernel, ...: all of that work ends.
FAKE_EXPORT void fake_go();
/// Calls that waited for such work for 3 s, though the thread that calls is the one that would end
/// it: on a device they do not come back. Here each of them ends the work itself.
FAKE_EXPORT std::size_t fake_stuck_calls();
/// Waits for the work of a context, as what serialises kernels does. For the stand-ins.
FAKE_EXPORT void fake_await_context(std::uint32_t context);
/// How often a stream was asked whether it has work.
FAKE_EXPORT std::size_t fake_stream_queries();
FAKE_EXPORT int fake_hangs();                       // whether there is such a kernel
FAKE_EXPORT int fake_waits();                       // how many calls it blocks now
FAKE_EXPORT void fake_block_while(unsigned which);  // for the stand-ins

// ---- libcupti.so.13: conditions ----
/// Back to the start: version 13.0.1, no subscriber, nothing enabled, nothing pending. Buffers that
/// CUPTI held are forgotten, so flush with force before.
FAKE_EXPORT void fake_reset();
/// CUPTI_API_VERSION, and with it the sizes of records: 18 to 28 for 12.x, 130001 for 13.0.1, ...
FAKE_EXPORT void fake_set_version(std::uint32_t version);
/// `function` returns `code` from now on and does nothing; 0 ends it. For example
/// "cuptiSubscribe", 39.
FAKE_EXPORT void fake_fail(char const* function, int code);
/// Another client owns CUPTI: subscribing returns 39, and cuptiSubscribe_v2 tells `name`. Null ends
/// it.
FAKE_EXPORT void fake_set_other_client(char const* name);
/// Each driver call happens inside a runtime call with the same correlation id (the default).
FAKE_EXPORT void fake_set_runtime_api(int on);
/// Added to every driver callback id, so that only names identify a function.
FAKE_EXPORT void fake_shift_callback_ids(std::uint32_t by);
/// The next API call fails with this CUresult and leaves no record.
FAKE_EXPORT void fake_fail_next_call(int code);
/// Added to all of CUPTI's times.
FAKE_EXPORT void fake_skew_clock(std::int64_t by_ns);
/// Times of the next record, instead of "now" and its duration.
FAKE_EXPORT void fake_set_next_times(std::uint64_t start_ns, std::uint64_t end_ns);

/// Whether the host's side of copies is memory that is not pinned.
FAKE_EXPORT void fake_set_pageable(int on);

// ---- what the program does; each returns the correlation id ----
FAKE_EXPORT std::uint32_t fake_launch(fake_kernel const* kernel);
/// A driver function after which the stream waits for what the program does later, until fake_go:
/// "cuStreamWaitValue32_v2", "cuLaunchHostFunc", ...
FAKE_EXPORT std::uint32_t fake_wait_call(char const* driver_function, std::uint32_t stream);
/// `kind` is CUPTI's copy kind: 1 host to device, 2 device to host, 8 device to device, 10 peer to
/// peer.
FAKE_EXPORT std::uint32_t fake_copy(int kind, std::uint64_t bytes, std::uint32_t stream,
                                    std::uint64_t duration_ns);
/// cudaMemcpy to memory of the host, which returns when that has the bytes.
/// A copy between two devices without peer access, as CUPTI records it on an H200: to the host on
/// the one, from the host on the other; `second_first` says which comes first.
FAKE_EXPORT std::uint32_t fake_copy_by_host(std::uint32_t from, std::uint32_t to,
                                            std::uint64_t bytes, int second_first);
FAKE_EXPORT std::uint32_t fake_copy_to_host(std::uint64_t bytes);
/// A copy from one device's memory to another's with unified addresses: `function` is the driver's
/// and says nothing of it. CUPTI's record is that of copies between devices.
FAKE_EXPORT std::uint32_t fake_copy_between(char const* function, std::uint64_t destination,
                                            std::uint64_t source, std::uint64_t bytes);
FAKE_EXPORT std::uint32_t fake_memset(std::uint64_t bytes, std::uint32_t stream,
                                      std::uint64_t duration_ns);
/// `kind` is CUPTI's memory kind: 2 pinned, 3 device, 5 managed.
FAKE_EXPORT std::uint32_t fake_malloc(std::uint64_t address, std::uint64_t bytes, int kind,
                                      int async);
FAKE_EXPORT std::uint32_t fake_free(std::uint64_t address, std::uint64_t bytes, int kind,
                                    int async);
/// One of the driver's other functions of memory, for example "cuMemCreate". Of what it does,
/// 'a' allocates and 'r' releases, which leaves a record; '-' leaves none.
FAKE_EXPORT std::uint32_t fake_memory_call(char const* driver_function, char does,
                                           std::uint64_t address, std::uint64_t bytes);
/// `type` is CUPTI's synchronisation type: 3 stream, 4 context.
FAKE_EXPORT std::uint32_t fake_sync(int type, std::uint32_t stream, std::uint64_t duration_ns);
FAKE_EXPORT void fake_overhead(int kind, std::uint64_t duration_ns);
/// A record of managed memory on device 0. `kind` is CUPTI's: 1 to the device, 2 to the host, 3 a
/// fault of the CPU, 4 faults of the GPU.
FAKE_EXPORT void fake_migrate(int kind, std::uint64_t value, std::uint64_t start_ns,
                              std::uint64_t end_ns);
/// A kernel's record that no API call stands behind.
FAKE_EXPORT void fake_orphan_kernel(fake_kernel const* kernel);
/// CUPTI tells of a new context.
FAKE_EXPORT void fake_create_context(std::uint32_t context);
/// A context that has a part of a device. It lives until fake_reset.
FAKE_EXPORT void fake_create_green_context(std::uint32_t context, std::uint32_t device,
                                           std::uint16_t multiprocessors);
/// CUPTI tells that the context goes, then it is gone.
FAKE_EXPORT void fake_destroy_context(std::uint32_t context);
/// The Range Profiler's own kernel: a record `WaitNs` that no API call stands behind.
FAKE_EXPORT void fake_wait_ns_kernel();

// ---- graphs ----
FAKE_EXPORT std::uint32_t fake_begin_capture(std::uint32_t stream);
FAKE_EXPORT std::uint32_t fake_begin_capture_in(std::uint32_t context, std::uint32_t stream);
/// cuStreamBeginRecaptureToGraph; fake_end_capture ends it.
FAKE_EXPORT std::uint32_t fake_begin_recapture(std::uint32_t stream, fake_graph_t graph);
/// The attempt to end a capture from another thread than the one that began it: it continues.
FAKE_EXPORT void fake_end_capture_elsewhere(std::uint32_t stream);
/// Launches on a capturing stream call back, become nodes and leave no record.
FAKE_EXPORT fake_graph_t fake_end_capture(std::uint32_t stream);  // 0: the capture was ruined
FAKE_EXPORT fake_graph_t fake_graph_create();
FAKE_EXPORT fake_node_t fake_graph_create_node(fake_graph_t graph, fake_kernel const* kernel);
/// A launch of the executable runs the body of a conditional node (while, if) so many times: a
/// kernel of one node, of which no callback told, in records that bear the id of no call.
FAKE_EXPORT void fake_graph_set_body(fake_graph_t executable, fake_kernel const* kernel, int times);
/// The device launches the executable: records of its kernels that no API call stands behind.
FAKE_EXPORT void fake_graph_device_launch(fake_graph_t executable, std::uint32_t stream);
/// Instantiates: every node is cloned, and the kernels of a launch bear the clones' ids.
FAKE_EXPORT fake_graph_t fake_graph_clone(fake_graph_t graph);
/// The same with flags (4: the device may launch it), given by value or in a structure. What the
/// device launches of it leaves no record (H200, CUDA 13.0).
FAKE_EXPORT fake_graph_t fake_graph_instantiate(fake_graph_t graph, std::uint64_t flags,
                                                int in_structure);
/// Gives the executable the kernels of a graph with as many nodes; its nodes keep their ids.
FAKE_EXPORT std::uint32_t fake_graph_update(fake_graph_t executable, fake_graph_t graph);
/// Gives the executable's node that comes from a node of its graph another kernel; `enabled` 0 says
/// that it does not run. `tells`: CUPTI calls back for the node, as for one that is updated.
FAKE_EXPORT std::uint32_t fake_graph_set_kernel(fake_graph_t executable, std::size_t node,
                                                fake_kernel const* kernel, int tells);
FAKE_EXPORT std::uint32_t fake_graph_enable(fake_graph_t executable, std::size_t node, int enabled);
FAKE_EXPORT std::uint32_t fake_graph_launch(fake_graph_t executable, std::uint32_t stream);
/// Of a graph or an executable one.
FAKE_EXPORT void fake_graph_destroy(fake_graph_t graph);
/// A stream goes, and with it its capture.
FAKE_EXPORT void fake_destroy_stream(std::uint32_t stream);
FAKE_EXPORT std::size_t fake_graph_nodes(fake_graph_t graph, fake_node_t* nodes,
                                         std::size_t capacity);

// ---- how records come back ----
FAKE_EXPORT void fake_set_order(fake_order order, std::uint32_t seed);
FAKE_EXPORT void fake_set_delivery(fake_thread thread);
FAKE_EXPORT void fake_set_records_per_buffer(std::size_t count);  // 0: as many as fit
/// Delivers on a thread of its own whenever so many records wait. 0: only when flushed.
FAKE_EXPORT void fake_set_auto_delivery(std::size_t records);
/// Records made while this is 1 are incomplete until a context's work was waited for: FlushAll(0)
/// leaves them, FlushAll(forced) returns a kernel's without times, and others, or with 2 all, as a
/// record that CUPTI cannot read.
FAKE_EXPORT void fake_hold(int how);
/// Records made while this is on have start = end = 0.
FAKE_EXPORT void fake_lose_timestamps(int on);
/// So many records were dropped, says cuptiActivityGetNumDroppedRecords next.
FAKE_EXPORT void fake_drop(std::size_t count);

// ---- what the client did ----
FAKE_EXPORT std::size_t fake_calls(char const* function);
FAKE_EXPORT std::size_t fake_pending();              // records not yet delivered
FAKE_EXPORT std::size_t fake_buffers_outstanding();  // requested and not yet returned
FAKE_EXPORT int fake_kind_enabled(std::uint32_t kind);
FAKE_EXPORT int fake_subscribed();
/// Callbacks of all kinds since the start.
FAKE_EXPORT std::size_t fake_callbacks_made();
/// Called once, by the next callback, when it can no more be switched off but has not begun.
FAKE_EXPORT void fake_set_callback_hook(void (*hook)());
/// Called once, within the next cuptiActivityConfigureUnifiedMemoryCounter.
FAKE_EXPORT void fake_set_configure_hook(void (*hook)());
/// Called once, within the next call of the program, between its two callbacks.
FAKE_EXPORT void fake_set_call_hook(void (*hook)());
/// Whether the driver function of this name, for example "cuLaunchKernel", calls back.
FAKE_EXPORT int fake_callback_enabled(char const* driver_function);
/// Calls that CUPTI forbids: before cuInit, from a buffer callback, with a misaligned buffer, ...
FAKE_EXPORT std::size_t fake_misuse_count();
FAKE_EXPORT char const* fake_last_misuse();  // "" when there was none

}  // extern "C"

#endif  // STRATA_TESTS_FAKE_FAKE_HPP
