// What changes a network file before it is read: its variants, and --set PATH=VALUE.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <utility>
#include <vector>

#include "host/result.h"

namespace riftjit::sim {

using Settings = std::vector<std::pair<std::string, std::string>>;

// Lays the chosen of [variants.NAME] over the file: its tables are merged into those of the file, everything else
// replaces what is there. `variant = NAME` or the setting "variant" chooses; then the other settings are made. A value
// is read as TOML, and as a string where it is none ("4 mV"). Entries of [[projection]] and the like are named by their
// `name` or number from 0: "projection.exc.weight".
Result<void> apply_overrides(toml::table& root, const Settings& settings);

// The variants of the file but the one that apply_overrides() would choose.
std::vector<std::string> other_variants(const toml::table& root, const Settings& settings);

}  // namespace riftjit::sim
