// What a session promises beside exact logits: batches, truncation, limits, passes, no allocation.
#include "runtime/session.h"

#include <gtest/gtest.h>

#include <random>

#include "graph/reference.h"
#include "jit/formats/cache_format.h"
#include "runtime/sampling/sampler.h"
#include "tests/runtime/allocation_counter.h"
#include "tests/runtime/golden_run.h"

namespace riftjit::runtime {
namespace session_test {

constexpr const char* kNanoF32 = "tests/data/nano/nano-f32.gguf";
constexpr const char* kNanoQ4K = "tests/data/nano/nano-q4_k.gguf";

Isa best_isa() { return x86::detect().levels.back(); }

std::vector<int32_t> some_tokens(size_t count) {
    std::mt19937 engine(3);
    std::vector<int32_t> ids(count);
    for (int32_t& id : ids) id = int32_t(engine() % 512);
    return ids;
}

// Evaluates `ids` in pieces of the given sizes, the last size again and again, and returns the logits of all rows.
std::vector<float> evaluate_split(Session& session, std::span<const int32_t> ids, std::vector<size_t> sizes) {
    std::vector<float> all;
    for (size_t piece = 0; !ids.empty(); ++piece) {
        const size_t count = std::min(ids.size(), sizes[std::min(piece, sizes.size() - 1)]);
        const std::vector<float> logits = evaluate(session, ids.first(count));
        all.insert(all.end(), logits.begin(), logits.end());
        ids = ids.subspan(count);
    }
    return all;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class SessionTypes : public testing::TestWithParam<std::string> {};

// Not only within one batch size: also where the session itself cuts a prompt (batch), and where single tokens take the
// other form of kernels.
TEST_P(SessionTypes, AnySplitOfAPromptGivesTheSameBits) {
    const std::vector<int32_t> ids = some_tokens(75);
    for (const Isa isa : x86::detect().levels) {
        TestModel model("tests/data/nano/nano-" + GetParam() + ".gguf", isa);
        Session whole = model.session(2, DType::F16);
        const std::vector<float> expected = evaluate_split(whole, ids, {75});
        for (const std::vector<size_t>& sizes :
             {std::vector<size_t>{1}, {2}, {3}, {16}, {17, 1, 15, 4}, {1, 70, 1}, {64, 2, 1}}) {
            Session session = model.session(2, DType::F16);
            EXPECT_TRUE(same_bits(evaluate_split(session, ids, sizes), expected))
                << name(isa) << ", pieces of " << sizes[0];
        }
        Session small_batch = model.session(2, DType::F16, 13);
        EXPECT_TRUE(same_bits(evaluate_split(small_batch, ids, {75}), expected)) << name(isa) << ", batch 13";
    }
}

// Over segments of attention, which threads share: of a single token's row, alone and beside others.
TEST(Session, ALongTextHasTheSameBitsAtAnyNumberOfThreads) {
    const std::vector<int32_t> ids = some_tokens(800);
    for (const Isa isa : x86::detect().levels)
        for (const DType cache_type : {DType::F16, DType::F32, DType::Q8_0, DType::Q5_1, DType::IQ4_NL, DType::RQ4}) {
            TestModel model(kNanoQ4K, isa);
            Session alone = model.session(1, cache_type, 512, 1024);
            const std::vector<float> expected = evaluate_split(alone, ids, {800});
            for (const uint32_t threads : {1u, 2u, 3u, 7u}) {
                Session session = model.session(threads, cache_type, 512, 1024);
                EXPECT_TRUE(same_bits(evaluate_split(session, ids, {250, 1, 1, 1, 1, 1, 1, 1, 253, 1, 1, 1, 1, 256, 1}),
                                      expected))
                    << name(isa) << ", " << threads << " threads, " << name(cache_type);
            }
        }
}

std::vector<std::string> weight_types() {
    std::vector<std::string> types;
    for (const DTypeTraits& type : all_dtypes())
        if (type.is_weight) types.emplace_back(type.name);
    return types;
}
INSTANTIATE_TEST_SUITE_P(Nano, SessionTypes, testing::ValuesIn(weight_types()),
                         [](const auto& info) { return info.param; });

TEST(Session, CacheTypesAgreeInTheirWay) {
    const std::vector<int32_t> ids = some_tokens(60);
    TestModel model(kNanoF32, best_isa());
    Session exact = model.session(2, DType::F32);
    const std::vector<float> expected = evaluate(exact, ids);
    double squares = 0;
    for (float logit : expected) squares += double(logit) * logit;
    const double deviation = std::sqrt(squares / expected.size());
    // Relative errors of an element: 2^-12 for f16; for q8_0 half a step of 1/127 of the largest of 32, 0.4 %. Averaged
    // over positions and summed over a dimension they reach a logit smaller; the largest of 30,000 is looked at.
    for (const auto& [type, bound] : {std::pair{DType::F16, 0.006}, {DType::Q8_0, 0.1}}) {
        Session session = model.session(2, type);
        const std::vector<float> logits = evaluate(session, ids);
        double error = 0;
        for (size_t i = 0; i < logits.size(); ++i) error = std::max<double>(error, std::abs(logits[i] - expected[i]));
        EXPECT_LE(error / deviation, bound) << name(type);
        EXPECT_GT(error, 0) << "the type must matter";
        EXPECT_LT(session.kv_bytes(), exact.kv_bytes());
    }
}

double distance(std::span<const double> a, std::span<const double> b) {
    double squares = 0;
    for (size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
    return std::sqrt(squares / a.size());
}

// A reference whose cache is of the same type. What f32 rounds on the way there tips codes over here and there, and
// those others in the layers behind them; yet another rounding altogether would be the square root of 2 times as far
// off as the type is from double.
TEST(Session, CachesOfEveryTypeAreTheReferencesOwn) {
    const std::vector<int32_t> ids = some_tokens(60);
    TestModel model(kNanoF32, best_isa());
    const auto exact = graph::Reference(model.graph()).run(ids);
    ASSERT_TRUE(exact) << exact.error().message;
    const double deviation = distance(*exact, std::vector<double>(exact->size()));
    for (const DType type : kCacheTypes) {
        Session session = model.session(2, type);
        const std::vector<float> logits = evaluate(session, ids);
        const auto expected = graph::Reference(model.graph(), graph::ReferenceCache{type, type}).run(ids);
        ASSERT_TRUE(expected) << expected.error().message;
        const double error = distance(std::vector<double>(logits.begin(), logits.end()), *expected);
        EXPECT_LE(error, 0.5 * distance(*expected, *exact) + 1e-5 * deviation) << name(type);
    }
}

TEST(Session, TruncatingGoesBackInTime) {
    const std::vector<int32_t> ids = some_tokens(40), other = some_tokens(7);
    TestModel model(kNanoQ4K, best_isa());
    Session session = model.session(2);
    const std::vector<float> expected = evaluate_split(session, ids, {40});
    EXPECT_EQ(session.position(), 40u);
    for (const uint32_t back_to : {39u, 16u, 5u, 0u}) {
        evaluate(session, other);  // overwrites what follows
        session.truncate(back_to);
        EXPECT_EQ(session.position(), back_to);
        const std::vector<float> logits = evaluate(session, std::span(ids).subspan(back_to));
        EXPECT_TRUE(same_bits(logits, {expected.begin() + back_to * 512, expected.end()})) << "from " << back_to;
    }
    session.truncate(1000);
    EXPECT_EQ(session.position(), 40u) << "nothing to forget there";
}

std::string error_of(Session& session, std::vector<int32_t> ids) {
    const auto logits = session.evaluate(ids);
    return logits ? "" : logits.error().message;
}

TEST(Session, RefusesWhatDoesNotFitAndStaysAsItWas) {
    TestModel model(kNanoQ4K, best_isa());
    Session session = model.session(2, DType::F16, 8, 20);
    EXPECT_EQ(session.context(), 20u);
    EXPECT_EQ(error_of(session, some_tokens(21)), "21 tokens after 0 exceed the context of 20 positions");
    EXPECT_EQ(session.position(), 0u);
    EXPECT_EQ(error_of(session, some_tokens(19)), "");
    EXPECT_EQ(error_of(session, some_tokens(2)), "2 tokens after 19 exceed the context of 20 positions");
    EXPECT_EQ(error_of(session, {5}), "") << "the last position can be used";
    EXPECT_EQ(error_of(session, {5}), "1 tokens after 20 exceed the context of 20 positions");
    session.truncate(0);
    EXPECT_EQ(error_of(session, {}), "no tokens to evaluate");
    EXPECT_EQ(error_of(session, {3, 512}), "token 512 at index 1 is outside the vocabulary of 512");
    EXPECT_EQ(error_of(session, {-1}), "token -1 at index 0 is outside the vocabulary of 512");
    EXPECT_EQ(session.position(), 0u);
}

TEST(Session, NoThreadIsRefusedByTheDevice) {
    KernelCache cache(x86::compile, DiskCache::disabled());
    const auto device = CpuDevice::create(best_isa(), 0, Helpers::always, cache);
    ASSERT_FALSE(device);
    EXPECT_EQ(device.error().message, "threads 0: expected 1 or more");
}

TEST(Session, RefusesOptionsThatCannotBeMet) {
    TestModel model(kNanoQ4K, best_isa());
    const auto error = [&](SessionOptions options) {
        const auto session = Session::create(model.graph(), options, model.device(1), {});
        return session ? "" : session.error().message;
    };
    const SessionOptions good{.context = 16};
    EXPECT_EQ(error(good), "");
    SessionOptions bad = good;
    bad.context = 0;
    EXPECT_EQ(error(bad), "context 0: expected 1 position or more");
    bad = good;
    bad.batch = 0;
    EXPECT_EQ(error(bad), "batch 0: expected 1 row or more");
    bad = good;
    bad.outputs = 0;
    EXPECT_EQ(error(bad), "outputs 0: expected 1 row or more");
    bad = good;
    bad.passes = "fuse-everything";
    EXPECT_NE(error(bad).find("unknown pass 'fuse-everything'"), std::string::npos) << error(bad);
    EXPECT_EQ(Session::create(graph::Graph{}, good, model.device(1), {}).error().message,
              "a session needs a graph that embeds tokens and computes logits");
}

// The cache is address space until the text comes: two layers of one head of 128 in f32 take 2 KiB a position.
TEST(Session, ContextMayBeFarLargerThanMemory) {
    TestModel model(kNanoQ4K, best_isa());
    Session session = model.session(2, DType::F32, 512, 1'000'000'000);
    EXPECT_EQ(session.kv_bytes(), round_up(1'000'000'000, 256) * 2048);
    const std::vector<int32_t> ids = some_tokens(10);
    Session small = model.session(2, DType::F32);
    EXPECT_TRUE(same_bits(evaluate(session, ids), evaluate(small, ids)));
}

// Norms and residuals are computed by other kernels, in another order of launches, yet by the same operations.
TEST(Session, PassesDoNotChangeABit) {
    const std::vector<int32_t> ids = some_tokens(33);
    for (const char* path : {kNanoF32, kNanoQ4K, "tests/data/families/llama_untied_bias.gguf"}) {
        TestModel model(path, best_isa());
        Session fused = model.session(2, DType::F16);
        const std::vector<float> expected = evaluate_split(fused, ids, {32, 1});
        for (const std::string passes : {"none", "-reuse-memory", "-elide-barriers", "-fuse-quantize"}) {
            Session session = model.session(2, DType::F16, 512, 256, passes);
            EXPECT_TRUE(same_bits(evaluate_split(session, ids, {32, 1}), expected)) << path << ", passes " << passes;
        }
    }
}

// Logits of the last row alone are the last of all rows.
TEST(Session, LastRowAloneHasTheSameLogits) {
    const std::vector<int32_t> ids = some_tokens(30);
    TestModel model(kNanoQ4K, best_isa());
    Session session = model.session(2);
    const std::vector<float> rows = evaluate(session, ids);
    ASSERT_EQ(rows.size(), 30u * 512);
    ASSERT_TRUE(session.truncate(0));
    const auto row = session.evaluate(ids);
    ASSERT_TRUE(row);
    EXPECT_TRUE(same_bits({row->begin(), row->end()}, {rows.end() - 512, rows.end()}));
    EXPECT_EQ(session.vocabulary(), 512u);
}

TEST(Session, OneStepShowsTheLogitsOfAllItsRows) {
    const std::vector<int32_t> ids = some_tokens(30);
    TestModel model(kNanoQ4K, best_isa());
    Session session = model.session(2, DType::F16, 8, 32);
    const std::vector<float> rows = evaluate(session, ids);
    ASSERT_TRUE(session.truncate(20));
    EXPECT_EQ(session.most_outputs(), 8u);
    const auto step = session.step(std::span(ids).subspan(20, 7));
    ASSERT_TRUE(step);
    ASSERT_EQ(step->rows, 7u);
    for (uint32_t row = 0; row < 7; ++row) {
        const auto expected = rows.begin() + ptrdiff_t(20 + row) * 512;
        EXPECT_TRUE(same_bits({step->row(row).begin(), step->row(row).end()}, {expected, expected + 512})) << row;
    }
    EXPECT_EQ(session.step(some_tokens(9)).error().message, "9 tokens after 27 exceed the context of 32 positions");
    ASSERT_TRUE(session.truncate(3));
    EXPECT_EQ(session.step(some_tokens(9)).error().message, "logits of 9 rows are wanted: at most 8 fit");
    EXPECT_EQ(session.step({}).error().message, "no tokens to evaluate");
    EXPECT_EQ(session.position(), 3u);
}

TEST(Session, ReleasesEveryPackedByteOfTheFileOnce) {
    TestModel model(kNanoQ4K, best_isa());
    const SessionOptions options{.context = 16};
    uint64_t released = 0, packed = 0;
    const auto session =
        Session::create(model.graph(), options, model.device(2), [&](auto range) { released += range.size(); });
    ASSERT_TRUE(session);
    for (const graph::Tensor& tensor : model.graph().tensors)
        if (tensor.kind == graph::TensorKind::weight && tensor.rows > 1)
            packed += tensor.rows * row_bytes(tensor.type, tensor.width);
    EXPECT_EQ(released, packed);
    EXPECT_GE(session->packed_bytes(), packed);
    EXPECT_LE(session->packed_bytes(), packed * 11 / 10) << "vectors and padding are little";
    EXPECT_GT(session->weights_read_rate().value(), 0.0);
}

TEST(Session, AllocatesNothingPerToken) {
    TestModel model(kNanoQ4K, best_isa());
    Session session = model.session(2);
    auto sampler = Sampler::create({}, session.vocabulary());
    ASSERT_TRUE(sampler);
    int32_t id = 1;
    const auto step = [&] {
        const auto logits = session.evaluate(std::span(&id, 1));
        ASSERT_TRUE(logits);
        const auto sampled = sampler->sample(*logits);
        ASSERT_TRUE(sampled);
        id = *sampled;
        sampler->accept(id);
    };
    const auto step_of_several = [&] {
        constexpr std::array<int32_t, 4> kSeveral = {1, 2, 3, 4};
        ASSERT_TRUE(session.step(kSeveral) && session.truncate(session.position() - 2));
    };
    for (int i = 0; i < 3; ++i) step(), step_of_several();
    const uint64_t before = allocations_on_this_thread();
    for (int i = 0; i < 50; ++i) step(), step_of_several();
    EXPECT_EQ(allocations_on_this_thread(), before);
}

TEST(Session, TwoSessionsShareKernelsAndNothingElse) {
    const std::vector<int32_t> ids = some_tokens(20);
    TestModel model(kNanoQ4K, best_isa());
    Session first = model.session(2), second = model.session(1);
    const std::vector<float> expected = evaluate(first, ids);
    evaluate(second, some_tokens(3));
    second.truncate(0);
    EXPECT_TRUE(same_bits(evaluate(second, ids), expected));
    first.truncate(0);
    EXPECT_TRUE(same_bits(evaluate(first, ids), expected));
}

}  // namespace session_test
}  // namespace riftjit::runtime
