// The arithmetic that kernels share has the host's bits, also where a root or reciprocal of the hardware is a neighbour
// of the right one.
#include "jit/rdna/kernels/numerics.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "jit/rdna/text/text.h"
#include "tests/jit/rdna/kernels/kernel_run.h"

namespace riftjit::rdna::kernels {
namespace numerics_test {

constexpr Target kTargets[] = {Target::gfx1030, Target::gfx1100, Target::gfx1150, Target::gfx1201};

enum class Function : uint8_t {
    divide,
    divide_by_constant,
    divide_constant,
    root,
    exp,
    exp_not_positive,
    silu,
    inverse
};
constexpr float kDivisor = 4095, kNumerator = 4095, kEpsilon = 1e-5f;
constexpr uint32_t kWidth = 576;

// out[i] = function(x[i], y[i]); a workgroup takes 32 of them.
struct FunctionSpec {
    Function function;
};
struct FunctionArgs {
    const float *x, *y;
    float* out;
};
class FunctionKernel final : public RdnaKernel<FunctionSpec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        header_.max_flat_workgroup_size = 32;
        const BoundArguments<FunctionArgs> bound = bind_arguments<FunctionArgs>(
            {field("x", &FunctionArgs::x), field("y", &FunctionArgs::y), field("out", &FunctionArgs::out)});
        const Vgpr offset = vgpr(), x = vgpr(), y = vgpr(), out = vgpr();
        v_lshl_add_u32(offset, launch_workgroup(), 5, launch_lane());
        v_lshlrev_b32(offset, 2, offset);
        global_load_b32(x, offset, bound[&FunctionArgs::x]);
        global_load_b32(y, offset, bound[&FunctionArgs::y]);
        apply(out, x, y);
        global_store_b32(offset, out, bound[&FunctionArgs::out]);
    }

private:
    void apply(Vgpr out, Vgpr x, Vgpr y) {
        switch (spec_.function) {
            case Function::divide:
                return emit_divide(*this, out, x, y);
            case Function::divide_by_constant:
                return emit_divide(*this, out, x, kDivisor);
            case Function::divide_constant:
                return emit_divide(*this, out, kNumerator, x);
            case Function::root:
                return emit_sqrt(*this, out, x);
            case Function::exp:
                return emit_exp(*this, out, x, ExpDomain::any);
            case Function::exp_not_positive:
                return emit_exp(*this, out, x, ExpDomain::not_positive);
            case Function::silu:
                return emit_silu(*this, out, x);
            case Function::inverse:
                return emit_inverse_rms(*this, out, x, kWidth, kEpsilon);
        }
    }
};

float exp_as_defined(float x) {
    if (x < kExpMin) return 0;
    if (x > kExpMax) return std::numeric_limits<float>::infinity();
    if (x != x) return x;
    const float n = std::nearbyintf(x * kLog2E);
    const float r = std::fma(n, -kLn2Low, std::fma(n, -kLn2High, x));
    float result = kExpPolynomial.back();
    for (size_t power = kExpPolynomial.size() - 1; power-- > 0;) result = std::fma(result, r, kExpPolynomial[power]);
    return std::bit_cast<float>(std::bit_cast<uint32_t>(result) + (static_cast<uint32_t>(static_cast<int>(n)) << 23));
}

float expected(Function function, float x, float y) {
    switch (function) {
        case Function::divide:
            return x / y;
        case Function::divide_by_constant:
            return x / kDivisor;
        case Function::divide_constant:
            return kNumerator / x;
        case Function::root:
            return std::sqrt(x);
        case Function::exp:
        case Function::exp_not_positive:
            return exp_as_defined(x);
        case Function::silu:
            return x / (1 + exp_as_defined(-x));
        case Function::inverse:
            return 1 / std::sqrt(x / static_cast<float>(kWidth) + kEpsilon);
    }
    return 0;
}

// Of every class and exponent, edges first.
std::vector<float> arguments(Function function, unsigned seed) {
    using Limits = std::numeric_limits<float>;
    std::vector<float> values = {0.0f,
                                 1.0f,
                                 4.0f,
                                 0x1p-96f,
                                 0x1.fffffep-97f,
                                 Limits::min(),
                                 Limits::denorm_min(),
                                 Limits::max(),
                                 Limits::infinity(),
                                 Limits::quiet_NaN(),
                                 kExpMin,
                                 kExpMax,
                                 0x1p-126f,
                                 0x1.fffffep127f,
                                 0x1.fffffep-127f,
                                 0x1.fffffep0f};
    for (size_t i = values.size(); i-- > 0;) values.push_back(-values[i]);
    for (const float edge : {kExpMin, kExpMax, -kExpMin, -kExpMax})
        for (const float towards : {-200.0f, 200.0f}) values.push_back(std::nextafter(edge, towards));
    while (values.size() % 32 != 0) values.push_back(0x1p-149f * static_cast<float>(values.size()));
    for (const uint32_t word : random_words(4096, seed)) values.push_back(std::bit_cast<float>(word));
    const bool is_exponential =
        function == Function::exp || function == Function::exp_not_positive || function == Function::silu;
    for (const float value : random_floats(4096, is_exponential ? -90.0f : 0.0f, 90, seed + 1)) values.push_back(value);
    if (function == Function::exp_not_positive || function == Function::inverse)
        for (float& value : values) value = std::copysign(value, function == Function::inverse ? 1.0f : -1.0f);
    return values;
}

