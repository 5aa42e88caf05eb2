#include <algorithm>
#include <bit>

#include "jit/rdna/assembly/assembly_reader.h"
#include "jit/rdna/text/symbolic.h"

namespace riftjit::rdna {
namespace {

constexpr uint32_t kNop = 0xBF800000;              // s_nop 0
constexpr uint64_t kMaxSectionBytes = 256u << 20;  // beyond any code object; a mistyped .fill must not exhaust memory

// What names of sections that are not loaded begin with.
constexpr std::string_view kUnloaded[] = {".debug", ".comment", ".note", ".AMDGPU.", ".llvm"};

// Directives that say nothing we need.
constexpr std::string_view kIgnored[] = {".ident", ".file", ".loc", ".addrsig", ".addrsig_sym", ".amdgpu_lds", ".end"};

struct DataDirective {
    std::string_view name;
    uint8_t bytes;
};
constexpr DataDirective kIntegers[] = {{".byte", 1},  {".1byte", 1}, {".short", 2}, {".2byte", 2},
                                       {".hword", 2}, {".value", 2}, {".long", 4},  {".4byte", 4},
                                       {".int", 4},   {".word", 4},  {".quad", 8},  {".8byte", 8}};

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
    return std::ranges::find(words, word) != words.end();
}

Result<std::string> unescape(std::string_view text) {
    if (text.size() < 2 || text.front() != '"' || text.back() != '"')
        return fail(ErrorKind::Format, "a string in quotes is needed");
    std::string bytes;
    text = text.substr(1, text.size() - 2);
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\' || i + 1 == text.size()) {
            bytes += text[i];
            continue;
        }
        const char c = text[++i];
        static constexpr std::string_view kNames = "bfnrt\"\\", kBytes = "\b\f\n\r\t\"\\";
        if (const size_t known = kNames.find(c); known != std::string_view::npos) {
            bytes += kBytes[known];
        } else if (c >= '0' && c <= '7') {
            unsigned value = 0, digits = 0;
            while (digits < 3 && i < text.size() && text[i] >= '0' && text[i] <= '7') {
                value = value * 8 + static_cast<unsigned>(text[i++] - '0');
                ++digits;
            }
            --i;
            bytes += static_cast<char>(value);
        } else {
            return fail(ErrorKind::Format, "unknown escape \\{}", c);
        }
    }
    return bytes;
}

}  // namespace

Result<void> AssemblyReader::directive(const LinePiece& word, const LinePiece& rest, Place place) {
    if (word.text == ".end_amdgpu_metadata") {
        if (!in_metadata_) return error(place, ".end_amdgpu_metadata without .amdgpu_metadata");
        return in_metadata_ = false, Result<void>();
    }
    if (word.text == ".amdgpu_metadata") {
        if (metadata_line_) return error(place, "a second .amdgpu_metadata");
        metadata_line_ = place.line + 1;
        return in_metadata_ = true, Result<void>();
    }
    if (word.text.starts_with(".amdhsa_") && word.text != ".amdhsa_code_object_version")
        return kernel_directive(word, rest, place);
    if (word.text == ".end_amdhsa_kernel") return end_kernel(place);
    if (std::ranges::find(kIgnored, word.text) != std::end(kIgnored) || word.text.starts_with(".cfi_")) return {};
    if (word.text == ".error") return error(place, trim(rest.text));
    std::vector<LinePiece> items;
    if (!rest.text.empty()) items = split_outside_brackets(rest.text, rest.column, ',');
    using Handler = Result<void> (AssemblyReader::*)(std::string_view, const std::vector<LinePiece>&, Place, bool&);
    constexpr Handler kHandlers[] = {&AssemblyReader::symbol_directive, &AssemblyReader::section_directive,
                                     &AssemblyReader::data_directive, &AssemblyReader::target_directive};
    for (const Handler handler : kHandlers) {
        bool known = true;
        Result<void> handled = (this->*handler)(word.text, items, place, known);
        if (known) return handled;
    }
    return error(place, std::string(word.text) + " is no known directive");
}

