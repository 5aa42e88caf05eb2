#include "jit/rdna/object/occupancy.h"

#include <algorithm>

#include "host/round_up.h"
#include "jit/rdna/object/kernel_descriptor.h"

namespace riftjit::rdna {
namespace {

constexpr uint32_t kLdsGranule = 1024;  // from gfx10.3 on, as Mesa allots it

constexpr uint32_t divide_up(uint32_t value, uint32_t divisor) { return (value + divisor - 1) / divisor; }

}  // namespace

uint32_t waves_per_simd(Target target, WaveSize wave_size, uint32_t vgprs) {
    check(vgprs <= kMaxVgprs, "a wave has at most 256 VGPRs");
    const uint32_t registers_per_lane_set =
        wave_size == WaveSize::wave64 ? 2 : 1;  // a wave64 register is two of 32 lanes
    const uint32_t file = info(target).vgpr_file / registers_per_lane_set;
    const uint32_t granule = info(target).vgpr_granule / registers_per_lane_set;
    return std::min(kMaxWavesPerSimd, file / static_cast<uint32_t>(round_up(std::max(vgprs, 1U), granule)));
}

Result<Occupancy> occupancy(Target target, WaveSize wave_size, uint32_t vgprs, uint32_t lds_bytes,
                            uint32_t threads_per_group) {
    if (vgprs > kMaxVgprs) return fail(ErrorKind::Usage, "occupancy: {} VGPRs are more than {}", vgprs, kMaxVgprs);
    if (lds_bytes > kMaxLdsBytes)
        return fail(ErrorKind::Usage, "occupancy: {} bytes of LDS are more than {}", lds_bytes, kMaxLdsBytes);
    if (threads_per_group == 0 || threads_per_group > kMaxThreadsPerGroup)
        return fail(ErrorKind::Usage, "occupancy: {} threads per group are not 1 to {}", threads_per_group,
                    kMaxThreadsPerGroup);
    const uint32_t waves_per_group = divide_up(threads_per_group, lanes(wave_size));
    uint32_t groups = kSimdsPerWgp * waves_per_simd(target, wave_size, vgprs) / waves_per_group;
    if (lds_bytes != 0)
        groups = std::min(groups, kLdsBytesPerWgp / static_cast<uint32_t>(round_up(lds_bytes, kLdsGranule)));
    return Occupancy{divide_up(groups * waves_per_group, kSimdsPerWgp), groups};
}

}  // namespace riftjit::rdna
