// The 64 bytes that tell the packet processor how to start a kernel (LLVM AMDGPU usage guide, "Kernel Descriptor"):
// named fields, and their bits in each generation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "host/result.h"
#include "jit/rdna/table/target.h"

namespace riftjit::rdna {

inline constexpr size_t kKernelDescriptorBytes = 64;
inline constexpr uint32_t kMaxVgprs = 256;           // that one wave can name
inline constexpr uint32_t kNumberedSgprs = 106;      // that every wave has, VCC apart
inline constexpr uint32_t kMaxUserSgprs = 16;        // that the hardware fills before a wave starts
inline constexpr uint32_t kMaxLdsBytes = 65536;      // of one workgroup
inline constexpr uint32_t kMaxKernargBytes = 65536;  // ours: what runtimes allot is far less than this

// Of a lane: a wave's scratch is counted in steps of 1 KiB (gfx10) or 256 bytes, in 13, 15 or 18 bits (WAVESIZE of
// COMPUTE_TMPRING_SIZE; LLVM's getMaxWaveScratchSize).
constexpr uint32_t max_scratch_bytes(Generation generation, WaveSize wave_size) {
    const uint32_t of_wave = generation == Generation::gfx10   ? 1024 * ((1U << 13) - 1)
                             : generation == Generation::gfx11 ? 256 * ((1U << 15) - 1)
                                                               : 256 * ((1U << 18) - 1);
    return of_wave / lanes(wave_size);
}

enum class Rounding : uint8_t { nearest_even, up, down, toward_zero };
enum class Denormals : uint8_t { flush, flush_output, flush_input, keep };

struct FloatModes {
    Rounding round_f32 = Rounding::nearest_even;
    Rounding round_f16_f64 = Rounding::nearest_even;
    Denormals denormals_f32 = Denormals::keep;
    Denormals denormals_f16_f64 = Denormals::keep;

    bool operator==(const FloatModes&) const = default;
};

// Which values the hardware writes to the first SGPRs. They lie one after the other, in this order.
struct UserSgprs {
    bool private_segment_buffer = false;  // 4 registers; gfx10 only
    bool dispatch_ptr = false;            // 2
    bool queue_ptr = false;               // 2
    bool kernarg_ptr = false;             // 2
    bool dispatch_id = false;             // 2
    bool flat_scratch_init = false;       // 2; gfx10 only
    bool private_segment_size = false;    // 1

    bool operator==(const UserSgprs&) const = default;
};

// Where each of them lies: the number of its first SGPR.
struct UserSgprLayout {
    std::optional<uint8_t> private_segment_buffer, dispatch_ptr, queue_ptr, kernarg_ptr, dispatch_id, flat_scratch_init,
        private_segment_size;
    uint8_t count = 0;  // registers taken by all of them
};
UserSgprLayout layout(const UserSgprs& wanted);

// Which workgroup ids a wave receives: in the SGPRs after the user SGPRs, in this order; gfx12: x in ttmp9, y and z in
// the halves of ttmp7.
struct WorkgroupIds {
    bool x = true, y = false, z = false;

    bool operator==(const WorkgroupIds&) const = default;
};

// Which work-item ids a lane receives. gfx10: v0, v1, v2; gfx11 and gfx12: ten bits each in v0.
enum class WorkItemIds : uint8_t { x, xy, xyz };

// A workgroup's waves may lie on both CUs of a work-group processor, or on one only.
enum class WorkgroupMode : uint8_t { cu, wgp };

// The user SGPR count that the descriptor must declare: what is wanted, or more where the chip initialises the first 16
// SGPRs wrongly unless user and system SGPRs fill them (gfx1100 and gfx1102 in wave32). The workgroup ids follow it.
uint32_t user_sgpr_count(Target target, WaveSize wave_size, const UserSgprs& wanted, const WorkgroupIds& ids);

// Floating-point exceptions that trap. No kernel of ours enables one; compilers can.
struct TrapMask {
    bool invalid = false, denormal = false, f64_division_by_zero = false, overflow = false, underflow = false,
         inexact = false, integer_division_by_zero = false;

    bool operator==(const TrapMask&) const = default;
};

struct KernelDescriptor {
    uint32_t lds_bytes = 0;      // static part; a launch may add to it
    uint32_t scratch_bytes = 0;  // per lane
    uint32_t kernarg_bytes = 0;
    int64_t entry_offset = 0;  // address of the first instruction, minus the descriptor's

    // compute_pgm_rsrc1
    uint8_t vgpr_blocks = 0;  // of 8 registers in wave32 and 4 in wave64, minus one: vgprs()
    uint8_t sgpr_blocks = 0;  // means nothing on RDNA; compilers write noise
    FloatModes float_modes;
    bool dx10_clamp = false;    // gfx10, gfx11: a clamped NaN becomes 0. gfx12 always does
    bool ieee_mode = false;     // gfx10, gfx11: min and max quiet signalling NaNs
    bool round_robin = false;   // gfx12: waves of a workgroup are scheduled in turn
    bool disable_perf = false;  // gfx12
    bool f16_overflow = false;  // f16 results are clamped to the largest finite value
    WorkgroupMode workgroup_mode = WorkgroupMode::wgp;
    bool memory_ordered = true;     // counters fall in the order of issue
    bool forward_progress = false;  // every resident wave makes some progress, not the oldest first

    // compute_pgm_rsrc2
    bool scratch_enabled = false;
    uint8_t user_sgpr_count = 0;
    WorkgroupIds workgroup_ids;
    bool workgroup_info = false;
    WorkItemIds work_item_ids = WorkItemIds::x;
    TrapMask traps;

    // compute_pgm_rsrc3
    uint8_t shared_vgpr_blocks = 0;       // gfx10, gfx11 in wave64: of 8 registers
    uint8_t instruction_prefetch = 0;     // gfx11, gfx12: 128-byte lines
    bool traps_on_start = false;          // gfx11, gfx12
    bool traps_on_end = false;            // gfx11, gfx12
    bool group_launch_guarantee = false;  // gfx12
    bool has_image_instructions = false;  // gfx11, gfx12

    // kernel_code_properties
    UserSgprs user_sgprs;
    WaveSize wave_size = WaveSize::wave32;
    bool uses_dynamic_stack = false;

    bool operator==(const KernelDescriptor&) const = default;

    uint32_t vgprs() const { return (vgpr_blocks + 1U) * (wave_size == WaveSize::wave32 ? 8 : 4); }
};

// The value of vgpr_blocks that declares `vgprs` registers, which must be 0 to 256.
uint8_t vgpr_blocks(uint32_t vgprs, WaveSize wave_size);

using KernelDescriptorBytes = std::array<std::byte, kKernelDescriptorBytes>;

// An error if a field does not fit its bits, or does not exist in the generation.
Result<KernelDescriptorBytes> encode(const KernelDescriptor& descriptor, Generation generation);
// An error if a reserved bit is set. Decoding what encode() wrote gives the same descriptor, and the reverse.
Result<KernelDescriptor> decode_kernel_descriptor(std::span<const std::byte, kKernelDescriptorBytes> bytes,
                                                  Generation generation);

}  // namespace riftjit::rdna
