// Several texts on one model: each gets the bits that it would get alone, whatever shares its steps and its pages.
#include "runtime/sequences.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "runtime/cpu/cpu_device.h"
#include "tests/runtime/allocation_counter.h"
#include "tests/runtime/golden_run.h"

namespace riftjit::runtime {
namespace sequences_test {

using enum StepRow::Logits;
using Text = std::vector<int32_t>;

constexpr const char* kNanoQ4K = "tests/data/nano/nano-q4_k.gguf";
constexpr uint32_t kVocabulary = 512;

Isa best_isa() { return x86::detect().levels.back(); }

Text some_tokens(size_t count, uint32_t seed) {
    std::mt19937 engine(seed);
    Text ids(count);
    for (int32_t& id : ids) id = int32_t(engine() % kVocabulary);
    return ids;
}

std::shared_ptr<const DeviceModel> load(TestModel& model, Isa isa, const graph::Graph& graph,
                                        const ModelOptions& options) {
    auto device = CpuDevice::create(isa, 2, Helpers::always, model.cache());
    if (!device) throw std::runtime_error(device.error().message);
    auto loaded = DeviceModel::create(graph, options, std::move(*device), {});
    if (!loaded) throw std::runtime_error(loaded.error().message);
    return std::move(*loaded);
}

Sequences sequences_of(std::shared_ptr<const DeviceModel> model, const SequenceLimits& limits) {
    auto sequences = Sequences::create(std::move(model), limits);
    if (!sequences) throw std::runtime_error(sequences.error().message);
    return std::move(*sequences);
}

std::vector<StepRow> rows_of(SequenceId sequence, std::span<const int32_t> ids, StepRow::Logits logits = wanted) {
    std::vector<StepRow> rows;
    for (const int32_t id : ids) rows.push_back({sequence, id, logits});
    return rows;
}

std::string hash_of(std::span<const float> row) {
    LogitsHash hash;
    hash.add(row);
    return hash.hex();
}

// The hash of each row's logits of a text that is alone on its model.
class Alone {
public:
    Alone(TestModel& model, DType cache_type) : session_(model.session(1, cache_type, 64, 1024)) {}

    std::vector<std::string> operator()(const Text& text) {
        EXPECT_TRUE(session_.truncate(0));
        std::vector<std::string> hashes;
        if (text.empty()) return hashes;
        const std::vector<float> logits = evaluate(session_, text);
        for (size_t row = 0; row < text.size(); ++row)
            hashes.push_back(hash_of(std::span(logits).subspan(row * kVocabulary, kVocabulary)));
        return hashes;
    }

private:
    Session session_;
};

// ---- two sequences --------------------------------------------------------------------------------------------------

struct TwoTexts {
    Text texts[2];
    std::vector<std::string> hashes[2];
    SequenceId ids[2];

