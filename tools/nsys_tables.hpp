// The timeline of a run in the tables that Nsight Systems exports, for what reads those.
#ifndef STRATA_TOOLS_NSYS_TABLES_HPP
#define STRATA_TOOLS_NSYS_TABLES_HPP

#include <strata/tables/table_input.hpp>

#include <string>

namespace tools {

/// Writes an SQLite database with kernels, copies, fills, waits, calls, ranges and GPUs. Requires:
/// no file of that name, and libsqlite3 at run time. Units: ns since the session began. Returns:
/// why it is not written; empty where it is.
std::string write_nsys_tables(std::string const& path, strata::table_input const& input);

}  // namespace tools

#endif  // STRATA_TOOLS_NSYS_TABLES_HPP
