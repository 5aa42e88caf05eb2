// Numbers in the precision that is simulated in.
#pragma once

#include <cmath>
#include <string_view>

#include "jit/columns/column_program.h"

namespace riftjit::sim {

// Why a finite number cannot be held: it would be infinite, or 0; empty where it can.
inline std::string_view precision_fault(Precision precision, double value) {
    if (precision == Precision::f64 || !std::isfinite(value)) return "";
    const auto single = static_cast<float>(value);
    if (!std::isfinite(single)) return "more than single precision holds";
    return single == 0 && value != 0 ? "less than single precision holds: it would be 0" : "";
}

// Rounded; what cannot be held stays as it is, for whoever names it in an error.
inline double in_precision(Precision precision, double value) {
    const bool is_kept = precision == Precision::f64 || !precision_fault(precision, value).empty();
    return is_kept ? value : static_cast<double>(static_cast<float>(value));
}

}  // namespace riftjit::sim
