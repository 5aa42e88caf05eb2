#include "jit/x86/columns/column_random.h"

#include <limits>

#include "jit/columns/column_program.h"
#include "jit/x86/columns/column_functions.h"

namespace riftjit::x86 {

using Vec = ColumnCompiler::Vec;
using Gp = ColumnCompiler::Gp;
using Mem = ColumnCompiler::Mem;
using Mask = ColumnCompiler::Mask;

namespace {

constexpr uint64_t kLowDword = 0xffff'ffff;

// Between two looks whether all lanes are done: the branch is then foreseen more often, which costs less than terms in
// vain.
constexpr int kPoissonTermsPerTest = 4;

}  // namespace

void ColumnRandom::prepare(const Gp& args) {
    slots_ = cc_.newStack(uint32_t(kSlots * slot_bytes()), 64);
    const Gp value = cc_.newUInt64();
    for (int half = 0; half < 2; ++half) {
        const Gp key = cc_.newUInt32();
        cc_.mov(key, asmjit::x86::dword_ptr(args, int(offsetof(ColumnProgramArgs, key)) + 4 * half));
        for (int round = 0; round < int(kPhiloxRounds); ++round) {
            cc_.mov(value.r32(), key);
            fill_slot(2 * round + half, value);
            cc_.add(key, kPhiloxKeySteps[size_t(half)]);
        }
        cc_.mov(value.r32(), asmjit::x86::dword_ptr(args, int(offsetof(ColumnProgramArgs, step)) + 4 * half));
        fill_slot(2 * int(kPhiloxRounds) + half, value);
    }
}

void ColumnRandom::fill_slot(int index, const Gp& value) {
    const Mem start = slots_.cloneAdjusted(index * slot_bytes());
    if (cc_.is_avx512()) {
        Mem qword = start;
        qword.setSize(8);
        cc_.mov(qword, value);
    } else {
        cc_.vmovups(start, cc_.broadcast(value));
    }
}

Mem ColumnRandom::slot(int index) const {
    const Mem start = slots_.cloneAdjusted(index * slot_bytes());
    return cc_.is_avx512() ? start._1to8() : start;
}

void ColumnRandom::begin_elements(const Gp& first_id) { first_id_ = first_id; }

// out0 = high(M1 c2) ^ c1 ^ k0, out1 = low(M1 c2), out2 = high(M0 c0) ^ c3 ^ k1, out3 = low(M0 c0).
void ColumnRandom::run_rounds(Words& words) {
    auto& [c0, c1, c2, c3] = words.lanes;
    for (int round = 0; round < int(kPhiloxRounds); ++round) {
        const Vec first = cc_.multiply_u32(c0, cc_.splat_u64(kPhiloxMultipliers[0]));
        const Vec second = cc_.multiply_u32(c2, cc_.splat_u64(kPhiloxMultipliers[1]));
        c0 = exclusive_or(cc_.shift_right_u64(second, 32), c1, slot(2 * round));
        c2 = exclusive_or(cc_.shift_right_u64(first, 32), c3, slot(2 * round + 1));
        c1 = second;
        c3 = first;
    }
}

// `first` is overwritten.
Vec ColumnRandom::exclusive_or(const Vec& first, const ColumnCompiler::Source& second, const Mem& third) {
    if (!cc_.is_avx512()) return cc_.bit_xor(cc_.bit_xor(first, second), third);
    cc_.emit(Inst::kIdVpternlogq, first, second, third, asmjit::Imm(0x96));
    return first;
}

ColumnRandom::Words ColumnRandom::words(uint32_t draw, int part) {
    Words words;
    std::array<uint64_t, 8> iota;
    for (size_t lane = 0; lane < iota.size(); ++lane) iota[lane] = lane + size_t(part * cc_.doubles());
    const Mem lanes = cc_.table(iota.data(), size_t(cc_.vector_bytes()));
    words.lanes[0] = cc_.add_u64(cc_.broadcast(first_id_), lanes);
    words.lanes[1] = cc_.broadcast_u64(draw);
    for (int half = 0; half < 2; ++half) {
        words.lanes[size_t(2 + half)] = cc_.new_vector();
        Mem qword = slots_.cloneAdjusted((2 * int(kPhiloxRounds) + half) * slot_bytes());
        qword.setSize(8);
        cc_.vbroadcastsd(words.lanes[size_t(2 + half)], qword);
    }
    run_rounds(words);
    return words;
}

// ((high << 32 | low) >> 11) 2^-53, as high 2^-32 + (low >> 11) 2^-53: each is put below the leading bit of a number
// whose last bit has that weight, and that number subtracted; the sum has 53 bits and is exact.
Vec ColumnRandom::unit_of(const Vec& low_word, const Vec& high_word) {
    const Vec high = cc_.bit_or(cc_.bit_and(high_word, cc_.splat_u64(kLowDword)), cc_.splat_f64(0x1p20));
    const Vec low = cc_.bit_or(cc_.shift_right_u64(cc_.shift_left_u64(low_word, 32), 43), cc_.splat_f64(0.5));
    return cc_.add(cc_.subtract(high, cc_.splat_f64(0x1p20)), cc_.subtract(low, cc_.splat_f64(0.5)));
}

Vec ColumnRandom::uniform(uint32_t draw, int part) {
    const Words drawn = words(draw, part);
    return unit_of(drawn.lanes[0], drawn.lanes[1]);
}

Vec ColumnRandom::uniform_of_24_bits(uint32_t draw, int part) {
    const Vec bits = cc_.shift_right_u64(cc_.shift_left_u64(words(draw, part).lanes[1], 32), 40);
    return cc_.subtract(cc_.bit_or(bits, cc_.splat_f64(0x1p28)), cc_.splat_f64(0x1p28));
}

Vec ColumnRandom::normal(uint32_t draw, int part) {
    const Words drawn = words(draw, part);
    const Vec rest = cc_.subtract(cc_.broadcast_f64(1), unit_of(drawn.lanes[0], drawn.lanes[1]));
    const Vec radius = cc_.square_root(cc_.multiply(emit_log_of_unit(cc_, rest), cc_.splat_f64(-2)));
    return cc_.multiply(radius, emit_cos_of_turn(cc_, unit_of(drawn.lanes[2], drawn.lanes[3])));
}

ColumnRandom::PoissonMean ColumnRandom::poisson_mean(const Vec& mean) {
    const Vec bounded = cc_.minimum(cc_.maximum(mean, cc_.splat_f64(0)), cc_.splat_f64(kMostPoissonMean));
    return {mean, bounded, emit_exp(cc_, cc_.subtract(cc_.broadcast_f64(0), bounded))};
}

ColumnRandom::Mem ColumnRandom::keep_mean(const PoissonMean& mean) {
    const Mem start = cc_.newStack(3 * sizeof(double), sizeof(double));
    int offset = 0;
    for (const Vec* part : {&mean.mean, &mean.bounded, &mean.probability}) {
        cc_.vmovsd(start.cloneAdjusted(offset), part->xmm());
        offset += int(sizeof(double));
    }
    return start;
}

ColumnRandom::PoissonMean ColumnRandom::kept_mean(const Mem& start) {
    PoissonMean mean{cc_.new_lasting_vector(), cc_.new_lasting_vector(), cc_.new_lasting_vector()};
    int offset = 0;
    for (const Vec* part : {&mean.mean, &mean.bounded, &mean.probability}) {
        Mem number = start.cloneAdjusted(offset);
        number.setSize(sizeof(double));
        cc_.vbroadcastsd(*part, number);
        offset += int(sizeof(double));
    }
    return mean;
}

// All lanes count together; one is done when u < sum, or when it is past its mean and its probability has vanished, and
// stays so, since sums grow and probabilities past the mean shrink. The terms of the largest mean vanish before 1 / k
// leaves the table: p_k < e^-102 at its end.
Vec ColumnRandom::poisson(uint32_t draw, int part, const PoissonMean& mean) {
    static constexpr std::array<double, kMostPoissonCount> kInverses = [] {
        std::array<double, kMostPoissonCount> inverses{};
        for (size_t k = 1; k < inverses.size(); ++k) inverses[k] = 1.0 / double(k);
        return inverses;
    }();
    const Vec u = uniform(draw, part), probability = cc_.new_lasting_vector(), sum = cc_.new_lasting_vector();
    cc_.vmovapd(probability, mean.probability);
    cc_.vmovapd(sum, probability);
    const Vec step = cc_.new_lasting_vector(), count = cc_.new_lasting_vector(), ratio = cc_.new_lasting_vector();
    cc_.vxorps(step, step, step);
    cc_.vxorps(count, count, count);
    const Gp inverse = cc_.new_lasting_pointer();
    cc_.lea(inverse, cc_.table(kInverses.data(), sizeof kInverses));
    const asmjit::Label next = cc_.newLabel(), done = cc_.newLabel();
    cc_.bind(next);
    for (int term = 0; term < kPoissonTermsPerTest; ++term) {
        const Mask is_short = cc_.compare_f64(u, sum, Compare::not_less);
        const Mask is_early = cc_.compare_f64(mean.bounded, step, Compare::greater);
        const Mask is_likely = cc_.compare_f64(probability, cc_.splat_f64(kLeastPoissonProbability), Compare::not_less);
        const Mask is_active = cc_.mask_and(is_short, cc_.mask_or(is_early, is_likely));
        if (term == 0) {
            const Gp bits = cc_.bits_of(is_active);
            cc_.test(bits, bits);
            cc_.jz(done);
        }
        cc_.vaddpd(step, step, cc_.splat_f64(1));
        cc_.vbroadcastsd(ratio, asmjit::x86::qword_ptr(inverse, (term + 1) * int(sizeof(double))));
        cc_.vmulpd(ratio, ratio, mean.bounded);
        cc_.vmulpd(probability, probability, ratio);
        cc_.vaddpd(sum, sum, probability);
        cc_.assign_where(count, is_active, step);
    }
    cc_.add(inverse, kPoissonTermsPerTest * int(sizeof(double)));
    cc_.jmp(next);
    cc_.bind(done);
    const Mask is_low = cc_.compare_f64(mean.mean, cc_.splat_f64(0), Compare::not_greater_equal);
    const Mask is_high = cc_.compare_f64(mean.mean, cc_.splat_f64(kMostPoissonMean), Compare::not_less_equal);
    return cc_.select_f64(cc_.mask_or(is_low, is_high), cc_.splat_f64(std::numeric_limits<double>::quiet_NaN()), count);
}

}  // namespace riftjit::x86
