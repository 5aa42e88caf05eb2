// Form C is applied where the published tokenizer's source says so: Qwen2 and Qwen3.5, Cohere's Command R, and
// GPT-NeoX, whose tokenizer MPT and OLMo use.
#include "models/tokenizer/pretokenizer_rules.h"

#include <algorithm>
#include <array>

namespace riftjit::models {

namespace {

using enum SplitFamily;
using enum Normalization;
using enum WholeWords;
using enum BeginToken;

constexpr auto kRules = std::to_array<PretokenizerRule>({
    {"qwen2", qwen2, nfc},
    {"deepseek-r1-qwen", qwen2},
    {"kormo", qwen2},
    {"f2llmv2", qwen2},
    {"megrez", qwen2},
    {"stablelm2", qwen2},
    {"hunyuan", qwen2},
    {"solar-open", qwen2},
    {"grok-2", qwen2},
    {"qwen35", qwen35, nfc},
    {"ufakzeka", ufakzeka},
    {"laguna", laguna},
    {"seed-coder", seed_coder},
    {"bailingmoe", bailingmoe},
    {"bailingmoe2", bailingmoe},
    {"llada-moe", bailingmoe},
    {"exaone-moe", exaone_moe},
    {"llama3", llama3, none, take, added},
    {"llama-v3", llama3, none, take, added},
    {"llama-bpe", llama3, none, take, added},
    {"falcon3", llama3, none, take, added},
    {"falcon-h1", llama3, none, take, added},
    {"pixtral", llama3, none, take, added},
    {"midm-2.0", llama3, none, take, added},
    {"lfm2", llama3, none, take, added},
    {"jina-v5-nano", llama3, none, take, added},
    {"smaug-bpe", llama3},
    {"dbrx", llama3},
    {"glm4", llama3, none, take},
    {"glm5", llama3, none, take},
    {"chatglm-bpe", llama3},
    {"minicpm5", minicpm5, none, take},
    {"jais-2", jais2},
    {"gpt-2", gpt2},
    {"phi-2", gpt2},
    {"mpt", gpt2, nfc},
    {"olmo", gpt2, nfc},
    {"jais", gpt2},
    {"mellum", gpt2},
    {.name = "modern-bert", .family = gpt2, .stripping_mask = "[MASK]"},
    {"exaone4", gpt2},
    {"gigachat", gpt2},
    {"a.x-4.0", gpt2},
    {"jina-es", gpt2},
    {"jina-de", gpt2},
    {.name = "jina-v2-es", .family = gpt2, .stripping_mask = "<mask>"},
    {.name = "jina-v2-de", .family = gpt2, .stripping_mask = "<mask>"},
    {.name = "roberta-bpe", .family = gpt2, .end_token = EndToken::separator, .stripping_mask = "<mask>"},
    {.name = "jina-v1-en", .family = gpt2, .end_token = EndToken::separator},
    {.name = "jina-v2-code", .family = gpt2, .end_token = EndToken::separator, .stripping_mask = "<mask>"},
    {"trillion", gpt2},
    {"granite-docling", gpt2},
    {"starcoder", starcoder},
    {"refact", starcoder},
    {"codeshell", starcoder},
    {"exaone", starcoder},
    {"minerva-7b", starcoder},
    {"mellum2", starcoder},
    {"command-r", starcoder, nfc},
    {"smollm", starcoder},
    {"falcon", falcon, none, merge, absent, ByteCut::at_numbers},
    {"default", standard},
    {"deepseek-v3", deepseek_v3},
    {"hunyuan-dense", deepseek_v3},
    {"joyai-llm", deepseek_v3},
    {"hy_v4", deepseek_v3},
    {"spark2_5", spark2_5},
    {"afmoe", afmoe},
    {"deepseek-coder", deepseek_coder},
    {"deepseek-llm", deepseek_llm},
    {"tekken", tekken, none, take, added},
    {"gpt-4o", gpt_4o},
    {"llama4", gpt_4o},
    {"kanana2", gpt_4o},
    {"talkie", gpt_4o},
    {"minimax-m2", gpt_4o},
    {"granite-embed-multi-97m", gpt_4o, none, take},
    {"tiny_aya", tiny_aya},
    {"cohere2moe", tiny_aya},
    {"youtu", youtu, none, take},
    {"kimi-k2", kimi_k2},
    {"bloom", bloom},
    {"gpt3-finnish", bloom},
    {"poro-chat", bloom},
    {"viking", viking},
    {"chameleon", chameleon, none, merge, added},
    {"superbpe", superbpe},
    {.name = "gemma4", .family = lines, .begin_token = BeginToken::always, .pieces = PieceForm::spaced},
    {.name = "granite-embed-multi-311m", .family = lines, .pieces = PieceForm::spaced},
    {.name = "sarvam-moe", .family = lines, .pieces = PieceForm::spaced},
    {.name = "whitespace", .family = spaced, .pieces = PieceForm::literal},
});

}  // namespace

std::span<const PretokenizerRule> pretokenizer_rules() { return kRules; }

const PretokenizerRule* find_pretokenizer_rule(std::string_view name) {
    const auto found = std::ranges::find(kRules, name, &PretokenizerRule::name);
    return found == kRules.end() ? nullptr : &*found;
}

}  // namespace riftjit::models
