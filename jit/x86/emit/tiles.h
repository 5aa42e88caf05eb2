// AMX tiles: eight registers of 16 rows of 64 bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace riftjit::x86 {

inline constexpr uint32_t kTileRows = 16;
inline constexpr int kTileBytes = 1024;

// What LDTILECFG reads (SDM volume 1, 18.4): palette 1, all tiles whole.
struct TileConfiguration {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    std::array<uint16_t, 16> row_bytes{};
    std::array<uint8_t, 16> rows{};

    TileConfiguration() {
        std::fill_n(row_bytes.begin(), 8, uint16_t{64});
        std::fill_n(rows.begin(), 8, uint8_t{kTileRows});
    }
};
static_assert(sizeof(TileConfiguration) == 64);

}  // namespace riftjit::x86
