#include "jit/formats/lane_reference.h"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "host/half.h"
#include "host/result.h"

#ifdef __FMA__
#error "every product must be rounded before it is added: build this file for baseline x86-64"
#endif

namespace riftjit {

namespace {

float ue4m3(uint32_t bits) {
    const uint32_t exponent = bits >> 3 & 15, mantissa = bits & 7;
    if (bits == 0x7f) return 0;
    return exponent == 0 ? std::ldexp(float(mantissa), -9) : std::ldexp(float(8 + mantissa), int(exponent) - 7 - 3);
}

float number_of(NumberFormat format, uint32_t bits) {
    switch (format) {
        case NumberFormat::f32:
            return std::bit_cast<float>(bits);
        case NumberFormat::f16:
            return half_to_float(static_cast<uint16_t>(bits));
        case NumberFormat::bf16:
            return bfloat_to_float(static_cast<uint16_t>(bits));
        case NumberFormat::e8m0_half:
            return std::ldexp(1.0f, int(bits) - 128);
        case NumberFormat::ue4m3:
            return ue4m3(bits);
    }
    return std::numeric_limits<float>::quiet_NaN();
}

int32_t field_value(const BitField& field, const std::byte* block, uint32_t index) {
    const uint32_t bits = read_value(field, block, index), unused = 32 - field.bits();
    return field.is_signed ? static_cast<int32_t>(bits << unused) >> unused : static_cast<int32_t>(bits);
}

union LaneValue {
    int32_t integer;
    float number;
};

// Runs a program in all lanes, one step after the other.
class LaneMachine {
public:
    LaneMachine(const WeightFormat& format, const std::byte* block, uint32_t first, uint32_t count)
        : format_(format), block_(block), first_(first), count_(count), values_(format.steps.size()) {
        check(count <= kMostLanes, "a group is at most kMostLanes elements");
        for (size_t i = 0; i < format.steps.size(); ++i) run(format.steps[i], values_[i]);
    }

    void take(uint8_t step, int32_t absent, LaneGroup::Lanes<int32_t>& out) const {
        for (uint32_t lane = 0; lane < count_; ++lane)
            out[lane] = step == kNoStep ? absent : values_[step][lane].integer;
    }
    void take(uint8_t step, LaneGroup::Lanes<float>& out) const {
        for (uint32_t lane = 0; lane < count_; ++lane) out[lane] = step == kNoStep ? 0 : values_[step][lane].number;
    }

private:
    using Values = std::array<LaneValue, kMostLanes>;

    void run(const LaneStep& step, Values& out) const {
        const auto in_each_lane = [&](const auto& value) {
            for (uint32_t lane = 0; lane < count_; ++lane) out[lane] = {value(lane)};
        };
        const auto a = [&](uint32_t lane) { return values_[step.a][lane].integer; };
        const auto b = [&](uint32_t lane) { return values_[step.b][lane].integer; };
        switch (step.op) {
            case LaneOp::field:
                return load(format_.fields[step.index], out);
            case LaneOp::position:
                return in_each_lane(
                    [&](uint32_t lane) { return int32_t((first_ + lane) / step.index) % step.constant; });
            case LaneOp::constant:
                return in_each_lane([&](uint32_t) { return step.constant; });
            case LaneOp::lookup:
                return in_each_lane([&, table = lane_table(LaneTable(step.index))](uint32_t lane) {
                    return int32_t{table[size_t(a(lane))]};
                });
            case LaneOp::add:
                return in_each_lane([&](uint32_t lane) { return a(lane) + b(lane); });
            case LaneOp::subtract:
                return in_each_lane([&](uint32_t lane) { return a(lane) - b(lane); });
            case LaneOp::multiply:
                return in_each_lane([&](uint32_t lane) { return a(lane) * b(lane); });
            case LaneOp::shift_right:
                return in_each_lane([&](uint32_t lane) { return a(lane) >> b(lane); });
            case LaneOp::bit_and:
                return in_each_lane([&](uint32_t lane) { return a(lane) & b(lane); });
            case LaneOp::parity:
                return in_each_lane([&](uint32_t lane) { return std::popcount(uint32_t(a(lane))) & 1; });
            case LaneOp::number:
                for (uint32_t lane = 0; lane < count_; ++lane)
                    out[lane].number = number_of(NumberFormat(step.index), uint32_t(a(lane)));
                return;
            case LaneOp::times:
                for (uint32_t lane = 0; lane < count_; ++lane)
                    out[lane].number = std::ldexp(values_[step.a][lane].number, step.constant);
                return;
        }
    }

    void load(const BitField& field, Values& out) const {
        for (uint32_t lane = 0; lane < count_; ++lane) {
            const uint32_t element = first_ + lane;
            const bool is_shared = lane > 0 && element % field.span != 0;
            out[lane] = is_shared ? out[lane - 1] : LaneValue{field_value(field, block_, element / field.span)};
        }
    }

    const WeightFormat& format_;
    const std::byte* block_;
    const uint32_t first_, count_;
    std::vector<Values> values_;
};

}  // namespace

LaneGroup decode_group(const WeightFormat& format, const std::byte* block, uint32_t first, uint32_t count) {
    const LaneMachine machine(format, block, first, count);
    const LaneResults& parts = format.results;
    LaneGroup group;
    machine.take(parts.code, 1, group.code);
    machine.take(parts.multiplier, 1, group.multiplier);
    machine.take(parts.minimum, 0, group.minimum);
    machine.take(parts.scale, group.scale);
    machine.take(parts.offset, group.offset);
    machine.take(parts.minimum_scale, group.minimum_scale);
    return group;
}

void lane_values(const WeightFormat& format, const LaneGroup& group, uint32_t count, float* values) {
    const LaneResults& parts = format.results;
    for (uint32_t lane = 0; lane < count; ++lane) {
        float value = group.scale[lane];
        if (parts.multiplier != kNoStep) value *= float(group.multiplier[lane]);
        if (parts.code != kNoStep) value *= float(group.code[lane]);
        if (parts.offset != kNoStep) value += group.offset[lane];
        if (parts.minimum != kNoStep) value -= group.minimum_scale[lane] * float(group.minimum[lane]);
        values[lane] = value;
    }
}

}  // namespace riftjit
