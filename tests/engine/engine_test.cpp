#include "engine/engine.h"

#include "host/available_memory.h"
#include "tests/engine/nano_engine.h"

namespace riftjit::engine {
namespace engine_test {

struct Opened {
    std::optional<Engine> engine;
    std::vector<std::string> warnings;
};

Opened open_with_context(uint32_t context) {
    Opened opened;
    EngineOptions options = nano_options();
    options.context = context;
    auto engine = open_engine(options, [&](const std::string& warning) { opened.warnings.push_back(warning); });
    EXPECT_TRUE(engine) << (engine ? "" : engine.error().message);
    if (engine) opened.engine = std::move(*engine);
    return opened;
}

TEST(Engine, WarnsOfAContextThatMemoryWillNotHold) {
    if (available_memory() == 0) GTEST_SKIP() << "wants a system that says how much memory is available";
    const Opened opened = open_with_context(1'000'000'000);
    const uint64_t bytes = opened.engine->session->kv_bytes();
    ASSERT_GT(bytes, available_memory());
    ASSERT_EQ(opened.warnings.size(), 2u);  // the first: beyond what the model was trained for
    const std::string& warning = opened.warnings.back();
    const std::string start = fmt::format("-c 1000000000: a full context takes {} bytes in the KV cache, ", bytes);
    ASSERT_TRUE(warning.starts_with(start)) << warning;
    const std::string rest = warning.substr(start.size());
    EXPECT_EQ(rest, fmt::format("{} are available", std::stoull(rest)));
    EXPECT_LT(std::stoull(rest), bytes);
    EXPECT_GT(std::stoull(rest), 0u);
}

TEST(Engine, SaysNothingOfAContextThatFits) { EXPECT_TRUE(open_with_context(64).warnings.empty()); }

}  // namespace engine_test
}  // namespace riftjit::engine
