// Turns the statements of an assembly file into sections, symbols and kernels.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/result.h"
#include "jit/rdna/assembly/assembly_file.h"
#include "jit/rdna/assembly/assembly_kernel.h"
#include "jit/rdna/assembly/assembly_lines.h"
#include "jit/rdna/assembly/assembly_metadata.h"
#include "jit/rdna/table/instruction.h"
#include "jit/rdna/text/expression.h"
#include "jit/rdna/text/parse_line.h"

namespace riftjit::rdna {

class AssemblyReader {
public:
    AssemblyReader(std::string_view file_name, std::optional<Target> target);
    Result<AssembledFile> read(std::span<const AssemblyStatement> statements);

private:
    // What a symbol stands for and what the directives said of it.
    struct Symbol {
        std::optional<AssemblyValue> value;
        uint64_t size = 0;
        SymbolScope scope = SymbolScope::local;
        bool is_function = false, is_hidden = false, is_label = false;
    };

    // 4 or fewer bytes whose value waits for symbols.
    enum class FixupKind : uint8_t { branch, distance_low, distance_high, data };
    struct Fixup {
        FixupKind kind;
        size_t section;
        uint64_t offset;
        uint8_t bytes;
        std::string expression;
        size_t line, column;
    };

    // Where an error is, and the position of a directive's operands.
    struct Place {
        size_t line = 1, column = 1;
    };

    // An expression that names symbols which follow.
    struct Deferred {
        std::string expression;
        Place place;
    };
    struct DeferredValue {
        std::string directive;
        Deferred value;
    };
    // A kernel whose directives wait for symbols.
    struct DeferredKernel {
        size_t index;  // in file_.kernels
        KernelDirectives directives;
        std::vector<DeferredValue> values;
        Place end;
    };

    std::unexpected<Error> error(Place place, std::string_view what) const;
    Result<void> at(Place place, Result<void> result) const;

    Result<void> statement(const AssemblyStatement& statement);
    Result<void> directive(const LinePiece& word, const LinePiece& rest, Place place);
    Result<void> symbol_directive(std::string_view word, const std::vector<LinePiece>& items, Place place, bool& known);
    Result<void> section_directive(std::string_view word, const std::vector<LinePiece>& items, Place place,
                                   bool& known);
    Result<void> data_directive(std::string_view word, const std::vector<LinePiece>& items, Place place, bool& known);
    Result<void> target_directive(std::string_view word, const std::vector<LinePiece>& items, Place place, bool& known);
    Result<void> kernel_directive(const LinePiece& word, const LinePiece& rest, Place place);
    Result<void> end_kernel(Place place);
    Result<void> define(std::string_view name, AssemblyValue value, bool is_label, Place place);
    Result<void> assign(std::string_view name, const LinePiece& expression, Place place);
    Result<void> resolve(const std::string& name);
    Result<void> finish_assignments();
    Result<void> finish_kernel(KernelDirectives& directives, AssembledKernel& kernel, Place end) const;
    Result<void> finish_deferred_kernels();
    Result<void> instruction(const LinePiece& text, Place place);
    Result<void> append_words(const Instruction& instruction, Place place);
    Result<void> align(unsigned log2_bytes, std::optional<uint64_t> fill, unsigned fill_bytes, Place place);
    Result<void> integers(const std::vector<LinePiece>& items, unsigned bytes, Place place);
    Result<void> fill(const std::vector<LinePiece>& items, Place place);
    Result<void> string_data(const LinePiece& item, bool ends_with_zero, Place place);

    Result<Target> target(Place place) const;
    void append(uint64_t value, unsigned bytes);
    Result<void> enter(const std::vector<LinePiece>& items, Place place);
    size_t section_index(std::string_view name, SectionKind kind);
    std::string global_offset(std::string_view symbol, Place place);
    AssemblySection& section() { return file_.sections[current_]; }
    std::optional<AssemblyValue> look_up(std::string_view name) const;
    Result<int64_t> number(const LinePiece& expression, Place place) const;
    // Whether it has no value for lack of symbols, which may follow.
    bool waits_for_symbols(std::string_view expression) const;
    void note_wave_size(std::span<const AssemblyStatement> statements);

    void merge_code();
    void finish_symbols();
    Result<void> finish_fixups();
    Result<void> apply(const Fixup& fixup);
    Result<void> finish_kernels();
    Result<void> finish_simple_kernels();
    Result<void> place_kernel(AssembledKernel& kernel) const;
    Result<KernelCode> simple_kernel(const AssembledKernel& kernel) const;
    std::string with_numbers(std::string_view line) const;

    std::string_view file_name_;
    std::optional<Target> target_;
    WaveSize wave_size_ = WaveSize::wave32;
    AssembledFile file_;
    size_t current_ = 0;
    std::map<std::string, Symbol, std::less<>> symbols_;
    std::vector<std::string> symbol_order_;
    std::vector<Fixup> fixups_;
    std::map<std::string, Deferred, std::less<>> assignments_;  // by symbol

    uint32_t simple_kernarg_bytes_ = 0, simple_lds_bytes_ = 0;
    std::string kernel_name_;
    std::optional<KernelDirectives> kernel_;
    std::vector<DeferredValue> kernel_values_;
    std::vector<DeferredKernel> deferred_kernels_;
    bool in_metadata_ = false;
    std::string metadata_;
    std::optional<size_t> metadata_line_;  // where it begins
};

}  // namespace riftjit::rdna
