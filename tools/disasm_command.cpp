#include "tools/disasm_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "jit/rdna/encoding.h"
#include "jit/rdna/listing.h"
#include "jit/rdna/loader.h"
#include "jit/rdna/text.h"
#include "tools/output.h"
#include "tools/rdna_files.h"
#include "tools/reporter.h"

namespace riftjit::tools {

namespace {

struct DisasmOptions {
    std::string object, kernel;
    RdnaChoice chip;
    bool hex = false, json = false;
};

struct ListedKernel {
    std::string name;
    rdna::WaveSize wave_size;
    uint32_t kernarg_bytes, lds_bytes;
    std::vector<rdna::ListedInstruction> instructions;
};

std::vector<ListedKernel> list_kernels(const rdna::LoadedObject& object, std::string_view wanted) {
    std::vector<ListedKernel> kernels;
    for (const rdna::LoadedKernel& kernel : object.kernels) {
        if (!wanted.empty() && kernel.name != wanted) continue;
        const std::span<const std::byte> bytes = object.bytes(kernel.code);
        std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
        std::memcpy(words.data(), bytes.data(), words.size() * sizeof(uint32_t));
        const rdna::WaveSize wave_size = kernel.descriptor.wave_size;
        // Labels of several kernels in one text must differ.
        const std::string prefix = kernels.empty() ? "L" : fmt::format("L{}_", kernels.size());
        kernels.push_back({kernel.name, wave_size, kernel.descriptor.kernarg_bytes, kernel.descriptor.lds_bytes,
                           rdna::list_instructions(object.target, wave_size, words, kernel.code.address, prefix)});
    }
    return kernels;
}

// A file of the assembler's simple form. What it says once for all kernels is enough for each of them.
std::string to_text(rdna::Target target, std::span<const ListedKernel> kernels) {
    uint32_t kernarg_bytes = 0, lds_bytes = 0;
    for (const ListedKernel& kernel : kernels) {
        kernarg_bytes = std::max(kernarg_bytes, kernel.kernarg_bytes);
        lds_bytes = std::max(lds_bytes, kernel.lds_bytes);
    }
    std::string text = fmt::format("    .amdgcn_target \"{}\"\n    .text\n    .wave_size {}\n", rdna::target_id(target),
                                   rdna::lanes(kernels.front().wave_size));
    if (kernarg_bytes > 0) text += fmt::format("    .kernarg_size {}\n", kernarg_bytes);
    if (lds_bytes > 0) text += fmt::format("    .lds_size {}\n", lds_bytes);
    for (const ListedKernel& kernel : kernels)
        text += fmt::format("\n    .p2align 8\n    .globl {0}\n{0}:  ; wave{1}\n{2}    .size {0}, .-{0}\n", kernel.name,
                            rdna::lanes(kernel.wave_size), rdna::format_listing(kernel.instructions));
    return text;
}

nlohmann::ordered_json to_json(const ListedKernel& kernel) {
    auto instructions = nlohmann::ordered_json::array();
    for (const rdna::ListedInstruction& listed : kernel.instructions) {
        auto words = nlohmann::ordered_json::array();
        for (const uint32_t word : listed.words) words.push_back(fmt::format("{:08x}", word));
        nlohmann::ordered_json instruction = {{"address", listed.address},     {"words", words},
                                              {"mnemonic", listed.mnemonic},   {"operands", listed.operands},
                                              {"modifiers", listed.modifiers}, {"text", listed.text}};
        if (!listed.label.empty()) instruction["label"] = listed.label;
        if (!listed.comment.empty()) instruction["comment"] = listed.comment;
        instructions.push_back(std::move(instruction));
    }
    return {
        {"name", kernel.name}, {"wave_size", rdna::lanes(kernel.wave_size)}, {"instructions", std::move(instructions)}};
}

Result<int> disassemble_file(const DisasmOptions& options) {
    RIFTJIT_TRY(bytes, read_bytes(options.object));
    RIFTJIT_TRY(object, rdna::load_code_object(bytes, options.chip.target));
    const std::vector<ListedKernel> kernels = list_kernels(object, options.kernel);
    if (kernels.empty()) {
        std::string names;
        for (const rdna::LoadedKernel& kernel : object.kernels) names += (names.empty() ? "" : ", ") + kernel.name;
        return fail(ErrorKind::Usage, "{}: no kernel {}; there are {}", options.object, options.kernel,
                    names.empty() ? "none" : names);
    }
    std::string text;
    if (options.json) {
        auto list = nlohmann::ordered_json::array();
        for (const ListedKernel& kernel : kernels) list.push_back(to_json(kernel));
        text =
            nlohmann::ordered_json{{"target", rdna::name(object.target)}, {"kernels", std::move(list)}}.dump() + "\n";
    } else {
        text = to_text(object.target, kernels);
    }
    write_output(text);
    return kExitDone;
}

Result<std::string> text_of_words(const DisasmOptions& options, std::string_view line) {
    std::vector<uint32_t> words;
    for (size_t at = 0; (at = line.find_first_not_of(" \t\r", at)) != std::string_view::npos;) {
        const size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
        uint32_t word = 0;
        const auto [stop, error] = std::from_chars(line.data() + at, line.data() + end, word, 16);
        if (error != std::errc() || stop != line.data() + end)
            return fail(ErrorKind::Usage, "'{}' is no word of 8 hex digits", line.substr(at, end - at));
        words.push_back(word);
        at = end;
    }
    if (words.empty()) return "";
    const rdna::Target target = *options.chip.target;
    const rdna::Decoded decoded = rdna::decode(target, options.chip.wave_size, words);
    if (!decoded.ok)
        return fail(ErrorKind::Format, "{}: {}", line, rdna::reason(target, options.chip.wave_size, decoded));
    if (decoded.instruction.size != words.size() * sizeof(uint32_t))
        return fail(ErrorKind::Usage, "{}: the instruction ends after {} words", line, decoded.instruction.size / 4);
    return rdna::print(target, options.chip.wave_size, decoded.instruction);
}

Result<int> run(const DisasmOptions& options) {
    if (!options.hex) {
        if (options.object.empty()) return fail(ErrorKind::Usage, "expected a FILE, or --hex");
        return disassemble_file(options);
    }
    if (!options.object.empty() || options.json)
        return fail(ErrorKind::Usage, "--hex reads standard input and writes lines: no FILE and no --json");
    if (!options.chip.target) return fail(ErrorKind::Usage, "--hex needs --target, one of {}", rdna::target_names());
    return translate_lines([&options](std::string_view line) { return text_of_words(options, line); });
}

constexpr const char* kExamples =
    "Examples:\n"
    "  riftjit disasm k.co > k.s              every kernel, in LLVM's spelling; riftjit asm k.s gives the same words\n"
    "  riftjit disasm bundle.co --target gfx1100 saxpy --json\n"
    "  echo '060a0501' | riftjit disasm --target gfx1100 --hex";

}  // namespace

void add_disasm_command(CLI::App& app, int& exit_code) {
    CLI::App* command = app.add_subcommand("disasm", "Show the RDNA instructions of a code object");
    command->footer(kExamples);
    const auto options = std::make_shared<DisasmOptions>();
    command->add_option("FILE", options->object, "code object or offload bundle; -: standard input");
    command->add_option("KERNEL", options->kernel, "only this kernel");
    add_rdna_choice(*command, options->chip, "the chip; picks the entry of a bundle", "with --hex: waves of 64 lanes");
    command->add_flag("--hex", options->hex, "read words, write instructions, a line for each line");
    command->add_flag("--json", options->json, "print one JSON object");
    command->callback([options, &exit_code] {
        const auto done = run(*options);
        exit_code = done ? *done : report(done.error());
    });
}

}  // namespace riftjit::tools
