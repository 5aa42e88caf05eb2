#include <array>
#include <optional>
#include <vector>

#include "jit/rdna/encode/encoding.h"
#include "jit/rdna/encode/encoding_plan.h"
#include "jit/rdna/table/syntax.h"
#include "jit/rdna/text/mnemonic_index.h"
#include "jit/rdna/text/parse_dual.h"
#include "jit/rdna/text/parse_line.h"
#include "jit/rdna/text/parse_match.h"
#include "jit/rdna/text/parse_modifiers.h"
#include "jit/rdna/text/text.h"

namespace riftjit::rdna {
namespace {

enum class Suffix : uint8_t { none, e32, e64, dpp, sdwa, e64_dpp };

struct SuffixName {
    std::string_view text;
    Suffix suffix;
};
// Longer ones first.
constexpr SuffixName kSuffixes[] = {{"_e64_dpp", Suffix::e64_dpp},
                                    {"_e32", Suffix::e32},
                                    {"_e64", Suffix::e64},
                                    {"_dpp", Suffix::dpp},
                                    {"_sdwa", Suffix::sdwa}};

Suffix take_suffix(std::string_view& mnemonic) {
    for (const SuffixName& known : kSuffixes) {
        if (!mnemonic.ends_with(known.text)) continue;
        mnemonic.remove_suffix(known.text.size());
        return known.suffix;
    }
    return Suffix::none;
}

bool is_short_and_long(const InstructionInfo& row) {
    return row.format == Format::VOP1 || row.format == Format::VOP2 || row.format == Format::VOPC;
}

// The forms that suffix and modifiers leave open, shortest first.
std::vector<Encoding> possible_forms(const InstructionInfo& row, Generation generation, Suffix suffix,
                                     ModifierFamily family) {
    const bool is_dpp8 = family == ModifierFamily::dpp8, has_dpp = is_dpp8 || family == ModifierFamily::dpp16;
    const Encoding short_dpp = is_dpp8 ? Encoding::dpp8 : Encoding::dpp16;
    const Encoding long_dpp = is_dpp8 ? Encoding::e64_dpp8 : Encoding::e64_dpp16;
    const bool is_vector = row.format >= Format::VOP1 && row.format <= Format::VOP3P;
    if (!is_vector) return suffix == Suffix::none ? std::vector{Encoding::native} : std::vector<Encoding>{};
    if (!is_short_and_long(row)) {
        if (suffix == Suffix::e32 || suffix == Suffix::sdwa || suffix == Suffix::dpp) return {};
        if (has_dpp || suffix == Suffix::e64_dpp) return {short_dpp};
        return {Encoding::native};
    }
    if (is_vop3_only(row, generation)) {
        if (suffix == Suffix::e32 || suffix == Suffix::sdwa || suffix == Suffix::dpp) return {};
        return {has_dpp ? long_dpp : Encoding::e64};
    }
    switch (suffix) {
        case Suffix::e32:
            return {Encoding::native};
        case Suffix::e64:
            return {Encoding::e64};
        case Suffix::dpp:
            return {short_dpp};
        case Suffix::e64_dpp:
            return {long_dpp};
        case Suffix::sdwa:
            return {Encoding::sdwa};
        case Suffix::none:
            break;
    }
    if (family == ModifierFamily::sdwa) return {Encoding::sdwa};
    if (has_dpp) return {short_dpp, long_dpp};
    return {Encoding::native, Encoding::e64};
}

std::unexpected<Error> unknown_mnemonic(Target target, std::string_view mnemonic, std::string_view base) {
    const bool exists = opcode_named_anywhere(base).has_value() || opcode_named_anywhere(mnemonic).has_value();
    if (exists) return fail(ErrorKind::Usage, "{}: {} has no such instruction", mnemonic, name(target));
    return fail(ErrorKind::Usage, "{}: no such instruction ({})", mnemonic, name(target));
}

Result<Parsed> try_form(Target target, WaveSize wave, const ParsedLine& line, Opcode opcode, Encoding form) {
    Result<Parsed> parsed = match_form(target, wave, line, opcode, form);
    if (!parsed) return parsed;
    const Result<EncodedInstruction> encoded = encode(target, wave, parsed->instruction);
    if (!encoded) return std::unexpected(encoded.error());
    parsed->instruction.size = static_cast<uint8_t>(4 * encoded->count);
    return parsed;
}

Result<Parsed> parse_single(Target target, WaveSize wave, const ParsedLine& line) {
    std::string_view base = line.mnemonic;
    std::span<const Opcode> opcodes = opcodes_named(generation(target), base);
    const Suffix suffix = opcodes.empty() ? take_suffix(base) : Suffix::none;
    if (opcodes.empty()) opcodes = opcodes_named(generation(target), base);
    std::optional<Error> last_error;
    for (const Opcode opcode : opcodes) {
        if (!has(target, opcode)) continue;
        for (const Encoding form :
             possible_forms(info(opcode), generation(target), suffix, modifier_family(line.modifiers))) {
            if (!encoding_plan(generation(target), opcode, form).exists) continue;
            Result<Parsed> parsed = try_form(target, wave, line, opcode, form);
            if (parsed) return parsed;
            last_error = parsed.error();
        }
        if (!last_error)
            last_error = Error{ErrorKind::Usage,
                               fmt::format("{}: {} has no such form of {}", line.mnemonic, name(target), base)};
    }
    if (last_error) return std::unexpected(*last_error);
    return unknown_mnemonic(target, line.mnemonic, base);
}

}  // namespace

Result<Parsed> parse(Target target, WaveSize wave, std::string_view line) {
    const size_t separator = line.find("::");
    if (separator != std::string_view::npos)
        return parse_dual(target, wave, line.substr(0, separator), line.substr(separator + 2), separator + 3);
    RIFTJIT_TRY(split, split_line(line, 1));
    if (split.mnemonic.empty()) return fail(ErrorKind::Usage, "no instruction in an empty line");
    return parse_single(target, wave, split);
}

}  // namespace riftjit::rdna
