// Factors become rows of f32 in memory, one for each position of K: of A by rows, of B by columns, as the registers'
// lanes have them. A row of B in a register times one element of A, in every lane, goes to a row of sums. Integers take
// the same way: 64 products of 8 bits are below 2^24, so f32 holds their sums exactly.
#include "jit/rdna/emulator/lanes/matrix_x86.h"

#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "jit/code_memory.h"
#include "jit/rdna/emulator/lanes/vector_float8.h"
#include "jit/rdna/emulator/valu/wmma_layout.h"

namespace riftjit::rdna::emulator {
namespace {

using namespace Xbyak;
using Element = MatrixElement;

constexpr int kRowBytes = kTile * 4;
constexpr uint32_t kSignBit = 0x80000000, kHighHalf = 0xFFFF0000;

// Registers. Arguments: rdi d, rsi a, rdx b, rcx c, r8 index, r9 scratch; once the factors are there, rsi and rdx walk
// through them and r8 counts. AVX-512: zmm0-15 the rows of sums, zmm16 a row of B; k1 NaNs. AVX2: ymm0-7 four rows of
// sums by halves, ymm8 and ymm9 a row of B, ymm10 an element of A, ymm14 NaNs. 11-13 and 17-19 are scratch.
class MatrixEmitter : public VectorEmitter {
public:
    static constexpr size_t kMaxCodeBytes = 1 << 16;

    MatrixEmitter(std::span<std::byte> buffer, LaneIsa isa, const MatrixCall& call)
        : VectorEmitter(buffer, isa),
          call_(call),
          is_sparse_(call.operation.sparsity == Sparsity::sparse),
          is_integer_(call.operation.result == MatrixResult::i32),
          groups_(static_cast<int>(lane_groups(call))),
          held_(static_cast<int>(positions(call))),
          b_held_(static_cast<int>(call.b_registers * 32 / element_bits(call.operation.b))) {
        widen_factor(rsi, call.operation.a, 0, call.a_registers, offsetof(MatrixScratch, a));
        widen_factor(rdx, call.operation.b, 1, call.b_registers, offsetof(MatrixScratch, b));
        if (is_sparse_) find_met_rows();
        is_avx512() ? kxorw(k1, k1, k1) : vpxor(ymm14, ymm14, ymm14);
        for (int first = 0; first < static_cast<int>(kTile); first += rows()) sum_rows(first);
        Label declined;
        if (!is_integer_) {
            is_avx512() ? kortestw(k1, k1) : vptest(ymm14, ymm14);
            jnz(declined, CodeGenerator::T_NEAR);
        }
        write_results();
        mov(eax, 1);
        vzeroupper();
        ret();
        L(declined);
        xor_(eax, eax);
        vzeroupper();
        ret();
        emit_pool();
    }

private:
    int rows() const { return is_avx512() ? 16 : 4; }  // at once
    int parts() const { return is_avx512() ? 1 : 2; }  // registers of a row
    int part_bytes() const { return kRowBytes / parts(); }
    Xmm sum(int row, int part) const { return vector(row % rows() * parts() + part); }
    Xmm scratch(int index) const { return vector((is_avx512() ? 17 : 11) + index); }
    void load(const Xmm& to, const Xbyak::Address& from) { vmovups(to, from); }

    // ---- Factors ----

