// Statements, instructions and what waits for symbols; assembly_directives.cpp has the directives.
#include "jit/rdna/assembly/assembly_reader.h"

#include <cctype>
#include <set>

#include "jit/rdna/encode/encoding.h"
#include "jit/rdna/text/symbolic.h"
#include "jit/rdna/text/text.h"

namespace riftjit::rdna {
namespace {

bool is_symbol_start(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '$';
}
bool is_symbol_character(char c) { return is_symbol_start(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; }

size_t symbol_length(std::string_view text) {
    if (text.empty() || !is_symbol_start(text.front())) return 0;
    size_t length = 1;
    while (length < text.size() && is_symbol_character(text[length])) ++length;
    return length;
}

std::string_view trim_front(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    return text;
}

// A literal that no inline constant supplies: it keeps the place of a value that is not known yet.
constexpr std::string_view kPlaceholder = "0x7eadbeef";

struct Reference {
    size_t begin = 0, end = 0;   // in the line
    std::string symbol, addend;  // "table" and "+4"
    bool is_high_half = false, is_indirect = false;
};

// "name@rel32@lo+4" inside an instruction; "name@gotpcrel32@lo+4" is the distance of a word that holds the address.
std::optional<Reference> find_reference(std::string_view text) {
    constexpr std::string_view kDirect = "@rel32@", kIndirect = "@gotpcrel32@";
    const bool is_indirect = text.find(kIndirect) != text.npos;
    const std::string_view kind = is_indirect ? kIndirect : kDirect;
    const size_t marker = text.find(kind);
    if (marker == std::string_view::npos) return std::nullopt;
    Reference reference;
    reference.begin = marker;
    while (reference.begin > 0 && is_symbol_character(text[reference.begin - 1])) --reference.begin;
    reference.is_indirect = is_indirect;
    const std::string_view half = text.substr(marker + kind.size());
    if (!half.starts_with("lo") && !half.starts_with("hi")) return std::nullopt;
    reference.is_high_half = half.starts_with("hi");
    reference.end = marker + kind.size() + 2;
    const size_t addend = reference.end;
    if (reference.end < text.size() && (text[reference.end] == '+' || text[reference.end] == '-')) {
        ++reference.end;
        while (reference.end < text.size() && std::isalnum(static_cast<unsigned char>(text[reference.end])) != 0)
            ++reference.end;
    }
    reference.symbol = text.substr(reference.begin, marker - reference.begin);
    reference.addend = text.substr(addend, reference.end - addend);
    return reference;
}

}  // namespace

AssemblyReader::AssemblyReader(std::string_view file_name, std::optional<Target> target)
    : file_name_(file_name), target_(target) {
    file_.sections.push_back({".text", {}, 4, SectionKind::code});
}

std::unexpected<Error> AssemblyReader::error(Place place, std::string_view what) const {
    return fail(ErrorKind::Format, "{}:{}:{}: {}", file_name_, place.line, place.column, what);
}

Result<void> AssemblyReader::at(Place place, Result<void> result) const {
    if (result) return result;
    return error(place, result.error().message);
}

Result<AssembledFile> AssemblyReader::read(std::span<const AssemblyStatement> statements) {
    note_wave_size(statements);
    for (const AssemblyStatement& each : statements) RIFTJIT_TRY_VOID(statement(each));
    const size_t last_line = statements.empty() ? 1 : statements.back().line;
    if (kernel_) return error({last_line, 1}, ".amdhsa_kernel without .end_amdhsa_kernel");
    if (in_metadata_) return error({last_line, 1}, ".amdgpu_metadata without .end_amdgpu_metadata");
    RIFTJIT_TRY(chip, target({last_line, 1}));
    file_.target = chip;
    RIFTJIT_TRY_VOID(finish_assignments());
    RIFTJIT_TRY_VOID(finish_deferred_kernels());
    merge_code();
    RIFTJIT_TRY_VOID(finish_fixups());
    finish_symbols();
    RIFTJIT_TRY_VOID(finish_kernels());
    return std::move(file_);
}

// Instructions come before the kernel's directives, yet are read by its wave size.
void AssemblyReader::note_wave_size(std::span<const AssemblyStatement> statements) {
    for (const AssemblyStatement& each : statements) {
        const std::string_view text = trim(each.text);
        constexpr std::string_view kDirective = ".amdhsa_wavefront_size32", kSimple = ".wave_size";
        if (text.starts_with(kDirective) && parse_integer(text.substr(kDirective.size())) == 0)
            wave_size_ = WaveSize::wave64;
        if (text.starts_with(kSimple) && parse_integer(text.substr(kSimple.size())) == 64)
            wave_size_ = WaveSize::wave64;
    }
}

Result<Target> AssemblyReader::target(Place place) const {
    if (target_) return *target_;
    return error(place, "no target: neither .amdgcn_target nor a given one");
}

Result<void> AssemblyReader::statement(const AssemblyStatement& statement) {
    if (in_metadata_ && trim(statement.text) != ".end_amdgpu_metadata") {
        metadata_ += statement.text + '\n';
        return {};
    }
    std::string_view text = statement.text;
    size_t column = 1;
    while (true) {
        while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1), ++column;
        if (text.empty()) return {};
        const size_t length = symbol_length(text);
        const Place place{statement.line, column};
        if (length != 0 && length < text.size() && text[length] == ':' && !text.substr(length).starts_with("::")) {
            RIFTJIT_TRY_VOID(
                define(text.substr(0, length), {static_cast<int64_t>(section().bytes.size()), current_}, true, place));
            text.remove_prefix(length + 1);
            column += length + 1;
            continue;
        }
        const std::string_view rest = text.substr(length);
        const std::string_view after = trim(rest);
        if (length != 0 && after.starts_with('=') && !after.starts_with("=="))
            return assign(text.substr(0, length), {trim(after.substr(1)), column + text.find('=') + 1}, place);
        if (text.front() != '.') return instruction({text, column}, place);
        const size_t gap = rest.size() - trim_front(rest).size();
        return directive({text.substr(0, length), column}, {after, column + length + gap}, place);
    }
}

Result<void> AssemblyReader::define(std::string_view name, AssemblyValue value, bool is_label, Place place) {
    const auto [entry, is_new] = symbols_.try_emplace(std::string(name));
    Symbol& symbol = entry->second;
    if (is_label && symbol.value) return error(place, "symbol '" + std::string(name) + "' is defined twice");
    if (!symbol.value) symbol_order_.push_back(entry->first);
    symbol.value = value;
    symbol.is_label |= is_label;
    return {};
}

std::optional<AssemblyValue> AssemblyReader::look_up(std::string_view name) const {
    if (name == ".") return AssemblyValue{static_cast<int64_t>(file_.sections[current_].bytes.size()), current_};
    const auto found = symbols_.find(name);
    return found == symbols_.end() ? std::nullopt : found->second.value;
}

Result<int64_t> AssemblyReader::number(const LinePiece& expression, Place place) const {
    const Result<AssemblyValue> value =
        evaluate(expression.text, [this](std::string_view name) { return look_up(name); });
    if (!value) return error({place.line, expression.column}, value.error().message);
    if (value->section) return error({place.line, expression.column}, "a label where a number is needed");
    return value->number;
}

bool AssemblyReader::waits_for_symbols(std::string_view expression) const {
    bool lacks_one = false;
    const auto value = evaluate(expression, [&](std::string_view name) {
        const auto known = look_up(name);
        lacks_one |= !known.has_value();
        return known;
    });
    // Where `.` is could not be told later.
    return !value && lacks_one && !names_this_place(expression);
}

Result<void> AssemblyReader::assign(std::string_view name, const LinePiece& expression, Place place) {
    const Result<AssemblyValue> value =
        evaluate(expression.text, [this](std::string_view symbol) { return look_up(symbol); });
    if (value) {
        if (const auto earlier = assignments_.find(name); earlier != assignments_.end()) assignments_.erase(earlier);
        return define(name, *value, false, place);
    }
    if (!waits_for_symbols(expression.text)) return error({place.line, expression.column}, value.error().message);
    assignments_.insert_or_assign(std::string(name),
                                  Deferred{std::string(expression.text), {place.line, expression.column}});
    return {};
}

// Depth first, on a stack of its own: files may chain as many symbols as they like.
Result<void> AssemblyReader::resolve(const std::string& name) {
    std::vector<std::string> stack = {name};
    std::set<std::string> expanded;
    while (!stack.empty()) {
        const std::string top = stack.back();
        const auto deferred = assignments_.find(top);
        if (deferred == assignments_.end()) {  // by now
            stack.pop_back();
            continue;
        }
        const auto& [expression, place] = deferred->second;
        std::vector<std::string> waiting;
        const Result<AssemblyValue> value = evaluate(expression, [&](std::string_view symbol) {
            if (!assignments_.contains(symbol)) return look_up(symbol);
            waiting.emplace_back(symbol);
            return std::optional(AssemblyValue{});
        });
        if (waiting.empty()) {
            if (!value) return error(place, value.error().message);
            RIFTJIT_TRY_VOID(define(top, *value, false, place));
            assignments_.erase(deferred);
        } else {
            if (!expanded.insert(top).second) return error(place, "symbol '" + top + "' depends on itself");
            stack.insert(stack.end(), waiting.begin(), waiting.end());
        }
    }
    return {};
}

Result<void> AssemblyReader::finish_assignments() {
    while (!assignments_.empty()) RIFTJIT_TRY_VOID(resolve(assignments_.begin()->first));
    return {};
}

void AssemblyReader::append(uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) section().bytes.push_back(static_cast<std::byte>(value >> 8 * i));
}