Result<void> AssemblyReader::symbol_directive(std::string_view word, const std::vector<LinePiece>& items, Place place,
                                              bool& known) {
    const bool is_scope =
        is_one_of(word, {".globl", ".global", ".local", ".weak", ".protected", ".hidden", ".internal"});
    const bool takes_two = is_one_of(word, {".type", ".size", ".set", ".equ"});
    known = is_scope || takes_two;
    if (!known) return {};
    if (items.empty() || (takes_two && items.size() != 2))
        return error(place, fmt::format("{} takes {}", word, takes_two ? "a symbol and a value" : "a symbol"));
    if (word == ".set" || word == ".equ") return assign(items[0].text, items[1], place);
    Symbol& symbol = symbols_[std::string(items[0].text)];
    if (word == ".globl" || word == ".global") symbol.scope = SymbolScope::global;
    if (word == ".weak") symbol.scope = SymbolScope::weak;
    if (word == ".hidden" || word == ".internal") symbol.is_hidden = true;
    if (word == ".type") symbol.is_function = items[1].text == "@function";
    if (word != ".size") return {};
    RIFTJIT_TRY(size, number(items[1], place));
    symbol.size = static_cast<uint64_t>(size);
    return {};
}

Result<void> AssemblyReader::section_directive(std::string_view word, const std::vector<LinePiece>& items, Place place,
                                               bool& known) {
    known = true;
    if (is_one_of(word, {".text", ".data", ".bss", ".rodata"})) return enter({{word, place.column}}, place);
    if (word == ".section" || word == ".pushsection") {
        if (items.empty()) return error(place, ".section takes a name");
        return enter(items, place);
    }
    if (word == ".popsection" || word == ".previous") return enter({{".text", place.column}}, place);
    const bool is_power = word.starts_with(".p2align"), is_bytes = is_one_of(word, {".balign", ".align"});
    known = is_power || is_bytes;
    if (!known) return {};
    if (items.empty()) return error(place, std::string(word) + " takes a number");
    RIFTJIT_TRY(amount, number(items[0], place));
    unsigned log2_bytes = static_cast<unsigned>(amount);
    if (is_bytes) {
        if (amount <= 0 || (amount & (amount - 1)) != 0)
            return error({place.line, items[0].column}, "alignment is no power of two");
        log2_bytes = static_cast<unsigned>(std::countr_zero(static_cast<uint64_t>(amount)));
    }
    if (amount < 0 || log2_bytes > 16) return error({place.line, items[0].column}, "alignment beyond 64 KiB");
    std::optional<uint64_t> value;
    if (items.size() > 1 && !items[1].text.empty()) {
        RIFTJIT_TRY(given, number(items[1], place));
        value = static_cast<uint64_t>(given);
    }
    const unsigned fill_bytes = word == ".p2alignl" ? 4 : word == ".p2alignw" ? 2 : 1;
    return align(log2_bytes, value, fill_bytes, place);
}

Result<void> AssemblyReader::align(unsigned log2_bytes, std::optional<uint64_t> fill, unsigned fill_bytes,
                                   Place place) {
    const uint64_t bytes = uint64_t{1} << log2_bytes;
    section().alignment = std::max(section().alignment, static_cast<uint32_t>(bytes));
    const bool is_code = section().kind == SectionKind::code && !fill;
    const unsigned step = is_code ? 4 : fill_bytes;
    while (section().bytes.size() % bytes != 0) {
        if (section().bytes.size() % step != 0) return error(place, "padding does not fit the alignment");
        append(is_code ? kNop : fill.value_or(0), step);
    }
    return {};
}

Result<void> AssemblyReader::data_directive(std::string_view word, const std::vector<LinePiece>& items, Place place,
                                            bool& known) {
    known =
        std::ranges::find(kIntegers, word, &DataDirective::name) != std::end(kIntegers) ||
        is_one_of(word, {".fill", ".zero", ".skip", ".space", ".ascii", ".asciz", ".string", ".uleb128", ".sleb128"});
    if (!known || section().kind == SectionKind::unloaded) return {};
    for (const DataDirective& integer : kIntegers)
        if (integer.name == word) return integers(items, integer.bytes, place);
    if (word.ends_with("leb128")) return error(place, fmt::format("{} in section {}", word, section().name));
    if (word == ".fill") return fill(items, place);
    if (is_one_of(word, {".zero", ".skip", ".space"})) {
        if (items.empty()) return error(place, std::string(word) + " takes a number");
        RIFTJIT_TRY(count, number(items[0], place));
        if (count < 0 || static_cast<uint64_t>(count) > kMaxSectionBytes)
            return error({place.line, items[0].column}, "too many bytes");
        section().bytes.resize(section().bytes.size() + static_cast<size_t>(count));
        return {};
    }
    for (const LinePiece& item : items) RIFTJIT_TRY_VOID(string_data(item, word != ".ascii", place));
    return {};
}

