// What changes in the course of a run: currents and rates.
#include <algorithm>
#include <cmath>

#include "sim/network/file_values.h"
#include "sim/network/number_file.h"

namespace riftjit::sim {

namespace {

Result<Profile> profile_of_file(const toml::node& file, const ProfileKind& kind, const std::string& directory) {
    RIFTJIT_TRY(path, string_of(file, "file"));
    RIFTJIT_TRY(rows, read_number_rows(path.starts_with('/') ? path : directory + path, {2}, source_of(file)));
    Profile profile;
    for (const NumberRows::Row& row : rows) {
        profile.times_ms.push_back(row[0]);
        profile.values.push_back(row[1] * kind.file_unit);
    }
    return profile;
}

Result<Profile> profile_of_lists(TableReader& reader, const ProfileKind& kind, Scope& scope) {
    RIFTJIT_TRY(times, reader.need("times"));
    RIFTJIT_TRY(values, reader.need(kind.values_key));
    RIFTJIT_TRY(times_ms, numbers_in(*times, kMillisecond, "times", scope));
    RIFTJIT_TRY(numbers, numbers_in(*values, kind.unit, kind.values_key, scope));
    if (times_ms.empty() || times_ms.size() != numbers.size())
        return fail_in(*values, "'times' has {} values and '{}' {}: one each is wanted", times_ms.size(),
                       kind.values_key, numbers.size());
    return Profile{std::move(times_ms), std::move(numbers)};
}

Result<double> number_or(TableReader& reader, std::string_view key, Unit unit, Scope& scope) {
    const toml::node* node = reader.find(key);
    if (node == nullptr) return 0.0;
    return number_in(*node, unit, key, scope);
}

}  // namespace

double Rate::most_per_ms() const {
    const double level =
        levels_per_ms.empty() ? level_per_ms : *std::max_element(levels_per_ms.begin(), levels_per_ms.end());
    return level + std::abs(amplitude_per_ms);
}

Result<Profile> profile_in(TableReader& reader, const ProfileKind& kind, const std::string& directory, Scope& scope) {
    const toml::node* file = reader.find("file");
    if (file != nullptr && (reader.find("times") != nullptr || reader.find(kind.values_key) != nullptr))
        return fail_in(*file, "the times are given here and as 'times' and '{}'", kind.values_key);
    RIFTJIT_TRY(profile, file ? profile_of_file(*file, kind, directory) : profile_of_lists(reader, kind, scope));
    const toml::node& where = file ? *file : *reader.find("times");
    if (profile.times_ms.empty()) return fail_in(where, "'{}' has no rows", file ? "file" : "times");
    if (profile.times_ms[0] < 0) return fail_in(where, "'times' begins at {} ms, before the run", profile.times_ms[0]);
    for (size_t i = 1; i < profile.times_ms.size(); ++i) {
        if (profile.times_ms[i] <= profile.times_ms[i - 1])
            return fail_in(where, "'times' does not ascend: {} ms after {} ms", profile.times_ms[i],
                           profile.times_ms[i - 1]);
    }
    return profile;
}

Result<Rate> rate_in(TableReader& reader, const std::string& directory, Scope& scope) {
    constexpr double kHertz = 1e-3;  // in 1/ms
    Rate rate;
    const toml::node* node = reader.find("rate");
    const bool is_profile = reader.find("times") || reader.find("rates") || reader.find("file");
    if (is_profile && node != nullptr) return fail_in(*node, "'rate' is given beside rates that change");
    if (is_profile) {
        RIFTJIT_TRY(profile, profile_in(reader, {"rates", kPerMillisecond, kHertz}, directory, scope));
        rate.times_ms = std::move(profile.times_ms);
        rate.levels_per_ms = std::move(profile.values);
        node = reader.find("rates") ? reader.find("rates") : reader.find("file");
        const auto least = std::min_element(rate.levels_per_ms.begin(), rate.levels_per_ms.end());
        if (*least < 0) return fail_in(*node, "a rate of {} per ms, below 0", *least);
    } else {
        RIFTJIT_TRY(needed, reader.need("rate"));
        RIFTJIT_TRY(level, number_in(*needed, kPerMillisecond, "rate", scope));
        if (level < 0) return fail_in(*needed, "'rate' is {} per ms, below 0", level);
        rate.level_per_ms = level;
    }
    RIFTJIT_TRY(amplitude, number_or(reader, "amplitude", kPerMillisecond, scope));
    if (amplitude != 0) RIFTJIT_TRY_VOID(reader.need("frequency"));
    RIFTJIT_TRY(frequency, number_or(reader, "frequency", kPerMillisecond, scope));
    RIFTJIT_TRY(phase, number_or(reader, "phase", kNoUnit, scope));
    if (frequency < 0) return fail_in(*reader.find("frequency"), "'frequency' is {} per ms, below 0", frequency);
    rate.amplitude_per_ms = amplitude;
    rate.frequency_per_ms = frequency;
    rate.phase = phase;
    return rate;
}

}  // namespace riftjit::sim
