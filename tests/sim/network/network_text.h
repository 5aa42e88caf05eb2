// What tests of network files share.
#pragma once

#include <string>

#include "sim/network/description.h"

namespace riftjit::sim {

// Eight lines; what a case adds begins in line 9.
inline const std::string kSmall = R"toml([simulation]
duration = "100 ms"

[population.E]
model = "iaf_psc_delta"
size = 4

#
)toml";

// The message with which the text, as net.toml, is refused; empty: it is not.
inline std::string error_of(const std::string& text, const NetworkOverrides& overrides = {}) {
    const Result<Network> network = parse_network(text, "net.toml", overrides);
    return network ? "" : network.error().message;
}

}  // namespace riftjit::sim
