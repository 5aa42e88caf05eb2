#include "jit/rdna/emulator/valu/valu_source.h"

#include <bit>

#include "host/half.h"
#include "host/result.h"
#include "jit/rdna/emulator/valu/sdwa.h"

namespace riftjit::rdna::emulator {
namespace {

constexpr std::array<double, 9> kFloats = {0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0, 0.15915494309189532};
constexpr uint16_t kFirstFloat = 240, kFirstNegative = 193;

// 1/(2 pi) is cut, not rounded, in bf16; the rest are exact everywhere.
uint64_t float_bits(double value, OperandType type) {
    switch (type) {
        case OperandType::f16:
        case OperandType::f16x2:
        case OperandType::k16:
            return float_to_half(static_cast<float>(value));
        case OperandType::bf16:
        case OperandType::bf16x2:
            return std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16;
        case OperandType::f64:
        case OperandType::i64:
        case OperandType::b64:
            return std::bit_cast<uint64_t>(value);
        default:
            return std::bit_cast<uint32_t>(static_cast<float>(value));
    }
}

bool is_64_bits(OperandType type) {
    return type == OperandType::f64 || type == OperandType::i64 || type == OperandType::b64;
}

}  // namespace

uint64_t constant_bits(const Operand& operand, uint32_t literal, OperandType type, LiteralSign sign) {
    if (operand.is_literal()) {
        if (type == OperandType::f64) return static_cast<uint64_t>(literal) << 32;
        if (!is_64_bits(type) || sign == LiteralSign::zero_extended) return literal;
        return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(literal)));
    }
    if (operand.code >= kFirstFloat) return float_bits(kFloats[operand.code - kFirstFloat], type);
    const int64_t value = operand.code < kFirstNegative ? operand.code - 128 : 192 - operand.code;
    return is_64_bits(type) ? static_cast<uint64_t>(value) : static_cast<uint32_t>(value);
}

uint64_t ValuSource::raw(const WaveState& wave, unsigned lane) const {
    switch (kind) {
        case SourceKind::vgpr: {
            const uint64_t low = wave.vgpr(index)[lane];
            return dwords < 2 ? low : low | static_cast<uint64_t>(wave.vgpr(index + 1u)[lane]) << 32;
        }
        case SourceKind::scalar:
            return dwords < 2 ? wave.scalars[index]
                              : wave.scalars[index] | static_cast<uint64_t>(wave.scalars[index + 1]) << 32;
        case SourceKind::aperture:
            // 235-238: base and limit of the shared, then of the private aperture; 253: scc.
            if (index == Operand::kScc) return wave.scc;
            return index == 235   ? wave.shared_base
                   : index == 236 ? wave.shared_base | 0xFFFFFFFF
                   : index == 237 ? wave.private_base
                                  : wave.private_base | 0xFFFFFFFF;
        case SourceKind::constant:
            return constant;
        case SourceKind::none:
            break;
    }
    return 0;
}

uint64_t ValuSource::shaped(uint64_t raw) const {
    if (sdwa_select != kSdwaDword)
        raw =
            sdwa_select_word(static_cast<uint32_t>(raw), sdwa_select, sdwa_sign ? SdwaExtend::sign : SdwaExtend::zero);
    if (shape == SourceShape::half) {
        raw = (high ? raw >> 16 : raw) & 0xFFFF;
    } else if (shape == SourceShape::packed) {
        const uint64_t low = (high ? raw >> 16 : raw) & 0xFFFF, upper = (high_low ? raw : raw >> 16) & 0xFFFF;
        raw = low | upper << 16;
    }
    return (raw & keep) ^ flip;
}

}  // namespace riftjit::rdna::emulator
