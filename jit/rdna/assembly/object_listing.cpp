#include "jit/rdna/assembly/object_listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <set>

#include "host/little_endian.h"
#include "jit/rdna/assembly/assembly_kernel.h"
#include "jit/rdna/assembly/assembly_metadata.h"

namespace riftjit::rdna {
namespace {

WaveSize wave_size_of(const LoadedObject& object) {
    return object.kernels.empty() ? WaveSize::wave32 : object.kernels.front().descriptor.wave_size;
}

std::vector<uint32_t> words_of(const LoadedObject& object, const AddressRange& range) {
    const std::span<const std::byte> bytes = object.bytes(range);
    std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
    if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * sizeof(uint32_t));
    return words;
}

// Cuts .text where functions begin and end.
class Cutter {
public:
    explicit Cutter(const LoadedObject& object) : object_(object) {}

    std::vector<ListedFunction> run() {
        for (const AddressRange& text : object_.text) cut(text);
        return std::move(functions_);
    }

private:
    void cut(const AddressRange& text) {
        const uint64_t end = text.address + text.size / 4 * 4;
        std::set<uint64_t> cuts = {text.address, end};
        for (const LoadedFunction& function : object_.functions)
            for (const uint64_t at : {function.code.address, function.code.address + function.code.size})
                if (at > text.address && at < end && at % 4 == 0) cuts.insert(at);
        for (const LoadedKernel& kernel : object_.kernels)
            if (text.contains(kernel.code.address, 4)) cuts.insert(kernel.code.address);
        for (auto at = cuts.begin(); std::next(at) != cuts.end(); ++at) add({*at, *std::next(at) - *at});
    }

    void add(const AddressRange& range) {
        const auto kernel =
            std::ranges::find(object_.kernels, range.address, [](const LoadedKernel& one) { return one.code.address; });
        const auto function = std::ranges::find(object_.functions, range.address,
                                                [](const LoadedFunction& one) { return one.code.address; });
        ListedFunction listed;
        if (kernel != object_.kernels.end()) {
            listed.name = kernel->name;
            listed.kernel = &*kernel;
            listed.size = kernel->code.size;
        } else if (function != object_.functions.end()) {
            listed.name = unique(function->name);
            listed.size = function->code.size;
        }
        const WaveSize wave = listed.kernel ? listed.kernel->descriptor.wave_size : wave_size_of(object_);
        listed.instructions = list_instructions(object_.target, wave, words_of(object_, range), range.address,
                                                fmt::format(".L{}_", functions_.size()));
        functions_.push_back(std::move(listed));
    }

    // Static functions of several sources may share a name.
    std::string unique(const std::string& name) {
        for (const LoadedKernel& kernel : object_.kernels) names_.insert(kernel.name);
        std::string chosen = name;
        for (unsigned i = 1; !names_.insert(chosen).second; ++i) chosen = fmt::format("{}.{}", name, i);
        return chosen;
    }

    const LoadedObject& object_;
    std::vector<ListedFunction> functions_;
    std::set<std::string> names_;
};

// Read-only bytes that are no kernel descriptor.
struct DataPiece {
    AddressRange range;
    uint64_t alignment;
    std::string label;
};

class ObjectFormatter {
public:
    ObjectFormatter(const LoadedObject& object, std::vector<ListedFunction> functions)
        : object_(object), functions_(std::move(functions)) {
        for (const LoadedKernel& kernel : object.kernels) kernels_.push_back(&kernel);
        std::ranges::sort(kernels_, {}, &LoadedKernel::descriptor_address);
        std::erase_if(kernels_, [&](const LoadedKernel* kernel) {
            return std::ranges::find(functions_, kernel, &ListedFunction::kernel) == functions_.end();
        });
        find_data();
    }

    std::string run() {
        for (ListedFunction& function : functions_) refer_to_data(function);
        const std::string code = text_section(), descriptors = descriptor_section();
        std::string text = fmt::format("    .amdgcn_target \"{}\"\n    .amdhsa_code_object_version {}\n",
                                       target_id(object_.target), static_cast<int>(object_.version));
        for (const std::string& lost : lost_) text += fmt::format("    .error \"{}\"\n", lost);
        return text + code + descriptors + data_sections() + metadata();
    }

private:
    void find_data() {
        if (!object_.address_words.empty()) lost_.insert("addresses in data are not listed");
        for (const LoadedData& data : object_.data) {
            if (data.is_writable) {
                lost_.insert(fmt::format("the {} bytes of {} are not listed", data.range.size, data.name));
                continue;
            }
            uint64_t at = data.range.address;
            const uint64_t end = at + data.range.size;
            for (const LoadedKernel& kernel : object_.kernels) descriptors_.insert(kernel.descriptor_address);
            for (const uint64_t descriptor : descriptors_) {
                if (descriptor < at || descriptor >= end) continue;
                add_data(data, at, descriptor);
                at = descriptor + kKernelDescriptorBytes;
            }
            add_data(data, at, end);
        }
    }