Result<void> AssemblyReader::integers(const std::vector<LinePiece>& items, unsigned bytes, Place place) {
    for (const LinePiece& item : items) {
        const uint64_t offset = section().bytes.size();
        append(0, bytes);
        // Values may name labels that follow; `.` must be this place, so it is put in now.
        const auto value = evaluate(item.text, [this](std::string_view name) { return look_up(name); });
        if (value && value->section && names_this_place(item.text))
            return error({place.line, item.column}, "the address of this place: give it a label");
        if (value && !value->section) {
            section().bytes.resize(offset);
            append(static_cast<uint64_t>(value->number), bytes);
        } else {
            fixups_.push_back({FixupKind::data, current_, offset, static_cast<uint8_t>(bytes), std::string(item.text),
                               place.line, item.column});
        }
    }
    return {};
}

Result<void> AssemblyReader::fill(const std::vector<LinePiece>& items, Place place) {
    if (items.empty()) return error(place, ".fill takes a count");
    RIFTJIT_TRY(count, number(items[0], place));
    int64_t size = 1, value = 0;
    if (items.size() > 1) {
        RIFTJIT_TRY(given, number(items[1], place));
        size = given;
    }
    if (items.size() > 2) {
        RIFTJIT_TRY(given, number(items[2], place));
        value = given;
    }
    if (count < 0 || size < 0 || size > 8 || static_cast<uint64_t>(count) > kMaxSectionBytes / 8)
        return error(place, ".fill: count or size out of range");
    for (int64_t i = 0; i < count; ++i) append(static_cast<uint64_t>(value), static_cast<unsigned>(size));
    return {};
}

Result<void> AssemblyReader::string_data(const LinePiece& item, bool ends_with_zero, Place place) {
    const Result<std::string> bytes = unescape(item.text);
    if (!bytes) return error({place.line, item.column}, bytes.error().message);
    for (const char c : *bytes) section().bytes.push_back(static_cast<std::byte>(c));
    if (ends_with_zero) section().bytes.push_back(std::byte{0});
    return {};
}

Result<void> AssemblyReader::target_directive(std::string_view word, const std::vector<LinePiece>& items, Place place,
                                              bool& known) {
    known =
        is_one_of(word, {".amdgcn_target", ".amdhsa_code_object_version", ".wave_size", ".kernarg_size", ".lds_size"});
    if (!known) return {};
    if (items.size() != 1) return error(place, std::string(word) + " takes one value");
    if (word == ".wave_size" || word == ".kernarg_size" || word == ".lds_size") {
        RIFTJIT_TRY(value, number(items[0], place));
        const bool is_wave_size = word == ".wave_size";
        if (is_wave_size ? value != 32 && value != 64 : value < 0 || value > kMaxLdsBytes)
            return error({place.line, items[0].column},
                         is_wave_size ? fmt::format("{} {} is neither 32 nor 64", word, value)
                                      : fmt::format("{} {} is not between 0 and {}", word, value, kMaxLdsBytes));
        if (word == ".kernarg_size") simple_kernarg_bytes_ = static_cast<uint32_t>(value);
        if (word == ".lds_size") simple_lds_bytes_ = static_cast<uint32_t>(value);
        return {};
    }
    if (word == ".amdhsa_code_object_version") {
        RIFTJIT_TRY(version, number(items[0], place));
        if (version < 4 || version > 6) return error(place, fmt::format("code object version {} is unknown", version));
        file_.version = static_cast<CodeObjectVersion>(version);
        return {};
    }
    std::string_view text = items[0].text;
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
    const std::optional<Target> named = target_from_name(text.substr(text.rfind('-') + 1));
    if (!named)
        return error({place.line, items[0].column}, fmt::format("target '{}' is none of {}", text, target_names()));
    if (target_ && *target_ != *named)
        return error({place.line, items[0].column},
                     fmt::format("the file is for {}, not for {}", name(*named), name(*target_)));
    target_ = named;
    return {};
}

