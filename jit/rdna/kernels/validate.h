// What every kernel's spec must satisfy.
#pragma once

#include <bit>
#include <string_view>

#include "host/result.h"
#include "jit/rdna/object/occupancy.h"
#include "jit/rdna/table/target.h"

namespace riftjit::rdna::kernels {

// Byte offsets are 32 bits wide.
inline constexpr uint64_t kMaxBufferBytes = uint64_t{1} << 32;

// Whole waves, so that sums across lanes find every lane on; a power of two, so that indices are shifts.
inline Result<void> check_group(std::string_view kernel, WaveSize wave_size, uint32_t group_lanes) {
    if (!std::has_single_bit(group_lanes) || group_lanes < lanes(wave_size) || group_lanes > kMaxThreadsPerGroup)
        return fail(ErrorKind::Usage, "{}: {} lanes in a workgroup are not a power of two from {} to {}", kernel,
                    group_lanes, lanes(wave_size), kMaxThreadsPerGroup);
    return {};
}

inline Result<void> check_multiple(std::string_view kernel, std::string_view what, uint32_t value, uint32_t of) {
    if (value == 0 || value % of != 0)
        return fail(ErrorKind::Usage, "{}: {} {} is not a multiple of {}", kernel, what, value, of);
    return {};
}

inline Result<void> check_at_most(std::string_view kernel, std::string_view what, uint64_t value, uint64_t max) {
    if (value == 0 || value > max)
        return fail(ErrorKind::Usage, "{}: {} {} is not within 1 to {}", kernel, what, value, max);
    return {};
}

// Of what a spec of jit/kernel_spec.h may ask and the kernel does not do.
inline Result<void> refuse_if(bool is_asked, std::string_view kernel, std::string_view what) {
    if (is_asked) return fail(ErrorKind::Unsupported, "{}: no kernel for {}", kernel, what);
    return {};
}

// Packed types, and bf16, have no layout there.
inline Result<void> check_cache_type(std::string_view kernel, DType type) {
    const bool is_known = type == DType::F16 || type == DType::F32 || type == DType::Q8_0;
    return refuse_if(!is_known, kernel, fmt::format("a cache of {}, only of f16, f32 and q8_0", name(type)));
}

// Of kernels whose layout counts on 32 lanes.
inline Result<void> check_wave32(std::string_view kernel, WaveSize wave_size) {
    return refuse_if(wave_size != WaveSize::wave32, kernel, "waves of 64 lanes");
}

}  // namespace riftjit::rdna::kernels
