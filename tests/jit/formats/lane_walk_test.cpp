// How a back end makes code of a lane program, on a machine of 32 lanes of which each holds an element: what all lanes
// share is computed once, what is known while emitting is a constant of each lane.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "jit/formats/lane_reference.h"
#include "jit/formats/weight_bounds.h"
#include "tests/jit/formats/random_blocks.h"

namespace riftjit {
namespace lane_walk_test {

constexpr uint32_t kLanes = 32;
constexpr uint32_t kElsewhere = UINT32_MAX;  // a place that no bits of this lane lie at
template <class T>
using PerLane = std::array<T, kLanes>;

struct Instruction {
    enum class Kind : uint8_t {
        extract,  // out |= bits [places, places + bits) of the block << to_bit, as v_bfe_u32 and v_lshl_or_b32 would
        set,      // out = immediates
        extend,   // out = the low `bits` of out with their sign
        compute,  // out = step.op of values a and b
    };
    Kind kind;
    uint8_t out;
    uint32_t lanes;  // 1 where the value is shared: lane 0 stands for all
    uint8_t bits = 0, to_bit = 0;
    PerLane<int32_t> immediates{};
    PerLane<uint32_t> places{};
    LaneStep step{};
};

class Emitter {
public:
    Emitter(const WeightFormat& format, uint32_t first) : format_(format), first_(first), facts_(analyse(format)) {
        for (size_t i = 0; i < format.steps.size(); ++i) emit(static_cast<uint8_t>(i));
    }
    const std::vector<Instruction>& code() const { return code_; }
    bool is_shared(uint8_t step) const { return facts_[step].span >= kLanes; }

private:
    void emit(uint8_t i) {
        const LaneStep& step = format_.steps[i];
        const uint32_t lanes = is_shared(i) ? 1 : kLanes;
        switch (step.op) {
            case LaneOp::field:
                return emit_field(format_.fields[step.index], i, lanes);
            case LaneOp::position:
                return emit_set(i, lanes, [&](uint32_t e) { return int32_t(e / step.index) % step.constant; });
            case LaneOp::constant:
                return emit_set(i, lanes, [&](uint32_t) { return step.constant; });
            default:
                code_.push_back({.kind = Instruction::Kind::compute, .out = i, .lanes = lanes, .step = step});
        }
    }

    void emit_set(uint8_t out, uint32_t lanes, const auto& value) {
        Instruction set{.kind = Instruction::Kind::set, .out = out, .lanes = lanes};
        for (uint32_t lane = 0; lane < lanes; ++lane) set.immediates[lane] = value(first_ + lane);
        code_.push_back(set);
    }

    // One extraction for each plane that holds bits of these elements' values; the planes of ternary digits are chosen
    // by the element, so here every lane asks which holds its own.
    void emit_field(const BitField& field, uint8_t out, uint32_t lanes) {
        emit_set(out, lanes, [](uint32_t) { return 0; });
        for (const BitPlane& plane : field.planes) {
            Instruction extract{.kind = Instruction::Kind::extract,
                                .out = out,
                                .lanes = lanes,
                                .bits = plane.bits,
                                .to_bit = plane.to_bit};
            for (uint32_t lane = 0; lane < lanes; ++lane) {
                const uint32_t value = (first_ + lane) / field.span;
                const bool is_here = value - plane.first_value < plane.values();
                extract.places[lane] = is_here ? plane.bit_of(value) : kElsewhere;
            }
            code_.push_back(extract);
        }
        if (field.is_signed)
            code_.push_back({.kind = Instruction::Kind::extend,
                             .out = out,
                             .lanes = lanes,
                             .bits = static_cast<uint8_t>(field.bits())});
    }

