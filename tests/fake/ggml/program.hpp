// What libfake_ggml.so has for programs.
#ifndef STRATA_TESTS_FAKE_GGML_PROGRAM_HPP
#define STRATA_TESTS_FAKE_GGML_PROGRAM_HPP

/// Computes a graph of so many outputs, 0: without a table of tokens. Returns: how many nodes were
/// launched so far.
extern "C" int compute(int tokens, int outputs);

#endif  // STRATA_TESTS_FAKE_GGML_PROGRAM_HPP
