// v_cmp and v_cmpx: the predicate and the type are read out of the row's name.
#include <optional>
#include <string_view>
#include <vector>

#include "host/result.h"
#include "jit/rdna/emulator/valu/valu_lane.h"

namespace riftjit::rdna::emulator {
namespace {

template <auto& Format, unsigned Outcomes>
void compare_float(const LaneContext& context, LaneData& lane) {
    const FloatControl& control = control_of(context, Format);
    const Order order = float_compare(Format, flush_input(Format, lane.source[0], control),
                                      flush_input(Format, lane.source[1], control));
    lane.bit = (Outcomes & when(order)) != 0;
}
template <class Integer, unsigned Outcomes>
void compare_integer(const LaneContext&, LaneData& lane) {
    const auto a = static_cast<Integer>(lane.source[0]), b = static_cast<Integer>(lane.source[1]);
    lane.bit = (Outcomes & (a < b ? kWhenLess : a > b ? kWhenGreater : kWhenEqual)) != 0;
}

// The classes in the order of the mask's bits, AMD's ISA documents, V_CMP_CLASS_F32.
template <auto& Format>
unsigned class_of(uint64_t value) {
    if (Format.is_nan(value)) return Format.is_signaling(value) ? 0 : 1;
    const bool negative = Format.negative(value);
    if (Format.is_infinity(value)) return negative ? 2 : 9;
    if (Format.is_zero(value)) return negative ? 5 : 6;
    if (Format.is_denormal(value)) return negative ? 4 : 7;
    return negative ? 3 : 8;
}
template <auto& Format>
void test_class(const LaneContext&, LaneData& lane) {
    lane.bit = (lane.source[1] >> class_of<Format>(lane.source[0]) & 1) != 0;
}

struct Predicate {
    std::string_view name;
    unsigned outcomes;
};
constexpr Predicate kPredicates[] = {
    {"f", 0},
    {"lt", kWhenLess},
    {"eq", kWhenEqual},
    {"le", kWhenLess | kWhenEqual},
    {"gt", kWhenGreater},
    {"lg", kWhenLess | kWhenGreater},
    {"ne", kWhenLess | kWhenGreater},
    {"ge", kWhenGreater | kWhenEqual},
    {"o", kWhenLess | kWhenEqual | kWhenGreater},
    {"u", kWhenUnordered},
    {"nge", kWhenLess | kWhenUnordered},
    {"nlg", kWhenEqual | kWhenUnordered},
    {"ngt", kWhenLess | kWhenEqual | kWhenUnordered},
    {"nle", kWhenGreater | kWhenUnordered},
    {"neq", kWhenLess | kWhenGreater | kWhenUnordered},
    {"nlt", kWhenGreater | kWhenEqual | kWhenUnordered},
    {"t", kWhenever},
};
constexpr size_t kPredicateCount = std::size(kPredicates);
// One for each predicate; the opcode is still to be put in.
using Comparisons = std::array<LaneSemantics, kPredicateCount>;

template <auto& Format>
constexpr Comparisons float_comparisons() {
    return []<size_t... I>(std::index_sequence<I...>) {
        return Comparisons{lanewise<compare_float<Format, kPredicates[I].outcomes>>({})...};
    }(std::make_index_sequence<kPredicateCount>());
}
template <class Integer>
constexpr Comparisons integer_comparisons() {
    return []<size_t... I>(std::index_sequence<I...>) {
        return Comparisons{lanewise<compare_integer<Integer, kPredicates[I].outcomes>>({})...};
    }(std::make_index_sequence<kPredicateCount>());
}

struct ComparedType {
    std::string_view name;
    Comparisons comparisons;
    std::optional<LaneSemantics> classify;
};
const ComparedType kTypes[] = {
    {"f16", float_comparisons<kF16>(), lanewise<test_class<kF16>>({})},
    {"f32", float_comparisons<kF32>(), lanewise<test_class<kF32>>({})},
    {"f64", float_comparisons<kF64>(), lanewise<test_class<kF64>>({})},
    {"i16", integer_comparisons<int16_t>(), {}},
    {"i32", integer_comparisons<int32_t>(), {}},
    {"i64", integer_comparisons<int64_t>(), {}},
    {"u16", integer_comparisons<uint16_t>(), {}},
    {"u32", integer_comparisons<uint32_t>(), {}},
    {"u64", integer_comparisons<uint64_t>(), {}},
};

std::optional<LaneSemantics> comparison(std::string_view name) {  // v_cmp_lt_f32, v_cmpx_class_f16
    const size_t predicate_at = name.find('_', 2) + 1, type_at = name.rfind('_') + 1;
    const std::string_view predicate = name.substr(predicate_at, type_at - 1 - predicate_at);
    for (const ComparedType& type : kTypes) {
        if (type.name != name.substr(type_at)) continue;
        if (predicate == "class") return type.classify;
        for (size_t i = 0; i < kPredicateCount; ++i)
            if (kPredicates[i].name == predicate) return type.comparisons[i];
    }
    return std::nullopt;
}

std::vector<LaneSemantics> build_rows() {
    std::vector<LaneSemantics> rows;
    for (const InstructionInfo& row : all_instructions()) {
        if (row.format != Format::VOPC) continue;
        auto semantics = comparison(row.name);
        if (!semantics) continue;
        semantics->opcode = row.opcode;
        rows.push_back(*semantics);
    }
    return rows;
}

}  // namespace

std::span<const LaneSemantics> compare_semantics() {
    static const std::vector<LaneSemantics> rows = build_rows();
    return rows;
}

}  // namespace riftjit::rdna::emulator
