#include "jit/formats/weight_bounds.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "host/result.h"

namespace riftjit {

namespace {

IntegerRange corners(const IntegerRange& a, const IntegerRange& b, auto combine) {
    const auto [least, most] = std::minmax(
        {combine(a.least, b.least), combine(a.least, b.most), combine(a.most, b.least), combine(a.most, b.most)});
    return {least, most};
}

IntegerRange field_range(const BitField& field) {
    const int64_t values = int64_t{1} << field.bits();
    return field.is_signed ? IntegerRange{-values / 2, values / 2 - 1} : IntegerRange{0, values - 1};
}

IntegerRange table_range(LaneTable table, const IntegerRange& index) {
    const auto entries = lane_table(table);
    check(index.least >= 0 && index.most < static_cast<int64_t>(entries.size()), "a look-up stays in its table");
    const auto [least, most] = std::ranges::minmax(entries.subspan(index.least, index.most - index.least + 1));
    return {least, most};
}

uint32_t significand(NumberFormat format) {
    switch (format) {
        case NumberFormat::f32:
            return 24;
        case NumberFormat::f16:
            return 11;
        case NumberFormat::bf16:
            return 8;
        case NumberFormat::e8m0_half:
            return 1;
        case NumberFormat::ue4m3:
            return 4;
    }
    return 0;
}

// By how many bits an integer of up to this magnitude widens the significand that it is multiplied with. A power of two
// widens none, so the largest need not count.
uint32_t widening(int64_t magnitude) {
    return static_cast<uint32_t>(std::bit_width(static_cast<uint64_t>(std::max<int64_t>(magnitude - 1, 0))));
}

class Analysis {
public:
    explicit Analysis(const WeightFormat& format) : format_(format), block_(traits(format.type).block_elements) {}

    std::vector<StepFacts> run() {
        for (const LaneStep& step : format_.steps) {
            facts_.push_back({range(step), significand_of(step), span(step)});
            const IntegerRange& integers = facts_.back().range;
            check(integers.magnitude() <= std::numeric_limits<int32_t>::max(), "an integer of a lane program fits i32");
        }
        return std::move(facts_);
    }

private:
    const IntegerRange& a(const LaneStep& step) const { return facts_[step.a].range; }
    const IntegerRange& b(const LaneStep& step) const { return facts_[step.b].range; }

    IntegerRange range(const LaneStep& step) const {
        switch (step.op) {
            case LaneOp::field: {
                const BitField& field = format_.fields[step.index];
                return field.bits() < 32 ? field_range(field) : IntegerRange{};  // an f32 is no integer
            }
            case LaneOp::position:
                return {0, std::min<int64_t>(step.constant, (block_ + step.index - 1) / step.index) - 1};
            case LaneOp::constant:
                return {step.constant, step.constant};
            case LaneOp::lookup:
                return table_range(LaneTable(step.index), a(step));
            case LaneOp::add:
                return {a(step).least + b(step).least, a(step).most + b(step).most};
            case LaneOp::subtract:
                return {a(step).least - b(step).most, a(step).most - b(step).least};
            case LaneOp::multiply:
                return corners(a(step), b(step), [](int64_t x, int64_t y) { return x * y; });
            case LaneOp::shift_right:
                check(a(step).least >= 0 && b(step).least >= 0, "a shift of no negative number");
                return {a(step).least >> b(step).most, a(step).most >> b(step).least};
            case LaneOp::bit_and:
                check(a(step).least >= 0 && b(step).least >= 0, "bits of no negative number");
                return {0, std::min(a(step).most, b(step).most)};
            case LaneOp::parity:
                return {0, 1};
            case LaneOp::number:
            case LaneOp::times:
                break;
        }
        return {};
    }

    uint32_t significand_of(const LaneStep& step) const {
        if (step.op == LaneOp::number) return significand(NumberFormat(step.index));
        return step.op == LaneOp::times ? facts_[step.a].significand : 0;
    }

    uint32_t span(const LaneStep& step) const {
        if (step.op == LaneOp::field) return format_.fields[step.index].span;
        if (step.op == LaneOp::position) return step.index;
        uint32_t span = block_;
        if (operand_count(step.op) > 0) span = std::min(span, facts_[step.a].span);
        if (operand_count(step.op) > 1) span = std::min(span, facts_[step.b].span);
        return span;
    }

    const WeightFormat& format_;
    const uint32_t block_;
    std::vector<StepFacts> facts_;
};

}  // namespace

std::vector<StepFacts> analyse(const WeightFormat& format) { return Analysis(format).run(); }

WeightBounds bounds(const WeightFormat& format) {
    const std::vector<StepFacts> facts = analyse(format);
    const LaneResults& parts = format.results;
    const auto range = [&](uint8_t step, int64_t absent) {
        return step == kNoStep ? IntegerRange{absent, absent} : facts[step].range;
    };
    WeightBounds result{};
    result.code = range(parts.code, 1);
    result.product = corners(result.code, range(parts.multiplier, 1), [](int64_t q, int64_t m) { return q * m; });
    result.minimum = range(parts.minimum, 0);
    result.scale_span = facts[parts.scale].span;
    result.group = result.scale_span;
    for (const uint8_t step : {parts.multiplier, parts.offset, parts.minimum})
        if (step != kNoStep) result.group = std::min(result.group, facts[step].span);
    result.is_exact = facts[parts.scale].significand + widening(result.product.magnitude()) <= 24;
    return result;
}

uint32_t WeightBounds::summable(int32_t most) const {
    uint32_t elements = scale_span;
    while (elements > 1 && elements * product.magnitude() * most > std::numeric_limits<int32_t>::max()) elements /= 2;
    return elements;
}

Summation summation(const WeightFormat& format, int32_t most, uint32_t longest) {
    constexpr uint32_t kWidestGroup = 32;
    const WeightBounds limits = bounds(format);
    const Summation result{std::min(limits.group, kWidestGroup), std::min(limits.summable(most), longest)};
    check(result.segment % result.group == 0, "a segment is whole groups");
    return result;
}

}  // namespace riftjit
