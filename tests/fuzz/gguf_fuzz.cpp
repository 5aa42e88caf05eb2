// Any bytes as a model file: opened, checked, its tokenizer and graph built, and tokens generated if all of that
// succeeds.
#include <array>

#include "graph/reference.h"
#include "models/gguf/gguf_data_check.h"
#include "models/model.h"
#include "models/tokenizer/tokenizer.h"
#include "tests/models/gguf/gguf_builder.h"

namespace {

using namespace riftjit;

void use(const models::Model& model) {
    models::check_tensors(model.file);
    if (const auto tokenizer = models::Tokenizer::from_gguf(model.file)) {
        const auto ids = tokenizer->encode("a fox, <|im_end|>", models::ParseSpecial::yes, models::AddBos::yes);
        if (ids) tokenizer->decode(*ids);
    }
    const auto graph = model.build();
    check(graph.has_value(), "the graph of a loaded model can be built");
    const std::array<int32_t, 2> ids = {0, static_cast<int32_t>(model.hyperparameters.vocabulary) - 1};
    const auto logits = graph::Reference(*graph).run(ids);
    check(logits.has_value(), "a built graph runs");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static models::test::MemoryFile file;
    file.resize(0);
    file.write(0, std::string_view(reinterpret_cast<const char*>(data), size));
    if (const auto model = models::load_model(file.path())) {
        use(*model);
    } else {
        check(model.error().message.find('\n') == std::string::npos, "a message is one line");
    }
    return 0;
}