    void widen_factor(const Reg64& from, Element element, int source, unsigned registers, size_t to_bytes) {
        const int bits = static_cast<int>(element_bits(element)), per_word = 32 / bits;
        const Xmm words = scratch(0), wide = scratch(1);
        for (int group = 0; group < groups_; ++group)
            for (int reg = 0; reg < static_cast<int>(registers); ++reg)
                for (int part = 0; part < parts(); ++part) {
                    const int lane_bytes = group * kRowBytes + part * part_bytes();
                    load(words, ptr[from + reg * static_cast<int>(call_.lanes) * 4 + lane_bytes]);
                    for (int i = 0; i < per_word; ++i) {
                        decode(wide, words, element, source, i);
                        const int row = (group * static_cast<int>(registers) + reg) * per_word + i;
                        vmovups(ptr[r9 + static_cast<int>(to_bytes) + row * kRowBytes + part * part_bytes()], wide);
                    }
                }
    }
    void decode(const Xmm& to, const Xmm& words, Element element, int source, int i) {
        switch (element) {
            case Element::f16:
                i == 0 ? widen(to, words) : widen_high(to, words);
                break;
            case Element::bf16:
                i == 0 ? vpslld(to, words, 16) : and_word(to, words, kHighHalf);
                break;
            case Element::fp8:
                return widen_float8(*this, Float8::fp8, to, words, i, scratch(2));
            case Element::bf8:
                return widen_float8(*this, Float8::bf8, to, words, i, scratch(2));
            case Element::i8:
            case Element::i4:
                return decode_integer(to, words, static_cast<int>(element_bits(element)), source, i);
        }
        const uint8_t negations = i % 2 == 0 ? call_.neg_lo : call_.neg_hi;
        if ((negations >> source & 1) != 0) xor_bits(to, to, every_word(kSignBit));
    }
    void decode_integer(const Xmm& to, const Xmm& words, int bits, int source, int i) {
        const auto above = static_cast<uint8_t>(32 - bits * (i + 1)), unused = static_cast<uint8_t>(32 - bits);
        above == 0 ? move(to, words) : vpslld(to, words, above);
        (call_.neg_lo >> source & 1) != 0 ? vpsrad(to, to, unused) : vpsrld(to, to, unused);
        vcvtdq2ps(to, to);
    }
    // Sparse: for each position and row of A, where the row of B lies that it meets.
    void find_met_rows() {
        const Xmm words = scratch(0), met = scratch(1);
        const auto set = static_cast<int>((call_.op_sel & 3) * 2 * static_cast<unsigned>(held_) % 32);
        for (int group = 0; group < groups_; ++group)
            for (int part = 0; part < parts(); ++part) {
                load(words, ptr[r8 + group * kRowBytes + part * part_bytes()]);
                for (int i = 0; i < held_; ++i) {
                    const int row = group * held_ + i;
                    vpsrld(met, words, static_cast<uint8_t>(set + 2 * i));
                    and_word(met, met, 3);
                    vpaddd(met, met, every_word(static_cast<uint32_t>(group * b_held_ + 4 * (i / 2))));
                    vpslld(met, met, 6);
                    vmovups(ptr[r9 + static_cast<int>(offsetof(MatrixScratch, met)) + row * kRowBytes +
                                part * part_bytes()],
                            met);
                }
            }
    }

    // ---- Sums ----

    Xbyak::Address place(const Reg64& registers, int row, int part) const {
        const TilePlace at = call_.result_rows[static_cast<size_t>(row)];
        return ptr[registers + static_cast<int>(at.reg * call_.lanes + at.lane) * 4 + part * part_bytes()];
    }
    bool is_high(int row) const { return call_.result_rows[static_cast<size_t>(row)].shift != 0; }

    void for_each_sum(int first, const auto& function) {
        for (int row = first; row < first + rows(); ++row)
            for (int part = 0; part < parts(); ++part) function(row, part);
    }
    void sum_rows(int first) {
        for_each_sum(first, [&](int row, int part) { start(row, part); });
        lea(rsi, ptr[r9 + static_cast<int>(offsetof(MatrixScratch, a)) + 4 * first]);
        lea(rdx, ptr[r9 + static_cast<int>(is_sparse_ ? offsetof(MatrixScratch, met) + 4 * static_cast<size_t>(first)
                                                      : offsetof(MatrixScratch, b))]);
        mov(r8d, static_cast<uint32_t>(groups_ * held_));
        Label next;
        L(next);
        is_sparse_ ? add_sparse_products(first) : add_products(first);
        add(rsi, kRowBytes);
        add(rdx, kRowBytes);
        dec(r8d);
        jnz(next, CodeGenerator::T_NEAR);
        for_each_sum(first, [&](int row, int part) { finish(row, part); });
    }
    void add_products(int first) {
        if (is_avx512()) {
            load(zmm16, ptr[rdx]);
            for (int row = 0; row < rows(); ++row) vfmadd231ps(sum(row, 0), zmm16, ptr_b[rsi + 4 * row]);
            return;
        }
        load(ymm8, ptr[rdx]);
        load(ymm9, ptr[rdx + 32]);
        for (int row = first; row < first + rows(); ++row) {
            vbroadcastss(ymm10, ptr[rsi + 4 * (row - first)]);
            vfmadd231ps(sum(row, 0), ymm8, ymm10);
            vfmadd231ps(sum(row, 1), ymm9, ymm10);
        }
    }
    void add_sparse_products(int first) {
        for (int row = first; row < first + rows(); ++row) {
            mov(eax, ptr[rdx + 4 * (row - first)]);
            const auto met = [&](int offset) {
                return ptr[r9 + rax + static_cast<int>(offsetof(MatrixScratch, b)) + offset];
            };
            if (is_avx512()) {
                load(zmm16, met(0));
                vfmadd231ps(sum(row, 0), zmm16, ptr_b[rsi + 4 * row]);
            } else {
                vbroadcastss(ymm10, ptr[rsi + 4 * (row - first)]);
                vfmadd231ps(sum(row, 0), ymm10, met(0));
                vfmadd231ps(sum(row, 1), ymm10, met(32));
            }
        }
    }

