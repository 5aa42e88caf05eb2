// Numbers that AMD adds to ELF (LLVM AMDGPU usage guide, "ELF Code Object"), beside those of <elf.h>.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace riftjit::rdna::elf {

inline constexpr uint8_t kOsAbiAmdHsa = 0x40;
inline constexpr uint16_t kMachineAmdGpu = 0xE0;
inline constexpr uint8_t kAbiVersionV4 = 2;  // 3 and 4 stand for code-object versions 5 and 6
inline constexpr uint32_t kMachMask = 0xFF;

inline constexpr std::string_view kNoteName = "AMDGPU";
inline constexpr uint32_t kNoteMetadata = 32;
inline constexpr size_t kNoteAlignment = 4;

inline constexpr uint32_t kRelocationAbs64 = 3;
inline constexpr uint32_t kRelocationRelative64 = 13;

inline constexpr std::string_view kDescriptorSuffix = ".kd";
inline constexpr size_t kDescriptorAlignment = 64;
inline constexpr size_t kCodeAlignment = 256;

}  // namespace riftjit::rdna::elf
