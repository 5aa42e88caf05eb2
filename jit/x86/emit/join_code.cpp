#include "jit/x86/emit/join_code.h"

#include <Zydis/Zydis.h>

#include <cstring>

#include "host/result.h"
#include "host/round_up.h"

namespace riftjit::x86 {

namespace {

constexpr std::byte kNop{0x90};

// Adds `shift` to what instructions address relative to rip: constants, in this code.
void move_constants(std::span<std::byte> instructions, int32_t shift) {
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisDecodedInstruction one;
    for (size_t at = 0; at < instructions.size(); at += one.length) {
        const ZyanStatus status =
            ZydisDecoderDecodeInstruction(&decoder, nullptr, instructions.data() + at, instructions.size() - at, &one);
        check(ZYAN_SUCCESS(status), "generated code decodes");
        const bool is_relative = (one.attributes & ZYDIS_ATTRIB_HAS_MODRM) != 0 && one.raw.modrm.mod == 0 &&
                                 one.raw.modrm.rm == 5 && one.raw.disp.size == 32;
        if (!is_relative) continue;
        std::byte* const place = instructions.data() + at + one.raw.disp.offset;
        int32_t displacement;
        std::memcpy(&displacement, place, sizeof displacement);
        displacement += shift;
        std::memcpy(place, &displacement, sizeof displacement);
    }
}

}  // namespace

uint32_t joined_bytes(const MachineCode& code) { return uint32_t(round_up(code.instruction_bytes, 64)); }

MachineCode join_code(MachineCode first, std::span<const MachineCode> parts) {
    check(first.bytes.size() == first.instruction_bytes && first.bytes.size() % 64 == 0, "code that ends at a line");
    MachineCode whole = std::move(first);
    size_t instructions_at = whole.bytes.size();
    for (const MachineCode& part : parts) whole.instruction_bytes += joined_bytes(part);
    whole.bytes.resize(whole.instruction_bytes, kNop);
    for (const MachineCode& part : parts) {
        const size_t own_constants = joined_bytes(part), constants_at = whole.bytes.size();
        std::memcpy(whole.bytes.data() + instructions_at, part.bytes.data(), part.instruction_bytes);
        if (part.bytes.size() > own_constants) {
            move_constants({whole.bytes.data() + instructions_at, part.instruction_bytes},
                           int32_t(constants_at - (instructions_at + own_constants)));
            whole.bytes.insert(whole.bytes.end(), part.bytes.begin() + ptrdiff_t(own_constants), part.bytes.end());
            whole.bytes.resize(round_up(whole.bytes.size(), 64));
        }
        instructions_at += own_constants;
    }
    return whole;
}

}  // namespace riftjit::x86