Result<void> AssemblyReader::instruction(const LinePiece& text, Place place) {
    RIFTJIT_TRY(chip, target(place));
    std::string line(place.column - 1, ' ');  // so that the parser's columns are the file's
    line += text.text;
    const std::optional<Reference> reference = find_reference(line);
    if (reference) line.replace(reference->begin, reference->end - reference->begin, kPlaceholder);
    const Result<Parsed> parsed = parse(chip, wave_size_, with_numbers(line));
    if (!parsed) return error(place, parsed.error().message);
    const uint64_t start = section().bytes.size();
    RIFTJIT_TRY_VOID(append_words(parsed->instruction, place));
    if (!parsed->label.empty())
        fixups_.push_back({FixupKind::branch, current_, start, 2, parsed->label, place.line, place.column});
    if (!reference) return {};
    const Place named{place.line, reference->begin + 1};
    const std::string symbol = reference->is_indirect ? global_offset(reference->symbol, named) : reference->symbol;
    fixups_.push_back({reference->is_high_half ? FixupKind::distance_high : FixupKind::distance_low, current_,
                       section().bytes.size() - 4, 4, symbol + reference->addend, named.line, named.column});
    return {};
}

// The symbol of a word that holds the address of another.
std::string AssemblyReader::global_offset(std::string_view symbol, Place place) {
    std::string name = std::string(symbol) + "@GOT";
    if (symbols_.contains(name)) return name;
    const size_t table = section_index(".got", SectionKind::data);
    std::vector<std::byte>& words = file_.sections[table].bytes;
    file_.sections[table].alignment = sizeof(uint64_t);
    symbols_[name].value = AssemblyValue{static_cast<int64_t>(words.size()), table};
    fixups_.push_back(
        {FixupKind::data, table, words.size(), sizeof(uint64_t), std::string(symbol), place.line, place.column});
    words.resize(words.size() + sizeof(uint64_t));
    return name;
}

