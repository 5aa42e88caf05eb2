// What each memory instruction does to memory and registers, found once by its name: the part that does not depend on
// how the address is formed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "jit/rdna/emulator/memory/atomics.h"
#include "jit/rdna/table/opcode.h"

namespace riftjit::rdna::emulator::memory {

enum class MemoryAction : uint8_t {
    load,
    store,
    atomic,
    append,   // DS: add the number of active lanes
    consume,  // DS: subtract it
    swizzle,
    permute,
    bpermute,
    scalar_load,
    scalar_buffer_load,
    clock,
    invalidate_l0,
    invalidate_l1,
    invalidate_scalar,
    invalidate_scope,  // gfx12 global_inv: as far as the scope says
    write_back,        // gfx12 global_wb: nothing to do, stores reach the L2 by themselves
    write_back_invalidate,
    prefetch,
    nothing,  // counted and over
};

// Which half of a register a d16 instruction means.
enum class RegisterPart : uint8_t { whole, low_half, high_half };

struct MemoryShape {
    MemoryAction action{};
    uint8_t bytes = 0;  // in memory, of one element: 1, 2, or a multiple of 4
    bool sign_extend = false;
    RegisterPart part = RegisterPart::whole;
    uint8_t elements = 1;         // 2: DS with two addresses
    uint8_t element_stride = 1;   // of their offsets, in elements: 1 or 64
    bool thread_address = false;  // addtid: lane * 4 instead of an address register
    AtomicOp atomic = AtomicOp::none;
    bool returns = false;         // DS: a row of its own; elsewhere a cache-policy bit
    bool compare_first = false;   // ds_cmpst: compare value before the new one
    bool second_operand = false;  // takes two values per element

    unsigned dwords() const { return bytes < 4 ? 1 : bytes / 4u; }
};

// Nothing for instructions that are no memory access or are left out (why_not_executed).
std::optional<MemoryShape> memory_shape(const InstructionInfo& row);

// Memory instructions that the software machine does not execute: the reason, or empty.
std::string_view why_not_executed(const InstructionInfo& row);

constexpr bool is_memory_format(Format format) {
    return format == Format::SMEM || format == Format::DS || format == Format::FLAT || format == Format::GLOBAL ||
           format == Format::SCRATCH || format == Format::MUBUF;
}

}  // namespace riftjit::rdna::emulator::memory
