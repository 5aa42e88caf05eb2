#include "jit/rdna/emulator/valu/valu_fast.h"

#include <algorithm>
#include <string>

namespace riftjit::rdna::emulator {
namespace {

// MODE's rounding and denormal fields, FP16_OVFL, and what they are by default.
constexpr uint32_t kModeMask = 0x008000FF, kDefaultMode = 0xF0;

// The compare behind a v_cmpx.
Opcode without_exec(Opcode opcode) {
    const std::string_view name = info(opcode).name;
    constexpr std::string_view kPrefix = "v_cmpx_";
    if (!name.starts_with(kPrefix)) return opcode;
    const std::string plain = "v_cmp_" + std::string(name.substr(kPrefix.size()));
    for (const InstructionInfo& row : all_instructions())
        if (row.name == plain) return row.opcode;
    return opcode;
}

bool has_float_arithmetic(const LaneOp& op) {
    for (unsigned i = 0; i < op.source_count; ++i) {
        const OperandType type = info(op.semantics->opcode).source_operands()[i].type;
        if (type == OperandType::f32 || type == OperandType::f64 || type == OperandType::f16 ||
            type == OperandType::f16x2)
            return true;
    }
    return op.semantics->result != ResultKind::words;
}

bool has_plain_sources(const LaneOp& op) {
    for (unsigned i = 0; i < op.source_count; ++i) {
        const ValuSource& source = op.sources[i];
        if (source.sdwa_select != kSdwaDword) return false;
        if (source.kind == SourceKind::aperture || source.kind == SourceKind::none) return false;
        if (source.kind == SourceKind::scalar && source.index >= Operand::kExec) return false;  // run_rest changes it
    }
    return true;
}

bool is_mixed(Opcode opcode) {
    return opcode == Opcode::v_fma_mix_f32 || opcode == Opcode::v_fma_mixlo_f16 || opcode == Opcode::v_fma_mixhi_f16;
}

uint8_t variant_of(const LaneOp& op) {
    const Opcode opcode = op.semantics->opcode;
    if (opcode == Opcode::v_cvt_f32_fp8 || opcode == Opcode::v_cvt_f32_bf8) return op.op_sel & 3;
    if (const unsigned shift = variant_shift(opcode); shift != 0) return op.op_sel >> shift & 3;
    if (opcode == Opcode::v_dot4_i32_iu8 || opcode == Opcode::v_dot8_i32_iu4) return op.neg & 3;
    if (is_mixed(opcode)) return (op.op_sel_hi & 7) | (opcode == Opcode::v_fma_mixhi_f16 ? kHighHalfVariant : 0);
    const bool writes_half = op.semantics->result == ResultKind::half || op.semantics->result == ResultKind::f16;
    return writes_half && op.high_half ? kHighHalfVariant : 0;
}

// fma_mix reads its modifiers in its own way: this is what they come to.
ValuSource mixed_source(const LaneOp& op, unsigned index) {
    ValuSource source = op.sources[index];
    const auto has_bit = [&](uint8_t bits) { return (bits >> index & 1) != 0; };
    if (has_bit(op.op_sel_hi)) {
        source.shape = SourceShape::half;
        source.high = has_bit(op.op_sel);
    }
    const uint64_t sign = source.shape == SourceShape::half ? 0x8000 : 0x80000000;
    if (has_bit(op.abs)) source.keep = ~sign;
    if (has_bit(op.neg)) source.flip = sign;
    return source;
}

FastSource fast_source(const ValuSource& source, unsigned registers, unsigned stride, bool reads_low_half) {
    FastSource fast;
    fast.kind = source.kind;
    fast.index = source.index;
    if (source.kind == SourceKind::constant) {
        const uint64_t value = source.shaped(source.constant);
        for (unsigned lane = 0; lane < kLanesPerCall; ++lane) {
            fast.constant[lane] = static_cast<uint32_t>(value);
            if (registers == 2) fast.constant[stride + lane] = static_cast<uint32_t>(value >> 32);
        }
        return fast;
    }
    const unsigned shift = registers == 2 ? 32 : 0;  // the sign lies in the upper word
    fast.keep = static_cast<uint32_t>(source.keep >> shift);
    fast.flip = static_cast<uint32_t>(source.flip >> shift);
    if (source.shape == SourceShape::half) {  // neg and abs act on its sign
        fast.keep = reads_low_half ? fast.keep | 0xFFFF0000 : fast.keep & 0xFFFF;
        fast.shift = source.high ? 16 : 0;
    } else if (source.shape == SourceShape::packed) {
        fast.is_packed = true;
        fast.shift = source.high ? 16 : 0;
        fast.high_shift = source.high_low ? 0 : 16;
    }
    const bool reorders = fast.is_packed && (fast.shift != 0 || fast.high_shift != 16);
    const bool shifts = fast.shift != 0 && source.kind != SourceKind::vgpr;
    fast.has_modifier = fast.keep != ~0u || fast.flip != 0 || reorders || shifts;
    return fast;
}

struct alignas(64) Scratch {
    uint32_t words[3][kPairWords];
};

void modify(const LaneSourceFunctions& functions, uint32_t* to, const uint32_t* from, const FastSource& source) {
    if (source.is_packed)
        functions.pack(to, from, source.shift, source.high_shift, source.flip);
    else
        functions.modify(to, from, source.shift, source.keep, source.flip);
}

// A word's upper half is the lower one of the word that begins there, and what is above it does not matter. Registers
// are followed by others, or by spare ones.
const uint32_t* from_half(const uint32_t* words, const FastSource& source) {
    return reinterpret_cast<const uint32_t*>(reinterpret_cast<const std::byte*>(words) + source.shift / 8);
}

// The 32 words of a source; in `scratch` where they are not a register as it stands.
const uint32_t* words_of(const WaveState& wave, const FastOp& fast, const FastSource& source, unsigned first_lane,
                         uint32_t* scratch) {
    const uint32_t* words = scratch;
    if (source.kind == SourceKind::vgpr)
        words = wave.vgpr(source.index) + first_lane;
    else if (source.kind == SourceKind::constant)
        words = source.constant.data();
    else
        fast.functions->fill(scratch, wave.scalars[source.index]);
    if (!source.has_modifier) return from_half(words, source);
    modify(*fast.functions, scratch, words, source);
    return scratch;
}
// The same of 64 bits: the upper words lie wave.lanes further on.
const uint32_t* pairs_of(const WaveState& wave, const FastOp& fast, const FastSource& source, unsigned first_lane,
                         uint32_t* scratch) {
    const uint32_t* words = scratch;
    if (source.kind == SourceKind::vgpr) {
        words = wave.vgpr(source.index) + first_lane;
    } else if (source.kind == SourceKind::constant) {
        words = source.constant.data();
    } else {
        fast.functions->fill_pair(scratch, scratch + wave.lanes, wave.scalars[source.index],
                                  wave.scalars[source.index + 1]);
    }
    if (!source.has_modifier) return words;
    if (words != scratch) fast.functions->modify(scratch, words, 0, ~0u, 0);
    modify(*fast.functions, scratch + wave.lanes, words + wave.lanes, source);
    return scratch;
}

const uint32_t* arguments(const WaveState& wave, const FastOp& fast, unsigned index, unsigned first_lane,
                          Scratch& scratch) {
    if (index >= fast.kernel.sources) return nullptr;
    const FastSource& source = fast.sources[index];
    if (fast.kernel.widths.sources[index] == 2) return pairs_of(wave, fast, source, first_lane, scratch.words[index]);
    return words_of(wave, fast, source, first_lane, scratch.words[index]);
}

const uint32_t* routed_argument(const FastOp& fast, const uint32_t* routed, Scratch& scratch) {
    const FastSource& source = fast.sources[0];
    if (!source.has_modifier && source.shift == 0) return routed;
    modify(*fast.functions, scratch.words[0], routed, source);
    return scratch.words[0];
}

// The C++ way for the lanes from `first` on; those below are done.
void run_rest(WaveState& wave, const FastOp& fast, unsigned first) {
    const uint32_t below = wave.scalars[Operand::kExec];
    if (first != 0) wave.scalars[Operand::kExec] = 0;
    fast.slow(wave, fast.op);
    wave.scalars[Operand::kExec] = below;
}

bool is_plain(const FastOp& fast) {
    if (fast.op->routing || fast.op->wave_size != WaveSize::wave32 || fast.kernel.widths.has_pairs() ||
        fast.mask.exists)
        return false;
    for (unsigned i = 0; i < fast.kernel.sources; ++i)
        if (fast.sources[i].has_modifier) return false;
    return fast.kernel.result == LaneKernelResult::words && fast.vgpr != kNoRegister;
}

inline const uint32_t* plain_words(const WaveState& wave, const FastOp& fast, unsigned index, Scratch& all) {
    const FastSource& source = fast.sources[index];
    uint32_t* const scratch = all.words[index];
    if (source.kind == SourceKind::vgpr) return from_half(wave.vgprs + source.index * kLanesPerCall, source);
    if (source.kind != SourceKind::scalar) return source.constant.data();
    fast.functions->fill(scratch, wave.scalars[source.index]);
    return scratch;
}

bool modes_fit(const WaveState& wave, const FastOp& fast) {
    return !fast.is_float || (wave.mode & kModeMask) == kDefaultMode;
}

}  // namespace

std::optional<FastOp> prepare_fast(const LaneOp& op, ValuFunction slow) {
    if (op.sdwa || op.omod != 0 || op.clamp || !has_plain_sources(op)) return std::nullopt;
    const Opcode opcode = without_exec(op.semantics->opcode);
    const unsigned stride = lanes(op.wave_size);
    const uint8_t variant = variant_of(op);
    const auto kernel = lane_kernel(host_lane_isa(), opcode, variant, stride);
    if (!kernel) return std::nullopt;
    FastOp fast;
    fast.kernel = *kernel;
    fast.functions = &lane_source_functions(host_lane_isa());
    fast.is_float = has_float_arithmetic(op);
    for (unsigned i = 0; i < kernel->sources && i < op.source_count; ++i)
        fast.sources[i] = fast_source(is_mixed(opcode) ? mixed_source(op, i) : op.sources[i], kernel->widths.sources[i],
                                      stride, kernel->halves.reads_low_half(i, variant));
    if (op.source_count < kernel->sources) {  // fmac: the destination
        fast.sources[2].kind = SourceKind::vgpr;
        fast.sources[2].index = op.vgpr;
        fast.sources[2].shift = variant == kHighHalfVariant ? 16 : 0;
    }
    if (op.routing && (fast.sources[0].kind != SourceKind::vgpr || kernel->widths.has_pairs())) return std::nullopt;
    fast.vgpr = op.vgpr;
    fast.lane_mask = op.lane_mask;
    fast.mask = op.mask;
    if (kernel->condition == LaneCondition::upper_lane && op.wave_size == WaveSize::wave64)
        fast.mask = {.exists = true, .constant = ~uint64_t{0} << kLanesPerCall};
    fast.slow = slow;
    fast.op = &op;
    fast.is_plain = is_plain(fast);
    return fast;
}

void run_plain(WaveState& wave, const void* data) {
    const auto& fast = *static_cast<const FastOp*>(data);
    if (!modes_fit(wave, fast)) return fast.slow(wave, fast.op);
    Scratch scratch;
    const uint32_t* const a = plain_words(wave, fast, 0, scratch);
    const uint32_t* const b = plain_words(wave, fast, 1, scratch);
    const uint32_t* const c = plain_words(wave, fast, 2, scratch);
    const uint64_t result =
        fast.kernel.function(wave.vgprs + fast.vgpr * kLanesPerCall, a, b, c, wave.scalars[Operand::kExec]);
    if (result == kLaneKernelDeclined) fast.slow(wave, fast.op);
}

void run_fast(WaveState& wave, const void* data) {
    const auto& fast = *static_cast<const FastOp*>(data);
    if (!modes_fit(wave, fast)) return fast.slow(wave, fast.op);
    Scratch scratch;
    const uint64_t condition = fast.mask.exists ? fast.mask.read(wave) : 0;
    uint64_t exec = wave.exec();
    alignas(64) std::array<uint32_t, 64> routed;
    if (fast.op->routing)  // DPP
        exec = route(*fast.op->routing, wave.lanes, exec, wave.vgpr(fast.sources[0].index), routed.data());
    uint64_t mask = 0;
    for (unsigned first = 0; first < wave.lanes; first += kLanesPerCall) {
        uint32_t* d = fast.vgpr == kNoRegister ? nullptr : wave.vgpr(fast.vgpr) + first;
        const uint64_t lanes = (exec >> first & 0xFFFFFFFF) | condition >> first << 32;
        const uint32_t* a = fast.op->routing ? routed_argument(fast, routed.data() + first, scratch)
                                             : arguments(wave, fast, 0, first, scratch);
        const uint64_t result = fast.kernel.function(d, a, arguments(wave, fast, 1, first, scratch),
                                                     arguments(wave, fast, 2, first, scratch), lanes);
        if (result == kLaneKernelDeclined) return run_rest(wave, fast, first);
        mask |= result << first;
    }
    if (fast.lane_mask != kNoRegister) wave.set_mask(fast.lane_mask, mask);
}

void run_fast_dual(WaveState& wave, const void* data) {
    const auto& dual = *static_cast<const FastDualOp*>(data);
    if (!modes_fit(wave, dual.x) || !modes_fit(wave, dual.y)) return dual.slow(wave, dual.slow_data);
    Scratch x_scratch, y_scratch;
    alignas(64) uint32_t x_result[kLanesPerCall], y_result[kLanesPerCall];
    const auto compute = [&](const FastOp& fast, Scratch& scratch, uint32_t* result) {
        const uint64_t condition = fast.mask.exists ? fast.mask.read(wave) : 0;
        return fast.kernel.function(result, arguments(wave, fast, 0, 0, scratch), arguments(wave, fast, 1, 0, scratch),
                                    arguments(wave, fast, 2, 0, scratch),
                                    (wave.exec() & 0xFFFFFFFF) | condition << 32) != kLaneKernelDeclined;
    };
    if (!compute(dual.x, x_scratch, x_result) || !compute(dual.y, y_scratch, y_result))
        return dual.slow(wave, dual.slow_data);
    static const auto move = lane_kernel(host_lane_isa(), Opcode::v_mov_b32, 0, kLanesPerCall);
    const uint64_t exec = wave.exec() & 0xFFFFFFFF;
    move->function(wave.vgpr(dual.x.vgpr), x_result, nullptr, nullptr, exec);
    move->function(wave.vgpr(dual.y.vgpr), y_result, nullptr, nullptr, exec);
}

}  // namespace riftjit::rdna::emulator
