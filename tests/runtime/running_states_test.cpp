// Texts on models with running states: the bits of each are those that it would get alone and at once, however it came
// about, and where it goes back to is where a state was kept.
#include "runtime/running_states.h"

#include <gtest/gtest.h>

#include <random>

#include "graph/reference.h"
#include "runtime/sequences.h"
#include "tests/runtime/allocation_counter.h"
#include "tests/runtime/golden_run.h"

namespace riftjit::runtime {
namespace running_states_test {

using enum StepRow::Logits;
using Text = std::vector<int32_t>;

constexpr uint32_t kVocabulary = 512;

Text some_tokens(size_t count, uint32_t seed) {
    std::mt19937 engine(seed);
    Text ids(count);
    for (int32_t& id : ids) id = int32_t(engine() % kVocabulary);
    return ids;
}

class RunningStatesOf : public testing::TestWithParam<std::string> {
protected:
    Sequences sequences(uint32_t count, uint32_t batch = 64) {
        auto device = CpuDevice::create(model_.isa(), 2, Helpers::always, model_.cache());
        if (!device) throw std::runtime_error(device.error().message);
        auto loaded = DeviceModel::create(model_.graph(), {.batch = batch, .outputs = batch}, std::move(*device), {});
        if (!loaded) throw std::runtime_error(loaded.error().message);
        auto made = Sequences::create(std::move(*loaded), {.sequences = count, .positions = 256});
        if (!made) throw std::runtime_error(made.error().message);
        return std::move(*made);
    }
    // Appends tokens in one step, and returns the hash of each one's logits.
    static std::vector<std::string> read(Sequences& sequences, SequenceId id, std::span<const int32_t> ids) {
        std::vector<StepRow> rows;
        for (const int32_t token : ids) rows.push_back({id, token, wanted});
        const auto logits = sequences.step(rows);
        if (!logits) throw std::runtime_error(logits.error().message);
        std::vector<std::string> hashes;
        for (uint32_t row = 0; row < logits->rows; ++row) {
            LogitsHash hash;
            hash.add(logits->row(row));
            hashes.push_back(hash.hex());
        }
        return hashes;
    }
    std::vector<std::string> alone(const Text& text) {
        Sequences own = sequences(1);
        const SequenceId id = *own.open();
        std::vector<std::string> hashes;
        for (size_t at = 0; at < text.size(); at += 64) {
            const auto more = read(own, id, std::span(text).subspan(at, std::min<size_t>(64, text.size() - at)));
            hashes.insert(hashes.end(), more.begin(), more.end());
        }
        return hashes;
    }

