// Programs as text, for tests of the passes: one instruction a line, "L0:" is a label, "-> L0" the target of a branch.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "jit/rdna/passes/pass_context.h"
#include "jit/rdna/text/text.h"

namespace riftjit::rdna {

inline std::string trimmed(std::string text) {
    text.erase(0, text.find_first_not_of(' '));
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
}

inline Program read_program(Target target, WaveSize wave, const std::string& text) {
    Program program{target, wave, "test", {}};
    std::istringstream stream(text);
    std::vector<Label> labels;
    for (std::string line; std::getline(stream, line);) {
        line = trimmed(line);
        if (line.empty()) continue;
        if (line.back() == ':') {
            labels.push_back({static_cast<uint16_t>(std::stoi(line.substr(1)))});
            continue;
        }
        Line parsed;
        if (const size_t arrow = line.find("-> L"); arrow != std::string::npos) {
            parsed.target = Label{static_cast<uint16_t>(std::stoi(line.substr(arrow + 4)))};
            line = trimmed(line.substr(0, arrow)) + " 0";
        }
        auto result = parse(target, wave, line);
        EXPECT_TRUE(result) << line << ": " << (result ? "" : result.error().message);
        if (!result) continue;
        parsed.instruction = result->instruction;
        parsed.labels = std::exchange(labels, {});
        program.lines.push_back(std::move(parsed));
    }
    return program;
}

inline std::string text_of(const Line& line, Target target, WaveSize wave) {
    std::string text = print(target, wave, line.instruction);
    if (!line.target) return text;
    return text.substr(0, text.find(' ')) + " -> L" + std::to_string(line.target->id);
}

inline std::string text_of(const Program& program) {
    std::string text;
    for (const Line& line : program.lines) {
        for (const Label label : line.labels) text += "L" + std::to_string(label.id) + ":\n";
        text += text_of(line, program.target, program.wave_size) + "\n";
    }
    return text;
}

// The same text in the printer's spelling.
inline std::string normalized(Target target, WaveSize wave, const std::string& text) {
    return text_of(read_program(target, wave, text));
}

inline void run_pass(void (*pass)(Program&), Program& program) { pass(program); }
inline void run_pass(void (*pass)(PassContext&), Program& program) {
    PassContext context(program);
    pass(context);
    context.write_back();
}

template <class Subject>
void expect_pass(void (*pass)(Subject&), Target target, const std::string& before, const std::string& after,
                 WaveSize wave = WaveSize::wave32) {
    Program program = read_program(target, wave, before);
    run_pass(pass, program);
    EXPECT_EQ(text_of(program), normalized(target, wave, after)) << name(target);
}

template <class Subject>
void expect_unchanged(void (*pass)(Subject&), Target target, const std::string& text,
                      WaveSize wave = WaveSize::wave32) {
    expect_pass(pass, target, text, text, wave);
}

}  // namespace riftjit::rdna
