#include "jit/rdna/emulator/lanes_host.h"

#include <array>
#include <bit>
#include <cmath>

#include "jit/half.h"
#include "jit/rdna/emulator/valu_lane.h"

namespace riftjit::rdna::emulator {
namespace {

constexpr unsigned kLanes = 32;
constexpr uint32_t kMagnitude = 0x7FFFFFFF, kSign = 0x80000000, kMinNormal = 0x00800000, kInfinity = 0x7F800000;

using Results = std::array<uint32_t, kLanes>;

// The lanes of `exec`; those of `odd` by the function of one lane, in the default modes.
uint64_t write(uint32_t* d, const uint32_t* a, Results& results, uint32_t exec, uint32_t odd, Opcode opcode) {
    for (uint32_t left = odd & exec; left != 0; left &= left - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(left));
        LaneData data;
        data.source[0] = a[lane];
        lane_semantics(opcode)->function(LaneContext{}, data);
        results[lane] = static_cast<uint32_t>(data.result);
    }
    for (unsigned lane = 0; lane < kLanes; ++lane)
        if ((exec >> lane & 1) != 0) d[lane] = results[lane];
    return 0;
}

// In double, rounded once: as valu_transcendental.cpp has it. Denormal arguments are zeros. A result about the smallest
// normal number is left to the function there, since it is flushed by how it would round without a least exponent; so
// are NaNs.
template <Opcode opcode, double (*Function)(double)>
uint64_t in_double(uint32_t* d, const uint32_t* a, const uint32_t*, const uint32_t*, uint64_t lanes) {
    Results results;
    std::array<uint32_t, kLanes> is_odd;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        const uint32_t flushed = (a[lane] & kMagnitude) < kMinNormal ? a[lane] & kSign : a[lane];
        const double value = Function(std::bit_cast<float>(flushed));
        results[lane] = std::bit_cast<uint32_t>(static_cast<float>(value));
        const uint32_t magnitude = results[lane] & kMagnitude;
        is_odd[lane] = magnitude > kInfinity || (magnitude <= kMinNormal && value != 0);
    }
    uint32_t odd = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane) odd |= is_odd[lane] << lane;
    return write(d, a, results, static_cast<uint32_t>(lanes), odd, opcode);
}

double reciprocal(double x) { return 1.0 / x; }
double reciprocal_root(double x) { return 1.0 / std::sqrt(x); }
double square_root(double x) { return std::sqrt(x); }
double power_of_two(double x) { return std::exp2(x); }
double logarithm(double x) { return std::log2(x); }

uint64_t widen_half(uint32_t* d, const uint32_t* a, const uint32_t*, const uint32_t*, uint64_t lanes) {
    Results results;
    uint32_t odd = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        results[lane] = std::bit_cast<uint32_t>(half_to_float(static_cast<uint16_t>(a[lane])));
        odd |= static_cast<uint32_t>((results[lane] & kMagnitude) > kInfinity) << lane;
    }
    return write(d, a, results, static_cast<uint32_t>(lanes), odd, Opcode::v_cvt_f32_f16);
}

constexpr HostLaneFunction kFunctions[] = {
    {Opcode::v_exp_f32, in_double<Opcode::v_exp_f32, power_of_two>},
    {Opcode::v_log_f32, in_double<Opcode::v_log_f32, logarithm>},
    {Opcode::v_rcp_f32, in_double<Opcode::v_rcp_f32, reciprocal>},
    {Opcode::v_rcp_iflag_f32, in_double<Opcode::v_rcp_iflag_f32, reciprocal>},
    {Opcode::v_rsq_f32, in_double<Opcode::v_rsq_f32, reciprocal_root>},
    {Opcode::v_sqrt_f32, in_double<Opcode::v_sqrt_f32, square_root>},
    {Opcode::v_cvt_f32_f16, widen_half},
};

}  // namespace

std::span<const HostLaneFunction> host_lane_functions() { return kFunctions; }

}  // namespace riftjit::rdna::emulator