// Linkers put .text.NAME into .text, and here goes all other code too: branches and distances are then known.
void AssemblyReader::merge_code() {
    std::vector<std::byte>& text = file_.sections[0].bytes;
    std::map<size_t, uint64_t> moved;
    for (size_t i = 1; i < file_.sections.size(); ++i) {
        AssemblySection& section = file_.sections[i];
        if (section.kind != SectionKind::code) continue;
        while (text.size() % std::max(section.alignment, 4U) != 0) text.push_back(std::byte{0});
        moved[i] = text.size();
        text.insert(text.end(), section.bytes.begin(), section.bytes.end());
        file_.sections[0].alignment = std::max(file_.sections[0].alignment, section.alignment);
        section.bytes.clear();
    }
    for (auto& [name, symbol] : symbols_) {
        if (!symbol.value || !symbol.value->section) continue;
        const auto to = moved.find(*symbol.value->section);
        if (to == moved.end()) continue;
        symbol.value = AssemblyValue{symbol.value->number + static_cast<int64_t>(to->second), size_t{0}};
    }
    for (Fixup& fixup : fixups_)
        if (const auto to = moved.find(fixup.section); to != moved.end()) fixup.section = 0, fixup.offset += to->second;
}

Result<void> AssemblyReader::append_words(const Instruction& instruction, Place place) {
    RIFTJIT_TRY(chip, target(place));
    const Result<EncodedInstruction> encoded = encode(chip, wave_size_, instruction);
    if (!encoded) return error(place, encoded.error().message);
    for (const uint32_t word : encoded->span()) append(word, 4);
    return {};
}

Result<void> AssemblyReader::finish_fixups() {
    for (const Fixup& fixup : fixups_) RIFTJIT_TRY_VOID(apply(fixup));
    return {};
}

