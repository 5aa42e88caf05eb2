// The highest logits as a GPU finds them, and what a text takes of them.
#include <limits>

#include "runtime/rdna/emulated_accelerator.h"
#include "runtime/session.h"
#include "tests/jit/highest_reference.h"
#include "tests/runtime/golden_run.h"
#include "tests/runtime/rdna/same_bits.h"

namespace riftjit::runtime {
namespace highest_test {

using namespace same_bits;

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

void expect_highest(const std::string& what, uint32_t width, uint32_t rows, const std::vector<float>& logits,
                    MachineChecks checks = MachineChecks::all) {
    const uint32_t stride = f32_row_bytes(width) / 4;
    Case test{fmt::format("{} of {} x {}", what, rows, width), {}, 3};
    if (highest_parts(width) == 1)
        test.steps = {{"highest", HighestSpec{width, HighestStage::whole}, {buffer(0), no_place(), buffer(2)}}};
    else
        test.steps = {{"parts", HighestSpec{width, HighestStage::parts}, {buffer(0), buffer(1), no_place()}},
                      {"merge", HighestSpec{width, HighestStage::merge}, {no_place(), buffer(1), buffer(2)}}};
    test.runs = {{positions(0, rows), {}, {{0, logits}}}};
    test.results = {{2, 2 * kHighest}};
    for (const rdna::Target chip : chips()) {
        KernelCache cache(compile_rdna, DiskCache::disabled());
        RdnaDevice device(std::make_unique<EmulatedAccelerator>(chip, checks), cache);
        const auto found = run(test, device);
        ASSERT_EQ(found.size(), 1u);
        ASSERT_EQ(found[0].floats.size(), size_t{rows} * 2 * kHighest);
        for (uint32_t row = 0; row < rows; ++row) {
            std::vector<IndexedLogit> list(kHighest);
            std::memcpy(list.data(), &found[0].floats[size_t{row} * 2 * kHighest], sizeof(IndexedLogit) * kHighest);
            EXPECT_EQ(compare_highest(std::span(logits).subspan(size_t{row} * stride, width), list), "")
                << test.name << ", row " << row << " on " << rdna::name(chip);
        }
    }
}

std::vector<float> rows_of(uint32_t width, uint32_t rows, const std::function<float(uint32_t)>& logit) {
    const uint32_t stride = f32_row_bytes(width) / 4;
    std::vector<float> all(size_t{rows} * stride, kInfinity);  // behind each row, what must not be looked at
    for (uint32_t row = 0; row < rows; ++row)
        for (uint32_t i = 0; i < width; ++i) all[size_t{row} * stride + i] = logit(row * width + i);
    return all;
}

constexpr uint32_t kWidths[] = {1, 2, 63, 64, 65, 127, 300, 1023, 4095, 4096, 4097, 4160, 9000};

TEST(HighestOnRdna, AreThoseOfTheRow) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 3);
    for (const uint32_t width : kWidths)
        expect_highest("random ones", width, 3, rows_of(width, 3, [&](uint32_t) { return normal(random); }));
}

TEST(HighestOnRdna, AreTheFirstOfEquals) {
    std::mt19937 random(2);
    for (const uint32_t width : kWidths) {
        expect_highest("equals", width, 1, rows_of(width, 1, [](uint32_t) { return -2.5f; }));
        expect_highest("a few values", width, 2, rows_of(width, 2, [&](uint32_t) { return float(random() % 5) - 2; }));
        expect_highest("zeros of both signs", width, 1,
                       rows_of(width, 1, [&](uint32_t) { return random() % 2 == 0 ? 0.0f : -0.0f; }));
    }
}