    // Steps with the next rows[s] tokens of each text; of one first, or row by row in turn.
    void step(Sequences& sequences, const std::array<size_t, 2>& rows, bool in_turn) {
        std::vector<StepRow> step;
        std::vector<int> owners;
        const auto push = [&](int s, size_t i) {
            step.push_back({ids[s], texts[s][hashes[s].size() + i], wanted});
            owners.push_back(s);
        };
        if (in_turn) {
            for (size_t i = 0; i < std::max(rows[0], rows[1]); ++i)
                for (int s = 0; s < 2; ++s)
                    if (i < rows[s]) push(s, i);
        } else {
            for (int s = 0; s < 2; ++s)
                for (size_t i = 0; i < rows[s]; ++i) push(s, i);
        }
        const auto logits = sequences.step(step);
        ASSERT_TRUE(logits) << logits.error().message;
        ASSERT_EQ(logits->rows, step.size());
        for (uint32_t row = 0; row < logits->rows; ++row) hashes[owners[row]].push_back(hash_of(logits->row(row)));
    }
};

TEST(Sequences, TwoStepTogetherWithTheBitsOfEachAlone) {
    for (const Isa isa : x86::detect().levels)
        for (const DType cache_type : {DType::F16, DType::F32, DType::Q8_0})
            for (const bool in_turn : {false, true}) {
                TestModel model(kNanoQ4K, isa);
                Sequences sequences =
                    sequences_of(load(model, isa, model.graph(),
                                      {.batch = 64, .outputs = 64, .key_type = cache_type, .value_type = cache_type}),
                                 {.sequences = 2, .positions = 512});
                TwoTexts two{{some_tokens(300, 1), some_tokens(300, 2)}, {}, {}};
                for (SequenceId& id : two.ids) id = *sequences.open();
                // Prompts together, one prompt beside one token, tokens together, over the end of a page.
                for (const auto& rows : {std::array<size_t, 2>{30, 9},
                                         {1, 40},
                                         {1, 1},
                                         {1, 1},
                                         {0, 17},
                                         {20, 0},
                                         {40, 1},
                                         {1, 0},
                                         {32, 32},
                                         {32, 32},
                                         {32, 32},
                                         {32, 32},
                                         {1, 1},
                                         {50, 14},
                                         {2, 3},
                                         {1, 1},
                                         {8, 8}})
                    two.step(sequences, rows, in_turn);
                Alone alone(model, cache_type);
                for (int s = 0; s < 2; ++s) {
                    two.texts[s].resize(two.hashes[s].size());
                    EXPECT_EQ(sequences.length(two.ids[s]), two.texts[s].size());
                    EXPECT_EQ(two.hashes[s], alone(two.texts[s])) << name(isa) << " " << name(cache_type);
                }
                EXPECT_GT(two.texts[0].size(), 256u);
            }
}

TEST(Sequences, LogitsAreThoseOfTheRowsThatWantThem) {
    TestModel model(kNanoQ4K, best_isa());
    Sequences sequences = sequences_of(load(model, best_isa(), model.graph(), {.batch = 32, .outputs = 4}),
                                       {.sequences = 2, .positions = 64});
    const SequenceId a = *sequences.open(), b = *sequences.open();
    const Text text = some_tokens(10, 5);
    Alone alone(model, DType::F16);
    const auto expected = alone(text);
    std::vector<StepRow> step = rows_of(a, text, none), other = rows_of(b, text, none);
    step[3].logits = wanted;
    step.insert(step.end(), other.begin(), other.end());
    step[19].logits = step[10].logits = wanted;
    const auto logits = sequences.step(step);
    ASSERT_TRUE(logits) << logits.error().message;
    ASSERT_EQ(logits->rows, 3u);
    EXPECT_EQ(hash_of(logits->row(0)), expected[3]);
    EXPECT_EQ(hash_of(logits->row(1)), expected[0]);
    EXPECT_EQ(hash_of(logits->row(2)), expected[9]);
    for (const size_t rows : {1u, 5u}) {
        const auto nothing = sequences.step(rows_of(a, std::span(text).first(rows), none));
        ASSERT_TRUE(nothing) << nothing.error().message;
        EXPECT_EQ(nothing->rows, 0u);
    }
}

// ---- many sequences -------------------------------------------------------------------------------------------------

// Random steps, forks, truncations and closes of up to 64 sequences. What each text is and what its rows' logits were
// is kept beside, and compared with the text alone when it ends.
class Crowd {
public:
    static constexpr uint32_t kMostSequences = 64, kPositions = 700, kPages = 45, kBatch = 96;

    Crowd()
        : model_(kNanoQ4K, best_isa()),
          sequences_(sequences_of(load(model_, best_isa(), model_.graph(), {.batch = kBatch, .outputs = kBatch}),
                                  {kMostSequences, kPositions, uint64_t(kPages) * kKvPage})),
          alone_(model_, DType::F16) {
        while (members_.size() < kMostSequences) open();
    }

    void operate() {
        const uint32_t kind = random_() % 16;
        if (kind == 0) return open();
        if (kind == 1) return fork(any());
        if (kind == 2) return truncate(any());
        if (kind == 3 && members_.size() > 40) return close(any());
        step();
    }
    void close_all() {
        while (!members_.empty()) close(members_.begin()->first);
    }
    const PageTables& tables() const { return sequences_.tables(); }
    size_t rows_compared() const { return rows_compared_; }
    size_t refused() const { return refused_; }

private:
    struct Member {
        Text text;
        std::vector<std::string> hashes;  // empty where no logits were wanted
    };

    SequenceId any() { return std::next(members_.begin(), random_() % members_.size())->first; }

