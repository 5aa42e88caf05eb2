#include "jit/rdna/emulator/lanes/vector_emitter.h"

#include <cstring>

namespace riftjit::rdna::emulator {

using namespace Xbyak;
using namespace Xbyak::util;

namespace {

std::vector<uint32_t> words_of(uint64_t quad) {
    return {static_cast<uint32_t>(quad), static_cast<uint32_t>(quad >> 32)};
}
std::vector<uint32_t> repeated(const std::vector<uint32_t>& words) {  // as often as AVX2 has room for
    constexpr size_t kVectorWords = 8;
    std::vector<uint32_t> all;
    while (all.size() < kVectorWords) all.insert(all.end(), words.begin(), words.end());
    return all;
}

}  // namespace

Xmm VectorEmitter::vector(int index) const {
    return is_avx512() ? static_cast<Xmm>(Zmm(index)) : static_cast<Xmm>(Ymm(index));
}
Xmm VectorEmitter::half_width(const Xmm& whole) const {
    return is_avx512() ? static_cast<Xmm>(Ymm(whole.getIdx())) : Xmm(whole.getIdx());
}

Xbyak::Address VectorEmitter::pooled(std::vector<uint32_t> words) { return ptr[rip + pool_[std::move(words)]]; }

void VectorEmitter::emit_pool() {
    for (auto& [words, label] : pool_) {
        align(32);
        L(label);
        for (const uint32_t word : words) dd(word);
    }
}

void VectorEmitter::load_word(const Xmm& to, uint32_t word) { vpbroadcastd(to, pooled({word})); }
void VectorEmitter::load_quad(const Xmm& to, uint64_t quad) { vpbroadcastq(to, pooled(words_of(quad))); }

void VectorEmitter::load_bytes(const Xmm& to, const std::array<uint8_t, 16>& bytes) {
    std::vector<uint32_t> words(4);
    std::memcpy(words.data(), bytes.data(), bytes.size());
    is_avx512() ? vbroadcasti32x4(Zmm(to.getIdx()), pooled(std::move(words)))
                : vbroadcasti128(Ymm(to.getIdx()), pooled(std::move(words)));
}

Xbyak::Address VectorEmitter::every_word(uint32_t word) {
    return is_avx512() ? ptr_b[rip + pool_[{word}]] : pooled(repeated({word}));
}
Xbyak::Address VectorEmitter::every_quad(uint64_t quad) {
    return is_avx512() ? ptr_b[rip + pool_[words_of(quad)]] : pooled(repeated(words_of(quad)));
}

void VectorEmitter::move(const Xmm& to, const Xmm& from) { is_avx512() ? vmovdqa32(to, from) : vmovdqa(to, from); }

void VectorEmitter::and_bits(const Xmm& to, const Xmm& x, const Xbyak::Operand& y) {
    is_avx512() ? vpandd(to, x, y) : vpand(to, x, y);
}
void VectorEmitter::and_not_bits(const Xmm& to, const Xmm& inverted, const Xbyak::Operand& y) {
    is_avx512() ? vpandnd(to, inverted, y) : vpandn(to, inverted, y);
}
void VectorEmitter::or_bits(const Xmm& to, const Xmm& x, const Xbyak::Operand& y) {
    is_avx512() ? vpord(to, x, y) : vpor(to, x, y);
}
void VectorEmitter::xor_bits(const Xmm& to, const Xmm& x, const Xbyak::Operand& y) {
    is_avx512() ? vpxord(to, x, y) : vpxor(to, x, y);
}

void VectorEmitter::and_word(const Xmm& to, const Xmm& x, uint32_t word) { and_bits(to, x, every_word(word)); }
void VectorEmitter::and_quad(const Xmm& to, const Xmm& x, uint64_t quad) {
    is_avx512() ? vpandq(to, x, every_quad(quad)) : vpand(to, x, every_quad(quad));
}

void VectorEmitter::jump_where_all_negative(const Xmm& lanes, Label& to) {
    if (is_avx512()) {
        vpmovd2m(k4, lanes);
        kortestw(k4, k4);
        jc(to, CodeGenerator::T_NEAR);
    } else {
        constexpr uint32_t kAllWords = 0xFF;
        vmovmskps(r10d, lanes);
        cmp(r10d, kAllWords);
        je(to, CodeGenerator::T_NEAR);
    }
}

void VectorEmitter::blend(const Xmm& to, const Xmm& x, const Xmm& y, const Xmm& chosen) {
    if (!is_avx512()) return vpblendvb(Ymm(to.getIdx()), Ymm(x.getIdx()), Ymm(y.getIdx()), Ymm(chosen.getIdx()));
    vpmovd2m(k4, chosen);
    vpblendmd(to | k4, x, y);
}

void VectorEmitter::round_f32(const Xmm& to, const Xmm& x, uint8_t mode) {
    is_avx512() ? vrndscaleps(to, x, mode) : vroundps(to, x, mode);
}

void VectorEmitter::compare_f32(const Xmm& to, const Xmm& x, const Xbyak::Operand& y, uint8_t predicate) {
    if (!is_avx512()) return vcmpps(to, x, y, predicate);
    vcmpps(k4, x, y, predicate);
    vpmovm2d(to, k4);
}
void VectorEmitter::compare_f64(const Xmm& to, const Xmm& x, const Xbyak::Operand& y, uint8_t predicate) {
    if (!is_avx512()) return vcmppd(to, x, y, predicate);
    vcmppd(k4, x, y, predicate);
    vpmovm2q(to, k4);
}

void VectorEmitter::greater_i32(const Xmm& to, const Xmm& x, const Xbyak::Operand& y) {
    if (!is_avx512()) return vpcmpgtd(to, x, y);
    vpcmpgtd(k4, x, y);
    vpmovm2d(to, k4);
}
void VectorEmitter::greater_i64(const Xmm& to, const Xmm& x, const Xbyak::Operand& y) {
    if (!is_avx512()) return vpcmpgtq(to, x, y);
    vpcmpgtq(k4, x, y);
    vpmovm2q(to, k4);
}
void VectorEmitter::equal_i32(const Xmm& to, const Xmm& x, const Xbyak::Operand& y) {
    if (!is_avx512()) return vpcmpeqd(to, x, y);
    vpcmpeqd(k4, x, y);
    vpmovm2d(to, k4);
}
void VectorEmitter::equal_i64(const Xmm& to, const Xmm& x, const Xbyak::Operand& y) {
    if (!is_avx512()) return vpcmpeqq(to, x, y);
    vpcmpeqq(k4, x, y);
    vpmovm2q(to, k4);
}

void VectorEmitter::widen(const Xmm& to, const Xmm& from) {
    const Xmm halves = half_width(to);
    if (is_avx512()) {
        vpmovdw(halves, from);
    } else {  // the low halves of each 128 bits to its front, then both fronts together
        constexpr uint32_t kFirst = 0x05040100, kSecond = 0x0D0C0908;
        constexpr uint8_t kEvenQuarters = 0x08;
        vpshufb(to, from, pooled({kFirst, kSecond, kFirst, kSecond, kFirst, kSecond, kFirst, kSecond}));
        vpermq(Ymm(to.getIdx()), Ymm(to.getIdx()), kEvenQuarters);
    }
    vcvtph2ps(to, halves);
}
void VectorEmitter::widen_high(const Xmm& to, const Xmm& from) {
    vpsrld(to, from, 16);
    widen(to, to);
}
void VectorEmitter::narrow(const Xmm& to, const Xmm& from, HalfRounding rounding) {
    vcvtps2ph(half_width(to), from, static_cast<uint8_t>(rounding));
    vpmovzxwd(to, half_width(to));
}

void VectorEmitter::convert_half_to_f64(const Xmm& to, const Xmm& from, int half) {
    if (half == 0) return vcvtps2pd(to, half_width(from));
    is_avx512() ? vextractf64x4(half_width(to), Zmm(from.getIdx()), 1)
                : vextractf128(half_width(to), Ymm(from.getIdx()), 1);
    vcvtps2pd(to, half_width(to));
}

void VectorEmitter::low_words(const Xmm& to, const Xmm& from) {
    if (is_avx512()) return vpmovqd(half_width(to), from);
    constexpr uint8_t kEvenWords = 0x88, kEvenQuarters = 0x08;
    vshufps(to, from, from, kEvenWords);
    vpermq(Ymm(to.getIdx()), Ymm(to.getIdx()), kEvenQuarters);
}

void VectorEmitter::join_halves(const Xmm& to, const Xmm& lower, const Xmm& upper) {
    is_avx512() ? vinserti64x4(Zmm(to.getIdx()), Zmm(lower.getIdx()), Ymm(upper.getIdx()), 1)
                : vinserti128(Ymm(to.getIdx()), Ymm(lower.getIdx()), Xmm(upper.getIdx()), 1);
}

}  // namespace riftjit::rdna::emulator
