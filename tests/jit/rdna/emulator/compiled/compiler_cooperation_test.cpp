// Compiled kernels whose items, waves and groups work together: locks, flags, atomics, barriers and lane exchange.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <vector>

#include "tests/jit/rdna/emulator/compiled/compiled_kernels.h"

namespace riftjit::rdna::emulator {
namespace compiler_cooperation_test {

using Words = std::vector<uint32_t>;

constexpr uint32_t kManyGroups = 6;

// `expected(a, b)` over kManyGroups groups; `b` is the same value everywhere.
KernelCase case_of_many_groups(std::string_view name, uint32_t b, const auto& expected) {
    const Words first = filled<uint32_t>(kManyGroups * kGroupItems, some_number);
    return {.name = name,
            .a = bytes_of(first),
            .b = bytes_of(Words(kItems, b)),
            .expected = bytes_of(expected(first)),
            .groups = kManyGroups};
}

Words last_block(const Words& a) {
    Words out(2 + kManyGroups);
    for (uint32_t i = 0; i < a.size(); ++i) out[0] += a[i], out[2 + i / kGroupItems] += a[i];
    out[1] = kManyGroups;
    return out;
}
Words spin_lock(const Words& a) {
    Words out = {0, 0, kManyGroups};
    for (uint32_t group = 0; group < kManyGroups; ++group) out[1] += a[group];
    return out;
}
Words flag_ring(const Words& a) {
    Words out(64 + kManyGroups);
    for (uint32_t group = 0; group < kManyGroups; ++group) {
        out[group] = a[group] + (group ? out[group - 1] : 0);
        out[64 + group] = 1;
    }
    return out;
}

uint32_t weighted_sum(const uint32_t* values, uint32_t count, uint32_t stride = 1) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < count; ++i) sum += values[i * stride] * (i + 1);
    return sum;
}

std::vector<KernelCase> cases_of_many_groups() {
    return {case_of_many_groups("last_block", kManyGroups, last_block), case_of_many_groups("spin_lock", 0, spin_lock),
            case_of_many_groups("flag_ring", 0, flag_ring)};
}

Words each_item(const auto& result) { return filled<uint32_t>(kItems, result); }

std::vector<KernelCase> memory_cases() {
    std::vector<KernelCase> cases;
    const auto add = [&](std::string_view name, const auto& expected) {
        cases.push_back(make_case<uint32_t>(name, some_number, other_number, expected));
    };
    add("exchange_in_memory",
        [](const Words& a, const Words&) { return each_item([&](uint32_t i) { return a[i ^ 33] + 1; }); });
    add("generic_pointers", [](const Words& a, const Words& b) {
        return each_item([&](uint32_t i) {
            const uint32_t* own = &a[i % kGroupItems];
            const uint32_t count = b[i] & 3;
            return 2 * weighted_sum(own, count) + weighted_sum(own, count, 2);
        });
    });
    add("narrow_lds", [](const Words& a, const Words& b) {
        return each_item([&](uint32_t i) {
            const uint32_t opposite = i / kGroupItems * kGroupItems + 63 - i % kGroupItems;
            return (a[i ^ 1] & 0xFF) + ((b[i ^ 2] & 0xFF) << 8) + (((a[opposite] + b[opposite]) & 0xFFFF) << 16);
        });
    });
    cases.push_back(make_case<uint32_t>(
        "rotate_private", some_number, [](uint32_t) { return 5; },
        [](const Words& a, const Words& b) {
            return each_item([&](uint32_t item) {
                const uint32_t l = item % kGroupItems;
                uint32_t sum = 0;
                for (uint32_t i = 0; i < 16; ++i) sum += a[l + ((i * b[0] + l) & 15)] * (i + 1);
                return sum;
            });
        }));
    return cases;
}

KernelCase vector_case() {
    using Row = std::array<uint32_t, 4>;
    const auto a = filled<Row>(kItems, [](uint32_t i) { return Row{i, i * 77, ~i, some_number(i)}; });
    const auto b = filled<Row>(kItems, [](uint32_t i) { return Row{i << 9, 3, other_number(i), i * i}; });
    const auto expected = filled<Row>(kItems, [&](uint32_t i) {
        const uint32_t from = i / kGroupItems * kGroupItems + 63 - i % kGroupItems;
        Row row;
        for (size_t k = 0; k < 4; ++k) row[k] = a[from][k] ^ b[from][3 - k];
        return Row{row[1], row[0], row[3], row[2]};
    });
    return {"vectors_in_lds", bytes_of(a), bytes_of(b), bytes_of(expected)};
}

Words atomics(const Words& a, const Words& b) {
    uint64_t sum = 0;
    uint32_t largest = 0, parity = 0, any = 0;
    int32_t least = 0;
    for (uint32_t i = 0; i < kItems; ++i) {
        sum += uint64_t{a[i]} << 20;
        largest = std::max(largest, a[i]);
        least = std::min(least, -static_cast<int32_t>(a[i] & 0xFFFF));
        parity ^= a[i];
        any |= a[i] & b[i];
    }
    return {static_cast<uint32_t>(sum),
            static_cast<uint32_t>(sum >> 32),
            largest,
            static_cast<uint32_t>(least),
            parity,
            any};
}
Words lane_scan(const Words& a, const Words&) {
    Words out(a);
    for (uint32_t i = 0; i < kItems; ++i)
        if (i % 32) out[i] += out[i - 1];
    return out;
}
Words collatz(const Words& a, const Words&) {
    return each_item([&](uint32_t i) {
        uint32_t steps = 0;
        for (uint32_t x = a[i] % 1000 + 1; x != 1; ++steps) x = x % 2 ? 3 * x + 1 : x / 2;
        return steps;
    });
}

class CompiledCooperation : public testing::TestWithParam<Target> {};

TEST_P(CompiledCooperation, OfGroupsEndsAndIsRightUnderEverySchedule) {
    run_everywhere("cooperation.cl", GetParam(), cases_of_many_groups());
}

std::vector<KernelCase> cases_of_items() {
    std::vector<KernelCase> cases = memory_cases();
    cases.push_back(vector_case());
    cases.push_back(make_case<uint32_t>("atomics", some_number, other_number, atomics));
    // Any scalar that a VALU reads ends clang's search for a lane mask overwritten in wave64, even half of that mask;
    // its own description of the rule, and the machine, want another scalar. At -O0 v_writelane reads such a half.
    cases.back().broken_by_clang = FindingKind::valu_mask_write;
    cases.push_back(make_case<uint32_t>("lane_scan", some_number, other_number, lane_scan));
    cases.push_back(make_case<uint32_t>("collatz", some_number, other_number, collatz));
    return cases;
}

TEST_P(CompiledCooperation, OfItemsIsRightUnderEverySchedule) {
    run_everywhere("cooperation.cl", GetParam(), cases_of_items());
}

// With every check: LLVM 22 knows the rule of gfx12's SGPR reads.
TEST(CompiledCooperationByLlvm22, KeepsEveryRuleOfGfx12) {
    std::vector<KernelCase> cases = cases_of_items();
    // From an operation that is no instruction it makes a plain load and a loop of swaps, which is a race by the
    // letter.
    std::erase_if(cases, [](const KernelCase& kernel) { return kernel.name == "atomics"; });
    run_everywhere("cooperation.cl", Target::gfx1201, cases, CodeGenerator::llvm22);
}

INSTANTIATE_TEST_SUITE_P(Targets, CompiledCooperation,
                         testing::Values(Target::gfx1030, Target::gfx1100, Target::gfx1201),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace compiler_cooperation_test
}  // namespace riftjit::rdna::emulator
