#include "jit/rdna/emulator/valu/sdwa.h"

#include "jit/rdna/emulator/valu/valu_lane.h"

namespace riftjit::rdna::emulator {
namespace {

struct SdwaField {
    unsigned shift, bits;
};
SdwaField field_of(uint8_t select) {  // 0-3: bytes, 4-5: halves, 6: all
    if (select < 4) return {8u * select, 8};
    return select < kSdwaDword ? SdwaField{16u * (select - 4u), 16} : SdwaField{0, 32};
}
uint32_t mask_of(SdwaField field) { return static_cast<uint32_t>((uint64_t{1} << field.bits) - 1) << field.shift; }

}  // namespace

uint32_t sdwa_select_word(uint32_t word, uint8_t select, SdwaExtend extend) {
    const SdwaField field = field_of(select);
    const uint32_t value = (word & mask_of(field)) >> field.shift;
    return extend == SdwaExtend::sign ? static_cast<uint32_t>(sign_extend(value, field.bits)) : value;
}

uint32_t sdwa_insert(uint32_t result, uint32_t previous, uint8_t select, SdwaUnused unused) {
    const SdwaField field = field_of(select);
    const uint32_t mask = mask_of(field), placed = result << field.shift & mask;
    if (unused == SdwaUnused::preserve) return (previous & ~mask) | placed;
    if (unused == SdwaUnused::zero || field.bits == 32) return placed;
    // Bits above the field repeat its sign; those below are zero.
    return static_cast<uint32_t>(sign_extend(placed >> field.shift, field.bits)) << field.shift;
}

}  // namespace riftjit::rdna::emulator
