#include "jit/x86/emit/chain_compiler.h"

#include <array>
#include <stdexcept>

namespace riftjit::x86 {

using asmjit::CallConvId;

void ChainCompiler::ThrowErrors::handleError(asmjit::Error, const char* message, asmjit::BaseEmitter*) {
    throw std::runtime_error(message);
}

ChainCompiler::ChainCompiler(Isa isa) : isa_(isa) {
    holder_.init(asmjit::Environment(asmjit::Arch::kX64));
    holder_.setErrorHandler(&errors_);
    holder_.attach(this);
    pool_label_ = newLabel();
}

MachineCode ChainCompiler::finish_kernel() {
    endFunc();
    const asmjit::Label code_end = newLabel();
    bind(code_end);
    align(asmjit::AlignMode::kData, 64);
    bind(pool_label_);
    if (!pool_.bytes().empty()) embed(pool_.bytes().data(), pool_.bytes().size());
    finalize();
    holder_.flatten();
    holder_.resolveUnresolvedLinks();
    MachineCode code;
    code.instruction_bytes = static_cast<uint32_t>(holder_.labelOffset(code_end));
    code.bytes.resize(holder_.codeSize());
    holder_.copyFlattenedData(code.bytes.data(), code.bytes.size());
    return code;
}

ChainCompiler::Mem ChainCompiler::pooled(const void* bytes, size_t size, size_t alignment) {
    const int offset = pool_.offset_of({static_cast<const std::byte*>(bytes), size}, alignment);
    return asmjit::x86::ptr(pool_label_, offset);
}

ChainCompiler::Mem ChainCompiler::constant_u32(uint32_t value) { return pooled(&value, sizeof value, sizeof value); }

ChainCompiler::Mem ChainCompiler::splat_u32(uint32_t value) {
    if (has_avx512(isa_)) return constant_u32(value)._1to16();
    std::array<uint32_t, 8> copies;
    copies.fill(value);
    return pooled(copies.data(), sizeof copies, sizeof copies);
}

void ChainCompiler::set_first_lanes(const Mask& mask, int count) {
    if (has_avx512(isa_)) {
        const Gp bits = newUInt32();
        mov(bits, (1u << count) - 1);
        kmovd(mask.bits, bits);
        return;
    }
    std::array<uint32_t, 8> words{};
    std::fill_n(words.begin(), count, ~0u);
    vmovups(mask.words, pooled(words.data(), sizeof words, sizeof words));
}

void ChainCompiler::load_masked(const Vec& out, const Mem& start, const Mask& mask) {
    has_avx512(isa_) ? k(mask.bits).z().vmovups(out, start) : vmaskmovps(out, mask.words, start);
}

void ChainCompiler::compare(const Mask& mask, const Vec& left, const Mem& right, Compare predicate) {
    const auto immediate = static_cast<uint8_t>(predicate);
    has_avx512(isa_) ? vcmpps(mask.bits, left, right, immediate) : vcmpps(mask.words, left, right, immediate);
}

void ChainCompiler::select(const Vec& out, const Mask& mask, const Vec& yes, const Vec& no) {
    has_avx512(isa_) ? k(mask.bits).vblendmps(out, no, yes) : vblendvps(out, no, yes, mask.words);
}

void ChainCompiler::keep(const Vec& out, const Mask& mask, const Vec& value) {
    has_avx512(isa_) ? k(mask.bits).z().vmovaps(out, value) : vandps(out, value, mask.words);
}

}  // namespace riftjit::x86