    // Zeros between descriptors are what their alignment made.
    void add_data(const LoadedData& section, uint64_t begin, uint64_t end) {
        const AddressRange range = {begin, end - begin};
        const auto bytes = object_.bytes(range);
        const bool is_padding = range.size < kKernelDescriptorBytes && !descriptors_.empty() &&
                                std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
        if (begin >= end || bytes.empty() || is_padding) return;
        data_.push_back({range, section.alignment, fmt::format(".Ldata{}", data_.size())});
    }

    bool is_listed(uint64_t address) const {
        for (const ListedFunction& function : functions_)
            if (!function.instructions.empty()) {
                const ListedInstruction& last = function.instructions.back();
                if (address >= function.instructions.front().address && address < last.address + 4 * last.words.size())
                    return true;
            }
        return false;
    }

    // s_getpc_b64 s[N:N+1], then s_add of a literal to sN and s_addc of another to s(N+1): how compilers find what
    // lies at a distance. Distances within .text stay numbers.
    void refer_to_data(ListedFunction& function) {
        constexpr size_t kReach = 16;  // instructions that a scheduler may have moved in between
        std::vector<ListedInstruction>& all = function.instructions;
        for (size_t i = 0; i < all.size(); ++i) {
            if (all[i].mnemonic != "s_getpc_b64" || all[i].operands.size() != 1) continue;
            const std::string& pair = all[i].operands[0];  // "s[4:5]"
            const size_t colon = pair.find(':');
            if (!pair.starts_with("s[") || colon == std::string::npos) continue;
            const std::string low = "s" + pair.substr(2, colon - 2),
                              high = "s" + pair.substr(colon + 1, pair.size() - colon - 2);
            const size_t last = std::min(all.size(), i + kReach);
            const size_t add = find_literal_add(all, i + 1, last, low, {"s_add_u32", "s_add_co_u32"});
            const size_t carry =
                find_literal_add(all, std::min(add, last), last, high, {"s_addc_u32", "s_add_co_ci_u32"});
            if (carry < last) refer(all[i].address + 4, all[add], all[carry]);
        }
    }

    static size_t find_literal_add(const std::vector<ListedInstruction>& all, size_t first, size_t last,
                                   const std::string& destination, std::initializer_list<std::string_view> mnemonics) {
        for (size_t i = first; i < last; ++i)
            if (std::ranges::find(mnemonics, all[i].mnemonic) != mnemonics.end() && all[i].words.size() == 2 &&
                all[i].operands[0] == destination && all[i].operands[1] == destination)
                return i;
        return last;
    }

    void refer(uint64_t pc, ListedInstruction& add, ListedInstruction& carry) {
        const uint64_t target = pc + (uint64_t{carry.words[1]} << 32 | add.words[1]);
        const auto holds = [&](const DataPiece& piece) { return piece.range.contains(target, 1); };
        const auto piece = std::ranges::find_if(data_, holds);
        if (piece == data_.end()) {
            if (!is_listed(target)) lost_.insert(fmt::format("what lies at {:#x} is not listed", target));
            return;
        }
        const auto write = [&](ListedInstruction& listed, std::string_view half) {
            const uint64_t addend = target - piece->range.address + (listed.address + 4 - pc);
            listed.text = fmt::format("{} {}, {}, {}@rel32@{}+{}", listed.mnemonic, listed.operands[0],
                                      listed.operands[1], piece->label, half, addend);
            listed.is_longer_form = false;
        };
        write(add, "lo");
        write(carry, "hi");
    }

    std::string text_section() {
        std::string text = "    .text\n    .p2align 8\n";
        if (functions_.empty() || functions_[0].instructions.empty()) return text;
        uint64_t at = functions_[0].instructions[0].address / 256 * 256;
        const bool is_whole =
            std::ranges::any_of(functions_, [](const auto& one) { return one.name.empty(); }) || functions_.size() > 1;
        for (const ListedFunction& function : functions_) {
            if (function.instructions.empty()) continue;
            const uint64_t start = function.instructions.front().address;
            if (start > at && is_whole) text += fmt::format("    .fill {}, 4, 0\n", (start - at) / 4);
            text += function_text(function);
            const ListedInstruction& last = function.instructions.back();
            at = last.address + 4 * last.words.size();
        }
        return text;
    }

