// Executing a LaneOp in C++, one lane after the other.
#include "jit/rdna/emulator/valu_op.h"

namespace riftjit::rdna::emulator {
namespace {

struct Gathered {
    uint64_t exec = 0;  // lanes that are written
    std::array<uint64_t, 64> first{};
};

// Source 0 of every lane, as DPP routes it.
Gathered gather(const WaveState& wave, const LaneOp& op) {
    Gathered gathered;
    gathered.exec = wave.exec();
    if (!op.routing) return gathered;
    for (unsigned lane = 0; lane < wave.lanes; ++lane) gathered.first[lane] = op.sources[0].raw(wave, lane);
    gathered.exec = route(*op.routing, wave.lanes, gathered.exec, gathered.first.data());
    return gathered;
}

uint64_t finish(const LaneContext& context, ResultKind kind, uint64_t result) {
    switch (kind) {
        case ResultKind::f16:
            return finish_float(kF16, context.f16, context, result);
        case ResultKind::f32:
            return finish_float(kF32, context.f32, context, result);
        case ResultKind::f64:
            return finish_float(kF64, context.f64, context, result);
        case ResultKind::f16x2:
            return pack_halves(finish_float(kF16, context.f16, context, low_half(result)),
                               finish_float(kF16, context.f16, context, high_half(result)));
        case ResultKind::words:
        case ResultKind::half:
            break;
    }
    return result;
}

bool is_half(ResultKind kind) { return kind == ResultKind::half || kind == ResultKind::f16; }

uint32_t place(const LaneOp& op, uint32_t result, uint32_t previous) {
    if (op.sdwa && op.sdwa->destination_select != kSdwaDword)
        return sdwa_insert(result, previous, op.sdwa->destination_select,
                           static_cast<SdwaUnused>(op.sdwa->destination_unused));
    if (!is_half(op.semantics->result)) return result;
    return op.high_half ? pack_halves(previous, result) : pack_halves(result, previous >> 16);
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

uint64_t upper_pair(const WaveState& wave, const ValuSource& source, unsigned lane) {
    return source.kind != SourceKind::vgpr
               ? 0
               : wave.vgpr(source.index + 2u)[lane] | static_cast<uint64_t>(wave.vgpr(source.index + 3u)[lane]) << 32;
}

void run_lane(const WaveState& wave, const LaneOp& op, const LaneContext& context, const Gathered& gathered,
              uint64_t conditions, unsigned lane, LaneResults& results) {
    LaneData data;
    data.lane = lane;
    data.condition = (conditions >> lane & 1) != 0;
    for (unsigned i = 0; i < op.source_count; ++i) {
        const ValuSource& source = op.sources[i];
        const uint64_t raw = i == 0 && op.routing ? gathered.first[lane] : source.raw(wave, lane);
        data.source[i] = source.shaped(raw);
        if (source.dwords == 4) data.source2_high = upper_pair(wave, source, lane);
    }
    const uint32_t previous = op.vgpr == kNoRegister ? 0 : wave.vgpr(op.vgpr)[lane];
    data.previous = previous;
    if (is_half(op.semantics->result)) data.previous = op.high_half ? previous >> 16 : previous & 0xFFFF;
    op.semantics->function(context, data);
    const uint64_t result = finish(context, op.semantics->result, data.result);
    results.words[lane] = {place(op, static_cast<uint32_t>(result), previous), static_cast<uint32_t>(result >> 32),
                           static_cast<uint32_t>(data.result_high), static_cast<uint32_t>(data.result_high >> 32)};
    results.bits |= static_cast<uint64_t>(data.bit) << lane;
}

// v_s_*: one scalar value, whatever exec is; an f16 result clears the upper half.
void compute_scalar(const WaveState& wave, const LaneOp& op, LaneResults& results) {
    const LaneContext context = context_of(wave, op);
    LaneData data;
    data.source[0] = op.sources[0].shaped(op.sources[0].raw(wave, 0));
    op.semantics->function(context, data);
    results.words[0][0] = static_cast<uint32_t>(finish(context, op.semantics->result, data.result));
}

bool is_scalar_result(const LaneOp& op) { return op.vgpr == kNoRegister && op.lane_mask == kNoRegister; }

}  // namespace

void compute_lanes(const WaveState& wave, const LaneOp& op, LaneResults& results) {
    results.bits = 0;
    if (is_scalar_result(op)) return compute_scalar(wave, op, results);
    const LaneContext context = context_of(wave, op);
    const Gathered gathered = gather(wave, op);
    const uint64_t conditions = op.mask.exists ? op.mask.read(wave) : 0;
    results.written = gathered.exec;
    for (unsigned lane = 0; lane < wave.lanes; ++lane)
        if ((gathered.exec >> lane & 1) != 0) run_lane(wave, op, context, gathered, conditions, lane, results);
}

void write_lanes(WaveState& wave, const LaneOp& op, const LaneResults& results) {
    if (is_scalar_result(op)) {
        if (op.scalar != kNoRegister) wave.scalars[op.scalar] = results.words[0][0];
        return;
    }
    if (op.vgpr != kNoRegister)
        for (unsigned lane = 0; lane < wave.lanes; ++lane)
            if ((results.written >> lane & 1) != 0)
                for (unsigned dword = 0; dword < op.dwords; ++dword)
                    wave.vgpr(op.vgpr + dword)[lane] = results.words[lane][dword];
    if (op.lane_mask != kNoRegister) wave.set_mask(op.lane_mask, results.bits);
}

}  // namespace riftjit::rdna::emulator
