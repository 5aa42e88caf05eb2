#include "engine/context.h"

#include <algorithm>

#include "runtime/logits_hash.h"
#include "tests/engine/nano_engine.h"

namespace riftjit::engine {
namespace context_test {

using Ids = std::vector<int32_t>;

Ids copy(std::span<const int32_t> ids) { return {ids.begin(), ids.end()}; }

TEST(Context, KeepsTheCommonPrefixAndReturnsTheRest) {
    const Engine engine = open_nano();
    Context context(*engine.session);
    ASSERT_TRUE(context.evaluate(Ids{1, 2, 3, 4, 5}));
    EXPECT_EQ(copy(*context.reuse(Ids{1, 2, 3, 9, 5})), (Ids{9, 5}));
    EXPECT_EQ(copy(context.ids()), (Ids{1, 2, 3}));
    EXPECT_EQ(engine.session->position(), 3u);
    EXPECT_EQ(copy(*context.reuse(Ids{7})), (Ids{7}));
    EXPECT_EQ(engine.session->position(), 0u);
}

TEST(Context, AlwaysEvaluatesTheLastTokenAnew) {
    const Engine engine = open_nano();
    Context context(*engine.session);
    ASSERT_TRUE(context.evaluate(Ids{1, 2, 3}));
    EXPECT_EQ(copy(*context.reuse(Ids{1, 2, 3})), (Ids{3}));  // its logits are wanted
    ASSERT_TRUE(context.evaluate(Ids{3}));
    EXPECT_EQ(copy(*context.reuse(Ids{1, 2})), (Ids{2}));
    EXPECT_EQ(engine.session->position(), 1u);
}

TEST(Context, GivesTheBitsOfAnEvaluationFromTheStart) {
    const Ids shared = {5, 6, 7, 8, 9, 10, 11}, other = {5, 6, 7, 8, 20, 21};
    const auto hash = [&](const std::vector<Ids>& prompts) {
        const Engine engine = open_nano();
        Context context(*engine.session);
        runtime::LogitsHash hash;
        for (const Ids& ids : prompts) {
            const auto logits = context.evaluate(*context.reuse(ids));
            EXPECT_TRUE(logits);
            if (&ids == &prompts.back()) hash.add(*logits);
        }
        return hash.hex();
    };
    EXPECT_EQ(hash({shared, other}), hash({other}));
    EXPECT_NE(hash({shared, other}), hash({shared}));
}

// Where a running state was kept, and from there on anew.
TEST(Context, ReadsAgainWhatARunningStateCannotTakeBack) {
    EngineOptions options = nano_options();
    options.model = std::string(RIFTJIT_SOURCE_DIR) + "/tests/data/families/lfm2.gguf";
    Ids prompt(40);
    for (size_t i = 0; i < prompt.size(); ++i) prompt[i] = int32_t(i * 37 % 500);
    const auto hash = [&](const std::vector<Ids>& prompts, size_t again) {
        const Engine engine = open_nano(options);
        Context context(*engine.session);
        runtime::LogitsHash hash;
        for (const Ids& ids : prompts) {
            const auto rest = *context.reuse(ids);
            const auto logits = context.evaluate(rest);
            EXPECT_TRUE(logits);
            if (&ids != &prompts.back()) continue;
            EXPECT_EQ(rest.size(), again);
            hash.add(*logits);
        }
        return hash.hex();
    };
    Ids longer = prompt, other = prompt, early = prompt;
    for (const int32_t id : {3, 1, 4, 1, 5}) longer.push_back(id);
    for (const int32_t id : {3, 1, 9}) other.push_back(id);
    early[7] = 499;
    // The prompt was a step of 40 rows, behind which the state is kept.
    EXPECT_EQ(hash({prompt, longer, other}, 3), hash({other}, 43));
    EXPECT_EQ(hash({prompt, longer, early}, 40), hash({early}, 40));
}

TEST(Context, RefusesPromptsThatCannotBeReadAndKeepsWhatItHolds) {
    EngineOptions options = nano_options();
    options.context = 4;
    const Engine engine = open_nano(options);
    Context context(*engine.session);
    ASSERT_TRUE(context.evaluate(Ids{1, 2, 3}));
    const auto empty = context.reuse({});
    ASSERT_FALSE(empty);
    EXPECT_EQ(empty.error().message, "the prompt is empty and the model has no BOS token to start from");
    const auto longer = context.reuse(Ids{1, 2, 3, 4, 5});
    ASSERT_FALSE(longer);
    EXPECT_EQ(longer.error().message, "the prompt has 5 tokens, the context 4 (-c); context_length_exceeded");
    EXPECT_FALSE(context.evaluate(Ids{4, 5}));
    EXPECT_EQ(copy(context.ids()), (Ids{1, 2, 3}));
    EXPECT_FALSE(context.is_full());
    ASSERT_TRUE(context.evaluate(Ids{4}));
    EXPECT_TRUE(context.is_full());
}

}  // namespace context_test
}  // namespace riftjit::engine
