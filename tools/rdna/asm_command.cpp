#include "tools/rdna/asm_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>

#include "jit/rdna/assembly/assembly_file.h"
#include "jit/rdna/assembly/assembly_object.h"
#include "jit/rdna/encode/encoding.h"
#include "jit/rdna/text/text.h"
#include "tools/cli/input_file.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/options.h"
#include "tools/cli/output_file.h"
#include "tools/cli/reporter.h"
#include "tools/rdna/rdna_files.h"

namespace riftjit::tools {

namespace {

struct AsmOptions {
    std::string source, output;
    RdnaChoice chip;
    std::optional<rdna::CodeObjectVersion> version;
    bool hex = false;
};

Result<std::string> hex_of_line(const AsmOptions& options, std::string_view line) {
    if (line.empty()) return "";
    RIFTJIT_TRY(parsed, rdna::parse(*options.chip.target, options.chip.wave_size, line));
    if (!parsed.label.empty())
        return fail(ErrorKind::Usage, "label {}: a line alone has no labels, write the distance in words",
                    parsed.label);
    RIFTJIT_TRY(encoded, rdna::encode(*options.chip.target, options.chip.wave_size, parsed.instruction));
    std::string words;
    for (const uint32_t word : encoded.span()) words += fmt::format("{}{:08x}", words.empty() ? "" : " ", word);
    return words;
}

Result<std::string> output_name(const AsmOptions& options) {
    if (!options.output.empty()) return dash_for_standard_output(options.output);
    if (options.source == "-")
        return fail(ErrorKind::Usage, "-o is needed when the source is standard input; -o - writes standard output");
    return std::filesystem::path(options.source).replace_extension(".co").string();
}

Result<int> assemble_file(const AsmOptions& options) {
    RIFTJIT_TRY(output, output_name(options));
    if (output != "-" && options.source != "-" && is_same_file(output, options.source))
        return fail(ErrorKind::Usage, "{}: the output would replace the source; name another file with -o",
                    options.source);
    RIFTJIT_TRY_VOID(check_output(output));
    end_on_interrupts();
    RIFTJIT_TRY(bytes, read_bytes(options.source));
    std::string source(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    // At the end, where it moves no line of the source: it holds for the whole file wherever it stands.
    if (options.chip.wave_size == rdna::WaveSize::wave64) source += "\n.wave_size 64\n";
    RIFTJIT_TRY(file, rdna::assemble(source, options.source, options.chip.target));
    for (const rdna::AssembledKernel& kernel : file.kernels)
        if (options.chip.wave_size == rdna::WaveSize::wave64 && kernel.descriptor.wave_size != rdna::WaveSize::wave64)
            return fail(ErrorKind::Usage, "{}: kernel {} declares wave32, --wave64 is given", options.source,
                        kernel.name);
    if (file.lacks_debug_information)
        Reporter().info(fmt::format("note: {}: debug information is left out", options.source));
    if (options.version) file.version = *options.version;
    if (options.version && file.metadata) file.metadata->version = *options.version;
    RIFTJIT_TRY(object, rdna::write_code_object(file));
    RIFTJIT_TRY_VOID(write_file(output, object));
    return kExitDone;
}

Result<int> run(const AsmOptions& options) {
    if (!options.hex) {
        if (options.source.empty()) return fail(ErrorKind::Usage, "expected a FILE, or --hex");
        return assemble_file(options);
    }
    const bool names_files =
        !(options.source.empty() || options.source == "-") || !(options.output.empty() || options.output == "-");
    if (names_files || options.version)
        return fail(ErrorKind::Usage, "--hex reads standard input and writes standard output: no FILE, -o or version");
    if (!options.chip.target) return fail(ErrorKind::Usage, "--hex needs --target, one of {}", rdna::target_names());
    return translate_lines([&options](std::string_view line) { return hex_of_line(options, line); });
}

constexpr const char* kAsmExamples =
    "Examples:\n"
    "  riftjit asm k.s --target gfx1201 -o k.co     a file of clang -S, or labels and instructions\n"
    "  riftjit asm k.s                              the target is in the file; writes k.co\n"
    "  clang-19 ... -S k.cl -o - | riftjit asm - -o - | riftjit disasm -\n"
    "  echo 'v_add_f32 v0, v1, v2' | riftjit asm --target gfx1100 --hex\n"
    "In a file without .amdhsa_kernel every .globl label is a kernel, which finds its arguments' address in s[0:1] "
    "and\n"
    "the work-item in v0; .kernarg_size, .lds_size and .wave_size tell what it needs. The workgroup's number is in s2, "
    "on\n"
    "gfx1100 and gfx1102 with waves of 32 lanes in s15, on gfx12 in ttmp9. A kernel begins at a multiple of 256 bytes: "
    "write\n.p2align 8 before the label of every kernel but the first.";

}  // namespace

void add_asm_command(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand("asm", "Assemble RDNA instructions into a code object");
    command->footer(kAsmExamples);
    const auto options = std::make_shared<AsmOptions>();
    command->add_option("FILE", options->source, "assembly source; -: standard input")->check(file_name());
    command
        ->add_option("-o,--output", options->output,
                     "the code object (default: FILE with the ending .co); -: standard output")
        ->type_name("FILE")
        ->check(file_name());
    add_rdna_choice(*command, options->chip, "the chip, if the file does not name it (riftjit targets lists them)",
                    "waves of 64 lanes");
    command
        ->add_option_function<std::string>(
            "--code-object-version",
            [options](const std::string& text) {
                options->version =
                    static_cast<rdna::CodeObjectVersion>(parse_integer("--code-object-version", text, 4, 6));
            },
            "4, 5 or 6 (default: the file's, or 5)")
        ->type_name("N");
    command->add_flag("--hex", options->hex, "read instructions, write their words, a line for each line");
    on_chosen(*command, chosen, [options] {
        const auto done = run(*options);
        return done ? *done : report(done.error());
    });
}

}  // namespace riftjit::tools