KernelCase function_case(Function function) {
    const std::vector<float> x = arguments(function, 1), y = arguments(function, 7);
    return {"function",
            [function](KernelTarget t, PassOptions o) {
                return assemble<FunctionKernel>(t, FunctionSpec{function}, "function", o);
            },
            {bytes_of(x), bytes_of(y), zeros(x.size() * 4)},
            {BufferIndex{0}, BufferIndex{1}, BufferIndex{2}},
            static_cast<uint32_t>(x.size() / 32),
            always(32),
            [=](const std::vector<Bytes>& after) -> std::string {
                const auto found = values_of<float>(after[2]);
                for (size_t i = 0; i < x.size(); ++i) {
                    const float want = expected(function, x[i], y[i]);
                    if (std::bit_cast<uint32_t>(want) != std::bit_cast<uint32_t>(found[i]) &&
                        !(want != want && found[i] != found[i]))
                        return fmt::format("of {:a} and {:a}: {:a}, expected {:a}", x[i], y[i], found[i], want);
                }
                return "";
            }};
}

constexpr Function kFunctions[] = {Function::divide,
                                   Function::divide_by_constant,
                                   Function::divide_constant,
                                   Function::root,
                                   Function::exp,
                                   Function::exp_not_positive,
                                   Function::silu,
                                   Function::inverse};

TEST(RdnaNumerics, HaveTheHostsBits) {
    for (const Function function : kFunctions) {
        const KernelCase test = function_case(function);
        for (const Target target : kTargets) {
            const auto program = test.assemble({target}, {});
            ASSERT_TRUE(program) << program.error().message;
            const RunOutcome outcome = run_program(test, *program, {});
            EXPECT_TRUE(outcome.clean()) << "function " << int(function) << " on " << name(target) << ": "
                                         << outcome.text();
        }
    }
}

// Behind every such instruction its result is moved to a neighbour, as hardware may do: gfx10, where nothing need stand
// between the two.
KernelProgram with_neighbours(const KernelProgram& kernel, int step) {
    KernelProgram moved = kernel;
    std::vector<Line>& lines = moved.program.lines;
    for (size_t i = lines.size(); i-- > 0;) {
        const Instruction& instruction = lines[i].instruction;
        if (instruction.opcode != Opcode::v_sqrt_f32 && instruction.opcode != Opcode::v_rcp_f32) continue;
        const unsigned result = instruction.operands[0].code - Operand::kFirstVgpr;
        const std::string add = fmt::format("v_add_nc_u32_e32 v{}, {}, v{}", result, step, result);
        lines.insert(lines.begin() + static_cast<ptrdiff_t>(i) + 1,
                     {.instruction = parse(moved.program.target, WaveSize::wave32, add).value().instruction});
    }
    return moved;
}

TEST(RdnaNumerics, AreRightWhereTheHardwaresAreNeighbours) {
    for (const Function function : {Function::divide, Function::divide_by_constant, Function::divide_constant,
                                    Function::root, Function::silu, Function::inverse}) {
        const KernelCase test = function_case(function);
        const auto program = test.assemble({Target::gfx1030}, {});
        ASSERT_TRUE(program) << program.error().message;
        for (const int step : {-1, 1}) {
            const RunOutcome outcome = run_program(test, with_neighbours(*program, step), {});
            EXPECT_TRUE(outcome.clean()) << "function " << int(function) << ", " << step << ": " << outcome.text();
        }
    }
}

// The order of KOrder::lanes64: 64 sums of powers and roundings that another order would change.
struct FoldArgs {
    const float* x;
    float* out;
};
struct FoldSpec {};
class FoldKernel final : public RdnaKernel<FoldSpec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        header_.max_flat_workgroup_size = 32;
        const BoundArguments<FoldArgs> bound =
            bind_arguments<FoldArgs>({field("x", &FoldArgs::x), field("out", &FoldArgs::out)});
        const Vgpr offset = vgpr(), sums = vgpr(2);
        v_lshlrev_b32(offset, 3, launch_lane());
        global_load_b64(sums, offset, bound[&FoldArgs::x]);
        emit_lanes64_fold(*this, sums);
        v_lshlrev_b32(offset, 2, launch_lane());
        global_store_b32(offset, sums[0], bound[&FoldArgs::out]);
    }
};

