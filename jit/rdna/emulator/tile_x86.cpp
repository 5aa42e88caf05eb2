#include "jit/rdna/emulator/tile_x86.h"

#include <xbyak/xbyak.h>

#include <array>

#include "jit/code_memory.h"

namespace riftjit::rdna::emulator {
namespace {

using namespace Xbyak;

constexpr int kTile = 16, kRowBytes = kTile * 4, kFactorRowBytes = kMaxDepth * 4;
constexpr uint8_t kUnordered = 3;  // predicate of VCMPPS

// Registers. Arguments: rdi d, rsi c, rdx a, rcx b, r8 depth. rax gathers the lanes of NaN; r9, r10 walk through a and
// b, r11 counts. AVX-512: zmm0-7 the sums of eight rows, zmm16 a row of b. AVX2: ymm0-7 those of four rows, by halves,
// ymm8 and ymm9 a row of b, ymm10 an element of a.
class TileEmitter : public CodeGenerator {
public:
    explicit TileEmitter(LaneIsa isa) : CodeGenerator(kMaxCodeBytes, DontSetProtectRWE), isa_(isa) {
        xor_(eax, eax);
        for (int row = 0; row < kTile; row += rows()) emit_rows(row);
        test(eax, eax);
        setz(al);
        movzx(eax, al);
        vzeroupper();
        ret();
    }

private:
    static constexpr size_t kMaxCodeBytes = 4096;

    bool is_avx512() const { return isa_ == LaneIsa::avx512; }
    int rows() const { return is_avx512() ? 8 : 4; }
    int parts() const { return is_avx512() ? 1 : 2; }  // registers of a row
    Xmm vector(int index) const { return is_avx512() ? static_cast<Xmm>(Zmm(index)) : static_cast<Xmm>(Ymm(index)); }
    Xmm sum(int row, int part) const { return vector(row * parts() + part); }

    void for_each_sum(const auto& function) {
        for (int row = 0; row < rows(); ++row)
            for (int part = 0; part < parts(); ++part) function(row, part);
    }
    void emit_rows(int first) {
        const auto place = [&](int row, int part) { return (first + row) * kRowBytes + part * 32; };
        for_each_sum([&](int row, int part) { vmovups(sum(row, part), ptr[rsi + place(row, part)]); });
        lea(r9, ptr[rdx + first * kFactorRowBytes]);
        mov(r10, rcx);
        mov(r11, r8);
        Label next;
        L(next);
        add_products();
        add(r9, 4);
        add(r10, kRowBytes);
        dec(r11);
        jnz(next);
        for_each_sum([&](int row, int part) {
            vmovups(ptr[rdi + place(row, part)], sum(row, part));
            if (is_avx512()) {
                vcmpps(k1, sum(row, part), sum(row, part), kUnordered);
                kmovw(r11d, k1);
            } else {
                vcmpps(ymm10, sum(row, part), sum(row, part), kUnordered);
                vmovmskps(r11d, ymm10);
            }
            or_(eax, r11d);
        });
    }
    void add_products() {
        if (is_avx512()) {
            vmovups(zmm16, ptr[r10]);
            for (int row = 0; row < rows(); ++row) vfmadd231ps(sum(row, 0), zmm16, ptr_b[r9 + row * kFactorRowBytes]);
            return;
        }
        vmovups(ymm8, ptr[r10]);
        vmovups(ymm9, ptr[r10 + 32]);
        for (int row = 0; row < rows(); ++row) {
            vbroadcastss(ymm10, ptr[r9 + row * kFactorRowBytes]);
            vfmadd231ps(sum(row, 0), ymm8, ymm10);
            vfmadd231ps(sum(row, 1), ymm9, ymm10);
        }
    }

    LaneIsa isa_;
};

struct TileCode {
    CodeMemory memory;
    TileKernelFunction function = nullptr;

    explicit TileCode(LaneIsa isa) {
        const TileEmitter emitter(isa);
        const auto code = memory.add(std::as_bytes(std::span(emitter.getCode(), emitter.getSize())));
        if (code && memory.seal()) function = reinterpret_cast<TileKernelFunction>(const_cast<std::byte*>(*code));
    }
};

}  // namespace

TileKernelFunction tile_kernel(LaneIsa isa) {
    if (isa == LaneIsa::none || isa > host_lane_isa()) return nullptr;
    static const TileCode avx2(LaneIsa::avx2);
    if (isa == LaneIsa::avx2) return avx2.function;
    static const TileCode avx512(LaneIsa::avx512);
    return avx512.function;
}

}  // namespace riftjit::rdna::emulator
