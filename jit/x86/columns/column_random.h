// Random numbers of column programs: Philox 4x32-10 on the f64 lanes of a vector, and what is made of its words.
#pragma once

#include <array>

#include "jit/columns/philox.h"
#include "jit/x86/columns/column_compiler.h"

namespace riftjit::x86 {

class ColumnRandom {
public:
    using Vec = ColumnCompiler::Vec;
    using Gp = ColumnCompiler::Gp;
    using Mem = ColumnCompiler::Mem;

    explicit ColumnRandom(ColumnCompiler& compiler) : cc_(compiler) {}

    // Emitted once, before the loop: the round keys and the step from ColumnProgramArgs, to the stack.
    void prepare(const Gp& args);
    // Emitted at the start of each vector of elements; `first_id` is that of its first.
    void begin_elements(const Gp& first_id);

    // Of the f64 lanes of `part` (0: the only one in f64, or the low half of f32; 1: its high half).
    Vec uniform(uint32_t draw, int part);
    Vec uniform_of_24_bits(uint32_t draw, int part);
    Vec normal(uint32_t draw, int part);
    // What depends on a mean alone may be emitted before the loop.
    struct PoissonMean {
        Vec mean, bounded, probability;  // as given; within 0 and kMostPoissonMean; of no event
    };
    PoissonMean poisson_mean(const Vec& mean);
    // On the stack, the same for all lanes: many means have no room in registers.
    Mem keep_mean(const PoissonMean& mean);
    PoissonMean kept_mean(const Mem& start);
    Vec poisson(uint32_t draw, int part, const PoissonMean& mean);

private:
    // Counter words, one to a lane's low dword; what is above them is arbitrary.
    struct Words {
        std::array<Vec, 4> lanes;
    };

    Words words(uint32_t draw, int part);
    void run_rounds(Words& words);
    Vec exclusive_or(const Vec& first, const ColumnCompiler::Source& second, const Mem& third);
    Vec unit_of(const Vec& low_word, const Vec& high_word);
    // A slot of the stack whose value every lane gets.
    static constexpr int kSlots = 2 * int(kPhiloxRounds) + 2;
    Mem slot(int index) const;
    int slot_bytes() const { return cc_.is_avx512() ? 8 : 32; }
    void fill_slot(int index, const Gp& value);

    ColumnCompiler& cc_;
    Mem slots_;
    Gp first_id_;
};

}  // namespace riftjit::x86
