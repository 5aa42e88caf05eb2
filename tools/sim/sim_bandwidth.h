// What reading memory reaches, for the bounds that `riftjit sim` names.
#pragma once

#include <optional>
#include <string>

#include "host/result.h"
#include "jit/isa.h"

namespace riftjit::tools {

// Bytes per second of `threads` threads together; unset where a step moves so few bytes that they may stay in a cache.
Result<std::optional<double>> measured_read_rate(uint64_t resident_bytes, Isa isa, uint32_t threads);

// "12.3 ms at least, at the 20.5 GB/s that reading reaches", or why there is no bound.
std::string least_time_text(double bytes, std::optional<double> read_rate);
// "5.1 GB/s, 25 % of the 20.5 GB/s that reading reaches", or why there is no share.
std::string share_text(double bytes_per_second, std::optional<double> read_rate);

}  // namespace riftjit::tools
