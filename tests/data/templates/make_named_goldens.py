#!/usr/bin/env python3
"""Writes named_goldens.json: what llama.cpp's own renderer makes of a few conversations for each of its template names.

    ./make_named_goldens.py FOLDER    with llama.cpp's src/llama-chat.cpp and src/llama-chat.h

tests/peer/fetch.sh leaves llama.cpp's source in build/peer/source (an archive of llama-cpp-python). Needs g++.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent

SYSTEM = ["system", " Be brief.\n"]
USER = ["user", "  Why is the sky blue? "]
ASSISTANT = ["assistant", " Scattering.\n"]
AGAIN = ["user", "And at dusk?"]
CONVERSATIONS = [
    {"messages": [USER], "generation": True},
    {"messages": [SYSTEM, USER], "generation": True},
    {"messages": [SYSTEM, USER, ASSISTANT], "generation": False},
    {"messages": [SYSTEM, USER, ASSISTANT, AGAIN], "generation": True},
    {"messages": [USER, ASSISTANT, AGAIN, ASSISTANT], "generation": True},
]

# Stands in for llama.h, of which the renderer needs one struct.
STUB = """
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>
struct llama_chat_message { const char* role; const char* content; };
extern "C++" int32_t llama_chat_builtin_templates(const char** output, size_t len);
"""

MAIN = """
#include <cstdio>
#include "llama.h"
#include "llama-chat.h"
static const char* kMessages[][2] = {%(messages)s};
static const std::vector<std::pair<std::vector<int>, bool>> kConversations = {%(conversations)s};
static void print(const std::string& text) { std::fwrite(text.data(), 1, text.size() + 1, stdout); }
int main() {
    std::vector<const char*> names(llama_chat_builtin_templates(nullptr, 0));
    llama_chat_builtin_templates(names.data(), names.size());
    for (const char* name : names) {
        print(name);
        for (const auto& [indices, generation] : kConversations) {
            std::vector<llama_chat_message> messages;
            for (int index : indices) messages.push_back({kMessages[index][0], kMessages[index][1]});
            std::vector<const llama_chat_message*> chat;
            for (const auto& message : messages) chat.push_back(&message);
            std::string text;
            if (llm_chat_apply_template(llm_chat_template_from_str(name), chat, text, generation) < 0) return 1;
            print(text);
        }
    }
}
"""


def main():
    source = pathlib.Path(sys.argv[1])
    known = [SYSTEM, USER, ASSISTANT, AGAIN]
    messages = ", ".join("{%s, %s}" % (json.dumps(role), json.dumps(text)) for role, text in known)
    conversations = ", ".join(
        "{{%s}, %s}" % (", ".join(str(known.index(m)) for m in c["messages"]), str(c["generation"]).lower())
        for c in CONVERSATIONS)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "llama.h").write_text(STUB)
        (folder / "main.cpp").write_text(MAIN % {"messages": messages, "conversations": conversations})
        subprocess.run(["g++", "-std=c++17", f"-I{folder}", f"-I{source}", folder / "main.cpp", source / "llama-chat.cpp",
                        "-o", folder / "render"], check=True)
        texts = subprocess.run([folder / "render"], check=True, capture_output=True).stdout.decode().split("\0")[:-1]
    step = 1 + len(CONVERSATIONS)
    names = {texts[i]: texts[i + 1:i + step] for i in range(0, len(texts), step)}
    lines = [f'"conversations":{json.dumps(CONVERSATIONS)}'] + [
        f'{json.dumps(name)}:{json.dumps(renderings, ensure_ascii=False)}' for name, renderings in sorted(names.items())]
    text = "{" + lines[0] + ',\n"names":{\n' + ",\n".join(lines[1:]) + "}}\n"
    json.loads(text)
    (HERE / "named_goldens.json").write_text(text)


if __name__ == "__main__":
    main()