TEST(HighestOnRdna, HaveInfinitiesDenormalsAndNans) {
    std::mt19937 random(3);
    const auto some = [&](std::vector<float> values) {
        return [&random, values](uint32_t) { return values[random() % values.size()]; };
    };
    for (const uint32_t width : kWidths) {
        expect_highest("infinities", width, 1, rows_of(width, 1, some({kInfinity, -kInfinity, 1, -1, -kInfinity})));
        expect_highest("the lowest", width, 1, rows_of(width, 1, some({-kInfinity})));
        expect_highest("denormals", width, 1, rows_of(width, 1, some({1e-45f, -1e-45f, 1e-40f, 0.0f, -0.0f})));
        expect_highest("NaNs", width, 1, rows_of(width, 1, some({kNan, -kNan, kInfinity, 3, 2, 1, 0, -1, -2})));
        expect_highest("one NaN", width, 1, rows_of(width, 1, [&](uint32_t i) { return i == width / 2 ? -kNan : 5; }));
    }
}

// Every check, where a launch has as many workgroups as a large vocabulary asks for; random orders of the rest.
TEST(HighestOnRdna, AreFoundInALargeVocabulary) {
    std::mt19937 random(4);
    std::normal_distribution<float> normal(-2, 3);
    constexpr uint32_t kVocabulary = 151936;
    expect_highest("random ones", kVocabulary, 1, rows_of(kVocabulary, 1, [&](uint32_t) { return normal(random); }));
    expect_highest("a few values", kVocabulary, 1,
                   rows_of(kVocabulary, 1, [&](uint32_t) { return float(random() % 3); }), MachineChecks::none);
    expect_highest("descending", kVocabulary, 1, rows_of(kVocabulary, 1, [](uint32_t i) { return -float(i); }),
                   MachineChecks::none);
}

// A token then brings 512 bytes, where its row has as many floats as the vocabulary; and the row can still be had.
TEST(HighestOnRdna, AreAllThatAStepBringsWhereNoMoreIsAsked) {
    TestModel model("tests/data/nano/nano-q4_k.gguf", Isa::avx2);
    KernelCache cache(compile_rdna, DiskCache::disabled());
    auto accelerator = std::make_unique<EmulatedAccelerator>(rdna::Target::gfx1100, MachineChecks::all);
    const EmulatedAccelerator& machine = *accelerator;
    auto device = std::make_unique<RdnaDevice>(std::move(accelerator), cache);
    auto session = Session::create(model.graph(), {128, 16, DType::F16, DType::F16, "all", 4}, std::move(device), {});
    ASSERT_TRUE(session) << session.error().message;
    ASSERT_TRUE(session->finds_highest());
    const auto bytes_of = [&](const auto& step) {
        const uint64_t before = machine.bytes_read();
        const auto logits = step();
        EXPECT_TRUE(logits);
        return machine.bytes_read() - before;
    };
    const uint64_t list = kHighest * sizeof(IndexedLogit), row = session->vocabulary() * sizeof(float);
    const std::vector<int32_t> prompt = {1, 2, 3, 4, 5}, one = {6}, three = {7, 8, 9};
    EXPECT_EQ(bytes_of([&] { return session->append(prompt, LogitReading::highest); }), list);
    EXPECT_EQ(bytes_of([&] { return session->append(one, LogitReading::highest); }), list);
    EXPECT_EQ(bytes_of([&] { return session->read_rows(); }), row);
    EXPECT_EQ(bytes_of([&] { return session->step(three, LogitReading::highest); }), 3 * list);
    EXPECT_EQ(bytes_of([&] { return session->append(one, LogitReading::rows); }), row);

    for (const std::vector<int32_t>& ids : {one, three}) {
        const auto found =
            ids.size() == 1 ? session->append(ids, LogitReading::highest) : session->step(ids, LogitReading::highest);
        ASSERT_TRUE(found);
        std::vector<std::vector<IndexedLogit>> lists;
        for (uint32_t i = 0; i < found->rows; ++i)
            lists.emplace_back(found->highest_of(i).begin(), found->highest_of(i).end());
        const auto rows = session->read_rows();
        ASSERT_TRUE(rows);
        ASSERT_EQ(rows->rows, lists.size());
        for (uint32_t i = 0; i < rows->rows; ++i) EXPECT_EQ(compare_highest(rows->row(i), lists[i]), "");
    }
}

}  // namespace highest_test
}  // namespace riftjit::runtime
