#include "models/template/named_templates.h"

#include <map>
#include <vector>

namespace riftjit::models {

namespace {

// `turn` is written for each message m, `answer` where the model goes on.
struct Shape {
    std::string before, turn, answer;
};

std::string source_of(const Shape& shape) {
    std::string source = shape.before + "{% for m in messages %}" + shape.turn + "{% endfor %}";
    if (!shape.answer.empty()) source += "{% if add_generation_prompt %}" + shape.answer + "{% endif %}";
    return source;
}

// Turns of three kinds; roles beside them are left out.
std::string by_role(const std::string& system, const std::string& user, const std::string& assistant,
                    const std::string& tool = "") {
    std::string turn = "{% if m.role == 'system' %}" + system + "{% elif m.role == 'user' %}" + user +
                       "{% elif m.role == 'assistant' %}" + assistant;
    if (!tool.empty()) turn += "{% elif m.role == 'tool' %}" + tool;
    return turn + "{% endif %}";
}

// Turns of a system, of a user and of anybody else.
std::string or_else(const std::string& system, const std::string& user, const std::string& other) {
    return "{% if m.role == 'system' %}" + system + "{% elif m.role == 'user' %}" + user + "{% else %}" + other +
           "{% endif %}";
}

const std::string kContent = "{{ m.content }}", kTrimmed = "{{ m.content|trim }}";

// What opens the turns that follow an assistant's.
std::string reopened(const std::string& text) {
    return "{% if not loop.first and loop.previtem.role not in ['system', 'user'] %}" + text + "{% endif %}";
}

std::string llama2(const std::string& system, const std::string& again = "[INST] ",
                   const std::string& content = kContent) {
    return source_of({"[INST] ", reopened(again) + or_else(system, content + " [/INST]", content + "</s>"), ""});
}

std::string mistral(const std::string& leading, const std::string& trailing, const std::string& answer) {
    const std::string open = leading + "[INST]" + trailing;
    return source_of(
        {"{% if messages %}" + open + "{% endif %}",
         reopened(open) + or_else(kContent + "\n\n", kContent + leading + "[/INST]", trailing + answer + "</s>"), ""});
}

std::string mistral_v7(const std::string& trailing) {
    return source_of({"",
                      or_else("[SYSTEM_PROMPT]" + trailing + kContent + "[/SYSTEM_PROMPT]",
                              "[INST]" + trailing + kContent + "[/INST]", trailing + kContent + "</s>"),
                      ""});
}

// System texts are kept for the user's next turn, which `user` writes with {{ kept.system }} before its content.
std::string with_kept_system(const std::string& system, const std::string& turn, const std::string& answer) {
    return source_of({"{% set kept = namespace(system='') %}",
                      "{% if m.role == 'system' %}{% set kept.system = kept.system + " + system + " %}{% else %}" +
                          turn + "{% endif %}",
                      answer});
}
const std::string kKeptSystem = "{% if kept.system %}{{ kept.system }}\n\n{% set kept.system = '' %}{% endif %}";

std::string vicuna(const std::string& system) {
    return source_of(
        {"", by_role(system, "USER: " + kContent + "\n", "ASSISTANT: " + kContent + "</s>\n"), "ASSISTANT:"});
}

std::string exaone(const std::string& tool) {
    return source_of({"",
                      by_role("[|system|]" + kTrimmed + "[|endofturn|]\n", "[|user|]" + kTrimmed + "\n",
                              "[|assistant|]" + kTrimmed + "[|endofturn|]\n", tool),
                      "[|assistant|]"});
}

std::string granite(const std::string& head) {
    return source_of({"", head + kContent + "<|end_of_text|>\n", "<|start_of_role|>assistant<|end_of_role|>"});
}

const std::string kUpperRole = "<role>{{ 'HUMAN' if m.role == 'user' else m.role|upper }}</role>";

const std::map<std::string, std::string, std::less<>>& sources() {
    const std::string named = "<|{{ m.role }}|>\n" + kContent;
    const std::string granite4 =
        "<|start_of_role|>{{ 'assistant' if m.role == 'assistant_tool_call' else m.role }}<|end_of_role|>"
        "{{ '<|tool_call|>' if m.role == 'assistant_tool_call' else '' }}";
    static const std::map<std::string, std::string, std::less<>> kSources = {
        {"chatml",
         source_of({"", "<|im_start|>{{ m.role }}\n" + kContent + "<|im_end|>\n", "<|im_start|>assistant\n"})},
        {"llama2", llama2(kContent + "\n")},
        {"llama2-sys", llama2("<<SYS>>\n" + kContent + "\n<</SYS>>\n\n")},
        {"llama2-sys-bos", llama2("<<SYS>>\n" + kContent + "\n<</SYS>>\n\n", "<s>[INST] ")},
        {"llama2-sys-strip", llama2("<<SYS>>\n" + kTrimmed + "\n<</SYS>>\n\n", "[INST] ", kTrimmed)},
        {"mistral-v1", mistral(" ", " ", kContent)},
        {"mistral-v3", mistral("", " ", kTrimmed)},
        {"mistral-v3-tekken", mistral("", "", kContent)},
        {"mistral-v7", mistral_v7(" ")},
        {"mistral-v7-tekken", mistral_v7("")},
        {"phi3", source_of({"", named + "<|end|>\n", "<|assistant|>\n"})},
        {"phi4", source_of({"", "<|im_start|>{{ m.role }}<|im_sep|>" + kContent + "<|im_end|>",
                            "<|im_start|>assistant<|im_sep|>"})},
        {"falcon3", source_of({"", named + "\n", "<|assistant|>\n"})},
        {"zephyr", source_of({"", named + "<|endoftext|>\n", "<|assistant|>\n"})},
        {"monarch",
         source_of({"", "{{ '' if loop.first else '<s>' }}{{ m.role }}\n" + kContent + "</s>\n", "<s>assistant\n"})},
        {"gemma", with_kept_system("m.content|trim",
                                   "<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}\n"
                                   "{% if m.role != 'assistant' %}" +
                                       kKeptSystem + "{% endif %}" + kTrimmed + "<end_of_turn>\n",
                                   "<start_of_turn>model\n")},
        {"orion", with_kept_system("m.content",
                                   "{% if m.role == 'user' %}Human: " + kKeptSystem + kContent +
                                       "\n\nAssistant: </s>{% else %}" + kContent + "</s>{% endif %}",
                                   "")},
        {"openchat", source_of({"",
                                "{{ '' if m.role == 'system' else 'GPT4 Correct ' ~ m.role|capitalize ~ ': ' }}" +
                                    kContent + "<|end_of_turn|>",
                                "GPT4 Correct Assistant:"})},
        {"vicuna", vicuna(kContent + "\n\n")},
        {"vicuna-orca", vicuna("SYSTEM: " + kContent + "\n")},
        {"deepseek", source_of({"",
                                by_role(kContent, "### Instruction:\n" + kContent + "\n",
                                        "### Response:\n" + kContent + "\n<|EOT|>\n"),
                                "### Response:\n"})},
        {"deepseek2", source_of({"",
                                 by_role(kContent + "\n\n", "User: " + kContent + "\n\n",
                                         "Assistant: " + kContent + "<｜end▁of▁sentence｜>"),
                                 "Assistant:"})},
        {"deepseek3", source_of({"",
                                 by_role(kContent + "\n\n", "<｜User｜>" + kContent,
                                         "<｜Assistant｜>" + kContent + "<｜end▁of▁sentence｜>"),
                                 "<｜Assistant｜>"})},
        {"deepseek-ocr", source_of({"", kContent, ""})},
        {"command-r",
         source_of({"",
                    by_role("<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>" + kTrimmed + "<|END_OF_TURN_TOKEN|>",
                            "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>" + kTrimmed + "<|END_OF_TURN_TOKEN|>",
                            "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>" + kTrimmed + "<|END_OF_TURN_TOKEN|>"),
                    "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>"})},
        {"llama3", source_of({"", "<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n" + kTrimmed + "<|eot_id|>",
                              "<|start_header_id|>assistant<|end_header_id|>\n\n"})},
        {"chatglm3", source_of({"[gMASK]sop", "<|{{ m.role }}|>\n " + kContent, "<|assistant|>"})},
        {"chatglm4", source_of({"[gMASK]<sop>", named, "<|assistant|>\n"})},
        {"glmedge", source_of({"", named, "<|assistant|>"})},
        {"minicpm", source_of({"", or_else(kTrimmed, "<用户>" + kTrimmed + "<AI>", kTrimmed), ""})},
        {"exaone3", exaone("")},
        {"exaone4", exaone("[|tool|]" + kTrimmed + "[|endofturn|]\n")},
        {"exaone-moe", source_of({"",
                                  "{% if m.role in ['system', 'user', 'assistant', 'tool'] %}<|{{ m.role }}|>\n" +
                                      kTrimmed + "<|endofturn|>\n{% endif %}",
                                  "<|assistant|>\n"})},
        {"rwkv-world", source_of({"",
                                  by_role("System: " + kTrimmed + "\n\n",
                                          "User: " + kTrimmed + "\n\n{{ 'Assistant:' if loop.last else '' }}",
                                          "Assistant: " + kTrimmed + "\n\n"),
                                  ""})},
        {"granite", granite("<|start_of_role|>{{ m.role }}<|end_of_role|>"
                            "{{ '<|tool_call|>' if m.role == 'assistant_tool_call' else '' }}")},
        {"granite-4.0", granite(granite4)},
        {"granite-4.1", granite(granite4)},
        {"gigachat", source_of({"<s>",
                                by_role("{% if loop.first %}" + kContent + "<|message_sep|>{% endif %}",
                                        "user<|role_sep|>" + kContent +
                                            "<|message_sep|>available functions<|role_sep|>[]<|message_sep|>",
                                        "assistant<|role_sep|>" + kContent + "<|message_sep|>"),
                                "assistant<|role_sep|>"})},
        {"megrez", source_of({"", "<|role_start|>{{ m.role }}<|role_end|>" + kContent + "<|turn_end|>",
                              "<|role_start|>assistant<|role_end|>"})},
        {"yandex",
         source_of({"", by_role("", " Пользователь: " + kContent + "\n\n", " Ассистент: " + kContent + "\n\n"),
                    " Ассистент:[SEP]"})},
        {"bailing", source_of({"", kUpperRole + kContent, "<role>ASSISTANT</role>"})},
        {"bailing-think", source_of({"", kUpperRole + kContent, "<role>ASSISTANT</role><think>"})},
        {"bailing2", source_of({"{% if not messages or messages[0].role != 'system' %}"
                                "<role>SYSTEM</role>detailed thinking off<|role_end|>{% endif %}",
                                kUpperRole + kContent + "<|role_end|>", "<role>ASSISTANT</role>"})},
        {"llama4", source_of({"", "<|header_start|>{{ m.role }}<|header_end|>\n\n" + kTrimmed + "<|eot|>",
                              "<|header_start|>assistant<|header_end|>\n\n"})},
        {"smolvlm", source_of({"<|im_start|>",
                               or_else(kContent + "\n\n", "User: " + kContent + "<end_of_utterance>\n",
                                       "Assistant: " + kContent + "<end_of_utterance>\n"),
                               "Assistant:"})},
        {"hunyuan-moe", source_of({"",
                                   "{{ '' if m.role == 'assistant' else '<|startoftext|>' }}" + kContent +
                                       "{{ {'system': '<|extra_4|>', 'assistant': '<|eos|>'}.get(m.role, "
                                       "'<|extra_0|>') }}",
                                   ""})},
        {"gpt-oss", source_of({"",
                               "<|start|>{{ m.role }}<|message|>" + kContent +
                                   "{{ '<|return|>' if m.role == 'assistant' else '<|end|>' }}",
                               "<|start|>assistant"})},
        {"hunyuan-dense", source_of({"",
                                     by_role("{% if loop.first %}" + kContent + "<｜hy_place▁holder▁no▁3｜>{% endif %}",
                                             "<｜hy_User｜>" + kContent + "<｜hy_Assistant｜>",
                                             "<｜hy_Assistant｜>" + kContent + "<｜hy_place▁holder▁no▁2｜>"),
                                     ""})},
        {"hunyuan-vl", source_of({"<｜hy_begin▁of▁sentence｜>",
                                  by_role("{% if loop.first %}" + kContent + "<｜hy_place▁holder▁no▁3｜>{% endif %}",
                                          kContent + "<｜hy_User｜>", kContent + "<｜hy_Assistant｜>"),
                                  ""})},
        {"kimi-k2", source_of({"",
                               by_role("<|im_system|>system<|im_middle|>", "<|im_user|>user<|im_middle|>",
                                       "<|im_assistant|>assistant<|im_middle|>", "<|im_system|>tool<|im_middle|>") +
                                   kContent + "<|im_end|>",
                               "<|im_assistant|>assistant<|im_middle|>"})},
        {"seed_oss", source_of({"",
                                "<seed:bos>{{ m.role }}\n"
                                "{{ m.content|trim if m.role == 'assistant' else m.content }}<seed:eos>",
                                "<seed:bos>assistant\n"})},
        {"grok-2",
         source_of({"",
                    by_role("System: " + kTrimmed + "<|separator|>\n\n", "Human: " + kTrimmed + "<|separator|>\n\n",
                            "Assistant: " + kContent + "<|separator|>\n\n"),
                    "Assistant:"})},
        {"pangu-embedded",
         source_of({"{% if messages and messages[0].role != 'system' %}[unused9]系统：[unused10]{% endif %}",
                    by_role("[unused9]系统：" + kContent + "[unused10]", "[unused9]用户：" + kContent + "[unused10]",
                            "[unused9]助手：" + kContent + "[unused10]", "[unused9]工具：" + kContent + "[unused10]"),
                    "[unused9]助手："})},
        {"solar-open",
         source_of({"", "<|begin|>{{ m.role }}<|content|>" + kContent + "<|end|>", "<|begin|>assistant"})},
    };
    return kSources;
}

}  // namespace

std::optional<std::string> named_template(std::string_view name) {
    const auto found = sources().find(name);
    if (found == sources().end()) return std::nullopt;
    return found->second;
}

std::span<const std::string> template_names() {
    static const std::vector<std::string> kNames = [] {
        std::vector<std::string> names;
        for (const auto& [name, source] : sources()) names.push_back(name);
        return names;
    }();
    return kNames;
}

}  // namespace riftjit::models
