// What decode says of words that it refuses.
#include <fmt/format.h>

#include "jit/rdna/encode/pack.h"

namespace riftjit::rdna {
namespace {

struct Family {
    const char* name;
    uint32_t prefix, prefix_mask;
    Generation first, last;
};
// The formats without rows: images, exports and what interpolates for pixel shaders. gfx12's typed buffer accesses
// share their format with the untyped ones and are numbers without rows there.
constexpr Family kFamiliesLeftOut[] = {
    {"VINTRP", 0xC8000000, 0xFC000000, Generation::gfx10, Generation::gfx10},
    {"VINTERP", 0xCD000000, 0xFF000000, Generation::gfx11, Generation::gfx12},
    {"LDSDIR", 0xCE000000, 0xFF000000, Generation::gfx11, Generation::gfx12},
    {"MTBUF", 0xE8000000, 0xFC000000, Generation::gfx10, Generation::gfx11},
    {"MIMG", 0xF0000000, 0xFC000000, Generation::gfx10, Generation::gfx11},
    {"VIMAGE", 0xD0000000, 0xFC000000, Generation::gfx12, Generation::gfx12},
    {"VSAMPLE", 0xE4000000, 0xFC000000, Generation::gfx12, Generation::gfx12},
    {"EXP", 0xF8000000, 0xFC000000, Generation::gfx10, Generation::gfx12},
};

constexpr std::array<const char*, kLayoutCount> kLayoutNames = {
    "SOP2",  "SOPK", "SOP1", "SOPC", "SOPP",   "SMEM",    "VOP1",  "VOP2",  "VOPC", "VOP3", "VOP3",
    "VOP3P", "VOPD", "DS",   "FLAT", "GLOBAL", "SCRATCH", "MUBUF", "DPP16", "DPP8", "SDWA", "SDWA compare"};

}  // namespace

Refusal refuse_format(Generation generation, uint32_t word) {
    for (const Family& family : kFamiliesLeftOut)
        if (family.first <= generation && generation <= family.last && (word & family.prefix_mask) == family.prefix)
            return {.why = "is left out", .part = family.name, .kind = DecodeError::family_left_out};
    return {.why = "starts like no instruction", .kind = DecodeError::no_format, .value = word};
}

Refusal refuse_number(Generation generation, Layout layout, uint32_t number) {
    constexpr uint32_t kFirstTyped = 0x80, kLastTyped = 0x8F;
    if (generation == Generation::gfx12 && layout == Layout::MUBUF && number >= kFirstTyped && number <= kLastTyped)
        return {.why = "is left out", .part = "MTBUF", .kind = DecodeError::family_left_out};
    return {.why = "has no such row",
            .part = kLayoutNames[static_cast<size_t>(layout)],
            .kind = DecodeError::unknown_opcode,
            .value = number};
}

std::string reason(Target target, WaveSize wave, const Decoded& decoded) {
    const Refusal& refusal = decoded.refusal;
    const std::string_view kind = name(refusal.kind);
    const std::string row = full_mnemonic(generation(target), decoded.instruction);
    switch (refusal.kind) {
        case DecodeError::truncated:
            return std::string(kind);
        case DecodeError::no_format:
            return fmt::format("{} starts with {:#010x}", kind, refusal.value);
        case DecodeError::family_left_out:
            return fmt::format("{}: {}", kind, refusal.part);
        case DecodeError::unknown_opcode:
            return fmt::format("{}: {} {}", kind, refusal.part, refusal.value);
        case DecodeError::reserved_bits:
            return fmt::format("{}: {}: {:#010x} of word {}", kind, row, refusal.value, refusal.word);
        case DecodeError::operand:
        case DecodeError::form:
            break;
    }
    return fmt::format("{}: {}: {}", kind, row, describe(refusal, generation(target), wave, decoded.instruction));
}

}  // namespace riftjit::rdna
