#include "engine/prompt_cache.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "runtime/logits_hash.h"
#include "tests/engine/nano_engine.h"

namespace riftjit::engine {
namespace prompt_cache_test {

using Ids = std::vector<int32_t>;

Ids some_ids(size_t count) {
    Ids ids(count);
    for (size_t i = 0; i < count; ++i) ids[i] = int32_t(i * 37 % 500);
    return ids;
}

std::string hash_of(std::span<const float> logits) {
    runtime::LogitsHash hash;
    hash.add(logits);
    return hash.hex();
}

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

class PromptCache : public testing::Test {
protected:
    PromptCache()
        : path_(testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name() + ".text") {}
    ~PromptCache() override { std::filesystem::remove(path_); }

    // The text of these ids, or its beginning, in the file.
    void save(const EngineOptions& options, const Ids& ids, uint32_t length) const {
        const Engine engine = open_nano(options);
        Context context(*engine.session);
        ASSERT_TRUE(context.evaluate(ids));
        std::ofstream file(path_, std::ios::binary);
        ASSERT_TRUE(save_text(
            context, length, text_identity(engine, options), [&](std::span<const std::byte> bytes) -> Result<void> {
                file.write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
                return {};
            }));
    }

    // Why the file is refused; "": it is not, and what follows it has the bits of a text read from its beginning.
    std::string load(const EngineOptions& options, const Ids& whole, size_t length) const {
        const Engine engine = open_nano(options);
        Context context(*engine.session);
        EXPECT_TRUE(context.evaluate(Ids{3, 1, 4}));  // of another text
        if (const auto loaded = load_text(context, path_, text_identity(engine, options)); !loaded) {
            EXPECT_EQ(context.ids().size(), engine.session->position());
            return loaded.error().message;
        }
        EXPECT_EQ(context.ids().size(), length);
        const auto rest = context.reuse(whole);
        EXPECT_TRUE(rest && rest->size() == whole.size() - length) << rest->size();
        const std::string continued = hash_of(*context.evaluate(*rest));
        const Engine fresh = open_nano(options);
        Context from_start(*fresh.session);
        EXPECT_EQ(continued, hash_of(*from_start.evaluate(whole)));
        return "";
    }

    std::string path_;
};

TEST_F(PromptCache, GoesOnWithTheBitsOfATextReadFromItsBeginning) {
    for (const DType type : {DType::F16, DType::Q8_0}) {
        EngineOptions options = nano_options();
        options.key_type = options.value_type = type;
        const Ids ids = some_ids(300);
        save(options, ids, 300);
        EXPECT_EQ(load(options, some_ids(320), 300), "");
        save(options, ids, 257);
        EXPECT_EQ(load(options, some_ids(320), 257), "");
    }
}

TEST_F(PromptCache, HoldsRunningStates) {
    EngineOptions options = nano_options();
    options.model = std::string(RIFTJIT_SOURCE_DIR) + "/tests/data/families/lfm2.gguf";
    save(options, some_ids(40), 40);
    EXPECT_EQ(load(options, some_ids(60), 40), "");
}

TEST_F(PromptCache, IsRefusedWhereItDoesNotBelong) {
    const EngineOptions options = nano_options();
    save(options, some_ids(30), 30);
    EngineOptions other = options;
    other.key_type = DType::Q8_0;
    const std::string foreign = "of another model, or of other settings (cache types, level, activations)";
    EXPECT_EQ(load(other, some_ids(40), 30), foreign);
    other = nano_options("q4_k");
    EXPECT_EQ(load(other, some_ids(40), 30), foreign);
    other = options;
    other.context = 16;
    EXPECT_EQ(load(other, some_ids(10), 30), "its 30 tokens exceed the context of 16 (-c)");
}

TEST_F(PromptCache, DamageIsRefused) {
    const EngineOptions options = nano_options();
    save(options, some_ids(20), 20);
    const std::string whole = read_file(path_);
    const auto refused = [&](const std::string& bytes) {
        std::ofstream(path_, std::ios::binary) << bytes;
        return load(options, some_ids(30), 20);
    };
    for (const size_t length : {size_t{0}, size_t{15}, size_t{47}, size_t{63}, size_t{100}, whole.size() - 1})
        EXPECT_NE(refused(whole.substr(0, length)), "") << length;
    EXPECT_NE(refused(whole + "x"), "");
    for (size_t at = 0; at < whole.size(); at += at < 160 ? 1 : whole.size() / 40) {
        std::string damaged = whole;
        damaged[at] ^= 1;
        EXPECT_NE(refused(damaged), "") << at;
    }
    EXPECT_EQ(refused(whole), "");
    std::filesystem::remove(path_);
    EXPECT_EQ(load(options, some_ids(30), 20), "No such file or directory");
    ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
    EXPECT_EQ(load(options, some_ids(30), 20), "no regular file");
}

}  // namespace prompt_cache_test
}  // namespace riftjit::engine