TEST(RdnaNumerics, FoldSumsInTheOrderOfLanes64) {
    for (unsigned seed = 1; seed < 5; ++seed) {
        const auto x = random_floats(64, -1, 1, seed);
        const float sum = sum_in_order<float>(KOrder::lanes64, 64, [&](float, uint32_t i) { return x[i]; });
        const KernelCase test{
            "fold",
            [](KernelTarget t, PassOptions o) { return assemble<FoldKernel>(t, FoldSpec{}, "fold", o); },
            {bytes_of(x), zeros(128)},
            {BufferIndex{0}, BufferIndex{1}},
            1,
            always(32),
            [sum](const std::vector<Bytes>& after) {
                return compare_exactly(values_of<float>(after[1]), std::vector<float>(32, sum));
            }};
        for (const Target target : kTargets) {
            const auto program = test.assemble({target}, {});
            ASSERT_TRUE(program) << program.error().message;
            const RunOutcome outcome = run_program(test, *program, {});
            EXPECT_TRUE(outcome.clean()) << name(target) << ": " << outcome.text();
        }
    }
}

// out[i] = {x[i] / divisor, x[i] % divisor}; a workgroup takes one, in every lane.
struct QuotientSpec {
    uint32_t divisor;
};
struct QuotientArgs {
    const uint32_t* x;
    uint32_t* out;
};
class QuotientKernel final : public RdnaKernel<QuotientSpec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        header_.max_flat_workgroup_size = 32;
        const BoundArguments<QuotientArgs> bound =
            bind_arguments<QuotientArgs>({field("x", &QuotientArgs::x), field("out", &QuotientArgs::out)});
        const Sgpr from = sgpr(), dividend = sgpr(), quotient = sgpr(), remainder = sgpr();
        const Vgpr to = vgpr(), both = vgpr(2);
        s_lshl_b32(from, launch_workgroup(), 2);
        s_load_b32(dividend, bound[&QuotientArgs::x], from, 0);
        s_divide_u32(quotient, remainder, dividend, spec_.divisor);
        v_mov_b32(both[0], quotient);
        v_mov_b32(both[1], remainder);
        v_lshl_add_u32(to, launch_workgroup(), 5, launch_lane());
        v_lshlrev_b32(to, 3, to);
        global_store_b64(to, both, bound[&QuotientArgs::out]);
    }
};

// Around multiples of the divisor, up to the largest dividend.
KernelCase quotient_case(uint32_t divisor) {
    constexpr uint32_t kEnd = 1u << 27;
    std::vector<uint32_t> x = {0, 1, kEnd - 1, kEnd - 2};
    for (const uint32_t multiple : {divisor, kEnd / 2 / divisor * divisor, (kEnd - 1) / divisor * divisor})
        for (const uint32_t value : {multiple - 1, multiple, multiple + 1})
            if (value < kEnd) x.push_back(value);
    return {"quotient",
            [divisor](KernelTarget t, PassOptions o) {
                return assemble<QuotientKernel>(t, QuotientSpec{divisor}, "quotient", o);
            },
            {bytes_of(x), zeros(x.size() * 32 * 8)},
            {BufferIndex{0}, BufferIndex{1}},
            static_cast<uint32_t>(x.size()),
            always(32),
            [=](const std::vector<Bytes>& after) -> std::string {
                const auto found = values_of<uint32_t>(after[1]);
                for (size_t i = 0; i < x.size(); ++i)
                    if (found[i * 64] != x[i] / divisor || found[i * 64 + 1] != x[i] % divisor)
                        return fmt::format("{} / {} is {}, remainder {}", x[i], divisor, found[i * 64],
                                           found[i * 64 + 1]);
                return "";
            }};
}

// 4748 panels of a vocabulary of 151936, 8000 of one of 256000: factors with and without a shift.
TEST(RdnaNumerics, DivideNumbersOfWorkgroups) {
    for (const uint32_t divisor :
         {1u, 2u, 3u, 5u, 7u, 31u, 33u, 96u, 641u, 4748u, 8000u, 65537u, 1000003u, 134217727u}) {
        const KernelCase test = quotient_case(divisor);
        for (const Target target : {Target::gfx1030, Target::gfx1201}) {
            const auto program = test.assemble({target}, {});
            ASSERT_TRUE(program) << program.error().message;
            const RunOutcome outcome = run_program(test, *program, {});
            EXPECT_TRUE(outcome.clean()) << name(target) << ": " << outcome.text();
        }
    }
}

}  // namespace numerics_test
}  // namespace riftjit::rdna::kernels
