// A memory instruction with everything decided that does not depend on register contents.
#pragma once

#include <array>
#include <cstdint>

#include "jit/rdna/emulator/checks/races.h"
#include "jit/rdna/emulator/machine/executors.h"
#include "jit/rdna/emulator/memory/memory_shape.h"

namespace riftjit::rdna::emulator::memory {

// Which caches a load may be answered by, and whether others must take the access for an atomic one (facts: cache
// policy). On gfx12, which has no L1, `l1` stands for whatever a scope below the device's does not see beyond.
struct CachePath {
    bool l0 = true, l1 = true;
    bool atomic = false;
    uint8_t scope = 0;  // gfx12: of global_inv and the like
};

// Where a scalar operand comes from.
struct MemoryScalar {
    enum class Kind : uint8_t { none, registers, constant };
    Kind kind = Kind::none;
    uint16_t code = 0;
    uint32_t value = 0;

    uint32_t read(const WaveState& wave) const { return kind == Kind::registers ? wave.scalars[code] : value; }
    uint64_t read_pair(const WaveState& wave) const {
        if (kind != Kind::registers) return value;
        return wave.scalars[code] | static_cast<uint64_t>(wave.scalars[code + 1]) << 32;
    }
};

struct MemoryOp {
    Opcode opcode{};
    Format format{};
    Generation generation{};
    MemoryShape shape;
    CachePath path;
    Counter counter{};
    uint32_t site = 0;  // numbers the prepared instructions, for reports that name two of them
    bool returns = false;
    bool discards_result = false;  // SMEM into null

    static constexpr uint16_t kNoRegister = 0xFFFF;
    uint16_t vaddr = kNoRegister;                               // VGPR; the first of two for 64-bit addresses
    std::array<uint16_t, 2> data = {kNoRegister, kNoRegister};  // VGPRs
    MemoryScalar saddr, soffset;                                // base pair or scratch offset; offset
    uint16_t resource = 0;                                      // SGPR
    int64_t offset = 0;                                         // bytes
    std::array<uint32_t, 2> element_offset{};                   // bytes; DS
    bool offset_enable = false, index_enable = false;           // MUBUF
    uint16_t swizzle = 0;                                       // ds_swizzle: the whole offset field
};

}  // namespace riftjit::rdna::emulator::memory
