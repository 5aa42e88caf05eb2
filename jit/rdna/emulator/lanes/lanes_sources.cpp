// Arguments, in the header's order: rdi, rsi, edx, ecx, r8d.
#include "jit/rdna/emulator/lanes/lanes_sources.h"

#include <xbyak/xbyak.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "jit/code_memory.h"

namespace riftjit::rdna::emulator {
namespace {

using namespace Xbyak::util;
using Xbyak::Reg32;
using Xbyak::Xmm, Xbyak::Ymm, Xbyak::Zmm;

constexpr size_t kMaxCodeBytes = 1024;

class SourceEmitter : public Xbyak::CodeGenerator {
public:
    SourceEmitter(LaneIsa isa, void (SourceEmitter::*emit)())
        : CodeGenerator(kMaxCodeBytes, Xbyak::DontSetProtectRWE), isa_(isa) {
        (this->*emit)();
        vzeroupper();
        ret();
        align(32);
        L(shifts_);
        for (uint32_t nibble = 0; nibble < 8; ++nibble) dd(4 * nibble);
    }

    void fill() {
        broadcast(value_, esi);
        for_blocks([&](int offset) { vmovups(ptr[rdi + offset], value_); });
    }
    void fill_pair() {
        broadcast(value_, edx);
        broadcast(high_value_, ecx);
        for_blocks([&](int offset) {
            vmovups(ptr[rdi + offset], value_);
            vmovups(ptr[rsi + offset], high_value_);
        });
    }
    void modify() {
        vmovd(shift_, edx);
        broadcast(keep_, ecx);
        broadcast(flip_, r8d);
        for_blocks([&](int offset) {
            vmovups(value_, ptr[rsi + offset]);
            vpsrld(value_, value_, shift_);
            vandps(value_, value_, keep_);
            vxorps(value_, value_, flip_);
            vmovups(ptr[rdi + offset], value_);
        });
    }
    void pack() {
        vmovd(shift_, edx);
        vmovd(high_shift_, ecx);
        broadcast(flip_, r8d);
        for_blocks([&](int offset) {
            vmovups(value_, ptr[rsi + offset]);
            vpsrld(high_value_, value_, high_shift_);
            vpslld(high_value_, high_value_, 16);
            vpsrld(value_, value_, shift_);
            vpslld(value_, value_, 16);
            vpsrld(value_, value_, 16);
            vorps(value_, value_, high_value_);
            vxorps(value_, value_, flip_);
            vmovups(ptr[rdi + offset], value_);
        });
    }
    // Eight places at a time. AVX2 looks each up in both halves of the row, and bit 3, made the sign, chooses.
    void permute_row() {
        constexpr int kEightWords = 32;
        for (const auto& [nibbles, offset] : {std::pair{edx, 0}, std::pair{ecx, kEightWords}}) {
            vmovd(xmm0, nibbles);
            vpbroadcastd(ymm0, xmm0);
            vpsrlvd(ymm0, ymm0, ptr[rip + shifts_]);
            vpermd(ymm1, ymm0, ptr[rsi]);
            vpermd(ymm2, ymm0, ptr[rsi + kEightWords]);
            vpslld(ymm0, ymm0, 28);
            vblendvps(ymm1, ymm1, ymm2, ymm0);
            vmovups(ptr[rdi + offset], ymm1);
        }
    }

private:
    Xmm vector(int index) const {
        return isa_ == LaneIsa::avx512 ? static_cast<Xmm>(Zmm(index)) : static_cast<Xmm>(Ymm(index));
    }
    template <class Block>
    void for_blocks(Block block) {
        const int bytes = isa_ == LaneIsa::avx512 ? 64 : 32;
        for (int offset = 0; offset < static_cast<int>(4 * kLanesPerCall); offset += bytes) block(offset);
    }
    void broadcast(const Xmm& to, const Reg32& word) {
        vmovd(Xmm(to.getIdx()), word);
        vpbroadcastd(to, Xmm(to.getIdx()));
    }

    const LaneIsa isa_;
    Xbyak::Label shifts_;
    const Xmm value_ = vector(0), high_value_ = vector(1), keep_ = vector(1), flip_ = vector(2);
    const Xmm shift_ = xmm3, high_shift_ = xmm4;
};

void fill_words(uint32_t* to, uint32_t word) {
    for (unsigned lane = 0; lane < kLanesPerCall; ++lane) to[lane] = word;
}
void fill_word_pairs(uint32_t* to, uint32_t* to_high, uint32_t word, uint32_t high_word) {
    fill_words(to, word);
    fill_words(to_high, high_word);
}
void modify_words(uint32_t* to, const uint32_t* from, uint32_t shift, uint32_t keep, uint32_t flip) {
    for (unsigned lane = 0; lane < kLanesPerCall; ++lane) to[lane] = (from[lane] >> shift & keep) ^ flip;
}
void pack_words(uint32_t* to, const uint32_t* from, uint32_t low_shift, uint32_t high_shift, uint32_t flip) {
    for (unsigned lane = 0; lane < kLanesPerCall; ++lane)
        to[lane] = ((from[lane] >> low_shift & 0xFFFF) | from[lane] >> high_shift << 16) ^ flip;
}

void permute_words(uint32_t* to, const uint32_t* row, uint32_t low, uint32_t high) {
    for (unsigned i = 0; i < 8; ++i) to[i] = row[low >> 4 * i & 15];
    for (unsigned i = 0; i < 8; ++i) to[8 + i] = row[high >> 4 * i & 15];
}

struct SourceCode {
    CodeMemory memory;
    LaneSourceFunctions functions{fill_words, fill_word_pairs, modify_words, pack_words, permute_words};

    explicit SourceCode(LaneIsa isa) {
        if (isa == LaneIsa::none) return;
        LaneSourceFunctions emitted{};
        const bool complete =
            add(isa, &SourceEmitter::fill, emitted.fill) && add(isa, &SourceEmitter::fill_pair, emitted.fill_pair) &&
            add(isa, &SourceEmitter::modify, emitted.modify) && add(isa, &SourceEmitter::pack, emitted.pack) &&
            add(isa, &SourceEmitter::permute_row, emitted.permute_row);
        if (complete && memory.seal()) functions = emitted;
    }

private:
    template <class Function>
    bool add(LaneIsa isa, void (SourceEmitter::*emit)(), Function& function) {
        const SourceEmitter emitter(isa, emit);
        const auto code = memory.add(std::as_bytes(std::span(emitter.getCode(), emitter.getSize())));
        if (code) function = reinterpret_cast<Function>(const_cast<std::byte*>(*code));
        return code.has_value();
    }
};

}  // namespace

const LaneSourceFunctions& lane_source_functions(LaneIsa isa) {
    static const SourceCode none(LaneIsa::none), avx2(std::min(LaneIsa::avx2, host_lane_isa())),
        avx512(std::min(LaneIsa::avx512, host_lane_isa()));
    return (isa == LaneIsa::none ? none : isa == LaneIsa::avx2 ? avx2 : avx512).functions;
}

}  // namespace riftjit::rdna::emulator