    void open() {
        if (const auto id = sequences_.open())
            members_[*id] = {};
        else
            EXPECT_EQ(members_.size(), kMostSequences);
    }
    void fork(SequenceId origin) {
        if (const auto id = sequences_.fork(origin))
            members_[*id] = members_[origin];
        else
            EXPECT_EQ(members_.size(), kMostSequences);
    }
    void truncate(SequenceId id) {
        Member& member = members_[id];
        compare(member);
        const auto length = uint32_t(random_() % (member.text.size() + 1));
        ASSERT_TRUE(sequences_.truncate(id, length));
        member.text.resize(length);
        member.hashes.resize(length);
    }
    void close(SequenceId id) {
        compare(members_[id]);
        sequences_.close(id);
        members_.erase(id);
    }
    void step() {
        std::vector<StepRow> rows;
        std::map<SequenceId, uint32_t> grown;
        const uint32_t parts = random_() % 12 + 1;
        for (uint32_t part = 0; part < parts; ++part) {
            const SequenceId id = any();
            const uint32_t count = random_() % 3 == 0 ? random_() % 40 + 1 : 1;
            for (uint32_t i = 0; i < count && rows.size() < kBatch; ++i) {
                if (members_[id].text.size() + grown[id] == kPositions) break;
                rows.push_back({id, int32_t(random_() % kVocabulary), random_() % 4 == 0 ? none : wanted});
                ++grown[id];
            }
        }
        if (rows.empty()) return;
        const uint32_t used = tables().used_pages();
        const auto logits = sequences_.step(rows);
        if (!logits) {
            EXPECT_NE(logits.error().message.find("are needed in the KV cache"), std::string::npos)
                << logits.error().message;
            EXPECT_EQ(tables().used_pages(), used);
            for (const auto& [id, member] : members_) EXPECT_EQ(sequences_.length(id), member.text.size());
            ++refused_;
            close(any());
            return;
        }
        uint32_t output = 0;
        for (const StepRow& row : rows) {
            members_[row.sequence].text.push_back(row.token);
            members_[row.sequence].hashes.push_back(row.logits == wanted ? hash_of(logits->row(output++)) : "");
        }
        EXPECT_EQ(output, logits->rows);
    }
    void compare(const Member& member) {
        const auto expected = alone_(member.text);
        for (size_t row = 0; row < member.text.size(); ++row) {
            if (member.hashes[row].empty()) continue;
            ASSERT_EQ(member.hashes[row], expected[row]) << "position " << row << " of " << member.text.size();
            ++rows_compared_;
        }
    }

