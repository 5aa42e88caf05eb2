// Any bytes as a chat template: refused or rendered within its bounds, never a crash, a leak or a hang.
//   build-fuzz/tests/fuzz/chat_template_fuzz corpus tests/data/templates
#include <cstdint>
#include <cstdlib>

#include "models/template/chat_template.h"

namespace {

using Json = nlohmann::ordered_json;

const riftjit::models::ChatTemplate::Inputs& conversation() {
    static const riftjit::models::ChatTemplate::Inputs inputs = [] {
        riftjit::models::ChatTemplate::Inputs made;
        made.messages =
            Json::parse(R"([{"role":"system","content":"be kind"},{"role":"user","content":"żó <b> ' \" \n"},
            {"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"a":[1,2.5,null,true]}}}]},
            {"role":"tool","content":"4"}])");
        made.tools = Json::parse(R"([{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}])");
        made.bos_token = "<s>";
        made.now = std::chrono::system_clock::time_point{};
        return made;
    }();
    return inputs;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const auto parsed =
        riftjit::models::ChatTemplate::parse(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
    if (!parsed) {
        if (!parsed.error().message.starts_with("fuzz:")) std::abort();  // every refusal says where
        return 0;
    }
    const auto segments = parsed->render(conversation());
    if (!segments && !segments.error().message.starts_with("fuzz:")) std::abort();
    return 0;
}
