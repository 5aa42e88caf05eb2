#include "jit/rdna/table/opcode.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "host/result.h"

namespace riftjit::rdna {
namespace {

struct Row {
    Format format;
    std::string_view name;
    std::array<OpcodeNumber, 3> number;
    std::string_view operands, attributes;
};

constexpr OpcodeNumber number_of(uint16_t value) { return {value, false}; }
constexpr OpcodeNumber number_of(OpcodeNumber number) { return number; }
constexpr OpcodeNumber vop3(uint16_t value) { return {value, true}; }
constexpr OpcodeNumber none{};

#define RIFTJIT_ROW(format, name, gfx10, gfx11, gfx12, operands, attributes) \
    Row{Format::format, #name, {number_of(gfx10), number_of(gfx11), number_of(gfx12)}, operands, attributes},
constexpr Row kRows[] = {
#include "jit/rdna/table/instruction_rows.def"
};

struct Spelling {
    Generation generation;
    Opcode opcode;
    std::string_view mnemonic;
};
constexpr Spelling kSpellings[] = {
#define NAME(generation, row, mnemonic) {Generation::generation, Opcode::row, mnemonic},
#include "jit/rdna/table/mnemonics.def"
#undef NAME
};

constexpr std::string_view kSpreadWords[] = {
#define SPREAD(word) #word,
#include "jit/rdna/table/spreads.def"
#undef SPREAD
};

constexpr DualInfo kDuals[] = {
#define DUAL(row, x, y, first, last) {Opcode::row, number_of(x), number_of(y), Generation::first, Generation::last},
#include "jit/rdna/table/vopd.def"
#undef DUAL
};

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        const size_t end = text.find(separator);
        if (const std::string_view part = text.substr(0, end); !part.empty()) parts.push_back(part);
        text = end == std::string_view::npos ? "" : text.substr(end + separator.size());
    }
    return parts;
}

struct TypeName {
    std::string_view name;
    OperandType type;
    uint8_t dwords;
};
constexpr TypeName kTypeNames[] = {
    {"b16", OperandType::b16, 1},         {"b32", OperandType::b32, 1},       {"b64", OperandType::b64, 2},
    {"b96", OperandType::b96, 3},         {"b128", OperandType::b128, 4},     {"b256", OperandType::b256, 8},
    {"b512", OperandType::b512, 16},      {"b1024", OperandType::b1024, 32},  {"i16", OperandType::i16, 1},
    {"i32", OperandType::i32, 1},         {"i64", OperandType::i64, 2},       {"f16", OperandType::f16, 1},
    {"bf16", OperandType::bf16, 1},       {"f32", OperandType::f32, 1},       {"f64", OperandType::f64, 2},
    {"2xi16", OperandType::i16x2, 1},     {"2xf16", OperandType::f16x2, 1},   {"2xbf16", OperandType::bf16x2, 1},
    {"mask", OperandType::mask, 1},       {"exec", OperandType::exec, 1},     {"k16", OperandType::k16, 0},
    {"k32", OperandType::k32, 0},         {"imm", OperandType::imm, 0},       {"barrier", OperandType::barrier, 0},
    {"simm16", OperandType::simm16, 0},   {"hwreg", OperandType::hwreg, 0},   {"label", OperandType::label, 0},
    {"literal", OperandType::literal, 0}, {"length", OperandType::length, 0}, {"addr", OperandType::addr, 0},
    {"base", OperandType::base, 2},       {"rsrc", OperandType::rsrc, 4},     {"soffset", OperandType::i32, 1},
};

bool take_prefix(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return true;
}

OperandInfo parse_operand(std::string_view text, bool is_destination) {
    OperandInfo operand{};
    operand.reads = !is_destination || take_prefix(text, "+");
    operand.writes = is_destination;
    operand.tied = !is_destination && take_prefix(text, "tied ");
    if (take_prefix(text, "v.")) operand.registers = RegisterClass::vgpr;
    if (take_prefix(text, "s.")) operand.registers = RegisterClass::sgpr;
    if (text.ends_with("/w")) operand.halves_in_wave64 = true, text.remove_suffix(2);
    for (const TypeName& name : kTypeNames) {
        if (name.name != text) continue;
        operand.type = name.type;
        operand.dwords = name.dwords;
        return operand;
    }
    check(false, "instructions.def: unknown operand type " + std::string(text));
    return operand;
}

void parse_operands(std::string_view text, InstructionInfo& info) {
    const size_t equals = text.find('=');
    std::string_view destinations = equals == std::string_view::npos ? "" : text.substr(0, equals);
    std::string_view sources = equals == std::string_view::npos ? text : text.substr(equals + 1);
    const auto append = [&](std::string_view list, uint8_t& count) {
        for (std::string_view part : split(list, ",")) {
            while (part.starts_with(' ')) part.remove_prefix(1);
            while (part.ends_with(' ')) part.remove_suffix(1);
            if (part.empty()) continue;
            check(info.destinations + info.sources < 6, "instructions.def: more than six operands");
            info.operands[static_cast<size_t>(info.destinations + info.sources)] =
                parse_operand(part, &count == &info.destinations);
            ++count;
        }
    };
    append(destinations, info.destinations);
    append(sources, info.sources);
}

// "neg012" -> 7, nothing if `text` is not `word` followed by indices.
std::optional<uint8_t> indices(std::string_view text, std::string_view word) {
    if (!text.starts_with(word) || text.size() == word.size()) return std::nullopt;
    uint8_t bits = 0;
    for (const char c : text.substr(word.size())) {
        if (c < '0' || c > '3') return std::nullopt;
        bits |= static_cast<uint8_t>(1u << (c - '0'));
    }
    return bits;
}

bool apply_modifier(std::string_view word, Modifiers& modifiers) {
    if (const auto bits = indices(word, "neglohi")) return modifiers.neg = modifiers.abs = *bits, true;
    if (const auto bits = indices(word, "neglo")) return modifiers.neg = *bits, true;
    if (const auto bits = indices(word, "neg")) return modifiers.neg = *bits, true;
    if (const auto bits = indices(word, "abs")) return modifiers.abs = *bits, true;
    if (const auto bits = indices(word, "opsello")) return modifiers.op_sel = *bits, true;
    if (const auto bits = indices(word, "opsel")) return modifiers.op_sel = modifiers.op_sel_hi = *bits, true;
    if (const auto bits = indices(word, "sel")) return modifiers.op_sel = *bits, true;
    if (word == "clamp") return modifiers.clamp = true;
    if (word == "omod") return modifiers.omod = true;
    if (word == "dpp") return modifiers.dpp = true;
    if (word == "sdwa") return modifiers.sdwa = true;
    if (word == "e64dpp") return modifiers.e64_dpp = true;
    if (word == "no_e64") return modifiers.no_e64 = true;
    return false;
}

struct Flag {
    std::string_view word;
    bool InstructionInfo::* field;
};
constexpr Flag kFlags[] = {
    {"reads_scc", &InstructionInfo::reads_scc},
    {"writes_scc", &InstructionInfo::writes_scc},
    {"reads_vcc", &InstructionInfo::reads_vcc},
    {"reads_exec", &InstructionInfo::reads_exec},
    {"writes_exec", &InstructionInfo::writes_exec},
    {"reads_m0", &InstructionInfo::reads_m0},
    {"trans", &InstructionInfo::transcendental},
    {"cross_lane", &InstructionInfo::cross_lane},
    {"permlane", &InstructionInfo::permlane},
    {"wmma", &InstructionInfo::wmma},
    {"sparse", &InstructionInfo::sparse},
    {"mixed", &InstructionInfo::mixed},
    {"wide_mad", &InstructionInfo::wide_mad},
    {"wait", &InstructionInfo::wait},
    {"barrier", &InstructionInfo::barrier},
    {"relative", &InstructionInfo::relative},
    {"byte_sel", &InstructionInfo::byte_select},
    {"gfx115x", &InstructionInfo::gfx115x_on_gfx11},
    {"float_atomic", &InstructionInfo::float_atomic},
    {"d16", &InstructionInfo::half_register},
    {"high", &InstructionInfo::stores_high},
    {"two_offsets", &InstructionInfo::two_offsets},
    {"addtid", &InstructionInfo::thread_addressed},
    {"addr_data", &InstructionInfo::address_holds_data},
    {"no_gds", &InstructionInfo::no_gds},
};

bool apply_spread(std::string_view word, InstructionInfo& info) {
    const auto found = std::ranges::find(kSpreadWords, word);
    info.spread = static_cast<Spread>(found - std::begin(kSpreadWords));
    return found != std::end(kSpreadWords);
}

bool apply_flag(std::string_view word, InstructionInfo& info) {
    if (take_prefix(word, "spread:")) return apply_spread(word, info);
    if (const auto bits = indices(word, "half")) return info.halves = *bits, true;
    if (word == "load") return info.memory = MemoryKind::load, true;
    if (word == "store") return info.memory = MemoryKind::store, true;
    if (word == "atomic") return info.memory = MemoryKind::atomic, true;
    if (word == "stores8") return info.stores = 8, true;
    if (word == "stores16") return info.stores = 16, true;
    for (const Flag& flag : kFlags)
        if (flag.word == word) return info.*flag.field = true;
    return false;
}

void parse_attributes(std::string_view text, InstructionInfo& info) {
    for (std::string_view word : split(text, " ")) {
        const size_t at = word.find('@');
        const std::string_view limit = at == std::string_view::npos ? "" : word.substr(at + 1);
        word = word.substr(0, at);
        bool known = limit.empty() && apply_flag(word, info);
        for (size_t g = 0; g < 3 && !known; ++g) {
            if (limit.empty() || limit.find(name(static_cast<Generation>(g))) != std::string_view::npos)
                check(apply_modifier(word, info.modifiers[g]) || apply_flag(word, info),
                      "instructions.def: unknown attribute " + std::string(word));
        }
    }
}

bool is_16_bits(const OperandInfo& operand) {
    return operand.type == OperandType::b16 || operand.type == OperandType::i16 || operand.type == OperandType::f16 ||
           operand.type == OperandType::bf16;
}

// Operands of that type, and those that the row names beside: half2 of v_alignbit_b32, whose shift is 16 bits wide.
void find_halves(InstructionInfo& info) {
    const bool is_vector = info.format == Format::VOP1 || info.format == Format::VOP2 || info.format == Format::VOPC ||
                           info.format == Format::VOP3;
    const OperandInfo& first = info.operands[0];
    if (!is_vector || first.registers == RegisterClass::sgpr) return;  // v_s_exp_f16
    if (info.destinations != 0 && is_16_bits(first)) info.halves |= 8;
    for (unsigned i = 0; i < info.sources && i < 3; ++i)
        if (is_16_bits(info.operands[info.destinations + i])) info.halves |= static_cast<uint8_t>(1u << i);
}

InstructionInfo parse_row(const Row& row, Opcode opcode) {
    InstructionInfo info{};
    info.opcode = opcode;
    info.format = row.format;
    info.name = row.name;
    info.number = row.number;
    info.mnemonic.fill(row.name);
    parse_operands(row.operands, info);
    parse_attributes(row.attributes, info);
    info.cross_lane |= info.permlane || info.wmma;
    if (info.wmma) info.spread = Spread::matrix;
    if (info.relative) info.spread = Spread::relative;
    find_halves(info);
    return info;
}

std::vector<InstructionInfo> parse_table() {
    std::vector<InstructionInfo> table;
    table.reserve(kOpcodeCount);
    for (const Row& row : kRows) table.push_back(parse_row(row, static_cast<Opcode>(table.size())));
    for (const Spelling& spelling : kSpellings)
        table[static_cast<size_t>(spelling.opcode)].mnemonic[static_cast<size_t>(spelling.generation)] =
            spelling.mnemonic;
    return table;
}

const std::vector<InstructionInfo>& table() {
    static const std::vector<InstructionInfo> rows = parse_table();
    return rows;
}

}  // namespace

unsigned OperandInfo::size(WaveSize wave) const {
    if (wave == WaveSize::wave32) return dwords;
    if (type == OperandType::mask || type == OperandType::exec) return 2;
    return halves_in_wave64 ? dwords / 2u : dwords;
}

std::optional<unsigned> InstructionInfo::tied_source() const {
    for (unsigned i = destinations; i < destinations + unsigned{sources}; ++i)
        if (operands[i].tied) return i;
    return std::nullopt;
}

const InstructionInfo& info(Opcode opcode) { return table()[static_cast<size_t>(opcode)]; }
std::span<const InstructionInfo> all_instructions() { return table(); }
std::span<const DualInfo> dual_instructions() { return kDuals; }

bool has(Target target, Opcode opcode) {
    const InstructionInfo& row = info(opcode);
    const TargetInfo& chip = info(target);
    if (!row.number[static_cast<size_t>(chip.generation)].exists()) return false;
    return !(row.gfx115x_on_gfx11 && chip.generation == Generation::gfx11 && !chip.salu_float);
}

std::string_view mnemonic(Opcode opcode, Generation generation) {
    return info(opcode).mnemonic[static_cast<size_t>(generation)];
}

}  // namespace riftjit::rdna
