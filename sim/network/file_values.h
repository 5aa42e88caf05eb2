// Values of a network file as the description holds them: numbers in base units, whole numbers, distributions.
#pragma once

#include <optional>

#include "sim/network/description.h"
#include "sim/network/scope.h"
#include "sim/network/toml_reader.h"

namespace riftjit::sim {

// A finite number of `unit`; a plain 0 is of any unit. `what` names it in messages.
Result<double> number_in(const toml::node& node, Unit unit, std::string_view what, Scope& scope);
// One that is whole and within [least, most].
Result<uint64_t> whole_in(const toml::node& node, uint64_t least, uint64_t most, std::string_view what, Scope& scope);
Result<std::vector<double>> numbers_in(const toml::node& node, Unit unit, std::string_view what, Scope& scope);

// A number, a list of `values` numbers (0: none may stand here), or one of
//   { normal = [mean, deviation] }  { uniform = [low, high] }  { lognormal = [median, sigma] }
// with least = ..., most = ... or keep_sign = true (of the mean), outside which it is redrawn.
Result<Distribution> distribution_in(const toml::node& node, Unit unit, std::string_view what, uint64_t values,
                                     Scope& scope);

// What changes at times: `times` and `values_key`, lists of one length, or `file`, rows of a time in ms and a value
// that counts as `file_unit` of `unit`. Times ascend from 0 on. Paths are relative to `directory`.
struct Profile {
    std::vector<double> times_ms, values;
};
struct ProfileKind {
    std::string_view values_key;
    Unit unit;
    double file_unit;
};
Result<Profile> profile_in(TableReader& reader, const ProfileKind& kind, const std::string& directory, Scope& scope);

// Of a Poisson process: `rate`, or a profile of `rates` (in a file: Hz); and `amplitude`, `frequency`, `phase`.
Result<Rate> rate_in(TableReader& reader, const std::string& directory, Scope& scope);

// start, stop: 0 and never by default.
struct Window {
    double start_ms = 0, stop_ms = kUnlimited;
};
Result<Window> window_in(TableReader& reader, Scope& scope);

// Numbers of neurons below `size`: a list, or "0..99" (both ends included). Ascending, none twice.
Result<std::vector<uint32_t>> neurons_in(const toml::node& node, uint32_t size, std::string_view population);

}  // namespace riftjit::sim