    static std::string function_text(const ListedFunction& function) {
        if (function.name.empty()) return padding_text(function.instructions);
        std::string text = "\n";
        if (function.kernel) text += fmt::format("    .globl {0}\n    .protected {0}\n", function.name);
        const std::string comment =
            function.kernel ? fmt::format("  ; wave{}", lanes(function.kernel->descriptor.wave_size)) : "";
        text += fmt::format("    .type {0},@function\n{0}:{1}\n{2}", function.name, comment,
                            format_listing(function.instructions));
        const ListedInstruction& last = function.instructions.back();
        const uint64_t listed = last.address + 4 * last.words.size() - function.instructions.front().address;
        return text + (function.size == listed ? fmt::format("    .size {0}, .-{0}\n", function.name)
                                               : fmt::format("    .size {}, {}\n", function.name, function.size));
    }

    // Runs of one word, as alignment and the reach of instruction fetch make them.
    static std::string padding_text(const std::vector<ListedInstruction>& instructions) {
        std::string text;
        for (size_t i = 0; i < instructions.size();) {
            size_t end = i;
            while (end < instructions.size() && instructions[end].words == instructions[i].words &&
                   instructions[end].words.size() == 1 && instructions[end].label.empty())
                ++end;
            if (end < i + 2) {
                text += format_listing(std::span(instructions).subspan(i, 1));
                ++i;
                continue;
            }
            text += fmt::format("    {:<60} ; {:06X}:  {}\n",
                                fmt::format(".fill {}, 4, {:#010x}", end - i, instructions[i].words[0]),
                                instructions[i].address, instructions[i].text);
            i = end;
        }
        return text;
    }

    std::string descriptor_section() {
        std::string text = "\n    .section .rodata,\"a\",@progbits\n    .p2align 6\n";
        for (const LoadedKernel* kernel : kernels_) {
            if (kernel->descriptor.wave_size != kernels_.front()->descriptor.wave_size)
                lost_.insert("kernels of wave32 and wave64 cannot be assembled from one file");
            KernelDirectives read(object_.target);
            text += fmt::format("    .amdhsa_kernel {}\n", kernel->name);
            bool is_read = true;
            for (const ListedDirective& directive : list_directives(kernel->descriptor, object_.target)) {
                text += fmt::format("        {} {}\n", directive.name, directive.value);
                is_read = is_read && read.set(directive.name, directive.value);
            }
            text += "    .end_amdhsa_kernel\n";
            KernelDescriptor expected = kernel->descriptor;
            expected.entry_offset = 0;
            const auto finished = read.finish();
            if (!is_read || !finished || *finished != expected)
                lost_.insert(
                    fmt::format("the descriptor of {} holds what no .amdhsa_ directive can say", kernel->name));
        }
        return text;
    }

    std::string data_sections() const {
        std::string text;
        for (const DataPiece& piece : data_) {
            text += fmt::format("\n    .section .rodata.listed,\"a\",@progbits\n    .p2align {}\n",
                                std::countr_zero(piece.alignment));
            if (const uint64_t shift = piece.range.address % piece.alignment; shift != 0)
                text += fmt::format("    .zero {}\n", shift);
            text += piece.label + ":\n";
            const auto bytes = object_.bytes(piece.range);
            constexpr size_t kBytesInLine = 16;
            for (size_t i = 0; i < bytes.size(); ++i)
                text += fmt::format("{}{:#04x}{}", i % kBytesInLine == 0 ? "    .byte " : ", ",
                                    std::to_integer<unsigned>(bytes[i]),
                                    i % kBytesInLine == kBytesInLine - 1 || i + 1 == bytes.size() ? "\n" : "");
        }
        return text;
    }

    std::string metadata() const {
        Metadata metadata{.version = object_.version,
                          .target = target_id(object_.target),
                          .kernels = {},
                          .others = object_.metadata_others};
        for (const LoadedKernel* kernel : kernels_) metadata.kernels.push_back(kernel->metadata);
        return "\n    .amdgpu_metadata\n" + format_metadata(metadata) + "    .end_amdgpu_metadata\n";
    }

    const LoadedObject& object_;
    std::vector<ListedFunction> functions_;
    std::vector<const LoadedKernel*> kernels_;  // by descriptor address
    std::set<uint64_t> descriptors_;
    std::vector<DataPiece> data_;
    std::set<std::string> lost_;
};

}  // namespace

std::vector<ListedFunction> list_functions(const LoadedObject& object, std::string_view kernel) {
    std::vector<ListedFunction> functions = Cutter(object).run();
    if (!kernel.empty())
        std::erase_if(functions, [&](const ListedFunction& one) { return !one.kernel || one.name != kernel; });
    return functions;
}

std::string format_object(const LoadedObject& object, const std::vector<ListedFunction>& functions) {
    return ObjectFormatter(object, functions).run();
}

}  // namespace riftjit::rdna
