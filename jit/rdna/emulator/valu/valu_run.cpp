// Executing a LaneOp in C++.
#include <algorithm>
#include <bit>

#include "jit/rdna/emulator/valu/valu_op.h"

namespace riftjit::rdna::emulator {
namespace {

using Values = LaneArrays::Values;

void widen(const uint32_t* words, unsigned lanes, Values& to) {
    for (unsigned lane = 0; lane < lanes; ++lane) to[lane] = words[lane];
}
void widen(const uint32_t* low, const uint32_t* high, unsigned lanes, Values& to) {
    for (unsigned lane = 0; lane < lanes; ++lane) to[lane] = low[lane] | static_cast<uint64_t>(high[lane]) << 32;
}

void read_raw(const WaveState& wave, const ValuSource& source, Values& to) {
    if (source.kind != SourceKind::vgpr)
        std::fill_n(to.data(), wave.lanes, source.raw(wave, 0));
    else if (source.dwords < 2)
        widen(wave.vgpr(source.index), wave.lanes, to);
    else
        widen(wave.vgpr(source.index), wave.vgpr(source.index + 1u), wave.lanes, to);
}

void shape(const ValuSource& source, unsigned lanes, Values& values) {
    if (!source.is_modified()) return;
    if (source.sdwa_select != kSdwaDword || source.shape == SourceShape::packed) {
        for (unsigned lane = 0; lane < lanes; ++lane) values[lane] = source.shaped(values[lane]);
        return;
    }
    const bool half = source.shape == SourceShape::half;
    const unsigned shift = half && source.high ? 16 : 0;
    const uint64_t keep = half ? source.keep & 0xFFFF : source.keep;
    for (unsigned lane = 0; lane < lanes; ++lane) values[lane] = (values[lane] >> shift & keep) ^ source.flip;
}

// Returns the lanes that are to be computed.
uint64_t read_sources(const WaveState& wave, const LaneOp& op, LaneArrays& arrays) {
    uint64_t exec = wave.exec();
    for (unsigned i = 0; i < op.source_count; ++i) {
        const ValuSource& source = op.sources[i];
        read_raw(wave, source, arrays.source[i]);
        if (i == 0 && op.routing) exec = route(*op.routing, wave.lanes, exec, arrays.source[i].data());  // DPP
        shape(source, wave.lanes, arrays.source[i]);
        if (source.dwords != 4) continue;
        if (source.kind != SourceKind::vgpr)
            std::fill_n(arrays.source2_high.data(), wave.lanes, 0);
        else
            widen(wave.vgpr(source.index + 2u), wave.vgpr(source.index + 3u), wave.lanes, arrays.source2_high);
    }
    return exec;
}

void finish(const FloatFormat& format, const FloatControl& control, const LaneContext& context, uint64_t lanes,
            Values& results) {
    for (; lanes != 0; lanes &= lanes - 1) {
        uint64_t& result = results[static_cast<unsigned>(std::countr_zero(lanes))];
        result = finish_float(format, control, context, result);
    }
}
void finish(const LaneContext& context, ResultKind kind, uint64_t lanes, Values& results) {
    if (context.omod == 0 && !context.clamp) return;
    switch (kind) {
        case ResultKind::f16:
            return finish(kF16, context.f16, context, lanes, results);
        case ResultKind::f32:
            return finish(kF32, context.f32, context, lanes, results);
        case ResultKind::f64:
            return finish(kF64, context.f64, context, lanes, results);
        case ResultKind::f16x2:
            for (; lanes != 0; lanes &= lanes - 1) {
                uint64_t& result = results[static_cast<unsigned>(std::countr_zero(lanes))];
                result = pack_halves(finish_float(kF16, context.f16, context, low_half(result)),
                                     finish_float(kF16, context.f16, context, high_half(result)));
            }
            return;
        case ResultKind::words:
        case ResultKind::half:
            return;
    }
}

bool is_half(ResultKind kind) { return kind == ResultKind::half || kind == ResultKind::f16; }

// Where an instruction writes a part of its register: the result beside what stays.
void place(const WaveState& wave, const LaneOp& op, Values& results) {
    if (op.sdwa && op.sdwa->destination_select != kSdwaDword) {
        const auto unused = static_cast<SdwaUnused>(op.sdwa->destination_unused);
        for (unsigned lane = 0; lane < wave.lanes; ++lane)
            results[lane] = sdwa_insert(static_cast<uint32_t>(results[lane]), wave.vgpr(op.vgpr)[lane],
                                        op.sdwa->destination_select, unused);
        return;
    }
    if (!is_half(op.semantics->result)) return;
    const uint32_t* const before = wave.vgpr(op.vgpr);
    if (op.high_half)
        for (unsigned lane = 0; lane < wave.lanes; ++lane) results[lane] = pack_halves(before[lane], results[lane]);
    else
        for (unsigned lane = 0; lane < wave.lanes; ++lane)
            results[lane] = pack_halves(results[lane], before[lane] >> 16);
}

// The old value of what is written: a half of the register for those that write one.
void read_previous(const WaveState& wave, const LaneOp& op, Values& previous) {
    const uint32_t* const words = wave.vgpr(op.vgpr);
    const bool half = is_half(op.semantics->result);
    const unsigned shift = half && op.high_half ? 16 : 0;
    const uint32_t keep = half ? 0xFFFF : ~0u;
    for (unsigned lane = 0; lane < wave.lanes; ++lane) previous[lane] = words[lane] >> shift & keep;
}

LaneContext context_of(const WaveState& wave, const LaneOp& op) {
    LaneContext context = lane_context(op.generation, op.wave_size, float_mode(wave.mode, op.generation),
                                       op.semantics->result, op.omod, op.clamp);
    context.neg = op.neg;
    context.abs = op.abs;
    context.op_sel = op.op_sel;
    context.op_sel_hi = op.op_sel_hi;
    return context;
}

// v_s_*: one scalar value, whatever exec is; an f16 result clears the upper half.
void compute_scalar(const WaveState& wave, const LaneOp& op, LaneResults& results) {
    const LaneContext context = context_of(wave, op);
    LaneData data;
    data.source[0] = op.sources[0].shaped(op.sources[0].raw(wave, 0));
    op.semantics->function(context, data);
    results.arrays.result[0] = data.result;
    finish(context, op.semantics->result, 1, results.arrays.result);
}

}  // namespace

void compute_lanes(const WaveState& wave, const LaneOp& op, LaneResults& results) {
    if (is_scalar_result(op)) return compute_scalar(wave, op, results);
    const LaneContext context = context_of(wave, op);
    LaneArrays& arrays = results.arrays;
    results.written = read_sources(wave, op, arrays);
    arrays.conditions = op.mask.exists ? op.mask.read(wave) : 0;
    if (op.vgpr != kNoRegister) read_previous(wave, op, arrays.previous);
    op.semantics->all(context, arrays, results.written);
    finish(context, op.semantics->result, results.written, arrays.result);
    if (op.vgpr != kNoRegister) place(wave, op, arrays.result);
}

namespace {

void store(uint32_t* to, const Values& values, unsigned shift, uint64_t lanes) {
    for (; lanes != 0; lanes &= lanes - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
        to[lane] = static_cast<uint32_t>(values[lane] >> shift);
    }
}
void store_all(uint32_t* to, const Values& values, unsigned shift, unsigned lanes) {
    for (unsigned lane = 0; lane < lanes; ++lane) to[lane] = static_cast<uint32_t>(values[lane] >> shift);
}

}  // namespace

void write_lanes(WaveState& wave, const LaneOp& op, const LaneResults& results) {
    const LaneArrays& arrays = results.arrays;
    if (is_scalar_result(op)) {
        if (op.scalar != kNoRegister) wave.scalars[op.scalar] = static_cast<uint32_t>(arrays.result[0]);
        return;
    }
    if (op.vgpr != kNoRegister)
        for (unsigned dword = 0; dword < op.dwords; ++dword) {
            uint32_t* const to = wave.vgpr(op.vgpr + dword);
            const Values& values = dword < 2 ? arrays.result : arrays.result_high;
            const unsigned shift = 32 * (dword % 2);
            if (results.written == wave.all_lanes())
                store_all(to, values, shift, wave.lanes);
            else
                store(to, values, shift, results.written);
        }
    if (op.lane_mask != kNoRegister) wave.set_mask(op.lane_mask, arrays.bits);
}

}  // namespace riftjit::rdna::emulator
