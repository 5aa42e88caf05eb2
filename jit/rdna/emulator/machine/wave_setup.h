// The state of a wave at its first instruction (facts of the code-object format: initial kernel execution state), and
// the bytes of a launch's arguments.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "jit/rdna/emulator/machine/interpreter.h"
#include "jit/rdna/emulator/machine/machine.h"

namespace riftjit::rdna::emulator {

// What all waves of a launch share.
struct LaunchContext {
    const LoadedKernel* kernel;
    Target target;
    const Op* entry;
    uint64_t queue_address;
    uint64_t kernarg_address = 0, dispatch_packet_address = 0;
    uint32_t vgpr_end;  // no instruction names this VGPR or one beyond
    Dimensions grid, group;
    uint32_t lds_bytes;
    uint64_t seed;
    Checks checks;
    Findings* findings;

    unsigned lanes() const { return rdna::lanes(kernel->descriptor.wave_size); }
    uint32_t waves_per_group() const { return static_cast<uint32_t>((group.count() + lanes() - 1) / lanes()); }
    std::array<uint32_t, 3> group_id(uint64_t number) const;
};

// Makes a wave of an earlier launch as one that is new: 0 in the registers beyond those declared.
void renew_wave(Wave& wave, const LaunchContext& launch);

// Garbage everywhere, undefined; then what the hardware initialises. begin_wave() has to be called before.
void prepare_wave(Wave& wave, const LaunchContext& launch, Group& group, uint32_t index);
void initialise_registers(Wave& wave, const LaunchContext& launch, const MemorySystem& memory);

// The argument segment: explicit arguments as given, hidden ones as a runtime fills them.
Result<std::vector<std::byte>> build_arguments(const LoadedKernel& kernel, Dimensions grid, Dimensions group,
                                               std::span<const std::byte> explicit_arguments, uint32_t dynamic_lds,
                                               uint64_t queue_address);
// hsa_kernel_dispatch_packet_t
std::vector<std::byte> dispatch_packet(const LoadedKernel& kernel, Dimensions grid, Dimensions group,
                                       uint64_t kernarg_address, uint32_t lds_bytes);

}  // namespace riftjit::rdna::emulator
