// OpenMP where the compiler has it, one thread elsewhere.
#ifndef GPT2_PARALLEL_HPP
#define GPT2_PARALLEL_HPP

#if defined(_OPENMP)
#define GPT2_PARALLEL_FOR _Pragma("omp parallel for schedule(dynamic)")
#else
#define GPT2_PARALLEL_FOR
#endif

#endif  // GPT2_PARALLEL_HPP