    std::mt19937 random_{20};
    TestModel model_;
    Sequences sequences_;
    Alone alone_;
    std::map<SequenceId, Member> members_;
    size_t rows_compared_ = 0, refused_ = 0;
};

TEST(Sequences, SixtyFourKeepTheirBitsAndLoseNoPage) {
    Crowd crowd;
    for (int operation = 0; operation < 400; ++operation) {
        crowd.operate();
        if (testing::Test::HasFailure()) return;
    }
    EXPECT_GT(crowd.refused(), 0u) << "the cache was never full";
    crowd.close_all();
    EXPECT_EQ(crowd.tables().free_pages(), Crowd::kPages);
    EXPECT_EQ(crowd.tables().open_sequences(), 0u);
    EXPECT_GT(crowd.rows_compared(), 5000u);
}

// ---- refusals -------------------------------------------------------------------------------------------------------

TEST(Sequences, RefuseWhatDoesNotFitAndStayAsTheyWere) {
    TestModel model(kNanoQ4K, best_isa());
    Sequences sequences = sequences_of(load(model, best_isa(), model.graph(), {.batch = 300, .outputs = 2}),
                                       {.sequences = 3, .positions = 600, .cached_positions = 4 * kKvPage});
    const SequenceId a = *sequences.open(), b = *sequences.open();
    const auto error = [&](const std::vector<StepRow>& rows) {
        const auto logits = sequences.step(rows);
        return logits ? "" : logits.error().message;
    };
    const Text text = some_tokens(301, 3);
    EXPECT_EQ(error({}), "no tokens to evaluate");
    EXPECT_EQ(error(rows_of(a, text)), "a step of 301 rows: at most 300 fit");
    EXPECT_EQ(error(rows_of(a, std::span(text).first(3))), "logits of 3 rows are wanted: at most 2 fit");
    EXPECT_EQ(error({{a, 1}, {2, 1}}), "sequence 2 is not open");
    EXPECT_EQ(error({{a, 1}, {7, 1}}), "sequence 7 is not open");
    EXPECT_EQ(error({{a, 1}, {b, 512}}), "token 512 at index 1 is outside the vocabulary of 512");
    const auto rows = rows_of(a, std::span(text).first(300), none);
    EXPECT_EQ(error(rows), "");
    EXPECT_EQ(error(rows), "");
    EXPECT_EQ(error({{a, 1}}), "1 tokens after 600 exceed the context of 600 positions");
    EXPECT_EQ(error(rows_of(b, std::span(text).first(300), none)),
              "2 pages of 256 positions are needed in the KV cache, 1 are free");
    EXPECT_EQ(sequences.length(a), 600u);
    EXPECT_EQ(sequences.length(b), 0u);
    EXPECT_EQ(sequences.tables().free_pages(), 1u);
    ASSERT_TRUE(sequences.open());
    EXPECT_EQ(sequences.open().error().message, "3 sequences are open, as many as may be");
    EXPECT_EQ(sequences.fork(a).error().message, "3 sequences are open, as many as may be");
}

// ---- the rest -------------------------------------------------------------------------------------------------------

TEST(Sequences, StepsAllocateNothing) {
    TestModel model(kNanoQ4K, best_isa());
    Sequences sequences = sequences_of(load(model, best_isa(), model.graph(), {.batch = 8, .outputs = 8}),
                                       {.sequences = 4, .positions = 1024});
    std::vector<StepRow> rows;
    for (int i = 0; i < 3; ++i) rows.push_back({*sequences.open(), i + 5, wanted});
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(sequences.step(rows));
    const SequenceId fork = *sequences.fork(rows[0].sequence);
    rows.push_back({fork, 1, wanted});  // copies a page
    const uint64_t before = allocations_on_this_thread();
    for (int i = 0; i < 300; ++i) ASSERT_TRUE(sequences.step(rows));  // takes pages
    EXPECT_EQ(allocations_on_this_thread(), before);
}

TEST(Sequences, TwoSetsShareAModel) {
    TestModel model(kNanoQ4K, best_isa());
    const auto loaded = load(model, best_isa(), model.graph(), {.batch = 32, .outputs = 32});
    Sequences first = sequences_of(loaded, {.positions = 64}), second = sequences_of(loaded, {.positions = 64});
    const SequenceId a = *first.open(), b = *second.open();
    const Text text = some_tokens(20, 1), other = some_tokens(20, 2);
    Alone alone(model, DType::F16);
    std::vector<std::string> hashes;
    for (const size_t at : {0u, 10u}) {
        const auto logits = first.step(rows_of(a, std::span(text).subspan(at, 10)));
        ASSERT_TRUE(logits);
        for (uint32_t row = 0; row < 10; ++row) hashes.push_back(hash_of(logits->row(row)));
        ASSERT_TRUE(second.step(rows_of(b, std::span(other).subspan(at, 10))));
    }
    EXPECT_EQ(hashes, alone(text));
}

// Positions that nobody computed hold zeros, like values of attention that sees them: the next token is at their end.
TEST(Sequences, SkipPositions) {
    TestModel model(kNanoQ4K, best_isa());
    auto loaded = load(model, best_isa(), model.graph(), {.batch = 4});
    Sequences sequences = sequences_of(loaded, {.positions = 600});
    const SequenceId text = sequences.open().value();
    ASSERT_TRUE(sequences.skip(text, 599));
    EXPECT_EQ(sequences.length(text), 599u);
    const Text ids = some_tokens(1, 3);
    const auto logits = sequences.step(rows_of(text, ids));
    ASSERT_TRUE(logits) << logits.error().message;
    EXPECT_EQ(sequences.length(text), 600u);
    const auto refused = sequences.skip(text, 1);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "1 tokens after 600 exceed the context of 600 positions");
}

// Rows of a prompt plan of one level, and the row of a decode plan of another: the same cache, the same bits.
TEST(Sequences, GiveTheSameBitsWherePromptsAreReadAtAnotherLevel) {
    for (const char* type : {"q8_0", "q4_k", "q6_k"}) {
        const std::string file = fmt::format("tests/data/nano/nano-{}.gguf", type);
        TestModel model(file, best_isa());
        const Text text = some_tokens(70, 3);
        std::string expected;
        for (const Isa decode : x86::detect().levels)
            for (const Isa prompt : x86::detect().levels) {
                auto loaded = load(model, decode, model.graph(),
                                   {.batch = 64, .outputs = 64, .prompt_backend = &x86::backend(prompt)});
                EXPECT_EQ(loaded->prompt_plan.target, Target(prompt));
                EXPECT_EQ(loaded->decode_plan.target, Target(decode));
                Sequences sequences = sequences_of(loaded, {.positions = 80});
                const SequenceId id = *sequences.open();
                LogitsHash hash;
                for (size_t begin = 0; begin < text.size();) {
                    const size_t rows = begin == 0 ? 64 : begin < 66 ? 2 : 1;
                    const auto logits = sequences.step(rows_of(id, std::span(text).subspan(begin, rows)));
                    ASSERT_TRUE(logits) << logits.error().message;
                    for (uint32_t row = 0; row < logits->rows; ++row) hash.add(logits->row(row));
                    begin += rows;
                }
                if (expected.empty()) expected = hash.hex();
                EXPECT_EQ(hash.hex(), expected) << type << ": " << name(decode) << ", prompts " << name(prompt);
            }
    }
}

}  // namespace sequences_test
}  // namespace riftjit::runtime
