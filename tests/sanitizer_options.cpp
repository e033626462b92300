// What the sanitizers are asked for, in each executable of the tests, whoever runs it.
extern "C" {

// intercept_tls_get_addr: where a loaded module's thread-local block begins 16 bytes into a page,
// the search for leaks takes its own chunk header for glibc's, and dies of what it reads there
// ("Tracer caught signal 11").
char const* __asan_default_options() {
  return "detect_stack_use_after_return=1:check_initialization_order=1:strict_init_order=1:"
         "intercept_tls_get_addr=0";
}
char const* __ubsan_default_options() { return "print_stacktrace=1:halt_on_error=1"; }
char const* __tsan_default_options() { return "halt_on_error=1:second_deadlock_stack=1"; }

}  // extern "C"
