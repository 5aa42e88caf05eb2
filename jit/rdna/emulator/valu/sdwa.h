// Sub-dword addressing of gfx10: a byte, half or dword of a source, and where the result goes.
#pragma once

#include <cstdint>

namespace riftjit::rdna::emulator {

enum class SdwaUnused : uint8_t { zero, sign_extend, preserve };
enum class SdwaExtend : uint8_t { zero, sign };

inline constexpr uint8_t kSdwaDword = 6;

uint32_t sdwa_select_word(uint32_t word, uint8_t select, SdwaExtend extend);
uint32_t sdwa_insert(uint32_t result, uint32_t previous, uint8_t select, SdwaUnused unused);

}  // namespace riftjit::rdna::emulator
