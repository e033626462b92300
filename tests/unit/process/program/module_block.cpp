// A module with a thread-local variable.
extern "C" __attribute__((visibility("default"))) void module_work() {
  thread_local long volatile calls[6];
  calls[0] = calls[0] + 1;
}