    struct Model : TestModel {
        Model(const std::string& path, Isa isa) : TestModel(path, isa), isa_(isa) {}
        Isa isa() const { return isa_; }
        Isa isa_;
    };
    Model model_{"tests/data/families/" + GetParam() + ".gguf", x86::detect().levels.back()};
};

std::vector<std::string> part(const std::vector<std::string>& hashes, size_t first, size_t count) {
    return {hashes.begin() + first, hashes.begin() + first + count};
}

TEST_P(RunningStatesOf, TheReferenceIsTheGolden) {
    const Golden golden("family-" + GetParam());
    graph::Reference reference(model_.graph());
    // In two runs: the second goes on from the first one's state.
    std::vector<double> logits = reference.run(std::span(golden.prompt).first(5)).value();
    const auto rest = reference.run(std::span(golden.prompt).subspan(5)).value();
    logits.insert(logits.end(), rest.begin(), rest.end());
    for (size_t i = 0; i < golden.positions.size(); ++i)
        for (size_t token = 0; token < golden.vocabulary; ++token)
            ASSERT_NEAR(logits[golden.positions[i] * golden.vocabulary + token],
                        golden.logits[i * golden.vocabulary + token], 1e-5 * golden.deviation);
}

TEST_P(RunningStatesOf, TextsReadInPiecesSideBySideKeepTheirBits) {
    const std::vector<Text> texts = {some_tokens(70, 1), some_tokens(70, 2), some_tokens(70, 3)};
    std::vector<std::vector<std::string>> expected, got(texts.size());
    for (const Text& text : texts) expected.push_back(alone(text));
    Sequences together = sequences(3);
    for (size_t i = 0; i < texts.size(); ++i) ASSERT_EQ(*together.open(), i);
    std::mt19937 random(7);
    while (std::ranges::any_of(got, [](const auto& hashes) { return hashes.size() < 70; })) {
        std::vector<StepRow> rows;
        for (SequenceId id = 0; id < texts.size(); ++id) {
            const size_t left = 70 - got[id].size();
            for (size_t i = 0; i < std::min<size_t>(left, random() % 9); ++i)
                rows.push_back({id, texts[id][got[id].size() + i], wanted});
        }
        if (rows.empty()) continue;
        const auto logits = together.step(rows);
        ASSERT_TRUE(logits) << logits.error().message;
        for (uint32_t row = 0; row < logits->rows; ++row) {
            LogitsHash hash;
            hash.add(logits->row(row));
            got[rows[row].sequence].push_back(hash.hex());
        }
    }
    EXPECT_EQ(got, expected);
}

TEST_P(RunningStatesOf, AForkGoesOnByItself) {
    Sequences both = sequences(2);
    Text text = some_tokens(20, 1), other = text;
    const Text rest = some_tokens(6, 2), other_rest = some_tokens(6, 3);
    text.insert(text.end(), rest.begin(), rest.end());
    other.insert(other.end(), other_rest.begin(), other_rest.end());
    const SequenceId origin = *both.open();
    read(both, origin, std::span(text).first(20));
    const SequenceId fork = *both.fork(origin);
    EXPECT_EQ(both.length(fork), 20u);
    EXPECT_EQ(read(both, origin, rest), part(alone(text), 20, 6));
    EXPECT_EQ(read(both, fork, other_rest), part(alone(other), 20, 6));
}

// In parts that end anywhere, between another text's steps.
TEST_P(RunningStatesOf, AreRestoredBesideOthersSteps) {
    Sequences both = sequences(2);
    const Text text = some_tokens(26, 1), other = some_tokens(64, 2);
    const auto expected = alone(text), others = alone(other);
    const SequenceId origin = *both.open();
    read(both, origin, std::span(text).first(20));
    std::vector<std::byte> saved;
    ASSERT_TRUE(both.save(origin, 20, [&](std::span<const std::byte> bytes) -> Result<void> {
        saved.insert(saved.end(), bytes.begin(), bytes.end());
        return {};
    }));
    both.close(origin);
    const SequenceId beside = *both.open(), restored = *both.open();
    ASSERT_TRUE(both.skip(restored, 20));
    const size_t part_bytes = saved.size() / 40 + 3;  // no multiple of a row's bytes
    size_t steps = 0;
    for (size_t offset = 0; offset < saved.size(); offset += part_bytes, ++steps) {
        const size_t bytes = std::min(part_bytes, saved.size() - offset);
        ASSERT_TRUE(both.restore_some(restored, offset, std::span(saved).subspan(offset, bytes)));
        EXPECT_EQ(read(both, beside, std::span(other).subspan(steps, 1)), part(others, steps, 1));
    }
    EXPECT_EQ(read(both, restored, std::span(text).subspan(20)), part(expected, 20, 6));
    EXPECT_EQ(read(both, beside, std::span(other).subspan(steps)), part(others, steps, other.size() - steps));
}

TEST_P(RunningStatesOf, GoBackToWhereTheyWereKept) {
    constexpr uint32_t kLong = RunningStates::kLongStep;
    const Text text = some_tokens(3 * kLong, 4);
    const auto expected = alone(text);
    Sequences one = sequences(1);
    const SequenceId id = *one.open();
    const auto read_to = [&](uint32_t end) {
        const uint32_t from = one.length(id);
        EXPECT_EQ(read(one, id, std::span(text).subspan(from, end - from)), part(expected, from, end - from));
    };
    read_to(kLong);
    read_to(kLong + 3);
    read_to(2 * kLong + 3);
    for (uint32_t i = 1; i <= 4; ++i) read_to(2 * kLong + 3 + i);
    ASSERT_TRUE(one.truncate(id, 2 * kLong + 7)) << "as long as it is";
    EXPECT_EQ(one.length(id), 2 * kLong + 7);
    ASSERT_TRUE(one.truncate(id, 2 * kLong + 5));
    EXPECT_EQ(one.length(id), 2 * kLong + 3);
    read_to(2 * kLong + 6);
    ASSERT_TRUE(one.truncate(id, 2 * kLong + 2));
    EXPECT_EQ(one.length(id), kLong) << "what lay behind is kept no more";
    read_to(kLong + 5);
    ASSERT_TRUE(one.truncate(id, kLong - 1));
    EXPECT_EQ(one.length(id), 0u);
    read_to(10);
}

TEST_P(RunningStatesOf, ForgetTheOldestCopyFirst) {
    constexpr uint32_t kLong = RunningStates::kLongStep, kCopies = RunningStates::kCopies;
    const Text text = some_tokens((kCopies + 1) * kLong, 5);
    const auto expected = alone(text);
    Sequences one = sequences(1);
    const SequenceId id = *one.open();
    for (uint32_t i = 0; i <= kCopies; ++i) read(one, id, std::span(text).subspan(i * kLong, kLong));
    ASSERT_TRUE(one.truncate(id, 2 * kLong + 1));
    EXPECT_EQ(one.length(id), 2 * kLong);
    EXPECT_EQ(read(one, id, std::span(text).subspan(2 * kLong, 3)), part(expected, 2 * kLong, 3));
    ASSERT_TRUE(one.truncate(id, 2 * kLong - 1));
    EXPECT_EQ(one.length(id), 0u);
}

TEST_P(RunningStatesOf, ASequenceThatIsOpenedAnewBeginsWithNothing) {
    Sequences one = sequences(1);
    read(one, *one.open(), some_tokens(40, 1));
    one.close(0);
    const Text text = some_tokens(8, 2);
    EXPECT_EQ(read(one, *one.open(), text), alone(text));
    EXPECT_TRUE(one.truncate(0, 3));
    EXPECT_EQ(one.length(0), 0u) << "a copy of another text";
}

TEST_P(RunningStatesOf, RowsOfATextFollowEachOther) {
    Sequences two = sequences(2);
    const SequenceId a = *two.open(), b = *two.open();
    const auto refused = two.step(std::vector<StepRow>{{a, 1}, {b, 2}, {a, 3}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "rows of sequence 0 do not follow each other, which its running state asks for");
    EXPECT_EQ(two.length(a), 0u);
    EXPECT_TRUE(two.step(std::vector<StepRow>{{b, 1}, {b, 2}, {a, 3}}));
}

TEST_P(RunningStatesOf, SayThatGuessesCannotBeTakenBack) {
    Sequences one = sequences(1);
    const auto checked = one.check_truncatable();
    ASSERT_FALSE(checked);
    EXPECT_TRUE(checked.error().message.ends_with(": a running state goes back only to where it was kept"))
        << checked.error().message;
}

TEST_P(RunningStatesOf, StepsAllocateNothing) {
    Sequences one = sequences(1);
    const SequenceId id = *one.open();
    std::vector<StepRow> rows;
    for (const int32_t token : some_tokens(40, 1)) rows.push_back({id, token});
    ASSERT_TRUE(one.step(rows));
    const uint64_t before = allocations_on_this_thread();
    ASSERT_TRUE(one.step(rows));
    ASSERT_TRUE(one.truncate(id, 50));
    ASSERT_TRUE(one.step(rows));
    EXPECT_EQ(allocations_on_this_thread(), before);
}

INSTANTIATE_TEST_SUITE_P(Families, RunningStatesOf,
                         testing::Values("lfm2", "mamba", "mamba2", "jamba", "falcon_h1", "qwen35"),
                         [](const auto& info) { return info.param; });

}  // namespace running_states_test
}  // namespace riftjit::runtime
