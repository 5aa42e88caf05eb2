// How many waves and workgroups of a kernel fit on the hardware at once.
#pragma once

#include <cstdint>

#include "host/result.h"
#include "jit/rdna/table/target.h"

namespace riftjit::rdna {

inline constexpr uint32_t kSimdsPerWgp = 4;
inline constexpr uint32_t kMaxWavesPerSimd = 16;
inline constexpr uint32_t kLdsBytesPerWgp = 131072;
inline constexpr uint32_t kMaxThreadsPerGroup = 1024;

struct Occupancy {
    uint32_t waves_per_simd;  // of the SIMD that holds most
    uint32_t groups_per_wgp;  // 0: not one workgroup fits, so no launch can succeed
};

// As far as registers alone limit it.
uint32_t waves_per_simd(Target target, WaveSize wave_size, uint32_t vgprs);

// In WGP mode, where a workgroup's waves are spread over the four SIMDs of a work-group processor.
Result<Occupancy> occupancy(Target target, WaveSize wave_size, uint32_t vgprs, uint32_t lds_bytes,
                            uint32_t threads_per_group);

}  // namespace riftjit::rdna
