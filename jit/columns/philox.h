// Philox 4x32-10, a counter-based random number generator: equal counters and keys give equal words anywhere, in any
// order. Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#pragma once

#include <array>
#include <cstdint>

namespace riftjit {

inline constexpr uint32_t kPhiloxRounds = 10;
inline constexpr std::array<uint32_t, 2> kPhiloxMultipliers = {0xD2511F53, 0xCD9E8D57};
inline constexpr std::array<uint32_t, 2> kPhiloxKeySteps = {0x9E3779B9, 0xBB67AE85};  // golden ratio, sqrt(3) - 1

using PhiloxWords = std::array<uint32_t, 4>;

constexpr PhiloxWords philox4x32(PhiloxWords counter, std::array<uint32_t, 2> key) {
    for (uint32_t round = 0; round < kPhiloxRounds; ++round) {
        const uint64_t first = uint64_t(kPhiloxMultipliers[0]) * counter[0];
        const uint64_t second = uint64_t(kPhiloxMultipliers[1]) * counter[2];
        counter = {uint32_t(second >> 32) ^ counter[1] ^ key[0], uint32_t(second),
                   uint32_t(first >> 32) ^ counter[3] ^ key[1], uint32_t(first)};
        key = {key[0] + kPhiloxKeySteps[0], key[1] + kPhiloxKeySteps[1]};
    }
    return counter;
}

constexpr std::array<uint32_t, 2> philox_key(uint64_t key) { return {uint32_t(key), uint32_t(key >> 32)}; }

// The two 64-bit numbers of four words.
constexpr uint64_t philox_first(const PhiloxWords& words) { return words[0] | uint64_t(words[1]) << 32; }
constexpr uint64_t philox_second(const PhiloxWords& words) { return words[2] | uint64_t(words[3]) << 32; }

// Uniform in [0, 1): the multiples of 2^-53, and of 2^-24.
constexpr double uniform_f64(uint64_t number) { return static_cast<double>(number >> 11) * 0x1p-53; }
constexpr float uniform_f32(uint64_t number) { return static_cast<float>(number >> 40) * 0x1p-24f; }

// Words of draw `draw` of object `id` in step `step`: what the random ops of column programs use.
constexpr PhiloxWords philox_draw(uint64_t key, uint32_t id, uint32_t draw, uint64_t step) {
    return philox4x32({id, draw, uint32_t(step), uint32_t(step >> 32)}, philox_key(key));
}

}  // namespace riftjit