    // C, with its modifiers; integers are added to it at last.
    void start(int row, int part) {
        const Xmm to = sum(row, part);
        if (is_integer_) return xor_bits(to, to, to);
        call_.c ? load_accumulator(to, row, part) : load_word(to, call_.c_constant);
        if (is_sparse_) return;
        if ((call_.neg_hi & 4) != 0) and_word(to, to, ~kSignBit);
        if ((call_.neg_lo & 4) != 0) xor_bits(to, to, every_word(kSignBit));
    }
    void load_accumulator(const Xmm& to, int row, int part) {
        load(to, place(rcx, row, part));
        if (call_.operation.result == MatrixResult::f16) is_high(row) ? widen_high(to, to) : widen(to, to);
        if (call_.operation.result == MatrixResult::bf16)
            is_high(row) ? and_word(to, to, kHighHalf) : vpslld(to, to, 16);
    }
    // AVX2 has no registers for all sums.
    Xbyak::Address stored(int row, int part) const {
        return ptr[r9 + static_cast<int>(offsetof(MatrixScratch, sums)) + row * kRowBytes + part * part_bytes()];
    }
    void finish(int row, int part) {
        const Xmm result = sum(row, part);
        if (is_integer_) {
            vcvttps2dq(result, result);
            call_.c ? vpaddd(result, result, place(rcx, row, part))
                    : vpaddd(result, result, every_word(call_.c_constant));
        } else {
            note_nan(result);
        }
        if (!is_avx512()) vmovups(stored(row, part), result);
    }
    void note_nan(const Xmm& result) {
        if (is_avx512()) {
            vcmpps(k4, result, result, kUnordered);
            korw(k1, k1, k4);
        } else {
            vcmpps(ymm11, result, result, kUnordered);
            vpor(ymm14, ymm14, ymm11);
        }
    }

    // ---- Results ----

    void write_results() {
        const bool is_narrow =
            call_.operation.result == MatrixResult::f16 || call_.operation.result == MatrixResult::bf16;
        if (is_avx512() && is_narrow) {
            mov(eax, 0xAAAAAAAA);
            kmovd(k2, eax);
            knotd(k3, k2);
        }
        for (int row = 0; row < static_cast<int>(kTile); ++row)
            for (int part = 0; part < parts(); ++part) {
                const Xmm result = is_avx512() ? sum(row, part) : scratch(0);
                if (!is_avx512()) load(result, stored(row, part));
                if (is_narrow) narrow_result(result, row, part);
                vmovups(place(rdi, row, part), result);
            }
    }
    // Beside the other half of the register, which may be that of another row.
    void narrow_result(const Xmm& result, int row, int part) {
        if (call_.operation.result == MatrixResult::f16) {
            narrow(result, result, HalfRounding::nearest_even);
        } else {  // to the nearest bf16, of two the even one
            vpsrld(scratch(1), result, 16);
            and_word(scratch(1), scratch(1), 1);
            vpaddd(result, result, scratch(1));
            vpaddd(result, result, every_word(0x7FFF));
            vpsrld(result, result, 16);
        }
        if (is_high(row)) vpslld(result, result, 16);
        constexpr uint8_t kOddHalves = 0xAA, kEvenHalves = 0x55;
        if (is_avx512())
            vmovdqu16(result | (is_high(row) ? k3 : k2), place(rdi, row, part));
        else
            vpblendw(result, result, place(rdi, row, part), is_high(row) ? kEvenHalves : kOddHalves);
    }

    const MatrixCall& call_;
    bool is_sparse_, is_integer_;
    int groups_, held_, b_held_;
};

struct Code {
    CodeMemory memory;
    MatrixFunction function = nullptr;
};
void emit(LaneIsa isa, const MatrixCall& call, Code& code) {
    std::vector<std::byte> buffer(MatrixEmitter::kMaxCodeBytes);
    const MatrixEmitter emitter(buffer, isa, call);
    const auto place = code.memory.add(std::as_bytes(std::span(emitter.getCode(), emitter.getSize())));
    if (place && code.memory.seal()) code.function = reinterpret_cast<MatrixFunction>(const_cast<std::byte*>(*place));
}

// All of a call that decides the code.
auto key_of(LaneIsa isa, const MatrixCall& call) {
    const MatrixOperation& operation = call.operation;
    return std::tuple(isa, call.generation, call.lanes, operation.result, operation.a, operation.b, operation.depth,
                      operation.sparsity, call.a_registers, call.b_registers, call.neg_lo, call.neg_hi, call.op_sel,
                      call.c.has_value(), call.c_constant);
}

}  // namespace

MatrixFunction matrix_function(LaneIsa isa, const MatrixCall& call) {
    if (isa == LaneIsa::none || isa > host_lane_isa()) return nullptr;
    if (call.operation.result == MatrixResult::i32 && call.clamp) return nullptr;
    static std::mutex mutex;
    static std::map<decltype(key_of(isa, call)), Code> codes;
    const std::lock_guard lock(mutex);
    const auto [place, is_new] = codes.try_emplace(key_of(isa, call));
    if (is_new) emit(isa, call, place->second);
    return place->second.function;
}

}  // namespace riftjit::rdna::emulator