    const WeightFormat& format_;
    const uint32_t first_;
    const std::vector<StepFacts> facts_;
    std::vector<Instruction> code_;
};

// Integers only: scales are compared in tests/graph/lane_programs_test.cpp.
int32_t compute(const LaneStep& step, int32_t a, int32_t b) {
    switch (step.op) {
        case LaneOp::lookup:
            return lane_table(LaneTable(step.index))[size_t(a)];
        case LaneOp::add:
            return a + b;
        case LaneOp::subtract:
            return a - b;
        case LaneOp::multiply:
            return a * b;
        case LaneOp::shift_right:
            return a >> b;
        case LaneOp::bit_and:
            return a & b;
        case LaneOp::parity:
            return std::popcount(static_cast<uint32_t>(a)) & 1;
        default:
            return 0;
    }
}

class Machine {
public:
    void run(const Emitter& program, const std::byte* block) {
        const auto operand = [&](uint8_t step, uint32_t lane) {
            return registers_[step][program.is_shared(step) ? 0 : lane];
        };
        for (const Instruction& code : program.code()) {
            for (uint32_t lane = 0; lane < code.lanes; ++lane) {
                int32_t& out = registers_[code.out][lane];
                switch (code.kind) {
                    case Instruction::Kind::set:
                        out = code.immediates[lane];
                        break;
                    case Instruction::Kind::extract:
                        if (code.places[lane] != kElsewhere)
                            out |= static_cast<int32_t>(bits_at(block, code.places[lane], code.bits) << code.to_bit);
                        break;
                    case Instruction::Kind::extend:
                        out = static_cast<int32_t>(static_cast<uint32_t>(out) << (32 - code.bits)) >> (32 - code.bits);
                        break;
                    case Instruction::Kind::compute:
                        out = compute(code.step, operand(code.step.a, lane), operand(code.step.b, lane));
                }
            }
        }
    }
    const PerLane<int32_t>& value(uint8_t step) const { return registers_[step]; }

private:
    static uint32_t bits_at(const std::byte* block, uint32_t place, uint32_t bits) {
        uint32_t value = 0;
        for (uint32_t i = 0; i < bits; ++i)
            value |= (static_cast<uint32_t>(block[(place + i) / 8]) >> (place + i) % 8 & 1) << i;
        return value;
    }

    std::array<PerLane<int32_t>, kNoStep> registers_{};
};

class LaneWalk : public testing::TestWithParam<DType> {};

TEST_P(LaneWalk, GivesThePartsThatTheReferenceGives) {
    const WeightFormat& format = weight_format(GetParam());
    std::mt19937 random(29);
    Machine machine;
    for (uint32_t first = 0; first < traits(format.type).block_elements; first += kLanes) {
        const Emitter program(format, first);
        for (int run = 0; run < 20; ++run) {
            const auto block = random_block(format.type, random);
            machine.run(program, block.data());
            const LaneGroup expected = decode_group(format, block.data(), first, kLanes);
            const auto check_part = [&](uint8_t step, const LaneGroup::Lanes<int32_t>& part, const char* what) {
                if (step == kNoStep) return;
                for (uint32_t lane = 0; lane < kLanes; ++lane)
                    ASSERT_EQ(machine.value(step)[program.is_shared(step) ? 0 : lane], part[lane])
                        << what << " of element " << first + lane;
            };
            check_part(format.results.code, expected.code, "code");
            check_part(format.results.multiplier, expected.multiplier, "multiplier");
            check_part(format.results.minimum, expected.minimum, "minimum");
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, LaneWalk, testing::ValuesIn(quantised_types()), kTypeName);

// 32 elements of Q4_K: scales and minima once, then one extraction for each element.
TEST(LaneWalkCost, IsPaidOnceForWhatAllLanesShare) {
    const Emitter program(weight_format(DType::Q4_K), 64);
    size_t shared = 0, of_each_lane = 0;
    for (const Instruction& code : program.code()) ++(code.lanes == 1 ? shared : of_each_lane);
    EXPECT_EQ(of_each_lane, 2u);  // cleared, extracted
    EXPECT_EQ(shared, 12u);       // d and dmin: cleared, extracted, converted; two planes each of scale and minimum
}

}  // namespace lane_walk_test
}  // namespace riftjit
