// Reciprocals and roots over lanes. valu_transcendental.cpp computes them in double and rounds once; quotients and
// roots that the host rounds to f32 directly are the same, since double's 53 bits are at least 2 * 24 + 2 (Figueroa,
// "When is double rounding innocuous?", SIGNUM Newsletter 30(3), 1995), and so with f32's 24 bits for f16. NaNs
// come out of the host's divisions and roots as wanted: quiet with the payload, and the negative one of an invalid
// operation.
#include <mutex>

#include "jit/rdna/emulator/lanes/lanes_operations.h"
#include "jit/rdna/emulator/valu/valu_lane.h"

namespace riftjit::rdna::emulator {
namespace lanes_transcendental {
namespace {

using E = LaneEmitter;
using Xbyak::Xmm;
constexpr LaneKernelResult kWords = LaneKernelResult::words;
constexpr uint32_t kMagnitude = 0x7FFFFFFF, kMinNormal = 0x00800000, kSign = 0x80000000, kOne = 0x3F800000;
constexpr uint64_t kOneF64 = 0x3FF0000000000000;

// Denormal arguments of f32 are zeros, with their sign.
void flush_argument(E& e) {
    e.and_word(e.t, e.a, kMagnitude);
    e.compare_f32(e.t, e.t, e.every_word(kMinNormal), kLt);
    e.and_word(e.t, e.t, kMagnitude);
    e.and_not_bits(e.a, e.t, e.a);
}

void reciprocal(E& e) {
    e.load_word(e.t, kOne);
    e.vdivps(e.d, e.t, e.a);
}
// A result about the smallest normal number is flushed by how it would round without a least exponent: from 1 to that
// number in magnitude, told by the signs of differences.
void reciprocal_f32(E& e) {
    flush_argument(e);
    reciprocal(e);
    e.load_word(e.t, kMagnitude);
    e.and_bits(e.t, e.d, e.t);
    e.xor_bits(e.u, e.u, e.u);
    e.vpsubd(e.u, e.u, e.t);
    e.load_word(e.b, kMinNormal + 1);
    e.vpsubd(e.t, e.t, e.b);
    e.and_bits(e.t, e.t, e.u);
    e.vpsrad(e.t, e.t, 31);
    e.decline(e.t);
}
void root(E& e) { e.vsqrtps(e.d, e.a); }
void root_f32(E& e) {
    flush_argument(e);
    root(e);
}
// Neither is the root rounded to f32 here.
void reciprocal_root(E& e) {
    const Xmm &low = e.found_lanes, &high = e.condition_lanes;
    for (int half = 0; half < 2; ++half) {
        const Xmm& part = half == 0 ? low : high;
        e.convert_half_to_f64(e.t, e.a, half);
        e.vsqrtpd(e.t, e.t);
        e.load_quad(e.u, kOneF64);
        e.vdivpd(e.t, e.u, e.t);
        e.vcvtpd2ps(e.half_width(part), e.t);
    }
    e.join_halves(e.d, low, high);
}
// Of f16 no reciprocal root is as close to half-way between two f16 as the roundings to f32 are: each has been tried.
void reciprocal_root_of_half(E& e) {
    e.vsqrtps(e.a, e.a);
    reciprocal(e);
}
void reciprocal_root_f32(E& e) {
    flush_argument(e);
    reciprocal_root(e);
}

void reciprocal_f64(E& e) {
    e.load_quad(e.t, kOneF64);
    e.vdivpd(e.d, e.t, e.a);
}
void root_f64(E& e) { e.vsqrtpd(e.d, e.a); }
void reciprocal_root_f64(E& e) {
    e.vsqrtpd(e.a, e.a);
    reciprocal_f64(e);
}

// f16 has few enough values to list what the functions give for each. Filled when an instruction first asks for one.
struct Table {
    std::array<uint16_t, 0x10000 + 1> results;  // the last is read beside, never used
    std::once_flag filled;
};
template <Opcode opcode>
Table table;
template <Opcode opcode>
void fill_table() {
    std::call_once(table<opcode>.filled, [] {
        const LaneFunction function = lane_semantics(opcode)->function;
        for (uint32_t half = 0; half < 0x10000; ++half) {
            LaneData lane;
            lane.source[0] = half;
            function(LaneContext{}, lane);
            table<opcode>.results[half] = static_cast<uint16_t>(lane.result);
        }
    });
}
template <Opcode opcode>
void look_up(E& e) {
    e.load_word(e.t, 0xFFFF);
    e.and_bits(e.t, e.a, e.t);
    e.gather_halves(e.d, table<opcode>.results.data(), e.t);
}
template <Opcode opcode>
constexpr LaneOperation listed() {
    LaneOperation operation{opcode, 1, kWords, LaneCheck::none, {}, look_up<opcode>};
    operation.halves = {HalfSources::bits, HalfResult::bits};
    operation.prepare = fill_table<opcode>;
    return operation;
}

constexpr LaneOperation single(Opcode opcode, LaneCheck check, LaneEmit emit) {
    return {opcode, 1, kWords, check, {}, emit};
}
constexpr LaneOperation doubles(Opcode opcode, LaneEmit emit) {
    LaneOperation operation{opcode, 1, kWords, LaneCheck::none, {}, emit};
    operation.widths = {{2, 1, 1}, 2};
    operation.layout = PairLayout::joined;
    return operation;
}
constexpr LaneOperation half(Opcode opcode, LaneEmit emit) {
    LaneOperation operation = single(opcode, LaneCheck::none, emit);
    operation.halves = {HalfSources::f16, HalfResult::f16};
    return operation;
}

constexpr LaneOperation kOperations[] = {
    single(Opcode::v_rcp_f32, LaneCheck::by_operation, reciprocal_f32),
    single(Opcode::v_rcp_iflag_f32, LaneCheck::by_operation, reciprocal_f32),
    single(Opcode::v_rsq_f32, LaneCheck::none, reciprocal_root_f32),
    single(Opcode::v_sqrt_f32, LaneCheck::none, root_f32),
    doubles(Opcode::v_rcp_f64, reciprocal_f64),
    doubles(Opcode::v_rsq_f64, reciprocal_root_f64),
    doubles(Opcode::v_sqrt_f64, root_f64),
    half(Opcode::v_rcp_f16, reciprocal),
    half(Opcode::v_rsq_f16, reciprocal_root_of_half),
    half(Opcode::v_sqrt_f16, root),
    listed<Opcode::v_exp_f16>(),
    listed<Opcode::v_log_f16>(),
    listed<Opcode::v_sin_f16>(),
    listed<Opcode::v_cos_f16>(),
};

}  // namespace
}  // namespace lanes_transcendental

std::span<const LaneOperation> transcendental_lane_operations() { return lanes_transcendental::kOperations; }

}  // namespace riftjit::rdna::emulator
