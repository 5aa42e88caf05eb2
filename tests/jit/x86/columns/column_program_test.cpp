// Column programs against the reference: arithmetic bit by bit, columns of every type, firing, random programs.
#include <gtest/gtest.h>

#include "jit/x86/columns/column_plan.h"
#include "tests/jit/x86/columns/column_runner.h"
#include "tests/kernel_cases.h"

namespace riftjit::x86 {
namespace column_program_test {

const std::vector<uint32_t> kLengths = {1, 7, 8, 9, 15, 16, 17, 31, 32, 100, 1000};

// What exact operations round in every way: the special numbers, and all sizes.
double any_number(Random& random) {
    constexpr double kSpecial[] = {0.0, -0.0,   1.0,     -1.0,      0.5,     INFINITY, -INFINITY,
                                   NAN, 1e-310, -1e-310, 0x1p-1074, 1.7e308, -1.7e308, 0x1p-149};
    if (random.below(4) == 0) return kSpecial[random.below(std::size(kSpecial))];
    return std::ldexp(2 * random.uniform() - 1, int(random.below(40)) - 20);
}

void fill(ColumnMemory& memory, const ColumnProgramSpec& spec, Random& random) {
    for (size_t column = 0; column < spec.columns.size(); ++column)
        for (uint32_t element = 0; element < memory.elements(); ++element) {
            const ColumnType type = spec.columns[column];
            const bool is_float = type == ColumnType::f64 || type == ColumnType::f32;
            const uint32_t bits = uint32_t(random.bits());
            const uint32_t integer = is_float ? 0 : bits >> (32 - 8 * column_bytes(type));
            memory.set(column, element, is_float ? any_number(random) : integer);
        }
    for (double& scalar : memory.scalars()) scalar = any_number(random);
    memory.set_random(random.bits() >> 20, random.bits(), random.bits());
}

void expect_same(const ColumnProgramSpec& spec, const ColumnMemory& actual, const ColumnMemory& expected) {
    for (size_t column = 0; column < spec.columns.size(); ++column)
        for (uint32_t element = 0; element < actual.elements(); ++element)
            ASSERT_TRUE(same_number(actual.number(column, element), expected.number(column, element)))
                << "column " << column << " element " << element << ": " << actual.number(column, element) << " not "
                << expected.number(column, element) << "\n"
                << name(spec.precision) << "\n"
                << column_program_text(spec);
    ASSERT_EQ(actual.fired(), expected.fired()) << column_program_text(spec);
}

// Runs in two launches, so that `begin` matters.
void run_in_parts(const RunnableKernel& kernel, ColumnMemory& memory) {
    const uint32_t middle = std::min(uint32_t(round_up(memory.elements() / 2, kColumnPadding)), memory.elements());
    memory.run(kernel.function(), 0, middle);
    memory.run(kernel.function(), middle, memory.elements());
}

void expect_reference_at_every_level(const ColumnProgramSpec& spec, const std::vector<uint32_t>& lengths,
                                     uint64_t seed) {
    ASSERT_TRUE(validate(spec)) << validate(spec).error().message;
    for (Isa isa : column_isas()) {
        SCOPED_TRACE(name(isa));
        const RunnableKernel kernel(spec, isa);
        for (uint32_t length : lengths) {
            Random random(seed + length);
            ColumnMemory memory(spec, length);
            fill(memory, spec, random);
            ColumnMemory expected = memory;
            expected.run_reference();
            run_in_parts(kernel, memory);
            expect_same(spec, memory, expected);
        }
    }
}

// All but functions and normal numbers, whose errors have their own tests; Poisson numbers only as the exponential
// of the reference may be an ulp away, which moves a number once in 2^50.
bool is_exact(ColumnOp op) { return (op < ColumnOp::exp || op > ColumnOp::power) && op != ColumnOp::normal; }

TEST(ColumnProgramX86, ExactOpsGiveTheBitsOfTheReference) {
    for (Precision precision : {Precision::f64, Precision::f32})
        for (size_t op = 0; op < kColumnOps; ++op) {
            if (!is_exact(ColumnOp(op)) || traits(ColumnOp(op)).result == ColumnKind::none) continue;
            expect_reference_at_every_level(kernel_cases::column_op(ColumnOp(op), precision), kLengths, op);
        }
}

TEST(ColumnProgramX86, SpillsWhatDoesNotFitIntoRegisters) {
    for (Precision precision : {Precision::f64, Precision::f32})
        expect_reference_at_every_level(kernel_cases::column_many_live(precision), {1, 16, 100}, 3);
}

TEST(ColumnProgramX86, TakesTheLargestProgram) {
    ColumnProgramSpec spec{
        Precision::f64, 0, {ColumnType::f64}, {{ColumnOp::load}, {ColumnOp::constant, 0, 0, 0, 0, 0.99}}};
    while (spec.steps.size() < kMaxColumnSteps - 1)
        spec.steps.push_back({ColumnOp::fused_multiply_add, uint16_t(spec.steps.size() - 1), 1, 0});
    spec.steps.push_back({ColumnOp::store, uint16_t(spec.steps.size() - 1)});
    expect_reference_at_every_level(spec, {17}, 4);
}

TEST(ColumnProgramX86, TakesTheMostColumns) {
    ColumnProgramSpec spec{
        Precision::f32, 0, std::vector<ColumnType>(kMaxColumns, ColumnType::u16), {{ColumnOp::load}}};
    for (uint32_t column = 1; column < kMaxColumns; ++column) {
        spec.columns[column] = ColumnType::f32;
        const uint16_t last = uint16_t(spec.steps.size() - 1);
        spec.steps.push_back({ColumnOp::load, 0, 0, 0, column});
        spec.steps.push_back({ColumnOp::add, uint16_t(last + 1), last});
        spec.steps.push_back({ColumnOp::store, uint16_t(last + 2), 0, 0, column});
        spec.steps.push_back({ColumnOp::minimum, uint16_t(last + 2), uint16_t(last + 1)});
    }
    expect_reference_at_every_level(spec, {33}, 5);
}

// The largest integer of a type that f32 holds, where it passes through f32.
double largest(ColumnType type, bool in_f32) {
    if (type == ColumnType::u8) return 255;
    if (type == ColumnType::u16) return 65535;
    return in_f32 ? 4294967040.0 : 4294967295.0;
}

TEST(ColumnProgramX86, ConvertsEveryColumnTypeToEveryOther) {
    const auto expect_integers = [](const ColumnProgramSpec& spec, double most) {
        for (Isa isa : column_isas()) {
            const RunnableKernel kernel(spec, isa);
            for (uint32_t length : kLengths) {
                ColumnMemory memory(spec, length);
                for (uint32_t i = 0; i < length; ++i) memory.set(0, i, std::floor(most * double(i + 1) / length));
                ColumnMemory expected = memory;
                expected.run_reference();
                run_in_parts(kernel, memory);
                expect_same(spec, memory, expected);
            }
        }
    };
    constexpr ColumnType kTypes[] = {ColumnType::f64, ColumnType::f32, ColumnType::u8, ColumnType::u16,
                                     ColumnType::u32};
    for (Precision precision : {Precision::f64, Precision::f32})
        for (ColumnType from : kTypes)
            for (ColumnType to : kTypes) {
                const bool in_f32 = precision == Precision::f32 || from == ColumnType::f32 || to == ColumnType::f32;
                const ColumnProgramSpec spec{
                    precision, 0, {from, to}, {{ColumnOp::load}, {ColumnOp::store, 0, 0, 0, 1}}};
                expect_integers(spec, std::min(largest(from, in_f32), largest(to, in_f32)));
            }
}

TEST(ColumnProgramX86, ReadsUnsignedIntegersThatF32CannotHoldRoundedOnce) {
    const ColumnProgramSpec spec{
        Precision::f32, 0, {ColumnType::u32, ColumnType::f64}, {{ColumnOp::load}, {ColumnOp::store, 0, 0, 0, 1}}};
    expect_reference_at_every_level(spec, {1000}, 6);
}

TEST(ColumnProgramX86, FiresInOrderAndNeverInThePadding) {
    for (Precision precision : {Precision::f64, Precision::f32}) {
        const ColumnProgramSpec spec = kernel_cases::column_fire(precision);
        for (Isa isa : column_isas()) {
            const RunnableKernel kernel(spec, isa);
            for (double share : {0.0, 0.02, 0.5, 1.0})
                for (uint32_t length : kLengths) {
                    Random random(length);
                    ColumnMemory memory(spec, length);
                    for (uint32_t i = 0; i < round_up(length, kColumnPadding); ++i)
                        memory.set(0, i, i >= length || random.uniform() < share ? 1.0 : 0.5);
                    ColumnMemory expected = memory;
                    expected.run_reference();
                    run_in_parts(kernel, memory);
                    expect_same(spec, memory, expected);
                }
        }
    }
}

TEST(ColumnProgramX86, ALaunchTouchesOnlyItsElements) {
    const ColumnProgramSpec spec{Precision::f64,
                                 0,
                                 {ColumnType::u8, ColumnType::f64},
                                 {{ColumnOp::id}, {ColumnOp::store, 0, 0, 0, 0}, {ColumnOp::store, 0, 0, 0, 1}}};
    for (Isa isa : column_isas()) {
        const RunnableKernel kernel(spec, isa);
        ColumnMemory memory(spec, 64);
        for (uint32_t i = 0; i < 64; ++i) memory.set(0, i, 200), memory.set(1, i, 200);
        memory.run(kernel.function(), 16, 48);
        memory.run(kernel.function(), 48, 48);
        for (uint32_t i = 0; i < 64; ++i) {
            EXPECT_EQ(memory.number(0, i), i < 16 || i >= 48 ? 200 : i);
            EXPECT_EQ(memory.number(1, i), i < 16 || i >= 48 ? 200 : i);
        }
    }
}

TEST(ColumnProgramX86, LoadsSeeTheStoresBeforeThem) {
    const ColumnProgramSpec spec{Precision::f64,
                                 0,
                                 {ColumnType::f64, ColumnType::f32, ColumnType::f64},
                                 {{ColumnOp::load, 0, 0, 0, 0},
                                  {ColumnOp::load, 0, 0, 0, 1},
                                  {ColumnOp::add, 0, 1},
                                  {ColumnOp::store, 2, 0, 0, 0},
                                  {ColumnOp::store, 2, 0, 0, 1},  // rounds to f32
                                  {ColumnOp::load, 0, 0, 0, 1},   // what was rounded
                                  {ColumnOp::load, 0, 0, 0, 0},
                                  {ColumnOp::multiply, 5, 6},
                                  {ColumnOp::subtract, 7, 0},  // and what column 0 held at first
                                  {ColumnOp::store, 8, 0, 0, 2}}};
    expect_reference_at_every_level(spec, kLengths, 7);
    const ColumnPlan plan = plan_columns(spec);
    EXPECT_EQ(plan.steps[7].b, 2);  // kept, not loaded again
    EXPECT_FALSE(plan.is_live[6]);
    EXPECT_TRUE(plan.is_live[5]);
}

TEST(ColumnProgramX86, DropsStepsWithoutEffect) {
    const ColumnProgramSpec spec{Precision::f64,
                                 0,
                                 {ColumnType::f64, ColumnType::f64},
                                 {{ColumnOp::load, 0, 0, 0, 0},
                                  {ColumnOp::exp, 0},
                                  {ColumnOp::load, 0, 0, 0, 0},
                                  {ColumnOp::add, 0, 2},
                                  {ColumnOp::store, 3, 0, 0, 1}}};
    const ColumnPlan plan = plan_columns(spec);
    EXPECT_EQ(plan.is_live, (std::vector<bool>{true, false, false, true, true}));
    EXPECT_EQ(plan.uses[0], 2u);
    expect_reference_at_every_level(spec, {16}, 8);
}

// A program of random steps over columns of every type. Integers are only stored where a select keeps them in range.
ColumnProgramSpec random_program(Random& random, bool with_functions) {
    ColumnProgramSpec spec{random.below(2) == 0 ? Precision::f64 : Precision::f32,
                           3,
                           {ColumnType::f64, ColumnType::f32, ColumnType::u8, ColumnType::u16, ColumnType::u32,
                            ColumnType::f64, ColumnType::f32, ColumnType::u8},
                           {}};
    const auto append = [&](const ColumnStep& step) {
        spec.steps.push_back(step);
        return uint16_t(spec.steps.size() - 1);
    };
    std::vector<uint16_t> numbers = {append({ColumnOp::load, 0, 0, 0, random.below(5)}),
                                     append({ColumnOp::constant, 0, 0, 0, 0, 0.5})};
    std::vector<uint16_t> truths = {append({ColumnOp::less, 0, 1})};
    const uint16_t small = append({ColumnOp::constant, 0, 0, 0, 0, 7}),
                   large = append({ColumnOp::constant, 0, 0, 0, 0, 250});
    const auto pick = [&](const std::vector<uint16_t>& from) { return from[random.below(uint32_t(from.size()))]; };
    const uint32_t count = 3 + random.below(120);
    bool has_fired = false;
    for (uint32_t i = 0; i < count; ++i) {
        const auto op = ColumnOp(random.below(uint32_t(kColumnOps)));
        const ColumnOpTraits& kinds = traits(op);
        if (!is_exact(op) && !with_functions) continue;
        if (op == ColumnOp::fire && std::exchange(has_fired, true)) continue;
        ColumnStep step{op};
        uint16_t* const operands[] = {&step.a, &step.b, &step.c};
        for (size_t k = 0; k < 3; ++k)
            if (kinds.operands[k] != ColumnKind::none)
                *operands[k] = pick(kinds.operands[k] == ColumnKind::number ? numbers : truths);
        if (op == ColumnOp::load) step.index = random.below(8);
        if (op == ColumnOp::scalar) step.index = random.below(3);
        if (op == ColumnOp::constant) step.number = random.below(3) == 0 ? 1.0 : double(random.normal(3));
        if (op == ColumnOp::store) {
            step.index = random.below(8);
            const ColumnType type = spec.columns[step.index];
            if (type != ColumnType::f64 && type != ColumnType::f32)
                step.a = append({ColumnOp::select, pick(truths), small, large});
        }
        const uint16_t value = append(step);
        if (kinds.result == ColumnKind::number) numbers.push_back(value);
        if (kinds.result == ColumnKind::truth) truths.push_back(value);
    }
    append({ColumnOp::store, numbers.back(), 0, 0, 5});
    append({ColumnOp::store, numbers[numbers.size() / 2], 0, 0, 6});
    return spec;
}

TEST(ColumnProgramX86, RandomExactProgramsGiveTheBitsOfTheReference) {
    Random random(2024);
    for (int program = 0; program < 150; ++program) {
        const ColumnProgramSpec spec = random_program(random, false);
        expect_reference_at_every_level(spec, {1 + random.below(70)}, random.bits());
        if (HasFatalFailure()) return;
    }
}

TEST(ColumnProgramX86, RandomProgramsGiveTheSameBitsAtEveryLevel) {
    Random random(2025);
    for (int program = 0; program < 60; ++program) {
        const ColumnProgramSpec spec = random_program(random, true);
        ASSERT_TRUE(validate(spec)) << validate(spec).error().message;
        const uint32_t length = 1 + random.below(70);
        const uint64_t seed = random.bits();
        std::vector<ColumnMemory> results;
        for (Isa isa : column_isas()) {
            Random values(seed);
            results.emplace_back(spec, length);
            fill(results.back(), spec, values);
            run_in_parts(RunnableKernel(spec, isa), results.back());
            expect_same(spec, results.back(), results.front());
        }
        if (HasFatalFailure()) return;
    }
}

}  // namespace column_program_test
}  // namespace riftjit::x86
