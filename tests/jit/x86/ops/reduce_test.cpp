#include <gtest/gtest.h>

#include "tests/jit/x86/ops/kernel_runner.h"
#include "tests/kernel_cases.h"

namespace riftjit::x86 {
namespace reduce_test {

// A row without padding: the page behind it cannot be read.
GuardedBuffer<float> random_row(uint32_t width, uint64_t seed, double size = 5.0) {
    Random random(seed);
    GuardedBuffer<float> row(width);
    for (uint32_t i = 0; i < width; ++i) row[i] = random.normal(size);
    return row;
}

ReduceArgs reduce(ReduceKind kind, Isa isa, const GuardedBuffer<float>& row, ReduceArgs args = {}) {
    args.x = row.data();
    const RunnableKernel kernel(ReduceSpec{kind, static_cast<uint32_t>(row.size())}, isa);
    kernel(&args, 0, 1);
    return args;
}

std::vector<uint32_t> widths() {
    std::vector<uint32_t> widths;
    for (const ReduceSpec& spec : kernel_cases::reduce())
        if (spec.kind == ReduceKind::argmax) widths.push_back(spec.width);
    return widths;
}

// ---- argmax

void expect_argmax(const GuardedBuffer<float>& row) {
    ReduceArgs expected{};
    expected.value = -INFINITY;
    bool is_found = false;
    for (uint32_t i = 0; i < row.size(); ++i) {
        expected.count += std::isnan(row[i]);
        if (row[i] > expected.value || (!is_found && row[i] == expected.value)) {
            expected.value = row[i];
            expected.index = i;
            is_found = true;
        }
    }
    for (Isa isa : machine_isas()) {
        const ReduceArgs found = reduce(ReduceKind::argmax, isa, row);
        EXPECT_EQ(found.index, expected.index) << name(isa) << " width " << row.size();
        EXPECT_EQ(found.value, expected.value) << name(isa) << " width " << row.size();
        EXPECT_EQ(found.count, expected.count) << name(isa) << " width " << row.size();
    }
}

TEST(ReduceX86, ArgmaxFindsTheLargestAtEveryPlace) {
    for (uint32_t width : widths()) {
        auto row = random_row(width, width);
        expect_argmax(row);
        for (uint32_t place = 0; place < width; place += width < 100 ? 1 : width / 7) {
            const float kept = row[place];
            row[place] = 1000.0f;
            expect_argmax(row);
            row[place] = kept;
        }
    }
}

TEST(ReduceX86, ArgmaxTakesTheLowestIndexOfATie) {
    Random random(4);
    for (uint32_t width : widths()) {
        auto row = random_row(width, width);
        for (uint32_t i = 0; i < width; ++i) row[i] = float(random.below(3));
        expect_argmax(row);
        for (uint32_t i = 0; i < width; ++i) row[i] = i % 2 == 0 ? -0.0f : 0.0f;  // equal
        expect_argmax(row);
    }
}

TEST(ReduceX86, ArgmaxOfNegativeNumbersDoesNotSeeBeyondTheRow) {
    for (uint32_t width : widths()) {
        auto row = random_row(width, width);
        for (uint32_t i = 0; i < width; ++i) row[i] = -1e30f - std::fabs(row[i]);
        expect_argmax(row);
        for (uint32_t i = 0; i < width; ++i) row[i] = -INFINITY;
        expect_argmax(row);
    }
}

TEST(ReduceX86, ArgmaxCountsNanAndNeverTakesIt) {
    Random random(5);
    for (uint32_t width : widths()) {
        auto row = random_row(width, width);
        for (uint32_t i = 0; i < width; ++i)
            if (random.below(4) == 0) row[i] = random.below(2) == 0 ? NAN : -NAN;
        expect_argmax(row);
        for (uint32_t i = 0; i + 1 < width; ++i) row[i] = NAN;
        row[width - 1] = -INFINITY;
        expect_argmax(row);
        row[width - 1] = NAN;
        expect_argmax(row);  // index 0
    }
}

// ---- collect_above

void expect_collected(const GuardedBuffer<float>& row, float threshold, uint32_t capacity) {
    std::vector<uint32_t> expected;
    for (uint32_t i = 0; i < row.size(); ++i)
        if (row[i] >= threshold) expected.push_back(i);
    for (Isa isa : machine_isas()) {
        GuardedBuffer<uint32_t> indices(capacity);
        ReduceArgs args{};
        args.threshold = threshold;
        args.count = capacity;
        args.indices = indices.data();
        args = reduce(ReduceKind::collect_above, isa, row, args);
        ASSERT_EQ(args.count, expected.size()) << name(isa) << " width " << row.size();
        for (uint32_t i = 0; i < std::min<size_t>(capacity, expected.size()); ++i) EXPECT_EQ(indices[i], expected[i]);
    }
}

TEST(ReduceX86, CollectsIndicesInOrder) {
    for (uint32_t width : widths()) {
        const auto row = random_row(width, width);
        for (float threshold : {-INFINITY, -3.0f, 0.0f, 10.0f, INFINITY}) expect_collected(row, threshold, width);
    }
}

TEST(ReduceX86, CollectsEqualsAndNoNan) {
    auto row = random_row(50, 1);
    for (uint32_t i = 0; i < 50; ++i) row[i] = i % 3 == 0 ? NAN : i % 3 == 1 ? 1.0f : std::nextafter(1.0f, 0.0f);
    expect_collected(row, 1.0f, 50);
    for (uint32_t i = 0; i < 50; ++i) row[i] = i % 2 == 0 ? 0.0f : -0.0f;
    expect_collected(row, 0.0f, 50);
}

TEST(ReduceX86, CountsButDoesNotStoreBeyondTheCapacity) {
    for (uint32_t width : widths()) {
        const auto row = random_row(width, width);
        expect_collected(row, -INFINITY, 0);
        expect_collected(row, -INFINITY, width / 2);
    }
}

TEST(ReduceX86, DoesNothingWithoutAUnit) {
    const auto row = random_row(20, 1);
    for (ReduceKind kind : {ReduceKind::argmax, ReduceKind::collect_above})
        for (Isa isa : machine_isas()) {
            ReduceArgs args{};
            args.x = row.data();
            args.index = 77;
            args.value = 7.0f;
            args.count = 777;
            RunnableKernel(ReduceSpec{kind, 20}, isa)(&args, 0, 0);
            EXPECT_EQ(args.index, 77u);
            EXPECT_EQ(args.value, 7.0f);
            EXPECT_EQ(args.count, 777u);
        }
}

}  // namespace reduce_test
}  // namespace riftjit::x86
