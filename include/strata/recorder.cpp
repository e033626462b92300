// The unit of a program that compiles Strata's recorder alone: the reports are made by `strata`.
#define STRATA_IMPLEMENTATION
#define STRATA_RECORDER
#include <strata/strata.hpp>