Result<void> AssemblyReader::apply(const Fixup& fixup) {
    const Place place{fixup.line, fixup.column};
    const Result<AssemblyValue> value =
        evaluate(fixup.expression, [this](std::string_view name) { return look_up(name); });
    if (!value) return error(place, value.error().message);
    int64_t result = value->number;
    if (fixup.kind == FixupKind::branch) {
        if (value->section != fixup.section) return error(place, "branch out of its section");
        const int64_t distance = result - static_cast<int64_t>(fixup.offset) - 4;
        if (distance % 4 != 0 || distance < -4 * 32768 || distance > 4 * 32767)
            return error(place, fmt::format("branch over {} bytes to '{}'; it reaches -131072 to 131068 ({})", distance,
                                            fixup.expression, name(file_.target)));
        result = distance / 4;
    } else if (fixup.kind != FixupKind::data) {
        const bool is_high = fixup.kind == FixupKind::distance_high;
        if (!value->section) return error(place, "'" + fixup.expression + "' is no label");
        if (*value->section != fixup.section) {
            file_.distances.push_back({fixup.section, fixup.offset, *value->section, result, is_high});
            result = 0;
        } else {
            result -= static_cast<int64_t>(fixup.offset);
            if (is_high) result >>= 32;
        }
    } else if (value->section) {
        const AssemblySection& holder = file_.sections[fixup.section];
        if (fixup.bytes != sizeof(uint64_t))
            return error(place,
                         fmt::format("the address of '{}' in {} bytes, it takes 8", fixup.expression, fixup.bytes));
        if (holder.kind != SectionKind::data)
            return error(place, fmt::format("the address of '{}' in section {}, which loading does not write to; "
                                            "compilers put it into .data.rel.ro",
                                            fixup.expression, holder.name));
        file_.addresses.push_back({fixup.section, fixup.offset, *value->section, result});
        result = 0;
    }
    for (unsigned i = 0; i < fixup.bytes; ++i)
        file_.sections[fixup.section].bytes[fixup.offset + i] =
            static_cast<std::byte>(static_cast<uint64_t>(result) >> 8 * i);
    return {};
}

void AssemblyReader::finish_symbols() {
    for (const std::string& name : symbol_order_) {
        const Symbol& symbol = symbols_.find(name)->second;
        if (!symbol.value->section || !symbol.is_label) continue;
        file_.symbols.push_back({.name = name,
                                 .section = *symbol.value->section,
                                 .offset = static_cast<uint64_t>(symbol.value->number),
                                 .size = symbol.size,
                                 .scope = symbol.scope,
                                 .is_function = symbol.is_function,
                                 .is_hidden = symbol.is_hidden});
    }
}

// Symbols that stand for numbers, replaced by them.
std::string AssemblyReader::with_numbers(std::string_view line) const {
    std::string replaced;
    while (!line.empty()) {
        const size_t length = symbol_length(line);
        const auto found = length == 0 ? symbols_.end() : symbols_.find(line.substr(0, length));
        if (found != symbols_.end() && found->second.value && !found->second.value->section) {
            replaced += fmt::to_string(found->second.value->number);
        } else {
            replaced += line.substr(0, std::max<size_t>(length, 1));
        }
        line.remove_prefix(std::max<size_t>(length, 1));
    }
    return replaced;
}

Result<void> AssemblyReader::place_kernel(AssembledKernel& kernel) const {
    const auto found = symbols_.find(kernel.name);
    if (found == symbols_.end() || !found->second.value || found->second.value->section != size_t{0})
        return fail(ErrorKind::Format, "{}: kernel {} has no code: no such label in a section of code", file_name_,
                    kernel.name);
    kernel.code_offset = static_cast<uint64_t>(found->second.value->number);
    const uint64_t available = file_.text().bytes.size() - kernel.code_offset;
    kernel.code_size = found->second.size != 0 ? found->second.size : available;
    if (kernel.code_offset % 256 != 0)
        return fail(ErrorKind::Format, "{}: kernel {} starts at {} in .text, not at a multiple of 256", file_name_,
                    kernel.name, kernel.code_offset);
    if (kernel.code_size > available)
        return fail(ErrorKind::Format, "{}: kernel {} is larger than .text", file_name_, kernel.name);
    return {};
}

Result<void> AssemblyReader::finish_kernels() {
    if (file_.kernels.empty()) {
        RIFTJIT_TRY_VOID(finish_simple_kernels());
    } else {
        for (AssembledKernel& kernel : file_.kernels) RIFTJIT_TRY_VOID(place_kernel(kernel));
    }
    if (!metadata_line_) return {};
    RIFTJIT_TRY(metadata, parse_metadata(metadata_, *metadata_line_, file_name_));
    file_.metadata = std::move(metadata);
    return {};
}

}  // namespace riftjit::rdna