Result<void> AssemblyReader::kernel_directive(const LinePiece& word, const LinePiece& rest, Place place) {
    if (word.text == ".amdhsa_kernel") {
        if (kernel_) return error(place, ".amdhsa_kernel inside .amdhsa_kernel " + kernel_name_);
        if (rest.text.empty()) return error(place, ".amdhsa_kernel takes a name");
        RIFTJIT_TRY(chip, target(place));
        kernel_name_ = rest.text;
        kernel_.emplace(chip);
        return {};
    }
    if (!kernel_) return error(place, std::string(word.text) + " outside .amdhsa_kernel");
    const Result<int64_t> value = number(rest, place);
    if (value) return at(place, kernel_->set(word.text, *value));
    if (!waits_for_symbols(rest.text)) return std::unexpected(value.error());
    kernel_values_.push_back({std::string(word.text), {std::string(rest.text), {place.line, rest.column}}});
    return {};
}

Result<void> AssemblyReader::finish_kernel(KernelDirectives& directives, AssembledKernel& kernel, Place end) const {
    Result<KernelDescriptor> descriptor = directives.finish();
    if (!descriptor) return error(end, "kernel " + kernel.name + ": " + descriptor.error().message);
    kernel.descriptor = *descriptor;
    return {};
}

Result<void> AssemblyReader::end_kernel(Place place) {
    if (!kernel_) return error(place, ".end_amdhsa_kernel without .amdhsa_kernel");
    file_.kernels.push_back({.name = kernel_name_, .descriptor = {}});
    if (kernel_values_.empty()) {
        RIFTJIT_TRY_VOID(finish_kernel(*kernel_, file_.kernels.back(), place));
    } else {
        deferred_kernels_.push_back({file_.kernels.size() - 1, *kernel_, std::move(kernel_values_), place});
        kernel_values_.clear();
    }
    kernel_.reset();
    return {};
}

Result<void> AssemblyReader::finish_deferred_kernels() {
    for (DeferredKernel& kernel : deferred_kernels_) {
        for (const auto& [directive, value] : kernel.values) {
            RIFTJIT_TRY(given, number({value.expression, value.place.column}, value.place));
            RIFTJIT_TRY_VOID(at(value.place, kernel.directives.set(directive, given)));
        }
        RIFTJIT_TRY_VOID(finish_kernel(kernel.directives, file_.kernels[kernel.index], kernel.end));
    }
    return {};
}

size_t AssemblyReader::section_index(std::string_view name, SectionKind kind) {
    const auto found = std::ranges::find(file_.sections, name, &AssemblySection::name);
    if (found == file_.sections.end()) file_.sections.push_back({std::string(name), {}, 1, kind});
    return static_cast<size_t>(std::ranges::find(file_.sections, name, &AssemblySection::name) -
                               file_.sections.begin());
}

// A name, and where it is not one that says enough, flags and a type: .section side,"ax",@progbits
Result<void> AssemblyReader::enter(const std::vector<LinePiece>& items, Place place) {
    std::string_view name = items[0].text;
    if (name.size() >= 2 && name.front() == '"' && name.back() == '"') name = name.substr(1, name.size() - 2);
    const std::string_view flags = items.size() > 1 ? items[1].text : "";
    const auto is_one = [&](std::string_view prefix) {
        return name == prefix || (name.starts_with(prefix) && name[prefix.size()] == '.');
    };
    const bool is_unloaded =
        std::ranges::any_of(kUnloaded, [&](std::string_view prefix) { return name.starts_with(prefix); });
    const bool is_zeros = is_one(".bss") || (items.size() > 2 && items[2].text == "@nobits");
    SectionKind kind = SectionKind::read_only;
    if (is_unloaded)
        kind = SectionKind::unloaded;
    else if (is_one(".text") || flags.find('x') != flags.npos)
        kind = SectionKind::code;
    else if (is_zeros)
        kind = SectionKind::zeros;
    else if (is_one(".data") || flags.find('w') != flags.npos)
        kind = SectionKind::data;
    else if (!is_one(".rodata") && flags.find('a') == flags.npos)
        return error(place, fmt::format("section {} has no flag \"a\": it would not be loaded", name));
    if (name.starts_with(".debug")) file_.lacks_debug_information = true;
    current_ = section_index(name, kind);
    return {};
}

}  // namespace riftjit::rdna
