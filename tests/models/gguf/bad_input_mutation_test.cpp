// Random changes of valid files, with a fixed seed: whatever is refused is refused with a message, and whatever still
// loads generates tokens. Run under the sanitizers, this is a search for reads out of bounds.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "graph/reference.h"
#include "tests/models/expect_message.h"

namespace riftjit::models {
namespace bad_input_mutation_test {

using namespace test;

// Runs 4 tokens through the double reference, as the graph stands.
void generate_four_tokens(const Model& model) {
    const auto graph = model.build();
    ASSERT_TRUE(graph) << graph.error().message;
    graph::Reference reference(*graph);
    for (const int32_t token : {0, 1, 2, 3}) {
        const int32_t id = token % static_cast<int32_t>(model.hyperparameters.vocabulary);
        const auto logits = reference.run(std::span(&id, 1));
        ASSERT_TRUE(logits) << logits.error().message;
        ASSERT_EQ(logits->size(), model.hyperparameters.vocabulary);
    }
}

class Mutator {
public:
    Mutator(const Image& image, uint32_t seed) : image_(image), file_(image.bytes), random_(seed) {}

    // Changes one or two bytes, opens, and puts the bytes back. Nine changes in ten hit header and index.
    void step() {
        const uint32_t changes = 1 + random_() % 2;
        std::array<uint64_t, 2> offsets = {};
        for (uint32_t i = 0; i < changes; ++i) {
            offsets[i] = random_() % (random_() % 10 == 0 ? image_.bytes.size() : image_.header_bytes);
            const char value =
                static_cast<char>(random_() % 4 == 0 ? image_.bytes[offsets[i]] ^ (1 << random_() % 8) : random_());
            file_.write(offsets[i], std::string_view(&value, 1));
        }
        load();
        for (uint32_t i = 0; i < changes; ++i)
            file_.write(offsets[i], std::string_view(image_.bytes).substr(offsets[i], 1));
    }

    uint32_t loaded = 0, refused = 0;

private:
    void load() {
        const auto model = load_model(file_.path());
        if (!model) {
            ++refused;
            EXPECT_TRUE(says(model.error().message, {file_.path().native() + ": "}));
        } else if (++loaded % 40 == 0) {  // the reference is slow
            generate_four_tokens(*model);
        }
    }

    const Image& image_;
    MemoryFile file_;
    std::mt19937 random_;
};

TEST(BadInputMutation, HundredThousandRandomChangesAreRefusedOrRun) {
    constexpr uint32_t kSteps = 100'000;
    uint32_t loaded = 0, refused = 0;
    for (const char* architecture : {"llama", "qwen3"}) {
        const Image image = tiny_model(architecture).build();
        Mutator mutator(image, 20240607);
        for (uint32_t i = 0; i < kSteps / 2; ++i) mutator.step();
        loaded += mutator.loaded;
        refused += mutator.refused;
    }
    EXPECT_EQ(loaded + refused, kSteps);
    // Both outcomes are common: changes of texts and weights are harmless, changes of lengths and names are not.
    EXPECT_GT(loaded, kSteps / 10);
    EXPECT_GT(refused, kSteps / 10);
}

TEST(BadInputMutation, RandomFilesBehindAValidHeaderAreRefused) {
    std::mt19937 random(11);
    MemoryFile file;
    for (int i = 0; i < 2000; ++i) {
        Bytes bytes = "GGUF" + raw(uint32_t{3}) + raw(uint64_t{1 + random() % 3}) + raw(uint64_t{random() % 3});
        const size_t size = bytes.size() + random() % 400;
        while (bytes.size() < size) bytes += static_cast<char>(random() % 3 == 0 ? random() : 0);
        file.resize(0);
        file.write(0, bytes);
        const auto model = load_model(file.path());
        ASSERT_FALSE(model);  // there is no architecture in there
        EXPECT_TRUE(says(model.error().message, {file.path().native() + ": "}));
    }
}

}  // namespace bad_input_mutation_test
}  // namespace riftjit::models
