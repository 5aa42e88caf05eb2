// Model files: as `inspect --check-tensors` and `tokenize` read them, and a few tokens of some that are taken.
#include "graph/reference.h"
#include "models/gguf/gguf_data_check.h"
#include "models/model.h"
#include "models/tokenizer/tokenizer.h"
#include "tests/models/gguf/gguf_builder.h"
#include "tests/mutants/campaign.h"

namespace riftjit::mutants {
namespace gguf_mutants_test {

// The reference computes in double: of a model that a changed number made large it takes long.
constexpr uint64_t kMostComputed = 1 << 20;

Outcome read(const std::string& bytes) {
    models::test::MemoryFile file;
    file.write(0, bytes);
    const auto model = models::load_model(file.path());
    if (!model) return {model.error().message};
    models::check_tensors(model->file);
    if (const auto tokenizer = models::Tokenizer::from_gguf(model->file)) {
        const auto ids = tokenizer->encode("a fox, <|im_end|> e\u0301", models::ParseSpecial::yes, models::AddBos::yes);
        if (ids) tokenizer->decode(*ids);
    }
    const auto graph = model->build();
    check(graph.has_value(), "the graph of a loaded model can be built");
    const models::Hyperparameters& hyper = model->hyperparameters;
    const std::array<int32_t, 2> ids = {0, static_cast<int32_t>(hyper.vocabulary) - 1};
    if (uint64_t{hyper.vocabulary} * hyper.width > kMostComputed) return {};
    check(graph::Reference(*graph).run(ids).has_value(), "a built graph runs");
    return {};
}

TEST(GgufMutants, AreRefusedOrRead) {
    std::vector<std::string> seeds;
    for (const std::string name : {"llama", "qwen2", "qwen3"}) seeds.push_back(models::test::tiny_model(name).bytes());
    Campaign("gguf", std::move(seeds), read).run();
}

}  // namespace gguf_mutants_test
}  // namespace riftjit::mutants
