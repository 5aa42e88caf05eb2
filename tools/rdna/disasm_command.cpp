#include "tools/rdna/disasm_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>

#include "host/json_text.h"
#include "jit/rdna/assembly/object_listing.h"
#include "jit/rdna/encode/encoding.h"
#include "jit/rdna/object/loader.h"
#include "jit/rdna/text/listing.h"
#include "jit/rdna/text/text.h"
#include "tools/cli/input_file.h"
#include "tools/cli/options.h"
#include "tools/cli/output.h"
#include "tools/cli/reporter.h"
#include "tools/rdna/emulate_arguments.h"
#include "tools/rdna/rdna_files.h"

namespace riftjit::tools {

namespace {

struct DisasmOptions {
    std::string object, kernel;
    RdnaChoice chip;
    bool hex = false, json = false, lists_kernels = false;
};

nlohmann::ordered_json to_json(const rdna::LoadedObject& object, const rdna::ListedFunction& function) {
    auto instructions = nlohmann::ordered_json::array();
    for (const rdna::ListedInstruction& listed : function.instructions) {
        auto words = nlohmann::ordered_json::array();
        for (const uint32_t word : listed.words) words.push_back(fmt::format("{:08x}", word));
        nlohmann::ordered_json instruction = {{"address", listed.address},     {"words", words},
                                              {"mnemonic", listed.mnemonic},   {"operands", listed.operands},
                                              {"modifiers", listed.modifiers}, {"text", listed.text}};
        if (!listed.label.empty()) instruction["label"] = listed.label;
        if (!listed.comment.empty()) instruction["comment"] = listed.comment;
        instructions.push_back(std::move(instruction));
    }
    const rdna::LoadedKernel& kernel = function.kernel ? *function.kernel : object.kernels.front();
    return {{"name", function.name},
            {"wave_size", rdna::lanes(kernel.descriptor.wave_size)},
            {"instructions", std::move(instructions)}};
}

// "axpy  wave32, 12 VGPRs, 0 bytes of LDS; x: pointer, n: 4 bytes"
std::string kernel_lines(const rdna::LoadedObject& object, std::string_view only) {
    std::string text;
    for (const rdna::LoadedKernel& kernel : object.kernels) {
        if (!only.empty() && kernel.name != only) continue;
        const rdna::KernelDescriptor& needs = kernel.descriptor;
        const auto& required = kernel.metadata.required_workgroup_size;
        text +=
            fmt::format("{}  wave{}, {} VGPRs, {} bytes of LDS{}; {}\n", kernel.name, rdna::lanes(needs.wave_size),
                        needs.vgprs(), needs.lds_bytes,
                        required ? fmt::format(", --group {}", fmt::join(*required, ",")) : "", argument_list(kernel));
    }
    return text;
}

Result<int> disassemble_file(const DisasmOptions& options) {
    RIFTJIT_TRY(bytes, read_bytes(options.object));
    const auto loaded = rdna::load_code_object(bytes, options.chip.target);
    if (!loaded) return fail(loaded.error().kind, "{}: {}", options.object, loaded.error().message);
    const rdna::LoadedObject& object = *loaded;
    if (options.kernel.empty() ? object.kernels.empty() : !object.find(options.kernel)) {
        std::string names;
        for (const rdna::LoadedKernel& kernel : object.kernels) names += (names.empty() ? "" : ", ") + kernel.name;
        return fail(ErrorKind::Usage, "{}: no kernel {}; there are {}", options.object, options.kernel,
                    names.empty() ? "none" : names);
    }
    if (options.lists_kernels) {
        write_output(kernel_lines(object, options.kernel));
        return kExitDone;
    }
    const std::vector<rdna::ListedFunction> functions = rdna::list_functions(object, options.kernel);
    std::string text;
    if (options.json) {
        auto kernels = nlohmann::ordered_json::array(), others = nlohmann::ordered_json::array();
        for (const rdna::ListedFunction& function : functions)
            if (!function.name.empty()) (function.kernel ? kernels : others).push_back(to_json(object, function));
        nlohmann::ordered_json json = {{"target", rdna::name(object.target)}, {"kernels", std::move(kernels)}};
        if (!others.empty()) json["functions"] = std::move(others);
        text = json_text(json) + "\n";
    } else {
        text = rdna::format_object(object, functions);
    }
    write_output(text);
    return kExitDone;
}

Result<std::string> text_of_words(const DisasmOptions& options, std::string_view line) {
    std::vector<uint32_t> words;
    for (size_t at = 0; (at = line.find_first_not_of(" \t\r", at)) != std::string_view::npos;) {
        const size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
        if (line.substr(at, end - at).starts_with("0x")) at += 2;
        uint32_t word = 0;
        const auto [stop, error] = std::from_chars(line.data() + at, line.data() + end, word, 16);
        if (error != std::errc() || stop != line.data() + end || end - at != 8)
            return fail(ErrorKind::Usage, "'{}' is no word of 8 hex digits", clipped(line.substr(at, end - at)));
        words.push_back(word);
        at = end;
    }
    if (words.empty()) return "";
    const rdna::Target target = *options.chip.target;
    const rdna::Decoded decoded = rdna::decode(target, options.chip.wave_size, words);
    if (!decoded.ok)
        return fail(ErrorKind::Format, "{}: {}", clipped(line), rdna::reason(target, options.chip.wave_size, decoded));
    if (decoded.instruction.size != words.size() * sizeof(uint32_t))
        return fail(ErrorKind::Usage, "{}: the instruction ends after {} words", clipped(line),
                    decoded.instruction.size / 4);
    return rdna::print(target, options.chip.wave_size, decoded.instruction);
}

Result<int> run(const DisasmOptions& options) {
    if (!options.hex) {
        if (options.object.empty()) return fail(ErrorKind::Usage, "expected a FILE, or --hex");
        if (options.lists_kernels && options.json) return fail(ErrorKind::Usage, "--kernels writes lines: no --json");
        return disassemble_file(options);
    }
    if (!(options.object.empty() || options.object == "-") || options.json || options.lists_kernels)
        return fail(ErrorKind::Usage,
                    "--hex reads standard input and writes lines: no FILE, no --json and no --kernels");
    if (!options.chip.target) return fail(ErrorKind::Usage, "--hex needs --target, one of {}", rdna::target_names());
    return translate_lines([&options](std::string_view line) { return text_of_words(options, line); });
}

constexpr const char* kDisasmExamples =
    "Examples:\n"
    "  riftjit disasm k.co > k.s              the whole object, in LLVM's spelling; riftjit asm k.s makes it again\n"
    "  riftjit disasm bundle.co --target gfx1100 saxpy --json\n"
    "  riftjit disasm k.co --kernels          what riftjit emulate can run, with the arguments in their order\n"
    "  echo '060a0501' | riftjit disasm --target gfx1100 --hex";

}  // namespace

void add_disasm_command(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand("disasm", "Show the RDNA instructions of a code object");
    command->footer(kDisasmExamples);
    const auto options = std::make_shared<DisasmOptions>();
    command->add_option("FILE", options->object, "code object or offload bundle; -: standard input")
        ->check(file_name());
    command->add_option("KERNEL", options->kernel, "only this kernel");
    add_rdna_choice(*command, options->chip, "the chip; picks the entry of a bundle", "with --hex: waves of 64 lanes");
    command->add_flag("--hex", options->hex, "read words, write instructions, a line for each line");
    command->add_flag("--kernels", options->lists_kernels, "a line for each kernel instead: what it takes and needs");
    command->add_flag("--json", options->json, "print one JSON object");
    on_chosen(*command, chosen, [options] {
        const auto done = run(*options);
        return done ? *done : report(done.error());
    });
}

}  // namespace riftjit::tools
