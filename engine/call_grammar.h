// What an answer has to be that shall call tools: a grammar of the model's own way to write calls.
#pragma once

#include <memory>

#include "engine/grammar/grammar.h"
#include "engine/reply_format.h"
#include "models/tokenizer/tokenizer.h"

namespace riftjit::engine {

enum class CallCount : uint8_t { one, some };

// Of calls to any of `tools` (as a request has them) with arguments that their schemas find valid, after as much
// thinking as the model likes. is_thinking: the answer begins in the midst of it. Fails on a format whose letters are
// not known, and on schemas that are none.
Result<std::shared_ptr<const Grammar>> call_grammar(const ReplyFormat& format, const nlohmann::ordered_json& tools,
                                                    CallCount count, bool is_thinking,
                                                    const models::Tokenizer& tokenizer);

}  // namespace riftjit::engine
